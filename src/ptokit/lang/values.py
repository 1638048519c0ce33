"""Handles of register-level values: what a kernel holds of a vector register, a predicate, a stream."""

from __future__ import annotations

import numpy as np

from ptokit.ir import Value
from ptokit.types.dtypes import DType
from ptokit.types.values import Mask, VReg

from . import rules
from .core_held import Held
from .where import refusal


def contents(value: Value) -> np.ndarray:
    """What a register of an eager session holds. Raises `DiagnosticError` (LANG-CONTEXT) in a kernel."""
    if not isinstance(value, Held):
        message = "a register has no contents while the kernel is compiled"
        raise refusal(rules.CONTEXT, message, hint="run it with kernel.interpret to look into it")
    return np.array(value.held)[0].copy()


class Register:
    """A vector register of 256 bytes. Registers are values: no instruction changes one."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def dtype(self) -> DType:
        """Element type."""
        assert isinstance(self.value.type, VReg)
        return self.value.type.dtype

    @property
    def lanes(self) -> int:
        """Number of elements."""
        assert isinstance(self.value.type, VReg)
        return self.value.type.lanes

    def numpy(self) -> np.ndarray:
        """A copy of the lanes, in an eager session or an interpreted kernel. Raises `DiagnosticError` elsewhere."""
        return contents(self.value)

    def __repr__(self) -> str:
        return f"<register %{self.value.name or '?'} of {self.lanes} {self.dtype}>"


class Predicate:
    """A predicate register: which lanes of a vector register are active."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def bits(self) -> int:
        """Granularity: bits of the elements whose lanes it selects; 0 if that is open."""
        assert isinstance(self.value.type, Mask)
        return self.value.type.bits

    def numpy(self) -> np.ndarray:
        """A copy of the lanes' conditions, in an eager session or an interpreted kernel."""
        return contents(self.value)

    def __repr__(self) -> str:
        return f"<predicate %{self.value.name or '?'} of b{self.bits}>"


class AlignState:
    """The state of a stream of unaligned accesses."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"<stream %{self.value.name or '?'}>"
