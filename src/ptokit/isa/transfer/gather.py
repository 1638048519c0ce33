"""MGATHER: elements or rows of a table in global memory, chosen by indices, into a tile (move-gather-scatter 10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ptokit.targets import A2A3, A5
from ptokit.types.enums import Coalesce, GatherExec, GatherOOB, Layout, Pipe, TileType
from ptokit.types.layout import offset_map

from ..machine import Machine, TileOperand, ViewOperand
from ..meaning.words import Gather, Outside, Python, Word
from ..site import Site
from ..table import Access, Attr, Instr, Kind, Operand, Role, TextForm, dst, instruction, view
from ..traits import Engine
from .gather_rules import RULES
from .index_checks import parts_of
from .indexed import (
    Form,
    capacity,
    coalesce,
    form_of,
    in_l1,
    indexed,
    is_tile,
    offsets,
    read_indices,
    resolve,
    row_width,
)


def mgather(
    m: Machine,
    dst: TileOperand,
    src: ViewOperand,
    idx: Any,
    scratch: ViewOperand | None,
    *,
    mode: Coalesce | None,
    oob: GatherOOB,
    exec: GatherExec,
) -> None:
    """``dst[r, c] = src[remap(idx[r, c])]``, or rows of it; bits unchanged."""
    rows, cols = dst.vr, dst.vc
    if rows == 0 or cols == 0:
        return
    on, c0, l1 = m.target, dst.spec.c0, in_l1(dst, idx)
    shape = (idx.vr, idx.vc) if is_tile(idx) else (0, 0)
    mode = coalesce(mode, l1=l1, scratch=scratch is not None, index=shape, data=(rows, cols))
    form = form_of(mode, l1=l1, nz=on.is_a(A2A3) and src.layout_for(dst.spec.row_major) is Layout.NZ)
    raw = read_indices(idx, form, rows, cols)
    place, keep = resolve(m, raw, capacity(form, on, src.shape, c0), oob, form, "GATHER-COM-06")
    width = row_width(form, src.shape, c0, cols)
    values = src.gather(offsets(form, on, place, src, width, c0), indexed(raw))
    if keep is not None:
        values[np.broadcast_to(~keep, values.shape)] = 0
    values = values.view(dst.spec.dtype.value or dst.spec.dtype.storage)
    if not on.is_device or form in (Form.ELEM, Form.ROW, Form.NZ_ELEM):
        dst.write(values)
    elif form is Form.L1_ELEM:
        _through_scratch(m, dst, scratch, values)
    else:
        if oob is GatherOOB.Zero:
            dst.fill(0, dst.spec.rows, 0, dst.spec.cols, 0)
        tail = -width % c0  # the engine fills the last 32-byte group
        if tail:
            values = np.concatenate([values, np.zeros((len(values), rows, tail), values.dtype)], axis=2)
        dst.write(values, rows, width + tail)


def _through_scratch(m: Machine, dst: TileOperand, scratch: Any, values: np.ndarray) -> None:
    """Build the image of the whole tile, zero where nothing is gathered, in scratch memory, and copy it to the tile."""
    spec = dst.spec
    image = np.zeros((len(values), spec.rows, spec.cols), values.dtype)
    image[:, : dst.vr, : dst.vc] = values
    scratch.begin_store(whole=False)
    scratch.scatter(
        offset_map(spec)[None],
        image.view(scratch.dtype.value or scratch.dtype.storage),
        replace,
        m.blocks,
        lambda block, row, col: f"scratch for row {row}, column {col}",
    )
    dst.write(image, spec.rows, spec.cols)


def replace(memory: np.ndarray, where: np.ndarray, values: np.ndarray) -> None:
    """Plain writes: the last one to a place stays."""
    memory[where] = values


OUTSIDE = {
    "Undefined": Outside.REFUSED,
    "Clamp": Outside.LAST,
    "Wrap": Outside.WRAPPED,
    "Zero": Outside.LEFT_OUT,
    "Skip": Outside.LEFT_OUT,
}
"""What the words for indices out of range mean."""


def _meaning(o: Site) -> Word | None:
    """Elements, or rows, of a table that lies in rows; other forms are left to Python."""
    p = parts_of(o)
    if p is None or (p.table.layout is None and o.target.is_a(A2A3)):
        return None
    if p.l1 or p.form not in (Form.ELEM, Form.ROW):
        return Python(mgather)
    outside, device = OUTSIDE[o.oob.name], o.target.is_device
    if p.form is Form.ELEM:
        return Gather(outside, "GATHER-COM-06", unsigned=device)
    if not device and p.table.stride[4] != 1:
        return Python(mgather)
    return Gather(outside, "GATHER-COM-06", rows=True, dense=o.target.is_a(A5), unsigned=device)


def footprint(site: Site) -> Iterator[Access]:
    """Indices and the whole table are read; the tile is written beyond its valid region in some device forms."""
    p = parts_of(site)
    if p is None:
        return
    for name in ("src", "idx"):
        info = site.operands[name]
        rows, cols = (info.vr, info.vc) if hasattr(info, "vr") else (-1, -1)  # type: ignore[union-attr]
        yield Access(name, False, rows, cols)  # type: ignore[arg-type]
    spec, vr, vc = p.data.spec, p.data.vr, p.data.vc
    device = site.target.is_device
    if site.has("scratch"):
        yield Access("scratch", True, -1, -1)
    whole = p.form is Form.L1_ELEM or (p.form in (Form.L1_ROW, Form.NZ_ROW) and site.oob is GatherOOB.Zero)
    if device and whole:
        yield Access("dst", True, spec.rows, spec.cols)
    elif device and p.form in (Form.L1_ROW, Form.NZ_ROW):
        yield Access("dst", True, vr, spec.cols)  # type: ignore[arg-type]
    else:
        yield Access("dst", True, vr, vc)  # type: ignore[arg-type]


MGATHER = instruction(
    Instr(
        "MGATHER",
        "mgather",
        "Gather elements or rows of a table in global memory by indices.",
        (
            dst(),
            view("src"),
            Operand("idx", also=(Kind.VIEW,)),
            Operand("scratch", Role.SCRATCH, Kind.VIEW, optional=True),
        ),
        (
            Attr("mode", Coalesce, None, "coalesce", "coalesce"),
            Attr("oob", GatherOOB, GatherOOB.Undefined, "gatherOob", "gather_oob"),
            Attr("exec", GatherExec, GatherExec.Scalar, "gatherExec", "gather_exec"),
        ),
        pipe=lambda site: Pipe.MTE2 if site.dst.loc is TileType.Mat else Pipe.V,
        rules=RULES,
        meaning=_meaning,
        run=mgather,
        engines={"a2a3": Engine.SEVERAL_PIPES, "a5": Engine.SIMT},
        footprint=footprint,
        form=TextForm(misfits={"dst": "GA-3", "src": "GA-7", "idx": "GA-3"}),
        source="memory-and-data-movement; move-gather-scatter 10",
    )
)
