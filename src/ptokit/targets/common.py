"""Facts that several targets share."""

from ptokit.types.dtypes import DTYPES, HALVES

BASE_DTYPES = frozenset(DTYPES[n] for n in ["f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
DEVICE_8BIT_AND_4BIT = frozenset(DTYPES[n] for n in ["e4m3", "e5m2", "e8m0", "hif8", "e2m1", "e1m2"]) | HALVES.keys()
KIB = 1024

COMMUNICATION = frozenset(
    "TPUT TGET TBROADCAST TREDUCE TNOTIFY TWAIT TTEST GROUP_GATHER GROUP_SCATTER MAKE_GROUP comm.tbroadcast "
    "comm.tgather comm.tscatter comm.treduce comm.tput comm.tget build_async_session tput_async tget_async "
    "wait_async_event test_async_event TPREFETCH_ASYNC make_prefetch_async_context prefetch_async prefetch_wait "
    "get_prefetch_async_session".split()
)
"""Instructions, by C++ name, that move between devices or work beside all pipes."""
CORE_PIPES = frozenset(
    "TPUSH TPOP TFREE TALLOC aic_initialize_pipe tpush_to_aic tpop_from_aic tfree_from_aic talloc_to_aic "
    "aiv_initialize_pipe tpush_to_aiv tpop_from_aiv tfree_from_aiv talloc_to_aiv reserve_buffer import_reserved_buffer "
    "initialize_l2g2l_pipe initialize_l2l_pipe declare_global".split()
)
"""Instructions of pipes between cores."""
