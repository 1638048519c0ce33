"""From the IR to a plan: every operation becomes a step, with what the text says about it decided.

Constants are operands that are known; results of other operations keep their values. Which tiles are made once, which
again in every turn of a loop, which operands blocks have to agree on: it is all here, and in no backend.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NoReturn

from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.ir import core
from ptokit.ir.core import Module, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.ir.graph import passed, reachable
from ptokit.ir.launch import SECTIONS, SIMT_SIZES, Launch
from ptokit.ir.scale_views import packed_slice
from ptokit.isa.check import bound_at_run
from ptokit.isa.meaning.footprint import bytes_moved
from ptokit.isa.seen import scales_of
from ptokit.isa.simt.meaning import OfThreads
from ptokit.isa.site import Site, TileInfo
from ptokit.isa.table import Instr, Kind
from ptokit.isa.undecided import open_rules
from ptokit.isa.unknown import known
from ptokit.targets import Target
from ptokit.types.enums import Pipe, TileType
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import MemRef, MultiTile, PartitionView, Ptr, Scalar, TensorView

from . import values
from .effects import Effects, agreed
from .operands import Operands, check_cast, settled_regions
from .steps import Block, Bodies, Data, FunctionPlan, Operand, Plan, Region, Step, Way


def plan(module: Module, target: Target, effects: Effects, launch: Launch, *, extended: bool) -> Plan:
    """The plan of every function of a module. Raises `DiagnosticError` for what cannot be run."""
    made = Plan({}, launch, effects.varying, 0, Bodies(module))
    sites = itertools.count()
    for function in module.functions:
        if function.body is not None and not made.bodies.is_entry(function.name):
            planner = Planner(function, target, made, sites, extended=extended, text=module.text)
            made.functions[function.name] = planner.plan()
    return made


class Planner(Operands):
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
        method = _METHODS.get(op.name)
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
        core = "first_vector" if op in self.made.launch.whole else SECTIONS[op.name]
        return self.control(op, "region", core=core)

    # --- views ---------------------------------------------------------------------------------------------------

    def make_tensor_view(self, op: Op) -> list[Step]:
        view = op.result.type
        assert isinstance(view, TensorView)
        given = (
            self.ref(op["ptr"]),
            self.uniforms(op.group("shape")),
            self.uniforms(op.group("strides")),
            Data(view.dtype),
            Data(op.attrs.get("layout")),
        )
        return [Step(op, "view", given, ("ptr", "shape", "strides", "dtype", "layout"), (op.result,))]

    def partition_view(self, op: Op) -> list[Step]:
        given = (self.ref(op["source"]), self.refs(op.group("offsets")), self.uniforms(op.group("sizes")))
        packed = packed_slice(op, self.function)
        if packed is not None:
            return [Step(op, "slice", (*given, Data(packed)), ("source", "offsets", "sizes", "packed"), (op.result,))]
        return [Step(op, "slice", given, ("source", "offsets", "sizes"), (op.result,))]

    def view_dim(self, op: Op) -> list[Step]:
        given = (self.ref(op["source"]), self.uniform(op["index"]))
        return [Step(op, "dim", given, ("source", "index"), (op.result,))]

    def view_stride(self, op: Op) -> list[Step]:
        given = (self.ref(op["source"]), self.uniform(op["index"]))
        return [Step(op, "stride", given, ("source", "index"), (op.result,))]

    def view_address(self, op: Op) -> list[Step]:
        if isinstance(op.result.type, Ptr):
            return [self.step(op, "first_element src")]
        self.other_names[op.result] = self.ref(op["src"])  # a memref is what the view is
        return []

    def tile_address(self, op: Op) -> list[Step]:
        pointer, tile = op.result.type, op["tile"]
        if not isinstance(pointer, Ptr) or not isinstance(tile.type, TileSpec):
            return self.refuse(op)
        given = (self.ref(tile), Data(pointer.dtype), Data(pointer.space or "gm"))
        return [Step(op, "first_byte", given, ("tile", "dtype", "space"), (op.result,))]

    def pointer_at(self, op: Op) -> list[Step]:
        pointer = op.result.type
        assert isinstance(pointer, Ptr)
        return [Step(op, "pointer_at", (self.ref(op["addr"]), Data(pointer.dtype)), ("addr", "dtype"), (op.result,))]

    def unrealized(self, op: Op) -> list[Step]:
        """A cast that changes no bit: another name."""
        check_cast(op)
        self.other_names.update(zip(op.results, self.refs(op.group("in"))))
        return []

    def castptr(self, op: Op) -> list[Step]:
        pointer = op.result.type
        if not isinstance(pointer, Ptr):
            return [self.step(op, "number_of value")]
        given = (self.ref(op["value"]), Data(pointer.dtype), Data(pointer.space or "gm"))
        return [Step(op, "cast", given, ("value", "dtype", "space"), (op.result,))]

    # --- tiles ---------------------------------------------------------------------------------------------------

    def _stays(self, op: Op) -> bool:
        """True for a tile whose address and valid region are fixed: it is made once, before all else."""
        spec, addr = op.result.type, op.get("addr")
        assert isinstance(spec, TileSpec)
        if op.result in self.carried_tiles or (spec.dynamic and op.result not in self.settled):
            return False
        return addr is None or known(self.facts.size(addr))

    def _site(self, spec: TileSpec) -> Data:
        """A number for memory that no other tile without an address has."""
        self.made.footprint += _working_bytes(spec)
        return Data(next(self.sites))

    def _valid(self, op: Op, spec: TileSpec) -> tuple[Operand, Operand]:
        """The valid rows and columns that an allocation states."""
        rows = self.ref(op.get("valid_row")) if spec.valid_row == DYNAMIC else Data(spec.valid_row)
        cols = self.ref(op.get("valid_col")) if spec.valid_col == DYNAMIC else Data(spec.valid_col)
        return rows, cols

    def alloc_tile(self, op: Op) -> list[Step]:
        spec = op.result.type
        assert isinstance(spec, TileSpec)
        site = self._site(spec)
        if op.result in self.carried_tiles and op.get("addr") is None:
            site = Data(None)
        given = (site, Data(spec), *self._valid(op, spec), Data(op.result.shown), self.uniform(op.get("addr")))
        return [Step(op, "tile", given, _TILE, (op.result,))]

    def later_tile(self, op: Op) -> list[Step]:
        """A tile that is not made before all else."""
        return [] if op.result in self.fixed else self.alloc_tile(op)

    def declare_tile(self, op: Op) -> list[Step]:
        spec = op.result.type
        assert isinstance(spec, TileSpec)
        vr = spec.rows if spec.valid_row == DYNAMIC else spec.valid_row
        vc = spec.cols if spec.valid_col == DYNAMIC else spec.valid_col
        given = (Data(next(self.sites)), Data(spec), Data(vr), Data(vc), Data(op.result.shown), Data(None))
        return [Step(op, "tile", given, _TILE, (op.result,))]

    def alloc_multi_tile(self, op: Op) -> list[Step]:
        tiles = op.result.type
        assert isinstance(tiles, MultiTile)
        sites = tuple(self._site(tiles.slot) for _ in range(tiles.count))
        given = (
            sites,
            Data(tiles.slot),
            *self._valid(op, tiles.slot),
            Data(op.result.shown),
            self.uniform(op.get("addr")),
        )
        return [Step(op, "tiles", given, _TILE, (op.result,))]

    def multi_tile_get(self, op: Op) -> list[Step]:
        tiles = op["source"].type
        assert isinstance(tiles, MultiTile)
        given = (self.ref(op["source"]), (self.ref(op["slot"]),), Data((tiles.count,)), Data("the tiles"))
        return [Step(op, "element", given, ("source", "indices", "sizes", "what"), (op.result,))]

    def alias(self, op: Op) -> list[Step]:
        given = (self.ref(op["src"]), Data(op.result.type), Data(op.result.shown))
        return [Step(op, "alias", given, ("src", "type", "name"), (op.result,))]

    def window(self, op: Op) -> list[Step]:
        valid = (self.ref(op.get("valid_row")), self.ref(op.get("valid_col")))
        offsets = self.refs(op.group("offsets"))
        given = (self.ref(op["source"]), offsets, Data(op.result.type), Data(op.result.shown), valid)
        return [Step(op, "window", given, ("source", "offsets", "type", "name", "valid"), (op.result,))]

    # --- threads -------------------------------------------------------------------------------------------------

    def call(self, op: Op) -> list[Step]:
        """Of a function that threads execute, a launch of as many as have been said."""
        callee = op.attrs["callee"]
        if self.made.bodies.is_entry(callee):
            return self._launch(op, callee, Data(None), op.group("args"))
        return self.control(op, "call", self.refs(op.group("args")), callee=callee)

    def simt_launch(self, op: Op) -> list[Step]:
        return self._launch(op, op.attrs["callee"], self.uniforms(op.group("sizes")), op.group("args"))

    def simt_section(self, op: Op) -> list[Step]:
        function = self.made.bodies.section(op)
        sizes = tuple(Data(op.attrs[size]) for size in SIMT_SIZES)
        return self._launch(op, function.name, sizes, function.params)

    def _launch(self, op: Op, name: str, sizes: Operand, args: Sequence[core.Value]) -> list[Step]:
        self.made.threads = True
        given = (Data(op), Data(self.made.bodies), Data(name), sizes, self.refs(args))
        return [Step(op, "launch_threads", given, ("op", "bodies", "callee", "sizes", "args"))]

    def one_thread(self, op: Op) -> list[Step]:
        """An operation of threads in a function that they do not execute."""
        self.made.threads = True
        given = (Data(op), Data(self.made.bodies), *self.refs(op.values))
        return [Step(op, "one_thread", given, ("op", "bodies"), tuple(op.results))]

    # --- instructions --------------------------------------------------------------------------------------------

    def refuse(self, op: Op) -> NoReturn:
        """Raise the `DiagnosticError` of an operation that has no execution."""
        message = f"{op.name} cannot be run yet"
        raise DiagnosticError(Diagnostic("TEXT-UNIMPLEMENTED", Severity.ERROR, message, op.location))

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
            steps.append(Step(op, "tile", made, _TILE, (operands[k],)))
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


_TILE = ("site", "type", "valid_row", "valid_col", "name", "addr")


def _working_bytes(spec: TileSpec) -> int:
    """Host memory a tile takes part with: cube operands are decoded, L1 tiles stand for what they were loaded from."""
    if spec.loc is TileType.Mat:
        return 0
    return 4 * spec.numel if spec.loc in (TileType.Left, TileType.Right) else spec.nbytes


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


_METHODS: dict[str, Method] = {
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
    "func.call": Planner.call,
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

PLANNED = frozenset((*_WORDS, *_METHODS))
"""Operations that are planned by name; all others are arithmetic or instructions."""
