"""Every rule of TINSERT: a site that passes, one that breaks it, and what the message names."""

from __future__ import annotations

import pytest

from ptokit.diagnostics import CATALOGUE

from .move_cases import messages, site

ALL = ("cpu", "a2a3", "a5")
DEVICES = ("a2a3", "a5")
ACC = "mat f16 48x96 Nz <- acc f32 16x32 Nz"
VEC = "vec f16 6x64 ND <- vec f16 4x32 ND"
NZ = "vec f16 48x48 Nz <- vec f16 16x16 Nz"
MAT = "mat f16 48x48 Nz <- vec f16 16x16 Nz"

CASES = [
    (
        "INS-COM-01",
        "TINSERT",
        ALL,
        ACC + "; row=32; col=64",
        ACC + "; row=33; col=0",
        "rows [33, 49) leave the 48 rows",
    ),
    ("INS-COM-01", "TINSERT", ALL, VEC + "; row=?; col=?", VEC + "; row=0; col=-16", "col is -16"),
    (
        "INS-COM-01",
        "TINSERT",
        ("a5",),
        "mat f16 16x32 Nz <- acc f32 32x32[16x32] Nz; row=0; col=0",
        "mat f16 16x32 Nz <- acc f32 32x32[17x32] Nz; row=0; col=0",
        "rows [0, 17)",
    ),
    (  # a2a3 moves all rows of the accumulator
        "INS-COM-01",
        "TINSERT",
        ("a2a3",),
        "mat f16 32x32 Nz <- acc f32 32x32[16x32] Nz; row=0; col=0",
        "mat f16 16x32 Nz <- acc f32 32x32[16x32] Nz; row=0; col=0",
        "rows [0, 32)",
    ),
    (
        "INS-COM-01",
        "TINSERT",
        ("cpu",),
        "vec f16 6x64[5x64] ND <- vec f16 4x32 ND; row=1; col=0",
        "vec f16 6x64[5x64] ND <- vec f16 4x32 ND; row=2; col=0",
        "rows [2, 6) leave the 5 rows",
    ),
    (
        "INS-COM-01",
        "TINSERT",
        ("a5",),
        "vec f32 16x64 ND <- acc f32 32x64 Nz; row=0; col=0; mode=DualModeSplitM",
        "vec f32 16x64 ND <- acc f32 32x64 Nz; row=0; col=0; mode=SingleModeVec0",
        "rows [0, 32)",
    ),
    (
        "INS-COM-02",
        "TINSERT",
        ALL,
        VEC + "; row=0; col=0",
        "vec f32 8x64 ND <- vec f16 4x32 ND; row=0; col=0",
        "type f16",
    ),
    ("INS-COM-02", "TINSERT", ALL, ACC + "; row=0; col=0", VEC + "; row=0; col=0; quant=0", "word needs an acc source"),
    (
        "INS-COM-02",
        "TINSERT",
        DEVICES,
        ACC + "; row=0; col=0",
        "mat i16 48x96 Nz <- acc f32 16x32 Nz; row=0; col=0",
        "f32 to i16 cannot be moved",
    ),
    (
        "INS-COM-02",
        "TINSERT_FP",
        ALL,
        "mat i8 48x96 Nz <- acc i32 16x32 Nz; fp=scaling u64 1x32 ND; row=0; col=64",
        "mat i8 48x96 Nz <- acc i32 16x32 Nz; fp=scaling u64 1x32[1x31] ND; row=0; col=64",
        "fp has 31 valid columns",
    ),
    (
        "INS-COM-03",
        "TINSERT",
        DEVICES,
        ACC + "; row=0; col=0",
        "left f16 16x16 Nz <- vec f16 16x16 Nz; row=0; col=0",
        "vec to left",
    ),
    ("INS-COM-03", "TINSERT", ("a2a3",), NZ + "; row=0; col=0", MAT + "; row=0; col=0", "does not insert vec to mat"),
    (
        "INS-COM-03",
        "TINSERT",
        ("a2a3",),
        NZ + "; row=0; col=0",
        NZ.replace("Nz", "DN") + "; row=0; col=0",
        "DN into DN",
    ),
    (
        "INS-COM-03",
        "TINSERT",
        ("a2a3",),
        ACC + "; row=0; col=0",
        ACC + "; row=0; col=0; mode=SingleModeVec0",
        "AccToVecMode",
    ),
    (
        "INS-COM-03",
        "TINSERT",
        ("a5",),
        MAT + "; row=0; col=0",
        "mat f16 48x48 ND <- vec f16 16x16 Nz; row=0; col=0",
        "Nz into ND; vec to mat keeps ND, Nz, Zn and Zz, or puts ND into Nz",
    ),
    (
        "INS-CPU-02",
        "TINSERT",
        ("cpu",),
        VEC + "; row=0; col=0",
        "vec e4m3 8x64 ND <- vec e4m3 8x32 ND; row=0; col=0",
        "element type e4m3",
    ),
    (
        "INS-A23-01",
        "TINSERT",
        ("a2a3",),
        ACC + "; row=0; col=0",
        ACC.replace("96 Nz", "96 ND") + "; row=0; col=0",
        "layout ND",
    ),
    (
        "INS-A23-01",
        "TINSERT",
        ("a2a3",),
        ACC + "; row=0; col=0",
        ACC.replace("96 Nz", "96 Nz1024") + "; row=0; col=0",
        "fractal=1024",
    ),
    (
        "INS-A23-02",
        "TINSERT",
        ("a2a3",),
        VEC + "; row=0; col=16",
        VEC + "; row=0; col=10",
        "col 10 of f16 is not at 32",
    ),
    ("INS-A23-02", "TINSERT", ("a2a3",), NZ + "; row=16; col=32", NZ + "; row=8; col=32", "(8, 32) is not a corner"),
    (
        "INS-A23-02",
        "TINSERT",
        ("a2a3",),
        VEC + "; row=0; col=0",
        "vec u64 6x8 ND <- vec u64 4x4 ND; row=0; col=0",
        "element type u64",
    ),
    (
        "INS-A5-01",
        "TINSERT",
        ("a5",),
        VEC + "; row=0; col=0",
        "vec u8 6x64 ND <- vec u8 4x32 ND; row=0; col=0",
        "element type u8 is not inserted",
    ),
    (
        "INS-A5-02",
        "TINSERT",
        ("a5",),
        "vec f16 48x96 DN <- acc f32 16x32 Nz; row=0; col=0",
        "mat f16 48x96 ND <- acc f32 16x32 Nz; row=0; col=0",
        "acc to mat writes Nz",
    ),
    (
        "INS-A5-02",
        "TINSERT",
        ("a5",),
        "vec f32 48x96 ND <- acc f32 16x32 Nz; row=0; col=0; mode=DualModeSplitN",
        "vec f32 48x96 DN <- acc f32 16x32 Nz; row=0; col=0; mode=DualModeSplitN",
        "does not write a DN tile",
    ),
    (
        "INS-A5-02",
        "TINSERT",
        ("a5",),
        "vec f32 48x96 Nz <- acc f32 16x32 Nz; row=0; col=0",
        "vec f32 48x96 Zz <- acc f32 16x32 Nz; row=0; col=0",
        "acc to vec writes ND, DN or Nz",
    ),
    (
        "INS-A5-03",
        "TINSERT",
        ("a5",),
        "mat f16 48x48 Zn <- vec f16 16x16 Zn; row=16; col=0",
        "mat f16 48x48 Zn <- vec f16 16x16 Zn; row=8; col=0",
        "row 8 and 16 valid rows; both must be multiples of 16",
    ),
    (
        "INS-A5-04",
        "TINSERT",
        ("a5",),
        VEC + "; row=0; col=5",
        "vec f16 48x48 Nz <- vec f16 16x16 ND; row=0; col=0",
        "ND into Nz",
    ),
    (
        "INS-A5-04",
        "TINSERT",
        ("a5",),
        NZ + "; row=0; col=0",
        "vec f16 48x48 Nz <- vec f16 16x64[16x16] Nz; row=0; col=0",
        "src is 16x64, larger than dst of 48x48",
    ),
    (
        "INS-A5-05",
        "TINSERT",
        ("cpu", "a5"),
        MAT + "; row=0; col=0; split=SPLIT4",
        NZ + "; row=0; col=0; split=SPLIT2",
        "SPLIT2 is for a vec tile in Nz into mat; this is vec to vec",
    ),
    (
        "INS-A5-06",
        "TINSERT",
        ("a5",),
        "mat f16 8x64 ND <- vec f16 4x32 ND; row=0; col=0",
        "mat f16 8x64 ND <- vec f16 4x32[4x24] ND; row=0; col=0",
        "24 columns of f16 are no whole 32-byte blocks",
    ),
    (  # equally wide tiles go as one line
        "INS-A5-06",
        "TINSERT",
        ("a5",),
        "mat f16 8x48 ND <- vec f16 4x48 ND; row=4; col=0",
        "mat f16 8x48 ND <- vec f16 4x48[4x40] ND; row=4; col=0",
        "40 columns of f16",
    ),
    ("IN-1", "TINSERT", DEVICES, ACC + "; row=32; col=0", ACC + "; row=33; col=0", "rows [33, 49)"),
    ("IN-1", "TINSERT", DEVICES, ACC + "; row=0; col=0", ACC + "; row=-1; col=0", "row is -1"),
    (
        "IN-2",
        "TINSERT",
        ("a2a3",),
        VEC + "; row=0; col=0",
        "mat f16 48x48 Nz <- vec f16 16x16 Nz; row=0; col=0",
        "vec to mat is not",
    ),
    ("IN-2", "TINSERT", ("a2a3",), ACC + "; row=0; col=0", ACC.replace("f16", "i8") + "; row=0; col=0", "f32 to i8"),
    ("IN-2", "TINSERT", ("a2a3",), ACC + "; row=0; col=0", ACC.replace("96 Nz", "96 ND") + "; row=0; col=0", "dst is"),
    (
        "IN-2",
        "TINSERT",
        ("a2a3",),
        ACC + "; row=0; col=0",
        ACC.replace("96 Nz", "96 Nz1024") + "; row=0; col=0",
        "1024",
    ),
    (
        "IN-3",
        "TINSERT",
        ("a5",),
        MAT + "; row=0; col=0",
        "left f16 16x16 Nz <- mat f16 16x16 Nz; row=0; col=0",
        "mat to left is not",
    ),
    (
        "IN-3",
        "TINSERT",
        ("a5",),
        ACC + "; row=0; col=0",
        ACC.replace("96 Nz", "96 ND") + "; row=0; col=0",
        "dst has layout ND",
    ),
    (
        "IN-3",
        "TINSERT",
        ("a5",),
        VEC + "; row=0; col=0",
        "vec f32 8x64 ND <- vec f16 4x32 ND; row=0; col=0",
        "type f16",
    ),
]
NOTES = {"INS-CPU-01"}


@pytest.mark.parametrize("case", CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_rule_holds_and_breaks(case):
    rule, name, targets, good, bad, words = case
    for on in targets:
        assert rule not in messages(site(name, on, good)), on
        found = messages(site(name, on, bad))
        assert words in found.get(rule, ""), (on, found)


def test_every_rule_has_a_case():
    ids = {i for i in CATALOGUE if i.startswith(("INS-", "IN-"))}
    assert ids - {c[0] for c in CASES} == NOTES
    assert all(CATALOGUE[i].check is None and CATALOGUE[i].why for i in NOTES)


@pytest.mark.parametrize("rule", sorted({c[0] for c in CASES}))
def test_rules_apply_to_the_targets_of_their_cases_only(rule):
    assert {on for c in CASES if c[0] == rule for on in c[2]} == set(CATALOGUE[rule].targets)
