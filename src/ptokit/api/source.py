"""`read`: a program as the other functions take it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from ptokit.asm import parse_module
from ptokit.diagnostics import Diagnostics
from ptokit.diagnostics.render import keep_text
from ptokit.ir.core import Module
from ptokit.ir.module_target import stated_target

from .errors import UsageError
from .inputs import STDIN
from .inputs import read as read_file
from .usage import TARGET_CHOICES, find_target

if TYPE_CHECKING:
    from ptokit.targets import Target

TEXT = "<text>"
"""How findings call a text that has no name."""

Program = Any
"""A path, a `.pto` text, or a `Source`."""


class Origin(Protocol):
    """What a program is read from, for one target or another."""

    def read(self, target: Target | None) -> Source:
        """The program for a target; None: for the one that it states."""


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

    @property
    def kernels(self) -> list[str]:
        """Names of the functions that can be run."""
        return [function.name for function in self.module.entries()]

    @property
    def target(self) -> Target | None:
        """The target that the program states, or None."""
        return stated_target(self.module)

    def target_or(self, wanted: Target | None) -> Target:
        """`wanted`, or the target that the program states. Raises `UsageError` where neither says one."""
        target = wanted or self.target
        if target is None:
            message = f"{self.file} states no pto.target_arch; say which target is meant: one of {TARGET_CHOICES}."
            raise UsageError(message, "target")
        return target


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
    """Read a program: a path, ``-`` for stdin, or a text.

    A string with a line break is a text, any other a path. ``name``: the string is a text, which findings call so.
    ``target``: what decides about block layouts that a tile type leaves open; by default the target that the text
    states. What is wrong with the text is in the result's ``diagnostics``: nothing is raised for it. Raises
    `UsageError` for an unknown target, `TypeError` for what is no program.
    """
    return origin(program, name).read(find_target(target))


def origin(program: Program, name: str | None = None) -> Origin:
    """What a program is read from. Raises `TypeError` for what is no program."""
    if isinstance(program, Source):
        return program.origin or Text(program.file, program.text, program.diagnostics)
    if isinstance(program, Text):
        return program
    if isinstance(program, str) and ("\n" in program or name is not None):
        keep_text(name or TEXT, program)
        return Text(name or TEXT, program)
    path = os.fspath(program) if isinstance(program, str | os.PathLike) else None
    if not isinstance(path, str):
        raise TypeError(f"a program is a path or a text, not {program!r:.80}")
    return at_path(path)


def at_path(path: str) -> Origin:
    """What the file at a path holds, ``-`` for stdin."""
    text, found = read_file(path)
    return Text(STDIN if path == "-" else path, text, found)
