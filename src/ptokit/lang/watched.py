"""`Watcher`: a kernel with the tiles to look at; its launches return what they held."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, SupportsIndex

from ptokit.run.program import Program
from ptokit.watch import Recorder, Seen, Selection
from ptokit.watch.selection import SelectionError

from . import rules
from .interpret import wanted
from .tracebacks import refuses
from .where import refusal

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
