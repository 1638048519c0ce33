"""Whole campaigns: results are kept, interrupted ones go on, the report says what changed."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ptokit.campaign.case import Action
from ptokit.campaign.run import Change, Summary, page, run_campaign, summarise
from ptokit.campaign.spec import Spec, of_paths, read_spec
from ptokit.campaign.store import Store
from ptokit.cli.campaign import _show_summary
from ptokit.diagnostics import DiagnosticError

from ..cli.conftest import Run
from ..workers.cluster import children, processes, until
from .conftest import kernel
from .here import Here


def outcome(file: Path, run: int | None = None) -> Summary:
    with Store(file, create=False) as store:
        found = summarise(store, run)
    assert found is not None
    return found


def told(file: Path) -> list[tuple[object, ...]]:
    """What a campaign says, without what it took."""
    return [
        (r.id, r.result and (r.result.status, r.result.message, r.result.rules, r.result.digest))
        for r in outcome(file).rows
    ]


def run(spec: Spec, out: Path, jobs: int = 1) -> None:
    run_campaign(spec, out, jobs=jobs)


def test_every_case_of_a_folder_has_a_result(kernels: Path, tmp_path: Path) -> None:
    run(of_paths([str(kernels)]), tmp_path / "r.sqlite")
    found = outcome(tmp_path / "r.sqlite")
    assert found.last_line == "6 passed, 3 refused"
    assert {r.id for r in found.failed} == {f"huge.pto {action}" for action in ("check", "run", "sanitize")}
    assert found.finished


def test_one_process_two_and_any_executor_give_the_same(kernels: Path, tmp_path: Path) -> None:
    spec = of_paths([str(kernels)], [Action.CHECK, Action.RUN])
    run(spec, tmp_path / "1.sqlite")
    run(spec, tmp_path / "2.sqlite", jobs=2)
    with ThreadPoolExecutor(2) as pool:
        run_campaign(spec, tmp_path / "3.sqlite", executor=pool, jobs=2)
    assert told(tmp_path / "1.sqlite") == told(tmp_path / "2.sqlite") == told(tmp_path / "3.sqlite")


def deadly(*_: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_limits_and_deaths_are_results(kernels: Path, tmp_path: Path) -> None:
    (kernels / "slow.pto").write_text(kernel(2, 1 << 40))
    spec = tmp_path / "c.toml"
    spec.write_text(f"""
programs = ["kernels/two.pto", "kernels/slow.pto"]
do = ["run", "compare"]
seconds = 4
memory = "3GiB"
[[set]]
match = "*two.pto"
name = "large"
args = ["zeros:f32:1024", "zeros:f32:4000000000", "0"]
[[set]]
match = "*two.pto"
name = "deadly"
args = ["zeros:f32:1024", "zeros:f32:1024", "0"]
function = "{__name__}:deadly"
""")
    run(read_spec(spec), tmp_path / "r.sqlite")
    found = {r.id: r.result for r in outcome(tmp_path / "r.sqlite").rows}
    assert {name: result and (result.status.value, result.attempt) for name, result in found.items()} == {
        "kernels/two.pto run large": ("out of memory", 1),
        "kernels/two.pto run deadly": ("passed", 1),
        "kernels/two.pto compare deadly": ("lost", 2),
        "kernels/slow.pto run": ("out of time", 1),
    }


@pytest.mark.campaign
def test_eight_processes_give_the_same_as_one(kernels: Path, tmp_path: Path) -> None:
    for i in range(40):
        (kernels / f"k{i:02}.pto").write_text(kernel(i + 2))
    spec = of_paths([str(kernels)])
    run(spec, tmp_path / "1.sqlite")
    run(spec, tmp_path / "8.sqlite", jobs=8)
    assert told(tmp_path / "1.sqlite") == told(tmp_path / "8.sqlite")


def test_the_report_tells_what_changed_since_the_run_before(kernels: Path, tmp_path: Path) -> None:
    out, spec = tmp_path / "r.sqlite", of_paths([str(kernels)], [Action.RUN])
    run(spec, out)
    (kernels / "two.pto").write_text(kernel(2.5))
    (kernels / "three.pto").write_text("nothing")
    (kernels / "huge.pto").write_text(kernel(2))
    (kernels / "new.pto").write_text(kernel(2))
    run(of_paths([str(kernels)], [Action.RUN]), out)
    found = outcome(out)
    changes = {"two": Change.ANSWER, "three": Change.WORSE, "huge": Change.BETTER, "new": Change.NEW}
    assert found.changes == {f"{name}.pto run": change for name, change in changes.items()}
    assert (found.run, found.before) == (2, 1)


def test_the_report_tells_which_launches_got_slower(
    kernels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "r.sqlite"
    (kernels / "huge.pto").write_text(kernel(2, turns=20))
    for turns in (10, 40):
        (kernels / "two.pto").write_text(kernel(2, turns=turns))
        (kernels / "three.pto").write_text(kernel(2, turns=50 - turns))
        run(of_paths([str(kernels)], [Action.TIME]), out)
    found = outcome(out)
    assert found.changes == {"two.pto time": Change.SLOWER, "three.pto time": Change.FASTER}
    assert found.ratios["two.pto time"] > 1.5
    assert found.ratios["two.pto time"] * found.ratios["three.pto time"] == pytest.approx(1)
    _show_summary(found)
    told = capsys.readouterr().out
    assert "Slower than in run 1" in told
    assert f"{found.ratios['two.pto time'] - 1:+.1%}: " in told


def test_a_campaign_goes_on_where_it_stopped(kernels: Path, tmp_path: Path) -> None:
    out, spec = tmp_path / "r.sqlite", of_paths([str(kernels)], [Action.CHECK, Action.RUN])

    def stop(done: int, total: int) -> None:
        if done >= 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_campaign(spec, out, progress=stop)
    first = outcome(out)
    assert first.counts["missing"]
    assert not first.finished
    (kernels / "three.pto").write_text(kernel(4))  # what changed meanwhile is done again
    seen: list[int] = []
    run_campaign(of_paths([str(kernels)], [Action.CHECK, Action.RUN]), out, progress=lambda done, _: seen.append(done))
    assert seen[0] > 0
    run(of_paths([str(kernels)], [Action.CHECK, Action.RUN]), tmp_path / "whole.sqlite")
    assert told(out) == told(tmp_path / "whole.sqlite")
    assert outcome(out).run == 1


def stays(*_: object) -> None:
    """Leaves a process that holds all that this one holds, and never ends."""
    os.fork()
    time.sleep(600)


def test_an_interrupt_ends_a_campaign_whose_case_has_left_a_process(kernels: Path, tmp_path: Path) -> None:
    spec = tmp_path / "c.toml"
    spec.write_text(f"""
programs = ["kernels/two.pto"]
do = ["compare"]
seconds = 0
[[set]]
match = "*"
args = ["zeros:f32:1024", "zeros:f32:1024", "0"]
function = "{__name__}:stays"
""")
    command = [sys.executable, "-m", "ptokit", "campaign", str(spec), "-o", str(tmp_path / "r.sqlite")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    campaign = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=_hear_interrupts
    )
    (group,) = until(lambda: children(campaign.pid))
    assert until(lambda: children(group))
    campaign.send_signal(signal.SIGINT)
    assert campaign.wait(30) == 130
    assert until(lambda: not [pid for pid, _, of, _ in processes() if of == group], 10)


def _hear_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_what_is_no_result_crashes_its_case_only(kernels: Path, tmp_path: Path) -> None:
    class Odd(Here):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            future = super().submit(fn, *args, **kwargs)
            for answer in future.result():
                if answer["id"] in replies:
                    answer["value"] = replies[answer["id"]]
            return future

    result = {"id": "three.pto check", "status": "passed", "rules": [], "findings": []}
    replies: dict[str, Any] = {
        "two.pto check": None,
        "two.pto run": {"result": {}, "key": "x"},
        "three.pto check": {"result": result},
        "three.pto run": {"result": {**result, "id": "three.pto run", "message": 5}, "key": "x"},
    }
    run_campaign(of_paths([str(kernels)], [Action.CHECK, Action.RUN]), tmp_path / "r.sqlite", executor=Odd())
    assert outcome(tmp_path / "r.sqlite").last_line == "0 passed, 2 refused, 4 crashed"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_lost_where_the_process_is_stopped(how: signal.Signals, kernels: Path, tmp_path: Path) -> None:
    _stopped(how, kernels, tmp_path, 1, random.Random(7))


@pytest.mark.campaign
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_lost_at_ten_random_moments(how: signal.Signals, kernels: Path, tmp_path: Path) -> None:
    _stopped(how, kernels, tmp_path, 10, random.Random(11))


def _stopped(how: signal.Signals, kernels: Path, tmp_path: Path, times: int, rng: random.Random) -> None:
    for i in range(10 + 4 * times):
        (kernels / f"k{i:02}.pto").write_text(kernel(i + 2))
    out = tmp_path / "r.sqlite"
    command = [sys.executable, "-m", "ptokit", "campaign", str(kernels), "-o", str(out), "-j", "1", "--do", "run"]
    for _ in range(times):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(rng.uniform(0.3, 2.5))
        process.send_signal(how)
        assert process.wait(30) in (-how, 130, 1)
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    run(of_paths([str(kernels)], [Action.RUN]), tmp_path / "whole.sqlite")
    assert told(out) == told(tmp_path / "whole.sqlite")
    assert outcome(out).finished


@pytest.mark.parametrize(
    "content", [b"", b"not a database, but long enough to look like a file", b"SQLite format 3\0" + b"x" * 200]
)
def test_a_file_of_another_kind_is_refused_and_left_as_it_is(content: bytes, kernels: Path, tmp_path: Path) -> None:
    out = tmp_path / "r.sqlite"
    if not content:
        with sqlite3.connect(out) as db:
            db.execute("CREATE TABLE mine (x)")
        content = out.read_bytes()
    out.write_bytes(content)
    with pytest.raises(DiagnosticError) as caught:
        run(of_paths([str(kernels)]), out)
    assert [d.rule for d in caught.value.diagnostics] == ["CAMP-RESULTS"]
    assert out.read_bytes() == content


def test_a_campaign_as_toml(kernels: Path, tmp_path: Path) -> None:
    spec = tmp_path / "night.toml"
    spec.write_text(f"""
name = "night"
programs = ["{kernels.name}/t*.pto"]
targets = ["a2a3", "a5"]
do = ["check", "run", "compare"]
blocks = [1, 2]
seconds = 30
memory = "2GiB"

[mode]
matmul = "fast"

[[set]]
match = "*/two.pto"
name = "small"
args = ["arange:f32:1024", "zeros:f32:1024", "0"]
program = "{kernels.name}/two.pto"
""")
    cases = list(read_spec(spec).cases())
    names = [c.id for c in cases if c.program.endswith("two.pto") and c.target == "a5"]
    assert names == [
        "kernels/two.pto a5 check",
        "kernels/two.pto a5 run small",
        "kernels/two.pto a5 run small blocks=2",
        "kernels/two.pto a5 compare small",
        "kernels/two.pto a5 compare small blocks=2",
    ]
    assert [c.id for c in cases if "three" in c.id and c.target == "a2a3"] == [
        "kernels/three.pto a2a3 check",
        "kernels/three.pto a2a3 run",
        "kernels/three.pto a2a3 run blocks=2",
    ]
    assert all((c.seconds, c.memory, c.mode.get("matmul", "fast")) == (30, 2 << 30, "fast") for c in cases)
    run(read_spec(spec), tmp_path / "r.sqlite")
    assert outcome(tmp_path / "r.sqlite").last_line == "16 passed"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("programs = [", "Invalid value"),
        ("", "it names no programs"),
        ('programs = ["kernels/*.pto"]\ndoo = ["check"]', "unknown key 'doo'"),
        ('programs = ["kernels/*.pto"]\ndo = ["chek"]', "do has 'chek'; there are check, run"),
        ('programs = ["kernels/*.pto"]\nblocks = [0]', "not a list of integers from 1 on"),
        ('programs = ["kernels/*.pto"]\nseconds = true', "not a number from 0 on"),
        ('programs = ["kernels/*.pto"]\nmemory = "much"', "memory is 'much'"),
        ('programs = ["kernels/*.pto"]\nmode = {matmul = "slow"}', "mode has matmul = 'slow'"),
        ('programs = ["kernels/*.pto"]\nset = 3', "set is not a list of tables"),
        ('programs = ["kernels/*.pto"]\n[[set]]\nargs = ["ones"]', "set 1: args: 'ones' is neither a number"),
        ('programs = ["kernels/*.pto"]\n[[set]]\nagainst = "gpu"', "set 1: against is 'gpu'; there are numpy, native"),
        ('programs = ["kernels/*.pto"]\n[[set]]\nfunction = "f"', "set 1: function is 'f', not module:name"),
        ('programs = ["kernels/*.pto"]\n[[set]]\ntolerance = {ulp = -1}', "a tolerance is {ulp} or {rtol, atol}"),
    ],
)
def test_a_wrong_description_is_refused(text: str, message: str, kernels: Path, tmp_path: Path) -> None:
    spec = tmp_path / "c.toml"
    spec.write_text(text)
    with pytest.raises(DiagnosticError) as caught:
        read_spec(spec)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.rule == "CAMP-SPEC"
    assert message in diagnostic.message
    assert diagnostic.location.file == str(spec)


@pytest.mark.parametrize("name", ["none.pto", "*.none", "a**b", "[", "k[1]/none.pto"])
def test_programs_that_are_not_there_are_refused(name: str, tmp_path: Path) -> None:
    for pattern in (name, str(tmp_path / name)):
        with pytest.raises(DiagnosticError) as caught:
            of_paths([pattern])
        assert [d.rule for d in caught.value.diagnostics] == ["CAMP-PROGRAMS"]


def test_patterns_may_begin_at_the_root_and_names_may_look_like_patterns(kernels: Path, tmp_path: Path) -> None:
    odd = tmp_path / "k[1]*"
    kernels.rename(odd)
    names = {path.name for path in odd.iterdir()}
    for pattern in (str(odd), str(tmp_path / "k*" / "*.pto"), "k*/*.pto", "k[1]*"):
        (tmp_path / "c.toml").write_text(f"programs = ['{pattern}']\n")
        assert {path.name for path in read_spec(tmp_path / "c.toml").programs} == names
    assert [path.name for path in of_paths([str(odd / "two.pto")]).programs] == ["two.pto"]


def test_programs_that_state_no_target_get_those_of_the_command(
    ptokit: Run, kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    only = kernels / "two.pto"
    only.write_text(kernel().replace(' attributes {pto.target_arch = "a5"}', "", 1))
    args = ("campaign", only, "--do", "check", "-j", "1")
    refused = ptokit(*args, "-o", "a.sqlite")
    assert (refused.status, "[CAMP-TARGET]" in refused.out) == (1, True)
    ran = ptokit(*args, "-o", "b.sqlite", "-t", "a2a3", "-t", "a5")
    assert (ran.status, ran.out.splitlines()[-1]) == (0, "kernels, run 1: 2 passed")


def test_modes_are_combined_as_far_as_they_concern_an_action(kernels: Path, tmp_path: Path) -> None:
    spec = tmp_path / "c.toml"
    spec.write_text("""
programs = ["kernels/two.pto"]
do = ["check", "run", "sanitize"]
[mode]
backend = ["numpy", "native"]
matmul = "fast"
sync = ["auto", "manual"]
""")
    cases = list(read_spec(spec).cases())
    assert [(c.id.removeprefix("kernels/two.pto "), c.mode) for c in cases] == [
        ("check", {}),
        ("run backend=numpy", {"backend": "numpy", "matmul": "fast"}),
        ("run backend=native", {"backend": "native", "matmul": "fast"}),
        ("sanitize sync=auto", {"sync": "auto"}),
        ("sanitize sync=manual", {"sync": "manual"}),
    ]


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.campaign)])
def test_options_of_a_campaign_over_folders(
    ptokit: Run, kernels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slow: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    (kernels / "two.pto").write_text(kernel().replace(' attributes {pto.target_arch = "a5"}', "", 1))
    (kernels / "slow.pto").write_text(kernel(2, 1 << 40 if slow else 1))
    (kernels / "huge.pto").unlink()
    limits = ("--default-target", "a2a3", "--timeout", "4", "--memory", "4GiB", "--mode", "auto")
    ran = ptokit("campaign", kernels, "--do", "check,run", *limits, "-j", "1", "--format", "json")
    assert {c["id"]: c["status"] for c in json.loads(ran.out)["cases"]} == {
        "slow.pto check": "passed",
        "slow.pto run": "out of time" if slow else "passed",
        "three.pto check": "passed",
        "three.pto run": "passed",
        "two.pto check": "passed",
        "two.pto run": "passed",
    }


def test_names_that_are_not_utf8_are_kept_with_backslashes(kernels: Path, tmp_path: Path) -> None:
    odd = kernels / os.fsdecode(b"\xff.pto")
    try:
        odd.write_text(kernel())
    except OSError:
        pytest.skip("the file system has no such names")
    run(of_paths([str(odd)], [Action.CHECK]), tmp_path / "r.sqlite")
    assert [r.id for r in outcome(tmp_path / "r.sqlite").rows] == ["\\udcff.pto check"]


def test_the_page_holds_every_case_and_no_markup_of_theirs(kernels: Path, tmp_path: Path) -> None:
    (kernels / "<b>odd.pto").write_text("</script><b>")
    out = tmp_path / "r.sqlite"
    run(of_paths([str(kernels)], [Action.CHECK]), out)
    text = page(outcome(out))
    start = text.index("id='data'>") + len("id='data'>")
    data = json.loads(text[start : text.index("</script>", start)])
    assert [c["program"] for c in data["cases"]] == ["<b>odd.pto", "huge.pto", "three.pto", "two.pto"]
    assert "<b>odd" not in text
    assert "http" not in text  # it needs nothing else


def test_the_command_reports_and_exits_with_1_where_a_case_did_not_pass(
    ptokit: Run,
    kernels: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = ptokit("campaign", kernels, "--do", "check", "-j", "1", "--html", "r.html", "--junit", "r.xml")
    assert ran.status == 1
    assert ran.out.splitlines()[-1] == "kernels, run 1: 2 passed, 1 refused"
    assert "huge.pto check" in ran.out
    assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")
    assert 'failures="1"' in (tmp_path / "r.xml").read_text()
    again = ptokit("campaign", "report", "kernels.sqlite", "--format", "json")
    assert again.status == 1
    report = json.loads(again.out)
    assert report["counts"] == {"passed": 2, "refused": 1}
    assert [c["status"] for c in report["cases"]] == ["refused", "passed", "passed"]


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (("none.toml",), 1),
        (("none.pto",), 1),
        (("report",), 2),
        (("report", "none.sqlite"), 1),
        (("kernels", "--executor", "nowhere"), 1),
        (("kernels", "-j", "0"), 2),
        (("a.toml", "--do", "check"), 2),
        (("a.toml", "-t", "a5"), 2),
        (("kernels", "-t", "a9"), 2),
        (("kernels", "--default-target", "a9"), 2),
        (("kernels", "--do", "check,fly"), 2),
        (("kernels", "--memory", "much"), 2),
        (("kernels", "--timeout", "-1"), 2),
        (("a.toml", "--timeout", "1"), 2),
        (("report", "none.sqlite", "--mode", "auto"), 2),
        (("kernels", "--html", "no/such/folder.html"), 1),
    ],
)
def test_wrong_usage(
    args: tuple[str, ...],
    status: int,
    ptokit: Run,
    kernels: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = ptokit("campaign", *args)
    assert (ran.status, "internal error" in ran.err) == (status, False)
    assert ran.err
