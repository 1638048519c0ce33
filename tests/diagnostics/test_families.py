"""Rules of one document: the source said once, targets by id, sentences from the docstring."""

from __future__ import annotations

from typing import Any

import pytest

from ptokit.diagnostics import ALL_TARGETS, CATALOGUE, Severity, family


@pytest.fixture(autouse=True)
def _catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    for id in ("XX-A5-01", "XX-CPU-01", "XX-A23-01", "XX-01", "XX-02"):
        monkeypatch.setitem(CATALOGUE, id, None)  # restored afterwards, whatever stands there
        del CATALOGUE[id]


def nothing(o: Any) -> None:
    """Sentence that
    must hold.

    Why it
    must.

    Decision: what was chosen.
    """


@pytest.mark.parametrize(
    ("id", "targets"), [("A5-01", ("a5",)), ("CPU-01", ("cpu",)), ("A23-01", ("a2a3",)), ("01", ALL_TARGETS)]
)
def test_targets_follow_from_the_id(id: str, targets: tuple[str, ...]) -> None:
    made = family("a document", "XX-")(id, "take({this|that})")(nothing)
    assert (made.id, made.targets, made.source) == (f"XX-{id}", targets, "a document")
    assert (made.accepted, made.refused) == ("take(this)", "take(that)")
    assert CATALOGUE[made.id] is made


def test_paragraphs_of_the_docstring() -> None:
    made = family("a document")("XX-01")(nothing)
    assert (made.what, made.why, made.decision) == ("Sentence that must hold.", "Why it must.", "what was chosen.")


def test_what_is_stated_wins() -> None:
    rule = family("a document", severity=Severity.WARNING, targets=("a5",))
    made = rule("XX-02", what="Said here.", source="another one", targets=("cpu",))(nothing)
    assert (made.what, made.why, made.source) == ("Said here.", "", "another one")
    assert (made.severity, made.targets) == (Severity.WARNING, ("cpu",))
