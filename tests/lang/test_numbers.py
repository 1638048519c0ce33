"""Arithmetic on the numbers of a kernel."""

from collections.abc import Callable
from typing import Any

import pytest

import ptokit as pto
from ptokit import Ptr, f32

from .support import kernel, ops


def traced(fn: Callable[[Any], Any], annotation: Any = int) -> tuple[Any, list[str]]:
    """What an expression of a traced number is, and the arithmetic left of it when it is used."""
    found: list[Any] = []

    def f(y: Ptr[f32], n: annotation):
        value = fn(n)
        found.append(value)
        if isinstance(value, pto.Scalar):
            y[0] = pto.cast(value, f32)

    k = kernel(f)
    used = [op.name for op in ops(k, "arith") if op.name not in ("arith.constant", "arith.index_cast", "arith.sitofp")]
    return found[0], used


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (lambda n: (n + 64) - n, 64),
        (lambda n: (n * 8 + 8) - n * 8, 8),
        (lambda n: n - n, 0),
        (lambda n: 3 * n - n - 2 * n + 1, 1),
        (lambda n: n * 0, 0),
        (lambda n: -n + n, 0),
        (lambda n: pto.minimum(3, 5), 3),
        (lambda n: pto.cdiv(65, 64), 2),
    ],
)
def test_affine_differences_are_python_integers(expression: Callable[[Any], Any], value: int) -> None:
    result, used = traced(expression)
    assert type(result) is int
    assert result == value
    assert used == []


@pytest.mark.parametrize(
    ("expression", "operations"),
    [
        (lambda n: n + 0, []),
        (lambda n: n * 1, []),
        (lambda n: (n + 5) - 5, []),
        (lambda n: 2 * n - n, []),
        (lambda n: pto.minimum(n, n), []),
        (lambda n: n + 64, ["addi"]),
        (lambda n: 64 - n, ["subi"]),
        (lambda n: n // 3, ["floordivsi"]),
        (lambda n: n % 3, ["floordivsi", "muli", "subi"]),
        (lambda n: n % 16, ["andi"]),
        (lambda n: pto.minimum(n, 5) * pto.maximum(n, 2), ["minsi", "maxsi", "muli"]),
        (lambda n: pto.cdiv(n, 4), ["ceildivsi"]),
        (lambda n: (n << 2) | (n >> 1) & ~n, ["shli", "shrsi", "xori", "andi", "ori"]),
        (lambda n: pto.select(n > 3, n, 7), ["cmpi", "select"]),
    ],
)
def test_arithmetic_is_recorded(expression: Callable[[Any], Any], operations: list[str]) -> None:
    assert traced(expression)[1] == [f"arith.{name}" for name in operations]


@pytest.mark.parametrize(
    ("expression", "operations"),
    [
        (lambda s: s + 1, ["addf"]),
        (lambda s: 1 - s, ["subf"]),
        (lambda s: s * 2.5 / s, ["mulf", "divf"]),
        (lambda s: -s, ["mulf"]),
        (lambda s: pto.maximum(s, 0.0), ["maximumf"]),
        (lambda s: pto.select(s < 1.0, s, 1.0), ["cmpf", "select"]),
    ],
)
def test_float_arithmetic_is_recorded(expression: Callable[[Any], Any], operations: list[str]) -> None:
    assert traced(expression, float)[1] == [f"arith.{name}" for name in operations]


def test_unused_arithmetic_leaves_nothing() -> None:
    def f(n: int):
        _ = (n * 3 + 1) // 7
        pto.BaseShape2D(f32, n, n)

    assert [op.name for op in ops(kernel(f))] == ["func.return"]


def test_constants_are_made_once_at_the_beginning() -> None:
    def f(y: Ptr[f32]):
        for i in pto.range(4):
            with pto.if_(i == 2):
                y[i * 7] = 1.5
                y[i * 7 + 2] = 1.5

    body = kernel(f).trace().functions[0].body
    names = [op.name for op in body.ops]
    constants = [op.attrs["value"] for op in body.walk() if op.name == "arith.constant"]
    assert names == ["arith.constant"] * len(constants) + ["scf.for", "func.return"]
    assert sorted(constants) == [0, 1, 1.5, 2, 4, 7]


@pytest.mark.parametrize(
    ("source", "to", "operations"),
    [
        ("index", "i32", ["index_cast"]),
        ("index", "f32", ["index_cast", "sitofp"]),
        ("f32", "index", ["fptosi", "index_cast"]),
        ("f32", "f16", ["truncf"]),
        ("f16", "f32", ["extf"]),
        ("i8", "i32", ["extsi"]),
        ("i64", "i16", ["trunci"]),
        ("i1", "i32", ["extui"]),
        ("ui8", "index", ["index_castui"]),
        ("i32", "i32", []),
    ],
)
def test_casts(source: str, to: str, operations: list[str]) -> None:
    scalar = pto.lang.scalar.ScalarType

    def f(p: scalar(source), q: Ptr[f32]):
        value = pto.cast(p, scalar(to))
        assert value.type.name == to
        with pto.if_(value == 1):
            q[0] = 1.0

    k = kernel(f)
    used = [op.name.removeprefix("arith.") for op in ops(k, "arith") if op.name[6:9] not in ("con", "cmp")]
    assert used == operations


def test_block_queries_are_indices() -> None:
    def f(y: Ptr[f32]):
        queries = (pto.get_block_idx, pto.get_block_num, pto.get_subblock_idx, pto.get_subblock_num)
        for query in queries:
            y[query()] = 1.0

    assert [op.name for op in ops(kernel(f), "pto.get")] == [
        "pto.get_block_idx",
        "pto.get_block_num",
        "pto.get_subblock_idx",
        "pto.get_subblock_num",
    ]
