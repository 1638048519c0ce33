"""Files of results from elsewhere are data: what is broken is told, nothing else happens, the file stays as it is."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path

import pytest

from ptokit.campaign.case import Action, Case, Result, Status
from ptokit.campaign.page import page
from ptokit.campaign.store import Store
from ptokit.campaign.summary import summarise
from ptokit.diagnostics import DiagnosticError

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
