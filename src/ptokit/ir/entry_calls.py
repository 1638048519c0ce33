"""Kernels made of other functions: the cube and the vector function of a pair, numbers that each core supplies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import StrEnum

from ptokit.types.values import Scalar, Type

from .control import call_of, return_of
from .core import Block, Function, Module, Op, Value

_SUFFIXES = {"cube": "_aic", "vector": "_aiv"}
_USERS = tuple(f"pto.{core}_initialize_pipe" for core in ("aic", "aiv"))
_INTEGERS = ("i32", "i64", "index")


class Query(StrEnum):
    """A number that every core has of its own, as an argument: see `supplied`."""

    BLOCK_IDX = "block_idx"
    BLOCK_NUM = "block_num"
    SUBBLOCK_IDX = "subblock_idx"
    SUBBLOCK_NUM = "subblock_num"

    @property
    def operation(self) -> str:
        """The operation that asks for it."""
        return f"pto.get_{self.value}"


def stem(function: Function) -> str | None:
    """``k`` of the cube function ``k_aic`` and of the vector function ``k_aiv``; None for others."""
    suffix = _SUFFIXES.get(function.core, "")
    return function.name.removesuffix(suffix) if suffix and function.name.endswith(suffix) else None


def partner(module: Module, function: Function) -> Function | None:
    """The function at the other ends of the pipes of a cube or vector function; None if it has none, or several.

    They are joined by a buffer that one of them reserves and the other imports, by their names, or by the id of a pipe
    that no other function of that kind has.
    """
    others = [f for f in module.functions if f.body is not None and f.core and f.core != function.core]
    if not function.core or function.body is None:
        return None
    for joined in (
        [f for f in others if f.name in imports(function) or function.name in imports(f)],
        [f for f in others if stem(f) is not None and stem(f) == stem(function) and _ids(f) & _ids(function)],
        [f for f in others if _ids(f) & _ids(function)],
    ):
        if joined:
            return joined[0] if len(joined) == 1 else None
    return None


def _ops(function: Function) -> Iterator[Op]:
    return function.body.walk() if function.body is not None else iter(())


def imports(function: Function) -> set[str]:
    """The functions it imports reserved buffers of."""
    imports = (op for op in _ops(function) if op.name == "pto.import_reserved_buffer")
    return {str(op.attrs.get("peer_func", "")).removeprefix("@") for op in imports}


def _ids(function: Function) -> set[int]:
    """The ids of its pipes."""
    return {op.attrs.get("id") or 0 for op in _ops(function) if op.name in _USERS}


def pair(cube: Function, vector: Function) -> Function:
    """A kernel that calls both: its parameters are those of the cube function, then those that the other has alone."""
    functions = (cube, vector) if cube.core == "cube" else (vector, cube)
    params: dict[tuple[str, Type], Value] = {}
    for function in functions:
        for position, param in enumerate(function.params):
            name = param.name or f"arg{position}"
            params.setdefault((name, param.type), Value(param.type, name, location=param.location))
    calls = [call_of(f, [params[p.name or f"arg{i}", p.type] for i, p in enumerate(f.params)]) for f in functions]
    common = stem(functions[0]) if stem(functions[0]) == stem(functions[1]) else None
    return _kernel(common or "+".join(f.name for f in functions), functions[0], list(params.values()), calls)


def supplied(kernel: Function, given: Mapping[int, Query]) -> Function:
    """A kernel that calls `kernel`, with the parameters at these positions filled in by each core.

    Raises `ValueError` for a parameter that is no integer.
    """
    params, args, ops = [], [], []
    for position, param in enumerate(kernel.params):
        query = given.get(position)
        if query is None:
            params.append(Value(param.type, param.name or f"arg{position}", location=param.location))
            args.append(params[-1])
            continue
        if not isinstance(param.type, Scalar) or param.type.name not in _INTEGERS:
            raise ValueError(f"parameter {param.shown} of type {param.type} cannot be {query.value}")
        asked = Op(query.operation, results=[Value(Scalar("i64"))], location=kernel.location)
        ops.append(asked)
        if param.type.name != "i64":
            cast = "arith.trunci" if param.type.name == "i32" else "arith.index_cast"
            ops.append(Op(cast, {"in": asked.result}, results=[Value(param.type)], location=kernel.location))
        args.append(ops[-1].result)
    return _kernel(f"{kernel.name}:supplied", kernel, params, [*ops, call_of(kernel, args)])


def _kernel(name: str, like: Function, params: list[Value], ops: list[Op]) -> Function:
    body = Block(ops=[*ops, return_of(like.location)])
    return Function(name, params, attrs={"pto.entry": True}, body=body, location=like.location)


def with_function(module: Module, function: Function) -> Module:
    """The module with one more function, unless it has it."""
    if function in module.functions:
        return module
    return replace(module, functions=[*module.functions, function])
