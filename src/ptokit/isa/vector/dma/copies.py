"""DMA between global memory and the unified buffer, and operations on the unified buffer itself (vector-path 3).

Lengths and strides are bytes, strides from start to start; ``mte_ub_ub`` and ``mte_ub_l1`` count blocks of 32 bytes
and gaps between rows. The sizes and strides of the two outer loops are registers: an instruction sets them for all
later copies of one direction.

A repeat works on 8 blocks of 32 bytes; strides between blocks and between repeats are blocks. The mask says which
elements take part: two words of bits for the elements of each repeat, or, in count mode, how many elements there are
in all. ptokit's decisions: at the start all take part; in count mode there are as many repeats as the count needs,
whatever the operation says; a repeat reads its sources before it writes, and the next one sees what it wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from ptokit.types.dtypes import DTYPES, dtype, i64, u64
from ptokit.types.enums import Pipe

from ...checks.compiling import Message
from ...machine import Axis, Machine
from ...meaning.expressions import Convert, Element, Expr, Extent, Reinterpret, Scalar, Sum, apply, minimum
from ...meaning.moves import bursts, levels, loops_of
from ...meaning.words import Bursts, Keep, Meaning, Python, Repeats, Word
from ...site import PtrInfo, Site
from ...table import ALSO, Instr, Kind, Operand, OperandForm, Role, TextForm
from ..compute.arithmetic import I16_32_F, F
from ..compute.words import relu
from ..registers import COUNTS, MASK
from ..verifier_rules import MIC_07
from ..words import VEC_06, VEC_07, Types, gm, micro, number, types, ub
from . import rules

# DMA between global memory and the unified buffer, and inside it (vector-path 3).


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
    """Rows from global memory, each with `left` elements of padding before it and padding up to the next row after.

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
        return Python(_copy_in, by_numbers=True)
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
        return Python(_mte_in, by_numbers=True)
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


# Operations of the vector unit on the unified buffer itself, with repeats and strides (PTOAS e32488c9, VPTOUbOps).


SOURCE = "PTOAS e32488c9, VPTOUbOps"


def _numbers(names: str) -> tuple[Operand, ...]:
    return tuple(Operand(name, Role.IN, Kind.SCALAR, type="i64", agreed=True) for name in names.split())


def _same(o: Site) -> Message:
    first, *others = (info for info in o.operands.values() if isinstance(info, PtrInfo))
    for info in others:
        if info.dtype is not first.dtype:
            return f"{info.name} points to elements of {info.dtype}, {first.name} to elements of {first.dtype}"
    return None


_ALIKE = replace(VEC_06, check=_same)


def _operation(
    text: str,
    summary: str,
    operands: tuple[Operand, ...],
    meaning: Meaning,
    kinds: Types | None = None,
    pipe: Pipe = Pipe.V,
    decision: str = "",
) -> Instr:
    bound = (VEC_07, _ALIKE, MIC_07) if kinds else ()
    more: dict[str, Any] = {"types": kinds or {}, "pipe": pipe, "source": SOURCE, "decision": decision}
    return micro(f"ub.{text}", summary, operands, (), None, *bound, meaning=meaning, **more)


def _repeats(op: Callable[..., Expr], *sources: str) -> Meaning:
    """An operation on elements, and on a number where a source is the scalar: its low bits are the element."""

    def meaning(o: Site) -> Repeats:
        kind = o.dst.dtype
        bits = DTYPES[f"u{kind.bits}"]
        values = (
            Reinterpret(Scalar(name, bits), kind) if name == "scalar" else Element(name, dtype=kind) for name in sources
        )
        return Repeats(op(*values), kind)

    return meaning


def _shift(primitive: str) -> Meaning:
    def meaning(o: Site) -> Repeats:
        bits = DTYPES[f"u{o.dst.dtype.bits}"]
        by = Convert(minimum(Scalar("scalar", u64), 255), bits)
        return Repeats(apply(primitive, Element("src", dtype=bits), by), bits)

    return meaning


_Op = str | Callable[..., Expr]
"""An operation: a primitive, or an expression of its operands."""


def _named(op: _Op) -> Callable[..., Expr]:
    return partial(apply, op) if isinstance(op, str) else op


_BITS = types("i16 u16 i32 u32")
_STRIDED = "repeat dst_block src0_block src1_block dst_repeat src0_repeat src1_repeat"
_STRIDED1 = "repeat dst_block src_block dst_repeat src_repeat"

_BINARY: tuple[tuple[str, _Op, Types], ...] = (
    *((f"v{n}", n, I16_32_F) for n in "add sub mul max min".split()),
    ("vdiv", "div", F),
    ("vand", "and", _BITS),
    ("vor", "or", _BITS),
    ("vaddrelu", lambda x, y: relu(x + y), types("i16 f16 f32")),
)
for _name, _value, _kinds in _BINARY:
    _operation(
        _name,
        f"Blocks of dst = {_name} of those of src0 and src1; strides in blocks of 32 bytes.",
        (ub("dst", Role.OUT), ub("src0"), ub("src1"), *_numbers(_STRIDED)),
        _repeats(_named(_value), "src0", "src1"),
        _kinds,
    )
_UNARY: tuple[tuple[str, _Op, Types], ...] = (
    ("vnot", "not", _BITS),
    ("vabs", "abs", F),
    ("vrelu", relu, types("i32 f16 f32")),
    *((f"v{n}", p, F) for n, p in (("exp", "exp"), ("ln", "log"), ("sqrt", "sqrt"))),
    ("vrsqrt", "rsqrt", F),
)
for _name, _value, _kinds in _UNARY:
    _operation(
        _name,
        f"Blocks of dst = {_name} of those of src; strides in blocks of 32 bytes.",
        (ub("dst", Role.OUT), ub("src"), *_numbers(_STRIDED1)),
        _repeats(_named(_value), "src"),
        _kinds,
    )
_LOGICAL = "Elements are shifted as unsigned ones, as the assembler writes the operation."
for _name, _meaning, _kinds, _decision in (
    ("vshl", _shift("shl"), _BITS, _LOGICAL),
    ("vshr", _shift("shr"), _BITS, _LOGICAL),
    *(
        (f"v{n}s", _repeats(_named(n), "src", "scalar"), types("i16 i32 f16 f32"), "")
        for n in "mul add max min".split()
    ),
):
    _operation(
        _name,
        f"Blocks of dst = {_name} of those of src and a number; strides in blocks of 32 bytes.",
        (ub("dst", Role.OUT), ub("src"), number("scalar", "i64"), *_numbers(_STRIDED1)),
        _meaning,
        _kinds,
        decision=_decision or "The low bits of the number are the element: floats come as their bits.",
    )
_operation(
    "vdup",
    "Blocks of dst = a number; strides in blocks of 32 bytes.",
    (ub("dst", Role.OUT), number("scalar", "i64"), *_numbers(_STRIDED1)),
    _repeats(lambda x: x, "scalar"),
    I16_32_F,
    decision="The low bits of the number are the element: floats come as their bits.",
)


_operation(
    "set_mask",
    "The elements that later operations of ub. work on: bits of elements 0 to 63 and 64 to 127, or their number.",
    _numbers("low high"),
    Keep(MASK, (Scalar("low", i64), Scalar("high", i64))),
    pipe=Pipe.S,
)
_operation(
    "set_mask_count",
    "Take the mask of later operations of ub. as a number of elements.",
    (),
    Keep(COUNTS, True),
    pipe=Pipe.S,
)
_operation("set_mask_norm", "Take the mask of later operations of ub. as bits.", (), Keep(COUNTS, False), pipe=Pipe.S)
