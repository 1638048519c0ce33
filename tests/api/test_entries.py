"""The kernels of a program as objects."""

from __future__ import annotations

import json

import numpy as np
import pytest

import ptokit
from ptokit.api.entries import CorePipe
from tests.run.pipe_texts import arrays, expected, text

ROWS = """
func.func @rows(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %n: index, %block_idx: i32, %block_num: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %b = arith.index_cast %block_idx : i32 to index
  %top = arith.muli %b, %c8 : index
  %vx = pto.make_tensor_view %x, shape = [%n, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
  %vy = pto.make_tensor_view %y, shape = [%n, %c64], strides = [%c64, %c1] : !pto.tensor_view<?x?xf32>
  %px = pto.partition_view %vx, offsets = [%top, %c0], sizes = [%c8, %c64]
    : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<8x64xf32>
  %py = pto.partition_view %vy, offsets = [%top, %c0], sizes = [%c8, %c64]
    : !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<8x64xf32>
  %t = pto.alloc_tile : !pto.tile_buf<vec, 8x64xf32>
  pto.tload ins(%px : !pto.partition_tensor_view<8x64xf32>) outs(%t : !pto.tile_buf<vec, 8x64xf32>)
  pto.tstore ins(%t : !pto.tile_buf<vec, 8x64xf32>) outs(%py : !pto.partition_tensor_view<8x64xf32>)
  return
}
"""


def test_a_pair_is_one_kernel() -> None:
    program = ptokit.read(text("c2v", 1), target="a5")
    assert program.kernels == ["k"]
    (entry,) = program.entries
    assert entry.groups == {"cube": ("k_aic",), "vector": ("k_aiv",)}
    assert [(p.name, p.dtype, p.direction, p.elements) for p in entry.parameters] == [
        ("x", "f16", "in", 5120),
        ("w", "f16", "in", 1024),
        ("ws", "f32", "", 0),
        ("y", "f32", "out", 5120),
    ]
    assert entry.pipes == (CorePipe(0, "c2v", 8, 4096, "", 0),)
    assert entry.launch_tail == {}
    args = arrays()
    assert entry.run(args).name == "k"
    assert (args[3] == expected("c2v", args)).all()
    assert entry.sanitize(arrays()).clean


def test_slots_in_global_memory_say_how_much_they_need() -> None:
    (entry,) = ptokit.read(text("v2c", 0, on="a2a3", slots=4), target="a2a3").entries
    assert entry.pipes == (CorePipe(0, "v2c", 4, 2048, "ws", 8192),)
    ws = entry.parameters[2]
    assert (ws.type, ws.direction, ws.elements) == ("!pto.ptr<f32>", "inout", 2048)
    assert json.loads(json.dumps(entry.as_json()))["pipes"][0]["gm_bytes"] == 8192
    assert "pipe 0: v2c, 4 slots of 2048 bytes, 8192 bytes of ws" in str(entry)


@pytest.mark.parametrize(
    ("cube", "vector", "name"),
    [("k_aic", "k_aiv", "k"), ("qk_matrix", "qk_rows", "qk"), ("a_b_c", "a_b_d", "a_b"), ("f1", "f2", "f1+f2")],
)
def test_what_pairs_are_called(cube: str, vector: str, name: str) -> None:
    source = text("c2v", 1).replace("k_aic", cube).replace("k_aiv", vector)
    program = ptokit.read(source, target="a5")
    assert program.kernels == [name]
    for chosen in (name, cube, vector, f"{cube}+{vector}"):
        args = arrays()
        assert ptokit.run(source, args, entry=chosen, target="a5").name == name
        assert (args[3] == expected("c2v", args)).all()


def test_marked_halves_are_a_pair() -> None:
    source = text("c2v", 1).replace("attributes {", "attributes {pto.entry, ")
    program = ptokit.read(source, target="a5")
    assert program.kernels == ["k"]
    args = arrays()
    ptokit.run(source, args, target="a5")
    assert (args[3] == expected("c2v", args)).all()


def test_numbers_of_the_launch_at_the_end() -> None:
    (entry,) = ptokit.read(ROWS, target="a5").entries
    assert entry.launch_tail == {"block_idx": "block_idx", "block_num": "block_num"}
    assert entry.groups == {"vector": ("rows",)}
    assert [p.direction for p in entry.parameters] == ["in", "out", "", "", ""]
    assert entry.extents({"n": 24}, blocks=3)["x"] == 24 * 64
    with pytest.raises(ptokit.UsageError, match="no parameter m"):
        entry.extents({"m": 24})
    x, y = np.arange(24 * 64, dtype=np.float32), np.zeros(24 * 64, np.float32)
    entry.run([x, y, 24], blocks=3)
    assert (x == y).all()
    assert entry.sanitize([x, y, 24], blocks=3).clean
    assert entry.time([x, y, 24], blocks=3).us > 0
    one = np.zeros(24 * 64, np.float32)
    entry.run([x, one, 24, 2, 3])
    assert not one[: 16 * 64].any()
    assert (one[16 * 64 :] == x[16 * 64 :]).all()


def test_a_kernel_with_errors_says_nothing_of_itself() -> None:
    (entry,) = ptokit.read(ROWS.replace("pto.tload", "pto.tlod"), target="a5").entries
    assert entry.name == "rows"
    with pytest.raises(ptokit.DiagnosticError, match="TEXT-UNKNOWN-OP"):
        _ = entry.parameters


def test_kernels_in_python_are_entries_too() -> None:
    @ptokit.kernel(target="a5")
    def double(x: ptokit.Ptr[ptokit.f32], y: ptokit.Ptr[ptokit.f32]):
        t = ptokit.Tile(ptokit.TileType.Vec, ptokit.f32, 8, 64)
        ptokit.TLOAD(t, ptokit.GlobalTensor(x, (8, 64)))
        ptokit.TADD(t, t, t)
        ptokit.TSTORE(ptokit.GlobalTensor(y, (8, 64)), t)

    (entry,) = ptokit.read(double).entries
    assert [(p.name, p.direction, p.elements) for p in entry.parameters] == [("x", "in", 512), ("y", "out", 512)]
    x, y = np.ones(512, np.float32), np.zeros(512, np.float32)
    entry.run([x, y])
    assert (y == 2).all()
