"""Words to define operations on registers with: one call says all that distinguishes the operation.

A word is given a value function on arrays of shape (blocks or 1, N). It computes every lane; those that the mask leaves
out become 0 in the result (vector-path 1.3).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.diagnostics import Rule
from ptokit.types.dtypes import DType, from_numpy

from ..machine import Machine
from ..numerics.scalars import element
from ..table import Instr
from .compute_rules import FITS, MASKED, SAME
from .lanes import Predicate, active, image, zeroed
from .words import Types, mask, micro, number, out_mask, out_vreg, vreg

ValueFunction = Callable[..., Any]


def dtype_of(x: np.ndarray) -> DType:
    """The element type of a register that NumPy can compute with."""
    found = from_numpy(x.dtype)
    assert found is not None, x.dtype
    return found


def lanewise(fn: ValueFunction, sources: int) -> Callable[..., Any]:
    """The registers through `fn`; zeros where the mask, which comes behind them, is off."""

    def run(machine: Machine, *operands: Any, **_: Any) -> Any:
        return zeroed(fn(*operands[:sources]), operands[sources])

    return run


def unary(
    text: str, fn: ValueFunction, summary: str, types: Types, *rules: Rule, source: str = "6.2", **more: Any
) -> Instr:
    """``dst = fn(src)`` in the active lanes."""
    return micro(
        text,
        summary,
        (vreg(), mask()),
        (out_vreg(like="src"),),
        lanewise(fn, 1),
        SAME,
        MASKED,
        *rules,
        types=types,
        source=source,
        **more,
    )


def binary(
    text: str, fn: ValueFunction, summary: str, types: Types, *rules: Rule, source: str = "6.3", **more: Any
) -> Instr:
    """``dst = fn(src0, src1)`` in the active lanes."""
    return micro(
        text,
        summary,
        (vreg("src0"), vreg("src1"), mask()),
        (out_vreg(like="src0"),),
        lanewise(fn, 2),
        SAME,
        MASKED,
        *rules,
        types=types,
        source=source,
        **more,
    )


def with_scalar(text: str, fn: ValueFunction, summary: str, types: Types, *rules: Rule) -> Instr:
    """``dst = fn(src, scalar)`` in the active lanes, the scalar in the element type."""

    def run(machine: Machine, src: np.ndarray, scalar: Any, mask: Predicate, **_: Any) -> np.ndarray:
        return zeroed(fn(src, element(dtype_of(src), scalar)), mask)

    return micro(
        text,
        summary,
        (vreg(), number("scalar"), mask()),
        (out_vreg(like="src"),),
        run,
        SAME,
        MASKED,
        FITS,
        *rules,
        types=types,
        source="6.4",
    )


def with_carry(
    text: str, fn: ValueFunction, summary: str, types: Types, *, carried: bool = False, **more: Any
) -> Instr:
    """Two registers, and the bits carried in if `carried`; a register and the bits carried out."""

    def run(machine: Machine, a: np.ndarray, b: np.ndarray, *masks: Any, **_: Any) -> tuple[np.ndarray, np.ndarray]:
        width, given = a.dtype.itemsize, masks[-1]
        values, carry = fn(a, b, masks[0][:, ::width]) if carried else fn(a, b)
        on = active(given, width)
        return zeroed(values, given), image(carry if on is None else carry & on, width)

    carry_in = (mask("carry_in", optional=False),) if carried else ()
    return micro(
        text,
        summary,
        (vreg("src0"), vreg("src1"), *carry_in, mask()),
        (out_vreg(like="src0"), out_mask("carry", bits=32)),
        run,
        SAME,
        MASKED,
        types=types,
        source="6.4" if carried else "6.3",
        **more,
    )


def unpublished(*_: Any, **__: Any) -> Any:
    """The semantics of what no public source explains; the check refuses it before it could run (VEC-A5-08)."""
    raise NotImplementedError
