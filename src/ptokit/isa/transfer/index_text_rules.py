"""What the reference assembler asks of mgather and mscatter beyond the libraries (assembly 13.7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ptokit.diagnostics import Rule
from ptokit.targets import A2A3
from ptokit.types.enums import Coalesce, ScatterAtomicOp, ScatterOOB, TileType
from ptokit.types.tile import DYNAMIC

from ..checks.compiling import DEVICES
from ..checks.tiles import assembler_rule
from ..operands import names, types_of
from ..site import ScalarInfo, Site, TileInfo, ViewInfo
from .index_checks import Message, Parts, check

DATA = types_of("i8 u8 i16 u16 i32 u32 f16 bf16 f32 e4m3 e5m2 hif8")
BYTE_FLOATS = types_of("e4m3 e5m2 hif8")
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
    if not p.l1 and not isinstance(p.idx, TileInfo):
        return f"{p:idx} is a view of global memory; the text form takes a tile"
    if p.data.loc is TileType.Mat and p.name == "dst":
        t = p.data
        if t.layout_name != "Nz" or t.fractal != 512 or t.rows % 16 or t.cols % t.dtype.c0:
            return f"{p:data} is {t.rows}x{t.cols} in mat with the layout {t.layout_name}, not whole boxes of Nz"
        return None
    if p.data.loc is not TileType.Vec or p.data.layout_name != "ND":
        return f"{p:data} is a {p.data.loc.text} tile with the layout {p.data.layout_name}, not a row-major vec tile"
    if isinstance(p.idx, TileInfo) and (p.idx.loc is not TileType.Vec or p.idx.boxed):
        return f"{p:idx} is a {p.idx.loc.text} tile with the layout {p.idx.layout_name}, not a vec tile without boxes"
    return None


def _target(p: Parts) -> Message:
    if not p.site.target.is_a(A2A3):
        return None
    if p.data.dtype in BYTE_FLOATS:
        return f"{p:data} holds {p.data.dtype}, which is of a5"
    return "scatterConflict is of a5" if p.name == "src" and p.site.attrs.get("conflict") is not None else None


def _data(p: Parts) -> Message:
    return None if p.data.dtype in DATA else f"{p:data} holds {p.data.dtype}, not one of {names(DATA)}"


def _index(p: Parts) -> Message:
    if p.data.loc is TileType.Mat and isinstance(p.idx, TileInfo):
        return f"{p:idx} is a tile in {p.idx.loc.text}; into mat a gather takes it from global memory"
    return None if p.idx.dtype.name == "i32" else f"{p:idx} holds {p.idx.dtype}, not i32"


def _same(p: Parts) -> Message:
    return None if p.table.dtype is p.data.dtype else f"the table holds {p.table.dtype}, {p:data} {p.data.dtype}"


def _nd(p: Parts) -> Message:
    return f"the table's layout is {p.table.layout.name}, not ND" if p.plain_table is False else None  # type: ignore[union-attr]


def _agree(*sizes: int) -> bool:
    return len({n for n in sizes if n != DYNAMIC}) < 2


def _shape(p: Parts) -> Message:
    idx, mode = p.idx, p.site.mode
    if p.l1 or not isinstance(idx, TileInfo):
        return None
    rows, cols = idx.spec.valid_row, idx.spec.valid_col
    wanted_rows, wanted_cols = p.data.spec.valid_row, p.data.spec.valid_col
    one = (0, 1, DYNAMIC)
    elements = _agree(rows, wanted_rows) and _agree(cols, wanted_cols)
    down = _agree(rows, wanted_rows) and cols in one
    if mode is None:
        fits = elements or (idx.row_major and down)
    elif mode is Coalesce.Row:
        fits = (not idx.row_major and down) or (idx.row_major and rows in one and _agree(cols, wanted_rows))
    else:
        fits = elements
    if fits:
        return None
    shown = "" if mode is None else f" with coalesce = {mode.text}"
    return f"{p:idx} is valid in {rows}x{cols}, {p:data} in {wanted_rows}x{wanted_cols}{shown}"


def _mode(p: Parts) -> Message:
    if p.name == "src":
        words = [key for key in ("oob", "conflict") if p.site.attrs.get(key) not in (None, ScatterOOB.Undefined)]
        if p.site.atomic is not ScatterAtomicOp.NONE:
            words.append("atomic")
        return f"{words[0]} without coalesce" if words and p.site.mode is None else None
    if p.site.mode is None:
        return "coalesce is missing"
    if not p.l1:
        return f"{p:scratch} goes with mat" if p.scratch is not None else None
    wants = p.site.mode is Coalesce.Elem
    if wants != (p.scratch is not None):
        return f"{p:scratch} goes with single elements to mat, and only with them"
    other = p.scratch is not None and p.scratch.dtype is not p.data.dtype
    return f"{p:scratch} holds {p.scratch.dtype}, dst {p.data.dtype}" if other and p.scratch is not None else None


def _atomic(p: Parts) -> Message:
    atomic = p.site.atomic
    allowed = ADD if atomic is ScatterAtomicOp.Add else EXTREME
    if atomic is not ScatterAtomicOp.NONE and p.data.dtype not in allowed:
        return f"scatterAtomicOp {atomic.text} on {p.data.dtype}, not one of {names(allowed)}"
    return None


_COALESCED = " {coalesce = #pto<coalesce elem>}"
_ATOMIC = "scatterAtomicOp = #pto<scatter_atomic_op add>"


class _Row(NamedTuple):
    """A rule of both: its sentence and check; what its example has for the table, the index, the data, the words."""

    what: str
    check: Callable[[Site], Message]
    table: str = "!pto.partition_tensor_view<16x16xf32>"
    indices: str = "16x16xi32"
    data: str = "16x16xf32"
    gather: str = _COALESCED
    scatter: str = _COALESCED

    def example(self, prefix: str) -> str:
        """A statement that keeps the rule, and one that breaks it."""
        index, data = f"!pto.tile_buf<vec, {self.indices}>", f"!pto.tile_buf<vec, {self.data}>"
        if prefix == "GA":
            return f"pto.mgather ins(%v, %i : {self.table}, {index}) outs(%t : {data}){self.gather}"
        return f"pto.mscatter ins(%t, %i : {data}, {index}) outs(%v : {self.table}){self.scatter}"


_BYTES = "16x32x{i8|f8E4M3FN}"
_ROWS = (
    _Row(
        "On a2a3 data are no 8-bit floats, and a scatter names no conflict.",
        check(_target),
        table=f"!pto.partition_tensor_view<{_BYTES}>",
        indices="16x32xi32",
        data=_BYTES,
    ),
    _Row(
        "Every operand has a known rank.",
        _kinds,
        table="{!pto.partition_tensor_view<16x16xf32>|!pto.ptr<f32>}",
    ),
    _Row(
        "Data are a row-major vec tile, the index an unboxed one; or Nz in mat.",
        check(_plain),
        data="16x16xf32{|, blayout=col_major}",
    ),
    _Row(
        "Data elements have 8 to 32 bits.",
        check(_data),
        table="!pto.partition_tensor_view<16x16x{f32|i64}>",
        data="16x16x{f32|i64}",
    ),
    _Row("Indices are signless i32, of a gather into mat in global memory.", check(_index), indices="16x16x{i32|ui32}"),
    _Row(
        "The table has the element type of the data.", check(_same), table="!pto.partition_tensor_view<16x16x{f32|i32}>"
    ),
    _Row(
        "The table is ND where its layout can be told.",
        check(_nd),
        table="!pto.{partition_tensor_view|tensor_view}<16x16xf32>",
    ),
    _Row(
        "The index tile has an index for each row, or each element, as coalesce says.",
        check(_shape),
        indices="16x{16|8}xi32",
    ),
    _Row(
        "A gather has coalesce; so has a scatter with other words. Scratch is for elements to mat.",
        check(_mode),
        gather=f"{{{_COALESCED}|}}",
        scatter=f" {{{{coalesce = #pto<coalesce elem>, |}}{_ATOMIC}}}",
    ),
    _Row(
        "Atomic add on f16 f32 i32, max and min on f32 i32.",
        check(_atomic),
        table="!pto.partition_tensor_view<16x16x{f32|bf16}>",
        data="16x16x{f32|bf16}",
        scatter=f" {{coalesce = #pto<coalesce elem>, {_ATOMIC}}}",
    ),
)


def text_rules(prefix: str) -> tuple[Rule, ...]:
    """GA-1 .. GA-9 for mgather, SC-1 .. SC-10 for mscatter."""
    return tuple(
        assembler_rule(
            f"{prefix}-{number}",
            row.example(prefix),
            what=row.what,
            reported_as="TEXT-OPERANDS" if row.check is _kinds else "",  # of text
            targets=("a2a3",) if number == 1 else DEVICES,
            source="assembly 13.7; PTOAS 2026-08 PTO.cpp MGatherOp, MScatterOp",
        )(row.check)
        for number, row in enumerate(_ROWS[: 9 if prefix == "GA" else 10], 1)
    )
