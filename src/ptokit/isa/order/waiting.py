"""What a core that waits for others, or asks for them, is told: whether it is over, and what for in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptokit.records import dataclass


@dataclass(frozen=True)
class Waiting:
    """A wait: called, whether it is over. ``reason``: what it is for, in words."""

    over: Callable[[], Any]
    reason: Callable[[], str]

    def __call__(self) -> Any:
        return self.over()

    @property
    def why(self) -> str:
        """What the wait is for, in words."""
        return self.reason()


@dataclass(frozen=True)
class Asked(Waiting):
    """A question: called, its answer. A core that is told no lets the others go on, asks again, and goes on itself."""
