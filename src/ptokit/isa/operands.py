"""What an instruction takes: operands with their roles, attributes, sets of element types; and how text writes it.

The columns are keyed by target name. ``asm-a2a3`` and ``asm-a5`` are the narrower lists of the reference assembler,
which binds `.pto` text only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from enum import Enum, IntEnum, StrEnum
from typing import TYPE_CHECKING, Any

from ptokit.records import dataclass
from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import TileType

if TYPE_CHECKING:
    from .site import Site


# What an instruction takes: operands with their roles, and attributes.


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
    LOGICAL = "logical vector or predicate"  # !pto.vmi.vreg or !pto.vmi.mask
    PART = "register or predicate"  # that holds a part of a logical one: !pto.vreg or !pto.mask
    PIPE = "pipe"  # between cores: !pto.pipe


class Passing(StrEnum):
    """What is particular about handing an operand or a result on."""

    PLAIN = ""
    ONCE = "once"  # a state that is handed on exactly once
    ADVANCED = "advanced"  # a result: the pointer of an access; only where the text asks for it
    PLACED = "placed"  # the instruction gives a tile or view its place


@dataclass(frozen=True, slots=True)
class OperandForm:
    """How text writes an operand, where the instruction has no grammar of its own."""

    offset: bool = False  # from the pointer before it: in brackets after that
    listed: bool = False  # of an offset: with its type
    group: str = ""  # in parentheses after this word: ``nburst(...)``
    implied: bool = False  # of a number: without its type
    word: str = ""  # after this word and the types of ``ins``, with its own type; older texts list it
    absent: str = ""  # the word after the operands of ``ins`` that says it is not there


FIRST_SOURCE = "*"
"""`Operand.like` of a scratch tile that only statements leave out: then it has the type of their first source."""


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand. `Instr.operands` lists them in C++ order, destination first.

    ``type``: of a number "index", "i64", "f32", or empty where it is the element type of the tile it meets; the memory
    of a pointer, "ub" or "gm"; the granularity of a mask, "b16"; of a tile `BITS`, or the name of the `TileType` where
    text calls several of them scaling tiles. A group of devices has the role of its members' memory.
    """

    name: str
    role: Role = Role.IN
    kind: Kind = Kind.TILE
    optional: bool = False
    variadic: int = 0  # a list of values, in groups of so many
    type: str = ""
    also: tuple[Kind, ...] = ()  # further kinds; lowered texts have memrefs, views in place of pointers
    like: str = ""  # of a result whose type is not written, or a scratch tile that a statement omits: what has its type
    agreed: bool = False  # blocks that run together need the same value
    passing: Passing = Passing.PLAIN
    needed: Callable[[Site], str | None] | None = None  # of a scratch tile: what its size follows from, None: no need
    form: OperandForm = OperandForm()

    @property
    def space(self) -> str:
        """The memory of a pointer; empty if it may be any."""
        return self.type if self.kind is Kind.PTR else ""

    @property
    def bits(self) -> int:
        """The granularity of a mask; 0 if it may be any."""
        return int(self.type[1:] or 0) if self.kind is Kind.MASK else 0

    @property
    def number_type(self) -> str:
        """The type of a number; empty if it follows from other operands."""
        return self.type if self.kind is Kind.SCALAR else ""

    @property
    def place(self) -> TileType | None:
        """Where a tile lies that text calls a scaling tile."""
        return TileType[self.type] if self.kind is Kind.TILE and self.type not in ("", BITS) else None

    def used(self, site: Site) -> bool:
        """False for a scratch tile that the target leaves alone."""
        return self.needed is None or self.needed(site) is not None

    @property
    def posted(self) -> bool:
        """True for the advanced pointer of an access."""
        return self.passing is Passing.ADVANCED


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
    return Operand(name, type=place.name)


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
    """The operand, whose value is the same in blocks that run together."""
    return replace(operand, agreed=True)


def view(name: str, role: Role = Role.IN) -> Operand:
    """A GlobalTensor."""
    return Operand(name, role, Kind.VIEW)


def scalars(name: str) -> Operand:
    """A list of positions or sizes."""
    return Operand(name, Role.IN, Kind.SCALAR, variadic=1, type="index")


def ptr(name: str = "ptr") -> Operand:
    """A pointer."""
    return Operand(name, Role.IN, Kind.PTR)


def address(name: str = "value") -> Operand:
    """A byte address, or a pointer to be seen as one to other elements."""
    return Operand(name, Role.IN, Kind.SCALAR, type="i64", also=(Kind.PTR,))


def tmp(
    name: str = "tmp",
    *,
    optional: bool = False,
    like: str = "",
    needed: Callable[[Site], str | None] | None = None,
) -> Operand:
    """A scratch tile. ``like``: the operand that has its type, so that a statement may leave it out.

    `FIRST_SOURCE` is the first tile it reads; then level 2 does not leave it out (assembly 5, rule 5).
    ``needed``: where text leaves it out and the assembler has to make it, the operand whose valid region says how
    large, or "" if no open size matters; None where it is not needed.
    """
    return Operand(name, Role.SCRATCH, Kind.TILE, optional, like=like, needed=needed)


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
    means: tuple[str, ...] = ()  # what each of `words` does, for the instruction's page
    older: str = ""  # the key in older texts
    long: bool = False  # of an integer: it has 64 bits in text
    beside: bool = False  # a string after the types of ``ins``; older texts have it in the dictionary
    optional: bool = False  # may be left out, though it has no default
    required: bool = False  # without it the instruction means nothing
    register: str = ""  # the operand that gives the value where only a run knows it
    stated: bool = False  # text says it even where it has its default
    members: type[IntEnum] | None = None  # of an integer: what Python calls its values

    def parse(self, text: str) -> Any:
        """The value of an attribute's spelling. Raises `KeyError` or `ValueError`."""
        if issubclass(self.kind, Enum):
            return self.kind.from_text(text)  # type: ignore[attr-defined]
        if self.kind is bool:
            return {"true": True, "false": False}[text]
        return self.kind(text)  # type: ignore[call-arg]


# Sets of element types, and the per-target type columns of an instruction (compute-elementwise 0 and 3).


TypeSet = frozenset[DType]
Types = Mapping[str, TypeSet]


def types_of(names: str) -> TypeSet:
    """The types with these short names, separated by blanks."""
    return frozenset(DTYPES[n] for n in names.split())


NONE = types_of("")
F = types_of("f16 f32")
FB = types_of("f16 bf16 f32")
F32 = types_of("f32")
BF16 = types_of("bf16")
HALF = types_of("f16 bf16")
BYTE_FLOATS = types_of("e4m3 e5m2 hif8")
INT16_32 = types_of("i16 u16 i32 u32")
INT64 = types_of("i64 u64")
I6 = INT16_32 | types_of("i8 u8")
I8 = I6 | INT64
N4 = F | types_of("i16 i32")
N9 = FB | INT16_32 | INT64
N11 = FB | I8
D8 = F | INT16_32 | INT64
I32_F32 = types_of("i32 f32")

# The assembler looks at integer widths, not signs.
ASM_8 = types_of("i8 u8")
ASM_16 = types_of("i16 u16")
ASM_8_16 = ASM_8 | ASM_16
ASM_INT = I6
ASM_N4 = F | INT16_32
ASM_I32_F = F | types_of("i32 u32")
ASM_I32_F32 = types_of("i32 u32 f32")


def types(
    a2a3: TypeSet,
    a5: TypeSet,
    *,
    cpu: TypeSet | None = None,
    asm: TypeSet | tuple[TypeSet, TypeSet] | None = None,
    bf16: bool = True,
) -> Types:
    """Columns of one instruction.

    The cpu column defaults to the union of the device columns, with bf16 where both other float types are in it and
    ``bf16`` is true: the simulator's float operations take it. ``asm`` is one list or (a2a3 list, a5 list); None where
    the assembler does not know the instruction.
    """
    host = a2a3 | a5 if cpu is None else cpu
    if cpu is None and bf16 and host >= F:
        host |= BF16
    columns = {"cpu": host, "a2a3": a2a3, "a5": a5}
    if asm is not None:
        columns["asm-a2a3"], columns["asm-a5"] = asm if isinstance(asm, tuple) else (asm, asm)
    return columns


def names(allowed: TypeSet) -> str:
    """The set in the order of the type table, for messages."""
    return " ".join(n for n, t in DTYPES.items() if t in allowed) or "no type"


def number(name: str, default: int | None = None) -> Attr:
    """An attribute that is an integer."""
    return Attr(name, int, default, name)


def flag(name: str) -> Attr:
    """An attribute that is true or false."""
    return Attr(name, bool, None, name)


def handle(name: str, *, optional: bool = False) -> Operand:
    """A value whose type ptokit only carries: a pipe, a session, an array of events."""
    return Operand(name, Role.IN, Kind.SCALAR, optional, also=(Kind.PTR,))


# How text writes an instruction: its words, the order of its operands, its names, what else it may hold.


LEVEL2, LEVEL1, GENERIC, ALSO = "level 2", "level 1", "generic", "also"
"""Keys of `TextForm.orders`: forms of text, and a further order in which text may list operands."""

_RESULT = re.compile(r"R[~>]?(?:[=:]\w+)?\Z")

TENSOR = Operand("tensor", Role.OUT)
"""In `TextForm.carried`: level 2 may give the instruction a result of a tensor type."""


@dataclass(frozen=True, slots=True)
class TextForm:
    """How text writes an instruction.

    ``syntax``: ``dps`` is ``ins(..) outs(..) {attrs}``, ``dps-attrs-in`` has the attributes inside ``ins``,
    ``dps-comma`` too but after a comma and only with one destination, ``dps-typed`` writes each operand with its type,
    ``dps-either`` has its first two in either order; ``micro`` lists operands, words and types, ``generic`` is the
    generic form, ``generic-results`` with as many results as the text has, ``form`` that of the ``grammar``.
    """

    syntax: str = "dps"
    grammar: tuple[str, ...] = ()  # written forms in the notation of `ptokit.asm.forms.operands`; the first is printed
    choices: tuple[str, ...] = ()  # which operands go together, as lists of names, where not any optional ones do
    orders: Mapping[str, str] = field(default_factory=dict)  # by form, names of operands; ``->`` stands before ``outs``
    carried: tuple[Operand | Attr, ...] = ()  # of level 2, ``key = value`` after ``outs`` and results: not run
    spellings: tuple[str, ...] = ()  # further text names that are read
    newest: str = ""  # the name that level 2 prints, where the reference has renamed the operation
    misfits: Mapping[str, str] = field(
        default_factory=dict
    )  # rule of an operand of a wrong kind; "": of operands that are not its own
    in_python: bool = True  # kernels in Python have it, too

    @property
    def results(self) -> int:
        """How many results the first of the written forms has."""
        return sum(_RESULT.match(word) is not None for word in self.grammar[0].split())

    @property
    def tensor(self) -> bool:
        """True if level 2 may give it a result of a tensor type."""
        return TENSOR in self.carried

    @property
    def trailing(self) -> tuple[Operand | Attr, ...]:
        """What may follow ``outs`` as ``key = value``."""
        return tuple(entry for entry in self.carried if entry is not TENSOR)


def grammar(*forms: str, **more: Any) -> TextForm:
    """A form in the notation of `ptokit.asm.forms.operands`; of several the first is printed."""
    return TextForm("form", forms, **more)


CALLED = ("{}", "ins ( {} ) <? outs ( ) ?>", "{}")
"""Written forms of an instruction that has attributes only; of several forms the first is printed."""


def listed(names: str, form: str = "%{}") -> str:
    """Operands in a written form, or with another `form` their types, with commas between."""
    return " , ".join(form.format(name) for name in names.split())
