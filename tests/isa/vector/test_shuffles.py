"""Operations that move lanes: every element type, bits unchanged."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptokit.types.dtypes import DTYPES
from tests.each import each
from tests.isa.numerics.model import FLOATS

from . import lane_model as model
from .registers import Machine, RefusedError, call, codes, mask, numbers, register

ANY = "i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 e4m3 e5m2 hif8".split()
NUMERIC = "i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32".split()


def run(name: str, dtype: str, *operands: Any, **more: Any) -> Any:
    """The instruction on code arrays; codes come back."""
    storage = DTYPES[dtype].storage
    given = [register(dtype, x) if isinstance(x, np.ndarray) and x.dtype == storage else x for x in operands]
    got = call(name, *given, **more)
    return tuple(g.view(storage).tolist() for g in got) if isinstance(got, tuple) else got.view(storage).tolist()


@each("dtype", ANY)
def test_interleaving(dtype: str) -> None:
    a, b = codes(dtype, 1, blocks=2), codes(dtype, 2)
    n = a.shape[1]
    lo, hi = run("vintlv", dtype, a, b)
    dlo, dhi = run("vdintlv", dtype, a, b)
    for block in range(2):
        x, y = a[block].tolist(), b[0].tolist()
        z = [v for pair in zip(x, y) for v in pair]
        assert (lo[block], hi[block]) == (z[:n], z[n:])
        both = x + y
        assert (dlo[block], dhi[block]) == (both[::2], both[1::2])
    for name, halves in (("vintlvv2", (lo, hi)), ("vdintlvv2", (dlo, dhi))):
        for part, half in zip(("LOWER", "HIGHER"), halves):
            assert run(name, dtype, a, b, part=part) == half


@each("dtype", ANY)
def test_vsel_takes_the_other_register_in_inactive_lanes(dtype: str) -> None:
    a, b = codes(dtype, 3), codes(dtype, 4)
    on = np.random.default_rng(5).random((2, a.shape[1])) < 0.5
    got = run("vsel", dtype, a, b, mask(dtype, on))
    for block in range(2):
        assert got[block] == [x if p else y for x, y, p in zip(a[0].tolist(), b[0].tolist(), on[block])]
    assert run("vsel", dtype, a, b) == a.tolist()


@each("dtype", ANY)
@each("name", ["vselr", "vperm"])
def test_choosing_by_index(name: str, dtype: str) -> None:
    data, bits = codes(dtype, 6, blocks=2), DTYPES[dtype].bits
    n = data.shape[1]
    for kind in "iu":
        index = np.frombuffer(np.random.default_rng(7).bytes(256), f"{kind}{bits // 8}")[None]
        got = call(name, register(dtype, data), index).view(data.dtype).tolist()
        for block in range(2):
            assert got[block] == [data[block, int(i) % n] for i in index[0]]


@each("dtype", ANY)
def test_squeezing(dtype: str) -> None:
    data = codes(dtype, 8)
    n, size = data.shape[1], DTYPES[dtype].size
    on = np.random.default_rng(9).random((2, n)) < 0.4
    machine = Machine()
    got = run("vsqz", dtype, data, mask(dtype, on), machine=machine)
    for block in range(2):
        kept = data[0][on[block]].tolist()
        assert got[block] == kept + [0] * (n - len(kept))
        assert machine.registers["SQZN"][block, 0] == len(kept) * size
    assert run("vsqz", dtype, data, machine=machine) == data.tolist()
    assert machine.registers["SQZN"].tolist() == [[256]]


@each("dtype", ["i8", "i16", "i32"])
def test_vusqz_counts_the_active_lanes_below(dtype: str) -> None:
    n, machine = 256 // DTYPES[dtype].size, Machine()
    on = np.random.default_rng(10).random((2, n)) < 0.4
    got = call("vusqz", None, mask(dtype, on), machine=machine, out=dtype)
    assert got.dtype == DTYPES[dtype].value
    for block in range(2):
        want = np.array([sum(on[block, :i]) for i in range(n)])
        assert got[block].tolist() == want.astype(got.dtype).tolist()
        assert machine.registers["SQZN"][block, 0] == on[block].sum() * DTYPES[dtype].size
    assert call("vusqz", None, None, out=dtype)[0, :4].tolist() == [0, 1, 2, 3]


PACKS = [("i32", "u16"), ("u32", "u16"), ("i16", "u8"), ("u16", "u8")]


@each("src, dst", PACKS)
def test_vpack_keeps_the_low_half_of_each_lane(src: str, dst: str) -> None:
    a, b = codes(src, 11, blocks=2), codes(src, 12)
    cut = [[int(c) % (1 << DTYPES[dst].bits) for c in row] for row in a]
    zeros = [0] * a.shape[1]
    assert call("vpack", register(src, a), out=dst, part="LOWER").tolist() == [row + zeros for row in cut]
    assert call("vpack", register(src, a), out=dst, part="HIGHER").tolist() == [zeros + row for row in cut]
    other = [int(c) % (1 << DTYPES[dst].bits) for c in b[0]]
    assert call("vpack", register(src, a), register(src, b), out=dst).tolist() == [row + other for row in cut]


UNPACKS = [("i8", "i16"), ("u8", "u16"), ("i16", "i32"), ("u16", "u32"), ("i16", "u32"), ("u8", "i16")]


@each("src, dst", UNPACKS)
def test_unpacking_extends_half_of_the_lanes(src: str, dst: str) -> None:
    data, bits = codes(src, 13, blocks=2), DTYPES[src].bits
    half = data.shape[1] // 2
    for part in (0, 1):
        lanes = [row[part * half : (part + 1) * half] for row in data.tolist()]
        signed = [[c - (1 << bits) if c >> (bits - 1) else c for c in row] for row in lanes]
        wide = f"u{DTYPES[dst].size}"
        assert call("vzunpack", register(src, data), part, out=dst).view(wide).tolist() == lanes
        want = [[c % (1 << (2 * bits)) for c in row] for row in signed]
        assert call("vsunpack", register(src, data), part, out=dst).view(wide).tolist() == want
    own = call("vzunpack", register(src, data), np.array([[0], [1]]), out=dst).view(wide).tolist()
    assert own == [data[0, :half].tolist(), data[1, half:].tolist()]
    with pytest.raises(RefusedError) as error:
        call("vsunpack", register(src, data), np.array([[0], [2]]), out=dst)
    assert error.value.args == ("PRD-A5-01", "a register has the parts 0 and 1, not 2", 1)


@each("dtype", ANY)
def test_sliding(dtype: str) -> None:
    a, b = codes(dtype, 14, blocks=2), codes(dtype, 15)
    n = a.shape[1]
    for amount in (0, 1, 5, n - 1, n, n + 3):
        slid, shifted = run("vslide", dtype, a, b, amount), run("vshift", dtype, a, amount)
        for block in range(2):
            window = b[0].tolist() + a[block].tolist()
            assert slid[block] == [window[n + i - amount] if amount <= n or i >= amount - n else 0 for i in range(n)]
            assert shifted[block] == ([0] * amount + a[block].tolist())[:n]
    own = run("vshift", dtype, a, np.array([[1], [2]]))
    assert own == [[0, *a[0, :-1].tolist()], [0, 0, *a[1, :-2].tolist()]]


@each("dtype", ANY)
def test_vbitcast_keeps_the_bytes(dtype: str) -> None:
    data = codes("i8", 16, blocks=2)
    got = call("vbitcast", register("i8", data), out=dtype)
    assert got.dtype == (DTYPES[dtype].value or np.uint8)
    assert np.array_equal(got.view(np.uint8), data)


@each("dtype", NUMERIC)
@each("word", model.COMPARE)
def test_comparing(word: str, dtype: str) -> None:
    a, b = codes(dtype, 17, blocks=2), codes(dtype, 18)
    b[0, ::5] = a[0, ::5]
    n, width = a.shape[1], DTYPES[dtype].size
    on = np.random.default_rng(19).random((1, n)) < 0.8
    got = call("vcmp", register(dtype, a), register(dtype, b), mask(dtype, on), cmp=word)
    compare = model.COMPARE[word]
    rows, other = numbers(dtype, a), numbers(dtype, b)[0]

    def key(x: Any) -> Any:
        return model.as_float(x) if isinstance(x, str) else x

    for block in range(2):
        want = [compare(key(x), key(y)) and bool(p) for x, y, p in zip(rows[block], other, on[0])]
        assert got[block, ::width].tolist() == want
    assert not got[:, [k for k in range(256) if k % width]].any()
    number = 1.5 if dtype in FLOATS else 1
    scalar = call("vcmps", register(dtype, a), number, cmp=word)
    assert scalar[1, ::width].tolist() == [compare(key(x), number) for x in rows[1]]


def test_comparing_an_unsigned_register_with_a_negative_number_compares_bits() -> None:
    data = np.array([[0, 200, 255, 249] * 64], np.uint8)
    assert call("vcmps", data, -7, cmp="eq")[0, :4].tolist() == [False, False, False, True]
