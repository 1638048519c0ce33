"""`run`: a kernel carried out on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import field, replace
from itertools import zip_longest
from time import perf_counter
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np

from ptokit.arguments.grammar import Argument, as_parameter, copied, make, of_ranks, read_arguments
from ptokit.diagnostics import DiagnosticError, Diagnostics, UsageError
from ptokit.ir.functions import check_runnable, readable_functions
from ptokit.ir.launch import found_for, with_reached
from ptokit.ir.verify import verify
from ptokit.machine.observer import Observer
from ptokit.records import dataclass
from ptokit.run import Param, choose_entry
from ptokit.run import Program as Compiled
from ptokit.run.arguments import divided, sample
from ptokit.run.backends import redirected
from ptokit.run.tensors import arrays, remarks
from ptokit.targets import Target
from ptokit.types.choices import LaunchOptions, RunKeywords, RunOptions, SanitizeOptions, TimeOptions, taken
from ptokit.types.dtypes import SINGLES, DType

from .check import PerTarget, SeveralTargets, for_each, is_several, named_targets, origin
from .parts import Table, Words, checked, find_target, keywords, plain
from .program import Origin, Program, Source

if TYPE_CHECKING:
    from ptokit.timing.report import Timing
    from ptokit.watch import Recorder, Seen

Progress = Callable[[int, int], None]


@dataclass
class RunResult:
    """What a run left: ``arrays`` by the names of the parameters. ``remark``: why one worker ran all of it, if so.

    ``diagnostics``: what was found in the program before the run, ``races``: by ``sanitize``; no errors, those end it.
    ``seen``: what the tiles named by ``watch`` held, in the order of execution.
    """

    name: str
    target: str
    blocks: int
    seconds: float
    results: list[Result]
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    races: Diagnostics = field(default_factory=Diagnostics)
    remark: str = ""
    seen: list[Seen] = field(default_factory=list)
    ranks: int | None = None

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The array arguments as the kernel left them."""
        return {result.name: result.after for result in self.results}

    @property
    def title(self) -> str:
        """What was run, and how long it took."""
        blocks = _count(self.blocks, "block")
        where = blocks if self.ranks is None else f"{_count(self.ranks, 'rank')} of {blocks}"
        return f" on {self.target}: {where} in {_duration(self.seconds)}"

    def parts(self) -> list[Any]:
        """What the terminal shows: a line, and a table of the arrays."""
        table = [Words(), result_table(self.results)] if self.results else []
        remark = [Words(self.remark)] if self.remark else []
        return [Words(self.title, strong=self.name), *remark, *table]

    def __str__(self) -> str:
        return plain(self.parts())


class _RunKeywords(RunKeywords, total=False):
    """What else `run` is told, whether for one target or several."""

    default_target: str | Target | None
    blocks: int
    watch: Sequence[str]


@overload
def run(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: str | Target | None = None,
    **options: Unpack[_RunKeywords],
) -> RunResult: ...
@overload
def run(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: SeveralTargets,
    **options: Unpack[_RunKeywords],
) -> PerTarget[RunResult]: ...
@keywords(LaunchOptions, RunOptions)
def run(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: str | Target | SeveralTargets | None = None,
    default_target: str | Target | None = None,
    watch: Sequence[str] = (),
    **options: Any,
) -> RunResult | PerTarget[RunResult]:
    """Run blocks 0 .. blocks-1 of a kernel: of a path, a text, or what `read` returned.

    ``args``: one per parameter; arrays, torch's or others with DLPack among them, which are used in place, numbers, or
    texts as after ``--arg`` ("random:f32:64x64"). ``target``: by default the one that the program states, or
    ``default_target``; a list of them gives a result for each, by its name, and every run has copies of the arrays.
    ``entry``: the kernel, where there are several. ``matmul``: how the cube unit adds, ``exact``, ``fast`` or ``ref``.
    ``vector_cores``: those beside each cube core of a mixed kernel, 1 or 2. ``extended``: the cpu target runs element
    types that only devices have. ``sanitize``: look for races and uninitialised data first. ``backend``: ``numpy`` or
    ``native``; by default what is faster. ``threads``: how many run native code. ``executor``: whose workers run the
    blocks, if not this process: ``processes``, ``dask://HOST:PORT``, or an executor of `concurrent.futures`; ``jobs``:
    how many processes, or workers that it has. ``watch``: tiles to look at, ``"acc"``, ``"acc@12"`` or ``"@12"``
    (`ptokit.watch.Selection`). ``ranks``: launch on that many devices; then arrays have a leading axis for them, a list
    has an array for each, and ``pto.RANK``, ``pto.RANKS``, ``pto.COMM`` and ``pto.Peer`` are what each has of its own.
    Raises `DiagnosticError` for what is refused or fails, `UsageError` for a value that there is not and for options
    that nothing would heed.
    """
    launch, how = checked(taken(LaunchOptions, options)), checked(taken(RunOptions, options))
    found = origin(program, entry=launch.entry)

    def run_on(target: Target | None, args: Sequence[Any]) -> RunResult:
        prepared = prepare(found, read_arguments(args), launch, target=target, default_target=default_target)
        seen: list[Seen] = []
        observer = prepared.recorder(watch, seen.append) if watch else None
        result = prepared.run(how, observer=observer)
        result.seen = seen
        return result

    targets: Sequence[Target | None] = named_targets(target) or [None]
    if not is_several(target):
        return run_on(targets[0], args)
    return for_each(targets, lambda each: run_on(each, copied(args)))


def prepare(
    program: Program,
    arguments: Sequence[Argument],
    launch: LaunchOptions,
    *,
    target: str | Target | None = None,
    default_target: str | Target | None = None,
) -> Prepared:
    """A kernel read, checked and compiled, as for `run`; of its arguments none is made yet.

    Errors in functions that it does not reach are warnings. Raises `DiagnosticError` with everything that is wrong.
    """
    wanted, default = find_target(target), find_target(default_target)
    source, arguments = read_for(program, wanted, default, arguments, launch.entry)
    found = Diagnostics()
    found.extend(source.diagnostics)
    if found.errors and wanted is None and source.target is None:
        found.raise_if_errors()
    chosen = source.target_or(wanted, default)
    functions = readable_functions(source.module, found)
    found.extend(verify(source.module, chosen, extended=launch.extended, functions=functions))
    try:
        kernel = choose_entry(source.module, None if source.own_target else launch.entry)
    except DiagnosticError:
        found.raise_if_errors()
        raise
    found = found_for(source.module, kernel, found)
    found.raise_if_errors()
    module = with_reached(source.module, kernel)
    check_runnable(module, found)
    found.raise_if_errors()
    compiled = Compiled(module, kernel, chosen, extended=launch.extended, vector_cores=launch.vector_cores)
    return Prepared(compiled, list(arguments), found, launch)


def read_for(
    program: Program,
    target: Target | None,
    default: Target | None,
    arguments: Sequence[Argument],
    entry: str | None,
) -> tuple[Source, list[Argument]]:
    """A program that is to run, and the arguments that its launch is given; ``default``: where no target is named.

    Of a kernel in Python arguments decide what it is, so they are made first.
    """
    found = origin(program, entry=entry)
    if not found.called:
        return read_without_arguments(found, target, default), list(arguments)
    values = make(arguments)
    some = sample({str(k): value for k, value in enumerate(values)})
    source = found.read(target, list(some.values()))
    if source.diagnostics.errors:
        return source, []
    return source, read_arguments(found.passed(values))


def read_without_arguments(found: Origin, target: Target | None, default: Target | None) -> Source:
    """A program by what it says itself; ``default``: where no target is named."""
    source = found.read(target)
    return found.read(default) if target is None and source.target is None and default is not None else source


@dataclass
class Prepared:
    """A kernel ready to run, and the findings of severity warning."""

    program: Compiled
    arguments: list[Argument]
    diagnostics: Diagnostics
    launch: LaunchOptions

    @property
    def names(self) -> list[str]:
        """A name for each parameter, fit for files."""
        return file_names([param.name for param in self.program.params])

    @property
    def array_names(self) -> list[str]:
        """The names of those that are arrays."""
        return [name for name, param in zip(self.names, self.program.params) if param.dtype is not None]

    def run(
        self,
        how: RunOptions,
        *,
        keep: bool = False,
        progress: Progress | None = None,
        observer: Observer | None = None,
    ) -> RunResult:
        """Make the arguments and run the kernel on them. ``keep``: keep what arrays held before."""
        self._refuse_unused(observer, how)
        executor = "processes" if how.executor is None and how.jobs is not None else how.executor
        program, blocks, ranks = self.program, self.launch.blocks, self.launch.ranks
        values = as_parameters(arrays(program.entry, of_ranks(make(self.arguments), ranks)), program.params)
        self.diagnostics.extend(remarks(program.entry, values))
        races = self._races(values) if how.sanitize else Diagnostics()
        kept = self._arrays(values)
        before = [copy(array) if keep and not isinstance(array, np.memmap) else None for _, _, array in kept]
        told_by_launch: list[str] = []
        start = perf_counter()
        common: dict[str, Any] = {"matmul": how.matmul, "progress": progress, "backend": how.backend}
        if ranks is not None:
            program.launch_ranks(divided(program.entry, values, ranks), blocks, observer=observer, **common)
        elif executor is None:
            program.launch(values, blocks, threads=how.threads, observer=observer, **common)
        else:
            from ptokit.launches.launch import launch

            launch(program, values, blocks, executor=executor, jobs=how.jobs, say=told_by_launch.append, **common)
        seconds = perf_counter() - start
        results = [Result(name, dtype, old, new) for (name, dtype, new), old in zip(kept, before, strict=True)]
        told: dict[str, Any] = {
            "diagnostics": self.diagnostics,
            "races": races,
            "remark": told_by_launch[0] if told_by_launch else "",
            "ranks": ranks,
        }
        return RunResult(program.name, program.target.name, blocks, seconds, results, **told)

    def _refuse_unused(self, observer: Observer | None, how: RunOptions) -> None:
        """Raise `UsageError` for options that say who runs the blocks, where they do not count."""
        if observer is not None or self.launch.ranks is not None:
            what = "what is to be watched" if observer is not None else "a launch on several devices"
            unused, why = ["jobs", "threads", "executor"], f"{what} runs in this process, on one thread."
        elif how.executor is not None or how.jobs is not None:
            unused, why = ["threads"], "the processes of an executor run one thread each."
        else:
            return
        for name in unused:
            if getattr(how, name) is not None:
                raise UsageError(why, name)

    def _arrays(self, values: Sequence[Any]) -> list[tuple[str, DType | None, np.ndarray]]:
        """Name, element type and contents of every array; those that each rank has of its own are ``rank0/NAME`` .."""
        found = []
        for name, param, value in zip(self.names, self.program.params, values):
            if isinstance(value, np.ndarray):
                found.append((name, param.dtype, value))
            elif isinstance(value, list | tuple):
                each = enumerate(value)
                found += [(f"rank{r}/{name}", param.dtype, v) for r, v in each if isinstance(v, np.ndarray)]
        return found

    def recorder(self, watch: Sequence[str], found: Callable[[Seen], None]) -> Recorder:
        """An observer for `run` that calls `found` with what is chosen. Raises `UsageError` for what is not there."""
        from ptokit.watch import Recorder, Selection
        from ptokit.watch.seen import SelectionError

        selections = []
        for text in watch:
            try:
                selections.append(Selection.of(text))
            except SelectionError as error:
                raise UsageError(str(error), "watch") from None
            missing = selections[-1].missing(self.program.module)
            if missing:
                raise UsageError(missing, "watch")
        return Recorder(selections, found)

    def _races(self, values: list[Any]) -> Diagnostics:
        """What a run under observation finds, on copies of the arguments. Raises `DiagnosticError` for errors."""
        from ptokit.sanitize import sanitize_launch

        program, launch = self.program, replace(self.launch, entry=self.program.name)
        with redirected(lambda text: None):  # the run will print it
            report = sanitize_launch(program.module, program.target, copied(values), launch, SanitizeOptions())
        report.diagnostics.raise_if_errors()
        return report.diagnostics


def as_parameters(values: list[Any], params: Sequence[Param]) -> list[Any]:
    """Values with raw bits as elements of the parameters' types, where NumPy lacks these."""
    return [
        value if param is None or param.dtype is None else _as_parameter(value, param.dtype)
        for value, param in zip_longest(values, params[: len(values)])
    ]


def _as_parameter(value: Any, dtype: DType) -> Any:
    several = isinstance(value, list | tuple)
    return [as_parameter(each, dtype) for each in value] if several else as_parameter(value, dtype)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


# `time`: how long a launch takes on a part, and what limits it.


@keywords(LaunchOptions, TimeOptions)
def time(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: str | Target | None = None,
    default_target: str | Target | None = None,
    **options: Any,
) -> Timing:
    """Time blocks 0 .. blocks-1 of a kernel: follow what each core issues, and run that through a model of a part.

    ``program``, ``args``, ``target``, ``default_target``, ``entry``, ``vector_cores``, ``extended`` and ``ranks``: as
    for `ptokit.run`; arrays are not written. ``part``: a device that runs the target ("910B2"), by default one that the
    result names. ``values``: compute what tiles hold, too, which is done anyway where a number that decides something
    depends on it. ``complete``: carry out every iteration of loops, those too that repeat others.
    ``warm``: the same launch has just ended, so that cores are awake, and L2 holds what fits of the
    arguments.
    Raises `DiagnosticError` for what is refused or fails, `UsageError` for a part that there is not.
    """
    from ptokit.sanitize.api import look_at_barriers
    from ptokit.targets.base import PartError, part_named
    from ptokit.timing.report import timed

    launch, how = checked(taken(LaunchOptions, options)), checked(taken(TimeOptions, options))
    kernel = prepare(program, read_arguments(args), launch, target=target, default_target=default_target)
    compiled, ranks = kernel.program, launch.ranks
    try:
        chosen = part_named(how.part, compiled.target)
    except PartError as error:
        raise UsageError(str(error), "part") from None
    given = as_parameters(arrays(compiled.entry, of_ranks(make(kernel.arguments), ranks)), compiled.params)
    more: dict[str, Any] = {"named": how.part is not None, "values": how.values, "ranks": ranks or 0, "warm": how.warm}
    more["complete"] = how.complete
    found = timed(compiled, given, launch.blocks, chosen, **more)
    look_at_barriers(found, compiled, given, launch)
    return found


# What a run left in its pointer arguments, as a table.


_FIRST = 3  # elements shown


@dataclass(frozen=True)
class Result:
    """An array argument: its element type (None: as NumPy says), contents before and after the run.

    One that is mapped from a file, and may be larger than memory, has no contents before; only its first values are
    looked at. Contents before are None where they were not kept.
    """

    name: str
    dtype: DType | None
    before: np.ndarray | None
    after: np.ndarray


def file_names(names: Sequence[str]) -> list[str]:
    """File name without suffix for each parameter: its own name, ``argN`` where it has none or only a number.

    Two names that differ only in case get a number, because some file systems would merge them.
    """
    taken: set[str] = set()
    out = []
    for i, name in enumerate(names):
        own = f"arg{i}" if not name or name.isdigit() else name
        if own.lower() in taken:
            own = f"{own}_{i}"
        taken.add(own.lower())
        out.append(own)
    return out


def result_table(results: Sequence[Result]) -> Table:
    """One row per array argument."""
    headers = ["argument", "type", "shape", "changed", "min", "max", "first values"]
    rows = [list(_row(result)) for result in results]
    if all(result.before is None and not isinstance(result.after, np.memmap) for result in results):
        headers.remove("changed")
        rows = [row[:3] + row[4:] for row in rows]
    undefined = [_undefined(result) for result in results]
    if any(undefined):
        headers.insert(-1, "nan")
        for row, count in zip(rows, undefined):
            row.insert(-1, str(count) if count else "-")
    return Table(headers, rows, ("changed", "min", "max", "nan"))


def _undefined(result: Result) -> int:
    """How many elements are NaN."""
    if isinstance(result.after, np.memmap):
        return 0
    values = decoded(result.after, result.dtype)
    return int(np.isnan(values).sum()) if values.dtype.kind == "f" else 0


def _row(result: Result) -> tuple[str, ...]:
    type_name = result.dtype.name if result.dtype else result.after.dtype.name
    shape = "x".join(map(str, result.after.shape))
    if isinstance(result.after, np.memmap):
        start = np.asarray(result.after.reshape(-1)[: _FIRST + 1])
        return result.name, type_name, shape, "mapped", "", "", _first(decoded(start, result.dtype))
    values = decoded(result.after, result.dtype)
    return result.name, type_name, shape, _changed(result.before, result.after), *_extremes(values), _first(values)


def _changed(before: np.ndarray | None, after: np.ndarray) -> str:
    if before is None:
        return "?"
    raw = np.dtype(f"u{after.dtype.itemsize}")
    n = int(np.count_nonzero(before.view(raw) != after.view(raw)))
    return "all" if n == after.size and n else str(n) if n else "-"


def _extremes(values: np.ndarray) -> tuple[str, str]:
    numbers = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    if numbers.size == 0:
        return ("nan", "nan") if values.size else ("-", "-")
    return number(numbers.min()), number(numbers.max())


def _first(values: np.ndarray) -> str:
    shown = " ".join(number(v) for v in values[:_FIRST])
    return f"{shown} …" if values.size > _FIRST else shown


def number(value: np.generic) -> str:
    """A value in at most ten characters, or all digits of an integer."""
    return f"{float(value):.4g}" if isinstance(value, np.floating) else str(int(value))


def decoded(array: np.ndarray, element: DType | None) -> np.ndarray:
    """The elements as a flat NumPy array of numbers."""
    if element is None:
        return array.reshape(-1)
    element, flat = SINGLES.get(element, element), array.reshape(-1)
    flat = flat.view(element.value or element.storage)
    if element.value is not None:
        return flat.astype(np.float32) if element.is_float else flat
    from ptokit.types.codecs import decode, unpack_nibbles

    return decode(element, unpack_nibbles(flat) if element.packed else flat)
