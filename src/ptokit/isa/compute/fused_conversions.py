"""Sums and differences that are clamped at 0 and converted on their way (compute-elementwise 3.3, 4.7)."""

from __future__ import annotations

from dataclasses import replace

from ptokit.targets import A2A3
from ptokit.types.dtypes import f16, f32, i32
from ptokit.types.enums import RoundMode

from ..checks.compiling import Message
from ..meaning.expressions import Const, Convert, Expr, Reinterpret, Scalar
from ..meaning.words import Lane, Write
from ..numerics.convert import Conversion, conversion
from ..operands import NONE, F, types, types_of
from ..site import Site
from ..table import LEVEL2, Instr, TextForm, dst, scalar, src, tmp
from .scratch import EW_10_APART_A3, EW_11_SUMS
from .vector_unit import COMMON, EW_06, EW_07, SRC0, SRC1, computed, relu, vector

_NARROWED = {"f32": "f16", "f16": "i8", "i16": "i8"}


def _narrowed(o: Site) -> Message:
    if not o.target.is_device:
        return f"{o.instr.name} has no form on {o.target.name}"
    s, t, d = o.src0.dtype, o.src1.dtype, o.dst.dtype
    if s is t and _NARROWED.get(s.name) == d.name:
        return None
    return f"there is no {d} = {s}, {t} form; sources are f32, f16 or i16, and give f16, i8 or i8"


_RULES = tuple(rule for rule in COMMON if rule.id != "EW-04")
_NARROWS = replace(EW_06, check=_narrowed)


def _clamped(name: str, value: Expr, sign: str) -> Instr:
    """``value``, but at least 0, as the element type of dst: integers saturate, f16 overflows as TCVT has it."""

    def converted(o: Site) -> Expr | None:
        if _narrowed(o) is not None:
            return None
        whole = o.dst.dtype.is_integer
        return Convert(relu(value), "dst", saturate=whole or _overflow(o).saturate)

    return computed(
        name,
        converted,
        (dst(), src("src0"), src("src1")),
        types(F | types_of("i16"), F | types_of("i16"), cpu=NONE),
        _NARROWS,
        EW_07,
        common=_RULES,
        summary=f"dst = max(src0 {sign} src1, 0) as f16 of f32, or i8 of f16 and i16",
        source="compute-elementwise 4.7",
    )


def _overflow(o: Site) -> Conversion:
    return conversion(f32, f16, mode=RoundMode.RINT, sat=None, target=o.target)


TADDRELUCONV = _clamped("TADDRELUCONV", SRC0 + SRC1, "+")
TSUBRELUCONV = _clamped("TSUBRELUCONV", SRC0 - SRC1, "-")

# TADDDEQRELU ----------------------------------------------------------------------------------------------------------

_SMALL, _LARGE = 2.0**-17, 2.0**17
_SCALE = Scalar("deq_scale", f32)


def _integers(o: Site) -> Message:
    s, t, d = o.src0.dtype, o.src1.dtype, o.dst.dtype
    if (s.name, t.name, d.name) == ("i32", "i32", "f16"):
        return None
    return f"there is no {d} = {s} + {t} form; sources are i32, and give f16"


def _dequantized(o: Site) -> Lane | None:
    """a2a3 computes in its sources and tmp: they are left with the scaled sum, that sum at least 0, and zeros."""
    if _integers(o) is not None:
        return None
    total = Convert(SRC0 + SRC1, f32)
    if not o.target.is_device:
        return Lane((Write("dst", Convert(relu(total * _SCALE), "dst")),))
    scaled = total * Const(_SMALL, total) * _SCALE * Const(_LARGE, total)
    result = Write("dst", Convert(relu(scaled), "dst", saturate=_overflow(o).saturate))
    if not o.target.is_a(A2A3):
        return Lane((result,))
    left = Write("src0", Reinterpret(scaled, i32)), Write("src1", Reinterpret(relu(scaled), i32))
    return Lane((result, *left, Write("tmp", Reinterpret(Const(0, total), i32))))


TADDDEQRELU = vector(
    "TADDDEQRELU",
    "dst = max((src0 + src1) * deq_scale, 0) as f16, the sum of i32",
    (dst(), src("src0"), src("src1"), scalar("deq_scale", type="f32"), tmp()),
    types(types_of("i32 f16"), types_of("i32 f16"), bf16=False),
    _dequantized,
    replace(EW_06, check=_integers),
    EW_07,
    EW_10_APART_A3,
    EW_11_SUMS,
    common=_RULES,
    form=TextForm(orders={LEVEL2: "src0 src1 deq_scale tmp -> dst"}),
    decision=(
        "On a2a3 the library computes in src0, src1 and tmp; afterwards they hold the bits of f32: the scaled sum, the "
        "larger of it and 0, and zeros. On a5 and cpu they stay, and tmp is not used."
    ),
    source="compute-elementwise 4.7",
)
