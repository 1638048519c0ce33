"""Element types: size, NumPy representation, and spellings in `.pto`, C++ and Python.

Facts: types-and-layouts section 1. Two NumPy dtypes belong to a type: ``storage`` is the unsigned integer of the same
width (moves never look at values, so never change bits), ``value`` is the dtype to compute with (from ml_dtypes where
NumPy has none; None where only the codecs of `ptokit.types.codecs` understand the bits).
"""

from __future__ import annotations

import re
from functools import cache, cached_property

import ml_dtypes
import numpy as np

from ptokit.records import dataclass


@dataclass(frozen=True, eq=False)
class DType:
    """An element type. Compare with ``is``: there is one object per type."""

    name: str  # short name, also the Python one: "f32"
    bits: int  # width of one element
    kind: str  # "f" float, "i" signed, "u" unsigned integer
    cpp: str  # C++ spelling
    text: str  # canonical `.pto` spelling
    aliases: tuple[str, ...] = ()  # further spellings that are read

    @property
    def size(self) -> int:
        """``sizeof`` of the C++ type in bytes; 1 for the 4-bit types (types-and-layouts 1.6)."""
        return max(1, self.bits // 8)

    @property
    def packed(self) -> bool:
        """True for the types that store two elements per byte (even index in the low nibble)."""
        return self.name in ("e2m1", "e1m2", "hif4", "s4")

    @property
    def c0(self) -> int:
        """Elements in a 32-byte block: 64 for packed 4-bit types."""
        return 64 if self.packed else 32 // self.size

    def nbytes(self, elements: int) -> int:
        """Bytes that `elements` elements occupy."""
        return (elements + 1) // 2 if self.packed else elements * self.size

    @cached_property
    def storage(self) -> np.dtype:
        """Unsigned integer dtype of one storage unit."""
        return np.dtype(f"u{self.size}")

    @cached_property
    def value(self) -> np.dtype | None:
        """NumPy dtype to compute with, or None."""
        return _VALUES.get(self.name)

    @property
    def is_float(self) -> bool:
        """True for floating-point types of any width."""
        return self.kind == "f"

    @property
    def is_integer(self) -> bool:
        """True for signed and unsigned integers."""
        return self.kind in "iu"

    @property
    def signed(self) -> bool:
        """False for unsigned integers."""
        return self.kind != "u"

    def __repr__(self) -> str:
        return "int4" if self.name == "s4" else self.name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (dtype, (self.name,))


f32 = DType("f32", 32, "f", "float", "f32", ("float", "float32"))
f16 = DType("f16", 16, "f", "half", "f16", ("half", "float16"))
bf16 = DType("bf16", 16, "f", "bfloat16_t", "bf16", ("bfloat16",))
i8 = DType("i8", 8, "i", "int8_t", "i8", ("si8", "int8"))
u8 = DType("u8", 8, "u", "uint8_t", "ui8", ("uint8",))
i16 = DType("i16", 16, "i", "int16_t", "i16", ("si16", "int16"))
u16 = DType("u16", 16, "u", "uint16_t", "ui16", ("uint16",))
i32 = DType("i32", 32, "i", "int32_t", "i32", ("si32", "int32"))
u32 = DType("u32", 32, "u", "uint32_t", "ui32", ("uint32",))
i64 = DType("i64", 64, "i", "int64_t", "i64", ("si64", "int64"))
u64 = DType("u64", 64, "u", "uint64_t", "ui64", ("uint64",))
e4m3 = DType("e4m3", 8, "f", "float8_e4m3_t", "f8E4M3FN", ("f8E4M3", "f8e4m3", "f8E4M3FNUZ", "f8E4M3B11FNUZ"))
e5m2 = DType("e5m2", 8, "f", "float8_e5m2_t", "f8E5M2", ("f8e5m2", "f8E5M2FNUZ"))
e8m0 = DType("e8m0", 8, "f", "float8_e8m0_t", "!pto.f8E8M0", ("f8E8M0FNU", "f8e8m0"))
hif8 = DType("hif8", 8, "f", "hifloat8_t", "!pto.hif8", ("hifloat8", "hifloat8_t"))
e2m1 = DType("e2m1", 4, "f", "float4_e2m1x2_t", "f4E2M1FN", ("float4_e2m1x2", "float4_e2m1x2_t"))
e1m2 = DType("e1m2", 4, "f", "float4_e1m2x2_t", "float4_e1m2x2", ("float4_e1m2x2_t",))
int4 = DType("int4", 4, "i", "int4b_t", "int4b", ("int4b_t", "i4"))

DTYPES: dict[str, DType] = {
    t.name: t
    for t in (
        *(f32, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64),
        *(e4m3, e5m2, e8m0, hif8, e2m1, e1m2, int4),
    )
}

e2m1x2 = DType("e2m1x2", 8, "f", "float4_e2m1x2_t", "!pto.f4E2M1x2")
e1m2x2 = DType("e1m2x2", 8, "f", "float4_e1m2x2_t", "!pto.f4E1M2x2")

hif4 = DType("hif4", 4, "f", "hifloat4x2_t", "!pto.hif4", ("hifloat4x2", "hifloat4x2_t"))
"""Numbers as of e1m2, whose scales have three levels (`ptokit.types.codecs`)."""

PACKED: dict[str, DType] = {
    t.name: t
    for t in (
        *(e2m1x2, e1m2x2, hif4),
        DType("hif8x2", 16, "f", "hifloat8x2_t", "!pto.hif8x2"),
        DType("bf16x2", 32, "f", "bfloat16x2_t", "!pto.bf16x2"),
        DType("f64", 64, "f", "double", "f64"),
    )
}
"""Further elements: two numbers in one, whose width is that of both, and what threads load."""

HALVES = {e2m1x2: e2m1, e1m2x2: e1m2}
"""Pairs of 4-bit floats, which are one element of tiles in UB, views and pointers, and the type of their numbers."""

s4 = DType("s4", 4, "i", "int4b_t", "int4b")
"""What an a2a3 conversion makes of int4, whose tiles have a byte for each element: two in a byte, in half of a row."""

SINGLES = {**HALVES, PACKED["hif8x2"]: hif8, PACKED["bf16x2"]: bf16}
"""All pairs, and the type of their numbers."""

_VALUES: dict[str, np.dtype] = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    **{f"i{8 * n}": np.dtype(f"i{n}") for n in (1, 2, 4, 8)},
    **{f"u{8 * n}": np.dtype(f"u{n}") for n in (1, 2, 4, 8)},
    "f64": np.dtype(np.float64),
    "e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "e5m2": np.dtype(ml_dtypes.float8_e5m2),
    "e8m0": np.dtype(ml_dtypes.float8_e8m0fnu),
}

_BY_SPELLING = {s: t for t in DTYPES.values() for s in (t.name, t.text, t.cpp, *t.aliases)}
_BY_SPELLING |= {s: t for t in PACKED.values() for s in (t.name, t.text, *t.aliases)}
_VECTOR = re.compile(r"vector\s*<\s*([1-9]\d?)\s*x\s*([!\w.]+)\s*>\Z", re.ASCII)
_BY_NUMPY = {v: DTYPES[n] for n, v in _VALUES.items() if n in DTYPES}


def dtype(spelling: str) -> DType:
    """The type with this name, `.pto` or C++ spelling. Raises `KeyError`."""
    found = _BY_SPELLING.get(spelling)
    return _short_vector(spelling) if found is None else found


def is_dtype(spelling: str) -> bool:
    """True if `spelling` names an element type."""
    if spelling in _BY_SPELLING:
        return True
    m = _VECTOR.match(spelling)
    return m is not None and m[2] in _BY_SPELLING


@cache
def _short_vector(spelling: str) -> DType:
    """``vector<2xf16>``: a few numbers that threads load and store as one."""
    m = _VECTOR.match(spelling)
    if m is None:
        raise KeyError(spelling)
    element = _BY_SPELLING[m[2]]
    name = f"vector<{m[1]}x{element.text}>"
    if name != spelling:
        return dtype(name)
    return DType(name, int(m[1]) * element.bits, element.kind, name, name)


def from_numpy(dt: np.dtype) -> DType | None:
    """The element type of a NumPy dtype, or None."""
    return _BY_NUMPY.get(np.dtype(dt))
