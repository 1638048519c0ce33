"""vcvt and vtrc, and the fused operations that convert (vector-path 6.6, 6.9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ptokit.diagnostics import ALL_TARGETS, family
from ptokit.types.dtypes import DTYPES, PACKED, DType, f32
from ptokit.types.enums import RoundMode

from ...checks.compiling import Message
from ...machine import Machine
from ...meaning.expressions import (
    OWN,
    Bit,
    Const,
    Convert,
    Element,
    Expr,
    Once,
    Scalar,
    apply,
    equal,
    exp,
    maximum,
    select,
)
from ...meaning.expressions import lane as lane_map
from ...meaning.primitives import INTEGRAL
from ...meaning.words import Lane, Python, Write, lane
from ...site import Site, VregInfo
from ...table import Instr, Together
from ..predicates import PRD_01
from ..registers import VREG_BYTES, Predicate
from ..words import REGISTERS, SOURCE, mask, micro, number, out_vreg, token, types, vreg, word
from . import materialise
from .arithmetic import FB
from .words import ALIKE, MASKED, SAME, SRC, follows, worded

rule = family(f"{SOURCE}, 6.6", targets=ALL_TARGETS)

# Destinations by source. p: part EVEN or ODD; k: part P0 to P3; neither: no part.
_PAIRS = """
f32:  i16 p  i32 -  i64 p  f16 p  bf16 p  e4m3 k  e5m2 k  hif8 k
f16:  u8 p   i8 p   i16 -  i32 p  f32 p  e4m3 p  e5m2 p  hif8 p
bf16: i32 p  f16 -  f32 p  e4m3 p  e5m2 p  e1m2x2 k  e2m1x2 k
u8:   u16 p  u32 k  f16 p
i8:   i16 p  i32 k  f16 p
u16:  u8 p   u32 p
i16:  u8 p   u32 p  i32 p  f16 -  f32 p
u32:  u8 k   u16 p  i16 p  f32 -
i32:  u8 k   u16 p  i16 p  i64 p  f32 -
i64:  f32 p
e4m3: f32 k
e5m2: f32 k
hif8: f32 k
e1m2x2: bf16 k
e2m1x2: bf16 k
"""

_PARTS = {"p": ("EVEN", "ODD"), "k": ("P0", "P1", "P2", "P3"), "-": ()}


def _pairs() -> dict[tuple[DType, DType], tuple[str, ...]]:
    out, known = {}, DTYPES | PACKED
    for line in _PAIRS.strip().splitlines():
        src, cells = line.split(":")
        words = cells.split()
        for name, letter in zip(words[::2], words[1::2], strict=True):
            out[known[src], known[name]] = _PARTS[letter]
    return out


PAIRS = _pairs()
"""The parts that belong to each pair of types vcvt converts."""

_NARROW = frozenset(d for pair in PAIRS for d in pair if d.bits == 8 and d.is_float)
_ROUNDINGS = {("f32", "e4m3"): "RAZ", ("f32", "e5m2"): "RAZ", ("f32", "hif8"): "A", ("f16", "hif8"): "A"}
"""Rounding of conversions to 8 bits of floats; RAFZC for the others, and for pairs of FP4."""

_SPELLINGS = {"RS_ENABLE": "SAT", "RS_DISABLE": "NOSAT"}


def plain(value: str) -> str:
    """An attribute value of the older spelling in the newer one: ROUND_R is R, PART_EVEN is EVEN, RS_ENABLE is SAT."""
    return _SPELLINGS.get(value, value.removeprefix("ROUND_").removeprefix("PART_"))


def _given(o: Site) -> tuple[str, str, str]:
    """Rounding, saturation and part as written; "" where nothing is."""
    rnd = o.attrs.get("rnd") or o.attrs.get("round_mode") or ""
    return plain(rnd), plain(o.attrs.get("sat") or ""), plain(o.attrs.get("part") or "")


def _takes_rounding(src: DType, dst: DType) -> bool:
    if src.is_float and dst.is_float:
        return dst.bits <= src.bits
    return src.is_float or dst.is_float


def _takes_saturation(src: DType, dst: DType) -> bool:
    if dst.is_float:
        return src.is_float and dst.bits <= src.bits and dst not in PACKED.values()
    return src.is_float or dst.bits < src.bits


@rule(
    "VEC-A5-16",
    "pto.vecscope {\n"
    '%r = pto.vcvt %a, %m {rnd = "R", sat = "SAT"{, part = "EVEN"|}} : !pto.vreg<64xf32>, '
    "!pto.mask<b32> -> !pto.vreg<128xf16>\n"
    "}",
    evidence="ptokit",
)
def VEC_16(o: Site) -> Message:
    """vcvt converts between the two types, with the part, rounding and saturation that belong to them.

    Decision: Without sat integers keep their low bits and floats overflow to infinity; NaN gives 0 in integers, and
    with SAT in floats too, as a published program expects. A widening conversion looks at the mask bit of the source
    lane it reads. Rounding to hif8 is A: nothing public says what the hybrid H does. A byte of FP4 is a pair, the low
    bits first.
    """
    source, made = o.operands.get("src"), o.operands.get("dst")
    if not isinstance(source, VregInfo) or not isinstance(made, VregInfo):
        return None
    src, dst = source.dtype, made.dtype
    parts = PAIRS.get((src, dst))
    if parts is None:
        found = ", ".join(d.text for s, d in PAIRS if s is src)
        return f"no conversion from {src.text} to {dst.text}; {src.text} converts to {found or 'nothing'}"
    rnd, sat, part = _given(o)
    if part not in parts and (part or parts):
        wanted = f"needs part {', '.join(parts)}" if parts else "has no part"
        return f"{src.text} to {dst.text} {wanted}" + (f', not "{part}"' if part else "")
    allowed = _ROUNDINGS.get((src.name, dst.name), "RAFZC") if dst in _NARROW else "RAFZCO"
    if rnd and (rnd not in allowed or not _takes_rounding(src, dst)):
        return f'{src.text} to {dst.text} has no rounding "{rnd}"'
    if sat and (sat not in ("SAT", "NOSAT") or not _takes_saturation(src, dst)):
        return f'{src.text} to {dst.text} has no saturation mode "{sat}"'
    return None


def _low_precision(
    m: Machine, src: np.ndarray, mask: Predicate, *, types: Mapping[str, Any], **given: Any
) -> np.ndarray:
    """A conversion from or to floats of 8 bits, or pairs of FP4 in bytes."""
    rnd, sat, part = (plain(given.get(name) or "") for name in ("rnd", "sat", "part"))
    rnd = rnd or plain(given.get("round_mode") or "")
    kinds, first = (types["src"].dtype, types["dst"].dtype), materialise.PARTS[part]
    if kinds[0] in _NARROW:
        return materialise.widened(src, mask, *kinds, first)
    rounding = materialise.ROUNDINGS[rnd] if rnd else RoundMode.NONE
    return materialise.narrowed(src, mask, *kinds, first, rounding, sat == "SAT")


def _converted(o: Site) -> Lane | Python:
    """Lane i of the wider type belongs to lane factor * i + part of the narrower one."""
    src, dst = o.src.dtype, o.dst.dtype
    if {src, dst} & _NARROW:
        return Python(_low_precision)
    rnd, sat, part = _given(o)
    first = materialise.PARTS[part]
    factor = max(src.size, dst.size) // min(src.size, dst.size)
    wide = dst.size > src.size
    value: Expr = Element("src", lane_map(factor, first)) if wide else SRC
    if sat == "SAT" and dst.is_float:
        value = select(equal(value, value), value, 0)  # NaN gives 0
    value = Convert(value, dst, materialise.ROUNDINGS[rnd], sat == "SAT")
    if not wide:
        at = lane_map(factor, first) if factor > 1 else OWN
        return Lane((Write("dst", value, at),), over="src", mask="mask")
    on = Bit("mask", lane_map(factor, first), width=src.size)
    return Lane((Write("dst", select(on, value, Const(0, value))),), lanes=VREG_BYTES // dst.size)


_TYPES = types(" ".join(sorted({t.name for pair in PAIRS for t in pair if t.name in DTYPES})))

VCVT = micro(
    "vcvt",
    "dst = src converted lane by lane, in one part of the narrower register",
    (vreg(), mask()),
    (out_vreg(),),
    None,
    MASKED,
    VEC_16,
    meaning=_converted,
    together=Together(("src", "dst"), {"cpu": PAIRS, "a5": PAIRS}),
    attrs=(
        word("rnd", "", ("R", "A", "F", "C", "Z", "O")),
        word("round_mode", "", ("ROUND_R", "ROUND_A", "ROUND_F", "ROUND_C", "ROUND_Z", "ROUND_O")),
        word("sat", "", ("SAT", "NOSAT", "RS_ENABLE", "RS_DISABLE")),
        word("part", "", ("EVEN", "ODD", "P0", "P1", "P2", "P3", "PART_EVEN", "PART_ODD")),
    ),
    types={**_TYPES, "a5": _TYPES["a5"] | (_NARROW & frozenset(PACKED.values()))},
    source="6.6",
)


VEC_N1 = rule(
    "VEC-A5-N1",
    """
        pto.vecscope {
        %r = pto.vtrc %a, "{Z|O}", %m : !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        }
    """,
    source="vector-path C-37",
    evidence="document",
)(
    """
    vtrc rounds with R, A, F, C or Z.

    Decision: O takes the odd neighbour of a value that is not integral.
    """,
    "plain(rnd) != 'O'",
    "only the manual has rounding to odd",
)


_MODES = tuple(mode for mode in materialise.ROUNDINGS if mode)

VTRC = micro(
    "vtrc",
    "dst = src rounded to an integral value of its type",
    (vreg(), mask()),
    (out_vreg(like="src"),),
    None,
    SAME,
    MASKED,
    worded(VEC_16),
    VEC_N1,
    meaning=lambda o: lane(apply(INTEGRAL[materialise.ROUNDINGS[plain(o.rnd)]], SRC), over="src", mask="mask"),
    attrs=(token("rnd", "R", words=(*_MODES, *(f"ROUND_{mode}" for mode in _MODES)), key="round_mode"),),
    types=FB,
    source="6.6",
)

# Fused operations -----------------------------------------------------------------------------------------------------


def _exp_difference(o: Site) -> Lane:
    """In f32; of narrower lanes those of one part."""
    factor = 4 // o.src.dtype.size
    at = lane_map(factor, materialise.PARTS[o.part]) if factor > 1 else OWN
    x, high = (Element(name, at) if factor == 1 else Convert(Element(name, at), f32) for name in ("src", "max"))
    value = exp(x - high)
    on = Bit("mask", at, width=o.src.dtype.size)
    return Lane((Write("dst", select(on, value, Const(0, value))),), lanes=VREG_BYTES // 4)


VEXPDIF = micro(
    "vexpdif",
    "dst = e ** (src - max) in f32; of f16 the lanes of one part",
    (vreg(), vreg("max"), mask()),
    (out_vreg(),),
    None,
    MASKED,
    ALIKE,
    follows("f16 f32"),
    worded(PRD_01),
    meaning=_exp_difference,
    attrs=(token("part", "EVEN", words=("EVEN", "ODD")),),
    types=types("f16 f32"),
    form=replace(REGISTERS, spellings=("vexpdiff",)),
    source="6.9",
    decision="The difference is rounded to f32, then its exponential. Of f16 the lanes of the part are read.",
)


def _once(o: Site, op: str, factor: Expr, part: str, rnd: str = "", *, saturate: bool, positive: bool = False) -> Lane:
    """In the part of the narrower lanes; rounded once from the exact result."""
    first = next(operand.name for operand in o.instr.operands)
    rounding = materialise.ROUNDINGS[rnd]
    value: Expr = Once(op, (Element(first), factor), o.dst.dtype, rounding, saturate)
    at = lane_map(o.operands[first].dtype.size // o.dst.dtype.size, materialise.PARTS[part])  # type: ignore[union-attr]
    return Lane((Write("dst", maximum(value, 0) if positive else value, at),), over=first, mask="mask")


def _narrowing(text: str, op: str, summary: str, pairs: str, *, positive: bool = False) -> Instr:
    return micro(
        text,
        summary,
        (vreg("src0"), vreg("src1"), mask()),
        (out_vreg(),),
        None,
        MASKED,
        ALIKE,
        follows(pairs),
        meaning=lambda o: _once(o, op, Element("src1"), "EVEN", saturate=True, positive=positive),
        types=types(pairs),
        source="6.9",
        decision="The result is rounded once, to nearest even, saturated, and lies in the even part; no ReLU follows "
        "vmulconv.",
    )


VMULSCVT = micro(
    "vmulscvt",
    "dst = src * scalar in f16, rounded once, in one part",
    (vreg(), number("scalar", "f32"), mask()),
    (out_vreg(),),
    None,
    MASKED,
    follows("f32 f16"),
    worded(PRD_01),
    meaning=lambda o: _once(o, "mul", Scalar("scalar", f32), plain(o.part), plain(o.rnd), saturate=False),
    attrs=(
        token("rnd", "A", words=("A", "ROUND_A")),
        token("part", "EVEN", words=("EVEN", "ODD", "PART_EVEN", "PART_ODD")),
    ),
    types=types("f32 f16"),
    source="PTOAS e32488c9, micro-isa 13",
)
VADDRELUCONV = _narrowing(
    "vaddreluconv",
    "add",
    "dst = max(src0 + src1, 0) in the narrower type, saturated, in the even part",
    "f32 f16  f16 i8",
    positive=True,
)
VMULCONV = _narrowing("vmulconv", "mul", "dst = src0 * src1 in i8, saturated, in the even part", "f16 i8")
