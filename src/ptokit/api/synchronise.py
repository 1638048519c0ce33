"""`synchronise`: a program with the flags that it needs between the pipes of a core, proved, each of them needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from ptokit.arguments.grammar import read_arguments
from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, UsageError
from ptokit.diagnostics.finding import Edit, edited
from ptokit.ir.control import is_loop
from ptokit.ir.core import Op
from ptokit.ir.facts import instr_of
from ptokit.ir.launch import with_reached
from ptokit.records import dataclass
from ptokit.run import choose_entry
from ptokit.sanitize.findings.source_text import Statement, Structure, as_written, first_line, last_line
from ptokit.synchronise.report import PLACE, Inserted, InVectorScope, Superfluous, Synchronised, overtaking
from ptokit.targets import Target
from ptokit.timing.state import NotPredicted
from ptokit.types.choices import Goal, LaunchOptions

from .check import origin
from .files import CppProgram
from .launch import read_for, read_without_arguments
from .one_launch import Launch, for_launch, with_text
from .parts import find_target
from .program import Program, Source, executed_text
from .prove import ENOUGH, Proving

Progress = Callable[[str], None]
"""Called with what is done next."""

GRANTED = "no access leaves its view, its array or its buffer"
"""What the order of pipes is proved for; `ptokit prove` proves that, too."""

APART = "blocks do not race with each other, nor the vector cores of a cluster"
"""What the order of cube and vector cores is proved for."""


def synchronise(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: str | Target | None = None,
    entry: str | None = None,
    assume: Iterable[str] = (),
    blocks: int | None = None,
    extended: bool = False,
    default_target: str | Target | None = None,
    limit: int | None = None,
    minimise: bool = False,
    goal: str = Goal.COUNT,
    launch: bool = False,
    progress: Progress = lambda what: None,
) -> Synchronised:
    """Add the flags that a program lacks between the pipes of a core, prove them, and leave out what is not needed.

    ``program``, ``args``, ``target``, ``entry``, ``assume``, ``blocks``, ``extended``, ``default_target``, ``limit``,
    ``progress``: as for `ptokit.prove`. Flags that it has stay, but with ``minimise`` those that the others make
    superfluous are taken out, and none is added. ``goal``: "count" for as few flags as possible, "overlap" for as few
    as a launch takes no longer with. ``launch``: for a launch with ``args`` alone, or with some that are made from the
    text, of ``blocks`` blocks: what that needs is found by running it, without the solver, and nothing is proved, which
    is for kernels that a proof does not follow. Nothing is written: the text is in the result. Raises
    `DiagnosticError` for a program with errors, or beside whose instructions nothing can be written (SYNC-PLACE), and
    `UsageError` where the solver is missing (``pip install 'ptokit[prove]'``).
    """
    start = time.perf_counter()
    options: dict[str, Any] = {"target": target, "entry": entry, "assume": assume, "blocks": blocks}
    options |= {"extended": extended, "default_target": default_target, "limit": limit, "progress": progress}
    if launch:
        how = LaunchOptions(entry, blocks or 1, extended=extended)
        made = for_launch(program, args, find_target(target), find_target(default_target), how)
        made.seconds = time.perf_counter() - start
        return made
    if goal not in tuple(Goal):
        raise UsageError(f"{goal!r} is no goal; there are {' and '.join(Goal)}.", "goal")
    work = opened(program, args, **options)
    work.goal = Goal(goal)
    made = work.minimised() if minimise else work.made()
    made.seconds = time.perf_counter() - start
    return made


def opened(program: Program, args: Sequence[Any] = (), **given: Any) -> Synchronising:
    """A program that has been read, and has no errors; ``given``: all options of `synchronise` but the last three."""
    wanted, usual, entry = find_target(given["target"]), find_target(given["default_target"]), given["entry"]
    found = origin(program, entry=entry)
    if args:
        source, _ = read_for(found, wanted, usual, read_arguments(args), entry)
    else:
        source = read_without_arguments(found, wanted, usual)
    chosen = source.target_or(wanted, usual)
    source.diagnostics.raise_if_errors()
    named, limit = None if source.own_target else entry, given["limit"]
    assume, blocks, extended = tuple(given["assume"]), given["blocks"], given["extended"]
    options = _Options(chosen, named, tuple(args), assume, blocks, extended, ENOUGH if limit is None else limit)
    return Synchronising(source, options, given["progress"])


@contextmanager
def _placed() -> Iterator[None]:
    """What has no place in the text is a finding."""
    from ptokit.synchronise.placing import NoPlace

    try:
        yield
    except NoPlace as error:
        raise DiagnosticError(Diagnostic(PLACE.id, PLACE.severity, error.why, error.at)) from None


def _places(op: Op) -> Iterator[Location]:
    """The place of an operation, and those of the calls around it."""
    yield op.location
    yield from (place for _, place in getattr(op.location, "calls", ()))


@dataclass(frozen=True)
class _Options:
    target: Target
    entry: str | None
    args: tuple[Any, ...]
    assume: tuple[str, ...]
    blocks: int | None
    extended: bool
    limit: int


class Synchronising:
    """A program that gets flags."""

    def __init__(self, source: Source, how: _Options, progress: Progress) -> None:
        try:
            import z3  # noqa: F401
        except ImportError:
            raise UsageError("this needs the solver: pip install 'ptokit[prove]'", "program") from None
        self.source, self.how, self.progress = source, how, progress
        self.text = source.text if source.text is not None else executed_text(source.file)
        self.checked = self._checked(source)
        self.checked.errors = []
        self.entry = self.checked.program.entry  # of a cube function and a vector function it calls both
        self.functions = with_reached(source.module, self.entry).functions
        self.structure = Structure(self.functions)
        self.in_cpp = any(op.in_cpp for op in self.structure.ops)
        self.goal = Goal.COUNT
        self.scopes: list[Any] = []  # barriers inside of vector scopes
        self.compiled: dict[str, set[int]] = {}  # of C++, the lines that each kind of cores has

    def _checked(self, source: Source, assume: tuple[str, ...] | None = None) -> Proving:
        how = self.how
        assume = how.assume if assume is None else assume
        return Proving(source.module, how.target, how.entry, assume, how.blocks, "manual", how.extended)

    def gone(self, kind: Any, checked: Proving, **fields: Any) -> Any:
        """A walk of some kind through a program; ``fields``: what it gets before."""
        try:
            walk = kind(checked.program, by_compiler=False, blocks=checked.blocks, assume=checked.assume)
        except ValueError as error:
            raise UsageError(str(error), "assume") from None
        walk.solver.most = self.how.limit
        for name, value in fields.items():
            setattr(walk, name, value)
        walk.prove()
        return walk

    def _begun(self, walk: Any) -> Synchronised:
        """The program as it is."""
        from ptokit.prove.ranges import in_types

        made = Synchronised(self.checked.name, self.how.target.name, self.source.file, self.text, self.text)
        apart = [APART] if self.checked.program.cores.mixed else []
        granted = GRANTED, *apart, *walk.granted, *in_types(walk.found.wide)
        made.assumptions = (*self.checked.assume, *walk.asserted.values(), *granted)
        return made

    def made(self) -> Synchronised:
        """The program with flags."""
        from ptokit.synchronise.scopes import placed as placed_in
        from ptokit.synchronise.scopes import unordered
        from ptokit.synchronise.signals import Crossings, Meeting

        self.progress("what has to be ordered")
        self.walk: Crossings = self.gone(Crossings, self.checked)
        made = self._begun(self.walk)
        dependences = self._in_text()
        pairs = unordered(self.walk, self.structure)
        with _placed():
            meeting = Meeting(self.walk.in_text(self.structure), self.structure, self.how.target)
        if not dependences and not pairs and not meeting.crossings:
            made.open = tuple(dict.fromkeys(self.walk.broken_pipes()))
            made.proved = not made.open
            return made
        self.progress("which flags are needed")
        self.scopes = placed_in(pairs, self.structure)
        for placed in self._ways(made, dependences, meeting):
            made.edits, made.text = self._text(placed)
            self.progress("a proof of the new text")
            made.open = self._open(made.text)
            made.proved = not made.open
            made.minimal = not placed.barriers and not placed.signals and not self._doubted(placed)
            if made.proved:
                break
        more = len(placed.flags) + len(placed.barriers) + len(placed.signals)
        if made.proved and not made.minimal and more <= MOST_TRIED:
            placed = self._tried(made, placed)
        if made.predicted is not None:
            made.predicted = replace(made.predicted, cycles=self.timer.cycles(placed))
        made.widened = tuple(placed.widened)
        self._told(made, placed)
        return made

    def _ways(self, made: Synchronised, dependences: list[Any], meeting: Any) -> Iterator[Any]:
        """Flags and signals that order the program, those first that are wanted; if they are not proved, others."""
        for placed in self._flags(made, dependences):
            for signals in meeting.ways():
                yield replace(placed, signals=signals)

    def _flags(self, made: Synchronised, dependences: list[Any]) -> Iterator[Any]:
        """Flags that order the program, those first that are wanted; if they are not proved, others, and then all."""
        from ptokit.synchronise.choosing import merged
        from ptokit.synchronise.placing import Placing, rotatable
        from ptokit.synchronise.timer import predicted

        placing = partial(Placing, self.structure, dependences, rotatable)
        for least in (True, False):
            ways = [self._ready(placing().placed, dependences, least)]
            if self.goal is Goal.OVERLAP and not made.untimed:
                self.progress("how long a launch takes")
                try:
                    made.predicted = predicted(self.timer, ways[0], self.walk.accesses.values())
                    apart = placing(merged=False).placed
                    apart = merged(self._reduced(apart, dependences, False) if least else apart, self.timer)
                    ways = sorted([self._ready(apart, dependences, least, False), *ways], key=self.timer.cycles)
                except NotPredicted as error:
                    made.untimed = str(error)
            yield from ways

    def _ready(self, placed: Any, dependences: list[Any], least: bool, fewest: bool = True) -> Any:
        """Flags with ids; ``least``: without superfluous ones."""
        placed = self._reduced(placed, dependences, fewest) if least else placed
        self._numbered(placed)
        if least and (placed.widened or any(flag.at_once for flag in placed.flags)):  # they order more
            placed = self._reduced(placed, dependences, fewest)
            self._numbered(placed)
        return placed

    @cached_property
    def timer(self) -> Any:
        """Times a launch of the program with flags. Raises `NotPredicted`."""
        from ptokit.synchronise.timer import TextTimer, Timer

        entry = self.checked.program.entry
        launch = Launch.derived(self.source.module, entry, self.how.target, self.how.blocks or 1)
        if not self.in_cpp:
            return Timer(self.structure, self.source.module, entry, launch)
        alone = Timer(Structure(with_reached(self.source.module, entry).functions), self.source.module, entry, launch)
        return TextTimer(alone, self.structure, self._marked)

    def _marked(self, parts: Sequence[Any]) -> Any:
        """A program in C++, compiled with marks."""
        from ptokit.synchronise.timer import Marks

        marks = Marks(self.structure, self.source.file, self.compiled, parts)
        text = edited(self.text, marks.edits)
        source = self._read(text)
        source.diagnostics.raise_if_errors()
        return source.module, choose_entry(source.module, self.how.entry), marks.found(text, source.module, source.file)

    def _doubted(self, placed: Any) -> list[Any]:
        """Flags that only a proof finds needed or not: ages alone tell that where the program has no flags of its own,
        and no loop of C++ is between, which may certainly run."""
        from ptokit.synchronise.numbering import of_text

        def loops(op: Op) -> set[Op]:
            return {around for around, _ in self.structure.chain(op)[1:] if is_loop(around) and around.in_cpp}

        return [
            flag
            for flag in of_text(placed.flags)
            if self.walk.used
            or (need := flag.needed) is None
            or any(loops(path[-1]) - loops(flag.after) for path in (need.first, need.second))
        ]

    def _tried(self, made: Synchronised, placed: Any) -> Any:
        """Leave out what a proof finds superfluous, where ages alone do not tell."""
        from ptokit.synchronise.dependences import Flag, Placed
        from ptokit.synchronise.numbering import place_of

        flags = sorted(self._doubted(placed), key=lambda flag: flag.around is None)
        for one in (*placed.signals, *placed.barriers, *flags):
            self.progress("a proof without one of them")
            rest = [f for f in placed.flags if not isinstance(one, Flag) or place_of(f) != place_of(one)]
            barriers, signals = ([x for x in some if x is not one] for some in (placed.barriers, placed.signals))
            less = Placed(rest, barriers, placed.widened, signals)
            edits, text = self._text(less)
            if not self._open(text):
                placed, made.edits, made.text = less, edits, text
        made.minimal = True
        return placed

    def _in_text(self) -> list[Any]:
        """The dependences, by the loops and branches of the text."""
        from ptokit.synchronise.placing import in_text

        if not self.in_cpp:
            return self.walk.dependences
        parts = {f.core: f.body for f in self.functions if f.core and f.body is not None}
        for core, body in parts.items() if len(parts) > 1 else ():
            places = (place for op in body.walk() for place in _places(op) if place.file == self.source.file)
            self.compiled[core] = {place.line for place in places}
        accesses = (path[-1] for paths in self.walk.accesses.values() for path in paths)
        self.functions = as_written(self.functions, accesses)
        self.structure = Structure(self.functions)
        self.entry = next(function for function in self.functions if function.name == self.entry.name)
        with _placed():
            return list(in_text(self.walk.dependences, self.structure))

    def _reduced(self, whole: Any, dependences: list[Any], fewest: bool = True) -> Any:
        """Flags without superfluous ones; ``fewest``: also where others then wait for more."""
        from ptokit.synchronise.choosing import Reuse, least
        from ptokit.synchronise.dependences import Placed

        functions = {function.name: function for function in self.functions}
        found = Placed([], list(whole.barriers), list(whole.widened))
        for core, accesses in self.walk.accesses.items():
            mine = [d for d in dependences if d.core == core]
            order = Reuse(functions, self.entry, accesses, mine, self.walk.certain, single=self.walk.single)
            flags = Placed([flag for flag in whole.flags if flag.core == core], whole.barriers)
            found.flags += least(order, flags, self.numbering(), fewest, not self.walk.used).flags
        return found

    def numbering(self) -> Any:
        """Gives flags ids that the program has not."""
        from ptokit.synchronise.numbering import Numbering

        return Numbering(self.structure, self.entry, self.walk.used, self.how.target)

    def _numbered(self, placed: Any) -> None:
        """Give flags their ids; one that gets none becomes a barrier."""
        from ptokit.synchronise.choosing import fitted
        from ptokit.synchronise.dependences import Barrier
        from ptokit.synchronise.numbering import number

        with suppress(NotPredicted):  # then the flag that holds some for longest orders more
            fitted(placed, lambda: self.timer, self.numbering())
        while lacking := number(placed.flags, self.structure, self.entry, self.walk.used, self.how.target):
            p, q = (pipe.text for pipe in lacking.pipes)
            placed.flags = [flag for flag in placed.flags if flag is not lacking]
            placed.barriers.append(Barrier(lacking.before, f"all event ids from {p} to {q} are taken"))

    def _text(self, placed: Any) -> tuple[tuple[Edit, ...], str]:
        from ptokit.synchronise.writing import Writing, of_signal

        places = [(bar.before, bar.kind) for bar in self.scopes]
        vectors, target = self.checked.program.cores.vectors, self.how.target
        signals = (part for signal in placed.signals for part in of_signal(signal, vectors, target))
        with _placed():
            edits = Writing(self.structure, placed, self.source.file, self.compiled, places, signals).edits
        return edits, edited(self.text, edits)

    def _open(self, text: str) -> tuple[tuple[str, int], ...]:
        """What is not proved of a new text."""
        from ptokit.synchronise.dependences import Pipes

        source = self._read(text)
        source.diagnostics.raise_if_errors()
        checked = self._checked(source, self.checked.assume)
        if checked.errors:
            return tuple((d.message, d.location.line) for d in checked.errors)
        found = self.gone(Pipes, checked).broken_pipes()
        return tuple(dict.fromkeys([*found, *(self._in_scopes(source, checked) if self.scopes else ())]))

    def _in_scopes(self, source: Source, checked: Proving) -> Iterator[tuple[str, int]]:
        """What nothing orders in the vector scopes of a new text."""
        from ptokit.synchronise.dependences import Dependences
        from ptokit.synchronise.scopes import unordered

        walk = self.gone(Dependences, checked)
        functions = with_reached(source.module, checked.program.entry).functions
        accesses = (path[-1] for paths in walk.accesses.values() for path in paths)
        for pair in unordered(walk, Structure(as_written(functions, accesses))):
            yield overtaking(pair.dependence), pair.dependence.second[-1].location.line

    def _read(self, text: str) -> Source:
        """The program with another text."""
        with with_text(self.source.origin, text) as found:
            if self.how.args:
                return read_for(found, self.how.target, None, read_arguments(self.how.args), self.how.entry)[0]
            return read_without_arguments(found, self.how.target, None)

    def _told(self, made: Synchronised, placed: Any) -> None:
        from ptokit.synchronise.numbering import of_text
        from ptokit.synchronise.signals import told

        bars = ((bar.kind, first_line(bar.before), f"without it {overtaking(bar.needed)}") for bar in self.scopes)
        made.scopes = tuple(InVectorScope(*bar) for bar in bars)
        made.others = self._others(op for flag in placed.flags for op in (flag.after, flag.before))
        flags = []
        for flag in of_text(placed.flags):
            because, need = "not proved without it" if made.minimal else "it was not left out", flag.needed
            if need is not None:
                because = f"without it {overtaking(need)}"
            line = 0 if flag.around is None else first_line(flag.around)
            lines = last_line(flag.after, self.structure.following(flag.after)), first_line(flag.before)
            p, q = (pipe.text.removeprefix("PIPE_") for pipe in flag.pipes)
            answer = flag.answer if flag.told else -1
            flags.append(Inserted(p, q, *lines, line, flag.number, flag.depth, because, flag.at_once, answer))
        made.flags = tuple(flags)
        made.signals = tuple(told(signal, self.structure) for signal in placed.signals)
        made.barriers = tuple((first_line(barrier.before), barrier.why) for barrier in placed.barriers)

    def _others(self, ops: Iterable[Op]) -> tuple[str, ...]:
        """Other kernels of a C++ file that have the lines of some operations."""
        origin = self.source.origin
        if not isinstance(origin, CppProgram):
            return ()
        lines = {op.location.line for op in ops}
        return tuple(origin.compiled(self.how.target).others_with(origin.name, lines))

    # --- what is superfluous -------------------------------------------------------------------------------------

    def minimised(self) -> Synchronised:
        """The program without what is superfluous."""
        from ptokit.sanitize.findings.candidates import without
        from ptokit.synchronise.choosing import operations, removable

        first = self._without(frozenset())
        made, base, found = self._begun(first), _against(first), list[Superfluous]()
        # What is not followed is needed for all that is known.
        known = [] if base else removable(self.structure, first.core, self.source.file)
        groups = [group for group in known if all(first.visited & set(s.ops) for s in group.statements)]
        gone: list[Statement] = []
        for group in groups:
            if any(statement in gone for statement in group.statements):
                continue
            self.progress(f"whether {group.what} in line {group.statements[0].first} is needed")
            if not _against(self._without(operations((*gone, *group.statements)))):
                because = self._because(group, [other for other in groups if not other.shares(gone)], gone)
                gone += group.statements
                lines, places = zip(*((s.first, s.ops[0].location) for s in group.statements))
                cut = tuple(map(without, group.statements))
                found.append(Superfluous(lines, group.what, because, places, cut))
        made.superfluous = tuple(found)
        made.edits = tuple(edit for each in found for edit in each.edits)
        made.text = edited(self.text, made.edits)
        made.others = self._others(op for statement in gone for op in statement.ops)
        self.progress("a proof of the new text")
        made.open = self._open(made.text)
        made.proved = not made.open
        return made

    def _without(self, dropped: frozenset[Op]) -> Any:
        """A walk through the program without some operations."""
        from ptokit.synchronise.dependences import Pipes

        return self.gone(Pipes, self.checked, dropped=dropped, in_clusters=not self.signals)

    @property
    def signals(self) -> bool:
        """True if the program orders cores, too."""
        instrs = (instr_of(op) for op in self.structure.ops)
        return any(instr is not None and instr.order.between_cores for instr in instrs)

    def _because(self, group: Any, others: list[Any], gone: list[Statement]) -> str:
        """Why a group is superfluous."""
        from ptokit.synchronise.choosing import operations

        rest = [other for other in others if not other.shares(group.statements)]
        every = operations((*gone, *group.statements, *(s for other in rest for s in other.statements)))
        alone = operations((*gone, *(s for other in rest for s in other.statements)))
        if _against(self._without(every)) == _against(self._without(alone)):
            return "nothing before it has to be over for what comes after it"
        line = group.statements[-1].first
        for other in sorted(rest, key=lambda each: min(abs(s.first - line) for s in each.statements))[:NEAR]:
            both = _against(self._without(operations((*gone, *group.statements, *other.statements))))
            if not both <= _against(self._without(operations((*gone, *other.statements)))):
                return f"{other.what} in line {other.statements[-1].first} orders that already"
        return "others together order that already"


MOST_TRIED = 24
"""Of so many flags and barriers of a program with a graph of blocks, each is left out in a proof."""

NEAR = 8
"""What may make something superfluous is looked for among so many others."""


def _against(walk: Any) -> set[Any]:
    """What a walk has found."""
    gaps = (gap for gap in walk.found.gaps if gap.claim in walk.claims)
    return {*walk.found.suspects, *((gap.claim, gap.reason, gap.line) for gap in gaps)}
