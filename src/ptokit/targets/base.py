"""`Target`: what differs between targets, as data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import TypeVar

from ptokit.diagnostics import Rule, Scope
from ptokit.records import dataclass
from ptokit.types.dtypes import DTYPES, HALVES, SINGLES, DType
from ptokit.types.enums import BLayout, TileType

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
