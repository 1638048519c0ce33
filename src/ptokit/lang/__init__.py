"""Python authoring: kernels in plain Python with the ISA's names.

Everything public is reached as ``import ptokit as pto``, which also connects kernels with the text form. What is
imported here is public.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ptokit.diagnostics import Diagnostic, DiagnosticError, KernelWarning
from ptokit.draw import layout
from ptokit.sanitize import Report, uninit
from ptokit.types.dtypes import (
    bf16,
    e1m2,
    e1m2x2,
    e2m1,
    e2m1x2,
    e4m3,
    e5m2,
    e8m0,
    f16,
    f32,
    hif4,
    hif8,
    i8,
    i16,
    i32,
    i64,
    int4,
    u8,
    u16,
    u32,
    u64,
)
from ptokit.types.enums import (
    AccPhase,
    AccToVecMode,
    AtomicType,
    BLayout,
    CmpMode,
    Coalesce,
    CompactMode,
    Direction,
    GatherExec,
    GatherOOB,
    Layout,
    MaskAxis,
    MaskPattern,
    MxGroupAxis,
    MxQuantAlg,
    NotifyOp,
    PadValue,
    Pipe,
    PrintFormat,
    QuantScaleAlg,
    QuantType,
    ReduceOp,
    ReluPreMode,
    RoundMode,
    SaturationMode,
    ScatterAtomicOp,
    ScatterConflict,
    ScatterOOB,
    SetFmatrixMode,
    SLayout,
    STPhase,
    SyncAllMode,
    SyncCoreType,
    TileSplitAxis,
    TileType,
    TInsertMode,
    VecStoreMode,
)
from ptokit.types.tile import DYNAMIC
from ptokit.types.values import INDEX as index

from .control import cube_section, else_, if_, range, vector_section
from .core import Core
from .functions import (
    SET_VALIDSHAPE,
    TASSIGN,
    TRESHAPE,
    TSUBVIEW,
    TSYNC,
    ConvTile,
    Event,
    RecordEvent,
    TileAcc,
    TileLeft,
    TileLeftScale,
    TileRight,
    TileRightScale,
    assume,
    cdiv,
    get_block_idx,
    get_block_num,
    get_subblock_idx,
    get_subblock_num,
    maximum,
    minimum,
    quant,
    select,
)
from .intrinsics import (
    TPREFETCH_ASYNC,
    AsyncEvent,
    Namespace,
    PrefetchAsyncContext,
    beginnings,
    castptr,
    intrinsic,
    vecscope,
)
from .intrinsics import names as _instructions
from .kernels import Kernel, kernel
from .launching import COMM, RANK, RANKS, Peer
from .mistakes import NoName
from .operands import AlignState, Predicate, Register
from .params import Ptr, Static
from .scalar import Scalar, cast
from .syntax import function, static, static_range
from .tensors import BaseShape2D, GlobalTensor, Partition, Pointer, Shape, Stride, TileShape2D, TPipe
from .tiles import Tile, custom_pad

PIPE_S, PIPE_V, PIPE_M, PIPE_FIX, PIPE_ALL = Pipe.S, Pipe.V, Pipe.M, Pipe.FIX, Pipe.ALL
PIPE_MTE1, PIPE_MTE2, PIPE_MTE3 = Pipe.MTE1, Pipe.MTE2, Pipe.MTE3
EVENT_ID0, EVENT_ID1, EVENT_ID2, EVENT_ID3, EVENT_ID4, EVENT_ID5, EVENT_ID6, EVENT_ID7 = 0, 1, 2, 3, 4, 5, 6, 7

_OWN = {"Any", "ModuleType", "Namespace", "annotations", "beginnings", "NoName"}
__all__ = sorted(
    name
    for name, value in globals().items()
    if not (name.startswith("_") or name in _OWN or isinstance(value, ModuleType))
)


def __getattr__(name: str) -> Any:
    """An instruction by its name, or those whose names begin so with a dot."""
    if name.startswith("_"):  # other tools look for such names, and want no hint
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in beginnings():
        return Namespace(name)
    try:
        return intrinsic(name)
    except KeyError:
        error = NoName(name, __dir__())
    try:
        raise error
    except NoName:
        error.__traceback__ = None  # a bare raise adds no frame of this function
        raise


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in _instructions() if "." not in name), *beginnings()})
