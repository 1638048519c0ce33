"""Layouts of logical vectors in registers: the parts of one, and how many registers hold a vector."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from ..site import LanesInfo, VectorInfo

REGISTER_BITS = 2048
_BLOCKS = 8  # that a register is divided into where whole blocks lie apart
_LAYOUT = re.compile(r"layout<(\w+)(?: = (\d+))?(?:, slots = (\d+))?(?:, lane_stride = (\d+))?>")


class Layout(NamedTuple):
    """A layout: its kind, the number behind it (1 if there is none), and its fields (0 slots: not stated)."""

    kind: str
    factor: int
    slots: int
    lane_stride: int


@cache
def layout_of(text: str) -> Layout | None:
    """The parts of a layout as text prints it; None of none."""
    m = _LAYOUT.search(text)
    return None if m is None else Layout(m[1], int(m[2] or 1), int(m[3] or 0), int(m[4] or 1))


def lanes_of_register(info: VectorInfo | LanesInfo) -> int:
    """How many lanes a register of it has; 0 of a predicate whose granularity is open."""
    if isinstance(info, VectorInfo):
        return REGISTER_BITS // info.dtype.bits
    bits = register_granularity(info)
    return REGISTER_BITS // bits if bits else 0


def register_granularity(info: LanesInfo) -> int:
    """The granularity of the predicate registers that hold it, in bits; 0 where that is open."""
    layout = layout_of(info.layout)
    return 0 if info.granularity == "pred" else int(info.granularity[1:]) * (layout.lane_stride if layout else 1)


def registers_of(info: VectorInfo | LanesInfo) -> int | None:
    """How many registers hold it; None where no layout says so."""
    layout, each = layout_of(info.layout), lanes_of_register(info)
    if layout is None or not each:
        return None
    if layout.kind == "num_groups" and layout.slots:
        return -(-layout.factor // layout.slots)
    parts = layout.factor if layout.kind.endswith("deinterleaved") else 1
    block = each // _BLOCKS if layout.kind == "block_deinterleaved" else 1
    stride = layout.lane_stride if isinstance(info, VectorInfo) and layout.kind != "num_groups" else 1
    count = 0
    for part in range(parts):
        whole, rest = divmod(info.lanes, parts * block)
        lanes = whole * block + min(max(rest - part * block, 0), block)
        count += -(-((lanes - 1) * stride + 1) // each) if lanes else 0
    return count
