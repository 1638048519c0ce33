"""The judge of single instructions: each comparison rule, with a result that it accepts and one that it must not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptokit.conformance.bench import replay
from ptokit.conformance.compare import Bounds, Distance, Outcome, Result, Steps, Want
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES, DType

from .suites import VECTORS, Blob, add_case, read_suite, vec, write_vectors

A5 = target("a5")
TWICE = np.arange(0, 16, 2, dtype=np.float32)
BITS = TWICE.view(np.uint32)


def judged(folder: Path, want: np.ndarray, *, care: Any = None, tol: Any = None, a: Any = None) -> Result:
    """The result of TADD judged by `want`."""
    blob = Blob()
    case = add_case(blob, want, a=a)
    entry = case["expect"][0]
    if care is not None:
        entry["care"] = {"dst": blob.add(care)}
    if tol is not None:
        entry["tol"] = {"dst": tol if isinstance(tol, dict) else blob.add(tol)}
    return replay(read_suite(write_vectors(folder, [case], blob)).cases[0], A5)


def test_equal_bits_pass(tmp_path: Path) -> None:
    assert judged(tmp_path, TWICE).outcome is Outcome.PASSED


@pytest.mark.parametrize("bit", [0, 8, 31])
@pytest.mark.parametrize("element", [0, 3, 7])
def test_one_flipped_bit_fails_with_its_place(tmp_path: Path, element: int, bit: int) -> None:
    want = BITS.copy()
    want[element] ^= np.uint32(1 << bit)
    result = judged(tmp_path, want)
    assert result.outcome is Outcome.FAILED
    shown = f"{float(want[element : element + 1].view(np.float32)[0]):.9g}"
    assert result.message == (
        f"dst at row 0, col {element}, byte {4 * element}: "
        f"expected {want[element]:#010x} ({shown}), got {BITS[element]:#010x} ({2 * element})"
    )


def test_bits_without_care_do_not_count(tmp_path: Path) -> None:
    care = np.full(8, 0xFFFFFFFF, np.uint32)
    care[5] = 0xFFFFFF00
    assert judged(tmp_path, BITS ^ np.uint32([0, 0, 0, 0, 0, 0xFF, 0, 0]), care=care).passed


def test_bits_with_care_count(tmp_path: Path) -> None:
    care = np.full(8, 0xFFFFFFFF, np.uint32)
    care[5] = 0xFFFFFF00
    assert "col 5" in judged(tmp_path, BITS ^ np.uint32([0, 0, 0, 0, 0, 0x100, 0, 0]), care=care).reason


@pytest.mark.parametrize(("steps", "passes"), [(0, True), (2, True), (3, False)])
def test_steps(tmp_path: Path, steps: int, passes: bool) -> None:
    result = judged(tmp_path, BITS + np.uint32([0, 0, 0, 0, steps, 0, 0, 0]), tol={"ulp": 2})
    assert result.passed == passes
    assert passes or "col 4" in result.reason


@pytest.mark.parametrize(("factor", "passes"), [(1.009, True), (1.011, False)])
def test_relative_distance(tmp_path: Path, factor: float, passes: bool) -> None:
    assert judged(tmp_path, (TWICE / np.float32(factor)), tol={"rtol": 0.01, "atol": 0}).passed == passes


@pytest.mark.parametrize(("shift", "passes"), [(0.4, True), (0.6, False)])
def test_absolute_distance(tmp_path: Path, shift: float, passes: bool) -> None:
    assert judged(tmp_path, TWICE + np.float32(shift), tol={"rtol": 0, "atol": 0.5}).passed == passes


@pytest.mark.parametrize(("shift", "passes"), [(0.4, True), (0.6, False)])
def test_bound_per_element(tmp_path: Path, shift: float, passes: bool) -> None:
    bounds = np.float32([0, 0, 0, 0, 0, 0, 0.5, 0])
    assert judged(tmp_path, TWICE + np.float32([0, 0, 0, 0, 0, 0, shift, 0]), tol=bounds).passed == passes


def test_bits_count_where_an_element_has_no_bound(tmp_path: Path) -> None:
    bounds = np.float32([1, 1, 1, 1, 1, 1, 1, 0])
    assert "col 7" in judged(tmp_path, TWICE + np.float32(0.25), tol=bounds).reason


def test_unspecified_contents_are_not_compared(tmp_path: Path) -> None:
    blob = Blob()
    case = add_case(blob, TWICE)
    case["expect"][0]["out"] = {"dst": None}
    assert replay(read_suite(write_vectors(tmp_path, [case], blob)).cases[0], A5).passed


def test_buffers_that_are_not_listed_must_keep_their_bytes(tmp_path: Path) -> None:
    blob = Blob()
    case = add_case(blob, TWICE)
    case["expect"][0]["out"] = {}
    result = replay(read_suite(write_vectors(tmp_path, [case], blob)).cases[0], A5)
    assert result.reason.startswith("dst at row 0, col 0, byte 0: expected 0x41100000 (9), got 0x00000000 (0)")


def test_gaps_of_global_memory_are_compared() -> None:
    suite = read_suite(VECTORS)
    case = next(c for c in suite if c.op == "TSTORE" and c.views["g"].stride[3] > c.views["g"].shape[4] and c.expect)
    name = next(iter(case.legal_on))
    expected = case.expected(name)
    assert expected is not None
    out = expected.out["g"].copy()
    view = case.views["g"]
    gap = view.shape[4] * view.dtype.size  # the first byte after the first row
    assert replay(case, target(name)).passed
    out[gap] ^= 1
    expected.out["g"] = out  # type: ignore[index]
    reason = replay(case, target(name)).reason
    assert reason.startswith(f"g at a gap of the view, byte {gap // view.dtype.size * view.dtype.size}: ")


def test_a_shared_tile_is_judged_once(tmp_path: Path) -> None:
    """dst shares storage with src0, whose bytes therefore change."""
    blob = Blob()
    case = add_case(blob, TWICE)
    case["tiles"] = {"src0": vec("f32", 1, 8), "src1": vec("f32", 1, 8), "dst": vec("f32", 1, 8, alias="src0")}
    del case["in"]["dst"]
    assert replay(read_suite(write_vectors(tmp_path, [case], blob)).cases[0], A5).passed


def near(tol: Any, dtype: DType, got: float, want: float) -> bool:
    bits = [np.array([v], dtype.value).view(np.uint8) for v in (got, want)]
    return Want(bits[1], None, tol).first_wrong(bits[0], dtype) is None


INF, NAN, MAX = float("inf"), float("nan"), 65504.0
F16, F32, BF16 = DTYPES["f16"], DTYPES["f32"], DTYPES["bf16"]


@pytest.mark.parametrize(
    ("tol", "dtype", "got", "want", "passes"),
    [
        (Steps(1), F16, 0.0, -0.0, True),
        (Steps(1), F16, 2.0**-24, -0.0, True),
        (Steps(1), F16, 2.0**-24, -(2.0**-24), False),
        (Steps(2), F16, 2.0**-24, -(2.0**-24), True),
        (Steps(1), F16, INF, MAX, True),
        (Steps(9), F16, INF, -INF, False),
        (Steps(9), F16, NAN, NAN, True),
        (Steps(9), F16, NAN, INF, False),
        (Steps(9), F16, INF, NAN, False),
        (Steps(1), BF16, 1.0078125, 1.0, True),
        (Steps(1), BF16, 1.015625, 1.0, False),
        (Steps(1), F32, -(2.0**-149), 0.0, True),
        (Steps(1), DTYPES["e5m2"], 1.25, 1.0, True),
        (Steps(1), DTYPES["e5m2"], 1.5, 1.0, False),
        (Steps(1), DTYPES["i8"], -128, 127, False),
        (Steps(1), DTYPES["i8"], -1, 0, True),
        (Distance(1.0, 1.0), F32, NAN, NAN, True),
        (Distance(1.0, 1.0), F32, NAN, 1.0, False),
        (Distance(1.0, 1.0), F32, 1.0, INF, False),
        (Distance(1.0, 1.0), F32, INF, INF, True),
        (Distance(1.0, 1.0), F32, INF, 3e38, False),
        (Bounds(np.float32([1.0])), F32, 1.5, 1.0, True),
        (Bounds(np.float32([1.0])), F32, NAN, 1.0, False),
        (Bounds(np.float32([1.0])), F32, INF, 1.0, False),
        (Bounds(np.float32([0.0])), F32, -0.0, 0.0, False),
    ],
)
def test_tolerances_at_their_edges(tol: Any, dtype: DType, got: float, want: float, passes: bool) -> None:
    assert near(tol, dtype, got, want) == passes


def test_packed_elements_are_judged_one_by_one() -> None:
    e2m1 = DTYPES["e2m1"]
    got, want = np.uint8([0x21, 0x43]), np.uint8([0x21, 0x53])
    assert Want(want).first_wrong(got, e2m1) == 3
    assert Want(want, None, Steps(1)).first_wrong(got, e2m1) is None
    assert Want(want, np.uint8([0xFF, 0x0F])).first_wrong(got, e2m1) is None


# Legality -------------------------------------------------------------------------------------------------------------


def illegal(folder: Path, **fields: Any) -> Result:
    """TADD with a source of another element type, which breaks EW-02."""
    blob = Blob()
    case = add_case(blob, TWICE)
    case["tiles"]["src1"] = vec("i32", 1, 8)
    del case["expect"]
    case.update({"legal_on": [], **fields})
    return replay(read_suite(write_vectors(folder, [case], blob)).cases[0], A5)


def test_a_legal_case_that_is_refused_fails(tmp_path: Path) -> None:
    result = illegal(tmp_path, legal_on=["a5"])
    assert result.outcome is Outcome.FAILED
    assert result.reported
    assert result.message == f"expected no error, reported {', '.join(result.reported)}"


def test_an_illegal_case_must_show_its_rule_or_one_as_good(tmp_path: Path) -> None:
    reported = illegal(tmp_path, legal_on=["a5"]).reported
    assert illegal(tmp_path, illegal={"a5": reported[0]}).passed
    assert illegal(tmp_path, illegal={"a5": "EW-99"}, accept={"a5": [reported[0]]}).passed
    wrong = illegal(tmp_path, illegal={"a5": "EW-99"}, accept={"a5": ["EW-98"]})
    assert wrong.message == f"expected EW-99, reported {', '.join(reported)}"


def test_an_illegal_case_that_is_accepted_fails(tmp_path: Path) -> None:
    blob = Blob()
    case = add_case(blob, TWICE)
    del case["expect"]
    case.update({"legal_on": [], "illegal": {"a5": "EW-02"}})
    result = replay(read_suite(write_vectors(tmp_path, [case], blob)).cases[0], A5)
    assert result.message == "expected EW-02, reported nothing"


def test_an_instruction_that_is_not_implemented_is_skipped(tmp_path: Path) -> None:
    blob = Blob()
    case = {**add_case(blob, TWICE), "op": "TNOSUCH"}
    result = replay(read_suite(write_vectors(tmp_path, [case], blob)).cases[0], A5)
    assert (result.outcome, result.message) == (Outcome.SKIPPED, "TNOSUCH is not implemented")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"args": {"sides": 3}}, "TADD has neither an operand nor an attribute 'sides'"),
        ({"op": "TABS"}, "TABS has no operand that the case could call 'src1'"),
    ],
)
def test_operands_and_arguments_nobody_takes_fail(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    blob = Blob()
    case = {**add_case(blob, TWICE), **change}
    result = replay(read_suite(write_vectors(tmp_path, [case], blob)).cases[0], A5)
    assert (result.outcome, result.message) == (Outcome.FAILED, message)
