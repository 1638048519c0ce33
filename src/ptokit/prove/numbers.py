"""Numbers of a program that are Python's where they are known and z3's where they are not, and the solver.

What depends on data is `DATA`. Products and quotients of unknowns are solved as unknowns of their own, with lemmas:
that there is no solution is then certain, that there is one is not. Every question has a limit of work, never of
time, so that answers are the same on every machine; no answer within it counts as "maybe".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from ctypes import ArgumentError
from itertools import combinations
from typing import Any

import z3

from ptokit.isa.scalar.arithmetic import ARITHMETIC, reading
from ptokit.records import dataclass
from ptokit.types.codecs import width
from ptokit.types.values import Scalar

WORK = 3_000_000
"""What z3 may spend on a question, in its own units: about a second."""

STOPS = KeyboardInterrupt, ArgumentError
"""What Ctrl-C raises: the second one while z3 hands on an operand."""


class Exhausted(Exception):
    """As many questions have been asked as a proof may ask."""


Number = Any
"""An int, a bool, a z3 expression of integers or truths, or `DATA`."""


class _Data:
    def __repr__(self) -> str:
        return "data"


DATA = _Data()
"""A number, or a register, that only data decides."""

SYMBOLIC = z3.ExprRef


def is_number(value: Any) -> bool:
    """True of an integer, known or not."""
    return isinstance(value, z3.ArithRef) or (isinstance(value, int) and not isinstance(value, bool))


def is_truth(value: Any) -> bool:
    """True of a condition, known or not."""
    return isinstance(value, bool | z3.BoolRef)


def lifted(value: Number) -> Any:
    """As an expression."""
    if isinstance(value, z3.ExprRef):
        return value
    return z3.BoolVal(value) if isinstance(value, bool) else z3.IntVal(value)


def simple(value: Number) -> Number:
    """A number again where an expression has come to be known."""
    if not isinstance(value, z3.ExprRef):
        return value
    value = z3.simplify(value)
    if z3.is_int_value(value):
        return value.as_long()
    return True if z3.is_true(value) else False if z3.is_false(value) else value


def both(*parts: Number) -> Number:
    """All of some conditions."""
    return simple(z3.And(*map(lifted, parts)))


def either(*parts: Number) -> Number:
    """One of some conditions."""
    return simple(z3.Or(*map(lifted, parts)))


def negated(value: Number) -> Number:
    """The contrary of a condition."""
    return not value if isinstance(value, bool) else simple(z3.Not(value))


def same(a: Number, b: Number) -> bool:
    """True if two numbers are written alike."""
    if isinstance(a, z3.ExprRef) or isinstance(b, z3.ExprRef):
        return (is_number(a) or is_truth(a)) and (is_number(b) or is_truth(b)) and bool(lifted(a).eq(lifted(b)))
    return type(a) is type(b) and a == b


def key_of(value: Any) -> Any:
    """What tells numbers, and tuples of them, apart in a dictionary."""
    if isinstance(value, z3.ExprRef):
        return "z3", _kept(value)
    return tuple(map(key_of, value)) if isinstance(value, tuple) else value


_KEPT: dict[int, Any] = {}


def _kept(value: Any) -> int:
    """The number of an expression, which stays its own while it is kept."""
    number = value.get_id()
    _KEPT.setdefault(number, value)
    return number


def symbols(values: Iterable[Any]) -> dict[int, Any]:
    """The unknowns in expressions, by their numbers, in the order in which they are found."""
    found: dict[int, Any] = {}
    for value in values:
        if isinstance(value, z3.ExprRef):
            found |= _SYMBOLS.get(value.get_id()) or _symbols(value)
    return found


_SYMBOLS: dict[int, dict[int, Any]] = {}


def _symbols(value: Any) -> dict[int, Any]:
    found: dict[int, Any] = {}
    seen: set[int] = set()
    todo = [value]
    while todo:
        e = todo.pop()
        number = e.get_id()
        if number in seen:
            continue
        seen.add(number)
        if z3.is_const(e) and e.decl().kind() == z3.Z3_OP_UNINTERPRETED:
            found[_kept(e)] = e
        todo += e.children()[::-1]
    _SYMBOLS[_kept(value)] = found
    return found


def renamed(value: Number, pairs: Sequence[tuple[Any, Any]]) -> Number:
    """A number with other unknowns."""
    return z3.substitute(value, *pairs) if pairs and isinstance(value, z3.ExprRef) else value


FAR = 1 << 20
"""A multiple of all constants that sizes are rounded to."""


def is_long(e: Number) -> bool:
    """True of a number with cases or quotients."""
    if not isinstance(e, z3.ExprRef):
        return False
    return z3.is_app_of(e, z3.Z3_OP_ITE) or z3.is_app_of(e, z3.Z3_OP_IDIV) or any(map(is_long, e.children()))


# Arithmetic of steps.


Implied = Callable[[Number], bool]


def computed(name: str, given: Sequence[Number], attrs: Any, type: Any, implied: Implied) -> Number:
    """The result of an operation of `arith`, by full name; `DATA` where it is not followed.

    ``type``: that of the result; ``implied``: whether a condition holds here. Numbers are those of mathematics: that
    they stay within their types is an assumption that a proof names.
    """
    row = ARITHMETIC[name]
    if any(v is DATA for v in given) or (isinstance(type, Scalar) and type.is_float):
        return DATA
    does, reads = reading(row, _spelled(attrs.get("predicate", "")))
    if row.group == "cast":
        return _resized(given[0], reads, type, implied)
    if row.group == "chosen":
        condition, one, other = given
        if isinstance(condition, bool):
            return one if condition else other
        alike = (is_number(one) and is_number(other)) or (is_truth(one) and is_truth(other))
        return simple(z3.If(lifted(condition), lifted(one), lifted(other))) if alike else DATA
    if row.group not in ("binary", "compared") or len(given) != 2:
        return DATA
    a, b = given
    if is_truth(a) and is_truth(b):
        made = _TRUTHS.get(does)
        return DATA if made is None else simple(made(lifted(a), lifted(b)))
    if not (is_number(a) and is_number(b)):
        return DATA
    if reads == "unsigned" and not (_whole(a, implied) and _whole(b, implied)):
        return DATA
    return _combined(does, a, b, implied)


def _spelled(predicate: Any) -> str:
    return str(getattr(predicate, "value", predicate))


_TRUTHS: dict[str, Callable[[Any, Any], Any]] = {
    "and": z3.And,
    "or": z3.Or,
    "xor": z3.Xor,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": lambda a, b: z3.If(a < b, a, b),
    "max": lambda a, b: z3.If(a > b, a, b),
}


def _whole(a: Number, implied: Implied) -> bool:
    return a >= 0 if isinstance(a, int) else implied(a >= 0)


def _combined(does: str, a: Number, b: Number, implied: Implied) -> Number:
    made = _COMPARED.get(does)
    if made is not None:
        return simple(made(lifted(a), lifted(b)))
    if does in ("div", "fmod", "floordiv", "ceildiv"):
        return _divided(does, a, b, implied)
    if not isinstance(b, int) or b < 0:
        return DATA
    match does:
        case "and" if _field(b) and _whole(a, implied):
            unit = (b & -b) or 1
            exact = _quotient(a, unit)
            return simple((lifted(a) / unit if exact is None else lifted(exact)) % (b // unit + 1) * unit)
        case "or" | "xor" if isinstance(a, int) and a >= 0:
            return a | b if does == "or" else a ^ b
        case "or" if implied(lifted(a) % (1 << b.bit_length()) == 0):
            return simple(lifted(a) + b)
        case "xor" if b == 1 and implied(both(lifted(a) >= 0, lifted(a) <= 1)):
            return simple(1 - lifted(a))
        case "shl" if b < 63:
            return simple(lifted(a) * (1 << b))
        case "shr" if b < 63 and (exact := _quotient(a, 1 << b)) is not None:
            return exact
        case "shr" if b < 63 and _whole(a, implied):
            return simple(lifted(a) / (1 << b))
    return DATA


def _field(mask: int) -> bool:
    """True if the ones of a mask are side by side."""
    above = mask + (mask & -mask)
    return above & mask == 0


def _quotient(a: Number, by: int) -> Number | None:
    """A sum of multiples of a number, divided by it: shifts to the left and back extend a sign."""
    total, found = z3.simplify(lifted(a), som=True), []
    for term in total.children() if z3.is_add(total) else [total]:
        first, *rest = term.children() if z3.is_mul(term) else [term]
        if not z3.is_int_value(first) or first.as_long() % by:
            return None
        found.append(z3.Product(z3.IntVal(first.as_long() // by), *rest))
    return simple(z3.Sum(*found))


def _divided(does: str, a: Number, b: Number, implied: Implied) -> Number:
    """z3 rounds down where the divisor is positive."""
    if not (b > 0 if isinstance(b, int) else implied(b > 0)):
        return DATA
    x, y = lifted(a), lifted(b)
    if does == "floordiv":
        return simple(x / y)
    if does == "ceildiv":
        return simple((x + y - 1) / y)
    if _whole(a, implied):
        return simple(x / y if does == "div" else x % y)
    if does == "div":
        return simple(z3.If(x >= 0, x / y, -((-x) / y)))
    return simple(z3.If(x >= 0, x % y, -((-x) % y)))


def _resized(a: Number, reads: str, type: Any, implied: Implied) -> Number:
    if not isinstance(type, Scalar) or not type.is_integer:
        return DATA
    if type.name == "i1":
        return a if is_truth(a) else DATA
    if is_truth(a):
        return simple(z3.If(lifted(a), z3.IntVal(-1 if reads == "signed" else 1), z3.IntVal(0)))
    if not is_number(a):
        return DATA
    if reads == "unsigned" and not _whole(a, implied):
        return DATA
    bits = 64 if type.name == "index" else width(type.name)
    fits = both(lifted(a) >= -(1 << bits - 1), lifted(a) < (1 << bits - 1))
    return a if (fits if isinstance(fits, bool) else bits >= 32 or implied(fits)) else DATA


# The solver.


@dataclass(frozen=True, slots=True)
class Answer:
    """``none``: there is certainly no solution. ``model``: one, if there is one and it is sure."""

    none: bool
    model: Any = None


class Solver:
    """Answers questions about conditions, each once. ``asked``: how many have been solved, at most ``most``."""

    def __init__(self) -> None:
        self.asked = 0
        self.most: int | None = None
        self._known: dict[Any, Answer] = {}
        self._simplified: dict[int, tuple[Any, Any]] = {}  # by number, an expression and a simpler one
        self._plain: dict[int, tuple[Any, bool]] = {}

    def solve(self, facts: Iterable[Number], *, model: bool = False) -> Answer:
        """Whether all `facts` can hold at once; with ``model`` what the unknowns are then, if z3 can tell."""
        given = {_kept(f): f for f in (lifted(f) for f in facts if f is not True)}
        key = (frozenset(given), model)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._solved([*given.values()], model)
        return known

    def _solved(self, given: list[Any], model: bool) -> Answer:
        if self.asked == self.most:
            raise Exhausted(f"the limit of {self.most} questions was reached before this was decided")
        self.asked += 1
        linear = _Linear(self._plain)
        made = [linear.of(self._simpler(f)) for f in given]
        solver = _fresh()
        solver.add(*made, *linear.lemmas())
        found = solver.check()
        if found == z3.unsat:
            return Answer(True)
        if not model:
            return Answer(False)
        if linear.exact:
            return Answer(False, solver.model() if found == z3.sat else None)
        solver = _fresh()
        solver.add(*given)
        found = solver.check()
        return Answer(found == z3.unsat, solver.model() if found == z3.sat else None)

    def _simpler(self, f: Any) -> Any:
        number = f.get_id()
        if number not in self._simplified:
            self._simplified[number] = f, z3.simplify(f)
        return self._simplified[number][1]

    def possible(self, facts: Iterable[Number]) -> bool:
        """False only if the facts cannot hold at once."""
        return not self.solve(facts).none

    def implied(self, facts: Sequence[Number], goal: Number) -> bool:
        """True if `goal` certainly follows from the facts."""
        goal = simple(goal)
        return goal if isinstance(goal, bool) else self.solve([*facts, z3.Not(goal)]).none


def _fresh() -> Any:
    solver = z3.Solver()
    solver.set("rlimit", WORK)
    solver.set("random_seed", 0)
    solver.set("ctrl_c", False)  # Python hears it, when the question is answered
    return solver


class _Linear:
    """Expressions in which products and quotients of unknowns are unknowns.

    ``plain``: by number, an expression and whether it has none of these, which stays from question to question.
    """

    def __init__(self, plain: dict[int, tuple[Any, bool]]) -> None:
        self._plain = plain
        self._made: dict[int, Any] = {}
        self._products: dict[tuple[int, ...], tuple[Any, list[Any]]] = {}
        self._quotients: list[Any] = []
        self._keep: list[Any] = []

    @property
    def exact(self) -> bool:
        """True if nothing had to be taken as an unknown."""
        return not (self._products or self._quotients)

    def of(self, e: Any) -> Any:
        """The expression as it is solved."""
        if self._is_plain(e):
            return e
        number = e.get_id()
        made = self._made.get(number)
        if made is None:
            self._keep.append(e)
            made = self._made[number] = self._of(e, [self.of(c) for c in e.children()])
        return made

    def _is_plain(self, e: Any) -> bool:
        known = self._plain.get(e.get_id())
        if known is not None:
            return known[1]
        parts = e.children()
        plain = all(map(self._is_plain, parts))
        if z3.is_mul(e):
            plain = plain and sum(not z3.is_int_value(part) for part in parts) < 2
        elif parts and e.decl().kind() in (z3.Z3_OP_IDIV, z3.Z3_OP_MOD):
            plain = plain and z3.is_int_value(parts[1])
        self._plain[e.get_id()] = e, plain
        return plain

    def _of(self, e: Any, parts: list[Any]) -> Any:
        if z3.is_mul(e):
            return self._product(parts)
        if z3.is_app(e) and e.decl().kind() in (z3.Z3_OP_IDIV, z3.Z3_OP_MOD) and not z3.is_int_value(parts[1]):
            x, by = parts
            quotient = z3.Int(f"quotient!{x.get_id()}_{by.get_id()}")
            self._keep.append((x, by))
            whole = self._product([quotient, by])
            self._quotients.append(z3.Implies(by >= 1, z3.And(whole <= x, x < whole + by)))
            self._quotients.append(z3.Implies(z3.And(by >= 1, x >= 0), quotient >= 0))
            few = [z3.Implies(quotient == n, whole == n * by) for n in (0, 1)]
            self._quotients += [*few, z3.Implies(z3.And(by >= 1, quotient >= 2), whole >= 2 * by)]
            return quotient if e.decl().kind() == z3.Z3_OP_IDIV else x - whole
        if not parts:
            return e
        many = next((made for asks, made in _MANY if asks(e)), None)
        return e.decl()(*parts) if many is None else many(*parts)

    def _product(self, factors: list[Any]) -> Any:
        """Multiplied out, so that each product is one of unknowns alone."""
        for i, f in enumerate(factors):
            rest, parts = factors[:i] + factors[i + 1 :], f.children()
            if z3.is_add(f):
                return z3.Sum(*[self._product([*rest, part]) for part in parts])
            if z3.is_sub(f):
                return self._product([*rest, parts[0]]) - z3.Sum(*[self._product([*rest, p]) for p in parts[1:]])
            if z3.is_mul(f):
                return self._product([*rest, *parts])
            if z3.is_app(f) and f.decl().kind() == z3.Z3_OP_UMINUS:
                return -self._product([*rest, parts[0]])
        constant = 1
        unknown = []
        for f in factors:
            if z3.is_int_value(f):
                constant *= f.as_long()
            else:
                unknown.append(f)
        if len(unknown) < 2:
            return constant * unknown[0] if unknown else z3.IntVal(constant)
        unknown.sort(key=lambda f: f.get_id())
        key = tuple(f.get_id() for f in unknown)
        if key not in self._products:
            self._products[key] = (z3.Int(f"product!{'_'.join(map(str, key))}"), unknown)
            self._keep.append(unknown)
        return constant * self._products[key][0]

    def lemmas(self) -> list[Any]:
        """What is true of unknowns that are products and quotients."""
        found = list(self._quotients)
        products = list(self._products.values())
        for product, factors in products:
            if len(factors) == 2:
                for a, b in (factors, factors[::-1]):
                    found.append(z3.Implies(z3.And(a >= 1, b >= 0), product >= b))
                    found.append(z3.Implies(z3.And(a >= 1, b <= -1), product <= -a))
                    found += [z3.Implies(b == 0, product == 0), z3.Implies(b == 1, product == a)]
        for (v, f), (w, h) in combinations(products, 2):
            found += _compared(v, f, w, h)
        return found


def _compared(v: Any, f: list[Any], w: Any, h: list[Any]) -> list[Any]:
    """Two products of two unknowns that share one of them."""
    if len(f) != 2 or len(h) != 2:
        return []
    for common, a in (f, f[::-1]):
        for other, b in (h, h[::-1]):
            if common.eq(other) and not a.eq(b):
                apart = z3.Or(z3.And(a < b, v + common <= w), z3.And(b < a, w + common <= v), z3.And(a == b, v == w))
                return [z3.Implies(common >= 1, apart)]
    return []


_MANY: tuple[tuple[Callable[[Any], bool], Callable[..., Any]], ...] = (
    (z3.is_and, z3.And),
    (z3.is_or, z3.Or),
    (z3.is_add, z3.Sum),
    (z3.is_distinct, z3.Distinct),
)
