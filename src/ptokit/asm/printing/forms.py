"""Generic form, the manual's sync form, and how an instruction is written in each (assembly 2, 5).

Other tools that read MLIR take it without knowing the dialect. Attributes that an operation declares are properties,
further ones stand in the dictionary. Terminators that own forms leave out are written.

| level 2 | sync form |
|---|---|
| ``pto.tadd ins(%a, %b : T, T) outs(%d : T)`` | ``tadd %d, %a, %b : (T, T, T)`` |
| the same, where it is the first to use ``%d = pto.alloc_tile : T`` | ``%d = tadd %a, %b : (T, T) -> T`` |
| a load of ``%v = pto.partition_view %g, ..``, as large as %t | ``%t = tload %g[%i, %j] : (G, index, index) -> T`` |
| ``%u = pto.tassign %t, %a : T -> T``, the only use of %t | ``tassign %t, %a : T, i64``; %t names the result |
| ``pto.tsync ins(%a, %b : T, T)`` | ``tsync %a, %b : T, T`` |

Operations with a text of their own keep it. An instruction that writes something other than tiles and memory is
written with ``ins`` and ``outs``, and so is one whose statement would be read as something else.

They are made by the printers. ``!tile``, ``!view`` and so on name types, as aliases in a text do. What may be
missing is left out, but for attributes of a dictionary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from itertools import groupby
from typing import Any

from ptokit.ir import Block, Function, Module, Op, Part, Value
from ptokit.ir.control import CONTROL
from ptokit.ir.facts import constant_of, instr_of
from ptokit.isa.table import BY_TEXT, Attr, Instr, Kind, Operand, Role
from ptokit.types.values import FunctionType, MemRef, Opaque, PartitionView, TensorView, Type

from ..forms.attributes import WORDS, attribute, quote
from ..forms.operands import DPS_WORDS, compile_form, first_source, operand_order
from ..forms.operations import SEGMENTS, Shape, shape_of
from .instructions import lacks_scratch, obstacle, print_dps, print_statement
from .printer import INDENT, FunctionPrinter, print_module
from .values import Copier, Names, ValueTile, head_of

# Generic form of a module: ``"name"(operands) <{properties}> ({regions}) {attributes} : type`` for all operations.


def print_generic(module: Module) -> str:
    """The module in generic form; reading it gives an equal module, and printing that the same text."""
    inside: list[str] = []
    for part, functions in groupby(module.functions, lambda f: f.part):
        lines = [line for function in functions for line in _GenericPrinter(function).print()]
        inside += lines if part is None else [INDENT + line for line in _module(part, lines)]
    return "\n".join(_module(module, inside)) + "\n"


def _module(module: Module | Part, inside: list[str]) -> list[str]:
    """The lines of a module around those of what stands in it."""
    properties = {"sym_name": quote(module.name)} if module.name else {}
    head = f'"builtin.module"() {_properties(properties)}({{'
    # a module has one block, also an empty one
    return [head, *(inside or ["^bb0:"]), f"}}){_dictionary(module.attrs)} : () -> ()"]


def _properties(written: dict[str, str]) -> str:
    """``<{key = value, ..}>`` with a blank after it; empty if there are none."""
    return "<{" + ", ".join(f"{key} = {value}" for key, value in written.items()) + "}> " if written else ""


def _dictionary(attrs: dict[str, Any]) -> str:
    """``{key = value, ..}`` with a blank in front; empty if there are none."""
    parts = [attribute(key, value) for key, value in attrs.items() if value is not None]
    return " {" + ", ".join(parts) + "}" if parts else ""


def _types(values: Sequence[Value]) -> tuple[Type, ...]:
    return tuple(v.type for v in values)


class _GenericPrinter:
    """Prints one function."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.names = Names(function)
        self.lines: list[str] = []

    def print(self) -> list[str]:
        f = self.function
        written = {
            "function_type": str(FunctionType(_types(f.params), tuple(f.results))),
            "sym_name": quote(f.name),
        }
        if f.visibility:
            written["sym_visibility"] = quote(f.visibility)
        for key, attrs in (("arg_attrs", f.param_attrs), ("res_attrs", f.result_attrs)):
            if any(attrs):
                written[key] = "[" + ", ".join(_dictionary(a).strip() or "{}" for a in attrs) + "]"
        self.lines.append(f'{INDENT}"func.func"() {_properties(written)}({{')
        if f.body is not None:
            self.region(f.body, 1, f.params)
        self.lines.append(f"{INDENT}}}){_dictionary(f.attrs)} : () -> ()")
        return self.lines

    def region(self, block: Block, depth: int, args: Sequence[Value], end: str = "") -> None:
        """The lines of a region between its braces, in an operation at `depth`."""
        self.names.enter()
        if block.more:
            self.names.announce(block)
        if args:
            shown = ", ".join(f"{self.names.define(a)}: {a.type}" for a in args)
            self.lines.append(f"{INDENT * depth}{self.names.label(block)}({shown}):")
        for part in block.blocks:
            if part is not block:
                self.lines.append(INDENT * depth + head_of(part, self.names))
            for op in part.ops:
                self.op(op, depth + 1)
        if end and CONTROL[end].implied and not block.more and not (block.ops and block.ops[-1].name == end):
            self.lines.append(f"{INDENT * (depth + 1)}{quote(end)}() : () -> ()")
        self.names.leave()

    def op(self, op: Op, depth: int) -> None:
        """One operation with its regions."""
        indent = INDENT * depth
        instr = BY_TEXT.get(op.name[4:]) if op.name.startswith("pto.") else None
        newer = BY_TEXT.get(instr.form.newest) if instr is not None else None
        if newer is not None and op.operands.keys() <= {o.name for o in newer.operands}:
            instr = newer
        shape = shape_of(op.name)
        regions = list(op.regions)
        if shape is not None:
            values, properties, rest = _structure(op, shape)
            regions += [Block()] * (shape.regions - len(regions))  # what may be missing is empty
        elif instr is not None:
            values, properties, rest = _instruction(op, instr)
        else:
            values, properties, rest = op.values, {}, op.attrs
        to = f"[{', '.join(map(self.names.label, op.successors))}]" if op.successors else ""
        name = op.name if instr is None else f"pto.{instr.shown}"
        head = f"{quote(name)}({', '.join(map(self.names, values))}){to} {_properties(properties)}"
        place = len(self.lines)
        self.lines.append("")  # the results are named after the regions, where they come into sight
        control = shape.control if shape is not None else None
        for k, region in enumerate(regions):
            if k:
                self.lines.append(indent + "}, {")
            end = control.end(k) if control is not None and k < len(op.regions) else ""
            self.region(region, depth, region.args, end)
        types = FunctionType(_types(values), _types(op.results))
        tail = f"{_dictionary(rest)} : {types}"
        first = indent + self.results(op.results) + head
        if regions:
            self.lines[place] = first + "({"
            self.lines.append(indent + "})" + tail)
        else:
            self.lines[place] = first.rstrip() + tail

    def results(self, results: list[Value]) -> str:
        """``%a, %b = ``; empty without results. Defines their names."""
        return self.names.results(results)


def _structure(op: Op, shape: Shape) -> tuple[list[Value], dict[str, str], dict[str, Any]]:
    """Operands, properties and other attributes of an operation outside the table."""
    values: list[Value] = []
    sizes: list[int] = []
    for name in shape.operands:
        group = op.group(name.removesuffix("*"))
        values += group
        sizes.append(len(group))
    properties = {key.name: key.show(op, op.attrs[name]) for name, key in shape.keys.items() if name in op.attrs}
    if shape.segments:
        properties[SEGMENTS] = f"array<i32: {', '.join(map(str, sizes))}>"
    return values, properties, {k: v for k, v in op.attrs.items() if k not in shape.keys}


def _instruction(op: Op, instr: Instr) -> tuple[list[Value], dict[str, str], dict[str, Any]]:
    """Operands, properties and other attributes of an instruction."""
    order = operand_order(instr)
    groups = [op.group(o.name) for o in order]
    values = [v for group in groups for v in group]
    placed = set[str]()
    if instr.form.syntax == "dps-either":
        placed.add("scalar_first")
        if op.attrs.get("scalar_first"):
            values[:2] = reversed(values[:2])
    declared = instr.text_attrs
    properties: dict[str, str] = {}
    for name, value in op.attrs.items():
        if name in declared and name not in placed and value is not None:
            key, _, text = attribute(name, value, declared[name]).partition(" = ")
            properties[key] = text
    if sum(o.optional or o.variadic for o in order) > 1:
        properties[SEGMENTS] = f"array<i32: {', '.join(str(len(g)) for g in groups)}>"
    return values, properties, {k: v for k, v in op.attrs.items() if k not in declared}


# The sync form: instructions without ``pto.``, tiles and parts of memory as the manual writes them (assembly 5).


TensorPart = tuple[Value, Sequence[Value]]
"""A tensor and the indices of a part of it."""


def print_sync(module: Module) -> str:
    """The module in the sync form."""
    plans: dict[str, _Plan] = {}
    functions = []
    for function in module.functions:
        copy = Copier(function).copy()
        plans[copy.name] = _Plan(copy)
        functions.append(copy)
    return print_module(replace(module, functions=functions), lambda f: _SyncPrinter(f, plans[f.name]))


class _Plan:
    """What is folded into the statements of a function: allocations, parts of memory, assignments of addresses."""

    def __init__(self, function: Function) -> None:
        self.users: dict[Value, list[Op]] = {}
        self.results: dict[Op, Value] = {}  # instructions that name a tile they are the first to use
        self.parts: dict[Value, TensorPart] = {}  # partitions that stand in the statement that uses them
        self.moved: set[Op] = set()  # operations that are not printed by themselves
        self.supplied: dict[Op, str] = {}  # operands that reading supplies again
        self.assigned: dict[Value, Value] = {}  # results of tassign by what they are named after
        if function.body is not None:
            for op in function.body.walk():
                for value in op.values:
                    self.users.setdefault(value, []).append(op)
            self._region(function.body)
            self._constants(function.body)

    def _constants(self, body: Block) -> None:
        """Constants that say no more than how large a part is go with it."""
        needed: set[Value] = set()
        for op in body.walk():
            if op in self.moved:
                needed.update(v for name in ("source", "offsets") for v in op.group(name))
            else:
                needed.update(op.values)
        for op in body.walk():
            if op.name == "arith.constant" and op.result in self.users and op.result not in needed:
                self.moved.add(op)

    def _region(self, region: Block) -> None:
        for block in region.blocks:
            self._block(block)

    def _block(self, block: Block) -> None:
        order = {op: k for k, op in enumerate(block.ops)}
        for op in block.ops:
            if op.name == "pto.alloc_tile":
                self._allocation(op, order)
            elif op.name == "pto.partition_view":
                self._partition(op, order)
            elif op.name == "pto.tassign" and len(self.users[op["tile"]]) == 1 and not op.attrs:
                self.assigned[op.result] = op["tile"]
            elif (instr := instr_of(op)) is not None and instr.form.syntax in DPS_WORDS:
                self._scratch(op, instr)
            for region in op.regions:
                self._region(region)

    def _allocation(self, op: Op, order: dict[Op, int]) -> None:
        """Fold an allocation into the first instruction that uses the tile, if that writes it."""
        tile, users = op.result, self.users.get(op.result, [])
        spec = tile.type.spec if isinstance(tile.type, ValueTile) else None
        first = users[0] if users else None
        instr = instr_of(first) if first is not None else None
        if (
            op.get("addr") is not None
            or spec is None
            or spec.dynamic
            or op.attrs
            or first not in order
            or instr is None
        ):
            return
        written = [o for o in instr.outs if first.get(o.name) is not None]
        plain = [o.role for o in written] == [Role.OUT] and written[0].kind is Kind.TILE
        plain = plain and instr.form.syntax in DPS_WORDS and _states(first, instr, destinations=False)
        if plain and first.values.count(tile) == 1 and first.get(written[0].name) is tile and first.get("acc") is None:
            self.results[first] = tile
            self.moved.add(op)

    def _scratch(self, op: Op, instr: Instr) -> None:
        """Leave out a scratch tile that is there for one instruction only and that reading supplies (rule 5)."""
        if instr.supplied is None or obstacle(op, instr, destinations=True):
            return
        scratch, source = op.get(instr.supplied.name), first_source(instr, op.operands)
        owner = scratch.owner if scratch is not None else None
        if not isinstance(owner, Op) or owner.name != "pto.alloc_tile" or owner.operands or owner.attrs:
            return
        if source is not None and scratch is not None and source.type == scratch.type and self.users[scratch] == [op]:
            self.supplied[op] = instr.supplied.name
            self.moved.add(owner)

    def _partition(self, op: Op, order: dict[Op, int]) -> None:
        """Fold a partition into the only statement that uses it, if that would take the same part."""
        users = self.users.get(op.result, [])
        if len(users) != 1 or users[0] not in order or op.attrs:
            return
        user = users[0]
        instr = instr_of(user)
        if (
            instr is None
            or instr.form.syntax not in DPS_WORDS
            or any(o.variadic or Kind.TILE in o.also for o in instr.operands)
        ):
            return
        if not _states(user, instr, destinations=True):
            return
        tile = user.get("dst") if user.get("src") is op.result else user.get("src")
        view = op["source"].type
        spec = tile.type.spec if tile is not None and isinstance(tile.type, ValueTile) else None
        if spec is None or spec.dynamic or not isinstance(view, (TensorView, MemRef)):
            return
        valid = [spec.valid_row, spec.valid_col]
        rank = len(view.dims)
        sizes = [constant_of(v) for v in op.group("sizes")]
        wanted = [*([1] * (rank - 2)), *valid[-min(rank, 2) :]]
        if (
            sizes == wanted
            and (rank > 1 or valid[0] == 1)
            and op.result.type == PartitionView(tuple(wanted), view.dtype)
        ):
            self.parts[op.result] = (op["source"], op.group("offsets"))
            self.moved.add(op)


def _states(op: Op, instr: Instr, *, destinations: bool) -> bool:
    """True if a statement says what the operation is, no more and no less."""
    return not lacks_scratch(op, instr) and not obstacle(op, instr, destinations=destinations)


class _SyncPrinter(FunctionPrinter):
    """Prints one function."""

    def __init__(self, function: Function, plan: _Plan) -> None:
        super().__init__(function)
        self.plan = plan

    def op(self, op: Op, depth: int) -> None:
        if op in self.plan.moved:
            return
        if op.name == "pto.tassign" and op.result in self.plan.assigned:
            tile, addr = op["tile"], op["addr"]
            text = f"tassign {self.names(tile)}, {self.names(addr)} : {tile.type}, {addr.type}"
            self.names.share(op.result, tile)
            self.lines.append(INDENT * depth + text)
            return
        super().op(op, depth)

    def instruction(self, op: Op, instr: Instr) -> str:
        name = instr.shown
        if instr.text == "tsync" and op.values and not op.attrs:
            types = ", ".join(str(v.type) for v in op.values)
            return f"{name} {', '.join(map(self.names, op.values))} : {types}"
        if instr.form.syntax not in DPS_WORDS:
            return super().instruction(op, instr)
        tile = self.plan.results.get(op)
        others = [o for o in instr.outs if o.kind not in (Kind.TILE, Kind.VIEW) and op.get(o.name) is not None]
        if others or not instr.ins or not (tile is not None or _states(op, instr, destinations=True)):
            return name + print_dps(op, instr, self.names)
        if op in self.plan.supplied:
            op = replace(op, operands={k: v for k, v in op.operands.items() if k != self.plan.supplied[op]})
        if tile is None:
            return name + print_statement(op, instr, self.names, destinations=True, parts=self.plan.parts)
        text = name + print_statement(op, instr, self.names, results=[tile], parts=self.plan.parts)
        return self.results([tile]) + text


# How an instruction is written, in every form: lines with the names of the table, for its reference page.


PLACEHOLDERS = {
    Kind.TILE: "!tile",
    Kind.VIEW: "!view",
    Kind.PTR: "!ptr",
    Kind.RECORD: "vector<4xi16>",
    Kind.VREG: "!vreg",
    Kind.MASK: "!mask",
    Kind.ALIGN: "!pto.align",
    Kind.GROUP: "!pto.group",
    Kind.PIPE: "!pto.pipe",
    Kind.VECTOR: "!vector",
    Kind.LANES: "!lanes",
    Kind.LOGICAL: "!vector",
    Kind.PART: "!register",
}
"""The type that an operand is shown with; a number has the element type f32 where the table tells no other."""


def text_forms(instr: Instr) -> dict[str, str]:
    """The line of an instruction by form: ``level 2``, ``level 1``, ``sync`` and ``generic``, those that it has."""
    op = _operation(instr)
    printer = FunctionPrinter(Function("f", []))
    name = printer.names
    for value in (*op.values, *op.results):
        name.define(value)
    results = f"{', '.join(map(name, op.results))} = " if op.results else ""
    found = {"level 2": results + printer.instruction(op, instr)}
    if instr.form.syntax in DPS_WORDS and not op.results:
        made = [v for o in instr.outs if o.role is Role.OUT and o.kind is Kind.TILE for v in op.group(o.name)]
        whole = print_statement(op, instr, name, results=made)
        found["level 1"] = (f"{', '.join(map(name, made))} = " if made else "") + f"pto.{instr.shown}{whole}"
        found["sync"] = instr.shown + print_statement(op, instr, name, destinations=True)
    found["generic"] = _generic(op)
    return found


def _generic(op: Op) -> str:
    function = Function("f", [], body=Block())
    assert function.body is not None
    function.params = function.body.args = op.values
    function.body.add(op)
    lines = print_generic(Module([function])).splitlines()
    return next(line.strip() for line in lines if '"pto.' in line)


def _operation(instr: Instr) -> Op:
    """An operation with what the instruction needs."""
    chosen = instr.chosen(instr.form.choices[0], instr.operands) if instr.form.choices else instr.operands
    operands: dict[str, Any] = {}
    for operand in chosen:
        type = Opaque(_type(operand, instr))
        if operand.variadic and not operand.optional:
            operands[operand.name] = [Value(type, f"{operand.name}{k}") for k in range(max(2, operand.variadic))]
        elif not operand.optional or operand.form.offset:
            operands[operand.name] = Value(type, operand.name)
    kinds = [a.kind for a in instr.attrs]
    left_out = _in_groups(instr)
    attrs = {a.name: _example(a, kinds[:k].count(a.kind)) for k, a in enumerate(instr.attrs) if a.name not in left_out}
    results = [Value(Opaque(_type(o, instr)), o.name) for o in instr.returned]
    missing = instr.results - len(results)
    results += [Value(Opaque("!result"), f"result{k}" if missing > 1 else "result") for k in range(missing)]
    return Op(f"pto.{instr.text}", operands, attrs, results)


def _in_groups(instr: Instr) -> set[str]:
    """Attributes that stand in parts of the written form that may be missing."""
    forms = instr.form.grammar
    groups = [e for e in compile_form(forms[0]) if e.kind in "?&"] if forms else []
    out: set[str] = set()
    while groups:
        group = groups.pop()
        inside = group.group
        if group.flag != "!":
            out.update(e.name for e in inside if e.name)
        groups += [e for e in inside if e.kind in "?&"]
    return out


def _type(operand: Operand, instr: Instr) -> str:
    if operand.kind is Kind.PTR and operand.space:
        return f"!pto.ptr<f32, {operand.space}>"
    if operand.kind is Kind.SCALAR and not operand.type:
        elements = any(o.kind in (Kind.TILE, Kind.VREG, Kind.PTR) for o in (*instr.operands, *instr.returned))
        return "f32" if elements else "!type"
    return PLACEHOLDERS.get(operand.kind, operand.type)


def _example(attr: Attr, number: int) -> Any:
    """A value of an attribute; ``number`` tells apart those of one kind."""
    if attr.default is not None:
        return attr.default
    if issubclass(attr.kind, Enum):
        return list(attr.kind)[number]
    if attr.kind is str:
        return next(iter(attr.words or sorted(WORDS.get(attr.mnemonic, ()))), attr.name)
    return {bool: True, int: 0, float: 0.0, list: [0, 0]}.get(attr.kind)
