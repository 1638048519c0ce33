"""Who a thread is, and what threads tell each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..table import Attr
from .meaning import WARP, Threads
from .words import plain, simt, value, word

Meaning = Callable[..., np.ndarray]


def _query(find: Callable[[Threads], Any]) -> Meaning:
    def run(t: Threads, *, types: Any) -> np.ndarray:
        return np.atleast_1d(np.asarray(find(t))).astype(types[-1].array)

    return run


def _ones_below(count: np.ndarray) -> np.ndarray:
    """Numbers with so many low bits set, as 32 bits."""
    return ((np.int64(1) << count.astype(np.int64)) - 1).astype(np.uint32).view(np.int32)


_MASKS: dict[str, Callable[[Threads], np.ndarray]] = {
    "eq": lambda t: _ones_below(t.lane + 1) ^ _ones_below(t.lane),
    "le": lambda t: _ones_below(t.lane + 1),
    "lt": lambda t: _ones_below(t.lane),
    "ge": lambda t: ~_ones_below(t.lane),
    "gt": lambda t: ~_ones_below(t.lane + 1),
}
_SINGLE = "A launch of threads is one block of a grid that has no size: grid sizes and block numbers are 0."


def _number(axis: int) -> Callable[[Threads], Any]:
    return lambda t: t.tid[axis]


def _size(axis: int) -> Callable[[Threads], Any]:
    return lambda t: t.sizes[axis]


for _k, _axis in enumerate("xyz"):
    simt(f"get_tid_{_axis}", f"Number of the thread in {_axis}.", (), "{} : R", _query(_number(_k)))
    simt(
        f"get_block_dim_{_axis}",
        f"Threads of the launch in {_axis}.",
        (),
        "{} : R",
        _query(_size(_k)),
    )
    for _text, _what in (("grid_dim", "Blocks of the launch"), ("block_idx", "Number of the block")):
        simt(f"get_{_text}_{_axis}", f"{_what} in {_axis}.", (), "{} : R", _query(lambda t: 0), decision=_SINGLE)
for _text, _what, _find in (
    ("get_veccoreid", "Number of the vector core.", lambda t: t.core()),
    ("get_laneid", "Number of the thread among the 32 of its warp.", lambda t: t.lane),
    ("get_clock32", "Low half of the clock.", lambda t: t.clock()),
    ("get_clock64", "The clock.", lambda t: t.clock()),
):
    simt(_text, _what, (), "{} : R", _query(_find))
for _how, _find in _MASKS.items():
    simt(f"get_lanemask_{_how}", f"The bits of the lanes that are {_how} this one.", (), "{} : R", _query(_find))


def warps(t: Threads, x: np.ndarray) -> np.ndarray:
    """Values by warp: (warps, 32), elements of vectors behind."""
    whole = t.spread(x)
    return whole.reshape(-1, WARP, *whole.shape[1:])


def told(x: np.ndarray) -> np.ndarray:
    """One value for each warp, as all of its lanes have it."""
    return np.repeat(x, WARP, axis=0)


def _vote(decide: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Meaning:
    def run(t: Threads, pred: np.ndarray, *, types: Any) -> np.ndarray:
        return told(decide(warps(t, pred), warps(t, t.active)).astype(types[-1].array))

    return run


def _ballot(pred: np.ndarray, active: np.ndarray) -> np.ndarray:
    bits = np.where(pred & active, np.int64(1) << np.arange(WARP), 0).sum(axis=1)
    return bits.astype(np.uint32).view(np.int32)


for _how, _what, _decide in (
    ("all", "True if it holds in all", lambda p, on: (p | ~on).all(axis=1)),
    ("any", "True if it holds in any", lambda p, on: (p & on).any(axis=1)),
    ("uni", "True if it is the same in all", lambda p, on: (p | ~on).all(axis=1) | ~(p & on).any(axis=1)),
):
    plain(f"vote_{_how}", f"{_what} active threads of the warp.", "pred", _vote(_decide), types="i1")
plain("vote_ballot", "The bits of the threads of the warp where it holds.", "pred", _vote(_ballot), types="i1")

_WIDTH = Attr("width", int, None, "width")
_FROM: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "idx": lambda lane, x: np.broadcast_to(x, lane.shape),
    "up": lambda lane, x: lane - x,
    "down": lambda lane, x: lane + x,
    "bfly": lambda lane, x: lane ^ x,
}


def _shuffle(how: str) -> Meaning:
    """The value of another lane of the group; the own one where there is none, or where it is not active."""
    other = _FROM[how]

    def run(t: Threads, value: np.ndarray, index: np.ndarray, *, width: int | None, types: Any) -> np.ndarray:
        group = WARP if width is None else width
        local = t.lane.astype(np.int64) % group
        wanted = other(local, t.spread(index).astype(np.int64))
        own = np.arange(t.count)
        source = own - local + wanted
        there = (wanted >= 0) & (wanted < group)
        source = np.where(there, source, own)
        source = np.where(t.active[source], source, own)
        return t.spread(value)[source]

    return run


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
        _shuffle(_how),
        _WIDTH,
        types="- i32",
        decision="A lane that asks for one outside its group, or one that is not active, gets its own value.",
    )

SIGNS = word("signedness", "signed", "unsigned")
_REDUCE = {"add": np.add, "max": np.maximum, "min": np.minimum}


def _redux(how: str) -> Meaning:
    """Over the active lanes, the lowest first, every sum rounded."""
    operation: Any = _REDUCE[how]

    def run(t: Threads, value: np.ndarray, *, signedness: str | None, types: Any) -> np.ndarray:
        if signedness == "unsigned":
            value = value.view(f"u{value.dtype.itemsize}")
        rows, on = warps(t, value), warps(t, t.active)
        first = np.argmax(on, axis=1)
        total = np.take_along_axis(rows, first[:, None], axis=1)[:, 0]
        for lane in range(WARP):
            met = on[:, lane] & (lane > first)
            with np.errstate(all="ignore"):
                total = np.where(met, operation(total, rows[:, lane]), total)
        return told(total.view(types[-1].array))

    return run


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


def _nothing(t: Threads, *, types: Any) -> None:
    """Values are in order as it is; who waits for whom is the sanitizer's subject."""


for _text, _what, _order in (
    ("syncthreads", "Wait for all threads of the launch.", _meet),
    ("threadfence", "Order this thread's accesses to global memory for the device.", _nothing),
    ("threadfence_block", "Order this thread's accesses for its block.", _nothing),
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
    """What is not there, or of another size, is 0."""
    found = t.kept().get(slot)
    if found is None or len(found) != t.count:
        return np.zeros(1, types[-1].array)
    return found.astype(types[-1].array) if found.dtype != types[-1].array else found


simt(
    "keep",
    "Keep a value for later sections of the same thread.",
    (value("payload"),),
    "%payload {} : T(payload)",
    _keep,
    _SLOT,
    results=0,
)
simt("resume", "The value an earlier section of the same thread has kept.", (), "{} : R", _resume, _SLOT)
