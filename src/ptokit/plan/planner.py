"""From the IR to a plan: every operation becomes a step, with what the text says about it decided.

Constants are operands that are known; results of other operations keep their values. Which tiles are made once, which
again in every iteration of a loop, which operands blocks have to agree on: it is all here, and in no backend.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ptokit.ir import core
from ptokit.ir.control import called_from, passed, section_of
from ptokit.ir.core import Function, Module, Op, Value, reachable
from ptokit.ir.facts import instr_of
from ptokit.ir.launch import SIMT_SIZES, Launch
from ptokit.isa.check import bound_at_run, open_rules
from ptokit.isa.meaning.footprint import bytes_moved
from ptokit.isa.scratch import scales_of
from ptokit.isa.simt.memory import OfThreads
from ptokit.isa.site import Site, TileInfo, known
from ptokit.isa.table import Instr, Kind
from ptokit.targets import Target
from ptokit.types.enums import Pipe
from ptokit.types.tile import TileSpec
from ptokit.types.values import MemRef, PartitionView, Scalar, TensorView

from . import values
from .effects import Effects, agreed
from .steps import Block, Callee, Data, FunctionPlan, Operand, Plan, Region, Step, Way
from .values import TILE, Places, settled_regions


def plan(module: Module, entry: Function, target: Target, effects: Effects, launch: Launch, *, extended: bool) -> Plan:
    """The plan of a kernel and of what it calls. Raises `DiagnosticError` for what cannot be run."""
    made = Plan({}, launch, effects.varying, 0)
    sites = itertools.count()
    known = {f.name: f for f in module.functions if f.body is not None}
    reached = called_from(module, entry, threads=False)
    for function in known.values():
        if function in reached:
            planner = Planner(function, target, made, sites, known, extended=extended, text=module.text)
            made.functions[function.name] = planner.plan()
    return made


class Planner(Places):
    """Plans one function."""

    # --- structure -----------------------------------------------------------------------------------------------

    def plan(self) -> FunctionPlan:
        function = self.function
        assert function.body is not None
        first = []
        for param in function.params:
            if isinstance(param.type, MemRef | TensorView | PartitionView):
                first.append(Step(Op("pto.parameter"), "parameter", (param,), ("argument",), (param,)))
        self.settled = settled_regions(function, self.facts)
        for op in function.body.walk():
            if op.name == "pto.alloc_tile" and self._stays(op):
                self.fixed.add(op.result)
                first += self.alloc_tile(op)
        alone = function in self.made.launch.whole
        return FunctionPlan(function, first, self.region(function.body), alone, self.settled)

    def region(self, region: core.Block) -> Region:
        blocks = reachable(region)
        self.numbers = {id(block): k for k, block in enumerate(blocks)}
        return tuple(Block(tuple(block.args), self.steps(block.ops)) for block in blocks)

    def steps(self, ops: Sequence[Op]) -> list[Step]:
        return [step for op in ops for step in self.operation(op)]

    def operation(self, op: Op) -> list[Step]:
        made = self._operation(op)
        kind = self.made.launch.only.get(op)
        if kind is not None:
            for step in made:
                step.core = kind
        return made

    def _operation(self, op: Op) -> list[Step]:
        words = _WORDS.get(op.name)
        if words is not None:
            return [self.step(op, words)]
        method = METHODS.get(op.name)
        if method is not None:
            return method(self, op)
        if op.name.startswith("arith."):
            return self.arith(op)
        instr = instr_of(op)
        if instr is not None and isinstance(instr.run, OfThreads):
            return self.one_thread(op)
        return self.instruction(op)

    def control(self, op: Op, word: str, operands: Sequence[Operand] = (), **more: Any) -> list[Step]:
        numbers = self.numbers
        regions = tuple(self.region(region) for region in op.regions)
        self.numbers = numbers
        return [Step(op, word, tuple(operands), (), tuple(op.results), regions=regions, **more)]

    # --- numbers -------------------------------------------------------------------------------------------------

    def arith(self, op: Op) -> list[Step]:
        if op.name == "arith.constant" or (len(op.results) == 1 and op.result in self.facts.constants):
            return []
        if op.name == "arith.select" and not isinstance(op.result.type, Scalar):
            ways = tuple((Block((), [Step(op, "yield", (self.ref(op[way]),))]),) for way in ("true", "false"))
            return [Step(op, "if", (self.form("truth", op["condition"]),), (), tuple(op.results), regions=ways)]
        given = self.refs(op.values)
        return [Step(op, "compute", given, (), tuple(op.results), attrs=op.attrs)]

    # --- control flow --------------------------------------------------------------------------------------------

    def scope(self, op: Op) -> list[Step]:
        (body,) = op.regions
        self.other_names.update(zip(body.args, self.refs(op.group("captured"))))
        return self.control(op, "scope")

    def branch(self, op: Op) -> list[Step]:
        ways = tuple(Way(self.numbers[id(to)], self.refs(passed(op, k))) for k, to in enumerate(op.successors))
        if op.name == "cf.br":
            return [Step(op, "branch", ways=ways)]
        if op.name == "cf.cond_br":
            return [Step(op, "branch", (self.form("truth", op["condition"]),), ways=ways[::-1], cases=(1,))]
        return [Step(op, "branch", (self.uniform(op["flag"]),), ways=ways, cases=tuple(op.attrs["values"]))]

    def section(self, op: Op) -> list[Step]:
        core = "first_vector" if op in self.made.launch.whole else section_of(op)
        return self.control(op, "region", core=core)

    # --- threads -------------------------------------------------------------------------------------------------

    def call(self, op: Op) -> list[Step]:
        """Of a function that threads execute, a launch of as many as have been said."""
        callee = self.known.get(op.attrs["callee"].removeprefix("@"))
        if callee is not None and callee.of_threads:
            return self._launch(op, callee, Data(None), op.group("args"))
        return self.control(op, "call", self.refs(op.group("args")), callee=op.attrs["callee"])

    def simt_launch(self, op: Op) -> list[Step]:
        callee = self.known[op.attrs["callee"].removeprefix("@")]
        return self._launch(op, callee, self.uniforms(op.group("sizes")), op.group("args"))

    def simt_section(self, op: Op) -> list[Step]:
        """Its body is a function of the values from around it."""
        body = op.regions[0]
        inside = {v for block in body.blocks for v in block.args}
        inside.update(v for inner in body.walk() for v in inner.results)
        inside.update(v for inner in body.walk() for region in inner.regions for b in region.blocks for v in b.args)
        around = dict.fromkeys(v for inner in body.walk() for v in inner.values if v not in inside)
        function = Function(self._name("section"), list(around), body=body, location=op.location)
        sizes = tuple(Data(op.attrs[size]) for size in SIMT_SIZES)
        return self._launch(op, function, sizes, function.params)

    def _launch(self, op: Op, callee: Function, sizes: Operand, args: Sequence[Value]) -> list[Step]:
        types = Data(tuple(param.type for param in callee.params))
        given = (Data(op), self.of_threads(callee), types, sizes, self.refs(args))
        return [Step(op, "launch_threads", given, ("op", "callee", "types", "sizes", "args"))]

    def one_thread(self, op: Op) -> list[Step]:
        """An operation of threads in a function that they do not execute."""
        name, params = self._name("operation"), list(dict.fromkeys(op.values))
        alone = ThreadPlanner(Function(name, params, body=core.Block()), self.target, self.made, self.sites, self.known)
        steps = [*alone.operation(op), Step(op, "return", tuple(op.results))]
        self.made.threads[name] = FunctionPlan(alone.function, [], (Block((), steps),))
        types = Data(tuple(param.type for param in params))
        given = (Data(op), Callee(name), types, self.refs(params))
        return [Step(op, "one_thread", given, ("op", "callee", "types", "args"), tuple(op.results))]

    def _name(self, what: str) -> str:
        """A name that no function has."""
        numbered = (f"{what} {k}" for k in itertools.count(len(self.made.threads)))
        return next(name for name in numbered if name not in self.known and name not in self.made.threads)

    def of_threads(self, function: Function) -> Callee:
        """The function as threads execute it, which is planned where it has not been."""
        if function.name not in self.made.threads:
            planner = ThreadPlanner(function, self.target, self.made, self.sites, self.known)
            planned = self.made.threads[function.name] = FunctionPlan(function, [], ())  # before those that it calls
            assert function.body is not None
            planned.body = planner.region(function.body)
        return Callee(function.name)

    # --- instructions --------------------------------------------------------------------------------------------

    def instruction(self, op: Op) -> list[Step]:
        instr = instr_of(op)
        if instr is None:
            self.refuse(op)
        site = self.facts.site(op, self.target, extended=self.extended, text=self.text)
        assert site is not None
        if scales := scales_of(instr, site.operands):
            site = replace(site, operands={**site.operands, **scales})
        if instr.pipe in (Pipe.MTE2, Pipe.MTE3) and known(moved := bytes_moved(instr.meaning_at(site), site)):
            self.made.footprint += moved
        given = tuple(self._given(op, instr, operand) for operand in instr.operands)
        first, given = self._seen(op, site, given)
        names = tuple(operand.name for operand in instr.operands)
        attrs = instr.attributes(op.attrs)
        live = instr.checks_values(site)
        rules = bound_at_run(instr, site.target) if live else open_rules(site)
        varying = tuple(isinstance(r.type, Scalar) and r in self.varying for r in op.results)
        varying = varying if any(varying) and not instr.order.waits else ()
        more: dict[str, Any] = {"rules": rules, "live": live, "varying": varying}
        return [*first, Step(op, "instruction", given, names, tuple(op.results), instr, site, attrs, **more)]

    def _seen(self, op: Op, site: Site, given: tuple[Operand, ...]) -> tuple[list[Step], tuple[Operand, ...]]:
        """Steps that make tiles that the instruction sees otherwise than the text, and the operands with those."""
        steps, operands = [], list(given)
        for k, operand in enumerate(site.instr.operands):
            info, tile = site.operands.get(operand.name), given[k]
            if not isinstance(info, TileInfo) or not isinstance(tile, Value) or not isinstance(tile.type, TileSpec):
                continue
            spec, name = info.spec, Data(tile.shown)
            if tile.type.dtype is spec.dtype:
                continue
            operands[k] = Value(spec, tile.name, op, called=tile.called)
            if spec.loc is tile.type.loc:
                steps.append(Step(op, "numbers", (tile, Data(spec)), ("src", "type"), (operands[k],)))
                continue
            made = (Data(None), Data(spec), Data(spec.rows), Data(spec.cols), name, Data(info.addr))
            steps.append(Step(op, "tile", made, TILE, (operands[k],)))
        return steps, tuple(operands)

    def _given(self, op: Op, instr: Instr, operand: Any) -> Operand:
        value = op.operands.get(operand.name)
        if operand.kind is Kind.RECORD:
            return Data(None)  # no operation of the text reads the counts
        if isinstance(value, list):
            return self.uniforms(value) if operand.agreed else self.refs(value)
        if value is not None and agreed(op, operand.name):
            return self.uniform(value)
        if operand.kind is Kind.SCALAR and value is not None:
            return self.form("column" if instr.typed else "spread", value)
        return self.ref(value)


class ThreadPlanner(Planner):
    """Plans a function as threads execute it: all values are those of lanes, constants among them."""

    def _operation(self, op: Op) -> list[Step]:
        instr = instr_of(op)
        if instr is not None and isinstance(instr.run, OfThreads):
            given = tuple(self.ref(next(iter(op.group(operand.name)), None)) for operand in instr.operands)
            names, attrs = tuple(operand.name for operand in instr.operands), instr.attributes(op.attrs)
            return [Step(op, "instruction", given, names, tuple(op.results), instr, attrs=attrs)]
        if op.name.startswith("arith.") or op.name == "llvm.bitcast":
            return [Step(op, "compute", self.refs(op.values), (), tuple(op.results), attrs=op.attrs)]
        if op.name not in _THREADS:
            self.refuse(op, "by threads ")
        return super()._operation(op)

    def ref(self, value: Value | None) -> Operand:
        return Data(None) if value is None else value

    def form(self, how: str, value: Value) -> Operand:
        return value

    def call(self, op: Op) -> list[Step]:
        callee = self.of_threads(self.known[op.attrs["callee"].removeprefix("@")])
        return self.control(op, "call", self.refs(op.group("args")), callee=callee.name)


_THREADS = frozenset(
    "scf.for scf.while scf.if scf.index_switch scf.execute_region scf.yield scf.condition cf.br cf.cond_br cf.switch "
    "func.call func.return pto.addptr pto.castptr pto.load_scalar pto.store_scalar".split()
)
"""Operations beside arithmetic and those of threads that threads execute."""

_WORDS = {
    "pto.addptr": "advance ptr offset",
    "pto.ptrtoint": "address_in_gm ptr",
    "pto.tassign": "rebind tile addr",
    "pto.set_validshape": "set_valid tile valid_row valid_col",
    "pto.get_validshape": "valid source",
    "pto.tile_valid_rows": "valid_rows source",
    "pto.tile_valid_cols": "valid_cols source",
    "pto.load_scalar": "load_scalar ptr index",
    "pto.store_scalar": "store_scalar value ptr index",
    "pto.get_block_idx": "block_idx",
    "pto.get_block_num": "total",
    "pto.get_subblock_idx": "subblock",
    "pto.get_subblock_num": "subblocks",
}
"""Operations that hand their operands to a method of the machine as they are."""

Method = Callable[[Planner, Op], list[Step]]


def _values(word: str) -> Method:
    return lambda p, op: [Step(op, word, p.refs(op.group("values")))]


METHODS: dict[str, Method] = {
    "scf.for": lambda p, op: p.control(op, "for", p.refs([op["lower"], op["upper"], op["step"], *op.group("init")])),
    "scf.while": lambda p, op: p.control(op, "while", p.refs(op.group("init"))),
    "scf.if": lambda p, op: p.control(op, "if", [p.form("truth", op["condition"])]),
    "scf.index_switch": lambda p, op: p.control(op, "switch", [p.uniform(op["index"])], cases=tuple(op.attrs["cases"])),
    "scf.execute_region": lambda p, op: p.control(op, "region"),
    "pto.section.cube": Planner.section,
    "pto.section.vector": Planner.section,
    "pto.vecscope": Planner.scope,
    "pto.strict_vecscope": Planner.scope,
    "scf.yield": _values("yield"),
    "scf.condition": lambda p, op: [
        Step(op, "condition", (p.form("truth", op["condition"]), *p.refs(op.group("values"))))
    ],
    "cf.br": Planner.branch,
    "cf.cond_br": Planner.branch,
    "cf.switch": Planner.branch,
    "cf.assert": lambda p, op: [Step(op, "claim", (p.ref(op["condition"]), Data(op.attrs["msg"])))],
    "func.call": lambda p, op: p.call(op),
    "pto.simt_launch": Planner.simt_launch,
    "pto.section.simt": Planner.simt_section,
    "func.return": _values("return"),
    "pto.make_tensor_view": Planner.make_tensor_view,
    "pto.partition_view": Planner.partition_view,
    "pto.get_tensor_view_dim": Planner.view_dim,
    "pto.get_tensor_view_stride": Planner.view_stride,
    "pto.tensor_view_addr": Planner.view_address,
    "pto.tile_buf_addr": Planner.tile_address,
    "pto.inttoptr": Planner.pointer_at,
    "pto.castptr": Planner.castptr,
    "builtin.unrealized_conversion_cast": Planner.unrealized,
    "pto.alloc_tile": Planner.later_tile,
    "pto.declare_tile": Planner.declare_tile,
    "pto.alloc_multi_tile": Planner.alloc_multi_tile,
    "pto.multi_tile_get": Planner.multi_tile_get,
    "pto.treshape": Planner.alias,
    "pto.bitcast": Planner.alias,
    "pto.subset": Planner.window,
    "pto.subview": Planner.window,
    "pto.declare_eventid_array": values.events,
    "pto.eventid_array_get": values.event,
    "pto.eventid_array_set": values.event,
    "pto.declare_local_array": values.array,
    "pto.local_array_get": values.element,
    "pto.local_array_set": values.element,
    "pto.declare_struct": values.struct,
    "pto.struct_get": values.field,
    "pto.struct_set": values.field,
}
"""How operations are planned, by name."""

PLANNED = frozenset((*_WORDS, *METHODS))
"""Operations that are planned by name; all others are arithmetic or instructions."""
