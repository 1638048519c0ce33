"""The bytes of two accesses: each tile as a grid of elements, and both along the addresses of the buffer."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import numpy as np

from ptokit.types.tile import offset_map

from ..findings.race import Race
from ..findings.races import shared
from ..memory.footprints import Touch, mapped, places_of
from ..memory.gm import Memory

_CELLS = 64  # cells drawn in each direction at most
_WIDE, _HIGH = 360.0, 150.0  # a grid at most
_BAR, _BINS = 640.0, 640
_CHAR = 6.7


def byte_maps(race: Race) -> str:
    """SVG of the tiles and of the addresses; "" if the accesses are not known."""
    first, second = race.first.touch, race.second.touch
    if first is None or second is None:
        return ""
    places, granule = shared(first, second)
    same = first.region == second.region and first.name == second.name
    drawn = [("① and ②", first)] if same else [("①", first), ("②", second)]
    grids = [grid for name, touch in drawn if (grid := _grid(name, touch, places)) is not None]
    return f'<div class="maps">{"".join(grids)}{_bars(race, first, second, places, granule)}</div>'


# --- a tile ----------------------------------------------------------------------------------------------------------


def _grid(number: str, touch: Touch, places: np.ndarray) -> str | None:
    """The elements of a tile: touched, and touched by the other access, too."""
    region = touch.region
    if region is None or not mapped(region.spec) or region.spec.dtype.packed:
        return None
    spec = region.spec
    offsets = offset_map(spec) * spec.dtype.size + region.start
    state = np.zeros((spec.rows, spec.cols), np.uint8)
    state[region.row : region.row + region.rows, region.col : region.col + region.cols] = 1
    common = np.isin(offsets, places)
    state[(state == 1) & common] = 2
    cells = _binned(state)
    rows, cols = cells.shape
    wide = max(3.0, min(_WIDE / cols, _HIGH / rows, 18.0))
    high = max(3.0, min(_HIGH / rows, 18.0, wide * 2))
    top, left = 40.0, 34.0
    window = touch.origin != (0, 0) or (region.rows, region.cols) != (spec.rows, spec.cols)
    title = f"{number} {touch.name}{', part of' if window else ':'} {spec.rows}x{spec.cols} {spec.dtype}"
    width, height = max(left + cols * wide + 10, len(title) * _CHAR + 10), top + rows * high + 6
    body = [f'<text class="pipe" x="2" y="14">{escape(title)}</text>']
    body.append(f'<text class="faint" x="{left:g}" y="{top - 6:g}">0</text>')
    body.append(
        f'<text class="faint" x="{left + cols * wide:g}" y="{top - 6:g}" text-anchor="end">{spec.cols - 1}</text>'
    )
    body.append(f'<text class="faint" x="{left - 5:g}" y="{top + 9:g}" text-anchor="end">0</text>')
    if spec.rows > 1:
        y = top + rows * high - 2
        body.append(f'<text class="faint" x="{left - 5:g}" y="{y:g}" text-anchor="end">{spec.rows - 1}</text>')
    body.append(f'<rect class="untouched" x="{left:g}" y="{top:g}" width="{cols * wide:g}" height="{rows * high:g}"/>')
    for look, value in (("touched", 1), ("shared", 2)):
        for r, c, n, m in _rectangles(cells == value):
            body.append(
                f'<rect class="{look}" x="{left + c * wide:g}" y="{top + r * high:g}" '
                f'width="{m * wide:g}" height="{n * high:g}"/>'
            )
    body.append(f'<rect class="frame" x="{left:g}" y="{top:g}" width="{cols * wide:g}" height="{rows * high:g}"/>')
    return f'<svg width="{width:g}" height="{height:g}" role="img" aria-label="{escape(title)}">{"".join(body)}</svg>'


def _binned(state: np.ndarray) -> np.ndarray:
    """At most `_CELLS` cells in each direction, the most remarkable element of each."""
    for axis in (0, 1):
        size = state.shape[axis]
        if size > _CELLS:
            state = np.maximum.reduceat(state, np.arange(_CELLS) * size // _CELLS, axis=axis)
    return state


def _rectangles(mask: np.ndarray) -> Iterator[tuple[int, int, int, int]]:
    """(row, col, rows, cols) that together cover the mask: runs of columns, equal ones below each other joined."""
    open_: dict[tuple[int, int], tuple[int, int]] = {}
    for r in range(len(mask) + 1):
        runs = set(_runs(mask[r])) if r < len(mask) else set()
        for run in [run for run in open_ if run not in runs]:
            first, count = open_.pop(run)
            yield first, run[0], count, run[1]
        for run in sorted(runs):
            first, count = open_.get(run, (r, 0))
            open_[run] = first, count + 1


def _runs(row: np.ndarray) -> list[tuple[int, int]]:
    """(start, length) of runs of true values."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], row.astype(np.int8), [0]))))
    return [(int(a), int(b - a)) for a, b in zip(edges[::2], edges[1::2])]


# --- addresses -------------------------------------------------------------------------------------------------------


def _bars(race: Race, first: Touch, second: Touch, places: np.ndarray, granule: int) -> str:
    """Both accesses along the addresses, and what they share."""
    rows = [("①", "touched", _granules(first)), ("②", "touched", _granules(second)), ("both", "shared", places)]
    low = min(int(where.min()) for _, _, where in rows)
    high = max(int(where.max()) for _, _, where in rows) + 1
    bins = min(_BINS, high - low)
    unit = _BAR / bins
    left, height = 46.0, 18.0
    title = f"{race.space}, bytes {low * granule:#x} to {high * granule - 1:#x}; {race.size} in common"
    body = [f'<text class="pipe" x="2" y="14">{escape(title)}</text>']
    for i, (name, look, where) in enumerate(rows):
        y = 24 + i * (height + 6)
        body.append(f'<text class="faint" x="{left - 8:g}" y="{y + 13:g}" text-anchor="end">{name}</text>')
        body.append(f'<rect class="untouched" x="{left:g}" y="{y:g}" width="{_BAR:g}" height="{height:g}"/>')
        hit = np.zeros(bins, bool)
        hit[(where.astype(np.int64) - low) * bins // (high - low)] = True
        for start, length in _runs(hit):
            body.append(
                f'<rect class="{look}" x="{left + start * unit:g}" y="{y:g}" '
                f'width="{max(1.0, length * unit):g}" height="{height:g}"/>'
            )
    width, tall = left + _BAR + 6, 24 + 3 * (height + 6)
    return f'<svg width="{width:g}" height="{tall:g}" role="img" aria-label="{escape(title)}">{"".join(body)}</svg>'


def _granules(touch: Touch) -> np.ndarray:
    where: np.ndarray
    if isinstance(touch.space, Memory):
        where = touch.where.granules().reshape(-1)
    else:
        where = places_of(touch.where)
    return where
