"""TAND, TOR and their scalar forms on floats: their bits, on the types that each target's library compiles."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import ptokit as pto
from ptokit.types.dtypes import DTYPES

from .fake import fake, run

OPS = pytest.mark.parametrize(("name", "fn"), [("tand", np.bitwise_and), ("tor", np.bitwise_or)], ids=["tand", "tor"])
Bits = Callable[[np.ndarray, np.ndarray], np.ndarray]


def text(name: str, element: str) -> str:
    """``z = x op y`` of 4x32 elements."""
    view, part, tile = (
        f"!pto.{kind}<{shape}x{element}>"
        for kind, shape in (("tensor_view", "4x32"), ("partition_tensor_view", "4x32"), ("tile_buf", "vec, 4x32"))
    )
    lines = [f"func.func @f(%x: !pto.ptr<{element}>, %y: !pto.ptr<{element}>, %z: !pto.ptr<{element}>) {{"]
    lines += [f"  %c{n} = arith.constant {n} : index" for n in (0, 1, 4, 32)]
    for v in "xyz":
        lines += [
            f"  %{v}v = pto.make_tensor_view %{v}, shape = [%c4, %c32], strides = [%c32, %c1] : {view}",
            f"  %{v}p = pto.partition_view %{v}v, offsets = [%c0, %c0], sizes = [%c4, %c32] : {view} -> {part}",
            f"  %{v}t = pto.alloc_tile : {tile}",
        ]
    lines += [f"  pto.tload ins(%{v}p : {part}) outs(%{v}t : {tile})" for v in "xy"]
    lines += [
        f"  pto.{name} ins(%xt, %yt : {tile}, {tile}) outs(%zt : {tile})",
        f"  pto.tstore ins(%zt : {tile}) outs(%zp : {part})",
        "  return",
        "}",
    ]
    return "\n".join(lines) + "\n"


@OPS
@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize(
    ("target", "dtype"),
    [*(("a2a3", d) for d in ("f16", "bf16")), *(("a5", d) for d in ("f16", "bf16", "f32", "e4m3", "e5m2", "hif8"))],
)
def test_bits_are_combined(name: str, fn: Bits, target: str, dtype: str, backend: str) -> None:
    element = DTYPES[dtype]
    kind = np.dtype(element.value or element.storage)
    rng = np.random.default_rng(5)
    x, y = (rng.integers(0, 256, (4, 32 * kind.itemsize), dtype=np.uint8) for _ in "xy")
    z = np.zeros_like(x)
    pto.run(text(name, element.text), args=[a.view(kind) for a in (x, y, z)], target=target, backend=backend)
    assert (z == fn(x, y)).all()


@OPS
@pytest.mark.parametrize(("target", "dtype"), [("a2a3", "f32"), ("cpu", "f16")])
def test_what_the_library_does_not_compile(name: str, fn: Bits, target: str, dtype: str) -> None:
    found = {d.rule: d for d in pto.check(text(name, dtype), target=target).diagnostics}["EW-06"]
    assert (found.severity.value, found.location.line) == ("error", 17)


@pytest.mark.parametrize(("name", "expected"), [("TANDS", 0x4000), ("TORS", 0xC0FF), ("TXORS", 0x80FF)])
def test_scalars_are_bits_of_the_element_type(name: str, expected: int) -> None:
    dst = fake("f16", [[0.0]])
    run(name, "a5", dst, fake("f16", np.array([[0xC0FF]], np.uint16).view(np.float16)), 2.0)  # 2.0 is 0x4000
    assert dst.array[0, 0].view(np.uint16).tolist() == [expected]


def test_the_assembler_takes_integers_only() -> None:
    assert [(d.rule, d.severity.value) for d in pto.check(text("tand", "f16"), target="a5").diagnostics] == [
        ("EW-1", "warning")
    ]
