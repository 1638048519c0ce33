"""Single elements of tiles, which the scalar unit reads and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ptokit.isa.meaning.words import Single
from ptokit.plan.steps import Step
from ptokit.types.dtypes import DType
from ptokit.types.values import Scalar

from .elements import storage
from .lanes import scalar_element
from .scalars import llvm_type
from .values import Tile
from .views import Checked

if TYPE_CHECKING:
    from .function import Writer

_INFINITY = {"f32": 0x7F800000, "f16": 0x7C00, "bf16": 0x7F80}


def write(w: Writer, step: Step, word: Single, operands: dict[str, Any]) -> bool:
    """True if native code has been written."""
    tile = operands.get(word.tile)
    if not isinstance(tile, Tile) or tile.parent is not None or not _plain(tile.spec.dtype):
        return False
    dtype = tile.spec.dtype
    if not word.value and not _fits(dtype, step.result.type):
        return False
    w.pending.flush()
    code, offset, checked = w.code, w.number(step[word.offset]), Checked(w)
    checked.need("sge", offset, 0)
    checked.need("slt", offset, tile.spec.numel)
    w.refuse_if(checked.any(), step)
    place = code.at(code.at(w.memory, tile.start), code.mul(offset, dtype.size))
    if word.value:
        code.store(storage(dtype), scalar_element(w, step[word.value], dtype), place, dtype.size)
        return True
    w.touch(tile)
    found = code.load(f"i{dtype.bits}", place, dtype.size)
    w.set(step.result, _quiet(w, dtype, found) if dtype.is_float else found)
    return True


def _plain(dtype: DType) -> bool:
    return dtype.name in _INFINITY or (dtype.is_integer and dtype.bits in (8, 16, 32, 64))


def _fits(dtype: DType, type: Any) -> bool:
    """True if the result has the bits of an element."""
    if not isinstance(type, Scalar):
        return False
    return type.name == dtype.name if dtype.is_float else type.is_integer and llvm_type(type.name) == f"i{dtype.bits}"


def _quiet(w: Writer, dtype: DType, bits: str) -> str:
    """A NaN as a quiet one, as reading it as a number makes it."""
    code, t, infinity = w.code, f"i{dtype.bits}", _INFINITY[dtype.name]
    size = code.value(f"and {t} {bits}, {(1 << dtype.bits - 1) - 1}")
    nan = code.value(f"icmp ugt {t} {size}, {infinity}")
    quiet = code.value(f"or {t} {bits}, {(infinity & -infinity) >> 1}")
    return code.value(f"select i1 {nan}, {t} {quiet}, {t} {bits}")
