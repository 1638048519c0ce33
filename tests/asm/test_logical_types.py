"""Logical vectors, their predicates and layouts; operations on them, and those of threads."""

from __future__ import annotations

import pytest

from ptokit.types.values import LogicalMask, LogicalVector

from .reading import errors, read, round_trip

LAYOUTS = [
    ("contiguous", "contiguous"),
    (" contiguous , lane_stride = 2", "contiguous, lane_stride = 2"),
    ("contiguous, lane_stride=1", "contiguous"),
    ("deinterleaved=2", "deinterleaved = 2"),
    ("deinterleaved = 4, lane_stride = 2", "deinterleaved = 4, lane_stride = 2"),
    ("block_deinterleaved = 2", "block_deinterleaved = 2"),
    ("num_groups = 64", "num_groups = 64"),
    ("num_groups = 64, slots = 8, lane_stride = 4", "num_groups = 64, slots = 8, lane_stride = 4"),
    ("num_groups = 64, lane_stride = 4, slots = 8", "num_groups = 64, slots = 8, lane_stride = 4"),
]


def argument(type: str) -> object:
    return read(f"func.func @f(%a: {type}) {{ return }}").functions[0].body.args[0].type


@pytest.mark.parametrize(("written", "printed"), LAYOUTS)
def test_layouts(written: str, printed: str) -> None:
    vector = argument(f"!pto.vmi.vreg<64xf32, #pto.vmi.layout<{written}>>")
    assert isinstance(vector, LogicalVector)
    assert str(vector) == f"!pto.vmi.vreg<64xf32, #pto.vmi.layout<{printed}>>"
    assert argument(str(vector)) == vector
    assert str(argument(f"!pto.vmi.mask<8xb16, #pto.vmi.layout<{written}>>")).endswith(f"layout<{printed}>>")


@pytest.mark.parametrize("text", ["!pto.vmi.vreg<100x!pto.hif8>", "!pto.vmi.mask<100xpred>", "!pto.vmi.mask<3xb32>"])
def test_any_number_of_lanes(text: str) -> None:
    found = argument(text)
    assert isinstance(found, LogicalVector | LogicalMask)
    assert str(found) == text


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("!pto.vmi.vreg<0xf32>", "0xf32"),
        ("!pto.vmi.vreg<64xi64>", "i64"),
        ("!pto.vmi.vreg<f32>", "f32"),
        ("!pto.vmi.mask<64xb64>", "b64"),
        ("!pto.vmi.mask<64xpred, #pto.vmi.layout<contiguous>>", "pred"),
        ("!pto.vmi.vreg<64xf32, #pto.vmi.layout<deinterleaved = 3>>", "#pto"),
        ("!pto.vmi.vreg<64xf32, #pto.vmi.layout<deinterleaved>>", "#pto"),
        ("!pto.vmi.vreg<64xf32, #pto.vmi.layout<contiguous = 2>>", "#pto"),
        ("!pto.vmi.vreg<64xf32, #pto.vmi.layout<contiguous, lane_stride = 0>>", "#pto"),
        ("!pto.vmi.vreg<64xf32, #pto.vmi.layout<block_deinterleaved = 2, lane_stride = 2>>", "#pto"),
        ("!pto.vmi.vreg<64xf32, #pto.vmi.layout<num_groups = 8>>", "#pto"),
        ("!pto.vmi.vreg<64xf32, #pto.vmi.layout<zigzag>>", "#pto"),
    ],
)
def test_wrong_types(text: str, wrong: str) -> None:
    line = f"func.func @f(%a: {text}) {{ return }}"
    assert errors(line) == [("VMI-01", 1, line.index(wrong, line.index("<")) + 1)]


LINES = """\
%r = pto.vmi.vload %p[%i] : !pto.ptr<f32, ub> -> $v
%r = pto.vmi.vload %p[%i], %i {group = 4 : i64} : !pto.ptr<f32, ub> -> $v
%r, %s = pto.vmi.vload %p[%i] {dist_mode = "dintlv"} : !pto.ptr<f32, ub> -> $v, $v
%r = pto.vmi.vload %p[%i], %h, %h : !pto.ptr<f32, ub> -> $v
pto.vmi.vstore %v, %p[%i], %m : $v, !pto.ptr<f32, ub>, $m
pto.vmi.vstore %v, %v, %p[%i] {dist_mode = "dintlv"} : $v, $v, !pto.ptr<f32, ub>
pto.vmi.vstore %v, %p[%i], %i {group = 4 : i64} : $v, !pto.ptr<f32, ub>
%r = pto.vmi.vadd %v, %v, %m {pmode = "merge"} : $v, $v, $m -> $v
%r = pto.vmi.vadd %v, %v : $v, $v -> $v
%r = pto.vmi.cmpf "olt", %v, %v : $v, $v -> $m
%r = pto.vmi.reduce_addf %v, %m {reassoc} : $v, $m -> !pto.vmi.vreg<1xf32>
%r = pto.vmi.vbrc %x : f32 -> $v
%r = pto.vmi.vbrc %w {group = 4 : i64} : !pto.vmi.vreg<4xf32> -> $v
%r, %s = "pto.vmi.unpack"(%v) : ($v) -> (!pto.vreg<64xf32>, !pto.vreg<64xf32>)
%r = "pto.vmi.channel_merge"(%v, %v) : ($v, $v) -> !pto.vmi.vreg<256xf32>
%r = pto.ldg %g[%i] l1cache(cache) l2cache(nmfv) : !pto.ptr<f32, gm> -> f32
%r = pto.ldg %g[%i] : !pto.ptr<f32, gm> -> f32
pto.stg %x, %g[%i] l2cache(wbhfv) : !pto.ptr<f32, gm>, f32
%r = pto.atomic_add %g, %x l2cache(wtsred) : !pto.ptr<f32, gm>, f32 -> f32
%r = pto.redux_max %n unsigned : i32 -> i32
%r = pto.convert %x round(z) sat signed : f32 -> i32
%r = pto.shuffle_idx %x, %n {width = 16 : i32} : f32, i32 -> f32
pto.simt_launch @body<<<%n, %n, %n>>>(%g, %n) : (!pto.ptr<f32, gm>, i32) -> ()
pto.simt_launch @body<<<%n, %n, %n>>>() : () -> ()
pto.section.simt<<<32, 2, 1>>> {
%r = llvm.alloca %n x f32 {pto.persistent} : (i32) -> !llvm.ptr
%r = llvm.getelementptr %u[%l, 4] {inbounds} : (!llvm.ptr, i64) -> !llvm.ptr, f32
%r = llvm.load %u : !llvm.ptr -> vector<2xf32>
llvm.store %x, %u : f32, !llvm.ptr
%r = llvm.extractelement %o[%n : i32] : vector<2xf32>
%r = llvm.bitcast %x : f32 to i32
%r = llvm.inttoptr %l : i64 to !llvm.ptr
pto.dcci %g "ENTIRE_DATA_CACHE", "CACHELINE_OUT" : !pto.ptr<f32, gm>
pto.dcci
pto.dsb "DDR"
pto.dsb
pto.ub.set_mask_count
pto.ub.vadd %p, %p, %p, %l, %l, %l, %l, %l, %l, %l : $p, $p, $p, i64, i64, i64, i64, i64, i64, i64
pto.mte_l1_l0a %b, %c, %l, %l, %l, %l {transpose = true} : $b, $c, i64, i64, i64, i64
pto.mte_l1_l0a %b, %c, %l, %l : $b, $c, i64, i64
pto.mte_l1_l0a %b, %c, %l, %l, %l, %l, %l, %l : $b, $c, i64, i64, i64, i64, i64, i64
pto.mte_l0c_l1 %d, %b, %l, %l, %l, %l, nz2nz(%l), sat(preserve_nan) : $d, $b, i64, i64, i64, i64, i64
pto.mte_l0c_l1 %d, %b, %l, %l, %l, %l, unit_flag(check_and_clear), nz2nd, nosat : $d, $b, i64, i64, i64, i64
pto.mad %c, %e, %d, %l, %l, %l disable_gemv sat n_dir : $c, $e, $d, i64, i64, i64
"""
TYPES = {
    "$v": "!pto.vmi.vreg<128xf32>",
    "$m": "!pto.vmi.mask<128xpred>",
    "$p": "!pto.ptr<f32, ub>",
    "$b": "!pto.ptr<f16, l1>",
    "$c": "!pto.ptr<f16, l0a>",
    "$e": "!pto.ptr<f16, l0b>",
    "$d": "!pto.ptr<f32, l0c>",
}
HEAD = """\
func.func @f(%p: $p, %g: !pto.ptr<f32, gm>, %v: $v, %m: $m, %w: !pto.vmi.vreg<4xf32>, %i: index, %h: i16, %x: f32,
             %n: i32, %l: i64, %u: !llvm.ptr, %o: vector<2xf32>, %b: $b, %c: $c, %e: $e, %d: $d) {
"""


def inside(line: str) -> str:
    text = f"{HEAD}  {line}\n  {'}' if line.endswith('{') else ''}\n  return\n}}\n"
    for short, long in TYPES.items():
        text = text.replace(short, long)
    return text


@pytest.mark.parametrize("line", LINES.splitlines())
def test_operations_are_printed_as_they_are_written(line: str) -> None:
    printed = round_trip(read(inside(line)))
    wanted = (
        line if line != "pto.dcci(%g : !pto.ptr<f32, gm>)" else 'pto.dcci %g "SINGLE_CACHE_LINE" : !pto.ptr<f32, gm>'
    )
    for short, long in TYPES.items():
        wanted = wanted.replace(short, long)
    assert wanted in [shown.strip() for shown in printed.splitlines()]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("%r = pto.vmi.vadd %v, %x : $v, f32 -> $v", "VMI-02"),
        ("%r = pto.vmi.vadd %v, %v : $v, $v -> $m", "VMI-02"),
        ("pto.mte_l1_l0a %b, %c, %l, %l, %l : $b, $c, i64, i64, i64", "TEXT-OPERANDS"),
        ("pto.mte_l1_l0a %b, %c, m(%l), m_start(%l) : $b, $c, i64, i64", "TEXT-OPERANDS"),
        ("%r = pto.ldg %g[%i] l1cache(never) : !pto.ptr<f32, gm> -> f32", "TEXT-UNEXPECTED"),
        ("%r = pto.redux_max %n maybe : i32 -> i32", "TEXT-UNEXPECTED"),
        ("pto.simt_launch @body<<<%n, %n>>>() : () -> ()", "TEXT-UNEXPECTED"),
        ("pto.simt_launch @body<<<%n, %n, %gone>>>() : () -> ()", "TY-9"),
    ],
)
def test_wrong_operations(line: str, rule: str) -> None:
    text = inside(line)
    assert [(r, at) for r, at, _ in errors(text)] == [(rule, 3)]


def test_named_fields_may_stand_in_any_order() -> None:
    names = ["dst_stride", "k_step", "m_step", "k_start", "src_stride", "m_start"]
    values = ", ".join(f"%c{k}" for k in range(6))
    constants = "".join(f"  %c{k} = arith.constant {k} : i64\n" for k in range(6))
    shown = ", ".join(f"{name}(%c{k})" for k, name in enumerate(names))
    line = f"pto.mte_l1_l0a %b, %c, {shown} : $b, $c{', i64' * 6}"
    text = inside("LINE").replace("  LINE", constants + "  " + line)
    for short, long in TYPES.items():
        text = text.replace(short, long)
    (op,) = (op for op in read(text).functions[0].body.walk() if op.name == "pto.mte_l1_l0a")
    assert values
    assert {name: op[name].name for name in names} == {name: f"c{k}" for k, name in enumerate(names)}
