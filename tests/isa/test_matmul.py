"""Matrix products: values in the three modes, and the rules of the operands."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.diagnostics import CATALOGUE
from ptokit.isa.check import broken_rules
from ptokit.isa.cube.matmul import ACCUMULATE, TMATMUL, TMATMUL_ACC
from ptokit.isa.meaning.fold import ROUNDING
from ptokit.isa.site import Site, TileInfo
from ptokit.machine.tiles import Tile
from ptokit.run.program import Single
from ptokit.targets import target
from ptokit.types.codecs import decode
from ptokit.types.dtypes import bf16, dtype, f16, f32, hif8, i8, i32
from ptokit.types.enums import BLayout, SLayout, TileType
from ptokit.types.tile import TileSpec, tile

NZ = {"blayout": BLayout.ColMajor, "slayout": SLayout.RowMajor}
ZZ = {"slayout": SLayout.RowMajor}
ZN = {"slayout": SLayout.ColMajor}


def left(kind, rows: int, cols: int, *, on: str = "a5", **more) -> TileSpec:
    return tile(TileType.Left, kind, rows, cols, **(ZZ if on == "a2a3" else NZ), **more)


def right(kind, rows: int, cols: int, **more) -> TileSpec:
    return tile(TileType.Right, kind, rows, cols, **ZN, **more)


def acc(kind, rows: int, cols: int, **more) -> TileSpec:
    return tile(TileType.Acc, kind, rows, cols, **NZ, fractal=1024, **more)


def filled(machine: Single, spec: TileSpec, values: np.ndarray, name: str = "t") -> Tile:
    made = machine.tile(spec, name=name)
    made.write(values.astype(spec.dtype.value or np.uint8)[None], *values.shape)
    return made


def multiply(
    a: np.ndarray, b: np.ndarray, kind, out, mode: str = "exact", seed: np.ndarray | None = None
) -> np.ndarray:
    machine = Single(target("a5"), matmul=mode)
    lhs = filled(machine, left(kind, *a.shape), a)
    rhs = filled(machine, right(kind, *b.shape), b)
    dst = filled(
        machine, acc(out, a.shape[0], b.shape[1]), np.zeros((a.shape[0], b.shape[1])) if seed is None else seed
    )
    if seed is None:
        machine.execute(TMATMUL, {"dst": dst, "lhs": lhs, "rhs": rhs})
    else:
        machine.execute(TMATMUL_ACC, {"dst": dst, "acc": dst, "lhs": lhs, "rhs": rhs})
    return dst.read()[0].copy()


@pytest.mark.parametrize("kind", [f16, bf16, f32])
@pytest.mark.parametrize("mode", ["exact", "fast", "ref"])
def test_small_integers_are_exact_in_every_mode(kind, mode: str) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(-8, 9, (32, 48)), rng.integers(-8, 9, (48, 64))
    seed = rng.integers(-100, 100, (32, 64))
    assert (multiply(a, b, kind, f32, mode) == a @ b).all()
    assert (multiply(a, b, kind, f32, mode, seed) == a @ b + seed).all()


def test_exact_rounds_once() -> None:
    """2^24 + 1 + 1: float32 in order loses both ones, the exact sum keeps them."""
    a = np.array([[1.0] * 16] * 16)
    b = np.zeros((16, 16))
    b[0], b[1], b[2] = 2.0**12 * 2**3, 1, 1
    a[:, 0] = 2.0**9
    assert (multiply(a, b, f16, f32, "exact") == 2**24 + 2).all()
    assert (multiply(a, b, f16, f32, "ref") == 2**24).all()


@pytest.mark.parametrize("mode", ["exact", "fast", "ref"])
def test_i8_products_wrap_like_i32(mode: str) -> None:
    a, b = np.full((16, 64), -128), np.full((64, 32), -128)
    seed = np.full((16, 32), 2**31 - 1)
    got = multiply(a, b, i8, i32, mode, seed)
    assert (got == np.int32((2**31 - 1 + 64 * 128 * 128) - 2**32)).all()


@pytest.mark.parametrize("mode", ["exact", "fast", "ref"])
def test_products_of_hif8_are_those_of_its_numbers(mode: str) -> None:
    a, b = (np.random.default_rng(2).integers(0x18, 0x20, shape, np.uint8) for shape in ((16, 32), (32, 16)))
    wanted = decode(hif8, a) @ decode(hif8, b)
    assert (multiply(a, b, hif8, f32, mode) == wanted).all()


def test_non_finite_values_propagate() -> None:
    a, b = np.ones((16, 16)), np.ones((16, 16))
    a[0, 0], a[1, 1] = np.inf, np.nan
    got = multiply(a, b, f16, f32)
    assert np.isinf(got[0]).all()
    assert np.isnan(got[1]).all()
    assert (got[2:] == 16).all()


def test_only_valid_regions_take_part() -> None:
    """Storage outside M, K and N holds infinities, which must not matter."""
    machine = Single(target("a5"))
    lhs = machine.tile(left(f16, 32, 32, valid_row=20, valid_col=10))
    rhs = machine.tile(right(f16, 32, 64, valid_row=10, valid_col=50))
    dst = machine.tile(acc(f32, 32, 64, valid_row=20, valid_col=50))
    for t in (lhs, rhs):
        t.write(np.full((1, t.spec.rows, t.spec.cols), np.inf, np.float16), t.spec.rows, t.spec.cols)
        t.write(np.full((1, t.vr, t.vc), 2, np.float16))
    machine.execute(TMATMUL, {"dst": dst, "lhs": lhs, "rhs": rhs})
    assert (dst.read() == 40).all()


def _site(instr, lhs: TileSpec, rhs: TileSpec, dst: TileSpec, on: str, other: bool = False) -> Site:
    infos = {
        "dst": TileInfo.static("c", dst, origin=1),
        "lhs": TileInfo.static("a", lhs),
        "rhs": TileInfo.static("b", rhs),
    }
    if instr is TMATMUL_ACC:
        infos["acc"] = TileInfo.static("d" if other else "c", dst, origin=2 if other else 1)
    return Site(instr, target(on), infos)


def found(site: Site) -> set[str]:
    return {b.rule.id for b in broken_rules(site)}


GOOD = (left(f16, 32, 48), right(f16, 48, 64), acc(f32, 32, 64))

BAD = {
    "MAT-COM-01": (tile(TileType.Mat, f16, 32, 48, **NZ), GOOD[1], GOOD[2], "a5", "lhs lives in mat"),
    "MAT-COM-02": (left(f16, 32, 48), right(bf16, 48, 64), GOOD[2], "a5", "f32 = f16 x bf16"),
    "MAT-COM-03": (GOOD[0], right(f16, 32, 64, valid_row=48 - 16), GOOD[2], "a5", "right 32x64"),
    "MAT-COM-04": (left(f16, 16, 4096 + 16), right(f16, 4096 + 16, 16), acc(f32, 16, 16), "a5", "K = 4112"),
    "MAT-COM-05": (GOOD[0], right(f16, 48, 64, valid_row=40), GOOD[2], "a5", "40 valid rows"),
    "MAT-COM-05-L": (GOOD[0], GOOD[1], acc(f32, 32, 64, valid_row=16), "a5", "accumulator 16x64"),
    "MAT-COM-06": (left(f16, 32, 48, on="a2a3"), GOOD[1], GOOD[2], "a5", "lhs is Zz, a left tile is Nz on a5"),
    "MAT-A3-01": (
        left(f16, 16, 48, on="a2a3", valid_row=1), right(f16, 48, 64), acc(f32, 16, 64, valid_row=1), "a2a3", "M = 1"
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", BAD)
def test_rule(rule: str) -> None:
    lhs, rhs, dst, on, text = BAD[rule]
    messages = {b.rule.id: b.message for b in broken_rules(_site(TMATMUL, lhs, rhs, dst, on))}
    assert rule in messages, messages
    assert text in messages[rule]
    good_left = left(f16, 32, 48, on=on)
    assert found(_site(TMATMUL, good_left, GOOD[1], GOOD[2], on)) == set()


def test_the_accumulator_is_updated_in_place_on_devices() -> None:
    assert found(_site(TMATMUL_ACC, *GOOD, "a5", other=True)) == {"MAT-NPU-01"}
    assert found(_site(TMATMUL_ACC, *GOOD, "cpu", other=True)) == set()
    assert found(_site(TMATMUL_ACC, *GOOD, "a5")) == set()


def test_cpu_takes_the_other_accumulator_as_the_seed() -> None:
    machine = Single(target("cpu"))
    lhs, rhs = filled(machine, GOOD[0], np.ones((32, 48))), filled(machine, GOOD[1], np.ones((48, 64)))
    seed, dst = filled(machine, GOOD[2], np.full((32, 64), 5)), machine.tile(GOOD[2])
    machine.execute(TMATMUL_ACC, {"dst": dst, "acc": seed, "lhs": lhs, "rhs": rhs})
    assert (dst.read() == 53).all()
    assert (seed.read() == 5).all()


def test_eight_bit_floats_are_for_a5() -> None:
    e4, e5 = dtype("e4m3"), dtype("e5m2")
    tiles = left(e4, 32, 64), right(e5, 64, 64), acc(f32, 32, 64)
    assert set(found(_site(TMATMUL, *tiles, "a5"))) == set()
    assert "MAT-COM-02" in found(_site(TMATMUL, *tiles, "cpu"))


def test_every_rule_of_the_product_has_a_case() -> None:
    checked = {r.id for r in ACCUMULATE if r.check is not None}
    assert checked == {*BAD, "MAT-NPU-01"}
    assert CATALOGUE["MAT-COM-07"].check is None


@pytest.mark.parametrize(("on", "kept"), [("a2a3", False), ("a5", True)])
@pytest.mark.parametrize("mode", ["CAST_RINT", "CAST_ROUND"])
def test_subnormal_operands_of_rounded_products(on: str, kept: bool, mode: str) -> None:
    """HF32 of a2a3 takes them as zeros of their sign, a5 rounds them as any number."""
    machine = Single(target(on))
    machine.chunk.registers[ROUNDING] = mode
    least, most = np.float32(2.0**-130), np.float32(2.0**-126)
    a = np.zeros((16, 16), np.float32)
    a[:, 0] = [least, -least, most, -most] * 4
    b = np.zeros((16, 16), np.float32)
    b[0] = 2.0**100
    dst = filled(machine, acc(f32, 16, 16), np.zeros((16, 16)))
    lhs, rhs = filled(machine, left(f32, 16, 16, on=on), a), filled(machine, right(f32, 16, 16), b)
    machine.execute(TMATMUL, {"dst": dst, "lhs": lhs, "rhs": rhs})
    want = (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32)
    want[0::4] *= kept
    want[1::4] *= kept
    assert np.array_equal(dst.read()[0], want)
