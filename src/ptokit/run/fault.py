"""Errors while a program runs; the launcher adds place, block and loop indices."""

from __future__ import annotations


class Fault(Exception):
    """A rule broken at run time. ``block`` is the position in the chunk, where one block alone is to blame."""

    def __init__(self, rule: str, message: str, *, hint: str | None = None, block: int | None = None) -> None:
        self.rule, self.message, self.hint, self.block = rule, message, hint, block
        super().__init__(message)
