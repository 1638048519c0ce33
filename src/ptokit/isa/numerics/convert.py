"""TCVT: the pairs of types each target converts, how they round and saturate, and the values (compute-elementwise 8).

Elements of 4-bit types are codes, one per uint8; packing them is the caller's business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from functools import lru_cache

import numpy as np

from ptokit.records import dataclass
from ptokit.targets import A2A3, Target
from ptokit.types.codecs import decode, encode
from ptokit.types.dtypes import DTYPES, DType, int4, s4
from ptokit.types.enums import RoundMode, SaturationMode

from .rounding import as_values


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
