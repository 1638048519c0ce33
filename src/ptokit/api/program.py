"""Programs as the functions of the library take them, and what is read: files, folders or stdin."""

from __future__ import annotations

import ast
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ptokit.asm.text.lexer import read_stream, read_text
from ptokit.asm.text.rules import FILE
from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, Severity
from ptokit.ir.core import Module
from ptokit.ir.functions import stated_target
from ptokit.records import dataclass

from .errors import UsageError
from .parts import TARGET_CHOICES

if TYPE_CHECKING:
    from ptokit.targets import Target


# Programs as the functions of the library take them, and where they are read from.


TEXT = "<text>"
"""How findings call a text that has no name."""


Program = Any
"""A path, a `.pto` text, a `Source`, or a kernel in Python."""


class Origin(Protocol):
    """What a program is read from, for one target or another."""

    def read(self, target: Target | None) -> Source:
        """The program for a target; None: for the one that it states."""


@runtime_checkable
class Called(Protocol):
    """An origin that arguments decide about: a kernel in Python."""

    def read(self, target: Target | None, args: Sequence[Any] = ()) -> Source:
        """The program for a target and the types of these arguments."""

    def passed(self, args: Sequence[Any]) -> list[Any]:
        """Those arguments that a launch of the program hands over."""


@runtime_checkable
class Several(Protocol):
    """An origin that is all kernels of a file, which has to be read to know them."""

    def single(self) -> Origin:
        """The only kernel of the file, or the one that is named."""


@dataclass(frozen=True)
class Source:
    """A program as it was read: its module, and the findings of reading it.

    With errors among the findings the module holds what could be understood. ``text`` is None where there is none.
    """

    file: str
    text: str | None
    module: Module
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    origin: Origin | None = field(default=None, repr=False, compare=False)
    own_target: Target | None = None
    lines: range | None = None  # of a kernel in Python

    @property
    def kernels(self) -> list[str]:
        """Names of the functions that can be run."""
        return [function.name for function in self.module.entries()]

    @property
    def target(self) -> Target | None:
        """The target that the program states, or None."""
        return self.own_target or stated_target(self.module)

    def target_or(self, wanted: Target | None, default: Target | None = None) -> Target:
        """`wanted`, or the target that the program states, or `default`. Raises `UsageError` where there is none."""
        target = wanted or self.target or default
        if target is None:
            message = f"{self.file} states no pto.target_arch; say which target is meant: one of {TARGET_CHOICES}."
            raise UsageError(message, "target")
        return target


# What is read: files, folders of files, or stdin.


STDIN = "<stdin>"
"""How findings call what is read for ``-``."""


PYTHON = ".py"
"""What the names of files with kernels in Python end with."""


CPP = (".cpp", ".cce", ".cc", ".cxx")
"""What the names of files with kernels in C++ end with."""


def split(path: str) -> tuple[str, str]:
    """The file and the kernel that ``kernels.py:name`` or ``kernel.cpp:Name<4>`` names; "" where there is none."""
    file, colon, name = path.rpartition(":")
    if colon and file.endswith(PYTHON):
        return file, name
    found = _CPP_KERNEL.fullmatch(path)
    return (found[1], found[2]) if found else (path, "")


_CPP_KERNEL = re.compile(rf"(.*?(?:{'|'.join(re.escape(end) for end in CPP)})):(.*)", re.DOTALL)


def expand(names: Sequence[str], *, kernels: bool = False) -> list[str]:
    """The files meant: those named, and the ``.pto`` files below folders, each once; ``-`` becomes `STDIN`.

    ``kernels``: of folders also Python files with a kernel at their top level, which is looked up in their text: no
    other file is executed. Hidden folders below a folder are left out. Raises `DiagnosticError` for a folder without
    any such file.
    """
    out: list[str] = []
    for name in names:
        if name == "-" or not name or not os.path.isdir(name):
            out.append(STDIN if name == "-" else name)
            continue
        found = below(Path(name), kernels=kernels)
        if not found:
            what = "no .pto file, and no Python file with a kernel," if kernels else "no .pto file"
            raise DiagnosticError(Diagnostic(FILE, Severity.ERROR, f"there is {what} in this folder", Location(name)))
        out += map(str, found)
    return list(dict.fromkeys(out))


def below(folder: Path, *, kernels: bool) -> list[Path]:
    """The ``.pto`` files below a folder, sorted, and with ``kernels`` Python files with kernels, as `expand`."""
    return [
        p
        for p in sorted(folder.rglob("*"))
        if (p.suffix == ".pto" or (kernels and p.suffix == PYTHON))
        and not _hidden(p.relative_to(folder))
        and p.is_file()
        and (p.suffix == ".pto" or has_kernels(p))
    ]


def without_kernels(folder: Path) -> list[Path]:
    """The Python files below a folder that use ptokit and that `below` leaves out, sorted."""
    found = (p for p in sorted(folder.rglob(f"*{PYTHON}")) if not _hidden(p.relative_to(folder)) and p.is_file())
    return [p for p in found if b"ptokit" in p.read_bytes() and not has_kernels(p)]


def has_kernels(path: Path) -> bool:
    """True for a Python file with a function at its top level that is decorated as a kernel.

    One that is no Python has kernels where it looks like it: reading it tells what is wrong.
    """
    try:
        text = path.read_bytes()
        return bool(kernels_in(text))
    except OSError:
        return False
    except SyntaxError:
        return b"ptokit" in text and b"kernel" in text


def kernels_in(text: str | bytes) -> list[ast.FunctionDef]:
    """The functions at the top level of a Python text that are decorated as kernels. Raises `SyntaxError`."""
    try:
        tree = ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error)) from None
    return [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(getattr(d, "attr", getattr(d, "id", "")) == "kernel" for d in map(_called, node.decorator_list))
    ]


def _called(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def read_input(file: str) -> tuple[str | None, Diagnostics]:
    """The text of a file or of stdin; None and why if there is none, as `ptokit.asm.text.lexer.read_text`."""
    if file not in ("-", STDIN):
        return read_text(file)
    if sys.stdin is None:  # the process was started without one
        found = Diagnostics()
        found.error(FILE, "cannot read the file: it is closed", Location(STDIN))
        return None, found
    return read_stream(sys.stdin.buffer, STDIN)
