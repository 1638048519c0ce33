"""Arithmetic on scalars near the largest numbers of their types: the same bits on both backends."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.run import compile_program
from ptokit.targets import A5

pytest.importorskip("llvmlite")

LARGEST = {"bf16": 0x7F7F, "f16": 0x7BFF}


@pytest.mark.parametrize("type", LARGEST)
@pytest.mark.parametrize("word", ["addf", "subf", "mulf"])
def test_what_becomes_infinite(type: str, word: str) -> None:
    text = f"""func.func @k(%y: !pto.ptr<{type}>) attributes {{pto.entry}} {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %a = pto.load_scalar %y[%c0] : !pto.ptr<{type}> -> {type}
      %b = pto.load_scalar %y[%c1] : !pto.ptr<{type}> -> {type}
      %r = arith.{word} %a, %b : {type}
      pto.store_scalar %r, %y[%c2] : !pto.ptr<{type}>, {type}
      return
    }}"""
    read = parse_module(text)
    assert [str(d) for d in read.diagnostics] == []
    program = compile_program(read.module, A5)
    most = LARGEST[type]
    one = 0x3F80 if type == "bf16" else 0x3C00
    step = 0x7B00 if type == "bf16" else 0x4C00  # half of the last place of the largest number
    values = [0, one, most, most - 1, step, step - 1, step + 1]
    for a, b in product([*values, *(v | 0x8000 for v in values)], repeat=2):
        found = []
        for backend in ("numpy", "native"):
            y = np.array([a, b, 0], np.uint16)
            program.launch([y], 1, backend=backend)
            found.append(int(y[2]))
        assert found[0] == found[1], (hex(a), hex(b))
        if (a, b, word) == (most, 0, "addf"):
            assert found[0] == most
