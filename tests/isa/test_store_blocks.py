"""Stores from accumulators, many blocks at once: the same bytes as block after block, quantised or combined."""

from __future__ import annotations

import numpy as np
import pytest

from ..run.kernels import compiled
from .words import quant_word

FRACTAL = "blayout=col_major, slayout=row_major"
MAT = f"!pto.tile_buf<mat, 16x16xf16, {FRACTAL}>"
LEFT = f"!pto.tile_buf<left, 16x16xf16, {FRACTAL}>"
RIGHT = "!pto.tile_buf<right, 16x16xf16, slayout=col_major>"
ACC = f"!pto.tile_buf<acc, 16x16xf32, {FRACTAL}, fractal=1024>"
WORDS_MAT = "!pto.tile_buf<mat, 1x16xi64>"
WORDS = "!pto.tile_buf<scaling, 1x16xi64>"
PRELUDE = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %b64 = pto.get_block_idx
    %b = arith.index_cast %b64 : i64 to index
    %row = arith.muli %b, %c16 : index
"""
BLOCKS = 7


def slice_of(name: str, pointer: str, dtype: str, row: str, rows: int = 16) -> str:
    """A slice of `rows` x 16 elements at a row of the argument."""
    view, part = f"!pto.tensor_view<?x16x{dtype}>", f"!pto.partition_tensor_view<{rows}x16x{dtype}>"
    size = "%c16" if rows == 16 else "%c1"
    return (
        f"    %{name}v = pto.make_tensor_view {pointer}, shape = [%n, %c16], strides = [%c16, %c1] : {view}\n"
        f"    %{name} = pto.partition_view %{name}v, offsets = [{row}, %c0], sizes = [{size}, %c16] : "
        f"{view} -> {part}\n"
    )


def product() -> str:
    """%acc = rows of this block of %x times %w."""
    lines = [slice_of("xp", "%x", "f16", "%row"), slice_of("wp", "%w", "f16", "%c0")]
    for name, kind in (("a", MAT), ("bm", MAT), ("l", LEFT), ("r", RIGHT), ("acc", ACC)):
        lines.append(f"    %{name} = pto.alloc_tile : {kind}\n")
    part = "!pto.partition_tensor_view<16x16xf16>"
    lines += [
        f"    pto.tload ins(%xp : {part}) outs(%a : {MAT})\n",
        f"    pto.tload ins(%wp : {part}) outs(%bm : {MAT})\n",
        f"    pto.tmov ins(%a : {MAT}) outs(%l : {LEFT})\n",
        f"    pto.tmov ins(%bm : {MAT}) outs(%r : {RIGHT})\n",
        f"    pto.tmatmul ins(%l, %r : {LEFT}, {RIGHT}) outs(%acc : {ACC})\n",
    ]
    return "".join(lines)


def store(dtype: str, row: str, *, attrs: str = "", word: bool = False) -> str:
    operands = f"%acc : {ACC}" + (", %q : i64" if word else "")
    part = f"!pto.partition_tensor_view<16x16x{dtype}>"
    tail = f" {{{attrs}}}" if attrs else ""
    return slice_of("op", "%o", dtype, row) + f"    pto.tstore ins({operands}) outs(%op : {part}){tail}\n"


def run(params: str, body: str, dtype: type, *extra: object, rows: int = 16 * BLOCKS) -> np.ndarray:
    """Launch with several chunk sizes; all results must agree to the bit."""
    program = compiled(f"%x: !pto.ptr<f16>, %w: !pto.ptr<f16>, {params}, %n: index", body, prelude=PRELUDE)
    rng = np.random.default_rng(3)
    x = (rng.integers(-8, 9, (16 * BLOCKS, 16)) / 4).astype(np.float16)
    w = (rng.integers(-8, 9, (16, 16)) / 4).astype(np.float16)
    results = []
    for chunk in (1, 2, 3, BLOCKS, None):
        out = np.full((rows, 16), 5, dtype)
        program.launch([x, w, out, *extra, 16 * BLOCKS], BLOCKS, chunk=chunk)
        results.append(out)
    assert all(r.tobytes() == results[0].tobytes() for r in results)
    return results[0]


def accumulators() -> np.ndarray:
    """What the blocks hold: (blocks, 16, 16)."""
    rng = np.random.default_rng(3)
    x = rng.integers(-8, 9, (16 * BLOCKS, 16)) / 4
    w = rng.integers(-8, 9, (16, 16)) / 4
    return (x @ w).reshape(BLOCKS, 16, 16)


def test_scalar_quantisation() -> None:
    word = quant_word(1.5, offset=3, signed=True)
    out = run("%o: !pto.ptr<i8>, %q: i64", product() + store("i8", "%row", word=True), np.int8, word)
    want = np.clip(np.rint(accumulators() * 1.5) + 3, -128, 127)
    assert np.array_equal(out.reshape(want.shape), want)


def test_words_per_column_that_differ_between_blocks() -> None:
    scales = 0.25 * (1 + np.arange(BLOCKS * 16).reshape(BLOCKS, 16) % 11)
    words = np.array([[quant_word(s, signed=True) for s in row] for row in scales.tolist()], np.int64)
    part = "!pto.partition_tensor_view<1x16xi64>"
    fp = (
        slice_of("qp", "%q", "i64", "%b", rows=1)
        + f"    %qm = pto.alloc_tile : {WORDS_MAT}\n    %qs = pto.alloc_tile : {WORDS}\n"
        + f"    pto.tload ins(%qp : {part}) outs(%qm : {WORDS_MAT})\n"
        + f"    pto.tmov ins(%qm : {WORDS_MAT}) outs(%qs : {WORDS})\n"
        + slice_of("op", "%o", "i8", "%row")
        + f"    pto.tstore_fp ins(%acc, %qs : {ACC}, {WORDS}) outs(%op : !pto.partition_tensor_view<16x16xi8>)\n"
    )
    out = run("%o: !pto.ptr<i8>, %q: !pto.ptr<i64>", product() + fp, np.int8, words)
    want = np.clip(np.rint(accumulators() * scales[:, None, :]), -128, 127)
    assert np.array_equal(out.reshape(want.shape), want)


def test_relu_and_cast() -> None:
    body = product() + store("f16", "%row", attrs="reluPreMode = #pto<relu_pre_mode normal_relu>")
    out = run("%o: !pto.ptr<f16>", body, np.float16)
    want = np.maximum(accumulators(), 0).astype(np.float16)
    assert np.array_equal(out.reshape(want.shape), want)


@pytest.mark.parametrize(
    ("kind", "combine"), [("atomic_add", np.add), ("atomic_max", np.maximum), ("atomic_min", np.minimum)]
)
def test_all_blocks_combine_into_one_place(kind: str, combine: np.ufunc) -> None:
    body = product() + store("f32", "%c0", attrs=f"atomicType = #pto<atomic_type {kind}>")
    out = run("%o: !pto.ptr<f32>", body, np.float32)
    want = combine.reduce(accumulators(), axis=0, initial=5.0) if combine is not np.add else 5 + accumulators().sum(0)
    assert np.array_equal(out[:16], want)
    assert (out[16:] == 5).all()


def test_quantised_and_combined() -> None:
    word = quant_word(0.5, signed=True)
    body = product() + store("i8", "%c0", attrs="atomicType = #pto<atomic_type atomic_add>", word=True)
    out = run("%o: !pto.ptr<i8>, %q: i64", body, np.int8, word)
    parts = np.clip(np.rint(accumulators() * 0.5), -128, 127).astype(np.int64)
    assert np.array_equal(out[:16], (5 + parts.sum(axis=0)).astype(np.int8))


def test_plain_stores_to_one_place_leave_the_last_block() -> None:
    out = run("%o: !pto.ptr<f32>", product() + store("f32", "%c0"), np.float32)
    assert np.array_equal(out[:16], accumulators()[-1])
