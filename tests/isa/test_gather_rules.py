"""Each rule of MGATHER: a call that passes, and one that breaks it and is told why."""

from __future__ import annotations

from ptokit.diagnostics import CATALOGUE, Severity
from ptokit.isa.site import UNKNOWN, ScalarInfo
from ptokit.types.enums import Coalesce, GatherExec, Layout, TileType
from tests.each import each

from .fake import spec
from .gather_sites import Case, at, broken, gather_site, l1, table

ROW = {"mode": Coalesce.Row}
INDICES = table("i32", 1, 16)  # in global memory
INTO_L1 = {"mode": Coalesce.Row, "dst": l1("f32", 16, 16), "idx": INDICES}
SCRATCH = {**INTO_L1, "mode": Coalesce.Elem, "idx": table("i32", 16, 16), "scratch": table("f32", 16, 16)}
NZ = {"dst": spec("f32", 16, 32, 8, 16, boxed=True), "src": table("f32", 1, 4, 3, 16, 8, layout=Layout.NZ)}
NZ_ELEM = {**NZ, "idx": spec("i32", 8, 16)}
DEVICES = ("a2a3", "a5")

CASES: list[Case] = [
    ("GATHER-COM-01", "a2a3", {"idx": spec("u32", 8, 16)}, {"idx": spec("i16", 8, 16)}, "i16"),
    ("GATHER-COM-01", "a5", {}, {"idx": spec("f32", 8, 16)}, "f32"),
    ("GATHER-COM-01", "cpu", {"idx": spec("i64", 8, 16)}, {"idx": spec("f32", 8, 16)}, "f32"),
    ("GATHER-COM-02", "cpu", {}, {"mode": None}, "takes Elem"),
    ("GATHER-COM-02", "a5", {**INTO_L1, "mode": None}, {"mode": None}, "no mode"),
    (
        "GATHER-COM-02",
        "a5",
        {},
        {"mode": None, "idx": spec("i32", 8, 1, dn=True)},
        "takes Row",
    ),
    ("GATHER-COM-03", "cpu", {"src": table("i32", 40, 16)}, {"src": table("f16", 40, 16)}, "f16 of 16 bits"),
    ("GATHER-COM-03", "a2a3", {}, {"src": table("i32", 40, 16)}, "the table i32"),
    ("GATHER-COM-04", "a2a3", {}, {"dst": spec("f32", 8, 16, 0, 16)}, "0x16"),
    ("GATHER-COM-04", "a5", {}, {"dst": spec("f32", 8, 16, 8, 0)}, "8x0"),
    ("GATHER-COM-05", "cpu", {"src": table("f32", 1, 16)}, {"src": table("f32", 0, 16)}, "1x1x1x0x16"),
    ("GATHER-COM-05", "a2a3", ROW, {**ROW, "src": table("f32", 0, 1, 16)}, "0 rows"),
    ("GATHER-COM-05", "a5", ROW, {**ROW, "src": table("f32", 0, 16)}, "0 rows"),
    ("GATHER-COM-07", "a2a3", INTO_L1, {**INTO_L1, "mode": Coalesce.Elem}, "mode=Elem"),
    ("GATHER-COM-07", "a5", SCRATCH, {**SCRATCH, "mode": Coalesce.Row}, "mode=Row"),
    ("GATHER-COM-07", "a5", {**SCRATCH, "exec": GatherExec.Simt}, {**INTO_L1, "exec": GatherExec.Simt}, "Simt"),
    ("GATHER-COM-07", "a2a3", {}, {**SCRATCH, "exec": GatherExec.Simt}, "Simt"),
    ("GATHER-COM-07", "cpu", {}, {"scratch": table("f32", 16, 16)}, "scratch"),
    (
        "GATHER-COM-08",
        "a2a3",
        {"dst": at(spec("f32", 8, 16), 0), "idx": at(spec("i32", 8, 16), 512)},
        {"dst": at(spec("f32", 8, 16), 0), "idx": at(spec("i32", 8, 16), 480)},
        "share memory",
    ),
    ("GATHER-CPU-01", "cpu", ROW, {**ROW, "idx": spec("i32", 16, 8, 1, 8, boxed=True)}, "Nz"),
    (
        "GATHER-CPU-02",
        "cpu",
        {**ROW, "idx": spec("i32", 8, 1, dn=True)},
        {**ROW, "idx": spec("i32", 8, 8, 8, 1)},
        "8x1 in a 8x8 ND tile",
    ),
    ("GATHER-CPU-02", "cpu", ROW, {**ROW, "idx": spec("i32", 1, 8, 1, 7)}, "7 valid elements for 8 rows"),
    ("GATHER-CPU-03", "cpu", {}, {"dst": spec("e4m3", 8, 32), "src": table("e4m3", 40, 32)}, "e4m3"),
    (
        "GATHER-CPU-03",
        "cpu",
        {"dst": spec("hif8", 8, 32), "src": table("hif8", 40, 32), "extended": True},
        {"dst": spec("e2m1", 8, 64), "src": table("e2m1", 40, 64), "extended": True},
        "e2m1",
    ),
    (
        "GATHER-CPU-04",
        "cpu",
        {"dst": spec("f32", 8, 16, 4, 12), "idx": spec("i32", 4, 16)},
        {"idx": spec("i32", 4, 16)},
        "4x16 elements for the 8x16",
    ),
    ("GATHER-CPU-04", "cpu", ROW, {"dst": spec("f32", 16, 16), **ROW, "idx": spec("i32", 1, 8)}, "8 elements for 16"),
    ("GATHER-A23-01", "a2a3", {}, {"dst": spec("hif8", 8, 32), "src": table("hif8", 40, 32)}, "hif8"),
    ("GATHER-A23-02", "a2a3", {}, {"dst": spec("f32", 16, 16, loc=TileType.Acc)}, "acc"),
    ("GATHER-A23-02", "a2a3", {}, {"idx": spec("i32", 8, 16, loc=TileType.Mat)}, "idx is a mat"),
    ("GATHER-A23-02", "a2a3", INTO_L1, {**ROW, "idx": INDICES}, "global memory"),
    ("GATHER-A23-03", "a2a3", ROW, {**ROW, "idx": spec("i32", 8, 1, dn=True)}, "DN"),
    ("GATHER-A23-04", "a2a3", NZ_ELEM, {**NZ_ELEM, "src": table("f32", 40, 16)}, "Nz with fractal 512, the table ND"),
    ("GATHER-A23-04", "a2a3", {}, {"src": table("f32", 40, 16, layout=Layout.DN)}, "ND, the table DN"),
    ("GATHER-A23-04", "a2a3", {}, {"dst": spec("f32", 8, 16, dn=True)}, "dst is DN"),
    ("GATHER-A23-05", "a2a3", {}, {"dst": spec("f32", 8, 4), "idx": spec("i32", 8, 4)}, "16 bytes"),
    (
        "GATHER-A23-06",
        "a2a3",
        NZ_ELEM,
        {**NZ_ELEM, "src": table("f32", 1, 4, 3, 16, 16, layout=Layout.NZ)},
        "16x16, not 16x8",
    ),
    ("GATHER-A23-06", "a2a3", NZ_ELEM, {**NZ_ELEM, "dst": spec("f32", 8, 32, boxed=True)}, "8x32"),
    (
        "GATHER-A23-06",
        "a2a3",
        {**NZ, **ROW},
        {**NZ, **ROW, "dst": spec("f32", 16, 16, 8, 16, boxed=True)},
        "32 columns, dst 16",
    ),
    ("GATHER-A23-07", "a2a3", ROW, {**ROW, "idx": spec("i32", 1, 8, 1, 7)}, "1x7"),
    ("GATHER-A23-08", "a2a3", {}, {"dst": spec("f32", 8, 16, 8, 15)}, "8x15"),
    ("GATHER-A23-09", "a2a3", INTO_L1, {**INTO_L1, "dst": spec("f32", 16, 16, loc=TileType.Mat)}, "ND"),
    ("GATHER-A23-09", "a2a3", INTO_L1, {**INTO_L1, "idx": spec("i32", 1, 16)}, "idx a tile"),
    ("GATHER-A23-09", "a2a3", INTO_L1, {**INTO_L1, "dst": l1("f32", 24, 16)}, "24x16"),
    ("GATHER-A23-09", "a2a3", INTO_L1, {**INTO_L1, "src": table("f32", 40, 16, layout=Layout.DN)}, "DN"),
    ("GATHER-A23-10", "a2a3", SCRATCH, {**SCRATCH, "scratch": table("f32", 15, 16)}, "240 elements"),
    ("GATHER-A23-10", "a2a3", SCRATCH, {**SCRATCH, "scratch": table("i32", 16, 16)}, "i32"),
    ("GATHER-A5-01", "a5", {}, {"dst": spec("i64", 8, 16), "src": table("i64", 40, 16)}, "i64"),
    ("GATHER-A5-01", "a5", {"dst": spec("e5m2", 8, 16)}, {"dst": spec("e8m0", 8, 16)}, "e8m0"),
    ("GATHER-A5-02", "a5", {}, {"dst": spec("f32", 8, 16, loc=TileType.Bias)}, "bias"),
    ("GATHER-A5-03", "a5", {**ROW, "idx": spec("i32", 8, 1, dn=True)}, {**ROW, "idx": spec("i32", 1, 8, 1, 6)}, "1x6"),
    ("GATHER-A5-04", "a5", ROW, {**ROW, "src": table("f32", 40, 32)}, "32 elements, dst 16"),
    ("GATHER-A5-05", "a5", {}, {"dst": spec("f32", 8, 16, 8, 15)}, "8x15"),
    (
        "GATHER-A5-06",
        "a5",
        {"dst": spec("f32", 8, 16, -1, 16), "idx": spec("i32", 8, 16, -1, 16)},
        {"dst": spec("f32", 8, 16, -1, 16)},
        "8x16, dst asks for ?x16",
    ),
    (
        "GATHER-A5-06",
        "a5",
        {**ROW, "dst": spec("f32", 8, 16, -1, 16), "idx": spec("i32", 1, 8, 1, -1)},
        {**ROW, "idx": spec("i32", 1, 8, 1, -1)},
        "1x?, dst asks for 1x8 or 8x1",
    ),
    ("GATHER-A5-07", "a5", {}, {"src": table("f32", 40, 16, stride=(19, 1))}, "stride 19 of the table's dimension 3"),
    ("GATHER-A5-07", "a5", {"src": table("f32", 40, 1, layout=Layout.DN)}, {"src": NZ["src"]}, "NZ"),
    ("GATHER-A5-08", "a5", {"dst": spec("f32", 8, 16, dn=True)}, {"dst": spec("f32", 16, 16, 8, 16, boxed=True)}, "Nz"),
    ("GATHER-A5-09", "a5", INTO_L1, {**INTO_L1, "dst": spec("f32", 16, 16, loc=TileType.Mat)}, "ND"),
    ("GATHER-A5-09", "a5", SCRATCH, {**SCRATCH, "scratch": table("f32", 15, 16)}, "240 elements"),
    (
        "GATHER-A5-10",
        "a5",
        {"dst": spec("f32", 128, 128), "idx": spec("i32", 128, 128)},
        {"dst": spec("f32", 256, 128), "idx": spec("i32", 256, 128)},
        "262144 bytes",
    ),
    (
        "GATHER-A5-11",
        "a5",
        {"dst": spec("f32", 128, 128), "idx": spec("i32", 128, 128)},
        {"dst": spec("f32", 192, 128), "idx": spec("i32", 192, 128)},
        "196608 bytes",
    ),
    (
        "GATHER-A5-12",
        "a5",
        {**ROW, "idx": spec("i32", 8, 1, dn=True)},
        {**ROW, "idx": spec("i32", 8, 8, 8, 1)},
        "8x1 in a 8x8 ND tile",
    ),
    ("GA-1", "a2a3", {}, {"dst": spec("e4m3", 8, 32)}, "e4m3"),
    ("GA-2", "a5", {}, {"src": ScalarInfo("m", "memref<*xf32>")}, "memref<*xf32>"),
    ("GA-3", "a5", {}, {"dst": spec("f32", 8, 16, dn=True)}, "DN"),
    ("GA-3", "a5", {}, {"idx": INDICES, "dst": l1("f32", 24, 16)}, "not whole boxes"),
    ("GA-4", "a5", {}, {"dst": spec("i64", 8, 16)}, "i64"),
    ("GA-5", "a5", {}, {"idx": spec("u32", 8, 16)}, "u32"),
    ("GA-5", "a2a3", {}, {"dst": l1("f32", 32, 16)}, "from global memory"),
    ("GA-6", "a5", {}, {"src": table("i32", 40, 16)}, "i32"),
    ("GA-7", "a5", {"src": table("f32", 40, 16, layout=None)}, {"src": NZ["src"]}, "NZ"),
    ("GA-8", "a5", {}, {"idx": spec("i32", 8, 8)}, "8x8, dst in 8x16"),
    ("GA-9", "a5", {}, {"mode": None}, "coalesce is missing"),
]

AT_RUN_TIME = {"GATHER-COM-06"}  # tests/isa/test_gather.py


@each("case", CASES, ids=[f"{c[0]}-{c[1]}-{i}" for i, c in enumerate(CASES)])
def test_rule(case: Case) -> None:
    rule, on, good, bad, words = case
    assert rule == "GA-1" or rule not in broken(gather_site(on, **good))
    found = broken(gather_site(on, **bad))
    assert rule in found, found
    assert words in found[rule]
    assert on in CATALOGUE[rule].targets


def test_every_rule_is_tested() -> None:
    ids = {i for i in CATALOGUE if i.startswith(("GATHER-", "GA-"))}
    assert ids == {c[0] for c in CASES} | AT_RUN_TIME


@each("on", ["cpu", "a2a3", "a5"])
@each("changes", [{}, ROW], ids=["elements", "rows"])
def test_legal_calls_break_nothing(on: str, changes: dict) -> None:
    errors = {i for i in broken(gather_site(on, **changes)) if not i.startswith("GA-")}
    assert errors == set()


@each("on", DEVICES)
@each("changes", [INTO_L1, SCRATCH], ids=["rows", "elements"])
def test_legal_calls_into_l1_break_nothing(on: str, changes: dict) -> None:
    assert {i for i in broken(gather_site(on, **changes)) if not i.startswith("GA-")} == set()


@each("changes", [NZ_ELEM, {**NZ, **ROW}], ids=["elements", "rows"])
def test_legal_nz_calls_break_nothing(changes: dict) -> None:
    assert {i for i in broken(gather_site("a2a3", **changes)) if not i.startswith("GA-")} == set()


def test_unknown_sizes_pass() -> None:
    """A table of unknown shape and layout, a destination of unknown size: nothing can be said yet."""
    unknown = (UNKNOWN,) * 5
    view = table("f32", 40, 16)
    view = type(view)("t", view.dtype, unknown, unknown, None)
    dynamic = {"dst": spec("f32", 8, 16, -1, -1), "idx": spec("i32", 8, 16, -1, -1)}
    for on in ("cpu", "a2a3", "a5"):
        assert {i for i in broken(gather_site(on, src=view, **dynamic)) if not i.startswith("GA-")} == set()


def test_severities() -> None:
    warnings = {i for i in CATALOGUE if i.startswith("GATHER-") and CATALOGUE[i].severity is Severity.WARNING}
    assert warnings == {"GATHER-COM-02", "GATHER-COM-04", "GATHER-A5-11", "GATHER-A5-12"}


def test_operands_of_another_kind_are_reported_once() -> None:
    """The text reader lets any value through; the rules that look at tiles stay silent."""
    found = broken(gather_site("a5", dst=ScalarInfo("d", "!pto.foo")))
    assert set(found) == {"GA-2"}
