"""Arguments made from a text that lead outside of arrays, and outcomes that are recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import ptokit
from ptokit.arguments.derive import GUESSES
from ptokit.campaign.case import Status
from ptokit.campaign.spec import read_spec
from ptokit.campaign.work import work
from ptokit.diagnostics import DiagnosticError

KERNEL = """
module attributes {{pto.target_arch = "a5"}} {{
func.func @rows(%x: !pto.ptr<f32>, %n: index) attributes {{pto.entry}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant {rows} : index
  %view = pto.make_tensor_view %x, shape = [%c128, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
  %t = pto.alloc_tile addr = %zero : !pto.tile_buf<vec, 64x64xf32>
  scf.for %i = %c0 to %n step %c1 {{
    %top = arith.muli %i, %c64 : index
    %part = pto.partition_view %view, offsets = [%top, %c0], sizes = [%c64, %c64]
      : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<64x64xf32>
    pto.tload ins(%part : !pto.partition_tensor_view<64x64xf32>) outs(%t : !pto.tile_buf<vec, 64x64xf32>)
    pto.barrier #pto.pipe<PIPE_ALL>
  }}
  return
}}
}}
""".replace("  %t = ", "  %zero = arith.constant 0 : i64\n  %t = ")
"""With 128 rows it stays inside of its view for two iterations. With -1 in the place of rows it begins before it."""


def text(rows: int) -> str:
    before = "%first = arith.muli %i, %c64 : index\n    %top = arith.subi %first, %c64 : index"
    start = KERNEL.format(rows=abs(rows) if rows > 0 else 128)
    return start if rows > 0 else start.replace("%top = arith.muli %i, %c64 : index", before)


def campaign(tmp_path: Path, rows: int, more: str = "", do: str = '"check", "run", "sanitize"') -> dict[str, object]:
    (tmp_path / "rows.pto").write_text(text(rows))
    (tmp_path / "c.toml").write_text(f'programs = ["rows.pto"]\ndo = [{do}]\n{more}')
    return {case.action.value: work(case) for case in read_spec(tmp_path / "c.toml").cases()}


def test_guesses_shrink_until_the_kernel_is_inside(tmp_path: Path) -> None:
    found = campaign(tmp_path, 128)
    assert {action: result.status for action, result in found.items()} == dict.fromkeys(found, Status.PASSED)
    report = ptokit.sanitize(str(tmp_path / "rows.pto"))
    assert report.clean
    assert report.arguments == ["random:f32:8192:seed=0", "2"]


def test_what_leaves_with_all_guesses_says_on_what_it_rests(tmp_path: Path) -> None:
    found = campaign(tmp_path, -1)
    for action in ("run", "sanitize"):
        assert found[action].status is Status.FINDING
        assert "with arguments made from the text [GM-OOB]" in found[action].message
        (finding,) = [d for d in found[action].findings if d["rule"] == "GM-OOB"][:1]
        assert any("%x is random:f32:" in note["message"] for note in finding["notes"])
    report = ptokit.sanitize(str(tmp_path / "rows.pto"))
    assert "the arguments are made from the text, which does not tell them: %x is random:f32:" in str(report)
    given = ptokit.sanitize(str(tmp_path / "rows.pto"), ["zeros:f32:8192", 1])
    assert "made from the text" not in str(given)
    own = campaign(tmp_path, -1, '[[set]]\nargs = ["zeros:f32:8192", "1"]\n')
    assert own["run"].status is Status.FINDING
    assert "made from the text" not in own["run"].message


def test_all_guesses_are_different() -> None:
    assert len(set(GUESSES)) == len(GUESSES)


def test_outcomes_that_are_recorded(tmp_path: Path) -> None:
    known = {
        "rows*": {
            "run": {"outcome": "finding", "rule": "GM-OOB", "source": "910B2"},
            "sanitize": {"outcome": "finding", "rule": "RACE-RAW"},
            "*": "refused",
        }
    }
    (tmp_path / "device.json").write_text(json.dumps(known))
    found = campaign(tmp_path, -1, 'recorded = "device.json"\n')
    assert found["run"].status is Status.PASSED
    assert found["run"].message.startswith("finding, as is recorded (910B2). line 14: ")
    assert found["sanitize"].status is Status.WRONG
    assert found["sanitize"].message.startswith("finding, recorded is finding [RACE-RAW]. line 1")
    assert found["check"].status is Status.WRONG
    assert found["check"].message == "passed, recorded is refused"
    (tmp_path / "device.json").write_text('{"rows.pto": "passed", "*": "refused"}')
    found = campaign(tmp_path, 128, 'recorded = "device.json"\n')
    assert {result.status for result in found.values()} == {Status.PASSED}


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[", "device.json is no JSON"),
        ("[]", "has an outcome"),
        ('{"a": "good"}', "outcome is one of passed, refused, finding, wrong answer"),
        ('{"a": {"fly": "passed"}}', "has an outcome, or one for each of check, run"),
        ('{"a": {"run": {"outcome": "passed", "why": ""}}}', "outcome is one of"),
    ],
)
def test_files_of_outcomes_that_are_none(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "device.json").write_text(content)
    with pytest.raises(DiagnosticError, match=why):
        campaign(tmp_path, 128, 'recorded = "device.json"\n')
    (tmp_path / "device.json").unlink()
    with pytest.raises(DiagnosticError, match=r"device\.json: No such file"):
        campaign(tmp_path, 128, 'recorded = "device.json"\n')


def test_a_set_says_the_target_of_texts_that_state_none(tmp_path: Path) -> None:
    for name in ("old", "new"):
        bare = KERNEL.format(rows=128).replace('module attributes {pto.target_arch = "a5"} ', "module ")
        (tmp_path / f"{name}.pto").write_text(bare)
    spec = 'programs = ["*.pto"]\ndo = ["check", "run"]\ndefault_target = "a5"\n'
    spec += '[[set]]\nmatch = "old*"\ndefault_target = "a2a3"\n'
    (tmp_path / "c.toml").write_text(spec)
    cases = list(read_spec(tmp_path / "c.toml").cases())
    assert [(case.program, case.default_target) for case in cases] == [
        *[("new.pto", "a5")] * 2,
        *[("old.pto", "a2a3")] * 2,
    ]
    assert {work(case).status for case in cases} == {Status.PASSED}
    (tmp_path / "c.toml").write_text(spec.replace('"a2a3"', '"a7"'))
    with pytest.raises(DiagnosticError, match="set 1: default_target is 'a7'"):
        read_spec(tmp_path / "c.toml")
