"""The native form of every primitive of `ptokit.isa.meaning.primitives`, for one or several elements at once.

A value is `Elements`: as it lies in memory, or in the type that is computed with, whichever is wanted. f16 and bf16 are
computed in f32 and rounded once after every primitive.
"""

from __future__ import annotations

from collections.abc import Callable

from ptokit.isa.meaning.primitives import INTEGRAL, PRIMITIVES
from ptokit.types.dtypes import DType

from . import maths
from .code import Code, computed, double, float_of, fused, many, narrowed, same, storage, widened
from .maths import round_many


class Elements:
    """`n` values of one element type, or conditions (no type). ``exact``: what is still to be rounded to the type."""

    def __init__(
        self, code: Code, n: int, dtype: DType | None, *, narrow: str | None = None, exact: str | None = None
    ) -> None:
        self.code, self.n, self.dtype = code, n, dtype
        self._narrow, self._exact = narrow, exact
        self._wide: str | None = None

    @property
    def narrow(self) -> str:
        """The elements in the type that memory has."""
        if self._narrow is None:
            assert self._exact is not None
            assert self.dtype is not None
            self._narrow = narrowed(self.code, self.n, self.dtype, self._exact)
        return self._narrow

    @property
    def wide(self) -> str:
        """The elements in the type that they are computed in."""
        if self._wide is None:
            if self.dtype is None:
                assert self._exact is not None
                self._wide = self._exact
            else:
                self._wide = widened(self.code, self.n, self.dtype, self.narrow)
        return self._wide


class Maker:
    """Makes code for primitives."""

    def __init__(self, code: Code, n: int, need: Callable[[str, str], None], tables: Callable[..., str]):
        self.code, self.n, self.need, self.tables = code, n, need, tables

    def type(self, name: str) -> str:
        return many(self.n, name)

    def same(self, type: str, value: object) -> str:
        return same(self.n, type, value)

    def value(self, text: str) -> str:
        return self.code.value(text)

    def narrow(self, dtype: DType, register: str) -> Elements:
        return Elements(self.code, self.n, dtype, narrow=register)

    def wide(self, dtype: DType, register: str) -> Elements:
        return Elements(self.code, self.n, dtype, exact=register)

    def constant(self, dtype: DType, bits: int) -> Elements:
        """The element with these bits."""
        if dtype.name == "f32":
            return self.narrow(dtype, self.same("float", float_of(bits)))
        return self.narrow(dtype, self.same(storage(dtype), bits))

    def condition(self, register: str) -> Elements:
        return Elements(self.code, self.n, None, exact=register)

    def apply(self, name: str, dtype: DType | None, args: list[Elements]) -> Elements:
        """A primitive on elements of one type (after the condition of ``select``), or on conditions."""
        if dtype is None:
            return self.condition(_OF_CONDITIONS[name](self, *(a.wide for a in args)))
        return _FORMS[name](self, dtype, *args)


def known(name: str, dtype: DType | None) -> bool:
    """True if there is a native form for an element type, or for conditions (None)."""
    if dtype is None:
        return name in _OF_CONDITIONS
    if name not in _FORMS or dtype.name not in _TYPES:
        return False
    if name in _FUNCTIONS and dtype.is_integer:
        return name == "recip"
    if dtype.is_integer:
        return PRIMITIVES[name].for_integers and name not in INTEGRAL.values()
    return PRIMITIVES[name].for_floats


_TYPES = frozenset("f32 f16 bf16 i8 u8 i16 u16 i32 u32 i64 u64".split())
_FUNCTIONS = frozenset(("exp", "log", "sqrt", "rsqrt", "recip"))

Form = Callable[..., Elements]


def _binary(integer: str, floating: str) -> Form:
    def form(m: Maker, dtype: DType, a: Elements, b: Elements) -> Elements:
        if dtype.is_float:
            return m.wide(dtype, m.value(f"{floating} {m.type(computed(dtype))} {a.wide}, {b.wide}"))
        return m.narrow(dtype, m.value(f"{integer} {m.type(storage(dtype))} {a.narrow}, {b.narrow}"))

    return form


def _bits(word: str) -> Form:
    return lambda m, dtype, a, b: m.narrow(dtype, m.value(f"{word} {m.type(storage(dtype))} {a.narrow}, {b.narrow}"))


def _divide(m: Maker, dtype: DType, a: Elements, b: Elements) -> Elements:
    if dtype.is_float:
        return m.wide(dtype, m.value(f"fdiv {m.type(computed(dtype))} {a.wide}, {b.wide}"))
    t = storage(dtype)
    v, c = m.type(t), m.type("i1")
    zero = m.value(f"icmp eq {v} {b.narrow}, {m.same(t, 0)}")
    if not dtype.signed:
        safe = m.value(f"select {c} {zero}, {v} {m.same(t, 1)}, {v} {b.narrow}")
        quotient = m.value(f"udiv {v} {a.narrow}, {safe}")
    else:
        minus = m.value(f"icmp eq {v} {b.narrow}, {m.same(t, -1)}")
        unsafe = m.value(f"or {c} {zero}, {minus}")
        safe = m.value(f"select {c} {unsafe}, {v} {m.same(t, 1)}, {v} {b.narrow}")
        plain = m.value(f"sdiv {v} {a.narrow}, {safe}")
        negated = m.value(f"sub {v} {m.same(t, 0)}, {a.narrow}")
        quotient = m.value(f"select {c} {minus}, {v} {negated}, {v} {plain}")
    return m.narrow(dtype, m.value(f"select {c} {zero}, {v} {m.same(t, 0)}, {v} {quotient}"))


def _integer_rest(m: Maker, dtype: DType, a: Elements, b: Elements) -> tuple[str, str]:
    """The remainder toward zero, 0 for a divisor 0; and LLVM's type."""
    t = storage(dtype)
    v, c = m.type(t), m.type("i1")
    unsafe = m.value(f"icmp eq {v} {b.narrow}, {m.same(t, 0)}")
    if dtype.signed:
        minus = m.value(f"icmp eq {v} {b.narrow}, {m.same(t, -1)}")
        unsafe = m.value(f"or {c} {unsafe}, {minus}")
    safe = m.value(f"select {c} {unsafe}, {v} {m.same(t, 1)}, {v} {b.narrow}")
    rest = m.value(f"{'srem' if dtype.signed else 'urem'} {v} {a.narrow}, {safe}")
    return m.value(f"select {c} {unsafe}, {v} {m.same(t, 0)}, {v} {rest}"), t


def _fmod(m: Maker, dtype: DType, a: Elements, b: Elements) -> Elements:
    if dtype.is_float:
        return m.wide(dtype, m.value(f"frem {m.type(computed(dtype))} {a.wide}, {b.wide}"))
    return m.narrow(dtype, _integer_rest(m, dtype, a, b)[0])


def _rounded_quotient(up: bool) -> Form:
    """The quotient toward zero, and one more or less where something is left on that side."""

    def form(m: Maker, dtype: DType, a: Elements, b: Elements) -> Elements:
        quotient, (rest, t) = _divide(m, dtype, a, b), _integer_rest(m, dtype, a, b)
        v, c = m.type(t), m.type("i1")
        beyond = m.value(f"icmp ne {v} {rest}, {m.same(t, 0)}")
        if dtype.signed:
            signs = m.value(f"xor {v} {rest}, {b.narrow}")
            test = f"sgt {v} {signs}, {m.same(t, -1)}" if up else f"slt {v} {signs}, {m.same(t, 0)}"
            beyond = m.value(f"and {c} {beyond}, {m.value(f'icmp {test}')}")
        elif not up:
            return quotient
        step = m.value(f"zext {c} {beyond} to {v}")
        return m.narrow(dtype, m.value(f"{'add' if up else 'sub'} {v} {quotient.narrow}, {step}"))

    return form


def _high_half(m: Maker, dtype: DType, a: Elements, b: Elements) -> Elements:
    v, wide = m.type(storage(dtype)), f"i{2 * dtype.bits}"
    w = m.type(wide)
    x, y = (m.value(f"{'sext' if dtype.signed else 'zext'} {v} {e.narrow} to {w}") for e in (a, b))
    above = m.value(f"lshr {w} {m.value(f'mul {w} {x}, {y}')}, {m.same(wide, dtype.bits)}")
    return m.narrow(dtype, m.value(f"trunc {w} {above} to {v}"))


def _carry(m: Maker, dtype: DType, a: Elements, b: Elements) -> Elements:
    v = m.type(storage(dtype))
    more = m.value(f"icmp ult {v} {m.value(f'add {v} {a.narrow}, {b.narrow}')}, {a.narrow}")
    return m.narrow(dtype, m.value(f"zext {m.type('i1')} {more} to {v}"))


def _floor_mod(m: Maker, dtype: DType, a: Elements, b: Elements) -> Elements:
    c = m.type("i1")
    if dtype.is_float:
        f, i = m.type("float"), m.type("i32")
        r = m.wide(dtype, m.value(f"frem {f} {a.wide}, {b.wide}"))
        moved = m.wide(dtype, m.value(f"fadd {f} {r.wide}, {b.wide}"))
        bits = [m.value(f"bitcast {f} {x.wide} to {i}") for x in (r, b)]
        unlike = m.value(f"icmp slt {i} {m.value(f'xor {i} {bits[0]}, {bits[1]}')}, {m.same('i32', 0)}")
        nonzero = m.value(f"fcmp une {f} {r.wide}, {m.same('float', double(0.0))}")
        both = m.value(f"and {c} {unlike}, {nonzero}")
        t = m.type(storage(dtype))
        return m.narrow(dtype, m.value(f"select {c} {both}, {t} {moved.narrow}, {t} {r.narrow}"))
    rest, t = _integer_rest(m, dtype, a, b)
    if not dtype.signed:
        return m.narrow(dtype, rest)
    v = m.type(t)
    unlike = m.value(f"icmp slt {v} {m.value(f'xor {v} {rest}, {b.narrow}')}, {m.same(t, 0)}")
    nonzero = m.value(f"icmp ne {v} {rest}, {m.same(t, 0)}")
    both = m.value(f"and {c} {unlike}, {nonzero}")
    return m.narrow(dtype, m.value(f"select {c} {both}, {v} {m.value(f'add {v} {rest}, {b.narrow}')}, {v} {rest}"))


def _extreme(larger: bool) -> Form:
    def form(m: Maker, dtype: DType, a: Elements, b: Elements) -> Elements:
        c = m.type("i1")
        if dtype.is_integer:
            t = m.type(storage(dtype))
            word = ("s" if dtype.signed else "u") + ("max" if larger else "min")
            suffix = f"{'v' + str(m.n) if m.n > 1 else ''}i{8 * dtype.size}"
            return m.narrow(dtype, m.value(f"call {t} @llvm.{word}.{suffix}({t} {a.narrow}, {t} {b.narrow})"))
        f, i = m.type(computed(dtype)), m.type("i64" if dtype.bits == 64 else "i32")
        x, y = a.wide, b.wide
        first = m.value(f"fcmp {'ogt' if larger else 'olt'} {f} {x}, {y}")
        chosen = m.value(f"select {c} {first}, {f} {x}, {f} {y}")
        bits = [m.value(f"bitcast {f} {z} to {i}") for z in (x, y)]
        word = "and" if larger else "or"
        signed = m.value(f"bitcast {i} {m.value(f'{word} {i} {bits[0]}, {bits[1]}')} to {f}")
        equal = m.value(f"fcmp oeq {f} {x}, {y}")  # the same bits but for the sign of zero
        chosen = m.value(f"select {c} {equal}, {f} {signed}, {f} {chosen}")
        if dtype.bits == 16:
            nan = m.value(f"fcmp uno {f} {x}, {y}")
            quiet = m.constant(dtype, 0x7E00 if dtype.name == "f16" else 0x7FC0).narrow
            h = m.type("i16")
            exact = narrowed(m.code, m.n, dtype, chosen)
            return m.narrow(dtype, m.value(f"select {c} {nan}, {h} {quiet}, {h} {exact}"))
        for z in (y, x):
            nan = m.value(f"fcmp uno {f} {z}, {z}")
            chosen = m.value(f"select {c} {nan}, {f} {z}, {f} {chosen}")
        return m.wide(dtype, chosen)

    return form


def _extreme_number(larger: bool) -> Form:
    """The extreme of those that are numbers."""

    def form(m: Maker, dtype: DType, a: Elements, b: Elements) -> Elements:
        found, c, t = _extreme(larger)(m, dtype, a, b), m.type("i1"), m.type(storage(dtype))
        chosen, f = found.narrow, m.type(computed(dtype))
        for x, other in ((b, a), (a, b)):
            nan = m.value(f"fcmp uno {f} {x.wide}, {x.wide}")
            chosen = m.value(f"select {c} {nan}, {t} {other.narrow}, {t} {chosen}")
        return m.narrow(dtype, chosen)

    return form


def _sign(flip: bool) -> Form:
    """Negation or the absolute value."""

    def form(m: Maker, dtype: DType, a: Elements) -> Elements:
        t = storage(dtype)
        v = m.type(t)
        if dtype.name == "f32":
            if flip:
                return m.narrow(dtype, m.value(f"fneg {v} {a.narrow}"))
            suffix = f"v{m.n}f32" if m.n > 1 else "f32"
            return m.narrow(dtype, m.value(f"call {v} @llvm.fabs.{suffix}({v} {a.narrow})"))
        if dtype.is_float:
            top = 1 << (dtype.bits - 1)
            word, mask = ("xor", -top) if flip else ("and", top - 1)
            return m.narrow(dtype, m.value(f"{word} {v} {a.narrow}, {m.same(t, mask)}"))
        minus = m.value(f"sub {v} {m.same(t, 0)}, {a.narrow}")
        if flip:
            return m.narrow(dtype, minus)
        if not dtype.signed:
            return a
        negative = m.value(f"icmp slt {v} {a.narrow}, {m.same(t, 0)}")
        return m.narrow(dtype, m.value(f"select {m.type('i1')} {negative}, {v} {minus}, {v} {a.narrow}"))

    return form


def _invert(m: Maker, dtype: DType, a: Elements) -> Elements:
    t = storage(dtype)
    return m.narrow(dtype, m.value(f"xor {m.type(t)} {a.narrow}, {m.same(t, -1)}"))


def _shift(left: bool) -> Form:
    def form(m: Maker, dtype: DType, a: Elements, n: Elements) -> Elements:
        t, bits = storage(dtype), dtype.bits
        v, c = m.type(t), m.type("i1")
        count = n.narrow
        if bits == 64:
            outside = m.value(f"icmp slt {v} {count}, {m.same(t, 0)}") if dtype.signed else None
            count = m.value(f"and {v} {count}, {m.same(t, 63)}")
        else:
            outside = m.value(f"icmp uge {v} {count}, {m.same(t, bits)}")
            count = m.value(f"and {v} {count}, {m.same(t, bits - 1)}")
        word = "shl" if left else "ashr" if dtype.signed else "lshr"
        shifted = m.value(f"{word} {v} {a.narrow}, {count}")
        if outside is None:
            return m.narrow(dtype, shifted)
        fill = m.same(t, 0)
        if not left and dtype.signed:
            fill = m.value(f"ashr {v} {a.narrow}, {m.same(t, bits - 1)}")
        return m.narrow(dtype, m.value(f"select {c} {outside}, {v} {fill}, {v} {shifted}"))

    return form


def _function(name: str) -> Form:
    def form(m: Maker, dtype: DType, a: Elements) -> Elements:
        if dtype.bits == 16:
            return m.narrow(dtype, maths.looked_up(m.code, m.n, m.tables(name, dtype), a.narrow))
        return m.narrow(dtype, maths.rounded(m.code, m.n, m.need, name, a.narrow))

    return form


def _recip(m: Maker, dtype: DType, a: Elements) -> Elements:
    if dtype.is_float:
        return _function("recip")(m, dtype, a)
    return _divide(m, dtype, m.constant(dtype, 1), a)


def _compare(predicate: str) -> Form:
    def form(m: Maker, dtype: DType, a: Elements, b: Elements) -> Elements:
        if dtype.is_float:
            word = "une" if predicate == "ne" else f"o{predicate}"
            return m.condition(m.value(f"fcmp {word} {m.type(computed(dtype))} {a.wide}, {b.wide}"))
        sign = "" if predicate in ("eq", "ne") else "s" if dtype.signed else "u"
        return m.condition(m.value(f"icmp {sign}{predicate} {m.type(storage(dtype))} {a.narrow}, {b.narrow}"))

    return form


def _select(m: Maker, dtype: DType, condition: Elements, a: Elements, b: Elements) -> Elements:
    t = m.type(storage(dtype))
    return m.narrow(dtype, m.value(f"select {m.type('i1')} {condition.wide}, {t} {a.narrow}, {t} {b.narrow}"))


def _suffix(m: Maker, kind: str) -> str:
    """The name of a type in the name of an intrinsic."""
    short = {"float": "f32", "double": "f64"}.get(kind, kind)
    return f"v{m.n}{short}" if m.n > 1 else short


def _fused(m: Maker, dtype: DType, a: Elements, b: Elements, c: Elements) -> Elements:
    if dtype.is_float:
        exact = fused(m.code, m.n, a.wide, b.wide, c.wide)
        return m.wide(dtype, round_many(m.code, m.need, m.n, exact, dtype.name))
    v = m.type(storage(dtype))
    product = m.value(f"mul {v} {a.narrow}, {b.narrow}")
    return m.narrow(dtype, m.value(f"add {v} {product}, {c.narrow}"))


def _popcount(m: Maker, dtype: DType, a: Elements) -> Elements:
    kind = storage(dtype)
    v = m.type(kind)
    return m.narrow(dtype, m.value(f"call {v} @llvm.ctpop.{_suffix(m, kind)}({v} {a.narrow})"))


def _sign_bits(m: Maker, dtype: DType, a: Elements) -> Elements:
    """Leading zeros once the sign has been taken off."""
    kind = storage(dtype)
    v = m.type(kind)
    sign = m.value(f"ashr {v} {a.narrow}, {m.same(kind, dtype.bits - 1)}")
    rest = m.value(f"xor {v} {a.narrow}, {sign}")
    zeros = m.value(f"call {v} @llvm.ctlz.{_suffix(m, kind)}({v} {rest}, i1 false)")
    return m.narrow(dtype, m.value(f"sub {v} {zeros}, {m.same(kind, 1)}"))


def _integral(word: str) -> Form:
    def form(m: Maker, dtype: DType, a: Elements) -> Elements:
        f = m.type("float")
        return m.wide(dtype, m.value(f"call {f} @llvm.{word}.{_suffix(m, 'float')}({f} {a.wide})"))

    return form


def _odd(m: Maker, dtype: DType, a: Elements) -> Elements:
    """The odd one of the neighbours."""
    f, suffix = m.type("float"), _suffix(m, "float")
    below, above = (m.value(f"call {f} @llvm.{word}.{suffix}({f} {a.wide})") for word in ("floor", "ceil"))
    half = m.value(f"fmul {f} {below}, {m.same('float', double(0.5))}")
    whole = m.value(f"call {f} @llvm.trunc.{suffix}({f} {half})")
    even = m.value(f"fcmp oeq {f} {half}, {whole}")
    return m.wide(dtype, m.value(f"select {m.type('i1')} {even}, {f} {above}, {f} {below}"))


_OF_CONDITIONS: dict[str, Callable[..., str]] = {
    **{
        word: lambda m, a, b, word=word: m.value(f"{word} {m.type('i1')} {a}, {b}")  # type: ignore[misc]
        for word in ("and", "or", "xor")
    },
    "not": lambda m, a: m.value(f"xor {m.type('i1')} {a}, {m.same('i1', 'true')}"),
    "select": lambda m, c, a, b: m.value(f"select {m.type('i1')} {c}, {m.type('i1')} {a}, {m.type('i1')} {b}"),
}

_FORMS: dict[str, Form] = {
    "add": _binary("add", "fadd"),
    "sub": _binary("sub", "fsub"),
    "mul": _binary("mul", "fmul"),
    "div": _divide,
    "fmod": _fmod,
    "floordiv": _rounded_quotient(False),
    "ceildiv": _rounded_quotient(True),
    "mulhigh": _high_half,
    "carry": _carry,
    "maxnum": _extreme_number(True),
    "minnum": _extreme_number(False),
    "floormod": _floor_mod,
    "max": _extreme(True),
    "min": _extreme(False),
    "neg": _sign(True),
    "abs": _sign(False),
    "not": _invert,
    "and": _bits("and"),
    "or": _bits("or"),
    "xor": _bits("xor"),
    "fma": _fused,
    "popcount": _popcount,
    "signbits": _sign_bits,
    "rint": _integral("roundeven"),
    "odd": _odd,
    **{name: _integral(name) for name in ("round", "floor", "ceil", "trunc")},
    "shl": _shift(True),
    "shr": _shift(False),
    **{name: _function(name) for name in ("exp", "log", "sqrt", "rsqrt")},
    "recip": _recip,
    **{name: _compare(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "select": _select,
}
