"""Single elements at the ends of a tile, and after them."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.run import compile_program
from ptokit.targets import A5

pytest.importorskip("llvmlite")

TILE = "!pto.tile_buf<vec, 8x16xf32>"
WORDS = {
    "get": f"%v = pto.tgetval ins(%t, %n : {TILE}, index) outs : f32\n"
    "pto.store_scalar %v, %y[%c0] : !pto.ptr<f32>, f32",
    "set": f"pto.tsetval ins(%n, %one : index, f32) outs(%t : {TILE})",
}


@pytest.mark.parametrize("word", WORDS)
def test_elements_of_a_tile(word: str) -> None:
    text = f"""func.func @k(%y: !pto.ptr<f32>, %n: index) attributes {{pto.entry}} {{
      %c0 = arith.constant 0 : index
      %one = arith.constant 1.0 : f32
      %t = pto.alloc_tile : {TILE}
      {WORDS[word]}
      return
    }}"""
    read = parse_module(text)
    assert [str(d) for d in read.diagnostics] == [], text
    program = compile_program(read.module, A5)
    for n in (-1, 0, 127, 128, 129):
        found = []
        for backend in ("numpy", "native"):
            y = np.full(1, 7, np.float32)
            try:
                program.launch([y, n], 1, backend=backend)
                found.append(["fine", *y.tolist()])
            except DiagnosticError as error:
                found.append([d.rule for d in error.diagnostics])
        assert found[0] == found[1], n
        assert (found[0][0] == "fine") is (0 <= n < 128)
