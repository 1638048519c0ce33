"""A5 (Ascend 950)."""

from dataclasses import replace

from ptokit.types.dtypes import hif4
from ptokit.types.enums import BLayout, TileType

from .base import BASE_DTYPES, DEVICE_8BIT_AND_4BIT, KIB, Target

A5 = Target(
    name="a5",
    title="A5 (Ascend 950)",
    arch="a5",
    capacity={
        TileType.Vec: 256 * KIB,
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
    dtypes=BASE_DTYPES | DEVICE_8BIT_AND_4BIT,
    left_blayout=BLayout.ColMajor,
    pads_whole_tile=False,
    in_order=frozenset({"S", "V", "M", "FIX", "MTE1"}),
    waits_hold_core=False,
    flags_name_subcore=True,
    pads_64_bits=False,
    hf32_bits=10,
    vendor_ub=8 * KIB,
    thread_ub=40 * KIB,
    predicate_units=1023,
    barrier_pipes=frozenset({"MTE2", "MTE3"}),
)

A5_TEMPLATES = replace(A5, templates=True, lifted=frozenset({"FILL-COM-03", "GEMV-COM-02", "LOAD-A5-06", "TILE-04"}))
"""A5, where the assembler expands tile operations with templates of its own, which take the place of the library.

What only static_asserts of the library say does not hold for them.
"""
