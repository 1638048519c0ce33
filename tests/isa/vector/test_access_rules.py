"""Rules of loads and stores, kept and broken, and the ways of writing an operation (vector-path 2, 4, 8)."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module, print_module
from ptokit.diagnostics import DiagnosticError, Severity
from ptokit.sanitize import sanitize
from ptokit.targets import A5
from tests.each import each

from .programs import checked, read, run

HEAD = """func.func @k(%g: !pto.ptr<f32, gm>, %i: index) {
  %z = arith.constant 0 : i64
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %s = arith.constant 1 : i16
  %p = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %b = pto.castptr %z : i64 -> !pto.ptr<i8, ub>
  pto.vecscope {
  %v = pto.vlds %p[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
  %w = pto.vlds %p[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xi32>
  %h = pto.vlds %p[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<128xi16>
  %q = pto.vlds %b[%c0] : !pto.ptr<i8, ub> -> !pto.vreg<256xi8>
  %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
  %n = pto.pset_b16 "PAT_ALL" : !pto.mask<b16>
"""
LINE = HEAD.count("\n") + 1
P, V, M = "!pto.ptr<f32, ub>", "!pto.vreg<64xf32>", "!pto.mask<b32>"
N, W, H, Q = "!pto.mask<b16>", "!pto.vreg<64xi32>", "!pto.vreg<128xi16>", "!pto.vreg<256xi8>"


def program(line: str) -> str:
    return f"{HEAD}  {line}\n  }}\n  return\n}}"


CASES = [
    ("VEC-A5-01", "a5", f"%r = pto.vlds %p[%c0] : {P} -> {V}", f"%r = pto.vlds %p[%c0] : {P} -> !pto.vreg<32xf32>"),
    (
        "VEC-A5-01",
        "a5",
        f"%r = pto.vlds %p[%c0] : {P} -> {V}",
        f"%r = pto.vlds %p[%c0] : {P} -> !pto.vreg<512xf4E2M1FN>",
    ),
    ("PTR-A5-01", "a5", f"%r = pto.vlds %p[%c0] : {P} -> {V}", f"%r = pto.vlds %g[%c0] : !pto.ptr<f32, gm> -> {V}"),
    ("PTR-A5-01", "a5", f"pto.vsts %v, %p[%c0] : {V}, {P}", f"pto.vsts %v, %g[%c0] : {V}, !pto.ptr<f32, gm>"),
    (
        "VEC-A5-04",
        "a5",
        f'%r = pto.vlds %p[%c0] {{dist = "BRC_B32"}} : {P} -> {V}',
        f'%r = pto.vlds %p[%c0] {{dist = "INTLV_B32"}} : {P} -> {V}',
    ),
    (
        "VEC-A5-04",
        "a5",
        f'pto.vsts %v, %p[%c0] {{dist = "PK_B32"}} : {V}, {P}',
        f'pto.vsts %v, %p[%c0] {{dist = "BRC_B32"}} : {V}, {P}',
    ),
    (
        "VEC-A5-04",
        "a5",
        f'%r, %t = pto.vldsx2 %p[%c0], "BDINTLV" : {P}, index -> {V}, {V}',
        f'%r, %t = pto.vldsx2 %p[%c0], "NORM" : {P}, index -> {V}, {V}',
    ),
    (
        "VEC-A5-04",
        "a5",
        f'pto.vstsx2 %v, %v, %p[%c0], "INTLV_B32", %m : {V}, {V}, {P}, index, {M}',
        f'pto.vstsx2 %v, %v, %p[%c0], "DINTLV_B32", %m : {V}, {V}, {P}, index, {M}',
    ),
    ("VEC-A5-05", "a5", f"pto.vsts %v, %p[%c0], %m : {V}, {P}, {M}", f"pto.vsts %v, %p[%c0], %n : {V}, {P}, {N}"),
    (
        "VEC-A5-05",
        "a5",
        f'pto.vsts %h, %p[%c0], %m {{dist = "PK_B32"}} : {H}, {P}, {M}',
        f'pto.vsts %h, %p[%c0], %n {{dist = "PK_B32"}} : {H}, {P}, {N}',
    ),
    (
        "VEC-A5-05",
        "a5",
        f"%r = pto.vgather2 %p, %w, %m : {P}, {W}, {M} -> {V}",
        f"%r = pto.vgather2 %p, %w, %n : {P}, {W}, {N} -> {V}",
    ),
    (
        "VEC-A5-05",
        "a5",
        f"%r = pto.vgatherb %p, %w, %m : {P}, {W}, {M} -> {H}",
        f"%r = pto.vgatherb %p, %w, %n : {P}, {W}, {N} -> {H}",
    ),
    (
        "VEC-A5-06",
        "a5",
        f'%r, %t = pto.vldsx2 %p[%c0], "BDINTLV" : {P}, index -> {V}, {V}',
        f'%r, %t = pto.vldsx2 %p[%c0], "BDINTLV" : {P}, index -> {V}, {W}',
    ),
    ("VEC-A5-06", "a5", f"%r = pto.vsld %p[%c0] : {P} -> {V}", f"pto.vsld %v, %p[%c0] : {V}, {P}"),
    (
        "VEC-A5-07",
        "cpu",
        f"%r = pto.vlds %p[%c0] : {P} -> {V}",
        f"%r = pto.vlds %p[%c0] : {P} -> !pto.vreg<256xf8E4M3FN>",
    ),
    (
        "VEC-A5-07",
        "a5",
        f"pto.vscatter %v, %p, %w, %m : {V}, {P}, {W}, {M}",
        f"%k = pto.vlds %p[%c0] : {P} -> !pto.vreg<32xi64> "
        f"pto.vscatter %k, %p, %k, %m : !pto.vreg<32xi64>, {P}, !pto.vreg<32xi64>, {M}",
    ),
    (
        "VEC-A5-08",
        "a5",
        f'pto.vsts %q, %b[%c0] {{dist = "NORM_B8"}} : {Q}, !pto.ptr<i8, ub>',
        f'pto.vsts %q, %b[%c0] {{dist = "MRG4CHN_B8"}} : {Q}, !pto.ptr<i8, ub>',
    ),
    ("VEC-A5-09", "a5", f"%r = pto.vsld %p[%c0] : {P} -> {V}", f'%r = pto.vsld %p[%c0], "STRIDE_S3_B16" : {P} -> {V}'),
    (
        "VEC-A5-11",
        "a5",
        f"%r = pto.vgather2 %p, %w, %m : {P}, {W}, {M} -> {V}",
        f"%r = pto.vgather2 %p, %h, %m : {P}, {H}, {M} -> {V}",
    ),
    (
        "VEC-A5-11",
        "a5",
        f"%r = pto.vgather2 %b, %h, %n : !pto.ptr<i8, ub>, {H}, {N} -> {H}",
        f"%r = pto.vgather2 %b, %q, %c4 : !pto.ptr<i8, ub>, {Q}, index -> {Q}",
    ),
    (
        "VEC-A5-11",
        "a5",
        f"%r = pto.vgather2 %p, %w, %m : {P}, {W}, {M} -> {V}",
        f"%r = pto.vgather2 %p, %h, %n : {P}, {H}, {N} -> {H}",
    ),
    (
        "VEC-A5-11",
        "a5",
        f"%r = pto.vgatherb %p, %w, %m : {P}, {W}, {M} -> {V}",
        f"%r = pto.vgatherb %p, %h, %m : {P}, {H}, {M} -> {V}",
    ),
    (
        "VEC-A5-11",
        "a5",
        f"pto.vscatter %v, %p, %w, %m : {V}, {P}, {W}, {M}",
        f"pto.vscatter %v, %p, %v, %m : {V}, {P}, {V}, {M}",
    ),
]


@each("rule, on, kept, broken", CASES)
def test_rules(rule: str, on: str, kept: str, broken: str) -> None:
    assert [d for d in checked(program(kept), on) if d.rule == rule] == []
    found = {(d.rule, d.location.line) for d in checked(program(broken), on)}
    assert (rule, LINE) in found


def test_a_load_that_is_meant_as_a_store_gets_a_hint() -> None:
    found = checked(program(f"pto.vsld %v, %p[%c0] : {V}, {P}"))
    assert "vsst" in str(found[0].hint)


def test_a_finer_predicate_of_a_store_only_warns() -> None:
    for line, expected in (
        (f'pto.vsts %v, %p[%c0], %n {{dist = "NORM_B32"}} : {V}, {P}, {N}', Severity.WARNING),
        (f'pto.vsts %h, %p[%c0], %m {{dist = "NORM_B16"}} : {H}, {P}, {M}', Severity.ERROR),
    ):
        assert [d.severity for d in checked(program(line), "a5") if d.rule == "VEC-A5-05"] == [expected], line


def test_removed_modes_exist_elsewhere() -> None:
    line = f'pto.vsts %q, %b[%c0] {{dist = "MRG4CHN_B8"}} : {Q}, !pto.ptr<i8, ub>'
    assert [d.rule for d in checked(program(line), "cpu")] == []


@each(
    "line, rule",
    [
        (f"%r = pto.vlds %p[%i] : {P} -> {V}", "VEC-A5-03"),
        (f"pto.vsts %v, %p[%c4] : {V}, {P}", "VEC-A5-03"),
        (f"%r = pto.vsldb %x, %s, %s, %m : {P}, i16, i16, {M} -> {V}", "VEC-A5-03"),
        (f"%r = pto.vgather2 %p, %far, %m : {P}, {W}, {M} -> {V}", "PTR-A5-02"),
    ],
)
def test_addresses_of_a_run(line: str, rule: str) -> None:
    extra = (
        f"%x = pto.addptr %p, %c4 : {P} -> {P}\n  %big = arith.constant 1000000 : i32\n"
        f"  %far = pto.vdup %big, %m : i32, {M} -> {W}\n  "
    )
    with pytest.raises(DiagnosticError) as error:
        run(program(extra + line), np.zeros(4, np.float32), 4)
    assert [(d.rule, d.location.line) for d in error.value.diagnostics] == [(rule, LINE + 3)]


def test_one_element_for_two_lanes_is_no_error() -> None:
    run(program(f"pto.vscatter %v, %p, %w, %m : {V}, {P}, {W}, {M}"), np.zeros(4, np.float32), 0)


@each(
    "rule, good, bad",
    [
        (
            "VEC-A5-10",
            f"%d = pto.vci %e : i32 -> {W}\n  pto.vscatter %v, %p, %d, %m : {V}, {P}, {W}, {M}",
            f"%d = pto.vdup %e, %m : i32, {M} -> {W}\n  pto.vscatter %v, %p, %d, %m : {V}, {P}, {W}, {M}",
        ),
        (
            "VEC-A5-15",
            f'%d = pto.pset_b32 "PAT_VL8" : {M}\n  pto.vsstb %v, %p, %s, %s, %d : {V}, {P}, i16, i16, {M}',
            f'%d = pto.pset_b32 "PAT_VL4" : {M}\n  pto.vsstb %v, %p, %s, %s, %d : {V}, {P}, i16, i16, {M}',
        ),
    ],
)
def test_what_the_sanitizer_remarks_on_accesses(rule: str, good: str, bad: str) -> None:
    def remarks(lines: str) -> list[tuple[str, int]]:
        text = program(f"%e = arith.constant 0 : i32\n  {lines}")
        found = sanitize(read(text), A5, (np.zeros(4, np.float32), 0), 1).diagnostics
        return [(d.rule, d.location.line) for d in found if d.severity is Severity.WARNING]

    assert remarks(good) == []
    assert remarks(bad) == [(rule, LINE + 2)]


def test_a2a3_has_no_registers() -> None:
    found = checked(program(f"%r = pto.vlds %p[%c0] : {P} -> {V}"), "a2a3")
    assert [d.rule for d in found] == ["VEC-A3-01"]
    assert checked(program(f"%r = pto.vlds %p[%c0] : {P} -> {V}"), "cpu") == []


SPELLINGS = [
    ("pto.vsts %v, %p[%c0], %m : " + f"{V}, {P}, {M} -> ()", "pto.vsts %v, %p[%c0], %m"),
    (f"pto.vsts %v, %p[%c0] : {V}, {P} -> ()", "pto.vsts %v, %p[%c0]"),
    ("vsts %v, %p[%c0], %m", "pto.vsts %v, %p[%c0], %m"),
    ("pto.vsts(%v, %p[%c0], %m);", "pto.vsts %v, %p[%c0], %m"),
    (f"%r = pto.vadd %v, %v : {V} -> {V};", "%r = pto.vadd %v, %v"),
    ("vadd %r, %v, %v, %m", "%r = pto.vadd %v, %v, %m"),
    ('vlds %r, %p[%c0] {dist = "BRC_B32"}', '%r = pto.vlds %p[%c0] {dist = "BRC_B32"}'),
    (f'%r = pto.vlds %p[%c0], "BRC_B32" : {P} -> {V}', '%r = pto.vlds %p[%c0] {dist = "BRC_B32"}'),
    (f"%r = pto.vlds %p[%c0] : {P}, index -> {V}", "%r = pto.vlds %p[%c0]"),
    (f"%r = pto.vlds %p : {P} -> {V}", "%r = pto.vlds %p"),
    (f"%r = pto.vlds %p[64] : {P} -> {V}", "%r = pto.vlds %p[%0]"),
    ('pto.pset_b32 "PAT_VL8" outs(%r : !pto.mask)', '%r = pto.pset_b32 "PAT_VL8" : !pto.mask'),
    (f'%r:2 = pto.vldx2 %p[%c0], "BDINTLV" : {P}, index -> {V}, {V}', '%r:2 = pto.vldsx2 %p[%c0], "BDINTLV"'),
    ("set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);", "pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]"),
]


@each("written, printed", SPELLINGS)
def test_spellings(written: str, printed: str) -> None:
    text = print_module(read(program(written)))
    assert [line for line in text.splitlines() if line.strip().startswith(printed)], text


def test_the_listing_of_the_seed() -> None:
    """Nothing is defined, some types are missing, every line ends with a semicolon."""
    listing = """// 1. DMA copy from GM to UB staging area
copy_gm_to_ubuf(%ub_ptr, %gm_ptr, %sid, %n_burst, %len_burst, %stride_dst, %stride_src);

// 2. Signal Vector pipe that data is ready
set_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);

// 3. Wait for data, then vector load
wait_flag(PIPE_MTE2, PIPE_V, EVENT_ID0);
%vreg = pto.vlds %ub[%offset] {dist = "NORM"} : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>;

// 4. Vector compute
%result = pto.vadd %vreg, %vreg : !pto.vreg<64xf32> -> !pto.vreg<64xf32>;

// 5. Vector store
pto.vsts %result, %ub_out[%offset] : !pto.vreg<64xf32>, !pto.ptr<f32, ub> -> ();

// 6. DMA copy from UB back to GM
copy_ubuf_to_gm(%ub_out, %gm_out, %sid, %n_burst, %len_burst, %reserved, %stride_dst, %stride_src);
"""
    result = parse_module(listing)
    assert [str(d) for d in result.diagnostics] == []
    names = [op.name for op in result.module.functions[0].body.ops]  # type: ignore[union-attr]
    assert names[:7] == [
        *("pto.copy_gm_to_ubuf", "pto.set_flag", "pto.wait_flag", "pto.vlds", "pto.vadd", "pto.vsts"),
        "pto.copy_ubuf_to_gm",
    ]
    assert {d.rule for d in checked(listing)} == {"VEC-A5-02-LINT"}
