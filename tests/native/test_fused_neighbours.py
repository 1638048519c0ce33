"""Neighbouring instructions become one loop: tiles on the same bytes, of other shapes and types, keep their order."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.run import compile_program
from ptokit.targets import A5

pytest.importorskip("llvmlite")

WHOLE = "!pto.tile_buf<vec, 32x128xi32>"
VIEW = "!pto.tensor_view<32x128xi32>"
PART = "!pto.partition_tensor_view<32x128xi32>"
SHAPES = ((16, 16), (16, 32), (32, 16), (16, 64), (64, 16))
"""Of tiles of which 16 rows and columns are valid: the same domain with other pitches."""


def kernel(tiles: list[tuple[str, int, int, int]], steps: list[str]) -> str:
    """Tiles (element, rows, columns, address), and steps that name them ``{0}``, on the first bytes of the buffer."""
    types = [f"!pto.tile_buf<vec, {rows}x{cols}x{of}, valid=16x16>" for of, rows, cols, _ in tiles]
    lines = []
    for k, (type, (*_, address)) in enumerate(zip(types, tiles)):
        lines += [f"%a{k} = arith.constant {address} : i64", f"%t{k} = pto.alloc_tile addr = %a{k} : {type}"]
    for step in steps:
        word, *given = step.split()
        *ins, out = map(int, given)
        of = tiles[out][0]
        if len(ins) == 1:
            operands = f"%t{ins[0]}, %one_{of} : {types[ins[0]]}, {of}"
        else:
            operands = f"%t{ins[0]}, %t{ins[1]} : {types[ins[0]]}, {types[ins[1]]}"
        lines.append(f"pto.{word} ins({operands}) outs(%t{out} : {types[out]})")
    body = "\n".join(lines)
    return f"""module attributes {{pto.target_arch = "a5"}} {{
      func.func @k(%y: !pto.ptr<i32>) attributes {{pto.entry}} {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %rows = arith.constant 32 : index
        %cols = arith.constant 128 : index
        %one_i32 = arith.constant 70001 : i32
        %one_i16 = arith.constant 301 : i16
        %zero = arith.constant 0 : i64
        %all = pto.alloc_tile addr = %zero : {WHOLE}
        %v = pto.make_tensor_view %y, shape = [%rows, %cols], strides = [%cols, %c1] : {VIEW}
        %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%rows, %cols] : {VIEW} -> {PART}
        pto.tload ins(%p : {PART}) outs(%all : {WHOLE})
        {body}
        pto.tstore ins(%all : {WHOLE}) outs(%p : {PART})
        return
      }}
    }}"""


def compare(tiles: list[tuple[str, int, int, int]], steps: list[str]) -> None:
    text = kernel(tiles, steps)
    read = parse_module(text)
    assert [str(d) for d in read.diagnostics] == [], text
    program = compile_program(read.module, A5)
    start = np.random.default_rng(7).integers(-(1 << 31), 1 << 31, (32, 128)).astype(np.int32)
    found = {}
    for backend in ("numpy", "native"):
        found[backend] = start.copy()
        program.launch([found[backend]], 1, backend=backend)
    assert np.array_equal(found["numpy"], found["native"]), text


def test_a_register_is_not_what_was_written_as_another_type() -> None:
    """The bytes of tile 0 are written as tile 1 between two reads of it."""
    tiles = [("i32", 16, 16, 0), ("ui32", 16, 16, 0), ("i32", 16, 16, 4096), ("i32", 16, 16, 8192)]
    tiles.append(("ui32", 16, 16, 12288))
    compare(tiles, ["tadds 0 2", "tadd 4 4 1", "tadds 0 3"])
    compare(tiles, ["tadds 0 2", "tadd 4 4 1", "tadd 0 2 3"])


@pytest.mark.parametrize("steps", [["tadds 0 2", "tadds 3 1"], ["tadds 1 3", "tadds 2 0"]])
def test_elements_of_other_sizes_at_one_address(steps: list[str]) -> None:
    """One step reads the narrow elements, the next writes wide ones over them, and the other way round."""
    compare([("i16", 16, 16, 0), ("i32", 16, 16, 0), ("i16", 16, 16, 8192), ("i32", 16, 16, 12288)], steps)


@pytest.mark.parametrize("address", [32, 64, 128, 960])
def test_a_destination_shifted_over_what_a_neighbour_reads(address: int) -> None:
    tiles = [("i32", 16, 16, 0), ("i32", 16, 16, address), ("i32", 16, 16, 8192), ("i32", 16, 16, 12288)]
    compare(tiles, ["tadds 0 2", "tadds 3 1"])
    compare(tiles, ["tadds 3 0", "tadds 1 2"])
    compare(tiles, ["tadds 2 0", "tadds 3 1"])


def test_destinations_of_other_pitches_at_one_address() -> None:
    tiles = [("i32", 16, 32, 0), ("i32", 32, 16, 0), ("i32", 16, 16, 8192), ("i32", 16, 16, 12288)]
    compare(tiles, ["tadds 2 0", "tadds 3 1"])
    compare(tiles, ["tadds 2 1", "tadds 3 0"])


def apart(a: tuple[str, int, int, int], b: tuple[str, int, int, int]) -> bool:
    """True if two tiles share no byte, as those of one instruction must, unless they are one."""
    (first, end), (low, high) = ((at, at + rows * cols * int(of[1:]) // 8) for of, rows, cols, at in (a, b))
    return end <= low or high <= first


def random_program(seed: int) -> None:
    rng = random.Random(seed)
    tiles = [
        (rng.choice(["i32", "i32", "i16"]), *rng.choice(SHAPES), 32 * rng.choice([0, 0, 128, 129, rng.randrange(320)]))
        for _ in range(7)
    ]
    steps = []
    for _ in range(rng.randint(3, 8)):
        out = rng.randrange(7)
        fitting = [k for k, t in enumerate(tiles) if t[0] == tiles[out][0] and (k == out or apart(t, tiles[out]))]
        a, b = rng.choices(fitting, k=2)
        steps.append(rng.choice([f"tadds {a} {out}", f"tadd {a} {b} {out}"]))
    compare(tiles, steps)


def test_random_neighbours() -> None:
    for seed in range(25):
        random_program(seed)


@pytest.mark.campaign
def test_many_random_neighbours() -> None:
    for seed in range(1000, 6000):
        random_program(seed)
