"""Rules of TIMG2COL and the operations that set its registers (compute-layout-irregular 1.7)."""

from __future__ import annotations

from ptokit.diagnostics import family
from ptokit.types.conv import ConvSpec, ConvState
from ptokit.types.enums import Layout, TileType
from ptokit.types.tile import DYNAMIC

from ..checks.operands import Message
from ..checks.tiles import differ, not_of
from ..site import Site
from ..typesets import BF16, I6, F, types_of

_rule = family("compute-layout-irregular 1.7")


@_rule("IMG-COM-01", "a Mat NC1HWC0 tile into a left tile", "a Mat Nz tile")
def IMG_COM_01(o: Site) -> Message:
    """TIMG2COL reads NC1HWC0 or NDC1HWC0 tiles in L1 and fills a left tile of their type."""
    s = o.src.spec
    if not isinstance(s, ConvSpec) or s.loc is not TileType.Mat:
        return f"{o:src} is a {o.src.loc.text} tile; TIMG2COL reads convolution tiles in L1"
    wanted = {Layout.NC1HWC0: 5, Layout.NDC1HWC0: 6}.get(s.layout)
    if wanted is None or len(s.dims) != wanted or DYNAMIC in s.dims:
        return f"{o:src} is {s}; it must be NC1HWC0 or NDC1HWC0 with known sizes"
    if o.dst.loc is not TileType.Left:
        return f"{o:dst} is a {o.dst.loc.text} tile; TIMG2COL fills left tiles"
    return differ(o, "src", "dst")


@_rule("IMG-COM-04", "3x3 in 5x8", "9x9 in 5x8 without padding")
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


def not_described(state: ConvState) -> Message:
    """Message if the parameters ask for what no public source describes."""
    if state.repeat_time > 1 or state.repeat_mode or state.transpose:
        return "repetition and transposition of TIMG2COL are not described by any public source"
    return None


def _dst(o: Site, layout: str) -> Message:
    return f"{o:dst} is {o.dst.layout_name}, it must be {layout}" if o.dst.layout_name != layout else None


@_rule("IMG-COM-03", "repeat_time 1", "transpose")
def IMG_COM_03(o: Site) -> Message:
    """There is no repetition and no transposition."""
    return not_described(o.src.spec.state) if isinstance(o.src.spec, ConvSpec) else None


@_rule("IMG-A23-01", "Zz f16", "Nz f16")
def IMG_A23_01(o: Site) -> Message:
    """On a2a3 dst is Zz, of i8, f16, bf16 or f32."""
    return _dst(o, "Zz") or not_of(o, types_of("i8") | F | BF16, "dst")


@_rule("IMG-A5-01", "Nz f16", "Zz f16")
def IMG_A5_01(o: Site) -> Message:
    """On a5 dst is Nz, of integers of up to 32 bits, f16, bf16 or f32."""
    return _dst(o, "Nz") or not_of(o, I6 | F | BF16, "dst")


@_rule("IMG-CPU-01", "Nz u8", "Zz u8")
def IMG_CPU_01(o: Site) -> Message:
    """On cpu dst is Nz."""
    return _dst(o, "Nz")


RULES = (
    IMG_COM_01,
    IMG_COM_03,
    IMG_COM_04,
    IMG_A23_01,
    IMG_A5_01,
    IMG_CPU_01,
)


@_rule("IMG-COM-02", "a Mat NC1HWC0 tile", "a Mat Nz tile")
def IMG_COM_02(o: Site) -> Message:
    """Registers of TIMG2COL are set from a convolution tile.

    Decision: Without an earlier set of a register, TIMG2COL in a manual mode takes the tile's own parameters.
    """
    return None if isinstance(o.config.spec, ConvSpec) else f"{o:config} is no convolution tile"


REGISTER_RULES = (IMG_COM_02,)
