"""Sums and differences, clamped at 0 and narrowed: values, what is left in the sources, and who takes which types."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.asm.convert import convert

DEVICES = pytest.mark.parametrize("target", ["a2a3", "a5"])
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "native"])
VEC = pto.TileType.Vec
FORMS = {"f32": (pto.f32, np.float32, pto.f16, np.float16), "f16": (pto.f16, np.float16, pto.i8, np.int8)}
FORMS["i16"] = (pto.i16, np.int16, pto.i8, np.int8)
ROWS, COLS = 3, 64


def fused(name: str, source: str) -> pto.Kernel:
    wide, _, narrow, _ = FORMS[source]

    @pto.kernel(target="a5")
    def kernel(a, b, out):
        x = pto.Tile(VEC, wide, ROWS, COLS)
        y = pto.Tile(VEC, wide, ROWS, COLS)
        z = pto.Tile(VEC, narrow, ROWS, COLS)
        pto.TLOAD(x, pto.GlobalTensor(a, (ROWS, COLS)))
        pto.TLOAD(y, pto.GlobalTensor(b, (ROWS, COLS)))
        getattr(pto, name)(z, x, y)
        pto.TSTORE(pto.GlobalTensor(out, (ROWS, COLS)), z)

    return kernel


@DEVICES
@BACKENDS
@pytest.mark.parametrize("source", FORMS)
@pytest.mark.parametrize("name", ["TADDRELUCONV", "TSUBRELUCONV"])
def test_sums_are_clamped_and_narrowed(name: str, source: str, backend: str, target: str) -> None:
    _, wide, _, narrow = FORMS[source]
    rng = np.random.default_rng(7)
    a, b = (rng.uniform(-150, 150, (ROWS, COLS)).astype(wide) for _ in range(2))
    a[0, :4], b[0, :4] = (wide(30000), wide(0.5), wide(1.5), wide(2.5)), wide(0)
    out = np.full((ROWS, COLS), 99, narrow)
    pto.run(fused(name, source), args=[a, b, out], target=target, backend=backend)
    total = a + b if name == "TADDRELUCONV" else a - b  # in the type of the sources
    clamped = np.maximum(total, 0).astype(np.float64)
    wanted = clamped.astype(np.float16) if narrow is np.float16 else np.clip(np.rint(clamped), 0, 127)
    assert (out == wanted.astype(narrow)).all()


@DEVICES
@BACKENDS
def test_a_sum_beyond_the_largest_f16(backend: str, target: str) -> None:
    """As TCVT has it: a5 saturates, a2a3 gives infinity."""
    a = np.full((ROWS, COLS), 60000, np.float32)
    out = np.zeros((ROWS, COLS), np.float16)
    pto.run(fused("TADDRELUCONV", "f32"), args=[a, a, out], target=target, backend=backend)
    assert (out == (65504 if target == "a5" else np.inf)).all()


@pto.kernel(target="a5")
def dequantized(
    a: pto.Ptr[pto.i32],
    b: pto.Ptr[pto.i32],
    out: pto.Ptr[pto.f16],
    c: pto.Ptr[pto.i32],
    d: pto.Ptr[pto.i32],
    e: pto.Ptr[pto.i32],
    scale: float,
) -> None:
    x = pto.Tile(VEC, pto.i32, ROWS, COLS)
    y = pto.Tile(VEC, pto.i32, ROWS, COLS)
    z = pto.Tile(VEC, pto.f16, ROWS, COLS)
    tmp = pto.Tile(VEC, pto.i32, ROWS, COLS)
    pto.TLOAD(x, pto.GlobalTensor(a, (ROWS, COLS)))
    pto.TLOAD(y, pto.GlobalTensor(b, (ROWS, COLS)))
    pto.TLOAD(tmp, pto.GlobalTensor(a, (ROWS, COLS)))
    pto.TADDDEQRELU(z, x, y, scale, tmp)
    pto.TSTORE(pto.GlobalTensor(out, (ROWS, COLS)), z)
    pto.TSTORE(pto.GlobalTensor(c, (ROWS, COLS)), x)
    pto.TSTORE(pto.GlobalTensor(d, (ROWS, COLS)), y)
    pto.TSTORE(pto.GlobalTensor(e, (ROWS, COLS)), tmp)


@pytest.mark.parametrize("target", ["cpu", "a2a3", "a5"])
@BACKENDS
@pytest.mark.parametrize("text", [False, True])
def test_dequantized_sums(target: str, backend: str, text: bool) -> None:
    """On a2a3 the sources and tmp are what the library computes in; a5 and cpu leave them alone."""
    rng = np.random.default_rng(8)
    a, b = (rng.integers(-(2**25), 2**25, (ROWS, COLS)).astype(np.int32) for _ in range(2))
    a[0, 0], b[0, 0] = 2**31 - 1, 1  # wraps
    out, scale = np.zeros((ROWS, COLS), np.float16), np.float32(0.001)
    c, d, e = (np.zeros((ROWS, COLS), np.int32) for _ in range(3))
    program = dequantized.to_pto() if text else dequantized
    pto.run(program, args=[a, b, out, c, d, e, float(scale)], target=target, backend=backend)
    total = (a.astype(np.int64) + b).astype(np.int32).astype(np.float32)
    scaled = total * np.float32(2**-17) * scale * np.float32(2**17) if target != "cpu" else total * scale
    clamped = np.maximum(scaled, np.float32(0))
    assert (out == clamped.astype(np.float16)).all()
    left = (scaled.view(np.int32), clamped.view(np.int32), 0) if target == "a2a3" else (a, b, a)
    assert all((got == was).all() for got, was in zip((c, d, e), left))


@pytest.mark.parametrize(("target", "refused"), [("a2a3", ["CONVERT-PLACE"]), ("a5", [])])
def test_values_have_no_sources_that_change(target: str, refused: list[str]) -> None:
    made = pto.kernel(target=target)(dequantized.function)
    read = parse_module(made.to_pto(), "k.pto")
    assert [d.rule for d in convert(read.module, "ssa").diagnostics if d.severity == "error"] == refused


def text(name: str, types: str, target: str) -> list[str]:
    kinds = [f"!pto.tile_buf<vec, 4x64x{t}>" for t in types.split()]
    names = ["a", "b", "d"] if len(kinds) == 3 else ["a", "b", "t", "d"]
    made = "".join(f"  %{n} = pto.alloc_tile : {k}\n" for n, k in zip(names, kinds))
    ins = ", ".join(f"%{n}" for n in names[:2]) + (", %s, %t" if len(kinds) == 4 else "")
    told = ", ".join(kinds[:2]) + (f", f32, {kinds[2]}" if len(kinds) == 4 else "")
    body = f"  pto.{name} ins({ins} : {told}) outs(%d : {kinds[-1]})\n"
    number = "  %s = arith.constant 0.5 : f32\n"
    found = pto.check(f"func.func @f() {{\n{number}{made}{body}  return\n}}\n", target=target).diagnostics
    return [f"{d.rule} {d.severity.value} {d.location.line}" for d in found]


@pytest.mark.parametrize(
    ("name", "types", "target", "found"),
    [
        ("taddreluconv", "f32 f32 f16", "a5", []),
        ("tsubreluconv", "i16 i16 i8", "a2a3", []),
        ("taddreluconv", "f32 f32 i8", "a5", ["EW-06 error 6"]),
        ("tsubreluconv", "f32 f16 f16", "a2a3", ["EW-06 error 6"]),
        ("taddreluconv", "f16 f16 i8", "cpu", ["EW-06 error 6"]),
        ("tadddeqrelu", "i32 i32 i32 f16", "a5", []),
        ("tadddeqrelu", "i32 i32 i32 f16", "a2a3", []),
        ("tadddeqrelu", "i32 i32 f32 f16", "a2a3", ["EW-11 error 7"]),
        ("tadddeqrelu", "i32 i32 i32 f32", "a5", ["EW-06 error 7"]),
    ],
)
def test_types(name: str, types: str, target: str, found: list[str]) -> None:
    assert text(name, types, target) == found
