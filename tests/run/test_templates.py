"""Modules of one kind of core: the assembler's backend for them has templates in the place of the library."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto
from ptokit.types.enums import PadValue
from ptokit.types.tensor import pad_bits

KIND = ", pto.kernel_kind = #pto.kernel_kind<vector>"
VIEW = """  %{name} = pto.make_tensor_view %p{name}, shape = [%r, %{cols}], strides = [%{cols}, %c1]
    : !pto.tensor_view<?x?x{dtype}>
  %{name}p = pto.partition_view %{name}, offsets = [%c0, %c0], sizes = [%r, %{cols}]
    : !pto.tensor_view<?x?x{dtype}> -> !pto.partition_tensor_view<{rows}x{n}x{dtype}>
"""
BACKENDS = ("numpy", "native")


def module(kind: str, params: str, rows: int, sizes: dict[str, int], body: str) -> str:
    numbers = "".join(f"  %{name} = arith.constant {n} : index\n" for name, n in sizes.items())
    return (
        f'module attributes {{pto.target_arch = "a5"{kind}}} {{\nfunc.func @k({params}) attributes {{pto.kernel}} {{\n'
        f"  %c0 = arith.constant 0 : index\n  %c1 = arith.constant 1 : index\n"
        f"  %r = arith.constant {rows} : index\n{numbers}{body}  return\n}}\n}}\n"
    )


def view(name: str, cols: str, rows: int, n: int, dtype: str) -> str:
    return VIEW.format(name=name, cols=cols, rows=rows, n=n, dtype=dtype)


def moved(op: str, tile: str, spec: str, name: str, rows: int, n: int, dtype: str) -> str:
    part = f"%{name}p : !pto.partition_tensor_view<{rows}x{n}x{dtype}>"
    ins, outs = (part, f"%{tile} : {spec}") if op == "tload" else (f"%{tile} : {spec}", part)
    return f"  pto.{op} ins({ins}) outs({outs})\n"


def expansion(kind: str) -> str:
    matrix, block = "!pto.tile_buf<vec, 16x32xf32>", "!pto.tile_buf<vec, 16x8xf32>"
    body = view("a", "w", 16, 32, "f32") + view("b", "e", 16, 8, "f32") + view("o", "w", 16, 32, "f32")
    body += f"  %t = pto.alloc_tile : {matrix}\n  %u = pto.alloc_tile : {block}\n  %d = pto.alloc_tile : {matrix}\n"
    body += moved("tload", "t", matrix, "a", 16, 32, "f32") + moved("tload", "u", block, "b", 16, 8, "f32")
    body += f"  pto.trowexpandadd ins(%t, %u : {matrix}, {block}) outs(%d : {matrix})\n"
    body += moved("tstore", "d", matrix, "o", 16, 32, "f32")
    params = "%pa: !pto.ptr<f32>, %pb: !pto.ptr<f32>, %po: !pto.ptr<f32>"
    return module(kind, params, 16, {"w": 32, "e": 8}, body)


@pytest.mark.parametrize("backend", BACKENDS)
def test_of_a_block_the_template_repeats_the_first_element(backend: str) -> None:
    a = np.arange(16 * 32, dtype=np.float32).reshape(16, 32)
    b = np.random.default_rng(1).integers(1, 99, (16, 8)).astype(np.float32)
    for kind, want in ((KIND, a + b[:, :1]), ("", a + np.tile(b, 4))):
        out = np.zeros_like(a)
        pto.run(expansion(kind), [a.copy(), b.copy(), out], backend=backend)
        assert (out == want).all(), kind


def comparison(kind: str, rows: int, cols: int, valid: int, mask: int, dtype: str) -> str:
    data = f"!pto.tile_buf<vec, {rows}x{cols}x{dtype}" + (f", valid={rows}x{valid}>" if valid != cols else ">")
    bits = f"!pto.tile_buf<vec, {rows}x{mask}xui8>"
    body = view("a", "w", rows, valid, dtype) + view("o", "m", rows, mask, "ui8")
    body += f"  %t = pto.alloc_tile : {data}\n  %d = pto.alloc_tile : {bits}\n"
    body += moved("tload", "t", data, "a", rows, valid, dtype)
    body += moved("tload", "d", bits, "o", rows, mask, "ui8")
    body += f"  pto.tcmps ins(%t, %s {{cmpMode = #pto<cmp lt>}} : {data}, {dtype}) outs(%d : {bits})\n"
    body += moved("tstore", "d", bits, "o", rows, mask, "ui8")
    params = f"%pa: !pto.ptr<{dtype}>, %po: !pto.ptr<ui8>, %s: {dtype}"
    return module(kind, params, rows, {"w": valid, "m": mask}, body)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("rows", "cols", "valid", "mask", "dtype", "pitch"),
    [
        (4, 64, 64, 64, "f32", 64),  # contiguous: the rows follow each other bit for bit
        (8, 64, 64, 64, "f16", 64),
        (4, 64, 40, 64, "f32", 128),  # else every row begins with a new store
        (2, 256, 200, 256, "i8", 256),
    ],
)
def test_masks_of_a_comparison_with_a_number(
    backend: str, rows: int, cols: int, valid: int, mask: int, dtype: str, pitch: int
) -> None:
    kinds = {"f32": np.float32, "f16": np.float16, "i8": np.int8}
    a = np.random.default_rng(2).integers(-9, 9, (rows, valid)).astype(kinds[dtype])
    bits = np.zeros((rows, pitch), bool)
    bits[:, :valid] = a < 1
    packed = np.packbits(bits.reshape(-1), bitorder="little")
    out = np.zeros((rows, mask), np.uint8)
    pto.run(comparison(KIND, rows, cols, valid, mask, dtype), [a.copy(), out, 1], backend=backend)
    assert (out.reshape(-1)[: packed.size] == packed).all()
    out = np.zeros((rows, mask), np.uint8)
    pto.run(comparison("", rows, cols, valid, mask, dtype), [a.copy(), out, 1], backend=backend)
    whole = np.unpackbits(out, axis=1, bitorder="little")[:, :valid]
    assert (whole == (a < 1)).all()


@pytest.mark.parametrize(("dtype", "kind"), [("f32", np.float32), ("f16", np.float16)])
def test_templates_pad_with_the_largest_number(dtype: str, kind: type) -> None:
    for pad, sign in ((2, 1), (3, -1)):
        for text, want in ((KIND, sign * np.finfo(kind).max), ("", sign * np.inf)):
            narrow = f"!pto.tile_buf<vec, 4x32x{dtype}, valid=4x20>"
            wide = f"!pto.tile_buf<vec, 4x32x{dtype}, pad={pad}>"
            body = view("a", "w", 4, 20, dtype) + view("o", "m", 4, 32, dtype)
            body += f"  %t = pto.alloc_tile : {narrow}\n  %d = pto.alloc_tile : {wide}\n"
            body += moved("tload", "t", narrow, "a", 4, 20, dtype)
            body += f"  pto.tfillpad ins(%t : {narrow}) outs(%d : {wide})\n"
            body += moved("tstore", "d", wide, "o", 4, 32, dtype)
            a, out = np.ones((4, 20), kind), np.zeros((4, 32), kind)
            params = f"%pa: !pto.ptr<{dtype}>, %po: !pto.ptr<{dtype}>"
            pto.run(module(text, params, 4, {"w": 20, "m": 32}, body), [a, out])
            assert (out[:, :20] == 1).all(), (pad, text)
            assert (out[:, 20:] == want).all(), (pad, text)
    assert pad_bits(pto.bf16, PadValue.Max, finite=True) == 0x7F7F


def filled_up(kind: str) -> str:
    small, large = "!pto.tile_buf<vec, 7x32xui16, valid=7x7>", "!pto.tile_buf<vec, 8x32xui16, pad=2>"
    body = view("a", "w", 7, 7, "ui16") + view("o", "m", 8, 32, "ui16").replace("[%r,", "[%s,")
    body += f"  %t = pto.alloc_tile : {small}\n  %d = pto.alloc_tile : {large}\n"
    body += moved("tload", "t", small, "a", 7, 7, "ui16")
    body += f"  pto.tfillpad ins(%t : {small}) outs(%d : {large})\n"
    body += moved("tstore", "d", large, "o", 8, 32, "ui16")
    return module(kind, "%pa: !pto.ptr<ui16>, %po: !pto.ptr<ui16>", 7, {"w": 7, "m": 32, "s": 8}, body)


@pytest.mark.parametrize("backend", BACKENDS)
def test_templates_fill_a_tile_that_is_larger_than_the_source(backend: str) -> None:
    a, out = np.arange(49, dtype=np.uint16).reshape(7, 7), np.zeros((8, 32), np.uint16)
    pto.run(filled_up(KIND), [a, out], backend=backend)
    assert (out[:7, :7] == a).all()
    assert (out[:, 7:] == 0xFFFF).all()
    assert (out[7] == 0xFFFF).all()
    with pytest.raises(pto.DiagnosticError, match="FILL-COM-03"):
        pto.run(filled_up(""), [a, out], backend=backend)


def blocks_of_rows(kind: str) -> str:
    tile = "!pto.tile_buf<vec, 32x16xf32, blayout=col_major, slayout=row_major>"
    view5 = """  %{name} = pto.make_tensor_view %p{name}, shape = [%c2, %c1, %r, %c1, %c8],
    strides = [%s, %s, %c8, %c8, %c1]
    : !pto.tensor_view<2x1x32x1x8xf32>
  %{name}p = pto.partition_view %{name}, offsets = [%c0, %c0, %c0, %c0, %c0], sizes = [%c2, %c1, %r, %c1, %c8]
    : !pto.tensor_view<2x1x32x1x8xf32> -> !pto.partition_tensor_view<2x1x32x1x8xf32>
"""
    part = "!pto.partition_tensor_view<2x1x32x1x8xf32>"
    body = view5.format(name="a") + view5.format(name="o") + f"  %t = pto.alloc_tile : {tile}\n"
    body += f"  pto.tload ins(%ap : {part}) outs(%t : {tile})\n  pto.tstore ins(%t : {tile}) outs(%op : {part})\n"
    return module(kind, "%pa: !pto.ptr<f32>, %po: !pto.ptr<f32>", 32, {"c2": 2, "c8": 8, "s": 256}, body)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_nz_tile_says_the_layout_of_its_view(backend: str) -> None:
    a = np.arange(512, dtype=np.float32)
    out = np.zeros_like(a)
    pto.run(blocks_of_rows(KIND), [a, out], backend=backend)
    assert (out == a).all()
    with pytest.raises(pto.DiagnosticError, match="LOAD-A5-04"):
        pto.run(blocks_of_rows(""), [a, out], backend=backend)


def sorted_groups(kind: str) -> str:
    data, numbers, records = (f"!pto.tile_buf<vec, 1x{n}x{t}" for n, t in ((32, "f32"), (32, "ui32"), (64, "f32")))
    body = view("a", "w", 1, 13, "f32") + view("i", "e", 1, 32, "ui32") + view("o", "m", 1, 64, "f32")
    body += f"  %t = pto.alloc_tile : {data}, valid=1x13>\n  %u = pto.alloc_tile : {numbers}>\n"
    body += f"  %v = pto.alloc_tile : {data}>\n  %d = pto.alloc_tile : {records}>\n"
    body += moved("tload", "t", f"{data}, valid=1x13>", "a", 1, 13, "f32")
    body += moved("tload", "u", f"{numbers}>", "i", 1, 32, "ui32")
    body += f"  pto.tsort32 ins(%t, %u, %v : {data}, valid=1x13>, {numbers}>, {data}>) outs(%d : {records}>)\n"
    body += moved("tstore", "d", f"{records}>", "o", 1, 64, "f32")
    params = "%pa: !pto.ptr<f32>, %pi: !pto.ptr<ui32>, %po: !pto.ptr<f32>"
    return module(kind, params, 1, {"w": 13, "e": 32, "m": 64}, body)


def test_templates_fill_a_group_with_a_large_number() -> None:
    """The bits of minus infinity, which they take for a number, so that it comes first."""
    a, numbers = np.arange(13, dtype=np.float32), np.arange(32, dtype=np.uint32)
    for kind, want in ((KIND, [4286578688.0] * 19 + [*range(12, -1, -1)]), ("", [*range(12, -1, -1)] + [-np.inf] * 19)):
        out = np.zeros(64, np.float32)
        pto.run(sorted_groups(kind), [a, numbers, out])
        assert out[::2].tolist() == want, kind
