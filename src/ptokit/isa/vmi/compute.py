"""Lane by lane: arithmetic, comparison, choice, conversion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import fused, values
from .compute_rules import COMPUTE
from .values import BINARY, COMPARISONS, UNARY, Array, zeroed
from .words import PMODE, ROUNDING, SATURATE, operations, text, token


def _lanes(fn: Callable[..., Array], sources: int) -> Callable[..., Array]:
    """A function of lanes, and a predicate behind them where there is one; 0 where it is off."""

    def run(m: Any, *operands: Any, pmode: str | None = None, types: Any = None) -> Array:
        return zeroed(fn(*operands[:sources]), operands[sources] if len(operands) > sources else None)

    return run


def _number(fn: Callable[..., Array]) -> Callable[..., Array]:
    def run(m: Any, src: Array, scalar: Any, on: Array, *, pmode: str | None = None, types: Any) -> Array:
        number = values.repeated(scalar, src.shape[1], types["src"].dtype)
        return zeroed(fn(src, number), on)

    return run


def _compared(m: Any, a: Array, b: Array, on: Array | None, word: str) -> Array:
    name = word[1:] if len(word) == 3 and word[0] in "osu" else word
    if word[0] == "u" and a.dtype.kind == "i":
        a, b = values.signed_as(a, "u"), values.signed_as(b, "u")
    found = COMPARISONS[name](a, b)
    return found if on is None else found & on


def _compare(m: Any, a: Array, b: Array, *, predicate: str, types: Any) -> Array:
    return _compared(m, a, b, None, predicate)


def _seeded(m: Any, a: Array, b: Any, seed: Array, *, cmp: str, pmode: str | None, types: Any) -> Array:
    if not isinstance(b, np.ndarray) or b.shape[-1] != a.shape[1]:
        b = values.repeated(b, a.shape[1], types["src"].dtype)
    return _compared(m, a, b, seed, cmp)


def _select(m: Any, on: Array, a: Array, b: Array, *, types: Any, **_: Any) -> Array:
    return np.where(on, a, b)


def _cast(m: Any, x: Array, *, types: Any, rounding: Any = None, saturate: Any = None, **_: Any) -> Array:
    return values.cast(x, types["source"].dtype, types["result"].dtype, rounding, saturate)


def _extended(kind: str) -> Callable[..., Array]:
    def run(m: Any, x: Array, *, types: Any) -> Array:
        to = types["result"].dtype.value
        return values.signed_as(x, kind).astype(f"{kind}{to.itemsize}").view(to)

    return run


def _truncated(m: Any, x: Array, *, saturate: str | None, types: Any) -> Array:
    return values.cast(x, types["source"].dtype, types["result"].dtype, None, saturate)


def _bits(m: Any, x: Array, *, types: Any) -> Array:
    to = types["result"].dtype
    return np.ascontiguousarray(x).view(to.value or to.storage)


def _product(m: Any, a: Array, b: Array, on: Array, *, types: Any, **_: Any) -> tuple[Array, Array]:
    kind = np.dtype(f"{a.dtype.kind}8")
    wide = a.astype(kind) * b.astype(kind)
    low, high = wide & kind.type(0xFFFFFFFF), wide >> kind.type(32)
    low, high = (half.astype(np.uint32).view(a.dtype) for half in (low, high))
    return zeroed(low, on), zeroed(high, on)


_CHOICE = "mask:m true_value:v false_value:v"

# As compilers lower it: one operation for floats, one for integers, all lanes -----------------------------------------

vmi = operations(COMPUTE)

for _name in "addf addi subf subi mulf muli divf minf maxf mini maxi andi ori xori shli shrui shrsi".split():
    _what = {"shru": "shr", "shrs": "shr"}.get(_name[:-1], _name[:-1])
    _run = fused.shifted({"shru": "u", "shrs": "i"}[_name[:-1]]) if _what == "shr" else _lanes(BINARY[_what], 2)
    vmi(_name, f"result = {_name[:-1]} of lhs and rhs, lane by lane.", "lhs:v rhs:v", "result:v", run=_run)
for _name in "negf negi absf absi sqrt exp ln relu not".split():
    _what = _name[:-1] if _name in ("negf", "negi", "absf", "absi") else _name
    vmi(_name, f"result = {_name} of source, lane by lane.", "source:v", "result:v", run=_lanes(UNARY[_what], 1))
vmi("fma", "result = lhs * rhs + acc, rounded once.", "lhs:v rhs:v acc:v", "result:v", run=fused.fma)
for _name in ("cmpf", "cmpi"):
    vmi(
        _name,
        "Where lhs and rhs compare so.",
        "lhs:v rhs:v",
        "result:m",
        token("predicate", before="lhs"),
        run=_compare,
    )
vmi(
    "select",
    "true_value where the mask is on, else false_value.",
    _CHOICE,
    "result:v",
    run=_select,
)

for _name, _what, _run in (
    ("extf", "Floats in a wider type.", _cast),
    ("sitofp", "Signed integers as floats.", _cast),
    ("extsi", "Signed integers in a wider type.", _extended("i")),
    ("extui", "Unsigned integers in a wider type.", _extended("u")),
    ("bitcast", "The same bits as other elements.", _bits),
    ("vinterpret_cast", "The same bits as other elements.", _bits),
):
    vmi(_name, _what, "source:v", "result:v", run=_run)
for _name, _what in (
    ("truncf", "Floats in a narrower type."),
    ("fptosi", "Floats as signed integers."),
    ("fptoui", "Floats as unsigned integers."),
):
    vmi(_name, _what, "source:v", "result:v", ROUNDING, SATURATE, run=_cast)
vmi("trunci", "Integers in a narrower type.", "source:v", "result:v", SATURATE, run=_truncated)

# As kernels are written: with a predicate --------------------------------------------------------------------------

for _name in "vadd vsub vmul vdiv vmin vmax vshl vshr".split():
    vmi(
        _name,
        f"result = {_name[1:]} of lhs and rhs in the active lanes.",
        "lhs:v rhs:v mask:m?",
        "result:v",
        PMODE,
        run=_lanes(BINARY[_name[1:]], 2),
    )
for _name in "vand vor vxor".split():
    vmi(
        _name,
        f"result = {_name[1:]} of lhs and rhs in the active lanes.",
        "lhs:b rhs:b mask:m?",
        "result:b",
        PMODE,
        run=_lanes(BINARY[_name[1:]], 2),
    )
vmi(
    "vnot",
    "result = not of source in the active lanes.",
    "source:b mask:m?",
    "result:b",
    PMODE,
    run=_lanes(np.invert, 1),
)
for _name in "vneg vabs vsqrt vexp vln vrelu".split():
    vmi(
        _name,
        f"result = {_name[1:]} of source in the active lanes.",
        "source:v mask:m?",
        "result:v",
        PMODE,
        run=_lanes(UNARY[_name[1:]], 1),
    )
for _name in "vadds vmuls vmaxs vmins vshls vshrs".split():
    vmi(
        _name,
        f"result = {_name[1:-1]} of src and a number.",
        "src:v scalar:s mask:m",
        "result:v",
        PMODE,
        run=_number(BINARY[_name[1:-1]]),
    )
vmi("vaddc", "Sum and carry out.", "lhs:v rhs:v mask:m", "result:v carry:m", run=fused.carried)
vmi(
    "vaddcs",
    "Sum with a carry in, and carry out.",
    "lhs:v rhs:v carry_in:m mask:m",
    "result:v carry:m",
    run=fused.carried,
)
vmi("vcmp", "Where lhs and rhs compare so.", "lhs:v rhs:v seed:m", "result:m", text("cmp"), PMODE, run=_seeded)
vmi("vcmps", "Where src and a number compare so.", "src:v scalar:s seed:m", "result:m", text("cmp"), PMODE, run=_seeded)
vmi("vsel", "true_value where the mask is on.", _CHOICE, "result:v", PMODE, run=_select)
vmi("vcvt", "Numbers in another type.", "source:v", "result:v", ROUNDING, SATURATE, PMODE, run=_cast)
vmi("vexpdif", "e ** (x - max).", "x:v max:v mask:m", "result:v", PMODE, run=fused.vexpdif)
vmi("vaxpy", "x * alpha + acc.", "x:v acc:v alpha:s mask:m", "result:v", PMODE, run=fused.vaxpy)
vmi("vlrelu", "x where it is positive, else x * slope.", "x:v slope:s mask:m", "result:v", PMODE, run=fused.vlrelu)
vmi("vprelu", "x where it is positive, else x * alpha.", "x:v alpha:v mask:m", "result:v", PMODE, run=fused.vprelu)
vmi("vmull", "Low and high half of a product.", "a:v b:v mask:m", "low:v high:v", PMODE, run=_product)
vmi("vmula", "acc + lhs * rhs.", "acc:v lhs:v rhs:v mask:m?", "result:v", PMODE, run=fused.vmula)
