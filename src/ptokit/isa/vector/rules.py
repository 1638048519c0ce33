"""Rules that bind most vector instructions (vector-path 8)."""

from __future__ import annotations

from collections.abc import Iterator

from ptokit.diagnostics import ALL_TARGETS, Rule, define, family
from ptokit.targets import A5

from ..checks.operands import Message
from ..site import Info, MaskInfo, PtrInfo, Site, VregInfo

SOURCE = "vector-path 8"
rule = family(SOURCE, targets=ALL_TARGETS)


@rule("PTR-A5-01", "pto.vlds of a !pto.ptr<f32, ub>", "pto.vlds of a !pto.ptr<f32, gm>")
def PTR_01(o: Site) -> Message:
    """A pointer operand points to the memory the instruction works on: ub for vector and predicate accesses."""
    for operand in o.instr.operands:
        info = o.operands.get(operand.name)
        if isinstance(info, PtrInfo) and operand.space and info.space != operand.space:
            return f"{info.name} points to {info.space}; {operand.name} is a pointer to {operand.space}"
    return None


define(
    "PTR-A5-02",
    "An access lies inside the unified buffer, or inside the argument it points to.",
    source=SOURCE,
    example="""
        # ptokit run
        p = castptr({0x3DF00|0x3FF20}, f32)
        with vecscope():
            v = vlds(p, 0)
    """,
    evidence="device",
)


def registers(o: Site) -> Iterator[tuple[str, VregInfo]]:
    """Vector registers among operands and results, with their names in the table."""
    for name, info in o.operands.items():
        if isinstance(info, VregInfo):
            yield name, info


@rule(
    "VEC-A5-07",
    "vbitsort(castptr(0x2000, u32), castptr(0x0, {f16|i32}), castptr(0x1000, u32), {3|1})",
    evidence="ptokit",
)
def VEC_07(o: Site) -> Message:
    """The element type is one that the instruction has: of its registers, or of its pointers if it has none."""
    allowed = (A5 if o.extended else o.target).of(o.instr.types)
    pointers = [info for info in o.operands.values() if isinstance(info, PtrInfo)]
    for info in [info for _, info in registers(o)] or pointers:
        if allowed and info.dtype not in allowed:
            listed = ", ".join(sorted(t.name for t in o.target.existing(allowed)))
            return f"{info.name} has elements of {info.dtype}; {o.instr.name} takes {listed}"
    return None


def mask_bits(info: VregInfo) -> int:
    """Granularity of the predicates of a register: its element's width; 32 for 64-bit elements (1.2)."""
    return min(32, info.dtype.bits)


@rule(
    "VEC-A5-05",
    "pto.vecscope {\n"
    '%r = pto.vcmp %a, %b, %m, "lt" : !pto.vreg<128xi16>, !pto.vreg<128xi16>, !pto.mask<b16> -> '
    "!pto.mask<{b16|b32}>\n"
    "}",
    evidence="ptokit",
    on="cpu",
)
def VEC_05(o: Site) -> Message:
    """A predicate has the granularity of the lanes it selects.

    Decision: !pto.mask without a granularity fits everywhere.
    """
    data = next((info for _, info in registers(o)), None)
    return None if data is None else wrong_mask(o, mask_bits(data))


def wrong_mask(o: Site, bits: int) -> Message:
    """A message if the predicate ``mask`` is known not to have this granularity."""
    found: Info | None = o.operands.get("mask")
    if isinstance(found, MaskInfo) and found.bits not in (0, bits):
        message = f"{found.name} is a mask of b{found.bits}; the lanes of {o.instr.name} here are of b{bits}"
        return message, other_mask(bits)
    return None


def other_mask(bits: int) -> str:
    """The hint for a mask that has another granularity than the lanes."""
    return f"make the mask with an instruction for b{bits}, pto.plt_b{bits} or pto.pset_b{bits}"


@rule("VEC-A5-06", "ub.vabs(castptr(0x0, {f32|f16}), castptr(0x1000, f32), 1, 1, 1, 8, 8)", evidence="ptokit")
def VEC_06(o: Site) -> Message:
    """Operands and results have the types that the instruction takes together."""
    first: VregInfo | None = None
    for _, info in registers(o):
        if first is None:
            first = info
        elif (info.dtype, info.lanes) != (first.dtype, first.lanes):
            return f"{info.name} has {info.lanes} lanes of {info.dtype}, {first.name} {first.lanes} of {first.dtype}"
    return None


VEC_03 = define(
    "VEC-A5-03",
    "The address of a vector access is a multiple of what its distribution mode asks for.",
    source="vector-path 1.4, 8",
    decision="BRC_Bw needs w bytes and E2B_Bw 8 w, as library code uses them; a manual page says 32 for all modes.",
    example="""
        # ptokit run
        p = castptr(0, f32)
        with vecscope():
            v = vlds(p, {8|4})
    """,
    evidence="device",
)
SAME = VEC_06
MASKED = VEC_05
"""Of instructions whose registers all have one type, with a predicate for their lanes."""

COMMON: tuple[Rule, ...] = (PTR_01, VEC_07)
"""Of every instruction on registers and pointers."""
