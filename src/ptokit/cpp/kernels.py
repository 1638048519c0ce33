"""The kernels of a C++ file, for one target: which there are, and each as a module."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

from ptokit.diagnostics import DiagnosticError, Diagnostics, Location
from ptokit.ir import Block, Function, Op, Value
from ptokit.ir import Module as IrModule
from ptokit.ir.control import call_of, return_of
from ptokit.ir.facts import Facts
from ptokit.isa.table import TABLE
from ptokit.records import dataclass
from ptokit.run import Program, compile_program
from ptokit.targets import Target
from ptokit.types.enums import Pipe, TileType
from ptokit.types.tile import TileSpec
from ptokit.types.values import Ptr, Type

from .compiler import CORES, Compiled, Options, compile_file
from .lift import lift
from .llvm import Function as LlvmFunction
from .llvm import Instruction, Module
from .rules import KERNEL, OPERANDS, findings, refusal

_VECTOR_ONLY = frozenset((Pipe.V,))
_CUBE_ONLY = frozenset((Pipe.M, Pipe.MTE1))


@dataclass(frozen=True)
class CppKernel:
    """A kernel: its name as it is written, with template arguments, and as the compiler calls it."""

    name: str
    symbol: str
    place: Location


class CppFile:
    """A file compiled for a target. ``core``: ``vector``, ``cube`` or ``mix``; by default what its kernels have.

    Raises `DiagnosticError` for what the compiler refuses.
    """

    def __init__(self, file: str, target: Target, options: Options | None = None, core: str = "") -> None:
        self.file, self.target, self.core = file, target, core
        self.options = options or Options()
        self.warnings = Diagnostics()
        if core in CORES:
            self.parts = {core: Module(self._compiled(core).text)}
            return
        if core != "mix":
            made = self._compiled("")
            if not made.asks_core:
                self.parts = {"": Module(made.text)}
                return
        self.parts = {kind: Module(self._compiled(kind).text) for kind in ("cube", "vector")}

    def _compiled(self, core: str) -> Compiled:
        made = compile_file(self.file, self.target, core, self.options)
        self.warnings.extend(findings(made.said, os.path.abspath(self.file), self.file))
        return made

    @cached_property
    def kernels(self) -> list[CppKernel]:
        """The kernels of the file, in its order."""
        return self._functions(lambda module: module.kernels)

    def _functions(self, chosen: Callable[[Module], Iterable[str]]) -> list[CppKernel]:
        found: dict[str, CppKernel] = {}
        for module in self.parts.values():
            for symbol in chosen(module):
                begin = module.begin(module.functions[symbol])
                place = Location(self.file, begin.line, 1) if begin.line else Location(self.file)
                found.setdefault(symbol, CppKernel(begin.function, symbol, place))
        return list(found.values())

    def kernel(self, name: str = "") -> CppKernel:
        """The kernel that a name means: as it is written, or its symbol; without one the only one of the file.

        A name may also be that of a function without ``__global__``, which another file calls.
        Raises `DiagnosticError` (CPP-KERNEL).
        """
        known = self.kernels
        if not name and len(known) == 1:
            return known[0]
        wanted = _plain(name)
        symbol = self._instance(wanted)
        exact = [k for k in known if wanted in (_plain(k.name), k.symbol) or k.symbol == symbol]
        if not exact and name:
            others = self._functions(lambda module: module.functions)
            exact = [f for f in others if wanted in (_plain(f.name), f.symbol)]
        chosen = exact or [k for k in known if name and _plain(k.name).split("<")[0] == wanted]
        if len(chosen) == 1:
            return chosen[0]
        names = [k.name for k in chosen or known]
        listed = ", ".join(names[:12]) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
        if not known:
            hint = (
                "a kernel is a function with __global__, or named: --entry kernel_entry; a template is named with "
                "arguments: --entry 'Add<float, 64>'"
            )
            raise refusal(KERNEL, "there is no kernel in this file", Location(self.file), hint)
        if not name or chosen:
            message = "the file has several kernels" if not name else f"{name} is the name of several kernels"
            raise refusal(KERNEL, message, Location(self.file), f"name one of {listed}")
        close = get_close_matches(name, names, 3)
        hint = f"did you mean {' or '.join(close)}?" if close else f"it has {listed}"
        raise refusal(KERNEL, f"there is no kernel {name}", Location(self.file), hint)

    def _instance(self, wanted: str) -> str:
        """The symbol of the kernel that the options instantiate under a name, in which types may have other names."""
        for k, name in enumerate(self.options.instances):
            if _plain(name) == wanted:
                for module in self.parts.values():
                    stated = (text for key, text in module.globals.items() if key.endswith(f"ptokit_entry_{k}"))
                    named = (re.search(r'ptr @("[^"]*"|[-\w$.]+)', text) for text in stated)
                    return next((found[1].strip('"') for found in named if found), "")
        return ""

    def module(self, kernel: CppKernel, null: frozenset[int] = frozenset()) -> IrModule:
        """A kernel as a module: one function, or of several kinds of cores one each and an entry that calls them.

        ``null``: the places of parameters that are null pointers. Raises `DiagnosticError` for what cannot be lifted.
        """
        parts = {
            core: self._lifted(module, kernel.symbol, kernel.name, null)
            for core, module in self.parts.items()
            if kernel.symbol in module.functions
        }
        if len(parts) > 1:
            if "vector" in parts:
                _leave_to_cube(parts["vector"])
            own = {core: f for core, f in parts.items() if _has_work(f) and not _is_of_other(f, core)}
            parts = own or {core: f for core, f in parts.items() if _has_work(f)} or parts
        run = [f for core, part in parts.items() for f in self._threads(self.parts[core], part, core)]
        attrs = {"pto.target_arch": self.target.arch}
        for core, function in parts.items():
            if core:
                function.attrs["pto.kernel_kind"] = core
        if len(parts) == 1 or not any(map(_has_work, parts.values())):
            return IrModule([next(iter(parts.values())), *run], attrs, file=self.file, text=False)
        return IrModule([_entry(parts), *parts.values(), *run], attrs, file=self.file, text=False)

    def _lifted(
        self,
        module: Module,
        symbol: str,
        name: str,
        null: frozenset[int] = frozenset(),
        handed: Sequence[Type] | None = None,
    ) -> Function:
        """A function of a part, without what nothing uses. ``handed``: what threads are, which run it."""
        decided = _decided(module.functions[symbol], null)
        made, homeless = lift(module, decided, null, self.target, self.file, name, handed)
        assert made.body is not None
        _drop_unused(made.body)
        if homeless:
            _refuse_homeless(made, homeless, self.target)
        return made

    def _threads(self, module: Module, part: Function, core: str) -> list[Function]:
        """The functions that a part launches on threads, one for each kind of arguments; launches get their names."""
        made: dict[tuple[str, tuple[Type, ...]], Function] = {}
        for op in _operations(part):
            if op.name != "pto.simt_launch":
                continue
            symbol, types = op.attrs["callee"], tuple(value.type for value in op.group("args"))
            if (symbol, types) not in made:
                name = module.begin(module.functions[symbol]).function.partition("<")[0]
                name = "_".join(filter(None, (name, core, "threads", str(len(made)))))
                made[symbol, types] = self._lifted(module, symbol, name, handed=types)
            op.attrs["callee"] = made[symbol, types].name
        return list(made.values())

    def others_with(self, name: str, lines: Collection[int]) -> list[str]:
        """The other kernels that come to some lines of the file."""
        mine, path, found = self.kernel(name).symbol, os.path.abspath(self.file), list[str]()
        for kernel in self.kernels if lines else ():
            parts = [(m, m.functions[kernel.symbol]) for m in self.parts.values() if kernel.symbol in m.functions]
            debug = {(k, i.debug) for k, (_, f) in enumerate(parts) for block in f.blocks.values() for i in block}
            frames = (frame for k, number in debug for frame in parts[k][0].place(number))
            if kernel.symbol != mine and any(frame.line in lines and frame.file == path for frame in frames):
                found.append(kernel.name)
        return found

    def modules(self) -> Iterator[tuple[CppKernel, IrModule | DiagnosticError]]:
        """All kernels, each with its module or with what it is refused for."""
        for kernel in self.kernels:
            try:
                yield kernel, self.module(kernel)
            except DiagnosticError as error:
                yield kernel, error


class Launchable:
    """The kernels of several files, compiled when they are first launched."""

    def __init__(self, sources: Sequence[tuple[Path, str, Options]], target: Target) -> None:
        """``sources``: the files, each with the kind of its cores and how it is compiled."""
        self._sources, self._target = sources, target
        self._files: list[CppFile] = []
        self._refused: DiagnosticError | None = None
        self._programs: dict[tuple[str, frozenset[int]], Program] = {}

    def program(self, symbol: str, null: frozenset[int]) -> Program:
        """The kernel with a symbol; ``null``: which of its parameters are null pointers. Raises `DiagnosticError`."""
        found = self._programs.get((symbol, null))
        if found is None:
            for file in self._compiled():
                for kernel in file.kernels:
                    if kernel.symbol == symbol:
                        found = compile_program(file.module(kernel, null), self._target)
                        self._programs[symbol, null] = found
                        return found
            if self._refused is not None:
                raise self._refused
            raise refusal(KERNEL, f"there is no kernel {symbol}", Location(str(self._sources[0][0].parent)))
        return found

    def _compiled(self) -> list[CppFile]:
        """The files; what one is refused for is raised where a kernel is in none of the others."""
        for path, core, options in [] if self._files or self._refused else self._sources:
            try:
                self._files.append(CppFile(str(path), self._target, options, core))
            except DiagnosticError as error:
                self._refused = self._refused or error
        return self._files


_BY_ADDRESS = ("pto.ptrtoint", "pto.inttoptr", "pto.twait", "pto.ttest")


def by_address(module: IrModule) -> bool:
    """True if a kernel reaches memory by numbers, or waits for a signal that another launch may give."""
    bodies = (function.body for function in module.functions if function.body is not None)
    return any(op.name in _BY_ADDRESS for body in bodies for op in body.walk())


_PURE = ("arith.", "pto.addptr", "pto.castptr", "pto.alloc_tile", "ptokit.")


def _drop_unused(root: Block) -> None:
    """Remove arithmetic whose results nothing uses, and what only that has used."""
    ops = list(root.walk())
    uses = Counter(value for op in ops for value in op.values)
    dead: set[Op] = set()
    pending = [op for op in ops if op.name.startswith(_PURE) and not any(uses[r] for r in op.results)]
    while pending:
        op = pending.pop()
        dead.add(op)
        for value in op.values:
            uses[value] -= 1
            owner = value.owner
            if not uses[value] and isinstance(owner, Op) and owner.name.startswith(_PURE):
                pending.append(owner)
    for block in root.blocks:
        block.ops[:] = [op for op in block.ops if op not in dead]


def _refuse_homeless(function: Function, tiles: Mapping[Value, str], target: Target) -> None:
    """Refuse tiles without an address, but scratch that the instruction does not touch on this target.

    ``tiles``: those without, and what is said of each. Raises `DiagnosticError` (CPP-OPERANDS).
    """
    facts = Facts(function)
    for op in function.body.walk() if function.body is not None else ():
        for name, value in op.operands.items():
            message = tiles.get(value) if isinstance(value, Value) else None
            site = facts.site(op, target) if message else None
            if message and (site is None or any(access.operand == name for access in site.instr.footprint(site))):
                hint = "TASSIGN one first, or compile with -D __PTO_AUTO__ where the assembler places tiles"
                raise refusal(OPERANDS, message, op.location, hint)


def _decided(function: LlvmFunction, null: frozenset[int]) -> LlvmFunction:
    """A function with its branches decided that ask whether one of its pointers is null; those at ``null`` are."""
    pointers = {p.text: k in null for k, p in enumerate(function.params) if p.type == "ptr"} | {"null": True}
    known = {"true": True, "false": False}
    blocks: dict[str, list[Instruction]] = {}
    for label, instructions in function.blocks.items():
        for i in instructions:
            texts = [operand.text for operand in i.operands]
            if i.op == "icmp" and i.word in ("eq", "ne") and pointers.keys() >= set(texts):
                nulls = [pointers[text] for text in texts]
                if any(nulls):
                    known[i.result] = all(nulls) == (i.word == "eq")
            elif i.op in ("and", "or", "xor", "select") and i.type == "i1":
                found = _truth(i.op, [known.get(text) for text in texts])
                if found is not None:
                    known[i.result] = found
        *others, end = instructions
        if end.op == "br" and len(end.labels) == 2 and (way := known.get(end.operands[0].text)) is not None:
            end = replace(end, operands=[], labels=[end.labels[0 if way else 1]])
        blocks[label] = [*others, end]
    return replace(function, blocks=blocks)


def _truth(op: str, given: list[bool | None]) -> bool | None:
    """What an operation on truth values gives, where that is known whatever the unknown ones are."""
    if None not in given and op == "xor":
        return given[0] is not given[1]
    if op in ("and", "or"):
        sole = op == "or"
        return sole if sole in given else None if None in given else not sole
    if op != "select":
        return None
    condition, yes, no = given
    chosen = (yes, no) if condition is None else (yes if condition else no,)
    return chosen[0] if len(set(chosen)) == 1 else None


def _plain(name: str) -> str:
    """A name without spaces, and without the brackets of its parameters."""
    name = re.sub(r"\s+", "", name)
    return re.sub(r"\(.*\)$", "", name) if not name.startswith("(") else name


def _operations(function: Function) -> Iterator[Op]:
    assert function.body is not None
    return (op for op in function.body.walk() if op.name.startswith("pto."))


_NO_WORK = ("pto.alloc", "pto.get_", "pto.declare", "pto.local", "pto.addptr", "pto.castptr", "pto.make", "pto.part")


def _has_work(function: Function) -> bool:
    """True if a part does anything."""
    return any(not op.name.startswith(_NO_WORK) for op in _operations(function))


def _leave_to_cube(function: Function) -> None:
    """Drop what fills L1 from elsewhere than UB: in the library it is for cube cores only, and nothing on others."""
    assert function.body is not None
    for block in function.body.blocks:
        block.ops[:] = [op for op in block.ops if not _is_of_l1(op)]


def _is_of_l1(op: Op) -> bool:
    tiles = [value.type for value in op.values if isinstance(value.type, TileSpec)]
    return bool(tiles) and not op.results and all(spec.loc is TileType.Mat for spec in tiles)


def _is_of_other(function: Function, core: str) -> bool:
    """True if a part has instructions that only the other kind of core has: the file is not compiled for this one."""
    for op in _operations(function):
        instr = _BY_TEXT.get(op.name.removeprefix("pto."))
        pipe = getattr(instr, "pipe", None)
        if pipe in (_VECTOR_ONLY if core == "cube" else _CUBE_ONLY):
            return True
        if op.name in ("pto.tload", "pto.tstore"):
            tile = op.get("dst" if op.name == "pto.tload" else "src")
            if tile is not None and isinstance(tile.type, TileSpec):
                vector = tile.type.loc is TileType.Vec
                if vector == (core == "cube"):
                    return True
    return False


_BY_TEXT = {instr.text: instr for instr in TABLE.values()}


def _entry(parts: dict[str, Function]) -> Function:
    """A function that calls the parts of all kinds of cores; its pointers are as the parts that use them say."""
    first = next(iter(parts.values()))
    types: list[Type] = []
    for k, param in enumerate(first.params):
        told = [part.params[k].type for part in parts.values()]
        used = [t for t, part in zip(told, parts.values()) if _uses(part, part.params[k])]
        types.append((used or told)[0])
        for part in parts.values():
            if isinstance(param.type, Ptr) and not _uses(part, part.params[k]):
                part.params[k].type = types[-1]
    body = Block()
    entry = Function(first.name, [], attrs={"pto.entry": True}, body=body, location=first.location)
    entry.params = [Value(t, p.name, body, p.location, p.called) for t, p in zip(types, first.params)]
    for core, part in parts.items():
        part.name += f"_{core}"
        part.attrs.pop("pto.entry", None)
        handed = [
            value if value.type == p.type else _seen_as(value, p.type, body)
            for value, p in zip(entry.params, part.params)
        ]
        body.add(call_of(part, handed))
    body.add(return_of(first.location))
    return entry


def _seen_as(pointer: Value, type: Type, body: Block) -> Value:
    """A pointer to elements of the type that a part has for it."""
    made = Value(type, pointer.name, body, pointer.location, pointer.called)
    return body.add(Op("pto.castptr", {"value": pointer}, results=[made], location=pointer.location)).result


def _uses(function: Function, param: Value) -> bool:
    assert function.body is not None
    return any(param in op.values for op in function.body.walk())
