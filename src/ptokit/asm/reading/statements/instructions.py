"""Tile instructions as level 1 and the sync form write them (assembly 5), turned into those of level 2.

| written | read as |
|---|---|
| ``%d = pto.tadd %a, %b : T, T -> T`` | ``%d = pto.alloc_tile : T`` and ``pto.tadd ins(%a, %b : T, T) outs(%d : T)`` |
| ``%d = tadd %a, %b : T`` | the same: one type is that of all tiles |
| ``tadd %d, %a, %b : T`` | ``pto.tadd`` into the tile %d: without a result the destination comes first |
| ``%t = tload %g[%i, %j] : (G, index, index) -> T`` | a partition of %g as large as T's valid region, and its load |
| ``pto.tstore %a, %v : (T, V) -> ()`` | ``pto.tstore ins(%a : T) outs(%v : V)`` |
| ``%c2 = pto.tmatmul.acc %c, %a, %b : ..`` | ``pto.tmatmul.acc`` into %c, which %c2 names from then on |
| ``tassign %t, %addr`` | ``pto.tassign``; %t names its result from then on |
| ``tsync %a, %b`` | ``pto.tsync``: the result of a load is its tile, that of a store the memory it wrote |

Operands stand in the order of ``ins``, views that are written after them. A scratch tile that level 2 needs and the
text omits is allocated with the type of the source (rule 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from ptokit.ir import Op, Operands, RawAttr, Value
from ptokit.isa.move.move import SUFFIX, suffix_mismatch
from ptokit.isa.operands import FIRST_SOURCE
from ptokit.isa.table import Instr, Kind, Operand, Role
from ptokit.records import dataclass
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import INDEX, MemRef, PartitionView, Scalar, TensorView, Type

from ...forms.attributes import Dictionary
from ...forms.operands import first_source, fit, fits, operand_groups, orders, told_apart
from ...forms.operations import constant_value
from ...text import rules
from ...types.parse import FREE, POISON
from ..parser import Expansion, Parser
from ..written import dictionary_attrs, hash_attribute
from .sync import Item, Statement, constant, is_event, read_statement


def read_ssa(p: Parser, instr: Instr, at: int, named: int) -> Op:
    """Read a tile instruction after its name, which is token `at`; `named` results stand in front of it.

    What belongs before it, and what its result names mean, is left in ``p.expansion``.
    """
    p.ssa = True
    s = read_statement(p)
    value = s.items[0].value if s.items else None
    first = s.types[0] if value is not None and value.type is FREE and s.types else value and value.type
    return _Reader(p, told_apart(instr, first or None), at, named).read(s)


@dataclass(slots=True)
class _Given:
    """An operand as written: a value, or a number that becomes a constant; indices that choose a part of memory."""

    item: Item
    type: Type
    indices: list[Value] | None = None


class _Reader:
    """Reads one statement."""

    def __init__(self, p: Parser, instr: Instr, at: int, named: int) -> None:
        self.p, self.instr, self.at, self.named = p, instr, at, named
        self.e = p.expansion = Expansion()
        self.ins, self.destinations, self.stores = operand_groups(instr.name)

    def read(self, s: Statement) -> Op:
        p, instr = self.p, self.instr
        self.split(s)
        given = self.typed(s)
        results = self.result_types(s)
        ordered = orders(self.instr, bool(self.named or results or self.stores))
        if results and not self.named:
            results, ordered = self.restated(results, ordered, given)
        attrs: dict[str, Any] = {}
        self.supply(given, results)
        operands = self.assign(ordered, given, attrs)
        written: Dictionary = s.written
        dictionary_attrs(p, instr, written, attrs)
        for key, word, place in s.hashes:
            hash_attribute(p, instr, key, word, place, attrs)
        values = self.values(operands, results)
        if instr.form.spellings and (wrong := suffix_mismatch(p.texts[self.at], values.get("src"), values.get("dst"))):
            p.error(SUFFIX.id, wrong, self.at)
        return Op(f"pto.{instr.text}", {o.name: values[o.name] for o in instr.operands if o.name in values}, attrs)

    # ------------------------------------------------------------------ types

    def split(self, s: Statement) -> None:
        """Find the result's type in a list without ``->``: after those of all operands, or that of all tiles."""
        if s.results is not None or s.types is None or self.named != 1:
            return
        if len(s.types) == len(s.items) + 1:
            s.types, s.results = s.types[:-1], s.types[-1:]
        elif len(s.types) > 1:
            tiles = {t for t in s.types if isinstance(t, TileSpec)}
            s.results = [*tiles] if len(tiles) == 1 else None

    def typed(self, s: Statement) -> list[_Given]:
        """The operands with their types; every index of a part of memory is an index."""
        p, types = self.p, s.types
        flat = [(item, None) for item in s.items]
        total = sum(1 + len(item.indices or ()) for item in s.items)
        uniform = types is not None and len(types) == 1 and (total > 1 or s.results is None)
        out: list[_Given] = []
        if types is not None and not uniform and len(types) not in (total, len(flat)):
            p.fail(rules.OPERANDS, f"{total} operands are written, but {len(types)} types", self.at)
        each = types is not None and not uniform and len(types) == total
        k = 0
        for item in s.items:
            indices = item.indices
            stated = types[k] if types is not None and not uniform else None
            k += 1
            for position, index in enumerate(indices or ()):
                if each and types is not None:
                    p.match(index, types[k], item.index + 2 + 2 * position)
                    k += 1
                else:
                    p.match(index, INDEX, item.index + 2 + 2 * position)
            if uniform and types is not None and item.value is not None and item.value.type in (FREE, types[0]):
                stated = self._scalar_at(len(out), types[0]) or types[0]
            if uniform and types is not None and item.value is not None and isinstance(item.value.type, TileSpec):
                stated = types[0]
            if item.value is not None and stated is not None and not is_event(stated):
                p.match(item.value, stated, item.index)
            type = item.value.type if item.value is not None else (stated or self._number_type(s))
            if type is FREE:
                p.error(
                    rules.TY_9,
                    f"value {p.texts[item.index]} is not defined, and no type list says what it is",
                    item.index,
                    hint="write the types of the operands after ':'",
                )
                type = POISON
                if item.value is not None:
                    item.value.type = POISON
            if indices is not None and isinstance(type, TileSpec):  # textract %s[%r, %c]
                out.append(_Given(item, type))
                out += [_Given(Item(item.index, v), v.type) for v in indices]
            else:
                out.append(_Given(item, type, indices))
        return out

    def _scalar_at(self, position: int, tile: Type) -> Scalar | None:
        """Type of an operand whose place is that of a number, where the only type written is the tiles'."""
        order = orders(self.instr, bool(self.named or self.stores))[0]
        wanted = [o for o in order if not o.optional][position : position + 1]
        if not wanted or wanted[0].kind is not Kind.SCALAR or not isinstance(tile, TileSpec):
            return None
        return Scalar(wanted[0].type or tile.dtype.text)

    def _number_type(self, s: Statement) -> Type:
        """Type of a number without one: the element type of the tiles it meets."""
        types = [item.value.type for item in s.items if item.value is not None] + list(s.results or ())
        tile = next((t for t in types if isinstance(t, TileSpec)), None)
        return POISON if tile is None else Scalar(tile.dtype.text)

    def result_types(self, s: Statement) -> list[Type]:
        """The types of the results; events of stores are none."""
        p = self.p
        if s.results is not None:
            results = [t for t in s.results if not is_event(t)]
        elif self.named and self.destinations and s.types is not None and len(s.types) == 1:
            results = [s.types[0]] * self.named
        else:
            results = []
        for type in results:
            if not (isinstance(type, TileSpec) or type is POISON or self._is_record(type)):
                p.fail(rules.TYPE, f"the result is a tile, not {type}", self.at)
        if results and not self.destinations:
            p.fail(rules.RESULTS, f"pto.{self.instr.text} has no tile as its result", self.at)
        if self.named and self.destinations and not results:
            p.fail(
                rules.UNEXPECTED,
                f"the type of the result of {self.instr.text} is missing",
                self.at,
                hint="write ': types of the operands -> type of the result'",
            )
        return results

    def _is_record(self, type: Type) -> bool:
        """True if the instruction may write a value of this type that is no tile."""
        return any(o.kind is Kind.RECORD and fits(o, type) for o in self.destinations)

    # --------------------------------------------------------------- operands

    def restated(
        self, results: list[Type], ordered: list[list[Operand]], given: list[_Given]
    ) -> tuple[list[Type], list[list[Operand]]]:
        """``tload %t, %g[%i, %j] : (T, G) -> T``: without a name the result may be the tile that comes first."""
        types = [g.type for g in given]
        first = orders(self.instr, False)
        if fit(self.instr, ordered, types) is not None or fit(self.instr, first, types) is None:
            return results, ordered
        for type, destination in zip(results, given):
            if destination.item.value is not None:
                self.p.match(destination.item.value, type, destination.item.index)
        return [], first

    def supply(self, given: list[_Given], results: list[Type]) -> None:
        """Append the scratch tile of an instruction that has one of the type of what it writes, if it is left out."""
        scratch = next((o for o in self.ins if o.role is Role.SCRATCH and o.like not in ("", FIRST_SOURCE)), None)
        tiles = [g.type for g in given]
        if scratch is None or not results or len(given) < 2 or not all(isinstance(t, TileSpec) for t in tiles):
            return
        if tiles[-1] != results[0]:
            given.append(_Given(Item(self.at, self._alloc(results[0], given[0].item.value)), results[0]))

    def assign(
        self, ordered: list[list[Operand]], given: list[_Given], attrs: dict[str, Any]
    ) -> dict[str, _Given | list[_Given]]:
        """The written operands by name. TEXT-OPERANDS if they fit none of the orders."""
        chosen = fit(self.instr, ordered, [g.type for g in given])
        if chosen is None:
            self.unfit(ordered[0], given)
        order, counts, swapped = chosen
        written = given
        if swapped:
            attrs["scalar_first"] = True
            written = [*given[:-2], given[-1], given[-2]]
        out: dict[str, _Given | list[_Given]] = {}
        position = 0
        for operand, count in zip(order, counts):
            if operand.variadic:
                out[operand.name] = written[position : position + count]
            elif count:
                out[operand.name] = written[position]
            position += count
        return out

    def unfit(self, order: list[Operand], given: list[_Given]) -> NoReturn:
        """TEXT-OPERANDS: what is taken and what is written."""
        listed = ", ".join(f"[{o.name}]" if o.optional else o.name for o in order)
        shown = ", ".join(str(g.type) for g in given)
        self.p.fail(rules.OPERANDS, f"{self.instr.text} takes ({listed}), not ({shown})", self.at)

    def values(self, operands: dict[str, _Given | list[_Given]], results: Sequence[Type]) -> Operands:
        """Operands of level 2: with constants, parts of memory, scratch and result tiles."""
        p, e, instr = self.p, self.e, self.instr
        out: Operands = {}
        for name, given in operands.items():
            if not isinstance(given, list) and given.indices is None:
                out[name] = self._plain(given)
            elif isinstance(given, list):
                out[name] = [self._plain(g) for g in given]
        tile = first_source(instr, out)
        if self.named or results:
            self._destinations(out, results, tile or first_source(instr, out, Kind.VIEW))
        for name, given in operands.items():
            if not isinstance(given, list) and given.indices is not None:
                moved = out.get("dst") if not self.stores else tile
                out[name] = self._part(given, moved if isinstance(moved, Value) else None)
        scratch = instr.supplied if instr.supplied is not None and instr.supplied.name not in out else None
        if scratch is not None and tile is not None and isinstance(tile.type, TileSpec):
            out[scratch.name] = self._alloc(tile.type, tile)
        if self.stores:
            stored = out.get(self.stores[0].name)
            e.results = [stored] * self.named if isinstance(stored, Value) else []
        if self.named != len(e.results) and self.named:
            p.fail(rules.RESULTS, f"pto.{instr.text} has {len(e.results)} results, but {self.named} are named", self.at)
        return out

    def _plain(self, given: _Given) -> Value:
        item = given.item
        if item.value is not None:
            return item.value
        if not isinstance(given.type, Scalar):
            self.p.fail(rules.OPERANDS, f"the number {item.number} cannot be of type {given.type}", item.index)
        number: int | float = item.number
        if given.type.is_float:
            number = float(number)
        else:
            number = constant_value(self.p, str(number), given.type, item.index)
        return constant(self.e, number, given.type)

    def _destinations(self, out: Operands, results: Sequence[Type], source: Value | None) -> None:
        """A tile for every result: the accumulator or the tile changed in place, else a new one."""
        position, spare = 0, len(results) - sum(not o.optional for o in self.destinations)
        for operand in self.destinations:
            if operand.optional:
                spare -= 1
                if spare < 0:
                    continue
            held = out.get(operand.name) if operand.role is Role.INOUT else out.get("acc")
            if position >= len(results):
                if operand.name not in out:
                    self.p.fail(
                        rules.RESULTS,
                        f"pto.{self.instr.text} has {len(self.destinations)} results, not {len(results)}",
                        self.at,
                    )
                continue
            wanted = results[position]
            position += 1
            if isinstance(held, Value) and (held.type == wanted or POISON in (held.type, wanted)):
                out[operand.name] = held
            elif isinstance(held, Value) and operand.role is Role.INOUT:
                self.p.match(held, wanted, self.at)
                out[operand.name] = held
            elif operand.kind is Kind.RECORD:
                if not self._is_record(wanted) or isinstance(wanted, TileSpec):
                    self.p.fail(rules.TYPE, f"'{operand.name}' is a record of counts, not {wanted}", self.at)
                out[operand.name] = constant(self.e, RawAttr("dense<0>"), wanted)
            elif not isinstance(wanted, TileSpec) and wanted is not POISON:
                self.p.fail(rules.TYPE, f"the result is a tile, not {wanted}", self.at)
            else:
                out[operand.name] = self._alloc(wanted, source)
            value = out[operand.name]
            assert isinstance(value, Value)
            self.e.results.append(value)
        if position < len(results):
            self.p.fail(
                rules.RESULTS, f"pto.{self.instr.text} has {position} results, but {len(results)} types", self.at
            )

    def _alloc(self, type: Type, source: Value | None) -> Value:
        """A tile placed automatically; valid sizes the type leaves open are those of the source."""
        operands: Operands = {}
        if isinstance(type, TileSpec):
            for name, size in (("valid_row", type.valid_row), ("valid_col", type.valid_col)):
                if size == DYNAMIC:
                    operands[name] = self._valid(source, name)
        op = Op("pto.alloc_tile", operands, {}, [Value(type)])
        self.e.before.append(op)
        return op.results[0]

    def _valid(self, tile: Value | None, name: str) -> Value:
        """A valid size of a tile, or the size of a part of memory, as a value."""
        spec = tile.type if tile is not None else None
        if isinstance(spec, TileSpec) and getattr(spec, name) != DYNAMIC:
            return constant(self.e, getattr(spec, name), INDEX)
        owner = tile.owner if tile is not None else None
        size = owner.get(name) if isinstance(owner, Op) and owner.name == "pto.alloc_tile" else None
        if isinstance(owner, Op) and owner.name == "pto.partition_view":
            sizes = owner.group("sizes")
            if len(sizes) == 1 and name == "valid_row":
                return constant(self.e, 1, INDEX)
            size = sizes[-2:][0 if name == "valid_row" else -1]
        if size is None:
            self.p.fail(
                rules.TYPE,
                f"{name} of the tile is open (`?`), and nothing here says how large it is",
                self.at,
                hint="write the valid size in the type, or use level 2",
            )
        return size

    def _part(self, given: _Given, tile: Value | None) -> Value:
        """The part of global memory at the written indices, as large as the tile's valid region (rule 2)."""
        p, view, indices = self.p, given.type, given.indices or []
        base = self._plain(given)
        if view is POISON or (tile is not None and tile.type is POISON):
            return base
        if tile is None or not isinstance(tile.type, TileSpec):
            p.fail(rules.OPERANDS, f"{self.instr.text} takes a tensor without indices", given.item.index)
        if not isinstance(view, (MemRef, TensorView)):
            p.fail(rules.OPERANDS, f"indices choose a part of a memref or tensor, not of {view}", given.item.index)
        rank, valid = len(view.dims), (tile.type.valid_row, tile.type.valid_col)
        if not 1 <= len(indices) <= rank or (rank == 1 and valid[0] != 1):
            needed = "a tile of one row" if rank == 1 else f"1 to {rank} indices"
            p.fail(rules.OPERANDS, f"a tensor of rank {rank} takes {needed} here", given.item.index)
        sizes = [self._valid(tile, name) for name in ("valid_row", "valid_col")][-min(rank, 2) :]
        one = [constant(self.e, 1, INDEX)] * (rank - len(sizes)) if rank > len(sizes) else []
        zero = [constant(self.e, 0, INDEX)] * (rank - len(indices)) if rank > len(indices) else []
        dims = (*(1 for _ in one), *valid[-len(sizes) :])
        type = PartitionView(dims, view.dtype)
        operands: Operands = {"source": base, "offsets": [*zero, *indices], "sizes": [*one, *sizes]}
        op = Op("pto.partition_view", operands, {}, [Value(type)])
        self.e.before.append(op)
        return op.results[0]
