"""The code of a loop that is done at once (see `steady`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ptokit.ir.core import Op

if TYPE_CHECKING:
    from .codegen import FunctionWriter


def write_all_iterations(w: FunctionWriter, op: Op, names: list[str], taken: list[int], bounds: str) -> str:
    """The loop, many iterations at once, if the run shows that it can be; what is written next is for the other case.

    Returns the expression for the iterations that it has to do.
    """
    body, machine, part = op.regions[0], w.fresh("b"), w.fresh("r")
    w.line(f"for {part}, {machine} in m.parts({bounds}):", op)
    w.depth += 1
    w.line(f"if {machine} is not None:")
    w.line("    try:")
    w.depth += 2
    w.machine, w.around = machine, frozenset(w.names) - set(body.args)
    w.names[body.args[0]] = f"{machine}.iv"
    for arg, name, by in zip(body.args[1:], names, taken):
        w.names[arg] = f"{machine}.countdown({name}, {by})" if by else name
    for inner in body.ops:
        if inner.name != "scf.yield":
            w.op(inner)
    w.machine, w.around = "m", frozenset()
    w.line(f"if not {machine}.finish(): {machine} = None")
    rest = [f"{name} = {machine}.left({name}, {by})" for name, by in zip(names, taken) if by]
    if rest:
        w.line(f"else: {'; '.join(rest)}")
    w.depth -= 2
    w.line(f"    except (NotSteadyError, Fault): {machine} = None")
    w.line(f"if {machine} is None:")
    w.depth += 1
    return part
