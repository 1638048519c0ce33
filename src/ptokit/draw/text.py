"""The addresses of a tile, and address maps as text: every element of a small tile, one box of a large one.

The facts are those of `ptokit.types.tile` (types-and-layouts 6); this package only shows them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from typing import NamedTuple, Self, TextIO

from ptokit.types.tile import DYNAMIC, TileSpec, element_offset

# The addresses of a tile: which (row, column) lies where, in numbers and in words.


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
    """At most `room` of the numbers below `count`: the first ones, `keep`, and the last; None is a gap."""
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


# Address maps as text: every element of a small tile, the boxes of a large one and one box in detail.


Segment = tuple[str, str]  # text, rich style
Line = list[Segment]

ROWS = 32  # more rows are left out
SKETCH = 8  # rows of a box in detail
_COLOURS = ("cyan", "yellow", "green", "magenta", "blue", "red")
_DIM, _MARK, _BOLD = "dim", "bold reverse", "bold"


def plain(map: AddressMap, width: int) -> str:
    """The drawing without colour; ends with a newline."""
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in drawing(map, width))


def write(map: AddressMap, file: TextIO, color: bool | None, width: int | None) -> None:
    """Print the drawing; by default as wide as the terminal, in colour where there is one."""
    terminal = file.isatty() and os.environ.get("TERM") != "dumb"
    columns = width or (shutil.get_terminal_size().columns if terminal else 80)
    if not (terminal and not os.environ.get("NO_COLOR") if color is None else color):
        file.write(plain(map, columns))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=file, force_terminal=True, width=columns, highlight=False, soft_wrap=True)
    for line in drawing(map, columns):
        console.print(Text.assemble(*line) if line else "")


def drawing(map: AddressMap, width: int) -> list[Line]:
    """Title, description, and grids."""
    spec = map.spec
    lines: list[Line] = [[(map.title, _BOLD)], *([(text, "")] for text in map.describe())]
    if map.mark is not None:
        lines.append([(map.where(*map.mark), _BOLD)])
    lines.append([])
    whole = elements(map, range(spec.rows), range(spec.cols)) if small(map, width) else None
    if whole is not None:
        return lines + whole
    if not map.boxed:
        return lines + _fitted(map, 0, spec.rows, 0, spec.cols, SKETCH, width)
    (ir, ic), (row, col) = map.box, map.mark or (0, 0)
    br, bc = row // ir, col // ic
    lines += boxes(map, width)
    extent = f"{spans('row', spec.rows, ir, br)}, {spans('column', spec.cols, ic, bc)}"
    lines += [[], [(f"box #{map.order(br, bc)}: {extent}", "")]]
    top, left = br * ir, bc * ic
    return lines + _fitted(map, top, min(ir, spec.rows - top), left, min(ic, spec.cols - left), SKETCH, width)


def small(map: AddressMap, width: int) -> bool:
    """True if all elements fit the width."""
    spec = map.spec
    if spec.rows > ROWS or spec.cols > width:
        return False
    return _grid_width(map, range(spec.rows), range(spec.cols), spec.numel - 1) <= width


def _grid_width(map: AddressMap, rows: Shown, cols: Shown, last: int) -> int:
    label = max(len(str(r)) for r in rows if r is not None) + 2
    seams = len({c // map.box[1] for c in cols if c is not None}) - 1 if map.boxed else 0
    return label + len(cols) * (len(str(last)) + 1) + 2 * seams + 1


def _fitted(map: AddressMap, top: int, height: int, left: int, breadth: int, most: int, width: int) -> list[Line]:
    """A rectangle of elements, without those in the middle that do not fit."""
    inside = map.mark is not None
    row, col = (map.mark[0] - top, map.mark[1] - left) if map.mark is not None else (None, None)
    rows = [None if r is None else top + r for r in elide(height, most, row)]
    room = min(breadth, width // 2)
    while True:
        cols = [None if c is None else left + c for c in elide(breadth, room, col)]
        last = max(map.offset(top + height - 1, left + breadth - 1), map.offset(top, left))
        if room <= (5 if inside else 3) or _grid_width(map, rows, cols, last) <= width:
            return elements(map, rows, cols)
        room = min(room, len(cols)) - 1


def elements(map: AddressMap, rows: Shown, cols: Shown) -> list[Line]:
    """A grid of element offsets; None in `rows` and `cols` is where some are left out."""
    known_rows, known_cols = [r for r in rows if r is not None], [c for c in cols if c is not None]
    digits = max(len(str(map.offset(r, c))) for r in (known_rows[0], known_rows[-1]) for c in known_cols)
    digits = max(digits, *(len(str(map.offset(r, known_cols[-1]))) for r in known_rows), len(str(known_cols[-1])))
    label = max(len(str(r)) for r in known_rows) + 1
    out: list[Line] = [_column_numbers(map, cols, digits, label)]
    before: int | None = None
    for row in rows:
        if row is not None and before is not None and map.boxed and row // map.box[0] != before // map.box[0]:
            out.append(_rule(map, cols, digits, label))
        before = before if row is None else row
        out.append(_row(map, row, cols, digits, label))
    return out


def _seams(map: AddressMap, cols: Shown) -> list[bool]:
    """For every column: does another box begin there?"""
    out, before = [], None
    for col in cols:
        box = before if col is None or not map.boxed else col // map.box[1]
        out.append(before is not None and box != before)
        before = box
    return out


def _column_numbers(map: AddressMap, cols: Shown, digits: int, label: int) -> Line:
    parts = [" " * (label + 1)]
    for col, seam in zip(cols, _seams(map, cols)):
        parts.append(("   " if seam else " ") + ("…" if col is None else str(col)).rjust(digits))
    return [("".join(parts), _DIM)]


def _rule(map: AddressMap, cols: Shown, digits: int, label: int) -> Line:
    parts = [" " * (label + 1)]
    for seam in _seams(map, cols):
        parts.append(("─┼─" if seam else "─") + "─" * digits)
    return [("".join(parts), _DIM)]


def _row(map: AddressMap, row: int | None, cols: Shown, digits: int, label: int) -> Line:
    line: Line = [(("…" if row is None else str(row)).rjust(label) + " ", _DIM)]
    close = False  # the element before is marked
    for col, seam in zip(cols, _seams(map, cols)):
        mark = (row, col) == map.mark
        lead = (("]" if close else " ") + "│ ") if seam else ("]" if close else " ")
        text = "…" if row is None or col is None else str(map.offset(row, col))
        body = lead[:-1] + ("[" if mark else lead[-1])
        style = _DIM if row is None or col is None else _style(map, row, col)
        line += [(body, _BOLD if mark or close else _DIM), (text.rjust(digits), _MARK if mark else style)]
        close = mark
    return [*line, ("]", _BOLD)] if close else line


def _style(map: AddressMap, row: int, col: int) -> str:
    spec = map.spec
    outside = row >= spec.valid_row >= 0 or col >= spec.valid_col >= 0
    colour = _colour(row // map.box[0], col // map.box[1]) if map.boxed else ""
    return f"{colour} {_DIM}".strip() if outside else colour


def _colour(block_row: int, block_col: int) -> str:
    return _COLOURS[(block_row + 2 * block_col) % len(_COLOURS)]


def _shown_columns(count: int, mark: int | None, inner: int, width: int) -> tuple[Shown, list[int]]:
    """Columns of boxes that fit the width, and the width of each; at least the marked one or the first."""
    room = min(count, width // 4)
    while True:
        shown = elide(count, room, mark)
        if room < 2:
            only = mark or 0
            shown = [*([None] if only else []), only, *([None] if only < count - 1 else [])]
        widths = [1 if c is None else inner for c in shown]
        if room < 2 or sum(w + 3 for w in widths) <= width:
            return shown, widths
        room -= 1


def boxes(map: AddressMap, width: int) -> list[Line]:
    """The boxes as a grid: number in memory, first and last element offset."""
    spec, (ir, ic), (rows, cols) = map.spec, map.box, map.blocks
    mark = None if map.mark is None else (map.mark[0] // ir, map.mark[1] // ic)
    shown_rows = elide(rows, SKETCH, None if mark is None else mark[0])
    label = max(len(spans("row", spec.rows, ir, r)) for r in shown_rows if r is not None)
    number, last = len(str(rows * cols - 1)) + 1, len(str(spec.numel - 1))
    heads = max(len(spans("column", spec.cols, ic, c)) for c in {0, cols - 1})
    inner = max(number + 1 + 2 * last + 1, heads)
    shown, widths = _shown_columns(cols, None if mark is None else mark[1], inner, width - label - 2)

    def frame(left: str, middle: str, right: str) -> Line:
        return [(" " * (label + 1) + left + middle.join("─" * (w + 2) for w in widths) + right, _DIM)]

    names = ["…" if c is None else spans("column", spec.cols, ic, c) for c in shown]
    head = [name.center(w + 3) for name, w in zip(names, widths)]
    out: list[Line] = [[(" " * (label + 2) + "".join(head), _DIM)], frame("┌", "┬", "┐")]
    for i, r in enumerate(shown_rows):
        if i:
            out.append(frame("├", "┼", "┤"))
        name = "…" if r is None else spans("row", spec.rows, ir, r)
        line: Line = [(name.rjust(label) + " ", _DIM)]
        for c, w in zip(shown, widths):
            line.append(("│ ", _DIM))
            if r is None or c is None:
                line.append(("…".center(w), _DIM))
            else:
                first, final = map.span(r, c)
                text = f"#{map.order(r, c)}".ljust(number) + f" {first}–{final}".rjust(inner - number)
                line.append((text, _MARK if (r, c) == mark else _colour(r, c)))
            line.append((" ", ""))
        out.append([*line, ("│", _DIM)])
    return [*out, frame("└", "┴", "┘")]
