"""Functions that choose between numbers or round them: minimum, maximum, cdiv, select."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ptokit.types.values import F32, I1, INDEX
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .scalar import Scalar, binary, common_type, integer, materialize, number, number_type, plain
from .trace import current
from .where import refusal


def _extreme(name: str, what: str, choose: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if number_type(a) is None and number_type(b) is None:
        return choose(plain(a), plain(b))
    if isinstance(a, Scalar) and isinstance(b, Scalar) and a.value is b.value:
        return a
    if common_type(a, b, what).is_float:
        return binary(f"arith.{name}imumf", what, a, b)
    return binary(f"arith.{name}si", what, a, b)


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two numbers; NaN if one is."""
    return _extreme("min", "pto.minimum", min, a, b)


def maximum(a: Any, b: Any) -> Any:
    """The larger of two numbers; NaN if one is."""
    return _extreme("max", "pto.maximum", max, a, b)


def cdiv(a: Any, b: Any) -> Any:
    """Quotient of two integers, rounded up."""
    if number_type(a) is None and number_type(b) is None:
        return -(-plain(a) // plain(b))
    return integer("arith.ceildivsi", "pto.cdiv", a, b)


def select(condition: Any, a: Any, b: Any) -> Any:
    """`a` where the condition holds, else `b`; both are computed."""
    if number_type(condition) is None:
        return plain(a if condition else b)
    if number_type(condition) != I1:
        kind = number_type(condition)
        raise refusal(rules.SCALAR, f"pto.select needs a condition, not {kind}", hint="compare it: x != 0")
    type = _selected_type(a, b)
    operands = {"condition": materialize(condition, I1), "true": materialize(a, type), "false": materialize(b, type)}
    return number(current("pto.select").emit("arith.select", operands, results=[type]).result)


def _selected_type(a: Any, b: Any) -> ScalarType:
    if number_type(a) is not None or number_type(b) is not None:
        return common_type(a, b, "pto.select")
    return F32 if isinstance(plain(a), float) or isinstance(plain(b), float) else INDEX
