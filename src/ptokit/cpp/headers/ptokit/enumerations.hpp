// Made by tools/headers.py.
#pragma once

enum pipe_t : int32_t {
    PIPE_S = 0, PIPE_V = 1, PIPE_M = 2, PIPE_MTE1 = 3, PIPE_MTE2 = 4, PIPE_MTE3 = 5, PIPE_FIX = 6, PIPE_ALL = 7,
    PIPE_MTE4 = 8, PIPE_MTE5 = 9, PIPE_V2 = 10, VIRTUAL_PIPE_MTE2_L1A = 11, VIRTUAL_PIPE_MTE2_L1B = 12,
    PIPE_NUM = 13, PIPE_UNASSIGNED = 14,
};
enum event_t : int32_t {
    EVENT_ID0 = 0, EVENT_ID1 = 1, EVENT_ID2 = 2, EVENT_ID3 = 3, EVENT_ID4 = 4, EVENT_ID5 = 5, EVENT_ID6 = 6,
    EVENT_ID7 = 7, EVENT_ID_MAX = 8,
};
enum dcci_t : int32_t {
    SINGLE_CACHE_LINE = 0, ENTIRE_DATA_CACHE = 1,
};
enum dcci_to_t : int32_t {
    CACHELINE_ALL = 0, CACHELINE_UB = 1, CACHELINE_OUT = 2, CACHELINE_ATOMIC = 3,
};
enum mem_dsb_t : int32_t {
    DSB_ALL = 0, DSB_DDR = 1, DSB_UB = 2, DSB_SEQ = 3,
};

namespace pto {
enum class TileType : int32_t {
    Vec = 0, Mat = 1, Left = 2, Right = 3, Acc = 4, Bias = 5, Scaling = 6, ScaleLeft = 7, ScaleRight = 8, Ctrl = 9,
};
enum class BLayout : int32_t {
    RowMajor = 0, ColMajor = 1,
};
enum class SLayout : int32_t {
    NoneBox = 0, RowMajor = 1, ColMajor = 2,
};
enum class CompactMode : int32_t {
    Null = 0, Normal = 1, RowPlusOne = 2, RowAlignedPadding = 3,
};
enum class PadValue : uint64_t {
    Null = 0, Zero = 1, Max = 2, Min = 3, CustomBase = 4294967296,
};
enum class Layout : int32_t {
    ND = 0, DN = 1, NZ = 2, SCALE = 3, MX_A_ND = 4, MX_A_DN = 5, MX_A_ZZ = 6, MX_B_ND = 7, MX_B_DN = 8, MX_B_NN = 9,
    HIF4_A_ZZ = 10, HIF4_B_NN = 11, NC1HWC0 = 12, GNC1HWC0 = 13, NCHW = 14, GNCHW = 15, NHWC = 16, NDC1HWC0 = 17,
    NCDHW = 18, FRACTAL_Z = 19, FRACTAL_Z_S16S8 = 20, FRACTAL_Z_3D = 21,
};
enum class AtomicType : int32_t {
    AtomicNone = 0, AtomicAdd = 1, AtomicMax = 2, AtomicMin = 3,
};
enum class ReluPreMode : int32_t {
    NoRelu = 0, NormalRelu = 1,
};
enum class STPhase : int32_t {
    Unspecified = 0, Partial = 2, Final = 3,
};
enum class AccToVecMode : int32_t {
    SingleModeVec0 = 0, SingleModeVec1 = 1, DualModeSplitM = 2, DualModeSplitN = 3,
};
enum class RoundMode : int32_t {
    CAST_NONE = 0, CAST_RINT = 1, CAST_ROUND = 2, CAST_FLOOR = 3, CAST_CEIL = 4, CAST_TRUNC = 5, CAST_ODD = 6,
};
enum class SaturationMode : int32_t {
    ON = 0, OFF = 1,
};
enum class CmpMode : int32_t {
    EQ = 0, NE = 1, LT = 2, LE = 3, GT = 4, GE = 5,
};
enum class Coalesce : int32_t {
    Row = 0, Elem = 1,
};
enum class GatherOOB : int32_t {
    Undefined = 0, Clamp = 1, Wrap = 2, Zero = 3,
};
enum class ScatterOOB : int32_t {
    Undefined = 0, Skip = 1, Clamp = 2, Wrap = 3,
};
enum class ScatterAtomicOp : int32_t {
    None = 0, Add = 1, Max = 2, Min = 3,
};
enum class ScatterConflict : int32_t {
    Last = 0, Default = 1,
};
enum class SyncCoreType : int32_t {
    AIVOnly = 0, AICOnly = 1, Mix = 2,
};
enum class SyncAllMode : int32_t {
    Hard = 0, Soft = 1,
};
enum class MxGroupAxis : int32_t {
    Axis0 = 0, Axis1 = 1,
};
enum class PrintFormat : int32_t {
    Width8_Precision4 = 0, Width8_Precision2 = 1, Width10_Precision6 = 2,
};
enum class NotifyOp : int32_t {
    AtomicAdd = 0, Set = 1,
};
enum class ReduceOp : int32_t {
    Sum = 0, Max = 1, Min = 2,
};
enum class TInsertMode : int32_t {
    SPLIT2 = 2, SPLIT4 = 3,
};
enum class GatherExec : int32_t {
    Scalar = 0, Simt = 1,
};
enum class MaskPattern : int32_t {
    P0101 = 1, P1010 = 2, P0001 = 3, P0010 = 4, P0100 = 5, P1000 = 6, P1111 = 7,
};
enum class MaskAxis : int32_t {
    Row = 0, Col = 1,
};
enum class QuantType : int32_t {
    MXFP8 = 0, MXFP4_E2M1 = 1, INT8_SYM = 2, INT8_ASYM = 3,
};
enum class QuantScaleAlg : int32_t {
    OCP = 0, NV = 1,
};
enum class VecStoreMode : int32_t {
    ND = 0, NZ = 1,
};
enum class MxQuantAlg : int32_t {
    OcpMxFp8E4M3 = 0, NvMxFp8E4M3 = 1, OcpMxFp4E2M1 = 2, NvMxFp4E2M1 = 3, Hif4 = 4,
};
enum class SetFmatrixMode : int32_t {
    FMATRIX_A_AUTO = 0, FMATRIX_B_AUTO = 1, FMATRIX_A_MANUAL = 2, FMATRIX_B_MANUAL = 3,
};
enum class TileSplitAxis : int32_t {
    TILE_NO_SPLIT = 0, TILE_UP_DOWN = 1, TILE_LEFT_RIGHT = 2, TILE_UP_DOWN_ODD = 3, TILE_LEFT_RIGHT_ODD = 4,
};
enum class Direction : int32_t {
    DIR_C2V = 1, DIR_V2C = 2, DIR_BOTH = 3, DIR_C2V_GM = 5, DIR_V2C_GM = 6, DIR_BOTH_GM = 7,
};
enum class AccPhase : int32_t {
    Unspecified = 0, Unknown = 0, Partial = 2, Final = 3,
};
enum class GatherAxis : int32_t {
    GATHER_ROW = 0, GATHER_COL = 1,
};
enum class ScatterAxis : int32_t {
    SCATTER_ROW = 0, SCATTER_COL = 1,
};
enum class HistByte : int32_t {
    BYTE_0 = 0, BYTE_1 = 1, BYTE_2 = 2, BYTE_3 = 3,
};
enum class TFillPadMode : int32_t {
    Normal = 0, InPlace = 1, Expand = 2,
};
enum class TileLayoutCustom : int32_t {
    ND = 0, DN = 1, NZ = 2, ZN = 3, ZZ = 4, NONE = 5,
};
enum class TCopyMode : int32_t {
    SHALLOW_COPY = 0, DEEP_COPY = 1,
};
enum class PowAlgorithm : int32_t {
    DEFAULT = 0, HIGH_PRECISION = 1,
};
enum class DivAlgorithm : int32_t {
    DEFAULT = 0, HIGH_PRECISION = 1,
};
enum class SqrtAlgorithm : int32_t {
    DEFAULT = 0, HIGH_PRECISION = 1,
};
enum class RsqrtAlgorithm : int32_t {
    DEFAULT = 0, HIGH_PRECISION = 1,
};
enum class RecipAlgorithm : int32_t {
    DEFAULT = 0, HIGH_PRECISION = 1,
};
enum class ExpAlgorithm : int32_t {
    DEFAULT = 0, HIGH_PRECISION = 1,
};
enum class LogAlgorithm : int32_t {
    DEFAULT = 0, HIGH_PRECISION = 1,
};
enum class FmodAlgorithm : int32_t {
    DEFAULT = 0, HIGH_PRECISION = 1,
};
enum class FmodSAlgorithm : int32_t {
    DEFAULT = 0, HIGH_PRECISION = 1,
};
enum class RemAlgorithm : int32_t {
    DEFAULT = 0, HIGH_PRECISION = 1,
};
enum class RemSAlgorithm : int32_t {
    DEFAULT = 0, HIGH_PRECISION = 1,
};
enum class Op : int32_t {
    GROUP_GATHER = 0, GROUP_SCATTER = 1, MGATHER = 2, MGATHER_MAT = 3, MGATHER_VEC = 4, MSCATTER = 5, SCALAR = 6,
    SETFMATRIX = 7, SETHF32MODE = 8, SETTF32MODE = 9, SET_IMG2COL_PADDING = 10, SET_IMG2COL_RPT = 11, TABS = 12,
    TADD = 13, TADDC = 14, TADDDEQRELU = 15, TADDRELU = 16, TADDRELUCONV = 17, TADDS = 18, TADDSC = 19, TAND = 20,
    TANDS = 21, TAXPY = 22, TBROADCAST = 23, TCI = 24, TCMP = 25, TCMPS = 26, TCOLARGMAX = 27, TCOLARGMIN = 28,
    TCOLEXPAND = 29, TCOLEXPANDADD = 30, TCOLEXPANDDIV = 31, TCOLEXPANDEXPDIF = 32, TCOLEXPANDMAX = 33,
    TCOLEXPANDMIN = 34, TCOLEXPANDMUL = 35, TCOLEXPANDSUB = 36, TCOLMAX = 37, TCOLMIN = 38, TCOLPROD = 39,
    TCOLSUM = 40, TCONCAT = 41, TCONCATIDX = 42, TCVT = 43, TDEINTERLEAVE = 44, TDEQUANT = 45, TDIV = 46, TDIVS = 47,
    TEXP = 48, TEXPANDS = 49, TEXPANDS_MAT = 50, TEXTRACT = 51, TEXTRACT2 = 52, TEXTRACT_A2M = 53, TEXTRACT_FP = 54,
    TEXTRACT_M2LR = 55, TEXTRACT_V2M = 56, TFILLPAD = 57, TFILLPAD_EXPAND = 58, TFILLPAD_INPLACE = 59,
    TFILLPAD_MAT = 60, TFILLPAD_VEC = 61, TFMOD = 62, TFMODS = 63, TFUSEDMULADD = 64, TFUSEDMULADDRELU = 65,
    TGATHER = 66, TGATHERB = 67, TGEMV = 68, TGEMV_ACC = 69, TGEMV_BIAS = 70, TGEMV_MX = 71, TGEMV_MX_ACC = 72,
    TGEMV_MX_BIAS = 73, TGET = 74, TGET_SCALE_ADDR = 75, THISTOGRAM = 76, TIMG2COL = 77, TINSERT = 78,
    TINSERT_A2M = 79, TINSERT_FP = 80, TINTERLEAVE = 81, TLOAD = 82, TLOG = 83, TLRELU = 84, TMATMUL = 85,
    TMATMUL_ACC = 86, TMATMUL_BIAS = 87, TMATMUL_MX = 88, TMATMUL_MX_ACC = 89, TMATMUL_MX_BIAS = 90, TMAX = 91,
    TMAXS = 92, TMIN = 93, TMINS = 94, TMOV = 95, TMOV_A2M = 96, TMOV_A2V = 97, TMOV_FP = 98, TMOV_M2B = 99,
    TMOV_M2L = 100, TMOV_M2R = 101, TMOV_M2S = 102, TMOV_V2M = 103, TMOV_V2V = 104, TMRGSORT = 105, TMUL = 106,
    TMULADDDST = 107, TMULS = 108, TNEG = 109, TNOT = 110, TNOTIFY = 111, TOR = 112, TORS = 113, TPACK = 114,
    TPAIRREDUCESUM = 115, TPARTADD = 116, TPARTARGMAX = 117, TPARTARGMIN = 118, TPARTMAX = 119, TPARTMIN = 120,
    TPARTMUL = 121, TPOW = 122, TPOWS = 123, TPREFETCH = 124, TPREFETCH_ASYNC = 125, TPRELU = 126, TPRINT = 127,
    TPUT = 128, TQUANT = 129, TQUANT_MX = 130, TRANDOM = 131, TRECIP = 132, TREDUCE = 133, TRELU = 134, TREM = 135,
    TREMS = 136, TRESHAPE = 137, TROWARGMAX = 138, TROWARGMIN = 139, TROWEXPAND = 140, TROWEXPANDADD = 141,
    TROWEXPANDDIV = 142, TROWEXPANDEXPDIF = 143, TROWEXPANDMAX = 144, TROWEXPANDMIN = 145, TROWEXPANDMUL = 146,
    TROWEXPANDSUB = 147, TROWMAX = 148, TROWMIN = 149, TROWPROD = 150, TROWSUM = 151, TRSQRT = 152, TSCATTER = 153,
    TSEL = 154, TSELS = 155, TSHL = 156, TSHLS = 157, TSHR = 158, TSHRS = 159, TSORT32 = 160, TSQRT = 161,
    TSTORE = 162, TSTORE_ACC = 163, TSTORE_FP = 164, TSTORE_MAT = 165, TSTORE_VEC = 166, TSUB = 167, TSUBC = 168,
    TSUBRELU = 169, TSUBRELUCONV = 170, TSUBS = 171, TSUBSC = 172, TTEST = 173, TTRANS = 174, TTRI = 175,
    TWAIT = 176, TXOR = 177, TXORS = 178, VECTOR = 179, OP_COUNT = 180,
};
constexpr pipe_t pipe_of(Op op) {
    switch (op) {
        case Op::GROUP_GATHER:
        case Op::GROUP_SCATTER:
        case Op::TBROADCAST:
        case Op::TGET:
        case Op::TPUT:
        case Op::TREDUCE:
        case Op::TSTORE_MAT:
        case Op::TSTORE_VEC:
            return PIPE_MTE3;
        case Op::MGATHER_MAT:
        case Op::TEXPANDS_MAT:
        case Op::TFILLPAD_MAT:
        case Op::TLOAD:
        case Op::TPREFETCH:
            return PIPE_MTE2;
        case Op::MGATHER_VEC:
        case Op::MSCATTER:
        case Op::TABS:
        case Op::TADD:
        case Op::TADDC:
        case Op::TADDDEQRELU:
        case Op::TADDRELU:
        case Op::TADDRELUCONV:
        case Op::TADDS:
        case Op::TADDSC:
        case Op::TAND:
        case Op::TANDS:
        case Op::TAXPY:
        case Op::TCMP:
        case Op::TCMPS:
        case Op::TCOLARGMAX:
        case Op::TCOLARGMIN:
        case Op::TCOLEXPAND:
        case Op::TCOLEXPANDADD:
        case Op::TCOLEXPANDDIV:
        case Op::TCOLEXPANDEXPDIF:
        case Op::TCOLEXPANDMAX:
        case Op::TCOLEXPANDMIN:
        case Op::TCOLEXPANDMUL:
        case Op::TCOLEXPANDSUB:
        case Op::TCOLMAX:
        case Op::TCOLMIN:
        case Op::TCOLPROD:
        case Op::TCOLSUM:
        case Op::TCONCAT:
        case Op::TCONCATIDX:
        case Op::TCVT:
        case Op::TDEINTERLEAVE:
        case Op::TDEQUANT:
        case Op::TDIV:
        case Op::TDIVS:
        case Op::TEXP:
        case Op::TEXPANDS:
        case Op::TEXTRACT2:
        case Op::TFILLPAD_VEC:
        case Op::TFMOD:
        case Op::TFMODS:
        case Op::TFUSEDMULADD:
        case Op::TFUSEDMULADDRELU:
        case Op::TGATHER:
        case Op::TGATHERB:
        case Op::THISTOGRAM:
        case Op::TINTERLEAVE:
        case Op::TLOG:
        case Op::TLRELU:
        case Op::TMAX:
        case Op::TMAXS:
        case Op::TMIN:
        case Op::TMINS:
        case Op::TMOV_V2V:
        case Op::TMRGSORT:
        case Op::TMUL:
        case Op::TMULADDDST:
        case Op::TMULS:
        case Op::TNEG:
        case Op::TNOT:
        case Op::TOR:
        case Op::TORS:
        case Op::TPACK:
        case Op::TPAIRREDUCESUM:
        case Op::TPARTADD:
        case Op::TPARTARGMAX:
        case Op::TPARTARGMIN:
        case Op::TPARTMAX:
        case Op::TPARTMIN:
        case Op::TPARTMUL:
        case Op::TPOW:
        case Op::TPOWS:
        case Op::TPRELU:
        case Op::TQUANT:
        case Op::TQUANT_MX:
        case Op::TRANDOM:
        case Op::TRECIP:
        case Op::TRELU:
        case Op::TREM:
        case Op::TREMS:
        case Op::TROWARGMAX:
        case Op::TROWARGMIN:
        case Op::TROWEXPAND:
        case Op::TROWEXPANDADD:
        case Op::TROWEXPANDDIV:
        case Op::TROWEXPANDEXPDIF:
        case Op::TROWEXPANDMAX:
        case Op::TROWEXPANDMIN:
        case Op::TROWEXPANDMUL:
        case Op::TROWEXPANDSUB:
        case Op::TROWMAX:
        case Op::TROWMIN:
        case Op::TROWPROD:
        case Op::TROWSUM:
        case Op::TRSQRT:
        case Op::TSCATTER:
        case Op::TSEL:
        case Op::TSELS:
        case Op::TSHL:
        case Op::TSHLS:
        case Op::TSHR:
        case Op::TSHRS:
        case Op::TSORT32:
        case Op::TSQRT:
        case Op::TSUB:
        case Op::TSUBC:
        case Op::TSUBRELU:
        case Op::TSUBRELUCONV:
        case Op::TSUBS:
        case Op::TSUBSC:
        case Op::TTRANS:
        case Op::TTRI:
        case Op::TXOR:
        case Op::TXORS:
        case Op::VECTOR:
            return PIPE_V;
        case Op::SCALAR:
        case Op::SETFMATRIX:
        case Op::SETHF32MODE:
        case Op::SETTF32MODE:
        case Op::SET_IMG2COL_PADDING:
        case Op::SET_IMG2COL_RPT:
        case Op::TCI:
        case Op::TGET_SCALE_ADDR:
        case Op::TNOTIFY:
        case Op::TPREFETCH_ASYNC:
        case Op::TPRINT:
        case Op::TRESHAPE:
        case Op::TTEST:
        case Op::TWAIT:
            return PIPE_S;
        case Op::TEXTRACT_A2M:
        case Op::TEXTRACT_FP:
        case Op::TEXTRACT_V2M:
        case Op::TINSERT_A2M:
        case Op::TINSERT_FP:
        case Op::TMOV_A2M:
        case Op::TMOV_A2V:
        case Op::TMOV_FP:
        case Op::TMOV_M2S:
        case Op::TMOV_V2M:
        case Op::TSTORE_ACC:
        case Op::TSTORE_FP:
            return PIPE_FIX;
        case Op::TEXTRACT_M2LR:
        case Op::TIMG2COL:
        case Op::TMOV_M2B:
        case Op::TMOV_M2L:
        case Op::TMOV_M2R:
            return PIPE_MTE1;
        case Op::TGEMV:
        case Op::TGEMV_ACC:
        case Op::TGEMV_BIAS:
        case Op::TGEMV_MX:
        case Op::TGEMV_MX_ACC:
        case Op::TGEMV_MX_BIAS:
        case Op::TMATMUL:
        case Op::TMATMUL_ACC:
        case Op::TMATMUL_BIAS:
        case Op::TMATMUL_MX:
        case Op::TMATMUL_MX_ACC:
        case Op::TMATMUL_MX_BIAS:
            return PIPE_M;
        default:
            return PIPE_ALL;
    }
}
template <class E>
constexpr const char* enum_name() {
    return "?";
}
template <>
constexpr const char* enum_name<TileType>() {
    return "TileType";
}
template <>
constexpr const char* enum_name<BLayout>() {
    return "BLayout";
}
template <>
constexpr const char* enum_name<SLayout>() {
    return "SLayout";
}
template <>
constexpr const char* enum_name<CompactMode>() {
    return "CompactMode";
}
template <>
constexpr const char* enum_name<PadValue>() {
    return "PadValue";
}
template <>
constexpr const char* enum_name<Layout>() {
    return "Layout";
}
template <>
constexpr const char* enum_name<AtomicType>() {
    return "AtomicType";
}
template <>
constexpr const char* enum_name<ReluPreMode>() {
    return "ReluPreMode";
}
template <>
constexpr const char* enum_name<STPhase>() {
    return "STPhase";
}
template <>
constexpr const char* enum_name<AccToVecMode>() {
    return "AccToVecMode";
}
template <>
constexpr const char* enum_name<RoundMode>() {
    return "RoundMode";
}
template <>
constexpr const char* enum_name<SaturationMode>() {
    return "SaturationMode";
}
template <>
constexpr const char* enum_name<CmpMode>() {
    return "CmpMode";
}
template <>
constexpr const char* enum_name<Coalesce>() {
    return "Coalesce";
}
template <>
constexpr const char* enum_name<GatherOOB>() {
    return "GatherOOB";
}
template <>
constexpr const char* enum_name<ScatterOOB>() {
    return "ScatterOOB";
}
template <>
constexpr const char* enum_name<ScatterAtomicOp>() {
    return "ScatterAtomicOp";
}
template <>
constexpr const char* enum_name<ScatterConflict>() {
    return "ScatterConflict";
}
template <>
constexpr const char* enum_name<SyncCoreType>() {
    return "SyncCoreType";
}
template <>
constexpr const char* enum_name<SyncAllMode>() {
    return "SyncAllMode";
}
template <>
constexpr const char* enum_name<MxGroupAxis>() {
    return "MxGroupAxis";
}
template <>
constexpr const char* enum_name<PrintFormat>() {
    return "PrintFormat";
}
template <>
constexpr const char* enum_name<NotifyOp>() {
    return "NotifyOp";
}
template <>
constexpr const char* enum_name<ReduceOp>() {
    return "ReduceOp";
}
template <>
constexpr const char* enum_name<TInsertMode>() {
    return "TInsertMode";
}
template <>
constexpr const char* enum_name<GatherExec>() {
    return "GatherExec";
}
template <>
constexpr const char* enum_name<MaskPattern>() {
    return "MaskPattern";
}
template <>
constexpr const char* enum_name<MaskAxis>() {
    return "MaskAxis";
}
template <>
constexpr const char* enum_name<QuantType>() {
    return "QuantType";
}
template <>
constexpr const char* enum_name<QuantScaleAlg>() {
    return "QuantScaleAlg";
}
template <>
constexpr const char* enum_name<VecStoreMode>() {
    return "VecStoreMode";
}
template <>
constexpr const char* enum_name<MxQuantAlg>() {
    return "MxQuantAlg";
}
template <>
constexpr const char* enum_name<SetFmatrixMode>() {
    return "SetFmatrixMode";
}
template <>
constexpr const char* enum_name<TileSplitAxis>() {
    return "TileSplitAxis";
}
template <>
constexpr const char* enum_name<Direction>() {
    return "Direction";
}
template <>
constexpr const char* enum_name<AccPhase>() {
    return "AccPhase";
}
template <>
constexpr const char* enum_name<GatherAxis>() {
    return "GatherAxis";
}
template <>
constexpr const char* enum_name<ScatterAxis>() {
    return "ScatterAxis";
}
template <>
constexpr const char* enum_name<HistByte>() {
    return "HistByte";
}
template <>
constexpr const char* enum_name<TFillPadMode>() {
    return "TFillPadMode";
}
template <>
constexpr const char* enum_name<TileLayoutCustom>() {
    return "TileLayoutCustom";
}
template <>
constexpr const char* enum_name<TCopyMode>() {
    return "TCopyMode";
}
template <>
constexpr const char* enum_name<PowAlgorithm>() {
    return "PowAlgorithm";
}
template <>
constexpr const char* enum_name<DivAlgorithm>() {
    return "DivAlgorithm";
}
template <>
constexpr const char* enum_name<SqrtAlgorithm>() {
    return "SqrtAlgorithm";
}
template <>
constexpr const char* enum_name<RsqrtAlgorithm>() {
    return "RsqrtAlgorithm";
}
template <>
constexpr const char* enum_name<RecipAlgorithm>() {
    return "RecipAlgorithm";
}
template <>
constexpr const char* enum_name<ExpAlgorithm>() {
    return "ExpAlgorithm";
}
template <>
constexpr const char* enum_name<LogAlgorithm>() {
    return "LogAlgorithm";
}
template <>
constexpr const char* enum_name<FmodAlgorithm>() {
    return "FmodAlgorithm";
}
template <>
constexpr const char* enum_name<FmodSAlgorithm>() {
    return "FmodSAlgorithm";
}
template <>
constexpr const char* enum_name<RemAlgorithm>() {
    return "RemAlgorithm";
}
template <>
constexpr const char* enum_name<RemSAlgorithm>() {
    return "RemSAlgorithm";
}
template <>
constexpr const char* enum_name<event_t>() {
    return "event_t";
}
template <>
constexpr const char* enum_name<dcci_t>() {
    return "dcci_t";
}
template <>
constexpr const char* enum_name<dcci_to_t>() {
    return "dcci_to_t";
}
template <>
constexpr const char* enum_name<mem_dsb_t>() {
    return "mem_dsb_t";
}
template <>
constexpr const char* enum_name<pipe_t>() {
    return "Pipe";
}
template <>
constexpr const char* enum_name<Op>() {
    return "Op";
}
}  // namespace pto
