"""MSCATTER: elements or rows of a tile to places in global memory chosen by indices (move-gather-scatter 11)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptokit.targets import A2A3, A5
from ptokit.types.enums import Coalesce, Layout, Pipe, ScatterAtomicOp, ScatterConflict, ScatterOOB

from ..forms import ALSO
from ..machine import Machine, TileOperand, ViewOperand
from ..meaning.words import Python, Scatter, Word
from ..site import Site, TileInfo
from ..table import Access, Attr, Instr, Role, TextForm, instruction, src, view
from ..traits import Engine
from .gather import OUTSIDE, replace
from .index_checks import parts_of
from .indexed import Form, capacity, coalesce, form_of, indexed, offsets, read_indices, resolve, row_width
from .scatter_rules import RULES


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
    )
)
