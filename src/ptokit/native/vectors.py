"""Vectors of LLVM: constants, lanes at other places, and the bytes that a write of lanes covers."""

from __future__ import annotations

from collections.abc import Sequence

from ptokit.isa.meaning.expressions import type_of
from ptokit.isa.meaning.words import Write
from ptokit.types.dtypes import DType

from .code import Code
from .elements import many, spread, storage
from .expressions import Types
from .values import Register


def stored_bytes(write: Write, lanes: int, types: Types) -> int:
    """How many bytes of memory a write covers."""
    if write.packed:
        return lanes // 8
    of = type_of(write.value, types)
    assert isinstance(of, DType)
    return lanes * of.size


def constants(dtype: DType, numbers: Sequence[int | float]) -> str:
    """Numbers as the lanes of a vector; integers keep their low bits."""
    shown = [_number(dtype, n) for n in numbers]
    return f"<{', '.join(f'{storage(dtype)} {n}' for n in shown)}>" if len(shown) > 1 else shown[0]


def _number(dtype: DType, j: float) -> str:
    assert dtype.value is not None
    if dtype.is_integer:
        return str(int(j) % (1 << dtype.bits))
    return f"{float(j):e}" if dtype.name == "f32" else str(int(dtype.value.type(j).view(dtype.storage)))


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
