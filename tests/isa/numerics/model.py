"""A slow scalar model of the number formats and of conversion, in exact fractions; shares no code with the package.

A number is a `Fraction`, or one of the strings "nan", "inf", "-inf", "-0".
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache

Number = Fraction | str

# exponent bits, fraction bits, bias, largest finite value, has infinity, has NaN
FLOATS = {
    "f32": (8, 23, 127, Fraction(2) ** 104 * (2**24 - 1), True, True),
    "f16": (5, 10, 15, Fraction(65504), True, True),
    "bf16": (8, 7, 127, Fraction(2) ** 120 * 255, True, True),
    "e4m3": (4, 3, 7, Fraction(448), False, True),
    "e5m2": (5, 2, 15, Fraction(57344), True, True),
    "e2m1": (2, 1, 1, Fraction(6), False, False),
    "e1m2": (1, 2, 1, Fraction(7, 4), False, False),
}
INTEGERS = {f"{k}{n}": (k == "i", n) for k in "iu" for n in (8, 16, 32, 64)} | {"int4": (True, 4)}

# HiFloat8 prefixes of the seven magnitude bits: sign and exponent digits by group (types-and-layouts 1.9)
HIF8 = [
    (r"0001()()(...)", 0),
    (r"001(.)()(...)", 1),
    (r"01(.)(.)(...)", 2),
    (r"10(.)(..)(..)", 4),
    (r"11(.)(...)(.)", 8),
]


@cache
def decode(name: str, code: int) -> Number:
    if name in INTEGERS:
        signed, bits = INTEGERS[name]
        code &= (1 << bits) - 1
        return Fraction(code - (1 << bits) if signed and code >> (bits - 1) else code)
    if name == "hif8":
        return decode_hif8(code)
    e, m, bias, largest, has_inf, has_nan = FLOATS[name]
    sign, field, frac = code >> (e + m) & 1, code >> m & ((1 << e) - 1), code & ((1 << m) - 1)
    if field == (1 << e) - 1 and has_nan and (has_inf or frac == (1 << m) - 1):
        return "nan" if frac or not has_inf else ("-inf" if sign else "inf")
    unit = Fraction(2) ** (max(field, 1) - bias - m)
    value = ((frac | (1 << m)) if field else frac) * unit
    assert value <= largest
    return ("-0" if value == 0 else -value) if sign else value


def decode_hif8(code: int) -> Number:
    if code == 0x80:
        return "nan"
    if code & 0x7F == 0x6F:
        return "-inf" if code & 0x80 else "inf"
    digits = format(code & 0x7F, "07b")
    sign = -1 if code & 0x80 else 1
    if digits.startswith("0000"):
        return sign * Fraction(2) ** (int(digits, 2) - 23) if int(digits, 2) else Fraction(0)
    for pattern, leading in HIF8:
        if found := re.fullmatch(pattern, digits):
            negative, more, fraction = found.groups()
            exponent = leading + (int(more, 2) if more else 0)
            value = Fraction(2) ** (-exponent if negative == "1" else exponent)
            return sign * value * (1 + Fraction(int(fraction, 2), 1 << len(fraction)))
    raise AssertionError(digits)


def floor_log2(x: Fraction) -> int:
    e = x.numerator.bit_length() - x.denominator.bit_length()
    return e if Fraction(2) ** e <= x else e - 1


def rounded(q: Fraction, mode: str, negative: bool) -> int:
    """A magnitude in units of the grid, as a whole number of units."""
    n, rest = divmod(q, 1)
    n = int(n)
    if mode == "ODD":
        return n if rest == 0 else n | 1
    up = {
        "RINT": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and n % 2 == 1),
        "ROUND": rest >= Fraction(1, 2),
        "FLOOR": negative and rest > 0,
        "CEIL": not negative and rest > 0,
        "TRUNC": False,
    }[mode]
    return n + up


@cache
def to_float(x: Number, name: str, mode: str, saturate: bool, negative_zero: bool = False) -> Number:
    """Round to a float type; ``negative_zero`` makes an exact zero negative."""
    has_inf, has_nan = FLOATS[name][4:] if name in FLOATS else (True, True)
    largest = Fraction(32768) if name == "hif8" else FLOATS[name][3]
    if x == "nan":
        return "nan" if has_nan else largest
    negative = x in ("-0", "-inf") or (isinstance(x, Fraction) and x < 0) or negative_zero
    beyond: Number = largest if saturate else "inf" if has_inf else "nan" if has_nan else largest
    if x in ("inf", "-inf"):
        magnitude = beyond
    else:
        exact = Fraction(0) if x == "-0" else abs(Fraction(x))
        magnitude = near_hif8(exact) if name == "hif8" else near(exact, name, mode, negative)
        if magnitude > largest:
            inward = mode in ("TRUNC", "ODD") or mode == ("CEIL" if negative else "FLOOR")
            magnitude = largest if inward else beyond
    if magnitude == "nan" or not negative:
        return magnitude
    if magnitude == "inf":
        return "-inf"
    if magnitude == 0:
        return Fraction(0) if name == "hif8" else "-0"
    return -magnitude


def near(exact: Fraction, name: str, mode: str, negative: bool) -> Fraction:
    _, m, bias, *_ = FLOATS[name]
    e = max(floor_log2(exact), 1 - bias) if exact else 1 - bias
    unit = Fraction(2) ** (e - m)
    return rounded(exact / unit, mode, negative) * unit


_HIF8_MAGNITUDES = sorted(v for c in range(128) if isinstance(v := decode_hif8(c), Fraction))


def near_hif8(exact: Fraction) -> Fraction:
    """Nearest magnitude, ties away from zero; from 40960 on beyond the largest."""
    if exact >= 40960:
        return Fraction(65536)
    best = min(abs(v - exact) for v in _HIF8_MAGNITUDES)
    return max(v for v in _HIF8_MAGNITUDES if abs(v - exact) == best)


@cache
def to_integer(x: Number, name: str, mode: str, saturate: bool) -> Fraction:
    signed, bits = INTEGERS[name]
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if x == "nan":
        return Fraction(0)
    if x == "inf":
        return Fraction(high) if saturate else decode(name, -1)
    if x == "-inf":
        return Fraction(low if saturate else 0)
    exact = Fraction(0) if x == "-0" else Fraction(x)
    n = rounded(abs(exact), mode, exact < 0) * (-1 if exact < 0 else 1)
    if saturate:
        return Fraction(max(low, min(high, n)))
    return decode(name, n)
