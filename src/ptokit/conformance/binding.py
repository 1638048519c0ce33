"""Operands and arguments of a case, by the names of the instruction table.

Cases name operands in their own way (``c <- a, b``); the tables below say what they are called in the instruction
table. What has the same name on both sides needs no entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

import numpy as np

from ptokit.isa.table import TABLE, Attr, Instr, Kind
from ptokit.types.codecs import decode
from ptokit.types.dtypes import DType
from ptokit.types.enums import ReluPreMode

OPERANDS: dict[str, dict[str, str]] = {
    "TLOAD": {"t": "dst", "g": "src"},
    "TSTORE": {"t": "src", "g": "dst"},
    "TSTORE_FP": {"t": "src", "g": "dst"},
    "MGATHER": {"g": "src", "gidx": "idx"},
    "MSCATTER": {"g": "dst"},
    "TMRGSORT": {"exec": "executed"},
}
"""Names of one instruction's operands in the cases and in the instruction table."""

SYNONYMS: dict[str, tuple[str, ...]] = {
    "as": ("lhs_scale",),
    "bs": ("rhs_scale",),
    "c": ("dst",),
    "a": ("lhs", "src0"),
    "b": ("rhs", "src1"),
    "cin": ("acc",),
    "src0": ("src",),
    "src": ("src0",),
}
"""Names for any instruction, used where its table entry lacks the case's name."""

ATTRIBUTES = {
    "atom": "atomic",
    "sat": "sat_mode",
    "binary": "is_binary",
    "upper": "upper_or_lower",
    "type": "quant_type",
    "m": "pos_m",
    "k": "pos_k",
}
"""Arguments of the cases -> attributes of the instruction table."""

CONVOLUTION = frozenset({"filter", "stride", "dilation", "pad", "pad_value", "fmap", "channels"})
"""Arguments that belong to the convolution tile."""

MARKS = frozenset({"form", "inplace", "lists", "conv", *CONVOLUTION})
"""Arguments that say which form of an instruction a case is: its operands show it."""


class UnknownNameError(Exception):
    """The instruction has nothing to take an operand or argument of the case."""


def instruction_of(op: str, operands: Iterable[str] = (), args: Iterable[str] = ()) -> Instr | None:
    """The table entry of a case's instruction, whose operands and arguments say which form is meant."""
    name = op.upper()
    if "alg" in args:
        return TABLE.get("TQUANT_MX")
    if name.endswith("_MX"):
        name += "_BIAS" if "bias" in operands else "_ACC" if "inplace" in args else ""
    return TABLE.get(op) if name == op.upper() and op in TABLE else TABLE.get(name)


def operand_names(instr: Instr, names: Iterable[str]) -> dict[str, str]:
    """Names of a case's operands -> names in the table. Raises `UnknownNameError`."""
    return {name: _operand_name(instr, name) for name in names}


def _operand_name(instr: Instr, name: str) -> str:
    own = OPERANDS.get(instr.name, {}).get(name)
    known = {o.name for o in instr.operands}
    for candidate in (own, name, *SYNONYMS.get(name, ())):
        if candidate in known:
            return candidate
    raise UnknownNameError(f"{instr.name} has no operand that the case could call {name!r}")


def scalars_and_attributes(
    instr: Instr, args: Mapping[str, Any], scalar_type: DType | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Numbers for scalar operands, and attributes, by table name.

    ``scalar_type``: element type whose bits the argument ``scalar`` has. Raises `UnknownNameError`.
    """
    numbers = {o.name for o in instr.operands if o.kind is Kind.SCALAR}
    kinds = {a.name: a for a in instr.attrs}
    scalars: dict[str, Any] = {}
    attrs: dict[str, Any] = {}
    for name, value in args.items():
        table_name = ATTRIBUTES.get(name, name)
        numbered = [f"{name}{k}" for k in range(len(value))] if isinstance(value, list) else []
        if numbered and numbers.issuperset(numbered):
            scalars.update(zip(numbered, value))
        elif name == "scalar" and scalar_type is not None and name in numbers:
            scalars[name] = number(value, scalar_type)
        elif table_name in kinds:
            attrs[table_name] = _attribute(kinds[table_name], value)
        elif table_name in numbers:
            scalars[table_name] = value
        elif isinstance(value, str) and value in kinds:  # form: the attribute that makes it
            attrs[value] = True
        elif name not in MARKS:
            raise UnknownNameError(f"{instr.name} has neither an operand nor an attribute {name!r}")
    return scalars, attrs


def number(bits: str, dtype: DType) -> int | float:
    """The number whose bits are the hexadecimal `bits`. Raises `ValueError`."""
    code = np.array([int(bits, 16)], np.uint64).view(np.uint8)[: dtype.size].view(dtype.storage)
    return decode(dtype, code)[0].item()


def _attribute(attr: Attr, value: Any) -> Any:
    if attr.kind is ReluPreMode:
        return ReluPreMode.NormalRelu if value else ReluPreMode.NoRelu
    if issubclass(attr.kind, Enum) and isinstance(value, str):
        spelled = {m.name.lower().removeprefix("atomic").removeprefix("fmatrix_"): m for m in attr.kind}
        if value.lower() not in spelled:
            raise UnknownNameError(f"{attr.name} is one of {', '.join(m.name for m in attr.kind)}, not {value!r}")
        return spelled[value.lower()]
    return value
