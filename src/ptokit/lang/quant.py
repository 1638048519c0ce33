"""Quantisation words of the fix-pipe, from what is in them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ptokit.isa.numerics.quant import Word

from . import rules
from .scalar import Scalar
from .where import refusal


def quant(scale: Any, zero: Any = 0, *, signed: bool = True, shift: Any = 1) -> Any:
    """The quantisation word of TSTORE, TMOV and TEXTRACT: ``pto.TSTORE(c, acc, pto.quant(0.125))``.

    | bits | field | counts for |
    |---|---|---|
    | 31..0 | ``scale`` as f32; of a word in a Scaling tile the upper 19 bits only | all but shifts |
    | 35..32 | ``shift`` - 1, with ``shift`` 1 to 16 | i32 to i16 |
    | 45..37 | ``zero``, 0 to 511, added after rounding | 8-bit results |
    | 46 | ``signed``: results are -128..127, else 0..255 | 8-bit results |

    The others are 0. A number gives an int. Arrays give an array of uint64, one word for each column, for a Scaling
    tile. Raises `DiagnosticError` (LANG-CALL) for a value that its field cannot hold, and for one that only a run
    knows. Source: load-store 6.2, move-gather-scatter 6.1.
    """
    if any(isinstance(value, Scalar) for value in (scale, zero, shift)):
        message = "the fields of a quantisation word are numbers that are known before the kernel runs"
        raise refusal(rules.CALL, message, hint="make the word outside of the kernel, and give it as an argument")
    try:
        words = Word.make(scale, zero, signed, shift)
    except (ValueError, TypeError, OverflowError) as error:
        raise refusal(rules.CALL, f"quant: {error}") from None
    return int(words) if words.ndim == 0 else np.ascontiguousarray(words)
