"""Checks of where values of the scalar unit come from and go to: structs on the stack, pointers made of numbers."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics import Diagnostics, Note, Scope, define
from ptokit.types.values import Scalar, Struct

from .control import TERMINATORS
from .core import Module, Op
from .survey import Survey, Surveys


def _rule(id: str, what: str, function: str, example: str = "", **more: Any) -> None:
    more = {"source": f"PTOAS 2026-08 {function}", "example": example, **more}
    define(id, what, scope=Scope.ASSEMBLER, **more)


_rule(
    "STRUCT-2",
    "A struct stays in the function and the region that declare it: no parameter, no result, and none of an "
    "operation but its declaration.",
    "PTO.cpp DeclareStructOp, validateStructProvenance",
    "{struct_set %s[0], %x in the region|scf.yield %s : !pto.struct<i32>}",
    evidence="ptokit",
    unrun="in words so far",
)
_rule(
    "IP-1",
    "A pointer is made of an i64.",
    "PTO.cpp IntToPtrOp",
    """
        %p = pto.inttoptr %n : i{64|32} -> !pto.ptr<ui32>
        %v = pto.load_scalar %p[%i] : !pto.ptr<ui32> -> ui32
    """,
    evidence="ptokit",
)
_rule(
    "IP-2",
    "A pointer made of a number is where load_scalar and store_scalar read and write, and nothing else.",
    "PTOValidateIntToPtrUses.cpp",
    """
        %p = pto.inttoptr %n : i64 -> !pto.ptr<i32>
        {|%q = pto.addptr %p, %i : !pto.ptr<i32> -> !pto.ptr<i32>
        }%v = pto.load_scalar %{p|q}[%i] : !pto.ptr<i32> -> i32
    """,
    evidence="ptokit",
)

_ACCESSES = ("pto.load_scalar", "pto.store_scalar")
_MAKES = "pto.declare_struct"


def check_lifetimes(module: Module, surveys: Surveys, found: Diagnostics) -> None:
    """Report STRUCT-2, IP-1 and IP-2."""
    for function in module.functions:
        for what, types in (("parameter", [v.type for v in function.params]), ("result", function.results)):
            if any(isinstance(t, Struct) for t in types):
                found.error("STRUCT-2", f"@{function.name} has a struct as {what}", function.location)
    for survey in surveys.values():
        if any(isinstance(v.type, Struct) for op in survey.ops for v in op.results):
            _structs(survey, found)
        for op in survey.named("pto.inttoptr"):
            _pointer(survey, op, found)


def _structs(survey: Survey, found: Diagnostics) -> None:
    for op in survey.ops:
        made = next((v for v in op.results if isinstance(v.type, Struct)), None)
        if made is not None and op.name != _MAKES:
            found.error("STRUCT-2", f"{op.name} gives {made.shown}, a struct", op.location)
        if op.name in TERMINATORS:
            out = next((v for v in op.values if isinstance(v.owner, Op) and v.owner.name == _MAKES), None)
            if out is not None:
                note = Note(f"{out.shown} is declared here", out.location)
                found.error("STRUCT-2", f"{op.name} hands {out.shown} on", op.location, notes=[note])


def _pointer(survey: Survey, op: Op, found: Diagnostics) -> None:
    address, made = op["addr"], op.results[0]
    if isinstance(address.type, Scalar) and address.type.name not in ("i64", "ui64", "si64"):
        found.error("IP-1", f"{address.shown} has type {address.shown_type}", op.location)
    for user in survey.ops:
        if made in user.values and not (user.name in _ACCESSES and user.get("ptr") is made):
            note = Note(f"{made.shown} is made here", op.location)
            found.error("IP-2", f"{user.name} takes a pointer made of a number", user.location, notes=[note])
