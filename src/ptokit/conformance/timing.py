"""How far the model is off: kernels and single instructions of published times, ours beside theirs."""

# mypy: disable-error-code="untyped-decorator"
from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from statistics import median
from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.targets import A2A3, TARGETS
from ptokit.timing.report import Timing

from .published import (
    CONVOLUTION,
    COPY,
    DSL_GEMM,
    FLASH_ATTENTION,
    FOLDS,
    FURTHER,
    GEMM,
    KERNELS,
    KERNELS_LEFT_OUT,
    MX_FP4,
    MX_FP8,
    PAIRS,
    PAIRS_LEFT_OUT,
    TOP_K,
    VECTOR_ADD,
    Compared,
    Cycles,
    Pair,
    Row,
    Table,
    contradictions,
    instruction_rows,
    reason,
)
from .timed_attention import flash_attention
from .timed_kernels import (
    MTE2,
    MTE3,
    V,
    convolution,
    convolution_of_rows,
    dsl_gemm,
    gemm,
    mx_fp4,
    mx_fp8,
    product_of,
    pto,
    vector_add,
)

# Single instructions.


_TYPES = {
    "float": pto.f32,
    "half": pto.f16,
    "int32_t": pto.i32,
    "int16_t": pto.i16,
    "int8_t": pto.i8,
    "uint8_t": pto.u8,
    "f32": pto.f32,
    "f16": pto.f16,
}
_BINARY = frozenset(("TADD", "TSUB", "TMUL", "TDIV"))
_SCALAR = frozenset(("TADDS", "TMULS", "TMINS", "TDIVS"))


def instruction(row: Cycles) -> Any:
    """A kernel that executes the instruction of a row once."""
    dtype, name = _TYPES[row.types[0]], row.name
    part = pto.TileType.Vec
    if name == "TMATMUL":
        of, (m, k, n) = _TYPES[row.types[1]], row.sizes[:3]
        up = 32 // of.size
        rows, inner, cols = ceil(m / 16) * 16, ceil(k / up) * up, ceil(n / max(up, 16)) * max(up, 16)

        @pto.kernel(target=row.target, name="one")
        def multiply() -> None:
            left = pto.TileLeft(of, rows, inner, valid_row=m, valid_col=k)
            right = pto.TileRight(of, inner, cols, valid_row=k, valid_col=n)
            pto.TMATMUL(pto.TileAcc(dtype, rows, cols, valid_row=m, valid_col=n), left, right)

        return multiply
    if name == "TLOAD":
        outer, (total, width) = row.sizes[:3], row.sizes[3:5]
        each = total // (outer[0] * outer[1] * outer[2])
        padded = ceil(width * dtype.size / 32) * 32 // dtype.size

        @pto.kernel(target=row.target, name="one")
        def load(x: Any) -> None:
            tile = pto.Tile(part, dtype, total, padded, valid_row=total, valid_col=width)
            pto.TLOAD(tile, pto.GlobalTensor(x, (*outer, each, width)))

        return load
    rows = row.sizes[0]
    cols = row.sizes[2] if len(row.sizes) == 4 else row.sizes[1]
    up = 32 // min(dtype.size, 2)
    wide = ceil(cols / up) * up

    @pto.kernel(target=row.target, name="one")
    def compute() -> None:
        tile = pto.Tile(part, dtype, rows, wide, valid_row=rows, valid_col=cols)
        if name in _BINARY:
            getattr(pto, name)(tile, tile, tile)
        elif name in _SCALAR:
            getattr(pto, name)(tile, tile, 2)
        elif name in FOLDS:
            column = pto.Tile(part, dtype, rows, up, valid_row=rows, valid_col=1)
            getattr(pto, name)(column, tile, pto.Tile(part, dtype, rows, wide))
        elif name == "TROWEXPAND":
            pto.TROWEXPAND(tile, pto.Tile(part, dtype, rows, up, valid_row=rows, valid_col=1))
        elif name == "TCVT":
            other = pto.Tile(part, _TYPES[row.types[1]], rows, wide, valid_row=rows, valid_col=cols)
            pto.TCVT(other, tile, pto.RoundMode.CAST_RINT)
        else:
            getattr(pto, name)(tile, tile)

    return compute


def cycles(row: Cycles) -> float:
    """What the model says of a row, for a core that has the memory for itself."""
    part = GEMM.part if TARGETS[row.target].is_a(A2A3) else MX_FP8.part
    arguments: list[Any] = []
    if row.name == "TLOAD":
        dtype = _TYPES[row.types[0]]
        arguments = [np.zeros(row.sizes[3] * row.sizes[4] * 8, dtype.storage)]
    timing = instruction(row).time(*arguments, part=part)
    costs = (timing.found.items[number].cost for number in timing.run.works.item)
    return sum(cost.alone for cost in costs if cost is not None)


# Changes.


def transformed(size: int) -> Callable[[], Timing]:
    """Times a Hadamard transform of rows of 256 f16 on a5, `size` bytes at a time: eight sums and differences."""
    rows, stages, n = size // 512, 8, 1 << 24

    @pto.kernel(target="a5", name="transformed")
    def kernel(x: Any, y: Any) -> None:
        gx, gy = pto.GlobalTensor(x, (n // 256, 256)), pto.GlobalTensor(y, (n // 256, 256))
        tiles = []
        for i in pto.static_range(2):
            one = pto.Tile(pto.TileType.Vec, pto.f16, rows, 256, addr=2 * i * size)
            tiles.append((one, pto.Tile(pto.TileType.Vec, pto.f16, rows, 256, addr=(2 * i + 1) * size)))
            pto.set_flag(MTE3, MTE2, i)
        for first in range(pto.get_block_idx() * 2 * rows, n // 256, pto.get_block_num() * 2 * rows):
            for i in pto.static_range(2):
                at = first + i * rows
                pto.wait_flag(MTE3, MTE2, i)
                pto.TLOAD(tiles[i][0], gx[at : at + rows])
                pto.set_flag(MTE2, V, i)
                pto.wait_flag(MTE2, V, i)
                for stage in pto.static_range(stages):
                    a, b = tiles[i][stage % 2], tiles[i][1 - stage % 2]
                    low, high = a.subview(0, 0, rows, 128), a.subview(0, 128, rows, 128)
                    pto.TADD(b.subview(0, 0, rows, 128), low, high)
                    pto.TSUB(b.subview(0, 128, rows, 128), low, high)
                pto.set_flag(V, MTE3, i)
                pto.wait_flag(V, MTE3, i)
                pto.TSTORE(gy[at : at + rows], tiles[i][0])
                pto.set_flag(MTE3, MTE2, i)
        for i in pto.static_range(2):
            pto.wait_flag(MTE3, MTE2, i)

    kernel.__annotations__ |= {"x": pto.Ptr[pto.f16], "y": pto.Ptr[pto.f16]}
    return lambda: kernel.time[64](np.zeros(n, np.float16), np.zeros(n, np.float16), part="950DT_958x")


def largest(k: int, dtype: Any) -> Any:
    """The k largest of 1024 in each row, and where they were: sorted by 32, merged by four, and by two."""
    columns, pitch, rows, wide = 1024, 1280, 2, 8192 // dtype.size  # records have eight bytes
    vec = pto.TileType.Vec
    first_of = pto.MaskPattern.P0101 if dtype.size == 4 else pto.MaskPattern.P0001  # of a record, its value

    @pto.kernel(target="a2a3", name="largest")
    def kernel(x: Any, order: Any, y: Any, places: Any, n: Any) -> None:
        gx = pto.GlobalTensor(x, (n, pitch))
        gy, gp = pto.GlobalTensor(y, (n, k)), pto.GlobalTensor(places, (n, k))
        at, buffers = 3 * 8192, []
        numbers = pto.Tile(vec, pto.u32, 1, columns, addr=0)
        scratch = pto.Tile(vec, dtype, 1, wide, addr=8192)
        for i in pto.static_range(2):
            values = pto.Tile(vec, dtype, rows, columns, addr=at)
            records = pto.Tile(vec, dtype, rows, wide, addr=at + 8192)
            best = pto.Tile(vec, dtype, rows, columns, addr=at + 3 * 8192)
            where = pto.Tile(vec, pto.u32, rows, columns, addr=at + 4 * 8192)
            buffers.append((values, records, best, where))
            at += 5 * 8192
            pto.set_flag(V, MTE2, i)
            pto.set_flag(MTE3, V, i)
        pto.TLOAD(numbers, pto.GlobalTensor(order, (1, columns)))
        first = pto.get_block_idx() * (n // pto.get_block_num())
        for top in range(first, first + n // pto.get_block_num(), 2 * rows):
            for i in pto.static_range(2):
                values, records, best, where = buffers[i]
                here = top + i * rows
                pto.wait_flag(V, MTE2, i)
                pto.TLOAD(values, gx[here : here + rows, :columns])
                pto.set_flag(MTE2, V, i)
                pto.wait_flag(MTE2, V, i)
                pto.TSORT32(records, values, numbers)
                pto.set_flag(V, MTE2, i)
                pto.pipe_barrier(V)
                pto.wait_flag(MTE3, V, i)
                for row in pto.static_range(rows):
                    line = records.subview(row, 0, 1, wide)
                    for block in (wide // 32, wide // 8):
                        pto.TMRGSORT(scratch, line, block)
                        pto.pipe_barrier(V)
                        pto.TMOV(line, scratch)
                        pto.pipe_barrier(V)
                    halves = [records.subview(row, half * wide // 2, 1, wide // 2) for half in (0, 1)]
                    pto.TMRGSORT(line, scratch, *halves)
                    pto.pipe_barrier(V)
                    pto.TMOV(scratch, line)
                    pto.pipe_barrier(V)
                    pto.TGATHER(best.subview(row, 0, 1, columns), scratch, mask=first_of)
                    indices = scratch.reshape(1, 2 * columns, dtype=pto.u32)
                    pto.TGATHER(where.subview(row, 0, 1, columns), indices, mask=pto.MaskPattern.P1010)
                pto.set_flag(V, MTE3, i)
                pto.wait_flag(V, MTE3, i)
                pto.TSTORE(gy[here : here + rows], best.subview(0, 0, rows, k))
                pto.TSTORE(gp[here : here + rows], where.subview(0, 0, rows, k))
                pto.set_flag(MTE3, V, i)
        for i in pto.static_range(2):
            pto.wait_flag(V, MTE2, i)
            pto.wait_flag(MTE3, V, i)

    kernel.__annotations__ |= {"x": pto.Ptr[dtype], "y": pto.Ptr[dtype], "order": pto.Ptr[pto.u32]}
    return kernel


def top_k(row: Row) -> Timing:
    rows, k, size = row.sizes
    dtype = np.float32 if size == 4 else np.float16
    x, y = np.zeros((rows, 1280), dtype), np.zeros((rows, k), dtype)
    order, places = np.arange(1024, dtype=np.uint32), np.zeros((rows, k), np.uint32)
    return largest(k, pto.f32 if size == 4 else pto.f16).time[48](x, order, y, places, rows, part=TOP_K.part)


def copied(row: Row) -> Timing:
    n, size = row.sizes[0] * 2**20 // 4, 32768

    @pto.kernel(target="a5", name="copied")
    def kernel(x: Any, y: Any) -> None:
        gx, gy = pto.GlobalTensor(x, (1, n)), pto.GlobalTensor(y, (1, n))
        tiles, width = [], size // 2
        for i in pto.static_range(2):
            tiles.append(pto.Tile(pto.TileType.Vec, pto.f16, 1, width, addr=i * size))
            pto.set_flag(MTE3, MTE2, i)
        for first in range(pto.get_block_idx() * 2 * width, n, pto.get_block_num() * 2 * width):
            for i in pto.static_range(2):
                at = first + i * width
                pto.wait_flag(MTE3, MTE2, i)
                pto.TLOAD(tiles[i], gx[:, at : at + width])
                pto.set_flag(MTE2, MTE3, i)
                pto.wait_flag(MTE2, MTE3, i)
                pto.TSTORE(gy[:, at : at + width], tiles[i])
                pto.set_flag(MTE3, MTE2, i)
        for i in pto.static_range(2):
            pto.wait_flag(MTE3, MTE2, i)

    kernel.__annotations__ |= {"x": pto.Ptr[pto.f16], "y": pto.Ptr[pto.f16]}
    return kernel.time[64](np.zeros(n, np.float16), np.zeros(n, np.float16), part=COPY.part)


def _us(timing: Timing) -> float:
    return timing.us


def _loading(timing: Timing) -> float:
    return timing.us * timing.share("MTE2")


def _in_l2(timing: Timing) -> float:
    return 100 * timing.run.hit / (timing.run.hit + timing.run.missed)


_WIDE, _SMALL = (128, 64, 256), (64, 256, 64)  # rows, inner and columns in L0
_STEPS, _BIG, _CUBE = (128, 1024, 30720), (4096, 4096, 5120), (4096, 4096, 4096)
_LARGE, _FLAT, _BROAD = (16384, 16384, 16384), (128, 64, 30720), (128, 512, 24576)
_HALF = (128, 64, 128)
_SOME = {"tiles": 24 * 24, "warm": False}  # of each core so many, on which L2 settles
Timed = Callable[[], Timing]
VERSIONS: tuple[tuple[Timed, Timed, Callable[[Timing], float]], ...] = (
    (lambda: vector_add(VECTOR_ADD.rows[0]), lambda: vector_add(VECTOR_ADD.rows[1]), _us),
    (
        product_of("910B2", 24, _CUBE, _WIDE, 4, buffers=1, halves=1, warm=False),
        product_of("910B2", 24, _CUBE, _WIDE, 4, warm=False),
        _us,
    ),
    (
        product_of("910B2", 24, _LARGE, _WIDE, 4, **_SOME),
        product_of("910B2", 24, _LARGE, _WIDE, 4, group=5, **_SOME),
        _in_l2,
    ),
    (product_of("910B1", 24, _STEPS, _WIDE, 1), product_of("910B1", 24, _STEPS, _WIDE, 4), _us),
    (product_of("910B3", 4, _BIG, _SMALL, 1, halves=1), product_of("910B3", 20, _BIG, _SMALL, 1, halves=1), _us),
    (product_of("910B3", 20, _BIG, _SMALL, 1, halves=1), product_of("910B3", 20, _BIG, _WIDE, 1), _loading),
    (product_of("910B3", 20, _BIG, _WIDE, 1), product_of("910B3", 20, _BIG, _WIDE, 4), _loading),
    (
        product_of("910B3", 20, _FLAT, _WIDE, 1, keep=True, halves=1),
        product_of("910B3", 20, _FLAT, _HALF, 1, keep=True, halves=1, accumulators=2),
        _us,
    ),
    (
        product_of("910B1", 1, (16, 1024, 16), (16, 64, 16), 1),
        product_of("910B1", 2, (16, 1024, 16), (16, 64, 16), 1, split=2),
        _us,
    ),
    (
        product_of("910B1", 24, _BROAD, _HALF, 8, keep=True, buffers=1, accumulators=2),
        product_of("910B1", 24, _BROAD, _HALF, 8, keep=True, accumulators=2),
        _us,
    ),
    (
        product_of("910B3", 20, (1024, 6144, 768), _WIDE, 4),  # columns up to whole tiles
        product_of("910B3", 20, (1024, 6144, 640), (256, 64, 128), 4),
        _us,
    ),
    (convolution_of_rows(False), convolution_of_rows(True), _us),
    (transformed(8192), transformed(16384), _us),
)
"""What times each of `PAIRS`, before and after, and the number that is compared."""


@dataclass(frozen=True)
class Changed:
    """A published change, and what the model says of it."""

    pair: Pair
    before: float
    after: float

    @property
    def right(self) -> bool:
        """True if it goes in the published direction."""
        return (self.after - self.before) * (self.pair.after - self.pair.before) > 0

    @property
    def row(self) -> str:
        """Of a table."""
        pair = self.pair
        changes = [f"{after / before - 1:+.1%}" for before, after in ((self.before, self.after), pair[2:4])]
        return (
            f"| {pair.label} | {self.before:.1f} -> {self.after:.1f} ({changes[0]}) "
            f"| {pair.before:g} -> {pair.after:g} {pair.unit} ({changes[1]}) | {'yes' if self.right else '**no**'} |"
        )


def compared_pairs() -> Iterator[Changed]:
    """All published changes that have kernels."""
    for pair, (before, after, measured) in zip(PAIRS, VERSIONS, strict=True):
        yield Changed(pair, measured(before()), measured(after()))


# The comparison.


CLOSE = 0.15
MOST_KERNELS, MEDIAN_KERNELS, SHARE_INSTRUCTIONS, MEDIAN_SHARES, PAIRS_RIGHT = 40, 0.04, 0.95, 0.10, 10
"""Bounds: kernels within 15 % and their median error; instruction rows within 15 %; median error of busy shares; pairs,
all of them right."""


RUNS: dict[str, Callable[[Row], Timing]] = {
    GEMM.name: gemm,
    CONVOLUTION.name: convolution,
    MX_FP8.name: mx_fp8,
    MX_FP4.name: mx_fp4,
    DSL_GEMM.name: dsl_gemm,
    FLASH_ATTENTION.name: flash_attention,
    VECTOR_ADD.name: vector_add,
    TOP_K.name: top_k,
    COPY.name: copied,
}
"""What times a row of each table."""


def compared_kernels(tables: tuple[Table, ...] = KERNELS + FURTHER) -> Iterator[Compared]:
    """The rows of tables of kernels."""
    for table in tables:
        for row in table.rows if table.name in RUNS else ():
            timing = RUNS[table.name](row)
            yield Compared(table.name, row.label, "µs", table.fitted, timing.us + table.host_us, row.us)
            for pipe, share in row.shares.items():
                yield Compared(table.name, row.label, pipe, table.fitted, 100 * timing.share(pipe), share)


def compared_instructions() -> Iterator[Compared]:
    """The rows of single instructions that have a cost."""
    for row in instruction_rows():
        if not reason(row):
            label = f"{row.name} {'-'.join(row.types)} {'x'.join(map(str, row.sizes))}"
            yield Compared(f"instructions, {row.target}", label, "cycles", row.fitted, cycles(row), row.cycles)


def _summary(name: str, rows: list[Compared]) -> str:
    errors = [abs(row.error) for row in rows]
    close = sum(error <= CLOSE for error in errors)
    return f"| {name} | {len(rows)} | {median(errors):.1%} | {max(errors):.1%} | {close} |"


@dataclass(frozen=True)
class Validation:
    """What came of the comparison; ``missed``: bounds that do not hold, in words. ``against``: rows that contradict
    others of their table, and what shows it."""

    rows: list[Compared]
    pairs: list[Changed]
    against: dict[str, str]

    @property
    def missed(self) -> list[str]:
        """Bounds that do not hold, in words."""
        apart = {table.name for table in FURTHER}
        kernels = [r for r in self.rows if r.table not in apart]
        times = [abs(r.error) for r in kernels if r.kind == "µs"]
        single = [abs(r.error) for r in self.rows if r.kind == "cycles"]
        shares = [abs(r.error) for r in kernels if r.kind not in ("µs", "cycles")]
        total = sum(len(table.rows) for table in KERNELS)
        missed = []
        if (close := sum(error <= CLOSE for error in times)) < MOST_KERNELS:
            missed.append(f"{close} of {total} kernel rows are within 15 %, not {MOST_KERNELS}")
        if (middle := median(times)) > MEDIAN_KERNELS:
            missed.append(f"the median error of kernel times is {middle:.1%}, not {MEDIAN_KERNELS:.0%}")
        if (share := sum(error <= CLOSE for error in single) / len(single)) < SHARE_INSTRUCTIONS:
            words = f"{share:.1%} of {len(single)} instruction rows are within 15 %"
            missed.append(f"{words}, not {SHARE_INSTRUCTIONS:.0%}")
        if (middle := median(shares)) > MEDIAN_SHARES:
            missed.append(f"the median error of busy shares is {middle:.1%}, not {MEDIAN_SHARES:.0%}")
        right = sum(pair.right for pair in self.pairs)
        if right < max(PAIRS_RIGHT, len(self.pairs)):
            missed.append(f"{right} of {len(self.pairs)} changes go in the published direction")
        return missed

    def __str__(self) -> str:
        pipes = {row.kind for row in self.rows} - {"µs", "cycles"}
        kinds = {"time": {"µs"}, "busy shares": pipes, "cycles": {"cycles"}}
        lines = ["| table | rows | median error | largest | within 15 % |", "|---|---|---|---|---|"]
        for table in dict.fromkeys(row.table for row in self.rows):
            for word, kind in kinds.items():
                for fitted in (True, False):
                    found = [r for r in self.rows if r.table == table and r.kind in kind and r.fitted is fitted]
                    if found:
                        lines.append(_summary(f"{table}: {word}, {'fitted' if fitted else 'held back'}", found))
        times = [r for r in self.rows if r.kind == "µs"]
        for word, rows in (
            ("fitted", [r for r in times if r.fitted]),
            ("held back", [r for r in times if not r.fitted]),
        ):
            lines.append(_summary(f"all kernel times, {word}", rows))
        lines += ["", "| kernel | ours | published | error |", "|---|---|---|---|"]
        lines += [
            f"| {r.table}: {r.label} | {r.ours:.1f} µs | {r.published:.1f} µs | {r.error:+.1%}"
            f"{', contradictory' if r.label in self.against else ''} |"
            for r in times
        ]
        lines += ["", "| change | ours | published | direction |", "|---|---|---|---|", *(p.row for p in self.pairs)]
        left = dict.fromkeys(f"{row.target} {row.name}: {why}" for row in instruction_rows() if (why := reason(row)))
        lines += ["", *(f"- contradictory: {label}: {why}" for label, why in self.against.items())]
        lines += [*(f"- left out: {text}" for text in left)]
        lines += [*(f"- left out: {text}: {why}" for text, why in KERNELS_LEFT_OUT.items())]
        lines += [*(f"- left out: {text}: {why}" for text, why in PAIRS_LEFT_OUT.items())]
        lines += [f"- missed: {text}" for text in self.missed]
        return "\n".join(lines)


def validate() -> Validation:
    """Compare every row that has a kernel or a cost with what the model says."""
    return Validation([*compared_kernels(), *compared_instructions()], list(compared_pairs()), contradictions())
