"""Casts between the stages of a compiler, and views as parameters of kernels."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program, compile_program
from ptokit.targets import target


def compiled(params: str, body: str) -> Program:
    read = parse_module(f"func.func @k({params}) {{\n{body}\nreturn\n}}", "k.pto", target=target("a5"))
    read.diagnostics.raise_if_errors()
    return compile_program(read.module, target("a5"))


@pytest.mark.parametrize(("there", "back"), [("i32", "ui32"), ("i32", "si32"), ("i64", "index")])
def test_integers_keep_their_bits(there: str, back: str) -> None:
    kernel = compiled(
        f"%y: !pto.ptr<i64>, %n: {there}",
        f"""%a = builtin.unrealized_conversion_cast %n : {there} to {back}
%b = builtin.unrealized_conversion_cast %a : {back} to {there}
%i = arith.constant 0 : index
{"%c = arith.extsi %b : i32 to i64" if there == "i32" else "%c = arith.addi %b, %b : i64"}
pto.store_scalar %c, %y[%i] : !pto.ptr<i64>, i64""",
    )
    y = np.zeros(1, np.int64)
    kernel.launch([y, -5])
    assert y[0] == (-5 if there == "i32" else -10)


@pytest.mark.parametrize("made", ["i32 to f32", "i32 to i64", "!pto.ptr<f32> to i64", "memref<4xf32> to i64"])
def test_other_casts_are_refused(made: str) -> None:
    given = made.partition(" ")[0]
    with pytest.raises(DiagnosticError) as error:
        compiled(f"%n: {given}", f"%a = builtin.unrealized_conversion_cast %n : {made}")
    assert [(d.rule, d.location.line) for d in error.value.diagnostics] == [("TEXT-UNIMPLEMENTED", 2)]


VIEWS = ["!pto.partition_tensor_view<16x64xf32>", "!pto.tensor_view<16x64xf32>", "!pto.tensor_view<?x64xf32>"]


@pytest.mark.parametrize("type", VIEWS)
def test_arrays_are_views(type: str) -> None:
    part = "!pto.partition_tensor_view<16x64xf32>"
    cut, names = "", ["x", "y"]
    if type != part:
        cut = "\n".join(
            f"%{n}_p = pto.partition_view %{n}, offsets = [%c0, %c0], sizes = [%c16, %c64] : {type} -> {part}"
            for n in names
        )
        names = [f"{n}_p" for n in names]
    tile = "!pto.tile_buf<vec, 16x64xf32>"
    kernel = compiled(
        f"%x: {type}, %y: {type}",
        f"""%c0 = arith.constant 0 : index
%c16 = arith.constant 16 : index
%c64 = arith.constant 64 : index
{cut}
%t = pto.alloc_tile : {tile}
pto.tload ins(%{names[0]} : {part}) outs(%t : {tile})
pto.tadd ins(%t, %t : {tile}, {tile}) outs(%t : {tile})
pto.tstore ins(%t : {tile}) outs(%{names[1]} : {part})""",
    )
    x, y = np.arange(1024, dtype=np.float32).reshape(16, 64), np.zeros((16, 64), np.float32)
    kernel.launch([x, y])
    assert (y == 2 * x).all()


@pytest.mark.parametrize("shape", [(16, 32), (16, 64, 1)])
def test_the_sizes_of_an_array_are_those_of_the_view(shape: tuple[int, ...]) -> None:
    kernel = compiled("%x: !pto.tensor_view<?x64xf32>", "")
    with pytest.raises(DiagnosticError) as error:
        kernel.launch([np.zeros(shape, np.float32)])
    assert [(d.rule, d.location.line) for d in error.value.diagnostics] == [("RUN-ARG-SHAPE", 1)]
