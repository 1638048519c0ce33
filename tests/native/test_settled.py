"""Types that leave the valid region open cost nothing where the allocation settles it, and change nothing."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.backends.native.program import prepare
from ptokit.diagnostics import DiagnosticError
from ptokit.machine.tiles import Asking
from ptokit.run import Program, compile_program
from ptokit.targets import target

pytest.importorskip("llvmlite")

STATIC = "!pto.tile_buf<vec, 16x32xf32, valid={}x{}>"
OPEN = "!pto.tile_buf<vec, 16x32xf32, valid=?x?>"
COLUMN = "!pto.tile_buf<vec, 16x1xf32, valid=?x?, blayout=col_major>"
PART = "!pto.partition_tensor_view<16x32xf32>"
HEAD = """
func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index) attributes {pto.entry} {
    %a0 = arith.constant 0 : i64
    %a1 = arith.constant 4096 : i64
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c5 = arith.constant 5 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %c17 = arith.constant 17 : index
    %c32 = arith.constant 32 : index
    %xv = pto.make_tensor_view %x, shape = [%c16, %c32], strides = [%c32, %c1] : !pto.tensor_view<16x32xf32>
    %yv = pto.make_tensor_view %y, shape = [%c16, %c32], strides = [%c32, %c1] : !pto.tensor_view<16x32xf32>
"""


def compiled(body: str) -> Program:
    parsed = parse_module(f"module {{{HEAD}{body}    return\n}}\n}}\n", "k.pto", target=target("a5"))
    parsed.diagnostics.raise_if_errors()
    return compile_program(parsed.module, target("a5"))


def alloc(name: str, rows: str, cols: str, type: str = OPEN, at: str = "") -> str:
    return f"    %{name} = pto.alloc_tile {at and f'addr = {at} '}valid_row = {rows} valid_col = {cols} : {type}\n"


def part(name: str, view: str, rows: int, cols: int) -> str:
    type = f"!pto.partition_tensor_view<{rows}x{cols}xf32>"
    sizes = f"[%c{rows}, %c{cols}]"
    return (
        f"    %{name} = pto.partition_view {view}, offsets = [%c0, %c0], sizes = {sizes} : "
        f"!pto.tensor_view<16x32xf32> -> {type}\n"
    )


def load(tile: str, view: str, rows: int, cols: int) -> str:
    return f"    pto.tload ins({view} : !pto.partition_tensor_view<{rows}x{cols}xf32>) outs({tile} : {OPEN})\n"


def store(tile: str, view: str, rows: int, cols: int) -> str:
    return f"    pto.tstore ins({tile} : {OPEN}) outs({view} : !pto.partition_tensor_view<{rows}x{cols}xf32>)\n"


def add(a: str, b: str, out: str) -> str:
    return f"    pto.tadd ins({a}, {b} : {OPEN}, {OPEN}) outs({out} : {OPEN})\n"


def both(program: Program, n: int = 3) -> list[np.ndarray]:
    x, found = np.random.default_rng(1).random((16, 32), np.float32), []
    for backend in ("numpy", "native"):
        y = np.zeros_like(x)
        program.launch([x, y, n], 1, backend=backend)
        found.append(y)
    return found


WHOLE = alloc("t", "%c16", "%c32") + part("p", "%xv", 16, 32) + part("q", "%yv", 16, 32) + load("%t", "%p", 16, 32)
EXPANDED = (
    WHOLE
    + alloc("v", "%c16", "%c1", COLUMN)
    + alloc("w", "%c16", "%c32")
    + f"    pto.trowsum ins(%t, %w : {OPEN}, {OPEN}) outs(%v : {COLUMN})\n"
    + f"    pto.trowexpandmul ins(%t, %v : {OPEN}, {COLUMN}) outs(%t : {OPEN})\n"
    + store("%t", "%q", 16, 32)
)


def test_what_depends_on_sizes_is_native() -> None:
    program = compiled(EXPANDED)
    assert prepare(program).made.module.called == set()
    plain, native = both(program)
    assert plain.tobytes() == native.tobytes()
    assert plain.any()


SMALL = part("q", "%yv", 16, 32) + part("p", "%xv", 16, 32)
CHANGED = {
    "set": WHOLE
    + f"    pto.set_validshape %t, %c8, %c5 : {OPEN}\n"
    + add("%t", "%t", "%t")
    + f"    pto.set_validshape %t, %c16, %c32 : {OPEN}\n"
    + store("%t", "%q", 16, 32),
    "set in a loop": WHOLE
    + "    scf.for %i = %c1 to %n step %c1 {\n"
    + add("%t", "%t", "%t")
    + f"    pto.set_validshape %t, %i, %c5 : {OPEN}\n    }}\n"
    + f"    pto.set_validshape %t, %c16, %c32 : {OPEN}\n"
    + store("%t", "%q", 16, 32),
    "carried": WHOLE.replace("alloc_tile", "alloc_tile addr = %a0")
    + alloc("u", "%c8", "%c5", at="%a1")
    + f"    %r = scf.for %i = %c1 to %n step %c1 iter_args(%s = %t) -> ({OPEN}) {{\n"
    + add("%t", "%t", "%t")
    + f"    scf.yield %u : {OPEN}\n    }}\n"
    + add("%r", "%r", "%r")
    + store("%t", "%q", 16, 32),
    "chosen": WHOLE
    + alloc("u", "%c8", "%c5")
    + "    %b = arith.cmpi sgt, %n, %c1 : index\n"
    + f"    %r = scf.if %b -> ({OPEN}) {{\n    scf.yield %t : {OPEN}\n"
    + f"    }} else {{\n    scf.yield %u : {OPEN}\n    }}\n"
    + add("%r", "%r", "%r")
    + store("%t", "%q", 16, 32),
    "from the run": part("q", "%yv", 16, 32)
    + part("p", "%xv", 16, 32)
    + WHOLE.split("outs")[0].split("    %p =")[0]
    + load("%t", "%p", 16, 32)
    + alloc("u", "%n", "%c32")
    + f"    pto.tadd ins(%t, %t : {OPEN}, {OPEN}) outs(%u : {OPEN})\n"
    + store("%t", "%q", 16, 32),
}


@pytest.mark.parametrize("body", CHANGED.values(), ids=CHANGED)
@pytest.mark.parametrize("n", [1, 3])
def test_regions_that_change_are_looked_up(body: str, n: int) -> None:
    program = compiled(body)
    found = []
    x = np.random.default_rng(1).random((16, 32), np.float32)
    for backend in ("numpy", "native"):
        y = np.zeros_like(x)
        try:
            program.launch([x, y, n], 1, backend=backend)
        except DiagnosticError as error:
            found.append([(d.rule, d.message, d.location) for d in error.diagnostics])
            continue
        found.append(y.tobytes())
    assert found[0] == found[1]


@pytest.mark.parametrize(("rows", "cols"), [*itertools.product((8, 16), (8, 32))])
def test_rules_of_sizes_are_still_checked_at_run_time(rows: int, cols: int) -> None:
    """A load into a tile whose valid region is not that of the view is the same finding on both backends."""
    body = part("p", "%xv", 16, 32) + part("q", "%yv", 16, 32) + alloc("t", f"%c{rows}", f"%c{cols}")
    program = compiled(body + load("%t", "%p", 16, 32) + store("%t", "%q", 16, 32))
    x, found = np.ones((16, 32), np.float32), []
    for backend in ("numpy", "native"):
        y = np.zeros_like(x)
        try:
            program.launch([x, y, 1], 1, backend=backend)
            found.append(y.tobytes())
        except DiagnosticError as error:
            found.append([(d.rule, d.message, d.location) for d in error.diagnostics])
    assert found[0] == found[1]


def test_rules_are_checked_once_for_sizes_not_for_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices at another place of the same size ask nothing of Python."""
    seen: list[int] = []
    real = Asking.ask
    monkeypatch.setattr(Asking, "ask", lambda *a, **k: (seen.append(1), real(*a, **k))[1])
    body = WHOLE + "    scf.for %i = %c0 to %n step %c1 {\n"
    cut = "!pto.partition_tensor_view<1x32xf32>"
    row = "!pto.tile_buf<vec, 1x32xf32, valid=?x?>"
    for name in ("x", "y"):
        body += (
            f"    %{name}r = pto.partition_view %{name}v, offsets = [%i, %c0], sizes = [%c1, %c32] : "
            f"!pto.tensor_view<16x32xf32> -> {cut}\n"
        )
    body += "    %r = pto.alloc_tile valid_row = %c1 valid_col = %c32 : " + row + "\n"
    body += (
        f"    pto.tload ins(%xr : {cut}) outs(%r : {row})\n    pto.tstore ins(%r : {row}) outs(%yr : {cut})\n    }}\n"
    )
    program = compiled(body)
    counts = []
    for n in (2, 16):
        x, y = np.random.default_rng(1).random((16, 32), np.float32), np.zeros((16, 32), np.float32)
        seen.clear()
        program.launch([x, y, n], 1, backend="native")
        counts.append(len(seen))
        assert y[:n].tobytes() == x[:n].tobytes()
    assert counts[0] == counts[1] > 0


FIXED = STATIC.format(8, 5)
SIZES = {
    "of the type": f"    %u = pto.alloc_tile : {FIXED}\n",
    "settled": alloc("u", "%c8", "%c5"),
    "of the run": alloc("u", "%n", "%c5"),
    "set": alloc("u", "%c16", "%c32") + f"    pto.set_validshape %u, %n, %c5 : {OPEN}\n",
}


@pytest.mark.parametrize("words", ["both", "each"])
@pytest.mark.parametrize("made", SIZES)
def test_valid_sizes_as_numbers(made: str, words: str) -> None:
    """Which blocks store where depends on them: a scan follows the sizes that cannot change."""
    type = FIXED if made == "of the type" else OPEN
    body = (
        SIZES[made]
        + {
            "both": f"    %r, %s = pto.get_validshape %u : {type}\n",
            "each": f"    %r = pto.tile_valid_rows %u : {type} -> index\n"
            f"    %s = pto.tile_valid_cols %u : {type} -> index\n",
        }[words]
    )
    body += (
        "    %b64 = pto.get_block_idx\n    %b = arith.index_cast %b64 : i64 to index\n"
        "    %e = arith.muli %b, %r : index\n    %f = arith.addi %e, %s : index\n"
        "    %v = pto.load_scalar %x[%f] : !pto.ptr<f32> -> f32\n    pto.store_scalar %v, %y[%f] : !pto.ptr<f32>, f32\n"
    )
    program = compiled(body)
    x, found = np.random.default_rng(1).random((16, 32), np.float32), []
    for backend in ("numpy", "native"):
        y = np.zeros_like(x)
        program.launch([x, y, 8], 6, backend=backend, threads=2)
        found.append(y)
    assert np.flatnonzero(found[0]).tolist() == [8 * block + 5 for block in range(6)]
    assert found[0].tobytes() == found[1].tobytes()
    assert prepare(program).made.scans == (made in ("of the type", "settled"))
