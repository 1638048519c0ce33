"""The written forms of vector, predicate and align registers (vector-path 1.2)."""

from __future__ import annotations

import re

from ptokit.types.values import Align, Mask, VReg

from ..text import rules
from ..text.faults import TypeFaultError, element, is_signed

REGISTERS = frozenset(("vreg", "mask", "align"))
"""Mnemonics of their types."""

VREG_BITS = 2048

_GRANULARITIES = {"b8": 8, "b16": 16, "b32": 32}
_LANES = re.compile(r"\s*(\d{1,4})\s*x\s*([!A-Za-z][\w.]*)\s*\Z", re.ASCII)


def register(name: str, body: str | None, at: int) -> VReg | Mask | Align:
    """The type ``!pto.name<body>``; `at` is the place of the body. Raises `TypeFaultError`."""
    if name == "align" and body is None:
        return Align()
    if name == "mask" and (body is None or body.strip() in _GRANULARITIES):
        return Mask(_GRANULARITIES[body.strip()] if body is not None else 0)
    if name == "vreg":
        return _vreg(body or "", at)
    known = "a granularity: b8, b16 or b32" if name == "mask" else "no parameters"
    raise TypeFaultError(rules.TYPE, f"!pto.{name} has {known}", at, max(1, len(body or "")))


def _vreg(body: str, at: int) -> VReg:
    m = _LANES.match(body)
    if m is None:
        hint = "write for example !pto.vreg<64xf32>"
        raise TypeFaultError(rules.TYPE, "!pto.vreg has lanes and an element type", at, max(1, len(body)), hint)
    inner, lanes = element(m[2], at + m.start(2)), int(m[1])
    if inner.bits < 8:
        raise TypeFaultError(rules.VEC_A5_01, f"a vector register has no lanes of {inner.text}", at, len(body))
    if lanes * inner.bits != VREG_BITS:
        raise TypeFaultError(
            rules.VEC_A5_01,
            f"{lanes} lanes of {inner.bits} bits are {lanes * inner.bits} bits; a vector register has {VREG_BITS}",
            at,
            len(body),
            f"write !pto.vreg<{VREG_BITS // inner.bits}x{inner.text}>",
        )
    return VReg(lanes, inner, is_signed(m[2]))
