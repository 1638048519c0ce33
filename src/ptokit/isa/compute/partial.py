"""Operations on sources that cover different parts of dst, and sums of neighbours (compute-reduce-matrix 6 and 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import add, mul

from ptokit.diagnostics import family
from ptokit.diagnostics.rules import need
from ptokit.types.enums import PadValue
from ptokit.types.tensor import pad_bits

from ..checks.compiling import Message, layout  # noqa: F401
from ..checks.tiles import in_types
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
from ..operands import ASM_8, ASM_N4, BF16, FB, I8, INT64, N4, F, Types, names, types, types_of
from ..scratch import CMP_INP_01, CMP_INP_01_MATRIX
from ..site import Site, TileInfo, known
from ..table import Instr, dst, src
from .reduce_rules import not_vec
from .vector_unit import EW_1, SRC0, SRC1, equal_types, vector

# Rules of the TPART family and TPairReduceSum (compute-reduce-matrix 6 and 7).


SOURCE = "compute-reduce-matrix 6"
rule = family(SOURCE)


PART_COM_01 = rule(
    "PART-COM-01",
    "TPARTADD(Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, 64), Tile(Vec, {f32|f16}, 16, 64))",
    evidence="static_assert",
)(
    "Vec ND tiles of one element type that the target has.",
    "nd(t) for t in data",
    "{layout(o, name)}; {instr.name} works on ND tiles",
    need("t.dtype is dst.dtype for t in data if not name.endswith('i')"),
    in_types,
    not_vec,
)


@rule(
    "PART-COM-02",
    "TPARTADD(Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, 64{|, valid_col=32}), Tile(Vec, f32, 16, 64, valid_row=8))",
    evidence="device assertion",
)
def PART_COM_02(o: Site) -> Message:
    """Each source is valid within dst's region, one of them in all of it."""
    a, b, d = o.src0, o.src1, o.dst
    for name, t in (("src0", a), ("src1", b)):
        if t.vr > d.vr or t.vc > d.vc:
            return f"{o:{name}} is valid in {t.vr}x{t.vc}, {o:dst} in {d.vr}x{d.vc}; a source covers part of {o:dst}"
    if not known(a.vr, a.vc, b.vr, b.vc, d.vr, d.vc):
        return None
    if (d.vr, d.vc) not in ((a.vr, a.vc), (b.vr, b.vc)):
        return f"sources are valid in {a.vr}x{a.vc} and {b.vr}x{b.vc}; one must cover {o:dst}'s {d.vr}x{d.vc}"
    return None


def _of_extremes(o: Site) -> Message:
    """Templates fill what neither source covers."""
    covered = known(o.src0.vr, o.src0.vc, o.src1.vr, o.src1.vc) and o.target.templates
    within = all(t.vr <= o.dst.vr and t.vc <= o.dst.vc for t in (o.src0, o.src1))
    return None if covered and within else PART_COM_02.check(o)  # type: ignore[misc,return-value]


PART_COM_02_EXTREMES = replace(PART_COM_02, check=_of_extremes)


@rule(
    "PART-COM-04",
    "t = Tile(Vec, f32, 16, 64); u = Tile(Vec, {i32|i16}, 16, 64); TPARTARGMAX(t, t, t, u, u, u)",
    evidence="device assertion",
)
def PART_COM_04(o: Site) -> Message:
    """Index tiles are 32-bit integers (f16 values: also 16-bit) with the valid regions of their values."""
    for value, index in (("dst", "dsti"), ("src0", "src0i"), ("src1", "src1i")):
        v, i = o.operands[value], o.operands[index]
        if i.dtype is not o.dsti.dtype:  # type: ignore[union-attr]
            return f"{o:{index}} has element type {i.dtype}, {o:dsti} has {o.dsti.dtype}"  # type: ignore[union-attr]
        if v.vr != i.vr or v.vc != i.vc:  # type: ignore[union-attr]
            return f"{o:{value}} is valid in {v.vr}x{v.vc}, {o:{index}} in {i.vr}x{i.vc}"  # type: ignore[union-attr]
    allowed = types_of("i32 u32") | (types_of("i16 u16") if o.dst.dtype.size == 2 else types_of(""))
    if o.dsti.dtype not in allowed:
        return f"{o:dsti} has element type {o.dsti.dtype}; with {o.dst.dtype} values allowed: {names(allowed)}"
    return None


_COLUMNS = (
    rule("PART-A5-01", "t = Tile(Vec, i64, 4, {64|68}); TPARTADD(t, t, t)", evidence="device")(
        "64-bit types have at most 64 valid columns on a5.",
        "dst.vc <= 64 if dst.dtype.bits == 64",
        "{dst} has {dst.vc} valid columns of {dst.dtype}; a5 processes the first 64",
    ),
)
PART_RULES = (PART_COM_01, PART_COM_02, *_COLUMNS)
EXTREME_RULES = (PART_COM_01, PART_COM_02_EXTREMES, *_COLUMNS)
ARG_RULES = (PART_COM_04,)


PAIR_A5_01 = rule(
    "PAIR-A5-01",
    "TPairReduceSum(Tile(Vec, f32, 16, 64{, valid_col=60|}), Tile(Vec, f32, 16, 64{, valid_col=60|}))",
    source="compute-reduce-matrix 7",
    evidence="legal",
)(
    """
    Several full rows are placed densely on a5.

    Decision: The executor keeps the row pitch of dst.
    """,
    "dst.vr <= 1 if all(t.vc == t.cols for _, t in o.data_tiles)",
    "with full rows a5 writes the pairs densely: row i starts at i*Cols/2",
)


PAIR_RULES = (
    rule(
        "PAIR-COM-01",
        "TPairReduceSum(Tile(Vec, {f16|e2m1}, 16, {32|64}), Tile(Vec, {f16|f32}, 16, {32|64}))",
        source="compute-reduce-matrix 7",
        evidence="static_assert device assertion",
        on="cpu",
    )(
        "Vec ND tiles of f16 or f32, one type and valid region.",
        "nd(t) for t in data",
        "{t} is {layout_text(t)}; TPairReduceSum works on ND tiles",
        "src.vr == dst.vr and src.vc == dst.vc",
        "{src} is valid in {src.vr}x{src.vc}, {dst} in {dst.vr}x{dst.vc}",
        equal_types,
        in_types,
        not_vec,
    ),
    rule(
        "PAIR-COM-02",
        "TPairReduceSum(Tile(Vec, f32, 16, 64, valid_col={60|61}), Tile(Vec, f32, 16, 64, valid_col={60|61}))",
        source="compute-reduce-matrix 7",
        evidence="legal",
    )(
        """The valid columns are even.

        Decision: The executor follows the manual: the last is paired with 0, the upper half becomes 0.
        """,
        "dst.vc % 2 == 0 if known(dst.vc)",
        "{dst.vc} valid columns: device kernels drop the last, the manual pairs it with 0",
    ),
    PAIR_A5_01,
)


# Operations on sources that cover different parts of dst, and sums of neighbours (compute-reduce-matrix 6 and 7).


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
