"""What the assembler's verifiers ask of operations on registers and predicates (PTOAS e32488c9).

The rules of the instruction set speak first: where one of them is broken at the same place, these are silent.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ptokit.diagnostics import Rule, RuleDecorator

from ..checks.compiling import Message
from ..checks.tiles import assembler_rule, bound, element, elements, kinds, memory_of, number_like, same_shape, vectors
from ..site import MaskInfo, PtrInfo, Site, VregInfo

# Which elements the assembler's verifier lets vcvt convert, and how (PTOAS e32488c9, VPTO.cpp).


class Pair(NamedTuple):
    """A conversion: letters of its roundings (empty: none), if it saturates, and its parts."""

    roundings: str
    saturates: bool
    parts: tuple[str, ...]


_PARTS = {"-": (), "p": ("EVEN", "ODD"), "k": ("P0", "P1", "P2", "P3")}
_ANY = "RAFCZOH"
_TABLE = """
f32:    e4m3 RAHZ s k, e5m2 RAHZ s k, hif8 AH s k, f16 * s p, bf16 * s p, i16 * s p, i64 * s p, i32 * s -
f16:    e4m3 RAFZC s p, e5m2 RAFZC s p, hif8 AH s p, f32 - - p, i32 * - p, i16 * s -, i8 * s p, u8 * s p
bf16:   e4m3 RAFZC s p, e5m2 RAFZC s p, e1m2x2 RAFZC - k, e2m1x2 RAFZC - k, f16 * s -, f32 - - p, i32 * s p
u8:     f16 - - p, u16 - - p, u32 - - k
i8:     f16 - - p, i16 - - p, i32 - - k
u16:    u8 - s p, u32 - - p
i16:    f16 * - -, f32 - - p, u32 - - p, i32 - - p, u8 - s p
u32:    u8 - s k, u16 - s p, i16 - s p
i32:    f32 * - -, u8 - s k, u16 - s p, i16 - s p, i64 - - p
i64:    f32 * - p, i32 - s p
e4m3:   f32 - - k
e5m2:   f32 - - k
hif8:   f32 - - k
e1m2x2: bf16 - - k
e2m1x2: bf16 - - k
"""


def _pairs() -> dict[tuple[str, str], Pair]:
    found = {}
    for line in _TABLE.strip().splitlines():
        source, cells = line.split(":")
        for cell in cells.split(","):
            to, roundings, saturates, parts = cell.split()
            letters = {"-": "", "*": _ANY}.get(roundings, roundings)
            found[source, to] = Pair(letters, saturates == "s", _PARTS[parts])
    return found


PAIRS = _pairs()
"""By the names of both elements; an integer without a sign counts as signed."""


def plain(value: str) -> str:
    """A word of the older spelling in the newer one: ROUND_R is R, PART_EVEN is EVEN, RS_ENABLE is SAT."""
    return {"RS_ENABLE": "SAT", "RS_DISABLE": "NOSAT"}.get(value, value.removeprefix("ROUND_").removeprefix("PART_"))


@assembler_rule(
    "MIC-08",
    """
        pto.vecscope {
        %r = pto.vcvt %a, %m {part = "EVEN"{|, rnd = "R"}} : !pto.vreg<128xf16>, !pto.mask<b16> -> !pto.vreg<64xf32>
        }
    """,
    source="PTOAS e32488c9, VPTO.cpp",
    covered_by=("VEC-A5-16", "VEC-A5-07"),
)
def MIC_08(o: Site) -> Message:
    """vcvt states the rounding, the saturation and the part of a conversion that has them, and no others."""
    source, result = o.operands.get("src"), o.operands.get("dst")
    if not isinstance(source, VregInfo) or not isinstance(result, VregInfo):
        return None
    shown = f"{element(source)} to {element(result)}"
    pair = PAIRS.get((source.dtype.name, result.dtype.name))
    if pair is None:
        return f"there is no conversion from {shown}"
    rounding = plain(o.attrs.get("rnd") or o.attrs.get("round_mode") or "")
    saturation, part = (plain(o.attrs.get(key) or "") for key in ("sat", "part"))
    if (rounding or pair.roundings) and (not rounding or rounding not in pair.roundings):
        return _wrong("rnd", rounding, tuple(pair.roundings), shown)
    if (saturation or pair.saturates) and not (pair.saturates and saturation in ("SAT", "NOSAT")):
        return _wrong("sat", saturation, ("SAT", "NOSAT") if pair.saturates else (), shown)
    if (part or pair.parts) and part not in pair.parts:
        return _wrong("part", part, pair.parts, shown)
    return None


def _wrong(key: str, given: str, wanted: tuple[str, ...], shown: str) -> str:
    if not wanted:
        return f"{shown} has no {key}"
    return f"{shown} needs {key} {', '.join(wanted)}" + (f', not "{given}"' if given else "")


# What the assembler's verifiers ask of operations on registers and predicates (PTOAS e32488c9, VPTO.cpp).


SOURCE = "PTOAS e32488c9, VPTO.cpp"


def verified(id: str, example: str, covered: str = "", **more: Any) -> RuleDecorator:
    """A rule of the assembler's verifiers of registers; `covered`: rules that say the same, by their ids."""
    return assembler_rule(id, example, source=SOURCE, always=True, covered_by=tuple(covered.split()), **more)


# ------------------------------------------------------------------------- types

MIC_01 = verified(
    "MIC-01",
    """
        pto.vecscope {
        %r = pto.vadd %a, %b, %m : !pto.vreg<64xsi32>, !pto.vreg<64x{si32|i32}>, !pto.mask<b32> -> !pto.vreg<64xsi32>
        }
    """,
    "VEC-A5-06",
)("Registers that an operation takes together have one type, also in the sign that text says.")


def same(names: str) -> Rule:
    """Registers of one type."""
    return bound(MIC_01, same_shape(names))


MIC_02 = verified(
    "MIC-02",
    "%d = pto.vcpadd %a, %m : !pto.vreg<{64xf32|64xi32}>, !pto.mask<b32> -> !pto.vreg<{64xf32|64xi32}>",
)("The element type is one that the operation is defined for.")


def of(names: str, allowed: str) -> Rule:
    """Registers with elements of these kinds (`lane_checks.kinds`)."""
    return bound(MIC_02, elements(names, allowed))


_STORED_ONLY = frozenset("e4m3 e5m2 e8m0 hif8 hif8x2 bf16x2 e2m1x2 e1m2x2".split())

MIC_03 = verified(
    "MIC-03",
    "%d = pto.vadd %a, %b, %m : !pto.vreg<{256xi8|256xf8E4M3FN}>, !pto.vreg<{256xi8|256xf8E4M3FN}>, "
    "!pto.mask<b8> -> !pto.vreg<{256xi8|256xf8E4M3FN}>",
)("8-bit floats and pairs are loaded, stored, moved and converted; nothing computes with them.")


def computed(name: str) -> Rule:
    """The register's elements are numbers that the device computes with."""

    def check(o: Site) -> Message:
        for info in vectors(o, [name]):
            if info.dtype.name in _STORED_ONLY:
                return f"{info.name} has elements of {element(info)}"
        return None

    return bound(MIC_03, check)


MIC_04 = verified("MIC-04", "%d = pto.vbr %x : {f32|f16} -> !pto.vreg<64xf32>")(
    "A number that meets lanes has their type, or is an integer of their width that leaves its sign open."
)


def meets(name: str, data: str) -> Rule:
    """A number that meets the lanes of `data`."""
    return bound(MIC_04, number_like(name, data, open_sign=True))


MIC_05 = verified("MIC-05", '%d = pto.vtrc %a, %m, "R" : !pto.vreg<64xf32>, !pto.mask<{b32|b16}> -> !pto.vreg<64xf32>')(
    "A predicate has the granularity that the operation works with."
)


def granular(bits: Callable[[Site], int | None]) -> Rule:
    """The predicate has this granularity; None if any is taken."""

    def check(o: Site) -> Message:
        mask, wanted = o.operands.get("mask"), bits(o)
        if not isinstance(mask, MaskInfo) or wanted is None or mask.bits in (0, wanted):
            return None
        return f"{mask.name} is a predicate of b{mask.bits}; {o.instr.text} takes b{wanted} here"

    return bound(MIC_05, check)


def _of_lanes(name: str) -> Rule:
    """The granularity is the width of the elements of a register."""
    return granular(lambda o: next((min(32, info.dtype.bits) for info in vectors(o, [name])), None))


# ------------------------------------------------------------------------ memory


@verified("MIC-06", "%v, %q = pto.vlds %p[%i] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>, !pto.ptr<{f32|f16}, ub>")
def MIC_06(o: Site) -> Message:
    """The pointer that an access gives back has the type of the pointer it was given."""
    moved = [o.operands.get(result.name) for result in o.instr.produces if result.kind == "ptr"]
    bases = [o.operands.get(operand.name) for operand in o.instr.operands if operand.kind == "ptr"]
    for base in bases[:1]:
        for pointer in moved:
            if not isinstance(base, PtrInfo) or not isinstance(pointer, PtrInfo):
                continue
            if (element(base), base.space) != (element(pointer), pointer.space):
                return f"{pointer.name} points to {element(pointer)} in {pointer.space}, not {element(base)}"
    return None


@verified("MIC-07", "%v = pto.vlds %p[%i] : !pto.ptr<f32, {vec|gm}> -> !pto.vreg<64xf32>")
def MIC_07(o: Site) -> Message:
    """Registers and predicates are loaded from the unified buffer and stored to it."""
    for operand in o.instr.operands:
        info = o.operands.get(operand.name)
        found = memory_of(info) if operand.space == "ub" else None
        if info is not None and found is not None and found.space == "gm":
            return f"{info.name} lies in global memory"
    return None


_PACKED_MODES = {
    "MRG4CHN_B8": 32,
    "MRG2CHN_B8": 16,
    "MRG2CHN_B16": 32,
    "PK_B16": 16,
    "PK_B32": 32,
    "PK_B64": 32,
    "PK4_B32": 32,
}
"""Granularity of the predicates of stores that merge channels or pack."""


@verified(
    "MIC-09",
    "%d = pto.vgather2 %p, %o, %m : !pto.ptr<{i8|ui8}, ub>, !pto.vreg<128xui16>, !pto.mask<b16> -> !pto.vreg<128xi16>",
)
def MIC_09(o: Site) -> Message:
    """Gathered lanes are those of memory, bytes in 16 bits; offsets are integers of that width without a sign."""
    held, result, offsets = (o.operands.get(name) for name in ("src", "dst", "offsets"))
    if not isinstance(held, PtrInfo) or not isinstance(result, VregInfo) or not isinstance(offsets, VregInfo):
        return None
    bits = max(16, held.dtype.bits)
    if held.dtype.is_integer:
        fits = result.dtype.is_integer and result.dtype.bits == bits and (result.dtype.kind == held.dtype.kind)
    else:
        fits = result.dtype is held.dtype and held.dtype.name in ("f16", "bf16", "f32")
    if not fits or bits > 32:
        return f"elements of {element(held)} are not gathered into {element(result)}"
    if f"ui{bits}" not in kinds(offsets):
        return f"offsets are of {element(offsets)}, not of ui{bits} or i{bits}"
    return None


@verified(
    "MIC-10",
    "pto.vscatter %v, %p, %o, %m : !pto.vreg<64xf32>, !pto.ptr<{f32|i32}, ub>, !pto.vreg<64xi32>, !pto.mask<b32>",
)
def MIC_10(o: Site) -> Message:
    """Lanes of 32 bits are scattered at offsets of 32 bits, others at 16: bytes, too, every second of them."""
    value, memory, offsets = (o.operands.get(name) for name in ("value", "dst", "offsets"))
    if not isinstance(value, VregInfo) or not isinstance(offsets, VregInfo):
        return None
    bits = 32 if value.dtype.bits == 32 else 16
    if value.dtype.bits > 32 or not offsets.dtype.is_integer or offsets.dtype.bits != bits:
        return f"offsets are of {element(offsets)}; lanes of {element(value)} are scattered at i{bits}"
    if isinstance(memory, PtrInfo) and element(memory) != element(value):
        return f"{value.name} has elements of {element(value)}, the memory of {element(memory)}"
    return None


# ----------------------------------------------------------------------- shifts …


@verified(
    "MIC-11",
    "%d = pto.vshr %a, %b, %m : !pto.vreg<64xi32>, !pto.vreg<{64xsi32|64xi32}>, !pto.mask<b32> -> !pto.vreg<64xi32>",
)
def MIC_11(o: Site) -> Message:
    """Lanes are shifted by signed integers of their width.

    Older texts count with the type of the lanes, and mean the same.
    """
    for source in vectors(o, ["src"]):
        for count in vectors(o, ["count"]):
            if f"si{source.dtype.bits}" not in kinds(count):
                return f"{count.name} has elements of {element(count)}, not of si{source.dtype.bits}"
    return None


MIC_12 = verified(
    "MIC-12",
    """
        pto.vecscope {
        %r = pto.vshls %a, %n, %m : !pto.vreg<64xi32>, {i16|i32}, !pto.mask<b32> -> !pto.vreg<64xi32>
        }
    """,
    "VEC-A5-06",
)(
    "Lanes are shifted by a number of i16.",
    "count.shown == 'i16' if isinstance(count, ScalarInfo)",
    "{count.name} is {count.shown}",
)


@verified(
    "MIC-13",
    """
        pto.vecscope {
        %r = pto.vselr %a, %b : !pto.vreg<64xf32>, !pto.vreg<64x{i32|f32}> -> !pto.vreg<64xf32>
        }
    """,
    "VEC-A5-17",
)
def MIC_13(o: Site) -> Message:
    """Numbers that choose lanes are integers of their width."""
    for source in vectors(o, ["src", "src0"]):
        for index in vectors(o, ["index", "src1"]):
            if f"i{source.dtype.bits}" not in kinds(index):
                return f"{index.name} has elements of {element(index)}, not of i{source.dtype.bits}"
    return None


@verified("MIC-14", '%d = pto.vpack %a, "LOWER" : !pto.vreg<64xi32> -> !pto.vreg<{128xu16|128xi16}>')
def MIC_14(o: Site) -> Message:
    """Packing halves integers of 16 or 32 bits, to unsigned ones; unpacking doubles them."""
    source = next(vectors(o, ["src0", "src"]), None)
    result = next(vectors(o, ["dst"]), None)
    if source is None or result is None:
        return None
    packs = o.instr.text == "vpack"
    wide, narrow = (source, result) if packs else (result, source)
    integers = wide.dtype.is_integer and narrow.dtype.is_integer
    if integers and wide.dtype.bits == 2 * narrow.dtype.bits and (not packs or narrow.dtype.kind == "u"):
        return None
    return f"elements of {element(source)} are not {'' if packs else 'un'}packed to {element(result)}"


@verified("MIC-15", "%d = pto.vcadd %a, %m : !pto.vreg<128xui16>, !pto.mask<b16> -> !pto.vreg<{64xu32|64xi32}>")
def MIC_15(o: Site) -> Message:
    """The sum of integers of 8 or 16 bits is twice as wide, of the same sign."""
    for source in vectors(o, ["src"]):
        for result in vectors(o, ["dst"]):
            bits = min(32, 2 * source.dtype.bits) if source.dtype.is_integer else source.dtype.bits
            given = (result.dtype.kind, result.dtype.bits, result.signed)
            if given != (source.dtype.kind, bits, source.signed) and source.dtype is not result.dtype:
                return f"the sum of elements of {element(source)} is not one of {element(result)}"
            if source.dtype is result.dtype and bits != source.dtype.bits:
                return f"the sum of elements of {element(source)} has {bits} bits"
    return None


@verified(
    "MIC-16",
    "%v, %f = pto.vcbmax %a, %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>, !pto.mask<{b32|b16}>",
)
def MIC_16(o: Site) -> Message:
    """The predicate of what was found has the type of the one that was given."""
    given, found = o.operands.get("mask"), o.operands.get("found")
    if not isinstance(given, MaskInfo) or not isinstance(found, MaskInfo) or 0 in (given.bits, found.bits):
        return None
    return None if given.bits == found.bits else f"{found.name} is of b{found.bits}, {given.name} of b{given.bits}"


_I, _F2, _F3 = "i8 i16 i32", "f16 f32", "f16 bf16 f32"
_PAIR, _ONE = same("src0 src1 dst"), same("src dst")
_UNARY = (_ONE, computed("src"))
_NUMBER = (*_UNARY, meets("scalar", "src"))
_POSTED = (MIC_06, MIC_07)

VERIFIED: dict[str, tuple[Rule, ...]] = {
    **{name: (_PAIR, computed("src0")) for name in ("vadd", "vsub", "vmul", "vdiv", "vsel")},
    **dict.fromkeys(("vmax", "vmin", "vintlvv2", "vdintlvv2"), (_PAIR,)),
    **{name: (_PAIR, of("src0", "float int")) for name in ("vand", "vor", "vxor")},
    **{name: (_PAIR, of("src0", "i32")) for name in ("vaddc", "vsubc", "vaddcs", "vsubcs")},
    "vprelu": (_PAIR, of("src0", _F2)),
    "vmula": (same("acc src0 src1 dst"),),
    "vmadd": (same("acc src0 src1 dst"), of("acc", _F3)),
    "vmull": (same("src0 src1 lo hi"), of("src0", "i32")),
    **{name: (same("src0 src1 lo hi"),) for name in ("vintlv", "vdintlv")},
    "vcmp": (same("src0 src1"),),
    "vcmps": (meets("scalar", "src"),),
    "vselr": (_ONE, MIC_13),
    "vselrv2": (same("src0 dst"), MIC_13),
    "vcvt": (MIC_08, _of_lanes("src")),
    "vtrc": (_ONE, of("src", _F3), _of_lanes("src")),
    "vexpdif": (same("src max"), of("src", _F2), of("dst", "f32"), _of_lanes("src")),
    "vmulscvt": (of("src", "f32"), of("dst", "f16"), granular(lambda o: 32)),
    **{name: (same("src0 src1"),) for name in ("vaddreluconv", "vmulconv")},
    "vldsx2": (same("low high"), *_POSTED),
    "vstsx2": (same("low high"), MIC_07),
    **{name: (same("src value"), of("src", f"{_I} {_F2}"), MIC_16) for name in ("vcbmax", "vcbmin")},
    **{
        name: (same("acc dst"), of("acc", "i16"), of("src", "i8"), granular(lambda o: 8))
        for name in ("chistv2", "dhistv2")
    },
    "vgather2": (MIC_07, MIC_09, _of_lanes("dst")),
    "vgather2_bc": (MIC_07, of("offsets", "i32")),
    "vgatherb": (MIC_07, of("offsets", "i32"), granular(lambda o: 32)),
    "vscatter": (MIC_07, MIC_10, granular(lambda o: 32 if o.value.dtype.bits == 32 else 16)),
    "vlds": _POSTED,
    "uvld": (MIC_07,),
    "vsts": (*_POSTED, granular(lambda o: _PACKED_MODES.get(o.attrs.get("dist") or ""))),
    "vbr": (meets("scalar", "dst"),),
    "vdup": (meets("src", "dst"), same("src dst"), _of_lanes("dst")),
    "vci": (of("dst", f"{_I} {_F2}"), meets("start", "dst")),
    **dict.fromkeys(("vldus", "vstus", "vstas", "plds", "pldi", "psts", "psti", "pstu", "vsldb", "vsstb"), _POSTED),
    **dict.fromkeys(("vldas", "vstur", "vstar"), (MIC_07,)),
    **dict.fromkeys(("sprsti", "sprsts"), _POSTED),
    **dict.fromkeys(("vexp", "vln", "vsqrt", "vneg", "vnot", "vsqz"), _UNARY),
    "vabs": (_ONE,),
    "vrelu": (*_UNARY, of("src", "si32 n32 f16 f32")),
    "vusqz": (_ONE, of("src", "si8 si16 si32 n8 n16 n32")),
    **dict.fromkeys(("vpack", "vsunpack", "vzunpack"), (MIC_14,)),
    "vcadd": (of("src", f"{_I} {_F2}"), MIC_15),
    **dict.fromkeys(("vcmax", "vcmin"), (_ONE,)),
    **{name: (*_UNARY, of("src", f"{_I} {_F2}")) for name in ("vcgadd", "vcgmax", "vcgmin")},
    "vcpadd": (*_UNARY, of("src", _F2)),
    **{name: (_ONE, of("src", "int"), MIC_12) for name in ("vshls", "vshrs")},
    **{name: (_ONE, computed("src"), of("src", "int"), MIC_11) for name in ("vshl", "vshr")},
    **dict.fromkeys(("vadds", "vmuls", "vmaxs", "vmins", "vlrelu"), _NUMBER),
    "vaxpy": (same("x y dst"), of("x", _F2), meets("alpha", "x"), _of_lanes("x")),
}
"""Rules by operation."""
