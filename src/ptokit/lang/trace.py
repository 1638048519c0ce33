"""The kernel being traced: regions, values in scope, constants, and the operations recorded."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from ptokit.diagnostics import Location, Note
from ptokit.diagnostics.finding import Argument
from ptokit.ir import Block, Function, Module, Op, Value
from ptokit.ir.control import return_of
from ptokit.ir.core import SHALLOW, make_room
from ptokit.targets import Target
from ptokit.types.values import I1, INDEX, Type
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .rules import here, refusal, target_name

# The kernel being traced: regions, values in scope, constants, and the operations recorded so far.


class Region:
    """A block under construction. ``kind`` is the word used for it in messages."""

    def __init__(self, kind: str, parent: Region | None, location: Location) -> None:
        self.kind = kind
        self.parent = parent
        self.location = location
        self.block = Block()
        self.open = self.entered = False
        self.alternative: Region | None = None  # of a then-branch: its else-branch

    def is_in(self, other: Region) -> bool:
        """True if this is `other` or inside it."""
        region: Region | None = self
        while region is not None and region is not other:
            region = region.parent
        return region is not None

    def excluded(self) -> bool:
        """True while an else-branch runs whose then-branch holds this region: nothing in here has happened."""
        region: Region | None = self
        while region is not None:
            if region.alternative is not None and region.alternative.open:
                return True
            region = region.parent
        return False


class Trace:
    """One trace of a kernel function. Operations go to the innermost open region."""

    kind = ""  # of core, where an interpreted kernel runs on several kinds
    eager = False
    of_kernel = True  # a session that executes operations instead (core_session)
    tile_type: type | None = None  # class of the tiles made in it, where that is not Tile

    def __init__(self, name: str, target: Target, location: Location) -> None:
        self.target = target
        self.location = location
        self.root = Region("kernel", None, location)
        self.regions: list[Region] = []
        self.function = Function(name, [], body=self.root.block, location=location)
        self.expected: list[Region] = []  # made for with-statements
        self.ledger: Any = None  # of the innermost branch or loop: the objects of Python that were there before it
        self.frozen: list[tuple[list[Any], list[Any]]] = []  # lists that may be one of several, and their items
        self._homes: dict[Value, Region] = {}
        self._constants: dict[tuple[str, str], Op] = {}
        self._names: set[str] = set()
        self._numbers: dict[str, int] = {}
        self._arguments: dict[str, list[Region]] = {}  # names of arguments, and the regions that they belong to

    @property
    def region(self) -> Region:
        """The innermost open region."""
        return self.regions[-1]

    def parameter(self, type: Type, name: str, place: Location) -> Value:
        """Add a parameter to the function; ``place``: where it is written."""
        value = Value(type, self.unique(name), self.root.block, place, name)
        self._homes[value] = self.root
        self.function.params.append(value)
        return value

    def emit(
        self,
        name: str,
        operands: Mapping[str, Value | list[Value] | None] | None = None,
        attrs: dict[str, Any] | None = None,
        results: Sequence[Type] = (),
        *,
        hint: str | None = None,
        location: Location | None = None,
        arguments: Mapping[str, Argument] | None = None,
    ) -> Op:
        """Record an operation at the user's call and return it.

        ``hint`` names its result; without it that is the variable that the user's statement assigns. ``arguments``: as
        of the operation.
        Raises `DiagnosticError` (LANG-SCOPE) if an operand is not in scope.
        """
        place = here() if location is None else location
        op = Op(name, dict(operands or {}), attrs or {}, location=place, arguments=arguments or {})
        for type in results:
            op.results.append(self.result(type, target_name(place) if hint is None else hint, op))
        return self.add(op)

    def add(self, op: Op) -> Op:
        """Record an operation and return it. Raises `DiagnosticError` (LANG-SCOPE) if an operand is not in scope."""
        if op.arguments is None and not op.in_cpp:  # made by its class, which does not know the language
            op.arguments = {}
        for value in op.values:
            self.check_scope(value, op.location)
        self.take(op)
        return op

    def result(self, type: Type, name: str, op: Op) -> Value:
        """A result for an operation."""
        value = Value(type, self.unique(name), op, op.location, name)
        self._homes[value] = self.region
        return value

    def take(self, op: Op) -> None:
        """Take an operation that is complete."""
        self.region.block.add(op)

    def constant(self, value: bool | int | float, type: ScalarType, *, computed: bool = False) -> Value:
        """The constant with this value, made once per kernel at its beginning.

        ``computed``: it is a number of the kernel, which only an eager session has.
        """
        key = (type.name, repr(value))
        op = self._constants.get(key)
        if op is None:
            result = Value(type, self.unique(_constant_name(value, type)), location=here(), called=repr(value))
            op = Op("arith.constant", {}, {"value": value}, [result], location=result.location, arguments={})
            self._constants[key] = op
            self._homes[result] = self.root
        return op.result

    def argument(self, region: Region, type: Type, name: str) -> Value:
        """Add an argument to the block of a region (a loop variable)."""
        called = name
        if any(holder.open for holder in self._arguments.get(name, (self.root,))):
            name = self.unique(name)
        self._arguments.setdefault(name, []).append(region)
        value = Value(type, name, region.block, region.location, called)
        region.block.args.append(value)
        self._homes[value] = region
        return value

    def pointer(self, memory: Any) -> Any:
        """What a GlobalTensor is made of: a kernel has pointers, a session takes arrays too."""
        return memory

    def visible(self, value: Value) -> bool:
        """True if the value can be used here."""
        home = self._homes.get(value)
        return home is not None and home.open

    def check_scope(self, value: Value, location: Location | None = None) -> None:
        """Refuse a value whose region has ended, or that another trace made."""
        home = self._homes.get(value)
        if home is None:
            raise refusal(
                rules.SCOPE,
                "this value was made while another kernel was traced",
                location=location,
                hint="make it in this kernel, or pass what it depends on as a parameter",
            )
        if not home.open:
            raise refusal(
                rules.SCOPE,
                f"this value was made in a {home.kind} that has ended",
                location=location,
                hint=f"make it before the {home.kind}; carry data between iterations and branches in a tile",
                notes=[Note("made here", value.location), Note(f"the {home.kind} begins here", home.location)],
            )

    def unique(self, hint: str) -> str:
        """`hint`, numbered if the function has that name already; empty if the hint is, or cannot stand in text."""
        name = hint if hint.isascii() else ""
        if name in self._names:
            n = self._numbers.get(hint, 0)  # all numbers up to it are taken
            while name in self._names:
                n += 1
                name = f"{hint}_{n}"
            self._numbers[hint] = n
        if name:
            self._names.add(name)
        return name

    @contextmanager
    def running(self) -> Iterator[None]:
        """Make this the current trace of the thread, with its outermost region open."""
        previous = getattr(_ACTIVE, "trace", None)
        _ACTIVE.trace = self
        self.enter(self.root)
        try:
            yield
        finally:
            _ACTIVE.trace = previous

    def enter(self, region: Region) -> None:
        """Record into `region` from now on."""
        region.open = region.entered = True
        self.regions.append(region)
        if len(self.regions) > SHALLOW:
            make_room()

    def leave(self, region: Region) -> None:
        """Stop recording into `region`. Refuses if a loop inside was left early (LANG-CONTROL)."""
        if self.region is not region:
            inner = self.region
            raise refusal(
                rules.CONTROL,
                f"this {inner.kind} was left early, by break, return or an exception that was caught",
                location=inner.location,
                hint="a traced loop runs to its end: shorten its range, or guard the rest of the body with pto.if_",
            )
        region.open = False
        self.regions.pop()

    def take_over(self, region: Region) -> None:
        """Move the operations of a region that has ended to the end of this one, as if they had been recorded here."""
        for op in region.block.ops:
            self.region.block.add(op)
            for value in op.results:
                self._homes[value] = self.region
        region.block.ops = []

    def add_result(self, op: Op, type: Type, name: str) -> Value:
        """A further result of an operation of this region, known after the regions inside of it."""
        op.results.append(self.result(type, name, op))
        return op.results[-1]

    def finish(self, file: str | None) -> Module:
        """Close the function and return its module, without arithmetic that nothing uses."""
        for region in self.expected:
            if not region.entered:
                raise refusal(
                    rules.CONTROL,
                    f"this {region.kind} has no body",
                    location=region.location,
                    hint="use it in a with-statement: with pto.if_(condition):",
                )
        self.add(return_of(self.location))
        self.leave(self.root)
        self.root.block.ops[:0] = self._constants.values()
        _drop_unused(self.root.block, set())
        return Module([self.function], {"pto.target_arch": self.target.arch}, file=file, text=False)


def _constant_name(value: bool | int | float, type: ScalarType) -> str:
    """The customary names: c64, c64_i64, cst."""
    if isinstance(value, float) or value < 0:
        return "cst"
    return str(value).lower() if type == I1 else f"c{value}" if type == INDEX else f"c{value}_{type}"


def _drop_unused(block: Block, used: set[Value]) -> None:
    """Remove arithmetic without users, last operation first, so that chains disappear in one pass."""
    kept: list[Op] = []
    for op in reversed(block.ops):
        if op.name.startswith("arith.") and used.isdisjoint(op.results):
            continue
        for region in reversed(op.regions):
            _drop_unused(region, used)
        used.update(op.values)
        kept.append(op)
    block.ops[:] = reversed(kept)


_ACTIVE = threading.local()


def tracing() -> Trace | None:
    """The trace of this thread, or None outside kernels."""
    return getattr(_ACTIVE, "trace", None)


def current(what: str) -> Trace:
    """The trace of this thread; refuses `what` outside of a kernel (LANG-CONTEXT)."""
    trace = tracing()
    if trace is None:
        raise refusal(
            rules.CONTEXT,
            f"{what} is used outside of a kernel",
            hint='move it into a function decorated with @pto.kernel(target="..."), or call it on a pto.Core("...")',
        )
    return trace


# A property of a tile that the kernel changes while it runs: its address binding, its valid region.


T = TypeVar("T")


class Tracked(Generic[T]):
    """The latest value of a property, as far as the trace can know it.

    A change in a branch or loop is known inside of it. Afterwards either value is possible, so asking is refused until
    the property is set again; so is a change inside a loop after the loop has asked (LANG-SCOPE).
    """

    def __init__(self, trace: Trace, what: str, value: T) -> None:
        self._trace = trace
        self._what = what
        self._changes: list[tuple[Region, T, Location]] = [(trace.region, value, here())]
        self._asked_in: dict[Region, Location] = {}

    def get(self) -> T:
        """The value at this point of the trace."""
        self._asked_in.setdefault(self._trace.region, here())
        for region, value, place in reversed(self._changes):
            if region.open:
                return value
            if not region.excluded():
                raise refusal(
                    rules.SCOPE,
                    f"{self._what} was changed in a {region.kind} that has ended, so it is not known here",
                    hint="set it again here",
                    notes=[Note("changed here", place)],
                )
        raise refusal(rules.SCOPE, f"{self._what} belongs to a region that has ended")

    def known(self) -> T | None:
        """The value at this point, or None if the trace cannot know it."""
        for region, value, _ in reversed(self._changes):
            if region.open:
                return value
            if not region.excluded():
                return None
        return None

    def set(self, value: T) -> None:
        """Record a change at this point of the trace."""
        for region, place in self._asked_in.items():
            loop = self._loop_around(region)
            if loop is not None:
                raise refusal(
                    rules.SCOPE,
                    f"{self._what} changes in a loop that used it before, so it differs in the next iteration",
                    hint="set it at the beginning of the loop body",
                    notes=[Note("used here", place)],
                )
        self._changes.append((self._trace.region, value, here()))

    def _loop_around(self, asked: Region) -> Region | None:
        """The open loop that holds both this point and `asked`, entered since the last change."""
        region: Region | None = self._trace.region
        known_in = self._changes[-1][0]
        while region is not None and region is not known_in:
            if region.kind == "loop" and asked.is_in(region):
                return region
            region = region.parent
        return None
