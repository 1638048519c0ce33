"""The first instruction whose results differ, between programs and between ways of running one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ptokit.run import Program
from ptokit.watch.diff import Difference, Side, Tolerance, diff

from ..run.kernels import PTRS, TILE, add, alloc, compiled, load, part, store, view

SLICES = view("xv", "%x") + view("yv", "%y") + part("p", "%xv", "%c0") + part("q", "%yv", "%c0")


def program(*steps: str, before: str = "") -> Program:
    tiles = alloc("t") + alloc("u")
    return compiled(PTRS, before + SLICES + tiles + load("%t", "%p") + "".join(steps) + store("%u", "%q"))


def scaled(source: str, number: str, out: str) -> str:
    return f"    pto.tmuls ins({source}, {number} : {TILE}, f32) outs({out} : {TILE})\n"


def constant(name: str, value: float) -> str:
    return f"    %{name} = arith.constant {value!r} : f32\n"


def arguments() -> list[Any]:
    return [np.arange(128, dtype=np.float32).reshape(8, 16), np.zeros((8, 16), np.float32), 8]


def line_of(kernel: Program, name: str, nth: int = 0) -> int:
    body = kernel.module.functions[0].body
    assert body is not None
    return [op.location.line for op in body.walk() if op.name == name][nth]


def test_equal_runs_do_not_differ() -> None:
    one = program(add("%t", "%t", "%u"))
    args = arguments()
    found = diff(Side(one, args), Side(one, args))
    assert not found
    assert found.compared == 3
    assert (args[1] == 0).all()  # the runs have copies


def test_the_first_result_that_differs_is_found() -> None:
    steps = [add("%t", "%t", "%u"), scaled("%u", "%k", "%u"), add("%u", "%t", "%u")]
    one, other = (program(*steps, before=constant("k", value)) for value in (2.0, 3.0))
    found = diff(Side(one, arguments()), Side(other, arguments()))
    assert found.first is not None
    assert (found.first.a.instruction, found.first.a.name) == ("TMULS", "u")
    assert found.first.a.line == found.first.b.line == line_of(one, "pto.tmuls")
    assert found.first.first == (0, 1)  # 0 is the same, whatever it is multiplied by
    assert found.first.count == 127
    assert [(a.name, a.count) for a in found.arguments] == [("x", 0), ("y", 127)]
    assert found.arguments[1].values == (5.0, 7.0)


def test_operations_of_one_side_only() -> None:
    one = program(add("%t", "%t", "%u"), add("%u", "%t", "%u"))
    other = program(add("%t", "%t", "%u"), scaled("%u", "%k", "%u"), add("%u", "%t", "%u"), before=constant("k", 1.0))
    found = diff(Side(one, arguments()), Side(other, arguments()))
    assert not found
    assert ([op.name for op in found.alone[0]], [op.name for op in found.alone[1]]) == ([], ["pto.tmuls"])
    changing = program(
        add("%t", "%t", "%u"), scaled("%u", "%k", "%u"), add("%u", "%t", "%u"), before=constant("k", 0.5)
    )
    found = diff(Side(one, arguments()), Side(changing, arguments()))
    assert found.first is not None
    assert found.first.a.line == line_of(one, "pto.tadd", 1)
    assert found.first.b.line == line_of(changing, "pto.tadd", 1)


def test_names_may_differ() -> None:
    one = program(add("%t", "%t", "%u"))
    text = "".join([SLICES, alloc("s"), alloc("w"), load("%s", "%p"), scaled("%s", "%k", "%w"), store("%w", "%q")])
    other = compiled(PTRS, constant("k", 2.0) + text)
    found = diff(Side(one, arguments()), Side(other, arguments()))
    assert not found
    assert found.compared >= 2  # load and store at least


LOOP = (
    view("xv", "%x")
    + view("yv", "%y")
    + alloc("t")
    + alloc("u")
    + "    scf.for %i = %c0 to %rows step %c8 {\n"
    + part("p", "%xv", "%i")
    + part("q", "%yv", "%i")
    + load("%t", "%p")
    + "      pto.tmuls ins(%t, %k : {TILE}, f32) outs(%u : {TILE})\n".replace("{TILE}", TILE)
    + store("%u", "%q")
    + "    }\n"
)


def test_small_differences_are_passed_over_within_a_tolerance() -> None:
    one, other = (compiled(PTRS, constant("k", value) + LOOP) for value in (1.0, 1.00001))
    x = np.ones((800, 16), np.float32)
    x[795, 3] = 1e6
    args = [x, np.zeros_like(x), 800]
    assert not diff(Side(one, args), Side(other, args), tolerance=Tolerance(rtol=1e-4))
    found = diff(Side(one, args), Side(other, args), tolerance=Tolerance(atol=1e-3))
    assert found.first is not None
    assert dict(found.first.a.loops) == {"i": 792}
    assert (found.first.first, found.first.count) == ((3, 3), 1)
    exactly = diff(Side(one, args), Side(other, args))
    assert exactly.first is not None
    assert dict(exactly.first.a.loops) == {"i": 0}


def test_what_fails_is_reported() -> None:
    good = compiled(PTRS, SLICES + alloc("t") + load("%t", "%p") + store("%t", "%q"))
    bad = compiled(PTRS, SLICES + alloc("t") + load("%t", "%p"))
    short = [np.zeros((4, 16), np.float32), np.zeros((8, 16), np.float32), 8]
    found = diff(Side(good, short), Side(bad, short))
    assert found
    assert all(error is not None and error.diagnostics[0].rule == "GM-OOB" for error in found.failed)


def product() -> Program:
    """A product whose sums depend on their order."""
    left, right, acc = (
        "!pto.tile_buf<left, 16x64xf32, blayout=col_major, slayout=row_major>",
        "!pto.tile_buf<right, 64x16xf32, slayout=col_major>",
        "!pto.tile_buf<acc, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>",
    )
    mat = "!pto.tile_buf<mat, {}xf32, blayout=col_major, slayout=row_major>"
    a, b = mat.format("16x64"), mat.format("64x16")
    body = ["    %c64 = arith.constant 64 : index\n"]
    for name, rows, cols in (("x", 16, 64), ("y", 64, 16), ("z", 16, 16)):
        whole, piece = "!pto.tensor_view<?x?xf32>", f"!pto.partition_tensor_view<{rows}x{cols}xf32>"
        body.append(
            f"    %{name}v = pto.make_tensor_view %{name}, shape = [%c{rows}, %c{cols}], strides = [%c{cols}, %c1] "
            f": {whole}\n"
            f"    %{name}p = pto.partition_view %{name}v, offsets = [%c0, %c0], sizes = [%c{rows}, %c{cols}] "
            f": {whole} -> {piece}\n"
        )
    body += [
        f"    %{n} = pto.alloc_tile : {t}\n" for n, t in (("am", a), ("bm", b), ("l", left), ("r", right), ("c", acc))
    ]
    for tile, kind, name, shape in (("am", a, "xp", "16x64"), ("bm", b, "yp", "64x16")):
        body.append(f"    pto.tload ins(%{name} : !pto.partition_tensor_view<{shape}xf32>) outs(%{tile} : {kind})\n")
    body.append(f"    pto.tmov ins(%am : {a}) outs(%l : {left})\n    pto.tmov ins(%bm : {b}) outs(%r : {right})\n")
    body.append(f"    pto.tmatmul ins(%l, %r : {left}, {right}) outs(%c : {acc})\n")
    body.append(f"    pto.tstore ins(%c : {acc}) outs(%zp : !pto.partition_tensor_view<16x16xf32>)\n")
    return compiled("%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<f32>", "".join(body))


def test_modes_of_products_and_backends_are_compared() -> None:
    pytest.importorskip("llvmlite")
    kernel = product()
    rng = np.random.default_rng(1)
    args = [rng.standard_normal((16, 64), np.float32), rng.standard_normal((64, 16), np.float32)]
    args.append(np.zeros((16, 16), np.float32))
    assert not diff(Side(kernel, args), Side(kernel, args, backend="native"))
    by_step = diff(Side(kernel, args, "exact"), Side(kernel, args, "ref"))
    assert by_step.first is not None
    assert (by_step.first.a.instruction, by_step.first.a.name) == ("TMATMUL", "c")
    assert not diff(Side(kernel, args, "exact"), Side(kernel, args, "ref"), tolerance=Tolerance(1e-4, 1e-4))
    at_the_end = diff(Side(kernel, args, "exact", "native"), Side(kernel, args, "ref", "numpy"))
    assert at_the_end.first is None
    assert at_the_end.writer is not None
    assert at_the_end.writer.instruction == "TSTORE"


FLOATS = st.sampled_from([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-45])


@given(st.lists(st.tuples(FLOATS, FLOATS), min_size=1, max_size=8))
def test_equal_means_the_same_number(pairs: list[tuple[float, float]]) -> None:
    a, b = (np.array([pair[k] for pair in pairs], np.float32) for k in (0, 1))
    expected = [
        i for i, (x, y) in enumerate(zip(a, b)) if x.tobytes() != y.tobytes() and not (np.isnan(x) and np.isnan(y))
    ]
    assert Tolerance().differing(a, b)[:, 0].tolist() == expected


def test_difference_is_false_where_nothing_differs() -> None:
    assert not Difference()
