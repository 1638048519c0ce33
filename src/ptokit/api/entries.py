"""The kernels of a program as objects: what an adapter that launches them has to know, and functions that launch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

import ptokit
from ptokit.arguments.derive import asked, derive, extents, likely
from ptokit.diagnostics import Diagnostics
from ptokit.ir.core import Function, Module, Op, Value
from ptokit.ir.facts import Facts
from ptokit.ir.launch import found_for, launch_of, with_reached
from ptokit.ir.pipe_ends import slot_origins
from ptokit.ir.verify import verify
from ptokit.isa.checks.tiles import core_needed
from ptokit.isa.exchange.core_pipes import SLOTS
from ptokit.plan.effects import analyse
from ptokit.records import dataclass
from ptokit.targets import TARGETS, Target
from ptokit.types.values import MemRef, PartitionView, Ptr, TensorView

from .parts import Part, Table, Words, plain

if TYPE_CHECKING:
    from ptokit.sanitize import Report


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel. ``type``: as the text writes it; ``dtype``: of the elements of an array, else "".

    ``direction``: "in", "out" or "inout" of an array, "" of a number or of an array that nothing uses.
    ``elements``: how many of an array the kernel reaches, as far as its text tells, for the numbers that are likely;
    `Entry.extents` says it for others. ``argument``: one for ``--arg``, made from the text.
    """

    name: str
    type: str
    dtype: str
    direction: str
    elements: int
    argument: str


@dataclass(frozen=True)
class CorePipe:
    """A pipe between cube and vector cores. ``way``: "c2v", "v2c" or "both".

    ``slots`` of ``slot_bytes`` for each direction. ``memory``: the parameter in whose global memory they lie, or "";
    ``gm_bytes``: how many bytes of it the pipe needs in each block, 0 where the slots lie in buffers of the cores.
    """

    id: int
    way: str
    slots: int
    slot_bytes: int
    memory: str
    gm_bytes: int


class Entry:
    """A kernel of a program, which `run`, `sanitize` and `time` launch; see `Source.entries`.

    What it says of itself raises `DiagnosticError` where what it reaches has errors.
    """

    def __init__(self, source: Any, function: Function) -> None:
        self.source, self.function = source, function
        self.name = function.name

    @property
    def _target(self) -> Target:
        return self.source.target or self.source.read_for or TARGETS["a2a3"]

    @cached_property
    def _module(self) -> Module:
        """What it reaches. Raises `DiagnosticError` where that has errors: nothing is known of it then."""
        module = self.source.module
        found = Diagnostics(self.source.diagnostics)
        found.extend(verify(module, self._target))
        found_for(module, self.function, found).raise_if_errors()
        return with_reached(module, self.function)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Its parameters, in the order of a launch."""
        effects, reached = analyse(self._module, self.function), self.extents()
        arguments = derive(self._module, self.function)
        found = []
        for position, (param, argument) in enumerate(zip(self.function.params, arguments)):
            name = param.name or f"arg{position}"
            ways = ("in" if param in effects.read else "") + ("out" if param in effects.written else "")
            kind = param.type
            dtype = kind.dtype.name if isinstance(kind, Ptr | MemRef | TensorView | PartitionView) else ""
            direction = ways if dtype else ""
            found.append(Parameter(name, str(kind), dtype, direction, reached.get(name, 0), argument))
        return tuple(found)

    def extents(self, numbers: Mapping[str, int] | None = None, *, blocks: int = 1) -> dict[str, int]:
        """How many elements of each array the kernel reaches, by name, as far as its text tells.

        ``numbers``: what its other parameters are; those that are not named are what is likely.
        """
        numbers, module, entry = numbers or {}, self._module, self.function
        names = {param: param.name or f"arg{k}" for k, param in enumerate(entry.params)}
        if unknown := set(numbers) - set(names.values()):
            raise ptokit.UsageError(f"{self.name} has no parameter {', '.join(sorted(unknown))}.", "numbers")
        values = {p: numbers.get(names[p], likely) for p, likely in likely(module, entry, blocks, 0).items()}
        return {names[param]: elements for param, elements in extents(module, entry, values, blocks).items()}

    @cached_property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Its cores, "cube" and "vector", each with the functions that it runs; neither where both can."""
        roles = {role.kind for role in launch_of(self._module, self.function, self._target).roles}
        bodies = [f for f in self._module.functions if f.body is not None and not self._calls(f)]
        if roles == {""}:
            roles = {kind for f in bodies for kind in _needed(f, self._target)}
            roles = roles if len(roles) == 1 else set()
        return {kind: tuple(f.name for f in bodies if f.core in ("", kind)) for kind in sorted(roles)}

    def _calls(self, function: Function) -> bool:
        """True for a kernel that is made of the functions of a pair."""
        return function is self.function and function not in self.source.module.functions

    @cached_property
    def pipes(self) -> tuple[CorePipe, ...]:
        """The pipes between its cores, each once, though both ends state it."""
        found: dict[Any, CorePipe] = {}
        for op, memory in _initialized(self._module, self.function):
            slots = op.attrs.get("slot_num") or SLOTS.get(_mask(op), 8)
            size = op.attrs.get("slot_size") or 0
            ends = 2 if _mask(op) == 3 else 1
            name = "" if memory is None else memory.name or f"arg{self.function.params.index(memory)}"
            needed = slots * size * ends if memory is not None else 0
            pipe = CorePipe(op.attrs.get("id") or 0, _WAYS.get(_mask(op), "both"), slots, size, name, needed)
            found.setdefault((pipe.id, pipe.way), pipe)
        return tuple(found.values())

    @cached_property
    def launch_tail(self) -> dict[str, str]:
        """The last parameters, as far as each core supplies them, with what they are: "block_idx" or "block_num"."""
        found: dict[str, str] = {}
        for position, param in reversed(list(enumerate(self.function.params))):
            query = asked(param)
            if query is None:
                break
            found[param.name or f"arg{position}"] = query.value
        return dict(reversed(found.items()))

    def filled(self, args: Sequence[Any]) -> list[Any]:
        """The arguments, with those of `launch_tail` that are missing."""
        missing = len(self.function.params) - len(args)
        tail = list(self.launch_tail.values())
        return [*args, *tail[len(tail) - missing :]] if 0 < missing <= len(tail) else list(args)

    def run(self, args: Sequence[Any] = (), **options: Any) -> Any:
        """`ptokit.run` of this kernel; arguments of `launch_tail` may be left out."""
        return ptokit.run(self.source, self.filled(args), **self._how(options))

    def sanitize(self, args: Sequence[Any] = (), **options: Any) -> Report:
        """`ptokit.sanitize` of this kernel; arguments of `launch_tail` may be left out."""
        return ptokit.sanitize(self.source, self.filled(args) if args else (), **self._how(options))

    def time(self, args: Sequence[Any] = (), **options: Any) -> Any:
        """`ptokit.time` of this kernel; arguments of `launch_tail` may be left out."""
        return ptokit.time(self.source, self.filled(args), **self._how(options))

    def _how(self, options: dict[str, Any]) -> dict[str, Any]:
        entry = None if self.source.own_target else self.name
        return {"entry": entry, "default_target": self.source.read_for, **options}

    def as_json(self) -> dict[str, Any]:
        """What it is, as a JSON object."""
        return {
            "name": self.name,
            "parameters": [asdict(p) for p in self.parameters],
            "groups": {kind: list(names) for kind, names in self.groups.items()},
            "pipes": [asdict(p) for p in self.pipes],
            "launch_tail": self.launch_tail,
        }

    def __str__(self) -> str:
        cores = ", ".join(f"{kind}: {' '.join(names)}" for kind, names in self.groups.items())
        rows: list[Sequence[str]] = [[p.name, p.type, p.direction, str(p.elements or "")] for p in self.parameters]
        parts: list[Part] = [Words(f" ({cores})" if cores else "", strong=self.name)]
        parts.append(Table(["parameter", "type", "direction", "elements"], rows, ("elements",)))
        for pipe in self.pipes:
            where = f", {pipe.gm_bytes} bytes of {pipe.memory}" if pipe.memory else ""
            parts.append(Words(f"pipe {pipe.id}: {pipe.way}, {pipe.slots} slots of {pipe.slot_bytes} bytes{where}"))
        return plain(parts)

    def __repr__(self) -> str:
        return f"<kernel {self.name} of {self.source.file}>"


_WAYS = {1: "c2v", 2: "v2c"}


def _mask(op: Op) -> int:
    mask = op.attrs.get("dir_mask", 1)
    return mask if isinstance(mask, int) else 1


def _needed(function: Function, target: Target) -> set[str]:
    """The kinds of cores that the instructions of a function need."""
    facts = Facts(function)
    sites = (facts.site(op, target) for op in (function.body.walk() if function.body is not None else ()))
    return {core_needed(site) for site in sites if site is not None and site.instr.run is not None} - {""}


def _initialized(module: Module, entry: Function) -> list[tuple[Op, Value | None]]:
    """The operations that make pipes, each with the parameter of the kernel that holds its slots."""
    memory = slot_origins(module, entry)
    ops = [op for f in module.functions if f.body is not None for op in f.body.walk()]
    return [(op, memory.get(op)) for op in ops if op.name.endswith("initialize_pipe") or "initialize_l2" in op.name]
