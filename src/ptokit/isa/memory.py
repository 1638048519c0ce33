"""TLOAD, TSTORE: between global memory and tiles (load-store)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ptokit.targets import Target
from ptokit.types.enums import AtomicType, Layout, PadValue, Pipe, ReluPreMode, STPhase, TileType
from ptokit.types.pad import pad_bits
from ptokit.types.tile import TileSpec

from .machine import Machine, TileOperand, ViewOperand
from .site import Site
from .table import Attr, Instr, Role, dst, instruction, scalar, src, view

Fill = tuple[int, int, int, int, int]  # row, end row, col, end col, bits


def padding(spec: TileSpec, layout: Layout, vr: int, vc: int, target: Target) -> Iterator[Fill]:
    """What TLOAD writes beyond the valid region (load-store 3.6)."""
    rows, cols, c0 = spec.rows, spec.cols, spec.c0
    bits = pad_bits(spec.dtype, spec.pad, target.name)
    if target.pads_whole_tile:
        yield 0, vr, vc, cols, bits
        yield vr, rows, 0, cols, bits
        return
    if layout is Layout.NZ or (spec.loc is TileType.Vec and spec.pad == PadValue.Null):
        return
    if spec.boxed:
        yield from _box_tail(spec, vr, vc)
        return
    if spec.loc is TileType.Mat and target.name == "a2a3":
        bits = 0
    if spec.row_major:
        yield 0, vr, vc, min(cols, -(-vc // c0) * c0), bits
    else:
        yield vr, min(rows, -(-vr // c0) * c0), 0, vc, bits


def _box_tail(spec: TileSpec, vr: int, vc: int) -> Iterator[Fill]:
    """The rest of the last 32-byte groups (of the last 16 rows or columns of MX scales) becomes zero."""
    ir, ic = spec.box
    if spec.fractal == 32:
        yield vr, min(spec.rows, -(-vr // ir) * ir), 0, vc, 0
        yield 0, vr, vc, min(spec.cols, -(-vc // ic) * ic), 0
    elif spec.slayout.name == "RowMajor":
        yield 0, vr, vc, min(spec.cols, -(-vc // ic) * ic), 0
    else:
        yield vr, min(spec.rows, -(-vr // ir) * ir), 0, vc, 0


def tload(m: Machine, dst: TileOperand, src: ViewOperand) -> None:
    """``dst[r, c] = src[r, c]`` over the valid region of dst; bits unchanged."""
    spec, vr, vc = dst.spec, dst.vr, dst.vc
    layout = src.layout_for(spec.row_major)
    dst.load(src, layout)
    if (vr, vc) != (spec.rows, spec.cols):
        for row, end_row, col, end_col, bits in padding(spec, layout, vr, vc, m.target):
            dst.fill(row, end_row, col, end_col, bits)


TLOAD = instruction(
    Instr(
        "TLOAD",
        "tload",
        "Load a rectangle of global memory, as large as the tile's valid region, into a tile.",
        (dst(), view("src")),
        pipe=Pipe.MTE2,
        run=tload,
        source="tload; load-store 3",
    )
)

ATOMIC = {
    AtomicType.AtomicAdd: np.add,
    AtomicType.AtomicMax: np.maximum,
    AtomicType.AtomicMin: np.minimum,
}


def store_pipe(site: Site) -> Pipe:
    """The fix-pipe drains accumulators, MTE3 stores the rest (load-store 1)."""
    return Pipe.FIX if site.src.loc is TileType.Acc else Pipe.MTE3


def store_values(m: Machine, dst: ViewOperand, values: np.ndarray, layout: Layout, atomic: AtomicType) -> None:
    """Write or combine values of dst's element type."""
    if atomic is AtomicType.AtomicNone:
        dst.store(values, layout)
    else:
        dst.update(values, layout, ATOMIC[atomic], m.blocks)


def tstore(
    m: Machine,
    dst: ViewOperand,
    src: TileOperand,
    quant: int | None,
    *,
    phase: STPhase,
    atomic: AtomicType,
    relu: ReluPreMode,
) -> None:
    """``dst[r, c] = conv(src[r, c])`` over the valid region of src (load-store 4, 5)."""
    dst.begin_store()
    layout = dst.layout_for(src.spec.row_major)
    values = src.read()
    if src.spec.loc is TileType.Acc:
        values = drain(m, values, src, dst, relu)
    element = dst.dtype.value or dst.dtype.storage
    store_values(m, dst, values if values.dtype == element else values.view(element), layout, atomic)


def drain(m: Machine, values: np.ndarray, src: TileOperand, dst: ViewOperand, relu: ReluPreMode) -> np.ndarray:
    """Accumulator elements as the fix-pipe hands them to memory: cast, then ReLU (load-store 5.1)."""
    if relu is ReluPreMode.NormalRelu:
        values = np.where(values > 0, values, values.dtype.type(0))
    return values.astype(dst.dtype.value)


TSTORE = instruction(
    Instr(
        "TSTORE",
        "tstore",
        "Store the valid region of a tile to global memory; accumulators are converted on the way.",
        (view("dst", Role.OUT), src(), scalar("quant", optional=True)),
        (
            Attr("phase", STPhase, STPhase.Unspecified, "stPhase", "st_phase"),
            Attr("atomic", AtomicType, AtomicType.AtomicNone, "atomicType", "atomic_type"),
            Attr("relu", ReluPreMode, ReluPreMode.NoRelu, "reluPreMode", "relu_pre_mode"),
        ),
        pipe=store_pipe,
        run=tstore,
        syntax="dps-typed",
        source="tstore; load-store 4, 5",
    )
)
