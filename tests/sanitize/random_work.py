"""What random programs are made of: tiles, views and instructions, as text and as the places they touch."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

ROWS, WIDE, NARROW = 8, 32, 16
CORE_BITS, TENSOR_BITS = 4096, 1024
BASE = 4 * TENSOR_BITS  # of the on-chip places of core 0


@dataclass(frozen=True)
class Where:
    """The block, or the core of a cluster, and the innermost loop's iteration."""

    block: int = 0
    turn: int = 0


Places = Callable[[Where], int]
"""Places as bits: 4-byte units of global memory (2-byte units of f16 tensors), then those of each core."""


@dataclass(frozen=True, eq=False)
class Operand:
    """A tile, window, view or scalar place. ``name`` as in the text, ``ready`` a line that defines it in place."""

    name: str
    kind: str
    places: Places
    type: str
    ready: str = ""
    group: str = ""  # tiles that tsync takes for one


@dataclass(eq=False)
class Node:
    """A line of the text, a loop (``turns``) or two alternatives (``other``)."""

    text: str = ""
    kind: str = ""
    pipe: str = ""
    reads: tuple[Operand, ...] = ()
    writes: tuple[Operand, ...] = ()
    atomic: bool = False
    key: tuple[object, ...] = ()
    turns: int = 0
    body: list[Node] = field(default_factory=list)
    other: list[Node] | None = None
    line: int = 0


def bits(start: int, rows: int, cols: int, pitch: int) -> int:
    """Rows of consecutive places."""
    return sum(((1 << cols) - 1) << (start + r * pitch) for r in range(rows))


def on_chip(start: int, rows: int, cols: int, pitch: int) -> Places:
    """The same places of every core's memory."""
    places = bits(start, rows, cols, pitch)
    return lambda at: places << (BASE + at.block * CORE_BITS)


class Menu:
    """What a program may use."""

    tensors: tuple[str, ...] = ("x", "y")
    pipes: tuple[str, ...] = ("MTE2", "V", "MTE3")
    kind = "vector"

    def __init__(self, rng: random.Random, cores: range, own: str = "%block", apart: float = 0.3) -> None:
        """``own`` counts the `cores` from 0 in the text; ``apart``: how often each has a place of its own."""
        self.rng, self.cores, self.own, self.apart = rng, cores, own, apart
        self.tiles: list[Operand] = []
        self.head: dict[str, int | str] = {"c3": "arith.constant 3 : index"}
        self._fresh = 0
        self.fill_head()

    def fill_head(self) -> None:
        for i, address in enumerate(self.rng.sample(range(0, 3072, 512), 2)):
            self._tile(f"w{i}", address, WIDE)
            if self.rng.random() < 0.5:
                for j, col in enumerate((0, NARROW, 8)[: self.rng.randint(1, 3)]):
                    self.head[f"w{i}s{j}"] = (
                        f"pto.subset %w{i}[%c0, %c{col}] sizes [8, {NARROW}] : !pto.tile_buf<vec, 8x{WIDE}xf32>"
                    )
                    where = on_chip(address // 4 + col, ROWS, NARROW, WIDE)
                    self.tiles.append(
                        Operand(f"w{i}s{j}", "narrow", where, f"!pto.tile_buf<vec, 8x{NARROW}xf32>", group=f"w{i}")
                    )
        self._tile("n0", self.rng.randrange(0, 3584, 256), NARROW)

    def _tile(self, name: str, address: int, cols: int) -> None:
        type_ = f"!pto.tile_buf<vec, 8x{cols}xf32>"
        self.head[f"{name}_at"] = f"arith.constant {address} : i64"
        self.head[name] = f"pto.alloc_tile addr = %{name}_at : {type_}"
        kind = "wide" if cols == WIDE else "narrow"
        self.tiles.append(Operand(name, kind, on_chip(address // 4, ROWS, cols, cols), type_, group=name))

    def fresh(self) -> str:
        """A name that has not been used."""
        self._fresh += 1
        return f"{self.kind}_{self._fresh}"

    def view(self, kind: str, tensor: str, turning: bool) -> Operand:
        """A rectangle of a tensor, perhaps another one for each block or iteration."""
        cols = WIDE if kind == "wide" else NARROW
        col = 0 if kind == "wide" else self.rng.choice((0, 0, 16, 8))
        row = self.rng.choice((0, 0, 8, 4))
        base = self.tensors.index(tensor) * TENSOR_BITS
        style = self.rng.random()
        view, name = f"%{tensor}_v", self.fresh()
        type_ = f"!pto.partition_tensor_view<8x{cols}xf32>"
        text = (
            f"%{name} = pto.partition_view {view}, offsets = [{{}}, %c{col}], sizes = [%c8, %c{cols}] "
            f": !pto.tensor_view<?x?xf32> -> {type_}"
        )
        if style < self.apart and len(self.cores) > 1:
            ready = f"%{name}_o = arith.muli {self.own}, %c8 : index\n" + text.format(f"%{name}_o")
            first = self.cores.start
            return Operand(
                name, kind, lambda at: bits(base + (at.block - first) * 8 * WIDE + col, ROWS, cols, WIDE), type_, ready
            )
        if style < 0.5 and turning:
            step = self.rng.choice((4, 2))
            ready = f"%{name}_o = arith.muli %IV, %c{step} : index\n" + text.format(f"%{name}_o")
            return Operand(
                name, kind, lambda at: bits(base + at.turn * step * WIDE + col, ROWS, cols, WIDE), type_, ready
            )
        ready = text.format(f"%c{row}")
        return Operand(name, kind, lambda at: bits(base + row * WIDE + col, ROWS, cols, WIDE), type_, ready)

    def scalar(self, turning: bool) -> Operand:
        """One element of a tensor."""
        tensor = self.rng.choice(self.tensors)
        base = self.tensors.index(tensor) * TENSOR_BITS
        if turning and self.rng.random() < 0.3:
            return Operand(f"%{tensor}[%IV]", "scalar", lambda at: 1 << (base + at.turn), "")
        n = self.rng.choice((0, 1, 16, 64))
        return Operand(f"%{tensor}[%c{n}]", "scalar", lambda at: 1 << (base + n), "")

    def tile(self, kind: str = "") -> Operand:
        return self.rng.choice([t for t in self.tiles if kind in ("", t.kind)])

    def work(self, turning: bool) -> Node:
        """A random instruction."""
        rng, a = self.rng, self.tile()
        match rng.randint(0, 19):
            case 0 | 1 | 2 | 3 | 4:
                v = self.view(a.kind, rng.choice(self.tensors), turning)
                text = f"{v.ready}\npto.tload ins(%{v.name} : {v.type}) outs(%{a.name} : {a.type})"
                return Node(text, "work", "MTE2", (v,), (a,))
            case 5 | 6 | 7 | 8:
                v = self.view(a.kind, "y", turning)
                text = f"{v.ready}\npto.tstore ins(%{a.name} : {a.type}) outs(%{v.name} : {v.type})"
                return Node(text, "work", "MTE3", (a,), (v,))
            case 9 | 10:
                v = self.view(a.kind, "y", turning)
                atomic = "{atomicType = #pto<atomic_type atomic_add>}"
                text = f"{v.ready}\npto.tstore ins(%{a.name} : {a.type}) outs(%{v.name} : {v.type}) {atomic}"
                return Node(text, "work", "MTE3", (a,), (v,), atomic=True)
            case 11 | 12 | 13 | 14:
                b = self.tile(a.kind)
                text = f"pto.tadds ins(%{a.name}, %one : {a.type}, f32) outs(%{b.name} : {b.type})"
                return Node(text, "work", "V", (a,), (b,))
            case 15:
                b, c = self.tile(a.kind), self.tile(a.kind)
                text = f"pto.tadd ins(%{a.name}, %{b.name} : {a.type}, {b.type}) outs(%{c.name} : {c.type})"
                return Node(text, "work", "V", (a, b), (c,))
            case 16 | 17:
                return self.first_write(a)
            case 18:
                e = self.scalar(turning)
                return Node(f"%{self.fresh()} = pto.load_scalar {e.name} : !pto.ptr<f32> -> f32", "work", "S", (e,), ())
            case _:
                e = self.scalar(turning)
                return Node(f"pto.store_scalar %one, {e.name} : !pto.ptr<f32>, f32", "work", "S", (), (e,))

    def first_write(self, a: Operand) -> Node:
        """Something that gives a tile a value without reading another."""
        return Node(f"pto.texpands ins(%one : f32) outs(%{a.name} : {a.type})", "work", "V", (), (a,))

    def sync(self) -> Node:
        """The scalar unit waits for what wrote a tile."""
        a = self.tile()
        return Node(f"pto.tsync ins(%{a.name} : {a.type})", "sync", "S", key=(a.group,))

    def event_class(self, pipe: str) -> str:
        return {"MTE2": "TLOAD", "V": "TVEC", "MTE3": "TSTORE_VEC", "MTE1": "TMOV_M2L", "M": "TMATMUL"}.get(
            pipe, "TSTORE_ACC"
        )


class CubeMenu(Menu):
    """Loads to L1, moves to L0, products, stores."""

    tensors = ("x", "y", "h")
    pipes = ("MTE2", "MTE1", "M", "FIX")
    kind = "cube"
    FRACTAL = "blayout=col_major, slayout=row_major"
    TYPES = {
        "mat": f"!pto.tile_buf<mat, 16x16xf16, {FRACTAL}>",
        "left": f"!pto.tile_buf<left, 16x16xf16, {FRACTAL}>",
        "right": "!pto.tile_buf<right, 16x16xf16, blayout=row_major, slayout=col_major>",
        "acc": f"!pto.tile_buf<acc, 16x16xf32, {FRACTAL}, fractal=1024>",
    }
    HALVES = {"mat": 0, "left": 1024, "right": 1536, "acc": 2048}  # where the places of a buffer begin, in 4 bytes

    def fill_head(self) -> None:
        self.head["h_v"] = (
            "pto.make_tensor_view %h, shape = [%c32, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf16>"
        )
        for kind, count in (
            ("mat", 2),
            ("left", self.rng.randint(1, 2)),
            ("right", 1),
            ("acc", self.rng.randint(1, 2)),
        ):
            size = 1024 if kind == "acc" else 512
            for i in range(count):
                address = self.rng.randrange(0, 3 * size, 512 if kind in ("left", "right") else size // 2)
                self.head[f"{kind}{i}_at"] = f"arith.constant {address} : i64"
                self.head[f"{kind}{i}"] = f"pto.alloc_tile addr = %{kind}{i}_at : {self.TYPES[kind]}"
                where = on_chip(self.HALVES[kind] + address // 4, 1, size // 4, 0)
                self.tiles.append(Operand(f"{kind}{i}", kind, where, self.TYPES[kind], group=f"{kind}{i}"))

    def work(self, turning: bool) -> Node:
        rng = self.rng
        match rng.randint(0, 9):
            case 0 | 1 | 2:
                return self.first_write(self.tile("mat"))
            case 3 | 4 | 5:
                return self.first_write(self.tile(rng.choice(("left", "right"))))
            case 6 | 7:
                return self.first_write(self.tile("acc"))
            case 8:
                a, b, c = self.tile("left"), self.tile("right"), self.tile("acc")
                types = f"{c.type}, {a.type}, {b.type}"
                text = f"pto.tmatmul.acc ins(%{c.name}, %{a.name}, %{b.name} : {types}) outs(%{c.name} : {c.type})"
                return Node(text, "work", "M", (a, b, c), (c,))
            case _:
                c, name, kind = self.tile("acc"), self.fresh(), "!pto.partition_tensor_view<16x16xf32>"
                col, base = rng.choice((0, 16)), TENSOR_BITS
                ready = (
                    f"%{name} = pto.partition_view %y_v, offsets = [%c0, %c{col}], sizes = [%c16, %c16] "
                    f": !pto.tensor_view<?x?xf32> -> {kind}"
                )
                v = Operand(name, "out", lambda at: bits(base + col, 16, 16, WIDE), kind)
                text = f"{ready}\npto.tstore ins(%{c.name} : {c.type}) outs(%{name} : {kind})"
                return Node(text, "work", "FIX", (c,), (v,))

    def first_write(self, a: Operand) -> Node:
        if a.kind == "mat":
            name, row, kind = self.fresh(), self.rng.choice((0, 8, 16)), "!pto.partition_tensor_view<16x16xf16>"
            base = 2 * TENSOR_BITS
            ready = (
                f"%{name} = pto.partition_view %h_v, offsets = [%c{row}, %c0], sizes = [%c16, %c16] "
                f": !pto.tensor_view<?x?xf16> -> {kind}"
            )
            v = Operand(name, "in", lambda at: bits(base + row * 16, 16, 16, 16), kind)
            return Node(
                f"{ready}\npto.tload ins(%{name} : {kind}) outs(%{a.name} : {a.type})", "work", "MTE2", (v,), (a,)
            )
        if a.kind in ("left", "right"):
            m = self.tile("mat")
            return Node(f"pto.tmov ins(%{m.name} : {m.type}) outs(%{a.name} : {a.type})", "work", "MTE1", (m,), (a,))
        left, right = self.tile("left"), self.tile("right")
        text = f"pto.tmatmul ins(%{left.name}, %{right.name} : {left.type}, {right.type}) outs(%{a.name} : {a.type})"
        return Node(text, "work", "M", (left, right), (a,))
