"""Loads and stores of which the tile is nothing but a stop on the way, and those where it is more."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.backends.native.program import prepare
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program, compile_program
from ptokit.targets import A5

pytest.importorskip("llvmlite")

VIEW, PART = "!pto.tensor_view<{}x{}xf32>", "!pto.partition_tensor_view<{}x{}xf32>"


def program(body: str, params: str) -> Program:
    text = f"""module attributes {{pto.target_arch = "a5"}} {{
      func.func @k(%y: !pto.ptr<f32>, {params}) attributes {{pto.entry}} {{
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c4 = arith.constant 4 : index
        %c8 = arith.constant 8 : index
        %c16 = arith.constant 16 : index
        {body}
        return
      }}
    }}"""
    read = parse_module(text)
    assert [str(d) for d in read.diagnostics] == [], text
    return compile_program(read.module, A5)


def part(name: str, at: str, rows: str = "%c1", cols: str = "%c16", sizes: tuple[str, str] = ("1", "16")) -> str:
    view, slice_ = VIEW.format(*sizes), PART.format(*sizes)
    return f"""
        %{name}p = pto.addptr %y, {at} : !pto.ptr<f32> -> !pto.ptr<f32>
        %{name}v = pto.make_tensor_view %{name}p, shape = [{rows}, {cols}], strides = [{cols}, %c1] : {view}
        %{name} = pto.partition_view %{name}v, offsets = [%c0, %c0], sizes = [{rows}, {cols}] : {view} -> {slice_}
    """


def outcome(k: Program, args: list[int], blocks: int, backend: str, size: int = 256) -> list[object]:
    """The array afterwards, or what was found."""
    y = np.arange(size, dtype=np.float32)
    try:
        k.launch([y, *args], blocks, backend=backend, chunk=1 if backend == "numpy" else None)
    except DiagnosticError as error:
        return [(d.rule, d.message) for d in error.diagnostics]
    return y.tolist()


TILE = "!pto.tile_buf<vec, 1x16xf32>"
MOVED = f"""
    %t = pto.alloc_tile : {TILE}
    {part("p", "%from")}
    {part("q", "%to")}
    pto.tload ins(%p : {PART.format(1, 16)}) outs(%t : {TILE})
    pto.tstore ins(%t : {TILE}) outs(%q : {PART.format(1, 16)})
"""


def test_a_row_that_is_stored_over_a_part_of_itself() -> None:
    """All of it is read before a byte is written, by however little both places meet."""
    k = program(MOVED, "%from: index, %to: index")
    for by in range(-17, 18):
        assert outcome(k, [64, 64 + by], 1, "native") == outcome(k, [64, 64 + by], 1, "numpy"), by


SQUARE = "!pto.tile_buf<vec, 8x16xf32>"
TALL = f"""
    %t = pto.alloc_tile : {SQUARE}
    {part("p", "%from", "%c8", "%c16", ("8", "16"))}
    {part("q", "%to", "%c8", "%c16", ("8", "16"))}
    pto.tload ins(%p : {PART.format(8, 16)}) outs(%t : {SQUARE})
    pto.tstore ins(%t : {SQUARE}) outs(%q : {PART.format(8, 16)})
"""


def test_rows_that_are_stored_over_each_other() -> None:
    k = program(TALL, "%from: index, %to: index")
    for by in (-129, -128, -127, -16, -1, 1, 16, 127, 128, 129):
        args = [256, 256 + by]
        assert outcome(k, args, 1, "native", 768) == outcome(k, args, 1, "numpy", 768), by


@pytest.mark.parametrize("pad", [1, 2, 3])
def test_what_a_load_writes_beyond_a_valid_region_that_the_run_knows(pad: int) -> None:
    open_ = f"!pto.tile_buf<vec, 8x16xf32, valid=?x?, pad={pad}>"
    body = f"""
        %zero = arith.constant 0 : i64
        %seven = arith.constant 7.0 : f32
        %all = pto.alloc_tile addr = %zero : {SQUARE}
        %t = pto.alloc_tile addr = %zero valid_row = %rows valid_col = %cols : {open_}
        pto.texpands ins(%seven : f32) outs(%all : {SQUARE})
        {part("p", "%c0", "%rows", "%cols", ("?", "?"))}
        {part("q", "%to", "%c8", "%c16", ("8", "16"))}
        pto.tload ins(%p : {PART.format("?", "?")}) outs(%t : {open_})
        pto.tstore ins(%all : {SQUARE}) outs(%q : {PART.format(8, 16)})
    """
    k = program(body, "%rows: index, %cols: index, %to: index")
    for rows, cols in ((8, 16), (5, 16), (8, 11), (3, 9), (1, 8)):
        assert outcome(k, [rows, cols, 128], 1, "native") == outcome(k, [rows, cols, 128], 1, "numpy"), (rows, cols)


@pytest.mark.parametrize("rows", [16, 32])
def test_a_vector_of_several_parts_in_columns(rows: int) -> None:
    """A view that fits both layouts has that of the tile it meets: in columns only the last rows but one are rows."""
    tile = f"!pto.tile_buf<vec, {rows}x1xf32, blayout=col_major>"
    view, slice_ = "!pto.tensor_view<?x16x1xf32>", "!pto.partition_tensor_view<?x16x1xf32>"
    out = part("q", "%to", f"%r{rows}", "%c1", (str(rows), "1"))
    body = f"""
        %r16 = arith.constant 16 : index
        %r32 = arith.constant 32 : index
        %t = pto.alloc_tile : {tile}
        %pv = pto.make_tensor_view %y, shape = [%n, %c16, %c1], strides = [%c16, %c1, %c1] : {view}
        %p = pto.partition_view %pv, offsets = [%c0, %c0, %c0], sizes = [%n, %c16, %c1] : {view} -> {slice_}
        {out}
        pto.tload ins(%p : {slice_}) outs(%t : {tile})
        pto.tstore ins(%t : {tile}) outs(%q : {PART.format(rows, 1)})
    """
    k = program(body, "%n: index, %to: index")
    for n in (1, 2):
        assert outcome(k, [n, 128], 1, "native") == outcome(k, [n, 128], 1, "numpy"), n


def test_registers_of_copies_are_those_of_the_block() -> None:
    """A block that sets them says nothing of the next one, which begins with those that all blocks begin with."""
    gm, ub = "!pto.ptr<f32>", "!pto.ptr<f32, ub>"
    body = f"""
        %zero = arith.constant 0 : i64
        %one = arith.constant 1 : i64
        %two = arith.constant 2 : i64
        %len = arith.constant 32 : i64
        %no = arith.constant false
        %a = pto.castptr %zero : i64 -> {ub}
        %id = pto.get_block_idx
        %b = arith.index_cast %id : i64 to index
        %r = arith.muli %b, %c16 : index
        %p = pto.addptr %y, %r : {gm} -> {gm}
        %s = arith.addi %r, %to : index
        %q = pto.addptr %y, %s : {gm} -> {gm}
        pto.copy_gm_to_ubuf %p, %a, %zero, %one, %len, %zero, %zero, %no, %zero, %len, %len
          : {gm}, {ub}, i64, i64, i64, i64, i64, i1, i64, i64, i64
        pto.copy_ubuf_to_gm %a, %q, %zero, %one, %len, %zero, %len, %len : {ub}, {gm}, i64, i64, i64, i64, i64, i64
        pto.set_loop_size_ubtoout %two, %one : i64, i64
        pto.set_loop1_stride_ubtoout %len, %len : i64, i64
    """
    k = program(body, "%to: index")
    assert outcome(k, [128], 4, "native") == outcome(k, [128], 4, "numpy")


def test_a_load_that_only_a_store_reads_is_left_out() -> None:
    """Rows go from view to view; by way of the tile only where both views meet."""
    text = prepare(program(TALL, "%from: index, %to: index")).made.text
    body = text[text.index("@block(") :]
    body = body[: body.index("\n}")]
    assert sum("@copy." in line or "select i1" in line for line in body.split("\n")) >= 3
    assert body.count("ptrtoint") >= 4


GM, UB = "!pto.ptr<f32>", "!pto.ptr<f32, ub>"
BYTES = """
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %two = arith.constant 2 : i64
    %row = arith.constant 32 : i64
    %apart = arith.constant 64 : i64
    %no = arith.constant false
"""


def copied_in(source: str, to: str, count: str, length: str, stride: str) -> str:
    types = f"{GM}, {UB}, i64, i64, i64, i64, i64, i1, i64, i64, i64"
    given = f"{source}, {to}, %zero, {count}, {length}, %zero, %zero, %no, %zero, {length}, {stride}"
    return f"pto.copy_gm_to_ubuf {given} : {types}\n"


def copied_out(source: str, to: str, count: str, length: str) -> str:
    types = f"{UB}, {GM}, i64, i64, i64, i64, i64, i64"
    return f"pto.copy_ubuf_to_gm {source}, {to}, %zero, {count}, {length}, %zero, {length}, {length} : {types}\n"


def test_rows_that_leave_gaps() -> None:
    """A block finds zeros between the rows, whatever the one before it has left there."""
    body = f"""{BYTES}
        %a = pto.castptr %zero : i64 -> {UB}
        %id = pto.get_block_idx
        %b = arith.index_cast %id : i64 to index
        %r = arith.muli %b, %c16 : index
        %s = arith.muli %r, %c4 : index
        %p = pto.addptr %y, %r : {GM} -> {GM}
        %t = arith.addi %s, %to : index
        %q = pto.addptr %y, %t : {GM} -> {GM}
        {copied_in("%p", "%a", "%two", "%row", "%apart")}
        {copied_out("%a", "%q", "%two", "%apart")}
        {copied_in("%y", "%a", "%two", "%apart", "%apart")}
    """
    k = program(body, "%to: index")
    assert outcome(k, [256], 4, "native", 512) == outcome(k, [256], 4, "numpy", 512)


@pytest.mark.parametrize("out", [False, True])
def test_rows_at_the_ends_of_memory(out: bool) -> None:
    """The last byte counts: one row further on is refused, in global memory and in the buffer."""
    copy = copied_out("%a", "%p", "%two", "%row") if out else copied_in("%p", "%a", "%two", "%row", "%row")
    body = f"""{BYTES}
        %a = pto.castptr %at : i64 -> {UB}
        %p = pto.addptr %y, %from : {GM} -> {GM}
        {copy}
    """
    k = program(body, "%from: index, %at: i64")
    capacity = max(A5.capacity[loc] for loc in A5.capacity if loc.name == "Vec")
    for start, at in (
        (240, 0),
        (241, 0),
        (248, 0),
        (255, 0),
        (256, 0),
        (-1, 0),
        (0, capacity - 64),
        (0, capacity - 32),
    ):
        found = outcome(k, [start, at], 1, "native")
        assert found == outcome(k, [start, at], 1, "numpy"), (start, at)
        fits = start in range(241) and at <= capacity - 64
        assert isinstance(found[0], float) is fits
