"""How often a block executes each instruction, as far as numbers are known before it runs."""

from __future__ import annotations

import pytest

from ptokit.asm import parse_module
from ptokit.plan.effects import Work, elements

TILE = "!pto.tile_buf<vec, 8x16xf32>"
ADD = f"%t = pto.alloc_tile : {TILE}\npto.tadd ins(%t, %t : {TILE}, {TILE}) outs(%t : {TILE})\n"
FUNCTIONS = f"""
func.func @g() {{
{ADD}return
}}
func.func @h(%m: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.for %i = %c0 to %m step %c1 {{
    func.call @g() : () -> ()
  }}
  return
}}
"""
FOR = "scf.for {} = {} to {} step {} {{{{\n{{}}}}}}\n"


def loop(variable: str, lower: str, upper: str, step: str) -> str:
    return FOR.format(variable, lower, upper, step)


@pytest.mark.parametrize(
    ("body", "times"),
    [
        (ADD, 1),
        (loop("%i", "%c0", "%c5", "%c1").format(ADD), 5),
        (loop("%i", "%c1", "%c5", "%c3").format(ADD), 2),
        (loop("%i", "%c5", "%c1", "%c1").format(ADD), 0),
        (loop("%i", "%c0", "%c5", "%c1").format(loop("%j", "%c0", "%c3", "%c1").format(ADD)), 15),
        (loop("%i", "%c0", "%c5", "%c1").format("func.call @g() : () -> ()\n"), 5),
        ("func.call @h(%c3) : (index) -> ()\n", 3),
        (loop("%i", "%c0", "%c5", "%c1").format("func.call @h(%c3) : (index) -> ()\n"), 15),
        (loop("%i", "%c0", "%n", "%c1").format(ADD), 7),
        (loop("%i", "%c0", "%u", "%c1").format(ADD), 8),
        (loop("%i", "%c0", "%c5", "%c0").format(ADD), 8),
        (loop("%i", "%c0", "%c5", "%below").format(ADD), 8),
        (f"scf.if %c {{\n{ADD}}}\n", 1),
    ],
)
def test_how_often(body: str, times: float) -> None:
    """Loops whose ends nobody knows, or that are refused when they run, count as eight."""
    text = f"""{FUNCTIONS}func.func @k(%n: index, %u: index, %c: i1) attributes {{pto.entry}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c5 = arith.constant 5 : index
      %below = arith.constant -1 : index
      {body}return
    }}"""
    read = parse_module(text)
    assert [str(d) for d in read.diagnostics] == [], text
    entry = read.module.entries()[0]
    work = Work(read.module, entry, {entry.params[0]: 7})
    assert sum(n for op, n in work.counts.items() if op.name == "pto.tadd") == times


def test_elements_of_the_largest_operand() -> None:
    read = parse_module(f"func.func @k() {{\n{ADD}return\n}}")
    body = read.module.functions[0].body
    assert body is not None
    assert [elements(op) for op in body.ops if op.name == "pto.tadd"] == [8 * 16]
