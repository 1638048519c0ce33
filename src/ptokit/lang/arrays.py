"""Arguments of a launch as NumPy arrays that share the caller's memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import rules
from .where import refusal


def as_array(name: str, arg: Any) -> np.ndarray:
    """The caller's memory as an array: a NumPy array itself, or a view through ``__array_interface__`` or DLPack.

    Raises `DiagnosticError` (LANG-ARG) for anything else; nothing is ever copied, so that results arrive where the
    caller looks for them.
    """
    if isinstance(arg, np.ndarray):
        return arg
    try:
        if hasattr(arg, "__array_interface__"):
            return np.asarray(arg)
        if hasattr(arg, "__dlpack__"):
            return np.from_dlpack(arg)
    except Exception as error:  # the exporter's code: anything may come out of it
        raise refusal(rules.ARGUMENT, f"argument {name} cannot be seen as an array: {error}", hint=_BITS) from error
    kind = type(arg).__name__
    hint = "make an array of it first: numpy.array(x, dtype)" if isinstance(arg, list | tuple) else _PROTOCOLS
    raise refusal(rules.ARGUMENT, f"argument {name} is a {kind}, not an array", hint=hint)


_PROTOCOLS = "pass a NumPy array, or an object with __dlpack__ or __array_interface__ in host memory"
_BITS = "host memory is needed; types that the exporter cannot describe may be given as unsigned integers"
