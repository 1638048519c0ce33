"""Names of the text are no names of the generated code: any of them may differ in one letter only."""

from __future__ import annotations

import keyword

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.run import compile_program
from ptokit.targets import A5

NAMES = ["fi", "\ufb01", "\u00c5", "\u212b", "A\u030a", "x y", "x_y", "x_20_y", "1", "0", 'say \\"hi\\"', "a\\\\nb"]
NAMES += ["None", "f_0", "m", "\u00e9", "e\u0301", "K", "\u212a", "\u017f", "s"]
"""Some are the same for Python, which takes compatible characters for one."""


def text(names: list[str]) -> str:
    """A kernel that calls a function of each name, which stores its number."""
    out, calls = ["module {"], []
    for k, name in enumerate(names):
        calls.append(f'func.call @"{name}"(%p) : (!pto.ptr<i64>) -> ()')
        out.append(f'func.func @"{name}"(%p: !pto.ptr<i64>) {{\n%i = arith.constant {k} : index')
        out.append(f"%v = arith.constant {k + 1} : i64\npto.store_scalar %v, %p[%i] : !pto.ptr<i64>, i64\nreturn\n}}")
    out.append("func.func @kernel(%p: !pto.ptr<i64>) attributes {pto.entry} {\n" + "\n".join(calls) + "\nreturn\n}\n}")
    return "\n".join(out)


@pytest.mark.parametrize("names", [NAMES, keyword.kwlist, ["View", "Tile", "Fault", "uniform", "p", "d", "s", "w"]])
def test_functions_of_any_name(names: list[str]) -> None:
    parsed = parse_module(text(names))
    assert [str(d) for d in parsed.diagnostics] == []
    stored = np.zeros(len(names), np.int64)
    compile_program(parsed.module, A5).launch([stored])
    assert stored.tolist() == list(range(1, len(names) + 1))


def test_values_of_any_name() -> None:
    """Names of arguments, tiles and loop variables, which messages repeat."""
    source = """func.func @"ﬁ'k"(%m: !pto.ptr<i64>, %View: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      scf.for %for = %c0 to %View step %c1 {
        %w = arith.index_cast %for : index to i64
        pto.store_scalar %w, %m[%for] : !pto.ptr<i64>, i64
      }
      return
    }"""
    parsed = parse_module(source)
    stored = np.zeros(3, np.int64)
    compile_program(parsed.module, A5).launch([stored, 3])
    assert stored.tolist() == [0, 1, 2]
