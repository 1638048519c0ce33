"""Rules of TFILLPAD, TFILLPAD_INPLACE and TFILLPAD_EXPAND (compute-layout-irregular 1.6)."""

from __future__ import annotations

from ptokit.diagnostics import family
from ptokit.types.enums import PadValue, TileType

from ..checks.operands import DEVICES, Message
from ..site import Site

_rule = family("compute-layout-irregular 1.6")


@_rule("FILL-COM-06", "t = Tile({Vec|Mat}, f32, 16, 16, pad=PadValue.Zero); TFILLPAD(t, t)", evidence="static_assert")
def FILL_COM_06(o: Site) -> Message:
    """A Mat tile to fill is Nz, padded with zero, and source and destination have one type."""
    s, d = o.src, o.dst
    if d.loc is not TileType.Mat and s.loc is not TileType.Mat:
        return (
            f"{o:dst} is a {d.loc.text} tile; {o.instr.name} fills vec and mat tiles"
            if d.loc is not TileType.Vec
            else None
        )
    if d.layout_name != "Nz":
        return f"a mat tile to fill is Nz, not {d.layout_name}"
    if d.pad not in (PadValue.Null, PadValue.Zero):
        return "a mat tile is filled with zeros"
    if s.spec != d.spec:
        return f"{o:src} and {o:dst} of a mat tile have one type"
    return None


_COMMON = (
    _rule(
        "FILL-COM-01",
        "TFILLPAD(Tile(Vec, f32, 16, 16{, pad=PadValue.Zero|}), Tile(Vec, f32, 16, 16, valid_row=8))",
        evidence="static_assert",
    )(
        "A Vec tile to fill has a pad value.",
        "dst.pad != PadValue.Null if dst.loc is Vec",
        "{dst} has no pad value (pad=0); there is nothing to fill with",
    ),
    _rule(
        "FILL-COM-02",
        "TFILLPAD(Tile(Vec, f32, 16, 16, pad=PadValue.Zero), Tile(Vec, {f32|f16}, 16, 16, valid_row=8))",
        evidence="static_assert",
    )(
        "Elements have one size of 1, 2 or 4 bytes.",
        "src.dtype.bits == dst.dtype.bits and dst.dtype.size in (1, 2, 4) and (not dst.dtype.packed)",
        "{src} has {src.dtype.bits}-bit elements, {dst} {dst.dtype.bits}-bit ones; both have 1, 2 or 4 bytes",
    ),
    _rule(
        "FILL-COM-05",
        "TFILLPAD(Tile(Vec, f32, 16, 64, {|valid_row=9, valid_col=60, }pad=PadValue.Max), "
        "Tile(Vec, f32, 16, 64, valid_row=10, valid_col=60))",
        evidence="device",
    )(
        "The destination's valid region covers the source's.",
        "dst.vr >= src.vr and dst.vc >= src.vc if dst.vr != 0 and dst.vc != 0 or target.is_a(A5)",
        "{dst} is valid in {dst.vr}x{dst.vc}, less than {src}'s {src.vr}x{src.vc}",
    ),
    FILL_COM_06,
)
COPY_RULES = (
    *_COMMON,
    _rule(
        "FILL-COM-03",
        "TFILLPAD(Tile(Vec, f32, {16|8}, 16, pad=PadValue.Zero), Tile(Vec, f32, 16, 16, valid_row=8))",
        evidence="static_assert",
        on="a2a3",
    )(
        "Source and destination have one shape; TFILLPAD_EXPAND: the destination is not smaller.",
        "src.rows == dst.rows and src.cols == dst.cols",
        "{src} is {src.rows}x{src.cols}, {dst} {dst.rows}x{dst.cols}; {instr.name} keeps the shape",
    ),
)
IN_PLACE_RULES = (
    *COPY_RULES,
    _rule(
        "FILL-COM-04",
        "TFILLPAD_INPLACE(Tile(Vec, f32, 16, 64, pad=PadValue.Zero, addr=0), "
        "Tile(Vec, f32, 16, 64, valid_col=60, addr={0|4096}))",
        targets=DEVICES,
        evidence="device",
    )(
        "TFILLPAD_INPLACE fills one tile: source and destination share their bytes.",
        "src.origin == dst.origin if known(src.origin, dst.origin)",
        "{src} and {dst} are different tiles; bind both to one address, or use TFILLPAD",
    ),
)
EXPAND_RULES = (
    *_COMMON,
    _rule(
        "FILL-COM-03-X",
        "TFILLPAD_EXPAND(Tile(Vec, f32, {32|8}, 16, pad=PadValue.Max), Tile(Vec, f32, 16, 16, valid_row=8))",
        evidence="static_assert",
    )(
        "TFILLPAD_EXPAND: the destination is not smaller than the source.",
        "dst.rows >= src.rows and dst.cols >= src.cols",
        "{dst} is {dst.rows}x{dst.cols}, smaller than {src}'s {src.rows}x{src.cols}",
    ),
)
