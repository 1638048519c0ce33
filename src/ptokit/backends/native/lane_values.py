"""The values of an expression for all lanes of its domain, as LLVM vectors.

Leaves are registers, predicates, numbers and memory; lanes at known places are shuffles. What needs many instructions
for a lane (exponentials, tables, division of integers) is a loop over the lanes in a function of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ptokit.isa.meaning.expressions import (
    OWN,
    Apply,
    Before,
    Bit,
    Convert,
    Counted,
    Element,
    Expr,
    Fetched,
    First,
    Folded,
    Front,
    Index,
    Listed,
    Place,
    Scalar,
    Stored,
    Taken,
    children,
    lanes_at,
    leaves,
    type_of,
)
from ptokit.isa.meaning.rows import constant, listed
from ptokit.plan.steps import Step
from ptokit.types.dtypes import DType
from ptokit.types.values import LogicalMask, LogicalVector
from ptokit.types.values import Scalar as ScalarType

from . import between_lanes, conversions, primitives
from .analyses import interval
from .code import Code, many, spread, storage
from .conversions import Types, dtype_of, has_form, inner
from .lanes import scalar_element
from .primitives import Elements, Maker
from .scalars import FLOATS
from .values import LocalPointer, Register, bits_as, constants, lanes_of, shuffled

if TYPE_CHECKING:
    from .function import Writer

_SLOW = frozenset(("exp", "log", "fmod", "floormod", "pow", "pow_a2a3"))
_TABLES = frozenset(("exp", "log", "sqrt", "rsqrt", "recip"))
_PIECE = 32  # bytes of a register that a loop over lanes takes at a time


def known(e: Expr, step: Step, operands: dict[str, Any], types: Types) -> bool:
    """True if there is native code for an expression."""
    return _known(e, step, operands, types) and all(known(child, step, operands, types) for child in children(e))


def _known(e: Expr, step: Step, operands: dict[str, Any], types: Types) -> bool:
    """True if there is a form for one node."""
    match e:
        case Element(name):
            return isinstance(operands.get(name), Register)
        case Bit(name):
            return operands.get(name) is None or isinstance(operands[name], Register)
        case Stored(name):
            return isinstance(operands.get(name), LocalPointer)
        case Fetched(name, _, place):
            return isinstance(operands.get(name), LocalPointer) and placed(place, types)
        case Scalar(name):
            number, of = step.get(name), dtype_of(e, types)
            if number is None or not isinstance(number.type, ScalarType) or of is None:
                return False
            return of.value is not None and (of.is_float or number.type.name not in FLOATS)
        case Folded(what, value):
            of = dtype_of(value, types)
            return primitives.known(what, of) and (of is None or of.value is not None)
        case Taken(_, place):
            of = dtype_of(place, types)
            return of is not None and of.is_integer
        case Before() | Counted() | First() | Front() | Listed():
            return True
    return has_form(e, types)


def placed(place: Expr, types: Types) -> bool:
    """True if lanes can be put to, or taken from, the places that an expression counts; it is needed before memory."""
    return getattr(dtype_of(place, types), "name", "") == "i64" and not any(
        isinstance(leaf, Stored | Fetched) for leaf in leaves(place)
    )


class Values:
    """The values of the expressions of one operation."""

    def __init__(self, w: Writer, step: Step, operands: dict[str, Any], types: Types, lanes: int) -> None:
        self.w, self.step, self.operands, self.types = w, step, operands, types
        self._values: dict[tuple[Expr, int], Elements] = {}
        self._enter(lanes)

    def _enter(self, lanes: int) -> None:
        self.lanes, self.maker = lanes, Maker(self.w.code, lanes, self.w.module.need, self.w.table)

    @contextmanager
    def domain(self, lanes: int) -> Iterator[None]:
        """What is written meanwhile is over so many lanes."""
        before = self.lanes
        self._enter(lanes)
        yield
        self._enter(before)

    def _below(self, e: Expr) -> int:
        """How many lanes the expression has that a node folds, counts or takes from."""
        for leaf in leaves(e):
            match leaf:
                case Element(name, at, dtype) if at == OWN:
                    type = self.operands[name].type
                    if isinstance(type, LogicalVector):
                        return lanes_of(type, (dtype or type.dtype).size)
                case Bit(name) if isinstance(getattr(self.operands.get(name), "type", None), LogicalMask):
                    return lanes_of(self.operands[name].type, 0)
        return self.lanes

    # --- memory --------------------------------------------------------------------------------------------------

    def loaded(self, e: Stored) -> Elements:
        """Memory that has been checked."""
        raise NotImplementedError

    def fetched(self, e: Fetched) -> Elements:
        """Memory at places that have been checked."""
        raise NotImplementedError

    # --- predicates ----------------------------------------------------------------------------------------------

    def active(self, name: str, width: int, at: Index) -> Elements:
        """Conditions of lanes: the bits of a predicate for lanes of `width` bytes; all true if there is none."""
        code, register = self.w.code, self.operands.get(name)
        if register is None:
            return self.always
        if isinstance(register.type, LogicalMask):
            count, bits = register.type.lanes, register.value
        else:
            count, wide = lanes_of(register.type, width), f"i{8 * width}"
            if register.full and width == register.full:
                return self.always
            bits = bits_as(code, register, many(count, wide))
            bits = code.value(f"trunc {many(count, wide)} {bits} to {many(count, 'i1')}")
        places = self._places(at, count, logical=isinstance(register.type, LogicalMask))
        return Elements(code, len(places), None, exact=shuffled(code, "i1", count, bits, places))

    def _places(self, at: Index, count: int, *, logical: bool) -> list[int]:
        """The lanes of an operand that belong to those of the domain; all of a logical one at the own place."""
        if at == OWN and count == 1:
            return [0] * self.lanes
        return list(range(count)) if at == OWN and logical else lanes_at(at, self.lanes)

    @property
    def always(self) -> Elements:
        """The condition that holds in all lanes."""
        return self.maker.condition(self.maker.same("i1", "true"))

    # --- values --------------------------------------------------------------------------------------------------

    def value(self, e: Expr) -> Elements:
        """An expression: lanes of the domain, of a fold into groups as many as there are."""
        found = self._values.get((e, self.lanes))
        if found is None:
            made = self._constant(e) or self._always(e) or self._between(e)
            made = made or (self._apart(e) if _slow(e, self.types) else None)
            made = made or inner(self.maker, e, self.types, self.value)
            found = self._values[e, self.lanes] = made or self._leaf(e)
        return found

    def _constant(self, e: Expr) -> Elements | None:
        """What only depends on the number of the lane."""
        if not isinstance(e, Apply):
            return None
        found = constant(e, self.lanes, self.types)
        if found is None:
            return None
        numbers = np.broadcast_to(found, self.lanes)
        of = dtype_of(e, self.types)
        if of is None:
            return self.maker.condition(_bits(numbers))
        return self.maker.narrow(of, constants(of, numbers.view(of.storage).tolist()))

    def _always(self, e: Expr) -> Elements | None:
        """A condition that the text shows to hold for all lanes: their numbers are less than a count that is left."""
        match e:
            case Apply("lt", (number, Scalar(name))):
                least, limits = constant(number, self.lanes, self.types), interval(self.w, self.step[name])
                if least is not None and limits is not None and limits[0] > int(least.max()):
                    return self.always
        return None

    def _between(self, e: Expr) -> Elements | None:
        """What lanes take from others."""
        match e:
            case Fetched():
                return self.fetched(e)
            case Taken(value, place):
                with self.domain(self._below(value)):
                    x = self.value(value)
                places = constant(place, self.lanes, self.types)
                if places is not None and x.dtype is not None:
                    numbers = (np.broadcast_to(places, self.lanes).astype(np.int64) % x.n).tolist()
                    kind = storage(x.dtype)
                    return self.maker.narrow(x.dtype, shuffled(self.w.code, kind, x.n, x.narrow, numbers))
                return between_lanes.taken(self.w, x, self.value(place))
            case Folded(op, value, where, groups, lanes):
                with self.domain(lanes or self._below(value)):
                    x, on = self.value(value), None if where is None else self.value(where)
                return self._spread(between_lanes.folded(self.w, op, x, on, groups))
            case Front(values, count):
                return between_lanes.front(self.w, self.lanes, count, [self.value(v) for v in values])
            case First(condition, dtype):
                return self._spread(between_lanes.first(self.w, self.value(condition), dtype))
            case Before(condition, dtype):
                return between_lanes.before(self.w, self.value(condition), dtype)
            case Counted(value, place, where, dtype, lanes, upto):
                with self.domain(lanes):
                    x, on = self.value(value), self.value(where)
                return between_lanes.counted(self.w, x, self.value(place), on, dtype, upto=upto)
        return None

    def _spread(self, x: Elements) -> Elements:
        """One value in all lanes; several stay as they are."""
        code = self.w.code
        if x.n > 1 or self.lanes == 1:
            return x
        if x.dtype is None:
            return self.maker.condition(spread(code, self.lanes, "i1", x.wide))
        return self.maker.narrow(x.dtype, spread(code, self.lanes, storage(x.dtype), x.narrow))

    def _leaf(self, e: Expr) -> Elements:
        code, m, n = self.w.code, self.maker, self.lanes
        match e:
            case Element(name, at, dtype):
                register, of = self.operands[name], dtype or self.types[name]
                count, kind = lanes_of(register.type, of.size), storage(of)
                x = bits_as(code, register, many(count, kind))
                places = self._places(at, count, logical=isinstance(register.type, LogicalVector))
                return Elements(code, len(places), of, narrow=shuffled(code, kind, count, x, places))
            case Bit(name, at, width):
                return self.active(name, width or lanes_of(None, n), at)
            case Scalar(name):
                found = type_of(e, self.types)
                assert isinstance(found, DType)
                text = scalar_element(self.w, self.step[name], found)
                if text.startswith("%"):
                    return m.narrow(found, spread(code, n, storage(found), text))
                return m.narrow(found, m.same(storage(found), text))
            case Stored():
                return self.loaded(e)
            case Place(of):
                return m.narrow(of, constants(of, range(n)))
            case Listed(numbers, of):
                values = listed(numbers if len(numbers) > 1 else numbers * n, of)[0]
                if not isinstance(of, DType):
                    return m.condition(_bits(values))
                return m.narrow(of, constants(of, values.view(of.storage).tolist()))
        raise TypeError(e)

    def _apart(self, e: Expr) -> Elements:
        """A primitive or conversion in a loop over pieces of the register, which lie in memory meanwhile."""
        code, of = self.w.code, type_of(e, self.types)
        assert isinstance(of, DType)
        below = [self.value(child) for child in children(e)]
        pointers = [
            code.scratch(many(self.lanes, storage(of))),
            *(between_lanes.in_memory(self.w, x)[0] for x in below),
        ]
        body, keys = _loop(self.w, e, self.types, below, of, self.lanes)
        tables = [self.w.table(*key) for key in keys] or ["null"]
        name = self.w.module.function(body)
        code.do(f"call void {name}({', '.join(f'ptr {p}' for p in (*pointers, *tables))})")
        return between_lanes.from_memory(self.w, self.lanes, of, pointers[0])


def _bits(values: np.ndarray) -> str:
    """Conditions as a vector."""
    shown = [str(bool(v)).lower() for v in values]
    if len(set(shown)) == 1 and len(shown) > 1:
        return f"splat (i1 {shown[0]})"
    return f"<{', '.join(f'i1 {v}' for v in shown)}>" if len(shown) > 1 else shown[0]


def _looked_up(op: str, of: DType) -> bool:
    return op in _TABLES and of.is_float and of.bits == 16


def _slow(e: Expr, types: Types) -> bool:
    """True for what is not written for all lanes at once."""
    if isinstance(e, Convert):
        source, target = dtype_of(e.value, types), dtype_of(e, types)
        return source is not None and target is not None and conversions.by_table(source, target)
    if not isinstance(e, Apply):
        return False
    of = type_of(e, types)
    if not isinstance(of, DType):
        return False
    return e.op in _SLOW or _looked_up(e.op, of) or (of.is_integer and e.op in ("div", "recip"))


def _loop(
    w: Writer, e: Expr, types: Types, below: list[Elements], of: DType, lanes: int
) -> tuple[str, list[tuple[Any, ...]]]:
    """A function that computes a node for all lanes of a register in memory, some at a time; the table it takes."""
    code, kinds = Code(), [x.dtype for x in below]
    n = min(lanes, max(1, _PIECE // max(kind.size for kind in (of, *kinds) if kind is not None)))
    while lanes % n:
        n -= 1
    keys: list[tuple[Any, ...]] = []

    def table(*key: Any) -> str:
        keys.append(key)
        return "%table"

    maker = Maker(code, n, w.module.need, table)
    with code.loop(lanes, n) as i:
        values: dict[int, Elements] = {}
        for k, (child, kind) in enumerate(zip(children(e), kinds)):
            assert kind is not None
            at = code.at(f"%x{k}", code.mul(i, kind.size))
            values[id(child)] = maker.narrow(kind, code.load(many(n, storage(kind)), at, kind.size))
        found = inner(maker, e, types, lambda child: values[id(child)])
        assert found is not None
        code.store(many(n, storage(of)), found.narrow, code.at("%to", code.mul(i, of.size)), of.size)
    code.leave("ret void")
    params = ", ".join(["ptr noalias %to", *(f"ptr %x{k}" for k in range(len(kinds))), "ptr %table"])
    return code.text(f"define internal void @{{name}}({params}) {{"), keys
