"""Sets of element types, and the per-target type columns of an instruction (compute-elementwise 0 and 3).

The columns are keyed by target name. ``asm-a2a3`` and ``asm-a5`` are the narrower lists of the reference assembler,
which binds `.pto` text only.
"""

from __future__ import annotations

from collections.abc import Mapping

from ptokit.types.dtypes import DTYPES, DType

TypeSet = frozenset[DType]
Types = Mapping[str, TypeSet]


def types_of(names: str) -> TypeSet:
    """The types with these short names, separated by blanks."""
    return frozenset(DTYPES[n] for n in names.split())


NONE = types_of("")
F = types_of("f16 f32")
FB = types_of("f16 bf16 f32")
F32 = types_of("f32")
BF16 = types_of("bf16")
HALF = types_of("f16 bf16")
BYTE_FLOATS = types_of("e4m3 e5m2 hif8")
INT16_32 = types_of("i16 u16 i32 u32")
INT64 = types_of("i64 u64")
I6 = INT16_32 | types_of("i8 u8")
I8 = I6 | INT64
N4 = F | types_of("i16 i32")
N9 = FB | INT16_32 | INT64
N11 = FB | I8
D8 = F | INT16_32 | INT64
I32_F32 = types_of("i32 f32")

# The assembler looks at integer widths, not signs.
ASM_8 = types_of("i8 u8")
ASM_16 = types_of("i16 u16")
ASM_8_16 = ASM_8 | ASM_16
ASM_INT = I6
ASM_N4 = F | INT16_32
ASM_I32_F = F | types_of("i32 u32")
ASM_I32_F32 = types_of("i32 u32 f32")


def types(
    a2a3: TypeSet,
    a5: TypeSet,
    *,
    cpu: TypeSet | None = None,
    asm: TypeSet | tuple[TypeSet, TypeSet] | None = None,
    bf16: bool = True,
) -> Types:
    """Columns of one instruction.

    The cpu column defaults to the union of the device columns, with bf16 where both other float types are in it and
    ``bf16`` is true: the simulator's float operations take it. ``asm`` is one list or (a2a3 list, a5 list); None where
    the assembler does not know the instruction.
    """
    host = a2a3 | a5 if cpu is None else cpu
    if cpu is None and bf16 and host >= F:
        host |= BF16
    columns = {"cpu": host, "a2a3": a2a3, "a5": a5}
    if asm is not None:
        columns["asm-a2a3"], columns["asm-a5"] = asm if isinstance(asm, tuple) else (asm, asm)
    return columns


def names(allowed: TypeSet) -> str:
    """The set in the order of the type table, for messages."""
    return " ".join(n for n, t in DTYPES.items() if t in allowed) or "no type"
