"""Published times of kernels and instructions, and which of them the model of `ptokit time` may have been fitted to.

The split is by source table and was written down before anything was fitted: rows of a table that is held back were
never used to choose a number. Since then two tables have changed sides: `host_us` of pto-dsl is from its
middle rows, and the errors of the vector addition led to the share of global memory that is reached, and to writes that
use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import ceil
from pathlib import Path
from typing import NamedTuple

from ptokit.records import dataclass
from ptokit.targets import A2A3, A5, TARGETS


class Row(NamedTuple):
    """A measurement: ``label`` in its table, what makes the kernel, the time, and busy shares in %."""

    label: str
    sizes: tuple[int, ...]
    us: float
    shares: dict[str, float] = {}


@dataclass(frozen=True)
class Table:
    """A published table. ``fitted``: its rows may have been used to choose numbers of the model."""

    name: str
    part: str
    fitted: bool
    source: str
    rows: tuple[Row, ...]
    host_us: float = 0.0  # what a measurement from the host adds


@dataclass(frozen=True)
class Compared:
    """A number of ours beside the published one. ``kind``: µs, cycles, or a pipe whose busy share in % it is."""

    table: str
    label: str
    kind: str
    fitted: bool
    ours: float
    published: float

    @property
    def error(self) -> float:
        """Relative to the published number."""
        return self.ours / self.published - 1


def _shares(m: float, mte1: float, mte2: float, fix: float) -> dict[str, float]:
    return {"M": m, "MTE1": mte1, "MTE2": mte2, "FIX": fix}


GEMM = Table(
    "GEMM, fp16, 24 cores",
    "910B1",
    True,
    "pto-isa kernels/manual/a2a3/gemm_performance, device",
    (
        Row("1536", (1536, 1536, 1536), 38.8, _shares(54.5, 42.2, 72.2, 7.7)),
        Row("3072", (3072, 3072, 3072), 206.7, _shares(79.0, 62.0, 90.9, 5.8)),
        Row("6144", (6144, 6144, 6144), 1506.0, _shares(86.7, 68.1, 95.2, 3.1)),
        Row("7680", (7680, 7680, 7680), 3168.0, _shares(80.6, 63.0, 98.4, 2.4)),
    ),
)
CONVOLUTION = Table(
    "convolution, 24 cores",
    "910B1",
    True,
    "pto-isa kernels/manual/a2a3/conv2d_forward, device; N, C1, H, W, C_out/16, C1*9",
    (
        Row("8 channels, 8x48", (4, 8, 8, 48, 72, 96), 32.2, _shares(52.9, 59.4, 43.9, 5.6)),
        Row("16 channels, 12x64", (4, 16, 12, 64, 144, 192), 147.3, _shares(86.1, 57.3, 75.1, 4.0)),
        Row("24 channels, 12x96", (4, 24, 12, 96, 216, 288), 470.9, _shares(89.3, 61.6, 78.8, 2.8)),
        Row("32 channels, 16x96", (4, 32, 16, 96, 288, 384), 1097.9, _shares(90.8, 61.1, 80.4, 2.1)),
        Row("40 channels, 15x128", (4, 40, 15, 128, 360, 480), 2131.2, _shares(91.3, 62.4, 80.7, 1.7)),
    ),
)
MX_FP8 = Table(
    "MX GEMM, fp8, 32 cores",
    "950DT_958x",
    False,
    "pto-isa kernels/manual/a5/matmul_mxfp8_performance, device",
    (
        Row("2048", (2048, 2048, 2048), 38.3, _shares(58.2, 35.1, 84.6, 7.3)),
        Row("4096", (4096, 4096, 4096), 187.9, _shares(87.7, 54.2, 96.3, 5.3)),
        Row("6144", (6144, 6144, 6144), 602.0, _shares(91.6, 57.3, 98.2, 3.5)),
        Row("8192", (8192, 8192, 8192), 1474.9, _shares(90.1, 56.2, 99.6, 2.6)),
    ),
)
MX_FP4 = Table(
    "MX GEMM, fp4, 32 cores",
    "950DT_958x",
    False,
    "pto-isa kernels/manual/a5/matmul_mxfp4_performance, device; m, k, n",
    (
        Row("2048, 2048, 2048", (2048, 2048, 2048), 42.5, _shares(44.7, 46.6, 22.1, 25.6)),
        Row("2048, 4096, 4096", (2048, 4096, 4096), 100.3, _shares(77.4, 76.7, 38.5, 7.7)),
        Row("4096, 1024, 8192", (4096, 1024, 8192), 122.6, _shares(64.9, 58.4, 29.3, 25.7)),
        Row("1024, 12288, 4096", (1024, 12288, 4096), 137.7, _shares(84.9, 87.4, 43.4, 2.8)),
        Row("2048, 8192, 8192", (2048, 8192, 8192), 348.9, _shares(90.7, 88.1, 45.8, 4.6)),
    ),
)
DSL_GEMM = Table(
    "GEMM of pto-dsl, m x 4096 x 4096, 24 cores",
    "910B2",
    True,  # host_us is from its middle rows
    "huawei-csl/pto-dsl#73, timed by the host; m",
    tuple(
        Row(str(m), (m, 4096, 4096), 2 * m * 4096 * 4096 / tflops / 1e6)
        for m, tflops in (
            *((128, 49.53), (640, 171.34), (1152, 237.44), (1664, 249.81)),
            *((2176, 253.45), (2688, 269.41), (3200, 265.21), (3712, 270.35)),
        )
    ),
    host_us=24.0,
)
FLASH_ATTENTION = Table(
    "flash attention, head 128, fp16",
    "910B2",
    False,
    "pto-isa kernels/manual/common/flash_atten, device; cores, S0, S1",
    (
        *(
            Row(f"24 cores, S0 = S1 = {s}", (24, s, s), us)
            for s, us in (
                *((1024, 20.96), (2048, 32.461), (4096, 88.902)),
                *((8192, 292.626), (16384, 909.058), (32768, 3262.645)),
            )
        ),
        *(
            Row(f"{n} core{'s' if n > 1 else ''}, S1 = {s1}", (n, 128 * n, s1), us)
            for n, times in ((1, (43.80, 74.54)), (2, (43.521, 75.162)), (4, (46.621, 86.322)), (8, (64.461, 107.342)))
            for s1, us in zip((4096, 8192), times)
        ),
    ),
)
VECTOR_ADD = Table(
    "vector add, 471.86 MB, 48 vector cores",
    "910B2",
    True,  # seen before `gm_share` and the cost of what is written were settled
    "huawei-csl/pto-dsl#50, device; buffers",
    (Row("one buffer", (1,), 489.0), Row("two buffers", (2,), 447.0)),
)
TOP_K = Table(
    "top-k of rows of 1024, 48 vector cores",
    "910B1",
    True,  # the cost of TSORT32 is from its first row
    "pto-isa kernels/manual/a2a3/topk, device; rows, k, bytes of an element",
    (
        Row("f32, 4800 rows", (4800, 1000, 4), 324.106, {"V": 94.0, "MTE2": 11.7, "MTE3": 10.4}),
        Row("f32, 3456 rows", (3456, 1000, 4), 238.819, {"V": 91.5, "MTE2": 12.3, "MTE3": 10.5}),
        Row("f32, 2304 rows", (2304, 1000, 4), 161.375, {"V": 88.7, "MTE2": 12.4, "MTE3": 10.1}),
        Row("f16, 4800 rows", (4800, 1008, 2), 326.886, {"V": 93.7, "MTE2": 11.5, "MTE3": 9.6}),
    ),
)
COPY = Table(
    "copy on 64 vector cores of a5",
    "950DT_958x",
    False,
    "huawei-csl/pto-kernels fast_hadamard_a5, device: 3025 GB/s; MiB read and written",
    (Row("256 MiB", (256,), 256 * 2**20 / 3025e3),),
)
KERNELS = (GEMM, CONVOLUTION, MX_FP8, MX_FP4, DSL_GEMM, FLASH_ATTENTION, VECTOR_ADD)
"""Tables of 42 rows; 40 of these are to be within 15 %."""
FURTHER = (TOP_K, COPY)
"""Tables that came later: they are counted apart."""
KERNELS_LEFT_OUT = {
    "MX GEMM, fp4, 2040, 8192, 8100": "no multiples of its tiles; see below for the library's own kernel",
    "flash attention, 1 to 8 cores, S1 below 4096": "more time for fewer keys: another kernel than that of longer rows",
    "gemm_ar, allgather_gemm, tget_bandwidth": "transfers between devices",
    "engram_simt": "launches of threads, whose instructions have no published cost",
    "pto-dsl, synchronised by the assembler": "they measure the assembler",
    "copies of 128 to 512 MiB at 2547 to 2595 GB/s": "against 3025 GB/s at 256 MiB, by the same people",
    "fast_hadamard_a5, mxfp4_quant_a5, causal_conv1d": "their kernels are not described; changes of two are compared",
    "torch_npu, CATLASS and AscendC, PTOAS#643, #1279, #1496": "tilings and buffers are not described, or scalar work",
    "sparse MLA, GDN, scans, paged attention": "their kernels are not described",
}
"""Published times of kernels that have none here, and why."""


# Rows that others of their table leave no room for.

AGREE = 0.02
"""How far rows may lie off a line on which they are said to lie."""
APART = 0.15
"""A row is judged only if it is at most so much above what the others of its table leave for it."""


def contradictions(table: Table = FLASH_ATTENTION) -> dict[str, str]:
    """Labels of rows that contradict others of their table, and what shows it; no number of the model is used.

    A block of queries takes a time that grows by the same for each key, one launch waits for its longest core, and a
    core is not faster while fewer others work. What of a launch is no such block is at most what the row of one core
    has beside its keys.
    """
    rows = {row.sizes: row.us for row in table.rows}
    short, long = rows[1, 128, 4096], rows[1, 128, 8192]
    fixed = 2 * short - long
    all_cores = {s0: us for (cores, s0, s1), us in rows.items() if s0 == s1 >= 4096}
    waves = {s: ceil(s / 128 / 24) for s in all_cores}
    each = {s: (us - fixed) / waves[s] for s, us in all_cores.items()}
    found: dict[str, str] = {}
    for odd in all_cores:
        a, b, c = (s for s in all_cores if s != odd)
        slope = (each[c] - each[a]) / (c - a)
        if abs((each[a] + slope * (b - a)) / each[b] - 1) > AGREE:
            continue
        agree = f"the rows of {a}, {b} and {c} on all cores agree with each other within {AGREE:.0%}"
        for row in table.rows:
            cores, s0, s1 = row.sizes
            if s1 < 4096 or (cores == 24 and s0 != odd):
                continue
            most = fixed + ceil(s0 / 128 / cores) * (each[a] + slope * (s1 - a))
            if row.us > (1 + APART) * most:
                found[row.label] = (
                    f"{agree}: {fixed:.1f} µs, and {each[a] + slope * (s1 - a):.1f} for each block with {s1} keys; "
                    f"that is {most:.1f} µs, published are {row.us:.1f} ({row.us / most - 1:+.0%})"
                )
    return found


# Changes of kernels, with what they brought.


class Pair(NamedTuple):
    """A published change. ``unit``: what `before` and `after` are."""

    label: str
    unit: str
    before: float
    after: float
    source: str


_GUIDE = "AscendC 9.0.0 guide 3.10.4."
PAIRS = (
    Pair("two buffers, vector add of 471.86 MB", "µs", 489, 447, "huawei-csl/pto-dsl#50"),
    Pair("two buffers of L1 and L0, product of 4096", "% of the time", 100, 50, "pto-dsl matmul_optim_guide"),
    Pair("groups of columns, product of 16384: found in L2", "%", 30.9, 93.72, "pto-dsl matmul_optim_guide"),
    Pair("4 blocks of k in one load, 128x30720x1024", "µs", 83.68, 53.40, _GUIDE + "4"),
    Pair("20 cores for 4, 4096x5120x4096", "µs", 12045, 2532, _GUIDE + "2"),
    Pair("128x256x64 for 64x64x256 in L0, the same: MTE2", "µs", 2452, 808, _GUIDE + "2"),
    Pair("4 blocks of k in one load, the same: MTE2", "µs", 808, 591, _GUIDE + "2"),
    Pair("results leave while products go on, 128x30720x64", "µs", 37.39, 34.66, _GUIDE + "5"),
    Pair("k on two cores, 16x16x1024", "µs", 19.60, 13.70, _GUIDE + "8"),
    Pair("the next columns loaded ahead, 128x24576x512", "µs", 30.88, 28.50, _GUIDE + "14"),
    Pair("tiles in L1 that one wave suffices for, 1024x576x6144", "µs", 72.5, 48.6, "catlass 11_matmul_optimization"),
    Pair("TMULADDDST for TMUL, barrier and TADD, causal convolution", "µs", 22.0, 17.2, "sgl-kernel-npu#601"),
    Pair("16 KB for 8 KB in a load, Hadamard: of a copy's time", "%", 127.4, 109.2, "pto-kernels fast_hadamard_a5"),
)
PAIRS_LEFT_OUT = {
    "AscendC guide 3.10.4.7, 867 -> 805.6 µs": "cores that meet at one address are part of it, which the model lacks",
    "AscendC guide 3.10.4.9, 98.72 -> 85.68 µs": "cores that meet at one address",
    "AscendC guide 3.10.4.13, 149.04 -> 90.95 µs": "rows that are not aligned to 256 bytes",
    "AscendC guide 3.10.4.3 and 3.10.4.6, 17.85 -> 11.21 and 10.62 -> 7.87 µs": "work of the scalar unit",
    "AscendC guide 3.10.4.10 and 3.10.4.11, 34.01 -> 32.66 and 10.29 -> 9.93 µs": "less than launches differ by",
    "AscendC guide 3.8.6.3, 13.00 -> 8.44 and 13.94 µs": "instructions below tiles",
    "catlass 46, 19.09 -> 11.97 µs": "rows of global memory that are not aligned",
    "tilelang-ascend bench_sfa, 602 -> 109 µs": "its kernels are not described",
}
"""Changes that were looked at and have no kernel, and why."""


class Cycles(NamedTuple):
    """Published cycles of one instruction; what the numbers of `sizes` mean is the target's."""

    target: str
    name: str
    types: tuple[str, ...]
    variant: str
    sizes: tuple[int, ...]
    cycles: int

    @property
    def fitted(self) -> bool:
        """True if rows of this instruction may have been used to find the form of a cost."""
        return TARGETS[self.target].is_a(A2A3) or self.name in ("TADD", "TEXP", "TMINS")


@cache
def instruction_rows() -> tuple[Cycles, ...]:
    """All rows of `published_cycles.txt`."""
    return tuple(_rows())


def _rows() -> Iterator[Cycles]:
    for line in Path(__file__).with_name("published_cycles.txt").read_text(encoding="ascii").splitlines():
        if line.startswith("#"):
            continue
        target, name, types, variant, sizes, cycles = line.split()
        numbers = tuple(int(n) for n in sizes.split("x")) if sizes != "-" else ()
        yield Cycles(target, name, tuple(types.split("-")), variant, numbers, int(cycles))


LEFT_OUT = {
    "TROWMIN": "5 and 14 cycles for 64 rows: no cost by row or repeat gives that",
    "TSORT32": "8 and 32 cycles, as many as there are rows: the sort itself was not measured",
    "TSEL": "19 to 791 cycles without a form in rows, columns and type",
    "TCVT": "a5: no form across element types; published as curves for each pair",
    "TCOLMAX": "not modelled: a tree of maxima that differs by type",
    "TCOLSUM": "not modelled: a tree of sums, or none",
    "TMOV": "between tiles of odd layouts, element by element",
    "TLOADCONV": "28 to 116 cycles: less than one transfer takes",
    "TTRANS": "not modelled",
}
"""Instructions whose rows are not compared, and why."""
FOLDS = frozenset(("TROWMAX", "TROWSUM"))


def reason(row: Cycles) -> str:
    """Why a row is not compared, "" if it is."""
    if TARGETS[row.target].is_a(A5) and "high_precision" in row.variant:
        return "a5: high precision has no published form"
    if row.name == "TDIVS" and row.types[0].startswith("int"):
        return "4 cycles, which upstream itself calls unmodelled"
    if row.name in FOLDS and row.sizes == (16, 256):
        return "far below any cost of 16 rows"
    if row.name == "TCVT" and TARGETS[row.target].is_a(A2A3):
        return ""
    if row.name == "TLOAD" and row.sizes[3:5] == (255, 60):
        return "rows in a layout that the test does not tell"
    return LEFT_OUT.get(row.name, "")
