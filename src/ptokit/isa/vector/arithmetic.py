"""Arithmetic on two registers (vector-path 6.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.diagnostics import Rule

from ..machine import Machine
from ..table import Instr
from .lanes import Predicate, zeroed
from .rules import MASKED, SAME
from .words import Types, mask, micro, out_vreg, types, vreg


def binary(text: str, fn: Callable[..., np.ndarray], summary: str, element_types: Types, *rules: Rule) -> Instr:
    """``dst[i] = fn(src0[i], src1[i])`` in active lanes, 0 in the others."""

    def run(m: Machine, a: np.ndarray, b: np.ndarray, mask: Predicate, *, types: Any) -> np.ndarray:
        return zeroed(fn(a, b), mask)

    operands = (vreg("src0"), vreg("src1"), mask())
    result = (out_vreg(like="src0"),)
    return micro(text, summary, operands, result, run, SAME, MASKED, *rules, types=element_types, source="6.3")


VADD = binary("vadd", np.add, "dst = src0 + src1", types("i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32"))
