"""Where tiles may lie: capacity and alignment of the on-chip buffers (memory-model-and-sync 4, rules of section 10)."""

from __future__ import annotations

from collections.abc import Iterator

from ptokit.diagnostics import Scope, Severity, define
from ptokit.targets import Target
from ptokit.types.enums import TileType
from ptokit.types.tile import TileSpec

from ..unknown import Size

_NAMES = {
    TileType.Vec: "UB",
    TileType.Mat: "L1",
    TileType.Left: "L0A",
    TileType.Right: "L0B",
    TileType.Acc: "L0C",
    TileType.Bias: "BIAS",
    TileType.Scaling: "FB",
    TileType.ScaleLeft: "SCALE",
    TileType.ScaleRight: "SCALE",
}


SLOPES = 1 << 16
"""Address in the fix-pipe buffer, behind its words, from which on slopes of ReLU lie (PTOAS e32488c9, drains)."""


def buffer_name(loc: TileType) -> str:
    """Hardware name of the buffer a tile type lives in: UB, L1, L0A …"""
    return _NAMES[loc]


def capacity_rule(loc: TileType) -> str:
    """Rule id for tiles that do not fit their buffer."""
    return f"{_NAMES[loc]}-CAPACITY"


for _name in sorted(set(_NAMES.values())):
    define(
        f"{_name}-CAPACITY",
        f"Tiles lie inside the {_name} buffer: address + bytes <= capacity, and what is alive together fits.",
        scope=Scope.SYNC,
        source="memory-model-and-sync 4, 10 (SA-0352, SA-0353)",
        why="The device wraps or faults; simulators that enlarge the buffer hide it.",
        rejected="a tile that ends past the buffer's last byte",
        accepted="a tile that ends at it",
    )
define(
    "UB-USER",
    "Tiles end within the part of UB that user code has: on a5 the first 253952 bytes.",
    scope=Scope.SYNC,
    severity=Severity.WARNING,
    targets=("a5",),
    source="vendor platform files of Ascend 950; planner of the reference assembler",
    why="The buffer has 262144 bytes, of which the vendor's tools give 253952 to user code: what is in the rest may be "
    "overwritten.",
    decision="A warning of the check, a note of the sanitizer: the library's own limit is 262144 bytes, and it "
    "compiles such tiles. Tiles without an address are the assembler's to place; its planner keeps to the 253952.",
    example="Tile(Vec, f32, 32, 64, addr={0x3C000|0x3E000})",
)
define(
    "SPACE-ABSENT",
    "The target has the tile's buffer.",
    scope=Scope.SYNC,
    source="memory-model-and-sync 4, 10 (SA-0351)",
    example="Tile({Vec|ScaleLeft}, e8m0, 16, 32, addr=0)",
    on="a2a3",
)
define(
    "ADDR-ALIGN",
    "Tile addresses are multiples of 32 bytes (128 for a Scaling tile that holds quantisation parameters).",
    scope=Scope.SYNC,
    source="memory-model-and-sync 4, 10 (SA-0354)",
    example="Tile(Vec, f32, 16, 64, addr={0x20|0x11})",
)


def broken_placement(spec: TileSpec, address: Size, target: Target) -> Iterator[tuple[str, str]]:
    """(rule id, message) for every condition a tile at a byte address breaks."""
    if spec.loc is TileType.Ctrl:
        return
    capacity, name = target.capacity[spec.loc], buffer_name(spec.loc)
    if capacity == 0:
        yield "SPACE-ABSENT", f"{target.name} has no {spec.loc.text} buffer"
        return
    if spec.nbytes > capacity:
        yield capacity_rule(spec.loc), f"the tile needs {spec.nbytes} bytes, {name} has {capacity} on {target.name}"
    elif isinstance(address, int) and (address < 0 or address + spec.nbytes > capacity):
        yield (
            capacity_rule(spec.loc),
            f"{spec.nbytes} bytes at address {address:#x} end past the {capacity} bytes of {name} on {target.name}",
        )
    if isinstance(address, int) and address % target.alignment:
        yield "ADDR-ALIGN", f"address {address:#x} is not a multiple of {target.alignment} bytes"


def doubtful_placement(spec: TileSpec, address: Size, target: Target) -> str | None:
    """Message of UB-USER for a tile at a byte address, inside its buffer but not inside what user code is given."""
    limit = target.user_ub
    if limit is None or spec.loc is not TileType.Vec or not isinstance(address, int):
        return None
    end = address + spec.nbytes
    if not address >= 0 or not limit < end <= target.capacity[spec.loc]:
        return None
    return f"the tile ends at byte {end} of UB, of which user code has {limit} on {target.name}"
