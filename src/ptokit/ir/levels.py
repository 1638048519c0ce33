"""The three levels of automation, and what each allows (assembly 14).

| level | tiles | addresses |
|---|---|---|
| 1 | values in SSA form | the assembler's |
| 2 | buffers that instructions write (``outs``) | the assembler's |
| 3 | as level 2 | the program's: ``addr`` on every alloc_tile, tassign |
"""

from __future__ import annotations

from ptokit.diagnostics import Diagnostics, Doubt, Note

from .core import Module, Op
from .survey import Survey


def stated_level(module: Module) -> int:
    """The level a text is written for: 3 if a tile has an address, 1 if tiles are SSA values, else 2."""
    functions = [f for f in module.functions if f.body is not None]
    if any(op.get("addr") is not None for f in functions for op in Survey(f).named("pto.alloc_tile")):
        return 3
    return 1 if module.ssa else 2


def check_level(survey: Survey, level: int | None, auto_sync: bool, found: Diagnostics) -> None:
    """Report tiles that are placed by the wrong side: AL-5 where no level was asked for, else LV-1 and LV-2.

    Without a level every function may choose its own, but must not mix both ways.
    """
    allocations = [*survey.named("pto.alloc_tile"), *survey.named("pto.alloc_multi_tile")]
    placed = [op for op in allocations if op.get("addr") is not None]
    if level is None:
        _mixed(allocations, placed, found)
    elif level == 3:
        for op in allocations:
            if op.get("addr") is None:
                found.broken(
                    "LV-1", f"{op.result.shown} has no address; level 3 asks for one", op.location, hint=_address(op)
                )
    else:
        for op in placed:
            message = Doubt(f"{op.result.shown} has an address; at level {level} the assembler places tiles")
            found.broken("LV-1", message, op.location, hint="remove `addr`, or check with level 3")
    for op in survey.named("pto.reserve_buffer") if level is not None else ():
        _reserved(op, level == 3, found)
    for op in survey.named("pto.tassign"):
        if level is not None and level != 3:
            found.broken("LV-2", f"tassign at level {level}; it belongs to level 3", op.location)
        elif auto_sync:
            found.broken(
                "LV-2",
                "tassign together with automatic synchronisation, which cannot know what the tile overlaps then",
                op.location,
                hint="write the flags, or give each tile one address",
            )


def _reserved(op: Op, placed: bool, found: Diagnostics) -> None:
    """RB-3. ``placed``: by the program."""
    automatic, base = op.attrs.get("auto") is not False, op.attrs.get("base")
    if placed and (automatic or base is None):
        found.broken("RB-3", "at level 3 the program places the buffer", op.location, hint="auto = false, base = ...")
    elif not placed and base is not None:
        message = Doubt("base is given; at levels 1 and 2 the assembler places the buffer")
        found.broken("RB-3", message, op.location)


def _address(op: Op) -> str:
    if op.result.called is not None:
        return "give it addr=, the number of its first byte"
    return "add `addr = %address`, the number of the tile's first byte as an i64"


def _mixed(allocations: list[Op], placed: list[Op], found: Diagnostics) -> None:
    for op in allocations if placed else []:
        if op.get("addr") is None:
            note = Note(f"{placed[0].result.shown} is placed by the program", placed[0].location)
            message = f"{op.result.shown} has no address, but other tiles do"
            found.broken("AL-5", message, op.location, hint=_address(op), notes=[note])
