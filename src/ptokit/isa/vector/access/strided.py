"""Loads and stores of blocks and elements that lie apart (vector-path 4.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.diagnostics import ALL_TARGETS, Severity, define, family
from ptokit.types.dtypes import DType, dtype, i64, u8

from ...checks.operands import Message
from ...machine import Machine
from ...meaning.expressions import Element, Expr, Fetched, Place, Stored
from ...meaning.words import Lane, Write
from ...site import Site
from ...table import Role
from ..lanes import VREG_BYTES, Predicate, element
from ..rules import SOURCE
from ..words import at, mask, micro, number, out_vreg, token, ub, vreg
from .access_rules import known_token
from .posting import UPDATED, posting, updated

rule = family("vector-path 4.5, 8", targets=ALL_TARGETS)

BLOCK, BLOCKS = 32, 8

define(
    "VEC-A5-15",
    "The predicate of a block access is the same for all lanes of a block of 32 bytes.",
    severity=Severity.WARNING,
    source=SOURCE,
    decision="The first byte of a block decides; reported when the sanitizer sees such a predicate.",
    accepted='pto.pset_b32 "PAT_VL8" for one block of f32',
    rejected='pto.pset_b32 "PAT_VL4"',
)


def _signed16(value: Any) -> Any:
    return ((value & 0xFFFF) ^ 0x8000) - 0x8000


def _places(block_stride: Any, repeat_stride: Any) -> np.ndarray:
    """First bytes of the blocks behind the pointer, (blocks or 1, 8). One number is a control word of both strides."""
    if repeat_stride is None:
        block_stride, repeat_stride = _signed16(block_stride >> 16), _signed16(block_stride)
    return BLOCK * (np.atleast_2d(repeat_stride) + np.arange(BLOCKS) * np.atleast_2d(block_stride))


def _active(m: Machine, mask: Predicate, size: int) -> Predicate:
    """Which blocks take part, (blocks or 1, 8)."""
    if mask is None:
        return None
    lanes = mask.reshape(len(mask), BLOCKS, BLOCK)[:, :, :: min(size, 4)]
    if (lanes != lanes[:, :, :1]).any():
        m.remark("VEC-A5-15", "the predicate differs between lanes of one block of 32 bytes")
    return lanes[:, :, 0]


def _load(
    m: Machine, src: Any, block_stride: Any, repeat_stride: Any, mask: Predicate, *, types: Mapping[str, Any]
) -> np.ndarray:
    kind = types["dst"].dtype
    found = m.gather(src, _places(block_stride, repeat_stride), BLOCK, _active(m, mask, kind.size), BLOCK)
    return found.reshape(len(found), VREG_BYTES).view(element(kind))


def _blocks(step: Any, types: Mapping[str, Any], attrs: Any) -> Any:
    return 0 if step is None else step * BLOCK // types[UPDATED].dtype.size


_STRIDES = (number("block_stride", "i16"), number("repeat_stride", "i16", optional=True))
VSLDB = micro(
    "vsldb",
    "Load 8 blocks of 32 bytes at a stride: block b from 32 (repeat stride + b block stride) bytes behind the pointer.",
    (ub(), *_STRIDES, mask()),
    (out_vreg(like="src"), updated("src")),
    posting(_load, 0, 2, _blocks),
    source="4.5",
)


def _store(
    m: Machine,
    value: np.ndarray,
    dst: Any,
    block_stride: Any,
    repeat_stride: Any,
    mask: Predicate,
    *,
    types: Mapping[str, Any],
) -> None:
    blocks = value.view(np.uint8).reshape(len(value), BLOCKS, BLOCK)
    keep = _active(m, mask, types["value"].dtype.size)
    m.scatter(dst, _places(block_stride, repeat_stride), blocks, keep, BLOCK)


VSSTB = micro(
    "vsstb",
    "Store 8 blocks of 32 bytes at a stride.",
    (vreg("value"), ub("dst", Role.OUT), *_STRIDES, mask()),
    (updated("dst"),),
    posting(_store, 1, 3, _blocks),
    source="4.5",
)

STRIDES = {"STRIDE_S3_B16": (3, 2), "STRIDE_S4_B64": (4, 8), "STRIDE_S8_B32": (8, 4), "STRIDE_S2_B64": (2, 8)}
"""Step and bytes of an element, by token."""


@rule("VEC-A5-09", "pto.vsld %p[%i]", 'pto.vsld %p[%i], "STRIDE_S3_B16"', severity=Severity.WARNING)
def VEC_09(o: Site) -> Message:
    """vsld and vsst have no stride, or one that means what ptokit takes it for.

    Decision: STRIDE_Ss_Bx takes every s-th element of x bits; no public source states the address pattern.
    """
    return None if o.stride is None else f"what {o.instr.name} with {o.stride} addresses is published nowhere"


_KNOWN = known_token(STRIDES, "stride")
_RULES = (
    replace(_KNOWN, check=lambda o: None if o.stride is None or _KNOWN.check is None else _KNOWN.check(o)),
    VEC_09,
)


def _strided(o: Site) -> tuple[DType, Expr | None]:
    """The unit that is moved, and the places of its elements where they lie apart."""
    if o.stride is None:
        return u8, None
    step, width = STRIDES[o.stride]
    return dtype(f"u{8 * width}"), Place(i64) * step


def _loaded(o: Site) -> Lane:
    unit, place = _strided(o)
    plain = Stored("src", unit, VREG_BYTES, BLOCK)
    found = plain if place is None else Fetched("src", unit, place, offset="offset")
    return Lane((Write("dst", found),), lanes=VREG_BYTES // unit.size)


VSLD = micro(
    "vsld",
    "Load elements at a fixed stride; without a stride as vlds does.",
    (ub(), at()),
    (out_vreg(like="src"),),
    None,
    *_RULES,
    meaning=_loaded,
    attrs=(token("stride"),),
    source="4.5",
)


def _stored(o: Site) -> Lane:
    unit, place = _strided(o)
    value = Element("value", dtype=unit)
    write = Write("dst", value, offset="offset", alignment=BLOCK if place is None else unit.size, place=place)
    return Lane((write,), lanes=VREG_BYTES // unit.size)


VSST = micro(
    "vsst",
    "Store elements at a fixed stride; without a stride as vsts does with all lanes active.",
    (vreg("value"), ub("dst", Role.OUT), at()),
    (),
    None,
    *_RULES,
    meaning=_stored,
    attrs=(token("stride"),),
    source="4.5",
)
