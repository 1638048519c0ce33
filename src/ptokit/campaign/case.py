"""Programs and cases of a campaign: plain values that travel as JSON.

A compiled kernel travels as its whole program with the places in its file, so that workers need no file of the user's.
What its file says and imports counts by what comes of it: the program.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, field, fields
from enum import StrEnum
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ptokit.api.files import PythonKernel, kernels_at, program_at
from ptokit.api.parts import find_target
from ptokit.api.program import CPP, PYTHON, Source, Text, split
from ptokit.arguments.grammar import ArgumentSyntaxError, parse_argument
from ptokit.asm.text.lexer import read_text
from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, Scope, Severity, define
from ptokit.ir import Module
from ptokit.ir.serial import dumps, loads
from ptokit.records import dataclass
from ptokit.types.choices import Action as Action

from .sources import ABSENT, digest, digest_of_file, digest_of_function

# Programs of a campaign: files of text, and kernels in Python and C++, which are compiled here.


Texts = tuple[str, ...]


@dataclass(frozen=True)
class Compiled:
    """What a text of `written` holds: a program and its target, or why there is none."""

    module: Module
    target: str
    findings: list[Diagnostic]


class Given(NamedTuple):
    """What a case works on: fields of `Case`."""

    text: str
    compiled: bool = False
    args: Texts | None = None
    expected: Texts = ()


class TextFile:
    """A file of `.pto` text. ``shown``: its name in results; ``also``: other names that a pattern may match."""

    def __init__(self, path: Path, shown: str) -> None:
        self.shown, self.also = shown, (path.name,)
        text, found = read_text(path)
        if text is None:
            raise DiagnosticError(found.sorted())
        self._text = text

    def on(self, target: str, args: Texts | None, expected: Texts) -> Given:
        """What a case on a target and with these arguments works on."""
        return Given(self._text, False, args, expected)


class PythonFile:
    """A kernel of a Python file, or why there is none, as `TextFile`."""

    def __init__(self, kernel: PythonKernel | Text, file: str, name: Callable[[str], str]) -> None:
        self._kernel, self._name = kernel, name
        named = f":{kernel.kernel.function.__name__}" if isinstance(kernel, PythonKernel) else ""
        self.shown = name(file) + named
        self.also = (Path(file).name + named, name(file), Path(file).name)

    def on(self, target: str, args: Texts | None, expected: Texts) -> Given:
        """As of `TextFile`; arguments of parameters that are compiled in are no arguments of the program."""
        wanted = find_target(target or None)
        if isinstance(self._kernel, Text):
            return Given(_written(self._kernel.read(wanted), self.shown, self._name), True)
        parameters = self._kernel.kernel.parameters
        try:
            values = self._values(args or ()) if parameters.annotated_signature() is None else []
            passed = None if args is None else tuple(map(str, self._kernel.passed(args)))
        except DiagnosticError as error:
            source = Source(self.shown, None, Module(file=self.shown), Diagnostics())
            source.diagnostics.extend(error.diagnostics)
            return Given(_written(source, self.shown, self._name), True)
        text = _written(self._kernel.read(wanted, values), self.shown, self._name)
        at_run = [not parameters.is_static(name) for name in parameters.kinds]
        kept = tuple(each for each, is_passed in zip(expected, at_run) if is_passed)
        return Given(text, True, passed, kept)

    def _values(self, args: Texts) -> list[Any]:
        """The arguments themselves, whose types decide about the kernel."""
        try:
            return [parse_argument(text, i).make() for i, text in enumerate(args)]
        except (ArgumentSyntaxError, MemoryError) as error:
            why = str(error) or "the arguments do not fit into memory"
            raise DiagnosticError(Diagnostic("RUN-ARG-TYPE", Severity.ERROR, why, Location(self.shown))) from None


class CppFile:
    """A kernel of a file of C++, as `TextFile`; ``kernel``: its name, "" for the only one."""

    def __init__(self, file: str, kernel: str, name: Callable[[str], str]) -> None:
        self._path, self._name = f"{file}:{kernel}" if kernel else file, name
        self.shown = name(self._path)
        self.also = (Path(file).name, name(file), Path(self._path).name)

    def on(self, target: str, args: Texts | None, expected: Texts) -> Given:
        """What a case on a target and with these arguments works on."""
        source = program_at(self._path).read(find_target(target or None))
        return Given(_written(source, self.shown, self._name), True, args, expected)


def _written(source: Source, shown: str, name: Callable[[str], str]) -> str:
    """A program that is compiled here, or why there is none."""
    target = source.target.name if source.target is not None else ""
    if source.diagnostics.errors:
        found = [finding.as_json() for finding in source.diagnostics]
        return json.dumps({"target": target, "findings": found, "file": shown})
    return json.dumps({"target": target, "program": dumps(source.module, name)})


_KERNEL = re.compile(r"(?:template\s*<[^;{}]*>\s*)?\b__global__\s[^;{}()]*?\b(\w+)\s*\(")
"""A kernel in a text of C++; one that is a template has no name before it has arguments."""


def programs_in(path: Path, name: Callable[[str], str]) -> Iterator[TextFile | PythonFile | CppFile]:
    """The programs of a file, by the names that ``name`` gives files. Raises `DiagnosticError`, `UsageError`."""
    file, named = split(str(path))
    if file.endswith(CPP):
        with open(file, encoding="utf-8", errors="replace") as code:
            found = [named] if named else [m[1] for m in _KERNEL.finditer(code.read()) if "template" not in m[0]]
        yield from (CppFile(file, kernel, name) for kernel in found or [""])
        return
    if not file.endswith(PYTHON):
        yield TextFile(path, name(str(path)))
        return
    yield from (PythonFile(kernel, file, name) for kernel in kernels_at(str(path)))


def compiled(text: str) -> Compiled:
    """What `_written` gives."""
    given = json.loads(text)
    if "program" in given:
        return Compiled(loads(given["program"]), given["target"], [])
    return Compiled(Module(file=given["file"]), given["target"], _findings(given["findings"]))


def _findings(given: Sequence[dict[str, Any]]) -> list[Diagnostic]:
    found = []
    for d in given:
        at = Location(d["file"], d["line"], d["column"], max(1, d["end_column"] - d["column"]))
        found.append(Diagnostic(d["rule"], Severity(d["severity"]), d["message"], at, d["hint"]))
    return found


# Rules of campaigns.


SPEC = define(
    "CAMP-SPEC",
    "A campaign's description is TOML with known keys and values of their kinds.",
    scope=Scope.RUN,
    why="A key that is misspelled would silently leave out what it asks for.",
    source="docs/campaigns.md",
    example='{do = ["check", "run"]|doo = ["check"]}',
    unrun="it is about files",
)
PROGRAMS = define(
    "CAMP-PROGRAMS",
    "A campaign names at least one program, and every program can be read.",
    scope=Scope.RUN,
    why="A campaign of no cases would pass whatever happens.",
    source="docs/campaigns.md",
    example='{programs = ["kernels/*.pto"]     where the folder has such files|programs = ["kernel/*.pto"]      '
    "where there is no such folder}",
    unrun="it is about files",
)
RESULTS = define(
    "CAMP-RESULTS",
    "The file of results can be written, and is one that ptokit made.",
    scope=Scope.RUN,
    why="Results of another program, or of a broken disk, must not be mixed with new ones; the file is left as it is.",
    source="docs/campaigns.md",
    example="{--out nightly.sqlite       a new file, or one of an earlier campaign|--out kernel.pto           a file "
    "of another kind}",
    unrun="it is about files",
)
TARGET = define(
    "CAMP-TARGET",
    "Every program of a campaign has a target: its text states one, or the campaign does.",
    scope=Scope.RUN,
    why="The targets accept and compute different things, so there is no default.",
    source="docs/campaigns.md",
    example='{ptokit campaign kernels/ --target a5, or targets = ["a5"]|ptokit campaign kernels/     where a text '
    "has no pto.target_arch}",
    unrun="it is about files",
)


# One case of a campaign, and how it went: plain values that travel as JSON.


Inputs = Mapping[str, Mapping[str, str]]
"""Digests of what a case reads besides its text: ``files``, ``functions`` and ``reads``, by name."""

UNKNOWN = ""
"""The key of a result whose inputs changed while it was made; no case has it."""


class Status(StrEnum):
    """How a case went."""

    PASSED = "passed"
    FINDING = "finding"  # the sanitizer, or the run, found an error of the program
    WRONG = "wrong answer"
    REFUSED = "refused"  # the program, or its arguments, cannot be used on the target
    CRASHED = "crashed"  # an error of ptokit itself, or of a function of the user's
    TIMEOUT = "out of time"
    MEMORY = "out of memory"
    LOST = "lost"  # the process that worked on it died, twice


@dataclass(frozen=True)
class Case:
    """All that decides the result of a case, besides ptokit itself and the contents of files and functions it names.

    ``id`` is its name within the campaign; ``program`` the file, as shown, and ``text`` what is in it: of a kernel in
    Python, which is ``compiled``, the whole program. ``target`` is by default the one that the text states, or
    ``default_target`` where it states none. ``args`` are in the grammar of ``--arg``; None: made from the text
    (`ptokit.arguments.derive`). ``ranks``: devices of the launch; 0 means one, without a leading axis for them.
    ``expected`` are files with the arrays that the kernel must leave, one for each argument, "" where nothing is
    expected; ``function`` is ``module:name``, which gets copies of the arguments and returns the expected arrays.
    ``other`` is the text of another version of the program, whose results must be the same, and ``against`` another
    backend. ``tolerance``: ``{"ulp": n}`` or ``{"rtol": a, "atol": b}``; empty: equal bits. ``seconds`` and
    ``memory`` (bytes) are limits; 0 means none. ``recorded``: the ``outcome`` that is known, a word of `Status`, the
    ``rule`` that was broken and the ``source``; empty: the case is to pass.
    """

    id: str
    program: str
    text: str
    action: Action
    target: str = ""
    default_target: str = ""
    entry: str = ""
    args: tuple[str, ...] | None = None
    blocks: int = 1
    seed: int = 0
    mode: Mapping[str, Any] = field(default_factory=dict)
    expected: tuple[str, ...] = ()
    function: str = ""
    other: str = ""
    against: str = ""
    tolerance: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0
    memory: int = 0
    compiled: bool = False
    ranks: int = 0
    recorded: Mapping[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """The case as an object of JSON."""
        return asdict(self)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """The files that it names."""
        found = [file for file in map(_file, self.args or ()) if file]
        return tuple(dict.fromkeys([*found, *filter(None, self.expected)]))

    def inputs(self) -> Inputs:
        """What its files and functions hold now."""
        functions = {self.function: digest_of_function(self.function)} if self.function else {}
        return {"files": {file: digest_of_file(file) for file in self.files}, "functions": functions}

    @property
    def key(self) -> str:
        """All that decides its result now, by content; see `key_of`."""
        return self.key_of(self.inputs())

    def key_of(self, inputs: Inputs) -> str:
        """The key of a result made from these inputs: an object of JSON.

        It has ``options``, a digest of all that the case says itself, ``texts``, and the inputs: of each its digest.
        """
        return json.dumps({**self._own, **{kind: found for kind, found in inputs.items() if found}}, sort_keys=True)

    def changed(self, key: str, *, elsewhere: bool = False) -> list[str]:
        """What has changed since a result with that key was made, by name; nothing where the result is still good.

        ``elsewhere``: what is not here counts as unchanged, since the work may have been done where it is.
        """
        if key == UNKNOWN:
            return ["what it read, while it was worked on"]
        try:
            then: dict[str, Any] = {"files": {}, "functions": {}, "reads": {}, **json.loads(key)}
            reads = {file: digest_of_file(file) for file in then["reads"]}
            now: dict[str, Any] = {**self._own, **self.inputs(), "reads": reads}
            if then.keys() != now.keys():
                return ["the way to tell"]
            found = [] if then["options"] == now["options"] else ["its options"]
            for part in ("texts", "files", "functions", "reads"):
                old, new = dict(then[part]), now[part]
                names = [name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name)]
                found += [name for name in names if not (elsewhere and new.get(name) == ABSENT)]
            return found
        except (ValueError, TypeError, RecursionError):  # another version wrote it
            return ["the way to tell"]

    @cached_property
    def _own(self) -> dict[str, Any]:
        """What it says itself; texts, which are the large part, by themselves."""
        rest = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("text", "other")}
        texts = {self.program: _text(self.text)}
        if self.other:
            texts[f"the other version of {self.program}"] = _text(self.other)
        return {"options": digest(json.dumps(rest, sort_keys=True, default=dict)), "texts": texts}


def _file(text: str) -> str:
    """The file that an argument names, or ""."""
    try:
        return parse_argument(text, 0).file
    except ArgumentSyntaxError:  # the work will say so
        return ""


@lru_cache(maxsize=16)
def _text(text: str) -> str:
    return digest(text)


def read_case(entry: Mapping[str, Any]) -> Case:
    """The case that an object of JSON describes. Raises `ValueError`."""
    known = {f.name for f in fields(Case)}
    if not isinstance(entry, Mapping) or set(entry) - known or not {"id", "program", "text", "action"} <= set(entry):
        raise ValueError("not a case of a campaign")
    values = dict(entry)
    values["action"] = Action(values["action"])
    for name in ("args", "expected"):
        if values.get(name) is not None:
            values[name] = tuple(values[name])
    return Case(**values)


@dataclass(frozen=True)
class Result:
    """How a case went.

    ``rules`` are the ids of the errors and warnings that were reported, sorted; ``findings`` the findings themselves,
    as JSON. ``digest`` is that of what the kernel left in its arguments. ``seconds`` is what the work took, or, of a
    case that is timed, the launch on its part. The others say where, and how often it was tried.
    """

    id: str
    status: Status
    message: str = ""
    rules: tuple[str, ...] = ()
    findings: tuple[Mapping[str, Any], ...] = ()
    digest: str = ""
    seconds: float = 0.0
    host: str = ""
    attempt: int = 1

    def as_json(self) -> dict[str, Any]:
        """The result as an object of JSON."""
        return asdict(self)


def read_result(entry: Mapping[str, Any]) -> Result:
    """The result that an object of JSON describes. Raises `ValueError`, `KeyError` or `TypeError`."""
    values = dict(entry)
    values["status"] = Status(values["status"])
    values["rules"], values["findings"] = tuple(values["rules"]), tuple(values["findings"])
    if not all(isinstance(values.get(name, ""), str) for name in ("id", "message", "digest")):
        raise ValueError("a text is none")
    if not all(isinstance(rule, str) for rule in values["rules"]) or not math.isfinite(values.get("seconds", 0)):
        raise ValueError("its rules or its seconds are none")
    return Result(**values)
