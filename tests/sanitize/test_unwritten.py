"""GM-UNWRITTEN: outputs that a launch has written in part, mostly since it has too few blocks."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto
from ptokit.sanitize import Report, uninit
from ptokit.types.dtypes import DTYPES

from .mini import TILE, VIEW, Mini

ROWS = f"""
%row = arith.muli %block, %c16 : index
%w = pto.make_tensor_view %y, shape = [%c64, %c32], strides = [%c32, %c1] : !pto.tensor_view<?x?xf32>
%p = pto.partition_view %w, offsets = [%row, %c0], sizes = [%c16, %c32] : !pto.tensor_view<?x?xf32> -> {VIEW}
fill a
barrier ALL
pto.tstore ins(%a : {TILE}) outs(%p : {VIEW})
barrier ALL
"""


@pto.kernel(target="a2a3")
def rows(y: pto.Ptr[pto.f32]) -> None:
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32)
    pto.TASSIGN(tile, 0)
    pto.TEXPANDS(tile, 1.0)
    pto.pipe_barrier(pto.PIPE_ALL)
    top = pto.get_block_idx() * 16
    pto.TSTORE(pto.GlobalTensor(y, (64, 32))[top : top + 16], tile)
    pto.pipe_barrier(pto.PIPE_ALL)


def output(name: str = "f32") -> np.ndarray:
    return uninit((64, 32), DTYPES[name])


def launched(form: str, blocks: int) -> Report:
    if form == "python":
        return rows[blocks].sanitize(output())
    return Mini(ROWS).sanitize(args={"y": output()}, blocks=blocks)


@pytest.mark.parametrize("form", ["text", "python"])
@pytest.mark.parametrize(
    ("blocks", "missing", "now"),
    [
        (1, "1,536 of 2,048", "launch 4 blocks: 1 block has written 512 elements"),
        (2, "1,024 of 2,048", "launch 4 blocks: 2 blocks have written 512 elements each"),
        (3, "512 of 2,048", "launch 4 blocks: 3 blocks have written 512 elements each"),
    ],
)
def test_too_few_blocks(form: str, blocks: int, missing: str, now: str) -> None:
    report = launched(form, blocks)
    (found,) = report.diagnostics
    assert (found.rule, str(found.severity), found.hint) == ("GM-UNWRITTEN", "warning", now)
    name = "y" if form == "python" else "%y"
    assert found.message == f"{missing} elements of {name} were never written"


@pytest.mark.parametrize("form", ["text", "python"])
def test_all_blocks_write_all(form: str) -> None:
    assert launched(form, 4).clean


def test_a_gap_that_blocks_do_not_close() -> None:
    body = ROWS.replace("muli %block, %c16", "addi %block, %c32")
    (found,) = Mini(body).sanitize(args={"y": output()}).diagnostics
    assert found.rule == "GM-UNWRITTEN"
    assert found.hint == "store to all of it, or pass an argument of the size that is stored"


def test_what_is_no_output_is_not_asked_for() -> None:
    """Initialised arguments, outputs that nothing is stored to, and memory that the kernel reads again."""
    assert Mini(ROWS).sanitize(args={"y": np.zeros((64, 32), np.float32)}).clean
    assert Mini("fill a").sanitize(args={"y": output()}).clean
    assert Mini(f"{ROWS}pto.tload ins(%p : {VIEW}) outs(%b : {TILE})").sanitize(args={"y": output()}).clean
