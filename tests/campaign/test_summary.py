"""What a report tells of a run: how each case went, compared with the run before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptokit.campaign.case import Action, Case, Result, Status
from ptokit.campaign.run import Change, summarise
from ptokit.campaign.store import Store

CASES = [Case(name, f"{name}.pto", "text", Action.RUN) for name in ("a", "b")]


def result(id: str, status: Status, rules: tuple[str, ...] = (), digest: str = "") -> Result:
    return Result(id, status, "", rules, (), digest)


def compared(tmp_path: Path, old: Result | None, new: Result | None) -> dict[str, Change]:
    """The changes of a second run; case b passes in both."""
    with Store(tmp_path / "r.sqlite") as store:
        for which in (old, new):
            run, _ = store.begin("s", {"spec": "s"}, CASES)
            found = [r for r in (which, result("b", Status.PASSED)) if r is not None]
            store.add(run, {c.id: c.key for c in CASES}, found)
            store.finish(run)
        summary = summarise(store)
    assert summary is not None
    assert summary.before == 1
    return summary.changes


PASSED, OTHER = result("a", Status.PASSED, digest="1"), result("a", Status.PASSED, digest="2")
FOUND, MORE = result("a", Status.FINDING, ("R-1",)), result("a", Status.FINDING, ("R-1", "R-2"))
LATE = result("a", Status.TIMEOUT, ("R-1",))


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        (PASSED, PASSED, None),
        (PASSED, OTHER, Change.ANSWER),
        (PASSED, FOUND, Change.WORSE),
        (FOUND, PASSED, Change.BETTER),
        (FOUND, FOUND, None),
        (FOUND, MORE, Change.OTHER),
        (MORE, FOUND, Change.OTHER),
        (FOUND, LATE, Change.OTHER),
        (None, PASSED, Change.NEW),
        (None, FOUND, Change.NEW),
        (PASSED, None, None),
    ],
)
def test_what_changed(tmp_path: Path, old: Result | None, new: Result | None, change: Change | None) -> None:
    assert compared(tmp_path, old, new) == ({} if change is None else {"a": change})


def test_a_run_is_compared_with_the_one_before_it(tmp_path: Path) -> None:
    """Whichever run is asked for, those after it do not count."""
    with Store(tmp_path / "r.sqlite") as store:
        for status in (Status.PASSED, Status.FINDING, Status.PASSED):
            run, _ = store.begin("s", {"spec": "s"}, CASES)
            store.add(run, {c.id: c.key for c in CASES}, [result(c.id, status) for c in CASES])
            store.finish(run)
        found = [summarise(store, run) for run in (1, 2, 3, None)]
        assert summarise(store, 4) is None
    assert [s and s.before for s in found] == [None, 1, 2, 2]
    assert [s and set(s.changes.values()) for s in found] == [set(), {Change.WORSE}, {Change.BETTER}, {Change.BETTER}]


def test_how_cases_went(tmp_path: Path) -> None:
    with Store(tmp_path / "r.sqlite") as store:
        run, _ = store.begin("s", {"spec": "s"}, CASES)
        store.add(run, {c.id: c.key for c in CASES}, [result("a", Status.FINDING)])
        summary = summarise(store)
    assert summary is not None
    assert not summary.finished
    assert dict(summary.counts) == {"finding": 1, "missing": 1}
    assert summary.last_line == "0 passed, 1 finding, 1 missing"
    assert [row.id for row in summary.failed] == ["a"]
