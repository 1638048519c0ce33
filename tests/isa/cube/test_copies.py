"""Copies and fills of L1, byte by byte, and fields of operand loads."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.types.dtypes import DTYPES

from .programs import Program, load_fractals, product_program, up

SIZE = 4096


def read_l1(p: Program, l1: str, nbytes: int = SIZE) -> None:
    """Blocks of L1 through UB into the argument ``out``."""
    ub = p.pointer("ub", 0, "i8")
    p.order("MTE2", "MTE1")
    blocks, one, zero, size = (p.number(x) for x in (nbytes // 32, 1, 0, nbytes))
    p.add(
        f"pto.mte_l1_ub {l1}, {ub}, {blocks} nburst({one}, {zero}, {zero})"
        f" : !pto.ptr<i8, l1>, !pto.ptr<i8, ub>, i64, i64, i64, i64"
    )
    p.order("MTE1", "MTE3")
    p.add(
        f"pto.mte_ub_gm {ub}, %out, {size} nburst({one}, {size}, {size})"
        f" : !pto.ptr<i8, ub>, !pto.ptr<i8, gm>, i64, i64, i64, i64"
    )


def program(**arguments: str) -> Program:
    return Program(**arguments, out="i8")


def result(p: Program, *arrays: np.ndarray, nbytes: int = SIZE) -> np.ndarray:
    out = np.zeros(nbytes, np.int8)
    text = p.text().replace("pto.kernel_kind = #pto.kernel_kind<cube>", "")
    p.text = lambda: text.replace("attributes {}", "")  # type: ignore[method-assign]
    p.run(*arrays, out)
    return out.view(np.uint8)


def test_rows_with_loops_around_them() -> None:
    src = np.random.default_rng(0).integers(0, 255, 3000).astype(np.int8)
    p = program(x="i8")
    l1 = p.pointer("l1", 0, "i8")
    c = [p.number(x) for x in (64, 3, 100, 96, 2, 700, 512, 1, 0, 0)]
    p.add(
        f"pto.mte_gm_l1 %x, {l1}, {c[0]} nburst({c[1]}, {c[2]}, {c[3]}) loop({c[4]}, {c[5]}, {c[6]})"
        f" : !pto.ptr<i8, gm>, !pto.ptr<i8, l1>, i64, i64, i64, i64, loop i64, i64, i64"
    )
    read_l1(p, l1)
    wanted = np.zeros(SIZE, np.uint8)
    for turn in range(2):
        for row in range(3):
            wanted[turn * 512 + row * 96 :][:64] = src.view(np.uint8)[turn * 700 + row * 100 :][:64]
    assert np.array_equal(result(p, src), wanted)


@pytest.mark.parametrize("kind", ["nd2nz", "dn2nz"])
@pytest.mark.parametrize(("name", "n", "d"), [("f16", 20, 40), ("f32", 7, 9), ("i8", 33, 70)])
def test_fractals_hold_each_element_at_its_place(kind: str, name: str, n: int, d: int) -> None:
    dtype = DTYPES[name]
    matrix = np.random.default_rng(n).integers(1, 100, (n, d) if kind == "nd2nz" else (d, n)).astype(dtype.value)
    p = program(x=dtype.text)
    l1 = p.pointer("l1", 0, dtype.text)
    load_fractals(p, "x", l1, dtype.text, n, d, pitch=up(n, 16), kind=kind)
    read_l1(p, p.pointer("l1", 0, "i8"), 8192)
    wanted = np.zeros(8192 // dtype.size, dtype.value)
    c0 = 32 // dtype.size
    for r in range(n):
        for c in range(d):
            wanted[c // c0 * up(n, 16) * c0 + r * c0 + c % c0] = matrix[r, c] if kind == "nd2nz" else matrix[c, r]
    assert np.array_equal(result(p, matrix, nbytes=8192).view(dtype.value), wanted)


def test_the_small_form_has_rows_of_four_channels() -> None:
    src = np.arange(1, 31, dtype=np.float16).reshape(10, 3)
    p = program(x="f16")
    l1 = p.pointer("l1", 0, "f16")
    c = [p.number(x) for x in (10, 3, 6, 1, 1, 16, 0, 0)]
    true = p.number("true", "")
    p.add(
        f"pto.mte_gm_l1_frac %x, {l1}, nd2nz, shape({c[0]}, {c[1]}), src_layout({c[2]}), "
        f"dst_group({c[3]}, {c[4]}, {c[5]}, {c[6]}), ctrl({c[7]}, {true}) : !pto.ptr<f16, gm>, !pto.ptr<f16, l1>, "
        "nd2nz, shape i64, i64, src_layout(i64), dst_group i64, i64, i64, i64, ctrl i64, i1"
    )
    read_l1(p, p.pointer("l1", 0, "i8"))
    found = result(p, src).view(np.float16)[:48].reshape(12, 4)
    assert np.array_equal(found[:10, :3], src)
    assert not found[:, 3].any()
    assert not found[10:].any()


@pytest.mark.parametrize("bits", [16, 32])
def test_fills_repeat_a_word_and_leave_gaps(bits: int) -> None:
    p = program()
    l1 = p.pointer("l1", 0, f"ui{bits}")
    c = [p.number(x) for x in (64, 3, 2, 1)]
    value = p.number(0x12345678, "i32")
    p.add(
        f"pto.raw_fill_l1 {l1}, {c[0]}, {value}, {c[1]}, {c[2]}, {c[3]} {{fill_word_bits = {bits} : i64}}"
        f" : !pto.ptr<ui{bits}, l1>, i64, i32, i64, i64, i64"
    )
    read_l1(p, p.pointer("l1", 0, "i8"))
    wanted = np.zeros(SIZE, np.uint8)
    for row in range(3):
        words = np.full(64 // (bits // 8), 0x12345678 & ((1 << bits) - 1), f"u{bits // 8}")
        wanted[64 + row * 96 :][:64] = words.view(np.uint8)
    assert np.array_equal(result(p), wanted)


def test_operand_loads_by_fields_are_those_by_shape() -> None:
    """Both, and loads by single column blocks, give the same product."""
    rng = np.random.default_rng(6)
    m, n, k = 32, 48, 64
    a, b = (rng.integers(-4, 5, s).astype(np.float16) for s in ((m, k), (k, n)))
    wanted = a.astype(np.float32) @ b.astype(np.float32)
    p = product_program(DTYPES["f16"], m, n, k)
    at = {side: next(i for i, x in enumerate(p.lines) if f"mte_l1_l0{side}" in x) for side in "ab"}
    for side, fields in (
        ("a", (0, 0, m // 16, k // 16, m // 16, m // 16)),
        ("b", (0, 0, k // 16, n // 16, k // 16, n // 16)),
    ):
        old = p.lines[at[side]]
        head = ", ".join(old.split(", ")[:2])
        names = ", ".join(p.number(x) for x in fields)
        turn = " {transpose = true}" if side == "b" else ""
        p.lines[at[side]] = f"{head}, {names}{turn} : !pto.ptr<f16, l1>, !pto.ptr<f16, l0{side}>{', i64' * 6}\n"
    out = np.zeros((m, n), np.float32)
    p.run(a, b, out)
    assert np.array_equal(out, wanted)
    head, _, rest = p.lines[at["a"]].partition("pto.mte_l1_l0a")
    p.lines[at["a"]] = f"{head}pto.load_cbuf_to_ca{rest}"
    out[:] = 0
    p.run(a, b, out)
    assert np.array_equal(out, wanted)


def test_a_copy_past_the_end_of_l1_is_refused() -> None:
    p = program(x="i8")
    l1 = p.pointer("l1", (512 << 10) - 32, "i8")
    c = [p.number(x) for x in (64, 1, 0)]
    p.add(
        f"pto.mte_gm_l1 %x, {l1}, {c[0]} nburst({c[1]}, {c[2]}, {c[2]})"
        f" : !pto.ptr<i8, gm>, !pto.ptr<i8, l1>, i64, i64, i64, i64"
    )
    with pytest.raises(Exception, match="of L1, which has 0x80000 bytes"):
        p.run(np.zeros(64, np.int8), np.zeros(SIZE, np.int8))
