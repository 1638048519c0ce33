"""MGATHER and MSCATTER one element at a time, on bit patterns, straight from the formulas of the specification.

Independent of the package: own address arithmetic, own rounding, Python integers.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Any

SIZES = {"f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2, "i16": 2, "u16": 2, "i8": 1, "u8": 1}
SIZES |= {"e4m3": 1, "e5m2": 1, "hif8": 1}


@dataclass
class ModelTile:
    """Elements in storage order, as unsigned integers; ``layout`` is ND, DN or Nz."""

    dtype: str
    rows: int
    cols: int
    vr: int
    vc: int
    layout: str
    data: list[int]

    @property
    def c0(self) -> int:
        return 32 // SIZES[self.dtype]

    def at(self, r: int, c: int) -> int:
        """Element offset of (r, c)."""
        if self.layout == "ND":
            return r * self.cols + c
        if self.layout == "DN":
            return c * self.rows + r
        c0 = self.c0
        return (c // c0) * self.rows * c0 + (r // 16) * 16 * c0 + (r % 16) * c0 + c % c0


@dataclass
class ModelTable:
    """Elements of the buffer; the tensor starts at its first one."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    layout: str
    data: list[int]


@dataclass
class Call:
    """One instruction: ``by_row``, mode of out-of-range indices, atomic operation; GM indices with ``l1``."""

    target: str
    tile: ModelTile
    table: ModelTable
    index: Any  # ModelTile of i32/u32 values as signed/unsigned Python integers, or a flat list with l1
    by_row: bool
    oob: str
    l1: bool = False
    index_pitch: int = 0
    atomic: str = "NONE"
    scratch: list[int] = field(default_factory=list)


def remapped(call: Call, value: int, cap: int) -> int | None:
    """The index used, or None where nothing is moved. Undefined needs an index in range."""
    u = value % (1 << 64 if call.target == "cpu" else 1 << 32)
    if call.oob == "Clamp":
        return u if u < cap else cap - 1
    if call.oob == "Wrap":
        return u % cap
    return u if u < cap else None


def limit(call: Call) -> int:
    """Capacity of the table."""
    s0, s1, s2, s3, s4 = call.table.shape
    if call.table.layout == "NZ" and call.target == "a2a3" and not call.l1:
        return s2 * 16 if call.by_row else s2 * 16 * s0 * s1 * call.tile.c0
    if not call.by_row:
        return s0 * s1 * s2 * s3 * s4
    return s0 * s1 * s2 * s3 if call.l1 or call.target == "a2a3" else s3


def index_of(call: Call, r: int, c: int) -> int:
    if call.l1:
        return call.index[r if call.by_row else r * call.index_pitch + c]
    tile = call.index
    return tile.data[r] if call.by_row else tile.data[tile.at(r, c)]


def address(call: Call, k: int, c: int) -> int:
    """Element of the table for a remapped index and a column."""
    s0, s1, *_ = call.table.shape
    t0, t1, t2, t3, t4 = call.table.stride
    c0 = call.tile.c0
    if call.table.layout == "NZ" and call.target == "a2a3" and not call.l1:
        if call.by_row:
            i, j = divmod(c // c0, s1)
            return i * t0 + j * t1 + (k // 16) * t2 + (k % 16) * t3 + c % c0
        n = s0 * s1 * c0
        lr, lc = k // n, k % n
        return (lc // c0 // s1) * t0 + (lc // c0 % s1) * t1 + (lr // 16) * t2 + (lr % 16) * t3 + (lc % c0) * t4
    if not call.by_row:
        return k
    if call.l1 or call.target == "a2a3":
        return k * t3 + c
    return k * t3 + c * t4 if call.target == "cpu" else k * call.tile.vc + c


def columns(call: Call) -> int:
    nz_row = call.by_row and call.table.layout == "NZ" and call.target == "a2a3" and not call.l1
    return call.table.shape[0] * call.table.shape[1] * call.tile.c0 if nz_row else call.tile.vc


def gather(call: Call) -> None:
    """Change the tile (and scratch memory) as MGATHER does."""
    tile, table = call.tile, call.table
    device_l1 = call.l1 and call.target != "cpu"
    nz_row = call.by_row and table.layout == "NZ" and call.target == "a2a3" and not call.l1
    if (call.oob == "Zero" and call.by_row and (device_l1 or nz_row)) or (device_l1 and not call.by_row):
        tile.data[:] = [0] * len(tile.data)
    cap = limit(call)
    for r in range(tile.vr):
        for c in range(columns(call)):
            k = remapped(call, index_of(call, r, c), cap)
            tile.data[tile.at(r, c)] = 0 if k is None else table.data[address(call, k, c)]
        if device_l1 and call.by_row:
            for c in range(tile.vc, -(-tile.vc // tile.c0) * tile.c0):
                tile.data[tile.at(r, c)] = 0
    if device_l1 and not call.by_row:
        call.scratch[: len(tile.data)] = tile.data


def scatter(call: Call) -> None:
    """Change the table as MSCATTER does."""
    tile, table, cap = call.tile, call.table, limit(call)
    for r in range(tile.vr):
        for c in range(columns(call)):
            k = remapped(call, index_of(call, r, c), cap)
            if k is not None:
                a = address(call, k, c)
                table.data[a] = combined(call.atomic, tile.dtype, table.data[a], tile.data[tile.at(r, c)])


def combined(atomic: str, dtype: str, old: int, new: int) -> int:
    """Bits of ``f(old, new)``."""
    if atomic == "NONE":
        return new
    a, b = value(dtype, old), value(dtype, new)
    if atomic == "Max":
        return new if a < b else old
    if atomic == "Min":
        return new if b < a else old
    if dtype[0] in "iu":
        return (old + new) % (1 << 8 * SIZES[dtype])
    return float_bits(dtype, a + b)


def value(dtype: str, bits: int) -> float | int:
    """The number that bits stand for."""
    if dtype == "f32":
        return struct.unpack("<f", struct.pack("<I", bits))[0]
    if dtype == "f16":
        return struct.unpack("<e", struct.pack("<H", bits))[0]
    if dtype == "bf16":
        return struct.unpack("<f", struct.pack("<I", bits << 16))[0]
    width = 8 * SIZES[dtype]
    return bits - (1 << width) if dtype[0] == "i" and bits >> (width - 1) else bits


def float_bits(dtype: str, x: float) -> int:
    """Bits of an exact sum (in double precision) rounded to nearest even."""
    if dtype == "f16":
        try:
            return struct.unpack("<H", struct.pack("<e", x))[0]
        except OverflowError:
            return 0x7C00 if x > 0 else 0xFC00
    try:
        bits = struct.unpack("<I", struct.pack("<f", x))[0]
    except OverflowError:
        bits = 0x7F800000 if x > 0 else 0xFF800000
    if dtype == "f32":
        return bits
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
