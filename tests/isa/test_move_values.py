"""Known answers of TMOV: the worked examples of move-gather-scatter 6.3 and 13, and each path by hand."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ptokit.isa.move.move import move_pipe
from ptokit.isa.table import TABLE
from ptokit.run.program import Single
from ptokit.targets import target
from ptokit.types.enums import Pipe
from tests.each import each

from .move_cases import run, site, tile

F32, F16, I32 = np.float32, np.float16, np.int32


def nz(matrix: np.ndarray, width: int) -> np.ndarray:
    """A matrix as column blocks of `width` columns."""
    rows, cols = matrix.shape
    return matrix.reshape(rows, cols // width, width).transpose(1, 0, 2).copy()


def acc(value: float, dtype: type = F32) -> np.ndarray:
    """A 16x16 accumulator full of one value."""
    return np.full((16, 16), value, dtype)


# move-gather-scatter 6.3: destination type, source type, value, word, relu, result, targets
QUANTISED = [
    ("i8", "f32", 2.5, 0x000040003F800000, False, 2, ("cpu", "a2a3", "a5")),
    ("i8", "f32", -2.5, 0x000040003F800000, False, -2, ("cpu", "a2a3", "a5")),
    ("i8", "f32", 0.5, 0x000040203F800000, False, 2, ("cpu",)),
    ("i8", "f32", 0.5, 0x000040203F800000, False, 1, ("a2a3", "a5")),  # rounded before the offset (D10)
    ("i8", "f32", 300, 0x000040003F800000, False, 127, ("cpu", "a2a3", "a5")),
    ("i8", "f32", -300, 0x000065803F800000, False, 0, ("cpu",)),
    ("i8", "f32", -3, 0x0000400040000000, True, 0, ("cpu", "a2a3", "a5")),
    ("u8", "f32", 300, 0x000000003F800000, False, 255, ("cpu", "a5")),
    ("u8", "f32", -1, 0x000000003F800000, False, 0, ("cpu", "a5")),
    ("u8", "i32", 101, 0x000000003F000000, False, 50, ("cpu", "a2a3", "a5")),
    ("u8", "i32", 103, 0x000000003F000000, False, 52, ("cpu", "a2a3", "a5")),
    ("i8", "i32", 1000, 0x000040003DCCCCCD, False, 100, ("cpu", "a2a3", "a5")),
    ("f16", "i32", 70000, 0x000000003F800000, False, 65504, ("cpu", "a2a3", "a5")),
    ("f16", "i32", 1500, 0x000000003F801000, False, 1501, ("cpu", "a2a3", "a5")),
    ("f16", "f32", 1e6, 0x000000003F800000, False, 65504, ("cpu", "a5")),
    ("f16", "f32", np.inf, 0x000000003F800000, False, np.inf, ("cpu", "a5")),
    ("i16", "i32", 1001, 0, False, 500, ("cpu", "a2a3")),
    ("i16", "i32", -1001, 0, False, -501, ("cpu", "a2a3")),
    ("i16", "i32", 1001, 0x0000000300000000, False, 62, ("cpu", "a2a3")),
    ("i16", "i32", 70000, 0, False, 32767, ("cpu", "a2a3")),
    ("i16", "i32", -70000, 0, True, 0, ("cpu", "a2a3")),
    ("f32", "f32", 3.25, 0x40000000, False, 3.25, ("a5",)),  # f32 to f32 is not quantised
    ("bf16", "i32", 3, 0x3F000000, False, 1.5, ("a5",)),
    ("e4m3", "f32", 3, 0x3F000000, False, 1.5, ("a5",)),  # as a scalar mode (D8)
]
NUMPY = {"i8": np.int8, "u8": np.uint8, "i16": np.int16, "f16": F16, "f32": F32, "i32": I32}
NUMPY |= {"bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn}


@each("case", QUANTISED, ids=[f"{c[1]}-{c[0]}-{c[2]}-{c[3]:#x}" for c in QUANTISED])
def test_scalar_quantisation(case):
    to, source, value, word, relu, result, targets = case
    for on in targets:
        text = f"mat {to} 16x32[16x16] Nz <- acc {source} 16x32[16x16] Nz; quant={word}" + ("; relu" if relu else "")
        data = np.full((16, 32), value, NUMPY[source])
        got = run("TMOV", on, text, src=data)["dst"].view(NUMPY[to])[: 16 * min(16, 32 // np.dtype(NUMPY[to]).itemsize)]
        assert got[0] == result, on


def test_vector_scales_have_ten_fraction_bits():
    words = np.full(16, 0x3F801000, np.uint64)
    for on, name in (("cpu", "TMOV"), ("a5", "TMOV"), ("a2a3", "TMOV_FP"), ("a5", "TMOV_FP")):
        text = "mat f16 16x16 Nz <- acc i32 16x16 Nz; fp=scaling u64 1x16 ND"
        assert run(name, on, text, src=acc(1500, I32), fp=words)["dst"].view(F16)[0] == 1500


def test_a_column_takes_its_word():
    words = (np.arange(32) + 1).astype(F32).view(np.uint32).astype(np.uint64) | np.uint64(1 << 46)
    src = nz(np.ones((16, 32), I32), 16)
    text = "mat i8 16x32 Nz <- acc i32 16x32 Nz; fp=scaling u64 1x32 ND"
    for on in ("cpu", "a2a3", "a5"):
        got = run("TMOV_FP", on, text, src=src, fp=words)["dst"].view(np.int8).reshape(16, 32)
        assert (got == np.arange(1, 33)).all(), on


def test_negative_words_are_taken_by_their_bits():
    text = "mat f16 16x16 Nz <- acc i32 16x16 Nz; quant=-1082130432"  # 0xffffffffbf800000: scale -1
    assert run("TMOV", "a5", text, src=acc(7, I32))["dst"].view(F16)[0] == -7


@each("on", ["cpu", "a2a3", "a5"])
def test_plain_accumulator_is_cast(on):
    values = np.array([1 + 2**-11, 1 + 3 * 2**-11, 70000, -1.5], F32)
    src = np.tile(values, 64).reshape(16, 16)
    got = run("TMOV", on, "mat f16 16x16 Nz <- acc f32 16x16 Nz", src=src)["dst"].view(F16)[:4]
    assert got.tolist() == [1, 1 + 2**-9, np.inf, -1.5]
    got = run("TMOV", on, "mat f16 16x16 Nz <- acc f32 16x16 Nz; relu", src=src)["dst"].view(F16)[:4]
    assert got.tolist() == [1, 1 + 2**-9, np.inf, 0]


def test_accumulator_to_rows_columns_and_blocks():
    matrix = np.arange(32 * 32, dtype=F32).reshape(32, 32)
    src = nz(matrix, 16)
    part = np.zeros((32, 32), F32)
    part[:20, :30] = matrix[:20, :30]
    for on in ("cpu", "a5"):
        source = "acc f32 32x32[20x30] Nz"
        rows = run("TMOV", on, f"vec f32 32x32[20x30] ND <- {source}", src=src)["dst"].view(F32).reshape(32, 32)
        assert (rows == part).all(), on
        cols = run("TMOV", on, f"vec f32 32x32[20x30] DN <- {source}", src=src)["dst"].view(F32).reshape(32, 32)
        assert (cols == part.T).all(), on
        whole = part if on == "cpu" else matrix  # a device moves all rows, and columns in whole boxes
        boxes = run("TMOV", on, f"vec f32 32x32[20x30] Nz <- {source}", src=src)["dst"].view(F32)
        assert (boxes == nz(whole, 8).reshape(-1)).all(), on
        wide = run("TMOV", on, f"vec f32 32x32[20x30] Nz1024 <- {source}", src=src)["dst"].view(F32)
        assert (wide == nz(whole, 16).reshape(-1)).all(), on


def test_wide_blocks_of_halves_on_a5():
    """64 / size columns in a block of fractal 1024, whatever the box of the type (4.12)."""
    matrix = np.arange(16 * 64, dtype=F32).reshape(16, 64) % 509
    got = run("TMOV", "a5", "mat f16 16x64 Nz1024 <- acc f32 16x64 Nz", src=nz(matrix, 16))["dst"].view(F16)
    assert (got == nz(matrix.astype(F16), 32).reshape(-1)).all()


@each("on", ["cpu", "a5"])
def test_dual_modes_leave_the_part_of_sub_core_0(on):
    matrix = np.arange(48 * 128, dtype=F32).reshape(48, 128)
    source = "acc f32 48x128 Nz"
    old = np.full((48, 128), -1, F32)

    def moved(mode: str, valid: str = "") -> np.ndarray:
        text = f"vec f32 48x128{valid} ND <- {source}; mode={mode}"
        return run("TMOV", on, text, src=nz(matrix, 16), dst=old)["dst"].view(F32).reshape(48, 128)

    expect = old.copy()
    expect[:24] = matrix[:24]
    assert (moved("DualModeSplitM") == expect).all()
    assert (moved("DualModeSplitM", "[24x128]") == expect).all()
    expect = old.copy()
    expect[:, :64] = matrix[:, :64]  # the pitch stays that of the whole tile
    assert (moved("DualModeSplitN") == expect).all()
    assert (moved("SingleModeVec0") == matrix).all()
    assert (moved("SingleModeVec1") == matrix).all()


def test_dual_modes_split_whole_boxes() -> None:
    matrix = np.arange(32 * 64, dtype=F32).reshape(32, 64)
    for mode, half in (("SplitM", matrix[:16]), ("SplitN", matrix[:, :32])):
        text = f"vec f32 32x64 Nz <- acc f32 32x64[25x61] Nz; mode=DualMode{mode}"
        got = run("TMOV", "a5", text, src=nz(matrix, 16))["dst"].view(F32).reshape(8, 32, 8)
        assert (got[: half.shape[1] // 8, : len(half)] == nz(half, 8)).all(), mode


def test_bias_takes_all_columns_on_devices():
    half = np.arange(64, dtype=F16)
    for on, columns in (("cpu", 60), ("a2a3", 64), ("a5", 64)):
        got = run("TMOV", on, "bias f32 1x64[1x60] ND <- mat f16 1x64[1x60] ND", src=half)["dst"].view(F32)
        assert (got[:columns] == np.arange(columns)).all()
        assert (got[columns:] == 0).all()
    brain = np.arange(64).astype(ml_dtypes.bfloat16)
    got = run("TMOV", "a5", "bias f32 1x64 ND <- mat bf16 1x64 ND", src=brain)["dst"].view(F32)
    assert (got == np.arange(64)).all()


def test_nd_to_nz_with_row_plus_one():
    """The worked example: element (2, 16) goes to 17 * 16 + 2 * 16."""
    src = np.arange(16 * 32, dtype=np.uint16)
    text = "vec f16 32x32[3x32] Nz+1 <- vec f16 16x32[3x32] ND"
    got = run("TMOV", "a5", text, src=src)["dst"].view(np.uint16)
    assert got[304] == 2 * 32 + 16
    assert np.count_nonzero(got) == 3 * 32 - 1


def test_nd_to_nz_follows_the_rounded_valid_rows():
    src = np.arange(1, 16 * 32 + 1, dtype=np.uint16)
    got = run("TMOV", "a5", "vec f16 32x32[16x32] Nz <- vec f16 16x32 ND", src=src)["dst"].view(np.uint16)
    assert (got[: 16 * 32] == nz(src.reshape(16, 32), 16).reshape(-1)).all()
    assert (got[16 * 32 :] == 0).all()
    got = run("TMOV", "cpu", "vec f16 32x32[16x32] Nz <- vec f16 16x32 ND", src=src)["dst"].view(np.uint16)
    blocks = got.reshape(2, 32, 16)
    assert (blocks[:, :16] == nz(src.reshape(16, 32), 16)).all()


def test_nd_to_zn():
    """The worked example: d[j * 8 + i] = s[i * 16 + j]."""
    src = np.arange(8 * 16, dtype=np.uint32)
    got = run("TMOV", "a5", "vec f32 8x16 Zn <- vec f32 8x16 ND", src=src)["dst"].view(np.uint32)
    i, j = np.ogrid[:8, :16]
    assert (got[j * 8 + i] == i * 16 + j).all()


@each("on", ["cpu", "a5"])
def test_nd_to_zz(on):
    src = np.arange(64, dtype=np.uint8)
    text = "vec u8 16x4 Zz32 <- vec u8 16x4 ND; tmp=vec u8 1x1024 ND"
    got = run("TMOV", on, text, src=src)["dst"]
    assert got[:6].tolist() == [0, 1, 4, 5, 8, 9]
    assert got[32] == 2


def test_nd_to_zz_clears_the_rows_behind_the_source_on_a5():
    src = np.arange(1, 129, dtype=np.uint8)
    text = "vec u8 32x4[18x4] Zz32 <- vec u8 32x4[18x4] ND; fp=vec u8 1x1024 ND"
    after = run("TMOV", "a5", text, src=src)
    assert (after["src"][:72] == src[:72]).all()
    assert (after["src"][72:128] == 0).all()
    boxes = after["dst"].reshape(2, 2, 16, 2)
    assert boxes[1, 0, 1].tolist() == [69, 70]
    assert (boxes[1, :, 2:] == 0).all()
    kept = run("TMOV", "cpu", text, src=src)
    assert (kept["src"] == src).all()
    assert (kept["dst"] == after["dst"]).all()


def test_dn_to_zz():
    src = np.arange(32, dtype=np.uint8)
    text = "vec u8 16x2 Zz32 <- vec u8 2x16 ND; tmp=vec u8 1x32 ND; grp_axis=0"
    got = run("TMOV", "a5", text, src=src)["dst"]
    q, e = np.ogrid[:16, :2]
    assert (got[2 * q + e] == e * 16 + q).all()


def test_vec_to_mat_moves_whole_blocks():
    src = np.arange(1, 257, dtype=np.uint16)
    text = "mat f16 8x32[3x22] ND <- vec f16 8x32 ND"
    got = run("TMOV", "a5", text, src=src)["dst"].view(np.uint16)
    assert (got[:64] == src[:64]).all()  # 66 elements are 4 blocks and a rest of 2
    assert (got[64:] == 0).all()


def test_vec_nz_to_mat_packs_the_rounded_rows():
    src = np.arange(1, 32 * 32 + 1, dtype=np.uint16)
    text = "mat f16 32x32[16x32] Nz <- vec f16 32x32 Nz"
    got = run("TMOV", "a5", text, src=src)["dst"].view(np.uint16)
    assert (got[:256] == src[:256]).all()
    assert (got[256:512] == src[256:512]).all()  # the gap is the difference of the static rows: none


@each("on", ["a2a3", "a5"])
def test_operand_moves_cover_the_valid_region_of_dst(on):
    layout = "Zz" if on == "a2a3" else "Nz"
    src = np.arange(1, 32 * 32 + 1, dtype=np.uint16)
    text = f"left f16 32x32 {layout} <- mat f16 32x32[30x20] Nz"
    matrix = run("TMOV", on, text, src=src)["dst"].view(np.uint16)
    assert np.count_nonzero(matrix) == 32 * 32


def test_fp4_pairs_move_as_nibbles():
    src = np.arange(64 * 64 // 2, dtype=np.uint32).astype(np.uint8)
    got = run("TMOV", "a5", "vec e2m1 16x128 Nz <- vec e2m1 16x128 ND", src=src[: 16 * 64])["dst"]
    codes = np.stack([src[: 16 * 64] & 15, src[: 16 * 64] >> 4], 1).reshape(16, 128)
    packed = nz(codes, 64).reshape(-1, 2)
    assert (got == (packed[:, 0] | packed[:, 1] << 4)).all()


def test_convolution_weights():
    c1hw, n, c0 = 4, 48, 16
    src = np.arange(c1hw * n * c0, dtype=np.uint16)
    matrix = src.reshape(c1hw, n, c0).transpose(0, 2, 1).reshape(c1hw * c0, n)
    boxes = matrix.reshape(4, 16, 3, 16).transpose(0, 2, 3, 1).reshape(-1)  # Zn
    for dims in ("4x3x16x16", "1x2x2x48x16"):
        for on in ("cpu", "a2a3", "a5"):
            got = run("TMOV", on, f"right f16 64x48 Zn <- conv FRACTAL_Z f16 {dims}", src=src)["dst"].view(np.uint16)
            assert (got == boxes).all()


@each(
    "text, pipe",
    [
        ("left f16 16x16 Nz <- mat f16 16x16 Nz", Pipe.MTE1),
        ("right f16 16x16 Zn <- mat f16 16x16 Nz", Pipe.MTE1),
        ("bias f32 1x64 ND <- mat f32 1x64 ND", Pipe.MTE1),
        ("scaleleft e8m0 16x2 Zz32 <- mat e8m0 16x2 Zz32", Pipe.MTE1),
        ("scaling u64 1x16 ND <- mat u64 1x16 ND", Pipe.FIX),
        ("mat f16 16x16 Nz <- acc f32 16x16 Nz", Pipe.FIX),
        ("vec f16 16x16 ND <- acc f32 16x16 Nz", Pipe.FIX),
        ("mat f16 16x16 ND <- vec f16 16x16 ND", Pipe.MTE3),
        ("vec f16 16x16 ND <- vec f16 16x16 ND", Pipe.V),
    ],
)
def test_pipe(text, pipe):
    assert move_pipe(site("TMOV", "a5", text)) is pipe


def test_single_elements_keep_the_order_of_v_on_a5():
    """The scalar unit moves them, with flags from V before and to V after it."""
    text = "vec f16 1x16[1x1] ND <- vec f16 16x16 ND; row=3; col=5"
    for name in ("TEXTRACT", "TINSERT"):
        assert TABLE[name].pipe_of(site(name, "a5", text)) is Pipe.V


def test_an_operand_is_not_changed_by_what_becomes_of_its_source():
    machine = Single(target("a5"))
    data = np.arange(512, dtype=np.uint16)
    for change in (
        lambda t: t.raw().fill(7),
        lambda t: t.fill(0, 32, 0, 16, 0),
        lambda t: t.write(t.read() * 2, 32, 16),
    ):
        src = machine.tile(tile("mat f16 32x16 Nz"), data.tobytes())
        dst = machine.tile(tile("left f16 32x16 Nz"))
        src.read()
        machine.execute(TABLE["TMOV"], {"dst": dst, "src": src})
        change(src)
        assert (dst.raw()[0].view(np.uint16) == data).all()


# --- plain tiles on the way to the cube ------------------------------------------------------------------------------


def boxed(raw: np.ndarray, rows: int, cols: int, layout: str) -> np.ndarray:
    """The matrix whose boxes of 32-byte lines lie like this in memory: Nz has rows inside, Zn columns."""
    c0 = 32 // raw.itemsize
    if layout == "Nz":
        return raw.reshape(cols // c0, rows, c0).transpose(1, 0, 2).reshape(rows, cols)
    return raw.reshape(rows // c0, cols, c0).transpose(0, 2, 1).reshape(rows, cols)


@each("dtype", ["f16", "f32", "i8"])
@each("to", ["left", "right"])
@each("on, source", [("a5", "ND"), *(("a2a3", n) for n in ("ND", "DN", "Nz", "Zn"))])
def test_boxes_are_taken_for_granted(dtype: str, source: str, on: str, to: str) -> None:
    """The library's load asks whether boxes run alike, and takes everything else as the other kind."""
    raw = np.random.default_rng(1).integers(-60, 60, 32 * 64).astype(NUMPY[dtype])
    machine = Single(target(on))
    src = machine.tile(tile(f"mat {dtype} 32x64 {source}"), raw.tobytes())
    dst = machine.tile(tile(f"{to} {dtype} 32x64 {'Zn' if to == 'right' else 'Zz' if on == 'a2a3' else 'Nz'}"))
    machine.execute(TABLE["TMOV"], {"dst": dst, "src": src})
    taken = source if source in ("Nz", "Zn") else "Zn" if to == "left" else "Nz"
    assert np.array_equal(dst.read()[0], boxed(raw, 32, 64, taken))


def test_one_plain_row_is_copied() -> None:
    raw = np.arange(512, dtype=np.float16)
    for on, layout in (("a2a3", "Zz"), ("a5", "Nz")):
        machine = Single(target(on))
        src = machine.tile(tile("mat f16 1x512 ND"), raw.tobytes())
        dst = machine.tile(tile(f"left f16 1x512 {layout}"))
        machine.execute(TABLE["TMOV"], {"dst": dst, "src": src})
        assert np.array_equal(dst.read()[0, 0], raw)


def test_a_plain_matrix_on_cpu_is_copied_by_row_and_column() -> None:
    raw = np.arange(1024, dtype=np.float16)
    machine = Single(target("cpu"))
    src, dst = machine.tile(tile("mat f16 32x32 ND"), raw.tobytes()), machine.tile(tile("left f16 32x32 Nz"))
    machine.execute(TABLE["TMOV"], {"dst": dst, "src": src})
    assert np.array_equal(dst.read()[0], raw.reshape(32, 32))
