"""exp, log, square roots and reciprocals of f32, rounded once; rounding of binary64 numbers to narrower types.

exp and log are computed in binary64 by polynomials of our own and rounded to f32, which gives the correctly rounded
result for every f32 number (swept, with and without FMA). 16-bit types use the tables of `ptokit.isa.numerics.unary`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log
from typing import TYPE_CHECKING

from ptokit.types.dtypes import DTYPES

from .code import Code, double, many, narrowed, same, widened

if TYPE_CHECKING:
    from .function import Writer


# exp, log, square roots and reciprocals of f32, rounded once; those of 16-bit types by table.


Need = Callable[[str, str], None]

FMA = True  # set by the compiler: the host multiplies and adds in one instruction


def looked_up(code: Code, n: int, table: str, x: str, index: str = "i16", entry: str = "i16") -> str:
    """Entries of a table with one for every number of the type `index`."""
    if n == 1:
        at = code.value(f"getelementptr {entry}, ptr {table}, i64 {code.value(f'zext {index} {x} to i64')}")
        return code.load(entry, at)
    out = "poison"
    for k in range(n):
        one = code.value(f"extractelement <{n} x {index}> {x}, i32 {k}")
        found = looked_up(code, 1, table, one, index, entry)
        out = code.value(f"insertelement <{n} x {entry}> {out}, {entry} {found}, i32 {k}")
    return out


def rounded(code: Code, n: int, need: Need, name: str, x: str) -> str:
    """The function of this name of f32 numbers."""
    f, d = many(n, "float"), many(n, "double")
    one = same(n, "double", double(1.0))
    if name == "recip":
        return code.value(f"fdiv {f} {same(n, 'float', double(1.0))}, {x}")
    if name == "sqrt":
        return code.value(f"call {f} @llvm.sqrt.{_suffix(n, 'f32')}({f} {x})")
    if name in FUNCTIONS:
        key = f"{name}.{n}"
        need(key, FUNCTIONS[name](n))
        return code.value(f"call {f} @math.{key}({f} {x})")
    assert name == "rsqrt"
    wide = code.value(f"fpext {f} {x} to {d}")
    root = code.value(f"call {d} @llvm.sqrt.{_suffix(n, 'f64')}({d} {wide})")
    result = code.value(f"fdiv {d} {one}, {root}")
    return code.value(f"fptrunc {d} {result} to {f}")


def _suffix(n: int, kind: str) -> str:
    return kind if n == 1 else f"v{n}{kind}"


class _Maths:
    """Lines of a function of `n` f32 numbers ``%x`` that computes with doubles."""

    def __init__(self, n: int) -> None:
        self.n = n
        self.code = Code()
        self.f, self.d, self.i, self.b = (many(n, kind) for kind in ("float", "double", "i64", "i1"))

    def wide(self, x: str) -> str:
        return self.code.value(f"fpext {self.f} {x} to {self.d}")

    def narrow(self, x: str) -> str:
        return self.code.value(f"fptrunc {self.d} {x} to {self.f}")

    def k(self, x: float) -> str:
        return same(self.n, "double", double(x))

    def ki(self, x: int) -> str:
        return same(self.n, "i64", x)

    def op(self, word: str, a: str, b: str) -> str:
        return self.code.value(f"{word} {self.d} {a}, {b}")

    def int(self, word: str, a: str, b: str) -> str:
        return self.code.value(f"{word} {self.i} {a}, {b}")

    def bits(self, x: str) -> str:
        return self.code.value(f"bitcast {self.d} {x} to {self.i}")

    def double(self, x: str) -> str:
        return self.code.value(f"bitcast {self.i} {x} to {self.d}")

    def fma(self, a: str, b: str, c: str) -> str:
        if not FMA:
            return self.op("fadd", self.op("fmul", a, b), c)
        name = f"@llvm.fma.{_suffix(self.n, 'f64')}"
        return self.code.value(f"call {self.d} {name}({self.d} {a}, {self.d} {b}, {self.d} {c})")

    def choose(self, condition: str, a: str, b: str) -> str:
        return self.code.value(f"select {self.b} {condition}, {self.d} {a}, {self.d} {b}")

    def test(self, predicate: str, a: str, b: str) -> str:
        return self.code.value(f"fcmp {predicate} {self.d} {a}, {b}")

    def polynomial(self, x: str, coefficients: list[float]) -> str:
        """The lowest coefficient first."""
        out = self.k(coefficients[-1])
        for c in coefficients[-2::-1]:
            out = self.fma(out, x, self.k(c))
        return out

    def text(self, name: str, result: str) -> str:
        self.code.leave(f"ret {self.f} {result}")
        return self.code.text(f"define internal {self.f} @math.{name}.{self.n}({self.f} %x) alwaysinline {{")


_LN2_HIGH = float.fromhex("0x1.62e42fefa3800p-1")  # the low bits are zero: products with whole numbers are exact
_LN2_LOW = float.fromhex("0x1.ef35793c76730p-45")


def exp_function(n: int) -> str:
    """e**x of f32 numbers: 2**k times a polynomial of what is left of x, at most half of ln 2."""
    m = _Maths(n)

    def within(predicate: str, limit: float, x: str) -> str:
        bound = same(n, "float", double(limit))
        beyond = m.code.value(f"fcmp {predicate} {m.f} {bound}, {x}")  # one instruction with the choice; NaN stays
        return m.code.value(f"select {m.b} {beyond}, {m.f} {bound}, {m.f} {x}")

    x = m.wide(within("ogt", -200.0, within("olt", 200.0, "%x")))
    magic = 1.5 * 2.0**52 + 1023  # after the point of a sum with it is nothing: its last bits are k + 1023
    shifted = m.fma(x, m.k(1 / log(2)), m.k(magic))
    whole = m.op("fsub", shifted, m.k(magic))
    rest = m.fma(whole, m.k(-_LN2_HIGH), x)
    rest = m.fma(whole, m.k(-_LN2_LOW), rest)
    square = m.op("fmul", rest, rest)
    # even and odd powers apart: two short chains, whose steps do not wait for each other
    further = m.fma(m.polynomial(square, EXP[1::2]), rest, m.polynomial(square, EXP[::2]))
    less_one = m.fma(further, square, rest)
    scale = m.double(m.int("shl", m.bits(shifted), m.ki(52)))
    result = m.narrow(m.fma(less_one, scale, scale))
    nan = m.code.value(f"fcmp uno {m.f} %x, %x")
    quiet = m.code.value(f"fadd {m.f} %x, %x")
    return m.text("exp", m.code.value(f"select {m.b} {nan}, {m.f} {quiet}, {m.f} {result}"))


EXP = [
    float.fromhex(c)
    for c in """
    0x1.ffffffffffed2p-2 0x1.55555555507b4p-3 0x1.55555555891c7p-5 0x1.11111125b7393p-7 0x1.6c16c0c8083d2p-10
    0x1.a0198d4bf2481p-13 0x1.a01b7c983a751p-16 0x1.72e9291b5ab72p-19 0x1.2707817725540p-22
    """.split()
]
"""Of (e**x - 1 - x) / x**2 for x up to half of ln 2, lowest power first: with the least greatest error that nine can
have, 2**-51.6 of e**x (Remez)."""


def log_function(n: int) -> str:
    """ln x for doubles that hold an f32 number: k ln 2 + ln m, with m near 1."""
    m = _Maths(n)
    x = m.wide("%x")
    bits = m.bits(x)
    # m in [sqrt(1/2), sqrt(2)): the exponent of x / sqrt(1/2)
    moved = m.int("sub", bits, m.ki(0x3FE6A09E667F3BCD))
    k = m.code.value(f"ashr {m.i} {moved}, {m.ki(52)}")
    mantissa = m.double(m.int("sub", bits, m.int("shl", k, m.ki(52))))
    whole = m.code.value(f"sitofp {m.i} {k} to {m.d}")
    f = m.op("fsub", mantissa, m.k(1.0))
    s = m.op("fdiv", f, m.op("fadd", mantissa, m.k(1.0)))
    z = m.op("fmul", s, s)
    # ln m = 2 atanh s = f - s (f - 2 z (1/3 + z/5 + ...)), where f is exact
    p = m.op("fmul", z, m.polynomial(z, [2 / (2 * j + 3) for j in range(10)]))
    tail = m.op("fmul", s, m.op("fsub", f, p))
    low = m.op("fsub", m.op("fmul", whole, m.k(_LN2_LOW)), tail)
    high = m.op("fmul", whole, m.k(_LN2_HIGH))
    result = m.op("fadd", high, m.op("fadd", f, low))
    inf = float("inf")
    result = m.choose(m.test("oeq", x, m.k(inf)), m.k(inf), result)
    result = m.choose(m.test("oeq", x, m.k(0.0)), m.k(-inf), result)
    undefined = same(n, "double", "0x7FF8000000000000")
    invalid = m.choose(m.test("uno", x, x), m.op("fadd", x, x), undefined)  # the sum of NaN is quiet
    return m.text("log", m.narrow(m.choose(m.test("ult", x, m.k(0.0)), invalid, result)))


FUNCTIONS = {"exp": exp_function, "log": log_function}
"""Functions of f32 numbers with code of their own."""


# Binary64 numbers rounded once to a narrower float type, as LLVM code.


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
