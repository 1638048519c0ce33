"""Every instruction on windows of tiles: the bytes of all buffers are those of a plain model."""

from __future__ import annotations

import pytest

from ptokit.isa.table import TABLE, Kind
from tests.each import each

from . import windows
from .windows import instruction_of, play

NAMES = sorted({instruction_of(case.op, case.tiles, case.args).name for case, _ in windows.cases()})  # type: ignore[union-attr]


@each("name", NAMES)
def test_all_operands_are_windows(name: str) -> None:
    found = [pair for pair in windows.cases() if instruction_of(pair[0].op, pair[0].tiles, pair[0].args) is TABLE[name]]
    hosted = 0
    for seed, (case, target) in enumerate(found[:: max(1, len(found) // 4)]):
        program = windows.Program(target, seed, windows=1.0)
        message = program.step(case) or program.compare()
        assert message in ("", windows.FULL), (case.id, target.name, program.told)
        hosted += sum(":" in line for line in program.told)
    assert hosted or name in BY_ADDRESS


BY_ADDRESS = frozenset({"TGEMV_MX", "TGEMV_MX_ACC", "TGEMV_MX_BIAS", "TMATMUL_MX", "TMATMUL_MX_ACC", "TMATMUL_MX_BIAS"})
"""Scales lie at a sixteenth of the address of what they scale."""


def test_no_instruction_is_left_out() -> None:
    tiles = {i.name for i in TABLE.values() if i.run is not None and not i.typed and i.operands[:1]}
    tiles = {name for name in tiles if any(o.kind is Kind.TILE for o in TABLE[name].operands)}
    tiles -= {name for name in tiles if TABLE[name].order.between_cores}  # they need another core
    assert tiles - set(NAMES) == {
        *(
            "SETFMATRIX",
            "SET_IMG2COL_PADDING",
            "SET_IMG2COL_RPT",
            "TIMG2COL",
        ),  # of convolution tiles, which have no parts
        *("TGET_SCALE_ADDR", "TSYNC", "TPREFETCH", "TPRINT"),  # move nothing between tiles
        *(
            "TADDDEQRELU",
            "TADDRELU",
            "TADDRELUCONV",
            "TCONCATIDX",
            "TEXTRACT2",
            "TGETVAL",
            "TPACK",
            "TSETVAL",
            "TSUBRELUCONV",
        ),
    }


@each("seed", range(150))
def test_programs(seed: int) -> None:
    told, message = play(seed)
    assert not message, told


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(12))
def test_programs_campaign(part: int) -> None:
    for seed in range(1000 + 1000 * part, 2000 + 1000 * part):
        told, message = play(seed)
        assert not message, (seed, told)
