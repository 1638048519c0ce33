"""Random calls of random instructions: operands of every kind, type, layout and size, sensible or not."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from ptokit.isa.checks.tile_types import check_tile
from ptokit.isa.site import UNKNOWN, Info, ScalarInfo, TileInfo, ViewInfo
from ptokit.isa.table import TABLE, Attr, Instr, Kind, Operand
from ptokit.run.program import Single
from ptokit.targets import TARGETS, Target
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import BLayout, CompactMode, Layout, SLayout, TileType
from ptokit.types.tensor import base_shape_2d, tile_shape_2d
from ptokit.types.tile import CUSTOM_PAD, TileSpec

EVEN = (16, 32, 64)
SIZES = (1, 2, 3, 8, 13, 16, 32, 33, 48, 64, 128)
LIKELY_LOCS = (TileType.Vec, TileType.Vec, TileType.Mat, TileType.Acc, *TileType)
_ND = (BLayout.RowMajor, SLayout.NoneBox, 512)
_DN = (BLayout.ColMajor, SLayout.NoneBox, 512)
_NZ = (BLayout.ColMajor, SLayout.RowMajor, 512)
_ZN = (BLayout.RowMajor, SLayout.ColMajor, 512)
_ZZ = (BLayout.RowMajor, SLayout.RowMajor, 512)
USUAL = {
    TileType.Vec: [_ND, _ND, _ND, _DN, _NZ],
    TileType.Mat: [_NZ, _NZ, _ND, _DN, _ZN, _ZZ, (*_ZZ[:2], 32), (BLayout.ColMajor, SLayout.ColMajor, 32)],
    TileType.Left: [_ZZ, _NZ],
    TileType.Right: [_ZN],
    TileType.Acc: [(*_NZ[:2], 1024)],
    TileType.Bias: [_ND],
    TileType.Scaling: [_ND],
    TileType.ScaleLeft: [(*_ZZ[:2], 32)],
    TileType.ScaleRight: [(BLayout.ColMajor, SLayout.ColMajor, 32)],
}
_T = TileType
PAIRS = [  # tile types of the first operand and of the others
    *[(_T.Vec, _T.Vec)] * 8,
    (_T.Mat, _T.Mat),
    (_T.Mat, _T.Vec),
    (_T.Left, _T.Mat),
    (_T.Right, _T.Mat),
    (_T.Bias, _T.Mat),
    (_T.Scaling, _T.Mat),
    (_T.ScaleLeft, _T.Mat),
    (_T.ScaleRight, _T.Mat),
    (_T.Mat, _T.Acc),
    (_T.Vec, _T.Acc),
    (_T.Acc, _T.Acc),
    (_T.Acc, _T.Left),
]
INTEGERS = (0, 0, 0, 1, -1, 7, 16, 1 << 46, (1 << 46) | 0x3F800000, 0x3F800000, (1 << 63) - 1)
NUMBERS = (*INTEGERS, 2.5, -0.0, float("nan"), float("inf"))
INSTRUCTIONS = [
    i
    for i in TABLE.values()
    if i.run is not None and i.operands and not i.typed and not i.text_only
    if all(o.kind is not Kind.PIPE for o in i.operands)  # a pipe joins two cores; calls here have one
]


@dataclass
class Call:
    """One random call; `site` describes it to the checker, `operands` are what a run gets."""

    instr: Instr
    target: Target
    extended: bool
    attrs: dict[str, Any]
    infos: dict[str, Info | None] = field(default_factory=dict)
    specs: dict[str, Any] = field(default_factory=dict)


class Dice:
    """Draws calls from one seed."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)

    def call(self) -> Call:
        r = self.r
        instr = r.choice(INSTRUCTIONS)
        call = Call(instr, r.choice(list(TARGETS.values())), r.random() < 0.2, {})
        for attr in instr.attrs:
            if r.random() < 0.4:
                call.attrs[attr.name] = self._attribute(attr)
        # Operands that agree reach further than operands that all differ.
        self.agree = r.choice([0.7, 0.7, 0.95, 1.0])
        likely = r.choice(
            list(DTYPES.values()) if r.random() < 0.5 else [DTYPES[n] for n in ("f32", "f16", "i32", "i8")]
        )
        size = (r.choice(SIZES), r.choice(SIZES)) if r.random() < 0.3 else (r.choice(EVEN), r.choice(EVEN))
        locs = r.choice(PAIRS)
        choices = instr.form.choices  # front ends refuse other combinations
        form = set(r.choice(choices).split()) if choices else None
        for position, operand in enumerate(instr.operands):
            self.loc = locs[min(position, 1)] if r.random() < self.agree else r.choice(LIKELY_LOCS)
            if operand.optional and (r.random() < 0.5 if form is None else operand.name not in form):
                call.infos[operand.name] = None
                call.specs[operand.name] = None
            else:
                self._operand(call, operand, likely, size)
        return call

    def _attribute(self, attr: Attr) -> Any:
        r = self.r
        if issubclass(attr.kind, Enum):
            return r.choice(list(attr.kind))
        if attr.kind is bool:
            return r.random() < 0.5
        return r.choice([0, 1, 2, 7, 10, -1]) if attr.kind in (int, float) else attr.default

    def dtype(self, likely: DType) -> DType:
        return likely if self.r.random() < self.agree else self.r.choice(list(DTYPES.values()))

    def size(self, likely: int) -> int:
        return likely if self.r.random() < self.agree else self.r.choice(SIZES)

    def spec(self, likely: DType, size: tuple[int, int]) -> TileSpec:
        """A tile type: one in five with any parameters, the others with sizes that suit their layout."""
        r = self.r
        rows, cols = self.size(size[0]), self.size(size[1])
        loc = self.loc
        dtype = self.dtype(likely)
        pad = r.choice([0, 0, 1, 2, 3, CUSTOM_PAD | r.getrandbits(32)])
        compact = r.choice([CompactMode.Null, CompactMode.Null, CompactMode.Null, *CompactMode])
        if r.random() > self.agree:
            blayout, slayout = r.choice(list(BLayout)), r.choice(list(SLayout))
            fractal = r.choice([512, 512, 1024, 32])
        else:
            usual = USUAL.get(loc, USUAL[TileType.Vec])
            blayout, slayout, fractal = r.choice(usual) if r.random() > self.agree else usual[0]
            box = TileSpec(loc, dtype, 1, 1, 1, 1, blayout, slayout, fractal).box
            if slayout is SLayout.NoneBox:
                line = 32 // dtype.size * (2 if dtype.packed else 1)
                box = (1, line) if blayout is BLayout.RowMajor else (line, 1)
            rows, cols = -(-rows // box[0]) * box[0], -(-cols // box[1]) * box[1]
            if loc in (TileType.Bias, TileType.Scaling):
                rows = 1
        valid = [n if r.random() < self.agree else r.randint(1, n) for n in (rows, cols)]
        return TileSpec(loc, dtype, rows, cols, *valid, blayout, slayout, fractal, pad, compact)

    def _operand(self, call: Call, operand: Operand, likely: DType, size: tuple[int, int]) -> None:
        name = operand.name
        if operand.variadic:
            call.infos[name], call.specs[name] = None, ()
        elif operand.kind is Kind.TILE and not (Kind.VIEW in operand.also and self.r.random() < 0.3):
            spec = self.spec(likely, size)
            address = self.r.choice([UNKNOWN, UNKNOWN, 0, 64, 4096, 1 << 20, 17])
            call.infos[name] = TileInfo(name, spec, spec.valid_row, spec.valid_col, address)
            call.specs[name] = spec
        elif operand.kind is Kind.SCALAR:
            value = self.r.choice(INTEGERS if operand.type in ("index", "i64", "i32", "i16", "i8", "i1") else NUMBERS)
            call.infos[name] = ScalarInfo(name, operand.type or "f32", value)
            call.specs[name] = value
        else:
            self._view(call, name, likely, size)

    def _view(self, call: Call, name: str, likely: DType, size: tuple[int, int]) -> None:
        r = self.r
        dtype, rows, cols = self.dtype(likely), self.size(size[0]), self.size(size[1])
        layout = Layout.ND if r.random() < self.agree else r.choice([Layout.DN, Layout.NZ, *Layout])
        try:
            shape: Any = tile_shape_2d(dtype, rows, cols, layout)
            stride: Any = base_shape_2d(dtype, rows, cols, layout)
        except ValueError:
            shape = tuple(r.choice([1, 1, 2, 3, 16, 32]) for _ in range(5))
            stride = tuple(r.choice([0, 1, 2, 16, 64, 512, -1]) for _ in range(5))
        if r.random() < 0.2:
            stride = tuple(s + r.choice([0, 0, 1, 16]) for s in stride)
        if r.random() < 0.1:
            shape = tuple(r.choice([0, s, s + 1]) for s in shape)
        call.infos[name] = ViewInfo(name, dtype, shape, stride, layout)
        reach = 1 + sum(max(0, (n - 1) * s) for n, s in zip(shape, stride))
        elements = max(2, reach if r.random() < 0.9 else reach // 2)
        call.specs[name] = (dtype, elements + elements % 2, shape, stride, layout, r.choice([0, 0, 0, 1, -1]))


def operands(call: Call, machine: Single, seed: int) -> dict[str, Any] | None:
    """Operands to run the call with; None if one of its tile types cannot exist on the target."""
    rng = np.random.default_rng(seed)
    out: dict[str, Any] = {}
    for name, spec in call.specs.items():
        if isinstance(spec, TileSpec):
            if any(check_tile(spec, call.target)) or spec.nbytes == 0:
                return None
            data = rng.integers(0, 256, spec.nbytes, dtype=np.uint8)
            out[name] = machine.tile(spec, data.tobytes(), name=name)
        elif isinstance(spec, tuple) and spec:
            dtype, elements, shape, stride, layout, offset = spec
            array = rng.integers(0, 256, dtype.nbytes(elements), dtype=np.uint8)
            out[name] = machine.view(dtype, array, shape, stride, layout, offset=offset, name=name)
        else:
            out[name] = spec
    return out


def play(outcome: Callable[[Call, int], str], seeds: range) -> dict[str, int]:
    """Outcomes of one call per seed; the failing seed is named."""
    counts: dict[str, int] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            call = Dice(seed).call()
            try:
                result = outcome(call, seed)
            except Exception as error:
                error.add_note(f"seed {seed}: {call.instr.name} on {call.target.name}: {call.specs} {call.attrs}")
                raise
            counts[result] = counts.get(result, 0) + 1
    return counts
