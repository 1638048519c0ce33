"""What the functions of one compiled kernel share: helpers, memory of a thread, places that call back into Python."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import field
from typing import Any

from ptokit.plan.steps import FunctionPlan, Relations, Step
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.enums import TileType

ALIGN = 64
STATE_MEMORY, STATE_CALLBACK, STATE_HANDLE, STATE_BLOCK, STATE_BLOCKS, STATE_SEEN, STATE_MODE, STATE_FREE = range(8)
"""Words of the state of a thread; the mode of products is its place in `MODES`. Behind are those that code asks for."""

MODES = ("exact", "fast", "ref")

Action = Callable[[Any, list[Any], Any], None]
"""``action(worker, operands, words)``: what Python does at a place; ``words`` take results."""


@dataclass
class CallSite:
    """A place that calls back: how many words it hands over, how they become operands, and what happens then."""

    step: Step
    words: int
    operands: list[Callable[[Any, list[int]], Any]]
    action: Action


@dataclass
class NativeModule:
    """The text of a module under construction, and what its places need."""

    target: Target
    helpers: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    sites: list[CallSite] = field(default_factory=list)
    spaces: dict[TileType, tuple[int, int]] = field(default_factory=dict)  # start and size in the memory of a thread
    areas: dict[Hashable, tuple[int, int]] = field(default_factory=dict)  # of tiles without an address
    memory: int = 0  # bytes
    state: int = STATE_FREE  # words
    products: dict[str, int] = field(default_factory=dict)  # words with addresses of matrix products
    tables: dict[tuple[Any, ...], int] = field(default_factory=dict)  # words with addresses of tables
    called: set[Step] = field(default_factory=set)  # instructions that Python carries out
    loops: dict[Step, int] = field(default_factory=dict)  # word of the state that has the loop variable
    relations: dict[FunctionPlan, Relations] = field(default_factory=dict)

    def need(self, key: str, text: str) -> None:
        """A helper function the code calls."""
        self.helpers.setdefault(key, text)

    def function(self, body: str) -> str:
        """The name of an internal function; the same text is written once. ``{name}`` stands for it."""
        name = self.functions.get(body)
        if name is None:
            name = self.functions[body] = f"@part{len(self.functions)}"
        return name

    def space(self, loc: TileType) -> int:
        """The offset of a buffer in the memory of a thread."""
        found = self.spaces.get(loc)
        if found is None:
            found = self.spaces[loc] = (self._take(self.target.capacity[loc]), self.target.capacity[loc])
        return found[0]

    def area(self, key: Hashable, nbytes: int) -> int:
        """The offset of a tile without an address in the memory of a thread."""
        found = self.areas.get(key)
        if found is None:
            found = self.areas[key] = (self._take(nbytes), nbytes)
        return found[0]

    def _take(self, nbytes: int) -> int:
        start = self.memory
        self.memory += -(-2 * nbytes // ALIGN) * ALIGN  # what `Arena` may look at has as much again behind it
        return start

    def related(self, function: FunctionPlan) -> Relations:
        """How the steps of a function stand to each other."""
        found = self.relations.get(function)
        if found is None:
            found = self.relations[function] = Relations(function)
        return found

    def words(self, count: int) -> int:
        """That many words of state, zero at the start of a launch; the first one's number."""
        start = self.state
        self.state += count
        return start

    def text(self, main: str, triple: str) -> str:
        """The whole module."""
        parts = [f'target triple = "{triple}"', *self.helpers.values()]
        parts += [body.replace("@{name}", name) for body, name in self.functions.items()]
        return "\n".join([*parts, main, '!0 = !{!"branch_weights", i32 1048576, i32 1}', "!1 = !{i32 1}", ""])
