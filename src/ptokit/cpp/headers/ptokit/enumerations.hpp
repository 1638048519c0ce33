// Made by tools/headers.py.
#pragma once

#pragma push_macro("PIPE_FIX")
#undef PIPE_FIX
enum pipe_t : int32_t {
    PIPE_S = 0, PIPE_V = 1, PIPE_M = 2, PIPE_MTE1 = 3, PIPE_MTE2 = 4, PIPE_MTE3 = 5, PIPE_V2 = 6, PIPE_ALL = 7,
    PIPE_MTE4 = 8, PIPE_MTE5 = 9, PIPE_FIX = 10, VIRTUAL_PIPE_MTE2_L1A = 11, VIRTUAL_PIPE_MTE2_L1B = 12,
    PIPE_NUM = 13, PIPE_UNASSIGNED = 14,
};
#pragma pop_macro("PIPE_FIX")
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
enum dist_t : int32_t {
    NORM = 0, NORM_B8 = 1, NORM_B16 = 2, NORM_B32 = 3, BRC_B8 = 4, BRC_B16 = 5, BRC_B32 = 6, BRC_BLK = 7, BLK = 8,
    US = 9, US_B8 = 10, US_B16 = 11, DS = 12, DS_B8 = 13, DS_B16 = 14, UNPK_B8 = 15, UNPK_B16 = 16, UNPK_B32 = 17,
    UNPK4 = 18, UNPK4_B8 = 19, E2B_B16 = 20, E2B_B32 = 21, SPLT2CHN_B8 = 22, SPLT2CHN_B16 = 23, SPLT4CHN = 24,
    SPLT4CHN_B8 = 25, DINTLV_B8 = 26, DINTLV_B16 = 27, DINTLV_B32 = 28, BDINTLV = 29, INTLV_B8 = 30, INTLV_B16 = 31,
    INTLV_B32 = 32, PK = 33, PK_B16 = 34, PK_B32 = 35, PK_B64 = 36, PK4 = 37, PK4_B32 = 38, ONEPT_B8 = 39,
    ONEPT_B16 = 40, ONEPT_B32 = 41, MRG4CHN_B8 = 42, MRG2CHN_B8 = 43, MRG2CHN_B16 = 44,
};
enum mem_bar_t : int32_t {
    VV_ALL = 0, VST_VLD = 1, VLD_VST = 2, VST_VST = 3, VS_ALL = 4, VST_LD = 5, VLD_ST = 6, VST_ST = 7, SV_ALL = 8,
    ST_VLD = 9, LD_VST = 10, ST_VST = 11, SS_ALL = 12, ST_LD = 13, LD_ST = 14, ST_ST = 15,
};
enum pat_t : int32_t {
    PAT_ALL = 0, PAT_ALLF = 1, PAT_VL1 = 2, PAT_VL2 = 3, PAT_VL3 = 4, PAT_VL4 = 5, PAT_VL8 = 6, PAT_VL16 = 7,
    PAT_VL32 = 8, PAT_VL64 = 9, PAT_VL128 = 10, PAT_H = 11, PAT_Q = 12, PAT_M3 = 13, PAT_M4 = 14,
};
enum part_t : int32_t {
    PART_EVEN = 0, PART_ODD = 1, PART_P0 = 2, PART_P1 = 3, PART_P2 = 4, PART_P3 = 5,
};
enum half_t : int32_t {
    LOWER = 0, HIGHER = 1,
};
enum round_t : int32_t {
    ROUND_R = 0, ROUND_A = 1, ROUND_F = 2, ROUND_C = 3, ROUND_Z = 4, ROUND_O = 5,
};
enum sat_t : int32_t {
    RS_ENABLE = 0, RS_DISABLE = 1,
};
enum order_t : int32_t {
    INC_ORDER = 0, DEC_ORDER = 1,
};
enum pos_t : int32_t {
    POS_LOWEST = 0, POS_HIGHEST = 1,
};
enum store_t : int32_t {
    MODE_NO_STORED = 0, MODE_STORED = 1,
};
enum post_t : int32_t {
    POST_UPDATE = 0,
};
enum spr_t : int32_t {
    SPR_AR = 0,
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
enum class AccPhase : int32_t {
    Unspecified = 0, Partial = 2, Final = 3, Unknown = 0,
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
enum Direction : int32_t {
    DIR_C2V = 1, DIR_V2C = 2, DIR_BOTH = 3, DIR_C2V_GM = 5, DIR_V2C_GM = 6, DIR_BOTH_GM = 7,
};
enum class WaitCmp : int32_t {
    EQ = 0, NE = 1, GT = 2, GE = 3, LT = 4, LE = 5,
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
    SETFMATRIX = 7, SETHF32MODE = 8, SETTF32MODE = 9, SET_IMG2COL_PADDING = 10, SET_IMG2COL_RPT = 11, SYNCALL = 12,
    TABS = 13, TADD = 14, TADDC = 15, TADDDEQRELU = 16, TADDRELU = 17, TADDRELUCONV = 18, TADDS = 19, TADDSC = 20,
    TAND = 21, TANDS = 22, TAXPY = 23, TBROADCAST = 24, TCI = 25, TCMP = 26, TCMPS = 27, TCOLARGMAX = 28,
    TCOLARGMIN = 29, TCOLEXPAND = 30, TCOLEXPANDADD = 31, TCOLEXPANDDIV = 32, TCOLEXPANDEXPDIF = 33,
    TCOLEXPANDMAX = 34, TCOLEXPANDMIN = 35, TCOLEXPANDMUL = 36, TCOLEXPANDSUB = 37, TCOLMAX = 38, TCOLMIN = 39,
    TCOLPROD = 40, TCOLSUM = 41, TCONCAT = 42, TCONCATIDX = 43, TCVT = 44, TDEINTERLEAVE = 45, TDEQUANT = 46,
    TDIV = 47, TDIVS = 48, TEXP = 49, TEXPANDS = 50, TEXPANDS_MAT = 51, TEXTRACT = 52, TEXTRACT2 = 53,
    TEXTRACT_A2M = 54, TEXTRACT_FP = 55, TEXTRACT_M2LR = 56, TEXTRACT_V2M = 57, TFILLPAD = 58, TFILLPAD_EXPAND = 59,
    TFILLPAD_INPLACE = 60, TFILLPAD_MAT = 61, TFILLPAD_VEC = 62, TFMOD = 63, TFMODS = 64, TFUSEDMULADD = 65,
    TFUSEDMULADDRELU = 66, TGATHER = 67, TGATHERB = 68, TGEMV = 69, TGEMV_ACC = 70, TGEMV_BIAS = 71, TGEMV_MX = 72,
    TGEMV_MX_ACC = 73, TGEMV_MX_BIAS = 74, TGET = 75, TGET_SCALE_ADDR = 76, THISTOGRAM = 77, TIMG2COL = 78,
    TINSERT = 79, TINSERT_A2M = 80, TINSERT_FP = 81, TINTERLEAVE = 82, TLOAD = 83, TLOG = 84, TLRELU = 85,
    TMATMUL = 86, TMATMUL_ACC = 87, TMATMUL_BIAS = 88, TMATMUL_MX = 89, TMATMUL_MX_ACC = 90, TMATMUL_MX_BIAS = 91,
    TMAX = 92, TMAXS = 93, TMIN = 94, TMINS = 95, TMOV = 96, TMOV_A2M = 97, TMOV_A2V = 98, TMOV_FP = 99,
    TMOV_M2B = 100, TMOV_M2L = 101, TMOV_M2R = 102, TMOV_M2S = 103, TMOV_V2M = 104, TMOV_V2V = 105, TMRGSORT = 106,
    TMUL = 107, TMULADDDST = 108, TMULS = 109, TNEG = 110, TNOT = 111, TNOTIFY = 112, TOR = 113, TORS = 114,
    TPACK = 115, TPAIRREDUCESUM = 116, TPARTADD = 117, TPARTARGMAX = 118, TPARTARGMIN = 119, TPARTMAX = 120,
    TPARTMIN = 121, TPARTMUL = 122, TPOW = 123, TPOWS = 124, TPREFETCH = 125, TPRELU = 126, TPRINT = 127, TPUT = 128,
    TQUANT = 129, TQUANT_MX = 130, TRANDOM = 131, TRECIP = 132, TREDUCE = 133, TRELU = 134, TREM = 135, TREMS = 136,
    TRESHAPE = 137, TROWARGMAX = 138, TROWARGMIN = 139, TROWEXPAND = 140, TROWEXPANDADD = 141, TROWEXPANDDIV = 142,
    TROWEXPANDEXPDIF = 143, TROWEXPANDMAX = 144, TROWEXPANDMIN = 145, TROWEXPANDMUL = 146, TROWEXPANDSUB = 147,
    TROWMAX = 148, TROWMIN = 149, TROWPROD = 150, TROWSUM = 151, TRSQRT = 152, TSCATTER = 153, TSEL = 154,
    TSELS = 155, TSHL = 156, TSHLS = 157, TSHR = 158, TSHRS = 159, TSORT32 = 160, TSQRT = 161, TSTORE = 162,
    TSTORE_ACC = 163, TSTORE_FP = 164, TSTORE_MAT = 165, TSTORE_VEC = 166, TSUB = 167, TSUBC = 168, TSUBRELU = 169,
    TSUBRELUCONV = 170, TSUBS = 171, TSUBSC = 172, TTEST = 173, TTRANS = 174, TTRI = 175, TWAIT = 176, TXOR = 177,
    TXORS = 178, VECTOR = 179, OP_COUNT = 180,
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
        case Op::SYNCALL:
        case Op::TCI:
        case Op::TGET_SCALE_ADDR:
        case Op::TNOTIFY:
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
constexpr const char* enum_name<AccPhase>() {
    return "AccPhase";
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
constexpr const char* enum_name<WaitCmp>() {
    return "WaitCmp";
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
constexpr const char* enum_name<dist_t>() {
    return "dist_t";
}
template <>
constexpr const char* enum_name<mem_bar_t>() {
    return "mem_bar_t";
}
template <>
constexpr const char* enum_name<pat_t>() {
    return "pat_t";
}
template <>
constexpr const char* enum_name<part_t>() {
    return "part_t";
}
template <>
constexpr const char* enum_name<half_t>() {
    return "half_t";
}
template <>
constexpr const char* enum_name<round_t>() {
    return "round_t";
}
template <>
constexpr const char* enum_name<sat_t>() {
    return "sat_t";
}
template <>
constexpr const char* enum_name<order_t>() {
    return "order_t";
}
template <>
constexpr const char* enum_name<pos_t>() {
    return "pos_t";
}
template <>
constexpr const char* enum_name<store_t>() {
    return "store_t";
}
template <>
constexpr const char* enum_name<post_t>() {
    return "post_t";
}
template <>
constexpr const char* enum_name<spr_t>() {
    return "spr_t";
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
