"""What an instruction takes: operands with their roles, and attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum, IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

from ptokit.records import dataclass
from ptokit.types.enums import TileType

if TYPE_CHECKING:
    from .site import Site


class Role(StrEnum):
    """Direction of an operand."""

    IN = "in"
    OUT = "out"
    INOUT = "inout"
    SCRATCH = "scratch"  # a tmp tile: contents undefined afterwards


class Kind(StrEnum):
    """What an operand is."""

    TILE = "tile"
    VIEW = "view"  # GlobalTensor, partition_tensor_view, memref
    SCALAR = "scalar"
    PTR = "ptr"
    RECORD = "record"  # four counts of 16 bits: vector<4xi16>
    VREG = "vreg"
    MASK = "mask"
    ALIGN = "align"
    GROUP = "group"  # of devices: !pto.group
    VECTOR = "vector"  # logical: !pto.vmi.vreg
    LANES = "lanes"  # its predicate: !pto.vmi.mask
    PART = "part"  # a register or predicate of either level
    PIPE = "pipe"  # between cores: !pto.pipe


@dataclass(frozen=True, slots=True)
class OperandForm:
    """How text writes an operand, where the instruction has no grammar of its own."""

    listed: bool = False  # of an offset: with its type
    group: str = ""  # in parentheses behind this word: ``nburst(...)``
    implied: bool = False  # of a number: without its type
    word: str = ""  # behind this word and the types of ``ins``, with its own type; older texts list it
    absent: str = ""  # the word behind the operands of ``ins`` that says it is not there


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand. `Instr.operands` lists them in C++ order, destination first."""

    name: str
    role: Role = Role.IN
    kind: Kind = Kind.TILE
    optional: bool = False
    variadic: bool = False  # a list of values
    type: str = ""  # of a scalar: "index", "i64"; empty: the element type of the tile it meets; of a mask tile: `BITS`
    or_view: bool = False  # a tile or a pointer, or a view: of a pointer in lowered texts, a memref
    or_tile: bool = False  # a view of global memory, or a tile
    place: TileType | None = None  # where a tile lies that text calls a scaling tile
    or_ptr: bool = False  # a number, or a pointer
    or_vreg: bool = False  # a number, or a register or logical vector
    space: str = ""  # of a pointer: "ub" or "gm"
    offset: bool = False  # from the pointer before it; stands in brackets behind that
    supplied: bool = False  # of a scratch tile: a statement that omits it means one of the type of its first source
    like: str = ""  # of a result whose type is not written, or a scratch tile that a statement omits: what has its type
    agreed: bool = False  # blocks that run together need the same value
    linear: bool = False  # of a state: handed on exactly once
    posted: bool = False  # of a result: the pointer of an access, advanced; only where the text asks for it
    placed: bool = False  # of a tile: the instruction gives it its place
    size: int = 1  # of a list in groups: how many values one group has
    bits: int = 0  # of a mask: its granularity
    members: Role = Role.IN  # of a group of devices: what happens to the memory of its members
    needed: Callable[[Site], str | None] | None = None  # of a scratch tile: what its size follows from, None: no need
    form: OperandForm = OperandForm()


BITS = "bits"
"""The type of a tile that holds a mask, one bit for each column."""


def dst(name: str = "dst", kind: Kind = Kind.TILE) -> Operand:
    """An operand that is only written."""
    return Operand(name, Role.OUT, kind)


def src(name: str = "src", *, optional: bool = False) -> Operand:
    """A tile that is only read."""
    return Operand(name, Role.IN, Kind.TILE, optional)


def scales(name: str, place: TileType) -> Operand:
    """A tile of scales; text says ``scaling``, and the operand says which buffer that is."""
    return Operand(name, place=place)


def inout(name: str = "dst") -> Operand:
    """A tile that is read and written; text lists it in ``outs``."""
    return Operand(name, Role.INOUT)


def scalar(name: str = "scalar", *, optional: bool = False, type: str = "") -> Operand:
    """A number in a scalar register, of the element type unless `type` says otherwise."""
    return Operand(name, Role.IN, Kind.SCALAR, optional, type=type)


def index(name: str, *, optional: bool = False) -> Operand:
    """A position or size, of type index."""
    return scalar(name, optional=optional, type="index")


def in_text(operand: Operand, **form: Any) -> Operand:
    """The operand, written in another form; `form` are fields of `OperandForm`."""
    return replace(operand, form=OperandForm(**form))


def agreed(operand: Operand) -> Operand:
    """The operand, of which blocks that run together need the same value."""
    return replace(operand, agreed=True)


def view(name: str, role: Role = Role.IN) -> Operand:
    """A GlobalTensor."""
    return Operand(name, role, Kind.VIEW)


def scalars(name: str) -> Operand:
    """A list of positions or sizes."""
    return Operand(name, Role.IN, Kind.SCALAR, variadic=True, type="index")


def ptr(name: str = "ptr") -> Operand:
    """A pointer."""
    return Operand(name, Role.IN, Kind.PTR)


def address(name: str = "value") -> Operand:
    """A byte address, or a pointer to be seen as one to other elements."""
    return Operand(name, Role.IN, Kind.SCALAR, type="i64", or_ptr=True)


def tmp(
    name: str = "tmp",
    *,
    optional: bool = False,
    like: str = "",
    supplied: bool = False,
    needed: Callable[[Site], str | None] | None = None,
) -> Operand:
    """A scratch tile. ``like``: the operand that has its type, so that a statement may leave it out.

    ``supplied``: the same where that is the first source, and level 2 does not leave it out (assembly 5, rule 5).
    ``needed``: where text leaves it out and the assembler has to make it, the operand whose valid region says how
    large, or "" if no open size matters; None where it is not needed.
    """
    return Operand(name, Role.SCRATCH, Kind.TILE, optional, supplied=supplied, like=like, needed=needed)


@dataclass(frozen=True, slots=True)
class Attr:
    """A compile-time parameter: Python keyword ``name``, text key, value type, default.

    ``kind`` is an enumeration of `ptokit.types.enums`, or ``bool``/``int``/``float``/``str``. ``mnemonic`` is the
    name in ``#pto<mnemonic value>``; ``dotted`` chooses ``#pto.mnemonic<value>`` when printing (assembly 4).
    """

    name: str
    kind: type
    default: Any = None
    key: str = ""
    mnemonic: str = ""
    dotted: bool = False
    token: bool = False  # stands among the operands, as a string
    before: str = ""  # of a token: the operand that follows it; empty: it is the last
    words: tuple[str, ...] = ()  # of a string: what it can be, where that is a short list
    older: str = ""  # the key in older texts
    long: bool = False  # of an integer: it has 64 bits in text
    beside: bool = False  # a string behind the types of ``ins``; older texts have it in the dictionary
    optional: bool = False  # may be left out, though it has no default
    register: str = ""  # the operand that gives the value where only a run knows it
    stated: bool = False  # text says it even where it has its default
    members: type[IntEnum] | None = None  # of an integer: what Python calls its values

    def parse(self, text: str) -> Any:
        """The value an attribute spelling stands for. Raises `KeyError` or `ValueError`."""
        if issubclass(self.kind, Enum):
            return self.kind.from_text(text)  # type: ignore[attr-defined]
        if self.kind is bool:
            return {"true": True, "false": False}[text]
        return self.kind(text)  # type: ignore[call-arg]
