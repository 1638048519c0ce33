"""`sanitize`: a run under observation; `diff`: two kernels, or two ways of running one, on the same input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack, overload

from ptokit.arguments.derive import derive, resting, settled
from ptokit.arguments.grammar import Argument, copied, make, of_ranks, read_arguments
from ptokit.diagnostics import Diagnostic, Diagnostics, Note, UsageError
from ptokit.ir.core import Module
from ptokit.isa.order.sync_rules import SUPERFLUOUS
from ptokit.prove.report import what_decides
from ptokit.records import dataclass
from ptokit.run import Param, choose_entry
from ptokit.run import Program as Compiled
from ptokit.run.tensors import arrays
from ptokit.sanitize import Report, sanitize_launch
from ptokit.sanitize.findings.race import Fix
from ptokit.sanitize.launch import Progress
from ptokit.targets import Target
from ptokit.timing.state import NotPredicted
from ptokit.types.choices import LaunchOptions, OptionalRule, RunOptions, SanitizeKeywords, SanitizeOptions, taken
from ptokit.watch.diff import Difference, Side, StepDifference, Tolerance
from ptokit.watch.diff import diff as run_both
from ptokit.watch.seen import Seen

from .check import PerTarget, SeveralTargets, for_each, is_several, named_targets, origin
from .findings import Found, Selection, reported, selection
from .launch import as_parameters, prepare, read_for, read_without_arguments
from .one_launch import Launch
from .parts import Part, Table, Words, checked, find_target, keywords, plain
from .program import Origin, Program, Source

if TYPE_CHECKING:
    from ptokit.synchronise.report import OrderComparison

# `sanitize`: a run under observation.


class Reports(Found, PerTarget[Report]):
    """What was found on several targets: a report for each, by its name."""

    @property
    def findings(self) -> dict[str, Diagnostics]:
        """The findings by target."""
        return {target: report.diagnostics for target, report in self.items()}

    @property
    def clean(self) -> bool:
        """True without errors and warnings on any target."""
        return all(report.clean for report in self.values())

    def __str__(self) -> str:
        """What the terminal shows: the findings with their lines, and the verdict on each target."""
        return self.shown(*(f"{each.name} on {target}: {each.verdict}" for target, each in self.items()))


class _SanitizeKeywords(SanitizeKeywords, total=False):
    """What else `sanitize` is told, whether for one target or several."""

    default_target: str | Target | None
    select: Iterable[str]
    ignore: Iterable[str]
    blocks: int
    progress: Progress


@overload
def sanitize(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: str | Target | None = None,
    **options: Unpack[_SanitizeKeywords],
) -> Report: ...
@overload
def sanitize(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: SeveralTargets,
    **options: Unpack[_SanitizeKeywords],
) -> Reports: ...
@keywords(LaunchOptions, SanitizeOptions)
def sanitize(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: str | Target | SeveralTargets | None = None,
    default_target: str | Target | None = None,
    select: Iterable[str] = (),
    ignore: Iterable[str] = (),
    progress: Progress = lambda done, total: None,
    **options: Any,
) -> Report | Reports:
    """Run blocks 0 .. blocks-1 of a kernel under observation: races, flags, deadlocks, uninitialised data, bounds.

    Without ``args`` the kernel gets some that are made from its text, as in campaigns; ``report.arguments`` says which.
    ``program``, ``args``, ``target``, ``default_target``, ``entry``, ``vector_cores`` and ``extended``: as for
    `ptokit.run`, a list of targets for a report on each; arrays made by `ptokit.uninit`, or the text
    "uninit:f32:64x64", are for output only. ``order``: ``strict``, or ``profile`` for the order inside a pipe that the
    target promises. ``witness``: show for each race what changes if its first access comes late. ``seed``: also run in
    another legal order, drawn with that seed.
    ``explain_sync``: find the flags and barriers that a program without any needs. ``mode``: ``auto``, ``auto-sync`` or
    ``manual``, where the program does not tell. ``also``: rules that are off by default; SYNC-SUPERFLUOUS takes the
    solver. ``select``, ``ignore``: report only these rules, and not those, by the beginnings of their ids. ``ranks``:
    as for `ptokit.run`. ``progress(done, total)`` is called as blocks end. Errors in the program are in the report, and
    then nothing runs. Raises `DiagnosticError` for arguments that cannot be used, `UsageError` for a value that there
    is not.
    """
    selected = selection(select, ignore)
    launch, how = checked(taken(LaunchOptions, options)), checked(taken(SanitizeOptions, options))
    found = origin(program, entry=launch.entry)
    several = is_several(target)
    targets: Sequence[Target | None] = named_targets(target) or [None]
    look = partial(_looked_at, found, launch, how, default=find_target(default_target), progress=progress)
    seen = for_each(targets, lambda each: look(copied(args) if several else args, target=each))
    reports = Reports({report.target: report for report, _ in seen.values()})
    _select(reports, [source for _, source in seen.values()], selected)
    return reports if several else next(iter(reports.values()))


def _looked_at(
    found: Origin,
    launch: LaunchOptions,
    how: SanitizeOptions,
    args: Sequence[Any],
    *,
    target: Target | None,
    default: Target | None,
    progress: Progress,
) -> tuple[Report, Source]:
    """What was found on one target, and the program as it was read for it."""
    made: list[str] = []
    if args or launch.ranks is not None:
        source, arguments = read_for(found, target, default, read_arguments(args), launch.entry)
    else:
        source = read_without_arguments(found, target, default)
        if not source.diagnostics.errors:
            made = _arguments_for(source, None if source.own_target else launch.entry, launch.blocks)
        arguments = []
    if source.diagnostics.errors:
        target_name = "" if target is None and source.target is None else source.target_or(target).name
        report = Report(source.file, target_name, launch.blocks, how.order)
        report.diagnostics.extend(source.diagnostics)
        return report, source
    chosen = source.target_or(target, default)
    launch = replace(launch, entry=None) if source.own_target else launch
    entry = choose_entry(source.module, launch.entry)
    params = [Param(p.name, p.type) for p in entry.params]

    def look(given: Sequence[Argument]) -> tuple[Report, Diagnostics]:
        values = as_parameters(arrays(entry, of_ranks(make(given), launch.ranks)), params)
        report = sanitize_launch(source.module, chosen, values, launch, how, progress=progress)
        return report, report.diagnostics

    if made:
        report, made = settled(source.module, entry, lambda texts: look(read_arguments(texts)), launch.blocks)
        report.diagnostics = Diagnostics(resting(report.diagnostics, entry, made))
    else:
        report, _ = look(arguments)
    report.arguments = made
    if report.ran and report.clean and report.coverage.complete and launch.ranks is None and how == SanitizeOptions():
        program = Compiled(source.module, entry, chosen, extended=launch.extended, vector_cores=launch.vector_cores)
        report.closed = not what_decides(program, launch.blocks)
    report.diagnostics.extend(source.diagnostics)
    if OptionalRule.SUPERFLUOUS in how.also and report.ran and not report.errors:
        for diagnostic, fix in superfluous(found, args, target=chosen, entry=launch.entry, extended=launch.extended):
            report.diagnostics.add(diagnostic)
            report.fixes[diagnostic], report.folded[diagnostic] = fix, ()
    return report, source


def superfluous(program: Program, args: Sequence[Any] = (), **options: Any) -> Iterator[tuple[Diagnostic, Fix]]:
    """What is superfluous of the flags and barriers of a kernel (SYNC-SUPERFLUOUS), and what takes it out.

    ``options``: of `ptokit.synchronise`; without an entry all kernels are looked at. Raises `UsageError` where the
    solver is missing.
    """
    from .synchronise import synchronise

    module = origin(program, entry=options.get("entry")).read(find_target(options["target"])).module
    if options.get("entry") is None and len(names := _kernels(module)) > 1:
        for name in names:
            yield from superfluous(program, args, **options | {"entry": name})
        return
    for each in synchronise(program, args, minimise=True, **options).superfluous or ():
        notes = tuple(Note("together with this", place) for place in each.places[1:])
        message, hint = f"{each.what} is superfluous: {each.because}", f"leave out {each.where}"
        found = Diagnostic(SUPERFLUOUS.id, SUPERFLUOUS.severity, message, each.places[0], hint, notes)
        yield found, Fix(hint, each.edits)


def _kernels(module: Module) -> list[str]:
    """The names of all kernels."""
    marked = [function.name for function in module.entries()]
    return marked or [f.name for f in module.functions if f.body is not None and not f.visibility]


def _arguments_for(source: Source, entry: str | None, blocks: int) -> list[str]:
    """Arguments made from the text of a kernel. Raises `UsageError` for one that talks with others: its text does not
    tell who they are."""
    kernel = choose_entry(source.module, entry)
    bodies = [function.body for function in source.module.functions if function.body is not None]
    if any(op.name in _TALKS or op.name.startswith("pto.comm.") for body in bodies for op in body.walk()):
        message = f"{kernel.name} notifies or waits for others: say with --arg and --ranks what they share."
        raise UsageError(message, "arg")
    return derive(source.module, kernel, blocks)


_TALKS = ("pto.tnotify", "pto.twait", "pto.ttest")


def _select(reports: Reports, sources: Sequence[Source], chosen: Selection) -> None:
    """Leave the findings that are to be reported; all errors that kept the kernel from running."""
    kept_from_running = [
        source if report.ran else replace(source, diagnostics=report.diagnostics)
        for report, source in zip(reports.values(), sources)
    ]
    symptoms = {target: Diagnostics(report.symptoms) for target, report in reports.items()}
    found = reported(symptoms, kept_from_running, chosen, ran=True)
    for target, report in reports.items():
        report.keep(found[target])


# `diff`: two kernels, or two ways of running one, on the same input.


SCHEMA_VERSION = 1
"""Of the JSON report."""


@dataclass
class DiffReport:
    """What `diff` found. True as a condition if nothing differs."""

    names: tuple[str, str]  # of the sides: kernel and target, and what else tells them apart
    difference: Difference
    diagnostics: tuple[Diagnostics, Diagnostics]

    @property
    def same(self) -> bool:
        """True if nothing differs."""
        return not self.difference

    def __bool__(self) -> bool:
        return self.same

    def parts(self) -> list[Part]:
        """What the terminal shows."""
        found = self.difference
        out: list[Part] = [Words(f"{letter} is {name}") for letter, name in zip("AB", self.names)]
        for letter, ops in zip("AB", found.alone):
            if ops:
                places = ", ".join(f"line {op.location.line} ({op.name.removeprefix('pto.')})" for op in ops[:3])
                more = f" and {len(ops) - 3} more" if len(ops) > 3 else ""
                out.append(Words(f"only in {letter}: {places}{more}"))
        for letter, error in zip("AB", found.failed):
            if error is not None:
                at = error.diagnostics[0]
                out.append(Words(f"{letter} fails: {at.location}: {at.message} [{at.rule}]"))
        out.append(Words())
        if found.first is not None:
            out.extend(_first(found.first))
        elif found.writer is not None:
            seen = found.writer
            out.append(Words("Instructions of native code cannot be watched; the arguments are compared."))
            out.append(Words(f"The first element that differs is written by {_place(seen)}"))
        elif self.same:
            compared = f"{found.compared} results of instructions" if found.compared else "all arguments"
            out.append(Words(f"no difference in {compared}"))
        rows = [
            [
                a.name,
                f"{a.count} of {a.size}" if a.count else "-",
                "" if a.first is None else _index(a.first),
                *(("", "") if a.values is None else map(_exact, a.values)),
            ]
            for a in found.arguments
        ]
        if rows and not self.same:
            out += [Words(), Table(["argument", "differs", "first at", "A", "B"], rows)]
        return out

    def __str__(self) -> str:
        return plain(self.parts())

    def as_json(self) -> dict[str, Any]:
        """The same as a JSON object (docs/formats.md)."""
        found = self.difference
        first = None
        if found.first is not None:
            both = {"a": _seen(found.first.a), "b": _seen(found.first.b)}
            values = None if found.first.first is None else [v.item() for v in _values(found.first)]
            first = {**both, "count": found.first.count, "index": found.first.first, "values": values}
        arguments = [{"name": a.name, "count": a.count, "size": a.size, "index": a.first} for a in found.arguments]
        failed = [None if error is None else str(error) for error in found.failed]
        return {
            "version": SCHEMA_VERSION,
            "same": self.same,
            "sides": list(self.names),
            "compared": found.compared,
            "first": first,
            "arguments": arguments,
            "only": [[op.location.line for op in ops] for ops in found.alone],
            "failed": failed,
        }


def _first(found: StepDifference) -> list[Part]:
    out: list[Part] = [Words("The first result that differs:"), Words()]
    out += [Words(f"  {letter}  {_place(seen)}") for letter, seen in zip("AB", (found.a, found.b))]
    if found.first is None:
        shapes = [seen.what for seen in (found.a, found.b)]
        return [*out, Words(), Words(f"its shapes differ: {shapes[0]} in A, {shapes[1]} in B")]
    a, b = _values(found)
    size = found.a.array.size if found.a.array is not None else 0
    differ = f"{found.count} of {size} elements differ"
    first = f"the first at {_index(found.first)}: {_exact(a)} in A, {_exact(b)} in B"
    return [*out, Words(), Words(f"{differ}; {first}")]


def _values(found: StepDifference) -> tuple[Any, Any]:
    assert found.a.array is not None
    assert found.b.array is not None
    return found.a.array[found.first], found.b.array[found.first]


def _exact(value: Any) -> str:
    """All digits that tell a number from its neighbours."""
    return str(value.item() if value.dtype.kind in "biu" else value)


def _index(first: tuple[int, ...]) -> str:
    return "(" + ", ".join(map(str, first)) + ")"


def _place(seen: Seen) -> str:
    return f"{seen.location}: {seen.instruction} into {seen.name or seen.operand} ({seen.when})"


def _seen(seen: Seen) -> dict[str, Any]:
    place = {"file": seen.location.file, "line": seen.line, "column": seen.location.column}
    when = {"block": seen.block, "core": seen.core, "loops": {name: int(value) for name, value in seen.loops}}
    return {**place, **when, "instruction": seen.instruction, "name": seen.name, "operand": seen.operand}


def diff(
    a: Program,
    b: Program | None = None,
    args: Sequence[Any] = (),
    *,
    target: str | Target | tuple[str | Target | None, str | Target | None] | None = None,
    entry: str | tuple[str | None, str | None] | None = None,
    blocks: int = 1,
    matmul: str | tuple[str, str] = "exact",
    backend: str | tuple[str | None, str | None] | None = None,
    vector_cores: int = 2,
    extended: bool = False,
    rtol: float = 0.0,
    atol: float = 0.0,
    progress: Callable[[str], None] = lambda text: None,
) -> DiffReport:
    """Run two programs on copies of the same arguments, and find the first instruction whose results differ.

    ``b``: None for the same program as ``a``, run in another way. ``target``, ``entry``, ``matmul`` and ``backend``:
    as for `run`, one value or a pair. ``rtol``, ``atol``: what may differ, ``atol + rtol * |B|``; by default nothing.
    Raises `DiagnosticError` for programs that are refused, `UsageError` for a value that there is not.
    """
    if blocks < 1:
        raise UsageError(f"{blocks} is less than 1.", "blocks")
    for name, tolerance in (("rtol", rtol), ("atol", atol)):
        if not 0 <= tolerance < float("inf"):
            raise UsageError(f"{tolerance} is not a number from 0 on.", name)
    arguments = read_arguments(args)
    sides: list[Side] = []
    made: dict[Argument, Any] = {}
    found: list[Diagnostics] = []
    for k, program in enumerate((a, a if b is None else b)):
        how = checked(RunOptions(matmul=_of(matmul, k), backend=_of(backend, k)))
        launch = checked(LaunchOptions(_of(entry, k), vector_cores=vector_cores, extended=extended))
        kernel = prepare(program, arguments, launch, target=_of(target, k))
        values = arrays(kernel.program.entry, [_both_get(argument, made) for argument in kernel.arguments])
        sides.append(Side(kernel.program, as_parameters(values, kernel.program.params), how.matmul, how.backend))
        found.append(kernel.diagnostics)
    difference = run_both(sides[0], sides[1], blocks, tolerance=Tolerance(rtol, atol), progress=progress)
    return DiffReport(_names(sides), difference, (found[0], found[1]))


def _both_get(argument: Argument, made: dict[Argument, Any]) -> Any:
    """The value of an argument, which both sides get."""
    if argument not in made:
        (made[argument],) = make([argument])
    return made[argument]


def _of(value: Any, side: int) -> Any:
    return value[side] if isinstance(value, tuple) else value


def _names(sides: Sequence[Side]) -> tuple[str, str]:
    """What the sides are, with the options that they do not share."""
    one, other = sides
    out = []
    for side in sides:
        more = [side.matmul] if one.matmul != other.matmul else []
        more += [side.backend or "by itself"] if one.backend != other.backend else []
        file = side.program.module.file or "a text"
        what = ", ".join([f"{side.program.name} of {file} on {side.program.target.name}", *more])
        out.append(what)
    return out[0], out[1]


def compare_order(
    a: Program,
    b: Program,
    *,
    target: str | Target | None = None,
    entry: str | None = None,
    assume: Iterable[str] = (),
    blocks: int | None = None,
    extended: bool = False,
    default_target: str | Target | None = None,
    limit: int | None = None,
    progress: Callable[[str], None] = lambda what: None,
) -> OrderComparison:
    """Compare what two versions of a kernel order: its author's and a compiler's, or two of either.

    ``a``, ``b``: text, files or kernels, each in text, Python or C++. The other options are those of
    `ptokit.synchronise`. ``lost`` of the result is what B orders less than A. Raises `DiagnosticError` for a
    program with errors, `UsageError` where the solver is missing (``pip install 'ptokit[prove]'``).
    """
    from .synchronise import opened

    options: dict[str, Any] = {"target": target, "entry": entry, "assume": assume, "blocks": blocks}
    options |= {"extended": extended, "default_target": default_target, "limit": limit, "progress": progress}
    one, two = opened(a, **options), opened(b, **options)
    from ptokit.synchronise.comparing import Version, compared
    from ptokit.synchronise.report import OrderComparison

    made = OrderComparison(one.checked.name, one.how.target.name, (one.source.file, two.source.file))
    known: dict[Any, int] = {}
    found = []
    for work, which in ((one, "A"), (two, "B")):
        progress(f"what {which} orders")
        walk = partial(_without, work)
        found.append(Version(work.source.module, work.entry, work.structure.ops, walk, known))
        made.open += [f"{which}, {gap}" for gap in found[-1].gaps]
    if not made.open:
        progress("what only one of them orders")
        compared(made, *found)
    progress("how long both take")
    try:
        launch = Launch.derived(one.source.module, one.entry, one.how.target, blocks or 1, extended)
        times = [launch.cycles(work.source.module, work.entry) for work in (one, two)]
    except NotPredicted as error:
        made.launch = str(error)
    else:
        made.cycles, made.launch = (times[0], times[1]), launch.said
    return made


def _without(work: Any, kind: Any, dropped: frozenset[Any]) -> Any:
    return work.gone(kind, work.checked, dropped=dropped)
