"""How the steps of a plan stand to each other."""

from __future__ import annotations

import pytest

from ptokit.plan.effects import loaded, stored
from ptokit.plan.steps import Data, FunctionPlan, Relations, Step, values_of

from .kernels import PTRS, VIEWS, compiled, load, part, store
from .test_plan import programs

BODY = (
    VIEWS
    + part("p", "%xv", "%c0")
    + "    scf.for %i = %c0 to %rows step %c2 {\n      %j = arith.addi %i, %rows : index\n"
    + part("q", "%yv", "%j")
    + load("%t", "%p")
    + store("%t", "%q")
    + "    }\n"
)


def planned(body: str) -> FunctionPlan:
    return compiled(PTRS, body).plan.functions["k"]


def only(function: FunctionPlan, word: str, number: int = 0) -> Step:
    return [step for step in function.walk() if step.word == word][number]


def test_who_gives_and_who_takes_a_value() -> None:
    function = planned(BODY)
    found, tile, loop = Relations(function), only(function, "tile"), only(function, "for")
    first, second = (only(function, "instruction", k) for k in (0, 1))
    assert found.maker[tile.result] is tile
    assert found.users[tile.result] == [first, second]
    assert found.around(loop.regions[0][0].args[0]) is loop
    assert found.around(function.function.params[0]) is None
    assert found.users[loop.regions[0][0].args[0]] == [only(function, "compute", 1)]


def test_where_a_step_stands() -> None:
    function = planned(BODY)
    found, loop, move = Relations(function), only(function, "for"), only(function, "instruction", 1)
    (body,) = function.body
    assert found.places[move] == (loop.regions[0][0], loop.regions[0][0].steps.index(move))
    assert found.place_in(move, body) == body.steps.index(loop)
    assert found.place_in(loop, loop.regions[0][0]) is None
    assert found.owners[loop.regions[0][0]] is loop
    assert body not in found.owners
    assert only(function, "tile") not in found.places  # it is made before all else


def test_operands_by_name() -> None:
    function = planned(BODY)
    slices = only(function, "slice", 1)
    assert slices["source"] is only(function, "view", 1).result
    offset, zero = slices.group("offsets")
    assert offset is only(function, "compute", 1).result
    assert (zero, zero.type) == (Data(0), offset.type)
    assert (slices.get("offsets"), slices.get("packed"), slices.group("packed")) == (None, None, ())
    with pytest.raises(KeyError):
        slices["packed"]


def test_operands_have_no_form_where_they_are_asked_for_by_name() -> None:
    body = "    %v = pto.alloc_tile : !pto.tile_buf<vec, 8x16xf32>\n    %w = arith.index_cast %b : index to i64\n"
    body += "    %f = arith.sitofp %w : i64 to f32\n"
    body += "    pto.tadds ins(%v, %f : !pto.tile_buf<vec, 8x16xf32>, f32) outs(%v : !pto.tile_buf<vec, 8x16xf32>)\n"
    function = planned(body)
    step = only(function, "instruction")
    assert step["scalar"] is only(function, "compute", 2).result
    assert step["scalar"] in step.values


def test_steps_touch_what_their_operations_do() -> None:
    for program in programs():
        for function in program.plan.functions.values():
            for step in function.walk():
                if step.word == "instruction":
                    assert (stored(step), loaded(step)) == (stored(step.op), loaded(step.op))
                elif step.word == "store_scalar":
                    assert stored(step) == stored(step.op)
                elif step.word == "load_scalar":
                    assert loaded(step) == loaded(step.op)


def test_every_value_has_one_origin() -> None:
    for program in programs():
        for function in program.plan.functions.values():
            found = Relations(function)
            for step in function.walk():
                for value in values_of(step.operands):
                    origins = [value in found.maker, value in found.takes, value in function.function.params]
                    assert sum(origins[:2]) == 1 or origins[2], value


def test_what_a_branch_hands_over_is_taken() -> None:
    body = (
        "    %w = arith.index_cast %rows : index to i64\n    cf.br ^next(%w : i64)\n  ^next(%v: i64):\n"
        "    %u = arith.addi %v, %v : i64\n"
    )
    function = planned(body)
    found, branch = Relations(function), only(function, "branch")
    given, (argument,) = only(function, "compute", 1), function.body[1].args
    assert (given.name, found.users[given.result]) == ("index_cast", [branch])
    assert found.regions[function.body[1]] == function.body
    assert found.takes[argument] is function.body[1]
