"""DMA between global memory and the unified buffer, and inside it (vector-path 3).

Lengths and strides are bytes, strides from start to start; ``mte_ub_ub`` and ``mte_ub_l1`` count blocks of 32 bytes
and gaps between rows. The sizes and strides of the two outer loops are registers: an instruction sets them for all
later copies of one direction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ptokit.types.dtypes import dtype, i64, u64
from ptokit.types.enums import Pipe

from ...machine import Axis, Machine
from ...meaning.expressions import Convert, Extent, Reinterpret, Scalar, Sum
from ...meaning.moves import bursts, levels, loops_of
from ...meaning.words import Bursts, Keep, Meaning, Python, Word
from ...site import Site
from ...table import ALSO, Instr, Kind, Operand, OperandForm, Role, TextForm
from ..words import gm, micro, number, ub
from . import rules

GM_BITS, UB_BITS = rules.FIELDS["gm stride"], rules.FIELDS["ub stride"]
"""Widths of the fields for strides of either side and for loop counts."""

_MASK = {bits: (1 << bits) - 1 for bits in (GM_BITS, UB_BITS)}
_BLOCK = 32
_PAD = "mov_pad"
_FLOATS: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64}


def count(name: str, group: str = "") -> Operand:
    """A number of rows or bytes, the same for all blocks of a launch that run together."""
    return Operand(name, Role.IN, Kind.SCALAR, type="i64", form=OperandForm(group=group), agreed=True)


def _into_ub(
    m: Machine,
    src: Any,
    dst: Any,
    axes: Sequence[Axis],
    length: int,
    left: int,
    pad: bytes | None,
    size: int,
) -> None:
    """Rows from global memory, each with `left` elements of padding before it and padding up to the next row behind.

    ``axes`` end with the axis of rows; ``pad``: one element, None for no padding.
    """
    before = left * size
    bursts(m, src, dst, list(axes), length, before, "", _BLOCK)
    if pad is None:
        return
    pitch = axes[-1][1]
    m.fill(dst, 0, axes, pad, before)
    m.fill(dst, before + length, axes, pad, pitch - before - length)


def pad_bytes(value: Any, type: str, size: int) -> bytes:
    """The low `size` bytes of a scalar of this type."""
    if type in _FLOATS:
        raw = np.asarray(value, _FLOATS[type]).tobytes()
    else:
        raw = (int(value) & ((1 << 64) - 1)).to_bytes(8, "little")
    return raw.ljust(8, b"\0")[:size]


def _copy_in(
    m: Machine,
    src: Any,
    dst: Any,
    sid: Any,
    n_burst: int,
    len_burst: int,
    left: int | None,
    right: int | None,
    select: Any,
    l2: Any,
    src_stride: int,
    dst_stride: int,
    *,
    types: Mapping[str, Any],
) -> None:
    size = types["dst"].dtype.size
    pad = m.registers.get(_PAD, 0).to_bytes(8, "little")[:size] if select else None
    axes = [*loops_of(m, "outtoub"), (n_burst, dst_stride, src_stride)]
    _into_ub(m, src, dst, axes, len_burst, left or 0, pad, size)


_N, _LEN, _SRC, _DST = (Extent(name, "value") for name in ("n_burst", "len_burst", "src_stride", "dst_stride"))
_ROWS = ((_N, _DST, _SRC),)


def _in(o: Site) -> Word:
    """Rows without padding; padding is left to Python."""
    if rules.value(o, "data_select_bit") != 0 or rules.value(o, "left_padding") != 0:
        return Python(_copy_in)
    return Bursts(_ROWS, _LEN, loops="outtoub", alignment=_BLOCK)


def _blocks() -> Bursts:
    """Lengths and gaps are blocks."""
    pitches = (Sum(("len_burst", gap), _BLOCK) for gap in ("dst_gap", "src_gap"))
    return Bursts(((_N, *pitches),), Sum(("len_burst",), _BLOCK))  # type: ignore[arg-type]


def _mte_in(
    m: Machine,
    src: Any,
    dst: Any,
    l2: Any,
    length: int,
    n_burst: int,
    src_stride: int,
    dst_stride: int,
    loops: Sequence[int],
    pad_value: Any,
    left: int | None,
    right: int | None,
    *,
    types: Mapping[str, Any],
) -> None:
    size = types["dst"].dtype.size
    pad = None if pad_value is None else pad_bytes(pad_value, types["pad_value"].type, size)
    axes = [*levels(loops or ()), (n_burst, dst_stride, src_stride)]
    _into_ub(m, src, dst, axes, length, left or 0, pad, size)


def _mte(o: Site) -> Word:
    """Rows with loops of their own; padding is left to Python."""
    if "pad_value" in o.operands and o.operands["pad_value"] is not None:
        return Python(_mte_in)
    return Bursts(_ROWS, _LEN, groups="loops", alignment=_BLOCK)


def _dma(
    text: str,
    summary: str,
    operands: tuple[Operand, ...],
    does: Meaning,
    *bound: Any,
    orders: dict[str, str] | None = None,
    **more: Any,
) -> Instr:
    more |= {"source": "3", "meaning": does}
    form = TextForm("micro", orders=orders or {}, misfits={"": "DMA-A5-06"})
    return micro(text, summary, operands, (), None, *bound, form=form, **more)


_LOOPS = Operand("loops", Role.IN, Kind.SCALAR, True, 3, "i64", form=OperandForm(group="loop"), agreed=True)
_BURST = (count("n_burst", "nburst"), count("src_stride", "nburst"), count("dst_stride", "nburst"))

_BURSTS = (number("sid", "i64"), count("n_burst"), count("len_burst"))

COPY_GM_TO_UBUF = _dma(
    "copy_gm_to_ubuf",
    "Copy rows of global memory into the unified buffer, padding them if data_select_bit is set.",
    (
        gm("src"),
        ub("dst", Role.OUT),
        *_BURSTS,
        count("left_padding"),
        count("right_padding"),
        Operand("data_select_bit", Role.IN, Kind.SCALAR, type="i1", agreed=True),
        number("l2_cache_ctl", "i64"),
        count("src_stride"),
        count("dst_stride"),
    ),
    _in,
    *rules.GM_TO_UB,
    pipe=Pipe.MTE2,
    orders={ALSO: "dst src sid n_burst len_burst dst_stride src_stride"},
)
COPY_UBUF_TO_GM = _dma(
    "copy_ubuf_to_gm",
    "Copy rows of the unified buffer to global memory.",
    (
        ub("src"),
        gm("dst", Role.OUT),
        *_BURSTS,
        number("reserved", "i64"),
        count("dst_stride"),
        count("src_stride"),
    ),
    Bursts(_ROWS, _LEN, loops="ubtoout", alignment=_BLOCK),
    *rules.UB_TO_GM,
    pipe=Pipe.MTE3,
)
COPY_UBUF_TO_UBUF = _dma(
    "copy_ubuf_to_ubuf",
    "Copy rows within the unified buffer; lengths and strides in bytes.",
    (
        ub("src"),
        ub("dst", Role.OUT),
        *_BURSTS,
        count("src_stride"),
        count("dst_stride"),
    ),
    Bursts(_ROWS, _LEN),
    *rules.UB_TO_UB,
    pipe=Pipe.V,
)
MTE_GM_UB = _dma(
    "mte_gm_ub",
    "Copy rows of global memory into the unified buffer, with loops and padding of its own.",
    (
        gm("src"),
        ub("dst", Role.OUT),
        number("l2_cache_ctl", "i64"),
        count("len_burst"),
        *_BURST,
        _LOOPS,
        Operand("pad_value", Role.IN, Kind.SCALAR, True, form=OperandForm(group="pad"), agreed=True),
        Operand("left_padding", Role.IN, Kind.SCALAR, True, type="i64", form=OperandForm(group="pad"), agreed=True),
        Operand("right_padding", Role.IN, Kind.SCALAR, True, type="i64", form=OperandForm(group="pad"), agreed=True),
    ),
    _mte,
    *rules.GM_TO_UB,
    pipe=Pipe.MTE2,
)
MTE_UB_GM = _dma(
    "mte_ub_gm",
    "Copy rows of the unified buffer to global memory, with loops of its own.",
    (
        ub("src"),
        gm("dst", Role.OUT),
        count("len_burst"),
        *_BURST,
        number("l2_cache_ctl", "i64", optional=True, group="l2_cache_ctl"),
        _LOOPS,
    ),
    _mte,
    *rules.UB_TO_GM,
    pipe=Pipe.MTE3,
)
_GAPS = (count("len_burst"), count("n_burst", "nburst"), count("src_gap", "nburst"), count("dst_gap", "nburst"))
MTE_UB_UB = _dma(
    "mte_ub_ub",
    "Copy rows within the unified buffer; length and gaps in blocks of 32 bytes.",
    (ub("src"), ub("dst", Role.OUT), *_GAPS),
    _blocks(),
    *rules.BLOCKS,
    pipe=Pipe.V,
)
MTE_UB_L1 = _dma(
    "mte_ub_l1",
    "Copy rows of the unified buffer to L1; length and gaps in blocks of 32 bytes.",
    (ub("src"), Operand("dst", Role.OUT, Kind.PTR, type="l1"), *_GAPS),
    _blocks(),
    *rules.BLOCKS[:-1],
    pipe=Pipe.MTE3,
)


def _counts(direction: str) -> Meaning:
    """Given apart, or both in one number."""

    def meaning(o: Site) -> Keep:
        loop1, loop2 = (Scalar(name, i64) for name in ("loop1", "loop2"))
        packed = rules.unpacked(loop1)
        return Keep(f"loop_size_{direction}", (loop1, loop2) if o.has("loop2") else packed)

    return meaning


def _set_strides(level: int, direction: str) -> Meaning:
    def meaning(o: Site) -> Keep:
        src, dst = (Scalar(name, i64) for name in ("src_stride", "dst_stride"))
        of_gm, of_ub = src & _MASK[GM_BITS], src >> GM_BITS & _MASK[UB_BITS]
        packed = (of_gm, of_ub) if direction == "outtoub" else (of_ub, of_gm)
        return Keep(f"loop{level}_stride_{direction}", (src, dst) if o.has("dst_stride") else packed)

    return meaning


def _padding(o: Site) -> Keep:
    """The bits of an element, from the lowest byte on."""
    if o.value.type not in _FLOATS:
        return Keep(_PAD, Scalar("value", u64))
    kind = dtype(o.value.type)
    return Keep(_PAD, Convert(Reinterpret(Scalar("value", kind), dtype(f"u{kind.bits}")), u64))


def _register(text: str, summary: str, names: tuple[str, str], does: Meaning, *bound: Any) -> Instr:
    first, second = names
    operands = (count(first), Operand(second, Role.IN, Kind.SCALAR, True, type="i64", agreed=True))
    return _dma(text, f"{summary}; one operand: both, packed.", operands, does, *bound, pipe=Pipe.S)


for _direction, _where in (("outtoub", "from global memory"), ("ubtoout", "to global memory")):
    _register(
        f"set_loop_size_{_direction}",
        f"Counts of the inner and outer loop around later copies {_where}",
        ("loop1", "loop2"),
        _counts(_direction),
        rules.COUNTS,
        rules.DMA_05,
    )
    for _level in (1, 2):
        _register(
            f"set_loop{_level}_stride_{_direction}",
            f"Strides of loop {_level} around later copies {_where}, in bytes",
            ("src_stride", "dst_stride"),
            _set_strides(_level, _direction),
            rules.strides(into_ub=_direction == "outtoub"),
        )
SET_MOV_PAD_VAL = _dma(
    "set_mov_pad_val",
    "The value that pads the rows of later copies from global memory.",
    (Operand("value", Role.IN, Kind.SCALAR, agreed=True),),
    _padding,
    pipe=Pipe.S,
)
