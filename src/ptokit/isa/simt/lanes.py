"""Who a thread is, and what threads tell each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.types.dtypes import dtype, i32, i64, u32

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
    greater_equal,
    less,
    select,
)
from ..meaning.words import Lane, Meaning, Ordering, Python, Word
from ..site import Site
from ..table import Attr
from .meaning import WARP, Threads, of
from .words import condition, plain, simt, thread, value, word

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

SIGNS = word("signedness", "signed", "unsigned")
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
