"""Rules of MGATHER (move-gather-scatter 10.4); the conditions are in `index_checks`."""

from __future__ import annotations

from ptokit.diagnostics import define, family
from ptokit.types.enums import Coalesce

from ..checks.operands import overlap
from ..site import TileInfo
from ..unknown import known
from . import index_checks as c
from .index_text_rules import text_rules

SOURCE = "move-gather-scatter 10.4"
rule = family(SOURCE)
A23, A5, CPU = ("a2a3",), ("a5",), ("cpu",)
DEVICES = ("a2a3", "a5")


def _overlap(p: c.Parts) -> c.Message:
    """The destination does not overlap the index tile."""
    if isinstance(p.idx, TileInfo) and overlap(p.data, p.idx):
        return f"{p:data} and {p:idx} share memory, and the tile is written while indices are still read"
    return None


def _boxed_index(p: c.Parts, idx: TileInfo) -> c.Message:
    """Row indices are in a tile without boxes on cpu."""
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
    rule("GATHER-COM-01", "an i32 index tile", "an i16 index tile on a5")(c.check(c.index_type)),
    rule("GATHER-A23-01", "bf16", "hif8", what="Element type int8 uint8 int16 uint16 int32 uint32 half bf16 float.")(
        c.check(c.data_type(c.A23_TYPES))
    ),
    rule("GATHER-A5-01", "e4m3", "i64", what="Element type of the A2/A3 set, hif8, e4m3 or e5m2.")(
        c.check(c.data_type(c.A5_TYPES))
    ),
    rule("GATHER-CPU-03", "f16; e4m3 in the extended mode", "e4m3")(c.check(c.cpu_type)),
    rule(
        "GATHER-COM-03",
        "an f32 tile and an f32 table",
        "an f32 tile and an f16 table",
        decision="Types of one size are copied bit for bit on cpu, without conversion.",
    )(c.check(c.same_types)),
    rule(
        "GATHER-COM-02",
        "MGATHER with mode=Elem",
        "MGATHER(dst, table, idx)",
        what="Without a mode the libraries differ by target; it means Elem.",
        source="move-gather-scatter 10.4, 12 D2",
        decision="One index column for several data columns is read as one index per row (assembly GA-9).",
    )(c.check(lambda p: None if p.l1 else c.bare(p))),
    rule(
        "GATHER-COM-07",
        "mode=Row into a mat tile",
        "mode=Elem into a mat tile without scratch",
        source="move-gather-scatter 10.1",
    )(c.check(c.form_agrees)),
    rule(
        "GATHER-COM-04",
        "valid 1x1",
        "valid 0x16",
        targets=DEVICES,
        decision="Nothing is gathered; a device launches its threads for that.",
    )(c.check(c.empty)),
    rule(
        "GATHER-COM-05",
        "shape 1x1x1x40x32",
        "shape 1x1x1x0x32",
        what="The table has rows or elements to choose from.",
        source="move-gather-scatter 10.2",
    )(c.check(c.no_capacity)),
    define(
        "GATHER-COM-06",
        "With oob=Undefined every index is below the number of rows or elements.",
        why="Checked when the instruction runs, on the values of the indices.",
        source="move-gather-scatter 10.2",
        accepted="index 99 of 100",
        rejected="index 100 of 100, or -1",
    ),
    rule("GATHER-COM-08", "two tiles", "one tile as destination and indices")(c.check(_overlap)),
    rule("GATHER-CPU-01", "a 1x8 row-major index tile", "an Nz index tile")(c.ub_check(_boxed_index)),
    rule(
        "GATHER-CPU-02",
        "valid 1x7 of 1x8",
        "valid 7x1 of a row-major 7x8 tile",
        what="Row indices are consecutive on cpu: valid [1, R] row-major or [R, 1] column-major.",
    )(c.ub_check(_cpu_row)),
    rule(
        "GATHER-CPU-04",
        "an 8x16 index tile for 7x13 elements",
        "a 4x16 index tile for 7x13 elements",
        what="The index tile has an element for every element or row that is gathered.",
        source="derived: the library reads past the index tile",
    )(c.ub_check(c.covered)),
    rule("GATHER-A23-02", "vec tiles", "an acc destination")(c.check(c.in_ub)),
    rule("GATHER-A5-02", "vec tiles", "a bias destination")(c.check(c.in_ub)),
    rule("GATHER-A23-09", "a 32x16 bf16 Nz mat tile", "a Zz mat tile")(c.check(c.l1_form)),
    rule(
        "GATHER-A23-10",
        "512 elements for a 16x32 tile",
        "256 elements for a 16x32 tile",
        why="That its 64-byte lines are not shared between cores cannot be told from one call.",
    )(c.check(c.scratch_memory)),
    rule(
        "GATHER-A5-09",
        "a 16x32 f16 Nz mat tile",
        "a Zz mat tile",
        what="Into L1: as GATHER-A23-09 and GATHER-A23-10.",
        why="That exec=Simt runs on vector sub-core 0 and hands over with intra-block id 2 is for the sanitizer.",
    )(c.check(lambda p: c.l1_form(p) or c.scratch_memory(p))),
    rule("GATHER-A23-03", "a row-major index tile", "an 8x1 column-major index tile")(c.ub_check(c.plain_index)),
    rule("GATHER-A23-04", "an NZ table and an Nz tile", "an ND table and an Nz tile")(c.ub_check(c.paired_layout)),
    rule(
        "GATHER-A23-05",
        "8 columns of f32",
        "4 columns of f32",
        what="Rows of the destination are multiples of 32 bytes.",
    )(c.check(c.whole_blocks)),
    rule(
        "GATHER-A23-06",
        "shape 1x4x3x16x8 of f32 into 16x32",
        "shape 1x4x3x16x16 of f32",
        decision="A row that is wider than the tile would be written past its end: refused.",
    )(c.ub_check(c.nz_shape)),
    rule(
        "GATHER-A23-07",
        "valid 1x8 for 8 rows",
        "valid 1x7 for 8 rows",
        what="Row: one row of indices, one for each valid row of the destination.",
    )(c.ub_check(lambda p, idx: c.one_index_per_row(p, idx, column=False))),
    rule("GATHER-A23-08", "7x13 and 7x13", "7x16 and 7x13")(c.ub_check(c.one_index_per_element)),
    rule("GATHER-A5-08", "a column-major tile", "an Nz destination")(c.ub_check(c.plain_tiles)),
    rule(
        "GATHER-A5-03",
        "valid 8x1 for 8 rows",
        "valid 1x6 for 7 rows",
        what="Row: one index for each valid row of the destination, in one row or one column.",
    )(c.ub_check(lambda p, idx: c.one_index_per_row(p, idx, column=True))),
    rule("GATHER-A5-04", "16 and 16", "32 and 16")(c.check(c.row_length)),
    rule("GATHER-A5-05", "3x15 and 3x15", "3x16 and 3x15")(c.ub_check(c.one_index_per_element)),
    rule(
        "GATHER-A5-06",
        "dynamic destination and dynamic index tile",
        "dynamic destination and static index tile",
        why="The library casts sizes to unsigned before it compares them, so a dynamic one is 4294967295.",
        decision="Sizes of the table are compared where they are known.",
    )(c.ub_check(c.mixed_dynamic)),
    rule("GATHER-A5-07", "shape 40x16, strides 16 and 1", "shape 40x13, strides 19 and 1")(c.check(c.packed_table)),
    rule(
        "GATHER-A5-10",
        "two tiles of 32 KB",
        "two tiles of 128 KB",
        what="Destination and index tile take at most 216 KB of UB.",
    )(c.ub_check(lambda p, idx: c.working_set(p, idx, c.UB_KIB, 1 << 20))),
    rule(
        "GATHER-A5-11",
        "two tiles of 32 KB",
        "two tiles of 96 KB",
        what="Beyond 128 KB for destination and index tile the launch must ask for dynamic UB.",
        source="move-gather-scatter 10.4 GATHER-A5-10",
    )(c.ub_check(lambda p, idx: c.working_set(p, idx, 128, c.UB_KIB))),
    rule(
        "GATHER-A5-12",
        "an 8x1 column-major index tile",
        "valid 8x1 of a row-major 8x8 index tile",
        source="move-gather-scatter 10.3",
    )(c.ub_check(c.apart)),
    *text_rules("GA"),
)
