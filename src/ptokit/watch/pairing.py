"""Which operations of two programs belong together."""

from __future__ import annotations

from collections.abc import Callable
from difflib import SequenceMatcher
from typing import Any

from ptokit.ir.core import Module, Op


class Pairing:
    """The operations of two modules: those with equal names and operands first, then those with equal names.

    ``partner`` has for an operation of the first module that of the second; ``alone`` those of either without one.
    """

    def __init__(self, a: Module, b: Module) -> None:
        self.partner: dict[Op, Op] = {}
        self.alone: tuple[list[Op], list[Op]] = ([], [])
        self._pair(_operations(a), _operations(b), (_key, _name))

    def _pair(self, a: list[Op], b: list[Op], keys: tuple[Callable[[Op], Any], ...]) -> None:
        """Pair by the first of the keys, what lies between by the others."""
        if not keys:
            self.alone[0].extend(a)
            self.alone[1].extend(b)
            return
        key, *more = keys
        one, other = ([key(op) for op in ops] for ops in (a, b))
        for kind, i0, i1, j0, j1 in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
            if kind == "equal":
                self.partner.update(zip(a[i0:i1], b[j0:j1]))
            else:
                self._pair(a[i0:i1], b[j0:j1], tuple(more))


def _operations(module: Module) -> list[Op]:
    """What may be a step of a run; constants, arithmetic and control flow are none."""
    bodies = [function.body for function in module.functions if function.body is not None]
    return [op for body in bodies for op in body.walk() if op.name.startswith("pto.")]


def _key(op: Op) -> tuple[str, tuple[str, ...]]:
    return op.name, tuple(value.name for value in (*op.values, *op.results))


def _name(op: Op) -> str:
    return op.name
