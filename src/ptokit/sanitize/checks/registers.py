"""Which lanes of registers hold what nothing has written, and which instruction uses one of them (vector-path 1.3).

A load may read more than was written: masks of what follows leave the other lanes out. So a load only notes its gaps,
the bytes that nothing has written. They go with the lanes that are computed from them, as the meanings of instructions
say: lanes that a mask leaves out become 0, and have none. What leaves the lanes is a use: a store, a reduction, a
comparison, a number. Instructions whose meaning does not tell lanes apart use all of their operands.

Registers are followed in the order of the program, and gaps in that of the simulation, which knows what was written.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ptokit.ir.core import Op
from ptokit.isa.meaning.expressions import (
    Apply,
    Before,
    Bit,
    Code,
    Const,
    Convert,
    Counted,
    Element,
    Expr,
    Fetched,
    First,
    Folded,
    Front,
    Held,
    Index,
    Listed,
    Once,
    Place,
    Reinterpret,
    Scalar,
    Stored,
    Taken,
    children,
    lanes_at,
    leaves,
    type_of,
)
from ptokit.isa.meaning.rows import constant
from ptokit.isa.meaning.words import Lane, Write
from ptokit.isa.site import Site, VregInfo
from ptokit.isa.table import Instr, Kind
from ptokit.isa.vector.registers import VREG_BYTES, active
from ptokit.machine.observer import Moment
from ptokit.records import dataclass
from ptokit.types.dtypes import DType

from ..simulation.clocks import Touch, places_of

if TYPE_CHECKING:
    from ..simulation.core import Work


@dataclass(slots=True, eq=False)
class Gap:
    """Bytes `places` that `work` has read by `touch` in a state that results must not depend on."""

    work: Work
    touch: Touch
    state: int
    places: np.ndarray


@dataclass(slots=True, eq=False)
class Register:
    """What is known of a register's bytes: by load and state the gap, and which bytes depend on it, (256,)."""

    gaps: dict[tuple[Op, int], tuple[Gap, np.ndarray]] = field(default_factory=dict)


class _Opaque(Exception):
    """The meaning does not tell lanes apart."""


@dataclass(slots=True, eq=False)
class Flow:
    """An instruction with registers: what it makes of the gaps of its sources, and of its own if it `loads`."""

    word: Lane | None  # None: it uses all of its sources
    types: Mapping[str, DType]
    pointers: frozenset[str]  # operands that are written to memory
    masks: Mapping[str, np.ndarray | None]
    values: Mapping[str, np.ndarray]  # of registers that choose lanes
    sources: Mapping[str, Register]
    results: Mapping[str, Register]
    loads: bool
    found: list[Gap] = field(default_factory=list)  # by its own load

    def finish(self) -> Iterator[tuple[Gap, str]]:
        """Hand the gaps on; those that are used, with the lanes that are, for people."""
        if not self.found and not any(source.gaps for source in self.sources.values()):
            for result in self.results.values():
                result.gaps = {}
            return
        gaps = {key: gap for source in self.sources.values() for key, (gap, _) in source.gaps.items()}
        own = {(gap.work.op, gap.state): gap for gap in self.found}
        held = {name: dict(source.gaps) for name, source in self.sources.items()}
        self.found = []
        for result in self.results.values():
            result.gaps = {}
        for key, gap in {**gaps, **own}.items():
            bytes_of = {name: of[key][1] for name, of in held.items() if key in of}
            if key in own:
                loaded = np.isin(places_of(gap.touch.where), gap.places)
            else:
                loaded = np.zeros(len(places_of(gap.touch.where)), bool)
            follower = _Follower(self, bytes_of, loaded)
            try:
                made = follower.follow()
            except _Opaque:
                name, lost = next(iter(bytes_of.items()), ("", loaded))
                size = self.types[name].size if name in self.types else 1
                yield gap, _shown(np.unique(np.flatnonzero(lost) // size))
                continue
            for name, lost in made.items():
                if name in self.results and lost.any():
                    self.results[name].gaps[key] = gap, lost
            if follower.used:
                yield gap, _shown(np.unique(np.concatenate(follower.used)))


def _shown(lanes: np.ndarray) -> str:
    """Lanes for people: ``lane 3``, ``lanes 43..63``, ``lanes 1, 3, 5, ...``."""
    first, last = int(lanes[0]), int(lanes[-1])
    if first == last:
        return f"lane {first}"
    if last - first + 1 == len(lanes):
        return f"lanes {first}..{last}"
    return f"lanes {', '.join(map(str, lanes[:3].tolist()))}{', ...' if len(lanes) > 3 else ''}"


class _Follower:
    """Which lanes depend on one gap: ``bytes_of`` tells it of the sources, `loaded` of the memory that is loaded."""

    def __init__(self, flow: Flow, bytes_of: Mapping[str, np.ndarray], loaded: np.ndarray) -> None:
        self.flow, self.bytes_of, self.loaded = flow, bytes_of, loaded
        self.used: list[np.ndarray] = []  # numbers of lanes

    def follow(self) -> dict[str, np.ndarray]:
        """By result the bytes that depend on it."""
        word, flow = self.flow.word, self.flow
        if word is None:
            raise _Opaque
        lanes = word.lanes or VREG_BYTES // self._type(word.over).size
        self.width = word.width or VREG_BYTES // lanes
        on = self._bits(word.mask, self.width) if word.mask else np.ones(lanes, bool)
        if len(on) != lanes:
            raise _Opaque
        made: dict[str, np.ndarray] = {}
        for need in word.needs:
            of = need.lanes or lanes
            self._use(self.lost(need.number, of), on if of == lanes else None)
        for keep in word.keeps:
            if not isinstance(keep.values, Expr):
                raise _Opaque
            self._use(self.lost(keep.values, lanes))
        for write in word.writes:
            lost = self.lost(write.value, lanes) & on
            if write.run != 1:
                raise _Opaque
            if write.place is not None:
                self._use(self.lost(write.place, lanes), on)
            if write.where is not None:
                self._use(self.lost(write.where, lanes), on)
                where = self.known(write.where, lanes)
                lost = lost if where is None else lost & where
            if write.packed or write.place is not None or write.name not in self._registers():
                self._use(lost)
                continue
            before = made.setdefault(write.name, np.zeros(VREG_BYTES, bool))
            before |= self._placed(write, lost)
        return made if flow.results else {}

    def _registers(self) -> frozenset[str]:
        return frozenset(self.flow.results) - self.flow.pointers

    def _placed(self, write: Write, lost: np.ndarray) -> np.ndarray:
        """The bytes of a register for lanes of a write."""
        kind = type_of(write.value, self.flow.types)
        if not isinstance(kind, DType):
            raise _Opaque
        out = np.zeros((VREG_BYTES // kind.size, kind.size), bool)
        places = lanes_at(write.at, len(lost))
        if max(places) >= len(out):
            raise _Opaque
        out[places] = lost[:, None]
        return out.reshape(-1)

    def _type(self, name: str) -> DType:
        if name not in self.flow.types:
            raise _Opaque
        return self.flow.types[name]

    def _use(self, lost: np.ndarray, on: np.ndarray | None = None) -> None:
        lanes = np.flatnonzero(lost if on is None else lost & on)
        if len(lanes):
            self.used.append(lanes)

    def _bits(self, name: str, width: int) -> np.ndarray:
        """Which lanes of `width` bytes a predicate names; all where there is none."""
        mask = self.flow.masks.get(name)
        on = active(mask, width)
        return np.ones(VREG_BYTES // width, bool) if on is None else on[0]

    def lost(self, e: Expr, lanes: int) -> np.ndarray:
        """The lanes of an expression that depend on the gap."""
        match e:
            case Element(name, at, dtype):
                size = (dtype or self._type(name)).size
                held = self.bytes_of.get(name)
                if held is None:
                    return np.zeros(lanes, bool)
                return _taken(_elements(held, size), at, lanes)
            case Stored(_, dtype, _, _, at, _, pitch):
                return _taken(_elements(self.loaded, dtype.size), at, lanes, pitch)
            case Bit() | Scalar() | Const() | Code() | Place() | Held() | Listed():
                return np.zeros(lanes, bool)
            case Apply("select", (condition, one, other)):
                chosen = self.known(condition, lanes)
                if chosen is None:
                    return self._any(e.args, lanes)
                return np.where(chosen, self.lost(one, lanes), self.lost(other, lanes))
            case Apply("and", args):
                found = self._any(args, lanes)
                for arg in args:
                    holds = self.known(arg, lanes)
                    found = found if holds is None or holds.dtype != bool else found & holds
                return found
            case Apply(_, args) | Once(_, args):
                return self._any(args, lanes)
            case Convert(value) | Reinterpret(value):
                return self.lost(value, lanes)
            case Front(values, count):
                parts = [self.lost(value, lanes)[:count] for value in values]
                front = np.concatenate(parts)
                return np.concatenate((front, np.zeros(max(0, lanes - len(front)), bool)))[:lanes]
            case Folded(_, value, where):
                return self._folded(value, where, e.lanes or lanes, lanes)
            case Counted(value, at, where):
                self._use(self.lost(at, lanes))
                return self._folded(value, where, e.lanes or lanes, lanes)
            case Taken(value, place):
                self._use(self.lost(place, lanes))
                numbers = self.known(place, lanes)
                taken = self.lost(value, lanes)
                if numbers is not None:
                    return np.broadcast_to(taken[numbers.astype(np.int64) % lanes], lanes)
                self._use(taken)
                return np.zeros(lanes, bool)
            case First() | Before():
                for child in children(e):
                    self._use(self.lost(child, lanes))
                return np.zeros(lanes, bool)
            case Fetched(run=1):
                for child in children(e):
                    self._use(self.lost(child, lanes))
                return np.zeros(lanes, bool)
        raise _Opaque

    def _folded(self, value: Expr, where: Expr | None, inner: int, lanes: int) -> np.ndarray:
        """All lanes that take part are used."""
        lost = self.lost(value, inner)
        if where is not None:
            self._use(self.lost(where, inner))
            on = self.known(where, inner)
            lost = lost if on is None else lost & on
        self._use(lost)
        return np.zeros(lanes, bool)

    def _any(self, args: Iterable[Expr], lanes: int) -> np.ndarray:
        found = np.zeros(lanes, bool)
        for arg in args:
            found |= self.lost(arg, lanes)
        return found

    def known(self, e: Expr, lanes: int) -> np.ndarray | None:
        """What an expression of predicates, numbers of lanes and registers that choose lanes is; None if it depends on
        more."""

        def leaf(e: Expr) -> np.ndarray | None:
            match e:
                case Bit(name, at, width):
                    return _taken(self._bits(name, width or self.width), at, lanes)
                case Element(name, at, dtype) if name in self.flow.values:
                    held = self.flow.values[name]
                    numbers = held if dtype is None else held.view(dtype.storage)
                    return _taken(numbers, at, lanes) if numbers.dtype.kind in "iu" else None
            return None

        found = constant(e, lanes, self.flow.types, leaf)
        return None if found is None else np.broadcast_to(found, lanes)


def _elements(of: np.ndarray, size: int) -> np.ndarray:
    """Which elements of `size` bytes have one of the bytes."""
    found: np.ndarray = of.reshape(-1, size).max(axis=1)
    return found


def _taken(found: np.ndarray, at: Index, lanes: int, pitch: int = 0) -> np.ndarray:
    places = lanes_at(at, lanes, pitch)
    if max(places) >= len(found) or min(places) < 0:
        raise _Opaque
    taken: np.ndarray = found[places]
    return taken


@dataclass(slots=True, eq=False)
class _Plan:
    """What of a flow is the same each time an operation is carried out."""

    word: Lane | None
    types: dict[str, DType]
    pointers: frozenset[str]
    registers: frozenset[str]  # results
    choosing: frozenset[str]  # registers whose numbers are those of lanes
    span: int  # bytes that it loads into registers alone, or 0


class Registers:
    """The registers of one core in program order."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, Register]] = {}  # by identity of the array
        self._plans: dict[Op, _Plan] = {}

    def follow(self, moment: Moment, site: Site, given: Mapping[str, Any], touches: list[Touch]) -> Flow | None:
        """An instruction has been carried out; what it does with gaps, None if it has to do with none."""
        op, instr = moment.op, site.instr
        plan = self._plans.get(op)
        if plan is None:
            plan = self._plans[op] = _planned(instr, site)
        if not plan.span and not self._known:
            return None
        sources = {name: known[1] for name, value in given.items() if (known := self._known.get(id(value)))}
        listed = {
            f"{name}[{k}]": known[1]
            for name, value in given.items()
            if isinstance(value, list | tuple)
            for k, part in enumerate(value)
            if (known := self._known.get(id(part)))
        }
        sources |= listed
        reads = [touch.where for touch in touches if not touch.write]
        loads = bool(plan.span and reads) and all(
            len(where.starts) == 1 and (where.lo, where.hi) == (reads[0].lo, reads[0].lo + plan.span) for where in reads
        )
        results: dict[str, Register] = {}
        for name, value in moment.returned.items():
            if not isinstance(value, np.ndarray):
                continue
            self._known.pop(id(value), None)
            if name in plan.registers and (sources or loads):
                results[name] = self._keep(value)
        if not (sources or loads):
            return None
        masks = {o.name: given.get(o.name) for o in instr.operands if o.kind is Kind.MASK}
        values = {name: given[name][0].copy() for name in plan.choosing if isinstance(given.get(name), np.ndarray)}
        word = None if listed else plan.word
        return Flow(word, plan.types, plan.pointers, masks, values, sources, results, loads)

    def _keep(self, value: np.ndarray) -> Register:
        key, register = id(value), Register()
        self._known[key] = weakref.ref(value, partial(self._gone, self._known, key)), register
        return register

    @staticmethod
    def _gone(known: dict[int, tuple[Any, Register]], key: int, held: Any) -> None:
        if key in known and known[key][0] is held:
            del known[key]


def _planned(instr: Instr, site: Site) -> _Plan:
    types = {}
    for operand in (*instr.operands, *instr.produces):
        info = site.operands.get(operand.name) or site.operands.get(operand.like)
        if isinstance(info, VregInfo):
            types[operand.name] = info.dtype
    word = instr.meaning_at(site)
    pointers = frozenset(o.name for o in instr.operands if o.kind is Kind.PTR)
    registers = frozenset(o.name for o in instr.produces if o.kind is Kind.VREG)
    if not isinstance(word, Lane):
        return _Plan(None, types, pointers, registers, frozenset(), 0)
    spans = {span for write in word.writes for span in _spans(write.value)}
    alone = all(write.name in registers and not write.packed for write in word.writes)
    choosing = frozenset(name for write in word.writes for name in _choosing(write.value))
    return _Plan(word, types, pointers, registers, choosing, spans.pop() if alone and len(spans) == 1 else 0)


def _choosing(e: Expr) -> Iterator[str]:
    """The registers by whose numbers lanes are taken."""
    if isinstance(e, Taken):
        yield from (leaf.name for leaf in leaves(e.place) if isinstance(leaf, Element))
    for child in children(e):
        yield from _choosing(child)


def _spans(e: Expr) -> Iterator[int]:
    """The bytes of memory that the loads in an expression read."""
    if isinstance(e, Stored):
        yield e.span
    for child in children(e):
        yield from _spans(child)
