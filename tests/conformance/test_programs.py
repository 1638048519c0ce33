"""Whole programs: the examples, and the judge of their results with what it must accept and must not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ptokit.conformance.cases import parse_init
from ptokit.conformance.compare import Outcome, Result, close
from ptokit.conformance.programs import ProgramCase, ProgramSuite
from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.types.dtypes import DTYPES

from .suites import PROGRAMS, program_case, stored, write_programs

EXAMPLES = ProgramSuite(PROGRAMS, json.loads((PROGRAMS / "manifest.json").read_text()))


@pytest.mark.parametrize("case", EXAMPLES.cases, ids=lambda case: case.id)
def test_example(case: ProgramCase) -> None:
    result = EXAMPLES.replay(case)
    assert result.passed, result.reason


def test_the_examples_are_complete() -> None:
    assert len(EXAMPLES.cases) == 62


# The judge ------------------------------------------------------------------------------------------------------------

RUNS = "kernels.vec_add--1"  # f32, every element listed
GAPS = "kernels.copy5d--1x1x4x16"  # f16, rows with padding between them, every written element listed
SAMPLE = "kernels.vec_add--16"  # f32, sampled
SAMPLED_GAPS = "kernels.copy5d--2x3x8x32"  # f16, sampled, with padding
SAMPLED_INTEGERS = "kernels.int_hash--16"  # i32, sampled with a CRC


class Judge:
    """One example to be changed and judged."""

    def __init__(self, folder: Path, id: str) -> None:
        self.folder, self.case = folder, program_case(id)
        self.values = stored(self.case)
        self.output = self.case["outputs"][0]
        self.text = ""

    def part(self, name: str) -> np.ndarray:
        """The stored part of the first output, writable."""
        key = f"{self.case['id']}/{self.output['index']}/{name}"
        self.values[key] = self.values[key].copy()
        return self.values[key]

    def replace(self, name: str, values: Any) -> None:
        """Set a stored part of the first output."""
        self.values[f"{self.case['id']}/{self.output['index']}/{name}"] = np.asarray(values)

    def result(self, root: Path | None = None) -> Result:
        folder = write_programs(self.folder, self.case, self.values, self.text)
        suite = ProgramSuite(folder, json.loads((folder / "manifest.json").read_text()), root)
        return suite.replay(suite.cases[0])


@pytest.mark.parametrize("id", [RUNS, GAPS, SAMPLE, SAMPLED_GAPS, SAMPLED_INTEGERS])
def test_unchanged_examples_pass(tmp_path: Path, id: str) -> None:
    assert Judge(tmp_path, id).result().outcome is Outcome.PASSED


@pytest.mark.parametrize("id", [RUNS, GAPS, SAMPLE, SAMPLED_GAPS, SAMPLED_INTEGERS])
@pytest.mark.parametrize("at", [0, 17, -1])
def test_one_wrong_value_fails_with_its_place(tmp_path: Path, id: str, at: int) -> None:
    judge = Judge(tmp_path, id)
    judge.part("values")[at] += 1
    if "index" in {key.split("/")[-1] for key in judge.values}:
        where = judge.part("index")[at]
    else:
        runs = [np.arange(s, s + n) for s, n in zip(judge.part("starts"), judge.part("lengths"))]
        where = np.concatenate(runs)[at]
    result = judge.result()
    assert result.outcome is Outcome.FAILED
    assert f"(argument {judge.output['index']}), element {where}: expected " in result.message


def test_values_within_the_tolerance_pass(tmp_path: Path) -> None:
    judge = Judge(tmp_path, RUNS)
    judge.part("values")[:] *= np.float32(1.00009)
    assert judge.result().passed


def test_values_beyond_the_tolerance_fail(tmp_path: Path) -> None:
    judge = Judge(tmp_path, RUNS)
    judge.part("values")[:] *= np.float32(1.0002)
    judge.output["atol"] = 0
    assert "element 0: expected " in judge.result().message


@pytest.mark.parametrize(("id", "key"), [(SAMPLE, "sum"), (SAMPLE, "abs_sum"), (SAMPLED_GAPS, "sum")])
def test_sums_count(tmp_path: Path, id: str, key: str) -> None:
    judge = Judge(tmp_path, id)
    judge.output[key] *= 1 + 2 * judge.output["rtol"]
    assert f"{'sum of magnitudes' if key == 'abs_sum' else 'sum'} of what was written" in judge.result().message


@pytest.mark.parametrize("key", ["sum", "abs_sum", "crc32"])
def test_integers_are_summed_exactly(tmp_path: Path, key: str) -> None:
    judge = Judge(tmp_path, SAMPLED_INTEGERS)
    judge.output[key] += 1
    assert "of what was written: expected " in judge.result().message


def test_the_number_of_written_elements_counts(tmp_path: Path) -> None:
    judge = Judge(tmp_path, SAMPLED_GAPS)
    judge.output["touched"]["elements"] += 1
    assert "49152 elements were written, expected 49153" in judge.result().message


def test_elements_written_with_their_old_value_are_written(tmp_path: Path) -> None:
    """Where the data equals the initial contents of the output, only a second run shows what is written."""
    judge = Judge(tmp_path, SAMPLED_GAPS)
    judge.case["args"][0]["init"] = {"kind": "const", "value": 77}
    judge.part("values")[:] = 77
    judge.output.update(sum=77.0 * 49152, abs_sum=77.0 * 49152)
    assert judge.result().passed
    judge.output.update(sum=77.0 * 49153, abs_sum=77.0 * 49153, rtol=0, atol=0)
    (tmp_path / "again").mkdir()
    judge.folder = tmp_path / "again"
    assert "sum of what was written" in judge.result().message


def test_what_is_not_written_must_stay(tmp_path: Path) -> None:
    """The list claims that the first run is not written."""
    judge = Judge(tmp_path, GAPS)
    length = int(judge.part("lengths")[0])
    for name in ("starts", "lengths"):
        judge.replace(name, judge.part(name)[1:])
    judge.replace("values", judge.part("values")[length:])
    assert "element 0: must keep its initial value 77, got " in judge.result().message


def test_undefined_elements_may_change(tmp_path: Path) -> None:
    judge = Judge(tmp_path, GAPS)
    length = int(judge.part("lengths")[0])
    for name in ("starts", "lengths"):
        judge.replace(name, judge.part(name)[1:])
    judge.replace("values", judge.part("values")[length:])
    judge.output["undefined"] = length
    assert judge.result().passed


def test_samples_must_not_leave_the_touched_range(tmp_path: Path) -> None:
    judge = Judge(tmp_path, SAMPLE)
    judge.output["touched"] = {"elements": 65535, "first": 1, "last": 65535}
    assert "element 0: must keep its initial value 77, got " in judge.result().message


def test_arguments_that_are_no_outputs_must_stay(tmp_path: Path) -> None:
    judge = Judge(tmp_path, RUNS)
    judge.case["outputs"] = []
    assert "must keep its initial value 77, got " in judge.result().message


def test_constants_are_stored_once(tmp_path: Path) -> None:
    judge = Judge(tmp_path, RUNS)
    for position in (0, 1):
        judge.case["args"][position]["init"] = {"kind": "const", "value": 1.5}
    judge.output["stored"] = "constant"
    judge.replace("values", np.float32([3]))
    assert judge.result().passed
    judge.replace("values", np.float32([4]))
    (tmp_path / "again").mkdir()
    judge.folder = tmp_path / "again"
    assert "element 0: expected 4, got 3" in judge.result().message


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("starts", [5000], "positions beyond the 4096 elements"),
        ("lengths", [4095], "4096 values for 4095 positions"),
        ("lengths", [-1], "the runs of positions are broken"),
        ("values", [[1.0]], "there is no list of values"),
    ],
)
def test_stored_values_that_do_not_fit_fail(tmp_path: Path, name: str, values: Any, message: str) -> None:
    judge = Judge(tmp_path, RUNS)
    if name == "starts":
        judge.replace("lengths", [1])
        judge.replace("values", np.float32([1]))
    judge.replace(name, values)
    result = judge.result()
    assert result.outcome is Outcome.FAILED
    assert message in result.message


# Programs that do not run ---------------------------------------------------------------------------------------------


def refused(tmp_path: Path, **fields: Any) -> Result:
    judge = Judge(tmp_path, RUNS)
    judge.case.update(fields)
    judge.text = (PROGRAMS / judge.case["file"]).read_text().replace("pto.tadd", "pto.tand")
    return judge.result()


def test_a_refused_program_fails_with_the_diagnostic(tmp_path: Path) -> None:
    result = refused(tmp_path)
    assert result.outcome is Outcome.FAILED
    assert result.message.startswith("refused: line ")
    assert f"[{result.reported[0]}]" in result.message


def test_a_refused_program_passes_where_the_case_allows_it(tmp_path: Path) -> None:
    result = refused(tmp_path, strict=False)
    assert result.passed
    assert result.message.startswith("refused, as the case allows: ")


def test_an_accepted_program_is_judged_even_if_it_may_be_refused(tmp_path: Path) -> None:
    judge = Judge(tmp_path, RUNS)
    judge.case["strict"] = False
    judge.part("values")[3] += 1
    assert "element 3: expected " in judge.result().message


def test_a_program_with_an_instruction_that_is_not_implemented_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    why = "instruction not implemented yet: pto.tnew"

    def refuse(*_: object) -> None:
        raise DiagnosticError(Diagnostic("TEXT-UNIMPLEMENTED", Severity.ERROR, why))

    suite = ProgramSuite(PROGRAMS, json.loads((PROGRAMS / "manifest.json").read_text()))
    monkeypatch.setattr(suite, "_compiled", refuse)
    result = suite.replay(suite.cases[0])
    assert (result.outcome, result.message) == (Outcome.SKIPPED, why)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entry": "nosuch"}, "there is no kernel 'nosuch'"),
        ({"args": []}, "[RUN-ARG-COUNT]"),
    ],
)
def test_launches_that_cannot_be_fail(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    judge = Judge(tmp_path, RUNS)
    judge.case.update(change)
    if "args" in change:
        judge.case["outputs"] = []
    result = judge.result()
    assert result.outcome is Outcome.FAILED
    assert message in result.message


def test_the_target_of_the_case_counts(tmp_path: Path) -> None:
    judge = Judge(tmp_path, RUNS)
    judge.case["arch"] = "a5"
    result = judge.result()
    assert (result.target, result.outcome) == ("a5", Outcome.PASSED)


def test_programs_elsewhere_are_found_below_the_root(tmp_path: Path) -> None:
    judge = Judge(tmp_path, RUNS)
    judge.case["file"] = "kernels/elsewhere.pto"
    root = tmp_path / "root"
    (root / "kernels").mkdir(parents=True)
    (root / "kernels" / "vector.pto").write_text((PROGRAMS / "kernels/vec_add.pto").read_text())
    judge.text = "unused"
    folder = tmp_path
    write_programs(folder, judge.case, judge.values, "unused")
    (folder / "kernels" / "elsewhere.pto").unlink()
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["cases"][0]["file"] = "kernels/vector.pto"
    without = ProgramSuite(folder, manifest)
    result = without.replay(without.cases[0])
    assert result.message == f"there is no program kernels/vector.pto in {folder} (see --root)"
    suite = ProgramSuite(folder, manifest, root)
    assert suite.replay(suite.cases[0]).passed


# Arguments ------------------------------------------------------------------------------------------------------------


def made(kind: str, dtype: str, n: int, **numbers: Any) -> np.ndarray:
    return parse_init({"kind": kind, **numbers}).make(DTYPES[dtype], n)


def test_inputs_by_their_definition() -> None:
    def rng() -> np.random.Generator:
        return np.random.default_rng(5)

    f32 = np.float32
    assert made("const", "i8", 3, value=77).tolist() == [77] * 3
    assert made("arange", "i32", 3).tolist() == [0, 1, 2]
    assert made("arange", "f16", 3, start=7).tolist() == [7, 8, 9]
    whole = rng().integers(-3, 4, size=9, dtype=np.int16)
    assert made("lattice", "f16", 9, lo=-3, hi=3, seed=5).tolist() == whole.tolist()
    assert made("lattice", "f32", 9, lo=-3, hi=3, scale=0.1, seed=5).tolist() == (whole * f32(0.1)).tolist()
    unit = rng().random(9, dtype=f32)
    assert made("uniform", "f32", 9, lo=-2, hi=3, seed=5).tolist() == (unit * f32(5) + f32(-2)).tolist()
    rounded = (unit * f32(5) + f32(-2)).astype(ml_dtypes.bfloat16)
    assert (made("uniform", "bf16", 9, lo=-2, hi=3, seed=5) == rounded).all()
    ints = rng().integers(-(2**31), 2**31, size=9, dtype=np.int64)
    assert made("ints", "i32", 9, lo=-(2**31), hi=2**31 - 1, seed=5).tolist() == ints.tolist()
    words = made("quant_fp", "i64", 9, lo=0.01, hi=0.1, seed=5)
    scales = (unit * f32(0.1 - 0.01) + f32(0.01)).view(np.uint32)
    assert words.tolist() == [1 << 46 | int(s) & 0xFFFFE000 for s in scales]
    assert made("uniform", "f32", 7, lo=0, hi=1, seed=5, period=3).tolist() == np.resize(unit[:3], 7).tolist()


@pytest.mark.parametrize(
    ("got", "want", "atol", "rtol", "passes"),
    [
        (1.0, 1.0, 0, 0, True),
        (1.25, 1.0, 0.25, 0, True),
        (1.25, 1.0, 0.2, 0, False),
        (2.5, 2.0, 0, 0.25, True),
        (2.0, 2.5, 0, 0.19, False),
        (np.inf, np.inf, 0, 0, True),
        (np.inf, -np.inf, 1, 1, False),
        (1e300, np.inf, 1, 1, False),
        (np.nan, np.nan, 0, 0, True),
        (np.nan, 1.0, 9, 9, False),
        (0.0, -0.0, 0, 0, True),
    ],
)
def test_closeness(got: float, want: float, atol: float, rtol: float, passes: bool) -> None:
    assert close(np.float64([got]), np.float64([want]), atol, rtol).tolist() == [passes]


def test_closeness_of_integers_is_exact() -> None:
    got, want = np.int64([2**62 + 1, 5, -(2**63)]), np.int64([2**62, 7, 2**63 - 1])
    assert close(got, want, 0, 0).tolist() == [False, False, False]
    assert close(got, want, 2, 0).tolist() == [True, True, False]
