"""Rules of the assembler's verifiers of registers: statements that keep each, and statements that break it."""

from __future__ import annotations

from ptokit.diagnostics import CATALOGUE
from tests.each import each

from ..statements import Case, breaks, found

_F = "R<64xf32>"
_B32, _B16, _B8 = "!pto.mask<b32>", "!pto.mask<b16>", "!pto.mask<b8>"
CASES: list[Case] = [
    (
        "MIC-01",
        f"%d = pto.vadd %a, %b, %m : {_F}, {_F}, {_B32} -> {_F}",
        (
            f"%d = pto.vadd %a, %b, %m : R<64xsi32>, R<64xi32>, {_B32} -> R<64xi32>",
            f"%d = pto.vmax %a, %b, %m : {_F}, {_F}, {_B32} -> R<64xi32>",
            f'%d = pto.vcmp %a, %b, %m, "lt" : R<64xui32>, R<64xi32>, {_B32} -> {_B32}',
            f"%d = pto.vexp %a, %m : {_F}, {_B32} -> R<128xf16>",
        ),
    ),
    (
        "MIC-02",
        f"%d, %c = pto.vaddc %a, %b, %m : R<64xi32>, R<64xi32>, {_B32} -> R<64xi32>, {_B32}",
        (
            f"%d, %c = pto.vaddc %a, %b, %m : R<128xi16>, R<128xi16>, {_B16} -> R<128xi16>, {_B16}",
            f"%d = pto.vand %a, %b, %m : R<64x!pto.bf16x2>, R<64x!pto.bf16x2>, {_B32} -> R<64x!pto.bf16x2>",
            f"%d = pto.vrelu %a, %m : R<64xui32>, {_B32} -> R<64xui32>",
            f"%d = pto.vcpadd %a, %m : R<64xi32>, {_B32} -> R<64xi32>",
        ),
    ),
    (
        "MIC-03",
        f"%d = pto.vabs %a, %m : {_F}, {_B32} -> {_F}",
        (
            f"%d = pto.vadd %a, %b, %m : R<256xf8E4M3FN>, R<256xf8E4M3FN>, {_B8} -> R<256xf8E4M3FN>",
            f"%d = pto.vsel %a, %b, %m : R<256x!pto.hif8>, R<256x!pto.hif8>, {_B8} -> R<256x!pto.hif8>",
        ),
    ),
    (
        "MIC-04",
        f"%d = pto.vadds %a, %x, %m : R<64xui32>, i32, {_B32} -> R<64xui32>",
        (
            f"%d = pto.vadds %a, %x, %m : R<64xi32>, ui32, {_B32} -> R<64xi32>",
            f"%d = pto.vbr %x : f16 -> {_F}",
            f'%d = pto.vcmps %a, %x, %m, "lt" : R<64xsi32>, ui32, {_B32} -> {_B32}',
        ),
    ),
    (
        "MIC-05",
        f"%d = pto.vgather2 %p, %o, %m : P<ui16, ub>, R<128xui16>, {_B16} -> R<128xui16>",
        (
            f"%d = pto.vgather2 %p, %o, %m : P<ui16, ub>, R<128xui16>, {_B32} -> R<128xui16>",
            f'%d = pto.vtrc %a, %m, "R" : {_F}, {_B16} -> {_F}',
            f'pto.vsts %a, %p[%i], %m {{dist = "PK4_B32"}} : {_F}, P<f32, ub>, {_B8}',
            f"pto.vscatter %v, %p, %o, %m : R<256xui8>, P<ui8, ub>, R<128xui16>, {_B8}",
        ),
    ),
    (
        "MIC-06",
        f"%v, %q = pto.vlds %p[%i] : P<f32, ub> -> {_F}, P<f32, ub>",
        (
            f"%v, %q = pto.vlds %p[%i] : P<f32, ub> -> {_F}, P<f16, ub>",
            f"%q = pto.vsts %v, %p[%i], %m : {_F}, P<f32, ub>, {_B32} -> P<i32, ub>",
            f'%m, %q = pto.plds %p[%i], "NORM" : P<ui32, ub> -> {_B32}, P<si32, ub>',
        ),
    ),
    (
        "MIC-07",
        f"%v = pto.vlds %p[%i] : P<f32, ub> -> {_F}",
        (
            f"%v = pto.vlds %p[%i] : P<f32, gm> -> {_F}",
            f"%d = pto.vgather2 %p, %o, %m : P<ui16, gm>, R<128xui16>, {_B16} -> R<128xui16>",
        ),
    ),
    (
        "MIC-08",
        f'%d = pto.vcvt %a, %m {{rnd = "R", sat = "SAT", part = "EVEN"}} : {_F}, {_B32} -> R<128xf16>',
        (
            f'%d = pto.vcvt %a, %m {{rnd = "R", part = "EVEN"}} : {_F}, {_B32} -> R<128xf16>',
            f'%d = pto.vcvt %a, %m {{rnd = "R", part = "EVEN"}} : R<128xf16>, {_B16} -> {_F}',
            f'%d = pto.vcvt %a, %m {{sat = "SAT", part = "EVEN"}} : R<64xui32>, {_B32} -> R<256xui8>',
            f'%d = pto.vcvt %a, %m {{rnd = "F", sat = "SAT", part = "P0"}} : {_F}, {_B32} -> R<256xf8E5M2>',
            f"%d = pto.vcvt %a, %m : R<64xui32>, {_B32} -> {_F}",
        ),
    ),
    (
        "MIC-09",
        f"%d = pto.vgather2 %p, %o, %m : P<ui8, ub>, R<128xui16>, {_B16} -> R<128xui16>",
        (
            f"%d = pto.vgather2 %p, %o, %m : P<ui8, ub>, R<128xui16>, {_B16} -> R<128xi16>",
            f"%d = pto.vgather2 %p, %o, %m : P<ui8, ub>, R<128xsi16>, {_B16} -> R<128xui16>",
            f"%d = pto.vgather2 %p, %o, %m : P<f16, ub>, R<128xui16>, {_B16} -> R<128xbf16>",
        ),
    ),
    (
        "MIC-10",
        f"pto.vscatter %v, %p, %o, %m : R<256xui8>, P<ui8, ub>, R<128xui16>, {_B16}",
        (
            f"pto.vscatter %v, %p, %o, %m : R<256xui8>, P<ui8, ub>, R<256xui8>, {_B16}",
            f"pto.vscatter %v, %p, %o, %m : {_F}, P<i32, ub>, R<64xi32>, {_B32}",
        ),
    ),
    (
        "MIC-11",
        f"%d = pto.vshl %a, %b, %m : R<64xui32>, R<64xsi32>, {_B32} -> R<64xui32>",
        (
            f"%d = pto.vshl %a, %b, %m : R<64xui32>, R<64xui32>, {_B32} -> R<64xui32>",
            f"%d = pto.vshr %a, %b, %m : R<64xi32>, R<64xi32>, {_B32} -> R<64xi32>",
        ),
    ),
    (
        "MIC-12",
        f"%d = pto.vshls %a, %x, %m : R<64xi32>, i16, {_B32} -> R<64xi32>",
        (f"%d = pto.vshls %a, %x, %m : R<64xi32>, ui16, {_B32} -> R<64xi32>",),
    ),
    (
        "MIC-13",
        f"%d = pto.vselr %a, %i : {_F}, R<64xui32> -> {_F}",
        (f"%d = pto.vselr %a, %i : {_F}, {_F} -> {_F}",),
    ),
    (
        "MIC-14",
        '%d = pto.vpack %a, "LOWER" : R<64xi32> -> R<128xui16>',
        (
            '%d = pto.vpack %a, "LOWER" : R<64xi32> -> R<128xi16>',
            "%d = pto.vsunpack %a, %i : R<256xi8>, index -> R<64xi32>",
        ),
    ),
    (
        "MIC-15",
        f"%d = pto.vcadd %a, %m : R<128xui16>, {_B16} -> R<64xui32>",
        (
            f"%d = pto.vcadd %a, %m : R<128xui16>, {_B16} -> R<128xui16>",
            f"%d = pto.vcadd %a, %m : R<128xui16>, {_B16} -> R<64xi32>",
        ),
    ),
    (
        "MIC-16",
        f"%v, %f = pto.vcbmax %a, %m : {_F}, {_B32} -> {_F}, {_B32}",
        (f"%v, %f = pto.vcbmax %a, %m : {_F}, {_B32} -> {_F}, {_B16}",),
    ),
]


@each("rule, good", [(rule, good) for rule, good, _ in CASES])
def test_kept(rule: str, good: str) -> None:
    assert found(good) == []


@each("rule, wrong", [(rule, wrong) for rule, _, several in CASES for wrong in several])
def test_broken(rule: str, wrong: str) -> None:
    assert breaks(rule, wrong)


def test_every_rule_has_a_case() -> None:
    verified = {id for id in CATALOGUE if id.startswith("MIC-") and int(id[4:]) < 20}
    assert verified == {rule for rule, *_ in CASES}
