"""Arrays and structs of the scalar unit, and several tiles of one type."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ptokit.diagnostics import DiagnosticError
from ptokit.machine.words import slot_bytes
from ptokit.run import Program
from ptokit.types.dtypes import f32
from ptokit.types.enums import TileType
from ptokit.types.tile import tile
from ptokit.types.values import EventIdArray, Struct

from .kernels import TILE, compiled, load, part, store, view

BLOCKS = 5
WAYS: list[dict] = [{"chunk": 1}, {"chunk": 2}, {"chunk": BLOCKS}]

ARRAY = "!pto.local_array<4x3xi32>"
STRUCT = "!pto.struct<i32, !pto.struct<f32, i64>>"
IO = "%x: !pto.ptr<i32>, %y: !pto.ptr<i32>, %n: index"
TOP = (
    "    %c3 = arith.constant 3 : index\n    %c4 = arith.constant 4 : index\n    %c12 = arith.constant 12 : index\n"
    "    %base = arith.muli %b, %n : index\n"
)


def ways(program: Program) -> list[dict]:
    """As machine code, too, where nothing but arrays is on the stack."""
    assert program.entry.body is not None
    types = [value.type for op in program.entry.body.walk() for value in op.results]
    return [*WAYS, *([] if any(isinstance(type, Struct | EventIdArray) for type in types) else [{"backend": "native"}])]


def results(program: Program, *args: np.ndarray | int) -> list[bytes]:
    """What each way to run it leaves in the last array, and the one answer they have to agree on first."""
    found = []
    for how in ways(program):
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        program.launch(copies, BLOCKS, **how)
        found.append(b"".join(a.tobytes() for a in copies if isinstance(a, np.ndarray)))
    assert len(set(found)) == 1
    return found


def fault(program: Program, *args: np.ndarray | int) -> tuple[str, str, list[str]]:
    found = []
    for how in ways(program):
        with pytest.raises(DiagnosticError) as caught:
            program.launch([a.copy() if isinstance(a, np.ndarray) else a for a in args], BLOCKS, **how)
        found.append(caught.value.diagnostics)
    assert all(f == found[0] for f in found)
    (diagnostic,) = found[0]
    return diagnostic.rule, diagnostic.message, [n.message for n in diagnostic.notes]


def test_array_in_loops() -> None:
    """Transposes a 4 x 3 array of each block through one on the stack, whose elements differ between blocks."""
    body = (
        TOP
        + f"    %a = pto.declare_local_array -> {ARRAY}\n"
        + "    scf.for %i = %c0 to %c4 step %c1 {\n    scf.for %j = %c0 to %c3 step %c1 {\n"
        "    %r = arith.muli %i, %c3 : index\n    %s = arith.addi %r, %j : index\n"
        "    %p = arith.addi %base, %s : index\n    %v = pto.load_scalar %x[%p] : !pto.ptr<i32> -> i32\n"
        f"    pto.local_array_set %a[%i, %j], %v : {ARRAY}, i32\n    }}\n    }}\n"
        "    scf.for %j = %c0 to %c3 step %c1 {\n    scf.for %i = %c0 to %c4 step %c1 {\n"
        f"    %v = pto.local_array_get %a[%i, %j] : {ARRAY} -> i32\n"
        "    %r = arith.muli %j, %c4 : index\n    %s = arith.addi %r, %i : index\n"
        "    %p = arith.addi %base, %s : index\n    pto.store_scalar %v, %y[%p] : !pto.ptr<i32>, i32\n    }\n    }\n"
    )
    x = np.random.default_rng(0).integers(-(2**31), 2**31, BLOCKS * 12).astype(np.int32)
    want = x.reshape(BLOCKS, 4, 3).transpose(0, 2, 1).tobytes()
    assert results(compiled(IO, body), x, np.zeros_like(x), 12)[0] == x.tobytes() + want


def test_an_element_read_is_a_number() -> None:
    """It stays what it was when the element changes."""
    body = (
        TOP
        + "    %one = arith.constant 1 : i32\n"
        + f"    %a = pto.declare_local_array -> {ARRAY}\n    %v = pto.load_scalar %x[%b] : !pto.ptr<i32> -> i32\n"
        f"    pto.local_array_set %a[%c1, %c2], %v : {ARRAY}, i32\n"
        f"    %old = pto.local_array_get %a[%c1, %c2] : {ARRAY} -> i32\n"
        f"    pto.local_array_set %a[%c1, %c2], %one : {ARRAY}, i32\n"
        f"    %new = pto.local_array_get %a[%c1, %c2] : {ARRAY} -> i32\n"
        "    %sum = arith.addi %old, %new : i32\n    pto.store_scalar %sum, %y[%b] : !pto.ptr<i32>, i32\n"
    )
    x = np.arange(BLOCKS, dtype=np.int32) * 7
    assert results(compiled(IO, body), x, np.zeros_like(x), 1)[0] == x.tobytes() + (x + 1).tobytes()


def test_index_of_each_block() -> None:
    """Blocks whose indices differ, after some of them have stored: y[b] = x[b % 4], through an array."""
    body = (
        TOP
        + "    %a = pto.declare_local_array -> !pto.local_array<4xi32>\n"
        + "    scf.for %i = %c0 to %c4 step %c1 {\n    %v = pto.load_scalar %x[%i] : !pto.ptr<i32> -> i32\n"
        "    pto.store_scalar %v, %y[%b] : !pto.ptr<i32>, i32\n"
        "    pto.local_array_set %a[%i], %v : !pto.local_array<4xi32>, i32\n    }\n"
        "    %k = arith.remsi %b, %c4 : index\n"
        "    %v = pto.local_array_get %a[%k] : !pto.local_array<4xi32> -> i32\n"
        "    pto.store_scalar %v, %y[%b] : !pto.ptr<i32>, i32\n"
    )
    x = np.arange(4, dtype=np.int32) + 40
    y = np.zeros(BLOCKS, np.int32)
    assert results(compiled(IO, body), x, y, 1)[0] == x.tobytes() + x[np.arange(BLOCKS) % 4].tobytes()


def test_struct() -> None:
    """Fields on all levels hold what was put there, apart from each other and for each block."""
    body = (
        TOP + f"    %s = pto.declare_struct -> {STRUCT}\n    %v = pto.load_scalar %x[%b] : !pto.ptr<i32> -> i32\n"
        "    %w = arith.extsi %v : i32 to i64\n    %f = arith.sitofp %v : i32 to f32\n"
        f"    pto.struct_set %s[0], %v : {STRUCT}, i32\n    pto.struct_set %s[1, 0], %f : {STRUCT}, f32\n"
        "    %w2 = arith.addi %w, %w : i64\n"
        f"    pto.struct_set %s[1, 1], %w2 : {STRUCT}, i64\n"
        f"    %a = pto.struct_get %s[0] : {STRUCT} -> i32\n    %g = pto.struct_get %s[1, 0] : {STRUCT} -> f32\n"
        f"    %c = pto.struct_get %s[1, 1] : {STRUCT} -> i64\n"
        "    %gi = arith.fptosi %g : f32 to i32\n    %ci = arith.trunci %c : i64 to i32\n"
        "    %t = arith.muli %a, %gi : i32\n    %u = arith.addi %t, %ci : i32\n"
        "    pto.store_scalar %u, %y[%b] : !pto.ptr<i32>, i32\n"
    )
    x = np.arange(BLOCKS, dtype=np.int32) - 2
    assert results(compiled(IO, body), x, np.zeros_like(x), 1)[0] == x.tobytes() + (x * x + 2 * x).tobytes()


@pytest.mark.parametrize("what", ["struct", "array"])
def test_each_turn_of_a_loop_has_its_own(what: str) -> None:
    """What a turn declares begins with zeros, shares nothing with another, and is gone in the next launch."""
    kind = {"struct": STRUCT, "array": "!pto.local_array<2xi64>"}[what]
    place = {"struct": "[1, 1]", "array": "[%c1]"}[what]
    get, put = {"struct": ("struct_get", "struct_set"), "array": ("local_array_get", "local_array_set")}[what]
    declare = {"struct": "declare_struct", "array": "declare_local_array"}[what]
    body = (
        TOP
        + "    %one = arith.constant 1 : i64\n    %zero = arith.constant 0 : i64\n"
        + f"    %outer = pto.{declare} -> {kind}\n"
        "    %sum = scf.for %i = %c0 to %c4 step %c1 iter_args(%s = %zero) -> (i64) {\n"
        f"    %a = pto.{declare} -> {kind}\n    %b2 = pto.{declare} -> {kind}\n"
        f"    %v = pto.{get} %a{place} : {kind} -> i64\n    %w = arith.addi %v, %one : i64\n"
        f"    pto.{put} %a{place}, %w : {kind}, i64\n    %x2 = pto.{get} %b2{place} : {kind} -> i64\n"
        f"    %o = pto.{get} %outer{place} : {kind} -> i64\n    %p = arith.addi %o, %one : i64\n"
        f"    pto.{put} %outer{place}, %p : {kind}, i64\n"
        "    %t = arith.addi %s, %w : i64\n    %u = arith.addi %t, %x2 : i64\n    scf.yield %u : i64\n    }\n"
        f"    %last = pto.{get} %outer{place} : {kind} -> i64\n    %ten = arith.constant 10 : i64\n"
        "    %m = arith.muli %last, %ten : i64\n    %r = arith.addi %m, %sum : i64\n"
        "    %k = arith.trunci %r : i64 to i32\n"
        "    pto.store_scalar %k, %y[%b] : !pto.ptr<i32>, i32\n"
    )
    program = compiled(IO, body)
    y = np.zeros(BLOCKS, np.int32)
    for _ in range(2):
        assert results(program, np.zeros(1, np.int32), y, 1)[0][4:] == np.full(BLOCKS, 44, np.int32).tobytes()


def test_array_that_a_function_fills() -> None:
    """It is the caller's, and its elements differ between blocks, which the loop's end shows."""
    array = "!pto.local_array<2xi32>"
    more = (
        f"  func.func private @fill(%a: {array}, %v: i32) {{\n    %c1 = arith.constant 1 : index\n"
        f"    pto.local_array_set %a[%c1], %v : {array}, i32\n    return\n  }}\n"
    )
    body = (
        TOP
        + "    %zero = arith.constant 0 : i32\n"
        + f"    %a = pto.declare_local_array -> {array}\n    %v = arith.index_cast %b : index to i32\n"
        "    pto.store_scalar %zero, %y[%b] : !pto.ptr<i32>, i32\n"
        f"    func.call @fill(%a, %v) : ({array}, i32) -> ()\n"
        f"    %k = pto.local_array_get %a[%c1] : {array} -> i32\n    %end = arith.index_cast %k : i32 to index\n"
        "    scf.for %i = %c0 to %end step %c1 {\n    %o = pto.load_scalar %y[%b] : !pto.ptr<i32> -> i32\n"
        "    %j = arith.index_cast %i : index to i32\n    %s = arith.addi %o, %j : i32\n"
        "    %t = arith.subi %s, %zero : i32\n    pto.store_scalar %t, %y[%b] : !pto.ptr<i32>, i32\n    }\n"
    )
    y = np.full(BLOCKS, 9, np.int32)
    program = compiled(IO, body, more=more)
    assert not program.effects.lockstep  # blocks part after they have stored
    want = np.array([sum(range(b)) for b in range(BLOCKS)], np.int32)
    assert results(program, np.zeros(1, np.int32), y, 1)[0][4:] == want.tobytes()


@pytest.mark.parametrize(
    ("index", "blocks", "notes"),
    [("%n", range(BLOCKS), ["at block 0", "likewise in 4 more blocks: 1..4"]), ("%b", [4], ["at block 4"])],
)
def test_index_out_of_range(index: str, blocks: object, notes: list[str]) -> None:
    body = (
        TOP
        + "    %one = arith.constant 1 : i32\n    %a = pto.declare_local_array -> !pto.local_array<4xi32>\n"
        + f"    pto.local_array_set %a[{index}], %one : !pto.local_array<4xi32>, i32\n"
    )
    x = np.zeros(BLOCKS, np.int32)
    assert fault(compiled(IO, body), x, x, 4) == ("RUN-INDEX", "index 4 of the array, which has 4", notes)


def test_inner_index_out_of_range() -> None:
    """An index beyond its own dimension is none of the next row's."""
    body = (
        TOP
        + f"    %a = pto.declare_local_array -> {ARRAY}\n    %v = pto.local_array_get %a[%c0, %n] : {ARRAY} -> i32\n"
    )
    body += "    pto.store_scalar %v, %y[%b] : !pto.ptr<i32>, i32\n"
    x = np.zeros(BLOCKS, np.int32)
    assert fault(compiled(IO, body), x, x, 3)[:2] == ("RUN-INDEX", "index 3 of the array, which has 3")


def test_other_backends_leave_it() -> None:
    """NumPy runs the kernel where nothing else was asked for; to ask for more is refused by name."""
    pytest.importorskip("llvmlite")
    large = "    %a = pto.declare_local_array -> !pto.local_array<16385xi32>\n"
    for declaration, why in (
        (f"    %a = pto.declare_struct -> {STRUCT}\n", "declare_struct: it is not translated"),
        (large, "declare_local_array: the array has 65540 bytes"),
    ):
        program = compiled(IO, TOP + declaration)
        x = np.zeros(1, np.int32)
        program.launch([x, x, 1], BLOCKS)
        with pytest.raises(DiagnosticError, match=why) as caught:
            program.launch([x, x, 1], BLOCKS, backend="native")
        assert caught.value.diagnostics[0].rule == "RUN-BACKEND"


def test_arrays_decide_where_blocks_write() -> None:
    """Each block writes where an array says: y[a[b]] = b."""
    body = (
        TOP
        + "    %c5 = arith.addi %c4, %c1 : index\n"
        + "    %a = pto.declare_local_array -> !pto.local_array<5xi32>\n"
        + "    scf.for %i = %c0 to %c5 step %c1 {\n    %v = pto.load_scalar %x[%i] : !pto.ptr<i32> -> i32\n"
        "    pto.local_array_set %a[%i], %v : !pto.local_array<5xi32>, i32\n    }\n"
        "    %v = pto.local_array_get %a[%b] : !pto.local_array<5xi32> -> i32\n"
        "    %at = arith.index_cast %v : i32 to index\n    %w = arith.index_cast %b : index to i32\n"
        "    pto.store_scalar %w, %y[%at] : !pto.ptr<i32>, i32\n"
    )
    x, y = np.array([3, 0, 4, 1, 2], np.int32), np.full(BLOCKS, -1, np.int32)
    assert results(compiled(IO, body), x, y, 1)[0] == x.tobytes() + np.argsort(x).astype(np.int32).tobytes()


# ------------------------------------------------------ several tiles

SLOTS = "!pto.multi_tile_buf<vec, 8x16xf32, count=3>"
F32 = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %rows: index, %n: index"


def take(name: str, slot: str) -> str:
    return f"    %{name} = pto.multi_tile_get %m[{slot}] : {SLOTS} -> {TILE}\n"


@pytest.mark.parametrize("addr", [None, 0, 1024])
def test_slots(addr: int | None) -> None:
    """Loads n slices into the tiles in turn, as a prefetching loop does; stores those of the last round."""
    base = f"    %at = arith.constant {addr} : i64\n" if addr is not None else ""
    body = (
        base
        + "    %c3 = arith.constant 3 : index\n    %c24 = arith.constant 24 : index\n"
        + f"    %m = pto.alloc_multi_tile{' addr = %at' if base else ''} : {SLOTS}\n"
        + view("xv", "%x")
        + view("yv", "%y")
        + "    scf.for %i = %c0 to %n step %c1 {\n    %k = arith.remui %i, %c3 : index\n"
        + take("t", "%k")
        + "    %s = arith.addi %i, %b : index\n    %r = arith.muli %s, %c8 : index\n"
        + part("p", "%xv", "%r")
        + load("%t", "%p")
        + "    }\n    %from = arith.muli %b, %c24 : index\n"
        + "    scf.for %i = %c0 to %c3 step %c1 {\n"
        + take("t", "%i")
        + "    %s = arith.muli %i, %c8 : index\n    %r = arith.addi %from, %s : index\n"
        + part("p", "%yv", "%r")
        + store("%t", "%p")
        + "    }\n"
    )
    program = compiled(F32, body)
    for n in (3, 4, 5, 7):
        x = np.random.default_rng(n).random((BLOCKS * 3 + n, 8, 16), np.float32)
        y = np.zeros((BLOCKS * 3, 8, 16), np.float32)
        last = [max(i for i in range(n) if i % 3 == k) for k in range(3)]
        want = np.concatenate([x[[b + i for i in last]] for b in range(BLOCKS)])
        rows = len(x) * 8
        got = results(program, x.reshape(-1, 16), y.reshape(-1, 16), rows, n)[0]
        assert got == x.tobytes() + want.tobytes()


def test_slots_follow_each_other() -> None:
    """Slot 1 of tiles at address 512 is what a tile at 1024 reads, and slot 0 is not."""
    body = (
        "    %at = arith.constant 512 : i64\n    %next = arith.constant 1024 : i64\n"
        f"    %m = pto.alloc_multi_tile addr = %at : {SLOTS}\n"
        + take("s0", "%c0")
        + take("s1", "%c1")
        + f"    %t = pto.alloc_tile addr = %next : {TILE}\n"
        + view("xv", "%x")
        + view("yv", "%y")
        + part("p0", "%xv", "%c0")
        + part("p1", "%xv", "%c8")
        + part("q", "%yv", "%c0")
        + load("%s0", "%p0")
        + load("%s1", "%p1")
        + store("%t", "%q")
    )
    x, y = np.random.default_rng(1).random((16, 16), np.float32), np.zeros((16, 16), np.float32)
    assert results(compiled(F32, body), x, y, 16, 0)[0] == x.tobytes() + x[8:].tobytes() + y[8:].tobytes()


def test_slot_out_of_range() -> None:
    body = f"    %m = pto.alloc_multi_tile : {SLOTS}\n" + take("t", "%n") + view("yv", "%y") + part("q", "%yv", "%c0")
    x = np.zeros((8, 16), np.float32)
    found = fault(compiled(F32, body + store("%t", "%q")), x, x, 8, 3)
    assert found[:2] == ("RUN-INDEX", "index 3 of the tiles, which has 3")


def test_valid_region_given_at_run_time() -> None:
    slots = "!pto.multi_tile_buf<!pto.tile_buf<vec, 8x16xf32, valid=?x?>, count=2>"
    one = "!pto.tile_buf<vec, 8x16xf32, valid=?x?>"
    body = (
        f"    %m = pto.alloc_multi_tile valid_row = %n valid_col = %c2 : {slots}\n"
        f"    %t = pto.multi_tile_get %m[%c1] : {slots} -> {one}\n"
        f"    %row, %col = pto.get_validshape %t : {one}\n"
        "    %r = arith.muli %row, %c16 : index\n    %s = arith.addi %r, %col : index\n"
        "    %v = arith.index_cast %s : index to i32\n    pto.store_scalar %v, %y[%c0] : !pto.ptr<i32>, i32\n"
    )
    y = np.zeros(1, np.int32)
    assert results(compiled(IO, body), y, y, 5)[0][4:] == np.int32(5 * 16 + 2).tobytes()


@pytest.mark.parametrize(
    ("loc", "rows", "cols", "bytes"),
    [
        (TileType.Vec, 1, 8, 32),
        (TileType.Vec, 3, 8, 96),
        (TileType.Mat, 1, 8, 32),
        (TileType.Left, 1, 8, 512),
        (TileType.Right, 16, 16, 1024),
        (TileType.Acc, 1, 136, 1024),
    ],
)
def test_bytes_of_a_slot(loc: TileType, rows: int, cols: int, bytes: int) -> None:
    """PTOAS test/lit/pto/multi_tile_level3_aligned_slot_stride.pto."""
    assert slot_bytes(tile(loc, f32, rows, cols)) == bytes


# ---------------------------------------------------- random programs


@pytest.mark.parametrize("seed", range(12))
def test_random_arrays_and_structs(seed: int) -> None:
    """Random reads and writes of elements and fields, against Python lists of each block."""
    rng = random.Random(seed)
    shape = rng.choice([(5,), (2, 3), (2, 2, 2)])
    count = int(np.prod(shape))
    array = f"!pto.local_array<{'x'.join(map(str, shape))}xi32>"
    struct = "!pto.struct<i32, !pto.struct<i32, i32>>"
    paths = ["[0]", "[1, 0]", "[1, 1]"]
    lines = [f"%a = pto.declare_local_array -> {array}", f"%s = pto.declare_struct -> {struct}"]
    lines += [f"%k{i} = arith.constant {i} : index" for i in range(6)]
    lines += ["%n0 = arith.index_cast %b : index to i32"]
    elements = {(b, i): 0 for b in range(BLOCKS) for i in range(count)}
    fields = {(b, p): 0 for b in range(BLOCKS) for p in paths}
    numbers = [list(range(BLOCKS))]
    for at in range(count):  # nothing is read that was not written
        place = ", ".join(f"%k{i}" for i in np.unravel_index(at, shape))
        lines.append(f"pto.local_array_set %a[{place}], %n0 : {array}, i32")
        elements.update({(b, at): b for b in range(BLOCKS)})
    for path in paths:
        lines.append(f"pto.struct_set %s{path}, %n0 : {struct}, i32")
        fields.update({(b, path): b for b in range(BLOCKS)})
    for _ in range(40):
        at, path, of = rng.randrange(count), rng.choice(paths), rng.randrange(len(numbers))
        place = ", ".join(f"%k{i}" for i in np.unravel_index(at, shape))
        new = f"%n{len(numbers)}"
        match rng.randrange(5):
            case 0:
                lines.append(f"pto.local_array_set %a[{place}], %n{of} : {array}, i32")
                elements.update({(b, at): numbers[of][b] for b in range(BLOCKS)})
            case 1:
                lines.append(f"{new} = pto.local_array_get %a[{place}] : {array} -> i32")
                numbers.append([elements[b, at] for b in range(BLOCKS)])
            case 2:
                lines.append(f"pto.struct_set %s{path}, %n{of} : {struct}, i32")
                fields.update({(b, path): numbers[of][b] for b in range(BLOCKS)})
            case 3:
                lines.append(f"{new} = pto.struct_get %s{path} : {struct} -> i32")
                numbers.append([fields[b, path] for b in range(BLOCKS)])
            case _:
                other = rng.randrange(len(numbers))
                lines.append(f"{new} = arith.addi %n{of}, %n{other} : i32")
                numbers.append([x + y for x, y in zip(numbers[of], numbers[other])])
    lines += ["%p = arith.muli %b, %n : index", "%p_0 = arith.addi %p, %c0 : index"]
    for k in range(len(numbers)):
        lines += [
            f"pto.store_scalar %n{k}, %y[%p_{k}] : !pto.ptr<i32>, i32",
            f"%p_{k + 1} = arith.addi %p_{k}, %c1 : index",
        ]
    y = np.zeros(BLOCKS * len(numbers), np.int32)
    want = np.array(numbers, np.int64).T.astype(np.int32)
    program = compiled(IO, "\n".join(lines))
    assert results(program, np.zeros(1, np.int32), y, len(numbers))[0][4:] == want.tobytes()
