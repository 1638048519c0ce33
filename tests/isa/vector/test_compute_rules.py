"""Rules of the operations on registers and predicates: each with lines that keep and that break it, by id and place."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ptokit.diagnostics import DiagnosticError
from tests.each import each
from tests.isa.rule_cases import untested

from .lines import program, spelled
from .programs import checked, run

Case = tuple[str, str, str, str]


def cases(text: str) -> list[Case]:
    """Groups of three lines: the rule and a target, a line that keeps the rule, a line that breaks it."""
    out = []
    for group in text.strip().split("\n\n"):
        (rule, target), good, bad = (line if i else line.split() for i, line in enumerate(group.splitlines()))
        out.append((rule, target, good, bad))
    return out


CASES = cases("""
VEC-A5-05 a5
%r = pto.vadd %a, %b, %m : $f32, $f32, $b32 -> $f32
%r = pto.vadd %a, %b, %m : $f32, $f32, $b16 -> $f32

VEC-A5-05 a5
%r = pto.vcvt %a, %m {part = "EVEN"} : $f16, $b16 -> $f32
%r = pto.vcvt %a, %m {part = "EVEN"} : $f16, $b32 -> $f32

VEC-A5-05 a5
%r = pto.vadd %a, %b, %m : $i64, $i64, $b32 -> $i64
%r = pto.vadd %a, %b, %m : $i64, $i64, $b8 -> $i64

VEC-A5-05 a5
%r, %h = pto.vaddcs %a, %b, %n, %m : $i32, $i32, $b32, $b32 -> $i32, $b32
%r, %h = pto.vaddcs %a, %b, %n, %m : $i32, $i32, $b16, $b32 -> $i32, $b32

VEC-A5-05 cpu
%r = pto.vcmp %a, %b, %m, "lt" : $i16, $i16, $b16 -> $b16
%r = pto.vcmp %a, %b, %m, "lt" : $i16, $i16, $b16 -> $b32

VEC-A5-05 a5
%r = pto.vdup %s, %m : f32, $b32 -> $f32
%r = pto.vdup %s, %m : f32, $b8 -> $f32

VEC-A5-05 a5
%r = pto.vusqz %m : $b16 -> $i16
%r = pto.vusqz %m : $b16 -> $i32

VEC-A5-06 a5
%r = pto.vadd %a, %b, %m : $f32, $f32, $b32 -> $f32
%r = pto.vadd %a, %b, %m : $f32, $i32, $b32 -> $f32

VEC-A5-06 a5
%r = pto.vneg %a, %m : $f32, $b32 -> $f32
%r = pto.vneg %a, %m : $f32, $b32 -> $i32

VEC-A5-06 a5
%r = pto.vadd %a, %b, %m : $si16, $i16, $b16 -> $i16
%r = pto.vadd %a, %b, %m : $si16, $ui16, $b16 -> $i16

VEC-A5-06 a5
%r = pto.vadds %a, %s, %m : $ui16, i16, $b16 -> $ui16
%r = pto.vadds %a, %s, %m : $ui16, i32, $b16 -> $ui16

VEC-A5-06 a5
%r = pto.vadds %a, %s : $f16, f16 -> $f16
%r = pto.vadds %a, %s : $f16, f32 -> $f16

OPERAND-KIND a5
%r = pto.vshls %a, %s, %m : $i16, i64, $b16 -> $i16
%r = pto.vshls %a, %s, %m : $i16, f16, $b16 -> $i16

VEC-A5-06 a5
%r = pto.vshl %a, %b, %m : $ui16, $si16, $b16 -> $ui16
%r = pto.vshl %a, %b, %m : $ui16, $si32, $b16 -> $ui16

VEC-A5-06 a5
%r = pto.vshr %a, %b, %m : $si16, $ui16, $b16 -> $si16
%r = pto.vshr %a, %b, %m : $si16, $ui16, $b16 -> $ui16

VEC-A5-06 a5
%r = pto.vcadd %a : $ui16 -> $ui32
%r = pto.vcadd %a : $ui16 -> $ui16

VEC-A5-06 a5
%r = pto.vcadd %a : $f16 -> $f16
%r = pto.vcadd %a : $f16 -> $f32

VEC-A5-06 a5
%r = pto.vpack %a, "LOWER" : $i32 -> $ui16
%r = pto.vpack %a, "LOWER" : $i32 -> $i16

VEC-A5-06 a5
%r = pto.vzunpack %a, %s : $ui8 -> $ui16
%r = pto.vzunpack %a, %s : $ui8 -> $ui32

VEC-A5-06 a5
%r = pto.vexpdif %a, %b : $f16, $f16 -> $f32
%r = pto.vexpdif %a, %b : $f16, $f32 -> $f32

VEC-A5-06 a5
%r = pto.vaddreluconv %a, %b : $f16, $f16 -> $i8
%r = pto.vaddreluconv %a, %b : $f16, $f16 -> $f32

VEC-A5-06 a5
%r = pto.vbr %s : i8 -> $ui8
%r = pto.vbr %s : i16 -> $ui8

VEC-A5-06 a5
%r, %h = pto.vintlv %a, %b : $f32, $f32 -> $f32, $f32
%r, %h = pto.vintlv %a, %b : $f32, $f32 -> $f32, $i32

VEC-A5-07 a5
%r = pto.vmul %a, %b : $i16, $i16 -> $i16
%r = pto.vmul %a, %b : $i8, $i8 -> $i8

VEC-A5-07 a5
%r = pto.vdiv %a, %b : $i16, $i16 -> $i16
%r = pto.vdiv %a, %b : $i8, $i8 -> $i8

VEC-A5-07 cpu
%r = pto.vshl %a, %b : $i32, $i32 -> $i32
%r = pto.vshl %a, %b : $f32, $f32 -> $f32

VEC-A5-07 cpu
%r = pto.vmov %a : $ui8 -> $ui8
%r = pto.vmov %a : $f8E4M3FN -> $f8E4M3FN

VEC-A5-07 a5
%r = pto.vcgadd %a : $i16 -> $i16
%r = pto.vcgadd %a : $i8 -> $i8

VEC-A5-07 a5
%r = pto.vabs %a : $f16 -> $f16
%r = pto.vabs %a : $bf16 -> $bf16

VEC-A5-08 cpu
%r = pto.vintlvv2 %a, %b, "LOWER" : $f32, $f32 -> $f32
%r = pto.vselrv2 %a, %b : $f32, $f32 -> $f32

VEC-A5-08 a5
%r = pto.vsel %a, %b : $f32, $f32 -> $f32
%r = pto.vdintlvv2 %a, %b, "HIGHER" : $f32, $f32 -> $f32

VEC-A5-14 a5
%r = pto.vshls %a, %s : $i8, i16 -> $i8
%r = pto.vshls %a, %t : $i8, i16 -> $i8

VEC-A5-14 a5
%r = pto.vshrs %a, %s : $i8, i16 -> $i8
%r = pto.vshrs %a, %t : $i8, i16 -> $i8

VEC-A5-16 a5
%r = pto.vcvt %a {part = "ODD"} : $f32 -> $f16
%r = pto.vcvt %a : $f32 -> $f16

VEC-A5-16 a5
%r = pto.vcvt %a : $f32 -> $si32
%r = pto.vcvt %a {part = "EVEN"} : $f32 -> $si32

VEC-A5-16 a5
%r = pto.vcvt %a {rnd = "A", part = "P3"} : $f32 -> !pto.vreg<256x!pto.hif8>
%r = pto.vcvt %a {rnd = "H", part = "P3"} : $f32 -> !pto.vreg<256x!pto.hif8>

VEC-A5-16 a5
%r = pto.vcvt %a {part = "P3"} : $ui32 -> $ui8
%r = pto.vcvt %a {part = "ODD"} : $ui32 -> $ui8

VEC-A5-16 a5
%r = pto.vcvt %a {part = "EVEN"} : $si64 -> $f32
%r = pto.vcvt %a {part = "EVEN"} : $f32 -> $ui16

VEC-A5-16 a5
%r = pto.vcvt %a {rnd = "A"} : $f32 -> $si32
%r = pto.vcvt %a {rnd = "X"} : $f32 -> $si32

VEC-A5-16 a5
%r = pto.vcvt %a {sat = "NOSAT"} : $f32 -> $si32
%r = pto.vcvt %a {sat = "YES"} : $f32 -> $si32

VEC-A5-16 a5
%r = pto.vcvt %a {part = "EVEN"} : $f16 -> $f32
%r = pto.vcvt %a {part = "EVEN", rnd = "R"} : $f16 -> $f32

VEC-A5-16 a5
%r = pto.vcvt %a {part = "P0"} : $ui8 -> $ui32
%r = pto.vcvt %a {part = "P0", sat = "SAT"} : $ui8 -> $ui32

VEC-A5-16 a5
%r = pto.vtrc %a, "C" : $f32 -> $f32
%r = pto.vtrc %a, "Y" : $f32 -> $f32

VEC-A5-N1 a5
%r = pto.vtrc %a, "Z" : $f32 -> $f32
%r = pto.vtrc %a, "O" : $f32 -> $f32

VEC-A5-17 a5
%r = pto.vselr %a, %b : $f16, $ui16 -> $f16
%r = pto.vselr %a, %b : $f16, $f16 -> $f16

VEC-A5-17 a5
%r = pto.vperm %a, %b : $f32, $si32 -> $f32
%r = pto.vperm %a, %b : $f32, $si16 -> $f32

VEC-A5-19 a5
%r = pto.vci %s {order = "ASC"} : i16 -> $i16
%r = pto.vci %s {order = "UP"} : i16 -> $i16

VEC-A5-19 a5
%r = pto.vci %s : f16 -> $f16
%r = pto.vci %s : bf16 -> $bf16

PRD-A5-01 a5
%r = pto.pset_b32 "PAT_VL8" : $b32
%r = pto.pset_b32 "PAT_VL9" : $b32

PRD-A5-01 a5
%r = pto.ppack %m, "LOWER" : $b32 -> $b32
%r = pto.ppack %m, "EVEN" : $b32 -> $b32

PRD-A5-01 a5
%r = pto.vpack %a, "HIGHER" : $i32 -> $ui16
%r = pto.vpack %a, "ODD" : $i32 -> $ui16

PRD-A5-01 a5
%r = pto.vcmp %a, %b, %m, "ge" : $f32, $f32, $b32 -> $b32
%r = pto.vcmp %a, %b, %m, "oge" : $f32, $f32, $b32 -> $b32

PRD-A5-01 a5
%r = pto.vdup %a {position = "LOWEST"} : $f32 -> $f32
%r = pto.vdup %a {position = "FIRST"} : $f32 -> $f32

PRD-A5-01 a5
%r = pto.vsunpack %a, %s : $i16 -> $i32
%r = pto.vsunpack %a, %t : $i16 -> $i32

PRD-A5-01 a5
%r = pto.vexpdif %a, %b, "ODD" : $f16, $f16 -> $f32
%r = pto.vexpdif %a, %b, "P1" : $f16, $f16 -> $f32

PRD-A5-02 a5
%r = pto.pand %m, %n, %o : $b32, $b32, $b32 -> $b32
%r = pto.pand %m, %n, %o : $b32, $b16, $b32 -> $b32

PRD-A5-02 a5
%r = pto.pnot %m, %n : $b8, !pto.mask -> $b8
%r = pto.pnot %m, %n : $b8, $b16 -> $b8

PRD-A5-02 a5
%r, %h = pto.pintlv_b16 %m, %n : $b16, $b16 -> $b16, $b16
%r, %h = pto.pintlv_b16 %m, %n : $b32, $b32 -> $b32, $b32

PRD-A5-02 a5
%r = pto.pset_b16 "PAT_ALL" : $b16
%r = pto.pset_b16 "PAT_ALL" : $b32
""")


def found(line: str, target: str) -> set[tuple[str, int]]:
    """The rules a line breaks, with the lines of the text they are reported at; ``%t`` is the number 8."""
    text = re.sub(r"(%t = arith.constant) \d+", r"\1 8", program(line))
    return {(d.rule, d.location.line) for d in checked(text, target)}


def place(line: str) -> int:
    return next(i for i, row in enumerate(program(line).splitlines(), 1) if row.strip() == spelled(line))


@each("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}-{case[3][:28]}")
def test_rules(case: Case) -> None:
    rule, target, good, bad = case
    assert rule not in {broken for broken, _ in found(good, target)}
    assert (rule, place(bad)) in found(bad, target)


def test_a_bare_mask_fits_everywhere() -> None:
    for line in (
        "%r = pto.vadd %a, %b, %m : $f32, $f32, !pto.mask -> $f32",
        "%r = pto.pnot %m, %n : !pto.mask, $b16 -> $b16",
    ):
        assert found(line, "a5") == set()


def unpublished(name: str) -> str:
    return f"""func.func @f() {{
  %z = arith.constant 0 : i64
  %p = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  pto.{name} %p, %p, %z : !pto.ptr<f32, ub>, !pto.ptr<f32, ub>, i64
  return
}}
"""


@each("name", ["vtranspose", "vsort32"])
@each("target", ["cpu", "a2a3", "a5"])
def test_operations_nobody_explains_are_refused(name: str, target: str) -> None:
    assert [(d.rule, d.location.line) for d in checked(unpublished(name), target)] == [("VEC-A5-08", 4)]


SHIFT = "%r = pto.vshl %a, %b, %m : $si16, $si16, $b16 -> $si16"


def shift(counts: int, on: bool, target: str) -> np.ndarray:
    data, out = np.zeros(2048, np.uint8), np.zeros(2048, np.uint8)
    data[:256].view(np.int16)[:] = 1
    data[256:512].view(np.int16)[7] = counts
    data[512:544] = 255 if on else 0
    run(program(SHIFT), data, out, on=target)
    return out[:256].view(np.int16)


def test_counts_of_lanes_are_checked_when_they_are_known() -> None:
    assert shift(15, True, "a5")[7] == -(1 << 15)
    assert not shift(16, False, "a5").any()
    for count in (16, -1):
        with pytest.raises(DiagnosticError) as error:
            shift(count, True, "a5")
        (d,) = error.value.diagnostics
        assert (d.rule, d.location.line) == ("VEC-A5-14", place(SHIFT))
        assert "lane 7" in d.message
    assert shift(16, True, "cpu")[7] == 0


def in_memory(line: str) -> str:
    return f"""func.func @f(%n: index) {{
  %z = arith.constant 0 : i64
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %c1024 = arith.constant 1024 : index
  %far = arith.constant 8192 : index
  %p = pto.castptr %z : i64 -> !pto.ptr<ui8, ub>
  pto.vecscope {{ %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
  {line}
  }}
  return
}}
"""


MEMORY = cases("""
PRD-A5-01 a5
%r = pto.plds %p[%c8], "US" : $p, index -> $m
%r = pto.plds %p[%c8], "PK" : $p, index -> $m

PRD-A5-01 a5
pto.psts %m, %p[%c8], "PK" : $m, $p, index
pto.psts %m, %p[%c8], "DS" : $m, $p, index

PRD-A5-04 a5
%r = pto.pldi %p[%c8], "NORM" : $p, index -> $m
%r = pto.pldi %p[%n], "NORM" : $p, index -> $m

PRD-A5-04 a5
pto.psti %m, %p, 1023, "NORM" : $m, $p, i32
pto.psti %m, %p, 1024, "NORM" : $m, $p, i32

PRD-A5-04 a5
pto.psti %m, %p[%c8], "PK" : $m, $p, index
pto.psti %m, %p[%n], "PK" : $m, $p, index
""")


@each("case", MEMORY, ids=lambda case: f"{case[0]}-{case[3][:20]}")
def test_rules_of_predicates_in_memory(case: Case) -> None:
    rule, target, *lines = case
    good, bad = (line.replace("$p", "!pto.ptr<ui8, ub>").replace("$m", "!pto.mask<b32>") for line in lines)
    assert [d.rule for d in checked(in_memory(good), target)] == []
    assert [(d.rule, d.location.line) for d in checked(in_memory(bad), target)] == [(rule, 10)]


def test_predicates_lie_at_multiples_of_8_bytes() -> None:
    line = '%r = pto.plds %p[{}], "NORM" : !pto.ptr<ui8, ub>, index -> !pto.mask<b32>'
    run(in_memory(line.format("%c8")), 0)
    with pytest.raises(DiagnosticError) as error:
        run(in_memory(line.format("%c4")), 0)
    (d,) = error.value.diagnostics
    assert (d.rule, d.location.line) == ("PRD-A5-03", 10)


def test_every_rule_has_cases() -> None:
    ours = [f"VEC-A5-{i}" for i in ("05", "06", "07", "08", "14", "16", "17", "19", "N1")]
    assert untested([(*case[:2], case[2], {}, {}) for case in CASES], *ours) == set()
    predicates = {"PRD-A5-01", "PRD-A5-02", "PRD-A5-03", "PRD-A5-04"}
    assert untested([(*case[:2], case[2], {}, {}) for case in (*CASES, *MEMORY)], *predicates) == {"PRD-A5-03"}
