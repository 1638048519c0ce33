"""What CHECK lines of a lit test say of a pass that inserts flags, against what is written here."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from tests.each import each
from tests.prove.kernels import add, kernel, load, store

pytest.importorskip("z3")
with pytest.MonkeyPatch.context() as patch:  # other tests have modules that are named as tools
    patch.syspath_prepend(Path(__file__).parents[2] / "tools")
    inserters = import_module("inserters")

RUN = "// RUN: ptoas --pto-arch=a3 --enable-insert-sync %s | FileCheck %s\n"


def flag(verb: str, pair: str, event: str = "EVENT_ID0") -> str:
    src, dst = pair.split()
    return f"{verb}_flag(PIPE_{src}, PIPE_{dst}, {event});"


INTO = (flag("set", "MTE2 V"), flag("wait", "MTE2 V"))
OUT = (flag("set", "V MTE3", "EVENT_ID[[OUT:[0-9]+]]"), flag("wait", "V MTE3", "EVENT_ID[[OUT]]"))


def judged(tmp_path: Path, *check: str) -> tuple[dict[str, int], str]:
    """How pairs compare, and whether the program of the lines is proved."""
    folder = tmp_path / "test" / "lit" / "pto"
    folder.mkdir(parents=True, exist_ok=True)
    text = RUN + kernel(load("%t0", "%c0"), add("%t1", "%t0"), store("%t1", "%c0"))
    said = "".join(f"// CHECK: {line}\n" for line in check)
    (folder / "k.pto").write_text(text + "// CHECK-LABEL: AICORE void k(\n" + said)
    (test,) = inserters.tests(str(tmp_path))
    line = inserters.judged(test)
    return dict(inserters.compared(line)), line.get("theirs proved", "")


@each(
    "check, pairs, proved",
    [
        (("TLOAD(", *INTO, "TADDS(", *OUT, "TSTORE("), {"equal": 2}, "proved"),
        (("TLOAD(", *INTO, "TADDS("), {"equal": 1}, "proved"),  # the other pair is taken from here
        (("TLOAD(", *INTO, *INTO, "TADDS(", *OUT, "TSTORE("), {"fewer": 1, "equal": 1}, "proved"),
        ((INTO[0], "TLOAD(", INTO[1], "TADDS(", *OUT, "TSTORE("), {"equal": 2}, ""),  # set before anything is loaded
        (("TLOAD(", "TADDS(", *INTO, *OUT, "TSTORE("), {"equal": 2}, "refuted"),
        (("TLOAD(", *INTO, "TADDS(", OUT[0], "TSTORE("), {"equal": 1, "named in part": 1}, ""),
        (("TLOAD(", *INTO, "TADDS(", *OUT, flag("set", "V MTE2"), flag("wait", "V MTE2")), {"equal": 2, "none": 1}, ""),
    ],
)
def test_check_lines_against_what_is_written(
    check: tuple[str, ...], pairs: dict[str, int], proved: str, tmp_path: Path
) -> None:
    assert judged(tmp_path, *check) == (pairs, proved)
