"""What a launch needs: cores, the functions of a pair, what is reached, and numbers of ranks.

Source: memory-model-and-sync 1, compute-layout-irregular part 4.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from enum import StrEnum
from itertools import takewhile
from typing import Any

from ptokit.diagnostics import Diagnostic, Diagnostics, Severity
from ptokit.isa.checks.tiles import core_needed
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.values import Scalar, Type

from .control import call_of, is_call, reached, return_of, section_of
from .core import Block, Function, Module, Op, Value
from .facts import Facts, instr_of
from .functions import ASSUMED, assume, assumptions
from .pipe_ends import on_first_core, reserved_buffers

# Which cores a launch needs: one for every block, or clusters of a cube core with its vector cores.


SIMT_SIZES = ("dimX", "dimY", "dimZ")
"""Attributes of a section of threads: how many there are in each direction."""

VECTOR_CORES = 2
"""Vector cores of a cluster."""


@dataclass(frozen=True)
class Role:
    """One core of a block. ``kind`` is "cube", "vector" or "" (whatever the program asks for); ``sub`` is its number
    among the vector cores of a cluster."""

    kind: str = ""
    sub: int = 0


@dataclass
class Launch:
    """How a kernel is launched. ``only``: operations outside sections that one kind of core runs, in a mixed launch.
    ``waits``: some core may wait for another. ``reserved``: base and bytes of the buffers that pipes reserve, by kind
    of core and name. ``whole``: vector functions and sections that vector core 0 runs alone."""

    roles: tuple[Role, ...] = (Role(),)
    only: dict[Op, str] = field(default_factory=dict)
    waits: bool = False
    reserved: dict[tuple[str, str], tuple[int | None, int]] = field(default_factory=dict)
    whole: set[Function | Op] = field(default_factory=set)

    @property
    def vectors(self) -> int:
        """Vector cores beside a cube core; as many as can be where one core runs alone and would wait for them."""
        return sum(role.kind == "vector" for role in self.roles) if self.mixed else VECTOR_CORES

    @property
    def mixed(self) -> bool:
        """True for clusters of cube and vector cores."""
        return len(self.roles) > 1


def launch_of(module: Module, entry: Function, target: Target, vector_cores: int = VECTOR_CORES) -> Launch:
    """The launch of `entry`.

    A kernel kind chooses the kind of core. Without one, sections and called functions of both kinds, or operations for
    both kinds and waits between them, make a mixed launch.
    """
    launch = Launch()
    functions = _reachable(module, entry)
    launch.waits = any(
        (instr := instr_of(op)) is not None and instr.order.waits for f in functions if f.body for op in f.body.walk()
    )
    launch.reserved = reserved_buffers(functions)
    launch.whole = {one for f in functions for one in on_first_core(f, target)}
    own = entry.core
    stated = {f.core for f in functions} - {""}
    needed: dict[Op, str] = {}
    for function in functions:
        if function.body is None or function.core:
            continue
        facts = Facts(function)
        for op in function.body.walk():
            if core := section_of(op):
                stated.add(core)
            elif is_call(op):
                callee = module.function(op.attrs["callee"])
                needed[op] = callee.core if callee is not None else ""
            elif not facts.core_of(op) and (site := facts.site(op, target)) is not None and site.instr.run is not None:
                needed[op] = core_needed(site)
    kinds = stated | (set(needed.values()) - {""} if launch.waits or stated else set())
    if own or len(kinds) == 1:
        launch.roles = (Role(own or kinds.pop()),)
    elif len(kinds) == 2:
        launch.roles = (Role("cube"), *(Role("vector", sub) for sub in range(vector_cores)))
        launch.only = {op: kind for op, kind in needed.items() if kind}
        for function in functions:
            if function.body is not None and not function.core:
                _add_slices(function.body, Facts(function), launch.only)
    return launch


def _add_slices(body: Block, facts: Facts, only: dict[Op, str]) -> None:
    """Slices that one kind of core uses are its own: for the others they may leave the tensor."""
    users: dict[Value, set[str]] = {}
    for op in body.walk():
        kind = facts.core_of(op) or only.get(op, "")
        for value in op.values:
            users.setdefault(value, set()).add(kind)
    for op in body.walk():
        kinds = users.get(op.result, set()) if op.name == "pto.partition_view" else set()
        if len(kinds) == 1 and not facts.core_of(op):
            only.update((op, kind) for kind in kinds if kind)


def _reachable(module: Module, entry: Function) -> list[Function]:
    """`entry` and the functions it calls, each once, also those without a body."""

    def called(function: Function) -> Iterator[Function]:
        ops = function.body.walk() if function.body is not None else ()
        callees = (module.function(op.attrs["callee"]) for op in ops if is_call(op))
        return (callee for callee in callees if callee is not None)

    return reached([entry], called)


# Kernels made of other functions: the cube and the vector function of a pair, numbers that each core supplies.


_SUFFIXES = {"cube": "_aic", "vector": "_aiv"}
_USERS = tuple(f"pto.{core}_initialize_pipe" for core in ("aic", "aiv"))
_INTEGERS = ("i32", "i64", "index")


class Query(StrEnum):
    """A number that every core has of its own, as an argument: see `supplied`."""

    BLOCK_IDX = "block_idx"
    BLOCK_NUM = "block_num"
    SUBBLOCK_IDX = "subblock_idx"
    SUBBLOCK_NUM = "subblock_num"

    @property
    def operation(self) -> str:
        """The operation that asks for it."""
        return f"pto.get_{self.value}"


def stem(function: Function) -> str | None:
    """``k`` of the cube function ``k_aic`` and of the vector function ``k_aiv``; None for others."""
    suffix = _SUFFIXES.get(function.core, "")
    return function.name.removesuffix(suffix) if suffix and function.name.endswith(suffix) else None


def partner(module: Module, function: Function) -> Function | None:
    """The function at the other ends of the pipes of a cube or vector function; None if it has none, or several.

    They are joined by a buffer that one of them reserves and the other imports, by their names, or by the id of a pipe
    that no other function of that kind has.
    """
    others = [f for f in module.functions if f.body is not None and f.core and f.core != function.core]
    if not function.core or function.body is None:
        return None
    for joined in (
        [f for f in others if f.name in imports(function) or function.name in imports(f)],
        [f for f in others if stem(f) is not None and stem(f) == stem(function) and _ids(f) & _ids(function)],
        [f for f in others if _ids(f) & _ids(function)],
    ):
        if joined:
            return joined[0] if len(joined) == 1 else None
    return None


def _ops(function: Function) -> Iterator[Op]:
    return function.body.walk() if function.body is not None else iter(())


def imports(function: Function) -> set[str]:
    """The functions it imports reserved buffers of."""
    imports = (op for op in _ops(function) if op.name == "pto.import_reserved_buffer")
    return {str(op.attrs.get("peer_func", "")).removeprefix("@") for op in imports}


def _ids(function: Function) -> set[int]:
    """The ids of its pipes."""
    return {op.attrs.get("id") or 0 for op in _ops(function) if op.name in _USERS}


def pair(cube: Function, vector: Function) -> Function:
    """A kernel that calls both: its parameters are those of the cube function, then those that the other has alone."""
    functions = (cube, vector) if cube.core == "cube" else (vector, cube)
    params: dict[tuple[str, Type], Value] = {}
    for function in functions:
        for position, param in enumerate(function.params):
            name = param.name or f"arg{position}"
            params.setdefault((name, param.type), Value(param.type, name, location=param.location))
    calls = [call_of(f, [params[p.name or f"arg{i}", p.type] for i, p in enumerate(f.params)]) for f in functions]
    made = _kernel(pair_name(*functions), functions[0], list(params.values()), calls)
    if ASSUMED in functions[1].attrs:
        assume(made, assumptions(functions[1]))
    return made


def pair_name(cube: Function, vector: Function) -> str:
    """What a kernel of two functions is called: what their names have in common, up to a word; else both names."""
    if stem(cube) == stem(vector) is not None:
        return stem(cube) or ""
    words = zip(cube.name.split("_"), vector.name.split("_"))
    common = "_".join(one for one, _ in takewhile(lambda both: both[0] == both[1], words)).rstrip("_")
    return common or f"{cube.name}+{vector.name}"


def supplied(kernel: Function, given: Mapping[int, Query]) -> Function:
    """A kernel that calls `kernel`, with the parameters at these positions filled in by each core.

    Raises `ValueError` for a parameter that is no integer.
    """
    params, args, ops = [], [], []
    for position, param in enumerate(kernel.params):
        query = given.get(position)
        if query is None:
            params.append(Value(param.type, param.name or f"arg{position}", location=param.location))
            args.append(params[-1])
            continue
        if not isinstance(param.type, Scalar) or param.type.name not in _INTEGERS:
            raise ValueError(f"parameter {param.shown} of type {param.type} cannot be {query.value}")
        asked = Op(query.operation, results=[Value(Scalar("i64"))], location=kernel.location)
        ops.append(asked)
        if param.type.name != "i64":
            cast = "arith.trunci" if param.type.name == "i32" else "arith.index_cast"
            ops.append(Op(cast, {"in": asked.result}, results=[Value(param.type)], location=kernel.location))
        args.append(ops[-1].result)
    return _kernel(f"{kernel.name}:supplied", kernel, params, [*ops, call_of(kernel, args)])


def _kernel(name: str, like: Function, params: list[Value], ops: list[Op]) -> Function:
    body = Block(ops=[*ops, return_of(like.location)])
    kept = {key: value for key, value in like.attrs.items() if key == ASSUMED}
    return Function(name, params, attrs={"pto.entry": True, **kept}, body=body, location=like.location)


def with_function(module: Module, function: Function) -> Module:
    """The module with one more function, unless it has it."""
    if function in module.functions:
        return module
    return replace(module, functions=[*module.functions, function])


# What a launch has to do with: the functions that a kernel calls or launches, and the findings in them.


def with_reached(module: Module, kernel: Function) -> Module:
    """The module with `kernel` and the functions that it reaches, and no other.

    It reaches what it calls or launches, and the functions whose reserved buffers it imports.
    """
    module = with_function(module, kernel)
    names = set(reached([kernel.name], lambda name: () if (f := module.function(name)) is None else _named(f)))
    return replace(module, functions=[f for f in module.functions if f.name in names])


def _named(function: Function) -> set[str]:
    ops = function.body.walk() if function.body is not None else ()
    calls = (op for op in ops if is_call(op) or op.name == "pto.simt_launch")
    return {str(op.attrs.get("callee", "")).removeprefix("@") for op in calls} | imports(function)


def found_for(module: Module, kernel: Function, found: Diagnostics) -> Diagnostics:
    """The findings in `module`, in which errors do not keep `kernel` from running where it does not reach them.

    They become warnings. An error before the first function, in a type alias for example, may concern any of them.
    """
    reached = set(map(id, with_reached(module, kernel).functions))
    starts = [(f.location.line, f.location.column) for f in module.functions]
    ends = [*starts[1:], (sys.maxsize, 0)]
    apart = [(start, end) for f, start, end in zip(module.functions, starts, ends, strict=True) if id(f) not in reached]

    def placed(finding: Diagnostic) -> Diagnostic:
        at = (finding.location.line, finding.location.column)
        elsewhere = finding.severity is Severity.ERROR and any(start <= at < end for start, end in apart)
        return replace(finding, severity=Severity.WARNING) if elsewhere else finding

    result = Diagnostics()
    result.extend(placed(finding) for finding in found)
    return result


# Arguments of a launch on several devices that every rank has of its own.


MOST_RANKS = 64
"""Windows that a communication context names."""


class RankQuery(StrEnum):
    """What a rank knows of the launch."""

    RANK = "rank"
    """Its number, from 0."""
    RANKS = "ranks"
    """How many there are."""
    COMM = "comm"
    """The library's communication context: 132 numbers of 64 bits with the windows of all ranks."""


@dataclass(frozen=True)
class Each:
    """Something that every rank has of its own: ``of(rank)`` makes it."""

    of: Callable[[int], Any]


@dataclass(frozen=True)
class Peer:
    """The array that another rank has as the argument ``name``: of the rank ``rank`` further on, or of rank ``rank``.

    After the last rank comes the first.
    """

    name: str
    rank: int
    absolute: bool = False
