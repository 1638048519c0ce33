"""Checks of tiles that the rules of several packages share; each gives a message, or None."""

from __future__ import annotations

from ..site import Site, TileInfo
from ..table import Role
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
    return f"it does not exist on {o.target.name}"


def typed(o: Site) -> TileInfo:
    """The tile whose element type selects the form."""
    found: TileInfo = o.operands[o.instr.typed_operand]  # type: ignore[assignment]
    return found


def in_types(o: Site) -> Message:
    """Message if the element type is not in the target's column."""
    allowed, dtype = o.target.of(o.instr.types), typed(o).dtype
    if allowed is None or dtype in allowed:
        return None
    return f"{o.target.name} has no {dtype} form; allowed: {names(allowed)}"


def in_asm_types(o: Site) -> Message:
    """Message if the element type is not in the reference assembler's list."""
    allowed, dtype = o.target.of(o.instr.types, "asm-"), typed(o).dtype
    if allowed is None or dtype in allowed:
        return None
    return f"the assembler refuses {dtype} for {o.instr.text} on {o.target.name}; allowed: {names(allowed)}"
