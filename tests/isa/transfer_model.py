"""A slow model of loads and stores, element by element, written from the address formulas of the specification.

Memory and tiles are lists of element codes (integers), so that bits are moved and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from ptokit.types.enums import Layout, TileType
from ptokit.types.tile import CUSTOM_PAD, TileSpec

UNDEFINED = None  # an element that the specification leaves open
Codes = list[int | None]


@dataclass(frozen=True)
class Tensor:
    """A view whose first element is element 0 of its memory."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    layout: Layout

    @property
    def reach(self) -> int:
        """Elements up to and including the last one."""
        return 1 + sum((g - 1) * t for g, t in zip(self.shape, self.stride))


def inner(spec: TileSpec) -> tuple[int, int]:
    """Box sizes: 16 x 32 bytes, 16 x 16, or 16 x 2 (types-and-layouts 3)."""
    c0 = {4: 64, 8: 32, 16: 16, 32: 8, 64: 4}[spec.dtype.bits]
    ic = {512: c0, 1024: 16, 32: 2}[spec.fractal]
    return (16, ic) if spec.slayout.name == "RowMajor" else (ic, 16)


def tile_offset(spec: TileSpec, r: int, c: int) -> int:
    """Element offset in the tile (types-and-layouts 6)."""
    R, C = spec.rows, spec.cols
    name = spec.layout_name
    if name == "ND":
        return r * C + c
    if name == "DN":
        return c * R + r
    IR, IC = inner(spec)
    br, ir, bc, ic = r // IR, r % IR, c // IC, c % IC
    return {
        "Nz": bc * R * IC + br * IR * IC + ir * IC + ic,
        "Zn": br * C * IR + bc * IR * IC + ic * IR + ir,
        "Zz": br * C * IR + bc * IR * IC + ir * IC + ic,
        "Nn": bc * R * IC + br * IR * IC + ic * IR + ir,
    }[name]


def memory_offset(g: Tensor, r: int, c: int) -> int:
    """Element offset in global memory (types-and-layouts 9.1)."""
    s0, s1, s2, s3, s4 = g.shape
    del s0
    indices = {
        Layout.ND: lambda: (r // (s1 * s2 * s3), r // (s2 * s3) % s1, r // s3 % s2, r % s3, c),
        Layout.DN: lambda: (c // (s1 * s2 * s4), c // (s2 * s4) % s1, c // s4 % s2, r, c % s4),
        Layout.NZ: lambda: (c // s4 // s1, c // s4 % s1, r // s3, r % s3, c % s4),
        Layout.NC1HWC0: lambda: (r // (s2 * s3), c // s4, r // s3 % s2, r % s3, c % s4),
        Layout.MX_A_ZZ: lambda: (0, r // 16, c // 2, r % 16, c % 2),
        Layout.MX_B_NN: lambda: (0, c // 16, r // 2, c % 16, r % 2),
        Layout.MX_A_ND: lambda: (0, 0, r, c // 2, c % 2),
        Layout.MX_A_DN: lambda: (0, 0, c // 2, r, c % 2),
        Layout.MX_B_ND: lambda: (0, 0, r // 2, c, r % 2),
        Layout.MX_B_DN: lambda: (0, 0, c, r // 2, r % 2),
    }[g.layout]()
    return sum(i * t for i, t in zip(indices, g.stride))


LIMITS = {  # Min, Max
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


def pad_code(spec: TileSpec, offset: int) -> int:
    """The pad value of one element; of 4-bit elements, by its place in the byte (types-and-layouts 4)."""
    width, pad = spec.dtype.bits, spec.pad
    if pad >= CUSTOM_PAD:
        bits = pad - CUSTOM_PAD
        if width == 64:
            return bits * 0x1_0000_0001
        if width == 4:
            return bits >> (4 * (offset % 2)) & 0xF
        return bits % (1 << width)
    low, high = LIMITS.get(spec.dtype.name, (0, 0))
    return {2: high, 3: low}.get(pad, 0)


def load(target: str, spec: TileSpec, vr: int, vc: int, old: Codes, g: Tensor, memory: list[int]) -> Codes:
    """The tile after TLOAD (load-store 2, 3.6)."""
    out = list(old)
    at = {(r, c): tile_offset(spec, r, c) for r in range(spec.rows) for c in range(spec.cols)}
    c0 = {4: 64, 8: 32, 16: 16, 32: 8, 64: 4}[spec.dtype.bits]

    def tail(n: int, unit: int) -> int:
        return (n + unit - 1) // unit * unit

    def put(r: int, c: int, code: int | None) -> None:
        if r < spec.rows and c < spec.cols:
            out[at[r, c]] = code

    mat, name = spec.loc is TileType.Mat, spec.layout_name
    if target == "cpu":
        for (_, _), o in at.items():
            out[o] = pad_code(spec, o)
    elif g.layout is not Layout.NZ:
        if name in ("ND", "DN"):
            across = name == "ND"
            n, lines = (vc, vr) if across else (vr, vc)
            for i in range(lines):
                for j in range(n, tail(n, c0)):
                    r, c = (i, j) if across else (j, i)
                    if (r, c) not in at:
                        continue
                    if mat:
                        put(r, c, 0 if target == "a2a3" else pad_code(spec, at[r, c]))
                    else:
                        put(r, c, pad_code(spec, at[r, c]) if spec.pad else UNDEFINED)
        elif spec.fractal == 32:
            for c in range(vc):
                for r in range(vr, tail(vr, 16) if name == "Zz" else vr):
                    put(r, c, 0)
            for r in range(vr):
                for c in range(vc, tail(vc, 16) if name == "Nn" else vc):
                    put(r, c, 0)
        elif name == "Nz":
            for r in range(vr):
                for c in range(vc, tail(vc, c0)):
                    put(r, c, 0)
        else:
            for c in range(vc):
                for r in range(vr, tail(vr, c0)):
                    put(r, c, 0)
    for r in range(vr):
        for c in range(vc):
            put(r, c, memory[memory_offset(g, r, c)])
    return out


def store(spec: TileSpec, vr: int, vc: int, codes: Codes, g: Tensor, memory: list[int]) -> list[int]:
    """Memory after a store that only moves bits."""
    out = list(memory)
    for r in range(vr):
        for c in range(vc):
            code = codes[tile_offset(spec, r, c)]
            assert code is not None
            out[memory_offset(g, r, c)] = code
    return out
