"""Kernels of Python whose numbers are constants, and the same kernels with parameters in their place.

A kernel calls one instruction as its example does (`random_calls.Call`). Valid regions, slices, addresses, strides and
number operands are its numbers. `rules_at_run` compares what is found of the one and of the other.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import ptokit as pto
from ptokit.ir import Module, Op
from ptokit.isa.table import Role
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES, dtype, is_dtype
from ptokit.types.tile import TileSpec
from ptokit.types.values import PartitionView, Ptr, TensorView, VReg

from ..rules_at_run import FLOATS, NUMBERS, Number
from .random_calls import Call, callable_names

PLACES = 4096
"""Bytes from one address to the next."""


class Numbered(Call):
    """A call whose numbers have names."""

    def __init__(self, rng: random.Random, name: str) -> None:
        self.drawn: list[Number] = []
        self.changed = rng.random() < 0.9
        self.open = rng.choice((0.0, 0.5))
        self._places = 0
        super().__init__(rng, name, 0, loads=False, stores=False)

    def named(self, type: str, likely: float, most: int | None = None) -> str:
        """The name of a new number, mostly the likely one; ``most``: what it is cut to."""
        value = likely
        if self.changed and self.rng.random() < 0.4:
            pool = FLOATS if isinstance(likely, float) else (*NUMBERS, likely + 1, likely - 1, 2 * likely)
            value = self.rng.choice(pool)
        if most is not None:
            value = min(most, max(0, value))
        elif is_dtype(type) and not isinstance(value, float):
            bits, signed = dtype(type).bits, dtype(type).signed
            value = min((1 << (bits - signed)) - 1, max(-(1 << (bits - 1)) if signed else 0, value))
        self.drawn.append(Number(f"n{len(self.drawn)}", type, value))
        return self.drawn[-1].name

    def _change(self, op: Op) -> None:
        if self.rng.random() < 0.2:
            super()._change(op)
        else:
            self.types = {value: value.type for value in [*op.values, *op.results]}

    def _number(self, kind: Any) -> str:
        text = str(kind)
        if text == "index" or (is_dtype(text) and dtype(text).is_integer):
            return self.named(text, self.rng.choice((0, 1, 8, 16, 32, 64)))
        return self.named(text, 1.0) if text in ("f32", "f16", "bf16") else "True" if text == "i1" else "1"

    def _address(self) -> str:
        self._places += 1
        return self.named("i64", (self._places - 1) * PLACES)

    def _operand(self, value: Any, operand: Any, shrink: bool) -> str:
        kind = self.types[value]
        match kind:
            case PartitionView() | TensorView():
                dims = [d if d > 0 else 8 for d in kind.dims]
                sizes = [self.named("index", d, d) if self.rng.random() < self.open else str(d) for d in dims]
                parts = ", ".join(f"0:{size}" for size in sizes)
                return f"pto.GlobalTensor({self._array(kind.dtype)}, ({', '.join(map(str, dims))},))[{parts}]"
            case Ptr(space=str(space)) if space != "gm":
                self.registers = True
                return f"pto.castptr({self._address()}, pto.{DTYPES[kind.dtype.name].name}, {space!r})"
            case VReg():
                self.registers = bool(DTYPES[kind.dtype.name])  # pairs have no name in Python: LookupError
        return super()._operand(value, operand, shrink)

    def _tile(self, name: str, spec: TileSpec, role: Role, shrink: bool) -> None:
        rows, cols = spec.valid_row, spec.valid_col
        if self.rng.random() < 0.6:
            sizes = f"{self.named('index', rows, spec.rows)}, {self.named('index', cols, spec.cols)}"
        else:
            sizes = f"{rows}, {cols}"
        layout = f"pto.BLayout.{spec.blayout.name}, {sizes}, pto.SLayout.{spec.slayout.name}, {spec.fractal}"
        more = f", pad={int(spec.pad)}" if spec.pad else ""
        if self.rng.random() < 0.3:
            more += f", addr={self._address()}"
            last = self.drawn[-1]
            self.drawn[-1] = last._replace(value=max(0, int(last.value)) // 32 * 32)
        head = f"pto.Tile(pto.TileType.{spec.loc.name}, pto.{spec.dtype.name}, {spec.rows}, {spec.cols}"
        self.before.append(f"{name} = {head}, {layout}{more})")

    def _show(self, name: str, kind: Any) -> None:
        self.before.append(f"_ = {name}")

    def _array(self, element: Any) -> str:
        return super()._array(DTYPES.get(element.name, DTYPES["i32"]))

    def statements(self, *, stored: bool = True) -> list[str]:
        """All of them: nothing is stored but what the instruction stores."""
        return super().statements(stored=False)


class PythonSample:
    """A kernel and its numbers, as `rules_at_run.Sample` has them of a text."""

    def __init__(self, name: str, seed: int) -> None:
        rng = random.Random(f"{name} {seed} in Python")
        self.target = target(rng.choice(("a5", "a5", "a2a3", "cpu")))
        self.call = Numbered(rng, name)
        self.numbers = self.call.drawn

    @staticmethod
    def arguable(given: Iterable[str]) -> frozenset[str]:
        """Any of the numbers may be a parameter by itself."""
        return frozenset(given)

    def text(self, given: frozenset[str]) -> str:
        """The kernel, where those numbers are parameters."""
        parameters = [f"{name}: pto.Ptr[pto.{kind.name}]" for name, kind in self.call.arrays.items()]
        parameters += [f"{n.name}: {_annotation(n.type)}" for n in self.numbers if n.name in given]
        lines = [
            f"{n.name} = pto.cast({n.value!r}, pto.{'index' if n.type == 'index' else dtype(n.type).name})"
            for n in self.numbers
            if n.name not in given
        ]  # Python's own numbers would be part of the types
        return "\n    ".join(
            [
                f'@pto.kernel(target="{self.target.name}")\ndef k({", ".join(parameters)}):',
                *lines,
                *self.call.statements(),
                "return\n",
            ]
        )

    def kernel(self, given: frozenset[str]) -> pto.Kernel:
        """The kernel, where those numbers are parameters."""
        source = self.text(given)
        file = Path(_folder().name) / "kernel.py"
        file.write_text(source, encoding="utf-8")
        space: dict[str, Any] = {"pto": pto, "__name__": "kernels"}
        exec(compile(source, str(file), "exec"), space)
        return space["k"]

    def module(self, given: frozenset[str]) -> tuple[Module, int] | None:
        """What is compiled, and the last line; None if Python itself refuses the kernel."""
        try:
            return self.kernel(given).trace(), self.text(given).count("\n")
        except pto.DiagnosticError:
            return None

    def arguments(self, given: frozenset[str]) -> list[Any]:
        """Arrays of zeros, and numbers."""
        made: list[Any] = [np.zeros(1 << 16, kind.storage) for kind in self.call.arrays.values()]
        return [*made, *(n.value for n in self.numbers if n.name in given)]


def _annotation(type: str) -> str:
    return "int" if type == "index" else f"pto.{dtype(type).name}"


@cache
def _folder() -> TemporaryDirectory[str]:
    return TemporaryDirectory()


def _samples(rng: random.Random, seed: int) -> Iterator[PythonSample]:
    while True:
        name = rng.choice(callable_names())
        with suppress(LookupError):
            yield PythonSample(name, seed)


def drawn_in_python(seed: int) -> tuple[PythonSample, frozenset[str]]:
    """A kernel and those of its numbers that are parameters."""
    rng = random.Random(seed)
    sample = next(sample for sample in _samples(rng, seed) if sample.numbers)
    names = [n.name for n in sample.numbers]
    share = rng.choice((0.3, 0.7, 1))
    return sample, frozenset(name for name in names if rng.random() < share) or frozenset(names[:1])
