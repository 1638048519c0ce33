"""Pictures of the page: the queues of a core, and the bytes of two accesses.

Time runs to the right. Every item stands as far left as the order allows: after its predecessor in the queue, after
the set it waits for, after what stops the scalar unit. What nothing orders therefore stands side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

import numpy as np

from ptokit.records import dataclass
from ptokit.targets import target as target_named
from ptokit.types.enums import Pipe
from ptokit.types.tile import offset_map

from ..findings.race import Race
from ..findings.races import shared
from ..findings.source_text import flag_text
from ..memory.gm import Memory
from ..simulation.clocks import Touch, mapped, places_of
from ..simulation.core import (
    AwaitSignal,
    Barrier,
    GetToken,
    Item,
    ReleaseToken,
    SetFlag,
    Signal,
    Timeline,
    WaitFlag,
    WaitWork,
    Work,
)

# The queues of a core as a picture: a lane for each pipe, sets and waits as arrows, the two accesses marked.


_CHAR = 6.7  # width of a character of 11 px
_LABEL, _LANE, _HEIGHT, _CHIP = 92.0, 68.0, 44.0, 22.0
_GAP, _ARROW, _TOP = 10.0, 30.0, 26.0
_ORDER: tuple[Pipe, ...] = (Pipe.S, Pipe.MTE2, Pipe.MTE1, Pipe.M, Pipe.V, Pipe.FIX, Pipe.MTE3)  # as data flows

Marks = Mapping[Item, tuple[str, str]]
"""Number and words of the items that stand out."""


@dataclass(slots=True)
class _Box:
    item: Item
    lane: int
    x: float
    width: float
    lines: list[str]
    look: str
    height: float

    @property
    def end(self) -> float:
        return self.x + self.width


@dataclass(slots=True)
class _Core:
    """The lanes of one core, laid out."""

    timeline: Timeline
    pipes: list[Pipe]
    boxes: list[_Box]
    gaps: list[float]
    width: float


def lanes(timelines: Sequence[Timeline], marks: Marks, target: str) -> str:
    """SVG of the timelines of a race on the target named."""
    cores = [_lay_out(t, marks, target) for t in timelines]
    width = max(core.width for core in cores) + 70
    body: list[str] = []
    top = 0.0
    places: dict[Item, tuple[float, float, _Box]] = {}
    for core in cores:
        body += _core(core, top, width, places, named=len(cores) > 1)
        top += _TOP + len(core.pipes) * _LANE
    body += _missing(places, list(marks))
    return (
        f'<svg class="lanes" viewBox="0 0 {width:g} {top:g}" width="{width:g}" height="{top:g}" role="img" '
        f'aria-label="the queues of the pipes">{"".join(body)}</svg>'
    )


def _lay_out(timeline: Timeline, marks: Marks, target: str) -> _Core:
    items = [item for item in timeline.items if item is not None]
    shown = {item.pipe for item in items if item.pipe is not Pipe.ALL}
    pipes: list[Pipe] = [pipe for pipe in _ORDER if pipe in shown]
    ends: dict[Pipe, float] = dict.fromkeys(pipes, _LABEL)
    boxes: dict[Item, _Box] = {}
    held: list[tuple[int, float]] = []  # (number in program order, from where on later items begin)
    gaps = []
    for item in timeline.items:
        if item is None:
            where = max(ends.values()) + 18
            gaps.append(where)
            ends = dict.fromkeys(pipes, where + 18)
            continue
        lines, look = _words(item, marks)
        wide = max(len(line) for line in lines) * _CHAR + 14
        everywhere = item.pipe is Pipe.ALL
        lane = 0 if everywhere else pipes.index(item.pipe)
        start = max(ends.values()) if everywhere else ends[item.pipe]
        start = max([start, *(x for seq, x in held if item.seq > seq)]) + _GAP
        if isinstance(item, WaitFlag) and item.source in boxes:
            start = max(start, boxes[item.source].end + _ARROW)
        full = isinstance(item, Work)
        box = boxes[item] = _Box(item, lane, start, wide, lines, look, _HEIGHT if full else _CHIP)
        for pipe in pipes if everywhere else [item.pipe]:
            ends[pipe] = box.end
        if _holds_everything(item, target):
            held.append((item.seq, box.end))
    return _Core(timeline, pipes, list(boxes.values()), gaps, max(ends.values(), default=_LABEL))


def _holds_everything(item: Item, target: str) -> bool:
    """True if the scalar unit waits for it."""
    if item.pipe is Pipe.ALL or isinstance(item, WaitWork):
        return True
    if isinstance(item, AwaitSignal) and target_named(target).waits_hold_core:
        return True
    return item.pipe is Pipe.S and not isinstance(item, SetFlag | ReleaseToken)


def _words(item: Item, marks: Marks) -> tuple[list[str], str]:
    where = f"line {item.op.location.line}"
    if item.loops:
        where += " · " + ", ".join(f"{name}={value}" for name, value in item.loops[-2:])
    match item:
        case Work() if item in marks:
            number, words = marks[item]
            return [f"{number} {item.name} {words}", where], "hit"
        case Work():
            return [item.name, where], "work"
        case SetFlag():
            return [f"set {item.key[2]}"], "set"
        case WaitFlag():
            return [f"wait {item.key[2]}"], "wait"
        case Barrier():
            return ["barrier"], "barrier"
        case GetToken():
            return [f"get token {item.token}"], "wait"
        case ReleaseToken():
            return [f"give token {item.token}"], "set"
        case Signal():
            return [f"signal {item.event}"], "set"
        case AwaitSignal():
            return [f"await {item.event}"], "wait"
        case _:
            return [item.name], "barrier"


def _core(
    core: _Core, top: float, width: float, places: dict[Item, tuple[float, float, _Box]], *, named: bool
) -> Iterator[str]:
    rows = [top + _TOP + i * _LANE for i in range(len(core.pipes))]
    if named:
        yield f'<text class="faint" x="{_LABEL + _GAP:g}" y="{top + 17:g}">{escape(core.timeline.core)}</text>'
    for pipe, y in zip(core.pipes, rows):
        yield f'<rect class="lane" x="0" y="{y + 3:g}" width="{width:g}" height="{_LANE - 6:g}" rx="6"/>'
        yield f'<text class="pipe" x="10" y="{y + _LANE / 2 + 4:g}">{escape(pipe.text)}</text>'
    bottom = rows[-1] + _LANE if rows else top
    for x in core.gaps:
        yield f'<line class="gap" x1="{x:g}" y1="{top + _TOP:g}" x2="{x:g}" y2="{bottom:g}"/>'
        yield f'<text class="faint" x="{x:g}" y="{top + 16:g}" text-anchor="middle">⋯</text>'
    drawn: dict[Item, tuple[float, float, _Box]] = {}
    for box in core.boxes:
        y = rows[box.lane] + _LANE / 2
        drawn[box.item] = places[box.item] = (box.x, y, box)
    for box in core.boxes:
        item = box.item
        if isinstance(item, WaitFlag) and item.source in drawn:
            _, y, source = drawn[item.source]
            yield _arrow("sync", (source.end, y), (box.x, drawn[item][1]))
    for box in core.boxes:
        yield from _drawn(box, drawn[box.item][1], (rows[0], bottom) if box.item.pipe is Pipe.ALL else None)


def _drawn(box: _Box, y: float, across: tuple[float, float] | None) -> Iterator[str]:
    item = box.item
    tip = f"{item.name} in line {item.op.location.line}"
    if isinstance(item, SetFlag | WaitFlag):
        tip = f"{item.name}({flag_text(item.key, item.op)}) in line {item.op.location.line}"
    height, top = box.height, y - box.height / 2
    if across is not None:
        top, height = across[0] + 8, across[1] - across[0] - 16
        y = (across[0] + across[1]) / 2
    yield f'<g class="{box.look}"><title>{escape(tip)}</title>'
    yield f'<rect x="{box.x:g}" y="{top:g}" width="{box.width:g}" height="{height:g}" rx="5"/>'
    first = y + 4 - (len(box.lines) - 1) * 8
    for i, line in enumerate(box.lines):
        look = ' class="second"' if i else ""
        x = box.x + box.width / 2
        yield f'<text{look} x="{x:g}" y="{first + 16 * i:g}" text-anchor="middle">{escape(line)}</text>'
    yield "</g>"


def _arrow(look: str, start: tuple[float, float], end: tuple[float, float]) -> str:
    """A curve from one lane to another, with a head."""
    (x1, y1), (x2, y2) = start, end
    bend = max(14.0, abs(x2 - x1) / 2)
    path = f"M{x1:g} {y1:g}C{x1 + bend:g} {y1:g} {x2 - 6 - bend:g} {y2:g} {x2 - 6:g} {y2:g}"
    head = f"M{x2 - 8:g} {y2 - 4:g}L{x2:g} {y2:g}L{x2 - 8:g} {y2 + 4:g}Z"
    return f'<path class="{look}" d="{path}"/><path class="{look} head" d="{head}"/>'


def _missing(places: Mapping[Item, tuple[float, float, _Box]], marked: Sequence[Item]) -> Iterator[str]:
    """The edge that is not there: from the first access to the second."""
    found = [places[item] for item in marked if item in places]
    if len(found) != 2:
        return
    (ax, ay, a), (bx, by, b) = found
    if ay == by:
        y = ay - _HEIGHT / 2 - 3
        left, right = sorted((ax + a.width / 2, bx + b.width / 2))
        curve = f"M{left:g} {y:g}C{left:g} {y - 14:g} {right:g} {y - 14:g} {right:g} {y:g}"
        yield f'<path class="missing" d="{curve}"/>'
        return
    down = 1 if by > ay else -1
    x1, y1 = ax + a.width / 2, ay + down * _HEIGHT / 2
    x2, y2 = bx + b.width / 2, by - down * _HEIGHT / 2
    yield f'<line class="missing" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"/>'
    near = abs(by - ay) <= _LANE
    x, y = (max(a.end, b.end), (y1 + y2) / 2 + 4) if near else (x2 + (x1 - x2) / 4, y2 - down * 24)
    yield f'<text class="missing" x="{x + 6:g}" y="{y:g}">no order</text>'


# The bytes of two accesses: each tile as a grid of elements, and both along the addresses of the buffer.


_CELLS = 64  # cells drawn in each direction at most
_WIDE, _HIGH = 360.0, 150.0  # a grid at most
_BAR, _BINS = 640.0, 640


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
