"""What an instruction costs on a part: the pipe it holds, for how long, and what it moves through global memory.

`Memory` says how long that takes, where all cores share L2 and what is below it.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Hashable, Mapping, Sequence
from heapq import heappop, heappush
from math import ceil, prod
from typing import Any, NamedTuple

from ptokit.isa.checks.tiles import pipe_on
from ptokit.isa.meaning.words import Contract, Fold, Gather, Lane, Move
from ptokit.machine.global_memory import View
from ptokit.machine.tiles import Tile
from ptokit.plan.steps import Step
from ptokit.targets.base import ASSUMED, DERIVED, FITTED, SIMULATED, Figure, Part
from ptokit.types.enums import Layout, Pipe, TileType
from ptokit.types.tensor import ConvSpec

REPEAT = 256
"""Bytes of a vector register: what one repeat of the vector unit works on."""
BLOCK = 32
"""Bytes of a row of a fractal."""
BOX = 16
"""Rows and columns of what one pass of the cube unit multiplies; along k there are 32 bytes of it."""


class Cost(NamedTuple):
    """``cycles`` on a pipe, then ``nbytes`` through global memory at ``rate`` bytes per cycle, if nobody else uses it.

    ``view``: the operand in global memory, "" if there is none; ``packed``: its bytes follow each other there;
    ``latency``: of the cycles those in which the pipe takes the next instruction already, if nothing orders the two;
    ``evidence``: a word of `targets.base.EVIDENCE`; ``flops``: operations of a product.
    """

    pipe: Pipe
    cycles: float
    evidence: str
    nbytes: int = 0
    rate: float = 0.0
    view: str = ""
    write: bool = False
    flops: int = 0
    latency: float = 0.0
    packed: bool = False

    @property
    def alone(self) -> float:
        """Cycles if nobody else uses global memory."""
        return self.cycles + (self.nbytes / self.rate if self.nbytes else 0.0)


class Stream(NamedTuple):
    """A vector instruction of a2a3: cycles until the first repeat, for each repeat, and after the last.

    Head and tail are latency: repeats of the next instruction follow at once, where no barrier is between them.
    """

    head: float
    slope: float
    tail: float

    def of(self, repeats: float) -> float:
        """Cycles of so many repeats."""
        return self.head + self.slope * repeats + self.tail


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
    "TCVT": Stream(14, 1, 18),
    **dict.fromkeys(("TMOV", "TEXPANDS"), Stream(11, 1, 13)),
    "TMRGSORT": Stream(20, 19.5, 0),  # 78 for four lists of 32 records
    "TGATHER": Stream(14, 14, 20),  # by a mask
    "TSORT32": Stream(20, 85, 0),  # for each group of 32
}
"""Source: pto-isa include/pto/costmodel/a2a3, calibrated on 910B3 for most of them. TCVT: one cycle for each repeat
follows from 33 cycles for four repeats (tests/costmodel/st). TSORT32: fitted to the top-k of pto-isa."""


class RowFold(NamedTuple):
    """The instructions that fold rows on a2a3: two repeats into one, a repeat to one number, a block of it to one."""

    pair: Stream
    whole: Stream
    block: Stream


_MAXIMUM = RowFold(_BINARY, Stream(0, 7, 32), Stream(14, 1, 17))
FOLDS: Mapping[str, RowFold] = {
    **dict.fromkeys(("TROWMAX", "TROWMIN"), _MAXIMUM),
    "TROWSUM": RowFold(_BINARY, Stream(0, 7, 44), Stream(14, 1, 24)),
}
"""Source: pto-isa costmodel/a2a3 (vmax, vcgmax, vadd, vcgadd), a2a3/formula_costmodel (rows of 32 to 64 f32)."""
BY_BLOCKS: Mapping[tuple[int, int], str] = {
    (64, 128): "bpb",
    (32, 256): "bppb",
    (16, 512): "bbb",
    (8, 1024): "bbpb",
}
"""Rows and columns of f32 that are folded by blocks of eight, and pairs of such blocks in between. Source: pto-isa
a2a3/TRowReduceOps."""
EXPANDED: Mapping[str, str] = {f"TROWEXPAND{word}": f"T{word}" for word in "ADD SUB MUL DIV MAX MIN".split()}
"""With one number for each row: it is spread over a block, which takes a stream of its own, then as without."""
SPREAD = Stream(0, 0, 18)
"""Source: pto-isa costmodel/a2a3, vbrcb."""
EXPAND = Stream(0, 14, 37)
"""TROWEXPAND, for each row and repeat. Source: pto-isa a2a3/formula_costmodel."""


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


def fold_cycles(name: str, rows: int, cols: int, size: int) -> float:
    """Cycles of a2a3 for rows of `cols` elements folded to one each. Each step waits for the one before."""
    fold, steps = FOLDS[name], BY_BLOCKS.get((rows, cols), "") if size == 4 else ""
    each = REPEAT // size
    if not steps:
        pairs = max(0, ceil(cols / each) - 1)  # repeats of a row are folded into its first
        return pairs * fold.pair.of(rows) + fold.whole.of(rows)
    cycles, left = 0.0, rows * cols
    for step in steps:
        if step == "b":
            cycles += fold.block.of(ceil(left / each))
            left //= 8
        else:
            left //= 2
            cycles += fold.pair.of(ceil(left / each))
    return cycles


def stream_cycles(name: str, rows: int, cols: int, size: int, *, whole: bool) -> tuple[float, float] | None:
    """Cycles of a vector instruction of a2a3 on rows x cols elements of `size` bytes, and how many of them are latency.

    ``whole``: its rows follow each other without gaps, so that repeats may reach across them. None where nothing
    is known.
    """
    if name in FOLDS:
        fold = FOLDS[name]
        last = fold.block if size == 4 and (rows, cols) in BY_BLOCKS else fold.whole
        return fold_cycles(name, rows, cols, size), last.tail
    if name == "TROWEXPAND":
        return EXPAND.of(rows * max(1.0, cols * size / REPEAT)), EXPAND.tail
    first = SPREAD.tail if name in EXPANDED else 0.0
    stream = STREAMS.get(EXPANDED.get(name, name))
    if stream is None:
        return None
    repeats = ceil(rows * cols * size / REPEAT) if whole else rows * ceil(cols * size / REPEAT)
    return first + stream.of(repeats), stream.head + stream.tail


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
            known = rate is not None and not isinstance(source.spec, ConvSpec)  # patches: as pto-isa's own model has it
            cycles = part.mte1_start + _bytes(into) / (part.l1_b if rate is None else rate)
            return Cost(pipe, cycles, part.mte1_start.evidence if known else ASSUMED)
        if pipe is Pipe.V:
            return self._vector(pipe, instr.name, meaning, source, into, high=_is_precise(step))
        return Cost(pipe, part.load_start + _bytes(source) / part.ub_write, ASSUMED)

    def _transfer(self, pipe: Pipe, name: str, view: View, tiles: Mapping[str, Tile], *, write: bool) -> Cost:
        part = self.part
        nbytes = ceil(prod(view.dims) * _element(view))
        packed = sum((n - 1) * by for n, by in zip(view.dims, view.strides)) + 1 == prod(view.dims)
        tile = next(iter(tiles.values()), None)
        if tile is not None and tile.spec.loc is TileType.Acc:
            start, rest = drain_cycles(part, tile.vr, tile.vc, _element(view), to_memory=True)
            rate = nbytes / rest if rest else float(part.l2_write)
            return Cost(pipe, start, part.fix_row.evidence, nbytes, rate, name, write, packed=packed)
        in_l1 = tile is not None and tile.spec.loc is not TileType.Vec
        transfers = 1 if in_l1 else max(1, prod(view.shape[:3]))
        rate = float(part.l2_write if write else part.l1_read if in_l1 else part.ub_read)
        evidence = part.load_start.evidence if tile is not None else ASSUMED
        ordered = in_l1 and (view.layout is not Layout.ND or view.dims[-1] * _element(view) <= BLOCK)
        start = float(part.order_start if ordered else part.load_start)
        return Cost(pipe, start * transfers, evidence, nbytes, rate, name, write, packed=packed)

    def between(self, view: View, *, write: bool) -> Cost:
        """The cost of what passes through a tile on its way to or from a device, as if it stayed on this one."""
        return self._transfer(Pipe.MTE3 if write else Pipe.MTE2, "", view, {}, write=write)

    def _vector(self, pipe: Pipe, name: str, meaning: object, source: Tile, into: Tile, *, high: bool) -> Cost:
        big = max((source, into), key=lambda tile: (tile.vr * tile.vc, tile is into))
        rows, cols, size = big.vr, big.vc, ceil(max(_size(source), _size(into)))
        if not self.part.vector_loops:
            whole = cols == big.spec.cols and name not in _BY_ROWS
            known = stream_cycles(name, rows, cols, size, whole=whole)
            if known is not None and not isinstance(meaning, Gather):  # by index, which nobody has published
                return Cost(pipe, known[0], FITTED if name == "TSORT32" else DERIVED, latency=known[1])
        elif not high and (found := loop_cycles(name, rows, cols, size)) is not None:
            return Cost(pipe, float(found), found.evidence)
        repeats = rows * ceil(cols * size / REPEAT)
        each = 7 if isinstance(meaning, Fold) else 1 if isinstance(meaning, Move) else 2
        start = LOOP_START + (7 if isinstance(meaning, Lane) else 20) if self.part.vector_loops else 20
        return Cost(pipe, start + each * repeats, ASSUMED)


_BY_ROWS = frozenset((*STREAMS, *EXPANDED)) - {
    "TEXP",
    "TSQRT",
}  # of a2a3: issued row by row


def _is_precise(step: Step) -> bool:
    return any(HIGH_PRECISION in str(value).lower() for value in step.attrs.values())


def _size(tile: Tile) -> float:
    dtype = tile.spec.dtype
    return 0.5 if dtype.packed else float(dtype.size)


def _element(view: View) -> float:
    """Bytes of an element."""
    return 0.5 if view.dtype.packed else float(view.dtype.size)


def _bytes(tile: Tile) -> float:
    return tile.vr * tile.vc * _size(tile)


# Memory that all cores share.


GRANULE = 4096
"""Bytes of global memory that L2 holds or does not hold as a whole, where transfers have no gaps between rows: at
least so many."""


class Memory:
    """L2 before global memory. What is loaded and stored is known by its place: all of it where it has no gaps, the
    place where it begins otherwise.

    ``granule``: bytes that are held as a whole; transfers without gaps begin at and move multiples of it.
    """

    def __init__(self, part: Part, warm: bool = False, granule: int = GRANULE) -> None:
        self.warm = warm  # it holds what a launch before has touched
        self.granule = max(granule, GRANULE)
        self.l2_rates = part.l2_read * part.cores, part.l2_write * part.cores
        self.l2_both = part.l2_both * part.cores
        self.gm_rate = part.gm * part.cores * part.gm_share
        self.gm_rows = part.gm * part.cores * part.gm_rows
        self.alone = part.gm * part.gm_alone
        self.room = part.l2_bytes * part.l2_usable
        self.hit = self.missed = 0  # bytes
        self._there: dict[Hashable, float] = {}  # what it holds, and when what is being fetched has come
        self._order: list[Hashable] = []  # the same, by number
        self._sizes: list[int] = []
        self.used = 0  # bytes that it holds
        self.full = False  # something has had to go
        self._l2: tuple[list[float], list[float]] = ([], [])  # ends of transfers under way: loads, stores
        self._gm: list[float] = []
        self._random = random.Random(0).random

    def _keep(self, key: Hashable, nbytes: int, end: float) -> None:
        """Random replacement: going through more than there is room for loses a share, not everything."""
        order, sizes = self._order, self._sizes
        self._there[key] = end
        over = self.used + nbytes - self.room
        while over > 0 and order:
            self.full = True
            k = int(self._random() * len(order))
            size = sizes[k]
            del self._there[order[k]]
            over -= size
            self.used -= size
            if over <= 0:
                order[k], sizes[k] = key, nbytes
                self.used += nbytes
                return
            order[k], sizes[k] = order[-1], sizes[-1]
            del order[-1], sizes[-1]
        order.append(key)
        sizes.append(nbytes)
        self.used += nbytes

    def transfer(self, now: float, cost: Cost, memory: Hashable, place: int) -> float:
        """The end of a transfer that begins now. Its rate is fixed then, by how many share L2 and global memory."""
        nbytes, write = cost.nbytes, cost.write
        loads, stores = self._l2
        while loads and loads[0] <= now:
            heappop(loads)
        while stores and stores[0] <= now:
            heappop(stores)
        ends = stores if write else loads
        rate = min(cost.rate, self.l2_rates[write] / (len(ends) + 1), self.l2_both / (len(loads) + len(stores) + 1))
        keys, there = self._places(cost, memory, place), self._there
        share = nbytes // len(keys)
        fetched = [key for key in keys if key not in there]
        if self.warm and fetched:
            self.warm = self.used + nbytes <= self.room
            for key in fetched if self.warm else ():
                self._keep(key, share, 0.0)
            fetched = [] if self.warm else fetched
        missing = nbytes * len(fetched) // len(keys)
        self.hit += nbytes - missing
        end = now + (nbytes - missing) / rate
        came = 0.0 if write or len(fetched) == len(keys) else max(there.get(key, 0.0) for key in keys)
        if fetched:
            self.missed += missing
            beyond = self._gm
            while beyond and beyond[0] <= now:
                heappop(beyond)
            gm = self.gm_rate if cost.packed else self.gm_rows
            below = missing / min(rate, self.alone, gm / (len(beyond) + 1))
            heappush(beyond, end + below)
            end += missing / rate if write else below  # what is written goes on to global memory by itself
            for key in fetched:
                self._keep(key, share, 0.0 if write else end)
        end = max(end, came)
        heappush(ends, end)
        return end

    def touch(self, cost: Cost, memory: Hashable, place: int) -> None:
        """What a transfer moves that takes no time."""
        keys = self._places(cost, memory, place)
        for key in keys:
            if key not in self._there:
                self._keep(key, cost.nbytes // len(keys), 0.0)

    def shift(self, by: float) -> None:
        """Let everything under way end later."""
        for ends in (*self._l2, self._gm):
            ends[:] = [end + by for end in ends]
        self._there = {key: end + by if end else end for key, end in self._there.items()}

    def _places(self, cost: Cost, memory: Hashable, place: int) -> Sequence[Hashable]:
        """What is moved, as L2 knows it."""
        size = self.granule
        if cost.packed and cost.nbytes >= GRANULE:
            first, last = place // size, -(-(place + cost.nbytes) // size)
            return [(memory, "", k) for k in range(first, last)]
        return ((memory, place),)


__all__ = ["Cost", "Costs", "Memory", "cube_cycles", "drain_cycles", "loop_cycles", "stream_cycles"]
