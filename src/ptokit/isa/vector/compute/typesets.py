"""Element types of the operations on registers, as vector-path 6 lists them; a signless iW counts as signed.

Decision: lists that say just "integers" include the 64-bit ones (open question 6).
"""

from __future__ import annotations

from ..words import types

F = types("f16 f32")
FB = types("f16 bf16 f32")
INT32 = types("i32 u32")
INTS = types("i8 u8 i16 u16 i32 u32 i64 u64")
I8_32_F = types("i8 u8 i16 u16 i32 u32 f16 f32")
I8_32_FB = types("i8 u8 i16 u16 i32 u32 f16 bf16 f32")
I8_64_FB = types("i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32")
I16_32_F = types("i16 u16 i32 u32 f16 f32")
I16_32_FB = types("i16 u16 i32 u32 f16 bf16 f32")
NARROW = types("i8 u8 i16 u16 i32 u32 f16 bf16 f32 e4m3 e5m2 hif8")
