"""Functions of threads as steps on arrays of lanes; where threads part, each way is taken by those that take it.

Every value stands for all lanes. What lanes compute that are not active is never used: results of branches and values
that loops carry are put together by who was there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.ir.core import Block, Op, Value
from ptokit.ir.facts import instr_of
from ptokit.ir.graph import passed, reachable
from ptokit.isa.simt.meaning import OfThreads
from ptokit.plan.steps import Bodies
from ptokit.run.fault import Fault
from ptokit.types.values import Ptr

from . import arithmetic
from .arithmetic import merge
from .kinds import constant, kind_of
from .threads import Place, Threads

Env = dict[Value, Any]
Step = Callable[[Threads, Env], None]


def run_function(bodies: Bodies, name: str, threads: Threads, arguments: Sequence[Any]) -> list[Any]:
    """Execute a function; its results."""
    function = bodies.function(name)
    env: Env = dict(zip(function.params, arguments))
    body = bodies.compiled.get(function.name)
    if body is None:
        assert function.body is not None
        body = bodies.compiled[function.name] = _region(bodies, function.body)
    body(threads, env)
    return list(env.get(_RETURNED, ()))


_RETURNED: Any = "returned"
_YIELDED: Any = "yielded"


def _region(bodies: Bodies, region: Block) -> Step:
    """The operations of a region; ``env`` has what it yields or returns afterwards."""
    if region.more:
        return _graph(bodies, region)
    steps = [step(bodies, op) for op in region.ops]

    def run(t: Threads, env: Env) -> None:
        for one in steps:
            one(t, env)

    return run


def step(bodies: Bodies, op: Op) -> Step:
    """One operation. Raises `DiagnosticError` if threads cannot execute it."""
    made = _made(bodies, op)
    if made is None:
        message = f"{op.name} cannot be run by threads yet"
        raise DiagnosticError(Diagnostic("TEXT-UNIMPLEMENTED", Severity.ERROR, message, op.location))

    def run(t: Threads, env: Env) -> None:
        try:
            made(t, env)
        except Fault as fault:
            fault.op = fault.op or op
            raise

    return run


def _made(bodies: Bodies, op: Op) -> Step | None:
    structure = _STRUCTURE.get(op.name)
    if structure is not None:
        return structure(bodies, op)
    instr = instr_of(op)
    if instr is not None and isinstance(instr.run, OfThreads):
        return _instruction(op, instr.run, instr)
    if op.name == "llvm.bitcast":
        return _values(op, lambda active, x: _bits(x, kind_of(op.result.type)))
    if op.name.startswith("arith."):
        fn = arithmetic.function(op)
        return None if fn is None else _values(op, fn)
    return None


def _bits(x: np.ndarray, kind: Any) -> np.ndarray:
    """The same bits as another type."""
    rows = np.ascontiguousarray(x.reshape(len(x), -1)).view(kind.array)
    return rows if kind.count else rows[:, 0]


def _values(op: Op, fn: Callable[..., Any]) -> Step:
    operands, results = op.values, op.results

    def run(t: Threads, env: Env) -> None:
        out = fn(t.active, *(env[v] for v in operands))
        if len(results) == 1:
            env[results[0]] = out
        else:
            env.update(zip(results, out))

    return run


def _instruction(op: Op, of_threads: OfThreads, instr: Any) -> Step:
    attrs = instr.attributes(op.attrs)
    named = {o.name: next(iter(op.group(o.name)), None) for o in instr.operands}
    named |= dict(zip((o.name for o in instr.produces), op.results))
    meaning = of_threads.made({name: None if v is None else kind_of(v.type) for name, v in named.items()}, attrs)
    types = [kind_of(v.type) for v in (*op.values, *op.results)]
    operands = [next(iter(op.group(o.name)), None) for o in instr.operands]

    def run(t: Threads, env: Env) -> None:
        given = [None if v is None else env[v] for v in operands]
        t.here = op
        out = meaning(t, *given, types=types, **attrs)
        if op.results:
            env[op.results[0]] = out

    return run


# ------------------------------------------------------------------ pointers


def _constant(bodies: Bodies, op: Op) -> Step | None:
    kind = kind_of(op.result.type)
    if kind is None:
        return None
    value = constant(op.attrs["value"], kind)

    def run(t: Threads, env: Env) -> None:
        env[op.result] = value

    return run


def _advance(bodies: Bodies, op: Op) -> Step:
    def run(t: Threads, env: Env) -> None:
        env[op.result] = env[op["ptr"]].advance(env[op["offset"]])

    return run


def _cast(bodies: Bodies, op: Op) -> Step:
    type, source = op.result.type, op["value"]

    def run(t: Threads, env: Env) -> None:
        value = env[source]
        if not isinstance(type, Ptr):
            env[op.result] = value if isinstance(value, Place) and value.space == "gm" else value.start
        elif isinstance(value, Place):
            env[op.result] = value.cast(type.dtype, type.space or "gm")
        else:
            env[op.result] = Place(type.space or "gm", None, value.astype(np.int64), type.dtype)

    return run


def _load(bodies: Bodies, op: Op) -> Step:
    def run(t: Threads, env: Env) -> None:
        env[op.result] = t.read(env[op["ptr"]], env[op["index"]])

    return run


def _store(bodies: Bodies, op: Op) -> Step:
    def run(t: Threads, env: Env) -> None:
        t.write(env[op["ptr"]], env[op["index"]], env[op["value"]])

    return run


# ---------------------------------------------------------------- structure


def _yield(key: Any) -> Callable[[Bodies, Op], Step]:
    def make(bodies: Bodies, op: Op) -> Step:
        values = op.group("values")

        def run(t: Threads, env: Env) -> None:
            env[key] = [env[v] for v in values]

        return run

    return make


def _call(bodies: Bodies, op: Op) -> Step:
    def run(t: Threads, env: Env) -> None:
        env.update(zip(op.results, run_function(bodies, op.attrs["callee"], t, [env[v] for v in op.group("args")])))

    return run


def _taken(body: Step, t: Threads, env: Env, active: np.ndarray) -> list[Any]:
    """Run a region for some lanes; what it yields."""
    before, t.active = t.active, active
    env.pop(_YIELDED, None)
    try:
        body(t, env)
    finally:
        t.active = before
    return list(env.pop(_YIELDED, ()))


def _choose(t: Threads, env: Env, op: Op, ways: Sequence[tuple[np.ndarray, Step | None]]) -> None:
    """Take each way for the lanes of which it is; results are put together."""
    out: list[Any] = []
    for met, body in ways:
        active = t.active & met
        if body is None or not active.any():
            continue
        found = _taken(body, t, env, active)
        out = found if not out else [merge(active, a, b) for a, b in zip(found, out)]
    if out:
        env.update(zip(op.results, out))
    elif op.results:
        for result in op.results:  # no lane is here: nothing will look at these
            kind = kind_of(result.type)
            env[result] = None if kind is None else np.zeros((1, *([kind.count] * bool(kind.count))), kind.array)


def _if(bodies: Bodies, op: Op) -> Step:
    regions = [_region(bodies, r) for r in op.regions]

    def run(t: Threads, env: Env) -> None:
        met = env[op["condition"]]
        other = regions[1] if len(regions) > 1 else None
        _choose(t, env, op, ((met, regions[0]), (~met, other)))

    return run


def _switch(bodies: Bodies, op: Op) -> Step:
    regions, cases = [_region(bodies, r) for r in op.regions], op.attrs["cases"]

    def run(t: Threads, env: Env) -> None:
        index = env[op["index"]]
        rest = ~np.isin(index, list(cases))
        _choose(t, env, op, ((rest, regions[0]), *((index == c, r) for c, r in zip(cases, regions[1:]))))

    return run


def _in_place(bodies: Bodies, op: Op) -> Step:
    body = _region(bodies, op.regions[0])

    def run(t: Threads, env: Env) -> None:
        env.update(zip(op.results, _taken(body, t, env, t.active)))

    return run


def _for(bodies: Bodies, op: Op) -> Step:
    region = op.regions[0]
    body, iv, carried = _region(bodies, region), region.args[0], region.args[1:]

    def run(t: Threads, env: Env) -> None:
        lower, upper, by = (env[op[n]] for n in ("lower", "upper", "step"))
        if (t.active & ~_positive(by)).any():
            t.refuse("RUN-STEP", "the step of scf.for must be positive")
        values = [env[v] for v in op.group("init")]
        alike = len(lower) == len(upper) == len(by) == 1
        now, to_go = lower, lower < upper
        while (live := t.active & to_go).any():
            env[iv] = now
            env.update(zip(carried, values))
            found = _taken(body, t, env, live)
            values = found if alike else [merge(live, a, b) for a, b in zip(found, values)]
            to_go = to_go & (_distance(now, upper) > _unsigned(by))
            now = now + by  # wraps where nothing is left to do
        env.update(zip(op.results, values))

    return run


def _positive(x: np.ndarray) -> np.ndarray:
    """Where a number is positive; true of i1 is -1."""
    return np.zeros(len(x), bool) if x.dtype == bool else x > 0


def _distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """y - x, at least 0, which may take one bit more than their type has."""
    return _unsigned(y) - _unsigned(x)


def _unsigned(x: np.ndarray) -> np.ndarray:
    return x.view(f"u{x.dtype.itemsize}")


def _while(bodies: Bodies, op: Op) -> Step:
    before, after = op.regions
    head = [step(bodies, o) for o in before.ops if o.name != "scf.condition"]
    condition = next(o for o in before.ops if o.name == "scf.condition")
    body = _region(bodies, after)

    def run(t: Threads, env: Env) -> None:
        outside, live = t.active, t.active
        values = [env[v] for v in op.group("init")]
        results: list[Any] = []
        try:
            while live.any():
                t.active = live
                env.update(zip(before.args, values))
                for one in head:
                    one(t, env)
                met, given = env[condition["condition"]], [env[v] for v in condition.group("values")]
                gone = live & ~met
                results = [merge(gone, a, b) for a, b in zip(given, results)] if results else given
                live = live & met
                if not live.any():
                    break
                env.update(zip(after.args, given))
                found = _taken(body, t, env, live)
                values = [merge(live, a, b) for a, b in zip(found, values)]
        finally:
            t.active = outside
        env.update(zip(op.results, results))

    return run


def _graph(bodies: Bodies, region: Block) -> Step:
    """Several blocks: the first one in text that lanes are at goes on, so that lanes that part meet again."""
    blocks = reachable(region)
    number = {id(block): k for k, block in enumerate(blocks)}
    parts = [[(op, None if op.successors else step(bodies, op)) for op in block.ops] for block in blocks]

    def run(t: Threads, env: Env) -> None:
        outside = t.active
        at = np.where(outside, 0, len(blocks))
        ends: dict[Any, list[Any]] = {}
        try:
            while (at < len(blocks)).any():
                here = int(at.min())
                live = at == here
                t.active = live
                at = np.where(live, len(blocks), at)
                for op, one in parts[here]:
                    if one is None:
                        at = _branch(t, env, op, number, at)
                        continue
                    one(t, env)
                    for key in (_YIELDED, _RETURNED):
                        if key in env:
                            new = env.pop(key)
                            old = ends.get(key)
                            ends[key] = new if old is None else [merge(live, a, b) for a, b in zip(new, old)]
        finally:
            t.active = outside
        env.update(ends)

    return run


def _branch(t: Threads, env: Env, op: Op, number: dict[int, int], at: np.ndarray) -> np.ndarray:
    """Lanes go to the next block with its arguments."""
    everywhere = np.ones(1, bool)
    if op.name == "cf.br":
        ways = [everywhere]
    elif op.name == "cf.cond_br":
        met = env[op["condition"]]
        ways = [met, ~met]
    else:
        flag, cases = env[op["flag"]], op.attrs["values"]
        ways = [~np.isin(flag, list(cases)), *(flag == c for c in cases)]
    found = [[env[v] for v in passed(op, k)] for k in range(len(ways))]
    for k, met in enumerate(ways):
        going = t.active & met
        if not going.any():
            continue
        block = op.successors[k]
        for arg, value in zip(block.args, found[k]):
            env[arg] = merge(going, value, env[arg]) if arg in env else value
        at = np.where(going, number[id(block)], at)
    return at


_STRUCTURE: dict[str, Callable[[Bodies, Op], Step | None]] = {
    "arith.constant": _constant,
    "pto.addptr": _advance,
    "pto.castptr": _cast,
    "pto.load_scalar": _load,
    "pto.store_scalar": _store,
    "scf.if": _if,
    "scf.for": _for,
    "scf.while": _while,
    "scf.index_switch": _switch,
    "scf.execute_region": _in_place,
    "scf.yield": _yield(_YIELDED),
    "func.return": _yield(_RETURNED),
    "func.call": _call,
}
