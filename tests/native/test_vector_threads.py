"""Kernels on pointers and vector registers run on several threads where their copies lie apart."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ptokit.backends.native.program import Scanner, argument_words, prepare
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program
from ptokit.run.arguments import bind_arguments

from ..run.kernels import compiled

pytest.importorskip("llvmlite")

F32 = "!pto.ptr<f32, gm>"
UB = "!pto.ptr<f32, ub>"
PTRS = f"%x: {F32}, %y: {F32}"
CONSTANTS = """
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %len = arith.constant 256 : i64
    %off = arith.constant false
    %c64 = arith.constant 64 : index
    %c3 = arith.constant 3 : index
    %n = pto.get_block_num
    %a = pto.castptr %zero : i64 -> !pto.ptr<f32, ub>
"""
ROWS = {
    "own": "%r = arith.muli %b, %c64 : index",
    "shared": "%k = arith.remsi %b, %c3 : index\n%r = arith.muli %k, %c64 : index",
    "backwards": "%m = arith.index_cast %n : i64 to index\n%k = arith.subi %m, %b : index\n"
    "%l = arith.subi %k, %c1 : index\n%r = arith.muli %l, %c64 : index",
    "by a loop": "%r, %u = scf.for %i = %c0 to %b step %c1 iter_args(%s = %c0, %v = %c1) -> (index, index) {\n"
    "%t = arith.addi %s, %c64 : index\n%w = arith.muli %v, %c2 : index\n"
    "scf.yield %t, %w : index, index\n}",
    "by a branch": "%k = arith.cmpi slt, %b, %c8 : index\n%r = scf.if %k -> (index) {\n"
    "%t = arith.muli %b, %c64 : index\nscf.yield %t : index\n} else {\n"
    "%s = arith.muli %b, %c64 : index\n%t = arith.addi %s, %c64 : index\nscf.yield %t : index\n}",
}
ADD = f"""
    pto.vecscope {{
      %left = arith.constant 64 : i32
      %all, %none = pto.plt_b32 %left : i32 -> !pto.mask<b32>, i32
      %start = pto.vlds %a[%c0] : {UB} -> !pto.vreg<64xf32>
      %sum = scf.for %i = %c0 to %c3 step %c1 iter_args(%s = %start) -> (!pto.vreg<64xf32>) {{
        %t = pto.vadd %s, %start, %all : !pto.vreg<64xf32>, !pto.vreg<64xf32>, !pto.mask<b32> -> !pto.vreg<64xf32>
        scf.yield %t : !pto.vreg<64xf32>
      }}
      pto.vsts %sum, %a[%c0], %all : !pto.vreg<64xf32>, {UB}, !pto.mask<b32>
    }}
"""


def copy_in(source: str) -> str:
    types = f"{F32}, {UB}, i64, i64, i64, i64, i64, i1, i64, i64, i64"
    return f"    pto.copy_gm_to_ubuf {source}, %a, %zero, %one, %len, %zero, %zero, %off, %zero, %len, %len : {types}\n"


def copy_out(target: str) -> str:
    types = f"{UB}, {F32}, i64, i64, i64, i64, i64, i64"
    return f"    pto.copy_ubuf_to_gm %a, {target}, %zero, %one, %len, %zero, %len, %len : {types}\n"


def moved(name: str, pointer: str, by: str = "%r") -> str:
    return f"    %{name} = pto.addptr {pointer}, {by} : {F32} -> {F32}\n"


def body(row: str, source: str = "%x", target: str = "%y") -> str:
    ends = moved("p", source) + moved("q", target)
    return CONSTANTS + ROWS[row] + "\n" + ends + copy_in("%p") + ADD + copy_out("%q")


def ranges(program: Program, arrays: list[np.ndarray], blocks: int, threads: int) -> list[tuple[int, int]]:
    """The ranges of blocks that threads run."""
    made = prepare(program).made
    words, buffers = argument_words(
        program.entry.params, bind_arguments(program.entry, arrays, program.effects.written, blocks)
    )
    return made._spans(words, buffers, blocks, threads)


@pytest.mark.parametrize(("row", "source"), list(itertools.product(ROWS, ("%x", "%y"))))
def test_same_bytes(row: str, source: str) -> None:
    program = compiled(PTRS, body(row, source))
    x = np.random.default_rng(1).random(64 * 20, np.float32)
    wanted = x[::-1].copy()
    program.launch([x, wanted], 14, chunk=1)
    for threads in (1, 2, 3, 7):
        got = x[::-1].copy()
        program.launch([x, got], 14, backend="native", threads=threads)
        assert got.tobytes() == wanted.tobytes(), threads


@pytest.mark.parametrize(("row", "count"), [(row, 1 if row == "shared" else 2) for row in ROWS])
def test_ranges(row: str, count: int) -> None:
    x = np.zeros(64 * 20, np.float32)
    assert len(ranges(compiled(PTRS, body(row)), [x, x.copy()], 14, 2)) == count


def test_copies_inside_loops_and_calls() -> None:
    """Extents of all turns count, whichever function the copies stand in."""
    loop = "%r = arith.muli %b, %c64 : index\n%m = arith.muli %r, %c2 : index\n"
    loop += "scf.for %i = %c0 to %c2 step %c1 {\n%j = arith.muli %i, %c64 : index\n%k = arith.addi %m, %j : index\n"
    loop += f"func.call @one(%x, %y, %k) : ({F32}, {F32}, index) -> ()\n}}\n"
    consts = "\n".join(f"%c{k} = arith.constant {k} : index" for k in (0, 1))
    inner = consts + CONSTANTS.replace("%n = pto.get_block_num", "") + moved("p", "%g") + moved("q", "%h")
    more = (
        f"func.func @one(%g: {F32}, %h: {F32}, %r: index) {{\n{inner}{copy_in('%p')}{ADD}{copy_out('%q')}return\n}}\n"
    )
    program = compiled(PTRS, CONSTANTS + loop, more=more)
    x = np.random.default_rng(2).random(128 * 9, np.float32)
    assert ranges(program, [x, x.copy()], 9, 3) == [(0, 3), (3, 6), (6, 9)]
    wanted, got = np.zeros_like(x), np.zeros_like(x)
    program.launch([x, wanted], 9, chunk=1)
    program.launch([x, got], 9, backend="native", threads=3)
    assert got.tobytes() == wanted.tobytes()
    assert got.any()


def test_a_call_that_writes_where_others_write() -> None:
    consts = "\n".join(f"%c{k} = arith.constant {k} : index" for k in (0, 1))
    inner = consts + CONSTANTS.replace("%n = pto.get_block_num", "") + ADD + copy_out("%h")
    more = f"func.func @one(%h: {F32}) {{\n{inner}return\n}}\n"
    program = compiled(PTRS, CONSTANTS + f"func.call @one(%y) : ({F32}) -> ()\n", more=more)
    assert ranges(program, [np.zeros(64, np.float32), np.zeros(64, np.float32)], 8, 2) == [(0, 8)]


@pytest.mark.parametrize(("by", "cut"), [("%b", 4), ("%c2", 3)])
def test_blocks_of_a_function(by: str, cut: int) -> None:
    """What a branch depends on, and what it hands over, counts."""
    text = CONSTANTS + f"%k = arith.cmpi slt, %b, %c3 : index\ncf.cond_br %k, ^near({by} : index), ^far\n^far:\n"
    text += f"%l = arith.addi {by}, %c1 : index\ncf.br ^near(%l : index)\n^near(%u: index):\n"
    text += "%r = arith.muli %u, %c64 : index\n" + moved("p", "%x") + moved("q", "%y")
    program = compiled(PTRS, text + copy_in("%p") + ADD + copy_out("%q"))
    x = np.random.default_rng(3).random(64 * 16, np.float32)
    assert ranges(program, [x, x.copy()], 8, 2) == [(0, cut), (cut, 8)]
    wanted, got = np.zeros_like(x), np.zeros_like(x)
    program.launch([x, wanted], 8, chunk=1)
    program.launch([x, got], 8, backend="native", threads=2)
    assert got.tobytes() == wanted.tobytes()


def test_extents_are_bytes() -> None:
    """The second block stores an element of the row that the first one copies: number 128, in bytes 512 to 767."""
    text = CONSTANTS + "%k = arith.subi %c2, %b : index\n%r = arith.muli %k, %c64 : index\n"
    text += moved("p", "%x") + copy_in("%p")
    text += "%e = arith.constant 128 : index\n%i = arith.muli %b, %e : index\n%z = arith.constant 1.0 : f32\n"
    text += f"pto.store_scalar %z, %x[%i] : {F32}, f32\n"
    x = np.zeros(64 * 8, np.float32)
    assert ranges(compiled(PTRS, text), [x, x.copy()], 2, 2) == [(0, 2)]


def test_what_depends_on_chip_stays_on_one_thread() -> None:
    text = CONSTANTS + moved("p", "%x", "%c0") + copy_in("%p")
    text += f"%v = pto.load_scalar %a[%c0] : {UB} -> f32\n%w = arith.fptosi %v : f32 to i64\n"
    text += "%r = arith.index_cast %w : i64 to index\n" + moved("q", "%y") + copy_out("%q")
    program = compiled(PTRS, text)
    x, wanted, got = (np.zeros(64 * 8, np.float32) for _ in range(3))
    assert ranges(program, [x, got], 8, 2) == [(0, 8)]
    program.launch([x, wanted], 8, chunk=1)
    program.launch([x, got], 8, backend="native", threads=2)
    assert got.tobytes() == wanted.tobytes()


def test_a_null_pointer_is_a_finding_on_threads_too() -> None:
    text = CONSTANTS + f"%nil = pto.castptr %zero : i64 -> {F32}\n" + moved("p", "%nil", "%c0") + copy_in("%p")
    text += ROWS["own"] + "\n" + moved("q", "%y") + copy_out("%q")
    program, x = compiled(PTRS, text), np.zeros(64 * 8, np.float32)
    with pytest.raises(DiagnosticError) as error:
        program.launch([x, x.copy()], 8, backend="native", threads=2)
    assert [d.rule for d in error.value.diagnostics] == ["GM-NULL"]


def test_loops_over_registers_are_no_part_of_a_scan() -> None:
    program = compiled(PTRS, body("own"))
    from ptokit.backends.native.module import NativeModule

    into = NativeModule(program.target)
    text = Scanner(program.plan, program.plan.functions["k"], program.target, into).write()
    assert "<" not in text.replace("<64", "")
    assert "for" not in text
