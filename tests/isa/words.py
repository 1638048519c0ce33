"""Parameter words of the fix-pipe, put together from their parts (load-store 6.2)."""

from __future__ import annotations

import numpy as np


def quant_word(scale: float, offset: int = 0, signed: bool = False, shift: int = 0) -> int:
    """An f32 scale, an offset of 9 bits, the signedness of 8-bit results, and a shift less one."""
    bits = int(np.float32(scale).view(np.uint32))
    return bits | (shift & 0xF) << 32 | (offset & 0x1FF) << 37 | int(signed) << 46
