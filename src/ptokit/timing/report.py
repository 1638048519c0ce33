"""What a timed launch says: how long it takes, what limits it, which waits cost something, as text and JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np

from ptokit.diagnostics import DiagnosticError
from ptokit.records import dataclass
from ptokit.run.arguments import divided
from ptokit.run.program import Program
from ptokit.targets import Target
from ptokit.targets.base import ASSUMED, Part

from .engine import Run, run
from .issue import Follower, NeedsValues, has_flags
from .model import Costs
from .state import MEMORY, NOTHING, PIPES, SCALAR, Item, LaunchItems, What

SCHEMA_VERSION = 1
"""Of the JSON report."""
WORTH_SAYING = 0.02
"""Share of the time that a wait has to cost to be named."""
MOST_WAITS = 4
_NAMED = frozenset((What.BARRIER, What.HEAR))
"""Waits of the scalar unit that are named, like those of the busiest pipe."""
MOST_ITEMS = 400_000
"""Items of a launch that is run again to see what a wait costs."""


@dataclass(frozen=True)
class PipeTime:
    """What the pipes of one kind did: shares of the time, on average over the cores that use them."""

    name: str
    cores: int
    busy: float
    waiting: float

    @property
    def idle(self) -> float:
        """Without anything to do, or without a scalar unit that issues it."""
        return max(0.0, 1.0 - self.busy - self.waiting)


@dataclass(frozen=True)
class Place:
    """An instruction of the program: how often it ran on all cores, and for how many cycles; ``start``: before data."""

    pipe: str
    name: str
    line: int
    count: int
    cycles: float
    start: float
    nbytes: int
    evidence: str
    share: float  # of the time of its pipe's cores


@dataclass(frozen=True)
class WaitTime:
    """A wait: the pipe, the place, what it waits for, its share of the time, and how much the launch gains without."""

    pipe: str
    name: str
    line: int
    flag: str
    source: str  # the instruction that it waits for
    share: float
    gain: float | None
    hint: str  # what would let it wait less


@dataclass(eq=False)
class Timing:
    """How long a launch takes on a part, in cycles of its cores, and why."""

    name: str
    part: Part
    target: Target
    blocks: int
    found: LaunchItems
    run: Run
    work: float  # cycles from the first start of a core to the last end
    named: bool = True  # the part was chosen by the user
    values: str = ""  # why values were computed
    file: str = ""
    warm: bool = False

    def __post_init__(self) -> None:
        self.clock = float(self.part.clock) * 1000  # cycles per µs
        self.count = len(self.run.works) + self.run.repeated  # of executed instructions
        self.launch = float(self.part.launch_us) * self.clock
        self.cycles = self.work + self.launch
        self.pipes = _pipes(self)
        self.places = _places(self)
        busy = sum(place.cycles for place in self.places)
        self.assumed = sum(p.cycles for p in self.places if p.evidence == ASSUMED) / busy if busy else 0.0
        self.waits = _waits(self)

    @property
    def us(self) -> float:
        """Microseconds, the launch with them."""
        return self.cycles / self.clock

    @property
    def barriers(self) -> set[int]:
        """Lines of the barriers that cost time worth a sentence."""
        return {wait.line for wait in self.waits if not wait.flag and (wait.gain or 0) >= WORTH_SAYING / 2}

    def unneeded(self, lines: Set[int]) -> None:
        """Say of the barriers in these lines that they order nothing that needs it."""
        why = "it orders nothing that needs it"
        self.waits = [replace(w, hint=why) if w.line in lines and not w.flag else w for w in self.waits]

    @property
    def limit(self) -> PipeTime | None:
        """The busiest pipe, None if nothing ran."""
        return max(self.pipes, key=lambda pipe: pipe.busy, default=None)

    @property
    def flops(self) -> int:
        """Operations of products."""
        counts = self.run.counts
        costs = ((self.found.items[number].cost, times) for number, times in counts.items())
        return sum(cost.flops * times for cost, times in costs if cost is not None)

    @property
    def peak(self) -> float:
        """Operations per second of products without a pause, on all cores, as the fastest; 0 if there are none."""
        costs = [self.found.items[number].cost for number in self.run.counts]
        rates = [c.flops / (c.cycles - self.part.cube_head) for c in costs if c is not None and c.flops]
        return max(rates, default=0.0) * self.part.cores * float(self.part.clock) * 1e9

    @property
    def nbytes(self) -> int:
        """Bytes through L2."""
        return sum(place.nbytes for place in self.places)

    def share(self, pipe: str) -> float:
        """How much of the time pipes of this name are busy, the launch counted, on average over all cores with them."""
        return next((p.busy for p in self.pipes if p.name == pipe), 0.0)

    # --- words ---------------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """What was timed, and how long it takes."""
        blocks = f"{self.blocks} block{'s' if self.blocks != 1 else ''}"
        chosen = "" if self.named else f", the part that is taken for {self.target.name} where --part names none"
        return f"{self.name}: {blocks} on {self.part.name} ({self.part.cores} cores, {self.part.clock:g} GHz{chosen})"

    @property
    def rates(self) -> str:
        """What was reached of what the part can do."""
        texts = [f"{self.us:.1f} µs, {self.cycles:.0f} cycles, {self.launch / self.cycles:.0%} of them the launch"]
        seconds = self.us / 1e6
        if self.flops:
            reached = self.flops / seconds
            texts.append(f"{reached / 1e12:.1f} TFLOP/s ({reached / self.peak:.0%} of what products reach)")
        if self.nbytes:
            rate, most = self.nbytes / seconds / 1e9, self.part.l2_read * self.part.cores * self.part.clock
            hits = self.run.hit / max(1, self.run.hit + self.run.missed)
            texts.append(f"{rate:.0f} GB/s ({rate / most:.0%} of what L2 reads), {hits:.0%} found in L2")
        return "; ".join(texts)

    @property
    def path(self) -> str:
        """What the end of the launch waited for, back to its beginning: the longest first."""
        path = self.run.critical_path(self.found.items)
        total = sum(cycles for *_, cycles in path) or 1.0
        longest = [f"{name} in line {line} {cycles / total:.0%}" for _, name, line, cycles in path[:3]]
        return f"  critical path: {', '.join(longest)}" if longest else ""

    @property
    def findings(self) -> list[str]:
        """What is worth knowing, in words with places, the costliest first."""
        out = []
        limit = self.limit
        if limit is None:
            return ["no instruction ran"]
        if self.run.stuck:
            names = ", ".join(dict.fromkeys(item.text for _, item in self.run.stuck[:4]))
            out.append(f"the launch does not end: {names} waits for ever (ptokit sanitize says why)")
        if self.work < self.launch:
            us = self.work / self.clock
            out.append(f"{us:.1f} µs of work, {self.part.launch_us:g} µs of launch: fewer, longer launches gain most")
        elif limit.busy >= 0.8:
            out.append(f"{limit.name} is the limit: busy for {limit.busy:.0%} of the time, the launch counted")
        most = self.part.gm * self.part.cores * self.part.gm_share
        if self.run.missed > 0.6 * most * self.work > 0:
            rates = [round(rate * self.clock / 1000) for rate in (self.run.missed / self.work, most)]
            of = f"{rates[0]} of the {rates[1]} GB/s that copies reach, the launch not counted"
            out.append(f"global memory is the limit: {of}; what L2 still holds costs less")
        out += [text for wait in self.waits if (text := self._said(wait))]
        for place in self.places:
            if place.nbytes and place.start > 0.5 * place.cycles and place.share > WORTH_SAYING:
                each = place.nbytes // place.count
                share = 1 - place.start / place.cycles
                out.append(
                    f"{place.name} in line {place.line} moves {each} bytes at a time and reaches {share:.0%} of the "
                    f"rate: {place.start / place.count:.0f} of {place.cycles / place.count:.0f} cycles are start-up"
                )
        if self.assumed >= 0.005:
            out.append(f"{self.assumed:.0%} of the busy time rests on assumed costs: {', '.join(self._assumed)}")
        if self.run.repeated:
            share = self.run.repeated / self.count
            out.append(
                f"{share:.1%} of {self.count} instructions repeat others and were left out (--complete runs all)"
            )
        if any(item.what is What.HEAR for item in self.found.items):
            out.append(f"a signal in global memory is seen after {self.part.signal_us:g} µs, which is assumed")
        if self.found.untimed:
            out.append(f"not followed: {', '.join(sorted(self.found.untimed))}")
        return out

    @property
    def _assumed(self) -> list[str]:
        names = Counter[str]()
        for place in self.places:
            if place.evidence == ASSUMED:
                names[place.name] += int(place.cycles)
        return [name for name, _ in names.most_common(5)]

    @staticmethod
    def _said(wait: WaitTime) -> str:
        if wait.gain is None and wait.source == wait.name:
            where = f"{wait.name} in line {wait.line}"
            return f"{where} waits for its tiles for {wait.share:.0%} of the time: {wait.hint}"
        what = f"{wait.pipe} at {wait.flag} in line {wait.line}" if wait.flag else f"the barrier in line {wait.line}"
        cause = f" for {wait.source}" if wait.source else ""
        text = f"{what} waits for {wait.share:.0%} of the time{cause}"
        if wait.gain is None:
            return text
        if wait.gain < WORTH_SAYING / 2:
            return ""  # another wait comes instead
        return f"{text}; without it the launch is {wait.gain:.0%} shorter: {wait.hint}"

    def __str__(self) -> str:
        from_pipes = [
            f"  {p.name:5} busy {p.busy:6.1%}   waiting {p.waiting:6.1%}   idle {p.idle:6.1%}   "
            f"on {p.cores} core{'s' * (p.cores > 1)}"
            for p in self.pipes
        ]
        from_places = [
            f"  {p.share:6.1%}  {p.name} in line {p.line}: {f'{p.count} times ' if p.count > 1 else ''}"
            f"{p.cycles / p.count:.0f} cycles on {p.pipe}"
            for p in self.places[:8]
        ]
        said = [f"- {text}" for text in self.findings]
        values = f"values were computed: {self.values}" if self.values else ""
        lines = [self.title, self.rates, values, *from_pipes, *from_places, self.path, *said]
        return "\n".join(filter(None, lines))

    def _repr_html_(self) -> str:
        """What a notebook shows: the chart, and the report."""
        from .pictures import chart

        return f"{chart(self)}<pre>{escape(str(self))}</pre>"

    # --- data ----------------------------------------------------------------------------------------------------

    def as_json(self) -> dict[str, Any]:
        """The JSON object of docs/formats.md."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kernel": self.name,
            "file": self.file,
            "target": self.target.name,
            "part": self.part.name,
            "blocks": self.blocks,
            "cycles": round(self.cycles, 1),
            "us": round(self.us, 3),
            "launch_cycles": round(self.launch, 1),
            "instructions": self.count,
            "repeated": self.run.repeated,
            "flops": self.flops,
            "bytes": self.nbytes,
            "l2_hits": self.run.hit,
            "l2_misses": self.run.missed,
            "assumed": round(self.assumed, 4),
            "complete": not self.run.stuck,
            "pipes": [
                {"pipe": p.name, "cores": p.cores, "busy": round(p.busy, 4), "waiting": round(p.waiting, 4)}
                for p in self.pipes
            ],
            "places": [
                {
                    "pipe": p.pipe,
                    "name": p.name,
                    "line": p.line,
                    "count": p.count,
                    "cycles": round(p.cycles, 1),
                    "bytes": p.nbytes,
                    "evidence": p.evidence,
                }
                for p in self.places
            ],
            "waits": [
                {"pipe": w.pipe, "name": w.name, "line": w.line, "flag": w.flag, "source": w.source}
                | {"share": round(w.share, 4), "gain": None if w.gain is None else round(w.gain, 4)}
                for w in self.waits
            ],
            "critical_path": [
                {"pipe": pipe, "name": name, "line": line, "cycles": round(cycles, 1)}
                for pipe, name, line, cycles in self.run.critical_path(self.found.items)
            ],
            "findings": self.findings,
        }


def _pipes(timing: Timing) -> list[PipeTime]:
    run = timing.run
    waits = Counter[tuple[int, int]]()
    for (core, number, item), cycles in run.waits.items():
        if item != NOTHING:
            waits[core, number] += cycles  # type: ignore[assignment]
    out = []
    for k, pipe in enumerate(PIPES):
        cores = [core for core in run.cores if core.busy[k]]
        if cores and k != SCALAR:
            time = len(cores) * timing.cycles
            busy, waiting = sum(core.busy[k] for core in cores), sum(waits[core.index, k] for core in cores)
            out.append(PipeTime(pipe.name, len(cores), busy / time, waiting / time))
    return out


def _places(timing: Timing) -> list[Place]:
    works, items = timing.run.works, timing.found.items
    cycles = {number: took for number, (_, took) in timing.run.left_out.items()}
    counts = timing.run.counts
    for number, start, end in zip(works.item, works.start, works.end):
        cycles[number] = cycles.get(number, 0.0) + end - start
    cores = {pipe.name: pipe.cores for pipe in timing.pipes}
    sums: dict[tuple[str, str, int], list[Any]] = {}
    for number, time in cycles.items():
        item = items[number]
        cost = item.cost
        assert cost is not None
        found = sums.setdefault((PIPES[item.pipe].name, item.name, item.line), [0, 0.0, 0.0, 0, cost.evidence])
        found[0] += counts[number]
        found[1] += time
        found[2] += counts[number] * (cost.cycles if cost.nbytes else 0.0)
        found[3] += counts[number] * cost.nbytes
    out = [
        Place(*key, count, time, start, nbytes, why, time / (cores.get(key[0], 1) * timing.cycles))
        for key, (count, time, start, nbytes, why) in sums.items()
    ]
    return sorted(out, key=lambda place: (-place.share, place.line))


def _waits(timing: Timing) -> list[WaitTime]:
    """The waits of the busiest pipe, and barriers. A pipe that waits for the limit is none of them."""
    done, items, limit = timing.run, timing.found.items, timing.limit
    if limit is None:
        return []
    number = next(k for k, pipe in enumerate(PIPES) if pipe.name == limit.name)
    sums = Counter[tuple[int, str, int, str]]()
    places: dict[tuple[int, str, int, str], list[int]] = {}
    for (_, pipe, at), cycles in done.waits.items():
        if at != NOTHING and (
            pipe == number or (pipe == SCALAR and items[at].what in _NAMED and items[at].key != MEMORY)
        ):
            key = pipe, items[at].name, items[at].line, items[at].flag
            sums[key] += cycles  # type: ignore[assignment]
            places.setdefault(key, []).append(at)
    out = []
    for key, cycles in sums.most_common(MOST_WAITS):
        share = cycles / (limit.cores * timing.cycles)
        if share < WORTH_SAYING:
            continue
        pipe, name, line, flag = key
        item, gain = items[places[key][0]], None
        if item.what is not What.WORK and len(done.works) <= MOST_ITEMS:
            without = run(timing.found, timing.part, timing.target, warm=timing.warm, without=places[key])
            gain = max(0.0, 1 - (without.end + timing.launch) / timing.cycles)
        source = _source(timing, item)
        out.append(WaitTime(PIPES[pipe].name, name, line, flag, source, share, gain, _hint(item, items)))
    return out


def _hint(item: Item, items: Sequence[Item]) -> str:
    """What would let a pipe wait less at an item."""
    if item.what is What.WORK:
        return "work on other data in between, or a further buffer, would fill it"
    if item.what is What.BARRIER:
        return "flags would let pipes go on"
    if item.what is What.WAIT:
        pair = {other.key for other in items if other.what is What.WAIT and other.key[:2] == item.key[:2]}  # type: ignore[index]
        return f"{'two buffers' if len(pair) == 1 else 'a further buffer'} would let both work at once"
    return "less work for the core that is late, or more of it ahead, would help"


def _source(timing: Timing, item: Item) -> str:
    """The instruction whose end the pipe that sets a flag waits for most often."""
    items = timing.found.items
    if item.what is not What.WAIT:
        return item.name if item.what is What.WORK else ""
    for issued in timing.found.cores:
        codes = issued.items
        for k, number in enumerate(codes):
            if items[number].what is What.SET and items[number].key == item.key:
                for before in reversed(codes[max(0, k - 64) : k]):
                    found = items[before]
                    if found.what is What.WORK and found.pipe == items[number].pipe:
                        return found.text
    return ""


@dataclass(frozen=True)
class Comparison:
    """Two timed launches side by side."""

    before: Timing
    after: Timing

    @property
    def change(self) -> float:
        """Share by which the time changed; below 0 it got shorter."""
        return self.after.cycles / self.before.cycles - 1

    def __str__(self) -> str:
        a, b = self.before, self.after
        lines = [f"{a.us:.1f} µs -> {b.us:.1f} µs ({self.change:+.1%}): {a.title}", f"  against {b.title}"]
        shares: Sequence[Mapping[str, PipeTime]] = [{p.name: p for p in each.pipes} for each in (a, b)]
        for name in dict.fromkeys([*shares[0], *shares[1]]):
            busy = [f"{each[name].busy:.1%}" if name in each else "-" for each in shares]
            waiting = [f"{each[name].waiting:.1%}" if name in each else "-" for each in shares]
            lines.append(f"  {name:5} busy {busy[0]:>6} -> {busy[1]:>6}   waiting {waiting[0]:>6} -> {waiting[1]:>6}")
        gone = _texts(a) - _texts(b)
        new = _texts(b) - _texts(a)
        lines += [f"- gone: {text}" for text in sorted(gone)] + [f"- new: {text}" for text in sorted(new)]
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        """Both reports, and the change."""
        return {"before": self.before.as_json(), "after": self.after.as_json(), "change": round(self.change, 4)}


def _texts(timing: Timing) -> set[str]:
    return {f"{wait.pipe} waits at {wait.flag or wait.name}" for wait in timing.waits}


def timed(
    program: Program,
    args: Sequence[Any],
    blocks: int,
    part: Part,
    *,
    named: bool = True,
    values: bool = False,
    ranks: int = 0,
    warm: bool = False,
    complete: bool = False,
) -> Timing:
    """Time a launch. ``args``: as for `Program.launch`; arrays are not written. ``named``: the user chose the part.

    ``values``: compute what tiles hold, on copies of the arrays; that is done anyway where a number that decides what
    happens depends on it. ``ranks``: on how many devices, 0 for a launch on one. ``warm``: the same launch
    has just ended, so that cores are awake, and L2 holds what fits of the arguments. ``complete``:
    carry out every iteration of loops, those too that go on as those before.
    Raises `DiagnosticError` as a launch does.
    """
    why = "" if not values else "as was asked for"
    try:
        found = _follow(program, args, blocks, part, values=values, ranks=ranks, complete=complete)
    except NeedsValues as error:
        why = str(error)
        found = _follow(program, args, blocks, part, values=True, ranks=ranks, complete=True)
    done = run(found, part, program.target, warm=warm)
    timing = Timing(program.name, part, program.target, blocks, found, done, done.end, named, why, warm=warm)
    timing.file = program.module.file or ""
    return timing


def _follow(
    program: Program, args: Sequence[Any], blocks: int, part: Part, *, values: bool, ranks: int, complete: bool
) -> LaunchItems:
    names = [param.name or f"arg{i}" for i, param in enumerate(program.params)]
    written = frozenset(n for n, param in zip(names, program.entry.params) if param in program.effects.written)
    follower = Follower(Costs(part), written, by_data=not has_flags(program), values=values, complete=complete)
    if values:
        args = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
    try:
        if ranks:
            program.launch_ranks(divided(program.entry, list(args), ranks), blocks, observer=follower)
        else:
            program.launch(list(args), blocks, observer=follower)
    except DiagnosticError:
        if follower.needs is not None:
            raise follower.needs from None
        raise
    follower.found.place(part)
    return follower.found
