"""A6 (dav-920r1): the registers and buffers of A5, HiFloat4, and the few tile instructions its library has yet."""

from dataclasses import replace

from ptokit.diagnostics import family
from ptokit.diagnostics.rules import need
from ptokit.types.dtypes import hif4

from .base import A5, COMMUNICATION, CORE_PIPES

_FLAGS = ("S", "M", "MTE1", "MTE2", "MTE3", "FIX")
_rule = family("library headers for a6", "A6-", targets=("a6",), evidence="static_assert")

FLAGS = _rule("01", "set_flag(PIPE_MTE2, PIPE_{MTE3|V}, EVENT_ID0)")(
    "set_flag and wait_flag are between S, M, MTE1, MTE2, MTE3 and FIX.",
    "src_pipe is None or src_pipe.name in _FLAGS",
    "set_flag and wait_flag of a6 do not take {src_pipe.text}; use pipe_barrier, or an event, which is a barrier there",
    "dst_pipe is None or dst_pipe.name in _FLAGS",
    "set_flag and wait_flag of a6 do not take {dst_pipe.text}; use pipe_barrier, or an event, which is a barrier there",
)

HIF4 = _rule(
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
