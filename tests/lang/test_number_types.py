"""In which type a number of Python is passed to an instruction."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto


@pytest.mark.parametrize("target", ["cpu", "a5"])
def test_a_number_that_a_mask_chooses_has_the_type_of_the_data(target: str) -> None:
    @pto.kernel(target=target)
    def f(m: pto.Ptr[pto.u8], x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]):
        mask, tmp = (pto.Tile(pto.TileType.Vec, pto.u8, rows, 32) for rows in (16, 1))
        a, d = (pto.Tile(pto.TileType.Vec, pto.f32, 16, 64) for _ in range(2))
        pto.TLOAD(mask, pto.GlobalTensor(m, (16, 32)))
        pto.TLOAD(a, pto.GlobalTensor(x, (16, 64)))
        pto.TSELS(d, mask, a, tmp, -2.5)
        pto.TSTORE(pto.GlobalTensor(y, (16, 64)), d)

    rng = np.random.default_rng(1)
    m, x = rng.integers(0, 256, (16, 32), np.uint8), rng.random((16, 64), np.float32)
    chosen = np.unpackbits(m, axis=1, bitorder="little")[:, :64].astype(bool)
    for launch in (f, f.interpret):
        y = np.zeros_like(x)
        launch(m, x, y)
        assert np.array_equal(y, np.where(chosen, x, np.float32(-2.5)))
    assert " = arith.constant -2.5 : f32" in f.to_pto()
