"""What the operations on pipes between cores ask of a machine (compute-layout-irregular 3).

A pipe is a ring of slots for each direction. A producer fills the next slot once it is free, a consumer takes the
slots in the same order. Here stands the order of the operands; the rings are the machine's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from ..site import Info

Wait = Callable[[], Any]
"""False while another core has to do something first; then what the operation gives, or True."""

SLOTS = {1: 8, 2: 8, 3: 4}
"""Slots of a pipe that states none, by its directions (1: cube to vector, 2: vector to cube, 3: both)."""


class Setup(NamedTuple):
    """A pipe as an initialize operation states it.

    Its slots of `slot_size` bytes lie in ``memory`` (a pointer, or the tensor of a slot) or in the buffers of the
    consumers, ``c2v`` and ``v2c``. ``name``: of its value in findings, where it has one.
    """

    directions: int
    slot_size: int
    slots: int
    local_slots: int | None
    memory: Any
    c2v: Any
    v2c: Any
    through_memory: bool | None
    flag_base: int | None
    epilogue: Any
    name: str = ""


class Pipes(Protocol):
    """The pipes of one core. ``key`` is the id of a pipe that has no value of its own, or that value.

    ``split``: 0 none, 1 and 3 rows, 2 and 4 columns, of which vector core 0 has the first half; 3 and 4 halve odd
    sizes. ``sub``: whose half it is, where that is not the running core's.
    """

    def open(self, id: int | None, setup: Setup) -> Any:
        """Set up this core's end. Returns the pipe."""

    def reserve(self, name: str, size: int, location: str, base: int | None) -> Any:
        """`size` bytes of this core's buffer: at byte `base`, or apart from everything else."""

    def imported(self, name: str) -> Any:
        """The place that the other kind of core reserves under this name."""

    def push(self, key: Any, entry: Any, split: int, sub: int | None) -> Wait:
        """Copy a tile into the next slot, or hand over the tensor that `alloc` gave."""

    def pop(self, key: Any, wanted: Info, valid: tuple[Any, Any], split: int, sub: int | None) -> Wait:
        """The next slot as a tile, or as a tensor, of a result's type."""

    def pop_into(self, key: Any, entry: Any, split: int, sub: int | None) -> Wait:
        """Let a declared tile or tensor be the next slot."""

    def free(self, key: Any, entry: Any, split: int) -> None:
        """Give a slot back."""

    def alloc(self, key: Any, entry: Any, split: int) -> Wait:
        """The next free slot as a tensor: a new one, or a declared one that becomes it."""

    def declare(self, wanted: Info) -> Any:
        """A tensor without memory."""

    def quantise(self, key: Any, words: Any) -> None:
        """Let later pushes use a scale, or a tile of quantisation words."""


class Machine(Protocol):
    """A machine whose core has pipes."""

    pipes: Pipes


def _setup(
    memory: Any,
    c2v: Any,
    v2c: Any,
    through_memory: bool | None,
    *,
    dir_mask: int,
    slot_size: int,
    slot_num: int | None,
    local_slot_num: int | None,
    nosplit: bool | None,
    acc_push_epilogue: Any,
    flag_base: int | None = None,
    name: str = "",
) -> Setup:
    slots, local = slot_num or SLOTS[dir_mask], local_slot_num
    buffers = memory, c2v, v2c, through_memory
    return Setup(dir_mask, slot_size, slots, local, *buffers, flag_base, acc_push_epilogue, name)


def initialize(m: Machine, memory: Any, tensor: Any, c2v: Any, v2c: Any, *, id: int | None, **stated: Any) -> None:
    """aic_initialize_pipe, aiv_initialize_pipe."""
    through_memory = None if tensor is None else True
    m.pipes.open(id or 0, _setup(memory if tensor is None else tensor, c2v, v2c, through_memory, **stated))


def initialize_through_memory(
    m: Machine, gm: Any, local: Any, peer: Any, *, types: Mapping[str, Info], **stated: Any
) -> Any:
    """initialize_l2g2l_pipe."""
    c2v, v2c = (local, peer) if stated["dir_mask"] != 2 else (None, local)
    return m.pipes.open(None, _setup(gm, c2v, v2c, gm is not None, name=types["opened"].name, **stated))


def initialize_local(m: Machine, local: Any, peer: Any, **stated: Any) -> Any:
    """initialize_l2l_pipe."""
    return initialize_through_memory(m, None, local, peer, **stated)


def reserve(m: Machine, *, name: str, size: int, location: str, auto: bool | None, base: int | None) -> Any:
    """reserve_buffer."""
    return m.pipes.reserve(name, size, location, base)


def import_reserved(m: Machine, *, name: str, peer_func: str) -> Any:
    """import_reserved_buffer."""
    return m.pipes.imported(name)


def push_to(m: Machine, tile: Any, aiv_subblockid: Any, *, id: int | None, split: int) -> Wait:
    """tpush_to_aiv, tpush_to_aic."""
    return m.pipes.push(id or 0, tile, split, aiv_subblockid)


def push(m: Machine, pipe: Any, tile: Any, aiv_subblockid: Any, *, split: int) -> Wait:
    """tpush."""
    return m.pipes.push(pipe, tile, split, aiv_subblockid)


def pop_from(
    m: Machine,
    valid_row: Any,
    valid_col: Any,
    aiv_subblockid: Any,
    *,
    id: int | None,
    split: int,
    types: Mapping[str, Info],
) -> Wait:
    """tpop_from_aic, tpop_from_aiv."""
    return m.pipes.pop(id or 0, types["popped"], (valid_row, valid_col), split, aiv_subblockid)


def pop(m: Machine, pipe: Any, tile: Any, aiv_subblockid: Any, *, split: int) -> Wait:
    """tpop."""
    return m.pipes.pop_into(pipe, tile, split, aiv_subblockid)


def free_from(m: Machine, entry: Any, *, id: int | None, split: int) -> None:
    """tfree_from_aic, tfree_from_aiv."""
    m.pipes.free(id or 0, entry, split)


def free(m: Machine, pipe: Any, entry: Any, *, split: int) -> None:
    """tfree."""
    m.pipes.free(pipe, entry, split)


def alloc_to(m: Machine, *, id: int | None, split: int) -> Wait:
    """talloc_to_aiv, talloc_to_aic."""
    return m.pipes.alloc(id or 0, None, split)


def alloc(m: Machine, pipe: Any, entry: Any, *, split: int) -> Wait:
    """talloc."""
    return m.pipes.alloc(pipe, entry, split)


def declare(m: Machine, *, types: Mapping[str, Info]) -> Any:
    """declare_global."""
    return m.pipes.declare(types["entry"])


def quantise(m: Machine, words: Any, *, id: int | None) -> None:
    """set_quant_scalar, set_quant_vector."""
    m.pipes.quantise(id or 0, words)
