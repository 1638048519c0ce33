"""Several targets at once: a result for each, and findings that say of which targets they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from ptokit.diagnostics import DiagnosticError, Diagnostics
from ptokit.targets import Target

from .errors import UsageError
from .findings import labels, merged
from .program import Called, Program
from .source import From, origin
from .usage import find_target

T = TypeVar("T")

Several = list[str] | list[Target] | tuple[str | Target, ...]
"""Targets to look at one after the other."""


class PerTarget(dict[str, T]):
    """What there is for every target, by its name, in the order in which targets were asked for."""

    def __str__(self) -> str:
        return "\n\n".join(map(str, self.values()))

    def __repr__(self) -> str:
        return str(self)


def is_several(named: Any) -> bool:
    """True for a collection of targets."""
    return named is not None and not isinstance(named, str | Target)


def named_targets(named: str | Target | Iterable[str | Target] | None) -> list[Target]:
    """The targets that are named, each once. Raises `UsageError` for an unknown one and an empty collection."""
    several = [named] if isinstance(named, str) or not isinstance(named, Iterable) else list(named)
    if not several:
        raise UsageError("no target is named.", "target")
    return [target for target in dict.fromkeys(map(find_target, several)) if target is not None]


def to_look_at(
    program: Program, named: Sequence[str], defaults: Sequence[str], entry: str | None
) -> tuple[From, list[Target | None], Target | None]:
    """What a program is read from, the targets to do something for, and the one to take where it states none.

    ``named``: on the command line; ``defaults``: of the project, for programs that state none. None among the targets
    is the one that the program states.
    """
    found = origin(program, entry=entry)
    wanted: list[Target | None] = [*named_targets(named or None)]
    usual = named_targets(defaults or None)
    if not wanted and len(usual) > 1 and not isinstance(found, Called) and found.read(None).target is None:
        wanted = [*usual]
    return From(found), wanted or [None], usual[0] if len(usual) == 1 else None


def for_each(targets: Sequence[Target | None], act: Callable[[Target | None], T]) -> PerTarget[T]:
    """What `act` gives for every target.

    Raises `DiagnosticError` with the findings of all that are refused; of several, with their targets.
    """
    if len(targets) == 1:
        return PerTarget({_name(targets[0]): act(targets[0])})
    done: PerTarget[T] = PerTarget()
    refused: dict[str, Diagnostics] = {}
    for target in targets:
        try:
            done[_name(target)] = act(target)
        except DiagnosticError as error:
            refused[_name(target)] = found = Diagnostics()
            found.extend(error.diagnostics)
    if refused:
        told = labels(refused) or {each: f"on {target}" for target, found in refused.items() for each in found}
        raise DiagnosticError(merged(refused), labels=told)
    return done


def _name(target: Target | None) -> str:
    return "" if target is None else target.name
