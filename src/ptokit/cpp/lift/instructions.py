"""What ptokit's headers tell: instructions with their operands and enumerations, recorded as in a kernel in Python."""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from typing import Any

from ptokit import lang
from ptokit.diagnostics import DiagnosticError
from ptokit.ir import Block, Op, Value
from ptokit.isa.order.sync_rules import TAG_PIPE, tag_pipe
from ptokit.isa.table import TABLE, Instr, Kind
from ptokit.lang.intrinsics import intrinsic
from ptokit.lang.operands import bind, scalar_type_of
from ptokit.lang.scalar import Scalar, cast
from ptokit.lang.tensors import GlobalTensor, Pointer
from ptokit.lang.tiles import Tile
from ptokit.targets import A5
from ptokit.types import enums
from ptokit.types.dtypes import dtype
from ptokit.types.enums import (
    BLayout,
    CompactMode,
    Layout,
    MaskAxis,
    MxGroupAxis,
    MxQuantAlg,
    PadValue,
    Pipe,
    QuantScaleAlg,
    QuantType,
    RoundMode,
    SLayout,
    TileType,
)
from ptokit.types.tile import DYNAMIC
from ptokit.types.values import I64
from ptokit.types.values import Scalar as ScalarType

from ..compiler import arguments
from ..llvm import Instruction, Module, Operand
from ..rules import CALL, OPERANDS, OPTION, Unliftable
from .memory import NULL, Memory
from .numbers import Lifting, Numbers

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
        return f"{name}_MX", args
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


_FORMS: dict[str, Callable[[str, list[Any]], Call]] = {
    "TCI": _direction,
    **dict.fromkeys(("TMATMUL_ACC", "TGEMV_ACC"), _accumulated),
    **dict.fromkeys(("TMATMUL_MX", "TGEMV_MX"), _scaled),
    **dict.fromkeys(("TROWARGMAX", "TROWARGMIN", "TCOLARGMAX", "TCOLARGMIN"), _extreme),
    "TQUANT": _quantised,
    "TEXTRACT": _extracted,
    "THISTOGRAM": _histogram,
    "TPAIRREDUCESUM": _paired,
}


# What ptokit's headers tell: instructions with their operands, bound and recorded as in a kernel in Python.


Options = list[tuple[str, Any]]
"""Options of an instruction with their enumerations; "" for a number in the template arguments."""

_NAMED = re.compile(r"[A-Za-z_]\w*")


class Told:
    """The instruction that is being told."""

    def __init__(self, module: Module, trace: Lifting, numbers: Numbers, memory: Memory) -> None:
        self.module, self.trace, self.numbers, self.memory = module, trace, numbers, memory
        self.name = ""
        self.given: list[tuple[str, str, list[Operand]]] = []
        self.result: Value | None = None
        self._tiles: dict[Any, Tile] = {}

    def hear(self, i: Instruction) -> bool:
        """Take a call of the headers; False for one of something else."""
        what = i.word.removeprefix("@ptokit_")
        if what == i.word:
            return False
        if what == "begin":
            self.name, self.given = self._text(i.operands[0]), []
        elif what in ("tile", "view", "number", "real", "pointer", "option"):
            self.given.append((what, self._text(i.operands[0]), i.operands[1:]))
        elif what == "end":
            self.result = self._recorded()
        elif what == "query":
            made = self.trace.emit(f"pto.{self._text(i.operands[0])}", results=[I64])
            self.numbers.values[i.result] = made.result
        elif what in ("integer_result", "real_result"):
            self.numbers.values[i.result] = self._read(I64 if what == "integer_result" else ScalarType("f64"))
        elif what == "new_tile":
            self.numbers.values[i.result] = self.trace.emit("ptokit.new_tile", results=[I64]).result
        else:
            raise Unliftable(CALL, f"{i.word[1:]} is called", "call what the headers of PTO have")
        return True

    def _text(self, operand: Operand) -> str:
        if not operand.text.startswith("@"):
            message = "which type of tile, view or option is meant only the run knows"
            raise Unliftable(OPTION, message, "write the instruction once for each, in the branches of an if")
        return self.module.text(operand.text[1:].strip('"'))

    def _read(self, wanted: ScalarType) -> Value:
        """The number that the instruction has left, as the headers take it."""
        assert self.result is not None
        assert isinstance(self.result.type, ScalarType)
        have = self.result.type
        if wanted.is_float:
            return self.numbers.cast("extf", self.result, wanted)
        return self.numbers.cast("extui" if have.name.startswith("u") else "extsi", self.result, wanted)

    # --- operands

    def _recorded(self) -> Value | None:
        args: list[Any] = []
        options: Options = []
        names = self._argument_names()
        for k, (kind, text, operands) in enumerate(self.given):
            if kind == "option":
                option = self._option(text, operands[0])
                options.append((text, option))
                if text != "TFillPadMode" and option is not None:
                    args.append(option)
            elif kind == "tile":
                args.append(self._tile(text, operands, names[k] if k < len(names) else ""))
            elif kind == "view":
                args.append(self._view(text, operands))
            elif kind == "pointer" and self.memory.pointer(operands[0].text).root == NULL:
                args.append(None)
            elif kind == "pointer":
                element = dtype("ui8" if text == "?" else text)
                args.append(Pointer(self.memory.global_pointer(self.memory.pointer(operands[0].text), element)))
            elif kind == "number":
                args.append(self._number(text, operands[0]))
            else:
                args.append(self._real(text, operands[0]))
        special = _SPECIAL.get(self.name)
        if special is not None:
            special(self, args, options)
            return None
        return self._called(args, options)

    def _called(self, args: list[Any], options: Options) -> Value | None:
        name = self.name + "".join(value for enumeration, value in options if enumeration == "TFillPadMode")
        name, args = as_in_table(name, args)
        if name not in TABLE:
            raise Unliftable(OPERANDS, f"ptokit has no instruction {name}")
        args = self._as_elements(TABLE[name], args)
        made = getattr(lang, name)(*args)
        return made.value if isinstance(made, Scalar) else None

    def _as_elements(self, instr: Instr, args: list[Any]) -> list[Any]:
        """Numbers that are computed with elements in their type, as C++ converts them to that of its parameter."""
        try:
            operands, _ = bind(instr, tuple(args), {})
        except DiagnosticError:
            return args  # which the call says
        wanted: dict[int, ScalarType] = {}
        for operand in instr.operands:
            given = operands.get(operand.name)
            if operand.kind is Kind.SCALAR and isinstance(given, Scalar | float):
                wanted[id(given)] = scalar_type_of(instr, operand, 0, operands)
        return [_converted(arg, wanted[id(arg)]) if id(arg) in wanted else arg for arg in args]

    def _option(self, enumeration: str, operand: Operand) -> Any:
        number = self.numbers.number(operand)
        if number is None:
            if enumeration == "event_t":
                return self.numbers.plain(operand)
            message = f"which {enumeration or 'option'} is meant only the run knows"
            raise Unliftable(OPTION, message, "write the instruction once for each, in the branches of an if")
        if not enumeration:
            return number
        try:
            return meant(enumeration, number)
        except KeyError:
            raise Unliftable(OPTION, f"{enumeration} has no enumerator with the number {number}") from None

    def _number(self, type: str, operand: Operand) -> Any:
        found = self.numbers.plain(operand)
        return bool(found) if type == "i1" and isinstance(found, int) else found

    def _real(self, type: str, operand: Operand) -> Any:
        """A float in the type that the program gave it, from the double that tells it."""
        value = self.numbers.value(operand)
        known = self.numbers.known(value)
        if known is not None or type == "f64":
            return known if known is not None else Scalar(value)
        owner = value.owner
        if isinstance(owner, Op) and owner.name == "arith.extf" and owner["in"].type == ScalarType(type):
            return Scalar(owner["in"])
        return Scalar(self.numbers.cast("truncf", value, ScalarType(type)))

    def _tile(self, text: str, operands: list[Operand], name: str) -> Tile:
        words = text.split()
        loc, rows, cols, blocks, valid_row, valid_col, boxes, fractal, pad, compact = map(int, words[1:])
        place, *valid = (self.numbers.plain(operand) for operand in operands)
        key = (text, *(self._key(x) for x in (place, *valid)))
        if not all(isinstance(x, int) for x in (place, *valid)):
            key = (self.trace.block.label, *key)
        found = self._tiles.get(key)
        if found is not None:
            return found
        fixed = all(isinstance(x, int) for x in (place, *valid))
        if fixed and place == 0:
            message = f"the tile{f' {name}' if name else ''} has no address"
            hint = "TASSIGN one first, or compile with -D __PTO_AUTO__ where the assembler places tiles"
            raise Unliftable(OPERANDS, message, hint)
        unplaced = isinstance(place, Scalar) and self._is_new(place)
        address = None if unplaced else place - 1
        sizes = [n if stated == DYNAMIC else stated for n, stated in zip(valid, (valid_row, valid_col))]
        sizes = [self.numbers.index_number(self.memory.at(n)) if isinstance(n, int) and n == 0 else n for n in sizes]
        block, hold = self.trace.block, Block()
        if fixed or unplaced:
            self.trace.block = hold
        tile = Tile(
            TileType(loc),
            dtype(words[0]),
            rows,
            cols,
            BLayout(blocks),
            sizes[0],
            sizes[1],
            SLayout(boxes),
            fractal,
            PadValue(pad) if pad < 4 else pad,
            CompactMode(compact),
            addr=address,
        )
        self._name(tile.value, name)
        self.trace.block = block
        self.memory.prologue += hold.ops
        self._tiles[key] = tile
        return tile

    def _is_new(self, place: Scalar) -> bool:
        owner = place.value.owner
        inner = owner.get("in") if isinstance(owner, Op) else None
        return inner is not None and isinstance(inner.owner, Op) and inner.owner.name == "ptokit.new_tile"

    def _key(self, x: Any) -> Any:
        if isinstance(x, int):
            return x
        owner = x.value.owner
        if isinstance(owner, Op) and owner.name == "arith.index_cast":
            return owner["in"]
        return x.value

    def _name(self, value: Value, name: str) -> None:
        """Call a tile as the program does, where the call of an instruction says how."""
        found = _NAMED.findall(re.sub(r"\[.*", "", name))
        value.name = self.trace.unique(found[-1]) if found else ""
        value.called = name

    def _view(self, text: str, operands: list[Operand]) -> GlobalTensor:
        element, layout = text.split()
        pointer = self.memory.global_pointer(self.memory.pointer(operands[0].text), dtype(element))
        sizes = [self.numbers.plain(operand) for operand in operands[1:]]
        return GlobalTensor(Pointer(pointer), tuple(sizes[:5]), tuple(sizes[5:]), Layout(int(layout)))

    def _argument_names(self) -> list[str]:
        """What the call that is being told has for arguments, as it is written; nothing where that is not found."""
        at = self.trace.at
        if at.file is None or not at.line:
            return []
        lines = linecache.getlines(at.file)[at.line - 1 : at.line + 11]
        if not lines:
            return []
        rest = lines[0][at.column - 1 :] + "".join(lines[1:])
        call = re.match(r"[\w:]*\s*(?:<[^;(]*?>)?\s*\(", rest)
        if call is None:
            return []
        return [given if len(given) <= 40 else "" for given in arguments(rest[call.end() :], ")")]

    # --- what the table calls by other names, or not at all

    def between_cores(self, args: list[Any], options: Options) -> None:
        """Flags between cores: those of a message, and those of one cluster."""
        pipe = next((option for _, option in options if isinstance(option, Pipe)), Pipe.S)
        number = args[-1]
        if self.name == "ffts_cross_core_sync":
            if not isinstance(number, int):
                raise Unliftable(OPTION, "which flag is raised between cores only the run knows")
            attrs = {"pipe": pipe, "event_id": number >> 8 & 15, "ffts_mode": number >> 4 & 3}
            self.trace.emit("pto.sync.set", {}, attrs)
            return
        sets = self.name == "set_intra_block"
        if isinstance(number, int):
            attrs = {"pipe": pipe, "event_id": number, **({"ffts_mode": 2} if sets else {})}
            self.trace.emit("pto.sync.set" if sets else "pto.sync.wait", {}, attrs)
            return
        attrs = {"pipe": pipe, **({"ffts_mode": 2} if sets else {})}
        self.trace.emit("pto.sync.set" if sets else "pto.sync.wait", {"event": number.value}, attrs)

    def cache(self, args: list[Any], options: Options) -> None:
        """The scalar unit's cache: lines are written back and forgotten; what was stored before is done."""
        words = [OF_LANGUAGE[kind][number] for kind, number in options]
        if self.name == "dcci":
            pointer = args[:1] if args[0] is not None else []
            intrinsic("dcci")(*pointer, **dict(zip(("cache", "where"), words)))
        else:
            intrinsic("dsb")(memory=words[0].removeprefix("DSB_"))

    def tf32(self, args: list[Any], options: Options) -> None:
        """Products of f32 in TF32 from here on, or no longer."""
        enable = self.name == "SetMadTF32Mode"
        mode = {"mode": f"CAST_{options[0][1].name.removeprefix('CAST_')}"} if enable else {}
        intrinsic("SETTF32MODE" if self.trace.target.is_a(A5) else "SETHF32MODE")(enable=enable, **mode)

    def halted(self, args: list[Any], options: Options) -> None:
        """The end of everything."""
        intrinsic("TRAP")()


_SPECIAL: dict[str, Callable[[Told, list[Any], Options], None]] = {
    **dict.fromkeys(
        ("ffts_cross_core_sync", "wait_flag_dev", "set_intra_block", "wait_intra_block"), Told.between_cores
    ),
    **dict.fromkeys(("dcci", "dsb"), Told.cache),
    **dict.fromkeys(("SetMadTF32Mode", "ResetMadMode"), Told.tf32),
    "TRAP": Told.halted,
}


def _converted(x: Any, wanted: ScalarType) -> Any:
    """A number in another type where one of both is of floats."""
    if isinstance(x, Scalar) and x.type != wanted and (x.type.is_float or wanted.is_float):
        return cast(x, wanted)
    return int(x) if isinstance(x, float) and wanted.is_integer else x
