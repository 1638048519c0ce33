"""Pipes between cores in Python: compiled, interpreted and as text the same bytes; what starves is reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import Direction, GlobalTensor, Ptr, Tile, TileSplitAxis, TileType, TPipe, f16, f32
from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.run import compile_program

NZ: Any = {"blayout": pto.BLayout.ColMajor, "slayout": pto.SLayout.RowMajor}
SIZES = {
    TileSplitAxis.TILE_NO_SPLIT: (32, 32),
    TileSplitAxis.TILE_UP_DOWN: (16, 32),
    TileSplitAxis.TILE_LEFT_RIGHT: (32, 16),
}
TURNS = 5
SPLITS = list(SIZES)
ROUTES = [("a5", False), ("a5", True), ("a2a3", True)]


def own(split: TileSplitAxis) -> tuple[Any, Any]:
    """The first row and column of a vector core's part."""
    if split is TileSplitAxis.TILE_NO_SPLIT:
        return 0, 0
    first = pto.get_subblock_idx() * 16
    return (first, 0) if split is TileSplitAxis.TILE_UP_DOWN else (0, first)


def cube_tiles() -> tuple[Any, ...]:
    mat = Tile(TileType.Mat, f16, 32, 32, addr=0x10000, **NZ)
    return mat, pto.TileLeft(f16, 32, 32, addr=0), pto.TileRight(f16, 32, 32, addr=0), pto.TileAcc(f32, 32, 32, addr=0)


def c2v(target: str, memory: bool, split: TileSplitAxis, pops: int = TURNS, frees: bool = True) -> pto.Kernel:
    """y[t] = x[t] @ w + 1: x[t] and w are 32x32."""
    way = Direction.DIR_C2V_GM if memory and target == "a5" else Direction.DIR_C2V

    @pto.kernel(target=target)
    def kernel(x: Ptr[f16], w: Ptr[f16], slots: Ptr[f32], y: Ptr[f32]):
        rows, cols = SIZES[split]
        whole = split is TileSplitAxis.TILE_NO_SPLIT
        gm = slots if memory else None
        pipe = TPipe(0, way, 4096, 2, IsNoSplit=whole, gm_slot_buffer=gm, c2v_consumer_buf=0)
        with pto.cube_section():
            gx, gw = GlobalTensor(x, (32 * TURNS, 32)), GlobalTensor(w, (32, 32))
            mat, left, right, acc = cube_tiles()
            pto.TLOAD(mat, gw)
            pto.TMOV(right, mat)
            for t in range(TURNS):
                pto.TLOAD(mat, gx[t * 32 : t * 32 + 32])
                pto.TMOV(left, mat)
                pto.TMATMUL(acc, left, right)
                pto.TPUSH(pipe, acc, split)
        with pto.vector_section():
            gy = GlobalTensor(y, (32 * TURNS, 32))
            part = Tile(TileType.Vec, f32, rows, cols)
            out = Tile(TileType.Vec, f32, rows, cols, addr=0x8000)
            down, right_of = own(split)
            for t in range(pops):
                pto.TPOP(pipe, part, split)
                pto.TADDS(out, part, 1.0)
                if frees:
                    pto.TFREE(pipe, split)
                top = t * 32 + down
                pto.TSTORE(gy[top : top + rows, right_of : right_of + cols], out)

    return kernel


def v2c(target: str, memory: bool, split: TileSplitAxis, *, plain: bool = False) -> pto.Kernel:
    """y[t] = (x[t] + 1) @ w. ``plain``: rows are pushed, which L1 would need as fractals."""
    way = Direction.DIR_V2C_GM if memory and target == "a5" else Direction.DIR_V2C

    @pto.kernel(target=target)
    def kernel(x: Ptr[f16], w: Ptr[f16], slots: Ptr[f32], y: Ptr[f32]):
        rows, cols = SIZES[split]
        gm = slots if memory else None
        pipe = TPipe(4, way, 2048, 2, gm_slot_buffer=gm, v2c_consumer_buf=0)
        with pto.vector_section():
            gx = GlobalTensor(x, (32 * TURNS, 32))
            tile = Tile(TileType.Vec, f16, rows, cols, addr=0)
            nz = Tile(TileType.Vec, f16, rows, cols, addr=0x4000, **NZ)
            down, right_of = own(split)
            for t in range(TURNS):
                top = t * 32 + down
                pto.TLOAD(tile, gx[top : top + rows, right_of : right_of + cols])
                pto.TADDS(tile, tile, 1.0)
                if memory or plain:
                    pto.TPUSH(pipe, tile, split)
                else:
                    pto.TMOV(nz, tile)
                    pto.TPUSH(pipe, nz, split)
        with pto.cube_section():
            gw, gy = GlobalTensor(w, (32, 32)), GlobalTensor(y, (32 * TURNS, 32))
            mat, left, right, acc = cube_tiles()
            got = Tile(TileType.Mat, f16, 32, 32, **NZ)
            pto.TLOAD(mat, gw)
            pto.TMOV(right, mat)
            for t in range(TURNS):
                pto.TPOP(pipe, got, split)
                pto.TMOV(left, got)
                pto.TFREE(pipe, split)
                pto.TMATMUL(acc, left, right)
                pto.TSTORE(gy[t * 32 : t * 32 + 32], acc)

    return kernel


def arrays() -> list[np.ndarray]:
    """x, w, the memory of slots, y; whole numbers, so that sums are exact."""
    rng = np.random.default_rng(1)
    x, w = (rng.integers(-3, 4, (n, 32)).astype(np.float16) for n in (32 * TURNS, 32))
    return [x, w, np.zeros(1 << 14, np.float32), np.full((32 * TURNS, 32), -1, np.float32)]


def everywhere(kernel: pto.Kernel, blocks: int = 1) -> np.ndarray:
    """y, which a compiled run, an interpreted one, and one of the printed text leave alike."""
    compiled, interpreted, read = arrays(), arrays(), arrays()
    kernel[blocks](*compiled)
    kernel.interpret[blocks](*interpreted)
    text = kernel.to_pto()
    parsed = parse_module(text, "k.pto", target=kernel.target)
    parsed.diagnostics.raise_if_errors()
    compile_program(parsed.module, kernel.target).launch(read, blocks)
    assert [a.tobytes() for a in compiled] == [a.tobytes() for a in interpreted] == [a.tobytes() for a in read]
    return compiled[3]


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("target", "memory"), ROUTES)
def test_from_the_cube_core(target: str, memory: bool, split: TileSplitAxis) -> None:
    x, w, *_ = arrays()
    assert (everywhere(c2v(target, memory, split)) == x.astype(np.float32) @ w.astype(np.float32) + 1).all()


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("target", "memory"), ROUTES)
def test_to_the_cube_core(target: str, memory: bool, split: TileSplitAxis) -> None:
    x, w, *_ = arrays()
    assert (everywhere(v2c(target, memory, split)) == (x.astype(np.float32) + 1) @ w.astype(np.float32)).all()


def both(target: str) -> pto.Kernel:
    """y[t] = (x[t] + 1) @ w + 1, through one pipe in both directions."""
    memory = target == "a2a3"

    @pto.kernel(target=target)
    def kernel(x: Ptr[f16], w: Ptr[f16], slots: Ptr[f32], y: Ptr[f32]):
        split = TileSplitAxis.TILE_UP_DOWN
        gm = slots if memory else None
        pipe = TPipe(0, Direction.DIR_BOTH, 4096, 2, 1, gm_slot_buffer=gm, c2v_consumer_buf=0x8000, v2c_consumer_buf=0)
        with pto.vector_section():
            gx, gy = GlobalTensor(x, (32 * TURNS, 32)), GlobalTensor(y, (32 * TURNS, 32))
            tile = Tile(TileType.Vec, f16, 16, 32, addr=0)
            nz = Tile(TileType.Vec, f16, 16, 32, addr=0x4000, **NZ)
            part = Tile(TileType.Vec, f32, 16, 32)
            out = Tile(TileType.Vec, f32, 16, 32, addr=0x10000)
            for t in range(TURNS):
                top = t * 32 + pto.get_subblock_idx() * 16
                pto.TLOAD(tile, gx[top : top + 16])
                pto.TADDS(tile, tile, 1.0)
                if memory:
                    pto.TPUSH(pipe, tile, split)
                else:
                    pto.TMOV(nz, tile)
                    pto.TPUSH(pipe, nz, split)
                pto.TPOP(pipe, part, split)
                pto.TADDS(out, part, 1.0)
                pto.TFREE(pipe, split)
                pto.TSTORE(gy[top : top + 16], out)
        with pto.cube_section():
            mat, left, right, acc = cube_tiles()
            got = Tile(TileType.Mat, f16, 32, 32, **NZ)
            pto.TLOAD(mat, GlobalTensor(w, (32, 32)))
            pto.TMOV(right, mat)
            for _ in range(TURNS):
                pto.TPOP(pipe, got, split)
                pto.TMOV(left, got)
                pto.TFREE(pipe, split)
                pto.TMATMUL(acc, left, right)
                pto.TPUSH(pipe, acc, split)

    return kernel


def test_entries_in_another_layout_are_warned_of() -> None:
    rows = v2c("a5", False, TileSplitAxis.TILE_UP_DOWN, plain=True)
    (found,) = rows.check().warnings
    assert (found.rule, found.hint) == ("PIPE-LAYOUT", "push a tile in Nz: TMOV brings tile into one")
    assert found.message == "got is Nz, and the entries of the pipe are ND: elements change places"
    assert [note.message for note in found.notes] == [
        "got: Tile(Mat, f16, 32, 32, ColMajor, slayout=RowMajor)",
        "pushed here: tile: Tile(Vec, f16, 16, 32)",
    ]
    x, w, slots, y = np.eye(32, dtype=f16.value), np.eye(32, dtype=f16.value), np.zeros(1), np.zeros((32 * TURNS, 32))
    with pytest.warns(pto.KernelWarning, match="PIPE-LAYOUT"):
        rows[1](np.tile(x, (TURNS, 1)), w, slots.astype(np.float32), y.astype(np.float32))
    assert not v2c("a2a3", True, TileSplitAxis.TILE_UP_DOWN).check().warnings


@pytest.mark.parametrize("target", ["a5", "a2a3"])
def test_both_ways(target: str) -> None:
    x, w, *_ = arrays()
    assert (everywhere(both(target)) == (x.astype(np.float32) + 1) @ w.astype(np.float32) + 1).all()


def tensors(target: str) -> pto.Kernel:
    """y[t] = x[t] @ w, with slots as tensors: the cube core stores into them, vector core 0 loads from them."""

    @pto.kernel(target=target)
    def kernel(x: Ptr[f16], w: Ptr[f16], slots: Ptr[f32], y: Ptr[f32]):
        split = TileSplitAxis.TILE_NO_SPLIT
        way = Direction.DIR_C2V if target == "a2a3" else Direction.DIR_C2V_GM
        pipe = TPipe(0, way, 4096, 2, gm_slot_buffer=GlobalTensor(slots, (32, 32)))
        with pto.cube_section():
            mat, left, right, acc = cube_tiles()
            pto.TLOAD(mat, GlobalTensor(w, (32, 32)))
            pto.TMOV(right, mat)
            slot = GlobalTensor(f32, (32, 32))
            for t in range(TURNS):
                pto.TLOAD(mat, GlobalTensor(x, (32 * TURNS, 32))[t * 32 : t * 32 + 32])
                pto.TMOV(left, mat)
                pto.TMATMUL(acc, left, right)
                pto.TALLOC(pipe, slot, split)
                pto.TSTORE(slot, acc)
                pto.TPUSH(pipe, slot, split)
        with pto.vector_section():
            slot = GlobalTensor(f32, (32, 32))
            tile = Tile(TileType.Vec, f32, 32, 32, addr=0)
            for t in range(TURNS):
                pto.TPOP(pipe, slot, split)
                pto.TLOAD(tile, slot)
                pto.TFREE(pipe, slot, split)
                pto.TSTORE(GlobalTensor(y, (32 * TURNS, 32))[t * 32 : t * 32 + 32], tile)

    return kernel


@pytest.mark.parametrize("target", ["a5", "a2a3"])
def test_slots_as_tensors(target: str) -> None:
    x, w, *_ = arrays()
    assert (everywhere(tensors(target)) == x.astype(np.float32) @ w.astype(np.float32)).all()


def test_blocks_have_pipes_of_their_own() -> None:
    everywhere(c2v("a5", False, TileSplitAxis.TILE_UP_DOWN), blocks=3)


@pytest.mark.filterwarnings("ignore::ptokit.KernelWarning")
@pytest.mark.parametrize("interpreted", [False, True])
@pytest.mark.parametrize(
    ("broken", "first", "second"),
    [
        ({"pops": TURNS + 1}, "entry 5 of pipe pipe,", "which the cube core has not pushed"),
        ({"frees": False}, "a free slot of pipe pipe:", "have not freed any of the 2"),
    ],
)
def test_a_pipe_that_starves_or_fills_is_reported(
    broken: dict[str, Any], first: str, second: str, interpreted: bool
) -> None:
    kernel = c2v("a5", False, TileSplitAxis.TILE_UP_DOWN, **broken)
    with pytest.raises(DiagnosticError) as error:
        kernel.launch(1, tuple(arrays()), {}, interpreted=interpreted)
    (found,) = error.value.diagnostics
    told = " ".join([found.message, *(note.message for note in found.notes)])
    assert found.rule == "DEADLOCK"
    assert first in told
    assert second in told
    lines = {place.line: place.file for place in (found.location, *(note.location for note in found.notes))}
    source = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert all(file == __file__ and "pto.TP" in source[line - 1] for line, file in lines.items())


def test_a_starving_pipe_is_found_by_the_sanitizer() -> None:
    report = c2v("a5", False, TileSplitAxis.TILE_UP_DOWN, pops=TURNS + 1).sanitize(*arrays())
    assert "DEADLOCK" in {d.rule for d in report.diagnostics}
    report = c2v("a5", False, TileSplitAxis.TILE_UP_DOWN, pops=TURNS - 1).sanitize(*arrays())
    left = [d.message for d in report.diagnostics if d.rule == "PIPE-LEFT"]
    assert set(left) == {"this entry of pipe pipe is never popped"}


def test_findings_name_operations_on_pipes_as_the_kernel_does() -> None:
    @pto.kernel(target="a5")
    def f(y: Ptr[f32]):
        sums = TPipe(0, Direction.DIR_C2V, 1024, 1, c2v_consumer_buf=0)
        with pto.cube_section():
            acc = pto.TileAcc(f32, 16, 16, addr=0)
            pto.TPUSH(sums, acc, TileSplitAxis.TILE_NO_SPLIT)
        with pto.vector_section():
            pto.TPOP(sums, pto.Tile(pto.TileType.Vec, f32, 16, 16))

    report = f.sanitize(np.zeros(256, np.float32))
    assert "no TFREE after TPOP gives its slot back" in [d.message for d in report.warnings]
    (unwritten,) = report.errors
    assert unwritten.message.startswith("TPUSH reads acc where it was never written")


@pytest.mark.parametrize("interpreted", [False, True])
def test_popped_tiles_can_be_watched(interpreted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a tile holds is seen once the wait for it is over."""
    monkeypatch.setenv("PTOKIT_INTERPRET", str(int(interpreted)))
    x, w, *_ = args = arrays()
    seen = c2v("a5", False, TileSplitAxis.TILE_UP_DOWN).watch("part")(*args)
    product = x.astype(np.float32) @ w.astype(np.float32)
    assert len(seen) == 2 * TURNS
    for one in seen:
        core, t = one.core - 1, dict(one.loops)["t"]
        assert (one.array == product[t * 32 + core * 16 :][:16]).all()


def test_contents_of_popped_tiles() -> None:
    found: list[np.ndarray] = []

    @pto.kernel(target="a5")
    def f(x: Ptr[f32]):
        pipe = TPipe(0, Direction.DIR_C2V, 1024, 1, c2v_consumer_buf=0)
        with pto.cube_section():
            acc = pto.TileAcc(f32, 16, 16, addr=0)
            pto.TPUSH(pipe, acc.set(3.0), TileSplitAxis.TILE_NO_SPLIT)
        with pto.vector_section():
            t = Tile(TileType.Vec, f32, 16, 16)
            pto.TPOP(pipe, t)
            found.append(t.numpy())
            pto.TFREE(pipe)

    f.interpret(np.zeros(1, np.float32))
    assert (found[0] == 3.0).all()


@pytest.mark.parametrize(
    ("target", "make", "what"),
    [
        ("a5", lambda x: TPipe(0, Direction.DIR_C2V, 1024, 2), "lacks c2v_consumer_buf"),
        ("a5", lambda x: TPipe(0, Direction.DIR_V2C, 1024, 2, c2v_consumer_buf=0), "no entries that lead there"),
        ("a5", lambda x: TPipe(0, 1, 1024, 2, c2v_consumer_buf=0), "DirType"),  # type: ignore[arg-type]
        ("a5", lambda x: TPipe(0, Direction.DIR_C2V, x[0], 2, c2v_consumer_buf=0), "SlotSize"),
        ("a5", lambda x: TPipe(0, Direction.DIR_C2V, 1024, 2, c2v_consumer_buf=1.5), "byte address"),  # type: ignore[arg-type]
        ("a5", lambda x: TPipe(0, Direction.DIR_C2V_GM, 1024, 2, c2v_consumer_buf=0), "lacks gm_slot_buffer"),
        ("a2a3", lambda x: TPipe(0, Direction.DIR_C2V, 1024, 2, c2v_consumer_buf=0), "lacks gm_slot_buffer"),
        ("a5", lambda x: TPipe(0, Direction.DIR_C2V, 1024, 2, gm_slot_buffer=x, c2v_consumer_buf=0), "has no"),
        ("a2a3", lambda x: TPipe(0, Direction.DIR_C2V, 1024, 2, gm_slot_buffer=3, c2v_consumer_buf=0), "a pointer or"),  # type: ignore[arg-type]
    ],
)
def test_what_a_pipe_lacks(target: str, make: Any, what: str) -> None:
    @pto.kernel(target=target)
    def f(x: Ptr[f32]):
        make(x)

    with pytest.raises(DiagnosticError, match=what) as error:
        f.trace()
    assert error.value.diagnostics[0].rule == "LANG-PIPE"


def test_pipes_are_used_in_sections_only() -> None:
    @pto.kernel(target="a5")
    def f(x: Ptr[f32]):
        pipe = TPipe(0, Direction.DIR_C2V, 1024, 1, c2v_consumer_buf=0)
        pto.TPUSH(pipe, pto.TileAcc(f32, 16, 16, addr=0))

    (found,) = (d for d in f.check() if d.rule == "PI-6")
    assert found.message == "TPUSH outside a section"
    assert found.hint == "put it into a cube or a vector section, whose core does it"


def test_a_core_pushes_only_into_pipes_that_go_from_it() -> None:
    @pto.kernel(target="a5")
    def f(x: Ptr[f32]):
        pipe = TPipe(0, Direction.DIR_C2V, 1024, 2, c2v_consumer_buf=0)
        with pto.vector_section():
            pto.TPUSH(pipe, pto.Tile(pto.TileType.Vec, f32, 16, 16, addr=0x4000))

    found = next(d for d in f.check() if d.rule == "PI-6")
    assert found.message == "pipe goes from cube to vector, and is pushed into on a vector core"
    assert found.hint == "write pto.TPOP here"


def test_pipes_with_common_flags() -> None:
    @pto.kernel(target="a5")
    def f(x: Ptr[f32]):
        TPipe(0, Direction.DIR_C2V, 1024, 1, c2v_consumer_buf=0)
        TPipe(1, Direction.DIR_C2V, 1024, 1, c2v_consumer_buf=4096)

    (found,) = f.check()
    assert (found.rule, found.hint) == ("PIPE-FLAGS", "2 is free")


@pytest.mark.parametrize("split", [7, True, pto.Layout.DN, "up"])
def test_a_split_is_one_of_five(split: Any) -> None:
    @pto.kernel(target="a5")
    def f(x: Ptr[f32]):
        pipe = TPipe(0, Direction.DIR_C2V, 1024, 1, c2v_consumer_buf=0)
        with pto.vector_section():
            pto.TFREE(pipe, split=split)

    with pytest.raises(DiagnosticError) as error:
        f.trace()
    assert error.value.diagnostics[0].rule == "LANG-ATTR"


def test_declared_tensors_are_packed() -> None:
    @pto.kernel(target="a5")
    def f(n: int):
        GlobalTensor(f32, (n, 32))

    with pytest.raises(DiagnosticError) as error:
        f.trace()
    assert error.value.diagnostics[0].rule == "LANG-VIEW"
