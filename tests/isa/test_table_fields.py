"""Definitions have few fields, and each is one that several instructions need."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING, fields
from typing import Any

import pytest

from ptokit.isa.operands import Operand, OperandForm
from ptokit.isa.table import TABLE, Instr, TextForm

WORDS = {"engines", "absent", "drained"}
"""What few instructions say and nothing else could: what else carries one out; the word for a scratch tile left out;
what becomes of accumulators.
"""


def _operands(instr: Instr) -> tuple[Operand, ...]:
    return *instr.operands, *instr.produces


def _parts(kind: type, instr: Instr) -> Iterator[Any]:
    found = {Instr: (instr,), TextForm: (instr.form,), Operand: _operands(instr)}
    yield from found.get(kind, (o.form for o in _operands(instr)))


@pytest.mark.parametrize(("kind", "most"), [(Instr, 25), (TextForm, 10), (Operand, 12), (OperandForm, 6)])
def test_fields_are_few_and_used(kind: Any, most: int) -> None:
    users: dict[str, set[str]] = {field.name: set() for field in fields(kind)}
    for name, instr in TABLE.items():
        for part in _parts(kind, instr):
            for field in fields(kind):
                default = field.default if field.default_factory is MISSING else field.default_factory()
                if getattr(part, field.name) != default:
                    users[field.name].add(name)
    assert len(users) <= most
    assert {field for field, names in users.items() if len(names) < 5} <= WORDS
