"""MGATHER: elements or rows of a table in global memory, chosen by indices, into a tile (move-gather-scatter 10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ptokit.diagnostics import define, family
from ptokit.targets import A2A3, A5
from ptokit.types.enums import Coalesce, GatherExec, GatherOOB, Layout, Pipe, TileType
from ptokit.types.tile import offset_map

from ..checks.compiling import overlap
from ..machine import Machine, TileOperand, ViewOperand
from ..meaning.words import Gather, Outside, Python, Word
from ..site import Site, TileInfo, known
from ..table import Access, Attr, Engine, Instr, Kind, Operand, Role, TextForm, dst, instruction, view
from . import index_checks as c
from .indexed import (
    Form,
    Message,
    Parts,
    capacity,
    check,
    coalesce,
    form_of,
    in_l1,
    indexed,
    is_tile,
    offsets,
    parts_of,
    read_indices,
    resolve,
    row_width,
    size,
    text_rules,
    ub_check,
)

# Rules of MGATHER (move-gather-scatter 10.4); the conditions are in `index_checks`.


SOURCE = "move-gather-scatter 10.4"
rule = family(SOURCE)
A23, A5_RULES, CPU = ("a2a3",), ("a5",), ("cpu",)
DEVICES = ("a2a3", "a5")


def _overlap(p: Parts) -> Message:
    """The destination does not overlap the index tile."""
    if isinstance(p.idx, TileInfo) and overlap(p.data, p.idx):
        return f"{p:data} and {p:idx} share memory, and the tile is written while indices are still read"
    return None


def _boxed_index(p: Parts, idx: TileInfo) -> Message:
    """Row indices are in a tile without boxes on cpu."""
    if p.mode is Coalesce.Row and idx.boxed:
        return f"{p:idx} has the layout {idx.layout_name}; row indices are stored without boxes"
    return None


def _cpu_row(p: Parts, idx: TileInfo) -> Message:
    """The R indices are the first R elements of the buffer."""
    if p.mode is not Coalesce.Row:
        return None
    rows = p.data.vr
    line = (idx.vr == 1 and (idx.row_major or idx.rows == 1)) or (idx.vc == 1 and (not idx.row_major or idx.cols == 1))
    if known(idx.vr, idx.vc) and not line:
        return (
            f"{p:idx} is {size(idx)} in a {idx.rows}x{idx.cols} {idx.layout_name} tile; "
            "its indices are not consecutive",
            "use a 1xR row-major or an Rx1 column-major index tile",
        )
    if idx.vr * idx.vc < rows:  # type: ignore[operator]
        return f"{p:idx} has {idx.vr * idx.vc} valid elements for {rows} rows of {p:data}"
    return None


RULES = (
    rule(
        "GATHER-COM-01",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, 16)), Tile(Vec, {i32|f32}, 8, 16), "
        "mode=Coalesce.Elem)",
        evidence="static_assert",
        on="cpu",
    )(check(c.index_type)),
    rule(
        "GATHER-A23-01",
        "x: Ptr[f32]; MGATHER(Tile(Vec, {f32|e4m3}, 8, {16|32}), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, 8, 16), mode=Coalesce.Elem)",
        what="Element type int8 uint8 int16 uint16 int32 uint32 half bf16 float.",
        evidence="static_assert",
    )(check(c.data_type(c.A23_TYPES))),
    rule(
        "GATHER-A5-01",
        "x: Ptr[{f32|i64}]; MGATHER(Tile(Vec, {f32|i64}, 8, 16), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, 8, 16), mode=Coalesce.Elem)",
        what="Element type of the A2/A3 set, hif8, e4m3 or e5m2.",
        evidence="static_assert",
    )(check(c.data_type(c.A5_TYPES))),
    rule(
        "GATHER-CPU-03",
        """
            x: Ptr[{f16|e4m3}]
            MGATHER(Tile(Vec, {f16|e4m3}, 16, 32), GlobalTensor(x, (1, 1, 1, 1, 1000)), Tile(Vec, i32, 16, 32),
                mode=Coalesce.Elem)
        """,
        evidence="simulator",
    )(check(c.cpu_type)),
    rule(
        "GATHER-COM-03",
        "x: Ptr[{f32|f16}]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, 16)), Tile(Vec, i32, 8, 16), "
        "mode=Coalesce.Elem)",
        decision="Types of one size are copied bit for bit on cpu, without conversion.",
        evidence="static_assert",
        on="cpu",
    )(check(c.same_types)),
    rule(
        "GATHER-COM-02",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, 8, 16){, mode=Coalesce.Elem|})",
        what="Without a mode the libraries differ by target; it means Elem.",
        source="move-gather-scatter 10.4, 12 D2",
        decision="One index column for several data columns is read as one index per row (assembly GA-9).",
        evidence="document",
        on="cpu",
    )(check(lambda p: None if p.l1 else c.bare(p))),
    rule(
        "GATHER-COM-07",
        "x: Ptr[f32]; x2: Ptr[i32]; MGATHER(Tile(Mat, f32, 16, 16, ColMajor, slayout=SLayout.RowMajor), "
        "GlobalTensor(x, (40, 16)), GlobalTensor(x2, (1, 16)), mode=Coalesce.{Row|Elem})",
        source="move-gather-scatter 10.1",
        evidence="static_assert",
        on="a2a3",
    )(check(c.form_agrees)),
    rule(
        "GATHER-COM-04",
        "pto.mgather ins(%v, %i : !pto.partition_tensor_view<1x100xf32>, !pto.tile_buf<vec, "
        "16x16xi32{|, valid=0x16}>) outs(%d : !pto.tile_buf<vec, 16x16xf32{|, valid=0x16}>) "
        "{coalesce = #pto<coalesce elem>}",
        targets=DEVICES,
        decision="Nothing is gathered; a device launches its threads for that.",
        evidence="legal",
    )(check(c.empty)),
    rule(
        "GATHER-COM-05",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, ({1|0}, 16)), Tile(Vec, i32, 8, 16), "
        "mode=Coalesce.Elem)",
        what="The table has rows or elements to choose from.",
        source="move-gather-scatter 10.2",
        evidence="device",
        on="cpu",
    )(check(c.no_capacity)),
    define(
        "GATHER-COM-06",
        "With oob=Undefined every index is below the number of rows or elements.",
        why="Checked when the instruction runs, on the values of the indices.",
        source="move-gather-scatter 10.2",
        example="""
            # ptokit run
            x: Ptr[f32]
            i = Tile(Vec, i32, 1, 8)
            TEXPANDS(i, {99|100})
            MGATHER(Tile(Vec, f32, 1, 8), GlobalTensor(x, (1, 1, 1, 1, 100)), i, mode=Coalesce.Elem)
        """,
        evidence="device",
    ),
    rule(
        "GATHER-COM-08",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16, addr=0), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, 8, 16, addr={512|480}), mode=Coalesce.Elem)",
        evidence="device",
        on="a2a3",
    )(check(_overlap)),
    rule(
        "GATHER-CPU-01",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, {1, 8|16, 8, ColMajor, valid_row=1, slayout=SLayout.RowMajor}), mode=Coalesce.Row)",
        evidence="static_assert",
    )(ub_check(_boxed_index)),
    rule(
        "GATHER-CPU-02",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, 1, 8{|, valid_col=7}), mode=Coalesce.Row)",
        what="Row indices are consecutive on cpu: valid [1, R] row-major or [R, 1] column-major.",
        evidence="simulator",
    )(ub_check(_cpu_row)),
    rule(
        "GATHER-CPU-04",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, 16)), Tile(Vec, i32, {8|4}, 16), "
        "mode=Coalesce.Elem)",
        what="The index tile has an element for every element or row that is gathered.",
        source="derived: the library reads past the index tile",
        evidence="simulator",
    )(ub_check(c.covered)),
    rule(
        "GATHER-A23-02",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, 16)), Tile({Vec|Mat}, i32, 8, 16), "
        "mode=Coalesce.Elem)",
        evidence="static_assert",
    )(check(c.in_ub)),
    rule(
        "GATHER-A5-02",
        "x: Ptr[f32]; MGATHER(Tile({Vec|Bias}, f32, 8, 16), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, 8, 16), mode=Coalesce.Elem)",
        evidence="static_assert",
    )(check(c.in_ub)),
    rule(
        "GATHER-A23-09",
        "x: Ptr[f32]; x2: Ptr[i32]; MGATHER(Tile(Mat, f32, 16, 16, ColMajor, slayout=SLayout.RowMajor), "
        "GlobalTensor(x, (40, 16){|, layout=Layout.DN}), GlobalTensor(x2, (1, 16)), mode=Coalesce.Row)",
        evidence="static_assert",
    )(check(c.l1_form)),
    rule(
        "GATHER-A23-10",
        "x: Ptr[f32]; x2: Ptr[i32]; x3: Ptr[f32]; "
        "MGATHER(Tile(Mat, f32, 16, 16, ColMajor, slayout=SLayout.RowMajor), GlobalTensor(x, (40, 16)), "
        "GlobalTensor(x2, (16, 16)), GlobalTensor(x3, ({16|15}, 16)), mode=Coalesce.Elem)",
        why="That its 64-byte lines are not shared between cores cannot be told from one call.",
        evidence="static_assert",
    )(check(c.scratch_memory)),
    rule(
        "GATHER-A5-09",
        "x: Ptr[f32]; x2: Ptr[i32]; x3: Ptr[f32]; "
        "MGATHER(Tile(Mat, f32, 16, 16, ColMajor, slayout=SLayout.RowMajor), GlobalTensor(x, (40, 16)), "
        "GlobalTensor(x2, (16, 16)), GlobalTensor(x3, ({16|15}, 16)), mode=Coalesce.Elem)",
        what="Into L1: as GATHER-A23-09 and GATHER-A23-10.",
        why="That exec=Simt runs on vector sub-core 0 and hands over with intra-block id 2 is for the sanitizer.",
        evidence="static_assert",
    )(check(lambda p: c.l1_form(p) or c.scratch_memory(p))),
    rule(
        "GATHER-A23-03",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, {1, 8|8, 1, ColMajor}), mode=Coalesce.Row)",
        evidence="static_assert",
    )(ub_check(c.plain_index)),
    rule(
        "GATHER-A23-04",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16{|, ColMajor}), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, 8, 16), mode=Coalesce.Elem)",
        evidence="static_assert",
    )(ub_check(c.paired_layout)),
    rule(
        "GATHER-A23-05",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, {16|4}), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, 8, {16|4}), mode=Coalesce.Elem)",
        what="Rows of the destination are multiples of 32 bytes.",
        evidence="static_assert",
    )(check(c.whole_blocks)),
    rule(
        "GATHER-A23-06",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 16, 32, ColMajor, valid_row=8, valid_col=16, "
        "slayout=SLayout.RowMajor), GlobalTensor(x, (4, 3, 16, {8|16}), layout=Layout.NZ), "
        "Tile(Vec, i32, 8, 16), mode=Coalesce.Elem)",
        decision="A row that is wider than the tile would be written past its end: refused.",
        evidence="static_assert",
    )(ub_check(c.nz_shape)),
    rule(
        "GATHER-A23-07",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, 1, 8{|, valid_col=7}), mode=Coalesce.Row)",
        what="Row: one row of indices, one for each valid row of the destination.",
        evidence="static_assert",
    )(ub_check(lambda p, idx: c.one_index_per_row(p, idx, column=False))),
    rule(
        "GATHER-A23-08",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16{|, valid_col=15}), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, 8, 16), mode=Coalesce.Elem)",
        evidence="static_assert",
    )(ub_check(c.one_index_per_element)),
    rule(
        "GATHER-A5-08",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, {8|16}, 16, ColMajor{|, valid_row=8, slayout=SLayout.RowMajor}), "
        "GlobalTensor(x, (40, 16)), Tile(Vec, i32, 8, 16), mode=Coalesce.Elem)",
        evidence="device",
    )(ub_check(c.plain_tiles)),
    rule(
        "GATHER-A5-03",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, 1, 8{|, valid_col=6}), mode=Coalesce.Row)",
        what="Row: one index for each valid row of the destination, in one row or one column.",
        evidence="static_assert",
    )(ub_check(lambda p, idx: c.one_index_per_row(p, idx, column=True))),
    rule(
        "GATHER-A5-04",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, {16|32})), Tile(Vec, i32, 1, 8), "
        "mode=Coalesce.Row)",
        evidence="static_assert",
    )(check(c.row_length)),
    rule(
        "GATHER-A5-05",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, 16)), Tile(Vec, i32, 8, {16|8}), "
        "mode=Coalesce.Elem)",
        evidence="static_assert",
    )(ub_check(c.one_index_per_element)),
    rule(
        "GATHER-A5-06",
        "x: Ptr[f32]{|; n: int}; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, 1, 8{|, valid_col=n}), mode=Coalesce.Row)",
        why="The library casts sizes to unsigned before it compares them, so a dynamic one is 4294967295.",
        decision="Sizes of the table are compared where they are known.",
        evidence="static_assert",
    )(ub_check(c.mixed_dynamic)),
    rule(
        "GATHER-A5-07",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, 16){|, (19, 1)}), "
        "Tile(Vec, i32, 8, 16), mode=Coalesce.Elem)",
        evidence="device",
    )(check(c.packed_table)),
    rule(
        "GATHER-A5-10",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, {128|256}, 128), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, {128|256}, 128), mode=Coalesce.Elem)",
        what="Destination and index tile take at most 216 KB of UB.",
        evidence="device",
    )(ub_check(lambda p, idx: c.working_set(p, idx, c.UB_KIB, 1 << 20))),
    rule(
        "GATHER-A5-11",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, {128|192}, 128), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, {128|192}, 128), mode=Coalesce.Elem)",
        what="Beyond 128 KB for destination and index tile the launch must ask for dynamic UB.",
        source="move-gather-scatter 10.4 GATHER-A5-10",
        evidence="document",
    )(ub_check(lambda p, idx: c.working_set(p, idx, 128, c.UB_KIB))),
    rule(
        "GATHER-A5-12",
        "x: Ptr[f32]; MGATHER(Tile(Vec, f32, 8, 16), GlobalTensor(x, (40, 16)), "
        "Tile(Vec, i32, 8, {1, ColMajor|8, valid_col=1}), mode=Coalesce.Row)",
        source="move-gather-scatter 10.3",
        evidence="legal",
    )(ub_check(c.apart)),
    *text_rules("GA"),
)


# MGATHER: elements or rows of a table in global memory, chosen by indices, into a tile (move-gather-scatter 10).


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
        cpp="MGATHER<mode, oob, exec?>(dst, src, idx, scratch?)",
    )
)
