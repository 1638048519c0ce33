"""Random kernels of Python that call instructions of the table, on all types and layouts that the check accepts.

A call begins as the example of its instruction (`ptokit.api.examples`); types, sizes, layouts, attributes, numbers and
target are changed, and what the check refuses is dropped. Calls are put into loops, branches and several blocks.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import ptokit as pto
from ptokit.api.examples import example_of
from ptokit.asm import parse_module
from ptokit.diagnostics import UNKNOWN_LOCATION, Location
from ptokit.ir import Op
from ptokit.ir.verify import verify
from ptokit.isa.table import TABLE, Instr, Kind, Role
from ptokit.lang.intrinsics import names
from ptokit.lang.scalar import Scalar as TracedNumber
from ptokit.lang.tensors import Pointer
from ptokit.lang.trace import Trace
from ptokit.targets import target
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import BLayout, SLayout, TileType
from ptokit.types.tile import TileSpec
from ptokit.types.values import Align, Mask, PartitionView, Ptr, Scalar, TensorView, VReg

TARGETS = ("a5", "a5", "a5", "a2a3", "a2a3", "cpu")
NEVER = {
    "TRAP",
    "PRINT",
    "TPUSH",
    "TPOP",
    "TFREE",
    "TALLOC",
    "simt_launch",
    "TPREFETCH",
    "TPREFETCH_ASYNC",
    "TWAIT",
    "TTEST",
    "set_ffts",
    "TPRINT",
}
"""They end the run, wait for others, need a partner or functions of threads, or leave a tile undefined."""

LAYOUTS = [
    (BLayout.RowMajor, SLayout.NoneBox),
    (BLayout.ColMajor, SLayout.NoneBox),
    (BLayout.ColMajor, SLayout.RowMajor),
    (BLayout.RowMajor, SLayout.RowMajor),
    (BLayout.RowMajor, SLayout.ColMajor),
]
ROOM = 8192
"""Bytes of each array; views are no larger."""


@cache
def example_op(name: str) -> Op | None:
    """The call of an instruction in its example; None if there is none."""
    instr = TABLE[name]
    example = example_of(instr)
    if example is None:
        return None
    text = "module {\n" + example.text + "\n}\n"
    function = parse_module(text, "example", target=target(example.target)).module.functions[0]
    assert function.body is not None
    return next((op for op in function.body.walk() if op.name == f"pto.{instr.text}"), None)


@cache
def callable_names() -> list[str]:
    """Instructions that have a function in Python, and an example."""
    return [name for name in names() if name not in NEVER and example_op(name) is not None]


class Call:
    """One call: the statements around it, and what they use. ``loads``, ``stores``: of its tiles."""

    def __init__(self, rng: random.Random, name: str, k: int, *, loads: bool, stores: bool) -> None:
        self.rng, self.k, self.instr = rng, k, TABLE[name]
        self.loads, self.stores = loads, stores
        self.before: list[str] = []
        self.after: list[str] = []
        self.arrays: dict[str, DType] = {}
        self.numbers: dict[str, str] = {}
        self.registers = False
        self._ub = 0
        op = example_op(name)
        assert op is not None
        self._change(op)
        self._write(op)

    @property
    def stored(self) -> list[str]:
        """The statements that store tiles."""
        return [] if self.registers else self.after

    def statements(self, *, stored: bool = True) -> list[str]:
        """All statements, or those before the stores."""
        body = ["with pto.vecscope():", *("    " + line for line in self.before)] if self.registers else self.before
        return [*body, *self.stored] if stored else body

    # --- types -------------------------------------------------------------------------------------------------------

    def _change(self, op: Op) -> None:
        """Other types for the operands."""
        rng = self.rng
        self.types: dict[Any, Any] = {}
        known = {value: value.type for value in [*op.values, *op.results]}
        elements = sorted({t.dtype.name for t in known.values() if hasattr(t, "dtype")})
        keep = {name for name in elements if name in DTYPES and rng.random() < 0.4}  # pairs have no name in Python
        other = {name: name if name in keep else rng.choice(list(DTYPES)) for name in elements}
        alike = rng.random() < 0.5 and rng.choice(list(DTYPES))
        for value, kind in known.items():
            if hasattr(kind, "dtype"):
                dtype = DTYPES[other[kind.dtype.name]]
                if rng.random() < 0.05:
                    dtype = rng.choice(list(DTYPES.values()))
                if alike and kind.dtype.name == elements[0]:
                    dtype = DTYPES[alike]
                kind = self._with(kind, dtype)
            self.types[value] = kind

    def _with(self, kind: Any, dtype: DType) -> Any:
        rng = self.rng
        if isinstance(kind, VReg):
            return VReg(256 // dtype.size, dtype, kind.signed)
        if not isinstance(kind, TileSpec):
            return replace(kind, dtype=dtype)
        if dtype.size != kind.dtype.size and rng.random() < 0.5 and kind.cols > 1:
            cols = max(1, kind.cols * kind.dtype.size // dtype.size)
            kind = replace(kind, cols=cols, valid_col=cols)
        kind = replace(kind, dtype=dtype)
        if rng.random() < 0.1:
            blayout, slayout = rng.choice(LAYOUTS)
            kind = replace(kind, blayout=blayout, slayout=slayout)
        if rng.random() < 0.1:
            kind = replace(kind, loc=rng.choice([t for t in TileType if t is not TileType.Ctrl]))
        if rng.random() < 0.1:
            rows, cols = rng.choice([(1, 64), (16, 16), (8, 32), (32, 32), (16, 128)])
            kind = replace(kind, rows=rows, cols=cols, valid_row=rows, valid_col=cols)
        if rng.random() < 0.1:
            kind = replace(kind, pad=rng.choice([1, 2, 3, (1 << 32) | 7]))
        return kind

    # --- operands ----------------------------------------------------------------------------------------------------

    def _write(self, op: Op) -> None:
        parts, made = [], {}
        shrink = self.rng.random() < 0.3
        for operand in self.instr.operands:
            values = op.group(operand.name)
            if not values:
                continue
            shown = []
            for value in values:
                if value not in made:
                    made[value] = self._operand(value, operand, shrink)
                shown.append(made[value])
            parts.append(f"{operand.name}=[{', '.join(shown)}]" if operand.variadic else f"{operand.name}={shown[0]}")
        parts += list(self._attributes(op))
        results = [self.types[value] for value in op.results]
        registers = [t for t in results if isinstance(t, VReg)]
        if registers and self.rng.random() < 0.9 and "dtype" in _parameters(self.instr):
            parts.append(f"dtype=pto.{registers[0].dtype.name}")
        call = f"pto.{self.instr.name}({', '.join(parts)})"
        if not results:
            self.before.append(call)
            return
        targets = [f"r{self.k}_{i}" for i in range(len(results))]
        self.before.append(f"{', '.join(targets)} = {call}")
        for name, kind in zip(targets, results):
            self._show(name, kind)

    def _show(self, name: str, kind: Any) -> None:
        """Store a result where it is seen."""
        if isinstance(kind, VReg):
            self.before.append(f"pto.vsts({name}, pto.castptr({self._space()}, pto.{kind.dtype.name}), 0)")
        elif isinstance(kind, Mask):
            address = f"pto.castptr({self._space()}, pto.u32)"
            self.before.append(f"pto.psts({name}, {address}, 0)" if self.rng.random() < 0.5 else f"_ = {name}")
        elif isinstance(kind, Scalar) and self.stores:
            array = self._array(DTYPES["i32"])
            self.before.append(f"{array}[0] = pto.cast({name}, pto.i32)")

    def _space(self) -> int:
        """A place in the unified buffer."""
        self.registers = True
        self._ub += 1
        return 1024 * (self._ub + 16 * self.k)

    def _array(self, dtype: DType) -> str:
        name = f"x{self.k}_{len(self.arrays)}"
        self.arrays[name] = dtype
        return name

    def _operand(self, value: Any, operand: Any, shrink: bool) -> str:
        kind, name = self.types[value], f"v{self.k}_{len(self.before)}"
        match kind:
            case TileSpec():
                self._tile(name, kind, operand.role, shrink)
                return name
            case PartitionView() | TensorView():
                dims = ", ".join(str(d if d > 0 else 8) for d in kind.dims)
                return f"pto.GlobalTensor({self._array(kind.dtype)}, ({dims},))"
            case Ptr(space=None) | Ptr(space="gm"):
                return self._array(kind.dtype)
            case Ptr():
                return f"pto.castptr({self._space()}, pto.{kind.dtype.name}, {kind.space!r})"
            case VReg():
                self.before.append(f"{name} = pto.vlds(pto.castptr({self._space()}, pto.{kind.dtype.name}), 0)")
                return name
            case Mask():
                self.registers = True
                self.before.append(
                    f'{name} = pto.pset_b{kind.bits or 32}("{self.rng.choice(("PAT_ALL", "PAT_VL16"))}")'
                )
                return name
            case Align():
                return "pto.init_align()"
        return self._number(kind)

    def _tile(self, name: str, spec: TileSpec, role: Role, shrink: bool) -> None:
        rng = self.rng
        rows, cols = spec.valid_row, spec.valid_col
        if shrink and rows > 1:
            rows = rows // 2 if rng.random() < 0.5 else rows
        valid = f"{rows}, {cols}"
        if shrink and rng.random() < 0.3 and rows == spec.rows:
            self.numbers[f"m{self.k}"] = "int"
            valid = f"m{self.k}, {cols}"
        layout = f"pto.BLayout.{spec.blayout.name}, {valid}, pto.SLayout.{spec.slayout.name}, {spec.fractal}"
        more = f", pad={int(spec.pad)}" if spec.pad else ""
        head = f"pto.Tile(pto.TileType.{spec.loc.name}, pto.{spec.dtype.name}, {spec.rows}, {spec.cols}"
        self.before.append(f"{name} = {head}, {layout}{more})")
        view = f"({spec.rows}, {spec.cols})"
        if self.loads and spec.loc in (TileType.Vec, TileType.Mat):
            array = self._array(spec.dtype)
            sliced = f"[0:m{self.k}]" if f"m{self.k}," in valid else f"[0:{rows}, 0:{cols}]"
            self.before.append(f"pto.TLOAD({name}, pto.GlobalTensor({array}, {view}){sliced})")
        if self.stores and role is not Role.IN and spec.loc in (TileType.Vec, TileType.Acc):
            array = self._array(spec.dtype)
            sliced = f"[0:m{self.k}]" if f"m{self.k}," in valid else f"[0:{rows}, 0:{cols}]"
            self.after.append(f"pto.TSTORE(pto.GlobalTensor({array}, {view}){sliced}, {name})")

    def _number(self, kind: Any) -> str:
        rng = self.rng
        text = str(kind)
        if rng.random() < 0.4:
            name = f"n{self.k}_{len(self.numbers)}"
            if text.startswith(("f", "bf")):
                self.numbers[name] = rng.choice(["float", "pto.f32", "pto.f16", "pto.bf16"])
            else:
                self.numbers[name] = rng.choice(["int", "int", "pto.i32", "pto.i64", "pto.u32", "pto.i16", "pto.u8"])
            return name
        if text.startswith(("f", "bf")):
            return rng.choice(["0.5", "1.0", "-2.0", "3", "1e-3"])
        return rng.choice(["0", "0", "1", "1", "2", "4", "8", "-1", "64", "200", "65535"])

    def _attributes(self, op: Op) -> Iterator[str]:
        for attr in self.instr.attrs:
            value = op.attrs.get(attr.name)
            kinds = attr.members or attr.kind
            if self.rng.random() < 0.3 and isinstance(kinds, type) and issubclass(kinds, Enum):
                value = self.rng.choice(list(kinds))
            elif self.rng.random() < 0.2 and attr.kind in (int, bool):
                value = self.rng.choice([0, 1, 2, 4]) if attr.kind is int else True
            if value is None or value == attr.default:
                continue
            if isinstance(value, Enum):
                yield (
                    f"{attr.name}=pto.{type(value).__name__}.{value.name}"
                    if hasattr(pto, type(value).__name__)
                    else f"{attr.name}={getattr(value, 'text', value.value)!r}"
                )
            elif isinstance(value, (bool, int, float, str)):
                yield f"{attr.name}={value!r}"


@cache
def _parameters(instr: Instr) -> frozenset[str]:
    results = any(o.kind is Kind.VREG and not o.like for o in instr.returned)
    return frozenset({"dtype"} if results else ())


class RandomKernel:
    """A kernel with one call or several, as a file of Python. ``kernel`` is None where the check refuses it.

    The first call is of the instruction whose turn it is: so many seeds as there are instructions try all of them.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        rng = random.Random(seed)
        self.seed, self.target = seed, rng.choice(TARGETS)
        self.extended = self.target == "cpu" and rng.random() < 0.5
        self.blocks = rng.choice([1, 1, 2, 3])
        self.kernel: pto.Kernel | None = None
        self.calls: list[Call] = []
        many = rng.choice([1, 1, 1, 2, 3])
        for k in range(many):
            everything = callable_names()
            chosen = rng.choice(everything) if k else everything[seed % len(everything)]
            call = next(filter(self._checks, self._tries(rng, chosen, k)), None)
            self.calls += [] if call is None else [call]
        self.source = self._text(self.calls, random.Random(self.seed + 1))
        if self.calls:
            self.kernel = self._accepted(folder)

    @staticmethod
    def _tries(rng: random.Random, name: str, k: int) -> Iterator[Call]:
        """Calls of an instruction; those with the same operands that load and store less come later."""
        for _ in range(4):
            state = rng.getstate()
            for loads, stores in ((True, True), (True, False), (False, True), (False, False)):
                rng.setstate(state)
                yield Call(rng, name, k, loads=loads, stores=stores)

    def _checks(self, call: Call) -> bool:
        """True if the check accepts the statements of a call, carried out in a trace without reading them."""
        on = target(self.target)
        trace = Trace("k", on, Location("call"))
        space: dict[str, Any] = {"pto": pto}
        try:
            with trace.running():
                for name, dtype in call.arrays.items():
                    space[name] = Pointer(trace.parameter(Ptr(dtype), name, UNKNOWN_LOCATION))
                for name, kind in call.numbers.items():
                    written = {"int": "index", "float": "f32"}.get(kind) or DTYPES[kind.removeprefix("pto.")].text
                    space[name] = TracedNumber(trace.parameter(Scalar(written), name, UNKNOWN_LOCATION))
                exec("\n".join(call.statements()), space)
                module = trace.finish(None)
            return not verify(module, on, extended=self.extended).errors
        except pto.DiagnosticError:
            return False

    def _accepted(self, folder: Path) -> pto.Kernel | None:
        file = folder / f"kernel_{self.seed}.py"
        file.write_text(self.source)
        space: dict[str, Any] = {"pto": pto, "__name__": "kernels"}
        exec(compile(self.source, str(file), "exec"), space)
        kernel: pto.Kernel = space["k"]
        try:
            return kernel if not kernel.check().errors else None
        except pto.DiagnosticError:
            return None

    def _text(self, calls: list[Call], rng: random.Random) -> str:
        arrays = {name: dtype for call in calls for name, dtype in call.arrays.items()}
        self.arrays = arrays
        self.numbers = {name: kind for call in calls for name, kind in call.numbers.items()} | {"turns": "int"}
        parameters = [f"{name}: pto.Ptr[pto.{dtype.name}]" for name, dtype in arrays.items()]
        parameters += [f"{name}: {kind}" for name, kind in self.numbers.items()]
        extended = ", extended=True" if self.extended else ""
        lines = [f'@pto.kernel(target="{self.target}"{extended})', f"def k({', '.join(parameters)}):"]
        for call in calls:
            body = self._around(call.statements(stored=False), rng)
            lines += ["    " + line for line in [*body, *call.stored]]
        return "\n".join(lines) + "\n"

    @staticmethod
    def _around(body: list[str], rng: random.Random) -> list[str]:
        """The statements in a loop or a branch; tiles that are stored later are made before."""
        tiles = [line for line in body if "= pto.Tile(" in line]
        first, rest = [line.strip() for line in tiles], [line for line in body if line not in tiles]
        if not rest:
            return body
        how = rng.choice(
            ["", "", "", "for {i} in pto.range(turns):", "if turns > {n}:", "if pto.get_block_idx() == {n}:"]
        )
        if not how:
            return body
        i = f"i{rng.randrange(1000)}"
        return [*first, how.format(i=i, n=rng.choice([0, 1, 5])), *("    " + line for line in rest)]

    def arguments(self) -> list[Any]:
        """Arrays of raw bits, finite as floats, and numbers."""
        rng = np.random.default_rng(self.seed)
        out: list[Any] = []
        for dtype in self.arrays.values():
            elements = ROOM // dtype.size
            if dtype.is_float and dtype.bits > 8 and dtype.value is not None:
                out.append(rng.integers(-8, 8, elements).astype(dtype.value))
            else:
                out.append(rng.integers(0, 100, elements).astype(dtype.storage))
        for name, kind in self.numbers.items():
            small = 1 if name.startswith("m") else int(rng.integers(0, 4))
            out.append(0.5 * small if kind in ("float", "pto.f32", "pto.f16", "pto.bf16") else small)
        return out
