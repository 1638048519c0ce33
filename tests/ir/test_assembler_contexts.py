"""What the reference assembler asks of allocations, levels, transfers between devices, structs, loops and sections."""

from __future__ import annotations

import re

import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import CATALOGUE, Scope
from ptokit.ir.verify import verify
from ptokit.targets import target

TILE = "!pto.tile_buf<vec, 16x16xf32>"
SLOTS = "!pto.multi_tile_buf<{0}, count=2>"
ALLOC = "%t = pto.alloc_tile : {0}"
PLACED = "%a = arith.constant {0} : i64 %t = pto.alloc_tile addr = %a : {1}"
SEVERAL = "%m = pto.alloc_multi_tile{0} : !pto.multi_tile_buf<{1}, count=2>"
PUT = "pto.comm.tput(%d, %s, buf(%t) : {0}, {1}, T) {{atomicType = #pto<atomic_type atomic_none>}}"
PUT_PAIR = "%u = pto.alloc_tile : {0} pto.comm.tput(%d, %s, buf(%t, %u) : V, V, T, {0})"
BROADCAST = "pto.comm.tbroadcast(%d, recv(%t), group(%d, %s) : {0}, T, {0}, {1}) {{root = {2}}}"
NOTIFY = "%o = arith.constant 1 : {1} pto.comm.tnotify(%n, %o : {0}, {1}) {{notifyOp = #pto<notify_op set>}}"
SOFT = "mode = #pto.sync_all_mode<soft>, core_type = #pto.sync_core_type<aiv_only>"
SYNC = f"pto.syncall(%p : {{0}}) {SOFT}"
SYNC_USED = f"%u = arith.constant 2 : {{0}} pto.syncall(%p, %u : !pto.ptr<i32>, {{0}}) {SOFT}"
LINES = "pto.cmo.cacheinvalid %p single_cache_line : {0}"
STRUCT = "!pto.struct<i32, f16>"
DECLARE = f"%x = pto.declare_struct -> {STRUCT}"
YIELD = (
    f"%r = scf.if %c -> ({STRUCT}) {{{{ {DECLARE} scf.yield %x : {STRUCT} }}}} "
    f"else {{{{ {DECLARE.replace('%x', '%y')} scf.yield %y : {STRUCT} }}}}"
)
LOOP = "%z = arith.constant 0 : index %k = arith.constant {0} : index scf.for %i = %z to %k step %k {{ scf.yield }}"
SIMT = "pto.section.simt<<<32, 1, 1>>> {{ {0} }}"
POINTER = "%p = pto.inttoptr %a : {0} -> !pto.ptr<i32> %z = arith.constant 0 : index {1}"
LOAD = "%l = pto.load_scalar %p[%z] : !pto.ptr<i32> -> i32"
ADVANCE = "%q = pto.addptr %p, %z : !pto.ptr<i32> -> !pto.ptr<i32>"
RESERVE = '%b = pto.reserve_buffer {{name = "f", size = 64, location = #pto.address_space<vec>, auto = {0}}} -> i32'
XOR = "%a = pto.alloc_tile{0} : {1} pto.txor ins(%a, %a : {1}, {1}) outs(%a : {1})"
QUANT = (
    "%a = pto.alloc_tile{0} : {1} %p = pto.alloc_tile : P %d = pto.alloc_tile{0} : {2} "
    "pto.tquant ins(%a, %p : {1}, P) outs(%d : {2}) {{quant_type = #pto<quant_type INT8_SYM>}}"
)
SLICE, WHOLE = "!pto.partition_tensor_view<{0}xf32>", "!pto.tensor_view<{0}xf32>"
SIXTEEN = {"T": TILE, "V": SLICE.format("16x16")}
OPEN = " valid_row = %i valid_col = %i"
ZZ = "pto.tmov ins(%s, %t : {0}, {1}) outs(%d : {2})"
ZZ_TILES = (
    "!pto.tile_buf<vec, 16x32xui8, valid={0}>",
    "!pto.tile_buf<vec, 1x{0}xui8>",
    "!pto.tile_buf<vec, 16x32xui8, valid={0}, slayout=row_major>",
)
NAMED = {**SIXTEEN, "P": "!pto.tile_buf<vec, 32x1xf32, blayout=col_major, valid=16x1>"}


def kernel(body: str, params: str = "", attributes: str = "") -> str:
    body, params = (re.sub(r"\b[TVP]\b(?=[ ,)]|$)", lambda m: NAMED[m[0]], text) for text in (body, params))
    return f"func.func @k({params}){attributes} {{\n  {body}\n  return\n}}\n"


def rules(text: str, arch: str = "a2a3", level: int | None = None) -> list[str]:
    parsed = parse_module(text, "k.pto", target=target(arch))
    assert not parsed.diagnostics.errors, parsed.diagnostics.errors
    return [d.rule for d in verify(parsed.module, target(arch), assembler=True, level=level).sorted()]


def both(form: str, good: tuple[str, ...], bad: tuple[str, ...], params: str = "") -> tuple[str, str]:
    """One text with words that pass, and with words that break."""
    return tuple(kernel(form.format(*words), params.format(*words)) for words in (good, bad))  # type: ignore[return-value]


ENDS = "%d: {0}, %s: {1}, %t: T "
TILES = "%d: V, %s: V, %t: T "
PLAIN, TURNED, BOXED = (f"!pto.tile_buf<{{0}}{more}>" for more in ("", ", blayout=col_major", ", slayout=row_major"))
V16, OPEN_V = SLICE.format("16x16"), SLICE.format("?x16")
STATED = ("", PLAIN.format("vec, 16x32xf32"), PLAIN.format("vec, 16x32xi8"))
LEFT_OPEN = (OPEN, *(t.replace(">", ", valid=?x?>") for t in STATED[1:]))
CASES = [
    ("TL-1", *both(ALLOC, ("!pto.tile_buf<vec, 16x16xf32>",), ("!pto.tile_buf<vec, 16x16xf32, fractal=16>",))),
    ("TL-1", *both(ALLOC, ("!pto.tile_buf<vec, 16x16xf32>",), ("!pto.tile_buf<vec, 16x16xf32, valid=20x16>",))),
    ("AL-7", *both(PLACED, ("64", TILE), ("70660", TILE))),
    ("AL-7", *both(PLACED, ("512", TILE.replace("vec", "acc")), ("64", TILE.replace("vec", "acc")))),
    ("AL-8", *both(ALLOC, ("!pto.tile_buf<vec, 7x8xf32>",), ("!pto.tile_buf<vec, 7x7xf32>",))),
    ("AL-8", *both(ALLOC, (TURNED.format("vec, 8x7xf32"),), (TURNED.format("vec, 7x8xf32"),))),
    ("AL-8", *both(ALLOC, (BOXED.format("mat, 16x16xf32"),), (BOXED.format("mat, 8x16xf32"),))),
    ("AM-1", *both(SEVERAL, ("", TILE), ("", TILE.replace(">", ", compact=2>")))),
    ("AM-1", *both(SEVERAL, ("", TILE), (OPEN, TILE), "%i: index")),
    ("AM-1", *both(SEVERAL, ("", TILE), (" {pto.multi_buffer_addrs = array<i64: 0, 1024>}", TILE))),
    ("CM-1", *both(PUT, (SLICE.format("?x16"),) * 2, (WHOLE.format("?x16"),) * 2, ENDS)),
    ("CM-1", *both(PUT, (V16,) * 2, (V16, SLICE.format("16x8")), ENDS)),
    ("CM-1", *both(BROADCAST, (V16, V16, "1"), (OPEN_V, V16, "1"), ENDS)),
    ("CM-2", *both(PUT_PAIR, (TILE,), ("!pto.tile_buf<vec, 8x16xf32>",), TILES)),
    ("CM-2", *both(PUT_PAIR, (TILE,), ("!pto.tile_buf<mat, 16x16xf32>",), TILES)),
    ("CM-3", *both(BROADCAST, (V16, V16, "1"), (V16, V16, "2"), ENDS)),
    ("CM-4", *both(NOTIFY, ("!pto.tensor_view<1xi32>", "i32"), ("!pto.tensor_view<?xi32>", "i32"), "%n: {0}")),
    ("CM-4", *both(NOTIFY, ("!pto.tensor_view<1xi32>", "i32"), ("!pto.tensor_view<1xi32>", "i64"), "%n: {0}")),
    ("SYNCALL-1", *both(SYNC, ("!pto.ptr<i32>",), ("!pto.ptr<f32>",), "%p: {0}")),
    ("SYNCALL-1", *both(SYNC, ("!pto.tensor_view<16xi32>",), ("!pto.tensor_view<15xi32>",), "%p: {0}")),
    ("SYNCALL-1", *both(SYNC, ("!pto.ptr<i32>",), ("!pto.ptr<i32, vec>",), "%p: {0}")),
    ("SYNCALL-1", *both(SYNC_USED, ("i32",), ("index",), "%p: !pto.ptr<i32>")),
    ("CMO-1", *both(LINES, ("!pto.ptr<i32>",), ("!pto.ptr<i32, vec>",), "%p: {0}")),
    ("STRUCT-2", *both("{0}", (DECLARE,), (YIELD.format(),), "%c: i1")),
    ("STRUCT-2", kernel(DECLARE), kernel("", f"%x: {STRUCT}")),
    ("IP-1", *both(POINTER, ("i64", LOAD), ("i32", LOAD), "%a: {0}")),
    ("IP-2", *both(POINTER, ("i64", LOAD), ("i64", ADVANCE), "%a: {0}")),
    ("FOR-1", *both(LOOP, ("1",), ("0",))),
    ("FOR-1", *both(LOOP, ("1",), ("-1",))),
    ("SIMT-1", *both(SIMT, ("",), (SIMT.format(""),))),
    ("SIMT-1", kernel(SIMT.format("")), kernel(SIMT.format(""), attributes=" attributes {pto.simt_entry}")),
    ("LV-4", *both(QUANT, STATED, LEFT_OPEN, "%i: index")),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "good", "bad"), CASES, ids=[f"{c[0]}-{i}" for i, c in enumerate(CASES)])
def test_rule(rule: str, good: str, bad: str) -> None:
    arch = "a5" if rule == "SIMT-1" else "a2a3"
    assert rules(good, arch) == []
    assert rule in rules(bad, arch)
    assert CATALOGUE[rule].scope is Scope.ASSEMBLER


def test_levels_say_who_gives_scratch_tiles_and_places_of_buffers() -> None:
    given = "%z = arith.constant 0 : i64 " + XOR.format(" addr = %z", "!pto.tile_buf<vec, 16x16xi16>")
    assert rules(kernel(given), level=3) == ["LV-3"]
    assert rules(kernel(given), "a5", level=3) == []
    assert rules(kernel(given)) == [], "kernels ship that do so"
    assert rules(kernel(XOR.format("", "!pto.tile_buf<vec, 16x16xi16>")), level=2) == []
    assert rules(kernel(RESERVE.format("true")), level=2) == []
    assert rules(kernel(RESERVE.format("true")), level=3) == ["RB-3"]
    assert rules(kernel(RESERVE.format("true, base = 0")), level=1) == ["RB-3"]
    assert rules(kernel(RESERVE.format("false, base = 64")), level=3) == []
    assert rules(kernel(SEVERAL.format("", TILE)), level=3) == ["LV-1"]


def test_a_move_of_exponents_has_the_sizes_that_the_library_re_orders() -> None:
    def text(valid: str, tmp: str, cols: str = "32") -> str:
        s, t, d = (z.format(w) for z, w in zip(ZZ_TILES, (valid, tmp, valid)))
        return kernel(ZZ.format(s, t, d), f"%s: {s}, %t: {t}, %d: {d}")

    assert rules(text("16x32", "96"), "a5") == []
    assert rules(text("16x32", "64"), "a5") == ["MO-12"]
    assert rules(text("16x31", "96"), "a5") == ["MO-12"]
    assert rules(text("?x32", "96"), "a5") == ["MO-12"]
    turned = text("16x32", "96").replace("\n  return", " {grpAxis = #pto<mx_group_axis axis0>}\n  return")
    assert rules(turned, "a5") == []
    assert rules(turned.replace("valid=16x32", "valid=15x32"), "a5") == ["MO-12"]


def test_every_rule_has_a_case() -> None:
    modules = ("TL-", "AM-", "CM-", "SYNCALL-1", "CMO-", "STRUCT-2", "IP-", "FOR-", "SIMT-1", "LV-4", "AL-7", "AL-8")
    assert {i for i in CATALOGUE if i.startswith(modules)} == {case[0] for case in CASES}


HELPER = "func.func private @h({0}){1} attributes {{pto.tileop.helper}} {{\n  {2}\n  return{3}\n}}\n"
HELPERS = {
    "fits": ("", "", "", ""),
    "results": ("", " -> i32", "%o = arith.constant 1 : i32", " %o : i32"),
    "parameters": ("%p: !pto.ptr<f32>", "", "", ""),
    "allocation": ("", "", ALLOC.format(TILE), ""),
    "tiles": (f"%t: {TILE}", "", f"pto.tadd ins(%t, %t : {TILE}, {TILE}) outs(%t : {TILE})", ""),
    "threads": ("", "", "%o = arith.constant 0 : i32 %v = pto.prmt %o, %o, %o : i32, i32, i32 -> i32", ""),
    "pipes": ("", "", "pto.barrier <PIPE_V>", ""),
    "sections": ("", "", "pto.section.vector { }", ""),
}


@pytest.mark.parametrize("name", HELPERS)
def test_a_helper_of_tile_operations_computes_and_nothing_else(name: str) -> None:
    text = HELPER.format(*HELPERS[name])
    assert rules(text, "a5") == ([] if name == "fits" else ["FN-5"])
    assert "FN-5" not in rules(text.replace(" attributes {pto.tileop.helper}", ""), "a5")


def exponents(tmp: int) -> str:
    """A move of exponents whose scratch tile is at an address; the others end at 512 and start at 1024."""
    s, t, d = (z.format(w) for z, w in zip(ZZ_TILES, ("16x32", "96", "16x32")))
    places = " ".join(f"%{n}a = arith.constant {at} : i64" for n, at in (("s", 0), ("t", tmp), ("d", 1024)))
    tiles = " ".join(f"%{n} = pto.alloc_tile addr = %{n}a : {type}" for n, type in (("s", s), ("t", t), ("d", d)))
    return kernel(f"{places} {tiles} {ZZ.format(s, t, d)}")


def test_the_tiles_of_exponents_lie_apart() -> None:
    assert rules(exponents(512), "a5") == []
    assert rules(exponents(480), "a5") == ["MO-13"]
    assert rules(exponents(960), "a5") == ["MO-13"]


def quantised(dst: str) -> str:
    """A block-scaled quantisation into a tile, or into the bytes of its source."""
    flat = "!pto.tile_buf<vec, 1x{0}, valid=1x16>"
    types = [
        "!pto.tile_buf<vec, 16x32xui8>",
        flat.format("32xui8"),
        "!pto.tile_buf<vec, 1x16xf32>",
        flat.format("64xf32"),
    ]
    src = "!pto.tile_buf<vec, 16x32xf32>"
    body = f"%s = pto.alloc_tile : {src} %d = {dst} : {types[0]}"
    body += "".join(f" %{n} = pto.alloc_tile : {t}" for n, t in zip("emc", types[1:]))
    body += f" pto.tquant.mx ins(%s : {src}) outs(%d, %e, %m, %c : {', '.join(types)})"
    return kernel(body + " {quant_type = #pto<quant_type MXFP8>}")


def test_the_tiles_of_a_block_scaled_quantisation_lie_apart() -> None:
    apart = quantised("pto.alloc_tile")
    assert rules(apart, "a5") == []
    assert rules(apart) == ["A5-1"]
    shared = quantised("pto.bitcast %s : !pto.tile_buf<vec, 16x32xf32> ->").replace("-> : ", "-> ")
    assert rules(shared, "a5") == ["MXQ-3"]


def test_a_move_of_exponents_has_no_result() -> None:
    s, t, d = (z.format(w) for z, w in zip(ZZ_TILES, ("16x32", "96", "16x32")))
    move = ZZ.format(s, t, d)
    text = kernel(f"%r = {move} -> tensor<16x32xui8>", f"%s: {s}, %t: {t}, %d: {d}")
    assert rules(text, "a5") == ["MO-12"]


def test_a_prefetch_in_the_background_takes_one_row() -> None:
    body = (
        "%x = pto.make_prefetch_async_context(%p : !pto.ptr<i8>) -> !pto.prefetch_async_context "
        "%e = pto.tprefetch_async(%s, %x : {0}, !pto.prefetch_async_context) -> !pto.async_event"
    )
    good, bad = both(body, (SLICE.format("1x32"),), (SLICE.format("4x32"),), "%s: {0}, %p: !pto.ptr<i8>")
    assert rules(good) == []
    assert rules(bad) == ["AS-1"]


IMPORT = '%b = pto.import_reserved_buffer {name = "f", peer_func = @p} -> i32'
PEER = "module {{\n  func.func {0} @p() {{\n    {1}\n    return\n  }}\n}}\n"


def test_a_buffer_is_imported_from_the_one_function_that_other_modules_see() -> None:
    reserve, mine = RESERVE.format("true"), f"module {{\n  {kernel(IMPORT)}}}\n"

    def text(*peers: str) -> str:
        return f"module {{\n{mine}{''.join(PEER.format(p, reserve) for p in peers)}}}\n"

    assert rules(text("public"), "a5") == []
    assert rules(text("private"), "a5") == ["RB-2"]
    assert rules(text("public", "public"), "a5") == ["RB-2"]
