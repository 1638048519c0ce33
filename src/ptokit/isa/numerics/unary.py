"""Functions of one value, rounded once: exp, log, roots; conversions between types (compute-elementwise 4.6, 8).

Elements of 4-bit types are codes, one per uint8; packing them is the caller's business.

What is promised for f32 is the binary64 number nearest to the exact value, rounded once more. Libraries compute
binary64 functions with an error of up to a few units in the last place, and NumPy's differ between processors. That
shows in f32 only where the exact value lies within these units of the middle between two f32 numbers. A sweep of all
2^32 arguments has found where it lies within five: the arguments of `HARD`. What NumPy makes
of them is looked at once.

The devices approximate; the reference value is the exact one rounded to the element type. f64 functions with an error
of up to five units in the last place give correctly rounded results in 16-bit types for every input. In f32 exp is
correctly rounded for every input, log for all but five (see `HARD`), sqrt and 1 / x always; none of them depends
on the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from functools import cache, lru_cache
from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.targets import A2A3, Target
from ptokit.types.codecs import decode, decode_table, encode
from ptokit.types.dtypes import DTYPES, DType, from_numpy, int4, s4
from ptokit.types.enums import RoundMode, SaturationMode

from . import arith
from .arith import as_values, narrow

# TCVT: the pairs of types each target converts, how they round and saturate, and the values (compute-elementwise 8).


class Rounding(Enum):
    """What a pair does with the rounding mode; the values are the letters of compute-elementwise 8.2."""

    EXACT = "x"  # nothing is rounded
    MODE_EVEN = "R"  # follows the mode; NONE and modes it does not know mean nearest even
    MODE_ZERO = "Z"  # follows the mode; NONE and modes it does not know mean toward zero
    EVEN = "r"  # always nearest even
    AWAY = "a"  # always nearest, ties away from zero


@dataclass(frozen=True, slots=True)
class Pair:
    """Behaviour of one (source, destination) pair on a target.

    ``saturates`` applies when the instruction gives no saturation mode or one that the pair ignores.
    """

    rounding: Rounding
    saturates: bool = True
    honours_sat: bool = False
    odd: bool = False  # knows RoundMode.ODD

    def mode(self, mode: RoundMode) -> RoundMode:
        """The rounding that takes place when the instruction says `mode`."""
        if self.rounding is Rounding.AWAY:
            return RoundMode.ROUND
        if self.rounding in (Rounding.EXACT, Rounding.EVEN):
            return RoundMode.RINT
        if mode is RoundMode.CAST_RINT:
            return RoundMode.RINT
        if mode is RoundMode.NONE or (mode is RoundMode.ODD and not self.odd):
            return RoundMode.RINT if self.rounding is Rounding.MODE_EVEN else RoundMode.TRUNC
        return mode


Pairs = Mapping[tuple[DType, DType], Pair]


def _pairs(table: str) -> dict[tuple[DType, DType], Pair]:
    """Parse rows ``src: dst letter[flags]``: o = ODD, c = saturation mode honoured, f = not saturating by default."""
    out = {}
    for line in table.strip().splitlines():
        src, cells = line.split(":")
        for name, letter in zip(cells.split()[::2], cells.split()[1::2], strict=True):
            flags = letter[1:]
            pair = Pair(Rounding(letter[0]), "f" not in flags, "c" in flags, "o" in flags)
            out[DTYPES[src.strip()], DTYPES[name]] = pair
    return out


# On A2/A3 f32 to f16 and bf16 overflows to infinity unless the instruction asks for saturation. The control bits leave
# this open (8.5); an explicit mode is taken at its word.
_A2A3 = _pairs("""
f32:  f16 Rocf  f32 R  bf16 Rcf  i16 Zcf  i32 Z  i64 Z
f16:  f32 x  i32 Z  i16 Zcf  i8 Zcf  u8 Zcf  int4 R
bf16: f32 x  i32 Z
i8:   f16 x
u8:   f16 x
i16:  f16 R  f32 x
i32:  f32 R  i16 xcf  i64 x  f16 r
i64:  f32 R  i32 xcf
int4: f16 x
""")

_A5 = _pairs("""
f32:  f16 Roc  bf16 Rc  f32 R  i16 Zcf  i32 Zc  i64 Zc  e4m3 r  e5m2 r  hif8 acf
f16:  f32 x  i32 Zc  i16 Zcf  i8 Zcf  u8 Zcf  hif8 acf
bf16: f32 x  i32 Zc  f16 Rc  e1m2 R  e2m1 R
i8:   f16 x  i16 x  i32 x
u8:   f16 x  u16 x
i16:  f16 Rc  f32 x  i32 x  u32 x  u8 xc
i32:  f32 R  i16 xcf  u16 xc  u8 xc  i64 x
u32:  u8 xc  u16 xc  i16 xc
i64:  f32 R  i32 xcf
e4m3: f32 x
e5m2: f32 x
hif8: f32 x
e1m2: bf16 x
e2m1: bf16 x
""")

_KIRIN9030 = {
    (src, dst): pair
    for (src, dst), pair in _A5.items()
    if {src, dst} <= {DTYPES[name] for name in "f32 f16 i8 u8 i16 u16 i32 u32".split()}
}

CVT_PAIRS: dict[str, Pairs] = {
    "cpu": {key: replace(pair, honours_sat=True) for key, pair in (_A2A3 | _A5).items()},
    "a2a3": _A2A3,
    "a5": _A5,
    "kirin9030": _KIRIN9030,
}
"""Legal pairs per target; ``cpu`` accepts what either device accepts, follows A5 where both do, and always honours an
explicit saturation mode."""


def whole(dtype: DType) -> DType:
    """The type that a table of pairs has: int4, packed or not, is one."""
    return int4 if dtype is s4 else dtype


@dataclass(frozen=True, slots=True)
class Conversion:
    """How one TCVT converts: by way of the type `through` (saturating) if there is one, then to its destination."""

    rounding: RoundMode
    saturate: bool
    through: DType | None = None


def conversion(
    src: DType, dst: DType, *, mode: RoundMode, sat: SaturationMode | None, target: Target, tmp: bool = False
) -> Conversion:
    """What TCVT of these types does. Raises `KeyError` for a pair the target does not have (rule TCVT-01).

    ``sat`` None means that the instruction names no saturation mode. `tmp` is True for the form with a temporary tile,
    which on a2a3 honours `sat` for every integer destination and takes f32 to i16 through a saturated i32. Source:
    compute-elementwise 8.2 to 8.7.

    NaN to an 8-bit float is 0 where it saturates, as the golden answers of the conversions of registers say. Decisions
    where the sources are open: NaN to an integer is 0; NaN to FP4 is the largest value; negative i16 to u32
    is 0 unless saturation is off; with saturation ON an infinity becomes the largest finite value of a float type that
    can overflow.
    """
    pair = target.entry(CVT_PAIRS)[whole(src), whole(dst)]
    through_tmp = tmp and target.is_a(A2A3) and dst.is_integer
    saturate = pair.saturates
    if sat is not None and (pair.honours_sat or through_tmp):
        saturate = sat is SaturationMode.ON
    if pair.rounding is Rounding.EXACT and dst.is_float:
        saturate = False  # nothing overflows, and infinities stay
    wide = through_tmp and not saturate and src.name == "f32" and dst.bits < 32
    return Conversion(pair.mode(mode), saturate, DTYPES["i32"] if wide else None)


def converter(src: DType, dst: DType, rounding: RoundMode, saturate: bool) -> Callable[[np.ndarray], np.ndarray]:
    """Elements of one type in another one of any shape: ``dst.value`` dtype, or codes (uint8) where that is None.

    Its argument has dtype ``src.value`` or is codes of ``src.storage``.
    """
    if src.size <= 2 and not _faster_without_table(src, dst):
        return lambda values: np.take(conversion_table(src, dst, rounding, saturate), values.view(src.storage))
    if src.name == "f32" and dst.name in ("f16", "bf16") and rounding is RoundMode.RINT and not saturate:
        return lambda values: _narrowed(values, dst)
    return lambda values: _convert(decode(src, values.view(src.storage)), src, dst, rounding, saturate)


def _narrowed(values: np.ndarray, dst: DType) -> np.ndarray:
    """To the nearest even as NumPy does it, with the one NaN of the type."""
    with np.errstate(over="ignore", invalid="ignore"):
        out = values.astype(dst.value)
    nan = np.isnan(out)
    if nan.any():
        out[nan] = dst.value.type(np.nan)  # type: ignore[union-attr]
    return out


def _faster_without_table(src: DType, dst: DType) -> bool:
    """Widenings that are one NumPy pass."""
    widens = src.is_integer and dst.is_integer and 8 <= src.bits < dst.bits
    return widens or (src.name == "bf16" and dst.name == "f32")


@lru_cache(maxsize=256)
def conversion_table(src: DType, dst: DType, rounding: RoundMode, saturate: bool) -> np.ndarray:
    """Results for all codes of a type of at most 16 bits (FP4: the high nibble is ignored)."""
    codes = np.arange(1 << (8 * src.size), dtype=src.storage)
    return _convert(decode(src, codes), src, dst, rounding, saturate)


def _convert(numbers: np.ndarray, src: DType, dst: DType, rounding: RoundMode, saturate: bool) -> np.ndarray:
    if saturate and src.name == "i16" and dst.name == "u32":
        numbers = np.maximum(numbers, 0)
    if saturate and dst.is_float and dst.size == 1 and not dst.packed:
        numbers = np.where(np.isnan(numbers), numbers.dtype.type(0), numbers)
    return as_values(encode(dst, numbers, rounding=rounding, saturate=saturate), dst)


# The f32 arguments for which the last bit of a binary64 exp or log can decide how the result is rounded to f32.


HARD: dict[str, dict[int, int]] = {
    "exp": {
        0x377EFF81: 0x3F800080,
        0x383A3EF1: 0x3F800175,
        0x38E69CC1: 0x3F80039A,
        0x39C6BE5B: 0x3F800C6D,
        0x3D1A274E: 0x3F84E8BA,
        0x4001B249: 0x40F2CD14,
        0x40315B33: 0x417FA47D,
        0xB3000000: 0x3F800000,
        0xBAE0E25C: 0x3F7F8FA7,
        0xBBF0EDF1: 0x3F7E1FE9,
        0xC16912CD: 0x34FD331B,
    },
    "log": {
        0x022AE487: 0xC2A9EFAA,
        0x064CB44B: 0xC29E7C1A,
        0x07C060FA: 0xC29A733A,
        0x0DC8BBA4: 0xC289BAC4,
        0x0F61FF63: 0xC2855565,
        0x111C87F8: 0xC28085DF,
        0x145CB6D4: 0xC26F092F,
        0x14907055: 0xC26DF596,
        0x16C5EE7A: 0xC2619BD4,
        0x18B06F2A: 0xC256FA6F,
        0x1A8446CB: 0xC24D0A45,
        0x1AAC80DC: 0xC24BFA60,
        0x1B81AB52: 0xC2479316,
        0x1F116AB8: 0xC233B53E,
        0x22925AD4: 0xC220462D,
        0x22F6D580: 0xC21E2EF4,
        0x2423C085: 0xC21781D1,
        0x25BE734F: 0xC20E95CE,
        0x25F12E61: 0xC20DA3FB,
        0x2758EEC4: 0xC205BF23,
        0x28E3FA26: 0xC1FA75E0,
        0x29E6126B: 0xC1EF4C02,
        0x29FD22F8: 0xC1EE8859,
        0x2C4C24B7: 0xC1D48710,
        0x2E492984: 0xC1BE76EE,
        0x38DCBE38: 0xC1128BA4,
        0x39C31348: 0xC0FCAF65,
        0x3BF86EF0: 0xC09C399E,
        0x3C413D3A: 0xC08E1590,
        0x3FD364D7: 0x3F006EF3,
        0x41178FEB: 0x400FE5E8,
        0x464D5B2B: 0x4117BCF1,
        0x4665A9A6: 0x41198725,
        0x46CA6C75: 0x41229929,
        0x4B77325A: 0x4184CDE8,
        0x4C5D65A5: 0x418F034A,
        0x4D604EBE: 0x419A352C,
        0x4E85F412: 0x41A6B811,
        0x54AF989D: 0x41EB6D3C,
        0x5D800341: 0x42265B10,
        0x5D8B2D5B: 0x4226B0B1,
        0x5EE8984E: 0x422E4A21,
        0x5F64C24A: 0x4230FEE2,
        0x62B467BA: 0x42437434,
        0x64E27FA3: 0x424F7453,
        0x65D890D3: 0x4254D1F8,
        0x66A8C860: 0x42595E46,
        0x66ABBD63: 0x4259700E,
        0x6914CB96: 0x4266BA1E,
        0x6D1F23EB: 0x427D2D35,
        0x6E7054F2: 0x42822F73,
        0x6F31A8EC: 0x42845A88,
        0x736CC271: 0x429004B2,
        0x7405DEE8: 0x4291A68D,
        0x79E7EC37: 0x42A1FFB7,
        0x7D98B8F4: 0x42AC40F2,
    },
}
"""By function: argument to result, as bits."""


# Unary functions, rounded once: tables for 16-bit types, f64 for f32 (compute-elementwise 4.6, 4.8).


Wide = Callable[[np.ndarray], np.ndarray]


def _rsqrt(x: np.ndarray) -> np.ndarray:
    return 1.0 / np.sqrt(x)


FUNCTIONS: dict[str, Wide] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "rsqrt": _rsqrt,
    "recip": np.reciprocal,
}
"""Functions of f64 arrays by name; add a name here to get its tables."""

_CHUNK = 1 << 14  # f64 elements that stay in the cache


@cache
def table16(name: str, dtype: DType) -> np.ndarray:
    """Results of `FUNCTIONS`\\ ``[name]`` for all 65,536 codes of a 16-bit float type, in ``dtype.value``; read-only.

    Built on first use. Apply with ``np.take(table, x.view(np.uint16))``.
    """
    with np.errstate(all="ignore"):
        table = narrow(FUNCTIONS[name](decode_table(dtype).astype(np.float64)), dtype)
    table.flags.writeable = False
    return table


def _same_everywhere(name: str) -> Wide:
    """`FUNCTIONS`\\ ``[name]``, corrected where this machine's would round to another f32 (`HARD`)."""
    wide, cases = FUNCTIONS[name], HARD.get(name, {})
    arguments = np.array(list(cases), np.uint32).view(np.float32).astype(np.float64)
    results = np.array(list(cases.values()), np.uint32).view(np.float32)
    alone = np.array([wide(x[None])[0] for x in arguments])  # vectors may be computed in another way
    wrong = (wide(arguments).astype(np.float32) != results) | (alone.astype(np.float32) != results)
    if not wrong.any():
        return wide
    places, exact = arguments[wrong], results[wrong].astype(np.float64)

    def corrected(x: np.ndarray) -> np.ndarray:
        out = np.asarray(wide(x))
        for place, value in zip(places, exact):
            out[x == place] = value
        return out

    return corrected


@cache
def approx_f32(name: str) -> Callable[..., np.ndarray]:
    """A function ``f(x, out=None)`` of f32 arrays: `FUNCTIONS`\\ ``[name]`` in f64, rounded once to f32.

    `out` is an f32 array of the shape of `x`, possibly `x` itself; it is returned.
    """
    wide = _same_everywhere(name)
    native = {"sqrt": np.sqrt, "recip": np.reciprocal}.get(name)  # IEEE operations: f32 itself rounds once

    def apply(x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        out = np.empty_like(x) if out is None else out
        with np.errstate(all="ignore"):
            if native is not None:
                return native(x, out=out)
            if isinstance(wide, np.ufunc):  # NumPy converts in cache-sized pieces by itself
                return wide(x, out=out, dtype=np.float64, casting="same_kind")
            if not (x.flags.c_contiguous and out.flags.c_contiguous):
                out[...] = wide(x.astype(np.float64))
                return out
            flat, result = x.reshape(-1), out.reshape(-1)
            for start in range(0, flat.size, _CHUNK):
                piece = slice(start, start + _CHUNK)
                result[piece] = wide(flat[piece].astype(np.float64))
        return out

    return apply


def unary(name: str, x: np.ndarray, dtype: DType, out: np.ndarray | None = None) -> np.ndarray:
    """`FUNCTIONS`\\ ``[name]`` of values of f32, f16 or bf16 (``dtype.value``), rounded once to the same type."""
    if dtype.bits == 32:
        return approx_f32(name)(x, out)
    return np.take(table16(name, dtype), x.view(np.uint16), out=out, mode="clip" if out is not None else "raise")


# Unary float functions as value functions: f32 and 16-bit types, rounded once (compute-elementwise 4.6 and 4.8).


def rounded(name: str) -> Callable[..., Any]:
    """The function ``f(x, out=None)`` of this name."""

    def apply(x: Any, out: np.ndarray | None = None) -> Any:
        dtype = from_numpy(x.dtype)
        assert dtype is not None, x.dtype
        if out is not None and out.shape != x.shape:  # one value for all blocks
            return arith.give(unary(name, x, dtype), out)
        return unary(name, x, dtype, out)

    return apply


exp, log, sqrt, rsqrt = (rounded(name) for name in ("exp", "log", "sqrt", "rsqrt"))
_float_recip = rounded("recip")


def recip(x: Any, out: np.ndarray | None = None) -> Any:
    """1 / x; for integers 1, -1 or 0 (4.3)."""
    return arith.divide(x.dtype.type(1), x, out) if arith.is_integer(x) else _float_recip(x, out)


def _angle(fn: np.ufunc) -> Callable[..., Any]:
    def apply(x: Any, out: np.ndarray | None = None) -> Any:
        return arith.give(fn(x.astype(np.float64)).astype(x.dtype), out)

    return apply


sin, cos = _angle(np.sin), _angle(np.cos)
