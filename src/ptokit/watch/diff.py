"""Two runs on the same input: which operations belong together, and the first whose results differ."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import field
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from ptokit.diagnostics import DiagnosticError
from ptokit.ir.core import Module, Op
from ptokit.machine.observer import Moment, Observer
from ptokit.records import dataclass
from ptokit.run import Program
from ptokit.run.backends import DEFAULT

from .seen import Seen, seen

# Which operations of two programs belong together.


class Pairing:
    """The operations of two modules: those with equal names and operands first, then those with equal names.

    ``partner`` has for an operation of the first module that of the second; ``alone`` those of either without one.
    """

    def __init__(self, a: Module, b: Module) -> None:
        self.partner: dict[Op, Op] = {}
        self.alone: tuple[list[Op], list[Op]] = ([], [])
        self._pair(_operations(a), _operations(b), (_key, _name))

    def _pair(self, a: list[Op], b: list[Op], keys: tuple[Callable[[Op], Any], ...]) -> None:
        """Pair by the first of the keys, what lies between by the others."""
        if not keys:
            self.alone[0].extend(a)
            self.alone[1].extend(b)
            return
        key, *more = keys
        one, other = ([key(op) for op in ops] for ops in (a, b))
        for kind, i0, i1, j0, j1 in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
            if kind == "equal":
                self.partner.update(zip(a[i0:i1], b[j0:j1]))
            else:
                self._pair(a[i0:i1], b[j0:j1], tuple(more))


def _operations(module: Module) -> list[Op]:
    """What may be a step of a run; constants, arithmetic and control flow are none."""
    bodies = [function.body for function in module.functions if function.body is not None]
    return [op for body in bodies for op in body.walk() if op.name.startswith("pto.")]


def _key(op: Op) -> tuple[str, tuple[str, ...]]:
    return op.name, tuple(value.name for value in (*op.values, *op.results))


def _name(op: Op) -> str:
    return op.name


# Two runs on the same input: the first instruction whose results differ.


_AT_ONCE = 32  # results whose contents are kept to be compared


@dataclass
class Side:
    """One of the two runs: a program with its arguments, which stay as they are, and the options of its launch."""

    program: Program
    args: Sequence[Any]
    matmul: str = "exact"
    backend: str | None = None

    @property
    def watched(self) -> bool:
        """False for a backend that observers do not see."""
        return self.backend in (None, DEFAULT)

    def copied(self) -> list[Any]:
        """Arguments for one launch."""
        return [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in self.args]

    def launch(self, args: Sequence[Any], blocks: int, observer: Observer | None = None) -> None:
        """Run it on `args`, in place."""
        self.program.launch(
            args, blocks, matmul=self.matmul, backend=DEFAULT if observer else self.backend, observer=observer
        )


@dataclass(frozen=True)
class Tolerance:
    """How far two numbers may be apart: ``atol + rtol * |b|``. Both 0: they are equal; NaN equals NaN, 0 not -0."""

    rtol: float = 0.0
    atol: float = 0.0

    def differing(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Places (n, rank) of the elements that differ, of arrays of one shape."""
        one, other = _wide(a), _wide(b)
        with np.errstate(invalid="ignore"):
            if self.rtol or self.atol:
                return np.argwhere(~np.isclose(one, other, self.rtol, self.atol, equal_nan=True))
            same = one == other
            if one.dtype.kind == "f" == other.dtype.kind:
                same = (same & (np.signbit(one) == np.signbit(other))) | (np.isnan(one) & np.isnan(other))
        return np.argwhere(~same)


def _wide(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


@dataclass(frozen=True)
class ArgumentDifference:
    """How much one argument differs after the two runs; ``first`` is None if it does not."""

    name: str
    count: int
    size: int
    first: tuple[int, ...] | None
    values: tuple[Any, Any] | None


@dataclass(frozen=True)
class StepDifference:
    """What an instruction has left on both sides. ``first``: where they differ first; None if their shapes do."""

    a: Seen
    b: Seen
    count: int
    first: tuple[int, ...] | None


@dataclass
class Difference:
    """What `diff` has found. False if nothing differs."""

    first: StepDifference | None = None
    arguments: list[ArgumentDifference] = field(default_factory=list)
    compared: int = 0  # results of instructions
    alone: tuple[list[Op], list[Op]] = field(default_factory=lambda: ([], []))  # operations without a partner
    failed: tuple[DiagnosticError | None, DiagnosticError | None] = (None, None)
    writer: Seen | None = None  # where only arguments are compared: the step that has written the first that differs

    def __bool__(self) -> bool:
        return self.first is not None or any(a.count for a in self.arguments) or self.failed != (None, None)


Number = tuple[int, int, Op, int, str]
"""A result of an instruction: block, core, operation, how often that has been executed before, and the operand."""


class _Results(Observer):
    """Calls `found` with every result of an instruction that one of the wanted operations has, in order."""

    def __init__(self, found: Callable[[Number, Moment], None]) -> None:
        self._found = found
        self._times: dict[tuple[int, int, Op], int] = {}

    def after(self, moment: Moment) -> None:
        if not moment.left:
            return
        place = (moment.block, moment.core, moment.op)
        times = self._times[place] = self._times.get(place, -1) + 1
        for operand in moment.left:
            self._found((*place, times, operand), moment)


def _digest(array: Any) -> bytes:
    data = np.ascontiguousarray(array)
    told = f"{data.dtype} {data.shape}".encode()
    return hashlib.blake2b(told + data.tobytes() if array is not None else b"", digest_size=12).digest()


def diff(
    a: Side,
    b: Side,
    blocks: int = 1,
    *,
    tolerance: Tolerance | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Difference:
    """Run both on copies of their arguments and compare what every instruction leaves, in the order of A.

    The first array of A belongs to the first of B, and so on; numbers are only handed over.

    Where a side runs on a backend that cannot be watched, the arguments are compared, and what has written the first
    element that differs is found on the other one.
    """
    tolerance = tolerance or Tolerance()
    pairing = Pairing(a.program.module, b.program.module)
    found = Difference(alone=pairing.alone)
    watched = a.watched and b.watched
    digests: list[dict[Number, bytes]] = [{}, {}]
    ends, failed = [], []
    for k, side in enumerate((a, b)):
        progress(f"running {'AB'[k]}")
        mine, copies = digests[k], side.copied()

        def note(number: Number, moment: Moment, mine: dict[Number, bytes] = mine) -> None:
            mine[number] = _digest(moment.contents(number[-1]))

        failed.append(_launched(side, copies, blocks, _Results(note) if watched else None))
        ends.append(copies)
    found.failed = (failed[0], failed[1])
    found.arguments = _arguments(a, ends[0], ends[1], tolerance)
    if watched:
        _compare(found, (a, b), digests, pairing, blocks, tolerance)
    else:
        found.writer = _writer(found, a if a.watched else b, blocks)
    return found


def _launched(side: Side, args: list[Any], blocks: int, observer: Observer | None) -> DiagnosticError | None:
    try:
        side.launch(args, blocks, observer)
    except DiagnosticError as error:
        return error
    return None


def _compare(
    found: Difference,
    sides: tuple[Side, Side],
    digests: list[dict[Number, bytes]],
    pairing: Pairing,
    blocks: int,
    tolerance: Tolerance,
) -> None:
    """Find the first pair of results that differ."""
    pairs: list[tuple[Number, Number]] = []
    for number, digest in digests[0].items():
        block, core, op, times, operand = number
        partner = pairing.partner.get(op)
        if partner is None:
            continue
        other = (block, core, partner, times, operand)
        if other in digests[1]:
            found.compared += 1
            if digests[1][other] != digest:
                pairs.append((number, other))
    for begin in range(0, len(pairs), _AT_ONCE):
        part = pairs[begin : begin + _AT_ONCE]
        held = [_contents(sides[k], {pair[k] for pair in part}, blocks) for k in (0, 1)]
        for one, other in part:
            found.first = _differs(held[0][one], held[1][other], tolerance)
            if found.first is not None:
                return


def _contents(side: Side, wanted: set[Number], blocks: int) -> dict[Number, Seen]:
    kept: dict[Number, Seen] = {}

    def keep(number: Number, moment: Moment) -> None:
        if number in wanted:
            kept[number] = seen(moment, number[-1])

    _launched(side, side.copied(), blocks, _Results(keep))
    return kept


def _differs(a: Seen, b: Seen, tolerance: Tolerance) -> StepDifference | None:
    if a.array is None or b.array is None or a.array.shape != b.array.shape:
        return StepDifference(a, b, 0, None)
    places = tolerance.differing(a.array, b.array)
    return StepDifference(a, b, len(places), tuple(int(i) for i in places[0])) if len(places) else None


def compare_with(side: Side, wanted: Sequence[Any], blocks: int, tolerance: Tolerance) -> Difference:
    """Run one side on copies of its arguments and compare what is left with `wanted`, an array for each of its arrays.

    Of the first element that differs the step is found that has written it.
    """
    found = Difference()
    left = side.copied()
    error = _launched(side, left, blocks, None)
    if error is not None:
        raise error
    found.arguments = _arguments(side, left, list(wanted), tolerance)
    if found:
        found.writer = _writer(found, side, blocks)
    return found


def _arguments(a: Side, one: list[Any], other: list[Any], tolerance: Tolerance) -> list[ArgumentDifference]:
    out = []
    named = [(i, p, x) for i, (p, x) in enumerate(zip(a.program.params, one)) if isinstance(x, np.ndarray)]
    for (i, param, x), y in zip(named, (y for y in other if isinstance(y, np.ndarray))):
        places = tolerance.differing(x, y)
        first = tuple(int(k) for k in places[0]) if len(places) else None
        values = (x[first], y[first]) if first is not None else None
        name = param.name if param.name and not param.name.isdigit() else f"argument {i}"
        out.append(ArgumentDifference(name, len(places), x.size, first, values))
    return out


def _writer(found: Difference, side: Side, blocks: int) -> Seen | None:
    """The last step that has changed the first element that differs."""
    copies = side.copied()
    arrays = [array for array in copies if isinstance(array, np.ndarray)]
    where = next(((k, d.first) for k, d in enumerate(found.arguments) if d.first is not None), None)
    if where is None or not side.watched:
        return None
    array, place = arrays[where[0]], where[1]
    last: Seen | None = None
    before = array[place].tobytes()

    def look(number: Number, moment: Moment) -> None:
        nonlocal last, before
        now = array[place].tobytes()
        if now != before:
            before, last = now, seen(moment, number[-1])

    _launched(side, copies, blocks, _Results(look))
    return last
