"""MSCATTER: elements or rows of a tile to places in global memory chosen by indices (move-gather-scatter 11)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptokit.diagnostics import define, family
from ptokit.targets import A2A3, A5
from ptokit.types.enums import Coalesce, Layout, Pipe, ScatterAtomicOp, ScatterConflict, ScatterOOB

from ..machine import Machine, TileOperand, ViewOperand
from ..meaning.words import Python, Scatter, Word
from ..operands import names, types_of
from ..site import Site, TileInfo
from ..table import ALSO, Access, Attr, Engine, Instr, Role, TextForm, instruction, src, view
from . import index_checks as c
from .gather import OUTSIDE, replace
from .indexed import (
    Form,
    Message,
    Parts,
    capacity,
    check,
    coalesce,
    form_of,
    indexed,
    offsets,
    parts_of,
    read_indices,
    resolve,
    row_width,
    text_rules,
    ub_check,
)

# Rules of MSCATTER (move-gather-scatter 11.4); the conditions are in `index_checks`.


SOURCE = "move-gather-scatter 11.4"
rule = family(SOURCE)
A23, A5_RULES, CPU = ("a2a3",), ("a5",), ("cpu",)

A23_ADD = types_of("f32 f16 bf16 i32 i16 i8")
A5_ADD = types_of("i32 u32 f32 f16 bf16")
A5_EXTREME = types_of("i32 u32 f32")


def _last_and_atomic(p: Parts) -> Message:
    """On cpu atomic operations exclude conflict=Last."""
    if p.site.atomic is not ScatterAtomicOp.NONE and p.site.conflict is ScatterConflict.Last:
        return f"atomic={p.site.atomic.name} with conflict=Last; an atomic operation lets every element count"
    return None


def _cpu_type(p: Parts) -> Message:
    """FP8 and HiF8 are not supported on cpu by default; 4-bit types and atomic HiF8 never."""
    if p.site.atomic is not ScatterAtomicOp.NONE and p.table.dtype.value is None:
        return f"the table holds {p.table.dtype}, for which there is no arithmetic"
    return c.cpu_type(p)


def _a23_atomic(p: Parts) -> Message:
    """Atomic Add on float half bf16 int32 int16 int8; no Max, no Min."""
    atomic, dtype = p.site.atomic, p.data.dtype
    if atomic in (ScatterAtomicOp.Max, ScatterAtomicOp.Min):
        return f"atomic={atomic.name}; a2a3 has Add only"
    if atomic is ScatterAtomicOp.Add and dtype not in A23_ADD:
        return f"atomic=Add on {dtype}; a2a3 adds {names(A23_ADD)}"
    return None


def _a5_atomic(p: Parts) -> Message:
    """Atomic Add on int32 uint32 float half bf16, Max and Min on int32 uint32 float."""
    atomic, dtype = p.site.atomic, p.data.dtype
    allowed = A5_ADD if atomic is ScatterAtomicOp.Add else A5_EXTREME
    if atomic is not ScatterAtomicOp.NONE and dtype not in allowed:
        return f"atomic={atomic.name} on {dtype}; a5 has it for {names(allowed)}"
    return None


def _conflict(p: Parts) -> Message:
    """There is no conflict parameter."""
    return None if p.site.conflict is None else f"conflict={p.site.conflict.name}; a2a3 has no such parameter"


def _either_order(o: Site) -> Message:
    """Data and indices that would fit in each other's place are given by name."""
    alike = all(isinstance(t, TileInfo) and t.dtype.name in ("i32", "u32") for t in (o.src, o.idx))
    if not alike or o.around is None or not {"src", "idx"} <= o.around.in_order:
        return None
    return f"{o:src} and {o:idx} both hold 32-bit integers, and are told apart by their order alone", _BY_NAME


_BY_NAME = "give them by name: src=, idx="

RULES = (
    rule(
        "SCATTER-COM-06",
        "x: Ptr[i32]; MSCATTER(GlobalTensor(x, (40, 16)), {src=|}Tile(Vec, i32, 8, 16), "
        "{idx=|}Tile(Vec, i32, 8, 16), mode=Coalesce.Elem)",
        why=(
            "The library takes the data before the indices, its instruction lists put the indices first: the other "
            "order scatters the indices without a word."
        ),
        source="memory-and-data-movement; move-gather-scatter 11",
        around=True,
        evidence="legal",
    )(_either_order),
    rule(
        "SCATTER-COM-01",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (40, 16)), Tile(Vec, f32, 8, 16), "
        "Tile(Vec, {i32|f16}, 8, 16), mode=Coalesce.Elem)",
        evidence="static_assert",
        on="cpu",
    )(
        "Indices are a tile of int32 or uint32; on cpu of any integer.",
        "not isinstance(idx, ViewInfo)",
        "{idx} is a view of global memory; MSCATTER takes an index tile",
        lambda o: check(c.index_type)(o),
    ),
    rule(
        "SCATTER-A23-01",
        "x: Ptr[{u8|hif8}]; MSCATTER(GlobalTensor(x, (40, 32)), Tile(Vec, {u8|hif8}, 8, 32), "
        "Tile(Vec, i32, 8, 32), mode=Coalesce.Elem)",
        what="Element type int8 uint8 int16 uint16 int32 uint32 half bf16 float.",
        evidence="static_assert",
    )(check(c.data_type(c.A23_TYPES))),
    rule(
        "SCATTER-A5-01",
        "x: Ptr[{e4m3|e8m0}]; MSCATTER(GlobalTensor(x, (40, 32)), Tile(Vec, {e4m3|e8m0}, 8, 32), "
        "Tile(Vec, i32, 8, 32), mode=Coalesce.Elem)",
        what="Element type of the A2/A3 set, hif8, e4m3 or e5m2.",
        evidence="static_assert",
    )(check(c.data_type(c.A5_TYPES))),
    rule(
        "SCATTER-CPU-02",
        "x: Ptr[{i64|e4m3}]; MSCATTER(GlobalTensor(x, (40, 32)), Tile(Vec, {i64|e4m3}, 8, 32), "
        "Tile(Vec, i32, 8, 32), mode=Coalesce.Elem)",
        evidence="simulator",
    )(check(_cpu_type)),
    rule(
        "SCATTER-COM-03",
        "x: Ptr[{f32|i8}]; MSCATTER(GlobalTensor(x, (40, 16)), Tile(Vec, f32, 8, 16), Tile(Vec, i32, 8, 16), "
        "mode=Coalesce.Elem)",
        decision="Types of one size are stored bit for bit on cpu; atomics compute in the table's type.",
        evidence="static_assert",
        on="cpu",
    )(check(c.same_types)),
    rule(
        "SCATTER-COM-02",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (40, 16)), Tile(Vec, f32, 8, 16), "
        "Tile(Vec, i32, 8, 16){, mode=Coalesce.Elem|})",
        what="Without a mode the libraries differ by target; it means Elem without atomics.",
        source="move-gather-scatter 11.4, 12 D2",
        decision="One index column for several data columns is read as one index per row (assembly SC-9).",
        evidence="document",
        on="cpu",
    )(check(c.bare)),
    rule(
        "SCATTER-COM-04",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, ({40|0}, 16)), Tile(Vec, f32, 8, 16), Tile(Vec, i32, 1, 8), "
        "mode=Coalesce.Row)",
        why="The indices are checked when the instruction runs.",
        source="move-gather-scatter 11.2",
        evidence="device",
        on="cpu",
    )(check(c.no_capacity)),
    define(
        "SCATTER-COM-05",
        "With conflict=Default no two elements store different values to one place.",
        targets=A5_RULES,
        why="Checked when the instruction runs. Otherwise the last one in row-major order stays.",
        source="move-gather-scatter 11.3",
        example="""
            # ptokit run
            x: Ptr[f32]
            i = Tile(Vec, i32, 1, 8)
            s = Tile(Vec, f32, 1, 8)
            TCI(i, 0)
            TCVT(s, i, RoundMode.RINT)
            TEXPANDS(i, 1)
            how = ScatterConflict.{Last|Default}
            MSCATTER(GlobalTensor(x, (1, 1, 1, 1, 100)), s, i, mode=Coalesce.Elem, conflict=how)
        """,
        evidence="device",
    ),
    rule(
        "SCATTER-CPU-01",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (40, 16)), Tile(Vec, f32, 8, 16), Tile(Vec, i32, 8, 16), "
        "mode=Coalesce.Elem, atomic=ScatterAtomicOp.Max{|, conflict=ScatterConflict.Last})",
        evidence="static_assert",
    )(check(_last_and_atomic)),
    rule(
        "SCATTER-CPU-03",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (40, 16)), Tile(Vec, f32, 8, 16), Tile(Vec, i32, {8|4}, 16), "
        "mode=Coalesce.Elem)",
        what="The index tile has an element for every element or row that is scattered.",
        source="derived: the library reads past the index tile",
        evidence="simulator",
    )(ub_check(c.covered)),
    rule(
        "SCATTER-A23-02",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (40, 16)), Tile({Vec|Mat}, f32, 8, 16), "
        "Tile(Vec, i32, 8, 16), mode=Coalesce.Elem)",
        what="Source and indices are vec tiles, the indices row-major without boxes.",
        evidence="static_assert",
    )(check(lambda p: c.vec_only(p) or (c.plain_index(p, p.idx) if isinstance(p.idx, TileInfo) else None))),
    rule(
        "SCATTER-A23-03",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (4, 3, 16, 8), layout=Layout.NZ), "
        "Tile(Vec, f32, 16, {32|24}, ColMajor, valid_row=8, valid_col=16, slayout=SLayout.RowMajor), "
        "Tile(Vec, i32, 1, 8), mode=Coalesce.Row)",
        what="A row-major tile goes to an ND table, an Nz tile of fractal 512 to an NZ table of its boxes.",
        decision="A row of the table that is wider than the tile would be read past its end: refused.",
        evidence="static_assert",
    )(ub_check(lambda p, idx: c.paired_layout(p, idx) or c.nz_shape(p, idx))),
    rule(
        "SCATTER-A23-04",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (40, 16)), Tile(Vec, f32, 8, {16|4}), "
        "Tile(Vec, i32, 8, {16|4}), mode=Coalesce.Elem)",
        evidence="static_assert",
    )(check(c.whole_blocks)),
    rule(
        "SCATTER-A23-05",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (40, 16)), Tile(Vec, f32, 8, 16), Tile(Vec, i32, 8, 16), "
        "mode=Coalesce.Elem, atomic=ScatterAtomicOp.{Add|Max})",
        evidence="static_assert",
    )(check(_a23_atomic)),
    rule(
        "SCATTER-A23-06",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (40, 16)), Tile(Vec, f32, 8, 16), "
        "Tile(Vec, i32, 1, 8{|, valid_col=7}), mode=Coalesce.Row)",
        what="One row of indices with one per row (Row), or the valid region of the source (Elem).",
        evidence="static_assert",
    )(ub_check(lambda p, idx: c.one_index_per_row(p, idx, column=False) or c.one_index_per_element(p, idx))),
    rule(
        "SCATTER-A23-07",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (40, 16)), Tile(Vec, f32, 8, 16), Tile(Vec, i32, 8, 16), "
        "mode=Coalesce.Elem{|, conflict=ScatterConflict.Default})",
        evidence="static_assert",
    )(check(_conflict)),
    rule(
        "SCATTER-A5-06",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (40, 16)), Tile(Vec, f32, 8, 16), "
        "Tile({Vec|Mat}, i32, 8, 16), mode=Coalesce.Elem)",
        what="Source and indices are vec tiles without boxes.",
        source="as GATHER-A5-02 and GATHER-A5-08",
        evidence="device",
    )(check(lambda p: c.vec_only(p) or (c.plain_tiles(p, p.idx) if isinstance(p.idx, TileInfo) else None))),
    rule(
        "SCATTER-A5-02",
        "x: Ptr[bf16]; MSCATTER(GlobalTensor(x, (40, 32)), Tile(Vec, bf16, 8, 32), Tile(Vec, i32, 8, 32), "
        "mode=Coalesce.Elem, atomic=ScatterAtomicOp.{Add|Min})",
        evidence="static_assert",
    )(check(_a5_atomic)),
    rule(
        "SCATTER-A5-03",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (40, {16|32})), Tile(Vec, f32, 8, 16), Tile(Vec, i32, 1, 8), "
        "mode=Coalesce.Row)",
        what=(
            "Row: one index for each valid row, in one row or column; rows of the table as long as those of the source."
        ),
        evidence="static_assert",
    )(ub_check(lambda p, idx: c.one_index_per_row(p, idx, column=True) or c.row_length(p))),
    rule(
        "SCATTER-A5-04",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (40, 16)), Tile(Vec, f32, 8, 16), Tile(Vec, i32, 8, {16|8}), "
        "mode=Coalesce.Elem)",
        what="Elem: index tile and source have the same valid region; compared sizes are both static or both dynamic.",
        evidence="static_assert",
    )(ub_check(lambda p, idx: c.one_index_per_element(p, idx) or c.mixed_dynamic(p, idx))),
    rule(
        "SCATTER-A5-05",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (40, 16){|, (24, 1)}), Tile(Vec, f32, 8, 16), "
        "Tile(Vec, i32, 8, 16), mode=Coalesce.Elem)",
        evidence="device",
    )(check(c.packed_table)),
    rule(
        "SCATTER-ROW-01",
        "x: Ptr[f32]; MSCATTER(GlobalTensor(x, (40, 16)), Tile(Vec, f32, 8, 16), "
        "Tile(Vec, i32, 8, {1, ColMajor|8, valid_col=1}), mode=Coalesce.Row)",
        targets=("cpu", "a5"),
        source="move-gather-scatter 11.3",
        evidence="legal",
        on="cpu",
    )(ub_check(c.apart)),
    *text_rules("SC"),
)


# MSCATTER: elements or rows of a tile to places in global memory chosen by indices (move-gather-scatter 11).


def add(memory: np.ndarray, where: np.ndarray, values: np.ndarray) -> None:
    """One addition per element, in order and in the element type: every step rounds, integers wrap."""
    np.add.at(memory, where, values)


def maximum(memory: np.ndarray, where: np.ndarray, values: np.ndarray) -> None:
    """``T = T < s ? s : T`` in order: a NaN in memory stays, a NaN to store is dropped, of equal values the first."""
    _extreme(memory, where, values, np.less, -1)


def minimum(memory: np.ndarray, where: np.ndarray, values: np.ndarray) -> None:
    """``T = s < T ? s : T`` in order, as `maximum`."""
    _extreme(memory, where, values, np.greater, 1)


def _extreme(memory: np.ndarray, where: np.ndarray, values: np.ndarray, worse: np.ufunc, sign: int) -> None:
    """The first of the best values wins at each place, if what is there is worse."""
    better = worse(memory[where], values)
    where, values = where[better], values[better]
    if not where.size:
        return
    wide = values if values.dtype.kind in "iu" or values.dtype.itemsize >= 4 else values.astype(np.float32)
    rank = np.unique(wide, return_inverse=True)[1].reshape(-1) * sign  # equal for +0 and -0
    order = np.lexsort((rank, where))  # stable: among equals the first stays in front
    where, values = where[order], values[order]
    first = np.ones(len(where), bool)
    first[1:] = where[1:] != where[:-1]
    memory[where[first]] = values[first]


PUT = {
    ScatterAtomicOp.NONE: replace,
    ScatterAtomicOp.Add: add,
    ScatterAtomicOp.Max: maximum,
    ScatterAtomicOp.Min: minimum,
}


def mscatter(
    m: Machine,
    dst: ViewOperand,
    src: TileOperand,
    idx: TileOperand,
    *,
    mode: Coalesce | None,
    atomic: ScatterAtomicOp,
    oob: ScatterOOB,
    conflict: ScatterConflict | None,
) -> None:
    """``dst[remap(idx[r, c])] = f(dst[..], src[r, c])`` in row-major order, or rows of it."""
    rows, cols = src.vr, src.vc
    if rows == 0 or cols == 0:
        return
    on, c0 = m.target, src.spec.c0
    mode = coalesce(mode, l1=False, scratch=False, index=(idx.vr, idx.vc), data=(rows, cols))
    form = form_of(mode, l1=False, nz=on.is_a(A2A3) and dst.layout_for(src.spec.row_major) is Layout.NZ)
    raw = read_indices(idx, form, rows, cols)
    place, keep = resolve(m, raw, capacity(form, on, dst.shape, c0), oob, form, "SCATTER-COM-04")
    width = row_width(form, dst.shape, c0, cols)
    where = offsets(form, on, place, dst, width, c0)
    dst.begin_store(whole=False)
    values = src.read(rows, width).view(dst.dtype.value or dst.dtype.storage)
    if on.is_a(A5) and conflict is ScatterConflict.Default and atomic is ScatterAtomicOp.NONE:
        _refuse_collisions(m, where, keep, values, raw)
    dst.scatter(where, values, PUT[atomic], m.blocks, indexed(raw), keep)


def _refuse_collisions(
    m: Machine, where: np.ndarray, keep: np.ndarray | None, values: np.ndarray, raw: np.ndarray
) -> None:
    """Two different values for one place have no defined winner (SCATTER-COM-05)."""
    shape = np.broadcast_shapes(where.shape, values.shape)
    places, bits = np.broadcast_to(where, shape), np.broadcast_to(values, shape)
    for block in range(shape[0]):
        flat, data = places[block].reshape(-1), bits[block].reshape(-1).view(f"u{values.itemsize}")
        position = np.arange(flat.size)
        if keep is not None:
            position = position[np.broadcast_to(keep, shape)[block].reshape(-1)]
        order = position[np.argsort(flat[position], kind="stable")]
        clash = np.flatnonzero((flat[order[1:]] == flat[order[:-1]]) & (data[order[1:]] != data[order[:-1]]))
        if clash.size:
            a, b = (divmod(int(order[i]), shape[2]) for i in (clash[0], clash[0] + 1))
            m.refuse(
                "SCATTER-COM-05",
                f"{indexed(raw)(block, *a)} and row {b[0]}, column {b[1]} store different values to one element, "
                "and conflict=Default leaves open which one stays",
                hint="use ScatterConflict.Last, or an atomic operation",
                block=block,
            )


def _meaning(o: Site) -> Word | None:
    """Plain stores of elements to a table that lies in rows; other forms are left to Python."""
    p = parts_of(o)
    if p is None or (p.table.layout is None and o.target.is_a(A2A3)):
        return None
    looked_at = o.target.is_a(A5) and o.conflict is ScatterConflict.Default
    if p.l1 or p.form is not Form.ELEM or o.atomic is not ScatterAtomicOp.NONE or looked_at:
        return Python(mscatter)
    return Scatter(OUTSIDE[o.oob.name], "SCATTER-COM-04", unsigned=o.target.is_device)


def footprint(site: Site) -> Iterator[Access]:
    """The tile, its whole column blocks for rows of an NZ table, and the indices are read; the table is written."""
    p = parts_of(site)
    if p is None or not isinstance(p.idx, TileInfo):
        return
    yield Access("src", False, p.data.vr, row_width(p.form, p.table.shape, p.data.c0, p.data.vc))  # type: ignore[arg-type]
    yield Access("idx", False, p.idx.vr, p.idx.vc)  # type: ignore[arg-type]
    yield Access("dst", True, -1, -1)


MSCATTER = instruction(
    Instr(
        "MSCATTER",
        "mscatter",
        "Scatter elements or rows of a tile to global memory by indices, plainly or atomically.",
        (view("dst", Role.OUT), src(), src("idx")),
        (
            Attr("mode", Coalesce, None, "coalesce", "coalesce"),
            Attr("atomic", ScatterAtomicOp, ScatterAtomicOp.NONE, "scatterAtomicOp", "scatter_atomic_op"),
            Attr("oob", ScatterOOB, ScatterOOB.Undefined, "scatterOob", "scatter_oob"),
            Attr("conflict", ScatterConflict, None, "scatterConflict", "scatter_conflict"),
        ),
        pipe=Pipe.V,
        form=TextForm(
            orders={ALSO: "src dst idx"}, misfits={"dst": "SC-7", "src": "SC-3", "idx": "SC-3"}
        ),  # the sync form's (assembly 5, rule 6)
        rules=RULES,
        meaning=_meaning,
        run=mscatter,
        engines={"a2a3": Engine.SEVERAL_PIPES, "a5": Engine.SIMT},
        footprint=footprint,
        source="memory-and-data-movement; move-gather-scatter 11",
        decision=(
            "Operands are those of the header, (dst, src, idx); lists of instructions have (dst, indices, src). Give "
            "src= and idx= by name."
        ),
        cpp="MSCATTER<mode, atomic, oob, conflict>(dst, src, idx)",
    )
)
