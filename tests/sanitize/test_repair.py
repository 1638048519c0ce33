"""The fix that a race report proposes mends it."""

from __future__ import annotations

import random
import re

import pytest

from .mini import Mini
from .test_model import TILES, draw

_FLAG = re.compile(r"insert set_flag\((.*?)\) after line (\d+) and wait_flag\(\1\) before line (\d+)(; set it once)?")
_BARRIER = re.compile(r"insert pipe_barrier\(PIPE_(\w+)\) before line (\d+)")


def mended(lines: list[str], hint: str, first: int) -> list[str]:
    """The program with the hint carried out."""
    flag, barrier = _FLAG.match(hint), _BARRIER.match(hint)
    if flag is None:
        assert barrier is not None, hint
        at = int(barrier[2]) - first
        return [*lines[:at], f"barrier {barrier[1]}", *lines[at:]]
    words = " ".join(word.removeprefix("PIPE_").removeprefix("EVENT_ID") for word in flag[1].split(", "))
    out = []
    loops = [i for i, line in enumerate(lines) if line.startswith("for ")]
    ends = [i for i, line in enumerate(lines) if line == "end"]
    for i, line in enumerate(lines):
        if flag[4] and i == loops[0]:
            out.append(f"set {words}")
        if i == int(flag[3]) - first:
            out.append(f"wait {words}")
        out.append(line)
        if i == int(flag[2]) - first:
            out.append(f"set {words}")
        if flag[4] and i == ends[-1]:
            out.append(f"wait {words}")
    return out


def repaired(lines: list[str], order: str, tiles: dict[str, int]) -> list[str]:
    """The program after as many hints as it takes; 40 at most."""
    first = Mini("", tiles=tiles).first
    for _ in range(40):
        report = Mini("\n".join(lines), tiles=tiles).sanitize(order=order)
        races = [d for d in [*report.errors, *report.warnings] if d.rule.startswith("RACE")]
        assert {d.rule for d in report.errors if d not in races} == set()
        if not races:
            return lines
        assert races[0].hint is not None
        lines = mended(lines, races[0].hint, first)
    raise AssertionError("\n".join(lines))


@pytest.mark.parametrize("order", ["strict", "profile"])
@pytest.mark.parametrize("seed", range(12))
def test_hints_mend_random_programs(seed: int, order: str) -> None:
    lines = draw(random.Random(seed))
    assert len(repaired(lines, order, TILES)) >= len(lines)


def test_hints_mend_a_loop() -> None:
    lines = ["for 4", "load a x", "adds a b", "store b y", "end"]
    fixed = repaired(lines, "strict", {"a": 0, "b": 4096})
    assert [line for line in fixed if line in lines] == lines
    assert "set V MTE2 0" in fixed
    assert "wait V MTE2 0" in fixed
    assert Mini("\n".join(fixed)).found() == {}


def test_the_last_synchronisation_is_told() -> None:
    report = Mini("load a x\nset MTE2 V 3\nwait MTE2 V 3\nadds a b\nload a x\nadds a b").sanitize()
    (raw,) = (d for d in report.errors if d.rule == "RACE-RAW")
    first = Mini("").first
    (note,) = (n for n in raw.notes if n.message.startswith("the last flag"))
    assert note.message == (
        f"the last flag from PIPE_MTE2 to PIPE_V was set in line {first + 1}, waited for in line {first + 2}"
    )
    assert raw.hint is not None
    assert "EVENT_ID0" in raw.hint


def test_where_it_happens_is_counted() -> None:
    report = Mini("for 4\nload a x\nadds a b\nbarrier ALL\nend").sanitize(blocks=3)
    (race,) = report.errors
    assert race.notes[-1].message == "at block 0, %i1 = 0; in 4 iterations, 3 blocks"
    assert "both touch 2048 bytes: rows 0..15, columns 0..31 of %a; UB bytes 0x0..0x7ff" in [
        n.message for n in race.notes
    ]


def test_strided_overlaps_are_exact() -> None:
    window = "%{} = pto.subset %a[%c0, %{}] sizes [16, 8] : !pto.tile_buf<vec, 16x32xf32>"
    kind = "!pto.tile_buf<vec, 16x8xf32>"
    view = "!pto.partition_tensor_view<16x8xf32>"

    def body(first: str, second: str) -> str:
        return "\n".join(
            [
                "fill a",
                "barrier ALL",
                window.format("p", first),
                window.format("q", second),
                "%s = pto.partition_view %y_v, offsets = [%c0, %c0], sizes = [%c16, %c8] "
                f": !pto.tensor_view<?x?xf32> -> {view}",
                f"pto.tstore ins(%p : {kind}) outs(%s : {view})",
                f"pto.texpands ins(%one : f32) outs(%q : {kind})",
            ]
        )

    assert Mini(body("c0", "c8")).found() == {}
    assert Mini(body("c8", "c16")).found() == {}
    (race,) = Mini(body("c4", "c8")).sanitize().errors
    assert race.rule == "RACE-WAR"
    assert race.notes[1].message.startswith("both touch 256 bytes: rows 0..15, columns 4..7 of %p; ")
    assert "rows 0..15, columns 0..3 of %q" in race.notes[1].message
