"""Vector scopes, registers, streams of unaligned stores, and loops around DMA copies (vector-path 2, 3.2, 4.8, 8)."""

from __future__ import annotations

from collections.abc import Iterator

from ptokit.diagnostics import Diagnostic, Diagnostics, Note, Severity, define, lookup
from ptokit.isa.operands import Passing
from ptokit.isa.site import known
from ptokit.isa.vector.dma.rules import loop_counts
from ptokit.targets import Target
from ptokit.types.values import Align, Mask, VReg

from .control import is_loop, is_scope, passed, reached, takers
from .core import Block, Op, Value
from .facts import Facts, instr_of, shown_op
from .structure_checks import Survey

# Vector scopes, and the streams of unaligned stores inside them (vector-path 2, 4.8, 8).


define(
    "VEC-A5-02",
    "What makes or takes vector registers, predicates and align states stands in one vector scope; scopes are not "
    "nested.",
    source="vector-path 2, 8",
    example="""
        pto.vecscope {
          {%v = pto.vlds %p[%i] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>|}
        }
        {|%v = pto.vlds %p[%i] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>}
    """,
    evidence="ptokit",
)
define(
    "VEC-A5-02-LINT",
    "A function that works on vector registers has a vector scope.",
    source="vector-path 2, 8",
    decision="A function without any scope, as in the fragments of manuals, is read as one scope.",
    example="""
        {pto.vecscope {
          %v = pto.vlds %p[%i] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        }|%v = pto.vlds %p[%i] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>}
    """,
    evidence="document",
)

define(
    "SYN-A5-08",
    "A mem_bar stands in a vector scope: between pipes it orders nothing.",
    source="vector-path 7, 8",
    decision="A mem_bar outside of the scopes of a function is taken to be meant for other pipes.",
    example="""
        pto.vecscope {
        %v = pto.vlds %u[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        }{|
        pto.mem_bar "VST_LD"}
    """,
    evidence="legal",
)

_REGISTERS = (VReg, Mask, Align)


def check_scopes(survey: Survey, found: Diagnostics) -> None:
    """Report register operations outside of scopes, nested scopes, and streams of stores that are not one line."""
    if not any(isinstance(v.type, _REGISTERS) for op in survey.ops for v in op.results):
        return
    body = survey.function.body
    assert body is not None
    if any(map(is_scope, survey.ops)):
        _outside(body, found, inside=False)
    elif (first := next((op for op in survey.ops if _on_registers(op)), None)) is not None and not first.in_cpp:
        # A cast is none, and the scopes of C++ are words of its compiler.
        message = f"{first.name} works on registers, and the function has no vector scope"
        _report(found, "VEC-A5-02-LINT", message, first, "put it into a vector scope")
    for value in _stores(survey):
        _linear(value, body, found)


def _report(found: Diagnostics, rule: str, message: str, op: Op, hint: str | None = None, *notes: Note) -> None:
    found.add(Diagnostic(rule, lookup(rule).severity, message, op.location, hint, notes))


def _on_registers(op: Op) -> bool:
    return op.name.startswith("pto.") and any(isinstance(v.type, _REGISTERS) for v in (*op.values, *op.results))


def _outside(region: Block, found: Diagnostics, *, inside: bool) -> None:
    for op in (op for block in region.blocks for op in block.ops):
        scope = is_scope(op)
        if scope and inside:
            _report(found, "VEC-A5-02", f"{shown_op(op)} is inside another vector scope", op)
        elif not inside and _on_registers(op) and not op.regions:
            hint = "move it into the scope, or give it one of its own"
            _report(found, "VEC-A5-02", f"{shown_op(op)} works on registers outside a vector scope", op, hint)
        elif not inside and op.name == "pto.mem_bar":
            hint = "use set_flag and wait_flag, or pipe_barrier"
            _report(found, "SYN-A5-08", "a mem_bar outside of vector scopes orders no pipes", op, hint)
        for inner in op.regions:
            _outside(inner, found, inside=inside or scope)


# ---------------------------------------------------------- streams of stores


Path = tuple[tuple[Op, Block], ...]
"""The regions around an operation, from outside, each with the operation that has it."""


def _stores(survey: Survey) -> Iterator[Value]:
    """States of streams of stores: those that instructions hand on, and what loops carry of them."""
    handed = takers(survey.ops)
    made = [
        value
        for op in survey.ops
        if (instr := instr_of(op)) is not None
        for operand, value in zip(instr.produces, op.results)
        if operand.passing is Passing.ONCE
    ]
    yield from sorted(reached(made, lambda v: handed.get(v, ())), key=lambda v: (v.location.line, v.location.column))


def _linear(value: Value, body: Block, found: Diagnostics) -> None:
    """A state is handed on once, in the block that has it, and a stream ends with a flush."""
    uses = [(op, path) for op, path in _paths(body, ()) if value in op.values]
    name = value.shown
    made = next((path for op, path in _paths(body, ()) if value in op.results), None)
    if made is None:
        made = next((path for _, path in _paths(body, ()) if path and _argument(value, path[-1][1])), ())
    apart = {path for _, path in uses}
    if not uses:
        if isinstance(value.owner, Op) and value.owner.values:
            _report(found, "VEC-A5-13", f"the stream of stores is not flushed: nothing takes {name}", value.owner)
        return
    for op, path in uses:
        loops = [outer.name for outer, _ in path[len(made) :] if is_loop(outer)]
        if loops:
            _report(found, "VEC-A5-13", f"{name} is taken anew in every iteration of {loops[0]}", op, "carry the state")
            return
    if body.more and not any(apart):
        uses = _one_after_another(value, body)
    if len(uses) > 1 and not _exclusive(list(apart), len(uses)):
        note = Note(f"{name} is taken here first", uses[0][0].location)
        _report(found, "VEC-A5-13", f"{name} is taken a second time", uses[1][0], None, note)


def _one_after_another(value: Value, body: Block) -> list[tuple[Op, Path]]:
    """Two uses in a body of several blocks that happen with one value: a path between them does not make it anew."""
    uses = {block: [op for op in block.ops if value in op.values] for block in body.blocks}
    made = next(b for b in body.blocks if value in b.args or any(value in op.results for op in b.ops))
    for block, (first, *more) in ((block, ops) for block, ops in uses.items() if ops):
        ends = first.successors or block.ops[-1].successors
        handed = [to for k, to in enumerate(ends) if not first.successors or value in passed(first, k)]
        after = reached(handed, lambda b: [] if b is made else b.ops[-1].successors)
        second = next((op for op in (*more, *(op for b in after if b is not made for op in uses[b]))), None)
        if second is not None:
            return [(first, ()), (second, ())]
    return []


def _argument(value: Value, region: Block) -> bool:
    return any(value in block.args for block in region.blocks)


def _paths(region: Block, path: Path) -> Iterator[tuple[Op, Path]]:
    """Every operation with the regions around it."""
    for op in (op for block in region.blocks for op in block.ops):
        yield op, path
        for inner in op.regions:
            yield from _paths(inner, (*path, (op, inner)))


def _exclusive(paths: list[Path], uses: int) -> bool:
    """True if at most one of the uses happens: they stand in different regions of one branch."""
    if len(paths) != uses:
        return False
    tails = [path[-1] for path in paths if path]
    return len(tails) == uses and not any(is_loop(op) for op, _ in tails) and len({op for op, _ in tails}) == 1


# Vector registers exist on some targets only.


RULE = define(
    "VEC-A3-01",
    "Vector registers and predicates are of a5; the vector unit of a2a3 works on UB itself.",
    targets=("a2a3",),
    source="library headers for a2a3, without a register; micro instruction reference, for a5 only",
    decision="A manual calls these operations emulated on a2a3, where nothing emulates them. The cpu target runs them.",
    example="""
        pto.vecscope {
        {|%r = pto.vlds %p[%c0] : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
        }}
    """,
    evidence="static_assert",
)


def check_registers(survey: Survey, target: Target, found: Diagnostics) -> None:
    """Report the first operation on registers of a function, for a target without them."""
    if target.vector_registers:
        return
    users = [op for op in survey.ops if _uses_registers(op)]
    if users:
        count = f"; {len(users)} operations of @{survey.function.name} use them" if len(users) > 1 else ""
        hint = f"compile it for a5, or compute on tiles, which {target.name} has instructions for"
        found.error(RULE.id, f"{target.name} has no vector registers{count}", users[0].location, hint=hint)


def _uses_registers(op: Op) -> bool:
    return any(isinstance(value.type, VReg | Mask | Align) for value in (*op.results, *op.values))


# The registers that put loops around DMA copies, left set (vector-path 3.2, 8).


_SIZES = ("pto.set_loop_size_outtoub", "pto.set_loop_size_ubtoout")

define(
    "DMA-A5-11",
    "The loop counts of each direction are back at 1, 1 when the kernel ends.",
    source="vector-path 3.2, 8",
    why="The counts stay until they are set again: the next copy of this direction would be repeated, too.",
    decision="The last counts in the text count, whatever branch or loop they stand in; unknown ones pass.",
    example="""
        {|%eight = arith.constant 2097160 : i64
        }pto.set_loop_size_outtoub %eight : i64
    """,
    evidence="legal",
)


def check_copy_loops(survey: Survey, facts: Facts, target: Target, found: Diagnostics) -> None:
    """DMA-A5-11, at the operation that sets the counts."""
    for op in (survey.named(name)[-1] for name in _SIZES if survey.named(name)):
        site = facts.site(op, target)
        if site is not None and any(known(count) and count != 1 for count in loop_counts(site)):
            message = "the counts are still set when the kernel ends"
            hint = f"{op.name} with 1, 1 after the copies"
            found.add(Diagnostic("DMA-A5-11", Severity.WARNING, message, op.location, hint))
