"""Scalars and vector registers: the trace that operations are recorded into, values of LLVM's types, arithmetic on what
is known, and registers, which C++ has as numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, TypeGuard

from ptokit.diagnostics import Location
from ptokit.diagnostics.finding import Argument
from ptokit.ir import Op, Value
from ptokit.ir.control import reached
from ptokit.ir.facts import folded
from ptokit.isa.scalar.arithmetic import ARITHMETIC, FLOAT
from ptokit.isa.table import TABLE, Instr, Kind
from ptokit.lang.intrinsics import VREG_BYTES, handle, intrinsic, takes_dtype
from ptokit.lang.operands import AlignState, Predicate, Register
from ptokit.lang.scalar import Scalar, cast, number
from ptokit.lang.tensors import Pointer
from ptokit.lang.trace import Trace
from ptokit.machine.arithmetic import function
from ptokit.targets import Target
from ptokit.types.dtypes import PACKED, DType, dtype
from ptokit.types.enums import BLayout, CompactMode, SLayout, TileType
from ptokit.types.tensor import ConvState
from ptokit.types.tile import TileSpec
from ptokit.types.values import I1, INDEX, Align, Mask, Type, VReg
from ptokit.types.values import Scalar as ScalarType

from ..llvm import NOTHING, Instruction, Module, Operand, float_of, is_integer
from ..rules import CALL, OPERANDS, POINTER, Unliftable

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


_WIDE = (ScalarType("i64"), ScalarType("ui64"))


def is_arithmetic(owner: object) -> TypeGuard[Op]:
    """Whether a value is computed by an operation of `arith`."""
    return isinstance(owner, Op) and owner.name.startswith("arith.")


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

    def from_memory(self, value: Value) -> bool:
        """Whether a number is an address in global memory: computed of one, or of what global memory holds."""
        owners = reached([value], lambda v: v.owner.values if is_arithmetic(v.owner) else ())
        sources = ("pto.ptrtoint", "pto.load_scalar")
        return any(isinstance(v.owner, Op) and v.owner.name in sources and v.type in _WIDE for v in owners)

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


def tile_type(words: list[str]) -> TileSpec:
    """The type of a tile whose valid region is the whole tile."""
    loc, rows, cols, blocks, _, _, boxes, fractal, pad, compact = map(int, words[1:])
    plain = TileSpec(TileType(loc), dtype(words[0]), rows, cols, rows, cols, BLayout(blocks), SLayout(boxes))
    return replace(plain, fractal=fractal, pad=pad, compact=CompactMode(compact))


def converted(x: Any, wanted: ScalarType) -> Any:
    """A number in another type where one of both is of floats."""
    if isinstance(x, Scalar) and x.type != wanted and (x.type.is_float or wanted.is_float):
        return cast(x, wanted)
    return int(x) if isinstance(x, float) and wanted.is_integer else x


# Vector registers.


OF_REGISTERS = {Kind.VREG, Kind.MASK, Kind.ALIGN}
COMPARISONS = ("vcmp", "vcmps")
"""Instructions that C++ has once for each comparison: `vcmp_lt`."""
ADDED_TO = ("acc", "y")
"""Operands that are the first result, before the instruction."""
_OTHER_WORDS = {"INC_ORDER": "ASC", "DEC_ORDER": "DESC"}
_SAY_NOTHING = ("POST_UPDATE", "MODE_STORED", "MODE_NO_STORED")  # of what the headers do, or what is always done
_SELECTING = ("mask", "seed", "carry_in")
_KINDS = {Register: Kind.VREG, Predicate: Kind.MASK, AlignState: Kind.ALIGN, Pointer: Kind.PTR}


def on_registers(instr: Instr | None) -> bool:
    """Whether an instruction takes vector registers or gives some."""
    if instr is None or not instr.typed:
        return False
    return any(operand.kind in OF_REGISTERS for operand in (*instr.operands, *instr.produces))


def register_type(text: str) -> Type | None:
    """The type of a register as the headers tell it: `vreg f32`, `mask`, `align`; None for what is none."""
    if text in ("mask", "align"):
        return Mask() if text == "mask" else Align()
    if not text.startswith("vreg "):
        return None
    element = dtype(text.removeprefix("vreg "))
    element = PACKED[f"{element.name}x2"] if element.bits < 8 else element
    return VReg(VREG_BYTES // element.size, element)


class Registers:
    """The vector registers of a function among its numbers."""

    def __init__(self, trace: Lifting, numbers: Numbers) -> None:
        self.trace, self.numbers = trace, numbers
        self.types: dict[str, Type] = {}  # by their names in LLVM IR

    def survey(self, instructions: Sequence[Instruction], module: Module) -> None:
        """Find the registers among the numbers: what instructions have made, and what branches and loops carry on."""
        for i in instructions:
            if i.op == "call" and i.word == "@ptokit_register":
                made = register_type(module.text(i.operands[0].text[1:]))
                assert made is not None
                self.types[i.result] = made
        carried = [i for i in instructions if i.op in ("phi", "select", "freeze") and i.type == "i64"]
        known = -1
        while self.types and known != len(self.types):
            known = len(self.types)
            for i in carried:
                found = next((self.types[o.text] for o in i.operands if o.text in self.types), None)
                if found is not None:
                    self.types.setdefault(i.result, found)

    def seen_as(self, value: Value, type: Type) -> Value:
        """A register read as another type, whose bytes it has. What was never set is zero."""
        if isinstance(value.type, ScalarType):
            if self.numbers.known(value) is None:
                raise Unliftable(OPERANDS, "a vector register is needed, and this number is none")
            if isinstance(type, Align):
                return intrinsic("init_align")().value  # type: ignore[no-any-return]
            if isinstance(type, Mask):
                return intrinsic("pset_b8")("PAT_ALLF").value  # type: ignore[no-any-return]
            value = intrinsic("vbr")(0, dtype=dtype("i32")).value
        if value.type == type or (type == Mask() and isinstance(value.type, Mask)):
            return value
        name = {VReg: "pto.vbitcast", Mask: "pto.pbitcast"}.get(type.__class__)
        if name is None or not isinstance(value.type, type.__class__):
            raise Unliftable(OPERANDS, f"a register of type {type} is needed, and this one is of type {value.type}")
        return self.trace.emit(name, {"src": value}, results=[type]).result

    def record(self, name: str, args: list[Any], words: list[str], told: list[Type], merges: bool) -> list[Any]:
        """Record an instruction on registers; its results in the order of C++, numbers after registers.

        ``args``: its operands in the order of C++; before them its first result as it was, where that is read.
        ``words``: enumerators. ``told``: types of results. ``merges``: lanes that take no part keep what was there.
        """
        named: dict[str, Any] = {}
        base, _, compared = name.partition("_")
        if base in COMPARISONS:
            name, named["cmp"] = base, compared
        if name in ("vlds", "vsts") and sum(isinstance(arg, Register) for arg in args) + len(told) == 2:
            name += "x2"
        instr = TABLE[name]
        adds = any(operand.name in ADDED_TO for operand in instr.operands)
        old = args.pop(0) if adds or merges else None
        self._bind(instr, args, old, named)
        self._say(instr, words, named)
        data = next((arg for arg in named.values() if isinstance(arg, Register)), None)
        made_of = [type.dtype for type in told if isinstance(type, VReg)]
        if takes_dtype(instr):
            named["dtype"] = made_of[0] if made_of else None
        packs = named.get("dist", "").startswith("PK")  # the mask is of what remains
        for operand, lanes in product(instr.operands, [data.dtype] if data is not None else made_of[:1]):
            arg = named.get(operand.name)
            if operand.kind is Kind.SCALAR and not operand.number_type and not isinstance(arg, Register):
                named[operand.name] = self._number(arg, lanes)
            elif isinstance(arg, Predicate) and operand.name in _SELECTING and not packs:
                wanted = Mask(max(8, min(32, lanes.bits)))
                named[operand.name] = arg if arg.bits in (0, wanted.bits) else handle(self.seen_as(arg.value, wanted))
        made = intrinsic(name)(**named)
        waiting = list(made) if isinstance(made, tuple) else [] if made is None else [made]
        results: list[Any] = []
        for type in told:
            result = next(each for each in waiting if isinstance(each.value.type, type.__class__))
            waiting.remove(result)
            results.append(handle(self.seen_as(result.value, type)))
        if merges and not (isinstance(old, Register) and "mask" in named and len(results) == 1):
            raise Unliftable(
                OPERANDS, f"{name} with MODE_MERGING has no lanes to keep", "it is for one result, and a mask"
            )
        if merges:
            results[0] = intrinsic("vsel")(results[0], old, named["mask"])
        return results + sorted(waiting, key=lambda each: not isinstance(each, AlignState | Register | Predicate))

    def _bind(self, instr: Instr, args: list[Any], old: Any, named: dict[str, Any]) -> None:
        """Give operands their arguments: of each kind in the order of both."""
        waiting: dict[Kind, list[Any]] = {}
        for arg in args:
            waiting.setdefault(_KINDS.get(arg.__class__, Kind.SCALAR), []).append(arg)
        for operand in instr.operands:
            given = waiting.get(operand.kind)
            if operand.name in ADDED_TO:
                named[operand.name] = old
            elif operand.name == "repeat_stride" and "block_stride" in named:
                named.update(self._strides(named["block_stride"]))
            elif given:
                named[operand.name] = given.pop(0)
            elif operand.kind is Kind.SCALAR and waiting.get(Kind.VREG):
                named[operand.name] = waiting[Kind.VREG].pop(0)  # its first or last lane
        missing = [o.name for o in instr.operands if not o.optional and named.get(o.name) is None]
        if missing or any(waiting.values()):
            raise Unliftable(OPERANDS, f"these are not the operands of {instr.name}", f"it is {instr.signature}")

    def _strides(self, both: Any) -> dict[str, Any]:
        """Strides of blocks and of repeats, which are the halves of one number."""
        if not isinstance(both, int):
            raise Unliftable(OPERANDS, "the strides of an access only the run knows")
        return {"block_stride": both >> 16, "repeat_stride": both & 0xFFFF}

    def _say(self, instr: Instr, words: list[str], named: dict[str, Any]) -> None:
        """Give attributes their words."""
        posts = [attr.name for attr in instr.attrs if attr.default == "POST_UPDATE"]
        advances = any(operand.kind is Kind.PTR for operand in instr.operands)
        named.update(dict.fromkeys(posts, "POST_UPDATE" if "POST_UPDATE" in words else "NO_POST_UPDATE"))
        for word in words:
            spellings = (word, _OTHER_WORDS.get(word), word.partition("_")[2])
            found = (
                (attr.name, each)
                for attr in instr.attrs
                for each in spellings
                if each in attr.words and attr.name not in named
            )
            name, each = next(found, ("", ""))
            if name:
                named[name] = each
            elif word not in _SAY_NOTHING or (word == "POST_UPDATE" and not advances):
                raise Unliftable(OPERANDS, f"{instr.name} has no {word}")

    def _number(self, x: Any, lanes: DType) -> Any:
        """A number that meets lanes in their type, as C++ converts it."""
        if lanes.is_float:
            return converted(x, ScalarType(lanes.text)) if isinstance(x, Scalar) else float(x)
        if isinstance(x, Scalar):
            to = ScalarType(f"i{lanes.bits}")
            if x.type == INDEX:
                return number(self.numbers.cast("index_cast", x.value, to))
            return number(self.numbers.cast("fptosi" if x.type.is_float else "trunci", x.value, to))
        half = 1 << (lanes.bits - 1)
        return (int(x) + half) % (2 * half) - half
