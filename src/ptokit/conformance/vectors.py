"""Replay of movement vectors: one instruction on the bytes of a case, judged bit by bit and rule by rule.

A legal case passes on a target if no error rule fires and every buffer holds what it should; an illegal one if the rule
that it breaks, or one that states the same condition, is reported. Warnings never count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

import ptokit.isa.all  # noqa: F401  (completes the table)
from ptokit.diagnostics import Scope, Severity
from ptokit.isa.check import broken_rules
from ptokit.isa.site import Site
from ptokit.isa.table import TABLE, Attr, Instr
from ptokit.isa.tile_rules import check_tile
from ptokit.isa.unknown import UNKNOWN
from ptokit.run.calls import attributes, infos
from ptokit.run.fault import Fault
from ptokit.run.single import Single
from ptokit.targets import Target
from ptokit.types.conv import ConvSpec
from ptokit.types.enums import ReluPreMode, TileType
from ptokit.types.layout import offset_map
from ptokit.types.tile import TileSpec

from .cases import Case, Expectation, Suite, ViewCase

# Names that the cases give operands -> names in the instruction table; others are equal.
OPERANDS: dict[str, dict[str, str]] = {
    "TLOAD": {"t": "dst", "g": "src"},
    "TSTORE": {"t": "src", "g": "dst"},
    "TSTORE_FP": {"t": "src", "g": "dst"},
    "MGATHER": {"g": "src", "gidx": "idx"},
    "MSCATTER": {"g": "dst"},
}
ATTRIBUTES = {"atom": "atomic"}  # names of arguments -> names of attributes
ALIGNMENT = 512  # of the tiles' addresses, bytes


@dataclass(frozen=True)
class Difference:
    """The first element that is wrong.

    ``row`` and ``col`` are its place in the tile or in the 2-D view, None in a gap of a view; ``offset`` counts bytes
    from the start of the buffer; ``expected`` and ``got`` are the bits of its storage unit.
    """

    buffer: str
    row: int | None
    col: int | None
    offset: int
    expected: int
    got: int

    def __str__(self) -> str:
        place = "a gap" if self.row is None else f"({self.row}, {self.col})"
        return f"{self.buffer} at {place}, byte {self.offset}: expected {self.expected:#x}, got {self.got:#x}"


@dataclass(frozen=True)
class Result:
    """How one case went on one target.

    ``reported`` are the error rules that fired. ``rule`` is the one that an illegal case must show, ``difference`` the
    first wrong value, ``problem`` any other reason to fail.
    """

    case: str
    op: str
    target: str
    passed: bool
    reported: tuple[str, ...] = ()
    rule: str | None = None
    difference: Difference | None = None
    problem: str = ""

    @property
    def reason(self) -> str:
        """Why it failed; empty if it passed."""
        if self.passed:
            return ""
        reported = ", ".join(self.reported) or "nothing"
        if self.rule is not None:
            return f"expected {self.rule}, reported {reported}"
        if self.difference is not None:
            return str(self.difference)
        return self.problem or f"expected no error, reported {reported}"


def replay_suite(suite: Suite | Iterable[Case], targets: Iterable[Target]) -> Iterator[Result]:
    """Every claim of every case: one result per case and target that it says something about."""
    targets = list(targets)
    for case in suite:
        for target in targets:
            if case.claims(target.name):
                yield replay(case, target)


def tally(results: Iterable[Result]) -> dict[tuple[str, str], tuple[int, int]]:
    """(instruction, target) -> (cases passed, cases)."""
    passed: Counter[tuple[str, str]] = Counter()
    total: Counter[tuple[str, str]] = Counter()
    for r in results:
        total[r.op, r.target] += 1
        passed[r.op, r.target] += r.passed
    return {key: (passed[key], total[key]) for key in sorted(total)}


def replay(case: Case, target: Target) -> Result:
    """Judge one case on a target that it makes a claim about."""
    instr = TABLE.get(case.op)
    if instr is None or not instr.implemented or instr.run is None:
        return Result(case.id, case.op, target.name, False, problem=f"{case.op} is not implemented")
    bench = _Bench(case, instr, target)
    reported = tuple(sorted(bench.broken()))
    rule = case.illegal.get(target.name)
    if rule is not None:
        good = {rule, *case.accept.get(target.name, ())}
        return Result(case.id, case.op, target.name, bool(good & set(reported)), reported, rule)
    if reported:
        return Result(case.id, case.op, target.name, False, reported)
    expected = case.expected(target.name)
    if expected is None:
        return Result(case.id, case.op, target.name, True)
    try:
        bench.execute()
    except Fault as fault:
        return Result(case.id, case.op, target.name, False, (fault.rule,), problem=f"[{fault.rule}] {fault.message}")
    difference = bench.compare(expected)
    return Result(case.id, case.op, target.name, difference is None, (), None, difference)


class _Bench:
    """The operands of a case on one target."""

    def __init__(self, case: Case, instr: Instr, target: Target) -> None:
        self.case, self.instr, self.target = case, instr, target
        self.machine = Single(target)
        self.memory: dict[str, np.ndarray] = {}
        self.tiles: dict[str, Any] = {}
        self.operands: dict[str, Any] = {}
        names = OPERANDS.get(case.op, {})
        top: Counter[TileType] = Counter()
        for name, spec in case.tiles.items():
            tile = self.machine.tile(spec, case.inputs.get(name), name=name)
            tile.address = _place(spec, top, target)
            self.tiles[name] = self.operands[names.get(name, name)] = tile
        for name, view in case.views.items():
            self.operands[names.get(name, name)] = self._view(name, view)
        if "quant" in case.args:
            self.operands["quant"] = int(case.args["quant"])
        self.attrs = {k: v for k, v in _attributes(instr, case.args) if v is not None}

    def _view(self, name: str, view: ViewCase) -> Any:
        memory = np.zeros(view.nbytes, np.uint8)
        given = self.case.inputs.get(name)
        if given is not None:
            memory[:] = given
        self.memory[name] = memory
        return self.machine.view(view.dtype, memory, view.shape, view.stride, view.layout, name=name)

    def broken(self) -> set[str]:
        """All error rules that the case breaks: of its tile types and of the instruction."""
        found = {
            b.rule.id
            for spec in self.case.tiles.values()
            for b in check_tile(spec, self.target)
            if b.rule.severity is Severity.ERROR
        }
        given = {o.name: self.operands.get(o.name) for o in self.instr.operands}
        site = Site(self.instr, self.target, infos(given), attributes(self.instr, self.attrs))
        for b in broken_rules(site):
            if b.rule.severity is Severity.ERROR and b.rule.scope is Scope.ISA:
                found.add(b.rule.id)
        return found

    def execute(self) -> None:
        """Run the instruction. Raises `Fault`."""
        self.machine.execute(self.instr, self.operands, self.attrs)

    def compare(self, expected: Expectation) -> Difference | None:
        """The first difference: buffers that are listed as they say, the others unchanged."""
        everything: Mapping[str, np.ndarray | None] = {**self.case.inputs, **expected.out}
        for name, want in everything.items():
            if want is None:
                continue
            got = self.tiles[name].raw()[0] if name in self.tiles else self.memory[name]
            wrong = got ^ want
            if name in expected.out and name in expected.care:
                wrong &= expected.care[name]
            if wrong.any():
                return self._difference(name, int(np.flatnonzero(wrong)[0]), want, got)
        return None

    def _difference(self, name: str, byte: int, want: np.ndarray, got: np.ndarray) -> Difference:
        if name in self.tiles:
            spec = self.case.tiles[name]
            dtype, where = spec.dtype, _in_tile(spec, byte)
        else:
            view = self.case.views[name]
            dtype, where = view.dtype, self._in_view(name, byte, view)
        unit = dtype.size
        start = byte // unit * unit
        row, col = where or (None, None)
        bits = [int.from_bytes(a[start : start + unit].tobytes(), "little") for a in (want, got)]
        return Difference(name, row, col, byte, *bits)

    def _in_view(self, name: str, byte: int, view: ViewCase) -> tuple[int, int] | None:
        operand = self.operands[OPERANDS.get(self.case.op, {}).get(name, name)]
        element = byte * 2 if view.dtype.packed else byte // view.dtype.size
        hits = np.argwhere(operand.indices(view.layout)[0] == element)
        return (int(hits[0][0]), int(hits[0][1])) if len(hits) else None


def _in_tile(spec: TileSpec, byte: int) -> tuple[int, int] | None:
    element = byte * 2 if spec.dtype.packed else byte // spec.dtype.size
    if isinstance(spec, ConvSpec):
        return 0, element
    hits = np.argwhere(offset_map(spec) == element)
    return (int(hits[0][0]), int(hits[0][1])) if len(hits) else None


def _place(spec: TileSpec, top: Counter[TileType], target: Target) -> Any:
    """A legal address behind the tiles placed so far; unknown if the buffer is full."""
    address = top[spec.loc]
    top[spec.loc] += -(-spec.nbytes // ALIGNMENT) * ALIGNMENT
    return address if address + spec.nbytes <= target.capacity.get(spec.loc, 0) else UNKNOWN


def _attributes(instr: Instr, args: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Arguments of a case as attributes of the instruction."""
    for name, value in args.items():
        attr = next((a for a in instr.attrs if a.name == ATTRIBUTES.get(name, name)), None)
        if attr is not None:
            yield attr.name, _value(attr, value)


def _value(attr: Attr, value: Any) -> Any:
    if attr.kind is ReluPreMode:
        return ReluPreMode.NormalRelu if value else ReluPreMode.NoRelu
    if issubclass(attr.kind, Enum) and isinstance(value, str):
        spelled = {m.name.lower().removeprefix("atomic"): m for m in attr.kind}
        return spelled[value.lower()]
    return value
