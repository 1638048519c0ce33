"""Random programs as C++: written, compiled against ptokit's headers, lifted, and launched as the program they were."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import ptokit
from ptokit.asm import parse_module
from ptokit.cpp.writing.file import cpp_text
from ptokit.diagnostics import DiagnosticError
from ptokit.run import Program, compile_program
from ptokit.run.arguments import divided
from ptokit.sanitize import sanitize
from ptokit.targets import target

from ..native import random_tiles
from ..prove import nests
from ..prove.kernels import TILE, kernel, load, store
from ..run.arithmetic import signed
from ..run.random_control import LANES, SLOTS, ControlProgram
from ..run.random_scalars import ROWS, ScalarProgram

pytestmark = pytest.mark.usefixtures("compiler")


class Drawn(NamedTuple):
    """A program, and its launch. ``model``: what says whether what it leaves is right, if that is no other launch."""

    text: str
    target: str
    args: list[Any]
    blocks: int
    model: Callable[[list[Any]], bool] | None = None


def control(seed: int) -> Drawn:
    rng = np.random.default_rng(seed)
    return Drawn(
        ControlProgram(seed).text, "a5", [rng.integers(0, 9, SLOTS * 3), np.zeros(LANES * 3, np.float32), 5], 3
    )


def scalars(seed: int) -> Drawn:
    made = ScalarProgram(seed)
    args = [np.array([*map(signed, made.inputs), 0]), np.zeros(max(1, len(made.outputs)) * ROWS, np.int64)]

    def right(left: list[Any]) -> bool:  # bits of a NaN may be any
        return made.agrees(np.frombuffer(left[1], np.uint64).reshape(-1, ROWS))

    return Drawn(made.text, "a2a3", [*args, *map(signed, made.arguments)], ROWS, right)


def tiles(seed: int) -> Drawn:
    text, program = random_tiles.drawn(seed)
    return Drawn(text, program.target.name, random_tiles.arguments(), random_tiles.BLOCKS)


def flags(seed: int) -> Drawn:
    x = np.random.default_rng(seed).random(131072, np.float32)
    return Drawn(nests.program(seed), "a2a3", [x, np.zeros_like(x), seed % 4, seed % 3], 1)


DRAW: dict[str, Callable[[int], Drawn]] = {"control": control, "scalars": scalars, "tiles": tiles, "flags": flags}


def launched(program: Program, drawn: Drawn) -> list[Any]:
    """What a launch leaves in its arrays, or the rules that it breaks."""
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in drawn.args]
    try:
        program.launch(given, drawn.blocks)
    except DiagnosticError as error:
        return [d.rule for d in error.diagnostics]
    return [a.tobytes() for a in given if isinstance(a, np.ndarray)]


def found(program: Program, drawn: Drawn) -> set[str]:
    """The rules that the sanitizer names."""
    given = [a.copy() if isinstance(a, np.ndarray) else a for a in drawn.args]
    return {d.rule for d in sanitize(program.module, program.target, given, drawn.blocks).diagnostics}


def returns(kind: str, seed: int, folder: Path) -> bool:
    """False if the writer refuses the program."""
    return comes_back(DRAW[kind](seed), folder / f"{kind}{seed}.cpp", f"{kind} {seed}", watch=kind == "flags")


def comes_back(drawn: Drawn, file: Path, name: str, *, watch: bool = False) -> bool:
    """As `returns`; ``watch``: the sanitizer has to find the same."""
    used = target(drawn.target)
    module = parse_module(drawn.text, "k.pto", target=used).module
    try:
        written = cpp_text(module, used)
    except DiagnosticError as error:
        if {d.rule for d in error.diagnostics} != {"CPP-WRITE"}:
            raise
        return False
    file.write_text(written)
    kernels = ptokit.cpp(file, target=used.name, define=("__PTO_AUTO__",) if "Auto mode" in written else ())
    one, other = compile_program(module, used), kernels[next(iter(kernels))].program
    left = launched(other, drawn)
    assert left == launched(one, drawn) if drawn.model is None else drawn.model(left), name
    if watch:
        assert found(other, drawn) == found(one, drawn), name
    return True


@pytest.mark.parametrize(("kind", "seed"), [("control", 6), ("scalars", 12), ("tiles", 60), ("flags", 1)])
def test_a_random_program_comes_back(kind: str, seed: int, tmp_path: Path) -> None:
    assert returns(kind, seed, tmp_path)


NARROW = """
func.func @k(%in: !pto.ptr<i64>, %out: !pto.ptr<i64>) {
  %id = pto.get_block_idx
  %b = arith.index_cast %id : i64 to index
  %n = arith.constant 4 : index
  %at = arith.muli %b, %n : index
  %word = pto.load_scalar %in[%b] : !pto.ptr<i64> -> i64
  %p = arith.trunci %word : i64 to i1
  %one = arith.constant 1 : i64
  %next = arith.shrsi %word, %one : i64
  %q = arith.trunci %next : i64 to i1
  %wide = arith.extsi %p : i1 to i32
  %first = arith.extui %wide : i32 to i64
  %less = arith.cmpi slt, %p, %q : i1
  %sum, %carry = arith.addui_extended %p, %q : i1
  %l = arith.extui %less : i1 to i64
  %c = arith.extui %carry : i1 to i64
  %three = arith.constant 3 : i64
  %both = arith.muli %c, %three : i64
  %second = arith.addi %both, %l : i64
  %bits = arith.trunci %word : i64 to i16
  %x = arith.bitcast %bits : i16 to bf16
  %y = arith.negf %x : bf16
  %z = arith.maximumf %x, %y : bf16
  %chosen = arith.select %sum, %y, %z : bf16
  %half = arith.bitcast %chosen : bf16 to i16
  %third = arith.extui %half : i16 to i64
  %nan = arith.constant 0x7FF8000000000000 : f64
  %none = arith.bitcast %nan : f64 to i64
  STORES
  return
}
"""
STORE = """
  %k{k} = arith.constant {k} : index
  %at{k} = arith.addi %at, %k{k} : index
  pto.store_scalar %{name}, %out[%at{k}] : !pto.ptr<i64>, i64
"""


def test_numbers_narrower_than_those_of_cpp(tmp_path: Path) -> None:
    names = ("first", "second", "third", "none")
    text = NARROW.replace("STORES", "".join(STORE.format(k=k, name=name) for k, name in enumerate(names)))
    drawn = Drawn(text, "a2a3", [np.arange(16000, 16064), np.zeros(256, np.int64)], 64)
    assert comes_back(drawn, tmp_path / "narrow.cpp", "narrow numbers")


@pytest.mark.parametrize("n", [1, 2])
def test_a_fence_drains_the_pipes_and_the_run_chooses_a_tile(n: int, tmp_path: Path) -> None:
    body = (
        *(load("%t0", "%c0"), load("%t1", "%c16"), "pto.fence.barrier_all #pto.fence_scope<gm>"),
        *("%small = arith.cmpi slt, %n, %c2 : index", f"%w = arith.select %small, %t0, %t1 : {TILE}"),
        store("%w", "%c0"),
    )
    args = [np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32), n]
    drawn = Drawn(kernel(*body, rows="%c32"), "a2a3", args, 1)
    assert comes_back(drawn, tmp_path / "fence.cpp", "fence", watch=True)


def test_signals_come_back(tmp_path: Path) -> None:
    example = Path(__file__).parents[2] / "examples" / "python" / "ring_all_gather.py"
    file = tmp_path / "ring.cpp"
    file.write_text(ptokit.convert(f"{example}:ring_all_gather", "cpp"))
    assert "comm::TWAIT(view_4, 1, comm::WaitCmp::GE);" in file.read_text()
    kernels = ptokit.cpp(file, target="a2a3")
    program = kernels[next(iter(kernels))].program
    rows, arrived = np.zeros((4, 4, 256), np.float32), np.zeros((4, 4), np.int32)
    for rank in range(4):
        rows[rank, rank] = rank + 1
    args = [rows, ptokit.Peer("rows", 1), arrived, ptokit.Peer("arrived", 1), ptokit.RANK, ptokit.RANKS]
    program.launch_ranks(divided(program.entry, args, 4), 1)
    assert (rows == np.arange(1, 5)[None, :, None]).all()


@pytest.mark.campaign
@pytest.mark.parametrize("first", range(0, 200, 20))
@pytest.mark.parametrize(("kind", "most"), [("control", 0.0), ("scalars", 0.5), ("tiles", 0.25), ("flags", 0.0)])
def test_many_random_programs_come_back(kind: str, most: float, first: int, tmp_path: Path) -> None:
    """``most``: share of the programs that the writer may refuse, 64-bit products and remainders of floats mostly."""
    refused = [seed for seed in range(first, first + 20) if not returns(kind, seed, tmp_path)]
    assert len(refused) <= most * 20, refused
