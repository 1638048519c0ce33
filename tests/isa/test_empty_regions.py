"""Every instruction with tiles whose valid region is empty at run time: a result or a finding, never anything else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from ptokit.conformance.bench import Bench
from ptokit.conformance.cases import Case
from ptokit.diagnostics import CATALOGUE
from ptokit.machine.lanes import Fault
from ptokit.targets import Target
from ptokit.types.tile import DYNAMIC
from tests.each import each

from ..run import windows
from ..run.windows import instruction_of

CASES = [(instruction_of(case.op, case.tiles, case.args), case, target) for case, target in windows.cases()]
NAMES = sorted({instr.name for instr, _, _ in CASES if instr is not None})
SIZES = [(0, None), (None, 0), (0, 0)]


def emptied(case: Case) -> Iterator[dict[str, tuple[int, int]]]:
    """Valid regions by tile: all tiles empty in one way, and one tile alone."""
    for rows, cols in SIZES:
        size = {
            name: (spec.valid_row if rows is None else rows, spec.valid_col if cols is None else cols)
            for name, spec in case.tiles.items()
        }
        yield size
        for name in case.tiles:
            yield {name: size[name]}


def run(case: Case, target: Target, sizes: dict[str, tuple[int, int]]) -> str:
    instr = instruction_of(case.op, case.tiles, case.args)
    bench = Bench(case, instr, target)
    for name, (vr, vc) in sizes.items():
        tile = bench.tiles[name]
        tile.spec = replace(tile.spec, valid_row=DYNAMIC, valid_col=DYNAMIC)
        tile.vr, tile.vc = vr, vc
    before: dict[str, Any] = {name: tile.raw().copy() for name, tile in bench.tiles.items()}
    try:
        bench.execute()
    except Fault as fault:
        return fault.rule
    for name, tile in bench.tiles.items():
        assert tile.raw().shape == before[name].shape
    return ""


@each("name", NAMES)
def test_empty_regions(name: str) -> None:
    found = [(case, target) for instr, case, target in CASES if instr is not None and instr.name == name]
    outcomes = set()
    for on in {target.name for _, target in found}:
        case, target = next(pair for pair in found if pair[1].name == on)
        for sizes in emptied(case):
            try:
                outcomes.add(run(case, target, sizes))
            except Exception as error:
                error.add_note(f"{case.id} on {target.name} with {sizes}")
                raise
    assert outcomes
    assert outcomes <= {"", *CATALOGUE}


@pytest.mark.campaign
def test_empty_regions_campaign() -> None:
    for instr, case, target in CASES:
        assert instr is not None
        for sizes in emptied(case):
            try:
                run(case, target, sizes)
            except Exception as error:
                error.add_note(f"{case.id} on {target.name} with {sizes}")
                raise
