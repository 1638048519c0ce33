"""`explain`: a rule with its sentence, source and examples, which are read, checked, run or sanitized.

    t = Tile(Vec, f32, 16, 64); TADD(t, t, Tile(Vec, {f32|f16}, 16, 64))

An example is a program in which ``{accepted|refused}`` are alternatives (`ptokit.diagnostics.rules.choice`). In Python
it has the statements of a kernel, with the names of ptokit and those of tile types and block layouts alone; a line
``x: Ptr[f32]`` or ``n: int = 4`` declares a parameter, and what a launch gives for it. A program with ``@kernel`` or
``Core(`` is executed unchanged. In `.pto` text it has statements, which are put into a function; operands that
nothing defines become parameters of the types that the statements give, and tiles. A text with ``func.func`` is taken
unchanged.

The first line may be a comment that names the command and its options: ``# ptokit run --arg 0 --blocks 2``. Without it
rules of order are sanitized, those of runs run, and all others checked. Pointers without an argument get 16384 zeros,
views as many as they have elements.
"""

from __future__ import annotations

import ast
import builtins
import linecache
import re
import shlex
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, overload

import numpy as np

import ptokit
from ptokit.diagnostics import ALL_TARGETS, Diagnostic, DiagnosticError, Rule, Scope, UsageError, catalogue, lookup
from ptokit.diagnostics.finding import keep_text
from ptokit.diagnostics.render import link_to
from ptokit.diagnostics.render import page_of as page_of_rule
from ptokit.diagnostics.rules import WORDS
from ptokit.isa.reference import all_rules, symbols
from ptokit.isa.table import TABLE
from ptokit.records import dataclass
from ptokit.run import choose_entry
from ptokit.targets import TARGETS
from ptokit.types.enums import BLayout, TileType
from ptokit.types.values import PartitionView, Ptr, Scalar

from .findings import load_catalogue
from .instruction import by_family, named
from .parts import Part, Words, html, pages_of, plain, unknown
from .program import Program, Source

# The examples of rules: programs in Python or `.pto` that are read, checked, run or sanitized, and what is found.


_ELEMENTS = 1 << 14
_COMMANDS = {Scope.SYNC: "sanitize", Scope.RUN: "run", Scope.ASSEMBLER: "check --rules assembler"}
_BY_HAND = re.compile(r"\bfunc\.func\b|^\s*module\b", re.M)
_LISTS = {"arg": "args", "also": "also", "watch": "watch"}
_TARGET = re.compile(r"pto\.target_arch")  # a text that says itself what it is for
_SCRIPT = re.compile(r"@kernel|\bCore\(")
_TEXT = re.compile(r"%\w|\bpto\.[a-z]|\bfunc\.func\b|^\s*(module\b|!|#pto)", re.M)


def found_in(text: str, rule: Rule, target: str = "") -> list[Diagnostic]:
    """What is found in one of the two programs of an example; ``target``: another than the example is for.

    Raises `UsageError` for options that the command does not have.
    """
    target = target or ("" if _TARGET.search(text) else rule.example_target)
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
        return list(ptokit.check(program, target=target or None, **options).diagnostics)
    read = ptokit.read(program, name="example.pto" if isinstance(program, str) else None, target=target or None)
    if list(read.diagnostics.errors):
        return list(read.diagnostics)
    args = options.pop("args", None) or _arguments(read, given, options.get("entry"))
    if command == "sanitize":
        return list(ptokit.sanitize(read, args, target=target or None, **options).diagnostics)
    if command != "run":
        raise UsageError(f"an example is for check, convert, run or sanitize, not {command}", "example")
    ran = ptokit.run(read, args, target=target or None, **options)
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
        case PartitionView(dims, dtype):
            return np.zeros(dims, dtype.storage)
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


# `explain`: what a rule id means.


_SCOPES = {
    Scope.ISA: "the instruction set",
    Scope.ASSEMBLER: "the reference assembler, for .pto text",
    Scope.TEXT: "reading .pto text",
    Scope.RUN: "arguments, launch and execution",
    Scope.SYNC: "ordering, initialisation and flags",
}
_NEVER = "never enforced"
_READING = "Reading chosen by ptokit, sources leave it open"
_FEW = 8  # instructions named on the page of a rule


@dataclass(frozen=True)
class RulePage:
    """The page of a rule.

    ``what`` must hold on the ``targets``; ``about``: who states it; ``used_by``: names of instructions; ``said_by``:
    rules that say the same; ``evidence``: what it rests on; ``source``: where it is from; ``decision``: the
    reading chosen where sources leave it open. ``accepted``, ``refused``: programs for the target ``shown_for``;
    ``said``: what is said of the refused one, where the page is asked for by its id; ``reported_as``: rules that
    findings name instead.
    The page of an instruction has its name for an id, and its reading.
    """

    id: str
    what: str
    severity: str = ""
    targets: tuple[str, ...] = ()
    about: str = ""
    used_by: tuple[str, ...] = ()
    said_by: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    source: str = ""
    why: str = ""
    decision: str = ""
    shown_for: str = ""
    accepted: str = ""
    refused: str = ""
    said: tuple[str, ...] = ()
    reported_as: str = ""

    @property
    def page(self) -> str:
        """The page of a rule in the documentation: a link where it is known where that is, else a path below it."""
        return (link_to(page_of_rule(self.id)) or page_of_rule(self.id)) if self.severity else ""

    def parts(self) -> Iterator[Part]:
        """What the terminal shows."""
        yield Words(f"  {self.what}", strong=self.id)
        more = f" and {len(self.used_by) - _FEW} more" if len(self.used_by) > _FEW else ""
        facts = {
            "severity": self.severity,
            "targets": ", ".join(self.targets),
            "about": self.about,
            "used by": ", ".join(self.used_by[:_FEW]) + more,
            "said by": ", ".join(self.said_by),
            "found as": ", ".join(self.reported_as.split()),
            "evidence": ", ".join(self.evidence),
            "source": self.source,
            "to read": "; ".join(pages_of(self.source)),
            "page": self.page,
        }
        if any(facts.values()):
            yield Words()
        for word, text in facts.items():
            if text:
                yield Words(text, first=word, indent=10)
        for title, text in (("Why", self.why), (_READING, self.decision)):
            if text:
                yield from (Words(), Words(strong=title), Words(" ".join(text.split()), indent=4))
        on = f" on {self.shown_for}" if len(self.targets) > 1 and self.shown_for else ""
        for title, program, said in (("Accepted", self.accepted, ()), ("Refused", self.refused, self.said)):
            if program:
                yield from (Words(), Words(strong=f"{title}{on}"))
                yield from (Words(line, first=" " * 4, code=True) for line in program.splitlines())
                yield from (Words(f"→ {line}", indent=4) for line in said)
        letters = symbols((self.what, self.why, self.decision))
        if letters:
            yield Words()
        for letter, text in letters.items():
            yield Words(text, first=letter, indent=10)

    def __str__(self) -> str:
        return plain(self.parts())

    def _repr_html_(self) -> str:
        return html(self.parts())


@overload
def explain(id: str) -> RulePage: ...
@overload
def explain(id: None = None) -> list[RulePage]: ...
def explain(id: str | None = None) -> RulePage | list[RulePage]:
    """The page of a rule, or of an instruction where sources leave something open; without an id those of all rules.

    Raises `UsageError` for an id that there is not.
    """
    load_catalogue()
    if id is None:
        users = _users()
        return [page_of(rule, users.get(rule.id, ())) for rule in catalogue()]
    try:
        return page_of(lookup(id), said=True)
    except KeyError:
        instr = named(id)
        if instr is None:
            raise unknown("rule", id, (r.id for r in catalogue()), "ptokit explain", "id") from None
        if not instr.decision:
            message = f"{id!r} is an instruction, not a rule: 'ptokit isa {instr.name}' shows its page."
            raise UsageError(message, "id") from None
        return RulePage(instr.name, instr.summary, decision=instr.decision)


def page_of(rule: Rule, users: Sequence[str] | None = None, *, said: bool = False) -> RulePage:
    """The page of `rule`; ``users``: the instructions that it binds; ``said``: with what its refused program gives."""
    users = _users().get(rule.id, ()) if users is None else users
    return RulePage(
        id=rule.id,
        what=rule.what,
        severity=str(rule.severity) if rule.enforced else f"{_NEVER}: no case that can occur breaks it",
        targets=tuple(name for name, target in TARGETS.items() if target.obeys(rule)),
        about=_SCOPES[rule.scope],
        used_by=tuple(users),
        said_by=rule.covered_by,
        evidence=tuple(WORDS[kind] for kind in rule.evidence),
        source=rule.source,
        why=rule.why,
        decision=rule.decision,
        shown_for=rule.example_target if rule.example and not rule.unrun else "",
        accepted=rule.accepted,
        refused=rule.refused,
        said=_said(rule) if said and rule.example and not rule.unrun else (),
        reported_as=rule.reported_as,
    )


def _said(rule: Rule) -> tuple[str, ...]:
    """The messages of a rule for the program that breaks it."""

    found = [d for d in found_in(rule.refused, rule) if d.rule == rule.id]
    return tuple(f"{d.severity}: {d.message}" for d in found[:1])


@cache
def _users() -> dict[str, list[str]]:
    """The names of the instructions that a rule binds, on all targets together, by its id."""
    users: dict[str, list[str]] = {}
    for name, instr in TABLE.items():
        for id in dict.fromkeys(rule.id for rule in all_rules(instr)):
            users.setdefault(id, []).append(name)
    return users


def listing(search: str = "") -> Iterator[Part]:
    """One line per rule, by family; ``search``: those whose id or sentence has this word, in any case."""
    load_catalogue()
    word = search.lower()
    found = (rule for rule in catalogue() if word in f"{rule.id} {rule.what}".lower())
    for number, (title, group) in enumerate(by_family(found).items()):
        if number:
            yield Words()
        yield Words(strong=f"{title}: {len(group)} rule{'s' * (len(group) > 1)}")
        width = max(len(rule.id) for rule in group)
        for rule in group:
            text = rule.what if rule.enforced else f"{rule.what} ({_NEVER})"
            first = f"  {rule.id.ljust(width)}  {_short(rule.targets)}  "
            yield Words(text, first=first, indent=len(first))


def _short(targets: tuple[str, ...]) -> str:
    """The targets of a rule in a column of their own: ``cpu a2a3 a5``, blanks where it does not bind."""
    if not set(targets) <= set(ALL_TARGETS):
        return " ".join(targets).ljust(len(" ".join(ALL_TARGETS)))
    return " ".join(name if name in targets else " " * len(name) for name in ALL_TARGETS)
