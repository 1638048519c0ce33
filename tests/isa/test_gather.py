"""What MGATHER does, by worked examples; random operands are in test_gather_scatter_model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptokit.isa.table import Access
from ptokit.isa.transfer.gather import MGATHER
from ptokit.machine.lanes import Fault
from ptokit.types.enums import Coalesce, GatherOOB, Layout, Pipe

from .fake import spec
from .gather_calls import Bench
from .gather_sites import gather_site, l1, table

TARGETS = ("cpu", "a2a3", "a5")
DEVICES = ("a2a3", "a5")
ELEM, ROW = {"mode": Coalesce.Elem}, {"mode": Coalesce.Row}
TABLE = np.arange(100, 132, dtype=np.float32).reshape(4, 8)
ZERO = np.zeros((2, 8), np.float32)


def ints(*rows: list[int], dtype: Any = np.int32) -> np.ndarray:
    return np.array(rows, dtype)


@pytest.mark.parametrize("on", TARGETS)
def test_rows_wrap(on: str) -> None:
    b = Bench(on)
    got = b.gather(b.tile(ZERO), b.view(TABLE), b.tile(ints([-1, 7])), **ROW, oob=GatherOOB.Wrap)
    assert (got == TABLE[[3, 3]]).all()


@pytest.mark.parametrize("on", TARGETS)
def test_a_negative_index_clamps_to_the_last_row(on: str) -> None:
    b = Bench(on)
    got = b.gather(b.tile(ZERO), b.view(TABLE, 3, 8), b.tile(ints([-1, 1])), **ROW, oob=GatherOOB.Clamp)
    assert (got == TABLE[[2, 1]]).all()


@pytest.mark.parametrize(("on", "element"), [("cpu", 1), ("a2a3", 3), ("a5", 3)])
def test_wrapping_is_64_bits_wide_on_cpu_only(on: str, element: int) -> None:
    """-1 mod 7 elements: (2^64 - 1) mod 7 = 1, (2^32 - 1) mod 7 = 3."""
    b = Bench(on)
    idx = ints([-1] * 8)
    got = b.gather(b.tile(ZERO[:1]), b.view(TABLE, 1, 7), b.tile(idx), **ELEM, oob=GatherOOB.Wrap)
    assert (got == 100 + element).all()


@pytest.mark.parametrize("on", TARGETS)
def test_zero_keeps_what_is_in_range(on: str) -> None:
    b = Bench(on)
    idx = ints([0, 1, 32, -1, 31, 2, 2147483647, 5])
    got = b.gather(b.tile(ZERO[:1] + 9), b.view(TABLE), b.tile(idx), **ELEM, oob=GatherOOB.Zero)
    assert got.tolist() == [[100, 101, 0, 0, 131, 102, 0, 105]]


@pytest.mark.parametrize("on", TARGETS)
def test_bits_outside_the_valid_region_stay(on: str) -> None:
    b = Bench(on)
    dst = b.tile(np.full((3, 16), 7, np.float32), vr=2, vc=5)
    idx = b.tile(np.arange(48, dtype=np.uint32).reshape(3, 16) % 32, vr=2, vc=5)
    got = b.gather(dst, b.view(TABLE), idx, **ELEM)
    assert (got[:2, :5] == TABLE.reshape(-1)[np.arange(48).reshape(3, 16) % 32][:2, :5]).all()
    assert (got[2:] == 7).all()
    assert (got[:, 5:] == 7).all()


def test_rows_follow_the_strides_of_the_table_on_cpu() -> None:
    """Row pitch 16 and every second element on cpu; on a2a3 consecutive elements of each row."""
    memory = np.arange(64, dtype=np.float32)
    for on, rows in (("cpu", [[32, 34, 36], [16, 18, 20]]), ("a2a3", [[32, 33, 34], [16, 17, 18]])):
        b = Bench(on)
        view = b.view(memory, 3, 3, stride=(48, 48, 48, 16, 2))
        got = b.gather(b.tile(ZERO[:, :3]), view, b.tile(ints([2, 1])), **ROW)
        assert got[:, :3].tolist() == rows


@pytest.mark.parametrize(("on", "last"), [("cpu", 2), ("a2a3", 5), ("a5", 2)])
def test_rows_of_a_stacked_table(on: str, last: int) -> None:
    """2x3 rows: a2a3 counts all of them, the others the rows of one matrix."""
    b = Bench(on)
    memory = np.arange(48, dtype=np.float32)
    got = b.gather(b.tile(ZERO[:1]), b.view(memory, 2, 3, 8), b.tile(ints([100])), **ROW, oob=GatherOOB.Clamp)
    assert got[0].tolist() == (np.arange(8) + 8 * last).tolist()


# Meaning of the bare form --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on", TARGETS)
def test_no_mode_means_elements(on: str) -> None:
    b = Bench(on)
    got = b.gather(b.tile(ZERO), b.view(TABLE), b.tile(ints(list(range(8)), list(range(8, 16)))))
    assert (got == TABLE[:2]).all()


@pytest.mark.parametrize("on", ["cpu", "a5"])
def test_no_mode_and_a_column_of_indices_means_rows(on: str) -> None:
    b = Bench(on)
    got = b.gather(b.tile(ZERO), b.view(TABLE), b.tile(ints([3], [1]), dn=True))
    assert (got == TABLE[[3, 1]]).all()


@pytest.mark.parametrize("on", DEVICES)
def test_into_l1_the_operands_tell_the_mode(on: str) -> None:
    b = Bench(on)
    idx = np.arange(16, dtype=np.int32) % 4
    got = b.gather(b.mat("f32", 16, 8), b.view(TABLE), b.view(idx, 1, 16))
    assert (got == TABLE[idx]).all()
    idx = np.arange(128, dtype=np.int32).reshape(16, 8) % 32
    got = b.gather(b.mat("f32", 16, 8), b.view(TABLE), b.view(idx), b.view(np.empty(128, np.float32), 16, 8))
    assert (got == TABLE.reshape(-1)[idx]).all()


# Element types -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["e4m3", "e5m2", "hif8"])
@pytest.mark.parametrize("on", ["a5", "cpu"])
def test_eight_bit_floats_keep_their_bits(on: str, dtype: str) -> None:
    """On a5, and on cpu in the extended mode."""
    b = Bench(on, extended=on == "cpu")
    codes = np.arange(256, dtype=np.uint8)
    idx = np.arange(255, 223, -1, dtype=np.int32).reshape(1, 32)
    dst = b.tile(np.zeros((1, 32), np.uint8), dtype)
    b.gather(dst, b.view(codes, 1, 256, dtype=dtype), b.tile(idx), **ELEM)
    assert dst.raw()[0].tolist() == list(range(255, 223, -1))


def test_types_of_one_size_are_copied_bit_for_bit_on_cpu() -> None:
    b = Bench("cpu")
    bits = TABLE.view(np.int32)
    got = b.gather(b.tile(ZERO[:1]), b.view(bits), b.tile(ints(list(range(8)))), **ELEM)
    assert (got == TABLE[0]).all()


@pytest.mark.parametrize("dtype", [np.uint64, np.int64, np.int16, np.uint8])
def test_cpu_takes_indices_of_any_integer_type(dtype: Any) -> None:
    b = Bench("cpu")
    top = np.iinfo(dtype).max
    idx = ints([0, 31, top], dtype=dtype)
    got = b.gather(b.tile(ZERO[:1, :3]), b.view(TABLE), b.tile(idx), **ELEM, oob=GatherOOB.Wrap)
    assert got[0, :3].tolist() == [100, 131, 100 + int(top) % 32]


def test_an_empty_region_gathers_nothing_on_cpu() -> None:
    b = Bench("cpu")
    dst = b.tile(ZERO + 5, vr=0, vc=8)
    assert (b.gather(dst, b.view(TABLE), b.tile(ints([99] * 8, [99] * 8)), **ELEM) == 5).all()


# NZ tables and L1 ----------------------------------------------------------------------------------------------------


def nz_table(rows: int, cols: int, c0: int) -> tuple[np.ndarray, np.ndarray]:
    """A matrix and its NZ image: columns blocks of c0, each rows x c0."""
    matrix = np.arange(rows * cols, dtype=np.float32).reshape(rows, cols)
    return matrix, np.ascontiguousarray(matrix.reshape(rows, cols // c0, c0).transpose(1, 0, 2))


def test_nz_rows_carry_every_column_block() -> None:
    """Two valid columns, but all 16 of the table arrive; Zero clears the rest of the tile."""
    b = Bench("a2a3")
    matrix, image = nz_table(32, 16, 8)
    view = b.view(image, 1, 2, 2, 16, 8, layout=Layout.NZ)
    for oob, rest in ((GatherOOB.Clamp, 7), (GatherOOB.Zero, 0)):
        dst = b.tile(np.full((16, 24), 7, np.float32), boxed=True, vr=2, vc=2)
        got = b.gather(dst, view, b.tile(ints([17, 40])), **ROW, oob=oob)
        assert (got[0, :16] == matrix[17]).all()
        assert (got[1, :16] == (matrix[31] if oob is GatherOOB.Clamp else 0)).all()
        assert (got[2:] == rest).all()
        assert (got[:, 16:] == rest).all()


def test_nz_elements_are_counted_by_rows_of_the_matrix() -> None:
    b = Bench("a2a3")
    matrix, image = nz_table(32, 16, 8)
    idx = ints([0, 9, 16, 511, 300, 17, 18, 19])
    dst = b.tile(np.zeros((16, 8), np.float32), boxed=True, vr=1)
    got = b.gather(dst, b.view(image, 1, 2, 2, 16, 8, layout=Layout.NZ), b.tile(idx), **ELEM)
    assert (got[0] == matrix.reshape(-1)[idx[0]]).all()


@pytest.mark.parametrize("on", DEVICES)
def test_rows_into_l1(on: str) -> None:
    """Rows of 5 elements: the rest of their 32-byte group becomes zero; Zero clears the whole tile first."""
    b = Bench(on)
    idx = ints([1, 0, 9])
    for oob, rest in ((GatherOOB.Wrap, 9), (GatherOOB.Zero, 0)):
        got = b.gather(b.mat("f32", 16, 16, 3, 5), b.view(TABLE, 4, 8), b.view(idx), **ROW, oob=oob)
        third = TABLE[1, :5] if oob is GatherOOB.Wrap else np.zeros(5)
        assert (got[:3, :5] == [TABLE[1, :5], TABLE[0, :5], third]).all()
        assert (got[:3, 5:8] == 0).all()
        assert (got[3:] == rest).all()
        assert (got[:, 8:] == rest).all()


@pytest.mark.parametrize("on", DEVICES)
def test_elements_into_l1_pass_through_scratch_memory(on: str) -> None:
    b = Bench(on)
    idx = np.arange(6, dtype=np.int32).reshape(2, 3)
    scratch = np.full(130, 4, np.float32)
    dst = b.mat("f32", 16, 8, 2, 2)
    got = b.gather(dst, b.view(TABLE), b.view(idx), b.view(scratch, 16, 8), **ELEM)
    assert got[:2, :2].tolist() == [[100, 101], [103, 104]]  # the pitch of the index tensor is 3
    assert got.sum() == 408
    assert (scratch[:128].reshape(16, 8) == got).all()
    assert (scratch[128:] == 4).all()


def test_cpu_gathers_into_l1_without_side_effects() -> None:
    b = Bench("cpu")
    idx = np.zeros((2, 2), np.int32)
    scratch = np.full(128, 4, np.float32)
    got = b.gather(b.mat("f32", 16, 8, 2, 2), b.view(TABLE), b.view(idx), b.view(scratch, 16, 8), **ELEM)
    assert (got[:2, :2] == 100).all()
    assert got.sum() == 400 + 9 * 124
    assert (scratch == 4).all()


# Faults --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on", TARGETS)
@pytest.mark.parametrize(("value", "dtype"), [(32, np.int32), (-1, np.int32), (4294967295, np.uint32)])
def test_an_index_beyond_the_table_is_named(on: str, value: int, dtype: Any) -> None:
    b = Bench(on)
    idx = np.zeros((2, 8), dtype)
    idx[1, 6] = value
    dst = b.tile(ZERO + 5)
    with pytest.raises(Fault) as caught:
        b.gather(dst, b.view(TABLE), b.tile(idx), **ELEM)
    assert caught.value.rule == "GATHER-COM-06"
    assert str(caught.value) == (
        f"index {value} at row 1, column 6 is not below 32, the number of the table's elements"
    )
    assert (dst.read() == 5).all()


@pytest.mark.parametrize("on", TARGETS)
def test_a_row_beyond_the_table_is_named(on: str) -> None:
    b = Bench(on)
    with pytest.raises(
        Fault, match="index 4 at row 1, column 0 is not below 4, the number of the table's rows"
    ) as caught:
        b.gather(b.tile(ZERO), b.view(TABLE), b.tile(ints([0, 4])), **ROW)
    assert caught.value.rule == "GATHER-COM-06"


@pytest.mark.parametrize("oob", list(GatherOOB))
def test_memory_bounds_every_mode(oob: GatherOOB) -> None:
    """The view claims more rows than the argument has."""
    b = Bench("cpu")
    view = b.view(TABLE[:2].copy(), 4, 8)
    with pytest.raises(
        Fault, match=r"index 2 at row 1, column 0 is element 16 of argument table, which has 16"
    ) as caught:
        b.gather(b.tile(ZERO), view, b.tile(ints([0, 2])), **ROW, oob=oob)
    assert caught.value.rule == "GM-OOB"


def test_indices_in_memory_are_bounded_too() -> None:
    b = Bench("a5")
    idx = np.zeros(10, np.int32)
    with pytest.raises(Fault, match="the index for row 10, column 0 is element 10") as caught:
        b.gather(b.mat("f32", 16, 8), b.view(TABLE), b.view(idx, 1, 16), **ROW)
    assert caught.value.rule == "GM-OOB"


def test_scratch_memory_is_bounded() -> None:
    b = Bench("a5")
    idx = np.zeros((16, 8), np.int32)
    with pytest.raises(Fault, match="scratch for row 15, column 2 is element 122") as caught:
        b.gather(b.mat("f32", 16, 8), b.view(TABLE), b.view(idx), b.view(np.zeros(122, np.float32), 16, 8), **ELEM)
    assert caught.value.rule == "GM-OOB"


# What the table says -------------------------------------------------------------------------------------------------


def test_pipe_and_footprint() -> None:
    rows = gather_site("a5", mode=Coalesce.Row, dst=l1("f32", 16, 16, 3, 5), idx=table("i32", 1, 3))
    assert MGATHER.pipe_of(rows) is Pipe.MTE2
    assert list(MGATHER.footprint(rows)) == [
        Access("src", False, -1, -1),
        Access("idx", False, -1, -1),
        Access("dst", True, 3, 16),
    ]
    plain = gather_site("a2a3", dst=spec("f32", 8, 16, 7, 13), idx=spec("i32", 8, 16, 7, 13))
    assert MGATHER.pipe_of(plain) is Pipe.V
    assert list(MGATHER.footprint(plain))[1:] == [Access("idx", False, 7, 13), Access("dst", True, 7, 13)]
    image = gather_site("a5", dst=l1("f32", 16, 16, 3, 5), idx=table("i32", 3, 5), scratch=table("f32", 16, 16))
    assert list(MGATHER.footprint(image))[2:] == [Access("scratch", True, -1, -1), Access("dst", True, 16, 16)]
