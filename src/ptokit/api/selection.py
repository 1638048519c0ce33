"""Which findings are reported: rules that are selected or ignored, and comments that ignore rules at one place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ptokit.diagnostics import CATALOGUE, Diagnostic, Diagnostics, Scope, Severity, catalogue
from ptokit.diagnostics.ignored import Ignore, ignores_of_python, ignores_of_text
from ptokit.records import dataclass

from .errors import UsageError
from .findings import ByTarget
from .program import Source
from .rules import IGNORE_FORM, UNUSED_IGNORE

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


def reported(
    found: ByTarget, sources: Sequence[Source], chosen: Selection, *, ran: bool = False
) -> dict[str, Diagnostics]:
    """The findings that are reported, and warnings about comments that hide nothing.

    What keeps a program from being read is always reported. ``ran``: the findings are those of a run.
    """
    always = {d for source in sources for d in source.diagnostics if d.severity is Severity.ERROR}
    files = {d.location.file for each in found.values() for d in each} | {source.file for source in sources}
    comments = {file: ignores(file, sources) for file in files if file is not None}
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
        comment = "//" if ignore.text else "#"
        example = f"{comment} ptokit: ignore[RULE-ID] reason"
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


def ignores(file: str, sources: Sequence[Source]) -> list[Ignore]:
    """The comments that ignore rules in a file, one of the sources or a Python file."""
    text = next((source.text for source in sources if source.file == file and source.text is not None), None)
    return ignores_of_python(file) if text is None else ignores_of_text(file, text)
