"""Copies into the unified buffer that machine code leaves out change nothing, whatever happens in between."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.backends.native import copies
from ptokit.run import Program

from ..run.kernels import compiled
from .test_vector_threads import F32, PTRS, UB

LANES = 64
BEGIN = f"""
    %zero = arith.constant 0 : i64
    %one = arith.constant 1 : i64
    %len = arith.constant 256 : i64
    %at = arith.constant 1024 : i64
    %off = arith.constant false
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %a = pto.castptr %zero : i64 -> {UB}
    %d = pto.castptr %at : i64 -> {UB}
    %x1 = pto.addptr %x, %c64 : {F32} -> {F32}
    %y1 = pto.addptr %y, %c64 : {F32} -> {F32}
"""
IN_TYPES = f"{F32}, {UB}, i64, i64, i64, i64, i64, i1, i64, i64, i64"
OUT_TYPES = f"{UB}, {F32}, i64, i64, i64, i64, i64, i64"


def copy_in(source: str) -> str:
    return (
        f"    pto.copy_gm_to_ubuf {source}, %a, %zero, %one, %len, %zero, %zero, %off, %zero, %len, %len : {IN_TYPES}\n"
    )


def copy_out(target: str, source: str = "%d") -> str:
    return f"    pto.copy_ubuf_to_gm {source}, {target}, %zero, %one, %len, %zero, %len, %len : {OUT_TYPES}\n"


def doubled(source: str = "%a[%c0]", target: str = "%d[%c0]") -> str:
    vector = "!pto.vreg<64xf32>"
    return f"""
    pto.vecscope {{
      %left = arith.constant 64 : i32
      %all, %none = pto.plt_b32 %left : i32 -> !pto.mask<b32>, i32
      %v = pto.vlds {source} : {UB} -> {vector}
      %w = pto.vadd %v, %v, %all : {vector}, {vector}, !pto.mask<b32> -> {vector}
      pto.vsts %w, {target}, %all : {vector}, {UB}, !pto.mask<b32>
    }}
"""


def turns(*body: str) -> str:
    return "    scf.for %i = %c0 to %c2 step %c1 {\n" + "".join(body) + "    }\n"


FIRST, SECOND = copy_in("%x"), copy_in("%x1")
READ, STORE = doubled(), copy_out("%y")
LEFT_OUT = {
    "read at once": [FIRST, READ, STORE],
    "read twice": [FIRST, READ, doubled(), STORE],
    "read in a loop": [FIRST, turns(READ), STORE],
    "the source changes after the last reader": [FIRST, READ, copy_out("%x"), STORE],
    "all of it in a loop": [turns(FIRST, READ, STORE)],
}
MADE = {
    "copied over": [FIRST, SECOND, READ, STORE],
    "stored over": [FIRST, doubled("%d[%c0]", "%a[%c0]"), READ, STORE],
    "partly stored over": [FIRST, doubled("%d[%c0]", "%a[%c32]"), READ, STORE],
    "the source changes before it is read": [FIRST, copy_out("%x"), READ, STORE],
    "the source changes in a loop": [FIRST, turns(READ, copy_out("%x")), STORE],
    "read before it is copied": [turns(READ, STORE, FIRST)],
    "read after the loop": [turns(FIRST), READ, STORE],
    "read beyond its end": [FIRST, doubled("%a[%c32]"), STORE],
    "copied on": [FIRST, copy_out("%y", "%a")],
}


def launched(program: Program, backend: str) -> bytes:
    x, y = np.arange(1, 2 * LANES + 1, dtype=np.float32), np.zeros(2 * LANES, np.float32)
    program.launch([x, y], 1, backend=backend)
    return x.tobytes() + y.tobytes()


@pytest.mark.parametrize("name", [*LEFT_OUT, *MADE])
def test_same_bytes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[Any] = []
    real = copies.elided
    monkeypatch.setattr(copies, "elided", lambda w, step: found.append(real(w, step)) or found[-1])
    program = compiled(PTRS, BEGIN + "".join({**LEFT_OUT, **MADE}[name]))
    assert launched(program, "native") == launched(program, "numpy")
    assert [stands is not None for stands in found] == [name in LEFT_OUT] * len(found) != []


@pytest.mark.parametrize("count", [1, 2])
def test_registers_of_copies_count(count: int) -> None:
    """Two copies, one row after the other, where a register says so."""
    loops = f"    %count = arith.constant {count} : i64\n    pto.set_loop_size_outtoub %count, %one : i64, i64\n"
    loops += "    pto.set_loop1_stride_outtoub %len, %len : i64, i64\n"
    program = compiled(PTRS, BEGIN + loops + FIRST + doubled("%a[%c64]") + STORE)
    found = launched(program, "native")
    assert found == launched(program, "numpy")
    assert np.frombuffer(found, np.float32)[2 * LANES :].any() == (count == 2)
