"""Extrema with the lanes that have them, and histograms, against loops over the lanes."""

from __future__ import annotations

import numpy as np

from tests.each import each

from .registers import call, mask


@each("dtype", ["i8", "u16", "i32", "f16", "f32"])
@each("name, best", [("vcbmax", max), ("vcbmin", min)])
def test_extremum_and_its_lanes(name: str, best, dtype: str) -> None:
    rng = np.random.default_rng(5)
    kind = {"i8": np.int8, "u16": np.uint16, "i32": np.int32, "f16": np.float16, "f32": np.float32}[dtype]
    x = rng.integers(0, 5, (2, 256 // kind().itemsize)).astype(kind)
    on = rng.integers(0, 2, x.shape).astype(bool)
    value, found = call(name, x, mask(dtype, on))
    for block in range(2):
        wanted = best(v for v, let in zip(x[block].tolist(), on[block].tolist()) if let)
        assert value[block].tolist() == [wanted] + [0] * (x.shape[1] - 1)
        lanes = found[block, :: kind().itemsize].tolist()
        assert lanes == [let and v == wanted for v, let in zip(x[block].tolist(), on[block].tolist())]
    assert not np.delete(found, np.arange(0, 256, kind().itemsize), axis=1).any()


def test_no_lane_has_the_extremum_of_nothing() -> None:
    x = np.full((1, 64), 3, np.int32)
    value, found = call("vcbmax", x, mask("i32", np.zeros((1, 64), bool)))
    assert value[0, 0] == np.iinfo(np.int32).min
    assert not found.any()


def test_nan_is_found_and_zeros_of_both_signs_are_one_value() -> None:
    x = np.zeros((1, 64), np.float32)
    x[0, 3] = -0.0
    assert call("vcbmax", x, None)[1][0, ::4].all()
    x[0, 7] = np.nan
    value, found = call("vcbmin", x, None)
    assert np.isnan(value[0, 0])
    assert np.flatnonzero(found[0]).tolist() == [28]


@each("half", [0, 1])
@each("name, counts", [("dhistv2", int.__eq__), ("chistv2", int.__le__)])
def test_histograms(name: str, counts, half: int) -> None:
    rng = np.random.default_rng(half)
    acc = rng.integers(0, 1 << 16, (2, 128)).astype(np.uint16)
    samples = rng.integers(0, 256, (2, 256)).astype(np.uint8)
    on = rng.integers(0, 2, (2, 256)).astype(bool)
    found = call(name, acc, samples, mask("u8", on), half)
    for block in range(2):
        let = samples[block][on[block]].tolist()
        wanted = [(int(acc[block, k]) + sum(counts(s, 128 * half + k) for s in let)) % 65536 for k in range(128)]
        assert found[block].tolist() == wanted


def test_the_half_of_a_histogram_may_differ_between_blocks() -> None:
    acc, samples = np.zeros((1, 128), np.uint16), np.full((1, 256), 130, np.uint8)
    found = call("dhistv2", acc, samples, None, np.array([[0], [1]]))
    assert found[:, 2].tolist() == [0, 256]
