"""Control flow as the blocks of the LLVM function; instructions from their meaning, else carried out by Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ptokit.ir.core import Value
from ptokit.isa.meaning.execute import Derived, types_at
from ptokit.isa.meaning.words import Bursts, Contract, Fold, Gather, Lane, Scatter, Single
from ptokit.isa.site import Site
from ptokit.isa.table import Instr
from ptokit.plan.steps import Block, Operand, Region, Step, constant
from ptokit.types.values import Scalar

from . import callbacks, contracts, copies, folds, gathers, lanes, moves, registers, scalars
from .lanes import Pending as Pending
from .values import NotNativeError, Slots, Tile

if TYPE_CHECKING:
    from .function import Writer


# Loops, branches and calls: the blocks of the LLVM function, and the values that they hand to each other.


_REGISTER = 256  # alignment of a vector register in memory


class Carrier:
    """Memory for the values that a region hands to where it began or ends: those that the function needs."""

    def __init__(self, w: Writer, targets: Sequence[Value]) -> None:
        self.kept = [w.needs(target) for target in targets]
        self.types = [target.type for target in self._of(targets)]
        self.slots: list[list[str]] | None = None
        self.like: list[Any] = []
        self.regions: set[str] | None = None  # memory of valid regions that exists when the values are given

    def _of(self, operands: Sequence[Operand]) -> list[Operand]:
        return [operand for operand, kept in zip(operands, self.kept) if kept]

    def store(self, w: Writer, operands: Sequence[Operand]) -> None:
        found = [w.either(operand) for operand in self._of(operands)]
        if self.slots is None:
            self.like = found
            self.slots = [carry(w, what, type, None) for what, type in zip(found, self.types)]
            return
        for what, like, type, slots in zip(found, self.like, self.types, self.slots):
            if self.regions is not None and not self.regions.issuperset(_regions(what)):
                raise NotNativeError("yield", "a loop hands the tile to its next iteration, which makes another one")
            if not isinstance(type, Scalar) and what.kind != like.kind:
                raise NotNativeError("yield", f"two ways give values of different forms as {type}")
            carry(w, what, type, slots)

    def give(self, w: Writer, targets: Sequence[Value]) -> None:
        """Set values to those that are carried now."""
        wanted = self._of(targets)
        if wanted and self.slots is None:
            raise NotNativeError("yield", "no way gives a value")
        for target, like, type, slots in zip(wanted, self.like, self.types, self.slots or ()):
            w.set(target, carried(w, like, type, slots))
        # What is stored from now on is for the next iteration of a loop. Its own tiles begin with the same memory.
        if any(map(_regions, self.like)):
            self.regions = {region for what in w.values.values() for region in _regions(what)}


def _regions(what: Any) -> list[str]:
    """The memory of the valid regions of tiles, and of those that they are windows of."""
    if isinstance(what, Slots):
        return [region for tile in what.tiles for region in _regions(tile)]
    if not isinstance(what, Tile):
        return []
    return [*([] if what.shape is None else [what.shape]), *_regions(what.parent)]


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


def hand_on(w: Writer, region: Region, carrier: Carrier) -> None:
    """A region whose yield hands on values."""
    if len(region) > 1:
        graph(w, region, carrier)
        return
    with w.contents.perhaps():
        _steps(w, region[0], carrier)


def _steps(w: Writer, block: Block, carrier: Carrier) -> None:
    """The steps of a region's only block."""
    for step in block.steps:
        if step.word == "yield":
            w.pending.flush()
            carrier.store(w, step.operands)
        else:
            w.step(step)
    w.pending.flush()


def loop(w: Writer, step: Step) -> None:
    """A loop that counts."""
    w.pending.flush()
    code, (region,) = w.code, step.regions
    (lower, upper, by), init = (w.text(bound) for bound in step.operands[:3]), step.operands[3:]
    variable, *carried = region[0].args
    kind = scalars.llvm_type(variable.type.name)  # type: ignore[union-attr]
    if not isinstance(constant(step.operands[2]), int):
        w.refuse_if(code.value(f"icmp sle {kind} {by}, 0"), step)
    carrier = Carrier(w, carried)
    carrier.store(w, init)
    slot = code.slot(kind)
    code.store(kind, lower, slot)
    head, inside, done = code.label("for"), code.label("body"), code.label("end")
    code.place(head)
    now = code.load(kind, slot)
    code.branch(code.value(f"icmp slt {kind} {now}, {upper}"), inside, done)
    code.place(inside)
    shown = now if kind == "i64" else code.value(f"sext {kind} {now} to i64")
    code.store("i64", shown, w.word(w.module.loops[step]))
    w.set(variable, now)
    carrier.give(w, carried)
    w.sweeps.append((step, []))
    hand_on(w, region, carrier)
    swept = w.sweeps.pop()[1]
    # The last iteration may end where the type does.
    both = code.value(f"call {{{kind}, i1}} @llvm.sadd.with.overflow.{kind}({kind} {now}, {kind} {by})")
    code.store(kind, code.value(f"extractvalue {{{kind}, i1}} {both}, 0"), slot)
    code.branch(code.value(f"extractvalue {{{kind}, i1}} {both}, 1"), done, head)
    code.place(done)
    for start, end in swept:
        w.contents.write(start, end)
    carrier.give(w, step.results)


def branch_if(w: Writer, step: Step) -> None:
    """One of two regions, or none."""
    w.pending.flush()
    code, condition = w.code, w.text(step.operands[0])
    yes, no, done = code.label("then"), code.label("else"), code.label("endif")
    code.branch(condition, yes, no if len(step.regions) > 1 else done)
    carrier = Carrier(w, step.results)
    for label, region in zip((yes, no), step.regions):
        code.place(label)
        hand_on(w, region, carrier)
        code.jump(done)
    code.place(done)
    carrier.give(w, step.results)


def in_place(w: Writer, step: Step) -> None:
    """A region in line: which kinds of core run it makes no difference, since programs for several are not native.

    A vector scope begins with no stream of stores; programs with such streams are not native either.
    """
    w.pending.flush()
    (region,), carrier = step.regions, Carrier(w, step.results)
    if len(region) > 1:
        graph(w, region, carrier)
    else:
        _steps(w, region[0], carrier)
    carrier.give(w, step.results)


def switch(w: Writer, step: Step) -> None:
    """One of several regions."""
    w.pending.flush()
    code, carrier = w.code, Carrier(w, step.results)
    labels = [code.label("case") for _ in step.regions]
    done = code.label("endswitch")
    cases = " ".join(f"i64 {case}, label {at}" for case, at in zip(step.cases, labels[1:]))
    code.leave(f"switch i64 {w.text(step.operands[0])}, label {labels[0]} [{cases}]")
    for region, at in zip(step.regions, labels):
        code.place(at)
        hand_on(w, region, carrier)
        code.jump(done)
    code.place(done)
    carrier.give(w, step.results)


def loop_while(w: Writer, step: Step) -> None:
    """A loop that goes on while a condition holds."""
    w.pending.flush()
    code, ((before,), after) = w.code, step.regions
    carrier, handed = Carrier(w, before.args), Carrier(w, step.results)
    carrier.store(w, step.operands)
    head, inside, done = code.label("while"), code.label("do"), code.label("end")
    code.place(head)
    carrier.give(w, before.args)
    with w.contents.perhaps():
        for inner in before.steps:
            if inner.word == "condition":
                w.pending.flush()
                condition, *values = inner.operands
                handed.store(w, values)
                code.branch(w.text(condition), inside, done)
            else:
                w.step(inner)
    code.place(inside)
    handed.give(w, after[0].args)
    hand_on(w, after, carrier)
    code.jump(head)
    code.place(done)
    handed.give(w, step.results)


def graph(w: Writer, region: Region, carrier: Carrier | None) -> None:
    """A region of several blocks."""
    w.pending.flush()
    code = w.code
    labels = [code.label("b") for _ in region]
    carriers = [Carrier(w, block.args) for block in region]
    done = code.label("out")
    for number, block in enumerate(region):
        code.place(labels[number])
        if number:
            carriers[number].give(w, block.args)
        with w.contents.perhaps():
            for step in block.steps:
                if step.word == "branch":
                    w.pending.flush()
                    jump(w, step, labels, carriers)
                elif step.word == "yield" and carrier is not None:
                    w.pending.flush()
                    carrier.store(w, step.operands)
                    code.jump(done)
                else:
                    w.step(step)
    code.place(done)


def jump(w: Writer, step: Step, labels: list[str], carriers: list[Carrier]) -> None:
    """A branch at the end of a block; every way first stores what it hands over."""
    code = w.code
    ways = [code.label("way") for _ in step.ways]
    if step.cases:
        (flag,) = step.operands
        kind = scalars.type_of(flag)
        cases = " ".join(f"{kind} {case}, label {way}" for case, way in zip(step.cases, ways[1:]))
        code.leave(f"switch {kind} {w.text(flag)}, label {ways[0]} [{cases}]")
    else:
        code.jump(ways[0])
    for way, label in zip(step.ways, ways):
        code.place(label)
        if way.block:
            carriers[way.block].store(w, way.operands)
        code.jump(labels[way.block])


def call(w: Writer, step: Step) -> None:
    """A call, in whose place the function is written."""
    w.pending.flush()
    callee = w.plan.functions.get(step.callee)
    if callee is None:
        raise NotNativeError("call", f"@{step.callee} has no body")
    for param, given in zip(callee.function.params, step.operands):
        if w.needs(param):
            w.set(param, w.either(given))
    carrier = Carrier(w, step.results)
    w.body(callee, carrier)
    carrier.give(w, step.results)


def ret(w: Writer, step: Step) -> None:
    """The return of a function."""
    w.pending.flush()
    done, carrier = w.returns[-1]
    if carrier is not None:
        carrier.store(w, step.operands)
    w.code.jump(done)
    w.code.place(w.code.label("dead"))


def claim(w: Writer, step: Step) -> None:
    """What has to hold."""
    w.refuse_if(w.code.value(f"xor i1 {w.text(step.operands[0])}, true"), step)


WORDS: dict[str, Callable[[Writer, Step], None]] = {
    "for": loop,
    "while": loop_while,
    "if": branch_if,
    "switch": switch,
    "region": in_place,
    "scope": in_place,
    "call": call,
    "return": ret,
    "claim": claim,
}


# Instructions: from their meaning where native code has a form for it, else carried out by Python.


def write(w: Writer, step: Step) -> None:
    """An instruction of the table."""
    instr = step.instr
    assert instr is not None
    if instr.order.waits or instr.order.between_cores:
        raise NotNativeError(instr.name, "it waits for other cores")
    if instr.order.only:
        w.check(step)
        return
    operands = {name: _operand(w, step.get(name)) for name in step.names}
    if _native(w, step, instr, operands):
        return
    w.pending.flush()
    w.settle_for(step)
    w.module.called.add(step)
    callbacks.instruction(w, step)


def _operand(w: Writer, given: Any) -> Any:
    return None if given is None or isinstance(given.type, Scalar) else w.get(given)


def _native(w: Writer, step: Step, instr: Instr, operands: dict[str, Any]) -> bool:
    """True if native code has been written."""
    site = w.site(step)
    if instr.checks_values(site):
        return False
    if instr.typed:
        return _on_registers(w, step, instr, site, operands)
    word = instr.meaning_at(site)
    if isinstance(word, Single):
        return gathers.write_element(w, step, word, operands)
    if step.results:
        return False
    if moves.write(w, step, site, operands) or copies.copy_tiles(w, step, site, operands):
        return True
    types = types_at(site)
    if isinstance(word, Gather | Scatter):
        return gathers.write(w, step, word, operands)
    if isinstance(word, Contract):
        w.check(step)
        return contracts.write(w, step, word, operands)
    if isinstance(word, Fold) and folds.supported(word, operands, types):
        w.check(step)
        folds.write(w, step, word, operands, types)
        return True
    if not isinstance(word, Lane):
        return False
    operands, apart = moves.sources(w, word, operands)
    if not lanes.supported(word, instr, site, operands, types):
        return False
    w.check(step)
    lanes.check_regions(w, step, word, operands)
    moves.copy_sources(w, apart)
    w.pending.add(word, site, step, operands, types)
    return True


def _on_registers(w: Writer, step: Step, instr: Instr, site: Site, operands: dict[str, Any]) -> bool:
    """Native code of an operation on vector registers."""
    word = instr.meaning_at(site)
    if isinstance(word, Bursts):
        return copies.write_bursts(w, step, word, operands)
    types = instr.run.types(site) if isinstance(instr.run, Derived) else {}
    if not isinstance(word, Lane) or not registers.supported(w, instr, word, step, operands, types):
        return False
    w.check(step)
    registers.write(w, step, instr, word, operands, types)
    return True
