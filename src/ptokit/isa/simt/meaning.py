"""What operations of threads are given: the threads of a launch as a protocol, and values as arrays of lanes.

A value has one row for each lane, or one for all; scalars have shape (lanes,) or (1,), short vectors (lanes, elements).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, Protocol

import numpy as np

from ptokit.records import dataclass

WARP = 32


class Threads(Protocol):
    """The threads of a launch (`ptokit.run.simt.threads`)."""

    count: int  # lanes
    sizes: tuple[int, int, int]  # threads of the launch in x, y, z
    tid: tuple[np.ndarray, np.ndarray, np.ndarray]
    lane: np.ndarray  # number in the warp
    active: np.ndarray  # lanes that execute the operation

    def spread(self, x: np.ndarray) -> np.ndarray:
        """The value of every lane."""

    def refuse(self, rule: str, message: str) -> NoReturn:
        """Stop."""

    def read(self, place: Any, offset: np.ndarray | int = 0) -> np.ndarray:
        """Elements at an offset in elements."""

    def write(self, place: Any, offset: np.ndarray | int, values: np.ndarray) -> None:
        """Write elements; of several lanes the last one stays."""

    def update(
        self,
        place: Any,
        change: Callable[..., np.ndarray],
        values: tuple[np.ndarray, ...],
        name: str,
        running: Callable[[np.ndarray], np.ndarray] | None = None,
    ) -> np.ndarray:
        """Replace elements by ``change(old, *values)``, lane after lane; what each lane has found."""

    def kept(self) -> dict[int, np.ndarray]:
        """What threads keep for the next launch, by slot."""

    def sync(self) -> None:
        """All threads meet."""

    def core(self) -> int:
        """Number of the vector core."""

    def clock(self) -> int:
        """A number that grows with every look at it."""


Meaning = Callable[..., Any]
"""``meaning(threads, *operands, types, **attrs)``: the result as an array; ``types``: texts of types, results last."""


@dataclass(frozen=True, slots=True)
class OfThreads:
    """What an instruction has in place of a function of a machine: programs hand it to the threads of a launch.

    Outside of launches it is executed by one thread in each block.
    """

    meaning: Meaning

    def __call__(self, m: Any, *operands: Any, **attrs: Any) -> NoReturn:
        raise TypeError("operations of threads are executed by threads")
