"""What the assembler's verifiers ask of conversions of logical vectors (PTOAS e32488c9, VMI.cpp)."""

from __future__ import annotations

from typing import NamedTuple

from ptokit.diagnostics import Rule
from ptokit.types.dtypes import SINGLES

from ..checks.lanes import bound, element
from ..checks.operands import Message
from ..site import Site, VectorInfo
from .rules import elements, same_vectors, vmi_rule


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
    "VMI-13", "pto.vmi.vcvt of 64xf32 to 64xsi32", "pto.vmi.vcvt of 64xf32 to 64xui8; of 64xf16 to 64xf16"
)(
    "The device converts from the one element type to the other.",
    "_pair(*_types(o)) is not None if _types(o) is not None",
    "there is no conversion from {element(_types(o)[0])} to {element(_types(o)[1])}",
)


@vmi_rule(
    "VMI-14",
    'pto.vmi.vcvt of f32 to f16 {rounding = "R", saturate = "SAT"}',
    'pto.vmi.vcvt of f16 to f32 {rounding = "R"}; of f32 to f16 without saturate',
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


VMI_15 = vmi_rule("VMI-15", "pto.vmi.extf of f16 to f32", "pto.vmi.extf of f32 to f16")(
    "Elements become wider where the name says so, and narrower, or of the same width, where it says that."
)


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


@vmi_rule("VMI-16", "64xf32 as 128xf16", "64xf32 as 64xf16")
def VMI_16(o: Site) -> Message:
    """The same bits as other elements are as many bits."""
    types = _types(o)
    if types is None:
        return None
    a, b = (t.lanes * t.dtype.bits for t in types)
    return None if a == b else f"{types[0].name} has {a} bits, {types[1].name} {b}"
