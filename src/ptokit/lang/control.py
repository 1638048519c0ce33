"""The explicit words for control flow, `range`, `if_` and `else_`, and sections of a kernel.

The words stand in for-statements and with-statements of a kernel, which `ptokit.lang.syntax` compiles.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from types import TracebackType
from typing import Any, NoReturn

from . import rules
from .scalar import Scalar, is_number, plain
from .trace import Region, Trace, current
from .where import here, refusal


def range(*bounds: Any) -> Loop:
    """A loop of the kernel: ``for i in pto.range(stop)`` or ``pto.range(start, stop, step)``; ``i`` is an index.

    Bounds are Python integers or traced ones. The interval is half open and the step positive. As Python's own
    `range` in a kernel. Raises `DiagnosticError` (LANG-CONTROL).
    """
    return Loop(*bounds)


class Loop:
    """What `range` returns."""

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

    def __iter__(self) -> Iterator[int]:
        if not current("pto.range").eager:
            raise refusal(
                rules.CONTROL,
                "pto.range stands in a for-statement of a kernel, or of a function that is compiled with it",
                hint="write for i in range(n); mark a helper of an installed package with @pto.function",
            )
        return iter(builtins.range(self.bounds["lower"], self.bounds["upper"], self.bounds["step"]))

    def __repr__(self) -> str:
        return f"pto.range({', '.join(repr(bound) for bound in self.bounds.values())})"


class Scope:
    """A region that runs once, as a context manager."""

    def __init__(self, trace: Trace, region: Region) -> None:
        self._trace = trace
        self._region = region
        trace.expected.append(region)

    def __enter__(self) -> None:
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
    if trace.kind:
        message = f"pto.{kind}_section stands where an interpreted kernel cannot pass over it"
        hint = f"write `with pto.{kind}_section():` in the kernel, or in a function that it calls by its name"
        raise refusal(rules.CONTROL, message, hint=hint)
    region = Region("section", trace.region, here())
    trace.emit(f"pto.section.{kind}").regions.append(region.block)
    return Scope(trace, region)


def if_(condition: Any) -> NoReturn:
    """A branch of the kernel: ``with pto.if_(i == 0): …``, with `else_` for the other case. As ``if`` and ``else``.

    The condition is a comparison of traced numbers, or a Python boolean.
    """
    _for_kernels("pto.if_")
    raise refusal(rules.CONTROL, "this branch has no body", hint="write: with pto.if_(condition): …, or a plain if")


def else_() -> NoReturn:
    """The other branch of the `if_` that ended just before: ``with pto.else_(): …``."""
    _for_kernels("pto.else_")
    raise refusal(
        rules.CONTROL,
        "pto.else_ does not follow a pto.if_ directly",
        hint="write: with pto.if_(condition): … and with pto.else_(): … behind it, or plain if and else",
    )


def _for_kernels(word: str) -> None:
    if current(word).eager:
        message = f"{word} is for kernels; a core executes every call at once"
        raise refusal(rules.CONTEXT, message, hint="use Python's own if and else")
