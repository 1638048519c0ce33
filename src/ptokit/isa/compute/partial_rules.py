"""Rules of the TPART family and TPairReduceSum (compute-reduce-matrix 6 and 7)."""

from __future__ import annotations

from dataclasses import replace

from ptokit.diagnostics import family

from ..checks.operands import Message, is_nd, layout
from ..checks.tiles import in_types
from ..site import Site
from ..typesets import names, types_of
from ..unknown import known
from .reduce_rules import not_vec
from .vector_rules import equal_types

SOURCE = "compute-reduce-matrix 6"
rule = family(SOURCE)


@rule(
    "PART-COM-01",
    "TPARTADD(Tile(Vec, f32, 16, 64), Tile(Vec, f32, 16, 64), Tile(Vec, {f32|f16}, 16, 64))",
    evidence="static_assert",
)
def PART_COM_01(o: Site) -> Message:
    """Vec ND tiles of one element type that the target has."""
    for name, t in o.data_tiles:
        if not is_nd(t):
            return f"{layout(o, name)}; {o.instr.name} works on ND tiles"
        if not name.endswith("i") and t.dtype is not o.dst.dtype:
            return f"{o:{name}} has element type {t.dtype}, {o:dst} has {o.dst.dtype}"
    return in_types(o) or not_vec(o)


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


@rule(
    "PAIR-A5-01",
    "TPairReduceSum(Tile(Vec, f32, 16, 64{, valid_col=60|}), Tile(Vec, f32, 16, 64{, valid_col=60|}))",
    source="compute-reduce-matrix 7",
    evidence="legal",
)
def PAIR_A5_01(o: Site) -> Message:
    """Several full rows are placed densely on a5.

    Decision: The executor keeps the row pitch of dst.
    """
    full = all(t.vc == t.cols for _, t in o.data_tiles)
    if full and o.dst.vr > 1:
        return "with full rows a5 writes the pairs densely: row i starts at i*Cols/2"
    return None


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
