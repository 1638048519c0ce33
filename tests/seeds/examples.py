"""Runs examples of the published instruction pages: Python bodies as a kernel and on a core, text as it is printed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ptokit as pto
from ptokit.asm import parse_module, print_module
from ptokit.ir import Module
from ptokit.run import compile_program
from ptokit.targets import target as find_target

TARGETS = ("cpu", "a2a3", "a5")
TYPES = (pto.f32, pto.f16, pto.bf16, pto.i32, pto.i16, pto.u32, pto.u16, pto.i64, pto.u64)
"""Types ``T`` of the examples whose tiles are 16x16; rows of 16 bytes, as of 8-bit types, are no legal tile."""

_KERNELS: dict[int, Callable[..., Callable[..., None]]] = {
    0: lambda example: lambda: example(),
    1: lambda example: lambda a: example(a),
    2: lambda example: lambda a, b: example(a, b),
    3: lambda example: lambda a, b, c: example(a, b, c),
}


def run(example: Callable[..., None], target: str, *arrays: np.ndarray) -> list[np.ndarray]:
    """What the arrays hold after the example; the kernel and the eager session must agree."""
    traced, eager = ([array.copy() for array in arrays] for _ in range(2))
    pto.kernel(target=target)(_KERNELS[len(arrays)](example))(*traced)
    with pto.Core(target):
        example(*eager)
    for a, b in zip(traced, eager):
        assert a.tobytes() == b.tobytes()
    return traced


def numbers(dtype: Any, rows: int = 16, cols: int = 16, first: int = 0) -> np.ndarray:
    return np.arange(first, first + rows * cols).reshape(rows, cols).astype(dtype.value)


def read(text: str, target: str) -> Module:
    """The module of a text without errors, which its printed form gives again."""
    result = parse_module(text, target=find_target(target))
    assert [str(d) for d in result.diagnostics] == []
    printed = print_module(result.module)
    again = parse_module(printed, target=find_target(target))
    assert [str(d) for d in again.diagnostics] == []
    assert print_module(again.module) == printed
    return result.module


def run_text(text: str, target: str, *args: Any) -> None:
    """Run the only kernel of a text on arrays, in place."""
    compile_program(read(text, target), find_target(target)).launch(args)


def rules_of(text: str, target: str) -> list[tuple[str, str]]:
    """(rule id, message) of everything that is wrong with a text."""
    return [(d.rule, d.message) for d in parse_module(text, target=find_target(target)).diagnostics]


def function(body: str, dtype: str = "f32", rows: int = 16, cols: int = 16) -> str:
    """A kernel on two packed matrices, ``%mem`` and ``%out``, around the lines of an example."""
    view = f"!pto.partition_tensor_view<{rows}x{cols}x{dtype}>"
    tensor = f"!pto.tensor_view<{rows}x{cols}x{dtype}>"
    describe = "\n".join(
        f"""    %{name}_t = pto.make_tensor_view %{ptr}, shape = [%rows, %cols], strides = [%cols, %c1] : {tensor}
    %{name} = pto.partition_view %{name}_t, offsets = [%c0, %c0], sizes = [%rows, %cols] : {tensor} -> {view}"""
        for name, ptr in (("mem", "a"), ("out", "b"))
    )
    lines = "\n".join(f"    {line.strip()}" for line in body.strip().splitlines())
    return f"""module {{
  func.func @example(%a: !pto.ptr<{dtype}>, %b: !pto.ptr<{dtype}>) attributes {{pto.entry}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %rows = arith.constant {rows} : index
    %cols = arith.constant {cols} : index
{describe}
{lines}
    return
  }}
}}
"""
