"""Casts: of pointers, and those that a compiler leaves between its stages, which change types only."""

from __future__ import annotations

from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.ir.core import Op
from ptokit.types.integers import width
from ptokit.types.tile import TileSpec
from ptokit.types.values import MemRef, PartitionView, Scalar, TensorView, Type


def check_cast(op: Op) -> None:
    """Every result has to be the value it is made from. Raises `DiagnosticError` (TEXT-UNIMPLEMENTED)."""
    sources = op.group("in")
    if len(sources) != len(op.results) or not all(_alike(a.type, b.type) for a, b in zip(sources, op.results)):
        made = f"{', '.join(str(v.type) for v in sources)} to {', '.join(str(v.type) for v in op.results)}"
        message = f"{op.name} of {made} cannot be run yet"
        hint = "ptokit runs casts between integers of one width, views of one element type, and tiles of one type"
        raise DiagnosticError(Diagnostic("TEXT-UNIMPLEMENTED", Severity.ERROR, message, op.location, hint))


def _alike(a: Type, b: Type) -> bool:
    """True if the same bits, or the same memory, stand for both."""
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return a.is_integer and b.is_integer and width(a.name) == width(b.name)
    if isinstance(a, TileSpec) and isinstance(b, TileSpec):
        return a == b
    views = (MemRef, TensorView, PartitionView)
    return isinstance(a, views) and isinstance(b, views) and a.dtype is b.dtype and len(a.dims) == len(b.dims)
