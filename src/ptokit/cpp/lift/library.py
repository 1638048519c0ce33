"""Names of the C++ library and of the compiler: enumerations with their numbers, calls whose operands come in another
order, and intrinsics."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any

from ptokit.ir import Value
from ptokit.isa.order.sync_rules import TAG_PIPE, tag_pipe
from ptokit.isa.table import TABLE, Instr, Kind
from ptokit.lang.tensors import GlobalTensor
from ptokit.lang.tiles import Tile
from ptokit.types import enums
from ptokit.types.enums import (
    MaskAxis,
    MxGroupAxis,
    MxQuantAlg,
    Pipe,
    QuantScaleAlg,
    QuantType,
    RoundMode,
    SyncAllMode,
    SyncCoreType,
    TileType,
)
from ptokit.types.values import Scalar as ScalarType

from ..llvm import Instruction
from ..rules import ASSEMBLY, CALL, Unliftable
from .memory import Memory
from .numbers import ADDED_TO, COMPARISONS, OF_REGISTERS, Numbers, on_registers, scalar_type

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
    "AccPhase": {**{p.name: (p.value, p) for p in enums.AccPhase}, "Unknown": (0, enums.AccPhase.Unspecified)},
    "WaitCmp": {name: (k, enums.CmpMode[name]) for k, name in enumerate("EQ NE GT GE LT LE".split())},
    "GatherAxis": {"GATHER_ROW": (0, MaskAxis.Row), "GATHER_COL": (1, MaskAxis.Col)},
    "ScatterAxis": {"SCATTER_ROW": (0, MaskAxis.Row), "SCATTER_COL": (1, MaskAxis.Col)},
    "HistByte": _BYTES,
    "TFillPadMode": {"Normal": (0, ""), "InPlace": (1, "_INPLACE"), "Expand": (2, "_EXPAND")},
    "TileLayoutCustom": {name: (k, None) for k, name in enumerate(("ND", "DN", "NZ", "ZN", "ZZ", "NONE"))},
    "TCopyMode": {"SHALLOW_COPY": (0, None), "DEEP_COPY": (1, None)},
    **{f"{name}Algorithm": _PRECISION for name in "Pow Div Sqrt Rsqrt Recip Exp Log Fmod FmodS Rem RemS".split()},
}
"""Enumerations whose names or numbers are not those of `ptokit.types.enums`. Algorithms choose how
exactly the device computes what results here in any case."""

OF_LANGUAGE: dict[str, tuple[str, ...]] = {
    "event_t": (*(f"EVENT_ID{k}" for k in range(8)), "EVENT_ID_MAX"),
    "dcci_t": ("SINGLE_CACHE_LINE", "ENTIRE_DATA_CACHE"),
    "dcci_to_t": ("CACHELINE_ALL", "CACHELINE_UB", "CACHELINE_OUT", "CACHELINE_ATOMIC"),
    "mem_dsb_t": ("DSB_ALL", "DSB_DDR", "DSB_UB", "DSB_SEQ"),
    "dist_t": tuple(
        """
        NORM NORM_B8 NORM_B16 NORM_B32 BRC_B8 BRC_B16 BRC_B32 BRC_BLK BLK US US_B8 US_B16 DS DS_B8 DS_B16 UNPK_B8
        UNPK_B16 UNPK_B32 UNPK4 UNPK4_B8 E2B_B16 E2B_B32 SPLT2CHN_B8 SPLT2CHN_B16 SPLT4CHN SPLT4CHN_B8 DINTLV_B8
        DINTLV_B16 DINTLV_B32 BDINTLV INTLV_B8 INTLV_B16 INTLV_B32 PK PK_B16 PK_B32 PK_B64 PK4 PK4_B32 ONEPT_B8
        ONEPT_B16 ONEPT_B32 MRG4CHN_B8 MRG2CHN_B8 MRG2CHN_B16
        """.split()
    ),
    "mem_bar_t": tuple(
        """
        VV_ALL VST_VLD VLD_VST VST_VST VS_ALL VST_LD VLD_ST VST_ST SV_ALL ST_VLD LD_VST ST_VST SS_ALL ST_LD LD_ST ST_ST
        """.split()
    ),
    "pat_t": tuple(f"PAT_{which}" for which in "ALL ALLF VL1 VL2 VL3 VL4 VL8 VL16 VL32 VL64 VL128 H Q M3 M4".split()),
    "part_t": tuple(f"PART_{which}" for which in "EVEN ODD P0 P1 P2 P3".split()),
    "half_t": ("LOWER", "HIGHER"),
    "round_t": tuple(f"ROUND_{which}" for which in "RAFCZO"),
    "sat_t": ("RS_ENABLE", "RS_DISABLE"),
    "order_t": ("INC_ORDER", "DEC_ORDER"),
    "pos_t": ("POS_LOWEST", "POS_HIGHEST"),
    "store_t": ("MODE_NO_STORED", "MODE_STORED"),
    "post_t": ("POST_UPDATE",),
    "spr_t": ("SPR_AR",),
}
"""Enumerations of the device compiler, which are in no namespace."""

_SWAPPED = {Pipe.FIX: Pipe.V2, Pipe.V2: Pipe.FIX}
PIPES = tuple(_SWAPPED.get(pipe, pipe) for pipe in Pipe)
"""Pipes by the number that ptokit's headers give them: the fix-pipe's is 10, which kernels define themselves."""


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


_BY_HAND = "TASSIGN TRESHAPE TSUBVIEW TSYNC TGETVAL TSETVAL TPUSH TPOP TFREE TALLOC TRAP TPREFETCH_ASYNC"
OF_HEADERS = frozenset(_BY_HAND.split())
"""Instructions that the headers write by hand, or that C++ has as methods."""


def instruction_names() -> list[str]:
    """The instructions that are functions of the library, each once."""
    names = (instr.name for instr in TABLE.values() if instr.run is not None)
    of_library = (name for name in names if name.isupper() and "." not in name and name not in OF_HEADERS)
    found = (name for name in of_library if not name.startswith(("PRINT", "MAKE_")))
    return sorted({*found, *(name for name, _ in _written())})


_OTHERWISE = "vldsx2 vstsx2 vlds_post vsts_post vbitcast pbitcast init_align".split()
"""What C++ says as another instruction, as a conversion of references, or not at all."""


def register_instructions() -> list[str]:
    """Declarations of those that work on vector registers, as they follow from the table (`registers.hpp`)."""
    lines = []
    for name, instr in sorted(TABLE.items()):
        if "." in name or name in _OTHERWISE or not on_registers(instr):
            continue
        made = [result.kind for result in instr.returned]
        taken = {operand.kind for operand in instr.operands}
        if Kind.MASK in made and not taken - {Kind.SCALAR}:
            lines.append(f"{'PTOKIT_COUNTS' if Kind.SCALAR in made else 'PTOKIT_MAKES_MASK'}({name})")
            continue
        goes_on = Kind.ALIGN in taken and Kind.ALIGN in made
        results = -1 if name == "vlds" else sum(kind in OF_REGISTERS for kind in made) - goes_on
        named = {operand.name for operand in instr.operands}
        adds = not named.isdisjoint(ADDED_TO)
        number = "PLACE" if "offset" in named else "STRIDES" if "block_stride" in named else "COUNT"
        says = f"{results}, {str(adds).lower()}, {str(goes_on).lower()}, pto::{number}"
        compared = [f"{name}_{how}" for how in "eq ne lt le gt ge".split()] if name in COMPARISONS else [name]
        lines += [f"PTOKIT_ON_REGISTERS({each}, {says})" for each in compared]
    return lines


def tags() -> dict[str, Pipe | None]:
    """The operations that events name, with their pipes."""
    names = sorted({*TAG_PIPE, *instruction_names()})
    return {name: tag_pipe(name) for name in names}


# Calls whose operands C++ gives in another order than the table, or whose form has a name of its own there.


Call = tuple[str, list[Any]]


def as_in_table(name: str, args: list[Any]) -> Call:
    """The instruction of the table that a call means, and its operands in the order of the table."""
    return _FORMS.get(name, _as_written)(name, args)


@cache
def _written() -> dict[tuple[str, int], tuple[Instr, list[str]]]:
    """Calls of tiles alone as the table writes them: by name and number of tiles, where that tells one from others."""
    found: dict[tuple[str, int], list[tuple[Instr, list[str]]]] = {}
    for instr in TABLE.values():
        for written in (instr.cpp or "").split(" | "):
            name, _, stated = written.removesuffix(")").partition("(")
            names = stated.split(", ") if stated else [operand.name for operand in instr.operands]
            tiles = [o.name for o in instr.operands if o.kind is Kind.TILE]
            if name.isalnum() and set(names) <= set(tiles):
                found.setdefault((name, len(names)), []).append((instr, names))
    return {key: calls[0] for key, calls in found.items() if len(calls) == 1}


def _as_written(name: str, args: list[Any]) -> Call:
    found = _written().get((name, len(args))) if len(_tiles(args)) == len(args) else None
    if found is None:
        known = () if name in TABLE else (instr.name for (each, _), (instr, _) in _written().items() if each == name)
        return next(iter(known), name), args
    given = dict(zip(found[1], args))
    return found[0].name, [given[operand.name] for operand in found[0].operands if operand.name in given]


def _tiles(args: list[Any]) -> list[Tile]:
    return [arg for arg in args if isinstance(arg, Tile)]


def _direction(name: str, args: list[Any]) -> Call:
    """TCI's direction is a number."""
    return name, [*args[:2], *(bool(arg) if isinstance(arg, int) else arg for arg in args[2:])]


def _exponents(name: str, args: list[Any]) -> Call:
    """TMOV of exponents has scratch, and along which axis they are shared is a number."""
    return name, [MxGroupAxis(arg) if type(arg) is int and len(_tiles(args)) == 3 else arg for arg in args]


def _accumulated(name: str, args: list[Any]) -> Call:
    """Of three operands: it adds to its destination."""
    return name, [args[0], *args] if len(_tiles(args)) == 3 else args


def _scaled(name: str, args: list[Any]) -> Call:
    """With an accumulator in the second place, or a bias in the last."""
    tiles = _tiles(args)
    if len(tiles) == 6:
        return (f"{name}_ACC" if tiles[1].loc is TileType.Acc else f"{name}_BIAS"), args
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


def _joined(name: str, args: list[Any]) -> Call:
    """Vector cores where nothing else is said, by the hardware; the memory is given as a tensor."""
    args = [arg.ptr if isinstance(arg, GlobalTensor) else arg for arg in args]
    for default in (SyncCoreType.AIVOnly, SyncAllMode.Hard):
        if not any(isinstance(arg, type(default)) for arg in args):
            args.append(default)
    return name, args


def _merged(name: str, args: list[Any]) -> Call:
    """Whether lists are used up may be said by a number."""
    return name, [bool(arg) if isinstance(arg, int) and len(_tiles(args)) > 2 else arg for arg in args]


_FORMS: dict[str, Callable[[str, list[Any]], Call]] = {
    "TCI": _direction,
    **dict.fromkeys(("TMATMUL_ACC", "TGEMV_ACC"), _accumulated),
    **dict.fromkeys(("TMATMUL_MX", "TGEMV_MX"), _scaled),
    "TMRGSORT": _merged,
    "SYNCALL": _joined,
    "TQUANT": _quantised,
    "TMOV": _exponents,
    "TEXTRACT": _extracted,
    "THISTOGRAM": _histogram,
}


_IGNORED = re.compile(
    r"@(llvm\.(lifetime|dbg|assume|experimental\.noalias|donothing|prefetch|sideeffect)\b.*|__cxa_.*)"
)
_EXTREMES = dict(
    zip(
        "smax smin umax umin maxnum minnum maximum minimum".split(),
        "maxsi minsi maxui minui maxnumf minnumf maximumf minimumf".split(),
    )
)


def call(i: Instruction, numbers: Numbers, memory: Memory) -> None:
    """Lift a call of a function that is none of ptokit's headers."""
    if _IGNORED.fullmatch(i.word):
        return
    kind = i.word.split(".")[1] if i.word.startswith("@llvm.") else ""
    if kind in ("memcpy", "memmove", "memset"):
        _moved(kind, i, numbers, memory)
        return
    if kind in _EXTREMES:
        a, b = (numbers.value(operand) for operand in i.operands[:2])
        numbers.values[i.result] = numbers.binary(_EXTREMES[kind], a, b)
        return
    made = _MADE.get(kind)
    if made is None:
        raise _unknown(i)
    numbers.values[i.result] = made(i, numbers)


_HARMLESS = re.compile(r'asm (?:[a-z]+ )*"(?:\s|nop|MOV \$0, (?:SYS_CNT|PC)|\\0A)*"', re.IGNORECASE)


def assembly(i: Instruction, numbers: Numbers) -> None:
    """Assembly that only asks for a counter, as `get_sys_cnt`, which is 0 here, or does nothing."""
    if not _HARMLESS.search(i.word):
        message = "inline assembly is for one processor"
        raise Unliftable(ASSEMBLY, message, "leave it out where PTOKIT is defined: #ifndef PTOKIT")
    if i.result:
        numbers.values[i.result] = numbers.constant(0, scalar_type(i.type))


_ABSENT = (
    ("_Znwm _Znam _ZdlPv _ZdaPv malloc calloc free", "a kernel has no heap", "use an array of a known size, or a tile"),
    ("printf puts putchar", "a kernel prints nothing here", "TPRINT shows a tile; ptokit watch shows what a run does"),
    (
        "sqrt exp exp2 log log2 log10 sin cos pow sqrtf expf exp2f logf log2f log10f sinf cosf tanhf powf tanh erff",
        "the scalar unit has no such function",
        "compute it in a tile (TSQRT, TEXP, TLOG, TPOW), or on the host, and pass the number",
    ),
)
"""Functions that C++ has and a core has not: names, what is said, and what to write instead."""


def _unknown(i: Instruction) -> Unliftable:
    name = i.word[1:]
    if i.word.startswith("%"):
        return Unliftable(CALL, "a function is called through a pointer", "call it by its name, or as a template")
    kind = name.split(".")[1] if name.startswith("llvm.") else name
    for names, message, hint in _ABSENT:
        if kind in names.split():
            return Unliftable(CALL, message, hint)
    if name.startswith("llvm."):
        return Unliftable(CALL, f"the compiler made this a call of {name}, which has no counterpart")
    readable = demangled(name)
    return Unliftable(
        CALL,
        f"{readable} is called, and its body is not part of the kernel: it is only declared, or calls itself",
        "define it in the file, and write recursion as a loop",
    )


def demangled(name: str) -> str:
    """The last name in a mangled one: ``helper`` of ``_ZL6helperi``."""
    found = re.match(r"_ZN?L?(?:St)?((?:\d+\w+)+)", name)
    if found is None:
        return name
    rest, parts = found[1], []
    while digits := re.match(r"\d+", rest):
        size = int(digits[0])
        parts.append(rest[digits.end() : digits.end() + size])
        rest = rest[digits.end() + size :]
    return "::".join(parts)


def _moved(kind: str, i: Instruction, numbers: Numbers, memory: Memory) -> None:
    count = numbers.number(i.operands[2])
    if count is None:
        raise Unliftable(CALL, "how much is copied only the run knows", "write it as a loop over numbers")
    to = memory.pointer(i.operands[0].text)
    if kind == "memset":
        if numbers.number(i.operands[1]) != 0:
            raise Unliftable(CALL, "memory is set to bytes other than zero", "write it as a loop over numbers")
        memory.fill(to, count)
    else:
        memory.copy(to, memory.pointer(i.operands[1].text), count)


def _typed(value: Value) -> tuple[ScalarType, int]:
    assert isinstance(value.type, ScalarType)
    return value.type, int(value.type.name[1:])


def _absolute(i: Instruction, n: Numbers) -> Value:
    x = n.value(i.operands[0])
    return n.binary("maxsi", x, n.binary("subi", n.constant(0, _typed(x)[0]), x))


def _masked(n: Numbers, x: Value, sign: bool) -> Value:
    """The sign of a float, or all else of it, as an integer of its size."""
    assert isinstance(x.type, ScalarType)
    bits = int(x.type.name.lstrip("bf"))
    whole = ScalarType(f"i{bits}")
    mask = 1 << (bits - 1) if sign else (1 << (bits - 1)) - 1
    return n.binary("andi", n.same_bits(x, whole), n.constant(mask, whole))


def _absolute_float(i: Instruction, n: Numbers) -> Value:
    x = n.value(i.operands[0])
    assert isinstance(x.type, ScalarType)
    return n.same_bits(_masked(n, x, sign=False), x.type)


def _with_sign(i: Instruction, n: Numbers) -> Value:
    x, y = (n.value(operand) for operand in i.operands)
    assert isinstance(x.type, ScalarType)
    return n.same_bits(n.binary("ori", _masked(n, x, sign=False), _masked(n, y, sign=True)), x.type)


def _funnel(i: Instruction, n: Numbers) -> Value:
    """The upper bits of two numbers together, shifted to the left; or the lower ones, to the right."""
    a, b = (n.value(operand) for operand in i.operands[:2])
    type, bits = _typed(a)
    amount = n.number(i.operands[2])
    if amount is None:
        raise _unknown(i)
    left = amount % bits if ".fshl." in i.word else bits - amount % bits
    if left in (0, bits):
        return b if left else a
    high = n.binary("shli", a, n.constant(left, type))
    return n.binary("ori", high, n.binary("shrui", b, n.constant(bits - left, type)))


def _ones(n: Numbers, x: Value) -> Value:
    """How many bits are set: added up in pairs, in groups of four, in bytes."""
    type, bits = _typed(x)
    if bits not in (8, 16, 32, 64):
        raise Unliftable(CALL, f"bits of a number of {bits} bits are counted")

    def every(pattern: int, width: int) -> Value:
        return n.constant(sum(pattern << k for k in range(0, bits, width)), type)

    def right(value: Value, amount: int) -> Value:
        return n.binary("shrui", value, n.constant(amount, type))

    x = n.binary("subi", x, n.binary("andi", right(x, 1), every(1, 2)))
    x = n.binary("addi", n.binary("andi", x, every(3, 4)), n.binary("andi", right(x, 2), every(3, 4)))
    x = n.binary("andi", n.binary("addi", x, right(x, 4)), every(15, 8))
    return right(n.binary("muli", x, every(1, 8)), bits - 8) if bits > 8 else x


def _counted(i: Instruction, n: Numbers) -> Value:
    return _ones(n, n.value(i.operands[0]))


def _trailing(i: Instruction, n: Numbers) -> Value:
    """Zeros below the lowest bit that is set: the ones in that bit less one."""
    x = n.value(i.operands[0])
    type, _ = _typed(x)
    lowest = n.binary("andi", x, n.binary("subi", n.constant(0, type), x))
    return _ones(n, n.binary("subi", lowest, n.constant(1, type)))


def _leading(i: Instruction, n: Numbers) -> Value:
    """Zeros above the highest bit that is set: those that are left when all below it are set."""
    x = n.value(i.operands[0])
    type, bits = _typed(x)
    step = 1
    while step < bits:
        x = n.binary("ori", x, n.binary("shrui", x, n.constant(step, type)))
        step *= 2
    return n.binary("subi", n.constant(bits, type), _ones(n, x))


def _difference(i: Instruction, n: Numbers) -> Value:
    a, b = (n.value(operand) for operand in i.operands)
    return n.binary("subi", n.binary("maxui", a, b), b)


def _sum(i: Instruction, n: Numbers) -> Value:
    a, b = (n.value(operand) for operand in i.operands)
    room = n.binary("xori", b, n.constant(-1, _typed(b)[0]))
    return n.binary("addi", n.binary("minui", a, room), b)


_MADE: dict[str, Callable[[Instruction, Numbers], Value]] = {
    "abs": _absolute,
    "fabs": _absolute_float,
    "copysign": _with_sign,
    "fshl": _funnel,
    "fshr": _funnel,
    "ctpop": _counted,
    "cttz": _trailing,
    "ctlz": _leading,
    "usub": _difference,  # .sat
    "uadd": _sum,  # .sat
}
