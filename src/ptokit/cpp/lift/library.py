"""Names of the C++ library: its enumerations with their numbers, and calls whose operands it gives in another order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any

from ptokit.isa.order.sync_rules import TAG_PIPE, tag_pipe
from ptokit.isa.table import TABLE
from ptokit.lang.tiles import Tile
from ptokit.types import enums
from ptokit.types.enums import MaskAxis, MxGroupAxis, MxQuantAlg, Pipe, QuantScaleAlg, QuantType, RoundMode, TileType

# The enumerations of the C++ library: their names and numbers, and what each enumerator is here.


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
    "dist_t": (
        *(
            "NORM",
            *(
                f"{how}_B{bits}"
                for how in ("NORM", "BRC", "UNPK", "PK")
                for bits in (8, 16, 32)
                if how + str(bits) != "PK8"
            ),
        ),
        *("BRC_BLK", "BLK", "US_B8", "US_B16", "DS_B8", "DS_B16", "E2B_B16", "E2B_B32", "PK_B64", "PK4_B32"),
    ),
    "mem_bar_t": tuple(
        f"{a}_{b}" for a in ("VST", "VLD", "ST", "LD") for b in ("VST", "VLD", "ST", "LD") if a != "VLD" or b != "VLD"
    ),
    "reg_mode_t": ("MODE_ZEROING", "MODE_MERGING"),
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
    if enumeration in OF_LANGUAGE or enumeration.startswith("dtype "):
        return number
    if enumeration == "PadValue" and number >> 32:
        return number
    for value, member in enumerations()[enumeration].values():
        if value == number:
            return member
    raise KeyError(number)


OF_HEADERS = frozenset("TASSIGN TRESHAPE TSUBVIEW TSYNC TGETVAL TSETVAL TPUSH TPOP TFREE TALLOC TRAP".split())
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


# Calls whose operands C++ gives in another order than the table, or whose form has a name of its own there.


Call = tuple[str, list[Any]]


def as_in_table(name: str, args: list[Any]) -> Call:
    """The instruction of the table that a call means, and its operands in the order of the table."""
    adapt = _FORMS.get(name)
    return (name, args) if adapt is None else adapt(name, args)


def _tiles(args: list[Any]) -> list[Tile]:
    return [arg for arg in args if isinstance(arg, Tile)]


def _direction(name: str, args: list[Any]) -> Call:
    """TCI's direction is a number."""
    return name, [*args[:2], *(bool(arg) if isinstance(arg, int) else arg for arg in args[2:])]


def _accumulated(name: str, args: list[Any]) -> Call:
    """Of three operands: it adds to its destination."""
    return name, [args[0], *args] if len(_tiles(args)) == 3 else args


def _scaled(name: str, args: list[Any]) -> Call:
    """With an accumulator in the second place, or a bias in the last."""
    tiles = _tiles(args)
    if len(tiles) == 6:
        return (f"{name}_ACC" if tiles[1].loc is TileType.Acc else f"{name}_BIAS"), args
    return name, args


def _extreme(name: str, args: list[Any]) -> Call:
    """With values: (values, indices, source, scratch)."""
    if len(_tiles(args)) == 4:
        values, indices, source, scratch = args[:4]
        return name, [indices, source, scratch, values, *args[4:]]
    return name, args


def _quantised(name: str, args: list[Any]) -> Call:
    """In blocks with a shared exponent, or to integers: (destination, source, scale, scratch, offset)."""
    blocks = any(isinstance(arg, MxQuantAlg | QuantScaleAlg | MxGroupAxis) for arg in args)
    blocks = blocks or any(arg in (QuantType.MXFP8, QuantType.MXFP4_E2M1) for arg in args if isinstance(arg, QuantType))
    tiles = _tiles(args)
    if blocks or len(tiles) > 5:
        return f"{name}_MX", [MxGroupAxis(arg) if type(arg) is int else arg for arg in args]
    if len(tiles) == 4 and any(arg is QuantType.INT8_SYM for arg in args):
        return name, [*tiles[:3], None, *args[3:]]  # the last one is scratch
    if len(tiles) == 5:
        rest = [arg for arg in args if not isinstance(arg, Tile)]
        return name, [*tiles[:3], tiles[4], tiles[3], *rest]
    return name, args


def _extracted(name: str, args: list[Any]) -> Call:
    """Two destinations; a third tile with the numbers of a quantisation is something else."""
    tiles = _tiles(args)
    two = len(tiles) == 3 and tiles[2].loc is not TileType.Scaling
    return (f"{name}2" if two else name), args


def _histogram(name: str, args: list[Any]) -> Call:
    """The byte that is counted is said by its number only."""
    return name, [*_tiles(args), True, *(arg for arg in args if isinstance(arg, int))]


def _paired(name: str, args: list[Any]) -> Call:
    return "TPairReduceSum", args


def _merged(name: str, args: list[Any]) -> Call:
    """Whether lists are used up may be said by a number."""
    return name, [bool(arg) if isinstance(arg, int) and len(_tiles(args)) > 2 else arg for arg in args]


_FORMS: dict[str, Callable[[str, list[Any]], Call]] = {
    "TCI": _direction,
    **dict.fromkeys(("TMATMUL_ACC", "TGEMV_ACC"), _accumulated),
    **dict.fromkeys(("TMATMUL_MX", "TGEMV_MX"), _scaled),
    **dict.fromkeys(("TROWARGMAX", "TROWARGMIN", "TCOLARGMAX", "TCOLARGMIN"), _extreme),
    "TMRGSORT": _merged,
    "TQUANT": _quantised,
    "TEXTRACT": _extracted,
    "THISTOGRAM": _histogram,
    "TPAIRREDUCESUM": _paired,
}
