"""What ``ptokit run`` shows of a run while it goes: ``--dump``, ``--dump-all``, ``--step``."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ptokit.diagnostics.render import visible_name
from ptokit.records import dataclass

from .console import EXIT_INTERRUPTED, remark, say, width_of
from .outputs import check_directory

if TYPE_CHECKING:
    from ptokit.api.launch import Prepared
    from ptokit.machine.observer import Observer
    from ptokit.watch import Seen


@dataclass(frozen=True)
class Watching:
    """What is to be watched: choices of tiles, a folder for everything, or a dialogue."""

    dump: tuple[str, ...] = ()
    folder: str | None = None
    step: bool = False

    @property
    def wanted(self) -> bool:
        """True if anything is to be watched."""
        return bool(self.dump or self.folder is not None or self.step)

    def check(self) -> None:
        """Refuse ways that exclude each other, and a folder that cannot be written or holds something."""
        if bool(self.dump) + (self.folder is not None) + self.step > 1:
            raise typer.BadParameter("--dump, --dump-all and --step exclude each other.", param_hint="--dump")
        if self.folder is None:
            return
        directory = Path(self.folder)
        check_directory(directory)
        if not self.folder or (os.path.isdir(directory) and os.listdir(directory)):
            raise typer.BadParameter("it is not empty; name a new folder.", param_hint="--dump-all")

    def within(self, folder: str) -> Watching:
        """The same, with a folder inside of the one for everything; "" is this one itself."""
        if self.folder is None or not folder:
            return self
        return Watching(self.dump, os.path.join(self.folder, folder.lstrip("-")), self.step)

    @contextmanager
    def observer(self, kernel: Prepared) -> Iterator[Observer]:
        """What watches the run inside; says at the end what has not been seen."""
        if self.step:
            yield from _dialogue()
        elif self.folder is not None:
            yield from _everything(Path(self.folder), kernel)
        else:
            recorder = kernel.recorder(self.dump, _show)
            try:
                yield recorder
            finally:
                for selection, hits in zip(recorder.selections, recorder.hits):
                    if not hits:
                        remark(f"--dump {visible_name(selection.text)}: no instruction that was executed fits")


def _show(seen: Seen) -> None:
    head, _, _ = str(seen).partition("\n")
    say(f"{head}\n{seen.table(min(width_of(sys.stdout), 120))}\n")


def _everything(directory: Path, kernel: Prepared) -> Iterator[Observer]:
    from ptokit.watch.seen import INDEX, Folder

    with Folder(directory) as folder:
        try:
            yield kernel.recorder((), folder)
        finally:
            size, index = f"{folder.bytes / 1e6:.1f} MB", visible_name(str(directory / INDEX))
            remark(f"saved {folder.count} results of instructions, {size}; {index}")


def _dialogue() -> Iterator[Observer]:
    from ptokit.watch.step import HELP, Quit, Stepper

    def ask() -> str | None:
        try:
            if sys.stdin is not None:  # closed
                return input("(step) ")
        except (EOFError, UnicodeDecodeError):  # what is no text answers nothing
            pass
        say()
        return None

    say(HELP)
    try:
        yield Stepper(ask, say)
    except Quit:
        remark("stopped: nothing is saved")
        raise typer.Exit(EXIT_INTERRUPTED) from None
