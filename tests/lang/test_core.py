"""The eager session: instructions executed as they are called, on tiles whose contents can be looked at."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ptokit as pto
from ptokit import BLayout, Layout, SLayout, TileType

VEC, MAT = TileType.Vec, TileType.Mat


@pytest.fixture(params=["cpu", "a2a3", "a5"])
def core(request: pytest.FixtureRequest) -> pto.Core:
    return pto.Core(request.param)


def numbers(rows: int, cols: int, dtype: Any = np.float32) -> np.ndarray:
    return np.arange(rows * cols).reshape(rows, cols).astype(dtype)


# --- calling instructions --------------------------------------------------------------------------------------------


def test_instructions_run_when_they_are_called(core: pto.Core) -> None:
    x, y = numbers(16, 64), np.zeros((16, 64), np.float32)
    a, b = core.Tile(VEC, pto.f32, 16, 64), core.Tile(VEC, pto.f32, 16, 64)
    core.TLOAD(a, core.GlobalTensor(x))
    assert np.array_equal(a.numpy(), x)
    core.TMULS(b, a, 2.0)
    core.TADD(b, a, b)
    assert np.array_equal(b.numpy(), 3 * x)
    core.TSTORE(core.GlobalTensor(y), b)
    assert np.array_equal(y, 3 * x)


def test_plain_names_belong_to_the_core_of_the_with_statement(core: pto.Core) -> None:
    x = numbers(16, 64)
    with core:
        t = pto.Tile(VEC, pto.f32, 16, 64)
        g = pto.GlobalTensor(x, (16, 64))
        pto.TLOAD(t, g)
        pto.TADDS(t, t, 1.0)
    assert np.array_equal(t.numpy(), x + 1)
    with pytest.raises(pto.DiagnosticError) as error:
        pto.TADDS(t, t, 1.0)
    assert error.value.diagnostics[0].rule == "LANG-CONTEXT"


def test_with_statements_nest_and_end_after_an_exception() -> None:
    outer, inner = pto.Core("a5"), pto.Core("a2a3")
    with outer:
        with inner, inner:
            assert pto.TileLeft(pto.f16, 16, 16).spec.layout_name == "Zz"
        with pytest.raises(pto.DiagnosticError), inner:
            pto.TileLeft(pto.f16, 15, 16)
        assert pto.TileLeft(pto.f16, 16, 16).spec.layout_name == "Nz"


def test_every_instruction_of_the_table_is_an_attribute() -> None:
    core = pto.Core("cpu")
    assert {"TLOAD", "TSTORE", "TMOV", "TADD", "TMATMUL", "TSYNC", "set_flag", "Tile", "TileAcc"} <= set(dir(core))
    assert "Load a rectangle" in core.TLOAD.__doc__
    for name in ("TNOTHING", "numpy", "kernel"):
        assert not hasattr(core, name)


def test_events_are_returned_and_accepted(core: pto.Core) -> None:
    x = numbers(8, 64)
    t = core.Tile(VEC, pto.f32, 8, 64)
    first = core.TLOAD(t, core.GlobalTensor(x))
    second = core.TADD(t, t, t, first)
    core.TSYNC(first, second)
    assert np.array_equal(t.numpy(), 2 * x)
    core.set_flag(pto.PIPE_MTE2, pto.PIPE_V, pto.EVENT_ID0)
    core.wait_flag(pto.PIPE_MTE2, pto.PIPE_V, pto.EVENT_ID0)


def test_python_decides_what_runs(core: pto.Core) -> None:
    x = numbers(64, 64)
    g = core.GlobalTensor(x)
    total = core.Tile(VEC, pto.f32, 16, 64)
    for row in range(0, 64, 16):
        t = core.Tile(VEC, pto.f32, 16, 64)
        core.TLOAD(t, g[row : row + 16])
        if t.numpy().max() < 3000:
            core.TADD(total, total, t)
    assert np.array_equal(total.numpy(), x[:16] + x[16:32])


def test_the_block_is_the_only_one() -> None:
    with pto.Core("a5"):
        assert (pto.get_block_idx(), pto.get_block_num(), pto.get_subblock_idx()) == (0, 1, 0)
        assert pto.get_block_idx() + 3 == 3
        assert pto.cast(7, pto.i32) == 7


def test_a_kernel_can_be_launched_while_a_core_is_in_use() -> None:
    @pto.kernel(target="a5")
    def double(x: pto.Ptr[pto.f32]) -> None:
        t = pto.Tile(VEC, pto.f32, 8, 64)
        pto.TLOAD(t, pto.GlobalTensor(x, (8, 64)))
        pto.TADD(t, t, t)
        pto.TSTORE(pto.GlobalTensor(x, (8, 64)), t)

    x = numbers(8, 64)
    with pto.Core("a5"):
        double(x)
        t = pto.Tile(VEC, pto.f32, 8, 64)
        pto.TLOAD(t, pto.GlobalTensor(x, (8, 64)))
    assert np.array_equal(t.numpy(), 2 * numbers(8, 64))


def test_matrix_products(core: pto.Core) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((32, 48)).astype(np.float16), rng.standard_normal((48, 64)).astype(np.float16)
    c = np.zeros((32, 64), np.float32)
    with core:
        la = pto.Tile(MAT, pto.f16, 32, 48, BLayout.ColMajor, slayout=SLayout.RowMajor)
        lb = pto.Tile(MAT, pto.f16, 48, 64, BLayout.ColMajor, slayout=SLayout.RowMajor)
        left, right, acc = pto.TileLeft(pto.f16, 32, 48), pto.TileRight(pto.f16, 48, 64), pto.TileAcc(pto.f32, 32, 64)
        pto.TLOAD(la, pto.GlobalTensor(a, (1, 1, 1, 32, 48)))
        pto.TLOAD(lb, pto.GlobalTensor(b, (1, 1, 1, 48, 64)))
        pto.TMOV(left, la)
        pto.TMOV(right, lb)
        pto.TMATMUL(acc, left, right)
        pto.TSTORE(pto.GlobalTensor(c, (1, 1, 1, 32, 64)), acc)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.array_equal(c, exact.astype(np.float32))
    assert np.array_equal(acc.numpy(), c)


# --- global memory ---------------------------------------------------------------------------------------------------


def test_arrays_are_used_in_place_but_a_loaded_tile_keeps_its_values(core: pto.Core) -> None:
    x = numbers(16, 64)
    g, t = core.GlobalTensor(x), core.Tile(VEC, pto.f32, 16, 64)
    core.TLOAD(t, g)
    x[:] = -1
    assert np.array_equal(t.numpy(), numbers(16, 64))
    core.TLOAD(t, g)
    assert (t.numpy() == -1).all()


def test_a_product_sees_what_the_array_holds_at_each_load() -> None:
    a, core = np.ones((16, 16), np.float16), pto.Core("a5")
    with core:
        mat = pto.Tile(MAT, pto.f16, 16, 16, BLayout.ColMajor, slayout=SLayout.RowMajor)
        left, right, acc = pto.TileLeft(pto.f16, 16, 16), pto.TileRight(pto.f16, 16, 16), pto.TileAcc(pto.f32, 16, 16)
        g = pto.GlobalTensor(a, (1, 1, 1, 16, 16))
        for value in (1, 2, 3):
            a[:] = value
            pto.TLOAD(mat, g)
            a[:] = 100
            pto.TMOV(left, mat)
            pto.TMOV(right, mat)
            pto.TMATMUL(acc, left, right)
            assert (acc.numpy() == 16 * value * value).all()


def test_shape_and_strides_default_to_those_of_the_array(core: pto.Core) -> None:
    x = numbers(32, 64)
    whole = core.GlobalTensor(x)
    assert (whole.shape, whole.strides, whole.dtype) == ((32, 64), (64, 1), pto.f32)
    columns = core.GlobalTensor(x, (1, 1, 1, 64, 32), (2048, 2048, 2048, 1, 64), Layout.DN)
    t = core.Tile(VEC, pto.f32, 64, 32, BLayout.ColMajor)
    core.TLOAD(t, columns)
    assert np.array_equal(t.numpy(), x.T)
    part = core.Tile(VEC, pto.f32, 8, 16)
    core.TLOAD(part, whole[8:16, 32:48])
    assert np.array_equal(part.numpy(), x[8:16, 32:48])


def test_pointers_read_and_write_elements() -> None:
    x, core = numbers(4, 4), pto.Core("cpu")
    p = core.pointer(x)
    with core:
        assert p[5] == 5.0
        assert (p + 4)[2] == 6.0
        p[3] = 1.5
    assert x[0, 3] == 1.5


def test_an_array_of_codes_names_its_type() -> None:
    core = pto.Core("a5")
    codes = np.arange(256, dtype=np.uint8).reshape(8, 32)
    g = core.GlobalTensor(codes, dtype=pto.hif8)
    t = core.Tile(VEC, pto.hif8, 8, 32)
    core.TLOAD(t, g)
    assert np.array_equal(t.numpy(codes=True), codes)
    assert t.bytes() == codes.tobytes()
    values = t.numpy()
    assert values.dtype == np.float32
    assert values[0, 8] == 1.0  # hif8 code 0x08 (types-and-layouts 1.4)


# --- tiles -----------------------------------------------------------------------------------------------------------


def test_tiles_begin_with_zeros(core: pto.Core) -> None:
    t = core.Tile(VEC, pto.f32, 16, 64)
    assert not t.numpy().any()
    assert t.bytes() == bytes(4096)


def test_the_valid_region_and_the_whole_tile(core: pto.Core) -> None:
    t = core.Tile(VEC, pto.f32, 16, 64, valid_row=5, valid_col=40)
    t.set(np.full((16, 64), 7), valid=False)
    t.set(numbers(5, 40))
    assert np.array_equal(t.numpy(), numbers(5, 40))
    whole = t.numpy(valid=False)
    assert whole.shape == (16, 64)
    assert (whole[5:] == 7).all()
    assert (whole[:, 40:] == 7).all()


def test_a_dynamic_valid_region(core: pto.Core) -> None:
    t = core.Tile(VEC, pto.f32, 16, 64, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC)
    assert t.numpy().shape == (16, 64)
    t.set_valid(3, 8)
    assert t.numpy().shape == (3, 8)
    core.SET_VALIDSHAPE(t, 0, 8)
    assert t.numpy().shape == (0, 8)
    core.TASSIGN(t, 0x200)
    t.set_valid(2, 2)
    assert t.numpy().shape == (2, 2)


def test_bytes_are_in_the_order_of_the_layout() -> None:
    core = pto.Core("a5")
    nz = core.Tile(MAT, pto.f16, 32, 32, BLayout.ColMajor, slayout=SLayout.RowMajor)
    x = numbers(32, 32, np.float16)
    nz.set(x)
    want = x.reshape(2, 16, 2, 16).transpose(2, 0, 1, 3)  # block column, block row, row, column
    assert nz.bytes() == want.tobytes()
    dn = core.Tile(VEC, pto.f32, 16, 4, BLayout.ColMajor)
    dn.set(numbers(16, 4))
    assert dn.bytes() == numbers(16, 4).T.tobytes()


def test_tiles_at_overlapping_addresses_share_their_bytes(core: pto.Core) -> None:
    with core:
        a = pto.Tile(VEC, pto.f32, 4, 64)
        b = pto.Tile(VEC, pto.i32, 4, 64)
        c = pto.Tile(VEC, pto.f32, 4, 64, addr=0x100 + 256)
        pto.TASSIGN(a, 0x100)
        b.assign(0x100)
    a.set(1.0)
    assert (b.numpy() == 0x3F800000).all()
    assert (c.numpy()[:3] == 1.0).all()
    assert (c.numpy()[3] == 0.0).all()
    core.TLOAD(c, core.GlobalTensor(numbers(4, 64)))
    assert np.array_equal(a.numpy()[1:], numbers(4, 64)[:3])
    assert (a.address, b.address, c.address) == (0x100, 0x100, 0x200)


def test_assigning_again_moves_the_name_not_the_data(core: pto.Core) -> None:
    t, other = core.Tile(VEC, pto.f32, 4, 64, addr=0), core.Tile(VEC, pto.f32, 4, 64, addr=0)
    t.set(5)
    core.TASSIGN(t, 0x1000)
    assert not t.numpy().any()
    assert (other.numpy() == 5).all()


def test_a_tile_without_an_address_has_memory_of_its_own(core: pto.Core) -> None:
    a, b = core.Tile(VEC, pto.f32, 4, 64), core.Tile(VEC, pto.f32, 4, 64)
    a.set(1)
    assert not b.numpy().any()
    assert a.address is None


def test_other_views_of_a_tile() -> None:
    core = pto.Core("a5")
    t = core.Tile(VEC, pto.f32, 16, 64).set(numbers(16, 64))
    assert np.array_equal(t.reshape(32, 32).numpy(), numbers(32, 32))
    assert (t.bitcast(pto.i32).numpy()[0, 1]) == 0x3F800000
    window = t.subview(4, 32, 8, 16)
    assert np.array_equal(window.numpy(), numbers(16, 64)[4:12, 32:48])
    window.set(0)
    assert not t.numpy()[4:12, 32:48].any()
    assert t.numpy()[4, 31] == 4 * 64 + 31
    seen = core.Tile(VEC, pto.f32, 64, 16)
    core.TRESHAPE(seen, t)
    seen.set(9)
    assert (t.numpy() == 9).all()
    short = core.Tile(VEC, pto.f32, 64, 16, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC)
    short.set_valid(3, 5)
    core.TRESHAPE(short, t)
    assert short.numpy().shape == (3, 5)
    part = core.Tile(VEC, pto.f32, 8, 64)
    core.TSUBVIEW(part, t, 8, 0)
    part.set(1)
    assert (t.numpy()[8:] == 1).all()


@pytest.mark.parametrize(
    ("dtype", "numpy_type"),
    [
        (pto.f32, np.float32),
        (pto.f16, np.float16),
        (pto.bf16, ml_dtypes.bfloat16),
        (pto.e4m3, ml_dtypes.float8_e4m3fn),
        (pto.e5m2, ml_dtypes.float8_e5m2),
        (pto.i8, np.int8),
        (pto.u16, np.uint16),
        (pto.i64, np.int64),
        (pto.hif8, np.float32),
        (pto.e2m1, np.float32),
        (pto.e1m2, np.float32),
    ],
)
def test_values_of_every_kind_of_type_go_in_and_out(dtype: Any, numpy_type: Any) -> None:
    t = pto.Core("a5").Tile(VEC, dtype, 2, 64)
    values = np.tile([0, 1, 0.5, -1] if dtype.is_float else [0, 1, 2, 3], (2, 16))
    t.set(values)
    out = t.numpy()
    assert out.dtype == numpy_type
    assert np.array_equal(out.astype(np.float64), values)
    assert len(t.bytes()) == (64 if dtype.packed else 128 * dtype.size)
    codes = t.numpy(codes=True)
    again = pto.Core("a5").Tile(VEC, dtype, 2, 64).set(codes, codes=True)
    assert again.bytes() == t.bytes()


def test_packed_codes_lie_two_in_a_byte() -> None:
    t = pto.Core("a5").Tile(VEC, pto.e2m1, 1, 64)
    t.set(np.arange(64).reshape(1, 64) % 16, codes=True)
    assert t.bytes() == bytes([0x10, 0x32, 0x54, 0x76, 0x98, 0xBA, 0xDC, 0xFE] * 4)
    assert t.numpy()[0, :8].tolist() == [0, 0.5, 1, 1.5, 2, 3, 4, 6]  # e2m1 (types-and-layouts 1.6)


def test_bits_survive_a_round_trip_through_their_own_type() -> None:
    nan = np.array([0x7FC12345, 0xFF800001, 0x80000000], np.uint32).view(np.float32)
    t = pto.Core("a5").Tile(VEC, pto.f32, 1, 8)
    t.set(np.concatenate([nan, np.zeros(5, np.float32)]))
    assert t.numpy().view(np.uint32)[0, :3].tolist() == [0x7FC12345, 0xFF800001, 0x80000000]


def test_floats_are_rounded_to_the_element_type() -> None:
    t = pto.Core("a5").Tile(VEC, pto.f16, 1, 16).set(np.full((1, 16), 1 / 3))
    assert t.numpy()[0, 0] == np.float16(1 / 3)


def test_numpy_gives_copies() -> None:
    t = pto.Core("a5").Tile(VEC, pto.f32, 8, 8)
    t.numpy()[:] = 1
    t.numpy(codes=True)[:] = 1
    assert not t.numpy().any()


# --- what people see -------------------------------------------------------------------------------------------------


def test_how_a_tile_prints() -> None:
    core = pto.Core("a5")
    acc = core.Tile(VEC, pto.f16, 16, 64, valid_row=2, valid_col=3, addr=0x1000).set(np.array([[1, 2, 3], [4, 5, 6]]))
    assert repr(acc) == "<Tile vec 16x64xf16 ND, valid 2x3, at 0x1000 of UB: 1 2 3 4 5 6>"
    assert str(acc) == "vec 16x64xf16 ND, valid 2x3, at 0x1000 of UB\n[[1. 2. 3.]\n [4. 5. 6.]]"
    big = core.Tile(MAT, pto.i8, 64, 64, BLayout.ColMajor, slayout=SLayout.RowMajor)
    big.set(numbers(64, 64) % 100)
    assert repr(big) == "<Tile big: mat 64x64xi8 Nz, valid 64x64, in L1, no address: 0 1 2 3 … 95>"
    assert max(map(len, str(big).splitlines())) <= 88
    assert repr(core) == "<core of a5>"


def test_numbers_of_very_different_size_print_readably() -> None:
    t = pto.Core("a5").Tile(VEC, pto.f32, 1, 8).set([[0, 1, 1000, 2000.5, 0.25, 3, 4, 5]])
    assert "e+" not in str(t)
    small = pto.Core("a5").Tile(VEC, pto.f32, 1, 8).set(1e-6)
    assert "1.e-06" in str(small)


def test_a_notebook_shows_the_table() -> None:
    class Printer:
        shown = ""

        def text(self, text: str) -> None:
            self.shown += text

    t, printer = pto.Core("a5").Tile(VEC, pto.f32, 8, 8), Printer()
    t._repr_pretty_(printer, False)
    assert printer.shown == str(t)


def test_empty_valid_regions_print() -> None:
    t = pto.Core("a5").Tile(VEC, pto.f32, 8, 8, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC)
    t.set_valid(0, 8)
    assert re.search(r"valid 0x8", repr(t))
    assert "[]" in str(t)
