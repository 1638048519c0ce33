"""Handles of register-level values, and the types of numbers of a kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ptokit.diagnostics import DiagnosticError
from ptokit.ir import Value
from ptokit.isa.table import TABLE
from ptokit.types.dtypes import DType, dtype, is_dtype
from ptokit.types.values import I1, INDEX, Mask, VReg
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .eager import Held
from .rules import refusal

# Handles of register-level values: what a kernel holds of a vector register, a predicate, a stream.


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


# The types of numbers of a kernel: how they are read, what fits into them, which operations convert them.


def scalar_type(type: DType | ScalarType) -> ScalarType:
    """The `.pto` type of a number of this element type."""
    if isinstance(type, ScalarType):
        return type
    if not isinstance(type, DType):
        known = {float: "pto.f32", int: "pto.i32", bool: "pto.i1"}
        hint = f"write {known.get(type, 'pto.f32, pto.i32, pto.i64 or pto.index')}"
        raise refusal(rules.SCALAR, f"{type!r} is not the type of a number of the kernel", hint=hint)
    return ScalarType(type.text)


def is_unsigned(type: ScalarType) -> bool:
    """True for integers whose bits are read without a sign."""
    return type.name.startswith("ui")


def bits_of(type: ScalarType) -> int:
    """Bits of a number."""
    if is_dtype(type.name):
        return dtype(type.name).bits
    return 64 if type == INDEX else int("".join(c for c in type.name if c.isdigit()) or 64)


def check_range(x: int, type: ScalarType) -> None:
    """Refuse an integer that does not fit into a type (LANG-SCALAR)."""
    if type.is_float:
        low, high = -(1 << 128), 1 << 128  # no float type of the ISA reaches further
    else:
        low = 0 if is_unsigned(type) else -(1 << (bits_of(type) - 1))
        high = (1 << bits_of(type)) - 1  # signless: the unsigned reading of the bits is accepted too
    if not low <= x <= high:
        raise refusal(rules.SCALAR, f"{x} does not fit into {type}")


def spelling(type: ScalarType) -> str:
    """A type as Python code writes it."""
    return f"pto.{type.name.replace('ui', 'u')}"


def cast_name(source: ScalarType, to: ScalarType) -> str | None:
    """The operation that converts one type into another; None where only two together do (LANG-SCALAR)."""
    unsigned = is_unsigned(source) or source == I1
    if INDEX in (source, to):
        if source.is_float or to.is_float:
            return None
        return "arith.index_castui" if unsigned else "arith.index_cast"
    if source.is_float and to.is_float:
        if bits_of(source) == bits_of(to):
            raise refusal(rules.SCALAR, f"there is no conversion from {source} to {to}", hint="convert through f32")
        return "arith.extf" if bits_of(to) > bits_of(source) else "arith.truncf"
    if source.is_float:
        return "arith.fptoui" if is_unsigned(to) else "arith.fptosi"
    if to.is_float:
        return "arith.uitofp" if unsigned else "arith.sitofp"
    if bits_of(source) == bits_of(to):
        return "arith.bitcast"
    return "arith.trunci" if bits_of(to) < bits_of(source) else "arith.extui" if unsigned else "arith.extsi"
