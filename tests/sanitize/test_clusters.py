"""Cube and vector cores: races between the cores of a cluster, and what they wait for (memory-model-and-sync 5.5)."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from ptokit.asm import parse_module
from ptokit.sanitize import Report, sanitize
from ptokit.targets import target

from ..run.clusters import arrays, cluster_text, expand

STEPS = len(expand("product").splitlines())


def check(body: str, on: str = "a2a3", blocks: int = 1) -> tuple[Report, dict[int, int]]:
    """The report, and the line of the body for each line of the text; ``product`` counts as its lines."""
    text, places = cluster_text(expand(body))
    read = parse_module(text, "k.pto", target=target(on))
    read.diagnostics.raise_if_errors()
    return sanitize(read.module, on, arrays(), blocks, extended=True, causes=False), places


def found(body: str, on: str = "a2a3", blocks: int = 1) -> dict[str, list[list[int]]]:
    """Errors and warnings: rule → for each finding the lines of the body it names, ascending."""
    report, places = check(body, on, blocks)
    out: dict[str, list[list[int]]] = {}
    for d in [*report.errors, *report.warnings]:
        lines = {d.location.line, *(n.location.line for n in d.notes if n.location.line)}
        out.setdefault(d.rule, []).append(sorted({places[line] for line in lines if line in places}))
    return out


class Case(NamedTuple):
    """``bad`` gives exactly ``rules``, ``good`` nothing. ``P`` stands for the lines of a product in the accumulator."""

    name: str
    on: str
    rules: dict[str, list[list[int]]]
    bad: str
    good: str


TAKE = "load-ws\nflag MTE2 V 0\nadd-one\nflag V MTE3 0\nstore-y\nend"
S = STEPS  # the first line after a product that begins in line 2 is 2 + S
CASES = [
    Case(
        "through global memory",
        "a2a3",
        {"RACE-XCORE-RAW": [[2 + S, 5 + S]]},
        f"cube\nproduct\nacc-to-ws\nend\nvector\n{TAKE}",
        f"cube\nproduct\nacc-to-ws\nsignal FIX 0\nend\nvector\nawait MTE2 0\n{TAKE}",
    ),
    Case(
        "a signal of another pipe covers nothing",
        "a2a3",
        {"RACE-XCORE-RAW": [[2 + S, 7 + S]]},
        f"cube\nproduct\nacc-to-ws\nsignal MTE2 0\nend\nvector\nawait MTE2 0\n{TAKE}",
        f"cube\nproduct\nacc-to-ws\nsignal FIX 0\nend\nvector\nawait MTE2 0\n{TAKE}",
    ),
    Case(
        "a signal of another pipe may come first",
        "a2a3",
        {"RACE-XCORE-RAW": [[2 + S, 3 + S, 7 + S, 8 + S]]},
        f"cube\nproduct\nacc-to-ws\nsignal FIX 0\nsignal M 0\nend\nvector\nawait MTE2 0\n"
        f"{TAKE.removesuffix('end')}await MTE2 0\nend",
        f"cube\nproduct\nacc-to-ws\nsignal FIX 0\nsignal M 0\nend\nvector\nawait MTE2 0\nawait MTE2 0\n{TAKE}",
    ),
    Case(
        "another pipe may take the first signal",
        "a5",
        {"RACE-XCORE-RAW": [[4 + S, 5 + S, 10 + S, 11 + S]]},
        f"cube\nsignal FIX 0\nsignal FIX 16\nproduct\nacc-to-ws\nsignal FIX 0\nsignal FIX 16\nend\nvector\n"
        f"await V 0\nawait MTE2 0\n{TAKE}",
        f"cube\nsignal FIX 0\nsignal FIX 16\nproduct\nacc-to-ws\nsignal FIX 0\nsignal FIX 16\nend\nvector\n"
        f"await MTE2 0\nawait MTE2 0\n{TAKE}",
    ),
    Case(
        "a5 names each vector core",
        "a5",
        {"DEADLOCK": [[6 + S, 8 + S, 10 + S]]},
        f"cube\nproduct\nacc-to-ws\nsignal FIX 0\nend\nvector\nawait MTE2 0\n{TAKE}",
        f"cube\nproduct\nacc-to-ws\nsignal FIX 0\nsignal FIX 16\nend\nvector\nawait MTE2 0\n{TAKE}",
    ),
    Case(
        "a5 holds one pipe",
        "a5",
        {"RACE-XCORE-RAW": [[2 + S, 8 + S]]},
        f"cube\nproduct\nacc-to-ws\nsignal FIX 0\nsignal FIX 16\nend\nvector\nawait V 0\n{TAKE}",
        f"cube\nproduct\nacc-to-ws\nsignal FIX 0\nsignal FIX 16\nend\nvector\nawait MTE2 0\n{TAKE}",
    ),
    Case(
        "a2a3 holds the whole core, whatever pipe is named",
        "a2a3",
        {"DEADLOCK": [[7 + S]]},
        f"cube\nproduct\nacc-to-ws\nsignal FIX 0\nend\nvector\nawait V 0\nawait V 0\n{TAKE}",
        f"cube\nproduct\nacc-to-ws\nsignal FIX 0\nend\nvector\nawait V 0\n{TAKE}",
    ),
    Case(
        "the unified buffer of a vector core",
        "a5",
        {"RACE-XCORE-RAW": [[2 + S, 5 + S]]},
        "cube\nproduct\nsplit-acc\nend\nvector\nstore-half\nend",
        "cube\nproduct\nsplit-acc\nsignal FIX 0\nsignal FIX 16\nend\nvector\nawait MTE3 0\nstore-half\nend",
    ),
    Case(
        "handing the buffer back",
        "a5",
        {"RACE-XCORE-RAW": [[5 + S, 11 + S]]},
        "cube\nproduct\nsplit-acc\nsignal FIX 0\nsignal FIX 16\nsplit-acc\nsignal FIX 0\nsignal FIX 16\nend\n"
        "vector\nawait MTE3 0\nstore-half\nawait MTE3 0\nend",
        "cube\nproduct\nsplit-acc\nsignal FIX 0\nsignal FIX 16\nawait FIX 1\nawait FIX 17\nsplit-acc\nsignal FIX 0\n"
        "signal FIX 16\nend\nvector\nawait MTE3 0\nstore-half\nsignal MTE3 1\nawait MTE3 0\nend",
    ),
    Case(
        "both vector cores must contribute",
        "a2a3",
        {"DEADLOCK": [[8]]},
        "vector\n%me = arith.cmpi eq, %sub, %c0 : index\nscf.if %me {\nsignal MTE3 0\nend\nend\n"
        "cube\nawait MTE2 0\nend",
        "vector\nsignal MTE3 0\nend\ncube\nawait MTE2 0\nend",
    ),
    Case(
        "a signal that nobody takes",
        "a2a3",
        {"XFLAG-UNMATCHED": [[2]]},
        "cube\nsignal FIX 0\nend\nvector\nfill\nend",
        "cube\nsignal FIX 0\nend\nvector\nawait V 0\nend",
    ),
    Case(
        "sixteen signals",
        "a2a3",
        {"XFLAG-OVERFLOW": [[3]]},
        "cube\nscf.for %i = %c0 to %c16 step %c1 {\nsignal FIX 0\nend\nsignal FIX 1\nend\nvector\nawait V 1\n"
        "scf.for %j = %c0 to %c16 step %c1 {\nawait V 0\nend\nend",
        "cube\nscf.for %i = %c1 to %c16 step %c1 {\nsignal FIX 0\nend\nsignal FIX 1\nend\nvector\nawait V 1\n"
        "scf.for %j = %c1 to %c16 step %c1 {\nawait V 0\nend\nend",
    ),
    Case(
        "the two vector cores on one row",
        "a2a3",
        {"RACE-XCORE-WAW": [[4]]},
        "vector\nfill\nflag V MTE3 0\nstore-first\nend\ncube\nend",
        "vector\nfill\nflag V MTE3 0\nstore-ws\nend\ncube\nend",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_fault_is_found_at_its_lines(case: Case) -> None:
    assert found(case.bad, case.on) == case.rules


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_the_right_program_is_clean(case: Case) -> None:
    assert found(case.good, case.on) == {}


def test_clusters_of_several_blocks_do_not_mix() -> None:
    """Every block has buffers and flags of its own; on global memory, the blocks do the same and race."""
    good = "cube\nproduct\nsplit-acc\nsignal FIX 0\nsignal FIX 16\nend\nvector\nawait MTE3 0\n{}end"
    assert found(good.format(""), "a5", blocks=3) == {}
    assert found(good.format("store-half\n"), "a5", blocks=3) == {"RACE-XCORE-WAW": [[8 + S]]}


def test_a_race_names_both_cores() -> None:
    report, _ = check(CASES[0].bad)
    (race,) = report.errors
    assert "TLOAD on PIPE_MTE2 reads %ws while TSTORE on PIPE_FIX of block 0, cube core" in race.message
    assert "sync.set" in str(race.hint)
