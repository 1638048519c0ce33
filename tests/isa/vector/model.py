"""Vector loads and stores byte by byte, as the tables of vector-path 4 put them; and a machine to compare with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ptokit.isa.site import MaskInfo, PtrInfo, VregInfo
from ptokit.isa.table import TABLE
from ptokit.machine.chunk import Chunk
from ptokit.machine.local_memory import LocalPointer
from ptokit.targets import A5
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import TileType

Bytes = list[int]


def le(memory: Bytes, at: int, width: int) -> Bytes:
    """The bytes of one element."""
    return memory[at : at + width]


def loaded(dist: str, m: Bytes) -> Bytes:
    """The 256 bytes of the register that a mode loads from memory at `m`."""
    name, _, bits = dist.rpartition("_B") if "_B" in dist and dist != "BRC_BLK" else (dist, "", "8")
    w = int(bits) // 8
    rows: dict[str, Callable[[int], Bytes]] = {
        "NORM": lambda j: [m[j]],
        "BRC": lambda j: le(m, 0, w),
        "US": lambda j: le(m, w * (j >> 1), w),
        "DS": lambda j: le(m, w * 2 * j, w),
        "SPLT2CHN": lambda j: le(m, w * 2 * j, w),
        "DINTLV": lambda j: le(m, w * 2 * j, w),
        "UNPK": lambda j: [*le(m, w * j, w), *[0] * w],
        "UNPK4": lambda j: [m[j], 0, 0, 0],
        "BRC_BLK": lambda j: [m[j % 32]],
        "BLK": lambda j: [m[j % 32]],
        "E2B": lambda j: le(m, w * (j * w // 32), w),
        "SPLT4CHN": lambda j: [m[4 * j]],
    }
    out: Bytes = []
    j = 0
    while len(out) < 256:
        out += rows[name](j)
        j += 1
    return out


def stored(dist: str, size: int, register: Bytes, image: list[bool], old: Bytes) -> Bytes:
    """Memory after a mode has stored a register there; `size`: bytes of its element."""
    m = list(old)
    if dist in ("NORM", "1PT"):
        dist = f"{dist}_B{8 * size}"
    name, _, bits = dist.partition("_B")
    w = int(bits or 32) // 8
    if name in ("1PT", "ONEPT"):
        m[:w] = register[:w]
        return m
    kept = {"NORM": w, "PK": w // 2, "PK4": 1}[name]
    for j in range(256 // w):
        if image[w * j]:
            m[kept * j : kept * (j + 1)] = register[w * j : w * j + kept]
    return m


class Bench:
    """One instruction at a time, on a unified buffer that can be seen and set."""

    def __init__(self, blocks: int = 1, target: Any = A5) -> None:
        self.machine = Chunk(target, blocks, blocks, "exact")
        self.machine.start(np.arange(blocks))
        self.ub = self.machine.space(TileType.Vec).data

    def pointer(self, address: Any, dtype: str = "f32") -> LocalPointer:
        """A pointer into UB."""
        return LocalPointer("ub", address, DTYPES[dtype])

    def call(self, name: str, *operands: Any, types: dict[str, str], **attrs: Any) -> Any:
        """Execute an instruction; ``types``: element types of its registers and pointers, by operand."""
        instr = TABLE[name]
        known: dict[str, Any] = {}
        kinds = {o.name: o.kind.value for o in (*instr.operands, *instr.produces)}
        for operand, text in types.items():
            dtype = DTYPES[text]
            known[operand] = PtrInfo("p", dtype, "ub") if kinds[operand] == "ptr" else vreg(dtype)
        given = {a.name: attrs.get(a.name, a.default) for a in instr.attrs}
        assert instr.run is not None
        return instr.run(self.machine, *operands, **given, types=known)


def vreg(dtype: DType) -> VregInfo:
    """A full register."""
    return VregInfo("v", dtype, 256 // dtype.size)


def predicate(rng: np.random.Generator) -> np.ndarray:
    """Any image: bits between lanes mean nothing, and are there."""
    return rng.integers(0, 2, (1, 256)).astype(bool)


__all__ = ["MaskInfo"]
