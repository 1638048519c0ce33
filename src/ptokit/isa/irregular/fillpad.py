"""TFILLPAD and its relatives: copy, and fill what lies outside the valid region (compute-layout-irregular 1.6)."""

from __future__ import annotations

from collections.abc import Iterator

from ptokit.diagnostics import Rule, family
from ptokit.types.enums import PadValue, Pipe, TileType
from ptokit.types.tensor import pad_bits

from ..checks.compiling import DEVICES, Message
from ..meaning.expressions import Element, Extent
from ..meaning.words import Fill, Move
from ..site import Site, known
from ..table import Access, Instr, dst, instruction, src
from .text_rules import FP_1

# Rules of TFILLPAD, TFILLPAD_INPLACE and TFILLPAD_EXPAND (compute-layout-irregular 1.6).


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


# TFILLPAD and its relatives: copy, and fill what lies outside the valid region (compute-layout-irregular 1.6).


VR, VC = Extent("src", "vr"), Extent("src", "vc")


def _meaning(o: Site) -> Move | None:
    """Keep the valid elements of src; the pad value beside and below them."""
    spec, on_cpu = o.dst.spec, not o.target.is_device
    if not on_cpu and not known(o.dst.vr, o.dst.vc):
        return None
    if not on_cpu and not (o.dst.vr and o.dst.vc):
        return Move(Element("src"), 0, 0)
    if spec.loc is TileType.Mat and not on_cpu:
        filled = -(-o.dst.vc // spec.c0) * spec.c0  # the rest of the last block stays as it is
        below = Fill(o.dst.vr, spec.rows, 0, filled, 0)
        return Move(Element("src"), VR, VC, fills=(Fill(0, spec.rows, filled, spec.cols, 0), below))
    bits = pad_bits(spec.dtype, spec.pad, wide=o.target.pads_64_bits, finite=o.target.templates)
    below = Fill(VR, spec.rows if on_cpu else o.dst.vr, 0, spec.cols, bits)
    return Move(Element("src"), VR, VC, fills=(Fill(0, VR, VC, spec.cols, bits), below))


def _pipe(o: Site) -> Pipe:
    return Pipe.MTE2 if o.dst.loc is TileType.Mat else Pipe.V


def _footprint(o: Site) -> Iterator[Access]:
    yield Access("src", False, o.src.vr, o.src.vc)
    whole = not o.target.is_device or o.dst.loc is TileType.Mat
    yield Access("dst", True, o.dst.rows if whole else o.dst.vr, o.dst.cols)


def _fillpad(name: str, summary: str, rules: tuple[Rule, ...]) -> Instr:
    return instruction(
        Instr(
            name,
            name.lower(),
            summary,
            (dst(), src()),
            pipe=_pipe,
            rules=rules,
            meaning=_meaning,
            footprint=_footprint,
            source="compute-layout-irregular 1.6",
        )
    )


TFILLPAD = _fillpad("TFILLPAD", "dst = src, padded with dst's pad value.", (*COPY_RULES, FP_1))
TFILLPAD_INPLACE = _fillpad(
    "TFILLPAD_INPLACE", "Pad a tile where it lies; src and dst share their bytes.", (*IN_PLACE_RULES, FP_1)
)
TFILLPAD_EXPAND = _fillpad("TFILLPAD_EXPAND", "dst = src, padded up to a larger tile.", (*EXPAND_RULES, FP_1))
