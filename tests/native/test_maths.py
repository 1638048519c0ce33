"""exp, log, square roots and reciprocals: machine code and NumPy agree in every bit."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.isa.numerics.unary import HARD
from ptokit.run import Program, compile_program
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES

from ..sweeps import PART, swept

pytest.importorskip("llvmlite")

FUNCTIONS = ["exp", "log", "sqrt", "rsqrt", "recip"]
ROWS, COLS = 16, 256
ON = {"f32": "a5", "f16": "a5", "bf16": "cpu"}


@cache
def program(name: str, type: str) -> Program:
    """y = f(x), 4096 numbers a block."""
    tile, view = f"!pto.tile_buf<vec, {ROWS}x{COLS}x{type}>", f"!pto.tensor_view<?x{COLS}x{type}>"
    part = f"!pto.partition_tensor_view<{ROWS}x{COLS}x{type}>"
    text = f"""
    func.func @k(%x: !pto.ptr<{type}>, %y: !pto.ptr<{type}>, %rows: index) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %h = arith.constant {ROWS} : index
      %w = arith.constant {COLS} : index
      %b64 = pto.get_block_idx
      %b = arith.index_cast %b64 : i64 to index
      %r = arith.muli %b, %h : index
      %xv = pto.make_tensor_view %x, shape = [%rows, %w], strides = [%w, %c1] : {view}
      %yv = pto.make_tensor_view %y, shape = [%rows, %w], strides = [%w, %c1] : {view}
      %p = pto.partition_view %xv, offsets = [%r, %c0], sizes = [%h, %w] : {view} -> {part}
      %q = pto.partition_view %yv, offsets = [%r, %c0], sizes = [%h, %w] : {view} -> {part}
      %t = pto.alloc_tile : {tile}
      %u = pto.alloc_tile : {tile}
      pto.tload ins(%p : {part}) outs(%t : {tile})
      pto.t{name} ins(%t : {tile}) outs(%u : {tile})
      pto.tstore ins(%u : {tile}) outs(%q : {part})
      return
    }}"""
    read = parse_module(text, target=target(ON[type]))
    read.diagnostics.raise_if_errors()
    return compile_program(read.module, target(ON[type]))


def results(name: str, type: str, codes: np.ndarray, backend: str) -> np.ndarray:
    out = np.zeros_like(codes)
    rows = len(codes) // COLS
    program(name, type).launch([codes, out, rows], rows // ROWS, backend=backend, threads=1)
    return out


def alike(a: np.ndarray, b: np.ndarray, type: str) -> np.ndarray:
    """Where bits are the same, or both are NaN, whose bits are not stated."""
    dtype = DTYPES[type].value
    nan = np.isnan(a.view(dtype)) & np.isnan(b.view(dtype))
    found: np.ndarray = (a == b) | nan
    return found


def differing(name: str, type: str, codes: np.ndarray) -> list[int]:
    found = alike(results(name, type, codes, "native"), results(name, type, codes, "numpy"), type)
    return [int(code) for code in codes[~found][:10]]


@pytest.mark.parametrize(
    ("name", "type"), [(n, t) for n in FUNCTIONS for t in ("f16", "bf16") if (n, t) != ("rsqrt", "bf16")]
)
def test_every_number_of_16_bits(name: str, type: str) -> None:
    assert differing(name, type, np.arange(65536, dtype=np.uint16)) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_some_numbers_of_32_bits(name: str) -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 1 << 32, 1 << 17, dtype=np.uint32)
    codes[:4096] = np.arange(4096)  # the least
    edges = np.array([0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 88.72284, -103.97208, 2.0**-126], np.float32)
    codes[4096 : 4096 + len(edges)] = edges.view(np.uint32)
    assert differing(name, "f32", codes) == []


@pytest.mark.parametrize("name", sorted(HARD))
def test_arguments_at_which_the_last_bit_decides(name: str) -> None:
    codes = np.resize(np.array(list(HARD[name]), np.uint32), 4096)
    wanted = np.resize(np.array(list(HARD[name].values()), np.uint32), 4096)
    assert (results(name, "f32", codes, "native") == wanted).all()


def differing_in_part(given: dict[str, Any], _: object) -> list[int]:
    return differing(given["name"], "f32", np.arange(given["start"], given["start"] + PART, dtype=np.uint32))


@pytest.mark.campaign
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_number_of_32_bits(name: str) -> None:
    """2**32 numbers, a minute or two for each function and core."""
    assert swept(f"{__name__}:differing_in_part", name=name) == []
