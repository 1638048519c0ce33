"""The operands of a case on one target: made from its bytes, checked, executed and compared.

Cases name operands in their own way (``c <- a, b``); the tables below say what they are called in the instruction
table. What has the same name on both sides needs no entry.

A legal case passes on a target if no error rule fires and every buffer holds what it should; an illegal one if the rule
that it breaks, or one that states the same condition, is reported. Warnings never count.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping
from enum import Enum
from typing import Any

import numpy as np

from ptokit.diagnostics import Scope, Severity
from ptokit.isa.check import broken_rules
from ptokit.isa.checks.tile_types import check_tile
from ptokit.isa.site import UNKNOWN, Site
from ptokit.isa.table import TABLE, Attr, Instr, Kind
from ptokit.machine.lanes import Fault
from ptokit.machine.tiles import Tile, infos
from ptokit.run.program import Single
from ptokit.targets import Target
from ptokit.types.codecs import decode
from ptokit.types.dtypes import DType
from ptokit.types.enums import ReluPreMode, TileType
from ptokit.types.tensor import ConvSpec
from ptokit.types.tile import TileSpec, offset_map

from .cases import Case, Expectation, ViewCase
from .compare import Outcome, Result, Want, show_element

# Operands and arguments of a case, by the names of the instruction table.


OPERANDS: dict[str, dict[str, str]] = {
    "TLOAD": {"t": "dst", "g": "src"},
    "TSTORE": {"t": "src", "g": "dst"},
    "TSTORE_FP": {"t": "src", "g": "dst"},
    "MGATHER": {"g": "src", "gidx": "idx"},
    "MSCATTER": {"g": "dst"},
    "TMRGSORT": {"exec": "executed"},
}
"""Names of one instruction's operands in the cases and in the instruction table."""

SYNONYMS: dict[str, tuple[str, ...]] = {
    "as": ("lhs_scale",),
    "bs": ("rhs_scale",),
    "c": ("dst",),
    "a": ("lhs", "src0"),
    "b": ("rhs", "src1"),
    "cin": ("acc",),
    "src0": ("src",),
    "src": ("src0",),
}
"""Names for any instruction, used where its table entry lacks the case's name."""

ATTRIBUTES = {
    "atom": "atomic",
    "sat": "sat_mode",
    "binary": "is_binary",
    "upper": "upper_or_lower",
    "type": "quant_type",
    "m": "pos_m",
    "k": "pos_k",
}
"""Arguments of the cases -> attributes of the instruction table."""

CONVOLUTION = frozenset({"filter", "stride", "dilation", "pad", "pad_value", "fmap", "channels"})
"""Arguments that belong to the convolution tile."""

MARKS = frozenset({"form", "inplace", "lists", "conv", *CONVOLUTION})
"""Arguments that say which form of an instruction a case is: its operands show it."""


class UnknownNameError(Exception):
    """The instruction has nothing to take an operand or argument of the case."""


def instruction_of(op: str, operands: Iterable[str] = (), args: Iterable[str] = ()) -> Instr | None:
    """The table entry of a case's instruction, whose operands and arguments say which form is meant."""
    name = op.upper()
    if "alg" in args:
        return TABLE.get("TQUANT_MX")
    if name.endswith("_MX"):
        name += "_BIAS" if "bias" in operands else "_ACC" if "inplace" in args else ""
    return TABLE.get(op) if name == op.upper() and op in TABLE else TABLE.get(name)


def operand_names(instr: Instr, names: Iterable[str]) -> dict[str, str]:
    """Names of a case's operands -> names in the table. Raises `UnknownNameError`."""
    return {name: _operand_name(instr, name) for name in names}


def _operand_name(instr: Instr, name: str) -> str:
    own = OPERANDS.get(instr.name, {}).get(name)
    known = {o.name for o in instr.operands}
    for candidate in (own, name, *SYNONYMS.get(name, ())):
        if candidate in known:
            return candidate
    raise UnknownNameError(f"{instr.name} has no operand that the case could call {name!r}")


def scalars_and_attributes(
    instr: Instr, args: Mapping[str, Any], scalar_type: DType | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Numbers for scalar operands, and attributes, by table name.

    ``scalar_type``: element type whose bits the argument ``scalar`` has. Raises `UnknownNameError`.
    """
    numbers = {o.name for o in instr.operands if o.kind is Kind.SCALAR}
    kinds = {a.name: a for a in instr.attrs}
    scalars: dict[str, Any] = {}
    attrs: dict[str, Any] = {}
    for name, value in args.items():
        table_name = ATTRIBUTES.get(name, name)
        numbered = [f"{name}{k}" for k in range(len(value))] if isinstance(value, list) else []
        if numbered and numbers.issuperset(numbered):
            scalars.update(zip(numbered, value))
        elif name == "scalar" and scalar_type is not None and name in numbers:
            scalars[name] = number(value, scalar_type)
        elif table_name in kinds:
            attrs[table_name] = _attribute(kinds[table_name], value)
        elif table_name in numbers:
            scalars[table_name] = value
        elif isinstance(value, str) and value in kinds:  # form: the attribute that makes it
            attrs[value] = True
        elif name not in MARKS:
            raise UnknownNameError(f"{instr.name} has neither an operand nor an attribute {name!r}")
    return scalars, attrs


def number(bits: str, dtype: DType) -> int | float:
    """The number whose bits are the hexadecimal `bits`. Raises `ValueError`."""
    code = np.array([int(bits, 16)], np.uint64).view(np.uint8)[: dtype.size].view(dtype.storage)
    return decode(dtype, code)[0].item()


def _attribute(attr: Attr, value: Any) -> Any:
    if attr.kind is ReluPreMode:
        return ReluPreMode.NormalRelu if value else ReluPreMode.NoRelu
    if issubclass(attr.kind, Enum) and isinstance(value, str):
        spelled = {m.name.lower().removeprefix("atomic").removeprefix("fmatrix_"): m for m in attr.kind}
        if value.lower() not in spelled:
            raise UnknownNameError(f"{attr.name} is one of {', '.join(m.name for m in attr.kind)}, not {value!r}")
        return spelled[value.lower()]
    return value


# The operands of a case on one target: made from its bytes, checked, executed and compared.


ALIGNMENT = 512  # of the tiles' addresses, bytes
SCALES = {"as": "a", "bs": "b"}  # scale tiles lie at 1/16 of the address of the tile they scale


class Bench:
    """A machine with the buffers of one case. Raises `binding.UnknownNameError` if they do not fit the instruction."""

    def __init__(self, case: Case, instr: Instr | None, target: Target) -> None:
        """``instr`` is None for what the executor itself implements."""
        self.case, self.instr, self.target = case, instr, target
        self.machine = Single(target)
        self.memory: dict[str, np.ndarray] = {}
        self.tiles: dict[str, Tile] = {}
        self._place_tiles()
        views = {name: self._view(name, view) for name, view in case.views.items()}
        self.names: dict[str, str] = {}
        self.operands: dict[str, Any] = {}
        if instr is None:
            return
        self.names = operand_names(instr, [*case.tiles, *case.views])
        self.operands = {self.names[k]: v for k, v in (*self.tiles.items(), *views.items())}
        scalars, self.attrs = scalars_and_attributes(instr, case.args, self._scalar_type())
        self.operands.update(scalars)
        if case.args.get("inplace"):
            self.operands["acc"] = self.operands["dst"]

    def _place_tiles(self) -> None:
        top: Counter[TileType] = Counter()
        for name, spec in self.case.tiles.items():
            same = self.case.alias.get(name)
            if same is not None and same in self.tiles:
                first = self.tiles[same]
                window = first.storage.arena.window(spec, first.storage.start)
                self.tiles[name] = Tile(window, spec, spec.valid_row, spec.valid_col, name, first.address)
                continue
            tile = self.machine.tile(spec, self.case.inputs.get(name), name=name)
            tile.address = _place(spec, top, self.target)
            self.tiles[name] = tile
        for scale, scaled in SCALES.items():
            if scale in self.tiles and scaled in self.tiles:
                address = self.tiles[scaled].address
                self.tiles[scale].address = address // 16 if isinstance(address, int) else address

    def _view(self, name: str, view: ViewCase) -> Any:
        memory = np.zeros(view.nbytes, np.uint8)
        given = self.case.inputs.get(name)
        if given is not None:
            memory[:] = given
        self.memory[name] = memory
        return self.machine.view(view.dtype, memory, view.shape, view.stride, view.layout, name=name)

    def _scalar_type(self) -> DType | None:
        """Type of the number ``scalar``: that of the source, of the destination where there is none."""
        spec = next((self.case.tiles[k] for k in ("src", "src0", "dst") if k in self.case.tiles), None)
        return None if spec is None else spec.dtype

    def broken(self, *, warnings: Container[str] = ()) -> set[str]:
        """All error rules that the case breaks: of its tile types and of the instruction.

        ``warnings``: rules that count where they only warn, too.
        """
        found = {
            b.rule.id
            for spec in self.case.tiles.values()
            for b in check_tile(spec, self.target)
            if b.severity is Severity.ERROR or b.rule.id in warnings
        }
        if self.instr is None:
            return found
        given = {o.name: self.operands.get(o.name) for o in self.instr.operands}
        site = Site(self.instr, self.target, infos(given), self.instr.attributes(self.attrs))
        for b in broken_rules(site):
            if (b.severity is Severity.ERROR or b.rule.id in warnings) and b.rule.scope is Scope.ISA:
                found.add(b.rule.id)
        return found

    def execute(self) -> None:
        """Run the instruction. Raises `Fault`."""
        if self.instr is None:
            self.tiles["dst"] = EXECUTOR[self.case.op.upper()](self)
        else:
            self.machine.execute(self.instr, self.operands, self.attrs)

    def compare(self, expected: Expectation) -> str:
        """The first difference, "" if there is none: listed buffers as they say, the others unchanged."""
        shared = {self.case.alias.get(name) for name in expected.out} - {None}
        wanted: dict[str, Want | None] = {
            name: Want(data) for name, data in self.case.inputs.items() if name not in shared
        }
        for name, out in expected.out.items():
            wanted[name] = None if out is None else Want(out, expected.care.get(name), expected.tol.get(name))
        for name, want in wanted.items():
            if want is None:
                continue
            dtype = self.case.tiles[name].dtype if name in self.tiles else self.case.views[name].dtype
            got = self._bytes(name)
            wrong = want.first_wrong(got, dtype)
            if wrong is not None:
                return self._difference(name, wrong, dtype, want.out, got)
        return ""

    def _bytes(self, name: str) -> np.ndarray:
        return self.memory[name] if name in self.memory else self.tiles[name].raw()[0]

    def _difference(self, name: str, index: int, dtype: DType, want: np.ndarray, got: np.ndarray) -> str:
        """``dst at row 1, col 3, byte 28: expected 0x3f800000 (1), got 0x00000000 (0)``."""
        if name in self.tiles:
            place = _in_tile(self.case.tiles[name], index)
        else:
            place = self._in_view(name, index)
        where = "" if place is None else f"row {place[0]}, col {place[1]}, "
        if place is None and name in self.memory:
            where = "a gap of the view, "
        byte = index // 2 if dtype.packed else index * dtype.size
        values = f"expected {show_element(dtype, want, index)}, got {show_element(dtype, got, index)}"
        return f"{name} at {where}byte {byte}: {values}"

    def _in_view(self, name: str, index: int) -> tuple[int, int] | None:
        view = self.operands[self.names[name]]
        hits = np.argwhere(view.indices(self.case.views[name].layout)[0] == index)
        return (int(hits[0][0]), int(hits[0][1])) if len(hits) else None


def _reshape(bench: Bench) -> Tile:
    return bench.machine.chunk.alias(bench.tiles["src"], bench.case.tiles["dst"], "dst")


def _subview(bench: Bench) -> Tile:
    """The bytes after the base address of the view, in the type of dst."""
    src, dst = bench.tiles["src"], bench.case.tiles["dst"]
    start = int(offset_map(src.spec)[bench.case.args["row"], bench.case.args["col"]]) * src.spec.dtype.size
    data = np.zeros(dst.nbytes, np.uint8)
    seen = src.raw()[0, start : start + dst.nbytes]
    data[: len(seen)] = seen
    return bench.machine.tile(dst, data, name="dst")


EXECUTOR: Mapping[str, Callable[[Bench], Tile]] = {"TRESHAPE": _reshape, "TSUBVIEW": _subview}
"""Instructions without a meaning of their own in the table: the executor itself implements them."""


def _in_tile(spec: TileSpec, index: int) -> tuple[int, int] | None:
    if isinstance(spec, ConvSpec):
        return 0, index
    hits = np.argwhere(offset_map(spec) == index)
    return (int(hits[0][0]), int(hits[0][1])) if len(hits) else None


def _place(spec: TileSpec, top: Counter[TileType], target: Target) -> Any:
    """A legal address after the tiles placed so far; unknown if the buffer is full."""
    address = top[spec.loc]
    top[spec.loc] += -(-spec.nbytes // ALIGNMENT) * ALIGNMENT
    return address if address + spec.nbytes <= target.capacity.get(spec.loc, 0) else UNKNOWN


# Replay of cases of one instruction: on the bytes of a case, judged value by value and rule by rule.


def replay(case: Case, target: Target) -> Result:
    """Judge one case on a target that it makes a claim about. Never raises."""
    start = time.perf_counter()
    instr = None if case.op.upper() in EXECUTOR else instruction_of(case.op, case.tiles, case.args)
    reported: tuple[str, ...] = ()
    if case.op.upper() not in EXECUTOR and (instr is None or instr.run is None):
        outcome, message = Outcome.SKIPPED, f"{case.op} is not implemented"
    else:
        try:
            message, reported = _judge(case, instr, target)
        except UnknownNameError as problem:
            message = str(problem)
        except Exception as bug:  # one broken case must not end the run of all others
            message = f"internal error: {type(bug).__name__}: {bug}"
        outcome = Outcome.FAILED if message else Outcome.PASSED
    return Result(case.id, case.op, target.name, outcome, message, reported, time.perf_counter() - start)


def _judge(case: Case, instr: Instr | None, target: Target) -> tuple[str, tuple[str, ...]]:
    """Why the case fails ("" if it passes), and the error rules that fired."""
    bench = Bench(case, instr, target)
    rule = case.illegal.get(target.name)
    good = set() if rule is None else {rule, *case.accept.get(target.name, ())}
    reported = tuple(sorted(bench.broken(warnings=good)))
    if rule is not None:
        if not reported:  # a rule about values may only show when the instruction looks at them
            try:
                bench.execute()
            except Fault as fault:
                reported = (fault.rule,)
        return ("" if good & set(reported) else f"expected {rule}, {_listed(reported)}"), reported
    if reported:
        return f"expected no error, {_listed(reported)}", reported
    expected = case.expected(target.name)
    if expected is None:
        return "", ()
    try:
        bench.execute()
    except Fault as fault:
        return f"[{fault.rule}] {fault.message}", (fault.rule,)
    return bench.compare(expected), ()


def _listed(reported: Iterable[str]) -> str:
    return f"reported {', '.join(reported) or 'nothing'}"
