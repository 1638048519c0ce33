"""Rules of pipes between cores, reserved buffers and asynchronous transfers (assembly 13.10, 14)."""

from typing import Any

from ptokit.diagnostics import Scope, Severity, define


def _rule(id: str, what: str, example: str = "", **more: Any) -> None:
    define(id, what, example=example, **{"source": "assembly 13.10", "scope": Scope.ASSEMBLER, **more})


_rule(
    "PI-1",
    "Cube functions initialize aic, push to, pop from and free from aiv; vector functions the other way round.",
    "{tpush_to_aiv in a function with pto.kernel_kind = #pto.kernel_kind<cube>|tpush_to_aiv in a function "
    "with pto.kernel_kind = #pto.kernel_kind<vector>, or without one}",
    decision="A kernel_kind on the module counts for its functions.",
    evidence="ptokit",
    unrun="in words so far",
)
_rule(
    "PI-2",
    "An initialize op has an id of its own in the function, dir_mask 1, 2 or 3, sizes, and what its slots need.",
    "{aic_initialize_pipe {dir_mask = 1, slot_size = 1024} …|aic_initialize_pipe {dir_mask = 0, …}}",
    source="PTOAS 2026-08 PTO.cpp verifyFrontendInitCommon",
    why="A buffer of the consumer for each direction, or gm_slot_tensor; one of the two ways through global memory.",
    evidence="ptokit",
    unrun="in words so far",
)
_rule(
    "PI-3",
    "split is 0 to 4; 3 and 4 halve an odd size, which only a pipe of tiles from cube to vector through memory does.",
    "{tfree(%p : !pto.pipe) {split = 2}|tfree(%p : !pto.pipe) {split = 5}}",
    source="PTOAS 2026-08 PTO.cpp verifyFrontendSplitOp",
    evidence="ptokit",
    unrun="in words so far",
)
_rule(
    "PI-4",
    "A pop has both sizes or none; with sizes its tile has valid=?x?.",
    "{tpop_from_aic(%r, %c) {split = 0} -> !pto.tile_buf<vec, 16x16xf32, valid=?x?>|tpop_from_aic(%r, %c) "
    "{split = 0} -> !pto.tile_buf<vec, 16x16xf32>}",
    why="One size alone cannot be written: reported while reading (TEXT-UNEXPECTED).",
    evidence="ptokit",
    unrun="in words so far",
)
_rule(
    "PI-5",
    "A pipe has slots, 1 .. slot_num of them local, a flag_base that fits, a peer buffer if dir_mask is 3 only.",
    "{initialize_l2l_pipe {dir_mask = 1, slot_size = 1024, slot_num = 8} …|initialize_l2l_pipe {dir_mask = "
    "1, slot_size = 1024, slot_num = 0} …}",
    evidence="ptokit",
    unrun="in words so far",
)
_rule(
    "PI-6",
    "tpush, tpop and tfree stand in a section or a kernel_kind function, behind the op that initializes their pipe.",
    """
        func.func @v(%n: index) attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
          {|pto.tfree_from_aic {split = 0}
          }return
        }
    """,
    why="There is no pipe to use, or none in this direction.",
    evidence="ptokit",
)
_rule(
    "PI-7",
    "Each tpop has its tfree behind it in the same block, after the last use of the tile.",
    "{tpop_from_aic, uses of the tile, tfree_from_aic|a tile that is read after its slot was freed}",
    severity=Severity.WARNING,
    scope=Scope.SYNC,
    why="The producer waits for the slot forever, or overwrites the tile while it is read.",
    decision="A warning: the assembler has this check and does not run it. The n-th free of a block belongs to "
    "its n-th pop, so that several slots may be in use.",
    unrun="in words so far",
)
_rule(
    "PI-8",
    "Both ends of a pipe agree: one initialize op at each side of its buffer, one flag_base, split or no split.",
    "{both ends with split = 0, and nosplit = true or absent|one end pushes with split = 1, the other pops "
    "with split = 0}",
    decision="On a2a3 an initialize op for aic or aiv has gm_slot_buffer or gm_slot_tensor.",
    evidence="ptokit",
    unrun="in words so far",
)
_rule(
    "PI-9",
    "A tensor goes through a pipe whose slots are tensors of its shape; aiv_subblockid is for halves of vec tiles.",
    "{… where gm_slot_tensor is 16x32xf32|tpush_to_aiv(%v : !pto.tensor_view<16x32xf32>) where "
    "gm_slot_tensor is 16x16xf32}",
    source="PTOAS 2026-08 PTO.cpp verifyFrontendTensorEntryMatchesInit",
    evidence="ptokit",
    unrun="in words so far",
)
_rule(
    "PIPE-FLAGS",
    "Each pipe of a core has flags of its own: two for a direction, the first of them its flag_base.",
    """
        pipe = TPipe(0, Direction.DIR_V2C, 512, 2, v2c_consumer_buf=0)
        other = TPipe({2|0}, Direction.DIR_V2C, 512, 2, v2c_consumer_buf=1024)
        with vector_section():
            t = Tile(Vec, f16, 16, 16, addr=0)
            u = Tile(Vec, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor, addr=1024)
            TEXPANDS(t, 1.0)
            TMOV(u, t)
            set_flag(PIPE_V, PIPE_MTE3, EVENT_ID0)
            wait_flag(PIPE_V, PIPE_MTE3, EVENT_ID0)
            TPUSH(pipe, u)
            TPUSH(other, u)
        with cube_section():
            m = Tile(Mat, f16, 16, 16, ColMajor, slayout=SLayout.RowMajor)
            TPOP(pipe, m)
            TFREE(pipe)
            TPOP(other, m)
            TFREE(other)
    """,
    source="compute-layout-irregular 3.2; pto-isa include/pto/npu/a5/TPush.hpp",
    scope=Scope.SYNC,
    why="A core would take an entry or a free slot of one pipe for one of the other.",
)
_rule(
    "PIPE-LAYOUT",
    "A tile is popped in the layout of the entries: ND from the cube core, that of the pushed tile from vector cores.",
    "{TMOV into an Nz tile, which is pushed, and popped as Nz|an ND tile pushed by a vector core, popped as Nz}",
    source="pto-isa include/pto/npu/a5/TPush.hpp",
    scope=Scope.ISA,
    why="A slot of UB or L1 is bytes, which the popped tile takes as its own; through global memory they are loaded.",
    decision="A warning: no library looks at it, and ptokit takes the bytes as the device does.",
    evidence="legal",
    unrun="in words so far",
)
_rule(
    "RB-1",
    "A reserved buffer has a name of its own in the function, a size, vec or mat, a base from 0 if auto is false.",
    '%b = pto.reserve_buffer {name = "q", size = 512, location = <vec>, auto = {true|false}} -> i32',
    evidence="ptokit",
)
_rule(
    "RB-2",
    "A function imports a buffer once, and the peer function reserves it.",
    '{import_reserved_buffer {name = "f", peer_func = @g} where @g reserves "f"|import_reserved_buffer {name '
    '= "f", peer_func = @g} where @g reserves none of that name}',
    evidence="ptokit",
    unrun="in words so far",
)
_rule(
    "AS-1",
    "Asynchronous transfers copy one-dimensional packed global memory of a size the text says, between equal types; a "
    "session has scratch in vec and a workspace of bytes.",
    "%n = pto.build_async_session(%t, %w : !pto.tile_buf<vec, 1x256xi8>, !pto.ptr<{i8|f32}>)  -> !pto.async_session",
    evidence="ptokit",
)
_rule(
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
_rule(
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
