"""Generic form as another tool reads it: xDSL, which does not know the dialect's operations and types."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.arith import Arith
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.dialects.func import Func
from xdsl.dialects.memref import MemRef
from xdsl.dialects.scf import Scf
from xdsl.parser import Parser


def read_elsewhere(text: str, *, dialects: bool = True) -> ModuleOp:
    """The module as xDSL reads and verifies it. Raises an error of xDSL if it does not.

    ``dialects``: it knows `arith`, `func`, `memref` and `scf`, and holds their operations to their definitions.
    """
    context = Context(allow_unregistered=True)
    for dialect in (Builtin, Arith, Func, MemRef, Scf) if dialects else (Builtin,):
        context.load_dialect(dialect)
    module = Parser(context, text).parse_module()
    module.verify()
    return module


def names_elsewhere(module: ModuleOp) -> list[str]:
    """Names of all operations below the module, in text order; those xDSL does not know by their text."""
    unknown = [getattr(op, "op_name", None) for op in module.walk()]
    return [name.data if name is not None else op.name for name, op in zip(unknown, module.walk())][1:]
