"""Arithmetic as C++ expressions whose results are defined, and what is known of the range of integers.

Integers wrap: sums, differences and products are plain where they cannot leave their type, else calls of small
functions at the top of the file.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ptokit.ir import Op, Value
from ptokit.ir.facts import folded
from ptokit.isa.scalar.arithmetic import ARITHMETIC, INTEGER_PREDICATES
from ptokit.types.codecs import width
from ptokit.types.values import Ptr, Scalar, Type


class Text(NamedTuple):
    """An expression, and how strongly it binds: `ATOM`, or less."""

    text: str
    binds: int


ATOM, PRODUCT, SUM, SHIFT, COMPARED, CHOSEN = 9, 5, 4, 3, 2, 0
LONGEST = 48
"""Letters of an expression that stands in place of a value, rather than a variable."""

_T = "template <class T>\nAICORE inline T"
_SAME = "typename std::common_type<T>::type"  # of the type that the first argument has
_U = "uint64_t"
FUNCTIONS: dict[str, str] = {
    "add": f"{_T} add(T a, {_SAME} b) {{ return T({_U}(a) + {_U}(b)); }}",
    "subtract": f"{_T} subtract(T a, {_SAME} b) {{ return T({_U}(a) - {_U}(b)); }}",
    "multiply": f"{_T} multiply(T a, {_SAME} b) {{ return T({_U}(a) * {_U}(b)); }}",
    "shift_left": f"{_T} shift_left(T a, {_SAME} n) {{ return T({_U}(a) << n); }}",
    "quotient": f"{_T} quotient(T a, {_SAME} b) {{ return b == T(-1) ? T(0 - {_U}(a)) : T(a / b); }}",
    "remainder_of": f"{_T} remainder_of(T a, {_SAME} b) {{ return b == T(-1) ? T(0) : T(a % b); }}",
    "divide_down": f"""{_T} divide_down(T a, {_SAME} b) {{
    const T q = b == T(-1) ? T(0 - {_U}(a)) : T(a / b);
    return b != T(-1) && a % b != 0 && (a < 0) != (b < 0) ? T(q - 1) : q;
}}""",
    "divide_up": f"""{_T} divide_up(T a, {_SAME} b) {{
    const T q = b == T(-1) ? T(0 - {_U}(a)) : T(a / b);
    return b != T(-1) && a % b != 0 && (a < 0) == (b < 0) ? T(q + 1) : q;
}}""",
    "lesser": f"{_T} lesser(T a, {_SAME} b) {{ return a < b ? a : b; }}",
    "greater": f"{_T} greater(T a, {_SAME} b) {{ return a > b ? a : b; }}",
    "lesser_float": f"""{_T} lesser_float(T a, {_SAME} b) {{
    return T(a != a || b != b ? a + b : a < b ? +a : b < a ? +b : __builtin_signbit(float(a)) ? +a : +b);
}}""",
    "greater_float": f"""{_T} greater_float(T a, {_SAME} b) {{
    return T(a != a || b != b ? a + b : a > b ? +a : b > a ? +b : __builtin_signbit(float(a)) ? +b : +a);
}}""",
}
"""Functions that a file has at its top if it calls them."""

_CALLED = {
    "addi": ("add", "+", SUM),
    "subi": ("subtract", "-", SUM),
    "muli": ("multiply", "*", PRODUCT),
}
_DIVIDED = {"divsi": ("quotient", "/"), "remsi": ("remainder_of", "%")}
_PLAIN = {"andi": "&", "ori": "|", "xori": "^"}
_EXTREMES = {"minsi": "lesser", "maxsi": "greater", "minui": "lesser", "maxui": "greater"}
_FLOATS = {"addf": ("+", SUM), "subf": ("-", SUM), "mulf": ("*", PRODUCT), "divf": ("/", PRODUCT)}
_COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_WIDTHS = (1, 8, 16, 32, 64)
_NAMES = {"f32": "float", "f16": "half", "bf16": "bfloat16_t", "f64": "double", "index": "int64_t", "i1": "bool"}

Range = tuple[int, int]


def ctype(type: Type) -> str | None:
    """The C++ type of a number or of a pointer to global memory; None if it has none."""
    if isinstance(type, Ptr):
        return f"__gm__ {type.dtype.cpp}*" if type.space in (None, "gm") else None
    if not isinstance(type, Scalar):
        return None
    if type.name in _NAMES:
        return _NAMES[type.name]
    if type.is_float or width(type.name) not in _WIDTHS:
        return None
    return f"{'u' if type.name[0] == 'u' else ''}int{width(type.name)}_t"


def range_of_type(type: Type) -> Range:
    """The least and the greatest number of an integer type."""
    assert isinstance(type, Scalar)
    bits = width(type.name)
    if type.name[0] == "u":
        return 0, (1 << bits) - 1
    return (0, 1) if bits == 1 else (-1 << (bits - 1), (1 << (bits - 1)) - 1)


class Unwritable(Exception):
    """What C++ does not have, and what to write instead."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message, self.hint = message, hint


class Numbers:
    """Expressions of the numbers of one function. ``name``: what a value that has a variable is called."""

    def __init__(self, name: Callable[[Value], str], used: set[str]) -> None:
        self._name, self._used = name, used
        self._inline: dict[Value, Text] = {}
        self._constants: dict[Value, int | float | bool] = {}
        self._ranges: dict[Value, Range] = {}

    def is_inline(self, value: Value) -> bool:
        """True for a value that has no variable."""
        return value in self._inline or value in self._constants

    def keep(self, value: Value, text: Text) -> None:
        """Write an expression where the value is used."""
        self._inline[value] = text

    def constant(self, value: Value) -> int | float | bool | None:
        """The number that a value is known to be."""
        return self._constants.get(value)

    def fix(self, value: Value, number: int | float | bool) -> None:
        """Remember a constant."""
        self._constants[value] = number

    def bound(self, value: Value, low: int, high: int) -> None:
        """Remember between which numbers a value lies."""
        self._ranges[value] = low, high

    def range(self, value: Value) -> Range:
        """Between which numbers an integer lies."""
        number = self._constants.get(value)
        if isinstance(number, int):
            return int(number), int(number)
        return self._ranges.get(value) or range_of_type(value.type)

    def text(self, value: Value, above: int = CHOSEN) -> str:
        """A value as an operand of an operation that binds so strongly."""
        found = self._inline.get(value)
        if found is None:
            number = self._constants.get(value)
            if number is None:
                return self._name(value)
            return self.literal(number, value.type, typed=above > CHOSEN)
        return found.text if found.binds >= above else f"({found.text})"

    def literal(self, number: float, type: Type, typed: bool = False) -> str:
        """A constant; ``typed``: in brackets where it is negative."""
        assert isinstance(type, Scalar)
        if type.name == "i1":
            return "true" if number else "false"
        if type.is_float:
            return _float(float(number), type)
        whole = int(number)
        if whole == -1 << 63:
            return "(-9223372036854775807LL - 1)"
        if whole == -1 << 31:  # the same without its sign is no int
            return "(-2147483647 - 1)"
        suffix = "LL" if not -(1 << 31) <= whole < 1 << 31 else ""
        suffix = "ULL" if whole >= 1 << 63 else suffix
        shown = f"{whole}{suffix}"
        return f"({shown})" if typed and whole < 0 else shown

    def function(self, name: str) -> str:
        """The name of one of `FUNCTIONS`, which the file then has."""
        self._used.add(name)
        return name

    def of_type(self, value: Value) -> str:
        """A value as an argument of a template that takes its type from it."""
        number = self._constants.get(value)
        return f"{ctype(value.type)}({self.text(value)})" if number is not None else self.text(value)

    def call(self, function: str, a: Value, b: Value) -> Text:
        """A call of one of `FUNCTIONS`, which takes its type from the first argument."""
        return Text(f"{self.function(function)}({self.of_type(a)}, {self.text(b)})", ATOM)

    # --- operations

    def write(self, op: Op) -> Text | None:
        """The expression of an operation of `arith` with one result; None where it is a constant then.

        Raises `Unwritable`.
        """
        result = op.results[0]
        word = op.name.removeprefix("arith.")
        if word == "constant":
            value = op.attrs["value"]
            if not isinstance(value, int | float) or ctype(result.type) is None:
                raise Unwritable(f"a constant of type {result.type} is none of C++")
            self.fix(result, value)
            return None
        known = folded(op, lambda v: self._constants.get(v))
        if known is not None:
            self.fix(result, known)
            return None
        types = [ctype(v.type) for v in (*op.values, result)]
        if None in types:
            raise Unwritable(f"{op.name} of {next(v for v in op.values if ctype(v.type) is None).type} is none of C++")
        row = ARITHMETIC.get(op.name)
        if row is None:
            raise Unwritable(f"{op.name} is none of C++")
        if row.group == "binary":
            return self._float(word, op) if row.reads == "float" else self._binary(word, op)
        if row.group == "compared":
            return self._compared(word, op)
        if row.group == "chosen":
            a, b, c = (self.text(op[k], COMPARED) for k in ("condition", "true", "false"))
            if result.type == Scalar("bf16"):  # a class with clang: a reference to one of two is no number
                bits = [f"__builtin_bit_cast(int16_t, {self.of_type(op[k])})" for k in ("true", "false")]
                return Text(f"__builtin_bit_cast(bfloat16_t, {a} ? {bits[0]} : {bits[1]})", ATOM)
            return Text(f"{a} ? {b} : {c}", CHOSEN)
        if word == "negf":
            return self._rounded(Text(f"-{self.text(op['in'], ATOM)}", PRODUCT), result)
        return self._cast(word, op)

    def _binary(self, word: str, op: Op) -> Text:
        a, b, made = op["lhs"], op["rhs"], op.results[0]
        type = ctype(made.type)
        if made.type == Scalar("i1"):
            return self._truth(word, a, b)
        low, high = range_of_type(made.type)
        if word in _CALLED:
            function, sign, binds = _CALLED[word]
            ends = [_WHOLE[sign](x, y) for x in self.range(a) for y in self.range(b)]
            if low <= min(ends) and max(ends) <= high:
                self.bound(made, min(ends), max(ends))
                right = binds + (sign == "-")
                return self._narrow(Text(f"{self.text(a, binds)} {sign} {self.text(b, right)}", binds), made)
            return self.call(function, a, b)
        if word in _PLAIN:
            self._masked(word, a, b, made)
            return self._narrow(Text(f"{self.text(a, SHIFT)} {_PLAIN[word]} {self.text(b, SHIFT)}", COMPARED), made)
        if word == "shli":
            return self.call("shift_left", a, b)
        if word == "shrsi":
            return self._narrow(Text(f"{self.text(a, SHIFT)} >> {self.text(b, SHIFT)}", SHIFT), made)
        unsigned = type if type and type[0] == "u" else f"u{type}"
        if word in _EXTREMES:
            function = _EXTREMES[word]
            if word[-2] == "s":
                pick = min if word[:3] == "min" else max
                (a0, a1), (b0, b1) = self.range(a), self.range(b)
                self.bound(made, pick(a0, b0), pick(a1, b1))
                return self.call(function, a, b)
            inner = f"{self.function(function)}({unsigned}({self.text(a)}), {unsigned}({self.text(b)}))"
            return Text(f"{type}({inner})", ATOM)
        if word in ("divui", "remui", "shrui"):
            sign = {"divui": "/", "remui": "%", "shrui": ">>"}[word]
            if word == "remui" and self.range(b)[0] > 0:
                self.bound(made, 0, self.range(b)[1] - 1)
            return Text(f"{type}({unsigned}({self.text(a)}) {sign} {unsigned}({self.text(b)}))", ATOM)
        if word == "ceildivui":
            x, y = f"{unsigned}({self.text(a)})", f"{unsigned}({self.text(b)})"
            return Text(f"{type}({x} / {y} + ({x} % {y} != 0))", ATOM)
        return self._divided(word, a, b, made)

    def _divided(self, word: str, a: Value, b: Value, made: Value) -> Text:
        (a0, a1), (b0, b1) = self.range(a), self.range(b)
        safe = b0 > 0 or b1 < -1
        if word in _DIVIDED:
            function, sign = _DIVIDED[word]
            if b0 > 0:
                if word == "remsi":
                    self.bound(made, 0 if a0 >= 0 else max(a0, 1 - b1), min(a1, b1 - 1) if a1 >= 0 else 0)
                else:
                    ends = [
                        int(x / y) if abs(x) < 1 << 52 else (x // y if x >= 0 else -(-x // y))
                        for x in (a0, a1)
                        for y in (b0, b1)
                    ]
                    self.bound(made, min(ends), max(ends))
            if safe:
                shown = f"{self.text(a, PRODUCT)} {sign} {self.text(b, PRODUCT + 1)}"
                return self._narrow(Text(shown, PRODUCT), made)
            return self.call(function, a, b)
        function = "divide_up" if word == "ceildivsi" else "divide_down"
        if b0 > 0:
            ends = [-(-x // y) if word == "ceildivsi" else x // y for x in (a0, a1) for y in (b0, b1)]
            self.bound(made, min(ends), max(ends))
        return self.call(function, a, b)

    def _masked(self, word: str, a: Value, b: Value, made: Value) -> None:
        (a0, a1), (b0, b1) = self.range(a), self.range(b)
        if word == "andi" and (a0 >= 0 or b0 >= 0):
            self.bound(made, 0, min(x for low, x in ((a0, a1), (b0, b1)) if low >= 0))

    def _truth(self, word: str, a: Value, b: Value) -> Text:
        x, y = self.text(a, SHIFT), self.text(b, SHIFT)
        if word in ("andi", "muli", "minui", "maxsi"):
            return Text(f"{x} && {y}", COMPARED - 1)
        if word in ("ori", "maxui", "minsi"):
            return Text(f"{x} || {y}", COMPARED - 1)
        if word in ("xori", "addi", "subi"):
            return Text(f"{x} != {y}", COMPARED)
        raise Unwritable(f"arith.{word} of i1 is not written", "use andi, ori and xori")

    def _narrow(self, text: Text, made: Value) -> Text:
        """C++ computes on int what is narrower: back to the type."""
        type = ctype(made.type)
        narrow = isinstance(made.type, Scalar) and width(made.type.name) < 32
        return Text(f"{type}({text.text})", ATOM) if narrow else text

    def _float(self, word: str, op: Op) -> Text:
        a, b, made = op["lhs"], op["rhs"], op.results[0]
        if word in _FLOATS:
            sign, binds = _FLOATS[word]
            shown = f"{self.text(a, binds)} {sign} {self.text(b, binds + 1)}"
            return self._rounded(Text(shown, binds), made)
        if word in ("maximumf", "minimumf"):
            return self.call("greater_float" if word[1] == "a" else "lesser_float", a, b)
        if word in ("maxnumf", "minnumf"):
            function = self.function("greater_float" if word[1] == "a" else "lesser_float")
            x, y = self.of_type(a), self.of_type(b)
            return self._rounded(Text(f"{x} != {x} ? +{y} : {y} != {y} ? +{x} : +{function}({x}, {y})", CHOSEN), made)
        raise Unwritable(f"arith.{word} is a function of a library in C++, which kernels do not have")

    def _rounded(self, text: Text, made: Value) -> Text:
        """C++ computes on float what is narrower: back to the type."""
        narrow = made.type in (Scalar("f16"), Scalar("bf16"))
        return Text(f"{ctype(made.type)}({text.text})", ATOM) if narrow else text

    def _compared(self, word: str, op: Op) -> Text:
        a, b, predicate = op["lhs"], op["rhs"], op.attrs["predicate"]
        if word == "cmpf":
            return _of_floats(predicate, self.text(a, SHIFT), self.text(b, SHIFT))
        does, reads = INTEGER_PREDICATES[predicate]
        x, y = self.text(a, SHIFT), self.text(b, SHIFT)
        if reads == "unsigned" and a.type != Scalar("i1"):
            type = ctype(a.type)
            x, y = (f"u{type}({self.text(v)})" if type and type[0] != "u" else self.text(v) for v in (a, b))
        elif reads == "signed" and a.type == Scalar("i1"):  # true is -1
            x, y = y, x
        return Text(f"{x} {_COMPARED[does]} {y}", COMPARED)

    def _cast(self, word: str, op: Op) -> Text:
        source, made = op["in"], op.results[0]
        inner, type, before = self.text(source), ctype(made.type), ctype(source.type)
        if word in ("extsi", "trunci", "extui", "index_cast", "index_castui"):
            low, high = range_of_type(made.type)
            a, b = self.range(source)
            if source.type == Scalar("i1") and word in ("extsi", "index_cast"):  # true is -1
                a, b = -b, -a
            if low <= a and b <= high and not (word.endswith("ui") and a < 0):
                self.bound(made, a, b)
        if word == "bitcast":
            return Text(f"__builtin_bit_cast({type}, {self.of_type(source)})", ATOM)
        if source.type == Scalar("i1"):
            signed = word in ("extsi", "sitofp", "index_cast")
            return Text(f"{type}({self.text(source, COMPARED)} ? {-1 if signed else 1} : 0)", ATOM)
        if made.type == Scalar("i1"):
            if word != "trunci":
                raise Unwritable(f"arith.{word} to i1 is not written", "compare with zero")
            return Text(f"({self.text(source, SHIFT)} & 1) != 0", COMPARED)
        if word in ("extui", "index_castui", "uitofp") and before and before[0] != "u" and self.range(source)[0] < 0:
            inner = f"u{before}({inner})"
        if before == type:
            return Text(inner, ATOM if inner.isidentifier() else CHOSEN)
        return Text(f"{type}({inner})", ATOM)

    def both(self, op: Op) -> tuple[str, str]:
        """The two results of an extended sum or product. Raises `Unwritable`."""
        word, type = op.name.removeprefix("arith."), ctype(op.results[0].type)
        a, b = self.of_type(op["lhs"]), self.of_type(op["rhs"])
        bits = width(str(op.results[0].type))
        if bits == 1:
            both = f"{self.text(op['lhs'], SHIFT)} && {self.text(op['rhs'], SHIFT)}"
            sum = f"{self.text(op['lhs'], SHIFT)} != {self.text(op['rhs'], SHIFT)}"
            return (sum, both) if word == "addui_extended" else (both, "false")
        if word == "addui_extended":
            total = f"{self.function('add')}({a}, {b})"
            return total, f"u{type}({total}) < u{type}({a})"
        if bits > 32:
            raise Unwritable(f"{op.name} of 64 bits is none of C++")
        wide = "int64_t" if word == "mulsi_extended" else "uint64_t"
        narrow = type if word == "mulsi_extended" else f"u{type}"
        product = f"{wide}({narrow}({a})) * {wide}({narrow}({b}))"
        return f"{type}({product})", f"{type}(({product}) >> {bits})"


_WHOLE = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b}


def _of_floats(predicate: str, x: str, y: str) -> Text:
    ordered, word = predicate[0] == "o", predicate[1:]
    if predicate in ("true", "false"):
        return Text(predicate, ATOM)
    if predicate in ("ord", "uno"):
        sign, both = ("==", "&&") if predicate == "ord" else ("!=", "||")
        return Text(f"{x} {sign} {x} {both} {y} {sign} {y}", COMPARED - 1)
    if word == "ne" and ordered:
        return Text(f"{x} < {y} || {x} > {y}", COMPARED - 1)
    if word == "eq" and not ordered:
        return Text(f"!({x} < {y} || {x} > {y})", ATOM)
    if ordered or word == "ne":
        return Text(f"{x} {_COMPARED[word]} {y}", COMPARED)
    opposite = {"lt": ">=", "le": ">", "gt": "<=", "ge": "<"}[word]
    return Text(f"!({x} {opposite} {y})", ATOM)


def _float(number: float, type: Scalar) -> str:
    """A float as a literal that gives exactly it."""
    wide = "f" * (type.name != "f64")
    if math.isnan(number):
        shown = f'__builtin_nan{wide}("")'
    elif math.isinf(number):
        shown = f"__builtin_inf{wide}()" if number > 0 else f"(-__builtin_inf{wide}())"
    elif type.name == "f64":
        shown = repr(number)
    else:
        shown = str(np.float32(number))
        shown = f"{shown if '.' in shown or 'e' in shown else shown + '.0'}f"
    if type.name in ("f32", "f64"):
        return f"({shown})" if shown[0] == "-" else shown
    return f"{_NAMES[type.name]}({shown})"
