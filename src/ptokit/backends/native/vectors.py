"""Vectors of LLVM: registers and logical vectors as lanes, constants, lanes at other places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ptokit.isa.meaning.expressions import type_of
from ptokit.isa.meaning.words import Write
from ptokit.types.dtypes import DType
from ptokit.types.values import LogicalMask, LogicalVector, Mask

from .code import Code, float_of
from .elements import many, spread, storage
from .expressions import Types
from .values import Register

REGISTER_BYTES = 256


def register_kind(type: Any) -> str:
    """LLVM's type of a vector or predicate: a register of 256 bytes, or a logical one of any length."""
    match type:
        case Mask():
            return f"<{REGISTER_BYTES} x i8>"
        case LogicalMask(lanes):
            return many(lanes, "i1")
    return many(lanes_of(type, type.dtype.size), storage(type.dtype))


def lanes_of(type: Any, width: int) -> int:
    """How many lanes of `width` bytes a vector has, or a predicate stands for."""
    match type:
        case LogicalMask(lanes):
            return lanes
        case LogicalVector(lanes, dtype):
            return lanes * dtype.size // width
    return REGISTER_BYTES // width


# Handed to Python and back -------------------------------------------------------------------------------------------


def handed(code: Code, register: Register) -> tuple[str, str]:
    """A vector or predicate as bytes in memory: LLVM's type, and what holds it. Conditions are bytes."""
    if not isinstance(register.type, LogicalMask):
        return register.kind, register.value
    bits, kind = many(register.type.lanes, "i1"), many(register.type.lanes, "i8")
    return kind, code.value(f"zext {bits} {register.value} to {kind}")


def handed_bytes(type: Any) -> int:
    """How many bytes that are."""
    return lanes_of(type, 1)


def array_of(type: Any, words: Sequence[int]) -> np.ndarray:
    """The vector that words hold as an array (1, lanes), a predicate as its image."""
    raw = np.array(words, np.int64).view(np.uint8)[: handed_bytes(type)]
    if isinstance(type, Mask | LogicalMask):
        return (raw != 0)[None]
    return raw.view(type.dtype.value or type.dtype.storage)[None]


def bytes_of(type: Any, value: np.ndarray) -> np.ndarray:
    """An array (1, lanes), or the image of a predicate, as bytes in memory."""
    raw = np.ascontiguousarray(value).view(np.uint8).reshape(-1)
    return raw * np.uint8(255) if isinstance(type, Mask) else raw


def taken_back(code: Code, type: Any, place: str) -> Register:
    """What Python has left in memory."""
    kind = register_kind(type)
    if not isinstance(type, LogicalMask):
        return Register(code.load(kind, place, 8), kind, type)
    found = code.load(many(type.lanes, "i8"), place, 8)
    return Register(code.value(f"trunc {many(type.lanes, 'i8')} {found} to {kind}"), kind, type)


def stored_bytes(write: Write, lanes: int, types: Types) -> int:
    """How many bytes of memory a write covers."""
    if write.packed:
        return lanes // 8
    of = type_of(write.value, types)
    assert isinstance(of, DType)
    return lanes * of.size


def constants(dtype: DType, numbers: Sequence[int]) -> str:
    """Elements as the lanes of a vector, from their bits; integers keep their low bits."""
    kind = storage(dtype)
    bits = [int(n) % (1 << dtype.bits) for n in numbers]
    shown = [float_of(n) if kind == "float" else str(n) for n in bits]
    return f"<{', '.join(f'{kind} {n}' for n in shown)}>" if len(shown) > 1 else shown[0]


def bits_as(code: Code, register: Register, kind: str) -> str:
    """The bytes of a register as a vector of another type."""
    if register.kind == kind:
        return register.value
    return code.value(f"bitcast {register.kind} {register.value} to {kind}")


def shuffled(code: Code, kind: str, count: int, x: str, places: list[int]) -> str:
    """Some of the `count` lanes of a vector."""
    if places == list(range(count)):
        return x
    t = many(count, kind)
    if len(places) == 1:
        return code.value(f"extractelement {t} {x}, i64 {places[0]}") if count > 1 else x
    if count == 1:
        return spread(code, len(places), kind, x)
    lanes = ", ".join(f"i32 {place}" for place in places)
    return code.value(f"shufflevector {t} {x}, {t} poison, <{len(places)} x i32> <{lanes}>")
