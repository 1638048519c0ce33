"""What the assembler's verifiers ask of logical vectors, predicates and conversions (PTOAS e32488c9, VMI.cpp).

Each rule is bound with the names of the operands and results that it is about: ``same_vectors("lhs rhs result")``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ptokit.diagnostics import Rule, RuleDecorator
from ptokit.types.dtypes import SINGLES

from ..checks import tiles as checks
from ..checks.compiling import Message
from ..checks.tiles import assembler_rule, bound, element
from ..site import LanesInfo, Site, VectorInfo
from .words import Layout, layout_of

# What the assembler's verifiers ask of logical vectors and predicates (PTOAS e32488c9, VMI.cpp).


Logical = VectorInfo | LanesInfo


def vmi_rule(id: str, example: str, **more: Any) -> RuleDecorator:
    """A rule of the assembler's verifiers of logical vectors, which they also apply to lowered memory."""
    source = "PTOAS e32488c9, VMI.cpp"
    return assembler_rule(id, example, source=source, always=True, **more)


def vectors(o: Site, names: Sequence[str]) -> Iterator[VectorInfo]:
    """The logical vectors among operands and results with these names."""
    return (info for info in checks.vectors(o, names) if isinstance(info, VectorInfo))


def predicates(o: Site, names: Sequence[str]) -> Iterator[LanesInfo]:
    """The logical predicates among operands and results with these names."""
    for name in names:
        info = o.operands.get(name)
        if isinstance(info, LanesInfo):
            yield info


# ------------------------------------------------------------ what belongs together

VMI_03 = vmi_rule(
    "VMI-03",
    "%r = pto.vmi.vadd %a, %b : !pto.vmi.vreg<64xf32>, !pto.vmi.vreg<{64|128}xf32> -> !pto.vmi.vreg<64xf32>",
    evidence="ptokit",
)("Vectors of one operation have as many lanes, and where it computes, elements of one type.")

VMI_04 = vmi_rule(
    "VMI-04",
    "%r = pto.vmi.addf %a, %b : !pto.vmi.vreg<64xf32>, !pto.vmi.vreg<64xf32{|, #pto.vmi.layout<contiguous>}> "
    "-> !pto.vmi.vreg<64xf32>",
    evidence="ptokit",
)("The vectors of an operation have all of them no layout, or all the same one.")


def same_layout(names: str) -> Rule:
    """Vectors whose layouts belong together, whatever lanes they have."""
    listed = names.split()
    return bound(VMI_04, lambda o: layouts_differ(list(vectors(o, listed)), True))


def same_vectors(names: str, *, elements: bool = True, layouts: str = "same") -> tuple[Rule, ...]:
    """Vectors that belong together. ``layouts``: ``same``, ``present`` if these may differ, or ``any``."""
    listed = names.split()

    def placed(o: Site) -> Message:
        return layouts_differ(list(vectors(o, listed)), layouts == "same")

    shapes = checks.same_shape(names, elements=elements)
    return bound(VMI_03, shapes), *([] if layouts == "any" else [bound(VMI_04, placed)])


def layouts_differ(found: Sequence[Logical], same: bool) -> Message:
    """A message if only some have a layout, or with `same` if they have different ones."""
    for info in found[1:]:
        first = found[0]
        if bool(info.layout) != bool(first.layout) or (same and info.layout != first.layout):
            shown = [f"{i.name} has {i.layout or 'no layout'}" for i in (info, first)]
            return ", ".join(shown)
    return None


VMI_05 = vmi_rule(
    "VMI-05",
    '%r = pto.vmi.cmpf "olt", %a, %b : !pto.vmi.vreg<64xf32>, !pto.vmi.vreg<64xf32> -> '
    "!pto.vmi.mask<{64xpred|32xpred}>",
    evidence="ptokit",
)("A predicate has the number of lanes, the granularity and the layout of the vector that it selects lanes of.")


def masked(data: str, names: str = "mask") -> Rule:
    """The predicates belong to the vector `data`."""
    listed = names.split()

    def check(o: Site) -> Message:
        for vector in vectors(o, [data]):
            for mask in predicates(o, listed):
                if (wrong := _unfit(mask, vector)) is not None:
                    return wrong
        return None

    return bound(VMI_05, check)


def _unfit(mask: LanesInfo, vector: VectorInfo) -> Message:
    if mask.lanes != vector.lanes:
        return f"{mask.name} has {mask.lanes} lanes, {vector.name} {vector.lanes}"
    if mask.layout != vector.layout:
        return layouts_differ((mask, vector), True)
    if mask.granularity not in ("pred", f"b{vector.dtype.bits}"):
        return f"{mask.name} is a predicate of {mask.granularity}, {vector.name} has elements of {element(vector)}"
    return None


VMI_06 = vmi_rule(
    "VMI-06",
    "%r = pto.vmi.vand %a, %b : !pto.vmi.mask<64xpred>, !pto.vmi.mask<{64xpred|128xpred}> -> !pto.vmi.mask<64xpred>",
    evidence="ptokit",
)("Predicates of one operation have the same number of lanes, granularity and layout.")


def same_predicates(names: str) -> Rule:
    """Predicates that belong together."""
    listed = names.split()

    def check(o: Site) -> Message:
        found = list(predicates(o, listed))
        for info in found[1:]:
            first = found[0]
            if (info.lanes, info.granularity) != (first.lanes, first.granularity):
                shown = [f"{i.name} is {i.lanes}x{i.granularity}" for i in (info, first)]
                return ", ".join(shown)
        return layouts_differ(found, True)

    return bound(VMI_06, check)


# ---------------------------------------------------------------------- elements

VMI_07 = vmi_rule(
    "VMI-07", "%r = pto.vmi.vsqrt %a : !pto.vmi.vreg<64x{f32|i32}> -> !pto.vmi.vreg<64x{f32|i32}>", evidence="ptokit"
)("The element type is one that the operation has.")


def elements(names: str, allowed: str) -> Rule:
    """Vectors whose elements are one of the words `allowed` (`lane_checks.kinds`)."""
    return bound(VMI_07, checks.elements(names, allowed))


VMI_08 = vmi_rule(
    "VMI-08",
    "%r = pto.vmi.vadds %a, %x, %m : !pto.vmi.vreg<64xf32>, f{32|16}, !pto.vmi.mask<64xpred> -> !pto.vmi.vreg<64xf32>",
    evidence="ptokit",
)("A number that meets lanes has their type; one that is spread or counted from may leave the sign open.")


def number_like(name: str, data: str, *, open_sign: bool = False) -> Rule:
    """The number has the element type of the vector."""
    return bound(VMI_08, checks.number_like(name, data, open_sign=open_sign))


# ------------------------------------------------------------------------ layouts

VMI_09 = vmi_rule(
    "VMI-09",
    "%r = pto.vmi.vdhist %acc, %s, %m : !pto.vmi.vreg<128xui16, "
    "#pto.vmi.layout<{contiguous|deinterleaved = 2}>>, !pto.vmi.vreg<256xui8, "
    "#pto.vmi.layout<contiguous>>, !pto.vmi.mask<256xb8, #pto.vmi.layout<contiguous>> -> "
    "!pto.vmi.vreg<128xui16, #pto.vmi.layout<{contiguous|deinterleaved = 2}>>",
    evidence="ptokit",
)("A vector that has a layout has one that the operation works on.")

DENSE = "contiguous deinterleaved block_deinterleaved"
"""Kinds of layouts with a lane for each element, not for each group."""


def laid_out(names: str, wanted: str, *, always: bool = False) -> Rule:
    """Vectors and predicates whose layouts are of the kinds `wanted`; ``always``: they have one."""
    listed, words = names.split(), wanted.split()

    def check(o: Site) -> Message:
        for name in listed:
            info = o.operands.get(name)
            if not isinstance(info, Logical):
                continue
            found: Layout | None = layout_of(info.layout)
            if found is None and always:
                return f"{info.name} has no layout"
            if found is not None and words and found.kind not in words:
                return f"{info.name} has {info.layout}; {o.instr.text} works on {' or '.join(words)}"
        return None

    return bound(VMI_09, check)


# ------------------------------------------------------------------------- groups

VMI_10 = vmi_rule(
    "VMI-10",
    "%r = pto.vmi.vcadd %a, %m {reassoc, group = {8|10}} : !pto.vmi.vreg<64xf32>, !pto.vmi.mask<64xpred> -> "
    "!pto.vmi.vreg<{8|10}xf32>",
    evidence="ptokit",
)("Lanes divide into as many equal groups as the operation has, and results for groups have a lane for each.")


def grouped(data: str, slots: str = "", *, key: str = "num_groups", least: int = 1) -> Rule:
    """The lanes of `data` divide into groups; `slots` has a lane for each, one in all where there are no groups."""

    def check(o: Site) -> Message:
        count = o.attrs.get(key)
        if count is not None and count < least:
            return f"{key} is {count}"
        for vector in vectors(o, [data]):
            if count is not None and vector.lanes % count:
                return f"{vector.lanes} lanes of {vector.name} are not {count} equal groups"
        for result in vectors(o, [slots]):
            if result.lanes != (count or 1):
                return f"{result.name} has {result.lanes} lanes for {count or 1} groups"
            found = layout_of(result.layout)
            if count is not None and found is not None and (found.kind, found.factor) != ("num_groups", count):
                return f"{result.name} has {result.layout} for {count} groups"
        return None

    return bound(VMI_10, check)


# -------------------------------------------------------------------------- words

VMI_11 = vmi_rule(
    "VMI-11", '%r = pto.vmi.vci %n {order = "{DESC|UP}"} : i32 -> !pto.vmi.vreg<64xi32>', evidence="ptokit"
)("A word is one of those that the operation has.")


def worded(**allowed: str) -> Rule:
    """Attributes whose words are these, with blanks between."""
    return bound(VMI_11, checks.worded(**allowed))


VMI_12 = vmi_rule(
    "VMI-12",
    "%r = pto.vmi.vcadd %a, %m { {reassoc}|} : !pto.vmi.vreg<64xf32>, !pto.vmi.mask<64xpred> -> !pto.vmi.vreg<1xf32>",
    evidence="ptokit",
)("A sum of floats says reassoc: the device adds pair by pair.")


def reassociated(data: str) -> Rule:
    """A sum of `data`."""

    def check(o: Site) -> Message:
        floats = any(info.dtype.is_float for info in vectors(o, [data]))
        return "the sum of floats lacks reassoc" if floats and "reassoc" not in o.attrs else None

    return bound(VMI_12, check)


# What the assembler's verifiers ask of conversions of logical vectors (PTOAS e32488c9, VMI.cpp).


class Pair(NamedTuple):
    """A conversion that the device has: roundings that may be named, and if text says how it saturates."""

    roundings: str
    saturates: bool


_TO_INTEGER = "RAFCZ"
_PAIRS = {
    ("f32", "si32"): Pair(_TO_INTEGER, True),
    ("f32", "si16"): Pair(_TO_INTEGER, True),
    ("f16", "si32"): Pair(_TO_INTEGER, False),
    ("f16", "si16"): Pair(_TO_INTEGER, True),
    ("f16", "si8"): Pair(_TO_INTEGER, True),
    ("bf16", "si32"): Pair(_TO_INTEGER, True),
    ("f16", "ui8"): Pair(_TO_INTEGER, True),
    ("bf16", "f16"): Pair("RAHZ", True),
    ("bf16x2", "e2m1x2"): Pair("RAFZC", False),
    ("bf16x2", "e1m2x2"): Pair("RAFZC", False),
    ("e2m1x2", "bf16x2"): Pair("", False),
    ("e1m2x2", "bf16x2"): Pair("", False),
}
"""Floats to integers, floats of one width, and pairs; other floats widen, or narrow as `_NARROWER` says."""
_NARROWER = Pair("RAHZ", True)
_WIDER = Pair("", False)
_INTEGERS = Pair("", True)


def _sign(info: VectorInfo) -> str:
    """The type for `_PAIRS`: where text leaves the sign of an integer open, it counts as unsigned."""
    if not info.dtype.is_integer:
        return info.dtype.name
    return f"{'si' if info.signed else 'ui'}{info.dtype.bits}"


def _pair(source: VectorInfo, result: VectorInfo) -> Pair | None:
    """The conversion; None if there is none."""
    found = _PAIRS.get((_sign(source), _sign(result)))
    a, b = source.dtype, result.dtype
    if found is not None:
        return found
    if a.is_float and b.is_float:
        if a.bits == b.bits or a in SINGLES or b in SINGLES:
            return None
        return _WIDER if a.bits < b.bits else _NARROWER
    if a.is_float:
        return None
    if b.is_float:
        return _WIDER if source.signed and b not in SINGLES else None
    return None if a.bits == b.bits else _WIDER if a.bits < b.bits else _INTEGERS


def _types(o: Site) -> tuple[VectorInfo, VectorInfo] | None:
    source, result = o.operands.get("source"), o.operands.get("result")
    return (source, result) if isinstance(source, VectorInfo) and isinstance(result, VectorInfo) else None


VMI_13 = vmi_rule(
    "VMI-13",
    '%r = pto.vmi.vcvt %a {saturate = "SAT"} : !pto.vmi.vreg<64xf32> -> !pto.vmi.vreg<64x{si32|ui8}>',
    evidence="ptokit",
)(
    "The device converts from the one element type to the other.",
    "_pair(*_types(o)) is not None if _types(o) is not None",
    "there is no conversion from {element(_types(o)[0])} to {element(_types(o)[1])}",
)


@vmi_rule(
    "VMI-14",
    '%r = pto.vmi.vcvt %a {rounding = "{R|Q}", saturate = "SAT"} : !pto.vmi.vreg<64xf32> -> !pto.vmi.vreg<64xf16>',
    evidence="ptokit",
)
def VMI_14(o: Site) -> Message:
    """A conversion that rounds may say how, with a letter it has; one that saturates says if it does, SAT or NOSAT."""
    types = _types(o)
    pair = None if types is None else _pair(*types)
    if pair is None or types is None:
        return None
    rounding, saturate = o.attrs.get("rounding"), o.attrs.get("saturate")
    shown = f"from {element(types[0])} to {element(types[1])}"
    if rounding is not None and (len(rounding) != 1 or rounding not in pair.roundings):
        return f"rounding is '{rounding}'; {shown} it is {' or '.join(pair.roundings) or 'not stated'}"
    if not pair.saturates:
        return None if saturate is None else f"nothing saturates {shown}"
    if saturate not in ("SAT", "NOSAT"):
        return f"saturate is {'missing' if saturate is None else repr(saturate)}; {shown} it is SAT or NOSAT"
    if saturate == "SAT" and (_sign(types[0]), _sign(types[1])) == ("si32", "si8"):
        return "the device does not saturate from si32 to si8"
    return None


VMI_15 = vmi_rule(
    "VMI-15", "%r = pto.vmi.extf %a : !pto.vmi.vreg<64xf{16|32}> -> !pto.vmi.vreg<64xf{32|16}>", evidence="ptokit"
)("Elements become wider where the name says so, and narrower, or of the same width, where it says that.")


def _width(wider: bool, *, same: bool = False) -> Rule:
    def check(o: Site) -> Message:
        types = _types(o)
        if types is None:
            return None
        a, b = (t.dtype.bits for t in types)
        if (a < b) if wider else (a > b or (same and a == b)):
            return None
        return f"{element(types[1])} is not {'wider' if wider else 'narrower'} than {element(types[0])}"

    return bound(VMI_15, check)


_LANES = same_vectors("source result", elements=False, layouts="any")
_FLOATS = "float bf16x2"
CONVERSION: tuple[Rule, ...] = (*_LANES, VMI_13, VMI_14)
_INTS = {"si": "si8 si16 si32", "ui": "ui8 ui16 ui32"}
LEGACY: dict[str, tuple[Rule, ...]] = {
    "extf": (*_LANES, elements("source result", _FLOATS), VMI_13, _width(True)),
    "truncf": (*CONVERSION, elements("source result", _FLOATS), _width(False, same=True)),
    "fptosi": (*CONVERSION, elements("source", _FLOATS), elements("result", _INTS["si"])),
    "fptoui": (*CONVERSION, elements("source", _FLOATS), elements("result", _INTS["ui"])),
    "sitofp": (*_LANES, elements("source", "si32"), elements("result", "f32")),
    "extsi": (*_LANES, elements("source result", _INTS["si"]), _width(True)),
    "extui": (*_LANES, elements("source result", _INTS["ui"]), _width(True)),
    "trunci": (*_LANES, elements("source result", "int"), VMI_14, _width(False)),
}
"""Rules of conversions that say in their name what they convert."""


@vmi_rule("VMI-16", "%r = pto.vmi.bitcast %a : !pto.vmi.vreg<64xf32> -> !pto.vmi.vreg<{128|64}xf16>", evidence="ptokit")
def VMI_16(o: Site) -> Message:
    """The same bits as other elements are as many bits."""
    types = _types(o)
    if types is None:
        return None
    a, b = (t.lanes * t.dtype.bits for t in types)
    return None if a == b else f"{types[0].name} has {a} bits, {types[1].name} {b}"
