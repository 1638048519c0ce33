"""Tiles that the program makes or moves further down lie on bytes of those before: no copy of these is left out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.asm import parse_module
from ptokit.backends.native import elided_copies
from ptokit.backends.native.analyses import Places
from ptokit.backends.native.program import NativeProgram
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program, compile_program
from ptokit.targets import target

TILE, ROW, OPEN = (f"!pto.tile_buf<vec, {shape}>" for shape in ("16x64xf32", "1x64xf32", "16x64xf32, valid=?x?"))
VIEW, PART = "!pto.tensor_view<?x?xf32>", "!pto.partition_tensor_view<16x64xf32>"
LINES, SHORT, NARROW = "!pto.tile_buf<vec, 2x32xf32>", PART.replace("16x64", "1x64"), PART.replace("16x64", "2x32")
SIZES = {PART: "%k16, %k64", SHORT: "%k1, %k64", NARROW: "%k2, %k32"}
SLOTS = f"!pto.multi_tile_buf<{TILE}, count=2>"
LOAD = f"pto.tload ins(%xp : {PART}) outs(%t : {TILE})"
STORE = f"pto.tstore ins(%t : {TILE}) outs(%yp : {PART})"
ADD = f"pto.tmuls ins(%t, %two : {TILE}, f32) outs(%t : {TILE})"
NUMBERS = {"index": (0, 1, 2, 3, 4, 16, 32, 64, 256), "i64": (0, 256, 1024, 4096, 8192, 16384)}


def doubled(name: str, type: str) -> str:
    return f"pto.tmuls ins({name}, %two : {type}, f32) outs({name} : {type})"


def moved(at: str, *, loop: bool) -> list[str]:
    """The row %r at an address: a constant, one of the run, or one of each turn."""
    body = [f"%m = pto.tassign %r, {at} : {ROW} -> {ROW}", doubled("%m", ROW)]
    if at == "%turn":
        body = ["%u = arith.muli %i, %k256 : index", "%turn = arith.index_cast %u : index to i64", *body]
    return ["scf.for %i = %k0 to %k16 step %k1 {", *body, "}"] if loop else body


LATER = {
    "a row moved in each turn": moved("%turn", loop=True),
    "a row moved to a constant, in a loop": moved("%w256", loop=True),
    "a row moved to a constant": moved("%w256", loop=False),
    "a row moved to where only the run knows": moved("%at", loop=False),
    "a row moved there in a loop": moved("%at", loop=True),
    "a valid region of the run": [
        f"%o = pto.alloc_tile addr = %w0 valid_row = %n valid_col = %k64 : {OPEN}",
        doubled("%o", OPEN),
    ],
    "an address and a valid region of the run": [
        f"%o = pto.alloc_tile addr = %at valid_row = %n valid_col = %k64 : {OPEN}",
        doubled("%o", OPEN),
    ],
    "an address of the run": [f"%o = pto.alloc_tile addr = %at : {TILE}", doubled("%o", TILE)],
    "slots": [
        f"%m = pto.alloc_multi_tile addr = %w0 : {SLOTS}",
        f"%s = pto.multi_tile_get %m[%one] : {SLOTS} -> {TILE}",
        doubled("%s", TILE),
        f"%first = pto.multi_tile_get %m[%k0] : {SLOTS} -> {TILE}",
        doubled("%first", TILE),
    ],
    "a tile that a loop carries": [
        f"%e = scf.for %i = %k0 to %k2 step %k1 iter_args(%c = %r) -> ({ROW}) {{",
        doubled("%c", ROW),
        f"%m = pto.tassign %r, %w256 : {ROW} -> {ROW}",
        f"scf.yield %m : {ROW}",
        "}",
    ],
    "another shape of a row there": [
        f"%m = pto.tassign %r, %w256 : {ROW} -> {ROW}",
        f"%q = pto.treshape %m : {ROW} -> {LINES}",
        doubled("%q", LINES),
    ],
    "a window of a tile at a constant": [
        f"%o = pto.alloc_tile addr = %w0 : {TILE}",
        f"%q = pto.subview %o[%k3, %k0] sizes [1, 64] : {TILE} -> {ROW}",
        doubled("%q", ROW),
    ],
    "a window of a tile there": [
        f"%o = pto.alloc_tile addr = %at : {TILE}",
        f"%q = pto.subview %o[%k3, %k0] sizes [1, 64] : {TILE} -> {ROW}",
        doubled("%q", ROW),
    ],
}


AT_CONSTANTS = (
    *("a row moved to a constant, in a loop", "a row moved to a constant", "a valid region of the run", "slots"),
    *("another shape of a row there", "a window of a tile at a constant"),
)


def kernel(*body: str, more: str = "") -> Program:
    params = "%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<f32>, %at: i64, %n: index, %one: index"
    lines = [f"func.func @k({params}) attributes {{pto.entry}} {{"]
    lines += [f"%k{n} = arith.constant {n} : index" for n in NUMBERS["index"]]
    lines += [f"%w{n} = arith.constant {n} : i64" for n in NUMBERS["i64"]]
    lines += ["%two = arith.constant 2.0 : f32", "%one64 = arith.constant 1 : i64"]
    lines += [f"%t = pto.alloc_tile addr = %w0 : {TILE}", f"%r = pto.alloc_tile addr = %w8192 : {ROW}"]
    for v in "xyz":
        lines.append(f"%{v}v = pto.make_tensor_view %{v}, shape = [%k16, %k64], strides = [%k64, %k1] : {VIEW}")
        place = "offsets = [%k0, %k0], sizes = [%k16, %k64]"
        lines.append(f"%{v}p = pto.partition_view %{v}v, {place} : {VIEW} -> {PART}")
    return compiled("\n".join(["module {", *lines, *body, "return", "}", more, "}"]))


def compiled(text: str) -> Program:
    read = parse_module(text, target=target("a5"))
    read.diagnostics.raise_if_errors()
    return compile_program(read.module, target("a5"))


def launched(program: Program, backend: str) -> list[np.ndarray]:
    arrays = [np.ones((16, 64), np.float32) for _ in "xyz"]
    program.launch([*arrays, 512, 16, 1], backend=backend)
    return arrays


@pytest.mark.parametrize("name", LATER)
def test_between_load_and_store(name: str) -> None:
    program = kernel(LOAD, *LATER[name], STORE)
    native, plain = launched(program, "native"), launched(program, "numpy")
    assert (plain[1] > 1).any()
    assert all((a == b).all() for a, b in zip(native, plain))


def shown(lines: list[str]) -> list[str]:
    """Each tile that is doubled is stored, too."""
    out = []
    for line in lines:
        out.append(line)
        for type, part in ((TILE, PART), (OPEN, PART), (ROW, SHORT), (LINES, NARROW)):
            if line.startswith("pto.tmuls") and f" : {type}, f32)" in line:
                name = line.split("(")[1].split(",")[0]
                place = f"offsets = [%k0, %k0], sizes = [{SIZES[part]}]"
                out.append(f"{name}p = pto.partition_view %zv, {place} : {VIEW} -> {part}")
                out.append(f"pto.tstore ins({name} : {type}) outs({name}p : {part})")
    return out


@pytest.mark.parametrize("name", LATER)
def test_behind_the_store(name: str) -> None:
    """What a loop computed is in the tile, too, if another one reads it there."""
    program = kernel(LOAD, ADD, STORE, *shown(LATER[name]))
    native, plain = launched(program, "native"), launched(program, "numpy")
    assert (plain[2] > 2).any()
    assert all((a == b).all() for a, b in zip(native, plain))


@pytest.mark.parametrize("view", ["%yp", "%zp"])
def test_a_tile_that_is_copied_onto_itself(view: str) -> None:
    """The copy reads what was loaded, though it is copies only that write the tile."""
    copy = f"pto.tmov ins(%t : {TILE}) outs(%t : {TILE})"
    program = kernel(LOAD, STORE, copy, STORE.replace("%yp", view))
    native, plain = launched(program, "native"), launched(program, "numpy")
    assert plain[1].any()
    assert all((a == b).all() for a, b in zip(native, plain))


NZ = "blayout=col_major, slayout=row_major"
HALVES, SUMS = "!pto.partition_tensor_view<32x32xf16>", "!pto.partition_tensor_view<32x32xf32>"
MAT, LEFT, RIGHT, ACC, ANY_MAT, ANY_LEFT = (
    f"!pto.tile_buf<{text}>"
    for text in (
        f"mat, 32x32xf16, {NZ}",
        f"left, 32x32xf16, {NZ}",
        "right, 32x32xf16, slayout=col_major",
        f"acc, 32x32xf32, {NZ}, fractal=1024",
        f"mat, 32x32xf16, valid=?x?, {NZ}",
        f"left, 32x32xf16, valid=?x?, {NZ}",
    )
)
FACTORS = [
    f"pto.tload ins(%ap : {HALVES}) outs(%am : {MAT})",
    f"pto.tload ins(%bp : {HALVES}) outs(%bm : {MAT})",
    f"pto.tmov ins(%bm : {MAT}) outs(%r : {RIGHT})",
]
MOVE = f"pto.tmov ins(%am : {MAT}) outs(%l : {LEFT})"
PRODUCT = f"pto.tmatmul ins(%l, %r : {LEFT}, {RIGHT}) outs(%acc : {ACC})"
OTHER = f"%o = pto.alloc_tile addr = %w0 valid_row = %n valid_col = %n : {ANY_MAT}"
REUSED = {
    "L1 before the move": [OTHER, f"pto.tload ins(%bp : {HALVES}) outs(%o : {ANY_MAT})", MOVE],
    "L1 after the move": [MOVE, OTHER, f"pto.tload ins(%bp : {HALVES}) outs(%o : {ANY_MAT})"],
    "L0A after the move": [
        MOVE,
        f"%o = pto.alloc_tile addr = %w0 valid_row = %n valid_col = %n : {ANY_LEFT}",
        f"pto.tmov ins(%bm : {MAT}) outs(%o : {ANY_LEFT})",
    ],
    "L1 by TASSIGN": [
        f"%o = pto.tassign %bm, %at : {MAT} -> {MAT}",
        f"pto.tload ins(%bp : {HALVES}) outs(%o : {MAT})",
        MOVE,
    ],
    "L0A by TASSIGN": [
        MOVE,
        f"%o = pto.tassign %l, %w0 : {LEFT} -> {LEFT}",
        f"pto.tmov ins(%bm : {MAT}) outs(%o : {LEFT})",
    ],
}


def product(*body: str) -> Program:
    lines = ["func.func @k(%a: !pto.ptr<f16>, %b: !pto.ptr<f16>, %c: !pto.ptr<f32>, %at: i64, %n: index) {"]
    lines += [f"%k{n} = arith.constant {n} : index" for n in (0, 1, 32)]
    lines += [f"%w{n} = arith.constant {n} : i64" for n in (0, 4096)]
    tiles = {"am": (MAT, 0), "bm": (MAT, 4096), "l": (LEFT, 0), "r": (RIGHT, 0), "acc": (ACC, 0)}
    lines += [f"%{name} = pto.alloc_tile addr = %w{at} : {type}" for name, (type, at) in tiles.items()]
    for v, dtype, part in (("a", "f16", HALVES), ("b", "f16", HALVES), ("c", "f32", SUMS)):
        view = f"!pto.tensor_view<?x?x{dtype}>"
        lines.append(f"%{v}v = pto.make_tensor_view %{v}, shape = [%k32, %k32], strides = [%k32, %k1] : {view}")
        place = "offsets = [%k0, %k0], sizes = [%k32, %k32]"
        lines.append(f"%{v}p = pto.partition_view %{v}v, {place} : {view} -> {part}")
    store = f"pto.tstore ins(%acc : {ACC}) outs(%cp : {SUMS})"
    return compiled("\n".join([*lines, *FACTORS, *body, PRODUCT, store, "return", "}"]))


@pytest.mark.parametrize("name", REUSED)
def test_factors(name: str) -> None:
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((32, 32)).astype(np.float16) for _ in "ab")
    found = []
    for program, backend in (
        (product(*REUSED[name]), "native"),
        (product(*REUSED[name]), "numpy"),
        (product(MOVE), "numpy"),
    ):
        c = np.zeros((32, 32), np.float32)
        program.launch([a.copy(), b.copy(), c, 0, 32], backend=backend)
        found.append(c.tobytes())
    assert found[0] == found[1]
    assert (found[1] == found[2]) is (name == "L1 after the move")


@pytest.mark.parametrize("name", LATER)
def test_places(name: str) -> None:
    """The tile is not alone, wherever the other one stands in the text."""
    program = kernel(LOAD, *LATER[name], STORE)
    places = Places(program.plan, program.target)
    (function,) = program.plan.functions.values()
    made = {step.result.name: step.result for step in function.walk() if step.word in ("tile", "rebind", "element")}
    assert not places.alone(made["t"])
    assert places.alone(made["r"]) is (name in AT_CONSTANTS)


def test_tiles_that_are_alone() -> None:
    program = kernel(LOAD, f"%m = pto.tassign %r, %w4096 : {ROW} -> {ROW}", doubled("%m", ROW), STORE)
    places = Places(program.plan, program.target)
    (function,) = program.plan.functions.values()
    made = {step.result.name: step.result for step in function.walk() if step.word in ("tile", "rebind")}
    assert all(places.alone(tile) for tile in made.values())
    assert not any(places.meet(a, b) for a, b in itertools.permutations(made.values(), 2))


def test_several_tiles_on_one() -> None:
    rows = [f"%{v} = pto.alloc_tile addr = %w{at} : {ROW}" for v, at in (("a", 256), ("b", 1024))]
    program = kernel(*rows, LOAD, STORE)
    places = Places(program.plan, program.target)
    (function,) = program.plan.functions.values()
    alone = {step.result.name: places.alone(step.result) for step in function.walk() if step.word == "tile"}
    assert alone == {"t": False, "a": False, "b": False, "r": True}


def test_tiles_that_a_loop_with_a_condition_carries() -> None:
    """Each stays where it is, and so do those after the loop; of an empty branch comes none."""
    body = [
        f"%s = pto.alloc_tile addr = %w16384 : {ROW}",
        f"%e, %f = scf.while (%a = %r, %b = %s) : ({ROW}, {ROW}) -> ({ROW}, {ROW}) {{",
        f"%is = arith.cmpi eq, %n, %one : index\nscf.condition(%is) %a, %b : {ROW}, {ROW}",
        f"}} do {{\n^bb0(%c: {ROW}, %d: {ROW}):\nscf.if %is0 {{\n}}",
        f"scf.yield %c, %d : {ROW}, {ROW}\n}}",
    ]
    program = kernel("%is0 = arith.cmpi eq, %n, %k0 : index", LOAD, *body, STORE)
    places = Places(program.plan, program.target)
    (function,) = program.plan.functions.values()
    (loop,) = (step for step in function.walk() if step.word == "while")
    made = {step.result.name: step.result for step in function.walk() if step.word == "tile"}
    pairs = [*(region[0].args for region in loop.regions), loop.results]
    assert [(places.meet(made["r"], a), places.meet(made["s"], b)) for a, b in pairs] == [(True, True)] * 3
    assert not any(places.meet(a, b) for a, b in pairs)
    assert [places.alone(made[name]) for name in "trs"] == [True, False, False]


def test_a_slot_that_is_alone() -> None:
    """The buffer that it is part of is no tile."""
    slots = [f"%m = pto.alloc_multi_tile addr = %w16384 : {SLOTS}"]
    slots.append(f"%s = pto.multi_tile_get %m[%k0] : {SLOTS} -> {TILE}")
    program = kernel(LOAD, STORE, *slots, doubled("%s", TILE))
    places = Places(program.plan, program.target)
    (function,) = program.plan.functions.values()
    assert all(places.alone(step.result) for step in function.walk() if step.word in ("tile", "element"))


def agree(program: Program) -> list[np.ndarray]:
    """What both backends leave in the arrays."""
    native, plain = launched(program, "native"), launched(program, "numpy")
    assert all((a == b).all() for a, b in zip(native, plain))
    return plain


def load(tile: str, part: str) -> str:
    return LOAD.replace("%t", f"%{tile}").replace("%xp", f"%{part}p")


def store(tile: str, part: str) -> str:
    return STORE.replace("%t", f"%{tile}").replace("%yp", f"%{part}p")


NEW = f"%u = pto.alloc_tile addr = %w4096 : {TILE}"
COPY = f"pto.tmov ins(%t : {TILE}) outs(%u : {TILE})"
ROWS = f"%m = pto.tassign %r, %w256 : {ROW} -> {ROW}"
POINTER = [
    "%p = pto.castptr %w0 : i64 -> !pto.ptr<f32, ub>",
    "pto.mte_ub_gm %p, %z, %w256 nburst(%one64, %w256, %w256) : !pto.ptr<f32, ub>, !pto.ptr<f32>, i64, i64, i64, i64",
]
FEW = TILE.replace("f32", "f32, valid=4x64")
FOUR = PART.replace("16x64", "4x64")
PARTS = {
    "rows put into what was loaded": [
        *(NEW.replace("%u", "%f").replace(TILE, FEW), f"pto.texpands ins(%two : f32) outs(%f : {FEW})"),
        f"%g = pto.alloc_tile addr = %w16384 : {FEW}",
        *(
            f"%{v}f = pto.partition_view %{v}v, offsets = [%k0, %k0], sizes = [%k4, %k64] : {VIEW} -> {FOUR}"
            for v in "xy"
        ),
        f"pto.tload ins(%xf : {FOUR}) outs(%g : {FEW})",
        f"pto.tinsert ins(%f, %k3, %k0 : {FEW}, index, index) outs(%g : {FEW})",
        f"pto.tstore ins(%g : {FEW}) outs(%yf : {FOUR})",
    ],
    "rows of the run copied over what was loaded": [
        *(
            f"%{v} = pto.alloc_tile addr = %w{at} valid_row = %{n} valid_col = %k64 : {OPEN}"
            for v, at, n in (("f", 4096, "one"), ("g", 16384, "n"))
        ),
        f"pto.texpands ins(%two : f32) outs(%f : {OPEN})",
        f"pto.tload ins(%xp : {PART}) outs(%g : {OPEN})",
        f"pto.tmov ins(%f : {OPEN}) outs(%g : {OPEN})",
        f"pto.tstore ins(%g : {OPEN}) outs(%yp : {PART})",
    ],
    "printed": [LOAD, f"pto.tprint ins(%t : {TILE})", STORE],
    "asked for its valid rows": [LOAD, f"%rows = pto.tile_valid_rows %t : {TILE} -> index", STORE],
    "a store in a loop, where what was loaded changes before": [
        *(LOAD, NEW, f"pto.texpands ins(%two : f32) outs(%u : {TILE})"),
        *("scf.for %i = %k0 to %k2 step %k1 {", store("u", "x"), STORE, "}"),
    ],
    "a few rows copied over what was loaded": [
        *(load("t", "z"), NEW.replace("%u", "%f").replace(TILE, FEW), f"pto.texpands ins(%two : f32) outs(%f : {FEW})"),
        *(f"pto.tmov ins(%f : {FEW}) outs(%t : {TILE})", STORE),
    ],
    "a copy of a tile that was computed": [LOAD, ADD, NEW, COPY, store("u", "y")],
    "a copy of a tile, and both are stored": [LOAD, NEW, COPY, store("u", "y"), store("t", "z")],
    "a copy of a tile that is loaded again": [LOAD, ADD, NEW, COPY, load("t", "z"), store("u", "y")],
    "a pointer to the tile": [LOAD, STORE, *POINTER],
    "a pointer to what was computed": [LOAD, ADD, STORE, *POINTER],
    "computed from, and stored": [
        *(LOAD, NEW, f"pto.tmuls ins(%t, %two : {TILE}, f32) outs(%u : {TILE})", STORE, store("u", "z")),
    ],
    "computed after the store": [LOAD, STORE, ADD, store("t", "z")],
    "loaded again in a branch that is not taken": [
        *(LOAD, STORE, "%is = arith.cmpi eq, %n, %k0 : index", "scf.if %is {", load("t", "z"), "}", store("t", "z")),
    ],
    "two stores": [LOAD, STORE, store("t", "z")],
    "a store in a loop": [LOAD, "scf.for %i = %k0 to %k2 step %k1 {", doubled("%r", ROW), STORE, "}"],
    "a store in a branch": [
        *(LOAD, "%is = arith.cmpi eq, %n, %k16 : index", "scf.if %is {", STORE, "}"),
        *(load("t", "z"), store("t", "z")),
    ],
}


@pytest.mark.parametrize("name", PARTS)
def test_what_reads_the_tile(name: str) -> None:
    agree(kernel(*PARTS[name]))


def test_a_tile_that_is_loaded_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows the second load concerns the second one only."""
    decided, real = [], elided_copies.elided
    monkeypatch.setattr(elided_copies, "elided", lambda *args: decided.append(real(*args)) or decided[-1])
    pointer = "%p = pto.addptr %x, %k1 : !pto.ptr<f32> -> !pto.ptr<f32>"  # to global memory, where no tiles are
    NativeProgram(kernel(pointer, LOAD, STORE, load("t", "z"), store("t", "x")))
    assert decided == [True, True]


def test_a_load_that_only_a_copy_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store copies from view to view: neither the load nor the copy is made."""
    decided, real = [], elided_copies.elided
    monkeypatch.setattr(elided_copies, "elided", lambda *args: decided.append(real(*args)) or decided[-1])
    program = kernel(NEW, LOAD, COPY, store("u", "y"))
    NativeProgram(program)
    assert decided == [True, True]
    agree(program)


@pytest.mark.parametrize("rows", [15, 16])
@pytest.mark.parametrize("tile", ["runs", "open"])
def test_a_load_of_sizes_of_the_run(tile: str, rows: int) -> None:
    """A load that is left out is refused as the others are where view and tile have other sizes."""
    part = "!pto.partition_tensor_view<?x?xf32>"
    type, sizes = (OPEN, " valid_row = %n valid_col = %k64") if tile == "open" else (TILE, "")
    body = [
        f"%v = pto.alloc_tile addr = %w4096{sizes} : {type}",
        "%less = arith.index_cast %at : i64 to index",
        f"%xo = pto.partition_view %xv, offsets = [%k0, %k0], sizes = [%less, %k64] : {VIEW} -> {part}",
        f"%yo = pto.partition_view %yv, offsets = [%k0, %k0], sizes = [%n, %k64] : {VIEW} -> {part}",
        f"pto.tload ins(%xo : {part}) outs(%v : {type})\npto.tstore ins(%v : {type}) outs(%yo : {part})",
    ]
    program = kernel(*body)
    found = []
    for backend in ("native", "numpy"):
        arrays = [np.full((16, 64), k, np.float32) for k in range(3)]
        try:
            program.launch([*arrays, rows, 16, 1], backend=backend)
        except DiagnosticError as error:
            arrays.append([(d.rule, d.message) for d in error.diagnostics])
        found.append(arrays)
    assert len(found[1]) == (3 if rows == 16 else 4)
    assert str(found[0][3:]) == str(found[1][3:])
    assert all((a == b).all() for a, b in zip(found[0][:3], found[1][:3]))


@pytest.mark.parametrize("computed", [False, True])
def test_a_function_that_is_called_in_between(computed: bool) -> None:
    """It overwrites what has been loaded."""
    called = [
        "func.func @f(%x: !pto.ptr<f32>) {",
        *(f"%k{n} = arith.constant {n} : index" for n in (0, 1, 16, 64)),
        f"%five = arith.constant 5.0 : f32\n%at = arith.constant 4096 : i64\n%t = pto.alloc_tile addr = %at : {TILE}",
        f"%xv = pto.make_tensor_view %x, shape = [%k16, %k64], strides = [%k64, %k1] : {VIEW}",
        f"%xp = pto.partition_view %xv, offsets = [%k0, %k0], sizes = [%k16, %k64] : {VIEW} -> {PART}",
        f"pto.texpands ins(%five : f32) outs(%t : {TILE})",
        f"pto.tstore ins(%t : {TILE}) outs(%xp : {PART})",
        "return\n}",
    ]
    call = "func.call @f(%x) : (!pto.ptr<f32>) -> ()"
    body = [LOAD, call, STORE] if not computed else [LOAD, ADD, call, STORE]
    found = agree(kernel(*body, more="\n".join(called)))
    assert (found[0] == 5).all()
