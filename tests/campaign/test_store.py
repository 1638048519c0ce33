"""Files of results from elsewhere are data: what is broken is told, nothing else happens, the file stays as it is."""

from __future__ import annotations

import json
import random
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from ptokit.campaign.case import Action, Case, Result, Status
from ptokit.campaign.run import page, summarise
from ptokit.campaign.store import AGAIN, Store
from ptokit.diagnostics import DiagnosticError

from .conftest import kernel
from .here import campaign, outcome

ABOUT = {"ptokit": "0", "spec": "s", "host": "here"}
FINDING = {"rule": "R-1", "severity": "error", "line": 3, "message": "m", "hint": None}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two runs of a few cases."""
    path = tmp_path / "r.sqlite"
    cases = [Case(f"k{i} check", f"k{i}.pto", "text", Action.CHECK) for i in range(30)]
    with Store(path) as store:
        for _ in range(2):
            run, _done = store.begin("s", ABOUT, cases)
            found = [Result(c.id, Status.FINDING, "m", ("R-1",), (FINDING,), "d" * 64, 0.5, "here") for c in cases]
            store.add(run, {c.id: c.key for c in cases}, found)
            store.finish(run)
    return path


def look(path: Path) -> bool:
    """All that a report does; False if the file is refused, which leaves it as it is."""
    before = path.read_bytes()
    refusal = None
    try:
        with Store(path, create=False) as store:
            summary = summarise(store)
        if summary is not None:
            text = page(summary)
            start = text.index("id='data'>") + len("id='data'>")
            json.loads(text[start : text.index("</script>", start)], parse_constant=pytest.fail)
            json.dumps([row.result and row.result.as_json() for row in summary.rows])
    except DiagnosticError as error:
        refusal = [d.rule for d in error.diagnostics]
    assert refusal in (None, ["CAMP-RESULTS"])
    assert path.read_bytes() == before
    return refusal is None


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE runs SET about = '[]'",
        "UPDATE runs SET about = '{\"ptokit\": 7}'",
        "UPDATE runs SET about = 'x'",
        "UPDATE runs SET name = x'00ff'",
        "UPDATE cases SET program = x'00ff'",
        "UPDATE results SET status = 'fine'",
        "UPDATE results SET rules = '7'",
        "UPDATE results SET rules = '[7]'",
        "UPDATE results SET findings = '{}'",
        "UPDATE results SET findings = '[{}]'",
        "UPDATE results SET findings = '[[' || hex(zeroblob(100000)) || ']'",
        "UPDATE results SET findings = replace(hex(zeroblob(100000)), '00', '[')",
        "UPDATE results SET rules = replace(hex(zeroblob(100000)), '00', '[')",
        "UPDATE runs SET about = '{\"a\":' || replace(hex(zeroblob(100000)), '00', '[')",
        "UPDATE results SET seconds = 9e999",
        "UPDATE results SET seconds = 'soon'",
        "UPDATE results SET attempt = 'often'",
        "UPDATE results SET message = x'00ff'",
        "PRAGMA user_version = 7",
        "PRAGMA application_id = 7",
        "CREATE TRIGGER t AFTER INSERT ON results BEGIN DELETE FROM runs; END",
        "CREATE VIEW v AS SELECT 1",
        "ALTER TABLE results RENAME TO old",
        "ALTER TABLE results ADD COLUMN more TEXT",
        "DROP TABLE cases",
    ],
)
def test_a_file_that_says_something_else_is_refused(file: Path, change: str) -> None:
    assert look(file)
    with sqlite3.connect(file) as db:
        db.execute(change)
    db.close()
    assert not look(file)
    before = file.read_bytes()
    with pytest.raises(DiagnosticError, match="for results"), Store(file):  # before the work, not afterwards
        pass
    assert file.read_bytes() == before


HALF = "a\ud800b\udcffc"


def test_an_empty_file_is_read_as_one_of_another_kind(tmp_path: Path) -> None:
    empty = tmp_path / "r.sqlite"
    empty.touch()
    with pytest.raises(DiagnosticError, match="it is not a file of results"):
        Store(empty, create=False)
    assert not empty.stat().st_size


def test_the_page_has_the_messages(file: Path) -> None:
    with Store(file, create=False) as store:
        summary = summarise(store)
    assert summary is not None
    text = page(summary).partition("id='data'>")[2].partition("</script>")[0]
    assert [case["message"] for case in json.loads(text)["cases"]] == ["m"] * 30


def test_a_disk_that_fails_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only for a file that another process holds."""

    class Disk:
        def execute(self, text: str) -> Disk:
            if "=" in text:
                raise sqlite3.OperationalError("disk I/O error")
            return self

        def fetchone(self) -> tuple[str]:
            return ("delete",)

    store = object.__new__(Store)
    monkeypatch.setattr(store, "_db", Disk(), raising=False)
    monkeypatch.setattr("ptokit.campaign.store.time.sleep", pytest.fail)
    with pytest.raises(sqlite3.OperationalError, match="disk"):
        store._log_ahead()


def test_half_a_pair_of_surrogates_is_kept_with_a_backslash(tmp_path: Path) -> None:
    path, case = tmp_path / "r.sqlite", Case("k", "k.pto", "text", Action.CHECK)
    found = Result("k", Status.CRASHED, HALF, (HALF,), ({**FINDING, "message": HALF, HALF: [HALF]},), HALF, 0.5, HALF)
    with Store(path) as store:
        run, _ = store.begin("s", ABOUT, [case])
        store.add(run, {"k": case.key}, [found])
        store.finish(run)
    with Store(path, create=False) as store:
        (row,) = store.rows(1)
    assert row.result is not None
    assert row.result.message == "a\\ud800b\\udcffc"
    assert HALF not in repr(row.result)
    assert look(path)


def test_half_a_pair_of_surrogates_in_a_file_from_elsewhere(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("UPDATE runs SET about = ?", (json.dumps({HALF: HALF}),))
        db.execute(
            "UPDATE results SET rules = ?, findings = ?", (json.dumps([HALF]), json.dumps([{**FINDING, HALF: HALF}]))
        )
    db.close()
    assert look(file)
    with Store(file, create=False) as store:
        summary = summarise(store)
    assert summary is not None
    page(summary).encode()


def test_a_case_that_says_half_a_pair_of_surrogates_ends_no_campaign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "k.pto").write_text(kernel())
    (tmp_path / "halves.py").write_text("def f(*_):\n    raise ValueError('\\ud800')\n")
    (tmp_path / "s.toml").write_text('programs = ["k.pto"]\ndo = ["compare", "run"]\n[[set]]\nfunction = "halves:f"\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    campaign(tmp_path / "s.toml", tmp_path / "r.sqlite")
    assert outcome(tmp_path / "r.sqlite").last_line == "1 passed, 1 crashed"


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """No file becomes larger, as on a disk that is full."""
    resource = pytest.importorskip("resource")
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, kept[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)


@pytest.mark.parametrize("size", [0, 1, 511, 512, 1000, 4096, 5000, 8192, 12288, 16384, 50000])
def test_a_disk_that_is_full_leaves_a_file_that_can_be_used_later(size: int, tmp_path: Path) -> None:
    path, case = tmp_path / "r.sqlite", Case("k", "k.pto", "text", Action.CHECK)
    refused: list[str] = []
    with files_of_at_most(size):
        try:
            with Store(path) as store:
                store.begin("s", ABOUT, [case])
        except DiagnosticError as error:
            refused = [d.rule for d in error.diagnostics]
    assert refused == (["CAMP-RESULTS"] if size < 24_000 else [])
    with Store(path) as store:
        run, done = store.begin("s", ABOUT, [case])
        assert (run, done) == (1, set())


@pytest.mark.parametrize("attempt", range(6))
def test_campaigns_that_begin_at_once_share_the_run(attempt: int, tmp_path: Path) -> None:
    path = tmp_path / "r.sqlite"
    cases = [Case(f"k{i}", "k.pto", "text", Action.CHECK) for i in range(5)]
    start, failures = threading.Barrier(6), list[BaseException]()

    def whole() -> None:
        try:
            start.wait()
            with Store(path) as store:
                run, done = store.begin("s", ABOUT, cases)
                for case in cases:
                    if case.id not in done:
                        store.add(run, {case.id: case.key}, [Result(case.id, Status.PASSED)])
                store.finish(run, cases)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=whole) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with Store(path, create=False) as store:
        runs = store.runs()
        assert all(finished for *_, finished in runs)
        for number, *_ in runs:
            assert [row.result and row.result.status for row in store.rows(number)] == [Status.PASSED] * 5


def test_names_are_only_names(file: Path) -> None:
    odd = "'; DROP TABLE runs; --\x00</script><b>\u202e" + "x" * 100_000
    with sqlite3.connect(file) as db:
        db.execute("UPDATE cases SET program = ?, target = ?, action = ?", (odd, odd, odd))
        db.execute("UPDATE results SET message = ?, host = ?", (odd, odd))
    db.close()
    assert look(file)


def test_a_run_goes_on_from_another_host(file: Path) -> None:
    case = Case("k", "k.pto", "text", Action.CHECK)
    with Store(file) as store:
        first, _ = store.begin("s", ABOUT, [case])
        again, _ = store.begin("s", {**ABOUT, "host": "there"}, [case])
        other, _ = store.begin("s", {**ABOUT, "ptokit": "1"}, [case])
    assert (again - first, other - first) == (0, 1)


def test_a_run_that_is_finished_does_not_go_on(tmp_path: Path) -> None:
    case = Case("k", "k.pto", "text", Action.CHECK)
    with Store(tmp_path / "r.sqlite") as store:
        for number in (1, 2, 3):
            assert store.begin("s", {"host": "here"}, [case]) == (number, set())
            store.add(number, {"k": case.key}, [Result("k", Status.PASSED)])
            assert store.begin("s", {"host": "here"}, [case]) == (number, {"k"})
            store.finish(number, [case])


def test_results_of_cases_that_are_gone_or_changed_are_dropped_at_once(tmp_path: Path) -> None:
    one, two, three = (Case(name, f"{name}.pto", "text", Action.CHECK) for name in ("one", "two", "three"))
    with Store(tmp_path / "r.sqlite") as store:
        store.begin("s", ABOUT, [one, two, three])
        store.add(1, {c.id: c.key for c in (one, two, three)}, [Result(c.id, Status.PASSED) for c in (one, two, three)])
        assert store.begin("s", ABOUT, [one, two]) == (1, {"one", "two"})
        assert AGAIN not in store.runs()[0][2]  # nothing is worked on again
        assert store.begin("s", ABOUT, [one, replace(two, text="more"), three]) == (1, {"one"})
        assert [row.result is None for row in store.rows(1)] == [False, True, True]
        assert store.runs()[0][2][AGAIN] == "1 case: two.pto"


def broken(file: Path, seeds: range) -> tuple[int, int]:
    whole = file.read_bytes()
    fine = 0
    for seed in seeds:
        rng = random.Random(seed)
        content = bytearray(whole)
        for _ in range(rng.choice([1, 4, 40])):
            at = rng.randrange(len(content)) if rng.random() < 0.7 else rng.randrange(200)
            content[at] = rng.randrange(256)
        if rng.random() < 0.2:
            del content[rng.randrange(len(content)) :]
        file.write_bytes(content)
        for more in ("-wal", "-shm", "-journal"):
            file.with_name(file.name + more).unlink(missing_ok=True)
        fine += look(file)
    return fine, len(seeds)


def test_broken_bytes(file: Path) -> None:
    fine, all_of_them = broken(file, range(60))
    assert 0 < fine < all_of_them


@pytest.mark.campaign
def test_many_broken_bytes(file: Path) -> None:
    broken(file, range(1000, 3000))
