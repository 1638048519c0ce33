"""The enumerations of the C++ library: their names and numbers, and what each enumerator is here."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import cache
from typing import Any

from ptokit.isa.order.sync_rules import TAG_PIPE, tag_pipe
from ptokit.isa.table import TABLE
from ptokit.types import enums
from ptokit.types.enums import MaskAxis, Pipe, RoundMode

Enumerators = Mapping[str, tuple[int, Any]]
"""Enumerators of one enumeration by name: the number in C++, and the value here; None for what chooses nothing here."""

_PRECISION = {"DEFAULT": (0, None), "HIGH_PRECISION": (1, None)}
_BYTES = {f"BYTE_{k}": (k, k) for k in range(4)}

OF_CPP: dict[str, Enumerators] = {
    "RoundMode": {
        "CAST_NONE": (0, RoundMode.NONE),
        "CAST_RINT": (1, RoundMode.CAST_RINT),
        **{f"CAST_{mode.name}": (mode.value, mode) for mode in RoundMode if 2 <= mode.value <= 6},
    },
    "QuantType": {
        name: (number, enums.QuantType[name])
        for number, name in enumerate(("MXFP8", "MXFP4_E2M1", "INT8_SYM", "INT8_ASYM"))
    },
    "ScatterAtomicOp": {
        "None": (0, enums.ScatterAtomicOp.NONE),
        **{op.name: (op.value, op) for op in enums.ScatterAtomicOp if op.value},
    },
    "AccPhase": {"Unspecified": (0, None), "Unknown": (0, None), "Partial": (2, None), "Final": (3, None)},
    "GatherAxis": {"GATHER_ROW": (0, MaskAxis.Row), "GATHER_COL": (1, MaskAxis.Col)},
    "ScatterAxis": {"SCATTER_ROW": (0, MaskAxis.Row), "SCATTER_COL": (1, MaskAxis.Col)},
    "HistByte": _BYTES,
    "TFillPadMode": {"Normal": (0, ""), "InPlace": (1, "_INPLACE"), "Expand": (2, "_EXPAND")},
    "TileLayoutCustom": {name: (k, None) for k, name in enumerate(("ND", "DN", "NZ", "ZN", "ZZ", "NONE"))},
    "TCopyMode": {"SHALLOW_COPY": (0, None), "DEEP_COPY": (1, None)},
    **{f"{name}Algorithm": _PRECISION for name in "Pow Div Sqrt Rsqrt Recip Exp Log Fmod FmodS Rem RemS".split()},
}
"""Enumerations whose names or numbers are not those of `ptokit.types.enums`. Algorithms and phases choose how exactly,
or when, the device computes what results here in any case."""

OF_LANGUAGE: dict[str, tuple[str, ...]] = {
    "event_t": (*(f"EVENT_ID{k}" for k in range(8)), "EVENT_ID_MAX"),
    "dcci_t": ("SINGLE_CACHE_LINE", "ENTIRE_DATA_CACHE"),
    "dcci_to_t": ("CACHELINE_ALL", "CACHELINE_UB", "CACHELINE_OUT", "CACHELINE_ATOMIC"),
    "mem_dsb_t": ("DSB_ALL", "DSB_DDR", "DSB_UB", "DSB_SEQ"),
}
"""Enumerations of the device compiler, which are in no namespace."""

PIPES = tuple(Pipe)
"""Pipes by the number that ptokit's headers give them."""


@cache
def enumerations() -> dict[str, Enumerators]:
    """All enumerations of the library's namespace."""
    found: dict[str, Enumerators] = {}
    for module in (enums,):
        for name, kind in vars(module).items():
            of_it = isinstance(kind, type) and issubclass(kind, Enum) and kind.__module__ == module.__name__
            if of_it and kind is not Pipe and len(kind):
                found[name] = {member.name: (int(member.value), member) for member in kind}
    return found | OF_CPP


def meant(enumeration: str, number: int) -> Any:
    """What an enumerator is here. Raises `KeyError` for a number that no enumerator has."""
    if enumeration == "Pipe":
        return PIPES[number]
    if enumeration in OF_LANGUAGE:
        return number
    if enumeration == "PadValue" and number >> 32:
        return number
    for value, member in enumerations()[enumeration].values():
        if value == number:
            return member
    raise KeyError(number)


OF_HEADERS = frozenset("TASSIGN TRESHAPE TSUBVIEW TSYNC TGETVAL TSETVAL TPUSH TPOP TFREE TALLOC SYNCALL TRAP".split())
"""Instructions that the headers write by hand, or that C++ has as methods."""


def instruction_names() -> list[str]:
    """The instructions that are functions of the library, each once."""
    names = (instr.name for instr in TABLE.values() if instr.run is not None)
    of_library = (name for name in names if name.isupper() and "." not in name and name not in OF_HEADERS)
    found = (name for name in of_library if not name.startswith(("PRINT", "MAKE_")))
    return sorted({*found, "TPAIRREDUCESUM"})


def tags() -> dict[str, Pipe | None]:
    """The operations that events name, with their pipes."""
    names = sorted({*TAG_PIPE, *instruction_names()})
    return {name: tag_pipe(name) for name in names}
