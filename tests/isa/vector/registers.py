"""Registers for tests: element codes, their numbers, and calls of instructions of the table on arrays."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from ptokit.isa.site import MaskInfo, ScalarInfo, VregInfo
from ptokit.isa.table import TABLE
from ptokit.targets import TARGETS
from ptokit.types.dtypes import DTYPES
from tests.isa.numerics.model import Number, decode

# Codes that matter: zeros, ones, limits, infinities, NaN, subnormals.
SPECIAL = {
    "f32": (0, 0x80000000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00000, 1, 0x7F7FFFFF, 0x00800000),
    "f16": (0, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 1, 0x7BFF, 0x0400),
    "bf16": (0, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 1, 0x7F7F, 0x0080),
}


class RefusedError(Exception):
    """A call that a rule refused."""


class Machine:
    """What semantics functions see of the running chunk."""

    def __init__(self, target: str = "a5") -> None:
        self.target, self.blocks = TARGETS[target], 1
        self.registers: dict[str, Any] = {}

    def refuse(self, rule: str, message: str, *, hint: str | None = None, block: int | None = None) -> NoReturn:
        raise RefusedError(rule, message, block)


def codes(name: str, seed: int, blocks: int = 1) -> np.ndarray:
    """Random codes with special ones among them, (blocks, N)."""
    dtype = DTYPES[name]
    rng = np.random.default_rng(seed)
    count = 256 // dtype.size
    out = np.frombuffer(rng.bytes(blocks * 256), dtype.storage).reshape(blocks, count).copy()
    special = SPECIAL.get(name, (0, 1, (1 << dtype.bits) - 1, 1 << (dtype.bits - 1), (1 << (dtype.bits - 1)) - 1))
    chosen = rng.random(out.shape) < 0.4
    out[chosen] = rng.choice(np.array(special, dtype.storage), chosen.sum())
    if dtype.is_float and dtype.bits > 8:  # values near each other
        near = rng.random(out.shape) < 0.3
        small = rng.integers(-40, 40, out.shape) / 4
        out[near] = small.astype(dtype.value).view(dtype.storage)[near]
    return out


def register(name: str, code: np.ndarray) -> np.ndarray:
    """The register with these codes."""
    dtype = DTYPES[name]
    return code if dtype.value is None else code.view(dtype.value)


def numbers(name: str, values: np.ndarray) -> list[list[Number]]:
    """Every lane of every block as a number of the model."""
    rows = np.ascontiguousarray(values).view(DTYPES[name].storage)
    return [[decode(name, int(c)) for c in row] for row in rows]


def mask(name: str, lanes: np.ndarray) -> np.ndarray:
    """The predicate image of active lanes (blocks or 1, N), with rubbish in the bits nobody reads."""
    width = DTYPES[name].size
    image = np.random.default_rng(1).random((len(lanes), 256)) < 0.5
    image[:, ::width] = lanes
    return image


def info(operand: Any, dtype: str) -> Any:
    """What is known of an operand with this type: of a register, ``f32``; of a mask, ``b32``; of a number, ``i32!``."""
    if dtype.endswith("!"):
        return ScalarInfo(operand, dtype[:-1])
    if dtype in ("mask", "b8", "b16", "b32"):
        return MaskInfo(operand, 0 if dtype == "mask" else int(dtype[1:]))
    return VregInfo(operand, DTYPES[dtype], 256 // DTYPES[dtype].size)


def call(name: str, *operands: Any, machine: Any = None, out: str = "", **more: Any) -> Any:
    """Run an instruction; ``out`` is the element type of its results, `more` attributes and what operands are."""
    instr = TABLE[name]
    types = more.pop("types", None) or {r.name: info(r.name, out) for r in instr.produces if out}
    types |= {key: more.pop(key) for key in list(more) if isinstance(more[key], VregInfo | ScalarInfo)}
    given = {a.name: a.default for a in instr.attrs} | more
    args = [*operands, *[None] * (len(instr.operands) - len(operands))]
    assert instr.run is not None
    with np.errstate(all="ignore"):
        return instr.run(machine or Machine(), *args, types=types, **given)


def same(a: Number, b: Number) -> bool:
    """Equal numbers; a zero has its sign."""
    return a == b if isinstance(a, str) or isinstance(b, str) else Fraction(a) == Fraction(b)
