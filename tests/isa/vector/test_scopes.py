"""Vector scopes, streams of unaligned accesses, and the order of memory inside a scope (vector-path 2, 4.7, 4.8, 7)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ptokit.diagnostics import DiagnosticError
from tests.each import each

from .programs import checked, read, run

HEAD = """func.func @k(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %n = arith.constant 1024 : i64
  %half = arith.constant 1024 : i64
  %off = arith.constant false
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c64 = arith.constant 64 : index
  %n3 = arith.constant 3 : i32
  %n5 = arith.constant 5 : i32
  %n8 = arith.constant 8 : i32
  %n0 = arith.constant 0 : i32
  %u = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %w = pto.castptr %half : i64 -> !pto.ptr<f32, ub>
  pto.copy_gm_to_ubuf %x, %u, %z, %one, %n, %z, %z, %off, %z, %n, %n
  pto.set_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
  pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]
"""
TAIL = """
  pto.set_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.wait_flag["PIPE_V", "PIPE_MTE3", "EVENT_ID0"]
  pto.copy_ubuf_to_gm %w, %y, %z, %one, %n, %z, %n, %n
  return
}"""
V, P = "!pto.vreg<64xf32>", "!pto.ptr<f32, ub>"
LOAD = f"%v = pto.vlds %u[%c0] : {P} -> {V}"
STORE = f"pto.vsts %v, %w[%c0] : {V}, {P}"


def program(body: str, scope: bool = True) -> str:
    """A kernel that loads 1 KiB to %u, does something, and stores 1 KiB from %w."""
    return HEAD + (f"  pto.vecscope {{\n{body}\n  }}" if scope else body) + TAIL


def first(text: str, word: str) -> int:
    """Line of the last line that begins with a word, results aside."""
    lines = [i + 1 for i, line in enumerate(text.splitlines()) if word in line]
    return lines[-1]


def rules(text: str) -> list[tuple[str, int]]:
    return [(d.rule, d.location.line) for d in checked(text)]


def launched(body: str, on: str = "a5") -> np.ndarray:
    """What the kernel stores, with 0, 1, 2, … loaded."""
    y = np.full(256, -1, np.float32)
    run(program(body), np.arange(256, dtype=np.float32), y, on=on)
    return y


# --------------------------------------------------------------------- scopes


def test_a_scope_sees_what_is_around_it() -> None:
    assert rules(program(f"{LOAD}\n{STORE}")) == []


def test_registers_outside_a_scope() -> None:
    text = program(f"  pto.vecscope {{\n  }}\n  {LOAD}", scope=False)
    assert rules(text) == [("VEC-A5-02", first(text, "vlds"))]


def test_a_function_without_scopes_is_one() -> None:
    text = program(f"  {LOAD}\n  {STORE}", scope=False)
    assert rules(text) == [("VEC-A5-02-LINT", first(text, "vlds"))]
    y = np.zeros(256, np.float32)
    run(text, np.arange(256, dtype=np.float32), y)
    assert y[:64].tolist() == list(range(64))


def test_a_value_that_is_cast_to_a_register_is_no_operation_on_registers() -> None:
    assert (
        rules(
            "func.func @k(%n: index) {\n%m = builtin.unrealized_conversion_cast %n : index to !pto.mask<b8>\nreturn\n}"
        )
        == []
    )


def test_nested_scopes() -> None:
    text = program(f"{LOAD}\npto.vecscope {{\n}}")
    assert rules(text) == [("VEC-A5-02", first(text, "pto.vecscope"))]


STRICT = f"""  pto.strict_vecscope(%u, %w) {{
  ^bb0(%a: {P}, %b: {P}):
    %zero = arith.constant 0 : index
    %v = pto.vlds %a[%zero] : {P} -> {V}
    pto.vsts %v, %b[%zero] : {V}, {P}
  }} : ({P}, {P}) -> ()"""


def test_a_strict_scope_has_arguments() -> None:
    text = program(STRICT, scope=False)
    assert rules(text) == []
    y = np.zeros(256, np.float32)
    run(text, np.arange(256, dtype=np.float32), y)
    assert y[:64].tolist() == list(range(64))


def test_a_strict_scope_captures_nothing() -> None:
    text = program(STRICT.replace("vlds %a", "vlds %u"), scope=False)
    assert ("VEC-A5-18", first(text, "vlds")) in rules(text)


def test_what_a_strict_scope_defines_ends_with_it() -> None:
    text = program(STRICT + f"\n  pto.vsts %v, %w[%c0] : {V}, {P}", scope=False)
    assert [r for r, _ in rules(text)] == ["TY-9"]


# -------------------------------------------------------------------- streams


def test_an_unaligned_load() -> None:
    body = f"""%p = pto.addptr %u, %c1 : {P} -> {P}
    %a = pto.vldas %p : {P} -> !pto.align
    %v, %a2, %q = pto.vldus %p, %a : {P}, !pto.align -> {V}, !pto.align, {P}
    %v2, %a3 = pto.vldus %q, %a2 : {P}, !pto.align -> {V}, !pto.align
    pto.vsts %v, %w[%c0] : {V}, {P}
    pto.vsts %v2, %w[%c64] : {V}, {P}"""
    y = launched(body)
    assert y[:128].tolist() == list(range(1, 129))


def test_an_unaligned_load_of_another_place() -> None:
    body = f"""%a = pto.vldas %u : {P} -> !pto.align
    %p = pto.addptr %u, %c64 : {P} -> {P}
    %v, %a2 = pto.vldus %p, %a : {P}, !pto.align -> {V}, !pto.align"""
    with pytest.raises(DiagnosticError) as error:
        launched(body)
    assert [d.rule for d in error.value.diagnostics] == ["VEC-A5-12"]


APPEND = f"""{LOAD}
    %a0 = pto.init_align : !pto.align
    %a1, %p1 = pto.vstus %a0, %n3, %v, %w, "POST_UPDATE" : !pto.align, i32, {V}, {P} -> !pto.align, {P}
    %a2, %p2 = pto.vstus %a1, %n5, %v, %p1 : !pto.align, i32, {V}, {P} -> !pto.align, {P}
    pto.vstas %a2, %p2, %n0 : !pto.align, {P}, i32"""


def test_a_stream_of_stores() -> None:
    y = launched(APPEND)
    assert y[:9].tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 0]


def test_the_flush_names_the_end() -> None:
    """GYM writes the base pointer again, with the count."""
    body = f"""{LOAD}
    %a0 = pto.init_align : !pto.align
    %a1 = pto.vstus %a0, %n3, %v, %w : !pto.align, i32, {V}, {P} -> !pto.align
    pto.vstas %a1, %w, COUNT : !pto.align, {P}, i32"""
    assert launched(body.replace("COUNT", "%n3"))[:4].tolist() == [0, 1, 2, 0]
    with pytest.raises(DiagnosticError) as error:
        launched(body.replace("COUNT", "%n5"))
    assert [d.rule for d in error.value.diagnostics] == ["VEC-A5-13"]


def test_whole_registers_at_an_offset() -> None:
    body = f"""{LOAD}
    %a0 = pto.init_align : !pto.align
    %a1, %o1 = pto.vstu %a0, %c1, %v, %w, "POST_UPDATE" : !pto.align, index, {V}, {P} -> !pto.align, index
    %a2, %o2 = pto.vstu %a1, %o1, %v, %w, "NO_POST_UPDATE" : !pto.align, index, {V}, {P} -> !pto.align, index
    %e = arith.addi %o2, %c64 : index
    pto.vsta %a2, %w[%e] : !pto.align, {P}, index"""
    y = launched(body)
    assert y[:130].tolist() == [0, *range(64), *range(64), 0]


def test_squeezed_lanes() -> None:
    body = f"""{LOAD}
    %m, %r = pto.plt_b32 %n8 : i32 -> !pto.mask<b32>, i32
    %s = pto.vsqz %v, %m : {V}, !pto.mask<b32> -> {V}
    %a0 = pto.init_align : !pto.align
    %p = pto.addptr %w, %c1 : {P} -> {P}
    %a1 = pto.vstur %a0, %s, %p, "POST_UPDATE" : !pto.align, {V}, {P} -> !pto.align
    %a2 = pto.vstur %a1, %s, %p, "POST_UPDATE" : !pto.align, {V}, {P} -> !pto.align
    pto.vstar %a2, %p : !pto.align, {P}"""
    assert launched(body)[:18].tolist() == [0, *range(8), *range(8), 0]


def test_nothing_has_counted() -> None:
    body = f"""{LOAD}
    %a0 = pto.init_align : !pto.align
    %a1 = pto.vstur %a0, %v, %w, "POST_UPDATE" : !pto.align, {V}, {P} -> !pto.align
    pto.vstar %a1, %w : !pto.align, {P}"""
    with pytest.raises(DiagnosticError) as error:
        launched(body)
    assert [d.rule for d in error.value.diagnostics] == ["VEC-A5-20"]


def test_post_update() -> None:
    body = f"""%v, %p = pto.vlds_post %u[%c64] : {P} -> {V}, {P}
    %v2 = pto.vlds %p[%c0] : {P} -> {V}
    %q = pto.vsts_post %v2, %w[%c64] : {V}, {P} -> {P}
    pto.vsts %v, %q[%c0] : {V}, {P}"""
    assert launched(body)[:128].tolist() == [*range(64, 128), *range(64)]


def state(*lines: str) -> str:
    return "\n".join([LOAD, "%a0 = pto.init_align : !pto.align", *lines])


def vstus(new: str, old: str) -> str:
    return f"%{new} = pto.vstus %{old}, %n3, %v, %w : !pto.align, i32, {V}, {P} -> !pto.align"


def flush(old: str) -> str:
    return f"pto.vstas %{old}, %w, %n3 : !pto.align, {P}, i32"


@each(
    "body, blamed",
    [
        (state(vstus("a1", "a0")), "vstus"),
        (state(vstus("a1", "a0"), flush("a1"), flush("a1")), "vstas"),
        (state(vstus("a1", "a0"), vstus("a2", "a0"), flush("a1"), flush("a2")), "%a2 ="),
        (state("scf.for %i = %c0 to %c2 step %c1 {", vstus("a1", "a0"), flush("a1"), "}"), "vstus"),
    ],
)
def test_a_state_is_handed_on_once(body: str, blamed: str) -> None:
    text = program(body)
    assert rules(text) == [("VEC-A5-13", first(text, blamed))]


def test_a_state_may_go_through_loops_and_branches() -> None:
    loop = state(
        "%e = scf.for %i = %c0 to %c2 step %c1 iter_args(%s = %a0) -> (!pto.align) {",
        vstus("a1", "s"),
        "scf.yield %a1 : !pto.align",
        "}",
        flush("e"),
    )
    branch = state(
        vstus("a1", "a0"),
        "%t = arith.cmpi eq, %c0, %c1 : index",
        "scf.if %t {",
        flush("a1"),
        "} else {",
        flush("a1"),
        "}",
    )
    assert rules(program(loop)) == []
    assert rules(program(branch)) == []


# ------------------------------------------------------- order inside a scope


def findings(body: str) -> list[tuple[str, int]]:
    from ptokit.sanitize import sanitize

    text = program(body)
    args: list[Any] = [np.zeros(256, np.float32), np.zeros(256, np.float32)]
    report = sanitize(read(text), "a5", args)
    return [(d.rule, d.location.line) for d in report.diagnostics if d.rule.startswith("SYN")]


AGAIN = f"%v2 = pto.vlds %w[%c0] : {P} -> {V}"
OVER = f"pto.vsts %v2, %u[%c0] : {V}, {P}"


def line_of(body: str, word: str) -> int:
    return first(program(body), word)


def test_a_load_behind_a_store() -> None:
    body = f"{LOAD}\n{STORE}\n{AGAIN}"
    assert findings(body) == [("SYN-A5-05", line_of(body, "%v2 ="))]


@each("kind", ["VST_VLD", "VV_ALL"])
def test_a_barrier_of_the_right_kind(kind: str) -> None:
    assert findings(f'{LOAD}\n{STORE}\npto.mem_bar "{kind}"\n{AGAIN}') == []


@each("kind", ["VLD_VST", "VST_VST", "SV_ALL"])
def test_a_barrier_of_another_kind(kind: str) -> None:
    body = f'{LOAD}\n{STORE}\npto.mem_bar "{kind}"\n{AGAIN}'
    assert findings(body) == [("SYN-A5-05", line_of(body, "%v2 ="))]


def test_a_store_behind_a_load() -> None:
    other = f"%v2 = pto.vlds %u[%c64] : {P} -> {V}"
    body = f"{LOAD}\n{other}\n{OVER}"
    assert findings(body) == [("SYN-A5-05", line_of(body, OVER))]
    assert findings(f'{LOAD}\n{other}\npto.mem_bar "VLD_VST"\n{OVER}') == []


def test_in_place_needs_no_barrier() -> None:
    assert findings(f"{LOAD}\npto.vsts %v, %u[%c0] : {V}, {P}") == []


def test_a_value_that_comes_back_through_memory() -> None:
    """The store follows the load of its value, that the barrier, and that the store of what the first load gave."""
    assert findings(f'{LOAD}\n{STORE}\npto.mem_bar "VST_VLD"\n{AGAIN}\n{OVER}') == []
    body = f'{LOAD}\n{STORE}\npto.mem_bar "VLD_VST"\n{AGAIN}\n{OVER}'
    assert findings(body) == [("SYN-A5-05", line_of(body, "%v2 ="))]
    others = f"%v2 = pto.vlds %w[%c64] : {P} -> {V}\n%v3 = pto.vlds %u[%c0] : {P} -> {V}"
    apart = f'{LOAD}\n{STORE}\npto.mem_bar "VST_VLD"\n{others}\n{OVER}'
    assert findings(apart) == [("SYN-A5-05", line_of(apart, OVER))]


def test_other_places_need_no_barrier() -> None:
    assert findings(f"{LOAD}\n{STORE}\n%v2 = pto.vlds %u[%c64] : {P} -> {V}") == []


def test_scopes_are_ordered() -> None:
    body = f"{LOAD}\n{STORE}\n}}\npto.vecscope {{\n{AGAIN}"
    assert findings(body) == []


def test_the_next_iteration_may_overtake() -> None:
    body = f"""scf.for %i = %c0 to %c64 step %c1 {{
      %d = pto.vdup %n3, %m : i32, !pto.mask<b32> -> !pto.vreg<64xi32>
      {LOAD}
      pto.vsts %v, %u[%c0] : {V}, {P}
    }}"""
    body = '%m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>\n' + body
    assert findings(body) == [("SYN-A5-05", line_of(body, "%v ="))]


def test_a_memory_barrier_orders_no_pipes() -> None:
    barrier = '  pto.mem_bar "VST_LD"'
    inside = program(f"{LOAD}\n{STORE}\n{barrier}")
    assert rules(inside) == []
    outside = inside.replace(f"{barrier}\n  }}", f"  }}\n{barrier}")
    assert rules(outside) == [("SYN-A5-08", first(outside, "pto.mem_bar"))]


LEFT, BACK = "DMA-A5-11", None


@each(
    "counts, rule",
    [
        ("%n8, %n1", LEFT),
        ("%n1, %n8", LEFT),
        ("%n1, %n1", BACK),
        ("%x, %n1", BACK),
        ("%eight", LEFT),  # both packed in one word
        ("%both", BACK),
    ],
)
@each("direction", ["outtoub", "ubtoout"])
def test_loop_counts_are_reset(counts: str, rule: str | None, direction: str) -> None:
    types = "i64, i64" if "," in counts else "i64"
    text = f"""func.func @k(%x: i64) {{
  %n1 = arith.constant 1 : i64
  %n8 = arith.constant 8 : i64
  %both = arith.constant {1 << 21 | 1} : i64
  %eight = arith.constant {1 << 21 | 8} : i64
  pto.set_loop_size_{direction} %n8, %n8 : i64, i64
  pto.set_loop_size_{direction} {counts} : {types}
  return
}}"""
    assert rules(text) == ([] if rule is None else [(rule, 7)])
