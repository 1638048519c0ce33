"""How C++ calls an instruction: the form that the instruction table states, and what fills it in at one place.

A form is written as a call, with options in the template arguments:

| written | is |
|---|---|
| ``name`` | an operand or an attribute |
| ``name?`` | left out where the operand is absent, or the attribute has its default |
| ``^name`` | the type of an operand |
| ``!name`` | a template argument that is always stated; others only where it or a later one is not the default |
| ``name:Enum`` | an attribute, as an enumerator of another enumeration; ``:int`` as a number |
| ``&name`` | the address of a tile |
| ``Type{a b}`` | a variable of that type, made of these operands |
| ``name: CALL(...)`` | the form where that attribute is true |
| ``without a b`` | attributes of text that choose nothing in C++ |

Several forms follow each other with ``|``: the first that has room for all that is given is taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import cache
from typing import Any

from ptokit.ir import Block, Function, Module, Op, Value
from ptokit.ir.facts import Facts
from ptokit.isa.table import Attr, Instr, Operand
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.enums import BLayout, CompactMode, Layout, PadValue, SLayout
from ptokit.types.tile import CUSTOM_PAD, DYNAMIC, TileSpec
from ptokit.types.values import Ptr, Type

from ..lift.library import enumerations
from .numbers import ATOM, LONGEST, Numbers, Text, Unwritable, ctype

_FORM = re.compile(r"(?:(\w+):(?!:)\s*)?([\w:]+)(?:<(.*)>)?\((.*?)\)(?:\s*without\s+(.*))?\Z", re.DOTALL)
_WORD = re.compile(r"([!&^]?)(\w+)(?::(\w+))?(?:\{([\w ?]*)\})?(\??)\Z")


@dataclass(frozen=True, slots=True)
class Word:
    """One argument of a form. ``mark``: ``^``, ``!``, ``&`` or nothing; ``of``: an enumeration, or operands."""

    mark: str
    name: str
    of: str = ""
    parts: tuple[str, ...] | None = None
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """One way to call an instruction."""

    name: str
    options: tuple[Word, ...]
    arguments: tuple[Word, ...]
    where: str = ""
    without: tuple[str, ...] = ()

    def names(self) -> Iterator[str]:
        """The operands and attributes that it has room for."""
        for word in (*self.options, *self.arguments):
            yield from (word.name,) if word.parts is None else word.parts
        yield from (*self.without, *([self.where] if self.where else []))


def _words(text: str) -> tuple[Word, ...]:
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        match = _WORD.match(part)
        if match is None:
            raise ValueError(f"{part!r} is no argument of a call")
        mark, name, of, parts, optional = match.groups()
        found.append(Word(mark, name, of or "", None if parts is None else tuple(parts.split()), bool(optional)))
    return tuple(found)


@cache
def forms(instr: Instr) -> tuple[Form, ...]:
    """The forms of an instruction; none where C++ has no such call."""
    named = instr.name if instr.name.isidentifier() and instr.name.isupper() else ""
    stated = named if instr.cpp is None else instr.cpp
    found = []
    for text in filter(None, (part.strip() for part in stated.split("|"))):
        if "(" not in text:
            text += f"({', '.join(o.name + '?' * o.optional for o in instr.operands)})"
        match = _FORM.match(text)
        if match is None:
            raise ValueError(f"{instr.name}: {text!r} is no call")
        where, name, options, arguments, without = match.groups()
        found.append(Form(name, _words(options or ""), _words(arguments), where or "", tuple((without or "").split())))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Call:
    """A form chosen for an operation: which options are stated, and which arguments."""

    form: Form
    options: tuple[Word, ...]
    arguments: tuple[Word, ...]


def chosen(instr: Instr, op: Op) -> Call | str:
    """How to call the instruction as an operation has it; else what no form has room for."""
    known = forms(instr)
    if not known:
        return "C++ has no call of it"
    reasons = []
    for form in known:
        found = _fitting(form, instr, op)
        if isinstance(found, Call):
            return found
        reasons.append(found)
    return reasons[0] if len(reasons) == 1 else min(reasons, key=len)


def _fitting(form: Form, instr: Instr, op: Op) -> Call | str:
    operands: Mapping[str, Operand] = {o.name: o for o in instr.operands}
    attrs: Mapping[str, Attr] = {a.name: a for a in instr.attrs}
    given = {name for name in operands if op.operands.get(name) is not None}
    changed = {name for name, attr in attrs.items() if _changed(attr, op.attrs.get(name, attr.default))}
    room = set(form.names())
    extra = [name for name in (*operands, *attrs) if name in (given | changed) - room]
    if form.where and form.where not in changed:
        return f"{form.where} is not set"
    if extra:
        return f"the call has no room for {' and '.join(extra)}"

    def present(word: Word) -> bool:
        if word.parts is not None:
            return any(part in given for part in word.parts) or not word.optional
        if word.name in operands:
            return word.name in given
        return not word.optional or word.name in changed

    arguments = tuple(word for word in form.arguments if present(word))
    missing = [w.name for w in form.arguments if w.name in operands and not w.optional and w.name not in given]
    if missing:
        return f"the call needs {' and '.join(missing)}"
    options: list[Word] = []
    stated = False
    for word in reversed(form.options):
        if word.mark == "^":
            keep = stated and (word.name in given or not word.optional)
        else:
            keep = word.mark == "!" or word.name in changed or (stated and not word.optional)
            stated = stated or keep
        if keep:
            options.append(word)
    for word in (*arguments, *options):
        if word.name in attrs and word.mark != "^" and _value(attrs[word.name], op) is None:
            return f"the call needs {word.name}"
    return Call(form, tuple(reversed(options)), arguments)


def _changed(attr: Attr, value: Any) -> bool:
    return value is not None and value != attr.default


def _value(attr: Attr, op: Op) -> Any:
    value = op.attrs.get(attr.name)
    value = attr.default if value is None else value
    return False if value is None and attr.kind is bool else value


def option(instr: Instr, op: Op, word: Word) -> str:
    """An attribute as C++ writes it. Raises `KeyError` where no enumerator is its value."""
    attr = next(a for a in instr.attrs if a.name == word.name)
    value = _value(attr, op)
    if word.of == "int" or isinstance(value, bool):
        return str(int(value)) if word.of == "int" else str(value).lower()
    if word.of or isinstance(value, Enum):
        return enumerator(word.of or type(value).__name__, value)
    return str(value)


def enumerator(enumeration: str, value: Any) -> str:
    """``CmpMode::LT``. Raises `KeyError`."""
    known = enumerations()[enumeration]
    for name, (_, meant) in known.items():
        if meant is value or (meant == value and type(meant) is type(value)):
            return f"{enumeration}::{name}"
    return f"{enumeration}::{next(n for n in known if n == f'CAST_{value.name}')}"  # a rounding with two names in text


def parts_of(word: Word) -> Sequence[str]:
    """The operands that a variable is made of."""
    return word.parts or ()


INDENT = "    "
_RESERVED = frozenset(
    "alignas alignof and asm auto bool break case catch char class const constexpr continue default delete do double "
    "else enum explicit export extern false float for friend goto half if inline int long mutable namespace new not "
    "nullptr operator or private protected public register return short signed sizeof static struct switch template "
    "this throw true try typedef typename union unsigned using virtual void volatile while xor min max add subtract "
    "multiply quotient lesser greater pto block_idx block_num Tile Shape Stride Layout".split()
)
GUARDS = {"vector": "__DAV_VEC__", "cube": "__DAV_CUBE__"}
"""What the compiler defines for each kind of core."""


class Names:
    """Names of one file or function, each given once."""

    def __init__(self, taken: set[str] | None = None) -> None:
        self.taken = set(_RESERVED) if taken is None else taken

    def new(self, wanted: str, otherwise: str = "v") -> str:
        """A name that is still free, like the wanted one."""
        stem = re.sub(r"\W+", "_", wanted).strip("_") or otherwise
        stem = f"{otherwise}_{stem}" if stem[0].isdigit() else stem
        name, count = stem, 1
        while name in self.taken or name.isupper():
            count += 1
            name = f"{stem}_{count}" if count > 2 or stem in self.taken else f"{stem}_"
        self.taken.add(name)
        return name


def function_name(name: str) -> str:
    """A name of a function as C++ may have it."""
    stem = re.sub(r"\W+", "_", name).strip("_") or "kernel"
    return f"kernel_{stem}" if stem[0].isdigit() else stem


class Shared:
    """What the functions of a file share: aliases of tile types, and functions at its top."""

    def __init__(self, module: Module, target: Target, places: bool, names: Names) -> None:
        self.module, self.target, self.places, self.names = module, target, places, names
        self.used: set[str] = set()
        self.aliases: dict[str, str] = {}

    def tile(self, spec: TileSpec) -> str:
        """The alias of a tile type. Raises `Unwritable` for elements that C++ counts in another way."""
        if spec.dtype.packed or spec.dtype.name in ("e2m1x2", "e1m2x2", "hif8x2", "bf16x2", "int4"):
            raise Unwritable(f"tiles of {spec.dtype} are not written as C++ so far")
        full = tile_type(spec)
        if full not in self.aliases:
            sizes = f"{spec.rows}x{spec.cols}"
            self.aliases[full] = self.names.new(f"{spec.loc.name}_{sizes}_{spec.dtype.name}")
        return self.aliases[full]


def tile_type(spec: TileSpec) -> str:
    """``Tile<TileType::Vec, float, 16, 64>``, without what is as by default."""

    def size(n: int) -> str:
        return "DYNAMIC" if n == DYNAMIC else str(n)

    pad = f"PadValue::{PadValue(spec.pad).name}" if spec.pad < CUSTOM_PAD else f"PadValue(0x{spec.pad:x}ULL)"
    words = [
        (f"BLayout::{spec.blayout.name}", spec.blayout is BLayout.RowMajor),
        (size(spec.valid_row), spec.valid_row == spec.rows),
        (size(spec.valid_col), spec.valid_col == spec.cols),
        (f"SLayout::{spec.slayout.name}", spec.slayout is SLayout.NoneBox),
        (str(spec.fractal), spec.fractal == 512),
        (pad, not spec.pad),
        (f"CompactMode::{spec.compact.name}", spec.compact is CompactMode.Null),
    ]
    while words and words[-1][1]:
        words.pop()
    parts = [f"TileType::{spec.loc.name}", spec.dtype.cpp, str(spec.rows), str(spec.cols), *(w for w, _ in words)]
    return f"Tile<{', '.join(parts)}>"


class Body:
    """The lines of one function, and what its values are called."""

    def __init__(self, shared: Shared, function: Function, core: str = "") -> None:
        self.shared, self.function, self.target, self.core = shared, function, shared.target, core
        self.names = Names(set(shared.names.taken))
        self.only: Mapping[Op, str] = {}  # of a function for both kinds of cores: what one kind alone executes
        self.lines: list[str] = []
        self.top: list[str] = []  # declarations of what several blocks share
        self.depth = 1
        self.numbers = Numbers(self.name, shared.used)
        self.facts = Facts(function)
        self._named: dict[Value, str] = {}
        self._addresses: dict[Value, Text | None] = {}
        self._views: list[dict[tuple[Value, Layout], str]] = [{}]
        self._labels: dict[Block, str] = {}
        self._pipes: dict[Value | int, str] = {}
        self._ends: list[Callable[[Op], None]] = []
        self._uses: Counter[Value] = Counter()
        self._blocks: dict[Value, set[int]] = {}  # blocks in which a value is used, by identity
        self._home: dict[Op, int] = {}
        self._escapes: set[Value] = set()

    # --- what is used where

    def _survey(self, ops: Sequence[Op], blocks: tuple[int, ...]) -> None:
        """``blocks``: those around the operations, by identity, from the outside in."""
        for op in ops:
            self._home[op] = blocks[-1]
            for value in op.values:
                self._uses[value] += 1
                self._blocks.setdefault(value, set()).update(blocks)
            for region in op.regions:
                for inner in region.blocks:
                    self._survey(inner.ops, (*blocks, id(inner)))

    def _find_escaping(self, body: Block) -> None:
        """Values of labelled blocks that others use: they are declared at the top."""
        for block in body.more:
            for arg in block.args:
                self._escapes.add(arg)
            for op in block.ops:
                for result in op.results:
                    if any(other is not block and id(other) in self._blocks.get(result, ()) for other in body.blocks):
                        self._escapes.add(result)

    def _declared_at_top(self, value: Value) -> str:
        if value not in self._named:
            self._named[value] = self.names.new(value.name or value.called or "")
            self.top.append(f"{self._type(value.type)} {self._named[value]};")
        return self._named[value]

    # --- lines and names

    def say(self, text: str) -> None:
        """A line."""
        self.lines.append(INDENT * self.depth + text)

    @contextmanager
    def _scope(self) -> Iterator[None]:
        self.depth += 1
        self._views.append({})
        try:
            yield
        finally:
            self._views.pop()
            self.depth -= 1

    def name(self, value: Value) -> str:
        """The variable of a value."""
        found = self._named.get(value)
        if found is None:
            raise Unwritable(f"{value.shown}, of type {value.shown_type}, is not written as C++ so far")
        return found

    def _new_name(self, value: Value, otherwise: str = "v") -> str:
        called = value.name or (value.called or "")
        self._named[value] = self.names.new(called, otherwise)
        return self._named[value]

    def _type(self, type: Type) -> str:
        found = self.shared.tile(type) if isinstance(type, TileSpec) else ctype(type)
        if found is None:
            raise Unwritable(f"values of type {type} are not written as C++ so far")
        return found

    def define(self, value: Value, text: Text) -> None:
        """Give a value an expression: in its place where it is used once, else as a variable."""
        here = len(self._blocks.get(value, ())) <= 1 and not (self._blocks.get(value, set()) - {self._home_of(value)})
        if value not in self._escapes and self._uses[value] == 1 and here and len(text.text) <= LONGEST:
            self.numbers.keep(value, text)
        elif self._uses[value]:
            self.set(value, text.text)

    def _home_of(self, value: Value) -> int:
        return self._home.get(value.owner, 0) if isinstance(value.owner, Op) else 0

    def set(self, value: Value, text: str, otherwise: str = "v") -> None:
        """Make a variable of a value; ``otherwise``: the name of one that has none."""
        if value in self._escapes:
            self.say(f"{self._declared_at_top(value)} = {text};")
        else:
            fixed = "" if isinstance(value.type, Ptr) else "const "
            self.say(f"{fixed}{self._type(value.type)} {self._new_name(value, otherwise)} = {text};")

    def _pointer(self, value: Value) -> str:
        if ctype(value.type) is None:
            raise Unwritable(f"pointers of type {value.shown_type} are not written as C++ so far")
        return self.numbers.text(value, ATOM)

    # --- variables that change

    def _carried(self, values: Sequence[Value], texts: Sequence[str]) -> list[str]:
        """Variables that change, with what they hold at first."""
        names = []
        for value, text in zip(values, texts):
            if isinstance(value.type, TileSpec) and not self.shared.places:
                raise Unwritable("in Auto mode no tile can be assigned to another", "give tiles addresses")
            if value in self._escapes:
                names.append(self._declared_at_top(value))
                self.say(f"{names[-1]} = {text};")
            else:
                type = self._type(value.type)
                names.append(self._new_name(value))
                self.say(f"{type} {names[-1]} = {text};" if text else f"{type} {names[-1]};")
            if isinstance(value.type, TileSpec):
                self._addresses[value] = None
        return names

    def _assign(self, names: Sequence[str], values: Sequence[Value]) -> None:
        """Set variables at once, each to a value that may be another of them."""
        pairs = [(n, self.numbers.text(v), v) for n, v in zip(names, values)]
        pairs = [(n, text, v) for n, text, v in pairs if n != text]
        for k, (_, text, v) in enumerate(pairs):
            if any(re.search(rf"\b{re.escape(n)}\b", text) for n, _, _ in pairs[:k]):
                held = self.names.new("held")
                self.say(f"const {self._type(v.type)} {held} = {text};")
                pairs[k] = (pairs[k][0], held, v)
        for name, text, _ in pairs:
            self.say(f"{name} = {text};")

    def _texts(self, values: Sequence[Value]) -> list[str]:
        return [self.numbers.text(v) for v in values]

    def _same(self, results: Sequence[Value], names: Sequence[str]) -> None:
        for result, name in zip(results, names):
            if result in self._escapes:
                self.say(f"{self._declared_at_top(result)} = {name};")
            else:
                self._named[result] = name
            if isinstance(result.type, TileSpec):
                self._addresses[result] = None
