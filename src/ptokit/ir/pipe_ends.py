"""What the two ends of a pipe must agree on, their slots, and what they ask of a launch (PI-8).

What they say is the reference verifier's (PTOAS of August 2026, PTO.cpp).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import field

from ptokit.diagnostics import Diagnostics, Note
from ptokit.records import dataclass
from ptokit.targets import A5, Target
from ptokit.types.enums import Direction
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import TensorView, Type

from .control import callee, section_of
from .core import Block, Function, Module, Op, Value, exclusive

# What the two ends of a pipe must agree on (PI-8). An end is one initialize op.


Key = tuple[str, str, int]
"""A logical pipe: function and name of the reserved buffer, direction (1 cube to vector, 2 vector to cube)."""


@dataclass(eq=False)
class End:
    """An initialize op, the buffers its slots lie in, the splits of its pushes, pops and frees, and their tiles."""

    op: Op
    function: Function
    block: Block
    local: Value | None
    peer: Value | None
    splits: list[int] = field(default_factory=list)
    moved: list[tuple[Op, int, bool]] = field(default_factory=list)  # tiles: op, direction, whether it pushes

    @property
    def dir_mask(self) -> int:
        """The directions of the pipe as a mask; 0 where none is stated."""
        mask = self.op.attrs.get("dir_mask", 0)
        return mask if isinstance(mask, int) else 0

    @property
    def flags(self) -> range:
        """The numbers of its flags, where they are stated: two for each direction."""
        first = self.op.attrs.get("flag_base")
        return range(first, first + (4 if self.dir_mask == 3 else 2)) if isinstance(first, int) else range(0)

    def keys(self) -> list[Key]:
        """The pipes it is an end of; empty if no buffer is reserved or imported."""
        places = [(self.local, 1), (self.peer, 2)] if self.dir_mask == 3 else [(self.local, self.dir_mask)]
        out = []
        for value, direction in places:
            owner = value.owner if value is not None else None
            if isinstance(owner, Op) and owner.name == "pto.reserve_buffer":
                out.append((self.function.name, owner.attrs.get("name", ""), direction))
            elif isinstance(owner, Op) and owner.name == "pto.import_reserved_buffer":
                out.append((owner.attrs.get("peer_func", "").removeprefix("@"), owner.attrs.get("name", ""), direction))
        return out


def check_ends(ends: list[End], found: Diagnostics) -> list[list[End]]:
    """Report ends without a place, pipes without two ends, and ends that disagree. Gives those that belong together."""
    groups: dict[Key, list[End]] = defaultdict(list)
    for end in ends:
        keys = end.keys()
        for key in keys:
            groups[key].append(end)
        tensors = end.op.get("gm_slot_tensor") is not None or end.op.get("local") is None is end.op.get(
            "c2v_consumer_buf"
        )
        if not keys and end.op.attrs.get("flag_base") is None and not (tensors and end.local is None):
            found.error(
                "PI-8",
                "the local buffer is neither reserved nor imported, and there is no flag_base",
                end.op.location,
                hint="use the result of pto.reserve_buffer or pto.import_reserved_buffer",
            )
    for (owner, name, _), group in groups.items():
        functions = {end.function.name for end in group}
        if len(group) != 2 or len(functions | {owner}) != 2 or len(functions) != 2:
            where = ", ".join(f"@{f}" for f in sorted(functions))
            message = f'the pipe over buffer "{name}" of @{owner} has ends in {where} only; it needs one at each side'
            if len(group) > len(functions) or len(functions | {owner}) > 2:
                message = f'the pipe over buffer "{name}" of @{owner} has {len(group)} ends, in {where}; it has two'
            found.error("PI-8", message, group[0].op.location)
        bases = {end.op.attrs["flag_base"]: end for end in group if end.op.attrs.get("flag_base") is not None}
        _disagree("flag_base", bases, found)
    together = _components(ends, groups)
    for joined in together:
        _splits(joined, found)
    for i, end in enumerate(ends):
        for earlier in ends[:i]:
            _shared_flags(earlier, end, found)
    return _by_flags(together)


def _by_flags(together: list[list[End]]) -> list[list[End]]:
    """The same, and ends of several functions with the same flags, which have no buffer in common, in one list."""
    joined: dict[object, list[End]] = {}
    for ends in together:
        single = len(ends) == 1 and not ends[0].keys() and ends[0].flags
        joined.setdefault(ends[0].flags if single else id(ends), []).extend(ends)
    return list(joined.values())


def _shared_flags(one: End, other: End, found: Diagnostics) -> None:
    """Report PIPE-FLAGS for two pipes of a function."""
    first, second = one.flags, other.flags
    if one.function is not other.function or not set(one.keys()).isdisjoint(other.keys()):
        return
    assert one.function.body is not None
    if exclusive(one.function.body, one.block, other.block):
        return  # as of two instances of a C++ function, between which a condition decides
    if common := sorted(set(first) & set(second)):
        message = f"this pipe has flags {_span(second)}; another one has {_span(common)}, too"
        note = Note(f"it has flags {_span(first)}", one.op.location)
        found.error("PIPE-FLAGS", message, other.op.location, hint=f"{first.stop} is free", notes=[note])


def _span(flags: Sequence[int]) -> str:
    return f"{flags[0]} to {flags[-1]}" if len(flags) > 1 else str(flags[0])


def _disagree(what: str, values: dict[object, End], found: Diagnostics) -> None:
    if len(values) > 1:
        (first, one), (second, other) = list(values.items())[:2]
        note = Note(f"{what} is {_word(first)} here", one.op.location)
        message = f"{what} is {_word(second)}, at the other end {_word(first)}"
        found.error("PI-8", message, other.op.location, notes=[note])


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _components(ends: list[End], groups: dict[Key, list[End]]) -> list[list[End]]:
    """Ends that share a buffer, directly or through others."""
    component = {end: [end] for end in ends}
    for group in groups.values():
        for end in group[1:]:
            a, b = component[group[0]], component[end]
            if a is not b:
                a += b
                for member in b:
                    component[member] = a
    unique = {id(members): members for members in component.values()}
    return list(unique.values())


def _splits(ends: list[End], found: Diagnostics) -> None:
    used: dict[object, End] = {}
    for end in ends:
        whole = {split == 0 for split in end.splits}
        if len(whole) == 2:
            found.error("PI-8", "split = 0 and split = 1 or 2 on one pipe", end.op.location)
            return
        for word in whole:
            used.setdefault("split = 0" if word else "split = 1 or 2", end)
    _disagree("the pipe's use", used, found)
    stated: dict[object, End] = {}
    for end in ends:
        if end.op.attrs.get("nosplit") is not None:
            stated.setdefault(end.op.attrs["nosplit"], end)
    _disagree("nosplit", stated, found)
    if len(used) == 1 and len(stated) == 1:
        ((use, user),), ((nosplit, end),) = used.items(), stated.items()
        if nosplit != (use == "split = 0"):
            note = Note("at this end", user.op.location)
            found.error(
                "PI-8", f"nosplit = {_word(nosplit)}, but the pipe is used with {use}", end.op.location, notes=[note]
            )


# What an initialize op's slots need, and what fits into them: tiles, tensors in global memory, halves of either.


C2V, V2C = int(Direction.DIR_C2V), int(Direction.DIR_V2C)
"""Bits of dir_mask: cube to vector, vector to cube."""


def slots_misfit(op: Op, target: Target) -> str | None:
    """What is wrong with the slots of an initialize op of the frontend (PI-2)."""
    mask, slots, local = (op.attrs.get(key) for key in ("dir_mask", "slot_num", "local_slot_num"))
    tensor, c2v, v2c = (op.get(key) for key in ("gm_slot_tensor", "c2v_consumer_buf", "v2c_consumer_buf"))
    if op.attrs.get("id", 0) < 0:
        return f"id is {op.attrs['id']}"
    if slots is not None and slots <= 0:
        return f"slot_num is {slots}"
    if tensor is not None:
        if op.get("gm_slot_buffer") is not None:
            return "gm_slot_tensor and gm_slot_buffer"
        if (wrong := _slot_tensor(tensor.type, op.attrs.get("slot_size", 0))) is not None:
            return wrong
        if c2v is None and v2c is None:
            return "local_slot_num of a pipe of tensors" if local is not None else None
        if mask != C2V or c2v is None or v2c is not None:
            return "tiles go through gm_slot_tensor from cube to vector only, with c2v_consumer_buf"
    needed = {C2V: (c2v,), V2C: (v2c,), C2V | V2C: (c2v, v2c)}.get(mask or 0, ())
    if None in needed:
        return (
            f"dir_mask = {mask} needs {'both consumer buffers' if len(needed) == 2 else 'the buffer of its consumer'}"
        )
    total = slots if slots is not None else 4 if mask == C2V | V2C else 8
    if local is not None and target.is_a(A5):
        return "a5 has no local_slot_num"
    return f"local_slot_num is {local}, not 1..{total}" if local is not None and not 1 <= local <= total else None


def _slot_tensor(type: Type, slot: int) -> str | None:
    if not isinstance(type, TensorView) or not type.dims:
        return f"gm_slot_tensor has type {type}, not that of a tensor_view"
    size = _bytes(type)
    if size is None or slot in (size, 2 * size):
        return None
    return f"slot_size is {slot}, the tensor of a slot has {size} bytes"


def _bytes(type: TensorView) -> int | None:
    count = 1
    for dim in type.dims:
        if dim == DYNAMIC:
            return None
        count *= dim
    return type.dtype.nbytes(count)


def _entry(op: Op) -> Type | None:
    """The type of what an operation on a pipe takes or gives."""
    for name in ("tile", "entry"):
        if (value := op.get(name)) is not None:
            return value.type
    return op.results[0].type if op.results else None


def entry_misfit(op: Op, slots: Value | None) -> str | None:
    """What is wrong with a tensor as an entry of a pipe over these slots, and with the sub-core of an entry (PI-9)."""
    entry = _entry(op)
    if op.get("aiv_subblockid") is not None:
        if op.attrs.get("split", 0) == 0:
            return "aiv_subblockid of an entry that is not split"
        if not isinstance(entry, TileSpec) or entry.loc.text != "vec":
            return "aiv_subblockid is for vec tiles"
    if not isinstance(entry, TensorView):
        return None
    if op.get("valid_row") is not None:
        return "valid sizes of a tensor"
    if slots is None or not isinstance(slots.type, TensorView):
        return f"a {entry} goes through a pipe whose slots are tensors, and this one's are not"
    slot = slots.type
    differ = any(DYNAMIC not in pair and pair[0] != pair[1] for pair in zip(slot.dims, entry.dims))
    if slot.dtype is not entry.dtype or len(slot.dims) != len(entry.dims) or differ:
        return f"the entry is {entry}, a slot {slot}"
    return None


def split_misfit(op: Op, init: Op, c2v: bool, target: Target) -> str | None:
    """What is wrong with the halves of an entry (PI-3)."""
    split, entry = op.attrs.get("split", 0), _entry(op)
    odd = split in (3, 4)
    if odd:
        through = init.get("gm_slot_tensor") is not None
        through |= not target.is_a(A5) and init.get("gm_slot_buffer") is not None
        if not c2v or init.attrs.get("dir_mask") != C2V or not through or init.get("c2v_consumer_buf") is None:
            return f"split = {split} is for pipes of tiles from cube to vector through memory"
        if isinstance(entry, TensorView):
            return f"split = {split} is for tiles"
        if "tpop" in op.name and op.get("valid_row") is None:
            return f"split = {split} needs the valid sizes of this core's half"
    if not (c2v and "tpush" in op.name and split):
        return None
    shape = (entry.valid_row, entry.valid_col) if isinstance(entry, TileSpec) else getattr(entry, "dims", ())
    if len(shape) != 2:
        return None
    rows = split in (1, 3)
    size = shape[0 if rows else 1]
    if size == DYNAMIC or (size % 2 != 0) == odd:
        return None
    return f"split = {split} of {size} {'rows' if rows else 'columns'}"


# What pipes between cores ask of a launch: buffers that functions reserve, and vector cores that stay out.


_WHOLE = frozenset(
    ["pto.tpush", "pto.tpop", "pto.tfree", "pto.talloc"]
    + [f"pto.{verb}_{core}" for verb in ("tpush_to", "tpop_from", "tfree_from", "talloc_to") for core in ("aic", "aiv")]
)
_CONTROL = frozenset(("pto.get_subblock_idx", "pto.get_subblock_num"))


def reserved_buffers(functions: Sequence[Function]) -> dict[tuple[str, str], tuple[int | None, int]]:
    """Base (None: apart from everything else) and bytes of every reserved buffer, by the kind of core and name."""
    found = {}
    for function in functions:
        for op in function.body.walk() if function.body is not None else ():
            if op.name == "pto.reserve_buffer":
                kind = "vector" if op.attrs.get("location") == "vec" else "cube"
                found[kind, op.attrs.get("name", "")] = op.attrs.get("base"), op.attrs.get("size", 0)
    return found


def on_first_core(function: Function, target: Target) -> Iterator[Function | Op]:
    """The function, or its sections, that vector core 0 alone runs: they use a pipe without halves and do not ask for
    the number of the core, on a target where such a pipe leads to that core only.

    Source: PTOAS of August 2026, PTOToEmitC.cpp, needsA5NoSplitVectorGuard.
    """
    if not target.pipes_are_local or function.body is None:
        return
    if function.core == "vector" and _whole(function.body):
        yield function
    for op in function.body.walk():
        if section_of(op) == "vector" and any(map(_whole, op.regions)):
            yield op


def sections_of_first_core(module: Module, name: str, target: Target) -> set[int]:
    """The lines of the vector sections of a function that vector core 0 alone runs."""
    function = module.function(name)
    found = on_first_core(function, target) if function is not None else ()
    return {op.location.line for op in found}


def _whole(body: Block) -> bool:
    ops = list(body.walk())
    if any(op.name in _CONTROL for op in ops):
        return False
    return any(op.name in _WHOLE and op.attrs.get("split", 0) == 0 for op in ops)


def slot_memories(module: Module, entry: Function) -> set[Value]:
    """The parameters of a kernel that hold the slots of pipes."""
    return set(slot_origins(module, entry).values())


def slot_origins(module: Module, entry: Function) -> dict[Op, Value]:
    """The operations that make pipes in global memory, each with the parameter of a kernel that holds its slots."""
    found: dict[Op, Value] = {}
    _trace(module, entry, {p: p for p in entry.params}, found, 0)
    return found


def _trace(module: Module, function: Function, origin: dict[Value, Value], found: dict[Op, Value], depth: int) -> None:
    """``origin``: the kernel's parameters by what is made of them."""
    for op in function.body.walk() if function.body is not None else ():
        if depth < _DEEP and (called := callee(op, module)) is not None:
            passed = zip(called.params, op.group("args"))
            _trace(module, called, {p: origin[v] for p, v in passed if v in origin}, found, depth + 1)
        elif op.name in _DERIVED:
            source = op.get("ptr") or op.get("value")
            if source is not None and source in origin:
                origin[op.result] = origin[source]
        for name in ("gm_slot_buffer", "gm_slot_tensor", "gm"):
            memory = op.get(name)
            if memory is not None and memory in origin:
                found[op] = origin[memory]


_DERIVED = ("pto.addptr", "pto.castptr", "pto.make_tensor_view")
_DEEP = 8
