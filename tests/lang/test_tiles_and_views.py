"""Global tensors, slices and tiles as they are recorded."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import BLayout, GlobalTensor, Ptr, Tile, TileType, f16, f32, i32
from ptokit.asm import parse_module
from ptokit.ir import Op
from ptokit.run import compile_program
from ptokit.targets import target
from ptokit.types.tile import DYNAMIC

from .support import constant, kernel, ops


def slices(select: Callable[[GlobalTensor, Any], Any], shape: Any = (64, 96)) -> tuple[list[Any], tuple[int, ...]]:
    """Offsets (None where traced) and static sizes of a slice of a 64x96 tensor."""

    def f(x: Ptr[f32], n: int):
        t = Tile(TileType.Vec, f32, 64, 96)
        pto.TLOAD(t, select(GlobalTensor(x, shape), n))

    (op,) = ops(kernel(f), "pto.partition_view")
    offsets = [v.owner.attrs.get("value") if isinstance(v.owner, Op) else None for v in op.group("offsets")]
    return offsets, op.result.type.dims


@pytest.mark.parametrize(
    ("select", "offsets", "sizes"),
    [
        (lambda g, n: g, [0, 0], (64, 96)),
        (lambda g, n: g[8:24, 32:], [8, 32], (16, 64)),
        (lambda g, n: g[8], [8, 0], (1, 96)),
        (lambda g, n: g[:, -32:], [0, 64], (64, 32)),
        (lambda g, n: g[-8, :-16], [56, 0], (1, 80)),
        (lambda g, n: g[n : n + 16], [None, 0], (16, 96)),
        (lambda g, n: g[:n], [0, 0], (DYNAMIC, 96)),
        (lambda g, n: g[16:][8:24, 32:64], [24, 32], (16, 32)),
        (lambda g, n: g[n:][: n * 2 - n - n + 4], [None, 0], (4, 96)),
        (lambda g, n: g.partition((n, 3), (n, 5)), [None, 3], (DYNAMIC, 5)),
        (lambda g, n: g[np.int64(8) : np.int32(24)], [8, 0], (16, 96)),
    ],
)
def test_slices(select: Callable[[GlobalTensor, Any], Any], offsets: list[Any], sizes: tuple[int, ...]) -> None:
    assert slices(select) == (offsets, sizes)


@pytest.mark.parametrize(
    ("arguments", "strides", "layout"),
    [
        (((2, 3, 4),), [12, 4, 1], None),
        (((64,),), [1], None),
        ((pto.Shape(1, 1, 1, 8, 16), pto.Stride(1000, 900, 100, 16, 1)), [1000, 900, 100, 16, 1], "ND"),
        (((1, 1, 16, 8, 8),), [1024, 1024, 64, 8, 1], "ND"),
        (((8, 16), (1, 8), pto.Layout.DN), [1, 8], "DN"),
        (
            (
                pto.TileShape2D(f16, 32, 64, pto.Layout.NZ),
                pto.BaseShape2D(f16, 32, 64, pto.Layout.NZ),
                pto.Layout.NZ,
            ),
            [2048, 512, 256, 16, 1],
            "NZ",
        ),
    ],
)
def test_tensors_say_their_strides_and_layout(arguments: tuple[Any, ...], strides: list[int], layout: str) -> None:
    def f(x: Ptr[f16]):
        GlobalTensor(x, *arguments)

    (op,) = ops(kernel(f), "pto.make_tensor_view")
    assert [constant(v) for v in op.group("strides")] == strides
    assert op.attrs == ({} if layout is None else {"layout": pto.Layout[layout]})


def test_shape_helpers_take_traced_sizes() -> None:
    def f(x: Ptr[f16], n: int):
        GlobalTensor(
            x,
            pto.TileShape2D(f16, n, 64, pto.Layout.NZ),
            pto.BaseShape2D(f16, n, 64, pto.Layout.NZ),
            pto.Layout.NZ,
        )

    (op,) = ops(kernel(f), "pto.make_tensor_view")
    assert op.result.type.dims == (1, 4, DYNAMIC, 16, 16)


def test_a_slice_made_outside_of_a_loop_serves_inside() -> None:
    def f(x: Ptr[f32], n: int):
        t = Tile(TileType.Vec, f32, 8, 8)
        part = GlobalTensor(x, (64, 8))[8:16]
        for _ in pto.range(n):
            pto.TLOAD(t, part)
        pto.TLOAD(t, part)

    inner, outer = ops(kernel(f), "pto.tload")
    assert inner["src"] is not outer["src"]
    assert inner["src"].type == outer["src"].type


def test_pointers() -> None:
    def f(x: Ptr[f32], y: Ptr[f32], n: int):
        (y + 4)[n] = x[n + 1]

    k = kernel(f)
    advance, load, store = (ops(k, f"pto.{name}")[0] for name in ("addptr", "load_scalar", "store_scalar"))
    assert constant(advance["offset"]) == 4
    assert store["ptr"] is advance.result
    assert store["value"] is load.result
    assert str(load.result.type) == "f32"


def test_tile_parameters_in_the_order_of_the_template() -> None:
    def f(n: int):
        Tile(
            TileType.Mat,
            f16,
            64,
            32,
            pto.BLayout.ColMajor,
            48,
            n,
            pto.SLayout.RowMajor,
            512,
            pto.PadValue.Zero,
            pto.CompactMode.Normal,
        )

    (op,) = ops(kernel(f), "pto.alloc_tile")
    assert str(op.result.type) == (
        "!pto.tile_buf<mat, 64x32xf16, valid=48x?, blayout=col_major, slayout=row_major, pad=1, compact=1>"
    )
    assert list(op.operands) == ["valid_col"]


@pytest.mark.parametrize(
    ("target", "alias", "text"),
    [
        ("a2a3", pto.TileLeft, "left, 32x64xf16, slayout=row_major"),
        ("a5", pto.TileLeft, "left, 32x64xf16, blayout=col_major, slayout=row_major"),
        ("cpu", pto.TileLeft, "left, 32x64xf16, blayout=col_major, slayout=row_major"),
        ("a2a3", pto.TileRight, "right, 32x64xf16, slayout=col_major"),
        ("a5", pto.TileAcc, "acc, 32x64xf16, blayout=col_major, slayout=row_major, fractal=1024"),
        ("a5", pto.TileLeftScale, "scale_left, 32x64xf16, slayout=row_major, fractal=32"),
        (
            "a5",
            pto.TileRightScale,
            "scale_right, 32x64xf16, blayout=col_major, slayout=col_major, fractal=32",
        ),
    ],
)
def test_tile_aliases(target: str, alias: Callable[..., Tile], text: str) -> None:
    def f():
        alias(f16, 32, 64)

    (op,) = ops(pto.kernel(target=target)(f), "pto.alloc_tile")
    assert str(op.result.type) == f"!pto.tile_buf<{text}>"


def test_valid_regions() -> None:
    seen: list[Any] = []

    def f(n: int):
        t = Tile(TileType.Vec, f32, 32, 64, valid_row=pto.DYNAMIC, valid_col=pto.DYNAMIC)
        seen.append((t.valid_row, t.valid_col))
        t.set_valid(n, 8)
        seen.append((t.valid_row is n, t.valid_col))
        pto.SET_VALIDSHAPE(t, 4, 4)
        seen.append((t.valid_row, t.valid_col))
        s = Tile(TileType.Vec, f32, 32, 64, valid_row=5)
        seen.append((s.valid_row, s.valid_col))

    k = kernel(f)
    every = ops(k)  # of one trace: `seen` changes with each
    alloc = next(op for op in every if op.name == "pto.alloc_tile")
    assert seen == [(32, 64), (True, 8), (4, 4), (5, 64)]
    assert (constant(alloc["valid_row"]), constant(alloc["valid_col"])) == (32, 64)
    assert [op["tile"] is alloc.result for op in every if op.name == "pto.set_validshape"] == [True, True]


def test_binding_an_unused_tile_gives_its_allocation_the_address() -> None:
    def f(x: Ptr[f32], n: int):
        t = Tile(TileType.Vec, f32, 8, 8, valid_row=n)
        pto.TASSIGN(t, n * 256)
        pto.TLOAD(t, GlobalTensor(x, (8, 8)))

    k = kernel(f)
    (alloc,) = ops(k, "pto.alloc_tile")
    assert list(alloc.operands) == ["addr", "valid_row"]
    assert str(alloc["addr"].type) == "i64"
    assert ops(k, "pto.tassign") == []
    assert ops(k, "pto.tload")[0]["dst"] is alloc.result


def test_binding_a_used_tile_makes_a_new_value() -> None:
    def f(x: Ptr[f32]):
        t = Tile(TileType.Vec, f32, 8, 8, addr=0)
        g = GlobalTensor(x, (8, 8))
        pto.TLOAD(t, g)
        pto.TASSIGN(t, 256)
        pto.TLOAD(t, g)

    k = kernel(f)
    (alloc,), (bound,) = ops(k, "pto.alloc_tile"), ops(k, "pto.tassign")
    assert bound["tile"] is alloc.result
    assert (constant(alloc["addr"]), constant(bound["addr"])) == (0, 256)
    assert [op["dst"] for op in ops(k, "pto.tload")] == [alloc.result, bound.result]


def test_binding_in_a_loop_declares_the_tile_outside() -> None:
    def f(x: Ptr[f32], n: int):
        t = Tile(TileType.Vec, f32, 8, 8)
        for i in pto.range(n):
            pto.TASSIGN(t, i * 256)
            pto.TLOAD(t, GlobalTensor(x, (8, 8)))
        pto.TASSIGN(t, 0)
        pto.TLOAD(t, GlobalTensor(x, (8, 8)))

    k = kernel(f)
    (declared,) = ops(k, "pto.declare_tile")
    bound = ops(k, "pto.tassign")
    assert [op["tile"] for op in bound] == [declared.result] * 2
    assert [op["dst"] for op in ops(k, "pto.tload")] == [op.result for op in bound]


def test_the_other_branch_sees_a_tile_as_it_was() -> None:
    def f(x: Ptr[f32], n: int):
        t = Tile(TileType.Vec, f32, 8, 8, addr=0)
        g = GlobalTensor(x, (8, 8))
        pto.TLOAD(t, g)
        with pto.if_(n > 0):
            pto.TASSIGN(t, 256)
            pto.TLOAD(t, g)
        with pto.else_():
            pto.TLOAD(t, g)

    k = kernel(f)
    first, then, other = (op["dst"] for op in ops(k, "pto.tload"))
    assert first is other
    assert then is ops(k, "pto.tassign")[0].result


def test_aliases_of_storage() -> None:
    def f(x: Ptr[f32], n: int):
        t = Tile(TileType.Vec, f32, 16, 64)
        pto.TLOAD(t, GlobalTensor(x, (16, 64)))
        flat = Tile(TileType.Vec, f32, 8, 128)
        pto.TRESHAPE(flat, t)
        pto.TEXP(flat, flat)
        window = Tile(TileType.Vec, f32, 4, 64)
        pto.TSUBVIEW(window, t, 4, 0)
        pto.TEXP(window, window)
        pto.TEXP(t.subview(n, 0, 2, 64), t.reshape(2, 64, valid_row=1).bitcast(i32).bitcast(f32))

    k = kernel(f)
    assert len(ops(k, "pto.alloc_tile")) == 1
    flat, row = (op.result for op in ops(k, "pto.treshape"))
    (window,), (rest,) = ops(k, "pto.subview"), ops(k, "pto.subset")
    assert str(flat.type) == "!pto.tile_buf<vec, 8x128xf32>"
    assert str(row.type) == "!pto.tile_buf<vec, 2x64xf32, valid=1x64>"
    assert (window.attrs, rest.attrs) == ({"sizes": [4, 64]}, {"sizes": [2, 64]})
    exps = ops(k, "pto.texp")
    assert [op["dst"] for op in exps] == [flat, window.result, rest.result]
    assert [str(op.result.type.dtype) for op in ops(k, "pto.bitcast")] == ["i32", "f32"]


@pytest.mark.parametrize("rows", [1, 5, 16])
def test_numbers_of_a_column_as_a_row_that_the_run_measures(rows: int) -> None:
    @pto.kernel(target="a2a3")
    def f(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], n: int):
        t, tmp = (pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, valid_row=n) for _ in range(2))
        sums = pto.Tile(pto.TileType.Vec, pto.f32, 16, 1, pto.BLayout.ColMajor, valid_row=n)
        pto.TLOAD(t, pto.GlobalTensor(x, (n, 64))[0:n])
        pto.TROWSUM(sums, t, tmp)
        row = sums.reshape(1, 16, valid_col=n)
        pto.TADDS(row, row, 1.0)
        pto.TROWEXPANDMUL(t, t, sums)
        pto.TSTORE(pto.GlobalTensor(y, (n, 64))[0:n], t)

    x = np.arange(16 * 64, dtype=np.float32).reshape(16, 64) % 7
    for launch in (f, f.interpret):
        y = np.zeros_like(x)
        launch(x, y, rows)
        assert np.array_equal(y[:rows], x[:rows] * (x[:rows].sum(axis=1, keepdims=True) + 1))
        assert not y[rows:].any()
    assert not f.check().errors


def test_a_column_by_rows_is_told_to_be_col_major() -> None:
    @pto.kernel(target="a2a3")
    def f(n: int):
        pto.Tile(pto.TileType.Vec, pto.f32, 16, 1)

    (found,) = f.check().errors
    assert (found.rule, "ColMajor" in (found.hint or "")) == ("TILE-05", True)


@pytest.mark.parametrize("open_", [(True, False), (False, True), (True, True), (False, False)])
def test_a_reshaped_tile_keeps_its_own_valid_region(open_: tuple[bool, bool]) -> None:
    """TRESHAPE binds the storage; rows and columns are valid as the destination says, not as the source does."""

    def f(x: Ptr[f32], y: Ptr[f32], n: int, m: int):
        line = Tile(TileType.Vec, f32, 1, 128)
        pto.TLOAD(line, GlobalTensor(x, (1, 128)))
        rows, cols = n if open_[0] else 5, m if open_[1] else 9
        t = Tile(TileType.Vec, f32, 8, 16, valid_row=rows, valid_col=cols)
        for _ in pto.range(2):
            pto.TRESHAPE(t, line)
            pto.TADDS(t, t, 1.0)
        pto.TRESHAPE(t, line)
        pto.TSTORE(GlobalTensor(y, (8, 16))[0:rows, 0:cols], t)

    x, y = np.arange(128, dtype=np.float32).reshape(8, 16), np.zeros((8, 16), np.float32)
    kernel(f)(x, y, 5, 9)
    assert np.array_equal(y[:5, :9], x[:5, :9] + 2)
    assert (y[5:] == 0).all()
    assert (y[:, 9:] == 0).all()


def run_on(f: Callable[..., None], x: np.ndarray, *more: int) -> np.ndarray:
    """What a kernel stores of x, traced and run, and once more from its text."""
    k = kernel(f)
    left = []
    for program in (k, None):
        y = np.zeros_like(x)
        if program is not None:
            program(x, y, *more)
        else:
            parsed = parse_module(k.to_pto(), "k.pto")
            parsed.diagnostics.raise_if_errors()
            compile_program(parsed.module, target("a5")).launch([x, y, *more])
        left.append(y)
    assert np.array_equal(*left)
    return left[0]


@pytest.mark.parametrize(
    ("shape", "valid", "at", "want"),
    [
        ((4, 64), (2, 32), (2, 32), np.s_[2:4, 32:64]),  # as large as its source, of which a part is valid
        ((2, 64), (2, 64), (1, 0), np.s_[1:3]),
        ((1, 32), (1, 32), (3, 16), np.s_[3, 16:48]),  # a single line may have any length
        ((1, 64), (1, 64), (0, 128), np.s_[2]),  # columns count on
        ((4, 32), (4, 32), (1, 0), np.s_[1:3]),  # other lines: the elements after the first one, whatever their row
        ((4, 32), (3, 32), (1, 0), [np.s_[1], np.s_[2, :32]]),
    ],
)
def test_tsubview_binds_the_address_only(shape: tuple, valid: tuple, at: tuple, want: Any) -> None:
    def f(x: Ptr[f32], y: Ptr[f32], n: int):
        t = Tile(TileType.Vec, f32, 4, 64)
        pto.TLOAD(t, GlobalTensor(x, (4, 64)))
        rows = n if n is not None and valid != shape else valid[0]
        part = Tile(TileType.Vec, f32, *shape, valid_row=rows, valid_col=valid[1])
        pto.TSUBVIEW(part, t, *at)
        pto.TADDS(part, part, 1000.0)
        pto.TSTORE(GlobalTensor(y, (4, 64)), t)

    x = np.arange(256, dtype=np.float32).reshape(4, 64)
    wanted = x.copy()
    for where in want if isinstance(want, list) else [want]:
        wanted[where] += 1000
    assert np.array_equal(run_on(f, x, valid[0]), wanted)


def test_tsubview_in_the_direction_of_columns() -> None:
    def f(x: Ptr[f32], y: Ptr[f32], n: int):
        t = Tile(TileType.Vec, f32, 64, 1, BLayout.ColMajor)
        pto.TLOAD(t, GlobalTensor(x, (64, 1)))
        part = Tile(TileType.Vec, f32, 64, 1, BLayout.ColMajor, valid_row=16, valid_col=1)
        pto.TSUBVIEW(part, t, n * 16, 0)
        pto.TSTORE(GlobalTensor(y, (64, 1))[0:16], part)

    x = np.arange(64, dtype=np.float32).reshape(64, 1)
    wanted = np.zeros_like(x)
    wanted[:16] = x[32:48]
    assert np.array_equal(run_on(f, x, 2), wanted)


@pytest.mark.parametrize(
    ("more", "at", "text"),
    [
        ({"cols": 32}, (1, 16), "lines of <Tile Vec 4x32 f32> are 32 elements long, those of <Tile Vec 4x64 f32> 64"),
        ({"cols": 32, "rows": 3}, (0, 0), "binds the address only"),
        ({"dtype": f16}, (0, 0), "differs from <Tile Vec 4x64 f16> in dtype"),
        ({"pad": pto.PadValue.Max}, (0, 0), "in pad"),
    ],
)
def test_tsubviews_that_would_be_something_else(more: dict, at: tuple, text: str) -> None:
    def f(x: Ptr[f32]):
        t = Tile(TileType.Vec, f32, 4, 64)
        sizes = {"dtype": f32, "rows": 4, "cols": 64, **more}
        pto.TSUBVIEW(Tile(TileType.Vec, **sizes), t, *at)

    with pytest.raises(pto.DiagnosticError) as caught:
        kernel(f).to_pto()
    (found,) = caught.value.diagnostics
    assert found.rule == "LANG-TILE"
    assert text in found.message
