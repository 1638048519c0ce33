"""Views of scales that state no layout: slices take the groups of the tiles that they are loaded into."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.asm.printing.printer import print_module
from ptokit.diagnostics import Severity
from ptokit.ir.facts import packed_slice
from ptokit.ir.verify import verify
from ptokit.run import compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import target
from ptokit.types.enums import Layout

F8, E8 = "f8E4M3FN", "!pto.f8E8M0"
NZ, NN, ZZ = (
    "blayout=col_major, slayout=row_major",
    "blayout=col_major, slayout=col_major, fractal=32",
    "blayout=row_major, slayout=row_major, fractal=32",
)
TYPES = {
    "am": f"!pto.tile_buf<mat, 32x64x{F8}, {NZ}>",
    "bm": f"!pto.tile_buf<mat, 64x32x{F8}, {NZ}>",
    "sm": f"!pto.tile_buf<mat, 32x2x{E8}, {ZZ}>",
    "tm": f"!pto.tile_buf<mat, 2x32x{E8}, {NN}>",
    "a": f"!pto.tile_buf<left, 32x64x{F8}, {NZ}>",
    "b": f"!pto.tile_buf<right, 64x32x{F8}, slayout=col_major>",
    "s": f"!pto.tile_buf<scaling, 32x2x{E8}, {ZZ}>",
    "t": f"!pto.tile_buf<scaling, 2x32x{E8}, {NN}>",
    "c": f"!pto.tile_buf<acc, 32x32xf32, {NZ}, fractal=1024>",
}
SIZES = {"am": (32, 64, F8), "bm": (64, 32, F8), "sm": (32, 2, E8), "tm": (2, 32, E8)}


def text(stated: str = "", more: str = "") -> str:
    lines = [f"%{name} = pto.alloc_tile : {of}" for name, of in TYPES.items()]
    for name, (rows, cols, of) in SIZES.items():
        layout = stated if name == "sm" else ""
        lines += [
            f"%v{name} = pto.make_tensor_view %p{name}, shape = [%n{rows}, %n{cols}], strides = [%n{cols}, %n1]"
            f"{layout} : !pto.tensor_view<?x?x{of}>",
            f"%w{name} = pto.partition_view %v{name}, offsets = [%n0, %n0], sizes = [%n{rows}, %n{cols}]"
            f" : !pto.tensor_view<?x?x{of}> -> !pto.partition_tensor_view<{rows}x{cols}x{of}>",
            f"pto.tload ins(%w{name} : !pto.partition_tensor_view<{rows}x{cols}x{of}>) outs(%{name} : {TYPES[name]})",
        ]
    for source, to in (("am", "a"), ("bm", "b"), ("sm", "s"), ("tm", "t")):
        lines.append(f"pto.tmov ins(%{source} : {TYPES[source]}) outs(%{to} : {TYPES[to]})")
    for tile, scales in (("a", "s"), ("b", "t")):
        lines.append(f"pto.tget_scale_addr ins(%{tile} : {TYPES[tile]}) outs(%{scales} : {TYPES[scales]})")
    given = ", ".join(TYPES[n] for n in "asbt")
    lines.append(f"pto.tmatmul.mx ins(%a, %s, %b, %t : {given}) outs(%c : {TYPES['c']})")
    lines += [
        "%vc = pto.make_tensor_view %pc, shape = [%n32, %n32], strides = [%n32, %n1] : !pto.tensor_view<?x?xf32>",
        "%wc = pto.partition_view %vc, offsets = [%n0, %n0], sizes = [%n32, %n32]"
        " : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<32x32xf32>",
        f"pto.tstore ins(%c : {TYPES['c']}) outs(%wc : !pto.partition_tensor_view<32x32xf32>)",
        more,
    ]
    numbers = [f"%n{n} = arith.constant {n} : index" for n in (0, 1, 2, 32, 64)]
    params = ", ".join(f"%p{n}: !pto.ptr<{of}, gm>" for n, (_, _, of) in SIZES.items())
    body = "\n    ".join([*numbers, *lines, "return"])
    head = 'module attributes {"pto.target_arch" = "a5"} {'
    return (
        f"{head}\n  func.func @k({params}, %pc: !pto.ptr<f32, gm>) attributes {{pto.kernel}} {{\n    {body}\n  }}\n}}\n"
    )


@pytest.mark.parametrize("backend", ["numpy", "native"])
@pytest.mark.parametrize("stated", ["", " {layout = #pto.layout<mx_a_zz>}"])
def test_slices_of_scales_are_groups(backend: str, stated: str) -> None:
    read = parse_module(text(stated), "k.pto", target=target("a5"))
    read.diagnostics.raise_if_errors()
    rng = np.random.default_rng(7)
    s, t = (rng.integers(124, 131, 64).astype(np.uint8) for _ in range(2))
    one, out = np.full(2048, 0x38, np.uint8), np.zeros((32, 32), np.float32)
    compile_program(read.module, target("a5")).launch([one, one.copy(), s, t, out], backend=backend)
    left = np.exp2(s.reshape(2, 1, 16, 2).astype(np.float32) - 127).transpose(0, 2, 1, 3).reshape(32, 2)
    right = np.exp2(t.reshape(2, 1, 16, 2).astype(np.float32) - 127).transpose(1, 3, 0, 2).reshape(2, 32)
    np.testing.assert_array_equal(out, 32 * left @ right)


def test_layouts_come_from_all_the_tiles() -> None:
    def found(source: str) -> list[Layout | None]:
        read = parse_module(source, "k.pto", target=target("a5"))
        (function,) = read.module.functions
        assert function.body is not None
        slices = [op for op in function.body.walk() if op.name == "pto.partition_view"]
        packed = [packed_slice(op, function) for op in slices]
        return [None if p is None else p.layout for p in packed]

    assert found(text()) == [None, None, Layout.MX_A_ZZ, Layout.MX_B_NN, None]
    vec = f"!pto.tile_buf<vec, 32x32x{E8}, valid=32x2>"
    other = (
        f"%x = pto.alloc_tile : {vec}\n    pto.tload ins(%wsm : !pto.partition_tensor_view<32x2x{E8}>) outs(%x : {vec})"
    )
    assert found(text(more=other)) == [None, None, None, Layout.MX_B_NN, None]


@pytest.mark.parametrize(("cols", "accepted"), [(31, True), (32, True), (16, False)])
def test_valid_regions_begin_the_groups_of_views(cols: int, accepted: bool) -> None:
    source = text()
    for name in ("tm", "t"):
        source = source.replace(TYPES[name], TYPES[name].replace(E8, f"{E8}, valid=2x{cols}"))
    found = verify(parse_module(source, "k.pto", target=target("a5")).module, target("a5"))
    assert ("LOAD-A5-D1" in {d.rule for d in found}) is not accepted


@pytest.mark.parametrize("cols", [31, 17])
@pytest.mark.parametrize("backend", ["numpy", "native", "sanitize"])
def test_the_last_group_is_moved_as_a_whole(backend: str, cols: int) -> None:
    """Check, run and sanitizer agree on a valid region that ends inside of a group."""
    source = text()
    for name in ("tm", "t"):
        source = source.replace(TYPES[name], TYPES[name].replace(E8, f"{E8}, valid=2x{cols}"))
    for name in ("b", "bm"):
        source = source.replace(TYPES[name], TYPES[name].replace(F8, f"{F8}, valid=64x{cols}"))
    source = source.replace(TYPES["c"], TYPES["c"].replace("xf32", f"xf32, valid=32x{cols}"))
    for what, rows in ((F8, 64), ("f32", 32)):
        source = source.replace(
            f"partition_tensor_view<{rows}x32x{what}>", f"partition_tensor_view<{rows}x{cols}x{what}>"
        )
    source = source.replace("sizes = [%n64, %n32]", "sizes = [%n64, %v]").replace(
        "sizes = [%n32, %n32]", "sizes = [%n32, %v]"
    )
    source = source.replace("    %n0 =", f"    %v = arith.constant {cols} : index\n    %n0 =")
    module = parse_module(source, "k.pto", target=target("a5")).module
    assert not [d for d in verify(module, target("a5")) if d.severity is Severity.ERROR]
    rng = np.random.default_rng(7)
    s, t = (rng.integers(124, 131, 64).astype(np.uint8) for _ in range(2))
    one, out = np.full(2048, 0x38, np.uint8), np.zeros((32, 32), np.float32)
    args = [one, one.copy(), s, t, out]
    if backend == "sanitize":
        found = sanitize(module, target("a5"), args, 1, mode="auto")
        assert not [d for d in found.diagnostics if d.severity is Severity.ERROR]
    else:
        compile_program(module, target("a5")).launch(args, backend=backend)
    left = np.exp2(s.reshape(2, 1, 16, 2).astype(np.float32) - 127).transpose(0, 2, 1, 3).reshape(32, 2)
    right = np.exp2(t.reshape(2, 1, 16, 2).astype(np.float32) - 127).transpose(1, 3, 0, 2).reshape(2, 32)
    np.testing.assert_array_equal(out[:, :cols], (32 * left @ right)[:, :cols])
    assert not out[:, cols:].any()


def test_text_is_printed_as_it_was() -> None:
    module = parse_module(text(), "k.pto", target=target("a5")).module
    assert "layout = " not in print_module(module)
