"""Addresses: pointers seen as other elements, as numbers, of views and of tiles; what else later stages leave."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program, compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import target

from .kernels import compiled

KINDS = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "f16": np.float16, "f32": np.float32}
BACKENDS = ("numpy", "native")
pytest.importorskip("llvmlite")


def after(program: Program, backend: str, *args: np.ndarray | int, blocks: int = 1) -> list[np.ndarray] | str:
    """The arrays as a launch leaves them, or the rule of its fault."""
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    try:
        program.launch(given, blocks, backend=backend, threads=2)
    except DiagnosticError as error:
        return error.diagnostics[0].rule
    return [a for a in given if isinstance(a, np.ndarray)]


def same(program: Program, *args: np.ndarray | int, blocks: int = 1) -> list[np.ndarray] | str:
    """What both backends agree on."""
    one, two = (after(program, backend, *args, blocks=blocks) for backend in BACKENDS)
    if isinstance(one, str) or isinstance(two, str):
        assert one == two
    else:
        assert [a.tobytes() for a in one] == [a.tobytes() for a in two]
    return one


def cast(how: str, a: str, b: str) -> str:
    """`%q`, a pointer to elements of type b: `%p`, which points to elements of type a, advanced by `%bytes`."""
    if how == "castptr":
        return (
            f"    %e = pto.castptr %p : !pto.ptr<{a}> -> !pto.ptr<i8>\n"
            "    %f = pto.addptr %e, %bytes : !pto.ptr<i8> -> !pto.ptr<i8>\n"
            f"    %q = pto.castptr %f : !pto.ptr<i8> -> !pto.ptr<{b}>\n"
        )
    return (
        f"    %e = pto.ptrtoint %p : !pto.ptr<{a}> -> i64\n    %n = arith.index_cast %bytes : index to i64\n"
        f"    %f = arith.addi %e, %n : i64\n    %q = pto.inttoptr %f : i64 -> !pto.ptr<{b}>\n"
    )


@pytest.mark.parametrize("how", ["castptr", "inttoptr"])
@pytest.mark.parametrize("seed", range(6))
def test_elements_seen_as_others(how: str, seed: int) -> None:
    """A scalar read and one written through a pointer of another element type."""
    rng = random.Random(f"{how}{seed}")
    a, b = rng.choice([*KINDS]), rng.choice([*KINDS])
    program = compiled(
        f"%z: !pto.ptr<f32>, %p: !pto.ptr<{a}>, %o: !pto.ptr<{b}>, %bytes: index, %i: index, %j: index",
        cast(how, a, b) + f"    %v = pto.load_scalar %q[%i] : !pto.ptr<{b}> -> {b}\n"
        f"    pto.store_scalar %v, %o[%c0] : !pto.ptr<{b}>, {b}\n"
        f"    pto.store_scalar %v, %q[%j] : !pto.ptr<{b}>, {b}\n",
    )
    bits = np.random.default_rng(seed).integers(0, 256, 96, np.uint8)
    size = np.dtype(KINDS[b]).itemsize
    rules = []
    for _ in range(20):
        start = rng.randrange(24) if rng.random() < 0.2 else size * rng.randrange(3)
        i, j = rng.randrange(-4, 120 // size), rng.randrange(96 // size)
        found = same(program, np.zeros(4, np.float32), bits.view(KINDS[a]), np.zeros(1, KINDS[b]), start, i, j)
        outside = any(start + k * size < 0 or start + (k + 1) * size > bits.size for k in (i, j))
        if start % size or outside:
            assert found == ("PTR-A5-02" if start % size else "GM-OOB")
            rules.append(found)
            continue
        item = bits[start + i * size :][:size]
        wanted = bits.copy()
        wanted[start + j * size :][:size] = item
        assert not isinstance(found, str)
        assert found[1].tobytes() == wanted.tobytes()
        assert found[2].tobytes() == item.tobytes()
    assert "GM-OOB" in rules


def test_addresses_in_global_memory() -> None:
    """Arrays lie 2**40 bytes apart; a number that is in none of them points nowhere."""
    body = (
        "    %p = pto.addptr %y, %c8 : !pto.ptr<f16> -> !pto.ptr<f16>\n"
        "    %e = pto.ptrtoint %p : !pto.ptr<f16> -> i64\n    pto.store_scalar %e, %o[%c0] : !pto.ptr<i64>, i64\n"
        "    %q = pto.inttoptr %n : i64 -> !pto.ptr<f16>\n    %v = pto.load_scalar %q[%c0] : !pto.ptr<f16> -> f16\n"
        "    pto.store_scalar %v, %y[%c0] : !pto.ptr<f16>, f16\n"
    )
    program = compiled("%x: !pto.ptr<f32>, %n: i64, %y: !pto.ptr<f16>, %o: !pto.ptr<i64>", body)
    y = np.arange(16, dtype=np.float16)
    found = same(program, np.zeros(4, np.float32), 2 * 2**40 + 6, y, np.zeros(1, np.int64))
    assert not isinstance(found, str)
    assert int(found[2][0]) == 2 * 2**40 + 16
    assert found[1][0] == 3
    for wrong in (0, 9, 7 * 2**40, -(2**40)):
        rule = same(program, np.zeros(4, np.float32), wrong, y, np.zeros(1, np.int64))
        assert rule == ("PTR-A5-02" if wrong % 2 else "GM-NULL")


def test_views_of_pointers_to_other_elements() -> None:
    """A view through a cast pointer ends where the array does, and blocks write apart on threads."""
    view, part = "!pto.tensor_view<?x64xi16>", "!pto.partition_tensor_view<1x64xi16>"
    body = (
        "    %c64 = arith.constant 64 : index\n    %q = pto.castptr %x : !pto.ptr<f32> -> !pto.ptr<i16>\n"
        + "".join(
            f"    %{v} = pto.make_tensor_view {p}, shape = [%n, %c64], strides = [%c64, %c1] : {view}\n"
            f"    %{v}p = pto.partition_view %{v}, offsets = [%{b}, %c0], sizes = [%c1, %c64] : {view} -> {part}\n"
            for v, p, b in (("v", "%q", "from"), ("w", "%y", "b"))
        )
        + "    %t = pto.alloc_tile : !pto.tile_buf<vec, 1x64xi16>\n"
        f"    pto.tload ins(%vp : {part}) outs(%t : !pto.tile_buf<vec, 1x64xi16>)\n"
        f"    pto.tstore ins(%t : !pto.tile_buf<vec, 1x64xi16>) outs(%wp : {part})\n"
    )
    body = "    %last = arith.subi %n, %c1 : index\n    %from = arith.subi %last, %b : index\n" + body
    program = compiled("%x: !pto.ptr<f32>, %y: !pto.ptr<i16>, %n: index", body)
    x = np.random.default_rng(1).standard_normal(6 * 32).astype(np.float32)
    found = same(program, x, np.zeros((6, 64), np.int16), 6, blocks=6)
    assert not isinstance(found, str)
    assert (found[1] == x.view(np.int16).reshape(6, 64)[::-1]).all()
    assert same(program, x[:-1], np.zeros((6, 64), np.int16), 6, blocks=6) == "GM-OOB"


def test_sizes_strides_and_addresses_of_views() -> None:
    """What a part of a view says of itself, and an element read by the address of its first one."""
    part = "!pto.partition_tensor_view<2x3xf32>"
    body = (
        "    %v = pto.make_tensor_view %x, shape = [%m, %n], strides = [%s, %c1] : !pto.tensor_view<?x?xf32>\n"
        "    %c3 = arith.constant 3 : index\n"
        "    %p = pto.partition_view %v, offsets = [%c1, %c2], sizes = [%c2, %c3] "
        f": !pto.tensor_view<?x?xf32> -> {part}\n"
        f"    %q = pto.tensor_view_addr %p : {part} -> !pto.ptr<f32, gm>\n"
        "    %f = pto.load_scalar %q[%c1] : !pto.ptr<f32, gm> -> f32\n"
        "    pto.store_scalar %f, %y[%c0] : !pto.ptr<f32>, f32\n"
    )
    for k, what in enumerate(("stride %p, %c0", "stride %p, %c1", "dim %p, %c0", "dim %p, %c1")):
        body += (
            f"    %i{k} = pto.get_tensor_view_{what} : {part} -> index\n"
            f"    %j{k} = arith.index_cast %i{k} : index to i32\n"
            f"    %k{k} = arith.constant {k} : index\n    pto.store_scalar %j{k}, %o[%k{k}] : !pto.ptr<i32>, i32\n"
        )
    program = compiled("%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %o: !pto.ptr<i32>, %m: index, %n: index, %s: index", body)
    x = np.arange(60, dtype=np.float32)
    found = same(program, x, np.zeros(1, np.float32), np.zeros(4, np.int32), 4, 7, 11)
    assert not isinstance(found, str)
    assert found[1][0] == 11 + 2 + 1
    assert found[2].tolist() == [11, 1, 2, 3]


TILE = "!pto.tile_buf<vec, 4x64xf32>"
FLAGS = '    pto.{}_flag["PIPE_{}", "PIPE_{}", "EVENT_ID0"]\n'


def doubled(tiles: str, *, flags: str = "set wait", source: str = "%a") -> str:
    """Loads `source`, writes twice its elements to `%z` by their addresses, and stores that."""
    view, part = "!pto.tensor_view<?x64xf32>", "!pto.partition_tensor_view<4x64xf32>"
    order = {p: "".join(FLAGS.format(v, *p.split()) for v in flags.split()) for p in ("MTE2 V", "V MTE3")}
    body = (
        "    %c4 = arith.constant 4 : index\n    %c64 = arith.constant 64 : index\n    %i0 = arith.constant 0 : i64\n"
    )
    body += "    %i4096 = arith.constant 4096 : i64\n    %c256 = arith.constant 256 : index\n" + tiles
    for v, p in (("v", "%x"), ("w", "%y")):
        body += (
            f"    %{v} = pto.make_tensor_view {p}, shape = [%c4, %c64], strides = [%c64, %c1] : {view}\n"
            f"    %{v}p = pto.partition_view %{v}, offsets = [%c0, %c0], sizes = [%c4, %c64] : {view} -> {part}\n"
        )
    return (
        body
        + f"    pto.tload ins(%vp : {part}) outs({source} : {TILE})\n{order['MTE2 V']}"
        + '    pto.vecscope {\n    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>\n'
        + f"    %ap = pto.tile_buf_addr {source} : {TILE} -> !pto.ptr<f32, ub>\n"
        + f"    %bp = pto.tile_buf_addr %z : {TILE} -> !pto.ptr<f32, ub>\n"
        + "    scf.for %i = %c0 to %c256 step %c64 {\n"
        + "    %r = pto.vlds %ap[%i] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>\n"
        + "    %s = pto.vadd %r, %r, %m : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>\n"
        + "    pto.vsts %s, %bp[%i], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>\n    }\n    }\n"
        + f"{order['V MTE3']}    pto.tstore ins(%z : {TILE}) outs(%wp : {part})\n"
    )


PLACED = f"    %a = pto.alloc_tile addr = %i0 : {TILE}\n    %z = pto.alloc_tile addr = %i4096 : {TILE}\n"
LOOSE = f"    %a = pto.alloc_tile : {TILE}\n    %z = pto.alloc_tile : {TILE}\n"
MULTI = (
    f"    %t = pto.alloc_multi_tile : !pto.multi_tile_buf<{TILE}, count=2>\n"
    f"    %a = pto.multi_tile_get %t[%c1] : !pto.multi_tile_buf<{TILE}, count=2> -> {TILE}\n"
    f"    %z = pto.alloc_tile : {TILE}\n"
)
WINDOW = (
    "    %t = pto.alloc_tile addr = %i0 : !pto.tile_buf<vec, 12x64xf32>\n"
    "    %a = pto.subview %t[%c8, %c0] sizes [4, 64] : !pto.tile_buf<vec, 12x64xf32> -> " + TILE + "\n"
    f"    %z = pto.alloc_tile addr = %i4096 : {TILE}\n"
)
RESHAPED = (
    "    %t = pto.alloc_tile : !pto.tile_buf<vec, 2x128xf32>\n"
    f"    %a = pto.treshape %t : !pto.tile_buf<vec, 2x128xf32> -> {TILE}\n    %z = pto.alloc_tile : {TILE}\n"
)
CHOSEN = (
    f"    %t = pto.alloc_tile addr = %i0 : {TILE}\n    %z = pto.alloc_tile addr = %i4096 : {TILE}\n"
    f"    %i8192 = arith.constant 8192 : i64\n    %u = pto.alloc_tile addr = %i8192 : {TILE}\n"
    f"    %yes = arith.cmpi eq, %b64, %i0 : i64\n    %d = arith.select %yes, %t, %u : {TILE}\n"
    f"    %a = builtin.unrealized_conversion_cast %d : {TILE} to {TILE}\n"
)

ARGS = [np.random.default_rng(2).standard_normal((4, 64)).astype(np.float32), np.zeros((4, 64), np.float32)]
WAYS = {"placed": PLACED, "loose": LOOSE, "multi": MULTI, "window": WINDOW, "reshaped": RESHAPED, "chosen": CHOSEN}
XY = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>"


@pytest.mark.parametrize("way", WAYS)
def test_tiles_by_their_addresses(way: str) -> None:
    """Vector registers read a tile and write another, wherever the tiles lie."""
    program = compiled(XY, doubled(WAYS[way]))
    for backend in BACKENDS if way in ("placed", "window", "chosen") else ("numpy",):
        found = after(program, backend, *ARGS)
        assert not isinstance(found, str)
        assert (found[1] == 2 * ARGS[0]).all(), backend


@pytest.mark.parametrize("way", ["placed", "loose", "multi", "window"])
@pytest.mark.parametrize("flags", ["set wait", "set", ""])
def test_order_of_tiles_and_their_addresses(way: str, flags: str) -> None:
    """The sanitizer sees that a load to a tile and a read through its address are the same bytes."""
    text = "module {\n  func.func @k(" + XY + ") attributes {pto.entry} {\n    %c0 = arith.constant 0 : index\n"
    text += "    %c1 = arith.constant 1 : index\n    %c8 = arith.constant 8 : index\n"
    text += doubled(WAYS[way], flags=flags) + "    return\n  }\n}\n"
    module = parse_module(text, "k.pto", target=target("a5")).module
    report = sanitize(module, target("a5"), [a.copy() for a in ARGS], 1, mode="manual")
    races = {d.rule for d in report.symptoms if d.rule.startswith("RACE")}
    assert races == (set() if flags == "set wait" else {"RACE-RAW"})


def test_the_address_of_a_loose_tile_is_no_number() -> None:
    """Nobody has placed the tile."""
    tiles = LOOSE + f"    %p = pto.tile_buf_addr %a : {TILE} -> !pto.ptr<f32, ub>\n"
    program = compiled(XY, doubled(tiles + "    %n = pto.castptr %p : !pto.ptr<f32, ub> -> i64\n"))
    assert after(program, "numpy", *ARGS) == "PTR-A5-02"


def test_event_ids_in_an_array() -> None:
    """An array of event ids keeps what is written, and begins with 0."""
    array = "!pto.eventid_array<4>"
    body = f"    %a = pto.declare_eventid_array -> {array}\n"
    for where, event in (("%c0", "%c8"), ("%n", "%c2"), ("%c0", "%c1")):
        body += f"    pto.eventid_array_set %a[{where}], {event} : {array}\n"
    for k in range(4):
        body += (
            f"    %k{k} = arith.constant {k} : index\n    %e{k} = pto.eventid_array_get %a[%k{k}] : {array}\n"
            f"    %f{k} = arith.index_cast %e{k} : index to i32\n"
            f"    pto.store_scalar %f{k}, %y[%k{k}] : !pto.ptr<i32>, i32\n"
        )
    program = compiled("%y: !pto.ptr<i32>, %n: index", body)
    for n in range(-1, 5):
        found = after(program, "numpy", np.zeros(4, np.int32), n)
        if n in range(4):
            wanted = [1, 0, 0, 0]
            wanted[n] = 2 if n else 1
            assert not isinstance(found, str)
            assert found[0].tolist() == wanted
        else:
            assert found == "RUN-INDEX"


@pytest.mark.parametrize("what", ["register", "predicate"])
def test_registers_are_chosen(what: str) -> None:
    """arith.select between registers and between predicates, where blocks choose differently."""
    choose = {
        "register": "%r = arith.select %odd, %t, %s : !pto.vreg<64xf32>\n"
        "    %o = arith.select %odd, %m, %m : !pto.mask<b32>",
        "predicate": "%r = pto.vadd %s, %s, %m : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> "
        "!pto.vreg<64xf32>\n    %o = arith.select %odd, %h, %m : !pto.mask<b32>",
    }
    body = (
        "    %c64 = arith.constant 64 : index\n    %i0 = arith.constant 0 : i64\n"
        "    %bit = arith.remsi %b, %c2 : index\n    %odd = arith.cmpi eq, %bit, %c1 : index\n"
        f"    %t0 = pto.alloc_tile addr = %i0 : {TILE}\n"
        f"    %p = pto.tile_buf_addr %t0 : {TILE} -> !pto.ptr<f32, ub>\n"
        "    %at = arith.muli %b, %c64 : index\n    %one = arith.constant 1.0 : f32\n    pto.vecscope {\n"
        '    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>\n    %h = pto.pge_b32 "PAT_VL4" : !pto.mask<b32>\n'
        "    %s = pto.vdup %one, %m : f32, !pto.mask<b32> -> !pto.vreg<64xf32>\n"
        "    %t = pto.vadd %s, %s, %m : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>\n"
        f"    {choose[what]}\n"
        "    pto.vsts %r, %p[%c0], %o : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>\n    }\n"
        "    scf.for %i = %c0 to %c64 step %c1 {\n    %e = pto.load_scalar %p[%i] : !pto.ptr<f32, ub> -> f32\n"
        "    %j = arith.addi %at, %i : index\n    pto.store_scalar %e, %y[%j] : !pto.ptr<f32>, f32\n    }\n"
    )
    program = compiled("%y: !pto.ptr<f32>", body)
    found = same(program, np.zeros((5, 64), np.float32), blocks=5)
    assert not isinstance(found, str)
    for block in range(5):
        if what == "register":
            wanted = np.full(64, 2.0 if block % 2 else 1.0)
        else:
            wanted = np.where(np.arange(64) < (4 if block % 2 else 64), 2.0, 0.0)
        assert (found[0][block] == wanted).all()


def test_what_threads_execute_is_no_kernel() -> None:
    """A function of threads cannot be named as the kernel."""
    text = "module {\n  func.func @t() attributes {pto.simt_entry} {\n    return\n  }\n}\n"
    module = parse_module(text, "k.pto", target=target("a5")).module
    with pytest.raises(DiagnosticError, match="threads") as caught:
        compile_program(module, target("a5"), entry="t")
    assert caught.value.diagnostics[0].rule == "RUN-ENTRY"
