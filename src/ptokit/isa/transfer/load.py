"""TLOAD: from global memory into tiles (load-store 3)."""

from __future__ import annotations

from collections.abc import Iterator

from ptokit.targets import A2A3, Target
from ptokit.types.conv import ConvSpec
from ptokit.types.enums import Layout, PadValue, Pipe, TileType
from ptokit.types.pad import pad_bits
from ptokit.types.tile import TileSpec

from ..machine import Machine, TileOperand, ViewOperand
from ..meaning.expressions import Element, Extent, Least, Up
from ..meaning.words import Fill, Move, Python, Word
from ..site import Site
from ..table import TENSOR, Attr, Instr, TextForm, dst, index, instruction, scalar, view
from . import conv_rules, transfer_asm_rules
from .conv_transfer import load_conv
from .load_rules import CPU
from .load_rules_a3 import A3
from .load_rules_a5 import A5
from .transfer_rules import COMMON

VR, VC = Extent("dst", "vr"), Extent("dst", "vc")


def padding(spec: TileSpec, layout: Layout, target: Target) -> Iterator[Fill]:
    """What TLOAD writes beyond the valid region (load-store 3.6)."""
    rows, cols, c0 = spec.rows, spec.cols, spec.c0
    bits = pad_bits(spec.dtype, spec.pad, wide=target.pads_64_bits)
    if target.pads_whole_tile:
        yield Fill(0, VR, VC, cols, bits)
        yield Fill(VR, rows, 0, cols, bits)
        return
    if layout is Layout.NZ or (spec.loc is TileType.Vec and spec.pad == PadValue.Null):
        return
    if spec.boxed:
        yield from _box_tail(spec, bits)
        return
    if spec.loc is TileType.Mat and target.is_a(A2A3):
        bits = 0
    yield _right(spec, c0, bits) if spec.row_major else _below(spec, c0, bits)


def _box_tail(spec: TileSpec, bits: int) -> Iterator[Fill]:
    """The rest of the last 32-byte groups becomes zero: of 16 rows or columns for MX scales.

    A single row of scales is contiguous and gets the pad value up to the next 32 bytes (load-store 3.5).
    """
    ir, ic = spec.box
    if spec.fractal == 32 and spec.rows == 1 and spec.layout_name == "Zz":
        yield Fill(0, 1, VC, Least((spec.cols, Up(VC, spec.c0))), bits)
    elif spec.fractal == 32:
        yield _below(spec, ir, 0)
        yield _right(spec, ic, 0)
    elif spec.slayout.name == "RowMajor":
        yield _right(spec, ic, 0)
    else:
        yield _below(spec, ir, 0)


def _right(spec: TileSpec, step: int, bits: int) -> Fill:
    """The columns behind the valid ones, up to a multiple of `step`."""
    return Fill(0, VR, VC, Least((spec.cols, Up(VC, step))), bits)


def _below(spec: TileSpec, step: int, bits: int) -> Fill:
    """The rows behind the valid ones, up to a multiple of `step`."""
    return Fill(VR, Least((spec.rows, Up(VR, step))), 0, VC, bits)


def _meaning(o: Site) -> Word | None:
    """``dst[r, c] = src[r, c]`` over the valid region of dst, bits unchanged, and the padding around it."""
    spec = o.dst.spec
    if isinstance(spec, ConvSpec):
        return Python(_load_conv)
    if o.src.layout is None:
        return None
    whole = (o.dst.vr, o.dst.vc) == (spec.rows, spec.cols)
    return Move(Element("src"), VR, VC, fills=() if whole else tuple(padding(spec, o.src.layout, o.target)))


def _load_conv(m: Machine, dst: TileOperand, src: ViewOperand) -> None:
    assert isinstance(dst.spec, ConvSpec)
    load_conv(dst, src, dst.spec, src.layout_for(dst.spec.takes_rows))


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
        meaning=_meaning,
        form=TextForm(
            carried=(
                *TRAILING,
                TENSOR,
            ),
            misfits={"dst": "LD-1", "src": "LD-1"},
        ),
        source="tload; load-store 3",
    )
)
