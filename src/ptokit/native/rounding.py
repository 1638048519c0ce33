"""Binary64 numbers rounded once to a narrower float type, as LLVM code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptokit.types.dtypes import DTYPES

from .code import double
from .elements import narrowed, widened

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
    w.module.need(kind, _function(kind))
    exact = code.value(f"call double @round.{kind}(double {value})")
    bits = narrowed(code, 1, DTYPES[kind], code.value(f"fptrunc double {exact} to float"))
    return code.value(f"select i1 {nan}, i16 {0x7E00 if kind == 'f16' else 0x7FC0}, i16 {bits}")


def _function(kind: str) -> str:
    """Adding and subtracting 1.5 * 2**k leaves a multiple of the last place, rounded to nearest."""
    fraction, least, overflow = _FORMATS[kind]
    return f"""define internal double @round.{kind}(double %x) alwaysinline {{
  %bits = bitcast double %x to i64
  %exponent = and i64 %bits, 9218868437227405312
  %low = icmp ult i64 %exponent, {(1023 + least) << 52}
  %place = select i1 %low, i64 {(1023 + least) << 52}, i64 %exponent
  %magicbits = add i64 %place, {((52 - fraction) << 52) | (1 << 51)}
  %magic = bitcast i64 %magicbits to double
  %up = fadd double %x, %magic
  %down = fsub double %up, %magic
  %size = call double @llvm.fabs.f64(double %x)
  %large = fcmp uge double %size, {double(overflow)}
  %nan = fcmp uno double %x, %x
  %infinite = call double @llvm.copysign.f64(double {double(float("inf"))}, double %x)
  %special = select i1 %nan, double %x, double %infinite
  %signed = call double @llvm.copysign.f64(double %down, double %x)
  %out = select i1 %large, double %special, double %signed
  ret double %out
}}
"""
