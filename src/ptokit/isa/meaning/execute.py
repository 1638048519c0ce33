"""The NumPy executor's function of an instruction, written from its meaning.

A word becomes a few lines of Python, made once for each combination of element types; the last primitive of an
expression puts its values into the destination's own array where it has one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ptokit.types.dtypes import DType

from ..site import Info, ScalarInfo, Site, TileInfo, ViewInfo
from .expressions import OWN, Apply, Count, Element, Expr, leaves
from .fold import product, reduction, scaled, total_of
from .moves import bursts, drain, gather_tile, levels, scatter_tile, transferred
from .primitives import PRIMITIVES
from .source import Source, count
from .words import (
    Bursts,
    Contract,
    Drain,
    Fold,
    Gather,
    Keep,
    Lane,
    Move,
    Ordering,
    Python,
    Refusal,
    Scatter,
    Search,
    Transfer,
    Word,
    Write,
)

if TYPE_CHECKING:
    from ..table import Instr

Run = Callable[..., Any]


class Derived:
    """The function of an instruction whose meaning is data: ``derived(machine, *operands, **attributes)``.

    `at` gives the function for one place in a program, which spares each call the look at its operands.
    """

    def __init__(self, instr: Instr) -> None:
        self.instr = instr
        self.names = tuple(operand.name for operand in instr.operands)
        self._written: dict[tuple[Word, tuple[tuple[str, DType], ...]], Run] = {}

    def __call__(self, machine: Any, *operands: Any, **attributes: Any) -> Any:
        run = self._known(self.site(machine, operands, attributes))
        if run is None:
            raise KeyError(f"{self.instr.name} has no meaning for these operands")
        return run(machine, *operands, **attributes)

    def at(self, site: Site) -> Run:
        """The function for a site. Where it depends on sizes the site does not know, it is chosen at each call."""
        return self._known(site) or self._by_sizes()

    def _known(self, site: Site) -> Run | None:
        word = self.instr.meaning_at(site)
        if word is None:
            return None
        if isinstance(word, Python | Ordering):
            return word.run
        types = tuple(self.types(site).items())
        run = self._written.get((word, types))
        if run is None:
            run = self._written[word, types] = self.written(word, dict(types))
        return run

    def _by_sizes(self) -> Run:
        chosen: dict[tuple[Any, ...], Run] = {}

        def run(machine: Any, *operands: Any, **attributes: Any) -> Any:
            key = tuple([_sizes(o) for o in operands])
            found = chosen.get(key)
            if found is None:
                found = self._known(self.site(machine, operands, attributes))
                assert found is not None, self.instr.name
                chosen[key] = found
            return found(machine, *operands, **attributes)

        return run

    def site(self, machine: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> Site:
        """The site of a call."""
        infos = dict.fromkeys(self.names) | self.infos(machine, operands, attributes)
        return Site(self.instr, machine.target, infos, attributes)

    def infos(self, machine: Any, operands: tuple[Any, ...], attributes: dict[str, Any]) -> dict[str, Any]:
        """What is known of the operands of a call, by name."""
        rows = next((o.spec.takes_rows for o in operands if hasattr(o, "spec")), True)
        return {name: _info(name, operand, rows) for name, operand in zip(self.names, operands)}

    def types(self, site: Site) -> dict[str, DType]:
        """`types_at`, of the operands whose types the function depends on."""
        return types_at(site)

    def written(self, word: Word, types: dict[str, DType]) -> Run:
        """The function for operands of these element types."""
        source = Source(types, frozenset(o.name for o in self.instr.operands if o.kind == "view"))
        lines = _WRITERS[type(word)](word, source)
        head = f"def run(m, {''.join(f'{name}=None, ' for name in self.names)}**_):"
        exec("\n    ".join([head, *lines]), source.names)
        return source.names["run"]


def types_at(site: Site) -> dict[str, DType]:
    """The element types of the tiles, registers and views of a site, by operand."""
    found = ((name, getattr(info, "dtype", None)) for name, info in site.operands.items())
    return {name: dtype for name, dtype in found if dtype is not None}


def _sizes(operand: Any) -> Any:
    """What a choice of the meaning may depend on."""
    if hasattr(operand, "vr"):
        return operand.vr, operand.vc
    if hasattr(operand, "layout_for"):
        return operand.layout_for(True), operand.layout_for(False)
    return operand if isinstance(operand, (int, float)) else None


def _info(name: str, operand: Any, takes_rows: bool) -> Info | None:
    """An operand at run time; ``takes_rows``: the tile at hand is filled row by row."""
    if operand is None:
        return None
    if hasattr(operand, "spec"):
        return TileInfo(name, operand.spec, operand.vr, operand.vc)
    if hasattr(operand, "layout_for"):
        return ViewInfo(name, operand.dtype, operand.shape, operand.stride, operand.layout_for(takes_rows), operand)
    return ScalarInfo(name, "", operand)


def _lane(lane: Lane, source: Source) -> list[str]:
    size = ("rows", "cols") if lane.whole else ("vr", "vc")
    over = f"{lane.over}.spec" if lane.whole else lane.over
    lines = [f"rows, cols = {over}.{size[0]}, {over}.{size[1]}"]
    if len(lane.writes) == 1:
        lines += [f"{name} = {count(n)}" for name, n in _stated(lane.writes[0]).items()]
    placed = any(isinstance(leaf, Element) and leaf.at != OWN for w in lane.writes for leaf in leaves(w.value))
    if placed or len(lane.writes) > 1:
        lines.append("if not (rows and cols): return")
    if len(lane.writes) > 1:
        return lines + _several(lane, source)
    (write,) = lane.writes
    lines += source.read(write.value)
    if write.packed:
        return [*lines, f"write_mask({write.name}, {source.value(write.value)})"]
    return [
        *lines,
        f"out = {write.name}.out(rows, cols)",
        f"if out is None: {write.name}.write({source.whole(write.value)}, rows, cols)",
        f"else: {source.into(write.value, 'out')}",
    ]


def _stated(write: Write) -> dict[str, Count]:
    """The rows and columns that are computed, where those are not all of the domain."""
    return {name: n for name, n in (("rows", write.rows), ("cols", write.cols)) if n is not None}


def _several(lane: Lane, source: Source) -> list[str]:
    """Several destinations, or parts of one: all values first, then one after the other into its array."""
    lines: list[str] = []
    values: list[tuple[str, Write, str, str]] = []
    for n, write in enumerate(lane.writes):
        rows = "rows" if write.rows is None else count(write.rows)
        cols = "cols" if write.cols is None else count(write.cols)
        source.leaves.clear()
        lines += source.read(write.value, rows, cols)
        copied = "" if isinstance(write.value, Apply) else ".copy()"
        lines.append(f"v{n} = {source.value(write.value)}{copied}")
        values.append((f"v{n}", write, rows, cols))
    for name in dict.fromkeys(write.name for write in lane.writes):
        mine = [v for v in values if v[1].name == name]
        kind = source.object(source.types[name].value or source.types[name].storage)
        blocks = f"max({', '.join(f'len({v})' for v, *_ in mine)}, 1)"
        lines += [
            f"out = {name}.out(rows, cols)",
            f"put = out if out is not None else empty(({blocks}, rows, cols), {kind})",
        ]
        for v, write, rows, cols in mine:
            row, col = count(write.at.row.plus), count(write.at.col.plus)
            lines.append(f"put[:, {row} : {row} + {rows}, {col} : {col} + {cols}] = {v}")
        lines.append(f"if out is None: {name}.write(put, rows, cols)")
    return lines


def _fold(fold: Fold, source: Source) -> list[str]:
    axis, size = _AXES[fold.axis]
    fold_axis = source.object(reduction(fold.op, fold.stages))
    lines = _valid(fold.over) + source.read(fold.value)
    dtype = source.object(source.types[fold.dst])
    return [
        *lines,
        f"r = {fold_axis}({source.value(fold.value)}, {axis})",
        f"{fold.dst}.write(rounded(r, {dtype}), {size})",
    ]


def _search(search: Search, source: Source) -> list[str]:
    axis, size = _AXES[search.axis]
    lines = _valid(search.over) + source.read(search.value)
    kind = source.object(source.types[search.dst].value)
    return [
        *lines,
        f"x = {source.value(search.value)}",
        f"at = first_extreme(x, {axis}, {search.op == 'gt'})",
        f"if {search.dst_value} is not None: {search.dst_value}.write(take(x, at, {axis}), {size})",
        f"{search.dst}.write(at.astype({kind}), {size})",
    ]


def _move(move: Move, source: Source) -> list[str]:
    (leaf,) = leaves(move.value)
    assert isinstance(leaf, Element)
    lines = [f"rows, cols = {count(move.rows)}, {count(move.cols)}"]
    if move.dst in source.views:
        combine = source.object(PRIMITIVES[move.combine].numpy) if move.combine else "None"
        lines = [f"{move.dst}, rows, cols = lines({move.dst}, {leaf.name}, m.target)", f"{move.dst}.begin_store()"]
        lines += source.read(move.value)
        return [
            *lines,
            f"store({move.dst}, {source.value(move.value)}, {leaf.name}.spec.takes_rows, m.blocks, {combine})",
        ]
    if leaf.name in source.views:
        lines = [f"load({move.dst}, {leaf.name}, m.target)"]
    else:
        lines += _between_tiles(move, leaf, source)
    for f in move.fills:
        row, end_row, col, end_col = (count(n) for n in (f.row, f.end_row, f.col, f.end_col))
        lines.append(f"fill({move.dst}, {row}, {end_row}, {col}, {end_col}, {f.bits})")
    return lines


def _between_tiles(move: Move, leaf: Element, source: Source) -> list[str]:
    """A region at the origin of both tiles is handed on as a whole; any other is read and written."""
    take = f"{move.dst}.take({leaf.name}, rows, cols)"
    starts = [axis.plus for at in (leaf.at, move.to) for axis in (at.row, at.col)]
    moved = [count(start) for start in starts if start != 0]
    own = all(replace(at.row, plus=0) == OWN.row and replace(at.col, plus=0) == OWN.col for at in (leaf.at, move.to))
    same = move.value == leaf and own and source.types[leaf.name] is source.types[move.dst]
    if same and not moved:
        return [take]
    row, col = count(move.to.row.plus), count(move.to.col.plus)
    lines = [f"if not ({' or '.join(moved)}): return {take}"] if same and not move.fills else []
    lines += source.read(move.value)
    return [*lines, f"put({move.dst}, as_kind({move.dst}, {source.value(move.value)}), {row}, {col})"]


def _drain(d: Drain, source: Source) -> list[str]:
    starts = [count(axis.plus) for at in (d.value.at, d.to) for axis in (at.row, at.col)]
    places = f"({starts[0]}, {starts[1]}, {count(d.rows)}, {count(d.cols)}), ({starts[2]}, {starts[3]})"
    how = f"{d.words or None}, {source.object(d.relu)}, {source.object(d.mode)}"
    return [f"{source.object(drain)}(m, {d.dst}, {d.value.name}, {places}, {how})"]


def _contract(c: Contract, source: Source) -> list[str]:
    names = ", ".join(dict.fromkeys(filter(None, (c.dst, c.start))))
    lines = [f"rows, cols = {c.left}.vr, {c.right}.vc", f"if m.target.templates: {names}, = map(in_boxes, ({names},))"]
    start = "None"
    if c.start:
        lines += source.read(Element(c.start, c.start_at))
        start = source.value(Element(c.start, c.start_at))
    if c.left_scale:
        factors = f"{c.left}, {c.left_scale}, {c.right}, {c.right_scale}"
        total = f"{source.object(total_of)}(m, *{source.object(scaled)}({factors}), {start})"
    else:
        total = f"{source.object(product)}(m, {c.left}, {c.right}, {start}, to={c.dst}.spec.dtype.value)"
    return [*lines, f"{c.dst}.write({total}, rows, cols)"]


def _gather(g: Gather, source: Source) -> list[str]:
    return [f"{source.object(gather_tile)}(m, {g.dst}, {g.src}, {g.index}, {g.rule!r})"]


def _scatter(g: Scatter, source: Source) -> list[str]:
    return [f"{source.object(scatter_tile)}(m, {g.dst}, {g.src}, {g.index}, {g.rule!r})"]


def _keep(k: Keep, source: Source) -> list[str]:
    values = k.values if isinstance(k.values, tuple) else (k.values,)
    found = [v for v in values if isinstance(v, Expr)]
    lines = [line for value in found for line in source.read(value)]
    made = ", ".join(f"int({source.value(v)})" if isinstance(v, Expr) else repr(v) for v in values)
    return [*lines, f"m.registers[{k.name!r}] = {f'({made},)' if isinstance(k.values, tuple) else made}"]


def _transfer(t: Transfer, source: Source) -> list[str]:
    fold, combine = (source.object(PRIMITIVES[op].numpy) if op else "None" for op in (t.fold, t.combine))
    return [f"{source.object(transferred)}(m, {t.dst}, {t.src}, {t.rows}, {fold}, {combine}, {t.first})"]


def _refusal(r: Refusal, source: Source) -> list[str]:
    return [f"m.refuse({r.rule!r}, {r.message!r})"]


def _bursts(b: Bursts, source: Source) -> list[str]:
    axes = "".join(f"({', '.join(map(count, axis))}), " for axis in b.axes)
    around = f"*{source.object(levels)}({b.groups} or ()), " if b.groups else ""
    counts = f"{count(b.length)}, {count(b.before)}, {b.loops!r}, {b.alignment}, unread={b.unread}, core={b.core or 0}"
    return [f"{source.object(bursts)}(m, {b.src}, {b.dst}, [{around}{axes}], {counts})"]


def _valid(name: str) -> list[str]:
    return [f"rows, cols = {name}.vr, {name}.vc", "if not (rows and cols): return"]


_AXES = {"row": (2, "rows, 1"), "column": (1, "1, cols")}
"""By the axis of a fold: that of the array, and the region that is written."""

_WRITERS: dict[type, Callable[[Any, Source], list[str]]] = {
    Lane: _lane,
    Fold: _fold,
    Search: _search,
    Move: _move,
    Drain: _drain,
    Contract: _contract,
    Gather: _gather,
    Scatter: _scatter,
    Keep: _keep,
    Bursts: _bursts,
    Refusal: _refusal,
    Transfer: _transfer,
}
