"""Which cores a launch needs: one for every block, or clusters of a cube core with its vector cores.

Source: memory-model-and-sync 1, compute-layout-irregular part 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from ptokit.isa.checks.tiles import core_needed
from ptokit.records import dataclass
from ptokit.targets import Target

from .control import is_call
from .core import Block, Function, Module, Op, Value
from .facts import Facts, instr_of
from .pipe_launch import on_first_core, reserved_buffers

SECTIONS = {"pto.section.cube": "cube", "pto.section.vector": "vector"}
"""Kind of core that runs a section; others skip it."""

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
    functions = list(_reachable(module, entry))
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
            if op.name in SECTIONS:
                stated.add(SECTIONS[op.name])
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


def _reachable(module: Module, entry: Function) -> Iterator[Function]:
    """`entry` and the functions it calls, each once."""
    seen = {entry.name}
    pending = [entry]
    while pending:
        function = pending.pop(0)
        yield function
        for op in function.body.walk() if function.body is not None else ():
            if is_call(op) and op.attrs["callee"] not in seen:
                seen.add(op.attrs["callee"])
                callee = module.function(op.attrs["callee"])
                if callee is not None:
                    pending.append(callee)
