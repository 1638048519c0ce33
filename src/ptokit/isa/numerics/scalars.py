"""A number of the program as an element of a tile."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.types.dtypes import DType


def element(dtype: DType, value: Any) -> Any:
    """A scalar operand as a value of the tile's type: integers wrap, floats round once.

    `value` is a Python number, or an array of shape (blocks, 1, 1).
    """
    numpy_type = dtype.value
    assert numpy_type is not None, dtype
    if isinstance(value, np.ndarray) or (isinstance(value, np.generic) and not dtype.is_integer):
        return value.astype(numpy_type)  # of the same type: bit for bit
    if not dtype.is_integer:
        return numpy_type.type(float(value))
    if isinstance(value, (float, np.floating)):
        value = value if np.isfinite(value) else 0
    bits = int(value) & ((1 << dtype.bits) - 1)
    return numpy_type.type(bits - (1 << dtype.bits) if dtype.signed and bits >> (dtype.bits - 1) else bits)
