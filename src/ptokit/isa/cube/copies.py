"""Copies of rows and blocks between global memory, L1, the unified buffer and the tables; fills of L1.

Lengths and strides of copies from global memory are bytes, strides from start to start. All others count blocks of
32 bytes (64 for the fix-pipe buffer) and gaps between rows.
"""

from __future__ import annotations

from ptokit.types.dtypes import DTYPES, dtype
from ptokit.types.enums import Pipe

from ..meaning.expressions import Convert, Element, Expr, Extent, Reinterpret, Scalar, Sum
from ..meaning.matrices import Matrix
from ..meaning.words import Bursts, Meaning, Move
from ..site import Site
from ..table import Attr, Kind, Operand, OperandForm, Role
from .pointers import BLOCK, at, bit, cube, given, numbers

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


def _blocks(unit: int = BLOCK, groups: str = "", src: str = "src_gap", dst: str = "dst_gap") -> Bursts:
    """Length and gaps in units; what has not been written stays unwritten for whoever needs it."""
    to, frm, length = (Sum(names, unit) for names in (("len_burst", dst), ("len_burst", src), ("len_burst",)))
    return Bursts(((_N, to, frm),), length, groups=groups, unread=True)


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
        return Move(value, count, cols, behind=(src, dst))

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
        Scalar("value", word), repeats, cols, behind=(Matrix("dst", word, repeats, cols, row, first=offset or 0),)
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
    "Copy blocks of L1 into the unified buffer.",
    Pipe.MTE1,
    (at("src", "l1"), at("dst", "ub", Role.OUT), *numbers(_SID)),
    _blocks(),
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
