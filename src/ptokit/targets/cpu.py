"""The host simulator profile: seed type table, whole-tile padding, UB capacity of the CPU model."""

from ptokit.types.dtypes import hif4
from ptokit.types.enums import BLayout, TileType

from .base import BASE_DTYPES, KIB, Target

CPU = Target(
    name="cpu",
    title="CPU profile (functional model)",
    arch="cpu",
    capacity={
        TileType.Vec: 512 * KIB,
        TileType.Mat: 512 * KIB,
        TileType.Left: 64 * KIB,
        TileType.Right: 64 * KIB,
        TileType.Acc: 256 * KIB,
        TileType.Bias: 4 * KIB,
        TileType.Scaling: 4 * KIB,
        TileType.ScaleLeft: 4 * KIB,
        TileType.ScaleRight: 4 * KIB,
    },
    without=frozenset({hif4}),
    dtypes=BASE_DTYPES,
    left_blayout=BLayout.ColMajor,
    pads_whole_tile=True,
    in_order=frozenset({"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"}),
    is_device=False,
)
