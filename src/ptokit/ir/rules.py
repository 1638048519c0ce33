"""Rules about views, allocation and functions that the reference assembler's verifier states (assembly 13.3, 14)."""

from ptokit.diagnostics import Rule, Scope, define


def _rule(id: str, what: str, rejected: str, accepted: str, section: str = "13.3", why: str = "") -> Rule:
    return define(
        id, what, scope=Scope.ASSEMBLER, source=f"assembly {section}", rejected=rejected, accepted=accepted, why=why
    )


_rule(
    "AL-1",
    "alloc_tile takes valid_row only if the type's valid rows are `?`.",
    "alloc_tile valid_row = %r : !pto.tile_buf<vec, 16x16xf32>",
    "… : !pto.tile_buf<vec, 16x16xf32, valid=?x16>",
)
_rule(
    "AL-2",
    "alloc_tile needs valid_row if the type's valid rows are `?`.",
    "alloc_tile : !pto.tile_buf<vec, 16x16xf32, valid=?x16>",
    "alloc_tile valid_row = %r : …",
)
_rule(
    "AL-3",
    "alloc_tile takes valid_col only if the type's valid columns are `?`.",
    "alloc_tile valid_col = %c : !pto.tile_buf<vec, 16x16xf32>",
    "… : !pto.tile_buf<vec, 16x16xf32, valid=16x?>",
)
_rule(
    "AL-4",
    "alloc_tile needs valid_col if the type's valid columns are `?`.",
    "alloc_tile : !pto.tile_buf<vec, 16x16xf32, valid=16x?>",
    "alloc_tile valid_col = %c : …",
)
_rule(
    "AL-5",
    "Where a function places one of its tiles (level 3), every alloc_tile has an address.",
    "one alloc_tile with addr and one without",
    "every alloc_tile with addr, or none",
    "13.3, 14",
    why="Placement is either the program's or the compiler's; a mixture could overlap. With --level: LV-1.",
)
_rule(
    "LV-1",
    "At level 3 every alloc_tile has an address; at levels 1 and 2 none has.",
    "alloc_tile addr = %a : T, checked with --level 2",
    "alloc_tile addr = %a : T, checked with --level 3",
    "14, 13.3 (AL-5, AL-6)",
    why="At levels 1 and 2 the assembler places tiles; at level 3 it places none.",
)
_rule(
    "AL-6",
    "At levels 1 and 2 alloc_tile has no address.",
    "see LV-1",
    "see LV-1",
    "13.3",
    why="Reported as LV-1. Without --level an address makes the text one of level 3.",
)
_rule(
    "RB-3",
    "At level 3 reserve_buffer has auto = false and a base; at levels 1 and 2 it has no base.",
    "reserve_buffer with base = 0, checked with --level 2",
    "reserve_buffer with auto = true, checked with --level 2",
    "14; PTOAS 2026-08, which has the levels of tiles for buffers, too",
)
_rule(
    "LV-2",
    "tassign belongs to level 3, and does not go with automatic synchronisation.",
    "tassign, checked with --level 2 or with --auto-sync",
    "tassign, checked with --level 3",
    "14, 13.3 (TA-2)",
    why="A tile whose address changes may overlap others, which an assembler that inserts flags does not see.",
)
_rule(
    "TA-2",
    "tassign is used at level 3 only, and without automatic synchronisation.",
    "see LV-2",
    "see LV-2",
    "13.3",
    why="Reported as LV-2.",
)
_rule(
    "MV-1",
    "make_tensor_view gives a tensor_view.",
    "… : !pto.partition_tensor_view<16xf32>",
    "… : !pto.tensor_view<16xf32>",
)
_rule(
    "MV-2",
    "make_tensor_view takes a pointer to the view's element type.",
    "a !pto.ptr<f16> for !pto.tensor_view<?xf32>",
    "a !pto.ptr<f32> for !pto.tensor_view<?xf32>",
)
_rule(
    "MV-3",
    "make_tensor_view has one size and one stride per dimension.",
    "shape = [%a, %b], strides = [%c]",
    "shape = [%a, %b], strides = [%b, %c1]",
)
_rule(
    "PV-1",
    "partition_view slices a tensor_view into a partition_tensor_view.",
    "a slice of a partition view",
    "!pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x16xf32>",
)
_rule(
    "PV-2",
    "A slice has the element type of its tensor.",
    "tensor_view<?xf32> -> partition_tensor_view<16xf16>",
    "tensor_view<?xf32> -> partition_tensor_view<16xf32>",
)
_rule(
    "PV-3",
    "partition_view has one offset and one size per dimension of the tensor.",
    "offsets = [%c0] of a 2-D view",
    "offsets = [%c0, %c0]",
)
_rule("PV-4", "Offsets of a slice are not negative.", "offsets = [%cm1, %c0]", "offsets = [%c0, %c0]")
_rule("PV-5", "Sizes of a slice are positive.", "sizes = [%c0, %c16]", "sizes = [%c16, %c16]")
_rule(
    "PV-6",
    "A constant size agrees with the slice's static dimension.",
    "size 8 for partition_tensor_view<16xf32>",
    "size 16 for partition_tensor_view<16xf32>",
)
_rule(
    "PV-7",
    "A constant size fits the tensor's static dimension.",
    "size 64 of tensor_view<32xf32>",
    "size 32 of tensor_view<32xf32>",
)
_rule(
    "PV-8",
    "A constant slice ends inside the tensor's static dimension.",
    "offset 16, size 32 of tensor_view<32xf32>",
    "offset 0, size 32",
)
_rule("AP-1", "addptr keeps the pointer's type.", "!pto.ptr<f32> -> !pto.ptr<f16>", "!pto.ptr<f32> -> !pto.ptr<f32>")
_rule("TA-1", "tassign keeps the tile's type.", "T -> another tile type", "T -> T")
_rule(
    "VS-1",
    "set_validshape needs a tile whose valid dimensions are both `?`.",
    "set_validshape on !pto.tile_buf<vec, 16x16xf32>",
    "… on !pto.tile_buf<vec, 16x16xf32, valid=?x?>",
)
_rule(
    "VS-2",
    "set_validshape changes a tile made in the same function (alloc_tile, declare_tile, possibly through "
    "bitcast or treshape).",
    "set_validshape of a loop-carried tile",
    "set_validshape of an alloc_tile result",
)
_rule(
    "VS-3",
    "Valid dimensions lie between 0 and the tile's shape.",
    "set_validshape %t, %c32, %c16 of a 16x16 tile",
    "set_validshape %t, %c8, %c16",
)
_rule(
    "RS-1",
    "treshape keeps buffer and bytes, and does not mix boxed and plain layouts.",
    "16x16xf32 -> 16x8xf32",
    "16x1xf32 (col_major) -> 1x16xf32",
)
_rule(
    "BC-1",
    "bitcast keeps buffer, shape, valid region and layout, and needs another element type that is not wider.",
    "16x16xf16 -> 16x16xf32",
    "16x16xf32 -> 16x16xi32",
)
_rule(
    "SS-1",
    "The valid region of a window lies in its tile. A window of a boxed tile covers whole boxes, and all of the "
    "dimension its blocks are ordered by.",
    "8 rows of an Nz tile with 16-row boxes",
    "16 rows of it, all columns of a row_major block layout",
)
_rule(
    "LS-1",
    "load_scalar and store_scalar move one element of the pointer's type.",
    "load_scalar of !pto.ptr<f32> giving i32",
    "load_scalar of !pto.ptr<f32> giving f32",
)
_rule("FN-2", "A kernel returns nothing.", "func.func @k() -> i32 attributes {pto.entry}", "func.func @k()", "14")
_rule(
    "FN-1",
    "Only functions with a body are kernels.",
    "func.func private @k() attributes {pto.entry}",
    "func.func @k() attributes {pto.entry} { return }",
    "14",
)
_rule(
    "FN-3",
    "Functions do not call themselves, directly or through others.",
    "@f calls @g, @g calls @f",
    "@f calls @g",
    "14",
    why="There is no stack for tiles; code emission refuses recursion.",
)
_rule(
    "FN-4",
    "pto.auto_sync_tail_hint is barrier-all, default or mte3-to-s-event0.",
    'pto.auto_sync_tail_hint = "late"',
    'pto.auto_sync_tail_hint = "barrier-all"',
    "14",
)
define(
    "SYS-05",
    "A section in a function with a kernel kind is of that kind.",
    source="compute-layout-irregular part 4; PTOAS 2026-08, which takes such functions",
    why="Cores of the function's kind skip the section, and others do not run the function.",
    rejected="pto.section.cube { … } in a function with pto.kernel_kind = #pto.kernel_kind<vector>",
    accepted="the same section in a function with pto.kernel_kind = #pto.kernel_kind<cube>",
)
define(
    "SYS-05-NESTED",
    "Sections are not nested.",
    source="compute-layout-irregular part 4",
    why="A core is either for cubes or for vectors, so one of them would skip what is inside.",
    rejected="pto.section.vector { pto.section.cube { … } }",
    accepted="pto.section.vector { … } pto.section.cube { … }",
)
_rule(
    "TC-2",
    "A tile and its valid region have two dimensions.",
    "see TY-5",
    "see TY-5",
    "13.2",
    why="Reported while the type is read: TY-5.",
)
_rule(
    "TC-3",
    "The valid region of an operand is not larger than its tile.",
    "!pto.tile_buf<vec, 16x16xf32, valid=32x16>",
    "!pto.tile_buf<vec, 16x16xf32, valid=8x16>",
    "13.2",
    why="Reported as TILE-01, where the tile is made; with --rules assembler as TC-3, where it is used.",
)
for _id, _what in (
    (
        "LD-N",
        "tload: layouts of view and tile, the view's size, and on a5 the tile's place.",
    ),
    (
        "MO-N",
        "tmov: pairs of element types or layouts, and limits of bias and scaling tiles.",
    ),
    ("MV-N", "make_tensor_view: a layout that contradicts the strides, or sizes that contradict the type."),
):
    define(
        _id,
        _what,
        scope=Scope.ASSEMBLER,
        source="assembly 13.3, 13.4, 13.6",
        why="The assembler does not refuse it. The instruction set has rules of its own about it.",
        accepted="all of it, with --rules assembler",
        rejected="nothing",
        enforced=False,
    )
define(
    "OPERAND-KIND",
    "Each operand of an instruction is of the kind it takes: view of global memory, number, register; a count is an "
    "integer.",
    scope=Scope.TEXT,
    source="assembly 6",
    why="Where a tile is taken, it is TC-1; some instructions have a rule of the assembler of their own about it.",
    rejected="get_tensor_view_dim %tile, %i",
    accepted="get_tensor_view_dim %view, %i",
)
define(
    "FN-LAUNCH",
    "The function that threads are launched with is one of the module, and gets as many arguments as it takes.",
    source="PTOAS VPTO.cpp SimtLaunchOp",
    rejected='pto.simt_launch "nosuch" <<<%x, %y, %z>>> () : () -> ()',
    accepted='pto.simt_launch "body" <<<%x, %y, %z>>> () : () -> ()',
)
define(
    "FN-CALL",
    "A called function has a body.",
    scope=Scope.RUN,
    source="assembly 2, 11",
    why="A declaration only says that another module has the function.",
    rejected="func.func private @f()  …  func.call @f() : () -> ()",
    accepted="func.func @f() { return }  …  func.call @f() : () -> ()",
)
