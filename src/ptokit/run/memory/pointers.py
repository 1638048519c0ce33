"""Pointers into on-chip memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.types.dtypes import DType, u8

from ..machine.lanes import lift
from .storage import Arena


class LocalPointer:
    """An address in an on-chip buffer, in bytes; a number, or a scalar that differs between blocks.

    ``apart``: the memory of a tile that has no address in its buffer, in which this one counts.
    """

    __slots__ = ("address", "apart", "dtype", "size", "space")

    def __init__(self, space: str, address: Any, dtype: DType, apart: Arena | None = None) -> None:
        self.space, self.address, self.dtype, self.apart = space, address, dtype, apart
        self.size = dtype.size

    def advance(self, elements: Any) -> LocalPointer:
        """The pointer `elements` further on."""
        return LocalPointer(self.space, self.address + lift(_flat(elements)) * self.size, self.dtype, self.apart)

    def as_bytes(self) -> LocalPointer:
        """The same place as a pointer to bytes."""
        return LocalPointer(self.space, self.address, u8, self.apart)


def _flat(value: Any) -> Any:
    return value.reshape(-1) if isinstance(value, np.ndarray) else value
