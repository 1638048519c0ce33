"""The reference assembler's rules alone, as ``ptokit check --rules assembler`` applies them."""

from __future__ import annotations

import re

from ptokit.asm import parse_module
from ptokit.diagnostics import CATALOGUE, Diagnostic, Scope, Severity
from ptokit.ir.verify import verify
from ptokit.targets import target
from tests.each import each

ACC = "!pto.tile_buf<acc, {0}, blayout=col_major, slayout=row_major, fractal=1024{1}>"
LINE = 3
"""Line of the operation in the texts of `move`."""


def check(text: str, arch: str, *, assembler: bool = True) -> list[Diagnostic]:
    parsed = parse_module(text, "k.pto", target=target(arch))
    assert not parsed.diagnostics.errors, parsed.diagnostics.errors
    return verify(parsed.module, target(arch), assembler=assembler).sorted()


def tile(body: str) -> str:
    """``vec 16x16xf32, valid=8x16`` as a type; an accumulator gets its layout."""
    loc, _, rest = body.partition(" ")
    shape, comma, options = rest.partition(",")
    return ACC.format(shape, comma + options) if loc == "acc" else f"!pto.tile_buf<{loc}, {rest}>"


def move(op: str, first: str, view: str, *, attrs: str = "", view_type: str = "", more: str = "") -> str:
    """One transfer between a tile and a view that is a parameter."""
    t = tile(first)
    v = view_type or f"!pto.partition_tensor_view<{view}>"
    sizes = "valid_row = %n valid_col = %n " if "?x?" in t else ""
    if op in ("tload", "tprefetch"):
        line = f"pto.{op} ins(%v : {v}) outs(%t : {t})"
    elif op == "tstore_fp":
        fp = "!pto.tile_buf<scaling, 1x16xui64>"
        line = f"pto.tstore_fp ins(%t, %fp : {t}, {fp}) outs(%v : {v})"
        more = f"%fp = pto.alloc_tile : {fp}"
    else:
        word = ", %q : i64" if "quant" in attrs else ""
        line = f"pto.{op} ins(%t : {t}{word}) outs(%v : {v})" + attrs.replace("quant", "")
    return (
        f"func.func @k(%v: {v}, %n: index, %q: i64) {{ {more}\n"
        f"  %t = pto.alloc_tile {sizes}: {t}\n  {line}\n  return\n}}\n"
    )


Case = tuple[str, str, str, str, str]
"""Rule, target, operation, what passes and what breaks it: a tile, a view, and perhaps attributes, with `` | ``."""

RELU = " {reluPreMode = #pto<relu_pre_mode normal_relu>}"
CASES: list[Case] = [
    ("LD-3", "a5", "tload", "vec 16x16xf32 | 1x16xf32", "vec 16x16xf32 | 0x16xf32"),
    ("LD-5", "a2a3", "tload", "vec 16x32xui8 | 16x32xui8", "vec 16x32xf8E4M3FN | 16x32xf8E4M3FN"),
    ("LD-6", "a2a3", "tload", "mat 16x16xf16 | 16x16xf16", "acc 16x16xf32 | 16x16xf32"),
    ("LD-7", "a5", "tload", "vec 16x16xf16 | 16x16xi16", "vec 16x16xf16 | 16x16xf32"),
    ("LD-8", "a5", "tload", "vec 16x32xf8E5M2 | 16x32xf8E5M2", "vec 16x64xf4E2M1FN | 16x64xf4E2M1FN"),
    ("LD-9", "a5", "tload", "vec 16x16xi64, pad=1 | 16x16xi64", "vec 16x16xi64, pad=2 | 16x16xi64"),
    ("PF-1", "a5", "tprefetch", "vec 16x16xf32 | 1x16xf32", "vec 16x16xf32 | 0x16xf32"),
    ("PF-3", "a5", "tprefetch", "mat 16x16xf32 | 16x16xf32", "acc 16x16xf32 | 16x16xf32"),
    ("PF-4", "a2a3", "tprefetch", "vec 16x16xf16 | 16x16xi16", "vec 16x16xf16 | 16x16xi32"),
    ("PF-5", "a2a3", "tprefetch", "vec 16x32xi8 | 16x32xi8", "vec 16x32xi8 | 16x32x!pto.hif8"),
    ("LD-10", "a5", "tload", "vec 16x16xf32 | 16x16xf32", "vec 16x16xf32, slayout=row_major | 16x16xf32"),
    ("ST-16", "a5", "tstore", "vec 16x16xf32 | 16x16xf32", "vec 16x16xf32, slayout=row_major | 16x16xf32"),
    ("SF-4", "a5", "tstore_fp", "acc 16x16xf32 | 16x16xi8", "acc 16x16xf16 | 16x16xi8"),
    ("ST-3", "a5", "tstore", "vec 16x16xf32 | ?x16xf32", "vec 16x16xf32 | 0x16xf32"),
    ("ST-5", "a2a3", "tstore", "vec 16x16xf32, valid=8x16 | 4x32xf32", "vec 16x16xf32, valid=8x16 | 16x16xf32"),
    ("ST-5", "a5", "tstore", "vec 16x16xf32, valid=8x16 | 1x2x4x16xf32", "vec 16x16xf32 | 8x16xf32"),
    ("ST-6", "a2a3", "tstore", "mat 16x16xf16 | 16x16xf16", "left 16x16xf16 | 16x16xf16"),
    ("ST-6", "a5", "tstore", "acc 16x16xf32 | 16x16xf32", "mat 16x16xf16 | 16x16xf16"),
    ("ST-7", "a5", "tstore", "acc 16x16xf32 | 16x16xi8 | quant", "vec 16x32xi8 | 16x32xi8 | quant"),
    ("ST-8", "a5", "tstore", f"acc 16x16xf32 | 16x16xf32 |{RELU}", f"vec 16x16xf32 | 16x16xf32 |{RELU}"),
    ("ST-9", "a2a3", "tstore", "vec 16x32xui8 | 16x32xui8", "vec 16x32xf8E4M3FN | 16x32xf8E4M3FN"),
    ("ST-9", "a2a3", "tstore", "mat 16x32xui8 | 16x32xui8", "mat 16x32xf8E4M3FN | 16x32xf8E4M3FN"),
    ("ST-10", "a5", "tstore", "vec 16x16xf16 | 16x16xi16", "vec 16x16xf16 | 16x16xf32"),
    ("ST-10", "a2a3", "tstore", "mat 16x16xf16 | 16x16xi16", "mat 16x16xf16 | 16x16xf32"),
    ("ST-11", "a5", "tstore", "acc 16x16xi32 | 16x16xi32", "acc 16x16xf16 | 16x16xf16"),
    ("ST-12", "a2a3", "tstore", "acc 16x16xi32 | 16x16xf16 | quant", "acc 16x16xf32 | 16x16xf16 | quant"),
    ("ST-13", "a5", "tstore", "acc 16x16xf32 | 16x16xf32 | quant", "acc 16x16xi32 | 16x16xf32 | quant"),
    ("ST-14", "a5", "tstore", "acc 16x16xi32 | 16x16xf16", "acc 16x16xf32 | 16x16xi8"),
    ("ST-15", "a2a3", "tstore", "acc 16x4080xf32 | 16x4080xf32", "acc 16x4096xf32 | 16x4096xf32"),
    ("SF-2", "a5", "tstore_fp", "acc 16x16xf32 | 16x16xi8", "acc 16x16xf32 | 0x16xi8"),
    ("SF-3", "a5", "tstore_fp", "acc 16x16xf32 | 16x16xi8", "vec 16x16xf32 | 16x16xi8"),
    ("SF-4", "a2a3", "tstore_fp", "acc 16x16xi32 | 16x16xi8", "acc 16x16xf16 | 16x16xi8"),
    ("SF-5", "a2a3", "tstore_fp", "acc 16x4080xf32 | 16x4080xi8", "acc 16x4096xf32 | 16x4096xi8"),
    ("TC-3", "a5", "tload", "vec 16x16xf32, valid=16x16 | 16x16xf32", "vec 16x16xf32, valid=17x16 | 16x16xf32"),
]


def text(op: str, operands: str) -> str:
    first, view, *attrs = operands.split(" | ", 2) if " | " in operands else (operands, "")
    return move(op, first.strip(), view.strip().rstrip("|").strip(), attrs=attrs[0] if attrs else "")


@each("rule, arch, op, good, bad", CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_transfers(rule: str, arch: str, op: str, good: str, bad: str) -> None:
    assert [str(d) for d in check(text(op, good), arch)] == []
    found = check(text(op, bad), arch)
    lines = text(op, bad).splitlines()
    marked = {lines[d.location.line - 1][d.location.column - 1 :][: d.location.length] for d in found if d.rule == rule}
    assert marked, [str(d) for d in found]
    assert all(word.startswith((f"pto.{op}", "%", "!pto.")) for word in marked), marked
    assert {d.location.line for d in found if d.rule == rule} == {LINE}
    assert {d.severity for d in found} == {Severity.ERROR}
    assert {CATALOGUE[d.rule].scope for d in found} <= {Scope.ASSEMBLER, Scope.TEXT}


@each("case", CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_a_fault_that_an_instruction_rule_states_is_reported_once(case: Case) -> None:
    rule, arch, op, _, bad = case
    said = check(text(op, bad), arch, assembler=False)
    found = {d.rule for d in said}
    errors = {d.rule for d in said if d.severity is Severity.ERROR}
    as_grave = errors if CATALOGUE[rule].severity is Severity.ERROR else found
    covering = as_grave.intersection(CATALOGUE[rule].covered_by) or (found & {"TILE-01"} if rule == "TC-3" else set())
    assert (rule in found) != bool(covering), (rule, found)


V, W, S, F = (
    "!pto.partition_tensor_view<16x16xf32>",
    "!pto.tensor_view<16x16xf32>",
    "!pto.tile_buf<vec, 16x16xf32>",
    "!pto.tile_buf<scaling, 1x16xui64>",
)
M = "memref<16x16xf32, #pto.address_space<gm>>"
KINDS = [
    ("LD-1", f"tload ins(%w : {W}) outs(%t : {S})", f"tload ins(%v : {V}) outs(%t : {S})"),
    ("LD-1", f"tload ins(%v : {V}) outs(%v : {V})", f"tload ins(%m : {M}) outs(%t : {S})"),
    ("ST-1", f"tstore ins(%t : {S}) outs(%w : {W})", f"tstore ins(%t : {S}) outs(%v : {V})"),
    ("ST-1", f"tstore ins(%v : {V}) outs(%v : {V})", f"tstore ins(%t : {S}) outs(%m : {M})"),
    (
        "SF-1",
        f"tstore_fp ins(%t, %v : {S}, {V}) outs(%v : {V})",
        f"tstore_fp ins(%a, %f : {ACC.format('16x16xf32', '')}, {F}) outs(%v : {V})",
    ),
    (
        "SF-2",
        f"tstore_fp ins(%t, %f : {S}, {F}) outs(%w : {W})",
        f"tstore_fp ins(%a, %f : {ACC.format('16x16xf32', '')}, {F}) outs(%m : {M})",
    ),
    ("PF-1", f"tprefetch ins(%w : {W}) outs(%t : {S})", f"tprefetch ins(%v : {V}) outs(%t : {S})"),
    ("PF-1", f"tprefetch ins(%t : {S}) outs(%t : {S})", f"tprefetch ins(%m : {M}) outs(%t : {S})"),
    ("PF-2", f"tprefetch ins(%v : {V}) outs(%v : {V})", f"tprefetch ins(%v : {V}) outs(%t : {S})"),
    ("MO-1", f"tmov ins(%t : {S}) outs(%v : {V})", f"tmov ins(%t : {S}) outs(%t : {S})"),
    ("TC-1", f"tabs ins(%t : {S}) outs(%v : {V})", f"tabs ins(%t : {S}) outs(%t : {S})"),
    (
        "GA-7",
        f"mgather ins(%w, %i : {W}, {S.replace('f32', 'i32')}) outs(%t : {S}) {{coalesce = #pto<coalesce elem>}}",
        f"mgather ins(%v, %i : {V}, {S.replace('f32', 'i32')}) outs(%t : {S}) {{coalesce = #pto<coalesce elem>}}",
    ),
    (
        "SC-7",
        f"mscatter ins(%t, %i : {S}, {S.replace('f32', 'i32')}) outs(%w : {W})",
        f"mscatter ins(%t, %i : {S}, {S.replace('f32', 'i32')}) outs(%v : {V})",
    ),
    ("TS-1", f"tsync ins(%w : {W})", f"tsync ins(%v, %t, %m : {V}, {S}, {M})"),
    ("TS-1", "tsync ins(%p : !pto.ptr<i8>)", f"tsync ins(%t : {S})"),
]


@each("rule, bad, good", KINDS, ids=[f"{k[0]}-{k[1][:30]}" for k in KINDS])
def test_operands_of_another_kind(rule: str, bad: str, good: str) -> None:
    acc = ACC.format("16x16xf32", "")
    head = f"""func.func @k(%v: {V}, %w: {W}, %m: {M}, %p: !pto.ptr<i8>) {{
  %t = pto.alloc_tile : {S}
  %i = pto.alloc_tile : {S.replace("f32", "i32")}
  %a = pto.alloc_tile : {acc}
  %f = pto.alloc_tile : {F}
"""
    for assembler in (True, False):
        found = check(f"{head}  pto.{bad}\n  return\n}}\n", "a5", assembler=assembler)
        whole = "%w" in bad and rule != "TS-1" and not assembler  # a view is the slice of all its elements
        wanted = Severity.WARNING if whole else Severity.ERROR
        assert {(d.rule, d.location.line) for d in found if d.rule == rule and d.severity is wanted} == {(rule, 6)}
        assert whole or {d.rule for d in found if d.severity is Severity.ERROR} == {rule}
        assert found[0].notes, "where the operand comes from"
    assert [str(d) for d in check(f"{head}  pto.{good}\n  return\n}}\n", "a5")] == []


def test_every_rule_of_transfers_has_a_case() -> None:
    families = re.compile(r"(LD|ST|SF|PF|TC)-\d+$")
    texts = {i for i, rule in CATALOGUE.items() if families.match(i) and "TC-1" not in rule.reported_as}
    cases = {case[0] for case in CASES} | {case[0] for case in KINDS if families.match(case[0])}
    assert texts - {"TC-2", "LD-4", "ST-4"} == cases


def test_covering_rules_exist_and_are_stated_by_the_instruction_set() -> None:
    for rule in CATALOGUE.values():
        assert {CATALOGUE[i].scope for i in rule.covered_by} <= {Scope.ISA, Scope.SYNC}, rule.id
        assert rule.scope is Scope.ASSEMBLER or not rule.always


NOT_REJECTED = {
    "LD-n layout": move("tload", "mat 32x32xf16, blayout=row_major, slayout=col_major", "32x32xf16"),
    "LD-n size": move("tload", "vec 16x16xf32, valid=8x16", "64x64xf32"),
    "LD-n place": move("tload", "scaling 1x16xui64", "1x16xui64"),
    "ST-5 open": move("tstore", "vec 16x16xf32, valid=?x?", "64x64xf32"),
    "LD bypass": move("tload", "vec 16x16xf16", "", view_type="memref<16x16xf32>"),
    "MV-n strides": """func.func @k(%p: !pto.ptr<f32>) {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %v = pto.make_tensor_view %p, shape = [%c16, %c16], strides = [%c16, %c1] {layout = #pto.layout<dn>}
    : !pto.tensor_view<16x16xf32>
  return
}
""",
    "MV-n shape": """func.func @k(%p: !pto.ptr<f32>) {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %v = pto.make_tensor_view %p, shape = [%c16, %c16], strides = [%c16, %c1] : !pto.tensor_view<8x32xf32>
  return
}
""",
    "MO-n types": """func.func @k() {
  %a = pto.alloc_tile : !pto.tile_buf<vec, 16x32xf32>
  %b = pto.alloc_tile : !pto.tile_buf<vec, 16x32xi8>
  pto.tmov ins(%a : !pto.tile_buf<vec, 16x32xf32>) outs(%b : !pto.tile_buf<vec, 16x32xi8>)
  return
}
""",
    "MO-n layouts": """func.func @k() {
  %a = pto.alloc_tile : !pto.tile_buf<mat, 32x32xf16>
  %b = pto.alloc_tile : !pto.tile_buf<left, 32x32xf16, slayout=col_major>
  pto.tmov ins(%a : !pto.tile_buf<mat, 32x32xf16>) outs(%b : !pto.tile_buf<left, 32x32xf16, slayout=col_major>)
  return
}
""",
    "MO-n bias": """func.func @k() {
  %a = pto.alloc_tile : !pto.tile_buf<mat, 3x8xf32>
  %b = pto.alloc_tile : !pto.tile_buf<bias, 3x8xf32>
  pto.tmov ins(%a : !pto.tile_buf<mat, 3x8xf32>) outs(%b : !pto.tile_buf<bias, 3x8xf32>)
  return
}
""",
}


@each("name", NOT_REJECTED)
def test_what_the_assembler_does_not_reject(name: str) -> None:
    assert [str(d) for d in check(NOT_REJECTED[name], "a5")] == []


def test_a_prefetch_from_a_memref_is_checked_all_the_same() -> None:
    found = check(move("tprefetch", "acc 16x16xf32", "", view_type="memref<16x16xf32>"), "a5")
    assert [(d.rule, d.location.line) for d in found] == [("PF-3", LINE)]
    found = check(move("tstore_fp", "vec 16x16xf32", "", view_type="memref<16x16xi8>"), "a5")
    assert [(d.rule, d.location.line) for d in found] == [("SF-3", LINE)]
