"""Level 1 (SSA): read as level 2 with tiles placed automatically (assembly 5)."""

from __future__ import annotations

import numpy as np

from ptokit.ir.verify import verify
from ptokit.isa.table import TABLE, Kind
from ptokit.run import compile_program
from ptokit.targets import A5, target
from tests.each import each

from .reading import canonical, errors_in, in_function, ops, read

S = "!pto.tile<16x16xf32>"
T = "!pto.tile_buf<vec, 16x16xf32>"
V = "!pto.partition_tensor_view<16x16xf32>"
I8 = "!pto.tile_buf<vec, 16x32xi8>"
ALLOC = f"%a = pto.alloc_tile : {T}"


@each(
    "text, lines",
    [
        (f"%a = pto.tload %v : {V} -> {S}", [ALLOC, f"pto.tload ins(%v : {V}) outs(%a : {T})"]),
        (
            f"%a = pto.tload %v : {V} ->\n  !pto.tile<vec, f32, 16, 16, RowMajor, NoneBox, None, Null>",
            [ALLOC, f"pto.tload ins(%v : {V}) outs(%a : {T})"],
        ),
        (f"%a = pto.tprefetch %v : ({V}) -> ({S})", [ALLOC, f"pto.tprefetch ins(%v : {V}) outs(%a : {T})"]),
        (f"pto.tstore %t, %v : ({S}, {V}) -> ()", [f"pto.tstore ins(%t : {T}) outs(%v : {V})"]),
        (f"pto.tstore %t, %l, %v : ({S}, i64, {V}) -> ()", [f"pto.tstore ins(%t : {T}, %l : i64) outs(%v : {V})"]),
        (
            f"pto.tstore %t, %v {{atomicType = #pto<atomic_type atomic_add>}} : ({S}, {V}) -> ()",
            [f"pto.tstore ins(%t : {T}) outs(%v : {V}) {{atomicType = #pto<atomic_type atomic_add>}}"],
        ),
        (f"pto.mscatter %t, %u, %v : ({S}, {S}, {V}) -> ()", [f"pto.mscatter ins(%t, %u : {T}, {T}) outs(%v : {V})"]),
        (
            f"%a = pto.mgather %v, %u : ({V}, {S}) -> {S}",
            [ALLOC, f"pto.mgather ins(%v, %u : {V}, {T}) outs(%a : {T})"],
        ),
        (f"%a = pto.tadd %t, %u : {S}, {S} -> {S}", [ALLOC, f"pto.tadd ins(%t, %u : {T}, {T}) outs(%a : {T})"]),
        (f"%a = pto.tadd %t, %u : ({S}, {S}) -> {S}", [ALLOC, f"pto.tadd ins(%t, %u : {T}, {T}) outs(%a : {T})"]),
        (f"%a = pto.tadd %t, %u : {S}", [ALLOC, f"pto.tadd ins(%t, %u : {T}, {T}) outs(%a : {T})"]),
        (f"pto.tabs %t : {S} -> {S}", [f"%0 = pto.alloc_tile : {T}", f"pto.tabs ins(%t : {T}) outs(%0 : {T})"]),
        (f"%a = pto.tadds %t, %x : ({S}, f32) -> {S}", [ALLOC, f"pto.tadds ins(%t, %x : {T}, f32) outs(%a : {T})"]),
        (f"%a = pto.tdivs %x, %t : (f32, {S}) -> {S}", [ALLOC, f"pto.tdivs ins(%x, %t : f32, {T}) outs(%a : {T})"]),
        (f"%a = pto.tmov.s2d %t : {S} -> {S}", [ALLOC, f"pto.tmov ins(%t : {T}) outs(%a : {T})"]),
        (f"%a = pto.tmov.v2v %t : {S} -> {S}", [ALLOC, f"pto.tmov ins(%t : {T}) outs(%a : {T})"]),
        (
            f'%a = pto.tcmp %t, %u {{cmp = "lt"}} : {S}, {S} -> !pto.tile<16x32xi8>',
            [
                f"%a = pto.alloc_tile : {I8}",
                f"pto.tcmp ins(%t, %u {{cmpMode = #pto<cmp lt>}} : {T}, {T}) outs(%a : {I8})",
            ],
        ),
        (
            f"%a = pto.txor %t, %u : {S}, {S} -> {S}",  # scratch that level 2 needs
            [ALLOC, f"%0 = pto.alloc_tile : {T}", f"pto.txor ins(%t, %u, %0 : {T}, {T}, {T}) outs(%a : {T})"],
        ),
        (
            f"%a = pto.txor %t, %u, %u : {S}, {S}, {S} -> {S}",
            [ALLOC, f"pto.txor ins(%t, %u, %u : {T}, {T}, {T}) outs(%a : {T})"],
        ),
        (f"%a = pto.tcvt %t : {S} -> {S}", [ALLOC, f"pto.tcvt ins(%t : {T}) outs(%a : {T})"]),
        (
            f"%a = pto.tmatmul.acc %t, %u, %u : {S}, {S}, {S} -> {S}\n%b = pto.tabs %a : {S} -> {S}",
            [
                f"pto.tmatmul.acc ins(%t, %u, %u : {T}, {T}, {T}) outs(%t : {T})",
                f"%b = pto.alloc_tile : {T}",
                f"pto.tabs ins(%t : {T}) outs(%b : {T})",
            ],
        ),
        (f"%a = pto.taxpy %t, %u, %x : ({S}, {S}, f32) -> {S}", [f"pto.taxpy ins(%u, %x : {T}, f32) outs(%t : {T})"]),
        (
            f"%a = pto.taxpy %u, %x : ({S}, f32) -> {S}",
            [ALLOC, f"pto.taxpy ins(%u, %x : {T}, f32) outs(%a : {T})"],
        ),
    ],
)
def test_forms(text: str, lines: list[str]) -> None:
    assert canonical(text) == lines


@each(
    "text, found",
    [
        (f"%a = pto.tadd %t, %w : {S}, {S} -> {S}", [("TY-9", 1, 19)]),
        (f"%a = pto.tadd %t, %x : {S}, {S} -> {S}", [("TEXT-OPERANDS", 1, 6), ("TY-9", 1, 19)]),
        (f"%a = pto.tadd %t : {S} -> {S}", [("TEXT-OPERANDS", 1, 6)]),
        (f"%a = pto.tadd %t, %u : {S}, {S}, {S} -> {S}", [("TEXT-OPERANDS", 1, 6)]),
        (f"%a = pto.tadd %t, %v : {S}, {V} -> {S}", [("TEXT-OPERANDS", 1, 6)]),
        (f"%a = pto.tload %t : {S} -> {S}", [("TEXT-OPERANDS", 1, 6)]),
        (f"%a = pto.tadd %t, %u : {S}, {S} -> f32", [("TEXT-TYPE", 1, 6)]),
        (f"%a = pto.tadd %t, %u : {S}, {S} -> {S}, {S}", [("TEXT-RESULTS", 1, 6)]),
        (f"%a, %b = pto.tadd %t, %u : {S}, {S} -> {S}", [("TEXT-RESULTS", 1, 10)]),
        (f"%a:2 = pto.tadd %t, %u : {S}, {S} -> {S}", [("TEXT-RESULTS", 1, 1)]),
        (f"%t = pto.tadd %t, %u : {S}, {S} -> {S}", [("TY-9", 1, 1)]),
        (f"%a = pto.tadd %t, %w : {S}, !pto.tile<16x16xf16>", [("TEXT-UNEXPECTED", 1, 6), ("TY-9", 1, 19)]),
        (f"%a = pto.tstore %t, %v : ({S}, {V}) -> {S}", [("TEXT-RESULTS", 1, 6)]),
        (f"%a = pto.tadd : {S}", [("TEXT-UNEXPECTED", 1, 15)]),
        (f"%a = pto.tmov.m2l %t : {S} -> {S}", [("TMOV-SUFFIX", 1, 6)]),
        (f"%a = pto.tload %v : {V} -> !pto.tile<vec, 16x16xf32, valid=?x16>", [("TEXT-TYPE", 1, 6)]),
        (f"%a = pto.tload %v : {V} -> !pto.tile<...>", [("TEXT-TYPE", 1, 72)]),
        (f"%a = pto.tadds %t, 1.5 : ({S}, i32) -> {S}", [("TEXT-UNEXPECTED", 1, 20)]),
        (f"%a = pto.tadds %t, 300 : ({S}, i8) -> {S}", [("TEXT-NUMBER", 1, 20)]),
        (f"%a = pto.tadd %t, 2 : ({S}, {S}) -> {S}", [("TEXT-OPERANDS", 1, 19)]),
    ],
)
def test_errors(text: str, found: list[tuple[str, int, int]]) -> None:
    assert errors_in(text) == found


def test_reading_goes_on_after_an_error() -> None:
    text = f"%a = pto.tadd %t : {S} -> {S}\n%b = pto.tabs %a : {S} -> {S}\n%c = pto.tabs %b, %b, %b : {S} -> {S}"
    assert errors_in(text) == [("TEXT-OPERANDS", 1, 6), ("TEXT-OPERANDS", 3, 6)]


def test_places() -> None:
    alloc, op = ops(f"\n %abc = pto.tabs %t : {S} -> {S}")
    assert (op.location.line, op.location.column, op.location.length) == (4, 9, 8)
    assert alloc.location == op.location
    assert (alloc.result.name, alloc.result.location.column, alloc.result.location.length) == ("abc", 2, 4)


@each("name", [n for n, i in TABLE.items() if i.form.syntax.startswith("dps")])
def test_every_instruction_of_ins_and_outs_has_a_level_1(name: str) -> None:
    """Operands by their kind, in the order of ``ins`` and then views written, and one result per tile written."""
    instr = TABLE[name]
    word = {Kind.TILE: ("%t", S), Kind.VIEW: ("%v", V), Kind.SCALAR: ("%x", "f32"), Kind.PTR: ("%p", "!pto.ptr<f32>")}
    word[Kind.GROUP] = ("%grp", "!pto.group<2>")
    ins, outs = (
        [*(instr.chosen(instr.form.choices[0], g) if instr.form.choices else g)] for g in (instr.ins, instr.outs)
    )
    stores = [o for o in outs if o.kind is Kind.VIEW]
    written = [word[o.kind] for o in (*ins, *stores) if not o.optional]
    made = [o for o in outs if o.kind is Kind.TILE and not o.optional]
    names = "".join(f"%r{k}, " for k in range(len(made)))[:-2]
    group = f"%grp = pto.make_group %v, %v : ({V}, {V}) -> !pto.group<2>\n"
    text = f"{names + ' = ' if made else ''}pto.{instr.shown} {', '.join(w for w, _ in written)}"
    text += f" : ({', '.join(t for _, t in written)}) -> ({', '.join(S for _ in made)})"
    _, *before, op = ops(group + text)
    assert op.name == f"pto.{instr.text}"
    assert [b.name for b in before] == ["pto.alloc_tile"] * len(before)
    results = [op[o.name] for o in made]
    assert all(r.name == f"r{k}" or r is op.get("acc") for k, r in enumerate(results))
    wanted = [o.name for o in (*ins, *stores) if not o.optional]
    assert [op[n].type for n in wanted] == [op[n].type for n in wanted if n in op.operands]


def test_a_kernel_of_level_1() -> None:
    text = in_function(
        f"%a = pto.tload %v : {V} -> {S}\n%b = pto.tmul %a, %a : {S}, {S} -> {S}\npto.tstore %b, %v : ({S}, {V}) -> ()"
    )
    assert [d for d in verify(read(text), A5) if d.rule != "OPERAND-KIND"] == []


@each("arch", ["cpu", "a2a3", "a5"])
def test_running(arch: str) -> None:
    m = "memref<16x16xf32>"
    module = read(f"""func.func @k(%m: {m}, %o: {m}, %s: f32) {{
      %a = pto.tload %m : {m} -> {S}
      %b = pto.tmuls %a, %s : ({S}, f32) -> {S}
      %c = pto.trowmax %b : {S} -> !pto.tile<vec, f32, 16, 1, ColMajor>
      %d = pto.trowexpandsub %b, %c : ({S}, !pto.tile<vec, f32, 16, 1, ColMajor>) -> {S}
      pto.tstore %d, %o : ({S}, {m}) -> ()
      return
    }}""")
    x, y = np.random.default_rng(0).integers(-9, 9, (16, 16)).astype(np.float32), np.zeros((16, 16), np.float32)
    compile_program(module, target(arch)).launch([x, y, 2.0])
    assert np.array_equal(y, 2 * x - (2 * x).max(1, keepdims=True))
