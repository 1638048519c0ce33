"""The addresses of a tile: which (row, column) lies where, in numbers and in words.

The facts are those of `ptokit.types.tile` (types-and-layouts 6); this package only shows them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Self

from ptokit.types.tile import DYNAMIC, TileSpec, element_offset


class Place(NamedTuple):
    """Where one element lies. ``box`` and ``inside`` count boxes and elements (row, column); ``order`` is the number
    of the box in memory. ``offset`` counts elements, ``byte`` bytes; of two 4-bit elements in a byte the second one is
    in its ``high`` half.
    """

    row: int
    col: int
    offset: int
    byte: int
    high: bool
    box: tuple[int, int]
    order: int
    inside: tuple[int, int]


class AddressMap:
    """The layout of a tile type: `at` tells the place of one element, `where` does so in words.

    ``address`` is the byte address of the tile, where it has one; ``mark`` an element (row, column) to point out, as
    `marked` sets it.
    """

    def __init__(self, spec: TileSpec, address: int | None = None, mark: tuple[int, int] | None = None) -> None:
        self.spec = spec
        self.address = address
        self.mark = mark
        # A single row of a boxed tile is stored contiguously (types-and-layouts 6): there are no boxes to see.
        self.boxed = spec.boxed and not (spec.rows == 1 and spec.slayout.name == "RowMajor")
        self.box = (spec.box.rows, spec.box.cols) if self.boxed else (spec.rows, spec.cols)
        self.blocks = (-(-spec.rows // self.box[0]), -(-spec.cols // self.box[1]))

    def offset(self, row: int, col: int) -> int:
        """Element offset of (row, col) from the start of the tile."""
        return int(element_offset(self.spec, row, col))

    def order(self, block_row: int, block_col: int) -> int:
        """Number of a box in memory, from 0."""
        rows, cols = self.blocks
        return block_row * cols + block_col if self.spec.row_major else block_col * rows + block_row

    def span(self, block_row: int, block_col: int) -> tuple[int, int]:
        """First and last element offset of a box."""
        (ir, ic), s = self.box, self.spec
        top, left = block_row * ir, block_col * ic
        bottom, right = min(top + ir, s.rows) - 1, min(left + ic, s.cols) - 1
        return self.offset(top, left), self.offset(bottom, right)

    def at(self, row: int, col: int) -> Place:
        """The place of an element. Raises `IndexError` outside of the tile."""
        s = self.spec
        if not (0 <= row < s.rows and 0 <= col < s.cols):
            raise IndexError(f"({row}, {col}) is outside of the {s.rows}x{s.cols} tile")
        offset, (ir, ic) = self.offset(row, col), self.box
        byte, high = (offset // 2, offset % 2 == 1) if s.dtype.packed else (offset * s.dtype.size, False)
        box = (row // ir, col // ic)
        return Place(row, col, offset, byte, high, box, self.order(*box), (row % ir, col % ic))

    def marked(self, row: int, col: int) -> Self:
        """The same map with one element pointed out. Raises `IndexError` outside of the tile."""
        self.at(row, col)
        return type(self)(self.spec, self.address, (row, col))

    @property
    def title(self) -> str:
        """Location, size, element type, layout and bytes."""
        s = self.spec
        where = "" if self.address is None else f" at {self.address:#x}"
        return f"{s.loc.text} {s.rows}x{s.cols}x{s.dtype} {s.layout_name}, {s.nbytes} bytes{where}"

    def describe(self) -> list[str]:
        """The layout in sentences: order of boxes and elements, the formula, and the valid region if it is smaller."""
        s, (ir, ic) = self.spec, self.box
        lines = []
        if self.boxed:
            size = s.dtype.nbytes(ir * ic)
            lines.append(f"boxes of {ir} rows x {ic} columns, {size} bytes each, stored {_by(s.row_major)}")
            lines.append(f"inside a box, elements are stored {_by(s.slayout.name == 'RowMajor')}")
        elif s.boxed:
            lines.append("a single row is stored without boxes, column after column")
        else:
            lines.append(f"no boxes: elements are stored {_by(s.row_major)}")
        lines.append(f"offset(r, c) = {self.formula()}")
        unit = "half a byte" if s.dtype.packed else "1 byte" if s.dtype.size == 1 else f"{s.dtype.size} bytes"
        lines.append(f"offsets count elements of {unit}")
        valid = tuple(n if v == DYNAMIC else v for v, n in ((s.valid_row, s.rows), (s.valid_col, s.cols)))
        if valid != (s.rows, s.cols):
            lines.append(f"valid region: {_span('row', 0, valid[0])}, {_span('column', 0, valid[1])}")
        return lines

    def formula(self) -> str:
        """The element offset as an expression of ``r`` and ``c``."""
        s, (ir, ic) = self.spec, self.box
        if not self.boxed:
            terms = [_term("r", s.rows, s.cols), _term("c", s.cols, 1)]
            if not s.row_major and not s.boxed:
                terms = [_term("c", s.cols, s.rows), _term("r", s.rows, 1)]
            return _sum(terms)
        rows, cols = self.blocks
        outer = [_term(f"r // {ir}", rows, s.cols * ir), _term(f"c // {ic}", cols, ir * ic)]
        if not s.row_major:
            outer = [_term(f"c // {ic}", cols, s.rows * ic), _term(f"r // {ir}", rows, ir * ic)]
        row, col = (f"r % {ir}" if rows > 1 else "r"), (f"c % {ic}" if cols > 1 else "c")
        inner = [_term(row, ir, ic), _term(col, ic, 1)]
        if s.slayout.name != "RowMajor":
            inner = [_term(col, ic, ir), _term(row, ir, 1)]
        return _sum([*outer, *inner])

    def where(self, row: int, col: int) -> str:
        """The place of an element in words. Raises `IndexError` outside of the tile."""
        p = self.at(row, col)
        half = (", high half" if p.high else ", low half") if self.spec.dtype.packed else ""
        text = f"({row}, {col}) is element {p.offset}, byte {p.byte} = {p.byte:#x}{half}"
        if self.address is not None:
            text += f", address {self.address + p.byte:#x}"
        if self.boxed:
            text += f"; row {p.inside[0]}, column {p.inside[1]} of box #{p.order}"
        return text


def elide(count: int, room: int, keep: int | None = None) -> list[int | None]:
    """At most `room` of the numbers below `count`: the first ones, `keep`, and the last; None stands for a gap."""
    if count <= room:
        return list(range(count))
    shown = set(range(max(1, room - (2 if keep is None else 4)))) | {count - 1}
    if keep is not None:
        shown.add(keep)
    out: list[int | None] = []
    for number in sorted(shown):
        if out and out[-1] != number - 1:
            out.append(None)
        out.append(number)
    return out


def _term(index: str, count: int, step: int) -> str:
    """``index * step``, or nothing for an index that is always 0."""
    return "" if count == 1 else index if step == 1 else f"{index} * {step}"


def _sum(terms: list[str]) -> str:
    return " + ".join(term for term in terms if term) or "0"


def _by(row_major: bool) -> str:
    return "row by row" if row_major else "column by column"


def _span(word: str, first: int, count: int) -> str:
    if count == 0:
        return f"no {word}s"
    return f"{word} {first}" if count == 1 else f"{word}s {first}–{first + count - 1}"


def spans(word: str, size: int, block: int, number: int) -> str:
    """``rows 16–31``: what block `number` of `block` elements covers of `size`."""
    first = number * block
    return _span(word, first, min(block, size - first))


Shown = Sequence[int | None]
