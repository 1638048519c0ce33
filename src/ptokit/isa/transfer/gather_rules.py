"""Rules of MGATHER (move-gather-scatter 10.4); the conditions are in `index_checks`."""

from __future__ import annotations

from ptokit.diagnostics import Severity, define, rule
from ptokit.types.enums import Coalesce

from ..checks.operands import overlap
from ..site import TileInfo
from ..unknown import known
from . import index_checks as c
from .index_text_rules import text_rules

SOURCE = "move-gather-scatter 10.4"
A23, A5, CPU = ("a2a3",), ("a5",), ("cpu",)
DEVICES = ("a2a3", "a5")


def _overlap(p: c.Parts) -> c.Message:
    if isinstance(p.idx, TileInfo) and overlap(p.data, p.idx):
        return f"{p:data} and {p:idx} share memory, and the tile is written while indices are still read"
    return None


def _boxed_index(p: c.Parts, idx: TileInfo) -> c.Message:
    if p.mode is Coalesce.Row and idx.boxed:
        return f"{p:idx} has the layout {idx.layout_name}; row indices are stored without boxes"
    return None


def _cpu_row(p: c.Parts, idx: TileInfo) -> c.Message:
    """The R indices are the first R elements of the buffer."""
    if p.mode is not Coalesce.Row:
        return None
    rows = p.data.vr
    line = (idx.vr == 1 and (idx.row_major or idx.rows == 1)) or (idx.vc == 1 and (not idx.row_major or idx.cols == 1))
    if known(idx.vr, idx.vc) and not line:
        return (
            f"{p:idx} is {c.size(idx)} in a {idx.rows}x{idx.cols} {idx.layout_name} tile; "
            "its indices are not consecutive",
            "use a 1xR row-major or an Rx1 column-major index tile",
        )
    if idx.vr * idx.vc < rows:  # type: ignore[operator]
        return f"{p:idx} has {idx.vr * idx.vc} valid elements for {rows} rows of {p:data}"
    return None


RULES = (
    rule(
        "GATHER-COM-01",
        what="Indices are int32 or uint32; on cpu any integer.",
        source=SOURCE,
        accepted="an i32 index tile",
        rejected="an i16 index tile on a5",
    )(c.check(c.index_type)),
    rule(
        "GATHER-A23-01",
        what="Element type int8 uint8 int16 uint16 int32 uint32 half bf16 float.",
        targets=A23,
        source=SOURCE,
        accepted="bf16",
        rejected="hif8",
    )(c.check(c.data_type(c.A23_TYPES))),
    rule(
        "GATHER-A5-01",
        what="Element type of the A2/A3 set, hif8, e4m3 or e5m2.",
        targets=A5,
        source=SOURCE,
        accepted="e4m3",
        rejected="i64",
    )(c.check(c.data_type(c.A5_TYPES))),
    rule(
        "GATHER-CPU-03",
        what="FP8 and HiF8 are not supported on cpu by default; 4-bit types never.",
        targets=CPU,
        source=SOURCE,
        accepted="f16; e4m3 in the extended mode",
        rejected="e4m3",
    )(c.check(c.cpu_type)),
    rule(
        "GATHER-COM-03",
        what="Tile and table have the same element type; on cpu the same element size.",
        source=SOURCE,
        accepted="an f32 tile and an f32 table",
        rejected="an f32 tile and an f16 table",
        decision="Types of one size are copied bit for bit on cpu, without conversion.",
    )(c.check(c.same_types)),
    rule(
        "GATHER-COM-02",
        what="Without a mode the libraries differ by target; it means Elem.",
        severity=Severity.WARNING,
        source="move-gather-scatter 10.4, 12 D2",
        accepted="MGATHER with mode=Elem",
        rejected="MGATHER(dst, table, idx)",
        decision="One index column for several data columns is read as one index per row (assembly GA-9).",
    )(c.check(lambda p: None if p.l1 else c.bare(p))),
    rule(
        "GATHER-COM-07",
        what="The mode agrees with the form: into L1, rows without scratch memory and elements with it.",
        source="move-gather-scatter 10.1",
        accepted="mode=Row into a mat tile",
        rejected="mode=Elem into a mat tile without scratch",
    )(c.check(c.form_agrees)),
    rule(
        "GATHER-COM-04",
        what="The destination has a valid row and a valid column.",
        targets=DEVICES,
        source=SOURCE,
        accepted="valid 1x1",
        rejected="valid 0x16",
        decision="On cpu an empty region is no error: nothing is gathered.",
    )(c.check(c.empty)),
    rule(
        "GATHER-COM-05",
        what="The table has rows or elements to choose from.",
        source="move-gather-scatter 10.2",
        accepted="shape 1x1x1x40x32",
        rejected="shape 1x1x1x0x32",
    )(c.check(c.no_capacity)),
    define(
        "GATHER-COM-06",
        "With oob=Undefined every index is below the number of rows or elements.",
        why="Checked when the instruction runs, on the values of the indices.",
        source="move-gather-scatter 10.2",
        accepted="index 99 of 100",
        rejected="index 100 of 100, or -1",
    ),
    rule(
        "GATHER-COM-08",
        what="The destination does not overlap the index tile.",
        source=SOURCE,
        accepted="two tiles",
        rejected="one tile as destination and indices",
    )(c.check(_overlap)),
    rule(
        "GATHER-CPU-01",
        what="Row indices are in a tile without boxes on cpu.",
        targets=CPU,
        source=SOURCE,
        accepted="a 1x8 row-major index tile",
        rejected="an Nz index tile",
    )(c.ub_check(_boxed_index)),
    rule(
        "GATHER-CPU-02",
        what="Row indices are consecutive on cpu: valid [1, R] row-major or [R, 1] column-major.",
        targets=CPU,
        source=SOURCE,
        accepted="valid 1x7 of 1x8",
        rejected="valid 7x1 of a row-major 7x8 tile",
    )(c.ub_check(_cpu_row)),
    rule(
        "GATHER-CPU-04",
        what="The index tile has an element for every element or row that is gathered.",
        targets=CPU,
        source="derived: the library reads past the index tile",
        accepted="an 8x16 index tile for 7x13 elements",
        rejected="a 4x16 index tile for 7x13 elements",
    )(c.ub_check(c.covered)),
    rule(
        "GATHER-A23-02",
        what="Destination and indices are vec tiles, unless indices in global memory fill a mat tile.",
        targets=A23,
        source=SOURCE,
        accepted="vec tiles",
        rejected="an acc destination",
    )(c.check(c.in_ub)),
    rule(
        "GATHER-A5-02",
        what="Destination and indices are vec tiles, unless indices in global memory fill a mat tile.",
        targets=A5,
        source=SOURCE,
        accepted="vec tiles",
        rejected="a bias destination",
    )(c.check(c.in_ub)),
    rule(
        "GATHER-A23-09",
        what="Into L1: an Nz mat tile with fractal 512 of whole boxes, an ND table, indices in global memory.",
        targets=A23,
        source=SOURCE,
        accepted="a 32x16 bf16 Nz mat tile",
        rejected="a Zz mat tile",
    )(c.check(c.l1_form)),
    rule(
        "GATHER-A23-10",
        what="Elements into L1: scratch memory of the same type for the whole tile.",
        targets=A23,
        why="That its 64-byte lines are not shared between cores cannot be told from one call.",
        source=SOURCE,
        accepted="512 elements for a 16x32 tile",
        rejected="256 elements for a 16x32 tile",
    )(c.check(c.scratch_memory)),
    rule(
        "GATHER-A5-09",
        what="Into L1: as GATHER-A23-09 and GATHER-A23-10.",
        targets=A5,
        why="That exec=Simt runs on vector sub-core 0 and hands over with intra-block id 2 is for the sanitizer.",
        source=SOURCE,
        accepted="a 16x32 f16 Nz mat tile",
        rejected="a Zz mat tile",
    )(c.check(lambda p: c.l1_form(p) or c.scratch_memory(p))),
    rule(
        "GATHER-A23-03",
        what="The index tile is row-major without boxes.",
        targets=A23,
        source=SOURCE,
        accepted="a row-major index tile",
        rejected="an 8x1 column-major index tile",
    )(c.ub_check(c.plain_index)),
    rule(
        "GATHER-A23-04",
        what="An ND table goes with a row-major tile, an NZ table with an Nz tile of fractal 512.",
        targets=A23,
        source=SOURCE,
        accepted="an NZ table and an Nz tile",
        rejected="an ND table and an Nz tile",
    )(c.ub_check(c.paired_layout)),
    rule(
        "GATHER-A23-05",
        what="Rows of the destination are multiples of 32 bytes.",
        targets=A23,
        source=SOURCE,
        accepted="8 columns of f32",
        rejected="4 columns of f32",
    )(c.check(c.whole_blocks)),
    rule(
        "GATHER-A23-06",
        what="An NZ table has boxes of 16 x 32 bytes, the tile whole boxes, and a row of the table fits the tile.",
        targets=A23,
        source=SOURCE,
        accepted="shape 1x4x3x16x8 of f32 into 16x32",
        rejected="shape 1x4x3x16x16 of f32",
        decision="A row that is wider than the tile would be written past its end: refused.",
    )(c.ub_check(c.nz_shape)),
    rule(
        "GATHER-A23-07",
        what="Row: one row of indices, one for each valid row of the destination.",
        targets=A23,
        source=SOURCE,
        accepted="valid 1x8 for 8 rows",
        rejected="valid 1x7 for 8 rows",
    )(c.ub_check(lambda p, idx: c.one_index_per_row(p, idx, column=False))),
    rule(
        "GATHER-A23-08",
        what="Elem: index tile and destination have the same valid region.",
        targets=A23,
        source=SOURCE,
        accepted="7x13 and 7x13",
        rejected="7x16 and 7x13",
    )(c.ub_check(c.one_index_per_element)),
    rule(
        "GATHER-A5-08",
        what="Destination and index tile have no boxes.",
        targets=A5,
        source=SOURCE,
        accepted="a column-major tile",
        rejected="an Nz destination",
    )(c.ub_check(c.plain_tiles)),
    rule(
        "GATHER-A5-03",
        what="Row: one index for each valid row of the destination, in one row or one column.",
        targets=A5,
        source=SOURCE,
        accepted="valid 8x1 for 8 rows",
        rejected="valid 1x6 for 7 rows",
    )(c.ub_check(lambda p, idx: c.one_index_per_row(p, idx, column=True))),
    rule(
        "GATHER-A5-04",
        what="Row: a row of the table is as long as a valid row of the destination.",
        targets=A5,
        source=SOURCE,
        accepted="16 and 16",
        rejected="32 and 16",
    )(c.check(c.row_length)),
    rule(
        "GATHER-A5-05",
        what="Elem: index tile and destination have the same valid region.",
        targets=A5,
        source=SOURCE,
        accepted="3x15 and 3x15",
        rejected="3x16 and 3x15",
    )(c.ub_check(c.one_index_per_element)),
    rule(
        "GATHER-A5-06",
        what="Valid sizes that are compared are both static or both dynamic.",
        targets=A5,
        why="The library casts sizes to unsigned before it compares them, so a dynamic one is 4294967295.",
        source=SOURCE,
        accepted="dynamic destination and dynamic index tile",
        rejected="dynamic destination and static index tile",
        decision="Sizes of the table are compared where they are known.",
    )(c.ub_check(c.mixed_dynamic)),
    rule(
        "GATHER-A5-07",
        what="The table is ND and packed.",
        targets=A5,
        source=SOURCE,
        accepted="shape 40x16, strides 16 and 1",
        rejected="shape 40x13, strides 19 and 1",
    )(c.check(c.packed_table)),
    rule(
        "GATHER-A5-10",
        what="Destination and index tile take at most 216 KB of UB.",
        targets=A5,
        source=SOURCE,
        accepted="two tiles of 32 KB",
        rejected="two tiles of 128 KB",
    )(c.ub_check(lambda p, idx: c.working_set(p, idx, c.UB_KIB, 1 << 20))),
    rule(
        "GATHER-A5-11",
        what="Beyond 128 KB for destination and index tile the launch must ask for dynamic UB.",
        targets=A5,
        severity=Severity.WARNING,
        source="move-gather-scatter 10.4 GATHER-A5-10",
        accepted="two tiles of 32 KB",
        rejected="two tiles of 96 KB",
    )(c.ub_check(lambda p, idx: c.working_set(p, idx, 128, c.UB_KIB))),
    rule(
        "GATHER-A5-12",
        what="Row indices that are padded apart are read as if they were consecutive.",
        targets=A5,
        severity=Severity.WARNING,
        source="move-gather-scatter 10.3",
        accepted="an 8x1 column-major index tile",
        rejected="valid 8x1 of a row-major 8x8 index tile",
    )(c.ub_check(c.apart)),
    *text_rules("GA"),
)
