"""Matrices of global memory into the fractals of L1."""

from __future__ import annotations

from typing import Any, NamedTuple

from ptokit.types.enums import Pipe

from ..machine import Axis, Machine
from ..table import Role
from .pointers import BLOCK, at, bit, ceil, clause, cube, numbers

SMALL = 4  # channels of a row in the small form


class Matrices(NamedTuple):
    """Matrices of `n` rows and `d` columns in global memory, stored by rows or by columns.

    ``inner``: bytes from one row, or column, to the next; ``outer``: from one matrix to the next.
    """

    by_rows: bool
    n: int
    d: int
    inner: int
    outer: int


def _load(m: Machine, src: Any, dst: Any, of: Matrices, groups: tuple[int, int, int, int], small: Any) -> None:
    """Matrices into column blocks of 32 bytes, the last one filled up with zeros.

    ``groups``: number of matrices, and where rows, column blocks and matrices begin in L1, in blocks of 32 bytes.
    """
    by_rows, n, d, inner, outer = of
    count, row_step, block_step, group_step = groups
    size = dst.dtype.size
    if small:
        _small(m, src, dst, of, count, group_step * BLOCK)
        return
    per_block = BLOCK // size
    whole, rest = divmod(d, per_block)
    outside: Axis = (count, group_step * BLOCK, outer)
    for first, blocks, width in ((0, whole, per_block), (whole, 1, rest)):
        if not (blocks and width):
            continue
        to = first * block_step * BLOCK
        block: Axis = (blocks, block_step * BLOCK, (per_block * size if by_rows else per_block * inner))
        begin = src if not first else _behind(src, first * per_block * (size if by_rows else inner))
        if by_rows:
            m.copy(dst, to, begin, [outside, block, (n, row_step * BLOCK, inner)], width * size)
        else:
            m.copy(dst, to, begin, [outside, block, (n, row_step * BLOCK, size), (width, size, inner)], size)
        if width < per_block:
            rows: list[Axis] = [outside, (n, row_step * BLOCK, 0)]
            m.fill(dst, to + width * size, rows, b"\0", (per_block - width) * size)


def _small(m: Machine, src: Any, dst: Any, of: Matrices, count: int, group_step: int) -> None:
    """Rows of four channels, one behind the other, filled up with zeros to whole blocks."""
    by_rows, n, d, inner, outer = of
    size = dst.dtype.size
    if d > SMALL:
        m.refuse("DMA-A5-06", f"rows of {d} channels do not fit the {SMALL} of the small form")
    outside: Axis = (count, group_step, outer)
    used = ceil(n * SMALL * size, BLOCK) * BLOCK
    m.fill(dst, 0, [outside], b"\0", used)
    if by_rows:
        m.copy(dst, 0, src, [outside, (n, SMALL * size, inner)], d * size)
    else:
        m.copy(dst, 0, src, [outside, (n, SMALL * size, size), (d, size, inner)], size)


def _behind(src: Any, nbytes: int) -> Any:
    """The pointer so many bytes further on; elements are whole there."""
    return src.advance(nbytes // src.dtype.size)


def _fraction(
    m: Machine,
    src: Any,
    dst: Any,
    n: int,
    d: int,
    inner: int,
    outer: int | None,
    count: int,
    row_step: int,
    block_step: int,
    group_step: int,
    cache: Any,
    small: Any,
    *,
    conversion: str | None,
    types: Any,
) -> None:
    groups = count, row_step, block_step, group_step
    _load(m, src, dst, Matrices(conversion != "dn2nz", n, d, inner, outer or 0), groups, small)


def _multi(by_rows: bool) -> Any:
    def run(
        m: Machine,
        src: Any,
        dst: Any,
        sid: Any,
        inner: int,
        cache: Any,
        n: int,
        d: int,
        outer: int,
        small: Any,
        *,
        types: Any,
    ) -> None:
        packed = m.registers.get("mte2_nz_para", 0)
        count, row_step, block_step, group_step = (packed >> shift & 0xFFFF for shift in (0, 16, 32, 48))
        _load(m, src, dst, Matrices(by_rows, n, d, inner, outer), (count, row_step, block_step, group_step), small)

    return run


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
    grammar=(
        "%src , %dst , W(conversion) , shape ~( %shape0 , %shape1 ) , src_layout ~( %src_stride <? , %src_stride2 ?> ) "
        ", dst_group ~( %group0 , %group1 , %group2 , %group3 ) , ctrl ~( %ctrl , %ctrl_flag ) {} "
        ": T(src) , T(dst) , W(conversion) , shape T(shape0) , T(shape1) , "
        "src_layout ~( T(src_stride) <? , T(src_stride2) ?> ) , "
        "dst_group T(group0) , T(group1) , T(group2) , T(group3) , ctrl T(ctrl) , T(ctrl_flag)",
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
