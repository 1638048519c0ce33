"""What a proof comes to: a verdict for each claim, what is assumed, what callers owe; which kernels are closed.

This module needs no solver: kernels that constants alone decide are proved without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

from ptokit.ir.core import Value
from ptokit.isa.meaning.expressions import Expr, Fetched, Held, Stored, children
from ptokit.isa.meaning.words import Gather, Keep, Lane, Ordering, Python, Scatter, Update, Write
from ptokit.isa.site import Site, known
from ptokit.isa.table import Kind
from ptokit.plan.steps import FunctionPlan, Step, Way, constant, values_of, without_form
from ptokit.records import dataclass
from ptokit.run.program import Program
from ptokit.types.values import MemRef, PartitionView, Ptr, Scalar, TensorView


class Claim(StrEnum):
    """What a proof is about."""

    FLAGS = "flags"
    IDS = "event ids"
    PIPES = "pipes"
    BLOCKS = "blocks"
    BOUNDS = "bounds"
    WRITTEN = "initialised"


SENTENCES = {
    Claim.FLAGS: "flags and buffer tokens balance on every path, and no wait starves",
    Claim.IDS: "event ids are in range, and no flag is set again before it is waited for",
    Claim.PIPES: "no two pipes of a core race",
    Claim.BLOCKS: "no two blocks race",
    Claim.BOUNDS: "no access leaves its view, its array or its buffer",
    Claim.WRITTEN: "nothing on the chip is read that was not written",
}

OF_PIPES = (Claim.FLAGS, Claim.IDS, Claim.PIPES)
"""Claims that a compiler answers for where it orders the pipes."""

_RULES: dict[Claim, tuple[str, ...]] = {
    Claim.FLAGS: (
        "DEADLOCK",
        "FLAG-UNMATCHED",
        "FLAG-ORDER",
        "BUF-PROTOCOL",
        "UNIT-FLAG-LEFT",
        "XFLAG",
        "SYNCALL",
        "PIPE-LEFT",
    ),
    Claim.IDS: ("FLAG-RANGE", "FLAG-REUSE", "FLAG-ALIAS", "FLAG-PIPE", "BUF-PROTOCOL"),
    Claim.BLOCKS: ("RACE-XCORE", "RACE-XRANK"),
    Claim.PIPES: ("RACE", "PIPE-FREED", "PIPE-RING"),
    Claim.BOUNDS: ("GM-", "UB-CAPACITY", "ADDR-ALIGN", "TILE-01", "SS-1", "VS-3", "RUN-OUTSIDE", "VEC-A5-03", "PV-"),
    Claim.WRITTEN: ("UNINIT-READ",),
}


def claim_of(rule: str) -> Claim | None:
    """The claim that a finding of a run speaks against; None if no claim is about it."""
    return next((claim for claim, starts in _RULES.items() if rule.startswith(starts)), None)


STOPPED = "it was stopped before this was decided"
"""Why claims are open after Ctrl-C."""


class Verdict(StrEnum):
    """What is known of a claim."""

    PROVED = "proved"
    REFUTED = "refuted"
    OPEN = "open"
    COMPILER = "left to the compiler"


@dataclass(frozen=True)
class Counterexample:
    """Arguments, as after ``--arg``, for which a run shows it; ``rule`` and ``message`` are what that reports.

    ``shared``: pairs of parameters that get one array, the one given for the first of them. ``ranks``: 0 on one device.
    """

    rule: str
    message: str
    line: int
    arguments: tuple[str, ...]
    blocks: int
    shared: tuple[tuple[str, str], ...] = ()
    ranks: int = 0

    @property
    def command(self) -> str:
        """What shows it, after the program and its target."""
        given = "".join(f" -a {text}" for text in self.arguments)
        one = "".join(f", with {name} for {other}, too" for name, other in self.shared)
        ranks = f" --ranks {self.ranks}" if self.ranks else ""
        return f"ptokit sanitize ... --blocks {self.blocks}{ranks}{given}{one}"


@dataclass(frozen=True)
class Decided:
    """A claim. ``because``: why it is open, one reason for each place; ``lines``: where."""

    claim: Claim
    verdict: Verdict
    because: tuple[str, ...] = ()
    lines: tuple[int, ...] = ()
    counterexample: Counterexample | None = None

    def as_json(self) -> dict[str, Any]:
        """The JSON object of docs/formats.md."""
        shown = self.counterexample
        found: dict[str, Any] = {"claim": self.claim.value, "verdict": self.verdict.value}
        found |= {"because": list(self.because), "lines": list(self.lines)}
        if shown is not None:
            found["counterexample"] = {
                "rule": shown.rule,
                "message": shown.message,
                "line": shown.line,
                "arguments": list(shown.arguments),
                "blocks": shown.blocks,
                "shared": [list(pair) for pair in shown.shared],
            }
            found["counterexample"] |= {"ranks": shown.ranks} if shown.ranks else {}
        return found


NOT_COVERED = (
    "values",
    "order inside a pipe",
    "whether loops end",
    "what the arrays hold at first",
    "rules about sizes that the run checks",
)
"""What no proof is about."""


@dataclass
class Proof:
    """What is known of a kernel for all its arguments.

    ``scope``: for which arguments and numbers of blocks; ``closed``: constants alone decide its addresses, control and
    flags. ``needs``: what arrays have to hold. ``assumptions``: stated by the caller, then those of every proof.
    ``sufficient``: assumptions under which all claims are proved, where they are not without them, or only if numbers
    do not wrap, and some are known. ``stopped``: by Ctrl-C; what had been decided is kept. ``file``: in which the
    kernel is written. ``solver``: which one, and its version; empty where none was needed.
    """

    name: str
    target: str
    scope: str
    file: str = ""
    claims: list[Decided] = field(default_factory=list)
    closed: bool = False
    needs: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    sufficient: tuple[str, ...] = ()
    seconds: float = 0.0
    stopped: bool = False
    solver: str = ""

    @property
    def verdict(self) -> Verdict:
        """Refuted if a claim is, open if one is, else proved."""
        found = {decided.verdict for decided in self.claims}
        return next((v for v in (Verdict.REFUTED, Verdict.OPEN) if v in found), Verdict.PROVED)

    @property
    def proved(self) -> bool:
        """True if every claim is proved, or left to the compiler."""
        return self.verdict is Verdict.PROVED

    def __getitem__(self, claim: str) -> Decided:
        """A claim by its name."""
        return next(decided for decided in self.claims if decided.claim == claim)

    def lines(self, limit: int | None = None) -> list[str]:
        """What the terminal shows. ``limit``: reasons that are shown for a claim."""
        by = {v: [d for d in self.claims if d.verdict is v] for v in Verdict}
        name = f"{self.name} on {self.target}"
        out = [f"{name}: {self.verdict} {self.scope}" if self.proved else f"{name}, {self.scope}: {self.verdict}"]
        out += [f"  proved: {SENTENCES[d.claim]}" for d in by[Verdict.PROVED]]
        if by[Verdict.COMPILER]:
            out.append("  left to the compiler: flags and the order of pipes")
        for decided in by[Verdict.REFUTED]:
            shown = decided.counterexample
            assert shown is not None
            out.append(f"  refuted: {SENTENCES[decided.claim]}")
            where = f"line {shown.line}: " if shown.line else ""
            out.append(f"    {where}{shown.message} [{shown.rule}]")
            out.append(f"    shown by: {shown.command}")
        together: dict[tuple[str, ...], list[str]] = {}
        for decided in by[Verdict.OPEN]:
            why = tuple(f"line {n}: {text}" if n else text for text, n in zip(decided.because, decided.lines))
            together.setdefault(why, []).append(f"  open: {SENTENCES[decided.claim]}")
        for reasons, sentences in together.items():
            kept = reasons[:limit]
            out += [*sentences, *(f"    {reason}" for reason in kept)]
            if len(kept) < len(reasons):
                out.append(f"    and {len(reasons) - len(kept)} more")
        if self.sufficient:
            options = " ".join(f'--assume "{text}"' for text in self.sufficient)
            what = "no arithmetic wraps" if self.proved else "it holds"
            out.append(f"  {what} for {' and '.join(self.sufficient)}: {options}")
        out += [f"  needs: {need}" for need in self.needs]
        out.append(f"  assumed: {'; '.join(self.assumptions)}")
        out.append(f"  not covered: {', '.join(NOT_COVERED)}")
        return out

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__

    def as_json(self) -> dict[str, Any]:
        """The JSON object of docs/formats.md."""
        return {
            "schema_version": 1,
            "kernel": self.name,
            "file": self.file,
            "target": self.target,
            "verdict": self.verdict.value,
            "scope": self.scope,
            "closed": self.closed,
            "claims": [decided.as_json() for decided in self.claims],
            "needs": list(self.needs),
            "assumptions": list(self.assumptions),
            "sufficient": list(self.sufficient),
            "not_covered": list(NOT_COVERED),
            "stopped": self.stopped,
            "solver": self.solver,
            "seconds": round(self.seconds, 3),
        }


def counted(n: int, noun: str) -> str:
    """``3 blocks``."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def reasons(pairs: Sequence[tuple[str, int]]) -> dict[str, Any]:
    """The fields of a claim that is open."""
    each = list(dict.fromkeys(pairs))
    return {"because": tuple(why for why, _ in each), "lines": tuple(line for _, line in each)}


# Whether constants alone decide the addresses, the control flow and the flags of a kernel. Then every launch of it does
# the same to memory, whatever it is given, and one launch under the sanitizer is a proof.


_READ = frozenset((Kind.TILE, Kind.VIEW, Kind.PTR, Kind.VREG, Kind.VECTOR, Kind.LOGICAL, Kind.PART, Kind.ALIGN))
"""What holds data: whatever is made of one of these is data."""

_LANES = frozenset((Kind.MASK, Kind.LANES))
_REGISTERS = _LANES | {Kind.VREG, Kind.VECTOR, Kind.LOGICAL, Kind.PART, Kind.SCALAR}
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
        for step in (*function.first, *_reached(function.body)):
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
        touches = any(operand.kind not in _REGISTERS for operand in instr.operands)
        gate = word.mask if isinstance(word, Lane) and touches else ""
        for operand in instr.operands:
            if not self._operand_is_open(step, operand.name):
                continue
            if isinstance(word, Lane) and operand.kind in _LANES and not (word.keeps or operand.name == gate):
                continue
            if operand.kind is Kind.SCALAR and self._is_value(site, operand.name):
                continue
            if operand.kind not in (Kind.VREG, Kind.VECTOR, Kind.LOGICAL, Kind.PART):
                what = "event ids" if instr.order.only else f"what {instr.name} touches"
                self._say(step, what)
        if _by_data(word, site, lambda name: self._operand_is_open(step, name)):
            self._say(step, f"data, where {instr.name} reads or writes")
        held = [operand for operand in instr.operands if operand.kind in _READ and step.get(operand.name) is not None]
        if held or any(self._is_open(x) for x in step.operands) or isinstance(word, Python):
            self.open.update(r for r in step.results if not isinstance(r.type, Ptr))
        moved = not isinstance(word, Lane)  # pointers that a lane's word moves depend on no lanes
        if any(self._operand_is_open(step, o.name) for o in instr.operands if moved or o.kind not in _LANES):
            self.open.update(step.results)

    def _operand_is_open(self, step: Step, name: str) -> bool:
        return any(self._is_open(x) for x in (step.get(name), *step.group(name)) if x is not None)

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


def _by_data(word: Any, site: Site, is_open: Callable[[str], bool]) -> bool:
    """True if what an instruction touches depends on what operands hold. ``is_open``: of an operand, by name."""
    match word:
        case Gather() | Scatter() | Update():
            return True
        case Lane():
            looked = (*(need.number for need in word.needs), *(e for w in word.writes for e in _places(w)))
            return any(_of_data(e, is_open) for e in looked)
        case Python(by_numbers=by_numbers):
            held = not by_numbers and any(o.kind in (Kind.PTR, Kind.ALIGN) for o in site.instr.operands)
            return held or site.instr.checks_values(site)
        case None:
            return site.instr.checks_values(site)
    return isinstance(word, Ordering | Keep) is False and site.instr.checks_values(site)


def _places(write: Write) -> Iterator[Expr]:
    """What decides where lanes are written, and where lanes are read that memory holds."""
    yield from (e for e in (write.place, write.where) if e is not None)
    todo = [write.value]
    while todo:
        e = todo.pop()
        if isinstance(e, Fetched):
            yield from children(e)
        todo += children(e)


def _of_data(e: Expr, is_open: Callable[[str], bool]) -> bool:
    """True unless only lanes, constants and operands that are not open decide an expression."""
    below = children(e)
    if isinstance(e, Fetched | Stored | Held) or (not below and is_open(getattr(e, "name", ""))):
        return True
    return any(_of_data(part, is_open) for part in below)


def _reached(region: Any) -> Iterator[Step]:
    """The steps of a region, and of those in it that a constant does not leave out."""
    for block in region:
        for step in block.steps:
            yield step
            chosen = constant(without_form(step.operands[0])) if step.word == "if" else None
            for k, inner in enumerate(step.regions):
                if chosen is None or bool(chosen) is (k == 0):
                    yield from _reached(inner)


def _regions(function: FunctionPlan) -> Iterator[Any]:
    yield function.body
    for step in function.walk():
        yield from step.regions
