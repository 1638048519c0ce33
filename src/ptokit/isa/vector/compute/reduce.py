"""Reductions of a register, and sorting (vector-path 6.7, 6.9).

Lanes that are not active contribute nothing. Sums of floats are rounded at every step.

Arrays have a leading axis for blocks. Equal scores keep the order of their sources; NaN comes last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.types.dtypes import dtype, i16

from ...checks.compiling import Message
from ...machine import Machine
from ...meaning.expressions import (
    Bit,
    Const,
    Convert,
    Element,
    Expr,
    First,
    Folded,
    Front,
    Held,
    Reinterpret,
    Taken,
    equal,
    lane,
    select,
    unequal,
)
from ...meaning.words import Lane, Meaning, Python, Word, Write
from ...site import PtrInfo, Site
from ...table import Instr, Operand, Role, agreed
from ..predicates import PRD_01
from ..registers import VREG_BYTES, Predicate, active
from ..words import REGISTERS, VEC_07, mask, micro, number, out_mask, out_number, out_vreg, types, ub, vreg, word
from .arithmetic import I8_32_F, I16_32_F, F
from .words import MASKED, SAME, SRC, UNPUBLISHED, VEC_08, follows, worded

# Reductions of a register (vector-path 6.7).


GROUPS = 8
"""32-byte groups of a register."""

_ORDER = (
    "Floats: neighbours are added, then neighbours of the sums, until one is left, each sum rounded to the type; an "
    "inactive lane is +0. The vendor's documentation has this order for the sums of a repeat and of its blocks. Open: "
    "f16 sums beyond 65504, which are 65504 there and infinite here; the sign of a sum of -0 and inactive lanes."
)
_LANE = "The result of group g lies in lane g, as published results have it; the manual puts it at each group's start."
_ON = Bit("mask")


def _total(o: Site) -> Lane:
    own, to = o.src.dtype, o.dst.dtype
    value = SRC if own is to else Convert(SRC, to)
    lanes = VREG_BYTES // own.size
    total = Folded("add", value, Bit("mask", width=own.size), lanes=lanes)
    return Lane((Write("dst", Front((total,))),), lanes=VREG_BYTES // to.size)


VCADD = micro(
    "vcadd",
    "dst[0] = sum of the active lanes, in twice the width for 8- and 16-bit integers",
    (vreg(), mask()),
    (out_vreg(),),
    None,
    MASKED,
    follows("i8 i16  u8 u16  i16 i32  u16 u32"),
    meaning=_total,
    types=I8_32_F,
    source="6.7",
    decision=_ORDER,
)


def _reduction(text: str, meaning: Meaning, summary: str, decision: str) -> Instr:
    return micro(
        text,
        summary,
        (vreg(), mask()),
        (out_vreg(like="src"),),
        None,
        SAME,
        MASKED,
        meaning=meaning,
        types=I16_32_F,
        source="6.7",
        decision=decision,
    )


def _groups(op: str) -> Lane:
    """The fold of group g in lane g (C-12)."""
    return Lane((Write("dst", Front((Folded(op, SRC, _ON, GROUPS),), GROUPS)),), over="src")


def _held(o: Site, op: str) -> tuple[Expr, Expr]:
    """The extreme, and the active lanes that hold it: NaN if there is one; +0 and -0 are equal."""
    best = Folded(op, SRC, _ON)
    held = equal(SRC, best)
    if o.src.dtype.is_float:
        held = held | unequal(SRC, SRC) & unequal(best, best)
    return best, held & _ON


def _first(o: Site, op: str) -> tuple[Expr, Expr, Expr]:
    """The first lane that holds the extreme, its number, and the lanes that hold it.

    Of no active lanes the limit of the type, and 0.
    """
    best, held = _held(o, op)
    number = First(held, dtype(f"u{o.src.dtype.bits}"))
    return Taken(select(_ON, SRC, best), number), number, held


def _extreme(op: str) -> Meaning:
    """Lane 0 the extreme, lane 1 the index of its first occurrence as an integer's bits (C-13)."""

    def meaning(o: Site) -> Lane:
        value, index, _ = _first(o, op)
        return Lane((Write("dst", Front((value, Reinterpret(index, o.src.dtype)))),), over="src")

    return meaning


_PLACE = "index of its first occurrence as an integer"
_FIRST = (
    "The value is in lane 0 and the bits of the index in lane 1. NaN is the extremum if there is one; without active "
    "lanes the value is the lowest or highest of the type and the index 0."
)
VCMAX = _reduction("vcmax", _extreme("max"), f"dst[0] = maximum of the active lanes, dst[1] = {_PLACE}", _FIRST)
VCMIN = _reduction("vcmin", _extreme("min"), f"dst[0] = minimum of the active lanes, dst[1] = {_PLACE}", _FIRST)
VCGADD = _reduction("vcgadd", _groups("add"), "dst[g] = sum of group g of 32 bytes", f"{_LANE} {_ORDER}")
VCGMAX = _reduction("vcgmax", _groups("max"), "dst[g] = maximum of group g of 32 bytes", _LANE)
VCGMIN = _reduction("vcgmin", _groups("min"), "dst[g] = minimum of group g of 32 bytes", _LANE)


def _matching(op: str) -> Meaning:
    def meaning(o: Site) -> Lane:
        value, _, held = _first(o, op)
        return Lane((Write("value", Front((value,))), Write("found", held, packed=True)), over="src")

    return meaning


def _extremum(text: str, op: str, what: str) -> Instr:
    return micro(
        text,
        f"The {what} of the active lanes in lane 0, and a predicate of the lanes that hold it.",
        (vreg(), mask()),
        (out_vreg("value", like="src"), out_mask("found")),
        None,
        SAME,
        MASKED,
        meaning=_matching(op),
        types=types("i8 u8 i16 u16 i32 u32 f16 f32"),
        source="PTOAS e32488c9, micro-isa 10",
        decision="NaN wins, as in vcmax and vcmin, and lanes with NaN are found then.",
    )


VCBMAX = _extremum("vcbmax", "max", "maximum")
VCBMIN = _extremum("vcbmin", "min", "minimum")


def _prefix_sums(x: np.ndarray, mask: Predicate) -> np.ndarray:
    """Lane i holds the sum of lane i - 1 and the active lane i, rounded (C-11)."""
    on = active(mask, x.dtype.itemsize)
    x = x if on is None else np.where(on, x, x.dtype.type(0))
    return np.add.accumulate(x, axis=1)


def _pairs(o: Site) -> Word:
    """src[2i] + src[2i+1] in lane i (C-11), or the sums of the lanes before."""
    if o.mode == "PREFIX":
        return Python(lambda m, src, on, **_: _prefix_sums(src, on))
    lanes = VREG_BYTES // o.src.dtype.size
    places, size = (lane(2, first) for first in (0, 1)), o.src.dtype.size
    one, other = (select(Bit("mask", at, size), Element("src", at), Const(0, SRC)) for at in places)
    return Lane((Write("dst", one + other),), lanes=lanes // 2)


VCPADD = micro(
    "vcpadd",
    "dst[i] = src[2i] + src[2i+1]; the sums of the lanes 0..i with mode PREFIX",
    (vreg(), mask()),
    (out_vreg(like="src"),),
    None,
    SAME,
    MASKED,
    worded(PRD_01),
    meaning=_pairs,
    attrs=(word("mode", "PAIR", ("PAIR", "PREFIX")),),
    types=F,
    source="6.7",
    decision="Pairs are added, as published results and library code have it. The texts describe a prefix sum: "
    'mode = "PREFIX" gives that.',
)


# Sorting and merging of scored records (vector-path 6.9). Records have 8 bytes: the score, then a ui32 index.


RECORD = 8
"""Bytes of a record. A score of f16 fills the low half of its 4 bytes."""

GROUP = 32
"""Scores that vbitsort sorts together."""


def descending(scores: np.ndarray) -> np.ndarray:
    """The stable order of scores from high to low along the last axis."""
    return np.argsort(-scores.astype(np.float32), axis=-1, kind="stable")


def records(scores: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Scores (blocks, n) and ui32 indices as bytes of records (blocks, 8 n)."""
    words = np.zeros((*scores.shape, 2), np.uint32)
    words[..., 0] = scores.view(f"u{scores.dtype.itemsize}")
    words[..., 1] = indices
    return words.reshape(len(scores), -1).view(np.uint8)


def sorted_groups(scores: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """Bytes of the records of scores (blocks, 32 r) and indices, every 32 of them sorted."""
    shape = (len(scores), -1, GROUP)
    order = descending(scores.reshape(shape))
    values = np.take_along_axis(scores.reshape(shape), order, axis=2)
    chosen = np.take_along_axis(indices.reshape(shape), order, axis=2)
    return records(values.reshape(len(scores), -1), chosen.reshape(len(scores), -1))


def merge(lists: Sequence[np.ndarray], dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Sorted lists, bytes (blocks, 8 n) each, as one; and the list every record came from, (blocks, records)."""
    both = np.concatenate(lists, axis=1).view(np.uint64)
    origin = np.repeat(np.arange(len(lists)), [x.shape[1] // RECORD for x in lists])
    order = descending(both.view(dtype)[:, :: RECORD // dtype.itemsize])
    return np.take_along_axis(both, order, axis=1), origin[order]


def until_exhausted(origin: np.ndarray, lengths: Sequence[int]) -> np.ndarray:
    """How many records (blocks,) come out until one list that had some has none left."""
    places = np.arange(origin.shape[1])
    last = [np.where(origin == k, places, -1).max(axis=1) + 1 for k, n in enumerate(lengths) if n]
    return np.min(last, axis=0) if last else np.zeros(len(origin), np.int64)


# Sorting in the unified buffer (vector-path 6.9).


VMS4_SR = "VMS4_SR"
"""Special register: records the last vmrgsort4 took from a list, one field for each list."""

_SCORES = ("f16", "f32")


def _scores(o: Site) -> Message:
    for name in ("src", "src0"):
        info = o.operands.get(name)
        if isinstance(info, PtrInfo) and info.dtype.name not in _SCORES:
            return f"{info.name} points to {info.dtype}; scores are f16 or f32"
    return None


SCORES = replace(VEC_07, check=_scores)


def _bitsort(machine: Machine, dst: Any, src: Any, indices: Any, repeat: int, *, types: Mapping[str, Any]) -> None:
    dtype = types["src"].dtype
    if repeat <= 0:
        return
    count = GROUP * repeat
    scores = machine.load(src, None, count * dtype.size, 32).view(dtype.value)
    found = machine.load(indices, None, count * 4, 32).view(np.uint32)
    machine.store(dst, None, sorted_groups(scores, found), None, 32)


VBITSORT = micro(
    "vbitsort",
    "Sort every 32 scores with their indices, from high to low, into records of 8 bytes.",
    (ub("dst", Role.OUT), ub("src"), ub("indices"), agreed(number("repeat", "index"))),
    (),
    _bitsort,
    SCORES,
    source="6.9",
)

_EXHAUSTED = 1 << 12


def _merge(machine: Machine, dst: Any, *operands: Any, types: Mapping[str, Any]) -> None:
    sources, (count, config) = operands[:4], operands[4:]
    valid = config >> 8 & 0xF
    lengths = [count >> 16 * k & 0xFFFF if valid >> k & 1 else 0 for k in range(4)]
    dtype, total = types["src0"].dtype, sum(lengths)
    step = RECORD // dtype.size * total  # elements from one repeat to the next
    consumed = np.zeros((1, 4), np.int64)
    for k in range(config & 0xFF if total else 0):
        lists = [machine.load(src, k * step, n * RECORD, RECORD) for src, n in zip(sources, lengths) if n]
        merged, origin = merge(lists, dtype.value)
        keep = None
        if config & _EXHAUSTED:
            keep = np.arange(total) < until_exhausted(origin, [n for n in lengths if n])[:, None]
        machine.store(dst, k * step, merged, keep, RECORD)
        consumed = np.zeros((len(origin), 4), np.int64)
        for place, k in enumerate(k for k in range(4) if lengths[k]):
            consumed[:, k] = ((origin == place) & (True if keep is None else keep)).sum(axis=1)
    for k, taken in enumerate(consumed.T):
        machine.registers[f"{VMS4_SR} {k}"] = taken[:, None] if len(taken) > 1 else int(taken[0])


_LISTS = tuple(ub(f"src{k}") for k in range(4))

VMRGSORT4 = micro(
    "vmrgsort4",
    "Merge four lists of records, each sorted from high to low, into one.",
    (ub("dst", Role.OUT), *_LISTS, agreed(number("count", "i64")), agreed(number("config", "i64"))),
    (),
    _merge,
    SCORES,
    form=replace(REGISTERS, spellings=("vmrgsort",)),
    source="6.9",
    decision="count has four lengths of 16 bits, list 0 lowest; config the repeats in bits 7:0, the lists in use in "
    "bits 11:8, and in bit 12 whether the first exhausted list ends the merge. From one repeat to the next all "
    "pointers move on by the records of one.",
)


GET_VMS4_SR = micro(
    "get_vms4_sr",
    "How many records of each list the last vmrgsort4 has taken.",
    (),
    tuple(out_number(f"list{k}", "i16") for k in range(4)),
    None,
    meaning=Lane(tuple(Write(f"list{k}", Held(f"{VMS4_SR} {k}", i16)) for k in range(4)), lanes=1),
    per_block=True,
    source="6.9",
)


def _unpublished(text: str, summary: str) -> None:
    """An operation in the unified buffer whose control word no public source explains."""
    operands: tuple[Operand, ...] = (ub("dst", Role.OUT), ub("src"), number("config", "i64"))
    micro(text, summary, operands, (), None, VEC_08, meaning=UNPUBLISHED, types={}, source="6.9")


_unpublished("vtranspose", "Transpose in the unified buffer; its control word is not published.")
_unpublished("vsort32", "Sort 32 elements in the unified buffer; its control word is not published.")
