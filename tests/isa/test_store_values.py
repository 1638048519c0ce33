"""What stores from accumulators and convolution transfers write, element by element; worked examples."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from ptokit.isa.transfer.load import TLOAD
from ptokit.isa.transfer.store import TSTORE, TSTORE_FP
from ptokit.machine.lanes import Fault
from ptokit.run.program import Single
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import AtomicType, Layout, ReluPreMode, TileType
from ptokit.types.tensor import conv_tile
from ptokit.types.tile import DYNAMIC, TileSpec
from tests.each import each

from .transfer_sites import acc, conv, mat, packed, spec, vec
from .words import quant_word


def memory(dtype: str, size: int, seed: int = 1) -> np.ndarray:
    """Random elements, small enough to be exact in every type."""
    return np.random.default_rng(seed).integers(0, 100, size).astype(DTYPES[dtype].value)


def put(tile: Any, values: np.ndarray) -> None:
    """Set the valid region."""
    tile.write(values[None].astype(tile.spec.dtype.value))


def store(
    on: str, tile: TileSpec, dtype: str, shape: tuple[int, ...], layout: str, stride: Any = None, **attrs: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Store random values: the values, memory before, memory after."""
    machine = Single(target(on))
    source = machine.tile(tile)
    values = np.random.default_rng(5).integers(-90, 90, (source.vr, source.vc))
    put(source, values)
    kind = Layout[layout]
    stride = stride or packed(shape, kind)
    reach = sum((g - 1) * t for g, t in zip(shape, stride)) + 64
    after = memory(dtype, reach)
    before = after.copy()
    operands = {"src": source, "dst": machine.view(DTYPES[dtype], after, shape, stride, kind)}
    if "quant" in attrs:
        operands["quant"] = attrs.pop("quant")
    machine.execute(TSTORE, operands, attrs)
    return values, before, after


def check(result: tuple[np.ndarray, np.ndarray, np.ndarray], where: Any) -> None:
    """Every element is where `where(r, c)` says, the rest of memory unchanged."""
    values, want, after = result
    for r, c in np.ndindex(*values.shape):
        want[where(r, c)] = values[r, c]
    assert np.array_equal(want, after)


@each("dtype, source, c0", [("f16", "f32", 16), ("f32", "f32", 8), ("i32", "i32", 16)])
def test_nc1hwc0(dtype: str, source: str, c0: int) -> None:
    h, w, c1 = 3, 5, 32 // c0
    tile = acc(source, 16, 32, valid=(15, 32))
    stride = (9999, h * w * c0 + 7, w * c0, c0, 1)
    result = store("a2a3", tile, dtype, (1, c1, h, w, c0), "NC1HWC0", stride)
    check(result, lambda r, c: c // c0 * stride[1] + r * c0 + c % c0)


@each("dtype, source, c0", [("f16", "f32", 16), ("f32", "f32", 8), ("i32", "i32", 16)])
@each("atomic", [AtomicType.AtomicNone, AtomicType.AtomicAdd])
def test_ndc1hwc0(dtype: str, source: str, c0: int, atomic: AtomicType) -> None:
    h, w, c1 = 3, 5, 32 // c0
    tile = acc(source, 16, 32, valid=(15, 32))
    stride = (9999, c1 * (h * w * c0 + 8), h * w * c0 + 8, w * c0, c0)
    values, before, after = store(
        "a2a3", tile, dtype, (1, 1, c1, h, w), "NDC1HWC0", stride, **({"atomic": atomic} if atomic else {})
    )
    want = before.copy()
    for r, c in np.ndindex(*values.shape):
        at = c // c0 * stride[2] + r * c0 + c % c0
        want[at] = values[r, c] + (before[at] if atomic else 0)
    assert np.array_equal(want, after)


def test_images_on_a5() -> None:
    tile = acc("f32", 32, 32, valid=(24, 20))
    nhwc = (9999, 9999, 8 * 33, 33, 1)
    check(store("a5", tile, "f16", (1, 1, 3, 8, 20), "NHWC", nhwc), lambda r, c: r * 33 + c)
    nchw = (9999, 9999, 40, 8, 1)
    check(store("a5", tile, "f16", (1, 1, 20, 3, 8), "NCHW", nchw), lambda r, c: c * 40 + r)
    ncdhw = (9999, 40, 12, 4, 1)
    check(store("a5", tile, "f16", (1, 20, 2, 3, 4), "NCDHW", ncdhw), lambda r, c: c * 40 + r)
    plane = (9999, 100, 24, 8, 1)  # the first plane of four
    check(store("a5", tile, "f16", (1, 20, 4, 3, 8), "NCDHW", plane), lambda r, c: c * 100 + r)


@each("g4, offset", [(8, 555), (16, 595)])
def test_blocks_of_f32(g4: int, offset: int) -> None:
    """Worked example 4 of load-store 13."""
    values, before, after = store("a2a3", acc("f32", 32, 32), "f32", (1, 32 // g4, 2, 16, g4), "NZ")
    assert after[offset] == values[5, 19]
    check((values, before, after), lambda r, c: c // g4 * 32 * g4 + r * g4 + c % g4)


QUANT = [  # load-store 6.3
    (5, 0x0000_4000_3F00_0000, "i8", 2, 2),
    (7, 0x0000_4000_3F00_0000, "i8", 4, 4),
    (5, 0x0000_4020_3F00_0000, "i8", 4, 3),
    (300, 0x0000_4000_3F80_0000, "i8", 127, 127),
    (-300, 0x0000_4000_3F80_0000, "i8", -128, -128),
    (-3, 0x0000_0000_3F80_0000, "u8", 0, 0),
    (300, 0x0000_0000_3F80_0000, "u8", 255, 255),
    (12345, 0x0000_0060_3C23_D70A, "u8", 126, 126),
    (-5, 0x0000_7FE0_3F00_0000, "i8", 127, 127),
    (215, 0x0000_4000_3DCC_CCCD, "i8", 22, 22),
]


@each("x, word, dtype, cpu, device", QUANT)
@each("source", ["f32", "i32"])
@each("on", ["cpu", "a2a3", "a5"])
def test_quantisation(on: str, source: str, x: int, word: int, dtype: str, cpu: int, device: int) -> None:
    machine = Single(target(on))
    tile = machine.tile(acc(source, 16, 16))
    put(tile, np.full((16, 16), x))
    out = np.zeros(256, DTYPES[dtype].value)
    g = machine.view(DTYPES[dtype], out, (1, 1, 1, 16, 16), (256, 256, 256, 16, 1), Layout.ND)
    machine.execute(TSTORE, {"dst": g, "src": tile, "quant": word})
    assert (out == (cpu if on == "cpu" else device)).all()


def test_words_per_column_use_19_bits_of_the_scale() -> None:
    machine = Single(target("a5"))
    tile = machine.tile(acc("f32", 16, 16))
    put(tile, np.full((16, 16), 215))
    words = np.array([0x0000_4000_3DCC_CCCD, quant_word(2.0, signed=True)] * 8, np.uint64)
    fp = machine.tile(spec("Scaling", "u64", 1, 16), words.tobytes())
    out = np.zeros((16, 16), np.int8)
    g = machine.view(DTYPES["i8"], out, (1, 1, 1, 16, 16), (256, 256, 256, 16, 1), Layout.ND)
    machine.execute(TSTORE_FP, {"dst": g, "src": tile, "fp": fp})
    assert (out == np.array([21, 127] * 8)).all()


def test_relu_comes_after_quantisation() -> None:
    """Worked example 5: -7 with scale 0.5 is -4, with relu 0."""
    word = quant_word(0.5, signed=True)
    for relu, want in ((ReluPreMode.NoRelu, -4), (ReluPreMode.NormalRelu, 0)):
        machine = Single(target("a2a3"))
        tile = machine.tile(acc("i32", 16, 16))
        put(tile, np.full((16, 16), -7))
        out = np.zeros(256, np.int8)
        g = machine.view(DTYPES["i8"], out, (1, 1, 1, 16, 16), (256, 256, 256, 16, 1), Layout.ND)
        machine.execute(TSTORE, {"dst": g, "src": tile, "quant": word}, {"relu": relu})
        assert (out == want).all()


def test_relu_of_nan_and_minus_zero_is_plus_zero() -> None:
    machine = Single(target("a5"))
    tile = machine.tile(acc("f32", 16, 16))
    put(tile, np.resize(np.array([np.nan, -0.0, 3.5, -np.inf], np.float32), (16, 16)))
    out = np.ones(256, np.float32)
    g = machine.view(DTYPES["f32"], out, (1, 1, 1, 16, 16), (256, 256, 256, 16, 1), Layout.ND)
    machine.execute(TSTORE, {"dst": g, "src": tile}, {"relu": ReluPreMode.NormalRelu})
    assert out.view(np.uint32).tolist() == [0, 0, 0x40600000, 0] * 64


def test_wrong_words_stop_the_store_before_memory_changes() -> None:
    machine = Single(target("a2a3"))
    tile = machine.tile(acc("f32", 16, 16))
    fp = machine.tile(spec("Scaling", "u64", 1, 16), np.full(16, quant_word(1.0), np.uint64).tobytes())
    out = np.full(256, 9, np.int8)
    g = machine.view(DTYPES["i8"], out, (1, 1, 1, 16, 16), (256, 256, 256, 16, 1), Layout.ND)
    with pytest.raises(Fault) as fault:
        machine.execute(TSTORE_FP, {"dst": g, "src": tile, "fp": fp})
    assert fault.value.rule == "STORE-A3-D3"
    assert (out == 9).all()


def test_words_of_zero_have_no_sign_to_get_wrong() -> None:
    """As two device tests have them (a2a3, tstore_acc2gm, cases 31 and 33): every result is 0."""
    machine = Single(target("a2a3"))
    tile = machine.tile(acc("f32", 16, 16))
    put(tile, np.full((16, 16), 5.0, np.float32))
    fp = machine.tile(spec("Scaling", "u64", 1, 16), np.zeros(16, np.uint64).tobytes())
    out = np.full(256, 9, np.int8)
    g = machine.view(DTYPES["i8"], out, (1, 1, 1, 16, 16), (256, 256, 256, 16, 1), Layout.ND)
    machine.execute(TSTORE_FP, {"dst": g, "src": tile, "fp": fp})
    assert (out == 0).all()


# convolution tiles ---------------------------------------------------------------------------------------------------


def load_conv(on: str, tile: TileSpec, dtype: str, shape: tuple[int, ...], layout: str, stride: Any = None) -> Any:
    """(tile contents by dimensions, memory, strides) after loading over 77s."""
    machine = Single(target(on))
    kind = DTYPES[dtype]
    dst = machine.tile(tile, np.full(tile.cols, 77).astype(kind.value).tobytes())
    stride = stride or packed(shape, Layout.ND)
    source = memory(dtype, sum((g - 1) * t for g, t in zip(shape, stride)) + 64)
    machine.execute(TLOAD, {"dst": dst, "src": machine.view(kind, source, shape, stride, Layout[layout])})
    return dst.read(1, int(np.prod(tile.dims)))[0].reshape(tile.dims), source, stride


@each("layout, shape", [("NHWC", (1, 2, 3, 4, 20)), ("NCHW", (1, 2, 20, 3, 4))])
def test_images_to_nc1hwc0(layout: str, shape: tuple[int, ...]) -> None:
    got, source, t = load_conv("a5", conv("f16", "NC1HWC0", 2, 2, 3, 4, 16), "f16", shape, layout)
    n_, h_, w_, c_ = (t[1], t[2], t[3], t[4]) if layout == "NHWC" else (t[1], t[3], t[4], t[2])
    for n, c, h, w in product(range(2), range(32), range(3), range(4)):
        want = source[n * n_ + h * h_ + w * w_ + c * c_] if c < 20 else 0
        assert got[n, c // 16, h, w, c % 16] == want


def test_images_to_fractal_z() -> None:
    got, source, t = load_conv("a5", conv("i8", "FRACTAL_Z", 2 * 12, 2, 16, 32), "i8", (1, 20, 40, 3, 4), "NCHW")
    for n, c, hw in product(range(32), range(64), range(12)):
        want = 77 if n >= 20 else 0 if c >= 40 else source[n * t[1] + c * t[2] + hw]
        assert got[c // 32 * 12 + hw, n // 16, n % 16, c % 32] == want


def test_volumes() -> None:
    shape = (2, 20, 2, 3, 4)
    got, source, t = load_conv("a5", conv("f16", "NDC1HWC0", 2, 2, 2, 3, 4, 16), "f16", shape, "NCDHW")
    for n, c, d, h, w in product(range(2), range(32), range(2), range(3), range(4)):
        want = source[n * t[0] + c * t[1] + d * t[2] + h * t[3] + w] if c < 20 else 0
        assert got[n, d, c // 16, h, w, c % 16] == want
    got, source, t = load_conv("a5", conv("f16", "FRACTAL_Z_3D", 2 * 24, 1, 16, 16), "f16", shape, "NCDHW")
    for n, c, dhw in product(range(16), range(32), range(24)):
        want = 77 if n >= 2 else 0 if c >= 20 else source[n * t[0] + c * t[1] + dhw]
        assert got[c // 16 * 24 + dhw, n // 16, n % 16, c % 16] == want


def test_windows_use_the_strides_of_the_tensor() -> None:
    stride = (4000, 1000, 200, 16, 1)
    tile = conv("f16", "NC1HWC0", 2, 1, 2, 4, 16)
    got, source, t = load_conv("a2a3", tile, "f16", (3, 2, 5, 4, 16), "NC1HWC0", stride)
    for i in np.ndindex(*got.shape):
        assert got[i] == source[sum(a * b for a, b in zip(i, t))]


@each("layout", ["NC1HWC0", "NDC1HWC0"])
def test_convolution_tiles_are_stored(layout: str) -> None:
    machine = Single(target("cpu"))
    dims = (2, 2, 3, 4, 16) if layout == "NC1HWC0" else (2, 1, 2, 3, 4, 16)
    stride = (700, 300, 80, 16, 1) if layout == "NC1HWC0" else (900, 800, 300, 80, 16)
    tile = machine.tile(conv("f16", layout, *dims))
    values = memory("f16", int(np.prod(dims)), 9)
    tile.write(values.reshape(1, 1, -1).copy())
    out = memory("f16", 3000)
    want = out.copy()
    machine.execute(TSTORE, {"src": tile, "dst": machine.view(DTYPES["f16"], out, dims[:5], stride, Layout[layout])})
    for i in np.ndindex(*dims):
        want[sum(a * b for a, b in zip(i, (*stride, 1)))] = values.reshape(dims)[i]
    assert np.array_equal(out, want)


def test_open_dimensions() -> None:
    tile = conv_tile(TileType.Mat, DTYPES["f16"], Layout.NC1HWC0, (1, 1, DYNAMIC, DYNAMIC, 16), buffer_bytes=1024)
    assert tile.nbytes == 1024
    with pytest.raises(ValueError, match="do not fit"):
        conv_tile(TileType.Mat, DTYPES["f16"], Layout.NC1HWC0, (1, 1, 40, 40, 16), buffer_bytes=1024)
    with pytest.raises(ValueError, match="size of its buffer"):
        conv_tile(TileType.Mat, DTYPES["f16"], Layout.NC1HWC0, (1, DYNAMIC, 3, 4, 16))


# padding and vectors -------------------------------------------------------------------------------------------------


def test_padding_stops_at_the_next_32_bytes() -> None:
    """Worked example 1 of load-store 13."""
    for cols, untouched in ((16, 0), (32, 16)):
        machine = Single(target("a2a3"))
        tile = machine.tile(vec("f32", 4, cols, valid=(3, 13), pad=2), np.full((4, cols), 9, np.float32).tobytes())
        source = memory("f32", 39)
        g = machine.view(DTYPES["f32"], source, (1, 1, 1, 3, 13), (39, 39, 39, 13, 1), Layout.ND)
        machine.execute(TLOAD, {"dst": tile, "src": g})
        got = tile.read(4, cols)[0]
        assert np.array_equal(got[:3, :13], source.reshape(3, 13))
        assert np.isinf(got[:3, 13:16]).all()
        assert (got[:3, 16:] == 9).all()
        assert got[:3, 16:].shape[1] == untouched
        assert (got[3] == 9).all()


@each("bits", [0x00, 0x5A])
def test_a_row_of_scales_is_padded_to_32_bytes(bits: int) -> None:
    machine = Single(target("a5"))
    pad = 0x1_0000_0000 | bits
    tile = machine.tile(spec("Mat", "e8m0", 1, 64, "Zz", fractal=32, valid=(1, 20), pad=pad), bytes([9] * 64))
    source = np.arange(20, dtype=np.uint8)
    g = machine.view(DTYPES["e8m0"], source, (1, 1, 1, 1, 20), (20, 20, 20, 20, 1), Layout.ND)
    machine.execute(TLOAD, {"dst": tile, "src": g})
    assert tile.raw()[0].tolist() == [*range(20), *[bits] * 12, *[9] * 32]


@each(
    "tile, pair",
    [(vec("f32", 1, 16), "ND"), (vec("f32", 16, 1, "DN"), "DN"), (mat("f32", 16, 16, "Nz", valid=(1, 16)), "ND")],
)
def test_a_vector_without_layout_suits_the_tile_it_meets(tile: TileSpec, pair: str) -> None:
    machine = Single(target("a2a3"))
    source = memory("f32", 16)
    shape = (1, 1, 1, 1, 16) if pair == "ND" else (1, 1, 1, 16, 1)
    stride = (16, 16, 16, 16, 1) if pair == "ND" else (16, 16, 16, 1, 16)
    dst = machine.tile(tile)
    machine.execute(TLOAD, {"dst": dst, "src": machine.view(DTYPES["f32"], source, shape, stride)})
    assert np.array_equal(dst.read().reshape(-1), source)
