"""The instruction table: what one instruction is, and the registry of all of them.

An instruction is defined once. The Python intrinsics, parser, printer, checker, executor, footprints, C++ emission and
the reference pages all read its `Instr`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from enum import Enum, IntEnum, StrEnum
from functools import cached_property
from typing import Any

from ptokit.diagnostics import Rule
from ptokit.records import dataclass
from ptokit.types.dtypes import DType
from ptokit.types.enums import Pipe, TileType

from .access import Access as Access
from .access import Footprint as Footprint
from .meaning.execute import Derived
from .meaning.footprint import footprint as footprint_of
from .meaning.words import Meaning as Meaning
from .meaning.words import Ordering, Python, Word
from .registry import Registry
from .site import Site, TileInfo, ViewInfo


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
    stored: bool = False  # in ``outs``, whatever its role; older texts have it in ``ins``
    absent: str = ""  # the word behind the operands of ``ins`` that says it is not there


@dataclass(frozen=True, slots=True)
class Operand:
    """One operand. `Instr.operands` lists them in C++ order, destination first."""

    name: str
    role: Role = Role.IN
    kind: Kind = Kind.TILE
    optional: bool = False
    variadic: bool = False  # a list of values
    type: str = ""  # of a scalar: "index", "i64", "f32"; empty: the element type of the tile it meets
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


def default_footprint(site: Site) -> Iterator[Access]:
    """Each operand's valid region: reads first, then writes."""
    for write in (False, True):
        for op in site.instr.operands:
            info = site.operands.get(op.name)
            touched = op.role is Role.INOUT or (op.role is not Role.IN) == write
            if not touched:
                continue
            if isinstance(info, TileInfo):
                yield Access(op.name, write, info.vr, info.vc)  # type: ignore[arg-type]
            elif isinstance(info, ViewInfo):
                yield Access(op.name, write, -1, -1)  # the whole view


CALLED = ("{}", "ins ( {} ) <? outs ( ) ?>", "{}")
"""Written forms of an instruction that has attributes only; of several forms the first is printed."""


def listed(names: str, form: str = "%{}") -> str:
    """Operands in a written form, or with another `form` their types, with commas between."""
    return " , ".join(form.format(name) for name in names.split())


def derived_footprint(site: Site) -> Iterator[Access]:
    """What the meaning says is read and written; where it does not say, as `default_footprint`."""
    word = site.instr.meaning_at(site)
    found = None if word is None else footprint_of(word, site)
    return default_footprint(site) if found is None else found


@dataclass(frozen=True, slots=True)
class BySite:
    """In place of a function: what makes one for a place in a program, of its attributes, operands and results."""

    at: Callable[[Site], Callable[..., Any]]

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("a function of a place in a program is made there")


@dataclass(frozen=True, slots=True)
class InstrForm:
    """How text writes an instruction, beside its ``syntax`` or ``grammar``."""

    written: str = ""  # names of the operands in the order of the text, where that is not the order of the table
    generic: str = ""  # and in that of generic form, where that is another one
    orders: tuple[tuple[str, ...], ...] = ()  # further orders in which the text may list operands, by name
    statement: str = ""  # names of the operands in the order of level 1, where that is not sources and what is stored
    trailing: tuple[Operand | Attr, ...] = ()  # of level 2 only, as ``key = value`` behind ``outs``: carried, not run
    tensor: bool = False  # level 2 may give it a result of a tensor type: carried, not run


@dataclass(frozen=True)
class Instr:
    """One instruction of the ISA.

    ``text`` is the `.pto` name without ``pto.``; ``syntax`` names its written form: ``dps`` is ``ins(..) outs(..)
    {attrs}``, ``dps-attrs-in`` has the attributes inside ``ins``, ``dps-comma`` too but behind a comma and only with
    one destination, ``dps-typed`` writes each operand with its type, ``dps-either`` has its first two in either order;
    ``micro`` lists operands, words and types, ``generic`` is the generic form, ``form`` that of the ``grammar``.
    ``meaning`` says what the instruction computes as data (`isa.meaning`); ``run`` and ``footprint`` follow from it.
    ``run(machine, *operands, **attrs)`` says it as a function, operands in table order (None where absent); None for
    instructions the executor itself implements.
    """

    name: str
    text: str
    summary: str
    operands: tuple[Operand, ...] = ()
    attrs: tuple[Attr, ...] = ()
    pipe: Pipe | Callable[[Site], Pipe] = Pipe.V
    rules: tuple[Rule, ...] = ()
    meaning: Meaning | None = None
    run: Callable[..., Any] | None = None
    footprint: Footprint = derived_footprint
    syntax: str = "dps"
    forms: tuple[str, ...] = ()  # which operands go together, as lists of names, where not any optional ones do
    grammar: tuple[str, ...] = ()  # written forms in the notation of `ptokit.asm.forms.notation`; the first is printed
    form: InstrForm = InstrForm()
    spellings: tuple[str, ...] = ()  # further text names that are read
    newest: str = ""  # the name that level 2 prints, where the reference has renamed the operation
    ordering: bool = False  # states an order between pipes, cores or instructions, and nothing else
    results: int = 0  # SSA results in `.pto` text of level 2; -1: as many as the text has
    produces: tuple[Operand, ...] = ()  # those results, where the semantics function returns them
    misfit: str = ""  # rule of written operands that are not those of the instruction
    kinds: Mapping[str, str] = field(default_factory=dict)  # the assembler's rule of an operand of a wrong kind
    typed: bool = False  # the semantics function gets ``types``: what is known of operands and results, by name
    moves: Callable[[Site], Any] | None = None  # bytes of on-chip memory that a copy fills or empties
    counts: int = 0  # lanes that it takes from a count: its second result is the count minus these, at least 0
    static_rules: bool = False  # rules look at types and constants only: a call has nothing left to check
    cpp: str | None = None  # C++ name where it is not `name`
    source: str = ""
    decision: str = ""  # where public facts leave something open: the reading ptokit chose
    unrun: str = ""  # why it is read and carried, and not run
    types: Mapping[str, frozenset[DType]] = field(default_factory=dict)  # element types by target (isa.typesets)
    form_of: str = "dst"  # the operand whose element type has to be one of those
    alias: str = ""  # the operand whose bytes the result shows
    raw: bool = False  # in Auto mode the compiler issues it, and a program must not
    between_cores: bool = False  # orders cores, not the pipes of one
    composite: tuple[str, ...] = ()  # targets that carry it out on several pipes, with EVENT_ID0 between them
    simt: bool = False  # runs on the SIMT unit of a5, which needs bytes of UB
    threaded: bool = False  # what one thread of that unit does
    per_block: bool = False  # the result may differ between blocks that have the same operands
    waits: bool = False  # for another core: ``run`` returns a function that gives the result once the wait is over
    value_rules: bool | Callable[[Site], bool] = False  # rules look at what tiles hold: check every call
    shares: str = ""  # text name of another instruction, which it has too: operands with a group of devices first tell
    in_python: bool = True  # kernels in Python have it, too

    def meaning_at(self, site: Site) -> Word | None:
        """What it computes at a site; None if that is a function, or depends on sizes that are not known there."""
        return self.meaning(site) if callable(self.meaning) else self.meaning

    def run_at(self, site: Site) -> Callable[..., Any] | None:
        """``run`` for one place in a program, specialised to what is known there."""
        return self.run.at(site) if isinstance(self.run, Derived | BySite) else self.run

    def operand(self, name: str) -> Operand:
        """The operand with this name. Raises `KeyError`."""
        for op in self.operands:
            if op.name == name:
                return op
        raise KeyError(name)

    @cached_property
    def text_only(self) -> bool:
        """True for operations that kernels in Python do not have: those on logical vectors and of threads too."""
        logical = (Kind.VECTOR, Kind.LANES, Kind.PART)
        return not self.in_python or self.threaded or any(o.kind in logical for o in (*self.operands, *self.produces))

    @cached_property
    def looks_around(self) -> bool:
        """True if rules look at more than single operands."""
        return any(rule.around for rule in self.rules)

    @property
    def returned(self) -> list[Operand]:
        """The results of a call in Python: all but advanced pointers."""
        return [o for o in self.produces if not o.posted]

    @cached_property
    def data_names(self) -> tuple[str, ...]:
        """The names of its tile operands, without scratch tiles."""
        return tuple(o.name for o in self.operands if o.kind is Kind.TILE and o.role is not Role.SCRATCH)

    @cached_property
    def source_names(self) -> frozenset[str]:
        """Those of them that are only read."""
        return frozenset(name for name in self.data_names if self.operand(name).role is Role.IN)

    @property
    def ins(self) -> list[Operand]:
        """Operands written in ``ins(...)``, in text order."""
        return [o for o in self._as_written if o.role in (Role.IN, Role.SCRATCH) and not o.form.stored]

    @property
    def outs(self) -> list[Operand]:
        """Operands written in ``outs(...)``, in text order."""
        return [o for o in self._as_written if o.role in (Role.OUT, Role.INOUT) or o.form.stored]

    @property
    def _as_written(self) -> Sequence[Operand]:
        return [self.operand(name) for name in self.form.written.split()] if self.form.written else self.operands

    @cached_property
    def supplied(self) -> Operand | None:
        """The scratch tile that a statement may leave out, and gets of the type of its first source."""
        return next((o for o in self.operands if o.supplied), None)

    @property
    def shown(self) -> str:
        """The name that is printed, without ``pto.``."""
        return self.shares or self.text

    @property
    def text_attrs(self) -> tuple[Attr, ...]:
        """The attributes that text can have: its own, and those that are only carried."""
        return (*self.attrs, *(e for e in self.form.trailing if isinstance(e, Attr)))

    def chosen(self, form: str, operands: Sequence[Operand]) -> list[Operand]:
        """Those of `operands` that belong to a form, all of them required."""
        names = form.split()
        return [replace(o, optional=False) for o in operands if o.name in names]

    def pipe_of(self, site: Site) -> Pipe:
        """The pipe that executes the instruction: a function of operands and target."""
        return self.pipe if isinstance(self.pipe, Pipe) else self.pipe(site)

    def checks_values(self, site: Site) -> bool:
        """True if rules depend on what the operands at this site hold, so that every call is to be checked."""
        return self.value_rules if isinstance(self.value_rules, bool) else self.value_rules(site)

    @property
    def signature(self) -> str:
        """C++ call: ``TADD(dst, src0, src1)``."""
        args = ", ".join(f"[{o.name}]" if o.optional else o.name for o in self.operands)
        return f"{self.cpp or self.name}({args})"


TABLE = Registry[Instr]()
"""All instructions by C++ name."""

BY_TEXT = Registry[Instr]()
"""All instructions by text name and further spellings, without ``pto.``."""

BY_OPERATION = Registry[Instr]()
"""The same by full name: ``pto.tadd``."""

SHARED: dict[str, Instr] = {}
"""By the text name of another instruction: what it is where its first operand is a group of devices."""


def instruction(instr: Instr, derived: Callable[[Instr], Any] = Derived) -> Instr:
    """Put an instruction into the table and return it; ``derived`` makes its function of its meaning."""
    if TABLE.setdefault(instr.name, instr) is not instr:
        raise ValueError(f"instruction {instr.name} is defined twice")
    settle = object.__setattr__  # nobody has it yet
    if instr.grammar:
        settle(instr, "syntax", "form")
    if isinstance(instr.meaning, Python | Ordering) and not instr.threaded:
        settle(instr, "run", instr.meaning.run)
    elif instr.meaning is not None and instr.run is None:
        settle(instr, "run", derived(instr))
    elif instr.meaning is None and instr.run is not None:
        settle(instr, "meaning", Python(instr.run))
    for spelling in (instr.text, *instr.spellings):
        if BY_TEXT.setdefault(spelling, instr) is not instr:
            raise ValueError(f"text name {spelling} is defined twice")
        BY_OPERATION[f"pto.{spelling}"] = instr
    if instr.shares:
        SHARED[instr.shares] = instr
    return instr


def instructions(names: Sequence[str] | None = None) -> list[Instr]:
    """All instructions, or those named, in table order."""
    return list(TABLE.values()) if names is None else [TABLE[n] for n in names]
