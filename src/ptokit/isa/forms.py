"""How text writes an instruction: its words, the order of its operands, its names, what else it may hold."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

from ptokit.records import dataclass

from .operands import Attr, Operand, Role

LEVEL2, LEVEL1, GENERIC, ALSO = "level 2", "level 1", "generic", "also"
"""Keys of `TextForm.orders`: forms of text, and a further order in which text may list operands."""

_RESULT = re.compile(r"R[~>]?(?:[=:]\w+)?\Z")

TENSOR = Operand("tensor", Role.OUT)
"""In `TextForm.carried`: level 2 may give the instruction a result of a tensor type."""


@dataclass(frozen=True, slots=True)
class TextForm:
    """How text writes an instruction.

    ``syntax``: ``dps`` is ``ins(..) outs(..) {attrs}``, ``dps-attrs-in`` has the attributes inside ``ins``,
    ``dps-comma`` too but behind a comma and only with one destination, ``dps-typed`` writes each operand with its type,
    ``dps-either`` has its first two in either order; ``micro`` lists operands, words and types, ``generic`` is the
    generic form, ``generic-results`` with as many results as the text has, ``form`` that of the ``grammar``.
    """

    syntax: str = "dps"
    grammar: tuple[str, ...] = ()  # written forms in the notation of `ptokit.asm.forms.notation`; the first is printed
    choices: tuple[str, ...] = ()  # which operands go together, as lists of names, where not any optional ones do
    orders: Mapping[str, str] = field(default_factory=dict)  # by form, names of operands; ``->`` stands before ``outs``
    carried: tuple[Operand | Attr, ...] = ()  # of level 2, ``key = value`` behind ``outs`` and results: not run
    spellings: tuple[str, ...] = ()  # further text names that are read
    newest: str = ""  # the name that level 2 prints, where the reference has renamed the operation
    misfits: Mapping[str, str] = field(
        default_factory=dict
    )  # rule of an operand of a wrong kind; "": of operands that are not its own
    in_python: bool = True  # kernels in Python have it, too

    @property
    def results(self) -> int:
        """How many results the first of the written forms has."""
        return sum(_RESULT.match(word) is not None for word in self.grammar[0].split())

    @property
    def tensor(self) -> bool:
        """True if level 2 may give it a result of a tensor type."""
        return TENSOR in self.carried

    @property
    def trailing(self) -> tuple[Operand | Attr, ...]:
        """What may stand behind ``outs`` as ``key = value``."""
        return tuple(entry for entry in self.carried if entry is not TENSOR)


def grammar(*forms: str, **more: Any) -> TextForm:
    """A form in the notation of `ptokit.asm.forms.notation`; of several the first is printed."""
    return TextForm("form", forms, **more)


CALLED = ("{}", "ins ( {} ) <? outs ( ) ?>", "{}")
"""Written forms of an instruction that has attributes only; of several forms the first is printed."""


def listed(names: str, form: str = "%{}") -> str:
    """Operands in a written form, or with another `form` their types, with commas between."""
    return " , ".join(form.format(name) for name in names.split())
