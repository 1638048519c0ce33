"""Programs of a campaign: files of text and kernels in Python, and the rules of campaigns.

A compiled kernel travels as its whole program with the places in its file, so that workers need no file of the user's.
What its file says and imports counts by what comes of it: the program.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ptokit.api.parts import find_target
from ptokit.api.program import PYTHON, Source, split
from ptokit.api.python_file import PythonKernel, Unusable, kernels_at
from ptokit.arguments.generators import ArgumentSyntaxError
from ptokit.arguments.grammar import parse_argument
from ptokit.asm.text.lexer import read_text
from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, Scope, Severity, define
from ptokit.ir import Module
from ptokit.ir.serial import dumps, loads
from ptokit.records import dataclass

# Programs of a campaign: files of text, and kernels in Python, which are compiled here.


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

    def __init__(self, kernel: PythonKernel | Unusable, file: str, name: Callable[[str], str]) -> None:
        self._kernel, self._name = kernel, name
        named = f":{kernel.kernel.function.__name__}" if isinstance(kernel, PythonKernel) else ""
        self.shown = name(file) + named
        self.also = (Path(file).name + named, name(file), Path(file).name)

    def on(self, target: str, args: Texts | None, expected: Texts) -> Given:
        """As of `TextFile`; arguments of parameters that are compiled in are no arguments of the program."""
        wanted = find_target(target or None)
        if isinstance(self._kernel, Unusable):
            return Given(self._written(self._kernel.read(wanted)), True)
        parameters = self._kernel.kernel.parameters
        try:
            values = self._values(args or ()) if parameters.annotated_signature() is None else []
            passed = None if args is None else tuple(map(str, self._kernel.passed(args)))
        except DiagnosticError as error:
            source = Source(self.shown, None, Module(file=self.shown), Diagnostics())
            source.diagnostics.extend(error.diagnostics)
            return Given(self._written(source), True)
        text = self._written(self._kernel.read(wanted, values))
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

    def _written(self, source: Source) -> str:
        target = source.target.name if source.target is not None else ""
        if source.diagnostics.errors:
            found = [finding.as_json() for finding in source.diagnostics]
            return json.dumps({"target": target, "findings": found, "file": self.shown})
        return json.dumps({"target": target, "program": dumps(source.module, self._name)})


def programs_in(path: Path, name: Callable[[str], str]) -> Iterator[TextFile | PythonFile]:
    """The programs of a file, by the names that ``name`` gives files. Raises `DiagnosticError`, `UsageError`."""
    file, _ = split(str(path))
    if not file.endswith(PYTHON):
        yield TextFile(path, name(str(path)))
        return
    yield from (PythonFile(kernel, file, name) for kernel in kernels_at(str(path)))


def compiled(text: str) -> Compiled:
    """What `PythonFile` wrote."""
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
