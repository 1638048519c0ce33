"""NumPy's own matrix products as functions that machine code can call without Python."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .code import Code

_NAMES = {"float": ("scipy_cblas_sgemm64_", "cblas_sgemm64_"), "double": ("scipy_cblas_dgemm64_", "cblas_dgemm64_")}
_ROW_MAJOR, _AS_IT_IS = 101, 111  # of cblas


@cache
def address(kind: str) -> int:
    """Where the product of ``float`` or ``double`` matrices is, with sizes of 64 bits; 0 if NumPy has none we know."""
    import numpy as np
    from threadpoolctl import ThreadpoolController

    np.matmul(np.ones((2, 2)), np.ones((2, 2)))
    for library in ThreadpoolController().info():
        if library["internal_api"] != "openblas" or "numpy" not in library["filepath"]:
            continue
        functions = ctypes.CDLL(library["filepath"])
        for name in _NAMES[kind]:
            found = getattr(functions, name, None)
            if found is not None:
                return ctypes.cast(found, ctypes.c_void_p).value or 0
    return 0


def multiply(code: Code, function: str, kind: str, a: str, b: str, c: str, sizes: tuple[int, int, int]) -> None:
    """``c = a @ b`` of matrices that lie in rows, as NumPy calls it; sizes are rows, inner and columns."""
    from .code import double

    m, k, n = sizes
    orders = f"i32 {_ROW_MAJOR}, i32 {_AS_IT_IS}, i32 {_AS_IT_IS}"
    one, zero = double(1.0), double(0.0)
    code.do(
        f"call void {function}({orders}, i64 {m}, i64 {n}, i64 {k}, {kind} {one}, ptr {a}, i64 {k}, ptr {b}, i64 {n}, "
        f"{kind} {zero}, ptr {c}, i64 {n})"
    )
