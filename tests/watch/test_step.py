"""Instruction by instruction in a terminal: what is shown, and what the answers do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ptokit.diagnostics import finding
from ptokit.watch.seen import HELP, Quit, Stepper

from ..run.kernels import PARTS, PTRS, add, alloc, compiled, load, store, view

BODY = (
    view("xv", "%x")
    + view("yv", "%y")
    + alloc("t")
    + "    scf.for %i = %c0 to %c2 step %c1 {\n"
    + "      %r = arith.muli %i, %c8 : index\n"
    + PARTS
    + load("%t", "%p")
    + add("%t", "%t", "%t")
    + store("%t", "%q")
    + "    }\n"
)
PROGRAM = compiled(PTRS, BODY)


@pytest.fixture(autouse=True)
def _source(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text of the program, as it is quoted."""
    monkeypatch.setitem(finding._KEPT, "k.pto", "\n".join(f"source line {n}" for n in range(1, 40)))


class Session:
    """A launch with these answers; ``shown`` is what was printed between them."""

    def __init__(self, *answers: str, blocks: int = 1) -> None:
        self._answers: Iterator[str] = iter(answers)
        self.shown: list[list[str]] = [[]]
        stepper = Stepper(self._answer, lambda text: self.shown[-1].extend(text.split("\n")))
        self.y = np.zeros((16, 16), np.float32)
        args: list[Any] = [np.arange(256, dtype=np.float32).reshape(16, 16), self.y, 16]
        self.ended = False
        try:
            PROGRAM.launch(args, blocks, observer=stepper)
            self.ended = True
        except Quit:
            pass

    def _answer(self) -> str | None:
        self.shown.append([])
        return next(self._answers, None)

    @property
    def stops(self) -> list[str]:
        return [shown[0] for shown in self.shown if shown]


def test_every_instruction_is_a_stop() -> None:
    session = Session(*[""] * 6)
    assert session.ended
    assert session.stops == [f"{name} (block 0, i={i})" for i in (0, 1) for name in ("TLOAD", "TADD", "TSTORE")]


def test_a_stop_shows_source_operands_and_what_changed() -> None:
    session = Session("", "", "q")
    line = next(op.location.line for op in PROGRAM.module.functions[0].body.walk() if op.name == "pto.tadd")  # type: ignore[union-attr]
    head, source, *operands = session.shown[1]
    assert head == "TADD (block 0, i=0)"
    assert source == f" ->{line:5} | source line {line}"
    assert operands[0].split() == "dst t vec 8x16xf32, 127 of 128 changed; at (0, 1): 1 -> 2".split()
    assert operands[1].split() == "src0 t vec 8x16xf32".split()
    assert session.shown[2][2].split() == "dst q view 8x16xf32, 127 of 128 changed; at (0, 1): 0 -> 2".split()


@pytest.mark.parametrize("answers", [("q",), ("quit",), ()])
def test_quitting_ends_the_launch(answers: tuple[str, ...]) -> None:
    session = Session(*answers)
    assert not session.ended
    assert len(session.stops) == 1
    assert not session.y.any()


def test_going_on() -> None:
    assert Session("c").ended
    line = next(op.location.line for op in PROGRAM.module.functions[0].body.walk() if op.name == "pto.tstore")  # type: ignore[union-attr]
    assert Session(f"u {line}", "c").stops == ["TLOAD (block 0, i=0)", "TSTORE (block 0, i=0)"]
    assert Session("b", "c", blocks=2).stops == ["TLOAD (block 0, i=0)", "TLOAD (block 1, i=0)"]


def test_printing_does_not_move() -> None:
    session = Session("n", "p t", "p %t", "p nothing", "l", "what?", "c")
    assert session.stops[1] == "TADD (block 0, i=0)"
    assert session.shown[2][0] == "t: vec 8x16xf32"
    assert session.shown[2][1].startswith("[[  0.   2.   4.")
    assert session.shown[3] == session.shown[2]
    assert session.shown[4] == ["no instruction has used 'nothing' so far; used: p, t"]
    assert sum(line.lstrip().startswith("->") for line in session.shown[5]) == 1
    assert "\n".join(session.shown[6]) == HELP
    assert session.ended
