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
    DSL_GEMM,
    FLASH_ATTENTION,
    FOLDS,
    GEMM,
    KERNELS,
    MX_FP4,
    MX_FP8,
    VECTOR_ADD,
    Compared,
    Cycles,
    Row,
    Table,
    instruction_rows,
    reason,
)
from .timed_attention import flash_attention
from .timed_kernels import convolution, dsl_gemm, gemm, mx_fp4, mx_fp8, pto, vector_add

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


# The comparison.


CLOSE = 0.15
MOST_KERNELS, MEDIAN_KERNELS, SHARE_INSTRUCTIONS, MEDIAN_SHARES = 40, 0.04, 0.95, 0.10
"""Bounds: kernels within 15 % and their median error, instruction rows within 15 %, median error of busy shares."""


RUNS: dict[str, Callable[[Row], Timing]] = {
    GEMM.name: gemm,
    CONVOLUTION.name: convolution,
    MX_FP8.name: mx_fp8,
    MX_FP4.name: mx_fp4,
    DSL_GEMM.name: dsl_gemm,
    FLASH_ATTENTION.name: flash_attention,
    VECTOR_ADD.name: vector_add,
}
"""What times a row of each table."""


def compared_kernels(tables: tuple[Table, ...] = KERNELS) -> Iterator[Compared]:
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
    """What came of the comparison; ``missed``: bounds that do not hold, in words."""

    rows: list[Compared]
    missed: list[str]

    def __str__(self) -> str:
        kinds = {"time": ("µs",), "busy shares": ("M", "MTE1", "MTE2", "FIX"), "cycles": ("cycles",)}
        lines = ["| table | rows | median error | largest | within 15 % |", "|---|---|---|---|---|"]
        for table in dict.fromkeys(row.table for row in self.rows):
            for word, kind in kinds.items():
                for fitted in (True, False):
                    found = [r for r in self.rows if r.table == table and r.kind in kind and r.fitted is fitted]
                    if found:
                        lines.append(_summary(f"{table}: {word}, {'fitted' if fitted else 'held back'}", found))
        lines += ["", "| kernel | ours | published | error |", "|---|---|---|---|"]
        lines += [
            f"| {r.table}: {r.label} | {r.ours:.1f} µs | {r.published:.1f} µs | {r.error:+.1%} |"
            for r in self.rows
            if r.kind == "µs"
        ]
        left = dict.fromkeys(f"{row.target} {row.name}: {why}" for row in instruction_rows() if (why := reason(row)))
        lines += ["", *(f"- left out: {text}" for text in left)]
        lines += [
            f"- left out: {table.name}, {len(table.rows)} rows: no kernel"
            for table in KERNELS
            if table.name not in RUNS
        ]
        lines += [f"- missed: {text}" for text in self.missed]
        return "\n".join(lines)


def validate() -> Validation:
    """Compare every row that has a kernel or a cost with what the model says."""
    rows = [*compared_kernels(), *compared_instructions()]
    times = [abs(r.error) for r in rows if r.kind == "µs"]
    single = [abs(r.error) for r in rows if r.kind == "cycles"]
    shares = [abs(r.error) for r in rows if r.kind not in ("µs", "cycles")]
    missed = []
    total = sum(len(table.rows) for table in KERNELS)
    if (close := sum(error <= CLOSE for error in times)) < MOST_KERNELS:
        missed.append(f"{close} of {total} kernel rows are within 15 %, not {MOST_KERNELS}")
    if (middle := median(times)) > MEDIAN_KERNELS:
        missed.append(f"the median error of kernel times is {middle:.1%}, not {MEDIAN_KERNELS:.0%}")
    if (share := sum(error <= CLOSE for error in single) / len(single)) < SHARE_INSTRUCTIONS:
        missed.append(f"{share:.1%} of {len(single)} instruction rows are within 15 %, not {SHARE_INSTRUCTIONS:.0%}")
    if (middle := median(shares)) > MEDIAN_SHARES:
        missed.append(f"the median error of busy shares is {middle:.1%}, not {MEDIAN_SHARES:.0%}")
    return Validation(rows, missed)
