"""Pad values: what TLOAD and TFILLPAD write outside the valid region (types-and-layouts 4).

A pad value is a number: a `PadValue` member, or ``CUSTOM_PAD | bits`` with 32 bits of the caller's choice.
"""

from __future__ import annotations

from .dtypes import DType
from .enums import PadValue
from .tile import CUSTOM_PAD

# Bits of (Min, Max). Types that are not listed pad with zero bits: 64-bit integers, FP8, HiFloat8, FP4.
_LIMITS: dict[str, tuple[int, int]] = {
    "f32": (0xFF800000, 0x7F800000),
    "f16": (0xFC00, 0x7C00),
    "bf16": (0xFF80, 0x7F80),
    "i32": (0x80000000, 0x7FFFFFFF),
    "i16": (0x8000, 0x7FFF),
    "i8": (0x80, 0x7F),
    "u32": (0, 0xFFFFFFFF),
    "u16": (0, 0xFFFF),
    "u8": (0, 0xFF),
}


_FINITE: dict[str, tuple[int, int]] = {
    "f32": (0xFF7FFFFF, 0x7F7FFFFF),
    "f16": (0xFBFF, 0x7BFF),
    "bf16": (0xFF7F, 0x7F7F),
}
"""The same without infinities."""


def is_custom(pad: int) -> bool:
    """True for a custom pad value."""
    return pad >= CUSTOM_PAD


def pad_bits(dtype: DType, pad: int, *, wide: bool = True, finite: bool = False) -> int:
    """Bits written to one storage unit of a tile whose pad value is `pad`; no numeric conversion takes place.

    All targets use the device table. A custom value fills 8-byte units with its 32 bits in both halves; where the
    target does not (``wide`` is False), it is rejected before it gets here, and gives 0.
    Packed 4-bit types: the unit is a byte of two elements. ``finite``: Min and Max are the largest numbers, not
    infinities.
    """
    if is_custom(pad):
        bits = pad & 0xFFFFFFFF
        if dtype.size == 8:
            return bits << 32 | bits if wide else 0
        return bits & ((1 << (8 * dtype.size)) - 1)
    limits = _LIMITS | _FINITE if finite else _LIMITS
    low, high = limits.get(dtype.name, (0, 0))
    return {PadValue.Min: low, PadValue.Max: high}.get(PadValue(pad), 0)
