"""Address maps as pictures: boxes in colour, element offsets, and the path that memory takes through them."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Iterable
from html import escape
from itertools import pairwise
from typing import NamedTuple

from .addresses import AddressMap, Shown, elide, spans

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
