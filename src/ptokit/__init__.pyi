"""ptokit: write, check, run and debug PTO tile programs on any machine. Made by tools/stubs.py."""

# mypy: disable-error-code="overload-overlap, overload-cannot-match, misc"
# pyright: reportOverlappingOverload=false, reportIncompatibleVariableOverride=false
from abc import ABCMeta
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Annotated, Any, Generic, Literal, Protocol, overload

from typing_extensions import TypeVar

from ptokit.types.dtypes import DType

from ptokit.types.enums import AccPhase as AccPhase
from ptokit.types.enums import AccToVecMode as AccToVecMode
from ptokit.lang.operands import AlignState as AlignState
from ptokit.lang.intrinsics import AsyncEvent as AsyncEvent
from ptokit.types.enums import AtomicType as AtomicType
from ptokit.types.enums import BLayout as BLayout
from ptokit.lang.tensors import BaseShape2D as BaseShape2D
from ptokit.lang.launching import COMM as COMM
from ptokit.types.enums import CmpMode as CmpMode
from ptokit.types.enums import Coalesce as Coalesce
from ptokit.types.enums import CompactMode as CompactMode
from ptokit.lang.functions import ConvTile as ConvTile
from ptokit.lang.core import Core as Core
from ptokit.types.tile import DYNAMIC as DYNAMIC
from ptokit.diagnostics import Diagnostic as Diagnostic
from ptokit.diagnostics import DiagnosticError as DiagnosticError
from ptokit.types.enums import Direction as Direction
from ptokit.lang import EVENT_ID0 as EVENT_ID0
from ptokit.lang import EVENT_ID1 as EVENT_ID1
from ptokit.lang import EVENT_ID2 as EVENT_ID2
from ptokit.lang import EVENT_ID3 as EVENT_ID3
from ptokit.lang import EVENT_ID4 as EVENT_ID4
from ptokit.lang import EVENT_ID5 as EVENT_ID5
from ptokit.lang import EVENT_ID6 as EVENT_ID6
from ptokit.lang import EVENT_ID7 as EVENT_ID7
from ptokit.lang.functions import Event as Event
from ptokit.types.enums import GatherExec as GatherExec
from ptokit.types.enums import GatherOOB as GatherOOB
from ptokit.lang.tensors import GlobalTensor as GlobalTensor
from ptokit.lang.kernels import Kernel as Kernel
from ptokit.diagnostics import KernelWarning as KernelWarning
from ptokit.types.enums import Layout as Layout
from ptokit.types.enums import MaskAxis as MaskAxis
from ptokit.types.enums import MaskPattern as MaskPattern
from ptokit.types.enums import MxGroupAxis as MxGroupAxis
from ptokit.types.enums import MxQuantAlg as MxQuantAlg
from ptokit.types.enums import NotifyOp as NotifyOp
from ptokit.lang import PIPE_ALL as PIPE_ALL
from ptokit.lang import PIPE_FIX as PIPE_FIX
from ptokit.lang import PIPE_M as PIPE_M
from ptokit.lang import PIPE_MTE1 as PIPE_MTE1
from ptokit.lang import PIPE_MTE2 as PIPE_MTE2
from ptokit.lang import PIPE_MTE3 as PIPE_MTE3
from ptokit.lang import PIPE_S as PIPE_S
from ptokit.lang import PIPE_V as PIPE_V
from ptokit.types.enums import PadValue as PadValue
from ptokit.lang.tensors import Partition as Partition
from ptokit.lang.launching import Peer as Peer
from ptokit.types.enums import Pipe as Pipe
from ptokit.lang.tensors import Pointer as Pointer
from ptokit.lang.operands import Predicate as Predicate
from ptokit.lang.intrinsics import PrefetchAsyncContext as PrefetchAsyncContext
from ptokit.types.enums import PrintFormat as PrintFormat
from ptokit.types.enums import QuantScaleAlg as QuantScaleAlg
from ptokit.types.enums import QuantType as QuantType
from ptokit.lang.launching import RANK as RANK
from ptokit.lang.launching import RANKS as RANKS
from ptokit.lang.functions import RecordEvent as RecordEvent
from ptokit.types.enums import ReduceOp as ReduceOp
from ptokit.lang.operands import Register as Register
from ptokit.types.enums import ReluPreMode as ReluPreMode
from ptokit.sanitize import Report as Report
from ptokit.types.enums import RoundMode as RoundMode
from ptokit.lang.functions import SET_VALIDSHAPE as SET_VALIDSHAPE
from ptokit.types.enums import SLayout as SLayout
from ptokit.types.enums import STPhase as STPhase
from ptokit.types.enums import SaturationMode as SaturationMode
from ptokit.lang.scalar import Scalar as Scalar
from ptokit.types.enums import ScatterAtomicOp as ScatterAtomicOp
from ptokit.types.enums import ScatterConflict as ScatterConflict
from ptokit.types.enums import ScatterOOB as ScatterOOB
from ptokit.types.enums import SetFmatrixMode as SetFmatrixMode
from ptokit.lang.tensors import Shape as Shape
from ptokit.lang.tensors import Stride as Stride
from ptokit.types.enums import SyncAllMode as SyncAllMode
from ptokit.types.enums import SyncCoreType as SyncCoreType
from ptokit.lang.functions import TASSIGN as TASSIGN
from ptokit.types.enums import TInsertMode as TInsertMode
from ptokit.lang.intrinsics import TPREFETCH_ASYNC as TPREFETCH_ASYNC
from ptokit.lang.tensors import TPipe as TPipe
from ptokit.lang.functions import TRESHAPE as TRESHAPE
from ptokit.lang.functions import TSUBVIEW as TSUBVIEW
from ptokit.lang.functions import TSYNC as TSYNC
from ptokit.lang.tiles import Tile as Tile
from ptokit.lang.functions import TileAcc as TileAcc
from ptokit.lang.functions import TileLeft as TileLeft
from ptokit.lang.functions import TileLeftScale as TileLeftScale
from ptokit.lang.functions import TileRight as TileRight
from ptokit.lang.functions import TileRightScale as TileRightScale
from ptokit.lang.tensors import TileShape2D as TileShape2D
from ptokit.types.enums import TileSplitAxis as TileSplitAxis
from ptokit.types.enums import TileType as TileType
from ptokit.types.enums import VecStoreMode as VecStoreMode
from ptokit.lang.functions import assume as assume
from ptokit.lang.scalar import cast as cast
from ptokit.lang.intrinsics import castptr as castptr
from ptokit.lang.functions import cdiv as cdiv
from ptokit.lang.control import cube_section as cube_section
from ptokit.lang.tiles import custom_pad as custom_pad
from ptokit.lang.syntax import function as function
from ptokit.lang.functions import get_block_idx as get_block_idx
from ptokit.lang.functions import get_block_num as get_block_num
from ptokit.lang.functions import get_subblock_idx as get_subblock_idx
from ptokit.lang.functions import get_subblock_num as get_subblock_num
from ptokit.lang.kernels import kernel as kernel
from ptokit.draw import layout as layout
from ptokit.lang.functions import maximum as maximum
from ptokit.lang.functions import minimum as minimum
from ptokit.lang.functions import quant as quant
from ptokit.lang.functions import select as select
from ptokit.lang.syntax import static as static
from ptokit.lang.syntax import static_range as static_range
from ptokit.sanitize import uninit as uninit
from ptokit.lang.intrinsics import vecscope as vecscope
from ptokit.lang.control import vector_section as vector_section
from ptokit.api.check import CheckReport as CheckReport
from ptokit.api.sanitize import DiffReport as DiffReport
from ptokit.api.instruction import InstructionPage as InstructionPage
from ptokit.api.rule import RulePage as RulePage
from ptokit.api.launch import RunResult as RunResult
from ptokit.api.program import Source as Source
from ptokit.api.tune import Tuned as Tuned
from ptokit.diagnostics import UsageError as UsageError
from ptokit.api.check import check as check
from ptokit.api.sanitize import compare_order as compare_order
from ptokit.api.check import convert as convert
from ptokit.api.files import cpp as cpp
from ptokit.api.sanitize import diff as diff
from ptokit.api.rule import explain as explain
from ptokit.api.check import format as format
from ptokit.api.instruction import isa as isa
from ptokit.api.prove import prove as prove
from ptokit.api.check import read as read
from ptokit.api.launch import run as run
from ptokit.api.sanitize import sanitize as sanitize
from ptokit.api.synchronise import synchronise as synchronise
from ptokit.api.launch import time as time
from ptokit.api.tune import tune as tune

__version__: str

_T = TypeVar("_T", default=Any)
_Number = Scalar | int | float | _Measuring

class _ElementType(ABCMeta, DType): ...  # of the classes below: what they are where an element type is expected

class _Measuring(Protocol):  # what numbers of a kernel and of Python have: a launch gives either
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __rfloordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...
    def __rmod__(self, other: Any, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    def __neg__(self) -> Any: ...
    def __pos__(self) -> Any: ...
    def __abs__(self) -> Any: ...

class _Counting(_Measuring, Protocol):
    def __lshift__(self, other: Any, /) -> Any: ...
    def __rlshift__(self, other: Any, /) -> Any: ...
    def __rshift__(self, other: Any, /) -> Any: ...
    def __rrshift__(self, other: Any, /) -> Any: ...
    def __and__(self, other: Any, /) -> Any: ...
    def __rand__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __ror__(self, other: Any, /) -> Any: ...
    def __xor__(self, other: Any, /) -> Any: ...
    def __rxor__(self, other: Any, /) -> Any: ...
    def __invert__(self) -> Any: ...
    def __index__(self) -> Any: ...

class bf16(_Measuring, Protocol, metaclass=_ElementType): ...
class e1m2(_Measuring, Protocol, metaclass=_ElementType): ...
class e1m2x2(_Measuring, Protocol, metaclass=_ElementType): ...
class e2m1(_Measuring, Protocol, metaclass=_ElementType): ...
class e2m1x2(_Measuring, Protocol, metaclass=_ElementType): ...
class e4m3(_Measuring, Protocol, metaclass=_ElementType): ...
class e5m2(_Measuring, Protocol, metaclass=_ElementType): ...
class e8m0(_Measuring, Protocol, metaclass=_ElementType): ...
class f16(_Measuring, Protocol, metaclass=_ElementType): ...
class f32(_Measuring, Protocol, metaclass=_ElementType): ...
class hif4(_Measuring, Protocol, metaclass=_ElementType): ...
class hif8(_Measuring, Protocol, metaclass=_ElementType): ...
class i16(_Counting, Protocol, metaclass=_ElementType): ...
class i32(_Counting, Protocol, metaclass=_ElementType): ...
class i64(_Counting, Protocol, metaclass=_ElementType): ...
class i8(_Counting, Protocol, metaclass=_ElementType): ...
class index(_Counting, Protocol, metaclass=_ElementType): ...
class int4(_Counting, Protocol, metaclass=_ElementType): ...
class u16(_Counting, Protocol, metaclass=_ElementType): ...
class u32(_Counting, Protocol, metaclass=_ElementType): ...
class u64(_Counting, Protocol, metaclass=_ElementType): ...
class u8(_Counting, Protocol, metaclass=_ElementType): ...

class _TypedPointer(Pointer, Generic[_T]): ...

Ptr = _TypedPointer[_T] | Any  # a pointer in the kernel; a launch gives any array

Static = Annotated[_T, "a Python value while tracing"]

def if_(condition: Any) -> AbstractContextManager[None]: ...
def else_() -> AbstractContextManager[None]: ...
def range(start: Any, stop: Any = ..., step: Any = ..., /) -> Sequence[Scalar]: ...

_AccPhase = AccPhase | Literal['unspecified', 'Unspecified', 'partial', 'Partial', 'final', 'Final']
_AccToVecMode = AccToVecMode | Literal['single_mode_vec0', 'SingleModeVec0', 'single_mode_vec1', 'SingleModeVec1', 'dual_mode_split_m', 'DualModeSplitM', 'dual_mode_split_n', 'DualModeSplitN']
_AtomicType = AtomicType | Literal['atomic_none', 'AtomicNone', 'atomic_add', 'AtomicAdd', 'atomic_max', 'AtomicMax', 'atomic_min', 'AtomicMin']
_CmpMode = CmpMode | Literal['eq', 'EQ', 'ne', 'NE', 'lt', 'LT', 'le', 'LE', 'gt', 'GT', 'ge', 'GE']
_Coalesce = Coalesce | Literal['row', 'Row', 'elem', 'Elem']
_GatherExec = GatherExec | Literal['scalar', 'Scalar', 'simt', 'Simt']
_GatherOOB = GatherOOB | Literal['undefined', 'Undefined', 'clamp', 'Clamp', 'wrap', 'Wrap', 'zero', 'Zero']
_Layout = Layout | Literal['nd', 'ND', 'dn', 'DN', 'nz', 'NZ', 'scale', 'SCALE', 'mx_a_nd', 'MX_A_ND', 'mx_a_dn', 'MX_A_DN', 'mx_a_zz', 'MX_A_ZZ', 'mx_b_nd', 'MX_B_ND', 'mx_b_dn', 'MX_B_DN', 'mx_b_nn', 'MX_B_NN', 'hif4_a_zz', 'HIF4_A_ZZ', 'hif4_b_nn', 'HIF4_B_NN', 'nc1hwc0', 'NC1HWC0', 'gnc1hwc0', 'GNC1HWC0', 'nchw', 'NCHW', 'gnchw', 'GNCHW', 'nhwc', 'NHWC', 'ndc1hwc0', 'NDC1HWC0', 'ncdhw', 'NCDHW', 'fractal_z', 'FRACTAL_Z', 'fractal_z_s16s8', 'FRACTAL_Z_S16S8', 'fractal_z_3d', 'FRACTAL_Z_3D']
_MaskAxis = MaskAxis | Literal['row', 'Row', 'col', 'Col']
_MaskPattern = MaskPattern | Literal['P0101', 'P1010', 'P0001', 'P0010', 'P0100', 'P1000', 'P1111']
_MxGroupAxis = MxGroupAxis | Literal['axis0', 'Axis0', 'axis1', 'Axis1']
_MxQuantAlg = MxQuantAlg | Literal['OcpMxFp8E4M3', 'NvMxFp8E4M3', 'OcpMxFp4E2M1', 'NvMxFp4E2M1', 'Hif4']
_NotifyOp = NotifyOp | Literal['atomic_add', 'AtomicAdd', 'set', 'Set']
_Pipe = Pipe | Literal['PIPE_S', 'S', 'PIPE_V', 'V', 'PIPE_M', 'M', 'PIPE_MTE1', 'MTE1', 'PIPE_MTE2', 'MTE2', 'PIPE_MTE3', 'MTE3', 'PIPE_FIX', 'FIX', 'PIPE_ALL', 'ALL', 'PIPE_MTE4', 'MTE4', 'PIPE_MTE5', 'MTE5', 'PIPE_V2', 'V2', 'VIRTUAL_PIPE_MTE2_L1A', 'MTE2_L1A', 'VIRTUAL_PIPE_MTE2_L1B', 'MTE2_L1B', 'PIPE_NUM', 'NUM', 'PIPE_UNASSIGNED', 'UNASSIGNED']
_PrintFormat = PrintFormat | Literal['width8_precision4', 'Width8_Precision4', 'width8_precision2', 'Width8_Precision2', 'width10_precision6', 'Width10_Precision6']
_QuantScaleAlg = QuantScaleAlg | Literal['ocp', 'OCP', 'nv', 'NV']
_QuantType = QuantType | Literal['INT8_SYM', 'INT8_ASYM', 'MXFP8', 'MXFP4_E2M1']
_ReduceOp = ReduceOp | Literal['sum', 'Sum', 'max', 'Max', 'min', 'Min']
_ReluPreMode = ReluPreMode | Literal['no_relu', 'NoRelu', 'normal_relu', 'NormalRelu']
_RoundMode = RoundMode | Literal['NONE', 'RINT', 'ROUND', 'FLOOR', 'CEIL', 'TRUNC', 'ODD', 'CAST_RINT']
_STPhase = STPhase | Literal['unspecified', 'Unspecified', 'partial', 'Partial', 'final', 'Final']
_SaturationMode = SaturationMode | Literal['ON', 'OFF']
_ScatterAtomicOp = ScatterAtomicOp | Literal['none', 'NONE', 'add', 'Add', 'max', 'Max', 'min', 'Min']
_ScatterConflict = ScatterConflict | Literal['last', 'Last', 'default', 'Default']
_ScatterOOB = ScatterOOB | Literal['undefined', 'Undefined', 'skip', 'Skip', 'clamp', 'Clamp', 'wrap', 'Wrap']
_SetFmatrixMode = SetFmatrixMode | Literal['FMATRIX_A_AUTO', 'FMATRIX_B_AUTO', 'FMATRIX_A_MANUAL', 'FMATRIX_B_MANUAL']
_SyncAllMode = SyncAllMode | Literal['hard', 'Hard', 'soft', 'Soft']
_SyncCoreType = SyncCoreType | Literal['aiv_only', 'AIVOnly', 'aic_only', 'AICOnly', 'mix', 'Mix']
_TInsertMode = TInsertMode | Literal['split2', 'SPLIT2', 'split4', 'SPLIT4']
_VecStoreMode = VecStoreMode | Literal['nd', 'ND', 'nz', 'NZ']

@overload
def MGATHER(dst: Tile, src: GlobalTensor | Partition, idx: Tile | GlobalTensor | Partition, *more: RecordEvent | _Coalesce | _GatherOOB | _GatherExec, mode: _Coalesce | None = ..., oob: _GatherOOB = ..., exec: _GatherExec = ...) -> RecordEvent:
    """Gather elements or rows of a table in global memory by indices.

    C++: MGATHER(dst, src, idx, [scratch]); text: pto.mgather.

    dst: tile, written
    src: view, read
    idx: tile, read
    scratch: view, scratch, optional
    mode: Coalesce, default None
    oob: GatherOOB, default Undefined
    exec: GatherExec, default Scalar

    Pipe: depends on operands and target.
    Rules: GATHER-COM-01, GATHER-A23-01, GATHER-A5-01, GATHER-CPU-03, GATHER-COM-03, GATHER-COM-02, GATHER-COM-07, GATHER-COM-04, GATHER-COM-05, GATHER-COM-06, GATHER-COM-08, GATHER-CPU-01, GATHER-CPU-02, GATHER-CPU-04, GATHER-A23-02, GATHER-A5-02, GATHER-A23-09, GATHER-A23-10, GATHER-A5-09, GATHER-A23-03, GATHER-A23-04, GATHER-A23-05, GATHER-A23-06, GATHER-A23-07, GATHER-A23-08, GATHER-A5-08, GATHER-A5-03, GATHER-A5-04, GATHER-A5-05, GATHER-A5-06, GATHER-A5-07, GATHER-A5-10, GATHER-A5-11, GATHER-A5-12, GA-1, GA-2, GA-3, GA-4, GA-5, GA-6, GA-7, GA-8, GA-9.
    Source: memory-and-data-movement; move-gather-scatter 10.
    """
@overload
def MGATHER(dst: Tile, src: GlobalTensor | Partition, idx: Tile | GlobalTensor | Partition, scratch: GlobalTensor | Partition, *more: RecordEvent | _Coalesce | _GatherOOB | _GatherExec, mode: _Coalesce | None = ..., oob: _GatherOOB = ..., exec: _GatherExec = ...) -> RecordEvent: ...

def MSCATTER(dst: GlobalTensor | Partition, src: Tile, idx: Tile, *more: RecordEvent | _Coalesce | _ScatterAtomicOp | _ScatterOOB | _ScatterConflict, mode: _Coalesce | None = ..., atomic: _ScatterAtomicOp = ..., oob: _ScatterOOB = ..., conflict: _ScatterConflict | None = ...) -> RecordEvent:
    """Scatter elements or rows of a tile to global memory by indices, plainly or atomically.

    C++: MSCATTER(dst, src, idx); text: pto.mscatter.

    dst: view, written
    src: tile, read
    idx: tile, read
    mode: Coalesce, default None
    atomic: ScatterAtomicOp, default NONE
    oob: ScatterOOB, default Undefined
    conflict: ScatterConflict, default None

    Pipe: PIPE_V.
    Rules: SCATTER-COM-06, SCATTER-COM-01, SCATTER-A23-01, SCATTER-A5-01, SCATTER-CPU-02, SCATTER-COM-03, SCATTER-COM-02, SCATTER-COM-04, SCATTER-COM-05, SCATTER-CPU-01, SCATTER-CPU-03, SCATTER-A23-02, SCATTER-A23-03, SCATTER-A23-04, SCATTER-A23-05, SCATTER-A23-06, SCATTER-A23-07, SCATTER-A5-06, SCATTER-A5-02, SCATTER-A5-03, SCATTER-A5-04, SCATTER-A5-05, SCATTER-ROW-01, SC-1, SC-2, SC-3, SC-4, SC-5, SC-6, SC-7, SC-8, SC-9, SC-10.
    Source: memory-and-data-movement; move-gather-scatter 11.
    """

def PRINT(value: _Number, *more: RecordEvent | str, format: str | None = ...) -> RecordEvent:
    """Print a number after a format as of printf.

    C++: PRINT(value); text: pto.print.

    value: scalar, read
    format: str, default None

    Pipe: PIPE_S.
    Rules: PRINT-04.
    Source: assembly 6.2.
    """

def SETFMATRIX(config: Tile, *more: RecordEvent | _SetFmatrixMode, fmatrix: _SetFmatrixMode = ...) -> RecordEvent:
    """Set feature map size and padding of TIMG2COL from a convolution tile.

    C++: SETFMATRIX(config); text: pto.setfmatrix.

    config: tile, read
    fmatrix: SetFmatrixMode, default FMATRIX_A_MANUAL

    Pipe: PIPE_S.
    Rules: IMG-COM-02.
    Source: compute-layout-irregular 1.7.
    """

def SETHF32MODE(enable: bool = ..., mode: str = ...) -> RecordEvent:
    """Round f32 operands of the cube unit to 11 bits of mantissa (A2/A3), or stop it.

    C++: SETHF32MODE([enable], [mode]); text: pto.sethf32mode.

    enable: bool, default True
    mode: str, default CAST_ROUND

    Pipe: PIPE_S.
    Rules: MODE-01.
    Source: compute-reduce-matrix 11.
    """

def SETTF32MODE(enable: bool = ..., mode: str = ...) -> RecordEvent:
    """Round f32 operands of the cube unit to 10 bits of mantissa (A5), or stop it.

    C++: SETTF32MODE([enable], [mode]); text: pto.settf32mode.

    enable: bool, default True
    mode: str, default CAST_ROUND

    Pipe: PIPE_S.
    Rules: MODE-01.
    Source: compute-reduce-matrix 11.
    """

def SET_IMG2COL_PADDING(config: Tile, *more: RecordEvent | _SetFmatrixMode, fmatrix: _SetFmatrixMode = ...) -> RecordEvent:
    """Set the padding value of TIMG2COL from a convolution tile.

    C++: SET_IMG2COL_PADDING(config); text: pto.set_img2col_padding.

    config: tile, read
    fmatrix: SetFmatrixMode, default FMATRIX_A_MANUAL

    Pipe: PIPE_S.
    Rules: IMG-COM-02.
    Source: compute-layout-irregular 1.7.
    """

def SET_IMG2COL_RPT(config: Tile, *more: RecordEvent | _SetFmatrixMode, fmatrix: _SetFmatrixMode = ...) -> RecordEvent:
    """Set the repetition of TIMG2COL from a convolution tile.

    C++: SET_IMG2COL_RPT(config); text: pto.set_img2col_rpt.

    config: tile, read
    fmatrix: SetFmatrixMode, default FMATRIX_A_MANUAL

    Pipe: PIPE_S.
    Rules: IMG-COM-02.
    Source: compute-layout-irregular 1.7.
    """

@overload
def SYNCALL(mode: _SyncAllMode, core_type: _SyncCoreType = ...) -> RecordEvent:
    """Wait until every core of a type has arrived; all pipes are drained first.

    C++: SYNCALL([workspace], [used]); text: pto.syncall.

    workspace: ptr, read, optional
    used: scalar, read, optional
    mode: SyncAllMode, default None
    core_type: SyncCoreType, default Mix

    Pipe: PIPE_S.
    Rules: SYS-04.
    Source: memory-model-and-sync 5.5; compute-layout-irregular 4.
    """
@overload
def SYNCALL(workspace: Pointer, *more: RecordEvent | _SyncAllMode | _SyncCoreType, mode: _SyncAllMode | None = ..., core_type: _SyncCoreType = ...) -> RecordEvent: ...
@overload
def SYNCALL(used: _Number, *more: RecordEvent | _SyncAllMode | _SyncCoreType, mode: _SyncAllMode | None = ..., core_type: _SyncCoreType = ...) -> RecordEvent: ...
@overload
def SYNCALL(workspace: Pointer, used: _Number, *more: RecordEvent | _SyncAllMode | _SyncCoreType, mode: _SyncAllMode | None = ..., core_type: _SyncCoreType = ...) -> RecordEvent: ...

def TABS(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = |src|

    C++: TABS(dst, src); text: pto.tabs.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-CPU-01.
    Source: compute-elementwise 3.
    """

def TADD(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 + src1

    C++: TADD(dst, src0, src1); text: pto.tadd.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-CPU-01.
    Source: compute-elementwise 3.
    """

def TADDC(dst: Tile, src0: Tile, src1: Tile, src2: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = (src0 + src1) + src2

    C++: TADDC(dst, src0, src1, src2); text: pto.taddc.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    src2: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-CPU-01, EW-AS-09.
    Source: compute-elementwise 3.
    """

def TADDDEQRELU(dst: Tile, src0: Tile, src1: Tile, deq_scale: _Number, tmp: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = max((src0 + src1) * deq_scale, 0) as f16, the sum of i32

    C++: TADDDEQRELU(dst, src0, src1, deq_scale, tmp); text: pto.tadddeqrelu.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    deq_scale: scalar, read
    tmp: tile, scratch

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-05, EW-06, EW-10, EW-1, EW-07, EW-11.
    Source: compute-elementwise 4.7.
    """

def TADDRELU(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = max(src0 + src1, 0)

    C++: TADDRELU(dst, src0, src1); text: pto.taddrelu.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TADDRELUCONV(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = max(src0 + src1, 0) as f16 of f32, or i8 of f16 and i16

    C++: TADDRELUCONV(dst, src0, src1); text: pto.taddreluconv.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-05, EW-06, EW-10, EW-1, EW-07.
    Source: compute-elementwise 4.7.
    """

def TADDS(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = src + scalar

    C++: TADDS(dst, src, scalar); text: pto.tadds.

    dst: tile, written
    src: tile, read
    scalar: scalar, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-A5-01, EW-CPU-02.
    Source: compute-elementwise 3.
    """

def TADDSC(dst: Tile, src0: Tile, scalar: _Number, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = (src0 + scalar) + src1

    C++: TADDSC(dst, src0, scalar, src1); text: pto.taddsc.

    dst: tile, written
    src0: tile, read
    scalar: scalar, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-CPU-01, EW-AS-09.
    Source: compute-elementwise 3.
    """

def TALLOC(pipe: TPipe, entry: GlobalTensor | Partition, *more: RecordEvent | TileSplitAxis, split: TileSplitAxis = ...) -> RecordEvent:
    """Let a declared tensor be the next slot of a pipe.

    C++: TALLOC(pipe, entry); text: pto.talloc.

    pipe: pipe, read
    entry: view, written
    split: int, default 0

    Pipe: PIPE_S.
    Source: assembly 9; compute-layout-irregular 3.
    """

def TAND(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 & src1; of floats the bits

    C++: TAND(dst, src0, src1); text: pto.tand.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TANDS(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = src & scalar; of floats the bits

    C++: TANDS(dst, src, scalar); text: pto.tands.

    dst: tile, written
    src: tile, read
    scalar: scalar, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-AS-01, EW-A3-07.
    Source: compute-elementwise 3.
    """

def TAXPY(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = src * scalar + dst

    C++: TAXPY(dst, src, scalar); text: pto.taxpy.

    dst: tile, read and written
    src: tile, read
    scalar: scalar, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-05, EW-06, EW-08, EW-10, EW-1, EW-AS-08.
    Source: compute-elementwise 3.
    """

@overload
def TCI(dst: Tile, start: _Number, *more: RecordEvent | bool, descending: bool = ...) -> RecordEvent:
    """dst[0,k] = start + k, or start - k

    C++: TCI(dst, start, [tmp]); text: pto.tci.

    dst: tile, written
    start: scalar, read
    tmp: tile, scratch, optional
    descending: bool, default False

    Pipe: depends on operands and target.
    Rules: GEN-CI-01, CI-01, CI-02, CI-02-T, CI-03, CI-AS-01.
    Source: compute-layout-irregular 2.7; memory-model-and-sync 2.1.
    """
@overload
def TCI(dst: Tile, start: _Number, tmp: Tile, *more: RecordEvent | bool, descending: bool = ...) -> RecordEvent: ...

def TCMP(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent | _CmpMode, cmp: _CmpMode = ...) -> RecordEvent:
    """bit (r,c) of dst = src0 cmp src1

    C++: TCMP(dst, src0, src1); text: pto.tcmp.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    cmp: CmpMode, default EQ

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-06, EW-10, EW-1, EW-CMP-01, EW-A3-01, EW-A3-03, EW-A5-02, EW-A5-06, EW-CPU-04, EW-AS-07, EW-A5-01.
    Source: compute-elementwise 3.
    """

def TCMPS(dst: Tile, src: Tile, scalar: _Number | Tile, *more: RecordEvent | _CmpMode, cmp: _CmpMode = ...) -> RecordEvent:
    """bit (r,c) of dst = src cmp scalar, a number or the first element of a tile

    C++: TCMPS(dst, src, scalar); text: pto.tcmps.

    dst: tile, written
    src: tile, read
    scalar: scalar, read
    cmp: CmpMode, default EQ

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-06, EW-10, EW-1, EW-CMP-01, EW-A3-01, EW-A3-02, EW-A3-03, EW-A5-06, EW-AS-07, EW-A5-01, EW-07.
    Source: compute-elementwise 3.
    """

@overload
def TCOLARGMAX(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[0,j] = first row of the maximum of column j

    C++: TCOLARGMAX(dst, src, [tmp], [dst_val]); text: pto.tcolargmax.

    dst: tile, written
    src: tile, read
    tmp: tile, scratch, optional
    dst_val: tile, written, optional

    Pipe: PIPE_V.
    Rules: ARG-COM-01, ARG-COM-02, ARG-COM-03, ARG-COM-04, CR-1, ARG-A3-02, ARG-A3-03, ARG-A3-04, ARG-A5-01, CMP-INP-01.
    Source: compute-reduce-matrix 3.
    """
@overload
def TCOLARGMAX(dst: Tile, src: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...
@overload
def TCOLARGMAX(dst: Tile, src: Tile, dst_val: Tile, *more: RecordEvent) -> RecordEvent: ...
@overload
def TCOLARGMAX(dst: Tile, src: Tile, tmp: Tile, dst_val: Tile, *more: RecordEvent) -> RecordEvent: ...

@overload
def TCOLARGMIN(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[0,j] = first row of the minimum of column j

    C++: TCOLARGMIN(dst, src, [tmp], [dst_val]); text: pto.tcolargmin.

    dst: tile, written
    src: tile, read
    tmp: tile, scratch, optional
    dst_val: tile, written, optional

    Pipe: PIPE_V.
    Rules: ARG-COM-01, ARG-COM-02, ARG-COM-03, ARG-COM-04, CR-1, ARG-A3-02, ARG-A3-03, ARG-A3-04, ARG-A5-01, CMP-INP-01.
    Source: compute-reduce-matrix 3.
    """
@overload
def TCOLARGMIN(dst: Tile, src: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...
@overload
def TCOLARGMIN(dst: Tile, src: Tile, dst_val: Tile, *more: RecordEvent) -> RecordEvent: ...
@overload
def TCOLARGMIN(dst: Tile, src: Tile, tmp: Tile, dst_val: Tile, *more: RecordEvent) -> RecordEvent: ...

def TCOLEXPAND(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,j] = src[0,j]

    C++: TCOLEXPAND(dst, src); text: pto.tcolexpand.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: CEXP-COM-01, CEXP-A5-01, EW-1, CMP-INP-01.
    Source: compute-reduce-matrix 5.
    """

def TCOLEXPANDADD(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,j] = src0[i,j] + src1[0,j], or swapped

    C++: TCOLEXPANDADD(dst, src0, src1); text: pto.tcolexpandadd.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-1, CMP-INP-01, CEXP-COM-02, CEXP-AS-01.
    Source: compute-reduce-matrix 5.
    """

def TCOLEXPANDDIV(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,j] = src0[i,j] / src1[0,j], or swapped

    C++: TCOLEXPANDDIV(dst, src0, src1); text: pto.tcolexpanddiv.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-1, CMP-INP-01, CEXP-COM-02, CEXP-AS-01.
    Source: compute-reduce-matrix 5.
    """

def TCOLEXPANDEXPDIF(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,j] = exp(src0[i,j] - src1[0,j]), or swapped

    C++: TCOLEXPANDEXPDIF(dst, src0, src1); text: pto.tcolexpandexpdif.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-1, CMP-INP-01, CEXP-COM-02, CEXP-AS-01.
    Source: compute-reduce-matrix 5.
    """

def TCOLEXPANDMAX(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,j] = max(src0[i,j], src1[0,j]), or swapped

    C++: TCOLEXPANDMAX(dst, src0, src1); text: pto.tcolexpandmax.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-1, CMP-INP-01, CEXP-COM-02, CEXP-AS-01.
    Source: compute-reduce-matrix 5.
    """

def TCOLEXPANDMIN(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,j] = min(src0[i,j], src1[0,j]), or swapped

    C++: TCOLEXPANDMIN(dst, src0, src1); text: pto.tcolexpandmin.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-1, CMP-INP-01, CEXP-COM-02, CEXP-AS-01.
    Source: compute-reduce-matrix 5.
    """

def TCOLEXPANDMUL(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,j] = src0[i,j] * src1[0,j], or swapped

    C++: TCOLEXPANDMUL(dst, src0, src1); text: pto.tcolexpandmul.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-1, CMP-INP-01, CEXP-COM-02, CEXP-AS-01.
    Source: compute-reduce-matrix 5.
    """

def TCOLEXPANDSUB(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,j] = src0[i,j] - src1[0,j], or swapped

    C++: TCOLEXPANDSUB(dst, src0, src1); text: pto.tcolexpandsub.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-1, CMP-INP-01, CEXP-COM-02, CEXP-AS-01.
    Source: compute-reduce-matrix 5.
    """

def TCOLMAX(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[0,j] = maximum of column j

    C++: TCOLMAX(dst, src); text: pto.tcolmax.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: CRED-COM-01, CRED-CPU-01, CRED-A3-01, CRED-A5-01, CR-1, CMP-INP-01, CRED-COM-02.
    Source: compute-reduce-matrix 2.
    """

def TCOLMIN(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[0,j] = minimum of column j

    C++: TCOLMIN(dst, src); text: pto.tcolmin.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: CRED-COM-01, CRED-CPU-01, CRED-A3-01, CRED-A5-01, CR-1, CMP-INP-01, CRED-COM-02.
    Source: compute-reduce-matrix 2.
    """

def TCOLPROD(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[0,j] = product of column j

    C++: TCOLPROD(dst, src); text: pto.tcolprod.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: CRED-COM-01, CRED-CPU-01, CRED-A3-01, CRED-A5-01, CR-1, CMP-INP-01.
    Source: compute-reduce-matrix 2.
    """

@overload
def TCOLSUM(dst: Tile, src: Tile, *more: RecordEvent | bool, is_binary: bool | None = ...) -> RecordEvent:
    """dst[0,j] = sum of column j; isBinary adds as a tree

    C++: TCOLSUM(dst, src, [tmp]); text: pto.tcolsum.

    dst: tile, written
    src: tile, read
    tmp: tile, scratch, optional
    is_binary: bool, default None

    Pipe: PIPE_V.
    Rules: CRED-COM-01, CRED-CPU-01, CRED-A3-01, CRED-A5-01, CR-1, CMP-INP-01, CRED-COM-02, CRED-COM-03, CRED-COM-04.
    Source: compute-reduce-matrix 2.
    """
@overload
def TCOLSUM(dst: Tile, src: Tile, tmp: Tile, *more: RecordEvent | bool, is_binary: bool | None = ...) -> RecordEvent: ...

@overload
def TCONCAT(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """Each row of dst is the row of src0 followed by that of src1; index tiles say how much of them.

    C++: TCONCAT(dst, src0, src1, [didx], [idx0], [idx1]); text: pto.tconcat.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    didx: tile, written, optional
    idx0: tile, read, optional
    idx1: tile, read, optional

    Pipe: PIPE_V.
    Rules: CONC-COM-01, CONC-COM-02, CONC-COM-03, CONC-A23-01, CONC-A5-01, CC-1.
    Source: compute-layout-irregular 1.5.
    """
@overload
def TCONCAT(dst: Tile, src0: Tile, src1: Tile, idx0: Tile, idx1: Tile, *more: RecordEvent) -> RecordEvent: ...
@overload
def TCONCAT(dst: Tile, src0: Tile, src1: Tile, didx: Tile, idx0: Tile, idx1: Tile, *more: RecordEvent) -> RecordEvent: ...

def TCONCATIDX(dst: Tile, src0: Tile, src1: Tile, idx0: Tile, idx1: Tile, *more: RecordEvent) -> RecordEvent:
    """As TCONCAT with index tiles, which say how many bytes of each row are taken.

    C++: TCONCAT(dst, src0, src1, idx0, idx1); text: pto.tconcatidx.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    idx0: tile, read
    idx1: tile, read

    Pipe: PIPE_V.
    Rules: CONC-COM-01, CONC-COM-02, CONC-COM-03, CONC-A23-01, CONC-A5-01, CC-2.
    Source: PTOAS 2026-08 PTOOps.td; compute-layout-irregular 1.5.
    """

@overload
def TCVT(dst: Tile, src: Tile, *more: RecordEvent | _RoundMode | _SaturationMode, rmode: _RoundMode = ..., sat_mode: _SaturationMode | None = ...) -> RecordEvent:
    """dst = src converted to dst's element type

    C++: TCVT(dst, src, [tmp]); text: pto.tcvt.

    dst: tile, written
    src: tile, read
    tmp: tile, scratch, optional
    rmode: RoundMode, default CAST_RINT
    sat_mode: SaturationMode, default None

    Pipe: PIPE_V.
    Rules: TCVT-01, TCVT-02, TCVT-03, TCVT-04, TCVT-05, TCVT-06, TCVT-A3-01, TCVT-A3-02, TCVT-A5-01, TCVT-A5-02, TCVT-CPU-01, TCVT-INP-01, CV-1, CV-2, CV-3.
    Source: compute-elementwise 8.
    """
@overload
def TCVT(dst: Tile, src: Tile, tmp: Tile, *more: RecordEvent | _RoundMode | _SaturationMode, rmode: _RoundMode = ..., sat_mode: _SaturationMode | None = ...) -> RecordEvent: ...

@overload
def TDEINTERLEAVE(dst1: Tile, dst0: Tile, src1: Tile, src0: Tile, *more: RecordEvent) -> RecordEvent:
    """Elements at even places in dst0, at odd ones in dst1, of src0 and then src1.

    C++: TDEINTERLEAVE(dst1, dst0, [src1], src0); text: pto.tdeinterleave.

    dst1: tile, written
    dst0: tile, written
    src1: tile, read, optional
    src0: tile, read

    Pipe: PIPE_V.
    Rules: INTLV-01, INTLV-02, INTLV-04, INTLV-NPU, INTLV-03.
    Source: compute-layout-irregular 1.8.
    """
@overload
def TDEINTERLEAVE(dst1: Tile, dst0: Tile, src0: Tile, *more: RecordEvent) -> RecordEvent: ...

def TDEQUANT(dst: Tile, src: Tile, scale: Tile, offset: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = (src - offset) * scale, with a scale and an offset per row

    C++: TDEQUANT(dst, src, scale, offset); text: pto.tdequant.

    dst: tile, written
    src: tile, read
    scale: tile, read
    offset: tile, read

    Pipe: PIPE_V.
    Rules: DEQ-COM-01, DEQ-COM-02, DEQ-COM-03.
    Source: compute-reduce-matrix 17.
    """

def TDIV(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 / src1

    C++: TDIV(dst, src0, src1); text: pto.tdiv.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-A5-01.
    Source: compute-elementwise 3.
    """

@overload
def TDIVS(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent | bool, scalar_first: bool = ...) -> RecordEvent:
    """dst = src / scalar, or scalar / src where the scalar is written first

    C++: TDIVS(dst, src, scalar); text: pto.tdivs.

    dst: tile, written
    src: tile, read
    scalar: scalar, read
    scalar_first: bool, default False

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-A5-01, EW-CPU-02, EW-CPU-05.
    Source: compute-elementwise 3.
    """
@overload
def TDIVS(dst: Tile, scalar: _Number, src: Tile, *more: RecordEvent | bool, scalar_first: bool = ...) -> RecordEvent: ...

def TEXP(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = exp(src)

    C++: TEXP(dst, src); text: pto.texp.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TEXPANDS(dst: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = scalar in every valid element; a Mat tile is filled whole

    C++: TEXPANDS(dst, scalar); text: pto.texpands.

    dst: tile, written
    scalar: scalar, read

    Pipe: depends on operands and target.
    Rules: EW-01, EW-02, EW-03, EW-06, EW-07, EW-08, EW-1, EW-A3-07, EW-A3-08, EW-A5-09.
    Source: compute-elementwise 3.
    """

@overload
def TEXTRACT(dst: Tile, src: Tile, row: _Number, col: _Number, *more: RecordEvent | _ReluPreMode | _AccToVecMode, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ...) -> RecordEvent:
    """Copy the window of a tile at (row, col), as large as the destination; accumulators are converted on the way.

    C++: TEXTRACT(dst, src, [fp], [quant], row, col); text: pto.textract.

    dst: tile, written
    src: tile, read
    fp: tile, read, optional
    quant: scalar, read, optional
    row: scalar, read
    col: scalar, read
    relu: ReluPreMode, default NoRelu
    mode: AccToVecMode, default None

    Pipe: depends on operands and target.
    Rules: EXTR-COM-01, EXTR-COM-02, EXTR-COM-03, EXTR-COM-04, EXTR-COM-05, EXTR-CPU-02, EXTR-A23-01, EXTR-A23-02, EXTR-A23-03, EXTR-A23-04, EXTR-A23-05, EXTR-A23-06, EXTR-A5-01, EXTR-A5-02, EXTR-A5-03, EXTR-A5-04, EXTR-A5-05, EXTR-A5-06, EX-1, EX-2, EX-3.
    Source: compute-layout-irregular 1.3; move-gather-scatter 9.
    """
@overload
def TEXTRACT(dst: Tile, src: Tile, row: _Number = ..., col: _Number = ..., *, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ...) -> RecordEvent: ...
@overload
def TEXTRACT(dst: Tile, src: Tile, fp: Tile, row: _Number, col: _Number, *more: RecordEvent | _ReluPreMode | _AccToVecMode, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ...) -> RecordEvent: ...
@overload
def TEXTRACT(dst: Tile, src: Tile, fp: Tile, row: _Number = ..., col: _Number = ..., *, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ...) -> RecordEvent: ...
@overload
def TEXTRACT(dst: Tile, src: Tile, quant: _Number, row: _Number, col: _Number, *more: RecordEvent | _ReluPreMode | _AccToVecMode, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ...) -> RecordEvent: ...
@overload
def TEXTRACT(dst: Tile, src: Tile, quant: _Number, row: _Number = ..., col: _Number = ..., *, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ...) -> RecordEvent: ...
@overload
def TEXTRACT(dst: Tile, src: Tile, fp: Tile, quant: _Number, row: _Number, col: _Number, *more: RecordEvent | _ReluPreMode | _AccToVecMode, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ...) -> RecordEvent: ...
@overload
def TEXTRACT(dst: Tile, src: Tile, fp: Tile, quant: _Number, row: _Number = ..., col: _Number = ..., *, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ...) -> RecordEvent: ...

def TEXTRACT2(dst0: Tile, dst1: Tile, src: Tile, row0: _Number, col0: _Number, row1: _Number, col1: _Number, *more: RecordEvent) -> RecordEvent:
    """Copy two windows of an ND vec tile to Nz tiles: the two-destination overload of TEXTRACT.

    C++: TEXTRACT(dst0, dst1, src, row0, col0, row1, col1); text: pto.textract2.

    dst0: tile, written
    dst1: tile, written
    src: tile, read
    row0: scalar, read
    col0: scalar, read
    row1: scalar, read
    col1: scalar, read

    Pipe: PIPE_V.
    Rules: EXTR-CPU-01, EXTR-PAIR-01, EXTR-PAIR-02, EXTR-A23-07, EXTR-PAIR-03.
    Source: compute-layout-irregular 1.3.
    """

@overload
def TEXTRACT_FP(dst: Tile, src: Tile, fp: Tile, row: _Number, col: _Number, *more: RecordEvent | _ReluPreMode, relu: _ReluPreMode = ...) -> RecordEvent:
    """Copy a window of an accumulator with one quantisation word per column of the source.

    C++: TEXTRACT_FP(dst, src, fp, row, col); text: pto.textract_fp.

    dst: tile, written
    src: tile, read
    fp: tile, read
    row: scalar, read
    col: scalar, read
    relu: ReluPreMode, default NoRelu

    Pipe: PIPE_FIX.
    Rules: EXTR-COM-01, EXTR-COM-02, EXTR-COM-03, EXTR-COM-04, EXTR-COM-05, EXTR-CPU-02, EXTR-A23-01, EXTR-A23-02, EXTR-A23-03, EXTR-A23-04, EXTR-A23-05, EXTR-A23-06, EXTR-A5-01, EXTR-A5-02, EXTR-A5-03, EXTR-A5-04, EXTR-A5-05, EXTR-A5-06.
    Source: compute-layout-irregular 1.3; move-gather-scatter 9.
    """
@overload
def TEXTRACT_FP(dst: Tile, src: Tile, fp: Tile, row: _Number = ..., col: _Number = ..., *, relu: _ReluPreMode = ...) -> RecordEvent: ...

def TFILLPAD(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src, padded with dst's pad value.

    C++: TFILLPAD(dst, src); text: pto.tfillpad.

    dst: tile, written
    src: tile, read

    Pipe: depends on operands and target.
    Rules: FILL-COM-01, FILL-COM-02, FILL-COM-05, FILL-COM-06, FILL-COM-03, FP-1.
    Source: compute-layout-irregular 1.6.
    """

def TFILLPAD_EXPAND(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src, padded up to a larger tile.

    C++: TFILLPAD_EXPAND(dst, src); text: pto.tfillpad_expand.

    dst: tile, written
    src: tile, read

    Pipe: depends on operands and target.
    Rules: FILL-COM-01, FILL-COM-02, FILL-COM-05, FILL-COM-06, FILL-COM-03-X, FP-1.
    Source: compute-layout-irregular 1.6.
    """

def TFILLPAD_INPLACE(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """Pad a tile where it lies; src and dst share their bytes.

    C++: TFILLPAD_INPLACE(dst, src); text: pto.tfillpad_inplace.

    dst: tile, written
    src: tile, read

    Pipe: depends on operands and target.
    Rules: FILL-COM-01, FILL-COM-02, FILL-COM-05, FILL-COM-06, FILL-COM-03, FILL-COM-04, FP-1.
    Source: compute-layout-irregular 1.6.
    """

def TFMOD(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 - trunc(src0 / src1) * src1, the sign of src0

    C++: TFMOD(dst, src0, src1); text: pto.tfmod.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TFMODS(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = src - trunc(src / scalar) * scalar, the sign of src

    C++: TFMODS(dst, src, scalar); text: pto.tfmods.

    dst: tile, written
    src: tile, read
    scalar: scalar, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-08, EW-CPU-05.
    Source: compute-elementwise 3.
    """

@overload
def TFREE(pipe: TPipe, *more: RecordEvent | TileSplitAxis, split: TileSplitAxis = ...) -> RecordEvent:
    """Give the slot of a popped tile back.

    C++: TFREE(pipe, [entry]); text: pto.tfree.

    pipe: pipe, read
    entry: tile, read, optional
    split: int, default 0

    Pipe: PIPE_S.
    Source: assembly 9; compute-layout-irregular 3.
    """
@overload
def TFREE(pipe: TPipe, entry: Tile | GlobalTensor | Partition, *more: RecordEvent | TileSplitAxis, split: TileSplitAxis = ...) -> RecordEvent: ...

def TFUSEDMULADD(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 * dst + src1

    C++: TFUSEDMULADD(dst, src0, src1); text: pto.tfusedmuladd.

    dst: tile, read and written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TFUSEDMULADDRELU(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = max(src0 * dst + src1, 0)

    C++: TFUSEDMULADDRELU(dst, src0, src1); text: pto.tfusedmuladdrelu.

    dst: tile, read and written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

@overload
def TGATHER(dst: Tile, src: Tile, idx: Tile, tmp: Tile, *more: RecordEvent | _MaskPattern | _MaskAxis | _CmpMode | _Number, mask: _MaskPattern | None = ..., axis: _MaskAxis = ..., cmp: _CmpMode = ..., offset: _Number = ...) -> RecordEvent:
    """dst = elements of src that an index tile names, a mask selects, or a comparison finds.

    C++: TGATHER(dst, src, [idx], [threshold], [count], [tmp], [start]); text: pto.tgather.

    dst: tile, written
    src: tile, read
    idx: tile, read, optional
    threshold: scalar, read, optional
    count: tile, written, optional
    tmp: tile, scratch, optional
    start: scalar, read, optional
    mask: MaskPattern, default None
    axis: MaskAxis, default Row
    cmp: CmpMode, default EQ
    offset: int, default 0

    Pipe: PIPE_V.
    Rules: TGATH-COM-01, TGATH-COM-02, TGATH-COM-03, TGATH-COM-07, TGATH-COM-04, TGATH-COM-05, TGATH-COM-06, TGATH-A23-01, TGATH-A23-02, TGATH-A23-03, TGATH-A23-04, TGATH-A23-04-T, TGATH-A5-01, TGATH-A5-02, TGATH-A5-03, TGATHER-AS-01, TGATHER-AS-02, TGATHER-AS-03.
    Source: compute-layout-irregular 2.2.
    """
@overload
def TGATHER(dst: Tile, src: Tile, idx: Tile, *more: RecordEvent | _MaskPattern | _MaskAxis | _CmpMode | _Number, mask: _MaskPattern | None = ..., axis: _MaskAxis = ..., cmp: _CmpMode = ..., offset: _Number = ...) -> RecordEvent: ...
@overload
def TGATHER(dst: Tile, src: Tile, *more: RecordEvent | _MaskPattern | _MaskAxis | _CmpMode | _Number, mask: _MaskPattern | None = ..., axis: _MaskAxis = ..., cmp: _CmpMode = ..., offset: _Number = ...) -> RecordEvent: ...
@overload
def TGATHER(dst: Tile, src: Tile, threshold: _Number, count: Tile, tmp: Tile, *more: RecordEvent | _MaskPattern | _MaskAxis | _CmpMode | _Number, mask: _MaskPattern | None = ..., axis: _MaskAxis = ..., cmp: _CmpMode = ..., offset: _Number = ...) -> RecordEvent: ...
@overload
def TGATHER(dst: Tile, src: Tile, threshold: _Number, count: Tile, *more: RecordEvent | _MaskPattern | _MaskAxis | _CmpMode | _Number, mask: _MaskPattern | None = ..., axis: _MaskAxis = ..., cmp: _CmpMode = ..., offset: _Number = ...) -> RecordEvent: ...
@overload
def TGATHER(dst: Tile, src: Tile, idx: Tile, count: Tile, tmp: Tile, start: _Number, *more: RecordEvent | _MaskPattern | _MaskAxis | _CmpMode | _Number, mask: _MaskPattern | None = ..., axis: _MaskAxis = ..., cmp: _CmpMode = ..., offset: _Number = ...) -> RecordEvent: ...
@overload
def TGATHER(dst: Tile, src: Tile, idx: Tile, count: Tile, tmp: Tile, *more: RecordEvent | _MaskPattern | _MaskAxis | _CmpMode | _Number, mask: _MaskPattern | None = ..., axis: _MaskAxis = ..., cmp: _CmpMode = ..., offset: _Number = ...) -> RecordEvent: ...
@overload
def TGATHER(dst: Tile, src: Tile, idx: Tile, count: Tile, *more: RecordEvent | _MaskPattern | _MaskAxis | _CmpMode | _Number, mask: _MaskPattern | None = ..., axis: _MaskAxis = ..., cmp: _CmpMode = ..., offset: _Number = ...) -> RecordEvent: ...

def TGATHERB(dst: Tile, src: Tile, offset: Tile, *more: RecordEvent) -> RecordEvent:
    """Blocks of 32 bytes of src, at byte offsets.

    C++: TGATHERB(dst, src, offset); text: pto.tgatherb.

    dst: tile, written
    src: tile, read
    offset: tile, read

    Pipe: PIPE_V.
    Rules: GATHB-01, GATHB-02, GATHB-03, GATHB-04, GATHB-05, TGATHERB-AS-01.
    Source: compute-layout-irregular 2.3.
    """

def TGEMV(dst: Tile, lhs: Tile, rhs: Tile, *more: RecordEvent | _AccPhase, phase: _AccPhase = ...) -> RecordEvent:
    """Product of one row and a matrix.

    C++: TGEMV(dst, lhs, rhs); text: pto.tgemv.

    dst: tile, written
    lhs: tile, read
    rhs: tile, read
    phase: AccPhase, default Unspecified

    Pipe: PIPE_M.
    Rules: MAT-COM-01, MAT-COM-02, GEMV-COM-01, GEMV-COM-02, MAT-COM-06, GV-1, MM-1, MM-2, MM-3.
    Source: compute-reduce-matrix 10.
    """

def TGEMV_ACC(dst: Tile, acc: Tile, lhs: Tile, rhs: Tile, *more: RecordEvent | _AccPhase, phase: _AccPhase = ...) -> RecordEvent:
    """Product of one row and a matrix, added to an accumulator.

    C++: TGEMV_ACC(dst, acc, lhs, rhs); text: pto.tgemv.acc.

    dst: tile, written
    acc: tile, read
    lhs: tile, read
    rhs: tile, read
    phase: AccPhase, default Unspecified

    Pipe: PIPE_M.
    Rules: MAT-COM-01, MAT-COM-02, GEMV-COM-01, GEMV-COM-02, MAT-COM-06, MAT-NPU-01, GV-1, MM-1, MM-2.
    Source: compute-reduce-matrix 10.
    """

def TGEMV_BIAS(dst: Tile, lhs: Tile, rhs: Tile, bias: Tile, *more: RecordEvent | _AccPhase, phase: _AccPhase = ...) -> RecordEvent:
    """Product of one row and a matrix, plus a bias.

    C++: TGEMV_BIAS(dst, lhs, rhs, bias); text: pto.tgemv.bias.

    dst: tile, written
    lhs: tile, read
    rhs: tile, read
    bias: tile, read
    phase: AccPhase, default Unspecified

    Pipe: PIPE_M.
    Rules: MAT-COM-01, MAT-COM-02, GEMV-COM-01, GEMV-COM-02, MAT-COM-06, MAT-COM-08, GV-1, MM-1, MM-2, MM-3, MM-4.
    Source: compute-reduce-matrix 10.
    """

def TGEMV_MX(dst: Tile, lhs: Tile, lhs_scale: Tile, rhs: Tile, rhs_scale: Tile, *more: RecordEvent | _AccPhase, phase: _AccPhase = ...) -> RecordEvent:
    """Row by matrix product of block-scaled tiles.

    C++: TGEMV_MX(dst, lhs, lhs_scale, rhs, rhs_scale); text: pto.tgemv.mx.

    dst: tile, written
    lhs: tile, read
    lhs_scale: tile, read
    rhs: tile, read
    rhs_scale: tile, read
    phase: AccPhase, default Unspecified

    Pipe: PIPE_M.
    Rules: MAT-COM-01, MXM-A5-01, MXM-A5-02, MXM-A5-03, MXM-A5-04, MXM-A5-06, MXM-A3-01, MXM-A5-08, A5-1, GV-1, MX-SCALE, MM-1, MM-2, MM-3.
    Source: compute-reduce-matrix 12.
    """

def TGEMV_MX_ACC(dst: Tile, acc: Tile, lhs: Tile, lhs_scale: Tile, rhs: Tile, rhs_scale: Tile, *more: RecordEvent | _AccPhase, phase: _AccPhase = ...) -> RecordEvent:
    """Row by matrix product of block-scaled tiles, added to an accumulator.

    C++: TGEMV_MX(dst, acc, lhs, lhs_scale, rhs, rhs_scale); text: pto.tgemv.mx.acc.

    dst: tile, written
    acc: tile, read
    lhs: tile, read
    lhs_scale: tile, read
    rhs: tile, read
    rhs_scale: tile, read
    phase: AccPhase, default Unspecified

    Pipe: PIPE_M.
    Rules: MAT-COM-01, MXM-A5-01, MXM-A5-02, MXM-A5-03, MXM-A5-04, MXM-A5-06, MXM-A3-01, MXM-A5-08, MXM-A5-07, A5-1, GV-1, MX-SCALE, MM-1, MM-2, MM-3, MX-ACC.
    Source: compute-reduce-matrix 12.
    """

def TGEMV_MX_BIAS(dst: Tile, lhs: Tile, lhs_scale: Tile, rhs: Tile, rhs_scale: Tile, bias: Tile, *more: RecordEvent | _AccPhase, phase: _AccPhase = ...) -> RecordEvent:
    """Row by matrix product of block-scaled tiles, plus a bias.

    C++: TGEMV_MX(dst, lhs, lhs_scale, rhs, rhs_scale, bias); text: pto.tgemv.mx.bias.

    dst: tile, written
    lhs: tile, read
    lhs_scale: tile, read
    rhs: tile, read
    rhs_scale: tile, read
    bias: tile, read
    phase: AccPhase, default Unspecified

    Pipe: PIPE_M.
    Rules: MAT-COM-01, MXM-A5-01, MXM-A5-02, MXM-A5-03, MXM-A5-04, MXM-A5-06, MXM-A3-01, MXM-A5-08, MAT-COM-08, A5-1, GV-1, MX-SCALE, MM-1, MM-2, MM-3, MM-4, MX-BIAS.
    Source: compute-reduce-matrix 12.
    """

def TGETVAL(src: Tile, offset: _Number, *more: RecordEvent) -> Scalar:
    """Read one element of a tile; the offset counts elements.

    C++: TGETVAL(src, offset); text: pto.tgetval.

    src: tile, read
    offset: scalar, read
    result value: scalar

    Pipe: PIPE_S.
    Rules: TILE-09, ELEM-01.
    Source: assembly 6.2.
    """

def TGET_SCALE_ADDR(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """Bind a scale tile to the address that belongs to an operand of the scaled product.

    C++: TGET_SCALE_ADDR(dst, src); text: pto.tget_scale_addr.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_S.
    Rules: MXM-SA-01, MXM-A3-01, A5-1, MX-SCALE.
    Source: compute-reduce-matrix 12.
    """

def THISTOGRAM(dst: Tile, src: Tile, idx: Tile, *more: RecordEvent | bool | int, is_msb: bool = ..., byte: int | None = ...) -> RecordEvent:
    """dst[r,v] = how many elements of row r have a byte of at most v

    C++: THISTOGRAM(dst, src, idx); text: pto.thistogram.

    dst: tile, written
    src: tile, read
    idx: tile, read
    is_msb: bool, default True
    byte: int, default None

    Pipe: PIPE_V.
    Rules: HIST-01, HIST-02, HIST-03, HIST-04, HIST-06, A5-1, HIST-AS-01.
    Source: compute-layout-irregular 2.9.
    """

@overload
def TIMG2COL(dst: Tile, src: Tile, *more: RecordEvent | _SetFmatrixMode, fmatrix: _SetFmatrixMode = ...) -> RecordEvent:
    """Rows of dst are the patches of a feature map that the filter meets.

    C++: TIMG2COL(dst, src, [pos_m], [pos_k]); text: pto.timg2col.

    dst: tile, written
    src: tile, read
    pos_m: scalar, read, optional
    pos_k: scalar, read, optional
    fmatrix: SetFmatrixMode, default FMATRIX_A_MANUAL

    Pipe: PIPE_MTE1.
    Rules: IMG-COM-01, IMG-COM-03, IMG-COM-04, IMG-A23-01, IMG-A5-01, IMG-CPU-01.
    Source: compute-layout-irregular 1.7.
    """
@overload
def TIMG2COL(dst: Tile, src: Tile, pos_m: _Number, *more: RecordEvent | _SetFmatrixMode, fmatrix: _SetFmatrixMode = ...) -> RecordEvent: ...
@overload
def TIMG2COL(dst: Tile, src: Tile, pos_k: _Number, *more: RecordEvent | _SetFmatrixMode, fmatrix: _SetFmatrixMode = ...) -> RecordEvent: ...
@overload
def TIMG2COL(dst: Tile, src: Tile, pos_m: _Number, pos_k: _Number, *more: RecordEvent | _SetFmatrixMode, fmatrix: _SetFmatrixMode = ...) -> RecordEvent: ...

@overload
def TINSERT(dst: Tile, src: Tile, row: _Number, col: _Number, *more: RecordEvent | _ReluPreMode | _AccToVecMode | _TInsertMode, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., split: _TInsertMode | None = ...) -> RecordEvent:
    """Copy a tile into another at (row, col), which keeps the rest; accumulators are converted on the way.

    C++: TINSERT(dst, src, [fp], [quant], row, col); text: pto.tinsert.

    dst: tile, read and written
    src: tile, read
    fp: tile, read, optional
    quant: scalar, read, optional
    row: scalar, read
    col: scalar, read
    relu: ReluPreMode, default NoRelu
    mode: AccToVecMode, default None
    split: TInsertMode, default None

    Pipe: depends on operands and target.
    Rules: INS-COM-01, INS-COM-02, INS-COM-03, INS-CPU-02, INS-CPU-01, INS-A23-01, INS-A23-02, INS-A5-01, INS-A5-02, INS-A5-03, INS-A5-04, INS-A5-05, INS-A5-06, IN-1, IN-2, IN-3.
    Source: compute-layout-irregular 1.4; move-gather-scatter 9.
    """
@overload
def TINSERT(dst: Tile, src: Tile, row: _Number = ..., col: _Number = ..., *, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., split: _TInsertMode | None = ...) -> RecordEvent: ...
@overload
def TINSERT(dst: Tile, src: Tile, fp: Tile, row: _Number, col: _Number, *more: RecordEvent | _ReluPreMode | _AccToVecMode | _TInsertMode, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., split: _TInsertMode | None = ...) -> RecordEvent: ...
@overload
def TINSERT(dst: Tile, src: Tile, fp: Tile, row: _Number = ..., col: _Number = ..., *, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., split: _TInsertMode | None = ...) -> RecordEvent: ...
@overload
def TINSERT(dst: Tile, src: Tile, quant: _Number, row: _Number, col: _Number, *more: RecordEvent | _ReluPreMode | _AccToVecMode | _TInsertMode, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., split: _TInsertMode | None = ...) -> RecordEvent: ...
@overload
def TINSERT(dst: Tile, src: Tile, quant: _Number, row: _Number = ..., col: _Number = ..., *, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., split: _TInsertMode | None = ...) -> RecordEvent: ...
@overload
def TINSERT(dst: Tile, src: Tile, fp: Tile, quant: _Number, row: _Number, col: _Number, *more: RecordEvent | _ReluPreMode | _AccToVecMode | _TInsertMode, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., split: _TInsertMode | None = ...) -> RecordEvent: ...
@overload
def TINSERT(dst: Tile, src: Tile, fp: Tile, quant: _Number, row: _Number = ..., col: _Number = ..., *, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., split: _TInsertMode | None = ...) -> RecordEvent: ...

@overload
def TINSERT_FP(dst: Tile, src: Tile, fp: Tile, row: _Number, col: _Number, *more: RecordEvent | _ReluPreMode, relu: _ReluPreMode = ...) -> RecordEvent:
    """Copy an accumulator into another tile with one quantisation word per column.

    C++: TINSERT_FP(dst, src, fp, row, col); text: pto.tinsert_fp.

    dst: tile, read and written
    src: tile, read
    fp: tile, read
    row: scalar, read
    col: scalar, read
    relu: ReluPreMode, default NoRelu

    Pipe: PIPE_FIX.
    Rules: INS-COM-01, INS-COM-02, INS-COM-03, INS-CPU-02, INS-CPU-01, INS-A23-01, INS-A23-02, INS-A5-01, INS-A5-02, INS-A5-03, INS-A5-04, INS-A5-05, INS-A5-06.
    Source: compute-layout-irregular 1.4; move-gather-scatter 9.
    """
@overload
def TINSERT_FP(dst: Tile, src: Tile, fp: Tile, row: _Number = ..., col: _Number = ..., *, relu: _ReluPreMode = ...) -> RecordEvent: ...

def TINTERLEAVE(dst1: Tile, dst0: Tile, src1: Tile, src0: Tile, *more: RecordEvent) -> RecordEvent:
    """Elements of src0 and src1 alternately: the first half in dst0, the second in dst1.

    C++: TINTERLEAVE(dst1, dst0, src1, src0); text: pto.tinterleave.

    dst1: tile, written
    dst0: tile, written
    src1: tile, read
    src0: tile, read

    Pipe: PIPE_V.
    Rules: INTLV-01, INTLV-02, INTLV-04, INTLV-NPU.
    Source: compute-layout-irregular 1.8.
    """

def TLOAD(dst: Tile, src: GlobalTensor | Partition, *more: RecordEvent) -> RecordEvent:
    """Load a rectangle of global memory, as large as the tile's valid region, into a tile.

    C++: TLOAD(dst, src); text: pto.tload.

    dst: tile, written
    src: view, read

    Pipe: PIPE_MTE2.
    Rules: LS-COM-03, LS-COM-04, LS-COM-05, LS-COM-09, LOAD-CPU-02, LOAD-CPU-03, LOAD-CPU-04, LOAD-CPU-07, LOAD-CPU-05, LOAD-CPU-06, LOAD-A3-01, LOAD-A3-02, LOAD-A3-04, LOAD-A3-06, LOAD-A3-07, LOAD-A3-08, LOAD-A3-09, LOAD-A3-10, LOAD-A3-11, LOAD-A3-12, LOAD-A3-13, LOAD-A3-14, LOAD-A3-15, LOAD-A3-16, LOAD-A3-17, LOAD-A3-18, LOAD-A3-21, LOAD-A3-D1, LOAD-A3-D2, LOAD-A3-D3, LOAD-A3-19, LOAD-A3-20, LOAD-A5-02, LOAD-A5-04, LOAD-A5-05, LOAD-A5-06, LOAD-A5-07, LOAD-A5-08, LOAD-A5-09, LOAD-A5-10, LOAD-A5-11, LOAD-A5-12, LOAD-A5-13, LOAD-A5-14, LOAD-A5-15, LOAD-A5-16, LOAD-A5-17, LOAD-A5-18, LOAD-A5-21, LOAD-A5-22, LOAD-A5-23, LOAD-A5-D1, LOAD-A5-D2, LOAD-A5-D3, LOAD-A5-19, LOAD-A5-20, LD-3, LD-5, LD-6, LD-7, LD-8, LD-9, LD-10.
    Source: tload; load-store 3.
    """

def TLOG(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = ln src

    C++: TLOG(dst, src); text: pto.tlog.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TLRELU(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = src > 0 ? src : src * scalar

    C++: TLRELU(dst, src, scalar); text: pto.tlrelu.

    dst: tile, written
    src: tile, read
    scalar: scalar, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-08, EW-CPU-02.
    Source: compute-elementwise 3.
    """

def TMATMUL(dst: Tile, lhs: Tile, rhs: Tile, *more: RecordEvent | _AccPhase, phase: _AccPhase = ...) -> RecordEvent:
    """Matrix product of a left and a right tile into an accumulator.

    C++: TMATMUL(dst, lhs, rhs); text: pto.tmatmul.

    dst: tile, written
    lhs: tile, read
    rhs: tile, read
    phase: AccPhase, default Unspecified

    Pipe: PIPE_M.
    Rules: MAT-COM-01, MAT-COM-02, MAT-COM-03, MAT-COM-04, MAT-COM-05, MAT-COM-06, MAT-COM-05-L, MAT-A3-01, MM-1, MM-2, MM-3.
    Source: compute-reduce-matrix 9.
    """

def TMATMUL_ACC(dst: Tile, acc: Tile, lhs: Tile, rhs: Tile, *more: RecordEvent | _AccPhase, phase: _AccPhase = ...) -> RecordEvent:
    """Matrix product added to an accumulator.

    C++: TMATMUL_ACC(dst, acc, lhs, rhs); text: pto.tmatmul.acc.

    dst: tile, written
    acc: tile, read
    lhs: tile, read
    rhs: tile, read
    phase: AccPhase, default Unspecified

    Pipe: PIPE_M.
    Rules: MAT-COM-01, MAT-COM-02, MAT-COM-03, MAT-COM-04, MAT-COM-05, MAT-COM-06, MAT-COM-05-L, MAT-A3-01, MAT-NPU-01, MM-1, MM-2, MM-3.
    Source: compute-reduce-matrix 9.
    """

def TMATMUL_BIAS(dst: Tile, lhs: Tile, rhs: Tile, bias: Tile, *more: RecordEvent | _AccPhase, phase: _AccPhase = ...) -> RecordEvent:
    """Matrix product plus a bias per column.

    C++: TMATMUL_BIAS(dst, lhs, rhs, bias); text: pto.tmatmul.bias.

    dst: tile, written
    lhs: tile, read
    rhs: tile, read
    bias: tile, read
    phase: AccPhase, default Unspecified

    Pipe: PIPE_M.
    Rules: MAT-COM-01, MAT-COM-02, MAT-COM-03, MAT-COM-04, MAT-COM-05, MAT-COM-06, MAT-COM-05-L, MAT-A3-01, MAT-COM-08, MM-1, MM-2, MM-3, MM-4.
    Source: compute-reduce-matrix 9.
    """

def TMATMUL_MX(dst: Tile, lhs: Tile, lhs_scale: Tile, rhs: Tile, rhs_scale: Tile, *more: RecordEvent | _AccPhase, phase: _AccPhase = ...) -> RecordEvent:
    """Matrix product of block-scaled tiles.

    C++: TMATMUL_MX(dst, lhs, lhs_scale, rhs, rhs_scale); text: pto.tmatmul.mx.

    dst: tile, written
    lhs: tile, read
    lhs_scale: tile, read
    rhs: tile, read
    rhs_scale: tile, read
    phase: AccPhase, default Unspecified

    Pipe: PIPE_M.
    Rules: MAT-COM-01, MXM-A5-01, MXM-A5-02, MXM-A5-03, MXM-A5-04, MXM-A5-06, MXM-A3-01, MX-K, MX-SCALE, MM-1, MM-2, MM-3.
    Source: compute-reduce-matrix 12.
    """

def TMATMUL_MX_ACC(dst: Tile, acc: Tile, lhs: Tile, lhs_scale: Tile, rhs: Tile, rhs_scale: Tile, *more: RecordEvent | _AccPhase, phase: _AccPhase = ...) -> RecordEvent:
    """Matrix product of block-scaled tiles, added to an accumulator.

    C++: TMATMUL_MX(dst, acc, lhs, lhs_scale, rhs, rhs_scale); text: pto.tmatmul.mx.acc.

    dst: tile, written
    acc: tile, read
    lhs: tile, read
    lhs_scale: tile, read
    rhs: tile, read
    rhs_scale: tile, read
    phase: AccPhase, default Unspecified

    Pipe: PIPE_M.
    Rules: MAT-COM-01, MXM-A5-01, MXM-A5-02, MXM-A5-03, MXM-A5-04, MXM-A5-06, MXM-A3-01, MXM-A5-07, MX-K, MX-SCALE, MM-1, MM-2, MM-3, MX-ACC.
    Source: compute-reduce-matrix 12.
    """

def TMATMUL_MX_BIAS(dst: Tile, lhs: Tile, lhs_scale: Tile, rhs: Tile, rhs_scale: Tile, bias: Tile, *more: RecordEvent | _AccPhase, phase: _AccPhase = ...) -> RecordEvent:
    """Matrix product of block-scaled tiles, plus a bias.

    C++: TMATMUL_MX(dst, lhs, lhs_scale, rhs, rhs_scale, bias); text: pto.tmatmul.mx.bias.

    dst: tile, written
    lhs: tile, read
    lhs_scale: tile, read
    rhs: tile, read
    rhs_scale: tile, read
    bias: tile, read
    phase: AccPhase, default Unspecified

    Pipe: PIPE_M.
    Rules: MAT-COM-01, MXM-A5-01, MXM-A5-02, MXM-A5-03, MXM-A5-04, MXM-A5-06, MXM-A3-01, MAT-COM-08, MX-K, MX-SCALE, MM-1, MM-2, MM-3, MM-4.
    Source: compute-reduce-matrix 12.
    """

def TMAX(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = max(src0, src1)

    C++: TMAX(dst, src0, src1); text: pto.tmax.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TMAXS(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = max(src, scalar)

    C++: TMAXS(dst, src, scalar); text: pto.tmaxs.

    dst: tile, written
    src: tile, read
    scalar: scalar, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-A5-01, EW-CPU-02.
    Source: compute-elementwise 3.
    """

def TMIN(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = min(src0, src1)

    C++: TMIN(dst, src0, src1); text: pto.tmin.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TMINS(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = min(src, scalar)

    C++: TMINS(dst, src, scalar); text: pto.tmins.

    dst: tile, written
    src: tile, read
    scalar: scalar, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-A5-01.
    Source: compute-elementwise 3.
    """

@overload
def TMOV(dst: Tile, src: Tile, *more: RecordEvent | _ReluPreMode | _AccToVecMode | _STPhase | _MxGroupAxis, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., phase: _STPhase = ..., grp_axis: _MxGroupAxis = ...) -> RecordEvent:
    """Copy a tile to another of the same or another buffer; accumulators are converted on the way.

    C++: TMOV(dst, src, [fp], [quant], [tmp]); text: pto.tmov.

    dst: tile, written
    src: tile, read
    fp: tile, read, optional
    quant: scalar, read, optional
    tmp: tile, scratch, optional
    relu: ReluPreMode, default NoRelu
    mode: AccToVecMode, default None
    phase: STPhase, default Unspecified
    grp_axis: MxGroupAxis, default Axis1

    Pipe: depends on operands and target.
    Rules: TMOV-COM-01, TMOV-COM-02, TMOV-COM-03, TMOV-COM-10, TMOV-COM-11, TMOV-COM-12, TMOV-COM-13, TMOV-COM-14, TMOV-COM-15, TMOV-COM-18, TMOV-COM-19, TMOV-COM-16, TMOV-COM-17, TMOV-CPU-01, TMOV-CPU-02, TMOV-A23-02, TMOV-A23-A3, TMOV-A23-01, TMOV-A23-03, TMOV-A23-B1, TMOV-A23-B2, TMOV-A23-S1, TMOV-A23-A1, TMOV-A23-A2, TMOV-A5-00, TMOV-A5-01, TMOV-A5-02, TMOV-A5-03, TMOV-A5-04, TMOV-A5-05, TMOV-A5-B1, TMOV-A5-S1, TMOV-A5-A1, TMOV-A5-A2, TMOV-A5-A3, TMOV-A5-A4, TMOV-A5-A5, TMOV-A5-A6, TMOV-A5-Z1, TMOV-A5-N1, TMOV-A5-N2, MO-2, MO-3, MO-4, MO-5, MO-6, MO-7, MO-8, MO-9, MO-12, MO-13, MO-10.
    Source: tmov; move-gather-scatter 2 to 6.
    """
@overload
def TMOV(dst: Tile, src: Tile, fp: Tile, *more: RecordEvent | _ReluPreMode | _AccToVecMode | _STPhase | _MxGroupAxis, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., phase: _STPhase = ..., grp_axis: _MxGroupAxis = ...) -> RecordEvent: ...
@overload
def TMOV(dst: Tile, src: Tile, quant: _Number, *more: RecordEvent | _ReluPreMode | _AccToVecMode | _STPhase | _MxGroupAxis, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., phase: _STPhase = ..., grp_axis: _MxGroupAxis = ...) -> RecordEvent: ...
@overload
def TMOV(dst: Tile, src: Tile, tmp: Tile, *more: RecordEvent | _ReluPreMode | _AccToVecMode | _STPhase | _MxGroupAxis, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., phase: _STPhase = ..., grp_axis: _MxGroupAxis = ...) -> RecordEvent: ...
@overload
def TMOV(dst: Tile, src: Tile, fp: Tile, quant: _Number, *more: RecordEvent | _ReluPreMode | _AccToVecMode | _STPhase | _MxGroupAxis, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., phase: _STPhase = ..., grp_axis: _MxGroupAxis = ...) -> RecordEvent: ...
@overload
def TMOV(dst: Tile, src: Tile, fp: Tile, tmp: Tile, *more: RecordEvent | _ReluPreMode | _AccToVecMode | _STPhase | _MxGroupAxis, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., phase: _STPhase = ..., grp_axis: _MxGroupAxis = ...) -> RecordEvent: ...
@overload
def TMOV(dst: Tile, src: Tile, quant: _Number, tmp: Tile, *more: RecordEvent | _ReluPreMode | _AccToVecMode | _STPhase | _MxGroupAxis, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., phase: _STPhase = ..., grp_axis: _MxGroupAxis = ...) -> RecordEvent: ...
@overload
def TMOV(dst: Tile, src: Tile, fp: Tile, quant: _Number, tmp: Tile, *more: RecordEvent | _ReluPreMode | _AccToVecMode | _STPhase | _MxGroupAxis, relu: _ReluPreMode = ..., mode: _AccToVecMode | None = ..., phase: _STPhase = ..., grp_axis: _MxGroupAxis = ...) -> RecordEvent: ...

def TMOV_FP(dst: Tile, src: Tile, fp: Tile, *more: RecordEvent | _ReluPreMode | _STPhase, relu: _ReluPreMode = ..., phase: _STPhase = ...) -> RecordEvent:
    """Move an accumulator with one quantisation word per column.

    C++: TMOV_FP(dst, src, fp); text: pto.tmov.fp.

    dst: tile, written
    src: tile, read
    fp: tile, read
    relu: ReluPreMode, default NoRelu
    phase: STPhase, default Unspecified

    Pipe: PIPE_FIX.
    Rules: TMOV-COM-01, TMOV-COM-02, TMOV-COM-03, TMOV-COM-10, TMOV-COM-11, TMOV-COM-12, TMOV-COM-13, TMOV-COM-14, TMOV-COM-15, TMOV-COM-18, TMOV-COM-19, TMOV-COM-16, TMOV-COM-17, TMOV-CPU-01, TMOV-CPU-02, TMOV-A23-02, TMOV-A23-A3, TMOV-A23-01, TMOV-A23-03, TMOV-A23-B1, TMOV-A23-B2, TMOV-A23-S1, TMOV-A23-A1, TMOV-A23-A2, TMOV-A5-00, TMOV-A5-01, TMOV-A5-02, TMOV-A5-03, TMOV-A5-04, TMOV-A5-05, TMOV-A5-B1, TMOV-A5-S1, TMOV-A5-A1, TMOV-A5-A2, TMOV-A5-A3, TMOV-A5-A4, TMOV-A5-A5, TMOV-A5-A6, TMOV-A5-Z1, TMOV-A5-N1, TMOV-A5-N2, MF-1, MF-2.
    Source: tmov; move-gather-scatter 2, 4.12, 6.
    """

@overload
def TMRGSORT(dst: Tile, src0: Tile, block_len: _Number, *more: RecordEvent | bool, exhausted: bool = ...) -> RecordEvent:
    """Merge sorted lists of records: four neighbouring blocks of one tile, or two to four tiles.

    C++: TMRGSORT(dst, [executed], [tmp], src0, [src1], [src2], [src3], [block_len]); text: pto.tmrgsort.

    dst: tile, written
    executed: record, written, optional
    tmp: tile, scratch, optional
    src0: tile, read
    src1: tile, read, optional
    src2: tile, read, optional
    src3: tile, read, optional
    block_len: scalar, read, optional
    exhausted: bool, default False

    Pipe: PIPE_V.
    Rules: MRG-COM-01, MRG-COM-02, MRG-COM-03, MRG-COM-04, MRG-COM-05, MRG-COM-06, MRG-COM-07, MS-1.
    Source: compute-layout-irregular 2.6.
    """
@overload
def TMRGSORT(dst: Tile, executed: None, tmp: Tile, src0: Tile, src1: Tile, *more: RecordEvent | bool, exhausted: bool = ...) -> RecordEvent: ...
@overload
def TMRGSORT(dst: Tile, tmp: Tile, src0: Tile, src1: Tile, *more: RecordEvent | bool, exhausted: bool = ...) -> RecordEvent: ...
@overload
def TMRGSORT(dst: Tile, tmp: Tile, src0: Tile, src1: Tile, src2: Tile, *more: RecordEvent | bool, exhausted: bool = ...) -> RecordEvent: ...
@overload
def TMRGSORT(dst: Tile, tmp: Tile, src0: Tile, src1: Tile, src2: Tile, src3: Tile, *more: RecordEvent | bool, exhausted: bool = ...) -> RecordEvent: ...
@overload
def TMRGSORT(dst: Tile, executed: None, tmp: Tile, src0: Tile, src1: Tile, src2: Tile, *more: RecordEvent | bool, exhausted: bool = ...) -> RecordEvent: ...
@overload
def TMRGSORT(dst: Tile, executed: None, tmp: Tile, src0: Tile, src1: Tile, src2: Tile, src3: Tile, *more: RecordEvent | bool, exhausted: bool = ...) -> RecordEvent: ...
@overload
def TMRGSORT(dst: Tile, executed: None, src0: Tile, src1: Tile, *more: RecordEvent | bool, exhausted: bool = ...) -> RecordEvent: ...
@overload
def TMRGSORT(dst: Tile, executed: None, src0: Tile, src1: Tile, src2: Tile, *more: RecordEvent | bool, exhausted: bool = ...) -> RecordEvent: ...
@overload
def TMRGSORT(dst: Tile, executed: None, src0: Tile, src1: Tile, src2: Tile, src3: Tile, *more: RecordEvent | bool, exhausted: bool = ...) -> RecordEvent: ...

def TMUL(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 * src1

    C++: TMUL(dst, src0, src1); text: pto.tmul.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TMULADDDST(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 * src1 + dst

    C++: TMULADDDST(dst, src0, src1); text: pto.tmuladddst.

    dst: tile, read and written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TMULS(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = src * scalar

    C++: TMULS(dst, src, scalar); text: pto.tmuls.

    dst: tile, written
    src: tile, read
    scalar: scalar, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-A5-01, EW-CPU-02.
    Source: compute-elementwise 3.
    """

def TNEG(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = -src

    C++: TNEG(dst, src); text: pto.tneg.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TNOT(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = ~src

    C++: TNOT(dst, src); text: pto.tnot.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TNOTIFY(signal: GlobalTensor | Partition, value: _Number, *more: RecordEvent | _NotifyOp, op: _NotifyOp = ...) -> RecordEvent:
    """Set signals in global memory, or add to them; all pipes are drained afterwards, none before.

    C++: comm::TNOTIFY(signal, value); text: pto.tnotify.

    signal: view, written
    value: scalar, read
    op: NotifyOp, default Set

    Pipe: PIPE_S.
    Rules: SIGNAL-01.
    Source: memory-model-and-sync 5.5.
    """

def TOR(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 | src1; of floats the bits

    C++: TOR(dst, src0, src1); text: pto.tor.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TORS(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = src | scalar; of floats the bits

    C++: TORS(dst, src, scalar); text: pto.tors.

    dst: tile, written
    src: tile, read
    scalar: scalar, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-AS-01, EW-A3-07.
    Source: compute-elementwise 3.
    """

def TPACK(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = low bits of src's wider elements

    C++: TPACK(dst, src); text: pto.tpack.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: PACK-01, PACK-02, PACK-03, PACK-04, PACK-05, A5-1.
    Source: compute-layout-irregular 1.9.
    """

def TPARTADD(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 + src1 where both are valid, else the valid one

    C++: TPARTADD(dst, src0, src1); text: pto.tpartadd.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: PART-COM-01, PART-COM-02, PART-A5-01, EW-1, CMP-INP-01.
    Source: compute-reduce-matrix 6.
    """

def TPARTARGMAX(dst: Tile, src0: Tile, src1: Tile, dsti: Tile, src0i: Tile, src1i: Tile, *more: RecordEvent) -> RecordEvent:
    """dst, dsti = larger value and its index

    C++: TPARTARGMAX(dst, src0, src1, dsti, src0i, src1i); text: pto.tpartargmax.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    dsti: tile, written
    src0i: tile, read
    src1i: tile, read

    Pipe: PIPE_V.
    Rules: PART-COM-01, PART-COM-02, PART-A5-01, PART-COM-04, CMP-INP-01.
    Source: compute-reduce-matrix 6.
    """

def TPARTARGMIN(dst: Tile, src0: Tile, src1: Tile, dsti: Tile, src0i: Tile, src1i: Tile, *more: RecordEvent) -> RecordEvent:
    """dst, dsti = smaller value and its index

    C++: TPARTARGMIN(dst, src0, src1, dsti, src0i, src1i); text: pto.tpartargmin.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    dsti: tile, written
    src0i: tile, read
    src1i: tile, read

    Pipe: PIPE_V.
    Rules: PART-COM-01, PART-COM-02, PART-A5-01, PART-COM-04, CMP-INP-01.
    Source: compute-reduce-matrix 6.
    """

def TPARTMAX(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = max(src0, src1), or the valid one

    C++: TPARTMAX(dst, src0, src1); text: pto.tpartmax.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: PART-COM-01, PART-COM-02, PART-A5-01, EW-1, CMP-INP-01.
    Source: compute-reduce-matrix 6.
    """

def TPARTMIN(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = min(src0, src1), or the valid one

    C++: TPARTMIN(dst, src0, src1); text: pto.tpartmin.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: PART-COM-01, PART-COM-02, PART-A5-01, EW-1, CMP-INP-01.
    Source: compute-reduce-matrix 6.
    """

def TPARTMUL(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 * src1 where both are valid, else the valid one

    C++: TPARTMUL(dst, src0, src1); text: pto.tpartmul.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: PART-COM-01, PART-COM-02, PART-A5-01, EW-1, CMP-INP-01.
    Source: compute-reduce-matrix 6.
    """

@overload
def TPOP(pipe: TPipe, tile: Tile | GlobalTensor | Partition, *more: RecordEvent | TileSplitAxis, split: TileSplitAxis = ...) -> RecordEvent:
    """Let a tile be the next one of a pipe between cores.

    C++: TPOP(pipe, tile, [aiv_subblockid]); text: pto.tpop.

    pipe: pipe, read
    tile: tile, read and written
    aiv_subblockid: scalar, read, optional
    split: int, default 0

    Pipe: PIPE_S.
    Source: assembly 9; compute-layout-irregular 3.
    """
@overload
def TPOP(pipe: TPipe, tile: Tile | GlobalTensor | Partition, aiv_subblockid: _Number, *more: RecordEvent | TileSplitAxis, split: TileSplitAxis = ...) -> RecordEvent: ...

@overload
def TPOW(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 ** src1

    C++: TPOW(dst, src0, src1, [tmp]); text: pto.tpow.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-11, EW-AS-11.
    Source: compute-elementwise 3.
    """
@overload
def TPOW(dst: Tile, src0: Tile, src1: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

@overload
def TPOWS(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = src ** scalar

    C++: TPOWS(dst, src, scalar, [tmp]); text: pto.tpows.

    dst: tile, written
    src: tile, read
    scalar: scalar, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-11, EW-AS-11, EW-CPU-02.
    Source: compute-elementwise 3.
    """
@overload
def TPOWS(dst: Tile, src: Tile, scalar: _Number, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

def TPREFETCH(dst: Tile, src: GlobalTensor | Partition, *more: RecordEvent) -> RecordEvent:
    """Read global memory ahead of time into a scratch tile; nothing waits for it.

    C++: TPREFETCH(dst, src); text: pto.tprefetch.

    dst: tile, written
    src: view, read

    Pipe: PIPE_MTE2.
    Rules: LS-COM-03, LS-COM-05, PREF-01, PREF-02, PREF-03, PREF-04, PF-1, PF-3, PF-4, PF-5.
    Source: memory-and-data-movement; load-store 9.
    """

@overload
def TPRELU(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 > 0 ? src0 : src0 * src1

    C++: TPRELU(dst, src0, src1, [tmp]); text: pto.tprelu.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-11, EW-AS-03.
    Source: compute-elementwise 3.
    """
@overload
def TPRELU(dst: Tile, src0: Tile, src1: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

@overload
def TPRINT(src: Tile | GlobalTensor | Partition, *more: RecordEvent | _PrintFormat, format: _PrintFormat = ...) -> RecordEvent:
    """Print a tile or a view, after a line with its name, block and place.

    C++: TPRINT(src, [tmp]); text: pto.tprint.

    src: tile, read
    tmp: tile, scratch, optional
    format: PrintFormat, default Width8_Precision4

    Pipe: PIPE_S.
    Rules: PRINT-01, PRINT-02, PRINT-AS-01.
    Source: compute-layout-irregular 2.11.
    """
@overload
def TPRINT(src: Tile | GlobalTensor | Partition, tmp: Tile | GlobalTensor | Partition, *more: RecordEvent | _PrintFormat, format: _PrintFormat = ...) -> RecordEvent: ...

@overload
def TPUSH(pipe: TPipe, tile: Tile | GlobalTensor | Partition, *more: RecordEvent | TileSplitAxis, split: TileSplitAxis = ...) -> RecordEvent:
    """Push a tile into a pipe between cores.

    C++: TPUSH(pipe, tile, [aiv_subblockid]); text: pto.tpush.

    pipe: pipe, read
    tile: tile, read
    aiv_subblockid: scalar, read, optional
    split: int, default 0

    Pipe: PIPE_S.
    Source: assembly 9; compute-layout-irregular 3.
    """
@overload
def TPUSH(pipe: TPipe, tile: Tile | GlobalTensor | Partition, aiv_subblockid: _Number, *more: RecordEvent | TileSplitAxis, split: TileSplitAxis = ...) -> RecordEvent: ...

def TPairReduceSum(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,k] = src[i,2k] + src[i,2k+1]

    C++: TPAIRREDUCESUM(dst, src); text: pto.tpairreducesum.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: PAIR-COM-01, PAIR-COM-02, PAIR-A5-01, CMP-INP-01.
    Source: compute-reduce-matrix 7.
    """

@overload
def TQUANT(dst: Tile, src: Tile, scale: Tile, *more: RecordEvent | _QuantType, quant_type: _QuantType | None = ...) -> RecordEvent:
    """dst = src * scale + offset as 8-bit integers, with a scale and an offset per row

    C++: TQUANT(dst, src, scale, [offset], [tmp]); text: pto.tquant.

    dst: tile, written
    src: tile, read
    scale: tile, read
    offset: tile, read, optional
    tmp: tile, scratch, optional
    quant_type: QuantType, default None

    Pipe: PIPE_V.
    Rules: QNT-COM-01, QNT-COM-02, QNT-A3-01, QNT-A3-02, TQ-1, TQ-2.
    Source: compute-reduce-matrix 14.
    """
@overload
def TQUANT(dst: Tile, src: Tile, scale: Tile, offset: Tile, *more: RecordEvent | _QuantType, quant_type: _QuantType | None = ...) -> RecordEvent: ...
@overload
def TQUANT(dst: Tile, src: Tile, scale: Tile, tmp: Tile, *more: RecordEvent | _QuantType, quant_type: _QuantType | None = ...) -> RecordEvent: ...
@overload
def TQUANT(dst: Tile, src: Tile, scale: Tile, offset: Tile, tmp: Tile, *more: RecordEvent | _QuantType, quant_type: _QuantType | None = ...) -> RecordEvent: ...

@overload
def TQUANT_MX(dst: Tile, src: Tile, exp: Tile, max: Tile, scaling: Tile, *more: RecordEvent | _QuantType | _QuantScaleAlg | _VecStoreMode | _MxGroupAxis | _MxQuantAlg | bool, quant_type: _QuantType | None = ..., scale_alg: _QuantScaleAlg = ..., store_mode: _VecStoreMode | None = ..., grp_axis: _MxGroupAxis = ..., alg: _MxQuantAlg = ..., interleave: bool = ...) -> RecordEvent:
    """dst = src scaled by a power of two per 32 elements, which exp holds

    C++: TQUANT(dst, src, exp, max, scaling, [exp_zz]); text: pto.tquant.mx.

    dst: tile, written
    src: tile, read
    exp: tile, written
    max: tile, written
    scaling: tile, written
    exp_zz: tile, written, optional
    quant_type: QuantType, default None
    scale_alg: QuantScaleAlg, default OCP
    store_mode: VecStoreMode, default None
    grp_axis: MxGroupAxis, default Axis1
    alg: MxQuantAlg, default OcpMxFp8E4M3
    interleave: bool, default False

    Pipe: PIPE_V.
    Rules: QMX-COM-01, QMX-COM-02, QMX-COM-03, QMX-A5-01, QMX-A5-03, QMX-A3-01, A5-1, MXQ-1, MXQ-2, MXQ-3.
    Source: compute-reduce-matrix 15.
    """
@overload
def TQUANT_MX(dst: Tile, src: Tile, exp: Tile, max: Tile, scaling: Tile, exp_zz: Tile, *more: RecordEvent | _QuantType | _QuantScaleAlg | _VecStoreMode | _MxGroupAxis | _MxQuantAlg | bool, quant_type: _QuantType | None = ..., scale_alg: _QuantScaleAlg = ..., store_mode: _VecStoreMode | None = ..., grp_axis: _MxGroupAxis = ..., alg: _MxQuantAlg = ..., interleave: bool = ...) -> RecordEvent: ...

def TRANDOM(dst: Tile, key0: _Number, key1: _Number, counter0: _Number, counter1: _Number, counter2: _Number, counter3: _Number, *more: RecordEvent | int, rounds: int = ...) -> RecordEvent:
    """Random 32-bit words of a key and a counter (Philox4x32).

    C++: TRANDOM(dst, key0, key1, counter0, counter1, counter2, counter3); text: pto.trandom.

    dst: tile, written
    key0: scalar, read
    key1: scalar, read
    counter0: scalar, read
    counter1: scalar, read
    counter2: scalar, read
    counter3: scalar, read
    rounds: int, default 10

    Pipe: PIPE_V.
    Rules: RAND-01, RAND-02, RAND-03, RAND-04, A5-1, RN-1.
    Source: compute-layout-irregular 2.10.
    """

def TRAP() -> RecordEvent:
    """Stop the kernel.

    C++: TRAP(); text: pto.trap.


    Pipe: PIPE_S.
    Source: assembly 6.2.
    """

def TRECIP(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = 1 / src

    C++: TRECIP(dst, src); text: pto.trecip.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-AS-02.
    Source: compute-elementwise 3.
    """

def TRELU(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = max(src, 0)

    C++: TRELU(dst, src); text: pto.trelu.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

@overload
def TREM(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 - floor(src0 / src1) * src1, the sign of src1

    C++: TREM(dst, src0, src1, [tmp]); text: pto.trem.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-A3-06, EW-A5-11, EW-A5-01, EW-11, EW-AS-04.
    Source: compute-elementwise 3.
    """
@overload
def TREM(dst: Tile, src0: Tile, src1: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

@overload
def TREMS(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = src - floor(src / scalar) * scalar, the sign of the scalar

    C++: TREMS(dst, src, scalar, [tmp]); text: pto.trems.

    dst: tile, written
    src: tile, read
    scalar: scalar, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-08, EW-A3-06, EW-A5-11, EW-A5-01, EW-11, EW-AS-04, EW-CPU-05.
    Source: compute-elementwise 3.
    """
@overload
def TREMS(dst: Tile, src: Tile, scalar: _Number, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

@overload
def TROWARGMAX(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,0] = first column of the maximum of row i

    C++: TROWARGMAX(dst, src, [tmp], [dst_val]); text: pto.trowargmax.

    dst: tile, written
    src: tile, read
    tmp: tile, scratch, optional
    dst_val: tile, written, optional

    Pipe: PIPE_V.
    Rules: ARG-COM-01, ARG-COM-02, ARG-COM-03, ARG-COM-04, RR-1, ARG-A3-01, CMP-INP-01.
    Source: compute-reduce-matrix 3.
    """
@overload
def TROWARGMAX(dst: Tile, src: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...
@overload
def TROWARGMAX(dst: Tile, src: Tile, dst_val: Tile, *more: RecordEvent) -> RecordEvent: ...
@overload
def TROWARGMAX(dst: Tile, src: Tile, tmp: Tile, dst_val: Tile, *more: RecordEvent) -> RecordEvent: ...

@overload
def TROWARGMIN(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,0] = first column of the minimum of row i

    C++: TROWARGMIN(dst, src, [tmp], [dst_val]); text: pto.trowargmin.

    dst: tile, written
    src: tile, read
    tmp: tile, scratch, optional
    dst_val: tile, written, optional

    Pipe: PIPE_V.
    Rules: ARG-COM-01, ARG-COM-02, ARG-COM-03, ARG-COM-04, RR-1, ARG-A3-01, CMP-INP-01.
    Source: compute-reduce-matrix 3.
    """
@overload
def TROWARGMIN(dst: Tile, src: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...
@overload
def TROWARGMIN(dst: Tile, src: Tile, dst_val: Tile, *more: RecordEvent) -> RecordEvent: ...
@overload
def TROWARGMIN(dst: Tile, src: Tile, tmp: Tile, dst_val: Tile, *more: RecordEvent) -> RecordEvent: ...

def TROWEXPAND(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,j] = src[i,0]

    C++: TROWEXPAND(dst, src); text: pto.trowexpand.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: REXP-COM-01, REXP-A5-01, REXP-A5-02, EW-1, CMP-INP-01.
    Source: compute-reduce-matrix 4.
    """

@overload
def TROWEXPANDADD(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,j] = src0[i,j] + src1[i,0], or swapped

    C++: TROWEXPANDADD(dst, src0, src1, [tmp]); text: pto.trowexpandadd.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: EW-1, CMP-INP-01, REXP-COM-10, REXP-COM-11, REXP-COM-12, REXP-A3-10, REXP-A3-11, REXP-AS-01, REXP-AS-03.
    Source: compute-reduce-matrix 4.
    """
@overload
def TROWEXPANDADD(dst: Tile, src0: Tile, src1: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

@overload
def TROWEXPANDDIV(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent | int | bool, src1_col: int | None = ..., src0_eq_dst: bool = ..., high_precision: bool = ...) -> RecordEvent:
    """dst[i,j] = src0[i,j] / src1[i,0], or swapped

    C++: TROWEXPANDDIV(dst, src0, src1, [tmp]); text: pto.trowexpanddiv.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    tmp: tile, scratch, optional
    src1_col: int, default None
    src0_eq_dst: bool, default False
    high_precision: bool, default False

    Pipe: PIPE_V.
    Rules: EW-1, CMP-INP-01, REXP-COM-10, REXP-COM-11, REXP-COM-12, REXP-A3-10, REXP-A3-11, REXP-AS-03, REXP-AS-04.
    Source: compute-reduce-matrix 4.
    """
@overload
def TROWEXPANDDIV(dst: Tile, src0: Tile, src1: Tile, tmp: Tile, *more: RecordEvent | int | bool, src1_col: int | None = ..., src0_eq_dst: bool = ..., high_precision: bool = ...) -> RecordEvent: ...

@overload
def TROWEXPANDEXPDIF(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent | int | bool, src1_col: int | None = ..., src0_eq_dst: bool = ..., high_precision: bool = ...) -> RecordEvent:
    """dst[i,j] = exp(src0[i,j] - src1[i,0]), or swapped

    C++: TROWEXPANDEXPDIF(dst, src0, src1, [tmp]); text: pto.trowexpandexpdif.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    tmp: tile, scratch, optional
    src1_col: int, default None
    src0_eq_dst: bool, default False
    high_precision: bool, default False

    Pipe: PIPE_V.
    Rules: EW-1, CMP-INP-01, REXP-COM-10, REXP-COM-11, REXP-COM-12, REXP-A3-10, REXP-A3-11, REXP-AS-02.
    Source: compute-reduce-matrix 4.
    """
@overload
def TROWEXPANDEXPDIF(dst: Tile, src0: Tile, src1: Tile, tmp: Tile, *more: RecordEvent | int | bool, src1_col: int | None = ..., src0_eq_dst: bool = ..., high_precision: bool = ...) -> RecordEvent: ...

@overload
def TROWEXPANDMAX(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent | int | bool, src1_col: int | None = ..., src0_eq_dst: bool = ..., high_precision: bool = ...) -> RecordEvent:
    """dst[i,j] = max(src0[i,j], src1[i,0]), or swapped

    C++: TROWEXPANDMAX(dst, src0, src1, [tmp]); text: pto.trowexpandmax.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    tmp: tile, scratch, optional
    src1_col: int, default None
    src0_eq_dst: bool, default False
    high_precision: bool, default False

    Pipe: PIPE_V.
    Rules: EW-1, CMP-INP-01, REXP-COM-10, REXP-COM-11, REXP-COM-12, REXP-A3-10, REXP-A3-11, REXP-AS-02, REXP-AS-03.
    Source: compute-reduce-matrix 4.
    """
@overload
def TROWEXPANDMAX(dst: Tile, src0: Tile, src1: Tile, tmp: Tile, *more: RecordEvent | int | bool, src1_col: int | None = ..., src0_eq_dst: bool = ..., high_precision: bool = ...) -> RecordEvent: ...

@overload
def TROWEXPANDMIN(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent | int | bool, src1_col: int | None = ..., src0_eq_dst: bool = ..., high_precision: bool = ...) -> RecordEvent:
    """dst[i,j] = min(src0[i,j], src1[i,0]), or swapped

    C++: TROWEXPANDMIN(dst, src0, src1, [tmp]); text: pto.trowexpandmin.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    tmp: tile, scratch, optional
    src1_col: int, default None
    src0_eq_dst: bool, default False
    high_precision: bool, default False

    Pipe: PIPE_V.
    Rules: EW-1, CMP-INP-01, REXP-COM-10, REXP-COM-11, REXP-COM-12, REXP-A3-10, REXP-A3-11, REXP-AS-02, REXP-AS-03.
    Source: compute-reduce-matrix 4.
    """
@overload
def TROWEXPANDMIN(dst: Tile, src0: Tile, src1: Tile, tmp: Tile, *more: RecordEvent | int | bool, src1_col: int | None = ..., src0_eq_dst: bool = ..., high_precision: bool = ...) -> RecordEvent: ...

@overload
def TROWEXPANDMUL(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent | int | bool, src1_col: int | None = ..., src0_eq_dst: bool = ..., high_precision: bool = ...) -> RecordEvent:
    """dst[i,j] = src0[i,j] * src1[i,0], or swapped

    C++: TROWEXPANDMUL(dst, src0, src1, [tmp]); text: pto.trowexpandmul.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    tmp: tile, scratch, optional
    src1_col: int, default None
    src0_eq_dst: bool, default False
    high_precision: bool, default False

    Pipe: PIPE_V.
    Rules: EW-1, CMP-INP-01, REXP-COM-10, REXP-COM-11, REXP-COM-12, REXP-A3-10, REXP-A3-11, REXP-AS-03.
    Source: compute-reduce-matrix 4.
    """
@overload
def TROWEXPANDMUL(dst: Tile, src0: Tile, src1: Tile, tmp: Tile, *more: RecordEvent | int | bool, src1_col: int | None = ..., src0_eq_dst: bool = ..., high_precision: bool = ...) -> RecordEvent: ...

@overload
def TROWEXPANDSUB(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent | int | bool, src1_col: int | None = ..., src0_eq_dst: bool = ..., high_precision: bool = ...) -> RecordEvent:
    """dst[i,j] = src0[i,j] - src1[i,0], or swapped

    C++: TROWEXPANDSUB(dst, src0, src1, [tmp]); text: pto.trowexpandsub.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    tmp: tile, scratch, optional
    src1_col: int, default None
    src0_eq_dst: bool, default False
    high_precision: bool, default False

    Pipe: PIPE_V.
    Rules: EW-1, CMP-INP-01, REXP-COM-10, REXP-COM-11, REXP-COM-12, REXP-A3-10, REXP-A3-11, REXP-AS-03.
    Source: compute-reduce-matrix 4.
    """
@overload
def TROWEXPANDSUB(dst: Tile, src0: Tile, src1: Tile, tmp: Tile, *more: RecordEvent | int | bool, src1_col: int | None = ..., src0_eq_dst: bool = ..., high_precision: bool = ...) -> RecordEvent: ...

@overload
def TROWMAX(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,0] = maximum of row i

    C++: TROWMAX(dst, src, [tmp]); text: pto.trowmax.

    dst: tile, written
    src: tile, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: RRED-AS-01, RRED-COM-01, RRED-COM-02, RRED-COM-03, RRED-COM-04, RRED-CPU-01, RRED-A3-01, RRED-A5-01, RRED-A5-02, RR-1, CMP-INP-01, RRED-A3-02.
    Source: compute-reduce-matrix 1.
    """
@overload
def TROWMAX(dst: Tile, src: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

@overload
def TROWMIN(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,0] = minimum of row i

    C++: TROWMIN(dst, src, [tmp]); text: pto.trowmin.

    dst: tile, written
    src: tile, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: RRED-AS-01, RRED-COM-01, RRED-COM-02, RRED-COM-03, RRED-COM-04, RRED-CPU-01, RRED-A3-01, RRED-A5-01, RRED-A5-02, RR-1, CMP-INP-01, RRED-A3-02.
    Source: compute-reduce-matrix 1.
    """
@overload
def TROWMIN(dst: Tile, src: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

@overload
def TROWPROD(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,0] = product of row i

    C++: TROWPROD(dst, src, [tmp]); text: pto.trowprod.

    dst: tile, written
    src: tile, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: RRED-AS-01, RRED-COM-01, RRED-COM-02, RRED-COM-03, RRED-COM-04, RRED-CPU-01, RRED-A3-01, RRED-A5-01, RRED-A5-02, RR-1, CMP-INP-01.
    Source: compute-reduce-matrix 1.
    """
@overload
def TROWPROD(dst: Tile, src: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

@overload
def TROWSUM(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[i,0] = sum of row i

    C++: TROWSUM(dst, src, [tmp]); text: pto.trowsum.

    dst: tile, written
    src: tile, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: RRED-AS-01, RRED-COM-01, RRED-COM-02, RRED-COM-03, RRED-COM-04, RRED-CPU-01, RRED-A3-01, RRED-A5-01, RRED-A5-02, RR-1, CMP-INP-01, RRED-A3-02.
    Source: compute-reduce-matrix 1.
    """
@overload
def TROWSUM(dst: Tile, src: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

@overload
def TRSQRT(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = 1 / sqrt src

    C++: TRSQRT(dst, src, [tmp]); text: pto.trsqrt.

    dst: tile, written
    src: tile, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-11, EW-AS-06.
    Source: compute-elementwise 3.
    """
@overload
def TRSQRT(dst: Tile, src: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

@overload
def TSCATTER(dst: Tile, src: Tile, *more: RecordEvent | _MaskPattern | _MaskAxis, mask: _MaskPattern | None = ..., axis: _MaskAxis = ...) -> RecordEvent:
    """dst = 0, then the elements of src at the places that an index tile names or a mask selects.

    C++: TSCATTER(dst, src, [idx]); text: pto.tscatter.

    dst: tile, written
    src: tile, read
    idx: tile, read, optional
    mask: MaskPattern, default None
    axis: MaskAxis, default Row

    Pipe: PIPE_V.
    Rules: TSCAT-COM-01, TSCAT-COM-02, TSCAT-COM-03, TSCAT-COM-04, TSCAT-COM-05, TSCAT-COM-07, TSCAT-CPU-01, TSCATTER-AS-01.
    Source: compute-layout-irregular 2.4.
    """
@overload
def TSCATTER(dst: Tile, src: Tile, idx: Tile, *more: RecordEvent | _MaskPattern | _MaskAxis, mask: _MaskPattern | None = ..., axis: _MaskAxis = ...) -> RecordEvent: ...

@overload
def TSEL(dst: Tile, mask: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = mask bit ? src0 : src1

    C++: TSEL(dst, mask, src0, src1, [tmp]); text: pto.tsel.

    dst: tile, written
    mask: tile, read
    src0: tile, read
    src1: tile, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-06, EW-10, EW-1, EW-SEL-01, EW-A5-03, EW-A5-04, EW-11, EW-AS-12, EW-A5-01, EW-CPU-01.
    Source: compute-elementwise 3.
    """
@overload
def TSEL(dst: Tile, mask: Tile, src0: Tile, src1: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

@overload
def TSELS(dst: Tile, mask: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = mask bit ? src : scalar

    C++: TSELS(dst, mask, src, [tmp], scalar); text: pto.tsels.

    dst: tile, written
    mask: tile, read
    src: tile, read
    tmp: tile, scratch, optional
    scalar: scalar, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-06, EW-10, EW-1, EW-SEL-01, EW-AS-10, EW-11, EW-AS-13, EW-A5-01.
    Source: compute-elementwise 3.
    """
@overload
def TSELS(dst: Tile, mask: Tile, src: Tile, tmp: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent: ...

def TSETVAL(dst: Tile, offset: _Number, value: _Number, *more: RecordEvent) -> RecordEvent:
    """Set one element of a tile; the offset counts elements.

    C++: TSETVAL(dst, offset, value); text: pto.tsetval.

    dst: tile, read and written
    offset: scalar, read
    value: scalar, read

    Pipe: PIPE_S.
    Rules: TILE-09, ELEM-01.
    Source: assembly 6.2.
    """

def TSHL(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 << src1

    C++: TSHL(dst, src0, src1); text: pto.tshl.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TSHLS(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = src << scalar

    C++: TSHLS(dst, src, scalar); text: pto.tshls.

    dst: tile, written
    src: tile, read
    scalar: scalar, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-09, EW-A5-01.
    Source: compute-elementwise 3.
    """

def TSHR(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 >> src1, arithmetic if signed

    C++: TSHR(dst, src0, src1); text: pto.tshr.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TSHRS(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = src >> scalar, arithmetic if signed

    C++: TSHRS(dst, src, scalar); text: pto.tshrs.

    dst: tile, written
    src: tile, read
    scalar: scalar, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-09, EW-A5-01.
    Source: compute-elementwise 3.
    """

@overload
def TSORT32(dst: Tile, src: Tile, idx: Tile, *more: RecordEvent) -> RecordEvent:
    """Sort each 32 elements of a row in descending order; dst holds records of value and index.

    C++: TSORT32(dst, src, idx, [tmp]); text: pto.tsort32.

    dst: tile, written
    src: tile, read
    idx: tile, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: SORT-COM-01, SORT-COM-02, SORT-COM-03, SORT-COM-05, SORT-A23-01, SORT-CPU-01, SORT-AS-01.
    Source: compute-layout-irregular 2.5.
    """
@overload
def TSORT32(dst: Tile, src: Tile, idx: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

def TSQRT(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = sqrt src

    C++: TSQRT(dst, src); text: pto.tsqrt.

    dst: tile, written
    src: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

@overload
def TSTORE(dst: GlobalTensor | Partition, src: Tile, *more: RecordEvent | _STPhase | _AtomicType | _ReluPreMode, phase: _STPhase = ..., atomic: _AtomicType = ..., relu: _ReluPreMode = ...) -> RecordEvent:
    """Store the valid region of a tile to global memory; accumulators are converted on the way.

    C++: TSTORE(dst, src, [quant]); text: pto.tstore.

    dst: view, written
    src: tile, read
    quant: scalar, read, optional
    phase: STPhase, default Unspecified
    atomic: AtomicType, default AtomicNone
    relu: ReluPreMode, default NoRelu

    Pipe: depends on operands and target.
    Rules: LS-COM-03, LS-COM-04, LS-COM-05, LS-COM-09, LS-COM-08, STORE-CPU-01, STORE-CPU-02, STORE-CPU-03, STORE-CPU-04, STORE-CPU-05, STORE-CPU-07, STORE-CPU-06, STORE-A3-01, STORE-A3-03, STORE-A3-04, STORE-A3-05, STORE-A3-06, STORE-A3-07, STORE-A3-08, STORE-A3-09, STORE-A3-22, STORE-A3-25, STORE-A3-D4, STORE-A3-10, STORE-A3-11, STORE-A3-12, STORE-A3-13, STORE-A3-14, STORE-A3-15, STORE-A3-16, STORE-A3-17, STORE-A3-18, STORE-A3-19, STORE-A3-20, STORE-A3-21, STORE-A3-24, STORE-A3-D1, STORE-A3-D2, STORE-A3-D3, STORE-A5-01, STORE-A5-03, STORE-A5-04, STORE-A5-05, STORE-A5-06, STORE-A5-07, STORE-A5-16, STORE-A5-18, STORE-A5-19, STORE-A5-20, STORE-A5-D4, STORE-A5-08, STORE-A5-09, STORE-A5-10, STORE-A5-11, STORE-A5-12, STORE-A5-13, STORE-A5-14, STORE-A5-15, STORE-A5-21, STORE-A5-D1, STORE-A5-D2, STORE-A5-D3, ST-3, ST-5, ST-6, ST-7, ST-8, ST-9, ST-10, ST-11, ST-12, ST-13, ST-14, ST-15, ST-16.
    Source: tstore; load-store 4, 5.
    """
@overload
def TSTORE(dst: GlobalTensor | Partition, src: Tile, quant: _Number, *more: RecordEvent | _STPhase | _AtomicType | _ReluPreMode, phase: _STPhase = ..., atomic: _AtomicType = ..., relu: _ReluPreMode = ...) -> RecordEvent: ...

def TSTORE_FP(dst: GlobalTensor | Partition, src: Tile, fp: Tile, *more: RecordEvent | _AtomicType | _ReluPreMode, atomic: _AtomicType = ..., relu: _ReluPreMode = ...) -> RecordEvent:
    """Store an accumulator quantised with one parameter word per column.

    C++: TSTORE_FP(dst, src, fp); text: pto.tstore_fp.

    dst: view, written
    src: tile, read
    fp: tile, read
    atomic: AtomicType, default AtomicNone
    relu: ReluPreMode, default NoRelu

    Pipe: PIPE_FIX.
    Rules: LS-COM-03, LS-COM-04, LS-COM-05, LS-COM-09, LS-COM-07, STORE-CPU-01, STORE-CPU-02, STORE-CPU-03, STORE-CPU-04, STORE-CPU-05, STORE-CPU-07, STORE-CPU-06, STORE-A3-01, STORE-A3-03, STORE-A3-04, STORE-A3-05, STORE-A3-06, STORE-A3-07, STORE-A3-08, STORE-A3-09, STORE-A3-22, STORE-A3-25, STORE-A3-D4, STORE-A3-10, STORE-A3-11, STORE-A3-12, STORE-A3-13, STORE-A3-14, STORE-A3-15, STORE-A3-16, STORE-A3-17, STORE-A3-18, STORE-A3-19, STORE-A3-20, STORE-A3-21, STORE-A3-24, STORE-A3-D1, STORE-A3-D2, STORE-A3-D3, STORE-A5-01, STORE-A5-03, STORE-A5-04, STORE-A5-05, STORE-A5-06, STORE-A5-07, STORE-A5-16, STORE-A5-18, STORE-A5-19, STORE-A5-20, STORE-A5-D4, STORE-A5-08, STORE-A5-09, STORE-A5-10, STORE-A5-11, STORE-A5-12, STORE-A5-13, STORE-A5-14, STORE-A5-15, STORE-A5-21, STORE-A5-D1, STORE-A5-D2, STORE-A5-D3, SF-2, SF-3, SF-4, SF-5.
    Source: memory-and-data-movement; load-store 6, 8.
    """

def TSUB(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 - src1

    C++: TSUB(dst, src0, src1); text: pto.tsub.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TSUBC(dst: Tile, src0: Tile, src1: Tile, src2: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = (src0 - src1) + src2

    C++: TSUBC(dst, src0, src1, src2); text: pto.tsubc.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    src2: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-CPU-01.
    Source: compute-elementwise 3.
    """

def TSUBRELU(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = max(src0 - src1, 0)

    C++: TSUBRELU(dst, src0, src1); text: pto.tsubrelu.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1.
    Source: compute-elementwise 3.
    """

def TSUBRELUCONV(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = max(src0 - src1, 0) as f16 of f32, or i8 of f16 and i16

    C++: TSUBRELUCONV(dst, src0, src1); text: pto.tsubreluconv.

    dst: tile, written
    src0: tile, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-05, EW-06, EW-10, EW-1, EW-07.
    Source: compute-elementwise 4.7.
    """

def TSUBS(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = src - scalar

    C++: TSUBS(dst, src, scalar); text: pto.tsubs.

    dst: tile, written
    src: tile, read
    scalar: scalar, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-A5-01, EW-A3-09.
    Source: compute-elementwise 3.
    """

def TSUBSC(dst: Tile, src0: Tile, scalar: _Number, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = (src0 - scalar) + src1

    C++: TSUBSC(dst, src0, scalar, src1); text: pto.tsubsc.

    dst: tile, written
    src0: tile, read
    scalar: scalar, read
    src1: tile, read

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-CPU-01.
    Source: compute-elementwise 3.
    """

def TTEST(signal: GlobalTensor | Partition, value: _Number, *more: RecordEvent | _CmpMode, cmp: _CmpMode = ...) -> Scalar:
    """Ask whether every signal compares with a value as asked; gives an i1.

    C++: TTEST(signal, value); text: pto.ttest.

    signal: view, read
    value: scalar, read
    result seen: scalar
    cmp: CmpMode, default EQ

    Pipe: PIPE_S.
    Rules: SIGNAL-01.
    Source: memory-model-and-sync 5.5.
    """

@overload
def TTRANS(dst: Tile, src: Tile, *more: RecordEvent) -> RecordEvent:
    """dst[c,r] = src[r,c]; of convolution tiles: the elements in the order of dst's layout.

    C++: TTRANS(dst, src, [tmp]); text: pto.ttrans.

    dst: tile, written
    src: tile, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: TRANS-COM-01, TRANS-COM-02, TRANS-COM-03, TRANS-COM-04, TRANS-COM-05, TRANS-A5-01, TRANS-CONV-01, TRANS-CONV-02, TRANS-CONV-03, TRANS-AS-01.
    Source: compute-layout-irregular 1.1.
    """
@overload
def TTRANS(dst: Tile, src: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

def TTRI(dst: Tile, diagonal: _Number, *more: RecordEvent | int, upper_or_lower: int = ...) -> RecordEvent:
    """A triangle of ones: at and below a diagonal, or at and above it.

    C++: TTRI(dst, diagonal); text: pto.ttri.

    dst: tile, written
    diagonal: scalar, read
    upper_or_lower: int, default 0

    Pipe: PIPE_V.
    Rules: GEN-TRI-01, TRI-01, TRI-02.
    Source: compute-layout-irregular 2.8.
    """

def TWAIT(signal: GlobalTensor | Partition, value: _Number, *more: RecordEvent | _CmpMode, cmp: _CmpMode = ...) -> RecordEvent:
    """Wait until every signal compares with a value as asked.

    C++: comm::TWAIT(signal, value); text: pto.twait.

    signal: view, read
    value: scalar, read
    cmp: CmpMode, default EQ

    Pipe: PIPE_S.
    Rules: SIGNAL-01.
    Source: memory-model-and-sync 5.5.
    """

@overload
def TXOR(dst: Tile, src0: Tile, src1: Tile, *more: RecordEvent) -> RecordEvent:
    """dst = src0 ^ src1

    C++: TXOR(dst, src0, src1, [tmp]); text: pto.txor.

    dst: tile, written
    src0: tile, read
    src1: tile, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-11, EW-AS-05.
    Source: compute-elementwise 3.
    """
@overload
def TXOR(dst: Tile, src0: Tile, src1: Tile, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

@overload
def TXORS(dst: Tile, src: Tile, scalar: _Number, *more: RecordEvent) -> RecordEvent:
    """dst = src ^ scalar; of floats the bits

    C++: TXORS(dst, src, scalar, [tmp]); text: pto.txors.

    dst: tile, written
    src: tile, read
    scalar: scalar, read
    tmp: tile, scratch, optional

    Pipe: PIPE_V.
    Rules: EW-01, EW-02, EW-03, EW-04, EW-05, EW-06, EW-10, EW-1, EW-07, EW-11, EW-AS-05, EW-AS-01, EW-A3-07.
    Source: compute-elementwise 3.
    """
@overload
def TXORS(dst: Tile, src: Tile, scalar: _Number, tmp: Tile, *more: RecordEvent) -> RecordEvent: ...

def barrier_sync(op: str) -> RecordEvent:
    """Barrier on the pipe of an operation class.

    C++: barrier_sync(op); text: pto.barrier_sync.

    op: str, default None

    Pipe: depends on operands and target.
    Rules: BA-2, PIPE-TAG.
    Source: memory-model-and-sync 5; assembly 8.
    """

def chistv2(acc: Register, src: Register, mask: Predicate, bin: _Number) -> Register:
    """dst = acc + how many active samples have at most the value of the lane; bin 1: values from 128.

    text: pto.chistv2.

    acc: vreg, read
    src: vreg, read
    mask: mask, read
    bin: scalar, read
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, MIC-01, MIC-02, MIC-05.
    Source: PTOAS e32488c9, micro-isa 10.
    """

def copy_cbuf_to_bt(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, convert: _Number, n_burst: _Number, len_burst: _Number, src_gap: _Number, dst_gap: _Number) -> None:
    """Copy blocks of L1 into the bias table.

    text: pto.copy_cbuf_to_bt.

    src: ptr, read
    dst: ptr, written
    convert: scalar, read
    n_burst: scalar, read
    len_burst: scalar, read
    src_gap: scalar, read
    dst_gap: scalar, read

    Pipe: PIPE_MTE1.
    Rules: CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def copy_cbuf_to_fbuf(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, n_burst: _Number, len_burst: _Number, src_gap: _Number, dst_gap: _Number) -> None:
    """Copy blocks of L1 into the fix-pipe buffer.

    text: pto.copy_cbuf_to_fbuf.

    src: ptr, read
    dst: ptr, written
    n_burst: scalar, read
    len_burst: scalar, read
    src_gap: scalar, read
    dst_gap: scalar, read

    Pipe: PIPE_FIX.
    Rules: CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def copy_cbuf_to_ubuf(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, sid: _Number, n_burst: _Number, len_burst: _Number, src_gap: _Number, dst_gap: _Number) -> None:
    """Copy blocks of L1 into the unified buffer of vector core `sid` of the cluster.

    text: pto.copy_cbuf_to_ubuf.

    src: ptr, read
    dst: ptr, written
    sid: scalar, read
    n_burst: scalar, read
    len_burst: scalar, read
    src_gap: scalar, read
    dst_gap: scalar, read

    Pipe: PIPE_MTE1.
    Rules: CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def copy_gm_to_cbuf(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, n_burst: _Number, len_burst: _Number, src_stride: _Number, dst_stride: _Number) -> None:
    """Copy rows of global memory into L1, in the loops that are set.

    text: pto.copy_gm_to_cbuf.

    src: ptr, read
    dst: ptr, written
    n_burst: scalar, read
    len_burst: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read

    Pipe: PIPE_MTE2.
    Rules: CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def copy_gm_to_cbuf_multi_dn2nz(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, sid: _Number, loop1_src_stride: _Number, l2_cache_ctrl: _Number, n_value: _Number, d_value: _Number, loop4_src_stride: _Number, smallc0_en: _Number) -> None:
    """Copy matrices of layout DN of global memory into the fractals of L1.

    text: pto.copy_gm_to_cbuf_multi_dn2nz.

    src: ptr, read
    dst: ptr, written
    sid: scalar, read
    loop1_src_stride: scalar, read
    l2_cache_ctrl: scalar, read
    n_value: scalar, read
    d_value: scalar, read
    loop4_src_stride: scalar, read
    smallc0_en: scalar, read

    Pipe: PIPE_MTE2.
    Rules: CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def copy_gm_to_cbuf_multi_nd2nz(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, sid: _Number, loop1_src_stride: _Number, l2_cache_ctrl: _Number, n_value: _Number, d_value: _Number, loop4_src_stride: _Number, smallc0_en: _Number) -> None:
    """Copy matrices of layout ND of global memory into the fractals of L1.

    text: pto.copy_gm_to_cbuf_multi_nd2nz.

    src: ptr, read
    dst: ptr, written
    sid: scalar, read
    loop1_src_stride: scalar, read
    l2_cache_ctrl: scalar, read
    n_value: scalar, read
    d_value: scalar, read
    loop4_src_stride: scalar, read
    smallc0_en: scalar, read

    Pipe: PIPE_MTE2.
    Rules: CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def copy_gm_to_ubuf(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, sid: _Number, n_burst: _Number, len_burst: _Number, left_padding: _Number, right_padding: _Number, data_select_bit: _Number, l2_cache_ctl: _Number, src_stride: _Number, dst_stride: _Number) -> None:
    """Copy rows of global memory into the unified buffer, padding them if data_select_bit is set.

    text: pto.copy_gm_to_ubuf.

    src: ptr, read
    dst: ptr, written
    sid: scalar, read
    n_burst: scalar, read
    len_burst: scalar, read
    left_padding: scalar, read
    right_padding: scalar, read
    data_select_bit: scalar, read
    l2_cache_ctl: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read

    Pipe: PIPE_MTE2.
    Rules: PTR-A5-01, DMA-A5-01, DMA-A5-04, DMA-A5-04-LINT, DMA-A5-05, DMA-A5-02, DMA-A5-03, DMA-A5-06, DMA-A5-08, DMA-A5-09.
    Source: vector-path 3.
    """

def copy_matrix_cc_to_cbuf(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, config0: _Number, config1: _Number) -> None:
    """Drain the accumulator into L1, with the fields of the hardware.

    text: pto.copy_matrix_cc_to_cbuf.

    src: ptr, read
    dst: ptr, written
    config0: scalar, read
    config1: scalar, read

    Pipe: PIPE_FIX.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def copy_matrix_cc_to_gm(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, xm: _Number, xt: _Number) -> None:
    """Drain the accumulator into global memory, with the fields of the hardware.

    text: pto.copy_matrix_cc_to_gm.

    src: ptr, read
    dst: ptr, written
    xm: scalar, read
    xt: scalar, read

    Pipe: PIPE_FIX.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def copy_matrix_cc_to_ub(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, config0: _Number, config1: _Number) -> None:
    """Drain the accumulator into the unified buffer, with the fields of the hardware.

    text: pto.copy_matrix_cc_to_ub.

    src: ptr, read
    dst: ptr, written
    config0: scalar, read
    config1: scalar, read

    Pipe: PIPE_FIX.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def copy_ubuf_to_cbuf(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, sid: _Number, n_burst: _Number, len_burst: _Number, src_gap: _Number, dst_gap: _Number) -> None:
    """Copy blocks of the unified buffer into L1.

    text: pto.copy_ubuf_to_cbuf.

    src: ptr, read
    dst: ptr, written
    sid: scalar, read
    n_burst: scalar, read
    len_burst: scalar, read
    src_gap: scalar, read
    dst_gap: scalar, read

    Pipe: PIPE_MTE3.
    Rules: CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def copy_ubuf_to_gm(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, sid: _Number, n_burst: _Number, len_burst: _Number, reserved: _Number, dst_stride: _Number, src_stride: _Number) -> None:
    """Copy rows of the unified buffer to global memory.

    text: pto.copy_ubuf_to_gm.

    src: ptr, read
    dst: ptr, written
    sid: scalar, read
    n_burst: scalar, read
    len_burst: scalar, read
    reserved: scalar, read
    dst_stride: scalar, read
    src_stride: scalar, read

    Pipe: PIPE_MTE3.
    Rules: PTR-A5-01, DMA-A5-01, DMA-A5-04, DMA-A5-04-LINT, DMA-A5-05, DMA-A5-02, DMA-A5-03.
    Source: vector-path 3.
    """

def copy_ubuf_to_ubuf(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, sid: _Number, n_burst: _Number, len_burst: _Number, src_stride: _Number, dst_stride: _Number) -> None:
    """Copy rows within the unified buffer; lengths and strides in bytes.

    text: pto.copy_ubuf_to_ubuf.

    src: ptr, read
    dst: ptr, written
    sid: scalar, read
    n_burst: scalar, read
    len_burst: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read

    Pipe: PIPE_V.
    Rules: PTR-A5-01, DMA-A5-01, DMA-A5-04, DMA-A5-04-LINT, DMA-A5-05, DMA-A5-10, DMA-A5-03, DMA-A5-07.
    Source: vector-path 3.
    """

def create_cbuf_matrix(dst: Pointer | GlobalTensor | Partition, value: _Number, repeat_times: _Number, block_num: _Number, dst_gap: _Number, fill_word_bits: int | None = ...) -> None:
    """Fill blocks of L1 with a word.

    text: pto.create_cbuf_matrix.

    dst: ptr, written
    value: scalar, read
    repeat_times: scalar, read
    block_num: scalar, read
    dst_gap: scalar, read
    fill_word_bits: int, default None

    Pipe: PIPE_MTE2.
    Rules: CUB-01, CUB-06, CUB-03, CUB-16, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

@overload
def dcci(cache: Literal['SINGLE_CACHE_LINE', 'ENTIRE_DATA_CACHE'] = ..., where: Literal['CACHELINE_ALL', 'CACHELINE_UB', 'CACHELINE_OUT', 'CACHELINE_ATOMIC'] | None = ...) -> RecordEvent:
    """Clean and invalidate the scalar unit's cache: the 64-byte line a pointer is in, or all of it.

    C++: dcci([ptr]); text: pto.dcci.

    ptr: ptr, read, optional
    cache: str, default SINGLE_CACHE_LINE
    where: str, default None

    Pipe: PIPE_S.
    Source: memory-model-and-sync 6.2.
    """
@overload
def dcci(ptr: Pointer, *more: RecordEvent | Literal['SINGLE_CACHE_LINE', 'ENTIRE_DATA_CACHE'] | Literal['CACHELINE_ALL', 'CACHELINE_UB', 'CACHELINE_OUT', 'CACHELINE_ATOMIC'], cache: Literal['SINGLE_CACHE_LINE', 'ENTIRE_DATA_CACHE'] = ..., where: Literal['CACHELINE_ALL', 'CACHELINE_UB', 'CACHELINE_OUT', 'CACHELINE_ATOMIC'] | None = ...) -> RecordEvent: ...

def dhistv2(acc: Register, src: Register, mask: Predicate, bin: _Number) -> Register:
    """dst = acc + how many active samples have the value of the lane; bin 1: values from 128.

    text: pto.dhistv2.

    acc: vreg, read
    src: vreg, read
    mask: mask, read
    bin: scalar, read
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, MIC-01, MIC-02, MIC-05.
    Source: PTOAS e32488c9, micro-isa 10.
    """

def dsb(memory: Literal['ALL', 'DDR', 'UB', 'SEQ'] | None = ...) -> RecordEvent:
    """Wait until what the scalar unit has written is in memory.

    C++: dsb([memory]); text: pto.dsb.

    memory: str, default None

    Pipe: PIPE_S.
    Source: memory-model-and-sync 6.2.
    """

def get_buf(op: str, id: int, mode: int | None = ...) -> RecordEvent:
    """Take a buffer token: the pipe's later work waits until the token is free.

    C++: get_buf(op, id, [mode]); text: pto.get_buf.

    op: str, default None
    id: int, default None
    mode: int, default None

    Pipe: depends on operands and target.
    Rules: BF-1.
    Source: memory-model-and-sync 5; assembly 8.
    """

def get_buf_dyn(buf: _Number, *more: RecordEvent | str | int, op: str | None = ..., mode: int | None = ...) -> RecordEvent:
    """Take a buffer token whose number is a value.

    C++: get_buf_dyn(buf); text: pto.get_buf_dyn.

    buf: scalar, read
    op: str, default None
    mode: int, default None

    Pipe: depends on operands and target.
    Source: memory-model-and-sync 5; assembly 8.
    """

def get_ctrl() -> Scalar:
    """Read the control register.

    text: pto.get_ctrl.

    result value: scalar

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def get_vms4_sr() -> tuple[Any, Any, Any, Any]:
    """How many records of each list the last vmrgsort4 has taken.

    text: pto.get_vms4_sr.

    result list0: scalar
    result list1: scalar
    result list2: scalar
    result list3: scalar

    Pipe: PIPE_V.
    Source: vector-path 6.9.
    """

def init_align() -> AlignState:
    """The state of an empty stream of stores.

    text: pto.init_align.

    result next: align

    Pipe: PIPE_V.
    Source: vector-path 4.8.
    """

def load_cbuf_to_ca(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m_start: _Number, k_start: _Number, m_step: _Number, k_step: _Number, src_stride: _Number, dst_stride: _Number, transpose: bool | None = ...) -> None:
    """Copy fractals of L1 to the left operand.

    text: pto.load_cbuf_to_ca.

    src: ptr, read
    dst: ptr, written
    m_start: scalar, read
    k_start: scalar, read
    m_step: scalar, read
    k_step: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read
    transpose: bool, default None

    Pipe: PIPE_MTE1.
    Rules: CUB-01, CUB-02, CUB-05, CUB-03, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def load_cbuf_to_ca_mx(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, x_start: _Number, y_start: _Number, x_step: _Number, y_step: _Number, src_stride: _Number, dst_stride: _Number) -> None:
    """Copy scales of L1 to the left operand.

    text: pto.load_cbuf_to_ca_mx.

    src: ptr, read
    dst: ptr, written
    x_start: scalar, read
    y_start: scalar, read
    x_step: scalar, read
    y_step: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read

    Pipe: PIPE_MTE1.
    Rules: CUB-01, CUB-02, CUB-03, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def load_cbuf_to_ca_s4(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m_start: _Number, k_start: _Number, m_step: _Number, k_step: _Number, src_stride: _Number, dst_stride: _Number, transpose: _Number) -> None:
    """Copy fractals of 4-bit elements of L1 to the left operand.

    text: pto.load_cbuf_to_ca_s4.

    src: ptr, read
    dst: ptr, written
    m_start: scalar, read
    k_start: scalar, read
    m_step: scalar, read
    k_step: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read
    transpose: scalar, read

    Pipe: PIPE_MTE1.
    Rules: CUB-01, CUB-02, CUB-05, CUB-03, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def load_cbuf_to_cb(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m_start: _Number, k_start: _Number, m_step: _Number, k_step: _Number, src_stride: _Number, dst_stride: _Number, transpose: bool | None = ...) -> None:
    """Copy fractals of L1 to the right operand.

    text: pto.load_cbuf_to_cb.

    src: ptr, read
    dst: ptr, written
    m_start: scalar, read
    k_start: scalar, read
    m_step: scalar, read
    k_step: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read
    transpose: bool, default None

    Pipe: PIPE_MTE1.
    Rules: CUB-01, CUB-02, CUB-05, CUB-03, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def load_cbuf_to_cb_mx(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, x_start: _Number, y_start: _Number, x_step: _Number, y_step: _Number, src_stride: _Number, dst_stride: _Number) -> None:
    """Copy scales of L1 to the right operand.

    text: pto.load_cbuf_to_cb_mx.

    src: ptr, read
    dst: ptr, written
    x_start: scalar, read
    y_start: scalar, read
    x_step: scalar, read
    y_step: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read

    Pipe: PIPE_MTE1.
    Rules: CUB-01, CUB-02, CUB-03, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def load_cbuf_to_cb_s4(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m_start: _Number, k_start: _Number, m_step: _Number, k_step: _Number, src_stride: _Number, dst_stride: _Number, transpose: _Number) -> None:
    """Copy fractals of 4-bit elements of L1 to the right operand.

    text: pto.load_cbuf_to_cb_s4.

    src: ptr, read
    dst: ptr, written
    m_start: scalar, read
    k_start: scalar, read
    m_step: scalar, read
    k_step: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read
    transpose: scalar, read

    Pipe: PIPE_MTE1.
    Rules: CUB-01, CUB-02, CUB-05, CUB-03, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def mad(lhs: Pointer | GlobalTensor | Partition, rhs: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, k: _Number, unit_flag: str | None = ..., disable_gemv: str | None = ..., tf32_mode: str | None = ..., saturation: str | None = ..., n_dir: str | None = ...) -> None:
    """Product of two matrices.

    text: pto.mad.

    lhs: ptr, read
    rhs: ptr, read
    dst: ptr, written
    m: scalar, read
    n: scalar, read
    k: scalar, read
    unit_flag: str, default None
    disable_gemv: str, default None
    tf32_mode: str, default None
    saturation: str, default None
    n_dir: str, default None

    Pipe: PIPE_M.
    Rules: CUB-01, CUB-08, CUB-09, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def mad_acc(lhs: Pointer | GlobalTensor | Partition, rhs: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, k: _Number, unit_flag: str | None = ..., disable_gemv: str | None = ..., tf32_mode: str | None = ..., saturation: str | None = ..., n_dir: str | None = ...) -> None:
    """Product of two matrices, added to the accumulator.

    text: pto.mad_acc.

    lhs: ptr, read
    rhs: ptr, read
    dst: ptr, read and written
    m: scalar, read
    n: scalar, read
    k: scalar, read
    unit_flag: str, default None
    disable_gemv: str, default None
    tf32_mode: str, default None
    saturation: str, default None
    n_dir: str, default None

    Pipe: PIPE_M.
    Rules: CUB-01, CUB-08, CUB-09, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def mad_bias(lhs: Pointer | GlobalTensor | Partition, rhs: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, bias: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, k: _Number, unit_flag: str | None = ..., disable_gemv: str | None = ..., tf32_mode: str | None = ..., saturation: str | None = ..., n_dir: str | None = ...) -> None:
    """Product of two matrices, plus a bias.

    text: pto.mad_bias.

    lhs: ptr, read
    rhs: ptr, read
    dst: ptr, written
    bias: ptr, read
    m: scalar, read
    n: scalar, read
    k: scalar, read
    unit_flag: str, default None
    disable_gemv: str, default None
    tf32_mode: str, default None
    saturation: str, default None
    n_dir: str, default None

    Pipe: PIPE_M.
    Rules: CUB-01, CUB-08, CUB-09, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def mad_bias_raw(lhs: Pointer | GlobalTensor | Partition, rhs: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, bias: Pointer | GlobalTensor | Partition, xt: _Number) -> None:
    """Product of two matrices, plus a bias, with the fields of the hardware.

    text: pto.mad_bias_raw.

    lhs: ptr, read
    rhs: ptr, read
    dst: ptr, read and written
    bias: ptr, read
    xt: scalar, read

    Pipe: PIPE_M.
    Rules: CUB-01, CUB-08, CUB-09.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def mad_mx(lhs: Pointer | GlobalTensor | Partition, rhs: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, k: _Number, unit_flag: str | None = ..., disable_gemv: str | None = ..., tf32_mode: str | None = ..., saturation: str | None = ..., n_dir: str | None = ...) -> None:
    """Product of two block-scaled matrices.

    text: pto.mad_mx.

    lhs: ptr, read
    rhs: ptr, read
    dst: ptr, written
    m: scalar, read
    n: scalar, read
    k: scalar, read
    unit_flag: str, default None
    disable_gemv: str, default None
    tf32_mode: str, default None
    saturation: str, default None
    n_dir: str, default None

    Pipe: PIPE_M.
    Rules: CUB-01, CUB-08, CUB-09, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def mad_mx_acc(lhs: Pointer | GlobalTensor | Partition, rhs: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, k: _Number, unit_flag: str | None = ..., disable_gemv: str | None = ..., tf32_mode: str | None = ..., saturation: str | None = ..., n_dir: str | None = ...) -> None:
    """Product of two block-scaled matrices, added to the accumulator.

    text: pto.mad_mx_acc.

    lhs: ptr, read
    rhs: ptr, read
    dst: ptr, read and written
    m: scalar, read
    n: scalar, read
    k: scalar, read
    unit_flag: str, default None
    disable_gemv: str, default None
    tf32_mode: str, default None
    saturation: str, default None
    n_dir: str, default None

    Pipe: PIPE_M.
    Rules: CUB-01, CUB-08, CUB-09, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def mad_mx_bias(lhs: Pointer | GlobalTensor | Partition, rhs: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, bias: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, k: _Number, unit_flag: str | None = ..., disable_gemv: str | None = ..., tf32_mode: str | None = ..., saturation: str | None = ..., n_dir: str | None = ...) -> None:
    """Product of two block-scaled matrices, plus a bias.

    text: pto.mad_mx_bias.

    lhs: ptr, read
    rhs: ptr, read
    dst: ptr, written
    bias: ptr, read
    m: scalar, read
    n: scalar, read
    k: scalar, read
    unit_flag: str, default None
    disable_gemv: str, default None
    tf32_mode: str, default None
    saturation: str, default None
    n_dir: str, default None

    Pipe: PIPE_M.
    Rules: CUB-01, CUB-08, CUB-09, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def mad_mx_bias_raw(lhs: Pointer | GlobalTensor | Partition, rhs: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, bias: Pointer | GlobalTensor | Partition, xt: _Number) -> None:
    """Product of two block-scaled matrices, plus a bias, with the fields of the hardware.

    text: pto.mad_mx_bias_raw.

    lhs: ptr, read
    rhs: ptr, read
    dst: ptr, read and written
    bias: ptr, read
    xt: scalar, read

    Pipe: PIPE_M.
    Rules: CUB-01, CUB-08, CUB-09.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def mad_mx_raw(lhs: Pointer | GlobalTensor | Partition, rhs: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, xt: _Number) -> None:
    """Product of two block-scaled matrices, with the fields of the hardware.

    text: pto.mad_mx_raw.

    lhs: ptr, read
    rhs: ptr, read
    dst: ptr, read and written
    xt: scalar, read

    Pipe: PIPE_M.
    Rules: CUB-01, CUB-08, CUB-09.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def mad_raw(lhs: Pointer | GlobalTensor | Partition, rhs: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, xt: _Number) -> None:
    """Product of two matrices, with the fields of the hardware.

    text: pto.mad_raw.

    lhs: ptr, read
    rhs: ptr, read
    dst: ptr, read and written
    xt: scalar, read

    Pipe: PIPE_M.
    Rules: CUB-01, CUB-08, CUB-09.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def mem_bar(kind: Literal['VV_ALL', 'VST_VLD', 'VLD_VST', 'VST_VST', 'VS_ALL', 'VST_LD', 'VLD_ST', 'VST_ST', 'SV_ALL', 'ST_VLD', 'LD_VST', 'ST_VST', 'SS_ALL', 'ST_LD', 'LD_ST', 'ST_ST']) -> RecordEvent:
    """Order loads and stores of vector registers inside one vector scope; tile instructions need none.

    C++: mem_bar(kind); text: pto.mem_bar.

    kind: str, default None

    Pipe: PIPE_V.
    Source: memory-model-and-sync 5; assembly 8.
    """

def mte_gm_l1(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, len_burst: _Number, n_burst: _Number, src_stride: _Number, dst_stride: _Number, *loops: _Number | Sequence[_Number]) -> None:
    """Copy rows of global memory into L1.

    text: pto.mte_gm_l1.

    src: ptr, read
    dst: ptr, written
    len_burst: scalar, read
    n_burst: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read
    loops: scalar, read, optional

    Pipe: PIPE_MTE2.
    Rules: CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

@overload
def mte_gm_l1_frac(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, shape0: _Number, shape1: _Number, src_stride: _Number, group0: _Number, group1: _Number, group2: _Number, group3: _Number, ctrl: _Number, ctrl_flag: _Number, conversion: str | None = ...) -> None:
    """Copy matrices of global memory into the fractals of L1.

    text: pto.mte_gm_l1_frac.

    src: ptr, read
    dst: ptr, written
    shape0: scalar, read
    shape1: scalar, read
    src_stride: scalar, read
    src_stride2: scalar, read, optional
    group0: scalar, read
    group1: scalar, read
    group2: scalar, read
    group3: scalar, read
    ctrl: scalar, read
    ctrl_flag: scalar, read
    conversion: str, default None

    Pipe: PIPE_MTE2.
    Rules: CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """
@overload
def mte_gm_l1_frac(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, shape0: _Number, shape1: _Number, src_stride: _Number, src_stride2: _Number, group0: _Number, group1: _Number, group2: _Number, group3: _Number, ctrl: _Number, ctrl_flag: _Number, conversion: str | None = ...) -> None: ...

def mte_gm_ub(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, l2_cache_ctl: _Number, len_burst: _Number, n_burst: _Number, src_stride: _Number, dst_stride: _Number, pad_value: _Number = ..., left_padding: _Number = ..., right_padding: _Number = ..., *loops: _Number | Sequence[_Number]) -> None:
    """Copy rows of global memory into the unified buffer, with loops and padding of its own.

    text: pto.mte_gm_ub.

    src: ptr, read
    dst: ptr, written
    l2_cache_ctl: scalar, read
    len_burst: scalar, read
    n_burst: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read
    loops: scalar, read, optional
    pad_value: scalar, read, optional
    left_padding: scalar, read, optional
    right_padding: scalar, read, optional

    Pipe: PIPE_MTE2.
    Rules: PTR-A5-01, DMA-A5-01, DMA-A5-04, DMA-A5-04-LINT, DMA-A5-05, DMA-A5-02, DMA-A5-03, DMA-A5-06, DMA-A5-08, DMA-A5-09.
    Source: vector-path 3.
    """

@overload
def mte_l0c_gm(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sid: _Number, l2_cache_ctl: _Number, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None:
    """Drain the accumulator into global memory.

    text: pto.mte_l0c_gm.

    src: ptr, read
    dst: ptr, written
    m: scalar, read
    n: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read
    sid: scalar, read
    l2_cache_ctl: scalar, read
    quant: scalar, read, optional
    relu: scalar, read, optional
    clip: scalar, read, optional
    layout_stride: scalar, read, optional
    loop_count: scalar, read, optional
    loop_src: scalar, read, optional
    loop_dst: scalar, read, optional
    unit_flag: str, default None
    quant_mode: str, default None
    relu_mode: str, default None
    conversion: str, default None
    saturation: str, default None
    nan: str, default None
    atomic_element: str, default None
    atomic_op: str, default None

    Pipe: PIPE_FIX.
    Rules: CUB-01, CUB-10, CUB-11, CUB-12, CUB-13, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """
@overload
def mte_l0c_gm(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sid: _Number, l2_cache_ctl: _Number, quant: _Number | Pointer, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_gm(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sid: _Number, l2_cache_ctl: _Number, quant: _Number | Pointer, relu: _Number | Pointer, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_gm(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sid: _Number, l2_cache_ctl: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_gm(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sid: _Number, l2_cache_ctl: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, layout_stride: _Number, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_gm(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sid: _Number, l2_cache_ctl: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, layout_stride: _Number, loop_count: _Number, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_gm(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sid: _Number, l2_cache_ctl: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, layout_stride: _Number, loop_count: _Number, loop_src: _Number, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_gm(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sid: _Number, l2_cache_ctl: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, layout_stride: _Number, loop_count: _Number, loop_src: _Number, loop_dst: _Number, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...

@overload
def mte_l0c_l1(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None:
    """Drain the accumulator into L1.

    text: pto.mte_l0c_l1.

    src: ptr, read
    dst: ptr, written
    m: scalar, read
    n: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read
    quant: scalar, read, optional
    relu: scalar, read, optional
    clip: scalar, read, optional
    layout_stride: scalar, read, optional
    loop_count: scalar, read, optional
    loop_src: scalar, read, optional
    loop_dst: scalar, read, optional
    unit_flag: str, default None
    quant_mode: str, default None
    relu_mode: str, default None
    conversion: str, default None
    saturation: str, default None
    nan: str, default None
    atomic_element: str, default None
    atomic_op: str, default None

    Pipe: PIPE_FIX.
    Rules: CUB-01, CUB-10, CUB-11, CUB-12, CUB-13, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """
@overload
def mte_l0c_l1(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, quant: _Number | Pointer, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_l1(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, quant: _Number | Pointer, relu: _Number | Pointer, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_l1(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_l1(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, layout_stride: _Number, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_l1(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, layout_stride: _Number, loop_count: _Number, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_l1(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, layout_stride: _Number, loop_count: _Number, loop_src: _Number, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_l1(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, layout_stride: _Number, loop_count: _Number, loop_src: _Number, loop_dst: _Number, unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...

@overload
def mte_l0c_ub(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, dst_mode: str | None = ..., unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None:
    """Drain the accumulator into the unified buffer.

    text: pto.mte_l0c_ub.

    src: ptr, read
    dst: ptr, written
    m: scalar, read
    n: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read
    sub_core: scalar, read, optional
    quant: scalar, read, optional
    relu: scalar, read, optional
    clip: scalar, read, optional
    layout_stride: scalar, read, optional
    loop_count: scalar, read, optional
    loop_src: scalar, read, optional
    loop_dst: scalar, read, optional
    dst_mode: str, default None
    unit_flag: str, default None
    quant_mode: str, default None
    relu_mode: str, default None
    conversion: str, default None
    saturation: str, default None
    nan: str, default None
    atomic_element: str, default None
    atomic_op: str, default None

    Pipe: PIPE_FIX.
    Rules: CUB-01, CUB-10, CUB-11, CUB-12, CUB-13, CUB-14, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """
@overload
def mte_l0c_ub(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sub_core: _Number, dst_mode: str | None = ..., unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_ub(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sub_core: _Number, quant: _Number | Pointer, dst_mode: str | None = ..., unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_ub(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sub_core: _Number, quant: _Number | Pointer, relu: _Number | Pointer, dst_mode: str | None = ..., unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_ub(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sub_core: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, dst_mode: str | None = ..., unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_ub(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sub_core: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, layout_stride: _Number, dst_mode: str | None = ..., unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_ub(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sub_core: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, layout_stride: _Number, loop_count: _Number, dst_mode: str | None = ..., unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_ub(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sub_core: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, layout_stride: _Number, loop_count: _Number, loop_src: _Number, dst_mode: str | None = ..., unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...
@overload
def mte_l0c_ub(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, n: _Number, src_stride: _Number, dst_stride: _Number, sub_core: _Number, quant: _Number | Pointer, relu: _Number | Pointer, clip: _Number, layout_stride: _Number, loop_count: _Number, loop_src: _Number, loop_dst: _Number, dst_mode: str | None = ..., unit_flag: str | None = ..., quant_mode: Literal['no_convert', 'f32_f16', 'qf322hif8_pre_vec', 'qf322hif8_pre_scalar', 'qf322hif8_pre_hybrid_vec', 'qf322hif8_pre_hybrid_scalar', 'deqs32_int_vec', 'deqs32_int_scalar', 'req8_vec', 'req8_scalar', 'deqf16_vec', 'deqf16_scalar', 'qf322fp8_pre_vec', 'qf322fp8_pre_scalar', 'qf322f32_pre_vec', 'qf322f32_pre_scalar', 'f32_bf16', 'qf162b8_pre_vec', 'qf162b8_pre_scalar', 'qf162s4_pre_vec', 'qf162s4_pre_scalar', 'req4_vec', 'req4_scalar', 'qf322b8_pre_vec', 'qf322b8_pre_scalar', 'qf322s4_pre_vec', 'qf322s4_pre_scalar', 'deqs16_vec', 'deqs16_scalar', 'qf162s16_pre_vec', 'qf162s16_pre_scalar', 'qf322f16_pre_vec', 'qf322f16_pre_scalar', 'qf322bf16_pre_vec', 'qf322bf16_pre_scalar', 'qs322bf16_pre_vec', 'qs322bf16_pre_scalar'] | None = ..., relu_mode: Literal['no_relu', 'normal_relu', 'scalar_relu', 'vector_relu', 'pwl'] | None = ..., conversion: str | None = ..., saturation: str | None = ..., nan: str | None = ..., atomic_element: Literal['f32', 'f16', 'bf16', 's32', 's16', 's8'] | None = ..., atomic_op: str | None = ...) -> None: ...

def mte_l1_bt(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, len_burst: _Number, n_burst: _Number, src_stride: _Number, dst_stride: _Number) -> None:
    """Copy rows of L1 into the bias table.

    text: pto.mte_l1_bt.

    src: ptr, read
    dst: ptr, written
    len_burst: scalar, read
    n_burst: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read

    Pipe: PIPE_MTE1.
    Rules: CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def mte_l1_fb(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, len_burst: _Number, n_burst: _Number, src_stride: _Number, dst_stride: _Number) -> None:
    """Copy rows of L1 into the fix-pipe buffer.

    text: pto.mte_l1_fb.

    src: ptr, read
    dst: ptr, written
    len_burst: scalar, read
    n_burst: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read

    Pipe: PIPE_FIX.
    Rules: CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

@overload
def mte_l1_l0a(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, k: _Number, transpose: bool | None = ...) -> None:
    """Copy the left operand of a product from L1: a shape, and where it begins, or the fields of the hardware.

    text: pto.mte_l1_l0a.

    src: ptr, read
    dst: ptr, written
    m: scalar, read, optional
    k: scalar, read, optional
    start_row: scalar, read, optional
    start_col: scalar, read, optional
    m_start: scalar, read, optional
    k_start: scalar, read, optional
    m_step: scalar, read, optional
    k_step: scalar, read, optional
    src_stride: scalar, read, optional
    dst_stride: scalar, read, optional
    transpose: bool, default None

    Pipe: PIPE_MTE1.
    Rules: CUB-01, CUB-02, CUB-03, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """
@overload
def mte_l1_l0a(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, k: _Number, start_row: _Number, start_col: _Number, transpose: bool | None = ...) -> None: ...
@overload
def mte_l1_l0a(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m_start: _Number, k_start: _Number, m_step: _Number, k_step: _Number, src_stride: _Number, dst_stride: _Number, transpose: bool | None = ...) -> None: ...

@overload
def mte_l1_l0a_mx(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, k: _Number, transpose: bool | None = ...) -> None:
    """Copy scales of the left of a product from L1: a shape, and where it begins, or the fields of the hardware.

    text: pto.mte_l1_l0a_mx.

    src: ptr, read
    dst: ptr, written
    m: scalar, read, optional
    k: scalar, read, optional
    start_row: scalar, read, optional
    start_col: scalar, read, optional
    x_start: scalar, read, optional
    y_start: scalar, read, optional
    x_step: scalar, read, optional
    y_step: scalar, read, optional
    src_stride: scalar, read, optional
    dst_stride: scalar, read, optional
    transpose: bool, default None

    Pipe: PIPE_MTE1.
    Rules: CUB-01, CUB-02, CUB-03, CUB-04, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """
@overload
def mte_l1_l0a_mx(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m: _Number, k: _Number, start_row: _Number, start_col: _Number, transpose: bool | None = ...) -> None: ...
@overload
def mte_l1_l0a_mx(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, x_start: _Number, y_start: _Number, x_step: _Number, y_step: _Number, src_stride: _Number, dst_stride: _Number, transpose: bool | None = ...) -> None: ...

@overload
def mte_l1_l0b(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, k: _Number, n: _Number, transpose: bool | None = ...) -> None:
    """Copy the right operand of a product from L1: a shape, and where it begins, or the fields of the hardware.

    text: pto.mte_l1_l0b.

    src: ptr, read
    dst: ptr, written
    k: scalar, read, optional
    n: scalar, read, optional
    start_row: scalar, read, optional
    start_col: scalar, read, optional
    m_start: scalar, read, optional
    k_start: scalar, read, optional
    m_step: scalar, read, optional
    k_step: scalar, read, optional
    src_stride: scalar, read, optional
    dst_stride: scalar, read, optional
    transpose: bool, default None

    Pipe: PIPE_MTE1.
    Rules: CUB-01, CUB-02, CUB-03, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """
@overload
def mte_l1_l0b(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, k: _Number, n: _Number, start_row: _Number, start_col: _Number, transpose: bool | None = ...) -> None: ...
@overload
def mte_l1_l0b(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, m_start: _Number, k_start: _Number, m_step: _Number, k_step: _Number, src_stride: _Number, dst_stride: _Number, transpose: bool | None = ...) -> None: ...

@overload
def mte_l1_l0b_mx(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, k: _Number, n: _Number, transpose: bool | None = ...) -> None:
    """Copy scales of the right of a product from L1: a shape, and where it begins, or the fields of the hardware.

    text: pto.mte_l1_l0b_mx.

    src: ptr, read
    dst: ptr, written
    k: scalar, read, optional
    n: scalar, read, optional
    start_row: scalar, read, optional
    start_col: scalar, read, optional
    x_start: scalar, read, optional
    y_start: scalar, read, optional
    x_step: scalar, read, optional
    y_step: scalar, read, optional
    src_stride: scalar, read, optional
    dst_stride: scalar, read, optional
    transpose: bool, default None

    Pipe: PIPE_MTE1.
    Rules: CUB-01, CUB-02, CUB-03, CUB-04, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """
@overload
def mte_l1_l0b_mx(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, k: _Number, n: _Number, start_row: _Number, start_col: _Number, transpose: bool | None = ...) -> None: ...
@overload
def mte_l1_l0b_mx(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, x_start: _Number, y_start: _Number, x_step: _Number, y_step: _Number, src_stride: _Number, dst_stride: _Number, transpose: bool | None = ...) -> None: ...

def mte_l1_ub(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, len_burst: _Number, n_burst: _Number, src_stride: _Number, dst_stride: _Number, *loops: _Number | Sequence[_Number]) -> None:
    """Copy rows of L1 into the unified buffer.

    text: pto.mte_l1_ub.

    src: ptr, read
    dst: ptr, written
    len_burst: scalar, read
    n_burst: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read
    loops: scalar, read, optional

    Pipe: PIPE_MTE1.
    Rules: CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

@overload
def mte_ub_gm(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, len_burst: _Number, n_burst: _Number, src_stride: _Number, dst_stride: _Number, *loops: _Number | Sequence[_Number]) -> None:
    """Copy rows of the unified buffer to global memory, with loops of its own.

    text: pto.mte_ub_gm.

    src: ptr, read
    dst: ptr, written
    len_burst: scalar, read
    n_burst: scalar, read
    src_stride: scalar, read
    dst_stride: scalar, read
    l2_cache_ctl: scalar, read, optional
    loops: scalar, read, optional

    Pipe: PIPE_MTE3.
    Rules: PTR-A5-01, DMA-A5-01, DMA-A5-04, DMA-A5-04-LINT, DMA-A5-05, DMA-A5-02, DMA-A5-03.
    Source: vector-path 3.
    """
@overload
def mte_ub_gm(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, len_burst: _Number, n_burst: _Number, src_stride: _Number, dst_stride: _Number, l2_cache_ctl: _Number, *loops: _Number | Sequence[_Number]) -> None: ...

def mte_ub_l1(src: Pointer | GlobalTensor | Partition, dst: Pointer, len_burst: _Number, n_burst: _Number, src_gap: _Number, dst_gap: _Number) -> None:
    """Copy rows of the unified buffer to L1; length and gaps in blocks of 32 bytes.

    text: pto.mte_ub_l1.

    src: ptr, read
    dst: ptr, written
    len_burst: scalar, read
    n_burst: scalar, read
    src_gap: scalar, read
    dst_gap: scalar, read

    Pipe: PIPE_MTE3.
    Rules: PTR-A5-01, DMA-A5-01, DMA-A5-05, DMA-A5-03.
    Source: vector-path 3.
    """

def mte_ub_ub(src: Pointer | GlobalTensor | Partition, dst: Pointer | GlobalTensor | Partition, len_burst: _Number, n_burst: _Number, src_gap: _Number, dst_gap: _Number) -> None:
    """Copy rows within the unified buffer; length and gaps in blocks of 32 bytes.

    text: pto.mte_ub_ub.

    src: ptr, read
    dst: ptr, written
    len_burst: scalar, read
    n_burst: scalar, read
    src_gap: scalar, read
    dst_gap: scalar, read

    Pipe: PIPE_V.
    Rules: PTR-A5-01, DMA-A5-01, DMA-A5-05, DMA-A5-03, DMA-A5-07.
    Source: vector-path 3.
    """

def pand(src0: Predicate, src1: Predicate, gate: Predicate) -> Predicate:
    """dst = src0 & src1 where gate is on

    text: pto.pand.

    src0: mask, read
    src1: mask, read
    gate: mask, read
    result dst: mask

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: vector-path 5.
    """

def pbitcast(src: Predicate) -> Predicate:
    """dst = the bits of src with another granularity

    text: pto.pbitcast.

    src: mask, read
    result dst: mask

    Pipe: PIPE_V.
    Source: vector-path 5.
    """

def pdintlv_b16(src0: Predicate, src1: Predicate) -> tuple[Predicate, Predicate]:
    """lo, hi = the even and the odd 16-bit lanes of src0 followed by src1

    text: pto.pdintlv_b16.

    src0: mask, read
    src1: mask, read
    result lo: mask
    result hi: mask

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: vector-path 5.
    """

def pdintlv_b32(src0: Predicate, src1: Predicate) -> tuple[Predicate, Predicate]:
    """lo, hi = the even and the odd 32-bit lanes of src0 followed by src1

    text: pto.pdintlv_b32.

    src0: mask, read
    src1: mask, read
    result lo: mask
    result hi: mask

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: vector-path 5.
    """

def pdintlv_b8(src0: Predicate, src1: Predicate) -> tuple[Predicate, Predicate]:
    """lo, hi = the even and the odd 8-bit lanes of src0 followed by src1

    text: pto.pdintlv_b8.

    src0: mask, read
    src1: mask, read
    result lo: mask
    result hi: mask

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: vector-path 5.
    """

def pge_b16(pattern: Literal['PAT_ALL', 'PAT_ALLF', 'PAT_VL1', 'PAT_VL2', 'PAT_VL3', 'PAT_VL4', 'PAT_VL8', 'PAT_VL16', 'PAT_VL32', 'PAT_VL64', 'PAT_VL128', 'PAT_H', 'PAT_Q', 'PAT_M3', 'PAT_M4']) -> Predicate:
    """A predicate of 16-bit lanes after a pattern.

    text: pto.pge_b16.

    result dst: mask
    pattern: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, PRD-A5-01, PRD-A5-02.
    Source: vector-path 5.
    """

def pge_b32(pattern: Literal['PAT_ALL', 'PAT_ALLF', 'PAT_VL1', 'PAT_VL2', 'PAT_VL3', 'PAT_VL4', 'PAT_VL8', 'PAT_VL16', 'PAT_VL32', 'PAT_VL64', 'PAT_VL128', 'PAT_H', 'PAT_Q', 'PAT_M3', 'PAT_M4']) -> Predicate:
    """A predicate of 32-bit lanes after a pattern.

    text: pto.pge_b32.

    result dst: mask
    pattern: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, PRD-A5-01, PRD-A5-02.
    Source: vector-path 5.
    """

def pge_b8(pattern: Literal['PAT_ALL', 'PAT_ALLF', 'PAT_VL1', 'PAT_VL2', 'PAT_VL3', 'PAT_VL4', 'PAT_VL8', 'PAT_VL16', 'PAT_VL32', 'PAT_VL64', 'PAT_VL128', 'PAT_H', 'PAT_Q', 'PAT_M3', 'PAT_M4']) -> Predicate:
    """A predicate of 8-bit lanes after a pattern.

    text: pto.pge_b8.

    result dst: mask
    pattern: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, PRD-A5-01, PRD-A5-02.
    Source: vector-path 5.
    """

def pintlv_b16(src0: Predicate, src1: Predicate) -> tuple[Predicate, Predicate]:
    """lo, hi = the 16-bit lanes of src0 and src1, interleaved

    text: pto.pintlv_b16.

    src0: mask, read
    src1: mask, read
    result lo: mask
    result hi: mask

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: vector-path 5.
    """

def pintlv_b32(src0: Predicate, src1: Predicate) -> tuple[Predicate, Predicate]:
    """lo, hi = the 32-bit lanes of src0 and src1, interleaved

    text: pto.pintlv_b32.

    src0: mask, read
    src1: mask, read
    result lo: mask
    result hi: mask

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: vector-path 5.
    """

def pintlv_b8(src0: Predicate, src1: Predicate) -> tuple[Predicate, Predicate]:
    """lo, hi = the 8-bit lanes of src0 and src1, interleaved

    text: pto.pintlv_b8.

    src0: mask, read
    src1: mask, read
    result lo: mask
    result hi: mask

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: vector-path 5.
    """

def pipe_barrier(pipe: _Pipe) -> RecordEvent:
    """Later work of a pipe starts after all its earlier work; PIPE_ALL drains every pipe.

    C++: pipe_barrier(pipe); text: pto.barrier.

    pipe: Pipe, default None

    Pipe: depends on operands and target.
    Source: memory-model-and-sync 5; assembly 8.
    """

def pld(src: Pointer | GlobalTensor | Partition, offset: _Number = ..., units: _Number = ..., dist: Literal['NORM', 'US', 'DS'] = ...) -> Predicate:
    """dst = a predicate in memory, at an offset in bytes, or in units of 8 bytes.

    text: pto.pld.

    src: ptr, read
    offset: scalar, read, optional
    units: scalar, read, optional
    result dst: mask
    dist: str, default NORM

    Pipe: PIPE_V.
    Rules: PTR-A5-01, PRD-A5-01.
    Source: vector-path 5.
    """

def pldi(src: Pointer | GlobalTensor | Partition, offset: _Number = ..., units: _Number = ..., dist: Literal['NORM', 'US', 'DS'] = ...) -> Predicate:
    """dst = a predicate in memory, at a constant offset in units of 16 or 32 bytes.

    text: pto.pldi.

    src: ptr, read
    offset: scalar, read, optional
    units: scalar, read, optional
    result dst: mask
    dist: str, default NORM

    Pipe: PIPE_V.
    Rules: PTR-A5-01, PRD-A5-01, PRD-A5-04, MIC-06, MIC-07.
    Source: vector-path 5.
    """

def plds(src: Pointer | GlobalTensor | Partition, offset: _Number = ..., units: _Number = ..., dist: Literal['NORM', 'US', 'DS'] = ...) -> Predicate:
    """dst = a predicate in memory, at an offset in bytes.

    text: pto.plds.

    src: ptr, read
    offset: scalar, read, optional
    units: scalar, read, optional
    result dst: mask
    dist: str, default NORM

    Pipe: PIPE_V.
    Rules: PTR-A5-01, PRD-A5-01, MIC-06, MIC-07.
    Source: vector-path 5.
    """

def plt_b16(count: _Number) -> tuple[Predicate, Any]:
    """A predicate whose first lanes of 16 bits are active, as many as the count says, and what is left of it.

    text: pto.plt_b16.

    count: scalar, read
    result dst: mask
    result rest: scalar

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: vector-path 5.
    """

def plt_b32(count: _Number) -> tuple[Predicate, Any]:
    """A predicate whose first lanes of 32 bits are active, as many as the count says, and what is left of it.

    text: pto.plt_b32.

    count: scalar, read
    result dst: mask
    result rest: scalar

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: vector-path 5.
    """

def plt_b8(count: _Number) -> tuple[Predicate, Any]:
    """A predicate whose first lanes of 8 bits are active, as many as the count says, and what is left of it.

    text: pto.plt_b8.

    count: scalar, read
    result dst: mask
    result rest: scalar

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: vector-path 5.
    """

def pltm_b16(loop: _Number, bound: _Number) -> Predicate:
    """A predicate of 16-bit lanes that are below a bound, after so many whole registers.

    text: pto.pltm_b16.

    loop: scalar, read
    bound: scalar, read
    result dst: mask

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: PTOAS e32488c9, micro-isa 5.
    """

def pltm_b32(loop: _Number, bound: _Number) -> Predicate:
    """A predicate of 32-bit lanes that are below a bound, after so many whole registers.

    text: pto.pltm_b32.

    loop: scalar, read
    bound: scalar, read
    result dst: mask

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: PTOAS e32488c9, micro-isa 5.
    """

def pltm_b8(loop: _Number, bound: _Number) -> Predicate:
    """A predicate of 8-bit lanes that are below a bound, after so many whole registers.

    text: pto.pltm_b8.

    loop: scalar, read
    bound: scalar, read
    result dst: mask

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: PTOAS e32488c9, micro-isa 5.
    """

def pnot(src: Predicate, gate: Predicate) -> Predicate:
    """dst = ~src where gate is on

    text: pto.pnot.

    src: mask, read
    gate: mask, read
    result dst: mask

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: vector-path 5.
    """

def por(src0: Predicate, src1: Predicate, gate: Predicate) -> Predicate:
    """dst = src0 | src1 where gate is on

    text: pto.por.

    src0: mask, read
    src1: mask, read
    gate: mask, read
    result dst: mask

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: vector-path 5.
    """

def ppack(src: Predicate, part: Literal['LOWER', 'HIGHER'] | None = ...) -> Predicate:
    """dst = every second bit of src, in one half; 0 in the other

    text: pto.ppack.

    src: mask, read
    result dst: mask
    part: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, PRD-A5-01.
    Source: vector-path 5.
    """

def prefetch_wait(session: int, event: int) -> RecordEvent:
    """Wait for an asynchronous prefetch and those before it in its session.

    C++: prefetch_wait(session, event); text: pto.prefetch_wait.

    session: int, default None
    event: int, default None

    Pipe: PIPE_S.
    Source: memory-model-and-sync 5.5.
    """

def psel(src0: Predicate, src1: Predicate, select: Predicate, gate: Predicate = ...) -> Predicate:
    """dst = select ? src0 : src1, where a gate is on

    text: pto.psel.

    src0: mask, read
    src1: mask, read
    select: mask, read
    gate: mask, read, optional
    result dst: mask

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: vector-path 5.
    """

def pset_b16(pattern: Literal['PAT_ALL', 'PAT_ALLF', 'PAT_VL1', 'PAT_VL2', 'PAT_VL3', 'PAT_VL4', 'PAT_VL8', 'PAT_VL16', 'PAT_VL32', 'PAT_VL64', 'PAT_VL128', 'PAT_H', 'PAT_Q', 'PAT_M3', 'PAT_M4']) -> Predicate:
    """A predicate of 16-bit lanes after a pattern.

    text: pto.pset_b16.

    result dst: mask
    pattern: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, PRD-A5-01, PRD-A5-02.
    Source: vector-path 5.
    """

def pset_b32(pattern: Literal['PAT_ALL', 'PAT_ALLF', 'PAT_VL1', 'PAT_VL2', 'PAT_VL3', 'PAT_VL4', 'PAT_VL8', 'PAT_VL16', 'PAT_VL32', 'PAT_VL64', 'PAT_VL128', 'PAT_H', 'PAT_Q', 'PAT_M3', 'PAT_M4']) -> Predicate:
    """A predicate of 32-bit lanes after a pattern.

    text: pto.pset_b32.

    result dst: mask
    pattern: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, PRD-A5-01, PRD-A5-02.
    Source: vector-path 5.
    """

def pset_b8(pattern: Literal['PAT_ALL', 'PAT_ALLF', 'PAT_VL1', 'PAT_VL2', 'PAT_VL3', 'PAT_VL4', 'PAT_VL8', 'PAT_VL16', 'PAT_VL32', 'PAT_VL64', 'PAT_VL128', 'PAT_H', 'PAT_Q', 'PAT_M3', 'PAT_M4']) -> Predicate:
    """A predicate of 8-bit lanes after a pattern.

    text: pto.pset_b8.

    result dst: mask
    pattern: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, PRD-A5-01, PRD-A5-02.
    Source: vector-path 5.
    """

def pst(value: Predicate, dst: Pointer | GlobalTensor | Partition, offset: _Number = ..., units: _Number = ..., dist: Literal['NORM', 'PK'] = ...) -> None:
    """Store a predicate, at an offset in bytes, or in units of 8 bytes.

    text: pto.pst.

    value: mask, read
    dst: ptr, written
    offset: scalar, read, optional
    units: scalar, read, optional
    dist: str, default NORM

    Pipe: PIPE_V.
    Rules: PTR-A5-01, PRD-A5-01, VEC-A5-08.
    Source: vector-path 5.
    """

def psti(value: Predicate, dst: Pointer | GlobalTensor | Partition, offset: _Number = ..., units: _Number = ..., dist: Literal['NORM', 'PK'] = ...) -> None:
    """Store a predicate, at a constant offset in units of 16 or 32 bytes.

    text: pto.psti.

    value: mask, read
    dst: ptr, written
    offset: scalar, read, optional
    units: scalar, read, optional
    dist: str, default NORM

    Pipe: PIPE_V.
    Rules: PTR-A5-01, PRD-A5-01, VEC-A5-08, PRD-A5-04, MIC-06, MIC-07.
    Source: vector-path 5.
    """

def psts(value: Predicate, dst: Pointer | GlobalTensor | Partition, offset: _Number = ..., units: _Number = ..., dist: Literal['NORM', 'PK'] = ...) -> None:
    """Store a predicate, at an offset in bytes.

    text: pto.psts.

    value: mask, read
    dst: ptr, written
    offset: scalar, read, optional
    units: scalar, read, optional
    dist: str, default NORM

    Pipe: PIPE_V.
    Rules: PTR-A5-01, PRD-A5-01, VEC-A5-08, MIC-06, MIC-07.
    Source: vector-path 5.
    """

def pstu(align: AlignState, value: Predicate, base: Pointer | GlobalTensor | Partition) -> tuple[AlignState, Pointer]:
    """Append a predicate to a stream at a pointer, one bit for each lane; the pointer after it.

    text: pto.pstu.

    align: align, read
    value: mask, read
    base: ptr, written
    result next: align
    result end: ptr

    Pipe: PIPE_V.
    Rules: PTR-A5-01, PRD-A5-05, VEC-A5-08, MIC-06, MIC-07.
    Source: vector-path 5.
    """

def punpack(src: Predicate, part: Literal['LOWER', 'HIGHER'] | None = ...) -> Predicate:
    """dst = the bits of one half of src, each followed by a 0

    text: pto.punpack.

    src: mask, read
    result dst: mask
    part: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, PRD-A5-01.
    Source: vector-path 5.
    """

def pxor(src0: Predicate, src1: Predicate, gate: Predicate) -> Predicate:
    """dst = src0 ^ src1 where gate is on

    text: pto.pxor.

    src0: mask, read
    src1: mask, read
    gate: mask, read
    result dst: mask

    Pipe: PIPE_V.
    Rules: PRD-A5-02.
    Source: vector-path 5.
    """

def raw_fill_l1(dst: Pointer | GlobalTensor | Partition, dst_addr: _Number, value: _Number, repeat_times: _Number, block_num: _Number, dst_gap: _Number, fill_word_bits: int | None = ...) -> None:
    """Fill blocks of L1 with a word.

    text: pto.raw_fill_l1.

    dst: ptr, written
    dst_addr: scalar, read
    value: scalar, read
    repeat_times: scalar, read
    block_num: scalar, read
    dst_gap: scalar, read
    fill_word_bits: int, default None

    Pipe: PIPE_MTE2.
    Rules: CUB-01, CUB-06, CUB-03, CUB-07, CUB-16, CUB-15.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def record_event(src_op: str, dst_op: str, event_id: int = ...) -> RecordEvent:
    """set_flag between the pipes of two operation classes.

    C++: record_event(src_op, dst_op, [event_id]); text: pto.record_event.

    src_op: str, default None
    dst_op: str, default None
    event_id: int, default 0

    Pipe: depends on operands and target.
    Rules: EV-2, FLAG-RANGE, FLAG-PIPE, PIPE-TAG.
    Source: memory-model-and-sync 5; assembly 8.
    """

def rls_buf(op: str, id: int, mode: int | None = ...) -> RecordEvent:
    """Give a buffer token back when the pipe's earlier work is done.

    C++: rls_buf(op, id, [mode]); text: pto.rls_buf.

    op: str, default None
    id: int, default None
    mode: int, default None

    Pipe: depends on operands and target.
    Rules: BF-1.
    Source: memory-model-and-sync 5; assembly 8.
    """

def rls_buf_dyn(buf: _Number, *more: RecordEvent | str | int, op: str | None = ..., mode: int | None = ...) -> RecordEvent:
    """Give back a buffer token whose number is a value.

    C++: rls_buf_dyn(buf); text: pto.rls_buf_dyn.

    buf: scalar, read
    op: str, default None
    mode: int, default None

    Pipe: depends on operands and target.
    Source: memory-model-and-sync 5; assembly 8.
    """

def sbitset0(ctrl: _Number, bit: _Number) -> Scalar:
    """A number with one bit less.

    text: pto.sbitset0.

    ctrl: scalar, read
    bit: scalar, read
    result value: scalar

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def sbitset1(ctrl: _Number, bit: _Number) -> Scalar:
    """A number with one more bit set.

    text: pto.sbitset1.

    ctrl: scalar, read
    bit: scalar, read
    result value: scalar

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_atomic_add() -> None:
    """How later stores are combined with memory: add.

    text: pto.set_atomic_add.


    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_atomic_bf16() -> None:
    """How later stores are combined with memory: bf16.

    text: pto.set_atomic_bf16.


    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_atomic_f16() -> None:
    """How later stores are combined with memory: f16.

    text: pto.set_atomic_f16.


    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_atomic_f32() -> None:
    """How later stores are combined with memory: f32.

    text: pto.set_atomic_f32.


    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_atomic_max() -> None:
    """How later stores are combined with memory: max.

    text: pto.set_atomic_max.


    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_atomic_min() -> None:
    """How later stores are combined with memory: min.

    text: pto.set_atomic_min.


    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_atomic_none() -> None:
    """How later stores are combined with memory: none.

    text: pto.set_atomic_none.


    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_atomic_s16() -> None:
    """How later stores are combined with memory: s16.

    text: pto.set_atomic_s16.


    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_atomic_s32() -> None:
    """How later stores are combined with memory: s32.

    text: pto.set_atomic_s32.


    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_atomic_s8() -> None:
    """How later stores are combined with memory: s8.

    text: pto.set_atomic_s8.


    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_channel_para(first: _Number, second: _Number) -> None:
    """Fields of the channels of later drains.

    text: pto.set_channel_para.

    first: scalar, read
    second: scalar, read

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_cross_block(pipe: _Pipe, event_id: _Number, ffts_mode: int | None = ...) -> RecordEvent:
    """Raise a flag between blocks: sync.set by another name.

    C++: set_cross_block([event]); text: pto.set_cross_block.

    event: scalar, read, optional
    pipe: Pipe, default None
    event_id: int, default None
    ffts_mode: int, default None

    Pipe: depends on operands and target.
    Rules: SY-1, XFLAG-MODE, SY-2, SY-3, XFLAG-RANGE, XFLAG-RESERVED, SY-5.
    Source: PTOAS e32488c9, PTOOps.td.
    """

def set_ctrl(ctrl: _Number) -> None:
    """Write the control register.

    text: pto.set_ctrl.

    ctrl: scalar, read

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_ffts(base: Pointer, *more: RecordEvent) -> RecordEvent:
    """Give the address of the flags between cores.

    C++: set_ffts(base); text: pto.set_ffts.

    base: ptr, read

    Pipe: PIPE_S.
    Source: memory-model-and-sync 5; assembly 8.
    """

def set_fix_clip_relu(value: _Number) -> None:
    """The bound of later drains.

    text: pto.set_fix_clip_relu.

    value: scalar, read

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_flag(src_pipe: _Pipe, dst_pipe: _Pipe, event_id: int = ...) -> RecordEvent:
    """Raise a flag when the source pipe's earlier work is done; ids 0..7.

    C++: set_flag(src_pipe, dst_pipe, [event_id]); text: pto.set_flag.

    src_pipe: Pipe, default None
    dst_pipe: Pipe, default None
    event_id: int, default 0

    Pipe: depends on operands and target.
    Rules: FLAG-RANGE, FLAG-PIPE.
    Source: memory-model-and-sync 5; assembly 8.
    """

def set_flag_dyn(event: _Number, *more: RecordEvent | _Pipe, src_pipe: _Pipe | None = ..., dst_pipe: _Pipe | None = ...) -> RecordEvent:
    """set_flag with an event id from a register.

    C++: set_flag_dyn(event); text: pto.set_flag_dyn.

    event: scalar, read
    src_pipe: Pipe, default None
    dst_pipe: Pipe, default None

    Pipe: depends on operands and target.
    Rules: FLAG-RANGE, FLAG-PIPE.
    Source: memory-model-and-sync 5; assembly 8.
    """

def set_fpc(value: _Number) -> None:
    """The place of the tables of later drains.

    text: pto.set_fpc.

    value: scalar, read

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_intra_block(pipe: _Pipe, event_id: _Number, ffts_mode: int | None = ...) -> RecordEvent:
    """Raise a flag between the cores of a block: sync.set by another name.

    C++: set_intra_block([event]); text: pto.set_intra_block.

    event: scalar, read, optional
    pipe: Pipe, default None
    event_id: int, default None
    ffts_mode: int, default None

    Pipe: depends on operands and target.
    Rules: SY-1, XFLAG-MODE, SY-2, SY-3, XFLAG-RANGE, XFLAG-RESERVED, SY-5.
    Source: PTOAS e32488c9, PTOOps.td.
    """

def set_loop1_stride_outtol1(value: _Number) -> None:
    """Strides of loop 1 around later copies into L1.

    text: pto.set_loop1_stride_outtol1.

    value: scalar, read

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_loop1_stride_outtoub(src_stride: _Number, dst_stride: _Number = ...) -> None:
    """Strides of loop 1 around later copies from global memory, in bytes; one operand: both, packed.

    text: pto.set_loop1_stride_outtoub.

    src_stride: scalar, read
    dst_stride: scalar, read, optional

    Pipe: PIPE_S.
    Rules: DMA-A5-03.
    Source: vector-path 3.
    """

def set_loop1_stride_ubtoout(src_stride: _Number, dst_stride: _Number = ...) -> None:
    """Strides of loop 1 around later copies to global memory, in bytes; one operand: both, packed.

    text: pto.set_loop1_stride_ubtoout.

    src_stride: scalar, read
    dst_stride: scalar, read, optional

    Pipe: PIPE_S.
    Rules: DMA-A5-03.
    Source: vector-path 3.
    """

def set_loop2_stride_outtol1(value: _Number) -> None:
    """Strides of loop 2 around later copies into L1.

    text: pto.set_loop2_stride_outtol1.

    value: scalar, read

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_loop2_stride_outtoub(src_stride: _Number, dst_stride: _Number = ...) -> None:
    """Strides of loop 2 around later copies from global memory, in bytes; one operand: both, packed.

    text: pto.set_loop2_stride_outtoub.

    src_stride: scalar, read
    dst_stride: scalar, read, optional

    Pipe: PIPE_S.
    Rules: DMA-A5-03.
    Source: vector-path 3.
    """

def set_loop2_stride_ubtoout(src_stride: _Number, dst_stride: _Number = ...) -> None:
    """Strides of loop 2 around later copies to global memory, in bytes; one operand: both, packed.

    text: pto.set_loop2_stride_ubtoout.

    src_stride: scalar, read
    dst_stride: scalar, read, optional

    Pipe: PIPE_S.
    Rules: DMA-A5-03.
    Source: vector-path 3.
    """

def set_loop3_para(first: _Number, second: _Number) -> None:
    """Counts and strides of the outer loop of later drains.

    text: pto.set_loop3_para.

    first: scalar, read
    second: scalar, read

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_loop_size_outtol1(value: _Number) -> None:
    """Counts of the loops around later copies into L1.

    text: pto.set_loop_size_outtol1.

    value: scalar, read

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_loop_size_outtoub(loop1: _Number, loop2: _Number = ...) -> None:
    """Counts of the inner and outer loop around later copies from global memory; one operand: both, packed.

    text: pto.set_loop_size_outtoub.

    loop1: scalar, read
    loop2: scalar, read, optional

    Pipe: PIPE_S.
    Rules: DMA-A5-03, DMA-A5-05.
    Source: vector-path 3.
    """

def set_loop_size_ubtoout(loop1: _Number, loop2: _Number = ...) -> None:
    """Counts of the inner and outer loop around later copies to global memory; one operand: both, packed.

    text: pto.set_loop_size_ubtoout.

    loop1: scalar, read
    loop2: scalar, read, optional

    Pipe: PIPE_S.
    Rules: DMA-A5-03, DMA-A5-05.
    Source: vector-path 3.
    """

def set_mov_pad_val(value: _Number) -> None:
    """The value that pads the rows of later copies from global memory.

    text: pto.set_mov_pad_val.

    value: scalar, read

    Pipe: PIPE_S.
    Source: vector-path 3.
    """

def set_mte2_nz_para(value: _Number) -> None:
    """Counts and strides of later copies into fractals.

    text: pto.set_mte2_nz_para.

    value: scalar, read

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_pad_val_outtol1(value: _Number) -> None:
    """The value that pads later copies into L1.

    text: pto.set_pad_val_outtol1.

    value: scalar, read

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_quant_pre(value: _Number) -> None:
    """The scale of later drains.

    text: pto.set_quant_pre.

    value: scalar, read

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_relu_alpha(value: _Number) -> None:
    """The slope of later drains.

    text: pto.set_relu_alpha.

    value: scalar, read

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def set_store_atomic_cfg(value: _Number) -> None:
    """How later stores are combined with memory.

    text: pto.set_store_atomic_cfg.

    value: scalar, read

    Pipe: PIPE_S.
    Source: PTOAS e32488c9, micro-isa 16.
    """

def simt_launch(sizes: _Number | Sequence[_Number], args: _Number | Pointer | Sequence[_Number | Pointer], callee: str | None = ...) -> RecordEvent:
    """Run a function on many threads.

    C++: simt_launch(sizes, args); text: pto.simt_launch.

    sizes: scalar, read
    args: scalar, read and written
    callee: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1.
    Source: PTOAS e32488c9, micro-isa 17.
    """

def sprclr(register: str) -> None:
    """Set a special register to 0.

    text: pto.sprclr.

    register: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, VEC-A5-04.
    Source: vector-path 4.8.
    """

def sprsti(dst: Pointer | GlobalTensor | Partition, offset: _Number = ..., register: str | None = ...) -> None:
    """Store a special register, at a constant offset in words of 4 bytes.

    text: pto.sprsti.

    dst: ptr, written
    offset: scalar, read, optional
    register: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, PTR-A5-01, VEC-A5-04, MIC-06, MIC-07.
    Source: PTOAS e32488c9, micro-isa 3.
    """

def sprsts(dst: Pointer | GlobalTensor | Partition, offset: _Number = ..., register: str | None = ...) -> None:
    """Store a special register, at an offset in bytes.

    text: pto.sprsts.

    dst: ptr, written
    offset: scalar, read, optional
    register: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, PTR-A5-01, VEC-A5-04, MIC-06, MIC-07.
    Source: PTOAS e32488c9, micro-isa 3.
    """

def uvld(src: Pointer | GlobalTensor | Partition, offset: _Number = ...) -> Register:
    """Load a vector register from any element's address.

    text: pto.uvld.

    src: ptr, read
    offset: scalar, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, MIC-07.
    Source: PTOAS e32488c9, micro-isa 3.
    """

def vabs(src: Register, mask: Predicate = ...) -> Register:
    """dst = |src|; the most negative integer stays

    text: pto.vabs.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01.
    Source: vector-path 6.2.
    """

def vadd(src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = src0 + src1

    text: pto.vadd.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03.
    Source: vector-path 6.3.
    """

def vaddc(src0: Register, src1: Register, mask: Predicate = ...) -> tuple[Register, Predicate]:
    """dst = src0 + src1; carry = the unsigned carry out

    text: pto.vaddc.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg
    result carry: mask

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-02.
    Source: vector-path 6.3.
    """

def vaddcs(src0: Register, src1: Register, carry_in: Predicate, mask: Predicate = ...) -> tuple[Register, Predicate]:
    """dst = src0 + src1 + carry_in, with carry

    text: pto.vaddcs.

    src0: vreg, read
    src1: vreg, read
    carry_in: mask, read
    mask: mask, read, optional
    result dst: vreg
    result carry: mask

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-02.
    Source: vector-path 6.4.
    """

def vaddrelu(src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = max(src0 + src1, 0)

    text: pto.vaddrelu.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05.
    Source: vector-path 6.9.
    """

def vaddreluconv(src0: Register, src1: Register, mask: Predicate = ..., *, dtype: DType | None = ...) -> Register:
    """dst = max(src0 + src1, 0) in the narrower type, saturated, in the even part

    text: pto.vaddreluconv.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-05, VEC-A5-06, MIC-01.
    Source: vector-path 6.9.
    """

def vadds(src: Register, scalar: _Number, mask: Predicate = ...) -> Register:
    """dst = src + scalar

    text: pto.vadds.

    src: vreg, read
    scalar: scalar, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03, MIC-04.
    Source: vector-path 6.4.
    """

def vand(src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = src0 & src1; of floats the bits

    text: pto.vand.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-02.
    Source: vector-path 6.3.
    """

def vands(src: Register, scalar: _Number, mask: Predicate = ...) -> Register:
    """dst = src & scalar

    text: pto.vands.

    src: vreg, read
    scalar: scalar, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05.
    Source: vector-path 6.4.
    """

def vaxpy(x: Register, y: Register, alpha: _Number, mask: Predicate = ...) -> Register:
    """dst = alpha * x + y, rounded once

    text: pto.vaxpy.

    x: vreg, read
    y: vreg, read
    alpha: scalar, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-02, MIC-04, MIC-05.
    Source: vector-path 6.9.
    """

def vbcnt(src: Register, mask: Predicate = ...) -> Register:
    """dst = number of bits of src that are 1

    text: pto.vbcnt.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05.
    Source: vector-path 6.2.
    """

def vbitcast(src: Register, *, dtype: DType | None = ...) -> Register:
    """dst = the bytes of src as lanes of another type

    text: pto.vbitcast.

    src: vreg, read
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07.
    Source: vector-path 6.6.
    """

def vbitsort(dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, indices: Pointer | GlobalTensor | Partition, repeat: _Number) -> None:
    """Sort every 32 scores with their indices, from high to low, into records of 8 bytes.

    text: pto.vbitsort.

    dst: ptr, written
    src: ptr, read
    indices: ptr, read
    repeat: scalar, read

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07.
    Source: vector-path 6.9.
    """

def vbr(scalar: _Number, *, dtype: DType | None = ...) -> Register:
    """every lane = scalar

    text: pto.vbr.

    scalar: scalar, read
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, MIC-04.
    Source: vector-path 6.1.
    """

def vcadd(src: Register, mask: Predicate = ..., *, dtype: DType | None = ...) -> Register:
    """dst[0] = sum of the active lanes, in twice the width for 8- and 16-bit integers

    text: pto.vcadd.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-05, VEC-A5-06, MIC-02, MIC-15.
    Source: vector-path 6.7.
    """

def vcbmax(src: Register, mask: Predicate = ...) -> tuple[Register, Predicate]:
    """The maximum of the active lanes in lane 0, and a predicate of the lanes that hold it.

    text: pto.vcbmax.

    src: vreg, read
    mask: mask, read, optional
    result value: vreg
    result found: mask

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-02, MIC-16.
    Source: PTOAS e32488c9, micro-isa 10.
    """

def vcbmin(src: Register, mask: Predicate = ...) -> tuple[Register, Predicate]:
    """The minimum of the active lanes in lane 0, and a predicate of the lanes that hold it.

    text: pto.vcbmin.

    src: vreg, read
    mask: mask, read, optional
    result value: vreg
    result found: mask

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-02, MIC-16.
    Source: PTOAS e32488c9, micro-isa 10.
    """

def vcgadd(src: Register, mask: Predicate = ...) -> Register:
    """dst[g] = sum of group g of 32 bytes

    text: pto.vcgadd.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03, MIC-02.
    Source: vector-path 6.7.
    """

def vcgmax(src: Register, mask: Predicate = ...) -> Register:
    """dst[g] = maximum of group g of 32 bytes

    text: pto.vcgmax.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03, MIC-02.
    Source: vector-path 6.7.
    """

def vcgmin(src: Register, mask: Predicate = ...) -> Register:
    """dst[g] = minimum of group g of 32 bytes

    text: pto.vcgmin.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03, MIC-02.
    Source: vector-path 6.7.
    """

def vci(start: _Number, order: Literal['ASC', 'DESC'] = ..., *, dtype: DType | None = ...) -> Register:
    """dst[i] = start + i; start - i with order DESC

    text: pto.vci.

    start: scalar, read
    result dst: vreg
    order: str, default ASC

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-19, MIC-02, MIC-04.
    Source: vector-path 6.6.
    """

def vcls(src: Register, mask: Predicate = ...) -> Register:
    """dst = leading bits of src equal to its sign bit, without it

    text: pto.vcls.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05.
    Source: vector-path 6.2.
    """

def vcmax(src: Register, mask: Predicate = ...) -> Register:
    """dst[0] = maximum of the active lanes, dst[1] = index of its first occurrence as an integer

    text: pto.vcmax.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01.
    Source: vector-path 6.7.
    """

def vcmin(src: Register, mask: Predicate = ...) -> Register:
    """dst[0] = minimum of the active lanes, dst[1] = index of its first occurrence as an integer

    text: pto.vcmin.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01.
    Source: vector-path 6.7.
    """

def vcmp(src0: Register, src1: Register, seed: Predicate = ..., cmp: Literal['eq', 'ne', 'lt', 'le', 'gt', 'ge'] | None = ...) -> Predicate:
    """dst = src0 cmp src1 in the lanes of the seed mask; with NaN only ne holds

    text: pto.vcmp.

    src0: vreg, read
    src1: vreg, read
    seed: mask, read, optional
    result dst: mask
    cmp: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, VEC-A5-07, VEC-A5-06, VEC-A5-05, PRD-A5-01, MIC-01.
    Source: vector-path 6.5.
    """

def vcmps(src: Register, scalar: _Number, seed: Predicate = ..., cmp: Literal['eq', 'ne', 'lt', 'le', 'gt', 'ge'] | None = ...) -> Predicate:
    """dst = src cmp scalar in the lanes of the seed mask; with NaN only ne holds

    text: pto.vcmps.

    src: vreg, read
    scalar: scalar, read
    seed: mask, read, optional
    result dst: mask
    cmp: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, VEC-A5-07, VEC-A5-06, VEC-A5-05, PRD-A5-01, MIC-04.
    Source: vector-path 6.5.
    """

def vcpadd(src: Register, mask: Predicate = ..., mode: Literal['PAIR', 'PREFIX'] = ...) -> Register:
    """dst[i] = src[2i] + src[2i+1]; the sums of the lanes 0..i with mode PREFIX

    text: pto.vcpadd.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg
    mode: str, default PAIR

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, PRD-A5-01, MIC-01, MIC-03, MIC-02.
    Source: vector-path 6.7.
    """

def vcvt(src: Register, mask: Predicate = ..., rnd: Literal['R', 'A', 'F', 'C', 'Z', 'O'] = ..., round_mode: Literal['ROUND_R', 'ROUND_A', 'ROUND_F', 'ROUND_C', 'ROUND_Z', 'ROUND_O'] = ..., sat: Literal['SAT', 'NOSAT', 'RS_ENABLE', 'RS_DISABLE'] = ..., part: Literal['EVEN', 'ODD', 'P0', 'P1', 'P2', 'P3', 'PART_EVEN', 'PART_ODD'] = ..., *, dtype: DType | None = ...) -> Register:
    """dst = src converted lane by lane, in one part of the narrower register

    text: pto.vcvt.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg
    rnd: str, default 
    round_mode: str, default 
    sat: str, default 
    part: str, default 

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-05, VEC-A5-16, MIC-08, MIC-05.
    Source: vector-path 6.6.
    """

def vdintlv(src0: Register, src1: Register) -> tuple[Register, Register]:
    """lo, hi = the even and the odd lanes of src0 followed by src1

    text: pto.vdintlv.

    src0: vreg, read
    src1: vreg, read
    result lo: vreg
    result hi: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, MIC-01.
    Source: vector-path 6.8.
    """

def vdintlvv2(src0: Register, src1: Register, part: Literal['LOWER', 'HIGHER'] | None = ...) -> Register:
    """One half of vdintlv: lo, hi = the even and the odd lanes of src0 followed by src1

    text: pto.vdintlvv2.

    src0: vreg, read
    src1: vreg, read
    result dst: vreg
    part: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, VEC-A5-07, VEC-A5-06, VEC-A5-08, PRD-A5-01, MIC-01.
    Source: vector-path 6.8.
    """

def vdiv(src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = src0 / src1; integers toward zero

    text: pto.vdiv.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03.
    Source: vector-path 6.3.
    """

def vdup(src: _Number | Register, mask: Predicate = ..., position: Literal['LOWEST', 'HIGHEST'] = ..., *, dtype: DType | None = ...) -> Register:
    """every active lane = src: a number, or the lowest or highest lane of a register

    text: pto.vdup.

    src: scalar, read
    mask: mask, read, optional
    result dst: vreg
    position: str, default LOWEST

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, PRD-A5-01, MIC-04, MIC-01, MIC-05.
    Source: vector-path 6.1.
    """

def vexp(src: Register, mask: Predicate = ...) -> Register:
    """dst = exp(src)

    text: pto.vexp.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03.
    Source: vector-path 6.2.
    """

def vexpdif(src: Register, max: Register, mask: Predicate = ..., part: Literal['EVEN', 'ODD'] = ..., *, dtype: DType | None = ...) -> Register:
    """dst = e ** (src - max) in f32; of f16 the lanes of one part

    text: pto.vexpdif.

    src: vreg, read
    max: vreg, read
    mask: mask, read, optional
    result dst: vreg
    part: str, default EVEN

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-05, VEC-A5-06, PRD-A5-01, MIC-01, MIC-02, MIC-05.
    Source: vector-path 6.9.
    """

def vgather2(src: Pointer | GlobalTensor | Partition, offsets: Register, mask: Predicate = ..., active_lanes: _Number = ...) -> Register:
    """Load the elements that a register of offsets chooses, bytes as 16 bits, 0 in inactive lanes.

    text: pto.vgather2.

    src: ptr, read
    offsets: vreg, read
    mask: mask, read, optional
    active_lanes: scalar, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, VEC-A5-05, VEC-A5-11, MIC-07, MIC-09, MIC-05.
    Source: vector-path 4.6.
    """

def vgather2_bc(src: Pointer | GlobalTensor | Partition, offsets: Register, mask: Predicate = ..., active_lanes: _Number = ...) -> Register:
    """Load the elements that a register of offsets chooses, bytes as 16 bits, 0 in inactive lanes, as older programs write it.

    text: pto.vgather2_bc.

    src: ptr, read
    offsets: vreg, read
    mask: mask, read, optional
    active_lanes: scalar, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, VEC-A5-05, VEC-A5-11, MIC-07, MIC-02.
    Source: vector-path 4.6.
    """

def vgatherb(src: Pointer | GlobalTensor | Partition, offsets: Register, mask: Predicate = ..., active_lanes: _Number = ...) -> Register:
    """Load 8 blocks of 32 bytes at the byte offsets in the first 8 lanes; lane b of a 32-bit predicate lets block b in.

    text: pto.vgatherb.

    src: ptr, read
    offsets: vreg, read
    mask: mask, read, optional
    active_lanes: scalar, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, VEC-A5-05, VEC-A5-11, MIC-07, MIC-02, MIC-05.
    Source: vector-path 4.6.
    """

def vintlv(src0: Register, src1: Register) -> tuple[Register, Register]:
    """lo, hi = the lanes of src0 and src1, interleaved

    text: pto.vintlv.

    src0: vreg, read
    src1: vreg, read
    result lo: vreg
    result hi: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, MIC-01.
    Source: vector-path 6.8.
    """

def vintlvv2(src0: Register, src1: Register, part: Literal['LOWER', 'HIGHER'] | None = ...) -> Register:
    """One half of vintlv: lo, hi = the lanes of src0 and src1, interleaved

    text: pto.vintlvv2.

    src0: vreg, read
    src1: vreg, read
    result dst: vreg
    part: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, VEC-A5-07, VEC-A5-06, VEC-A5-08, PRD-A5-01, MIC-01.
    Source: vector-path 6.8.
    """

def vldas(src: Pointer | GlobalTensor | Partition) -> AlignState:
    """Begin a stream of unaligned loads at a pointer.

    text: pto.vldas.

    src: ptr, read
    result next: align

    Pipe: PIPE_V.
    Rules: PTR-A5-01, MIC-07.
    Source: vector-path 4.7.
    """

def vlds(src: Pointer | GlobalTensor | Partition, offset: _Number = ..., dist: Literal['NORM', 'BRC_B8', 'BRC_B16', 'BRC_B32', 'US_B8', 'US_B16', 'DS_B8', 'DS_B16', 'UNPK_B8', 'UNPK_B16', 'UNPK_B32', 'UNPK4', 'UNPK4_B8', 'BRC_BLK', 'BLK', 'E2B_B16', 'E2B_B32', 'SPLT2CHN_B8', 'SPLT2CHN_B16', 'SPLT4CHN', 'SPLT4CHN_B8', 'DINTLV_B8', 'DINTLV_B16', 'DINTLV_B32'] = ...) -> Register:
    """Load a vector register, distributing the bytes of memory as the mode says.

    text: pto.vlds.

    src: ptr, read
    offset: scalar, read, optional
    result dst: vreg
    dist: str, default NORM

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, VEC-A5-04, MIC-06, MIC-07.
    Source: vector-path 4.1.
    """

def vlds_post(src: Pointer | GlobalTensor | Partition, step: _Number, dist: Literal['NORM', 'BRC_B8', 'BRC_B16', 'BRC_B32', 'US_B8', 'US_B16', 'DS_B8', 'DS_B16', 'UNPK_B8', 'UNPK_B16', 'UNPK_B32', 'UNPK4', 'UNPK4_B8', 'BRC_BLK', 'BLK', 'E2B_B16', 'E2B_B32', 'SPLT2CHN_B8', 'SPLT2CHN_B16', 'SPLT4CHN', 'SPLT4CHN_B8', 'DINTLV_B8', 'DINTLV_B16', 'DINTLV_B32'] = ...) -> tuple[Register, Pointer]:
    """Load as vlds from the pointer itself; the second result is the pointer after the step in brackets.

    text: pto.vlds_post.

    src: ptr, read
    step: scalar, read
    result dst: vreg
    result end: ptr
    dist: str, default NORM

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, VEC-A5-04.
    Source: vector-path 4.4.
    """

def vldsx2(src: Pointer | GlobalTensor | Partition, offset: _Number = ..., dist: Literal['DINTLV_B8', 'DINTLV_B16', 'DINTLV_B32', 'BDINTLV'] | None = ...) -> tuple[Register, Register]:
    """Load two vector registers with the even and the odd elements, or blocks, of memory.

    text: pto.vldsx2.

    src: ptr, read
    offset: scalar, read, optional
    result low: vreg
    result high: vreg
    dist: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, PTR-A5-01, VEC-A5-07, VEC-A5-06, VEC-A5-04, MIC-01, MIC-06, MIC-07.
    Source: vector-path 4.2.
    """

def vldus(src: Pointer | GlobalTensor | Partition, align: AlignState, increment: _Number = ...) -> tuple[Register, AlignState, Pointer]:
    """Load 256 bytes from any element's address; the third result is the pointer after them, or increment elements on.

    text: pto.vldus.

    src: ptr, read
    align: align, read
    increment: scalar, read, optional
    result dst: vreg
    result next: align
    result end: ptr

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, MIC-06, MIC-07.
    Source: vector-path 4.7.
    """

def vln(src: Register, mask: Predicate = ...) -> Register:
    """dst = ln src

    text: pto.vln.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03.
    Source: vector-path 6.2.
    """

def vlrelu(src: Register, scalar: _Number, mask: Predicate = ...) -> Register:
    """dst = src >= 0 ? src : src * scalar

    text: pto.vlrelu.

    src: vreg, read
    scalar: scalar, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03, MIC-04.
    Source: vector-path 6.4.
    """

def vmadd(acc: Register, src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = src0 * acc + src1, rounded once

    text: pto.vmadd.

    acc: vreg, read
    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-02.
    Source: PTOAS e32488c9, micro-isa 7.
    """

def vmax(src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = max(src0, src1); NaN wins

    text: pto.vmax.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01.
    Source: vector-path 6.3.
    """

def vmaxs(src: Register, scalar: _Number, mask: Predicate = ...) -> Register:
    """dst = max(src, scalar); NaN wins

    text: pto.vmaxs.

    src: vreg, read
    scalar: scalar, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03, MIC-04.
    Source: vector-path 6.4.
    """

def vmin(src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = min(src0, src1); NaN wins

    text: pto.vmin.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01.
    Source: vector-path 6.3.
    """

def vmins(src: Register, scalar: _Number, mask: Predicate = ...) -> Register:
    """dst = min(src, scalar); NaN wins

    text: pto.vmins.

    src: vreg, read
    scalar: scalar, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03, MIC-04.
    Source: vector-path 6.4.
    """

def vmov(src: Register, mask: Predicate = ...) -> Register:
    """dst = src

    text: pto.vmov.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05.
    Source: vector-path 6.2.
    """

def vmrgsort4(dst: Pointer | GlobalTensor | Partition, src0: Pointer | GlobalTensor | Partition, src1: Pointer | GlobalTensor | Partition, src2: Pointer | GlobalTensor | Partition, src3: Pointer | GlobalTensor | Partition, count: _Number, config: _Number) -> None:
    """Merge four lists of records, each sorted from high to low, into one.

    text: pto.vmrgsort4.

    dst: ptr, written
    src0: ptr, read
    src1: ptr, read
    src2: ptr, read
    src3: ptr, read
    count: scalar, read
    config: scalar, read

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07.
    Source: vector-path 6.9.
    """

def vmul(src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = src0 * src1

    text: pto.vmul.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03.
    Source: vector-path 6.3.
    """

def vmula(acc: Register, src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = acc + src0 * src1, rounded once

    text: pto.vmula.

    acc: vreg, read
    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01.
    Source: vector-path 6.9.
    """

def vmulconv(src0: Register, src1: Register, mask: Predicate = ..., *, dtype: DType | None = ...) -> Register:
    """dst = src0 * src1 in i8, saturated, in the even part

    text: pto.vmulconv.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-05, VEC-A5-06, MIC-01.
    Source: vector-path 6.9.
    """

def vmull(src0: Register, src1: Register, mask: Predicate = ...) -> tuple[Register, Register]:
    """lo, hi = low and high 32 bits of src0 * src1

    text: pto.vmull.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result lo: vreg
    result hi: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-02.
    Source: vector-path 6.9.
    """

def vmuls(src: Register, scalar: _Number, mask: Predicate = ...) -> Register:
    """dst = src * scalar

    text: pto.vmuls.

    src: vreg, read
    scalar: scalar, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03, MIC-04.
    Source: vector-path 6.4.
    """

def vmulscvt(src: Register, scalar: _Number, mask: Predicate = ..., rnd: Literal['A', 'ROUND_A'] = ..., part: Literal['EVEN', 'ODD', 'PART_EVEN', 'PART_ODD'] = ..., *, dtype: DType | None = ...) -> Register:
    """dst = src * scalar in f16, rounded once, in one part

    text: pto.vmulscvt.

    src: vreg, read
    scalar: scalar, read
    mask: mask, read, optional
    result dst: vreg
    rnd: str, default A
    part: str, default EVEN

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-05, VEC-A5-06, PRD-A5-01, MIC-02, MIC-05.
    Source: PTOAS e32488c9, micro-isa 13.
    """

def vneg(src: Register, mask: Predicate = ...) -> Register:
    """dst = -src

    text: pto.vneg.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03.
    Source: vector-path 6.2.
    """

def vnot(src: Register, mask: Predicate = ...) -> Register:
    """dst = ~src

    text: pto.vnot.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03.
    Source: vector-path 6.2.
    """

def vor(src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = src0 | src1; of floats the bits

    text: pto.vor.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-02.
    Source: vector-path 6.3.
    """

def vors(src: Register, scalar: _Number, mask: Predicate = ...) -> Register:
    """dst = src | scalar

    text: pto.vors.

    src: vreg, read
    scalar: scalar, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05.
    Source: vector-path 6.4.
    """

def vpack(src0: Register, src1: Register = ..., mode: _Number = ..., part: Literal['LOWER', 'HIGHER'] = ..., *, dtype: DType | None = ...) -> Register:
    """dst = the low halves of the lanes, in one half of the register; of two registers one after the other

    text: pto.vpack.

    src0: vreg, read
    src1: vreg, read, optional
    mode: scalar, read, optional
    result dst: vreg
    part: str, default LOWER

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, PRD-A5-01, MIC-14.
    Source: vector-path 6.8.
    """

def vperm(src: Register, index: Register) -> Register:
    """dst[i] = src[index[i] mod N]

    text: pto.vperm.

    src: vreg, read
    index: vreg, read
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-17.
    Source: vector-path 6.8.
    """

def vprelu(src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = src0 >= 0 ? src0 : src0 * src1

    text: pto.vprelu.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-02.
    Source: vector-path 6.9.
    """

def vrec(src: Register, mask: Predicate = ...) -> Register:
    """dst = 1 / src

    text: pto.vrec.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05.
    Source: vector-path 6.2.
    """

def vrelu(src: Register, mask: Predicate = ...) -> Register:
    """dst = max(src, 0)

    text: pto.vrelu.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03, MIC-02.
    Source: vector-path 6.2.
    """

def vrsqrt(src: Register, mask: Predicate = ...) -> Register:
    """dst = 1 / sqrt src

    text: pto.vrsqrt.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05.
    Source: vector-path 6.2.
    """

def vscatter(value: Register, dst: Pointer | GlobalTensor | Partition, offsets: Register, mask: Predicate = ..., active_lanes: _Number = ...) -> None:
    """Store active lanes to the elements that a register of offsets chooses, of bytes every second one; of two at one place the lowest lane wins.

    text: pto.vscatter.

    value: vreg, read
    dst: ptr, written
    offsets: vreg, read
    mask: mask, read, optional
    active_lanes: scalar, read, optional

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, VEC-A5-05, VEC-A5-11, MIC-07, MIC-10, MIC-05.
    Source: vector-path 4.6.
    """

def vsel(src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = src0 in the active lanes, src1 in the others

    text: pto.vsel.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03.
    Source: vector-path 6.5.
    """

def vselr(src: Register, index: Register) -> Register:
    """dst[i] = src[index[i] mod N]

    text: pto.vselr.

    src: vreg, read
    index: vreg, read
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-17, MIC-01, MIC-13.
    Source: vector-path 6.5.
    """

def vselrv2(src0: Register, src1: Register) -> Register:
    """Select in reversed order, by a predicate that the public sources do not name.

    text: pto.vselrv2.

    src0: vreg, read
    src1: vreg, read
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-08, MIC-01, MIC-13.
    Source: vector-path 6.5.
    """

def vshift(src: Register, amount: _Number) -> Register:
    """dst[i] = src[i - amount], and 0 below that

    text: pto.vshift.

    src: vreg, read
    amount: scalar, read
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06.
    Source: vector-path 6.8.
    """

def vshl(src: Register, count: Register, mask: Predicate = ...) -> Register:
    """dst = src << count

    text: pto.vshl.

    src: vreg, read
    count: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, VEC-A5-14, MIC-01, MIC-03, MIC-02, MIC-11.
    Source: vector-path 6.3.
    """

def vshls(src: Register, count: _Number, mask: Predicate = ...) -> Register:
    """dst = src << count

    text: pto.vshls.

    src: vreg, read
    count: scalar, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, VEC-A5-14, MIC-01, MIC-02, MIC-12.
    Source: vector-path 6.4.
    """

def vshr(src: Register, count: Register, mask: Predicate = ...) -> Register:
    """dst = src >> count, arithmetic if src is signed

    text: pto.vshr.

    src: vreg, read
    count: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, VEC-A5-14, MIC-01, MIC-03, MIC-02, MIC-11.
    Source: vector-path 6.3.
    """

def vshrs(src: Register, count: _Number, mask: Predicate = ...) -> Register:
    """dst = src >> count, arithmetic if src is signed

    text: pto.vshrs.

    src: vreg, read
    count: scalar, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, VEC-A5-14, MIC-01, MIC-02, MIC-12.
    Source: vector-path 6.4.
    """

def vsld(src: Pointer | GlobalTensor | Partition, offset: _Number = ..., stride: Literal['STRIDE_S3_B16', 'STRIDE_S4_B64', 'STRIDE_S8_B32', 'STRIDE_S2_B64'] | None = ...) -> Register:
    """Load elements at a fixed stride; without a stride as vlds does.

    text: pto.vsld.

    src: ptr, read
    offset: scalar, read, optional
    result dst: vreg
    stride: str, default None

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, VEC-A5-04, VEC-A5-09.
    Source: vector-path 4.5.
    """

def vsldb(src: Pointer | GlobalTensor | Partition, block_stride: _Number, repeat_stride: _Number = ..., mask: Predicate = ...) -> Register:
    """Load 8 blocks of 32 bytes at a stride: block b from 32 (repeat stride + b block stride) bytes after the pointer.

    text: pto.vsldb.

    src: ptr, read
    block_stride: scalar, read
    repeat_stride: scalar, read, optional
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, MIC-06, MIC-07.
    Source: vector-path 4.5.
    """

def vslide(src0: Register, src1: Register, amount: _Number) -> Register:
    """dst[i] = src0[i - amount], and below that the end of src1

    text: pto.vslide.

    src0: vreg, read
    src1: vreg, read
    amount: scalar, read
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06.
    Source: vector-path 6.8.
    """

def vsort32(dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, config: _Number) -> None:
    """Sort 32 elements in the unified buffer; its control word is not published.

    text: pto.vsort32.

    dst: ptr, written
    src: ptr, read
    config: scalar, read

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-08.
    Source: vector-path 6.9.
    """

def vsqrt(src: Register, mask: Predicate = ...) -> Register:
    """dst = sqrt src

    text: pto.vsqrt.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03.
    Source: vector-path 6.2.
    """

def vsqz(src: Register, mask: Predicate = ...) -> Register:
    """dst = the active lanes, then zeros; latches their bytes for vstur

    text: pto.vsqz.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03.
    Source: vector-path 6.8.
    """

def vsst(value: Register, dst: Pointer | GlobalTensor | Partition, offset: _Number = ..., stride: Literal['STRIDE_S3_B16', 'STRIDE_S4_B64', 'STRIDE_S8_B32', 'STRIDE_S2_B64'] | None = ...) -> None:
    """Store elements at a fixed stride; without a stride as vsts does with all lanes active.

    text: pto.vsst.

    value: vreg, read
    dst: ptr, written
    offset: scalar, read, optional
    stride: str, default None

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, VEC-A5-04, VEC-A5-09.
    Source: vector-path 4.5.
    """

def vsstb(value: Register, dst: Pointer | GlobalTensor | Partition, block_stride: _Number, repeat_stride: _Number = ..., mask: Predicate = ...) -> None:
    """Store 8 blocks of 32 bytes at a stride.

    text: pto.vsstb.

    value: vreg, read
    dst: ptr, written
    block_stride: scalar, read
    repeat_stride: scalar, read, optional
    mask: mask, read, optional

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, MIC-06, MIC-07.
    Source: vector-path 4.5.
    """

def vsta(align: AlignState, dst: Pointer | GlobalTensor | Partition, offset: _Number = ...) -> None:
    """End a stream of stores at a pointer plus an offset.

    text: pto.vsta.

    align: align, read
    dst: ptr, written
    offset: scalar, read, optional

    Pipe: PIPE_V.
    Rules: PTR-A5-01.
    Source: vector-path 4.8.
    """

def vstar(align: AlignState, dst: Pointer | GlobalTensor | Partition) -> None:
    """End a stream of stores that register AR has placed.

    text: pto.vstar.

    align: align, read
    dst: ptr, written

    Pipe: PIPE_V.
    Rules: PTR-A5-01, MIC-07.
    Source: vector-path 4.8.
    """

def vstas(align: AlignState, dst: Pointer | GlobalTensor | Partition, count: _Number) -> None:
    """End a stream of stores at a pointer plus a number of elements.

    text: pto.vstas.

    align: align, read
    dst: ptr, written
    count: scalar, read

    Pipe: PIPE_V.
    Rules: PTR-A5-01, MIC-06, MIC-07.
    Source: vector-path 4.8.
    """

def vsts(value: Register, dst: Pointer | GlobalTensor | Partition, offset: _Number = ..., mask: Predicate = ..., dist: Literal['NORM', '1PT', 'NORM_B8', 'NORM_B16', 'NORM_B32', '1PT_B8', '1PT_B16', '1PT_B32', 'ONEPT_B8', 'ONEPT_B16', 'ONEPT_B32', 'PK_B16', 'PK_B32', 'PK_B64', 'PK4_B32', 'PK4', 'MRG4CHN_B8', 'MRG2CHN_B8', 'MRG2CHN_B16'] = ...) -> None:
    """Store a vector register, the active lanes of it, packing elements as the mode says.

    text: pto.vsts.

    value: vreg, read
    dst: ptr, written
    offset: scalar, read, optional
    mask: mask, read, optional
    dist: str, default NORM

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, VEC-A5-04, VEC-A5-08, VEC-A5-05, MIC-06, MIC-07, MIC-05.
    Source: vector-path 4.3.
    """

def vsts_post(value: Register, dst: Pointer | GlobalTensor | Partition, step: _Number, mask: Predicate = ..., dist: Literal['NORM', '1PT', 'NORM_B8', 'NORM_B16', 'NORM_B32', '1PT_B8', '1PT_B16', '1PT_B32', 'ONEPT_B8', 'ONEPT_B16', 'ONEPT_B32', 'PK_B16', 'PK_B32', 'PK_B64', 'PK4_B32', 'PK4', 'MRG4CHN_B8', 'MRG2CHN_B8', 'MRG2CHN_B16'] = ...) -> Pointer:
    """Store as vsts at the pointer itself; the result is the pointer after the step in brackets.

    text: pto.vsts_post.

    value: vreg, read
    dst: ptr, written
    step: scalar, read
    mask: mask, read, optional
    result end: ptr
    dist: str, default NORM

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, VEC-A5-04, VEC-A5-08, VEC-A5-05.
    Source: vector-path 4.4.
    """

def vstsx2(low: Register, high: Register, dst: Pointer | GlobalTensor | Partition, offset: _Number = ..., mask: Predicate = ..., dist: Literal['INTLV_B8', 'INTLV_B16', 'INTLV_B32'] | None = ...) -> None:
    """Store two vector registers, their elements in turn; the predicate has no effect.

    text: pto.vstsx2.

    low: vreg, read
    high: vreg, read
    dst: ptr, written
    offset: scalar, read, optional
    mask: mask, read, optional
    dist: str, default None

    Pipe: PIPE_V.
    Rules: ATTR-1, PTR-A5-01, VEC-A5-07, VEC-A5-06, VEC-A5-04, MIC-01, MIC-07.
    Source: vector-path 4.2.
    """

def vstu(align: AlignState, offset: _Number, value: Register, base: Pointer | GlobalTensor | Partition, mode: str = ...) -> tuple[AlignState, Any]:
    """Append a whole register to a stream, at an offset in elements that POST_UPDATE advances.

    text: pto.vstu.

    align: align, read
    offset: scalar, read
    value: vreg, read
    base: ptr, written
    result next: align
    result following: scalar
    mode: str, default POST_UPDATE

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, VEC-A5-04.
    Source: vector-path 4.8.
    """

def vstur(align: AlignState, value: Register, base: Pointer | GlobalTensor | Partition, mode: str = ...) -> AlignState:
    """Append what the last vsqz has counted, at the pointer plus register AR, which POST_UPDATE advances.

    text: pto.vstur.

    align: align, read
    value: vreg, read
    base: ptr, written
    result next: align
    mode: str, default POST_UPDATE

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, VEC-A5-04, MIC-07.
    Source: vector-path 4.8.
    """

def vstus(align: AlignState, count: _Number, value: Register, base: Pointer | GlobalTensor | Partition, mode: str = ...) -> tuple[AlignState, Pointer]:
    """Append the first elements of a register, as many as the count says, to a stream at a pointer.

    text: pto.vstus.

    align: align, read
    count: scalar, read
    value: vreg, read
    base: ptr, written
    result next: align
    result end: ptr
    mode: str, default POST_UPDATE

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-07, VEC-A5-04, MIC-06, MIC-07.
    Source: vector-path 4.8.
    """

def vsub(src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = src0 - src1

    text: pto.vsub.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-03.
    Source: vector-path 6.3.
    """

def vsubc(src0: Register, src1: Register, mask: Predicate = ...) -> tuple[Register, Predicate]:
    """dst = src0 - src1; carry = 1 if nothing was borrowed

    text: pto.vsubc.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg
    result carry: mask

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-02.
    Source: vector-path 6.3.
    """

def vsubcs(src0: Register, src1: Register, carry_in: Predicate, mask: Predicate = ...) -> tuple[Register, Predicate]:
    """dst = src0 - src1 - (1 - carry_in), with carry

    text: pto.vsubcs.

    src0: vreg, read
    src1: vreg, read
    carry_in: mask, read
    mask: mask, read, optional
    result dst: vreg
    result carry: mask

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-02.
    Source: vector-path 6.4.
    """

def vsubrelu(src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = max(src0 - src1, 0)

    text: pto.vsubrelu.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05.
    Source: vector-path 6.9.
    """

def vsubs(src: Register, scalar: _Number, mask: Predicate = ...) -> Register:
    """dst = src - scalar

    text: pto.vsubs.

    src: vreg, read
    scalar: scalar, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05.
    Source: vector-path 6.4.
    """

def vsunpack(src: Register, part: _Number, *, dtype: DType | None = ...) -> Register:
    """dst = lanes of half part of src, sign-extended to twice their width

    text: pto.vsunpack.

    src: vreg, read
    part: scalar, read
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, PRD-A5-01, MIC-14.
    Source: vector-path 6.8.
    """

def vtranspose(dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, config: _Number) -> None:
    """Transpose in the unified buffer; its control word is not published.

    text: pto.vtranspose.

    dst: ptr, written
    src: ptr, read
    config: scalar, read

    Pipe: PIPE_V.
    Rules: PTR-A5-01, VEC-A5-08.
    Source: vector-path 6.9.
    """

def vtrc(src: Register, mask: Predicate = ..., rnd: Literal['R', 'A', 'F', 'C', 'Z', 'O', 'ROUND_R', 'ROUND_A', 'ROUND_F', 'ROUND_C', 'ROUND_Z', 'ROUND_O'] = ...) -> Register:
    """dst = src rounded to an integral value of its type

    text: pto.vtrc.

    src: vreg, read
    mask: mask, read, optional
    result dst: vreg
    rnd: str, default R

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, VEC-A5-16, VEC-A5-N1, MIC-01, MIC-02, MIC-05.
    Source: vector-path 6.6.
    """

def vusqz(src: Register = ..., mask: Predicate = ...) -> Register:
    """dst[i] = number of active lanes below i; latches the bytes of the active lanes for vstur

    text: pto.vusqz.

    src: vreg, read, optional
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-02.
    Source: vector-path 6.8.
    """

def vxor(src0: Register, src1: Register, mask: Predicate = ...) -> Register:
    """dst = src0 ^ src1; of floats the bits

    text: pto.vxor.

    src0: vreg, read
    src1: vreg, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05, MIC-01, MIC-02.
    Source: vector-path 6.3.
    """

def vxors(src: Register, scalar: _Number, mask: Predicate = ...) -> Register:
    """dst = src ^ scalar

    text: pto.vxors.

    src: vreg, read
    scalar: scalar, read
    mask: mask, read, optional
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, VEC-A5-05.
    Source: vector-path 6.4.
    """

def vzunpack(src: Register, part: _Number, *, dtype: DType | None = ...) -> Register:
    """dst = lanes of half part of src, zero-extended to twice their width

    text: pto.vzunpack.

    src: vreg, read
    part: scalar, read
    result dst: vreg

    Pipe: PIPE_V.
    Rules: VEC-A5-07, VEC-A5-06, PRD-A5-01, MIC-14.
    Source: vector-path 6.8.
    """

def wait_cross_block(pipe: _Pipe, event_id: _Number, ffts_mode: int | None = ...) -> RecordEvent:
    """Wait for a flag between blocks: sync.wait by another name.

    C++: wait_cross_block([event]); text: pto.wait_cross_block.

    event: scalar, read, optional
    pipe: Pipe, default None
    event_id: int, default None
    ffts_mode: int, default None

    Pipe: depends on operands and target.
    Rules: SY-1, SY-4, XFLAG-RANGE, XFLAG-RESERVED, SY-5.
    Source: PTOAS e32488c9, PTOOps.td.
    """

def wait_event(src_op: str, dst_op: str, event_id: int = ...) -> RecordEvent:
    """wait_flag between the pipes of two operation classes.

    C++: wait_event(src_op, dst_op, [event_id]); text: pto.wait_event.

    src_op: str, default None
    dst_op: str, default None
    event_id: int, default 0

    Pipe: depends on operands and target.
    Rules: EV-2, FLAG-RANGE, FLAG-PIPE, PIPE-TAG.
    Source: memory-model-and-sync 5; assembly 8.
    """

def wait_flag(src_pipe: _Pipe, dst_pipe: _Pipe, event_id: int = ...) -> RecordEvent:
    """Hold the destination pipe's later work until the flag is set, and consume it.

    C++: wait_flag(src_pipe, dst_pipe, [event_id]); text: pto.wait_flag.

    src_pipe: Pipe, default None
    dst_pipe: Pipe, default None
    event_id: int, default 0

    Pipe: depends on operands and target.
    Rules: FLAG-RANGE, FLAG-PIPE.
    Source: memory-model-and-sync 5; assembly 8.
    """

def wait_flag_dyn(event: _Number, *more: RecordEvent | _Pipe, src_pipe: _Pipe | None = ..., dst_pipe: _Pipe | None = ...) -> RecordEvent:
    """wait_flag with an event id from a register.

    C++: wait_flag_dyn(event); text: pto.wait_flag_dyn.

    event: scalar, read
    src_pipe: Pipe, default None
    dst_pipe: Pipe, default None

    Pipe: depends on operands and target.
    Rules: FLAG-RANGE, FLAG-PIPE.
    Source: memory-model-and-sync 5; assembly 8.
    """

def wait_intra_block(pipe: _Pipe, event_id: _Number, ffts_mode: int | None = ...) -> RecordEvent:
    """Wait for a flag between the cores of a block: sync.wait by another name.

    C++: wait_intra_block([event]); text: pto.wait_intra_block.

    event: scalar, read, optional
    pipe: Pipe, default None
    event_id: int, default None
    ffts_mode: int, default None

    Pipe: depends on operands and target.
    Rules: SY-1, SY-4, XFLAG-RANGE, XFLAG-RESERVED, SY-5.
    Source: PTOAS e32488c9, PTOOps.td.
    """

class _cmo:
    @overload
    def cacheinvalid(self, space: str) -> RecordEvent:
        """Invalidate the scalar unit's cache: the 64-byte line that an address is in, or all of it.

        C++: cmo.cacheinvalid([addr]); text: pto.cmo.cacheinvalid.

        addr: ptr, read, optional
        space: str, default None

        Pipe: PIPE_S.
        Source: PTOAS 2026-08 PTOOps.td.
        """
    @overload
    def cacheinvalid(self, addr: Pointer, *more: RecordEvent | str, space: str | None = ...) -> RecordEvent: ...

cmo: _cmo

class _comm:
    @overload
    def tbroadcast(self, src: GlobalTensor | Partition, ping: Tile, *members: GlobalTensor | Partition | Sequence[GlobalTensor | Partition], root: int | None = ...) -> RecordEvent:
        """Send the data of one device to all of a group.

        C++: comm.tbroadcast(src, ping, [pong], members); text: pto.comm.tbroadcast.

        src: view, read
        ping: tile, read
        pong: tile, read, optional
        members: view, written
        root: int, default None

        Pipe: PIPE_MTE3.
        Source: PTOAS 2026-08 PTOOps.td.
        """
    @overload
    def tbroadcast(self, src: GlobalTensor | Partition, ping: Tile, pong: Tile, *members: GlobalTensor | Partition | Sequence[GlobalTensor | Partition], root: int | None = ...) -> RecordEvent: ...
    @overload
    def tgather(self, dst: GlobalTensor | Partition, ping: Tile, *members: GlobalTensor | Partition | Sequence[GlobalTensor | Partition], root: int | None = ...) -> RecordEvent:
        """Put the data of all devices of a group together, row after row.

        C++: comm.tgather(dst, ping, [pong], members); text: pto.comm.tgather.

        dst: view, written
        ping: tile, read
        pong: tile, read, optional
        members: view, read
        root: int, default None

        Pipe: PIPE_MTE3.
        Source: PTOAS 2026-08 PTOOps.td.
        """
    @overload
    def tgather(self, dst: GlobalTensor | Partition, ping: Tile, pong: Tile, *members: GlobalTensor | Partition | Sequence[GlobalTensor | Partition], root: int | None = ...) -> RecordEvent: ...
    @overload
    def tget(self, dst: GlobalTensor | Partition, src: GlobalTensor | Partition, ping: Tile, *more: RecordEvent) -> RecordEvent:
        """Fetch global memory of another device, through one or two tiles.

        C++: comm.tget(dst, src, ping, [pong]); text: pto.comm.tget.

        dst: view, written
        src: view, read
        ping: tile, read
        pong: tile, read, optional

        Pipe: PIPE_MTE3.
        Source: PTOAS 2026-08 PTOOps.td.
        """
    @overload
    def tget(self, dst: GlobalTensor | Partition, src: GlobalTensor | Partition, ping: Tile, pong: Tile, *more: RecordEvent) -> RecordEvent: ...
    @overload
    def tput(self, dst: GlobalTensor | Partition, src: GlobalTensor | Partition, ping: Tile, *more: RecordEvent | _AtomicType, atomic: _AtomicType | None = ...) -> RecordEvent:
        """Send global memory to another device, through one or two tiles.

        C++: comm.tput(dst, src, ping, [pong]); text: pto.comm.tput.

        dst: view, written
        src: view, read
        ping: tile, read
        pong: tile, read, optional
        atomic: AtomicType, default None

        Pipe: PIPE_MTE3.
        Source: PTOAS 2026-08 PTOOps.td.
        """
    @overload
    def tput(self, dst: GlobalTensor | Partition, src: GlobalTensor | Partition, ping: Tile, pong: Tile, *more: RecordEvent | _AtomicType, atomic: _AtomicType | None = ...) -> RecordEvent: ...
    @overload
    def treduce(self, dst: GlobalTensor | Partition, acc: Tile, ping: Tile, *members: GlobalTensor | Partition | Sequence[GlobalTensor | Partition], op: _ReduceOp | None = ..., root: int | None = ...) -> RecordEvent:
        """Make one of the data of all devices of a group, element by element.

        C++: comm.treduce(dst, acc, ping, [pong], members); text: pto.comm.treduce.

        dst: view, written
        acc: tile, read
        ping: tile, read
        pong: tile, read, optional
        members: view, read
        op: ReduceOp, default None
        root: int, default None

        Pipe: PIPE_MTE3.
        Source: PTOAS 2026-08 PTOOps.td.
        """
    @overload
    def treduce(self, dst: GlobalTensor | Partition, acc: Tile, ping: Tile, pong: Tile, *members: GlobalTensor | Partition | Sequence[GlobalTensor | Partition], op: _ReduceOp | None = ..., root: int | None = ...) -> RecordEvent: ...
    @overload
    def tscatter(self, src: GlobalTensor | Partition, ping: Tile, *members: GlobalTensor | Partition | Sequence[GlobalTensor | Partition], root: int | None = ...) -> RecordEvent:
        """Give every device of a group its rows.

        C++: comm.tscatter(src, ping, [pong], members); text: pto.comm.tscatter.

        src: view, read
        ping: tile, read
        pong: tile, read, optional
        members: view, written
        root: int, default None

        Pipe: PIPE_MTE3.
        Source: PTOAS 2026-08 PTOOps.td.
        """
    @overload
    def tscatter(self, src: GlobalTensor | Partition, ping: Tile, pong: Tile, *members: GlobalTensor | Partition | Sequence[GlobalTensor | Partition], root: int | None = ...) -> RecordEvent: ...

comm: _comm

class _fence:
    def barrier_all(self, scope: str) -> RecordEvent:
        """Wait until all earlier accesses to a memory are seen by all: of this core, global memory, or both.

        C++: fence.barrier_all(scope); text: pto.fence.barrier_all.

        scope: str, default None

        Pipe: PIPE_ALL.
        Source: PTOAS 2026-08 PTOOps.td.
        """

fence: _fence

class _sync:
    def set(self, pipe: _Pipe, event_id: _Number, ffts_mode: int | None = ...) -> RecordEvent:
        """Raise a flag between cores when the pipe's earlier work is done.

        C++: sync.set([event]); text: pto.sync.set.

        event: scalar, read, optional
        pipe: Pipe, default None
        event_id: int, default None
        ffts_mode: int, default None

        Pipe: depends on operands and target.
        Rules: SY-1, XFLAG-MODE, SY-2, SY-3, XFLAG-RANGE, XFLAG-RESERVED.
        Source: memory-model-and-sync 5; assembly 8.
        """
    def wait(self, pipe: _Pipe, event_id: _Number, ffts_mode: int | None = ...) -> RecordEvent:
        """Hold the core (a2a3) or the pipe (a5) until a flag between cores is set.

        C++: sync.wait([event]); text: pto.sync.wait.

        event: scalar, read, optional
        pipe: Pipe, default None
        event_id: int, default None
        ffts_mode: int, default None

        Pipe: depends on operands and target.
        Rules: SY-1, SY-4, XFLAG-RANGE, XFLAG-RESERVED.
        Source: memory-model-and-sync 5; assembly 8.
        """

sync: _sync

class _ub:
    def set_mask(self, low: _Number, high: _Number) -> None:
        """The elements that later operations of ub. work on: bits of elements 0 to 63 and 64 to 127, or their number.

        text: pto.ub.set_mask.

        low: scalar, read
        high: scalar, read

        Pipe: PIPE_S.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def set_mask_count(self) -> None:
        """Take the mask of later operations of ub. as a number of elements.

        text: pto.ub.set_mask_count.


        Pipe: PIPE_S.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def set_mask_norm(self) -> None:
        """Take the mask of later operations of ub. as bits.

        text: pto.ub.set_mask_norm.


        Pipe: PIPE_S.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vabs(self, dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src_block: _Number, dst_repeat: _Number, src_repeat: _Number) -> None:
        """Blocks of dst = vabs of those of src; strides in blocks of 32 bytes.

        text: pto.ub.vabs.

        dst: ptr, written
        src: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src_block: scalar, read
        dst_repeat: scalar, read
        src_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vadd(self, dst: Pointer | GlobalTensor | Partition, src0: Pointer | GlobalTensor | Partition, src1: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src0_block: _Number, src1_block: _Number, dst_repeat: _Number, src0_repeat: _Number, src1_repeat: _Number) -> None:
        """Blocks of dst = vadd of those of src0 and src1; strides in blocks of 32 bytes.

        text: pto.ub.vadd.

        dst: ptr, written
        src0: ptr, read
        src1: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src0_block: scalar, read
        src1_block: scalar, read
        dst_repeat: scalar, read
        src0_repeat: scalar, read
        src1_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vaddrelu(self, dst: Pointer | GlobalTensor | Partition, src0: Pointer | GlobalTensor | Partition, src1: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src0_block: _Number, src1_block: _Number, dst_repeat: _Number, src0_repeat: _Number, src1_repeat: _Number) -> None:
        """Blocks of dst = vaddrelu of those of src0 and src1; strides in blocks of 32 bytes.

        text: pto.ub.vaddrelu.

        dst: ptr, written
        src0: ptr, read
        src1: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src0_block: scalar, read
        src1_block: scalar, read
        dst_repeat: scalar, read
        src0_repeat: scalar, read
        src1_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vadds(self, dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, scalar: _Number, repeat: _Number, dst_block: _Number, src_block: _Number, dst_repeat: _Number, src_repeat: _Number) -> None:
        """Blocks of dst = vadds of those of src and a number; strides in blocks of 32 bytes.

        text: pto.ub.vadds.

        dst: ptr, written
        src: ptr, read
        scalar: scalar, read
        repeat: scalar, read
        dst_block: scalar, read
        src_block: scalar, read
        dst_repeat: scalar, read
        src_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vand(self, dst: Pointer | GlobalTensor | Partition, src0: Pointer | GlobalTensor | Partition, src1: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src0_block: _Number, src1_block: _Number, dst_repeat: _Number, src0_repeat: _Number, src1_repeat: _Number) -> None:
        """Blocks of dst = vand of those of src0 and src1; strides in blocks of 32 bytes.

        text: pto.ub.vand.

        dst: ptr, written
        src0: ptr, read
        src1: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src0_block: scalar, read
        src1_block: scalar, read
        dst_repeat: scalar, read
        src0_repeat: scalar, read
        src1_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vdiv(self, dst: Pointer | GlobalTensor | Partition, src0: Pointer | GlobalTensor | Partition, src1: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src0_block: _Number, src1_block: _Number, dst_repeat: _Number, src0_repeat: _Number, src1_repeat: _Number) -> None:
        """Blocks of dst = vdiv of those of src0 and src1; strides in blocks of 32 bytes.

        text: pto.ub.vdiv.

        dst: ptr, written
        src0: ptr, read
        src1: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src0_block: scalar, read
        src1_block: scalar, read
        dst_repeat: scalar, read
        src0_repeat: scalar, read
        src1_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vdup(self, dst: Pointer | GlobalTensor | Partition, scalar: _Number, repeat: _Number, dst_block: _Number, src_block: _Number, dst_repeat: _Number, src_repeat: _Number) -> None:
        """Blocks of dst = a number; strides in blocks of 32 bytes.

        text: pto.ub.vdup.

        dst: ptr, written
        scalar: scalar, read
        repeat: scalar, read
        dst_block: scalar, read
        src_block: scalar, read
        dst_repeat: scalar, read
        src_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vexp(self, dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src_block: _Number, dst_repeat: _Number, src_repeat: _Number) -> None:
        """Blocks of dst = vexp of those of src; strides in blocks of 32 bytes.

        text: pto.ub.vexp.

        dst: ptr, written
        src: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src_block: scalar, read
        dst_repeat: scalar, read
        src_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vln(self, dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src_block: _Number, dst_repeat: _Number, src_repeat: _Number) -> None:
        """Blocks of dst = vln of those of src; strides in blocks of 32 bytes.

        text: pto.ub.vln.

        dst: ptr, written
        src: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src_block: scalar, read
        dst_repeat: scalar, read
        src_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vmax(self, dst: Pointer | GlobalTensor | Partition, src0: Pointer | GlobalTensor | Partition, src1: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src0_block: _Number, src1_block: _Number, dst_repeat: _Number, src0_repeat: _Number, src1_repeat: _Number) -> None:
        """Blocks of dst = vmax of those of src0 and src1; strides in blocks of 32 bytes.

        text: pto.ub.vmax.

        dst: ptr, written
        src0: ptr, read
        src1: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src0_block: scalar, read
        src1_block: scalar, read
        dst_repeat: scalar, read
        src0_repeat: scalar, read
        src1_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vmaxs(self, dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, scalar: _Number, repeat: _Number, dst_block: _Number, src_block: _Number, dst_repeat: _Number, src_repeat: _Number) -> None:
        """Blocks of dst = vmaxs of those of src and a number; strides in blocks of 32 bytes.

        text: pto.ub.vmaxs.

        dst: ptr, written
        src: ptr, read
        scalar: scalar, read
        repeat: scalar, read
        dst_block: scalar, read
        src_block: scalar, read
        dst_repeat: scalar, read
        src_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vmin(self, dst: Pointer | GlobalTensor | Partition, src0: Pointer | GlobalTensor | Partition, src1: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src0_block: _Number, src1_block: _Number, dst_repeat: _Number, src0_repeat: _Number, src1_repeat: _Number) -> None:
        """Blocks of dst = vmin of those of src0 and src1; strides in blocks of 32 bytes.

        text: pto.ub.vmin.

        dst: ptr, written
        src0: ptr, read
        src1: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src0_block: scalar, read
        src1_block: scalar, read
        dst_repeat: scalar, read
        src0_repeat: scalar, read
        src1_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vmins(self, dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, scalar: _Number, repeat: _Number, dst_block: _Number, src_block: _Number, dst_repeat: _Number, src_repeat: _Number) -> None:
        """Blocks of dst = vmins of those of src and a number; strides in blocks of 32 bytes.

        text: pto.ub.vmins.

        dst: ptr, written
        src: ptr, read
        scalar: scalar, read
        repeat: scalar, read
        dst_block: scalar, read
        src_block: scalar, read
        dst_repeat: scalar, read
        src_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vmul(self, dst: Pointer | GlobalTensor | Partition, src0: Pointer | GlobalTensor | Partition, src1: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src0_block: _Number, src1_block: _Number, dst_repeat: _Number, src0_repeat: _Number, src1_repeat: _Number) -> None:
        """Blocks of dst = vmul of those of src0 and src1; strides in blocks of 32 bytes.

        text: pto.ub.vmul.

        dst: ptr, written
        src0: ptr, read
        src1: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src0_block: scalar, read
        src1_block: scalar, read
        dst_repeat: scalar, read
        src0_repeat: scalar, read
        src1_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vmuls(self, dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, scalar: _Number, repeat: _Number, dst_block: _Number, src_block: _Number, dst_repeat: _Number, src_repeat: _Number) -> None:
        """Blocks of dst = vmuls of those of src and a number; strides in blocks of 32 bytes.

        text: pto.ub.vmuls.

        dst: ptr, written
        src: ptr, read
        scalar: scalar, read
        repeat: scalar, read
        dst_block: scalar, read
        src_block: scalar, read
        dst_repeat: scalar, read
        src_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vnot(self, dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src_block: _Number, dst_repeat: _Number, src_repeat: _Number) -> None:
        """Blocks of dst = vnot of those of src; strides in blocks of 32 bytes.

        text: pto.ub.vnot.

        dst: ptr, written
        src: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src_block: scalar, read
        dst_repeat: scalar, read
        src_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vor(self, dst: Pointer | GlobalTensor | Partition, src0: Pointer | GlobalTensor | Partition, src1: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src0_block: _Number, src1_block: _Number, dst_repeat: _Number, src0_repeat: _Number, src1_repeat: _Number) -> None:
        """Blocks of dst = vor of those of src0 and src1; strides in blocks of 32 bytes.

        text: pto.ub.vor.

        dst: ptr, written
        src0: ptr, read
        src1: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src0_block: scalar, read
        src1_block: scalar, read
        dst_repeat: scalar, read
        src0_repeat: scalar, read
        src1_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vrelu(self, dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src_block: _Number, dst_repeat: _Number, src_repeat: _Number) -> None:
        """Blocks of dst = vrelu of those of src; strides in blocks of 32 bytes.

        text: pto.ub.vrelu.

        dst: ptr, written
        src: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src_block: scalar, read
        dst_repeat: scalar, read
        src_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vrsqrt(self, dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src_block: _Number, dst_repeat: _Number, src_repeat: _Number) -> None:
        """Blocks of dst = vrsqrt of those of src; strides in blocks of 32 bytes.

        text: pto.ub.vrsqrt.

        dst: ptr, written
        src: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src_block: scalar, read
        dst_repeat: scalar, read
        src_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vshl(self, dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, scalar: _Number, repeat: _Number, dst_block: _Number, src_block: _Number, dst_repeat: _Number, src_repeat: _Number) -> None:
        """Blocks of dst = vshl of those of src and a number; strides in blocks of 32 bytes.

        text: pto.ub.vshl.

        dst: ptr, written
        src: ptr, read
        scalar: scalar, read
        repeat: scalar, read
        dst_block: scalar, read
        src_block: scalar, read
        dst_repeat: scalar, read
        src_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vshr(self, dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, scalar: _Number, repeat: _Number, dst_block: _Number, src_block: _Number, dst_repeat: _Number, src_repeat: _Number) -> None:
        """Blocks of dst = vshr of those of src and a number; strides in blocks of 32 bytes.

        text: pto.ub.vshr.

        dst: ptr, written
        src: ptr, read
        scalar: scalar, read
        repeat: scalar, read
        dst_block: scalar, read
        src_block: scalar, read
        dst_repeat: scalar, read
        src_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vsqrt(self, dst: Pointer | GlobalTensor | Partition, src: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src_block: _Number, dst_repeat: _Number, src_repeat: _Number) -> None:
        """Blocks of dst = vsqrt of those of src; strides in blocks of 32 bytes.

        text: pto.ub.vsqrt.

        dst: ptr, written
        src: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src_block: scalar, read
        dst_repeat: scalar, read
        src_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """
    def vsub(self, dst: Pointer | GlobalTensor | Partition, src0: Pointer | GlobalTensor | Partition, src1: Pointer | GlobalTensor | Partition, repeat: _Number, dst_block: _Number, src0_block: _Number, src1_block: _Number, dst_repeat: _Number, src0_repeat: _Number, src1_repeat: _Number) -> None:
        """Blocks of dst = vsub of those of src0 and src1; strides in blocks of 32 bytes.

        text: pto.ub.vsub.

        dst: ptr, written
        src0: ptr, read
        src1: ptr, read
        repeat: scalar, read
        dst_block: scalar, read
        src0_block: scalar, read
        src1_block: scalar, read
        dst_repeat: scalar, read
        src0_repeat: scalar, read
        src1_repeat: scalar, read

        Pipe: PIPE_V.
        Rules: PTR-A5-01, VEC-A5-07, VEC-A5-06, MIC-07.
        Source: PTOAS e32488c9, VPTOUbOps.
        """

ub: _ub

