"""Targets that are like A5.

Kirin 9030: its registers and library with half of its buffers, no bf16 and no floats of 8 and 4 bits. A6 (dav-920r1):
its registers and buffers, HiFloat4, and the few tile instructions that its library has yet.
"""

from dataclasses import replace

from ptokit.diagnostics import family
from ptokit.diagnostics.rules import need
from ptokit.types.dtypes import DTYPES, hif4

from .base import A5, COMMUNICATION, CORE_PIPES, DEVICE_8BIT_AND_4BIT, in_kib

_of_kirin = family("library headers for kirin9030", "K90-", targets=("kirin9030",), evidence="static_assert")

LOADS = _of_kirin(
    "01",
    """
        x: Ptr[f16]
        TLOAD(Tile({Vec|Mat}, f16, 32, 32, ColMajor{|, slayout=SLayout.RowMajor}), GlobalTensor(x, (32, 32), (1, 32),
            layout=Layout.DN))
    """,
)(
    "TLOAD does not turn a DN view into an Nz tile of L1.",
    "not dst.boxed if dst.loc is Mat and src.layout is Layout.DN",
    "{src} is DN and {dst} is a mat tile in {dst.layout_name}; kirin9030 has no such transfer",
)
STORES = _of_kirin(
    "02", "x: Ptr[f32]; TSTORE(GlobalTensor(x, (32, 32)), Tile(Vec, f32, 32, 32){|, atomic=AtomicType.AtomicAdd})"
)(
    "TSTORE and TSTORE_FP replace what global memory holds.",
    "atomic is AtomicType.AtomicNone",
    "kirin9030 cannot add to global memory; load the other part, add it, and store the sum",
)
DRAINS = _of_kirin(
    "03", "x: Ptr[i32]; TSTORE(GlobalTensor(x, {(32, 32)|(1, 4, 8, 32), layout=Layout.NHWC}), TileAcc(i32, 32, 32))"
)(
    "An accumulator is stored to ND and NZ views.",
    "dst.layout in (None, Layout.ND, Layout.NZ) if src.loc is Acc",
    "{dst} is {dst.layout.name}; kirin9030 stores accumulators to ND and NZ",
)
NARROW = _of_kirin("04", "t = Tile(Vec, i{32|64}, 16, 64); TSUBS(t, t, 1)")(
    "TSUBS, TREM, TREMS and TGATHER take elements of at most 32 bits.",
    "dst.dtype.bits <= 32",
    "{dst} has elements of {dst.dtype}; {instr.name} takes at most 32 bits on kirin9030",
)
OPERANDS = _of_kirin(
    "05", "TMOV(TileLeft({f16|f32}, 32, 32), Tile(Mat, {f16|f32}, 32, 32, ColMajor, slayout=SLayout.RowMajor))"
)(
    "What TMOV and TEXTRACT bring to L0A and L0B is f16 or i8; a bias is f16 or i32.",
    "dst.dtype.name in ('f16', 'i8') if dst.loc in (Left, Right)",
    "{dst} has elements of {dst.dtype}; the cube unit of kirin9030 multiplies f16 and i8",
    "dst.dtype.name in ('f16', 'i32') if dst.loc is Bias",
    "{dst} has elements of {dst.dtype}; accumulators of kirin9030 are f16 and i32",
)
FLOATS = _of_kirin("06", "SETTF32MODE({False|True})")(
    "The TF32 mode stays off.", "not enable", "the cube unit of kirin9030 multiplies no f32 and has no TF32 mode"
)

KIRIN9030 = replace(
    A5,
    name="kirin9030",
    title="Kirin 9030",
    arch="kirin9030",
    capacity=in_kib(Vec=128, Mat=512, Left=32, Right=32, Acc=64, Bias=1, Scaling=7, ScaleLeft=0, ScaleRight=0),
    dtypes=A5.dtypes - DEVICE_8BIT_AND_4BIT - {DTYPES["bf16"]},
    vendor_ub=0,  # no public file says what is kept from users
    thread_ub=0,
    hf32_bits=None,
    accumulators=("f16", "i32"),
    assembled=False,
    barrier_pipes=frozenset({"M", "MTE1", "MTE2", "MTE3", "FIX"}),
    like=A5,
    without=DEVICE_8BIT_AND_4BIT | {DTYPES["bf16"]},
    lacks=COMMUNICATION
    | CORE_PIPES
    | frozenset(
        "TADDC TADDDEQRELU TADDRELU TADDRELUCONV TADDSC TDEINTERLEAVE TEXTRACT2 TFUSEDMULADD TFUSEDMULADDRELU TIMG2COL "
        "TINTERLEAVE TMATMUL_MX TMATMUL_MX_ACC TMATMUL_MX_BIAS TGEMV_MX TGEMV_MX_ACC TGEMV_MX_BIAS TMULADDDST TPACK "
        "TPREFETCH TPRINT TPairReduceSum TQUANT_MX TRANDOM TSUBC TSUBRELU TSUBRELUCONV TSUBSC MGATHER MSCATTER "
        "SETHF32MODE SET_IMG2COL_RPT SET_IMG2COL_PADDING SYNCALL".split()
    ),
    added={
        "TLOAD": (LOADS,),
        **dict.fromkeys(("TSTORE", "TSTORE_FP"), (STORES, DRAINS)),
        **dict.fromkeys(("TSUBS", "TREM", "TREMS", "TGATHER"), (NARROW,)),
        **dict.fromkeys(("TMOV", "TEXTRACT"), (OPERANDS,)),
        "SETTF32MODE": (FLOATS,),
    },
)

_FLAGS = ("S", "M", "MTE1", "MTE2", "MTE3", "FIX")
_of_a6 = family("library headers for a6", "A6-", targets=("a6",), evidence="static_assert")

FLAGS = _of_a6("01", "set_flag(PIPE_MTE2, PIPE_{MTE3|V}, EVENT_ID0)")(
    "set_flag and wait_flag are between S, M, MTE1, MTE2, MTE3 and FIX.",
    "src_pipe is None or src_pipe.name in _FLAGS",
    "set_flag and wait_flag of a6 do not take {src_pipe.text}; use pipe_barrier, or an event, which is a barrier there",
    "dst_pipe is None or dst_pipe.name in _FLAGS",
    "set_flag and wait_flag of a6 do not take {dst_pipe.text}; use pipe_barrier, or an event, which is a barrier there",
)

HIF4 = _of_a6(
    "02",
    """
        src = Tile(Vec, bf16, 16, 64{|, valid_col=60})
        dst, exp, most = Tile(Vec, e1m2, 16, 64), Tile(Vec, u8, 1, 1024), Tile(Vec, bf16, 1, 1024)
        TQUANT_MX(dst, src, exp, most, Tile(Vec, bf16, 1, 1024), alg=MxQuantAlg.Hif4)
    """,
    evidence="device",
)(
    """HiFloat4 takes whole rows, all of them valid, in groups of 64 along columns, and a multiple of 1024 elements.

    The library has empty functions for rows with a rest, and the stores of scales come in blocks of 16 groups.
    """,
    "grp_axis == 1 if alg is MxQuantAlg.Hif4",
    "groups of HiFloat4 lie along columns",
    "src.cols % 64 == 0 if alg is MxQuantAlg.Hif4",
    "{src} has {src.cols} columns, not a multiple of 64",
    "src.vc == src.cols if alg is MxQuantAlg.Hif4",
    "{src} has {src.vc} valid columns of {src.cols}; the library quantises nothing then",
    need(
        "src.vr * src.cols % 1024 == 0 if alg is MxQuantAlg.Hif4 and known(src.vr)",
        "{src} has {src.vr * src.cols} elements; the library stores scales in blocks of 1024, no test of it has a rest",
        doubt="True",
    ),
)

A6 = replace(
    A5,
    name="a6",
    title="A6 (dav-920r1)",
    arch="a6",
    dtypes=A5.dtypes | {hif4},
    vendor_ub=0,  # no public file says what is kept from users
    thread_ub=0,
    assembled=False,
    event_pipes=frozenset({"S", "MTE1", "MTE2", "MTE3", "FIX"}),
    like=A5,
    lacks=COMMUNICATION
    | CORE_PIPES
    | frozenset(
        "MGATHER MSCATTER SETFMATRIX SETHF32MODE SETTF32MODE SET_IMG2COL_PADDING SET_IMG2COL_RPT TABS TADDC "
        "TADDDEQRELU TADDRELU TADDRELUCONV TADDS TADDSC TAND TANDS TAXPY TCI TCMP TCMPS TCOLARGMAX TCOLARGMIN "
        "TCOLEXPAND TCOLEXPANDADD TCOLEXPANDDIV TCOLEXPANDEXPDIF TCOLEXPANDMAX TCOLEXPANDMIN TCOLEXPANDMUL "
        "TCOLEXPANDSUB TCOLMAX TCOLMIN TCOLPROD TCOLSUM TCONCAT TCONCATIDX TCVT TDEINTERLEAVE TDEQUANT TDIV TDIVS "
        "TEXP TEXPANDS TEXTRACT2 TFILLPAD TFILLPAD_EXPAND TFILLPAD_INPLACE TFMOD TFMODS TFUSEDMULADD TFUSEDMULADDRELU "
        "TGATHER TGATHERB TGET_SCALE_ADDR THISTOGRAM TIMG2COL TINSERT TINSERT_FP TINTERLEAVE TLOG TLRELU TMAX TMAXS "
        "TMIN TMINS TMOV TMOV_FP TMRGSORT TMUL TMULADDDST TMULS TNEG TNOT TOR TORS TPACK TPARTADD TPARTARGMAX "
        "TPARTARGMIN TPARTMAX TPARTMIN TPARTMUL TPOW TPOWS TPREFETCH TPRELU TPRINT TPairReduceSum TRANDOM TRECIP "
        "TRELU TREM TREMS TROWARGMAX TROWARGMIN TROWEXPAND TROWEXPANDADD TROWEXPANDDIV TROWEXPANDEXPDIF TROWEXPANDMAX "
        "TROWEXPANDMIN TROWEXPANDMUL TROWEXPANDSUB TROWMAX TROWMIN TROWPROD TROWSUM TRSQRT TSCATTER TSEL TSELS TSHL "
        "TSHLS TSHR TSHRS TSORT32 TSQRT TSUB TSUBC TSUBRELU TSUBRELUCONV TSUBS TSUBSC TTRANS TTRI TXOR TXORS".split()
    ),
    added={
        **dict.fromkeys(("set_flag", "wait_flag", "set_flag_dyn", "wait_flag_dyn"), (FLAGS,)),
        "TQUANT_MX": (HIF4,),
    },
)
