"""On which pipe an instruction runs, where that is not plain from its family (memory-model-and-sync 2)."""

from __future__ import annotations

import pytest

from ptokit.isa.table import TABLE
from ptokit.types.enums import Pipe, TileType

from .fake import site, spec

MAT, ROW = spec("f32", 16, 64, loc=TileType.Mat), spec("i32", 1, 64)
CASES = [
    ("TCI", {"dst": ROW}, Pipe.S),
    ("TCI", {"dst": ROW, "tmp": spec("i32", 1, 192)}, Pipe.V),
    ("TEXPANDS", {"dst": ROW}, Pipe.V),
    ("TEXPANDS", {"dst": MAT}, Pipe.MTE2),
    ("TFILLPAD", {"dst": MAT, "src": MAT}, Pipe.MTE2),
    ("mte_l1_fb", {}, Pipe.FIX),
    ("mte_l1_bt", {}, Pipe.MTE1),
    ("mte_l1_ub", {}, Pipe.MTE1),
]


@pytest.mark.parametrize("on", ["a2a3", "a5"])
@pytest.mark.parametrize(("name", "operands", "pipe"), CASES)
def test_pipe(name: str, operands: dict[str, object], pipe: Pipe, on: str) -> None:
    assert TABLE[name].pipe_of(site(name, on, **operands)) is pipe
