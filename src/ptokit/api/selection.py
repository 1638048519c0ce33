"""Which findings are reported: rules that are selected or ignored, and comments that ignore rules at one place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from ptokit.diagnostics import CATALOGUE, Diagnostic, Diagnostics, Location, Scope, Severity, catalogue
from ptokit.diagnostics.shown import source_lines
from ptokit.records import dataclass

from .errors import UsageError
from .findings import ByTarget
from .program import Source
from .rules import IGNORE_FORM, UNUSED_IGNORE

_WORD = re.compile(r"ptokit:\s*ignore\b(?:\s*\[([^\]]*)\])?")
_AT_RUN_TIME = frozenset((Scope.SYNC, Scope.RUN))


@dataclass(frozen=True)
class Selection:
    """Rules to report, by the beginnings of their ids; of two that fit, the longer one decides.

    ``select``: only these; all, if there are none. ``ignore``: not these.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def allows(self, rule: str) -> bool:
        """True if findings of a rule are reported."""
        selected = _longest(rule, self.select) if self.select else 0
        return selected > _longest(rule, self.ignore)


def selection(select: Iterable[str], ignore: Iterable[str]) -> Selection:
    """The selection by beginnings of ids, in any case. Raises `UsageError` for one that no rule has."""
    chosen = Selection(tuple(s.upper() for s in select), tuple(s.upper() for s in ignore))
    for name, words in (("select", chosen.select), ("ignore", chosen.ignore)):
        for word in words:
            if not _rules(word):
                raise UsageError(f"no rule begins with {word!r}; 'ptokit explain' lists all.", name)
    return chosen


def _longest(rule: str, beginnings: Iterable[str]) -> int:
    return max((len(b) for b in beginnings if rule.startswith(b)), default=-1)


def _rules(beginning: str) -> list[str]:
    """The ids that begin so."""
    found = [rule.id for rule in catalogue() if rule.id.startswith(beginning)]
    if not found:
        from .catalogue import load_catalogue

        load_catalogue()
        found = [rule.id for rule in catalogue() if rule.id.startswith(beginning)]
    return found if beginning else []


@dataclass
class Ignore:
    """A comment that ignores rules in ``line``; ``at``: where it stands."""

    at: Location
    line: int
    rules: tuple[str, ...]
    used: set[str] = field(default_factory=set)

    def hides(self, found: Diagnostic) -> bool:
        """True if it hides a finding in its file."""
        if found.location.line != self.line:
            return False
        fitting = {rule for rule in self.rules if found.rule.startswith(rule)}
        self.used |= fitting
        return bool(fitting)


def reported(
    found: ByTarget, sources: Sequence[Source], chosen: Selection, *, ran: bool = False
) -> dict[str, Diagnostics]:
    """The findings that are reported, and warnings about comments that hide nothing.

    What keeps a program from being read is always reported. ``ran``: the findings are those of a run.
    """
    always = {d for source in sources for d in source.diagnostics if d.severity is Severity.ERROR}
    files = {d.location.file for each in found.values() for d in each} | {source.file for source in sources}
    comments = {file: list(ignores(file, sources)) for file in files if file is not None}
    out = {}
    for target, each in found.items():
        kept = out[target] = Diagnostics()
        for diagnostic in each:
            here = comments.get(diagnostic.location.file or "", [])
            hiding = [] if diagnostic in always else [ignore for ignore in here if ignore.hides(diagnostic)]
            if diagnostic in always or (chosen.allows(diagnostic.rule) and not hiding):
                kept.add(diagnostic)
    if not always:
        for source in sources:
            for ignore in comments[source.file]:
                if source.lines is None or ignore.at.line in source.lines:
                    for kept in out.values():
                        kept.extend(_useless(ignore, chosen, ran))
    return out


def _useless(ignore: Ignore, chosen: Selection, ran: bool) -> Iterator[Diagnostic]:
    if not ignore.rules and chosen.allows(IGNORE_FORM.id):
        message = "this comment ignores no rule: it names none"
        example = "// ptokit: ignore[RULE-ID] reason"
        yield Diagnostic(IGNORE_FORM.id, Severity.WARNING, message, ignore.at, example)
    for rule in ignore.rules:
        if rule in ignore.used or not chosen.allows(UNUSED_IGNORE.id):
            continue
        known = _rules(rule)
        found_here = [id for id in known if (CATALOGUE[id].scope in _AT_RUN_TIME) == ran and chosen.allows(id)]
        if len(found_here) < len(known):
            continue  # another command, or another selection, may find it
        message = f"nothing here breaks {rule}" if known else f"there is no rule {rule}"
        hint = "remove the comment" if known else None
        yield Diagnostic(UNUSED_IGNORE.id, Severity.WARNING, message, ignore.at, hint)


def ignores(file: str, sources: Sequence[Source]) -> Iterator[Ignore]:
    """The comments that ignore rules in a file, one of the sources or a Python file."""
    text = next((source.text for source in sources if source.file == file and source.text is not None), None)
    if text is not None:
        yield from _made(file, text.split("\n"), _comments_of_text(text))
    elif not file.endswith(".pto"):
        lines = [line.rstrip("\n") for line in source_lines(file)]
        if any("ptokit:" in line for line in lines):
            yield from _made(file, lines, _comments_of_python("\n".join(lines)))


def _made(file: str, lines: list[str], comments: Iterable[tuple[int, int, str]]) -> Iterator[Ignore]:
    for line, column, comment in comments:
        found = _WORD.match(comment.lstrip("/# \t"))
        if found is None:
            continue
        rules = tuple(word.strip().upper() for word in (found[1] or "").split(",") if word.strip())
        about = line
        if not lines[line - 1][:column].strip():  # in a line of its own: about the next one that is none
            following = (n for n, text in enumerate(lines[line:], line + 1) if text.strip(" \t\r/#"))
            about = next((n for n in following if not lines[n - 1].lstrip().startswith(("//", "#"))), line)
        yield Ignore(Location(file, line, column + 1, len(comment.rstrip())), about, rules)


def _comments_of_text(text: str) -> Iterator[tuple[int, int, str]]:
    """Line, characters before it, and text of every comment of `.pto` text that may be meant for ptokit."""
    if "ptokit:" not in text:
        return
    for number, line in enumerate(text.split("\n"), 1):
        start = line.find("//")
        while start >= 0 and line.count('"', 0, start) % 2:  # in a string
            start = line.find("//", start + 1)
        if start >= 0:
            yield number, start, line[start:]


def _comments_of_python(text: str) -> Iterator[tuple[int, int, str]]:
    import io
    import tokenize

    try:
        for token in tokenize.generate_tokens(io.StringIO(text + "\n").readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.start[1], token.string
    except (tokenize.TokenError, SyntaxError):
        return
