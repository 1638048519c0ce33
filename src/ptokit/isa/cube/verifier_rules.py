"""What the assembler's verifiers ask of the cube unit's operations on pointers (PTOAS e32488c9, VPTO.cpp)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptokit.diagnostics import Rule, RuleDecorator

from ..checks.assembler import assembler_rule
from ..checks.lanes import bound, element, memory_of
from ..checks.operands import Message
from ..site import PtrInfo, ScalarInfo, Site
from ..unknown import known
from .field_rules import CUB_16

SOURCE = "PTOAS e32488c9, VPTO.cpp"


def verified(id: str, *example: str, **more: Any) -> RuleDecorator:
    """A rule of the assembler's verifiers."""
    return assembler_rule(id, *example, source=SOURCE, always=True, **more)


def pointer(o: Site, name: str) -> PtrInfo | None:
    """What is known of a pointer operand."""
    info = o.operands.get(name)
    return info if isinstance(info, PtrInfo) else None


# ----------------------------------------------------------------------- memories


@verified(
    "CUB-01",
    "pto.load_cbuf_to_ca %s, %d, %n0, %n1, %n2, %n3, %n4, %n5 : !pto.ptr<f16, {mat|ub}>, !pto.ptr<f16, l0a>, "
    "i64, i64, i64, i64, i64, i64",
    covered_by=("PTR-A5-01",),
)
def CUB_01(o: Site) -> Message:
    """A pointer points into the memory that the operation moves from or to."""
    for operand in o.instr.operands:
        info = o.operands.get(operand.name)
        found = memory_of(info) if operand.space else None
        if info is not None and found is not None and found.space not in ("", operand.space):
            return f"{info.name} lies in {found.space}; {operand.name} is in {operand.space}"
    return None


CUB_03 = verified(
    "CUB-03",
    """
        %n2 = arith.constant {0|-1} : i64
        pto.mte_l1_l0a %s, %d, %n0, %n1, %n2, %n3 : !pto.ptr<f16, l1>, !pto.ptr<f16, l0a>, i64, i64, i64, i64
    """,
)("A number that is known fits the field of the hardware.")


def fields(limits: Mapping[str, tuple[int, int | None]]) -> Rule:
    """Least and greatest values of operands, where they are known."""

    def check(o: Site) -> Message:
        for name, (least, greatest) in limits.items():
            info = o.operands.get(name)
            if not isinstance(info, ScalarInfo) or not known(info.value):
                continue
            if info.value < least or (greatest is not None and info.value > greatest):
                return (
                    f"{o:{name}} is {info.value}; it is {least} to {greatest}"
                    if greatest
                    else f"{o:{name}} is {info.value}"
                )
        return None

    return bound(CUB_03, check)


@verified(
    "CUB-04",
    "%a = arith.constant {0|1} : i64\n"
    "%s = pto.castptr %a : i64 -> !pto.ptr<f8E4M3FN, l1>\n"
    "pto.mte_l1_l0a_mx %s, %d, %n0, %n1, %n2, %n3, %n4, %n5 : !pto.ptr<f8E4M3FN, l1>, !pto.ptr<f8E4M3FN, "
    "l0a>, i64, i64, i64, i64, i64, i64",
)
def CUB_04(o: Site) -> Message:
    """Scales lie at multiples of 32 bytes in L1, and of 16 bytes where they go."""
    for name, unit in (("src", 32), ("dst", 16)):
        info = pointer(o, name)
        if info is not None and known(info.addr) and info.addr % unit:
            return f"{info.name} is at byte {info.addr}, which is not a multiple of {unit}"
    return None


_FP4 = frozenset(("e2m1x2", "e1m2x2"))


@verified(
    "CUB-05",
    "pto.load_cbuf_to_ca %s, %d, %n0, %n1, %n2, %n3, %n4, %n5 : !pto.ptr<{f16|!pto.f4E2M1x2}, l1>, "
    "!pto.ptr<{f16|!pto.f4E2M1x2}, l0a>, i64, i64, i64, i64, i64, i64",
)
def CUB_05(o: Site) -> Message:
    """Pairs of 4-bit floats are loaded as such, from and to elements of one type, and nothing else is."""
    pairs = o.instr.text.endswith("_s4")
    source, destination = pointer(o, "src"), pointer(o, "dst")
    for info in (source, destination):
        if info is not None and (info.dtype.name in _FP4) != pairs:
            return f"{info.name} has elements of {element(info)}"
    if pairs and source is not None and destination is not None and source.dtype is not destination.dtype:
        return f"{source.name} has elements of {element(source)}, {destination.name} of {element(destination)}"
    return None


CUB_06 = verified(
    "CUB-06",
    "%a = pto.castptr %c0_i64 : i64 -> !pto.ptr<ui16, l1>\n"
    "pto.create_cbuf_matrix %a, %n, %c1_i64, %c1_i64, %c0_i64 {fill_word_bits = {16|32} : i64} : "
    "!pto.ptr<ui16, l1>, i32, i64, i64, i64",
)(
    "A word of a fill has 16 or 32 bits, those of an unsigned element where the memory is a matrix.",
    "bits = o.attrs.get('fill_word_bits')",
    "bits in (16, 32)",
    "fill_word_bits is {bits}",
    "pointer(o, 'dst').dtype.kind == 'u' and pointer(o, 'dst').dtype.bits == bits if pointer(o, 'dst') is not "
    "None and dst_addr is None",
    "{pointer(o, 'dst').name} has elements of {element(pointer(o, 'dst'))}; words of {bits} bits fill ui{bits}",
)

CUB_07 = verified(
    "CUB-07",
    "%c1_i64 = arith.constant {0|1} : i64\n"
    "%a = pto.castptr %c0_i64 : i64 -> !pto.ptr<ui16, l1>\n"
    "pto.raw_fill_l1 %a, %c1_i64, %n, %c1_i64, %c1_i64, %c0_i64 {fill_word_bits = 16 : i64} : !pto.ptr<ui16, "
    "l1>, i64, i32, i64, i64, i64",
)(
    "A fill begins at a multiple of 32 bytes.",
    "dst_addr.value >= 0 and dst_addr.value % 32 == 0 if isinstance(dst_addr, ScalarInfo) and known(dst_addr.value)",
    "dst_addr is {dst_addr.value}",
)


# ----------------------------------------------------------------------- products


@verified(
    "CUB-08",
    "pto.mad_mx %l, %r, %d, %n, %n, %n  : !pto.ptr<{e4m3|f16}, l0a>, !pto.ptr<{e4m3|f16}, l0b>, "
    "!pto.ptr<f32, l0c>, i64, i64, i64",
)
def CUB_08(o: Site) -> Message:
    """Both factors are of hif8, or none; a bias has the type of the accumulator; scaled factors are of 8 or 4 bits."""
    left, right, sums, bias = (pointer(o, name) for name in ("lhs", "rhs", "dst", "bias"))
    if left is not None and right is not None and (left.dtype.name == "hif8") != (right.dtype.name == "hif8"):
        return f"{left.name} is of {element(left)}, {right.name} of {element(right)}"
    if bias is not None and sums is not None and element(bias) != element(sums):
        return f"{bias.name} is of {element(bias)}, {sums.name} of {element(sums)}"
    for factor in (left, right) if o.instr.text.startswith("mad_mx") else ():
        if factor is not None and factor.dtype.name not in ("e4m3", "e5m2", *_FP4):
            return f"{factor.name} is of {element(factor)}, which has no scales"
    return None


@verified(
    "CUB-09",
    "pto.mad %l, %r, %d, %n, %n, %n tf32_mode(round_even) : "
    "!pto.ptr<{f32|f16}, l0a>, !pto.ptr<{f32|f16}, l0b>, !pto.ptr<f32, l0c>, i64, i64, i64",
)
def CUB_09(o: Site) -> Message:
    """Floats saturate or do not; products of f32 may be made of tf32."""
    given = [info for info in (pointer(o, name) for name in ("lhs", "rhs", "dst")) if info is not None]
    if o.attrs.get("saturation") and not all(info.dtype.is_float for info in given):
        return f"{o.attrs['saturation']} of products of {', '.join(map(element, given))}"
    if not o.attrs.get("tf32_mode"):
        return None
    if o.instr.text.startswith("mad_mx"):
        return "products of scaled factors have no tf32_mode"
    other = [info for info in given if info.dtype.name != "f32"]
    return f"tf32_mode, and {other[0].name} is of {element(other[0])}" if other else None


_START = {"start_row": (0, None), "start_col": (0, None)}
_STEPS = {
    **dict.fromkeys(("m_start", "k_start"), (0, 65535)),
    **dict.fromkeys(("m_step", "k_step"), (1, 255)),
    **dict.fromkeys(("src_stride", "dst_stride"), (1, 65535)),
}
_MX = dict.fromkeys(("x_start", "y_start", "x_step", "y_step", "src_stride", "dst_stride"), (0, None))
_FILL = dict.fromkeys(("repeat_times", "block_num", "dst_gap"), (0, 32767))
_ENDS = (
    CUB_01,
    verified(
        "CUB-02",
        "pto.load_cbuf_to_ca %s, %d, %n0, %n1, %n2, %n3, %n4, %n5 : !pto.ptr<f32, l1>, !pto.ptr<{f32|f16}, l0a>, "
        "i64, i64, i64, i64, i64, i64",
    )(
        "Elements that are moved are as wide where they come from as where they go.",
        "pointer(o, 'src').dtype.size == pointer(o, 'dst').dtype.size if pointer(o, 'src') is not None and "
        "pointer(o, 'dst') is not None",
        "{pointer(o, 'src').name} has elements of {element(pointer(o, 'src'))}, {pointer(o, 'dst').name} of "
        "{element(pointer(o, 'dst'))}",
    ),
)

VERIFIED: dict[str, tuple[Rule, ...]] = {
    **{f"mte_l1_l0{side}": (*_ENDS, fields({**_START, **_STEPS})) for side in "ab"},
    **{f"mte_l1_l0{side}_mx": (*_ENDS, fields({**_START, **_MX}), CUB_04) for side in "ab"},
    **{f"load_cbuf_to_c{side}": (*_ENDS, CUB_05, fields(_STEPS)) for side in "ab"},
    **{f"load_cbuf_to_c{side}_s4": (*_ENDS, CUB_05, fields({**_STEPS, "transpose": (0, 1)})) for side in "ab"},
    **{f"load_cbuf_to_c{side}_mx": (*_ENDS, fields(dict.fromkeys(("x_start", "y_start"), (0, None)))) for side in "ab"},
    "raw_fill_l1": (CUB_01, CUB_06, fields(_FILL), CUB_07, CUB_16),
    "create_cbuf_matrix": (CUB_01, CUB_06, fields(_FILL), CUB_16),
    **{
        f"mad{kind}{form}": (CUB_01, CUB_08, CUB_09)
        for kind in ("", "_acc", "_bias", "_mx", "_mx_acc", "_mx_bias")
        for form in ("", "_raw")
    },
}
"""Rules by operation, but for drains (`drain_rules`)."""
