"""What a kernel is launched as: compiled for a state of what it reads, on several devices, watched."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, SupportsIndex

from ptokit.ir import Module
from ptokit.ir.launch import Each, RankQuery
from ptokit.ir.launch import Peer as Peer
from ptokit.run import Program
from ptokit.types.values import Ptr
from ptokit.watch import Recorder, Seen, Selection
from ptokit.watch.seen import SelectionError

from . import rules
from .arrays import as_array
from .interpret import wanted
from .outside import Snapshot
from .params import Constant, Signature
from .tracebacks import refuses
from .where import refusal

# What a kernel has been compiled to, for each state of what it reads from outside of its parameters.


MOST_STATES = 16
"""States that are kept: variables that change back find what was compiled for them."""


class Compiled:
    """The modules and programs of one state, by signature."""

    def __init__(self) -> None:
        self.modules: dict[Signature, Module] = {}
        self.programs: dict[Signature, Program] = {}


class States:
    """What a function has been compiled to."""

    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._snapshot: Snapshot | None = None
        self._now = Compiled()
        self._known: dict[Hashable, Compiled] = {}

    def now(self) -> Compiled:
        """What there is for the present state, which is another one where a variable or object has changed."""
        if self._snapshot is None or not self._snapshot.holds():
            self._snapshot = Snapshot(self._function)
            key = self._snapshot.key
            self._now = self._known.pop(key) if key in self._known else Compiled()
            self._known[key] = self._now
            while len(self._known) > MOST_STATES:
                del self._known[next(iter(self._known))]
        return self._now


# Kernels on several devices: ``k.ranks(4)[blocks](x, y, n)``.


RANK, RANKS, COMM = RankQuery.RANK, RankQuery.RANKS, RankQuery.COMM


def given(bound: Mapping[str, Any], signature: Signature, ranks: int) -> list[Any]:
    """The arguments that are no constants: those of pointers as arrays, for several `ranks` in lists."""
    pairs = zip(bound.items(), signature)
    return [_given(name, arg, entry, ranks) for (name, arg), entry in pairs if not isinstance(entry, Constant)]


def _given(name: str, arg: Any, entry: Any, ranks: int) -> Any:
    if not isinstance(entry, Ptr) or isinstance(arg, RankQuery | Peer | Each):
        return arg
    if ranks and isinstance(arg, list | tuple):
        return [as_array(name, each) for each in arg]
    return as_array(name, arg)


# `Watcher`: a kernel with the tiles to look at; its launches return what they held.


if TYPE_CHECKING:
    from typing_extensions import ParamSpec as ParamSpecWithDefault

    P = ParamSpecWithDefault("P", default=...)
else:
    P = ParamSpec("P")


class Launchable(Protocol):
    """A kernel, as its watcher needs it."""

    name: str

    def __getitem__(self, blocks: Any) -> Any:
        """The kernel for a number of blocks."""

    def compile(self, *args: Any, **named: Any) -> Program:
        """The program for the types of these arguments."""

    def launch(self, blocks: int, args: Any, named: Any, *, observer: Recorder) -> None:
        """Run it."""


class Watcher(Generic[P]):
    """A kernel whose launches return the contents of chosen tiles; see `Kernel.watch`."""

    def __init__(self, kernel: Launchable, selections: tuple[Selection, ...], blocks: int = 1) -> None:
        self.kernel, self.selections, self.blocks = kernel, selections, blocks

    def __getitem__(self, blocks: SupportsIndex) -> Watcher[P]:
        """The same for a number of blocks."""
        return Watcher(self.kernel, self.selections, self.kernel[blocks].blocks)

    @refuses
    def __call__(self, *args: P.args, **named: P.kwargs) -> list[Seen]:
        """Launch; returns what was seen, in the order of execution.

        Raises `DiagnosticError` (LANG-WATCH) for what the kernel does not have: before the launch; of an interpreted
        kernel, which need not be one that can be compiled, after it.
        """
        if not wanted():
            module = self.kernel.compile(*args, **named).module
            self._refuse(selection.missing(module) for selection in self.selections)
        found: list[Seen] = []
        recorder = Recorder(self.selections, found.append)
        self.kernel.launch(self.blocks, args, named, observer=recorder)
        if wanted():
            chosen = zip(self.selections, recorder.hits)
            self._refuse(f"{choice.text!r} is not met" for choice, hits in chosen if not hits and not choice.when)
        return found

    def _refuse(self, missing: Iterable[str]) -> None:
        for what in missing:
            if what:
                raise refusal(rules.WATCH, f"{what} in kernel {self.kernel.name}")

    def __repr__(self) -> str:
        chosen = ", ".join(repr(selection.text) for selection in self.selections)
        return f"{self.kernel!r}.watch({chosen})[{self.blocks}]"


def selections(texts: tuple[str, ...]) -> tuple[Selection, ...]:
    """The choices that texts name. Raises `DiagnosticError` (LANG-WATCH)."""
    try:
        return tuple(Selection.of(text) for text in texts)
    except SelectionError as error:
        raise refusal(rules.WATCH, str(error)) from None
