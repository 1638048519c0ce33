"""Pipes between cube and vector cores (assembly 9, compute-layout-irregular 3).

Their entries are tiles, or tensors in global memory. What a machine does for them says `pipe_ends`. Forms of
August 2026; those of April are read too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ptokit.types.enums import Pipe
from ptokit.types.pipe_enums import TileSplitAxis

from ..meaning.words import Ordering
from ..operands import Passing
from ..pending import flag, handle, number
from ..table import Attr, Instr, Kind, Operand, Role, TextForm, grammar, instruction, scalar
from ..traits import BETWEEN_CORES, WAITING
from . import pipe_ends

_ID = number("id")
_SPLIT = Attr("split", int, 0, "split", stated=True, members=TileSplitAxis)
_SLOTS = (*map(number, "dir_mask slot_size slot_num local_slot_num".split()), flag("nosplit"))
_EPILOGUE = Attr("acc_push_epilogue", str, None, "acc_push_epilogue", "acc_push_epilogue", dotted=True)
_SUBBLOCK = scalar("aiv_subblockid", optional=True, type="i64")


def _clauses(words: str, form: str) -> str:
    """Clauses ``word = form``; ``!word``: required."""
    listed = [("! " if w[0] == "!" else "") + form.format(w.lstrip("!")) for w in words.split()]
    return f"<& {' ; '.join(listed)} &>"


_DESCRIBED = _clauses("id !dir_mask !slot_size slot_num local_slot_num nosplit", "{0} = N({0})")
_DESCRIBED = _DESCRIBED.replace("&>", "; acc_push_epilogue = A!(acc_push_epilogue) &>")
_OPERANDS = _clauses("gm_slot_buffer gm_slot_tensor c2v_consumer_buf v2c_consumer_buf", "{0} = %{0} : T({0})")
_TAIL = "{ <? id = N(id) , ?> split = N(split) }"
_USED_TAIL = "{ split = N(split) }"
_OF_CORE = "<? aiv_subblockid ~( %aiv_subblockid:i64 ) ?>"
_PIPE = (
    "{{ dir_mask = N(dir_mask) , slot_size = N(slot_size) , slot_num = N(slot_num) "
    "<? , local_slot_num = N(local_slot_num) ?> <? , flag_base = N(flag_base) ?> <? , nosplit = N(nosplit) ?> }} "
    "( {} <? , %peer : T(peer) ?> ) {{}} -> R"
)
_ENTRY = Operand("tile", also=(Kind.VIEW,))
_POPPED = Operand("popped", Role.OUT, also=(Kind.VIEW,))
_PIPE_VALUE = Operand("opened", Role.OUT, Kind.PIPE)
_PIPE_OPERAND = Operand("pipe", Role.IN, Kind.PIPE)
_ADDRESS = Operand("address", Role.OUT, Kind.SCALAR, type="i32")


def _of_pipes(
    text: str,
    summary: str,
    *operands: Operand,
    form: TextForm,
    attrs: tuple[Attr, ...] = (),
    name: str = "",
    **more: Any,
) -> Instr:
    """Put an operation on pipes into the table. ``name``: what it is in C++ and Python, for those that have a pipe."""
    more = {"pipe": Pipe.S, "order": BETWEEN_CORES, "form": replace(form, in_python=bool(name)), **more}
    more["source"] = "assembly 9; compute-layout-irregular 3"
    return instruction(Instr(name or text, text, summary, operands, attrs, **more))


for _core in ("aic", "aiv"):
    _of_pipes(
        f"{_core}_initialize_pipe",
        "Set up the pipes between cube and vector cores.",
        Operand("gm_slot_buffer", Role.INOUT, Kind.PTR, optional=True),
        Operand("gm_slot_tensor", Role.INOUT, Kind.VIEW, optional=True),
        scalar("c2v_consumer_buf", optional=True, type="i32"),
        scalar("v2c_consumer_buf", optional=True, type="i32"),
        attrs=(_ID, *_SLOTS, _EPILOGUE),
        run=pipe_ends.initialize,
        form=grammar(f"{{ {_DESCRIBED} }} ( {_OPERANDS} ) {{}}"),
    )
    _of_pipes(
        f"tpush_to_{_core}",
        "Push a tile to the other core.",
        _ENTRY,
        _SUBBLOCK,
        attrs=(_ID, _SPLIT),
        run=pipe_ends.push_to,
        order=WAITING,
        form=grammar(f"~( %tile : T(tile) ) {_TAIL} {_OF_CORE} {{}}"),
    )
    _of_pipes(
        f"tpop_from_{_core}",
        "Take the next tile from the other core.",
        scalar("valid_row", optional=True),
        scalar("valid_col", optional=True),
        _SUBBLOCK,
        attrs=(_ID, _SPLIT),
        produces=(_POPPED,),
        typed=True,
        run=pipe_ends.pop_from,
        order=WAITING,
        form=grammar(f"<? ~( %valid_row:index , %valid_col:index ) ?> {_TAIL} {_OF_CORE} {{}} -> R"),
    )
    _of_pipes(
        f"tfree_from_{_core}",
        "Free the slot of a popped tile.",
        Operand("entry", optional=True, also=(Kind.VIEW,)),
        attrs=(_ID, _SPLIT),
        meaning=Ordering(pipe_ends.free_from),
        form=grammar(f"<? ~( %entry : T(entry) ) ?> {_TAIL} {{}}"),
    )
    _of_pipes(
        f"talloc_to_{_core}",
        "The next slot of the pipe to the other core, as a tensor in global memory.",
        attrs=(_ID, _SPLIT),
        produces=(Operand("entry", Role.OUT, Kind.VIEW),),
        run=pipe_ends.alloc_to,
        order=WAITING,
        form=grammar(f"{_TAIL} {{}} -> R"),
    )

RESERVE_BUFFER = _of_pipes(
    "reserve_buffer",
    "Reserve bytes of a buffer for a pipe.",
    attrs=(
        Attr("name", str, None, "name"),
        number("size"),
        Attr("location", str, None, "location", "address_space", dotted=True),
        flag("auto"),
        number("base"),
    ),
    produces=(_ADDRESS,),
    run=pipe_ends.reserve,
    form=grammar(
        "{ name = N(name) , size = N(size) , location = A(location) , auto = N(auto) <? , base = N(base) ?> } {} -> R"
    ),
)
IMPORT_RESERVED_BUFFER = _of_pipes(
    "import_reserved_buffer",
    "Address of the buffer the peer function reserved.",
    attrs=(Attr("name", str, None, "name"), Attr("peer_func", str, None, "peer_func")),
    produces=(_ADDRESS,),
    run=pipe_ends.import_reserved,
    form=grammar("{ name = N(name) , peer_func = N(peer_func) } {} -> R"),
)
INITIALIZE_L2G2L_PIPE = _of_pipes(
    "initialize_l2g2l_pipe",
    "A pipe through global memory.",
    Operand("gm", Role.INOUT, Kind.PTR, also=(Kind.VIEW,)),
    handle("local", optional=True),
    handle("peer", optional=True),
    attrs=(*_SLOTS, number("flag_base"), _EPILOGUE),
    produces=(_PIPE_VALUE,),
    typed=True,
    run=pipe_ends.initialize_through_memory,
    form=grammar(_PIPE.format("%gm : T(gm) <? , %local : T(local) ?>")),
)
INITIALIZE_L2L_PIPE = _of_pipes(
    "initialize_l2l_pipe",
    "A pipe between local buffers.",
    handle("local"),
    handle("peer", optional=True),
    attrs=(*_SLOTS, number("flag_base"), _EPILOGUE),
    produces=(_PIPE_VALUE,),
    typed=True,
    run=pipe_ends.initialize_local,
    form=grammar(_PIPE.format("%local : T(local)")),
)
for _name, _summary, _tile, _run in (
    ("TPUSH", "Push a tile into a pipe between cores.", _ENTRY, pipe_ends.push),
    (
        "TPOP",
        "Let a tile be the next one of a pipe between cores.",
        Operand("tile", Role.INOUT, also=(Kind.VIEW,), passing=Passing.PLACED),
        pipe_ends.pop,
    ),
):
    _of_pipes(
        _name.lower(),
        _summary,
        _PIPE_OPERAND,
        _tile,
        _SUBBLOCK,
        attrs=(_SPLIT,),
        name=_name,
        run=_run,
        order=WAITING,
        form=grammar(f"~( %tile , %pipe : T(tile) , T(pipe) ) {_USED_TAIL} {_OF_CORE} {{}}"),
    )
TFREE = _of_pipes(
    "tfree",
    "Give the slot of a popped tile back.",
    _PIPE_OPERAND,
    Operand("entry", optional=True, also=(Kind.VIEW,)),
    attrs=(_SPLIT,),
    name="TFREE",
    meaning=Ordering(pipe_ends.free),
    form=grammar(f"~( <? %entry , ?> %pipe : <? T(entry) , ?> T(pipe) ) {_USED_TAIL} {{}}"),
)
TALLOC = _of_pipes(
    "talloc",
    "Let a declared tensor be the next slot of a pipe.",
    _PIPE_OPERAND,
    Operand("entry", Role.OUT, Kind.VIEW, passing=Passing.PLACED),
    attrs=(_SPLIT,),
    name="TALLOC",
    run=pipe_ends.alloc,
    order=WAITING,
    form=grammar(f"~( %entry , %pipe : T(entry) , T(pipe) ) {_USED_TAIL} {{}}"),
)
DECLARE_GLOBAL = _of_pipes(
    "declare_global",
    "A tensor in global memory that is given an address later.",
    produces=(Operand("entry", Role.OUT, Kind.VIEW),),
    typed=True,
    run=pipe_ends.declare,
    form=grammar("{} -> R"),
)
SET_QUANT_SCALAR = _of_pipes(
    "set_quant_scalar",
    "The scale of a pipe that the fix-pipe quantises for.",
    scalar("scale", type="f32"),
    attrs=(_ID,),
    pipe=Pipe.FIX,
    run=pipe_ends.quantise,
    form=grammar("~( %scale : T(scale) ) { id = N(id) } {}"),
)
SET_QUANT_VECTOR = _of_pipes(
    "set_quant_vector",
    "The scales of a pipe that the fix-pipe quantises for, one for each column.",
    Operand("scales"),
    attrs=(_ID,),
    pipe=Pipe.FIX,
    run=pipe_ends.quantise,
    form=grammar("~( %scales : T(scales) ) { id = N(id) } {}"),
)
