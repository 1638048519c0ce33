"""What an initialize op's slots need, and what fits into them: tiles, tensors in global memory, halves of either.

What they say is the reference verifier's (PTOAS of August 2026, PTO.cpp).
"""

from __future__ import annotations

from ptokit.targets import A5, Target
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import TensorView, Type

from .core import Op, Value

_C2V, _V2C = 1, 2


def slots_misfit(op: Op, target: Target) -> str | None:
    """What is wrong with the slots of an initialize op of the frontend (PI-2)."""
    mask, slots, local = (op.attrs.get(key) for key in ("dir_mask", "slot_num", "local_slot_num"))
    tensor, c2v, v2c = (op.get(key) for key in ("gm_slot_tensor", "c2v_consumer_buf", "v2c_consumer_buf"))
    if op.attrs.get("id", 0) < 0:
        return f"id is {op.attrs['id']}"
    if slots is not None and slots <= 0:
        return f"slot_num is {slots}"
    if tensor is not None:
        if op.get("gm_slot_buffer") is not None:
            return "gm_slot_tensor and gm_slot_buffer"
        if (wrong := _slot_tensor(tensor.type, op.attrs.get("slot_size", 0))) is not None:
            return wrong
        if c2v is None and v2c is None:
            return "local_slot_num of a pipe of tensors" if local is not None else None
        if mask != _C2V or c2v is None or v2c is not None:
            return "tiles go through gm_slot_tensor from cube to vector only, with c2v_consumer_buf"
    needed = {_C2V: (c2v,), _V2C: (v2c,), _C2V | _V2C: (c2v, v2c)}.get(mask or 0, ())
    if None in needed:
        return (
            f"dir_mask = {mask} needs {'both consumer buffers' if len(needed) == 2 else 'the buffer of its consumer'}"
        )
    total = slots if slots is not None else 4 if mask == _C2V | _V2C else 8
    if local is not None and target.is_a(A5):
        return "a5 has no local_slot_num"
    return f"local_slot_num is {local}, not 1..{total}" if local is not None and not 1 <= local <= total else None


def _slot_tensor(type: Type, slot: int) -> str | None:
    if not isinstance(type, TensorView) or not type.dims:
        return f"gm_slot_tensor has type {type}, not that of a tensor_view"
    size = _bytes(type)
    if size is None or slot in (size, 2 * size):
        return None
    return f"slot_size is {slot}, the tensor of a slot has {size} bytes"


def _bytes(type: TensorView) -> int | None:
    count = 1
    for dim in type.dims:
        if dim == DYNAMIC:
            return None
        count *= dim
    return type.dtype.nbytes(count)


def _entry(op: Op) -> Type | None:
    """The type of what an operation on a pipe takes or gives."""
    for name in ("tile", "entry"):
        if (value := op.get(name)) is not None:
            return value.type
    return op.results[0].type if op.results else None


def entry_misfit(op: Op, slots: Value | None) -> str | None:
    """What is wrong with a tensor as an entry of a pipe over these slots, and with the sub-core of an entry (PI-9)."""
    entry = _entry(op)
    if op.get("aiv_subblockid") is not None:
        if op.attrs.get("split", 0) == 0:
            return "aiv_subblockid of an entry that is not split"
        if not isinstance(entry, TileSpec) or entry.loc.text != "vec":
            return "aiv_subblockid is for vec tiles"
    if not isinstance(entry, TensorView):
        return None
    if op.get("valid_row") is not None:
        return "valid sizes of a tensor"
    if slots is None or not isinstance(slots.type, TensorView):
        return f"a {entry} goes through a pipe whose slots are tensors, and this one's are not"
    slot = slots.type
    differ = any(DYNAMIC not in pair and pair[0] != pair[1] for pair in zip(slot.dims, entry.dims))
    if slot.dtype is not entry.dtype or len(slot.dims) != len(entry.dims) or differ:
        return f"the entry is {entry}, a slot {slot}"
    return None


def split_misfit(op: Op, init: Op, c2v: bool, target: Target) -> str | None:
    """What is wrong with the halves of an entry (PI-3)."""
    split, entry = op.attrs.get("split", 0), _entry(op)
    odd = split in (3, 4)
    if odd:
        through = init.get("gm_slot_tensor") is not None
        through |= not target.is_a(A5) and init.get("gm_slot_buffer") is not None
        if not c2v or init.attrs.get("dir_mask") != _C2V or not through or init.get("c2v_consumer_buf") is None:
            return f"split = {split} is for pipes of tiles from cube to vector through memory"
        if isinstance(entry, TensorView):
            return f"split = {split} is for tiles"
        if "tpop" in op.name and op.get("valid_row") is None:
            return f"split = {split} needs the valid sizes of this core's half"
    if not (c2v and "tpush" in op.name and split):
        return None
    shape = (entry.valid_row, entry.valid_col) if isinstance(entry, TileSpec) else getattr(entry, "dims", ())
    if len(shape) != 2:
        return None
    rows = split in (1, 3)
    size = shape[0 if rows else 1]
    if size == DYNAMIC or (size % 2 != 0) == odd:
        return None
    return f"split = {split} of {size} {'rows' if rows else 'columns'}"
