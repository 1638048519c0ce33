"""Facts that several targets share."""

from ptokit.types.dtypes import DTYPES, HALVES

BASE_DTYPES = frozenset(DTYPES[n] for n in ["f32", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
DEVICE_8BIT_AND_4BIT = frozenset(DTYPES[n] for n in ["e4m3", "e5m2", "e8m0", "hif8", "e2m1", "e1m2"]) | HALVES.keys()
KIB = 1024
