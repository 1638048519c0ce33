"""What the fix-pipe does to an accumulator that is pushed into a pipe, as an initialize op states it.

Source: PTOAS of August 2026, fix-pipe pipes; pto-isa FixpipeParams.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ptokit.records import dataclass
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import BLayout, ReluPreMode, SLayout

_PAIR = re.compile(r"(\w+)\s*=\s*(\w+)")
_LAYOUTS = {
    "nz2nd": (BLayout.RowMajor, SLayout.NoneBox),
    "nz2dn": (BLayout.ColMajor, SLayout.NoneBox),
    "nz2nz": (BLayout.ColMajor, SLayout.RowMajor),
}
_GIVES = {"f16": "f16", "bf16": "bf16", "hif8": "hif8", "fp8": "e4m3", "req8": "i8", "b8": "i8"}
"""Element type of the result, by a part of the word of the quantisation."""

_SIGNED = 1 << 46


@dataclass
class Epilogue:
    """Layout of the slots, quantisation and relu; and the word or tile of words that was set last."""

    blayout: BLayout
    slayout: SLayout
    quant: str
    relu: ReluPreMode
    words: Any = None

    def applied(self, source: DType) -> tuple[DType, dict[str, Any]]:
        """Element type of a slot, and what the instruction that fills it is given."""
        name = next((gives for part, gives in _GIVES.items() if part in self.quant.replace("f322", "_")), None)
        dtype = source if name is None else DTYPES[name]
        given: dict[str, Any] = {"relu": self.relu}
        if self.quant.endswith("_vec"):
            given["fp"] = self.words
        elif self.quant.endswith("_scalar"):
            scale = 1.0 if self.words is None else self.words
            given["quant"] = int(np.float32(scale).view(np.uint32)) | (_SIGNED if dtype.signed else 0)
        return dtype, given


def epilogue_of(text: Any) -> Epilogue | None:
    """The epilogue that an attribute spells; None for none."""
    words = dict(_PAIR.findall(str(text or "")))
    if not words:
        return None
    blayout, slayout = _LAYOUTS[words.get("layout", "nz2nd")]
    relu = ReluPreMode.NormalRelu if words.get("relu", "no_relu") != "no_relu" else ReluPreMode.NoRelu
    return Epilogue(blayout, slayout, words.get("quant", "no_convert"), relu)
