"""Programs: values, operations, functions, modules, and the driver that checks them."""

from .core import Block, Function, Module, Op, Operands, Part, RawAttr, Value

__all__ = ["Block", "Function", "Module", "Op", "Operands", "Part", "RawAttr", "Value"]
