"""What the parts of a function have in common: its lines, the names and types of values, what is used where."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from ptokit.ir import Block, Function, Module, Op, Value
from ptokit.ir.facts import Facts
from ptokit.targets import Target
from ptokit.types.enums import BLayout, CompactMode, Layout, PadValue, SLayout
from ptokit.types.tile import CUSTOM_PAD, DYNAMIC, TileSpec
from ptokit.types.values import Ptr, Type

from .numbers import ATOM, LONGEST, Numbers, Text, Unwritable, ctype

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

    def _survey(self, ops: Sequence[Op], outer: int, block: int) -> None:
        for op in ops:
            self._home[op] = block
            for value in op.values:
                self._uses[value] += 1
                self._blocks.setdefault(value, set()).update((outer, block) if outer != block else (block,))
            for region in op.regions:
                for inner in region.blocks:
                    self._survey(inner.ops, outer, id(inner))

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
