"""The sanitizer against a slow model: all pairs of accesses, and the transitive closure of section 6 of the model.

Programs are random; flags are drawn so that no wait lacks its set and no flag is set twice.
"""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from .mini import Mini

PIPES = ("MTE2", "V", "MTE3")
TILES = {"a": 0, "b": 1024, "c": 2048, "d": 8192}  # a, b and c overlap their neighbours
BYTES = 2048


def draw(rng: random.Random) -> list[str]:
    """Lines of a program."""
    lines = [f"fill {t}" for t in TILES] + ["barrier ALL"]
    flags: list[tuple[str, str, int]] = []
    used: dict[tuple[str, str], int] = {}
    for _ in range(rng.randint(4, 14)):
        tile = rng.choice(list(TILES))
        match rng.randint(0, 7):
            case 0:
                lines.append(f"load {tile} x")
            case 1:
                lines.append(f"store {tile} y")
            case 2:
                lines.append(f"adds {tile} {tile}")
            case 3:
                lines.append(f"fill {tile}")
            case 4 if flags:
                lines.append("wait {} {} {}".format(*flags.pop(rng.randrange(len(flags)))))
            case 5 if rng.random() < 0.2:
                lines.append(f"barrier {rng.choice(['ALL', *PIPES])}")
            case _:
                pair = rng.choice([(p, q) for p in PIPES for q in (*PIPES, "S") if p != q])
                number = used.get(pair, 0)
                if number < 8:
                    used[pair] = number + 1
                    flags.append((*pair, number))
                    lines.append(f"set {pair[0]} {pair[1]} {number}")
    return lines + ["wait {} {} {}".format(*flag) for flag in flags]


def touched(line: str) -> tuple[str, list[tuple[str, bool]]] | None:
    """(pipe, accesses) of an instruction; an access is (memory, write)."""
    match line.split():
        case ["load", t, x]:
            return "MTE2", [(x, False), (t, True)]
        case ["store", t, y]:
            return "MTE3", [(t, False), (y, True)]
        case ["adds", s, d]:
            return "V", [(s, False), (d, True)]
        case ["fill", d]:
            return "V", [(d, True)]
    return None


def ordered(lines: list[str], profile: bool) -> np.ndarray:
    """before[i, j]: line i has completed before line j begins."""
    n = len(lines)
    begin = np.zeros((2 * n, 2 * n), bool)  # node 2i: begin of line i, 2i + 1: its end
    pipes: list[str] = []
    for i, line in enumerate(lines):
        begin[2 * i, 2 * i + 1] = True
        words = line.split()
        work = touched(line)
        pipe = work[0] if work else words[1] if words[0] in ("set", "barrier") else words[2]
        pipes.append(pipe)
    for i, line in enumerate(lines):
        words = line.split()
        holds = words[0] == "wait" and pipes[i] == "S"
        for j in range(i + 1, n):
            other = lines[j].split()[0]
            if pipes[i] == pipes[j] and (
                not profile or words[0] in ("wait", "barrier") or (touched(line) and other in ("set", "barrier"))
            ):
                begin[2 * i + 1, 2 * j] = True
            if holds or pipes[i] == "ALL" or (pipes[j] == "ALL" and other == "barrier"):
                begin[2 * i + 1, 2 * j] = True
            if words[0] == "set" and other == "wait" and words[1:] == lines[j].split()[1:]:
                begin[2 * i + 1, 2 * j] = True
    closed = begin
    while True:
        wider = closed | (closed.astype(np.int32) @ closed.astype(np.int32) > 0)
        if (wider == closed).all():
            break
        closed = wider
    result: np.ndarray = closed[1::2, 0::2]
    return result


def races(lines: list[str], profile: bool) -> set[tuple[str, int, int]]:
    """(rule, first line, second line), lines from 1."""
    before = ordered(lines, profile)
    out = set()
    for i, first in enumerate(lines):
        for j in range(i + 1, len(lines)):
            a, b = touched(first), touched(lines[j])
            if not a or not b or before[i, j]:
                continue
            for memory, write in a[1]:
                for other, second in b[1]:
                    if (write or second) and overlap(memory, other):
                        kind = ("WAW" if second else "RAW") if write else "WAR"
                        rule = "RACE-INTRAPIPE" if a[0] == b[0] else f"RACE-{kind}"
                        out.add((rule, i + 1, j + 1))
    return out


def overlap(a: str, b: str) -> bool:
    if a not in TILES or b not in TILES:
        return a == b
    return abs(TILES[a] - TILES[b]) < BYTES


@pytest.mark.parametrize("profile", [False, True], ids=["strict", "profile"])
@pytest.mark.parametrize("seed", range(60))
def test_the_races_are_those_of_the_model(seed: int, profile: bool) -> None:
    lines = draw(random.Random(seed))
    report = Mini("\n".join(lines), tiles=TILES).sanitize(order="profile" if profile else "strict", causes=False)
    first = Mini("", tiles=TILES).first
    found = set()
    for d in [*report.errors, *report.warnings]:
        if d.rule.startswith("RACE"):
            at = sorted({d.location.line, d.notes[0].location.line})
            found.add((d.rule, *(line - first + 1 for line in at)))
    others = {d.rule for d in report.errors} - {rule for rule, *_ in found}
    assert others == set()
    assert found == races(lines, profile), "\n".join(lines)


def test_the_programs_race_in_many_ways() -> None:
    programs = [draw(random.Random(seed)) for seed in range(60)]
    kinds = [{rule for rule, *_ in races(lines, True)} for lines in programs]
    assert {"RACE-RAW", "RACE-WAR", "RACE-WAW", "RACE-INTRAPIPE"} <= set().union(*kinds)
    assert any(not races(lines, False) for lines in programs)
    assert any(a != b for a, b in pairwise(programs))
