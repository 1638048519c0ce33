"""Operations of the vector unit on the unified buffer itself, with repeats and strides (PTOAS e32488c9, VPTOUbOps).

A repeat works on 8 blocks of 32 bytes; strides between blocks and between repeats are blocks. The mask says which
elements take part: two words of bits for the elements of each repeat, or, in count mode, how many elements there are
in all. ptokit's decisions: at the start all take part; in count mode there are as many repeats as the count needs,
whatever the operation says; a repeat reads its sources before it writes, and the next one sees what it wrote.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ptokit.types.dtypes import DTYPES, i64, u64
from ptokit.types.enums import Pipe

from ..checks.compiling import Message
from ..meaning.expressions import Convert, Element, Expr, Reinterpret, Scalar, apply, minimum
from ..meaning.words import Keep, Meaning, Repeats
from ..site import PtrInfo, Site
from ..table import Instr, Kind, Operand, Role
from .compute.arithmetic import I16_32_F, F
from .compute.words import relu
from .registers import COUNTS, MASK
from .verifier_rules import MIC_07
from .words import VEC_06, VEC_07, Types, micro, number, types, ub

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
