"""Which function reads an operation that is not in the instruction table."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.ir import Op

from .parser import Parser

Reader = Callable[[Parser, str, int], Op]
"""``reader(parser, name, index)`` with the cursor behind the name, which is token `index`; returns the operation.

Its results have types; names and places are given afterwards.
"""

READERS: dict[str, Reader] = {}
"""By full name; the modules of `readers` put theirs in. `QUOTED` reads generic form: the name is quoted."""

QUOTED = '"'
