"""Programs with elements of tiles, prints, traps, merges and modes of the cube unit, from text to result."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.run import compile_program
from ptokit.targets import target

from ..each import each

T = "!pto.tile_buf<vec, 1x64xf32>"
V = "!pto.partition_tensor_view<1x64xf32>"


def launch(body: str, *arrays: np.ndarray, on: str = "a5", blocks: int = 1) -> None:
    """Run a kernel whose arguments are rows of 64 f32, each loaded into %t0, %t1, ... and stored back at the end."""
    params = ", ".join(f"%m{k}: !pto.ptr<f32>" for k in range(len(arrays)))
    lines = ["%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index", "%c64 = arith.constant 64 : index"]
    lines += ["%b = pto.get_block_idx", "%i = arith.index_cast %b : i64 to index"]
    for k in range(len(arrays)):
        lines += [
            f"%v{k} = pto.make_tensor_view %m{k}, shape = [%c64, %c64], strides = [%c64, %c1] "
            ": !pto.tensor_view<?x?xf32>",
            f"%p{k} = pto.partition_view %v{k}, offsets = [%i, %c0], sizes = [%c1, %c64] "
            f": !pto.tensor_view<?x?xf32> -> {V}",
            f"%t{k} = pto.alloc_tile : {T}",
            f"pto.tload ins(%p{k} : {V}) outs(%t{k} : {T})",
        ]
    stores = [f"pto.tstore ins(%t{k} : {T}) outs(%p{k} : {V})" for k in range(len(arrays))]
    text = "\n".join([f"func.func @k({params}) {{", *lines, body, *stores, "return\n}"])
    result = parse_module(text, "t.pto", target=target(on))
    assert not list(result.diagnostics), "\n".join(map(str, result.diagnostics))
    compile_program(result.module, target(on)).launch(list(arrays), blocks=blocks)


def rows(count: int = 64) -> np.ndarray:
    """Different small numbers."""
    return np.random.default_rng(1).permutation(count * 64).reshape(count, 64).astype(np.float32)


@pytest.mark.parametrize("on", ["cpu", "a2a3", "a5"])
@pytest.mark.parametrize("blocks", [1, 3])
def test_an_element_moves(on: str, blocks: int) -> None:
    x = rows()
    want = x.copy()
    want[:blocks, 7] = x[:blocks, 60] + 1
    body = f"""%c7 = arith.constant 7 : index
      %c60 = arith.constant 60 : index
      %one = arith.constant 1.0 : f32
      %e = pto.tgetval ins(%t0, %c60 : {T}, index) outs : f32
      %f = arith.addf %e, %one : f32
      pto.tsetval ins(%c7, %f : index, f32) outs(%t0 : {T})"""
    launch(body, x, on=on, blocks=blocks)
    assert np.array_equal(x, want)


def test_elements_at_places_of_their_own_blocks() -> None:
    x = rows()
    want = x.copy()
    for block in range(4):
        want[block, block] = -1.0
    body = f"%m = arith.constant -1.0 : f32\npto.tsetval ins(%i, %m : index, f32) outs(%t0 : {T})"
    launch(body, x, blocks=4)
    assert np.array_equal(x, want)


def test_elements_outside_the_tile() -> None:
    body = f"%e = pto.tgetval ins(%t0, %n : {T}, index) outs : f32"
    with pytest.raises(DiagnosticError) as caught:
        launch("%n = arith.constant 64 : index\n" + body, rows())
    assert caught.value.diagnostics[0].rule == "ELEM-01"
    with pytest.raises(DiagnosticError) as caught:
        launch("%n = arith.addi %i, %c64 : index\n" + body, rows(), blocks=2)
    assert caught.value.diagnostics[0].rule == "ELEM-01"


def test_traps() -> None:
    with pytest.raises(DiagnosticError) as caught:
        launch("pto.trap", rows())
    assert caught.value.diagnostics[0].rule == "RUN-TRAP"
    launch("%no = arith.constant false\nscf.if %no {\npto.trap\n}", rows())


def test_printing_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    launch('%n = arith.constant 5 : i32\npto.print ins("n = %3d\\0A", %n : i32)', rows())
    assert capsys.readouterr().out == "n =   5\n"


@pytest.mark.parametrize("text", ["%d %d", "%s", "nothing", "100%"])
def test_formats_that_print_no_number(text: str) -> None:
    with pytest.raises(DiagnosticError) as caught:
        launch(f'%n = arith.constant 5 : i32\npto.print ins("{text}", %n : i32)', rows())
    assert caught.value.diagnostics[0].rule == "PRINT-04"


def test_printing_tiles(capsys: pytest.CaptureFixture[str]) -> None:
    t = "!pto.tile_buf<vec, 2x8xi32, valid=1x3>"
    body = f"%z = pto.alloc_tile : {t}\n%n = arith.constant 5 : i32\n"
    body += f"pto.texpands ins(%n : i32) outs(%z : {t})\npto.tprint ins(%z : {t})"
    launch(body, rows(), on="cpu")
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("%z, block 0")
    assert lines == ["TPRINT 1x3", "       5        5        5"]
    launch(body, rows(), on="a5")
    lines = capsys.readouterr().out.splitlines()[1:]
    assert lines[0] == "=== [TPRINT Tile] Data Type: int32, Layout: ND, TileType: Vec ==="
    assert lines[1] == "  Shape: [2, 8], Valid Shape: [1, 3]"
    assert lines[2].split() == ["5", "5", "5", "|", "0", "0", "0", "0", "0"]
    assert set(lines[3]) == {"-", "|", " "}
    assert len(lines) == 5


def test_printing_views(capsys: pytest.CaptureFixture[str]) -> None:
    x = rows()
    launch(f"pto.tprint ins(%p0 : {V})", x)
    lines = capsys.readouterr().out.splitlines()[1:]
    assert lines[:2] == [
        "=== [TPRINT GlobalTensor] Data Type: float32, Layout: ND ===",
        "  Shape: [1, 1, 1, 1, 64]",
    ]
    assert [float(word) for word in lines[2].split()] == x[0].tolist()


@pytest.mark.parametrize("exhausted", [False, True])
def test_merging_two_lists(exhausted: bool) -> None:
    """Records of two sorted rows, each a value and an index, in one row."""
    keys = np.sort(rows(1).reshape(2, 32))[:, ::-1]
    x = np.zeros((64, 64), np.float32)
    x[0] = np.stack((keys[0], keys[0] + 0.5), axis=1).reshape(-1)
    y = np.zeros((64, 64), np.float32)
    y[0] = np.stack((keys[1], keys[1] + 0.5), axis=1).reshape(-1)
    z = np.zeros((64, 64), np.float32)
    both = "!pto.tile_buf<vec, 1x128xf32>"
    body = f"""%d = pto.alloc_tile : {both}
      %w = pto.alloc_tile : {both}
      %ex = arith.constant dense<[0, 0, 0, 0]> : vector<4xi16>
      pto.tmrgsort ins(%t0, %t1, %w {{exhausted = {str(exhausted).lower()}}} : {T}, {T}, {both})
        outs(%d, %ex : {both}, vector<4xi16>)
      %half = pto.subset %d[%c0, %c0] sizes [1, 64] : {both}
      pto.tmov ins(%half : !pto.tile_buf<vec, 1x64xf32>) outs(%t2 : {T})"""
    launch(body, x, y, z)
    want = np.sort(keys.reshape(-1))[::-1][:32]
    assert np.array_equal(z[0, 0::2], want)
    assert np.array_equal(z[0, 1::2], want + 0.5)


def to_bits(x: np.ndarray, kept: int, away: bool) -> np.ndarray:
    """f32 with `kept` bits of mantissa, by exact arithmetic on each number."""
    mantissa, exponent = np.frexp(x.astype(np.float64))
    scaled = mantissa * 2.0 ** (kept + 1)
    whole = np.floor(np.abs(scaled) + 0.5) if away else np.abs(np.rint(scaled))
    return np.ldexp(np.sign(scaled) * whole, exponent - kept - 1).astype(np.float32)


@pytest.mark.parametrize("away", [True, False])
@pytest.mark.parametrize(("on", "kept"), [("a2a3", 11), ("a5", 10), ("cpu", 23)])
def test_products_of_rounded_numbers(on: str, kept: int, away: bool) -> None:
    x = np.random.default_rng(3).standard_normal((16, 16)).astype(np.float32)
    x[0] = np.arange(16) * 2.0**-12 + 1  # ties of both formats
    y, z = np.eye(16, dtype=np.float32), np.zeros((16, 16), np.float32)
    left = "!pto.tile_buf<left, 16x16xf32, slayout=row_major>"
    if on == "a5":
        left = left.replace("slayout", "blayout=col_major, slayout")
    mat = "!pto.tile_buf<mat, 16x16xf32, blayout=col_major, slayout=row_major>"
    right = "!pto.tile_buf<right, 16x16xf32, slayout=col_major>"
    acc = "!pto.tile_buf<acc, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>"
    m = "memref<16x16xf32>"
    mode = "CAST_ROUND" if away else "CAST_RINT"
    text = f"""func.func @k(%x: {m}, %y: {m}, %z: {m}) {{
      %a = pto.alloc_tile : {mat}
      %b = pto.alloc_tile : {mat}
      %l = pto.alloc_tile : {left}
      %r = pto.alloc_tile : {right}
      %c = pto.alloc_tile : {acc}
      pto.tload ins(%x : {m}) outs(%a : {mat})
      pto.tload ins(%y : {m}) outs(%b : {mat})
      pto.tmov ins(%a : {mat}) outs(%l : {left})
      pto.tmov ins(%b : {mat}) outs(%r : {right})
      pto.settf32mode {{enable = true, mode = "{mode}"}}
      pto.tmatmul ins(%l, %r : {left}, {right}) outs(%c : {acc})
      pto.tstore ins(%c : {acc}) outs(%z : {m})
      return
    }}"""
    result = parse_module(text, "t.pto", target=target(on))
    assert not list(result.diagnostics), "\n".join(map(str, result.diagnostics))
    compile_program(result.module, target(on)).launch([x, y, z])
    assert np.array_equal(z, to_bits(x, kept, away))


def test_unknown_rounding() -> None:
    with pytest.raises(DiagnosticError) as caught:
        launch('pto.settf32mode {enable = true, mode = "CAST_FLOOR"}', rows())
    assert caught.value.diagnostics[0].rule == "MODE-01"


@pto.kernel(target="a5")
def _masked(x: pto.Ptr[pto.f32]):
    row = pto.GlobalTensor(x, (64, 64))[pto.get_block_idx() : pto.get_block_idx() + 1, :]
    t = pto.Tile(pto.TileType.Vec, pto.f32, 1, 64)
    d = pto.Tile(pto.TileType.Vec, pto.f32, 1, 64)
    pto.TLOAD(t, row)
    pto.TMOV(d, t)
    pto.TGATHER(d, t, mask="P1010")
    pto.TSTORE(row, d)


def test_a_mask_that_selects_less_than_the_tile_holds() -> None:
    """The assembler refuses it in text; in Python it leaves the rest of the tile as it was."""
    x = rows()
    want = x.copy()
    want[:2, :32] = x[:2, 1::2]
    _masked[2](x)
    assert np.array_equal(x, want)


@each(
    "on, dtype, valid, apart",
    [
        ("a5", pto.f32, (3, 23), 7),
        ("a2a3", pto.f32, (0, 24), 7),
        ("cpu", pto.i64, (3, 23), 7),
        ("a5", pto.i64, (4, 24), 7),
        ("a5", pto.i64, (2, 9), 12),  # rows of 64 bits, a period's part of the 24 columns after each other
    ],
)
def test_a_mask_of_columns_writes_whatever_is_valid(
    on: str, dtype: pto.DType, valid: tuple[int, int], apart: int
) -> None:
    @pto.kernel(target=on)
    def masked(x: pto.Ptr[dtype], y: pto.Ptr[dtype], rows: int, cols: int, height: pto.Static) -> None:
        source = pto.Tile(pto.TileType.Vec, dtype, 4, 24, valid_row=3, valid_col=15, addr=0)
        part = pto.Tile(pto.TileType.Vec, dtype, height, 24, valid_row=rows, valid_col=cols, addr=4096)
        whole = pto.Tile(pto.TileType.Vec, dtype, height, 24, addr=4096)
        pto.TLOAD(whole, pto.GlobalTensor(y, (height, 24)))
        pto.TLOAD(source, pto.GlobalTensor(x, (4, 24))[:3, :15])
        pto.TGATHER(part, source, mask=pto.MaskPattern.P1010)
        pto.TSTORE(pto.GlobalTensor(y, (height, 24)), whole)

    x, y = np.arange(96).reshape(4, 24).astype(dtype.value), np.full((4, 24), -1, dtype.value)
    wanted = y.copy()
    for row in range(3):
        wanted.reshape(-1)[row * apart : row * apart + 7] = x[row, 1:15:2]
    masked(x, y, *valid, height=4)
    assert np.array_equal(y, wanted)
    if apart > 7:
        with pytest.raises(DiagnosticError, match="P1010 selects takes 31 elements"):
            masked(x, y[:1], 1, 9, height=1)
