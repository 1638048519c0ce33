"""A target as a picture: the buffers of a cube core and of its vector cores, and the pipes that lead between them.

What differs between targets comes from their data: capacities, registers, whether cores exchange tiles from buffer to
buffer. Sizes are bytes; places in the picture are pixels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

from ptokit.targets import Target
from ptokit.types.enums import TileType

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
    yield _text(x, y - 2, "GM: global memory", "strong")
    yield _text(x, y + 14, f"shared by all cores of the device · {target.title}", "faint")
    yield _box(_CUBE, "core")
    yield _text(84, _CUBE.y + 22, "cube core", "strong", "start")
    behind = Rect(_VECTOR.x + 10, _VECTOR.y - 12, _VECTOR.w - 10, _VECTOR.h)
    yield _box(behind, "core")
    front = _VECTOR._replace(w=_VECTOR.w - 10)
    yield _box(front, "core")
    yield _text(536, 350, "vector cores 0, 1", "strong", "start")
    yield _text(WIDTH / 2, 462, "A block is one cube core with two vector cores, or a single core.", "faint")


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
    yield _text(76, 96, "MTE2", "strong", "start", "MTE2")
    for rect in (_L0A, _L0B, _BT):
        yield _arrow("MTE1", (_L1.right, 246), (176, 246), (176, rect.middle[1]), (rect.x, rect.middle[1]))
    yield _text(156, 240, "MTE1", "strong", "middle", "MTE1")
    yield _arrow("FIX", (_L1.right - 20, _L1.bottom), (_L1.right - 20, 364), (_FB.x, 364))
    yield _arrow("M", (_L0A.right, 176), (312, 176), (312, 218), (_L0C.x, 218))
    yield _arrow("M", (_L0B.right, 252), (312, 252), (312, 218), (_L0C.x, 218))
    yield _text(312, 168, "M", "strong", "middle", "M")
    yield _arrow("FIX", (400, _L0C.y), (400, _GM.bottom))
    yield _text(394, 96, "FIX", "strong", "end", "FIX")
    yield _arrow("FIX", (382, _L0C.bottom), (382, 402), (60, 402), (60, _L1.bottom))
    yield _text(230, 398, "FIX", "strong", "middle", "FIX")


def _vector(target: Target) -> Iterator[str]:
    yield from _buffer(_UB, "UB", target.capacity[TileType.Vec], "Vec tiles")
    if target.user_ub is not None:
        yield _text(_UB.middle[0], _UB.bottom - 24, f"{size_of(target.user_ub)} for", "faint")
        yield _text(_UB.middle[0], _UB.bottom - 10, "user code", "faint")
    yield _box(_ALU, "unit")
    lines = ("vector", "registers") if target.vector_registers else ("vector", "unit")
    for i, line in enumerate(lines):
        yield _text(_ALU.middle[0], _ALU.middle[1] - 3 + 16 * i, line)
    yield _arrow("V", (_UB.right, 232), (_ALU.x, 232))
    yield _arrow("V", (_ALU.x, 258), (_UB.right, 258))
    yield _text((_UB.right + _ALU.x) / 2, 224, "V", "strong", "middle", "V")
    yield _arrow("MTE2", (508, _GM.bottom), (508, _UB.y))
    yield _text(502, 96, "MTE2", "strong", "end", "MTE2")
    yield _arrow("MTE3", (556, _UB.y), (556, _GM.bottom))
    yield _text(562, 96, "MTE3", "strong", "start", "MTE3")


def _between(target: Target) -> Iterator[str]:
    """How cores of a block exchange tiles."""
    if not target.pipes_are_local:
        yield _text(WIDTH / 2, 482, "Cores exchange tiles through global memory.", "faint")
        return
    yield _arrow("FIX", (_L0C.right, 200), (_UB.x, 200))
    yield _text(452, 194, "FIX", "strong", "middle", "FIX")
    yield _arrow("MTE3", (530, _UB.bottom), (530, 424), (46, 424), (46, _L1.bottom))
    yield _text(452, 418, "MTE3", "strong", "middle", "MTE3")
    yield _text(WIDTH / 2, 482, "Cores of a block exchange tiles from buffer to buffer.", "faint")


def _legend() -> Iterator[str]:
    words = "The scalar unit of each core goes through the program and hands instructions to pipes, which run at once."
    yield _text(WIDTH / 2, 504, words, "faint", font=12)


def _buffer(rect: Rect, name: str, size: int, tiles: str, more: str = "") -> Iterator[str]:
    yield _box(rect, "buffer")
    lines = [(name, "strong"), (size_of(size), ""), (more, ""), (tiles, "faint")]
    lines = [line for line in lines if line[0]]
    step = 14 if len(lines) > 3 else 16
    x, y = rect.middle
    for i, (line, look) in enumerate(lines):
        font = 11 if len(line) > 14 else 12 if step == 14 else 13
        yield _text(x, y + 5 + step * (i - (len(lines) - 1) / 2), line, look, font=font)


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


def _text(
    x: float, y: float, text: str, look: str = "", anchor: str = "middle", pipe: str | None = None, font: int = 13
) -> str:
    style = f' style="fill:{_PIPES[pipe]}"' if pipe is not None else ""
    where = "" if anchor == "middle" else f' text-anchor="{anchor}"'
    size = "" if font == 13 else f' font-size="{font}"'
    kind = f' class="{look}"' if look else ""
    return f'<text x="{x:g}" y="{y:g}"{kind}{where}{size}{style}>{escape(text)}</text>'
