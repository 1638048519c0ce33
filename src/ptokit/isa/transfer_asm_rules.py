"""What the reference assembler refuses of tload, tprefetch, tstore and tstore_fp (assembly 13.4, 13.5).

Most of it is an ISA rule as well, and reported as such. The rest is narrower than the instruction: the assembler knows
integers without sign, written i8 … i64. It is a warning, since the instruction is legal.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ptokit.diagnostics import Rule, Scope, Severity, define
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import TileType

from .site import Site
from .transfer_rules import Message, names

SIGNLESS = frozenset(DTYPES[n] for n in ("i8", "i16", "i32", "i64", "f16", "bf16", "f32"))
QUANT = {
    "a2a3": {"i32": ("i8", "f16"), "f32": ("i8",)},
    "a5": {"i32": ("i8", "f16", "bf16"), "f32": ("i8", "f16", "bf16", "f32")},
}

_rule: Callable[..., Rule] = partial(define, scope=Scope.ASSEMBLER)


def _element(o: Site) -> Message:
    if o.dst.dtype in SIGNLESS:
        return None
    return f"the tile has element type {o.dst.dtype}; the assembler loads {names(SIGNLESS)}"


def _stored(o: Site) -> Message:
    plain = (TileType.Vec, TileType.Mat) if o.target.name == "a2a3" else (TileType.Vec,)
    if o.src.loc not in plain or o.src.dtype in SIGNLESS:
        return None
    return f"the tile has element type {o.src.dtype}; the assembler stores {names(SIGNLESS)}"


def _quantised(o: Site) -> Message:
    allowed = QUANT[o.target.name].get(o.src.dtype.name)
    if not o.has("quant") or o.src.loc is not TileType.Acc or allowed is None or o.dst.dtype.name in allowed:
        return None
    return f"{o.src.dtype} to {o.dst.dtype} with a quantisation word; the assembler takes {', '.join(allowed)}"


_narrower = partial(
    _rule,
    severity=Severity.WARNING,
    decision="The instruction takes more types than the assembler; text that uses them is run, with a warning.",
)

LOAD = (
    _narrower(
        "LD-5",
        "The element type of a loaded tile is i8, i16, i32, i64, f16, bf16 or f32.",
        _element,
        targets=("a2a3",),
        source="assembly 13.4",
        accepted="i8",
        rejected="ui8",
    ),
)
STORE = (
    _narrower(
        "ST-9",
        "The element type of a Vec tile to store (on a2a3 also Mat) is i8, i16, i32, i64, f16, bf16 or f32.",
        _stored,
        targets=("a2a3", "a5"),
        source="assembly 13.5",
        accepted="i8",
        rejected="ui8",
    ),
    _narrower(
        "ST-12",
        "With a quantisation word i32 goes to i8 or f16, f32 to i8.",
        _quantised,
        targets=("a2a3",),
        source="assembly 13.5",
        accepted="f32 to i8",
        rejected="f32 to ui8",
    ),
    _narrower(
        "ST-13",
        "With a quantisation word i32 goes to i8, f16 or bf16, f32 to i8, f16, bf16 or f32.",
        _quantised,
        targets=("a5",),
        source="assembly 13.5",
        accepted="f32 to bf16",
        rejected="f32 to ui8",
    ),
)

for _id, _what, _where in (
    ("LD-3", "Dimensions of the view are positive.", "LS-COM-03"),
    ("LD-4", "Valid sizes of the tile are positive.", "LS-COM-03"),
    ("LD-6", "Loads go to Vec and Mat on a2a3.", "LOAD-A3-02"),
    ("LD-7", "Tile and view have elements of one size.", "LS-COM-04"),
    ("LD-9", "An i64 tile has pad null or zero on a5.", "LOAD-A5-02"),
    ("ST-3", "Dimensions of the view are positive.", "LS-COM-03"),
    ("ST-4", "Valid sizes of the tile are positive.", "LS-COM-03"),
    ("ST-5", "View and valid region have as many elements.", "the shape rule of the path, or LS-COM-09"),
    ("ST-6", "Stores come from Vec, Acc, on a2a3 also Mat.", "STORE-A3-01 or STORE-A5-01"),
    ("ST-7", "A quantisation word goes with an accumulator.", "LS-COM-08"),
    ("ST-8", "Relu goes with an accumulator.", "LS-COM-08"),
    ("ST-10", "Tile and view have elements of one size.", "LS-COM-04"),
    ("ST-11", "An accumulator is i32 or f32.", "STORE-A3-11 or STORE-A5-08"),
    ("ST-14", "Without quantisation an accumulator goes to i32, f32, f16 or bf16.", "STORE-A3-12 or STORE-A5-11"),
    ("ST-15", "An accumulator has 1 to 4095 columns.", "STORE-A3-15 or STORE-A3-17"),
    ("SF-3", "tstore_fp stores accumulators.", "LS-COM-07"),
    ("SF-4", "The accumulator is f32 or a 32-bit integer.", "STORE-A3-11"),
    ("SF-5", "An accumulator has 1 to 4095 columns.", "STORE-A3-15 or STORE-A3-17"),
    ("PF-1", "Dimensions of the view are positive.", "LS-COM-03"),
    ("PF-2", "Valid sizes of the tile are positive.", "LS-COM-03"),
    ("PF-3", "Prefetch goes to Vec and Mat.", "PREF-02"),
    ("PF-4", "Tile and view have elements of one size.", "PREF-03"),
):
    _rule(
        _id,
        _what,
        source="assembly 13.4, 13.5",
        why=f"Reported as {_where}.",
        accepted=f"see {_where}",
        rejected=f"see {_where}",
    )
