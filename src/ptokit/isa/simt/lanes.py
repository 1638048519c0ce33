"""Arithmetic of one thread, who it is, and what threads tell each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.types.dtypes import dtype, i32, i64, u32
from ptokit.types.enums import RoundMode

from ..meaning.expressions import (
    Bit,
    Const,
    Convert,
    Element,
    Expr,
    Folded,
    Listed,
    Reinterpret,
    Taken,
    Thread,
    apply,
    fmod,
    fused,
    greater_equal,
    less,
    select,
)
from ..meaning.words import Lane, Meaning, Ordering, Python, Word
from ..site import Site
from ..table import Attr
from .memory import SIGNS, WARP, Threads, condition, of, plain, simt, thread, value, word

# Who a thread is, and what threads tell each other.


_SINGLE = "A launch of threads is one block of a grid that has no size: grid sizes and block numbers are 0."


def _asked(what: str, axis: int = 0) -> Meaning:
    return lambda o: thread(Thread(what, of(o, "result"), axis))


def _nothing(o: Site) -> Lane:
    return thread(Listed((0,), of(o, "result")))


def _as_result(mask: Expr) -> Meaning:
    """A number of 32 bits in the type of the result."""
    return lambda o: thread(mask if of(o, "result") is i32 else Convert(mask, of(o, "result")))


def _ones(count: Expr) -> Expr:
    """Numbers of 32 bits with so many low bits set."""
    return Reinterpret(Convert((Const(1, count) << count) - 1, u32), i32)


for _k, _axis in enumerate("xyz"):
    simt(f"get_tid_{_axis}", f"Number of the thread in {_axis}.", (), "{} : R", _asked("tid", _k))
    simt(f"get_block_dim_{_axis}", f"Threads of the launch in {_axis}.", (), "{} : R", _asked("size", _k))
    for _text, _what in (("grid_dim", "Blocks of the launch"), ("block_idx", "Number of the block")):
        simt(f"get_{_text}_{_axis}", f"{_what} in {_axis}.", (), "{} : R", _nothing, decision=_SINGLE)
for _text, _what, _find in (
    ("get_veccoreid", "Number of the vector core.", "core"),
    ("get_laneid", "Number of the thread among the 32 of its warp.", "lane"),
    ("get_clock32", "Low half of the clock.", "clock"),
    ("get_clock64", "The clock.", "clock"),
):
    simt(_text, _what, (), "{} : R", _asked(_find))
_LANE, _ACTIVE = Thread("lane", i64), Thread("active", "bool")
_BELOW, _UPTO = _ones(_LANE), _ones(_LANE + 1)
for _how, _mask in {"eq": _UPTO ^ _BELOW, "le": _UPTO, "lt": _BELOW, "ge": ~_BELOW, "gt": ~_UPTO}.items():
    _meaning = _as_result(_mask)
    simt(f"get_lanemask_{_how}", f"The bits of the lanes that are {_how} this one.", (), "{} : R", _meaning)

_PRED = Bit("pred")
_ALL, _ANY = Folded("and", _PRED, _ACTIVE), Folded("or", _PRED, _ACTIVE)
for _how, _what, _vote in (
    ("all", "True if it holds in all", _ALL),
    ("any", "True if it holds in any", _ANY),
    ("uni", "True if it is the same in all", apply("or", _ALL, ~_ANY)),
):
    plain(f"vote_{_how}", f"{_what} active threads of the warp.", "pred", condition(_vote), types="i1")
_BALLOT = Folded("add", select(_PRED & _ACTIVE, Const(1, _LANE) << _LANE, Const(0, _LANE)))
plain(
    "vote_ballot",
    "The bits of the threads of the warp where it holds.",
    "pred",
    thread(Reinterpret(Convert(_BALLOT, u32), i32)),
    types="i1",
)

_WIDTH = Attr("width", int, None, "width")
_FROM: dict[str, Callable[[Expr, Expr], Expr]] = {
    "idx": lambda lane, x: x,
    "up": lambda lane, x: lane - x,
    "down": lambda lane, x: lane + x,
    "bfly": lambda lane, x: lane ^ x,
}


def _shuffle(how: str, other: str) -> Meaning:
    """The value of another lane of the group; the own one where there is none, or where it is not active."""

    def meaning(o: Site) -> Lane:
        group = WARP if o.width is None else o.width
        own, local = Thread("place", i64), fmod(_LANE, group)
        wanted = _FROM[how](local, Convert(Element(other), i64))
        there = greater_equal(wanted, 0) & less(wanted, group)
        source = select(there, own - local + wanted, own)
        return thread(Taken(Element("value"), select(Taken(_ACTIVE, source), source, own)))

    return meaning


for _how, _other, _what in (
    ("idx", "index", "of the lane with this number"),
    ("up", "offset", "of the lane so many below"),
    ("down", "offset", "of the lane so many above"),
    ("bfly", "mask", "of the lane whose number differs in these bits"),
):
    plain(
        f"shuffle_{_how}",
        f"The value {_what}.",
        f"value {_other}",
        _shuffle(_how, _other),
        _WIDTH,
        types="- i32",
        decision="A lane that asks for one outside its group, or one that is not active, gets its own value.",
    )

_REDUCE = {"add": np.add, "max": np.maximum, "min": np.minimum}


def _redux(how: str) -> Meaning:
    """Over the active lanes; sums of floats the lowest first, every one rounded."""
    operation: Any = _REDUCE[how]

    def run(t: Threads, value: np.ndarray, *, types: Any, **_: Any) -> np.ndarray:
        rows, on = (t.spread(x).reshape(-1, WARP) for x in (value, t.active))
        first = np.argmax(on, axis=1)
        total = np.take_along_axis(rows, first[:, None], axis=1)[:, 0]
        for lane in range(WARP):
            met = on[:, lane] & (lane > first)
            with np.errstate(all="ignore"):
                total = np.where(met, operation(total, rows[:, lane]), total)
        return np.repeat(total, WARP, axis=0)

    def meaning(o: Site) -> Word:
        kind = of(o, "value")
        if kind.is_float:
            return Python(run)
        signed, seen = (dtype(f"{k}{kind.bits}") for k in ("i", "u" if o.signedness == "unsigned" else "i"))
        return thread(Reinterpret(Folded(how, Reinterpret(Element("value"), seen), _ACTIVE), signed))

    return meaning


for _how, _what in (("add", "sum"), ("max", "maximum"), ("min", "minimum")):
    simt(
        f"redux_{_how}",
        f"The {_what} over the active threads of the warp.",
        (value("value"),),
        "%value <? W(signedness) ?> {} : T(value) -> R",
        _redux(_how),
        SIGNS,
    )


def _meet(t: Threads, *, types: Any) -> None:
    t.sync()


for _text, _what, _order in (
    ("syncthreads", "Wait for all threads of the launch.", Ordering(_meet)),
    ("threadfence", "Order this thread's accesses to global memory for the device.", Ordering()),
    ("threadfence_block", "Order this thread's accesses for its block.", Ordering()),
):
    simt(_text, _what, (), "{}", _order, results=0)

_SLOT = Attr("slot", int, None, "slot", long=True)


def _keep(t: Threads, payload: np.ndarray, *, slot: int, types: Any) -> None:
    kept = t.kept()
    before = kept.get(slot)
    now = t.spread(payload)
    if before is not None and before.shape == now.shape and before.dtype == now.dtype:
        now = np.where(t.active, now, before)
    kept[slot] = now


def _resume(t: Threads, *, slot: int, types: Any) -> np.ndarray:
    """What the threads of the launch before have kept; 0 if nothing of that size."""
    found = t.kept().get(slot)
    if found is None or len(found) != t.count:
        return np.zeros(1, types[-1].array)
    return found.astype(types[-1].array) if found.dtype != types[-1].array else found


simt(
    "keep",
    "Keep a value for later sections of the same thread.",
    (value("payload"),),
    "%payload {} : T(payload)",
    Python(_keep),
    _SLOT,
    results=0,
)
simt("resume", "The value an earlier section of the same thread has kept.", (), "{} : R", Python(_resume), _SLOT)


# Arithmetic of one thread that `arith` does not have.


_VALUE, _LHS, _RHS = (Element(name) for name in ("value", "lhs", "rhs"))

for _text, _what, _name in (
    ("sqrt", "Square root", "sqrt"),
    ("absf", "Absolute value", "abs"),
    ("exp", "Exponential", "exp"),
    ("log", "Natural logarithm", "log"),
    ("sin", "Sine", "sin"),
    ("cos", "Cosine", "cos"),
    ("ceil", "Next integral value above", "ceil"),
    ("floor", "Next integral value below", "floor"),
    ("rint", "Nearest integral value, ties to even", "rint"),
    ("round", "Nearest integral value, ties away from zero", "round"),
):
    plain(_text, f"{_what}.", "value", thread(apply(_name, _VALUE)))
for _text, _what, _name in (("fmin", "Minimum", "min"), ("fmax", "Maximum", "max"), ("pow", "Power", "pow")):
    plain(_text, f"{_what}.", "lhs rhs", thread(apply(_name, _LHS, _RHS)))
plain("fma", "lhs * rhs + acc, rounded once.", "lhs rhs acc", thread(fused(_LHS, _RHS, Element("acc"))))


def _bytes() -> Expr:
    """Byte k of the result is the byte of rhs (0 to 3) or lhs (4 to 7) that the low bits of nibble k name."""
    lhs, rhs, selector = (Reinterpret(Element(name), u32) for name in ("lhs", "rhs", "selector"))
    total: Expr | None = None
    for k in range(4):
        number = selector >> 4 * k & 7
        byte = (select(less(number, 4), rhs, lhs) >> ((number & 3) << 3) & 255) << 8 * k
        total = byte if total is None else total | byte
    assert total is not None
    return Reinterpret(total, i32)


plain(
    "prmt",
    "Four bytes of two numbers, chosen by the nibbles of a third.",
    "lhs rhs selector",
    thread(_bytes()),
    types="i32 i32 i32",
)


def _high(o: Site) -> Lane:
    """The upper half of the product, by halves of the operands."""
    kind = of(o, "lhs")
    half, bits = kind.bits // 2, dtype(f"u{kind.bits}")
    x, y = (Reinterpret(e, bits) for e in (_LHS, _RHS))
    x0, x1, y0, y1 = (part for e in (x, y) for part in (e & (1 << half) - 1, e >> half))
    middle = x1 * y0 + (x0 * y0 >> half)
    high = x1 * y1 + (middle >> half) + ((middle & (1 << half) - 1) + x0 * y1 >> half)
    if o.signedness != "unsigned":
        for e, other in ((_LHS, y), (_RHS, x)):
            high = high - select(less(e, 0), other, Const(0, other))
    return thread(Reinterpret(high, kind))


def _wide(o: Site) -> Lane:
    kind = u32 if o.signedness == "unsigned" else i32
    return thread(Convert(Reinterpret(_LHS, kind), i64) * Convert(Reinterpret(_RHS, kind), i64))


for _text, _what, _carry_meaning in (
    ("mulhi", "High half of a product.", _high),
    ("mul_i32toi64", "Product of 64 bits.", _wide),
):
    simt(
        _text,
        _what,
        (value("lhs"), value("rhs")),
        "%lhs , %rhs W(signedness) {} : T(lhs) , T(rhs) -> R",
        _carry_meaning,
        SIGNS,
    )

_ROUNDINGS = {
    "r": RoundMode.RINT,
    "a": RoundMode.ROUND,
    "f": RoundMode.FLOOR,
    "c": RoundMode.CEIL,
    "z": RoundMode.TRUNC,
    "o": RoundMode.ODD,
    "h": RoundMode.CEIL,
}


def _converted(o: Site) -> Lane:
    """Every element rounded once from its exact value; into integers NaN is 0."""
    source, result = of(o, "src"), of(o, "result")
    kinds = [dtype(f"u{d.bits}") if d.is_integer and o.signedness == "unsigned" else d for d in (source, result)]
    mode = _ROUNDINGS[o.rounding or "r"]
    if result.name == "hif8" and mode is RoundMode.ROUND:
        mode = RoundMode.NONE  # the type's own
    given = Element("src") if kinds[0] is source else Reinterpret(Element("src"), kinds[0])
    found = given if kinds[0] is kinds[1] else Convert(given, kinds[1], mode, o.saturation != "nosat")
    return thread(found if kinds[1] is result else Reinterpret(found, result))


simt(
    "convert",
    "A number in another type.",
    (value("src"),),
    "%src round ~( W(rounding) ) W(saturation) <? W(signedness) ?> {} : T(src) -> R",
    _converted,
    word("rounding", *"rafczoh"),
    word("saturation", "sat", "nosat"),
    SIGNS,
    decision="round(h) is taken as round(c): the sources call it a ceiling mode of some conversions.",
)
