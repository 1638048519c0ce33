"""Products on pointers against NumPy, and every word of theirs."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto
from ptokit.types.codecs import decode
from ptokit.types.dtypes import DTYPES

from .programs import Program, load_fractals, numbers, product_program, up

TYPES = ["f16", "bf16", "f32", "i8", "e4m3", "e5m2"]
SIZES = [(16, 16, 16), (40, 60, 50), (17, 33, 64), (5, 48, 7)]


def formula(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
def test_a_product_is_that_of_the_matrices(name: str, turned: tuple[bool, bool]) -> None:
    dtype = DTYPES[name]
    rng = np.random.default_rng(TYPES.index(name))
    for m, n, k in SIZES:
        if dtype.c0 > 16 and ((turned[0] and up(m, 16) % 32) or (not turned[1] and up(n, 16) % 32)):
            continue  # turned squares of 8-bit elements are 32 wide, and the product looks for others
        a, b = numbers(rng, dtype, m, k), numbers(rng, dtype, k, n)
        out = np.zeros((m, n), np.int32 if dtype.is_integer else np.float32)
        p = product_program(
            dtype, m, n, k, left_turned=turned[0], right_turned=turned[1], out="i32" if dtype.is_integer else "f32"
        )
        p.run(a, b, out)
        assert np.array_equal(out, formula(a, b)), (m, n, k)
        assert p.findings(a, b, np.zeros_like(out)) == []


def test_columns_become_rows_on_the_way_into_fractals() -> None:
    """dn2nz of a matrix is nd2nz of its transpose."""
    rng = np.random.default_rng(1)
    a, b = numbers(rng, DTYPES["f16"], 50, 40), numbers(rng, DTYPES["f16"], 50, 60)
    out = np.zeros((40, 60), np.float32)
    product_program(DTYPES["f16"], 40, 60, 50, kind="dn2nz").run(a, b, out)
    assert np.array_equal(out, formula(a.T, b))


def round_tf32(x: np.ndarray, *, away: bool) -> np.ndarray:
    """To 10 bits of fraction."""
    scaled, exponent = np.frexp(x.astype(np.float64))
    scaled = scaled * 2**11
    whole = np.floor(np.abs(scaled) + 0.5) * np.sign(scaled) if away else np.rint(scaled)
    return np.ldexp(whole / 2**11, exponent)


@pytest.mark.parametrize("word", ["round_even", "round_away"])
def test_tf32_mode_rounds_the_operands_of_this_product(word: str) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((16, 24)).astype(np.float32), rng.standard_normal((24, 16)).astype(np.float32)
    a[0, :4] = 1 + np.arange(4) * 2.0**-11  # ties
    out, plain = np.zeros((2, 16, 16), np.float32)
    product_program(DTYPES["f32"], 16, 16, 24, words=f"tf32_mode({word})").run(a, b, out)
    away = word == "round_away"
    wanted = (round_tf32(a, away=away) @ round_tf32(b, away=away)).astype(np.float32)
    assert np.array_equal(out, wanted)
    product_program(DTYPES["f32"], 16, 16, 24).run(a, b, plain)
    assert np.array_equal(plain, (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float32))


def test_sat_makes_exceptional_inputs_finite() -> None:
    a, b = np.zeros((16, 16), np.float16), np.eye(16, dtype=np.float16)
    a[0, 0], a[1, 1], a[2, 2] = np.inf, -np.inf, np.nan
    with np.errstate(invalid="ignore"):
        out = np.zeros((16, 16), np.float32)
        product_program(DTYPES["f16"], 16, 16, 16, words="sat").run(a, b, out)
    assert (out[0, 0], out[1, 1], out[2, 2]) == (65504, -65504, 0)
    out[:] = 0
    product_program(DTYPES["f16"], 16, 16, 16, words="nosat").run(a, b, out)
    assert np.isposinf(out[0, 0])
    assert np.isnan(out[2, 2])


def accumulate(p: Program, text: str, m: int, n: int, k: int, extra: str, extra_type: str) -> None:
    """Replace the product of a program by another one."""
    at = next(i for i, line in enumerate(p.lines) if "pto.mad " in line)
    line = p.lines[at].replace("pto.mad ", f"pto.{text} ")
    if extra:
        head, types = line.split(" : ")
        names = head.split(", ")
        line = ", ".join([*names[:3], extra, *names[3:]]) + " : "
        kinds = types.split(", ")
        line += ", ".join([*kinds[:6], extra_type, *kinds[6:]])
    p.lines[at] = line


def test_mad_acc_adds_to_what_is_there() -> None:
    rng = np.random.default_rng(4)
    a, b = numbers(rng, DTYPES["f16"], 40, 20), numbers(rng, DTYPES["f16"], 20, 36)
    out = np.zeros((40, 36), np.float32)
    p = product_program(DTYPES["f16"], 40, 36, 20)
    at = next(i for i, line in enumerate(p.lines) if "pto.mad " in line)
    p.lines.insert(at + 1, p.lines[at].replace("pto.mad ", "pto.mad_acc "))
    p.run(a, b, out)
    assert np.array_equal(out, 2 * formula(a, b))
    assert p.findings(a, b, out) == []


def bias_program(m: int, n: int, k: int, kind: str) -> Program:
    p = product_program(DTYPES["f16"], m, n, k)
    p.arguments["bias"] = kind
    p.lines.insert(0, "")
    source, table = p.pointer("l1", 1 << 18, kind), p.pointer("bt", 0, "f32")
    c = [p.number(x) for x in (up(n * DTYPES[kind].size, 32), 1, 0, up(n * DTYPES[kind].size, 32) // 32)]
    first = [
        f"  pto.mte_gm_l1 %bias, {source}, {c[0]} nburst({c[1]}, {c[2]}, {c[2]})"
        f" : !pto.ptr<{kind}, gm>, !pto.ptr<{kind}, l1>, i64, i64, i64, i64\n"
    ]
    load = (
        f"  pto.mte_l1_bt {source}, {table}, {c[3]} nburst({c[1]}, {c[2]}, {c[2]})"
        f" : !pto.ptr<{kind}, l1>, !pto.ptr<f32, bt>, i64, i64, i64, i64\n"
    )
    pointers = p.lines[-2:]
    del p.lines[-2:]
    at = next(i for i, line in enumerate(p.lines) if "PIPE_MTE2" in line)
    p.lines[at:at] = [*pointers, *first]
    at = next(i for i, line in enumerate(p.lines) if "pto.mte_l1_l0a" in line)
    p.lines.insert(at, load)
    accumulate(p, "mad_bias", m, n, k, table, "!pto.ptr<f32, bt>")
    return p


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16"])
def test_mad_bias_starts_with_a_row(kind: str) -> None:
    rng = np.random.default_rng(5)
    m, n, k = 20, 32, 16
    a, b = numbers(rng, DTYPES["f16"], m, k), numbers(rng, DTYPES["f16"], k, n)
    bias = numbers(rng, DTYPES[kind], n)
    out = np.zeros((m, n), np.float32)
    p = bias_program(m, n, k, kind)
    p.run(a, b, out, bias)
    assert np.array_equal(out, formula(a, b) + bias.astype(np.float64))
    assert p.findings(a, b, out, bias) == []


def mx_program(m: int, n: int, k: int, text: str) -> Program:
    """Scales come as pieces of 32 bytes: 16 rows with two groups along K each."""
    t = DTYPES["e4m3"].text
    p = Program(a=t, b=t, sa=t, sb=t, c="f32")
    l1 = [p.pointer("l1", x << 16, t) for x in range(4)]
    l0a, l0b, l0c = p.pointer("l0a", 512, t), p.pointer("l0b", 1024, t), p.pointer("l0c", 0, "f32")
    load_fractals(p, "a", l1[0], t, m, k, pitch=up(m, 16), kind="nd2nz")
    load_fractals(p, "b", l1[1], t, n, k, pitch=up(n, 16), kind="dn2nz")
    one, zero = p.number(1), p.number(0)
    for source, dst, rows in (("sa", l1[2], m), ("sb", l1[3], n)):
        size = p.number(up(rows, 16) * up(-(-k // 32), 2))
        p.add(
            f"pto.mte_gm_l1 %{source}, {dst}, {size} nburst({one}, {zero}, {zero})"
            f" : !pto.ptr<{t}, gm>, !pto.ptr<{t}, l1>, i64, i64, i64, i64"
        )
    p.order("MTE2", "MTE1")
    s = {x: p.number(x) for x in (m, n, k)}
    for name, src, dst, sizes in (
        ("l0a", l1[0], l0a, (m, k)),
        ("l0b", l1[1], l0b, (k, n)),
        ("l0a_mx", l1[2], l0a, (m, k)),
        ("l0b_mx", l1[3], l0b, (k, n)),
    ):
        p.add(
            f"pto.mte_l1_{name} {src}, {dst}, {s[sizes[0]]}, {s[sizes[1]]}, {zero}, {zero}"
            f" : !pto.ptr<{t}, l1>, !pto.ptr<{t}, {name[:3]}>, i64, i64, i64, i64"
        )
    p.order("MTE1", "M")
    for one_of in text.split():
        p.add(
            f"pto.{one_of} {l0a}, {l0b}, {l0c}, {s[m]}, {s[n]}, {s[k]} disable_gemv"
            f" : !pto.ptr<{t}, l0a>, !pto.ptr<{t}, l0b>, !pto.ptr<f32, l0c>, i64, i64, i64"
        )
    p.order("M", "FIX")
    c = [p.number(x) for x in (m, n, up(m, 16), n, 0)]
    p.add(
        f"pto.mte_l0c_gm {l0c}, %c, {c[0]}, {c[1]}, {c[2]}, {c[3]}, {c[4]}, {c[4]}, nz2nd"
        f" : !pto.ptr<f32, l0c>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64"
    )
    return p


def pieces(scales: np.ndarray) -> np.ndarray:
    """Codes (rows, groups) as they lie in memory, by single elements."""
    rows, groups = up(scales.shape[0], 16), up(scales.shape[1], 2)
    out = np.full(rows * groups, 127, np.uint8)
    for r in range(scales.shape[0]):
        for g in range(scales.shape[1]):
            out[(r // 16 * (groups // 2) + g // 2) * 32 + r % 16 * 2 + g % 2] = scales[r, g]
    return out


@pytest.mark.parametrize(("text", "times"), [("mad_mx", 1), ("mad_mx mad_mx_acc", 2)])
@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 64), (32, 48, 192), (20, 35, 128)])
def test_block_scaled_products(text: str, times: int, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(m)
    dtype = DTYPES["e4m3"]
    a, b = numbers(rng, dtype, m, k), numbers(rng, dtype, k, n)
    sa = rng.integers(125, 130, (m, k // 32)).astype(np.uint8)
    sb = rng.integers(125, 130, (n, k // 32)).astype(np.uint8)
    out = np.zeros((m, n), np.float32)
    p = mx_program(m, n, k, text)
    args = a, b, pieces(sa).view(dtype.value), pieces(sb).view(dtype.value), out
    p.run(*args)
    scale = DTYPES["e8m0"]
    left = a.astype(np.float64) * np.repeat(decode(scale, sa).astype(np.float64), 32, axis=1)
    right = b.astype(np.float64) * np.repeat(decode(scale, sb).astype(np.float64).T, 32, axis=0)
    assert np.array_equal(out, times * (left @ right))
    assert p.findings(*args) == []


def test_the_fields_of_the_hardware_say_the_same() -> None:
    rng = np.random.default_rng(9)
    m, n, k = 32, 32, 32
    a, b = numbers(rng, DTYPES["f16"], m, k), numbers(rng, DTYPES["f16"], k, n)
    out = np.zeros((m, n), np.float32)
    p = product_program(DTYPES["f16"], m, n, k)
    at = next(i for i, line in enumerate(p.lines) if "pto.mad " in line)
    names = p.lines[at].split("pto.mad ")[1].split(", ")[:3]
    for start in (1 << 63, 0, 0):
        xt = p.number((m | k << 12 | n << 24 | start) - ((start >> 63) << 64))
        at += 1
        p.lines.insert(
            at,
            f"  pto.mad_raw {', '.join(names)}, {xt}"
            " : !pto.ptr<f16, l0a>, !pto.ptr<f16, l0b>, !pto.ptr<f32, l0c>, i64\n",
        )
    p.run(a, b, out)
    assert np.array_equal(out, 3 * formula(a, b))


def test_one_missing_flag_is_found() -> None:
    p = product_program(DTYPES["f16"], 16, 16, 16)
    p.lines = [line for line in p.lines if "PIPE_MTE1" not in line or 'PIPE_M"' not in line]
    a = np.zeros((16, 16), np.float16)
    assert "RACE-RAW" in p.findings(a, a, np.zeros((16, 16), np.float32))


def test_an_operand_that_nothing_has_loaded_is_found() -> None:
    p = product_program(DTYPES["f16"], 16, 16, 16)
    p.lines = [line for line in p.lines if "pto.mte_l1_l0b" not in line]
    a = np.zeros((16, 16), np.float16)
    assert "UNINIT-READ" in p.findings(a, a, np.zeros((16, 16), np.float32))


@pytest.mark.parametrize("k", [0, 1])
def test_a_product_without_inner_size_is_none(k: int) -> None:
    @pto.kernel(target="a5")
    def none(xt: int) -> None:
        left, right = pto.castptr(1024, pto.e4m3, "l0a"), pto.castptr(2048, pto.e4m3, "l0b")
        pto.mad_mx_raw(lhs=left, rhs=right, dst=pto.castptr(0, pto.f32, "l0c"), xt=xt)

    none(16 | (64 * k << 12) | (16 << 24))
    none(3)  # no columns either
