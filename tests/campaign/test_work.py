"""What comes out of one case."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptokit.campaign.case import Action, Case, Status, read_case, read_result
from ptokit.campaign.work import work

from .conftest import kernel

ARGS = ("random:f32:16x64", "zeros:f32:16x64", "0")


def case(action: str, text: str = "", **more: Any) -> Case:
    return Case("k", "k.pto", text or kernel(), Action(action), **{"args": ARGS, **more})


def doubled(x: np.ndarray, y: np.ndarray, n: int) -> list[np.ndarray | None]:
    return [None, x * 2, None]


def tripled(x: np.ndarray, y: np.ndarray, n: int) -> np.ndarray:
    return x * 3


def broken(*_: object) -> np.ndarray:
    raise RuntimeError("no\nidea")


@pytest.mark.parametrize("action", ["check", "run", "sanitize"])
def test_a_good_kernel_passes(action: str) -> None:
    result = work(case(action))
    assert (result.status, result.message) == (Status.PASSED, "")
    assert result.seconds > 0
    assert bool(result.digest) == (action == "run")


def test_a_launch_is_timed_on_a_part() -> None:
    """The seconds are the launch's on the part, not those that it took to find out."""
    first, again = (work(case("time", mode={"part": "950DT_958x"})) for _ in range(2))
    assert first.status is Status.PASSED
    assert first.seconds == again.seconds
    assert first.message.startswith(f"{first.seconds * 1e6:.2f} µs on 950DT_958x; ")
    more = work(case("time", kernel(turns=50)))
    assert "950PR_9599" in more.message
    assert more.seconds > 2 * first.seconds
    wrong = work(case("time", mode={"part": "910B1"}))
    assert (wrong.status, "910B1" in wrong.message) == (Status.REFUSED, True)


def test_a_text_without_a_target_is_one_for_the_default() -> None:
    text = kernel().replace(' attributes {pto.target_arch = "a5"}', "")
    assert work(case("check", text)).status is Status.REFUSED
    assert work(case("check", text, default_target="a2a3")).status is Status.PASSED


def test_the_same_case_has_the_same_digest_and_another_seed_another_one() -> None:
    first, again, other = (work(case("run", seed=seed)).digest for seed in (0, 0, 1))
    assert first == again != other


@pytest.mark.parametrize(
    ("action", "more", "status", "rule"),
    [
        ("check", {"text": kernel().replace("16x64xf32>\n", "16x64xf16>\n", 1)}, Status.REFUSED, None),
        ("run", {"text": "func.func @"}, Status.REFUSED, None),
        ("run", {"args": ("zeros:f32:4", "zeros:f32:1024", "0")}, Status.FINDING, "GM-OOB"),
        ("run", {"args": ("zeros:f16:1024", "zeros:f32:1024", "0")}, Status.REFUSED, "RUN-ARG-DTYPE"),
        ("run", {"args": ("missing.npy", "zeros:f32:1024", "0")}, Status.REFUSED, "CLI-01"),
        ("run", {"entry": "nobody"}, Status.REFUSED, "RUN-ENTRY"),
        ("sanitize", {"args": ("uninit:f32:1024", "zeros:f32:1024", "0")}, Status.FINDING, "UNINIT-READ"),
    ],
)
def test_what_is_wrong_is_told(action: str, more: dict[str, Any], status: Status, rule: str | None) -> None:
    text = more.pop("text", "")
    result = work(case(action, text, **more))
    assert result.status is status, result
    assert result.message
    assert result.findings[0]["rule"] == result.rules[0]
    assert rule is None or rule in result.rules


@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        ({"function": f"{__name__}:doubled"}, Status.PASSED, ""),
        ({"function": f"{__name__}:tripled"}, Status.WRONG, "%y[0, 0]: "),
        ({"function": f"{__name__}:tripled", "tolerance": {"rtol": 1.0}}, Status.PASSED, ""),
        ({"function": f"{__name__}:broken"}, Status.CRASHED, "RuntimeError: no idea"),
        ({"function": "nowhere:f"}, Status.CRASHED, "ModuleNotFoundError: "),
        ({"other": kernel(2, turns=3)}, Status.PASSED, ""),
        ({"other": kernel(4)}, Status.WRONG, "%y[0, 0]: "),
        ({"against": "native", "mode": {"backend": "numpy"}}, Status.PASSED, ""),
    ],
)
def test_what_the_arguments_hold_is_compared(more: dict[str, Any], status: Status, message: str) -> None:
    result = work(case("compare", **more))
    assert result.status is status, result
    assert result.message.startswith(message) if message else not result.message


@pytest.mark.parametrize(("factor", "status"), [(2, Status.PASSED), (3, Status.WRONG)])
def test_expected_arrays_come_from_files(factor: float, status: Status, tmp_path: Path) -> None:
    np.save(tmp_path / "y.npy", np.full((16, 64), factor, np.float32))
    expected = ("", str(tmp_path / "y.npy"), "")
    result = work(case("compare", args=("ones:f32:16x64", "zeros:f32:16x64", "0"), expected=expected))
    assert result.status is status
    if status is Status.WRONG:
        assert result.message == "%y[0, 0]: 0x40000000 (2) instead of 0x40400000 (3)"


def test_arguments_come_from_the_text_where_none_are_given() -> None:
    assert work(case("run", args=None)).status is Status.PASSED


def test_cases_and_results_travel_as_json() -> None:
    import json

    one = case("compare", tolerance={"ulp": 2}, mode={"matmul": "fast"}, expected=("", "y.npy", ""))
    assert read_case(json.loads(json.dumps(one.as_json()))) == one
    result = work(case("sanitize", args=("uninit:f32:1024", "zeros:f32:1024", "0")))
    assert read_result(json.loads(json.dumps(result.as_json()))) == result
