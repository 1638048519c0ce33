"""Tiles whose size or valid region another call decides: popped ones, and those of convolutions."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

import ml_dtypes
import numpy as np
import pytest

import ptokit
from ptokit.ir.pipe_rules import _QUANTS
from ptokit.types.codecs import encode
from ptokit.types.dtypes import hif8
from ptokit.types.enums import Layout
from ptokit.types.tensor import sizes_of_scales

from ..each import each

pytestmark = pytest.mark.usefixtures("compiler")
PUSHED = Template("""
#include <pto/pto-inst.hpp>
using namespace pto;
__global__ AICORE void k(__gm__ half* x, __gm__ $element* y, __gm__ float* memory, int32_t last) {
    using Pipe = TPipe<0, Direction::DIR_C2V, 16 * 16 * sizeof(float), 2, 2, $whole>;
    Pipe pipe($memory, 0x8000, 0x0);
    using G = GlobalTensor<half, Shape<1, 1, 1, 16, 16>, Stride<1, 1, 1, 16, 1>>;
#ifdef __DAV_CUBE__
    Tile<TileType::Mat, half, 16, 16, BLayout::ColMajor, 16, 16, SLayout::RowMajor> m;
    TileLeft<half, 16, 16> a;
    TileRight<half, 16, 16> b;
    TileAcc<float, 16, 16> c;
    TileAcc<float, 16, 16, $rows, 16> pushed;
    TASSIGN(m, 0);
    TASSIGN(a, 0);
    TASSIGN(b, 0);
    TASSIGN(c, 0);
    TASSIGN(pushed, 0);
    for (int k = 0; k < 4; k++) {
        G g(x + 256 * k);
        TLOAD(m, g);
        PtoSetWaitFlag<PIPE_MTE2, PIPE_MTE1>();
        TMOV(a, m);
        TMOV(b, m);
        PtoSetWaitFlag<PIPE_MTE1, PIPE_M>();
        TMATMUL(c, a, b);
        PtoSetWaitFlag<PIPE_M, PIPE_FIX>();
        $push
        pipe_barrier(PIPE_ALL);
    }
#endif
#ifdef __DAV_VEC__
    $popped
#endif
}
""")
POPPED = PUSHED.substitute(
    element="float",
    whole="false",
    memory="memory",
    rows=15,
    push="TPUSH<Pipe, decltype(pushed), TileSplitAxis::TILE_UP_DOWN_ODD>(pipe, pushed);",
    popped="""
    using Rows = Shape<1, 1, 1, -1, 16>;
    const int rows = get_subblockid() ? last : 8;
    Tile<TileType::Vec, float, 8, 16, BLayout::RowMajor, -1, 16> popped(rows), doubled(rows);
    TASSIGN(doubled, 0x1000);
    for (int k = 0; k < 4; k++) {
        TPOP<Pipe, decltype(popped), TileSplitAxis::TILE_UP_DOWN_ODD>(pipe, popped);
        PtoSetWaitFlag<PIPE_MTE2, PIPE_V>();
        TADD(doubled, popped, popped);
        PtoSetWaitFlag<PIPE_V, PIPE_MTE3>();
        GlobalTensor<float, Rows, Stride<1, 1, 1, 16, 1>> out(y + 256 * k + 128 * get_subblockid(), Rows(rows));
        TSTORE(out, doubled);
        pipe_barrier(PIPE_ALL);
        TFREE<Pipe, TileSplitAxis::TILE_UP_DOWN_ODD>(pipe);
    }
""",
)


def test_how_much_of_a_popped_tile_is_valid_the_run_decides(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cpp"
    path.write_text(POPPED)
    kernel = ptokit.cpp(path, target="a2a3")["k"]
    assert not kernel.check()
    x = np.random.default_rng(2).integers(-3, 4, (4, 16, 16)).astype(np.float16)
    expected = 2 * (x @ x).astype(np.float32)
    y, memory = np.zeros((4, 16, 16), np.float32), np.zeros(1024, np.float32)
    kernel(x, y, memory, 7)
    assert (y[:, :15] == expected[:, :15]).all()
    assert not y[:, 15].any()
    assert not kernel.sanitize(x, y, memory, 7).diagnostics.errors
    # Nothing of it is valid, as compilers write it where a core has no work: it is taken and given back.
    once = POPPED.replace("for (int k = 0; k < 4; k++)", "constexpr int k = 0;")
    idle = once.replace("popped(rows), doubled(rows)", "popped(8), doubled(0); popped.SetValidRow(0)")
    path.write_text(idle.replace("TSTORE(out, doubled);", ""))
    kernel = ptokit.cpp(path, target="a2a3")["k"]
    assert not kernel.check().errors
    y[:] = 0
    kernel(x, y, memory, 0)
    assert not y.any()


FILLED = [
    *((target, "half", "F322F16", "", 1.0) for target in ("a5", "a2a3")),
    *((target, "bfloat16_t", "F322BF16", "", 1.0) for target in ("a5", "a2a3")),
    ("a5", "half", "QF322F16_PRE", "SET_QUANT_SCALAR<half>(0.5f);", 0.5),  # on a2a3 a scaled f32 becomes i8
    ("a5", "float8_e4m3_t", "QF322FP8_PRE", "SET_QUANT_SCALAR<float8_e4m3_t>(0.125f);", 0.125),
    ("a5", "hifloat8_t", "QF322HIF8_PRE", "SET_QUANT_SCALAR<hifloat8_t>(0.125f);", 0.125),
]


@each("target, element, mode, set_before, scale", FILLED)
def test_the_fix_pipe_quantises_what_is_pushed(
    tmp_path: Path, target: str, element: str, mode: str, set_before: str, scale: float
) -> None:
    how = f"FixpipeParams<LayoutMode_t::NZ2ND, QuantMode_t::{mode}, ReluPreMode::NormalRelu>"
    text = PUSHED.substitute(
        element=element,
        whole=str(target == "a5").lower(),
        memory="memory" if target == "a2a3" else "nullptr",
        rows=16,
        push=f"{set_before} TPUSH<Pipe, decltype(pushed), {how}>(pipe, pushed);",
        popped=f"""
    Tile<TileType::Vec, {element}, 16, 16> popped;
    const int count = get_subblockid() == 0 || {str(target == "a2a3").lower()} ? 4 : 0;
    for (int k = 0; k < count; k++) {{
        TPOP<Pipe, decltype(popped), TileSplitAxis::TILE_NO_SPLIT>(pipe, popped);
        GlobalTensor<{element}, Shape<1, 1, 1, 16, 16>, Stride<1, 1, 1, 16, 1>> out(y + 256 * k);
        pipe_barrier(PIPE_ALL);
        if (get_subblockid() == 0) TSTORE(out, popped);
        pipe_barrier(PIPE_ALL);
        TFREE<Pipe, TileSplitAxis::TILE_NO_SPLIT>(pipe);
    }}
""",
    )
    n = 32 if "8" in element else 16  # a row of bytes is 32 long at least
    if n == 32:
        text = re.sub(r"\b16\b", "32", text).replace("256 * k", "1024 * k")
    path = tmp_path / "kernel.cpp"
    path.write_text(text)
    kernel = ptokit.cpp(path, target=target)["k"]
    assert not kernel.check().errors
    if target == "a2a3":  # said in text, too
        assert not ptokit.check(ptokit.convert(path, "dps", target=target), target=target).errors
    x = np.random.default_rng(2).integers(-5, 9, (4, n, n)).astype(np.float16)
    y = np.zeros((4, n, n), np.float16 if element == "half" else np.uint16 if "16" in element else np.uint8)
    memory = np.zeros(2048, np.float32)
    kernel(x, y, memory, 0)
    expected = np.maximum(x.astype(np.float32) @ x.astype(np.float32), 0) * np.float32(scale)
    bits = expected.view(np.uint32)
    rounded = {
        "half": expected.astype(np.float16),
        "bfloat16_t": (bits + 0x7FFF + (bits >> 16 & 1)) >> 16,
        "float8_e4m3_t": expected.astype(ml_dtypes.float8_e4m3fn).view(np.uint8),
        "hifloat8_t": encode(hif8, expected),
    }
    assert (y == rounded[element]).all()
    assert not kernel.sanitize(x, y, memory, 0).diagnostics.errors


@pytest.mark.parametrize(("stated", "bytes"), [(4096, 8192), (8192, 8192), (3584, 8192)])
def test_groups_of_a_convolution_lie_as_far_apart_as_those_they_become(tmp_path: Path, stated: int, bytes: int) -> None:
    """Some kernels state elements: 4096 of 16 bits are no 4096 bytes, since groups of 7 have room for 16."""
    path = tmp_path / "kernel.cpp"
    path.write_text(
        "#include <pto/pto-inst.hpp>\nusing namespace pto;\n__global__ AICORE void k(__gm__ float* x) {\n"
        f"ConvTile<TileType::Vec, half, {stated}, Layout::GNC1HWC0, ConvTileShape<4, 7, 2, 1, 8, 4>> from;\n"
        "ConvTile<TileType::Vec, half, 4096, Layout::FRACTAL_Z, ConvTileShape<64, 1, 16, 4>> to;\n"
        "Tile<TileType::Vec, half, 16, 32> tmp;\nTASSIGN(from, 0);\nTASSIGN(to, 0x4000);\nTASSIGN(tmp, 0x8000);\n"
        "TTRANS(to, from, tmp);\n}\n"
    )
    module = ptokit.cpp(path, target="a2a3")["k"].module
    (op,) = (op for op in module.functions[0].body.walk() if op.name == "pto.ttrans")
    assert op["src"].type.nbytes == bytes


OTHER_SIZES = """#include <pto/pto-inst.hpp>
using namespace pto;
using T = Tile<TileType::Vec, float, 16, 64, BLayout::RowMajor, -1, -1>;
__global__ AICORE void k(__gm__ float* x, int32_t rows) {
    T tiles[2];
    TASSIGN(tiles[0], 0);
    TASSIGN(tiles[1], 0x1000);
    for (int i = 0; i < 2; i++) tiles[i] = T(rows, 64);
    GlobalTensor<float, Shape<1, 1, 1, -1, 64>, Stride<1024, 1024, 1024, 64, 1>> v(x, {rows});
    uint8_t flag = 0;
    for (int i = 0; i < 3; i++) {
        TLOAD(tiles[flag], v);
        pipe_barrier(PIPE_ALL);
        TADDS(tiles[flag], tiles[flag], 1.0f);
        pipe_barrier(PIPE_ALL);
        TSTORE(v, tiles[flag]);
        pipe_barrier(PIPE_ALL);
        flag = flag == 0;
    }
}
"""


def test_a_tile_that_is_given_other_sizes_stays_where_it_is(tmp_path: Path) -> None:
    """Constructors of the library set no address, so that assigning a new tile leaves that of TASSIGN."""
    path = tmp_path / "kernel.cpp"
    path.write_text(OTHER_SIZES)
    kernel = ptokit.cpp(path, target="a2a3")["k"]
    x = np.zeros((16, 64), np.float32)
    kernel(x, 9)
    assert (x[:9] == 3).all()
    assert not x[9:].any()


def test_scales_may_be_stated_as_rows_and_columns() -> None:
    of = sizes_of_scales
    assert of(Layout.MX_A_ND, [1, 1, 1, "m", 64]) == of(Layout.MX_A_ND, [1, 1, "m", 32, 2]) == (1, 1, "m", 32, 2)
    assert of(Layout.MX_B_DN, [1, 1, 1, 64, "n"]) == (1, 1, "n", 32, 2)
    assert of(Layout.MX_A_DN, [1, 1, 1, "m", 64]) == (1, 1, 32, "m", 2)
    assert of(Layout.MX_B_ND, [1, 1, 1, 64, "n"]) == (1, 1, 32, "n", 2)
    assert of(Layout.ND, [1, 1, 1, 3, 4]) == (1, 1, 1, 3, 4)


CALLS = {
    "TCONCAT(a, b, c, i, j)": ("tconcatidx", "dst=a src0=b src1=c idx0=i idx1=j"),
    "TCONCAT(a, b, c)": ("tconcat", "dst=a src0=b src1=c"),
    "TROWARGMAX(column, indices, b, c)": ("trowargmax", "dst=indices src=b tmp=c dst_val=column"),
    "TROWARGMAX(indices, b, c)": ("trowargmax", "dst=indices src=b tmp=c"),
    "TPAIRREDUCESUM(a, b)": ("tpairreducesum", "dst=a src=b"),
}


def test_calls_are_read_as_the_table_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cpp"
    declared = "Tile<TileType::Vec, float, 8, 64> a, b, c;\nTile<TileType::Vec, int32_t, 8, 8> i, j;\n"
    declared += "Tile<TileType::Vec, float, 8, 1, BLayout::ColMajor> column;\n"
    declared += "Tile<TileType::Vec, int32_t, 8, 1, BLayout::ColMajor> indices;\n"
    placed = "".join(f"TASSIGN({n}, {4096 * k});\n" for k, n in enumerate("a b c i j column indices".split()))
    head = "#include <pto/pto-inst.hpp>\nusing namespace pto;\n__global__ AICORE void k(__gm__ float* x) {\n"
    path.write_text(head + declared + placed + "".join(f"{call};\n" for call in CALLS) + "}\n")
    body = ptokit.cpp(path, target="a2a3")["k"].module.functions[0].body
    ops = [op for op in body.walk() if op.name.startswith("pto.t")]
    given = [(op.name[4:], {name: value.called for name, value in op.operands.items()}) for op in ops]
    assert given == [(name, dict(each.split("=") for each in stated.split())) for name, stated in CALLS.values()]


def test_a_number_among_the_template_arguments_is_an_option(tmp_path: Path) -> None:
    path = tmp_path / "kernel.cpp"
    head = "#include <pto/pto-inst.hpp>\nusing namespace pto;\n__global__ AICORE void k(__gm__ float* x) {\n"
    path.write_text(head + "Tile<TileType::Vec, float, 8, 64> a;\nTASSIGN(a, 0);\nTTRI<decltype(a), 1>(a, 2);\n}\n")
    assert "pto.ttri" in ptokit.cpp(path, target="a5")["k"].to_pto()


def test_the_words_of_a_push_are_those_of_the_text() -> None:
    header = (Path(str(ptokit.__file__)).parent / "cpp/headers/ptokit/pipes.hpp").read_text()
    told = re.search(r"quant_word\(\) \{(.*?)\n\}", header, re.DOTALL)
    assert told is not None
    assert set(re.findall(r'"(\w+)"', told[1])) == set(_QUANTS)
