"""Wrong usage: a function was asked for something that there is not."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from ptokit.targets import TARGETS, Target
from ptokit.targets import target as target_named

from .errors import UsageError

TARGET_CHOICES = ", ".join(TARGETS)


def find_target(name: str | Target | None) -> Target | None:
    """The target called `name`, None for None. Raises `UsageError`."""
    if name is None or isinstance(name, Target):
        return name
    try:
        return target_named(name)
    except KeyError:
        raise UsageError(f"{name!r} is not one of {TARGET_CHOICES}.{guess(name, TARGETS)}", "target") from None


def guess(name: str, known: Iterable[str]) -> str:
    """`` Did you mean kirin9030?`` where `name` looks like one of those that there are."""
    close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.6)
    return f" Did you mean {close[0]}?" if close else ""


def one_of(value: str, words: Iterable[str], parameter: str) -> str:
    """`value`, which must be one of `words`. Raises `UsageError`."""
    known = list(words)
    if value not in known:
        raise UsageError(f"{value!r} is not one of {', '.join(known)}.{guess(value, known)}", parameter)
    return value


def unknown(kind: str, name: str, known: Iterable[str], everything: str, parameter: str) -> UsageError:
    """The error for a `name` that there is not, with names that look like it and `everything`, what lists all."""
    close = difflib.get_close_matches(name.upper(), list(known), n=3, cutoff=0.6)
    meant = f"\nDid you mean {' or '.join(close)}?" if close else ""
    return UsageError(f"there is no {kind} {name!r}.{meant}\n'{everything}' lists all.", parameter)
