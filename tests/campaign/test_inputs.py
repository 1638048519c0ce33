"""What decides a result is known by its contents: what changed is worked on again, what did not is kept."""

from __future__ import annotations

import os
import random
import socket
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptokit.campaign import run, sources, store
from ptokit.campaign.case import Action, Case
from ptokit.campaign.sources import ABSENT, digest_of_file, digest_of_function, forget, load
from ptokit.campaign.spec import read_spec
from ptokit.campaign.work import work_case
from ptokit.diagnostics import DiagnosticError

from ..cli.conftest import Run
from .conftest import kernel
from .here import campaign, outcome, told, with_results

SPEC = """
programs = ["*.pto"]
do = ["run", "compare"]
[[set]]
match = "a.pto"
name = "file"
args = ["{folder}/x.npy", "zeros:f32:16x64", "0"]
expected = ["", "y.npy", ""]
[[set]]
match = "a.pto"
name = "map"
args = ["mmap:{folder}/m.npy", "zeros:f32:16x64", "0"]
function = "golden:double"
[[set]]
match = "b.pto"
name = "other"
args = ["ones:f32:16x64", "zeros:f32:16x64", "0"]
program = "c.pto_"
[[set]]
match = "b.pto"
name = "random"
args = ["random:f32:16x64", "zeros:f32:16x64", "0"]
function = "goldens.more:double"
"""
GOLDEN = "from helper import factor\n\ndef double(x, y, n):\n    return x * factor()\n"
HELPER = "import json, os\nSCALE = {scale}\n\ndef factor():\n    return SCALE\n"
MORE = """
import numpy as np
from . import table
WEIGHTS = np.load(os.path.join(os.path.dirname(__file__), "w.npy")) if (os := __import__("os")) else None

def double(x, y, n):
    with open(os.path.join(os.path.dirname(__file__), "now.txt")) as file:
        return x * WEIGHTS[0] * table.FACTOR * float(file.read())
"""


def array(path: Path, value: float) -> None:
    np.save(path, np.full((16, 64), value, np.float32))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A campaign of eight cases with inputs of all kinds; every case passes."""
    folder = tmp_path / "c"
    (folder / "goldens").mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    (folder / "a.pto").write_text(kernel(2))
    (folder / "b.pto").write_text(kernel(2))
    (folder / "c.pto_").write_text(kernel(2, turns=2))
    array(folder / "x.npy", 1)
    array(folder / "y.npy", 2)
    array(folder / "m.npy", 3)
    (folder / "golden.py").write_text(GOLDEN)
    (folder / "helper.py").write_text(HELPER.format(scale=2))
    (folder / "goldens" / "__init__.py").write_text("")
    (folder / "goldens" / "more.py").write_text(MORE)
    (folder / "goldens" / "table.py").write_text("FACTOR = 1\n")
    np.save(folder / "goldens" / "w.npy", np.full(1, 2, np.float32))
    (folder / "goldens" / "now.txt").write_text("1")
    (folder / "spec.toml").write_text(SPEC.format(folder=folder))
    return folder


NAMES = {"f": "file", "m": "map", "o": "other", "r": "random"}
CASES = {f"{p}.pto {do} {NAMES[n]}" for p, n in ("af", "am", "bo", "br") for do in ("run", "compare")}

Change = Callable[[Path], object]
CHANGES: dict[str, tuple[Change, set[str], str]] = {
    "the text": (lambda f: (f / "b.pto").write_text(kernel(3)), {c for c in CASES if c[0] == "b"}, "b.pto"),
    "another text": (
        lambda f: (f / "c.pto_").write_text(kernel(3)),
        {"b.pto compare other"},
        "the other version of b.pto",
    ),
    "an array": (lambda f: array(f / "x.npy", 5), {"a.pto run file", "a.pto compare file"}, "{folder}/x.npy"),
    "a mapped array": (lambda f: array(f / "m.npy", 5), {"a.pto run map", "a.pto compare map"}, "{folder}/m.npy"),
    "an expected array": (lambda f: array(f / "y.npy", 5), {"a.pto compare file"}, "{folder}/y.npy"),
    "no expected array": (lambda f: (f / "y.npy").unlink(), {"a.pto compare file"}, "{folder}/y.npy"),
    "a function": (
        lambda f: (f / "golden.py").write_text(GOLDEN.replace("x *", "x +")),
        {"a.pto compare map"},
        "golden:double",
    ),
    "its helper": (
        lambda f: (f / "helper.py").write_text(HELPER.format(scale=3)),
        {"a.pto compare map"},
        "golden:double",
    ),
    "a module of its package": (
        lambda f: (f / "goldens" / "table.py").write_text("FACTOR = 9\n"),
        {"b.pto compare random"},
        "goldens.more:double",
    ),
    "a package": (
        lambda f: (f / "goldens" / "__init__.py").write_text("raise ValueError\n"),
        {"b.pto compare random"},
        "goldens.more:double",
    ),
    "what it reads when imported": (
        lambda f: np.save(f / "goldens" / "w.npy", np.full(1, 4, np.float32)),
        {"b.pto compare random"},
        "{folder}/goldens/w.npy",
    ),
    "what it reads when called": (
        lambda f: (f / "goldens" / "now.txt").write_text("4"),
        {"b.pto compare random"},
        "{folder}/goldens/now.txt",
    ),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_input_is_worked_on_again_and_nothing_else(what: str, folder: Path, tmp_path: Path) -> None:
    change, affected, named = CHANGES[what]
    spec, out = folder / "spec.toml", tmp_path / "r.sqlite"
    campaign(spec, out, stop=7)
    assert outcome(out).last_line == "7 passed, 1 missing"
    change(folder)
    left = CASES - with_results(out)
    assert campaign(spec, out) == affected | left
    campaign(spec, tmp_path / "fresh.sqlite")
    assert told(out) == told(tmp_path / "fresh.sqlite")
    again = affected - left
    count = f"{len(again)} case{'s' * (len(again) != 1)}"
    said = outcome(out).about.get(store.AGAIN)
    assert said == (f"{count}: {named.format(folder=folder)}" if again else None)
    assert outcome(out).finished


def test_nothing_is_worked_on_twice_where_nothing_changed(folder: Path, tmp_path: Path) -> None:
    spec, out = folder / "spec.toml", tmp_path / "r.sqlite"
    campaign(spec, out, stop=6)
    first = with_results(out)
    for name in ("x.npy", "golden.py", "a.pto", "goldens/w.npy"):
        path = folder / name
        path.write_bytes(path.read_bytes())  # the same contents at another time
    assert campaign(spec, out) == CASES - first
    assert store.AGAIN not in outcome(out).about


def test_the_summary_says_what_was_worked_on_again(
    ptokit: Run, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, out = folder / "spec.toml", tmp_path / "r.sqlite"
    campaign(spec, out, stop=7)
    array(folder / "m.npy", 7)
    campaign(spec, out)
    lines = ptokit("campaign", "report", out).out.splitlines()
    assert f"Worked on again, since they changed: 2 cases: {folder}/m.npy" in lines


def test_what_changes_during_the_work_is_worked_on_again(ptokit: Run, folder: Path, tmp_path: Path) -> None:
    spec, out = folder / "spec.toml", tmp_path / "r.sqlite"

    def before(id: str) -> None:
        if id == "b.pto run other":
            array(folder / "x.npy", 9)

    assert campaign(spec, out, before=before) == CASES
    assert not outcome(out).finished
    lines = ptokit("campaign", "report", out).out.splitlines()
    message = f"Changed while the campaign ran: 2 cases: {folder}/x.npy; the same command works on them again"
    assert message in lines
    assert campaign(spec, out) == {"a.pto run file", "a.pto compare file"}
    campaign(spec, tmp_path / "fresh.sqlite")
    assert told(out) == told(tmp_path / "fresh.sqlite")
    assert outcome(out).finished
    assert store.MOVED not in outcome(out).about


def test_a_result_whose_input_changed_in_its_own_time_has_no_key(folder: Path) -> None:
    (folder / "golden.py").write_text(
        "import numpy as np\n\ndef double(x, y, n):\n    np.save('x.npy', x + 1)\n    return x * 2\n"
    )
    args = ("x.npy", "zeros:f32:16x64", "0")
    case = Case("k", "k.pto", kernel(2), Action.COMPARE, args=args, function="golden:double")
    answer = work_case({"case": case.as_json(), "known": {}}, ())
    assert (answer["result"]["status"], answer["key"]) == ("passed", "")
    assert case.changed(answer["key"])


def test_what_is_only_where_the_work_is_done_does_not_keep_a_run_open(folder: Path, tmp_path: Path) -> None:
    spec, out = folder / "spec.toml", tmp_path / "r.sqlite"
    campaign(spec, out, stop=7)
    (folder / "golden.py").unlink()
    with store.Store(out) as opened:
        cases = list(read_spec(spec).cases())
        opened.finish(1, cases)
        assert opened.runs()[0][3]
        keys = opened._results(1)
    changed = {case.id: case.changed(keys[case.id]) for case in cases if case.id in keys}
    assert {id for id, names in changed.items() if names} == {"a.pto compare map"}  # a run that goes on does it again


def _random_changes(folder: Path, tmp_path: Path, seed: int) -> None:
    """Changes and interruptions at random; in the end every comparison says what the numbers of the files say."""
    rng = random.Random(seed)
    spec, out = folder / "spec.toml", tmp_path / "r.sqlite"
    writers: dict[str, Callable[[float], object]] = {
        "a": lambda v: (folder / "a.pto").write_text(kernel(v)),
        "b": lambda v: (folder / "b.pto").write_text(kernel(v)),
        "c": lambda v: (folder / "c.pto_").write_text(kernel(v)),
        "x": lambda v: array(folder / "x.npy", v),
        "y": lambda v: array(folder / "y.npy", v),
        "m": lambda v: array(folder / "m.npy", v),
        "helper": lambda v: (folder / "helper.py").write_text(HELPER.format(scale=v)),
        "table": lambda v: (folder / "goldens" / "table.py").write_text(f"FACTOR = {v}\n"),
        "now": lambda v: (folder / "goldens" / "now.txt").write_text(str(v)),
        "w": lambda v: np.save(folder / "goldens" / "w.npy", np.full(1, v, np.float32)),
    }
    n = {"a": 2, "b": 2, "c": 2, "x": 1, "y": 2, "m": 3, "helper": 2, "table": 1, "now": 1, "w": 2}
    for _ in range(rng.randrange(2, 7)):
        campaign(spec, out, stop=rng.randrange(1, 5))
        for name in rng.choices(list(writers), k=rng.randrange(4)):
            n[name] = rng.choice([1, 2, 4])
            writers[name](n[name])
    campaign(spec, out)
    assert outcome(out).finished
    right = {
        "a.pto compare file": n["a"] * n["x"] == n["y"],
        "a.pto compare map": n["a"] == n["helper"],
        "b.pto compare other": n["b"] == n["c"],
        "b.pto compare random": n["b"] == n["w"] * n["table"] * n["now"],
    }
    statuses = {r.id: r.result.status.value for r in outcome(out).rows if r.result}
    assert statuses == {id: "passed" if right.get(id, True) else "wrong answer" for id in CASES}


@pytest.mark.parametrize("seed", range(4))
def test_random_changes_leave_no_old_result(seed: int, folder: Path, tmp_path: Path) -> None:
    _random_changes(folder, tmp_path, seed)


@pytest.mark.campaign
@pytest.mark.parametrize("seed", range(100, 300))
def test_many_random_changes_leave_no_old_result(seed: int, folder: Path, tmp_path: Path) -> None:
    _random_changes(folder, tmp_path, seed)


# --- what a case says itself ---------------------------------------------------------------------------------------

OTHERS: dict[str, Any] = {
    "compiled": True,
    "ranks": 2,
    "recorded": {"outcome": "refused"},
    "id": "other",
    "program": "other.pto",
    "text": kernel(5),
    "action": Action.COMPARE,
    "target": "a2a3",
    "default_target": "a5",
    "entry": "scale",
    "args": ("zeros:f32:16x64",),
    "blocks": 2,
    "seed": 1,
    "mode": {"matmul": "ref"},
    "expected": ("", "y.npy"),
    "function": "golden:double",
    "other": kernel(6),
    "against": "native",
    "tolerance": {"ulp": 2},
    "seconds": 7.0,
    "memory": 1 << 30,
}


@pytest.mark.parametrize("name", [f.name for f in fields(Case)])
def test_all_that_a_case_says_is_in_its_key(name: str) -> None:
    case = Case("k", "k.pto", kernel(), Action.RUN)
    other = replace(case, **{name: OTHERS[name]})
    assert case.key != other.key
    assert other.changed(case.key)
    assert not case.changed(case.key)
    assert not other.changed(other.key)


@pytest.mark.parametrize("key", ["", "x", "7", "[]", "{}", '{"options": 7, "texts": 7}', "[" * 100_000, "0" * 64])
def test_a_key_of_another_version_is_that_of_no_case(key: str) -> None:
    assert Case("k", "k.pto", kernel(), Action.RUN).changed(key)


@pytest.mark.parametrize("writes", ["mmap:x.npy:rw", "mmap:new.npy:f32:16x64"])
def test_arguments_that_a_kernel_changes_in_their_files_are_refused(writes: str, folder: Path) -> None:
    spec = folder / "w.toml"
    spec.write_text(f'programs = ["a.pto"]\n[[set]]\nargs = ["{writes}", "zeros:f32:16x64", "0"]\n')
    with pytest.raises(DiagnosticError, match="a case that changes a file changes what the next one reads") as caught:
        read_spec(spec)
    assert [d.rule for d in caught.value.diagnostics] == ["CAMP-SPEC"]


@pytest.mark.parametrize("what", ["ptokit", "code", "numpy", "python", "backend"])
def test_what_decides_all_cases_alike_starts_a_new_run(
    what: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, out = folder / "spec.toml", tmp_path / "r.sqlite"
    campaign(spec, out, stop=2)
    change: dict[str, Callable[[], None]] = {
        "ptokit": lambda: monkeypatch.setattr(run, "__version__", "99"),
        "code": lambda: monkeypatch.setattr(run, "code_version", lambda: "another"),
        "numpy": lambda: monkeypatch.setattr(np, "__version__", "99"),
        "python": lambda: monkeypatch.setattr(run.platform, "python_version", lambda: "99"),
        "backend": lambda: monkeypatch.setenv("PTOKIT_BACKEND", "numpy"),
    }
    change[what]()
    campaign(spec, out, stop=1)
    assert outcome(out).run == 2


def test_another_host_goes_on_with_the_run(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, out = folder / "spec.toml", tmp_path / "r.sqlite"
    campaign(spec, out, stop=3)
    first = with_results(out)
    monkeypatch.setattr(socket, "gethostname", lambda: "another")
    assert campaign(spec, out) == CASES - first


# --- files ---------------------------------------------------------------------------------------------------------


def test_a_file_is_told_by_its_contents(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"1")
    one = digest_of_file(str(path))
    path.write_bytes(b"2")
    two = digest_of_file(str(path))
    path.write_bytes(b"1")
    assert one == digest_of_file(str(path)) != two
    path.unlink()
    assert digest_of_file(str(path)) == ABSENT


@pytest.mark.parametrize("age", [0, 3600])
def test_a_change_that_sets_the_time_back_is_seen(age: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources.time, "time", lambda: os.stat(tmp_path).st_mtime + age)
    path = tmp_path / "x"
    path.write_bytes(b"1")
    status = path.stat()
    one = digest_of_file(str(path))
    path.write_bytes(b"2")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert digest_of_file(str(path)) != one


def test_a_file_that_was_left_alone_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"1")
    status = path.stat()
    read = 0
    whole = sources.hashlib.sha256

    def counted(*data: bytes) -> Any:
        nonlocal read
        read += 1
        return whole(*data)

    monkeypatch.setattr(sources.hashlib, "sha256", counted)
    for later, reads in ((0.5, 1), (0.6, 2), (3, 3), (4, 3), (5, 3)):  # young files are read again: a tick may be long
        monkeypatch.setattr(sources.time, "time", lambda later=later: status.st_mtime + later)
        digest_of_file(str(path))
        assert read == reads


def test_what_is_remembered_elsewhere_counts_for_the_same_file_only(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"1")
    true = digest_of_file(str(path))
    stamp = list(sources._stamp(path.stat()))
    sources._known.clear()
    sources.remember({str(path): [[*stamp[:-1], 0], "wrong"]})
    assert digest_of_file(str(path)) == true
    sources._known.clear()
    sources.remember({str(path): [stamp, "told"]})
    assert digest_of_file(str(path)) == "told"
    assert sources.remembered([str(path), "none"]) == {str(path): [stamp, "told"]}
    sources._known.clear()


def test_a_pipe_a_folder_and_a_device_hold_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.npy")
    (tmp_path / "folder.npy").mkdir()
    (tmp_path / "loop.npy").symlink_to("loop.npy")
    for name in ("x.npy", "folder.npy", "loop.npy", "a\0b.npy"):
        assert digest_of_file(str(tmp_path / name)) == ABSENT
    assert digest_of_file("/dev/zero") == ABSENT


def test_files_of_ranks_count_together(tmp_path: Path) -> None:
    pattern = str(tmp_path / "r{rank}" / "x.npy")
    assert digest_of_file(pattern) == ABSENT
    seen = set()
    for rank in range(3):
        (tmp_path / f"r{rank}").mkdir()
        array(tmp_path / f"r{rank}" / "x.npy", rank)
        seen.add(digest_of_file(pattern))
    array(tmp_path / "r1" / "x.npy", 9)
    assert len(seen | {digest_of_file(pattern)}) == 4


# --- functions -----------------------------------------------------------------------------------------------------


def test_nothing_runs_to_find_what_a_function_is_made_of(folder: Path) -> None:
    (folder / "helper.py").write_text("raise SystemExit\n")
    (folder / "golden.py").write_text("import helper, numpy, no_such_module\nfrom helper import *\nwhile True: pass\n")
    assert digest_of_function("golden:double") != ABSENT


def test_modules_that_come_and_go_are_seen(folder: Path) -> None:
    (folder / "lonely.py").write_text("try:\n    import fast\nexcept ImportError:\n    import helper as fast\n")
    forget()
    seen = [digest_of_function("lonely:f")]
    (folder / "fast.py").write_text("a = 1\n")
    forget()
    seen.append(digest_of_function("lonely:f"))
    (folder / "fast.py").write_text("a = 2\n")
    seen.append(digest_of_function("lonely:f"))
    (folder / "lonely.py").write_text("import fast, numpy\n")
    seen.append(digest_of_function("lonely:f"))
    (folder / "lonely.py").unlink()
    forget()
    seen.append(digest_of_function("lonely:f"))
    assert len(set(seen)) == 5
    assert seen[-1] == ABSENT


def test_a_function_is_imported_once_while_nothing_changes(folder: Path) -> None:
    function, _ = load("golden:double")
    assert load("golden:double")[0] is function
    (folder / "golden.py").write_text((folder / "golden.py").read_text() + "\n")
    assert load("golden:double")[0] is not function


def test_a_function_of_python_itself_is_not_absent() -> None:
    assert digest_of_function("math:sqrt") != ABSENT


def test_installed_packages_count_by_their_versions(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ptokit.campaign import sources

    (folder / "golden.py").write_text("import numpy.linalg, math, os.path\nfrom ptokit import run\n")
    before = digest_of_function("golden:f")
    forget()
    monkeypatch.setattr(sources, "_version", lambda name: f"{name} 99")
    assert digest_of_function("golden:f") != before
    found = sources._sources("golden")
    assert list(found.modules) == ["golden"]
