"""For tests of kernels: `assert_same` compares with a reference, `assert_clean` sanitizes, `assert_proved` proves.

`shapes`, `valid_regions` and `arrays` are strategies of hypothesis for the cases of `assert_same`.
"""

from __future__ import annotations

import os
import warnings as _warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np

from ptokit.api.launch import as_parameters, prepare
from ptokit.api.prove import prove
from ptokit.api.sanitize import DiffReport
from ptokit.arguments.grammar import copied, make, read_arguments
from ptokit.diagnostics import Diagnostics, UsageError
from ptokit.diagnostics.render import render, summary
from ptokit.lang import kernels
from ptokit.lang.kernels import Kernel, Launcher
from ptokit.lang.params import as_array
from ptokit.prove.report import Proof
from ptokit.run.tensors import arrays as arrays_of
from ptokit.run.tensors import holds_memory
from ptokit.sanitize import Report, sanitize
from ptokit.sanitize.findings.race import copies
from ptokit.targets import target as find_target
from ptokit.types.choices import LaunchOptions
from ptokit.types.dtypes import DType
from ptokit.watch.diff import Difference, Side, Tolerance, compare_with, diff


class NotChecked(UserWarning):
    """The sanitizer found nothing, and there is something that it did not check."""


def assert_clean(
    kernel: Kernel | Launcher | str | os.PathLike[str],
    *args: Any,
    blocks: int | None = None,
    target: str | None = None,
    order: str = "strict",
    warnings: bool = True,
    witness: bool = False,
    entry: str | None = None,
    mode: str | None = None,
) -> Report:
    """Run a kernel under the sanitizer and return its report; fail if it has findings.

    ``kernel``: a Python kernel, one with its number of blocks (``k[8]``), or the path of a `.pto` file; ``entry``
    names its function. ``args``: as for a launch; they hold the results afterwards. ``blocks``: default 1,
    or that of the launcher. ``target``: of a Python kernel its own by default; needed for a file that names none.
    ``order``, ``witness``, ``mode``: as of `Kernel.sanitize`. ``warnings``: whether warnings count, too.

    Warns `NotChecked` where the kernel leaves the order of pipes to the compiler and ``mode`` does not say that it may:
    nobody looked at it.

    Raises `AssertionError` with the findings as the command line shows them, and `DiagnosticError` for arguments that
    cannot be used.
    """
    __tracebackhide__ = True
    if isinstance(kernel, Launcher):
        blocks, of = kernel.blocks if blocks is None else blocks, kernel.kernel
        kernel = cast(Kernel, of)
    if isinstance(kernel, Kernel):
        if target is not None:
            kernel = kernel.on(target)
        report = kernel.sanitize(*args, blocks=blocks or 1, order=order, witness=witness, mode=mode)
    else:
        more = {"order": order, "witness": witness, "entry": entry, "mode": mode}
        report = _sanitize_file(Path(kernel), args, blocks or 1, target, more)
    _fail(report, warnings=warnings)
    return report


def assert_proved(
    kernel: Kernel | str | os.PathLike[str],
    *args: Any,
    assume: Sequence[str] = (),
    blocks: int | None = None,
    target: str | None = None,
    entry: str | None = None,
) -> Proof:
    """Prove a kernel for all arguments and return the proof; fail if a claim is refuted or open.

    ``kernel``: a Python kernel, or the path of a `.pto` file; ``entry`` names its function. ``args``: of a Python
    kernel, where its annotations do not say which types it has. ``assume``: conditions of parameters and ``blocks``,
    "n % 16 == 0". ``blocks``: None for any number of them. ``target``: as for `assert_clean`.

    Raises `AssertionError` with the proof as the command line shows it, `DiagnosticError` for a program with errors,
    `UsageError` for assumptions that hold for no arguments.
    """
    __tracebackhide__ = True
    program = kernel if isinstance(kernel, Kernel) else os.fspath(kernel)
    proof = prove(program, args, target=target, entry=entry, assume=assume, blocks=blocks)
    if not proof.proved:
        raise AssertionError(str(proof))
    return proof


# A kernel and a reference on many arguments.


def assert_same(
    kernel: Any,
    reference: Any,
    cases: Any,
    *,
    blocks: int | None = None,
    target: str | None = None,
    entry: str | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    clean: bool = False,
    examples: int = 100,
) -> int:
    """Run a kernel on every case and compare what it leaves in its arrays with a reference; how many cases ran.

    ``kernel``: a Python kernel, one with its number of blocks (``k[8]``), a path or a text; ``entry`` names its
    function. ``reference``: another kernel, or a function of the same arguments, which are NumPy arrays and numbers. It
    changes its arrays as the kernel does, or returns what the arrays hold that the kernel writes: one, or a tuple.
    ``cases``: tuples of arguments, or a strategy of hypothesis for them; ``examples`` of it are tried, the same every
    time, and the case that is shown is the smallest that fails. ``rtol``, ``atol``: what may differ, by default
    nothing: NaN equals NaN, 0 is not -0. ``clean``: the sanitizer has to find nothing in each case, too.

    Raises `AssertionError` that shows the first element that differs and the instruction that has written it, or, where
    the reference is a kernel, the first instruction whose results differ; `DiagnosticError` for what is refused.
    """
    __tracebackhide__ = True
    if isinstance(kernel, Launcher):
        blocks, kernel = kernel.blocks if blocks is None else blocks, kernel.kernel
    if isinstance(kernel, Kernel) and target is not None:
        kernel = kernel.on(target)
    count, tolerance = 0, Tolerance(rtol, atol)

    def one(args: tuple[Any, ...]) -> None:
        __tracebackhide__ = True
        nonlocal count
        count += 1
        side = _side(kernel, args, target, entry)
        if clean:
            assert_clean(kernel, *copied(args), blocks=blocks, target=target, entry=entry)
        _compared(side, reference, args, blocks or 1, target, tolerance)

    if not hasattr(cases, "example") or not hasattr(cases, "map"):
        for case in cases:
            one(case if isinstance(case, tuple) else (case,))
        return count
    hypothesis = _hypothesis()

    def tried(case: Any) -> None:
        __tracebackhide__ = True
        one(case if isinstance(case, tuple) else (case,))

    phases, ignored = [hypothesis.Phase.generate, hypothesis.Phase.shrink], list(hypothesis.HealthCheck)
    how = {"max_examples": examples, "deadline": None, "derandomize": True, "database": None, "phases": phases}
    hypothesis.settings(suppress_health_check=ignored, **how)(hypothesis.given(cases)(tried))()
    return count


def _side(kernel: Any, args: Sequence[Any], target: str | None, entry: str | None) -> Side:
    """The program for these arguments, with them as arrays."""
    if isinstance(kernel, Kernel):
        bound = kernel.parameters.bind(tuple(args), {})
        program = kernel.compile(*args)
        static = {name for name in bound if kernel.parameters.is_static(name)}
        values = [value for name, value in bound.items() if name not in static]
        return Side(program, arrays_of(program.entry, values), kernel.matmul)
    prepared = prepare(kernel, read_arguments(args), LaunchOptions(entry), target=target)
    values = arrays_of(prepared.program.entry, make(prepared.arguments))
    return Side(prepared.program, as_parameters(values, prepared.program.params))


def _compared(side: Side, reference: Any, args: Sequence[Any], blocks: int, on: str | None, may: Tolerance) -> None:
    __tracebackhide__ = True
    by_kernel = isinstance(reference, Launcher | Kernel | str | os.PathLike)
    if by_kernel:
        other = _side(reference.kernel if isinstance(reference, Launcher) else reference, args, on, None)
        wanted = other.copied()
        other.launch(wanted, blocks)
        name = other.program.name
    else:
        wanted = _returned(side, reference)
        name = getattr(reference, "__name__", "the reference")
    found = compare_with(side, [value for value in wanted if isinstance(value, np.ndarray)], blocks, may)
    if not found:
        return
    given = ", ".join(_shown(p.name or "?", value) for p, value in zip(side.program.params, side.args))
    many = f"{blocks} block{'s' if blocks > 1 else ''}"
    title = f"{side.program.name} differs from {name} on {side.program.target.name}, {many}, for {given}"
    if by_kernel:
        names = side.program.name, name
        report = DiffReport(names, diff(side, other, blocks, tolerance=may), (Diagnostics(), Diagnostics()))
        raise AssertionError(f"{title}\n{report}")
    raise AssertionError("\n".join([title, *_told(found)]))


def _returned(side: Side, reference: Any) -> list[Any]:
    """What the arguments hold after the reference, a function: it has changed them, or returned what is written."""
    given = side.copied()
    with np.errstate(all="ignore"):
        returned = reference(*given)
    if returned is None:
        return given
    results = list(returned) if isinstance(returned, tuple) else [returned]
    written = [param in side.program.effects.written for param in side.program.entry.params]
    outputs = [k for k, value in enumerate(given) if written[k] and isinstance(value, np.ndarray)]
    if len(results) != len(outputs):
        message = f"the reference returns {len(results)} arrays, the kernel writes {len(outputs)}."
        raise UsageError(message, "reference")
    for k, result in zip(outputs, results):
        given[k] = np.broadcast_to(np.asarray(result).astype(given[k].dtype), given[k].shape)
    return given


def _shown(name: str, value: Any) -> str:
    """An argument of a case in words."""
    what = f"{value.dtype} {'x'.join(map(str, value.shape))}" if isinstance(value, np.ndarray) else f"{value}"
    return f"{name}: {what}"


def _told(found: Difference) -> Iterator[str]:
    for argument in found.arguments:
        if argument.values is not None and argument.first is not None:
            got, want = argument.values
            place = ", ".join(map(str, argument.first))
            yield f"  {argument.name}: {argument.count} of {argument.size} elements differ"
            yield f"  {argument.name}[{place}] is {got}, in the reference {want}"
    seen = found.writer
    if seen is None:
        yield "  no instruction changes that element"
        return
    yield f"  written by {seen.location}: {seen.instruction} into {seen.name or seen.operand} ({seen.when})"
    if seen.array is not None:
        yield f"  which is {seen.what}:"
        yield from (f"    {line}" for line in np.array2string(seen.array, threshold=64, edgeitems=2).splitlines())


# Strategies: what has edges is tried at them, and shrinks to the smallest that fails.


def _hypothesis() -> Any:
    try:
        return import_module("hypothesis")
    except ModuleNotFoundError:
        raise UsageError("strategies need hypothesis: pip install hypothesis.", "cases") from None


def shapes(*most: int, least: int = 1, multiple: int = 1) -> Any:
    """A strategy for tuples of sizes, each from ``least`` to one of ``most``; more often at the ends of a tile.

    ``multiple``: of the last size.
    """
    return _sizes(most, least, multiple)


def valid_regions(rows: int, cols: int) -> Any:
    """A strategy for how many rows and columns of a tile are valid, 1 to all; one, all and one less more often."""
    return _sizes((rows, cols), 1, 1)


def _sizes(most: Sequence[int], least: int, multiple: int) -> Any:
    st = _hypothesis().strategies
    out = []
    for k, top in enumerate(most):
        step = multiple if k == len(most) - 1 else 1
        low, high = -(-least // step), top // step
        if high < low:
            raise UsageError(f"no multiple of {step} is from {least} to {top}.", "multiple")
        edges = sorted({n for n in (low, high - 1, high, 16, 17, 64, 65) if low <= n <= high})
        out.append(
            (st.sampled_from(edges) | st.sampled_from(edges[::-1]) | st.integers(low, high)).map(
                lambda n, by=step: n * by
            )
        )
    return st.tuples(*out)


def arrays(element: DType, shape: Any, *, special: bool = True) -> Any:
    """A strategy for arrays of an element type: of zeros, small integers or random numbers, a few of them special.

    ``shape``: sizes, or a strategy for them. ``special``: infinities, NaN, the largest and smallest numbers, subnormal
    ones and -0; of integers the ends of their range. An array shrinks to zeros.
    """
    st = _hypothesis().strategies
    if element.value is None:
        raise UsageError(f"arrays of {element} are made of its codes: arrays(pto.u8, …).", "element")
    chosen = st.sampled_from(_special(element)) if special else st.nothing()

    def of_shape(sizes: tuple[int, ...]) -> Any:
        total = max(1, int(np.prod(sizes)))
        places = st.lists(st.tuples(st.integers(0, total - 1), chosen), max_size=6) if special else st.just([])
        return st.tuples(st.just(sizes), st.sampled_from(["zeros", "small", "random"]), st.integers(0, 99), places)

    def made(drawn: tuple[tuple[int, ...], str, int, list[tuple[int, Any]]]) -> np.ndarray:
        sizes, kind, seed, places = drawn
        rng = np.random.default_rng(seed)
        low = -8 if element.signed else 0
        values = rng.integers(low, 9, sizes) if kind != "random" or element.is_integer else rng.standard_normal(sizes)
        array = np.zeros(sizes, element.value) if kind == "zeros" else values.astype(element.value)
        for place, value in places:
            if array.size:
                array.reshape(-1)[place] = value
        return array

    return (shape if hasattr(shape, "flatmap") else st.just(tuple(shape))).flatmap(of_shape).map(made)


def _special(element: DType) -> list[Any]:
    assert element.value is not None
    if element.is_integer:
        info = np.iinfo(element.value)
        return [info.min, info.max, info.max - 1, 1]
    limits: Any = ml_dtypes.finfo(element.value)  # type: ignore[no-untyped-call]
    least = [limits.smallest_subnormal, limits.tiny, limits.max, -limits.max, limits.eps]
    return [element.value.type(v) for v in (-0.0, 1.0, float("inf"), -float("inf"), float("nan"), *map(float, least))]


# How findings become failures.


def _sanitize_file(path: Path, args: tuple[Any, ...], blocks: int, target: str | None, more: dict[str, Any]) -> Report:
    from ptokit.asm import read_module
    from ptokit.ir.functions import stated_target

    on = None if target is None else find_target(target)
    parsed = read_module(str(path), target=on)
    parsed.diagnostics.raise_if_errors()
    on = on or stated_target(parsed.module)
    if on is None:
        raise ValueError(f"{path} names no target: pass target=")
    return sanitize(parsed.module, on, args, blocks, **more)


def _fail(report: Report, *, warnings: bool) -> None:
    __tracebackhide__ = True
    found = [*report.errors, *(report.warnings if warnings else ())]
    if found:
        shown = Diagnostics()
        for diagnostic in found:
            shown.add(diagnostic)
        where = f"{report.name} on {report.target}, {report.blocks} block{'s' if report.blocks > 1 else ''}"
        raise AssertionError(f"{where}: {summary(found)}\n{render(shown)}")
    if not report.coverage.complete:
        _warnings.warn(f"{report.name}: {report.verdict}", NotChecked, stacklevel=3)


@contextmanager
def sanitized_launches(*, order: str = "strict", warnings: bool = True, witness: bool = False) -> Iterator[None]:
    """Every launch of a Python kernel inside runs under the sanitizer first, on copies of its arguments.

    Raises `AssertionError` at the launch, as `assert_clean` does.
    """

    def watch(kernel: Kernel, blocks: int, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        __tracebackhide__ = True
        names, values = zip(*kernel.parameters.bind(args, named).items()) if args or named else ((), ())
        arrays = [as_array(n, v) if holds_memory(v) else v for n, v in zip(names, values)]
        given = dict(zip(names, copies(arrays)))
        _fail(kernel.sanitize(blocks=blocks, order=order, witness=witness, **given), warnings=warnings)

    kernels.watchers.append(watch)
    try:
        yield
    finally:
        kernels.watchers.remove(watch)


__all__ = [
    "NotChecked",
    "arrays",
    "assert_clean",
    "assert_proved",
    "assert_same",
    "sanitized_launches",
    "shapes",
    "valid_regions",
]
