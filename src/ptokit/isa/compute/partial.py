"""Operations on sources that cover different parts of dst, and sums of neighbours (compute-reduce-matrix 6 and 7)."""

from __future__ import annotations

from collections.abc import Callable
from operator import add, mul

from ptokit.types.enums import PadValue
from ptokit.types.pad import pad_bits

from ..meaning.expressions import (
    OWN,
    Axis,
    Code,
    Element,
    Expr,
    Extent,
    Index,
    Least,
    greater,
    less,
    maximum,
    minimum,
    select,
)
from ..meaning.words import Lane, Write
from ..site import Site, TileInfo
from ..table import Instr, dst, src
from ..typesets import ASM_8, ASM_N4, BF16, FB, I8, INT64, N4, F, Types, types
from ..unknown import known
from .overlap_rules import CMP_INP_01, CMP_INP_01_MATRIX
from .partial_rules import ARG_RULES, EXTREME_RULES, PAIR_RULES, PART_RULES
from .vector_rules import EW_1
from .words import SRC0, SRC1, vector

Operation = Callable[[Expr, Expr], Expr]

ROWS, COLS = (Least((Extent("src0", what), Extent("src1", what))) for what in ("vr", "vc"))
"""What both sources cover."""


def _merged(o: Site, dst: str, pair: tuple[str, str], both: Expr) -> tuple[Write, Write] | None:
    """The source that covers dst, and `both` where the sources meet; None while the sizes are not known."""
    a, b, d = (o.operands[name] for name in (*pair, dst))
    assert isinstance(a, TileInfo)
    assert isinstance(b, TileInfo)
    assert isinstance(d, TileInfo)
    if not known(a.vr, a.vc, b.vr, b.vc, d.vr, d.vc):
        return None
    full = pair[0] if (a.vr, a.vc) == (d.vr, d.vc) else pair[1]
    return Write(dst, Element(full)), Write(dst, both, rows=ROWS, cols=COLS)


def _combine(fn: Operation) -> Callable[[Site], Lane | None]:
    def choose(o: Site) -> Lane | None:
        writes = _merged(o, "dst", ("src0", "src1"), fn(SRC0, SRC1))
        return None if writes is None else Lane(writes)

    return choose


def _extreme(fn: Operation, least: PadValue) -> Callable[[Site], Lane | None]:
    """As `_combine`; templates put the least number where neither source is valid."""
    library = _combine(fn)

    def choose(o: Site) -> Lane | None:
        if not o.target.templates:
            return library(o)
        pad = Code(pad_bits(o.dst.dtype, least, finite=True), "dst")
        first, second = ((Extent(name, "vr"), Extent(name, "vc")) for name in ("src0", "src1"))
        return Lane(
            (
                Write("dst", pad),
                Write("dst", SRC0, rows=first[0], cols=first[1]),
                Write("dst", fn(pad, SRC1), rows=second[0], cols=second[1]),
                Write("dst", fn(SRC0, SRC1), rows=ROWS, cols=COLS),
            )
        )

    return choose


def _choose(better: Operation) -> Callable[[Site], Lane | None]:
    """Of equal keys the devices keep src0, the simulator src1."""

    def choose(o: Site) -> Lane | None:
        def chosen(a: Expr, b: Expr) -> Expr:
            return select(better(SRC0, SRC1), a, b) if not o.target.is_device else select(better(SRC1, SRC0), b, a)

        values = _merged(o, "dst", ("src0", "src1"), chosen(SRC0, SRC1))
        indices = _merged(o, "dsti", ("src0", "src1"), chosen(Element("src0i"), Element("src1i")))
        if values is None or indices is None:
            return None
        full = indices[0].value
        assert isinstance(full, Element)
        return Lane((*values, Write("dsti", Element(f"{full.name}i")), indices[1]))

    return choose


SUMS = types(N4, FB | I8, cpu=N4 | BF16 | ASM_8, asm=(ASM_N4, ASM_N4 | BF16 | ASM_8))
PRODUCTS = types(N4, (FB | I8) - INT64, cpu=N4 | BF16 | ASM_8, asm=(ASM_N4, ASM_N4 | BF16 | ASM_8))


def partial_operation(name: str, fn: Operation, summary: str, types: Types, least: PadValue | None = None) -> Instr:
    """``src0 op src1`` where both sources are valid, a copy of the one that is elsewhere.

    ``least``: what an extreme of nothing is, the smallest or largest number.
    """
    return vector(
        name,
        summary,
        (dst(), src("src0"), src("src1")),
        types,
        _combine(fn) if least is None else _extreme(fn, least),
        common=(*(PART_RULES if least is None else EXTREME_RULES), EW_1, CMP_INP_01_MATRIX),
        source="compute-reduce-matrix 6",
    )


def partial_choice(name: str, better: Operation, summary: str) -> Instr:
    """The better of two values with its index."""
    return vector(
        name,
        summary,
        (dst(), src("src0"), src("src1"), dst("dsti"), src("src0i"), src("src1i")),
        types(F, F, cpu=F),
        _choose(better),
        common=(*PART_RULES, *ARG_RULES, CMP_INP_01_MATRIX),
        source="compute-reduce-matrix 6",
    )


TPARTADD = partial_operation("TPARTADD", add, "dst = src0 + src1 where both are valid, else the valid one", SUMS)
TPARTMUL = partial_operation("TPARTMUL", mul, "dst = src0 * src1 where both are valid, else the valid one", PRODUCTS)
TPARTMAX = partial_operation("TPARTMAX", maximum, "dst = max(src0, src1), or the valid one", SUMS, PadValue.Min)
TPARTMIN = partial_operation("TPARTMIN", minimum, "dst = min(src0, src1), or the valid one", SUMS, PadValue.Max)
TPARTARGMAX = partial_choice("TPARTARGMAX", greater, "dst, dsti = larger value and its index")
TPARTARGMIN = partial_choice("TPARTARGMIN", less, "dst, dsti = smaller value and its index")


def _pair_sums(o: Site) -> Lane | None:
    """An odd last element is paired with 0 and the upper half becomes 0; the simulator clears the whole tile."""
    if not known(o.dst.vr, o.dst.vc):
        return None
    whole, pairs = not o.target.is_device, o.dst.vc // 2
    even, odd = (Element("src", Index(OWN.row, Axis(j=2, plus=n))) for n in (0, 1))
    writes = [Write("dst", Code(0, "dst"))]
    if pairs:
        writes.append(Write("dst", even + odd, rows=o.dst.vr, cols=pairs))
    if o.dst.vc % 2:
        last = Element("src", Index(OWN.row, Axis(plus=o.dst.vc - 1)))
        writes.append(Write("dst", last, Index(OWN.row, Axis(j=1, plus=pairs)), rows=o.dst.vr, cols=1))
    return Lane(tuple(writes), whole=whole)


TPairReduceSum = vector(
    "TPairReduceSum",
    "dst[i,k] = src[i,2k] + src[i,2k+1]",
    (dst(), src()),
    types(F, F, cpu=F),
    _pair_sums,
    common=(*PAIR_RULES, CMP_INP_01),
    cpp="TPAIRREDUCESUM",
    source="compute-reduce-matrix 7",
)
