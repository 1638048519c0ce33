"""Rows of a table by index, as an embedding looks them up: y[i] = table[tokens[i]], with MGATHER."""

import numpy as np

import ptokit as pto

ROWS = 16


@pto.kernel(target="a5")
def embedding(
    table: pto.Ptr[pto.f16],
    tokens: pto.Ptr[pto.i32],
    y: pto.Ptr[pto.f16],
    vocabulary: int,
    n: int,
    width: pto.Static = 128,
):
    pto.assume("n % 16 == 0", "0 <= tokens < vocabulary")
    rows_of_table = pto.GlobalTensor(table, (vocabulary, width))
    all_tokens, gy = pto.GlobalTensor(tokens, (1, n)), pto.GlobalTensor(y, (n, width))
    for first in range(pto.get_block_idx() * ROWS, n, pto.get_block_num() * ROWS):
        indices = pto.Tile(pto.TileType.Vec, pto.i32, 1, ROWS)
        rows = pto.Tile(pto.TileType.Vec, pto.f16, ROWS, width)
        pto.TLOAD(indices, all_tokens[:, first : first + ROWS])
        pto.MGATHER(rows, rows_of_table, indices, mode=pto.Coalesce.Row)
        pto.TSTORE(gy[first : first + ROWS], rows)


def main() -> None:
    rng = np.random.default_rng(0)
    table = rng.standard_normal((1000, 128)).astype(np.float16)
    tokens = rng.integers(0, 1000, 160).astype(np.int32)
    y = np.empty((160, 128), np.float16)
    embedding[4](table, tokens, y, len(table), len(tokens))
    assert np.array_equal(y, table[tokens])
    print(f"embedding: {len(tokens)} tokens looked up in {len(table)} rows, as NumPy does")


if __name__ == "__main__":
    main()
