"""Kernels in C++ that use the language: what they compute, on both backends, and from Python."""

from __future__ import annotations

import linecache
import re
from pathlib import Path

import numpy as np
import pytest

import ptokit
from ptokit.cpp.compiler import arguments_at, declared_at
from ptokit.cpp.lift.numbers import Lifting
from ptokit.diagnostics import DiagnosticError, Location
from ptokit.ir.control import return_of
from ptokit.targets import A5

pytestmark = pytest.mark.usefixtures("compiler")
TARGETS = ("a2a3", "a5")
BACKENDS = ("numpy", "native")


@pytest.fixture
def x() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((4, 8, 64)).astype(np.float32)


def expected(name: str, x: np.ndarray) -> np.ndarray:
    if name == "ring":
        return x + 1
    if name == "lambdas":
        return np.stack([x[0] * 2, np.abs(x[1]), x[2] * 2, np.abs(x[3])])
    return np.stack([-x[0], x[1] * 3, np.abs(x[2]), x[3] * 3])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["ring", "lambdas", "table"])
def test_control_flow(kernels: Path, x: np.ndarray, name: str, target: str, backend: str) -> None:
    y = np.zeros_like(x)
    ptokit.cpp(kernels / "features.cpp", target=target)[name](x, y, 4, backend=backend)
    assert y.tobytes() == expected(name, x).tobytes()


def test_a_kernel_is_a_program_for_all_tools() -> None:
    """It is timed and proved as a kernel in Python is, also for another target."""
    file = Path(__file__).parents[2] / "examples" / "cpp" / "add_rows.cpp"
    kernel = ptokit.cpp(file, target="a2a3")["add_rows<float, 64>"]
    x = np.zeros((64, 64), np.float32)
    assert kernel.time(x, x, x, 4).work > kernel.time(x, x, x, 1).work > 0
    assert kernel.prove(assume=["strips <= 2"]).proved
    assert not ptokit.check(kernel, target="a5").errors


def test_what_control_flow_makes_is_of_cpp() -> None:
    """Findings and fixes are written in the language of the program, which an operation's class does not know."""
    place = Location("k.cpp", 3, 1)
    assert Lifting("k", A5, place).add(return_of(place)).in_cpp


def test_data_decides(kernels: Path, x: np.ndarray) -> None:
    y, rows = np.zeros_like(x), np.array([2, 0, 3, 1, -1] + [0] * 11, np.int32)
    ptokit.cpp(kernels / "features.cpp", target="a2a3")["data"](x, y, rows)
    want = np.stack([x[r] + (10 if x[r, 0, 3] > 0 else 0) for r in (2, 0, 3, 1)]).astype(np.float32)
    assert y.tobytes() == want.tobytes()
    assert rows[15] == 4


@pytest.mark.parametrize("n", [0, 1, 12, 30])
def test_local_array(kernels: Path, n: int) -> None:
    for backend in BACKENDS:
        x, y = np.arange(7, 39, dtype=np.int32), np.zeros(32, np.int32)
        ptokit.cpp(kernels / "features.cpp", target="a5")["local"](x, y, n, backend=backend)
        want = np.zeros(32, np.int32)
        for i in range(n):
            want[i] = x[(i * 5) % 12] * 3 - i
        assert (y == want).all(), backend


@pytest.mark.parametrize(("type", "dtype"), [("float", np.float32), ("half", np.float16), ("int32_t", np.int32)])
def test_template_with_arguments(kernels: Path, type: str, dtype: type) -> None:
    kernel = ptokit.cpp(kernels / "features.cpp", target="a2a3")[f"twice<{type}, 32>"]
    x, y = np.arange(256, dtype=dtype), np.zeros(256, dtype)
    kernel[1](x, y)
    assert (y == 2 * x).all()


def test_clean_kernels_have_no_findings(kernels: Path, x: np.ndarray) -> None:
    file = ptokit.cpp(kernels / "features.cpp", target="a2a3")
    assert set(file) == {"ring", "lambdas", "data", "table", "local"}
    for name in ("ring", "lambdas", "table"):
        assert not file[name].check()
        assert not file[name].sanitize(x, np.zeros_like(x), 4).diagnostics


def test_text_form_is_the_same_program(kernels: Path, x: np.ndarray) -> None:
    text = ptokit.cpp(kernels / "features.cpp", target="a2a3")["table"].to_pto()
    y = np.zeros_like(x)
    ptokit.run(text, [x, y, 4])
    assert y.tobytes() == expected("table", x).tobytes()


def lifted(tmp_path: Path, body: str, target: str = "a5") -> str:
    """The `.pto` text of a kernel of three pointers with a body."""
    path = tmp_path / "kernel.cpp"
    head = "#include <pto/pto-inst.hpp>\nusing namespace pto;\n__global__ AICORE void k(__gm__ float* x) {\n"
    path.write_text(head + body + "}\n")
    return ptokit.cpp(path, target=target)["k"].to_pto()


def test_tiles_of_convolutions_are_known_as_such(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cpp"
    path.write_text(
        "#include <pto/pto-inst.hpp>\nusing namespace pto;\n"
        "__global__ AICORE void k(__gm__ float* y, __gm__ float* x) {\n"
        "ConvTile<TileType::Vec, float, 512, Layout::NC1HWC0, ConvTileShape<1, 1, 2, -1, 8>> t(8);\n"
        "Tile<TileType::Vec, float, 2, 64> all;\nTASSIGN(t, 0x100);\nTASSIGN(all, 0x100);\n"
        "GlobalTensor<float, Shape<1, 1, 2, 8, 8>, Stride<128, 128, 64, 8, 1>, Layout::NC1HWC0> g(x);\n"
        "GlobalTensor<float, Shape<1, 1, 1, 2, 64>, Stride<1, 1, 1, 64, 1>> out(y);\n"
        "TTRANS(all, t, all);\nTSTORE(out, all);\n}\n"
    )
    with pytest.raises(DiagnosticError, match="transposed into a convolution tile"):
        ptokit.cpp(path, target="a5")["k"](np.zeros(128, np.float32), np.zeros(128, np.float32))


def test_pairs_of_4_bits_count_as_two(tmp_path: Path) -> None:
    text = lifted(
        tmp_path,
        "auto p = (__gm__ float4_e2m1x2_t*)x + 32;\n"
        "Tile<TileType::Vec, float4_e2m1x2_t, 4, 64> t;\nTASSIGN(t, 0);\n"
        "GlobalTensor<float4_e2m1x2_t, Shape<1, 1, 1, 4, 64>, Stride<1, 1, 1, 64, 1>> g(p);\nTLOAD(t, g);\n",
    )
    assert "4x64xf4E2M1" in text.replace("FN", "")
    assert "64" in next(line for line in text.splitlines() if "addptr" in line or "constant 64" in line)


def test_transfers_by_address(tmp_path: Path) -> None:
    text = lifted(
        tmp_path,
        "Tile<TileType::Mat, float, 16, 16> m;\nTile<TileType::Vec, float, 16, 16> v;\n"
        "TASSIGN(m, 0);\nTASSIGN(v, 0x400);\n"
        "create_cbuf_matrix((__cbuf__ uint16_t*)__cce_get_tile_ptr(m.data()), 1 | 32 << 16, 0);\n"
        "copy_cbuf_to_ubuf(v.data(), m.data(), 0, 1, 32, 0, 0);\n",
    )
    assert "copy_cbuf_to_ubuf" in text
    assert "create_cbuf_matrix" in text


def test_parts_count_in_elements_of_their_own(tmp_path: Path) -> None:
    """The cube core stores numbers, the vector cores rows of bytes; a fill repeats words as long as its elements."""
    body = (
        "const int32_t n = 70000 + get_block_idx();\n"
        "__gm__ int32_t* mine = x + 24 * get_block_idx();\n"
        "#if defined(__DAV_CUBE__)\n"
        "create_cbuf_matrix((__cbuf__ int32_t*)0, 1 | 1 << 16, static_cast<uint32_t>(n));\n"
        "pipe_barrier(PIPE_ALL);\ncopy_cbuf_to_gm(mine, (__cbuf__ int32_t*)0, 0, 1, 1, 0, 0);\n"
        "pipe_barrier(PIPE_ALL);\nmine[0] = 5;\n"
        "#elif defined(__DAV_VEC__)\n"
        "const int32_t half = get_subblockid();\n"
        "__ubuf__ int32_t* ub = (__ubuf__ int32_t*)64;\n"
        "copy_gm_to_ubuf(ub, y, 0, 2, 1, 1, 0);\npipe_barrier(PIPE_ALL);\n"
        "copy_ubuf_to_gm(mine + 8 + 8 * half, ub + 8 * half, 0, 1, 1, 0, 0);\n"
        "#endif\n"
    )
    x, y = np.zeros(48, np.int32), np.arange(32, dtype=np.int32)
    ptokit.cpp(written(tmp_path, body, "int32_t"), target="a2a3")["k"][2](y, x)
    rows = [[5] + [70000 + block] * 7 + [*range(8), *range(16, 24)] for block in range(2)]
    assert x.reshape(2, 24).tolist() == rows


def test_scratch_may_say_more_than_it_holds(tmp_path: Path) -> None:
    tiles = (
        "Tile<TileType::Vec, float, 4, 64> a;\nTile<TileType::Vec, float, 4, 1, BLayout::ColMajor, 1, 1> unused;\n"
        "Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor, 4, 1> r;\n"
        "Tile<TileType::Vec, float, 4, 32, BLayout::RowMajor, 4, 64> b;\n"
        "TASSIGN(a, 0);\nTASSIGN(r, 0x1000);\nTASSIGN(b, 0x2000);\n"
    )
    assert "pto.trowmax" in lifted(tmp_path, tiles + "TROWMAX(r, a, b);\n", "a2a3")
    with pytest.raises(DiagnosticError, match="4x64 are valid in a tile of 4x32"):
        lifted(tmp_path, tiles + "TADD(b, b, b);\n")


def test_cube_core_reaches_both_vector_cores(tmp_path: Path) -> None:
    """What fills L1 is the cube core's alone, guarded or not; each vector core finds what its buffer was given."""
    path = tmp_path / "kernel.cpp"
    path.write_text(
        "#include <pto/pto-inst.hpp>\nusing namespace pto;\n"
        "__global__ AICORE void k(__gm__ float* y, __gm__ float* x) {\n"
        "Tile<TileType::Mat, float, 4, 64> m;\nTile<TileType::Vec, float, 2, 64> v;\n"
        "TASSIGN(m, 0);\nTASSIGN(v, 0x400);\n"
        "GlobalTensor<float, Shape<1, 1, 1, 4, 64>, Stride<1, 1, 1, 64, 1>> g(x);\nTLOAD(m, g);\n"
        "#ifdef __DAV_CUBE__\nset_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);\nwait_flag(PIPE_MTE2, PIPE_MTE1, EVENT_ID0);\n"
        "for (int core = 0; core < 2; core++) {\n"
        "copy_cbuf_to_ubuf(v.data(), m.data() + core * 128, core, 1, 16, 0, 0);\n"
        "set_intra_block(PIPE_MTE1, 16 * core);\n}\n#endif\n"
        "#ifdef __DAV_VEC__\nwait_intra_block(PIPE_MTE3, 0);\n"
        "GlobalTensor<float, Shape<1, 1, 1, 2, 64>, Stride<1, 1, 1, 64, 1>> out(y + get_subblockid() * 128);\n"
        "TSTORE(out, v);\n#endif\n}\n"
    )
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    ptokit.cpp(path, target="a5")["k"](y, x)
    assert y.tobytes() == x.tobytes()
    assert not ptokit.cpp(path, target="a5")["k"].sanitize(np.zeros_like(x), x).diagnostics


def written(tmp_path: Path, body: str, type: str) -> Path:
    """A file with a kernel of two pointers and a body."""
    path = tmp_path / "kernel.cpp"
    head = "#include <pto/pto-inst.hpp>\nusing namespace pto;\n"
    path.write_text(f"{head}__global__ AICORE void k(__gm__ {type}* y, __gm__ {type}* x) {{\n{body}}}\n")
    return path


def launched(tmp_path: Path, body: str, target: str, x: np.ndarray, y: np.ndarray) -> None:
    """Run a kernel of two pointers, from `x` to `y`, with a body."""
    path = written(tmp_path, body, {"float16": "half", "float32": "float"}[x.dtype.name])
    ptokit.cpp(path, target=target)["k"](y.view(x.dtype), x)


def test_the_fractals_of_l1_get_all_of_a_view(tmp_path: Path) -> None:
    """Whatever is valid; the last block of a row is filled up with zeros. L1 is stored by blocks."""
    x, y = np.arange(1, 451, dtype=np.float16), np.full((2, 16, 16), -1, np.float16)
    body = (
        "Tile<TileType::Mat, half, 16, 32, BLayout::ColMajor, 16, 32, SLayout::RowMajor> m;\nTASSIGN(m, 0);\n"
        "GlobalTensor<half, Shape<1, 1, 1, 15, 30>, Stride<1, 1, 1, 30, 1>> g(x);\nTLOAD(m, g);\n"
        "set_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);\nwait_flag(PIPE_MTE2, PIPE_MTE3, EVENT_ID0);\n"
        "copy_cbuf_to_gm(y, m.data(), 0, 2, 16, 0, 0);\n"
    )
    launched(tmp_path, body, "a2a3", x, y)
    want = np.pad(x.reshape(15, 30), ((0, 0), (0, 2))).reshape(15, 2, 16).transpose(1, 0, 2)
    assert (y[:, :15] == want).all()


def test_longer_rows_of_a_packed_view_stay_packed(tmp_path: Path) -> None:
    """Gaps of a2a3 are those of the view: without them, rows of 64 follow each other in a view of rows of 16."""
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    body = (
        "Tile<TileType::Vec, float, 4, 64> t;\nTASSIGN(t, 0);\n"
        "GlobalTensor<float, Shape<1, 1, 1, 4, 64>, Stride<1, 1, 1, 64, 1>> g(x);\n"
        "GlobalTensor<float, Shape<1, 1, 1, 4, 16>, Stride<1, 1, 1, 16, 1>> out(y);\n"
        "Event<Op::TLOAD, Op::TSTORE_VEC> loaded = TLOAD(t, g);\nTSTORE(out, t, loaded);\n"
    )
    launched(tmp_path, body, "a2a3", x, y)
    assert (y == x).all()


def test_blocks_are_stored_as_far_as_their_rows_are_valid(tmp_path: Path) -> None:
    x, y = np.arange(512, dtype=np.float16), np.zeros((2, 16, 16), np.float16)
    body = (
        "using T = Tile<TileType::Vec, half, 16, 32, BLayout::ColMajor, -1, -1, SLayout::RowMajor>;\nT all(16, 32);\n"
        "T some(3, 32);\nTASSIGN(all, 0);\nTASSIGN(some, 0);\n"
        "using G = GlobalTensor<half, Shape<1, 2, 1, 16, 16>, Stride<512, 256, 256, 16, 1>, Layout::NZ>;\n"
        "G g(x), out(y);\nEvent<Op::TLOAD, Op::TSTORE_VEC> loaded = TLOAD(all, g);\nTSTORE(out, some, loaded);\n"
    )
    launched(tmp_path, body, "a5", x, y)
    want = x.reshape(2, 16, 16).copy()
    want[:, 3:] = 0
    assert (y == want).all()


def test_patches_of_a_feature_map(tmp_path: Path) -> None:
    """The filter of a convolution tile is said by methods: 2x2 with a stride of 2 makes 4 rows of a 4x4 map."""
    body = (
        "ConvTile<TileType::Mat, half, 512, Layout::NC1HWC0, ConvTileShape<1, 1, 4, 4, 16>> map;\n"
        "TileLeft<half, 16, 16, 4, 16> left;\nTASSIGN(map, 0);\nTASSIGN(left, 0);\n"
        "GlobalTensor<half, Shape<1, 1, 4, 4, 16>, Stride<256, 256, 64, 16, 1>, Layout::NC1HWC0> g(x);\n"
        "TLOAD(map, g);\nuint8_t pads[] = {0, 0, 0, 0};\nmap.SetPadListArray(pads);\n\n"
        "map.SetFmapH(4);\nmap.SetFmapW(4);\n"
        "map.SetFilterH(2);\nmap.SetFilterW(2);\nmap.SetStrideH(2);\nmap.SetStrideW(2);\n"
        "TIMG2COL<decltype(left), decltype(map), SetFmatrixMode::FMATRIX_A_AUTO>(left, map, 0, 16);\n"
    )
    path = written(tmp_path, body, "half")
    module = ptokit.cpp(path, target="a5")["k"].module
    (map,) = (op["src"].type for op in module.functions[0].body.walk() if op.name == "pto.timg2col")
    assert (map.state.filter, map.state.stride, map.state.fmap) == ((2, 2), (2, 2), (4, 4))


def test_pipes_between_cores(tmp_path: Path) -> None:
    """The cube core pushes products of four rows of blocks, the vector cores take their halves and give slots back."""
    body = (
        "using Pipe = TPipe<0, Direction::DIR_C2V, 16 * 16 * sizeof(float), 2>;\nPipe pipe(nullptr, 0x8000, 0x0);\n"
        "using G = GlobalTensor<half, Shape<1, 1, 1, 16, 16>, Stride<1, 1, 1, 16, 1>>;\n"
        "#ifdef __DAV_CUBE__\n"
        "Tile<TileType::Mat, half, 16, 16, BLayout::ColMajor, 16, 16, SLayout::RowMajor> m;\n"
        "TileLeft<half, 16, 16> a;\nTileRight<half, 16, 16> b;\nTileAcc<float, 16, 16> c;\n"
        "TASSIGN(m, 0);\nTASSIGN(a, 0);\nTASSIGN(b, 0);\nTASSIGN(c, 0);\n"
        "for (int k = 0; k < 4; k++) {\nG g(x + 256 * k);\nTLOAD(m, g);\nPtoSetWaitFlag<PIPE_MTE2, PIPE_MTE1>();\n"
        "TMOV(a, m);\nTMOV(b, m);\nPtoSetWaitFlag<PIPE_MTE1, PIPE_M>();\nTMATMUL(c, a, b);\n"
        "PtoSetWaitFlag<PIPE_M, PIPE_FIX>();\nTPUSH<Pipe, decltype(c), TileSplitAxis::TILE_UP_DOWN>(pipe, c);\n"
        "pipe_barrier(PIPE_ALL);\n}\n#endif\n"
        "#ifdef __DAV_VEC__\nTile<TileType::Vec, float, 8, 16> half_of_it;\nfor (int k = 0; k < 4; k++) {\n"
        "TPOP<Pipe, decltype(half_of_it), TileSplitAxis::TILE_UP_DOWN>(pipe, half_of_it);\n"
        "GlobalTensor<float, Shape<1, 1, 1, 8, 16>, Stride<1, 1, 1, 16, 1>> out("
        "(__gm__ float*)y + 256 * k + 128 * get_subblockid());\nTSTORE(out, half_of_it);\npipe_barrier(PIPE_ALL);\n"
        "TFREE<Pipe, TileSplitAxis::TILE_UP_DOWN>(pipe);\n}\n#endif\n"
    )
    x = np.random.default_rng(2).integers(-3, 4, (4, 16, 16)).astype(np.float16)
    y = np.zeros((4, 16, 16), np.float32)
    launched(tmp_path, body, "a5", x, y)
    assert (y == (x @ x).astype(np.float32)).all()


def test_vector_registers(tmp_path: Path) -> None:
    """Predicates count what is left; a register has the value that was set last."""
    body = (
        "Tile<TileType::Vec, float, 4, 64> t;\nTASSIGN(t, 0);\n"
        "GlobalTensor<float, Shape<1, 1, 1, 4, 64>, Stride<1, 1, 1, 64, 1>> in(x), out(y);\nTLOAD(t, in);\n"
        "PtoSetWaitFlag<PIPE_MTE2, PIPE_V>();\n__VEC_SCOPE__ {\n__ubuf__ float* p = t.data();\n"
        "RegTensor<float> a, b, two;\nuint32_t left = 200;\nfor (uint16_t k = 0; k < 4; k++) {\n"
        "MaskReg mask = CreatePredicate<float>(left);\nvdup(two, 2.0f, mask, MODE_ZEROING);\n"
        "vlds(a, p, k * 64, NORM);\nvmul(b, a, two, mask);\nvadds(b, b, 1, mask);\n"
        "vsts(b, p, k * 64, NORM_B32, mask);\n}\nmem_bar(VST_VLD);\n}\n"
        "PtoSetWaitFlag<PIPE_V, PIPE_MTE3>();\nTSTORE(out, t);\n"
    )
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    launched(tmp_path, body, "a5", x, y)
    assert (y == np.where(np.arange(256) < 200, 2 * x + 1, x)).all()


def test_a_single_row_of_l1_is_filled_up_with_what_follows(tmp_path: Path) -> None:
    """The library moves as many elements as are valid, whatever the view says; so do long runs, block by block."""
    body = (
        "Tile<TileType::Mat, float, 1, 32> m;\nTASSIGN(m, 0);\n"
        "GlobalTensor<float, Shape<1, 1, 1, 1, 30>, Stride<1, 1, 1, 30, 1>> g(x);\nTLOAD(m, g);\n"
    )
    found = ptokit.cpp(written(tmp_path, body, "float"), target="a5")["k"].check()
    assert [(d.rule, d.severity.name) for d in found] == [("LOAD-A5-D1", "WARNING")]
    text = lifted(
        tmp_path,
        "Tile<TileType::Vec, float, 1, 32768> v;\nTASSIGN(v, 0);\ncopy_gm_to_ubuf(v.data(), x, 0, 1, 4096, 0, 0);\n",
    )
    call = next(line for line in text.splitlines() if "copy_gm_to_ubuf" in line).split()
    constants = {line.split()[0]: line.split()[3] for line in text.splitlines() if "arith.constant" in line}
    assert [constants[word.rstrip(",")] for word in call[4:6]] == ["4096", "32"]


@pytest.mark.parametrize("target", TARGETS)
def test_cores_hand_each_other_slots_of_memory(kernels: Path, target: str) -> None:
    """By flags whose numbers the run decides, and by pipes in the branches of a condition."""
    file = ptokit.cpp(kernels / "clusters.cpp", target=target)
    x = np.random.default_rng(3).integers(-3, 4, (5, 32, 32)).astype(np.float32)
    products, step = x @ x, np.arange(5, dtype=np.float32)[:, None, None]
    memory, told, y = np.zeros((2, 32, 32), np.float32), np.zeros(512, np.uint32), np.zeros_like(x)
    for name, rest, want in (
        ("flags", (told, 5), products + step),
        ("pipes", (5, 0), products + step),
        ("pipes", (5, 1), products - step),
    ):
        file[name][1](y, x, memory, *rest)
        assert y.tobytes() == want.tobytes(), (name, rest)
        assert not file[name].check().errors, name
        assert not file[name].sanitize(y, x, memory, *rest).diagnostics.errors, (name, rest)


def test_null_pointers_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cpp"
    path.write_text(
        "#include <pto/pto-inst.hpp>\nusing namespace pto;\n"
        "__global__ AICORE void k(__gm__ int32_t* y, __gm__ int32_t* lengths, __gm__ int32_t* more, int32_t n) {\n"
        "  const bool both = lengths != nullptr && more != nullptr;\n"
        "  for (int i = 0; i < n; i++) y[i] = both ? more[i] : lengths == nullptr ? -1 : lengths[i];\n}\n"
    )
    kernel, some, more = (
        ptokit.cpp(path, target="a5")["k"],
        np.arange(4, dtype=np.int32),
        np.arange(5, 9, dtype=np.int32),
    )
    for given, want in (((some, more), more), ((some, None), some), ((None, more), [-1] * 4), ((None, None), [-1] * 4)):
        y = np.zeros(4, np.int32)
        kernel(y, *given, 4)
        assert y.tolist() == list(want)
        assert not kernel.sanitize(y, *given, 4).diagnostics


def test_registers_of_two_results_and_what_is_declared(tmp_path: Path) -> None:
    """Every other element of a row: even ones first. An array has the type that is declared, whatever it is cast to."""
    path = tmp_path / "kernel.cpp"
    path.write_text(
        "#include <pto/pto-inst.hpp>\nusing namespace pto;\n"
        "static_assert(PTO_UBUF_SIZE_BYTES == 256 * 1024 && sizeof(vector_f16) == 256);\n"
        "__global__ AICORE void k(__gm__ float* x) {\n"
        "Tile<TileType::Vec, half, 1, 256> t;\nTASSIGN(t, 0);\n"
        "GlobalTensor<half, Shape<1, 1, 1, 1, 256>, Stride<1, 1, 1, 256, 1>> g(reinterpret_cast<__gm__ half*>(x));\n"
        "TLOAD(t, g);\nPtoSetWaitFlag<PIPE_MTE2, PIPE_V>();\n__VEC_SCOPE__ {\n__ubuf__ half* p = t.data();\n"
        "uint32_t n = 128;\nMaskReg all = CreatePredicate<half>(n);\nvector_f16 low[2], high[2];\n"
        "vlds(low[0], high[0], p, 0, DINTLV_B16);\nvintlv(low[1], high[1], low[0], high[0]);\n"
        "vdintlv(low[0], high[0], low[1], high[1]);\nmem_bar(VLD_VST);\n"
        "vsts(low[0], p, 0, NORM_B16, all);\nvsts(high[0], p, 128, NORM_B16, all);\n}\n"
        "PtoSetWaitFlag<PIPE_V, PIPE_MTE3>();\nTSTORE(g, t);\n}\n"
    )
    kernel, x = ptokit.cpp(path, target="a5")["k"], np.arange(256, dtype=np.float16)
    kernel(x.view(np.float32))
    assert (x == [*range(0, 256, 2), *range(1, 256, 2)]).all()
    assert not kernel.check()


def test_control_bits(tmp_path: Path) -> None:
    text = lifted(
        tmp_path, "const uint64_t old = get_ctrl();\nset_ctrl(sbitset0(sbitset1(old, 60), 60));\nset_ctrl(old);\n"
    )
    assert text.count("pto.get_ctrl") == 1
    assert text.count("pto.set_ctrl") == 2


def test_a_tile_in_place_of_a_number(tmp_path: Path) -> None:
    """TCMPS compares with the first element of a tile, which the vector unit reads (on a2a3 the scalar unit)."""
    x, y = np.arange(64, dtype=np.float32), np.zeros(8, np.float32)
    x[32:] -= 40
    body = (
        "Tile<TileType::Vec, float, 1, 64> t;\nTile<TileType::Vec, float, 1, 8, BLayout::RowMajor, 1, 1> one;\n"
        "Tile<TileType::Vec, uint8_t, 1, 32> bits;\nTASSIGN(t, 0);\nTASSIGN(bits, 0x400);\n"
        "TASSIGN(one, 0x800);\n"
        "GlobalTensor<float, Shape<1, 1, 1, 1, 64>, Stride<1, 1, 1, 64, 1>> g(x);\n"
        "GlobalTensor<float, Shape<1, 1, 1, 1, 1>, Stride<1, 1, 1, 64, 1>> g1(x + 5);\n"
        "GlobalTensor<uint8_t, Shape<1, 1, 1, 1, 32>, Stride<1, 1, 1, 32, 1>> out((__gm__ uint8_t*)y);\n"
        "TLOAD(t, g);\nTLOAD(one, g1);\nPtoSetWaitFlag<PIPE_MTE2, PIPE_V>();\nTCMPS(bits, t, one, CmpMode::GT);\n"
        "PtoSetWaitFlag<PIPE_V, PIPE_MTE3>();\nTSTORE(out, bits);\n"
    )
    for target in TARGETS:
        launched(tmp_path, body, target, x, y)
        assert (np.unpackbits(y.view(np.uint8)[:8], bitorder="little") == (x > 5)).all()
    assert not ptokit.cpp(tmp_path / "kernel.cpp", target="a5")["k"].sanitize(y, x).diagnostics.errors


_POSITIONS = (
    "Tile<TileType::Vec, float, 1, 64> t;\nTile<TileType::Vec, int32_t, 1, 64> found;\n"
    "Tile<TileType::Vec, uint32_t, 8, 1, BLayout::ColMajor, 1, 1> k, count;\nTile<TileType::Vec, uint8_t, 1, 32> tmp;\n"
    "TASSIGN(t, 0);\nTASSIGN(found, 0x400);\nTASSIGN(k, 0x800);\nTASSIGN(count, 0xC00);\n"
    "GlobalTensor<float, Shape<1, 1, 1, 1, 64>, Stride<1, 1, 1, 64, 1>> g(x);\nTLOAD(t, g);\n"
    "GlobalTensor<uint32_t, Shape<1, 1, 1, 1, 1>, Stride<1, 1, 1, 8, 1>, Layout::DN> g1((__gm__ uint32_t*)x);\n"
    "TLOAD(k, g1);\nPtoSetWaitFlag<PIPE_MTE2, PIPE_V>();\n"
    "TGATHER<decltype(found), decltype(t), decltype(k), decltype(count), decltype(tmp), CmpMode::GT>("
    "found, t, k, count, tmp, uint32_t(*((__gm__ uint32_t*)x + 1)));\n"
    "GlobalTensor<int32_t, Shape<1, 1, 1, 1, 64>, Stride<1, 1, 1, 64, 1>> out((__gm__ int32_t*)y);\n"
    "PtoSetWaitFlag<PIPE_V, PIPE_MTE3>();\nTSTORE(out, found);\n"
)


def test_scratch_that_is_not_touched_needs_no_address(tmp_path: Path) -> None:
    """The scratch tile of TGATHER by comparison, on a5; and what positions count from may be known by the run only."""
    x, y = np.zeros(64, np.float32), np.zeros(64, np.float32)
    x[[3, 40, 41]], x[1:2].view(np.uint32)[:] = 1, 100
    launched(tmp_path, _POSITIONS, "a5", x, y)
    assert y.view(np.int32)[:5].tolist() == [101, 103, 140, 141, 0]
    with pytest.raises(DiagnosticError, match="the tile tmp has no address"):
        launched(tmp_path, _POSITIONS, "a2a3", x, y)


def test_numbers_of_an_array_and_codes_in_a_row_of_bytes(tmp_path: Path) -> None:
    """An array is told number by number, also where they are no constants; an empty region fits any tile."""
    text = lifted(
        tmp_path,
        "auto words = (__gm__ uint32_t*)x;\nTRandomKey key = {words[0], words[1]};\n"
        "TRandomCounter counter = {words[2], words[3], words[4], words[5]};\n"
        "Tile<TileType::Vec, uint32_t, 4, 256> r;\nTASSIGN(r, 0);\nTRANDOM(r, key, counter);\n"
        "Tile<TileType::Vec, half, 2, 128> source;\nTile<TileType::Vec, float4_e2m1x2_t, 1, 128> codes;\n"
        "Tile<TileType::Vec, uint8_t, 2, 32, BLayout::RowMajor, 2, 4> e;\nTile<TileType::Vec, half, 1, 16> m, s;\n"
        "TASSIGN(source, 0x4000);\nTASSIGN(codes, 0x5000);\nTASSIGN(e, 0x6000);\nTASSIGN(m, 0x7000);\n"
        "TASSIGN(s, 0x8000);\nTQUANT<QuantType::MXFP4_E2M1>(codes, source, &e, &m, &s);\n"
        "Tile<TileType::Vec, float, 1, 8, BLayout::RowMajor, -1, -1> none(8, 0);\nTASSIGN(none, 0x9000);\n"
        "TADD(none, none, none);\n",
    )
    (random,) = (line for line in text.splitlines() if "pto.trandom" in line)
    assert "i32, i32, i32, i32, i32, i32)" in random
    assert "2x128xf4E2M1" in text


def test_products_of_scaled_operands_by_address(tmp_path: Path) -> None:
    text = lifted(
        tmp_path,
        "Tile<TileType::Mat, uint8_t, 16, 32> scales;\nTileLeft<float8_e4m3_t, 16, 64> a;\n"
        "TileRight<float8_e4m3_t, 64, 16> b;\nTileAcc<float, 16, 16> c;\n"
        "TASSIGN(scales, 0);\nTASSIGN(a, 0);\nTASSIGN(b, 0);\nTASSIGN(c, 0);\n"
        "copy_gm_to_cbuf_align_v2(scales.data(), (__gm__ uint8_t*)x, 0, 1, 512, 0, 0, 0, 0, 0, 0);\n"
        "load_cbuf_to_ca_mx(0, (__cbuf__ void*)scales.data(), 0, 0, 1, 1, 1, 1);\n"
        "load_cbuf_to_cb_mx(0, (__cbuf__ void*)scales.data(), 0, 0, 1, 1, 1, 1);\n"
        "mad_mx(c.data(), a.data(), b.data(), 16, 64, 16, 0, false, false, true);\n",
    )
    for name in ("copy_gm_to_cbuf", "load_cbuf_to_ca_mx", "load_cbuf_to_cb_mx", "mad_mx"):
        assert f"pto.{name} " in text
    assert re.search(r"mad_mx %\w+, %\w+, %\w+, (%\w+), \1, %\w+ :", text)  # m, n, k


@pytest.mark.parametrize("target", TARGETS)
def test_elements_of_a_line_follow_each_other(tmp_path: Path, target: str) -> None:
    """A transfer does not read the stride along lines, nor does it look at how long those of the view are."""
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    body = (
        "Tile<TileType::Vec, float, 16, 1, BLayout::ColMajor> c;\nTASSIGN(c, 0);\n"
        "GlobalTensor<float, Shape<1, 1, 1, 16, 1>, Stride<1, 1, 1, 4, 1>, Layout::DN> column(x);\n"
        "GlobalTensor<float, Shape<1, 1, 1, 16, 1>, Stride<1, 1, 1, 1, 16>, Layout::DN> out(y);\n"
        "Tile<TileType::Vec, float, 2, 16> r;\nTASSIGN(r, 0x400);\n"
        "GlobalTensor<float, Shape<1, 1, 1, 2, 13>, Stride<1, 1, 1, 20, 1>> rows(x);\n"
        "GlobalTensor<float, Shape<1, 1, 1, 2, 16>, Stride<1, 1, 1, 16, 1>> out2(y + 16);\n"
        "TLOAD(c, column);\nTLOAD(r, rows);\nPtoSetWaitFlag<PIPE_MTE2, PIPE_MTE3>();\n"
        "TSTORE(out, c);\nTSTORE(out2, r);\n"
    )
    launched(tmp_path, body, target, x, y)
    pitch = 20 if target == "a5" else 23  # a2a3 states the gap between two rows
    assert (y[:48] == [*x[:16], *x[:16], *x[pitch : pitch + 16]]).all()


def test_operands_are_called_as_calls_write_them(tmp_path: Path) -> None:
    file = tmp_path / "kernel.cpp"
    calls = {
        "TADD(sum, x[1], at(1, 2));": ["sum", "x[1]", "at(1, 2)"],
        "TEXTRACT<D, static_cast<Mode>(mode), Relu>(\n   to, from, (a < b));": ["to", "from", "(a < b)"],
        "pto::TADD<float, Tile<1, (2 > 1)>> (to, from);": ["to", "from"],
        "TSYNC;": [],
    }
    for text, operands in calls.items():
        file.write_text(text)
        linecache.clearcache()
        assert arguments_at(Location(str(file), 1, 1)) == operands
    file.write_text("pipes[0].pop(tile);")
    linecache.clearcache()
    assert arguments_at(Location(str(file), 1, 10)) == ["pipes[0]"]
    file.write_text("Pipe<2> between(slots);")
    linecache.clearcache()
    assert declared_at(Location(str(file), 1, 9)) == "between"
