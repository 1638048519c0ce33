"""Tiles of which less than a box is valid are moved and multiplied as machine code, to the same bytes as with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.asm import parse_module
from ptokit.backends.native.program import prepare
from ptokit.run import Program, compile_program
from ptokit.targets import target


def tile(loc: str, rows: int, cols: int, type: str, layout: str) -> str:
    return f"!pto.tile_buf<{loc}, 32x32x{type}, valid={rows}x{cols}, {layout}>"


NZ, ZN = "blayout=col_major, slayout=row_major", "slayout=col_major"


def compiled(m: int, k: int, n: int) -> Program:
    lines = ["func.func @f(%a: !pto.ptr<f16>, %b: !pto.ptr<f16>, %o: !pto.ptr<f32>) {"]
    lines += [f"%k{size} = arith.constant {size} : index" for size in sorted({0, 1, 32, m, k, n})]
    acc = tile("acc", m, n, "f32", f"{NZ}, fractal=1024")
    for name, rows, cols, type in (("a", m, k, "f16"), ("b", k, n, "f16"), ("o", m, n, "f32")):
        view, part = f"!pto.tensor_view<?x?x{type}>", f"!pto.partition_tensor_view<{rows}x{cols}x{type}>"
        lines.append(f"%{name}v = pto.make_tensor_view %{name}, shape = [%k32, %k32], strides = [%k32, %k1] : {view}")
        place = f"offsets = [%k0, %k0], sizes = [%k{rows}, %k{cols}]"
        lines.append(f"%{name}p = pto.partition_view %{name}v, {place} : {view} -> {part}")
        if name == "o":
            lines += [f"%acc = pto.alloc_tile : {acc}"]
            continue
        mat, to = tile("mat", rows, cols, type, NZ), "left" if name == "a" else "right"
        moved = tile(to, rows, cols, type, NZ if name == "a" else ZN)
        lines += [f"%{name}m = pto.alloc_tile : {mat}", f"%{name}t = pto.alloc_tile : {moved}"]
        lines.append(f"pto.tload ins(%{name}p : {part}) outs(%{name}m : {mat})")
        lines.append(f"pto.tmov ins(%{name}m : {mat}) outs(%{name}t : {moved})")
    factors = f"{tile('left', m, k, 'f16', NZ)}, {tile('right', k, n, 'f16', ZN)}"
    lines.append(f"pto.tmatmul ins(%at, %bt : {factors}) outs(%acc : {acc})")
    lines.append(f"pto.tmatmul.acc ins(%acc, %at, %bt : {acc}, {factors}) outs(%acc : {acc})")
    lines.append(f"pto.tstore ins(%acc : {acc}) outs(%op : !pto.partition_tensor_view<{m}x{n}xf32>)")
    read = parse_module("\n".join([*lines, "return", "}"]), target=target("a5"))
    assert [str(d) for d in read.diagnostics] == []
    return compile_program(read.module, target("a5"))


@pytest.mark.parametrize(("m", "k", "n"), [(4, 32, 8), (5, 16, 3), (16, 32, 4), (32, 16, 1), (1, 7, 32), (13, 9, 11)])
def test_same_bytes(m: int, k: int, n: int) -> None:
    program = compiled(m, k, n)
    assert {step.op.name for step in prepare(program).made.module.called} <= {"pto.tload"}  # which may pad a box
    rng = np.random.default_rng(m)
    a, b = (rng.integers(-8, 8, (32, 32)).astype(np.float16) for _ in range(2))
    found = []
    for backend in ("native", "numpy"):
        out = np.full((32, 32), 7, np.float32)
        program.launch([a, b, out], backend=backend)
        found.append(out)
    assert found[0].tobytes() == found[1].tobytes()
    assert np.array_equal(found[0][:m, :n], 2 * (a[:m, :k].astype(np.float32) @ b[:k, :n].astype(np.float32)))
