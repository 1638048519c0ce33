"""What `ptokit sync` has done to a program: flags and barriers with their reasons, and what is not proved."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import Location, Scope, define
from ptokit.diagnostics.finding import Edit
from ptokit.prove.report import counted
from ptokit.records import dataclass

PLACE = define(
    "SYNC-PLACE",
    "`ptokit sync` writes flags between the lines of a program: an instruction beside which one belongs has its lines "
    "for itself.",
    scope=Scope.RUN,
    source="docs/synchronisation.md",
    unrun="it is about how a text is laid out",
)


def overtaking(need: Any) -> str:
    """What goes wrong where nothing orders a dependence (`ptokit.synchronise.dependences.Dependence`)."""
    paths = need.first, need.second
    first, second = (f"{n} in line {path[-1].location.line}" for n, path in zip(need.names, paths))
    return f"{second} may overtake {first}"


UNCOUNTED = "without it more signals may be under way than the 15 that are counted"
"""Why a signal is needed that orders nothing."""

SHOWN = 3
"""So many other kernels of a file are named."""


@dataclass(frozen=True)
class Inserted:
    """A flag that was inserted.

    ``set_after``, ``wait_before``: lines of the text before; ``carried``: by the loop in this line, 0 for none;
    ``ids``: how many it rotates through, from ``first_id`` on; ``at_once``: for want of ids it is set where it is
    waited for; ``because``: what races without it. ``answer``: the id of the flag by which the destination tells the
    source that it has waited, before that sets it again; -1 where nothing has to tell it.
    """

    source: str
    destination: str
    set_after: int
    wait_before: int
    carried: int
    first_id: int
    ids: int
    because: str
    at_once: bool = False
    answer: int = -1

    def __str__(self) -> str:
        number = f"id {self.first_id}" if self.ids == 1 else f"ids {self.first_id}..{self.first_id + self.ids - 1}"
        loop = f", carried by the loop in line {self.carried}" if self.carried else ""
        place = f"set after line {self.set_after}, waited for before line {self.wait_before}"
        if self.at_once:
            place = f"set and waited for before line {self.wait_before}, since event ids run out"
        told = f"; of the wait {self.source} is told by id {self.answer}" if self.answer >= 0 else ""
        return f"{self.source} to {self.destination}, {number}: {place}{loop}{told}: {self.because}"


@dataclass(frozen=True)
class Signalled:
    """A signal between the kinds of cores of a cluster that was inserted.

    ``cores``, ``pipes``: who gives it and who waits; ``set_after``, ``wait_before``: lines of the text before;
    ``carried``: the lines of the loops of the two that carry it, none if it is waited for where it is given; ``ahead``:
    so many are given before these loops; ``because``: what races without it.
    """

    cores: tuple[str, str]
    pipes: tuple[str, str]
    set_after: int
    wait_before: int
    carried: tuple[int, ...]
    ahead: int
    number: int
    because: str

    def __str__(self) -> str:
        (a, b), (p, q) = self.cores, self.pipes
        lines = " and ".join(map(str, dict.fromkeys(self.carried)))
        several = "s" * (len({*self.carried}) > 1)
        loops = f", {self.ahead} ahead, carried by the loop{several} in line{several} {lines}" if self.carried else ""
        place = f"set after line {self.set_after}, waited for before line {self.wait_before}"
        return f"signal {self.number} from {p} of the {a} core to {q} of the {b} core: {place}{loops}: {self.because}"


@dataclass(frozen=True)
class InVectorScope:
    """A ``mem_bar`` before a line of the text before, and what may be out of order without it."""

    kind: str
    line: int
    because: str

    def __str__(self) -> str:
        return f"mem_bar {self.kind} before line {self.line}: {self.because}"


@dataclass(frozen=True)
class Superfluous:
    """Flags, waits, barriers or tokens that were taken out together: their ``lines``, what they are, and why.

    ``places``: of their operations; ``edits``: what takes them out.
    """

    lines: tuple[int, ...]
    what: str
    because: str
    places: tuple[Location, ...] = ()
    edits: tuple[Edit, ...] = ()

    @property
    def where(self) -> str:
        """``line 3``; ``lines 3 and 5``."""
        return f"line{'s' * (len(self.lines) > 1)} {' and '.join(map(str, self.lines))}"

    def __str__(self) -> str:
        return f"{self.what} in {self.where}: {self.because}"


@dataclass(frozen=True)
class Predicted:
    """Cycles of a launch, from the first start of a core to the last end: as it was written, with the fewest flags,
    and with a barrier of all pipes before each instruction; ``launch``: which one."""

    cycles: float
    count: float
    barriers: float
    launch: str

    def __str__(self) -> str:
        others = f"{self.count:.0f} with the fewest flags, {self.barriers:.0f} with barriers of all pipes everywhere"
        return f"predicted: {self.cycles:.0f} cycles, {others}; {self.launch}"


@dataclass
class Synchronised:
    """A program with flags.

    ``text``: all of it; ``edits``: what was inserted. ``proved``: that its flags balance and that no two pipes race,
    for all arguments; else ``open`` says why not, with lines of the new text, 0 for none. ``barriers``: lines before
    which a barrier of all pipes was inserted, with the reason. ``signals``: between the cores of a cluster.
    ``minimal``: each flag that was inserted is needed.
    ``superfluous``: what was taken out; None where that was not asked for. ``scopes``: barriers inside of vector
    scopes. ``others``: kernels of a C++ file that have some of the lines, too, and are not proved. ``widened``: what
    orders more for want of event ids, and what that costs. ``predicted``: how long a launch takes, where that decides;
    ``untimed``: why nothing is predicted. ``launch``: the only one for which that is, by runs and without a proof.
    """

    name: str
    target: str
    file: str
    old: str
    text: str
    edits: tuple[Edit, ...] = ()
    flags: tuple[Inserted, ...] = ()
    barriers: tuple[tuple[int, str], ...] = ()
    signals: tuple[Signalled, ...] = ()
    superfluous: tuple[Superfluous, ...] | None = None
    widened: tuple[str, ...] = ()
    predicted: Predicted | None = None
    untimed: str = ""
    proved: bool = False
    minimal: bool = True
    open: tuple[tuple[str, int], ...] = ()
    scopes: tuple[InVectorScope, ...] = ()
    others: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    launch: str = ""
    seconds: float = 0.0

    def lines(self) -> list[str]:
        """What the terminal shows."""
        carried, rotating = sum(f.carried > 0 for f in self.flags), sum(f.ids > 1 for f in self.flags)
        kinds = [f"{n} {what}" for n, what in ((carried, "carried by loops"), (rotating, "in rotation")) if n]
        what = counted(len(self.flags), "flag") + (f" ({', '.join(kinds)})" if kinds else "")
        what += f", {counted(len(self.barriers), 'barrier')}" if self.barriers else ""
        what += f", {counted(len(self.signals), 'signal')} between cores" if self.signals else ""
        what = what if self.superfluous is None else f"{len(self.superfluous) or 'nothing'} superfluous"
        done = "proved for all arguments" if self.proved else "not proved"
        out = [f"{self.name} on {self.target}: {what}; {done}"]
        if self.launch:
            clean = "which has findings still" if self.open else "which is clean"
            lines = counted(len(self.edits), "line")
            out = [f"{self.name} on {self.target}: {lines} for one launch alone, {clean} ({self.launch}); not proved"]
        out += [f"  {flag}" for flag in self.flags]
        out += [f"  {signal}" for signal in self.signals]
        out += [f"  {bar}" for bar in self.scopes]
        out += [f"  a barrier of all pipes before line {line}: {why}" for line, why in self.barriers]
        out += [f"  superfluous: {each}" for each in self.superfluous or ()]
        out += [f"  open: {f'line {line}: ' if line else ''}{why}" for why, line in self.open]
        out += [f"  {each}" for each in self.widened]
        out += [f"  {self.predicted}"] if self.predicted is not None else []
        out += [f"  as few flags as possible: {self.untimed}"] if self.untimed else []
        if not self.minimal:
            out.append("  some may be superfluous: none was left out")
        if self.others:
            listed = ", ".join(self.others[:SHOWN])
            listed += f" and {len(self.others) - SHOWN} more" if len(self.others) > SHOWN else ""
            out.append(f"  of these lines some are in other kernels, too, which are not proved: {listed}")
        if self.launch:
            return out
        out.append(f"  assumed: {'; '.join(self.assumptions)}")
        return out

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__
