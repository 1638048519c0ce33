"""Programs as the functions of the library take them, and where they are read from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from ptokit.diagnostics import Diagnostics
from ptokit.ir.core import Module
from ptokit.ir.module_target import stated_target
from ptokit.records import dataclass

from .errors import UsageError
from .usage import TARGET_CHOICES

if TYPE_CHECKING:
    from ptokit.targets import Target


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
