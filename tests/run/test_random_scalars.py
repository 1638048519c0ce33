"""Random arithmetic: blocks together, blocks alone and exact models agree to the bit."""

from __future__ import annotations

import numpy as np
import pytest

from .arithmetic import compiled
from .random_scalars import ScalarProgram


def check(seed: int) -> None:
    made = ScalarProgram(seed)
    launch = compiled(made.text).launch
    alone = made.run(launch, 1)
    assert made.agrees(alone), seed
    for chunk in (2, None):
        assert (made.run(launch, chunk) == alone).all(), (seed, chunk)


@pytest.mark.parametrize("start", range(0, 300, 50))
def test_random_arithmetic(start: int) -> None:
    for seed in range(start, start + 50):
        check(seed)


PATTERNS = np.array([0, 1 << 31, 0, 1 << 31, 0x7FC00000, 0xFFC00001, 0x7F800001, 0x7FC00000], np.uint32)
"""Zeros of both signs, NaN of four kinds."""


def by_block(body: str, chunk: int | None, pattern: np.ndarray = PATTERNS) -> list[int]:
    """Bits of 8 floats for each of 8 blocks, made of a float %v for each."""
    text = f"""func.func @f(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>) {{
        %id = pto.get_block_idx
        %b = arith.index_cast %id : i64 to index
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        %yv = pto.make_tensor_view %y, shape = [%c8, %c8], strides = [%c8, %c1] : !pto.tensor_view<8x8xf32>
        %p = pto.partition_view %yv, offsets = [%b, %c0], sizes = [%c1, %c8] :
          !pto.tensor_view<8x8xf32> -> !pto.partition_tensor_view<1x8xf32>
        %t = pto.alloc_tile : !pto.tile_buf<vec, 1x8xf32>
        %v = pto.load_scalar %x[%b] : !pto.ptr<f32> -> f32
        {body}
        pto.tstore ins(%t : !pto.tile_buf<vec, 1x8xf32>) outs(%p : !pto.partition_tensor_view<1x8xf32>)
        return
    }}"""
    y = np.zeros((8, 8), np.float32)
    compiled(text).launch([pattern.view(np.float32), y], 8, chunk=chunk)
    return y.view(np.uint32)[:, -1].tolist()


FILL = "pto.texpands ins({} : f32) outs(%t : !pto.tile_buf<vec, 1x8xf32>)"
SET = "pto.tsetval ins(%c0, {} : index, f32) outs(%t : !pto.tile_buf<vec, 1x8xf32>)"
GET = "%g = pto.tgetval ins(%t, %c0 : !pto.tile_buf<vec, 1x8xf32>, index) outs : f32"


@pytest.mark.parametrize("body", [FILL.format("%v"), FILL.format("%v") + f"\n{GET}\n" + FILL.format("%g")])
@pytest.mark.parametrize("chunk", [1, 2, 3, None])
def test_blocks_that_differ_in_the_sign_of_zero_or_the_bits_of_nan(body: str, chunk: int | None) -> None:
    found = by_block(body, chunk)
    assert found[:4] == PATTERNS[:4].tolist()
    assert all(np.isnan(np.array(found[4:], np.uint32).view(np.float32)))
    assert found == by_block(body, 1)


def test_blocks_that_disagree_on_an_index_out_of_a_nan() -> None:
    """The same NaN in all blocks is one value, and a branch on it no disagreement."""
    body = "%n = arith.cmpf uno, %v, %v : f32\nscf.if %n {\n" + FILL.format("%v") + "\n}"
    assert by_block(body, None) == by_block(body, 1)
    assert by_block(body, None)[:4] == [0] * 4


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("%r = arith.cmpi slt, %i, %zero : index", 1),
        ("%n = arith.constant -1 : i64\n%i2 = arith.index_castui %n : i64 to index\n"
         "%r = arith.cmpi slt, %i2, %zero : index", 1),
        ("%i3 = arith.muli %i, %i : index\n%r = arith.cmpi eq, %i3, %one : index", 1),
        ("%m = arith.constant 4611686018427387904 : index\n%i4 = arith.muli %m, %four : index\n"
         "%r = arith.cmpi eq, %i4, %zero : index", 1),
    ],
)  # fmt: skip
@pytest.mark.parametrize("blocks", [1, 2])
def test_index_has_64_bits(line: str, wanted: int, blocks: int) -> None:
    text = f"""func.func @f(%y: !pto.ptr<i64>, %a: i64) {{
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %four = arith.constant 4 : index
        %i = arith.index_castui %a : i64 to index
        {line}
        %w = arith.extui %r : i1 to i64
        pto.store_scalar %w, %y[%zero] : !pto.ptr<i64>, i64
        return
    }}"""
    y = np.zeros(1, np.int64)
    compiled(text).launch([y, -1], blocks)
    assert y[0] == wanted


@pytest.mark.campaign
def test_much_random_arithmetic() -> None:
    for seed in range(1000, 7000):
        check(seed)
