"""Rules of pipes between cores; checks of pipes that the fix-pipe fills (assembly 13.10).

An initialize op states it as ``acc_push_epilogue``; producer and consumer state the same, and the tiles at both ends
have the types that it is for (PTOAS of August 2026, PTO.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ptokit.diagnostics import Diagnostics, Scope, Severity, define
from ptokit.records import dataclass
from ptokit.targets import A5, Target
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import BLayout, SLayout, TileType
from ptokit.types.tile import TileSpec
from ptokit.types.values import Scalar

from .core import Block, Function, Module, Op
from .structure_checks import Surveys

# Rules of pipes between cores (assembly 13.10); those of buffers and transfers are in `rules`.


def _rule(id: str, what: str, example: str = "", **more: Any) -> None:
    define(id, what, example=example, **{"source": "assembly 13.10", "scope": Scope.ASSEMBLER, **more})


_TILE = "!pto.tile_buf<acc, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>"
_PIPE = f"""
    func.func @c() attributes {{pto.kernel_kind = #pto.kernel_kind<cube>}} {{
      %b = pto.import_reserved_buffer {{name = "q", peer_func = @v}} -> i32
      pto.aic_initialize_pipe {{dir_mask = 1, slot_size = 1024}} (c2v_consumer_buf = %b : i32)
      %t = pto.alloc_tile : {_TILE}
      pto.tpush_to_aiv(%t : {_TILE}) {{split = 0}}
      return
    }}
    func.func @v(%n: index) attributes {{pto.kernel_kind = #pto.kernel_kind<vector>}} {{
      %b = pto.reserve_buffer {{name = "q", size = 8192, location = <vec>, auto = true}} -> i32
      pto.aiv_initialize_pipe {{dir_mask = 1, slot_size = 1024}} (c2v_consumer_buf = %b : i32)
      %x = pto.tpop_from_aic {{split = 0}} -> !pto.tile_buf<vec, 16x16xf32>
      pto.tfree_from_aic {{split = 0}}
      return
    }}
"""


def _with_words(*changes: str, text: str = _PIPE) -> str:
    """An example with a pipe from a cube to a vector core, in which words become others: word, other, word, other."""
    for word, other in zip(changes[::2], changes[1::2], strict=True):
        text = text.replace(word, other, 1)
    return text


_USE = "pto.tneg ins(%x : !pto.tile_buf<vec, 16x16xf32>) outs(%y : !pto.tile_buf<vec, 16x16xf32>)\n      "
_WORDS = "slot_size = 512, nosplit = true, acc_push_epilogue = <layout = nz2nd, quant = f32_f16, relu = no_relu>"
_FIXED = _with_words(
    "16x16xf32>\n      pto.tfree", "16x16xf16>\n      pto.tfree", text=_PIPE.replace("slot_size = 1024", _WORDS)
)


_rule(
    "PI-1",
    "Cube functions initialize aic, push to, pop from and free from aiv; vector functions the other way round.",
    _with_words("<cube>", "<{cube|vector}>"),
    decision="A kernel_kind on the module counts for its functions.",
    evidence="ptokit",
)
_rule(
    "PI-2",
    "An initialize op has an id of its own in the function, dir_mask 1, 2 or 3, sizes, and what its slots need.",
    _with_words("slot_size = 1024", "slot_size = {1024|0}"),
    source="PTOAS 2026-08 PTO.cpp verifyFrontendInitCommon",
    why="A buffer of the consumer for each direction, or gm_slot_tensor; one of the two ways through global memory.",
    evidence="ptokit",
)
_rule(
    "PI-3",
    "split is 0 to 4; 3 and 4 halve an odd size, which only a pipe of tiles from cube to vector through memory does.",
    _with_words("split = 0", "split = {0|5}"),
    source="PTOAS 2026-08 PTO.cpp verifyFrontendSplitOp",
    evidence="ptokit",
)
_rule(
    "PI-4",
    "A pop has both sizes or none; with sizes its tile has valid=?x?.",
    _with_words("tpop_from_aic", "tpop_from_aic(%n, %n)", "16x16xf32>\n", "16x16xf32{, valid=?x?|}>\n"),
    why="One size alone cannot be written: reported while reading (TEXT-UNEXPECTED).",
    evidence="ptokit",
)
_rule(
    "PI-5",
    "A pipe has slots, 1 .. slot_num of them local, a flag_base that fits, a peer buffer if dir_mask is 3 only.",
    """
        func.func @v(%n: index) attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
          %b = pto.reserve_buffer {name = "q", size = 512, location = <vec>, auto = true} -> i32
          %p = pto.initialize_l2l_pipe {dir_mask = 1, slot_size = 64, slot_num = {8|0}, flag_base = 0} (%b : i32)
            -> !pto.pipe
          return
        }
        func.func @c() attributes {pto.kernel_kind = #pto.kernel_kind<cube>} {
          %b = pto.import_reserved_buffer {name = "q", peer_func = @v} -> i32
          %p = pto.initialize_l2l_pipe {dir_mask = 1, slot_size = 64, slot_num = 8, flag_base = 0} (%b : i32)
            -> !pto.pipe
          return
        }
    """,
    evidence="ptokit",
)
_rule(
    "PI-6",
    "tpush, tpop and tfree stand in a section or a kernel_kind function, after the op that initializes their pipe.",
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
    "Each tpop has its tfree after it in the same block, after the last use of the tile.",
    "    // ptokit check"
    + _with_words(
        "%b = pto.reserve",
        "%y = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>\n      %b = pto.reserve",
        "pto.tfree_from_aic {split = 0}",
        f"{{{_USE}|}}pto.tfree_from_aic {{split = 0}}{{|\n      {_USE}}}",
    ),
    severity=Severity.WARNING,
    scope=Scope.SYNC,
    why="The producer waits for the slot forever, or overwrites the tile while it is read.",
    decision="A warning: the assembler has this check and does not run it. The n-th free of a block belongs to "
    "its n-th pop, so that several slots may be in use.",
)
_rule(
    "PI-8",
    "Both ends of a pipe agree: one initialize op at each side of its buffer, one flag_base, split or no split.",
    _with_words(
        "%x = pto.tpop_from_aic {split = 0}",
        "%x = pto.tpop_from_aic {split = {0|1}}",
        "free_from_aic {split = 0}",
        "free_from_aic {split = {0|1}}",
    ),
    decision="On a2a3 an initialize op for aic or aiv has gm_slot_buffer or gm_slot_tensor.",
    evidence="ptokit",
)
_rule(
    "PI-9",
    "A tensor goes through a pipe whose slots are tensors of its shape; aiv_subblockid is for halves of vec tiles.",
    """
        func.func @c(%g: !pto.tensor_view<16x{32|16}xf32>,
          %e: !pto.tensor_view<16x32xf32>) attributes {pto.kernel_kind = #pto.kernel_kind<cube>} {
          pto.aic_initialize_pipe {dir_mask = 1, slot_size = {2048|1024}} (gm_slot_tensor = %g
            : !pto.tensor_view<16x{32|16}xf32>)
          pto.tpush_to_aiv(%e : !pto.tensor_view<16x32xf32>) {split = 0}
          return
        }
    """,
    source="PTOAS 2026-08 PTO.cpp verifyFrontendTensorEntryMatchesInit",
    evidence="ptokit",
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
    _with_words("xf32>\n      pto.tfree", "xf32{|, blayout=col_major}>\n      pto.tfree"),
    source="pto-isa include/pto/npu/a5/TPush.hpp",
    scope=Scope.ISA,
    why="A slot of UB or L1 is bytes, which the popped tile takes as its own; through global memory they are loaded.",
    decision="A warning: no library looks at it, and ptokit takes the bytes as the device does.",
    evidence="legal",
)
# Checks of pipes that the fix-pipe fills: what it does to an accumulator on the way to a vector core.


_SOURCE = "PTOAS 2026-08 PTO.cpp"


_rule(
    "FX-1",
    "A pipe with acc_push_epilogue goes from cube to vector, whole (dir_mask = 1, nosplit = true, split = 0), through "
    "a buffer that the consumer reserves; pipes have no other words of the fix-pipe.",
    _with_words(", nosplit = true", "{, nosplit = true|}", text=_FIXED),
    evidence="ptokit",
)
_rule(
    "FX-2",
    "acc_push_epilogue has a layout, a quantisation that the target knows, and a relu; both ends state the same.",
    _with_words("f32_f16", "{f32_f16|f32_bf16}", text=_FIXED),
    evidence="ptokit",
)
_rule(
    "FX-3",
    "The pushed accumulator and the popped tile have the types and layout of the epilogue, and a slot holds the tile.",
    _with_words("16x16xf16>", "16x16x{f16|f32}>", text=_FIXED),
    evidence="ptokit",
)
_rule(
    "FX-4",
    "A push that quantises has its set_quant_scalar or set_quant_vector before it in the block, for its pipe.",
    """
        {|  pto.set_quant_scalar(%s : f32) {id = 0}
        }func.func @v() attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
          return
        }
    """,
    evidence="ptokit",
)

_HIDDEN = frozenset(
    "stPhase st_phase atomicType atomic_type subBlockId subBlockid sub_blockid clipReluMode clip_relu_mode "
    "isChannelSplit is_channel_split channelSplit channel_split".split()
)
_LAYOUTS = {
    "nz2nd": (BLayout.RowMajor, SLayout.NoneBox),
    "nz2dn": (BLayout.ColMajor, SLayout.NoneBox),
    "nz2nz": (BLayout.ColMajor, SLayout.RowMajor),
}
_QUANTS: dict[str, tuple[str, str]] = {
    "no_convert": ("f32 i32", "f32 i32"),
    "f32_f16": ("f32", "f16"),
    "f32_bf16": ("f32", "bf16"),
    "req8_scalar": ("i32", "i8 u8"),
    "req8_vec": ("i32", "i8"),
    "deqf16_scalar": ("i32", "f16"),
    "deqf16_vec": ("i32", "f16"),
    "qf322b8_pre_scalar": ("f32", "i8 u8"),
    "qf322b8_pre_vec": ("f32", "i8"),
    "qf322f16_pre_scalar": ("f32", "f16"),
    "qf322bf16_pre_scalar": ("f32", "bf16"),
    "qs322bf16_pre_scalar": ("i32", "bf16"),
    "qs322bf16_pre_vec": ("i32", "bf16"),
    "qf322hif8_pre_scalar": ("f32", "hif8"),
    "qf322fp8_pre_scalar": ("f32", "e4m3"),
}
"""Element types of the accumulator and of the popped tile, by quantisation."""

_A5_ONLY = ("qs322", "qf322hif8", "qf322fp8")
_PAIR = re.compile(r"(\w+)\s*=\s*(\w+)")
_INITIALIZE = ("pto.aic_initialize_pipe", "pto.aiv_initialize_pipe")
_USERS = frozenset(
    f"pto.{verb}_{core}" for core in ("aic", "aiv") for verb in ("tpush_to", "tpop_from", "tfree_from", "talloc_to")
)
_SETTERS = ("pto.set_quant_scalar", "pto.set_quant_vector")
_LOWERED = frozenset(("pto.initialize_l2l_pipe", "pto.initialize_l2g2l_pipe"))
"""Pipes without ids: the words that are set are the core's."""
_ALL = frozenset((*_INITIALIZE, *_USERS, *_SETTERS))


@dataclass(frozen=True)
class _Pipe:
    """An initialize op of the frontend, where it stands, and its epilogue as words."""

    op: Op
    function: Function
    epilogue: dict[str, str]

    @property
    def id(self) -> int:
        return self.op.attrs.get("id", 0)

    @property
    def buffer(self) -> Op | None:
        """The operation that reserves or imports the consumer's buffer."""
        value = self.op.get("c2v_consumer_buf")
        owner = value.owner if value is not None else None
        known = ("pto.reserve_buffer", "pto.import_reserved_buffer")
        return owner if isinstance(owner, Op) and owner.name in known else None


def hides(operation: str, attribute: str) -> bool:
    """True if FX-1 refuses an attribute of an operation."""
    return attribute in _HIDDEN and operation in _ALL


def check_fixpipes(module: Module, surveys: Surveys, target: Target, found: Diagnostics) -> None:
    """Report FX-1 to FX-4."""
    pipes: dict[Function, dict[int, _Pipe]] = {}
    for function, survey in surveys.items():
        if survey.has(_ALL):
            inits = [_pipe(op, function) for name in _INITIALIZE for op in survey.named(name)]
            pipes[function] = {pipe.id: pipe for pipe in inits}
    for function, own in pipes.items():
        for op in surveys[function].ops:
            if op.name in _ALL and not (op.name in _SETTERS and surveys[function].has(_LOWERED)):
                for rule, message in _operation(op, own.get(op.attrs.get("id", 0)), target):
                    found.error(rule, message, op.location)
        for pipe in own.values():
            if pipe.epilogue:
                for rule, message in _contract(pipe, module, surveys, pipes, target):
                    found.error(rule, message, pipe.op.location)
        for block in _blocks(function):
            _pushes(block, own, found)


Messages = Iterator[tuple[str, str]]


def _pipe(op: Op, function: Function) -> _Pipe:
    return _Pipe(op, function, dict(_PAIR.findall(str(op.attrs.get("acc_push_epilogue") or ""))))


def _blocks(function: Function) -> Iterator[Block]:
    regions = [function.body] if function.body is not None else []
    while regions:
        for block in regions.pop().blocks:
            yield block
            regions += [region for op in block.ops for region in op.regions]


def _operation(op: Op, pipe: _Pipe | None, target: Target) -> Messages:
    hidden = next((key for key in op.attrs if key in _HIDDEN), None)
    if hidden is not None:
        yield "FX-1", f"'{hidden}' is no attribute of {op.name}"
    if op.name in _SETTERS:
        yield from _setter(op, pipe, target)
    elif op.name in _USERS and pipe is not None and pipe.epilogue and op.attrs.get("split", 0) != 0:
        yield "FX-1", f"split is {op.attrs['split']}, and the pipe is filled by the fix-pipe"


def _setter(op: Op, pipe: _Pipe | None, target: Target) -> Messages:
    kind = op.name.rpartition("_")[2]
    if pipe is None or not pipe.op.name.startswith("pto.aic_") or not pipe.epilogue:
        yield "FX-4", f"id {op.attrs.get('id', 0)} is no pipe that the fix-pipe fills"
    elif not pipe.epilogue.get("quant", "").endswith("scalar" if kind == "scalar" else "vec"):
        yield "FX-4", f"the pipe's quantisation is {pipe.epilogue.get('quant')}, which takes no {kind}"
    if kind == "scalar" and isinstance(op["scale"].type, Scalar) and op["scale"].type.name != "f32":
        yield "FX-4", f"the scale has type {op['scale'].type}, not f32"
    if kind == "vector":
        spec = op["scales"].type
        wanted = ("f16", "bf16", "f32") if target.is_a(A5) else ("i64", "u64")
        if not isinstance(spec, TileSpec) or spec.loc is not TileType.Scaling:
            yield "FX-4", f"the scales are {spec}, not a scaling tile"
        elif spec.dtype.name not in wanted:
            yield "FX-4", f"the scales have element type {spec.dtype}, not {', '.join(wanted)}"


def _contract(
    pipe: _Pipe, module: Module, surveys: Surveys, pipes: dict[Function, dict[int, _Pipe]], target: Target
) -> Messages:
    op, words = pipe.op, pipe.epilogue
    quant = words.get("quant", "")
    if op.attrs.get("dir_mask") != 1 or op.attrs.get("nosplit") is not True:
        yield "FX-1", "a pipe that the fix-pipe fills has dir_mask = 1 and nosplit = true"
        return
    if (
        words.get("layout") not in _LAYOUTS
        or quant not in _QUANTS
        or words.get("relu") not in ("no_relu", "normal_relu")
    ):
        yield "FX-2", f"layout = {words.get('layout')}, quant = {quant}, relu = {words.get('relu')}"
        return
    if quant.startswith(_A5_ONLY) and not target.is_a(A5):
        yield "FX-2", f"{quant} is a quantisation of a5"
        return
    buffer = pipe.buffer
    producer = op.name == _INITIALIZE[0]
    if buffer is None or (buffer.name == "pto.import_reserved_buffer") != producer:
        yield "FX-1", "the producer imports the consumer's buffer, which the consumer reserves"
        return
    peer = _peer(pipe, buffer, producer, module, pipes)
    if peer is None:
        yield "FX-2", "the other function has no initialize op, or several, for this buffer"
        return
    if peer.epilogue != words:
        yield "FX-2", f"the other end has {_shown(peer.epilogue)}, this one {_shown(words)}"
    elif not producer:
        yield from _tiles(pipe, peer, surveys)


def _shown(words: dict[str, str]) -> str:
    return ", ".join(f"{key} = {word}" for key, word in words.items()) or "no acc_push_epilogue"


def _peer(
    pipe: _Pipe, buffer: Op, producer: bool, module: Module, pipes: dict[Function, dict[int, _Pipe]]
) -> _Pipe | None:
    """The pipe of the other function over the same buffer; None if there is none, or more than one."""
    name = buffer.attrs.get("name")
    wanted = str(buffer.attrs.get("peer_func", "")).removeprefix("@")
    matching = []
    for function, others in pipes.items():
        for other in others.values():
            place = other.buffer
            if function is pipe.function or place is None or place.attrs.get("name") != name:
                continue
            if producer:
                fits = (
                    function.name == wanted and other.op.name == _INITIALIZE[1] and place.name == "pto.reserve_buffer"
                )
            else:
                peer = str(place.attrs.get("peer_func", "")).removeprefix("@")
                fits = other.op.name == _INITIALIZE[0] and peer == pipe.function.name
            if fits:
                matching.append(other)
    return matching[0] if len(matching) == 1 else None


def _tiles(pipe: _Pipe, peer: _Pipe, surveys: Surveys) -> Messages:
    """FX-3 of the consumer's tiles and the producer's accumulators."""
    quant, layout = pipe.epilogue["quant"], _LAYOUTS[pipe.epilogue["layout"]]
    pushed, popped = ([DTYPES[n] for n in names.split()] for names in _QUANTS[quant])
    pops = [
        op.result.type for op in surveys[pipe.function].named("pto.tpop_from_aic") if op.attrs.get("id", 0) == pipe.id
    ]
    pops = list(dict.fromkeys(pops))
    spec = pops[0] if len(pops) == 1 else None
    if not isinstance(spec, TileSpec):
        yield "FX-3", f"the consumer pops {' and '.join(map(str, pops)) or 'nothing'}; it pops one type of tile"
        return
    if spec.dtype not in popped:
        yield "FX-3", f"the consumer pops {spec.dtype}; {quant} gives {' or '.join(map(str, popped))}"
    if spec.loc is not TileType.Vec or (spec.blayout, spec.slayout) != layout:
        yield "FX-3", f"the consumer pops a {spec.loc.text} tile with the layout {spec.layout_name}"
    for end in (pipe, peer):
        if end.op.attrs.get("slot_size", 0) < spec.nbytes:
            yield "FX-3", f"slot_size is {end.op.attrs.get('slot_size')}, the tile has {spec.nbytes} bytes"
    for op in surveys[peer.function].named("pto.tpush_to_aiv"):
        tile = op["tile"].type
        if op.attrs.get("id", 0) == peer.id and isinstance(tile, TileSpec):
            same = quant != "no_convert" or tile.dtype is spec.dtype
            if tile.dtype not in pushed or not same:
                yield "FX-3", f"{quant} of {tile.dtype} does not give {spec.dtype}"
                return


def _pushes(block: Block, own: dict[int, _Pipe], found: Diagnostics) -> None:
    """FX-3 and FX-4 of the pushes of one block."""
    set_before: set[tuple[str, int]] = set()
    for op in block.ops:
        id = op.attrs.get("id", 0)
        if op.name in _SETTERS:
            set_before.add((op.name, id))
        pipe = own.get(id)
        if op.name != "pto.tpush_to_aiv" or pipe is None or not pipe.epilogue:
            continue
        spec, quant = op["tile"].type, pipe.epilogue.get("quant", "")
        if not isinstance(spec, TileSpec) or spec.loc is not TileType.Acc:
            found.error("FX-3", f"{spec} is pushed; the fix-pipe takes accumulators", op.location)
        elif quant in _QUANTS and spec.dtype.name not in _QUANTS[quant][0].split():
            found.error("FX-3", f"{quant} takes {_QUANTS[quant][0]}, not {spec.dtype}", op.location)
        setter = _SETTERS[0] if quant.endswith("scalar") else _SETTERS[1] if quant.endswith("vec") else ""
        if setter and (setter, id) not in set_before:
            found.error("FX-4", f"no {setter} with id = {id} stands before it in the block", op.location)
