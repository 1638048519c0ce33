"""Scatters that write an element more than once: SCATTER-ALIAS (move-gather-scatter 11.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ptokit.diagnostics import Severity
from ptokit.ir.core import Op
from ptokit.machine.global_memory import View
from ptokit.machine.lanes import Fault
from ptokit.types.enums import ScatterAtomicOp

from ..findings.folded import Draft
from .core import ObservedCore
from .views import chosen

_HINT = "make the indices distinct, or use an atomic operation"


def run_scatter(o: ObservedCore, op: Op, name: str, views: Sequence[tuple[str, View]], run: Callable[[], Any]) -> Any:
    """Execute an instruction that may scatter; writers that meet are reported."""
    try:
        result = run()
    except Fault as fault:
        if fault.rule != "SCATTER-COM-05":
            raise
        o.report("SCATTER-ALIAS", op, name, partial(Draft, f"{name}: {fault.message}", op.location, fault.hint))
        return None
    plain = op.attrs.get("atomic") in (None, ScatterAtomicOp.NONE)
    for operand, view in views:
        written = [c.elements for c in chosen(view) if c.write]
        if plain and written and _meet(written):
            o.report("SCATTER-ALIAS", op, operand, partial(_note, op, name))
    return result


def _meet(written: list[np.ndarray]) -> bool:
    flat = np.concatenate([part.reshape(-1) for part in written])
    return np.unique(flat).size < flat.size


def _note(op: Op, name: str) -> Draft:
    message = f"{name} writes some elements more than once; of several writers the last one stays"
    return Draft(message, op.location, _HINT, severity=Severity.NOTE)
