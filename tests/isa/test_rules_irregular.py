"""Rules of gathers and scatters in tiles, sorts, histograms and generators: a site that passes, one that breaks."""

from __future__ import annotations

from typing import Any

import pytest

import ptokit.isa.all  # noqa: F401  (completes the table)
from ptokit.diagnostics import CATALOGUE, Scope
from ptokit.types.enums import CmpMode, MaskAxis, MaskPattern, TileType

from .fake import spec
from .rule_cases import Case, at, broken, case_ids, check_case, untested

T = spec("f32", 16, 64)
H = spec("f16", 16, 64)
I = spec("i32", 16, 64)
U8 = spec("u8", 16, 64)
MASK = {"attrs": {"mask": MaskPattern.P0101}}
ROWS = {"attrs": {"mask": MaskPattern.P0101, "axis": MaskAxis.Col}}
GT = {"attrs": {"cmp": CmpMode.GT}}
LT = {"attrs": {"cmp": CmpMode.LT}}
INDEX = {"dst": T, "src": T, "idx": I}
MASKED = {"dst": spec("f32", 16, 32), "src": T, **MASK}
BY_ROWS = {"dst": spec("f32", 8, 64), "src": T, **ROWS}
COMPARED = {"dst": I, "src": H, "threshold": ("f16", 1.0), "count": spec("i32", 1, 64), **GT}
BLOCKS = {"dst": H, "src": H, "offset": spec("u32", 16, 8)}
SPREAD = {"dst": T, "src": spec("f32", 16, 32), **MASK}
SORT = {"dst": spec("f32", 16, 128), "src": T, "idx": spec("u32", 16, 64)}
LIST = spec("f32", 1, 64)
MERGE = {"dst": spec("f32", 1, 128), "tmp": spec("f32", 1, 128), "src0": LIST, "src1": LIST}
BLOCK = {"dst": spec("f32", 1, 256), "src0": spec("f32", 1, 256), "block_len": ("i32", 64)}
HIST = {"dst": spec("u32", 16, 256), "src": spec("u16", 16, 64), "idx": spec("u8", 32, 1, dn=True)}
HIST4 = {"dst": HIST["dst"], "src": spec("u32", 16, 64), "idx": spec("u8", 32, 64, 1, 64), "attrs": {"byte": 2}}
CI = {"dst": spec("i32", 1, 64), "start": ("i32", 5)}
TRI = {"dst": T, "diagonal": ("i32", 0)}
WORDS = {f"{n}{k}": ("i32", 1) for n, c in (("key", 2), ("counter", 4)) for k in range(c)}
RANDOM = {"dst": spec("u32", 16, 64), **WORDS}


def changed(case: dict[str, Any], **operands: Any) -> dict[str, Any]:
    """The operands with some of them exchanged."""
    return {**case, **operands}


CASES: list[Case] = [
    ("TGATH-COM-01", "TGATHER", "a5", INDEX, changed(INDEX, src=H)),
    ("TGATH-COM-03", "TGATHER", "a5", MASKED, changed(MASKED, src=H)),
    ("TGATH-COM-03", "TGATHER", "cpu", MASKED, {"dst": T, "src": T}),
    ("TGATH-COM-03", "TGATHER", "a2a3", MASKED, changed(MASKED, dst=spec("f32", 16, 40, 16, 32))),
    ("TGATH-COM-03", "TGATHER", "a2a3", MASKED, changed(MASKED, src=spec("f32", 16, 64, dn=True))),
    ("TGATH-COM-04", "TGATHER", "a2a3", MASKED, changed(MASKED, dst=spec("f32", 8, 32))),
    ("TGATH-COM-05", "TGATHER", "a2a3", BY_ROWS, changed(BY_ROWS, src=spec("f32", 14, 64))),
    ("TGATH-COM-06", "TGATHER", "a5", COMPARED, changed(COMPARED, **LT)),
    ("TGATH-COM-06", "TGATHER", "a5", COMPARED, changed(COMPARED, dst=T)),
    ("TGATH-A23-01", "TGATHER", "a2a3", INDEX, {"dst": U8, "src": U8, "idx": I}),
    ("TGATH-A23-01", "TGATHER", "a2a3", changed(INDEX, tmp=I), changed(INDEX, tmp=T)),
    ("TGATH-A23-02", "TGATHER", "a2a3", INDEX, changed(INDEX, dst=at(T, 64), src=at(T, 64))),
    ("TGATH-A23-03", "TGATHER", "a2a3", MASKED, {"dst": spec("u8", 16, 32), "src": U8, **MASK}),
    ("TGATH-A23-04", "TGATHER", "a2a3", COMPARED, changed(COMPARED, src=spec("i16", 16, 64))),
    (
        "TGATH-A23-04-T",
        "TGATHER",
        "a2a3",
        changed(COMPARED, tmp=spec("i32", 64, 64)),
        changed(COMPARED, tmp=U8),
    ),
    ("TGATH-A5-01", "TGATHER", "a5", INDEX, changed(INDEX, idx=spec("i16", 16, 64))),
    (
        "TGATH-A5-02",
        "TGATHER",
        "a5",
        {"dst": spec("i64", 16, 32), "src": spec("i64", 16, 64), **MASK},
        {"dst": spec("i64", 8, 64), "src": spec("i64", 16, 64), **ROWS},
    ),
    ("TGATH-A5-03", "TGATHER", "a5", COMPARED, changed(COMPARED, src=spec("f16", 16, 64, 16, 60))),
    ("TGATH-A5-03", "TGATHER", "a5", COMPARED, changed(COMPARED, src=spec("bf16", 16, 64))),
    ("GATHB-01", "TGATHERB", "a2a3", BLOCKS, changed(BLOCKS, dst=spec("i64", 16, 4))),
    ("GATHB-01", "TGATHERB", "a2a3", BLOCKS, changed(BLOCKS, dst=spec("f16", 16, 64, dn=True))),
    ("GATHB-02", "TGATHERB", "a5", BLOCKS, changed(BLOCKS, offset=spec("i16", 16, 16))),
    ("GATHB-04", "TGATHERB", "cpu", BLOCKS, changed(BLOCKS, dst=spec("f16", 16, 64, 16, 60))),
    ("GATHB-05", "TGATHERB", "a5", BLOCKS, changed(BLOCKS, dst=at(H, 64), src=at(H, 64))),
    ("TSCAT-COM-01", "TSCATTER", "a5", INDEX, changed(INDEX, src=H)),
    ("TSCAT-COM-01", "TSCATTER", "a2a3", INDEX, {"dst": spec("i64", 16, 64), "src": spec("i64", 16, 64), "idx": I}),
    ("TSCAT-COM-02", "TSCATTER", "a5", INDEX, changed(INDEX, idx=spec("i16", 16, 64))),
    ("TSCAT-COM-02", "TSCATTER", "a5", INDEX, changed(INDEX, idx=T)),
    ("TSCAT-COM-03", "TSCATTER", "a5", INDEX, changed(INDEX, dst=spec("f32", 16, 64, loc=TileType.Mat))),
    ("TSCAT-COM-05", "TSCATTER", "a5", SPREAD, changed(SPREAD, src=T)),
    ("TSCAT-COM-05", "TSCATTER", "a5", SPREAD, {"dst": T, "src": T}),
    ("TSCAT-COM-07", "TSCATTER", "a5", INDEX, changed(INDEX, dst=at(T, 64), src=at(T, 64))),
    ("TSCAT-CPU-01", "TSCATTER", "cpu", SPREAD, {"dst": U8, "src": spec("u8", 16, 32), **MASK}),
    ("SORT-COM-01", "TSORT32", "a5", SORT, changed(SORT, idx=spec("u16", 16, 64))),
    ("SORT-COM-01", "TSORT32", "a5", SORT, changed(SORT, src=I, dst=spec("i32", 16, 128))),
    ("SORT-COM-02", "TSORT32", "a2a3", SORT, changed(SORT, src=spec("f32", 16, 64, 16, 60))),
    ("SORT-COM-03", "TSORT32", "a5", SORT, changed(SORT, dst=T)),
    ("SORT-COM-05", "TSORT32", "a5", SORT, changed(SORT, dst=at(SORT["dst"], 0), src=at(T, 64))),
    (
        "SORT-A23-01",
        "TSORT32",
        "a2a3",
        SORT,
        {"dst": spec("f16", 1, 65280), "src": spec("f16", 1, 16320), "idx": spec("u32", 1, 16320)},
    ),
    ("SORT-CPU-01", "TSORT32", "cpu", SORT, changed(SORT, idx=spec("u32", 1, 64))),
    ("MRG-COM-01", "TMRGSORT", "a5", MERGE, changed(MERGE, src1=spec("f32", 2, 64))),
    ("MRG-COM-01", "TMRGSORT", "a5", MERGE, changed(MERGE, src1=spec("f16", 1, 64))),
    ("MRG-COM-02", "TMRGSORT", "a5", BLOCK, changed(BLOCK, block_len=("i32", 60))),
    ("MRG-COM-02", "TMRGSORT", "a5", BLOCK, changed(BLOCK, src0=spec("f32", 1, 320))),
    ("MRG-COM-03", "TMRGSORT", "cpu", MERGE, changed(MERGE, tmp=LIST)),
    ("MRG-COM-03", "TMRGSORT", "cpu", MERGE, changed(MERGE, tmp=at(MERGE["tmp"], 0), src0=at(LIST, 64))),
    (
        "MRG-COM-04",
        "TMRGSORT",
        "a2a3",
        MERGE,
        dict.fromkeys(("src0", "src1"), spec("f32", 1, 16384)) | dict.fromkeys(("dst", "tmp"), spec("f32", 1, 32768)),
    ),
    ("MRG-COM-06", "TMRGSORT", "a5", BLOCK, changed(BLOCK, dst=at(BLOCK["dst"], 0), src0=at(BLOCK["src0"], 0))),
    ("MRG-COM-07", "TMRGSORT", "a5", MERGE, changed(MERGE, src1=spec("f32", 1, 64, 1, 63))),
    ("HIST-01", "THISTOGRAM", "a5", HIST, changed(HIST, src=spec("i16", 16, 64))),
    ("HIST-02", "THISTOGRAM", "a5", HIST, changed(HIST, idx=spec("u8", 1, 32))),
    ("HIST-02", "THISTOGRAM", "a5", HIST, changed(HIST, attrs={"byte": 2})),
    ("HIST-03", "THISTOGRAM", "cpu", HIST4, changed(HIST4, attrs={"byte": 1})),
    ("HIST-03", "THISTOGRAM", "cpu", HIST4, changed(HIST4, idx=spec("u8", 32, 32, 1, 32))),
    ("HIST-03", "THISTOGRAM", "cpu", HIST4, changed(HIST4, attrs={"byte": 4})),
    ("HIST-04", "THISTOGRAM", "cpu", HIST, changed(HIST, dst=spec("u32", 16, 128))),
    ("HIST-04", "THISTOGRAM", "a5", HIST, changed(HIST, dst=spec("u32", 16, 512))),
    ("GEN-CI-01", "TCI", "a5", CI, changed(CI, dst=spec("i32", 2, 64))),
    ("CI-01", "TCI", "a5", CI, changed(CI, start=("i16", 5))),
    ("CI-02", "TCI", "a5", CI, changed(CI, dst=spec("i8", 1, 64))),
    (
        "CI-02",
        "TCI",
        "a2a3",
        {"dst": spec("f32", 1, 64), "start": 1.0},
        {"dst": spec("f32", 1, 64), "start": 1.0, "tmp": spec("i32", 1, 192)},
    ),
    ("CI-02-T", "TCI", "a2a3", changed(CI, tmp=spec("i32", 1, 192)), changed(CI, tmp=spec("i32", 1, 64))),
    (
        "CI-03",
        "TCI",
        "a2a3",
        changed(CI, tmp=spec("i32", 1, 192), start=("i32", 0), attrs={"descending": True}),
        changed(CI, tmp=spec("i32", 1, 192), attrs={"descending": True}),
    ),
    ("GEN-TRI-01", "TTRI", "a5", changed(TRI, attrs={"upper_or_lower": 1}), changed(TRI, attrs={"upper_or_lower": 2})),
    ("TRI-01", "TTRI", "a2a3", TRI, changed(TRI, dst=spec("f32", 16, 64, dn=True))),
    ("TRI-02", "TTRI", "a2a3", TRI, changed(TRI, dst=spec("bf16", 16, 64))),
    ("PRINT-01", "TPRINT", "a5", {"src": T}, {"src": spec("bf16", 16, 64)}),
    ("PRINT-02", "TPRINT", "cpu", {"src": T}, {"src": spec("f32", 16, 64, loc=TileType.Left)}),
    ("PRINT-02", "TPRINT", "a5", {"src": T}, {"src": spec("f32", 16, 64, loc=TileType.Mat)}),
    ("PRINT-04", "PRINT", "a5", {"value": 1, "attrs": {"format": "%d"}}, {"value": 1, "attrs": {"format": "%q"}}),
    ("ELEM-01", "TGETVAL", "a5", {"src": T, "offset": 1023}, {"src": T, "offset": 1024}),
    ("ELEM-01", "TSETVAL", "a5", {"dst": T, "offset": 0, "value": 1.0}, {"dst": T, "offset": -1, "value": 1.0}),
    (
        "TILE-09",
        "TGETVAL",
        "a5",
        {"src": T, "offset": 0},
        {"src": spec("f32", 16, 64, loc=TileType.Acc), "offset": 0},
    ),
    ("MODE-01", "SETTF32MODE", "a5", {"attrs": {"mode": "CAST_RINT"}}, {"attrs": {"mode": "CAST_FLOOR"}}),
    ("RAND-01", "TRANDOM", "a5", RANDOM, changed(RANDOM, dst=T)),
    ("RAND-02", "TRANDOM", "a5", changed(RANDOM, attrs={"rounds": 7}), changed(RANDOM, attrs={"rounds": 8})),
    ("RAND-03", "TRANDOM", "cpu", RANDOM, changed(RANDOM, dst=spec("u32", 16, 64, dn=True))),
]
ABSENT = [("HIST-06", "THISTOGRAM", HIST), ("RAND-04", "TRANDOM", RANDOM)]
AT_RUN_TIME = {"TGATH-COM-02", "GATHB-03", "TSCAT-COM-04", "MRG-COM-05"}


@pytest.mark.parametrize("case", CASES, ids=case_ids(CASES))
def test_rule(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize(("rule", "name", "operands"), ABSENT)
def test_absent_instructions(rule: str, name: str, operands: dict[str, Any]) -> None:
    assert rule in broken(name, "a2a3", operands)
    assert {i for i in broken(name, "a5", operands) if CATALOGUE[i].scope is Scope.ISA} == set()


def test_every_rule_has_a_case() -> None:
    prefixes = "TGATH- GATHB- TSCAT- SORT- MRG- HIST- GEN- CI- TRI- RAND- PRINT- ELEM- MODE-".split()
    assert untested(CASES, *prefixes) == AT_RUN_TIME | {rule for rule, *_ in ABSENT}
