"""The model of `ptokit time` against published times: what holds, in a sample; all of it in a campaign."""

from __future__ import annotations

import pytest

from ptokit.conformance.published import GEMM, KERNELS, MX_FP8, instruction_rows, reason
from ptokit.conformance.timing import RUNS, cycles, gemm, mx_fp8, validate


def test_the_split_is_by_table() -> None:
    assert sum(len(table.rows) for table in KERNELS) == 42
    assert {table.name for table in KERNELS if not table.fitted} >= {MX_FP8.name, "flash attention, head 128, fp16"}
    rows = [row for row in instruction_rows() if not reason(row)]
    assert len(rows) > 540
    assert 100 < sum(row.fitted for row in rows) < len(rows) / 2


def test_a_sample_of_instructions() -> None:
    """One row of each instruction and type is within 15 %, but for few."""
    sample = {(row.target, row.name, row.types): row for row in instruction_rows() if not reason(row)}
    errors = {key: cycles(row) / row.cycles - 1 for key, row in sample.items()}
    far = {key for key, error in errors.items() if abs(error) > 0.15}
    assert len(far) <= len(errors) / 3, far
    exact = next(r for r in instruction_rows() if (r.name, r.types[0], r.cycles) == ("TADD", "float", 160))
    assert cycles(exact) == 10 + 2 * 64 + 14


def test_two_kernels_take_as_long_as_on_the_device() -> None:
    for table, run in ((GEMM, gemm), (MX_FP8, mx_fp8)):
        row = table.rows[0]
        timing = run(row)
        assert timing.us == pytest.approx(row.us, rel=0.05)
        assert 100 * timing.share("M") == pytest.approx(row.shares["M"], rel=0.12)


@pytest.mark.campaign
def test_what_the_page_says_of_the_model() -> None:
    """The bounds that are met are met; those that are missed are the ones that the page names."""
    found = validate()
    assert [text for text in found.missed if "kernel rows" not in text and "busy shares" not in text] == []
    assert {row.table for row in found.rows if row.kind == "µs"} == set(RUNS)
