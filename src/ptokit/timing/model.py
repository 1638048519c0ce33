"""What an instruction costs on a part: the pipe it holds, for how long, and what it moves through global memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import ceil, prod
from typing import Any, NamedTuple

from ptokit.isa.checks.tiles import pipe_on
from ptokit.isa.meaning.words import Contract, Fold, Lane, Move
from ptokit.machine.global_memory import View
from ptokit.machine.tiles import Tile
from ptokit.plan.steps import Step
from ptokit.targets.parts import ASSUMED, DERIVED, SIMULATED, Figure, Part
from ptokit.types.enums import Pipe, TileType

REPEAT = 256
"""Bytes of a vector register: what one repeat of the vector unit works on."""
BOX = 16
"""Rows and columns of what one pass of the cube unit multiplies; along k there are 32 bytes of it."""


class Cost(NamedTuple):
    """``cycles`` on a pipe, then ``nbytes`` through global memory at ``rate`` bytes per cycle, if nobody else uses it.

    ``view``: the operand in global memory, "" if there is none; ``evidence``: a word of `targets.parts.EVIDENCE`;
    ``flops``: operations of a product.
    """

    pipe: Pipe
    cycles: float
    evidence: str
    nbytes: int = 0
    rate: float = 0.0
    view: str = ""
    write: bool = False
    flops: int = 0

    @property
    def alone(self) -> float:
        """Cycles if nobody else uses global memory."""
        return self.cycles + (self.nbytes / self.rate if self.nbytes else 0.0)


class Stream(NamedTuple):
    """A vector instruction of a2a3: cycles until the first repeat, for each repeat, and after the last."""

    head: float
    slope: float
    tail: float


_BINARY, _SCALAR = Stream(10, 2, 14), Stream(11, 1, 15)
STREAMS: Mapping[str, Stream] = {
    **dict.fromkeys(("TADD", "TSUB", "TMAX", "TMIN"), _BINARY),
    "TMUL": Stream(10, 2, 15),
    **dict.fromkeys(("TDIV", "TDIVS", "TRECIP"), Stream(11, 4, 19)),
    "TEXP": Stream(13, 2, 18),
    "TLOG": Stream(13, 2, 20),
    "TSQRT": Stream(14, 2, 25),
    "TRSQRT": Stream(10, 1, 14),
    **dict.fromkeys(("TRELU", "TMAXS"), Stream(10, 1, 13)),
    **dict.fromkeys(("TLRELU", "TMULS", "TNEG"), _SCALAR),
    **dict.fromkeys(("TADDS", "TSUBS"), Stream(13, 1, 18)),
    **dict.fromkeys(("TMINS", "TABS"), Stream(14, 1, 16)),
    **dict.fromkeys(("TAND", "TOR", "TNOT"), Stream(8, 2, 12)),
    "TSEL": Stream(13, 2, 14),
    "TCMP": Stream(14, 2, 22),
    "TCVT": Stream(14, 2, 18),
    **dict.fromkeys(("TMOV", "TEXPANDS"), Stream(11, 1, 13)),
}
"""Source: pto-isa include/pto/costmodel/a2a3, calibrated on 910B3 for most of them."""

ROWS: Mapping[str, Stream] = {
    **dict.fromkeys(("TROWMAX", "TROWMIN"), Stream(0, 7, 32)),
    "TROWSUM": Stream(0, 7, 44),
    "TROWEXPAND": Stream(0, 14, 37),
}
"""Slope for each row and repeat. Source: pto-isa a2a3/formula_costmodel, rows of 32 to 64 f32."""


class Loop(NamedTuple):
    """A vector loop of a5: cycles from operand to result, and between two iterations; of 16-bit elements, too."""

    latency: float
    interval: float
    latency16: float
    interval16: float


def _loop(latency: float, interval: float, latency16: float = 0, slower: float = 1) -> Loop:
    return Loop(latency, interval, latency16 or latency, interval * slower)


LOOPS: Mapping[str, Loop] = {
    **dict.fromkeys(("TADD", "TSUB"), _loop(7, 2)),
    **dict.fromkeys(("TMAX", "TMIN"), _loop(6, 2)),
    "TMUL": _loop(8, 2),
    **dict.fromkeys(("TADDS", "TSUBS"), _loop(7, 1)),
    **dict.fromkeys(("TMULS", "TNEG"), _loop(8, 1)),
    **dict.fromkeys(("TMINS", "TMAXS"), _loop(6, 1)),
    **dict.fromkeys(("TABS", "TRELU"), _loop(5, 1)),
    "TEXP": _loop(16, 2, 21, 2),
    "TLOG": _loop(18, 2, 23, 2),
    **dict.fromkeys(("TDIV", "TDIVS", "TRECIP"), _loop(17, 2, 22, 2)),
    "TSQRT": _loop(17, 2, 22, 2),
    "TRSQRT": _loop(34, 4, 39, 2),
}
"""Source: PTO micro instruction specification, latencies; pto-isa a5/VfSim, intervals. TRSQRT: no source; assumed to be
a square root and a division one after the other."""
_STREAMED = frozenset(("TADD", "TSUB", "TMUL"))  # on one row their loads and stores share an issue slot
LOOP_START = 44.0
"""Cycles of a vector function outside of its loop: start 23, drain 12, first load 9. Source: pto-isa a5/VfSim."""
ROW_START = 5.0
"""Cycles of a row of the outer loop beside one for each repeat. Fitted to TADD, TEXP and TMINS of a5."""

HIGH_PRECISION = "high_precision"


def stream_cycles(name: str, rows: int, cols: int, size: int, *, whole: bool) -> Figure | None:
    """Cycles of a vector instruction of a2a3 on rows x cols elements of `size` bytes; None where none are known.

    ``whole``: its rows follow each other without gaps, so that repeats may reach across them.
    """
    if name in ROWS:
        row = ROWS[name]
        return Figure(row.slope * rows * max(1.0, cols * size / REPEAT) + row.tail, DERIVED, "pto-isa")
    if name not in STREAMS:
        return None
    stream = STREAMS[name]
    repeats = ceil(rows * cols * size / REPEAT) if whole else rows * ceil(cols * size / REPEAT)
    return Figure(stream.head + stream.slope * repeats + stream.tail, DERIVED, "pto-isa")


def loop_cycles(name: str, rows: int, cols: int, size: int) -> Figure | None:
    """Cycles of a vector instruction of a5 on rows x cols elements of `size` bytes; None where none are known."""
    if name not in LOOPS:
        return None
    loop = LOOPS[name]
    each = ceil(cols * size / REPEAT)
    latency, interval = (loop.latency, loop.interval) if size > 2 else (loop.latency16, loop.interval16)
    if size <= 2 and rows > 1 and each == 1:
        interval = loop.interval
    if rows == 1:
        pace = 1.25 if name in _STREAMED else interval
        inner = max(each + 4, pace * each + 3)
    else:
        inner = rows * max(each + ROW_START, interval * each)
    return Figure(LOOP_START + latency + inner, SIMULATED, "pto-isa a5/VfSim")


def cube_cycles(part: Part, m: int, k: int, n: int, size: float) -> float:
    """Cycles of a product of m x k by k x n elements of `size` bytes."""
    step = 32 / size if size >= 1 else 32  # 4-bit operands are not faster than those of 8 bits
    passes = ceil(m / BOX) * ceil(n / BOX) * ceil(k / step)
    return part.cube_head + (part.cube_f32 if size >= 4 else 1.0) * passes


def drain_cycles(part: Part, m: int, n: int, out: float, *, to_memory: bool) -> tuple[float, float]:
    """Cycles until the fix-pipe begins, and for m rows of n accumulators that leave as elements of `out` bytes."""
    start, row = float(part.fix_start), max(part.fix_row, 4 * n / part.fix_rate)
    if to_memory:
        start, row = max(start, part.load_start), max(row, out * n / part.l2_write)
    blocks = ceil(n / 8)
    odd = blocks // (blocks & -blocks) if blocks else 1
    return start, m * (row + part.fix_odd * (odd - 1))


class Costs:
    """What instructions cost on a part."""

    def __init__(self, part: Part) -> None:
        self.part = part

    def of(self, step: Step, given: Mapping[str, Any], written: Collection[str]) -> Cost:
        """The cost of an instruction with these operands; of what nobody has published, an assumption."""
        instr, site, part = step.instr, step.site, self.part
        assert instr is not None
        assert site is not None
        pipe = pipe_on(instr.pipe_of(site), site.core)
        tiles = {name: value for name, value in given.items() if isinstance(value, Tile)}
        for name, value in given.items():
            if isinstance(value, View):
                return self._transfer(pipe, name, value, tiles, write=name in written)
        into = next((tiles[name] for name in written if name in tiles), None)
        if into is None or pipe is Pipe.S:
            return Cost(pipe, 1.0, ASSUMED)
        meaning = instr.meaning_at(site)
        if isinstance(meaning, Contract) or pipe is Pipe.M:
            left = next((t for t in tiles.values() if t.spec.loc is TileType.Left), None)
            right = next((t for t in tiles.values() if t.spec.loc is TileType.Right), None)
            if left is None or right is None:
                return Cost(pipe, float(part.cube_head), ASSUMED)
            cycles = cube_cycles(part, left.vr, left.vc, right.vc, _size(left))
            flops = 2 * left.vr * left.vc * right.vc
            return Cost(pipe, cycles, part.cube_head.evidence, flops=flops)
        source = next((tile for name, tile in tiles.items() if name not in written), into)
        if source.spec.loc is TileType.Acc:
            start, rest = drain_cycles(part, source.vr, source.vc, _size(into), to_memory=False)
            return Cost(pipe, start + rest, part.fix_row.evidence)
        if pipe is Pipe.MTE1:
            rate = {TileType.Left: part.l1_a, TileType.Right: part.l1_b}.get(into.spec.loc)
            known = rate is not None
            cycles = part.mte1_start + _bytes(into) / (part.l1_b if rate is None else rate)
            return Cost(pipe, cycles, part.mte1_start.evidence if known else ASSUMED)
        if pipe is Pipe.V:
            return self._vector(pipe, instr.name, meaning, source, into, high=_is_precise(step))
        return Cost(pipe, part.load_start + _bytes(source) / part.ub_write, ASSUMED)

    def _transfer(self, pipe: Pipe, name: str, view: View, tiles: Mapping[str, Tile], *, write: bool) -> Cost:
        part = self.part
        nbytes = ceil(prod(view.dims) * _element(view))
        tile = next(iter(tiles.values()), None)
        if tile is not None and tile.spec.loc is TileType.Acc:
            start, rest = drain_cycles(part, tile.vr, tile.vc, _element(view), to_memory=True)
            rate = nbytes / rest if rest else float(part.l2_write)
            return Cost(pipe, start, part.fix_row.evidence, nbytes, rate, name, write)
        in_l1 = tile is not None and tile.spec.loc is not TileType.Vec
        transfers = 1 if in_l1 else max(1, prod(view.shape[:3]))
        rate = float(part.l2_write if write else part.l1_read if in_l1 else part.ub_read)
        evidence = part.load_start.evidence if tile is not None else ASSUMED
        return Cost(pipe, part.load_start * transfers, evidence, nbytes, rate, name, write)

    def _vector(self, pipe: Pipe, name: str, meaning: object, source: Tile, into: Tile, *, high: bool) -> Cost:
        big = max((source, into), key=lambda tile: (tile.vr * tile.vc, tile is into))
        rows, cols, size = big.vr, big.vc, ceil(max(_size(source), _size(into)))
        if not self.part.vector_loops:
            whole = cols == big.spec.cols and name not in _BY_ROWS
            found = stream_cycles(name, rows, cols, size, whole=whole)
        else:
            found = None if high else loop_cycles(name, rows, cols, size)
        if found is not None:
            return Cost(pipe, float(found), found.evidence)
        repeats = rows * ceil(cols * size / REPEAT)
        each = 7 if isinstance(meaning, Fold) else 1 if isinstance(meaning, Move) else 2
        start = LOOP_START + (7 if isinstance(meaning, Lane) else 20) if self.part.vector_loops else 20
        return Cost(pipe, start + each * repeats, ASSUMED)


_BY_ROWS = frozenset(STREAMS) - {"TEXP", "TSQRT"}  # of a2a3: issued row by row, whatever lies between the rows


def _is_precise(step: Step) -> bool:
    return any(HIGH_PRECISION in str(value).lower() for value in step.attrs.values())


def _size(tile: Tile) -> float:
    dtype = tile.spec.dtype
    return 0.5 if dtype.packed else float(dtype.size)


def _element(view: View) -> float:
    return 0.5 if view.dtype.packed else float(view.dtype.size)


def _bytes(tile: Tile) -> float:
    return tile.vr * tile.vc * _size(tile)


__all__ = ["Cost", "Costs", "cube_cycles", "drain_cycles", "loop_cycles", "stream_cycles"]
