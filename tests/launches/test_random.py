"""Random kernels give on an executor what they give in one process, whether their blocks can be divided or not."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from ptokit.asm import parse_module, read_module
from ptokit.conformance.programs import Pointer, ProgramCase, ProgramSuite
from ptokit.launches import arrays
from ptokit.launches.launch import launch
from ptokit.run import Program, compile_program
from ptokit.targets import A5, target

from ..conformance.suites import PROGRAMS
from ..run.random_control import LANES, SLOTS, ControlProgram
from .conftest import Inline, compiled


def both(program: Program, args: list[object], blocks: int, jobs: int) -> int:
    """Compare; the number of tasks."""
    runs = []
    executor = Inline()
    for go in (program.launch, lambda a, n: launch(program, a, n, executor=executor, jobs=jobs, say=lambda _: None)):
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        go(given, blocks)
        runs.append([a.tobytes() for a in given if isinstance(a, np.ndarray)])
    assert runs[0] == runs[1], program.entry.name
    return len(executor.tasks)


class Moves:
    """A kernel that takes tiles from places of arrays to others, each a linear function of block and loop variable."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        self.blocks = rng.randint(1, 9)
        self.turns = rng.choice([1, 1, 2, 3])
        self.height, self.width = rng.choice([(1, 32), (4, 16), (8, 8), (2, 40)])
        self.lines: list[str] = []
        self.shapes: dict[str, tuple[int, int]] = {}
        layout = {name: self._grid(name) for name in ("x", "y", "z")}
        for k in range(rng.randint(1, 3)):
            source, target = rng.choice("xyz"), rng.choice("yz")
            self._access(source, layout[source], f"{k}a")
            self._access(target, layout[target], f"{k}b")
            t = f"!pto.tile_buf<vec, {self.height}x{self.width}xf32>"
            v = f"!pto.partition_tensor_view<{self.height}x{self.width}xf32>"
            self.lines.append(f"pto.tload ins(%p{k}a : {v}) outs(%t : {t})")
            self.lines.append(f"pto.tadds ins(%t, %one : {t}, f32) outs(%t : {t})")
            how = rng.choice(["", "", "", " {atomicType = #pto<atomic_type atomic_add>}"])
            self.lines.append(f"pto.tstore ins(%t : {t}) outs(%p{k}b : {v}){how}")

    def _grid(self, name: str) -> tuple[int, int, int, int]:
        """Rows and columns that a block, and a turn, moves on by."""
        rng, h, w = self.rng, self.height, self.width
        row, col = rng.choice([(h * self.turns, 0), (0, w * self.turns), (h, w), (0, 0), (1, 0), (h, 0), (0, w)])
        turn_row, turn_col = rng.choice([(h, 0), (0, w), (0, 0)])
        rows = row * (self.blocks - 1) + turn_row * (self.turns - 1) + h + rng.randint(0, 2)
        cols = col * (self.blocks - 1) + turn_col * (self.turns - 1) + w + rng.randint(0, 9)
        self.shapes[name] = (rows, cols)
        return row, col, turn_row, turn_col

    def _access(self, name: str, grid: tuple[int, int, int, int], k: str) -> None:
        row, col, turn_row, turn_col = grid
        for axis, (of_block, of_turn) in (("r", (row, turn_row)), ("c", (col, turn_col))):
            self.lines += [
                f"%{axis}b{k} = arith.constant {of_block} : index",
                f"%{axis}t{k} = arith.constant {of_turn} : index",
                f"%{axis}0{k} = arith.muli %b, %{axis}b{k} : index",
                f"%{axis}1{k} = arith.muli %i, %{axis}t{k} : index",
                f"%{axis}{k} = arith.addi %{axis}0{k}, %{axis}1{k} : index",
            ]
        v = f"!pto.partition_tensor_view<{self.height}x{self.width}xf32>"
        self.lines.append(
            f"%p{k} = pto.partition_view %{name}v, offsets = [%r{k}, %c{k}], sizes = [%h, %w]"
            f" : !pto.tensor_view<?x?xf32> -> {v}"
        )

    @property
    def text(self) -> str:
        head = ["func.func @k(%x: !pto.ptr<f32>, %y: !pto.ptr<f32>, %z: !pto.ptr<f32>) attributes {pto.entry} {"]
        numbers = {"c0": 0, "c1": 1, "turns": self.turns, "h": self.height, "w": self.width}
        for name, (rows, cols) in self.shapes.items():
            numbers |= {f"{name}r": rows, f"{name}c": cols}
        head += [f"%{name} = arith.constant {number} : index" for name, number in numbers.items()]
        head += ["%one = arith.constant 1.0 : f32", "%b64 = pto.get_block_idx"]
        head += ["%b = arith.index_cast %b64 : i64 to index"]
        for name in self.shapes:
            head.append(
                f"%{name}v = pto.make_tensor_view %{name}, shape = [%{name}r, %{name}c], strides = [%{name}c, %c1]"
                " : !pto.tensor_view<?x?xf32>"
            )
        head.append(f"%t = pto.alloc_tile : !pto.tile_buf<vec, {self.height}x{self.width}xf32>")
        return "\n".join([*head, "scf.for %i = %c0 to %turns step %c1 {", *self.lines, "}", "return", "}"])

    @property
    def args(self) -> list[object]:
        rng = np.random.default_rng(self.rng.randint(0, 99))
        return [rng.integers(0, 9, shape).astype(np.float32) for shape in self.shapes.values()]


def moved(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    divided = 0
    for seed in seeds:
        made = Moves(seed)
        monkeypatch.setattr(arrays, "SMALL", seed % 2 << 16)
        try:
            divided += both(compiled(made.text), made.args, made.blocks, 1 + seed % 3) > 1
        except AssertionError:
            raise AssertionError((seed, made.text)) from None
    assert len(seeds) // 8 < divided < len(seeds) * 7 // 8


def test_moves_between_places(monkeypatch: pytest.MonkeyPatch) -> None:
    moved(range(40), monkeypatch)


@pytest.mark.campaign
def test_many_moves_between_places(monkeypatch: pytest.MonkeyPatch) -> None:
    moved(range(1000, 3000), monkeypatch)


def controlled(seeds: range) -> None:
    divided = 0
    for seed in seeds:
        program = compile_program(parse_module(ControlProgram(seed).text).module, A5)
        start = np.random.default_rng(seed).integers(0, 4, (5, SLOTS))
        divided += both(program, [start, np.zeros((64, LANES), np.float32), seed % 5], 5, 2) > 1
    assert divided < len(seeds)


def test_random_control() -> None:
    controlled(range(8))


@pytest.mark.campaign
def test_much_random_control() -> None:
    controlled(range(1000, 1300))


SUITE = ProgramSuite(PROGRAMS, json.loads((PROGRAMS / "manifest.json").read_text()))


@pytest.mark.parametrize("case", [c for c in SUITE.cases if c.blocks > 1], ids=lambda case: case.id)
def test_programs(case: ProgramCase) -> None:
    on = target(case.target.name)
    program = compile_program(read_module(PROGRAMS / case.file, target=on).module, on, entry=case.entry or None)
    made = [arg.make() if isinstance(arg, Pointer) else arg for arg in case.args]
    args = [
        a.view(p.dtype.storage) if isinstance(a, np.ndarray) and p.dtype is not None else a
        for a, p in zip(made, program.params)
    ]
    both(program, args, case.blocks, 2)
