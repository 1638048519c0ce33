"""Loops, branches and calls: the blocks of the LLVM function, and the values that they hand to each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ptokit.ir.core import Block, Op, Value
from ptokit.ir.graph import passed, reachable
from ptokit.types.values import Scalar

from . import scalars
from .values import NotNativeError

if TYPE_CHECKING:
    from .function import Writer


_REGISTER = 256  # alignment of a vector register in memory


class Carrier:
    """Memory for the values that a region hands to where it began or ends: those that the function needs."""

    def __init__(self, w: Writer, targets: Sequence[Value]) -> None:
        self.kept = [w.needs(target) for target in targets]
        self.types = [target.type for target in self._of(targets)]
        self.slots: list[list[str]] | None = None
        self.like: list[Any] = []

    def _of(self, values: Sequence[Value]) -> list[Value]:
        return [value for value, kept in zip(values, self.kept) if kept]

    def store(self, w: Writer, values: Sequence[Value]) -> None:
        found = [w.either(value) for value in self._of(values)]
        if self.slots is None:
            self.like = found
            self.slots = [carry(w, what, type, None) for what, type in zip(found, self.types)]
            return
        for what, like, type, slots in zip(found, self.like, self.types, self.slots):
            if not isinstance(type, Scalar) and what.kind != like.kind:
                raise NotNativeError("scf.yield", f"two ways give values of different forms as {type}")
            carry(w, what, type, slots)

    def give(self, w: Writer, targets: Sequence[Value]) -> None:
        """Set values to those that are carried now."""
        wanted = self._of(targets)
        if wanted and self.slots is None:
            raise NotNativeError("scf.yield", "no way gives a value")
        for target, like, type, slots in zip(wanted, self.like, self.types, self.slots or ()):
            w.set(target, carried(w, like, type, slots))


def carry(w: Writer, what: Any, type: Any, slots: list[str] | None) -> list[str]:
    """Store a value in memory that carries it, which is made where there is none yet."""
    leaves = [(scalars.llvm_type(type.name), what)] if isinstance(type, Scalar) else what.leaves()
    if slots is None:
        slots = [w.code.slot(kind, _REGISTER if kind.startswith("<") else 8) for kind, _ in leaves]
    for (kind, leaf), slot in zip(leaves, slots):
        w.code.store(kind, leaf, slot)
    return slots


def carried(w: Writer, like: Any, type: Any, slots: list[str]) -> Any:
    """The value that is carried there; ``like``: one that was stored."""
    if isinstance(type, Scalar):
        return w.code.load(scalars.llvm_type(type.name), slots[0])
    return like.rebuilt([w.code.load(kind, slot) for (kind, _), slot in zip(like.leaves(), slots)])


def hand_on(w: Writer, block: Block, carrier: Carrier) -> None:
    """A region whose `scf.yield` hands on values."""
    if block.more:
        graph(w, block, carrier)
        return
    with w.contents.perhaps():
        for op in block.ops:
            if op.name == "scf.yield":
                w.pending.flush()
                carrier.store(w, op.group("values"))
            else:
                w.operation(op)
        w.pending.flush()


def scf_for(w: Writer, op: Op) -> None:
    w.pending.flush()
    code, body = w.code, op.regions[0]
    lower, upper, step = (w.text(op[n]) for n in ("lower", "upper", "step"))
    kind = scalars.llvm_type(body.args[0].type.name)  # type: ignore[union-attr]
    if not isinstance(w.facts.constants.get(op["step"]), int):
        w.refuse_if(code.value(f"icmp sle {kind} {step}, 0"), op)
    carrier = Carrier(w, body.args[1:])
    carrier.store(w, op.group("init"))
    slot = code.slot(kind)
    code.store(kind, lower, slot)
    head, inside, done = code.label("for"), code.label("turn"), code.label("end")
    code.place(head)
    now = code.load(kind, slot)
    code.branch(code.value(f"icmp slt {kind} {now}, {upper}"), inside, done)
    code.place(inside)
    shown = now if kind == "i64" else code.value(f"sext {kind} {now} to i64")
    code.store("i64", shown, w.word(w.module.loops[op]))
    w.set(body.args[0], now)
    carrier.give(w, body.args[1:])
    w.sweeps.append((op, []))
    hand_on(w, body, carrier)
    swept = w.sweeps.pop()[1]
    # The last turn may end where the type does.
    both = code.value(f"call {{{kind}, i1}} @llvm.sadd.with.overflow.{kind}({kind} {now}, {kind} {step})")
    code.store(kind, code.value(f"extractvalue {{{kind}, i1}} {both}, 0"), slot)
    code.branch(code.value(f"extractvalue {{{kind}, i1}} {both}, 1"), done, head)
    code.place(done)
    for start, end in swept:
        w.contents.write(start, end)
    carrier.give(w, op.results)


def scf_if(w: Writer, op: Op) -> None:
    w.pending.flush()
    code, condition = w.code, w.text(op["condition"])
    yes, no, done = code.label("then"), code.label("else"), code.label("endif")
    code.branch(condition, yes, no if len(op.regions) > 1 else done)
    carrier = Carrier(w, op.results)
    code.place(yes)
    hand_on(w, op.regions[0], carrier)
    code.jump(done)
    if len(op.regions) > 1:
        code.place(no)
        hand_on(w, op.regions[1], carrier)
        code.jump(done)
    code.place(done)
    carrier.give(w, op.results)


def select(w: Writer, op: Op) -> None:
    """arith.select of what is no number: a branch whose ways only hand on."""
    w.pending.flush()
    code, carrier = w.code, Carrier(w, op.results)
    yes, no, done = code.label("true"), code.label("false"), code.label("chosen")
    code.branch(w.text(op["condition"]), yes, no)
    for label, name in ((yes, "true"), (no, "false")):
        code.place(label)
        carrier.store(w, [op[name]])
        code.jump(done)
    code.place(done)
    carrier.give(w, op.results)


def execute_region(w: Writer, op: Op) -> None:
    w.pending.flush()
    carrier = Carrier(w, op.results)
    hand_on(w, op.regions[0], carrier)
    carrier.give(w, op.results)


def index_switch(w: Writer, op: Op) -> None:
    w.pending.flush()
    code, carrier = w.code, Carrier(w, op.results)
    labels = [code.label("case") for _ in op.regions]
    done = code.label("endswitch")
    cases = " ".join(f"i64 {case}, label {at}" for case, at in zip(op.attrs["cases"], labels[1:]))
    code.leave(f"switch i64 {w.text(op['index'])}, label {labels[0]} [{cases}]")
    for region, at in zip(op.regions, labels):
        code.place(at)
        hand_on(w, region, carrier)
        code.jump(done)
    code.place(done)
    carrier.give(w, op.results)


def while_loop(w: Writer, op: Op) -> None:
    w.pending.flush()
    code, (before, after) = w.code, op.regions
    carrier, handed = Carrier(w, before.args), Carrier(w, op.results)
    carrier.store(w, op.group("init"))
    head, inside, done = code.label("while"), code.label("do"), code.label("end")
    code.place(head)
    carrier.give(w, before.args)
    with w.contents.perhaps():
        for inner in before.ops:
            if inner.name == "scf.condition":
                w.pending.flush()
                handed.store(w, inner.group("values"))
                code.branch(w.text(inner["condition"]), inside, done)
            else:
                w.operation(inner)
    code.place(inside)
    handed.give(w, after.args)
    hand_on(w, after, carrier)
    code.jump(head)
    code.place(done)
    handed.give(w, op.results)


def graph(w: Writer, region: Block, carrier: Carrier | None) -> None:
    """A region of several blocks."""
    w.pending.flush()
    code, blocks = w.code, reachable(region)
    labels = {id(block): code.label("b") for block in blocks}
    carriers = {id(block): Carrier(w, block.args) for block in blocks[1:]}
    done = code.label("out")
    for block in blocks:
        code.place(labels[id(block)])
        if block is not region:
            carriers[id(block)].give(w, block.args)
        with w.contents.perhaps():
            for op in block.ops:
                if op.successors:
                    w.pending.flush()
                    jump(w, op, labels, carriers)
                elif op.name == "scf.yield" and carrier is not None:
                    w.pending.flush()
                    carrier.store(w, op.group("values"))
                    code.jump(done)
                else:
                    w.operation(op)
    code.place(done)


def jump(w: Writer, op: Op, labels: dict[int, str], carriers: dict[int, Carrier]) -> None:
    """A branch at the end of a block; every way first stores what it passes on."""
    code = w.code
    ways = [code.label("way") for _ in op.successors]
    if op.name == "cf.br":
        code.jump(ways[0])
    elif op.name == "cf.cond_br":
        code.branch(w.text(op["condition"]), ways[0], ways[1])
    else:
        flag = op["flag"]
        kind = scalars.llvm_type(flag.type.name)  # type: ignore[union-attr]
        cases = " ".join(f"{kind} {case}, label {way}" for case, way in zip(op.attrs["values"], ways[1:]))
        code.leave(f"switch {kind} {w.text(flag)}, label {ways[0]} [{cases}]")
    for k, (to, way) in enumerate(zip(op.successors, ways)):
        code.place(way)
        if id(to) in carriers:
            carriers[id(to)].store(w, passed(op, k))
        code.jump(labels[id(to)])


def name_again(w: Writer, names: Sequence[Value], values: Sequence[Value]) -> None:
    """Let values have other names inside a function or scope."""
    for name, value in zip(names, values):
        if w.needs(name):
            w.set(name, w.either(value))


def call(w: Writer, op: Op) -> None:
    w.pending.flush()
    callee = w.source.function(op.attrs["callee"])
    if callee is None or callee.body is None:
        raise NotNativeError("func.call", f"@{op.attrs['callee']} has no body")
    name_again(w, callee.params, op.group("args"))
    carrier = Carrier(w, op.results)
    w.body(callee, carrier)
    carrier.give(w, op.results)


def ret(w: Writer, op: Op) -> None:
    w.pending.flush()
    done, carrier = w.returns[-1]
    if carrier is not None:
        carrier.store(w, op.group("values"))
    w.code.jump(done)
    w.code.place(w.code.label("dead"))


def section(w: Writer, op: Op) -> None:
    """A vector scope or section in line; which kind of core runs it has been decided before."""
    (body,) = op.regions
    w.begin_scope(op)
    name_again(w, body.args, op.group("captured"))
    w.block(body)


def claim(w: Writer, op: Op) -> None:
    holds = w.text(op["condition"])
    w.refuse_if(w.code.value(f"xor i1 {holds}, true"), op)


METHODS: dict[str, Callable[[Writer, Op], None]] = {
    "scf.for": scf_for,
    "scf.if": scf_if,
    "scf.while": while_loop,
    "scf.execute_region": execute_region,
    "scf.index_switch": index_switch,
    "func.call": call,
    "func.return": ret,
    "cf.assert": claim,
    "pto.section.cube": section,
    "pto.section.vector": section,
    "pto.vecscope": section,
    "pto.strict_vecscope": section,
}
