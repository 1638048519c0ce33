"""Lane-wise operations against the scalar model: every operation, every element type of the specification's lists."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from ptokit.isa.table import TABLE
from ptokit.types.dtypes import DTYPES
from tests.each import each
from tests.isa.numerics.model import Number

from . import lane_model as model
from .registers import Machine, RefusedError, call, codes, mask, numbers, register, same

F = "f16 f32"
FB = "f16 bf16 f32"
INT8_32 = "i8 u8 i16 u16 i32 u32"
INTS = INT8_32 + " i64 u64"

# Element types on a5 (vector-path 6.2 to 6.4, 6.9).
TYPES = {
    **dict.fromkeys(("vabs", "vneg"), f"{INT8_32} {F}"),
    **dict.fromkeys(("vexp", "vln", "vsqrt", "vrsqrt", "vrec"), F),
    "vdiv": f"i16 i32 {F}",
    "vrelu": f"i32 {F}",
    **dict.fromkeys(("vnot", "vbcnt", "vcls", "vshl", "vshr", "vands", "vors", "vxors"), INTS),
    "vmov": f"{INTS} {FB} e4m3 e5m2 hif8",
    **dict.fromkeys(("vadd", "vsub"), f"{INTS} {FB}"),
    "vmul": f"i16 u16 i32 u32 {FB}",
    **dict.fromkeys(("vmax", "vmin", "vadds", "vsubs", "vmuls", "vmaxs", "vmins"), f"{INT8_32} {FB}"),
    **dict.fromkeys(("vand", "vor", "vxor"), f"{INTS} {FB} e4m3 e5m2 hif8"),
    **dict.fromkeys(("vshls", "vshrs"), INTS),
    **dict.fromkeys(("vprelu", "vaddrelu", "vsubrelu", "vlrelu", "vaxpy"), F),
    "vmula": f"{INTS} {FB}",
}


def cases(names: Any) -> list[tuple[str, str]]:
    return [(name, dtype) for name in names for dtype in TYPES[name].split()]


@each("name", TYPES)
def test_the_element_types_are_those_of_the_lists(name: str) -> None:
    assert {t.name for t in TABLE[name].types["a5"]} == set(TYPES[name].split())
    narrow = {"e4m3", "e5m2", "hif8"}
    for target in ("cpu", "a2a3"):
        assert {t.name for t in TABLE[name].types[target]} == set(TYPES[name].split()) - narrow


def check(name: str, dtype: str, lane: Callable[..., Number], sources: int, seed: int, out: Any = None) -> None:
    """Two blocks and one shared operand; half of the lanes are active."""
    data = [codes(dtype, seed + i, blocks=2 if i == 0 else 1) for i in range(sources)]
    on = np.random.default_rng(seed + 9).random((1, data[0].shape[1])) < 0.5
    got = call(name, *(register(dtype, d) for d in data), mask(dtype, on), out=dtype)
    assert got.dtype == register(dtype, data[0]).dtype
    rows = [numbers(dtype, np.broadcast_to(d, data[0].shape)) for d in data]
    found = numbers(dtype, got)
    for block in range(2):
        for i, operands in enumerate(zip(*(row[block] for row in rows))):
            want = lane(dtype, *operands) if on[0, i] else Fraction(0)
            assert same(found[block][i], want), (i, operands, found[block][i], want)


@each("name, dtype", cases(n for n in model.UNARY if n != "vmov"))
def test_unary(name: str, dtype: str) -> None:
    check(name, dtype, model.UNARY[name], 1, 11)


# What works on the bits of floats has a test of its own.
OF_BITS = {"vand": np.bitwise_and, "vor": np.bitwise_or, "vxor": np.bitwise_xor}
BINARY = [
    (name, dtype)
    for name, dtype in cases(n for n in model.BINARY if not n.startswith("vsh"))
    if name not in OF_BITS or not DTYPES[dtype].is_float
]


@each("name, dtype", BINARY)
def test_binary(name: str, dtype: str) -> None:
    check(name, dtype, model.BINARY[name], 2, 22)


@each("dtype", TYPES["vmov"].split())
def test_vmov_keeps_every_bit(dtype: str) -> None:
    data = codes(dtype, 5, blocks=2)
    assert np.array_equal(call("vmov", register(dtype, data)).view(data.dtype), data)
    on = np.arange(data.shape[1])[None] % 3 == 0
    got = call("vmov", register(dtype, data), mask(dtype, on)).view(data.dtype)
    assert np.array_equal(got, np.where(on, data, 0))


@each("dtype", [*FB.split(), "e4m3", "e5m2", "hif8"])
@each("name", OF_BITS)
def test_bits_of_floats(name: str, dtype: str) -> None:
    a, b = codes(dtype, 6, blocks=2), codes(dtype, 7)
    on = np.random.default_rng(8).random((1, a.shape[1])) < 0.5
    got = call(name, register(dtype, a), register(dtype, b), mask(dtype, on), out=dtype)
    assert np.array_equal(got.view(a.dtype), np.where(on, OF_BITS[name](a, b), 0))


@each("dtype", FB.split())
def test_vor_of_floats_merges_their_bits(dtype: str) -> None:
    data = codes(dtype, 6)
    even, odd = data.copy(), data.copy()
    even[:, 1::2] = 0
    odd[:, ::2] = 0
    got = call("vor", register(dtype, even), register(dtype, odd))
    assert np.array_equal(got.view(data.dtype), data)


def scalars(dtype: str) -> tuple[Any, ...]:
    return (0.0, -0.0, 1.5, -2.25, float("inf"), float("nan")) if DTYPES[dtype].is_float else (0, 1, -1, 77)


@each("name, dtype", cases(n for n in model.SCALAR if not n.startswith("vsh")))
def test_with_a_number(name: str, dtype: str) -> None:
    data = codes(dtype, 33)
    for scalar in scalars(dtype):
        on = np.random.default_rng(3).random(data.shape) < 0.7
        got = numbers(dtype, call(name, register(dtype, data), scalar, mask(dtype, on)))[0]
        number = model.number(scalar) if DTYPES[dtype].is_float else model.wrap(scalar, dtype)
        for i, x in enumerate(numbers(dtype, data)[0]):
            want = model.SCALAR[name](dtype, x, number) if on[0, i] else Fraction(0)
            assert same(got[i], want), (x, scalar, got[i], want)


def test_a_number_of_each_block() -> None:
    data = np.arange(64, dtype=np.float32)[None]
    got = call("vmuls", data, np.array([[2.0], [3.0]]))
    assert np.array_equal(got, np.stack([2 * data[0], 3 * data[0]]))


@each("name, dtype", cases(("vshl", "vshr")))
def test_shift_by_a_register(name: str, dtype: str) -> None:
    data, bits = codes(dtype, 44), DTYPES[dtype].bits
    counts = np.resize(np.array([0, 1, bits // 2, bits - 1], DTYPES[dtype].value), data.shape)
    got = numbers(dtype, call(name, register(dtype, data), counts))[0]
    for x, n, y in zip(numbers(dtype, data)[0], counts[0], got):
        assert same(y, model.BINARY[name](dtype, x, Fraction(int(n))))


@each("name, dtype", cases(("vshls", "vshrs")))
def test_shift_by_a_number(name: str, dtype: str) -> None:
    data, bits = codes(dtype, 45), DTYPES[dtype].bits
    for count in (0, 1, bits - 1):
        got = numbers(dtype, call(name, register(dtype, data), count))[0]
        assert all(same(y, model.SCALAR[name](dtype, x, Fraction(count))) for x, y in zip(numbers(dtype, data)[0], got))


@each("dtype", INTS.split())
def test_counts_out_of_range_are_refused_on_devices_and_shift_everything_out_on_cpu(dtype: str) -> None:
    bits, value = DTYPES[dtype].bits, DTYPES[dtype].value
    data = register(dtype, codes(dtype, 46))
    counts = np.zeros_like(data)
    counts[0, 3] = bits
    for target in ("a2a3", "a5"):
        with pytest.raises(RefusedError) as error:
            call("vshl", data, counts, machine=Machine(target))
        assert error.value.args[:2] == ("VEC-A5-14", f"lane 3 is shifted by {bits}; it has {bits} bits")
        with pytest.raises(RefusedError):
            call("vshrs", data, -1, machine=Machine(target))
        inactive = mask(dtype, np.arange(data.shape[1])[None] != 3)
        call("vshl", data, counts, inactive, machine=Machine(target))
    assert not call("vshls", data, bits, machine=Machine("cpu")).any()
    assert np.array_equal(
        call("vshrs", data, bits + 3, machine=Machine("cpu")), np.where(data < 0, np.array(-1).astype(value), 0)
    )


@each("dtype", TYPES["vmula"].split())
def test_multiply_and_add_rounds_once(dtype: str) -> None:
    data = [codes(dtype, 50 + i) for i in range(3)]
    if dtype == "f32":  # the product lies half way between two values, and what is added is far below binary64
        data[0][0, 0], data[1][0, 0], data[2][0, 0] = 0x97800000, 0x3F800001, 0x3FC00000
    got = numbers(dtype, call("vmula", *(register(dtype, d) for d in data)))[0]
    for i, (acc, a, b) in enumerate(zip(*(numbers(dtype, d)[0] for d in data))):
        want = model.fused(dtype, a, b, acc)
        assert same(got[i], want), (acc, a, b, got[i], want)


@each("dtype", F.split())
def test_vaxpy_rounds_once(dtype: str) -> None:
    x, y = codes(dtype, 60), codes(dtype, 61)
    alpha = 1 + 2.0**-10
    got = numbers(dtype, call("vaxpy", register(dtype, x), register(dtype, y), alpha))[0]
    for a, b, z in zip(numbers(dtype, x)[0], numbers(dtype, y)[0], got):
        assert same(z, model.fused(dtype, a, model.number(alpha), b))


CARRY = {
    "vaddc": lambda a, b, c: (a + b, a + b >= 1 << 32),
    "vaddcs": lambda a, b, c: (a + b + c, a + b + c >= 1 << 32),
    "vsubc": lambda a, b, c: (a - b, a >= b),
    "vsubcs": lambda a, b, c: (a - b - (1 - c), a >= b + (1 - c)),
}


@each("name", CARRY)
@each("dtype", ["i32", "u32"])
def test_carries(name: str, dtype: str) -> None:
    a, b = codes(dtype, 70), codes(dtype, 71)
    b[0, ::7] = a[0, ::7]
    rng = np.random.default_rng(7)
    carry_in, on = rng.random((1, 64)) < 0.5, rng.random((1, 64)) < 0.6
    masks = [mask(dtype, carry_in)] if name.endswith("s") else []
    got, carry = call(name, register(dtype, a), register(dtype, b), *masks, mask(dtype, on))
    assert carry.shape == (1, 256)
    assert not carry[:, [k for k in range(256) if k % 4]].any()
    for i in range(64):
        total, out = CARRY[name](int(a[0, i]), int(b[0, i]), int(carry_in[0, i]))
        assert int(got.view(np.uint32)[0, i]) == (total % (1 << 32) if on[0, i] else 0)
        assert carry[0, 4 * i] == (out and on[0, i])


@each("dtype", ["i32", "u32"])
def test_vmull_gives_both_halves(dtype: str) -> None:
    a, b = codes(dtype, 80), codes(dtype, 81)
    lo, hi = call("vmull", register(dtype, a), register(dtype, b))
    for x, y, low, high in zip(*(numbers(dtype, v)[0] for v in (a, b, lo, hi))):
        product = int(x) * int(y)  # type: ignore[arg-type]
        assert int(low) & 0xFFFFFFFF == product & 0xFFFFFFFF  # type: ignore[arg-type]
        assert int(high) == product >> 32  # type: ignore[arg-type]


@each("dtype", ["f16", "f32"])
def test_vexpdif_is_a_difference_in_f32(dtype: str) -> None:
    x, m = (register(dtype, codes(dtype, s)) for s in (90, 91))
    for part, h in (("EVEN", 0), ("ODD", 1)):
        chosen = slice(h, None, 2) if dtype == "f16" else slice(None)
        got = call("vexpdif", x, m, None, part=part, out="f32")
        assert got.dtype == np.float32
        assert got.shape == (1, 64)
        for a, b, y in zip(x[0, chosen].tolist(), m[0, chosen].tolist(), numbers("f32", got)[0]):
            difference = model.subtract("f32", model.number(a), model.number(b))
            assert same(y, model.UNARY["vexp"]("f32", difference)), (a, b, y)
