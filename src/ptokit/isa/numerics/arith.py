"""Value functions of the vector instructions, rounded as instructions round, in the manner of NumPy ufuncs.

An inexact f64 result is made odd (its last bit 1), as if the discarded digits were still there: rounding it again, to a
format of at most 51 bits, gives what rounding the exact value would.

``f(a, b, out=None)``: operands broadcast, ``out`` may be one of them exactly. Integers wrap at their width
(compute-elementwise 4.1); the caller silences floating-point warnings. Every function leaves its operands intact as
long as it still needs them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ptokit.targets import A2A3, CPU, Target
from ptokit.types.codecs import encode
from ptokit.types.dtypes import DType, from_numpy, round_to_integral
from ptokit.types.enums import RoundMode, SaturationMode

__all__ = ["LETTERS", "as_values", "narrow", "round_to_integral"]


# Rounding as instructions see it: to integral values and to a narrower float type.


LETTERS = {
    "": RoundMode.RINT,
    "R": RoundMode.RINT,
    "A": RoundMode.ROUND,
    "H": RoundMode.ROUND,
    "F": RoundMode.FLOOR,
    "C": RoundMode.CEIL,
    "Z": RoundMode.TRUNC,
    "O": RoundMode.ODD,
}
"""Rounding modes by the letter of conversions of registers and vectors."""


def as_values(codes: np.ndarray, dtype: DType) -> np.ndarray:
    """Codes as an array of ``dtype.value``; types without a NumPy dtype stay codes. No copy."""
    return codes if dtype.value is None else codes.view(dtype.value)


def narrow(
    x: np.ndarray,
    dtype: DType,
    mode: RoundMode = RoundMode.RINT,
    sat: SaturationMode = SaturationMode.OFF,
) -> np.ndarray:
    """Floats rounded once to the float type `dtype`, as an array of ``dtype.value`` (codes where that is None).

    Overflow and infinity: ON gives the largest finite value, OFF what the rounding mode defines; NaN is quiet
    (compute-elementwise 8.5). Arithmetic of the elementwise families rounds with RINT and OFF.
    """
    return as_values(encode(dtype, x, rounding=mode, saturate=sat is SaturationMode.ON), dtype)


# Sums and products in f64 that a later rounding turns into the correctly rounded result.


def add(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a + b of f64 arrays, rounded to odd; special values as IEEE has them."""
    total = np.asarray(a + b, np.float64)
    rest = total - a
    error = (a - (total - rest)) + (b - rest)  # exact, for finite sums (Knuth)
    bits = total.view(np.int64)
    odd = np.where((error != 0) & np.isfinite(error) & np.isfinite(total) & (bits & 1 == 0), 1, 0)
    toward_zero = (error < 0) != (total < 0)
    return (bits + np.where(toward_zero, -odd, odd)).view(np.float64)


def fused_to_odd(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a * b + c of values of at most 24 significant bits (f32, f16, bf16), as f64 rounded to odd."""
    return add(a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64))


def rounded_once(op: str, a: np.ndarray, b: np.ndarray, to: DType, rounding: RoundMode, saturate: bool) -> np.ndarray:
    """``a op b`` (add, sub or mul), of numbers with at most 32 bits, rounded once; with `saturate` NaN is 0."""
    x, y = (np.asarray(n).astype(np.float64) for n in (a, b))
    numbers = x * y if op == "mul" else add(x, -y if op == "sub" else y)
    if saturate:
        numbers = np.where(np.isnan(numbers), 0.0, numbers)
    return as_values(encode(to, numbers, rounding=rounding, saturate=saturate), to)


# Value functions of the vector instructions, on arrays, in the manner of NumPy ufuncs.


Array = Any  # np.ndarray or NumPy scalar of the tile's type

_MAGNITUDE = np.int16(0x7FFF)


def is_integer(x: Array) -> bool:
    """True for NumPy's integers; bf16 has kind ``V``."""
    return x.dtype.kind in "iu"


def give(values: Array, out: np.ndarray | None) -> Array:
    """`values`, stored in `out` if there is one."""
    if out is None:
        return values
    out[...] = values
    return out


def _shares(out: np.ndarray | None, *operands: Array) -> bool:
    return out is not None and any(np.may_share_memory(out, x) for x in operands)


# Division ------------------------------------------------------------------------------------------------------------


def divide(a: Array, b: Array, out: np.ndarray | None = None) -> Array:
    """Quotient: IEEE for floats; integers truncate toward zero, x / 0 = 0, min / -1 = min (4.3)."""
    if not is_integer(a):
        return np.true_divide(a, b, out=out)
    if a.dtype.itemsize < 8:  # exact in f64 and several times faster
        q = np.trunc(np.divide(a, b, dtype=np.float64)).astype(np.int64).astype(a.dtype)
        return give(q if np.all(b) else np.where(b == 0, a.dtype.type(0), q), out)
    return np.floor_divide(np.subtract(a, np.fmod(a, b)), b, out=out)  # the division is exact


def floor_divide(a: Array, b: Array, out: np.ndarray | None = None) -> Array:
    """Quotient of integers rounded down; x / 0 = 0, min / -1 = min."""
    return np.floor_divide(a, b, out=out)


def ceil_divide(a: Array, b: Array, out: np.ndarray | None = None) -> Array:
    """Quotient of integers rounded up; x / 0 = 0, min / -1 = min."""
    q = np.floor_divide(a, b)
    return give(q + ((q * b != a) & (b != 0)), out)


def fmod(a: Array, b: Array, out: np.ndarray | None = None) -> Array:
    """Exact remainder with the sign of the dividend; integers give 0 for a zero divisor."""
    if a.dtype.kind == "V":  # bf16: exact in f32, and so is the result
        return give(np.fmod(a.astype(np.float32), np.float32(b)).astype(a.dtype), out)
    return np.fmod(a, b, out=out)


def floor_mod(a: Array, b: Array, out: np.ndarray | None = None) -> Array:
    """Remainder with the sign of the divisor; ±0 keeps its sign, a finite value by inf is itself or inf (4.3).

    Decision: every type and target takes the divisor's sign, although the a5 kernels of i64 and of the float scalar
    form leave the dividend's (EW-A5-11).
    """
    if is_integer(a):
        return np.remainder(a, b, out=out)
    r = fmod(a, b)
    return give(np.where((r != 0) & (np.signbit(r) != np.signbit(b)), r + b, r), out)


def high_half(a: Array, b: Array, out: np.ndarray | None = None) -> Array:
    """The upper half of the product of two integers, which has twice their bits."""
    bits = 8 * a.dtype.itemsize
    if bits < 64:
        x, y = (np.asarray(v).astype(f"{a.dtype.kind}8") for v in (a, b))
        return give((x * y >> x.dtype.type(bits)).astype(a.dtype), out)
    x, y = np.asarray(a).view(np.uint64), np.asarray(b).view(np.uint64)
    low, up = np.uint64(0xFFFFFFFF), np.uint64(32)
    x0, x1, y0, y1 = x & low, x >> up, y & low, y >> up
    middle = x1 * y0 + (x0 * y0 >> up)
    high = x1 * y1 + (middle >> up) + ((middle & low) + x0 * y1 >> up)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return give(high.view(a.dtype), out)


def carry(a: Array, b: Array, out: np.ndarray | None = None) -> Array:
    """1 where the sum of the bits of two integers has one bit more, else 0."""
    x, y = (np.asarray(v).view(f"u{v.dtype.itemsize}") for v in (a, b))
    return give((x + y < x).astype(a.dtype), out)


# Bits ----------------------------------------------------------------------------------------------------------------


def _count(n: Array) -> Array:
    """A 64-bit shift takes its count modulo 64; negative counts shift everything out (4.2)."""
    return np.where(n < 0, n.dtype.type(64), n & 63).astype(n.dtype) if n.dtype.itemsize == 8 else n


def shift_left(a: Array, n: Array, out: np.ndarray | None = None) -> Array:
    """``a << n``; narrow types give 0 for counts outside the width."""
    return np.left_shift(a, _count(n), out=out)


def shift_right(a: Array, n: Array, out: np.ndarray | None = None) -> Array:
    """``a >> n``, arithmetic for signed types; narrow types give the sign fill for counts outside the width."""
    return np.right_shift(a, _count(n), out=out)


def popcount(x: Array, out: np.ndarray | None = None) -> Array:
    """Number of bits that are 1, in the element type."""
    return give(np.bitwise_count(x.view(f"u{x.dtype.itemsize}")).astype(x.dtype), out)


def sign_bits(x: Array, out: np.ndarray | None = None) -> Array:
    """Leading bits equal to the sign bit, which itself does not count."""
    bits = 8 * x.dtype.itemsize
    signed = x.view(f"i{x.dtype.itemsize}")
    rest = (signed ^ (signed >> (bits - 1))).view(f"u{x.dtype.itemsize}")  # leading zeros instead of sign bits
    length = np.zeros(x.shape, np.int64)
    step = bits // 2
    while step:
        high = rest >> rest.dtype.type(step)
        length = np.where(high != 0, length + step, length)
        rest = np.where(high != 0, high, rest)
        step //= 2
    return give((bits - 1 - (length + (rest != 0))).astype(x.dtype), out)


# Maximum and minimum -------------------------------------------------------------------------------------------------


def sort_key(x: Array) -> Array:
    """Order of 16-bit floats as int16: monotone, -0 below +0, NaN outside the infinities. Its own inverse on int16."""
    bits = x.view(np.int16)
    return bits ^ ((bits >> 15) & _MAGNITUDE)


def has_nan(keys: np.ndarray, dtype: np.dtype) -> bool:
    """True if a NaN of the 16-bit type is among the sort keys."""
    return bool(keys.size) and bool((keys.max() > infinity_key(dtype)) | (keys.min() < ~infinity_key(dtype)))


def infinity_key(dtype: np.dtype) -> Any:
    """Sort key of +inf of a 16-bit float type; that of -inf is its complement."""
    return np.array(np.inf, dtype).view(np.int16)[()]


def _extreme16(pick: Callable[..., Any], a: Array, b: Array, out: np.ndarray | None) -> Array:
    """NumPy converts each 16-bit float; integer keys are an order of magnitude faster and exact for signed zeros."""
    ka, kb = sort_key(a), sort_key(b)
    r = sort_key(np.asarray(pick(ka, kb))).view(a.dtype)
    if has_nan(np.asarray(ka), a.dtype) or has_nan(np.asarray(kb), a.dtype):
        r = np.where(np.isnan(a) | np.isnan(b), a.dtype.type(np.nan), r)
    return give(r, out)


def _row(x: Array, like: Array) -> Array:
    """A number as a row of numbers: NumPy's maximum of an array and a number is three times slower."""
    return np.full(like.shape[-1:], x, x.dtype) if np.ndim(x) == 0 and np.ndim(like) else x


def maximum(a: Array, b: Array, out: np.ndarray | None = None) -> Array:
    """Larger value; NaN propagates, max(+0, -0) = +0 (4.4)."""
    if is_integer(a):
        return np.maximum(a, b, out=out)
    a, b = _row(a, b), _row(b, a)
    if a.dtype.itemsize == 2:
        return _extreme16(np.maximum, a, b, out)
    r = np.maximum(a, b, out=None if _shares(out, a, b) else out)
    if (r == 0).any():  # NumPy leaves the sign to the machine
        r = np.where((a == 0) & (b == 0), a + b, r)
    return r if r is out else give(r, out)


def minimum(a: Array, b: Array, out: np.ndarray | None = None) -> Array:
    """Smaller value; NaN propagates, min(+0, -0) = -0 (4.4)."""
    if is_integer(a):
        return np.minimum(a, b, out=out)
    a, b = _row(a, b), _row(b, a)
    if a.dtype.itemsize == 2:
        return _extreme16(np.minimum, a, b, out)
    r = np.minimum(a, b, out=None if _shares(out, a, b) else out)
    if (r == 0).any():
        r = np.where((a == 0) & (b == 0), -(-a - b), r)
    return r if r is out else give(r, out)


def maximum_number(a: Array, b: Array, out: np.ndarray | None = None) -> Array:
    """`maximum` of floats, where one may be NaN: then it is the other one."""
    return give(np.where(a != a, b, np.where(b != b, a, maximum(a, b))), out)


def minimum_number(a: Array, b: Array, out: np.ndarray | None = None) -> Array:
    """`minimum` of floats, where one may be NaN: then it is the other one."""
    return give(np.where(a != a, b, np.where(b != b, a, minimum(a, b))), out)


# Power ---------------------------------------------------------------------------------------------------------------


def power(a: Array, b: Array, out: np.ndarray | None = None, *, target: Target = CPU) -> Array:
    """``a ** b`` with the special cases of 4.5, which differ between targets."""
    if is_integer(a):
        return give(_integer_power(a, b, target), out)
    base, exp = np.asarray(a).astype(np.float64), np.asarray(b).astype(np.float64)
    v = np.power(base, exp)
    if target.is_a(A2A3):  # its fix-up knows no signed zeros and does not see base 1 or base 0 in time
        v = np.where((base == 1) & ~np.isfinite(exp), np.nan, v)
        v = np.where((base == 0) & ((exp < 0) | np.isnan(exp)), np.inf, np.where((base == 0) & (exp > 0), 0.0, v))
    if a.dtype.itemsize < 4:
        v = v.astype(np.float32)  # the library computes f16 and bf16 in f32
    return give(v.astype(a.dtype), out)


def _integer_power(a: Array, b: Array, target: Target) -> Array:
    width = 8 * a.dtype.itemsize
    negative = b >> (width - 1) != 0 if a.dtype.kind == "i" or (target.is_a(A2A3) and width == 32) else b != b
    result, square, bits = np.ones_like(a + b), a + (b - b), b.astype(f"u{a.dtype.itemsize}")
    for i in range(int(np.max(bits, initial=0)).bit_length()):
        result = np.where((bits >> i) & 1 == 1, result * square, result)
        square = square * square
    if a.dtype.kind == "i":  # base -1 keeps the parity of a negative exponent: its bits say so already
        negative = negative & (a != -1)
    return np.where(negative & (a != 1), 0, result).astype(a.dtype)


# Multiply and add ----------------------------------------------------------------------------------------------------


def fused(a: Array, b: Array, c: Array, out: np.ndarray | None = None) -> Array:
    """a * b + c, rounded once; integers wrap."""
    if is_integer(a):
        return np.add(a * b, c, out=out)
    dtype = from_numpy(a.dtype)
    assert dtype is not None, a.dtype
    return give(narrow(fused_to_odd(a, np.asarray(b), c), dtype), out)


# A number of the program as an element of a tile.


def element(dtype: DType, value: Any) -> Any:
    """A scalar operand as a value of the tile's type: integers wrap, floats round once.

    `value` is a Python number, or an array of shape (blocks, 1, 1).
    """
    numpy_type = dtype.value
    assert numpy_type is not None, dtype
    if isinstance(value, np.ndarray) or (isinstance(value, np.generic) and not dtype.is_integer):
        return value.astype(numpy_type)  # of the same type: bit for bit
    if not dtype.is_integer:
        return numpy_type.type(float(value))
    if isinstance(value, (float, np.floating)):
        value = value if np.isfinite(value) else 0
    bits = int(value) & ((1 << dtype.bits) - 1)
    return numpy_type.type(bits - (1 << dtype.bits) if dtype.signed and bits >> (dtype.bits - 1) else bits)


# Philox4x32: random words of a key and a 128-bit counter (compute-layout-irregular 2.10).


_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_PER_STEP = 256  # words of one step: 64 counters of four words


def philox(counters: np.ndarray, key: Sequence[int], rounds: int) -> np.ndarray:
    """The four words of each counter; uint64 of shape (n, 4), word 0 least significant, each below 2**32."""
    c0, c1, c2, c3 = np.asarray(counters, np.uint64).T
    k0, k1 = (k & 0xFFFFFFFF for k in key)
    for _ in range(rounds):
        p0, p1 = c0 * _M0, c2 * _M1
        c0, c1, c2, c3 = (
            (p1 >> _HALF) ^ c1 ^ np.uint64(k0),
            p1 & _LOW,
            (p0 >> _HALF) ^ c3 ^ np.uint64(k1),
            p0 & _LOW,
        )
        k0, k1 = (k0 + _W0) & 0xFFFFFFFF, (k1 + _W1) & 0xFFFFFFFF
    return np.stack((c0, c1, c2, c3), axis=1)


def counter_of(words: Sequence[int]) -> int:
    """The 128-bit number of four words, the first least significant."""
    return sum((w & 0xFFFFFFFF) << 32 * k for k, w in enumerate(words))


def random_row(base: int, key: Sequence[int], columns: int, rounds: int) -> tuple[np.ndarray, int]:
    """The words of one row, uint32, and the base counter of the next row.

    The next row begins after the counters of all steps but the last and, of that, one per column modulo 64: so the
    device counts, although a full step uses 64 counters for 256 columns.
    """
    steps = -(-columns // _PER_STEP)
    numbers = [(base + n) & (1 << 128) - 1 for n in range(-(-columns // 4))]
    counters = np.array([[n >> 32 * k & 0xFFFFFFFF for k in range(4)] for n in numbers], np.uint64)
    words = philox(counters, key, rounds).astype(np.uint32).reshape(-1)[:columns]
    return words, base + 64 * (steps - 1) + (columns - 1) % 64 + 1
