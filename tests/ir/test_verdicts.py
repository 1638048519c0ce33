"""Verdicts that the reference assembler's own tests ask for (assembly 15), on programs of ours."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import Severity, lookup
from ptokit.ir.verify import verify
from ptokit.targets import target

from .test_assembler_compute_rules import (
    CAST,
    COMPARE_I16,
    COUNTED,
    CVT,
    FOUND,
    HISTOGRAM,
    LEFT,
    NZ,
    QUANT,
    QUANT_OFFSET,
    SCALE,
    program,
)
from .test_assembler_rules import move
from .test_pipe_rules import frontend, one_end, pipes, placed, transfer

MEMREF = "memref<16x32x%s, #pto.address_space<vec>>"
INSERT = "%z = arith.constant 0 : index pto.tinsert ins(%a, %z, %z : T(a), index, index) outs(%d : T(d))"
EXTRACT = INSERT.replace("tinsert", "textract")
L0C = f"acc 16x16xf32{NZ}, fractal=1024"
SELECT = "pto.tsel ins(%m, %a, %b, %t : T(m), T(a), T(b), T(t)) outs(%d : T(d))"
BYTES = dict.fromkeys("mabtd", "vec 16x32xi8")
ALLOC = "%z = arith.constant 0 : i64 %t = pto.alloc_tile {0}: !pto.tile_buf<vec, 16x16xf32>"
TWICE = "func.func @{0}(%n: index){1} {{ {2} return }}\n"
REBIND = f"func.func @k(%i: index) {{ {ALLOC.format('addr = %z ')} %u = pto.tassign %t, %z : T -> T return }}".replace(
    "T ->", "!pto.tile_buf<vec, 16x16xf32> ->"
).replace("-> T", "-> !pto.tile_buf<vec, 16x16xf32>")


def both(first: str, second: str) -> str:
    """Two functions in one text."""
    return first + second.replace("@k", "@l")


CASES = {
    "async_put_invalid_non_1d": ("AS-1", "a2a3", transfer("memref<4x32xf32>", "memref<4x32xf32>")),
    "tcvt_verify_invalid": (
        "CV-1",
        "a2a3",
        both(program(CVT, {**CAST, "d": "vec 16x32xf16"}), program(CVT, {**CAST, "d": "vec 8x16xf16"})),
    ),
    "textract_verify_a5_vec_vec_invalid_layout": (
        "EX-3",
        "a5",
        program(EXTRACT, dict.fromkeys("ad", f"vec 32x32xf16{NZ}")),
    ),
    "tgather_compare_invalid_src_type": (
        "TGATHER-AS-01",
        "a2a3",
        program(COMPARE_I16, {**FOUND, "s": "vec 1x32xi16"}),
    ),
    "tget_scale_addr_verify_invalid": ("MX-SCALE", "a5", program(SCALE, {"a": LEFT, "x": LEFT})),
    "thistogram_verify_invalid_a3": ("A5-1", "a2a3", program(HISTOGRAM, COUNTED)),
    "tinsert_verify_a2a3_invalid_dtype": (
        "IN-2",
        "a2a3",
        program(INSERT, {"a": L0C, "d": f"mat 32x32xf32{NZ}"}),
    ),
    "tinsert_verify_a5_invalid_loc": (
        "IN-3",
        "a5",
        program(INSERT, {"a": f"mat 16x16xf16{NZ}", "d": f"left 32x32xf16{NZ}"}),
    ),
    "tpush_tpop_dynamic_validshape_invalid": ("PI-4", "a5", frontend(pop="(%n, %n)")),
    "tquant_verify_invalid": (
        "TQ-1",
        "a2a3",
        both(
            program(QUANT.replace("SYM", "ASYM"), {"s": MEMREF % "f32", "p": MEMREF % "f32", "d": MEMREF % "ui8"}),
            program(
                QUANT_OFFSET.replace("ASYM", "SYM"),
                {"s": MEMREF % "f32", "p": MEMREF % "f32", "o": MEMREF % "f32", "d": MEMREF % "i8"},
            ),
        ),
    ),
    "tstore_verify_shape_valid_mismatch_invalid": (
        "ST-5",
        "a2a3",
        move("tstore", "vec 32x32xf32, valid=16x16", "32x32xf32"),
    ),
    "pto_entry_nonvoid_rejected": (
        "FN-2",
        "a2a3",
        "func.func @k(%n: index) -> index attributes {pto.entry} { return %n : index }\nfunc.func @l() { return }",
    ),
    "pto_entry_single_nonvoid_rejected": (
        "FN-2",
        "a2a3",
        "func.func @k(%n: index) -> index attributes {pto.entry} { return %n : index }",
    ),
    "pto_entry_recursive_rejected": (
        "FN-3",
        "a2a3",
        TWICE.format("k", " attributes {pto.entry}", "func.call @l(%n) : (index) -> ()")
        + TWICE.format("l", "", "func.call @k(%n) : (index) -> ()"),
    ),
    "plan_memory_reserve_buffer_manual_reject_nested_alloc": ("PM-1", "a2a3", placed("auto = false, base = 0", "")),
    "resolve_reserved_buffers_reject_incomplete_peer_group_a5": ("PI-8", "a5", one_end()),
    "resolve_reserved_buffers_reject_non_peer_init_a5": (
        "PI-8",
        "a5",
        pipes("initialize_l2l_pipe {dir_mask = 1, slot_size = 64, slot_num = 8}"),
    ),
    "tpush_tpop_frontend_mixed_split_a5": ("PI-8", "a5", frontend(push="1")),
    "tpush_tpop_frontend_nosplit_conflict_a5": (
        "PI-8",
        "a5",
        frontend(
            c_init="dir_mask = 1, slot_size = 64, nosplit = false",
            v_init="dir_mask = 1, slot_size = 64, nosplit = false",
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("assembler", [False, True])
def test_rejected(name: str, assembler: bool) -> None:
    """By the assembler's rules as errors, by all as the evidence says; each bad function."""
    rule, arch, text = CASES[name]
    parsed = parse_module(text, "k.pto", target=target(arch))
    assert not parsed.diagnostics.errors, parsed.diagnostics.errors
    found = verify(parsed.module, target(arch), assembler=assembler)
    expected = 2 if name in ("tcvt_verify_invalid", "tquant_verify_invalid") else 1
    severity = Severity.ERROR if assembler else lookup(rule).severity
    said = {d.location.line for d in found if d.rule == rule and d.severity is severity}
    assert len(said) == expected, [str(d) for d in found]
    if assembler:
        assert {d.rule for d in found} == {rule}


def verdict(text: str, arch: str, **options: object) -> list[str]:
    parsed = parse_module(text, "k.pto", target=target(arch))
    assert not parsed.diagnostics.errors, parsed.diagnostics.errors
    return [d.rule for d in verify(parsed.module, target(arch), assembler=True, **options)]  # type: ignore[arg-type]


def test_verdicts_that_depend_on_options() -> None:
    select = program(SELECT, BYTES)
    assert verdict(select, "a5") == []
    assert verdict(select, "a2a3") == ["EW-1", "EW-AS-12"]
    assert verdict(REBIND, "a5", level=3) == []
    assert verdict(REBIND, "a5", level=3, auto_sync=True) == ["LV-2"]
    assert verdict(REBIND, "a5", level=2) == ["LV-1", "LV-2"]
    missing = f"func.func @k() {{ {ALLOC.format('')} return }}"
    assert verdict(missing, "a5", level=3) == ["LV-1"]
    assert verdict(missing, "a5", level=2) == []


STALE = {
    "keys out of order": "%t = pto.alloc_tile : !pto.tile_buf<loc=vec, dtype=f32, cols=16, rows=16, v_row=16, "
    "v_col=16, blayout=row_major, slayout=none_box, fractal=512, pad=0>",
    "stripped tile types": "pto.tabs ins(%a : <vec, 16x16xf32>) outs(%a : <vec, 16x16xf32>)",
    "old body": "%t = pto.alloc_tile : !pto.tile_buf<16x16xf32, strided<[16, 1]>, #pto.address_space<vec>>",
}


@pytest.mark.parametrize("name", STALE)
def test_stale_texts_are_refused_where_they_are_stale(name: str) -> None:
    text = f"func.func @k(%a: !pto.tile_buf<vec, 16x16xf32>) {{\n  {STALE[name]}\n  return\n}}\n"
    found = parse_module(text, "k.pto", target=target("a2a3")).diagnostics.errors
    assert [d.location.line for d in found] == [2]
    assert found[0].rule.startswith(("TY-", "TEXT-"))


ARGMAX = """module attributes {{"pto.target_arch" = "{on}"}} {{
  func.func @k(%x: !pto.ptr<f32>, %z: !pto.ptr<ui32>) {{
    %c1 = arith.constant 1 : index
    %n = arith.constant 16384 : index
    %c2 = arith.constant 2 : index
    %xv = pto.make_tensor_view %x, shape = [%c2, %n], strides = [%n, %c1] : !pto.tensor_view<2x16384xf32>
    %zv = pto.make_tensor_view %z, shape = [%c2, %c1], strides = [%c1, %c1] : !pto.tensor_view<2x1xui32>
    %c0 = arith.constant 0 : index
    %xp = pto.partition_view %xv, offsets = [%c0, %c0], sizes = [%c2, %n]
      : !pto.tensor_view<2x16384xf32> -> !pto.partition_tensor_view<2x16384xf32>
    %zp = pto.partition_view %zv, offsets = [%c0, %c0], sizes = [%c2, %c1]
      : !pto.tensor_view<2x1xui32> -> !pto.partition_tensor_view<2x1xui32>
    %s = pto.alloc_tile : !pto.tile_buf<vec, 2x16384xf32>
    %t = pto.alloc_tile : !pto.tile_buf<vec, 2x16384xf32>
    %d = pto.alloc_tile : !pto.tile_buf<vec, 8x1xui32, valid=2x1, blayout=col_major>
    pto.tload ins(%xp : !pto.partition_tensor_view<2x16384xf32>) outs(%s : !pto.tile_buf<vec, 2x16384xf32>)
    pto.trowargmax ins(%s, %t : !pto.tile_buf<vec, 2x16384xf32>, !pto.tile_buf<vec, 2x16384xf32>)
      outs(%d : !pto.tile_buf<vec, 8x1xui32, valid=2x1, blayout=col_major>)
    pto.tstore ins(%d : !pto.tile_buf<vec, 8x1xui32, valid=2x1, blayout=col_major>)
      outs(%zp : !pto.partition_tensor_view<2x1xui32>)
    return
  }}
}}
"""


@pytest.mark.parametrize(("on", "expected"), [("a5", []), ("a2a3", ["UB-CAPACITY"])])
def test_a_scratch_tile_that_the_target_does_not_need_takes_no_room(on: str, expected: list[str]) -> None:
    """256 KiB of source and scratch tile on a5, of which its library does not look at the latter."""
    found = verify(parse_module(ARGMAX.format(on=on)).module, target(on))
    assert [d.rule for d in found.errors] == expected
