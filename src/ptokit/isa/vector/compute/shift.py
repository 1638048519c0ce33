"""Shifts by a register of counts and by a number (vector-path 6.3, 6.4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.diagnostics import family

from ...checks.operands import Message
from ...machine import Machine
from ...meaning.expressions import apply
from ...meaning.words import Python, Word, lane
from ...site import ScalarInfo, Site, VregInfo
from ...table import Instr
from ..lanes import VREG_BYTES, Predicate, active, zeroed
from ..rules import SOURCE
from ..words import mask, micro, number, out_vreg, vreg
from . import values
from .compute import SRC, number_of
from .compute_rules import FITS, MASKED, SAME
from .typesets import INTS

rule = family(SOURCE)

Shift = Callable[[np.ndarray, Any], np.ndarray]


@rule("VEC-A5-14", "vshls of i16 by 15", "vshls of i16 by 16", targets=("a2a3", "a5"))
def VEC_14(o: Site) -> Message:
    """A shift count is 0..bits-1.

    Decision: Counts of lanes that the mask leaves out do not matter. The cpu target shifts everything out: 0, or the
    sign bits where the right shift is arithmetic.
    """
    count, src = o.operands.get("count"), o.operands.get("src")
    if not isinstance(count, ScalarInfo) or not isinstance(src, VregInfo):
        return None
    wrong = count.value < 0 or count.value >= src.dtype.bits
    return f"lanes of {src.dtype.bits} bits are shifted by {count.value}" if wrong else None


def _run(fn: Shift) -> Callable[..., np.ndarray]:
    def run(machine: Machine, src: np.ndarray, count: Any, mask: Predicate, **_: Any) -> np.ndarray:
        bits = 8 * src.dtype.itemsize
        wrong = np.asarray((count < 0) | (count >= bits))
        if machine.target.obeys(VEC_14) and wrong.any():
            _refuse(machine, wrong, count, src.shape, active(mask, src.dtype.itemsize))
        return zeroed(fn(src, count), mask)

    return run


def _refuse(machine: Machine, wrong: np.ndarray, count: Any, shape: tuple[int, ...], on: Predicate) -> None:
    arrays = np.broadcast_arrays(wrong.reshape(-1, wrong.shape[-1] if wrong.ndim else 1), np.zeros((1, shape[1]), bool))
    wrong = arrays[0] if on is None else arrays[0] & on
    if wrong.any():
        block, lane = (int(i) for i in np.argwhere(wrong)[0])
        by = int(np.broadcast_to(np.asarray(count), wrong.shape)[block, lane])
        message = f"lane {lane} is shifted by {by}; it has {8 * VREG_BYTES // shape[1]} bits"
        machine.refuse(VEC_14.id, message, block=block if len(wrong) > 1 else None)


def _count_lanes(o: Site) -> Message:
    src, count, made = (o.operands.get(name) for name in ("src", "count", "dst"))
    if not isinstance(src, VregInfo) or not isinstance(count, VregInfo):
        return None
    if isinstance(made, VregInfo) and made.dtype is not src.dtype:
        return f"%{made.name} has lanes of {made.dtype.text}, %{src.name} of {src.dtype.text}"
    if count.dtype.bits != src.dtype.bits or not count.dtype.is_integer:
        wanted = f"lanes of {src.dtype.text} are shifted by integers as wide"
        return f"%{count.name} has lanes of {count.dtype.text}; {wanted}"
    return None


_COUNTS = replace(SAME, check=_count_lanes)


def _shift(text: str, fn: Shift, primitive: str, summary: str) -> Instr:
    """``text`` shifts by a register, ``text`` + s by a number."""
    result = (out_vreg(like="src"),)
    run = Python(_run(fn))

    def by_number(o: Site) -> Word:
        """A count that is known and right; others are looked at when they are there."""
        count = number_of(o, "count")
        if not isinstance(count, int) or not 0 <= count < o.src.dtype.bits:
            return run
        return lane(apply(primitive, SRC, count), over="src", mask="mask")

    micro(
        text + "s",
        summary,
        (vreg(), number("count", "i16"), mask()),
        result,
        None,
        SAME,
        MASKED,
        FITS,
        VEC_14,
        meaning=by_number,
        types=INTS,
        source="6.4",
    )
    return micro(
        text,
        summary,
        (vreg(), vreg("count"), mask()),
        result,
        _run(fn),
        _COUNTS,
        MASKED,
        VEC_14,
        types=INTS,
        source="6.3",
    )


VSHL = _shift("vshl", values.shift_left, "shl", "dst = src << count")
VSHR = _shift("vshr", values.shift_right, "shr", "dst = src >> count, arithmetic if src is signed")
