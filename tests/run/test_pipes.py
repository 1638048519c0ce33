"""Pipes between a cube core and its vector cores: values, and what happens when one fills or starves."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import Diagnostic, DiagnosticError
from ptokit.ir.launch import Query
from ptokit.run import Program, compile_program
from ptokit.targets import target
from tests.each import each

from .pipe_texts import arrays, expected, text


def program(source: str, on: str, entry: str | None = None, vector_cores: int = 2) -> Program:
    read = parse_module(source, "k.pto", target=target(on))
    read.diagnostics.raise_if_errors()
    return compile_program(read.module, target(on), entry=entry, vector_cores=vector_cores)


def run(way: str, split: int, on: str, vector_cores: int = 2, **more: object) -> tuple[np.ndarray, np.ndarray]:
    """(y, what it must be)."""
    args = arrays()
    program(text(way, split, on=on, **more), on, vector_cores=vector_cores).launch(args)  # type: ignore[arg-type]
    return args[3], expected(way, args)


def refused(source: str, on: str = "a5", vector_cores: int = 2) -> list[Diagnostic]:
    with pytest.raises(DiagnosticError) as error:
        program(source, on, vector_cores=vector_cores).launch(arrays())
    return list(error.value.diagnostics)


@each("slots", [None, 1, 2])
@each("internal", [False, True])
@each("split", [0, 1, 2])
@each("on", ["a2a3", "a5", "cpu"])
@each("way", ["c2v", "v2c"])
def test_tiles_go_through(way: str, on: str, split: int, internal: bool, slots: int | None) -> None:
    got, want = run(way, split, on, internal=internal, slots=slots)
    assert (got == want).all()


@each("split", [0, 1, 2])
@each("way", ["c2v", "v2c"])
def test_a5_has_pipes_through_global_memory(way: str, split: int) -> None:
    got, want = run(way, split, "a5", memory=True, internal=way == "v2c")
    assert (got == want).all()


@each("on", ["a2a3", "a5"])
@each("split", [3, 4])
def test_the_first_vector_core_takes_the_larger_half_of_an_odd_size(split: int, on: str) -> None:
    got, want = run("c2v", split, on, memory=True)
    tiles, answers = got.reshape(-1, 32, 32), want.reshape(-1, 32, 32)
    valid = (slice(None), slice(0, 31)) if split == 3 else (slice(None), slice(None), slice(0, 31))
    assert (tiles[valid] == answers[valid]).all()
    rest = (slice(None), slice(31, 32)) if split == 3 else (slice(None), slice(None), slice(31, 32))
    assert (tiles[rest] == -1).all()


@each("on", ["a2a3", "a5"])
@each("way", ["c2v", "v2c"])
def test_whole_tiles_need_one_vector_core(way: str, on: str) -> None:
    got, want = run(way, 0, on, vector_cores=1)
    assert (got == want).all()


def test_halves_need_two() -> None:
    (found,) = refused(text("c2v", 1), vector_cores=1)
    assert (found.rule, found.location.line) == ("PIPE-LANES", 26)


def test_blocks_have_pipes_of_their_own() -> None:
    args = arrays()
    program(text("c2v", 1), "a5").launch(args, 3)
    assert (args[3] == expected("c2v", args)).all()


@each("entry", [None, "k", "k_aic", "k_aiv"])
def test_either_name_chooses_both_functions(entry: str | None) -> None:
    args = arrays()
    found = program(text("c2v", 1), "a5", entry=entry)
    found.launch(args)
    assert found.name == "k"
    assert (args[3] == expected("c2v", args)).all()


def test_the_same_twice_gives_the_same_bytes() -> None:
    kernel = program(text("v2c", 2), "a5")
    first, second = arrays(), arrays()
    kernel.launch(first)
    kernel.launch(second)
    assert all((a == b).all() for a, b in zip(first, second))


# ----------------------------------------------------------------- what never ends


@each("way", ["c2v", "v2c"])
def test_a_consumer_that_frees_nothing_starves_the_producer(way: str) -> None:
    (found,) = refused(text(way, 1, slots=2, frees=False))
    who = "cube core" if way == "c2v" else "vector core 0"
    other = "vector cores 0 and 1 have" if way == "c2v" else "the cube core has"
    slot = f'a free slot of pipe "fifo": {other} not freed any of the 2'
    assert found.rule == "DEADLOCK"
    assert f"block 0, {who} waits here for {slot}" in (found.message + " ".join(n.message for n in found.notes))
    assert {note.location is not None for note in found.notes} == {True}


def test_a_consumer_waits_for_more_than_is_pushed() -> None:
    source = text("v2c", 0, pops=6).replace("shape = [%c160", "shape = [%c192")
    args = [*arrays()[:3], np.zeros((192, 32), np.float32)]
    source = source.replace(
        "%c160 = arith.constant 160", "%c192 = arith.constant 192 : index\n%c160 = arith.constant 160"
    )
    with pytest.raises(DiagnosticError) as error:
        program(source, "a5").launch(args)
    (found,) = error.value.diagnostics
    assert found.rule == "DEADLOCK"
    assert found.message == (
        'deadlock: block 0, cube core waits here for entry 5 of pipe "fifo", which vector core 0 has not pushed'
    )


# ----------------------------------------------------------------- slots


def test_a_tile_has_to_fit_into_a_slot() -> None:
    (found,) = refused(text("c2v", 0).replace("slot_size = 4096", "slot_size = 2048"))
    assert found.rule == "PIPE-SLOT"
    assert found.message == 'the tile has 4096 bytes, a slot of pipe "fifo" 2048'


def test_of_a_tile_only_what_is_valid_goes_into_a_slot() -> None:
    """As device tests push strips of an accumulator (a5, tpushpop_cv_nosplit, cases 4 and 5)."""
    source = (
        text("c2v", 0).replace("slot_size = 4096", "slot_size = 2048").replace("<vec, 32x32xf32>", "<vec, 16x32xf32>")
    )
    for tile in ("left, 32x32xf16", "acc, 32x32xf32"):
        source = source.replace(tile, f"{tile}, valid=16x32")
    head, mark, rest = source.partition("%y_p = ")
    rest = rest.replace("sizes = [%c32, %c32]", "sizes = [%c16, %c32]", 1).replace(
        "_view<32x32xf32>", "_view<16x32xf32>"
    )
    args = arrays()
    program(head + mark + rest, "a5").launch(args)
    upper = np.arange(160) % 32 < 16
    assert (args[3][upper] == expected("c2v", args)[upper]).all()


def test_slots_have_to_fit_into_what_is_reserved() -> None:
    (found,) = refused(text("c2v", 0).replace("size = 32768, location", "size = 8192, location"))
    assert found.rule == "PIPE-SLOT"
    assert found.message == 'slot 2 of pipe "fifo" ends at byte 12288 of 8192 reserved ones'


# ----------------------------------------------------------------- what each core supplies


def test_cores_supply_their_own_numbers() -> None:
    source = """
func.func @k(%y: !pto.ptr<i32>, %block: i32, %blocks: i64, %i: index) attributes {pto.entry} {
  pto.store_scalar %block, %y[%i] : !pto.ptr<i32>, i32
  return
}
"""
    kernel, y = program(source, "a5"), np.zeros(4, np.int32)
    kernel.launch([y, Query.BLOCK_IDX, Query.BLOCK_NUM, Query.BLOCK_IDX], 4)
    assert y.tolist() == [0, 1, 2, 3]


def test_an_array_is_no_number_of_a_core() -> None:
    source = "func.func @k(%y: !pto.ptr<i32>) attributes {pto.entry} {\n  return\n}\n"
    with pytest.raises(DiagnosticError) as error:
        program(source, "a5").launch([Query.BLOCK_IDX])
    assert [d.rule for d in error.value.diagnostics] == ["RUN-ARG-TYPE"]
