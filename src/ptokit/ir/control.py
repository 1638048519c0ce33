"""Operations of control flow: which regions they execute, how often, how they are written, and what makes them.

Each has a `Control`. Analyses ask it for edges, as MLIR's region branch interface gives them, readers and printers for
its written form; none of them need know which operations there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple, TypeVar

from ptokit.diagnostics import Location
from ptokit.types.values import Type

from .core import Block, Function, Module, Op, Operands, Value

T = TypeVar("T")

# Control flow of operations: which regions they execute, how often, and what each place hands to the next.


class Edge(NamedTuple):
    """Control that may pass to a block, or with ``to`` None to what follows the operation: values given and taken."""

    to: Block | None
    given: Sequence[Value] = ()
    taken: Sequence[Value] = ()


class Induction(NamedTuple):
    """An argument of a loop's body that counts from ``lower`` by ``step``, below ``upper``."""

    arg: Value
    lower: Value
    upper: Value
    step: Value


class Control:
    """Operations that execute one of their regions once, whose end hands its values to the results.

    This is all that ptokit knows of an operation of control flow but what it is in a plan: reading and printing follow
    ``form``, which is in the notation of `ptokit.asm.forms.operands`; generic form has the operands in its order.

    ``short``: another name that text may have, which is printed if it is ``shortened``.

    ``decides``: operands that decide which regions are executed and how often. ``repeats``: a region may be executed
    several times. ``carries``: operands that are handed from one iteration to the next, and to the results. ``ends``:
    what its regions end with, in their order; the last one is that of all further ones. ``several``: its regions may
    have several blocks. ``isolated``: they see their arguments only. ``core``: the kind of cores that execute them;
    ``threads``: threads do. ``registers``: they work on vector registers.

    ``terminates``: it ends a block, and may be left out if it is ``implied``. ``returns``: it ends the execution of its
    function. ``calls``: it calls a function of the module.
    """

    form = "{}"
    short = ""
    decides: tuple[str, ...] = ()
    repeats = False
    carries = ""
    ends: tuple[str, ...] = ("scf.yield",)
    shortened = several = isolated = threads = registers = terminates = implied = returns = calls = False
    core = ""

    def end(self, k: int) -> str:
        """The name of what region k ends with; "" for nothing."""
        return self.ends[min(k, len(self.ends) - 1)] if self.ends else ""

    def entered(self, op: Op) -> Iterator[Edge]:
        """Where control goes when it reaches the operation."""
        for region in op.regions:
            yield Edge(region)

    def left(self, op: Op, region: Block, values: Sequence[Value]) -> Iterator[Edge]:
        """Where control goes at an end of one of its regions, which has these values."""
        yield Edge(None, values, op.results)

    def inductions(self, op: Op) -> list[Induction]:
        """The arguments that count iterations."""
        return []

    def takes(self, op: Op, k: int) -> list[Type]:
        """The types of the arguments of region k."""
        return []

    def gives(self, op: Op, k: int) -> list[Type]:
        """The types of the values that an end of region k has."""
        return _types(op.results)

    def passed(self, op: Op, k: int) -> list[Value]:
        """Of a branch, what it passes to its k-th successor, one value for each argument of that block."""
        return [value for value in op.operands.values() if isinstance(value, list)][k]


def _types(values: Iterable[Value]) -> list[Type]:
    return [v.type for v in values]


class _Any(Control):
    """Nothing is known of the operation: it may execute none of its regions, or one several times."""

    repeats = True

    def entered(self, op: Op) -> Iterator[Edge]:
        yield from super().entered(op)
        yield Edge(None)


class _For(Control):
    """A loop that counts, and carries values from one iteration to the next."""

    form = "X(index) = %lower to %upper step %step <? iter_args ~( U(init) ) -> O!(init) ?> I(lower,upper,step) G {}"
    decides, repeats, carries = ("lower", "upper", "step"), True, "init"

    def entered(self, op: Op) -> Iterator[Edge]:
        return self._next(op, op.group("init"))

    def left(self, op: Op, region: Block, values: Sequence[Value]) -> Iterator[Edge]:
        return self._next(op, values)

    @staticmethod
    def _next(op: Op, values: Sequence[Value]) -> Iterator[Edge]:
        (body,) = op.regions
        yield Edge(body, values, body.args[1:])
        yield Edge(None, values, op.results)

    def inductions(self, op: Op) -> list[Induction]:
        return [Induction(op.regions[0].args[0], op["lower"], op["upper"], op["step"])]

    def takes(self, op: Op, k: int) -> list[Type]:
        return [op["lower"].type, *_types(op.results)]


class _If(Control):
    """The second region may be missing."""

    form = "%condition:i1 <? -> R! ?> G <? else G ?> {}"
    decides = ("condition",)

    def entered(self, op: Op) -> Iterator[Edge]:
        yield from super().entered(op)
        if len(op.regions) < 2:
            yield Edge(None)


class _While(Control):
    """The first region ends with a condition: on into the second one and back to the first, or out."""

    form = "<? ( U(init) ) ?> : O(init) -> R! G do G^ {}"
    repeats, carries, ends = True, "init", ("scf.condition", "scf.yield")

    def entered(self, op: Op) -> Iterator[Edge]:
        yield Edge(op.regions[0], op.group("init"), op.regions[0].args)

    def left(self, op: Op, region: Block, values: Sequence[Value]) -> Iterator[Edge]:
        before, after = op.regions
        if region is after:
            yield Edge(before, values, before.args)
        else:
            yield Edge(after, values, after.args)
            yield Edge(None, values, op.results)

    def takes(self, op: Op, k: int) -> list[Type]:
        return _types(op.results if k else op.group("init"))

    def gives(self, op: Op, k: int) -> list[Type]:
        return _types(op.group("init") if k else op.results)


class _IndexSwitch(Control):
    """The first region is executed where no case is that of the index."""

    form = "%index:index {?} <? -> R+ ?> <* / case C(cases) G *> / default G< {}"
    decides = ("index",)


class _ExecuteRegion(Control):
    """A region of several blocks."""

    form = "K(no_inline) <? -> R+ ?> G {}"
    several = True


class _Section(Control):
    """For cores of one kind, or threads; cores of the other kind skip it, and have nothing that it works on."""

    form, ends = "G {}", ()

    def __init__(self, core: str) -> None:
        self.core = core


class _Threads(_Section):
    """What threads do, so many as it says."""

    form, repeats, threads = "Z G {}", True, True


class _Scope(Control):
    """The region sees what it captures as arguments."""

    form, ends, registers = "G {}", (), True

    def entered(self, op: Op) -> Iterator[Edge]:
        yield Edge(op.regions[0], op.group("captured"), op.regions[0].args)

    def takes(self, op: Op, k: int) -> list[Type]:
        return _types(op.group("captured"))


class _StrictScope(_Scope):
    """Nothing but what it captures is seen inside."""

    form, isolated = "~( %captured* ) G^ {} : T+(captured) <? -> ( ) ?> {?}", True


_PASSED = "<? %values* : T(values) ?>"


class _Yield(Control):
    """The end of a region."""

    form, terminates, implied = _PASSED, True, True


class _Condition(_Yield):
    """The end of the first region of a loop with a condition."""

    form, decides, implied = f"~( %condition:i1 ) {_PASSED}", ("condition",), False


class _Return(_Yield):
    short, shortened, returns, implied = "return", True, True, False


class _Call(Control):
    form, short, calls = "S(callee) ~( %args* ) {} : T+(args) -> R+", "call", True


class _Branch(Control):
    """A terminator that leads to another block of its region."""

    form, terminates = "J(args) {}", True


class _ConditionalBranch(_Branch):
    form = "%condition:i1 <? weights ~( [ L(branch_weights) ] ) ?> , J(true) , J(false) {}"
    decides = ("condition",)


class _Switch(_Branch):
    form = "%flag : H(flag) , [ default ~: J(default) <* , C(values) ~: J+(cases) *> ] {}"
    decides = ("flag",)

    def passed(self, op: Op, k: int) -> list[Value]:
        if k == 0:
            return op.group("default")
        sizes = op.attrs["sizes"]
        start = sum(sizes[: k - 1])
        return op.group("cases")[start : start + sizes[k - 1]]


CONTROL: dict[str, Control] = {
    "scf.for": _For(),
    "scf.while": _While(),
    "scf.if": _If(),
    "scf.index_switch": _IndexSwitch(),
    "scf.execute_region": _ExecuteRegion(),
    "scf.yield": _Yield(),
    "scf.condition": _Condition(),
    "pto.vecscope": _Scope(),
    "pto.strict_vecscope": _StrictScope(),
    "pto.section.cube": _Section("cube"),
    "pto.section.vector": _Section("vector"),
    "pto.section.simt": _Threads(""),
    "func.call": _Call(),
    "func.return": _Return(),
    "cf.br": _Branch(),
    "cf.cond_br": _ConditionalBranch(),
    "cf.switch": _Switch(),
}
"""By name: operations of control flow. A new one has its class here, and what it is in a plan in `plan.planner`."""

_UNKNOWN = _Any()

TERMINATORS = frozenset(name for name, control in CONTROL.items() if control.terminates)
"""What blocks end with."""

BRANCHES = frozenset(name for name, control in CONTROL.items() if isinstance(control, _Branch))
"""Terminators that lead to other blocks of their region."""

RETURNS = tuple(name for name, control in CONTROL.items() if control.returns)
"""What functions end with."""

SEVERAL = " or ".join(name for name, control in CONTROL.items() if control.several)
"""What has a region of several blocks, beside functions."""

CORES = tuple(control.core for control in CONTROL.values() if control.core)
"""Kinds of cores that have sections of their own."""

_ENDS = TERMINATORS - BRANCHES


def control_of(op: Op) -> Control:
    """How an operation executes its regions; of one that nothing is known of, each any number of times."""
    return CONTROL.get(op.name, _UNKNOWN)


def decides(op: Op) -> tuple[str, ...]:
    """Operands that decide where control goes: of operations with regions, ends of regions and branches."""
    return control_of(op).decides


def passed(branch: Op, k: int) -> list[Value]:
    """What a branch passes to its k-th successor, one value for each argument of that block."""
    return control_of(branch).passed(branch, k)


def is_loop(op: Op) -> bool:
    """True if the operation has regions that may be executed several times."""
    return bool(op.regions) and control_of(op).repeats


def ends(region: Block) -> list[Op]:
    """The operations that end a region and have its values; where there are none, one may be left out."""
    return [block.ops[-1] for block in region.blocks if block.ops and block.ops[-1].name in _ENDS]


def edges(op: Op) -> Iterator[Edge]:
    """All that may be taken on reaching an operation, at the ends of its regions, or by a branch."""
    if op.successors:
        for k, to in enumerate(op.successors):
            yield Edge(to, passed(op, k), to.args)
    elif op.regions:
        control = control_of(op)
        yield from control.entered(op)
        for region in op.regions:
            for values in [end.group("values") for end in ends(region)] or [list[Value]()]:
                yield from control.left(op, region, values)


def is_call(op: Op) -> bool:
    """True if the operation calls a function of the module."""
    return control_of(op).calls


def returns(op: Op) -> bool:
    """True if the operation ends the execution of its function."""
    return control_of(op).returns


def section_of(op: Op) -> str:
    """The kind of cores that alone execute the operation; "" for all."""
    return control_of(op).core


def is_scope(op: Op) -> bool:
    """True if the operation has a region that works on vector registers."""
    return control_of(op).registers


def of_threads(op: Op) -> bool:
    """True if threads execute the region of the operation."""
    return control_of(op).threads


# Operations of control flow for those who make programs. Regions, and the results that they give, come later.


def counted(bounds: Mapping[str, Value], init: Sequence[Value], location: Location) -> Op:
    """A loop that counts; ``bounds``: ``lower``, ``upper`` and ``step``. ``init`` is carried."""
    return Op("scf.for", {**bounds, "init": list(init)}, location=location)


def conditional(init: Sequence[Value], location: Location) -> Op:
    """A loop whose first region ends with `condition_of`, and the second one with `yield_of`."""
    return Op("scf.while", {"init": list(init)}, location=location)


def choice(condition: Value | None, location: Location) -> Op:
    """One region or the other. ``condition``: None where it only matters that there is one."""
    return Op("scf.if", {"condition": condition}, location=location)


def executed(location: Location) -> Op:
    """One region, which is executed once."""
    return Op("scf.execute_region", location=location)


def scope(location: Location) -> Op:
    """The part of a function that works on vector registers."""
    return Op("pto.vecscope", location=location)


def section(core: str, location: Location) -> Op:
    """What only cores of one kind execute."""
    return Op(next(name for name, control in CONTROL.items() if core and control.core == core), location=location)


def yield_of(location: Location, values: Sequence[Value] = ()) -> Op:
    """The end of a region."""
    return Op("scf.yield", {"values": list(values)}, location=location)


def condition_of(location: Location, condition: Value, values: Sequence[Value]) -> Op:
    """The end of the first region of a `conditional` loop."""
    return Op("scf.condition", {"condition": condition, "values": list(values)}, location=location)


def branch(location: Location, to: Block, given: Sequence[Value]) -> Op:
    """The end of a block, which another one follows."""
    return Op("cf.br", {"args": list(given)}, successors=[to], location=location)


def branch_if(location: Location, condition: Value, to: Sequence[Block], given: Sequence[Sequence[Value]]) -> Op:
    """The end of a block with two successors: where the condition is true, and where it is not."""
    operands: Operands = {"condition": condition, "true": list(given[0]), "false": list(given[1])}
    return Op("cf.cond_br", operands, successors=list(to), location=location)


def branch_by(
    location: Location, flag: Value, cases: Sequence[int], to: Sequence[Block], given: Sequence[Sequence[Value]]
) -> Op:
    """The end of a block with a successor for each case; the first one is the default."""
    operands: Operands = {"flag": flag, "default": list(given[0]), "cases": [v for each in given[1:] for v in each]}
    attrs = {"values": list(cases), "sizes": [len(each) for each in given[1:]]}
    return Op("cf.switch", operands, attrs, successors=list(to), location=location)


def call_of(function: Function, args: Sequence[Value]) -> Op:
    """A call of a function that has no results."""
    return Op("func.call", {"args": list(args)}, {"callee": function.name}, location=function.location)


def return_of(location: Location, values: Sequence[Value] = ()) -> Op:
    """The end of a function."""
    return Op("func.return", {"values": list(values)}, location=location)


def callee(op: Op, module: Module) -> Function | None:
    """The function with a body that an operation calls."""
    function = module.function(op.attrs["callee"]) if is_call(op) else None
    return function if function is not None and function.body is not None else None


def call_edges(op: Op, function: Function) -> Iterator[Edge]:
    """Into a function that is called, and back to the call."""
    assert function.body is not None
    yield Edge(function.body, op.group("args"), function.params)
    for inner in function.body.walk():
        if returns(inner):
            yield Edge(None, inner.group("values"), op.results)


def called_from(module: Module, entry: Function, *, threads: bool = True) -> list[Function]:
    """The functions with a body that run when `entry` does, itself first, each once.

    ``threads``: those that threads execute as well.
    """

    def called(function: Function) -> Iterator[Function]:
        for op in function.body.walk() if function.body is not None else ():
            inner = callee(op, module)
            if inner is not None and (threads or not inner.of_threads):
                yield inner

    return reached([entry], called)


def reached(start: Iterable[T], further: Callable[[T], Iterable[T]]) -> list[T]:
    """All that ``start`` leads to, itself first, each once: the worklist of whatever follows values or functions."""
    todo = list(dict.fromkeys(start))
    found = set(todo)
    for one in todo:
        for more in further(one):
            if more not in found:
                found.add(more)
                todo.append(more)
    return todo


def sources(ops: Iterable[Op], more: Iterable[Edge] = ()) -> dict[Value, list[Value]]:
    """By argument of a block or result of an operation: the values that it may be, as edges hand them over."""
    found: dict[Value, list[Value]] = {}
    for edge in chain(chain.from_iterable(map(edges, ops)), more):
        for value, taken in zip(edge.given, edge.taken):
            found.setdefault(taken, []).append(value)
    return found


def takers(ops: Iterable[Op], more: Iterable[Edge] = ()) -> dict[Value, list[Value]]:
    """By value: the arguments of blocks and results of operations that edges hand it to."""
    found: dict[Value, list[Value]] = {}
    for taken, values in sources(ops, more).items():
        for value in values:
            found.setdefault(value, []).append(taken)
    return found
