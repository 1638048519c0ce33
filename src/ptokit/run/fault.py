"""Errors while a program runs; the launcher adds place, block and loop indices."""

from __future__ import annotations

from ptokit.ir.core import Op


class Fault(Exception):
    """A rule broken at run time. ``block`` is the position in the chunk, where one block alone is to blame.

    ``op``: the operation, where the code that runs cannot tell.
    """

    def __init__(self, rule: str, message: str, *, hint: str | None = None, block: int | None = None) -> None:
        self.rule, self.message, self.hint, self.block = rule, message, hint, block
        self.op: Op | None = None
        super().__init__(message)
