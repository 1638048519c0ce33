"""Copies that machine code leaves out change nothing, whatever is written or read in between."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.asm import parse_module
from ptokit.backends.native import elided_copies
from ptokit.backends.native.program import NativeProgram
from ptokit.run import Program, compile_program
from ptokit.targets import target

VIEW, PART = "!pto.tensor_view<?x?xf16>", "!pto.partition_tensor_view<32x32xf16>"
WIDE, WPART = "!pto.tensor_view<?x?xf32>", "!pto.partition_tensor_view<32x32xf32>"
MAT = "!pto.tile_buf<mat, 32x32xf16, blayout=col_major, slayout=row_major>"
LEFT = "!pto.tile_buf<left, 32x32xf16, blayout=col_major, slayout=row_major>"
RIGHT = "!pto.tile_buf<right, 32x32xf16, slayout=col_major>"
ACC = "!pto.tile_buf<acc, 32x32xf32, blayout=col_major, slayout=row_major, fractal=1024>"

LOAD_A, LOAD_B, LOAD_C = (f"pto.tload ins(%{v}p : {PART}) outs(%{v}m : {MAT})" for v in "abc")
MOVE = f"pto.tmov ins(%am : {MAT}) outs(%l : {LEFT})\npto.tmov ins(%bm : {MAT}) outs(%r : {RIGHT})"
MOVE_C = f"pto.tmov ins(%cm : {MAT}) outs(%l : {LEFT})"
AGAIN = f"pto.tload ins(%cp : {PART}) outs(%am : {MAT})"
PRODUCT = f"pto.tmatmul ins(%l, %r : {LEFT}, {RIGHT}) outs(%acc : {ACC})"
MORE = f"pto.tmatmul.acc ins(%acc, %l, %r : {ACC}, {LEFT}, {RIGHT}) outs(%acc : {ACC})"
STORE = f"pto.tstore ins(%acc : {ACC}) outs(%op : {WPART})"
OVERWRITE = f"pto.tload ins(%cp : {PART}) outs(%v : !pto.tile_buf<vec, 32x32xf16>)\n" + (
    f"pto.tstore ins(%v : !pto.tile_buf<vec, 32x32xf16>) outs(%ap : {PART})"
)
SECOND = f"%l2 = pto.alloc_tile : {LEFT}\npto.tmov ins(%am : {MAT}) outs(%l2 : {LEFT})"
OF_SECOND = PRODUCT.replace("%l,", "%l2,")
BLOCK_1 = "%b64 = pto.get_block_idx\n%bi = arith.index_cast %b64 : i64 to index\n%is = arith.cmpi eq, %bi, %k1 : index"
VEC = "!pto.tile_buf<vec, 32x32xf16>"
INSERT = f"%q = pto.alloc_tile : {VEC}\npto.tinsert ins(%q, %k0, %k0 : {VEC}, index, index) outs(%am : {MAT})"
SMALL = VEC.replace("f16", "f16, valid=16x16")
PART_OF_IT = f"%q = pto.alloc_tile : {SMALL}\npto.tinsert ins(%q, %k0, %k0 : {SMALL}, index, index) outs(%am : {MAT})"
BIAS = "!pto.tile_buf<bias, 1x32xf32>"


def with_bias(dtype: str, source: str) -> str:
    """A product with row 1 of an array as its bias."""
    tile, part = f"!pto.tile_buf<mat, 1x32x{dtype}>", f"!pto.partition_tensor_view<1x32x{dtype}>"
    place = f"offsets = [%k1, %k0], sizes = [%k1, %k32] : !pto.tensor_view<?x?x{dtype}> -> {part}"
    return (
        f"%sm = pto.alloc_tile : {tile}\n%s = pto.alloc_tile : {BIAS}\n%sp = pto.partition_view %{source}v, {place}\n"
        f"pto.tload ins(%sp : {part}) outs(%sm : {tile})\npto.tmov ins(%sm : {tile}) outs(%s : {BIAS})\n"
        f"pto.tmatmul.bias ins(%l, %r, %s : {LEFT}, {RIGHT}, {BIAS}) outs(%acc : {ACC})"
    )


BODIES = {
    "overwritten in part by what is no load": [LOAD_A, LOAD_B, PART_OF_IT, MOVE, PRODUCT, STORE],
    "moved twice after it was overwritten": [LOAD_A, LOAD_B, INSERT, MOVE, SECOND, PRODUCT, OF_SECOND, STORE],
    "a bias": [LOAD_A, LOAD_B, MOVE, with_bias("f16", "a"), STORE],
    "a bias of f32": [LOAD_A, LOAD_B, MOVE, with_bias("f32", "o"), STORE],
    "loaded again in a branch that is not taken": [
        *(LOAD_A, LOAD_B, BLOCK_1, f"scf.if %is {{\n{AGAIN}\n}}", MOVE, PRODUCT, STORE),
    ],
    "of two copies the first one is needed longer": [
        *(LOAD_A, LOAD_B, MOVE, SECOND, OF_SECOND, OVERWRITE, PRODUCT, STORE),
    ],
    "overwritten by what is no load": [LOAD_A, LOAD_B, INSERT, MOVE, PRODUCT, STORE],
    "plain": [LOAD_A, LOAD_B, MOVE, PRODUCT, STORE],
    "memory changes before the product": [LOAD_A, LOAD_B, MOVE, OVERWRITE, PRODUCT, STORE],
    "memory changes before the move": [LOAD_A, LOAD_B, OVERWRITE, MOVE, PRODUCT, STORE],
    "memory changes after the product": [LOAD_A, LOAD_B, MOVE, PRODUCT, OVERWRITE, STORE],
    "the tile is loaded again before the product": [LOAD_A, LOAD_B, MOVE, AGAIN, PRODUCT, STORE],
    "two products of one factor": [LOAD_A, LOAD_B, MOVE, PRODUCT, MORE, STORE],
    "another factor for the second product": [LOAD_A, LOAD_B, LOAD_C, MOVE, PRODUCT, MOVE_C, MORE, STORE],
    "a product before anything is loaded": [PRODUCT, LOAD_A, LOAD_B, MOVE, MORE, STORE],
    "each turn multiplies what the last one loaded": [
        f"scf.for %t = %k0 to %k2 step %k1 {{\n{PRODUCT}\n{LOAD_A}\n{LOAD_B}\n{MOVE}\n}}",
        STORE,
    ],
    "the second turn reads the tile of the first": [
        f"scf.for %t = %k0 to %k2 step %k1 {{\n%is = arith.cmpi eq, %t, %k0 : index\nscf.if %is {{\n{LOAD_A}\n}}",
        LOAD_B,
        MOVE,
        PRODUCT,
        OVERWRITE,
        "}",
        STORE,
    ],
    "products in branches": [
        f"scf.for %t = %k0 to %k2 step %k1 {{\n{LOAD_A}\n{LOAD_B}\n{MOVE}\n%is = arith.cmpi eq, %t, %k0 : index",
        f"scf.if %is {{\n{PRODUCT}\n}} else {{\n{MORE}\n}}\n{OVERWRITE}\n}}",
        STORE,
    ],
    "turns that load what the last one stored": [
        f"scf.for %t = %k0 to %k2 step %k1 {{\n{LOAD_A}\n{LOAD_B}\n{MOVE}\n{PRODUCT}\n{OVERWRITE}\n}}",
        STORE,
    ],
}
LEFT_OUT = {
    "plain": 4,
    "two products of one factor": 4,
    "products in branches": 5,
    "memory changes after the product": 5,
    "another factor for the second product": 6,
    "overwritten by what is no load": 3,
    "moved twice after it was overwritten": 4,
    "a bias": 4,
    "a bias of f32": 4,
}
"""How many copies are."""


def kernel(body: list[str]) -> str:
    lines = ["func.func @k(%a: !pto.ptr<f16>, %b: !pto.ptr<f16>, %c: !pto.ptr<f16>, %o: !pto.ptr<f32>) {"]
    lines += [f"%k{n} = arith.constant {n} : index" for n in (0, 1, 2, 32)]
    for name in "abco":
        view, part = (WIDE, WPART) if name == "o" else (VIEW, PART)
        lines.append(f"%{name}v = pto.make_tensor_view %{name}, shape = [%k32, %k32], strides = [%k32, %k1] : {view}")
        place = "offsets = [%k0, %k0], sizes = [%k32, %k32]"
        lines.append(f"%{name}p = pto.partition_view %{name}v, {place} : {view} -> {part}")
    tiles = {"am": MAT, "bm": MAT, "cm": MAT, "l": LEFT, "r": RIGHT, "acc": ACC, "v": "!pto.tile_buf<vec, 32x32xf16>"}
    lines += [f"%{name} = pto.alloc_tile : {type}" for name, type in tiles.items()]
    return "\n".join([*lines, *body, "return", "}"])


def compiled(text: str) -> Program:
    read = parse_module(text, target=target("a5"))
    read.diagnostics.raise_if_errors()
    return compile_program(read.module, target("a5"))


@pytest.mark.parametrize("matmul", ["exact", "fast"])
@pytest.mark.parametrize("name", BODIES)
def test_products(name: str, matmul: str) -> None:
    program = compiled(kernel(BODIES[name]))
    rng = np.random.default_rng(1)
    arrays = [rng.standard_normal((32, 32)).astype(np.float16) for _ in "abc"] + [np.ones((32, 32), np.float32)]
    after = []
    for backend in ("native", "numpy"):
        given = [x.copy() for x in arrays]
        program.launch(given, backend=backend, matmul=matmul)
        after.append([x.tobytes() for x in given])
    assert after[0] == after[1]


@pytest.mark.parametrize("name", LEFT_OUT)
def test_copies_are_left_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    decided, real = [], elided_copies.elided
    monkeypatch.setattr(elided_copies, "elided", lambda *args: decided.append(real(*args)) or decided[-1])
    program = compiled(kernel(BODIES[name]))
    NativeProgram(program)
    assert decided.count(True) == LEFT_OUT[name]


def test_copies_for_a_product_that_is_not_native_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would make them for each product."""
    decided, real = [], elided_copies.elided
    monkeypatch.setattr(elided_copies, "elided", lambda *args: decided.append(real(*args)) or decided[-1])
    NativeProgram(compiled(kernel(BODIES["plain"]).replace("f16", "hif8")))
    assert decided == [False] * 4


BLOCK = 256
LINES = {
    "in": "pto.mte_gm_ub %x, %a, %z, %len nburst(%one, %len, %len) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, "
    "i64, i64, i64, i64, i64",
    "other in": "pto.mte_gm_ub %y, %a, %z, %len nburst(%one, %len, %len) : !pto.ptr<f32, gm>, !pto.ptr<f32, ub>, "
    "i64, i64, i64, i64, i64",
    "double": "pto.vecscope {\nscf.for %i = %k0 to %k256 step %k64 {\n"
    "%v = pto.vlds %a[%i] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>\n"
    '%m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>\n'
    "%w = pto.vadd %v, %v, %m : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>\n"
    "pto.vsts %w, %OUT[%i], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>\n}\n}",
    "out": "pto.mte_ub_gm %OUT, %GM, %len nburst(%one, %len, %len) : !pto.ptr<f32, ub>, !pto.ptr<f32, gm>, "
    "i64, i64, i64, i64",
}


def rows(*names: str) -> str:
    """Copies and a doubling; a name may say where to: ``double b``, ``out x``."""
    lines = ["func.func @k(%x: !pto.ptr<f32, gm>, %y: !pto.ptr<f32, gm>) {"]
    lines += [f"%k{n} = arith.constant {n} : index" for n in (0, 64, BLOCK)]
    lines += [
        "%z = arith.constant 0 : i64",
        "%one = arith.constant 1 : i64",
        f"%len = arith.constant {4 * BLOCK} : i64",
    ]
    for name, at in (("a", 0), ("b", 4 * BLOCK), ("h", 2 * BLOCK)):
        lines.append(f"%at{name} = arith.constant {at} : i64")
        lines.append(f"%{name} = pto.castptr %at{name} : i64 -> !pto.ptr<f32, ub>")
    for name in names:
        what, _, to = name.partition(" to ")
        source, _, gm = to.partition("/")
        text = LINES[what].replace("%OUT", f"%{source or 'b'}").replace("%GM", f"%{gm or 'y'}")
        lines.append(text)
    return "\n".join([*lines, "pto.barrier #pto.pipe<PIPE_ALL>", "return", "}"])


ROWS = [
    ("in", "double", "out"),
    ("in", "double", "out to b/x", "double", "out"),  # memory changes between two reads
    ("in", "double to a", "double", "out"),  # the rows are written in place
    ("in", "double", "other in", "double to b", "out"),
    ("in", "double to h", "double", "out"),  # stores over the second half of the rows
    ("double", "in", "double", "out"),  # read before they are there
    ("in", "out to a/y", "double", "out"),  # copied on
]


@pytest.mark.parametrize("names", ROWS, ids=lambda names: ", ".join(names))
def test_rows(names: tuple[str, ...]) -> None:
    program = compiled(rows(*names))
    x, y = np.random.default_rng(2).standard_normal((2, BLOCK)).astype(np.float32)
    after = []
    for backend in ("native", "numpy"):
        given = [x.copy(), y.copy()]
        program.launch(given, backend=backend)
        after.append([a.tobytes() for a in given])
    assert after[0] == after[1]


TILE, FPART = "!pto.tile_buf<vec, 8x32xf32>", "!pto.partition_tensor_view<8x32xf32>"
LOAD = f"pto.tload ins(%xp : {FPART}) outs(%t : {TILE})"
LOAD_Y = f"pto.tload ins(%yp : {FPART}) outs(%t : {TILE})"
STORE_X, STORE_Y = (f"pto.tstore ins(%t : {TILE}) outs(%{v}p : {FPART})" for v in "xy")
STORE_Z = f"pto.tstore ins(%t : {TILE}) outs(%zp : {FPART})"
ADD = f"pto.tadd ins(%t, %t : {TILE}, {TILE}) outs(%u : {TILE})\npto.tstore ins(%u : {TILE}) outs(%yp : {FPART})"
COPIES = {
    "a copy": [LOAD, STORE_Y],
    "two stores": [LOAD, STORE_Y, STORE_Z],
    "a sum, too": [LOAD, ADD, STORE_Z],
    "an exchange": [LOAD, STORE_Z, LOAD_Y, STORE_X],
    "stored after a store": [LOAD, f"pto.tload ins(%yp : {FPART}) outs(%u : {TILE})", ADD, STORE_Z],
    "stored before it is loaded": [STORE_Z, LOAD, STORE_Y],
}


@pytest.mark.parametrize("shift", [None, 0, 5, 40])
@pytest.mark.parametrize("name", COPIES)
def test_copies_of_tiles(name: str, shift: int | None) -> None:
    """``shift``: y lies so many elements after x in the same memory."""
    view = "!pto.tensor_view<?x?xf32>"
    lines = ["func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<f32>) {"]
    lines += [f"%k{n} = arith.constant {n} : index" for n in (0, 1, 8, 16, 32)]
    lines += [f"%{name} = pto.alloc_tile : {TILE}" for name in "tu"]
    lines.append("scf.for %i = %k0 to %k16 step %k8 {")
    for v in "xyz":
        lines.append(f"%{v}v = pto.make_tensor_view %{v}, shape = [%k16, %k32], strides = [%k32, %k1] : {view}")
        place = "offsets = [%i, %k0], sizes = [%k8, %k32]"
        lines.append(f"%{v}p = pto.partition_view %{v}v, {place} : {view} -> {FPART}")
    program = compiled("\n".join([*lines, *COPIES[name], "}", "return", "}"]))
    after = []
    for backend in ("native", "numpy"):
        memory = np.arange(2048, dtype=np.float32)
        x = memory[:512]
        y = memory[1024:1536] if shift is None else memory[shift : shift + 512]
        z = np.zeros(512, np.float32)
        program.launch([x, y, z], backend=backend)
        after.append((memory.tobytes(), z.tobytes()))
    assert after[0] == after[1]


def test_blocks_of_a_function() -> None:
    """A load in one block, the store in the next."""
    view = "!pto.tensor_view<?x?xf32>"
    lines = ["func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>) {"]
    lines += [f"%k{n} = arith.constant {n} : index" for n in (0, 1, 8, 32)]
    lines.append(f"%t = pto.alloc_tile : {TILE}")
    for v in "xy":
        lines.append(f"%{v}v = pto.make_tensor_view %{v}, shape = [%k8, %k32], strides = [%k32, %k1] : {view}")
        place = "offsets = [%k0, %k0], sizes = [%k8, %k32]"
        lines.append(f"%{v}p = pto.partition_view %{v}v, {place} : {view} -> {FPART}")
    program = compiled("\n".join([*lines, "cf.br ^bb1", "^bb1:", LOAD, "cf.br ^bb2", "^bb2:", STORE_Y, "return", "}"]))
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    program.launch([x, y], backend="native")
    assert (x == y).all()
