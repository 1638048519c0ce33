"""Every primitive of expressions has a native form for the types it has, or stands in a list with the reason."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import ptokit as pto
from ptokit.backends.native.primitives import known
from ptokit.isa.meaning.primitives import INTEGRAL, PRIMITIVES
from ptokit.types.dtypes import DTYPES

WITHOUT = {
    "pow": "rests on the library's binary64 pow, which is not the same everywhere",
    "pow_a2a3": "as pow",
    "sin": "rests on the library's binary64 sin",
    "cos": "rests on the library's binary64 cos",
}
FLOATS, INTEGERS = ("f32", "f16", "bf16"), ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
OF_FLOATS_ONLY = {"exp", "log", "sqrt", "rsqrt", *INTEGRAL.values()}


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_native_forms(name: str) -> None:
    primitive = PRIMITIVES[name]
    wanted = {t for t in FLOATS if primitive.for_floats} | {t for t in INTEGERS if primitive.for_integers}
    if name in OF_FLOATS_ONLY:
        wanted -= set(INTEGERS)
    found = {type for type in (*FLOATS, *INTEGERS) if known(name, DTYPES[type])}
    assert found == (set() if name in WITHOUT else wanted)


def test_the_list_is_no_longer_than_it_has_to_be() -> None:
    assert all(name in PRIMITIVES and reason for name, reason in WITHOUT.items())


@pto.kernel(target="a5")
def shifts(a: pto.Ptr[pto.u64], b: pto.Ptr[pto.u64], y: pto.Ptr[pto.u64], z: pto.Ptr[pto.u64]) -> None:
    value, count, result = (pto.Tile(pto.TileType.Vec, pto.u64, 8, 32) for _ in range(3))
    pto.TLOAD(value, pto.GlobalTensor(a, (8, 32)))
    pto.TLOAD(count, pto.GlobalTensor(b, (8, 32)))
    pto.TSHL(result, value, count)
    pto.TSTORE(pto.GlobalTensor(y, (8, 32)), result)
    pto.TSHR(result, value, count)
    pto.TSTORE(pto.GlobalTensor(z, (8, 32)), result)


def test_shifts_of_64_bits_without_a_sign() -> None:
    rng = np.random.default_rng(1)
    a = rng.integers(0, 1 << 63, (8, 32), np.uint64) * np.uint64(2) + np.uint64(1)
    b = rng.integers(0, 64, (8, 32)).astype(np.uint64)
    y, z = np.zeros_like(a), np.zeros_like(a)
    shifts.compile(a, b, y, z).launch([a, b, y, z], backend="native")
    assert (y == a << b).all()
    assert (z == a >> b).all()
