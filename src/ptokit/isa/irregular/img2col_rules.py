"""Rules of TIMG2COL and the operations that set its registers (compute-layout-irregular 1.7)."""

from __future__ import annotations

from ptokit.diagnostics import family
from ptokit.types.conv import ConvSpec, ConvState
from ptokit.types.tile import DYNAMIC

from ..checks.operands import Message
from ..checks.tiles import differ, not_of
from ..site import Site
from ..typesets import BF16, I6, F, types_of

_rule = family("compute-layout-irregular 1.7")


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


def not_described(state: ConvState) -> str | None:
    """Message if the parameters ask for what no public source describes."""
    if state.repeat_time > 1 or state.repeat_mode or state.transpose:
        return "repetition and transposition of TIMG2COL are not described by any public source"
    return None


def _dst(o: Site, layout: str) -> Message:
    return f"{o:dst} is {o.dst.layout_name}, it must be {layout}" if o.dst.layout_name != layout else None


RULES = (
    _rule("IMG-COM-01", "a Mat NC1HWC0 tile into a left tile", "a Mat Nz tile")(
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
    _rule("IMG-COM-03", "repeat_time 1", "transpose")(
        "There is no repetition and no transposition.",
        lambda o: not_described(o.src.spec.state) if isinstance(o.src.spec, ConvSpec) else None,
    ),
    IMG_COM_04,
    _rule("IMG-A23-01", "Zz f16", "Nz f16")(
        "On a2a3 dst is Zz, of i8, f16, bf16 or f32.",
        lambda o: _dst(o, "Zz"),
        lambda o: not_of(o, types_of("i8") | F | BF16, "dst"),
    ),
    _rule("IMG-A5-01", "Nz f16", "Zz f16")(
        "On a5 dst is Nz, of integers of up to 32 bits, f16, bf16 or f32.",
        lambda o: _dst(o, "Nz"),
        lambda o: not_of(o, I6 | F | BF16, "dst"),
    ),
    _rule("IMG-CPU-01", "Nz u8", "Zz u8")(
        "On cpu dst is Nz.",
        lambda o: _dst(o, "Nz"),
    ),
)


REGISTER_RULES = (
    _rule("IMG-COM-02", "a Mat NC1HWC0 tile", "a Mat Nz tile")(
        """Registers of TIMG2COL are set from a convolution tile.

        Decision: Without an earlier set of a register, TIMG2COL in a manual mode takes the tile's own parameters.
        """,
        "isinstance(config.spec, ConvSpec)",
        "{config} is no convolution tile",
    ),
)
