"""IR → Python source: straight-line code that calls tile kernels.

Each IR operation becomes one line, so a line number of the generated code names the operation that failed, and the
loop variables can be read from the frame. Scalars are Python numbers; those that depend on the block index may be
`ptokit.run.lanes` values and go through functions that know them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.ir.core import Block, Function, Module, Op, Value
from ptokit.ir.facts import Facts, instr_of
from ptokit.ir.launch import SECTIONS, Launch
from ptokit.isa.simt.meaning import OfThreads
from ptokit.isa.site import Site
from ptokit.isa.table import Instr, Kind
from ptokit.isa.unknown import known
from ptokit.targets import Target
from ptokit.types.tensor import infer_layout
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import MemRef, PartitionView, Scalar, TensorView, Type

from . import aggregates, arith, casts
from .branches import assertion, execute_region, graph, index_switch, while_loop
from .calls import bind
from .carried_tiles import carried_tiles
from .effects import Effects
from .generated import Generated, working_bytes
from .lockstep import agreed
from .loop_batching import countdowns
from .loop_batching_code import write_all_iterations
from .scalars import FLOAT_TYPES, constant
from .simt import launch as threads


def generate(
    module: Module,
    target: Target,
    effects: Effects,
    launch: Launch,
    *,
    extended: bool,
    writer: type[FunctionWriter] | None = None,
) -> Generated:
    """Python source for every function of the module; one becomes ``f_NUMBER(m, *params)``.

    Where cores may wait for each other these are generators that stop at a wait. ``writer`` writes the functions; a
    subclass of `FunctionWriter` can have every operation observed.
    """
    chosen = FunctionWriter if writer is None else writer
    out = Generated(launch, module)
    counter = itertools.count()
    for function in module.functions:
        if function.body is not None and not out.bodies.is_entry(function.name):
            chosen(function, target, effects, out, counter, extended, module.text).write()
    return out


class FunctionWriter:
    """Writes one function."""

    at_once = True  # loops whose iterations are independent may be done at once

    def __init__(
        self,
        function: Function,
        target: Target,
        effects: Effects,
        out: Generated,
        counter: itertools.count[int],
        extended: bool,
        text: bool,
    ) -> None:
        self.function, self.target, self.out, self.counter = function, target, out, counter
        self.extended, self.text = extended, text
        self.facts = Facts(function)
        self.varying = effects.varying
        self.carried_tiles = carried_tiles(function)
        self.names: dict[Value, str] = {}
        self.machine = "m"  # what instructions run on
        self.around: frozenset[Value] = frozenset()  # values from outside a loop that is done at once
        self.depth = 0

    # --- lines and names -----------------------------------------------------------------------------------------

    def line(self, text: str, op: Op | None = None) -> None:
        self.out.lines.append("    " * self.depth + text)
        if op is not None:
            self.out.ops[len(self.out.lines)] = op

    def fresh(self, prefix: str = "v") -> str:
        return f"{prefix}{next(self.counter)}"

    def const(self, value: Any, prefix: str = "k") -> str:
        """Name of an object the code refers to."""
        name = self.fresh(prefix)
        self.out.names[name] = value
        return name

    def bind(self, value: Value, prefix: str = "v") -> str:
        name = self.names[value] = self.fresh(prefix)
        return name

    def ref(self, value: Value | None) -> str:
        """Expression for a value; constants are written out."""
        if value is None:
            return "None"
        number = self.facts.constants.get(value)
        if isinstance(number, (bool, int)):
            return repr(number) if number >= 0 else f"({number})"
        if isinstance(number, float):
            return self._float(number, value.type)
        return self.names[value]

    def _float(self, number: float, type: Type) -> str:
        if math.isnan(number):
            return self.const(number)  # with its bit pattern
        if isinstance(type, Scalar) and type.name in FLOAT_TYPES:
            number = constant(number, type.name)
        return repr(number) if math.isfinite(number) else f"float('{number}')"

    def uniform(self, value: Value) -> str:
        """Expression for a value all blocks must agree on."""
        return f"uniform({self.ref(value)})" if value in self.varying else self.ref(value)

    def truth(self, condition: Value) -> str:
        """Expression for a condition all blocks must agree on."""
        return f"m.truth({self.ref(condition)})" if condition in self.varying else self.ref(condition)

    # --- structure -----------------------------------------------------------------------------------------------

    def write(self) -> None:
        function = self.function
        params = ", ".join(["m", *(self.bind(p, "a") for p in function.params)])
        self.line(f"def {self.out.function(function.name)}({params}):")
        self.depth += 1
        assert function.body is not None
        for param in function.params:
            if isinstance(param.type, MemRef | TensorView | PartitionView):
                self.line(f"{self.names[param]} = as_view({self.names[param]}, View)")
        if function in self.out.launch.whole:
            self.line("if m.subblock: return")
        for op in function.body.walk():
            if op.name == "pto.alloc_tile":
                self._fixed_tile(op)
        if function.body.more:
            graph(self, function.body, [])
        else:
            self.block(function.body)
        self.line("return")
        if self.out.launch.waits:
            self.line("yield")  # makes it a generator
        self.depth -= 1

    def block(self, block: Block) -> None:
        before = len(self.out.lines)
        for op in block.ops:
            self.op(op)
        if len(self.out.lines) == before:
            self.line("pass")

    def op(self, op: Op) -> None:
        kind = self.out.launch.only.get(op)
        if kind is None:
            self.operation(op)
            return
        self.line(f"if m.{kind}:")
        self.depth += 1
        self.operation(op)
        self.depth -= 1
        missing = [self.names[r] for r in op.results if r in self.names]
        if missing:
            self.line(f"else: {' = '.join(missing)} = 0")

    def operation(self, op: Op) -> None:
        method = _METHODS.get(op.name)
        if method is not None:
            method(self, op)
        elif op.name.startswith("arith."):
            self.arith(op)
        else:
            self.instruction(op)

    # --- arith ---------------------------------------------------------------------------------------------------

    def arith(self, op: Op) -> None:
        args = [self.ref(v) for v in op.values]
        if len(op.results) > 1:
            texts = [f"{self.const(f)}({', '.join(args)})" for f in arith.extended(op)]
            self.assign([self.bind(r) for r in op.results], texts, op)
            return
        if op.result in self.facts.constants:
            return
        many = op.result in self.varying or self.machine != "m"  # numbers of several blocks or iterations
        text = arith.inline(op, args, varying=many)
        if text is None:
            text = f"{self.const(arith.function(op))}({', '.join(args)})"
        self.line(f"{self.bind(op.result)} = {text}", op)

    # --- control flow --------------------------------------------------------------------------------------------

    def assign(self, targets: list[str], values: list[str], op: Op) -> None:
        if targets:
            self.line(f"{', '.join(targets)} = {', '.join(values)}", op)

    def scf_for(self, op: Op) -> None:
        body = op.regions[0]
        iv, carried = body.args[0], body.args[1:]
        names = [self.bind(v) for v in carried]
        self.assign(names, [self.ref(v) for v in op.group("init")], op)
        bounds = [op["lower"], op["upper"], op["step"]]
        refs = ", ".join(self.ref(v) for v in bounds)
        fixed_step = self.facts.constants.get(bounds[2])
        counted = not any(v in self.varying for v in bounds) and isinstance(fixed_step, int) and fixed_step > 0
        taken = countdowns(op, self.varying) if counted and self.at_once else None
        turns = f"range({refs})" if counted else f"m.loop({refs})"
        if taken is not None:
            turns = write_all_iterations(self, op, names, taken, refs)
        name = self.bind(iv, "i")
        self.out.loops[name] = iv.name or name
        for arg, carrier in zip(carried, names):
            self.names[arg] = carrier
        self.line(f"for {name} in {turns}:", op)
        self.region(body, names)
        if taken is not None:
            self.depth -= 2
        for result, value in zip(op.results, names):
            self.names[result] = value

    def region(self, body: Block, targets: list[str]) -> None:
        """A region whose `scf.yield` assigns to `targets`."""
        self.depth += 1
        before = len(self.out.lines)
        for inner in body.ops:
            if inner.name == "scf.yield":
                self.assign(targets, [self.ref(v) for v in inner.group("values")], inner)
            else:
                self.op(inner)
        if len(self.out.lines) == before:
            self.line("pass")
        self.depth -= 1

    def scf_if(self, op: Op) -> None:
        names = [self.bind(r) for r in op.results]
        self.line(f"if {self.truth(op['condition'])}:", op)
        self.region(op.regions[0], names)
        if len(op.regions) > 1:
            self.line("else:")
            self.region(op.regions[1], names)

    def turn(self) -> None:
        """At the start of every turn of the loop that a region of several blocks is."""

    def turned(self) -> None:
        """Behind that loop."""

    def call(self, op: Op) -> None:
        args = ", ".join(["m", *(self.ref(v) for v in op.group("args"))])
        targets = ", ".join(self.bind(r) for r in op.results)
        text = f"{'yield from ' if self.out.launch.waits else ''}{self.out.function(op.attrs['callee'])}({args})"
        self.line(f"{targets} = {text}" if targets else text, op)

    def ret(self, op: Op) -> None:
        self.line(f"return {', '.join(self.ref(v) for v in op.group('values'))}", op)

    def section(self, op: Op) -> None:
        self.line(f"if m.{SECTIONS[op.name]}{' and not m.subblock' if op in self.out.launch.whole else ''}:", op)
        self.region(op.regions[0], [])

    def scope(self, op: Op) -> None:
        """A vector scope or section: what it holds, in line."""
        (body,) = op.regions
        self.line("m.registers.pop('AR', None)", op)
        for arg, value in zip(body.args, op.group("captured")):
            self.names[arg] = self.ref(value)
        for inner in body.ops:
            self.op(inner)

    # --- views ---------------------------------------------------------------------------------------------------

    def make_tensor_view(self, op: Op) -> None:
        view = op.result.type
        assert isinstance(view, TensorView)
        shape, strides = op.group("shape"), op.group("strides")
        dims = _tuple([self.uniform(v) for v in shape])
        steps = _tuple([self.uniform(v) for v in strides])
        layout = op.attrs.get("layout")
        dtype = self.const(view.dtype, "d")
        pointer = self.ref(op["ptr"])
        if layout is None:
            chosen = f"{self.const(infer_layout)}({dtype}, {dims}, {steps})"
        else:
            chosen = self.const(layout)
        name = self.bind(op.result)
        self.line(f"{name} = View({pointer}.buffer, {pointer}.offset, {dims}, {steps}, {dtype}, {chosen})", op)

    def partition_view(self, op: Op) -> None:
        source, offsets, sizes = op["source"], op.group("offsets"), op.group("sizes")
        name, parent = self.bind(op.result), self.ref(op["source"])
        dims = _tuple([self.uniform(v) for v in sizes])
        if any(v in self.varying for v in offsets) or source in self.varying:
            where = _tuple([self.ref(v) for v in offsets])
            self.line(f"{name} = {parent}.partition({where}, {dims})", op)
            return
        # All blocks agree on the offsets: bounds and start address in line.
        axes = range(len(offsets))
        refs = [self.ref(v) for v in offsets]
        tests = " and ".join(f"0 <= {refs[a]} <= d[{a}] - {self.ref(sizes[a])}" for a in axes)
        terms = " + ".join(["p.offset", *(f"{refs[a]} * s[{a}]" for a in axes if refs[a] != "0")])
        self.line(f"p = {parent}; d = p.dims; s = p.strides", op)
        self.line(f"if not ({tests}): p.partition({_tuple(refs)}, {dims})", op)
        self.line(f"{name} = View(p.buffer, {terms}, {dims}, s, p.dtype, p.stated_layout)", op)

    def view_dim(self, op: Op) -> None:
        self.line(f"{self.bind(op.result)} = {self.ref(op['source'])}.dims[{self.uniform(op['index'])}]", op)

    # --- tiles ---------------------------------------------------------------------------------------------------

    def _fixed_tile(self, op: Op) -> None:
        """A tile whose address and valid region are fixed is made once, at the top of the function."""
        spec = op.result.type
        assert isinstance(spec, TileSpec)
        addr = self.facts.size(op.get("addr"))
        if spec.dynamic or op.result in self.carried_tiles or (op.get("addr") is not None and not known(addr)):
            return
        self.line(f"{self._storage(op, spec)}", op)
        storage = self.out.lines[-1].split(" = ")[0].strip()
        name = self.bind(op.result, "t")
        where = addr if op.get("addr") is not None else None
        self.line(
            f"{name} = Tile({storage}, {self.const(spec)}, {spec.valid_row}, {spec.valid_col}, "
            f"{op.result.name!r}, {where!r})",
            op,
        )

    def storage_name(self, spec: TileSpec) -> str:
        """A name for the storage of one more tile."""
        self.out.footprint += working_bytes(spec)
        return self.fresh("s")

    def _storage(self, op: Op, spec: TileSpec) -> str:
        name = self.storage_name(spec)
        if op.result in self.carried_tiles and op.get("addr") is None:
            return f"{name} = m.turn({self.const(spec)})"
        if op.get("addr") is None:
            return f"{name} = m.site({next(self.counter)}, {self.const(spec)})"
        return f"{name} = m.at({self.ref(op.get('addr'))}, {self.const(spec)})"

    def alloc_tile(self, op: Op) -> None:
        if op.result in self.names:
            return
        spec = op.result.type
        assert isinstance(spec, TileSpec)
        text = self._storage(op, spec)
        storage = text.split(" = ")[0]
        self.line(text, op)
        rows = self.ref(op.get("valid_row")) if spec.valid_row == DYNAMIC else str(spec.valid_row)
        cols = self.ref(op.get("valid_col")) if spec.valid_col == DYNAMIC else str(spec.valid_col)
        addr = f"uniform({self.ref(op.get('addr'))})" if op.get("addr") is not None else "None"
        name = self.bind(op.result, "t")
        self.line(f"{name} = m.tile({storage}, {self.const(spec)}, {rows}, {cols}, {op.result.name!r}, {addr})", op)

    def declare_tile(self, op: Op) -> None:
        spec = op.result.type
        assert isinstance(spec, TileSpec)
        storage = f"m.site({next(self.counter)}, {self.const(spec)})"
        vr = spec.rows if spec.valid_row == DYNAMIC else spec.valid_row
        vc = spec.cols if spec.valid_col == DYNAMIC else spec.valid_col
        name = self.bind(op.result, "t")
        self.line(f"{name} = Tile({storage}, {self.const(spec)}, {vr}, {vc}, {op.result.name!r})", op)

    def tassign(self, op: Op) -> None:
        self.line(f"{self.bind(op.result, 't')} = m.rebind({self.ref(op['tile'])}, {self.ref(op['addr'])})", op)

    def treshape(self, op: Op) -> None:
        spec = self.const(op.result.type)
        name = self.bind(op.result, "t")
        self.line(f"{name} = m.alias({self.ref(op['src'])}, {spec}, {op.result.name!r})", op)

    def subset(self, op: Op) -> None:
        offsets = _tuple([self.ref(v) for v in op.group("offsets")])
        valid = [self.ref(v) if (v := op.get(name)) is not None else "None" for name in ("valid_row", "valid_col")]
        stated = f", {_tuple(valid)}" if valid != ["None", "None"] else ""
        spec, source = self.const(op.result.type), self.ref(op["source"])
        self.line(
            f"{self.bind(op.result, 't')} = m.window({source}, {offsets}, {spec}, {op.result.name!r}{stated})", op
        )

    def set_validshape(self, op: Op) -> None:
        rows, cols = self.ref(op["valid_row"]), self.ref(op["valid_col"])
        self.line(f"m.set_valid({self.ref(op['tile'])}, {rows}, {cols})", op)

    # --- scalars and queries -------------------------------------------------------------------------------------

    def _expression(self, template: str) -> Callable[[Op], None]:
        def emit(op: Op) -> None:
            args = {k: self.ref(v) for k, v in op.operands.items() if isinstance(v, Value)}
            text = template.format(**args)
            self.line(f"{', '.join(map(self.bind, op.results))} = {text}" if op.results else text, op)

        return emit

    # --- instructions --------------------------------------------------------------------------------------------

    def callee(self, op: Op, instr: Instr, site: Site) -> Callable[..., Any]:
        """``call(machine, *operands)`` that executes the instruction."""
        return bind(instr, site, op.attrs)

    def instruction(self, op: Op) -> None:
        instr = instr_of(op)
        if instr is None:
            message = f"{op.name} cannot be run yet"
            raise DiagnosticError(Diagnostic("TEXT-UNIMPLEMENTED", Severity.ERROR, message, op.location))
        if isinstance(instr.run, OfThreads):
            threads.write_single(self, op)
            return
        site = self.facts.site(op, self.target, extended=self.extended, text=self.text)
        assert site is not None
        if instr.moves is not None and known(moved := instr.moves(site)):
            self.out.footprint += moved
        args = []
        for operand in instr.operands:
            value = op.operands.get(operand.name)
            if operand.kind is Kind.RECORD:
                args.append("None")  # no operation of the text reads the counts
            elif isinstance(value, list):
                shown = self.uniform if operand.agreed else self.ref
                args.append("(" + "".join(f"{shown(v)}, " for v in value) + ")")
            elif value is not None and agreed(op, operand.name):
                args.append(self.uniform(value))
            elif operand.kind is Kind.SCALAR and value is not None and value in self.varying:
                args.append(f"{'column' if instr.typed else 'spread'}({self.ref(value)})")
            else:
                args.append(self.ref(value))
            if operand.kind is not Kind.PTR and isinstance(value, Value) and value in self.around:
                args[-1] = f"{self.machine}.wide({args[-1]})"
        call = f"{self.const(self.callee(op, instr, site), 'I')}({', '.join([self.machine, *args])})"
        call = f"yield from m.hold({call})" if instr.waits else call
        if not instr.produces:
            self.line(call, op)
            return
        targets = [*map(self.bind, op.results), *["_"] * (len(instr.returned) - len(op.results))]
        self.line(f"{', '.join(targets)} = {call}" if targets else call, op)
        for target, result in zip(targets, op.results):
            if isinstance(result.type, Scalar) and result in self.varying:
                self.line(f"{target} = settled({target})", op)


def _tuple(items: list[str]) -> str:
    return "(" + "".join(f"{i}, " for i in items).rstrip() + ")"


def _template(text: str) -> Callable[[FunctionWriter, Op], None]:
    return lambda writer, op: writer._expression(text)(op)


_METHODS: dict[str, Callable[[FunctionWriter, Op], None]] = {
    **(aggregates.METHODS | casts.METHODS),
    "scf.for": FunctionWriter.scf_for,
    "scf.if": FunctionWriter.scf_if,
    "scf.while": while_loop,
    "scf.execute_region": execute_region,
    "scf.index_switch": index_switch,
    **threads.METHODS,
    "pto.section.cube": FunctionWriter.section,
    "pto.section.vector": FunctionWriter.section,
    "pto.vecscope": FunctionWriter.scope,
    "pto.strict_vecscope": FunctionWriter.scope,
    "cf.assert": assertion,
    "func.return": FunctionWriter.ret,
    "arith.constant": lambda writer, op: None,
    "pto.make_tensor_view": FunctionWriter.make_tensor_view,
    "pto.partition_view": FunctionWriter.partition_view,
    "pto.get_tensor_view_dim": FunctionWriter.view_dim,
    "pto.alloc_tile": FunctionWriter.alloc_tile,
    "pto.declare_tile": FunctionWriter.declare_tile,
    "pto.tassign": FunctionWriter.tassign,
    "pto.treshape": FunctionWriter.treshape,
    "pto.bitcast": FunctionWriter.treshape,
    "pto.subset": FunctionWriter.subset,
    "pto.subview": FunctionWriter.subset,
    "pto.set_validshape": FunctionWriter.set_validshape,
    "pto.get_validshape": _template("{source}.vr, {source}.vc"),
    "pto.tile_valid_rows": _template("{source}.vr"),
    "pto.tile_valid_cols": _template("{source}.vc"),
    "pto.addptr": _template("{ptr}.advance({offset})"),
    "pto.load_scalar": _template("m.load_scalar({ptr}, {index})"),
    "pto.store_scalar": _template("m.store_scalar({value}, {ptr}, {index})"),
    "pto.get_block_idx": _template("m.block_idx"),
    "pto.get_block_num": _template("m.total"),
    "pto.get_subblock_idx": _template("m.subblock"),
    "pto.get_subblock_num": _template("m.subblocks"),
}
