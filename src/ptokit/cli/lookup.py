"""A name a user typed that is in no table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

import typer


def unknown(kind: str, name: str, known: Iterable[str], everything: str, parameter: str) -> typer.BadParameter:
    """The usage error for `name`, with names that look like it and `everything`, the command that lists all."""
    close = difflib.get_close_matches(name.upper(), list(known), n=3, cutoff=0.6)
    guess = f"\nDid you mean {' or '.join(close)}?" if close else ""
    return typer.BadParameter(f"there is no {kind} {name!r}.{guess}\n'{everything}' lists all.", param_hint=parameter)
