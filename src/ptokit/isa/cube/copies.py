"""Copies into L1, from there into the operands of products, and into the tables.

Lengths and strides of copies from global memory are bytes, strides from start to start. All others count blocks of
32 bytes (64 for the fix-pipe buffer) and gaps between rows.

L1 holds a matrix in fractals, column blocks of 32 bytes side by side (``src_stride`` fractals apart), and L0A and L0B
hold fractals in the same way (``dst_stride`` apart): L0A the left operand, L0B the right one, turned. So the left
operand comes as it is, and the right one as it is if L1 holds it turned; ``transpose`` turns the matrix on its way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ptokit.records import dataclass
from ptokit.types.dtypes import DTYPES, DType, dtype
from ptokit.types.enums import Pipe

from ..meaning.expressions import Convert, Element, Expr, Extent, Reinterpret, Scalar, Sum
from ..meaning.matrices import Matrix
from ..meaning.words import Bursts, Meaning, Move, Refusal
from ..site import Site
from ..table import Attr, Kind, Operand, OperandForm, Role, TextForm, grammar
from .drains import BLOCK, FRACTAL, ROWS, at, bit, ceil, clause, cube, element, given, in_fractals, moved, numbers

# Copies of rows and blocks between global memory, L1, the unified buffer and the tables; fills of L1.


_HALF, _WORD = DTYPES["u16"], DTYPES["u32"]
TABLE_UNIT = 64  # bytes: of copies into the fix-pipe buffer
BLOCKS_DECISION = (
    "Lengths are blocks of 32 bytes and strides gaps, as the operation that the assembler makes of it has them; the "
    "chapter on the cube unit says bytes, which its golden cases contradict."
)


_N, _LEN, _SRC, _DST = (Extent(name, "value") for name in ("n_burst", "len_burst", "src_stride", "dst_stride"))


def _rows(loops: str = "", groups: str = "") -> Bursts:
    """Length and strides in bytes."""
    return Bursts(((_N, _DST, _SRC),), _LEN, loops=loops, groups=groups)


def _blocks(unit: int = BLOCK, groups: str = "", src: str = "src_gap", dst: str = "dst_gap", core: str = "") -> Bursts:
    """Length and gaps in units; what has not been written stays unwritten for whoever needs it."""
    to, frm, length = (Sum(names, unit) for names in (("len_burst", dst), ("len_burst", src), ("len_burst",)))
    return Bursts(((_N, to, frm),), length, groups=groups, unread=True, core=core)


def _to_table(numbers: str) -> Meaning:
    """Values of 16 bits become those of 32; where a bit says that nothing is converted, f16 stay in the low half.

    ``numbers``: those of rows, length and gaps, and the bit if there is one.
    """

    def meaning(o: Site) -> Move | None:
        found = given(o, numbers)
        if found is None:
            return None
        count, length, src_gap, dst_gap, *convert = found
        source, wanted = o.src.dtype, o.dst.dtype
        cols = length * BLOCK // source.size
        value: Expr = Element("src")
        src = Matrix("src", source, count, cols, (length + src_gap) * BLOCK, needed=(0, 0))
        if source.size >= wanted.size:
            wanted = source
        elif source.name == "f16" and convert == [0]:
            value, wanted = Convert(Reinterpret(value, _HALF), _WORD), _WORD
        else:
            value = Convert(value, wanted)
        dst = Matrix("dst", wanted, count, cols, length * BLOCK * wanted.size // source.size + dst_gap * BLOCK)
        return Move(value, count, cols, matrices=(src, dst))

    return meaning


def _filled(o: Site) -> Move | None:
    """Words over and over, in rows of blocks."""
    found = given(o, "dst_addr repeat_times block_num dst_gap")
    if found is None:
        return None
    offset, repeats, blocks, gap = found
    word = dtype(f"u{o.fill_word_bits or 16}")
    cols, row = blocks * BLOCK // word.size, (blocks + gap) * BLOCK
    return Move(
        Scalar("value", word), repeats, cols, matrices=(Matrix("dst", word, repeats, cols, row, first=offset or 0),)
    )


_BURST = (*numbers("len_burst"), *numbers("n_burst src_stride dst_stride", group="nburst"))
_LOOPS = Operand("loops", Role.IN, Kind.SCALAR, True, 3, "i64", form=OperandForm(group="loop"), agreed=True)
_SID = "sid n_burst len_burst src_gap dst_gap"
_GAPS = "n_burst len_burst src_gap dst_gap"

cube(
    "mte_gm_l1",
    "Copy rows of global memory into L1.",
    Pipe.MTE2,
    (at("src", "gm"), at("dst", "l1", Role.OUT), *_BURST, _LOOPS),
    _rows(groups="loops"),
)
cube(
    "mte_l1_ub",
    "Copy rows of L1 into the unified buffer.",
    Pipe.MTE1,
    (at("src", "l1"), at("dst", "ub", Role.OUT), *_BURST, _LOOPS),
    _blocks(groups="loops", src="src_stride", dst="dst_stride"),
    decision=BLOCKS_DECISION,
)
cube(
    "mte_l1_fb",
    "Copy rows of L1 into the fix-pipe buffer.",
    Pipe.FIX,  # memory-model-and-sync 2
    (at("src", "l1"), at("dst", "fb", Role.OUT), *_BURST),
    _blocks(TABLE_UNIT, src="src_stride", dst="dst_stride"),
)
cube(
    "mte_l1_bt",
    "Copy rows of L1 into the bias table.",
    Pipe.MTE1,
    (at("src", "l1"), at("dst", "bt", Role.OUT), *_BURST),
    _to_table("n_burst len_burst src_stride dst_stride"),
)
cube(
    "copy_gm_to_cbuf",
    "Copy rows of global memory into L1, in the loops that are set.",
    Pipe.MTE2,
    (at("src", "gm"), at("dst", "l1", Role.OUT), *numbers("n_burst len_burst src_stride dst_stride")),
    _rows("outtol1"),
)
cube(
    "copy_ubuf_to_cbuf",
    "Copy blocks of the unified buffer into L1.",
    Pipe.MTE3,
    (at("src", "ub"), at("dst", "l1", Role.OUT), *numbers(_SID)),
    _blocks(),
)
cube(
    "copy_cbuf_to_ubuf",
    "Copy blocks of L1 into the unified buffer of vector core `sid` of the cluster.",
    Pipe.MTE1,
    (at("src", "l1"), at("dst", "ub", Role.OUT), *numbers(_SID)),
    _blocks(core="sid"),
)
cube(
    "copy_cbuf_to_bt",
    "Copy blocks of L1 into the bias table.",
    Pipe.MTE1,
    (at("src", "l1"), at("dst", "bt", Role.OUT), bit("convert"), *numbers(_GAPS)),
    _to_table("n_burst len_burst src_gap dst_gap convert"),
)
cube(
    "copy_cbuf_to_fbuf",
    "Copy blocks of L1 into the fix-pipe buffer.",
    Pipe.FIX,
    (at("src", "l1"), at("dst", "fb", Role.OUT), *numbers(_GAPS)),
    _blocks(TABLE_UNIT),
)


for _name, _offset in (("raw_fill_l1", "dst_addr"), ("create_cbuf_matrix", "")):
    cube(
        _name,
        "Fill blocks of L1 with a word.",
        Pipe.MTE2,
        (
            at("dst", "l1", Role.OUT),
            *numbers(_offset),
            *numbers("value", type="i32"),
            *numbers("repeat_times block_num dst_gap"),
        ),
        _filled,
        (Attr("fill_word_bits", int, None, "fill_word_bits", long=True),),
    )


# Matrices of global memory into the fractals of L1.


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


# From L1 into the operands of a product: fractals as they are or turned, and the scales of block-scaled operands.


ADDRESS_SHIFT = 4
"""Scales lie at a sixteenth of the address of what they scale."""

_BYTE = DTYPES["u8"]


@dataclass(frozen=True, slots=True)
class Blocks:
    """What is moved, in fractals: where it begins in L1, how much, strides, and the rows and columns that matter."""

    row: int
    col: int
    rows: int
    cols: int
    src_stride: int
    dst_stride: int
    needed: tuple[int, int] = (0, 0)  # in elements; none: nobody says


def _move(b: Blocks, dtype: DType, turned: Any) -> Move:
    """Move fractals; whole ones, though results depend on some of their rows and columns only."""
    kind = element(dtype) if turned else _BYTE
    needed = b.needed if turned else (b.needed[0], element(dtype).nbytes(b.needed[1]))
    rows, cols = b.rows * ROWS, b.cols * kind.c0
    first = (b.col * b.src_stride + b.row) * FRACTAL
    src = in_fractals("src", kind, rows, cols, b.src_stride * ROWS, first=first, needed=needed, turned=bool(turned))
    shape = (cols, rows) if turned else (rows, cols)
    return moved(src, in_fractals("dst", kind, *shape, b.dst_stride * ROWS))


def shaped(dtype: DType, rows: int, inner: int, start: tuple[int, int], turned: Any) -> Blocks:
    """The fractals of an operand of `rows` and `inner` elements along K; of the right operand `rows` are its columns.

    Turned, L1 holds K rows, and both sizes are rounded up to squares of fractals. The start counts fractals; of 4-bit
    elements its column counts halves of them.
    """
    dtype = element(dtype)
    row, col = start[0], start[1] // 2 if dtype.packed else start[1]
    if not turned:
        stride = ceil(rows, ROWS)
        return Blocks(row, col, stride, ceil(dtype.nbytes(inner), BLOCK), stride, stride, (rows, inner))
    side = max(ROWS, dtype.c0)
    inner_up, rows_up = ceil(inner, side) * side, ceil(rows, side) * side
    columns = dtype.nbytes(rows_up) // BLOCK
    even = rows_up == ceil(rows, ROWS) * ROWS  # else products find rows elsewhere than this puts them
    needed = (inner, rows) if even else (0, 0)
    return Blocks(row, col, inner_up // ROWS, columns, inner_up // ROWS, rows_up // ROWS, needed)


def _scales(shift: int, x: int, y: int, x_count: int, y_count: int, src_stride: int, dst_stride: int) -> Move:
    """Pieces of 32 bytes: 16 rows, or columns, with two groups along K each."""
    cols, first = y_count * BLOCK, (x * src_stride + y) * BLOCK
    src = Matrix("src", _BYTE, x_count, cols, src_stride * BLOCK, first=first, needed=(0, 0))
    return moved(src, Matrix("dst", _BYTE, x_count, cols, dst_stride * BLOCK, scales=shift))


def _operand(o: Site, rows: int, inner: int, start: tuple[int, int]) -> Move:
    return _move(shaped(o.src.dtype, rows, inner, start, o.transpose), o.src.dtype, o.transpose)


def _operand_scales(o: Site, rows: int, inner: int, start: tuple[int, int]) -> Move:
    pieces = ceil(ceil(inner, BLOCK), 2)
    return _scales(ADDRESS_SHIFT, *start, ceil(rows, ROWS), pieces, pieces, pieces)


def _fields(o: Site, fields: Sequence[int]) -> Move:
    *blocks, turned = fields if len(fields) > len(_STEPS.split()) else (*fields, o.transpose)
    return _move(Blocks(*blocks), o.src.dtype, turned)


def _operand_load(sizes: str, of_shape: Callable[..., Move], steps: str, of_fields: Callable[..., Move]) -> Meaning:
    """A load that states a shape and its start, or the fields of the hardware; ``sizes``: rows, and those along K."""

    def meaning(o: Site) -> Move | None:
        by_shape = o.has(sizes.split()[0])
        found = given(o, f"{sizes} start_row start_col" if by_shape else steps)
        if found is None:
            return None
        return of_shape(o, *found[:2], (found[2] or 0, found[3] or 0)) if by_shape else of_fields(o, found)

    return meaning


_TRANSPOSE = (Attr("transpose", bool, None, "transpose"),)
_STEPS = "m_start k_start m_step k_step src_stride dst_stride"
_MX_STEPS = "x_start y_start x_step y_step src_stride dst_stride"


def _known(steps: str, of_fields: Callable[..., Move]) -> Meaning:
    """A load with the fields of the hardware."""
    return lambda o: None if (found := given(o, steps)) is None else of_fields(o, found)


for _side, _what, _shape, _sizes in (("a", "left", "m k", "m k"), ("b", "right", "k n", "n k")):
    _ends = at("src", "l1"), at("dst", f"l0{_side}", Role.OUT)
    for _suffix, _moved, _steps, _of_shape, _of_fields in (
        ("", f"the {_what} operand", _STEPS, _operand, _fields),
        ("_mx", f"scales of the {_what}", _MX_STEPS, _operand_scales, lambda o, found: _scales(ADDRESS_SHIFT, *found)),
    ):
        cube(
            f"mte_l1_l0{_side}{_suffix}",
            f"Copy {_moved} of a product from L1: a shape, and where it begins, or the fields of the hardware.",
            Pipe.MTE1,
            (*_ends, *numbers(f"{_shape} start_row start_col {_steps}", optional=True)),
            _operand_load(_sizes, _of_shape, _steps, _of_fields),
            _TRANSPOSE,
            form=TextForm(
                "micro",
                choices=(
                    f"src dst {_shape}",
                    f"src dst {_shape} start_row start_col",
                    f"src dst {_steps}",
                ),
            ),
        )
    for _suffix, _elements, _steps, _of_fields, _attrs in (
        ("", "fractals", _STEPS, _fields, _TRANSPOSE),
        ("_s4", "fractals of 4-bit elements", f"{_STEPS} transpose", _fields, ()),
        ("_mx", "scales", _MX_STEPS, lambda o, found: _scales(0, *found), ()),
    ):
        cube(
            f"load_cbuf_to_c{_side}{_suffix}",
            f"Copy {_elements} of L1 to the {_what} operand.",
            Pipe.MTE1,
            (*_ends, *numbers(_steps)),
            _known(_steps, _of_fields),
            _attrs,
        )
