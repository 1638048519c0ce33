"""Traced control flow: `range`, `if_` and `else_` (scf.for and scf.if).

A body runs once in Python, while it is traced. Variables that would carry something from one iteration to the next, or
out of a branch, are therefore refused (LANG-CARRIED) where the source of the kernel can be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Any

from ptokit.ir import Op
from ptokit.types.values import I1, INDEX

from . import rules
from .carried import Snapshot
from .leaving import check_entered
from .scalar import Scalar, is_number, materialize, plain
from .trace import Region, Trace, current
from .where import here, refusal, target_name


def range(*bounds: Any) -> Loop:
    """A loop of the kernel: ``for i in pto.range(stop)`` or ``pto.range(start, stop, step)``; ``i`` is an index.

    Bounds are Python integers or traced ones. The interval is half open and the step positive. Use Python's own
    `range` to unroll a loop instead. Raises `DiagnosticError` (LANG-CONTROL).
    """
    return Loop(*bounds)


class Loop:
    """What `range` returns: iterating over it traces the body once."""

    def __init__(self, *bounds: Any) -> None:
        if not 1 <= len(bounds) <= 3:
            raise refusal(rules.CONTROL, f"pto.range takes 1 to 3 arguments, not {len(bounds)}")
        for bound in bounds:
            if not is_number(bound) or (bound.type.is_float if isinstance(bound, Scalar) else bound != int(bound)):
                raise refusal(rules.CONTROL, f"pto.range needs integers, not {bound!r}")
        start, stop, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
        if not isinstance(step, Scalar) and step <= 0:
            raise refusal(rules.CONTROL, f"the step of pto.range is {step}, but must be positive", hint="count upwards")
        self.bounds = {
            name: plain(value) if isinstance(value, Scalar) else int(value)
            for name, value in (("lower", start), ("upper", stop), ("step", step))
        }

    def __iter__(self) -> Iterator[Scalar]:
        trace = current("pto.range")
        place = here()
        region = Region("loop", trace.region, place)
        operands: dict[str, Any] = {name: materialize(value, INDEX) for name, value in self.bounds.items()}
        loop = trace.emit("scf.for", {**operands, "init": []})
        loop.regions.append(region.block)
        variable = Scalar(trace.argument(region, INDEX, target_name(place)))
        snapshot = Snapshot.of_loop()
        trace.enter(region)
        return _Iteration(trace, region, variable, snapshot)

    def __repr__(self) -> str:
        return f"pto.range({', '.join(repr(bound) for bound in self.bounds.values())})"


class _Iteration:
    """Yields the loop variable once and closes the loop when asked again."""

    def __init__(self, trace: Trace, region: Region, variable: Scalar, snapshot: Snapshot) -> None:
        self._trace = trace
        self._region = region
        self._snapshot = snapshot
        self._variable: Scalar | None = variable

    def __iter__(self) -> _Iteration:
        return self

    def __next__(self) -> Scalar:
        variable, self._variable = self._variable, None
        if variable is not None:
            return variable
        if self._region.open:
            self._snapshot.check()
            self._trace.leave(self._region)
        raise StopIteration


class _Branch:
    """A branch as a context manager."""

    def __init__(self, trace: Trace, region: Region, snapshot: Snapshot) -> None:
        self._trace = trace
        self._region = region
        self._snapshot = snapshot
        trace.expected.append(region)

    def __enter__(self) -> None:
        check_entered(self._region.kind, self._region.location)
        self._trace.enter(self._region)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if kind is None:
            self._snapshot.check()
            self._trace.leave(self._region)


class Scope:
    """A region that runs once, as a context manager."""

    def __init__(self, trace: Trace, region: Region) -> None:
        self._trace = trace
        self._region = region
        trace.expected.append(region)

    def __enter__(self) -> None:
        check_entered(self._region.kind, self._region.location)
        self._trace.enter(self._region)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if kind is None:
            self._trace.leave(self._region)


def cube_section() -> Scope:
    """Code for the cube core of a cluster: ``with pto.cube_section(): …``. Vector cores skip it."""
    return _section("cube")


def vector_section() -> Scope:
    """Code for the vector cores of a cluster, `get_subblock_idx` 0 and 1. The cube core skips it."""
    return _section("vector")


def _section(kind: str) -> Scope:
    trace = current(f"pto.{kind}_section")
    region = Region("section", trace.region, here())
    trace.emit(f"pto.section.{kind}").regions.append(region.block)
    return Scope(trace, region)


def if_(condition: Any) -> _Branch:
    """A branch of the kernel: ``with pto.if_(i == 0): …``, with `else_` for the other case.

    The condition is a comparison of traced numbers, or a Python boolean.
    """
    trace = current("pto.if_")
    if not isinstance(condition, bool) and not (isinstance(condition, Scalar) and condition.type == I1):
        raise refusal(rules.SCALAR, f"pto.if_ needs a condition, not {condition!r}", hint="compare it: x != 0")
    region = Region("branch", trace.region, here())
    op = trace.emit("scf.if", {"condition": materialize(condition, I1)})
    op.regions.append(region.block)
    trace.branches[op] = region
    return _Branch(trace, region, Snapshot.of_branch())


def else_() -> _Branch:
    """The other branch of the `if_` that ended just before: ``with pto.else_(): …``."""
    trace = current("pto.else_")
    ops = trace.region.block.ops
    op: Op | None = ops[-1] if ops else None
    then = trace.branches.get(op) if op is not None and len(op.regions) == 1 else None
    if op is None or then is None:
        raise refusal(
            rules.CONTROL,
            "pto.else_ does not follow a pto.if_ directly",
            hint="no operation may stand between the two; compute what the branches need before pto.if_",
        )
    region = Region("branch", trace.region, here())
    op.regions.append(region.block)
    then.alternative = region
    return _Branch(trace, region, Snapshot.of_branch())
