"""Kernels that the tests of Python files check, run and sanitize."""

from __future__ import annotations

from pathlib import Path

TWO = '''"""Two kernels, one of them with parameters of any type."""
import numpy as np

import ptokit as pto

print("executed")


@pto.kernel(target="a5")
def scale(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32], rows: int, factor: float = 2.0):
    top = pto.get_block_idx() * 16
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64)
    pto.TLOAD(tile, pto.GlobalTensor(x, (rows, 64))[top : top + 16])
    pto.TMULS(tile, tile, factor)
    pto.TSTORE(pto.GlobalTensor(y, (rows, 64))[top : top + 16], tile)


@pto.kernel(target="a2a3")
def double(x, y, columns: pto.Static):
    tile = pto.Tile(pto.TileType.Vec, pto.f16, 16, columns)
    pto.TLOAD(tile, pto.GlobalTensor(x, (16, columns)))
    pto.TADD(tile, tile, tile)
    pto.TSTORE(pto.GlobalTensor(y, (16, columns)), tile)


if __name__ == "__main__":
    raise SystemExit("executed as a script")
'''

WRONG = """import ptokit as pto


@pto.kernel(target="a5")
def large():
    pto.Tile(pto.TileType.Vec, pto.f32, 300, 256)


@pto.kernel(target="a2a3")
def mixed(x: pto.Ptr[pto.f32]):
    a = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64)
    b = pto.Tile(pto.TileType.Vec, pto.f16, 16, 64)
    pto.TLOAD(a, pto.GlobalTensor(x, (16, 64)))
    pto.TADD(b, a, a)
"""

RACY = """import ptokit as pto


@pto.kernel(target="a2a3")
def racy(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]):
    t = pto.Tile(pto.TileType.Vec, pto.f32, 16, 64, addr=0)
    pto.TLOAD(t, pto.GlobalTensor(x, (16, 64)))
    pto.TSTORE(pto.GlobalTensor(y, (16, 64)), t)
"""


def written(folder: Path, text: str, name: str = "kernels.py") -> Path:
    """A file with this text."""
    file = folder / name
    file.write_text(text)
    return file
