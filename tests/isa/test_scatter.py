"""What MSCATTER does, by worked examples; random operands are in test_gather_scatter_model."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ptokit.isa.table import Access
from ptokit.isa.transfer.scatter import MSCATTER
from ptokit.machine.lanes import Fault
from ptokit.types.enums import Coalesce, Layout, Pipe, ScatterAtomicOp, ScatterConflict, ScatterOOB

from .fake import spec
from .gather_calls import Bench
from .gather_sites import scatter_site, table

TARGETS = ("cpu", "a2a3", "a5")
ELEM, ROW = {"mode": Coalesce.Elem}, {"mode": Coalesce.Row}
ADD, MAX, MIN = ({"atomic": a} for a in (ScatterAtomicOp.Add, ScatterAtomicOp.Max, ScatterAtomicOp.Min))


def scattered(on: str, memory: np.ndarray, values: list, idx: list, dtype: str = "", **attrs: object) -> np.ndarray:
    """One row of values to elements of `memory`."""
    b = Bench(on)
    src = b.tile(np.array([values], memory.dtype), dtype)
    b.scatter(b.view(memory, 1, memory.size, dtype=dtype), src, b.tile(np.array([idx], np.int32)), **{**ELEM, **attrs})
    return memory


@pytest.mark.parametrize("on", TARGETS)
def test_the_last_writer_stays(on: str) -> None:
    memory = scattered(on, np.zeros(8, np.float32), [10, 20, 30], [5, 5, 2])
    assert memory.tolist() == [0, 0, 30, 0, 0, 20, 0, 0]


@pytest.mark.parametrize("on", TARGETS)
def test_collisions_count_after_wrapping(on: str) -> None:
    memory = scattered(on, np.zeros(4, np.float32), [1, 2, 3], [1, 5, 2], oob=ScatterOOB.Wrap)
    assert memory.tolist() == [0, 2, 3, 0]


@pytest.mark.parametrize("on", TARGETS)
def test_skip_and_clamp(on: str) -> None:
    assert scattered(on, np.zeros(4, np.float32), [1, 2, 3], [-1, 4, 2], oob=ScatterOOB.Skip).tolist() == [0, 0, 3, 0]
    assert scattered(on, np.zeros(4, np.float32), [1, 2, 3], [-1, 4, 2], oob=ScatterOOB.Clamp).tolist() == [0, 0, 3, 2]


def test_int8_wraps() -> None:
    assert scattered("a2a3", np.full(4, 120, np.int8), [10], [0], **ADD).tolist() == [-126, 120, 120, 120]


@pytest.mark.parametrize("on", TARGETS)
def test_every_colliding_element_is_added(on: str) -> None:
    memory = scattered(on, np.ones(3, np.int32), list(range(16)), [i % 3 for i in range(16)], **ADD)
    assert memory.tolist() == [1 + sum(range(k, 16, 3)) for k in range(3)]


@pytest.mark.parametrize(("dtype", "start"), [(np.float16, 2048), (np.dtype(ml_dtypes.bfloat16), 256)])
def test_each_step_of_a_sum_rounds(dtype: np.dtype, start: int) -> None:
    """start + 1 rounds back to start each time; a sum rounded once at the end would reach start + 6."""
    memory = scattered("a5", np.array([start, 0], dtype), [1] * 6, [0] * 6, **ADD)
    assert float(memory[0]) == start


def test_bf16_ties_go_to_even() -> None:
    memory = scattered("a2a3", np.array([256, 258], np.dtype(ml_dtypes.bfloat16)), [1, 1], [0, 1], **ADD)
    assert memory.astype(float).tolist() == [256, 260]


def test_maximum_and_minimum_of_special_values() -> None:
    """A NaN in memory stays, a NaN to store is dropped, equal zeros keep the sign that is there."""
    nan = np.float32("nan")
    memory = np.array([nan, 1, -0.0, 0.0, -5], np.float32)
    got = scattered("cpu", memory.copy(), [7, nan, 0.0, -0.0, -0.0, 0.0], [0, 1, 2, 3, 4, 4], **MAX)
    assert np.isnan(got[0])
    assert got[1] == 1
    assert np.signbit(got).tolist()[2:] == [True, False, True]
    got = scattered("a5", memory.copy(), [7, nan, 0.0, -9, -8, -10], [0, 1, 2, 4, 4, 4], **MIN)
    assert np.isnan(got[0])
    assert got[1:].tolist() == [1, 0, 0, -10]
    assert np.signbit(got[2])


def test_unsigned_and_signed_extremes() -> None:
    assert scattered("cpu", np.array([3], np.uint8), [200], [0], **MAX).tolist() == [200]
    assert scattered("cpu", np.array([3], np.int8), [-56], [0], **MAX).tolist() == [3]


@pytest.mark.parametrize(("on", "pitch", "step"), [("cpu", 8, 2), ("a2a3", 8, 1), ("a5", 3, 1)])
def test_rows_follow_the_pitch_of_the_target(on: str, pitch: int, step: int) -> None:
    memory = np.zeros(40, np.float32)
    b = Bench(on)
    stride = (40, 40, 40, 3, 1) if on == "a5" else (40, 40, 40, 8, step)
    b.scatter(
        b.view(memory, 4, 3, stride=stride),
        b.tile(np.float32([[1, 2, 3], [4, 5, 6]])),
        b.tile(np.int32([[3, 1]])),
        **ROW,
    )
    want = np.zeros(40, np.float32)
    for row, values in ((3, [1, 2, 3]), (1, [4, 5, 6])):
        want[row * pitch : row * pitch + 3 * step : step] = values
    assert memory.tolist() == want.tolist()


def test_row_maximum_compares_with_the_element_itself() -> None:
    """Not with the first one of the row."""
    b = Bench("cpu")
    memory = np.array([[9, 1], [0, 8]], np.float32)
    b.scatter(b.view(memory), b.tile(np.float32([[5, 5], [5, 5]])), b.tile(np.int32([[0, 1]])), **ROW, **MAX)
    assert memory.tolist() == [[9, 5], [5, 8]]


def test_nz_rows_carry_every_column_block() -> None:
    b = Bench("a2a3")
    memory = np.zeros((2, 16, 8), np.float32)
    values = np.arange(256, dtype=np.float32).reshape(16, 16) + 1
    src = b.tile(values, boxed=True, vr=2, vc=3)
    b.scatter(b.view(memory, 1, 2, 1, 16, 8, layout=Layout.NZ), src, b.tile(np.int32([[7, 2]])), **ROW)
    matrix = memory.transpose(1, 0, 2).reshape(16, 16)
    assert (matrix[[7, 2]] == values[:2]).all()
    assert np.count_nonzero(matrix) == 32


@pytest.mark.parametrize("dtype", ["e4m3", "hif8"])
def test_eight_bit_floats_keep_their_bits(dtype: str) -> None:
    memory = scattered("a5", np.zeros(32, np.uint8), list(range(200, 232)), list(range(31, -1, -1)), dtype)
    assert memory.tolist() == list(range(231, 199, -1))


def test_a_raw_row_index_is_the_next_element_of_the_buffer() -> None:
    """Indices in a padded column: elements 0, 1, 2 of the buffer are used, as the library does (SCATTER-ROW-01)."""
    b = Bench("cpu")
    idx = np.zeros((3, 8), np.int32)
    idx[0, :3] = [2, 0, 1]
    memory = np.zeros((3, 8), np.float32)
    src = np.arange(24, dtype=np.float32).reshape(3, 8)
    b.scatter(b.view(memory), b.tile(src), b.tile(idx, vc=1), **ROW)
    assert (memory[[2, 0, 1]] == src).all()


# Faults --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("on", TARGETS)
def test_an_index_beyond_the_table_is_named(on: str) -> None:
    memory = np.zeros(4, np.float32)
    with pytest.raises(
        Fault, match="index 4 at row 0, column 2 is not below 4, the number of the table's elements"
    ) as caught:
        scattered(on, memory, [1, 2, 3], [0, 1, 4])
    assert caught.value.rule == "SCATTER-COM-04"
    assert not memory.any()


def test_memory_bounds_what_the_view_claims() -> None:
    b = Bench("a2a3")
    memory = np.zeros(20, np.float32)
    with pytest.raises(
        Fault, match="index 2 at row 1, column 4 is element 20 of argument table, which has 20"
    ) as caught:
        b.scatter(b.view(memory, 3, 8), b.tile(np.ones((2, 8), np.float32)), b.tile(np.int32([[0, 2]])), **ROW)
    assert caught.value.rule == "GM-OOB"
    assert not memory.any()


def test_skipped_elements_may_point_anywhere() -> None:
    b = Bench("a5")
    memory = np.zeros(8, np.float32)
    idx = b.tile(np.int32([[2**31 - 1, 0]]))
    b.scatter(b.view(memory, 1, 8), b.tile(np.float32([[3, 4]])), idx, **ELEM, oob=ScatterOOB.Skip)
    assert memory.tolist() == [4, 0, 0, 0, 0, 0, 0, 0]


def test_an_open_winner_is_refused() -> None:
    values, idx = [1, 2, 3, 4], [0, 3, 1, 3]
    with pytest.raises(Fault) as caught:
        scattered("a5", np.zeros(4, np.float32), values, idx, conflict=ScatterConflict.Default)
    assert caught.value.rule == "SCATTER-COM-05"
    assert str(caught.value).startswith("index 3 at row 0, column 1 and row 0, column 3 store different values")
    last = scattered("a5", np.zeros(4, np.float32), values, idx, conflict=ScatterConflict.Last)
    assert last.tolist() == [1, 3, 0, 4]


@pytest.mark.parametrize(
    ("values", "idx", "attrs"),
    [
        ([1, 2, 3], [0, 1, 2], {}),
        ([1, 2, 2], [0, 1, 1], {}),  # the same value twice
        ([1, 2, 3], [0, 9, 9], {"oob": ScatterOOB.Skip}),  # collisions that are left out
        ([1, 2, 3], [0, 1, 1], ADD),
    ],
)
def test_a_defined_result_is_not_refused(values: list, idx: list, attrs: dict) -> None:
    want = scattered("cpu", np.zeros(4, np.float32), values, idx, **attrs)
    got = scattered("a5", np.zeros(4, np.float32), values, idx, conflict=ScatterConflict.Default, **attrs)
    assert got.tolist() == want.tolist()


def test_pipe_and_footprint() -> None:
    nz = {"src": spec("f32", 16, 32, 8, 5, boxed=True), "dst": table("f32", 1, 2, 3, 16, 8, layout=Layout.NZ)}
    site = scatter_site("a2a3", mode=Coalesce.Row, **nz)
    assert MSCATTER.pipe_of(site) is Pipe.V
    assert list(MSCATTER.footprint(site)) == [
        Access("src", False, 8, 16),
        Access("idx", False, 1, 8),
        Access("dst", True, -1, -1),
    ]
    assert next(iter(MSCATTER.footprint(scatter_site("a5", mode=Coalesce.Elem)))) == Access("src", False, 8, 16)
