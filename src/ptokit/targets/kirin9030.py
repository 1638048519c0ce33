"""Kirin 9030: the registers and library of A5 with half of its buffers, no bf16 and no floats of 8 and 4 bits."""

from dataclasses import replace

from ptokit.diagnostics import family
from ptokit.types.dtypes import DTYPES

from .base import A5, COMMUNICATION, CORE_PIPES, DEVICE_8BIT_AND_4BIT, in_kib

_rule = family("library headers for kirin9030", "K90-", targets=("kirin9030",), evidence="static_assert")

LOADS = _rule(
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
STORES = _rule(
    "02", "x: Ptr[f32]; TSTORE(GlobalTensor(x, (32, 32)), Tile(Vec, f32, 32, 32){|, atomic=AtomicType.AtomicAdd})"
)(
    "TSTORE and TSTORE_FP replace what global memory holds.",
    "atomic is AtomicType.AtomicNone",
    "kirin9030 cannot add to global memory; load the other part, add it, and store the sum",
)
DRAINS = _rule(
    "03", "x: Ptr[i32]; TSTORE(GlobalTensor(x, {(32, 32)|(1, 4, 8, 32), layout=Layout.NHWC}), TileAcc(i32, 32, 32))"
)(
    "An accumulator is stored to ND and NZ views.",
    "dst.layout in (None, Layout.ND, Layout.NZ) if src.loc is Acc",
    "{dst} is {dst.layout.name}; kirin9030 stores accumulators to ND and NZ",
)
NARROW = _rule("04", "t = Tile(Vec, i{32|64}, 16, 64); TSUBS(t, t, 1)")(
    "TSUBS, TREM, TREMS and TGATHER take elements of at most 32 bits.",
    "dst.dtype.bits <= 32",
    "{dst} has elements of {dst.dtype}; {instr.name} takes at most 32 bits on kirin9030",
)
OPERANDS = _rule(
    "05", "TMOV(TileLeft({f16|f32}, 32, 32), Tile(Mat, {f16|f32}, 32, 32, ColMajor, slayout=SLayout.RowMajor))"
)(
    "What TMOV and TEXTRACT bring to L0A and L0B is f16 or i8; a bias is f16 or i32.",
    "dst.dtype.name in ('f16', 'i8') if dst.loc in (Left, Right)",
    "{dst} has elements of {dst.dtype}; the cube unit of kirin9030 multiplies f16 and i8",
    "dst.dtype.name in ('f16', 'i32') if dst.loc is Bias",
    "{dst} has elements of {dst.dtype}; accumulators of kirin9030 are f16 and i32",
)
FLOATS = _rule("06", "SETTF32MODE({False|True})")(
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
