"""Writes the type stub of the package: what editors and type checkers know about it.

    python tools/stubs.py            writes src/ptokit/__init__.pyi
    python tools/stubs.py --check    says whether it is up to date

Every instruction becomes functions with the operands that go together, made from the table. Element types are classes
there, so that ``x: pto.Ptr[pto.f32]`` and ``n: pto.i32`` are types, and their metaclass is `DType`, so that they are
element types where one is expected.
"""

from __future__ import annotations

import ast
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from itertools import chain, combinations
from pathlib import Path

import ptokit
import ptokit.lang as lang
from ptokit.isa.table import TABLE, Attr, Instr, Kind, Operand
from ptokit.lang.intrinsics import beginnings, documentation, names, takes_dtype
from ptokit.types.dtypes import DType
from ptokit.types.values import Scalar as ScalarType

STUB = Path(__file__).parents[1] / "src" / "ptokit" / "__init__.pyi"

HEADER = '''\
"""ptokit: write, check, run and debug PTO tile programs on any machine. Made by tools/stubs.py."""

# mypy: disable-error-code="overload-overlap, overload-cannot-match, misc"
# pyright: reportOverlappingOverload=false, reportIncompatibleVariableOverride=false
from abc import ABCMeta
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Annotated, Any, Generic, Literal, Protocol, overload

from typing_extensions import TypeVar

from ptokit.types.dtypes import DType
'''

OWN = """
__version__: str

_T = TypeVar("_T", default=Any)
_Number = Scalar | int | float | _Measuring

class _ElementType(ABCMeta, DType): ...  # of the classes below: what they are where an element type is expected

class _Measuring(Protocol):  # what numbers of a kernel and of Python have: a launch gives either
{measuring}

class _Counting(_Measuring, Protocol):
{counting}

{elements}

class _TypedPointer(Pointer, Generic[_T]): ...

Ptr = _TypedPointer[_T] | Any  # a pointer in the kernel; a launch gives any array

Static = Annotated[_T, "a Python value while tracing"]

def if_(condition: Any) -> AbstractContextManager[None]: ...
def else_() -> AbstractContextManager[None]: ...
def range(start: Any, stop: Any = ..., step: Any = ..., /) -> Sequence[Scalar]: ...
"""
_REPLACED = {"Ptr", "Static", "if_", "else_", "range", "intrinsic"}
_KINDS = {
    Kind.TILE: "Tile",
    Kind.VIEW: "GlobalTensor | Partition",
    Kind.SCALAR: "_Number",
    Kind.PTR: "Pointer",
    Kind.VREG: "Register",
    Kind.MASK: "Predicate",
    Kind.ALIGN: "AlignState",
    Kind.RECORD: "None",
    Kind.PIPE: "TPipe",
}
_MEASURING = "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod lt le gt ge", "neg pos abs"
_COUNTING = "lshift rlshift rshift rrshift and rand or ror xor rxor", "invert index"
_FEW = 3
"""Of more optional operands than this, only those before the first that is left out can be given by position."""


def stub() -> str:
    """The text of the stub."""
    enums = sorted(
        {a.kind.__name__: a.kind for i in TABLE.values() for a in i.attrs if issubclass(a.kind, Enum)}.items()
    )
    public = [name for name in lang.__all__ if name not in _REPLACED]
    elements = [name for name in public if isinstance(getattr(lang, name), DType | ScalarType)]
    imported = [name for name in public if name not in elements]
    lines = [HEADER]
    homes = imports()
    lines += [f"from {module} import {own} as {name}" for name in sorted(imported) for module, own in (homes[name],)]
    lines += [f"from ptokit.{module} import {name} as {name}" for name, module in sorted(ptokit._TOOLS.items())]
    lines += [f"from ptokit.types.enums import {name}" for name, _ in enums if name not in imported]
    kinds = {name: "_Measuring" if getattr(lang, name).is_float else "_Counting" for name in elements}
    classes = [f"class {name}({kind}, Protocol, metaclass=_ElementType): ..." for name, kind in kinds.items()]
    own = OWN.replace("{elements}", "\n".join(classes))
    lines.append(own.replace("{measuring}", operators(*_MEASURING)).replace("{counting}", operators(*_COUNTING)))
    lines += [*(spelled(kind) for _, kind in enums), ""]
    lines += chain.from_iterable(
        function(TABLE[name]) for name in sorted({*names()} - {*public, *ptokit._TOOLS}) if name.isidentifier()
    )
    for name in sorted(beginnings()):
        lines += namespace(name)
    return "\n".join(lines) + "\n"


def operators(of_two: str, of_one: str) -> str:
    """The declarations of operators."""
    heads = [*(f"{name}__(self, other: Any, /)" for name in of_two.split())]
    heads += [f"{name}__(self)" for name in of_one.split()]
    return "\n".join(f"    def __{head} -> Any: ..." for head in heads)


def imports() -> dict[str, tuple[str, str]]:
    """Where each name of the Python front end comes from: a module, and what it is called there."""
    tree = ast.parse(Path(lang.__file__).read_text(encoding="utf-8"))
    found = {name: ("ptokit.lang", name) for name in lang.__all__}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            module = f"ptokit.lang.{node.module}" if node.level else node.module
            found |= {alias.asname or alias.name: (module, alias.name) for alias in node.names}
    return found


def namespace(name: str) -> Iterator[str]:
    """The instructions whose names begin with this and a dot, as methods of an object of the name."""
    yield f"class _{name}:"
    for whole in sorted(names()):
        start, _, rest = whole.partition(".")
        if start == name and rest:
            text = "\n".join(function(TABLE[whole], rest, method=True)).rstrip()
            yield textwrap.indent(text, "    ", lambda line: bool(line.strip()))
    yield f"\n{name}: _{name}\n"


def function(instr: Instr, name: str = "", method: bool = False) -> Iterator[str]:
    """The declarations of an instruction, the first with its page."""
    own = ["self"] if method else []
    heads = list(dict.fromkeys(", ".join([*own, *parameters]) for parameters in overloads(instr)))
    page = textwrap.indent(documentation(instr).replace("\\", "\\\\"), "    ").strip()
    for number, head in enumerate(heads):
        if len(heads) > 1:
            yield "@overload"
        signature = f"def {name or instr.name}({head}) -> {returned(instr)}:"
        yield f'{signature}\n    """{page}\n    """' if number == 0 else f"{signature} ..."
    yield ""


def overloads(instr: Instr) -> Iterator[list[str]]:
    """The parameters of every way to call it. Attributes may stand behind the operands, in any order, or be named."""
    named = [attribute(attr) for attr in instr.attrs]
    dtype = ["dtype: DType | None = ..."] if takes_dtype(instr) else []
    for operands, left_out in chosen(instr):
        given = _defaults_last([parameter(operand, left_out) for operand in operands])
        if not given:
            yield _defaults_last(
                [attribute(attr, required=attr.default is None and not attr.optional) for attr in instr.attrs]
            )
        elif sum(p.startswith("*") for p in given) > 1:
            yield [*(p.removeprefix("*") for p in given), *named]
        elif any(p.startswith("*") for p in given):
            yield sorted(given, key=lambda p: p.startswith("*")) + named
        elif instr.typed:
            yield [*given, *named, *(["*", *dtype] if dtype else [])]
        else:
            more = dict.fromkeys(["RecordEvent", *map(kind_of_attribute, instr.attrs)])
            yield [*(p.removesuffix(" = ...") for p in given), f"*more: {' | '.join(more)}", *named]
            if given[-1].endswith("= ..."):
                yield [*given, *(["*", *named] if named else [])]


def _defaults_last(parameters: list[str]) -> list[str]:
    """Without the defaults of those that others without one follow."""
    required = max((k for k, p in enumerate(parameters) if not p.endswith("= ...") and p[0] != "*"), default=-1)
    return [p.removesuffix(" = ...") if k < required else p for k, p in enumerate(parameters)]


def chosen(instr: Instr) -> Iterator[tuple[list[Operand], list[Operand]]]:
    """The operands that go together, and optional ones of those with a default."""
    if instr.form.choices:
        for form in instr.form.choices:
            yield list(instr.chosen(form, instr.operands)), []
        return
    registers = {attr.register for attr in instr.attrs}  # one parameter for the number, known or not
    operands = [operand for operand in instr.operands if operand.name not in registers]
    optional = [operand for operand in operands if operand.optional and not operand.variadic]
    trailing = operands[len(operands) - len(optional) :] == optional
    if len(optional) > _FEW:
        for count in range(len(optional) + 1):
            yield [o for o in operands if o not in optional[count:]], []
        yield [o for o in operands if not o.optional], []
    elif instr.typed and trailing:
        yield operands, optional
    else:
        for subset in chain.from_iterable(combinations(optional, n) for n in range(len(optional) + 1)):
            yield [o for o in operands if o not in optional or o in subset], []
    if any(attr.name == "scalar_first" for attr in instr.attrs):
        first, second, third, *more = operands
        yield [first, third, second, *more], []


def parameter(operand: Operand, left_out: list[Operand]) -> str:
    """An operand as a parameter."""
    type = kind_of(operand)
    if operand.variadic:
        return f"*{operand.name}: {type} | Sequence[{type}]"
    default = (
        " = ..." if operand in left_out or (operand.name in ("row", "col") and operand.kind is Kind.SCALAR) else ""
    )
    return f"{operand.name}: {type}{default}"


def kind_of(operand: Operand) -> str:
    """The type of an argument for an operand."""
    return " | ".join(_KINDS[kind] for kind in (operand.kind, *operand.also))


def attribute(attr: Attr, required: bool = False) -> str:
    """An attribute as a parameter."""
    none = " | None" if attr.default is None and not required else ""
    return f"{attr.name}: {kind_of_attribute(attr)}{none}{'' if required else ' = ...'}"


def kind_of_attribute(attr: Attr) -> str:
    """The type of its value."""
    if attr.members is not None:
        return attr.members.__name__
    if attr.register:
        return "_Number"
    if issubclass(attr.kind, Enum):
        return f"_{attr.kind.__name__}"
    return f"Literal[{', '.join(map(repr, attr.words))}]" if attr.words else attr.kind.__name__


def spelled(kind: type[Enum]) -> str:
    """An enumeration, and its members as they are written in text."""
    words = dict.fromkeys(str(word) for member in kind for word in (member.text, member.name))  # type: ignore[attr-defined]
    return f"_{kind.__name__} = {kind.__name__} | Literal[{', '.join(map(repr, words))}]"


def returned(instr: Instr) -> str:
    """What a call returns."""
    if not instr.typed:
        return "Scalar" if instr.results else "RecordEvent"
    made = ["Scalar" if result.kind is Kind.SCALAR else _KINDS[result.kind] for result in instr.returned]
    if len(made) > 1:  # ``mask, left = pto.plt_b32(left)``, where left was a Python number
        return f"tuple[{', '.join('Any' if kind == 'Scalar' else kind for kind in made)}]"
    return made[0] if made else "None"


def main(args: list[str]) -> int:
    """Write or compare. Returns the exit status."""
    text = stub()
    if "--check" in args:
        same = STUB.exists() and STUB.read_text(encoding="utf-8") == text
        print(f"{STUB.name}: {'up to date' if same else 'not up to date; run python tools/stubs.py'}")
        return 0 if same else 1
    STUB.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
