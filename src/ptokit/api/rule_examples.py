"""The examples of rules: programs in Python or `.pto` that are read, checked, run or sanitized, and what is found.

    t = Tile(Vec, f32, 16, 64); TADD(t, t, Tile(Vec, {f32|f16}, 16, 64))

An example is a program in which ``{accepted|refused}`` are alternatives (`ptokit.diagnostics.rules.choice`). In Python
it has the statements of a kernel, with the names of ptokit and those of tile types and block layouts alone; a line
``x: Ptr[f32]`` or ``n: int = 4`` declares a parameter, and what a launch gives for it. A program with ``@kernel`` or
``Core(`` is executed unchanged. In `.pto` text it has statements, which are put into a function; operands that
nothing defines become parameters of the types that the statements give, and tiles. A text with ``func.func`` is taken
unchanged.

The first line may be a comment that names the command and its options: ``# ptokit run --arg 0 --blocks 2``. Without it
rules of order are sanitized, those of runs run, and all others checked. Pointers without an argument get 16384 zeros.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import re
import shlex
from collections.abc import Iterator
from typing import Any

import numpy as np

import ptokit
from ptokit.diagnostics import Diagnostic, DiagnosticError, Rule, Scope
from ptokit.diagnostics.location import keep_text
from ptokit.run import choose_entry
from ptokit.types.enums import BLayout, TileType
from ptokit.types.values import Ptr, Scalar

from .errors import UsageError
from .program import Program, Source

_ELEMENTS = 1 << 14
_COMMANDS = {Scope.SYNC: "sanitize", Scope.RUN: "run", Scope.ASSEMBLER: "check --rules assembler"}
_BY_HAND = re.compile(r"\bfunc\.func\b|^\s*module\b", re.M)
_LISTS = {"arg": "args", "also": "also", "watch": "watch"}
_SCRIPT = re.compile(r"@kernel|\bCore\(")
_TEXT = re.compile(r"%\w|\bpto\.[a-z]|\bfunc\.func\b|^\s*(module\b|!|#pto)", re.M)


def found_in(text: str, rule: Rule, target: str = "") -> list[Diagnostic]:
    """What is found in one of the two programs of an example; ``target``: another than the example is for.

    Raises `UsageError` for options that the command does not have.
    """
    target = target or rule.example_target
    command, options = _command(text, rule)
    try:
        if _TEXT.search(text):
            return _of(f"{text}\n" if _BY_HAND.search(text) else in_function(text), command, options, target)
        kernels, given = _kernels(text, f"<{rule.id}>", target)
        return [d for kernel in kernels for d in _of(kernel, command, {**options, "given": given}, target)]
    except DiagnosticError as error:
        return list(error.diagnostics)


def _command(text: str, rule: Rule) -> tuple[str, dict[str, Any]]:
    """The command that the first line names, and its options by the names of the library."""
    first = re.match(r"(?:#|//) ptokit (.*)", text)
    command, *words = shlex.split(first[1] if first else _COMMANDS.get(rule.scope, "check"))
    options: dict[str, Any] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name = word.removeprefix("--").replace("-", "_")
            options.setdefault(_LISTS.get(name, name), True)
        elif name in _LISTS:
            before = options[_LISTS[name]]
            options[_LISTS[name]] = [word] if before is True else [*before, word]
        else:
            options[name] = int(word) if word.isdecimal() else word
    return command, options


def _of(program: Any, command: str, options: dict[str, Any], target: str) -> list[Diagnostic]:
    given = options.pop("given", {})
    if command == "convert":
        ptokit.convert(program, options["to"])
        return []
    if command == "check":
        return list(ptokit.check(program, target=target, **options).diagnostics)
    read = ptokit.read(program, name="example.pto" if isinstance(program, str) else None, target=target)
    if list(read.diagnostics.errors):
        return list(read.diagnostics)
    args = options.pop("args", None) or _arguments(read, given, options.get("entry"))
    if command == "sanitize":
        return list(ptokit.sanitize(read, args, target=target, **options).diagnostics)
    if command != "run":
        raise UsageError(f"an example is for check, convert, run or sanitize, not {command}", "example")
    ran = ptokit.run(read, args, target=target, **options)
    return [*ran.diagnostics, *ran.races]


def _arguments(read: Source, given: dict[str, Any], entry: str | None) -> list[Any]:
    """Arguments for the parameters of a program: what it says, 1 for other numbers, zeros for other pointers."""
    return [
        given.get(param.name) if given.get(param.name) is not None else _zeros(param.type)
        for param in choose_entry(read.module, entry).params
    ]


def _zeros(type: Any) -> Any:
    match type:
        case Ptr(dtype):
            return np.zeros(_ELEMENTS, getattr(dtype, "storage", np.uint8))
        case Scalar(name) if name.startswith(("f", "bf")):
            return 1.0
    return 1


# ----------------------------------------------------------------------- Python


def _kernels(text: str, file: str, target: str) -> tuple[list[Program], dict[str, Any]]:
    """The kernels of a program, and what a launch gives for their parameters."""
    given: dict[str, Any] = {}
    if not _SCRIPT.search(text):
        text, given = _as_kernel(text, target)
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    keep_text(file, text)
    tree = ast.parse(text, file)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | {"kernel"}
    has = {name: _named(name) for name in names if name not in vars(builtins)}
    scope = {name: value for name, value in has.items() if value is not None}
    exec(compile(tree, file, "exec"), scope)  # of rules in this package, or that a target brings
    return [value for name, value in scope.items() if isinstance(value, ptokit.Kernel)], given


def _named(name: str) -> Any:
    """What a name means in an example."""
    if name == "np":
        return np
    for words in (TileType, BLayout):
        if name in words.__members__:
            return words[name]
    return getattr(ptokit, name, None)


def _as_kernel(text: str, target: str) -> tuple[str, dict[str, Any]]:
    """A kernel of the statements, one line below theirs, and the numbers that its parameters say."""
    lines = text.splitlines()
    params, given = [], {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            name = node.target.id
            params.append(f"{name}: {ast.unparse(node.annotation)}")
            given[name] = ast.literal_eval(node.value) if node.value is not None else None
            lines[node.lineno - 1] = "pass"
    head = f"@kernel(target={target!r})\ndef example({', '.join(params)}):"
    return "\n".join([head, *(f"    {line}" for line in lines)]) + "\n", given


# ----------------------------------------------------------------------- text


def in_function(text: str) -> str:
    """Statements of `.pto` text in a function; what they do not define is a parameter, or a tile, of the type given."""
    lines = text.splitlines()
    aliases = [line for line in lines if line.startswith(("!", "#"))]
    body = [line for line in lines if not line.startswith(("!", "#"))]
    types = dict(pair for line in body for pair in _typed(line))
    defined = {name for line in body for name in _defined(line)}
    used = dict.fromkeys(name for line in body for name in re.findall(r"%\w+", line.partition("//")[0]))
    spelled = dict(line.split(" = ", 1) for line in aliases if " = " in line)
    params, tiles = [], []
    for name in used:
        if name in defined:
            continue
        type = types.get(name, "index")
        if spelled.get(type, type).startswith("!pto.tile_buf"):
            tiles.append(f"{name} = pto.alloc_tile : {type}")
        else:
            params.append(f"{name}: {type}")
    inside = "\n".join(f"  {line}" for line in [*tiles, *body])
    return "\n".join([*aliases, f"func.func @example({', '.join(params)}) {{", inside, "  return", "}", ""])


def _defined(line: str) -> Iterator[str]:
    """Values that a line defines."""
    head, equals, _ = line.partition(" = ")
    if equals and re.fullmatch(r"\s*%\w+(:\d+)?(, *%\w+(:\d+)?)*", head):
        yield from re.findall(r"%\w+", head)
    yield from re.findall(r"\b(?:scf\.for|scf\.parallel) (%\w+) =", line)
    for inner in re.findall(r"iter_args\(([^)]*)\)", line):
        yield from re.findall(r"(%\w+) =", inner)
    yield from re.findall(r"[(,] *(%\w+) *: *!?\w", line) if line.lstrip().startswith("^") else ()


def _typed(line: str) -> Iterator[tuple[str, str]]:
    """Operands of a line with their types: names outside of brackets and types come in the same order."""
    line = line.partition("//")[0]
    groups = re.findall(r"\((%[^():]*) : ((?:[^()]|\([^()]*\))*)\)", line)
    if not groups:
        left, colon, right = line.partition(" : ")
        left = left.partition(" = ")[2] if left.lstrip().startswith("%") and " = " in left else left
        given = right.partition(" -> ")[0].strip()
        groups = [(left, given[1:-1] if given.startswith("(") and given.endswith(")") else given)] if colon else []
    for operands, written in groups:
        names = re.findall(r"%\w+", re.sub(r"\[[^\]]*\]", "", operands))
        yield from zip(names, _apart(written))


def _apart(types: str) -> list[str]:
    """Types between commas that stand in no brackets."""
    out, depth = [""], 0
    for letter in types:
        depth += (letter in "<[(") - (letter in ">])")
        if letter == "," and not depth:
            out.append("")
        else:
            out[-1] += letter
    return [type.strip().strip("()") for type in out]
