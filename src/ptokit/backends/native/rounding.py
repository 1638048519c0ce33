"""Binary64 numbers rounded once to a narrower float type, as LLVM code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ptokit.types.dtypes import DTYPES

from .code import Code, double
from .elements import many, narrowed, same, widened

if TYPE_CHECKING:
    from .function import Writer

_FORMATS = {"f16": (10, -14, 65520.0), "bf16": (7, -126, (2 - 2**-8) * 2.0**127)}
"""Fraction bits, least exponent of normal numbers, least number that becomes infinite."""


def to_double(w: Writer, bits: str, kind: str) -> str:
    """The number that the bits of a float are."""
    code = w.code
    if kind == "f64":
        return code.value(f"bitcast i64 {bits} to double")
    if kind == "f32":
        return code.value(f"fpext float {code.value(f'bitcast i32 {bits} to float')} to double")
    return code.value(f"fpext float {widened(code, 1, DTYPES[kind], bits)} to double")


def from_double(w: Writer, value: str, kind: str) -> str:
    """The bits of the nearest float of the type, ties to even; NaN is the positive quiet one."""
    code = w.code
    nan = code.value(f"fcmp uno double {value}, {value}")
    if kind == "f64":
        bits = code.value(f"bitcast double {value} to i64")
        return code.value(f"select i1 {nan}, i64 {0x7FF8 << 48}, i64 {bits}")
    if kind == "f32":
        bits = code.value(f"bitcast float {code.value(f'fptrunc double {value} to float')} to i32")
        return code.value(f"select i1 {nan}, i32 {0x7FC00000}, i32 {bits}")
    bits = narrowed(code, 1, DTYPES[kind], round_many(code, w.module.need, 1, value, kind))
    return code.value(f"select i1 {nan}, i16 {0x7E00 if kind == 'f16' else 0x7FC0}, i16 {bits}")


def round_many(code: Code, need: Callable[[str, str], None], n: int, value: str, kind: str) -> str:
    """`n` doubles rounded once to a float type, as floats (f32, or what f16 and bf16 are computed in)."""
    if kind != "f32":
        need(f"{kind}.{n}", _function(kind, n))
        value = code.value(f"call {many(n, 'double')} @round.{kind}.{n}({many(n, 'double')} {value})")
    return code.value(f"fptrunc {many(n, 'double')} {value} to {many(n, 'float')}")


def _function(kind: str, n: int) -> str:
    """Adding and subtracting 1.5 * 2**k leaves a multiple of the last place, rounded to nearest."""
    fraction, least, overflow = _FORMATS[kind]
    code, d, i, b = Code(), many(n, "double"), many(n, "i64"), many(n, "i1")
    suffix = "f64" if n == 1 else f"v{n}f64"

    def ki(x: int) -> str:
        return same(n, "i64", x)

    def kd(x: float) -> str:
        return same(n, "double", double(x))

    exponent = code.value(f"and {i} {code.value(f'bitcast {d} %x to {i}')}, {ki(0x7FF << 52)}")
    low = code.value(f"icmp ult {i} {exponent}, {ki((1023 + least) << 52)}")
    place = code.value(f"select {b} {low}, {i} {ki((1023 + least) << 52)}, {i} {exponent}")
    magic = code.value(f"add {i} {place}, {ki(((52 - fraction) << 52) | (1 << 51))}")
    magic = code.value(f"bitcast {i} {magic} to {d}")
    down = code.value(f"fsub {d} {code.value(f'fadd {d} %x, {magic}')}, {magic}")
    size = code.value(f"call {d} @llvm.fabs.{suffix}({d} %x)")
    large = code.value(f"fcmp uge {d} {size}, {kd(overflow)}")
    nan = code.value(f"fcmp uno {d} %x, %x")
    infinite = code.value(f"call {d} @llvm.copysign.{suffix}({d} {kd(float('inf'))}, {d} %x)")
    special = code.value(f"select {b} {nan}, {d} %x, {d} {infinite}")
    signed = code.value(f"call {d} @llvm.copysign.{suffix}({d} {down}, {d} %x)")
    code.leave(f"ret {d} {code.value(f'select {b} {large}, {d} {special}, {d} {signed}')}")
    return code.text(f"define internal {d} @round.{kind}.{n}({d} %x) alwaysinline {{")
