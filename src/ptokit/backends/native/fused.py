"""Products and sums in binary64 that a later rounding turns into the correctly rounded result, as LLVM code."""

from __future__ import annotations

from .code import Code, double
from .elements import many, same


def fused(code: Code, n: int, a: str, b: str, c: str) -> str:
    """``a * b + c`` of floats that hold f32, f16 or bf16, as doubles.

    An inexact sum is made odd (see `ptokit.isa.numerics.rounding`): rounding it again gives what rounding the exact
    value would.
    """
    f, d, i, t = many(n, "float"), many(n, "double"), many(n, "i64"), many(n, "i1")
    suffix = "f64" if n == 1 else f"v{n}f64"
    zero, inf = same(n, "double", double(0.0)), same(n, "double", double(float("inf")))
    one, none = same(n, "i64", 1), same(n, "i64", 0)

    def op(word: str, p: str, q: str) -> str:
        return code.value(f"{word} {d} {p}, {q}")

    def int_(word: str, p: str, q: str) -> str:
        return code.value(f"{word} {i} {p}, {q}")

    x, y, z = (code.value(f"fpext {f} {e} to {d}") for e in (a, b, c))
    product = op("fmul", x, y)
    total = op("fadd", product, z)
    rest = op("fsub", total, product)
    error = op("fadd", op("fsub", product, op("fsub", total, rest)), op("fsub", z, rest))
    size = code.value(f"call {d} @llvm.fabs.{suffix}({d} {total})")
    finite = code.value(f"fcmp olt {d} {size}, {inf}")
    some = code.value(f"fcmp one {d} {error}, {zero}")
    inexact = code.value(f"and {t} {finite}, {some}")
    bits = code.value(f"bitcast {d} {total} to {i}")
    even = int_("xor", int_("and", bits, one), one)
    below = [code.value(f"fcmp olt {d} {value}, {zero}") for value in (error, total)]
    toward = code.value(f"xor {t} {below[0]}, {below[1]}")
    step = code.value(f"select {t} {toward}, {i} {int_('sub', none, even)}, {i} {even}")
    odd = int_("add", bits, code.value(f"select {t} {inexact}, {i} {step}, {i} {none}"))
    return code.value(f"bitcast {i} {odd} to {d}")
