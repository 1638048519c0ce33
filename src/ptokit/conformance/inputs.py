"""Data of program arguments, generated from the few numbers that a manifest gives.

The generators are NumPy's, so the same numbers come out everywhere: ``numpy.random.default_rng(seed)``. Conversion to
f16 and bf16 rounds to nearest even.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.types.dtypes import DType

QUANT_MASK = 0xFFFFE000  # bits of the scale that a quantisation word keeps (move-gather-scatter 6)
QUANT_SIGNED = 1 << 46  # the bit that selects the signed range

_NUMBERS: dict[str, tuple[str, ...]] = {
    "const": ("value",),
    "arange": (),
    "lattice": ("lo", "hi", "seed"),
    "uniform": ("lo", "hi", "seed"),
    "ints": ("lo", "hi", "seed"),
    "quant_fp": ("lo", "hi", "seed"),
}
_OPTIONAL = {"arange": {"start": 0}, "lattice": {"scale": 1}}


@dataclass(frozen=True)
class Init:
    """How an argument is filled: a kind, its numbers, and after how many elements it repeats (None: never)."""

    kind: str
    numbers: Mapping[str, Any]
    period: int | None = None

    def make(self, dtype: DType, n: int) -> np.ndarray:
        """`n` elements of a type that NumPy or ml_dtypes has."""
        assert dtype.value is not None
        if self.period is not None:
            data = _GENERATORS[self.kind](self, dtype, self.period)
            return np.resize(data, n)
        return _GENERATORS[self.kind](self, dtype, n)

    def random(self) -> np.random.Generator:
        """The generator of its seed."""
        return np.random.default_rng(int(self.numbers["seed"]))


def parse_init(entry: Any) -> Init:
    """The object ``init`` of an argument. Raises `ValueError`."""
    if not isinstance(entry, dict) or entry.get("kind") not in _NUMBERS:
        raise ValueError(f"init has one of the kinds {', '.join(_NUMBERS)}, not {entry!r}")
    kind = entry["kind"]
    given = {**_OPTIONAL.get(kind, {}), **entry}
    names = [*_NUMBERS[kind], *_OPTIONAL.get(kind, {})]
    for name in names:
        if not _is_number(given.get(name)):
            raise ValueError(f"init of kind {kind} needs a number {name!r}, not {given.get(name)!r}")
    numbers = {name: given[name] for name in names}
    if kind in ("lattice", "uniform", "ints", "quant_fp"):
        whole = ("seed",) if kind in ("uniform", "quant_fp") else ("seed", "lo", "hi")
        limit = 2**15 if kind == "lattice" else 2**63
        for name in whole:
            if not isinstance(numbers[name], int) or numbers["seed"] < 0:
                raise ValueError(f"init of kind {kind} needs a whole number {name!r}, not {numbers[name]!r}")
        if numbers["lo"] > numbers["hi"] or not -limit <= numbers["lo"] <= numbers["hi"] < limit:
            raise ValueError(f"init of kind {kind} has no range from {numbers['lo']} to {numbers['hi']}")
    period = entry.get("period")
    if period is not None and (not isinstance(period, int) or isinstance(period, bool) or period < 1):
        raise ValueError(f"the period of an init is a number of elements, not {period!r}")
    return Init(kind, numbers, period)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _const(init: Init, dtype: DType, n: int) -> np.ndarray:
    return np.full(n, init.numbers["value"]).astype(dtype.value)


def _arange(init: Init, dtype: DType, n: int) -> np.ndarray:
    return (np.arange(n) + init.numbers["start"]).astype(dtype.value)


def _lattice(init: Init, dtype: DType, n: int) -> np.ndarray:
    values = init.random().integers(init.numbers["lo"], init.numbers["hi"] + 1, size=n, dtype=np.int16)
    if init.numbers["scale"] != 1:
        return (values.astype(np.float32) * np.float32(init.numbers["scale"])).astype(dtype.value)
    return values.astype(dtype.value)


def _uniform(init: Init, dtype: DType, n: int) -> np.ndarray:
    return _scaled(init, n).astype(dtype.value)


def _ints(init: Init, dtype: DType, n: int) -> np.ndarray:
    return (
        init.random().integers(init.numbers["lo"], init.numbers["hi"] + 1, size=n, dtype=np.int64).astype(dtype.value)
    )


def _quant_fp(init: Init, dtype: DType, n: int) -> np.ndarray:
    bits = _scaled(init, n).view(np.uint32) & np.uint32(QUANT_MASK)
    return (bits.astype(np.uint64) | np.uint64(QUANT_SIGNED)).astype(dtype.value)


def _scaled(init: Init, n: int) -> np.ndarray:
    lo, hi = init.numbers["lo"], init.numbers["hi"]
    return init.random().random(n, dtype=np.float32) * np.float32(hi - lo) + np.float32(lo)


_GENERATORS = {
    "const": _const,
    "arange": _arange,
    "lattice": _lattice,
    "uniform": _uniform,
    "ints": _ints,
    "quant_fp": _quant_fp,
}
