"""The operations that a kernel function records; kernels as objects."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit import GlobalTensor, Ptr, Tile, TileType, f16, f32, i32

from .support import constant, kernel, ops

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


def test_static_range_unrolls_and_the_others_loop() -> None:
    def f(y: Ptr[f32], n: int):
        for k in pto.static_range(3):
            for i in pto.range(k, n, 2):
                y[i] = 0.0

    loops = ops(kernel(f), "scf.for")
    assert [constant(loop["lower"]) for loop in loops] == [0, 1, 2]
    assert [constant(loop["step"]) for loop in loops] == [2, 2, 2]
    assert [[arg.name for arg in loop.regions[0].args] for loop in loops] == [["i"], ["i"], ["i"]]


def test_branches() -> None:
    def f(y: Ptr[f32], n: int):
        with pto.if_((n > 3) & (n != 7)):
            y[0] = 0.0
        with pto.else_():
            y[1] = 0.0
        with pto.if_(True):
            y[2] = 0.0
        with pto.if_(False):
            y[3] = 0.0

    (branch,) = ops(kernel(f), "scf.if")
    assert [len(region.ops) for region in branch.regions] == [1, 1]
    assert [constant(op["index"]) for op in ops(kernel(f), "pto.store_scalar")] == [0, 1, 2]


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

    assert [len(loop.results) for loop in ops(kernel(f), "scf.for")] == [0, 0, 0]


def test_a_kernel_is_traced_once_per_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    traces: list[Any] = []
    original = pto.Kernel._traced

    def traced(self: pto.Kernel, signature: Any) -> Any:
        module = original(self, signature)
        x, n = (p.type for p in module.functions[0].params)
        traces.append((x.dtype, n.name, signature[2].value))
        return module

    monkeypatch.setattr(pto.Kernel, "_traced", traced)

    @pto.kernel(target="cpu")
    def f(x, n, width: pto.Static = 8):
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
    numbers: list[Any] = []

    @pto.kernel(target="a5")
    def f(x: Ptr[f32], n: int, anything):
        g = GlobalTensor(x, (n, 64))
        t = Tile(TileType.Vec, f32, 8, 64)
        event = pto.TLOAD(t, g[0:8])
        numbers.extend([n, n + 1])
        seen.extend(map(repr, (x, g, g[n : n + 8], t, pto.TileLeft(f16, 16, 16), event, pto.range(n))))

    f.trace(f32, 1, 2.0)
    assert seen == [
        "<pointer x to f32>",
        "<GlobalTensor nx64 of f32, strides 64x1, ND>",
        "<slice 8x64 of f32 at n, 0>",
        "<Tile Vec 8x64 f32>",
        "<Tile Left 16x16 f16 Nz>",
        "<event of TLOAD>",
        "pto.range(0, <int n>, 1)",
    ]
    assert list(map(repr, numbers)) == ["<int n>", "<int n + 1>"]  # here, not in a kernel
    assert repr(f) == "<kernel f(x: Ptr[f32], n: int, anything) for a5>"
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


def test_static_values_are_told_apart_by_type(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    original = pto.Kernel._traced
    monkeypatch.setattr(pto.Kernel, "_traced", lambda self, s: seen.append(s[0].value) or original(self, s))

    @pto.kernel(target="cpu")
    def f(value: pto.Static):
        pass

    for value in (1, True, 1.0, 1, "1"):
        f(value)
    assert [repr(v) for v in seen] == ["1", "True", "1.0", "'1'"]


def test_a_kernel_that_changes_what_it_reads_is_compiled_at_each_launch() -> None:
    calls: list[int] = []

    @pto.kernel(target="cpu")
    def f(y: Ptr[f32]):
        calls.append(1)
        y[0] = float(len(calls))

    y = np.zeros(1, np.float32)
    for k in range(1, 4):
        f(y)
        assert y[0] == k
        assert len(calls) == k
