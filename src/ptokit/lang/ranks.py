"""Kernels on several devices: ``k.ranks(4)[blocks](x, y, n)``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ptokit.ir.rank_queries import Each, RankQuery
from ptokit.ir.rank_queries import Peer as Peer
from ptokit.types.values import Ptr

from .arrays import as_array
from .params import Constant, Signature

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
