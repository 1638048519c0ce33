"""What pipes between cores ask of a launch: buffers that functions reserve, and vector cores that stay out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ptokit.targets import Target

from .control import callee
from .core import Block, Function, Module, Op, Value

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
        if op.name == "pto.section.vector" and any(map(_whole, op.regions)):
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
    found: set[Value] = set()
    _trace(module, entry, {p: p for p in entry.params}, found, 0)
    return found


def _trace(module: Module, function: Function, origin: dict[Value, Value], found: set[Value], depth: int) -> None:
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
                found.add(origin[memory])


_DERIVED = ("pto.addptr", "pto.castptr", "pto.make_tensor_view")
_DEEP = 8
