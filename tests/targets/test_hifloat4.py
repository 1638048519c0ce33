"""HiFloat4 on a6: numbers, scales, layouts, products and quantisation, against a model in exact arithmetic."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.diagnostics.rules import Doubt
from ptokit.ir.verify import verify
from ptokit.isa.table import TABLE
from ptokit.run.program import Single, compile_program
from ptokit.targets import A6, TARGETS
from ptokit.types import codecs
from ptokit.types.codecs import decode
from ptokit.types.dtypes import DTYPES, dtype
from ptokit.types.enums import Layout, MxGroupAxis, MxQuantAlg
from ptokit.types.tensor import base_shape_2d, tile_shape_2d
from ptokit.types.tile import TileSpec
from tests.isa.rule_cases import broken
from tests.isa.transfer_sites import acc, mat, site, vec, view
from tests.isa.transfer_sites import broken as broken_at
from tests.isa.transfer_sites import spec as tile_type

BF16 = ml_dtypes.bfloat16
NUMBERS = [Fraction(n, 4) for n in range(8)]


def number(code: int) -> Fraction:
    """A code of four bits: a sign, and quarters up to 1.75."""
    return -NUMBERS[code & 7] if code & 8 else NUMBERS[code & 7]


def ea(code: int) -> Fraction:
    """A byte: six bits of exponent, bias 48, two of mantissa."""
    return Fraction(4 + code % 4, 4) * Fraction(2) ** (code // 4 - 48)


def scale(four: list[int], place: int) -> Fraction:
    """What element `place` of 64 is multiplied by; ``four``: Ea, Eb, Ec low and high."""
    first, eb, low, high = (int(byte) for byte in four)
    return ea(first) * 2 ** ((eb >> place // 8 & 1) + ((low | high << 8) >> place // 4 & 1))


def bf16(x: Fraction) -> Fraction:
    """The nearest bf16 of a positive number, ties to even."""
    if x == 0:
        return x
    exponent = 0
    while x >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while x < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** (exponent - 7)
    return round(x / step) * step


def test_the_type() -> None:
    hif4 = dtype("hif4")
    assert dtype("!pto.hif4") is dtype("hifloat4x2_t") is hif4
    assert (hif4.bits, hif4.packed, hif4.nbytes(64)) == (4, True, 32)
    codes = np.arange(16, dtype=np.uint8)
    assert [Fraction(float(x)) for x in decode(hif4, codes)] == [number(code) for code in range(16)]
    assert [t.name for t in TARGETS.values() if hif4 in t.dtypes] == ["a6"]


@pytest.mark.parametrize("name", [name for name in TARGETS if name != "a6"])
def test_other_targets_have_no_such_tiles(name: str) -> None:
    text = "func.func @f() {\n%t = pto.alloc_tile : !pto.tile_buf<vec, 16x64x!pto.hif4>\nreturn\n}"
    (found,) = verify(parse_module(text).module, TARGETS[name])
    assert (found.rule, found.hint) == ("TYPE-ABSENT", "a6 has it")
    assert list(verify(parse_module(text).module, A6)) == []


def test_scales_of_elements() -> None:
    random = np.random.default_rng(4)
    codes = random.integers(0, 255, (3, 8), dtype=np.uint8)
    got = codecs.scales(codes)
    for row in range(3):
        want = [scale(list(codes[row, 4 * g : 4 * g + 4]), i) for g in range(2) for i in range(64)]
        assert [Fraction(float(x)) for x in got[row]] == want
    assert np.isnan(codecs.scales(np.array([[0xFF, 0, 0, 0]], np.uint8))).all()


def product(left: str, right: str, kind: str = "e8m0", along: tuple[int, int] | None = None) -> set[str]:
    a, b = (16 if each == "hif4" else 32 for each in (left, right)) if along is None else along
    operands = {
        "dst": acc("f32", 16, 32),
        "lhs": tile_type("Left", left, 16, 64, "Nz") if left != "hif4" else packed("Left", 16, 64, "Nz"),
        "rhs": tile_type("Right", right, 64, 32, "Zn") if right != "hif4" else packed("Right", 64, 32, "Zn"),
        "lhs_scale": tile_type("ScaleLeft", kind, 16, 64 // a, "Zz", fractal=32),
        "rhs_scale": tile_type("ScaleRight", kind, 64 // b, 32, "Nn", fractal=32),
    }
    return set(broken("TMATMUL_MX", "a6", operands))


def packed(loc: str, rows: int, cols: int, layout: str) -> TileSpec:
    return replace(tile_type(loc, "e1m2", rows, cols, layout), dtype=dtype("hif4"))


@pytest.mark.parametrize(
    ("left", "right", "legal"),
    [
        ("hif4", "hif4", True),
        ("e4m3", "hif4", True),
        ("f16", "hif4", True),
        ("bf16", "hif4", True),
        ("hif4", "e4m3", False),
        ("e5m2", "hif4", False),
        ("e4m3", "e2m1", True),
        ("e2m1", "e4m3", True),
        ("bf16", "e2m1", True),
        ("e4m3", "e1m2", False),
        ("f32", "hif4", False),
    ],
)
def test_types_of_products(left: str, right: str, legal: bool) -> None:
    assert ("MXM-A5-01" in product(left, right)) is not legal


def test_scales_of_products() -> None:
    assert product("hif4", "hif4") == product("hif4", "hif4", "u8") == set()
    assert product("hif4", "hif4", "i8") == {"MXM-A5-01"}
    assert product("hif4", "hif4", along=(32, 16)) == {"MXM-A5-03"}
    assert product("f16", "hif4", along=(32, 32)) == {"MXM-A5-03"}


@pytest.mark.parametrize(
    ("tile", "g", "rules"),
    [
        (("u8", 32, 8, "Zz"), ("u8", 1, 2, 2, 16, 4, "HIF4_A_ZZ"), set()),
        (("e8m0", 32, 8, "Zz"), ("e8m0", 1, 2, 2, 16, 4, "HIF4_A_ZZ"), set()),
        (("u8", 8, 32, "Nn"), ("u8", 1, 2, 2, 16, 4, "HIF4_B_NN"), set()),
        (("u8", 8, 32, "Nn"), ("u8", 1, 2, 2, 16, 4, "HIF4_A_ZZ"), {"LOAD-A5-13", "LOAD-A5-15", "LOAD-A5-D1"}),
        (("i8", 32, 8, "Zz"), ("i8", 1, 2, 2, 16, 4, "HIF4_A_ZZ"), {"LOAD-A5-14"}),
        (("u8", 32, 8, "Zz"), ("u8", 1, 2, 4, 16, 2, "HIF4_A_ZZ"), {"LOAD-A5-15", "LOAD-A5-D1"}),
        (("u8", 16, 8, "Zz"), ("u8", 1, 2, 2, 16, 4, "HIF4_A_ZZ"), {"LOAD-A5-15", "LOAD-A5-D1"}),
        (("u8", 32, 8, "Zz"), ("u8", 1, 2, 4, 16, 2, "MX_A_ZZ"), set()),
    ],
)
def test_layouts(tile: tuple, g: tuple, rules: set[str]) -> None:
    *sizes, layout = g
    given = mat(*tile, fractal=32), view(*sizes, layout=layout, stride=strides(sizes[1:]))
    assert broken_at(site("TLOAD", "a6", *given)).keys() == rules
    if layout.startswith("HIF4"):
        assert broken_at(site("TLOAD", "a5", *given)).keys() & {"LOAD-A5-14"}


def strides(sizes: list[int]) -> tuple[int, ...]:
    """Packed, in elements."""
    out = [1]
    for size in sizes[:0:-1]:
        out.insert(0, out[0] * size)
    return tuple(out)


def test_shapes_of_views() -> None:
    u8 = DTYPES["u8"]
    assert tile_shape_2d(u8, 32, 2, Layout.HIF4_A_ZZ) == (1, 2, 2, 16, 4)
    assert base_shape_2d(u8, 32, 2, Layout.HIF4_A_ZZ) == (64, 32, 64, 4, 1)
    assert tile_shape_2d(u8, 2, 32, Layout.HIF4_B_NN) == (1, 2, 2, 16, 4)


@pto.kernel(target="a6")
def multiply(
    a: pto.Ptr[pto.hif4], sa: pto.Ptr[pto.u8], b: pto.Ptr[pto.hif4], sb: pto.Ptr[pto.u8], c: pto.Ptr[pto.f32]
) -> None:
    nz = {"blayout": pto.BLayout.ColMajor, "slayout": pto.SLayout.RowMajor}
    a1 = pto.Tile(pto.TileType.Mat, pto.hif4, 32, 128, **nz)
    b1 = pto.Tile(pto.TileType.Mat, pto.hif4, 128, 64, **nz)
    sa1 = pto.Tile(pto.TileType.Mat, pto.u8, 32, 8, slayout=pto.SLayout.RowMajor, fractal=32)
    sb1 = pto.Tile(
        pto.TileType.Mat, pto.u8, 8, 64, blayout=pto.BLayout.ColMajor, slayout=pto.SLayout.ColMajor, fractal=32
    )
    left, right = pto.TileLeft(pto.hif4, 32, 128), pto.TileRight(pto.hif4, 128, 64)
    left_scale, right_scale = pto.TileLeftScale(pto.u8, 32, 8), pto.TileRightScale(pto.u8, 8, 64)
    total = pto.TileAcc(pto.f32, 32, 64)
    pto.TLOAD(a1, pto.GlobalTensor(a, (32, 128)))
    pto.TLOAD(b1, pto.GlobalTensor(b, (128, 64)))
    pto.TLOAD(sa1, pto.GlobalTensor(sa, (1, 2, 2, 16, 4), (256, 128, 64, 4, 1), pto.Layout.HIF4_A_ZZ))
    pto.TLOAD(sb1, pto.GlobalTensor(sb, (1, 4, 2, 16, 4), (512, 128, 64, 4, 1), pto.Layout.HIF4_B_NN))
    pto.TEXTRACT(left, a1, 0, 0)
    pto.TEXTRACT(right, b1, 0, 0)
    pto.TEXTRACT(left_scale, sa1, 0, 0)
    pto.TEXTRACT(right_scale, sb1, 0, 0)
    pto.TMATMUL_MX(total, left, left_scale, right, right_scale)
    pto.TSTORE(pto.GlobalTensor(c, (32, 64)), total)


def cells(scales: np.ndarray) -> np.ndarray:
    """Scales (lines, groups, 4) as global memory holds them: 16 pairs of Ea and Eb, then 16 of Ec, for each group."""
    lines, groups, _ = scales.shape
    out = []
    for first in range(0, lines, 16):
        for group in range(groups):
            out += [scales[first + i, group, k] for i in range(16) for k in (0, 1)]
            out += [scales[first + i, group, k] for i in range(16) for k in (2, 3)]
    return np.array(out, np.uint8)


@pytest.mark.parametrize("backend", ["numpy", "native"])
def test_a_product(backend: str) -> None:
    random = np.random.default_rng(8)
    a, b = random.integers(0, 16, (32, 128), dtype=np.uint8), random.integers(0, 16, (128, 64), dtype=np.uint8)
    left, right = (random.integers(0, 256, (n, 2, 4), dtype=np.uint8) for n in (32, 64))
    for each in (left, right):
        each[..., 0] = random.integers(4 * 46, 4 * 51, each.shape[:2])
    c = np.zeros((32, 64), np.float32)
    raw = [(x.reshape(-1, 2) << np.array([0, 4], np.uint8)).sum(axis=1).astype(np.uint8) for x in (a, b)]
    program = compile_program(parse_module(multiply.to_pto()).module, A6)
    program.launch((raw[0], cells(left), raw[1], cells(right), c), backend=backend)
    wide_a = [[number(a[i, k]) * scale(left[i, k // 64], k % 64) for k in range(128)] for i in range(32)]
    wide_b = [[number(b[k, j]) * scale(right[j, k // 64], k % 64) for k in range(128)] for j in range(64)]
    for i in range(0, 32, 5):
        for j in range(0, 64, 7):
            exact = sum(x * y for x, y in zip(wide_a[i], wide_b[j], strict=True))
            assert c[i, j] == np.float32(float(exact))


def test_halves_have_no_scales() -> None:
    """The library's tests multiply them as they are, whatever the operand for their scales holds."""
    machine = Single(A6)
    f16 = np.arange(16 * 64, dtype=np.float16).reshape(16, 64) % 7
    tiles = {
        "dst": machine.tile(acc("f32", 16, 32)),
        "lhs": machine.tile(tile_type("Left", "f16", 16, 64, "Nz"), nz(f16, 16).tobytes()),
        "lhs_scale": machine.tile(tile_type("ScaleLeft", "u8", 16, 2, "Zz", fractal=32), bytes([130] * 32)),
        "rhs": machine.tile(packed("Right", 64, 32, "Zn"), bytes([0x44] * 1024)),  # all ones
        "rhs_scale": machine.tile(
            tile_type("ScaleRight", "u8", 4, 32, "Nn", fractal=32), bytes([4 * 48, 0] * 16 + [0] * 32) * 2
        ),
    }
    machine.execute(TABLE["TMATMUL_MX"], tiles, {})
    got = tiles["dst"].read()[0]
    assert (got == f16.astype(np.float32).sum(axis=1)[:, None]).all()


def nz(matrix: np.ndarray, width: int) -> np.ndarray:
    rows, cols = matrix.shape
    return matrix.reshape(rows, cols // width, width).transpose(1, 0, 2).copy()


def quantised(values: list[Fraction]) -> tuple[list[int], list[int], list[Fraction]]:
    """64 numbers as the format's steps say: codes, the four bytes of scales, and the factor of each four."""
    largest = [max(abs(x) for x in values[i : i + 4]) for i in range(0, 64, 4)]
    seventh = bf16(bf16(max(largest)) * bf16(Fraction(1, 7)))
    codes = [(abs(ea(code) - seventh), code % 2, code) for code in range(255)]
    first = min(codes)[2] if seventh else 0
    inverse = bf16(1 / ea(first)) if seventh else Fraction(0)
    eb = [bf16(max(largest[2 * i : 2 * i + 2]) * inverse) >= 4 for i in range(8)]
    ec = [bf16(bf16(largest[i] * inverse) / (1 + eb[i // 2])) >= 2 for i in range(16)]
    factors = [inverse / 2 ** (eb[i // 2] + ec[i]) for i in range(16)]
    four = [
        first,
        sum(bit << i for i, bit in enumerate(eb)),
        sum(bit << i for i, bit in enumerate(ec[:8])),
        sum(bit << i for i, bit in enumerate(ec[8:])),
    ]
    out = []
    for i, x in enumerate(values):
        y = bf16(abs(x) * factors[i // 4])
        near = min((abs(n - y), code % 2, code) for code, n in enumerate(NUMBERS))
        out.append(near[2] | (8 if x < 0 else 0))
    return out, four, factors


def test_quantisation() -> None:
    random = np.random.default_rng(64)
    x = random.uniform(-1, 1, (32, 64)) * np.exp2(random.integers(-9, 18, (32, 1)))
    x *= np.exp2(random.integers(-4, 1, (32, 16))).repeat(4, axis=1)
    x = x.astype(np.float32).astype(BF16)
    x[5] = 0
    x[x == 0] = 0
    machine = Single(A6)
    sizes = {"exp": ("u8", 320), "max": ("bf16", 768), "scaling": ("bf16", 1024)}
    tiles = {
        "dst": machine.tile(vec("e1m2", 32, 64)),
        "src": machine.tile(vec("bf16", 32, 64), x.tobytes()),
        **{name: machine.tile(vec(kind, 1, size)) for name, (kind, size) in sizes.items()},
    }
    attrs = {"alg": MxQuantAlg.Hif4, "grp_axis": MxGroupAxis.Axis1, "interleave": False}
    machine.execute(TABLE["TQUANT_MX"], tiles, attrs)
    packed_codes = tiles["dst"].raw()[0]
    codes = np.stack((packed_codes & 15, packed_codes >> 4), axis=-1).reshape(32, 64)
    exp, factors = tiles["exp"].raw()[0], tiles["scaling"].read()[0, 0].reshape(32, 16, 2)
    assert (exp[:64].reshape(32, 2)[:, 1] == 0).all()
    assert (exp[96:128] == 0).all()
    for row in range(32):
        want, four, factor = quantised([Fraction(float(v)) for v in x[row]])
        assert codes[row].tolist() == want
        assert [exp[2 * row], exp[64 + row], *exp[128 + 2 * row : 130 + 2 * row]] == four
        assert [Fraction(float(v)) for v in factors[row, :, 0]] == factor
        assert (factors[row, :, 0] == factors[row, :, 1]).all()
    pairs = exp[192:].reshape(2, 2, 16, 2)  # for the cube unit: of 16 groups Ea and Eb, then Ec
    for row in range(32):
        block, place = divmod(row, 16)
        assert pairs[block, 0, place].tolist() == [exp[2 * row], exp[64 + row]]
        assert pairs[block, 1, place].tolist() == exp[128 + 2 * row : 130 + 2 * row].tolist()


@pytest.mark.parametrize(
    ("src", "more", "rules"),
    [
        ("bf16 16x64", {}, set()),
        ("f16 16x64", {}, {"QMX-COM-01"}),
        ("bf16 8x64", {}, {"A6-02"}),
        ("bf16 32x64", {"grp_axis": MxGroupAxis.Axis0}, {"A6-02"}),
        ("bf16 16x32", {}, {"A6-02"}),
    ],
)
def test_what_is_quantised(src: str, more: dict, rules: set[str]) -> None:
    kind, _, size = src.partition(" ")
    rows, cols = map(int, size.split("x"))
    n = rows * cols
    operands = {
        "dst": vec("e1m2", rows, cols),
        "src": vec(kind, rows, cols),
        "exp": vec("u8", 1, max(32, n // 64 * 10)),
        "max": vec("bf16", 1, n),
        "scaling": vec("bf16", 1, n),
    }
    attrs = {"alg": MxQuantAlg.Hif4, "grp_axis": MxGroupAxis.Axis1, "interleave": False, "quant_type": None, **more}
    found = broken("TQUANT_MX", "a6", {**operands, "attrs": attrs})
    assert found.keys() == rules
    assert isinstance(found.get("A6-02"), Doubt) is (src == "bf16 8x64"), "the header refuses no rest of 1024"
    assert "QMX-COM-01" in broken("TQUANT_MX", "a5", {**operands, "attrs": attrs})
    small = {**operands, "max": vec("bf16", 1, 32)}
    assert "QMX-COM-03" in broken("TQUANT_MX", "a6", {**small, "attrs": attrs})
