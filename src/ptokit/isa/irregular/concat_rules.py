"""Rules of TCONCAT (compute-layout-irregular 1.5)."""

from __future__ import annotations

from ptokit.diagnostics import ALL_TARGETS, Doubt, family
from ptokit.targets import A2A3

from ..checks.operands import DEVICES, Message
from ..checks.tiles import boxed_or_columns, differ, not_of, not_vec, rows_differ
from ..site import Site
from ..typesets import BF16, I6, F

_rule = family("compute-layout-irregular 1.5")
_INDICES = ("idx0", "idx1")


@_rule("CONC-COM-01", "three f32 tiles", "an f16 src1 with f32")
def CONC_COM_01(o: Site) -> Message:
    """dst and sources are Vec tiles of one type: 8-, 16-, 32-bit integers, f16, bf16, f32."""
    data = ("dst", "src0", "src1")
    return not_vec(o, *data) or differ(o, *data) or not_of(o, I6 | F | BF16, *data)


@_rule("CONC-COM-03", "i32 counts", "f32 counts")
def CONC_COM_03(o: Site) -> Message:
    """Index tiles are of one integer type of 8, 16 or 32 bits; the result counts are one column."""
    if not o.has("idx0"):
        return None
    if o.has("didx") and o.didx.vc != 1:
        return f"{o:didx} has {o.didx.vc} valid columns; there is one count per row"
    return not_of(o, I6, *_INDICES, "didx") or differ(o, "idx0", "idx1", "didx")


@_rule("CONC-A23-01", "16 and 16 columns into 32", "16 and 24 columns into 32", targets=ALL_TARGETS)
def CONC_A23_01(o: Site) -> Message:
    """The valid columns of the sources together are those of dst; on a2a3 they must fit its columns."""
    if o.has("idx0"):
        return None
    total = o.src0.vc + o.src1.vc
    if total > o.dst.cols:
        return f"{o:src0} and {o:src1} have {total} valid columns together, {o:dst} has {o.dst.cols}"
    if not o.target.is_a(A2A3) and total != o.dst.vc:
        return f"{o:src0} and {o:src1} have {total} valid columns together, {o:dst} has {o.dst.vc}"
    return None


@_rule("CONC-COM-02", "8 rows everywhere", "7 rows in src1, 8 in dst")
def CONC_COM_02(o: Site) -> Message:
    """dst and sources have the same valid rows."""
    message = rows_differ(o, "dst", "src0", "src1")
    reach = all(o.dst.vr <= t.rows for t in (o.src0, o.src1))
    return Doubt(message) if message and reach and o.target.is_device else message


@_rule("CONC-A5-01", "ND tiles", "a col_major src1", targets=DEVICES)
def CONC_A5_01(o: Site) -> Message:
    """dst and sources are row-major without boxes on the devices."""
    return boxed_or_columns(o, "dst", "src0", "src1")


RULES = (
    CONC_COM_01,
    CONC_COM_02,
    CONC_COM_03,
    CONC_A23_01,
    CONC_A5_01,
)
