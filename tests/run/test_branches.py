"""Programs of blocks and branches, run: against the same graph walked in Python (assembly 2)."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ptokit.asm import parse_module, print_generic, print_module
from ptokit.asm.convert import convert, format_text
from ptokit.diagnostics import DiagnosticError
from ptokit.run import compile_program
from ptokit.run.program import Program
from ptokit.targets import A5
from tests.each import each

from ..asm.same import assert_same

BUDGET = 40  # branches back


class Graph:
    """A random program: each block adds to a sum, and goes on by bits of what it has computed."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.count = rng.randint(2, 9)
        names = list(range(1, self.count))
        rng.shuffle(names)  # the order of the text is none of dominance
        self.order = [0, *names]
        self.blocks: list[tuple[int, int, str, list[int]]] = []
        for _ in range(self.count):
            kind = rng.choice(["br", "cond_br", "switch", "return"])
            exits = {"br": 1, "cond_br": 2, "switch": rng.randint(1, 4), "return": 0}[kind]
            to = [rng.randrange(1, self.count) for _ in range(exits)]
            self.blocks.append((rng.randint(-9, 9), rng.randint(1, 5), kind, to))

    def text(self, *, region: bool) -> str:
        out = ["func.func @f(%p: !pto.ptr<i64>, %start: i64) {", "%c1 = arith.constant 1 : i64"]
        out += [f"%add{k} = arith.constant {add} : i64" for k, (add, _, _, _) in enumerate(self.blocks)]
        out += [f"%mod{k} = arith.constant {mod} : i64" for k, (_, mod, _, _) in enumerate(self.blocks)]
        out += [f"%budget = arith.constant {BUDGET} : i64", "%two = arith.constant 2 : i64"]
        out += ["%bi = pto.get_block_idx", "%b = arith.index_cast %bi : i64 to index"]
        out += ["%zero = arith.constant 0 : i64", "%first = arith.addi %start, %bi : i64"]
        if region:
            out += ["%r = scf.execute_region -> i64 {"]
        out += ["cf.br ^b0(%first, %zero : i64, i64)"]
        for k in self.order:
            out += self.block(k)
        out += ["^end(%result: i64):"]
        out += ["scf.yield %result : i64", "}"] if region else []
        out += [f"pto.store_scalar %{'r' if region else 'result'}, %p[%b] : !pto.ptr<i64>, i64", "return", "}"]
        return "\n".join(out) + "\n"

    def block(self, k: int) -> list[str]:
        _, _, kind, to = self.blocks[k]
        passed = f"(%s{k}, %m{k} : i64, i64)"
        leave = f"^end(%s{k} : i64)"
        out = [
            f"^b{k}(%x{k}: i64, %n{k}: i64):",
            f"%s{k} = arith.addi %x{k}, %add{k} : i64",
            f"%m{k} = arith.addi %n{k}, %c1 : i64",
            f"%over{k} = arith.cmpi sge, %m{k}, %budget : i64",
            f"cf.cond_br %over{k}, {leave}, ^go{k}",
            f"^go{k}:",
            f"%q{k} = arith.remsi %s{k}, %mod{k} : i64",
        ]
        if kind == "return":
            return [*out, f"cf.br {leave}"]
        if kind == "br":
            return [*out, f"cf.br ^b{to[0]}{passed}"]
        if kind == "cond_br":
            return [
                *out,
                f"%odd{k} = arith.trunci %s{k} : i64 to i1",
                f"cf.cond_br %odd{k}, ^b{to[0]}{passed}, ^b{to[1]}{passed}",
            ]
        cases = "".join(f", {i}: ^b{block}{passed}" for i, block in enumerate(to))
        return [*out, f"cf.switch %q{k} : i64, [default: {leave}{cases}]"]

    def walk(self, value: int) -> int:
        """The result by hand."""
        at, steps = 0, 0
        while True:
            add, mod, kind, to = self.blocks[at]
            value, steps = value + add, steps + 1
            if steps >= BUDGET or kind == "return":
                return value
            choice = {"br": 0, "cond_br": 1 - value % 2, "switch": int(np.fmod(value, mod))}[kind]
            if not 0 <= choice < len(to):
                return value
            at = to[choice]


def program(text: str) -> Program:
    parsed = parse_module(text)
    assert list(parsed.diagnostics) == []
    return compile_program(parsed.module, A5)


@each("region", [False, True])
@each("seed", range(40))
def test_random_graphs(seed: int, region: bool) -> None:
    graph = Graph(seed)
    text = graph.text(region=region)
    blocks, start = 6, seed % 7 - 3
    wanted = [graph.walk(start + b) for b in range(blocks)]
    stored = np.zeros(blocks, np.int64)
    program(text).launch([stored, start], blocks)
    assert stored.tolist() == wanted
    generic = np.zeros(blocks, np.int64)
    program(print_generic(parse_module(text).module)).launch([generic, start], blocks)
    assert generic.tolist() == wanted


SWAP = """
func.func @f(%p: !pto.ptr<i64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a0 = arith.constant 10 : i64
  %b0 = arith.constant 20 : i64
  cf.br ^head(%c0, %a0, %b0 : index, i64, i64)
^head(%i: index, %a: i64, %b: i64):
  %more = arith.cmpi slt, %i, %n : index
  cf.cond_br %more, ^body, ^exit
^body:
  %k = arith.addi %i, %c1 : index
  cf.br ^head(%k, %b, %a : index, i64, i64)
^exit:
  pto.store_scalar %a, %p[%c0] : !pto.ptr<i64>, i64
  pto.store_scalar %b, %p[%c1] : !pto.ptr<i64>, i64
  return
}
"""


@each("n, wanted", [(0, [10, 20]), (1, [20, 10]), (4, [10, 20])])
def test_arguments_are_passed_at_once(n: int, wanted: list[int]) -> None:
    stored = np.zeros(2, np.int64)
    program(SWAP).launch([stored, n])
    assert stored.tolist() == wanted


TILES = """
module attributes {pto.target_arch = "a5"} {
  func.func @f(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %two = arith.constant 2.0 : f32
    %b = pto.get_block_idx
    %row = arith.index_cast %b : i64 to index
    %all = arith.constant 8 : index
    %xv = pto.make_tensor_view %x, shape = [%all, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf32>
    %yv = pto.make_tensor_view %y, shape = [%all, %c16], strides = [%c16, %c1] : !pto.tensor_view<?x?xf32>
    %xp = pto.partition_view %xv, offsets = [%row, %c0], sizes = [%c1, %c16] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x16xf32>
    %yp = pto.partition_view %yv, offsets = [%row, %c0], sizes = [%c1, %c16] : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<1x16xf32>
    %t = pto.alloc_tile : !pto.tile_buf<vec, 1x16xf32>
    pto.tload ins(%xp : !pto.partition_tensor_view<1x16xf32>) outs(%t : !pto.tile_buf<vec, 1x16xf32>)
    pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    WAIT
    cf.br ^head(%c0 : index)
  ^head(%i: index):
    %limit = arith.addi %n, %row : index
    %more = arith.cmpi slt, %i, %limit : index
    cf.cond_br %more, ^body, ^exit
  ^body:
    pto.tmuls ins(%t, %two : !pto.tile_buf<vec, 1x16xf32>, f32) outs(%t : !pto.tile_buf<vec, 1x16xf32>)
    BARRIER
    %k = arith.addi %i, %c1 : index
    cf.br ^head(%k : index)
  ^exit:
    pto.set_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.wait_flag[<PIPE_V>, <PIPE_MTE3>, <EVENT_ID0>]
    pto.tstore ins(%t : !pto.tile_buf<vec, 1x16xf32>) outs(%yp : !pto.partition_tensor_view<1x16xf32>)
    return
  }
}
"""  # noqa: E501
WAIT = "pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]"
GOOD = TILES.replace("WAIT", WAIT).replace("BARRIER", "pto.barrier <PIPE_V>")


def test_tiles_in_a_loop_of_branches() -> None:
    x = np.arange(128, dtype=np.float32).reshape(8, 16)
    y = np.zeros_like(x)
    program(GOOD).launch([x, y, 1], 8)
    assert np.array_equal(y, x * 2.0 ** (1 + np.arange(8))[:, None])
    sync = convert(parse_module(GOOD).module, "sync").text
    assert sync is not None
    again = np.zeros_like(x)
    program(sync).launch([x, again, 1], 8)
    assert np.array_equal(again, y)


def test_an_assertion() -> None:
    text = "func.func @f(%n: index) {\n%b = pto.get_block_idx\n%i = arith.index_cast %b : i64 to index\n"
    text += '%c = arith.cmpi slt, %i, %n : index\ncf.assert %c, "too many"\nreturn\n}\n'
    program(text).launch([4], 4)
    with pytest.raises(DiagnosticError) as caught:
        program(text).launch([3], 4)
    (found,) = caught.value.diagnostics
    assert (found.rule, found.location.line) == ("RUN-ASSERT", 5)
    assert "too many" in found.message


def test_many_blocks() -> None:
    """A long chain needs no depth of Python's compiler."""
    lines = ["func.func @f(%p: !pto.ptr<i64>, %i: index, %v: i64) {", "cf.br ^b0(%v : i64)"]
    for k in range(1500):
        lines += [f"^b{k}(%a{k}: i64):", f"%s{k} = arith.addi %a{k}, %v : i64", f"cf.br ^b{k + 1}(%s{k} : i64)"]
    lines += ["^b1500(%r: i64):", "pto.store_scalar %r, %p[%i] : !pto.ptr<i64>, i64", "return", "}"]
    stored = np.zeros(1, np.int64)
    program("\n".join(lines)).launch([stored, 0, 3])
    assert stored.tolist() == [4503]


@each(
    "opened, closed",
    [
        ("scf.for %i{k} = %n to %n step %n {{", "}"),
        ("scf.execute_region {{\ncf.br ^a\n^a:", "scf.yield\n}"),
        ("scf.if %c {{", "}"),
    ],
)
def test_what_is_nested_too_deeply_for_python(opened: str, closed: str) -> None:
    depth = 150
    inside = "\n".join([*(opened.format(k=k) for k in range(depth)), *[closed] * depth])
    with pytest.raises(DiagnosticError) as caught:
        program(f"func.func @f(%n: index, %c: i1) {{\n{inside}\nreturn\n}}\n")
    (found,) = caught.value.diagnostics
    assert found.rule == "TEXT-NESTING"
    assert 20 <= found.location.line <= 200


@each("seed", range(0, 40, 4))
def test_the_text_of_random_graphs(seed: int) -> None:
    """Every form is read back the same, and the layout does not change any more."""
    text = Graph(seed).text(region=seed % 8 == 0)
    module = parse_module(text).module
    printed = print_module(module)
    again = parse_module(printed)
    assert list(again.diagnostics) == []
    assert_same(module, again.module)
    assert print_module(again.module) == printed
    generic = print_generic(module)
    assert print_module(parse_module(generic).module) == printed
    laid_out = format_text(text).text
    assert laid_out is not None
    assert format_text(laid_out).text == laid_out
    assert format_text(printed).text == printed
