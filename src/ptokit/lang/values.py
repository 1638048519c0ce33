"""Handles of register-level values: what a kernel holds of a vector register, a predicate, a stream."""

from __future__ import annotations

import numpy as np

from ptokit.ir import Value
from ptokit.types.dtypes import DType
from ptokit.types.values import Mask, VReg

from . import rules
from .core_held import Held
from .where import refusal


class Handle:
    """What a kernel holds of a value that no instruction changes."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value


class Lanes(Handle):
    """A register, which has contents where Python executes the kernel."""

    __slots__ = ()

    def numpy(self) -> np.ndarray:
        """A copy of the lanes, in an eager session or an interpreted kernel.

        Raises `DiagnosticError` (LANG-CONTEXT) while a kernel is compiled.
        """
        if not isinstance(self.value, Held):
            message = "a register has no contents while the kernel is compiled"
            raise refusal(rules.CONTEXT, message, hint="run it with kernel.interpret to look into it")
        return np.array(self.value.held)[0].copy()


class Register(Lanes):
    """A vector register of 256 bytes. Registers are values: no instruction changes one."""

    __slots__ = ()

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

    def __repr__(self) -> str:
        return f"<register {self.value.shown} of {self.lanes} {self.dtype}>"


class Predicate(Lanes):
    """A predicate register: which lanes of a vector register are active."""

    __slots__ = ()

    @property
    def bits(self) -> int:
        """Granularity: bits of the elements whose lanes it selects; 0 if that is open."""
        assert isinstance(self.value.type, Mask)
        return self.value.type.bits

    def __repr__(self) -> str:
        return f"<predicate {self.value.shown} of b{self.bits}>"


class AlignState(Handle):
    """The state of a stream of unaligned accesses."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<stream {self.value.shown}>"
