"""Matrices of global memory into the fractals of L1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptokit.types.enums import Pipe

from ..meaning.matrices import Matrix
from ..meaning.words import Meaning, Move, Refusal
from ..site import Site
from ..table import Role, grammar
from .pointers import BLOCK, at, bit, ceil, clause, cube, given, moved, numbers

SMALL = 4  # channels of a row in the small form


def _load(o: Site, by_rows: bool, sizes: Sequence[Any], groups: Sequence[int], small: Any) -> Move | Refusal:
    """Matrices into column blocks of 32 bytes, the last one filled up with zeros.

    ``sizes``: rows and columns, bytes from one row (or column) to the next, and from one matrix to the next.
    ``groups``: number of matrices, and where rows, column blocks and matrices begin in L1, in blocks of 32 bytes. In
    the small form rows have four channels and follow each other, filled up with zeros to whole blocks.
    """
    n, d, inner, outer = sizes
    count, row_step, block_step, group_step = groups
    dtype = o.dst.dtype
    size = dtype.size
    row, block, step = (inner, 0, 0) if by_rows else (size, 1, inner)
    if dtype.bits < 8 and not by_rows:
        return Refusal("DMA-A5-06", f"columns of {dtype} are not whole bytes")
    src = Matrix("src", dtype, count * n, d, row, block, step, n, outer or 0)
    if 0 in (count, n, d):
        return moved(src, Matrix("dst", dtype, 0, 0, 0))
    if small:
        if d > SMALL:
            return Refusal("DMA-A5-06", f"rows of {d} channels do not fit the {SMALL} of the small form")
        high = ceil(n * SMALL * size, BLOCK) * BLOCK // (SMALL * size)
        return moved(
            src, Matrix("dst", dtype, count * high, SMALL, SMALL * size, band=high, band_step=group_step * BLOCK)
        )
    wide = ceil(d, dtype.c0) * dtype.c0
    row, step, group = (unit * BLOCK for unit in (row_step, block_step, group_step))
    return moved(src, Matrix("dst", dtype, count * n, wide, row, dtype.c0, step, n, group))


def _fraction(o: Site) -> Move | Refusal | None:
    found = given(o, "shape0 shape1 src_stride src_stride2 group0 group1 group2 group3 ctrl_flag")
    return None if found is None else _load(o, o.conversion != "dn2nz", found[:4], found[4:8], found[8])


def _multi(by_rows: bool) -> Meaning:
    def meaning(o: Site) -> Move | Refusal | None:
        found = given(o, "n_value d_value loop1_src_stride loop4_src_stride smallc0_en")
        if found is None or o.registers is None:
            return None
        packed = o.registers.get("mte2_nz_para", 0)
        return _load(o, by_rows, found[:4], [packed >> shift & 0xFFFF for shift in (0, 16, 32, 48)], found[4])

    return meaning


cube(
    "mte_gm_l1_frac",
    "Copy matrices of global memory into the fractals of L1.",
    Pipe.MTE2,
    (
        at("src", "gm"),
        at("dst", "l1", Role.OUT),
        *numbers("shape0 shape1 src_stride"),
        *numbers("src_stride2", optional=True),
        *numbers("group0 group1 group2 group3 ctrl"),
        bit("ctrl_flag"),
    ),
    _fraction,
    (clause("conversion", "frac_conversion", key="mode"),),
    form=grammar(
        "%src , %dst , W(conversion) , shape ~( %shape0 , %shape1 ) , src_layout ~( %src_stride <? , %src_stride2 ?> ) "
        ", dst_group ~( %group0 , %group1 , %group2 , %group3 ) , ctrl ~( %ctrl , %ctrl_flag ) {} "
        ": T(src) , T(dst) , W(conversion) , shape T(shape0) , T(shape1) , "
        "src_layout ~( T(src_stride) <? , T(src_stride2) ?> ) , "
        "dst_group T(group0) , T(group1) , T(group2) , T(group3) , ctrl T(ctrl) , T(ctrl_flag)"
    ),
)
for _layout in ("nd", "dn"):
    cube(
        f"copy_gm_to_cbuf_multi_{_layout}2nz",
        f"Copy matrices of layout {_layout.upper()} of global memory into the fractals of L1.",
        Pipe.MTE2,
        (
            at("src", "gm"),
            at("dst", "l1", Role.OUT),
            *numbers("sid loop1_src_stride l2_cache_ctrl n_value d_value loop4_src_stride"),
            bit("smallc0_en"),
        ),
        _multi(_layout == "nd"),
    )
