"""What blocks read of the arguments that they write."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.ir.serial import dumps
from ptokit.launches.access import Entangled, footprints
from ptokit.launches.arrays import describe_number, number
from ptokit.launches.launch import _program

from .conftest import compiled


@pto.kernel(target="a5")
def added(y: pto.Ptr[pto.f32], n: int) -> None:
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 1, 32)
    pto.TEXPANDS(tile, 1.0)
    row = pto.get_block_idx() * 32
    pto.TSTORE(pto.GlobalTensor(y + row, (1, 32)), tile, atomic=pto.AtomicType.AtomicAdd)


@pto.kernel(target="a5")
def stored(y: pto.Ptr[pto.f32], n: int) -> None:
    tile = pto.Tile(pto.TileType.Vec, pto.f32, 1, 32)
    pto.TEXPANDS(tile, 1.0)
    row = pto.get_block_idx() * 32
    pto.TSTORE(pto.GlobalTensor(y + row, (1, 32)), tile)


@pytest.mark.parametrize(("kernel", "reads"), [(added, True), (stored, False)])
def test_an_atomic_store_reads_what_it_changes(kernel: pto.Kernel, reads: bool) -> None:
    """Else a worker would add to a file in its place, and once more if its task is repeated."""
    program = kernel.compile(pto.f32, 4)
    found = footprints(program, [np.zeros(128, np.float32), 4], 4)
    for write, expected in ((True, True), (False, reads)):
        runs = found.of("y", write=write)
        places = [(0, 128), (128, 256), (256, 384), (384, 512)] if expected else []
        assert list(zip(runs.starts.tolist(), runs.ends.tolist())) == places


@pytest.mark.parametrize("extended", [False, True])
def test_a_worker_compiles_what_the_caller_has(extended: bool) -> None:
    text = dumps(parse_module("func.func @k(%p: !pto.ptr<f32>) attributes {pto.entry} {\nreturn\n}\n", "k.pto").module)
    for cores in (1, 2):
        program = _program(text, "a5", "k", extended, cores)
        assert (program.extended, program.target.name, program.name) == (extended, "a5", "k")


@pytest.mark.parametrize(
    "bits", [0x7FF8000000000000, 0xFFF8000000000001, 0x7FF0000000000000, 1 << 63, 0x3FB999999999999A]
)
def test_numbers_on_their_way(bits: int) -> None:
    """Their descriptions are JSON that anything reads, and every bit arrives."""
    value = struct.unpack("<d", struct.pack("<Q", bits))[0]
    text = json.dumps(describe_number(value), allow_nan=False)
    assert struct.unpack("<Q", struct.pack("<d", number(json.loads(text)["number"])))[0] == bits
    assert json.loads(json.dumps(describe_number(np.int32(-7)))) == {"number": -7}


@pytest.mark.parametrize("elements", [32, 31])
def test_rows_up_to_the_end_of_an_array(elements: int) -> None:
    gm, ub = "!pto.ptr<f32>", "!pto.ptr<f32, ub>"
    text = f"""func.func @k(%y: {gm}) attributes {{pto.entry}} {{
      %zero = arith.constant 0 : i64
      %one = arith.constant 1 : i64
      %row = arith.constant 32 : i64
      %c8 = arith.constant 8 : index
      %a = pto.castptr %zero : i64 -> {ub}
      %id = pto.get_block_idx
      %b = arith.index_cast %id : i64 to index
      %r = arith.muli %b, %c8 : index
      %q = pto.addptr %y, %r : {gm} -> {gm}
      pto.copy_ubuf_to_gm %a, %q, %zero, %one, %row, %zero, %row, %row : {ub}, {gm}, i64, i64, i64, i64, i64, i64
      return
    }}"""
    program, array = compiled(text), np.zeros(elements, np.float32)
    if elements == 32:
        assert footprints(program, [array], 4).of("y", write=True).ends.tolist() == [32, 64, 96, 128]
    else:
        with pytest.raises(Entangled, match="leaves argument y"):
            footprints(program, [array], 4)
