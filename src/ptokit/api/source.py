"""`read`: a program as the other functions take it."""

from __future__ import annotations

import os
import sys
from dataclasses import field
from typing import TYPE_CHECKING, Any

from ptokit.asm import parse_module
from ptokit.diagnostics import Diagnostics
from ptokit.diagnostics.location import keep_text
from ptokit.ir.core import Module
from ptokit.records import dataclass

from .errors import UsageError
from .parts import find_target
from .program import CPP, PYTHON, STDIN, TEXT, Origin, Program, Several, Source, split
from .program import read_input as read_file

if TYPE_CHECKING:
    from ptokit.targets import Target


@dataclass(frozen=True)
class Text:
    """A `.pto` text, or why there is none."""

    file: str
    text: str | None
    found: Diagnostics = field(default_factory=Diagnostics)

    def read(self, target: Target | None) -> Source:
        """The module in the text."""
        if self.text is None:
            return Source(self.file, None, Module(file=self.file), self.found, self)
        result = parse_module(self.text, self.file, target=target)
        return Source(self.file, self.text, result.module, result.diagnostics, self)


def read(program: Program, *, name: str | None = None, target: str | Target | None = None) -> Source:
    """Read a program: a path, ``-`` for stdin, a text, or a kernel in Python.

    A string with a line break is a text, any other a path. ``kernels.py:name`` is a kernel in a Python file, which is
    executed; its target is the kernel's own. ``name``: the string is a text, which findings call so.
    ``target``: what decides about block layouts that a tile type leaves open; by default the target that the text
    states. What is wrong with the text is in the result's ``diagnostics``: nothing is raised for it. Raises
    `UsageError` for an unknown target, or where a file has several kernels in Python and none is named, `TypeError`
    for what is no program.
    """
    return origin(program, name).read(find_target(target))


def origin(program: Program, name: str | None = None, entry: str | None = None) -> Origin:
    """What a program is read from; ``entry``: the kernel of a Python file.

    Raises `TypeError` for what is no program, `UsageError` where it is not said which kernel is meant.
    """
    found = origins(program, name, entry)
    if isinstance(found[0], Several):
        return found[0].single()
    if len(found) > 1:
        file, names = found[0].file, [each.kernel.function.__name__ for each in found]
        message = f"{file} has several kernels; name one, for example {file}:{names[0]}.\nIt has {', '.join(names)}."
        raise UsageError(message, "file")
    return found[0]


def origins(program: Program, name: str | None = None, entry: str | None = None) -> list[Any]:
    """`origin` of every kernel of a Python file that names none; one of anything else."""
    if isinstance(program, Source):
        return [program.origin or Text(program.file, program.text, program.diagnostics)]
    if isinstance(program, From):
        return [program.origin]
    if isinstance(program, At):
        return at_path(program.path, entry)
    if isinstance(program, str) and ("\n" in program or name is not None):
        keep_text(name or TEXT, program)
        return [Text(name or TEXT, program)]
    path = os.fspath(program) if isinstance(program, str | os.PathLike) else None
    if isinstance(path, str):
        return at_path(path, entry)
    if "ptokit.lang.kernels" in sys.modules:  # else there are no kernels
        from ptokit.lang.kernels import Kernel

        from .python_file import PythonKernel

        if isinstance(program, Kernel):
            return [PythonKernel(program, program.location.file or "")]
    raise TypeError(f"a program is a path, a text or a kernel, not {program!r:.80}")


@dataclass(frozen=True)
class From:
    """What a program is read from, once it is known."""

    origin: Origin


@dataclass(frozen=True)
class At:
    """A path, whatever is in it."""

    path: str


def at_path(path: str, entry: str | None = None) -> list[Any]:
    """What the file at a path holds, ``-`` for stdin."""
    if split(path)[0].endswith(CPP):
        from .cpp_file import program_at

        return [program_at(path, entry)]
    if split(path)[0].endswith(PYTHON):
        from .python_file import kernels_at

        return list(kernels_at(path, entry or ""))
    return [text_at(path)]


def text_at(path: str) -> Text:
    """The text in a file, ``-`` for stdin."""
    text, found = read_file(path)
    return Text(STDIN if path == "-" else path, text, found)
