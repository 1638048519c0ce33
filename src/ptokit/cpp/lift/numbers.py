"""Scalars: the trace that operations are recorded into, values of LLVM's types, and arithmetic on what is known."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ptokit.diagnostics import Location
from ptokit.diagnostics.finding import Argument
from ptokit.ir import Op, Value
from ptokit.ir.facts import folded
from ptokit.isa.scalar.arithmetic import ARITHMETIC, FLOAT
from ptokit.lang.scalar import Scalar, cast, number
from ptokit.lang.trace import Trace
from ptokit.machine.arithmetic import function
from ptokit.targets import Target
from ptokit.types.tensor import ConvState
from ptokit.types.values import I1, INDEX, Type
from ptokit.types.values import Scalar as ScalarType

from ..llvm import NOTHING, Operand, float_of, is_integer
from ..rules import CALL, POINTER, Unliftable

FLOATS = {"half": "f16", "float": "f32", "double": "f64", "bfloat": "bf16"}
BINARY = {
    "add": "addi",
    "sub": "subi",
    "mul": "muli",
    "sdiv": "divsi",
    "udiv": "divui",
    "srem": "remsi",
    "urem": "remui",
    "and": "andi",
    "or": "ori",
    "xor": "xori",
    "shl": "shli",
    "lshr": "shrui",
    "ashr": "shrsi",
    "fadd": "addf",
    "fsub": "subf",
    "fmul": "mulf",
    "fdiv": "divf",
    "frem": "remf",
}
SHIFTS = ("shli", "shrui", "shrsi")
CASTS = {
    "trunc": "trunci",
    "sext": "extsi",
    "zext": "extui",
    "sitofp": "sitofp",
    "uitofp": "uitofp",
    "fptosi": "fptosi",
    "fptoui": "fptoui",
    "fpext": "extf",
    "fptrunc": "truncf",
    "bitcast": "bitcast",
}
_KEEP_LOW = ("arith.trunci", "arith.extui", "arith.extsi", "arith.index_cast")
_LOW_OF_LOW: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
}
"""Operations whose lowest bits follow from those of their operands."""


class Lifting(Trace):
    """The trace of a kernel in C++: operations go to the current block, at the current place."""

    def __init__(self, name: str, target: Target, place: Location) -> None:
        super().__init__(name, target, place)
        self.block, self.at = self.root.block, place

    def emit(
        self,
        name: str,
        operands: Mapping[str, Value | list[Value] | None] | None = None,
        attrs: dict[str, Any] | None = None,
        results: Sequence[Type] = (),
        *,
        hint: str | None = None,
        location: Location | None = None,
        arguments: Mapping[str, Argument] | None = None,
    ) -> Op:
        op = Op(name, dict(operands or {}), attrs or {}, location=self.at)
        op.results = [Value(type, "", op, self.at) for type in results]
        return self.block.add(op)

    def take(self, op: Op) -> None:
        self.block.add(op)

    def visible(self, value: Value) -> bool:
        return True

    def check_scope(self, value: Value, location: Location | None = None) -> None:
        """Scopes are those of C++, which has been compiled."""

    def constant(self, value: bool | int | float, type: ScalarType, *, computed: bool = False) -> Value:
        key = (type.name, repr(value))
        if key not in self._constants:
            result = Value(type, "", location=self.at)
            self._constants[key] = Op("arith.constant", {}, {"value": value}, [result], location=self.at)
        return self._constants[key].result

    @property
    def constants(self) -> list[Op]:
        """The constants made so far."""
        return list(self._constants.values())


def scalar_type(type: str) -> ScalarType:
    """The type of a number of LLVM."""
    if type == "i1":
        return I1
    if is_integer(type) or type in FLOATS:
        return ScalarType(FLOATS.get(type, type))
    raise Unliftable(CALL, f"a value of LLVM type {type} has no counterpart")


def bits(type: Type) -> int:
    """How many bits an integer of a type has."""
    assert isinstance(type, ScalarType)
    return 64 if type == INDEX else int(type.name.lstrip("uis"))


class Numbers:
    """The numbers of a function by their names in LLVM IR."""

    def __init__(self, trace: Lifting) -> None:
        self.trace = trace
        self.values: dict[str, Value] = {}

    def known(self, value: Value) -> Any:
        """The number that a constant is; None for others."""
        owner = value.owner
        return owner.attrs["value"] if isinstance(owner, Op) and owner.name == "arith.constant" else None

    def value(self, operand: Operand) -> Value:
        """The value of an operand."""
        found = self.values.get(operand.text)
        if found is not None:
            return found
        type = scalar_type(operand.type)
        text = operand.text
        if text.startswith(("%", "@")) or "(" in text:
            raise Unliftable(POINTER, "an address is used as a number", "keep numbers and pointers apart")
        if type.is_float:
            return self.trace.constant(float_of(text, operand.type), type)
        if type == I1:
            return self.trace.constant(text == "true", I1)
        return self.constant(0 if text in NOTHING else int(text), type)

    def constant(self, n: int, type: ScalarType) -> Value:
        """An integer constant, with as many of its bits as the type has."""
        if type == I1:
            return self.trace.constant(bool(n & 1), I1)
        width = bits(type)
        half = 1 << (width - 1)
        return self.trace.constant((n + half) % (2 * half) - half, type)

    def number(self, operand: Operand) -> int | None:
        """The integer that an operand is known to be; None for others."""
        found = self.known(self.value(operand))
        return int(found) if isinstance(found, int) else None

    def low_bits(self, value: Value, count: int) -> int | None:
        """The lowest bits of an integer where they are known whatever the run is: 33 of ``flag << 8 | 33``, say."""
        mask = (1 << count) - 1
        known, owner = self.known(value), value.owner
        if known is not None:
            return int(known) & mask
        if not isinstance(owner, Op):
            return None
        if owner.name in _KEEP_LOW:
            enough = all(bits(each.type) >= count for each in (value, owner["in"]))
            return self.low_bits(owner["in"], count) if enough else None
        if owner.name == "arith.shli":
            amount = self.known(owner["rhs"])
            low = None if amount is None else 0 if amount >= count else self.low_bits(owner["lhs"], count)
            return None if low is None else low << amount & mask
        if owner.name not in _LOW_OF_LOW:
            return None
        a, b = self.low_bits(owner["lhs"], count), self.low_bits(owner["rhs"], count)
        if a is None or b is None:
            return 0 if 0 in (a, b) and owner.name in ("arith.andi", "arith.muli") else None
        return _LOW_OF_LOW[owner.name](a, b) & mask

    def plain(self, operand: Operand) -> Any:
        """An integer operand as the words of `lang` take it: Python's where it is known, else one of type index."""
        known = self.number(operand)
        return known if known is not None else self.index_number(self.value(operand))

    def index_number(self, value: Value) -> Scalar:
        """A value as a number of type index, as the words of `lang` have it."""
        return number(self.index(value))  # type: ignore[no-any-return]

    def real(self, operand: Operand) -> Any:
        """A number operand as the words of `lang` take it, in its own type."""
        value = self.value(operand)
        known = self.known(value)
        return known if known is not None else number(value)

    def index(self, value: Value) -> Value:
        """An integer as one of type index."""
        if value.type == INDEX:
            return value
        known = self.known(value)
        if known is not None:
            return self.constant(int(known), INDEX)
        return self.trace.emit("arith.index_cast", {"in": value}, results=[INDEX]).result

    def binary(self, op: str, a: Value, b: Value) -> Value:
        """The result of an `arith` operation, computed here where both operands are known.

        LLVM moves shifts to where their amount may be too large and their result is not used: the amount is kept within
        the width.
        """
        type = a.type
        assert isinstance(type, ScalarType)
        if op in SHIFTS and self.known(b) is None:
            b = self.binary("andi", b, self.constant(int(type.name[1:]) - 1, type))
        return self._result(op, {"lhs": a, "rhs": b}, {}, type)

    def _result(self, op: str, operands: dict[str, Value], attrs: dict[str, Any], type: ScalarType) -> Value:
        """The result of an `arith` operation; a constant where the operands are known and make one."""
        row = ARITHMETIC[f"arith.{op}"]
        known = [self.known(value) for value in operands.values()]
        if not any(x is None for x in known):
            made = Op(f"arith.{op}", dict(operands), attrs, [Value(type)])
            reals = row.reads == FLOAT and row.group != "cast"
            found = function(made)(*known) if reals else folded(made, self.known)
            if found is not None:
                return self.trace.constant(found, type)
        return self.trace.emit(f"arith.{op}", operands, attrs, [type]).result

    def compare(self, predicate: str, a: Value, b: Value) -> Value:
        """The result of a comparison."""
        assert isinstance(a.type, ScalarType)
        op = "cmpf" if a.type.is_float else "cmpi"
        return self._result(op, {"lhs": a, "rhs": b}, {"predicate": predicate}, I1)

    def cast(self, op: str, value: Value, to: ScalarType) -> Value:
        """A number converted to another type."""
        assert isinstance(value.type, ScalarType)
        if value.type == to:
            return value
        return self._result(op, {"in": value}, {}, to)

    def same_bits(self, value: Value, to: ScalarType) -> Value:
        """The bits of a number as another type of the same size."""
        return value if value.type == to else self.cast("bitcast", value, to)

    def select(self, condition: Value, a: Value, b: Value) -> Value:
        """One of two values."""
        known = self.known(condition)
        if known is not None:
            return a if known else b
        if a is b:
            return a
        operands = {"condition": condition, "true": a, "false": b}
        return self.trace.emit("arith.select", operands, results=[a.type]).result


def conv_state(words: list[int]) -> ConvState:
    """What a tile of a convolution says of patches, from the words that the headers tell."""
    a, b, c, filling = (word & (1 << 64) - 1 for word in words)

    def half(word: int, k: int) -> int:
        return word >> 16 * k & 0xFFFF

    left, right, top, bottom = (a >> shift & 0xFF for shift in (0, 8, 16, 24))
    return ConvState(
        (left, right, top, bottom),
        (half(a, 2), half(a, 3)),
        (half(b, 0) + 1, half(b, 1) + 1),
        (half(b, 2) + 1, half(b, 3) + 1),
        (half(c, 0) + 1, half(c, 1) + 1),
        filling,
        (c >> 32 & 0xFF) + 1,
        c >> 40 & 0xFF,
        bool(c >> 48),
    )


def converted(x: Any, wanted: ScalarType) -> Any:
    """A number in another type where one of both is of floats."""
    if isinstance(x, Scalar) and x.type != wanted and (x.type.is_float or wanted.is_float):
        return cast(x, wanted)
    return int(x) if isinstance(x, float) and wanted.is_integer else x
