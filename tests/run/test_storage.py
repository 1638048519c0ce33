"""Tiles hold bytes or a value that stands for them; nobody may be able to tell which."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptokit.machine.buffers import Buffer
from ptokit.machine.global_memory import View
from ptokit.machine.lanes import Fault
from ptokit.machine.storage import Arena
from ptokit.machine.tiles import Tile
from ptokit.types.dtypes import f16, f32, i8, u16
from ptokit.types.enums import BLayout, Layout, SLayout, TileType
from ptokit.types.tile import element_offset, offset_map, tile

ND = {"blayout": BLayout.RowMajor}
DN = {"blayout": BLayout.ColMajor}
NZ = {"blayout": BLayout.ColMajor, "slayout": SLayout.RowMajor}
ZN = {"blayout": BLayout.RowMajor, "slayout": SLayout.ColMajor}
ZZ = {"blayout": BLayout.RowMajor, "slayout": SLayout.RowMajor}
NN = {"blayout": BLayout.ColMajor, "slayout": SLayout.ColMajor}

# Windows on one arena of 4096 bytes: some identical, some overlapping in part, of several types and layouts.
WINDOWS = [
    (tile(TileType.Vec, f16, 32, 32, **ND), 0),
    (tile(TileType.Vec, f16, 32, 32, **NZ), 0),
    (tile(TileType.Vec, f16, 32, 32, **ZN), 1024),
    (tile(TileType.Vec, f32, 16, 32, **DN), 0),
    (tile(TileType.Vec, u16, 16, 32, **ZZ), 2048),
    (tile(TileType.Vec, i8, 32, 32, **NN), 512),
    (tile(TileType.Vec, i8, 40, 32, **NZ), 2816),
    (tile(TileType.Vec, f16, 16, 16, **ND), 3584),
]


class Model:
    """The same windows as plain bytes, element by element."""

    def __init__(self, blocks: int) -> None:
        self.data = np.zeros((blocks, 4096), np.uint8)

    def where(self, index: int, row: int, col: int) -> slice:
        spec, start = WINDOWS[index]
        at = start + int(element_offset(spec, row, col)) * spec.dtype.size
        return slice(at, at + spec.dtype.size)

    def write(self, index: int, values: np.ndarray, row: int = 0, col: int = 0) -> None:
        for r in range(values.shape[1]):
            for c in range(values.shape[2]):
                element = np.ascontiguousarray(values[:, r, c])
                raw = element.view(np.uint8).reshape(len(element), -1)
                self.data[:, self.where(index, row + r, col + c)] = raw

    def read(self, index: int, rows: int, cols: int) -> np.ndarray:
        spec, _ = WINDOWS[index]
        cells = [[self.data[:, self.where(index, r, c)] for c in range(cols)] for r in range(rows)]
        raw = np.ascontiguousarray(np.array(cells).transpose(2, 0, 1, 3))
        return raw.view(spec.dtype.storage)[..., 0]


step = st.tuples(
    st.sampled_from(["write", "out", "load", "take", "patch", "fill", "read", "raw", "gm", "poke", "peek", "part"]),
    st.integers(0, len(WINDOWS) - 1),
    st.integers(0, len(WINDOWS) - 1),
    st.integers(1, 32),
    st.integers(1, 32),
    st.integers(0, 2**16 - 1),
)


@given(blocks=st.integers(1, 3), steps=st.lists(step, max_size=12))
def test_any_sequence_of_accesses_equals_plain_bytes(blocks: int, steps: list) -> None:
    arena, model = Arena(blocks, 4096), Model(blocks)
    windows = [arena.window(spec, start) for spec, start in WINDOWS]
    memory = np.arange(2048, dtype=np.uint16)
    buffer = Buffer("g", memory, u16)
    buffer.written = True
    for action, i, j, rows, cols, seed in steps:
        spec, _ = WINDOWS[i]
        storage = windows[i]
        rows, cols = min(rows, spec.rows), min(cols, spec.cols)
        rng = np.random.default_rng(seed)
        limit = 2 ** (8 * spec.dtype.size)
        bits = rng.integers(0, limit, (blocks, rows, cols), dtype=np.uint64).astype(spec.dtype.storage)
        values = bits.view(storage.element)
        match action:
            case "write":
                storage.write(values.copy(), rows, cols)
                model.write(i, bits)
            case "out":
                target = storage.out(rows, cols)
                if target is None:
                    storage.write(values.copy(), rows, cols)
                else:
                    target[...] = values
                model.write(i, bits)
            case "load" if spec.dtype.size == 2:
                view = View(buffer, seed % 512, (rows, cols), (cols, 1), u16, Layout.ND)
                storage.load(view, Layout.ND, rows, cols)
                loaded = memory[seed % 512 :][: rows * cols].reshape(1, rows, cols)
                model.write(i, np.broadcast_to(loaded, (blocks, rows, cols)))
                if seed % 2:  # the memory changes afterwards: the tile must not
                    buffer.before_write()
                    memory += 7
            case "take" if WINDOWS[j][0].dtype is spec.dtype and i != j:
                other = WINDOWS[j][0]
                rows, cols = min(rows, other.rows), min(cols, other.cols)
                if not set(_bytes(i, rows, cols)) & set(_bytes(j, rows, cols)):
                    storage.take(windows[j], rows, cols)
                    model.write(i, model.read(j, rows, cols))
            case "patch":
                row, col = spec.rows - rows, spec.cols - cols
                storage.patch(values.copy(), row, col)
                model.write(i, bits, row, col)
            case "fill":
                storage.fill(spec.rows - rows, spec.rows, spec.cols - cols, spec.cols, seed % limit)
                filled = np.full((blocks, rows, cols), seed % limit, spec.dtype.storage)
                model.write(i, filled, spec.rows - rows, spec.cols - cols)
            case "read":
                got = np.broadcast_to(storage.read(rows, cols), (blocks, rows, cols))
                assert (np.ascontiguousarray(got).view(spec.dtype.storage) == model.read(i, rows, cols)).all()
            case "poke":  # by address, as vector instructions do
                start, nbytes = seed % 4000, 1 + seed % 96
                arena.settle(start, start + nbytes, write=True)
                arena.data[:, start : start + nbytes] = seed % 251
                model.data[:, start : start + nbytes] = seed % 251
            case "peek":
                start, nbytes = seed % 4000, 1 + seed % 96
                arena.settle(start, start + nbytes, write=False)
                assert (arena.data[:, start : start + nbytes] == model.data[:, start : start + nbytes]).all()
            case "part":  # a window that comes late, and may end after the memory
                late = arena.window(spec, WINDOWS[i][1] + 32 * (seed % 8))
                assert late.read(1, 1).shape[1:] == (1, 1)
            case "raw":
                start = WINDOWS[i][1]
                assert (storage.raw() == model.data[:, start : start + spec.nbytes]).all()
    for i, storage in enumerate(windows):
        start = WINDOWS[i][1]
        assert (storage.raw() == model.data[:, start : start + WINDOWS[i][0].nbytes]).all(), i


def _bytes(index: int, rows: int, cols: int) -> list[int]:
    spec, start = WINDOWS[index]
    offsets = offset_map(spec)[:rows, :cols].ravel() * spec.dtype.size + start
    return [int(o) + k for o in offsets for k in range(spec.dtype.size)]


@pytest.mark.parametrize("layout", [ND, DN, NZ, ZN, ZZ, NN], ids=["ND", "DN", "Nz", "Zn", "Zz", "Nn"])
def test_bytes_follow_the_address_formula(layout: dict) -> None:
    spec = tile(TileType.Mat, f16, 32, 64, **layout)
    storage = Arena(1, spec.nbytes).window(spec, 0)
    values = np.arange(2048, dtype=np.uint16).view(np.float16).reshape(1, 32, 64)
    storage.write(values, 32, 64)
    flat = storage.raw()[0].view(np.uint16)
    for r, c in [(0, 0), (17, 20), (31, 63), (5, 40)]:
        assert flat[element_offset(spec, r, c)] == r * 64 + c


def test_wide_values_follow_writes() -> None:
    spec = tile(TileType.Left, f16, 16, 16, **ZZ)
    storage = Arena(1, spec.nbytes).window(spec, 0)
    storage.write(np.full((1, 16, 16), 1.5, np.float16), 16, 16)
    assert (storage.read_wide(16, 16, np.dtype(np.float32)) == 1.5).all()
    storage.write(np.full((1, 16, 16), 2.5, np.float16), 16, 16)
    assert (storage.read_wide(16, 16, np.dtype(np.float32)) == 2.5).all()
    storage.fill(0, 1, 0, 1, 0x3C00)
    assert storage.read_wide(16, 16, np.dtype(np.float64))[0, 0, 0] == 1.0


@pytest.mark.parametrize("layout", [NZ, ZN], ids=["Nz", "Zn"])
def test_bytes_written_by_address_are_seen_by_a_tile_that_was_read(layout: dict) -> None:
    spec = tile(TileType.Vec, u16, 32, 32, **layout)
    arena = Arena(2, 4096)
    storage = arena.window(spec, 0)
    assert (storage.read(32, 32) == 0).all()
    arena.settle(0, 64, write=True)
    arena.data[:, :64] = 255
    assert (storage.read(32, 32) == 0xFFFF).sum() == 2 * 32


def test_windows_that_are_not_linked_any_more_share_their_bytes() -> None:
    """An arena links so many windows; the tiles of the others are as good as before."""
    spec = tile(TileType.Vec, u16, 16, 16, **NZ)
    arena = Arena(1, 1 << 18)
    first, inside = arena.window(spec, 0), arena.window(spec, 256)
    first.write(np.full((1, 16, 16), 7, np.uint16), 16, 16)
    others = [arena.window(spec, 1024 + 64 * k) for k in range(1500)]
    for k, other in enumerate(others):
        other.write(np.full((1, 16, 16), k, np.uint16), 16, 16)
    assert len(arena.windows) <= 512
    assert (inside.read(8, 16) == 7).all()
    inside.write(np.full((1, 16, 16), 9, np.uint16), 16, 16)
    assert (first.read(16, 16)[0, 8:] == 9).all()
    assert (first.read(16, 16)[0, :8] == 7).all()
    assert (others[0].read(16, 16)[0, :2] == 0).all()
    assert (others[1499].read(16, 16) == 1499).all()


@pytest.mark.parametrize(("rows", "cols"), [(9, 16), (8, 17)])
def test_elements_that_a_tile_does_not_have(rows: int, cols: int) -> None:
    """They are not read, whatever instruction wants them and whether or not a rule saw it."""
    spec = tile(TileType.Vec, f32, 8, 16)
    short = Tile(Arena(1, 1024).window(spec, 0), spec, 8, 16, "u", None)
    assert short.read(8, 16).shape[1:] == (8, 16)
    with pytest.raises(Fault, match=f"{rows}x{cols} elements of u are wanted, which has 8x16") as caught:
        short.read(rows, cols)
    assert caught.value.rule == "RUN-REGION"
