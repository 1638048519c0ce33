"""Where the sanitizer stops counting or looking it says so; products use one BLAS thread."""

from __future__ import annotations

import numpy as np
import pytest
import threadpoolctl

import ptokit as pto
from ptokit.sanitize import api, observe
from ptokit.sanitize.findings import insertion
from ptokit.sanitize.findings import races as findings

from .mini import Mini

LOOP = "for 8\nload a x\nadds a b\nstore b y\nend"


@pytest.mark.parametrize(("counted", "words"), [(3, "in 3 or more iterations"), (100, "in 8 iterations")])
def test_iterations_that_are_not_told_apart(counted: int, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "COUNTED", counted)
    notes = [note.message for d in Mini(LOOP).sanitize().errors if d.rule == "RACE-RAW" for note in d.notes]
    assert any(note.endswith(words) for note in notes), notes


def test_races_without_a_witness_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "WITNESSES", 1)
    report = Mini(LOOP).sanitize(witness=True)
    found = [[n.message for n in d.notes if n.message.startswith("witness:")] for d in report.races]
    assert len(found) > 1
    assert [len(notes) for notes in found] == [1] * len(found)
    assert [notes[0] for notes in found[1:]] == ["witness: not looked for; only the first 1 races have one"] * (
        len(found) - 1
    )
    assert sum(race.witness is not None for race in report.races.values()) == 1


@pytest.mark.parametrize("trials", [0, 1_000_000])
def test_flags_that_may_be_superfluous_are_said_to_be(trials: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(insertion, "_TRIALS", trials)
    needed = Mini("load a x\nadds a b", tiles={"a": -1, "b": -1}).sanitize(explain_sync=True).synchronisation
    assert needed is not None
    assert needed.complete
    assert needed.minimal == needed.as_json()["minimal"] == bool(trials)
    assert ("some may be superfluous" in str(needed)) == (not trials)


def test_products_use_one_thread_under_observation(monkeypatch: pytest.MonkeyPatch) -> None:
    @pto.kernel(target="a5")
    def k(x: pto.Ptr[pto.f16], y: pto.Ptr[pto.f32]) -> None:
        a = pto.Tile(pto.TileType.Mat, pto.f16, 16, 16)
        left, right = pto.TileLeft(pto.f16, 16, 16), pto.TileRight(pto.f16, 16, 16)
        acc = pto.TileAcc(pto.f32, 16, 16)
        pto.TLOAD(a, pto.GlobalTensor(x, (16, 16)))
        pto.TMOV(left, a)
        pto.TMOV(right, a)
        pto.TMATMUL(acc, left, right)
        pto.TSTORE(pto.GlobalTensor(y, (16, 16)), acc)

    threads = []
    instruction = observe.CoreObserver.instruction

    def watched(self: observe.CoreObserver, *args: object) -> object:
        threads.extend(info["num_threads"] for info in threadpoolctl.threadpool_info() if info["user_api"] == "blas")
        return instruction(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(observe.CoreObserver, "instruction", watched)
    with threadpoolctl.threadpool_limits(limits=2, user_api="blas"):
        k.sanitize(np.ones((16, 16), np.float16), np.zeros((16, 16), np.float32), mode="auto")
    assert set(threads) <= {1}
    assert threads
