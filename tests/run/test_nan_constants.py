"""Constants that are no numbers keep their bits, where they are quiet ones."""

from __future__ import annotations

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.run import compile_program
from ptokit.targets import A5


@pytest.mark.parametrize(
    ("type", "bits"),
    [
        ("f32", 0x7FC00000),
        ("f32", 0xFFC00000),
        ("f32", 0x7FC01234),
        ("f32", 0xFFFFFFFF),
        ("f16", 0x7E00),
    ],
)
def test_a_constant_that_is_stored(type: str, bits: int) -> None:
    text = f"""func.func @k(%y: !pto.ptr<{type}>) attributes {{pto.entry}} {{
      %c0 = arith.constant 0 : index
      %x = arith.constant {bits:#x} : {type}
      pto.store_scalar %x, %y[%c0] : !pto.ptr<{type}>, {type}
      return
    }}"""
    read = parse_module(text)
    assert [str(d) for d in read.diagnostics] == [], text
    stored = np.zeros(1, {"f16": np.float16, "f32": np.float32}[type])
    compile_program(read.module, A5).launch([stored], 1, backend="numpy")
    assert stored.view(f"u{stored.itemsize}")[0] == bits
