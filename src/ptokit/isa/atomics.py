"""How stores to global memory are combined with it, as the control register says (PTOAS e32488c9, micro-isa 2)."""

from __future__ import annotations

from ptokit.types.dtypes import DTYPES, DType

from .machine import Combine, Machine

ATOMIC_CONTROL = "control"
"""The control register: bits 6 to 8 are the type of the elements, 0 for plain stores, bits 9 and 10 the operation."""

TYPE_SHIFT, OPERATION_SHIFT = 6, 9
TYPES: dict[int, DType] = {
    code: DTYPES[name] for code, name in enumerate(("f32", "f16", "i16", "i32", "i8", "bf16"), start=1)
}
OPERATIONS = ("add", "max", "min")


def combining(m: Machine) -> Combine | None:
    """What the control register says of stores; None for plain ones."""
    ctrl = m.registers.get(ATOMIC_CONTROL, 0)
    dtype = TYPES.get(ctrl >> TYPE_SHIFT & 7)
    operation = ctrl >> OPERATION_SHIFT & 3
    return None if dtype is None or operation >= len(OPERATIONS) else (OPERATIONS[operation], dtype)
