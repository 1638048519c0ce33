"""`--explain-sync`: what it lists makes the program clean in manual mode, and nothing of it is superfluous."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest

from ptokit.asm import read_module
from ptokit.diagnostics.finding import Edit
from ptokit.sanitize import Report, sanitize
from ptokit.targets import target

from .mini import Mini
from .test_cost import varied
from .test_model import draw

AUTO = dict.fromkeys("abcd", -1)
"""Tiles without addresses."""


def run(text: str, path: Path, on: str = "a2a3", blocks: int = 1, **more: object) -> Report:
    """A text from a file, with tensors of their own for every block."""
    path.write_text(text)
    parsed = read_module(str(path), target=target(on))
    parsed.diagnostics.raise_if_errors()
    args = [np.ones((16, 32), np.float32), np.ones((16, 32), np.float32)]
    return sanitize(parsed.module, on, args, blocks, **more)  # type: ignore[arg-type]


def placed(text: str) -> str:
    """The tiles at addresses of their own: the program in manual mode."""
    count = iter(range(100))

    def at(match: re.Match[str]) -> str:
        name, where = match[1], f"%{match[1]}_addr"
        return f"{where} = arith.constant {next(count) * 4096} : i64\n%{name} = pto.alloc_tile addr = {where} :"

    return re.sub(r"%(\w+) = pto\.alloc_tile :", at, text)


def rewritten(text: str, edits: list[Edit]) -> str:
    """The text with lines inserted, one by one from the end."""
    lines = text.split("\n")
    for edit in reversed(edits):
        lines.insert(edit.line - 1, edit.text)
    return "\n".join(lines)


BODIES = {
    "a chain": "load a x\nadds a b\nstore b y",
    "a loop": "for 4\nload a x\nadds a b\nstore b y\nend",
    "two sources": "load a x\nload b x\nadd a b c\nstore c y",
    "nested loops": "for 2\nload a x\nfor 2\nadds a b\nstore b y\nend\nend",
    "a branch": "fill b\nfill c\nfor 4\nload a x\n%odd = arith.cmpi eq, %i1, %c1 : index\nscf.if %odd {\nadds a b\n"
    "} else {\nadds a c\nend\nadd b c d\nstore d y\nend",
    "nothing": "fill a\nadds a b",
}


@pytest.mark.parametrize("on", ["a2a3", "a5"])
@pytest.mark.parametrize("name", BODIES)
def test_what_it_lists_makes_the_manual_version_clean(name: str, on: str, tmp_path: Path) -> None:
    text = Mini(BODIES[name], tiles=AUTO).text
    report = run(text, tmp_path / "auto.pto", on, explain_sync=True)
    needed = report.synchronisation
    assert needed is not None
    assert needed.complete
    manual = placed(rewritten(text, needed.edits))
    again = run(manual, tmp_path / "manual.pto", on)
    assert not [str(d) for d in [*again.errors, *again.warnings]]
    assert needed.apply(text) == rewritten(text, needed.edits)
    assert again.synchronisation is None


def test_a_manual_program_that_is_clean_needs_nothing(tmp_path: Path) -> None:
    text = Mini("load a x\nset MTE2 MTE3 0\nwait MTE2 MTE3 0\nstore a y").text
    needed = run(text, tmp_path / "k.pto", explain_sync=True).synchronisation
    assert str(needed) == "a manual version needs no flags and barriers"


def test_the_flags_of_a_loop_are_primed_and_drained(tmp_path: Path) -> None:
    text = Mini("for 4\nload a x\nadds a b\nstore b y\nend", tiles=AUTO)
    needed = run(text.text, tmp_path / "k.pto", explain_sync=True).synchronisation
    assert needed is not None
    first = text.first
    listed = [(e.line - first, e.text.strip().removeprefix("pto.")) for e in needed.edits]
    assert listed == [
        (0, "set_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>]"),
        (0, "set_flag[<PIPE_MTE3>, <PIPE_V>, <EVENT_ID0>]"),
        (1, "wait_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>]"),
        (2, "set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]"),
        (2, "wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]"),
        (2, "wait_flag[<PIPE_MTE3>, <PIPE_V>, <EVENT_ID0>]"),
        (3, "set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]"),
        (3, "set_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>]"),
        (3, "wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]"),
        (4, "set_flag[<PIPE_MTE3>, <PIPE_V>, <EVENT_ID0>]"),
        (5, "wait_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>]"),
        (5, "wait_flag[<PIPE_MTE3>, <PIPE_V>, <EVENT_ID0>]"),
    ]
    json = needed.as_json()
    assert [entry["before"] - first for entry in json["insert"]] == [line for line, _ in listed]
    assert len(json["needs"]) == 4
    assert str(needed).count("\n") == 12


def test_one_flag_is_enough_for_two_loads(tmp_path: Path) -> None:
    text = Mini(BODIES["two sources"], tiles=AUTO)
    needed = run(text.text, tmp_path / "k.pto", explain_sync=True).synchronisation
    assert needed is not None
    assert [e.line - text.first for e in needed.edits] == [2, 2, 3, 3]  # after the second load, and before the store


@pytest.mark.parametrize("seed", range(12))
def test_random_programs(seed: int, tmp_path: Path) -> None:
    """Programs with branches and loops, their own flags removed."""
    body = varied(random.Random(seed)) if seed % 2 else "\n".join(draw(random.Random(seed)))
    kept = [line for line in body.split("\n") if not line.startswith(("set", "wait", "barrier"))]
    text = Mini("\n".join(kept), tiles=AUTO).text
    needed = run(text, tmp_path / "auto.pto", explain_sync=True).synchronisation
    assert needed is not None
    again = run(placed(rewritten(text, needed.edits)), tmp_path / "manual.pto")
    assert not [d.rule for d in again.errors if d.rule.startswith(("RACE", "FLAG", "DEADLOCK"))]
    for fix in needed.fixes:
        rest = [edit for other in needed.fixes if other is not fix for edit in other.edits]
        fewer = placed(rewritten(text, [edit for edit in needed.edits if edit in rest]))
        assert [d for d in run(fewer, tmp_path / "fewer.pto").errors if d.rule.startswith("RACE")], fix.text
