"""TMOV, TEXTRACT and TINSERT one element at a time, from the formulas of the specification.

Independent of the package: own address arithmetic and own roundings, on Python numbers. A prediction maps element
offsets of the destination to codes; other elements keep theirs or, on the devices, are written beyond what is defined.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import Any

SIZES = {"f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2, "i16": 2, "i8": 1, "u8": 1, "e4m3": 1, "u64": 8, "e8m0": 1}
Codes = dict[int, int]


@dataclass
class ModelTile:
    """A tile with its elements in storage order, as unsigned integers."""

    loc: str
    dtype: str
    rows: int
    cols: int
    vr: int
    vc: int
    layout: str
    fractal: int
    data: list[int]

    @property
    def c0(self) -> int:
        return 32 // SIZES[self.dtype]

    def at(self, r: int, c: int) -> int:
        """Element offset of (r, c) (1.2)."""
        if self.layout == "ND":
            return r * self.cols + c
        if self.layout == "DN":
            return c * self.rows + r
        short, long = {512: (self.c0, 16), 1024: (16, 16), 32: (2, 16)}[self.fractal]
        ir, ic = (long, short) if self.layout[1] == "z" else (short, long)
        inner = (r % ir) * ic + c % ic if self.layout[1] == "z" else (c % ic) * ir + r % ir
        if self.layout[0] == "Z":
            return (r // ir) * self.cols * ir + (c // ic) * ir * ic + inner
        return (c // ic) * self.rows * ic + (r // ir) * ir * ic + inner


# Numbers -------------------------------------------------------------------------------------------------------------


def single(x: float) -> float:
    """Nearest binary32."""
    if math.isnan(x) or math.isinf(x):
        return x
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def value(dtype: str, code: int) -> float:
    """The number an accumulator's code stands for."""
    if dtype == "f32":
        return struct.unpack("<f", struct.pack("<I", code))[0]
    return code - (code >> 31 << 32)


def code(dtype: str, x: float) -> int:
    """The code of a number, rounded to nearest even; integers are in range modulo their width."""
    if dtype in ("i8", "u8", "i16", "i32"):
        return int(x) & ((1 << 8 * SIZES[dtype]) - 1)
    if dtype == "f32":
        return struct.unpack("<I", struct.pack("<f", x))[0]
    if dtype == "f16":
        if abs(x) >= 65520:
            return 0x7C00 | (0x8000 if x < 0 else 0)
        return struct.unpack("<H", struct.pack("<e", x))[0]
    assert dtype == "bf16"
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def even(x: float) -> float:
    """Nearest integer, ties to even."""
    return x if math.isinf(x) else float(round(x))


def clamp(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


def vector_scale(word: int) -> float:
    """A scale of 1 + 8 + 10 bits (6.1)."""
    exponent, fraction = word >> 23 & 0xFF, word >> 13 & 0x3FF
    if not exponent and not fraction:
        return 0.0
    return (-1.0) ** (word >> 31 & 1) * (1 + fraction / 1024) * 2.0 ** (exponent - 127)


UNQUANTISED = {("f32", "f32"), ("i32", "i32")}
VECTOR_ONLY_ON_A5 = {("f32", "f16"), ("f32", "bf16")}


def ignores_words(on: str, source: str, target: str, vector: bool) -> bool:
    """True if the tables select no quantisation (5.2, 5.3)."""
    if (source, target) in UNQUANTISED:
        return True
    if on == "a5":
        return target == "i16"
    return (source, target) == ("i32", "bf16") or (vector and (source, target) in VECTOR_ONLY_ON_A5)


def quantised(on: str, source: str, target: str, bits: int, word: int | None, vector: bool, relu: bool) -> int:
    """One accumulator element as it arrives (5, 6.2)."""
    x = value(source, bits)
    if word is None or ignores_words(on, source, target, vector):
        y: float = x
    elif target == "i16":
        y = clamp(int(x) >> (word >> 32 & 15) + 1, -32768, 32767)
    else:
        scale = vector_scale(word) if vector else value("f32", word & 0xFFFFFFFF)
        p = single(single(x) * scale)
        if target in ("i8", "u8"):
            low, high = (-128, 127) if word >> 46 & 1 else (0, 255)
            offset = word >> 37 & 0x1FF
            if on == "cpu":
                y = clamp(even(single(p + offset)), low, high)
            else:
                y = clamp(clamp(even(p), -256, 255) + offset, low, high)
        elif target == "f16" and (source == "i32" or not math.isinf(p)):
            y = clamp(p, -65504, 65504)
        else:
            y = p
    return code(target, y if y > 0 or not relu else 0)


# Paths ---------------------------------------------------------------------------------------------------------------


@dataclass
class Call:
    """One instruction; ``fp`` are words by column, ``at`` is the window's corner."""

    op: str
    on: str
    dst: ModelTile
    src: ModelTile
    relu: bool = False
    quant: int | None = None
    fp: list[int] | None = None
    at: tuple[int, int] = (0, 0)
    mode: str = ""
    tmp: bool = False
    grp_axis: int = 1


def predict(call: Call) -> Codes:
    """Elements of the destination that are defined after the call."""
    s, d = call.src, call.dst
    if s.loc == "acc":
        return _accumulator(call)
    if call.tmp:
        return _exponents(call)
    if call.on == "a5" and (s.loc, d.loc) == ("vec", "vec") and call.op == "TMOV":
        if (s.layout, d.layout) == ("ND", "Nz"):
            return _nd_to_nz(s, d)
        if (s.layout, d.layout) == ("ND", "Zn"):
            return _nd_to_zn(s, d)
    if call.on == "a5" and (s.loc, d.loc) == ("vec", "mat") and call.op != "TINSERT":
        return _vec_to_mat(call)
    rows, cols = _extent(call)
    (ir, ic), (jr, jc) = ((0, 0), call.at) if call.op == "TINSERT" else (call.at, (0, 0))
    line = call.on == "a5" and call.op == "TINSERT" and (s.loc, d.loc, d.layout) == ("vec", "mat", "ND")
    if line and not s.vc == s.cols == d.cols and s.vc * SIZES[s.dtype] < 32:
        return {jr * d.cols + jc + k: s.data[k] for k in range(rows * cols)}
    return {d.at(jr + r, jc + c): s.data[s.at(ir + r, ic + c)] for r in range(rows) for c in range(cols)}


def _extent(call: Call) -> tuple[int, int]:
    s, d = call.src, call.dst
    if call.op == "TINSERT":
        return s.vr, s.vc
    if call.op == "TEXTRACT" or (s.loc == "mat" and call.on != "cpu"):
        return d.vr, d.vc
    return min(s.vr, d.vr), min(s.vc, d.vc)


def _accumulator(call: Call) -> Codes:
    s, d = call.src, call.dst
    rows, cols = (d.vr, d.vc) if call.op == "TEXTRACT" else (s.vr, s.vc)
    (ir, ic), (jr, jc) = ((0, 0), call.at) if call.op == "TINSERT" else (call.at, (0, 0))
    if call.mode == "DualModeSplitM":
        rows = (rows + 1) // 2
    if call.mode == "DualModeSplitN":
        cols = (cols + 1) // 2
    block = 0
    if call.on == "a5" and d.layout == "Nz":
        block = {("f32", 512): 8, ("f32", 1024): 16}.get((d.dtype, d.fractal), 32 * d.fractal // 512 // SIZES[d.dtype])
    out = {}
    for r in range(rows):
        for c in range(cols):
            word = call.fp[ic + c] if call.fp is not None else call.quant
            got = quantised(
                call.on, s.dtype, d.dtype, s.data[s.at(ir + r, ic + c)], word, call.fp is not None, call.relu
            )
            y, x = jr + r, jc + c
            out[(x // block) * d.rows * block + y * block + x % block if block else d.at(y, x)] = got
    return out


def _nd_to_nz(s: ModelTile, d: ModelTile) -> Codes:
    pitch = -(-d.vr // 16) * 16
    return {
        (c // d.c0) * pitch * d.c0 + r * d.c0 + c % d.c0: s.data[r * s.cols + c]
        for r in range(s.vr)
        for c in range(d.vc)
    }


def _nd_to_zn(s: ModelTile, d: ModelTile) -> Codes:
    out, k0, n = {}, d.c0, d.vc // 16
    for k1 in range(d.vr // k0):
        for n1 in range(n):
            for j in range(16):
                for i in range(k0):
                    out[((k1 * n + n1) * 16 + j) * k0 + i] = s.data[(k1 * k0 + i) * d.vc + n1 * 16 + j]
    return out


def _exponents(call: Call) -> Codes:
    s, d, out = call.src, call.dst, {}
    if call.grp_axis == 0:
        for cb in range(s.vc // 16):
            for p in range(s.vr // 2):
                for q in range(16):
                    for e in range(2):
                        out[((cb * (s.vr // 2) + p) * 16 + q) * 2 + e] = s.data[(2 * p + e) * s.vc + 16 * cb + q]
        return out
    pairs = d.vc // 2
    for rb in range(-(-d.vr // 16)):
        for p in range(pairs):
            for i in range(16):
                for q in range(2):
                    r = 16 * rb + i
                    out[((rb * pairs + p) * 16 + i) * 2 + q] = s.data[r * d.vc + 2 * p + q] if r < d.vr else 0
    return out


def _vec_to_mat(call: Call) -> Codes:
    s, d = call.src, call.dst
    (row, col), size, out = call.at, SIZES[s.dtype], {}
    if s.layout == "ND":
        for k in range(d.vr * d.vc * size // 32 * 32 // size):
            out[k] = s.data[row * s.vc + col + k]
        return out
    burst = -(-d.vr // 16) * 16
    start = s.rows * s.c0 * (col // s.c0) + row * s.c0 + col % s.c0
    for b in range(-(-d.vc // s.c0)):
        for k in range(burst * s.c0):
            place = start + b * (burst + s.rows - d.rows) * s.c0 + k
            if 0 <= place < len(s.data):
                out[b * burst * s.c0 + k] = s.data[place]
    return out


def as_tile(spec: Any, data: list[int]) -> ModelTile:
    """The model of a tile type, static sizes."""
    return ModelTile(
        spec.loc.name.lower(),
        spec.dtype.name,
        spec.rows,
        spec.cols,
        spec.valid_row,
        spec.valid_col,
        spec.layout_name,
        spec.fractal,
        data,
    )
