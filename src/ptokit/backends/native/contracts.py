"""Products of tiles: operands are laid out in rows by machine code, multiplied by NumPy's BLAS, and stored again.

The sum is that of `ptokit.isa.meaning.fold`, called on arrays of the same values, so that its bytes are those of
the NumPy backend in every mode.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ptokit.isa.meaning.expressions import OWN
from ptokit.isa.meaning.fold import product
from ptokit.isa.meaning.words import Contract
from ptokit.plan.steps import Step
from ptokit.types.dtypes import DType
from ptokit.types.tile import TileSpec

from . import callbacks
from .code import Code, Num, many, widened
from .module import MODES, STATE_MODE, address, multiply
from .moves import Nest, address_of, copy, source_axes, tile_axes, together
from .tiles import meets, valid
from .values import Tile, View

if TYPE_CHECKING:
    from .function import Writer

_AT_ONCE = 16


class Factor:
    """A factor as `product` reads it: values (1, rows, columns) in its element type, or in f32 which holds them."""

    def __init__(self, spec: TileSpec, values: np.ndarray) -> None:
        self.spec, self.values = spec, values
        self.vr, self.vc = values.shape[1:]

    def read(self) -> np.ndarray:
        return self.values

    def read_as(self, dtype: np.dtype) -> np.ndarray:
        return self.values if self.values.dtype == dtype else self.values.astype(dtype)


class _Plan(NamedTuple):
    """The tiles of a product, its sizes, and the loops that lay out what it reads and store what it gives."""

    tiles: list[Tile]
    sizes: tuple[int, int, int]
    parts: list[tuple[Tile, int, int]]
    nests: list[tuple[Nest, Nest]]
    back: tuple[Nest, Nest]


def possible(w: Writer, word: Contract, operands: dict[str, Any]) -> bool:
    """True if there is native code for a product, wherever its factors are read."""
    return _plan(w, word, operands) is not None


def _plan(w: Writer, word: Contract, operands: dict[str, Any]) -> _Plan | None:
    names = (word.left, word.right, word.dst, *((word.start,) if word.start else ()))
    tiles: list[Any] = [operands.get(name) for name in names]
    if word.left_scale or not all(isinstance(t, Tile) and t.shape is None for t in tiles):
        return None
    left, right, dst = tiles[:3]
    if w.target.templates and dst.spec.rows < dst.spec.box.rows:
        return None
    (m, k), (more, n) = (valid(w, t) for t in (left, right))
    if more != k or not all(isinstance(size, int) and size for size in (m, k, n)):
        return None
    assert isinstance(m, int) and isinstance(k, int) and isinstance(n, int)  # noqa: PT018
    if any(t.spec.dtype.value is None for t in (left, right)) or dst.spec.dtype.size != 4:
        return None
    if any(t.spec.dtype.is_float is dst.spec.dtype.is_integer for t in (left, right)):
        return None
    if m > dst.spec.rows or n > dst.spec.cols:
        return None
    start = (m, n) if word.start_at == OWN else (1, n)
    parts: list[tuple[Tile, int, int]] = [(left, m, k), (right, k, n)]
    if word.start:
        if tiles[3].spec.dtype is not dst.spec.dtype:
            return None
        parts.append((tiles[3], *start))
    nests = [_nests(w, tile, rows, cols) for tile, rows, cols in parts]
    back = _nests(w, dst, m, n)
    if back is None:
        return None
    found = [nest for nest in nests if nest is not None]
    return None if len(found) < len(nests) else _Plan(tiles, (m, k, n), parts, found, back)


def write(w: Writer, step: Step, word: Contract, operands: dict[str, Any]) -> bool:
    """True if native code has been written for a product."""
    plan = _plan(w, word, operands)
    if plan is None:
        return False
    w.pending.flush()
    _Product(w, step, plan).write()
    return True


class _Product:
    """The code of one matrix product."""

    def __init__(self, w: Writer, step: Step, plan: _Plan) -> None:
        self.w, self.step, self.plan = w, step, plan
        m, _, n = plan.sizes
        self.total = w.module.area(("total", m * n), 4 * m * n)
        self.places: list[tuple[int, np.dtype]] = []

    def write(self) -> None:
        w, plan, dst = self.w, self.plan, self.plan.tiles[2]
        m, k, n = plan.sizes
        self._lay_out(0, 1)
        start = plan.tiles[3] if len(plan.tiles) > 3 else None
        if start is not None:
            w.touch(start)
        to = runs(dst, m, n)
        frm = None if start is None or to is None else _beside(to, dst, start, plan.parts[2][1])
        if _direct(w, plan.tiles, m, k, n) and to is not None and (start is None or frm is not None):
            self._by_blas(to, start, frm)
        else:
            self._by_python()
        w.overwrite(dst, m, n)

    def _lay_out(self, *numbers: int) -> None:
        """Factors, or the start, in rows."""
        w = self.w
        for number in numbers:
            tile, rows, cols = self.plan.parts[number]
            source = w.source(tile)
            if isinstance(source, Tile):
                w.touch(source)
            nest = self.plan.nests[number]
            self.places.append(_laid_out(w, number, source, tile.spec.dtype, rows * cols, nest))

    def _by_python(self) -> None:
        """The product as the NumPy backend has it, stored back."""
        w, plan = self.w, self.plan
        places, self.places = self.places, list(self.places)
        self._lay_out(*range(2, len(plan.parts)))
        shapes = [(1, rows, cols) for _, rows, cols in plan.parts]
        callbacks.carried_out(w, self.step, _action([t.spec for t, *_ in plan.parts], self.places, shapes, self.total))
        turned = [[(count, t, s) for count, s, t in axes] for axes in plan.back]
        copy(w, w.code.at(w.memory, plan.tiles[2].start), w.code.at(w.memory, self.total), 4, turned[0], turned[1])
        self.places = places

    def _by_blas(self, to: Runs, start: Tile | None, frm: Runs | None) -> None:
        """In the modes ``exact`` and ``fast`` by a direct call, in others by Python."""
        code, module, w = self.w.code, self.w.module, self.w
        m, k, n = self.plan.sizes
        exact, fast, other, done = (code.label(name) for name in ("exact", "fast", "other", "done"))
        mode = code.load("i64", w.word(STATE_MODE))
        ways = " ".join(f"i64 {MODES.index(name)}, label {way}" for name, way in (("exact", exact), ("fast", fast)))
        code.leave(f"switch i64 {mode}, label {other} [{ways}]")

        def at(place: Num) -> str:
            return code.at(w.memory, place)

        for kind, label, size in (("double", exact, 8), ("float", fast, 4)):
            code.place(label)
            word = module.products.get(kind)
            if word is None:
                word = module.products[kind] = module.words(1)
            factors = [place for place, _ in self.places]
            if kind == "double":
                counts = (m * k, k * n)
                factors = [module.area(("double", j, count), 8 * count) for j, count in enumerate(counts)]
                for wide, (place, _), count in zip(factors, self.places, counts):
                    name = module.function(_doubling(count))
                    code.do(f"call void {name}(ptr {at(wide)}, ptr {at(place)})")
            raw = module.area(("sum", size, m * n), size * m * n)
            function = code.load("ptr", w.word(word))
            multiply(code, function, kind, at(factors[0]), at(factors[1]), at(raw), (m, k, n))
            name = module.function(_finishing(kind, n, to, frm))
            begin = "null" if start is None else at(start.start)
            code.do(f"call void {name}(ptr {at(self.plan.tiles[2].start)}, ptr {at(raw)}, ptr {begin})")
            code.jump(done)
        code.place(other)
        self._by_python()
        code.jump(done)
        code.place(done)


Runs = tuple[list[tuple[int, int]], list[tuple[int, int]]]
"""Rows and columns of a tile as axes; the last one has its elements side by side."""


def runs(tile: Tile, rows: int, cols: int) -> Runs | None:
    """The axes of a tile with some elements of a row side by side; None of others."""
    axes = tile_axes(tile, rows, cols)
    if axes is None or axes[1][-1][1] != 1:
        return None
    known = [[(n, s) for n, s in side if isinstance(n, int) and isinstance(s, int)] for side in axes]
    return (known[0], known[1]) if known[1][-1][0] > 1 else None


def _beside(to: Runs, dst: Tile, start: Tile, rows: int) -> Runs | None:
    """The axes of a start (all rows, or one for all) that go with those of the destination; None if they do not."""
    m, n = (prod(count for count, _ in side) for side in to)
    if rows == 1 and m > 1:
        axes = tile_axes(start, 1, n)
        if axes is None or axes[1] != [(n, 1)] or meets(start, dst):
            return None
        return [(count, 0) for count, _ in to[0]], [(c, s) for (c, _), s in zip(to[1], _strides(to[1], 1))]
    found = runs(start, m, n)
    if found is None or [[c for c, _ in side] for side in found] != [[c for c, _ in side] for side in to]:
        return None
    same = start.start == dst.start and found == to
    return found if same or not meets(start, dst) else None


def _direct(w: Writer, tiles: list[Tile], m: int, k: int, n: int) -> bool:
    """True if machine code may call the matrix product that NumPy would, in the modes that have one.

    NumPy takes other functions for vectors; f32 factors may have to be rounded before.
    """
    left, right, dst = (t.spec.dtype for t in tiles[:3])
    plain = all(d.is_float and (d.bits == 16 or (d.bits == 32 and not w.target.hf32_bits)) for d in (left, right))
    return plain and dst.name == "f32" and min(m, k, n) > 1 and all(map(address, ("float", "double")))


def _doubling(count: int) -> str:
    """A function that converts f32 to f64."""
    code = Code()
    for n, first, last in ((_AT_ONCE, 0, count - count % _AT_ONCE), (1, count - count % _AT_ONCE, count)):
        if first < last:
            with code.loop(last, n, first) as i:
                x = code.load(many(n, "float"), code.at("%from", code.mul(i, 4)), 4)
                wide = code.value(f"fpext {many(n, 'float')} {x} to {many(n, 'double')}")
                code.store(many(n, "double"), wide, code.at("%to", code.mul(i, 8)), 8)
    code.leave("ret void")
    return code.text("define internal void @{name}(ptr noalias %to, ptr noalias %from) {")


def _finishing(kind: str, n: int, to: Runs, start: Runs | None) -> str:
    """A function that adds the start in the type of the sum, rounds to f32 and stores both tiles' ways."""
    code, size = Code(), 8 if kind == "double" else 4
    axes = [*to[0], *to[1]]
    strides = [*_strides(to[0], n), *_strides(to[1], 1)]
    of_start = None if start is None else [*start[0], *start[1]]

    def level(k: int, raw: Num, dst: Num, begin: Num) -> None:
        if k < len(axes) - 1:
            with code.loop(axes[k][0]) as i:
                further = 0 if of_start is None else code.mul(i, of_start[k][1])
                level(
                    k + 1,
                    code.add(raw, code.mul(i, strides[k])),
                    code.add(dst, code.mul(i, axes[k][1])),
                    code.add(begin, further),
                )
            return
        count = axes[-1][0]
        for width, first, last in ((_AT_ONCE, 0, count - count % _AT_ONCE), (1, count - count % _AT_ONCE, count)):
            if first == last:
                continue
            with code.loop(last, width, first) as j:
                t, f = many(width, kind), many(width, "float")
                value = code.load(t, code.at("%from", code.mul(code.add(raw, j), size)), size)
                if of_start is not None:
                    added = code.load(f, code.at("%start", code.mul(code.add(begin, j), 4)), 4)
                    if kind == "double":
                        added = code.value(f"fpext {f} {added} to {t}")
                    value = code.value(f"fadd {t} {value}, {added}")
                if kind == "double":
                    value = code.value(f"fptrunc {t} {value} to {f}")
                code.store(f, value, code.at("%to", code.mul(code.add(dst, j), 4)), 4)

    level(0, 0, 0, 0)
    code.leave("ret void")
    return code.text("define internal void @{name}(ptr %to, ptr noalias %from, ptr %start) {")


def _strides(axes: list[tuple[int, int]], unit: int) -> list[int]:
    """Of the same axes of a matrix in rows; ``unit``: elements from one to the next of the last one."""
    out: list[int] = []
    for count, _ in reversed(axes):
        out.append(unit)
        unit *= count
    return out[::-1]


def _nests(w: Writer, tile: Tile, rows: int, cols: int) -> tuple[Nest, Nest] | None:
    """The loops that lay a region of a tile, or of what is read instead, out in rows."""
    axes = source_axes(w, w.source(tile), rows, cols)
    if axes is None:
        return None
    by_row, by_col = together([(rows, cols)], axes[0]), together([(cols, 1)], axes[1])
    return None if by_row is None or by_col is None else (by_row, by_col)


def _laid_out(
    w: Writer, number: int, source: Tile | View, dtype: DType, count: int, nests: tuple[Nest, Nest]
) -> tuple[int, np.dtype]:
    """Where the elements stand in rows, and as what: f16 and bf16 as f32."""
    code = w.code
    halves = dtype.is_float and dtype.bits == 16
    size = 4 if halves else dtype.size
    place = w.module.area(("rows", number, count * size), count * size)

    def widen(code: Code, n: int, x: str) -> tuple[str, str]:
        return many(n, "float"), widened(code, n, dtype, x)

    addresses = code.at(w.memory, place), address_of(w, source)
    copy(w, *addresses, dtype.size, *nests, wide=(4, widen) if halves else None)
    kind = np.dtype(np.float32) if halves else dtype.value
    assert kind is not None
    return place, kind


def _action(
    specs: list[TileSpec], places: list[tuple[int, np.dtype]], shapes: list[tuple[int, int, int]], total: int
) -> Any:
    (_, m, _), (_, _, n) = shapes[:2]

    def action(worker: Any, operands: list[Any], words: Any) -> None:
        worker.begin_block()
        arrays = [
            np.ndarray(shape, dtype, worker.memory, place) for (place, dtype), shape in zip(places, shapes, strict=True)
        ]
        factors: list[Any] = [Factor(spec, values) for spec, values in zip(specs, arrays[:2])]
        start = arrays[2] if len(arrays) > 2 else None
        found = product(worker.chunk, factors[0], factors[1], start)
        np.ndarray((1, m, n), found.dtype, worker.memory, total)[...] = found

    return action
