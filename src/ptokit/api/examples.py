"""An example of every instruction, as `.pto` text and as a kernel in Python.

`tools/examples.py` finds them.
"""

from __future__ import annotations

import re
from enum import Enum
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from ptokit.asm import parse_module
from ptokit.ir import Op, Value
from ptokit.isa import table
from ptokit.isa.table import TABLE, Attr, Instr, Kind
from ptokit.records import dataclass
from ptokit.targets import target as target_named
from ptokit.types.enums import BLayout, CompactMode, PadValue, Pipe, SLayout, TileType
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import I1, Align, Mask, PartitionView, Ptr, Scalar, TensorView, VReg

# An example of every instruction, with concrete types: functions in the `.pto` texts of `ptokit/isa/examples`.


FOLDER = Path(table.__file__).parent / "examples"
TARGETS = ("a5", "a2a3", "cpu")
"""Targets in the order in which they are preferred; each has a file."""


@dataclass(frozen=True)
class Example:
    """A function with one instruction. ``lines``: of the function; ``statement``: the instruction."""

    target: str
    lines: list[str]
    statement: str

    @property
    def text(self) -> str:
        """The function as it stands in the file."""
        return "\n".join(self.lines)


def symbol(instr: Instr) -> str:
    """The name of the function."""
    return instr.name.replace(".", "__")


@cache
def functions(target: str) -> dict[str, list[str]]:
    """The functions of a file by name, as lines."""
    file = FOLDER / f"{target}.pto"
    lines = file.read_text(encoding="utf-8").split("\n") if file.exists() else []
    starts = [i for i, line in enumerate(lines) if line.startswith("  func.func @")]
    return {lines[i].split("@")[1].split("(")[0]: lines[i : lines.index("  }", i) + 1] for i in starts}


@cache
def python_by_hand() -> dict[str, list[str]]:
    """Kernels in Python of instructions that have no function of their own name, by symbol, as lines."""
    text = (FOLDER / "kernels.txt").read_text(encoding="utf-8")
    parts = [part.rstrip().split("\n") for part in re.split(r"\n\n\n(?=@pto\.kernel)", text)[1:]]
    return {lines[1].removeprefix("def ").split("(")[0]: lines for lines in parts}


def examples() -> dict[str, Example]:
    """Those that there are, by the name of the instruction."""
    found = {instr.name: example_of(instr) for instr in TABLE.values()}
    return {name: example for name, example in found.items() if example is not None}


def example_of(instr: Instr) -> Example | None:
    """The example of an instruction: the function of that name, else one that uses it."""
    return _example_of(instr.name)


@cache
def _example_of(name: str) -> Example | None:
    instr = TABLE[name]
    own = ((target, functions(target).get(symbol(instr), [])) for target in TARGETS)
    others = ((target, lines) for target in TARGETS for lines in functions(target).values())
    for target, lines in chain(own, others):
        if statement := _statement(lines, instr):
            return Example(target, lines, statement)
    return None


def _statement(lines: list[str], instr: Instr) -> str:
    """The operation of the instruction, which stands in a line of its own; "" if it is not there."""
    spelled = {instr.text, instr.shown, instr.form.newest or instr.text}
    if not any(f"pto.{name}" in line for line in lines for name in spelled):
        return ""
    names = "|".join(map(re.escape, spelled))
    operation = re.compile(rf'(?:%[\w, %:]+ = )?"?pto\.(?:{names})(?![\w.])')
    return next((line.strip() for line in lines[1:-1] if operation.match(line.strip())), "")


# The example of an instruction as a kernel in Python, derived from the one in `.pto` text.


STEP = "    "


def python_example(instr: Instr, example: Example) -> list[str]:
    """The lines of a kernel with the instruction; none where Python has no function for it, or it starts another."""
    if by_hand := python_by_hand().get(symbol(instr)):
        return by_hand
    if instr.run is None or instr.text_only or any(attr.name == "callee" for attr in instr.attrs):
        return []
    return _Kernel(instr, example).lines()


class _Kernel:
    """The lines of one kernel."""

    def __init__(self, instr: Instr, example: Example) -> None:
        self.instr, self.target = instr, example.target
        self.op = operation(instr, example)
        self.params: list[str] = []
        self.outer: list[str] = []
        self.inner: list[str] = []
        self.addresses = 0
        self.names: dict[int, str] = {}

    def lines(self) -> list[str]:
        for value in self.op.values:
            if id(value) not in self.names:
                self.names[id(value)] = self._literal(value) or value.name
                self._declare(value)
        call = self._call()
        scoped = ["with pto.vecscope():", *(STEP + line for line in [*self.inner, call])]
        registers = any(isinstance(v.type, VReg | Mask | Align) for v in (*self.op.values, *self.op.results))
        body = [*self.outer, *(scoped if registers else [call])]
        head = [f'@pto.kernel(target="{self.target}")', f"def example({', '.join(self.params)}):"]
        return [*head, *(STEP + line for line in body)]

    def _literal(self, value: Value) -> str:
        """An operand that is written in its place: a constant, or a condition."""
        if isinstance(value.owner, Op) and value.owner.name == "arith.constant":
            return repr(value.owner.attrs["value"])
        return "0" if value.type == I1 else ""

    def _declare(self, value: Value) -> None:
        """What gives an operand: a parameter, or a line before the call."""
        name = value.name
        match value.type:
            case Scalar() if self._literal(value):
                pass
            case TileSpec() as spec:
                allocation = value.owner if isinstance(value.owner, Op) else None
                address = allocation.get("addr") if allocation is not None else None
                where = "" if address is None else f", addr={self._literal(address)}"
                self.outer.append(f"{name} = {tile_call(spec, where)}")
            case PartitionView(dims, dtype) | TensorView(dims, dtype):
                self.params.append(f"{name}_ptr: pto.Ptr[pto.{dtype.name}]")
                self.outer.append(f"{name} = pto.GlobalTensor({name}_ptr, {dims})")
            case Ptr(dtype, space) if (space or "gm") == "gm":
                self.params.append(f"{name}: pto.Ptr[pto.{dtype.name}]")
            case Ptr(dtype, space):
                where = "" if space == "ub" else f', "{space}"'
                self.outer.append(f"{name} = pto.castptr({self.addresses:#x}, pto.{dtype.name}{where})")
                self.addresses += 0x1000
            case Scalar() as number:
                self.params.append(f"{name}: {_number(number)}")
            case VReg(_, dtype):
                self.inner.append(f"{name} = pto.vlds(pto.castptr({self.addresses:#x}, pto.{dtype.name}), 0)")
                self.addresses += 0x100
            case Mask(bits):
                self.inner.append(f'{name} = pto.pset_b{bits or 32}("PAT_ALL")')
            case Align():
                self.inner.append(f"{name} = pto.init_align()")
            case other:
                raise TypeError(f"{name} of {self.instr.name} is {other}: write its example by hand")

    def _call(self) -> str:
        instr, op = self.instr, self.op
        arguments, named = [], False
        for operand in instr.operands:
            values = [self.names[id(value)] for value in op.group(operand.name)]
            if not values:
                named = named or operand.optional
                continue
            listed = operand.variadic and (named or operand is not instr.operands[-1])
            text = f"[{', '.join(values)}]" if listed else ", ".join(values)
            arguments.append(f"{operand.name}={text}" if named else text)
        for attr in instr.attrs:
            value = op.attrs.get(attr.name)
            if value is not None and (value != attr.default or not instr.operands):
                text = attr_text(attr, value)
                arguments.append(f"{attr.name}={text}" if instr.operands else text)
        if any(result.kind is Kind.VREG and not result.like for result in instr.returned):
            arguments += [f"dtype=pto.{r.type.dtype.name}" for r in op.results if isinstance(r.type, VReg)][:1]
        results = ", ".join(value.name for value in op.results)
        return f"{results}{' = ' * bool(results)}pto.{instr.name}({', '.join(arguments)})"


def tile_call(spec: TileSpec, where: str = "") -> str:
    """The call that makes a tile of this type; ``where``: further arguments, after a comma."""
    layout = (spec.blayout, spec.slayout, spec.fractal)
    if _USUAL.get(spec.loc) == layout:
        made, given, layout = f"Tile{_SHORT.get(spec.loc, spec.loc.name)}", [], _PLAIN
    else:
        made, given = "Tile", [f"pto.TileType.{spec.loc.name}"]
    given += [f"pto.{spec.dtype.name}", str(spec.rows), str(spec.cols)]
    for word, size, whole in (("valid_row", spec.valid_row, spec.rows), ("valid_col", spec.valid_col, spec.cols)):
        if size != whole:
            given.append(f"{word}={'pto.DYNAMIC' if size == DYNAMIC else size}")
    words = (f"blayout=pto.BLayout.{layout[0].name}", f"slayout=pto.SLayout.{layout[1].name}", f"fractal={layout[2]}")
    given += [word for word, value, plain in zip(words, layout, _PLAIN) if value != plain]
    if spec.compact is not CompactMode.Null:
        given.append(f"compact=pto.CompactMode.{spec.compact.name}")
    if spec.pad:
        given.append(f"pad=pto.PadValue.{PadValue(spec.pad).name}")
    return f"pto.{made}({', '.join(given)}{where})"


_PLAIN = (BLayout.RowMajor, SLayout.NoneBox, 512)
_NZ = (BLayout.ColMajor, SLayout.RowMajor)
_USUAL = {
    TileType.Left: (*_NZ, 512),
    TileType.Right: (BLayout.RowMajor, SLayout.ColMajor, 512),
    TileType.Acc: (*_NZ, 1024),
    TileType.ScaleLeft: (BLayout.RowMajor, SLayout.RowMajor, 32),
    TileType.ScaleRight: (BLayout.ColMajor, SLayout.ColMajor, 32),
}
"""Layouts of the tiles that have a function of their own, on a5."""

_SHORT = {TileType.ScaleLeft: "LeftScale", TileType.ScaleRight: "RightScale"}


def attr_text(attr: Attr, value: Any) -> str:
    """The value of an attribute as Python code writes it."""
    kind = attr.members or attr.kind
    if issubclass(kind, Enum):
        member = kind(value)
        return f"pto.PIPE_{member.name}" if kind is Pipe else f"pto.{kind.__name__}.{member.name}"
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _number(type: Scalar) -> str:
    """The annotation of a number."""
    return "int" if type.name == "index" else f"pto.{type.name}"


def operation(instr: Instr, example: Example) -> Op:
    """The operation that the example shows."""
    profile = target_named(example.target)
    text = f'module attributes {{pto.target_arch = "{profile.arch}"}} {{\n{example.text}\n}}\n'
    module = parse_module(text, target=profile).module
    ops = (op for f in module.functions if f.body is not None for op in f.body.walk())
    return next(op for op in ops if op.name == f"pto.{instr.text}")
