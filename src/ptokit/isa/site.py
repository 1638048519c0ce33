"""What a rule looks at: one instruction with its operands, as far as they are known.

Arithmetic on it is `UNKNOWN`; every comparison with it is false. Rules are therefore written as the condition that
*breaks* them, and pass until the value is known.

The static check builds sites from the IR (sizes may be `UNKNOWN`), a call at run time from the operands themselves. A
rule cannot tell the difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, fields
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.choices import Spelled
from ptokit.types.dtypes import DType
from ptokit.types.enums import Layout, TileType
from ptokit.types.tile import DYNAMIC, TileSpec

if TYPE_CHECKING:
    from ptokit.diagnostics.rules import Conditions, Found

    from .table import Instr


# `UNKNOWN`: a size that only the run knows.


class Unknown:
    """The type of `UNKNOWN`."""

    __slots__ = ()

    def _same(self, *_: Any) -> Unknown:
        return self

    def _false(self, _: Any) -> bool:
        return False

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _same
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = __abs__ = _same
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _false  # type: ignore[assignment]

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "?"


UNKNOWN = Unknown()
Size = int | Unknown


def known(*values: object) -> bool:
    """True if none of the values is `UNKNOWN`."""
    return Unknown not in map(type, values)


def product(values: Any) -> Any:
    """Product that stays `UNKNOWN` if a factor is."""
    out: Any = 1
    for v in values:
        out = out * v
    return out


def least(*sizes: Size) -> Size:
    """The least of several sizes; `UNKNOWN` if one of them is."""
    return min(sizes) if known(*sizes) else UNKNOWN  # type: ignore[type-var]


# What a rule looks at: one instruction with its operands, as far as they are known.


@dataclass(frozen=True, slots=True)
class TileInfo:
    """A tile operand: its name in findings, type, valid region (rows, cols), and byte address where one is known."""

    name: str
    spec: TileSpec
    vr: Size
    vc: Size
    addr: Size = UNKNOWN
    data: Any = None  # run time only: the tile itself, for rules about values
    origin: Any = UNKNOWN  # equal for tiles that start at the same place of the same memory

    def __getattr__(self, name: str) -> Any:
        return getattr(self.spec, name)  # loc, dtype, rows, cols, blayout, boxed, c0, …

    @classmethod
    def static(cls, name: str, spec: TileSpec, addr: Size = UNKNOWN, origin: Any = UNKNOWN) -> TileInfo:
        """What the type alone says."""
        vr = UNKNOWN if spec.valid_row == DYNAMIC else spec.valid_row
        vc = UNKNOWN if spec.valid_col == DYNAMIC else spec.valid_col
        return cls(name, spec, vr, vc, addr, None, origin)


@dataclass(frozen=True, slots=True)
class ViewInfo:
    """A GlobalTensor operand: 5-D shape and stride in elements (right-aligned), layout if stated or inferred."""

    name: str
    dtype: DType
    shape: tuple[Size, Size, Size, Size, Size]
    stride: tuple[Size, Size, Size, Size, Size]
    layout: Layout | None = None  # None: not stated and not inferable yet
    data: Any = None
    dims: tuple[int, ...] | None = None  # of its type, as written; None where there is none
    whole: bool = False  # a tensor_view that nothing has been cut out of


@dataclass(frozen=True, slots=True)
class ScalarInfo:
    """A scalar operand: its type as text (``i64``, ``f32``) and its value if constant."""

    name: str
    type: str
    value: Any = UNKNOWN
    signed: bool = False  # an integer that text says is signed

    @property
    def shown(self) -> str:
        """Its type as text has it."""
        return f"s{self.type}" if self.signed else self.type


@dataclass(frozen=True, slots=True)
class PtrInfo:
    """A pointer: element type, space ("gm" or "ub"), and byte address in an on-chip buffer where one is known."""

    name: str
    dtype: DType
    space: str
    addr: Size = UNKNOWN
    signed: bool = False  # elements that text says are signed


@dataclass(frozen=True, slots=True)
class VregInfo:
    """A vector register: element type and number of lanes."""

    name: str
    dtype: DType
    lanes: int
    signed: bool = False  # elements that text says are signed


@dataclass(frozen=True, slots=True)
class MaskInfo:
    """A predicate register: granularity in bits, 0 if its type does not state it."""

    name: str
    bits: int


@dataclass(frozen=True, slots=True)
class AlignInfo:
    """The state of a stream of unaligned accesses."""

    name: str


@dataclass(frozen=True, slots=True)
class VectorInfo:
    """A logical vector: element type, number of lanes, and its layout in registers, empty where that is open."""

    name: str
    dtype: DType
    lanes: int
    layout: str
    signed: bool = False  # elements that text says are signed


@dataclass(frozen=True, slots=True)
class LanesInfo:
    """A logical predicate: number of lanes, granularity (``pred`` where it is open) and layout."""

    name: str
    lanes: int
    granularity: str
    layout: str


RegisterInfo = VregInfo | MaskInfo | AlignInfo | VectorInfo | LanesInfo


@dataclass(frozen=True, slots=True)
class LoweredInfo:
    """A tile as later stages of the assembler write it: a memref of on-chip memory (`DYNAMIC` for open sizes)."""

    name: str
    loc: TileType
    dtype: DType
    rows: int
    cols: int


Info = TileInfo | ViewInfo | ScalarInfo | PtrInfo | RegisterInfo | LoweredInfo

_OPEN = (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)


def type_alone(info: Info) -> Info:
    """What the type of an operand says of it."""
    match info:
        case TileInfo():
            return TileInfo.static(info.name, info.spec)
        case ViewInfo():
            return ViewInfo(info.name, info.dtype, _OPEN, _OPEN, dims=info.dims, whole=info.whole)
        case ScalarInfo():
            return ScalarInfo(info.name, info.type, signed=info.signed)
        case PtrInfo():
            return PtrInfo(info.name, info.dtype, info.space, signed=info.signed)
    return info  # registers


_asked = [*(f.name for f in fields(TileSpec)), *(n for n, v in vars(TileSpec).items() if isinstance(v, property))]
for _name in _asked:  # rules ask for these most; `__getattr__` would be several times slower
    setattr(TileInfo, _name, property(attrgetter(f"spec.{_name}")))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What rules may see beside single operands."""

    lists: Mapping[str, tuple[Info, ...]]  # operands that are lists; ``results``: all results
    used: bool = True  # something takes one of the results
    threads: bool = False  # it stands in a section or function of threads
    entry: bool = False  # its function is a kernel
    in_order: frozenset[str] = frozenset()  # operands that a call in Python gives by their position


MARK = "\0"
"""Stands before, between and after the name of an operand and what is shown of it, in messages of rules."""


def without_marks(message: str) -> tuple[str, tuple[str, ...]]:
    """A message of a rule as it is shown, and the operands it names."""
    if MARK not in message:
        return message, ()
    parts = message.split(MARK)
    operands = parts[1::3]
    del parts[1::3]
    return type(message)("".join(parts)), tuple(dict.fromkeys(operands))


@dataclass
class Site:
    """An instruction at one place. Operands and attributes are attributes of the site: ``o.dst``, ``o.atomic``.

    An absent optional operand is None.

    Messages name an operand by formatting the site with its name: ``f"{o:src} has {o.src.vr} valid rows"``; with
    ``{o:%src}``, the value in its place is shown. The finding then knows which operands it is about (`without_marks`).
    """

    instr: Instr
    target: Target
    operands: Mapping[str, Info | None]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    extended: bool = False  # the cpu target runs device-only types
    text: bool = False  # written as `.pto`, where i64 is any 64-bit integer
    core: str = ""  # "vector" or "cube" where the text says for which core it is
    around: Surroundings | None = None  # for instructions with rules that look there
    registers: Mapping[str, Any] | None = None  # what the machine's hold, where a run asks for a meaning that needs it

    def __post_init__(self) -> None:
        for name, info in self.operands.items():
            self.__dict__.setdefault(name, info)

    def __getattr__(self, name: str) -> Any:
        if name in self.attrs:
            return self.attrs[name]
        for attr in self.instr.attrs:
            if attr.name == name:
                return attr.default
        raise AttributeError(f"{self.instr.name} has no operand or attribute {name!r}")

    def __format__(self, name: str) -> str:
        operand = name.removeprefix("%")
        shown = self.operands[operand].name if operand != name else name  # type: ignore[union-attr]
        return f"{MARK}{operand}{MARK}{shown}{MARK}"

    def word(self, member: Spelled) -> str:
        """A word of the language as the program writes it: ``col_major`` in text, ``ColMajor`` in Python."""
        return member.text if self.text else member.name

    def find(self, check: Conditions) -> Found:
        """What conditions find here."""
        return self.instr.function_of(check)(self)

    def has(self, name: str) -> bool:
        """True if the optional operand is present."""
        return self.operands.get(name) is not None

    def has_operand(self, name: str) -> bool:
        """True if the instruction has an operand of this name."""
        return name in self.operands

    @cached_property
    def data_tiles(self) -> tuple[tuple[str, TileInfo], ...]:
        """Destinations and sources that are present, with their names, without scratch tiles."""
        named = ((name, self.operands.get(name)) for name in self.instr.data_names)
        return tuple((name, t) for name, t in named if isinstance(t, TileInfo))

    @cached_property
    def sources(self) -> tuple[tuple[str, TileInfo], ...]:
        """Tiles that are only read, with their names, without scratch tiles."""
        return tuple((name, t) for name, t in self.data_tiles if name in self.instr.source_names)

    @property
    def tiles(self) -> list[TileInfo]:
        """The tile operands that are present, in table order."""
        return [v for v in self.operands.values() if isinstance(v, TileInfo)]

    @property
    def views(self) -> list[ViewInfo]:
        """The views of global memory that are present, in table order."""
        return [v for v in self.operands.values() if isinstance(v, ViewInfo)]


# What an instruction reads and writes, as rectangles of its operands.


@dataclass(frozen=True, slots=True)
class Access:
    """Elements of one operand that an instruction reads or writes: rows [0, rows) x cols [0, cols).

    The owner turns this into exact byte sets through the operand's layout.
    """

    operand: str
    write: bool
    rows: int
    cols: int
    row: int = 0
    col: int = 0
    sub: int = 0  # vector sub-core whose buffer it is, where a cube core writes one
    results: tuple[int, int] | None = None  # rows and columns written with results, where the rest becomes padding
    kept: bool = False  # some of the elements may stay as they are
    last: bool = False  # written when all sources have been read
    along: str = ""  # of a view: the tile whose valid region says how far a transfer follows it


Footprint = Callable[[Site], Iterator[Access]]
