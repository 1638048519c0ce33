"""Every rule of TEXTRACT: a site that passes, one that breaks it, and what the message names."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.diagnostics import CATALOGUE
from ptokit.machine.lanes import Fault
from tests.each import each

from .move_cases import messages, run, site

ALL = ("cpu", "a2a3", "a5")
DEVICES = ("a2a3", "a5")
LEFT3 = "left f16 16x16 Zz <- mat f16 48x32 Nz"
LEFT5 = "left f16 16x16 Nz <- mat f16 48x32 Nz"
VEC = "vec f16 6x32 ND <- vec f16 11x64 ND"
NZ = "vec f16 16x16 Nz <- vec f16 48x48 Nz"
ACC = "mat i8 16x32 Nz <- acc i32 32x96 Nz"
TWO = "vec f16 16x32 Nz + vec f16 16x16 Nz <- vec f16 32x64 ND"
AT = "row0=0; col0=0; row1=16; col1=48"

CASES = [
    ("EXTR-COM-01", "TEXTRACT", ALL, VEC + "; row=5; col=32", VEC + "; row=-1; col=0", "row is -1, not 0 to 65535"),
    ("EXTR-COM-01", "TEXTRACT", ALL, VEC + "; row=?; col=?", VEC + "; row=0; col=65536", "col is 65536"),
    ("EXTR-COM-02", "TEXTRACT", ALL, VEC + "; row=5; col=0", VEC + "; row=6; col=0", "rows [6, 12) leave the 11 rows"),
    ("EXTR-COM-02", "TEXTRACT", ALL, VEC + "; row=0; col=32", VEC + "; row=0; col=48", "columns [48, 80) leave the 64"),
    (  # of a mat source the whole of dst is read
        "EXTR-COM-02",
        "TEXTRACT",
        ("a5",),
        "left f16 16x16[8x16] Nz <- mat f16 48x32 Nz; row=32; col=16",
        "left f16 32x16[8x16] Nz <- mat f16 48x32 Nz; row=32; col=16",
        "rows [32, 64) leave the 48 rows",
    ),
    (  # cpu compares what is valid
        "EXTR-COM-02",
        "TEXTRACT",
        ("cpu",),
        "left f16 32x16[8x16] Nz <- mat f16 48x32[40x32] Nz; row=32; col=16",
        "left f16 32x16[8x16] Nz <- mat f16 48x32[32x32] Nz; row=32; col=16",
        "rows [32, 40) leave the 32 rows",
    ),
    (
        "EXTR-COM-03",
        "TEXTRACT",
        ALL,
        "mat f16 32x32 Nz <- acc f32 32x32 Nz; row=0; col=0",
        "vec f32 8x8 ND <- vec f16 8x16 ND; row=0; col=0",
        "src has element type f16, dst has f32",
    ),
    ("EXTR-COM-04", "TEXTRACT", ALL, VEC + "; row=0; col=0", VEC + "; row=0; col=0; relu", "relu needs an acc source"),
    (
        "EXTR-COM-04",
        "TEXTRACT",
        DEVICES,
        f"{ACC}; row=0; col=0; quant={1 << 46}",
        "mat i16 16x32 Nz <- acc f32 32x96 Nz; row=0; col=0; quant=0",
        "f32 to i16 cannot be quantised",
    ),
    ("EXTR-COM-04", "TEXTRACT", ALL, VEC + "; row=0; col=0", f"{ACC}; row=0; col=0; quant=0", "i8 needs it set"),
    (
        "EXTR-COM-04",
        "TEXTRACT_FP",
        ALL,
        ACC + "; row=0; col=32; fp=scaling u64 1x64 ND",
        ACC + "; row=0; col=64; fp=scaling u64 1x64 ND",
        "fp has 64 valid columns, 96 are needed",
    ),
    (
        "EXTR-COM-04",
        "TEXTRACT_FP",
        ALL,
        ACC + "; row=0; col=0; fp=scaling u64 1x32 ND",
        ACC + "; row=0; col=0; fp=vec u64 1x32 ND",
        "fp is a vec tile",
    ),
    (
        "EXTR-COM-04",
        "TEXTRACT",
        ("a2a3",),
        f"{ACC}; row=0; col=0; quant={1 << 46}",
        f"mat i8 16x32 Nz1024 <- acc i32 32x96 Nz; row=0; col=0; quant={1 << 46}",
        "fractal=1024",
    ),
    (
        "EXTR-COM-05",
        "TEXTRACT",
        DEVICES,
        VEC + "; row=0; col=0",
        "left f16 8x16 Nz <- vec f16 8x16 ND; row=0; col=0",
        "vec to left",
    ),
    (
        "EXTR-COM-05",
        "TEXTRACT",
        DEVICES,
        "mat f16 32x32 Nz <- acc f32 32x32 Nz; row=0; col=0",
        "mat f16 32x32 ND <- acc f32 32x32 Nz; row=0; col=0",
        "acc to mat writes Nz",
    ),
    (
        "EXTR-COM-05",
        "TEXTRACT",
        DEVICES,
        NZ + "; row=0; col=0",
        "vec f16 16x16 DN <- vec f16 48x48 DN; row=0; col=0",
        "DN to DN between vec tiles",
    ),
    (
        "EXTR-COM-05",
        "TEXTRACT",
        ALL,
        "right f16 16x16 Zn <- conv FRACTAL_Z f16 1x2x2x48x16; row=48; col=32",
        "right f16 16x16 Zn <- conv FRACTAL_Z f16 1x2x2x48x16; row=56; col=32",
        "rows [56, 72) leave the 64 rows",
    ),
    ("EXTR-CPU-01", "TEXTRACT2", ("cpu",), None, f"{TWO}; {AT}", "two destinations"),
    (
        "EXTR-CPU-02",
        "TEXTRACT",
        ("cpu",),
        "left f16 16x16 Nz <- mat f16 16x16 Nz; row=0; col=0",
        "left e4m3 16x32 Nz <- mat e4m3 16x32 Nz; row=0; col=0",
        "element type e4m3",
    ),
    (
        "EXTR-A23-01",
        "TEXTRACT",
        ("a2a3",),
        LEFT3 + "; row=0; col=0",
        "left u8 16x32 Zz <- mat u8 32x32 Nz; row=0; col=0",
        "element type u8 is not extracted mat to left",
    ),
    (
        "EXTR-A23-02",
        "TEXTRACT",
        ("a2a3",),
        LEFT3 + "; row=16; col=16",
        LEFT3 + "; row=8; col=0",
        "row: 8 is not a multiple of 16",
    ),
    (
        "EXTR-A23-02",
        "TEXTRACT",
        ("a2a3",),
        LEFT3 + "; row=0; col=0",
        LEFT3.replace("Zz", "Nz") + "; row=0; col=0",
        "is Zz",
    ),
    (
        "EXTR-A23-02",
        "TEXTRACT",
        ("a2a3",),
        "left i8 32x32 Zz <- mat i8 64x64 Zn; row=32; col=0",
        "left i8 32x32 Zz <- mat i8 64x64 Zn; row=16; col=0",
        "row: 16 is not a multiple of 32",
    ),
    (
        "EXTR-A23-02",
        "TEXTRACT",
        ("a2a3",),
        "left f16 1x256 Zz <- mat f16 1x512 ND; row=0; col=256",
        "left f16 1x256 Zz <- mat f16 1x512 ND; row=0; col=128",
        "col: 128 elements of f16 are no whole fractals",
    ),
    (
        "EXTR-A23-02",
        "TEXTRACT",
        ("a2a3",),
        LEFT3 + "; row=0; col=0",
        "left f16 16x16 Zz <- mat f16 48x32 ND; row=0; col=0",
        "src has layout ND",
    ),
    (
        "EXTR-A23-03",
        "TEXTRACT",
        ("a2a3",),
        "right i8 64x32 Zn <- mat i8 96x96 Zn; row=32; col=16",
        "right i8 64x32 Zn <- mat i8 96x96 Zn; row=16; col=0",
        "row: 16 is not a multiple of 32",
    ),
    (
        "EXTR-A23-04",
        "TEXTRACT",
        ("a2a3",),
        "vec u16 8x16 ND <- vec u16 8x16 ND; row=0; col=0",
        "vec u64 8x4 ND <- vec u64 8x4 ND; row=0; col=0",
        "element type u64",
    ),
    (
        "EXTR-A23-05",
        "TEXTRACT",
        ("a2a3",),
        VEC + "; row=4; col=16",
        VEC + "; row=4; col=10",
        "col 10 of f16 is not at 32 bytes",
    ),
    (
        "EXTR-A23-05",
        "TEXTRACT",
        ("a2a3",),
        "vec i8 2x32[2x6] ND <- vec i8 6x96 ND; row=0; col=0",
        "vec i8 2x32[2x5] ND <- vec i8 6x96 ND; row=0; col=0",
        "5 columns of i8 are an odd number of bytes",
    ),
    (
        "EXTR-A23-05",
        "TEXTRACT",
        ("a2a3",),
        "vec i8 2x32[1x1] ND <- vec i8 6x96 ND; row=0; col=5",
        "vec i8 8x32[2x2] ND <- vec i8 6x96 ND; row=0; col=0",
        "8x32 is larger than the tile of 6x96",
    ),
    ("EXTR-A23-06", "TEXTRACT", ("a2a3",), NZ + "; row=16; col=16", NZ + "; row=8; col=16", "(8, 16) is not a corner"),
    (
        "EXTR-A23-06",
        "TEXTRACT",
        ("a2a3",),
        NZ + "; row=0; col=0",
        "vec f16 8x16 Nz <- vec f16 48x48 Nz; row=0; col=0",
        "8x16 of f16 are no whole boxes",
    ),
    ("EXTR-A23-07", "TEXTRACT2", ("a2a3",), f"{TWO}; {AT}", f"{TWO.replace('f16', 'u8')}; {AT}", "element type u8"),
    (
        "EXTR-A23-07",
        "TEXTRACT2",
        ("a2a3",),
        f"{TWO}; {AT}",
        f"vec f16 16x32 Nz+1 + vec f16 16x16 Nz <- vec f16 32x64 ND; {AT}",
        "dst0 has compact=row_plus_one",
    ),
    (
        "EXTR-A5-01",
        "TEXTRACT",
        ("a5",),
        "left e4m3 16x32 Nz <- mat e4m3 32x32 Nz; row=0; col=0",
        "left u8 16x32 Nz <- mat u8 32x32 Nz; row=0; col=0",
        "element type u8",
    ),
    (
        "EXTR-A5-01",
        "TEXTRACT",
        ("a5",),
        "scaleleft e8m0 16x2 Zz32 <- mat e8m0 32x4 Zz32; row=16; col=2",
        "mat e8m0 16x32 ND <- vec e8m0 16x32 ND; row=0; col=0",
        "element type e8m0",
    ),
    (
        "EXTR-A5-02",
        "TEXTRACT",
        ("a5",),
        LEFT5 + "; row=16; col=16",
        LEFT5 + "; row=16; col=8",
        "col: 8 is not a multiple of 16",
    ),
    ("EXTR-A5-02", "TEXTRACT", ("a5",), LEFT5 + "; row=0; col=0", LEFT3 + "; row=0; col=0", "a left tile of a5 is Nz"),
    (
        "EXTR-A5-02",
        "TEXTRACT",
        ("a5",),
        "scaleright e8m0 2x16 Nn32 <- mat e8m0 4x32 Nn32; row=2; col=16",
        "scaleright e8m0 2x16 Nn32 <- mat e8m0 16x4 Zz32; row=0; col=0",
        "layout Zz; mat to scale_right takes Nn",
    ),
    (
        "EXTR-A5-03",
        "TEXTRACT",
        ("a5",),
        "vec i16 8x16 ND <- vec i16 8x16 ND; row=0; col=0",
        "vec u64 8x4 ND <- vec u64 8x4 ND; row=0; col=0",
        "element type u64",
    ),
    (
        "EXTR-A5-03",
        "TEXTRACT",
        ("a5",),
        "vec e2m1 8x64 ND <- vec e2m1 8x128 ND; row=0; col=64",
        "vec e2m1 8x64 ND <- vec e2m1 8x128 ND; row=0; col=32",
        "col: 32 elements of e2m1",
    ),
    (
        "EXTR-A5-04",
        "TEXTRACT",
        ("a5",),
        NZ + "; row=0; col=0",
        "vec f16 16x64[16x16] Nz <- vec f16 48x48 Nz; row=0; col=0",
        "dst has 64 columns, src 48",
    ),
    (
        "EXTR-A5-05",
        "TEXTRACT",
        ("a5",),
        "vec f32 16x32 ND <- acc f32 32x32 Nz; row=16; col=0",
        "vec f32 16x32 Nz <- acc f32 32x32 Nz; row=16; col=0",
        "dst has layout Nz",
    ),
    (
        "EXTR-A5-05",
        "TEXTRACT",
        ("a5",),
        "vec f32 32x64 ND <- acc f32 32x64 Nz; row=0; col=0; mode=DualModeSplitN",
        "vec f32 32x48 ND <- acc f32 32x48 Nz; row=0; col=0; mode=DualModeSplitN",
        "48 columns are split in two; they must be a multiple of 32",
    ),
    (
        "EXTR-A5-05",
        "TEXTRACT",
        ("a5",),
        "vec f32 32x64 ND <- acc f32 32x64 Nz; row=0; col=0; mode=DualModeSplitM",
        "vec f16 32x64 ND <- acc f32 32x64 Nz; row=0; col=0; mode=DualModeSplitM",
        "DualModeSplitM does not convert",
    ),
    (
        "EXTR-A5-06",
        "TEXTRACT",
        ("a5",),
        NZ + "; row=0; col=0",
        "vec f16 16x16 Nz <- vec f16 48x48 ND; row=0; col=0",
        "ND to Nz",
    ),
    (
        "EXTR-PAIR-01",
        "TEXTRACT2",
        ALL,
        f"{TWO}; {AT}",
        f"{TWO}; {AT.replace('48', '49')}",
        "window 1: columns [49, 65)",
    ),
    ("EXTR-PAIR-01", "TEXTRACT2", ALL, f"{TWO}; {AT}", f"{TWO}; {AT.replace('row0=0', 'row0=-1')}", "row0 is -1"),
    ("EXTR-PAIR-02", "TEXTRACT2", ALL, f"{TWO}; {AT}", f"{TWO.replace('ND', 'Nz')}; {AT}", "src is a vec tile in Nz"),
    (
        "EXTR-PAIR-02",
        "TEXTRACT2",
        ALL,
        f"{TWO}; {AT}",
        f"vec f16 16x32 Nz + vec bf16 16x16 Nz <- vec f16 32x64 ND; {AT}",
        "dst1 has element type bf16",
    ),
    (
        "EXTR-PAIR-03",
        "TEXTRACT2",
        ("a5",),
        f"{TWO}; {AT}",
        f"vec f16 16x32 Nz+1 + vec f16 16x16 Nz <- vec f16 32x64 ND; {AT}",
        "dst0: column blocks of 17 rows do not fit",
    ),
    ("EX-1", "TEXTRACT", DEVICES, LEFT5 + "; row=32; col=0", LEFT5 + "; row=33; col=0", "rows [33, 49) leave the 48"),
    ("EX-1", "TEXTRACT", DEVICES, LEFT5 + "; row=0; col=0", LEFT5 + "; row=0; col=-16", "col is -16"),
    (
        "EX-1",
        "TEXTRACT",
        DEVICES,
        LEFT5 + "; row=0; col=0",
        "vec f16 16x16 ND <- vec f32 16x16 ND; row=0; col=0",
        "type f32",
    ),
    (
        "EX-2",
        "TEXTRACT",
        ("a2a3",),
        VEC + "; row=0; col=0",
        "left f16 16x16 Zz <- vec f16 16x16 Nz; row=0; col=0",
        "vec to left is not",
    ),
    ("EX-2", "TEXTRACT", ("a2a3",), LEFT3 + "; row=0; col=0", LEFT5 + "; row=0; col=0", "a left tile is Zz"),
    (
        "EX-2",
        "TEXTRACT",
        ("a2a3",),
        LEFT3 + "; row=0; col=0",
        LEFT3.replace("48x32 Nz", "48x32 DN") + "; row=0; col=0",
        "src is",
    ),
    (
        "EX-2",
        "TEXTRACT",
        ("a2a3",),
        LEFT3 + "; row=0; col=0",
        "left u32 16x32 Zz <- mat u32 32x32 Nz; row=0; col=0",
        "element type u32",
    ),
    ("EX-2", "TEXTRACT", ("a2a3",), ACC + "; row=0; col=0; quant=1", ACC + "; row=0; col=0", "i32 to i8 is not f32"),
    ("EX-3", "TEXTRACT", ("a5",), VEC + "; row=0; col=0", NZ + "; row=0; col=0", "Nz to Nz between vec tiles"),
    ("EX-3", "TEXTRACT", ("a5",), LEFT5 + "; row=0; col=0", LEFT3 + "; row=0; col=0", "a left tile is Nz"),
    (
        "EX-3",
        "TEXTRACT",
        ("a5",),
        LEFT5 + "; row=0; col=0",
        "mat f16 16x16 Nz <- acc f16 16x16 Nz; row=0; col=0",
        "f16 to f16 is not f32 to f16",
    ),
]


@each("case", CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_rule_holds_and_breaks(case):
    rule, name, targets, good, bad, words = case
    for on in targets:
        if good is not None:
            assert rule not in messages(site(name, on, good)), on
        found = messages(site(name, on, bad))
        assert words in found.get(rule, ""), (on, found)


def test_every_rule_has_a_case():
    assert {i for i in CATALOGUE if i.startswith(("EXTR-", "EX-"))} == {c[0] for c in CASES}


@each("rule", sorted({c[0] for c in CASES}))
def test_rules_apply_to_the_targets_of_their_cases_only(rule):
    assert {on for c in CASES if c[0] == rule for on in c[2]} == set(CATALOGUE[rule].targets)


def test_two_windows_run_on_extended_cpu():
    assert messages(site("TEXTRACT2", "cpu", f"{TWO}; {AT}", extended=True)) == {}


def test_an_index_of_another_type_is_no_index():
    found = messages(site("TEXTRACT", "a5", LEFT5 + "; row=0; col=0", types="i32"))
    assert found == {"EX-1": "row has type i32, not index"}
    assert messages(site("TEXTRACT", "a5", LEFT5 + "; row=0; col=0", types="index")) == {}


def test_words_are_those_of_the_window():
    words = np.full(96, 0x40003F800000, np.uint64)
    words[:32] = 0
    text = ACC + "; row=0; col={}; fp=scaling u64 1x96 ND"
    run("TEXTRACT_FP", "a5", text.format(32), fp=words)
    with pytest.raises(Fault, match="column 0 has bit 46 clear") as fault:
        run("TEXTRACT_FP", "a5", text.format(0), fp=words)
    assert fault.value.rule == "EXTR-COM-04"
