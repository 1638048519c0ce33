"""`Part`: a device that runs a target, as numbers with sources: cores, clock, rates, start-up times.

Times are in cycles of the core, rates in bytes per such cycle and core, unless a name says otherwise.
"""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise
from typing import Self

from ptokit.records import dataclass

from .base import Target

CONFIGURED, DEVICE, SIMULATED, DERIVED = "configuration", "device", "simulator", "derived"
DOCUMENTED, FITTED, ASSUMED = "document", "fitted", "assumed"
EVIDENCE = {
    DEVICE: "measured on silicon",
    SIMULATED: "from the vendor's cycle model",
    CONFIGURED: "a constant of the vendor's platform files",
    DOCUMENTED: "a sentence or table of the documentation",
    DERIVED: "arithmetic on published measurements",
    FITTED: "chosen so that tables marked as fitted come out",
    ASSUMED: "nobody has published it",
}
"""What a number can rest on."""


class Figure(float):
    """A number, what it rests on (a word of `EVIDENCE`), and where it is from."""

    evidence: str
    source: str

    def __new__(cls, value: float, evidence: str = ASSUMED, source: str = "") -> Self:
        made = super().__new__(cls, value)
        made.evidence, made.source = evidence, source
        return made

    def __reduce__(self) -> tuple[type[Figure], tuple[float, str, str]]:
        return Figure, (float(self), self.evidence, self.source)


@dataclass(frozen=True)
class Part:
    """A device. Fields that are figures are listed by `figures`."""

    name: str
    target: str
    cores: int  # cube cores, or clusters of one with its vector cores
    clock: Figure  # GHz
    l2_bytes: Figure
    l2_read: Figure  # of all cores together, for each core
    l2_write: Figure
    l2_both: Figure  # of what is read and written at a time
    gm: Figure  # the memory below L2, for each core
    l1_a: Figure  # L1 to L0A
    l1_b: Figure
    mte1_start: Figure  # of each move out of L1
    cube_head: Figure
    cube_f32: Figure  # passes for f32 operands, for one of 16-bit operands
    fix_start: Figure
    fix_row: Figure  # at least, for each row
    fix_rate: Figure
    fix_odd: Figure  # for each row, where the columns are an odd multiple of 8
    vector_cores: int = 2  # beside each cube core
    vector_loops: bool = False  # vector instructions are loops over registers, not streams of repeats
    ub_write: Figure = Figure(128, CONFIGURED, "runtime platform_config, ub_to_l1_rate")
    gm_share: Figure = Figure(0.78, DEVICE, "pto-dsl#50: torch.add, 1082 GB/s")  # of `gm` that all cores together reach
    gm_rows: Figure = Figure(0.65, FITTED, "GEMM 1536 of 910B1, 128 rows of pto-dsl")  # where rows have gaps between
    gm_alone: Figure = Figure(3, FITTED, "GEMM 1536 and 6144 of 910B1")  # times `gm`: what one core can reach
    l2_usable: Figure = Figure(0.70, DOCUMENTED, "pto-isa kernels/python/gemm, swizzle budget")
    load_start: Figure = Figure(264, DERIVED, "pto-isa tests/costmodel/st TLOAD")  # of each DMA instruction
    order_start: Figure = Figure(136, FITTED, "busy shares of MTE2, convolution of 910B1")  # into L1 without reordering
    ub_read: Figure = Figure(128, DERIVED, "pto-isa tests/costmodel/st TLOAD")  # global memory to UB, one core
    l1_read: Figure = Figure(110, CONFIGURED, "runtime platform_config, l2_rate")  # global memory to L1, one core
    launch_us: Figure = Figure(7, FITTED, "GEMM 1536 and 6144 of 910B1")
    spread_us: tuple[Figure, ...] = tuple(  # starts of cores: earliest, median, three quarters, latest
        Figure(us, DEVICE, "simpler 2026-06-aicore-cold-start-warmup") for us in (0, 1.77, 3.39, 5.31)
    )
    issue: Figure = Figure(1, ASSUMED)  # of an instruction, by the scalar unit
    scalar_load: Figure = Figure(5, DERIVED, "simpler 2026-06-cond-vs-gm-notification: 3 ns")

    @property
    def figures(self) -> dict[str, Figure]:
        """All numbers that have a source."""
        named = [(f.name, getattr(self, f.name)) for f in fields(self)]
        return {name: value for name, value in named if isinstance(value, Figure)}

    def starts(self, cores: int) -> list[float]:
        """When each of `cores` cores starts, in cycles after the first: evenly over the published quantiles."""
        marks = list(zip((0.0, 0.5, 0.75, 1.0), self.spread_us))
        out = []
        for k in range(cores):
            at = k / (cores - 1) if cores > 1 else 0.5
            (a, low), (b, high) = next((x, y) for x, y in pairwise(marks) if at <= y[0])
            out.append((low + (high - low) * (at - a) / (b - a)) * self.clock * 1000)
        return out


_INI = "runtime platform_config"


def _configured(value: float) -> Figure:
    return Figure(value, CONFIGURED, _INI)


_FIXPIPE = "pypto L0CostModel"
B1 = Part(
    name="910B1",
    target="a2a3",
    cores=24,
    clock=_configured(1.85),
    l2_bytes=_configured(192 << 20),
    l2_read=_configured(110),
    l2_write=_configured(86),
    l2_both=Figure(158, DOCUMENTED, "AscendC 9.0.0 guide 3.8.5.12: about 7 TB/s"),
    gm=_configured(32),
    l1_a=Figure(256, DERIVED, "pto-isa arch_config, GEMM 910B1"),
    l1_b=Figure(128, DERIVED, "pto-isa arch_config, GEMM 910B1"),
    mte1_start=Figure(45, FITTED, "busy shares of GEMM 910B1"),
    cube_head=Figure(14, DOCUMENTED, "pto-isa documentation; busy shares of GEMM 910B1 say 12 to 13"),
    cube_f32=Figure(2, SIMULATED, _FIXPIPE),
    fix_start=Figure(164, DEVICE, _FIXPIPE),
    fix_row=Figure(4.45, DEVICE, _FIXPIPE),
    fix_rate=Figure(118, DEVICE, _FIXPIPE),
    fix_odd=Figure(2.6, DEVICE, _FIXPIPE),
)
B2 = replace(B1, name="910B2", clock=_configured(1.80))
B3 = replace(B2, name="910B3", cores=20)
B4 = replace(B3, name="910B4", clock=_configured(1.50), l2_bytes=_configured(96 << 20))
PR_9599 = replace(
    B1,
    name="950PR_9599",
    target="a5",
    cores=36,
    clock=_configured(1.80),
    l2_bytes=_configured(128 << 20),
    l2_read=_configured(100),
    l2_write=_configured(100),
    l2_both=Figure(200, ASSUMED, "both rates together"),
    gm=_configured(31),
    gm_rows=Figure(0.55, ASSUMED, "the share of rows with gaps of 910B1"),
    gm_share=Figure(0.72, DEVICE, "pto-kernels fast_hadamard_a5: a copy, 3025 GB/s"),
    l1_a=_configured(256),
    l1_b=_configured(256),
    l1_read=_configured(110),
    mte1_start=Figure(45, ASSUMED, "that of 910B1"),
    cube_head=Figure(25, SIMULATED, _FIXPIPE),
    cube_f32=Figure(8, SIMULATED, _FIXPIPE),
    fix_start=Figure(343.4, SIMULATED, _FIXPIPE),
    fix_row=Figure(4.59, SIMULATED, _FIXPIPE),
    fix_rate=Figure(118, ASSUMED, "that of 910B1: the simulator is known to be four times too slow"),
    fix_odd=Figure(0.26, SIMULATED, _FIXPIPE),
    vector_loops=True,
)
PR_9589 = replace(PR_9599, name="950PR_9589", cores=32, clock=_configured(1.65))
DT_9591 = replace(PR_9599, name="950DT_9591", gm=_configured(80))
DT_958X = replace(PR_9589, name="950DT_958x", gm=_configured(80))
PARTS: dict[str, Part] = {p.name: p for p in (B1, B2, B3, B4, PR_9599, PR_9589, DT_9591, DT_958X)}
_DEFAULTS = {"a2a3": B1, "a5": PR_9599}


def parts_of(target: Target) -> list[Part]:
    """The parts that run a target, or the one that it descends from."""
    return [part for part in PARTS.values() if part.target in target.lineage]


def default_part(target: Target) -> Part | None:
    """The part that is taken where none is named; None where no numbers are known."""
    return target.of(_DEFAULTS)


class PartError(ValueError):
    """There is no such part; the message names those that there are."""


def part_named(name: str | None, target: Target) -> Part:
    """The part of this name, or the default one of a target. Raises `PartError` if it is not there."""
    known = parts_of(target)
    if name is None:
        found = default_part(target)
        if found is None:
            targets = ", ".join(dict.fromkeys(part.target for part in PARTS.values()))
            raise PartError(f"no part of {target.name} is known; there are parts of {targets}.")
        return found
    if name not in PARTS or PARTS[name] not in known:
        raise PartError(f"{name!r} is no part of {target.name}: {', '.join(p.name for p in known) or 'none is'}.")
    return PARTS[name]
