"""Checks of tiles that the rules of several packages share; each gives a message, or None."""

from __future__ import annotations

from collections.abc import Iterable

from ptokit.diagnostics import rule
from ptokit.targets import TARGETS, Target
from ptokit.types.dtypes import DType
from ptokit.types.enums import Pipe

from ..site import PtrInfo, Site, TileInfo, VectorInfo, VregInfo
from ..table import Instr, Role
from ..typesets import TypeSet, names
from ..unknown import Size
from .operands import Message, all_tiles, is_nd, layout, overlap


def not_plain(o: Site) -> Message:
    """A destination or source that is not a row-major Vec tile without boxes."""
    for name, t in o.data_tiles:
        if t.loc.name != "Vec":
            return f"{o:{name}} is a {t.loc.text} tile; {o.instr.name} works on vec tiles"
        if not is_nd(t):
            return f"{layout(o, name)}; {o.instr.name} works on row-major tiles without boxes"
    return None


def not_vec(o: Site, *names: str) -> Message:
    """One of the operands that is not a Vec tile."""
    for name in names:
        t = o.operands.get(name)
        if isinstance(t, TileInfo) and t.loc.name != "Vec":
            return f"{o:{name}} is a {t.loc.text} tile; {o.instr.name} works on vec tiles"
    return None


def vec_rows(o: Site, *names: str) -> Message:
    """One of the operands that is not a row-major tile of vec; boxes do not matter."""
    for name in names:
        t = o.operands.get(name)
        if isinstance(t, TileInfo) and (t.loc.name != "Vec" or not t.row_major):
            return f"{o:{name}} is a {t.blayout.text} {t.loc.text} tile; the assembler wants a row_major vec tile"
    return None


def boxed_or_columns(o: Site, *names: str) -> Message:
    """One of the operands that is not row-major without boxes."""
    for name in names:
        t = o.operands.get(name)
        if isinstance(t, TileInfo) and not is_nd(t):
            return f"{layout(o, name)}; it must be row-major without boxes"
    return None


def not_of(o: Site, allowed: TypeSet, *operands: str) -> Message:
    """One of the operands whose element type is not among the allowed ones."""
    for name in operands:
        t = o.operands.get(name)
        if isinstance(t, TileInfo) and t.dtype not in allowed:
            return f"{o:{name}} has element type {t.dtype}; {o.instr.name} on {o.target.name} takes {names(allowed)}"
    return None


def differ(o: Site, first: str, *others: str) -> Message:
    """One of the other operands with another element type than the first."""
    a = o.operands.get(first)
    for name in others:
        b = o.operands.get(name)
        if isinstance(a, TileInfo) and isinstance(b, TileInfo) and a.dtype is not b.dtype:
            return f"{o:{name}} has element type {b.dtype}, {o:{first}} has {a.dtype}"
    return None


def valid_differs(o: Site, first: str, *others: str) -> Message:
    """One of the other operands with another valid region than the first."""
    a = o.operands.get(first)
    for name in others:
        b = o.operands.get(name)
        if isinstance(a, TileInfo) and isinstance(b, TileInfo) and (a.vr != b.vr or a.vc != b.vc):
            return f"{o:{name}} is valid in {b.vr}x{b.vc}, {o:{first}} in {a.vr}x{a.vc}"
    return None


def small(o: Site, name: str, need: Size) -> Message:
    """A tile with fewer bytes than the assembler asks for."""
    t = o.operands.get(name)
    if isinstance(t, TileInfo) and t.spec.nbytes < need:
        return f"{o:{name}} has {t.spec.nbytes} bytes; the assembler wants at least {need}"
    return None


def precise(o: Site) -> bool:
    """True if the text asks for the instruction's algorithm of high precision."""
    return "high_precision" in str(o.attrs.get("precisionType", ""))


def rows_differ(o: Site, first: str, *others: str) -> Message:
    """One of the other operands with another number of valid rows than the first."""
    a = o.operands.get(first)
    for name in others:
        b = o.operands.get(name)
        if isinstance(a, TileInfo) and isinstance(b, TileInfo) and a.vr != b.vr:
            return f"{o:{name}} has {b.vr} valid rows, {o:{first}} has {a.vr}"
    return None


def overlapping(o: Site, *names: str) -> Message:
    """A destination that shares bytes with a source or a scratch tile, or with another destination.

    ``names``: only of these operands.
    """
    tiles = [(name, tile) for name, tile in all_tiles(o) if not names or name in names]
    for name, a in tiles:
        for other, b in tiles:
            if other != name and o.instr.operand(name).role is Role.OUT and overlap(a, b):
                return f"{o:{name}} and {o:{other}} share bytes; {o.instr.name} does not work in place"
    return None


def missing(o: Site) -> Message:
    """For instructions that a target does not have."""
    hint = _owners(name for name, target in TARGETS.items() if has(o.instr, target))
    message = f"{o.target.name} has no such instruction"
    return (message, hint) if hint else message


def _owners(names: Iterable[str]) -> str:
    """``cpu, a2a3 and a5 have it``."""
    *others, last = [*names] or [""]
    return f"{', '.join(others)} and {last} have it" if others else f"{last} has it" if last else ""


def has(instr: Instr, target: Target) -> bool:
    """True if a target has an instruction."""
    return instr.name not in target.missing and not any(
        rule.check is missing and target.obeys(rule) for rule in instr.rules
    )


INSTR_ABSENT = rule(
    "INSTR-ABSENT",
    "TADDS on a5",
    "TADDS on a6",
    what="The target has the instruction.",
    why="The library for the target includes no header that defines it.",
    source="header.hpp of the library for each target",
    evidence="static_assert",
)(missing)


def absent(dtype: DType, target: Target) -> tuple[str, str] | None:
    """Message and hint of TYPE-ABSENT for an element type that a target does not have."""
    if target.existing({dtype}):
        return None
    return f"{target.name} has no {dtype}", _owners(t.name for t in TARGETS.values() if dtype in t.dtypes)


@rule(
    "TYPE-ABSENT",
    "a bf16 tile on a5",
    "a bf16 tile on kirin9030",
    source="arch_capability.hpp and the vector types of the library for each target",
    evidence="static_assert",
)
def TYPE_ABSENT(o: Site) -> Message:
    """The target has the element type of a tile, of the register that an operation makes, or behind its pointers."""
    made = [o.operands.get(result.name) for result in o.instr.produces]
    registers = any(isinstance(info, VregInfo | VectorInfo) for info in o.operands.values())
    pointers = () if registers or o.instr.pipe is Pipe.S else o.operands.values()
    for info in (*made, *(info for info in pointers if isinstance(info, PtrInfo))):
        if isinstance(info, VregInfo | VectorInfo | PtrInfo) and (found := absent(info.dtype, o.target)):
            return found
    return None


def typed(o: Site) -> TileInfo:
    """The tile whose element type selects the form."""
    found: TileInfo = o.operands[o.instr.typed_operand]  # type: ignore[assignment]
    return found


def in_types(o: Site) -> Message:
    """Message if the element type is not in the target's column."""
    allowed, dtype = o.target.of(o.instr.types), typed(o).dtype
    if allowed is None or dtype in allowed:
        return None
    return f"{o.target.name} has no {dtype} form; allowed: {names(o.target.existing(allowed))}"


def in_asm_types(o: Site) -> Message:
    """Message if the element type is not in the reference assembler's list."""
    allowed, dtype = o.target.of(o.instr.types, "asm-"), typed(o).dtype
    if allowed is None or dtype in allowed:
        return None
    return f"the assembler refuses {dtype} for {o.instr.text} on {o.target.name}; allowed: {names(allowed)}"
