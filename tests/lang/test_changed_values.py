"""What a kernel reads from outside of its parameters may change between launches: the next one sees it."""

from __future__ import annotations

import array
import collections
import contextlib
import enum
import functools
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.run import Program, compile_program
from ptokit.targets import target

from .test_syntax import made

FIRST, SECOND = 3, 5


def outcomes(kernel: Any, *more: Any) -> set[int]:
    """What launches of every kind store in y[0]."""

    def stored(launch: Callable[..., Any]) -> int:
        y = np.zeros(1, np.int64)
        launch(y, *more)
        return int(y[0])

    kinds = [kernel, kernel.interpret, kernel.watch(), kernel.sanitize]
    compiled, read = (
        kernel.compile(np.zeros(1, np.int64), *more),
        from_text(kernel.to_pto(np.zeros(1, np.int64), *more)),
    )
    programs = [lambda y, *_, program=program: program.launch([y]) for program in (compiled, read)]
    return {stored(kind) for kind in (*kinds, *programs)}


def from_text(text: str) -> Program:
    """The program that a text is."""
    read = parse_module(text, target=target("a5"))
    assert [str(d) for d in read.diagnostics] == []
    return compile_program(read.module, target("a5"))


@dataclass
class Config:
    scale: int = FIRST
    other: Any = None
    inner: list[Any] = field(default_factory=lambda: [[FIRST]])


class Slots:
    __slots__ = ("__hidden", "scale")

    def __init__(self) -> None:
        self.scale = FIRST
        self.__hidden = FIRST

    @property
    def hidden(self) -> int:
        return self.__hidden

    def change(self) -> None:
        self.__hidden = SECOND


class Dynamic:
    def __init__(self) -> None:
        self.stored = {"scale": FIRST}

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["stored"][name]
        except KeyError:
            raise AttributeError(name) from None


class Base:
    scale = FIRST

    def value(self) -> int:
        return self.scale


class Derived(Base):
    pass


class Items(list):  # type: ignore[type-arg]
    pass


class Mode(enum.Enum):
    SLOW = FIRST
    FAST = SECOND


class Number(int):
    pass


def module(**names: Any) -> types.ModuleType:
    made = types.ModuleType("changed_module")
    made.__dict__.update(names)
    return made


def setter(name: str, value: Any = SECOND) -> Callable[[Any], None]:
    return lambda held: setattr(held, name, value)


def redefined(scope: dict[str, Any]) -> None:
    made("def f(p):\n    return p + 2 if p < 100 else 0\n")
    scope["held"] = made("def f(p):\n    return p + 2 if p < 100 else 0\n")


def first_helper() -> Any:
    return made("def f(p):\n    return p if p < 100 else 0\n")


def with_default(q: Any) -> Any:
    return made("def f(p=q):\n    return p\n", q=q)


def closure(value: Any) -> Any:
    def get() -> Any:
        return value

    def put(other: Any) -> None:
        nonlocal value
        value = other

    get.put = put  # type: ignore[attr-defined]
    return get


@contextlib.contextmanager
def plus(cell: list[int]) -> Any:
    yield cell[0]


def _item(key: Any) -> Callable[[Any], None]:
    return lambda held: held.__setitem__(key, SECOND)


# what is held, what the kernel reads of it, and how it changes
CASES: dict[str, tuple[Callable[[], Any], str, Callable[[Any], None]]] = {
    "attribute": (Config, "held.scale", setter("scale")),
    "attribute by a computed name": (Config, "getattr(held, 'sca' + 'l' + 'e'[:1])", setter("scale")),
    "attribute by a constant name": (Config, "getattr(held, NAME)", setter("scale")),
    "attribute in vars()": (Config, "vars(held)['scale']", setter("scale")),
    "fields by a library": (Config, "dataclasses.astuple(held)[0]", setter("scale")),
    "nested list": (Config, "held.inner[0][0]", lambda held: held.inner[0].__setitem__(0, SECOND)),
    "slot": (Slots, "held.scale", setter("scale")),
    "private slot": (Slots, "held.hidden", lambda held: held.change()),
    "__getattr__": (Dynamic, "held.scale", lambda held: held.stored.update(scale=SECOND)),
    "class attribute": (Derived, "held.value()", lambda held: setattr(Base, "scale", SECOND)),
    "class attribute hidden": (Derived, "held.value()", setter("scale")),
    "class attribute in between": (Derived, "held.value()", lambda held: setattr(Derived, "scale", SECOND)),
    "method": (Derived, "held.value()", lambda held: setattr(Base, "value", lambda self: SECOND)),
    "class of an object": (Base, "held.value()", setter("__class__", type("O", (Base,), {"scale": SECOND}))),
    "namespace": (lambda: types.SimpleNamespace(scale=FIRST), "held.scale", setter("scale")),
    "module": (lambda: module(scale=FIRST), "held.scale", setter("scale")),
    "function of a module": (lambda: module(get=lambda: FIRST), "held.get()", setter("get", lambda: SECOND)),
    "function attribute": (lambda: closure(0), "held.scale if hasattr(held, 'scale') else 3", setter("scale")),
    "list": (lambda: [FIRST, 1], "held[0]", _item(0)),
    "list that grows": (lambda: [1, 2], "len(held) + 1", lambda held: held.extend([1, 2])),
    "list subclass": (lambda: Items([FIRST]), "held[0]", _item(0)),
    "dictionary": (lambda: {"a": FIRST}, "held['a']", _item("a")),
    "dictionary with a new entry": (lambda: {"a": FIRST}, "held.get('b', 3)", _item("b")),
    "default dictionary": (lambda: collections.defaultdict(lambda: FIRST), "held['a']", _item("a")),
    "set": (lambda: {1, 2, 3}, "len(held)", lambda held: held.update({8, 9})),
    "deque": (lambda: collections.deque([FIRST]), "held[0]", _item(0)),
    "list in a tuple": (lambda: ([FIRST],), "held[0][0]", lambda held: held[0].__setitem__(0, SECOND)),
    "items that move": (lambda: ([FIRST], [SECOND]), "len(held[0]) * 2 + 1", lambda h: h[0].append(h[1].pop())),
    "items that move back": (lambda: ([FIRST], [SECOND]), "len(held[1]) * 2 + 1", lambda h: h[1].append(h[0].pop())),
    "array": (lambda: np.array([FIRST, 7]), "int(held[0])", _item(0)),
    "array of objects": (lambda: np.array([[FIRST], 2], object), "held[0][0]", lambda h: h[0].__setitem__(0, SECOND)),
    "view of an array": (lambda: np.array([[FIRST, 7]]).T[:1], "held[0, 0].item()", lambda h: h.__setitem__((0, 0), 5)),
    "array's shape": (lambda: np.zeros((3, 5)), "held.shape[0]", lambda held: setattr(held, "shape", (5, 3))),
    "array.array": (lambda: array.array("i", [FIRST]), "held[0]", _item(0)),
    "bytearray": (lambda: bytearray([FIRST]), "held[0]", _item(0)),
    "closure": (lambda: closure(FIRST), "held()", lambda held: held.put(SECOND)),
    "default": (lambda: with_default(FIRST), "held()", lambda held: setattr(held, "__defaults__", (SECOND,))),
    "list as default": (
        lambda: with_default([FIRST]),
        "held()[0]",
        lambda held: held.__defaults__[0].__setitem__(0, 5),
    ),
    "code": (
        first_helper,
        "held(n)",
        lambda held: setattr(held, "__code__", made("def f(p):\n    return 5\n").__code__),
    ),
    "partial": (lambda: functools.partial(closure(FIRST)), "held()", lambda held: held.func.put(SECOND)),
    "bound method": (lambda: Derived().value, "held()", lambda held: setattr(held.__self__, "scale", SECOND)),
    "iterator": (lambda: iter([FIRST, SECOND, *[SECOND] * 20]), "next(held)", lambda held: None),
    "what a context manager gives": (lambda: [FIRST], "entered(held)", _item(0)),
}


@pytest.mark.parametrize("name", CASES)
def test_what_an_object_holds(name: str) -> None:
    if name == "iterator":
        pytest.skip("each kind of launch takes one more: see the test of iterators")
    make, reads, change = CASES[name]
    held = make()
    text = f"""
def entered(cell):
    with plus(cell) as found:
        return found


def f(y: pto.Ptr[pto.i64]):
    n = 3
    y[0] = {reads}
"""
    names = {"held": held, "dataclasses": __import__("dataclasses"), "NAME": "scale", "plus": plus}
    kernel = pto.kernel(target="a5")(made(text, **names))
    kernel.function.__globals__["n"] = FIRST
    try:
        assert outcomes(kernel) == {FIRST}
        change(held)
        assert outcomes(kernel) == {SECOND}
    finally:
        Base.scale, Base.value = FIRST, _VALUE  # type: ignore[method-assign]
        if "scale" in vars(Derived):
            del Derived.scale


_VALUE = Base.value


def test_iterators_go_on() -> None:
    kernel = pto.kernel(target="a5")(made("def f(y: pto.Ptr[pto.i64]):\n    y[0] = next(held)\n", held=iter([3, 5, 7])))
    found = []
    for _ in range(3):
        y = np.zeros(1, np.int64)
        kernel(y)
        found.append(y[0])
    assert found == [3, 5, 7]


SCALE: Any = FIRST
NEW = [FIRST, Number(FIRST), Mode.SLOW, np.int8(FIRST), True, 1, 0, -0.0, 0.0, float("nan"), "text", None, (1, 2), [1]]


def show(value: Any) -> str:
    return f"{type(value).__name__} {value!r}"


def test_a_variable_that_changes_its_type_or_sign() -> None:
    text = "def f(y: pto.Ptr[pto.i64]):\n    y[0] = NUMBERS[show(SCALE)]\n"
    numbers = {show(value): k for k, value in enumerate(NEW)}
    f = made(text, SCALE=NEW[0], NUMBERS=numbers, show=show)
    kernel = pto.kernel(target="a5")(f)
    for value in (*NEW, *reversed(NEW)):
        f.__globals__["SCALE"] = value
        assert outcomes(kernel) == {numbers[show(value)]}, value


def test_a_static_argument_that_changes_its_type_or_sign() -> None:
    text = "def f(y: pto.Ptr[pto.i64], value: pto.Static):\n    y[0] = NUMBERS[show(value)]\n"
    numbers = {show(value): k for k, value in enumerate(NEW)}
    kernel = pto.kernel(target="a5")(made(text, NUMBERS=numbers, show=show))
    for value in (*NEW, *reversed(NEW)):
        assert outcomes(kernel, value) == {numbers[show(value)]}, value
        assert outcomes(kernel, value) == {numbers[show(value)]}, value


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("iterator", "what a context manager gives")])
def test_a_static_argument_that_changes(name: str) -> None:
    make, reads, change = CASES[name]
    held = make()
    names = {"dataclasses": __import__("dataclasses"), "NAME": "scale"}
    text = f"def f(y: pto.Ptr[pto.i64], held: pto.Static):\n    n = 3\n    y[0] = {reads}\n"
    kernel = pto.kernel(target="a5")(made(text, **names))
    try:
        assert outcomes(kernel, held) == {FIRST}
        change(held)
        assert outcomes(kernel, held) == {SECOND}
        y = np.zeros(1, np.int64)
        from_text(kernel.to_pto()).launch([y])
        assert y[0] == SECOND
    finally:
        Base.scale, Base.value = FIRST, _VALUE  # type: ignore[method-assign]
        if "scale" in vars(Derived):
            del Derived.scale


def test_defaults_of_the_kernel() -> None:
    text = "def f(y: pto.Ptr[pto.i64], n: pto.Static = 3, *, m: pto.Static = 0):\n    y[0] = n + m\n"
    kernel = pto.kernel(target="a5")(made(text))
    assert outcomes(kernel) == {3}
    kernel.function.__defaults__ = (4,)
    assert outcomes(kernel) == {4}
    assert kernel.function.__kwdefaults__ is not None
    kernel.function.__kwdefaults__["m"] = 1
    assert outcomes(kernel) == {5}


def test_helpers_and_builtins_that_are_redefined() -> None:
    helpers = "def g(p):\n    return h(p)\n\n\ndef h(p):\n    return p\n\n\n"
    f = made(f"{helpers}def f(y: pto.Ptr[pto.i64]):\n    y[0] = g(abs(-3))\n")
    kernel = pto.kernel(target="a5")(f)
    assert outcomes(kernel) == {3}
    f.__globals__["h"] = made("def f(p):\n    return p + 2 if p > 0 else p\n")
    assert outcomes(kernel) == {5}
    f.__globals__["abs"] = lambda p: 10
    assert outcomes(kernel) == {12}
    del f.__globals__["abs"]
    assert outcomes(kernel) == {5}


def test_what_has_not_changed_is_not_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    traced = []
    original = pto.Kernel._traced
    monkeypatch.setattr(pto.Kernel, "_traced", lambda self, s: traced.append(1) or original(self, s))
    config = Base()
    config.__dict__.update(scale=FIRST, other=0)
    f = made("def f(y: pto.Ptr[pto.i64]):\n    y[0] = held.scale + len(seen)\n", held=config, seen=[])
    kernel, y = pto.kernel(target="a5")(f), np.zeros(1, np.int64)
    for k in range(5):
        kernel(y)
        config.other = k  # no code of the kernel reads it
        f.__globals__["seen"] = []  # another list that holds the same
        f.__globals__["unused"] = k
    assert len(traced) == 1
    for scale in (1, 2, 1, 2):
        config.scale = scale
        kernel(y)
        assert y[0] == scale
    assert len(traced) == 3
