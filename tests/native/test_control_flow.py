"""Random programs of loops, branches, calls and blocks give the same bytes as machine code and with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from ptokit.asm import parse_module
from ptokit.backends.native.program import prepare
from ptokit.diagnostics import DiagnosticError
from ptokit.run import compile_program
from ptokit.targets import A5

from ..run.random_control import LANES, SLOTS, ControlProgram

BLOCKS = 5


def after(seed: int, backend: str) -> tuple[bytes, bytes, list[object]]:
    program = compile_program(parse_module(ControlProgram(seed).text).module, A5)
    slots = np.random.default_rng(seed).integers(0, 4, (BLOCKS, SLOTS))
    raised, found = np.zeros((64, LANES), np.float32), []
    try:
        program.launch([slots, raised, seed % 5], BLOCKS, backend=backend)
    except DiagnosticError as error:
        found = [(d.rule, d.message, d.location, d.notes) for d in error.diagnostics]
    return slots.tobytes(), raised.tobytes(), found


@pytest.mark.parametrize("seed", range(8))
def test_same_bytes(seed: int) -> None:
    assert after(seed, "native") == after(seed, "numpy")


@pytest.mark.campaign
def test_many_programs() -> None:
    for seed in range(8, 400):
        assert after(seed, "native") == after(seed, "numpy"), seed


WHILE = """module {{
func.func @k(%x: !pto.ptr<i32>, %n: index) attributes {{pto.entry}} {{
    %c1 = arith.constant 1 : index
    %v = arith.constant 7 : i32
    %block = pto.get_block_idx
    %b = arith.index_cast %block : i64 to index
    %start = arith.muli %b, %n : index
    %last, %end = scf.while (%i = %n, %j = %start) : (index, index) -> (index, index) {{
      %more = arith.cmpi sgt, %i, %c1 : index
      scf.condition(%more) %i, %j : index, index
    }} do {{
    ^bb0(%left: index, %p: index):
      pto.store_scalar %v, %x[%p] : !pto.ptr<i32>, i32
      %next = arith.subi %left, %c1 : index
      %q = arith.addi %p, %c1 : index
      scf.yield %next, %q : index, index
    }}
{after}    return
}}
}}
"""


@pytest.mark.parametrize(
    ("after", "stored"), [("", 3), ("    pto.store_scalar %v, %x[%end] : !pto.ptr<i32>, i32\n", 4)]
)
def test_what_blocks_store_in_a_while_loop_is_known(after: str, stored: int) -> None:
    """So that they may run on several threads, whether or not something uses the results of the loop."""
    program = compile_program(parse_module(WHILE.format(after=after)).module, A5)
    assert prepare(program).made.scans
    want = np.zeros((BLOCKS, 4), np.int32)
    want[:, :stored] = 7
    for backend in ("native", "numpy"):
        x = np.zeros((BLOCKS, 4), np.int32)
        program.launch([x.reshape(-1), 4], BLOCKS, backend=backend, threads=2)
        assert (x == want).all(), backend


OPEN = "!pto.tile_buf<vec, 8x16xf32, valid=?x?>"
NEW = f"%{{}} = pto.alloc_tile addr = %at valid_row = %i valid_col = %c1 : {OPEN}\n"
CARRIED = f"""module {{{{
func.func @k(%x: !pto.ptr<i32>, %n: index) attributes {{{{pto.entry}}}} {{{{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c5 = arith.constant 5 : index
    %at = arith.constant 0 : i64
    %first = pto.alloc_tile addr = %at valid_row = %c5 valid_col = %c5 : {OPEN}
    %other = pto.alloc_tile addr = %at valid_row = %n valid_col = %c5 : {OPEN}
    %end:2 = scf.for %i = %c0 to %n step %c1 iter_args(%s = %first, %t = %other) -> ({OPEN}, {OPEN}) {{{{
      {{made}}
      %row, %col = pto.get_validshape %s : {OPEN}
      %v = arith.index_cast %row : index to i32
      pto.store_scalar %v, %x[%i] : !pto.ptr<i32>, i32
      scf.yield {{handed}}, %s : {OPEN}, {OPEN}
    }}}}
    return
}}}}
}}}}
"""


@pytest.mark.parametrize(
    ("made", "handed", "want"),
    [
        ("", "%t", [5, 6, 5, 6, 5, 6]),
        (NEW.format("u"), "%u", [5, 0, 1, 2, 3, 4]),
        (NEW.format("w") + f"%u = pto.tassign %w, %at : {OPEN} -> {OPEN}", "%u", [5, 0, 1, 2, 3, 4]),
    ],
)
def test_valid_regions_of_tiles_that_a_loop_carries(made: str, handed: str, want: list[int]) -> None:
    """A turn that makes a tile leaves the one alone that the turn before made."""
    program = compile_program(parse_module(CARRIED.format(made=made, handed=handed)).module, A5)
    for backend in ("auto", "numpy") if made else ("native", "numpy"):
        x = np.zeros(6, np.int32)
        program.launch([x, 6], 1, backend=backend)
        assert x.tolist() == want, backend
    if made:
        with pytest.raises(DiagnosticError, match="a loop hands the tile to its next iteration"):
            program.launch([x, 6], 1, backend="native")
