"""A session of pdb in an interpreted kernel: values at a line, step by step."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """import numpy as np

import ptokit as pto


@pto.kernel(target="a5")
def scale(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], factor: float):
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 8, 64)
    top = pto.get_block_idx() * 8
    pto.TLOAD(tile, pto.GlobalTensor(x, (16, 64))[top : top + 8])
    breakpoint()
    pto.TMULS(tile, tile, factor)
    pto.TSTORE(pto.GlobalTensor(y, (16, 64))[top : top + 8], tile)


x = np.arange(16 * 64, dtype=np.float32).reshape(16, 64)
y = np.zeros_like(x)
scale[2](x, y, 3.0)
assert np.array_equal(y, x * 3)
print("done")
"""

COMMANDS = """p float(tile.numpy()[1, 2]), int(top), float(factor)
next
p float(tile.numpy()[1, 2])
continue
p float(tile.numpy()[0, 0]), int(top)
p tile.numpy().shape
p len(tile.bytes())
continue
"""


def test_a_session(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ran = subprocess.run(
        [sys.executable, str(script)],
        input=COMMANDS,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PTOKIT_INTERPRET": "1", "PYTHONBREAKPOINT": "pdb.set_trace"},
    )
    answers = [line.removeprefix("(Pdb) ") for line in ran.stdout.splitlines()]
    assert ran.returncode == 0, ran.stderr
    assert "(66.0, 0, 3.0)" in answers  # block 0, before the product
    assert "198.0" in answers  # and after it
    assert "(512.0, 8)" in answers  # block 1
    assert "(8, 64)" in answers
    assert str(8 * 64 * 4) in answers
    assert [line for line in answers if line.endswith("pto.TMULS(tile, tile, factor)")]  # where it stopped
    assert answers[-1] == "done"


def test_a_kernel_that_is_compiled_stops_in_its_own_lines(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {k: v for k, v in os.environ.items() if k not in ("PTOKIT_INTERPRET", "PYTHONBREAKPOINT")}
    ran = subprocess.run(
        [sys.executable, str(script)],
        input="p tile, x\nnext\nnext\np top\ncontinue\n",
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
    )
    assert ran.returncode == 0, ran.stderr
    answers = [line.removeprefix("(Pdb) ") for line in ran.stdout.splitlines()]
    assert "-> breakpoint()" in answers
    assert "(<Tile Vec 8x64 f32>, <pointer x to f32>)" in answers
    assert "-> pto.TMULS(tile, tile, factor)" in answers
    assert "<int top>" in answers
    assert answers[-1] == "done"
    assert "ptokit" not in ran.stdout
