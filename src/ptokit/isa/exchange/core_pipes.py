"""Pipes between cube and vector cores, and what their operations ask of a machine (compute-layout-irregular 3).

A pipe is a ring of slots for each direction. A producer fills the next slot once it is free, a consumer takes the
slots in the same order. Here stands the order of the operands; the rings are the machine's.

Their entries are tiles, or tensors in global memory. `Pipes` is what they ask of a machine. Forms of
August 2026; those of April are read too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from ptokit.types.enums import Pipe, TileSplitAxis

from ..meaning.words import Ordering
from ..operands import Passing
from ..site import Info
from ..table import (
    BETWEEN_CORES,
    WAITING,
    Attr,
    Instr,
    Kind,
    Operand,
    Role,
    Sync,
    TextForm,
    flag,
    grammar,
    handle,
    instruction,
    number,
    scalar,
)

# What the operations on pipes between cores ask of a machine (compute-layout-irregular 3).


Wait = Callable[[], Any]
"""False while another core has to do something first; then what the operation gives, or True."""

_SLOT, _OPENS = (replace(order, does=Sync.SLOT) for order in (WAITING, BETWEEN_CORES))

SLOTS = {1: 8, 2: 8, 3: 4}
"""Slots of a pipe that states none, by its directions (1: cube to vector, 2: vector to cube, 3: both)."""


class Setup(NamedTuple):
    """A pipe as an initialize operation states it.

    Its slots of `slot_size` bytes lie in ``memory`` (a pointer, or the tensor of a slot) or in the buffers of the
    consumers, ``c2v`` and ``v2c``. ``name``: of its value in findings, where it has one.
    """

    directions: int
    slot_size: int
    slots: int
    local_slots: int | None
    memory: Any
    c2v: Any
    v2c: Any
    through_memory: bool | None
    flag_base: int | None
    epilogue: Any
    name: str = ""


class Pipes(Protocol):
    """The pipes of one core. ``key`` is the id of a pipe that has no value of its own, or that value.

    ``split``: 0 none, 1 and 3 rows, 2 and 4 columns; vector core 0 has the first half of them; 3 and 4 halve odd
    sizes. ``sub``: whose half it is, where that is not the running core's.
    """

    def open(self, id: int | None, setup: Setup) -> Any:
        """Set up this core's end. Returns the pipe."""

    def reserve(self, name: str, size: int, location: str, base: int | None) -> Any:
        """`size` bytes of this core's buffer: at byte `base`, or apart from everything else."""

    def imported(self, name: str) -> Any:
        """The place that the other kind of core reserves under this name."""

    def push(self, key: Any, entry: Any, split: int, sub: int | None) -> Wait:
        """Copy a tile into the next slot, or hand over the tensor that `alloc` gave."""

    def pop(self, key: Any, wanted: Info, valid: tuple[Any, Any], split: int, sub: int | None) -> Wait:
        """The next slot as a tile, or as a tensor, of a result's type."""

    def pop_into(self, key: Any, entry: Any, split: int, sub: int | None) -> Wait:
        """Let a declared tile or tensor be the next slot."""

    def free(self, key: Any, entry: Any, split: int) -> None:
        """Give a slot back."""

    def alloc(self, key: Any, entry: Any, split: int) -> Wait:
        """The next free slot as a tensor: a new one, or a declared one that becomes it."""

    def declare(self, wanted: Info) -> Any:
        """A tensor without memory."""

    def quantise(self, key: Any, words: Any) -> None:
        """Let later pushes use a scale, or a tile of quantisation words."""


class Machine(Protocol):
    """A machine whose core has pipes."""

    pipes: Pipes


def _setup(
    memory: Any,
    c2v: Any,
    v2c: Any,
    through_memory: bool | None,
    *,
    dir_mask: int,
    slot_size: int,
    slot_num: int | None,
    local_slot_num: int | None,
    nosplit: bool | None,
    acc_push_epilogue: Any,
    flag_base: int | None = None,
    name: str = "",
) -> Setup:
    slots, local = slot_num or SLOTS[dir_mask], local_slot_num
    buffers = memory, c2v, v2c, through_memory
    return Setup(dir_mask, slot_size, slots, local, *buffers, flag_base, acc_push_epilogue, name)


def initialize(m: Machine, memory: Any, tensor: Any, c2v: Any, v2c: Any, *, id: int | None, **stated: Any) -> None:
    """aic_initialize_pipe, aiv_initialize_pipe."""
    through_memory = None if tensor is None else True
    m.pipes.open(id or 0, _setup(memory if tensor is None else tensor, c2v, v2c, through_memory, **stated))


def initialize_through_memory(
    m: Machine, gm: Any, local: Any, peer: Any, *, types: Mapping[str, Info], **stated: Any
) -> Any:
    """initialize_l2g2l_pipe."""
    c2v, v2c = (local, peer) if stated["dir_mask"] != 2 else (None, local)
    return m.pipes.open(None, _setup(gm, c2v, v2c, gm is not None, name=types["opened"].name, **stated))


def initialize_local(m: Machine, local: Any, peer: Any, **stated: Any) -> Any:
    """initialize_l2l_pipe."""
    return initialize_through_memory(m, None, local, peer, **stated)


def reserve(m: Machine, *, name: str, size: int, location: str, auto: bool | None, base: int | None) -> Any:
    """reserve_buffer."""
    return m.pipes.reserve(name, size, location, base)


def import_reserved(m: Machine, *, name: str, peer_func: str) -> Any:
    """import_reserved_buffer."""
    return m.pipes.imported(name)


def push_to(m: Machine, tile: Any, aiv_subblockid: Any, *, id: int | None, split: int) -> Wait:
    """tpush_to_aiv, tpush_to_aic."""
    return m.pipes.push(id or 0, tile, split, aiv_subblockid)


def push(m: Machine, pipe: Any, tile: Any, aiv_subblockid: Any, *, split: int) -> Wait:
    """tpush."""
    return m.pipes.push(pipe, tile, split, aiv_subblockid)


def pop_from(
    m: Machine,
    valid_row: Any,
    valid_col: Any,
    aiv_subblockid: Any,
    *,
    id: int | None,
    split: int,
    types: Mapping[str, Info],
) -> Wait:
    """tpop_from_aic, tpop_from_aiv."""
    return m.pipes.pop(id or 0, types["popped"], (valid_row, valid_col), split, aiv_subblockid)


def pop(m: Machine, pipe: Any, tile: Any, aiv_subblockid: Any, *, split: int) -> Wait:
    """tpop."""
    return m.pipes.pop_into(pipe, tile, split, aiv_subblockid)


def free_from(m: Machine, entry: Any, *, id: int | None, split: int) -> None:
    """tfree_from_aic, tfree_from_aiv."""
    m.pipes.free(id or 0, entry, split)


def free(m: Machine, pipe: Any, entry: Any, *, split: int) -> None:
    """tfree."""
    m.pipes.free(pipe, entry, split)


def alloc_to(m: Machine, *, id: int | None, split: int) -> Wait:
    """talloc_to_aiv, talloc_to_aic."""
    return m.pipes.alloc(id or 0, None, split)


def alloc(m: Machine, pipe: Any, entry: Any, *, split: int) -> Wait:
    """talloc."""
    return m.pipes.alloc(pipe, entry, split)


def declare(m: Machine, *, types: Mapping[str, Info]) -> Any:
    """declare_global."""
    return m.pipes.declare(types["entry"])


def quantise(m: Machine, words: Any, *, id: int | None) -> None:
    """set_quant_scalar, set_quant_vector."""
    m.pipes.quantise(id or 0, words)


# Pipes between cube and vector cores (assembly 9, compute-layout-irregular 3).


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
    more = {
        "pipe": Pipe.S,
        "order": _OPENS,
        "form": replace(form, in_python=bool(name)),
        **more,
    }
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
        run=initialize,
        form=grammar(f"{{ {_DESCRIBED} }} ( {_OPERANDS} ) {{}}"),
    )
    _of_pipes(
        f"tpush_to_{_core}",
        "Push a tile to the other core.",
        _ENTRY,
        _SUBBLOCK,
        attrs=(_ID, _SPLIT),
        run=push_to,
        order=_SLOT,
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
        run=pop_from,
        order=_SLOT,
        form=grammar(f"<? ~( %valid_row:index , %valid_col:index ) ?> {_TAIL} {_OF_CORE} {{}} -> R"),
    )
    _of_pipes(
        f"tfree_from_{_core}",
        "Free the slot of a popped tile.",
        Operand("entry", optional=True, also=(Kind.VIEW,)),
        attrs=(_ID, _SPLIT),
        meaning=Ordering(free_from),
        form=grammar(f"<? ~( %entry : T(entry) ) ?> {_TAIL} {{}}"),
    )
    _of_pipes(
        f"talloc_to_{_core}",
        "The next slot of the pipe to the other core, as a tensor in global memory.",
        attrs=(_ID, _SPLIT),
        produces=(Operand("entry", Role.OUT, Kind.VIEW),),
        run=alloc_to,
        order=_SLOT,
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
    run=reserve,
    form=grammar(
        "{ name = N(name) , size = N(size) , location = A(location) , auto = N(auto) <? , base = N(base) ?> } {} -> R"
    ),
)
IMPORT_RESERVED_BUFFER = _of_pipes(
    "import_reserved_buffer",
    "Address of the buffer the peer function reserved.",
    attrs=(Attr("name", str, None, "name"), Attr("peer_func", str, None, "peer_func")),
    produces=(_ADDRESS,),
    run=import_reserved,
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
    run=initialize_through_memory,
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
    run=initialize_local,
    form=grammar(_PIPE.format("%local : T(local)")),
)
for _name, _summary, _tile, _run in (
    ("TPUSH", "Push a tile into a pipe between cores.", _ENTRY, push),
    (
        "TPOP",
        "Let a tile be the next one of a pipe between cores.",
        Operand("tile", Role.INOUT, also=(Kind.VIEW,), passing=Passing.PLACED),
        pop,
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
        order=_SLOT,
        form=grammar(f"~( %tile , %pipe : T(tile) , T(pipe) ) {_USED_TAIL} {_OF_CORE} {{}}"),
    )
TFREE = _of_pipes(
    "tfree",
    "Give the slot of a popped tile back.",
    _PIPE_OPERAND,
    Operand("entry", optional=True, also=(Kind.VIEW,)),
    attrs=(_SPLIT,),
    name="TFREE",
    meaning=Ordering(free),
    form=grammar(f"~( <? %entry , ?> %pipe : <? T(entry) , ?> T(pipe) ) {_USED_TAIL} {{}}"),
)
TALLOC = _of_pipes(
    "talloc",
    "Let a declared tensor be the next slot of a pipe.",
    _PIPE_OPERAND,
    Operand("entry", Role.OUT, Kind.VIEW, passing=Passing.PLACED),
    attrs=(_SPLIT,),
    name="TALLOC",
    run=alloc,
    order=_SLOT,
    form=grammar(f"~( %entry , %pipe : T(entry) , T(pipe) ) {_USED_TAIL} {{}}"),
)
DECLARE_GLOBAL = _of_pipes(
    "declare_global",
    "A tensor in global memory that is given an address later.",
    produces=(Operand("entry", Role.OUT, Kind.VIEW),),
    typed=True,
    run=declare,
    form=grammar("{} -> R"),
)
SET_QUANT_SCALAR = _of_pipes(
    "set_quant_scalar",
    "The scale of a pipe that the fix-pipe quantises for.",
    scalar("scale", type="f32"),
    attrs=(_ID,),
    pipe=Pipe.FIX,
    run=quantise,
    form=grammar("~( %scale : T(scale) ) { id = N(id) } {}"),
)
SET_QUANT_VECTOR = _of_pipes(
    "set_quant_vector",
    "The scales of a pipe that the fix-pipe quantises for, one for each column.",
    Operand("scales"),
    attrs=(_ID,),
    pipe=Pipe.FIX,
    run=quantise,
    form=grammar("~( %scales : T(scales) ) { id = N(id) } {}"),
)
