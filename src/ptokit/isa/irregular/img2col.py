"""TIMG2COL and the registers it reads: patches of a feature map as rows (compute-layout-irregular 1.7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.targets import A2A3, Target
from ptokit.types.conv import ConvSpec, ConvState
from ptokit.types.enums import Layout, Pipe, SetFmatrixMode

from ..element_positions import kind
from ..machine import Machine, TileOperand
from ..meaning.words import Keep, Ordering, Word
from ..site import Site
from ..table import Access, Attr, Instr, TextForm, agreed, dst, index, instruction, src
from .img2col_rules import REGISTER_RULES, RULES, not_described

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
    """What the conversion reads: the tile's parameters, of which registers hold some on the devices.

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
        rules=RULES,
        run=_patches,
        footprint=_footprint,
        source="compute-layout-irregular 1.7",
    )
)


def _register_operation(name: str, what: str, **more: Any) -> Instr:
    def meaning(o: Site) -> Word:
        """In the automatic modes TIMG2COL does it itself."""
        if o.fmatrix in _AUTO:
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
            **more,
        )
    )


SETFMATRIX = _register_operation("SETFMATRIX", "feature map size and padding", form=TextForm(spellings=("SETFMATRIX",)))
SET_IMG2COL_RPT = _register_operation("SET_IMG2COL_RPT", "the repetition")
SET_IMG2COL_PADDING = _register_operation("SET_IMG2COL_PADDING", "the padding value")
