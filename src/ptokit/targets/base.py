"""`Target`: what differs between cpu, a2a3 and a5, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ptokit.types.dtypes import DType
from ptokit.types.enums import BLayout, TileType


@dataclass(frozen=True)
class Target:
    """A target profile. Capacities are bytes per buffer; 0 means that the buffer does not exist."""

    name: str
    title: str
    arch: str  # name in `pto.target_arch` and in the reference assembler's --pto-arch
    capacity: Mapping[TileType, int]
    dtypes: frozenset[DType]  # element types of loads and stores (seed table)
    left_blayout: BLayout  # block layout of TileLeft
    pads_whole_tile: bool  # TLOAD fills the whole tile, not only up to the next 32 bytes
    in_order: frozenset[str]  # pipes whose instructions complete in order in `profile` mode
    alignment: int = 32  # of tile addresses, bytes

    def supports(self, dtype: DType, *, extended: bool = False) -> bool:
        """True if tiles of this element type can be loaded and stored."""
        return extended or dtype in self.dtypes

    def __repr__(self) -> str:
        return f"Target({self.name})"
