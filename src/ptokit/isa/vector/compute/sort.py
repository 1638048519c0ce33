"""Sorting in the unified buffer (vector-path 6.9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.types.dtypes import i16

from ...checks.operands import Message
from ...machine import Machine
from ...meaning.expressions import Held
from ...meaning.words import Lane, Write
from ...site import PtrInfo, Site
from ...table import Operand, Role, agreed
from ..rules import VEC_07
from ..words import REGISTERS, micro, number, out_number, ub
from . import proposals
from .compute import UNPUBLISHED
from .compute_rules import VEC_08

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
    count = proposals.GROUP * repeat
    scores = machine.load(src, None, count * dtype.size, 32).view(dtype.value)
    found = machine.load(indices, None, count * 4, 32).view(np.uint32)
    machine.store(dst, None, proposals.sorted_groups(scores, found), None, 32)


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
    step = proposals.RECORD // dtype.size * total  # elements from one repeat to the next
    consumed = np.zeros((1, 4), np.int64)
    for turn in range(config & 0xFF if total else 0):
        lists = [
            machine.load(src, turn * step, n * proposals.RECORD, proposals.RECORD)
            for src, n in zip(sources, lengths)
            if n
        ]
        merged, origin = proposals.merge(lists, dtype.value)
        keep = None
        if config & _EXHAUSTED:
            keep = np.arange(total) < proposals.until_exhausted(origin, [n for n in lengths if n])[:, None]
        machine.store(dst, turn * step, merged, keep, proposals.RECORD)
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
