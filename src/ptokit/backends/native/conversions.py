"""Elements of one type as elements of another, with the results of `ptokit.isa.numerics.convert`."""

from __future__ import annotations

from ptokit.types.dtypes import DType
from ptokit.types.enums import RoundMode
from ptokit.types.rounding import NEAREST_EVEN

from . import directed, lookups
from .code import float_of
from .elements import storage
from .primitives import Elements, Maker

_FLOATS = frozenset(("f32", "f16", "bf16"))
_NAN = {"f32": 0x7FC00000, "f16": 0x7E00, "bf16": 0x7FC0}
_LARGEST = {"f32": 0x7F7FFFFF, "f16": 0x477FE000, "bf16": 0x7F7F0000}  # as f32
_WHOLE = {
    RoundMode.TRUNC: "trunc",
    RoundMode.FLOOR: "floor",
    RoundMode.CEIL: "ceil",
    RoundMode.ROUND: "round",
    **dict.fromkeys(NEAREST_EVEN, "roundeven"),
}


def known(source: DType, target: DType, rounding: RoundMode, saturate: bool) -> bool:
    """True if there is native code for a conversion."""
    if lookups.by_table(source, target):
        return True
    if rounding not in _WHOLE:
        return False
    if source.name in _FLOATS and target.name in _FLOATS:
        return True
    if source.name in _FLOATS:
        return target.is_integer and 8 <= target.bits <= 32
    if not source.is_integer or source.bits < 8:
        return False
    if target.name in _FLOATS and source.bits > 16:
        return target.name == "f32" and (rounding in NEAREST_EVEN or source.name == "i32")
    if target.name in _FLOATS:
        return True
    return target.is_integer and target.bits >= 8


def convert(m: Maker, source: DType, target: DType, rounding: RoundMode, saturate: bool, x: Elements) -> Elements:
    """The elements in the other type."""
    if lookups.by_table(source, target):
        return lookups.converted(m, source, target, rounding, saturate, x)
    if source is target and source.is_integer:
        return x
    f = m.type("float")
    if source.name in _FLOATS and target.name in _FLOATS:
        return _float(m, target, rounding, saturate, x.wide)
    if source.name in _FLOATS and not saturate:
        return directed.wrapped(m, source, target, _WHOLE[rounding], x.wide)
    if source.name in _FLOATS:
        suffix = f"v{m.n}f32" if m.n > 1 else "f32"
        whole = m.value(f"call {f} @llvm.{_WHOLE[rounding]}.{suffix}({f} {x.wide})")
        kind = storage(target)
        t = m.type(kind)
        name = f"{'v' + str(m.n) if m.n > 1 else ''}{kind}"
        word = "fptosi" if target.signed else "fptoui"
        return m.narrow(target, m.value(f"call {t} @llvm.{word}.sat.{name}.{suffix}({f} {whole})"))
    t = m.type(storage(source))
    if target.name in _FLOATS:
        if source.bits == 32 and rounding not in NEAREST_EVEN:
            return m.narrow(target, directed.of_integer(m, rounding, x.narrow))
        word = "sitofp" if source.signed else "uitofp"
        return _float(m, target, rounding, saturate, m.value(f"{word} {t} {x.narrow} to {f}"))
    if saturate:
        x = m.narrow(source, _clamped(m, source, target, x.narrow))
    if target.bits == source.bits:
        return m.narrow(target, x.narrow)
    word = "trunc" if target.bits < source.bits else "sext" if source.signed else "zext"
    return m.narrow(target, m.value(f"{word} {t} {x.narrow} to {m.type(storage(target))}"))


def _clamped(m: Maker, source: DType, target: DType, x: str) -> str:
    """Integers of the source type as near as they are to what the target type holds."""
    (low, high), (least, most) = _limits(source), _limits(target)
    kind, sign = storage(source), "s" if source.signed else "u"
    t, name = m.type(kind), f"{'v' + str(m.n) if m.n > 1 else ''}{kind}"
    if least > low:
        x = m.value(f"call {t} @llvm.{sign}max.{name}({t} {x}, {t} {m.same(kind, least)})")
    if most < high:
        x = m.value(f"call {t} @llvm.{sign}min.{name}({t} {x}, {t} {m.same(kind, most)})")
    return x


def _limits(dtype: DType) -> tuple[int, int]:
    return (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1) if dtype.signed else (0, (1 << dtype.bits) - 1)


def _float(m: Maker, target: DType, rounding: RoundMode, saturate: bool, x: str) -> Elements:
    """An f32 number rounded to a float type; NaN becomes the one of the type."""
    f, c, kind = m.type("float"), m.type("i1"), storage(target)
    nan = m.value(f"fcmp uno {f} {x}, {x}")
    if saturate:
        for bits, predicate in ((_LARGEST[target.name], "ogt"), (_LARGEST[target.name] | 1 << 31, "olt")):
            limit = m.same("float", float_of(bits))
            beyond = m.value(f"fcmp {predicate} {f} {x}, {limit}")
            x = m.value(f"select {c} {beyond}, {f} {limit}, {f} {x}")
    t = m.type(kind)
    if rounding in NEAREST_EVEN or target.name == "f32":
        near = m.wide(target, x).narrow
    else:
        near = directed.narrowed(m, target, rounding, x)
    quiet = m.constant(target, _NAN[target.name]).narrow
    return m.narrow(target, m.value(f"select {c} {nan}, {t} {quiet}, {t} {near}"))
