"""Types of operations on memrefs, which lowered text holds (assembly 11)."""

from __future__ import annotations

from ptokit.ir import Op
from ptokit.types.tile import DYNAMIC
from ptokit.types.values import MemRef, Type, is_memref

from ..text import rules
from ..types.parse import POISON
from .parser import Parser


def check_alloc(p: Parser, op: Op, at: int) -> None:
    """The result is a memref, and a value gives each size that its type leaves open."""
    type = op.result.type
    _memref(p, op.name, type, at)
    if isinstance(type, MemRef) and type.dims.count(DYNAMIC) != len(op.group("sizes")):
        wanted, given = type.dims.count(DYNAMIC), len(op.group("sizes"))
        p.fail(rules.OPERANDS, f"{type} leaves {wanted} sizes open, but {given} are given", at)


def _memref(p: Parser, name: str, type: Type, at: int) -> None:
    if type is not POISON and not is_memref(type):
        p.fail(rules.TYPE, f"{name} is for memrefs, not {type}", at)


def check_dealloc(p: Parser, op: Op, at: int) -> None:
    """The operand is a memref."""
    _memref(p, op.name, op["in"].type, at)


def check_subview(p: Parser, op: Op, at: int) -> None:
    """Both are memrefs, and there are as many offsets, sizes and strides."""
    _memref(p, op.name, op["in"].type, at)
    _memref(p, op.name, op.result.type, at)
    counts = {str(op.attrs[key]).count(",") for key in ("offsets", "sizes", "strides")}
    if len(counts) > 1:
        p.fail(rules.OPERANDS, f"{op.name} has different numbers of offsets, sizes and strides", at)


def check_reinterpret_cast(p: Parser, op: Op, at: int) -> None:
    """Both are memrefs of one element type, and what the result's type states is what is written."""
    source, result = op["in"].type, op.result.type
    _memref(p, op.name, source, at)
    _memref(p, op.name, result, at)
    if not isinstance(source, MemRef) or not isinstance(result, MemRef):
        return
    if source.dtype != result.dtype:
        p.fail(rules.TYPE, f"{op.name} keeps the element type; {source} and {result} differ in it", at)
    stated: dict[str, tuple[int, ...]] = {
        "offset": (result.offset,),
        "sizes": result.dims,
        "strides": result.strides_of(result.dims),
    }
    for key, numbers in stated.items():
        written = str(op.attrs[key])[1:-1].split(", ") if str(op.attrs[key]) != "[]" else []
        if len(written) != len(numbers):
            p.fail(rules.OPERANDS, f"{len(numbers)} {key} are wanted for {result}, but {len(written)} are written", at)
        for text, number in zip(written, numbers):
            if number != DYNAMIC and text not in ("?", str(number)):
                p.fail(rules.TYPE, f"{key} [{', '.join(written)}] do not make {result}", at)
