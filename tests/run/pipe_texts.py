"""Pairs of a cube and a vector function that exchange tiles through a pipe.

`cube_to_vector` gives y[t] = x[t] @ w + 1, `vector_to_cube` y[t] = (x[t] + 1) @ w, for t < turns; x[t] is 32x32 f16, w
32x32 f16, y[t] 32x32 f32. `split` is 0 to 4; 3 and 4 take the first 31 rows or columns.
"""

from __future__ import annotations

import numpy as np

MAT = "!pto.tile_buf<mat, 32x32xf16, blayout=col_major, slayout=row_major>"
LEFT = {
    "a2a3": "!pto.tile_buf<left, 32x32xf16, slayout=row_major>",
    "a5": "!pto.tile_buf<left, 32x32xf16, blayout=col_major, slayout=row_major>",
}
LEFT["cpu"] = LEFT["a5"]
RIGHT = "!pto.tile_buf<right, 32x32xf16, slayout=col_major>"
ACC = "!pto.tile_buf<acc, 32x32xf32, {}blayout=col_major, slayout=row_major, fractal=1024>"
PART = "!pto.partition_tensor_view"
VIEW = "!pto.tensor_view"


def constants(*numbers: int) -> list[str]:
    """One %cN for each number."""
    return [f"%c{n} = arith.constant {n} : index" for n in sorted({0, 1, 32, *numbers})]


def tensor(name: str, rows: int, dtype: str) -> str:
    """The whole of an argument of 32 columns."""
    shape = f"shape = [%c{rows}, %c32], strides = [%c32, %c1]"
    return f"%{name}_v = pto.make_tensor_view %{name}, {shape} : {VIEW}<?x?x{dtype}>"


def part(name: str, source: str, at: tuple[str, str], size: tuple[int, int], dtype: str) -> str:
    """A rectangle of it."""
    (row, col), (rows, cols) = at, size
    return (
        f"%{name} = pto.partition_view %{source}_v, offsets = [{row}, {col}], sizes = [%c{rows}, %c{cols}] : "
        f"{VIEW}<?x?x{dtype}> -> {PART}<{rows}x{cols}x{dtype}>"
    )


def half(split: int) -> tuple[int, int]:
    """Rows and columns of a vector core's tile."""
    return {0: (32, 32), 1: (16, 32), 2: (32, 16), 3: (16, 32), 4: (32, 16)}[split]


def text(
    way: str,
    split: int = 0,
    *,
    on: str = "a5",
    turns: int = 5,
    slots: int | None = None,
    memory: bool | None = None,
    internal: bool = False,
    pops: int | None = None,
    frees: bool = True,
) -> str:
    """A module. ``memory``: through global memory; ``internal``: the forms that have a value for the pipe."""
    memory = on == "a2a3" if memory is None else memory
    c2v = way == "c2v"
    rows, cols = half(split)
    mask, size = (1, 4096) if c2v else (2, 2048)
    number = "" if slots is None else f", slot_num = {slots}"
    loc, owner = ("vec", "k_aiv") if c2v else ("mat", "k_aic")
    bytes_ = size * (slots or 8)
    reserve = (
        f'%buf = pto.reserve_buffer {{name = "fifo", size = {bytes_}, location = #pto.address_space<{loc}>, '
        "auto = true} -> i32"
    )
    imported = f'%buf = pto.import_reserved_buffer {{name = "fifo", peer_func = @{owner}}} -> i32'

    def ends(core: str) -> list[str]:
        here = reserve if owner == f"k_{core}" else imported
        words = f"{'c2v' if c2v else 'v2c'}_consumer_buf = %buf : i32"
        if internal and memory:
            form = (
                f"%pipe = pto.initialize_l2g2l_pipe {{dir_mask = {mask}, slot_size = {size}, slot_num = {slots or 8}}} "
            )
            return [here, form + "(%ws : !pto.ptr<f32>, %buf : i32) -> !pto.pipe"]
        if internal:
            form = (
                f"%pipe = pto.initialize_l2l_pipe {{dir_mask = {mask}, slot_size = {size}, slot_num = {slots or 8}}} "
            )
            return [here, form + "(%buf : i32) -> !pto.pipe"]
        if memory and on == "a5":
            shape = "shape = [%c32, %c32], strides = [%c32, %c1]"
            here = f"%slots = pto.make_tensor_view %ws, {shape} : {VIEW}<32x32xf32>\n{here}"
            words = f"gm_slot_tensor = %slots : {VIEW}<32x32xf32>, {words}"
        elif memory:
            words = f"gm_slot_buffer = %ws : !pto.ptr<f32>, {words}"
        return [here, f"pto.{core}_initialize_pipe {{id = 0, dir_mask = {mask}, slot_size = {size}{number}}} ({words})"]

    def push(core: str, tile: str, type: str) -> str:
        if internal:
            return f"pto.tpush({tile}, %pipe : {type}, !pto.pipe) {{split = {split}}}"
        return f"pto.tpush_to_{core}({tile} : {type}) {{id = 0, split = {split}}}"

    def pop(core: str, type: str, sizes: str = "") -> str:
        if internal:
            return f"%got = pto.declare_tile -> {type}\npto.tpop(%got, %pipe : {type}, !pto.pipe) {{split = {split}}}"
        return f"%got = pto.tpop_from_{core}{sizes} {{id = 0, split = {split}}} -> {type}"

    def free(core: str) -> str:
        if not frees:
            return ""
        if internal:
            return f"pto.tfree(%pipe : !pto.pipe) {{split = {split}}}"
        return f"pto.tfree_from_{core} {{id = 0, split = {split}}}"

    head = "%x: !pto.ptr<f16>, %w: !pto.ptr<f16>, %ws: !pto.ptr<f32>, %y: !pto.ptr<f32>"
    left, vec = LEFT[on], f"!pto.tile_buf<vec, {rows}x{cols}xf32>"
    odd = split in (3, 4)
    vr, vc = (31 if split == 3 else 32), (31 if split == 4 else 32)
    acc = ACC.format(f"valid={vr}x{vc}, " if odd else "")
    numbers = (16, turns, 32 * turns, pops or turns)
    load_w = [part("w_p", "w", ("%c0", "%c0"), (32, 32), "f16"), f"%wm = pto.alloc_tile : {MAT}"]
    load_w += [f"%wr = pto.alloc_tile : {RIGHT}", f"pto.tload ins(%w_p : {PART}<32x32xf16>) outs(%wm : {MAT})"]
    load_w += [f"pto.tmov ins(%wm : {MAT}) outs(%wr : {RIGHT})"]
    tiles = [f"%xl = pto.alloc_tile : {left}", f"%ac = pto.alloc_tile : {acc}"]
    if odd:  # the left or right tile has as many valid rows or columns as the product
        tiles[0] = f"%xl = pto.alloc_tile : {left.replace('32x32xf16,', f'32x32xf16, valid={vr}x32,')}"
        left = left.replace("32x32xf16,", f"32x32xf16, valid={vr}x32,")
        right = RIGHT.replace("32x32xf16,", f"32x32xf16, valid=32x{vc},")
        load_w = [line.replace(RIGHT, right) for line in load_w]
    else:
        right = RIGHT
    product = f"pto.tmatmul ins(%xl, %wr : {left}, {right}) outs(%ac : {acc})"
    sub = ["%s64 = pto.get_subblock_idx", "%s = arith.index_cast %s64 : i64 to index"] if split else []
    first = {0: ("%c0", "%c0"), 1: ("%h", "%c0"), 2: ("%c0", "%h"), 3: ("%h", "%c0"), 4: ("%c0", "%h")}[split]
    sub += ["%h = arith.muli %s, %c16 : index"] if split else []
    turn, last = "%r = arith.muli %t, %c32 : index", "%r2 = arith.addi %r, " + first[0] + " : index"
    if c2v:
        xm = [f"%xm = pto.alloc_tile : {MAT}", *tiles]
        cube = [
            *constants(*numbers), tensor("x", 32 * turns, "f16"), tensor("w", 32, "f16"), *ends("aic"), *load_w, *xm,
            f"scf.for %t = %c0 to %c{turns} step %c1 {{", turn,
            part("x_p", "x", ("%r", "%c0"), (32, 32), "f16"),
            f"pto.tload ins(%x_p : {PART}<32x32xf16>) outs(%xm : {MAT})",
            f"pto.tmov ins(%xm : {MAT}) outs(%xl : {left})", product, push("aiv", "%ac", acc), "}", "return",
        ]  # fmt: skip
        got = vec if not odd else vec.replace("xf32>", "xf32, valid=?x?>")
        sizes = "(%vr, %vc)" if odd else ""
        measure = []
        if odd:
            measure = [
                "%full = arith.constant 16 : index",
                "%less = arith.subi %full, %s : index",
                f"%vr = arith.addi {'%less' if split == 3 else '%c32'}, %c0 : index",
                f"%vc = arith.addi {'%c32' if split == 3 else '%less'}, %c0 : index",
            ]
        out = f"pto.alloc_tile valid_row = %vr valid_col = %vc : {got}" if odd else f"pto.alloc_tile : {vec}"
        shape = "[%vr, %vc]" if odd else f"[%c{rows}, %c{cols}]"
        dims = "?x?" if odd else f"{rows}x{cols}"
        vector = [
            *constants(*numbers), "%one = arith.constant 1.0 : f32", tensor("y", 32 * turns, "f32"), *ends("aiv"), *sub,
            *measure, f"%out = {out}", f"scf.for %t = %c0 to %c{pops or turns} step %c1 {{", turn, last,
            f"%y_p = pto.partition_view %y_v, offsets = [%r2, {first[1]}], sizes = {shape} : {VIEW}<?x?xf32> -> "
            f"{PART}<{dims}xf32>",
            pop("aic", got, sizes), f"pto.tadds ins(%got, %one : {got}, f32) outs(%out : {got})", free("aic"),
            f"pto.tstore ins(%out : {got}) outs(%y_p : {PART}<{dims}xf32>)", "}", "return",
        ]  # fmt: skip
    else:
        nd = f"!pto.tile_buf<vec, {rows}x{cols}xf16>"
        nz = f"!pto.tile_buf<vec, {rows}x{cols}xf16, blayout=col_major, slayout=row_major>"
        direct = on != "a2a3" and not memory
        pushed = ("%z", nz) if direct else ("%o", nd)
        vector = [
            *constants(*numbers, cols), "%one = arith.constant 1.0 : f16", tensor("x", 32 * turns, "f16"), *ends("aiv"),
            *sub, f"%i = pto.alloc_tile : {nd}", f"%o = pto.alloc_tile : {nd}", f"%z = pto.alloc_tile : {nz}",
            f"scf.for %t = %c0 to %c{turns} step %c1 {{", turn, last,
            part("x_p", "x", ("%r2", first[1]), (rows, cols), "f16"),
            f"pto.tload ins(%x_p : {PART}<{rows}x{cols}xf16>) outs(%i : {nd})",
            f"pto.tadds ins(%i, %one : {nd}, f16) outs(%o : {nd})",
            *([f"pto.tmov ins(%o : {nd}) outs(%z : {nz})"] if direct else []),
            push("aic", *pushed), "}", "return",
        ]  # fmt: skip
        cube = [
            *constants(*numbers), tensor("w", 32, "f16"), tensor("y", 32 * turns, "f32"), *ends("aic"), *load_w, *tiles,
            f"scf.for %t = %c0 to %c{pops or turns} step %c1 {{", turn,
            part("y_p", "y", ("%r", "%c0"), (32, 32), "f32"), pop("aiv", MAT),
            f"pto.tmov ins(%got : {MAT}) outs(%xl : {left})", free("aiv"), product,
            f"pto.tstore ins(%ac : {acc}) outs(%y_p : {PART}<32x32xf32>)", "}", "return",
        ]  # fmt: skip
    functions = []
    for core, kind, body in (("aic", "cube", cube), ("aiv", "vector", vector)):
        kinds = f"attributes {{pto.kernel_kind = #pto.kernel_kind<{kind}>}}"
        functions.append("\n".join([f"func.func @k_{core}({head}) {kinds} {{", *body, "}"]))

    return "\n".join(functions)


def arrays(turns: int = 5, seed: int = 0) -> list[np.ndarray]:
    """x, w, ws, y; whole numbers, so that sums are exact."""
    rng = np.random.default_rng(seed)
    x, w = (rng.integers(-3, 4, (n, 32)).astype(np.float16) for n in (32 * turns, 32))
    return [x, w, np.zeros(1 << 16, np.float32), np.full((32 * turns, 32), -1, np.float32)]


def expected(way: str, args: list[np.ndarray]) -> np.ndarray:
    """What y must be."""
    x, w = args[0].astype(np.float32), args[1].astype(np.float32)
    return x @ w + 1 if way == "c2v" else (x + 1) @ w
