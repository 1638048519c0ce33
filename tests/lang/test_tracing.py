"""The operations that a kernel function records."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import GlobalTensor, Ptr, Tile, TileType, f16, f32, i32
from ptokit.ir import Op, Value
from ptokit.types.tile import DYNAMIC


def kernel(function: Callable[..., None]) -> pto.Kernel:
    return pto.kernel(target="a5")(function)


def ops(kernel: pto.Kernel, name: str = "") -> list[Op]:
    """Operations of the kernel, nested ones included, whose name begins with `name`."""
    body = kernel.trace().functions[0].body
    return [op for op in body.walk() if op.name.startswith(name)]


def constant(value: Value | None) -> Any:
    assert value is not None
    assert isinstance(value.owner, Op)
    assert value.owner.name == "arith.constant"
    return value.owner.attrs["value"]


VEC_ADD = """\
module attributes {pto.target_arch = "a5"} {
  func.func @add(%a: !pto.ptr<f32>, %b: !pto.ptr<f32>, %tiles: index) {
    %c64 = arith.constant 64 : index
    %c1 = arith.constant 1 : index
    %c0 = arith.constant 0 : index
    %rows = arith.muli %tiles, %c64 : index
    %av = pto.make_tensor_view %a, shape = [%rows, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x64xf32>
    %bv = pto.make_tensor_view %b, shape = [%rows, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x64xf32>
    %x = pto.alloc_tile : !pto.tile_buf<vec, 64x64xf32>
    scf.for %i = %c0 to %tiles step %c1 {
      %r = arith.muli %i, %c64 : index
      %ap = pto.partition_view %av, offsets = [%r, %c0], sizes = [%c64, %c64] : \
!pto.tensor_view<?x64xf32> -> !pto.partition_tensor_view<64x64xf32>
      pto.tload ins(%ap : !pto.partition_tensor_view<64x64xf32>) outs(%x : !pto.tile_buf<vec, 64x64xf32>)
      pto.tadd ins(%x, %x : !pto.tile_buf<vec, 64x64xf32>, !pto.tile_buf<vec, 64x64xf32>) \
outs(%x : !pto.tile_buf<vec, 64x64xf32>)
      %0 = pto.partition_view %bv, offsets = [%r, %c0], sizes = [%c64, %c64] : \
!pto.tensor_view<?x64xf32> -> !pto.partition_tensor_view<64x64xf32>
      pto.tstore ins(%x : !pto.tile_buf<vec, 64x64xf32>) outs(%0 : !pto.partition_tensor_view<64x64xf32>)
    }
    return
  }
}
"""


def test_the_text_of_a_kernel() -> None:
    def add(a: Ptr[f32], b: Ptr[f32], tiles: int):
        rows = tiles * 64
        av, bv = GlobalTensor(a, (rows, 64)), GlobalTensor(b, (rows, 64))
        x = Tile(TileType.Vec, f32, 64, 64)
        for i in pto.range(tiles):
            r = i * 64
            ap = av[r : r + 64]
            pto.TLOAD(x, ap)
            pto.TADD(x, x, x)
            pto.TSTORE(bv[r : r + 64], x)

    assert kernel(add).to_pto() == VEC_ADD


def test_operations_stand_where_the_user_wrote_them() -> None:
    def f(x: Ptr[f32]):
        t = Tile(TileType.Vec, f32, 8, 8)
        pto.TLOAD(t, GlobalTensor(x, (8, 8)))

    line = f.__code__.co_firstlineno
    (load,) = ops(kernel(f), "pto.tload")
    assert load.location.file == __file__
    assert (load.location.line, load.location.column, load.location.length) == (line + 2, 9, 37)
    (view,) = ops(kernel(f), "pto.make_tensor_view")
    assert (view.location.line, view.location.column) == (line + 2, 22)


# --- numbers -----------------------------------------------------------------------------------------------------


def traced(fn: Callable[[Any], Any], annotation: Any = int) -> tuple[Any, list[str]]:
    """What an expression of a traced number is, and the arithmetic left of it when it is used."""
    found: list[Any] = []

    def f(y: Ptr[f32], n: annotation):
        value = fn(n)
        found.append(value)
        if isinstance(value, pto.Scalar):
            y[0] = pto.cast(value, f32)

    k = kernel(f)
    used = [op.name for op in ops(k, "arith") if op.name not in ("arith.constant", "arith.index_cast", "arith.sitofp")]
    return found[0], used


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        (lambda n: (n + 64) - n, 64),
        (lambda n: (n * 8 + 8) - n * 8, 8),
        (lambda n: n - n, 0),
        (lambda n: 3 * n - n - 2 * n + 1, 1),
        (lambda n: n * 0, 0),
        (lambda n: -n + n, 0),
        (lambda n: pto.minimum(3, 5), 3),
        (lambda n: pto.cdiv(65, 64), 2),
    ],
)
def test_affine_differences_are_python_integers(expression: Callable[[Any], Any], value: int) -> None:
    result, used = traced(expression)
    assert type(result) is int
    assert result == value
    assert used == []


@pytest.mark.parametrize(
    ("expression", "operations"),
    [
        (lambda n: n + 0, []),
        (lambda n: n * 1, []),
        (lambda n: (n + 5) - 5, []),
        (lambda n: 2 * n - n, []),
        (lambda n: pto.minimum(n, n), []),
        (lambda n: n + 64, ["addi"]),
        (lambda n: 64 - n, ["subi"]),
        (lambda n: n // 3 + n % 3, ["divsi", "remsi", "addi"]),
        (lambda n: pto.minimum(n, 5) * pto.maximum(n, 2), ["minsi", "maxsi", "muli"]),
        (lambda n: pto.cdiv(n, 4), ["ceildivsi"]),
        (lambda n: (n << 2) | (n >> 1) & ~n, ["shli", "shrsi", "xori", "andi", "ori"]),
        (lambda n: pto.select(n > 3, n, 7), ["cmpi", "select"]),
    ],
)
def test_arithmetic_is_recorded(expression: Callable[[Any], Any], operations: list[str]) -> None:
    assert traced(expression)[1] == [f"arith.{name}" for name in operations]


@pytest.mark.parametrize(
    ("expression", "operations"),
    [
        (lambda s: s + 1, ["addf"]),
        (lambda s: 1 - s, ["subf"]),
        (lambda s: s * 2.5 / s, ["mulf", "divf"]),
        (lambda s: -s, ["mulf"]),
        (lambda s: pto.maximum(s, 0.0), ["maximumf"]),
        (lambda s: pto.select(s < 1.0, s, 1.0), ["cmpf", "select"]),
    ],
)
def test_float_arithmetic_is_recorded(expression: Callable[[Any], Any], operations: list[str]) -> None:
    assert traced(expression, float)[1] == [f"arith.{name}" for name in operations]


def test_unused_arithmetic_leaves_nothing() -> None:
    def f(n: int):
        _ = (n * 3 + 1) // 7
        pto.BaseShape2D(f32, n, n)

    assert [op.name for op in ops(kernel(f))] == ["func.return"]


def test_constants_are_made_once_at_the_beginning() -> None:
    def f(y: Ptr[f32]):
        for i in pto.range(4):
            with pto.if_(i == 2):
                y[i * 7] = 1.5
                y[i * 7 + 2] = 1.5

    body = kernel(f).trace().functions[0].body
    names = [op.name for op in body.ops]
    constants = [op.attrs["value"] for op in body.walk() if op.name == "arith.constant"]
    assert names == ["arith.constant"] * len(constants) + ["scf.for", "func.return"]
    assert sorted(constants) == [0, 1, 1.5, 2, 4, 7]


@pytest.mark.parametrize(
    ("source", "to", "operations"),
    [
        ("index", "i32", ["index_cast"]),
        ("index", "f32", ["index_cast", "sitofp"]),
        ("f32", "index", ["fptosi", "index_cast"]),
        ("f32", "f16", ["truncf"]),
        ("f16", "f32", ["extf"]),
        ("i8", "i32", ["extsi"]),
        ("i64", "i16", ["trunci"]),
        ("i1", "i32", ["extui"]),
        ("ui8", "index", ["index_castui"]),
        ("i32", "i32", []),
    ],
)
def test_casts(source: str, to: str, operations: list[str]) -> None:
    scalar = pto.lang.scalar.ScalarType

    def f(p: scalar(source), q: Ptr[f32]):
        value = pto.cast(p, scalar(to))
        assert value.type.name == to
        with pto.if_(value == 1):
            q[0] = 1.0

    k = kernel(f)
    used = [op.name.removeprefix("arith.") for op in ops(k, "arith") if op.name[6:9] not in ("con", "cmp")]
    assert used == operations


def test_block_queries_are_indices() -> None:
    def f(y: Ptr[f32]):
        queries = (pto.get_block_idx, pto.get_block_num, pto.get_subblock_idx, pto.get_subblock_num)
        for query in queries:
            y[query()] = 1.0

    assert [op.name for op in ops(kernel(f), "pto.get")] == [
        "pto.get_block_idx",
        "pto.get_block_num",
        "pto.get_subblock_idx",
        "pto.get_subblock_num",
    ]


# --- control flow ------------------------------------------------------------------------------------------------


def test_python_range_unrolls_and_pto_range_loops() -> None:
    def f(y: Ptr[f32], n: int):
        for k in range(3):
            for i in pto.range(k, n, 2):
                y[i] = 0.0

    loops = ops(kernel(f), "scf.for")
    assert [constant(loop["lower"]) for loop in loops] == [0, 1, 2]
    assert [constant(loop["step"]) for loop in loops] == [2, 2, 2]
    assert [[arg.name for arg in loop.regions[0].args] for loop in loops] == [["i"], ["i_1"], ["i_2"]]


def test_branches() -> None:
    def f(y: Ptr[f32], n: int):
        with pto.if_((n > 3) & (n != 7)):
            y[0] = 0.0
        with pto.else_():
            y[1] = 0.0
        with pto.if_(True):
            y[2] = 0.0

    first, second = ops(kernel(f), "scf.if")
    assert [len(region.ops) for region in first.regions] == [1, 1]
    assert len(second.regions) == 1
    assert constant(second["condition"]) is True


def test_a_variable_may_be_reused_by_loops_that_assign_it_first() -> None:
    def f(y: Ptr[f32], n: int):
        for i in pto.range(n):
            r = i * 2
            y[r] = 0.0
        for i in pto.range(n):
            r = i * 3
            y[r] = 0.0
            for r in range(2):
                y[r] = 1.0

    assert len(ops(kernel(f), "scf.for")) == 2


# --- views -------------------------------------------------------------------------------------------------------


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


# --- tiles -------------------------------------------------------------------------------------------------------


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
    alloc = ops(k, "pto.alloc_tile")[0]
    assert seen == [(32, 64), (True, 8), (4, 4), (5, 64)]
    assert (constant(alloc["valid_row"]), constant(alloc["valid_col"])) == (32, 64)
    assert [op["tile"] is alloc.result for op in ops(k, "pto.set_validshape")] == [True, True]


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
    window, rest = ops(k, "pto.subset")
    assert str(flat.type) == "!pto.tile_buf<vec, 8x128xf32>"
    assert str(row.type) == "!pto.tile_buf<vec, 2x64xf32, valid=1x64>"
    assert (window.attrs, rest.attrs) == ({"sizes": [4, 64]}, {"sizes": [2, 64]})
    exps = ops(k, "pto.texp")
    assert [op["dst"] for op in exps] == [flat, window.result, rest.result]
    assert [str(op.result.type.dtype) for op in ops(k, "pto.bitcast")] == ["i32", "f32"]


# --- instructions ------------------------------------------------------------------------------------------------


def test_every_executable_instruction_has_a_documented_function() -> None:
    from ptokit.isa.table import TABLE

    for name, instr in TABLE.items():
        if instr.run is None:
            continue
        function = getattr(pto, name)
        assert callable(function)
        assert function.__name__ == name
        assert name in dir(pto)
        if name != "TSYNC":
            assert instr.summary in function.__doc__
            parameters = list(pto.lang.intrinsics.signature(instr).parameters)
            assert parameters == [o.name for o in instr.operands] + [a.name for a in instr.attrs]


def test_attributes_by_member_by_spelling_and_by_position() -> None:
    def f(y: Ptr[f32], n: int):
        t = Tile(TileType.Vec, f32, 8, 8)
        g = GlobalTensor(y, (8, 8))
        pto.TSTORE(g, t, atomic=pto.AtomicType.AtomicAdd)
        pto.TSTORE(g, t, atomic="atomic_add")
        pto.TSTORE(g, t, pto.AtomicType.AtomicAdd)
        pto.TSTORE(src=t, dst=g, atomic="AtomicAdd")
        pto.TSTORE(g, t, atomic=pto.AtomicType.AtomicNone)

    attrs = [op.attrs for op in ops(kernel(f), "pto.tstore")]
    assert attrs == [{"atomic": pto.AtomicType.AtomicAdd}] * 4 + [{}]


def test_numbers_meet_the_type_of_the_tile() -> None:
    def f(n: int, s: f32):
        h, t, j = (Tile(TileType.Vec, dtype, 8, 32) for dtype in (f16, f32, i32))
        pto.TADDS(h, h, 2)
        pto.TADDS(t, t, 2.5)
        pto.TADDS(j, j, 7)
        pto.TADDS(j, j, n)
        pto.TADDS(t, t, s)
        pto.TEXPANDS(h, -1)

    values = [op["scalar"] for op in [*ops(kernel(f), "pto.tadds"), *ops(kernel(f), "pto.texpands")]]
    assert [str(v.type) for v in values] == ["f16", "f32", "i32", "i32", "f32", "f16"]


def test_optional_operands_are_found_by_kind() -> None:
    def f(y: Ptr[f32]):
        acc = pto.TileAcc(f32, 16, 16)
        pto.TSTORE(GlobalTensor(y, (16, 16)), acc)
        pto.TSTORE(GlobalTensor(y, (16, 16)), acc, 5, relu="normal_relu")
        t = Tile(TileType.Vec, f32, 8, 8)
        pto.TREM(t, t, t)
        pto.TREM(t, t, t, t)
        pto.TDIVS(t, t, 2.0)
        pto.TDIVS(t, 2.0, t)

    k = kernel(f)
    plain, quantised = ops(k, "pto.tstore")
    assert plain.get("quant") is None
    assert (constant(quantised["quant"]), str(quantised["quant"].type)) == (5, "i64")
    assert [op.get("tmp") is not None for op in ops(k, "pto.trem")] == [False, True]
    assert [op.attrs for op in ops(k, "pto.tdivs")] == [{}, {"scalar_first": True}]


def test_events_are_recorded_as_what_the_instruction_wrote() -> None:
    def f(x: Ptr[f32], y: Ptr[f32]):
        t, u = (Tile(TileType.Vec, f32, 8, 8) for _ in range(2))
        e = pto.TLOAD(t, GlobalTensor(x, (8, 8)))
        pto.TADD(u, t, t, e)
        s = pto.TSTORE(GlobalTensor(y, (8, 8)), u)
        pto.TSYNC(e, s, t)
        s.wait()

    k = kernel(f)
    names = [op.name for op in ops(k, "pto.t")]
    assert names == ["pto.tload", "pto.tsync", "pto.tadd", "pto.tstore", "pto.tsync", "pto.tsync"]
    load, first, _, store, second, third = ops(k, "pto.t")
    assert first.group("events") == [load["dst"]]
    assert second.group("events") == [load["dst"], store["dst"]]
    assert third.group("events") == [store["dst"]]


def test_flags() -> None:
    def f(n: int):
        pto.set_flag(pto.PIPE_MTE2, pto.PIPE_V, pto.EVENT_ID3)
        pto.wait_flag("PIPE_MTE2", dst_pipe=pto.PIPE_V, event_id=3)
        pto.set_flag(pto.PIPE_MTE2, pto.PIPE_V)
        pto.set_flag(pto.PIPE_MTE2, pto.PIPE_V, n)
        pto.wait_flag(pto.PIPE_MTE2, pto.PIPE_V, event_id=n)
        pto.pipe_barrier(pto.PIPE_ALL)

    found = [(op.name, *op.attrs.values()) for op in ops(kernel(f), "pto")]
    mte2, vec = pto.PIPE_MTE2, pto.PIPE_V
    assert found == [
        ("pto.set_flag", mte2, vec, 3),
        ("pto.wait_flag", mte2, vec, 3),
        ("pto.set_flag", mte2, vec, 0),
        ("pto.set_flag_dyn", mte2, vec),
        ("pto.wait_flag_dyn", mte2, vec),
        ("pto.barrier", pto.PIPE_ALL),
    ]
    assert [str(op["event"].type) for op in ops(kernel(f), "pto") if op.operands] == ["index", "index"]


# --- kernels -----------------------------------------------------------------------------------------------------


def test_a_kernel_is_traced_once_per_signature() -> None:
    traces: list[Any] = []

    @pto.kernel(target="cpu")
    def f(x, n, width: pto.Static = 8):
        traces.append((x.dtype, n.type.name, width))
        t = Tile(TileType.Vec, x.dtype, 8, 32)
        pto.TLOAD(t, GlobalTensor(x, (8, 32)))

    single, double = np.zeros((8, 32), np.float32), np.zeros((8, 32), np.int32)
    for args in ((single, 1), (single, 2), (double, 1), (single, 1.0), (single, 1, 16), (single, 3)):
        f(*args)
    assert traces == [(f32, "index", 8), (i32, "index", 8), (f32, "f32", 8), (f32, "index", 16)]
    assert "xf32" in f.to_pto()  # the signature of the last call
    assert "xf16" in f.to_pto(f16, 1)


def test_annotations() -> None:
    def f(a: pto.Ptr[pto.f16], b: pto.Ptr[pto.bf16], c: int, d: float, e: pto.i32, g: pto.index, h: pto.Static = 3):
        assert h == 3

    params = kernel(f).trace().functions[0].params
    assert [str(p.type) for p in params] == ["!pto.ptr<f16>", "!pto.ptr<bf16>", "index", "f32", "i32", "index"]
    assert [p.name for p in params] == list("abcdeg")


def test_keyword_only_parameters_and_defaults() -> None:
    @pto.kernel(target="cpu", name="other")
    def f(x: Ptr[f32], n: int = 3, *, scale: float = 0.5):
        x[n] = scale

    array = np.zeros(8, np.float32)
    f(array)
    f(array, scale=2.0, n=4)
    assert list(array) == [0, 0, 0, 0.5, 2, 0, 0, 0]
    assert "func.func @other(" in f.to_pto()


def test_descriptions() -> None:
    seen: list[str] = []

    @pto.kernel(target="a5")
    def f(x: Ptr[f32], n: int, anything):
        g = GlobalTensor(x, (n, 64))
        t = Tile(TileType.Vec, f32, 8, 64)
        event = pto.TLOAD(t, g[0:8])
        seen.extend(map(repr, (x, n, n + 1, g, g[n : n + 8], t, pto.TileLeft(f16, 16, 16), event, pto.range(n))))

    f.trace(f32, 1, 2.0)
    assert seen == [
        "<pointer %x to f32>",
        "<index %n>",
        "<index %?>",
        "<GlobalTensor %nx64 of f32, strides 64x1, ND>",
        "<slice 8x64 of f32 at %nx0>",
        "<Tile Vec 8x64 f32>",
        "<Tile Left 16x16 f16 Nz>",
        "<event of TLOAD>",
        "pto.range(0, <index %n>, 1)",
    ]
    assert repr(f) == "<kernel f(x: !pto.ptr<f32>, n: index, anything: ?) for a5>"
    assert repr(f[3]) == repr(f) + "[3]"


def test_importing_the_package_loads_nothing_heavy() -> None:
    import subprocess
    import sys

    code = "import ptokit, sys; print(sorted({m.split('.')[0] for m in sys.modules} & {'numpy', 'ml_dtypes', 'rich'}))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "[]\n"


def test_star_import_keeps_pythons_range() -> None:
    names: dict[str, Any] = {}
    exec("from ptokit import *", names)
    assert names["TADD"] is pto.TADD
    assert names["kernel"] is pto.kernel
    assert "range" not in names
    with pytest.raises(AttributeError, match="TNOTHING"):
        _ = pto.TNOTHING


def test_names_that_text_cannot_hold() -> None:
    def f(größe: Ptr[f32]):
        stück = Tile(TileType.Vec, f32, 8, 8)
        pto.TLOAD(stück, GlobalTensor(größe, (8, 8)))

    assert "@k_r_b_" in pto.kernel(target="a5", name="k-r b?")(f).to_pto()
    text = pto.kernel(target="a5")(f).to_pto()
    assert text.isascii()
    (load,) = ops(kernel(f), "pto.tload")
    source = Path(__file__).read_text(encoding="utf-8").splitlines()[load.location.line - 1]
    start = load.location.column - 1
    assert source[start : start + load.location.length] == "pto.TLOAD(stück, GlobalTensor(größe, (8, 8)))"
    assert "@_lambda_(" in pto.kernel(target="a5")(lambda: None).to_pto()


def test_static_values_are_told_apart_by_type() -> None:
    seen: list[Any] = []

    @pto.kernel(target="cpu")
    def f(value: pto.Static):
        seen.append(value)

    for value in (1, True, 1.0, 1, "1"):
        f(value)
    assert [repr(v) for v in seen] == ["1", "True", "1.0", "'1'"]
