"""Rules of TSTORE and TSTORE_FP for all targets and for cpu (load-store 11.1, 11.5).

Those of the devices are in `store_plain_rules` (Vec and Mat) and `store_acc_rules`.
"""

from __future__ import annotations

from ptokit.diagnostics.conditions import need
from ptokit.types.enums import Layout

from ..site import Site
from .transfer_rules import BASE, PLAIN, Message, disagrees, is_conv, names, rule, too_small

ND, DN, NZ = PLAIN
CPU_LAYOUTS = (*PLAIN, Layout.NC1HWC0, Layout.NDC1HWC0)

# all targets ---------------------------------------------------------------------------------------------------------

LS_COM_07 = rule(
    "LS-COM-07",
    "x: Ptr[{f32|i8}]; TSTORE_FP(GlobalTensor(x, (16, 16)), {TileAcc|Tile}({|Vec, }f32, 16, 16), "
    "Tile(Scaling, u64, 1, 16))",
    evidence="static_assert",
)(
    "TSTORE_FP stores accumulators.",
    "src.loc is Acc",
    "{src} is a {src.loc.text} tile; only accumulators pass the fix-pipe",
)

LS_COM_08 = rule(
    "LS-COM-08",
    "x: Ptr[{f32|i8}]; TSTORE(GlobalTensor(x, (32, 32)), Tile(Vec, {f32|i32}, 32, 32){|, 70369801142272})",
    evidence="static_assert",
)(
    "A quantisation word and relu go with accumulators.",
    "src.loc is Acc if quant",
    "a quantisation word with a {src.loc.text} tile; only accumulators are quantised",
    "relu is not ReluPreMode.NormalRelu if src.loc is not Acc",
    "relu with a {src.loc.text} tile; only accumulators pass the fix-pipe",
)


# cpu -----------------------------------------------------------------------------------------------------------------


@rule(
    "STORE-CPU-07",
    "x: Ptr[{f16|e5m2}]; TSTORE(GlobalTensor(x, (4, 32)), Tile(Vec, {f16|e5m2}, 4, 32))",
    evidence="simulator",
)
def STORE_CPU_07(o: Site) -> Message:
    """The cpu target stores no FP8, HiFloat8 and FP4 (unless --extended)."""
    for what, dtype in (("the tile", o.src.dtype), ("the view", o.dst.dtype)):
        if not o.target.supports(dtype, extended=o.extended):
            return (
                f"{what} has element type {dtype}, which cpu does not store",
                "run with --extended to let the cpu target take the types of a5",
            )
    return None


CPU = (
    rule(
        "STORE-CPU-01",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, (16, 16){|, layout=Layout.NHWC}), Tile(Vec, f32, 16, 16))",
        evidence="static_assert",
    )(
        "The view is ND, DN, NZ, NC1HWC0 or NDC1HWC0.",
        "is_conv(src) if dst.layout is not None and dst.layout not in CPU_LAYOUTS",
        "the view has layout {dst.layout.name}; stores on cpu go to {', '.join((x.name for x in CPU_LAYOUTS))}",
    ),
    rule(
        "STORE-CPU-02",
        "x: Ptr[f16]; TSTORE(GlobalTensor(x, (2, 2, 16, 16), layout=Layout.NZ), "
        "Tile(Vec, f16, {32|16}, 32, ColMajor, slayout=SLayout.RowMajor))",
        evidence="simulator",
    )(
        "An NZ view has the shape of the valid region: Rv = g2*g3, Cv = g0*g1*g4.",
        lambda o: disagrees(o.src, o.dst, NZ) if o.dst.layout is NZ and (not is_conv(o.src)) else None,
    ),
    rule(
        "STORE-CPU-03",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, ({1|2}, {128|3})), Tile(Vec, f32, {1|44}, {128|8}))",
        evidence="simulator",
    )(
        """Other views have room for the valid region: g0*g1*g2*g3*g4*C0 >= Rv*Cv.

        Decision: A view of another shape that has room is refused as LS-COM-09.
        """,
        lambda o: too_small(o.src, o.dst) if o.dst.layout not in (None, NZ) and (not is_conv(o.src)) else None,
    ),
    rule(
        "STORE-CPU-04",
        "x: Ptr[f32]; TSTORE(GlobalTensor(x, (16, 16)), Tile(Vec, f32, 16, 16){|, atomic=AtomicType.AtomicAdd})",
        evidence="simulator",
    )(
        """The cpu target has no atomic stores (unless --extended).

        Decision: The seed excludes them; the simulator has atomic add.
        """,
        "dst.dtype in BASE if extended and atomic is not AtomicType.AtomicNone",
        "atomicType={atomic.text} on {dst.dtype}; it takes {names(BASE)}",
        need(
            "atomic is AtomicType.AtomicNone if not extended",
            "atomicType={atomic.text} on cpu, which has no atomic stores",
            hint="run with --extended to let the cpu target combine as the devices do",
        ),
    ),
    rule("STORE-CPU-05", "a 1x32 u64 tile for 32 columns", "a 1x16 u64 tile for 32 columns")(
        """Quantising stores take accumulators (reported as LS-COM-07 or LS-COM-08) and one 64-bit word per column.

        Decision: The simulator would read past the end of a short parameter tile.
        """,
        "fp.dtype.size == 8 and fp.dtype.is_integer",
        "the parameters have element type {fp.dtype}; they are 64-bit words",
        "fp.vc >= src.vc",
        "{fp.vc} parameter words for {src.vc} valid columns; every column needs one",
    ),
    STORE_CPU_07,
)
