"""A2/A3 (Ascend 910B, 910C)."""

from ptokit.types.dtypes import hif4
from ptokit.types.enums import BLayout, TileType

from .base import BASE_DTYPES, KIB, Target

A2A3 = Target(
    name="a2a3",
    title="A2/A3 (Ascend 910B/910C)",
    arch="a3",
    capacity={
        TileType.Vec: 192 * KIB,
        TileType.Mat: 512 * KIB,
        TileType.Left: 64 * KIB,
        TileType.Right: 64 * KIB,
        TileType.Acc: 128 * KIB,
        TileType.Bias: 1 * KIB,
        TileType.Scaling: 2 * KIB,
        TileType.ScaleLeft: 0,
        TileType.ScaleRight: 0,
    },
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
