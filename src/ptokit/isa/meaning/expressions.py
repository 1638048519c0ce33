"""Expressions of one element: what an instruction computes at row i and column j of its domain.

An expression is a tree of frozen nodes. Leaves read elements of operands (`Element`, `Bit`), number operands (`Scalar`)
and constants (`Const`); inner nodes apply a primitive of `ptokit.isa.meaning.primitives` (`Apply`) or convert between
element types (`Convert`). Nothing in it is code: the NumPy executor, a native backend, the footprint and the sentence
of the reference are written from the same tree.

Types. Every node has one type, an element type or `BOOL`, given by `type_of`. All arguments of an `Apply` have the same
element type (those of ``select`` after its condition); nothing converts by itself. Each `Apply` rounds, or wraps, to
its type before the next node sees the value: ``a * b + c`` of f16 is rounded twice, and is never contracted.

Elements of types without arithmetic (hif8, e2m1, e1m2, int4) are codes: they can be copied and converted only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ptokit.records import dataclass
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import RoundMode

from .primitives import PRIMITIVES

# Places --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Extent:
    """A size that operands decide: ``vr``, ``vc`` (valid), ``rows`` or ``cols`` (physical) of operand `operand`.

    ``value`` is the number that a scalar operand holds.
    """

    operand: str
    what: str


@dataclass(frozen=True, slots=True)
class Least:
    """The least of several sizes."""

    sizes: tuple[int | Extent | Up, ...]


@dataclass(frozen=True, slots=True)
class Up:
    """A size rounded up to a multiple of `step`."""

    size: Extent
    step: int


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of the numbers that scalar operands hold, `times` times; operands that are absent count as 0."""

    operands: tuple[str, ...]
    times: int = 1


Count = int | Extent | Least | Up | Sum


@dataclass(frozen=True, slots=True)
class Axis:
    """A row or column in terms of the place (r, c) of the domain: ``floor((i * r + j * c + plus) / over) mod cycle``.

    ``cycle`` 0 means that nothing is taken modulo.
    """

    i: int = 0
    j: int = 0
    plus: Count = 0
    cycle: Count = 0
    over: int = 1


@dataclass(frozen=True, slots=True)
class Index:
    """Which element of an operand belongs to place (i, j) of the domain."""

    row: Axis
    col: Axis


OWN = Index(Axis(i=1), Axis(j=1))
"""[i,j]: of a tile its element at the same place, of a register its lane."""
COLUMN = Index(Axis(i=1), Axis())
"""[i,0]: the tile is a column vector."""
ROW = Index(Axis(), Axis(j=1))
"""[0,j]: the tile is a row vector."""
TURNED = Index(Axis(j=1), Axis(i=1))
"""[j,i]: the tile is transposed."""


def lane(j: int = 1, plus: int = 0, *, over: int = 1, cycle: int = 0) -> Index:
    """A lane of a register, or an element of memory, in terms of the lane of the domain (see `Axis`)."""
    return Index(Axis(), Axis(0, j, plus, cycle, over))


def lanes_at(at: Index, count: int, pitch: int = 0) -> list[int]:
    """The lanes that belong to the lanes 0 … `count` - 1 of a domain; ``pitch``: elements from one row to the next."""
    return [pitch * _along(at.row, j) + _along(at.col, j) for j in range(count)]


def _along(axis: Axis, j: int) -> int:
    assert isinstance(axis.plus, int)
    assert isinstance(axis.cycle, int)
    place = (axis.j * j + axis.plus) // axis.over
    return place % axis.cycle if axis.cycle else place


# Nodes ---------------------------------------------------------------------------------------------------------------

_COUNT = DTYPES["u16"]
BOOL = "bool"
"""The type of a condition: true or false, not an element type."""

ValueType = DType | str


class Expr:
    """A node. Operators make `Apply` nodes; numbers become constants of the type of the other operand."""

    __slots__ = ()

    def __add__(self, other: Operand) -> Expr:
        return apply("add", self, other)

    def __sub__(self, other: Operand) -> Expr:
        return apply("sub", self, other)

    def __mul__(self, other: Operand) -> Expr:
        return apply("mul", self, other)

    def __and__(self, other: Operand) -> Expr:
        return apply("and", self, other)

    def __or__(self, other: Operand) -> Expr:
        return apply("or", self, other)

    def __xor__(self, other: Operand) -> Expr:
        return apply("xor", self, other)

    def __lshift__(self, other: Operand) -> Expr:
        return apply("shl", self, other)

    def __rshift__(self, other: Operand) -> Expr:
        return apply("shr", self, other)

    def __neg__(self) -> Expr:
        return apply("neg", self)

    def __invert__(self) -> Expr:
        return apply("not", self)

    def __abs__(self) -> Expr:
        return apply("abs", self)


Operand = Expr | int | float


@dataclass(frozen=True, slots=True)
class Element(Expr):
    """An element of the tile, register or view `name`, in its own element type.

    ``dtype``: that of the lanes as which the bytes of a register are read, where they are not its own.
    """

    name: str
    at: Index = OWN
    dtype: DType | None = None


@dataclass(frozen=True, slots=True)
class Bit(Expr):
    """A condition of operand `name`: of a tile the bit j % 8 of byte j // 8 of row i, of a predicate the lane's bit.

    ``width``: bytes of the lanes of a predicate, where those are not the lanes of the domain.
    """

    name: str
    at: Index = OWN
    width: int = 0


@dataclass(frozen=True, slots=True)
class Stored(Expr):
    """An element of on-chip memory: among those of type `dtype` after a pointer and an offset the one at place `at`.

    `name` and `offset` are operands; the offset counts elements of the pointer's type, or `unit` bytes where that is
    not 0, and may be absent. A row of `at` has `pitch` elements. All `span` bytes have to lie in the memory, from a
    multiple of `alignment` bytes on (rule `rule`).
    """

    name: str
    dtype: DType
    span: int
    alignment: int
    at: Index = ROW
    offset: str = "offset"
    pitch: int = 0
    unit: int = 0
    rule: str = "VEC-A5-03"


@dataclass(frozen=True, slots=True)
class Place(Expr):
    """The number j of the lane of the domain, in the type `dtype`."""

    dtype: DType


@dataclass(frozen=True, slots=True)
class Held(Expr):
    """The number that register `name` of the machine holds, in the type `dtype`; 0 until an instruction sets it."""

    name: str
    dtype: DType


@dataclass(frozen=True, slots=True)
class Scalar(Expr):
    """The number operand `name`, in the element type `like` (or of that operand): integers wrap, floats round once."""

    name: str
    like: str | DType


@dataclass(frozen=True, slots=True)
class Const(Expr):
    """A number in the type of the expression `like`, which is not evaluated."""

    value: int | float
    like: Expr


@dataclass(frozen=True, slots=True)
class Code(Expr):
    """The bit pattern `bits` of one element of the type of operand `like`."""

    bits: int
    like: str


@dataclass(frozen=True, slots=True)
class Apply(Expr):
    """A primitive of `primitives.PRIMITIVES`, by name."""

    op: str
    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Convert(Expr):
    """`value` in the type `to`: one rounding by `rounding`, then saturation, or wrapping of integers.

    What it gives for every pair of different types, mode and special value is `numerics.unary.converted`: NaN becomes
    0 in an integer; without `saturate` an integer keeps its low bits (+inf all ones, -inf 0) and a float overflows as
    the rounding mode says. ``to`` may be the name of an operand: its element type.
    """

    value: Expr
    to: DType | str
    rounding: RoundMode = RoundMode.RINT
    saturate: bool = False


@dataclass(frozen=True, slots=True)
class Reinterpret(Expr):
    """The bits of `value` as an element of the type `to`, which has the same width (or the name of an operand)."""

    value: Expr
    to: DType | str


@dataclass(frozen=True, slots=True)
class Thread(Expr):
    """What a thread of the SIMT unit asks about itself, in the type `dtype`.

    ``tid`` and ``size`` (of the launch) along `axis`; ``lane`` (in the warp), ``place`` (in the launch), ``core`` (of
    vector cores), ``clock``; ``active`` is a condition: it executes the operation.
    """

    what: str
    dtype: DType | str
    axis: int = 0


@dataclass(frozen=True, slots=True)
class Listed(Expr):
    """A number of a list by the number of the lane, or the only one in all lanes, in the type `dtype` (or `BOOL`)."""

    numbers: tuple[int | float, ...]
    dtype: DType | str


@dataclass(frozen=True, slots=True)
class Once(Expr):
    """Two numbers added, subtracted or multiplied exactly, and rounded to type `to` as `Convert` does it.

    They may have different types, of at most 32 bits. With `saturate` NaN becomes 0 in a float, too.
    """

    op: str
    args: tuple[Expr, Expr]
    to: DType | str
    rounding: RoundMode = RoundMode.RINT
    saturate: bool = False


@dataclass(frozen=True, slots=True)
class Coordinate(Expr):
    """The number of the row or the column of the place of a tile (`axis`), in the type `dtype`."""

    axis: str
    dtype: DType | str


# Between lanes -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fetched(Expr):
    """Elements of on-chip memory at computed places after a pointer and an offset; 0 where `where` does not hold.

    ``place`` counts `unit` bytes, or where that is 0 elements. From each place on `run` elements are taken, so that
    the domain of `place` and `where` has as many lanes as there are places. Places are multiples of `alignment` bytes,
    or where that is 0 of an element.
    """

    name: str
    dtype: DType
    place: Expr
    where: Expr | None = None
    offset: str = ""
    unit: int = 0
    run: int = 1
    alignment: int = 0


@dataclass(frozen=True, slots=True)
class Taken(Expr):
    """Of the lanes of `value` the one whose number is `place`, modulo their number."""

    value: Expr
    place: Expr


@dataclass(frozen=True, slots=True)
class Front(Expr):
    """The first `count` lanes of each value, one value after the other, and 0 in the lanes after them."""

    values: tuple[Expr, ...]
    count: int = 1


@dataclass(frozen=True, slots=True)
class First(Expr):
    """The number of the first lane that meets a condition, as a number of type `dtype`; 0 if none does."""

    condition: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Before(Expr):
    """How many of the lanes before the own one meet a condition, as a number of type `dtype`."""

    condition: Expr
    dtype: DType


@dataclass(frozen=True, slots=True)
class Folded(Expr):
    """The lanes of each of `groups` groups folded to one value by the primitive `op`: lane g has that of group g.

    Lanes where `where` does not hold take no part; of none the value is 0, or the least or greatest number of the type.
    Sums of floats have the order `orders.Order.NEIGHBOURS`, each rounded to their type, with +0 from lanes that take no
    part; in other folds the order does not matter. Conditions are folded by ``and`` and ``or``. One group has its value
    in every lane. Of threads the groups are warps, and all of one have its value. ``lanes``: of `value`, where the
    domain has another number of them.
    """

    op: str
    value: Expr
    where: Expr | None = None
    groups: int = 1
    lanes: int = 0


@dataclass(frozen=True, slots=True)
class Counted(Expr):
    """How many of the `lanes` lanes of `value` equal the number `at` of the own lane, or with `upto` are at most it.

    Lanes where `where` does not hold do not count. Values are numbers of 8 bits without a sign.
    """

    value: Expr
    at: Expr
    where: Expr
    dtype: DType
    lanes: int
    upto: bool = False


# Making them ---------------------------------------------------------------------------------------------------------


def apply(op: str, *args: Operand) -> Expr:
    """The primitive `op` of expressions and numbers, at least one of them an expression."""
    like = next(a for a in reversed(args) if isinstance(a, Expr))
    return Apply(op, tuple(a if isinstance(a, Expr) else Const(a, like) for a in args))


def _named(op: str) -> Callable[..., Expr]:
    return lambda *args: apply(op, *args)


divide, fmod, floor_mod, maximum, minimum = map(_named, ("div", "fmod", "floormod", "max", "min"))
popcount, sign_bits, fused = map(_named, ("popcount", "signbits", "fma"))
exp, log, sqrt, rsqrt, recip = map(_named, ("exp", "log", "sqrt", "rsqrt", "recip"))
equal, unequal, less, less_equal, greater, greater_equal = map(_named, ("eq", "ne", "lt", "le", "gt", "ge"))
select = _named("select")

# Asking --------------------------------------------------------------------------------------------------------------


def children(e: Expr) -> tuple[Expr, ...]:
    """The nodes that are evaluated for this one."""
    match e:
        case Apply(_, args) | Front(args) | Once(_, args):
            return args
        case Convert(value) | Reinterpret(value) | Before(value) | First(value):
            return (value,)
        case Counted(value, at, where):
            return value, at, where
        case Fetched(_, _, place, where) | Taken(place, where) | Folded(_, place, where):
            return (place,) if where is None else (place, where)
    return ()


_MOST = 4096  # expressions that are remembered
_LEAVES: dict[int, tuple[Expr, tuple[Expr, ...]]] = {}
"""By identity, which is faster to find than an expression by what it says; expressions live as long as the table."""


def leaves(e: Expr) -> Iterator[Expr]:
    """The leaves that are evaluated, each once, in the order in which they stand."""
    known = _LEAVES.get(id(e))
    if known is None:
        seen: dict[Expr, None] = {}

        def visit(node: Expr) -> None:
            below = children(node)
            if not below and not isinstance(node, (Const, Code, Place, Coordinate, Held, Listed, Thread)):
                seen.setdefault(node)
            for child in below:
                visit(child)

        visit(e)
        known = e, tuple(seen)
        if len(_LEAVES) < _MOST:
            _LEAVES[id(e)] = known
    return iter(known[1])


def fetches(e: Expr) -> bool:
    """True if memory is read at computed places."""
    return isinstance(e, Fetched) or any(map(fetches, children(e)))


def type_of(e: Expr, types: Mapping[str, DType]) -> ValueType:
    """The type of a node; `types` has the element type of every tile, register and view operand by name."""
    match e:
        case Element(name, _, dtype):
            return dtype or types[name]
        case Bit():
            return BOOL
        case Scalar(_, like) | Code(_, like):
            return types[like] if isinstance(like, str) else like
        case Stored(_, dtype) | Fetched(_, dtype) | Held(_, dtype) | Before(_, dtype) | First(_, dtype) | Place(dtype):
            return dtype
        case Counted(_, _, _, kind) | Listed(_, kind) | Thread(_, kind):
            return kind
        case Taken(value) | Folded(_, value):
            return type_of(value, types)
        case Const(_, like_expr):
            return type_of(like_expr, types)
        case Convert(_, to) | Reinterpret(_, to) | Once(_, _, to) | Coordinate(_, to):
            return types[to] if isinstance(to, str) else to
        case Front(values):
            return type_of(values[0], types)
        case Apply(op, args):
            return BOOL if PRIMITIVES[op].gives_condition else type_of(args[-1], types)
    raise TypeError(e)
