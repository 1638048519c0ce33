"""Integers of a fixed width, in two's complement."""

from __future__ import annotations

from typing import Any


def width(type_name: str) -> int:
    """Bits of an integer type; index counts as 64."""
    return 64 if type_name == "index" else int(type_name.lstrip("siu"))


def wrap(x: Any, bits: int) -> Any:
    """Two's complement: the low `bits` bits as a signed number (i1 stays a bool)."""
    if bits == 1:
        return bool(x & 1)
    half = 1 << (bits - 1)
    return ((x + half) & ((1 << bits) - 1)) - half


def signed(x: Any, bits: int) -> int:
    """A value as a signed number; true, the only bit of i1, is its sign."""
    return -int(x) if bits == 1 else int(x)


def unsigned(x: Any, bits: int) -> int:
    """The same bits as a number from 0 on."""
    return int(x) & ((1 << bits) - 1)
