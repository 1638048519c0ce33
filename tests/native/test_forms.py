"""Which operations on registers and logical vectors have no native form: the list only gets shorter."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("llvmlite")

from ptokit.api.examples import examples
from ptokit.asm import parse_module
from ptokit.backends.native import registers
from ptokit.backends.native.callbacks import VECTORS
from ptokit.backends.native.values import LocalPointer, Register, register_kind
from ptokit.ir.core import Module, Op, Value
from ptokit.ir.facts import Facts, instr_of
from ptokit.isa.meaning.execute import Derived
from ptokit.isa.meaning.words import Lane
from ptokit.isa.table import TABLE
from ptokit.targets import target
from ptokit.types.values import Ptr

WITHOUT = set(
    """
    pstu vldus vstu vstur vstus vaddreluconv vmulconv vmulscvt
    vsunpack vzunpack
    vmi.channel_merge vmi.channel_split vmi.pack vmi.unpack vmi.group_iota vmi.vcmax vmi.vshrs
    """.split()
)


def standing(value: Value | None) -> Any:
    """What stands for an operand while code is written."""
    type = getattr(value, "type", None)
    if isinstance(type, VECTORS):
        return Register("%x", register_kind(type), type)
    return LocalPointer(type.space or "ub", 0, type.dtype) if isinstance(type, Ptr) else None


def native(op: Op, module: Module, facts: Facts, on: str) -> bool:
    """True if there is native code for an operation on registers."""
    instr = instr_of(op)
    assert instr is not None
    site = facts.site(op, target(on), extended=False, text=True)
    assert site is not None
    operands = {o.name: standing(op.get(o.name)) for o in instr.operands}
    writer: Any = SimpleNamespace(source=module)
    try:
        word = instr.meaning_at(site)
        if not isinstance(word, Lane) or not isinstance(instr.run, Derived):
            return False
        return registers.supported(writer, instr, word, op, operands, instr.run.types(site))
    except (AttributeError, KeyError, TypeError, ValueError):
        return True  # the example leaves out what its meaning depends on: NumPy cannot run it either


def test_operations_without_native_code() -> None:
    found = set()
    for name, example in examples().items():
        instr = TABLE[name]
        module = parse_module("module {\n" + example.text + "\n}", target=target(example.target)).module
        for function in module.functions:
            for op in function.body.walk() if function.body is not None else ():
                vectors = any(isinstance(v.type, VECTORS) for v in (*op.values, *op.results))
                if vectors and instr_of(op) is instr and not native(op, module, Facts(function), example.target):
                    found.add(name)
    assert found == WITHOUT
