"""Replay of the conformance vectors: legality and values of every case whose instruction is defined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptokit.diagnostics import Severity
from ptokit.isa.check import broken_rules
from ptokit.isa.site import ScalarInfo, Site, TileInfo
from ptokit.isa.table import TABLE, Role
from ptokit.run.single import Single
from ptokit.run.tile import Tile
from ptokit.targets import target
from ptokit.types.enums import CmpMode, RoundMode, SaturationMode

from . import fake  # noqa: F401  (defines the instructions)
from .vectors import cases, data, expectation, scalar, tile_spec

# f32 2^63 to i64 with saturation ON: the cases expect the smallest i64, compute-elementwise 8.5 says sat_64(v).
WRAPS_AT_LIMIT = {"P0531_TCVT_f32_i64_RINT_ON", "P0532_TCVT_f32_i64_ROUND_ON"}
CASES = cases()


def operand_name(case: dict[str, Any], name: str) -> str:
    """The table's name of a case's tile: the vectors call a single source ``src`` or ``src0``."""
    names = [o.name for o in TABLE[case["op"]].operands]
    return {"src0": "src", "src": "src0"}.get(name, name) if name not in names else name


def attributes(case: dict[str, Any]) -> dict[str, Any]:
    args, found = case["args"], {}
    if "rmode" in args:
        found["rmode"] = RoundMode[args["rmode"]]
    if "cmp" in args:
        found["cmp"] = CmpMode[args["cmp"]]
    if "sat" in args:
        found["sat_mode"] = SaturationMode[args["sat"]]
    if "binary" in args:
        found["is_binary"] = args["binary"]
    if args.get("form") == "scalar_first":
        found["scalar_first"] = True
    return found


def execute(machine: Single, instr: Any, operands: dict[str, Any], attrs: dict[str, Any]) -> None:
    """The instruction's meaning alone: legality has its own test."""
    with np.errstate(all="ignore"):
        instr.run(machine.chunk, *(operands.get(o.name) for o in instr.operands), **attrs)


def scalar_type(case: dict[str, Any]) -> Any:
    tiles = case["tiles"]
    return tile_spec(tiles.get("src") or tiles.get("src0") or tiles["dst"]).dtype


@pytest.mark.parametrize("case", CASES, ids=lambda c: c["id"])
def test_legal(case: dict[str, Any]) -> None:
    instr = TABLE[case["op"]]
    address = 0
    infos: dict[str, Any] = dict.fromkeys(o.name for o in instr.operands)
    for name, t in case["tiles"].items():
        spec = tile_spec(t)
        infos[operand_name(case, name)] = TileInfo(name, spec, t["vr"], t["vc"], address)
        address += (spec.nbytes + 511) // 512 * 512
    if "scalar" in case["args"]:
        kind = scalar_type(case)
        infos["scalar"] = ScalarInfo("scalar", kind.name, scalar(case["args"]["scalar"], kind))
    for profile in case["legal_on"]:
        site = Site(instr, target(profile), infos, attributes(case))
        errors = [
            (b.rule.id, b.message)
            for b in broken_rules(site)
            if b.rule.severity is Severity.ERROR and b.rule.scope == "isa"
        ]
        assert not errors, (profile, errors)


def with_known_deviation(case: dict[str, Any]) -> Any:
    wraps = pytest.mark.xfail(reason="2^63 saturates, the case expects it to wrap", strict=True)
    return pytest.param(case, id=case["id"], marks=[wraps] if case["id"] in WRAPS_AT_LIMIT else [])


@pytest.mark.parametrize("case", [with_known_deviation(c) for c in CASES])
def test_values(case: dict[str, Any]) -> None:
    instr = TABLE[case["op"]]
    for profile in case["legal_on"]:
        expected = expectation(case, profile)
        if expected is None:
            continue
        machine, address, tiles = Single(target(profile)), 0, {}
        for name, t in case["tiles"].items():
            spec = tile_spec(t)
            content = data(case["in"][name]) if name in case["in"] else None
            tiles[operand_name(case, name)] = machine.tile(spec, content, address=address)
            address += (spec.nbytes + 511) // 512 * 512
        operands: dict[str, Any] = dict(tiles)
        if "scalar" in case["args"]:
            operands["scalar"] = scalar(case["args"]["scalar"], scalar_type(case))
        execute(machine, instr, operands, attributes(case))
        for name, want in expected.items():
            tile = tiles[operand_name(case, name)]
            if want is None:
                continue
            bad = want.mismatches(tile.raw()[0], tile_spec(case["tiles"][name]), profile == "cpu")
            assert not bad.any(), (profile, name, np.argwhere(bad)[:5].tolist(), _show(tile, want, bad))
        for name, t in case["tiles"].items():
            role = instr.operand(operand_name(case, name)).role
            if role is Role.IN:
                kept = tiles[operand_name(case, name)].raw()[0]
                assert (kept == data(case["in"][name])).all(), (profile, name, t)


def _show(tile: Tile, want: Any, bad: np.ndarray) -> str:
    r, c = np.argwhere(bad)[0]
    wanted = Single(target("cpu")).tile(tile.spec, want.out)
    at = (0, r, c)
    return f"got {tile.read(r + 1, c + 1)[at]!r}, want {wanted.read(r + 1, c + 1)[at]!r}"
