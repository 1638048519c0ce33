"""Which quantisation the fix-pipe performs for a pair of types, per instruction form and target.

Facts: load-store 6.1 (TSTORE), move-gather-scatter 5.1 to 5.3 (TMOV). A pair that a table does not list is not
quantised: `QuantMode.NoQuant`. The tables say what the hardware selects, not what is legal; the verifier knows that.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from ptokit.targets import Target
from ptokit.types.dtypes import DTYPES, DType


class QuantMode(IntEnum):
    """Pre-quantisation modes; the values are the device's numbers (load-store 6.1, move-gather-scatter 5.3)."""

    NoQuant = 0
    F322F16 = 1
    VREQ8 = 2
    REQ8 = 3
    VDEQF16 = 4
    DEQF16 = 5
    VSHIFTS322S16 = 12
    SHIFTS322S16 = 13
    F322BF16 = 16
    VQF322B8_PRE = 23
    QF322B8_PRE = 24
    QF322HIF8_PRE = 25
    QF322FP8_PRE = 26
    QF322F32_PRE = 27
    VQF322HIF8_PRE = 28
    QF322F16_PRE = 32
    VQF322F16_PRE = 33
    QF322BF16_PRE = 34
    QS322BF16_PRE = 35
    VQF322BF16_PRE = 36
    VQF322FP8_PRE = 37
    VQF322F32_PRE = 38
    VQS322BF16_PRE = 39
    QF162B8_PRE = -1  # from here on: kirin9030, whose numbers no public source gives
    VQF162B8_PRE = -2
    QF162S16_PRE = -3
    VQF162S16_PRE = -4
    DEQS16 = -5
    VDEQS16 = -6

    @property
    def per_column(self) -> bool:
        """True for the vector modes: one parameter word per column, with a 19-bit scale."""
        return self.name.startswith("V")

    @property
    def scalar_mode(self) -> QuantMode:
        """The mode with the same arithmetic and one parameter word."""
        return QuantMode[self.name[1:]] if self.per_column else self

    def number(self, target: Target) -> int:
        """The number of the mode on a target; the host simulator's enumeration differs in one place."""
        return 36 if self is QuantMode.VQS322BF16_PRE and not target.is_device else int(self)


Modes = Mapping[tuple[DType, DType], QuantMode]


def _modes(table: str) -> dict[tuple[DType, DType], QuantMode]:
    """Parse lines ``src dst MODE``."""
    rows = (line.split() for line in table.strip().splitlines())
    return {(DTYPES[src], DTYPES[dst]): QuantMode[mode] for src, dst, mode in rows}


_CAST = _modes("""
f32 f16 F322F16
f32 bf16 F322BF16
""")
_SCALAR = _modes("""
f32 i8 QF322B8_PRE
f32 u8 QF322B8_PRE
f32 f16 QF322F16_PRE
f32 bf16 QF322BF16_PRE
i32 i8 REQ8
i32 u8 REQ8
i32 f16 DEQF16
""")
_VECTOR = _modes("""
f32 i8 VQF322B8_PRE
f32 u8 VQF322B8_PRE
i32 i8 VREQ8
i32 u8 VREQ8
i32 f16 VDEQF16
""")
_SHIFT_SCALAR = _modes("i32 i16 SHIFTS322S16")
_SHIFT_VECTOR = _modes("i32 i16 VSHIFTS322S16")
# The TMOV helper selects the vector mode for a scalar f32 to e4m3; both do the same with one word, so this is the
# scalar mode here too (move-gather-scatter D8).
_SCALAR_A5 = _SCALAR | _modes("""
f32 hif8 QF322HIF8_PRE
f32 e4m3 QF322FP8_PRE
i32 bf16 QS322BF16_PRE
""")
_VECTOR_A5 = _VECTOR | _modes("""
f32 f16 VQF322F16_PRE
f32 bf16 VQF322BF16_PRE
f32 hif8 VQF322HIF8_PRE
f32 e4m3 VQF322FP8_PRE
i32 bf16 VQS322BF16_PRE
""")
_TO_F32_SCALAR = _modes("f32 f32 QF322F32_PRE")
_TO_F32_VECTOR = _modes("f32 f32 VQF322F32_PRE")

_SCALAR_KIRIN9030 = _modes("""
i32 i8 REQ8
i32 u8 REQ8
i32 f16 DEQF16
i32 i16 DEQS16
f16 i8 QF162B8_PRE
f16 u8 QF162B8_PRE
f16 i16 QF162S16_PRE
""")
_VECTOR_KIRIN9030 = {pair: QuantMode[f"V{mode.name}"] for pair, mode in _SCALAR_KIRIN9030.items()}
# stores choose no mode for 16-bit integers
_STORED = {pair: mode for pair, mode in _SCALAR_KIRIN9030.items() if pair[1].name != "i16"}
_STORED_BY_COLUMN = {pair: QuantMode[f"V{mode.name}"] for pair, mode in _STORED.items()}

FORMS = ("cast", "scalar", "vector")
"""Forms of an instruction: without a parameter, with one word, with one word per column."""

STORE_MODES: dict[str, dict[str, Modes]] = {
    "cpu": {"cast": _CAST, "scalar": _SCALAR | _SHIFT_SCALAR, "vector": _VECTOR | _SHIFT_VECTOR},
    "a2a3": {"cast": _CAST, "scalar": _SCALAR | _SHIFT_SCALAR, "vector": _VECTOR | _SHIFT_VECTOR},
    "a5": {"cast": _CAST, "scalar": _SCALAR_A5 | _TO_F32_SCALAR, "vector": _VECTOR_A5 | _TO_F32_VECTOR},
    "kirin9030": {"cast": {}, "scalar": _STORED, "vector": _STORED_BY_COLUMN},
}
"""TSTORE from an accumulator: target → form → (source, destination) → mode."""

# A5 chooses by the destination alone when there is no parameter (move-gather-scatter 5.1).
_CAST_A5_MOVE = {
    (src, DTYPES[dst]): mode
    for src in DTYPES.values()
    for dst, mode in (("f16", QuantMode.F322F16), ("bf16", QuantMode.F322BF16))
    if src.name != dst
}

MOVE_MODES: dict[str, dict[str, Modes]] = {
    "cpu": STORE_MODES["cpu"],
    "a2a3": STORE_MODES["a2a3"],
    "a5": {"cast": _CAST_A5_MOVE, "scalar": _SCALAR_A5, "vector": _VECTOR_A5},
    "kirin9030": {"cast": {}, "scalar": _SCALAR_KIRIN9030, "vector": _VECTOR_KIRIN9030},
}
"""TMOV, TEXTRACT and TINSERT from an accumulator. Quantising f32 to f32 on A5 is a plain copy here."""


def store_mode(target: Target, form: str, src: DType, dst: DType) -> QuantMode:
    """Mode of TSTORE (`form` of `FORMS`); NoQuant if the table has no entry."""
    return target.entry(STORE_MODES)[form].get((src, dst), QuantMode.NoQuant)


def move_mode(target: Target, form: str, src: DType, dst: DType) -> QuantMode:
    """Mode of TMOV, TEXTRACT and TINSERT (`form` of `FORMS`); NoQuant if the table has no entry."""
    return target.entry(MOVE_MODES)[form].get((src, dst), QuantMode.NoQuant)
