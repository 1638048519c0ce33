"""Rules of TSTORE and TSTORE_FP for all targets and for cpu (load-store 11.1, 11.5).

Those of the devices are in `store_plain_rules` (Vec and Mat) and `store_acc_rules`.
"""

from __future__ import annotations

from ptokit.types.enums import AtomicType, Layout, ReluPreMode, TileType

from ..site import Site
from .transfer_rules import BASE, PLAIN, Message, disagrees, is_conv, names, rule, too_small

ND, DN, NZ = PLAIN
CPU_LAYOUTS = (*PLAIN, Layout.NC1HWC0, Layout.NDC1HWC0)

# all targets ---------------------------------------------------------------------------------------------------------


@rule("LS-COM-07", "an acc tile", "a vec tile")
def LS_COM_07(o: Site) -> Message:
    """TSTORE_FP stores accumulators."""
    if o.src.loc is not TileType.Acc:
        return f"{o:src} is a {o.src.loc.text} tile; only accumulators pass the fix-pipe"
    return None


@rule("LS-COM-08", "ins(%acc : ..., %q : i64)", "ins(%vec : ..., %q : i64)")
def LS_COM_08(o: Site) -> Message:
    """A quantisation word and relu go with accumulators."""
    if o.src.loc is TileType.Acc:
        return None
    if o.has("quant"):
        return f"a quantisation word with a {o.src.loc.text} tile; only accumulators are quantised"
    if o.relu is ReluPreMode.NormalRelu:
        return f"relu with a {o.src.loc.text} tile; only accumulators pass the fix-pipe"
    return None


# cpu -----------------------------------------------------------------------------------------------------------------


@rule("STORE-CPU-01", "an NC1HWC0 view", "an NHWC view")
def STORE_CPU_01(o: Site) -> Message:
    """The view is ND, DN, NZ, NC1HWC0 or NDC1HWC0."""
    layout = o.dst.layout
    if layout is None or layout in CPU_LAYOUTS or is_conv(o.src):
        return None
    return f"the view has layout {layout.name}; stores on cpu go to {', '.join(x.name for x in CPU_LAYOUTS)}"


@rule("STORE-CPU-02", "valid 32x32 and g = (1, 2, 2, 16, 16)", "valid 16x32 and g = (1, 2, 2, 16, 16)")
def STORE_CPU_02(o: Site) -> Message:
    """An NZ view has the shape of the valid region: Rv = g2*g3, Cv = g0*g1*g4."""
    return disagrees(o.src, o.dst, NZ) if o.dst.layout is NZ and not is_conv(o.src) else None


@rule("STORE-CPU-03", "valid 4x8 and g = (1, 1, 1, 4, 8)", "valid 44x8 and g = (1, 1, 1, 2, 3)")
def STORE_CPU_03(o: Site) -> Message:
    """Other views have room for the valid region: g0*g1*g2*g3*g4*C0 >= Rv*Cv.

    Decision: A view of another shape that has room is refused as LS-COM-09.
    """
    return None if o.dst.layout in (None, NZ) or is_conv(o.src) else too_small(o.src, o.dst)


@rule("STORE-CPU-04", "atomic_none", "atomic_add")
def STORE_CPU_04(o: Site) -> Message:
    """The cpu target has no atomic stores (unless --extended).

    Decision: The seed excludes them; the simulator has atomic add.
    """
    if o.atomic is AtomicType.AtomicNone:
        return None
    if o.extended:
        return None if o.dst.dtype in BASE else f"atomicType={o.atomic.text} on {o.dst.dtype}; it takes {names(BASE)}"
    return (
        f"atomicType={o.atomic.text} on cpu, which has no atomic stores",
        "run with --extended to let the cpu target combine as the devices do",
    )


@rule("STORE-CPU-05", "a 1x32 u64 tile for 32 columns", "a 1x16 u64 tile for 32 columns")
def STORE_CPU_05(o: Site) -> Message:
    """Quantising stores take accumulators (reported as LS-COM-07 or LS-COM-08) and one 64-bit word per column.

    Decision: The simulator would read past the end of a short parameter tile.
    """
    if not o.has("fp"):
        return None
    fp = o.fp
    if fp.dtype.size != 8 or not fp.dtype.is_integer:
        return f"the parameters have element type {fp.dtype}; they are 64-bit words"
    if fp.vc < o.src.vc:
        return f"{fp.vc} parameter words for {o.src.vc} valid columns; every column needs one"
    return None


@rule("STORE-CPU-07", "bf16", "e5m2")
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
    STORE_CPU_01,
    STORE_CPU_02,
    STORE_CPU_03,
    STORE_CPU_04,
    STORE_CPU_05,
    STORE_CPU_07,
)
