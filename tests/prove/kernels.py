"""Small kernels of one vector core, in text."""

from __future__ import annotations

ROWS, COLS = 16, 32
BYTES = ROWS * COLS * 4
TILE = f"!pto.tile_buf<vec, {ROWS}x{COLS}xf32>"
VIEW = "!pto.tensor_view<?x?xf32>"
SLICE = f"!pto.partition_tensor_view<{ROWS}x{COLS}xf32>"


def flag(does: str, src: str, dst: str, number: int | str = 0) -> str:
    """set or wait; a number in a value is written ``%e``."""
    if isinstance(number, str):
        return f"pto.{does}_flag_dyn[<PIPE_{src}>, <PIPE_{dst}>, {number}]"
    return f"pto.{does}_flag[<PIPE_{src}>, <PIPE_{dst}>, <EVENT_ID{number}>]"


def load(tile: str, row: str) -> str:
    """Rows of x from a row on."""
    view = f"%x_{tile[1:]}_{row[1:]}"
    return (
        f"{view} = pto.partition_view %xv, offsets = [{row}, %c0], sizes = [%c16, %c32] : !pto.tensor_view<?x?xf32> -> "
        f"{SLICE}\npto.tload ins({view} : {SLICE}) outs({tile} : {TILE})"
    )


def store(tile: str, row: str) -> str:
    """Rows of y from a row on."""
    view = f"%y_{tile[1:]}_{row[1:]}"
    return (
        f"{view} = pto.partition_view %yv, offsets = [{row}, %c0], sizes = [%c16, %c32] : !pto.tensor_view<?x?xf32> -> "
        f"{SLICE}\npto.tstore ins({tile} : {TILE}) outs({view} : {SLICE})"
    )


def add(dst: str, src: str) -> str:
    """One more."""
    return f"pto.tadds ins({src}, %one : {TILE}, f32) outs({dst} : {TILE})"


def kernel(*body: str, params: str = "%n: index", rows: str = "%rows", tiles: int = 2) -> str:
    """A kernel with arrays x and y of ``rows`` rows, tiles %t0, %t1 … at addresses, and the numbers 0, 1, 2, 16, 32."""
    made = "\n".join(f"%t{k} = pto.alloc_tile addr = %a{k} : {TILE}" for k in range(tiles))
    addresses = "\n".join(f"%a{k} = arith.constant {k * BYTES} : i64" for k in range(tiles))
    return f"""
func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>{", " + params if params else ""})
    attributes {{pto.kernel_kind = #pto.kernel_kind<vector>}} {{
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%c2 = arith.constant 2 : index
%c16 = arith.constant 16 : index
%c32 = arith.constant 32 : index
%c4096 = arith.constant 4096 : index
%one = arith.constant 1.0 : f32
{"%rows = arith.muli %n, %c16 : index" if rows == "%rows" else ""}
{addresses}
%xv = pto.make_tensor_view %x, shape = [{rows}, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>
%yv = pto.make_tensor_view %y, shape = [{rows}, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>
{made}
{chr(10).join(body)}
return
}}
"""


HANDED = (flag("set", "MTE2", "V"), flag("wait", "MTE2", "V"))
"""Between a load and what computes on it."""

BACK = (flag("set", "V", "MTE3"), flag("wait", "V", "MTE3"))


def loop(*body: str, upper: str = "%n", variable: str = "%i") -> str:
    """A loop from 0; the row of its iteration is %r."""
    row = f"%r{variable[2:]}"
    inside = "\n".join((f"{row} = arith.muli {variable}, %c16 : index", *body))
    return f"scf.for {variable} = %c0 to {upper} step %c1 {{\n{inside}\n}}"


PRIMED = (flag("set", "V", "MTE2"), flag("set", "MTE3", "V"))
DRAINED = (flag("wait", "MTE3", "V"), flag("wait", "V", "MTE2"))
BODY = (
    flag("wait", "V", "MTE2"),
    load("%t0", "%r"),
    *HANDED,
    flag("wait", "MTE3", "V"),
    add("%t1", "%t0"),
    flag("set", "V", "MTE2"),
    *BACK,
    store("%t1", "%r"),
    flag("set", "MTE3", "V"),
)
COPY = kernel(*PRIMED, loop(*BODY), *DRAINED)
"""Copies n blocks of rows, with every flag that it needs."""
