"""Operations that are read, carried and printed, and not run: lowered forms of tiles of April 2026 (assembly 7.1)."""

from __future__ import annotations

from typing import Any

from ptokit.types.enums import Pipe

from .meaning.words import Unrun
from .table import Attr, Instr, Kind, Operand, Role, grammar, instruction, scalar, scalars, src

RETIRED = "the reference has retired it and refuses it today; no public text has one, and tiles are !pto.tile_buf"


def retired(text: str, summary: str, *operands: Operand, **more: Any) -> Instr:
    """Put such an operation into the table."""
    more |= {"pipe": Pipe.S, "source": "assembly 7.1", "meaning": Unrun(RETIRED)}
    return instruction(Instr(text, text, summary, operands, **more))


def number(name: str, default: int | None = None) -> Attr:
    """An attribute that is an integer."""
    return Attr(name, int, default, name)


def flag(name: str) -> Attr:
    """An attribute that is true or false."""
    return Attr(name, bool, None, name)


def handle(name: str, *, optional: bool = False) -> Operand:
    """A value whose type ptokit only carries: a pipe, a session, an array of events."""
    return Operand(name, Role.IN, Kind.SCALAR, optional, also=(Kind.PTR,))


# --------------------------------------------------- lowered forms (7.1)

BIND_TILE = retired(
    "bind_tile",
    "A memref with the layout of a tile.",
    src("source"),
    scalar("valid_row", optional=True),
    scalar("valid_col", optional=True),
    form=grammar("%source <? , %valid_row:index , %valid_col:index ?> {} : T(source) -> R"),
)
POINTER_CAST = retired(
    "pointer_cast",
    "A memref at byte addresses.",
    scalars("addrs"),
    scalar("valid_row", optional=True),
    scalar("valid_col", optional=True),
    form=grammar("~( %addrs*:i64 ) <? ( %valid_row:index , %valid_col:index ) ?> {} : R"),
)
DECLARE_TILE_MEMREF = retired("declare_tile_memref", "A memref without an address.", form=grammar("{} -> R"))
