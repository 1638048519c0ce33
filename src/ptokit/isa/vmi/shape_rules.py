"""What the assembler's verifiers ask of constants, numbers of lanes, channels, registers (PTOAS e32488c9, VMI.cpp)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ptokit.diagnostics import Rule
from ptokit.diagnostics.rules import first

from ..checks.compiling import Message
from ..checks.tiles import bound, element, kinds  # noqa: F401
from ..site import Info, LanesInfo, MaskInfo, ScalarInfo, Site, VectorInfo, VregInfo
from .rules import (
    DENSE,
    VMI_03,
    VMI_04,
    VMI_06,
    VMI_09,
    elements,
    grouped,
    laid_out,
    layouts_differ,
    masked,
    number_like,
    predicates,
    reassociated,
    same_predicates,
    same_vectors,
    vectors,
    vmi_rule,
    worded,
)
from .words import lanes_of_register, layout_of, numbers, register_granularity, registers_of  # noqa: F401

_DENSE = re.compile(r"dense<.*> : (?:vector|tensor)<(\d+)x([!\w.]+)>\Z", re.DOTALL)
_LIST = re.compile(r"array<i64(?:: ([-\d, ]*))?>\Z")

VMI_17 = vmi_rule(
    "VMI-17",
    "%r = pto.vmi.vselr %a, %b : !pto.vmi.vreg<64xf32>, !pto.vmi.vreg<64xi{32|16}> -> !pto.vmi.vreg<64xf32>",
    evidence="ptokit",
)(
    "Numbers that choose lanes are integers of the width of the elements, one for each lane of the result.",
    "f'i{source.dtype.bits}' in kinds(index) if isinstance(source, VectorInfo) and isinstance(index, VectorInfo)",
    "{index.name} has elements of {element(index)}; lanes of {element(source)} are chosen by i{source.dtype.bits}",
)


@vmi_rule(
    "VMI-22",
    '%r = "pto.vmi.constant"() {value = dense<1.0> : tensor<32xf32>} : () -> !pto.vmi.vreg<{32xf32|64xf32}>',
    evidence="ptokit",
)
def VMI_22(o: Site) -> Message:
    """A constant is a dense value with the lanes and elements of its vector; of a predicate, of i1."""
    result, text = o.operands.get("result"), str(o.attrs.get("value", ""))
    found = _DENSE.match(text)
    if not isinstance(result, VectorInfo | LanesInfo):
        return None
    if found is None:
        return f"the value {text[:40]} is not dense"
    wanted = element(result) if isinstance(result, VectorInfo) else "i1"
    if int(found[1]) != result.lanes or found[2] != wanted:
        return f"the value has {found[1]} elements of {found[2]}, {result.name} {result.lanes} of {wanted}"
    given = len(numbers(text, result.dtype if isinstance(result, VectorInfo) else None))
    packed = 0 <= given - result.lanes < 8 and wanted == "i1"  # bits fill their last byte
    if given not in (1, result.lanes) and not packed:
        return f"the value lists {given} numbers for {result.lanes} lanes"
    return None


@vmi_rule("VMI-23", "%r = pto.vmi.broadcast %x : f{32|16} -> !pto.vmi.vreg<64xf32>", evidence="ptokit")
def VMI_23(o: Site) -> Message:
    """What is spread over the lanes is a number of their type, or a vector with one lane, or one for each group."""
    value, groups = o.operands.get("value"), o.attrs.get("group")
    for result in vectors(o, ["result"]):
        if groups is None and isinstance(value, ScalarInfo):
            if value.shown != element(result):
                return f"{value.name} is {value.shown}, the elements of {result.name} are {element(result)}"
        elif not isinstance(value, VectorInfo):
            return "groups are spread from a vector"
        elif element(value) != element(result):
            return f"{value.name} has elements of {element(value)}, {result.name} of {element(result)}"
        elif value.lanes != (groups or 1):
            return f"{value.name} has {value.lanes} lanes for {groups or 1} groups"
    return None


VMI_24 = vmi_rule(
    "VMI-24", "%r = pto.vmi.vci %x {group = {4|2}} : i32 -> !pto.vmi.vreg<{128|96}xi32>", evidence="ptokit"
)(
    "Groups that are counted in fill registers, or are parts of one.",
    "groups = group or 1",
    "size = result.lanes // groups",
    "each = lanes_of_register(result)",
    "size % each == 0 or each % size == 0 if isinstance(result, VectorInfo) and groups > 1 and size",
    "{groups} groups of {size} lanes; a register has {each}",
)


VMI_25 = vmi_rule(
    "VMI-25",
    "%r = pto.vmi.create_group_mask %n {num_groups = 8, group_size = {16|8}} : index -> !pto.vmi.mask<128xpred>",
    evidence="ptokit",
)(
    "A predicate of groups has their lanes.",
    "if num_groups is not None and group_size is not None and isinstance(result, LanesInfo)",
    "num_groups > 0 and group_size > 0 and num_groups * group_size == result.lanes",
    "{num_groups} groups of {group_size} lanes are not the {result.lanes} of {result.name}",
)


@vmi_rule("VMI-26", '%r = pto.vmi.pge "PAT_VL{8|80}" : !pto.vmi.mask<64xpred>', evidence="ptokit")
def VMI_26(o: Site) -> Message:
    """pset takes PAT_ALL, and pge PAT_VL with a number of lanes that the predicate has."""
    pattern = o.attrs.get("pattern")
    if pattern is None:
        return None
    if o.instr.text == "vmi.pset":
        return None if pattern == "PAT_ALL" else f"the pattern is '{pattern}'"
    count = pattern.removeprefix("PAT_VL")
    for result in predicates(o, ["result"]):
        if count == pattern or not count.isdecimal() or not 0 < int(count) <= result.lanes:
            return f"the pattern is '{pattern}' for {result.lanes} lanes"
    return None


def _placed(name: str) -> Rule:
    """A predicate with a granularity has a layout."""

    def check(o: Site) -> Message:
        for mask in predicates(o, [name]):
            if mask.granularity != "pred" and not mask.layout:
                return f"{mask.name} has the granularity {mask.granularity} and no layout"
        return None

    return bound(VMI_09, check)


@vmi_rule(
    "VMI-27",
    '%r = "pto.vmi.shuffle"(%a) {indices = array<i64: 0, {7|8}>} : (!pto.vmi.vreg<8xf32>) -> !pto.vmi.vreg<2xf32>',
    evidence="ptokit",
)
def VMI_27(o: Site) -> Message:
    """Lanes are chosen by a number for each lane of the result, which the source has."""
    found = _LIST.match(str(o.attrs.get("indices", "")))
    source, result = o.operands.get("source"), o.operands.get("result")
    if found is None or not isinstance(source, VectorInfo) or not isinstance(result, VectorInfo):
        return None
    numbers = [int(n) for n in (found[1] or "").split(",") if n.strip()]
    if len(numbers) != result.lanes:
        return f"{len(numbers)} numbers for the {result.lanes} lanes of {result.name}"
    outside = [n for n in numbers if not 0 <= n < source.lanes]
    return f"{source.name} has no lane {outside[0]}" if outside else None


def _lists(o: Site) -> Mapping[str, tuple[Info, ...]]:
    return {} if o.around is None else o.around.lists


@vmi_rule(
    "VMI-28",
    '%r = "pto.vmi.channel_merge"(%a, %b) : (!pto.vmi.vreg<64xf32>, !pto.vmi.vreg<{64xf32|64xf16}>) -> '
    "!pto.vmi.vreg<128xf32>",
    around=True,
    evidence="ptokit",
)
def VMI_28(o: Site) -> Message:
    """Channels are two or more vectors of one type, and the vector of all of them has their lanes one by one."""
    whole, parts = _channels(o)
    if whole is None:
        return None
    if len(parts) < 2:
        return f"{len(parts)} channel"
    for part in parts:
        if part.lanes != parts[0].lanes or element(part) != element(whole):
            return f"{part.name} has {part.lanes} lanes of {element(part)}, {parts[0].name} {parts[0].lanes}"
    if whole.lanes != len(parts) * parts[0].lanes:
        return f"{whole.name} has {whole.lanes} lanes, {len(parts)} channels have {parts[0].lanes} each"
    return None


def _channels(o: Site) -> tuple[VectorInfo | None, list[VectorInfo]]:
    splits = o.has_operand("source")
    whole = o.operands.get("source" if splits else "result")
    parts = [part for part in _lists(o).get("results" if splits else "inputs", ()) if isinstance(part, VectorInfo)]
    return (whole if isinstance(whole, VectorInfo) else None), parts


@vmi_rule(
    "VMI-29",
    '%r = "pto.vmi.channel_merge"(%a, %b) : (!pto.vmi.vreg<64xf32, #pto.vmi.layout<contiguous>>, '
    "!pto.vmi.vreg<64xf32, #pto.vmi.layout<contiguous>>) -> "
    "!pto.vmi.vreg<128xf32, #pto.vmi.layout<deinterleaved = {2|4}>>",
    around=True,
    evidence="ptokit",
)
def VMI_29(o: Site) -> Message:
    """Channels that have layouts are contiguous; the vector of 2 or 4 is so, or deinterleaved by their number."""
    whole, parts = _channels(o)
    if whole is None:
        return None
    layouts = [layout_of(info.layout) for info in (whole, *parts)]
    if any(layouts) and not all(layouts):
        return "some of the vectors have a layout, some have none"
    for part, layout in zip(parts, layouts[1:]):
        if layout is not None and layout.kind != "contiguous":
            return f"{part.name} has {part.layout}"
    found = layouts[0]
    if found is None or found.kind == "contiguous" or len(parts) not in (2, 4):
        return None
    wanted = found.kind == "deinterleaved" and found.factor == len(parts) and found.lane_stride == 1
    return None if wanted else f"{whole.name} has {whole.layout}, for {len(parts)} channels"


@vmi_rule(
    "VMI-30",
    '%r = "pto.vmi.pack"(%a) : (!pto.mask<{b32|b16}>) -> !pto.vmi.mask<64xb32, #pto.vmi.layout<contiguous>>',
    around=True,
    evidence="ptokit",
)
def VMI_30(o: Site) -> Message:
    """A logical vector or predicate with a layout is made of the registers that this layout fills."""
    unpacks = o.has_operand("source")
    info = o.operands.get("source" if unpacks else "result")
    if not isinstance(info, VectorInfo | LanesInfo):
        return None
    parts = _lists(o).get("results" if unpacks else "parts", ())
    count = registers_of(info)
    if count is None:
        return f"{info.name} has no layout that says which registers hold it"
    if len(parts) != count:
        return f"{info.name} lies in {count} registers, not {len(parts)}"
    for part in parts:
        if isinstance(info, VectorInfo):
            fits = isinstance(part, VregInfo) and (part.dtype, part.signed) == (info.dtype, info.signed)
        else:
            fits = isinstance(part, MaskInfo) and part.bits == register_granularity(info)
        if not fits:
            return f"{part.name} is not a register of {info.name}"
    return None


@vmi_rule(
    "VMI-31",
    "%r = pto.vmi.ensure_mask_granularity %m : !pto.vmi.mask<64x{b16|pred}> -> !pto.vmi.mask<64xb32>",
    evidence="ptokit",
)
def VMI_31(o: Site) -> Message:
    """Granularities that are changed are stated, before and after."""
    for mask in predicates(o, ["source", "result"]):
        if mask.granularity == "pred":
            return f"{mask.name} has no granularity"
    return None


@vmi_rule(
    "VMI-32",
    "%r = pto.vmi.vdhist %acc, %s, %m : !pto.vmi.vreg<{128xui16|64xui16}>, !pto.vmi.vreg<256xui8>, "
    "!pto.vmi.mask<256xpred> -> !pto.vmi.vreg<{128xui16|64xui16}>",
    evidence="ptokit",
)
def VMI_32(o: Site) -> Message:
    """A histogram counts bytes in 128 or 256 numbers of ui16; a predicate with a layout is of b8."""
    for vector in vectors(o, ["acc"]):
        if vector.lanes not in (128, 256):
            return f"{vector.name} has {vector.lanes} lanes"
    for source in vectors(o, ["source"]):
        for mask in predicates(o, ["mask"]):
            if mask.lanes != source.lanes:
                return f"{mask.name} has {mask.lanes} lanes, {source.name} {source.lanes}"
            if mask.layout and mask.granularity != "b8":
                return f"{mask.name} is a predicate of {mask.granularity}"
    return None


_lane_masks = first(
    "source.lanes == result.lanes if isinstance(source, LanesInfo) and isinstance(result, LanesInfo)",
    "{source.name} has {source.lanes} lanes, {result.name} {result.lanes}",
)


def _both_placed(o: Site) -> Message:
    return layouts_differ(list(predicates(o, ["source", "result"])), same=False)


_COUNTED = (
    elements("result", "i8 i16 i32 f16 f32"),
    number_like("base", "result", open_sign=True),
    worded(order="ASC DESC"),
)
_SAME_LANES = bound(VMI_06, _lane_masks)
_HISTOGRAM = (
    *same_vectors("acc result", elements=False),
    elements("acc result", "ui16"),
    elements("source", "ui8"),
    VMI_32,
    laid_out("acc source result mask", "contiguous"),
)


def _reduced(data: str, key: str = "", sums: bool = False) -> tuple[Rule, ...]:
    """A reduction of `data`, of all its lanes or of each group."""
    rules = [elements("source", data), _same_elements(), masked("source"), grouped("source", "result", key=key or "-")]
    if sums:
        rules.append(reassociated("source"))
    if key == "num_groups":
        rules.append(laid_out("source", DENSE))
    return tuple(rules)


def _same_elements() -> Rule:
    """The elements of source and result are of one type, whatever lanes they have."""

    def check(o: Site) -> Message:
        found = list(vectors(o, ["source", "result"]))
        if len(found) == 2 and element(found[0]) != element(found[1]):
            return f"{found[0].name} has elements of {element(found[0])}, {found[1].name} of {element(found[1])}"
        return None

    return bound(VMI_03, check)


_ANY_NUMBER = "float int"
SHAPE: dict[str, tuple[Rule, ...]] = {
    "constant": (VMI_22,),
    "constant_mask": (VMI_22,),
    "broadcast": (VMI_23,),
    "vbrc": (VMI_23, grouped("result", key="group")),
    "iota": _COUNTED,
    "group_iota": (*_COUNTED, grouped("result", key="group", least=2), VMI_24, laid_out("result", "contiguous")),
    "vci": (*_COUNTED, grouped("result", key="group"), VMI_24),
    "create_mask": (),
    "create_group_mask": (VMI_25,),
    "pset": (VMI_26, _placed("result")),
    "pge": (VMI_26, _placed("result")),
    "plt": (_placed("mask"),),
    **{f"mask_{name}": (same_predicates("lhs rhs result"),) for name in ("and", "or", "xor")},
    "mask_not": (same_predicates("source result"),),
    "reduce_addi": _reduced("i32"),
    "reduce_addf": _reduced("f16 f32", sums=True),
    **{f"reduce_{name}f": _reduced("f16 f32") for name in ("max", "min")},
    **{f"reduce_{name}i": _reduced("i8 i16 i32") for name in ("max", "min")},
    "group_reduce_addf": _reduced("f16 f32", "num_groups", sums=True),
    **{f"group_reduce_{name}f": _reduced("f16 f32", "num_groups") for name in ("max", "min")},
    **{f"group_reduce_{name}i": _reduced("i8 i16 i32", "num_groups") for name in ("add", "max", "min")},
    "vcadd": (*_reduced(_ANY_NUMBER, "group", sums=True), worded(pmode="zero merge")),
    **{name: (*_reduced(_ANY_NUMBER, "group"), worded(pmode="zero merge")) for name in ("vcmax", "vcmin")},
    "vdhist": _HISTOGRAM,
    "vchist": _HISTOGRAM,
    "group_broadcast": (_same_elements(), grouped("result", "source"), laid_out("result", DENSE)),
    "active_prefix_index": (elements("result", "n8 n16 n32"), masked("result")),
    "compress": (*same_vectors("source result"), masked("source")),
    **{
        name: (*same_vectors("lhs rhs low high", layouts="present"), masked("lhs"), worded(pmode="merge zero"))
        for name in ("vintlv", "vdintlv")
    },
    "shuffle": (_same_elements(), VMI_27),
    "vselr": (*same_vectors("index result", elements=False, layouts="any"), VMI_17),
    "channel_split": (VMI_28, VMI_29),
    "channel_merge": (VMI_28, VMI_29),
    "ensure_layout": (*same_vectors("source result", layouts="any"), laid_out("source result", "", always=True)),
    "ensure_mask_layout": (_SAME_LANES, laid_out("source result", "", always=True)),
    "ensure_mask_granularity": (_SAME_LANES, VMI_31, bound(VMI_04, _both_placed)),
    "unpack": (VMI_30,),
    "pack": (VMI_30,),
}
"""Rules by operation."""
