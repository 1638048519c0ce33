"""Pictures: address maps of tiles, and a target's buffers with the pipes that lead between them.

What differs between targets comes from their data: capacities, registers, whether cores exchange tiles from buffer to
buffer. Sizes are bytes; places in the picture are pixels.
"""

from __future__ import annotations

import colorsys
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple, TextIO

from ptokit.targets import Target
from ptokit.types.enums import TileType
from ptokit.types.tile import TileSpec

from .text import AddressMap, Shown, elide, plain, spans, write

# Address maps as pictures: boxes in colour, element offsets, and the path that memory takes through them.


SMALL = 32  # rows and columns up to which every element is drawn
BOXES = 8  # rows and columns of boxes drawn of a large tile
LINES = 16  # rows and columns drawn of a large tile without boxes
_CHAR, _LINE, _MARGIN = 7.0, 18.0, 12.0  # a character of 11 px monospace; a line of text; around the picture
_INK, _FAINT, _PATH, _MARKED = "#1f2430", "#8a8f9c", "#30364a", "#d0021b"
_DARK = "@media (prefers-color-scheme: dark) { .paper { fill: #14171d } .words { fill: #e4e7ee } }"  # cells stay light


class Cell(NamedTuple):
    """One drawn cell: place in the grid, memory order, its texts, and its look."""

    row: int
    col: int
    order: int
    texts: list[str]
    fill: str
    dim: bool = False
    mark: bool = False


class Panel(NamedTuple):
    """A drawn part: elements, width and height."""

    body: list[str]
    width: float
    height: float


def picture(map: AddressMap) -> str:
    """The whole picture as SVG text."""
    spec, (ir, ic) = map.spec, map.box
    words = [
        map.title,
        *map.describe(),
        "the line follows memory, beginning at the dot",
        *([map.where(*map.mark)] if map.mark is not None else []),
    ]
    panels = [_words(words)]
    row, col = map.mark or (0, 0)
    if spec.rows <= SMALL and spec.cols <= SMALL:
        panels.append(_elements(map, range(spec.rows), range(spec.cols)))
    elif not map.boxed:
        near = map.mark or (None, None)
        panels.append(_elements(map, elide(spec.rows, LINES, near[0]), elide(spec.cols, LINES, near[1])))
    else:
        br, bc = row // ir, col // ic
        rows = range(br * ir, min(br * ir + ir, spec.rows))
        cols = range(bc * ic, min(bc * ic + ic, spec.cols))
        name = f"box #{map.order(br, bc)}: {spans('row', spec.rows, ir, br)}, {spans('column', spec.cols, ic, bc)}"
        panels += [_boxes(map), _words([name]), _elements(map, rows, cols)]
    return _stack(panels, map.title)


def _stack(panels: list[Panel], title: str) -> str:
    width = max(p.width for p in panels) + 2 * _MARGIN
    parts, y = [], _MARGIN
    for panel in panels:
        parts.append(f'<g transform="translate({_MARGIN:g} {y:g})">{"".join(panel.body)}</g>')
        y += panel.height + _MARGIN / 2
    height = y + _MARGIN / 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" '
        f'font-size="11" text-anchor="middle" fill="{_INK}"><title>{escape(title)}</title>'
        f'<style>{_DARK}</style><rect class="paper" width="100%" height="100%" fill="#ffffff"/>{"".join(parts)}</svg>'
    )


def _words(lines: list[str]) -> Panel:
    body = [
        _text(0, (i + 0.7) * _LINE, line, anchor="start", weight="bold" if i == 0 else "")
        for i, line in enumerate(lines)
    ]
    return Panel(['<g class="words">', *body, "</g>"], max(map(len, lines)) * _CHAR, len(lines) * _LINE)


def _elements(map: AddressMap, rows: Shown, cols: Shown) -> Panel:
    """Every element of the rows and columns with its offset."""
    spec = map.spec
    cells = []
    for r in (r for r in rows if r is not None):
        for c in (c for c in cols if c is not None):
            place = map.at(r, c)
            dim = r >= spec.valid_row >= 0 or c >= spec.valid_col >= 0
            text = str(place.offset)
            fill = _colour(place.order if map.boxed else r if spec.row_major else c)
            cells.append(Cell(r, c, place.offset, [text], fill, dim, (r, c) == map.mark))
    digits = max(len(cell.texts[0]) for cell in cells)
    wide = max(26.0, digits * _CHAR + 8)

    def seam(before: int, after: int, axis: int) -> bool:
        return map.boxed and before // map.box[axis] != after // map.box[axis]

    along_rows = spec.slayout.name == "RowMajor" if map.boxed else spec.row_major or spec.boxed
    return _grid(cells, rows, cols, (wide, 20.0), str, str, along_rows, seam)


def _boxes(map: AddressMap) -> Panel:
    """The boxes: number in memory, first and last offset."""
    spec, (ir, ic), mark = map.spec, map.box, map.mark
    near = (None, None) if mark is None else (mark[0] // ir, mark[1] // ic)
    rows, cols = (elide(n, BOXES, keep) for n, keep in zip(map.blocks, near))
    cells = []
    for r in (r for r in rows if r is not None):
        for c in (c for c in cols if c is not None):
            first, last = map.span(r, c)
            order = map.order(r, c)
            dim = r * ir >= spec.valid_row >= 0 or c * ic >= spec.valid_col >= 0
            cells.append(Cell(r, c, order, [f"#{order}", f"{first}–{last}"], _colour(order), dim, (r, c) == near))
    wide = max(96.0, max(len(cell.texts[1]) for cell in cells) * _CHAR + 10)
    wide = max(wide, len(spans("column", spec.cols, ic, map.blocks[1] - 1)) * _CHAR + 8)

    def row_name(row: int) -> str:
        return spans("row", spec.rows, ir, row)

    def col_name(col: int) -> str:
        return spans("column", spec.cols, ic, col)

    return _grid(cells, rows, cols, (wide, 46.0), row_name, col_name, spec.row_major)


def _grid(
    cells: list[Cell],
    rows: Shown,
    cols: Shown,
    size: tuple[float, float],
    row_name: Callable[[int], str],
    col_name: Callable[[int], str],
    along_rows: bool,
    seam: Callable[[int, int, int], bool] = lambda before, after, axis: False,
) -> Panel:
    """Cells with names of rows and columns, gaps where some are left out, and the path of memory over them.

    ``size``: width and height of a cell. The path keeps to the edge that leaves the texts free: below them where it
    runs ``along_rows``, else to their left.
    """
    wide, high = size
    left = max(len(row_name(r)) for r in rows if r is not None) * _CHAR + 10
    top = _LINE
    xs, right = _axis(cols, left, wide, lambda a, b: seam(a, b, 1))
    ys, bottom = _axis(rows, top, high, lambda a, b: seam(a, b, 0))
    body = [_text(xs[c] + wide / 2, top - 6, col_name(c), colour=_FAINT) for c in xs]
    body += [_text(left - 6, ys[r] + high / 2 + 4, row_name(r), colour=_FAINT, anchor="end") for r in ys]
    body.append('<g stroke="#ffffff">')
    for c in cells:
        dim = ' opacity="0.35"' if c.dim else ""
        body.append(
            f'<rect x="{xs[c.col]:g}" y="{ys[c.row]:g}" width="{wide:g}" height="{high:g}" fill="{c.fill}"{dim}/>'
        )
    body.append("</g>")
    dx, dy = (wide / 2, high - 2.5) if along_rows else (3.5, high / 2)
    body += _path(cells, lambda c: (xs[c.col] + dx, ys[c.row] + dy))
    for c in cells:
        middle = ys[c.row] + high / 2 + 4 - (len(c.texts) - 1) * 8
        colour = _FAINT if c.dim else _INK
        for i, text in enumerate(c.texts):
            weight = "bold" if i == 0 and len(c.texts) > 1 else ""
            body.append(_text(xs[c.col] + wide / 2, middle + 16 * i, text, colour=colour, weight=weight))
    body += [
        f'<rect x="{xs[c.col]:g}" y="{ys[c.row]:g}" width="{wide:g}" height="{high:g}" fill="none" '
        f'stroke="{_MARKED}" stroke-width="2.5"/>'
        for c in cells
        if c.mark
    ]
    body += _gaps(cols, xs, wide, lambda x: (x, (top + bottom) / 2), "⋯")
    body += _gaps(rows, ys, high, lambda y: ((left + right) / 2, y + 4), "⋮")
    return Panel(body, right, bottom)


def _axis(
    numbers: Shown, start: float, size: float, seam: Callable[[int, int], bool]
) -> tuple[dict[int, float], float]:
    """Where each row or column begins, and where the last one ends; boxes and gaps stand apart."""
    at: dict[int, float] = {}
    before: int | None = None
    for number in numbers:
        if number is None:
            start += _LINE
            continue
        if before is not None and seam(before, number):
            start += 5
        at[number] = start
        start, before = start + size, number
    return at, start


def _gaps(
    numbers: Shown, at: dict[int, float], size: float, place: Callable[[float], tuple[float, float]], sign: str
) -> Iterable[str]:
    for before, number in pairwise(numbers):
        if number is None and before is not None:
            x, y = place(at[before] + size + _LINE / 2)
            yield _text(x, y, sign, colour=_FAINT)


def _path(cells: list[Cell], point: Callable[[Cell], tuple[float, float]]) -> Iterable[str]:
    """A line through the cells in the order of memory, faint where it jumps, broken where cells are not drawn."""
    ordered = sorted(cells, key=lambda c: c.order)
    runs: list[str] = []
    jumps: list[str] = []
    first = ordered[0]  # of the straight run
    for a, b in pairwise(ordered):
        follows = b.order == a.order + 1
        if follows and abs(a.row - b.row) + abs(a.col - b.col) == 1:
            continue
        runs.append(_line(point(first), point(a)))
        first = b
        if follows:
            jumps.append(_line(point(a), point(b)))
    runs.append(_line(point(first), point(ordered[-1])))
    for steps, look in ((jumps, 'stroke-opacity="0.13"'), (runs, 'stroke-opacity="0.5"')):
        yield f'<path d="{"".join(steps)}" fill="none" stroke="{_PATH}" {look} stroke-width="1.2"/>'
    x, y = point(ordered[0])
    yield f'<circle cx="{x:g}" cy="{y:g}" r="3" fill="{_PATH}" fill-opacity="0.8"/>'


def _line(a: tuple[float, float], b: tuple[float, float]) -> str:
    return f"M{a[0]:g} {a[1]:g}L{b[0]:g} {b[1]:g}"


def _text(x: float, y: float, text: str, *, colour: str = _INK, anchor: str = "middle", weight: str = "") -> str:
    look = "" if colour == _INK else f' fill="{colour}"'
    look += "" if anchor == "middle" else f' text-anchor="{anchor}"'
    look += f' font-weight="{weight}"' if weight else ""
    return f'<text x="{x:g}" y="{y:g}"{look}>{escape(text)}</text>'


def _colour(number: int) -> str:
    """A light colour that differs from those of the neighbours in memory (steps of the golden angle)."""
    red, green, blue = colorsys.hls_to_rgb((0.56 + number * 0.381966) % 1.0, 0.86, 0.62)
    return f"#{round(red * 255):02x}{round(green * 255):02x}{round(blue * 255):02x}"


# The address map of a tile as text and as a picture.


class LayoutMap(AddressMap):
    """The layout of a tile type: `show` prints it, `svg` draws it, `at` tells the place of one element."""

    def text(self, width: int = 80) -> str:
        """The map as plain text of at most `width` columns, where the words allow it."""
        return plain(self, width)

    def show(self, file: TextIO | None = None, *, color: bool | None = None, width: int | None = None) -> None:
        """Print the map, in colour on a terminal unless ``NO_COLOR`` is set."""
        write(self, sys.stdout if file is None else file, color, width)

    def svg(self) -> str:
        """The map as an SVG picture, with the path that memory takes through the tile."""
        return picture(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return f'<div style="overflow-x:auto">{self.svg()}</div>'

    def __repr__(self) -> str:
        return f"<layout of {self.title}>"

    def __str__(self) -> str:
        return self.text()


def layout(tile: Any, address: int | None = None) -> LayoutMap:
    """The address map of a tile, or of a `TileSpec`: ``pto.layout(t).show()``.

    ``address``: byte address to count from; default the tile's own. Raises `TypeError` for anything without a tile
    type.
    """
    spec = tile if isinstance(tile, TileSpec) else getattr(tile, "spec", None)
    if not isinstance(spec, TileSpec):
        raise TypeError(f"a layout belongs to a tile, not to {type(tile).__name__}")
    return LayoutMap(spec, getattr(tile, "address", None) if address is None else address)


# A target as a picture: the buffers of a cube core and of its vector cores, and the pipes that lead between them.


KIB = 1024
WIDTH, HEIGHT = 700, 520
_STYLE = """
svg { color-scheme: light dark; --paper: #ffffff; --ink: #1f2430; --faint: #5d6472; --core: #f4f6fa; --line: #c3cad6;
  --buffer: #e4ecfb; --buffer-line: #6d8fd6; --unit: #fff4dc; --unit-line: #c99a2e; }
@media (prefers-color-scheme: dark) { svg { --paper: #14171d; --ink: #e4e7ee; --faint: #a3abb9; --core: #1c2129;
  --line: #414a5a; --buffer: #22304d; --buffer-line: #6d8fd6; --unit: #3a3018; --unit-line: #d3a849; } }
.paper { fill: var(--paper); } text { fill: var(--ink); } .faint { fill: var(--faint); } .strong { font-weight: 600; }
.core { fill: var(--core); stroke: var(--line); } .buffer { fill: var(--buffer); stroke: var(--buffer-line); }
.unit { fill: var(--unit); stroke: var(--unit-line); }
"""
_PIPES = {"MTE2": "#2f7ed8", "MTE3": "#1a9c5b", "MTE1": "#8d55c9", "M": "#d1761f", "V": "#d1761f", "FIX": "#d13438"}
"""The colour of each pipe, light enough for dark paper and dark enough for light."""


class Rect(NamedTuple):
    """A box of the picture."""

    x: float
    y: float
    w: float
    h: float

    @property
    def right(self) -> float:
        return self.x + self.w

    @property
    def bottom(self) -> float:
        return self.y + self.h

    @property
    def middle(self) -> tuple[float, float]:
        return self.x + self.w / 2, self.y + self.h / 2


_GM = Rect(10, 10, 680, 44)
_CUBE = Rect(10, 110, 430, 330)
_VECTOR = Rect(474, 122, 216, 318)
_L1 = Rect(26, 170, 104, 150)
_L0A, _L0B = Rect(200, 142, 94, 68), Rect(200, 218, 94, 68)
_BT, _FB = Rect(200, 294, 94, 40), Rect(200, 344, 94, 40)
_L0C = Rect(336, 170, 92, 96)
_UB = Rect(486, 170, 92, 150)
_ALU = Rect(608, 206, 66, 78)


def machine(target: Target) -> str:
    """The picture of `target` as SVG text. Boxes are buffers with their sizes, arrows the pipes that move data."""
    has = {space for space, size in target.capacity.items() if size}
    body = [*_frame(target), *_cube(target, has), *_vector(target), *_between(target), *_legend()]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="system-ui, sans-serif" font-size="13" text-anchor="middle">'
        f"<title>{escape(target.title)}: buffers and pipes</title><style>{_STYLE}</style><defs>{_heads()}</defs>"
        f'<rect class="paper" width="100%" height="100%"/>{"".join(body)}</svg>\n'
    )


def size_of(count: int) -> str:
    """``192 KB``: bytes as a page writes them."""
    return f"{count // KIB} KB" if count % KIB == 0 else f"{count} bytes"


def _frame(target: Target) -> Iterator[str]:
    yield _box(_GM, "core")
    x, y = _GM.middle
    yield _label(x, y - 2, "GM: global memory", "strong")
    yield _label(x, y + 14, f"shared by all cores of the device · {target.title}", "faint")
    yield _box(_CUBE, "core")
    yield _label(84, _CUBE.y + 22, "cube core", "strong", "start")
    second = Rect(_VECTOR.x + 10, _VECTOR.y - 12, _VECTOR.w - 10, _VECTOR.h)
    yield _box(second, "core")
    front = _VECTOR._replace(w=_VECTOR.w - 10)
    yield _box(front, "core")
    yield _label(536, 350, "vector cores 0, 1", "strong", "start")
    yield _label(WIDTH / 2, 462, "A block is one cube core with two vector cores, or a single core.", "faint")


def _cube(target: Target, has: set[TileType]) -> Iterator[str]:
    size = target.capacity
    yield from _buffer(_L1, "L1", size[TileType.Mat], "Mat tiles")
    for rect, name, kind, scale, words in (
        (_L0A, "L0A", TileType.Left, TileType.ScaleLeft, "Left tiles"),
        (_L0B, "L0B", TileType.Right, TileType.ScaleRight, "Right tiles"),
    ):
        more = f"+ {size_of(size[scale])} scales" if scale in has else ""
        yield from _buffer(rect, name, size[kind], words, more)
    yield from _buffer(_BT, "bias table", size[TileType.Bias], "")
    yield from _buffer(_FB, "fix-pipe buffer", size[TileType.Scaling], "")
    yield from _buffer(_L0C, "L0C", size[TileType.Acc], "Acc tiles")
    yield _arrow("MTE2", (70, _GM.bottom), (70, _L1.y))
    yield _label(76, 96, "MTE2", "strong", "start", "MTE2")
    for rect in (_L0A, _L0B, _BT):
        yield _arrow("MTE1", (_L1.right, 246), (176, 246), (176, rect.middle[1]), (rect.x, rect.middle[1]))
    yield _label(156, 240, "MTE1", "strong", "middle", "MTE1")
    yield _arrow("FIX", (_L1.right - 20, _L1.bottom), (_L1.right - 20, 364), (_FB.x, 364))
    yield _arrow("M", (_L0A.right, 176), (312, 176), (312, 218), (_L0C.x, 218))
    yield _arrow("M", (_L0B.right, 252), (312, 252), (312, 218), (_L0C.x, 218))
    yield _label(312, 168, "M", "strong", "middle", "M")
    yield _arrow("FIX", (400, _L0C.y), (400, _GM.bottom))
    yield _label(394, 96, "FIX", "strong", "end", "FIX")
    yield _arrow("FIX", (382, _L0C.bottom), (382, 402), (60, 402), (60, _L1.bottom))
    yield _label(230, 398, "FIX", "strong", "middle", "FIX")


def _vector(target: Target) -> Iterator[str]:
    yield from _buffer(_UB, "UB", target.capacity[TileType.Vec], "Vec tiles")
    if target.user_ub is not None:
        yield _label(_UB.middle[0], _UB.bottom - 24, f"{size_of(target.user_ub)} for", "faint")
        yield _label(_UB.middle[0], _UB.bottom - 10, "user code", "faint")
    yield _box(_ALU, "unit")
    lines = ("vector", "registers") if target.vector_registers else ("vector", "unit")
    for i, line in enumerate(lines):
        yield _label(_ALU.middle[0], _ALU.middle[1] - 3 + 16 * i, line)
    yield _arrow("V", (_UB.right, 232), (_ALU.x, 232))
    yield _arrow("V", (_ALU.x, 258), (_UB.right, 258))
    yield _label((_UB.right + _ALU.x) / 2, 224, "V", "strong", "middle", "V")
    yield _arrow("MTE2", (508, _GM.bottom), (508, _UB.y))
    yield _label(502, 96, "MTE2", "strong", "end", "MTE2")
    yield _arrow("MTE3", (556, _UB.y), (556, _GM.bottom))
    yield _label(562, 96, "MTE3", "strong", "start", "MTE3")


def _between(target: Target) -> Iterator[str]:
    """How cores of a block exchange tiles."""
    if not target.pipes_are_local:
        yield _label(WIDTH / 2, 482, "Cores exchange tiles through global memory.", "faint")
        return
    yield _arrow("FIX", (_L0C.right, 200), (_UB.x, 200))
    yield _label(452, 194, "FIX", "strong", "middle", "FIX")
    yield _arrow("MTE3", (530, _UB.bottom), (530, 424), (46, 424), (46, _L1.bottom))
    yield _label(452, 418, "MTE3", "strong", "middle", "MTE3")
    yield _label(WIDTH / 2, 482, "Cores of a block exchange tiles from buffer to buffer.", "faint")


def _legend() -> Iterator[str]:
    words = "The scalar unit of each core goes through the program and hands instructions to pipes, which run at once."
    yield _label(WIDTH / 2, 504, words, "faint", font=12)


def _buffer(rect: Rect, name: str, size: int, tiles: str, more: str = "") -> Iterator[str]:
    yield _box(rect, "buffer")
    lines = [(name, "strong"), (size_of(size), ""), (more, ""), (tiles, "faint")]
    lines = [line for line in lines if line[0]]
    step = 14 if len(lines) > 3 else 16
    x, y = rect.middle
    for i, (line, look) in enumerate(lines):
        font = 11 if len(line) > 14 else 12 if step == 14 else 13
        yield _label(x, y + 5 + step * (i - (len(lines) - 1) / 2), line, look, font=font)


def _box(rect: Rect, look: str) -> str:
    return f'<rect class="{look}" x="{rect.x:g}" y="{rect.y:g}" width="{rect.w:g}" height="{rect.h:g}" rx="6"/>'


def _arrow(pipe: str, *points: tuple[float, float]) -> str:
    path = "".join(f"{'L' if i else 'M'}{x:g} {y:g}" for i, (x, y) in enumerate(_shortened(points)))
    return f'<path d="{path}" fill="none" stroke="{_PIPES[pipe]}" stroke-width="2" marker-end="url(#{pipe})"/>'


def _shortened(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same line, ending before its last point by the length of the head."""
    (x0, y0), (x1, y1) = next(reversed(list(pairwise(points))))
    along = 7 / max(abs(x1 - x0) + abs(y1 - y0), 1)
    return [*points[:-1], (x1 - (x1 - x0) * along, y1 - (y1 - y0) * along)]


def _heads() -> str:
    return "".join(
        f'<marker id="{pipe}" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="4" markerHeight="4" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
        for pipe, colour in _PIPES.items()
    )


def _label(
    x: float, y: float, text: str, look: str = "", anchor: str = "middle", pipe: str | None = None, font: int = 13
) -> str:
    style = f' style="fill:{_PIPES[pipe]}"' if pipe is not None else ""
    where = "" if anchor == "middle" else f' text-anchor="{anchor}"'
    size = "" if font == 13 else f' font-size="{font}"'
    kind = f' class="{look}"' if look else ""
    return f'<text x="{x:g}" y="{y:g}"{kind}{where}{size}{style}>{escape(text)}</text>'
