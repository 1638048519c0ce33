"""Short programs for a cube core and its vector cores: one word per line of the body, `WORDS` says what it stands for.

The tensors are x, w (32x32 f16), ws (32x32 f32, between the cores) and y (64x32 f32). Vector core i works on the rows
16 i .. 16 i + 15 of ws and y.
"""

from __future__ import annotations

import numpy as np

MAT = "!pto.tile_buf<mat, 32x32xf16, blayout=col_major, slayout=row_major>"
LEFT = "!pto.tile_buf<left, 32x32xf16, blayout=col_major, slayout=row_major>"
RIGHT = "!pto.tile_buf<right, 32x32xf16, blayout=row_major, slayout=col_major>"
ACC = "!pto.tile_buf<acc, 32x32xf32, blayout=col_major, slayout=row_major, fractal=1024>"
HALF = "!pto.tile_buf<vec, 16x32xf32>"
WHOLE = "!pto.tile_buf<vec, 32x32xf32>"
PART = "!pto.partition_tensor_view"
VIEW = "!pto.tensor_view"

WORDS = {
    "load-mats": f"pto.tload ins(%x_p : {PART}<32x32xf16>) outs(%am : {MAT})\n"
    f"pto.tload ins(%w_p : {PART}<32x32xf16>) outs(%bm : {MAT})",
    "operands": f"pto.tmov ins(%am : {MAT}) outs(%al : {LEFT})\npto.tmov ins(%bm : {MAT}) outs(%br : {RIGHT})",
    "matmul": f"pto.tmatmul ins(%al, %br : {LEFT}, {RIGHT}) outs(%ac : {ACC})",
    "acc-to-ws": f"pto.tstore ins(%ac : {ACC}) outs(%ws_p : {PART}<32x32xf32>)",
    "acc-to-vec": f"pto.tmov ins(%ac : {ACC}) outs(%whole : {WHOLE})",
    "acc-to-vec1": f"pto.tmov ins(%ac : {ACC}) outs(%whole : {WHOLE}) "
    "{accToVecMode = #pto<acc_to_vec_mode single_mode_vec1>}",
    "split-acc": f"pto.tmov ins(%ac : {ACC}) outs(%half : {HALF}) "
    "{accToVecMode = #pto<acc_to_vec_mode dual_mode_split_m>}",
    "load-ws": f"pto.tload ins(%ws_h : {PART}<16x32xf32>) outs(%half : {HALF})",
    "store-ws": f"pto.tstore ins(%half : {HALF}) outs(%ws_h : {PART}<16x32xf32>)",
    "add-one": f"pto.tadds ins(%half, %one : {HALF}, f32) outs(%sum : {HALF})",
    "whole-sum": f"pto.tadds ins(%whole, %one : {WHOLE}, f32) outs(%whole : {WHOLE})",
    "store-y": f"pto.tstore ins(%sum : {HALF}) outs(%y_h : {PART}<16x32xf32>)",
    "store-first": f"pto.tstore ins(%half : {HALF}) outs(%y_f : {PART}<16x32xf32>)",
    "store-half": f"pto.tstore ins(%half : {HALF}) outs(%y_h : {PART}<16x32xf32>)",
    "store-whole": f"pto.tstore ins(%whole : {WHOLE}) outs(%y_w : {PART}<32x32xf32>)",
    "fill": f"pto.texpands ins(%one : f32) outs(%half : {HALF})",
    "all": "pto.barrier <PIPE_ALL>",
    "cube": "pto.section.cube {",
    "vector": "pto.section.vector {",
    "end": "}",
}

PRODUCT = "load-mats\nflag MTE2 MTE1 0\noperands\nflag MTE1 M 0\nmatmul\nflag M FIX 0"
"""A product in the accumulator, in order."""


def view(name: str, source: str, row: str, rows: int, dtype: str) -> str:
    """A partition of rows [row, row + rows)."""
    return (
        f"%{name} = pto.partition_view %{source}_v, offsets = [{row}, %c0], sizes = [%c{rows}, %c32] : "
        f"{VIEW}<?x?x{dtype}> -> {PART}<{rows}x32x{dtype}>"
    )


def tensor(name: str, rows: int, dtype: str) -> str:
    """The whole of an argument."""
    shape = f"shape = [%c{rows}, %c32], strides = [%c32, %c1]"
    return f"%{name}_v = pto.make_tensor_view %{name}, {shape} : {VIEW}<?x?x{dtype}>"


HEAD = [
    "func.func @k(%x: !pto.ptr<f16>, %w: !pto.ptr<f16>, %ws: !pto.ptr<f32>, %y: !pto.ptr<f32>)KIND {",
    *(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 16, 32, 64)),
    "%zero = arith.constant 0 : i64",
    "%second = arith.constant 8192 : i64",
    "%one = arith.constant 1.0 : f32",
    "%sub64 = pto.get_subblock_idx",
    "%sub = arith.index_cast %sub64 : i64 to index",
    "%row = arith.muli %sub, %c16 : index",
    *(tensor(n, rows, t) for n, rows, t in (("x", 32, "f16"), ("w", 32, "f16"), ("ws", 32, "f32"), ("y", 64, "f32"))),
    *(view(f"{n}_p", n, "%c0", 32, t) for n, t in (("x", "f16"), ("w", "f16"), ("ws", "f32"))),
    *(view(f"{n}_h", n, "%row", 16, "f32") for n in ("ws", "y")),
    view("y_w", "y", "%row", 32, "f32"),
    view("y_f", "y", "%c0", 16, "f32"),
    f"%am = pto.alloc_tile addr = %zero : {MAT}",
    f"%bm = pto.alloc_tile addr = %second : {MAT}",
    f"%al = pto.alloc_tile addr = %zero : {LEFT}",
    f"%br = pto.alloc_tile addr = %zero : {RIGHT}",
    f"%ac = pto.alloc_tile addr = %zero : {ACC}",
    f"%half = pto.alloc_tile addr = %zero : {HALF}",
    f"%whole = pto.alloc_tile addr = %zero : {WHOLE}",
    f"%sum = pto.alloc_tile addr = %second : {HALF}",
]


def cluster_text(body: str, kind: str = "") -> tuple[str, dict[int, int]]:
    """The program, and for each line of the text the line of the body (from 1) it belongs to."""
    attributes = f" attributes {{pto.kernel_kind = #pto.kernel_kind<{kind}>}}" if kind else ""
    lines = [HEAD[0].replace("KIND", attributes), *HEAD[1:]]
    places = {}
    for number, line in enumerate(body.strip().splitlines(), 1):
        for part in word(line).splitlines():
            lines.append(part)
            places[len(lines)] = number
    return "\n".join([*lines, "return", "}", ""]), places


def word(line: str) -> str:
    """The `.pto` text of a line of the body."""
    match line.split():
        case ["flag", p, q, n]:
            return "\n".join(f"pto.{verb}_flag[<PIPE_{p}>, <PIPE_{q}>, <EVENT_ID{n}>]" for verb in ("set", "wait"))
        case ["signal", pipe, n]:
            return f"pto.sync.set <PIPE_{pipe}>, {n}"
        case ["signal", pipe, n, mode]:
            return f"pto.sync.set <PIPE_{pipe}>, {n} {{ffts_mode = {mode} : i32}}"
        case ["await", pipe, n]:
            return f"pto.sync.wait <PIPE_{pipe}>, {n}"
        case _:
            return WORDS.get(line, line)


def expand(body: str) -> str:
    """`body` with ``product`` written out."""
    return body.replace("product", PRODUCT)


def arrays(seed: int = 0) -> list[np.ndarray]:
    """x, w, ws, y with small whole numbers; ws and y hold -1."""
    random = np.random.default_rng(seed)
    x, w = (random.integers(-3, 4, (32, 32)).astype(np.float16) for _ in range(2))
    return [x, w, np.full((32, 32), -1, np.float32), np.full((64, 32), -1, np.float32)]
