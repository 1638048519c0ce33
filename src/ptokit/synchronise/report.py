"""What `ptokit sync` has done to a program: flags and barriers with their reasons, and what is not proved."""

from __future__ import annotations

from dataclasses import field
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


SHOWN = 3
"""So many other kernels of a file are named."""

MOST_NAMED = 8
"""So many instructions without a counterpart are named."""


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
        loops = f", {self.ahead} given ahead, carried by the loop{several} in line{several} {lines}"
        loops = loops if self.carried else ""
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


# What two versions of a program order.


@dataclass(frozen=True)
class Lost:
    """Dependences that the version ``without`` does not order: the one whose lines are closest, and ``more``.

    ``lines``: of both instructions there; ``other``: in the other version, None if they share no memory in it.
    ``by``: ``what`` orders them in that one, with its line; "" if nothing alone does.
    """

    without: str
    names: tuple[str, str]
    pipes: tuple[str, str]
    lines: tuple[int, int]
    other: tuple[int, int] | None
    carried: bool
    what: str = "wait"
    by: str = ""
    more: int = 0

    def __str__(self) -> str:
        one = "B" if self.without == "A" else "A"
        first, second = (f"{name} in line {line}" for name, line in zip(self.names, self.lines))
        where = ""
        if self.other is not None and self.other != self.lines:
            where = f" (lines {self.other[0]} and {self.other[1]} of {one})"
        before = " of an earlier iteration" if self.carried else ""
        may = f"{self.names[1]} on {self.pipes[1]} may overtake {self.names[0]} on {self.pipes[0]}{before}"
        if self.other is None:
            text = f"{self.without} does not order {first} and {second}: {may}; in {one} they share no memory"
        else:
            verb = "dropped" if self.without == "B" else "lacks"
            text = f"{self.without} {verb} the {self.what} between {first} and {second}{where}: {may}"
            text += f"; {one} has {self.by}" if self.by else ""
        return text + (f"; likewise {counted(self.more, 'further dependence')}" if self.more else "")

    def as_json(self) -> dict[str, Any]:
        """As in docs/formats.md."""
        made: dict[str, Any] = {"without": self.without, "first": self.names[0], "second": self.names[1]}
        made |= {"pipes": self.pipes, "lines": self.lines, "lines_of_other": self.other, "carried": self.carried}
        return made | {"what": self.what, "by": self.by, "more": self.more, "text": str(self)}


@dataclass(frozen=True)
class Stronger:
    """How many pairs of instructions of two pipes only one version orders, though they share no memory; the closest."""

    version: str
    pipes: tuple[str, str]
    pairs: int
    names: tuple[str, str]
    lines: tuple[int, int]

    def __str__(self) -> str:
        first, second = (f"{name} in line {line}" for name, line in zip(self.names, self.lines))
        of = f"{counted(self.pairs, 'such pair')} of {self.pipes[0]} and {self.pipes[1]}"
        return f"only {self.version} orders {first} before {second}, which share no memory ({of})"

    def as_json(self) -> dict[str, Any]:
        """As in docs/formats.md."""
        made: dict[str, Any] = {"version": self.version, "pipes": self.pipes, "pairs": self.pairs}
        return made | {"first": self.names[0], "second": self.names[1], "lines": self.lines}


@dataclass
class OrderComparison:
    """What two versions of a program order, A and B.

    ``lost``: what B leaves open that A orders, or does not have; ``gained``: the other way round. ``both``,
    ``neither``: how many dependences both order, or none. ``broken``: flags that do not balance in B, and do in A.
    ``unreached``: flags and barriers that only A has where no launch comes to. ``stronger``: orders of what shares no
    memory. ``unmatched``: instructions of one without a counterpart. ``open``: why they were not
    compared. ``cycles``: predicted for A and B, from the first start of a core on; ``launch``: for
    which launch, or why there are none.
    """

    name: str
    target: str
    files: tuple[str, str]
    lost: list[Lost] = field(default_factory=list)
    gained: list[Lost] = field(default_factory=list)
    both: int = 0
    neither: int = 0
    broken: list[str] = field(default_factory=list)
    unreached: list[str] = field(default_factory=list)
    stronger: list[Stronger] = field(default_factory=list)
    unmatched: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    open: list[str] = field(default_factory=list)
    cycles: tuple[float, float] | None = None
    launch: str = ""

    @property
    def less(self) -> bool:
        """True if B orders less than A, or its flags do not balance."""
        return bool(self.lost or self.broken)

    @property
    def whole(self) -> bool:
        """True if everything was compared."""
        return not (self.open or any(self.unmatched))

    @property
    def change(self) -> float | None:
        """Share by which B takes longer than A; None without a prediction."""
        return None if self.cycles is None else self.cycles[1] / (self.cycles[0] or 1.0) - 1

    def lines(self) -> list[str]:
        """What the terminal shows."""
        out = [f"{self.name} on {self.target}: A is {self.files[0]}, B is {self.files[1]}"]
        out += [f"  {each}" for each in (*self.lost, *(f"only in B: {each}" for each in self.broken), *self.gained)]
        neither = f", in neither: {self.neither}" if self.neither else ""
        out.append(f"  ordered in both: {counted(self.both, 'dependence')}{neither}")
        out += [f"  only A has {each}, where no launch comes to" for each in self.unreached]
        out += [f"  {each}" for each in self.stronger]
        for which, names in zip("AB", self.unmatched):
            if names:
                shown = ", ".join(names[:MOST_NAMED]) + (" …" if len(names) > MOST_NAMED else "")
                out.append(f"  only in {which}: {shown}")
        out += [f"  not compared: {why}" for why in self.open]
        if self.cycles is None:
            out.append(f"  no time is predicted: {self.launch}")
        else:
            a, b = self.cycles
            out.append(f"  predicted: A {a:.0f} cycles, B {b:.0f} ({self.change:+.1%}), {self.launch}")
        return out

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def as_json(self) -> dict[str, Any]:
        """The JSON object of docs/formats.md."""
        cycles = None if self.cycles is None else [round(each, 1) for each in self.cycles]
        return {
            "schema_version": 1,
            "kernel": self.name,
            "target": self.target,
            "files": list(self.files),
            "less": self.less,
            "whole": self.whole,
            "lost": [each.as_json() for each in self.lost],
            "gained": [each.as_json() for each in self.gained],
            "broken": self.broken,
            "unreached": self.unreached,
            "ordered_in_both": self.both,
            "ordered_in_neither": self.neither,
            "stronger": [each.as_json() for each in self.stronger],
            "unmatched": {"A": self.unmatched[0], "B": self.unmatched[1]},
            "not_compared": self.open,
            "cycles": cycles,
            "launch": self.launch,
        }
