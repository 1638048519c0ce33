"""The text examples of the pages in their sync form and level 1, with the types and sizes that the pages leave out."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto

from .examples import TARGETS, numbers, read, rules_of, run_text

TILE = "!pto.tile<loc=vec, f32, 16, 16, RowMajor, NoneBox, None, Zero>"
SHORT = "!pto.tile<16x16xf32>"
MEMREF = "!pto.memref<f32, 2>"
VIEW = "!pto.partition_tensor_view<16x16xf32>"
NZ = "ColMajor, RowMajor"
MAT = f"!pto.tile<loc=mat, f32, 16, 16, {NZ}>"
LEFT = "!pto.tile<loc=left, f32, 16, 16, ColMajor, RowMajor>"
RIGHT = "!pto.tile<loc=right, f32, 16, 16, RowMajor, ColMajor>"
ACC = "!pto.tile<acc, 16x16xf32, blayout=col_major, slayout=row_major, fractal=1024>"
LOAD = f"%t0 = tload %sv[%c0, %c0] : ({MEMREF}, index, index) -> {TILE}"
STORE = f"tstore %t1, %sv_out[%c0, %c0] : ({TILE}, {MEMREF}, index, index) -> ()"


@pytest.mark.parametrize("target", TARGETS)
def test_sync_form_of_load_and_store(target: str) -> None:
    x, y = numbers(pto.f32, 32, 32), np.zeros((32, 32), np.float32)
    run_text(f"{LOAD}\n%t1 = tmov.v2v %t0 : {TILE} -> {TILE}\n{STORE}\n", target, x, 8, y)
    assert np.array_equal(y[8:24, 8:24], x[8:24, 8:24])
    assert np.count_nonzero(y) == 256


def test_a_store_as_printed_says_nothing_about_its_operands() -> None:
    text = "tstore %t1, %sv_out[%c0, %c0]"
    assert [rule for rule, _ in rules_of(text, "a5")] == ["TY-9", "TY-9"]


def test_listings_with_dots_are_schematic() -> None:
    text = "%t0 = tload %sv[%c0, %c0] : (!pto.memref<...>, index, index) -> !pto.tile<...>"
    found = rules_of(text, "a5")
    assert {rule for rule, _ in found} == {"TEXT-TYPE"}
    assert "left out" in found[0][1]


@pytest.mark.parametrize("target", TARGETS)
def test_level_1_of_load_and_store(target: str) -> None:
    memory = "memref<16x16xf32>"
    text = f"""func.func @example(%mem: {memory}, %out: {memory}) {{
      %dst = pto.tload %mem : {memory} ->
             !pto.tile<vec, f32, 16, 16, RowMajor, NoneBox, None, Null>
      pto.tstore %dst, %out : (!pto.tile<16x16xf32>, {memory}) -> ()
      return
    }}"""
    x, y = numbers(pto.f32), np.zeros((16, 16), np.float32)
    run_text(text, target, x, y)
    assert np.array_equal(y, x)


@pytest.mark.parametrize("target", TARGETS)
def test_level_1_of_partition_views(target: str) -> None:
    """As printed, but for M, N and the types; a view is no kernel argument, so the listing is read and not run."""
    read(f"%dst = pto.tload %mem : {VIEW} ->\n{TILE}\npto.tstore %dst, %out : ({TILE}, {VIEW}) -> ()", target)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_the_family_of_tmov(target: str) -> None:
    """m2l and m2r into a product, and a2v (a5) or a store of the accumulator (a2a3)."""
    left = LEFT if target == "a5" else LEFT.replace("ColMajor", "RowMajor")
    out = f"tstore %acc, %sv_out[%c0, %c0] : ({ACC}, {MEMREF}, index, index) -> ()"
    if target == "a5":
        out = f"%vec = tmov.a2v %acc : {ACC} -> {SHORT}\ntstore %vec, %sv_out[%c0, %c0] : ({SHORT}, {MEMREF})"
    text = f"""# a product
%mat = tload %sv[%c0, %c0] : ({MEMREF}, index, index) -> {MAT}
%left  = tmov.m2l %mat  : {MAT} -> {left}
%right = tmov.m2r %mat  : {MAT} -> {RIGHT}
%acc = tmatmul %left, %right : {left}, {RIGHT} -> {ACC}
{out}
"""
    x, y = numbers(pto.f32), np.zeros((16, 16), np.float32)
    run_text(text, target, x, 0, y)
    assert np.array_equal(y, x @ x)


@pytest.mark.parametrize(
    ("line", "loc", "legal"),
    [
        ("%bias  = tmov.m2b %mat", "bias", True),
        ("%scale = tmov.m2s %mat", "scaling", True),
        ("%left  = tmov.m2l %mat", "left", True),
        ("%left  = tmov.m2l %mat", "right", False),
        ("%bias  = tmov.m2b %mat", "scaling", False),
    ],
)
def test_the_suffix_restates_the_buffers(line: str, loc: str, legal: bool) -> None:
    text = f"{line}  : !pto.tile<loc=mat, f32, 1, 32> -> !pto.tile<loc={loc}, f32, 1, 32>"
    assert [rule for rule, _ in rules_of(text, "a5")] == ([] if legal else ["TMOV-SUFFIX"])


@pytest.mark.parametrize("target", TARGETS)
def test_auto_mode_of_tmov(target: str) -> None:
    read(f"# Auto mode: placement and scheduling are managed.\n%dst = pto.tmov.s2d %src  : {SHORT} -> {SHORT}", target)


@pytest.mark.parametrize("target", TARGETS)
def test_manual_mode(target: str) -> None:
    """The addresses that the page leaves as comments, put in force."""
    x, y = numbers(pto.f32), np.zeros((16, 16), np.float32)
    text = f"""# Manual mode: resources are bound before the instruction.
%arg0 = tload %sv[%c0, %c0] : ({MEMREF}, index, index) -> {SHORT}
%t = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>
pto.tassign %t, @tile(0x1000)
tmov.v2v %t, %arg0 : {SHORT}
pto.tassign %arg0, @tile(0x2000)
pto.tmov %arg0, %t : {SHORT}
tsync %arg0
tstore %arg0, %sv_out[%c0, %c0] : ({SHORT}, {MEMREF})
"""
    run_text(text, target, x, 0, y)
    assert np.array_equal(y, x)


@pytest.mark.parametrize("target", ["a2a3", "a5"])
def test_atomic_store_in_the_sync_form(target: str) -> None:
    text = f"{LOAD}\ntstore %t0, %out[%c0, %c0] #atomic=add : ({TILE}, {MEMREF})"
    x, y = numbers(pto.f32), numbers(pto.f32)
    run_text(text, target, x, 0, y)
    assert np.array_equal(y, 2 * x)
