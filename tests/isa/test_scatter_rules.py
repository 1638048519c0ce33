"""Each rule of MSCATTER: a call that passes, and one that breaks it and is told why."""

from __future__ import annotations

import pytest

from ptokit.diagnostics import CATALOGUE, Severity
from ptokit.isa.check import broken_rules
from ptokit.isa.site import ScalarInfo
from ptokit.types.enums import Coalesce, Layout, ScatterAtomicOp, ScatterConflict, TileType

from .fake import spec
from .gather_sites import Case, broken, scatter_site, table

ROW = {"mode": Coalesce.Row}
ADD, MAX, MIN = ({"atomic": a} for a in (ScatterAtomicOp.Add, ScatterAtomicOp.Max, ScatterAtomicOp.Min))
NZ = {"src": spec("f32", 16, 32, 8, 16, boxed=True), "dst": table("f32", 1, 4, 3, 16, 8, layout=Layout.NZ)}


def typed(dtype: str, **more: object) -> dict:
    """Tile and table of a type."""
    return {"src": spec(dtype, 8, 32), "dst": table(dtype, 40, 32), "idx": spec("i32", 8, 32), **more}


CASES: list[Case] = [
    ("SCATTER-COM-01", "a2a3", {"idx": spec("u32", 8, 16)}, {"idx": spec("i16", 8, 16)}, "i16"),
    ("SCATTER-COM-01", "a5", {}, {"idx": spec("f32", 8, 16)}, "f32"),
    ("SCATTER-COM-01", "cpu", {"idx": spec("u8", 8, 32)}, {"idx": spec("f16", 8, 16)}, "f16"),
    ("SCATTER-COM-01", "a5", {}, {"idx": table("i32", 8, 16)}, "global memory"),
    ("SCATTER-COM-02", "cpu", {}, {"mode": None}, "takes Elem"),
    ("SCATTER-COM-02", "a5", ROW, {"mode": None}, "no mode"),
    ("SCATTER-COM-03", "cpu", {"dst": table("u32", 40, 16)}, {"dst": table("i8", 40, 16)}, "i8 of 8 bits"),
    ("SCATTER-COM-03", "a5", {}, {"dst": table("u32", 40, 16)}, "the table u32"),
    ("SCATTER-COM-04", "cpu", ROW, {**ROW, "dst": table("f32", 0, 16)}, "0 rows"),
    ("SCATTER-COM-04", "a2a3", {}, {"dst": table("f32", 0, 3, 16)}, "0 elements"),
    ("SCATTER-CPU-01", "cpu", MAX, {**MAX, "conflict": ScatterConflict.Last}, "atomic=Max with conflict=Last"),
    ("SCATTER-CPU-02", "cpu", typed("i64"), typed("e4m3"), "e4m3"),
    ("SCATTER-CPU-02", "cpu", typed("hif8", extended=True), typed("hif8", extended=True, **ADD), "hif8"),
    ("SCATTER-CPU-02", "cpu", typed("e5m2", extended=True, **ADD), typed("e1m2", extended=True), "e1m2"),
    (
        "SCATTER-CPU-03",
        "cpu",
        {"src": spec("f32", 8, 16, 4, 12), "idx": spec("i32", 4, 16)},
        {"idx": spec("i32", 4, 16)},
        "4x16 elements for the 8x16",
    ),
    ("SCATTER-A23-01", "a2a3", typed("u8"), typed("hif8"), "hif8"),
    ("SCATTER-A23-02", "a2a3", ROW, {**ROW, "idx": spec("i32", 8, 1, dn=True)}, "DN"),
    ("SCATTER-A23-02", "a2a3", {}, {"src": spec("f32", 8, 16, loc=TileType.Mat)}, "mat"),
    ("SCATTER-A23-03", "a2a3", NZ, {**NZ, "dst": table("f32", 40, 16)}, "the table ND"),
    ("SCATTER-A23-03", "a2a3", NZ, {**NZ, "dst": table("f32", 1, 4, 3, 8, 8, layout=Layout.NZ)}, "8x8, not 16x8"),
    ("SCATTER-A23-03", "a2a3", {**NZ, **ROW}, {**NZ, **ROW, "src": spec("f32", 16, 24, 8, 16, boxed=True)}, "src 24"),
    ("SCATTER-A23-04", "a2a3", {}, {"src": spec("f32", 8, 4), "idx": spec("i32", 8, 4)}, "16 bytes"),
    ("SCATTER-A23-05", "a2a3", typed("bf16", **ADD), typed("u8", **ADD), "Add on u8"),
    ("SCATTER-A23-05", "a2a3", ADD, MAX, "atomic=Max"),
    ("SCATTER-A23-05", "a2a3", {}, MIN, "atomic=Min"),
    ("SCATTER-A23-06", "a2a3", ROW, {**ROW, "idx": spec("i32", 1, 8, 1, 7)}, "1x7"),
    ("SCATTER-A23-06", "a2a3", {}, {"src": spec("f32", 8, 16, 8, 15)}, "8x15"),
    ("SCATTER-A23-07", "a2a3", {}, {"conflict": ScatterConflict.Default}, "conflict=Default"),
    ("SCATTER-A5-01", "a5", typed("e4m3"), typed("e8m0"), "e8m0"),
    ("SCATTER-A5-02", "a5", typed("bf16", **ADD), typed("i8", **ADD), "Add on i8"),
    ("SCATTER-A5-02", "a5", typed("u32", **MAX), typed("bf16", **MIN), "Min on bf16"),
    ("SCATTER-A5-03", "a5", {**ROW, "idx": spec("i32", 8, 1, dn=True)}, {**ROW, "idx": spec("i32", 1, 8, 1, 5)}, "1x5"),
    ("SCATTER-A5-03", "a5", ROW, {**ROW, "dst": table("f32", 40, 32)}, "32 elements, src 16"),
    ("SCATTER-A5-04", "a5", {}, {"src": spec("f32", 8, 16, 8, 12)}, "8x12"),
    (
        "SCATTER-A5-04",
        "a5",
        {"src": spec("f32", 8, 16, 8, -1), "idx": spec("i32", 8, 16, 8, -1)},
        {"src": spec("f32", 8, 16, 8, -1)},
        "8x16, src asks for 8x?",
    ),
    ("SCATTER-A5-05", "a5", {}, {"dst": table("f32", 40, 16, stride=(24, 1))}, "stride 24"),
    ("SCATTER-A5-05", "a5", {}, {"dst": NZ["dst"]}, "NZ"),
    ("SCATTER-A5-06", "a5", {}, {"src": spec("f32", 16, 16, 8, 16, boxed=True)}, "Nz"),
    ("SCATTER-A5-06", "a5", {}, {"idx": spec("i32", 8, 16, loc=TileType.Mat)}, "idx is a mat"),
    (
        "SCATTER-ROW-01",
        "cpu",
        {**ROW, "idx": spec("i32", 8, 1, dn=True)},
        {**ROW, "idx": spec("i32", 8, 8, 8, 1)},
        "8x1 in a 8x8 ND tile",
    ),
    ("SC-1", "a2a3", {}, {"src": spec("e4m3", 8, 32)}, "e4m3"),
    ("SC-2", "a5", {}, {"dst": ScalarInfo("m", "memref<*xf32>")}, "memref<*xf32>"),
    ("SC-3", "a5", {}, {"src": spec("f32", 8, 16, dn=True)}, "DN"),
    ("SC-4", "a5", {}, {"src": spec("i64", 8, 16)}, "i64"),
    ("SC-5", "a5", {}, {"idx": spec("u32", 8, 16)}, "u32"),
    ("SC-6", "a5", {}, {"dst": table("i32", 40, 16)}, "i32"),
    ("SC-7", "a5", {"dst": table("f32", 40, 16, layout=None)}, {"dst": NZ["dst"]}, "NZ"),
    ("SC-8", "a5", {}, {"idx": spec("i32", 8, 8)}, "8x8, src in 8x16"),
    ("SC-9", "a5", ADD, {**ADD, "mode": None}, "atomic without coalesce"),
    ("SC-10", "a5", typed("f16", **ADD), typed("bf16", **ADD), "add on bf16"),
    ("SC-10", "a5", typed("i32", **MIN), typed("u32", **MAX), "max on u32"),
]

AT_RUN_TIME = {"SCATTER-COM-05"}  # tests/isa/test_scatter.py
IN_CALLS = {"SCATTER-COM-06"}  # tests/isa/test_gather_python.py


@pytest.mark.parametrize("case", CASES, ids=[f"{c[0]}-{c[1]}-{i}" for i, c in enumerate(CASES)])
def test_rule(case: Case) -> None:
    rule, on, good, bad, words = case
    assert rule == "SC-1" or rule not in broken(scatter_site(on, **good))
    found = broken(scatter_site(on, **bad))
    assert rule in found, found
    assert words in found[rule]
    assert on in CATALOGUE[rule].targets


def test_every_rule_is_tested() -> None:
    ids = {i for i in CATALOGUE if i.startswith(("SCATTER-", "SC-")) and i != "SCATTER-ALIAS"}
    assert ids == {c[0] for c in CASES} | AT_RUN_TIME | IN_CALLS


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
@pytest.mark.parametrize("changes", [{}, ROW, ADD, {**ROW, **ADD}], ids=["elements", "rows", "add", "add rows"])
def test_legal_calls_break_nothing(on: str, changes: dict) -> None:
    assert {i for i in broken(scatter_site(on, **changes)) if not i.startswith("SC-")} == set()


@pytest.mark.parametrize("changes", [NZ, {**NZ, **ROW}], ids=["elements", "rows"])
def test_legal_nz_calls_break_nothing(changes: dict) -> None:
    assert {i for i in broken(scatter_site("a2a3", **changes)) if not i.startswith("SC-")} == set()


def test_severities() -> None:
    warnings = {i for i in CATALOGUE if i.startswith("SCATTER-") and CATALOGUE[i].severity is Severity.WARNING}
    assert warnings - {"SCATTER-ALIAS"} == {"SCATTER-COM-02", "SCATTER-COM-06", "SCATTER-ROW-01"}


def test_swapped_operands_get_a_hint() -> None:
    site = scatter_site("a5", src=spec("i32", 8, 16), idx=spec("f32", 8, 16))
    hints = [b.hint for b in broken_rules(site) if b.rule.id == "SCATTER-COM-01"]
    assert hints == ["are src and idx swapped?"]
