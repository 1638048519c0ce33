"""Kernels on several devices: ``k.ranks(4)[blocks](x, y, n)``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from ptokit.ir.rank_queries import Each, RankQuery
from ptokit.ir.rank_queries import Peer as Peer
from ptokit.run.devices import MOST_RANKS
from ptokit.sanitize import Report
from ptokit.types.values import Ptr

from . import rules
from .arrays import as_array
from .params import Constant, Signature
from .tracebacks import refuses
from .where import refusal

RANK, RANKS, COMM = RankQuery.RANK, RankQuery.RANKS, RankQuery.COMM


def given(bound: Mapping[str, Any], signature: Signature, ranks: int) -> list[Any]:
    """The arguments that are no constants: those of pointers as arrays, for several `ranks` in lists."""
    pairs = zip(bound.items(), signature)
    return [_given(name, arg, entry, ranks) for (name, arg), entry in pairs if not isinstance(entry, Constant)]


def _given(name: str, arg: Any, entry: Any, ranks: int) -> Any:
    if not isinstance(entry, Ptr) or isinstance(arg, RankQuery | Peer | Each):
        return arg
    if ranks and isinstance(arg, list | tuple):
        return [as_array(name, each) for each in arg]
    return as_array(name, arg)


class Launched(Protocol):
    """A kernel, as far as its launches on several devices ask for it."""

    name: str

    def launch(
        self,
        blocks: int,
        args: tuple[Any, ...],
        named: dict[str, Any],
        *,
        interpreted: bool | None = None,
        ranks: int = 0,
    ) -> None:
        """Run blocks on the arguments."""

    def sanitize(self, *args: Any, **named: Any) -> Report:
        """Run under observation."""

    def __getitem__(self, blocks: int) -> Any:
        """With a number of blocks, which is looked at."""


class Ranks:
    """A kernel with its number of devices, and of blocks on each; call it with the arguments."""

    def __init__(self, kernel: Launched, count: int, blocks: int = 1, *, interpreted: bool | None = None) -> None:
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= MOST_RANKS:
            raise refusal(rules.BLOCKS, f"kernel {kernel.name} cannot be launched on {count!r} ranks")
        self.kernel, self.count, self.blocks, self._interpreted = kernel, int(count), blocks, interpreted

    def __getitem__(self, blocks: int) -> Ranks:
        """The same with a number of blocks on each device."""
        return Ranks(self.kernel, self.count, self.kernel[blocks].blocks, interpreted=self._interpreted)

    @property
    def interpret(self) -> Ranks:
        """The same, run as Python code: see `Kernel.interpret`."""
        return Ranks(self.kernel, self.count, self.blocks, interpreted=True)

    @refuses
    def __call__(self, *args: Any, **named: Any) -> None:
        """Launch; see `Kernel.ranks` for the arguments, and `Kernel.launch`."""
        self.kernel.launch(self.blocks, args, named, ranks=self.count, interpreted=self._interpreted)

    @refuses
    def sanitize(self, *args: Any, **named: Any) -> Report:
        """Run under observation; see `Kernel.sanitize`."""
        return self.kernel.sanitize(*args, blocks=self.blocks, ranks=self.count, **named)

    def __repr__(self) -> str:
        return f"{self.kernel!r}.ranks({self.count})[{self.blocks}]"
