"""Rules of TCONCAT (compute-layout-irregular 1.5)."""

from __future__ import annotations

from ptokit.diagnostics import ALL_TARGETS, Doubt, family

from ..checks.operands import DEVICES, Message
from ..checks.tiles import boxed_or_columns, differ, not_of, not_vec, rows_differ
from ..site import Site
from ..typesets import BF16, I6, F

_rule = family("compute-layout-irregular 1.5")
_INDICES = ("idx0", "idx1")


@_rule(
    "CONC-COM-01",
    "TCONCAT(Tile(Vec, f32, 16, 32), Tile(Vec, f32, 16, 16), Tile(Vec, {f32|i32}, 16, 16))",
    evidence="static_assert",
)
def CONC_COM_01(o: Site) -> Message:
    """dst and sources are Vec tiles of one type: 8-, 16-, 32-bit integers, f16, bf16, f32."""
    data = ("dst", "src0", "src1")
    return not_vec(o, *data) or differ(o, *data) or not_of(o, I6 | F | BF16, *data)


@_rule(
    "CONC-COM-02",
    "t = Tile(Vec, f32, 16, 64); TCONCAT(Tile(Vec, f32, {16|24}, 128), t, t)",
    evidence="device assertion",
    on="a2a3",
)
def CONC_COM_02(o: Site) -> Message:
    """dst and sources have the same valid rows."""
    message = rows_differ(o, "dst", "src0", "src1")
    reach = all(o.dst.vr <= t.rows for t in (o.src0, o.src1))
    return Doubt(message) if message and reach and o.target.is_device else message


RULES = (
    CONC_COM_01,
    CONC_COM_02,
    _rule(
        "CONC-COM-03",
        "t = Tile(Vec, f32, 16, 16); TCONCATIDX(Tile(Vec, f32, 16, 32), t, t, Tile(Vec, {i32|f32}, 16, 8), "
        "Tile(Vec, i32, 16, 8))",
        evidence="static_assert",
    )(
        "Index tiles are of one integer type of 8, 16 or 32 bits; the result counts are one column.",
        "didx.vc == 1 if idx0",
        "{didx} has {didx.vc} valid columns; there is one count per row",
        "if idx0 is not None",
        lambda o: not_of(o, I6, *_INDICES, "didx"),
        lambda o: differ(o, "idx0", "idx1", "didx"),
    ),
    _rule(
        "CONC-A23-01",
        "t = Tile(Vec, f32, 16, 64); TCONCAT(Tile(Vec, f32, 16, {128|120}), t, t)",
        targets=ALL_TARGETS,
        evidence="device assertion",
        on="a2a3",
    )(
        "The valid columns of the sources together are those of dst; on a2a3 they must fit its columns.",
        "if idx0 is None",
        "total = src0.vc + src1.vc",
        "total <= dst.cols",
        "{src0} and {src1} have {total} valid columns together, {dst} has {dst.cols}",
        "total == dst.vc if not target.is_a(A2A3)",
        "{src0} and {src1} have {total} valid columns together, {dst} has {dst.vc}",
    ),
    _rule(
        "CONC-A5-01",
        "TCONCAT(Tile(Vec, f32, 16, 32), Tile(Vec, f32, 16, 16{|, ColMajor}), Tile(Vec, f32, 16, 16))",
        targets=DEVICES,
        evidence="static_assert",
    )(
        "dst and sources are row-major without boxes on the devices.",
        lambda o: boxed_or_columns(o, "dst", "src0", "src1"),
    ),
)
