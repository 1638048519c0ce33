"""A core under observation, as the checks see it: its memory, its order, and where findings and items go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from ptokit.ir.core import Op
from ptokit.isa.checks.tile_types import buffer_name
from ptokit.machine.chunk import Chunk
from ptokit.machine.observer import Moment, Observer
from ptokit.machine.storage import Arena
from ptokit.machine.tiles import Tile
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.enums import Pipe, TileType

from ..findings.addresses import PLACES
from ..findings.races import Draft, Findings
from ..memory.footprints import Touch
from ..memory.gm import Located
from ..memory.shadow import Group, Owners, Space
from ..memory.touches import Producers
from ..simulation.core import Core, FlagKey, Item, Loops, SetFlag, WaitFlag, Work
from ..simulation.queues import Simulation
from .vector_scopes import ScopeOrder


@dataclass
class Buffers:
    """On-chip memory of a core, or of the cores of a cluster: by arena, what is known of its bytes."""

    spaces: dict[int, Space] = field(default_factory=dict)
    owners: dict[int, Owners] = field(default_factory=dict)  # by space
    groups: dict[Op, Group] = field(default_factory=dict)  # tiles by what allocates them
    changes: int = 0  # how often bytes came to belong to another tile


@dataclass(slots=True)
class Prefetch:
    """A prefetch that nobody has waited for."""

    session: Any
    event: int
    work: Work
    touches: list[Touch]


@dataclass(slots=True)
class Moving:
    """A transfer to or from another device that nobody has waited for."""

    session: Any
    event: int
    work: Work


class ObservedCore(Observer):
    """What checks ask of the core whose step they look at."""

    machine: Chunk
    target: Target
    findings: Findings
    memories: dict[int, Located]
    simulation: Simulation
    in_order: bool
    here: Op  # the operation that is carried out
    flags: dict[Op, tuple[type[SetFlag | WaitFlag], str, Pipe, FlagKey]]
    core: Core
    buffers: Buffers
    scope_order: ScopeOrder
    prefetches: list[Prefetch]  # that nobody has waited for
    moving: list[Moving]
    producers: Producers

    @property
    def loops(self) -> Loops:
        """The loops around what the core executes now."""
        return self.machine.nest.loops

    def space_of(self, arena: Arena, loc: TileType, name: str) -> Space:
        """The shadow of an arena; ``name`` is that of an arena that is no buffer of the core."""
        space = self.buffers.spaces.get(id(arena))
        if space is None:
            name = buffer_name(loc) if self.machine.home(loc).holds(arena) else name
            space = self.buffers.spaces[id(arena)] = Space(name, arena.size)
        return space

    def report(self, rule: str, op: Op, key: Any, make: Callable[[], Draft]) -> None:
        """Record a finding at an operation; one of each ``key`` is kept as the example."""
        item = Item(op, op.name, Pipe.S, self.loops)
        unique = key if rule in PLACES else (op, key)
        self.findings.add(rule, unique, self.core, item, make)

    def tile_of(self, tile: Tile) -> Group | None:
        """The tile that one is, or is an alias of; None where it has just been popped from a pipe."""
        raise NotImplementedError

    def catch_up(self, pipe: Pipe) -> None:
        """What comes next on `pipe` is carried out at once: so has to be all that it comes after."""

    def push(self, item: Item) -> None:
        """The core has issued `item`."""
        raise NotImplementedError

    def instruction(self, moment: Moment, given: Mapping[str, Any]) -> Any:
        """Carry out and check an instruction; its result."""
        raise NotImplementedError
