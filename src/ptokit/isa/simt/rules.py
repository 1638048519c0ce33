"""What the assembler's verifiers ask of operations of threads, conversions among them (PTOAS e32488c9, VPTO.cpp)."""

from __future__ import annotations

import re
from typing import Any

from ptokit.diagnostics import Doubt, Rule, RuleDecorator
from ptokit.types.values import element_text

from ..checks.compiling import Message
from ..checks.tiles import assembler_rule
from ..site import Info, PtrInfo, ScalarInfo, Site

# Which numbers a thread converts to which, and how they are rounded (PTOAS e32488c9, VPTO.cpp).


_FLOATS = ("f16", "bf16", "f32")
_INTEGERS = ("i32", "i64", "si32", "si64", "ui32", "ui64")
_PLAIN = "rafcz"
_F32, _F16, _BF16 = "vector<2xf32>", "vector<2xf16>", "vector<2xbf16>"
_F8 = ("vector<2xf8E4M3FN>", "vector<2xf8E5M2>")
_HIF8 = "!pto.hif8x2"
_F4 = ("!pto.f4E2M1x2", "!pto.f4E1M2x2")
_PAIRS = {
    (_F32, _F16): "rafczo",
    **dict.fromkeys([(_F32, _BF16), (_F16, _F32), (_BF16, _F32)], _PLAIN),
    **dict.fromkeys([(_F32, f8) for f8 in _F8], "r"),
    **dict.fromkeys([(_F32, _HIF8), (_F16, _HIF8)], "ah"),
    **dict.fromkeys([(narrow, wide) for narrow in (*_F8, _HIF8) for wide in (_F32, _F16)], _PLAIN),
    **dict.fromkeys([(_BF16, f4) for f4 in _F4], _PLAIN),
    **dict.fromkeys([(f4, _BF16) for f4 in _F4], _PLAIN),
}
"""Roundings of conversions of pairs."""


def _roundings(source: str, result: str) -> str | None:
    """The letters of the roundings of a conversion; None if there is none."""
    if (source, result) in _PAIRS:
        return _PAIRS[source, result]
    if source in _INTEGERS:
        wide = source.endswith("64")
        return _PLAIN if result == "f32" or (result in _FLOATS and not wide) else None
    if source not in _FLOATS:
        return None
    if result in _INTEGERS:
        return _PLAIN if source == "f32" or not result.endswith("64") else None
    if result not in _FLOATS:
        return None
    return "rafczo" if (source, result) == ("f32", "f16") else _PLAIN


def refused(source: str, result: str, rounding: str, saturates: bool, sign: bool) -> str | None:
    """What is wrong with a conversion, or None. ``sign``: it says if the integer is signed."""
    shown = f"{source} to {result}"
    roundings = _roundings(source, result)
    if roundings is None:
        return f"there is no conversion from {shown}"
    integer = source in _INTEGERS or result in _INTEGERS
    if sign != integer:
        return f"{shown} {'does not say' if integer else 'says'} if the integers are signed"
    if result in _INTEGERS and not saturates:
        return f"{shown} saturates"
    if rounding not in roundings:
        return f"{shown} rounds with {', '.join(roundings)}, not {rounding}"
    return None


# What the assembler's verifiers ask of operations of threads (PTOAS e32488c9, VPTO.cpp).


SOURCE = "PTOAS e32488c9, VPTO.cpp"
_PACKED = re.compile(r"vector<(\d+)x([!\w.]+)>\Z")
_FLOAT8 = ("f8E4M3FN", "f8E5M2")


def verified(id: str, example: str, **more: Any) -> RuleDecorator:
    """A rule of the assembler's verifiers."""
    return assembler_rule(id, example, source=SOURCE, always=True, **more)


def shown(info: Info | None) -> str:
    """The type of a number, or of the elements of a pointer, as text has it; empty for others."""
    if isinstance(info, ScalarInfo):
        return info.shown
    return element_text(info.dtype, info.signed) if isinstance(info, PtrInfo) else ""


def _bits(type: str) -> int:
    """The width of an integer; 0 of others."""
    found = re.fullmatch(r"[su]?i(\d+)", type)
    return int(found[1]) if found else 0


@verified(
    "THR-01",
    """
        func.func @f(%i: index, %p: !pto.ptr<i32, gm>) attributes {pto.simt_entry} {
          %v = pto.ldg %p[%i] : !pto.ptr<i32, gm> -> {i32|i16}
          return
        }
    """,
    evidence="ptokit",
)
def THR_01(o: Site) -> Message:
    """A number that is loaded, stored or combined has the type of the elements that the pointer points to."""
    memory = shown(o.operands.get("ptr"))
    for name in ("value", "compare", "result"):
        given = shown(o.operands.get(name))
        if memory and given and given != memory:
            return f"{o:{name}} is {given}, the memory has elements of {memory}"
    return None


THR_02 = verified(
    "THR-02",
    """
        func.func @f(%i: index, %p: !pto.ptr<i32, {gm|ub}>) attributes {pto.simt_entry} {
          %v = pto.ldg %p[%i] : !pto.ptr<i32, {gm|ub}> -> i32
          return
        }
    """,
    evidence="ptokit",
)(
    "Threads load and store global memory where the name says so, and combine with it or with the unified buffer.",
    "spaces = ('gm', 'ub') if instr.text.startswith('atomic') else ('gm',)",
    "ptr.space in spaces if isinstance(ptr, PtrInfo)",
    "{ptr.name} points to {ptr.space}, not to {' or '.join(spaces)}",
)


@verified(
    "THR-03",
    """
        func.func @f(%i: index, %p: !pto.ptr<vector<{2|4}xf16>, gm>) attributes {pto.simt_entry} {
          %v = pto.ldg %p[%i] : !pto.ptr<vector<{2|4}xf16>, gm> -> vector<{2|4}xf16>
          return
        }
    """,
    evidence="ptokit",
)
def THR_03(o: Site) -> Message:
    """Threads load and store numbers of 8 to 64 bits, two of up to 32 as one, or 2, 4 or 8 of f8."""
    given = shown(o.operands.get("ptr"))
    if not given or _bits(given) in (8, 16, 32, 64):
        return None
    if given in ("f16", "bf16", "f32", "f64", "!pto.hif8", "!pto.hif8x2", *_FLOAT8):
        return None
    found = _PACKED.match(given)
    if found is not None:
        count, inner = int(found[1]), found[2]
        if count in (2, 4, 8) if inner in _FLOAT8 else count == 2 and _small(inner):
            return None
    return f"elements of {given} are not loaded or stored as one"


def _small(inner: str) -> bool:
    return inner in ("f16", "bf16", "f32") or _bits(inner) in (8, 16, 32)


@verified(
    "THR-05",
    """
        func.func @f(%i: index, %p: !pto.ptr<i32, gm>) attributes {{pto.entry|pto.simt_entry}} {
          %v = pto.ld_dev %p[%i] : !pto.ptr<i32, gm> -> i32
          return
        }
    """,
    around=True,
    evidence="ptokit",
)
def THR_05(o: Site) -> Message:
    """Accesses past the data cache are of integers, in a kernel and not in a thread, and say nothing of caches."""
    given = shown(o.operands.get("ptr"))
    if "l1cache" in o.attrs or "l2cache" in o.attrs:
        return Doubt("it takes no l1cache and no l2cache")
    if given and _bits(given) not in (8, 16, 32, 64):
        return f"elements of {given} are not loaded or stored past the cache"
    if o.around is None or (o.around.entry and not o.around.threads):
        return None
    return "it stands among threads" if o.around.threads else Doubt("it stands outside of a kernel")


_ATOMIC = ("f16", "bf16", "f32", "vector<2xf16>", "vector<2xbf16>")


THR_08 = verified(
    "THR-08",
    """
        func.func @f(%i: index, %x: i32, %n: i32) attributes {pto.simt_entry} {
        %v = pto.shuffle_up %x, %n {width = {16|8} : i32} : i32, i32 -> i32
        return
        }
    """,
    evidence="ptokit",
)(
    "Lanes exchange numbers of 32 or 64 bits, f16 or two of it, in groups of 16 or 32.",
    "o.attrs.get('width') in (None, 16, 32)",
    "width is {o.attrs.get('width')}",
    "shown(value) in ('f16', 'f32', 'vector<2xf16>') if shown(value) and _bits(shown(value)) not in (32, 64)",
    "lanes do not exchange {shown(value)}",
)


@verified(
    "THR-09",
    """
        func.func @f(%i: index, %x: i32) attributes {pto.simt_entry} {
          %v = pto.redux_max %x {signed |}: i32 -> i32
          return
        }
    """,
    evidence="ptokit",
)
def THR_09(o: Site) -> Message:
    """Reductions are of i32, f16 or f32; the extremes of integers say if they are signed, floats say nothing."""
    given, sign = shown(o.operands.get("value")), o.attrs.get("signedness")
    if not given:
        return None
    if _bits(given) != 32 and given not in ("f16", "f32"):
        return f"{given} is not reduced"
    if not _bits(given):
        return f"{given} is neither signed nor unsigned" if sign else None
    return "it does not say if the integers are signed" if not sign and o.instr.text != "redux_add" else None


@verified(
    "THR-10",
    """
        func.func @f(%i: index, %x: f32) attributes {pto.simt_entry} {
          %v = pto.convert %x round(z) {sat|nosat} signed : f32 -> i32
          return
        }
    """,
    evidence="ptokit",
)
def THR_10(o: Site) -> Message:
    """A conversion exists, with its rounding; to integers it saturates, and integers say if they are signed."""
    source, result = shown(o.operands.get("src")), shown(o.operands.get("result"))
    if not source or not result:
        return None
    rounding, saturation = (str(o.attrs.get(key) or "") for key in ("rounding", "saturation"))
    return refused(source, result, rounding, saturation == "sat", bool(o.attrs.get("signedness")))


@verified(
    "THR-11",
    """
        func.func @f(%i: index, %x: i64) attributes {pto.simt_entry} {
        pto.keep %x {slot = {14|7} : i64} : i64
        return
        }
    """,
    evidence="ptokit",
)
def THR_11(o: Site) -> Message:
    """Values are kept in slots from 0 to 122; those of 64 bits take two, the first of them even."""
    slot = o.attrs.get("slot")
    given = shown(o.operands.get("payload")) or shown(o.operands.get("result"))
    if slot is None or not given:
        return None
    wide = _bits(given) == 64
    if not 0 <= slot < _SLOTS - wide:
        return f"slot is {slot}"
    return f"slot is {slot}, for a value of {given}" if wide and slot % 2 else None


_SLOTS = 123
_ACCESS = (
    THR_01,
    THR_02,
    THR_03,
    verified(
        "THR-04",
        """
            func.func @example(%p: !pto.ptr<i32, gm>){ attributes {pto.simt_entry}|} {
              %i = arith.constant 0 : index
              %v = pto.ldg %p[%i] : !pto.ptr<i32, gm> -> i32
              return
            }
        """,
        around=True,
        evidence="ptokit",
    )(
        "It stands in a section or function of threads.",
        "o.around.threads if o.around is not None",
        "it stands outside of sections and functions of threads",
    ),
)
_ATOMICS = (
    THR_01,
    THR_02,
    verified(
        "THR-06",
        """
            func.func @f(%i: index, %p: !pto.ptr<{i64|f32}, gm>, %x: {i64|f32}) attributes {pto.simt_entry} {
              %v = pto.atomic_and %p, %x : !pto.ptr<{i64|f32}, gm>, {i64|f32} -> {i64|f32}
              return
            }
        """,
        evidence="ptokit",
    )(
        "Elements that are combined have 32 or 64 bits, 32 in UB, or are floats, but not where bits are combined.",
        "if shown(value)",
        "shown(value) in _ATOMIC if _bits(shown(value)) not in (32, 64)",
        "elements of {shown(value)} are not combined",
        "ptr.space != 'ub' if _bits(shown(value)) == 64 and isinstance(ptr, PtrInfo)",
        "elements of {shown(value)} are not combined in UB",
        "instr.text not in ('atomic_and', 'atomic_or', 'atomic_xor') if not _bits(shown(value))",
        "the bits of {shown(value)} are not combined",
        "not o.attrs.get('signedness') if not _bits(shown(value))",
        "{shown(value)} is neither signed nor unsigned",
    ),
    verified(
        "THR-07",
        """
            func.func @f(%i: index, %p: !pto.ptr<vector<2xf16>, gm>,
              %x: vector<2xf16>) attributes {{pto.simt_entry|pto.entry}} {
              %v = pto.atomic_add %p, %x : !pto.ptr<vector<2xf16>, gm>, vector<2xf16> -> vector<2xf16>
              return
            }
        """,
        around=True,
        evidence="ptokit",
    )(
        "Pairs are combined by threads, and what was there before is not taken.",
        "if shown(value).startswith('vector') and o.around is not None",
        "o.around.threads",
        "it stands outside of sections and functions of threads",
        "not o.around.used",
        "what was there is taken",
    ),
)
VERIFIED: dict[str, tuple[Rule, ...]] = {
    "load": (THR_01,),
    "store": (THR_01,),
    "ldg": _ACCESS,
    "stg": _ACCESS,
    "ld_dev": (THR_01, THR_02, THR_05),
    "st_dev": (THR_01, THR_02, THR_05),
    **{f"atomic_{how}": _ATOMICS for how in "exch add sub min max and or xor cas".split()},
    **{f"shuffle_{how}": (THR_08,) for how in "idx up down bfly".split()},
    **{f"redux_{how}": (THR_09,) for how in "add max min".split()},
    "convert": (THR_10,),
    "keep": (THR_11,),
    "resume": (THR_11,),
}
"""Rules by operation."""
