"""`TPipe`: a ring of slots through which the cube core and the vector cores of a block exchange tiles.

The instructions on it (TPUSH, TPOP, TFREE, TALLOC) are those of the table.
"""

from __future__ import annotations

from typing import Any

from ptokit.ir import Value
from ptokit.types.enums import Direction
from ptokit.types.values import Opaque
from ptokit.types.values import Scalar as ScalarType

from . import rules
from .scalar import Scalar, is_number, materialize, plain
from .tensors import GlobalTensor, Pointer
from .trace import current
from .where import refusal

_BOTH = 3


class TPipe:
    """A pipe between cores: parameters of the C++ template ``TPipe`` in their order, then those of its constructor.

    It is made where both kinds of core come by, outside of their sections. ``FlagID``: the first of the flags that it
    uses, two for each direction, 0 to 15 for all pipes of a kernel. ``SlotSize``: bytes of one entry, halves of both
    vector cores together. ``LocalSlotNum``: slots in the consumer's buffer, where a pipe leads through global memory.
    ``gm_slot_buffer``: that memory, a pointer or the `GlobalTensor` of its first slot. ``c2v_consumer_buf``,
    ``v2c_consumer_buf``: byte addresses of the slots in UB and L1. Raises `DiagnosticError` (LANG-PIPE).
    """

    def __init__(
        self,
        FlagID: int,
        DirType: Direction,
        SlotSize: int,
        SlotNum: int,
        LocalSlotNum: int = 2,
        IsNoSplit: bool = False,
        *,
        gm_slot_buffer: Pointer | GlobalTensor | None = None,
        c2v_consumer_buf: Scalar | int | None = None,
        v2c_consumer_buf: Scalar | int | None = None,
    ) -> None:
        trace = current("TPipe")
        if not isinstance(DirType, Direction):
            raise _wrong(f"DirType is a pto.Direction, not {DirType!r}")
        mask = DirType & _BOTH
        through = gm_slot_buffer is not None
        if through and not isinstance(gm_slot_buffer, Pointer | GlobalTensor):
            raise _wrong(f"gm_slot_buffer is a pointer or a GlobalTensor, not {gm_slot_buffer!r}")
        if through != (not trace.target.pipes_are_local or DirType > _BOTH):
            where = f"{DirType.name} on {trace.target.name} {'lacks' if not through else 'has no'} gm_slot_buffer"
            raise _wrong(where, "the DIR_*_GM directions, and all pipes of a2a3, lead through global memory")
        attrs: dict[str, Any] = {
            "dir_mask": mask,
            "slot_size": _whole("SlotSize", SlotSize),
            "slot_num": _whole("SlotNum", SlotNum),
        }
        if through and not isinstance(gm_slot_buffer, GlobalTensor):
            attrs["local_slot_num"] = min(_whole("LocalSlotNum", LocalSlotNum), attrs["slot_num"])
        if IsNoSplit:
            attrs["nosplit"] = True
        attrs["flag_base"] = _whole("FlagID", FlagID)
        buffers = {
            name: _buffer(name, address, needed=bool(mask & bit), optional=isinstance(gm_slot_buffer, GlobalTensor))
            for bit, name, address in (
                (Direction.DIR_C2V, "c2v_consumer_buf", c2v_consumer_buf),
                (Direction.DIR_V2C, "v2c_consumer_buf", v2c_consumer_buf),
            )
        }
        given = [buffer for buffer in buffers.values() if buffer is not None]
        operands: dict[str, Value | list[Value] | None] = {}
        if gm_slot_buffer is not None:
            operands["gm"] = gm_slot_buffer.value
        operands |= dict(zip(("local", "peer"), given))
        name = "pto.initialize_l2g2l_pipe" if through else "pto.initialize_l2l_pipe"
        self.direction = DirType
        self._value = trace.emit(name, operands, attrs, [Opaque("!pto.pipe")]).result

    @property
    def value(self) -> Value:
        """The pipe as an operand."""
        return self._value

    def __repr__(self) -> str:
        return f"<TPipe {self._value.shown} {self.direction.name}>"


def _buffer(name: str, address: Any, *, needed: bool, optional: bool) -> Value | None:
    if address is None:
        if needed and not optional:
            raise _wrong(f"the pipe lacks {name}", "the byte address of the slots in the buffer of the core that pops")
        return None
    if not needed:
        raise _wrong(f"the pipe has {name}, and no entries that lead there")
    if not is_number(address) or isinstance(address, float):
        raise _wrong(f"{name} is a byte address, not {address!r}")
    return materialize(address, ScalarType("i32"))


def _whole(name: str, value: Any) -> int:
    value = plain(value)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _wrong(f"{name} of a pipe is a Python integer, not {value!r}")
    return value


def _wrong(message: str, hint: str | None = None) -> Any:
    return refusal(rules.PIPE, message, hint=hint)
