"""Products of tiles: operands are laid out in rows by machine code, multiplied by NumPy's BLAS, and stored again.

The sum is that of `ptokit.isa.meaning.contract`, called on arrays of the same values, so that its bytes are those of
the NumPy backend in every mode.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ptokit.ir.core import Op
from ptokit.isa.meaning.contract import product
from ptokit.isa.meaning.expressions import OWN
from ptokit.isa.meaning.words import Contract
from ptokit.types.dtypes import DType
from ptokit.types.tile import TileSpec

from . import blas, callbacks
from .code import Code
from .elements import many, widened
from .module import MODES, STATE_MODE
from .moves import Nest, address_of, copy, source_axes, together
from .tiles import valid
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


def readable(w: Writer, source: Tile | View, rows: int, cols: int) -> bool:
    """True if a factor of that size can be laid out from a source."""
    axes = source_axes(w, source, rows, cols)
    if axes is None:
        return False
    sizes = [[n for n, _ in side] for side in axes]
    if any(not isinstance(n, int) for side in sizes for n in side) or (prod(sizes[0]), prod(sizes[1])) != (rows, cols):  # type: ignore[arg-type]
        return False
    return together([(rows, cols)], axes[0]) is not None and together([(cols, 1)], axes[1]) is not None


def possible(w: Writer, word: Contract, operands: dict[str, Any]) -> bool:
    """True if there is native code for a product, wherever its factors are read."""
    return _plan(w, word, operands) is not None


def _plan(w: Writer, word: Contract, operands: dict[str, Any]) -> _Plan | None:
    names = (word.left, word.right, word.dst, *((word.start,) if word.start else ()))
    tiles: list[Any] = [operands.get(name) for name in names]
    if word.left_scale or not all(isinstance(t, Tile) and t.shape is None for t in tiles):
        return None
    left, right, dst = tiles[:3]
    (m, k), (more, n) = (valid(w, t) for t in (left, right))
    if more != k or not all(isinstance(size, int) and size for size in (m, k, n)):
        return None
    assert isinstance(m, int) and isinstance(k, int) and isinstance(n, int)  # noqa: PT018
    if any(t.spec.dtype.value is None for t in (left, right)) or dst.spec.dtype.size != 4:
        return None
    if left.spec.dtype.is_integer is dst.spec.dtype.is_float or m > dst.spec.rows or n > dst.spec.cols:
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


def write(w: Writer, op: Op, word: Contract, operands: dict[str, Any]) -> bool:
    """True if native code has been written for a product."""
    plan = _plan(w, word, operands)
    if plan is None:
        return False
    tiles, (m, k, n), parts, nests, back = plan
    dst = tiles[2]
    w.pending.flush()
    places = []
    for number, ((tile, rows, cols), nest) in enumerate(zip(parts, nests)):
        source = w.stands_for.get(tile.start, tile)
        if isinstance(source, Tile):
            w.touch(source)
        places.append(_laid_out(w, number, source, tile.spec.dtype, rows * cols, nest))
    total = w.module.area(("total", m * n), 4 * m * n)
    shapes = [(1, rows, cols) for _, rows, cols in parts]
    action = _action([t.spec for t, *_ in parts], places, shapes, total)
    if _direct(w, tiles, m, k, n):
        _by_blas(w, op, action, [place for place, _ in places], shapes, total)
    else:
        callbacks.carried_out(w, op, action)
    turned = [[(count, t, s) for count, s, t in axes] for axes in back]
    copy(w, w.code.at(w.memory, dst.start), w.code.at(w.memory, total), 4, turned[0], turned[1])
    w.overwrite(dst, m, n)
    return True


def _direct(w: Writer, tiles: list[Tile], m: int, k: int, n: int) -> bool:
    """True if machine code may call the matrix product that NumPy would, in the modes that have one.

    NumPy takes other functions for vectors; f32 factors may have to be rounded before.
    """
    left, right, dst = (t.spec.dtype for t in tiles[:3])
    plain = all(d.is_float and (d.bits == 16 or (d.bits == 32 and not w.target.hf32_bits)) for d in (left, right))
    return plain and dst.name == "f32" and min(m, k, n) > 1 and all(blas.address(kind) for kind in ("float", "double"))


def _by_blas(w: Writer, op: Op, action: Any, places: list[int], shapes: list[tuple[int, int, int]], total: int) -> None:
    """The product in the modes ``exact`` and ``fast`` by a direct call, in others by Python."""
    code, module = w.code, w.module
    (_, m, k), (_, _, n) = shapes[:2]
    exact, fast, other, done = (code.label(name) for name in ("exact", "fast", "other", "done"))
    mode = code.load("i64", w.word(STATE_MODE))
    ways = " ".join(f"i64 {MODES.index(name)}, label {to}" for name, to in (("exact", exact), ("fast", fast)))
    code.leave(f"switch i64 {mode}, label {other} [{ways}]")

    def at(place: int) -> str:
        return code.at(w.memory, place)

    for kind, label, size in (("double", exact, 8), ("float", fast, 4)):
        code.place(label)
        word = module.products.get(kind)
        if word is None:
            word = module.products[kind] = module.words(1)
        factors = places[:2]
        if kind == "double":
            factors = [module.area(("double", j, r * c), 8 * r * c) for j, (_, r, c) in enumerate(shapes[:2])]
            for to, frm, (_, r, c) in zip(factors, places, shapes):
                name = module.function(_doubling(r * c))
                code.do(f"call void {name}(ptr {at(to)}, ptr {at(frm)})")
        raw = module.area(("sum", size, m * n), size * m * n)
        function = code.load("ptr", w.word(word))
        blas.multiply(code, function, kind, at(factors[0]), at(factors[1]), at(raw), (m, k, n))
        start_rows = shapes[2][1] if len(shapes) > 2 else 0
        name = module.function(_finishing(kind, m, n, start_rows))
        start = at(places[2]) if start_rows else "null"
        code.do(f"call void {name}(ptr {at(total)}, ptr {at(raw)}, ptr {start})")
        code.jump(done)
    code.place(other)
    callbacks.carried_out(w, op, action)
    code.jump(done)
    code.place(done)


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


def _finishing(kind: str, m: int, n: int, start_rows: int) -> str:
    """A function that adds the start (of all rows, or one for all) in the type of the sum and rounds to f32."""
    code, size = Code(), 8 if kind == "double" else 4
    with code.loop(m) as i:
        for width, first, last in ((_AT_ONCE, 0, n - n % _AT_ONCE), (1, n - n % _AT_ONCE, n)):
            if first == last:
                continue
            with code.loop(last, width, first) as j:
                place = code.add(code.mul(i, n), j)
                t, f = many(width, kind), many(width, "float")
                value = code.load(t, code.at("%from", code.mul(place, size)), size)
                if start_rows:
                    where = place if start_rows > 1 else j
                    start = code.load(f, code.at("%start", code.mul(where, 4)), 4)
                    if kind == "double":
                        start = code.value(f"fpext {f} {start} to {t}")
                    value = code.value(f"fadd {t} {value}, {start}")
                if kind == "double":
                    value = code.value(f"fptrunc {t} {value} to {f}")
                code.store(f, value, code.at("%to", code.mul(place, 4)), 4)
    code.leave("ret void")
    return code.text("define internal void @{name}(ptr noalias %to, ptr noalias %from, ptr noalias %start) {")


def _nests(w: Writer, tile: Tile, rows: int, cols: int) -> tuple[Nest, Nest] | None:
    """The loops that lay a region of a tile, or of what stands for it, out in rows."""
    axes = source_axes(w, w.stands_for.get(tile.start, tile), rows, cols)
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
