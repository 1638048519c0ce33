"""`Target`: what differs between targets, as data; `Part`: a device that runs a target, as numbers with sources; and
the targets that the library is made for: its simulator `CPU`, A2/A3 (Ascend 910B, 910C) and A5 (Ascend 950).

Times of a part are in cycles of the core, rates in bytes per such cycle and core, unless a name says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from functools import cached_property
from itertools import pairwise
from typing import Self, TypeVar

from ptokit.diagnostics import Rule, Scope
from ptokit.records import dataclass
from ptokit.types.dtypes import DTYPES, HALVES, SINGLES, DType, hif4
from ptokit.types.enums import BLayout, TileType

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
    signal_us: Figure = Figure(1.04, ASSUMED, "simpler 2026-06-cond-vs-gm-notification: until a host core sees a word")
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
            at = (k + 0.5) / cores
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


T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    """A target profile. Capacities are bytes per buffer; 0 means that the buffer does not exist.

    A target may descend from another one, that it is ``like``: the rules and tables of that one hold for it too,
    but for the rules that it has ``lifted``. ``added`` are rules of its own, by instruction. What a target has not
    (``lacks``, ``without``) those that descend from it have not either.
    """

    name: str
    title: str
    arch: str  # name in `pto.target_arch` and in the reference assembler's --pto-arch
    capacity: Mapping[TileType, int]
    dtypes: frozenset[DType]  # element types of loads and stores (seed table)
    left_blayout: BLayout  # block layout of TileLeft
    pads_whole_tile: bool  # TLOAD fills the whole tile, not only up to the next 32 bytes
    in_order: frozenset[str]  # pipes whose instructions complete in order in `profile` mode
    alignment: int = 32  # of tile addresses, bytes
    is_device: bool = True  # hardware, not the simulator on the host
    waits_hold_core: bool = True  # waits for other cores stop the scalar unit, not one pipe (memory-model-and-sync 5.5)
    pipes_are_local: bool = True  # pipes between cores lead from buffer to buffer, those without halves to one core
    flags_name_subcore: bool = False  # ids from 16 on are flags of a cluster's second vector core
    one_flag_per_id: frozenset[str] = frozenset()  # source pipes whose flags of one id hang where both are set
    transfers_state_gaps: bool = False  # between lines in global memory, and not their pitch
    pads_64_bits: bool = True  # custom pad values and Min and Max fill elements of 8 bytes
    hf32_bits: int | None = None  # mantissa bits of f32 operands that HF32 rounds; None: it does not round
    vendor_ub: int = 0  # bytes at the end of UB that the vendor's platform files keep from user code
    scratch_ub: int = 0  # bytes at the end of UB that library code uses as scratch
    thread_ub: int = 0  # bytes at the end of UB that threads need, so that kernels with SIMT instructions may not
    vector_registers: bool = True  # has them, or runs operations on them
    templates: bool = False  # tile operations are expanded by the assembler, and not calls of the library
    accumulators: tuple[str, ...] = ("f32", "i32")  # element types of what products add up in
    predicate_units: int | None = None  # largest constant offset of predicate loads, in units of 8 bytes
    assembled: bool = True  # the reference assembler compiles text for it, so that its rules bind
    event_pipes: frozenset[str] | None = None  # pipes between which events are flags, elsewhere barriers; None: all
    barrier_pipes: frozenset[str] | None = None  # pipes that TSYNC<Op> makes barriers on; None: all
    like: Target | None = None
    lacks: frozenset[str] = frozenset()  # instructions that it has not, by C++ name
    without: frozenset[DType] = frozenset()  # element types that no instruction of it has
    lifted: frozenset[str] = frozenset()
    added: Mapping[str, tuple[Rule, ...]] = field(default_factory=dict)

    @cached_property
    def lineage(self) -> tuple[str, ...]:
        """Its name and those of the targets it descends from, nearest first."""
        return (self.name, *(self.like.lineage if self.like is not None else ()))

    def is_a(self, other: Target) -> bool:
        """True of `other` and of what descends from it."""
        return self is other or other.name in self.lineage

    def is_among(self, names: Iterable[str]) -> bool:
        """True if the target, or one that it descends from, is named."""
        return any(name in self.lineage for name in names)

    def of(self, table: Mapping[str, T], prefix: str = "") -> T | None:
        """The entry of a table by target, ``prefix + name``: its own, else that of the next it descends from."""
        return next((table[prefix + name] for name in self.lineage if prefix + name in table), None)

    def entry(self, table: Mapping[str, T]) -> T:
        """`of`, where there is one for every target. Raises `KeyError`."""
        for name in self.lineage:
            if name in table:
                return table[name]
        raise KeyError(self.name)

    @cached_property
    def missing(self) -> frozenset[str]:
        """Instructions, by C++ name, that this target or one that it descends from lacks."""
        return self.lacks | (self.like.missing if self.like is not None else frozenset())

    @cached_property
    def absent(self) -> frozenset[DType]:
        """Element types that this target or one that it descends from is without, and which it does not add."""
        return (self.without | (self.like.absent if self.like is not None else frozenset())) - self.dtypes

    @cached_property
    def lost(self) -> frozenset[DType]:
        """Element types that tables of a target which it descends from have, and this one has not."""
        return frozenset() if self.like is None else (self.absent - self.like.absent) | self.like.lost

    @cached_property
    def all_lifted(self) -> frozenset[str]:
        """Ids of rules that this target or one that it descends from has lifted."""
        return self.lifted | (self.like.all_lifted if self.like is not None else frozenset())

    def existing(self, dtypes: Iterable[DType]) -> frozenset[DType]:
        """Those of some element types that exist here; of a pair of numbers if the numbers do."""
        return frozenset(dtype for dtype in dtypes if SINGLES.get(dtype, dtype) not in self.absent)

    @property
    def user_ub(self) -> int | None:
        """Bytes of UB that user code has, where that is not all."""
        return self._ub_but(self.vendor_ub)

    @property
    def library_ub(self) -> int | None:
        """Bytes of UB below those that library code uses as scratch."""
        return self._ub_but(self.scratch_ub)

    @property
    def simt_ub(self) -> int | None:
        """Bytes of UB that kernels with SIMT instructions may use."""
        return self._ub_but(self.thread_ub)

    def _ub_but(self, kept: int) -> int | None:
        return self.capacity[TileType.Vec] - kept if kept else None

    def obeys(self, rule: Rule) -> bool:
        """True if `rule` binds on this target."""
        if rule.scope is Scope.ASSEMBLER and not self.assembled:
            return False
        return rule.id not in self.all_lifted and self.is_among(rule.targets)

    def own_rules(self, instruction: str) -> tuple[Rule, ...]:
        """Rules that this target, or one it descends from, adds to an instruction (its C++ name)."""
        inherited = self.like.own_rules(instruction) if self.like is not None else ()
        return (*inherited, *(rule for rule in self.added.get(instruction, ()) if rule not in inherited))

    def supports(self, dtype: DType, *, extended: bool = False) -> bool:
        """True if tiles of this element type can be loaded and stored."""
        return extended or dtype in self.dtypes

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"Target({self.name})"


# Facts that several targets share.


BASE_DTYPES = frozenset(DTYPES[n] for n in ["f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
DEVICE_8BIT_AND_4BIT = frozenset(DTYPES[n] for n in ["e4m3", "e5m2", "e8m0", "hif8", "e2m1", "e1m2"]) | HALVES.keys()
KIB = 1024


def in_kib(**sizes: int) -> dict[TileType, int]:
    """Capacities in bytes, of numbers of KiB by the names of memories."""
    return {TileType[name]: size * KIB for name, size in sizes.items()}


COMMUNICATION = frozenset(
    "TPUT TGET TBROADCAST TREDUCE TNOTIFY TWAIT TTEST GROUP_GATHER GROUP_SCATTER MAKE_GROUP comm.tbroadcast "
    "comm.tgather comm.tscatter comm.treduce comm.tput comm.tget build_async_session tput_async tget_async "
    "wait_async_event test_async_event TPREFETCH_ASYNC make_prefetch_async_context prefetch_async prefetch_wait "
    "get_prefetch_async_session".split()
)
"""Instructions, by C++ name, that move between devices or work beside all pipes."""
CORE_PIPES = frozenset(
    "TPUSH TPOP TFREE TALLOC aic_initialize_pipe tpush_to_aic tpop_from_aic tfree_from_aic talloc_to_aic "
    "aiv_initialize_pipe tpush_to_aiv tpop_from_aiv tfree_from_aiv talloc_to_aiv reserve_buffer import_reserved_buffer "
    "initialize_l2g2l_pipe initialize_l2l_pipe declare_global".split()
)
"""Instructions of pipes between cores."""


CPU = Target(
    name="cpu",
    title="CPU profile (functional model)",
    arch="cpu",
    capacity=in_kib(Vec=512, Mat=512, Left=64, Right=64, Acc=256, Bias=4, Scaling=4, ScaleLeft=4, ScaleRight=4),
    without=frozenset({hif4}),
    dtypes=BASE_DTYPES,
    left_blayout=BLayout.ColMajor,
    pads_whole_tile=True,
    in_order=frozenset({"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"}),
    is_device=False,
)

A2A3 = Target(
    name="a2a3",
    title="A2/A3 (Ascend 910B/910C)",
    arch="a3",
    capacity=in_kib(Vec=192, Mat=512, Left=64, Right=64, Acc=128, Bias=1, Scaling=2, ScaleLeft=0, ScaleRight=0),
    without=frozenset({hif4}),
    dtypes=BASE_DTYPES,
    left_blayout=BLayout.RowMajor,
    pads_whole_tile=False,
    in_order=frozenset({"S", "M", "FIX", "MTE1"}),
    one_flag_per_id=frozenset({"MTE3"}),  # PTOAS issue 823: 5 hangs of 5
    hf32_bits=11,
    transfers_state_gaps=True,
    scratch_ub=8 * KIB,
    vector_registers=False,
    pipes_are_local=False,
)

A5 = Target(
    name="a5",
    title="A5 (Ascend 950)",
    arch="a5",
    capacity=in_kib(Vec=256, Mat=512, Left=64, Right=64, Acc=256, Bias=4, Scaling=4, ScaleLeft=4, ScaleRight=4),
    without=frozenset({hif4}),
    dtypes=BASE_DTYPES | DEVICE_8BIT_AND_4BIT,
    left_blayout=BLayout.ColMajor,
    pads_whole_tile=False,
    in_order=frozenset({"S", "V", "M", "FIX", "MTE1"}),
    waits_hold_core=False,
    flags_name_subcore=True,
    pads_64_bits=False,
    hf32_bits=10,
    vendor_ub=8 * KIB,
    thread_ub=40 * KIB,
    predicate_units=1023,
    barrier_pipes=frozenset({"MTE2", "MTE3"}),
)

A5_TEMPLATES = replace(A5, templates=True, lifted=frozenset({"FILL-COM-03", "GEMV-COM-02", "LOAD-A5-06", "TILE-04"}))
"""A5, where the assembler expands tile operations with templates of its own, which take the place of the library.

What only static_asserts of the library say does not hold for them.
"""
