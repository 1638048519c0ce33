"""What stands behind the operands and attributes of level 2: ``key = value`` in a fixed order, a tensor as result.

The reference assembler reads both and makes nothing of them (assembly 6.1, 6.3); here they are carried and not run.
"""

from __future__ import annotations

import re
from typing import Any

from ptokit.ir import Operands, Value
from ptokit.isa.table import Attr, Instr, Operand
from ptokit.types.values import INDEX, Opaque, Type

from ..forms.attributes import Written, declared_value
from ..forms.operands import keys_of
from ..text import rules
from ..types.parse import POISON
from .parser import Parser

_TENSOR = re.compile(r"tensor<(?!\s*\*)")


def read_trailing(p: Parser, instr: Instr, operands: Operands, attrs: dict[str, Any]) -> None:
    """Read ``pad_mode = <PadValue> pad_value = %v : f32 ..``, each at most once and in the order of the table."""
    keys = keys_of(instr.name)
    last = -1
    while (key := p.texts[p.i]) in keys and p.texts[p.i + 1] == "=":
        place = list(keys).index(key)
        if place <= last or keys[key].name in attrs:
            again = keys[key].name in attrs or keys[key].name in operands
            found = "is written twice" if again else f"stands behind '{list(keys)[last]}'"
            p.fail(rules.UNEXPECTED, f"'{key}' {found}", hint=f"the order is {', '.join(keys)}, each at most once")
        last = place
        p.i += 2
        entry = keys[key]
        if isinstance(entry, Operand):
            _value(p, entry, operands)
        else:
            _attribute(p, entry, attrs)


def _value(p: Parser, entry: Operand, operands: Operands) -> None:
    index = p.i
    value = p.value()
    p.expect(":")
    place = p.i
    type = p.type()
    p.match(value, type, index)
    check_type(p, entry, type, place)
    operands[entry.name] = value


def check_type(p: Parser, entry: Operand, type: Type, place: int) -> None:
    """TEXT-TYPE if a trailing operand has another type than its own; most take any."""
    if entry.type == "index" and type not in (INDEX, POISON):
        p.error(rules.TYPE, f"'{entry.name}' is of type index, not {type}", place)


def _attribute(p: Parser, entry: Attr, attrs: dict[str, Any]) -> None:
    index, token = p.i, p.texts[p.i]
    if not (token[0] in '#<"' if entry.mnemonic else token[0].isalnum()) or token == "<":
        p.unexpected(f"the value of '{entry.name}'")
    p.check_string()
    p.i += 1
    value = declared_value(p, entry, Written(p.expand(token), index))
    if value is not None:
        attrs[entry.name] = value


def read_result(p: Parser, instr: Instr, at: int) -> list[Value]:
    """The result behind ``->``, if there is one; token `at` is the name of the instruction."""
    if not p.accept("->"):
        return []
    if not instr.form.tensor:
        p.fail(rules.RESULTS, f"pto.{instr.text} has no result: it writes what stands in outs", at)
    index = p.i
    type = p.type()
    check_result(p, instr, type, index)
    return [Value(type)]


def check_result(p: Parser, instr: Instr, type: Type, index: int) -> None:
    """TEXT-TYPE unless the result of an instruction of level 2 is a ranked tensor."""
    if type is not POISON and not (isinstance(type, Opaque) and _TENSOR.match(str(type))):
        p.fail(rules.TYPE, f"the result of pto.{instr.text} is a tensor of known rank, not {type}", index)
