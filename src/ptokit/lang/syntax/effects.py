"""What Python does to its objects while a branch or loop of a kernel is compiled: nothing may be left of it.

The body of a loop is compiled once and runs as often as the run decides, that of a branch perhaps never. An object that
was there before must hold the same at the end: otherwise something was done once instead of many times (LANG-CARRIED).
Objects made inside may change as they like. There is no list of types: whatever can be reached from variables,
closures, default values, attributes, containers and iterators is compared, as `contents` looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from types import FunctionType, ModuleType
from typing import Any, NamedTuple, TypeVar

from ptokit.diagnostics import DiagnosticError, Location, Note

from .. import rules
from ..rules import refusal
from ..trace import current, tracing
from .contents import ATOM_TYPES, Content, content_of

T = TypeVar("T")
Roots = Iterable[tuple[str, Any]]
"""Names, and the objects that they mean."""
Place = Callable[[], Location]

_HINTS = {
    "loop": "assign to a variable, which is carried; or unroll the loop with pto.static_range",
    "branch": "assign to a variable, which is carried",
}


class _Known(NamedTuple):
    """An object that was there before: what it held, and the way on which it was met."""

    object: Any
    content: Content
    leads: Any  # the object that led here, or None for a variable
    label: str | int  # how it is written after that one, or which item of that one it is

    def written(self) -> str:
        if isinstance(self.label, str):
            return self.label
        if isinstance(self.leads, dict):
            return f"[{content.items[self.label - 1]!r}]" if (content := content_of(self.leads)) else ""
        return f"[{self.label}]" if isinstance(self.leads, list | tuple) else ""


class Ledger:
    """What was there when a branch or loop began, as far as statements in it can reach it."""

    def __init__(self, word: str, place: Location, around: Ledger | None) -> None:
        self.word, self.place, self.around = word, place, around
        self.known: dict[int, _Known] = {}
        self.made: dict[int, Any] = {}  # since it began
        self.changed: dict[int, Place] = {}  # where an object ceased to hold what it held

    def before(self, roots: Roots, names: Iterable[str] = ()) -> None:
        """Note what can be reached; whatever is met for the first time was there before."""
        for known in self._walk(roots, names, again=False):
            self.known[id(known.object)] = known

    def after(self, roots: Roots, names: Iterable[str], place: Place) -> None:
        """Something was carried out at `place`: note what it changed; whatever is met for the first time it made."""
        for met in self._walk(roots, names, again=True):
            key = id(met.object)
            known = self.known.get(key)
            if known is not None:
                if known.content.difference(met.content) is None:
                    self.changed.pop(key, None)
                else:
                    self.changed.setdefault(key, place)
            elif key not in self.made:
                was = self._outside(key)
                if was is None:
                    self.made[key] = met.object
                else:
                    self.known[key] = met._replace(content=was)

    def adopt(self, roots: Roots) -> None:
        """What can be reached and is not known has been made just now."""
        for met in self._walk(roots, (), again=False):
            self.made[id(met.object)] = met.object

    def check(self) -> None:
        """Refuse what is left of changes (LANG-CARRIED)."""
        for key, known in self.known.items():
            now = content_of(known.object)
            difference = None if now is None else known.content.difference(now)
            if difference is not None:
                raise self._refusal(known, difference, self.changed[key]() if key in self.changed else self.place)

    def _refusal(self, known: _Known, difference: str, place: Location) -> DiagnosticError:
        path = self._path(known)
        if difference:
            what = difference[1:] if difference.startswith("=") else path + difference
            message = f"the {self.word} changes {what!r}"
        elif hasattr(type(known.object), "__next__"):
            message = f"the {self.word} takes items from {path!r}"
        else:
            message = f"the {self.word} changes what {path!r} holds"
        note = Note(f"the {self.word} begins here: it is compiled once, however often it runs", self.place)
        notes = [note] if place != self.place else []
        return refusal(rules.CARRIED, message, location=place, hint=_HINTS[self.word], notes=notes)

    def _path(self, known: _Known) -> str:
        labels = [known.written()]
        while not labels[-1].startswith("=") and id(known.leads) in self.known and len(labels) < 20:
            known = self.known[id(known.leads)]
            labels.append(known.written())
        return "".join(reversed(labels)).removeprefix("=")

    def _outside(self, key: int) -> Content | None:
        """What an object held when a branch or loop around this one began, if it was there then."""
        ledger = self.around
        while ledger is not None:
            if key in ledger.known:
                return ledger.known[key].content
            if key in ledger.made:
                return content_of(ledger.made[key])
            ledger = ledger.around
        return None

    def _walk(self, roots: Roots, names: Iterable[str], *, again: bool) -> Iterator[_Known]:
        """All that can be reached, each with what it holds now; `again`: through what is known, too."""
        pending: list[tuple[Any, Any, str | int]] = [
            (value, None, f"={name}") for name, value in roots if type(value) not in ATOM_TYPES
        ]
        met: dict[int, Any] = {}
        modules: list[Any] = []
        wanted, done = set(names), set[tuple[int, str]]()
        while True:
            if not pending:  # of a module only what some code names
                for one in modules:
                    new = {name for name in wanted if (id(one), name) not in done}
                    done |= {(id(one), name) for name in new}
                    pending += [(vars(one)[name], one, f".{name}") for name in new if name in vars(one)]
                if not pending:
                    return
            value, leads, label = pending.pop()
            key = id(value)
            module = isinstance(value, ModuleType)
            if key in met or not (again or module or (key not in self.known and key not in self.made)):
                continue
            content = content_of(value)
            if content is None:
                continue
            met[key] = value
            if again or (key not in self.known and key not in self.made):
                yield _Known(value, content, leads, label)
            wanted |= content.names
            if module:
                modules.append(value)
            else:
                parts: Iterable[tuple[str | int, Any]] = chain(
                    enumerate(content.items), content.attributes.items(), content.more
                )
                pending += [(item, value, name) for name, item in parts if type(item) not in ATOM_TYPES]


@contextmanager
def opened(word: str, place: Location, roots: Roots, names: Iterable[str] = ()) -> Iterator[Ledger]:
    """Note what there is before a branch or loop is compiled; `Ledger.check` tells what has changed."""
    trace = current(word)
    around = trace.ledger
    ledger = trace.ledger = Ledger(word, place, around)
    try:
        ledger.before(roots, names)
        yield ledger
    finally:
        trace.ledger = around


@contextmanager
def once(word: str, place: Location, roots: Roots, names: Iterable[str] = ()) -> Iterator[None]:
    """Compile a branch or loop: refuse what is left in objects that were there before (LANG-CARRIED)."""
    with opened(word, place, roots, names) as ledger:
        yield
        ledger.check()


def adopt(roots: Roots, by: FunctionType | None = None) -> None:
    """Objects made just now: arguments of a call, apart from what the function `by` holds itself."""
    trace = tracing()
    if trace is not None and trace.ledger is not None:
        if by is not None:
            trace.ledger.before([(by.__name__, by)])
        trace.ledger.adopt(roots)


def frozen(value: T) -> T:
    """`value`, merged from several: of a list in it nobody can tell which one it is, so it must not be changed."""
    trace = current("a list")
    pending: list[Any] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            trace.frozen.append((item, [*item]))
        if isinstance(item, list | tuple):
            pending += item
    return value


@contextmanager
def carried_out(place: Place, variables: dict[str, Any]) -> Iterator[Ledger | None]:
    """Let Python carry out something at a place; gives the ledger of the branch or loop around it, if there is one.

    Refuses a change of a list that may be one of several (LANG-CARRIED).
    """
    trace = current("a statement")
    yield trace.ledger
    for value, items in trace.frozen:
        if len(value) != len(items) or any(a is not b for a, b in zip(value, items)):
            names = [name for name, held in variables.items() if held is value]
            message = f"{names[0]!r} is" if names else "this changes"
            raise refusal(
                rules.CARRIED,
                f"{message} a list that comes out of a branch or loop, where it may be one of several",
                location=place(),
                hint=f"change a copy: {names[0]} = list({names[0]})" if names else "change a copy",
            )
