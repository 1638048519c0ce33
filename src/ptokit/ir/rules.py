"""Rules about views, allocation, functions and transfers that the assembler's verifier states (assembly 13, 14)."""

from typing import Any

from ptokit.diagnostics import Rule, Scope, define


def _rule(id: str, what: str, example: str = "", section: str = "13.3", **more: Any) -> Rule:
    return define(id, what, scope=Scope.ASSEMBLER, source=f"assembly {section}", example=example, **more)


_rule(
    "AL-1",
    "alloc_tile takes valid_row only if the type's valid rows are `?`.",
    """
          func.func @k(%p: !pto.ptr<f32>, %h: !pto.ptr<f16>, %n: index) {
            %a0 = arith.constant 0 : i64
        %t = pto.alloc_tile {addr|valid_row} = %{a0|n} : !pto.tile_buf<vec, 16x16xf32>
            return
        }
    """,
    evidence="ptokit",
)
_rule(
    "AL-2",
    "alloc_tile needs valid_row if the type's valid rows are `?`.",
    """
          func.func @k(%p: !pto.ptr<f32>, %h: !pto.ptr<f16>, %n: index) {
            %a0 = arith.constant 0 : i64
        %t = pto.alloc_tile {addr|valid_col} = %{a0|n} : !pto.tile_buf<vec, 16x16xf32{|, valid=?x?}>
            return
        }
    """,
    evidence="ptokit",
)
_rule(
    "AL-3",
    "alloc_tile takes valid_col only if the type's valid columns are `?`.",
    """
          func.func @k(%p: !pto.ptr<f32>, %h: !pto.ptr<f16>, %n: index) {
            %a0 = arith.constant 0 : i64
        %t = pto.alloc_tile {addr|valid_col} = %{a0|n} : !pto.tile_buf<vec, 16x16xf32>
            return
        }
    """,
    evidence="ptokit",
)
_rule(
    "AL-4",
    "alloc_tile needs valid_col if the type's valid columns are `?`.",
    """
          func.func @k(%p: !pto.ptr<f32>, %h: !pto.ptr<f16>, %n: index) {
            %a0 = arith.constant 0 : i64
        %t = pto.alloc_tile {addr|valid_row} = %{a0|n} : !pto.tile_buf<vec, 16x16xf32{|, valid=?x?}>
            return
        }
    """,
    evidence="ptokit",
)
_rule(
    "AL-5",
    "Where a function places one of its tiles (level 3), every alloc_tile has an address.",
    """
        %a0 = arith.constant 0 : i64
        %t = pto.alloc_tile {|: !pto.tile_buf<vec, 16x16xf32>
        %u = pto.alloc_tile }addr = %a0 : !pto.tile_buf<vec, 16x16xf32>
    """,
    "13.3, 14",
    why="Placement is either the program's or the compiler's; a mixture could overlap. With --level: LV-1.",
    evidence="ptokit",
)
_rule(
    "LV-1",
    "At level 3 every alloc_tile has an address; at levels 1 and 2 none has.",
    """
        // ptokit check --level {3|2} --rules assembler
        %z = arith.constant 0 : i64
        %t = pto.alloc_tile addr = %z : !pto.tile_buf<vec, 16x16xf32>
    """,
    "14, 13.3 (AL-5, AL-6)",
    why="At levels 1 and 2 the assembler places tiles; at level 3 it places none.",
    evidence="ptokit",
)
_rule(
    "AL-6",
    "At levels 1 and 2 alloc_tile has no address.",
    why="Without --level an address makes the text one of level 3.",
    reported_as="LV-1",
)
_rule(
    "RB-3",
    "At level 3 reserve_buffer has auto = false and a base; at levels 1 and 2 it has no base.",
    "// ptokit check --level 1 --rules assembler\n"
    '%b = pto.reserve_buffer {name = "f", size = 64, location = #pto.address_space<vec>, auto = true{|, base '
    "= 0}} -> i32",
    "14; PTOAS 2026-08, which has the levels of tiles for buffers, too",
    evidence="ptokit",
    on="a2a3",
)
_rule(
    "LV-2",
    "tassign belongs to level 3, and does not go with automatic synchronisation.",
    """
        // ptokit check --auto-sync
        %a0 = arith.constant 0 : i64{|
        %u = pto.tassign %t, %a0 : !pto.tile_buf<vec, 16x16xf32> -> !pto.tile_buf<vec, 16x16xf32>}
    """,
    "14, 13.3 (TA-2)",
    why="A tile whose address changes may overlap others, which an assembler that inserts flags does not see.",
)
_rule("TA-2", "tassign is used at level 3 only, and without automatic synchronisation.", reported_as="LV-2")
_rule(
    "MV-1",
    "make_tensor_view gives a tensor_view.",
    "%{t|v} = pto.{alloc_tile|make_tensor_view %p, shape = [%c16], strides = [%c1]} : "
    "!pto.{tile_buf|partition_tensor_view}<{vec, 1024x128xf32|16xf32}>",
    evidence="ptokit",
)
_rule(
    "MV-2",
    "make_tensor_view takes a pointer to the view's element type.",
    """
        %v = pto.make_tensor_view %p, shape = [%n], strides = [%s] : !pto.tensor_view<?xf32>
        %q = pto.addptr %p, %n : !pto.ptr<f{32|16}> -> !pto.ptr<f{32|16}>
    """,
    evidence="ptokit",
)
_rule(
    "MV-3",
    "make_tensor_view has one size and one stride per dimension.",
    """
        %v = pto.make_tensor_view %p, shape = [%n, %m], strides = [%s{, %r|}] : !pto.tensor_view<?x?xf32>
        %q = pto.addptr %p, %n : !pto.ptr<f32> -> !pto.ptr<f32>
    """,
    evidence="ptokit",
)
_rule(
    "PV-1",
    "partition_view slices a tensor_view into a partition_tensor_view.",
    "%s = pto.partition_view %v, offsets = [%{m1|c0}, %c0], sizes = [%c16, %c16] : "
    "!pto.tensor_view<32x16xf32> -> !pto.{partition_tensor_view|tensor_view}<16x16xf32>",
    evidence="ptokit",
)
_rule(
    "PV-2",
    "A slice has the element type of its tensor.",
    "%s = pto.partition_view %v, offsets = [%{m1|c0}, %c0], sizes = [%c16, %c16] : "
    "!pto.tensor_view<32x16xf32> -> !pto.partition_tensor_view<{16x16xf32|16x16xf16}>",
    evidence="ptokit",
)
_rule(
    "PV-3",
    "partition_view has one offset and one size per dimension of the tensor.",
    "%s = pto.partition_view %v, offsets = [%{m1, %|}c0], sizes = [%c16, %c16] : !pto.tensor_view<32x16xf32> "
    "-> !pto.partition_tensor_view<16x16xf32>",
    evidence="ptokit",
)
_rule(
    "PV-4",
    "Offsets of a slice are not negative.",
    "%m1 = arith.constant -1 : index\n"
    "%s = pto.partition_view %v, offsets = [%{c32|m1}, %c0], sizes = [%c16, %c16] : "
    "!pto.tensor_view<32x16xf32> -> !pto.partition_tensor_view<16x16xf32>",
)
_rule(
    "PV-5",
    "Sizes of a slice are positive.",
    "%c0 = arith.constant 0 : index\n"
    "%s = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%{c8|c0}, %c16] : "
    "!pto.tensor_view<32x16xf32> -> !pto.partition_tensor_view<{16x16xf32|?x16xf32}>",
)
_rule(
    "PV-6",
    "A constant size agrees with the slice's static dimension.",
    "%c8 = arith.constant 8 : index\n"
    "%s = pto.partition_view %v, offsets = [%{m1|c0}, %c0], sizes = [%{c16|c8}, %c16] : "
    "!pto.tensor_view<32x16xf32> -> !pto.partition_tensor_view<16x16xf32>",
    evidence="ptokit",
)
_rule(
    "PV-7",
    "A constant size fits the tensor's static dimension.",
    "%z = arith.constant 0 : index\n"
    "%n = arith.constant {32|64} : index\n"
    "%s = pto.partition_view %v, offsets = [%z], sizes = [%n] : !pto.tensor_view<32xf32> -> "
    "!pto.partition_tensor_view<{32|64}xf32>",
)
_rule(
    "PV-8",
    "A constant slice ends inside the tensor's static dimension.",
    "%c16 = arith.constant 16 : index\n"
    "%c32 = arith.constant 32 : index\n"
    "%s = pto.partition_view %v, offsets = [%{m1|c32}, %c0], sizes = [%c16, %c16] : "
    "!pto.tensor_view<32x16xf32> -> !pto.partition_tensor_view<16x16xf32>",
)
_rule(
    "AP-1",
    "addptr keeps the pointer's type.",
    "%q = pto.addptr %p, %n : !pto.ptr<f32> -> !pto.ptr<{f32|f16}>",
    evidence="ptokit",
)
_rule(
    "TA-1",
    "tassign keeps the tile's type.",
    """
        %a0 = arith.constant 0 : i64
        %u = pto.tassign %t, %a0 : !pto.tile_buf<vec, 16x16xf32> -> !pto.tile_buf<vec, {16x16xf32|8x16xf32}>
    """,
    evidence="ptokit",
)
_rule(
    "VS-1",
    "set_validshape needs a tile whose valid dimensions are both `?`.",
    """
        %t = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>{|
        pto.set_validshape %t, %c8, %c8 : !pto.tile_buf<vec, 16x16xf32>}
    """,
    evidence="ptokit",
)
_rule(
    "VS-2",
    "set_validshape changes a tile made in the same function (alloc_tile, declare_tile, possibly through "
    "bitcast or treshape).",
    """
        func.func @f(%n: index) {
          %c = arith.constant 8 : index
          %t = pto.alloc_tile valid_row = %n valid_col = %n : !pto.tile_buf<vec, 16x16xf32, valid=?x?>
          {pto.set_validshape %t, %c, %c : !pto.tile_buf<vec, 16x16xf32,
            valid=?x?>|%r = scf.for %i = %c to %n step %c iter_args(%x = %t) -> (!pto.tile_buf<vec, 16x16xf32,
            valid=?x?>) {
            pto.set_validshape %x, %c, %c : !pto.tile_buf<vec, 16x16xf32, valid=?x?>
            scf.yield %x : !pto.tile_buf<vec, 16x16xf32, valid=?x?>
          }}
          return
        }
    """,
)
_rule(
    "VS-3",
    "Valid dimensions lie between 0 and the tile's shape.",
    """
          func.func @k(%p: !pto.ptr<f32>, %h: !pto.ptr<f16>, %n: index) {
            %c8 = arith.constant 8 : index
            %c32 = arith.constant {16|32} : index
        %t = pto.alloc_tile valid_row = %n valid_col = %n : !pto.tile_buf<vec, 16x16xf32, valid=?x?>
        pto.set_validshape %t, %c32, %c8 : !pto.tile_buf<vec, 16x16xf32, valid=?x?>
            return
        }
    """,
)
_rule(
    "RS-1",
    "treshape keeps buffer and bytes, and does not mix boxed and plain layouts.",
    "%b = pto.treshape %a : !pto.tile_buf<vec, 16x{16|32}xf32> -> !pto.tile_buf<vec, 8x32xf32>",
    evidence="ptokit",
)
_rule(
    "BC-1",
    "bitcast keeps buffer, shape, valid region and layout, and needs another element type that is not wider.",
    "%u = pto.bitcast %t : !pto.tile_buf<vec, 16x16xf32> -> !pto.tile_buf<vec, {16x16xi8|16x16xf32}>",
    evidence="ptokit",
)
_rule(
    "SS-1",
    "The valid region of a window lies in its tile. A window of a boxed tile covers whole boxes, and all of the "
    "dimension its blocks are ordered by.",
    "%u = pto.subset %t[%c8, %c0] sizes [64, 16] : !pto.tile_buf<mat, 64x64xf16, blayout=col_major, "
    "slayout={none_box|row_major}>",
)
_rule(
    "LS-1",
    "load_scalar and store_scalar move one element of the pointer's type.",
    "%x = pto.load_scalar %p[%c0] : !pto.ptr<f32> -> {f32|i32}",
    evidence="ptokit",
)
_rule(
    "FN-2",
    "A kernel returns nothing.",
    """
        func.func @k(){| -> i32} attributes {pto.entry} {
          {|%c = arith.constant 1 : i32
          }return{| %c : i32}
        }
    """,
    "14",
    evidence="ptokit",
)
_rule(
    "FN-1",
    "Only functions with a body are kernels.",
    """
        func.func {@k() attributes {pto.entry} {
          return
        }|private @k() attributes {pto.entry}
        func.func @example() {
          return
        }}
    """,
    "14",
    evidence="ptokit",
)
_rule(
    "FN-3",
    "Functions do not call themselves, directly or through others.",
    """
        func.func @a()  {
        {|func.call @a() : () -> ()
        }return
        }
    """,
    "14",
    why="There is no stack for tiles; code emission refuses recursion.",
    evidence="ptokit",
)
_rule(
    "FN-4",
    "pto.auto_sync_tail_hint is barrier-all, default or mte3-to-s-event0.",
    'func.func @k(%n: index) attributes {pto.auto_sync_tail_hint = "{default|late}"} { return }',
    "14",
)
_rule(
    "FN-6",
    "pto.assume is a list of comparisons of a kernel's integers and of blocks, or x is y of two of its arrays.",
    'func.func @k(%n: index) attributes {pto.assume = ["{n|m} % 16 == 0"]} { return }',
    why="Launches are held to them, and a proof takes them for granted.",
    evidence="ptokit",
)
define(
    "SYS-05",
    "A section in a function with a kernel kind is of that kind.",
    source="compute-layout-irregular part 4; PTOAS 2026-08, which takes such functions",
    why="Cores of the function's kind skip the section, and others do not run the function.",
    example="""
        func.func @f(%c: i1) attributes {pto.kernel_kind = #pto.kernel_kind<{cube|vector}>} {
        pto.section.cube {
        }
        return
        }
    """,
    evidence="document",
)
define(
    "SYS-05-NESTED",
    "Sections are not nested.",
    source="compute-layout-irregular part 4",
    why="A core is either for cubes or for vectors, so one of them would skip what is inside.",
    example="""
        func.func @example() {
          pto.section.vector {
            {pto.barrier <PIPE_V>|pto.section.cube {
            }}
          }
          return
        }
    """,
    evidence="device",
)
_rule("TC-2", "A tile and its valid region have two dimensions.", section="13.2", evidence="ptokit", reported_as="TY-5")
_rule(
    "TC-3",
    "The valid region of an operand is not larger than its tile.",
    "pto.tload ins(%v : !pto.partition_tensor_view<16x16xf32>) "
    "outs(%t : !pto.tile_buf<vec, 16x16xf32, valid={8x16|17x16}>)",
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
        example="{all of it, with --rules assembler|nothing}",
        unrun="nothing breaks it",
        enforced=False,
    )
define(
    "OPERAND-KIND",
    "Each operand of an instruction is of the kind it takes: view of global memory, number, register; a count is an "
    "integer.",
    scope=Scope.TEXT,
    source="assembly 6",
    why="Where a tile is taken, it is TC-1; some instructions have a rule of the assembler of their own about it.",
    example="%d = pto.get_tensor_view_dim %v, %i : !pto.{tensor_view<16x16xf32>|tile_buf<vec, 16x16xf32>} -> index",
)
define(
    "FN-LAUNCH",
    "The function that threads are launched with is one of the module, and gets as many arguments as it takes.",
    source="PTOAS VPTO.cpp SimtLaunchOp",
    example="""
        func.func @body(%x: f32) attributes {pto.simt_entry} {
          return
        }
        func.func @f(%n: i32, %x: f32) {
          pto.simt_launch "{body|other}" <<<%n, %n, %n>>> (%x) : (f32) -> ()
          return
        }
    """,
    evidence="assembler ptokit",
)
define(
    "FN-CALL",
    "A called function has a body.",
    scope=Scope.RUN,
    source="assembly 2, 11",
    why="A declaration only says that another module has the function.",
    example="""
        {func.func @f() { return }|func.func private @f()}
        func.func @example() attributes {pto.entry} {
          func.call @f() : () -> ()
          return
        }
    """,
)


# Rules of reserved buffers and asynchronous transfers (assembly 13.10, 14).


def _pipe_rule(id: str, what: str, example: str, source: str = "assembly 13.10", **more: Any) -> None:
    define(id, what, scope=Scope.ASSEMBLER, example=example, source=source, **more)


_pipe_rule(
    "RB-1",
    "A reserved buffer has a name of its own in the function, a size, vec or mat, a base from 0 if auto is false.",
    '%b = pto.reserve_buffer {name = "q", size = 512, location = <vec>, auto = {true|false}} -> i32',
    evidence="ptokit",
)
_pipe_rule(
    "RB-2",
    "A function imports a buffer once, and the peer function reserves it.",
    """
        func.func @c() attributes {pto.kernel_kind = #pto.kernel_kind<cube>} {
          %b = pto.import_reserved_buffer {name = "{q|r}", peer_func = @v} -> i32
          return
        }
        func.func @v() attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
          %b = pto.reserve_buffer {name = "q", size = 8192, location = <vec>, auto = true} -> i32
          return
        }
    """,
    evidence="ptokit",
)
_pipe_rule(
    "AS-1",
    "Asynchronous transfers copy one-dimensional packed global memory of a size the text says, between equal types; a "
    "session has scratch in vec and a workspace of bytes.",
    "%n = pto.build_async_session(%t, %w : !pto.tile_buf<vec, 1x256xi8>, !pto.ptr<{i8|f32}>)  -> !pto.async_session",
    evidence="ptokit",
)
_pipe_rule(
    "PM-1",
    "A buffer reserved with auto = false goes with tiles that all have addresses.",
    """
        %b = pto.reserve_buffer {name = "q", size = 512, location = <vec>, auto = {true|false}, base = 0} -> i32
        %t = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>
    """,
    source="assembly 14",
    why="The assembler places what has no address, and does not know where the reserved buffer lies.",
    evidence="ptokit",
)
_pipe_rule(
    "AP-2",
    "A moved pointer to global memory is used by views, scalar accesses, pipes and further addptr only.",
    """
          %q = pto.addptr %p, %n : !pto.ptr<f32> -> !pto.ptr<f32>{|
          func.call @g(%q) : (!pto.ptr<f32>) -> ()}
        func.func @g(%p: !pto.ptr<f32>) {
          return
        }
    """,
    source="assembly 14",
    why="The offset is folded into the operation that uses the pointer; there is no register for it.",
)
