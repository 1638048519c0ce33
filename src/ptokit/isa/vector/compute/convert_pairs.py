"""Which elements the assembler's verifier lets vcvt convert, and how (PTOAS e32488c9, VPTO.cpp)."""

from __future__ import annotations

from typing import NamedTuple

from ...checks.assembler import assembler_rule
from ...checks.lanes import element
from ...checks.operands import Message
from ...site import Site, VregInfo


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
    'f32 to f16 {rnd = "R", sat = "SAT", part = "EVEN"}',
    'f32 to f16 without sat; f16 to f32 with rnd; ui32 to ui8 {part = "EVEN"}',
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
