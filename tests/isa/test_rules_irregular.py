"""Rules of gathers, sorts, transposes and generators, beside their examples: a site that passes, one that breaks."""

from __future__ import annotations

from typing import Any

import pytest

from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import CmpMode, Layout, MaskAxis, MaskPattern, TileType
from ptokit.types.tensor import conv_tile

from .fake import spec
from .rule_cases import Case, at, case_ids, check_case

T = spec("f32", 16, 64)
H = spec("f16", 16, 64)
I = spec("i32", 16, 64)
MASK = {"attrs": {"mask": MaskPattern.P0101}}
ROWS = {"attrs": {"mask": MaskPattern.P0101, "axis": MaskAxis.Col}}
GT = {"attrs": {"cmp": CmpMode.GT}}
LT = {"attrs": {"cmp": CmpMode.LT}}
INDEX = {"dst": T, "src": T, "idx": I}
MASKED = {"dst": spec("f32", 16, 32), "src": T, **MASK}
COMPARED = {"dst": I, "src": H, "threshold": ("f16", 1.0), "count": spec("i32", 1, 64), **GT}
BLOCKS = {"dst": H, "src": H, "offset": spec("u32", 16, 8)}
SPREAD = {"dst": T, "src": spec("f32", 16, 32), **MASK}
SORT = {"dst": spec("f32", 16, 128), "src": T, "idx": spec("u32", 16, 64)}
SORT_APART = {name: at(tile, 0x4000 * k) for k, (name, tile) in enumerate(SORT.items())}
LIST = spec("f32", 1, 64)
MERGE = {"dst": spec("f32", 1, 128), "tmp": spec("f32", 1, 128), "src0": LIST, "src1": LIST}
BLOCK = {"dst": spec("f32", 1, 256), "src0": spec("f32", 1, 256), "block_len": ("i32", 64)}
HIST = {"dst": spec("u32", 16, 256), "src": spec("u16", 16, 64), "idx": spec("u8", 32, 1, dn=True)}
HIST4 = {"dst": HIST["dst"], "src": spec("u32", 16, 64), "idx": spec("u8", 32, 64, 1, 64), "attrs": {"byte": 2}}
CI = {"dst": spec("i32", 1, 64), "start": ("i32", 5)}
WORDS = {f"{n}{k}": ("i32", 1) for n, c in (("key", 2), ("counter", 4)) for k in range(c)}


def changed(case: dict[str, Any], **operands: Any) -> dict[str, Any]:
    """The operands with some of them exchanged."""
    return {**case, **operands}


T = spec("f32", 16, 64)
TT = spec("f32", 64, 16)
H = spec("f16", 16, 64)
MAT: dict[str, Any] = {"loc": TileType.Mat, "boxed": True}


def conv(layout: Layout, *dims: int, dtype: str = "f16") -> Any:
    """A convolution tile in UB."""
    return conv_tile(TileType.Vec, DTYPES[dtype], layout, dims)


NCHW = conv(Layout.NCHW, 1, 32, 4, 8)
NC1HWC0 = conv(Layout.NC1HWC0, 1, 2, 4, 8, 16)
TRANS = {"dst": TT, "src": T}
CONCAT = {"dst": spec("f32", 16, 128), "src0": T, "src1": T}
COUNT = spec("i32", 16, 1, dn=True)
COUNTED = {**CONCAT, "idx0": COUNT, "idx1": COUNT, "didx": COUNT}
PAD = spec("f32", 16, 64, pad=2)
FILL = {"dst": PAD, "src": spec("f32", 16, 64, 10, 60)}
PAIRS = {"dst0": T, "dst1": T, "src0": T, "src1": T}

CASES: list[Case] = [
    ("TGATH-COM-03", "TGATHER", "cpu", MASKED, {"dst": T, "src": T}),
    ("TGATH-COM-07", "TGATHER", "a2a3", MASKED, changed(MASKED, dst=spec("f32", 16, 40, 16, 32))),
    ("TGATH-COM-03", "TGATHER", "a2a3", MASKED, changed(MASKED, src=spec("f32", 16, 64, dn=True))),
    ("TGATH-COM-06", "TGATHER", "a5", COMPARED, changed(COMPARED, dst=T)),
    ("TGATH-A23-01", "TGATHER", "a2a3", changed(INDEX, tmp=I), changed(INDEX, tmp=T)),
    ("TGATH-A5-03", "TGATHER", "a5", COMPARED, changed(COMPARED, src=spec("f16", 16, 64, 16, 60))),
    ("GATHB-01", "TGATHERB", "a2a3", BLOCKS, changed(BLOCKS, dst=spec("f16", 16, 64, dn=True))),
    ("TSCAT-COM-01", "TSCATTER", "a2a3", INDEX, {"dst": spec("i64", 16, 64), "src": spec("i64", 16, 64), "idx": I}),
    ("TSCAT-COM-02", "TSCATTER", "a5", INDEX, changed(INDEX, idx=T)),
    ("TSCAT-COM-05", "TSCATTER", "a5", SPREAD, {"dst": T, "src": T}),
    ("SORT-COM-01", "TSORT32", "a5", SORT, changed(SORT, src=I, dst=spec("i32", 16, 128))),
    ("MRG-COM-01", "TMRGSORT", "a5", MERGE, changed(MERGE, src1=spec("f16", 1, 64))),
    ("MRG-COM-02", "TMRGSORT", "a5", BLOCK, changed(BLOCK, src0=spec("f32", 1, 320))),
    ("HIST-02", "THISTOGRAM", "a5", HIST, changed(HIST, idx=spec("u8", 1, 32))),
    ("HIST-03", "THISTOGRAM", "cpu", HIST4, changed(HIST4, idx=spec("u8", 32, 32, 1, 32))),
    ("HIST-04", "THISTOGRAM", "a5", HIST, changed(HIST, dst=spec("u32", 16, 512))),
    (
        "CI-02",
        "TCI",
        "a2a3",
        {"dst": spec("f32", 1, 64), "start": 1.0},
        {"dst": spec("f32", 1, 64), "start": 1.0, "tmp": spec("i32", 1, 192)},
    ),
    ("PRINT-02", "TPRINT", "cpu", {"src": T}, {"src": spec("f32", 16, 64, loc=TileType.Left)}),
    ("ELEM-01", "TGETVAL", "a5", {"src": T, "offset": 1023}, {"src": T, "offset": 1024}),
    ("TRANS-COM-01", "TTRANS", "a5", TRANS, {"dst": spec("i64", 64, 16), "src": spec("i64", 16, 64)}),
    (
        "TRANS-CONV-01",
        "TTRANS",
        "a2a3",
        {"dst": NC1HWC0, "src": NCHW},
        {"dst": conv(Layout.NC1HWC0, 1, 2, 3, 5, 16), "src": conv(Layout.NCHW, 1, 32, 3, 5)},
    ),
    (
        "TRANS-CONV-01",
        "TTRANS",
        "cpu",
        {"dst": conv(Layout.FRACTAL_Z, 64, 1, 16, 16), "src": NC1HWC0},
        {"dst": conv(Layout.FRACTAL_Z, 32, 2, 16, 16), "src": NC1HWC0},
    ),
    (
        "TRANS-CONV-01",
        "TTRANS",
        "a5",
        {"dst": conv(Layout.FRACTAL_Z, 64, 2, 4, 16), "src": conv(Layout.NC1HWC0, 7, 2, 4, 8, 16)},
        {"dst": conv(Layout.FRACTAL_Z, 64, 2, 3, 16), "src": conv(Layout.NC1HWC0, 7, 2, 4, 8, 16)},
    ),
    (
        "SORT-COM-05",
        "TSORT32",
        "a2a3",
        {**SORT_APART, "tmp": at(spec("f32", 1, 64), 0)},
        {**SORT_APART, "src": at(spec("f32", 16, 64, 16, 60), 0x4000), "tmp": at(spec("f32", 1, 64), 0)},
    ),
    ("TRANS-CONV-03", "TTRANS", "a5", {"dst": NC1HWC0, "src": NCHW}, {"dst": T, "src": NC1HWC0}),
    ("CONC-COM-01", "TCONCAT", "cpu", CONCAT, {**CONCAT, "src1": spec("f32", 16, 64, loc=TileType.Mat)}),
    ("CONC-COM-03", "TCONCAT", "cpu", COUNTED, {**COUNTED, "didx": spec("i32", 16, 8)}),
    ("CONC-A23-01", "TCONCAT", "a5", CONCAT, {**CONCAT, "dst": spec("f32", 16, 192)}),
    ("FILL-COM-03", "TFILLPAD", "a2a3", FILL, {**FILL, "src": spec("f32", 16, 32)}),
    (
        "FILL-COM-06",
        "TFILLPAD",
        "a2a3",
        {"dst": spec("f16", 16, 64, pad=1, **MAT), "src": spec("f16", 16, 64, pad=1, **MAT)},
        {"dst": spec("f16", 16, 64, pad=2, **MAT), "src": spec("f16", 16, 64, pad=2, **MAT)},
    ),
    ("INTLV-02", "TDEINTERLEAVE", "a5", PAIRS, dict.fromkeys(PAIRS, spec("f32", 16, 64, 16, 63))),
]


@pytest.mark.parametrize("case", CASES, ids=case_ids(CASES))
def test_rule(case: Case) -> None:
    check_case(case)
