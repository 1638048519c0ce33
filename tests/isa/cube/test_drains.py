"""Drains of an accumulator: values, layouts, atomic stores, and the fields of the hardware."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from ptokit.types.dtypes import DTYPES

from .programs import Program, product_program, up

M, N, K = 20, 24, 16
RNG = np.random.default_rng(11)
A = RNG.standard_normal((M, K)).astype(np.float16)
B = RNG.standard_normal((K, N)).astype(np.float16)
C = (A.astype(np.float64) @ B.astype(np.float64)).astype(np.float32)
IA = RNG.integers(-90, 90, (M, K)).astype(np.int8)
IB = RNG.integers(-90, 90, (K, N)).astype(np.int8)
IC = IA.astype(np.int32) @ IB.astype(np.int32)


def clauses(
    p: Program, l0c: str, dst: str, acc: str, out: str, m: int, n: int, extra: str, *, values: Any = (), stride: int = N
) -> None:
    """mte_l0c_gm with clauses; ``values``: (name in braces, value, type) of their operands, in order."""
    names = {name: p.number(value, kind) for name, value, kind in values}
    types = "".join(f", {kind}" for _, _, kind in values)
    c = [p.number(x) for x in (m, n, up(m, 16), stride, 0)]
    p.add(
        f"pto.mte_l0c_gm {l0c}, {dst}, {c[0]}, {c[1]}, {c[2]}, {c[3]}, {c[4]}, {c[4]}{extra.format(**names)}"
        f" : !pto.ptr<{acc}, l0c>, !pto.ptr<{out}, gm>, i64, i64, i64, i64, i64, i64{types}"
    )


def drained(
    out: str,
    extra: str,
    *values: tuple[str, float, str],
    ints: bool = False,
    size: int = M * N,
    start: float = 0,
    **more: Any,
) -> np.ndarray:
    """What a drain with clauses leaves in memory."""
    dtype = DTYPES["i8" if ints else "f16"]
    found = np.full(size, start, DTYPES[out].value)
    text = DTYPES[out].text
    p = product_program(dtype, M, N, K, out=text, drain=partial(clauses, values=values, **more), extra=extra)
    a, b = (IA, IB) if ints else (A, B)
    assert p.findings(a, b, found.copy()) == []
    p.run(a, b, found)
    return found


def rows(found: np.ndarray) -> np.ndarray:
    return found.reshape(M, N)


def test_rows_columns_and_blocks() -> None:
    assert np.array_equal(rows(drained("f32", ", nz2nd")), C)
    assert np.array_equal(rows(drained("f32", "")), C)
    turned = drained("f32", ", nz2dn({one})", ("one", 1, "i64"), size=N * M, stride=M)
    assert np.array_equal(turned.reshape(N, M), C.T)
    for split, wide in ((0, 16), (1, 8)):
        stride = up(M, 16) * wide
        found = drained("f32", ", nz2nz({s})", ("s", split, "i64"), size=up(N, 16) * up(M, 16), stride=stride)
        wanted = np.zeros_like(found)
        for r in range(M):
            for c in range(N):
                wanted[c // wide * stride + r * wide + c % wide] = C[r, c]
        assert np.array_equal(found, wanted)


def test_rows_of_a_pitch_leave_what_lies_between() -> None:
    found = drained("f32", ", nz2nd", size=M * 40, start=7, stride=40).reshape(M, 40)
    assert np.array_equal(found[:, :N], C)
    assert (found[:, N:] == 7).all()


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
def test_a_scale_is_a_number_of_any_float_type(kind: str) -> None:
    found = drained("f16", ", pre_quant({q}, mode = qf322f16_pre_scalar), nz2nd", ("q", 0.5, kind))
    assert np.array_equal(rows(found), (C * np.float32(0.5)).astype(np.float16))


def test_relu_comes_before_the_conversion_and_the_bound_behind_it() -> None:
    quant = ", pre_quant({q}, mode = qf322f16_pre_scalar)"
    one = ("q", 1.0, "f32")
    for mode, relu in (("no_relu", C), ("normal_relu", np.maximum(C, 0))):
        found = drained("f16", f"{quant}, pre_relu(mode = {mode}, clip = {{x}}), nz2nd", one, ("x", 1.5, "f16"))
        assert np.array_equal(rows(found), np.minimum(relu.astype(np.float16), np.float16(1.5))), mode
    found = drained("f16", f"{quant}, pre_relu({{r}}, mode = scalar_relu), nz2nd", one, ("r", 0.3, "f32"))
    assert np.array_equal(rows(found), np.where(C >= 0, C, C * np.float32(0.3)).astype(np.float16))


def test_integers_are_scaled_rounded_and_bounded() -> None:
    scale = ("q", 2.0**-7, "f32")
    found = drained("u8", ", pre_quant({q}, mode = req8_scalar), nz2nd", scale, ints=True)
    assert np.array_equal(rows(found), np.clip(np.rint(IC / 128), 0, 255))
    found = drained("i16", ", pre_quant({q}, mode = deqs16_scalar), nz2nd", ("q", 0.5, "f32"), ints=True)
    assert np.array_equal(rows(found), np.clip(np.rint(IC / 2), -32768, 32767))
    found = drained("f16", ", pre_quant({q}, mode = deqf16_scalar), nz2nd", scale, ints=True)
    assert np.array_equal(rows(found), (IC / 128).astype(np.float16))
    assert np.array_equal(rows(drained("i32", ", nz2nd", ints=True)), IC)


@pytest.mark.parametrize(("word", "combined"), [("add", np.add), ("max", np.maximum), ("min", np.minimum)])
def test_atomic_stores(word: str, combined: Any) -> None:
    found = drained("f32", f", nz2nd, atomic(type = f32, op = {word})", start=0.25)
    assert np.array_equal(rows(found), combined(np.float32(0.25), C))


def test_saturation_of_halves() -> None:
    big = ("q", 1e6, "f32")
    quant = ", pre_quant({q}, mode = qf322f16_pre_scalar), nz2nd"
    product = C * np.float32(1e6)
    assert np.array_equal(
        rows(drained("f16", f"{quant}, sat", big)), np.clip(product, -65504, 65504).astype(np.float16)
    )
    with np.errstate(over="ignore"):
        assert np.array_equal(rows(drained("f16", f"{quant}, nosat", big)), product.astype(np.float16))


def raw_drain(
    p: Program, l0c: str, dst: str, acc: str, out: str, m: int, n: int, extra: str, *, before: Any = ()
) -> None:
    """copy_matrix_cc_to_gm with fields that say scalar f16 quantisation and a slope, in rows."""
    p.add(f"pto.set_loop3_para {p.number(1)}, {p.number(0)} : i64, i64")
    p.add(f"pto.set_quant_pre {p.number(int(np.float32(0.5).view(np.uint32)))} : i64")
    p.add(f"pto.set_relu_alpha {p.number(int(np.float32(0.25).view(np.uint32)))} : i64")
    xm = n << 4 | m << 16 | n << 32
    xt = up(m, 16) | 1 << 29 | (32 & 31) << 34 | 2 << 39 | 1 << 43
    p.add(
        f"pto.copy_matrix_cc_to_gm {l0c}, {dst}, {p.number(xm)}, {p.number(xt)}"
        f" : !pto.ptr<{acc}, l0c>, !pto.ptr<{out}, gm>, i64, i64"
    )


def test_the_fields_of_the_hardware() -> None:
    found = np.zeros((M, N), np.float16)
    product_program(DTYPES["f16"], M, N, K, out="f16", drain=raw_drain).run(A, B, found)
    scaled = C * np.float32(0.5)
    assert np.array_equal(found, np.where(scaled >= 0, scaled, scaled * np.float32(0.25)).astype(np.float16))


def test_the_control_register_makes_stores_atomic() -> None:
    found = np.full((M, N), 0.5, np.float32)
    p = product_program(DTYPES["f16"], M, N, K)
    p.lines.insert(len(p.lines) - 1, "  pto.set_atomic_f32\n  pto.set_atomic_add\n")
    p.run(A, B, found)
    assert np.array_equal(found, C + np.float32(0.5))
    p.lines.insert(len(p.lines) - 1, "  pto.set_atomic_none\n")
    p.run(A, B, found)
    assert np.array_equal(found, C)


def test_a_mode_that_nothing_public_describes_is_refused() -> None:
    drain = partial(clauses, values=(("q", 1.0, "f32"),))
    extra = ", pre_quant({q}, mode = qf322hif8_pre_hybrid_scalar), nz2nd"
    p = product_program(DTYPES["f16"], M, N, K, out=DTYPES["hif8"].text, drain=drain, extra=extra)
    with pytest.raises(Exception, match="qf322hif8_pre_hybrid_scalar cannot be run yet"):
        p.run(A, B, np.zeros((M, N), np.uint8))
