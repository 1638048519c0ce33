"""Which tiles loops hand to their next iterations, and which keep the valid region of their allocation."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.ir import Function
from ptokit.ir.facts import Facts
from ptokit.plan.values import carried_tiles, settled_regions
from ptokit.run import compile_program
from ptokit.targets import target

T = "!pto.tile_buf<vec, 8x16xf32>"
OPEN = "!pto.tile_buf<vec, 8x16xf32, valid=?x?>"
FUNCTION = f"func.func @g(%x: {OPEN}) {{\nreturn\n}}\n"


def function(body: str, ends: str = "return") -> Function:
    text = f"""{FUNCTION}func.func @k(%c: i1, %n: index) attributes {{pto.entry}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %c17 = arith.constant 17 : index
      %below = arith.constant -1 : index
      %a = pto.alloc_tile : {T}
      {body}
      {ends}
    }}"""
    read = parse_module(text)
    assert [str(d) for d in read.diagnostics] == [], text
    return read.module.functions[1]


MADE = f"%d = pto.alloc_tile : {T}\n"
FOR = f"%r = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = %a) -> ({T}) {{{{\n{{}}\n}}}}"
WHILE = (
    f"%r = scf.while (%x = %a) : ({T}) -> {T} {{{{\n{{}}scf.condition(%c) {{}} : {T}\n}}}} "
    f"do {{{{\n^bb0(%y: {T}):\n{{}}scf.yield {{}} : {T}\n}}}}"
)
INNER = f"%w = scf.for %j = %c0 to %c1 step %c1 iter_args(%u = %d) -> ({T}) {{{{\nscf.yield {{}} : {T}\n}}}}\n"
ALIAS = f"%e = pto.treshape %d : {T} -> {T}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (FOR.format(f"{MADE}scf.yield %d : {T}"), "d"),
        (FOR.format(f"{MADE}{ALIAS}scf.yield %e : {T}"), "d"),
        (FOR.format(f"{MADE}scf.yield %x : {T}"), ""),
        (FOR.format(f"{MADE}scf.yield %a : {T}"), ""),
        (FOR.format(f"{MADE}{INNER.format('%u')}scf.yield %w : {T}"), "d"),
        (FOR.format(f"{MADE}{INNER.format('%x')}scf.yield %w : {T}"), "d"),
        (FOR.format(f"{MADE}{INNER.format('%d')}scf.yield %x : {T}"), ""),
        (
            FOR.format(
                f"%s = scf.if %c -> ({T}) {{\n{MADE}scf.yield %d : {T}\n}} else {{\nscf.yield %x : {T}\n}}\n"
                f"scf.yield %s : {T}"
            ),
            "d",
        ),
        (f"%s = scf.if %c -> ({T}) {{\n{MADE}scf.yield %d : {T}\n}} else {{\nscf.yield %a : {T}\n}}\n", ""),
        (WHILE.format("", "%x", MADE, "%d"), "d"),
        (WHILE.format(MADE, "%d", "", "%y"), "d"),
        (WHILE.format("", "%x", MADE + ALIAS, "%e"), "d"),
        (WHILE.format("", "%x", MADE, "%y"), ""),
        (f"cf.br ^l(%a : {T})\n^l(%x: {T}):\n{MADE}cf.cond_br %c, ^l(%d : {T}), ^o\n^o:", "ad"),
        (f"cf.br ^l\n^l:\n{MADE}cf.cond_br %c, ^l, ^o\n^o:", ""),
    ],
)
def test_tiles_that_the_next_iteration_may_see(body: str, expected: str) -> None:
    assert {value.name for value in carried_tiles(function(body))} == set(expected)


def test_a_tile_that_an_inner_loop_hands_on() -> None:
    """The outer loop stores what its iteration before has loaded; the inner one only passes it."""
    row, view = "!pto.tile_buf<vec, 1x8xf32>", "!pto.partition_tensor_view<1x8xf32>"
    slice = "offsets = [{}, %c0], sizes = [%c1, %c8] : !pto.tensor_view<?x?xf32> -> " + view
    text = f"""func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>) attributes {{pto.entry}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c8 = arith.constant 8 : index
      %v = pto.make_tensor_view %x, shape = [%c3, %c8], strides = [%c8, %c1] : !pto.tensor_view<?x?xf32>
      %w = pto.make_tensor_view %y, shape = [%c3, %c8], strides = [%c8, %c1] : !pto.tensor_view<?x?xf32>
      %t0 = pto.alloc_tile : {row}
      %p0 = pto.partition_view %v, {slice.format("%c0")}
      pto.tload ins(%p0 : {view}) outs(%t0 : {row})
      %last = scf.for %i = %c0 to %c3 step %c1 iter_args(%prev = %t0) -> ({row}) {{
        %t = pto.alloc_tile : {row}
        %p = pto.partition_view %v, {slice.format("%i")}
        pto.tload ins(%p : {view}) outs(%t : {row})
        %q = pto.partition_view %w, {slice.format("%i")}
        pto.tstore ins(%prev : {row}) outs(%q : {view})
        %n = scf.for %j = %c0 to %c1 step %c1 iter_args(%u = %t) -> ({row}) {{
          scf.yield %u : {row}
        }}
        scf.yield %n : {row}
      }}
      return
    }}"""
    read = parse_module(text)
    assert [str(d) for d in read.diagnostics] == []
    x = np.arange(24, dtype=np.float32).reshape(3, 8)
    y = np.zeros_like(x)
    compile_program(read.module, target("a2a3")).launch([x, y])
    assert y[:, 0].tolist() == [0, 0, 8]


def settled(body: str, rows: str = "%c8", cols: str = "%c16") -> dict[str, tuple[int, int]]:
    k = function(f"%t = pto.alloc_tile valid_row = {rows} valid_col = {cols} : {OPEN}\n{body}")
    return {v.name: (spec.valid_row, spec.valid_col) for v, spec in settled_regions(k, Facts(k)).items()}


@pytest.mark.parametrize(
    ("rows", "cols", "expected"),
    [
        ("%c8", "%c16", (8, 16)),
        ("%c1", "%c8", (1, 8)),
        ("%c0", "%c0", (0, 0)),
        ("%n", "%c16", None),
        ("%c8", "%n", None),
        ("%c16", "%c16", None),
        ("%c8", "%c17", None),
        ("%below", "%c16", None),
        ("%c8", "%below", None),
    ],
)
def test_a_valid_region_that_is_known(rows: str, cols: str, expected: tuple[int, int] | None) -> None:
    """One that is larger than the tile is left for the run to find."""
    assert settled("", rows, cols) == ({} if expected is None else {"t": expected})
    assert settled(f"pto.tadd ins(%t, %t : {OPEN}, {OPEN}) outs(%t : {OPEN})", rows, cols).get("t") == expected


@pytest.mark.parametrize(
    "body",
    [
        f"%s = scf.if %c -> ({OPEN}) {{\nscf.yield %t : {OPEN}\n}} else {{\nscf.yield %t : {OPEN}\n}}",
        f"%r = scf.for %i = %c0 to %c8 step %c1 iter_args(%x = %t) -> ({OPEN}) {{\nscf.yield %x : {OPEN}\n}}",
        f"%r = scf.while () : () -> {OPEN} {{\nscf.condition(%c) %t : {OPEN}\n}} "
        f"do {{\n^bb0(%y: {OPEN}):\nscf.yield\n}}",
        f"func.call @g(%t) : ({OPEN}) -> ()",
        f"pto.set_validshape %t, %c1, %c1 : {OPEN}",
        f"%r = builtin.unrealized_conversion_cast %t : {OPEN} to {OPEN}",
        f"cf.br ^l(%t : {OPEN})\n^l(%x: {OPEN}):",
        f"cf.cond_br %c, ^l(%t : {OPEN}), ^o\n^l(%x: {OPEN}):\ncf.br ^o\n^o:",
    ],
)
def test_a_tile_whose_valid_region_may_change_under_another_name(body: str) -> None:
    assert settled(body) == {}
