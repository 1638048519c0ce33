"""Steps about arrays and structs of the scalar unit: lists whose items may be lists."""

from __future__ import annotations

import math
from typing import Any

from ptokit.ir.core import Op
from ptokit.types.rounding import FLOAT_TYPES
from ptokit.types.values import EventIdArray, LocalArray, Scalar, Struct

from .operands import Operands
from .steps import Data, Step


def array(p: Operands, op: Op) -> list[Step]:
    array = op.result.type
    assert isinstance(array, LocalArray)
    given = (Data(_zero(array.element)), Data(math.prod(array.dims)))
    return [Step(op, "several", given, ("value", "count"), (op.result,))]


def events(p: Operands, op: Op) -> list[Step]:
    array = op.result.type
    assert isinstance(array, EventIdArray)
    return [Step(op, "several", (Data(0), Data(array.size)), ("value", "count"), (op.result,))]


def event(p: Operands, op: Op) -> list[Step]:
    array = op["array"].type
    assert isinstance(array, EventIdArray)
    given = (p.ref(op["array"]), (p.ref(op["index"]),), Data((array.size,)), Data("the event ids"))
    names = ("array", "indices", "sizes", "what")
    if op.results:
        return [Step(op, "element", given, names, (op.result,))]
    return [Step(op, "set_element", (*given, p.ref(op["event"])), (*names, "value"))]


def element(p: Operands, op: Op) -> list[Step]:
    array = op["array"].type
    assert isinstance(array, LocalArray)
    given = (p.ref(op["array"]), p.refs(op.group("indices")), Data(array.dims), Data("the array"))
    names = ("array", "indices", "sizes", "what")
    if op.results:
        return [Step(op, "element", given, names, (op.result,))]
    return [Step(op, "set_element", (*given, p.ref(op["value"])), (*names, "value"))]


def struct(p: Operands, op: Op) -> list[Step]:
    assert isinstance(op.result.type, Struct)
    return [Step(op, "record", (Data(_zero(op.result.type)),), ("value",), (op.result,))]


def field(p: Operands, op: Op) -> list[Step]:
    given = (p.ref(op["source"]), Data(tuple(op.attrs["path"])))
    if op.results:
        return [Step(op, "field", given, ("source", "path"), (op.result,))]
    return [Step(op, "set_field", (*given, p.ref(op["value"])), ("source", "path", "value"))]


def _zero(kind: Scalar | Struct) -> Any:
    if isinstance(kind, Struct):
        return [_zero(field) for field in kind.fields]
    return 0.0 if kind.name in FLOAT_TYPES else 0
