"""Checks of functions and modules: names, targets, levels, and what can be run (assembly 2.1, 14).

| level | tiles | addresses |
|---|---|---|
| 1 | values in SSA form | the assembler's |
| 2 | buffers that instructions write (``outs``) | the assembler's |
| 3 | as level 2 | the program's: ``addr`` on every alloc_tile, tassign |
"""

from __future__ import annotations

import ast
import json
import operator
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

from ptokit.diagnostics import Diagnostics, Doubt, Note
from ptokit.isa.table import Attr, Kind, Operand
from ptokit.targets import A2A3, A5, A5_TEMPLATES, Target, target
from ptokit.types.values import MemRef, Opaque, PartitionView, Ptr, Scalar, TensorView, is_memref

from .control import section_of
from .core import Function, Module, Op, RawAttr
from .facts import instr_of, scalar_type, shown_op
from .structure_checks import Survey, Surveys

# Checks of functions and of the module as a whole (assembly 14).


_TAIL_HINTS = ("barrier-all", "default", "mte3-to-s-event0")


def check_functions(module: Module, surveys: Surveys, found: Diagnostics) -> None:
    """Entries, calls, recursion, attributes."""
    entries = module.entries()
    for function in module.functions:
        if function.is_entry and function.body is None:
            found.error("FN-1", f"@{function.name} is marked as a kernel but has no body", function.location)
        if function in entries and function.is_entry and function.results:
            results = ", ".join(map(str, function.results))
            found.error(
                "FN-2",
                f"kernel @{function.name} returns {results}",
                function.location,
                hint="write results through a pointer argument",
            )
        hint = function.attrs.get("pto.auto_sync_tail_hint")
        if hint is not None and str(hint).strip('"') not in _TAIL_HINTS:
            found.error(
                "FN-4", f"pto.auto_sync_tail_hint is {hint}, not one of {', '.join(_TAIL_HINTS)}", function.location
            )
        try:
            check_assumptions(function, assumptions(function))
        except ValueError as error:
            found.error("FN-6", f"pto.assume of @{function.name}: {error}", function.location)
        if function.body is not None:
            for op in surveys[function].calls:
                _call(module, op, found)
            for op in surveys[function].named("pto.simt_launch"):
                _launch(module, op, found)
            _sections(function, surveys[function], found)
    _recursion(module, surveys, found)


def _sections(function: Function, survey: Survey, found: Diagnostics) -> None:
    """SYS-05: a function with a kernel kind is one section; sections are not nested."""
    sections = [op for op in survey.nests if section_of(op)]
    if "pto.kernel_kind" in function.attrs:
        kind = Note(f"@{function.name} is for {function.core or 'one kind of'} cores", function.location)
        for op in sections:
            if section_of(op) != function.core:
                message = f"{shown_op(op)} in a function of the other kind: no core runs it"
                found.warning("SYS-05", message, op.location, notes=[kind])
    inside = {inner: op for op in sections for region in op.regions for inner in region.walk()}
    for op in sections:
        if op in inside:
            note = Note("this section is around it", inside[op].location)
            found.error("SYS-05-NESTED", f"{shown_op(op)} is in another section", op.location, notes=[note])


def _call(module: Module, op: Op, found: Diagnostics) -> None:
    callee = module.function(op.attrs["callee"])
    if callee is not None:
        _has_body(callee, op, found)


def _has_body(callee: Function, op: Op, found: Diagnostics) -> None:
    if callee.body is None:
        note = Note(f"@{callee.name} is declared here", callee.location)
        found.error("FN-CALL", f"@{callee.name} has no body to run", op.location, notes=[note])


def _launch(module: Module, op: Op, found: Diagnostics) -> None:
    """FN-LAUNCH; a launch that names no function breaks ATTR-1."""
    name = op.attrs.get("callee")
    if name is None:
        return
    callee = module.function(name.removeprefix("@"))
    if callee is None:
        found.error("FN-LAUNCH", f"there is no function @{name.removeprefix('@')}", op.location)
    elif len(callee.params) != len(op.group("args")):
        message = f"@{callee.name} takes {len(callee.params)} arguments, and is given {len(op.group('args'))}"
        note = Note(f"@{callee.name} is defined here", callee.location)
        found.error("FN-LAUNCH", message, op.location, notes=[note])
    else:
        _has_body(callee, op, found)


def _recursion(module: Module, surveys: Surveys, found: Diagnostics) -> None:
    calls = {f.name: surveys[f].calls if f.body is not None else [] for f in module.functions}
    finished: set[str] = set()
    for start in calls:
        path: list[str] = []
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:
            name, i = stack.pop()
            if i == 0:
                if name in finished:
                    continue
                path.append(name)
            ops = calls.get(name, [])
            if i < len(ops):
                stack.append((name, i + 1))
                callee = ops[i].attrs["callee"]
                if callee in path:
                    cycle = " -> ".join(f"@{n}" for n in [*path[path.index(callee) :], callee])
                    function = module.function(callee)
                    assert function is not None
                    notes = [Note(f"@{name} calls @{callee} here", ops[i].location)]
                    found.error("FN-3", f"@{callee} calls itself: {cycle}", function.location, notes=notes)
                elif callee not in finished:
                    stack.append((callee, 0))
            else:
                finished.add(name)
                path.pop()


# What can be checked of a text that could not be read completely.


def readable_functions(module: Module, found: Diagnostics) -> list[Function] | None:
    """The functions of a text that have none of the errors `found`; None, for all, if there are no errors.

    An error before the first function, in a type alias for example, may concern all of them: then there is none.
    """
    errors = [(d.location.line, d.location.column) for d in found.errors]
    if not errors:
        return None
    starts = [(f.location.line, f.location.column) for f in module.functions]
    if not starts or min(errors) < starts[0]:
        return []
    spans = zip(module.functions, starts, [*starts[1:], (sys.maxsize, 0)], strict=True)
    return [f for f, start, end in spans if not any(start <= error < end for error in errors)]


# What a module says about its target (assembly 2.1).


ARCH = "pto.target_arch"
DEVICE = "pto.device-spec"
KIND = "pto.kernel_kind"
A5_DEVICES = ("Ascend950", "Ascend910_95")
"""What the names of devices with target a5 begin with."""


def target_named(arch: object) -> Target:
    """The target whose rules a text with this ``pto.target_arch`` has: a2a3 for no target's name, and for none."""
    try:
        return target(str(arch))
    except KeyError:
        return A2A3


def stated_target(module: Module) -> Target | None:
    """`target_named` of what the module states; None if it states nothing."""
    parts = (f.part.attrs for f in module.functions if f.part is not None)
    found = filter(None, map(stated_arch, (module.attrs, *parts)))
    arch = next(found, None)
    return None if arch is None else target_named(arch)


def stated_arch(attrs: Mapping[str, Any]) -> str | None:
    """The target that a module's attributes name, or the device that they name is one of."""
    arch = attrs.get(ARCH)
    if arch is None and str(attrs.get(DEVICE, "")).startswith(A5_DEVICES):
        return "a5"
    return None if arch is None else str(arch)


def as_compiled(module: Module, target: Target) -> Target:
    """The target as the assembler compiles a text for it.

    A module of one kind of core, which has `pto.kernel_kind`, is what its backend for a5 takes that has templates in
    the place of the library. In other modules tile operations are calls of the library.
    """
    parts = (f.part.attrs for f in module.functions if f.part is not None)
    of_one_kind = module.text and any(KIND in attrs for attrs in (module.attrs, *parts))
    return A5_TEMPLATES if of_one_kind and target == A5 else target


# The three levels of automation, and what each allows (assembly 14).


def stated_level(module: Module) -> int:
    """The level a text is written for: 3 if a tile has an address, 1 if tiles are SSA values, else 2."""
    functions = [f for f in module.functions if f.body is not None]
    if any(op.get("addr") is not None for f in functions for op in Survey(f).named("pto.alloc_tile")):
        return 3
    return 1 if module.ssa else 2


def check_level(survey: Survey, level: int | None, auto_sync: bool, found: Diagnostics) -> None:
    """Report tiles that are placed by the wrong side: AL-5 where no level was asked for, else LV-1 and LV-2.

    Without a level every function may choose its own, but must not mix both ways.
    """
    allocations = [*survey.named("pto.alloc_tile"), *survey.named("pto.alloc_multi_tile")]
    placed = [op for op in allocations if op.get("addr") is not None]
    if level is None:
        _mixed(allocations, placed, found)
    elif level == 3:
        for op in allocations:
            if op.get("addr") is None:
                found.broken(
                    "LV-1", f"{op.result.shown} has no address; level 3 asks for one", op.location, hint=_address(op)
                )
    else:
        for op in placed:
            message = Doubt(f"{op.result.shown} has an address; at level {level} the assembler places tiles")
            found.broken("LV-1", message, op.location, hint="remove `addr`, or check with level 3")
    for op in survey.named("pto.reserve_buffer") if level is not None else ():
        _reserved(op, level == 3, found)
    for op in survey.named("pto.tassign"):
        if level is not None and level != 3:
            found.broken("LV-2", f"tassign at level {level}; it belongs to level 3", op.location)
        elif auto_sync:
            found.broken(
                "LV-2",
                "tassign together with automatic synchronisation, which cannot know what the tile overlaps then",
                op.location,
                hint="write the flags, or give each tile one address",
            )


def _reserved(op: Op, placed: bool, found: Diagnostics) -> None:
    """RB-3. ``placed``: by the program."""
    automatic, base = op.attrs.get("auto") is not False, op.attrs.get("base")
    if placed and (automatic or base is None):
        found.broken("RB-3", "at level 3 the program places the buffer", op.location, hint="auto = false, base = ...")
    elif not placed and base is not None:
        message = Doubt("base is given; at levels 1 and 2 the assembler places the buffer")
        found.broken("RB-3", message, op.location)


def _address(op: Op) -> str:
    if op.result.called is not None:
        return "give it addr=, the number of its first byte"
    return "add `addr = %address`, the number of the tile's first byte as an i64"


def _mixed(allocations: list[Op], placed: list[Op], found: Diagnostics) -> None:
    for op in allocations if placed else []:
        if op.get("addr") is None:
            note = Note(f"{placed[0].result.shown} is placed by the program", placed[0].location)
            message = f"{op.result.shown} has no address, but other tiles do"
            found.broken("AL-5", message, op.location, hint=_address(op), notes=[note])


# What ptokit can check but not run: reported before a launch, and by nothing else.


_RULE = "TEXT-UNIMPLEMENTED"
_RUN = re.compile(r"[su]?i([1-9]|[1-5]\d|6[0-4])\Z|f16\Z|bf16\Z|f32\Z|f64\Z", re.ASCII)


def check_runnable(module: Module, found: Diagnostics) -> None:
    """Report every operation of `module` that has no execution, and every lowered tile (a memref in its place)."""
    for function in module.functions:
        if function.body is not None:
            threads = function.of_threads
            for op in function.body.walk():
                if not (threads and op.name.startswith("arith.")):  # threads have short vectors, too
                    _operation(op, found)


def _is_default(op: Op, entry: Attr | Operand) -> bool:
    return not isinstance(entry, Attr) or op.attrs.get(entry.name, entry.default) == entry.default


def _arithmetic(op: Op, found: Diagnostics) -> None:
    for value in (*op.values, *op.results):
        name = scalar_type(value)
        if op.name == "arith.select" and name is None and not isinstance(value.type, Opaque):
            continue
        if name is None:
            message = "the scalar unit has no vectors"
        elif name != "index" and not _RUN.match(name):
            message = "the scalar unit has integers of up to 64 bits, f16, bf16, f32 and f64"
        else:
            continue
        found.error(_RULE, f"{op.name} of {value.shown_type} cannot be run yet", op.location, hint=message)
        return


def _operation(op: Op, found: Diagnostics) -> None:
    instr = instr_of(op)
    if instr is None:
        if op.name.startswith("arith.") and op.name != "arith.constant":
            _arithmetic(op, found)
        return
    if instr.unrun:
        found.error(_RULE, f"{op.name} cannot be run yet", op.location, hint=instr.unrun)
        return
    if instr.form.tensor and op.results:
        found.error(_RULE, f"{op.name} with a result of type {op.result.shown_type} cannot be run yet", op.location)
    carried = [e.name for e in instr.form.trailing if op.get(e.name) is not None or not _is_default(op, e)]
    if carried:
        found.error(
            _RULE,
            f"{op.name} with {', '.join(carried)} cannot be run yet",
            op.location,
            hint="no public document says what it does; the reference assembler makes the same code without it",
        )
    for operand in instr.operands:
        value = op.get(operand.name)
        if value is not None and operand.kind is Kind.TILE and is_memref(value.type) and Kind.VIEW not in operand.also:
            found.error(
                _RULE,
                f"{op.name} with {operand.name} of type {value.shown_type} cannot be run yet",
                op.location,
                hint="ptokit runs tiles (!pto.tile_buf) and views of global memory",
            )


# What a kernel assumes of its launches: Python comparisons over parameters and `blocks`, which are read and never
# evaluated as Python, and ``x is y`` of arrays.


ASSUMED = "pto.assume"
"""The attribute of a function that holds its assumptions."""

Words = Mapping[str, Callable[..., Any]]
"""By the name of a node of Python's syntax, and "and", "or", "number" and "truth": what makes the condition of it.

``truth`` is asked of a name: True if it is a condition.
"""

_ALIAS = re.compile(r"\s*(\w+)\s+is\s+(\w+)\s*(?:\[\s*rank\s*([+-])\s*(\d{1,2})\s*\]\s*)?")
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)
_COMPARED = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def assumptions(function: Function) -> tuple[str, ...]:
    """The assumptions that a function carries. Raises `ValueError` if the attribute is no list of texts."""
    kept = function.attrs.get(ASSUMED, "[]")
    try:
        found = json.loads(str(kept))
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(isinstance(text, str) for text in found):
        raise ValueError(f'{kept!s:.80}: write a list of texts, as in ["n % 16 == 0"]')
    return tuple(found)


def assume(function: Function, texts: Sequence[str]) -> None:
    """Let a function carry more assumptions."""
    function.attrs[ASSUMED] = RawAttr(json.dumps(list(dict.fromkeys((*assumptions(function), *texts)))))


def named(function: Function) -> list[str]:
    """What assumptions call the parameters."""
    return [param.name or f"argument {k}" for k, param in enumerate(function.params)]


def alias(text: str, function: Function) -> tuple[str, str, int] | None:
    """The two arrays of ``x is y``, and 1 of ``x is y[rank + 1]``: y of the next rank. None for a condition of numbers.

    Raises `ValueError` for no arrays.
    """
    pair = _ALIAS.fullmatch(text)
    if pair is None:
        return None
    arrays = [n for n, p in zip(named(function), function.params) if isinstance(p.type, _ARRAYS)]
    for name in pair.groups()[:2]:
        if name not in arrays:
            raise ValueError(f"there is no array {name!r:.40} in {text!r:.80}; there are {', '.join(arrays) or 'none'}")
    return pair[1], pair[2], int((pair[3] or "+") + (pair[4] or "0"))


_ARRAYS, _NESTED = (Ptr, MemRef, TensorView, PartitionView), 100


def condition(text: str, names: Mapping[str, Any], words: Words) -> Any:
    """What an assumption says. Raises `ValueError`, which says how they are written."""
    try:
        tree: ast.expr | None = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        tree = None
    if not isinstance(tree, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Name):
        raise ValueError(f"{text!r:.80} is no comparison, as in n % 16 == 0")
    level: list[ast.AST] = [tree]
    for _ in range(_NESTED):
        level = [part for node in level for part in ast.iter_child_nodes(node)]
    if level:
        raise ValueError(f"{text!r:.80} is nested too deeply")
    return _Reading(text, names, words).truth(tree)


class _Reading:
    def __init__(self, text: str, names: Mapping[str, Any], words: Words) -> None:
        self.text, self.names, self.words = text, names, words

    def truth(self, node: ast.expr) -> Any:
        match node:
            case ast.BoolOp(op=op, values=values):
                return self.words["and" if isinstance(op, ast.And) else "or"](*map(self.truth, values))
            case ast.UnaryOp(op=ast.Not(), operand=part):
                return self.words["not"](self.truth(part))
            case ast.Compare(left=left, ops=ops, comparators=others) if all(isinstance(op, _COMPARED) for op in ops):
                sides = [self.number(left), *map(self.number, others)]
                found = (self.words[type(op).__name__](a, b) for op, a, b in zip(ops, sides, sides[1:]))
                return self.words["and"](*found)
            case ast.Name(id=name) if self.words["truth"](self.named(name)):
                return self.names[name]
        self.number(node)
        raise ValueError(f"a number is no condition in {self.text!r:.80}: compare it")

    def number(self, node: ast.expr) -> Any:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=part):
                return self.words["Sub"](self.words["number"](0), self.number(part))
            case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _ARITHMETIC):
                by = right.value if isinstance(right, ast.Constant) and type(right.value) is int else 0
                if isinstance(op, ast.FloorDiv | ast.Mod) and by <= 0:
                    raise ValueError(f"numbers are divided by positive constants, in {self.text!r:.80}")
                return self.words[type(op).__name__](self.number(left), self.number(right))
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                return self.words["number"](number)
            case ast.Name(id=name) if not self.words["truth"](self.named(name)):
                return self.names[name]
            case ast.Name() | ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
                why = "arithmetic and comparisons are of numbers, and or and not join comparisons"
                raise ValueError(f"{why}: {self.text!r:.80}")
        raise ValueError(f"{self.text!r:.80} has more than numbers, + - * // %, comparisons, and, or, not")

    def named(self, name: str) -> Any:
        if name not in self.names:
            known = ", ".join(self.names) or "none"
            raise ValueError(f"there is no number {name!r:.40} in {self.text!r:.80}; there are {known}")
        return self.names[name]


_NAMED = {name: name.lower() for name in ("Add", "Sub", "Mod", "Eq", "Lt", "Gt")}
_NAMED |= {"Mult": "mul", "NotEq": "ne", "LtE": "le", "GtE": "ge"}
OPERATORS: Words = {name: getattr(operator, called) for name, called in _NAMED.items()}
BY_PYTHON: Words = {
    **OPERATORS,
    "and": lambda *parts: reduce(operator.and_, parts),
    "or": lambda *parts: reduce(operator.or_, parts),
    "not": lambda holds: holds ^ True,
    "number": int,
    "truth": lambda value: isinstance(value, bool),
    "FloorDiv": operator.floordiv,
}
"""On numbers, truths, and arrays of them, element by element."""


def numbers_of(function: Function, values: Sequence[Any], blocks: int, rank: int = 0, ranks: int = 1) -> dict[str, Any]:
    """What conditions are about: numbers of blocks and ranks, whole numbers, truths, and elements of arrays of them."""
    found: dict[str, Any] = {"blocks": blocks, "rank": rank, "ranks": ranks}
    for name, param, value in zip(named(function), function.params, values):
        kind = param.type
        if isinstance(kind, Scalar) and not kind.is_float:
            found[name] = bool(value) if kind.name == "i1" else int(value)
        elif isinstance(kind, _ARRAYS) and kind.dtype.is_integer and not kind.dtype.packed:
            found[name] = value
    return found


def elements_in(text: str, function: Function) -> list[str]:
    """The arrays whose elements a condition is about."""
    arrays = [name for name, p in zip(named(function), function.params) if isinstance(p.type, _ARRAYS)]
    return [name for name in arrays if re.search(rf"\b{re.escape(name)}\b", text)]


def check_assumptions(function: Function, texts: Sequence[str]) -> None:
    """Raise `ValueError` for an assumption that says nothing of a function."""
    names = numbers_of(function, [1] * len(function.params), 1)
    for text in texts:
        if alias(text, function) is None:
            condition(text, names, BY_PYTHON)
            if len(elements_in(text, function)) > 1:
                raise ValueError(f"{text!r:.80} is about the elements of several arrays")
