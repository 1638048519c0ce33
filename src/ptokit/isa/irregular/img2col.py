"""TIMG2COL and the registers it reads: patches of a feature map as rows (compute-layout-irregular 1.7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ptokit.types.conv import ConvSpec, ConvState
from ptokit.types.enums import Layout, Pipe, SetFmatrixMode

from ..machine import Machine, TileOperand
from ..site import Site
from ..table import Access, Attr, Instr, dst, index, instruction, src
from .img2col_rules import REGISTER_RULES, RULES
from .places import kind

_MODE = Attr("fmatrix", SetFmatrixMode, SetFmatrixMode.FMATRIX_A_MANUAL, "fmatrix", "set_fmatrix_mode")
_AUTO = (SetFmatrixMode.FMATRIX_A_AUTO, SetFmatrixMode.FMATRIX_B_AUTO)


def _state(m: Machine, spec: ConvSpec, fmatrix: SetFmatrixMode) -> ConvState:
    """What the conversion reads: the tile's parameters, of which registers hold some in the manual modes."""
    if fmatrix in _AUTO:
        return spec.state
    held = [m.registers.get(name, {}) for name in PARTS]
    return replace(spec.state, **{key: value for values in held for key, value in values.items()})


PARTS = {
    "SETFMATRIX": ("fmap", "padding"),
    "SET_IMG2COL_PADDING": ("pad_value",),
    "SET_IMG2COL_RPT": ("repeat_stride", "repeat_time", "repeat_mode"),
}
"""Parameters of a convolution tile that each register operation sets."""


def _patches(
    m: Machine, dst: TileOperand, src: TileOperand, pos_m: int | None, pos_k: int | None, *, fmatrix: SetFmatrixMode
) -> None:
    spec = src.spec
    assert isinstance(spec, ConvSpec)
    state = _state(m, spec, fmatrix)
    d = spec.dims
    n_dim, depth, c1_dim, height, width, c0 = d if spec.layout is Layout.NDC1HWC0 else (d[0], 1, *d[1:])
    c0_dst = dst.spec.c0
    columns = dst.vc if m.target.name == "cpu" else min(-(-dst.vc // c0_dst) * c0_dst, dst.spec.cols)
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


_POSITIONS = tuple(replace(index(name, optional=True), agreed=True) for name in ("pos_m", "pos_k"))

TIMG2COL = instruction(
    Instr(
        "TIMG2COL",
        "timg2col",
        "Rows of dst are the patches of a feature map that the filter meets.",
        (dst(), src(), *_POSITIONS),
        (_MODE,),
        pipe=Pipe.MTE1,
        rules=RULES,
        run=_patches,
        footprint=_footprint,
        source="compute-layout-irregular 1.7",
    )
)


def _register(name: str, what: str) -> Instr:
    def run(m: Machine, config: TileOperand, *, fmatrix: SetFmatrixMode) -> None:
        if fmatrix not in _AUTO:
            assert isinstance(config.spec, ConvSpec)
            m.registers[name] = {part: getattr(config.spec.state, part) for part in PARTS[name]}

    return instruction(
        Instr(
            name,
            name.lower(),
            f"Set {what} of TIMG2COL from a convolution tile.",
            (src("config"),),
            (_MODE,),
            pipe=Pipe.S,
            rules=REGISTER_RULES,
            run=run,
            footprint=lambda o: iter(()),
            source="compute-layout-irregular 1.7",
        )
    )


SETFMATRIX = _register("SETFMATRIX", "feature map size and padding")
SET_IMG2COL_RPT = _register("SET_IMG2COL_RPT", "the repetition")
SET_IMG2COL_PADDING = _register("SET_IMG2COL_PADDING", "the padding value")
