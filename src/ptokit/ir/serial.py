"""A module as a string that another process reads back, with all that it holds, which no form of text has to spell.

It is JSON: tables of files, types, values, blocks, operations, parts and functions, which name each other by number,
so that no depth of regions nests it. The same module gives the same string in every process. `Module.written` stays
after, since it reads the text of the file.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from importlib import import_module
from typing import Any

from ptokit.diagnostics import Location
from ptokit.types.dtypes import DType, dtype

from .core import Block, Function, Module, Op, Part, Value

FORMAT = 2
"""Of the string; another one is refused."""

_PLAIN = (type(None), bool, int, str)


def dumps(module: Module, name: Callable[[str], str] = str) -> str:
    """The module as a string, with its files called as ``name`` says.

    Raises `TypeError` for an attribute that is neither a plain value nor one of ptokit's.
    """
    return _Writer(module, name).text()


def loads(text: str) -> Module:
    """The module that `dumps` wrote. Raises `ValueError` for a string of another version."""
    given = json.loads(text)
    found = given.get("format") if isinstance(given, dict) else None
    if found != FORMAT:
        raise ValueError(f"a program of format {found}, not {FORMAT}: both processes need the same version of ptokit")
    return _Reader(given).module()


class _Writer:
    def __init__(self, module: Module, name: Callable[[str], str]) -> None:
        self.module, self._name = module, name
        self.files: dict[str | None, int] = {}
        self.types: dict[str, int] = {}
        self._type_numbers: dict[int, int] = {}  # by identity: equal types may be written differently
        self.blocks = list(_blocks(module))
        self._blocks = {block: k for k, block in enumerate(self.blocks)}
        self.ops = [op for block in self.blocks for op in block.ops]
        self._ops = {op: k for k, op in enumerate(self.ops)}
        self.parts = list(dict.fromkeys(f.part for f in module.functions if f.part is not None))
        defined = [value for function in module.functions for value in function.params]
        defined += [value for block in self.blocks for value in block.args]
        defined += [value for op in self.ops for value in op.results]
        self._values = {value: k for k, value in enumerate(dict.fromkeys(defined))}

    def text(self) -> str:
        module = self.module
        file = module.file and self._name(module.file)
        given = {
            "format": FORMAT,
            "values": [self._value(value) for value in self._values],
            "ops": [self._op(op) for op in self.ops],
            "blocks": [self._block(block) for block in self.blocks],
            "parts": [[part.name, _attrs(part.attrs)] for part in self.parts],
            "functions": [self._function(function) for function in module.functions],
            "module": [_attrs(module.attrs), module.name, file, module.ssa, module.text],
        }
        given |= {"types": [json.loads(text) for text in self.types]}
        given["files"] = [file and self._name(file) for file in self.files]
        return json.dumps(given, separators=(",", ":"))

    def _place(self, place: Location) -> list[int]:
        return [self.files.setdefault(place.file, len(self.files)), *place[1:]]

    def _type(self, type: Any) -> int:
        number = self._type_numbers.get(id(type))
        if number is None:
            number = self.types.setdefault(json.dumps(_encoded(type)), len(self.types))
            self._type_numbers[id(type)] = number
        return number

    def _value(self, value: Value) -> list[Any]:
        owner = self._blocks.get(value.owner) if isinstance(value.owner, Block) else None
        return [self._type(value.type), value.name, self._place(value.location), owner, value.called]

    def _op(self, op: Op) -> list[Any]:
        operands = {name: self._operand(value) for name, value in op.operands.items()}
        results = [self._values[value] for value in op.results]
        inner, after = ([self._blocks[block] for block in some] for some in (op.regions, op.successors))
        arguments = None if op.arguments is None else dict(op.arguments)
        return [op.name, operands, _attrs(op.attrs), results, inner, after, self._place(op.location), arguments]

    def _operand(self, value: Value | list[Value] | None) -> Any:
        if isinstance(value, list):
            return [self._values[part] for part in value]
        return None if value is None else self._values[value]

    def _block(self, block: Block) -> list[Any]:
        args = [self._values[value] for value in block.args]
        return [args, [self._ops[op] for op in block.ops], [self._blocks[more] for more in block.more], block.label]

    def _function(self, f: Function) -> list[Any]:
        return [
            f.name,
            [self._values[value] for value in f.params],
            [self._type(type) for type in f.results],
            _attrs(f.attrs),
            None if f.body is None else self._blocks[f.body],
            f.visibility,
            [_attrs(attrs) for attrs in f.param_attrs],
            self._place(f.location),
            _encoded(f.module_kind),
            [_attrs(attrs) for attrs in f.result_attrs],
            None if f.part is None else self.parts.index(f.part),
        ]


class _Reader:
    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given
        self.files = given["files"]
        self.types = [_decoded(type) for type in given["types"]]
        self.blocks = [Block() for _ in given["blocks"]]
        self.values = [self._value(*entry) for entry in given["values"]]
        self.ops = [self._op(*entry) for entry in given["ops"]]
        for block, entry in zip(self.blocks, given["blocks"]):
            self._fill(block, *entry)
        self.parts = [Part(name, _read_attrs(attrs)) for name, attrs in given["parts"]]

    def module(self) -> Module:
        attrs, name, file, ssa, text = self.given["module"]
        functions = [self._function(*entry) for entry in self.given["functions"]]
        return Module(functions, _read_attrs(attrs), name, file, ssa, text)

    def _place(self, place: list[int]) -> Location:
        return Location(self.files[place[0]], *place[1:])

    def _value(self, type: int, name: str, place: list[int], owner: int | None, called: str | None) -> Value:
        block = None if owner is None else self.blocks[owner]
        return Value(self.types[type], name, block, self._place(place), called)

    def _op(
        self,
        name: str,
        operands: dict[str, Any],
        attrs: dict[str, Any],
        results: list[int],
        inner: list[int],
        after: list[int],
        place: list[int],
        arguments: dict[str, Any] | None,
    ) -> Op:
        return Op(
            name,
            {key: self._operand(value) for key, value in operands.items()},
            _read_attrs(attrs),
            [self.values[number] for number in results],
            [self.blocks[number] for number in inner],
            self._place(place),
            [self.blocks[number] for number in after],
            arguments,
        )

    def _operand(self, value: Any) -> Value | list[Value] | None:
        if isinstance(value, list):
            return [self.values[part] for part in value]
        return None if value is None else self.values[value]

    def _fill(self, block: Block, args: list[int], ops: list[int], more: list[int], label: str) -> None:
        block.args = [self.values[number] for number in args]
        block.ops = [self.ops[number] for number in ops]
        block.more = [self.blocks[number] for number in more]
        block.label = label

    def _function(
        self,
        name: str,
        params: list[int],
        results: list[int],
        attrs: dict[str, Any],
        body: int | None,
        visibility: str,
        param_attrs: list[dict[str, Any]],
        place: list[int],
        module_kind: Any,
        result_attrs: list[dict[str, Any]],
        part: int | None,
    ) -> Function:
        return Function(
            name,
            [self.values[number] for number in params],
            [self.types[number] for number in results],
            _read_attrs(attrs),
            None if body is None else self.blocks[body],
            visibility,
            [_read_attrs(given) for given in param_attrs],
            self._place(place),
            _decoded(module_kind),
            [_read_attrs(given) for given in result_attrs],
            None if part is None else self.parts[part],
        )


def _blocks(module: Module) -> Iterator[Block]:
    """Every block, in the order of the text."""
    pending = [f.body for f in reversed(module.functions) if f.body is not None]
    while pending:
        block = pending.pop()
        yield block
        inner = [region for op in block.ops for region in op.regions]
        pending.extend(reversed([*inner, *block.more]))


def _attrs(attrs: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _encoded(value) for key, value in attrs.items()}


def _read_attrs(attrs: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _decoded(value) for key, value in attrs.items()}


def _encoded(value: Any) -> Any:
    """A value in terms of JSON, where an object has one key, which says of what kind it is."""
    if type(value) in _PLAIN:
        return value
    if type(value) is float:
        return {"float": struct.pack(">d", value).hex()}  # with the bits of a NaN
    if type(value) is list:
        return [_encoded(part) for part in value]
    if type(value) is dict:
        return {"dict": [[_encoded(key), _encoded(part)] for key, part in value.items()]}
    if type(value) is tuple:
        return {"tuple": [_encoded(part) for part in value]}
    if isinstance(value, DType):
        return {"element": value.name}
    if isinstance(value, Enum):
        return {"member": [_class_name(value), value.name]}
    if is_dataclass(value):
        return {"record": [_class_name(value), *(_encoded(getattr(value, f.name)) for f in fields(value))]}
    raise TypeError(f"{type(value).__name__} {value!r} cannot be sent to another process")


def _decoded(given: Any) -> Any:
    if isinstance(given, list):
        return [_decoded(part) for part in given]
    if not isinstance(given, dict):
        return given
    ((kind, inside),) = given.items()
    match kind:
        case "float":
            return struct.unpack(">d", bytes.fromhex(inside))[0]
        case "dict":
            return {_decoded(key): _decoded(part) for key, part in inside}
        case "tuple":
            return tuple(_decoded(part) for part in inside)
        case "element":
            return dtype(inside)
        case "member":
            return _class(inside[0])[inside[1]]
    return _class(inside[0])(*(_decoded(part) for part in inside[1:]))


def _class_name(value: Any) -> str:
    name = f"{type(value).__module__}:{type(value).__qualname__}"
    if not name.startswith("ptokit."):
        raise TypeError(f"{name} {value!r} cannot be sent to another process")
    return name


def _class(name: str) -> Any:
    """A record or enumeration of ptokit. Raises `ValueError` for other names."""
    module, _, path = name.partition(":")
    found = getattr(import_module(module), path, None) if module.startswith("ptokit.") else None
    if isinstance(found, type) and (is_dataclass(found) or issubclass(found, Enum)):
        return found
    raise ValueError(f"{name} is no type of ptokit")
