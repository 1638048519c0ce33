"""Checks of tsync, whose operands are a list (memory-model-and-sync 5.2, assembly 13.8)."""

from __future__ import annotations

from ptokit.types.tile import TileSpec
from ptokit.types.values import PartitionView, is_memref

from .core import Op
from .facts import Facts
from .views import Breach, Breaches


def tsync(op: Op, facts: Facts) -> Breaches:
    """Something to wait for, and only data: tiles, views, memrefs."""
    waited = op.group("events")
    if not waited:
        yield Breach(
            "TSYNC-EMPTY",
            "TSYNC without events orders nothing",
            "pto.barrier <PIPE_ALL> (pipe_barrier(PIPE_ALL)) is the full barrier",
        )
    for value in waited:
        if not isinstance(value.type, TileSpec | PartitionView) and not is_memref(value.type):
            message = f"{value.shown} has type {value.shown_type}; tsync takes tiles, partition views and memrefs"
            yield Breach("TS-1", message, value=value)
