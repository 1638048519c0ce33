"""Pipes between cube and vector cores: they are read, checked, carried and printed (assembly 9).

Their entries are tiles, or tensors in global memory. Forms of August 2026; those of April are read too.
"""

from __future__ import annotations

from ptokit.types.enums import Pipe

from .pending import flag, handle, number, pending
from .table import Attr, Kind, Operand, Role, scalar, view

_ID, _SPLIT = number("id"), number("split")
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
_ENTRY = Operand("tile", or_view=True)

for _core in ("aic", "aiv"):
    pending(
        f"{_core}_initialize_pipe",
        "Set up the pipes between cube and vector cores.",
        Operand("gm_slot_buffer", Role.IN, Kind.PTR, optional=True),
        Operand("gm_slot_tensor", Role.IN, Kind.VIEW, optional=True),
        scalar("c2v_consumer_buf", optional=True, type="i32"),
        scalar("v2c_consumer_buf", optional=True, type="i32"),
        attrs=(_ID, *_SLOTS, _EPILOGUE),
        grammar=(f"{{ {_DESCRIBED} }} ( {_OPERANDS} ) {{}}",),
    )
    pending(
        f"tpush_to_{_core}",
        "Push a tile to the other core.",
        _ENTRY,
        _SUBBLOCK,
        attrs=(_ID, _SPLIT),
        grammar=(f"~( %tile : T(tile) ) {_TAIL} {_OF_CORE} {{}}",),
    )
    pending(
        f"tpop_from_{_core}",
        "Take the next tile from the other core.",
        scalar("valid_row", optional=True),
        scalar("valid_col", optional=True),
        _SUBBLOCK,
        attrs=(_ID, _SPLIT),
        results=1,
        grammar=(f"<? ~( %valid_row:index , %valid_col:index ) ?> {_TAIL} {_OF_CORE} {{}} -> R",),
    )
    pending(
        f"tfree_from_{_core}",
        "Free the slot of a popped tile.",
        Operand("entry", optional=True, or_view=True),
        attrs=(_ID, _SPLIT),
        grammar=(f"<? ~( %entry : T(entry) ) ?> {_TAIL} {{}}",),
    )
    pending(
        f"talloc_to_{_core}",
        "The next slot of the pipe to the other core, as a tensor in global memory.",
        attrs=(_ID, _SPLIT),
        results=1,
        grammar=(f"{_TAIL} {{}} -> R",),
    )

RESERVE_BUFFER = pending(
    "reserve_buffer",
    "Reserve bytes of a buffer for a pipe.",
    attrs=(
        Attr("name", str, None, "name"),
        number("size"),
        Attr("location", str, None, "location", "address_space", dotted=True),
        flag("auto"),
        number("base"),
    ),
    results=1,
    grammar=(
        "{ name = N(name) , size = N(size) , location = A(location) , auto = N(auto) <? , base = N(base) ?> } {} -> R",
    ),
)
IMPORT_RESERVED_BUFFER = pending(
    "import_reserved_buffer",
    "Address of the buffer the peer function reserved.",
    attrs=(Attr("name", str, None, "name"), Attr("peer_func", str, None, "peer_func")),
    results=1,
    grammar=("{ name = N(name) , peer_func = N(peer_func) } {} -> R",),
)
INITIALIZE_L2G2L_PIPE = pending(
    "initialize_l2g2l_pipe",
    "A pipe through global memory.",
    Operand("gm", Role.IN, Kind.PTR, or_view=True),
    handle("local", optional=True),
    handle("peer", optional=True),
    attrs=(*_SLOTS, number("flag_base"), _EPILOGUE),
    results=1,
    grammar=(_PIPE.format("%gm : T(gm) <? , %local : T(local) ?>"),),
)
INITIALIZE_L2L_PIPE = pending(
    "initialize_l2l_pipe",
    "A pipe between local buffers.",
    handle("local"),
    handle("peer", optional=True),
    attrs=(*_SLOTS, number("flag_base"), _EPILOGUE),
    results=1,
    grammar=(_PIPE.format("%local : T(local)"),),
)
for _text, _summary, _tile in (
    ("tpush", "Push a tile into a pipe.", _ENTRY),
    ("tpop", "Take a tile from a pipe.", Operand("tile", Role.INOUT, or_view=True)),
):
    pending(
        _text,
        _summary,
        _tile,
        handle("pipe"),
        _SUBBLOCK,
        attrs=(_SPLIT,),
        grammar=(f"~( %tile , %pipe : T(tile) , T(pipe) ) {_USED_TAIL} {_OF_CORE} {{}}",),
    )
TFREE = pending(
    "tfree",
    "Free the slot of a popped tile.",
    Operand("entry", optional=True, or_view=True),
    handle("pipe"),
    attrs=(_SPLIT,),
    grammar=(f"~( <? %entry , ?> %pipe : <? T(entry) , ?> T(pipe) ) {_USED_TAIL} {{}}",),
)
TALLOC = pending(
    "talloc",
    "Let a declared tensor be the next slot of a pipe.",
    view("entry", Role.OUT),
    handle("pipe"),
    attrs=(_SPLIT,),
    grammar=(f"~( %entry , %pipe : T(entry) , T(pipe) ) {_USED_TAIL} {{}}",),
)
DECLARE_GLOBAL = pending(
    "declare_global", "A tensor in global memory that is given an address later.", results=1, grammar=("{} -> R",)
)
SET_QUANT_SCALAR = pending(
    "set_quant_scalar",
    "The scale of a pipe that the fix-pipe quantises for.",
    scalar("scale", type="f32"),
    attrs=(_ID,),
    pipe=Pipe.FIX,
    grammar=("~( %scale : T(scale) ) { id = N(id) } {}",),
)
SET_QUANT_VECTOR = pending(
    "set_quant_vector",
    "The scales of a pipe that the fix-pipe quantises for, one for each column.",
    Operand("scales"),
    attrs=(_ID,),
    pipe=Pipe.FIX,
    grammar=("~( %scales : T(scales) ) { id = N(id) } {}",),
)
