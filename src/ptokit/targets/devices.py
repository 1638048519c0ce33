"""The devices that the library is made for: A2/A3 (Ascend 910B, 910C) and A5 (Ascend 950)."""

from dataclasses import replace

from ptokit.types.dtypes import hif4
from ptokit.types.enums import BLayout

from .base import BASE_DTYPES, DEVICE_8BIT_AND_4BIT, KIB, Target, in_kib

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

A5 = Target(
    name="a5",
    title="A5 (Ascend 950)",
    arch="a5",
    capacity=in_kib(Vec=256, Mat=512, Left=64, Right=64, Acc=256, Bias=4, Scaling=4, ScaleLeft=4, ScaleRight=4),
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
