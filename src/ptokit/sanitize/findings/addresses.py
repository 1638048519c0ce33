"""Tiles that share bytes: whether that is meant, where there is room for one of them, and the text that moves it.

Tiles that hand a value to one another share bytes on purpose, and mostly those that begin at one address: what lacks is
a flag then, if one mends the race. Others lie there by mistake.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import field, replace

import numpy as np

from ptokit.diagnostics.finding import Edit, argument_place, file_lines
from ptokit.ir.core import Op
from ptokit.isa.checks.tile_types import buffer_name
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.enums import TileType

from ..memory.shadow import Group
from ..simulation.core import Item, Work
from .candidates import Candidate
from .race import ProgramChange
from .source_text import Structure, indent
from .texts import python_text

PLACES = ("UB-OVERLAP", "PIPE-RING")
"""Rules whose findings another address mends. Their keys name the operations that make the tiles."""

_FRACTAL = 512  # bytes: what the cube unit reads begins at a multiple


@dataclass(frozen=True, slots=True)
class Ring:
    """The slots of a pipe in the buffer of the core that pops: bytes ``start`` to ``end`` of ``space``."""

    name: str
    space: str
    start: int
    end: int

    @property
    def shown(self) -> str:
        """What findings call it."""
        return f"the ring of {self.name}"


def sharing(one: str, other: str, space: str, start: int, end: int) -> str:
    """That two things have bytes in common, in words."""
    return f"{one} and {other} share bytes {start:#x}..{end - 1:#x} of {space}"


@dataclass(eq=False, slots=True)
class _Tile:
    """A tile with its aliases: which buffer, and from which to which byte; several where it is assigned anew."""

    group: Group
    spans: set[tuple[str, int, int]] = field(default_factory=set)

    @property
    def span(self) -> tuple[str, int, int] | None:
        """Where it lies, if it stays there."""
        return next(iter(self.spans)) if len(self.spans) == 1 else None


class Addresses:
    """Where the tiles of a launch lie whose cores issued `items`; ``rings``: of pipes."""

    def __init__(
        self, structure: Structure, items: Sequence[tuple[int, Item]], rings: Iterable[Ring], target: Target
    ) -> None:
        self.structure, self.target, self.rings = structure, target, list(rings)
        self._works = [item for _, item in items if isinstance(item, Work)]
        self._tiles: dict[Op, _Tile] = {}
        self._others: dict[str, set[tuple[int, int]]] = {}  # by buffer: bytes that are touched through no tile
        self._pointed: set[tuple[str, int, int]] = set()  # those that are touched by address
        self._handed: set[frozenset[Op]] = set()
        self._changed: set[tuple[str, int]] = set()  # lines
        self._follow()

    def _follow(self) -> None:
        writer: dict[int, np.ndarray] = {}
        groups: dict[int, Group] = {}
        for work in self._works:
            for touch in (t for t in work.touches if not isinstance(t.where, np.ndarray) and hasattr(t.where, "lo")):
                name, group = touch.space.name, touch.owner
                if group is None or touch.region is None:
                    self._others.setdefault(name, set()).add((touch.where.lo, touch.where.hi))
                    if touch.region is None:
                        self._pointed.add((name, touch.where.lo, touch.where.hi))
                    continue
                start = touch.region.start
                tile = self._tiles.setdefault(group.op, _Tile(group))
                tile.spans.add((name, start, start + touch.region.spec.nbytes))
                last = writer.get(id(touch.space))
                if last is None:
                    last = writer[id(touch.space)] = np.zeros(len(touch.space.state), np.int32)
                groups[group.number] = group
                if touch.write:
                    last[touch.where.index] = group.number
                    continue
                for number in np.unique(last[touch.where.index]).tolist():
                    if number not in (0, group.number):
                        self._handed.add(frozenset((groups[number].op, group.op)))

    # --- what shares bytes ---------------------------------------------------------------------------------------

    def candidates(
        self, rule: str, key: Hashable, lost: set[frozenset[Op]], *, meant: bool = False
    ) -> Iterator[Candidate]:
        """Other addresses for tiles that a finding is about. ``lost``: pairs of tiles, one of them with a lost value.
        ``meant``: of those that begin at one address."""
        assert isinstance(key, tuple)
        if rule == "PIPE-RING":
            tile = self._tiles.get(key[0])
            ring = next((ring for ring in self.rings if ring.name == key[1]), None)
            if tile is not None and ring is not None:
                yield from self._apart(tile, (ring.space, ring.start, ring.end), ring.shown, ring)
            return
        for one, other in self._pairs(rule, key):
            ops = frozenset((one.group.op, other.group.op))
            a, b = one.span, other.span
            if a is None or b is None or (ops not in lost and ops in self._handed):
                continue
            if meant is not (ops not in lost and a[1] == b[1]):
                continue
            first, second = sorted((one, other), key=lambda tile: tile.group.number)
            for tile, kept in ((second, first), (first, second)):
                assert kept.span is not None
                for found in self._apart(tile, kept.span, kept.group.name):
                    yield replace(found, last=meant)

    def _pairs(self, rule: str, key: tuple[Hashable, ...]) -> list[tuple[_Tile, _Tile]]:
        """Tiles that lie on common bytes: those of two accesses, or those that the key names."""
        sides: list[list[_Tile]] = []
        for op, name in ((key[0], None), (key[1], None)) if rule in PLACES else zip(key[:2], key[2:4]):
            if rule in PLACES:
                sides.append([self._tiles[op]] if op in self._tiles else [])  # type: ignore[index,operator]
                continue
            owners = {t.owner.op for w in self._works if w.op is op for t in w.touches if t.name == name and t.owner}
            sides.append([self._tiles[each] for each in self._tiles if each in owners])
        return [(a, b) for a in sides[0] for b in sides[1] if a is not b and _common(a.span, b.span)]

    # --- where there is room -------------------------------------------------------------------------------------

    def _apart(
        self, tile: _Tile, other: tuple[str, int, int], name: str, ring: Ring | None = None
    ) -> Iterator[Candidate]:
        """A tile, with all that its statement makes, at the next free address after another one."""
        shared = _common(tile.span, other)
        together = [each for op, each in self._tiles.items() if op.location == tile.group.op.location]
        spans = [each.span for each in together]
        if shared is None or any(span is None or span[0] != other[0] for span in spans):
            return
        if any(_common(span, at) for span in spans for at in self._pointed):
            return  # pointers would stay where they are
        low, high = min(span[1] for span in spans if span), max(span[2] for span in spans if span)
        address = self._room(other[0], together, high - low, other[2], _FRACTAL if low % _FRACTAL == 0 else None)
        if address is None:
            return
        op, by = tile.group.op, address - low
        edits, told = _in_python(op, by, alone=len(together) == 1) if op.in_python else _in_text(op, by, self.structure)
        if not edits or any((edit.file, edit.line) in self._changed for edit in edits):
            return
        change = ProgramChange(placed={each.group.op: by for each in together})
        assert tile.span is not None
        cause = sharing(*((name, tile.group.name) if ring is None else (tile.group.name, name)), other[0], *shared)
        words = f"move {tile.group.name} to the next free address, {tile.span[1] + by:#x}"
        yield Candidate(f"{words}: {told}", change, edits, cause=cause)

    def made(self, candidate: Candidate) -> None:
        """A candidate has been chosen: its lines are no longer what they are in the text."""
        for edit in candidate.edits if candidate.change.placed else ():
            self._changed.add((edit.file, edit.line))
        for op, by in candidate.change.placed.items():
            tile = self._tiles[op]
            tile.spans = {(name, start + by, end + by) for name, start, end in tile.spans}

    def _room(self, space: str, but: list[_Tile], size: int, after: int, step: int | None) -> int | None:
        """The first free address after a byte, or before it, for so many bytes."""
        step = max(step or 0, self.target.alignment)
        loc = next(loc for loc in TileType if loc is not TileType.Ctrl and buffer_name(loc) == space)
        limit = self.target.capacity[loc]
        if loc is TileType.Vec:
            limit = min(limit, self.target.user_ub or limit, self.target.library_ub or limit)
        taken = [(start, end) for t in self._tiles.values() if t not in but for n, start, end in t.spans if n == space]
        taken += [*self._others.get(space, ()), *((r.start, r.end) for r in self.rings if r.space == space)]
        ends = sorted({0, *(-(-end // step) * step for _, end in taken)})
        for address in [*(e for e in ends if e >= after), *(e for e in ends if e < after)]:
            if address + size <= limit and not any(address < end and start < address + size for start, end in taken):
                return address
        return None


# --- the text --------------------------------------------------------------------------------------------------------

_Text = tuple[tuple[Edit, ...], str]
"""Changes of a text, and what they write in words."""

_NOTHING: _Text = ((), "")


def _in_python(op: Op, by: int, *, alone: bool) -> _Text:
    """``alone``: the statement makes no other tile."""
    place = argument_place(op.location, "addr")
    if place is None and alone and op.location.file is not None:
        calls = python_text(op.location.file).assignments(op.result.shown)
        place = argument_place(calls[0], 1) if len(calls) == 1 else None
    if place is None or place.file is None:
        return _NOTHING
    lines = file_lines(place.file)
    line = lines[place.line - 1] if 0 < place.line <= len(lines) else ""
    start, end = place.column - 1, place.column - 1 + place.length
    said = line[start:end]
    try:
        node = ast.parse(said, mode="eval").body
    except (SyntaxError, ValueError):
        return _NOTHING
    if place.length == 1 and line[end : end + 1].isidentifier():
        return _NOTHING  # the first of several lines
    show = hex if "0x" in said else str
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        new = show(node.value + by)
    else:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            number = node.right.value if isinstance(node.right, ast.Constant) else None
            if isinstance(number, int):
                by += number if isinstance(node.op, ast.Add) else -number
                said, node = ast.get_source_segment(said, node.left) or said, node.left
        plain = isinstance(node, ast.BinOp | ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        plain &= not isinstance(node, ast.BinOp) or isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv)
        new = said if not by else f"{said if plain else f'({said})'} {'+' if by > 0 else '-'} {show(abs(by))}"
    edit = Edit(place.file, place.line, line[:start] + new + line[end:], 1)
    return (edit,), f"write {new} as its address in line {edit.line}"


_ADDR = re.compile(r"(\baddr\s*=\s*)%([\w$.]+)")


def _in_text(op: Op, by: int, structure: Structure) -> _Text:
    """A constant of its own for the address: others may use the one that is there."""
    statement, value = structure.statement(op), op.get("addr")
    owner = None if value is None else value.owner
    if statement is None or not isinstance(owner, Op) or not isinstance(owner.attrs.get("value"), int):
        return _NOTHING
    lines = file_lines(statement.file)
    numbered = enumerate(lines[statement.first - 1 : statement.last], statement.first)
    rows = [n for n, line in numbered if len(_ADDR.findall(line)) == 1]
    if len(rows) != 1 or value is None:
        return _NOTHING
    address, line = owner.attrs["value"] + by, lines[rows[0] - 1]
    name = f"c{address}_{value.type}"
    while re.search(rf"%{name}\b", "\n".join(lines)):
        name += "_"
    constant = f"%{name} = arith.constant {address} : {value.type}"
    added = Edit(statement.file, statement.first, indent(statement.file, statement.first) + constant)
    written = Edit(statement.file, rows[0], _ADDR.sub(rf"\g<1>%{name}", line), 1)
    return (added, written), f"add {constant} before line {added.line} and write it as its address in line {rows[0]}"


def _common(a: tuple[str, int, int] | None, b: tuple[str, int, int] | None) -> tuple[int, int] | None:
    """The bytes that two spans of a buffer share."""
    if a is None or b is None or a[0] != b[0]:
        return None
    low, high = max(a[1], b[1]), min(a[2], b[2])
    return (low, high) if low < high else None
