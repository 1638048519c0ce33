"""subset: windows of a tile share its storage."""

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.asm.convert import convert
from ptokit.diagnostics import DiagnosticError
from ptokit.run import compile_program
from ptokit.targets import target

from .kernels import PTRS, TILE, add, alloc, compiled, load, part, store, view

HALF = "!pto.tile_buf<vec, 8x8xf32>"


def test_columns_of_a_tile() -> None:
    body = (
        view("xv", "%x")
        + view("yv", "%y")
        + alloc("t")
        + part("p", "%xv", "%c0")
        + part("q", "%yv", "%c0")
        + load("%t", "%p")
        + f"    %l = pto.subset %t[%c0, %c0] sizes [8, 8] : {TILE}\n"
        + f"    %r = pto.subset %t[%c0, %c8] sizes [8, 8] : {TILE}\n"
        + f"    pto.tadd ins(%l, %r : {HALF}, {HALF}) outs(%r : {HALF})\n"
        + store("%t", "%q")
    )
    program = compiled(PTRS, body)
    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    y = np.zeros_like(x)
    program.launch([x, y, 8])
    assert (y[:, :8] == x[:, :8]).all()
    assert (y[:, 8:] == x[:, :8] + x[:, 8:]).all()


def test_loading_into_a_window_leaves_the_rest() -> None:
    body = (
        view("xv", "%x")
        + view("yv", "%y")
        + alloc("t")
        + part("p", "%xv", "%c0")
        + part("q", "%yv", "%c0")
        + load("%t", "%p")
        + add("%t", "%t", "%t")
        + f"    %w = pto.subset %t[%c0, %c8] sizes [8, 8] : {TILE}\n"
        + "    %h = pto.partition_view %xv, offsets = [%c0, %c0], sizes = [%c8, %c8] : "
        "!pto.tensor_view<?x16xf32> -> !pto.partition_tensor_view<8x8xf32>\n"
        + f"    pto.tload ins(%h : !pto.partition_tensor_view<8x8xf32>) outs(%w : {HALF})\n"
        + store("%t", "%q")
    )
    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    y = np.zeros_like(x)
    compiled(PTRS, body).launch([x, y, 8])
    assert (y[:, :8] == 2 * x[:, :8]).all()
    assert (y[:, 8:] == x[:, :8]).all()


# --- what each way of looking at a window sees -----------------------------------------------------------------------

W = "!pto.tile_buf<vec, 8x16xf32>"
WAYS = {
    "pto.tmov ins(%w : $H) outs(%d : $H)": lambda x: x[8:16, 16:32],
    "pto.textract ins(%w, %c0, %c0 : $H, index, index) outs(%d : $H)": lambda x: x[8:16, 16:32],
    "pto.textract ins(%w, %c0, %c8 : $H, index, index) outs(%n : $N)\npto.tinsert ins(%n, %c0, %c0 : $N, index, index)"
    " outs(%d : $H)": lambda x: np.hstack([x[8:16, 24:32], 0 * x[:8, :8]]),
    "pto.tinsert ins(%w, %c0, %c0 : $H, index, index) outs(%d : $H)": lambda x: x[8:16, 16:32],
    "%b = pto.bitcast %line : $H -> $I\n%f = pto.bitcast %b : $I -> $H\npto.tadds ins(%f, %one : $H, f32) "
    "outs(%d : $H)": lambda x: x.reshape(-1, 16)[16:24] + 1,
    "%s = pto.treshape %line : $H -> $S\n%f = pto.treshape %s : $S -> $H\npto.tmov ins(%f : $H) "
    "outs(%d : $H)": lambda x: x.reshape(-1, 16)[16:24],
    "pto.tmov ins(%d : $H) outs(%w : $H)\npto.textract ins(%t, %c8, %c16 : $T, index, index) outs(%d : $H)": lambda x: (
        0 * x[:8, :16]
    ),
}


ON_A5 = ("pto.textract", "pto.tinsert")  # the assembler has them between vec tiles there only


@pytest.mark.parametrize(
    ("way", "on"),
    [(way, on) for way in WAYS for on in ("cpu", "a2a3", "a5") if on == "a5" or not any(n in way for n in ON_A5)],
)
def test_a_window_read_in_every_way(way: str, on: str) -> None:
    types = {"T": "16x32xf32", "H": "8x16xf32", "N": "8x8xf32", "I": "8x16xi32", "S": "4x32xf32", "F": "32x16xf32"}
    text = f"""func.func @k(%x: memref<16x32xf32>, %y: memref<24x16xf32>) {{
      %c0 = arith.constant 0 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %one = arith.constant 1.0 : f32
      %zero = arith.constant 0.0 : f32
      %i64 = pto.get_block_idx
      %i = arith.index_cast %i64 : i64 to index
      %row = arith.muli %i, %c8 : index
      %t = pto.alloc_tile : $T
      %d = pto.alloc_tile : $H
      %n = pto.alloc_tile : $N
      pto.tload ins(%x : memref<16x32xf32>) outs(%t : $T)
      pto.texpands ins(%zero : f32) outs(%d : $H)
      %w = pto.subset %t[%c8, %c16] sizes [8, 16] : $T
      %flat = pto.treshape %t : $T -> $F
      %line = pto.subset %flat[%c16, %c0] sizes [8, 16] : $F
      {way}
      %v = pto.make_tensor_view %y, shape = [%r, %c16], strides = [%c16, %c1] : !pto.tensor_view<24x16xf32>
      %p = pto.partition_view %v, offsets = [%row, %c0], sizes = [%c8, %c16]
        : !pto.tensor_view<24x16xf32> -> !pto.partition_tensor_view<8x16xf32>
      pto.tstore ins(%d : $H) outs(%p : !pto.partition_tensor_view<8x16xf32>)
      return
    }}"""
    text = text.replace("%c0 =", "%c1 = arith.constant 1 : index\n%r = arith.constant 24 : index\n%c0 =", 1)
    for name, shape in types.items():
        text = text.replace(f"${name}", f"!pto.tile_buf<vec, {shape}>")
    text = text.replace("%x: memref<16x32xf32>, %y: memref<24x16xf32>", "%x: memref<16x32xf32>, %y: !pto.ptr<f32>")
    parsed = parse_module(text, "k.pto", target=target(on))
    parsed.diagnostics.raise_if_errors()
    x, y = np.arange(512, dtype=np.float32).reshape(16, 32), np.full((24, 16), -1, np.float32)
    compile_program(parsed.module, target(on)).launch([x, y], 3)
    assert np.array_equal(y, np.vstack([WAYS[way](x)] * 3))


def test_a_window_whose_rows_lie_apart_has_no_other_shape() -> None:
    """The library wants as many bytes on both sides, and such a window has those between its rows, too."""
    body = alloc("t") + f"    %w = pto.subset %t[%c0, %c8] sizes [8, 8] : {TILE}\n"
    with pytest.raises(DiagnosticError) as caught:
        compiled(PTRS, body + f"    %s = pto.treshape %w : {HALF} -> !pto.tile_buf<vec, 4x16xf32>\n")
    assert [(d.rule, d.location.line) for d in caught.value.diagnostics] == [("RS-1", 12)]


def test_windows_begin_at_boxes() -> None:
    nz = "!pto.tile_buf<mat, 64x64xf32, blayout=col_major, slayout=row_major>"
    body = f"    %t = pto.alloc_tile : {nz}\n    %w = pto.subset %t[%c0, %rows] sizes [64, 16] : {nz}\n"
    x = np.zeros(4, np.float32)
    compiled(PTRS, body).launch([x, x, 8])
    with pytest.raises(DiagnosticError) as caught:
        compiled(PTRS, body).launch([x, x, 4])
    assert caught.value.diagnostics[0].rule == "SS-1"


def test_many_windows() -> None:
    """More of them than an arena links: values stay what they are."""
    part_type, rest = "!pto.tile_buf<vec, 4x8xf32, valid=?x8>", "!pto.tile_buf<vec, 8x16xf32, valid=?x16>"
    body = (
        view("xv", "%x")
        + view("yv", "%y")
        + "    %w8 = arith.constant 700 : index\n"
        + "    %z = arith.constant 0.0 : f32\n    %one = arith.constant 1.0 : f32\n"
        + "    %t = pto.alloc_tile : !pto.tile_buf<vec, 704x16xf32>\n"
        + "    pto.texpands ins(%z : f32) outs(%t : !pto.tile_buf<vec, 704x16xf32>)\n"
        + "    scf.for %k = %c0 to %w8 step %c1 {\n"
        + "    %w = pto.subset %t[%k, %c8] sizes [4, 8] : !pto.tile_buf<vec, 704x16xf32>\n"
        + f"    pto.tadds ins(%w, %one : {part_type}, f32) outs(%w : {part_type})\n"
        + "    }\n"
        + "    %q = pto.subset %t[%rows, %c0] sizes [8, 16] : !pto.tile_buf<vec, 704x16xf32>\n"
        + part("p", "%yv", "%c0")
        + f"    pto.tstore ins(%q : {rest}) outs(%p : !pto.partition_tensor_view<8x16xf32>)\n"
    )
    x, y = np.zeros((8, 16), np.float32), np.zeros((8, 16), np.float32)
    program = compiled(PTRS, body)
    program.launch([x, y, 692])
    assert (y[:, :8] == 0).all()
    assert (y[:, 8:] == 4).all()
    program.launch([x, y, 696])
    assert (y[:, 8] == [4, 4, 4, 4, 3, 2, 1, 0]).all()


@pytest.mark.parametrize("form", ["", "dps", "sync", "generic"])
def test_a_destination_of_treshape_keeps_its_valid_region(form: str) -> None:
    """``treshape ins(..) outs(%u : T)`` gives %u other bytes, and nothing else."""
    line, open_ = "!pto.tile_buf<vec, 1x128xf32>", "!pto.tile_buf<vec, 8x16xf32, valid=?x?>"
    part_type = "!pto.partition_tensor_view<?x?xf32>"
    text = f"""func.func @k(%x: memref<1x128xf32>, %y: !pto.ptr<f32>, %n: index, %m: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %t = pto.alloc_tile : {line}
      %u = pto.alloc_tile valid_row = %c8 valid_col = %c16 : {open_}
      pto.set_validshape %u, %n, %m : {open_}
      pto.tload ins(%x : memref<1x128xf32>) outs(%t : {line})
      pto.treshape ins(%t : {line}) outs(%u : {open_})
      pto.tadd ins(%u, %u : {open_}, {open_}) outs(%u : {open_})
      %v = pto.make_tensor_view %y, shape = [%c8, %c16], strides = [%c16, %c1] : !pto.tensor_view<8x16xf32>
      %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%n, %m] : !pto.tensor_view<8x16xf32> -> {part_type}
      pto.tstore ins(%u : {open_}) outs(%p : {part_type})
      return
    }}"""
    parsed = parse_module(text, "k.pto", target=target("a5"))
    parsed.diagnostics.raise_if_errors()
    if form:
        parsed = parse_module(convert(parsed.module, form).text or "", "k.pto", target=target("a5"))
        parsed.diagnostics.raise_if_errors()
    x, y = np.arange(128, dtype=np.float32).reshape(1, 128), np.zeros((8, 16), np.float32)
    compile_program(parsed.module, target("a5")).launch([x, y, 5, 9])
    want = np.zeros((8, 16), np.float32)
    want[:5, :9] = 2 * x.reshape(8, 16)[:5, :9]
    assert np.array_equal(y, want)


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("address", ["", " addr = %zero"])
def test_a_window_may_be_larger_than_what_is_left_of_its_tile(backend: str, address: str) -> None:
    """Its valid region has to lie in the tile; what the type has beyond it is not touched."""
    whole, rest = "!pto.tile_buf<vec, 8x16xf32>", "!pto.tile_buf<vec, 8x16xf32, valid=?x?>"
    corner = "!pto.tile_buf<vec, 8x8xf32, valid=?x?>"
    text = f"""func.func @k(%x: memref<8x16xf32>, %y: memref<8x16xf32>, %r: index, %c: index, %n: index, %m: index) {{
      %c0 = arith.constant 0 : index
      %zero = arith.constant 0 : i64
      %one = arith.constant 1.0 : f32
      %t = pto.alloc_tile{address} : {whole}
      pto.tload ins(%x : memref<8x16xf32>) outs(%t : {whole})
      %below = pto.subview %t[%r, %c0] sizes [8, 16] valid [%n, %m] : {whole} -> {rest}
      pto.tadds ins(%below, %one : {rest}, f32) outs(%below : {rest})
      %right = pto.subview %t[%c0, %c] sizes [8, 8] valid [%n, %m] : {whole} -> {corner}
      pto.tadds ins(%right, %one : {corner}, f32) outs(%right : {corner})
      pto.tstore ins(%t : {whole}) outs(%y : memref<8x16xf32>)
      return
    }}"""
    parsed = parse_module(text, "k.pto", target=target("a5"))
    parsed.diagnostics.raise_if_errors()
    program = compile_program(parsed.module, target("a5"))
    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    for row, col, rows, cols in ((6, 12, 2, 4), (0, 8, 8, 8), (7, 15, 1, 1), (8, 16, 0, 0), (3, 3, 0, 5)):
        y, wanted = np.zeros_like(x), x.copy()
        wanted[row : row + rows, :cols] += 1
        wanted[:rows, col : col + cols] += 1
        program.launch([x, y, row, col, rows, cols], backend=backend)
        assert (y == wanted).all(), (row, col)
    for row, col, rows, cols in ((6, 8, 3, 4), (0, 13, 8, 4), (-1, 0, 1, 1), (0, -1, 1, 1)):
        with pytest.raises(DiagnosticError) as caught:
            program.launch([x, y, row, col, rows, cols], backend=backend)
        assert caught.value.diagnostics[0].rule == "SS-1", (row, col)


def test_rows_of_a_tile_in_boxes_begin_anywhere() -> None:
    """Down a column of boxes that are stored row by row, rows lie one after the other."""
    nz = (
        "!pto.tile_buf<loc=mat, dtype=f16, rows=32, cols=32, v_row={}, v_col=32, blayout=col_major, slayout=row_major, "
    )
    nz += "fractal=512, pad=0>"
    mat, part_ = nz.format(32), nz.format("?")
    left = "!pto.tile_buf<left, 32x32xf16, blayout=col_major, slayout=row_major>"
    right = "!pto.tile_buf<right, 32x32xf16, blayout=row_major, slayout=col_major>"
    acc = "!pto.tile_buf<acc, 32x32xf32, blayout=col_major, slayout=row_major, fractal=1024>"
    view_, some = "!pto.tensor_view<?x?xf16>", "!pto.partition_tensor_view<?x32xf16>"
    text = f"""func.func @k(%e: memref<32x32xf16>, %x: memref<32x32xf16>, %y: !pto.ptr<f16>, %o: memref<32x32xf32>,
                            %r: index, %n: index) attributes {{pto.kernel_kind = #pto.kernel_kind<cube>}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c32 = arith.constant 32 : index
      %a = pto.alloc_tile : {mat}
      %b = pto.alloc_tile : {mat}
      pto.tload ins(%e : memref<32x32xf16>) outs(%a : {mat})
      pto.tload ins(%x : memref<32x32xf16>) outs(%b : {mat})
      %w = pto.subview %b[%r, %c0] sizes [32, 32] valid [%n, %c32] : {mat} -> {part_}
      %v = pto.make_tensor_view %y, shape = [%n, %c32], strides = [%c32, %c1] : {view_}
      %p = pto.partition_view %v, offsets = [%c0, %c0], sizes = [%n, %c32] : {view_} -> {some}
      pto.tload ins(%p : {some}) outs(%w : {part_})
      %l = pto.alloc_tile : {left}
      %m = pto.alloc_tile : {right}
      %s = pto.alloc_tile : {acc}
      pto.tmov ins(%a : {mat}) outs(%l : {left})
      pto.tmov ins(%b : {mat}) outs(%m : {right})
      pto.tmatmul ins(%l, %m : {left}, {right}) outs(%s : {acc})
      pto.tstore ins(%s : {acc}) outs(%o : memref<32x32xf32>)
      return
    }}"""
    parsed = parse_module(text, "k.pto", target=target("a2a3"))
    parsed.diagnostics.raise_if_errors()
    program = compile_program(parsed.module, target("a2a3"))
    x = np.arange(1024, dtype=np.float16).reshape(32, 32)
    y = -x
    for row, rows in ((5, 27), (31, 1), (17, 6)):
        found, wanted = np.zeros((32, 32), np.float32), x.astype(np.float32)
        wanted[row : row + rows] = y[:rows]
        program.launch([np.eye(32, dtype=np.float16), x, y, found, row, rows])
        assert np.array_equal(found, wanted), row
