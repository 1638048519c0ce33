"""Enumerations of the ISA with their numeric values (types-and-layouts 1.1, move-gather-scatter 1.1).

Each member's ``value`` is the number of the C++ enumeration; ``text`` is its spelling in `.pto` files.
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Self

from .choices import Spelled


class TileType(Spelled):
    """Where a tile lives: UB, L1, L0A, L0B, L0C, bias table, fix-pipe buffer, MX scale areas."""

    Vec = 0
    Mat = 1
    Left = 2
    Right = 3
    Acc = 4
    Bias = 5
    Scaling = 6
    ScaleLeft = 7
    ScaleRight = 8
    Ctrl = 9


class BLayout(Spelled):
    """Order of the blocks of a tile (of the elements, where it has no boxes)."""

    RowMajor = 0
    ColMajor = 1


class SLayout(Spelled):
    """Order of the elements inside a box."""

    NoneBox = 0
    RowMajor = 1
    ColMajor = 2


class CompactMode(Spelled):
    """How a partially valid accumulator or operand is packed (types-and-layouts 5)."""

    Null = 0
    Normal = 1
    RowPlusOne = 2
    RowAlignedPadding = 3


class PadValue(Spelled):
    """What TLOAD and TFILLPAD write outside the valid region; `CustomPad` for other values."""

    Null = 0
    Zero = 1
    Max = 2
    Min = 3


class Layout(Spelled):
    """Layout of a GlobalTensor (types-and-layouts 9)."""

    ND = 0
    DN = 1
    NZ = 2
    SCALE = 3
    MX_A_ND = 4
    MX_A_DN = 5
    MX_A_ZZ = 6
    MX_B_ND = 7
    MX_B_DN = 8
    MX_B_NN = 9
    HIF4_A_ZZ = 10
    HIF4_B_NN = 11
    NC1HWC0 = 12
    GNC1HWC0 = 13
    NCHW = 14
    GNCHW = 15
    NHWC = 16
    NDC1HWC0 = 17
    NCDHW = 18
    FRACTAL_Z = 19
    FRACTAL_Z_S16S8 = 20
    FRACTAL_Z_3D = 21

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name.lower()


class AtomicType(Spelled):
    """What a store does with the old contents; Max and Min exist on A5 only."""

    AtomicNone = 0
    AtomicAdd = 1
    AtomicMax = 2
    AtomicMin = 3


class ReluPreMode(Spelled):
    """ReLU of the fix-pipe, after quantisation."""

    NoRelu = 0
    NormalRelu = 1


class AccPhase(Spelled):
    """What a product does with the unit flags of its accumulator; no effect on values (compute-reduce-matrix 9).

    Partial waits until they are clear, Final also sets them; a drain with an `STPhase` waits for that.
    """

    Unspecified = 0
    Partial = 2
    Final = 3


class STPhase(Spelled):
    """What a drain does with the unit flags of its accumulator; no effect on values.

    Partial waits until they are set, Final also clears them (`AccPhase`).
    """

    Unspecified = 0
    Partial = 2
    Final = 3


class AccToVecMode(Spelled):
    """Which vector sub-core receives an accumulator (move-gather-scatter 4.12)."""

    SingleModeVec0 = 0
    SingleModeVec1 = 1
    DualModeSplitM = 2
    DualModeSplitN = 3

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return {0: "single_mode_vec0", 1: "single_mode_vec1"}.get(self.value) or super().text


class RoundMode(Spelled):
    """Rounding of TCVT (compute-elementwise 8.3); CAST_RINT is a synonym of RINT."""

    NONE = 0
    RINT = 1
    ROUND = 2
    FLOOR = 3
    CEIL = 4
    TRUNC = 5
    ODD = 6
    CAST_RINT = 7

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name


class SaturationMode(Spelled):
    """Out-of-range handling of a conversion."""

    ON = 0
    OFF = 1

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name


class CmpMode(Spelled):
    """Comparison of TCMP and TCMPS."""

    EQ = 0
    NE = 1
    LT = 2
    LE = 3
    GT = 4
    GE = 5

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name.lower()


class Coalesce(Spelled):
    """Granularity of MGATHER and MSCATTER."""

    Row = 0
    Elem = 1


class GatherOOB(Spelled):
    """Out-of-range indices of MGATHER."""

    Undefined = 0
    Clamp = 1
    Wrap = 2
    Zero = 3


class ScatterOOB(Spelled):
    """Out-of-range indices of MSCATTER."""

    Undefined = 0
    Skip = 1
    Clamp = 2
    Wrap = 3


class ScatterAtomicOp(Spelled):
    """How MSCATTER combines with the old contents."""

    NONE = 0
    Add = 1
    Max = 2
    Min = 3

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name.lower()


class ScatterConflict(Spelled):
    """Which of several writers of one element wins (A5)."""

    Last = 0
    Default = 1


class SyncCoreType(Spelled):
    """Which cores a SYNCALL joins."""

    AIVOnly = 0
    AICOnly = 1
    Mix = 2

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return {"AIVOnly": "aiv_only", "AICOnly": "aic_only", "Mix": "mix"}[self.name]


class SyncAllMode(Spelled):
    """How a SYNCALL joins cores: by hardware, or through counters in global memory."""

    Hard = 0
    Soft = 1

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name.lower()


class MxGroupAxis(Spelled):
    """The axis along which elements share a scale."""

    Axis0 = 0
    Axis1 = 1


class PrintFormat(Spelled):
    """Width and precision of the numbers of TPRINT."""

    Width8_Precision4 = 0
    Width8_Precision2 = 1
    Width10_Precision6 = 2


class NotifyOp(Spelled):
    """What a notification does to a signal."""

    AtomicAdd = 0
    Set = 1


class ReduceOp(Spelled):
    """How the data of several devices becomes one."""

    Sum = 0
    Max = 1
    Min = 2

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name.lower()

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Member by its name or that in small letters. Raises `KeyError`."""
        return super().from_text(text.capitalize() if text.islower() else text)


class TInsertMode(Spelled):
    """Transfers that an insertion into the matrix buffer is cut into (A5); no effect on values."""

    SPLIT2 = 2
    SPLIT4 = 3

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name.lower()


class GatherExec(Spelled):
    """Unit that runs the element-wise gather into L1 (A5)."""

    Scalar = 0
    Simt = 1


class MaskPattern(Spelled):
    """Positions that a mask form of TGATHER or TSCATTER selects, in a period of 2 or 4; read from the right."""

    P0101 = 1
    P1010 = 2
    P0001 = 3
    P0010 = 4
    P0100 = 5
    P1000 = 6
    P1111 = 7

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name

    @property
    def period(self) -> int:
        """Every how many positions one is selected (compute-layout-irregular 2.1)."""
        return {1: 2, 2: 2, 7: 1}.get(self.value, 4)

    @property
    def first(self) -> int:
        """The first selected position."""
        return {2: 1, 4: 1, 5: 2, 6: 3}.get(self.value, 0)


class MaskAxis(Spelled):
    """What the mask forms of TGATHER and TSCATTER select: columns of every row, or rows."""

    Row = 0
    Col = 1

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name.lower()


class QuantType(Spelled):
    """Integer quantisation of TQUANT."""

    INT8_SYM = 2
    INT8_ASYM = 3
    MXFP8 = 4
    MXFP4_E2M1 = 5

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name


class QuantScaleAlg(Spelled):
    """Whose rule makes the shared exponent of TQUANT of block-scaled types."""

    OCP = 0
    NV = 1

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name.lower()


class VecStoreMode(Spelled):
    """How TQUANT of block-scaled types stores exponents a second time."""

    ND = 0
    NZ = 1

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name.lower()


class MxQuantAlg(Spelled):
    """Choice of the shared exponent in TQUANT of block-scaled types."""

    OcpMxFp8E4M3 = 0
    NvMxFp8E4M3 = 1
    OcpMxFp4E2M1 = 2
    NvMxFp4E2M1 = 3
    Hif4 = 4

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name


class SetFmatrixMode(Spelled):
    """Which image-to-column registers are meant, and whether TIMG2COL writes them itself."""

    FMATRIX_A_AUTO = 0
    FMATRIX_B_AUTO = 1
    FMATRIX_A_MANUAL = 2
    FMATRIX_B_MANUAL = 3

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.name


class Pipe(Enum):
    """Asynchronous execution units of a core (memory-model-and-sync 2), and further names of the text (assembly 4)."""

    S = "PIPE_S"
    V = "PIPE_V"
    M = "PIPE_M"
    MTE1 = "PIPE_MTE1"
    MTE2 = "PIPE_MTE2"
    MTE3 = "PIPE_MTE3"
    FIX = "PIPE_FIX"
    ALL = "PIPE_ALL"
    MTE4 = "PIPE_MTE4"
    MTE5 = "PIPE_MTE5"
    V2 = "PIPE_V2"
    MTE2_L1A = "VIRTUAL_PIPE_MTE2_L1A"
    MTE2_L1B = "VIRTUAL_PIPE_MTE2_L1B"
    NUM = "PIPE_NUM"
    UNASSIGNED = "PIPE_UNASSIGNED"

    __hash__ = object.__hash__  # members are single objects; hashing their names in Python takes ten times as long

    @property
    def text(self) -> str:
        """The spelling in `.pto` text."""
        return self.value

    @property
    def exists(self) -> bool:
        """False for names that only text has: no core of any target has such a pipe."""
        return self not in _NAMES_ONLY

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Member by its `.pto` spelling. Raises `KeyError`."""
        for member in cls:
            if text == member.value:
                return member
        raise KeyError(text)

    def __str__(self) -> str:
        return self.value


_NAMES_ONLY = frozenset((Pipe.MTE4, Pipe.MTE5, Pipe.V2, Pipe.MTE2_L1A, Pipe.MTE2_L1B, Pipe.NUM, Pipe.UNASSIGNED))

EVENT_ID_COUNT = 8  # per ordered pipe pair (memory-model-and-sync 5.3)
SECOND_CORE = 16
"""On a5, id + 16 between cores names flag id of the second vector core (memory-model-and-sync 5.5)."""


# Enumerations of the pipes between cores, with their numeric values.


class TileSplitAxis(IntEnum):
    """What each of two vector cores has of an entry of a pipe; the odd ones give core 0 one row or column more."""

    TILE_NO_SPLIT = 0
    TILE_UP_DOWN = 1
    TILE_LEFT_RIGHT = 2
    TILE_UP_DOWN_ODD = 3
    TILE_LEFT_RIGHT_ODD = 4


class Direction(IntEnum):
    """Where a pipe between cores leads, and through global memory or not; a2a3 has no other memory for it."""

    DIR_C2V = 1
    DIR_V2C = 2
    DIR_BOTH = 3
    DIR_C2V_GM = 5
    DIR_V2C_GM = 6
    DIR_BOTH_GM = 7
