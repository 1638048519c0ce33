"""Kernels in Python and launches on several ranks in campaigns."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from ptokit.campaign.case import Action, Status
from ptokit.campaign.run import run_campaign
from ptokit.campaign.spec import of_paths, read_spec
from ptokit.campaign.work import work

from ..cli.conftest import Run
from .conftest import kernel
from .here import Here, campaign, outcome

EXAMPLES = Path(__file__).parents[2] / "examples"

SCALE = """import ptokit as pto
from factors import FACTOR


@pto.kernel(target="a5")
def scale(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], cols: pto.Static, n: int = 16):
    t = pto.Tile(pto.TileType.Vec, pto.f32, 16, cols)
    pto.TLOAD(t, pto.GlobalTensor(x, (n, cols)))
    pto.TMULS(t, t, FACTOR)
    pto.TSTORE(pto.GlobalTensor(y, (n, cols)), t)


@pto.kernel(target="a5")
def wrong(x: pto.Ptr[pto.f32]):
    t = pto.Tile(pto.TileType.Vec, pto.f32, 16, 65536)
    pto.TLOAD(t, pto.GlobalTensor(x, (16, 65536)))
"""

SPEC = """
programs = ["."]
do = ["check", "run", "compare"]
[[set]]
match = "scale.py:scale"
name = "doubled"
args = ["ones:f32:16x64", "zeros:f32:16x64", "64"]
expected = ["", "y.npy", ""]
"""


def folder(tmp_path: Path) -> Path:
    sys.modules.pop("factors", None)
    found = tmp_path / "kernels"
    found.mkdir()
    (found / "scale.py").write_text(SCALE)
    (found / "factors.py").write_text("FACTOR = 2.0\n")
    (found / "two.pto").write_text(kernel(2))
    (found / "spec.toml").write_text(SPEC)
    np.save(found / "y.npy", np.full((16, 64), 2, np.float32))
    return found


def statuses(file: Path) -> dict[str, Status]:
    return {row.id: row.result.status for row in outcome(file).rows if row.result}


def test_the_kernels_of_python_files_are_cases(tmp_path: Path) -> None:
    campaign(folder(tmp_path) / "spec.toml", tmp_path / "r.sqlite")
    assert statuses(tmp_path / "r.sqlite") == {
        "scale.py:scale check": Status.PASSED,
        "scale.py:scale run doubled": Status.PASSED,
        "scale.py:scale compare doubled": Status.PASSED,
        "scale.py:wrong check": Status.REFUSED,
        "scale.py:wrong run": Status.REFUSED,
        "two.pto check": Status.PASSED,
        "two.pto run": Status.PASSED,
    }
    (row,) = (row for row in outcome(tmp_path / "r.sqlite").rows if row.id == "scale.py:wrong check")
    assert row.result is not None
    assert row.result.message.startswith("line 15: ")
    assert row.result.findings[0]["file"] == "scale.py"


def test_a_case_needs_no_file_of_its_kernel(tmp_path: Path) -> None:
    where = folder(tmp_path)
    cases = [case for case in read_spec(where / "spec.toml").cases() if case.action is not Action.COMPARE]
    shutil.rmtree(where)
    assert [work(case).status for case in cases if "scale.py:scale" in case.id] == [Status.PASSED] * 2


def test_what_changes_the_program_is_worked_on_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # byte code of a second ago would be taken for that of now
    where, results = folder(tmp_path), tmp_path / "r.sqlite"
    campaign(where / "spec.toml", results, stop=6)
    (where / "scale.py").write_text(SCALE + "\n# a remark\n")
    assert "scale.py:scale check" not in campaign(where / "spec.toml", results, stop=0)
    (where / "factors.py").write_text("FACTOR = 3.0\n")
    del sys.modules["factors"]  # as in another process
    again = campaign(where / "spec.toml", results)
    assert {"scale.py:scale check", "scale.py:scale run doubled", "scale.py:scale compare doubled"} <= again
    assert "two.pto check" not in again
    assert statuses(results)["scale.py:scale compare doubled"] is Status.WRONG


def test_one_kernel_and_files_that_cannot_be_read(tmp_path: Path, ptokit: Run) -> None:
    where = folder(tmp_path)
    (where / "broken.py").write_text("import ptokit as pto\n\n@pto.kernel(target='a5'\ndef f():\n    pass\n")
    (where / "tool.py").write_text("raise SystemExit('not executed')\n")
    one = of_paths([f"{where}/scale.py:wrong"], [Action.CHECK]).cases()
    assert [case.id for case in one] == ["scale.py:wrong check"]
    out = tmp_path / "r.sqlite"
    run_campaign(of_paths([str(where)], [Action.CHECK]), out, executor=Here())
    assert statuses(out)["broken.py check"] is Status.REFUSED
    assert not any("tool.py" in id or "factors.py" in id for id in statuses(out))
    no_such = ptokit("campaign", f"{where}/scale.py:scales", "-o", str(tmp_path / "n.sqlite"))
    assert no_such.status == 2
    assert "Did you mean scale?" in no_such.err


def test_too_few_arguments_are_the_case_s_finding(tmp_path: Path) -> None:
    where, results = folder(tmp_path), tmp_path / "r.sqlite"
    (where / "spec.toml").write_text(SPEC.replace('"ones:f32:16x64", "zeros:f32:16x64", "64"', '"zeros:f32:16x64"'))
    campaign(where / "spec.toml", results)
    assert statuses(results)["scale.py:scale run doubled"] is Status.REFUSED
    assert statuses(results)["two.pto run"] is Status.PASSED


def test_a_campaign_says_ranks(tmp_path: Path) -> None:
    """A launch on ranks has arrays with a leading axis; without arguments of its own there are none to give it."""
    spec = (EXAMPLES / "campaign.toml").read_text().replace('["pto", "python"]', '["ring_all_reduce.pto"]')
    shutil.copy(EXAMPLES / "pto" / "ring_all_reduce.pto", tmp_path)
    (tmp_path / "ring.toml").write_text(spec)
    (tmp_path / "bare.toml").write_text('programs = ["ring_all_reduce.pto"]\ndefault_target = "a5"\nranks = [2]\n')
    campaign(tmp_path / "ring.toml", tmp_path / "r.sqlite")
    found = statuses(tmp_path / "r.sqlite")
    assert "ring_all_reduce.pto run set1 blocks=2 ranks=4" in found
    assert set(found.values()) == {Status.PASSED}
    campaign(tmp_path / "bare.toml", tmp_path / "b.sqlite")
    row = next(row for row in outcome(tmp_path / "b.sqlite").rows if row.action == "run")
    assert row.result is not None
    assert (row.result.status, row.result.rules) == (Status.REFUSED, ("RUN-RANKS",))


def test_the_shipped_examples_pass_as_one_campaign(tmp_path: Path) -> None:
    campaign(EXAMPLES / "campaign.toml", tmp_path / "r.sqlite")
    found = statuses(tmp_path / "r.sqlite")
    assert [id for id, status in found.items() if status is not Status.PASSED] == []
    worked_on = {Path(id.split()[0].split(":")[0]).name for id in found}
    shipped = {p.name for part in ("pto", "python") for p in (EXAMPLES / part).iterdir() if p.is_file()}
    assert shipped - worked_on == {"faulty.pto", "racy.pto"}


def test_what_is_left_out_of_a_folder_is_said(tmp_path: Path, ptokit: Run) -> None:
    where = folder(tmp_path)
    (where / "later.py").write_text("import ptokit as pto\n\ndef f(x: pto.Ptr[pto.f32]):\n    pass\n")
    left_out = f"{where}/later.py: left out: no function at its top level is decorated with @pto.kernel"
    out = str(tmp_path / "r.sqlite")
    for args in (["check"], ["campaign", "--do", "check", "-j", "1", "-o", out]):
        told = ptokit(*args, str(where)).err.splitlines()
        assert left_out in told
        assert not any("factors.py" in line for line in told)
