"""Which numbers a thread converts to which, and how they are rounded (PTOAS e32488c9, VPTO.cpp)."""

from __future__ import annotations

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
