"""Values at the edges: special numbers, integer limits, blocks, boxed storage, operands in place."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ptokit.isa.numerics.arith import element
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import CmpMode, RoundMode, SaturationMode

from .fake import BoxedTile, FakeTile, fake, run, spec

INF, NAN = np.inf, np.nan


def result(name: str, dtype: str, *sources: Any, on: str = "a5", **attrs: Any) -> np.ndarray:
    """One row: sources are rows of values, or numbers for scalar operands."""
    operands = [fake(dtype, s) if isinstance(s, (list, np.ndarray)) else s for s in sources]
    width = next(t.vc for t in operands if isinstance(t, FakeTile))
    dst = fake(dtype, np.zeros((1, width)))
    run(name, on, dst, *operands, **attrs)
    return dst.array[0, 0]


def same(got: np.ndarray, want: list[float]) -> None:
    """Equal values, equal signs of zeros; NaN equals NaN."""
    got64, want64 = got.astype(np.float64), np.asarray(want, np.float64)
    np.testing.assert_array_equal(got64, want64)
    numbers = ~np.isnan(want64)
    np.testing.assert_array_equal(np.signbit(got64[numbers]), np.signbit(want64[numbers]))


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_extremes_of_special_values(dtype: str) -> None:
    a = [0.0, -0.0, 0.0, -0.0, NAN, 1.0, -INF, INF]
    b = [-0.0, 0.0, 0.0, -0.0, 1.0, NAN, 3.0, 2.0]
    same(result("TMAX", dtype, a, b), [0.0, 0.0, 0.0, -0.0, NAN, NAN, 3.0, INF])
    same(result("TMIN", dtype, a, b), [-0.0, -0.0, 0.0, -0.0, NAN, NAN, -INF, 2.0])
    same(result("TMAXS", dtype, a, 0.0), [0.0, 0.0, 0.0, 0.0, NAN, 1.0, 0.0, INF])
    same(result("TMINS", dtype, a, -0.0), [-0.0, -0.0, -0.0, -0.0, NAN, -0.0, -INF, -0.0])
    same(result("TRELU", dtype, [-0.0, -2.0, 3.0, NAN]), [0.0, 0.0, 3.0, NAN])


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
@pytest.mark.parametrize(
    ("values", "largest", "smallest"),
    [
        ([1.0, NAN, 3.0], NAN, NAN),
        ([-0.0, 0.0, -1.0], 0.0, -1.0),
        ([-0.0, -0.0, 2.0], 2.0, -0.0),
        ([0.0, -0.0, 5.0], 5.0, -0.0),
        ([-INF, -INF], -INF, -INF),
    ],
)
def test_reduced_extremes(dtype: str, values: list[float], largest: float, smallest: float) -> None:
    for name, want in (("TROWMAX", largest), ("TROWMIN", smallest)):
        dst = fake(dtype, [[7.0]])
        run(name, "a5", dst, fake(dtype, values), None)
        same(dst.array[0, 0], [want])
    for name, want in (("TCOLMAX", largest), ("TCOLMIN", smallest)):
        dst = fake(dtype, [[7.0]])
        run(name, "a5", dst, fake(dtype, np.array(values)[:, None]))
        same(dst.array[0, 0], [want])


def test_integers_wrap() -> None:
    big, small = 2**31 - 1, -(2**31)
    assert result("TADD", "i32", [big], [1]).tolist() == [small]
    assert result("TABS", "i32", [small, -5]).tolist() == [small, 5]
    assert result("TNEG", "i32", [small, 5]).tolist() == [small, -5]
    assert result("TNEG", "u16", [1, 0]).tolist() == [65535, 0]
    assert result("TADDS", "i8", [100], 300).tolist() == [-112]  # 300 wraps to 44
    assert result("TSUBS", "u8", [1], 2).tolist() == [255]
    dst = fake("i16", [[0]])
    run("TROWSUM", "a5", dst, fake("i16", [30000, 30000]), None)
    assert dst.array[0, 0].tolist() == [60000 - 65536]


def test_shift_counts_outside_the_width() -> None:
    assert result("TSHL", "i16", [1, 1, 1, 1], [15, 16, 31, -1]).tolist() == [-32768, 0, 0, 0]
    assert result("TSHR", "i16", [-8, -8, 8, -8], [1, 16, 20, -1]).tolist() == [-4, -1, 0, -1]
    assert result("TSHR", "u8", [255, 255], [4, 8]).tolist() == [15, 0]
    assert result("TSHL", "i64", [1, 1, 1], [3, 64, 65]).tolist() == [8, 1, 2]
    assert result("TSHRS", "i32", [-1, 256], 40).tolist() == [-1, 0]


def test_integer_division() -> None:
    low = -(2**31)
    assert result("TDIV", "i32", [7, -7, 7, low, 5], [2, 2, -2, -1, 0]).tolist() == [3, -3, -3, low, 0]
    assert result("TDIV", "i64", [7, -7, -(2**63), 9], [2, 2, -1, 0]).tolist() == [3, -3, -(2**63), 0]
    assert result("TDIV", "u32", [2**32 - 1], [2]).tolist() == [2**31 - 1]
    assert result("TREM", "i32", [7, -7, 7, -7, low, 5], [3, 3, -3, -3, -1, 0], None).tolist() == [1, 2, -2, -1, 0, 0]
    assert result("TFMOD", "i32", [7, -7, 7, -7], [3, 3, -3, -3]).tolist() == [1, -1, 1, -1]
    assert result("TDIVS", "i32", [4, 0, -3], 12, scalar_first=True).tolist() == [3, 0, -4]
    assert result("TRECIP", "i32", [1, -1, 2, 0]).tolist() == [1, -1, 0, 0]


def test_large_32_bit_quotients_are_exact() -> None:
    rng = np.random.default_rng(3)
    a = rng.integers(-(2**31), 2**31, 4000)
    b = np.concatenate([rng.integers(-(2**31), 2**31, 2000), rng.integers(-50, 50, 2000)])
    b[b == 0] = 3
    want = [int(abs(x) // abs(y)) * (1 if (x < 0) == (y < 0) else -1) for x, y in zip(a.tolist(), b.tolist())]
    assert result("TDIV", "i32", a, b).tolist() == [(w + 2**31) % 2**32 - 2**31 for w in want]


@pytest.mark.parametrize("dtype", ["f32", "f16"])
def test_float_remainders(dtype: str) -> None:
    a, b = [5.5, -5.5, 5.5, -5.5, 1.0, -1.0, 1.0, INF], [2.0, 2.0, -2.0, -2.0, INF, INF, 0.0, 2.0]
    same(result("TFMOD", dtype, a, b), [1.5, -1.5, 1.5, -1.5, 1.0, -1.0, NAN, NAN])
    same(result("TREM", dtype, a, b, None), [1.5, 0.5, -0.5, -1.5, 1.0, INF, NAN, NAN])
    same(result("TREMS", dtype, [-0.0, 4.0, -3.0], 2.0, None), [-0.0, 0.0, 1.0])


def test_remainder_of_a_large_quotient_is_exact() -> None:
    assert result("TFMOD", "f32", [1e8], [3.0]).tolist() == [1.0]


def test_transcendentals() -> None:
    same(result("TEXP", "f32", [-INF, INF, 0.0]), [0.0, INF, 1.0])
    same(result("TLOG", "f32", [0.0, -0.0, -1.0, 1.0]), [-INF, -INF, NAN, 0.0])
    same(result("TSQRT", "f32", [-0.0, -1.0, 4.0]), [-0.0, NAN, 2.0])
    same(result("TRSQRT", "f32", [0.0, -0.0, INF, -1.0, 4.0], None), [INF, -INF, 0.0, NAN, 0.5])
    x = [2 / 7, 8 / 7, 11 / 7]
    twice = (np.float16(1) / np.sqrt(np.array(x, np.float16))).tolist()
    same(result("TRSQRT", "f16", x, None), twice)  # a5 rounds the root, too
    assert result("TRSQRT", "f16", x, None, on="a2a3").tolist() != twice
    same(result("TRECIP", "f32", [0.0, -0.0, INF, 4.0]), [INF, -INF, 0.0, 0.25])
    x = np.linspace(-5, 5, 777).astype(np.float32)
    got = result("TEXP", "f32", x)
    assert (got == np.exp(x.astype(np.float64)).astype(np.float32)).all()


def test_sums_on_cpu_are_rounded_once() -> None:
    x = np.full((1, 4097), np.float32(1e-4))
    x[0, 0] = 4096.0
    for name, values in (("TROWSUM", x), ("TCOLSUM", x.T)):
        dst = fake("f32", [[0.0]])
        run(name, "cpu", dst, fake("f32", values), None)
        assert dst.array[0, 0, 0] == np.float32(x.astype(np.float64).sum())
    halves = np.full((1, 3000), 1.0)
    dst = fake("bf16", [[0.0]])
    run("TROWSUM", "cpu", dst, fake("bf16", halves), None)
    assert float(dst.array[0, 0, 0]) == float(ml_dtypes.bfloat16(3000))


def test_widening_sums_of_the_simulator() -> None:
    dst = fake("i32", [[0]])
    run("TROWSUM", "cpu", dst, fake("i16", [30000, 30000]), None)
    assert dst.array[0, 0, 0] == 60000


def test_leaky_relu_at_zero() -> None:
    same(result("TLRELU", "f32", [0.0, -0.0, -2.0, 3.0, NAN], -0.5), [-0.0, 0.0, 1.0, 3.0, NAN])
    same(result("TPRELU", "f32", [-2.0, 3.0], [0.25, 0.25], None), [-0.5, 3.0])


def test_multiply_add_family() -> None:
    def after(name: str, dst: float, *operands: Any, dtype: str = "f32") -> float:
        tile = fake(dtype, [dst])
        run(name, "a5", tile, *(fake(dtype, [o]) if isinstance(o, float) else o for o in operands))
        return float(tile.array[0, 0, 0])

    assert after("TMULADDDST", 10.0, 2.0, 3.0) == 16.0
    assert after("TFUSEDMULADD", 10.0, 2.0, 3.0) == 23.0
    assert after("TFUSEDMULADDRELU", 10.0, -2.0, 3.0) == 0.0
    a = float(np.float32(1 + 2**-12))
    assert after("TMULADDDST", -1.0, a, a) == float(np.float32(a * a)) - 1  # the product is rounded first
    wide = fake("f32", [1.0])
    run("TAXPY", "a5", wide, fake("f16", [2049.0 / 2048]), 3.0)
    assert wide.array[0, 0, 0] == np.float32(np.float16(2049 / 2048)) * 3 + 1


def test_chains_round_at_each_step() -> None:
    assert result("TADDC", "f16", [2048.0], [1.0], [1.0], on="cpu").tolist() == [2048.0]
    assert result("TSUBC", "i16", [1], [3], [10], on="cpu").tolist() == [8]
    operands = [fake("i16", [0]), fake("i16", [1]), 5, fake("i16", [10])]
    run("TADDSC", "cpu", *operands)
    assert operands[0].array[0, 0].tolist() == [16]
    run("TSUBSC", "cpu", *operands)
    assert operands[0].array[0, 0].tolist() == [6]


def test_integer_power() -> None:
    a, b = [2, 0, 0, 1, -1, -1, 3, -2], [10, 0, -1, -5, -3, -4, -1, 3]
    assert result("TPOW", "i32", a, b, None).tolist() == [1024, 1, 0, 1, -1, 1, 0, -8]
    assert result("TPOW", "u8", [3, 2], [6, 9], None).tolist() == [729 % 256, 0]
    assert result("TPOW", "u32", [3], [2**31], None, on="a2a3").tolist() == [0]
    assert result("TPOW", "u32", [3], [2**31], None, on="a5").tolist() == [pow(3, 2**31, 2**32)]
    assert result("TPOWS", "i16", [-3, 2], 3, None).tolist() == [-27, 8]


def test_float_power() -> None:
    a = [2.0, -0.0, -0.0, 1.0, -1.0, -8.0, -2.0, NAN]
    b = [0.5, -3.0, 3.0, NAN, INF, 1.0 / 3, 3.0, 0.0]
    root = float(np.float32(np.sqrt(2.0)))
    same(result("TPOW", "f32", a, b, None, on="a5"), [root, -INF, -0.0, 1.0, 1.0, NAN, -8.0, 1.0])
    same(result("TPOW", "f32", a, b, None, on="a2a3"), [root, INF, 0.0, NAN, 1.0, NAN, -8.0, 1.0])


def test_conversion_modes() -> None:
    def cvt(values: list[float], to: str, **attrs: Any) -> list[float]:
        dst = fake(to, np.zeros((1, len(values))))
        run("TCVT", attrs.pop("on", "a5"), dst, fake("f32", values), None, **attrs)
        return dst.array[0, 0].tolist()

    assert cvt([2.5, -2.5], "i32") == [2, -2]
    assert cvt([2.5, -2.5], "i32", rmode=RoundMode.ROUND) == [3, -3]
    assert cvt([40000.0], "i16") == [-25536]
    assert cvt([40000.0], "i16", sat_mode=SaturationMode.ON) == [32767]
    assert cvt([2.7, -2.7], "i32", rmode=RoundMode.NONE) == [2, -2]


def test_comparison_packs_bits() -> None:
    values = [1, 0, 1, 1, 0, 0, 0, 1, 1, 1]
    mask = FakeTile(spec("u8", 1, 32, 1, 2), 1, 2, b"\xff" * 32)
    mask.raw = lambda: mask.stored.view(np.uint8).reshape(1, -1)  # type: ignore[method-assign]
    run("TCMPS", "a5", mask, fake("f32", values), 0.5, cmp=CmpMode.GT)
    assert mask.array[0, 0, :3].tolist() == [0x8D, 0x03, 0xFF]
    picked = fake("f32", np.zeros((1, 10)))
    run("TSELS", "a5", picked, mask, fake("f32", range(10)), None, -1.0)
    assert picked.array[0, 0].tolist() == [0, -1, 2, 3, -1, -1, -1, 7, 8, 9]


def test_nan_is_unequal_and_zeros_are_equal() -> None:
    mask = FakeTile(spec("u8", 1, 32), 1, 32)
    mask.raw = lambda: mask.stored.view(np.uint8).reshape(1, -1)  # type: ignore[method-assign]
    for mode, want in ((CmpMode.EQ, 0b10), (CmpMode.NE, 0b01), (CmpMode.GE, 0b10)):
        run("TCMP", "a5", mask, fake("f32", [NAN, 0.0]), fake("f32", [NAN, -0.0]), cmp=mode)
        assert mask.array[0, 0, 0] == want


@pytest.mark.parametrize(
    ("values", "largest"),
    [([1, 5, 5, 2], 1), ([NAN, 5, 1], 0), ([1, NAN, 3], 2), ([-0.0, 0.0], 0), ([NAN, NAN], 0), ([-INF, NAN], 0)],
)
def test_first_extreme(values: list[float], largest: int) -> None:
    dst = fake("i32", [[-1]])
    run("TROWARGMAX", "a5", dst, fake("f32", values), None)
    assert dst.array[0, 0, 0] == largest


def test_row_vectors() -> None:
    matrix = fake("f32", np.arange(32).reshape(2, 16))
    column = FakeTile(spec("f32", 2, 1, dn=True), 2, 1, np.array([[[10.0], [20.0]]]))
    block = fake("f32", np.arange(16).reshape(2, 8))
    dst = fake("f32", np.zeros((2, 16)))
    run("TROWEXPANDSUB", "a5", dst, matrix, column)
    np.testing.assert_array_equal(dst.array[0], matrix.array[0] - [[10], [20]])
    run("TROWEXPANDSUB", "a5", dst, column, matrix)
    np.testing.assert_array_equal(dst.array[0], [[10], [20]] - matrix.array[0])
    run("TROWEXPANDADD", "a5", dst, matrix, block)
    np.testing.assert_array_equal(dst.array[0], matrix.array[0] + np.tile(block.array[0], 2))
    run("TROWEXPANDADD", "a5", matrix, matrix, column)  # in place
    np.testing.assert_array_equal(matrix.array[0], np.add(np.arange(32).reshape(2, 16), [[10], [20]]))


def test_column_vectors() -> None:
    matrix, row = fake("f32", np.arange(32).reshape(2, 16)), fake("f32", np.arange(16))
    dst = fake("f32", np.zeros((2, 16)))
    run("TCOLEXPANDSUB", "a5", dst, matrix, row)
    np.testing.assert_array_equal(dst.array[0], matrix.array[0] - row.array[0])
    run("TCOLEXPANDSUB", "a5", dst, row, matrix)
    np.testing.assert_array_equal(dst.array[0], row.array[0] - matrix.array[0])


def test_partial_sources() -> None:
    full = fake("f32", np.arange(8).reshape(2, 4))
    part = FakeTile(spec("f32", 2, 4, 1, 2), 1, 2, np.full((1, 2, 4), 10.0))
    want = [[10, 11, 2, 3], [4, 5, 6, 7]]
    for sources in ((full, part), (part, full)):
        dst = fake("f32", np.zeros((2, 4)))
        run("TPARTADD", "a5", dst, *sources)
        assert dst.array[0].tolist() == want
    run("TPARTADD", "a5", full, full, part)
    assert full.array[0].tolist() == want


@pytest.mark.parametrize(("on", "index"), [("a5", 7), ("cpu", 9)])
def test_ties_of_partial_choices(on: str, index: int) -> None:
    dst, dsti = fake("f32", [0, 0, 0]), fake("i32", [0, 0, 0])
    a, b = fake("f32", [1, 5, 5]), fake("f32", [2, 4, 5])
    run("TPARTARGMAX", on, dst, a, b, dsti, fake("i32", [7, 7, 7]), fake("i32", [9, 9, 9]))
    assert dst.array[0, 0].tolist() == [2, 5, 5]
    assert dsti.array[0, 0].tolist() == [9, 7, index]


def test_pair_sums() -> None:
    for on, rest in (("a5", 7.0), ("cpu", 0.0)):
        dst = FakeTile(spec("f32", 1, 8, 1, 5), 1, 5, np.full((1, 1, 8), 7.0))
        src = FakeTile(spec("f32", 1, 8, 1, 5), 1, 5, np.arange(1, 9).reshape(1, 1, 8))
        run("TPairReduceSum", on, dst, src)
        assert dst.array[0, 0].tolist() == [3, 7, 5, 0, 0, rest, rest, rest]


def test_scalars_that_differ_between_blocks() -> None:
    dst = FakeTile(spec("f32", 2, 8), 2, 8, blocks=3)
    src = FakeTile(spec("f32", 2, 8), 2, 8, np.ones((1, 2, 8)), blocks=3)
    run("TMULS", "a5", dst, src, np.array([1.0, 2.0, 3.0]).reshape(3, 1, 1))
    assert dst.array[:, 0, 0].tolist() == [1.0, 2.0, 3.0]
    run("TEXPANDS", "a5", dst, np.array([4, 5, 6]).reshape(3, 1, 1))
    assert dst.array[:, 1, 7].tolist() == [4.0, 5.0, 6.0]
    counts = FakeTile(spec("i32", 1, 8), 1, 8, np.full((1, 1, 8), 2), blocks=3)
    run("TADDS", "a5", counts, counts, np.array([1, 2, 2**32 + 3]).reshape(3, 1, 1))
    assert counts.array[:, 0, 0].tolist() == [3, 4, 5]


def test_sources_that_are_equal_in_all_blocks() -> None:
    dst = FakeTile(spec("f16", 2, 16), 2, 16, blocks=3)
    for name, operands in {
        "TADD": (fake("f16", np.ones((2, 16))),) * 2,
        "TEXP": (fake("f16", np.zeros((2, 16))),),
        "TMAXS": (fake("f16", np.ones((2, 16))), 0.5),
        "TCOLEXPAND": (fake("f16", np.ones((1, 16))),),
    }.items():
        run(name, "a5", dst, *operands)
        assert (dst.array == (2.0 if name == "TADD" else 1.0)).all(), name


@pytest.mark.parametrize("name", ["TADD", "TMAX", "TDIV", "TREM", "TPOW", "TSUB"])
@pytest.mark.parametrize("dtype", ["f32", "f16", "i32"])
def test_boxed_and_in_place_agree_with_plain(name: str, dtype: str) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.integers(-9, 9, (4, 16)), rng.integers(1, 5, (4, 16))
    extra = [None] if name in ("TREM", "TPOW") else []
    plain = fake(dtype, np.zeros((4, 16)))
    run(name, "a5", plain, fake(dtype, a), fake(dtype, b), *extra)
    boxed = BoxedTile(spec(dtype, 4, 16), 4, 16)
    run(name, "a5", boxed, fake(dtype, a), fake(dtype, b), *extra)
    np.testing.assert_array_equal(boxed.array, plain.array)
    for position in (0, 1):
        operands = [fake(dtype, a), fake(dtype, b)]
        run(name, "a5", operands[position], *operands, *extra)
        np.testing.assert_array_equal(operands[position].array, plain.array)


def test_only_the_valid_region_is_written() -> None:
    dst = FakeTile(spec("f32", 4, 16, 3, 10), 3, 10, np.full((1, 4, 16), 7.0))
    run("TEXPANDS", "a5", dst, 1.0)
    assert (dst.array[0, :3, :10] == 1).all()
    assert (dst.array[0, 3] == 7).all()
    assert (dst.array[0, :, 10:] == 7).all()


def test_empty_regions_do_nothing() -> None:
    for name in ("TROWMAX", "TCOLMAX", "TROWARGMAX", "TROWSUM"):
        dst = fake("i32", [[7]])
        source = FakeTile(spec("i32", 4, 16, 0, 16), 0, 16)
        run(name, "a5", dst, source, *([] if name == "TCOLMAX" else [None]))
        assert dst.array[0, 0, 0] == 7


@pytest.mark.parametrize(
    ("dtype", "value", "want"),
    [
        ("i8", 200, -56),
        ("u8", -1, 255),
        ("i16", 1.9, 1),
        ("i32", float("nan"), 0),
        ("u64", -1, 2**64 - 1),
        ("i64", 2**63, -(2**63)),
        ("f16", 1e6, np.inf),
        ("f32", 0.1, np.float32(0.1)),
        ("bf16", 1.0 + 2**-9, 1.0),
    ],
)
def test_scalars_take_the_type_of_the_tile(dtype: str, value: float, want: float) -> None:
    with np.errstate(all="ignore"):
        got = element(DTYPES[dtype], value)
    assert got.dtype == DTYPES[dtype].value
    assert got == want
