"""Rules of logical vectors: for each one statement that keeps it, and statements that break it."""

from __future__ import annotations

from ptokit.diagnostics import CATALOGUE
from tests.each import each

from .statements import Case, breaks, found

_ADD = "%r = pto.vmi.vadd %a, %b"
_CVT = "%r = pto.vmi.vcvt %source"
_F, _M = "V<64xf32>", "M<64xpred>"
CASES: list[Case] = [
    (
        "VMI-03",
        f"{_ADD} : {_F}, {_F} -> {_F}",
        (
            f"{_ADD} : {_F}, V<128xf32> -> {_F}",
            f"{_ADD} : {_F}, V<64xf16> -> {_F}",
            f"%r = pto.vmi.vcvt %s : {_F} -> V<32xsi32>",
            "%r = pto.vmi.vadd %a, %b : V<64xsi32>, V<64xi32> -> V<64xi32>",
            '%r = "pto.vmi.shuffle"(%a) {indices = array<i64: 0>} : (V<1xf32>) -> V<1xf16>',
        ),
    ),
    (
        "VMI-04",
        "%r = pto.vmi.addf %a, %b : V<64xf32, L[contiguous]>, V<64xf32, L[contiguous]> -> V<64xf32, L[contiguous]>",
        (
            "%r = pto.vmi.addf %a, %b : V<64xf32, L[contiguous]>, V<64xf32> -> V<64xf32>",
            "%r = pto.vmi.addf %a, %b : V<64xf32, L[contiguous]>, V<64xf32, L[contiguous]>"
            " -> V<64xf32, L[deinterleaved = 2]>",
            "%r = pto.vmi.ensure_mask_granularity %m : M<64xb32, L[contiguous]> -> M<64xb16>",
        ),
    ),
    (
        "VMI-05",
        f"{_ADD}, %m : {_F}, {_F}, M<64xb32> -> {_F}",
        (
            f"{_ADD}, %m : {_F}, {_F}, M<128xpred> -> {_F}",
            f"{_ADD}, %m : {_F}, {_F}, M<64xb16> -> {_F}",
            f"{_ADD}, %m : {_F}, {_F}, M<64xb32, L[contiguous]> -> {_F}",
            f'%r = pto.vmi.cmpf "olt", %a, %b : {_F}, {_F} -> M<32xpred>',
        ),
    ),
    (
        "VMI-06",
        f"%r = pto.vmi.vand %a, %b : {_M}, {_M} -> {_M}",
        (
            f"%r = pto.vmi.vand %a, %b : {_M}, M<128xpred> -> {_M}",
            f"%r = pto.vmi.mask_or %a, %b : {_M}, M<64xb16> -> {_M}",
            "%r = pto.vmi.ensure_mask_layout %a : M<64xb16, L[contiguous]> -> M<32xb16, L[contiguous]>",
        ),
    ),
    (
        "VMI-07",
        "%r = pto.vmi.vabs %a : V<64xsi32> -> V<64xsi32>",
        (
            "%r = pto.vmi.vabs %a : V<64xi32> -> V<64xi32>",
            "%r = pto.vmi.vadd %a, %b : V<64x!pto.bf16x2>, V<64x!pto.bf16x2> -> V<64x!pto.bf16x2>",
            "%r = pto.vmi.shrui %a, %b : V<64xsi32>, V<64xsi32> -> V<64xsi32>",
            "%r = pto.vmi.vsqrt %a : V<64xi32> -> V<64xi32>",
            f"%r = pto.vmi.active_prefix_index %m : {_M} -> V<64xui32>",
        ),
    ),
    (
        "VMI-08",
        f"%r = pto.vmi.vadds %a, %x, %m : {_F}, f32, {_M} -> {_F}",
        (
            f"%r = pto.vmi.vadds %a, %x, %m : {_F}, f16, {_M} -> {_F}",
            f"%r = pto.vmi.vadds %a, %x, %m : V<64xsi32>, i32, {_M} -> V<64xsi32>",
            "%r = pto.vmi.iota %x : i16 -> V<64xi32>",
        ),
    ),
    (
        "VMI-09",
        "%r = pto.vmi.ensure_layout %a : V<64xf32, L[contiguous]> -> V<64xf32, L[deinterleaved = 2]>",
        (
            "%r = pto.vmi.ensure_layout %a : V<64xf32> -> V<64xf32, L[deinterleaved = 2]>",
            '%r = pto.vmi.pset "PAT_ALL" : M<64xb32>',
            "%l, %h = pto.vmi.deinterleave_load %p[%i] : P<f32, ub>"
            " -> V<64xf32, L[deinterleaved = 2]>, V<64xf32, L[deinterleaved = 2]>",
        ),
    ),
    (
        "VMI-10",
        f"%r = pto.vmi.vcmax %a, %m {{group = 8}} : {_F}, {_M} -> V<8xf32>",
        (
            f"%r = pto.vmi.vcmax %a, %m {{group = 8}} : {_F}, {_M} -> V<4xf32>",
            f"%r = pto.vmi.vcmax %a, %m {{group = 10}} : {_F}, {_M} -> V<10xf32>",
            f"%r = pto.vmi.vcmax %a, %m : {_F}, {_M} -> V<8xf32>",
            f"%r = pto.vmi.vcmax %a, %m {{group = 8}} : {_F}, {_M} -> V<8xf32, L[contiguous]>",
        ),
    ),
    (
        "VMI-11",
        f'%r = pto.vmi.iota %x {{order = "DESC"}} : f32 -> {_F}',
        (
            f'%r = pto.vmi.iota %x {{order = "UP"}} : f32 -> {_F}',
            f'%r = pto.vmi.vcmp %a, %b, %s {{cmp = "ult"}} : {_F}, {_F}, {_M} -> {_M}',
            f'%r = pto.vmi.vcmp %a, %b, %s {{cmp = "olt"}} : V<64xi32>, V<64xi32>, {_M} -> {_M}',
            f"%b = arith.constant 8 : i16\npto.vmi.vsstb %v, %p[%i], %b, %m"
            f' {{pmode = "merge"}} : {_F}, P<f32, ub>, {_M}',
        ),
    ),
    (
        "VMI-12",
        f"%r = pto.vmi.vcadd %a, %m {{reassoc}} : {_F}, {_M} -> V<1xf32>",
        (f"%r = pto.vmi.vcadd %a, %m : {_F}, {_M} -> V<1xf32>",),
    ),
    (
        "VMI-13",
        f'{_CVT} {{saturate = "SAT"}} : {_F} -> V<64xsi32>',
        (
            f'{_CVT} {{saturate = "SAT"}} : {_F} -> V<64xui8>',
            f"{_CVT} : V<64xf16> -> V<64xbf16>",
            f"{_CVT} : V<64xi32> -> {_F}",
            f"{_CVT} : V<64xi32> -> V<64xui32>",
            f"{_CVT} : V<64x!pto.bf16x2> -> {_F}",
        ),
    ),
    (
        "VMI-14",
        f'{_CVT} {{rounding = "H", saturate = "NOSAT"}} : {_F} -> V<64xf16>',
        (
            f"{_CVT} : {_F} -> V<64xf16>",
            f'{_CVT} {{saturate = "YES"}} : {_F} -> V<64xf16>',
            f'{_CVT} {{rounding = "F", saturate = "SAT"}} : {_F} -> V<64xf16>',
            f'{_CVT} {{rounding = "R"}} : V<64xf16> -> {_F}',
            f'{_CVT} {{saturate = "SAT"}} : V<64xf16> -> V<64xsi32>',
            f'{_CVT} {{saturate = "SAT"}} : V<64xsi32> -> V<64xsi8>',
            f'{_CVT} {{saturate = "SAT"}} : V<64x!pto.bf16x2> -> V<64x!pto.f4E2M1x2>',
        ),
    ),
    (
        "VMI-15",
        f"%r = pto.vmi.extf %a : V<64xf16> -> {_F}",
        ("%r = pto.vmi.extf %a : V<64xf32> -> V<64xf16>", "%r = pto.vmi.extui %a : V<64xui8> -> V<64xi8>"),
    ),
    (
        "VMI-16",
        f"%r = pto.vmi.bitcast %a : {_F} -> V<128xf16>",
        (f"%r = pto.vmi.bitcast %a : {_F} -> V<64xf16>",),
    ),
    (
        "VMI-17",
        f"%r = pto.vmi.vselr %a, %i : {_F}, V<64xi32> -> {_F}",
        (
            f"%r = pto.vmi.vselr %a, %i : {_F}, V<64xi16> -> {_F}",
            f"%r = pto.vmi.vselr %a, %i : {_F}, V<64xf32> -> {_F}",
        ),
    ),
    (
        "VMI-18",
        f"%r = pto.vmi.load %p[%i] : P<f32, ub> -> {_F}",
        (
            f"%r = pto.vmi.load %p[%i] : P<f32, gm> -> {_F}",
            f'"pto.vmi.store"(%v, %p, %i) : ({_F}, memref<64xf32, #pto.address_space<gm>>, index) -> ()',
        ),
    ),
    (
        "VMI-19",
        f"%r = pto.vmi.vload %p[%i] : P<f32, ub> -> {_F}",
        (
            f"%r = pto.vmi.vload %p[%i] : P<f16, ub> -> {_F}",
            "pto.vmi.vstore %v, %p[%i] : V<64xsi32>, P<i32, ub>",
        ),
    ),
    (
        "VMI-20",
        f"%r = pto.vmi.vgather %p, %o, %m : P<f32, ub>, V<64xui32>, {_M} -> {_F}",
        (
            f"%r = pto.vmi.vgather %p, %o, %m : P<f32, ub>, V<64xsi32>, {_M} -> {_F}",
            f"%r = pto.vmi.vgather %p, %o, %m : P<f32, ub>, V<64xui16>, {_M} -> {_F}",
            f"pto.vmi.vscatter %v, %p, %o, %m : {_F}, P<f32, ub>, V<64xi8>, {_M}",
        ),
    ),
    (
        "VMI-21",
        f"%s = arith.constant 8 : index\n%r = pto.vmi.vload %p[%i], %s {{group = 8}} : P<f32, ub> -> {_F}",
        (
            f"%r = pto.vmi.vload %p[%i] {{group = 8}} : P<f32, ub> -> {_F}",
            f'%r = pto.vmi.vload %p[%i] {{dist_mode = "dintlv"}} : P<f32, ub> -> {_F}',
            f"pto.vmi.vstore %v, %w, %p[%i] : {_F}, {_F}, P<f32, ub>",
        ),
    ),
    (
        "VMI-22",
        f'%r = "pto.vmi.constant"() {{value = dense<1.0> : tensor<64xf32>}} : () -> {_F}',
        (
            f'%r = "pto.vmi.constant"() {{value = dense<1.0> : tensor<32xf32>}} : () -> {_F}',
            f'%r = "pto.vmi.constant"() {{value = 1.0 : f32}} : () -> {_F}',
            f'%r = "pto.vmi.constant_mask"() {{value = dense<1> : tensor<64xi32>}} : () -> {_M}',
        ),
    ),
    (
        "VMI-23",
        f"%r = pto.vmi.broadcast %x : V<1xf32> -> {_F}",
        (
            f"%r = pto.vmi.broadcast %x : f16 -> {_F}",
            f"%r = pto.vmi.broadcast %x : V<2xf32> -> {_F}",
            f"%r = pto.vmi.vbrc %x {{group = 8}} : f32 -> {_F}",
        ),
    ),
    (
        "VMI-24",
        "%r = pto.vmi.vci %x {group = 4} : i32 -> V<128xi32>",
        ("%r = pto.vmi.vci %x {group = 2} : i32 -> V<96xi32>",),
    ),
    (
        "VMI-25",
        "%r = pto.vmi.create_group_mask %n {num_groups = 8, group_size = 16} : index -> M<128xpred>",
        ("%r = pto.vmi.create_group_mask %n {num_groups = 8, group_size = 8} : index -> M<128xpred>",),
    ),
    (
        "VMI-26",
        f'%r = pto.vmi.pge "PAT_VL8" : {_M}',
        (
            f'%r = pto.vmi.pge "PAT_VL80" : {_M}',
            f'%r = pto.vmi.pge "PAT_H" : {_M}',
            f'%r = pto.vmi.pset "PAT_H" : {_M}',
        ),
    ),
    (
        "VMI-27",
        '%r = "pto.vmi.shuffle"(%a) {indices = array<i64: 0, 7>} : (V<8xf32>) -> V<2xf32>',
        (
            '%r = "pto.vmi.shuffle"(%a) {indices = array<i64: 0, 8>} : (V<8xf32>) -> V<2xf32>',
            '%r = "pto.vmi.shuffle"(%a) {indices = array<i64: 0>} : (V<8xf32>) -> V<2xf32>',
        ),
    ),
    (
        "VMI-28",
        '%a, %b = "pto.vmi.channel_split"(%s) : (V<128xf32>) -> (V<64xf32>, V<64xf32>)',
        (
            '%a, %b = "pto.vmi.channel_split"(%s) : (V<128xf32>) -> (V<32xf32>, V<32xf32>)',
            '%a = "pto.vmi.channel_split"(%s) : (V<128xf32>) -> V<128xf32>',
            '%r = "pto.vmi.channel_merge"(%a, %b) : (V<64xf32>, V<64xf16>) -> V<128xf32>',
        ),
    ),
    (
        "VMI-29",
        '%r = "pto.vmi.channel_merge"(%a, %b) : (V<64xf32, L[contiguous]>, V<64xf32, L[contiguous]>)'
        " -> V<128xf32, L[deinterleaved = 2]>",
        (
            '%r = "pto.vmi.channel_merge"(%a, %b) : (V<64xf32, L[contiguous]>, V<64xf32, L[contiguous]>)'
            " -> V<128xf32, L[deinterleaved = 4]>",
            '%r = "pto.vmi.channel_merge"(%a, %b) : (V<64xf32>, V<64xf32>) -> V<128xf32, L[contiguous]>',
        ),
    ),
    (
        "VMI-30",
        '%a, %b = "pto.vmi.unpack"(%s) : (V<128xf32, L[deinterleaved = 2]>) -> (!pto.vreg<64xf32>, !pto.vreg<64xf32>)',
        (
            '%a = "pto.vmi.unpack"(%s) : (V<128xf32, L[deinterleaved = 2]>) -> !pto.vreg<64xf32>',
            '%a = "pto.vmi.unpack"(%s) : (V<64xf32>) -> !pto.vreg<64xf32>',
            '%r = "pto.vmi.pack"(%a) : (!pto.mask<b16>) -> M<64xb32, L[contiguous]>',
        ),
    ),
    (
        "VMI-31",
        "%r = pto.vmi.ensure_mask_granularity %a : M<64xb16> -> M<64xb32>",
        ("%r = pto.vmi.ensure_mask_granularity %a : M<64xpred> -> M<64xb32>",),
    ),
    (
        "VMI-32",
        "%r = pto.vmi.vdhist %acc, %s, %m : V<256xui16>, V<256xui8>, M<256xpred> -> V<256xui16>",
        (
            "%r = pto.vmi.vdhist %acc, %s, %m : V<64xui16>, V<256xui8>, M<256xpred> -> V<64xui16>",
            "%r = pto.vmi.vdhist %acc, %s, %m : V<256xui16>, V<256xui8>, M<128xpred> -> V<256xui16>",
        ),
    ),
    (
        "VMI-33",
        f"%r = pto.vmi.vnot %a : {_M} -> {_M}",
        (
            f"%r = pto.vmi.vnot %a, %m : {_M}, {_M} -> {_M}",
            f'%r = pto.vmi.vnot %a {{pmode = "zero"}} : {_M} -> {_M}',
        ),
    ),
    (
        "VMI-34",
        "%l, %h = pto.vmi.vmull %a, %b, %m : V<64xi32>, V<64xi32>, M<64xpred> -> V<64xi32>, V<64xi32>",
        ("%l, %h = pto.vmi.vmull %a, %b, %m : V<32xi32>, V<32xi32>, M<32xpred> -> V<32xi32>, V<32xi32>",),
    ),
    (
        "VMI-35",
        f"%r = pto.vmi.vshls %a, %x, %m : V<64xi32>, i16, {_M} -> V<64xi32>",
        (
            f"%r = pto.vmi.vshls %a, %x, %m : V<64xi32>, i32, {_M} -> V<64xi32>",
            f"%r = pto.vmi.vshls %a, %x, %m : V<64xi32>, si16, {_M} -> V<64xi32>",
        ),
    ),
]


@each("rule, good", [(rule, good) for rule, good, _ in CASES])
def test_kept(rule: str, good: str) -> None:
    assert found(good) == []


@each("rule, wrong", [(rule, wrong) for rule, _, several in CASES for wrong in several])
def test_broken(rule: str, wrong: str) -> None:
    assert breaks(rule, wrong)


def test_every_rule_has_a_case() -> None:
    verified = {id for id in CATALOGUE if id.startswith("VMI-") and CATALOGUE[id].check is not None}
    assert verified == {rule for rule, *_ in CASES}
