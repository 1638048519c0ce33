"""Whether constants alone decide the addresses, the control flow and the flags of a kernel.

Then every launch of it does the same to memory, whatever it is given, and one launch under the sanitizer is a proof.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ptokit.ir.core import Value
from ptokit.isa.meaning.expressions import Expr, Fetched, leaves
from ptokit.isa.meaning.words import Gather, Keep, Lane, Ordering, Python, Scatter, Update
from ptokit.isa.site import Site, known
from ptokit.isa.table import Kind
from ptokit.plan.steps import FunctionPlan, Step, Way, values_of
from ptokit.run.program import Program
from ptokit.types.values import MemRef, PartitionView, Ptr, Scalar, TensorView

_READ = frozenset((Kind.TILE, Kind.VIEW, Kind.PTR, Kind.VREG, Kind.VECTOR, Kind.LOGICAL, Kind.PART, Kind.ALIGN))
"""What holds data: whatever is made of one of these is data."""

_ENDS = ("yield", "condition")
_CONTROL = frozenset(("if", "switch", "while", "condition", "branch", "for", "claim"))
_PASSED = frozenset(("yield", "return", "region", "scope", "call"))
_HARMLESS = frozenset(
    ("compute", "parameter", "dim", "stride", "valid", "valid_rows", "valid_cols", "several", "record")
)


def what_decides(program: Program, blocks: int | None) -> str:
    """Empty if the kernel is closed; else what beside constants decides. ``blocks``: None for any number of them."""
    look = _Look(program, blocks)
    return look.found or ""


class _Look:
    """Follows through a plan what is no constant."""

    def __init__(self, program: Program, blocks: int | None) -> None:
        self.open: set[Value] = set()
        self.found = ""
        self._blocks = blocks
        self._plan = program.plan
        if program.plan.threads:
            self.found = "threads"
            return
        for param in program.entry.params:
            kind = param.type
            dims = kind.dims if isinstance(kind, MemRef | TensorView | PartitionView) else ()
            if isinstance(kind, Scalar) or any(d < 0 for d in dims):
                self.open.add(param)
        before = -1
        while before != len(self.open) and not self.found:
            before = len(self.open)
            for function in self._plan.functions.values():
                self._function(function)

    def _function(self, function: FunctionPlan) -> None:
        for step in function.walk():
            self._step(step)
        for region in _regions(function):
            for block in region:
                for step in block.steps:
                    for way in step.ways:
                        self._flow(way, region)

    def _flow(self, way: Way, region: Any) -> None:
        for arg, value in zip(region[way.block].args, way.operands):
            if self._is_open(value):
                self.open.add(arg)

    def _is_open(self, operand: Any) -> bool:
        return any(value in self.open for value in values_of((operand,)))

    def _say(self, step: Step, what: str) -> None:
        self.found = self.found or f"{what} (line {step.op.location.line})"

    def _step(self, step: Step) -> None:
        word = step.word
        if word == "instruction":
            self._instruction(step)
            return
        taken = [operand for operand in step.operands if self._is_open(operand)]
        if word in ("block_idx", "total", "subblock", "subblocks") and self._blocks is None:
            self.open.update(step.results)
        elif word == "load_scalar":
            self.open.update(step.results)
            if taken:
                self._say(step, "an address")
        elif word == "store_scalar":
            if any(self._is_open(step[name]) for name in ("ptr", "index") if step.get(name) is not None):
                self._say(step, "an address")
        elif word == "for":
            if any(map(self._is_open, step.operands[:3])):
                self._say(step, "how often a loop runs")
            self._carried(step)
        elif word in _CONTROL:
            if taken and self._is_open(step.operands[0]):
                self._say(step, "control flow")
            self._carried(step)
        elif word in _PASSED:
            self._carried(step)
        elif word in ("element", "field", "set_element", "set_field"):
            self.open.update(step.results)  # their items are not followed
        elif word in _HARMLESS:
            if taken:
                self.open.update(step.results)
        elif taken:
            self._say(step, "an address or a size")

    def _carried(self, step: Step) -> None:
        """What a step hands to its regions, what they hand on, and what it gives in the end."""
        plan = self._plan.functions.get(step.callee) if step.word == "call" else None
        if plan is not None:
            self._hand(step.operands, plan.function.params)
            for end in (s for s in plan.walk() if s.word == "return"):
                self._hand(end.operands, step.results)
            return
        ends = [[s for block in region for s in block.steps if s.word in _ENDS] for region in step.regions]
        first = step.regions[0][0].args if step.regions else ()
        if step.word == "for":
            first = first[1:]
            self._hand(step.operands[3:], first)
            self._hand(step.operands[3:], step.results)
        elif step.word == "while":
            self._hand(step.operands, first)
        for k, region in enumerate(ends):
            for end in region:
                if end.word == "condition":
                    self._hand(end.operands[1:], step.results)
                    self._hand(end.operands[1:], step.regions[1][0].args)
                elif step.word == "while" and k:
                    self._hand(end.operands, first)
                else:
                    self._hand(end.operands, step.results)
                    self._hand(end.operands, first if step.word == "for" else ())

    def _hand(self, given: Iterable[Any], taken: Iterable[Value]) -> None:
        self.open.update(value for value, operand in zip(taken, given) if self._is_open(operand))

    # --- instructions --------------------------------------------------------------------------------------------

    def _instruction(self, step: Step) -> None:
        instr, site = step.instr, step.site
        assert instr is not None
        assert site is not None
        if instr.order.between_cores or instr.order.queued:
            return  # the run tells: it is the same for all arguments
        word = instr.meaning_at(site)
        for operand in instr.operands:
            taken = [step.get(operand.name), *step.group(operand.name)]
            if not any(self._is_open(x) for x in taken if x is not None):
                continue
            if operand.kind is Kind.SCALAR and self._is_value(site, operand.name):
                continue
            if operand.kind not in (Kind.VREG, Kind.VECTOR, Kind.LOGICAL, Kind.PART):
                what = "event ids" if instr.order.only else f"what {instr.name} touches"
                self._say(step, what)
        if _by_data(word, site):
            self._say(step, f"data, where {instr.name} reads or writes")
        held = [operand for operand in instr.operands if operand.kind in _READ and step.get(operand.name) is not None]
        if held or any(self._is_open(x) for x in step.operands) or isinstance(word, Python):
            self.open.update(r for r in step.results if not isinstance(r.type, Ptr))
        if any(self._is_open(x) for x in step.operands):
            self.open.update(step.results)

    @staticmethod
    def _is_value(site: Site, name: str) -> bool:
        """True if a number only becomes an element: no footprint needs it."""
        info: Any = site.operands.get(name)
        if getattr(info, "type", "").startswith(("f", "bf")):
            return True
        word = site.instr.meaning_at(site)
        tiles = [t for t in site.tiles if not known(t.vr, t.vc)]
        if not isinstance(word, Lane) or tiles or name in {w.offset for w in word.writes} or word.needs:
            return False
        return all(w.place is None and w.where is None and w.rows is None and w.cols is None for w in word.writes)


def _by_data(word: Any, site: Site) -> bool:
    """True if what an instruction touches depends on what operands hold."""
    match word:
        case Gather() | Scatter() | Update():
            return True
        case Lane():
            exprs: list[Expr] = [w.value for w in word.writes]
            placed = any(w.place is not None or w.where is not None for w in word.writes)
            return placed or bool(word.needs) or any(isinstance(e, Fetched) for x in exprs for e in leaves(x))
        case Python():
            return any(o.kind in (Kind.PTR, Kind.ALIGN) for o in site.instr.operands) or site.instr.checks_values(site)
        case None:
            return site.instr.checks_values(site)
    return isinstance(word, Ordering | Keep) is False and site.instr.checks_values(site)


def _regions(function: FunctionPlan) -> Iterator[Any]:
    yield function.body
    for step in function.walk():
        yield from step.regions
