"""Expressions between lanes, against loops over the lanes, and the order of sums."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptokit.isa.meaning.expressions import Before, Bit, Element, Expr, Folded, Listed, Taken
from ptokit.isa.meaning.fold import reduction
from ptokit.isa.meaning.primitives import Order, Stage
from ptokit.isa.meaning.rows import Rows
from ptokit.isa.meaning.words import Lane, Write
from ptokit.isa.site import LanesInfo, PtrInfo, ScalarInfo, VectorInfo, VregInfo
from ptokit.isa.table import TABLE
from ptokit.targets import A5
from ptokit.types.dtypes import DTYPES, i32, i64


def neighbours(x: list[np.float32]) -> np.float32:
    """`Order.NEIGHBOURS` written out."""
    if len(x) == 1:
        return x[0]
    half = 1 << (len(x) - 1).bit_length() - 1
    more = [*x[half:], *[np.float32(0)] * (2 * half - len(x))]
    return neighbours(x[:half]) + neighbours(more)


@given(st.integers(1, 300), st.integers(0, 2**32 - 1))
def test_sums_of_lanes_have_the_stated_order(lanes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal(lanes) * 10.0 ** rng.integers(-12, 12, lanes)).astype(np.float32)
    found = reduction("add", (Stage(Order.NEIGHBOURS),))(x.reshape(1, 1, lanes), 2)
    assert found.item() == neighbours([*x])


def value_of(e: Expr, *, packed: bool = False, lanes: int = 0, **operands: Any) -> np.ndarray:
    """What an expression of vmi.vsel's operands gives."""
    rows = Rows(TABLE["vmi.vsel"])
    kind = DTYPES["i32"]
    run = rows.written(Lane((Write("result", e, packed=packed),), lanes=lanes), dict.fromkeys(("true_value",), kind))
    found: np.ndarray = run(SimpleNamespace(target=A5), **operands)
    return found


X = np.array([[5, -3, 9, 2, 2, -8], [1, 1, 0, 7, -7, 4]], np.int32)
ON = np.array([[True, False, True, True, False, True]])


def test_lanes_by_number_and_lanes_before() -> None:
    taken = value_of(Taken(Element("true_value"), Listed((1, 0, 7, -1, 3, 3), i64)), true_value=X)
    assert taken.tolist() == [[row[k % 6] for k in (1, 0, 7, -1, 3, 3)] for row in X.tolist()]
    assert value_of(Before(Bit("mask"), i32), mask=ON).tolist() == [[0, 1, 1, 2, 3, 3]]


@pytest.mark.parametrize(("op", "fold"), [("add", sum), ("max", max), ("min", min)])
@pytest.mark.parametrize("groups", [1, 2, 3])
def test_folds_of_groups(op: str, fold: Any, groups: int) -> None:
    each = 6 // groups
    found = value_of(Folded(op, Element("true_value"), Bit("mask"), groups), true_value=X, mask=ON)
    for row, block in zip(found.tolist(), X.tolist()):
        for g, value in enumerate(row):
            active = [block[k] for k in range(g * each, g * each + each) if ON[0, k]]
            nothing = {"add": 0, "max": -(2**31), "min": 2**31 - 1}[op]
            assert value == (fold(active) if active else nothing)


@pytest.mark.parametrize(("op", "fold"), [("and", all), ("or", any)])
def test_folds_of_conditions(op: str, fold: Any) -> None:
    found = value_of(Folded(op, Bit("mask"), None, 2), packed=True, mask=ON)
    assert found.tolist() == [[fold(ON[0, :3]), fold(ON[0, 3:])]]


def test_codes_are_not_computed_with() -> None:
    """The verifiers let some operations on pairs of 4-bit numbers pass, for which no arithmetic is stated."""
    vector = VectorInfo("v", next(iter(TABLE["vcvt"].types["a5"] - set(DTYPES.values()))), 4, "")
    types = dict.fromkeys(("x", "alpha", "result"), vector) | {"mask": LanesInfo("m", 4, "", "")}
    said: list[str] = []
    machine = SimpleNamespace(target=A5, refuse=lambda rule, message: said.append(rule))
    run = TABLE["vmi.vprelu"].run
    assert run is not None
    codes = np.zeros((1, 4), np.uint8)
    run(machine, codes, codes, np.ones((1, 4), bool), types=types, pmode=None)
    assert said == ["TEXT-UNIMPLEMENTED"]


def test_known_lanes_and_known_numbers() -> None:
    """Attributes of the generic form, which only some sites have."""
    machine = SimpleNamespace(target=A5)
    types = {"source": VectorInfo("s", i32, 6, ""), "result": VectorInfo("r", i32, 2, "")}
    shuffle, constant = TABLE["vmi.shuffle"].run, TABLE["vmi.constant"].run
    assert shuffle is not None
    assert constant is not None
    assert shuffle(machine, X, types=types, indices="array<i64: 4, 0>").tolist() == [[2, 5], [-7, 1]]
    of = {"result": types["result"]}
    assert constant(machine, types=of, value="dense<[1, -2]> : vector<2xi32>").tolist() == [[1, -2]]
    assert constant(machine, types=of, value="dense<7> : vector<2xi32>").tolist() == [[7, 7]]


@pytest.mark.parametrize("count", [-3, np.array([[-3]])])
def test_a_negative_number_of_lanes_gathers_nothing(count: Any) -> None:
    """For all blocks as for each of several."""
    seen: list[Any] = []

    def gather(pointer: Any, places: Any, width: int, keep: np.ndarray, *_: Any) -> np.ndarray:
        seen.append(keep)
        return np.zeros((1, 64, 4), np.uint8)

    register, pointer = VregInfo("r", i32, 64), PtrInfo("p", i32, "ub")
    types = {"src": pointer, "offsets": register, "active_lanes": ScalarInfo("n", "index"), "dst": register}
    run = TABLE["vgather2"].run
    assert run is not None
    run(SimpleNamespace(target=A5, gather=gather), None, np.zeros((1, 64), np.int32), None, count, types=types)
    assert not seen[0].any()
