"""Random kernels whose tiles share bytes: late names of the same memory, moved tiles, slots, windows, loops, branches.

A kernel has vector tiles, or matrices on their way from global memory to a product, or both. All sizes are such that
most programs pass the check; those that do not are drawn again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program, compile_program
from ptokit.targets import target

BLOCKS, ITERATIONS = 3, 3
ROWS, COLS = 96, 32
"""Of every array: `ROWS` for each block, of which its slices are some."""

PARAMS = {"x": "f32", "y": "f32", "z": "f32", "i": "i32", "a": "f16", "b": "f16", "o": "f32"}
HABITS = ("run", "dynamic", "reuse", "moves", "views", "slots", "gathers", "branches")
"""What makes it hard to say who touches which bytes: addresses and valid regions of the run, reuse of addresses,
TASSIGN, windows and other shapes, multi-buffers, gathers, branches."""

_SIZES = (1, 4, 8, 16, 20, 32)
_NUMBERS = (0, 1, 2, 3, 4, 8, 16, 20, 24, 32, 48, ROWS, ROWS * BLOCKS)
NZ = "blayout=col_major, slayout=row_major"


@dataclass(frozen=True)
class Tile:
    """A tile of the text: its name and type, and the valid region that it has when the kernel runs."""

    name: str
    type: str
    dtype: str
    rows: int
    cols: int
    valid: tuple[int, int]
    at: int = 0  # an address that it has had, or has


class Kernel:
    """The text of one kernel under construction."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.lines: list[str] = []
        self.tiles: list[Tile] = []  # that can be named here
        self.names = 0
        self.turn: list[str] = []  # variables of the loops around
        self.depth = 0
        self.left = self.random.randrange(2, 14)  # statements
        self.cube = self.random.random() < 0.35
        self.vec = not self.cube or self.random.random() < 0.3
        self.placed = self.random.random() < 0.85  # all tiles have addresses, or none
        self.habits = set(self.random.sample(HABITS, self.random.choice([1, 1, 2, 2, 3, 5])))
        self.taken: dict[str, list[int]] = {}  # addresses by buffer
        self.arch = self.random.choice(["a5", "a5", "a5", "a2a3"])
        self.size = self.random.choice([32, 32, 32, 16, 20, 8])  # valid rows and columns of a matrix

    # --- text ----------------------------------------------------------------------------------------------------

    def name(self) -> str:
        self.names += 1
        return f"%v{self.names}"

    def line(self, text: str) -> None:
        self.lines.append(text)

    def number(self, value: int, step: int) -> str:
        """A number: a constant, one of the run, or the first of the turns that are `step` apart."""
        kind = self.random.random()
        if kind < 0.6 or "run" not in self.habits:
            return self.constant(value, "i64")
        out = self.name()
        if kind < 0.8 or not self.turn:
            self.line(f"{out} = arith.addi {self.constant(value, 'i64')}, %zero : i64")
            return out
        moved, wide = self.name(), self.name()
        self.line(f"{moved} = arith.muli {self.turn[-1]}, {self.constant(step, 'index')} : index")
        self.line(f"{wide} = arith.index_cast {moved} : index to i64")
        self.line(f"{out} = arith.addi {wide}, {self.constant(value, 'i64')} : i64")
        return out

    def constant(self, value: int, type: str) -> str:
        out = self.name()
        self.line(f"{out} = arith.constant {value} : {type}")
        return out

    def part(self, array: str, rows: int, cols: int) -> tuple[str, str]:
        """A slice of an array that belongs to the block, and its type."""
        dtype, out = PARAMS[array], self.name()
        row, at = "%base", self.random.choice([0, 0, 0, 8, 32])
        if at + rows <= ROWS and at:
            row = self.name()
            self.line(f"{row} = arith.addi %base, {self.constant(at, 'index')} : index")
        if self.turn and self.random.random() < 0.4 and at + rows + 8 * ITERATIONS <= ROWS:
            moved, more = self.name(), self.name()
            self.line(f"{more} = arith.muli {self.turn[-1]}, %k8 : index")
            self.line(f"{moved} = arith.addi {row}, {more} : index")
            row = moved
        part = f"!pto.partition_tensor_view<{rows}x{cols}x{dtype}>"
        for n in (rows, cols):
            if n not in _NUMBERS:
                raise ValueError(n)
        place = f"offsets = [{row}, %k0], sizes = [%k{rows}, %k{cols}]"
        self.line(f"{out} = pto.partition_view %{array}v, {place} : !pto.tensor_view<?x?x{dtype}> -> {part}")
        return out, part

    # --- tiles ---------------------------------------------------------------------------------------------------

    def address(self, loc: str) -> int:
        """Where nothing lies yet, or something does."""
        taken, unit = self.taken.setdefault(loc, []), 1024 if loc == "vec" else 4096 if loc == "acc" else 2048
        if taken and "reuse" in self.habits and self.random.random() < 0.4:
            return self.random.choice(taken) + self.random.choice([0, 0, 0, 128 if loc == "vec" else 512])
        taken.append(unit * min(len(taken), 15))
        return taken[-1]

    def tile(self, loc: str, dtype: str, rows: int, cols: int, layout: str, at: int | None) -> Tile:
        """A new tile: at an address or anywhere, with a valid region of the type or of the run."""
        random = self.random
        dynamic = loc != "acc" and "dynamic" in self.habits and random.random() < (0.2 if at is None else 0.8)
        at = self.address(loc) if at is None else at
        valid = (rows, cols) if loc == "vec" else (self.size, self.size)
        if loc == "vec" and dtype == "f16":
            valid, dynamic = (self.size, self.size), False
        elif loc == "vec" and random.random() < 0.15 and rows == 8:
            valid = (4, cols)
        more = ", valid=?x?" if dynamic else "" if valid == (rows, cols) else f", valid={valid[0]}x{valid[1]}"
        type = f"!pto.tile_buf<{loc}, {rows}x{cols}x{dtype}{more}{', ' if layout else ''}{layout}>"
        place = f" addr = {self.number(at, 128 if loc == 'vec' else 2048)}" if self.placed else ""
        if dynamic:
            known = random.random() < 0.2
            sizes = [self.constant(n, "index") if known else f"%n{n}" for n in valid]
            place += f" valid_row = {sizes[0]} valid_col = {sizes[1]}"
        out = self.name()
        self.line(f"{out} = pto.alloc_tile{place} : {type}")
        return self.add(Tile(out, type, dtype, rows, cols, valid, at))

    def add(self, tile: Tile) -> Tile:
        self.tiles.append(tile)
        return tile

    def vec_tile(self, at: int | None = None) -> Tile:
        rows, cols = self.random.choice([(8, 32), (8, 32), (8, 32), (4, 32), (1, 32), (16, 16)])
        return self.tile("vec", "f32", rows, cols, "", at)

    def cube_tile(self, loc: str, at: int | None = None) -> Tile:
        left = NZ if self.arch == "a5" else "slayout=row_major"
        layout = {"mat": NZ, "left": left, "right": "slayout=col_major", "acc": f"{NZ}, fractal=1024"}[loc]
        return self.tile(loc, "f32" if loc == "acc" else "f16", 32, 32, layout, at)

    def some(self, loc: str, **known: Any) -> Tile | None:
        """A tile of a buffer with these properties."""
        fit = [t for t in self.tiles if f"<{loc}," in t.type and all(getattr(t, k) == v for k, v in known.items())]
        return self.random.choice(fit[-8:]) if fit else None

    # --- statements ----------------------------------------------------------------------------------------------

    def statement(self) -> None:
        """One more statement, or several that go together."""
        self.left -= 1
        random = self.random
        kind = random.random()
        if kind < 0.2 and self.depth < 3:
            self.nested()
        elif self.cube and (not self.vec or random.random() < 0.7):
            choices = [self.factor, *[self.product] * 5, self.result, *[self.alias] * ("moves" in self.habits)]
            random.choice(choices)()
        else:
            choices = [self.load, self.store, self.compute, self.compute, self.new, *[self.through] * 5]
            choices += [self.alias] * (2 * len(self.habits & {"moves", "views"}))
            choices += [self.slots] * ("slots" in self.habits)
            choices += [self.gather] * (2 * ("gathers" in self.habits and self.arch == "a5"))
            random.choice(choices)()

    def nested(self) -> None:
        """A loop, or a branch that some turns or blocks take."""
        known, lines = list(self.tiles), self.lines
        self.depth += 1
        loop = "branches" not in self.habits or self.random.random() < 0.6
        if loop:
            variable = self.name()
            self.line(f"scf.for {variable} = %k0 to %k{self.random.choice([1, 2, 3])} step %k1 {{")
            self.turn.append(variable)
        else:
            flag, what = self.name(), self.turn[-1] if self.turn and self.random.random() < 0.7 else "%block"
            self.line(f"{flag} = arith.cmpi {self.random.choice(['eq', 'slt', 'sgt'])}, {what}, %k1 : index")
            self.line(f"scf.if {flag} {{")
        self.several()
        if not loop and self.random.random() < 0.5:
            self.tiles = list(known)
            self.line("} else {")
            self.several()
        self.line("}")
        if loop:
            self.turn.pop()
        self.depth -= 1
        assert lines is self.lines
        self.tiles = known

    def several(self) -> None:
        for _ in range(self.random.randrange(1, 6)):
            if self.left > 0:
                self.statement()

    def new(self) -> None:
        self.vec_tile()

    def load(self) -> None:
        to = self.some("vec", dtype="f32") or self.vec_tile()
        part, type = self.part(self.random.choice("xxyz"), *to.valid)
        self.line(f"pto.tload ins({part} : {type}) outs({to.name} : {to.type})")

    def store(self, tile: Tile | None = None) -> None:
        frm = tile or self.some("vec", dtype="f32") or self.vec_tile()
        part, type = self.part(self.random.choice("yyzx"), *frm.valid)
        self.line(f"pto.tstore ins({frm.name} : {frm.type}) outs({part} : {type})")

    def through(self) -> None:
        """A load, a computation or none, and a store, with something else in between now and then."""
        random = self.random
        tile = (self.some("vec", dtype="f32") if random.random() < 0.2 else None) or self.vec_tile()
        first, last = (self.part(random.choice(names), *tile.valid) for names in ("xyz", "yyz"))
        self.line(f"pto.tload ins({first[0]} : {first[1]}) outs({tile.name} : {tile.type})")
        if random.random() < 0.7:
            self.tiles.remove(tile)  # for nothing else
        if random.random() < 0.4:
            self.between(tile)
        if random.random() < 0.5:
            self.halved(tile)
            if random.random() < 0.4:
                self.between(tile)
        self.line(f"pto.tstore ins({tile.name} : {tile.type}) outs({last[0]} : {last[1]})")
        if random.random() < 0.2:
            self.between(tile)
            self.store(tile)

    def between(self, tile: Tile) -> None:
        """Something else, or a write to bytes of a tile under another name: here, or in each turn of a loop."""
        if self.random.random() < 0.3:
            self.statement()
            return
        loop = self.random.random() < 0.4
        if loop:
            self.turn.append(self.name())
            self.line(f"scf.for {self.turn[-1]} = %k0 to %k{self.random.choice([1, 3])} step %k1 {{")
        moves = "moves" in self.habits and self.random.random() < 0.7
        other = self.named_again("vec", tile.at) if moves else self.vec_tile(tile.at)
        if other is not None:
            self.halved(other)
        if loop:
            self.line("}")
            self.turn.pop()
            self.tiles = [t for t in self.tiles if t is not other]

    def halved(self, tile: Tile) -> None:
        self.line(f"pto.tmuls ins({tile.name}, %half : {tile.type}, f32) outs({tile.name} : {tile.type})")

    def named_again(self, loc: str, at: int) -> Tile | None:
        """A tile moved by TASSIGN to an address."""
        found, out = self.some(loc), self.name()
        if found is None:
            return None
        number = self.number(at, 128 if loc == "vec" else 2048)
        self.line(f"{out} = pto.tassign {found.name}, {number} : {found.type} -> {found.type}")
        return self.add(replace(found, name=out, at=at))

    def compute(self) -> None:
        """An instruction on elements: from one or two tiles to one, all of which may share bytes."""
        to = self.some("vec", dtype="f32") or self.vec_tile()
        a, b = (self.some("vec", dtype="f32", valid=to.valid) or to for _ in "ab")
        kind = self.random.randrange(4)
        if kind == 0:
            self.line(f"pto.tadd ins({a.name}, {b.name} : {a.type}, {b.type}) outs({to.name} : {to.type})")
        elif kind == 1:
            self.line(f"pto.tmuls ins({a.name}, %half : {a.type}, f32) outs({to.name} : {to.type})")
        elif kind == 2:
            self.line(f"pto.texpands ins(%half : f32) outs({to.name} : {to.type})")
        else:
            self.line(f"pto.tmov ins({a.name} : {a.type}) outs({to.name} : {to.type})")

    def alias(self) -> None:
        """Another name for bytes of a tile: moved by TASSIGN, a window of it, another shape, another tile there."""
        loc = self.random.choice(["mat", "left", "right"]) if self.cube and self.random.random() < 0.7 else "vec"
        found = self.some(loc)
        if found is None:
            return
        out = self.name()
        if "views" not in self.habits or ("moves" in self.habits and self.random.random() < 0.5):
            self.named_again(
                loc, self.address(loc) if self.random.random() < 0.3 else self.random.choice(self.taken[loc])
            )
        elif loc == "vec" and found.dtype == "f32" and found.rows == 8 and "valid" not in found.type:
            if self.random.random() < 0.5:
                window = f"!pto.tile_buf<vec, 4x{found.cols}x{found.dtype}>"
                row = f"%k{self.random.choice([0, 4])}"
                if self.turn and self.random.random() < 0.5:
                    row = self.turn[-1]
                self.line(
                    f"{out} = pto.subview {found.name}[{row}, %k0] sizes [4, {found.cols}] : {found.type} -> {window}"
                )
                self.add(Tile(out, window, found.dtype, 4, found.cols, (4, found.cols)))
            else:
                shape = "!pto.tile_buf<vec, 16x16xf32>"
                self.line(f"{out} = pto.treshape {found.name} : {found.type} -> {shape}")
                self.add(Tile(out, shape, "f32", 16, 16, (16, 16)))

    def slots(self) -> None:
        """Slots of a multi-buffer, by numbers that are known or not."""
        type = "!pto.tile_buf<vec, 8x32xf32>"
        out = self.name()
        many = f"!pto.multi_tile_buf<{type}, count=2>"
        at = self.constant(self.address("vec"), "i64")
        place = f" addr = {at}" if self.placed else ""
        self.line(f"{out} = pto.alloc_multi_tile{place} : {many}")
        for _ in "12":
            index, slot = self.random.choice(["%k0", "%k1", "%one"]), self.name()
            self.line(f"{slot} = pto.multi_tile_get {out}[{index}] : {many} -> {type}")
            self.add(Tile(slot, type, "f32", 8, 32, (8, 32)))

    def gather(self) -> None:
        """Elements by an index tile, which lies where others lie, too."""
        table = self.some("vec", dtype="f32", valid=(8, 32)) or self.vec_tile()
        data = self.some("vec", dtype="f32", valid=(8, 32))
        if data is None or data is table or table.valid != (8, 32):
            return
        index = self.tile("vec", "i32", 8, 32, "", None)
        self.tiles.remove(index)
        if index.valid != (8, 32):
            return
        part, type = self.part("i", 8, 32)
        self.line(f"pto.tload ins({part} : {type}) outs({index.name} : {index.type})")
        if self.random.random() < 0.2:
            self.between(index)
        word = self.random.choice(["tgather", "tscatter"])
        types = f"{table.type}, {index.type}"
        self.line(f"pto.{word} ins({table.name}, {index.name} : {types}) outs({data.name} : {data.type})")

    # --- products ------------------------------------------------------------------------------------------------

    def factor(self) -> None:
        """A factor of a product: loaded, and moved to where the product reads it."""
        mat = self.filled()
        side = self.random.choice(["left", "right"])
        to = self.some(side) if self.random.random() < 0.6 else None
        self.moved(mat, to or self.cube_tile(side))

    def filled(self, mat: Tile | None = None) -> Tile:
        mat = mat or (self.some("mat") if self.random.random() < 0.3 else None) or self.cube_tile("mat")
        part, type = self.part(self.random.choice("ab"), *mat.valid)
        if self.arch == "a5" and self.random.random() < 0.2:
            return self.through_vec(part, type, mat)
        self.line(f"pto.tload ins({part} : {type}) outs({mat.name} : {mat.type})")
        return mat

    def through_vec(self, part: str, type: str, mat: Tile) -> Tile:
        """A matrix that comes by way of the unified buffer, in rows or in boxes."""
        vec = self.tile("vec", "f16", 32, 32, "", None)
        self.line(f"pto.tload ins({part} : {type}) outs({vec.name} : {vec.type})")
        if self.random.random() < 0.5:
            boxes = self.tile("vec", "f16", 32, 32, NZ, None)
            self.line(f"pto.tmov ins({vec.name} : {vec.type}) outs({boxes.name} : {boxes.type})")
            vec = boxes
        self.line(f"pto.tmov ins({vec.name} : {vec.type}) outs({mat.name} : {mat.type})")
        return mat

    def moved(self, mat: Tile, to: Tile) -> None:
        if self.random.random() < 0.25:
            types = f"{mat.type}, index, index"
            self.line(f"pto.textract ins({mat.name}, %k0, %k0 : {types}) outs({to.name} : {to.type})")
        else:
            self.line(f"pto.tmov ins({mat.name} : {mat.type}) outs({to.name} : {to.type})")

    def meanwhile(self, tile: Tile) -> None:
        """Something else, or bytes of a tile loaded or moved there again under another name."""
        if self.random.random() < 0.2:
            self.statement()
            return
        loc = tile.type.split("<")[1].split(",")[0]
        moves = "moves" in self.habits and self.random.random() < 0.7
        other = self.named_again(loc, tile.at) if moves else self.cube_tile(loc, tile.at)
        if other is not None and loc == "mat":
            self.filled(other)
        elif other is not None and (mat := self.some("mat")) is not None:
            self.moved(mat, other)

    def product(self) -> None:
        """Both factors and their product, with something else in between now and then."""
        sides = []
        for side in ("left", "right"):
            to = (self.some(side) if self.random.random() < 0.3 else None) or self.cube_tile(side)
            mat = self.filled() if self.random.random() < 0.8 else self.some("mat")
            if mat is not None:
                if self.random.random() < 0.2:
                    self.meanwhile(mat)
                self.moved(mat, to)
                if self.random.random() < 0.1:
                    self.meanwhile(mat)
            sides.append(to)
            if self.random.random() < 0.1:
                self.meanwhile(to)
        left, right = sides
        acc = self.some("acc") or self.cube_tile("acc")
        factors, types = f"{left.name}, {right.name}", f"{left.type}, {right.type}"
        if self.random.random() < 0.3:
            text = f"pto.tmatmul.acc ins({acc.name}, {factors} : {acc.type}, {types})"
        else:
            text = f"pto.tmatmul ins({factors} : {types})"
        self.line(f"{text} outs({acc.name} : {acc.type})")
        if self.random.random() < 0.6:
            self.result(acc)

    def result(self, acc: Tile | None = None) -> None:
        """A sum on its way to global memory."""
        acc = acc or self.some("acc") or self.cube_tile("acc")
        part, type = self.part("o", *acc.valid)
        self.line(f"pto.tstore ins({acc.name} : {acc.type}) outs({part} : {type})")

    # --- the whole -----------------------------------------------------------------------------------------------

    def text(self) -> str:
        """The kernel. At its end all tiles are stored that can be named there."""
        while self.left > 0:
            self.statement()
        for tile in self.tiles if self.random.random() < 0.3 else ():
            if tile.dtype == "f32" and "<vec," in tile.type:
                part, type = self.part("z", *tile.valid)
                self.line(f"pto.tstore ins({tile.name} : {tile.type}) outs({part} : {type})")
        params = [f"%{name}: !pto.ptr<{dtype}>" for name, dtype in PARAMS.items()]
        params += [f"%n{n}: index" for n in _SIZES] + ["%zero: i64", "%one: index"]
        head = [f"func.func @k({', '.join(params)}) attributes {{pto.entry}} {{"]
        head += [f"%k{n} = arith.constant {n} : index" for n in sorted({*_NUMBERS, 128, 512, 1024, 2048, 4096})]
        head += ["%half = arith.constant 0.5 : f32", "%b64 = pto.get_block_idx"]
        head += ["%block = arith.index_cast %b64 : i64 to index", f"%base = arith.muli %block, %k{ROWS} : index"]
        for name, dtype in PARAMS.items():
            shape = f"shape = [%k{ROWS * BLOCKS}, %k{COLS}], strides = [%k{COLS}, %k1]"
            head.append(f"%{name}v = pto.make_tensor_view %{name}, {shape} : !pto.tensor_view<?x?x{dtype}>")
        return "\n".join(["module {", *head, *self.lines, "return", "}", "}"])


def compiled(text: str, arch: str) -> Program | None:
    """The program; None if the check refuses it."""
    try:
        read = parse_module(text, "k.pto", target=target(arch))
        read.diagnostics.raise_if_errors()
        return compile_program(read.module, target(arch))
    except DiagnosticError:
        return None


def drawn(seed: int) -> tuple[str, Program]:
    """A kernel that the check accepts."""
    for attempt in range(50):
        kernel = Kernel(seed * 1000 + attempt)
        text = kernel.text()
        program = compiled(text, kernel.arch)
        if program is not None:
            return text, program
    raise AssertionError(f"no kernel for {seed}")


def arguments() -> list[Any]:
    rng = np.random.default_rng(5)
    shape, arrays = (ROWS * BLOCKS, COLS), []
    for dtype in PARAMS.values():
        if dtype == "i32":
            arrays.append(rng.integers(0, 8 * 32, shape).astype(np.int32))
        else:
            arrays.append(rng.standard_normal(shape).astype({"f32": np.float32, "f16": np.float16}[dtype]))
    return [*arrays, *_SIZES, 0, 1]


def launched(program: Program, **how: Any) -> Any:
    """The bytes of all arrays after a launch, or what was found wrong."""
    given = [x.copy() if isinstance(x, np.ndarray) else x for x in arguments()]
    try:
        program.launch(given, BLOCKS, **how)
    except DiagnosticError as error:
        return [(d.rule, d.message) for d in error.diagnostics]
    return [x.tobytes() for x in given if isinstance(x, np.ndarray)]
