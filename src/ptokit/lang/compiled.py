"""What a kernel has been compiled to, for each state of what it reads from outside of its parameters."""

from __future__ import annotations

from collections.abc import Hashable
from types import FunctionType

from ptokit.ir import Module
from ptokit.run import Program

from .outside import Snapshot
from .params import Signature

MOST_STATES = 16
"""States that are kept: variables that change back find what was compiled for them."""


class Compiled:
    """The modules and programs of one state, by signature."""

    def __init__(self) -> None:
        self.modules: dict[Signature, Module] = {}
        self.programs: dict[Signature, Program] = {}


class States:
    """What a function has been compiled to."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._snapshot: Snapshot | None = None
        self._now = Compiled()
        self._known: dict[Hashable, Compiled] = {}

    def now(self) -> Compiled:
        """What there is for the present state, which is another one where a variable or object has changed."""
        if self._snapshot is None or not self._snapshot.holds():
            self._snapshot = Snapshot(self._function)
            key = self._snapshot.key
            self._now = self._known.pop(key) if key in self._known else Compiled()
            self._known[key] = self._now
            while len(self._known) > MOST_STATES:
                del self._known[next(iter(self._known))]
        return self._now
