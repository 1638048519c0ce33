"""The instruction table: what one instruction is, how text writes it, and the registry of all of them.

An instruction is defined once. The Python intrinsics, parser, printer, checker, executor, footprints, C++ emission and
the reference pages all read its `Instr`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, fields, replace
from enum import Enum
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from ptokit.diagnostics import Rule
from ptokit.diagnostics.rules import FURTHER, Check
from ptokit.records import OnDemand, dataclass
from ptokit.types.dtypes import DType
from ptokit.types.enums import Pipe

from .checks.compiling import REQUIRED, compiled
from .meaning.execute import Derived
from .meaning.footprint import footprint as footprint_of
from .meaning.moves import lanes_taken
from .meaning.words import Meaning as Meaning
from .meaning.words import Ordering, Python, Shown, Unrun, Word
from .operands import ALSO as ALSO
from .operands import BITS, FIRST_SOURCE
from .operands import CALLED as CALLED
from .operands import GENERIC as GENERIC
from .operands import LEVEL1 as LEVEL1
from .operands import LEVEL2 as LEVEL2
from .operands import TENSOR as TENSOR
from .operands import Attr as Attr
from .operands import Kind as Kind
from .operands import Operand as Operand
from .operands import OperandForm as OperandForm
from .operands import Passing as Passing
from .operands import Role as Role
from .operands import TextForm as TextForm
from .operands import address as address
from .operands import agreed as agreed
from .operands import dst as dst
from .operands import flag as flag
from .operands import grammar as grammar
from .operands import handle as handle
from .operands import in_text as in_text
from .operands import index as index
from .operands import inout as inout
from .operands import listed as listed
from .operands import number as number
from .operands import ptr as ptr
from .operands import scalar as scalar
from .operands import scalars as scalars
from .operands import scales as scales
from .operands import src as src
from .operands import tmp as tmp
from .operands import view as view
from .site import Access as Access
from .site import Footprint as Footprint
from .site import Site, TileInfo, ViewInfo

# What families of instructions have in common beside what they compute: order, and the hardware they run on.


class Sync(Enum):
    """What an instruction orders: pipes of its core, cores, or what is seen of memory."""

    SET = "raises a flag from one pipe to another"
    WAIT = "waits for a flag and lowers it"
    BARRIER = "waits for all earlier work of a pipe, or of all"
    TAKE = "takes a buffer token for a pipe"
    RELEASE = "gives a buffer token back"
    WITHIN = "orders loads and stores inside a vector scope"
    WORK = "waits for the instructions that made its operands"
    SIGNAL = "raises a flag of other cores"
    AWAIT = "waits for a flag that another core raises"
    MEET = "waits until all cores of a kind have come"
    SLOT = "waits for a slot of a pipe between cores, fills it or gives it back"
    TELL = "sets a signal in global memory"
    HEAR = "waits for signals in global memory"
    SEEN = "makes accesses to memory seen, and lets nothing else wait"


@dataclass(frozen=True, slots=True)
class Order:
    """What an instruction orders, and what it waits for."""

    only: bool = False  # it states an order between pipes, cores or instructions, and does nothing else
    does: Sync | None = None  # which, where more than one instruction does it
    queued: bool = False  # it hands work to an engine, or waits for that: no pipe says when it is done
    between_cores: bool = False  # it orders cores, not the pipes of one
    waits: bool = False  # for another core: ``run`` returns a function that gives the result once the wait is over
    by_compiler: bool = False  # in Auto mode the compiler issues it, and a program must not


UNORDERED = Order()
ORDERING = Order(only=True)
BETWEEN_CORES = Order(between_cores=True)
WAITING = Order(between_cores=True, waits=True)


class Engine(Enum):
    """What carries out an instruction that is more than one operation of its pipe."""

    SEVERAL_PIPES = "several pipes, with EVENT_ID0 between them"
    SIMT = "the SIMT unit, which needs bytes of the unified buffer"


# Names of instructions, each imported when it is first asked for: a program needs few of some 700.


MODULES = Path(__file__).with_name("modules.txt").read_text(encoding="utf-8").splitlines()
"""The modules that define instructions, in order, each with all names of these. Made by tools/modules.py.

A module also has the names of other instructions that mean one of its own in some texts.
"""

T = TypeVar("T")
_FULL = "pto."


@cache
def modules() -> dict[str, list[str]]:
    """By name of an instruction: the modules that define it and what is written in its place."""
    found: dict[str, list[str]] = {}
    for line in MODULES:
        module, *names = line.split()
        for name in names:
            found.setdefault(name, []).append(module)
    return found


@cache
def _places() -> dict[str, int]:
    return {name: at for at, name in enumerate(modules())}


def _in_folder(folder: str, package: str) -> list[str]:
    """Every module below a package, in order of name."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name, extension = os.path.splitext(entry.name)
            if extension == ".py" and name != "__init__":
                found.append(f"{package}.{name}")
            elif not extension and name != "__pycache__" and entry.is_dir():
                found += _in_folder(entry.path, f"{package}.{name}")
    return sorted(found)


@cache
def bring_all() -> None:
    """Import what defines any instruction: the table is complete."""
    for module in _in_folder(os.path.dirname(__file__), "ptokit.isa"):
        import_module(module)


FURTHER.append(bring_all)


class Registry(OnDemand[T]):
    """Instructions by name, in the order of the modules."""

    def bring(self, name: str) -> bool:
        wanted = modules().get(name.removeprefix(_FULL), ())
        for module in wanted:
            import_module(f".{module}", __package__)
        return bool(wanted)

    def bring_all(self) -> None:
        bring_all()

    def place(self, name: str) -> int:
        return _places().get(name.removeprefix(_FULL), len(_places()))


# The instruction table: what one instruction is, and the registry of all of them.


def default_footprint(site: Site) -> Iterator[Access]:
    """Each operand's valid region: reads first, then writes. Without scratch that the target leaves alone."""
    for write in (False, True):
        for op in site.instr.operands:
            info = site.operands.get(op.name)
            touched = op.role is Role.INOUT or (op.role is not Role.IN) == write
            if not touched or not op.used(site):
                continue
            if isinstance(info, TileInfo):
                yield Access(op.name, write, info.vr, info.vc)  # type: ignore[arg-type]
            elif isinstance(info, ViewInfo):
                yield Access(op.name, write, -1, -1)  # the whole view


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


Drained = Mapping[str, Mapping[str, Mapping[str, Collection[DType]]]]
"""By target and form (``cast``, or quantised by the words of ``scalar`` or ``vector``): what the elements of an
accumulator, by name, become on their way out."""


@dataclass(frozen=True)
class Together:
    """Element types that the named operands may have together, by target."""

    operands: tuple[str, ...]
    types: Mapping[str, Collection[tuple[DType, ...]]]


@dataclass(frozen=True, eq=False)
class Instr:
    """One instruction of the ISA.

    ``text`` is the `.pto` name without ``pto.``; ``form`` says how it is written.
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
    meaning: Meaning | Shown | Unrun | None = None
    run: Callable[..., Any] | None = None
    footprint: Footprint = derived_footprint
    form: TextForm = TextForm()
    order: Order = UNORDERED
    produces: tuple[Operand, ...] = ()  # SSA results that the semantics function returns
    typed: bool = False  # the semantics function gets ``types``: what is known of operands and results, by name
    cpp: str | None = None  # how C++ calls it, where not by its name with all operands (`cpp.writing.calls`); "": not
    source: str = ""
    decision: str = ""  # where public facts leave something open: the reading ptokit chose
    types: Mapping[str, frozenset[DType]] = field(default_factory=dict)  # element types by target (isa.typesets)
    together: Together | None = None  # element types that operands may have together
    engines: Mapping[str, Engine] = field(default_factory=dict)  # by target, where that is more than its pipe
    threaded: bool = False  # what one thread of the SIMT unit does
    per_block: bool = False  # the result may differ between blocks that have the same operands
    drained: Drained = field(default_factory=dict)  # what accumulators become, by target
    halves: bool = False  # pairs of 4-bit floats are numbers to it, where they meet tiles of other elements
    value_rules: bool | Callable[[Site], bool] = False  # rules look at what tiles hold: check every call

    @cached_property
    def results(self) -> int:
        """SSA results in `.pto` text of level 2; -1: as many as the text has."""
        if self.form.syntax == "generic-results":
            return -1
        return self.form.results if self.form.grammar else len(self.returned)

    @cached_property
    def counts(self) -> int:
        """Lanes that it takes from a count, its operand; a result is what is left of it."""
        return lanes_taken(self.meaning)

    @property
    def unrun(self) -> str:
        """Why it is read and carried, and not run; empty if it is run."""
        return self.meaning.why if isinstance(self.meaning, Unrun) else ""

    @property
    def alias(self) -> str:
        """The operand whose bytes the result shows, if it is one of its own type."""
        return self.meaning.of if isinstance(self.meaning, Shown) else ""

    @cached_property
    def typed_operand(self) -> str:
        """The operand whose element type `types` are about: the first that is no mask."""
        return next((o.name for o in self.operands if o.kind is Kind.TILE and o.type != BITS), "")

    def meaning_at(self, site: Site) -> Word | None:
        """What it computes at a site; None if that is a function, or depends on sizes that are not known there."""
        if isinstance(self.meaning, Shown | Unrun):
            return None
        return self.meaning(site) if callable(self.meaning) else self.meaning

    def run_at(self, site: Site) -> Callable[..., Any] | None:
        """``run`` for one place in a program, specialised to what is known there."""
        return self.run.at(site) if isinstance(self.run, Derived | BySite) else self.run

    def attributes(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All attributes, defaults included."""
        return {a.name: given.get(a.name, a.default) for a in self.attrs}

    def attribute(self, name: str) -> Attr:
        """The attribute that it declares under this name. Raises `KeyError`."""
        for attr in self.attrs:
            if attr.name == name:
                return attr
        raise KeyError(name)

    def operand(self, name: str) -> Operand:
        """The operand with this name. Raises `KeyError`."""
        for op in self.operands:
            if op.name == name:
                return op
        raise KeyError(name)

    def function_of(self, check: Check) -> Check:
        """The check of a rule as a function of the sites of this instruction."""
        return compiled(check, self)

    @cached_property
    def names(self) -> Mapping[str, str]:
        """What conditions of rules may name, and what each is (`checks.compiling.Named`)."""
        found = dict.fromkeys((*(f.name for f in fields(Site)), "tiles", "views"), "field")
        found |= dict.fromkeys((attr.name for attr in self.attrs), "attribute")
        for operand in (*self.operands, *self.produces):
            absent = operand.optional or operand.variadic or operand in self.produces
            found[operand.name] = "optional" if absent else "operand"
        return found

    @cached_property
    def text_only(self) -> bool:
        """True for operations that kernels in Python do not have: those on logical vectors and of threads too."""
        logical = (Kind.VECTOR, Kind.LANES, Kind.LOGICAL)
        return (
            not self.form.in_python or self.threaded or any(o.kind in logical for o in (*self.operands, *self.produces))
        )

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
    def spared(self) -> tuple[Operand, ...]:
        """The scratch tiles that some targets do without."""
        return tuple(o for o in self.operands if o.needed is not None)

    @cached_property
    def source_names(self) -> frozenset[str]:
        """Those of them that are only read."""
        return frozenset(name for name in self.data_names if self.operand(name).role is Role.IN)

    @property
    def ins(self) -> list[Operand]:
        """Operands written in ``ins(...)``, in text order."""
        return self._written[0]

    @property
    def outs(self) -> list[Operand]:
        """Operands written in ``outs(...)``, in text order."""
        return self._written[1]

    @cached_property
    def _written(self) -> tuple[list[Operand], list[Operand]]:
        if order := self.in_order(LEVEL2):
            at = self.form.orders[LEVEL2].split().index("->")
            return order[:at], order[at:]
        stored = (Role.OUT, Role.INOUT)
        return [o for o in self.operands if o.role not in stored], [o for o in self.operands if o.role in stored]

    def in_order(self, form: str) -> list[Operand]:
        """The operands in the order that a form of text has of its own; empty if it has none."""
        return [self.operand(name) for name in self.form.orders.get(form, "").split() if name != "->"]

    @cached_property
    def supplied(self) -> Operand | None:
        """The scratch tile that a statement may leave out, and gets of the type of its first source."""
        return next((o for o in self.operands if o.like == FIRST_SOURCE), None)

    @cached_property
    def shown(self) -> str:
        """The name that is printed, without ``pto.``."""
        return self.form.newest if self.of_group else self.text

    @cached_property
    def of_group(self) -> bool:
        """True if it shares the text name of another instruction, and a group of devices as first operand tells."""
        return bool(self.form.newest) and any(o.kind is Kind.GROUP for o in self.operands)

    @cached_property
    def text_attrs(self) -> dict[str, Attr]:
        """The attributes that text can have by name: its own, and those that are only carried."""
        return {a.name: a for a in (*self.attrs, *(e for e in self.form.carried if isinstance(e, Attr)))}

    def chosen(self, choice: str, operands: Sequence[Operand]) -> list[Operand]:
        """Those of `operands` that belong to one of `TextForm.choices`, all of them required."""
        names = choice.split()
        return [replace(o, optional=False) for o in operands if o.name in names]

    def pipe_of(self, site: Site) -> Pipe:
        """The pipe that executes the instruction: a function of operands and target."""
        return self.pipe if isinstance(self.pipe, Pipe) else self.pipe(site)

    def checks_values(self, site: Site) -> bool:
        """True if rules depend on what the operands at this site hold, so that every call is to be checked."""
        return self.value_rules if isinstance(self.value_rules, bool) else self.value_rules(site)

    @property
    def cpp_name(self) -> str:
        """The name by which C++ calls it; empty where C++ has no such call."""
        called = re.match(r"(?:\w+: )?([\w:.]*)", self.name if self.cpp is None else self.cpp)
        return called[1] if called else ""

    @property
    def signature(self) -> str:
        """C++ call: ``TADD(dst, src0, src1)``; of attributes where there are no operands."""
        args = [f"[{o.name}]" if o.optional else o.name for o in self.operands]
        if not self.operands:
            args = [f"[{a.name}]" if a.default is not None or a.optional else a.name for a in self.attrs]
        return f"{self.cpp_name or self.name}({', '.join(args)})"


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
    if any(attr.required for attr in instr.attrs):
        settle(instr, "rules", (REQUIRED, *instr.rules))
    if isinstance(instr.meaning, Python | Ordering) and not instr.threaded:
        settle(instr, "run", instr.meaning.run)
    elif instr.run is None and not isinstance(instr.meaning, Shown | Unrun | None):
        settle(instr, "run", derived(instr))
    elif instr.meaning is None and instr.run is not None:
        settle(instr, "meaning", Python(instr.run))
    for spelling in (instr.text, *instr.form.spellings):
        if BY_TEXT.setdefault(spelling, instr) is not instr:
            raise ValueError(f"text name {spelling} is defined twice")
        BY_OPERATION[f"pto.{spelling}"] = instr
    if instr.of_group:
        SHARED[instr.form.newest] = instr
    return instr


def instructions(names: Sequence[str] | None = None) -> list[Instr]:
    """All instructions, or those named, in table order."""
    return list(TABLE.values()) if names is None else [TABLE[n] for n in names]
