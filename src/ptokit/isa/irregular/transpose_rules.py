"""Rules of TTRANS (compute-layout-irregular 1.1)."""

from __future__ import annotations

from math import prod

from ptokit.diagnostics import family
from ptokit.targets import A5
from ptokit.types.conv import ConvSpec
from ptokit.types.enums import Layout
from ptokit.types.tile import DYNAMIC

from ..checks.operands import DEVICES, Message
from ..checks.tiles import boxed_or_columns, not_of, overlapping
from ..site import Site
from ..typesets import BF16, I6, F

_rule = family("compute-layout-irregular 1.1")
_L = Layout
_CHANNELS = {(_L.NCHW, _L.NC1HWC0), (_L.GNCHW, _L.GNC1HWC0)}
_BACK = {(b, a) for a, b in _CHANNELS}
_FRACTAL_Z = {(_L.NC1HWC0, _L.FRACTAL_Z), (_L.GNC1HWC0, _L.FRACTAL_Z)}
_3D = {(_L.NCDHW, _L.FRACTAL_Z_3D)}
PAIRS = {
    "cpu": _CHANNELS | _FRACTAL_Z | _3D | {(_L.NC1HWC0, _L.NCHW)},
    "a2a3": _CHANNELS | _BACK | _FRACTAL_Z | _3D,
    "a5": _CHANNELS | _FRACTAL_Z,
}
"""Conversions of convolution tiles by target: (source layout, destination layout)."""


def conv(o: Site) -> tuple[ConvSpec, ConvSpec] | None:
    """Types of source and destination, if both are convolution tiles."""
    s, d = o.src.spec, o.dst.spec
    return (s, d) if isinstance(s, ConvSpec) and isinstance(d, ConvSpec) else None


@_rule("TRANS-COM-04", "TTRANS(Tile(Vec, f32, {64, 16|16, 64}), Tile(Vec, f32, 16, 64))", evidence="device", on="cpu")
def TRANS_COM_04(o: Site) -> Message:
    """dst holds the transposed valid region of the source."""
    if isinstance(o.src.spec, ConvSpec) or isinstance(o.dst.spec, ConvSpec):
        return None
    s, d = o.src, o.dst
    if d.vr < s.vc or d.vc < s.vr or s.vc > d.rows or s.vr > d.cols:
        return f"{o:src} is valid in {s.vr}x{s.vc}, {o:dst} in {d.vr}x{d.vc}; it must hold {s.vc}x{s.vr}"
    return None


@_rule("TRANS-A5-01", "TTRANS(Tile(Vec, f32, 64, {16|4}), Tile(Vec, f32, {16|4}, 64))", evidence="static_assert")
def TRANS_A5_01(o: Site) -> Message:
    """Rows of source and destination are multiples of 32 bytes on a5."""
    if conv(o) is not None:
        return None
    for name in ("src", "dst"):
        t = o.operands[name]
        bits = t.cols * t.dtype.bits  # type: ignore[union-attr]
        if bits % 256:
            return f"{o:{name}} has rows of {bits // 8} bytes; a5 needs a multiple of 32"
    return None


@_rule("TRANS-CONV-03", "NCHW into NC1HWC0", "NC1HWC0 into NCHW on a5")
def TRANS_CONV_03(o: Site) -> Message:
    """The target has the conversion."""
    found = conv(o)
    if found is None:
        mixed = isinstance(o.src.spec, ConvSpec) or isinstance(o.dst.spec, ConvSpec)
        return "a convolution tile is transposed into a convolution tile" if mixed else None
    s, d = found
    if (s.layout, d.layout) in o.target.entry(PAIRS):
        return None
    return f"{o.target.name} has no conversion of {s.layout.name} into {d.layout.name}"


@_rule("TRANS-CONV-01", "1x32x4x8 NCHW into 1x2x4x8x16", "1x32x4x8 NCHW into 1x1x4x8x16")
def TRANS_CONV_01(o: Site) -> Message:
    """The dimensions of a converted tile follow from those of its source."""
    found = conv(o)
    if found is None or DYNAMIC in (*found[0].dims, *found[1].dims):
        return None
    s, d = found
    wanted = _wanted(s, d)
    if wanted is not None and (d.dims != wanted[0] and _merged(d.dims) != wanted[0]):
        return f"{o:src} is {s}, so {o:dst} is {'x'.join(map(str, wanted[0]))}, not {'x'.join(map(str, d.dims))}"
    plain = next((t for t in (s, d) if t.layout in (_L.NCHW, _L.GNCHW)), None)
    if o.target.is_device and plain is not None and prod(plain.dims[-2:]) * plain.dtype.size % 32:
        return f"H*W of {plain} is {prod(plain.dims[-2:]) * plain.dtype.size} bytes; it must be a multiple of 32"
    return None


def _merged(dims: tuple[int, ...]) -> tuple[int, ...]:
    """FRACTAL_Z of five dimensions, C1 H W N C0, as four."""
    return (prod(dims[:3]), dims[3] // 16, 16, dims[4]) if len(dims) == 5 else dims


def _wanted(s: ConvSpec, d: ConvSpec) -> tuple[tuple[int, ...]] | None:
    """The dimensions dst must have; None if the number of dimensions is not that of the layout."""
    pair, dims = (s.layout, d.layout), s.dims
    try:
        if pair in _CHANNELS:
            *group, n, c, h, w = dims
            return ((*group, n, -(-c // d.dims[-1]), h, w, d.dims[-1]),)
        if pair in _BACK:
            *group, n, c1, h, w, c0 = dims
            return ((*group, n, min(d.dims[-3], c1 * c0), h, w),)
        if pair in _FRACTAL_Z:
            *group, n, c1, h, w, c0 = dims
            return ((prod(group) * c1 * h * w, -(-n // 16), 16, c0),)
        n, c, depth, h, w = dims
        c0 = d.dims[-1]
        return ((depth * -(-c // c0) * h * w, -(-n // 16), 16, c0),)
    except (ValueError, IndexError):
        return None


RULES = (
    _rule("TRANS-COM-01", "TTRANS(Tile(Vec, {f32|f16}, 64, 16), Tile(Vec, f32, 16, 64))", evidence="static_assert")(
        "Source and destination have elements of one size: 1, 2 or 4 bytes.",
        "src.dtype.bits == dst.dtype.bits",
        "{src} has {src.dtype.bits}-bit elements, {dst} {dst.dtype.bits}-bit ones",
        "src.dtype.size in (1, 2, 4) and (not src.dtype.packed or (conv(o) is not None and (not target.is_device)))",
        "TTRANS moves elements of 1, 2 or 4 bytes, not {src.dtype}",
    ),
    _rule(
        "TRANS-COM-02",
        "TTRANS(Tile(Vec, f32, 64, 16), Tile(Vec, f32, 16, 64{|, ColMajor}))",
        targets=DEVICES,
        evidence="static_assert",
        on="a2a3",
    )(
        "The source is row-major without boxes.",
        lambda o: boxed_or_columns(o, "src"),
    ),
    _rule(
        "TRANS-COM-03",
        "TTRANS(Tile(Vec, {f32|e4m3}, 64, {16|32}), Tile(Vec, {f32|e4m3}, {16|32}, 64))",
        evidence="static_assert",
        on="cpu",
    )(
        "Elements are 8-, 16- or 32-bit integers, f16, bf16 or f32; devices move all of these sizes.",
        lambda o: not_of(o, I6 | F | BF16, "src", "dst") if (conv(o) is None) != o.target.is_device else None,
    ),
    TRANS_COM_04,
    _rule(
        "TRANS-COM-05",
        "TTRANS(Tile(Vec, f32, 64, 16, addr=0), Tile(Vec, f32, 16, 64, addr={4096|4064}))",
        evidence="device",
        on="a2a3",
    )(
        """dst, src and tmp do not overlap.

        The library of a5 does not look at tmp.
        """,
        lambda o: overlapping(o, "dst", "src") if o.target.is_a(A5) else overlapping(o),
    ),
    TRANS_A5_01,
    TRANS_CONV_01,
    _rule("TRANS-CONV-02", "three tiles of 32 KiB", "three tiles of 80 KiB", targets=("a2a3",))(
        "A conversion on a2a3 takes at most 192 KiB for its tiles together.",
        "total = src.spec.nbytes + dst.spec.nbytes + (tmp.spec.nbytes if tmp is not None else 0)",
        "total <= target.capacity[Vec] if conv(o) is not None",
        "{src}, {dst} and {tmp} take {total} bytes together; there are {target.capacity[Vec]}",
    ),
    TRANS_CONV_03,
)
