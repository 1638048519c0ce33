"""Blocks that run at the same time touch nothing of what others write."""

from __future__ import annotations

import random
from itertools import combinations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.backends.native.program import KINDS, NOTHING, READS, SCALARS, WRITES, apart, argument_words, prepare
from ptokit.run import compile_program
from ptokit.run.arguments import bind_arguments
from ptokit.targets import A5

pytest.importorskip("llvmlite")

Extent = tuple[int, int, int, int]
"""Argument, kind, first and last byte."""


def seen(blocks: list[list[Extent]]) -> np.ndarray:
    out = np.empty((len(blocks), 2, KINDS, 2), np.int64)
    out[..., 0], out[..., 1] = NOTHING
    for k, extents in enumerate(blocks):
        for argument, kind, first, last in extents:
            out[k, argument, kind] = first, last
    return out


def fits(a: list[Extent], b: list[Extent]) -> bool:
    """True if two blocks may run at the same time."""
    for one, other in ((a, b), (b, a)):
        for argument, kind, first, last in one:
            for same, _, low, high in other:
                if kind == WRITES and same == argument and first <= high and low <= last:
                    return False
    return True


def test_ranges_lie_apart() -> None:
    several = 0
    for seed in range(2000):
        rng = random.Random(seed)
        width, step = rng.choice([(1, 1), (4, 3), (4, 4), (2, 3)]), rng.choice([1, 2, 4])
        blocks: list[list[Extent]] = []
        for k in range(rng.randint(2, 7)):
            place = rng.choice([k, k, -k, k // 2]) * step
            extents = [(1, WRITES, place, place + width[0] - 1)]
            if rng.random() < 0.4:
                place = rng.choice([k + 1, k - 1, k, -k, 9]) * step
                extents.append((1, READS, place, place + width[1] - 1))
            if rng.random() < 0.3:
                extents.append((0, READS, 0, 5))
            blocks.append(extents)
        found = apart(seen(blocks), rng.choice([2, 3, 4]))
        several += len(found) > 1
        assert [k for first, last in found for k in range(first, last)] == list(range(len(blocks)))
        for (first, last), (low, high) in combinations(found, 2):
            for a in range(first, last):
                assert all(fits(blocks[a], blocks[b]) for b in range(low, high)), (blocks, found)
    assert several > 200


@pytest.mark.parametrize(("writer", "reader"), [(0, 3), (3, 0), (1, 2)])
def test_a_number_that_any_block_writes_keeps_them_together(writer: int, reader: int) -> None:
    """What the scan has read decides where blocks write, and it may be another number by then."""
    blocks: list[list[Extent]] = [[(0, WRITES, 10 * k, 10 * k + 9)] for k in range(4)]
    blocks[reader].append((1, SCALARS, 0, 7))
    assert apart(seen(blocks), 2) == [(0, 2), (2, 4)]
    blocks[writer].append((1, WRITES, 80, 90))
    assert apart(seen(blocks), 2) == [(0, 4)]


@pytest.mark.parametrize(("gap", "together"), [(0, True), (28, True), (31, True), (32, False)])
def test_an_element_ends_with_its_last_byte(gap: int, together: bool) -> None:
    """Block b writes the 32 bytes from 32 b on as floats, block 0 bytes that begin in, or after, those of block 3."""
    row, bytes_ = "!pto.tensor_view<1x8xf32>", "!pto.tensor_view<1x32xi8>"
    part, one = "!pto.partition_tensor_view<1x8xf32>", "!pto.partition_tensor_view<1x32xi8>"
    tile, small = "!pto.tile_buf<vec, 1x8xf32>", "!pto.tile_buf<vec, 1x32xi8>"
    text = f"""module attributes {{pto.target_arch = "a5"}} {{
      func.func @k(%y: !pto.ptr<f32>) attributes {{pto.entry}} {{
        %id = pto.get_block_idx
        %b = arith.index_cast %id : i64 to index
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        %c32 = arith.constant 32 : index
        %far = arith.constant {3 * 32 + gap} : index
        %t = pto.alloc_tile : {tile}
        %s = pto.alloc_tile : {small}
        %first = arith.muli %b, %c8 : index
        %here = pto.addptr %y, %first : !pto.ptr<f32> -> !pto.ptr<f32>
        %v = pto.make_tensor_view %here, shape = [%c1, %c8], strides = [%c8, %c1] : {row}
        %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%c1, %c8] : {row} -> {part}
        %is = arith.cmpi eq, %b, %c0 : index
        scf.if %is {{
          %bytes = pto.castptr %y : !pto.ptr<f32> -> !pto.ptr<i8>
          %there = pto.addptr %bytes, %far : !pto.ptr<i8> -> !pto.ptr<i8>
          %w = pto.make_tensor_view %there, shape = [%c1, %c32], strides = [%c32, %c1] : {bytes_}
          %q = pto.partition_view %w, offsets = [%c0, %c0], sizes = [%c1, %c32] : {bytes_} -> {one}
          pto.tstore ins(%s : {small}) outs(%q : {one})
        }} else {{
          pto.tstore ins(%t : {tile}) outs(%p : {part})
        }}
        return
      }}
    }}"""
    read = parse_module(text)
    assert [str(d) for d in read.diagnostics] == []
    program = compile_program(read.module, A5)
    made = prepare(program).made
    values = bind_arguments(program.entry, [np.zeros(64, np.float32)], program.effects.written, 4)
    words, buffers = argument_words(program.entry.params, values)
    spans = made._spans(words, buffers, 4, 4)
    assert (len(spans) == 1) is together
