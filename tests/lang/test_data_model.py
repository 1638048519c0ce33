"""Python's data model on numbers, conditions, pointers, tiles and views: a table of operations and their outcomes.

An operation gives what Python gives for the number, or is refused once at its place: compiled and interpreted.
"""

from __future__ import annotations

import copy
import functools
import json
import math
import numbers
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.diagnostics import DiagnosticError

from .support import finding_of
from .test_syntax import made

HEAD = "def f(y: pto.Ptr[pto.i64], z: pto.Ptr[pto.f32], n: int, m: pto.i32, u: pto.u8, x: float):\n    b = n > 1\n"
NUMBERS = (3, -2, 7, 2.5)
NAMES = {
    "copy": copy,
    "functools": functools,
    "json": json,
    "math": math,
    "numbers": numbers,
    "operator": operator,
    "np": np,
}

# A number in place of {}; what is asked gives y[0] or z[0].
ASKED = """isinstance({}, int) + 0|isinstance({}, (int, float)) + 0|isinstance({}, float) + 0|isinstance({}, str) + 0
isinstance({}, numbers.Number) + 0|type({}) is int|{}.__class__ is int|issubclass(type({}), int)
len(str({}))|len(repr({}))|len(f'{{{}}}')|len(f'{{{}:5}}')|len(f'{{{}!r}}')|len('%s' % {})|len('%d' % {})
len('{{}}'.format({}))|len(f'{{({}, 1)}}')|len(str([{}]))|json.dumps({}) == '3'|hash({}) == 3
bool({}) & True|int({})|z[0] = float({})|complex({}).real == 3|round({})|z[0] = round({}, 1)|math.trunc({})
math.floor({})|math.ceil({})|math.sqrt({}) > 1|operator.index({})|operator.add({}, 1)|np.sqrt({}) > 1|np.array([{}])[0]
{} in (1, 2, 3)|{} in [1, 2]|{} not in (1, 5)|3 in ({}, 4)|{} in {{1, 3}}|{{1: 2, 3: 4}}[{}]|{} in range(5)
[5, 6, 7, 8][{}]|[5, 6, 7, 8][{}:][0]|'abcd'[{}] == 'd'|list(range({}))[0]|len([0] * {})|'a' * {} == 'aaa'
{} @ {}|-{}|+{}|not {}|(not {}) + 1|abs({})|{} ** 2|2 ** {}|pow({}, 2)|pow({}, 2, 5)|divmod({}, 2)[0]|divmod(7, {})[1]
{} + True|True + {}|{} * True|{} - False|{} & True|{} | 4|{} ^ True|{} // 2|{} % 2|7 % {}|{} << 1|1 << {}|{} >> 1
z[0] = {} / 2|z[0] = 2 / {}|z[0] = -{}|z[0] = {} * 2|z[0] = {} + 1|z[0] = {} * 2.0|z[0] = abs({})|z[0] = {} * x
({} == 3) + 0|({} == True) + 0|({} < True) + 0|({} != 2) + ({} > 0)|({} > 0) * 5|-({} > 1)|+({} > 1)|abs({} > 1)
({} > 1) - ({} > 2)|({} > 1) << 2|7 % (({} > 0) + 1)|(({} > 1) == 1) + 0|(({} > 1) < 2) + 0|divmod({} > 1, 2)[1]
z[0] = ({} > 1) * 2.5|z[0] = ({} > 1) * x|z[0] = x - ({} > 1)|({} > 1) & 1|({} > 1) | 6|sum([{} > 1, {} > 2, True])
0 < {} < 5|(0 < {} < 5) + 0|5 > {} > 2 > 1|0 < {} == 3|1 if {} else 2|1 if False else 2|(False if {} else 5) + 0
(False if {} > 1 else n > 0) + 0|(True if {} > 1 else n > 9) + 0|(n > 9 if {} > 1 else False) + 0
(n > 0 if {} > 1 else True) + 0|(False if {} > 1 else True) + 0|(True if {} > 1 else False) + 0|5 if not {} else 6
({} and 5) + 0|({} or 5) + 0|(0 or {}) + 0|min({}, 2) + 0|max({}, 2) + 0|max([{}, 2])|sum([{}, 2])|sum(({}, {}))
any([{}]) + 0|all([{}, 1]) + 0|sorted([{}, 2])[0]|[{}, 2].index(2)|[1, 2].count({})|({}, 2) == (3, 2)|{} is None
chr({}) == 'a'|len(hex({}))|{}.real + 0|{}.bit_length()|{}.conjugate() + 0|{}.to_bytes(8, 'little')[0]|{}.foo|{}()
{}[0]|len({})|iter({})|hasattr({}, 'real') + 0|getattr({}, 'numerator', 7) + 0|int.__add__({}, 1)|float.__add__({}, 1.0)
dict(a={})['a'] + 0|copy.deepcopy([{}])[0] + 0|functools.reduce(lambda p, q: p + q, [{}, 2])|slice({}).stop + 0
[*range(9)][-{}]|(lambda p: 1 if p else 2)({})|sum(i for i in [{}] if i)|[k for k in (1, 2, 3) if k == {}][0]"""


def operations(table: str) -> list[str]:
    """The operations of a table; one has blanks around its own |."""
    return [op for line in table.splitlines() for op in re.split(r"(?<! )\|(?! )", line)]


def outcome(launch: Callable[..., Any], *args: Any) -> Any:
    """What is stored, the rule of a refusal at the place, or the exception that Python raises in the function."""
    y, z = np.zeros(1, np.int64), np.zeros(1, np.float32)
    try:
        with np.errstate(all="ignore"):
            launch(y, z, *args)
    except DiagnosticError as error:
        (finding,) = error.diagnostics
        assert finding.location.line == 3, finding
        assert "Scalar" not in finding.message
        return "refused"
    except Exception as error:
        return type(error)
    return int(y[0]), float(z[0])


def check(operation: str, name: str) -> None:
    text = operation.replace("{{", "\0").replace("}}", "\1").replace("{}", name)
    text = text.replace("\0", "{").replace("\1", "}")
    statement = text if text.startswith("z[0] = ") else f"y[0] = {text}"
    f = made(f"{HEAD}    {statement}\n", **NAMES)
    kernel = pto.kernel(target="a5")(f)
    compiled, interpreted, plain = (outcome(launch, *NUMBERS) for launch in (kernel, kernel.interpret, f))
    if compiled != "refused":
        assert compiled == plain, (statement, compiled, plain)
    if operation in EXACT:
        assert compiled == "refused"
    elif isinstance(plain, tuple):
        assert interpreted in ("refused", plain), (statement, interpreted, plain)
    elif compiled != "refused":
        assert interpreted == compiled, (statement, interpreted, compiled)
    else:
        assert not isinstance(interpreted, tuple), (statement, interpreted, plain)


EXACT = {"type({}) is int", "{}.__class__ is int"}
"""What interpreted numbers cannot answer: their types are subclasses of int and float."""

UNSIGNED = {"-{}", "z[0] = -{}", "[*range(9)][-{}]"}


@pytest.mark.parametrize("name", ["n", "m", "u", "x", "b"])
def test_operations_on_numbers(name: str) -> None:
    for operation in operations(ASKED):
        if name == "u" and operation in UNSIGNED:  # which wrap
            continue
        check(operation, name)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("isinstance(n, int)", True),
        ("isinstance(u, int)", True),
        ("isinstance(x, float)", True),
        ("isinstance(x, (int, float))", True),
        ("isinstance(n, float)", False),
        ("isinstance(b, int)", True),
        ("isinstance(n, (str, list))", False),
        ("-(n > 1) == -1", True),
        ("(n > 1) + (n > 2) == 2", True),
        ("bool(n)", True),
        ("round(n) == 3", True),
        ("divmod(n, 2) == (1, 1)", None),
        ("type(n) is int", None),
        ("f'{n}' == '3'", None),
        ("str(n) == '3'", None),
        ("n in (1, 3)", None),
        ("isinstance(b, bool)", None),
        ("n.bit_length() == 2", None),
        ("n @ n == 9", None),
    ],
)
def test_answers(text: str, answer: bool | None) -> None:
    kernel = pto.kernel(target="a5")(made(f"{HEAD}    y[0] = 1 if {text} else 2\n"))
    y, z = np.zeros(1, np.int64), np.zeros(1, np.float32)
    if answer is None:
        finding = finding_of(lambda: kernel(y, z, *NUMBERS))
        assert finding.rule == "LANG-SCALAR"
        assert finding.location.line == 3
        return
    for launch in (kernel, kernel.interpret):
        launch(y, z, *NUMBERS)
        assert y[0] == (1 if answer else 2)


CLASSES = """
class Base:
    factor = 2

    def __init__(self, n):
        self.__n = n
        self.kept = n if n > 2 else 0

    def value(self, by):
        if by > 2:
            return self.__scaled(by)
        return self.__n

    def __scaled(self, by):
        return self.__n * by * self.factor

    @property
    def twice(self):
        return self.__n * 2


class Derived(Base):
    factor = 3

    def __init__(self, n):
        super().__init__(n + 1)
        self.__n = 100

    def value(self, by):
        if by > 5:
            return super().value(by) + self.__n
        return super().value(by)

    @classmethod
    def of(cls, n):
        return cls(n)

    @staticmethod
    def clipped(n):
        return 4 if n > 4 else n


def f(y: pto.Ptr[pto.i64], z, n: int, m: int, u: int, x: int):
    for k, made in enumerate((Base(n), Derived(n), Derived.of(n + 2))):
        y[k] = made.value(n)
        y[k + 3] = made.twice + made.kept
    y[6] = Derived.clipped(n)
"""


def test_methods_super_private_names_and_properties() -> None:
    name = "/nowhere/classes_of_a_kernel.py"  # functions of a text are taken for those of a library
    f = made(CLASSES, name)
    kernel = pto.kernel(target="a5")(f)
    for n in range(8):
        ours, theirs, plain = (np.zeros(7, np.int64) for _ in range(3))
        f(plain, ours, n, 0, 0, 0)
        kernel(ours, theirs, n, 0, 0, 0)
        kernel.interpret(theirs, plain.copy(), n, 0, 0, 0)
        assert ours.tolist() == plain.tolist()
        assert theirs.tolist() == plain.tolist()


def test_private_names_in_branches_with_explicit_words() -> None:
    text = """
class Held:
    def __init__(self, n):
        self.__n = n

    def put(self: pto.Static, y):
        with pto.if_(self.__n > 2):
            y[0] = self.__n


def f():
    pass
"""
    static = made(text, "/nowhere/private_words.py")
    kernel = pto.kernel(target="a5")(static.__globals__["Held"].put)
    for launch in (kernel, kernel.interpret):
        y = np.zeros(1, np.int64)
        launch(static.__globals__["Held"](5), y)
        assert y[0] == 5


HANDLES = {
    "p": "y",
    "t": "pto.Tile(pto.TileType.Vec, pto.f32, 1, 8)",
    "g": "pto.GlobalTensor(z, (1, 8))",
}
ON_HANDLES = """len({})|int({})|float({})|round({})|abs({})|-{}|+{}|~{}|{} @ {}|{} * 2|{} - 1|2 + {}|{} // 2|{} % 2
{} ** 2|{} / 2|{} & 1|{} << 1|{} < 3|divmod({}, 2)|iter({})|list({})|{}()|math.sqrt({})|max({}, 1)|sum([{}])
operator.index({})|range({})|[1][{}]|chr({})|complex({})|'a' * {}"""


@pytest.mark.parametrize("handle", HANDLES)
def test_operations_that_pointers_tiles_and_views_do_not_have(handle: str) -> None:
    for operation in operations(ON_HANDLES):
        text = operation.replace("{}", "h")
        f = made(
            f"{HEAD}    h = {HANDLES[handle]}; y[0] = 1 if {text} else 2\n".replace("    b = n > 1\n", ""), **NAMES
        )
        kernel = pto.kernel(target="a5")(f)
        for launch in (kernel, kernel.interpret):
            with pytest.raises(DiagnosticError) as caught:
                launch(np.zeros(1, np.int64), np.zeros(8, np.float32), *NUMBERS)
            assert caught.value.diagnostics[0].location.line == 2, text
