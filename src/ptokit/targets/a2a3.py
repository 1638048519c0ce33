"""A2/A3 (Ascend 910B, 910C)."""

from ptokit.types.dtypes import hif4
from ptokit.types.enums import BLayout

from .base import BASE_DTYPES, KIB, Target, in_kib

A2A3 = Target(
    name="a2a3",
    title="A2/A3 (Ascend 910B/910C)",
    arch="a3",
    capacity=in_kib(Vec=192, Mat=512, Left=64, Right=64, Acc=128, Bias=1, Scaling=2, ScaleLeft=0, ScaleRight=0),
    without=frozenset({hif4}),
    dtypes=BASE_DTYPES,
    left_blayout=BLayout.RowMajor,
    pads_whole_tile=False,
    in_order=frozenset({"S", "M", "FIX", "MTE1"}),
    one_flag_per_id=frozenset({"MTE3"}),  # PTOAS issue 823: 5 hangs of 5
    hf32_bits=11,
    transfers_state_gaps=True,
    scratch_ub=8 * KIB,
    vector_registers=False,
    pipes_are_local=False,
)
