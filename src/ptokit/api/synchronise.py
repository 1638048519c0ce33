"""`synchronise`: a program with the flags that it needs between the pipes of a core, proved, each of them needed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ptokit.arguments.grammar import read_arguments
from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Scope, UsageError, define
from ptokit.diagnostics.finding import Edit, edited
from ptokit.prove.report import counted
from ptokit.records import dataclass
from ptokit.run import choose_entry
from ptokit.targets import Target

from .check import origin
from .launch import read_for, read_without_arguments
from .parts import find_target
from .program import Program, Source, Text, beside, text_of
from .prove import ENOUGH, Proving

Progress = Callable[[str], None]
"""Called with what is done next."""

GRANTED = "no access leaves its view, its array or its buffer"
"""What the order of pipes is proved for; `ptokit prove` proves that, too."""

PLACE = define(
    "SYNC-PLACE",
    "`ptokit sync` writes flags between the lines of a program: an instruction beside which one belongs has its lines "
    "for itself.",
    scope=Scope.RUN,
    source="docs/synchronisation.md",
    unrun="it is about how a text is laid out",
)


@dataclass(frozen=True)
class Inserted:
    """A flag that was inserted.

    ``set_after``, ``wait_before``: lines of the text before; ``carried``: by the loop in this line, 0 for none;
    ``ids``: how many it rotates through, from ``first_id`` on; ``because``: what races without it.
    """

    source: str
    destination: str
    set_after: int
    wait_before: int
    carried: int
    first_id: int
    ids: int
    because: str

    def __str__(self) -> str:
        number = f"id {self.first_id}" if self.ids == 1 else f"ids {self.first_id}..{self.first_id + self.ids - 1}"
        loop = f", carried by the loop in line {self.carried}" if self.carried else ""
        place = f"set after line {self.set_after}, waited for before line {self.wait_before}"
        return f"{self.source} to {self.destination}, {number}: {place}{loop}: {self.because}"


@dataclass
class Synchronised:
    """A program with flags.

    ``text``: all of it; ``edits``: what was inserted. ``proved``: that its flags balance and that no two pipes race,
    for all arguments; else ``open`` says why not, with lines of the new text, 0 for none. ``barriers``: lines before
    which one of all pipes stands, with the reason. ``minimal``: each flag is needed.
    """

    name: str
    target: str
    file: str
    old: str
    text: str
    edits: tuple[Edit, ...] = ()
    flags: tuple[Inserted, ...] = ()
    barriers: tuple[tuple[int, str], ...] = ()
    proved: bool = False
    minimal: bool = True
    open: tuple[tuple[str, int], ...] = ()
    assumptions: tuple[str, ...] = ()
    seconds: float = 0.0

    def lines(self) -> list[str]:
        """What the terminal shows."""
        carried, rotating = sum(f.carried > 0 for f in self.flags), sum(f.ids > 1 for f in self.flags)
        kinds = [f"{n} {what}" for n, what in ((carried, "carried by loops"), (rotating, "in rotation")) if n]
        what = counted(len(self.flags), "flag") + (f" ({', '.join(kinds)})" if kinds else "")
        what += f", {counted(len(self.barriers), 'barrier')}" if self.barriers else ""
        done = "proved for all arguments" if self.proved else "not proved"
        out = [f"{self.name} on {self.target}: {what}; {done}"]
        out += [f"  {flag}" for flag in self.flags]
        out += [f"  a barrier of all pipes before line {line}: {why}" for line, why in self.barriers]
        out += [f"  open: {f'line {line}: ' if line else ''}{why}" for why, line in self.open]
        if not self.minimal:
            out.append("  some may be superfluous: none was left out")
        out.append(f"  assumed: {'; '.join(self.assumptions)}")
        return out

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


def synchronise(
    program: Program,
    args: Sequence[Any] = (),
    *,
    target: str | Target | None = None,
    entry: str | None = None,
    assume: Iterable[str] = (),
    blocks: int | None = None,
    extended: bool = False,
    default_target: str | Target | None = None,
    limit: int | None = None,
    progress: Progress = lambda what: None,
) -> Synchronised:
    """Add the flags that a program lacks between the pipes of a core, prove them, and leave out what is not needed.

    ``program``, ``args``, ``target``, ``entry``, ``assume``, ``blocks``, ``extended``, ``default_target``, ``limit``,
    ``progress``: as for `ptokit.prove`. Flags that it has stay. Nothing is written: the text is in the result. Raises
    `DiagnosticError` for a program with errors, or beside whose instructions nothing can be written (SYNC-PLACE), and
    `UsageError` where the solver is missing (``pip install 'ptokit[prove]'``).
    """
    start = time.perf_counter()
    wanted, usual = find_target(target), find_target(default_target)
    found = origin(program, entry=entry)
    if args:
        source, _ = read_for(found, wanted, usual, read_arguments(args), entry)
    else:
        source = read_without_arguments(found, wanted, usual)
    chosen = source.target_or(wanted, usual)
    source.diagnostics.raise_if_errors()
    named = None if source.own_target else entry
    options = _Options(chosen, named, tuple(args), tuple(assume), blocks, extended, ENOUGH if limit is None else limit)
    made = _Synchronising(source, options, progress).made()
    made.seconds = time.perf_counter() - start
    return made


@dataclass(frozen=True)
class _Options:
    target: Target
    entry: str | None
    args: tuple[Any, ...]
    assume: tuple[str, ...]
    blocks: int | None
    extended: bool
    limit: int


class _Synchronising:
    """A program that gets flags."""

    def __init__(self, source: Source, how: _Options, progress: Progress) -> None:
        try:
            import z3  # noqa: F401
        except ImportError:
            raise UsageError("this needs the solver: pip install 'ptokit[prove]'", "program") from None
        from ptokit.sanitize.findings.source_text import Structure
        from ptokit.synchronise.dependences import Dependences

        self.source, self.how, self.progress = source, how, progress
        self.text = source.text if source.text is not None else text_of(source.file)
        self.checked = self._checked(source)
        self.checked.errors = []
        progress("what has to be ordered")
        self.walk: Dependences = self._gone(Dependences, self.checked)
        self.entry = choose_entry(source.module, how.entry)
        self.structure = Structure(source.module.functions)

    def _checked(self, source: Source) -> Proving:
        how = self.how
        return Proving(source.module, how.target, how.entry, how.assume, how.blocks, "manual", how.extended)

    def _gone(self, kind: Any, checked: Proving) -> Any:
        """A walk of some kind through a program."""
        try:
            walk = kind(checked.program, by_compiler=False, blocks=checked.blocks, assume=checked.assume)
        except ValueError as error:
            raise UsageError(str(error), "assume") from None
        walk.solver.most = self.how.limit
        walk.prove()
        return walk

    def made(self) -> Synchronised:
        """The program with flags."""
        from ptokit.prove.ranges import in_types
        from ptokit.synchronise.placing import Placing, rotatable

        checked, source = self.checked, self.source
        made = Synchronised(checked.name, self.how.target.name, source.file, self.text, self.text)
        made.assumptions = (*checked.assume, *self.walk.asserted.values(), GRANTED, *in_types(self.walk.found.wide))
        if not self.walk.dependences:
            made.open = tuple(dict.fromkeys(self.walk.broken_pipes()))
            made.proved = not made.open
            return made
        whole = Placing(self.structure, self.walk.dependences, rotatable).placed
        self.progress("which flags are needed")
        for placed in self._versions(whole):
            if not self._numbered(placed):
                continue
            made.edits, made.text = self._text(placed)
            self.progress("a proof of the new text")
            made.open = self._open(made.text)
            made.proved = not made.open
            made.minimal = all(flag.needed is not None for flag in placed.flags)
            self._told(made, placed)
            if made.proved:
                break
        return made

    def _versions(self, whole: Any) -> Iterable[Any]:
        """The least that suffices, and if that is not proved all."""
        yield self._reduced(whole)
        yield whole

    def _reduced(self, whole: Any) -> Any:
        from ptokit.synchronise.dependences import Order, Placed, reduced

        functions = {function.name: function for function in self.source.module.functions}
        found = Placed([], list(whole.barriers))
        for core, accesses in self.walk.accesses.items():
            mine = [d for d in self.walk.dependences if d.core == core]
            order = Order(functions, self.entry, accesses, mine, self.walk.certain)
            flags = [flag for flag in whole.flags if flag.core == core]
            found.flags += reduced(order, Placed(flags, whole.barriers)).flags
        return found

    def _numbered(self, placed: Any) -> bool:
        """Give flags their ids; what is left without one rotates no more, or becomes a barrier."""
        from ptokit.synchronise.dependences import Barrier
        from ptokit.synchronise.placing import number

        while True:
            lacking = number(placed.flags, self.structure, self.entry, self.walk.used, self.how.target)
            if lacking is None:
                return True
            rotating = [f for f in placed.flags if f.pipes == lacking.pipes and f.depth > 1]
            if rotating:
                for flag in rotating:
                    flag.depth = 1
            else:
                p, q = (pipe.text for pipe in lacking.pipes)
                placed.flags = [flag for flag in placed.flags if flag is not lacking]
                placed.barriers.append(Barrier(lacking.before, f"all event ids from {p} to {q} are taken"))

    def _text(self, placed: Any) -> tuple[tuple[Edit, ...], str]:
        from ptokit.synchronise.placing import NoPlace, Writing

        try:
            edits = Writing(self.structure, placed).edits
        except NoPlace as error:
            raise DiagnosticError(Diagnostic(PLACE.id, PLACE.severity, error.why, error.at)) from None
        for edit in edits:
            if edit.file and os.path.abspath(edit.file) != os.path.abspath(self.source.file):
                why = "a flag belongs here, which is not in the file that is synchronised"
                raise DiagnosticError(Diagnostic(PLACE.id, PLACE.severity, why, Location(edit.file, edit.line, 1)))
        return edits, edited(self.text, edits)

    def _open(self, text: str) -> tuple[tuple[str, int], ...]:
        """What is not proved of a new text."""
        from ptokit.synchronise.dependences import Pipes

        source = self._read(text)
        source.diagnostics.raise_if_errors()
        checked = self._checked(source)
        if checked.errors:
            return tuple((d.message, d.location.line) for d in checked.errors)
        return tuple(dict.fromkeys(self._gone(Pipes, checked).broken_pipes()))

    def _read(self, text: str) -> Source:
        """The program with another text."""
        source, target = self.source, self.how.target
        if source.text is not None:
            return Text(source.file, text).read(target)
        kernel = getattr(source.origin, "kernel", None)
        name = getattr(source.origin, "name", "") if kernel is None else kernel.function.__name__
        with beside(source.file, text, "sync") as other:
            found = origin(f"{other}:{name}" if name else other, entry=self.how.entry)
            if self.how.args:
                return read_for(found, target, None, read_arguments(self.how.args), self.how.entry)[0]
            return read_without_arguments(found, target, None)

    def _told(self, made: Synchronised, placed: Any) -> None:
        from ptokit.sanitize.findings.source_text import first_line, last_line

        flags = []
        for flag in placed.flags:
            because, need = "it was not left out", flag.needed
            if need is not None:
                paths = need.first, need.second
                first, second = (f"{n} in line {path[-1].location.line}" for n, path in zip(need.names, paths))
                because = f"without it {second} may overtake {first}"
            line = 0 if flag.around is None else first_line(flag.around)
            lines = last_line(flag.after, self.structure.following(flag.after)), first_line(flag.before)
            p, q = (pipe.text.removeprefix("PIPE_") for pipe in flag.pipes)
            flags.append(Inserted(p, q, *lines, line, flag.number, flag.depth, because))
        made.flags = tuple(flags)
        made.barriers = tuple((first_line(barrier.before), barrier.why) for barrier in placed.barriers)
