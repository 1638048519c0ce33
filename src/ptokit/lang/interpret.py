"""Interpreted runs: the kernel's own Python code, block by block, with real values.

Python executes the function itself, so that `breakpoint`, `print` and exceptions work as anywhere; every instruction is
executed at once, by the same semantics and on the same memory as in a compiled run. Cores that wait for each other are
threads, of which one runs at a time, in the order in which a compiled run advances them.
"""

from __future__ import annotations

import ast
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cache, lru_cache
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from ptokit.diagnostics import DiagnosticError
from ptokit.ir.launch import SECTIONS, VECTOR_CORES, Role
from ptokit.isa.table import TABLE
from ptokit.run.cores.cluster import core_ids, deadlock, run_clusters
from ptokit.run.cores.signals import Semaphores
from ptokit.run.cores.streams import cores_of_blocks
from ptokit.run.machine.chunk import Chunk
from ptokit.run.memory.global_memory import Pointer as Address
from ptokit.types.values import Ptr
from ptokit.types.values import Scalar as ScalarType

from .core_session import Session
from .eager_numbers import typed
from .reach import names_reached
from .source import tree_of

ENVIRONMENT = "PTOKIT_INTERPRET"
"""Set to 1, kernels are interpreted wherever they are launched."""


def wanted() -> bool:
    """True where the environment asks for it."""
    return os.environ.get(ENVIRONMENT) == "1"


_ON = "__ptokit_on__"
_SECTIONS = {f"{kind}_section": kind for kind in SECTIONS.values()}


def interpret(
    function: FunctionType,
    machine: Callable[[int], Chunk],
    devices: Sequence[Mapping[str, Any]],
    types: Mapping[str, Any],
    blocks: int,
    left_alone: Callable[[], set[int]],
    ranks: int = 0,
) -> None:
    """Run the function for blocks 0 .. blocks-1 of every device, without compiling it.

    ``machine(blocks)`` makes a core. ``devices``: the arguments of each. ``types``: of the parameters that are no
    constants. ``left_alone()``: the lines of vector sections that vector core 0 alone runs; only a compiled kernel
    tells, and is asked where that may be so. ``ranks``: how many devices there are, 0 for a launch on one. Raises
    `DiagnosticError` at the call that is to blame, and whatever the function raises.
    """
    left_alone = cache(left_alone)
    roles, waits = _cores(function)
    target = machine(blocks).target
    semaphores: Semaphores[None] = Semaphores(core_ids(roles, blocks, ranks), target)
    cores: dict[int, _Core] = {}

    def chunks(first: int) -> list[Chunk]:
        return [machine(blocks) for _ in roles]

    def work(chunk: Chunk, role: Role, device: int, place: int) -> Iterator[None]:
        core = cores[chunk.number] = _Core(function, chunk, role, devices[device], types, left_alone)
        return iter(core) if waits else core.alone()

    stuck = run_clusters(cores_of_blocks(roles, chunks, semaphores, len(devices), range(blocks), work))
    if stuck:
        held = [(semaphores.cores[s.index], cores[s.index].session.waits_at, s.waits_for) for s in stuck]
        raise DiagnosticError(deadlock(held, function.__code__.co_filename))


def _cores(function: FunctionType) -> tuple[tuple[Role, ...], bool]:
    """The cores that run a function, by the sections in it, and whether some may wait for others."""
    names = names_reached(function, function.__code__.co_names)
    kinds = {kind for word, kind in _SECTIONS.items() if word in names}
    waiting = {name for name, instr in TABLE.items() if instr.waits}
    if len(kinds) < 2:
        return (Role(kinds.pop() if kinds else ""),), not waiting.isdisjoint(names)
    return (Role("cube"), *(Role("vector", sub) for sub in range(VECTOR_CORES))), True


class _Core:
    """One core of a block; iterating over it lets it go on until it waits for another one."""

    def __init__(
        self,
        function: FunctionType,
        chunk: Chunk,
        role: Role,
        arguments: Mapping[str, Any],
        types: Mapping[str, Any],
        left_alone: Callable[[], set[int]],
    ) -> None:
        self.session = Session(chunk.target, extended=chunk.extended, matmul=chunk.matmul_mode, chunk=chunk)
        self.session.kind = role.kind
        self._pipes, self._role, self._local = chunk.pipes, role, chunk.target.pipes_are_local
        self._left_alone = left_alone
        self._function = _explicit_words_as_python(function, self._runs)
        self._arguments, self._types = arguments, types

    def _runs(self, kind: str, line: int) -> bool:
        """True if this core runs a section for that kind, which begins in this line.

        Vector core 0 has come there first. It may be alone where it has used a pipe without halves, on a target where
        that leads to this core only.
        """
        if self._role.kind and self._role.kind != kind:
            return False
        self._pipes.section = line
        if not self._role.sub or not self._local or line not in self._pipes.board.whole:
            return True
        try:
            return line not in self._left_alone()
        except Exception:  # the kernel looks at contents, and cannot be compiled
            return False

    def run(self) -> None:
        """Run the whole function for the block."""
        values = {name: self._value(name, value) for name, value in self._arguments.items()}
        with self.session.running(), np.errstate(all="ignore"):
            self._function(**values)

    def alone(self) -> Iterator[None]:
        """The same as a stream of one piece, in the thread that asks for it."""
        self.run()
        yield

    def _value(self, name: str, value: Any) -> Any:
        type = self._types.get(name)
        if isinstance(type, Ptr):
            if isinstance(value, Address):
                return self.session.pointer_to(name, value)
            return self.session.argument_pointer(name, value, type.dtype)
        return typed(value, type) if isinstance(type, ScalarType) else value

    def __iter__(self) -> Iterator[None]:
        mine, others = threading.Semaphore(0), threading.Semaphore(0)
        failed: list[BaseException] = []
        done = False

        def go() -> None:
            nonlocal done
            mine.acquire()
            try:
                self.run()
            except BaseException as error:
                failed.append(error)
            done = True
            others.release()

        def pause() -> None:
            others.release()
            mine.acquire()

        self.session.pause = pause
        threading.Thread(target=go, daemon=True).start()
        while not done:
            mine.release()
            others.acquire()
            if not done:
                yield
        if failed:
            raise failed[0]


def _explicit_words_as_python(function: FunctionType, runs: Callable[..., bool]) -> Callable[..., Any]:
    """The function with ``with pto.if_(c):`` and sections as if-statements, which can pass over their body."""
    code = _rewritten(function.__code__, function.__code__.co_filename)
    if code is None:
        return function
    scope: dict[str, Any] = {}
    exec(code, {**function.__globals__, _ON: runs}, scope)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    made: FunctionType = scope["__around__"](*cells)
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return made


@lru_cache(maxsize=256)
def _rewritten(code: CodeType, file: str) -> CodeType | None:
    """A module with a function that makes the function; None where it has none of these words."""
    tree = tree_of(code)
    node = next((n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)), None) if tree is not None else None
    if node is None:
        return None
    node = deepcopy(node)
    words = _Words()
    body = words.joined([words.visit(statement) for statement in node.body])
    if not words.found:
        return None
    inner = ast.copy_location(ast.FunctionDef(node.name, node.args, body, []), node)
    names = [ast.arg(name) for name in code.co_freevars]
    around = ast.FunctionDef(
        "__around__",
        ast.arguments(posonlyargs=[], args=names, kwonlyargs=[], kw_defaults=[], defaults=[]),
        [inner, ast.Return(ast.Name(node.name, ast.Load()))],
        [],
    )
    module = ast.fix_missing_locations(ast.Module([ast.copy_location(around, node)], []))
    _without_annotations(inner)
    return compile(module, file, "exec")


def _without_annotations(node: ast.FunctionDef) -> None:
    """They and defaults have been evaluated where the function was defined."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    for argument in arguments:
        argument.annotation = None
    node.args.defaults = []
    node.args.kw_defaults = [None] * len(node.args.kwonlyargs)


class _Words(ast.NodeTransformer):
    """``with pto.if_(c): a`` and ``with pto.else_(): b`` as ``if c: a`` and ``else: b``; sections as ``if``."""

    def __init__(self) -> None:
        self.found = False

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                setattr(node, name, self.joined(statements))
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        self.generic_visit(node)
        word, call = _word(node)
        if word == "if_" and call is not None and len(call.args) == 1:
            self.found = True
            return ast.copy_location(ast.If(call.args[0], node.body, []), node)
        if word in _SECTIONS:
            self.found = True
            test = ast.Call(ast.Name(_ON, ast.Load()), [ast.Constant(_SECTIONS[word]), ast.Constant(node.lineno)], [])
            return ast.copy_location(ast.If(ast.copy_location(test, node), node.body, []), node)
        return node

    def joined(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Every ``else_`` as the other branch of the statement before it."""
        out: list[ast.stmt] = []
        for statement in statements:
            other = isinstance(statement, ast.With) and _word(statement)[0] == "else_"
            if other and out and isinstance(out[-1], ast.If):
                assert isinstance(statement, ast.With)
                out[-1].orelse = statement.body
            else:
                out.append(statement)
        return out


def _word(node: ast.With) -> tuple[str, ast.Call | None]:
    call = node.items[0].context_expr
    if len(node.items) != 1 or not isinstance(call, ast.Call):
        return "", None
    target = call.func
    name = target.attr if isinstance(target, ast.Attribute) else target.id if isinstance(target, ast.Name) else ""
    return name, call
