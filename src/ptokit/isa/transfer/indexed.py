"""Addresses of MGATHER and MSCATTER: forms, capacities, out-of-range indices (move-gather-scatter 10.2, 10.3, 11.3).

Then their operands by what they mean, and what the reference assembler asks of them beyond the libraries.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from ptokit.diagnostics import Rule
from ptokit.records import dataclass
from ptokit.targets import A2A3, A5, Target
from ptokit.types.enums import Coalesce, Layout, ScatterAtomicOp, ScatterOOB, TileType
from ptokit.types.tile import DYNAMIC

from ..checks.compiling import DEVICES
from ..checks.tiles import assembler_rule
from ..machine import Machine, TileOperand, ViewOperand
from ..operands import names, types_of
from ..site import ScalarInfo, Site, TileInfo, ViewInfo, product
from ..table import Kind

Message = str | tuple[str, str] | None
Describe = Callable[[int, int, int], str]


class Form(Enum):
    """How indices address a table. The ``L1`` forms take them from global memory and fill a Mat tile."""

    ELEM = "element"
    ROW = "row"
    NZ_ELEM = "element of an NZ table"
    NZ_ROW = "row of an NZ table"
    L1_ELEM = "element, into L1"
    L1_ROW = "row, into L1"

    @property
    def by_row(self) -> bool:
        """True if one index addresses a row."""
        return self in (Form.ROW, Form.NZ_ROW, Form.L1_ROW)


def coalesce(
    mode: Coalesce | None, *, l1: bool, scratch: bool, index: tuple[Any, Any], data: tuple[Any, Any]
) -> Coalesce:
    """The mode, or the one meant where none is written: Elem (GATHER-COM-02).

    The L1 forms tell themselves apart by their scratch memory, and text writes one index per row as one column (GA-9).
    ``index`` and ``data`` are valid rows and columns.
    """
    if mode is not None:
        return mode
    if l1:
        return Coalesce.Elem if scratch else Coalesce.Row
    one_per_row = index[1] == 1 and data[1] != 1 and index[0] == data[0]
    return Coalesce.Row if one_per_row else Coalesce.Elem


def form_of(mode: Coalesce, *, l1: bool, nz: bool) -> Form:
    """The form of a call; ``nz``: the table has the NZ layout (a2a3)."""
    row = mode is Coalesce.Row
    if l1:
        return Form.L1_ROW if row else Form.L1_ELEM
    if nz:
        return Form.NZ_ROW if row else Form.NZ_ELEM
    return Form.ROW if row else Form.ELEM


def capacity(form: Form, on: Target, shape: tuple[Any, ...], c0: int) -> Any:
    """Number of legal indices: elements or rows of the table. ``shape`` is 5-D, ``on`` the target."""
    s0, s1, s2, s3, _ = shape
    match form:
        case Form.ELEM | Form.L1_ELEM:
            return product(shape)
        case Form.NZ_ELEM:
            return s2 * 16 * s0 * s1 * c0
        case Form.NZ_ROW:
            return s2 * 16
        case Form.ROW if not on.is_a(A2A3):
            return s3
        case _:
            return s0 * s1 * s2 * s3


def read_indices(idx: Any, form: Form, rows: int, cols: int) -> np.ndarray:
    """Indices as written, (blocks or 1, rows, cols), or (blocks or 1, rows, 1) where one addresses a row.

    A row index is the r-th element of the index buffer, whatever the shape of its tile.
    """
    if not is_tile(idx):
        pitch = 0 if form.by_row else idx.stride[3]
        r, c = np.arange(rows)[:, None], np.arange(1 if form.by_row else cols)
        where = (r + c if form.by_row else r * pitch + c)[None]
        return idx.gather(where, lambda block, row, col: f"the index for row {row}, column {col}")
    if not form.by_row:
        return idx.read(rows, cols)
    spec = idx.spec
    if not spec.boxed and spec.row_major and rows <= spec.cols:
        return idx.read(1, rows).transpose(0, 2, 1)
    if not spec.boxed and not spec.row_major and rows <= spec.rows:
        return idx.read(rows, 1)
    return idx.raw().view(spec.dtype.value)[:, :rows, None]


def is_tile(operand: TileOperand | ViewOperand) -> bool:
    """True for a tile, False for a view."""
    return hasattr(operand, "spec")


def remap(raw: np.ndarray, cap: int, oob: str, *, wide: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Indices after the out-of-range treatment, int64, and where they count (None: everywhere).

    Indices are unsigned numbers of 32 bits, or with ``wide`` (cpu) sign-extended to 64 bits first. ``oob`` is the name
    of the mode; the modes that leave elements out, and Undefined, mark indices from `cap` on as not counting.
    """
    if wide:
        u = (raw if raw.dtype.kind == "u" else raw.astype(np.int64).view(np.uint64)).astype(np.uint64, copy=False)
    else:
        u = raw.view(np.uint32)
    outside = u >= cap
    if not outside.any():
        return u.astype(np.int64), None
    if oob == "Wrap":
        return (u % u.dtype.type(cap)).astype(np.int64), None
    place = u.astype(np.int64)
    place[outside] = cap - 1 if oob == "Clamp" else 0
    return place, None if oob == "Clamp" else ~outside


def resolve(m: Machine, raw: np.ndarray, cap: int, oob: Any, form: Form, rule: str) -> Any:
    """`remap`, where an index out of range under Undefined breaks `rule`."""
    place, keep = remap(raw, cap, oob.name, wide=not m.target.is_device)
    if keep is not None and oob.name == "Undefined":
        block, row, col = np.argwhere(~keep)[0].tolist()
        m.refuse(
            rule,
            f"{indexed(raw)(block, row, col)} is not below {cap}, the number of the table's "
            f"{'rows' if form.by_row else 'elements'}",
            hint="choose an out-of-bounds mode, or keep the indices inside the table",
            block=block,
        )
    return place, keep


def indexed(raw: np.ndarray) -> Describe:
    """Words for an element that an index addresses."""
    per_row = raw.shape[2] == 1

    def describe(block: int, row: int, col: int) -> str:
        value = raw[block if len(raw) > 1 else 0, row, 0 if per_row else col]
        return f"index {value} at row {row}, column {col}"

    return describe


def row_width(form: Form, shape: tuple[int, ...], c0: int, cols: int) -> int:
    """Columns that one index moves: an NZ row carries every column block of the table, valid or not."""
    return shape[0] * shape[1] * c0 if form is Form.NZ_ROW else cols


def offsets(form: Form, on: Target, k: np.ndarray, table: ViewOperand, width: int, c0: int) -> np.ndarray:
    """Element offsets from the table's first element, (blocks or 1, rows, width), of remapped indices `k`."""
    _, s1, _, _, _ = table.shape
    t0, t1, t2, t3, t4 = table.stride
    col = np.arange(width)
    match form:
        case Form.ELEM | Form.L1_ELEM:
            return k
        case Form.NZ_ELEM:
            row, col = np.divmod(k, table.shape[0] * s1 * c0)
        case Form.NZ_ROW:
            row, t4 = k, 1
        case Form.ROW if not on.is_device:
            return k * t3 + col * t4
        case Form.ROW if on.is_a(A5):
            return k * width + col
        case _:
            return k * t3 + col
    block = col // c0
    return (block // s1) * t0 + (block % s1) * t1 + (row // 16) * t2 + (row % 16) * t3 + (col % c0) * t4


def in_l1(data: TileOperand, idx: Any) -> bool:
    """True for the forms that fill L1 or take indices from global memory."""
    return data.spec.loc is TileType.Mat or not is_tile(idx)


# Operands by their meaning.


@dataclass(frozen=True, slots=True)
class Parts:
    """The operands of one call by their meaning."""

    site: Site
    data: TileInfo
    table: ViewInfo
    idx: TileInfo | ViewInfo
    scratch: ViewInfo | None
    name: str  # of the data tile

    def __format__(self, name: str) -> str:
        """The name of an operand, ``data`` for the data tile; the finding is about it."""
        return format(self.site, self.name if name == "data" else name)

    @property
    def l1(self) -> bool:
        """True for the forms that fill L1 from indices in global memory."""
        return self.data.loc is TileType.Mat or isinstance(self.idx, ViewInfo)

    @property
    def mode(self) -> Coalesce:
        """The mode, as written or meant."""
        index = (self.idx.vr, self.idx.vc) if isinstance(self.idx, TileInfo) else (0, 0)
        data = (self.data.vr, self.data.vc)
        return coalesce(self.site.mode, l1=self.l1, scratch=self.scratch is not None, index=index, data=data)

    @property
    def nz(self) -> bool:
        return self.table.layout is Layout.NZ

    @property
    def form(self) -> Form:
        return form_of(self.mode, l1=self.l1, nz=self.nz and self.site.target.is_a(A2A3))

    @property
    def plain_table(self) -> bool | None:
        """True for an ND table, also a vector that is ND and DN alike; None if the layout is not known."""
        layout, shape = self.table.layout, self.table.shape
        if layout is None:
            return None
        return layout is Layout.ND or (layout is Layout.DN and bool(shape[3] == 1 or shape[4] == 1))


def parts_of(o: Site) -> Parts | None:
    """The parts of a call, or None where an operand is of another kind (reported elsewhere)."""
    name, table = ("src", "dst") if o.instr.operand("dst").kind is Kind.VIEW else ("dst", "src")
    data, view, idx = (o.operands.get(n) for n in (name, table, "idx"))
    scratch = o.operands.get("scratch")
    if not isinstance(data, TileInfo) or not isinstance(view, ViewInfo) or not isinstance(idx, TileInfo | ViewInfo):
        return None
    return Parts(o, data, view, idx, scratch if isinstance(scratch, ViewInfo) else None, name)


def check(condition: Callable[[Parts], Message]) -> Callable[[Site], Message]:
    """A rule's check from a condition on the parts; its docstring is the rule's sentence."""

    def checked(o: Site) -> Message:
        parts = parts_of(o)
        return None if parts is None else condition(parts)

    checked.__doc__ = condition.__doc__
    return checked


def ub_check(condition: Callable[[Parts, TileInfo], Message]) -> Callable[[Site], Message]:
    """The same for the forms between global memory and UB, whose indices are a tile."""

    def checked(p: Parts) -> Message:
        return None if p.l1 or not isinstance(p.idx, TileInfo) else condition(p, p.idx)

    checked.__doc__ = condition.__doc__
    return check(checked)


def size(tile: TileInfo) -> str:
    """Valid region in words."""
    return f"{tile.vr}x{tile.vc}"


# What the reference assembler asks of mgather and mscatter beyond the libraries (assembly 13.7).


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
