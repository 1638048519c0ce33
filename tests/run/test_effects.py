"""What may differ between blocks, and which arguments a kernel reads and writes, by the way the value has taken."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module
from ptokit.ir import Module, Op
from ptokit.plan.effects import Effects, analyse, loaded, stored

VIEW = "!pto.tensor_view<8x8xf32>"
PART = "!pto.partition_tensor_view<8x8xf32>"
TILE = "!pto.tile_buf<vec, 8x8xf32>"
ARRAY = "!pto.local_array<4xi64>"


def module(body: str, functions: str = "") -> Module:
    """``@k(%p, %q, %u, %t)``; %b is another number in each block, %u is none."""
    text = f"""module {{
      {functions}
      func.func @k(%p: !pto.ptr<i64>, %q: !pto.ptr<f32>, %u: index, %t: i1) attributes {{pto.entry}} {{
        %id = pto.get_block_idx
        %b = arith.index_cast %id : i64 to index
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        %one = arith.constant 1 : i64
        {body}
        return
      }}
    }}"""
    read = parse_module(text)
    assert [str(d) for d in read.diagnostics] == [], text
    return read.module


def effects(body: str, functions: str = "") -> Effects:
    read = module(body, functions)
    return analyse(read, read.entries()[0])


def differ(body: str, functions: str = "") -> set[str]:
    """The values that may differ between blocks, by name; not those that all programs have."""
    return {value.name for value in effects(body, functions).varying} - {"id", "b"}


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ("%b to %c8 step %c1", {"i"}),
        ("%c0 to %c8 step %b", {"i"}),
        ("%c0 to %b step %c1", set()),
        ("%u to %u step %u", set()),
    ],
)
def test_the_variable_of_a_loop(bounds: str, expected: set[str]) -> None:
    assert differ(f"scf.for %i = {bounds} {{\n}}") == expected


@pytest.mark.parametrize(
    ("first", "second", "yielded", "expected"),
    [
        ("%b", "%u", "%x, %y", {"x", "r"}),
        ("%u", "%b", "%x, %y", {"y", "s"}),
        ("%u", "%b", "%y, %y", {"x", "y", "r", "s"}),
        ("%u", "%c0", "%b, %y", {"x", "r"}),
        ("%u", "%c0", "%x, %b", {"y", "s"}),
        ("%u", "%c0", "%y, %x", set()),
    ],
)
def test_what_a_loop_carries(first: str, second: str, yielded: str, expected: set[str]) -> None:
    body = f"""
        %r, %s = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = {first}, %y = {second}) -> (index, index) {{
          scf.yield {yielded} : index, index
        }}
    """
    assert differ(body) == expected


@pytest.mark.parametrize(
    ("first", "passed", "yielded", "expected"),
    [
        ("%b", "%u", "%u", {"x"}),
        ("%b", "%x", "%u", {"x", "d", "r"}),
        ("%u", "%b", "%u", {"d", "r"}),
        ("%u", "%b", "%d", {"x", "d", "r"}),
        ("%u", "%u", "%b", {"x"}),
        ("%u", "%x", "%b", {"x", "d", "r"}),
        ("%u", "%u", "%d", set()),
    ],
)
def test_what_a_while_loop_carries(first: str, passed: str, yielded: str, expected: set[str]) -> None:
    body = f"""
        %r = scf.while (%x = {first}) : (index) -> index {{
          scf.condition(%t) {passed} : index
        }} do {{
        ^bb0(%d: index):
          scf.yield {yielded} : index
        }}
    """
    assert differ(body) == expected


@pytest.mark.parametrize(("first", "second"), [("%b", "%u"), ("%u", "%b"), ("%u", "%c0")])
def test_what_one_of_several_regions_yields(first: str, second: str) -> None:
    expected = {"r"} if "%b" in (first, second) else set()
    chosen = f"{{\nscf.yield {first} : index\n}} else {{\nscf.yield {second} : index\n}}"
    assert differ(f"%r = scf.if %t -> (index) {chosen}") == expected
    cases = f"case 1 {{\nscf.yield {first} : index\n}}\ndefault {{\nscf.yield {second} : index\n}}"
    assert differ(f"%r = scf.index_switch %u -> index\n{cases}") == expected
    once = f"scf.execute_region -> index {{\nscf.yield {first} : index\n}}"
    assert differ(f"%r = {once}") == (expected if first == "%b" else set())


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [("%b, %u", "%c0", {"e"}), ("%u, %b", "%c0", {"f"}), ("%u, %c0", "%b", {"g"}), ("%u, %c0", "%c1", set())],
)
def test_what_branches_pass(first: str, second: str, expected: set[str]) -> None:
    types = "index, index"
    blocks = "^two(%e: index, %f: index):\nreturn\n^one(%g: index):\n"
    assert differ(f"cf.cond_br %t, ^two({first} : {types}), ^one({second} : index)\n{blocks}") == expected
    flag = "%n = arith.index_cast %u : index to i64"
    ways = f"default: ^one({second} : index), 3: ^two({first} : {types})"
    assert differ(f"{flag}\ncf.switch %n : i64, [{ways}]\n{blocks}") == expected
    assert differ(f"cf.br ^two({first} : {types})\n^two(%e: index, %f: index):") == expected - {"g"}


def test_what_a_function_takes_and_returns() -> None:
    same = "func.func @f(%x: index, %y: index) -> (index, index) {\nreturn %y, %x : index, index\n}\n"
    call = "func.call @f({}) : (index, index) -> (index, index)"
    assert differ(f"%r, %s = {call.format('%b, %u')}", same) == {"x", "s"}
    assert differ(f"%r, %s = {call.format('%u, %b')}", same) == {"y", "r"}
    assert differ(f"%r, %s = {call.format('%u, %c0')}", same) == set()
    own = "func.func @f() -> i64 {\n%n = pto.get_block_idx\nreturn %n : i64\n}\n"
    assert differ("%r = func.call @f() : () -> i64", own) == {"n", "r"}


def test_what_a_strict_scope_captures() -> None:
    scope = "pto.strict_vecscope(%b, %u) {\n^bb0(%x: index, %y: index):\n} : (index, index) -> ()"
    assert differ(scope) == {"x"}


def test_numbers_out_of_memory() -> None:
    load = "%v = pto.load_scalar {}[{}] : {} -> i64"
    assert differ(load.format("%p", "%u", "!pto.ptr<i64>")) == set()
    assert differ(load.format("%p", "%b", "!pto.ptr<i64>")) == {"v"}
    local = "%l = pto.castptr %one : i64 -> !pto.ptr<i64, ub>\n"
    assert differ(local + load.format("%l", "%u", "!pto.ptr<i64, ub>")) == {"v"}


def test_numbers_that_an_instruction_gives_each_block() -> None:
    assert differ("%v = pto.get_subblock_idx\n%w = pto.get_block_num") == {"v"}
    tile = f"%a = pto.alloc_tile : {TILE}\n"
    assert "v" in differ(f"{tile}%v = pto.tgetval ins(%a, %u : {TILE}, index) outs : f32")
    assert differ(f"{tile}%v, %w = pto.get_validshape %a : {TILE}") == set()


def test_numbers_in_arrays() -> None:
    """Where one array holds numbers that differ, all may: functions know them by other names."""
    arrays = f"%a = pto.declare_local_array -> {ARRAY}\n%z = pto.declare_local_array -> {ARRAY}\n"
    read = f"%v = pto.local_array_get %z[%u] : {ARRAY} -> i64\n"
    write = f"pto.local_array_set %a[%u], {{}} : {ARRAY}, i64\n"
    assert "v" not in differ(arrays + read + write.format("%one"))
    assert "v" in differ(arrays + read + write.format("%id"))
    assert "v" in differ(arrays + read + f"pto.local_array_set %a[%b], %one : {ARRAY}, i64\n")
    assert "v" in differ(arrays + f"%v = pto.local_array_get %z[%b] : {ARRAY} -> i64\n")


# --- memory ----------------------------------------------------------------------------------------------------------

SHAPE = "shape = [%c8, %c8], strides = [%c8, %c1]"
PLACE = "offsets = [%c0, %c0], sizes = [%c8, %c8]"
VIEWS = f"""
    %a = pto.alloc_tile : {TILE}
    %qv = pto.make_tensor_view %q, {SHAPE} : {VIEW}
    %qp = pto.partition_view %qv, {PLACE} : {VIEW} -> {PART}
"""
STORE = "pto.store_scalar %one, {}[%c0] : !pto.ptr<i64>, i64"
LOAD = "%v = pto.load_scalar {}[%c0] : !pto.ptr<i64> -> i64"


def written(body: str, functions: str = "") -> set[str]:
    """The pointers among the arguments that are written, by name."""
    return {value.name for value in effects(body, functions).written} & {"p", "q"}


def read(body: str, functions: str = "") -> set[str]:
    """The same of those that are read."""
    return {value.name for value in effects(body, functions).read} & {"p", "q"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", ""),
        (LOAD.format("%p"), ""),
        (STORE.format("%p"), "p"),
        (f"{VIEWS} pto.tload ins(%qp : {PART}) outs(%a : {TILE})", ""),
        (f"{VIEWS} pto.tstore ins(%a : {TILE}) outs(%qp : {PART})", "q"),
        ("%x = pto.addptr %p, %c1 : !pto.ptr<i64> -> !pto.ptr<i64>\n" + STORE.format("%x"), "p"),
        ("%x = pto.castptr %q : !pto.ptr<f32> -> !pto.ptr<i64>\n" + STORE.format("%x"), "q"),
        ("%x = pto.inttoptr %id : i64 -> !pto.ptr<i64>\n" + STORE.format("%x"), "pq"),
        (
            "%l = pto.castptr %one : i64 -> !pto.ptr<i64, ub>\npto.store_scalar %one, %l[%c0] : !pto.ptr<i64, ub>, i64",
            "",
        ),
    ],
)
def test_arguments_that_are_written(body: str, expected: str) -> None:
    assert written(body) == set(expected)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("", ""),
        (LOAD.format("%p"), "p"),
        (f"{VIEWS} pto.tload ins(%qp : {PART}) outs(%a : {TILE})", "q"),
        ("%x = pto.addptr %p, %c1 : !pto.ptr<i64> -> !pto.ptr<i64>\n" + LOAD.format("%x"), "p"),
        ("%x = pto.inttoptr %id : i64 -> !pto.ptr<i64>\n" + LOAD.format("%x"), "pq"),
    ],
)
def test_arguments_that_are_read(body: str, expected: str) -> None:
    assert read(body) == set(expected)


def test_an_atomic_store_reads_what_it_changes() -> None:
    def store(more: str) -> Op:
        body = f"{VIEWS} pto.tstore ins(%a : {TILE}) outs(%qp : {PART}) {more}"
        (op,) = (op for op in module(body).functions[0].body.walk() if op.name == "pto.tstore")
        return op

    assert [v.name for v in loaded(store("{atomicType = #pto<atomic_type atomic_add>}"))] == ["qp"]
    assert [v.name for v in stored(store("{atomicType = #pto<atomic_type atomic_add>}"))] == ["qp"]
    assert loaded(store("")) == []


POINTER = "!pto.ptr<i64>"
LOOP = f"%x = scf.for %i = %c0 to %c8 step %c1 iter_args(%y = %p) -> ({POINTER})"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (f"%x = scf.if %t -> ({POINTER}) {{\nscf.yield %p : {POINTER}\n}} else {{\nscf.yield %o : {POINTER}\n}}", "op"),
        (f"{LOOP} {{\nscf.yield %y : {POINTER}\n}}", "p"),
        (f"{LOOP} {{\nscf.yield %o : {POINTER}\n}}", "op"),
        (
            f"%x = scf.while (%y = %p) : ({POINTER}) -> {POINTER} {{\nscf.condition(%t) %y : {POINTER}\n}} "
            f"do {{\n^bb0(%d: {POINTER}):\nscf.yield %d : {POINTER}\n}}",
            "p",
        ),
        (
            f"%x = scf.while (%y = %p) : ({POINTER}) -> {POINTER} {{\nscf.condition(%t) %y : {POINTER}\n}} "
            f"do {{\n^bb0(%d: {POINTER}):\nscf.yield %o : {POINTER}\n}}",
            "op",
        ),
        (f"%x = arith.select %t, %p, %o : {POINTER}", "op"),
        (f"%x = func.call @f(%p, %o) : ({POINTER}, {POINTER}) -> {POINTER}", "o"),
        (f"cf.cond_br %t, ^a(%p : {POINTER}), ^a(%o : {POINTER})\n^a(%x: {POINTER}):", "op"),
        (f"cf.br ^a(%p, %o : {POINTER}, {POINTER})\n^a(%z: {POINTER}, %x: {POINTER}):", "o"),
    ],
)  # fmt: skip
def test_the_way_of_a_pointer(body: str, wanted: str) -> None:
    second = "%o = pto.castptr %q : !pto.ptr<f32> -> !pto.ptr<i64>\n"
    function = f"func.func @f(%m: {POINTER}, %n: {POINTER}) -> {POINTER} {{\nreturn %n : {POINTER}\n}}\n"
    expected = wanted.replace("o", "q")
    assert written(second + body + "\n" + STORE.format("%x"), function) == set(expected)


def test_stores_in_a_function_are_those_of_its_callers() -> None:
    function = f"func.func @f(%m: {POINTER}) {{\n%c0 = arith.constant 0 : index\n%one = arith.constant 1 : i64\n"
    function += STORE.format("%m") + "\nreturn\n}\n"
    assert written(f"func.call @f(%p) : ({POINTER}) -> ()", function) == {"p"}


def test_an_atomic_of_threads_writes_what_it_points_to() -> None:
    pointer = "!pto.ptr<i32>"
    body = f"%x = pto.castptr %p : !pto.ptr<i64> -> {pointer}\n%n = arith.trunci %one : i64 to i32\n"
    body += f"%v = pto.atomic_add %x, %n : {pointer}, i32 -> i32"
    assert written(body) == {"p"}
    assert "p" in read(body)
