"""Handles of register-level values, and the binding of a call's arguments to the operands and attributes of an
instruction, by position, kind and name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from ptokit.diagnostics import DiagnosticError
from ptokit.diagnostics.finding import Argument
from ptokit.ir import Value
from ptokit.isa.operands import BITS, Passing
from ptokit.isa.table import TABLE, Attr, Instr, Kind, Operand, Role
from ptokit.types.dtypes import DType
from ptokit.types.values import INDEX, Mask, VReg
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .eager import Held
from .functions import RecordEvent
from .mistakes import shown
from .rules import here, refusal, target_name
from .scalar import Scalar, is_number, materialize, plain
from .tensors import GlobalTensor, Partition, Pointer, TPipe
from .tiles import Tile

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


# Binding of the arguments of a call.


Arguments = dict[str, Any]
Values = dict[str, "Value | list[Value] | None"]

_WORDS = {
    Kind.TILE: "a tile",
    Kind.VIEW: "a view of global memory",
    Kind.SCALAR: "a number",
    Kind.PTR: "a pointer",
    Kind.RECORD: "a record of counts",
    Kind.VREG: "a vector register",
    Kind.MASK: "a predicate",
    Kind.ALIGN: "the state of a stream",
    Kind.VECTOR: "a logical vector",
    Kind.LANES: "a logical predicate",
    Kind.LOGICAL: "a logical vector or predicate",
    Kind.PART: "a register",
    Kind.PIPE: "a pipe between cores",
}


_OBJECTS: dict[Kind, type] = {
    Kind.VREG: Register,
    Kind.MASK: Predicate,
    Kind.ALIGN: AlignState,
    Kind.PIPE: TPipe,
}


def fits(arg: Any, operand: Operand) -> bool:
    """True if an argument is of the operand's kind."""
    if operand.variadic and isinstance(arg, list | tuple):
        return all(_is_kind(item, operand.kind) for item in arg)
    return any(_is_kind(arg, kind) for kind in (operand.kind, *operand.also))


def _is_kind(arg: Any, kind: Kind) -> bool:
    if kind is Kind.TILE:
        return isinstance(arg, Tile)
    if kind is Kind.VIEW:
        return isinstance(arg, GlobalTensor | Partition)
    if kind is Kind.PTR:
        return isinstance(arg, Pointer)
    if kind in _OBJECTS:
        return isinstance(arg, _OBJECTS[kind])
    if kind is Kind.RECORD:
        return False  # Python has none
    return is_number(arg)


def bind(instr: Instr, args: tuple[Any, ...], named: Mapping[str, Any], events: int = 0) -> tuple[Arguments, Arguments]:
    """Operands and attributes by name; ``events``: how many further arguments are events.

    Positional arguments fill the operands in order, and an optional operand is passed over where the argument is of
    another kind or is needed by a required one. Members of an enumeration fill the attribute of that type; what is left
    after the operands fills the attributes in order. Raises `DiagnosticError` (LANG-CALL, LANG-KIND, LANG-ATTR).
    """
    attrs: Arguments = {}
    registers = {a.name: a.register for a in instr.attrs if a.register}
    named = {registers.get(name, name) if isinstance(arg, Scalar) else name: arg for name, arg in named.items()}
    operands = _named(instr, named, attrs)
    positional = list(args)
    if _is_scalar_first(instr, positional):
        positional[1:3] = positional[2:0:-1]
        attrs["scalar_first"] = True
    free = [o for o in _of_form(instr, positional, operands) if o.name not in operands]
    while positional:
        arg = positional[0]
        left = [a for a in instr.attrs if a.name not in attrs]
        attr = next((a for a in left if isinstance(arg, Enum) and isinstance(arg, a.members or a.kind)), None)
        left_over = sum(not isinstance(each, Enum) for each in positional)
        operand = None if attr is not None else _next_operand(free, arg, left_over)
        if operand is None:
            if attr is None and not left:
                raise refusal(rules.CALL, f"{instr.signature} takes no further argument {shown(arg)}")
            attr = attr or left[0]
            attrs[attr.name] = _attr_value(instr, attr, positional.pop(0))
        elif operand.variadic and not isinstance(arg, list | tuple):
            many = 0
            while many < len(positional) - sum(not o.optional for o in free) and fits(positional[many], operand):
                many += 1
            operands[operand.name], positional = positional[:many], positional[many:]
        else:
            operands[operand.name] = positional.pop(0)
    for operand in instr.operands:
        if operand.name in ("row", "col") and operand.kind is Kind.SCALAR:
            operands.setdefault(operand.name, 0)  # as in C++, a window begins at the origin
    if instr.form.choices and not any(set(form.split()) == operands.keys() for form in instr.form.choices):
        listed = "; ".join(form.replace(" ", ", ") for form in instr.form.choices)
        raise refusal(rules.CALL, f"the operands of {instr.name} do not go together", hint=f"it takes: {listed}")
    missing = [o.name for o in instr.operands if o.name not in operands and not o.optional and not o.variadic]
    if missing:
        raise _lacking(instr, args, missing, events)
    for operand in instr.operands:
        arg = operands.get(operand.name)
        absent = arg is None and (operand.optional or operand.variadic)
        if not absent and operand.name in operands and not fits(arg, operand):
            raise refusal(
                rules.KIND,
                f"{operand.name} of {instr.signature} is {_WORDS[operand.kind]}, not {shown(arg)}",
                hint=_kind_hint(instr, operand, arg),
            )
    for name, register in registers.items():
        if isinstance(operands.get(register), int | np.integer):
            attrs[name] = int(operands.pop(register))
    return operands, _recorded(instr, attrs, operands)


def _lacking(instr: Instr, args: tuple[Any, ...], missing: Sequence[str], events: int) -> DiagnosticError:
    """The refusal of a call without these operands."""
    operand = instr.operand(missing[0])
    if any(arg is None for arg in args):
        message = f"{operand.name} of {instr.signature} is {_WORDS[operand.kind]}, not None"
        return refusal(rules.KIND, message, hint=_kind_hint(instr, operand, None))
    hint, name = None, target_name(here())
    if events:
        hint = "instructions write into their destination; what they return is an event, not a tile"
    elif name and instr.operands[0].role is Role.OUT and not instr.produces:
        hint = f"the destination comes first, and nothing is returned: pto.{instr.name}({name}, …)"
    return refusal(rules.CALL, f"{instr.signature} lacks {' and '.join(missing)}", hint=hint)


def arguments_of(operands: Arguments, args: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Argument]:
    """Which argument of a call each operand is: its position, or its keyword."""
    found: dict[str, Argument] = {name: name for name in operands if name in named}
    left = list(enumerate(args))
    for name, value in operands.items():
        if name not in found:
            place = next((k for k, (_, arg) in enumerate(left) if arg is value), None)
            if place is not None:
                found[name] = left.pop(place)[0]
    return found


def _of_form(instr: Instr, positional: list[Any], named: Arguments) -> Sequence[Operand]:
    """The operands that a call means: those of the first form that its tiles and numbers fit, else all."""
    for form in instr.form.choices:
        chosen = instr.chosen(form, instr.operands)
        left = [o for o in chosen if o.name not in named]
        fitting = all(fits(arg, operand) for arg, operand in zip(positional, left))
        complete = len(left) <= len(positional) and named.keys() <= {o.name for o in chosen}
        if fitting and complete and not any(isinstance(arg, Tile) for arg in positional[len(left) :]):
            return chosen
    return instr.operands


def _recorded(instr: Instr, given: Arguments, operands: Arguments) -> Arguments:
    """Attributes in table order. Defaults are left out, except in synchronisation, whose text names every one."""
    shown = {a.name: given[a.name] for a in instr.attrs if a.name in given and given[a.name] != a.default}
    shown |= {a.name: a.default for a in instr.attrs if a.stated and a.name not in shown}
    if any(o.kind in (Kind.TILE, Kind.VIEW) for o in instr.operands):
        return shown
    if instr.typed and all(a.name in shown for a in instr.attrs if a.required):
        return shown
    left_out = {a.name for a in instr.attrs if a.name not in given and (a.optional or a.register in operands)}
    attrs = {a.name: given.get(a.name, a.default) for a in instr.attrs if a.name not in left_out}
    missing = [name for name, value in attrs.items() if value is None]
    if missing:
        raise refusal(rules.CALL, f"{instr.name}({', '.join(attrs)}) lacks {' and '.join(missing)}")
    return attrs


def _named(instr: Instr, named: Mapping[str, Any], attrs: Arguments) -> Arguments:
    operands: Arguments = {}
    known = {o.name for o in instr.operands}
    for name, arg in named.items():
        if name in known:
            operands[name] = arg
            continue
        attr = next((a for a in instr.attrs if a.name == name), None)
        if attr is None:
            names = ", ".join([*(a.name for a in instr.attrs), *(o.name for o in instr.operands)])
            raise refusal(
                rules.ATTRIBUTE, f"{instr.name} has no operand or attribute {name!r}", hint=f"it has: {names}"
            )
        attrs[name] = _attr_value(instr, attr, arg)
    return operands


def _is_scalar_first(instr: Instr, args: list[Any]) -> bool:
    """A division ``TDIVS(dst, scalar, src)``: the table lists the tile first."""
    return (
        any(a.name == "scalar_first" for a in instr.attrs)
        and len(args) >= 3
        and is_number(args[1])
        and isinstance(args[2], Tile)
    )


def _next_operand(free: list[Operand], arg: Any, left: int) -> Operand | None:
    """Take the operand that the next positional argument is for out of `free`."""
    while free:
        operand = free.pop(0)
        needed = sum(not o.optional and not o.variadic for o in free)
        if not operand.optional or (fits(arg, operand) and left > needed) or arg is None:
            return operand
    return None


def _kind_hint(instr: Instr, operand: Operand, arg: Any) -> str | None:
    if operand.kind is Kind.TILE and isinstance(arg, GlobalTensor | Partition):
        return "load it into a tile with TLOAD first; destinations come first in a call"
    if operand.kind is Kind.TILE and isinstance(arg, np.ndarray):
        return "give it to the kernel as an argument, and bring it into a tile with TLOAD"
    if operand.kind is Kind.VREG and isinstance(arg, Scalar | Pointer | Tile):
        return "pto.vlds(pointer, offset) loads a register, pto.vdup(x) fills one"
    if operand.kind is Kind.VIEW and isinstance(arg, TPipe):
        return "pto.TPUSH and pto.TPOP go through a pipe"
    if operand.kind is Kind.TILE and is_number(arg) and f"{instr.name}S" in TABLE:
        return f"pto.{instr.name}S takes a number"
    if arg is None:
        return "instructions write into their destination, and return nothing"
    if operand.kind is Kind.VIEW and isinstance(arg, Tile | Pointer | np.ndarray):
        return "describe global memory with pto.GlobalTensor(ptr, shape); destinations come first in a call"
    if isinstance(arg, RecordEvent):
        return "events follow the operands"
    return None


def _attr_value(instr: Instr, attr: Attr, arg: Any) -> Any:
    """The attribute's value: a member, its spelling, or a plain value of its type."""
    arg = plain(arg)
    if attr.members is not None and type(arg) in (attr.members, int) and arg in list(attr.members):
        return int(arg)
    if attr.members is None and isinstance(arg, attr.kind) and not (attr.kind is int and isinstance(arg, bool)):
        return arg
    if isinstance(arg, Lanes | Pointer | Tile | Partition | GlobalTensor):
        hint = f"it takes {instr.signature}, in this order"
        raise refusal(rules.CALL, f"{shown(arg)} does not fit in this place of {instr.name}", hint=hint)
    if issubclass(attr.kind, Enum) and isinstance(arg, str):
        try:
            return attr.parse(arg)
        except (KeyError, ValueError):
            pass
    if attr.kind is float and isinstance(arg, int) and not isinstance(arg, bool):
        return float(arg)
    if arg is None and attr.default is None:
        return None
    members = attr.members or attr.kind
    values = ", ".join(str(m.name) for m in members) if issubclass(members, Enum) else attr.kind.__name__
    raise refusal(rules.ATTRIBUTE, f"{attr.name} of {instr.name} cannot be {shown(arg)}", hint=f"it is: {values}")


def record(instr: Instr, operands: Arguments) -> Values:
    """The SSA values of bound operands, in table order; numbers become constants of the fitting type."""
    values: Values = {}
    for operand in instr.operands:
        arg = operands.get(operand.name)
        if operand.variadic:
            items = arg if isinstance(arg, list | tuple) else [] if arg is None else [arg]
            values[operand.name] = [_value(instr, operand, item, operands) for item in items]
        elif arg is not None:
            values[operand.name] = _value(instr, operand, arg, operands)
    return values


def _value(instr: Instr, operand: Operand, arg: Any, operands: Arguments) -> Value:
    if operand.passing is Passing.PLACED and isinstance(arg, Tile | GlobalTensor):
        return arg.placed
    if isinstance(arg, GlobalTensor):
        return arg.whole().value
    if isinstance(arg, Tile | Partition | Pointer | TPipe):
        return arg.value
    return materialize(arg, scalar_type_of(instr, operand, arg, operands))


def scalar_type_of(instr: Instr, operand: Operand, arg: Any, operands: Arguments) -> ScalarType:
    """Type in which a number is passed: what the table says, else the type it has or, for Python numbers, the element
    type of the tile that it meets (compute-elementwise EW-08)."""
    if operand.number_type:
        return ScalarType(operand.number_type)
    element = _element_type(instr, operands)
    kind = getattr(arg, "type", None)
    if isinstance(kind, ScalarType) and (kind != INDEX or not element.is_integer):
        return kind
    return element


def _element_type(instr: Instr, operands: Arguments) -> ScalarType:
    tiles = [o for o in instr.operands if o.kind is Kind.TILE and o.role is not Role.SCRATCH and not o.variadic]
    tiles = [o for o in tiles if o.type != BITS]
    tiles.sort(key=lambda o: o.role is Role.OUT)
    for operand in tiles:
        tile = operands.get(operand.name)
        if isinstance(tile, Tile):
            return _signless(tile.dtype)
    return INDEX


def _signless(dtype: DType) -> ScalarType:
    return ScalarType(f"i{dtype.bits}" if dtype.is_integer else dtype.text)
