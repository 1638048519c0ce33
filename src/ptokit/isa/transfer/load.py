"""TLOAD: from global memory into tiles (load-store 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ptokit.targets import A2A3, Target
from ptokit.types.conv import ConvSpec
from ptokit.types.enums import Layout, PadValue, Pipe, TileType
from ptokit.types.layout import offset_map
from ptokit.types.pad import pad_bits
from ptokit.types.tile import TileSpec

from ..machine import Machine, TileOperand, ViewOperand
from ..site import Site
from ..table import Access, Attr, Instr, dst, index, instruction, scalar, view
from ..unknown import known
from . import conv_rules, transfer_asm_rules
from .conv_transfer import load_conv
from .load_rules import CPU
from .load_rules_a3 import A3
from .load_rules_a5 import A5
from .transfer_rules import COMMON

Fill = tuple[int, int, int, int, int]  # row, end row, col, end col, bits


def padding(spec: TileSpec, layout: Layout, vr: int, vc: int, target: Target) -> Iterator[Fill]:
    """What TLOAD writes beyond the valid region (load-store 3.6)."""
    rows, cols, c0 = spec.rows, spec.cols, spec.c0
    bits = pad_bits(spec.dtype, spec.pad, wide=target.pads_64_bits)
    if target.pads_whole_tile:
        yield 0, vr, vc, cols, bits
        yield vr, rows, 0, cols, bits
        return
    if layout is Layout.NZ or (spec.loc is TileType.Vec and spec.pad == PadValue.Null):
        return
    if spec.boxed:
        yield from _box_tail(spec, vr, vc, bits)
        return
    if spec.loc is TileType.Mat and target.is_a(A2A3):
        bits = 0
    if spec.row_major:
        yield 0, vr, vc, min(cols, -(-vc // c0) * c0), bits
    else:
        yield vr, min(rows, -(-vr // c0) * c0), 0, vc, bits


def _box_tail(spec: TileSpec, vr: int, vc: int, bits: int) -> Iterator[Fill]:
    """The rest of the last 32-byte groups becomes zero: of 16 rows or columns for MX scales.

    A single row of scales is contiguous and gets the pad value up to the next 32 bytes (load-store 3.5).
    """
    ir, ic = spec.box
    if spec.fractal == 32 and spec.rows == 1 and spec.layout_name == "Zz":
        yield 0, 1, vc, min(spec.cols, -(-vc // spec.c0) * spec.c0), bits
    elif spec.fractal == 32:
        yield vr, min(spec.rows, -(-vr // ir) * ir), 0, vc, 0
        yield 0, vr, vc, min(spec.cols, -(-vc // ic) * ic), 0
    elif spec.slayout.name == "RowMajor":
        yield 0, vr, vc, min(spec.cols, -(-vc // ic) * ic), 0
    else:
        yield vr, min(spec.rows, -(-vr // ir) * ir), 0, vc, 0


def _fill(dst: TileOperand, row: int, end_row: int, col: int, end_col: int, bits: int) -> None:
    """Fill a region with one storage unit's bits; two different 4-bit halves alternate as the elements lie."""
    if not dst.spec.dtype.packed:
        dst.fill(row, end_row, col, end_col, bits)
    elif row < end_row and col < end_col:
        odd = offset_map(replace(dst.spec, valid_row=-1, valid_col=-1))[row:end_row, col:end_col] % 2 == 1
        dst.patch(np.where(odd, bits >> 4, bits & 0xF).astype(np.uint8)[None], row, col)


def _footprint(o: Site) -> Iterator[Access]:
    """The view is read; the valid region of dst is written, and the padding around it."""
    d = o.dst
    yield Access("src", False, -1, -1)
    yield Access("dst", True, d.vr, d.vc)
    if known(d.vr, d.vc) and o.src.layout is not None and not isinstance(d.spec, ConvSpec):
        for row, end_row, col, end_col, _ in padding(d.spec, o.src.layout, d.vr, d.vc, o.target):
            yield Access("dst", True, end_row - row, end_col - col, row, col)


def tload(m: Machine, dst: TileOperand, src: ViewOperand) -> None:
    """``dst[r, c] = src[r, c]`` over the valid region of dst; bits unchanged."""
    spec, vr, vc = dst.spec, dst.vr, dst.vc
    layout = src.layout_for(spec.takes_rows)
    if isinstance(spec, ConvSpec):
        load_conv(dst, src, spec, layout)
        return
    dst.load(src, layout)
    if (vr, vc) != (spec.rows, spec.cols):
        for region in padding(spec, layout, vr, vc, m.target):
            _fill(dst, *region)


TRAILING = (
    Attr("pad_mode", str, None, "pad_mode", "padmode", dotted=True),
    scalar("pad_value", optional=True),
    index("left_padding_num", optional=True),
    Attr("init_out_buffer", bool, False, "init_out_buffer"),
    scalar("right_padding_num", optional=True),
    scalar("init_condition", optional=True),
)
"""Words of the text whose meaning no public document gives (assembly 6.3): what is padded, the type of dst says."""

TLOAD = instruction(
    Instr(
        "TLOAD",
        "tload",
        "Load a rectangle of global memory, as large as the tile's valid region, into a tile.",
        (dst(), view("src")),
        pipe=Pipe.MTE2,
        rules=(
            *COMMON,
            *CPU,
            *conv_rules.LOAD_CPU,
            *A3,
            *conv_rules.LOAD_A3,
            *A5,
            *conv_rules.LOAD_A5,
            *transfer_asm_rules.LOAD,
        ),
        run=tload,
        footprint=_footprint,
        trailing=TRAILING,
        tensor=True,
        kinds={"dst": "LD-1", "src": "LD-1"},
        source="tload; load-store 3",
    )
)
