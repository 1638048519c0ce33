"""What ptokit can check but not run: reported before a launch, and by nothing else."""

from __future__ import annotations

import re

from ptokit.diagnostics import Diagnostics
from ptokit.isa.table import Attr, Kind, Operand
from ptokit.types.values import Opaque, is_memref

from .core import Module, Op
from .facts import instr_of, scalar_type

_RULE = "TEXT-UNIMPLEMENTED"
_RUN = re.compile(r"[su]?i([1-9]|[1-5]\d|6[0-4])\Z|f16\Z|bf16\Z|f32\Z|f64\Z", re.ASCII)


def check_runnable(module: Module, found: Diagnostics) -> None:
    """Report every operation of `module` that has no execution, and every lowered tile (a memref in its place)."""
    for function in module.functions:
        if function.body is not None:
            threads = function.of_threads
            for op in function.body.walk():
                if not (threads and op.name.startswith("arith.")):  # threads have short vectors, too
                    _operation(op, found)


def _is_default(op: Op, entry: Attr | Operand) -> bool:
    return not isinstance(entry, Attr) or op.attrs.get(entry.name, entry.default) == entry.default


def _arithmetic(op: Op, found: Diagnostics) -> None:
    for value in (*op.values, *op.results):
        name = scalar_type(value)
        if op.name == "arith.select" and name is None and not isinstance(value.type, Opaque):
            continue
        if name is None:
            message = "the scalar unit has no vectors"
        elif name != "index" and not _RUN.match(name):
            message = "the scalar unit has integers of up to 64 bits, f16, bf16, f32 and f64"
        else:
            continue
        found.error(_RULE, f"{op.name} of {value.shown_type} cannot be run yet", op.location, hint=message)
        return


def _operation(op: Op, found: Diagnostics) -> None:
    instr = instr_of(op)
    if instr is None:
        if op.name.startswith("arith.") and op.name != "arith.constant":
            _arithmetic(op, found)
        return
    if instr.unrun:
        found.error(_RULE, f"{op.name} cannot be run yet", op.location, hint=instr.unrun)
        return
    if instr.form.tensor and op.results:
        found.error(_RULE, f"{op.name} with a result of type {op.result.shown_type} cannot be run yet", op.location)
    carried = [e.name for e in instr.form.trailing if op.get(e.name) is not None or not _is_default(op, e)]
    if carried:
        found.error(
            _RULE,
            f"{op.name} with {', '.join(carried)} cannot be run yet",
            op.location,
            hint="no public document says what it does; the reference assembler makes the same code without it",
        )
    for operand in instr.operands:
        value = op.get(operand.name)
        if value is not None and operand.kind is Kind.TILE and is_memref(value.type) and Kind.VIEW not in operand.also:
            found.error(
                _RULE,
                f"{op.name} with {operand.name} of type {value.shown_type} cannot be run yet",
                op.location,
                hint="ptokit runs tiles (!pto.tile_buf) and views of global memory",
            )
