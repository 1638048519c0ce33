"""TTRANS and TIMG2COL: transposition, and patches of a feature map as rows (compute-layout-irregular 1.1, 1.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from ptokit.diagnostics import Doubt, family
from ptokit.targets import A2A3, A5, Target
from ptokit.types.enums import Layout, Pipe, SetFmatrixMode
from ptokit.types.tensor import ConvSpec, ConvState
from ptokit.types.tile import DYNAMIC

from ..checks.compiling import DEVICES, Message
from ..checks.tiles import boxed_or_columns, differ, not_of, overlapping
from ..machine import Machine, TileOperand
from ..meaning.expressions import TURNED, Element, Extent
from ..meaning.moves import kind
from ..meaning.words import Keep, Move, Ordering, Python, Word
from ..operands import BF16, FIRST_SOURCE, I6, F, types_of
from ..scratch import of_transposes
from ..site import Site
from ..table import Access, Attr, Instr, TextForm, agreed, dst, index, instruction, src, tmp
from .text_rules import TRANS_AS_01

# Rules of TTRANS (compute-layout-irregular 1.1).


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


TRANS_A5_01 = _rule(
    "TRANS-A5-01", "TTRANS(Tile(Vec, f32, 64, {16|4}), Tile(Vec, f32, {16|4}, 64))", evidence="static_assert"
)(
    "Rows of source and destination are multiples of 32 bytes on a5.",
    "t.cols * t.dtype.bits % 256 == 0 for t in (src, dst) if conv(o) is None",
    "{t} has rows of {t.cols * t.dtype.bits // 8} bytes; a5 needs a multiple of 32",
)


@_rule(
    "TRANS-CONV-03",
    """
        a = ConvTile(Vec, f16, None, Layout.NC1HWC0, (1, 2, 4, 8, 16))
        b = ConvTile(Vec, f16, None, Layout.NCHW, (1, 32, 4, 8))
        TTRANS({a, b|b, a}, ConvTile(Vec, f16, None, Layout.NC1HWC0, (1, 2, 4, 8, 16)))
    """,
    evidence="device",
)
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


@_rule(
    "TRANS-CONV-01",
    """
        TTRANS(ConvTile(Vec, f16, None, Layout.NC1HWC0, (1, {2|1}, 4, 8, 16)), ConvTile(Vec, f16, None, Layout.NCHW,
            (1, 32, 4, 8)), ConvTile(Vec, f16, None, Layout.NC1HWC0, (1, 2, 4, 8, 16)))
    """,
    evidence="static_assert assertion",
)
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
        return Doubt(f"H*W of {plain} is {prod(plain.dims[-2:]) * plain.dtype.size} bytes, no multiple of 32")
    return None


def _merged(dims: tuple[int, ...]) -> tuple[int, ...]:
    """FRACTAL_Z of five dimensions, C1 H W N C0, as four."""
    return (prod(dims[:3]), dims[3] // 16, 16, dims[4]) if len(dims) == 5 else dims


def _wanted(s: ConvSpec, d: ConvSpec) -> tuple[tuple[int, ...]] | None:
    """The dimensions dst must have; None if the number of dimensions is not that of the layout."""
    pair, dims = (s.layout, d.layout), s.dims
    inner = 16 if len(d.dims) != 4 else d.dims[-2]
    try:
        if pair in _CHANNELS:
            *group, n, c, h, w = dims
            return ((*group, n, -(-c // d.dims[-1]), h, w, d.dims[-1]),)
        if pair in _BACK:
            *group, n, c1, h, w, c0 = dims
            return ((*group, n, min(d.dims[-3], c1 * c0), h, w),)
        if pair in _FRACTAL_Z:
            *group, n, c1, h, w, c0 = dims
            return ((prod(group) * c1 * h * w, -(-n // inner), inner, c0),)
        n, c, depth, h, w = dims
        c0 = d.dims[-1]
        return ((depth * -(-c // c0) * h * w, -(-n // inner), inner, c0),)
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
        "dst, src and tmp do not overlap; the library of a5 does not look at tmp.",
        lambda o: overlapping(o, "dst", "src") if o.target.is_a(A5) else overlapping(o),
    ),
    TRANS_A5_01,
    TRANS_CONV_01,
    _rule(
        "TRANS-CONV-02",
        """
            TTRANS(ConvTile(Vec, f16, None, Layout.NC1HWC0, (1, 2, {4, 8|64, 32}, 16)), ConvTile(Vec, f16, None,
                Layout.NCHW, (1, 32, {4, 8|64, 32})), ConvTile(Vec, f16, None, Layout.NC1HWC0, (1, 2, {4, 8|64, 32},
                16)))
        """,
        targets=("a2a3",),
        evidence="device assertion",
    )(
        "A conversion on a2a3 takes at most 192 KiB for its tiles together.",
        "total = src.spec.nbytes + dst.spec.nbytes + (tmp.spec.nbytes if tmp is not None else 0)",
        "total <= target.capacity[Vec] if conv(o) is not None",
        "{src}, {dst} and {tmp} take {total} bytes together; there are {target.capacity[Vec]}",
    ),
    TRANS_CONV_03,
)


# TTRANS: transposition of a tile, and reordering of convolution tiles (compute-layout-irregular 1.1).


def _meaning(o: Site) -> Word:
    if isinstance(o.src.spec, ConvSpec):
        return Python(_reorder)
    return Move(Element("src", TURNED), Extent("src", "vc"), Extent("src", "vr"))


def _reorder(m: Machine, dst: TileOperand, src: TileOperand, tmp: Any = None) -> None:
    """A convolution tile in another layout: the same elements, zeros where channels or N are padded."""
    d, s = dst.spec, src.spec
    assert isinstance(d, ConvSpec)
    assert isinstance(s, ConvSpec)
    dims, c0 = s.dims, d.dims[-1]
    if m.target.is_device and s.layout is Layout.GNC1HWC0 and d.layout is Layout.FRACTAL_Z:
        dims = (dims[0], -(-dims[1] // d.dims[-2]) * d.dims[-2], *dims[2:])  # groups are as far apart as in dst
    count = int(np.prod(dims))
    x = src.read(1, min(count, s.cols))
    x = np.pad(x, [(0, 0), (0, 0), (0, count - x.shape[2])]).reshape(len(x), *dims)[:, :, : s.dims[1]]
    if s.layout in (Layout.NCHW, Layout.GNCHW):
        x = np.moveaxis(_split(x, -3, c0), -3, -1)
    elif s.layout is Layout.NCDHW:  # N C D H W -> D C1 H W N C0
        x = _split(x, -4, c0).transpose(0, 4, 2, 5, 6, 1, 3)
        x = _split(x, -2, d.dims[-2])
    elif d.layout in (Layout.NCHW, Layout.GNCHW):  # C1 and C0 become C again
        x = np.moveaxis(x, -1, -3)
        x = x.reshape(*x.shape[:-4], -1, *x.shape[-2:])[..., : d.dims[-3], :, :]
    else:  # to FRACTAL_Z: N moves after W and is split
        x = _split(np.moveaxis(x, -5, -2), -2, d.dims[-2])
    x = np.ascontiguousarray(x).reshape(len(x), 1, -1)
    dst.write(x, *x.shape[1:])


def _split(x: np.ndarray, axis: int, inner: int) -> np.ndarray:
    """One axis, counted from the end, as two: groups of `inner`, the last one filled with zeros."""
    axis += x.ndim
    missing = -x.shape[axis] % inner
    if missing:
        x = np.pad(x, [(0, missing if k == axis else 0) for k in range(x.ndim)])
    return x.reshape(*x.shape[:axis], -1, inner, *x.shape[axis + 1 :])


TTRANS = instruction(
    Instr(
        "TTRANS",
        "ttrans",
        "dst[c,r] = src[r,c]; of convolution tiles: the elements in the order of dst's layout.",
        (dst(), src(), tmp(optional=True, like=FIRST_SOURCE, needed=of_transposes)),
        rules=(*RULES, TRANS_AS_01),
        meaning=_meaning,
        source="compute-layout-irregular 1.1",
        cpp="TTRANS(dst, src, tmp)",
    )
)


# Rules of TIMG2COL and the operations that set its registers (compute-layout-irregular 1.7).


_rule = family("compute-layout-irregular 1.7")

_PATCHES = """
    image = ConvTile(Mat, f16, None, Layout.NC1HWC0, (1, 2, 5, 8, 16))
    TIMG2COL(Tile(Left, f16, 16, 32, {ColMajor|RowMajor}, slayout=SLayout.RowMajor), image)
"""


@_rule("IMG-COM-04", evidence="device", unrun="programs cannot state filters yet, only cases of vectors do")
def IMG_COM_04(o: Site) -> Message:
    """The filter fits the feature map with its padding; strides and dilations are positive."""
    s = o.src.spec
    if not isinstance(s, ConvSpec) or len(s.dims) < 5:
        return None
    state = s.state
    if min(*state.filter, *state.stride, *state.dilation) < 1 or min(state.padding) < 0:
        return "filter, stride and dilation are at least 1, padding at least 0"
    h, w = state.fmap if state.fmap != (0, 0) and o.target.is_device else s.dims[-3:-1]
    left, right, top, bottom = state.padding
    high = h + top + bottom < state.dilation[0] * (state.filter[0] - 1) + 1
    wide = w + left + right < state.dilation[1] * (state.filter[1] - 1) + 1
    return f"the filter does not fit the {h}x{w} feature map with its padding" if high or wide else None


def not_described(state: ConvState) -> str | None:
    """Message if the parameters ask for what no public source describes."""
    if state.repeat_time > 1 or state.repeat_mode or state.transpose:
        return "repetition and transposition of TIMG2COL are not described by any public source"
    return None


def _dst(o: Site, layout: str) -> Message:
    return f"{o:dst} is {o.dst.layout_name}, it must be {layout}" if o.dst.layout_name != layout else None


IMG2COL_RULES = (
    _rule(
        "IMG-COM-01",
        """
            TIMG2COL(Tile(Left, f16, 16, 32, ColMajor, slayout=SLayout.RowMajor), {ConvTile(Mat, f16, None,
                Layout.NC1HWC0, (1, 2, 5, 8, 16))|Tile(Mat, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor)})
        """,
        evidence="static_assert",
    )(
        "TIMG2COL reads NC1HWC0 or NDC1HWC0 tiles in L1 and fills a left tile of their type.",
        "isinstance(src.spec, ConvSpec) and src.spec.loc is Mat",
        "{src} is a {src.loc.text} tile; TIMG2COL reads convolution tiles in L1",
        "wanted = {Layout.NC1HWC0: 5, Layout.NDC1HWC0: 6}.get(src.spec.layout)",
        "wanted is not None and len(src.spec.dims) == wanted and (DYNAMIC not in src.spec.dims)",
        "{src} is {src.spec}; it must be NC1HWC0 or NDC1HWC0 with known sizes",
        "dst.loc is Left",
        "{dst} is a {dst.loc.text} tile; TIMG2COL fills left tiles",
        lambda o: differ(o, "src", "dst"),
    ),
    _rule("IMG-COM-03", evidence="ptokit", unrun="programs cannot state filters yet, only cases of vectors do")(
        "There is no repetition and no transposition.",
        lambda o: not_described(o.src.spec.state) if isinstance(o.src.spec, ConvSpec) else None,
    ),
    IMG_COM_04,
    _rule(
        "IMG-A23-01",
        _PATCHES.replace("ColMajor|RowMajor", "RowMajor|ColMajor"),
        evidence="static_assert",
    )(
        "On a2a3 dst is Zz, of i8, f16, bf16 or f32.",
        lambda o: _dst(o, "Zz"),
        lambda o: not_of(o, types_of("i8") | F | BF16, "dst"),
    ),
    _rule(
        "IMG-A5-01",
        _PATCHES,
        evidence="static_assert",
    )(
        "On a5 dst is Nz, of integers of up to 32 bits, f16, bf16 or f32.",
        lambda o: _dst(o, "Nz"),
        lambda o: not_of(o, I6 | F | BF16, "dst"),
    ),
    _rule(
        "IMG-CPU-01",
        _PATCHES,
        evidence="static_assert",
    )(
        "On cpu dst is Nz.",
        lambda o: _dst(o, "Nz"),
    ),
)


REGISTER_RULES = (
    _rule(
        "IMG-COM-02",
        """
            SETFMATRIX({ConvTile(Mat, f16, None, Layout.NC1HWC0, (1, 2, 5, 8, 16))|Tile(Mat, f16, 16, 16, ColMajor,
                slayout=SLayout.RowMajor)})
        """,
        evidence="device",
    )(
        """Registers of TIMG2COL are set from a convolution tile.

        Decision: Without an earlier set of a register, TIMG2COL in a manual mode takes the tile's own parameters.
        """,
        "isinstance(config.spec, ConvSpec)",
        "{config} is no convolution tile",
    ),
)


# TIMG2COL and the registers it reads: patches of a feature map as rows (compute-layout-irregular 1.7).


_MODE = Attr("fmatrix", SetFmatrixMode, SetFmatrixMode.FMATRIX_A_MANUAL, "fmatrix", "set_fmatrix_mode")
_AUTO = (SetFmatrixMode.FMATRIX_A_AUTO, SetFmatrixMode.FMATRIX_B_AUTO)
_B = (SetFmatrixMode.FMATRIX_B_AUTO, SetFmatrixMode.FMATRIX_B_MANUAL)

PARTS = {
    "SETFMATRIX": ("fmap", "padding"),
    "SET_IMG2COL_PADDING": ("pad_value",),
    "SET_IMG2COL_RPT": ("repeat_time", "repeat_mode"),
}
"""Parameters of a convolution tile that each register operation sets."""


def _register(target: Target, name: str, fmatrix: SetFmatrixMode) -> str:
    """The register of a mode: a2a3 has one for A and B, but for the feature map."""
    shared = target.is_a(A2A3) and name != "SETFMATRIX"
    return f"{name} B" if fmatrix in _B and not shared else name


def _parts(name: str, state: ConvState) -> tuple[Any, ...]:
    """What a register holds."""
    return tuple(getattr(state, part) for part in PARTS[name])


def _state(m: Machine, spec: ConvSpec, fmatrix: SetFmatrixMode) -> ConvState:
    """What the conversion reads: the tile's parameters; on the devices registers hold some of them.

    In the automatic modes the instruction sets the registers itself. On cpu the feature map is the tile.
    """
    if not m.target.is_device:
        return replace(spec.state, fmap=(0, 0))
    if fmatrix in _AUTO:
        for name in PARTS:
            m.registers[_register(m.target, name, fmatrix)] = _parts(name, spec.state)
        return spec.state
    given: dict[str, Any] = {}
    for name, parts in PARTS.items():
        given |= zip(parts, m.registers.get(_register(m.target, name, fmatrix), ()))
    state = replace(spec.state, **given)
    if (message := not_described(state)) is not None:
        m.refuse("IMG-COM-03", message)
    return state


def _patches(
    m: Machine, dst: TileOperand, src: TileOperand, pos_m: int | None, pos_k: int | None, *, fmatrix: SetFmatrixMode
) -> None:
    spec = src.spec
    assert isinstance(spec, ConvSpec)
    state = _state(m, spec, fmatrix)
    d = spec.dims
    n_dim, depth, c1_dim, height, width, c0 = d if spec.layout is Layout.NDC1HWC0 else (d[0], 1, *d[1:])
    c0_dst = dst.spec.c0
    columns = dst.vc if not m.target.is_device else min(-(-dst.vc // c0_dst) * c0_dst, dst.spec.cols)
    left, right, top, bottom = state.padding
    kh_dim, kw_dim = state.filter
    h, w = state.fmap if state.fmap != (0, 0) else (height, width)
    oh_dim = (h + top + bottom - state.dilation[0] * (kh_dim - 1) - 1) // state.stride[0] + 1
    ow_dim = (w + left + right - state.dilation[1] * (kw_dim - 1) - 1) // state.stride[1] + 1
    row = ((pos_m or 0) + np.arange(dst.vr))[:, None]
    col = ((pos_k or 0) + np.arange(columns))[None, :]
    n, q = np.divmod(row, depth * oh_dim * ow_dim)
    deep, q = np.divmod(q, oh_dim * ow_dim)
    oh, ow = np.divmod(q, ow_dim)
    c1, rest = np.divmod(col, c0 * kh_dim * kw_dim)
    tap, ch = np.divmod(rest, c0)
    kh, kw = np.divmod(tap, kw_dim)
    ih = oh * state.stride[0] + kh * state.dilation[0] - top
    iw = ow * state.stride[1] + kw * state.dilation[1] - left
    inside = (n < n_dim) & (c1 < c1_dim) & (ih >= 0) & (ih < h) & (iw >= 0) & (iw < w)
    inside &= (ih < height) & (iw < width)
    at = ((((n * depth + deep) * c1_dim + c1) * height + ih) * width + iw) * c0 + ch
    values = src.read(1, int(np.prod(d)))[:, 0]
    unit = np.array(state.pad_value & ((1 << 8 * dst.spec.dtype.size) - 1), dst.spec.dtype.storage).view(kind(dst))
    dst.write(np.where(inside, values[:, np.where(inside, at, 0)], unit), dst.vr, columns)


def _footprint(o: Site) -> Iterator[Access]:
    yield Access("src", False, 1, o.src.vc)
    yield Access("dst", True, o.dst.vr, o.dst.vc)


_POSITIONS = tuple(agreed(index(name, optional=True)) for name in ("pos_m", "pos_k"))

TIMG2COL = instruction(
    Instr(
        "TIMG2COL",
        "timg2col",
        "Rows of dst are the patches of a feature map that the filter meets.",
        (dst(), src(), *_POSITIONS),
        (_MODE,),
        pipe=Pipe.MTE1,
        rules=IMG2COL_RULES,
        run=_patches,
        footprint=_footprint,
        source="compute-layout-irregular 1.7",
        cpp="TIMG2COL<^dst, ^src, fmatrix?>(dst, src, pos_m?, pos_k?)",
    )
)


def _register_operation(name: str, what: str, **more: Any) -> Instr:
    def meaning(o: Site) -> Word:
        if o.fmatrix in _AUTO:  # then TIMG2COL does it itself
            return Ordering()
        return Keep(_register(o.target, name, o.fmatrix), _parts(name, o.config.spec.state))

    return instruction(
        Instr(
            name,
            name.lower(),
            f"Set {what} of TIMG2COL from a convolution tile.",
            (src("config"),),
            (_MODE,),
            pipe=Pipe.S,
            rules=REGISTER_RULES,
            meaning=meaning,
            footprint=lambda o: iter(()),
            source="compute-layout-irregular 1.7",
            cpp=f"{name}<^config, fmatrix?>(config)",
            **more,
        )
    )


SETFMATRIX = _register_operation("SETFMATRIX", "feature map size and padding", form=TextForm(spellings=("SETFMATRIX",)))
SET_IMG2COL_RPT = _register_operation("SET_IMG2COL_RPT", "the repetition")
SET_IMG2COL_PADDING = _register_operation("SET_IMG2COL_PADDING", "the padding value")
