"""Which bytes may be read before they are written, compared with sets of single bytes."""

from __future__ import annotations

import random
import re

import pytest

pytest.importorskip("llvmlite")

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.backends.native.program import NativeProgram
from ptokit.backends.native.tiles import Contents
from ptokit.diagnostics import DiagnosticError
from ptokit.run import compile_program
from ptokit.targets import target


def steps(rng: random.Random, contents: Contents, written: set[int], wanted: set[int], depth: int = 0) -> None:
    for _ in range(rng.randint(1, 5)):
        start = 8 * rng.randrange(12)
        end = start + 8 * rng.randint(0, 5)
        kind = rng.random()
        if kind < 0.4:
            contents.write(start, end)
            written |= set(range(start, end))
        elif kind < 0.8 or depth == 2:
            contents.read(start, end)
            wanted |= set(range(start, end)) - written
        else:
            with contents.perhaps():
                steps(rng, contents, set(written), wanted, depth + 1)


def test_what_is_cleared_is_what_may_be_read_first() -> None:
    for seed in range(500):
        contents, wanted = Contents(), set[int]()
        steps(random.Random(seed), contents, set(), wanted)
        code = "\n".join(contents.clears("%m", 1000))
        starts = map(int, re.findall(r"ptr %m, i64 (\d+)", code))
        sizes = map(int, re.findall(r"i8 0, i64 (\d+)", code))
        cleared = [byte for start, size in zip(starts, sizes) for byte in range(start, start + size)]
        assert sorted(cleared) == sorted(wanted), seed


@pto.kernel(target="a5")
def sums(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]) -> None:
    value, result = pto.Tile(pto.TileType.Vec, pto.f32, 8, 64), pto.Tile(pto.TileType.Vec, pto.f32, 1, 64)
    pto.TLOAD(value, pto.GlobalTensor(x, (8, 64)))
    pto.TMULS(value, value, 2.0)
    pto.TCOLSUM(result, value)
    pto.TMULS(result, result, 0.5)
    pto.TSTORE(pto.GlobalTensor(y, (1, 64)), result)


def test_what_a_sum_fills_is_not_cleared(monkeypatch: pytest.MonkeyPatch) -> None:
    cleared: list[list[str]] = []
    real = Contents.clears
    monkeypatch.setattr(Contents, "clears", lambda *args: cleared.append(real(*args)) or cleared[-1])
    NativeProgram(sums.compile(pto.f32, pto.f32))
    sizes = re.findall(r"i8 0, i64 (\d+)", "\n".join(line for lines in cleared for line in lines))
    assert sum(map(int, sizes)) <= 4 * 8 * 64  # that of the tile that is loaded, at most


@pytest.mark.parametrize("address", [(1 << 31) - 32, 1 << 40, -4096])
def test_nothing_is_cleared_outside_of_the_memory(address: int) -> None:
    text = f"""func.func @k() attributes {{pto.kernel}} {{
      %zero = arith.constant 0 : index
      %none = arith.constant 0 : i64
      %at = arith.constant {address} : i64
      %p = pto.castptr %at : i64 -> !pto.ptr<f32, ub>
      %q = pto.castptr %none : i64 -> !pto.ptr<f32, ub>
      pto.vecscope {{
        %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
        %v = pto.vlds %p[%zero] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        pto.vsts %v, %q[%zero], %m : !pto.vreg<64xf32>, !pto.ptr<f32, ub>, !pto.mask<b32>
      }}
      return
    }}
    """
    program = compile_program(parse_module(text, "k.pto").module, target("a5"))
    assert "%clear" not in NativeProgram(program).text
    with pytest.raises(DiagnosticError, match="PTR-A5-02"):
        program.launch([], 1, backend="native")
