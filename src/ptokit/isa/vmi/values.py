"""What operations on logical vectors do, whatever registers hold them.

A vector is an array (blocks or 1, lanes) of its element's dtype, or of codes where NumPy has none; a predicate is a
bool array of that shape. Neither is ever modified.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.types.codecs import decode, encode
from ptokit.types.dtypes import DType, dtype
from ptokit.types.enums import RoundMode

from ..numerics import arith
from ..numerics.rounding import as_values

Array = np.ndarray
ROUNDINGS = {
    "": RoundMode.RINT,
    "R": RoundMode.RINT,
    "A": RoundMode.ROUND,
    "H": RoundMode.ROUND,
    "F": RoundMode.FLOOR,
    "C": RoundMode.CEIL,
    "Z": RoundMode.TRUNC,
}


def zeroed(values: Array, on: Array | None) -> Array:
    """`values` with 0 in lanes that are not on."""
    return values if on is None else np.where(on, values, np.zeros((), values.dtype))


def exactly(fn: Callable[..., Array]) -> Callable[..., Array]:
    """A function of lanes that rounds narrow floats once, and wraps integers."""

    def run(*sources: Array) -> Array:
        kind = sources[0].dtype
        with np.errstate(all="ignore"):
            if kind.itemsize < 4 and kind.kind not in "iub":
                return fn(*(s.astype(np.float32) for s in sources)).astype(kind)
            return fn(*sources).astype(kind, copy=False)

    return run


def _shift(fn: Callable[..., Array]) -> Callable[..., Array]:
    def run(x: Array, count: Array) -> Array:
        bits = 8 * x.dtype.itemsize
        by = count.astype(np.int64) & (2 * bits - 1)
        out = fn(x, np.minimum(by, bits - 1).astype(x.dtype))
        return np.where(by < bits, out, fn(out, x.dtype.type(1)) if fn is np.right_shift else 0).astype(x.dtype)

    return run


BINARY: dict[str, Callable[..., Array]] = {
    "add": exactly(np.add),
    "sub": exactly(np.subtract),
    "mul": exactly(np.multiply),
    "div": exactly(lambda a, b: a / b),
    "min": arith.minimum,
    "max": arith.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shl": _shift(np.left_shift),
    "shr": _shift(np.right_shift),
}
UNARY: dict[str, Callable[..., Array]] = {
    "neg": exactly(np.negative),
    "abs": exactly(np.abs),
    "sqrt": exactly(np.sqrt),
    "exp": exactly(lambda x: np.exp(x.astype(np.float64)).astype(x.dtype)),
    "ln": exactly(lambda x: np.log(x.astype(np.float64)).astype(x.dtype)),
    "relu": exactly(lambda x: np.maximum(x, x.dtype.type(0))),
    "not": np.invert,
}
COMPARISONS: dict[str, Callable[..., Array]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


def cast(x: Array, source: DType, to: DType, rounding: str | None, saturate: str | None) -> Array:
    """Lanes in another type, rounded once; without saturation integers keep their low bits. NaN saturates to 0."""
    if source.name in PAIRS or to.name in PAIRS:
        one, other = (dtype(PAIRS.get(t.name, t.name)) for t in (source, to))
        return _paired(cast(_singles(x, source), one, other, rounding, saturate), to)
    numbers = decode(source, np.ascontiguousarray(x).view(source.storage))
    if saturate == "SAT" and to.is_float:
        numbers = np.where(np.isnan(numbers), numbers.dtype.type(0), numbers)
    mode = ROUNDINGS[rounding or "R"]
    return as_values(encode(to, numbers, rounding=mode, saturate=saturate == "SAT"), to)


PAIRS = {"e2m1x2": "e2m1", "e1m2x2": "e1m2", "bf16x2": "bf16", "hif8x2": "hif8"}
"""Elements that hold two numbers, and the type of each."""


def _singles(x: Array, source: DType) -> Array:
    """The numbers of lanes that hold two each, the low one first; codes where NumPy has no type."""
    single = dtype(PAIRS[source.name])
    if single.bits == 4:
        codes = x.view(np.uint8)
        return np.stack((codes & 15, codes >> 4), axis=2).reshape(len(x), -1)
    return np.ascontiguousarray(x).view(single.value or single.storage)


def _paired(x: Array, to: DType) -> Array:
    """Numbers, two by two, as lanes."""
    if to.bits == 8:
        codes = x.view(np.uint8)
        return codes[:, ::2] | codes[:, 1::2] << 4
    return np.ascontiguousarray(x).view(to.storage)


def signed_as(x: Array, kind: str) -> Array:
    """The bits of integers as signed (``i``) or unsigned (``u``) ones."""
    return x.view(f"{kind}{x.dtype.itemsize}")


def groups(x: Array, count: int) -> Array:
    """Lanes by group: (blocks or 1, groups, lanes of each)."""
    return x.reshape(len(x), count, -1)


def total(x: Array, on: Array, count: int, to: DType) -> Array:
    """The sum of the active lanes of each group, rounded once; integers wrap."""
    assert to.value is not None
    kept = np.where(on, x, x.dtype.type(0))
    if to.is_integer:
        return groups(kept, count).sum(axis=2, dtype=to.value)
    return groups(kept.astype(np.float64), count).sum(axis=2).astype(to.value)


def extreme(x: Array, on: Array, count: int, fold: Callable[..., Array]) -> Array:
    """The least or greatest active lane of each group."""
    if x.dtype.kind in "iu":
        info = np.iinfo(x.dtype)
        limit = x.dtype.type(info.max if fold is arith.minimum else info.min)
    else:
        limit = x.dtype.type(np.inf if fold is arith.minimum else -np.inf)
    lanes = groups(np.where(on, x, limit), count)
    out = lanes[:, :, 0]
    for k in range(1, lanes.shape[2]):
        out = fold(out, lanes[:, :, k])
    return np.asarray(out)


def repeated(value: Any, lanes: int, to: DType) -> Array:
    """A number in all lanes, or each lane of a vector in the lanes of its group."""
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype == (to.value or to.storage):
        return np.repeat(value, lanes // value.shape[1], axis=1)
    column = np.asarray(value).reshape(-1, 1)
    if to.is_integer:
        codes = as_values(column.astype(np.int64).astype(to.storage), to)
    else:
        codes = as_values(encode(to, column.astype(np.float64), saturate=False), to)
    return np.broadcast_to(codes, (len(codes), lanes))


def ramp(base: Any, lanes: int, to: DType, order: str | None, count: int) -> Array:
    """base, base + 1, … in each group, or downwards."""
    steps = np.tile(np.arange(lanes // count), count)[None]
    start = np.asarray(base).reshape(-1, 1).astype(np.float64 if to.is_float else np.int64)
    numbers: Array = start - steps if order == "DESC" else start + steps
    if to.is_integer:
        return as_values(numbers.astype(np.int64).astype(to.storage), to)
    return as_values(encode(to, numbers, saturate=False), to)


def first(count: Any, lanes: int, number: int = 1) -> Array:
    """The first lanes of each of `number` groups."""
    within = np.tile(np.arange(lanes // number), number)[None]
    return np.asarray(within < np.asarray(count).reshape(-1, 1))


def histogram(acc: Array, samples: Array, on: Array, cumulative: bool) -> Array:
    """`acc` plus how often each value occurs in active lanes, or at most it."""
    blocks = max(len(acc), len(samples), len(on))
    samples = np.broadcast_to(samples.view(np.uint8), (blocks, samples.shape[1]))
    places = np.arange(blocks)[:, None] * 256 + samples
    counts = np.bincount(places[np.broadcast_to(on, samples.shape)], minlength=blocks * 256).reshape(blocks, 256)
    if cumulative:
        counts = np.cumsum(counts, axis=1)
    return (acc + counts[:, : acc.shape[1]]).astype(acc.dtype)
