"""Copies of rows and blocks between global memory, L1, the unified buffer and the tables; fills of L1.

Lengths and strides of copies from global memory are bytes, strides from start to start. All others count blocks of
32 bytes (64 for the fix-pipe buffer) and gaps between rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.types.enums import Pipe

from ..machine import Machine
from ..meaning.expressions import Extent, Sum
from ..meaning.words import Bursts
from ..table import Attr, Kind, Operand, OperandForm, Role
from .pointers import BLOCK, at, bit, cube, numbers

TABLE_UNIT = 64  # bytes: of copies into the fix-pipe buffer
BLOCKS_DECISION = (
    "Lengths are blocks of 32 bytes and strides gaps, as the operation that the assembler makes of it has them; the "
    "chapter on the cube unit says bytes, which its golden cases contradict."
)


_N, _LEN, _SRC, _DST = (Extent(name, "value") for name in ("n_burst", "len_burst", "src_stride", "dst_stride"))


def _rows(loops: str = "", groups: str = "") -> Bursts:
    """Length and strides in bytes."""
    return Bursts(((_N, _DST, _SRC),), _LEN, loops=loops, groups=groups)


def _blocks(unit: int = BLOCK, groups: str = "", src: str = "src_gap", dst: str = "dst_gap") -> Bursts:
    """Length and gaps in units; what has not been written stays unwritten for whoever needs it."""
    to, frm, length = (Sum(names, unit) for names in (("len_burst", dst), ("len_burst", src), ("len_burst",)))
    return Bursts(((_N, to, frm),), length, groups=groups, unread=True)


def _to_bt(
    m: Machine,
    src: Any,
    dst: Any,
    convert: Any,
    count: int,
    length: int,
    src_gap: int,
    dst_gap: int,
    *,
    types: Mapping[str, Any],
) -> None:
    """Values of 16 bits become those of 32; without ``convert`` f16 keep their bits in the low half."""
    source, wanted = src.dtype, types["dst"].dtype
    found = m.fetch(src, 0, ((count, (length + src_gap) * BLOCK),), length * BLOCK, needed=((), 0))
    widened = 1
    if source.size < wanted.size:
        widened = wanted.size // source.size
        if convert or source.name != "f16":
            values = found.view(source.value).astype(wanted.value)
        else:
            values = found.view(source.storage).astype(wanted.storage)
        found = values.view(np.uint8)
    m.deposit(dst, 0, ((count, (length * widened + dst_gap) * BLOCK),), found)


def _bias(
    m: Machine, src: Any, dst: Any, length: int, count: int, src_gap: int, dst_gap: int, *, types: Mapping[str, Any]
) -> None:
    _to_bt(m, src, dst, src.dtype.name == "f16", count, length, src_gap, dst_gap, types=types)


_BURST = (*numbers("len_burst"), *numbers("n_burst src_stride dst_stride", group="nburst"))
_LOOPS = Operand("loops", Role.IN, Kind.SCALAR, True, True, "i64", form=OperandForm(group="loop"), size=3, agreed=True)
_SID = "sid n_burst len_burst src_gap dst_gap"
_GAPS = "n_burst len_burst src_gap dst_gap"

cube(
    "mte_gm_l1",
    "Copy rows of global memory into L1.",
    Pipe.MTE2,
    (at("src", "gm"), at("dst", "l1", Role.OUT), *_BURST, _LOOPS),
    meaning=_rows(groups="loops"),
)
cube(
    "mte_l1_ub",
    "Copy rows of L1 into the unified buffer.",
    Pipe.MTE1,
    (at("src", "l1"), at("dst", "ub", Role.OUT), *_BURST, _LOOPS),
    meaning=_blocks(groups="loops", src="src_stride", dst="dst_stride"),
    decision=BLOCKS_DECISION,
)
cube(
    "mte_l1_fb",
    "Copy rows of L1 into the fix-pipe buffer.",
    Pipe.FIX,  # memory-model-and-sync 2
    (at("src", "l1"), at("dst", "fb", Role.OUT), *_BURST),
    meaning=_blocks(TABLE_UNIT, src="src_stride", dst="dst_stride"),
)
cube(
    "mte_l1_bt",
    "Copy rows of L1 into the bias table.",
    Pipe.MTE1,
    (at("src", "l1"), at("dst", "bt", Role.OUT), *_BURST),
    _bias,
)
cube(
    "copy_gm_to_cbuf",
    "Copy rows of global memory into L1, in the loops that are set.",
    Pipe.MTE2,
    (at("src", "gm"), at("dst", "l1", Role.OUT), *numbers("n_burst len_burst src_stride dst_stride")),
    meaning=_rows("outtol1"),
)
cube(
    "copy_ubuf_to_cbuf",
    "Copy blocks of the unified buffer into L1.",
    Pipe.MTE3,
    (at("src", "ub"), at("dst", "l1", Role.OUT), *numbers(_SID)),
    meaning=_blocks(),
)
cube(
    "copy_cbuf_to_ubuf",
    "Copy blocks of L1 into the unified buffer.",
    Pipe.MTE1,
    (at("src", "l1"), at("dst", "ub", Role.OUT), *numbers(_SID)),
    meaning=_blocks(),
)
cube(
    "copy_cbuf_to_bt",
    "Copy blocks of L1 into the bias table.",
    Pipe.MTE1,
    (at("src", "l1"), at("dst", "bt", Role.OUT), bit("convert"), *numbers(_GAPS)),
    _to_bt,
)
cube(
    "copy_cbuf_to_fbuf",
    "Copy blocks of L1 into the fix-pipe buffer.",
    Pipe.FIX,
    (at("src", "l1"), at("dst", "fb", Role.OUT), *numbers(_GAPS)),
    meaning=_blocks(TABLE_UNIT),
)


def _fill(
    m: Machine,
    dst: Any,
    offset: int,
    value: Any,
    repeats: int,
    blocks: int,
    gap: int,
    *,
    fill_word_bits: int | None,
    types: Any,
) -> None:
    """Words over and over, in rows of blocks."""
    size = (16 if fill_word_bits is None else fill_word_bits) // 8
    unit = (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    m.fill(dst, offset, [(repeats, (blocks + gap) * BLOCK, 0)], unit, blocks * BLOCK)


def _create(
    m: Machine, dst: Any, value: Any, repeats: int, blocks: int, gap: int, *, fill_word_bits: Any, types: Any
) -> None:
    _fill(m, dst, 0, value, repeats, blocks, gap, fill_word_bits=fill_word_bits, types=types)


for _name, _fields, _run in (
    ("raw_fill_l1", "dst_addr value repeat_times block_num dst_gap", _fill),
    ("create_cbuf_matrix", "value repeat_times block_num dst_gap", _create),
):
    cube(
        _name,
        "Fill blocks of L1 with a word.",
        Pipe.MTE2,
        (at("dst", "l1", Role.OUT), *(replace(n, type="") for n in numbers(_fields))),
        _run,
        (Attr("fill_word_bits", int, None, "fill_word_bits", long=True),),
    )
