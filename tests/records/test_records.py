"""Classes made here are those that the standard library makes of the same text."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import itertools
import pickle
from dataclasses import FrozenInstanceError, field
from typing import Any

import pytest

from ptokit.records import dataclass
from tests.each import each

PLAIN = "x: int\ny: str = 'y'\nz: list = field(default_factory=list)"
BODIES = {
    "nothing": "pass",
    "one field": "x: int",
    "defaults": PLAIN,
    "left out": "x: int\ny: int = field(default=0, repr=False, compare=False)\nz: int = field(default=1, init=False)",
    "made inside": "x: int\nz: list = field(default_factory=list, init=False)",
    "named only": "x: int = 0\ny: int = field(default=2, kw_only=True)\nz: int = field(default=3, hash=False)",
    "own methods": "x: int\ndef __repr__(self): return 'own'\ndef __eq__(self, other): return True",
    "own hash": "x: int\ndef __hash__(self): return 5",
    "checked": "x: int\ndef __post_init__(self):\n  if self.x < 0: raise ValueError(self.x)",
    "own init": "x: int\ndef __init__(self, a): object.__setattr__(self, 'x', a)",
    "constant": "LIMIT = 5\nx: int",
}
OPTIONS = [
    dict.fromkeys(chosen, True) | more
    for chosen in itertools.chain.from_iterable(itertools.combinations(("frozen", "slots"), n) for n in range(3))
    for more in ({}, {"eq": False})
]
VALUES = [(), (1,), (1, "b"), (-1,), ("a", 2, 3)]


def made(body: str, options: dict[str, Any], decorator: Any) -> Any:
    text = "@decorator(**options)\nclass C:\n" + "\n".join(f"  {line}" for line in body.splitlines())
    names: dict[str, Any] = {"decorator": decorator, "options": options, "field": field, "__name__": __name__}
    exec(text, names)
    return names["C"]


def outcome(do: Any) -> Any:
    """What a function gives, or the error that it raises."""
    try:
        return do()
    except (TypeError, ValueError, AttributeError) as error:
        return type(error), str(error) if isinstance(error, FrozenInstanceError | ValueError) else ""


def told(cls: Any) -> list[Any]:
    """What can be seen of a class by using it."""
    found: list[Any] = [getattr(cls, "__match_args__", None), "__slots__" in vars(cls), cls.__hash__ is None]
    found.append([(p.name, p.kind) for p in inspect.signature(cls).parameters.values()])
    objects = []
    for values in VALUES:
        one = outcome(lambda values=values: cls(*values))
        if isinstance(one, cls):
            objects.append(one)
            found.append([repr(one).split(" at ")[0], outcome(lambda one=one: dataclasses.asdict(one))])
        else:
            found.append(one)
    for a, b in itertools.product(objects, repeat=2):
        found.append((a == b, a != b, a == 1))
    for one in objects:
        if hasattr(cls, "__eq__") and cls.__eq__ is not object.__eq__:
            found.append(outcome(lambda one=one: hash(one)))
        found.append(outcome(lambda one=one: repr(dataclasses.replace(one)) == repr(one)))
        # Names without a field: the standard one raises TypeError for frozen slots in Python 3.11, later as it should.
        found.append(outcome(lambda one=one: setattr(one, "other", 3)) is None)
        for change in (lambda one=one: setattr(one, "x", 3), lambda one=one: delattr(one, "x")):
            done = outcome(change)
            found.append(done if "x" in cls.__dataclass_fields__ else done is None)
        found.append(outcome(lambda one=one: repr(copy.copy(one)) == repr(one)))
    return found


@each("options", OPTIONS, ids=lambda o: ",".join(f"{k}={v}" for k, v in o.items()) or "none")
@each("body", BODIES.values(), ids=BODIES)
def test_as_the_standard_one(body: str, options: dict[str, Any]) -> None:
    wanted = outcome(lambda: told(made(body, options, dataclasses.dataclass)))
    assert outcome(lambda: told(made(body, options, dataclass))) == wanted
    assert isinstance(wanted, list) or options.get("slots")


@dataclass(frozen=True, slots=True)
class Point:
    """For pickle."""

    x: int
    y: tuple[int, ...] = ()


@dataclass(frozen=True)
class Named(Point):
    """Fields of its own after those of another."""

    name: str = ""


def test_frozen_objects_travel() -> None:
    for one in (Point(1, (2, 3)), Named(1, (), "n")):
        assert pickle.loads(pickle.dumps(one)) == one
        assert copy.deepcopy(one) == one


def test_inheritance() -> None:
    assert repr(Named(1, name="n")) == "Named(x=1, y=(), name='n')"
    assert Named(1) != Point(1)
    assert len({Named(1), Named(1), Named(2)}) == 2
    with pytest.raises(FrozenInstanceError):
        Named(1).x = 2  # type: ignore[misc]


def test_what_contains_itself_can_be_shown() -> None:
    @dataclass
    class Chain:
        next: Any = None

    chain = Chain()
    chain.next = chain
    assert repr(chain).endswith("(next=...)")


def test_without_parentheses_and_documentation() -> None:
    @dataclass
    class Bare:
        x: int = 1

    assert Bare() == Bare(1)
    assert Bare.__doc__ == "Bare"
