"""Handles of register-level values: what a kernel holds of a vector register, a predicate, a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ptokit.diagnostics import DiagnosticError
from ptokit.ir import Value
from ptokit.isa.table import TABLE
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
    """A register, which has contents where Python executes the kernel. Instructions compute with it, not operators."""

    __slots__ = ()

    def no_arithmetic(self, sign: str, other: object = None, *, swapped: bool = False) -> DiagnosticError:
        """The refusal of an operator, with the instruction to write (LANG-KIND)."""
        name = f"v{_OPERATORS.get(sign, '')}{'' if isinstance(other, Lanes) else 's'}"
        hint = "compute it with instructions"
        if name in TABLE and (isinstance(other, Lanes) or not swapped or sign in "+*&|^"):
            number = other.value.shown if isinstance(other, Lanes) else "number"
            hint = f"write pto.{name}({self.value.shown}, {number}, mask)"
        return refusal(rules.KIND, f"a register has no {sign}", hint=hint)

    def __iter__(self) -> Iterator[object]:
        hint = "pto.vcadd, pto.vcmax and pto.vcmin fold the lanes of one"
        raise refusal(rules.KIND, "a register cannot be iterated over", hint=hint)

    def numpy(self) -> np.ndarray:
        """A copy of the lanes, in an eager session or an interpreted kernel.

        Raises `DiagnosticError` (LANG-CONTEXT) while a kernel is compiled.
        """
        if not isinstance(self.value, Held):
            message = "a register has no contents while the kernel is compiled"
            raise refusal(rules.CONTEXT, message, hint="run it with kernel.interpret to look into it")
        return np.array(self.value.held)[0].copy()


_OPERATORS = {
    "+": "add",
    "-": "sub",
    "*": "mul",
    "/": "div",
    "&": "and",
    "|": "or",
    "^": "xor",
    "<<": "shl",
    ">>": "shr",
}


def _install() -> None:
    names = ("add", "sub", "mul", "truediv", "and", "or", "xor", "lshift", "rshift")

    def refusing(sign: str, swapped: bool) -> Callable[[Lanes, object], object]:
        def refused(self: Lanes, other: object) -> object:
            raise self.no_arithmetic(sign, other, swapped=swapped)

        return refused

    for sign, name in zip(_OPERATORS, names):
        setattr(Lanes, f"__{name}__", refusing(sign, swapped=False))
        setattr(Lanes, f"__r{name}__", refusing(sign, swapped=True))


_install()


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
