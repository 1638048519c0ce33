"""TQUANT and TDEQUANT: 8-bit integers of f32 and back (compute-reduce-matrix 14 and 17)."""

from __future__ import annotations

from collections.abc import Iterator

from ptokit.targets import A2A3
from ptokit.types.enums import QuantType

from ..forms import ALSO, LEVEL2
from ..meaning.expressions import COLUMN, Axis, Convert, Element, Expr, Index
from ..meaning.words import Lane, lane
from ..scratch import on_a2a3
from ..site import Site, TileInfo
from ..table import Access, Attr, Instr, TextForm, default_footprint, dst, instruction, src, tmp
from ..unknown import Size, known
from .quantize_rules import DEQUANT_RULES, QUANT_RULES, TQ_1, TQ_2
from .words import SRC


def _of_rows(o: Site, name: str, rows: Size) -> Expr | None:
    """The parameter of each row: the first column, or of a tile of fewer rows its elements in order.

    None while it is not known which.
    """
    tile = o.operands[name]
    assert isinstance(tile, TileInfo)
    if not known(rows):
        return None
    if tile.rows >= rows:
        return Element(name, COLUMN)
    return Element(name, Index(Axis(i=1, over=tile.cols), Axis(i=1, cycle=tile.cols)))


def _quantize(o: Site) -> Lane | None:
    """Each step is rounded to f32; then to the nearest even integer, with saturation. NaN gives 0."""
    scale = _of_rows(o, "scale", o.src.vr)
    if scale is None:
        return None
    value = SRC * scale
    if o.has("offset"):
        offset = _of_rows(o, "offset", o.src.vr)
        assert offset is not None
        value = value + offset
    return lane(Convert(value, "dst", saturate=True), over="src")


def _footprint(o: Site) -> Iterator[Access]:
    """a2a3 uses the source as scratch memory."""
    yield from default_footprint(o)
    if o.target.is_a(A2A3):
        yield Access("src", True, o.src.vr, o.src.vc)


def _dequantize(o: Site) -> Lane | None:
    """The difference is rounded to f32, then the product."""
    scale, offset = (_of_rows(o, name, o.dst.vr) for name in ("scale", "offset"))
    return None if scale is None or offset is None else lane((Convert(SRC, "dst") - offset) * scale)


TQUANT = instruction(
    Instr(
        "TQUANT",
        "tquant",
        "dst = src * scale + offset as 8-bit integers, with a scale and an offset per row",
        (
            dst(),
            src(),
            src("scale"),
            src("offset", optional=True),
            tmp(optional=True, needed=on_a2a3("src")),
        ),
        (Attr("quant_type", QuantType, None, "quant_type", "quant_type"),),
        form=TextForm(orders={LEVEL2: "src scale offset -> dst tmp", ALSO: "src scale offset tmp"}),
        rules=(*QUANT_RULES, TQ_1, TQ_2),
        meaning=_quantize,
        footprint=_footprint,
        halves=True,
        source="compute-reduce-matrix 14",
    )
)
TDEQUANT = instruction(
    Instr(
        "TDEQUANT",
        "tdequant",
        "dst = (src - offset) * scale, with a scale and an offset per row",
        (dst(), src(), src("scale"), src("offset")),
        rules=DEQUANT_RULES,
        meaning=_dequantize,
        source="compute-reduce-matrix 17",
    )
)
