"""Finds an example of every instruction, with concrete types, that reads and checks without errors.

    python tools/examples.py            fills src/ptokit/isa/examples/*.pto: finds those that are missing
    python tools/examples.py NAME ...   finds these anew

An example is a function with one operation, in the file of a target that has the instruction. Types and attributes are
tried, beginning with what the table says, until the checker has nothing to say. What it cannot find is written by hand
into the same files, which are read like any other text.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

from ptokit.api.examples import FOLDER, TARGETS, examples, functions, symbol
from ptokit.asm import parse_module, print_module
from ptokit.asm.forms.attributes import WORDS
from ptokit.conformance.bench import UnknownNameError, operand_names
from ptokit.ir import Block, Function, Module, Op, Value
from ptokit.ir.verify import verify
from ptokit.isa.table import TABLE, Attr, Instr, Kind, Operand
from ptokit.targets import target as target_named
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import BLayout, SLayout, TileType
from ptokit.types.tile import TileSpec
from ptokit.types.values import (
    Align,
    Group,
    LogicalMask,
    LogicalVector,
    Mask,
    Opaque,
    PartitionView,
    Ptr,
    Scalar,
    TensorView,
    VReg,
)

TRIES = 700
ROW, COL = BLayout.RowMajor, BLayout.ColMajor
NONE, IN_ROWS, IN_COLS = SLayout.NoneBox, SLayout.RowMajor, SLayout.ColMajor
PLACES = [
    (TileType.Vec, ROW, NONE, 512),
    (TileType.Vec, COL, NONE, 512),
    (TileType.Vec, COL, IN_ROWS, 512),
    (TileType.Mat, COL, IN_ROWS, 512),
    (TileType.Mat, ROW, NONE, 512),
    (TileType.Mat, ROW, IN_COLS, 512),
    (TileType.Left, ROW, IN_ROWS, 512),
    (TileType.Left, COL, IN_ROWS, 512),
    (TileType.Right, ROW, IN_COLS, 512),
    (TileType.Acc, COL, IN_ROWS, 1024),
    (TileType.Bias, ROW, NONE, 512),
    (TileType.Scaling, ROW, NONE, 512),
    (TileType.ScaleLeft, ROW, IN_ROWS, 32),
    (TileType.ScaleRight, COL, IN_COLS, 32),
]
VEC = (TileType.Vec, ROW, NONE, 512)
RECIPES = [  # usual operands of an instruction on tiles, destination first; the last one for all further ones
    [(*VEC, 1, 64, ""), (*VEC, 16, 64, "")],
    [(TileType.Vec, COL, NONE, 512, 16, 1, ""), (*VEC, 16, 64, "")],
    [(*VEC, 16, 64, ""), (*VEC, 1, 64, "")],
    [(*VEC, 16, 64, ""), (TileType.Vec, COL, NONE, 512, 16, 1, "")],
    [(*VEC, 16, 64, ""), (*VEC, 16, 64, ""), (TileType.Vec, COL, NONE, 512, 16, 1, "")],
    [(*VEC, 16, 64, ""), (*VEC, 16, 64, ""), (*VEC, 1, 64, "")],
    [
        (TileType.Acc, COL, IN_ROWS, 1024, 16, 16, "f32"),
        (TileType.Left, COL, IN_ROWS, 512, 16, 64, "f16"),
        (TileType.Right, ROW, IN_COLS, 512, 64, 16, "f16"),
        (TileType.Bias, ROW, NONE, 512, 1, 16, "f32"),
    ],
    [
        (TileType.Acc, COL, IN_ROWS, 1024, 16, 16, "f32"),
        (TileType.Acc, COL, IN_ROWS, 1024, 16, 16, "f32"),
        (TileType.Left, COL, IN_ROWS, 512, 16, 64, "f16"),
        (TileType.Right, ROW, IN_COLS, 512, 64, 16, "f16"),
    ],
    [(TileType.Left, COL, IN_ROWS, 512, 16, 64, "f16"), (TileType.Mat, COL, IN_ROWS, 512, 16, 64, "f16")],
    [(*VEC, 16, 64, "f32"), (TileType.Acc, COL, IN_ROWS, 1024, 16, 64, "f32")],
    [(TileType.Mat, COL, IN_ROWS, 512, 16, 64, "f16"), (TileType.Acc, COL, IN_ROWS, 1024, 16, 64, "f32")],
]
SIZES = [(16, 64), (16, 16), (1, 64), (16, 1), (32, 32), (64, 64), (1, 16), (8, 32), (16, 128), (16, 8), (1, 512)]
NUMBERS = ["f32", "f16", "bf16", "i32", "i16", "i8", "u8", "u16", "u32", "i64", "e4m3", "e5m2", "hif8", "e8m0", "e2m1"]
SCALARS = ["index", "i64", "i32", "f32", "i16", "i8", "f16", "bf16", "i1"]
SPACES = ["gm", "ub", "mat", "left", "right", "acc", "bias", "scaling"]


class Search:
    """Tries for one instruction on one target."""

    def __init__(self, instr: Instr, target: str) -> None:
        self.instr, self.target = instr, target_named(target)
        self.chance = random.Random(f"{instr.name} {target}")
        self.operands = list(instr.operands)
        self.state: dict[Any, Any] = {"context": self._first_context()}
        chosen = instr.chosen(instr.form.choices[0], instr.operands) if instr.form.choices else instr.operands
        names = {o.name for o in chosen}
        dtype = self._dtypes()[0]
        for o in self.operands:
            absent = (o.optional and not instr.form.choices) or o.name not in names
            self.state["operand", o.name] = None if absent else self.first(o, dtype)
        for o in instr.produces:
            self.state["result", o.name] = None if o.posted else self.first(o, dtype)
        for k in range(max(0, instr.results - len(instr.returned))):
            self.state["extra", k] = Scalar("index")
        for a in instr.attrs:
            self.state["attr", a.name] = None if a.default is not None or a.optional else self.value(a)
        self.simple = dict(self.state)

    def _first_context(self) -> str:
        registers = (Kind.VREG, Kind.MASK, Kind.ALIGN)
        if self.instr.threaded:
            return "simt"
        if any(o.kind in registers for o in (*self.instr.operands, *self.instr.produces)):
            return "vecscope"
        return ""

    def _dtypes(self) -> list[DType]:
        known = self.instr.types.get(self.target.name)
        named = [DTYPES[n] for n in NUMBERS if n in DTYPES]
        return [d for d in named if known is None or d in known] or named

    def first(self, o: Operand, dtype: DType) -> Any:
        """What an operand begins with."""
        match o.kind:
            case Kind.TILE:
                return TileSpec(o.place or TileType.Vec, dtype, 16, 64, 16, 64)
            case Kind.VIEW:
                return PartitionView((16, 64), dtype)
            case Kind.SCALAR:
                return Scalar(o.type or (dtype.text if not dtype.is_integer else f"i{dtype.bits}"))
            case Kind.PTR:
                return Ptr(dtype, o.space or "ub")
            case Kind.VREG:
                return VReg(256 // max(1, dtype.size), dtype)
            case Kind.MASK:
                return Mask(o.bits or min(32, dtype.bits))
            case Kind.ALIGN:
                return Align()
            case Kind.VECTOR | Kind.LOGICAL:
                return LogicalVector(64, dtype)
            case Kind.LANES:
                return LogicalMask(64)
            case Kind.PART:
                return VReg(64, dtype)
            case Kind.GROUP:
                return Group(2)
            case Kind.RECORD:
                return Opaque("vector<4xi16>")
            case _:
                return Opaque("!pto.pipe")

    def value(self, a: Attr) -> Any:
        """A value of an attribute."""
        if issubclass(a.kind, Enum):
            return self.chance.choice(list(a.kind))
        if a.kind is str:
            return self.chance.choice(list(a.words) or sorted(WORDS.get(a.mnemonic, ())) or [a.name])
        if a.kind is list:
            return [self.chance.choice([0, 1, 2, 8, 16, 64]) for _ in range(self.chance.choice([1, 2, 3]))]
        if a.kind is int:
            return self.chance.choice([0, 1, 2, 4, 8, 16, 32, 64])
        return self.chance.choice([True, False]) if a.kind is bool else 0.5

    def other(self, o: Operand, now: Any) -> Any:
        """Another type for an operand, some of it as before."""
        pick = self.chance.choice
        dtype = pick(self._dtypes() if self.chance.random() < 0.7 else [DTYPES[n] for n in NUMBERS if n in DTYPES])
        also = [kind for kind in o.also if kind is not Kind.TILE]
        kind = o.kind if not also or self.chance.random() < 0.6 else pick(also)
        match kind:
            case Kind.TILE:
                place, blayout, slayout, fractal = pick(PLACES)
                rows, cols = pick(SIZES)
                if isinstance(now, TileSpec):
                    what = self.chance.randrange(4)
                    dtype = dtype if what in (0, 3) else now.dtype
                    rows, cols = (rows, cols) if what in (1, 3) else (now.rows, now.cols)
                    if what not in (2, 3):
                        place, blayout, slayout, fractal = now.loc, now.blayout, now.slayout, now.fractal
                return TileSpec(place, dtype, rows, cols, rows, cols, blayout, slayout, fractal)
            case Kind.VIEW:
                view = pick([PartitionView, PartitionView, TensorView])
                return view(pick([(16, 64), (1, 64), (16, 16), (1, 1, 1, 16, 64), (64,), (1,), (32, 32)]), dtype)
            case Kind.SCALAR:
                return Scalar(o.type or pick(SCALARS))
            case Kind.PTR:
                return Ptr(dtype, o.space or pick(SPACES))
            case Kind.VREG:
                return VReg(256 // max(1, dtype.size), dtype)
            case Kind.MASK:
                return Mask(o.bits or pick([8, 16, 32]))
            case Kind.VECTOR:
                return LogicalVector(pick([64, 128, 256, 32]), dtype)
            case Kind.LANES:
                return LogicalMask(pick([64, 128, 256, 32]))
            case Kind.LOGICAL:
                return pick([LogicalVector(64, dtype), LogicalMask(64)])
            case Kind.PART:
                return pick([VReg(64, DTYPES["f32"]), Mask(32)])
            case _:
                return self.first(o, dtype)

    def mutated(self) -> dict[Any, Any]:
        """The state with something else in it."""
        state = dict(self.state)
        keys = [k for k in state if k != "context"]
        roll = self.chance.random()
        if not keys:
            return state
        if roll < 0.3:
            self._all_alike(state)
        else:
            self._one(state, self.chance.choice(keys))
        return state

    def _one(self, state: dict[Any, Any], key: tuple[str, Any]) -> None:
        part, name = key
        if part == "attr":
            attr = next(a for a in self.instr.attrs if a.name == name)
            leave = self.chance.random() < 0.25
            state[key] = attr.default if leave else self.value(attr)
        elif part == "extra":
            state[key] = self.chance.choice([Scalar(s) for s in SCALARS] + [Opaque("!pto.pipe")])
        else:
            o = next(o for o in (*self.operands, *self.instr.produces) if o.name == name)
            if o.optional and self.chance.random() < 0.5:
                state[key] = None if state[key] is not None else self.other(o, None)
            else:
                state[key] = self.other(o, state[key])

    def _all_alike(self, state: dict[Any, Any]) -> None:
        """Give everything one element type."""
        dtype = self.chance.choice(self._dtypes())
        size = self.chance.choice(SIZES) if self.chance.random() < 0.3 else None
        for key, now in state.items():
            if isinstance(now, TileSpec):
                rows, cols = size or (now.rows, now.cols)
                state[key] = TileSpec(now.loc, dtype, rows, cols, rows, cols, now.blayout, now.slayout, now.fractal)
            elif isinstance(now, PartitionView | TensorView):
                state[key] = type(now)(size or now.dims, dtype)
            elif isinstance(now, Ptr):
                state[key] = Ptr(dtype, now.space)
            elif isinstance(now, VReg):
                state[key] = VReg(256 // max(1, dtype.size), dtype)
            elif isinstance(now, LogicalVector):
                state[key] = LogicalVector(now.lanes, dtype)
            elif isinstance(now, Mask):
                state[key] = Mask(min(32, dtype.bits))
            elif isinstance(now, Scalar):
                o = next((o for o in self.operands if ("operand", o.name) == key), None)
                if o is not None and not o.type and now.name not in ("index", "i1"):
                    state[key] = Scalar(dtype.text if not dtype.is_integer else f"i{dtype.bits}")

    def text(self, state: dict[Any, Any]) -> str:
        """The module with the operation."""
        operands: dict[str, Any] = {}
        for o in self.operands:
            type = state["operand", o.name]
            if type is None:
                continue
            count = max(2, o.size) if o.variadic else 1
            values = [Value(type, f"{o.name}{k}" if o.variadic else o.name) for k in range(count)]
            operands[o.name] = values if o.variadic else values[0]
        results = [Value(t, o.name) for o in self.instr.produces if (t := state["result", o.name]) is not None]
        results += [Value(t, f"result{key[1]}") for key, t in state.items() if key[0] == "extra"]
        attrs = {a.name: v for a in self.instr.attrs if (v := state["attr", a.name]) is not None}
        op = Op(f"pto.{self.instr.text}", operands, attrs, results)
        params = list(op.values)
        body = Block()
        if state["context"] == "vecscope":
            body.add(Op("pto.vecscope", regions=[Block(ops=[op])]))
        else:
            body.add(op)
        body.add(Op("func.return", {"values": []}))
        function = Function(symbol(self.instr), params, body=body)
        if state["context"] in ("cube", "vector"):
            function.attrs["pto.kernel_kind"] = state["context"]
        elif state["context"] == "simt":
            function.attrs["pto.simt_entry"] = True
        return print_module(Module([function], {"pto.target_arch": self.target.arch}))

    def score(self, state: dict[Any, Any]) -> tuple[int, float, str]:
        """How far from good: 2 not read, 1 refused, 0 accepted; then how many findings."""
        try:
            text = self.text(state)
        except Exception:  # there is no such text
            return 3, 99, ""
        read = parse_module(text, "example.pto", target=self.target)
        if read.diagnostics.errors:
            return 2, len(read.diagnostics.errors), text
        ops = [op for f in read.module.functions if f.body for op in f.body.walk()]
        if not any(op.name == f"pto.{self.instr.text}" for op in ops):
            return 2, 98, text
        found = verify(read.module, self.target)
        warnings = [d for d in found.warnings if d.rule != "VEC-A5-02-LINT"]
        odd = 0 if found.errors else self.oddness(state)
        return (1 if found.errors else 0), len(found.errors) + 0.3 * len(warnings) + odd, text

    def oddness(self, state: dict[Any, Any]) -> float:
        """How far an accepted operation is from what people write: several sizes and types, parts that are valid."""
        tiles = [t for key, t in state.items() if key[0] == "operand" and isinstance(t, TileSpec)]
        views = [t for key, t in state.items() if key[0] == "operand" and isinstance(t, PartitionView | TensorView)]
        partial = sum((t.valid_row, t.valid_col) != (t.rows, t.cols) for t in tiles)
        sizes = len({(t.rows, t.cols) for t in tiles}) + sum(t.rows not in (1, 16, 32, 64, 128) for t in tiles)
        types = len({t.dtype for t in (*tiles, *views)}) + sum(t.dtype.text not in ("f32", "f16") for t in tiles)
        return 0.02 * partial + 0.01 * sizes + 0.002 * types

    def beginnings(self) -> Iterator[dict[Any, Any]]:
        """States to begin with: what the table says, what known answers are for, usual shapes."""
        yield self.simple
        for tiles, views in known_cases(self.instr.name, self.target.name):
            state = dict(self.simple)
            for name, type in {**tiles, **views}.items():
                if ("operand", name) in state:
                    state["operand", name] = type
            yield state
        dtype = self._dtypes()[0]
        tiles = [o.name for o in self.operands if o.kind is Kind.TILE and self.simple["operand", o.name] is not None]
        for shapes in RECIPES:
            if len(shapes) <= len(tiles):
                state = dict(self.simple)
                for name, shape in zip(tiles, [*shapes, *[shapes[-1]] * len(tiles)]):
                    place, blayout, slayout, fractal, rows, cols, own = shape
                    element = DTYPES[own] if own else dtype
                    state["operand", name] = TileSpec(place, element, rows, cols, rows, cols, blayout, slayout, fractal)
                yield state

    def simplified(self, best: tuple[int, float, str]) -> tuple[int, float, str]:
        """Take back what was changed and need not be."""
        for key, first in self.simple.items():
            for value in (None, first) if key[0] == "attr" else (first,):
                if self.state[key] != value:
                    state = {**self.state, key: value}
                    score = self.score(state)
                    if score[:2] <= best[:2]:
                        self.state, best = state, score
                        break
        return best

    def run(self) -> str | None:
        """The text of an example, or None."""
        best = (4, 99.0, "")
        for state in self.beginnings():
            score = self.score(state)
            if score[:2] < best[:2]:
                self.state, best = state, score
        spent = 0
        while best[0] > 0 and spent < TRIES:
            spent += 1
            state = self.mutated()
            if self.chance.random() < 0.3:
                before, self.state = self.state, state
                state = self.mutated()
                self.state = before
            score = self.score(state)
            if score[:2] <= best[:2]:
                self.state, best = state, score
        for _ in range(60 if best[0] == 0 and best[1] > 0.1 else 0):
            state = self.mutated()
            if (score := self.score(state))[:2] < best[:2]:
                self.state, best = state, score
        return self.simplified(best)[2] if best[0] == 0 else None


@cache
def _manifests() -> list[dict[str, Any]]:
    folders = sorted((Path(__file__).parents[1] / "tests" / "data").glob("vectors*"))
    return [case for f in folders for case in json.loads((f / "manifest.json").read_text())["cases"]]


def known_cases(name: str, target: str) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Types of tiles and views of the cases with known answers of an instruction, by operand."""
    instr = TABLE[name]
    cases = [c for c in _manifests() if c["op"] == name and target in c["legal_on"]]
    cases = [c for c in cases if all("rows" in t for t in c["tiles"].values())]
    cases.sort(key=lambda c: sum((t.get("vr"), t.get("vc")) != (t["rows"], t["cols"]) for t in c["tiles"].values()))
    for case in cases[:12]:
        try:
            names = operand_names(instr, [*case["tiles"], *case["gms"]])
        except UnknownNameError:
            continue
        tiles = {}
        for key, t in case["tiles"].items():
            sizes = (t["rows"], t["cols"], t.get("vr", t["rows"]), t.get("vc", t["cols"]))
            place, blayout, slayout = TileType[t["loc"]], BLayout[t["bl"]], SLayout[t["sl"]]
            tiles[names[key]] = TileSpec(place, DTYPES[t["dtype"]], *sizes, blayout, slayout, t["frac"])
        views = {}
        for key, g in case["gms"].items():
            shape = tuple(g["shape"])
            while len(shape) > 2 and shape[0] == 1:
                shape = shape[1:]
            views[names[key]] = PartitionView(shape, DTYPES[g["dtype"]])
        yield tiles, views


def found_for(instr: Instr) -> tuple[str, str] | None:
    """Target and text of an example."""
    on_tiles = any(o.kind is Kind.TILE for o in instr.operands)
    for target in TARGETS if on_tiles else TARGETS[:2]:  # cpu takes of the rest what no device does
        if instr.types and not instr.types.get(target, True):
            continue
        text = Search(instr, target).run()
        if text is not None:
            return target, text
    return None


def function_of(text: str) -> list[str]:
    """The lines of the only function of a module."""
    return text.rstrip("\n").split("\n")[1:-1]


def missing(names: list[str]) -> Iterator[Instr]:
    have = {} if names else examples()
    for instr in TABLE.values():
        if (not names or instr.name in names) and instr.name not in have:
            yield instr


def main(names: list[str]) -> int:
    """Fill the files. Returns the exit status."""
    anew = {symbol(instr) for instr in TABLE.values() if instr.name in names}
    files = {t: {name: lines for name, lines in functions(t).items() if name not in anew} for t in TARGETS}
    without = []
    for instr in missing(names):
        try:
            found = found_for(instr)
        except Exception as error:  # what it tried was worse than wrong: say which, and go on
            print(f"{instr.name}: {error!r}", flush=True)
            found = None
        if found is None:
            without.append(instr.name)
            print(f"none for {instr.name}", flush=True)
            continue
        target, text = found
        files[target][symbol(instr)] = function_of(text)
    for target, by_name in files.items():
        arch = target_named(target).arch
        lines = [f'module attributes {{pto.target_arch = "{arch}"}} {{']
        for name in sorted(by_name):
            lines += by_name[name]
        (FOLDER / f"{target}.pto").write_text("\n".join([*lines, "}", ""]), encoding="utf-8")
    print(f"{len(TABLE) - len(without)} of {len(TABLE)} have an example")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
