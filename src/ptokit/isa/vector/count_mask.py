"""Operations of the vector unit on the unified buffer itself, with repeats and strides (PTOAS e32488c9, VPTOUbOps).

A repeat works on 8 blocks of 32 bytes; strides between blocks and between repeats are blocks. The mask says which
elements take part: two words of bits for the elements of each repeat, or, in count mode, how many elements there are
in all. ptokit's decisions: at the start all take part; in count mode there are as many repeats as the count needs,
whatever the operation says; a repeat reads its sources before it writes, and the next one sees what it wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import Pipe

from ..checks.operands import Message
from ..machine import Machine
from ..meaning.primitives import PRIMITIVES
from ..site import PtrInfo, Site
from ..table import Instr, Kind, Operand, Role
from .compute.typesets import I16_32_F, F
from .lanes import element
from .rules import VEC_06, VEC_07
from .verifier_rules import MIC_07
from .words import Types, micro, number, types, ub

SOURCE = "PTOAS e32488c9, VPTOUbOps"
BLOCK, BLOCKS = 32, 8

_MASK, _COUNTS = "ub mask", "ub mask counts"
_ALL = (-1, -1)
_FIELD = 0xFF
_UNSIGNED = {16: DTYPES["u16"], 32: DTYPES["u32"]}

Function = Callable[..., np.ndarray]


def _numbers(names: str) -> tuple[Operand, ...]:
    return tuple(Operand(name, Role.IN, Kind.SCALAR, type="i64", agreed=True) for name in names.split())


def _chosen(m: Machine, repeats: int, width: int) -> np.ndarray:
    """Which elements take part: bool (repeats, elements of a repeat)."""
    per = BLOCK * BLOCKS // width
    low, high = m.registers.get(_MASK, _ALL)
    if m.registers.get(_COUNTS, False):
        count = low & ((1 << 32) - 1)
        return np.arange(-(-count // per) * per).reshape(-1, per) < count
    bits = np.array([low & ((1 << 64) - 1), high & ((1 << 64) - 1)], "<u8").view(np.uint8)
    return np.broadcast_to(np.unpackbits(bits, bitorder="little")[:per].astype(bool), (repeats, per))


def _places(repeats: int, width: int, block: int, repeat: int) -> np.ndarray:
    """Bytes from the pointer to each element: (repeats, elements of a repeat)."""
    lane = np.arange(BLOCK * BLOCKS // width) * width
    within = lane % BLOCK + lane // BLOCK * (block & _FIELD) * BLOCK
    return within + np.arange(repeats)[:, None] * (repeat & _FIELD) * BLOCK


def _meet(m: Machine, pointers: tuple[Any, ...], places: tuple[np.ndarray, ...]) -> bool:
    """Whether one repeat may read what another one has written: all at once is not the same then."""
    dst, *sources = pointers
    first = np.asarray(m.address(dst))
    for src, where in zip(sources, places[1:], strict=True):
        gap = np.asarray(m.address(src)) - first
        if not np.any(gap) and np.array_equal(where, places[0]) and len(np.unique(where)) == where.size:
            continue
        if np.any((gap + where.max() >= places[0].min()) & (gap + where.min() <= places[0].max())):
            return True
    return False


def _work(
    m: Machine, pointers: tuple[Any, ...], numbers: tuple[int, ...], dtype: DType, value: Function, read: int
) -> None:
    """``pointers``: the destination and its sources; ``numbers``: repeats, strides of blocks, strides of repeats."""
    width = dtype.size
    count = len(pointers)
    blocks, repeats = numbers[1 : count + 1], numbers[-count:]
    keep = _chosen(m, numbers[0] & _FIELD, width)
    if not keep.any():
        return
    places = tuple(_places(len(keep), width, b, r) for b, r in zip(blocks, repeats, strict=True))
    steps = [slice(k, k + 1) for k in range(len(keep))] if read and _meet(m, pointers, places) else [slice(None)]
    for step in steps:
        on = keep[step].reshape(1, -1)
        found = (
            m.gather(p, where[step].reshape(1, -1), width, on, width)
            for p, where in zip(pointers[1:], places[1:], strict=True)
        )
        sources = [np.ascontiguousarray(f).reshape(len(f), -1).view(element(dtype)) for f in found]
        with np.errstate(all="ignore"):
            result = value(*sources[:read]) if read else value(on.shape)
        raw = np.ascontiguousarray(result.astype(element(dtype), copy=False)).view(np.uint8)
        m.scatter(pointers[0], places[0][step].reshape(1, -1), raw.reshape(*result.shape, width), on, width)


def _scalar(number: int, dtype: DType) -> Any:
    """The low bits of a number as an element: floats come as their bits."""
    raw = (int(number) & ((1 << 64) - 1)).to_bytes(8, "little")[: dtype.size]
    return np.frombuffer(raw, element(dtype))[0]


def _binary(value: Function) -> Callable[..., None]:
    def run(m: Machine, dst: Any, src0: Any, src1: Any, *numbers: int, types: Mapping[str, Any]) -> None:
        _work(m, (dst, src0, src1), numbers, types["dst"].dtype, value, 2)

    return run


def _unary(value: Function) -> Callable[..., None]:
    def run(m: Machine, dst: Any, src: Any, *numbers: int, types: Mapping[str, Any]) -> None:
        _work(m, (dst, src), numbers, types["dst"].dtype, value, 1)

    return run


def _with_scalar(value: Function) -> Callable[..., None]:
    def run(m: Machine, dst: Any, src: Any, scalar: int, *numbers: int, types: Mapping[str, Any]) -> None:
        dtype = types["dst"].dtype
        _work(m, (dst, src), numbers, dtype, lambda x: value(x, _scalar(scalar, dtype)), 1)

    return run


def _shift(value: Function) -> Callable[..., None]:
    def run(m: Machine, dst: Any, src: Any, scalar: int, *numbers: int, types: Mapping[str, Any]) -> None:
        dtype = types["dst"].dtype
        by = min(int(scalar) & ((1 << 64) - 1), 255)
        _work(m, (dst, src), numbers, _UNSIGNED[dtype.bits], lambda x: value(x, np.full_like(x, by)), 1)

    return run


def _dup(
    m: Machine, dst: Any, scalar: int, repeat: int, block: int, _: int, step: int, __: int, *, types: Mapping[str, Any]
) -> None:
    dtype = types["dst"].dtype
    filled = _scalar(scalar, dtype)
    _work(m, (dst,), (repeat, block, step), dtype, lambda shape: np.full(shape, filled), 0)


def _same(o: Site) -> Message:
    first, *others = (info for info in o.operands.values() if isinstance(info, PtrInfo))
    for info in others:
        if info.dtype is not first.dtype:
            return f"%{info.name} points to elements of {info.dtype}, %{first.name} to elements of {first.dtype}"
    return None


_ALIKE = replace(VEC_06, check=_same)


def _operation(
    text: str,
    summary: str,
    operands: tuple[Operand, ...],
    run: Callable[..., None],
    kinds: Types | None = None,
    pipe: Pipe = Pipe.V,
    decision: str = "",
) -> Instr:
    bound = (VEC_07, _ALIKE, MIC_07) if kinds else ()
    return micro(
        f"ub.{text}", summary, operands, (), run, *bound, types=kinds or {}, pipe=pipe, source=SOURCE, decision=decision
    )


def _relu(x: np.ndarray) -> np.ndarray:
    return PRIMITIVES["max"].numpy(x, np.zeros_like(x))


_BITS = types("i16 u16 i32 u32")
_STRIDED = "repeat dst_block src0_block src1_block dst_repeat src0_repeat src1_repeat"
_STRIDED1 = "repeat dst_block src_block dst_repeat src_repeat"

for _name, _value, _kinds in (
    *((f"v{n}", PRIMITIVES[n].numpy, I16_32_F) for n in "add sub mul max min".split()),
    ("vdiv", PRIMITIVES["div"].numpy, F),
    ("vand", PRIMITIVES["and"].numpy, _BITS),
    ("vor", PRIMITIVES["or"].numpy, _BITS),
    ("vaddrelu", lambda x, y: _relu(x + y), types("i16 f16 f32")),
):
    _operation(
        _name,
        f"Blocks of dst = {_name} of those of src0 and src1; strides in blocks of 32 bytes.",
        (ub("dst", Role.OUT), ub("src0"), ub("src1"), *_numbers(_STRIDED)),
        _binary(_value),
        _kinds,
    )
for _name, _single, _kinds in (
    ("vnot", PRIMITIVES["not"].numpy, _BITS),
    ("vabs", PRIMITIVES["abs"].numpy, F),
    ("vrelu", _relu, types("i32 f16 f32")),
    *((f"v{n}", PRIMITIVES[p].numpy, F) for n, p in (("exp", "exp"), ("ln", "log"), ("sqrt", "sqrt"))),
    ("vrsqrt", PRIMITIVES["rsqrt"].numpy, F),
):
    _operation(
        _name,
        f"Blocks of dst = {_name} of those of src; strides in blocks of 32 bytes.",
        (ub("dst", Role.OUT), ub("src"), *_numbers(_STRIDED1)),
        _unary(_single),
        _kinds,
    )
_LOGICAL = "Elements are shifted as unsigned ones, as the assembler writes the operation."
for _name, _run, _kinds, _decision in (
    ("vshl", _shift(PRIMITIVES["shl"].numpy), _BITS, _LOGICAL),
    ("vshr", _shift(PRIMITIVES["shr"].numpy), _BITS, _LOGICAL),
    *((f"v{n}s", _with_scalar(PRIMITIVES[n].numpy), types("i16 i32 f16 f32"), "") for n in "mul add max min".split()),
):
    _operation(
        _name,
        f"Blocks of dst = {_name} of those of src and a number; strides in blocks of 32 bytes.",
        (ub("dst", Role.OUT), ub("src"), number("scalar", "i64"), *_numbers(_STRIDED1)),
        _run,
        _kinds,
        decision=_decision or "The low bits of the number are the element: floats come as their bits.",
    )
_operation(
    "vdup",
    "Blocks of dst = a number; strides in blocks of 32 bytes.",
    (ub("dst", Role.OUT), number("scalar", "i64"), *_numbers(_STRIDED1)),
    _dup,
    I16_32_F,
    decision="The low bits of the number are the element: floats come as their bits.",
)


def _set_mask(m: Machine, low: int, high: int, *, types: Any) -> None:
    m.registers[_MASK] = (int(low), int(high))


def _mode(counts: bool) -> Callable[..., None]:
    def run(m: Machine, *, types: Any) -> None:
        m.registers[_COUNTS] = counts

    return run


_operation(
    "set_mask",
    "The elements that later operations of ub. work on: bits of elements 0 to 63 and 64 to 127, or their number.",
    _numbers("low high"),
    _set_mask,
    pipe=Pipe.S,
)
_operation(
    "set_mask_count", "Take the mask of later operations of ub. as a number of elements.", (), _mode(True), pipe=Pipe.S
)
_operation("set_mask_norm", "Take the mask of later operations of ub. as bits.", (), _mode(False), pipe=Pipe.S)
