"""Rules of pipes between cores, reserved buffers and asynchronous transfers (assembly 13.10, 14)."""

from ptokit.diagnostics import Scope, Severity, define


def _rule(id: str, what: str, rejected: str, accepted: str, **more: object) -> None:
    more = {"source": "assembly 13.10", "scope": Scope.ASSEMBLER, **more}
    define(id, what, rejected=rejected, accepted=accepted, **more)  # type: ignore[arg-type]


_rule(
    "PI-1",
    "Cube functions initialize aic, push to, pop from and free from aiv; vector functions the other way round.",
    "tpush_to_aiv in a function with pto.kernel_kind = #pto.kernel_kind<vector>, or without one",
    "tpush_to_aiv in a function with pto.kernel_kind = #pto.kernel_kind<cube>",
    decision="A kernel_kind on the module counts for its functions.",
)
_rule(
    "PI-2",
    "An initialize op has an id of its own in the function, dir_mask 1, 2 or 3, sizes, and what its slots need.",
    "aic_initialize_pipe {dir_mask = 0, …}",
    "aic_initialize_pipe {dir_mask = 1, slot_size = 1024} …",
    source="PTOAS 2026-08 PTO.cpp verifyFrontendInitCommon",
    why="A buffer of the consumer for each direction, or gm_slot_tensor; one of the two ways through global memory.",
)
_rule(
    "PI-3",
    "split is 0 to 4; 3 and 4 halve an odd size, which only a pipe of tiles from cube to vector through memory does.",
    "tfree(%p : !pto.pipe) {split = 5}",
    "tfree(%p : !pto.pipe) {split = 2}",
    source="PTOAS 2026-08 PTO.cpp verifyFrontendSplitOp",
)
_rule(
    "PI-4",
    "A pop has both sizes or none; with sizes its tile has valid=?x?.",
    "tpop_from_aic(%r, %c) {split = 0} -> !pto.tile_buf<vec, 16x16xf32>",
    "tpop_from_aic(%r, %c) {split = 0} -> !pto.tile_buf<vec, 16x16xf32, valid=?x?>",
    why="One size alone cannot be written: reported while reading (TEXT-UNEXPECTED).",
)
_rule(
    "PI-5",
    "A pipe has slots, 1 .. slot_num of them local, a flag_base that fits, a peer buffer if dir_mask is 3 only.",
    "initialize_l2l_pipe {dir_mask = 1, slot_size = 1024, slot_num = 0} …",
    "initialize_l2l_pipe {dir_mask = 1, slot_size = 1024, slot_num = 8} …",
)
_rule(
    "PI-6",
    "tpush, tpop and tfree stand in a section or a kernel_kind function, behind the op that initializes their pipe.",
    "tpush_to_aiv before aic_initialize_pipe, or where dir_mask is 2",
    "tpush_to_aiv behind aic_initialize_pipe with dir_mask 1 or 3",
    why="There is no pipe to use, or none in this direction.",
)
_rule(
    "PI-7",
    "Each tpop has its tfree behind it in the same block, after the last use of the tile.",
    "a tile that is read after its slot was freed",
    "tpop_from_aic, uses of the tile, tfree_from_aic",
    severity=Severity.WARNING,
    scope=Scope.SYNC,
    why="The producer waits for the slot forever, or overwrites the tile while it is read.",
    decision="A warning: the assembler has this check and does not run it. The n-th free of a block belongs to "
    "its n-th pop, so that several slots may be in use.",
)
_rule(
    "PI-8",
    "Both ends of a pipe agree: one initialize op at each side of its buffer, one flag_base, split or no split.",
    "one end pushes with split = 1, the other pops with split = 0",
    "both ends with split = 0, and nosplit = true or absent",
    decision="On a2a3 an initialize op for aic or aiv has gm_slot_buffer or gm_slot_tensor.",
)
_rule(
    "PI-9",
    "A tensor goes through a pipe whose slots are tensors of its shape; aiv_subblockid is for halves of vec tiles.",
    "tpush_to_aiv(%v : !pto.tensor_view<16x32xf32>) where gm_slot_tensor is 16x16xf32",
    "… where gm_slot_tensor is 16x32xf32",
    source="PTOAS 2026-08 PTO.cpp verifyFrontendTensorEntryMatchesInit",
)
_rule(
    "PIPE-FLAGS",
    "Each pipe of a core has flags of its own: two for a direction, the first of them its flag_base.",
    "two pipes with dir_mask = 1, one with flag_base = 0, the other with flag_base = 1",
    "two pipes with dir_mask = 1, one with flag_base = 0, the other with flag_base = 2",
    source="compute-layout-irregular 3.2; pto-isa include/pto/npu/a5/TPush.hpp",
    scope=Scope.SYNC,
    why="A core would take an entry or a free slot of one pipe for one of the other.",
)
_rule(
    "PIPE-LAYOUT",
    "A tile is popped in the layout of the entries: ND from the cube core, that of the pushed tile from vector cores.",
    "an ND tile pushed by a vector core, popped as Nz",
    "TMOV into an Nz tile, which is pushed, and popped as Nz",
    source="pto-isa include/pto/npu/a5/TPush.hpp",
    scope=Scope.ISA,
    why="A slot of UB or L1 is bytes, which the popped tile takes as its own; through global memory they are loaded.",
    decision="A warning: no library looks at it, and ptokit takes the bytes as the device does.",
)
_rule(
    "RB-1",
    "A reserved buffer has a name of its own in the function, a size, vec or mat, a base from 0 if auto is false.",
    'reserve_buffer {name = "f", size = 0, location = #pto.address_space<vec>, auto = true}',
    'reserve_buffer {name = "f", size = 4096, location = #pto.address_space<vec>, auto = true}',
)
_rule(
    "RB-2",
    "A function imports a buffer once, and the peer function reserves it.",
    'import_reserved_buffer {name = "f", peer_func = @g} where @g reserves none of that name',
    'import_reserved_buffer {name = "f", peer_func = @g} where @g reserves "f"',
)
_rule(
    "AS-1",
    "Asynchronous transfers copy one-dimensional packed global memory of a size the text says, between equal types; a "
    "session has scratch in vec and a workspace of bytes.",
    "tput_async of memref<4x32xf32>",
    "tput_async of memref<128xf32>",
)
_rule(
    "PM-1",
    "A buffer reserved with auto = false goes with tiles that all have addresses.",
    "reserve_buffer {…, auto = false, base = 0} and alloc_tile without addr",
    "reserve_buffer {…, auto = false, base = 0} and alloc_tile addr = %a",
    source="assembly 14",
    why="The assembler places what has no address, and does not know where the reserved buffer lies.",
)
_rule(
    "AP-2",
    "A moved pointer to global memory is used by views, scalar accesses, pipes and further addptr only.",
    "func.call @f(%moved) : (!pto.ptr<f32>) -> ()",
    "make_tensor_view %moved, …",
    source="assembly 14",
    why="The offset is folded into the operation that uses the pointer; there is no register for it.",
)
