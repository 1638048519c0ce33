"""The written form of each operation: what is read from it, and its canonical text (assembly 6-11)."""

from __future__ import annotations

import math

from ptokit.ir import RawAttr
from ptokit.isa.table import TABLE
from ptokit.types.enums import CmpMode, Layout, Pipe, RoundMode
from ptokit.types.values import I1, I64, INDEX
from tests.each import each

from .reading import body, canonical, errors_in, ops, read, round_trip

T = "!pto.tile_buf<vec, 16x16xf32>"
V = "!pto.partition_tensor_view<16x16xf32>"
D = "!pto.tile_buf<vec, 16x16xf32, valid=?x?>"

SAME = [  # canonical already
    "%a = arith.constant 7 : index",
    "%a = arith.constant -1 : i8",
    "%a = arith.constant true",
    "%a = arith.constant 0.125 : f32",
    "%a = arith.constant 1.0e-06 : f16",
    "%a = arith.constant 0x7F800000 : f32",
    "%a = arith.constant 0xFF80 : bf16",
    "%a = arith.constant dense<[1, 2, 3, 4]> : vector<4xi16>",
    "%a = arith.addi %n, %n overflow<nsw> : index",
    "%a = arith.mulf %x, %x : f32",
    "%a = arith.cmpi slt, %n, %n : index",
    "%a = arith.cmpf oeq, %x, %x : f32",
    "%a = arith.index_cast %n : index to i64",
    "%a = arith.select %c, %n, %n : index",
    "%a = pto.make_tensor_view %p, shape = [%n], strides = [%n] : !pto.tensor_view<?xf32>",
    "%a = pto.make_tensor_view %p, shape = [%n], strides = [%n] {layout = #pto.layout<dn>} : !pto.tensor_view<?xf32>",
    f"%a = pto.partition_view %tv, offsets = [%n, %n], sizes = [%n, %n] : !pto.tensor_view<?x16xf32> -> {V}",
    "%a = pto.get_tensor_view_dim %tv, %n : !pto.tensor_view<?x16xf32> -> index",
    f"%a = pto.alloc_tile : {T}",
    f"%a = pto.alloc_tile addr = %l : {T}",
    f"%a = pto.alloc_tile addr = %l valid_row = %n valid_col = %n : {D}",
    f"%a = pto.declare_tile -> {T}",
    f"%a = pto.tassign %t, %l : {T} -> {T}",
    f"%a = pto.subset %t[%n, %n] sizes [8, 8] : {T}",
    f"%a = pto.treshape %t : {T} -> !pto.tile_buf<vec, 8x32xf32>",
    f"%a = pto.bitcast %t : {T} -> !pto.tile_buf<vec, 16x16xi32>",
    "%a = pto.addptr %p, %n : !pto.ptr<f32> -> !pto.ptr<f32>",
    "%a = pto.load_scalar %p[%n] : !pto.ptr<f32> -> f32",
    "pto.store_scalar %x, %p[%n] : !pto.ptr<f32>, f32",
    "%a = pto.get_block_idx",
    "pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID7>]",
    "pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]",
    "pto.set_flag_dyn[<PIPE_V>, <PIPE_MTE3>, %n]",
    "pto.barrier <PIPE_ALL>",
    f"pto.tsync ins(%t, %u : {T}, {T})",
    "pto.record_event[#pto.pipe_event_type<TLOAD>, #pto.pipe_event_type<TVEC>, <EVENT_ID1>]",
    "pto.barrier_sync[#pto.pipe_event_type<TVEC>]",
    "%a = pto.declare_eventid_array -> !pto.eventid_array<4>",
    "pto.get_buf [#pto.pipe_event_type<TLOAD>, 3]",
    "pto.rls_buf [#pto.pipe<PIPE_V>, 3, 1]",
    "pto.sync.set <PIPE_FIX>, 16 {ffts_mode = 2 : i32}",
    "pto.sync.wait <PIPE_V>, %n",
    "pto.aic_initialize_pipe {dir_mask = 3, slot_size = 64} (c2v_consumer_buf = %i : i32, v2c_consumer_buf = %i : i32)",
    f"pto.tpush_to_aiv(%t : {T}) {{split = 1}}",
    f"%a = pto.tpop_from_aic {{split = 0}} -> {T}",
    f"%a = pto.tpop_from_aic(%n, %n) {{split = 0}} -> {D}",
    "pto.tfree_from_aic {split = 0}",
    '%a = pto.reserve_buffer {name = "q", size = 64, location = <vec>, auto = false, base = 0} -> i32',
    '%a = pto.import_reserved_buffer {name = "q", peer_func = @f} -> i32',
    "%a = pto.initialize_l2l_pipe {dir_mask = 1, slot_size = 64, slot_num = 8} (%i : i32) -> !pto.pipe",
    f"pto.tadd ins(%t, %u : {T}, {T}) outs(%t : {T})",
    f"pto.tadds ins(%t, %x : {T}, f32) outs(%u : {T})",
    f"pto.tcvt ins(%t {{rmode = #pto<round_mode RINT>}} : {T}) outs(%u : {T})",
    f"pto.tload ins(%v : {V}) outs(%t : {T})",
    f"pto.tstore ins(%t : {T}) outs(%v : {V})",
    f"pto.tstore ins(%t : {T}, %l : i64) outs(%v : {V}) {{atomicType = #pto<atomic_type atomic_add>}}",
    f"pto.tdivs ins(%t, %x : {T}, f32) outs(%u : {T})",
    f"pto.tdivs ins(%x, %t : f32, {T}) outs(%u : {T})",
    f"pto.tpush(%t, %i : {T}, i32) {{split = 1}}",
    f"pto.tpop(%t, %i : {T}, i32) {{split = 1}}",
    "pto.tfree(%i : i32) {split = 2}",
    "%a = pto.initialize_l2g2l_pipe {dir_mask = 3, slot_size = 64, slot_num = 8, local_slot_num = 4, flag_base = 0, "
    "nosplit = true} (%p : !pto.ptr<f32>, %i : i32, %i : i32) -> !pto.pipe",
    f"%a = pto.comm.build_async_session(%t, %p : {T}, !pto.ptr<f32>) {{sync_id = 1 : i32}} -> !pto.async_session",
    f"%a = pto.comm.tput_async(%v, %v, %l : {V}, {V}, i64) -> !pto.async_event",
    "%a = pto.comm.wait_async_event(%l, %i : i64, i32) -> i1",
    f"%a = pto.bind_tile %t, %n, %n {{config = #pto.tile_buf_config<pad=1 : i32>}} : {T} -> memref<16x16xf32>",
    f"%a = pto.bind_tile %t : {T} -> memref<16x16xf32>",
    "%a = pto.pointer_cast(%l) (%n, %n) : memref<?x?xf32>",
    "%a = pto.pointer_cast(%l, %l) {config = #pto.tile_buf_config<>} : memref<16xf32>",
    "%a = pto.declare_tile_memref -> memref<16xf32>",
    f"%a = pto.tile_buf_addr %t : {T} -> !pto.ptr<f32, ub>",
    "%a = pto.castptr %l : i64 -> !pto.ptr<f32, l1>",
    "pto.set_ffts %l : i64",
    'pto.mem_bar "VST_VLD"',
    "%a = memref.alloc() : memref<16xf32>",
    "%a = memref.alloc(%n) {alignment = 64} : memref<?xf32>",
    "%a = builtin.unrealized_conversion_cast %n, %x : index, f32 to i64",
]


@each("line", SAME)
def test_canonical_forms_stay(line: str) -> None:
    assert canonical(line) == [line]


@each(
    "text, line",
    [
        ("%a = arith.constant 0xFF : i8", "%a = arith.constant -1 : i8"),
        ("%a = arith.constant 1 : i1", "%a = arith.constant true"),
        ("%a = arith.constant 0x3F800000 : f32", "%a = arith.constant 1.0 : f32"),
        ("%a = arith.constant 0x3C00 : f16", "%a = arith.constant 1.0 : f16"),
        ("%a = arith.constant 1.50E+03 : f64", "%a = arith.constant 1500.0 : f64"),
        ("%a = pto.addptr %p, %n : <f32> -> <f32>", "%a = pto.addptr %p, %n : !pto.ptr<f32> -> !pto.ptr<f32>"),
        (
            "%a = pto.make_tensor_view %p, shape = [%n] strides = [%n] : !pto.tensor_view<?xf32>",
            "%a = pto.make_tensor_view %p, shape = [%n], strides = [%n] : !pto.tensor_view<?xf32>",
        ),
        (
            'pto.set_flag ["PIPE_V", #pto.pipe<PIPE_S>, #pto<event EVENT_ID2>]',
            "pto.set_flag[<PIPE_V>, <PIPE_S>, <EVENT_ID2>]",
        ),
        ("pto.barrier #pto.pipe<PIPE_V>", "pto.barrier <PIPE_V>"),
        ('pto.get_buf "PIPE_V", 0, 1', "pto.get_buf [#pto.pipe<PIPE_V>, 0, 1]"),
        (
            "pto.wait_event [#pto.sync_op_type<TLOAD>, #pto.sync_op_type<TVEC>, <EVENT_ID0>]",
            "pto.wait_event[#pto.pipe_event_type<TLOAD>, #pto.pipe_event_type<TVEC>, <EVENT_ID0>]",
        ),
        (
            f"pto.tstore ins(%t : {T}) outs(%v : {V}) {{layout = #pto.layout<nd>, pto.inferred_layout = true}}",
            f"pto.tstore ins(%t : {T}) outs(%v : {V}) {{layout = #pto.layout<nd>, pto.inferred_layout = true}}",
        ),
        (
            f'pto.tadd ins(%t : {T}, %u : {T}) outs(%t : {T}) {{"t.odd key" = [1, {{a}}], t.u, t.n = 3}} loc("f":1:2)',
            f'pto.tadd ins(%t, %u : {T}, {T}) outs(%t : {T}) {{"t.odd key" = [1, {{a}}], t.u, t.n = 3}}',
        ),
        (f"pto.tmov.v2v ins(%t : {T}) outs(%u : {T})", f"pto.tmov ins(%t : {T}) outs(%u : {T})"),
        ("%7 = arith.addi %n, %n : index", "%7 = arith.addi %n, %n : index"),
        ("arith.addi %n, %n : index", "%0 = arith.addi %n, %n : index"),
    ],
)
def test_other_spellings_become_canonical(text: str, line: str) -> None:
    assert canonical(text) == [line]


def test_operands_follow_the_table() -> None:
    (op,) = ops(f"pto.tadds ins(%t, %x : {T}, f32) outs(%u : {T})")
    assert list(op.operands) == [o.name for o in TABLE["TADDS"].operands]
    assert [v.name for v in op.values] == ["u", "t", "x"]


def test_optional_operands_are_told_by_their_types() -> None:
    plain, quantised = ops(
        f"pto.tstore ins(%t : {T}) outs(%v : {V})\npto.tstore ins(%t : {T}, %l : i64) outs(%v : {V})"
    )
    assert plain.get("quant") is None
    assert quantised["quant"].name == "l"
    assert errors_in(f"pto.tstore ins(%t : {T}, %u : {T}) outs(%v : {V})") == [("TEXT-OPERANDS", 1, 1)]


def test_attribute_values() -> None:
    convert, divide, view = ops(
        f"pto.tcvt ins(%t {{rmode = #pto.round_mode<CAST_RINT>}} : {T}) outs(%u : {T})\n"
        f"pto.tdivs ins(%x, %t : f32, {T}) outs(%u : {T})\n"
        "%a = pto.make_tensor_view %p, shape = [%n], strides = [%n] {layout = <nz>} : !pto.tensor_view<?xf32>"
    )
    assert convert.attrs == {"rmode": RoundMode.CAST_RINT}
    assert divide.attrs == {"scalar_first": True}
    assert view.attrs == {"layout": Layout.NZ}
    flag, barrier = ops("pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID7>]\npto.barrier <PIPE_ALL>")
    assert flag.attrs == {"src_pipe": Pipe.MTE2, "dst_pipe": Pipe.V, "event_id": 7}
    assert barrier.attrs == {"pipe": Pipe.ALL}
    assert CmpMode.from_text("LT") is CmpMode.LT


@each(
    "snippet, value",
    [("-7 : i32", -7), ("0x10 : index", 16), ("4294967295 : ui32", 4294967295), ("false", False), ("2.5 : f32", 2.5)],
)
def test_constants(snippet: str, value: object) -> None:
    (op,) = ops(f"%a = arith.constant {snippet}")
    assert op.attrs["value"] == value
    assert type(op.attrs["value"]) is type(value)


def test_special_float_constants() -> None:
    nan, infinity = ops("%a = arith.constant 0x7E00 : f16\n%b = arith.constant 0x7F800000 : f32")
    assert math.isnan(nan.attrs["value"])
    assert infinity.attrs["value"] == math.inf


def test_result_types() -> None:
    compare, query, element = ops(
        "%a = arith.cmpi eq, %n, %n : index\n%b = pto.get_subblock_num\n%e = pto.load_scalar %p[%n] : <f32> -> f32"
    )
    assert compare.result.type == I1
    assert query.result.type == I64
    assert str(element.result.type) == "f32"


def test_subset_takes_what_is_left_of_the_valid_region() -> None:
    (*_, a, b, c) = ops(
        "%c0 = arith.constant 0 : index\n%c8 = arith.constant 8 : index\n%c24 = arith.constant 24 : index\n"
        "%w = pto.alloc_tile : !pto.tile_buf<vec, 16x64xf32, valid=12x32>\n"
        "%a = pto.subset %w[%c0, %c8] sizes [16, 16] : !pto.tile_buf<vec, 16x64xf32, valid=12x32>\n"
        "%b = pto.subset %w[%c8, %c24] sizes [8, 32] : !pto.tile_buf<vec, 16x64xf32, valid=12x32>\n"
        "%d = pto.subset %w[%n, %c0] sizes [8, 32] : !pto.tile_buf<vec, 16x64xf32, valid=12x32>"
    )
    assert str(a.result.type) == "!pto.tile_buf<vec, 16x16xf32, valid=12x16>"
    assert str(b.result.type) == "!pto.tile_buf<vec, 8x32xf32, valid=4x8>"
    assert str(c.result.type) == "!pto.tile_buf<vec, 8x32xf32, valid=?x32>"


def test_loops_and_branches() -> None:
    text = """\
%r:2 = scf.for %k = %n to %n step %n iter_args(%s = %x, %m = %n) -> (f32, index) {
  %s1 = arith.addf %s, %s : f32
  scf.yield %s1, %k : f32, index
}
%q = scf.if %c -> (f32) {
  scf.yield %r#0 : f32
} else {
  scf.yield %x : f32
}
scf.if %c {
  scf.for %k = %i to %i step %i : i32 {
  }
}
%w, %z = scf.while (%k = %r#1, %g = %c) : (index, i1) -> (index, i1) {
  scf.condition(%g) %k, %g : index, i1
} do {
^bb0(%k: index, %g: i1):
  scf.yield %k, %g : index, i1
}
pto.section.vector {
  %k = arith.addi %w, %w : index
}""".splitlines()
    assert canonical("\n".join(text)) == text
    loop, branch, short, repeat, section = ops("\n".join(text))
    assert [v.name for v in loop.regions[0].args] == ["k", "s", "m"]
    assert [v.name for v in loop.group("init")] == ["x", "n"]
    assert branch["condition"].type == I1
    assert len(short.regions) == 1
    assert str(short.regions[0].ops[0].regions[0].args[0].type) == "i32"
    assert [len(r.ops) for r in repeat.regions] == [1, 1]
    assert section.name == "pto.section.vector"
    assert loop.group("init")[1].type == INDEX


def test_event_id_arrays() -> None:
    lines = [
        "%a = pto.declare_eventid_array -> !pto.eventid_array<4>",
        "pto.eventid_array_set %a[%n], %n : !pto.eventid_array<4>",
        "%e = pto.eventid_array_get %a[%n] : !pto.eventid_array<4>",
        "pto.wait_flag_dyn[<PIPE_V>, <PIPE_MTE3>, %e]",
    ]
    assert canonical("\n".join(lines)) == lines


def test_places_of_the_source_are_skipped() -> None:
    text = """\
#loc = loc("a.py":1:2)
module {
  func.func @f(%n: index loc("n"(#loc)), %c: i1 loc(#loc1)) {
    %a = arith.addi %n, %n : index loc(callsite("g" at "a.py":3:4))
    %r = scf.while (%k = %a) : (index) -> (index) {
      scf.condition(%c) %k : index loc(#loc)
    } do {
    ^bb0(%k: index loc(unknown)):
      scf.yield %k : index
    } loc(#loc)
    return loc(#loc)
  } loc(#loc)
} loc(#loc)
#loc1 = loc(fused<"pass">[#loc, "b.py":5:6])
"""
    assert "loc" not in round_trip(read(text))


def test_functions_and_calls() -> None:
    text = """\
module @"a module" attributes {pto.target_arch = "a5", "pto.device-spec" = "Ascend950", n = 3, list = [1, 2]} {
  func.func private @declared(f32, !pto.ptr<f32> {pto.x}) -> (f32, index)
  func.func @callee(%a: f32 {pto.x = 1}) -> f32 attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
    return %a : f32
  }
  func.func @entry(%a: f32, %p: !pto.ptr<f32>) attributes {pto.entry, other} {
    %b = func.call @callee(%a) : (f32) -> f32
    %0:2 = func.call @declared(%b, %p) : (f32, !pto.ptr<f32>) -> (f32, index)
    return
  }
}
"""
    module = read(text)
    assert round_trip(module) == text
    assert module.name == "a module"
    assert module.attrs["pto.target_arch"] == "a5"
    declared, callee, entry = module.functions
    assert declared.body is None
    assert declared.param_attrs == [{}, {"pto.x": RawAttr("unit")}]
    assert callee.attrs == {"pto.kernel_kind": "vector"}
    assert entry.attrs == {"pto.entry": True, "other": RawAttr("unit")}
    assert module.entries() == [entry]
    assert body(read("func.func @f() { call @f() : () -> () return }")).ops[0].attrs == {"callee": "f"}


def test_implicit_module() -> None:
    module = read("func.func @f() { return }\nfunc.func @g() { return }")
    assert [f.name for f in module.functions] == ["f", "g"]
    assert round_trip(module).startswith("module {\n")


def test_memref_descriptors() -> None:
    line = (
        "%a = memref.reinterpret_cast %m to offset: [%n], sizes: [16, %n], strides: [%n, 1] : "
        "memref<?xf32> to memref<16x?xf32, strided<[?, 1], offset: ?>>"
    )
    assert (
        canonical("%m = memref.alloc(%n) : memref<?xf32>\n" + line + "\nmemref.dealloc %m : memref<?xf32>")[1] == line
    )
