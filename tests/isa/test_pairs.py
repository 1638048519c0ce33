"""Tiles of pairs of 4-bit floats: moved as elements of a byte, converted and multiplied as numbers."""

from __future__ import annotations

import re

import numpy as np
import pytest

import ptokit as pto
from ptokit.types.codecs import decode, encode
from ptokit.types.dtypes import DTYPES, HALVES, DType, e2m1x2
from ptokit.types.enums import RoundMode

PAIRS = pytest.mark.parametrize("pair", list(HALVES), ids=lambda pair: pair.name)
BACKENDS = pytest.mark.parametrize("backend", ["numpy", "native"])
BF16 = DTYPES["bf16"]


def packed(dtype: DType, numbers: np.ndarray) -> np.ndarray:
    codes = encode(dtype, numbers, rounding=RoundMode.RINT)
    return (codes[..., ::2] | codes[..., 1::2] << 4).astype(np.uint8)


def bf16(numbers: np.ndarray) -> np.ndarray:
    assert BF16.value is not None
    return numbers.astype(BF16.value)


def text(pair: DType, body: str) -> str:
    def view(name: str, rows: int, cols: int, element: str) -> str:
        shape = f"shape = [%c{rows}, %c{cols}], strides = [%c{cols}, %c1] : !pto.tensor_view<{rows}x{cols}x{element}>"
        part = f"offsets = [%c0, %c0], sizes = [%c{rows}, %c{cols}] : !pto.tensor_view<{rows}x{cols}x{element}>"
        return (
            f"  %{name}v = pto.make_tensor_view %{name}, {shape}\n"
            f"  %{name}p = pto.partition_view %{name}v, {part} -> !pto.partition_tensor_view<{rows}x{cols}x{element}>\n"
        )

    wide, narrow = "vec, 4x64xbf16, valid=4x?", f"vec, 4x32x{pair.text}, valid=4x?"
    kinds = {"W": f"!pto.tile_buf<{wide}>", "N": f"!pto.tile_buf<{narrow}>"}
    kinds |= {"PW": "!pto.partition_tensor_view<4x64xbf16>", "PN": f"!pto.partition_tensor_view<4x32x{pair.text}>"}
    for name, kind in kinds.items():
        body = body.replace(f"${name} ", f"{kind} ").replace(f"${name})", f"{kind})")
    return (
        f"func.func @f(%x: !pto.ptr<bf16>, %y: !pto.ptr<{pair.text}>, %z: !pto.ptr<bf16>, %n: index, %half: index) {{\n"
        + "".join(f"  %c{k} = arith.constant {k} : index\n" for k in (0, 1, 4, 32, 64))
        + view("x", 4, 64, "bf16")
        + view("y", 4, 32, pair.text)
        + view("z", 4, 64, "bf16")
        + "".join(f"  %{t} = pto.alloc_tile valid_col = %n : {kinds['W']}\n" for t in ("a", "d"))
        + "".join(f"  %{t} = pto.alloc_tile valid_col = %half : {kinds['N']}\n" for t in ("b", "c"))
        + body
        + "  return\n}\n"
    )


THERE_AND_BACK = """\
  pto.tload ins(%xp : $PW ) outs(%a : $W )
  pto.tcvt ins(%a : $W ) outs(%b : $N )
  pto.tmov ins(%b : $N ) outs(%c : $N )
  pto.tstore ins(%c : $N ) outs(%yp : $PN )
  pto.tload ins(%yp : $PN ) outs(%b : $N )
  pto.tcvt ins(%b : $N ) outs(%d : $W )
  pto.tstore ins(%d : $W ) outs(%zp : $PW )
"""


@PAIRS
@BACKENDS
def test_pairs_are_loaded_stored_moved_and_converted(pair: DType, backend: str) -> None:
    number = HALVES[pair]
    x = np.random.default_rng(3).uniform(-8, 8, (4, 64))
    x[0, :4] = -0.0, 0.25, 100, -0.6
    y, z = np.zeros((4, 32), np.uint8), np.zeros((4, 64), BF16.value)
    program = text(pair, THERE_AND_BACK)
    pto.run(program, args=[bf16(x), y, z, 64, 32], target="a5", backend=backend)
    wanted = packed(number, bf16(x).astype(np.float32))
    assert (y == wanted).all()
    values = decode(number, encode(number, bf16(x).astype(np.float32), rounding=RoundMode.RINT))
    assert (z.view(np.uint16) == bf16(values).view(np.uint16)).all()


@PAIRS
@pytest.mark.parametrize("rules", ["all", "assembler"])
def test_pairs_are_accepted_by_both_sets_of_rules(pair: DType, rules: str) -> None:
    assert not pto.check(text(pair, THERE_AND_BACK), target="a5", rules=rules).diagnostics


def test_a_pair_counts_as_two_numbers() -> None:
    body = "  pto.tcvt ins(%a : $W ) outs(%e : !pto.tile_buf<vec, 4x64x!pto.f4E2M1x2>)\n"
    alloc = "  %e = pto.alloc_tile : !pto.tile_buf<vec, 4x64x!pto.f4E2M1x2>\n"
    found = pto.check(text(e2m1x2, alloc + body), target="a5").diagnostics
    assert {d.rule for d in found} == {"TCVT-02", "CV-1"}
    assert "4x128" in found[0].message


@pto.kernel(target="a5")
def halved(x: pto.Ptr[pto.bf16], y: pto.Ptr[pto.e2m1x2], z: pto.Ptr[pto.bf16], cols: int) -> None:
    a = pto.Tile(pto.TileType.Vec, pto.bf16, 4, 64, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC)
    b = pto.Tile(pto.TileType.Vec, pto.e2m1x2, 4, 32, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC)
    a.set_valid(4, cols)
    b.set_valid(4, cols // 2)
    pto.TLOAD(a, pto.GlobalTensor(x, (4, 64))[:, :cols])
    pto.TCVT(b, a)
    pto.TSTORE(pto.GlobalTensor(y, (4, 32))[:, : cols // 2], b)
    pto.TCVT(a, b)
    pto.TSTORE(pto.GlobalTensor(z, (4, 64))[:, :cols], a)


@pto.kernel(target="a5")
def halved_finer(x: pto.Ptr[pto.bf16], y: pto.Ptr[pto.e1m2x2], z: pto.Ptr[pto.bf16], cols: int) -> None:
    a = pto.Tile(pto.TileType.Vec, pto.bf16, 4, 64, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC)
    b, c = (
        pto.Tile(pto.TileType.Vec, pto.e1m2x2, 4, 32, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC) for _ in range(2)
    )
    a.set_valid(4, cols)
    b.set_valid(4, cols // 2)
    c.set_valid(4, cols // 2)
    pto.TLOAD(a, pto.GlobalTensor(x, (4, 64))[:, :cols])
    pto.TCVT(b, a)
    pto.TMOV(c, b)
    pto.TSTORE(pto.GlobalTensor(y, (4, 32))[:, : cols // 2], c)
    pto.TCVT(a, c)
    pto.TSTORE(pto.GlobalTensor(z, (4, 64))[:, :cols], a)


@pytest.mark.parametrize(("kernel", "dtype"), [(halved, "e2m1"), (halved_finer, "e1m2")])
@pytest.mark.parametrize("way", ["numpy", "native", "text", "interpreted"])
def test_pairs_in_python(way: str, kernel: pto.Kernel, dtype: str) -> None:
    x = bf16(np.random.default_rng(4).uniform(-8, 8, (4, 64)))
    y, z = np.zeros((4, 32), np.uint8), np.zeros((4, 64), BF16.value)
    match way:
        case "text":
            pto.run(kernel.to_pto(), args=[x, y, z, 40], target="a5")
        case "interpreted":
            kernel.interpret(x, y, z, 40)
        case _:
            pto.run(kernel, args=[x, y, z, 40], backend=way)
    wanted = packed(DTYPES[dtype], x.astype(np.float32))
    wanted[:, 20:] = 0
    assert (y == wanted).all()
    assert (z[:, :40] == decode(DTYPES[dtype], unpacked(wanted))[:, :40].astype(BF16.value)).all()


def unpacked(codes: np.ndarray) -> np.ndarray:
    return np.stack((codes & 15, codes >> 4), -1).reshape(codes.shape[0], -1)


PRODUCT = """\
func.func @f(%a: !pto.ptr<PAIR>, %b: !pto.ptr<OTHER>, %sa: !pto.ptr<ui8, gm>, %sb: !pto.ptr<ui8, gm>,
    %c: !pto.ptr<f32, gm>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %cm = arith.constant ROWS : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %z = arith.constant 0 : i64
  %one = arith.constant 1 : i64
  %m = arith.constant ROWS : i64
  %k = arith.constant 128 : i64
  %n = arith.constant 64 : i64
  %pitch = arith.constant 16 : i64
  %bytes = arith.constant 256 : i64
  %far = arith.constant 65536 : i64
  %farther = arith.constant 69632 : i64
  %av = pto.make_tensor_view %a, shape = [%cm, %c64], strides = [%c64, %c1] : !pto.tensor_view<ROWSx64xPAIR>
  %bv = pto.make_tensor_view %b, shape = [%c128, %c32], strides = [%c32, %c1] : !pto.tensor_view<128x32xOTHER>
  %ap = pto.partition_view %av, offsets = [%c0, %c0], sizes = [%cm, %c64]
    : !pto.tensor_view<ROWSx64xPAIR> -> !pto.partition_tensor_view<ROWSx64xPAIR>
  %bp = pto.partition_view %bv, offsets = [%c0, %c0], sizes = [%c128, %c32]
    : !pto.tensor_view<128x32xOTHER> -> !pto.partition_tensor_view<128x32xOTHER>
  %am = pto.alloc_tile addr = %z : AM
  %far_b = arith.constant 16384 : i64
  %bm = pto.alloc_tile addr = %far_b : BM
  %left = pto.alloc_tile addr = %z : LEFT
  %right = pto.alloc_tile addr = %z : RIGHT
  %ls = pto.alloc_tile addr = %z : LS
  %rs = pto.alloc_tile addr = %z : RS
  %acc = pto.alloc_tile addr = %z : ACC
  pto.tload ins(%ap : !pto.partition_tensor_view<ROWSx64xPAIR>) outs(%am : AM)
  pto.tload ins(%bp : !pto.partition_tensor_view<128x32xOTHER>) outs(%bm : BM)
  pto.tmov ins(%am : AM) outs(%left : LEFT)
  pto.tmov ins(%bm : BM) outs(%right : RIGHT)
  %l1a = pto.castptr %far : i64 -> !pto.ptr<ui8, l1>
  %l1b = pto.castptr %farther : i64 -> !pto.ptr<ui8, l1>
  %l0a = pto.castptr %z : i64 -> !pto.ptr<PAIR, l0a>
  %l0b = pto.castptr %z : i64 -> !pto.ptr<OTHER, l0b>
  %l0c = pto.castptr %z : i64 -> !pto.ptr<f32, l0c>
  pto.mte_gm_l1 %sa, %l1a, %bytes nburst(%one, %z, %z) : !pto.ptr<ui8, gm>, !pto.ptr<ui8, l1>, i64, i64, i64, i64
  pto.mte_gm_l1 %sb, %l1b, %bytes nburst(%one, %z, %z) : !pto.ptr<ui8, gm>, !pto.ptr<ui8, l1>, i64, i64, i64, i64
  pto.mte_l1_l0a_mx %l1a, %l0a, %m, %k, %z, %z : !pto.ptr<ui8, l1>, !pto.ptr<PAIR, l0a>, i64, i64, i64, i64
  pto.mte_l1_l0b_mx %l1b, %l0b, %k, %n, %z, %z : !pto.ptr<ui8, l1>, !pto.ptr<OTHER, l0b>, i64, i64, i64, i64
  pto.NAME ins(%left, %ls, %right, %rs : LEFT, LS, RIGHT, RS) outs(%acc : ACC)
  pto.mte_l0c_gm %l0c, %c, %m, %n, %pitch, %n, %z, %z, nz2nd
    : !pto.ptr<f32, l0c>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64
  return
}
"""
NZ = "blayout=col_major, slayout=row_major"


@PAIRS
@pytest.mark.parametrize("other", list(HALVES), ids=lambda other: f"by-{other.name}")
@BACKENDS
@pytest.mark.parametrize(("name", "rows"), [("tmatmul.mx", 16), ("tgemv.mx", 1)])
def test_scaled_products_of_pairs(pair: DType, other: DType, backend: str, name: str, rows: int) -> None:
    """In L0A and L0B sizes count numbers; scales are those at the operands, whatever their tile says."""
    number, rng, k, n = HALVES[pair], np.random.default_rng(5), 128, 64
    a, b = rng.integers(0, 256, (rows, k // 2), np.uint8), rng.integers(0, 256, (k, n // 2), np.uint8)
    sa, sb = rng.integers(125, 130, (rows, 4), np.uint8), rng.integers(125, 130, (4, n), np.uint8)
    tiles = {
        "AM": f"mat, {rows}x64x{pair.text}, {NZ}",
        "BM": f"mat, 128x32x{other.text}, {NZ}",
        "LEFT": f"left, {rows}x128x{pair.text}, {NZ}",
        "RIGHT": f"right, 128x64x{other.text}, slayout=col_major",
        "LS": f"scaling, {rows}x4xf16, slayout=row_major, fractal=32",
        "RS": "scaling, 4x64xf16, blayout=col_major, slayout=col_major, fractal=32",
        "ACC": f"acc, {rows}x64xf32, {NZ}, fractal=1024",
    }
    if rows == 1:
        tiles["AM"] = f"mat, 1x64x{pair.text}"
    # A module of one kind of core: the accumulator of one row lies in boxes, as the drain of the cube unit reads it.
    whole = f"module attributes {{pto.kernel_kind = #pto.kernel_kind<cube>}} {{\n{PRODUCT}}}\n"
    program = whole.replace("ROWS", str(rows)).replace("NAME", name)
    program = program.replace("PAIR", pair.text).replace("OTHER", other.text)
    for tile, inside in tiles.items():
        program = re.sub(rf"\b{tile}\b", f"!pto.tile_buf<{inside}>", program)
    left = sa.reshape(1, rows, 2, 2).transpose(0, 2, 1, 3).reshape(-1) if rows > 1 else sa.reshape(-1)
    right = sb.reshape(2, 2, 4, 16).transpose(2, 0, 3, 1).reshape(-1)
    given = [np.resize(left, 256).copy(), np.resize(right, 256).copy()]
    c = np.zeros((rows, n), np.float32)
    pto.run(program, args=[a, b, *given, c], target="a5", backend=backend)
    numbers = [decode(kind, unpacked(x)).astype(np.float64) for kind, x in ((number, a), (HALVES[other], b))]
    scales = [2.0 ** (x.astype(np.float64) - 127) for x in (sa, sb)]
    wanted = (numbers[0] * np.repeat(scales[0], 32, 1)) @ (numbers[1] * np.repeat(scales[1], 32, 0))
    assert (c == wanted.astype(np.float32)).all()


@pto.kernel(target="a2a3")
def nibbles(x: pto.Ptr[pto.f16], y: pto.Ptr[pto.u8], z: pto.Ptr[pto.f16]) -> None:
    a = pto.Tile(pto.TileType.Vec, pto.f16, 2, 128)
    b = pto.Tile(pto.TileType.Vec, pto.int4, 2, 128)
    pto.TLOAD(a, pto.GlobalTensor(x, (2, 128)))
    pto.TCVT(b, a)
    pto.TSTORE(pto.GlobalTensor(y, (2, 128)), b.reshape(2, 128, dtype=pto.u8))
    pto.TCVT(a, b)
    pto.TSTORE(pto.GlobalTensor(z, (2, 128)), a)


@pytest.mark.parametrize("way", ["numpy", "native", "interpreted"])
def test_a2a3_packs_int4_into_half_of_each_row(way: str) -> None:
    """Two in a byte, the low one first, in the first bytes of a row that has one for each element."""
    x = np.random.default_rng(6).uniform(-12, 12, (2, 128)).astype(np.float16)
    y, z = np.zeros((2, 128), np.uint8), np.zeros((2, 128), np.float16)
    if way == "interpreted":
        nibbles.interpret(x, y, z)
    else:
        pto.run(nibbles, args=[x, y, z], backend=way)
    numbers = np.clip(np.rint(x.astype(np.float32)), -8, 7).astype(np.int8)
    codes = numbers.view(np.uint8) & 15
    assert (y[:, :64] == codes[:, ::2] | codes[:, 1::2] << 4).all()
    assert (z == numbers).all()


@PAIRS
def test_the_assembler_takes_boxes_of_pairs(pair: DType) -> None:
    """AL-8 counts bytes, also where the tile of an operand counts numbers."""
    tiles = f"left, 16x32x{pair.text}, {NZ}", f"left, 16x48x{pair.text}, {NZ}"
    refused = []
    for tile in tiles:
        program = f"func.func @f() {{\n  %l = pto.alloc_tile : !pto.tile_buf<{tile}>\n  return\n}}\n"
        refused.append([d.rule for d in pto.check(program, target="a5", rules="assembler").errors])
    assert refused == [[], ["AL-8"]]
