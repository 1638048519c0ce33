"""What the reference assembler asks of mgather and mscatter beyond the libraries (assembly 13.7)."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.diagnostics import Rule
from ptokit.types.enums import ScatterAtomicOp, TileType

from ..assembler import assembler_rule
from ..operands import DEVICES
from ..site import ScalarInfo, Site, TileInfo, ViewInfo
from ..typesets import names, types_of
from .index_checks import Message, Parts, check

DATA = types_of("i8 u8 i16 u16 i32 u32 f16 bf16 f32 e4m3 e5m2 hif8")
ADD = types_of("f16 f32 i32")
EXTREME = types_of("f32 i32")


def _kinds(o: Site) -> Message:
    for operand in o.instr.operands:
        info = o.operands.get(operand.name)
        if info is not None and not isinstance(info, TileInfo | ViewInfo):
            type = info.type if isinstance(info, ScalarInfo) else operand.kind
            return f"{operand.name} has the type {type}, whose rank is not known"
    return None


def _plain(p: Parts) -> Message:
    for name, tile in ((p.name, p.data), ("idx", p.idx)):
        if not isinstance(tile, TileInfo):
            return f"{name} is a view of global memory; the text form takes a tile"
        if tile.loc is not TileType.Vec or tile.layout_name != "ND":
            return f"{name} is a {tile.loc.text} tile with the layout {tile.layout_name}, not a row-major vec tile"
    return None


def _data(p: Parts) -> Message:
    return None if p.data.dtype in DATA else f"{p.name} holds {p.data.dtype}, not one of {names(DATA)}"


def _index(p: Parts) -> Message:
    return None if p.idx.dtype.name == "i32" else f"idx holds {p.idx.dtype}, not i32"


def _same(p: Parts) -> Message:
    return None if p.table.dtype is p.data.dtype else f"the table holds {p.table.dtype}, {p.name} {p.data.dtype}"


def _nd(p: Parts) -> Message:
    return f"the table's layout is {p.table.layout.name}, not ND" if p.plain_table is False else None  # type: ignore[union-attr]


def _rows(p: Parts) -> Message:
    if isinstance(p.idx, TileInfo) and p.idx.rows != p.data.rows:
        return f"idx has {p.idx.rows} rows, {p.name} {p.data.rows}"
    return None


def _cols(p: Parts) -> Message:
    if isinstance(p.idx, TileInfo) and p.idx.cols not in (1, p.data.cols):
        return f"idx has {p.idx.cols} columns, neither 1 nor the {p.data.cols} of {p.name}"
    return None


def _atomic(p: Parts) -> Message:
    atomic = p.site.atomic
    allowed = ADD if atomic is ScatterAtomicOp.Add else EXTREME
    if atomic is not ScatterAtomicOp.NONE and p.data.dtype not in allowed:
        return f"scatterAtomicOp {atomic.text} on {p.data.dtype}, not one of {names(allowed)}"
    return None


_CONDITIONS: tuple[tuple[str, Callable[[Site], Message], str, str], ...] = (
    ("The target is A5.", lambda o: f"{o.instr.text} is written for a5, not {o.target.name}", "a5", "a2a3"),
    ("Every operand has a known rank.", _kinds, "a tile_buf", "an unranked memref"),
    ("Data and index tile are row-major vec tiles without boxes.", check(_plain), "vec, row_major", "vec, col_major"),
    ("Data elements have 8 to 32 bits.", check(_data), "f16", "i64"),
    ("Indices are signless i32.", check(_index), "i32", "ui32"),
    ("The table has the element type of the data.", check(_same), "f32 and f32", "f32 and f16"),
    ("The table is ND where its layout can be told.", check(_nd), "strides 64 and 1", "layout dn"),
    ("Data and index tile have equal rows.", check(_rows), "8 and 8", "8 and 1"),
    ("The index tile has one column, or those of the data.", check(_cols), "8x1 for 8x64", "8x8 for 8x64"),
    ("Atomic add on f16 f32 i32, max and min on f32 i32.", check(_atomic), "add on f32", "add on bf16"),
)


def text_rules(prefix: str) -> tuple[Rule, ...]:
    """GA-1 .. GA-9 for mgather, SC-1 .. SC-10 for mscatter."""
    count = 9 if prefix == "GA" else 10
    return tuple(
        assembler_rule(
            f"{prefix}-{number}",
            accepted,
            rejected,
            what=what,
            targets=("a2a3",) if number == 1 else DEVICES,
            source="assembly 13.7",
        )(condition)
        for number, (what, condition, accepted, rejected) in enumerate(_CONDITIONS[:count], 1)
    )
