"""Printing of the few operations of the `llvm` dialect."""

from __future__ import annotations

from collections.abc import Callable

from ptokit.ir import Op, Value

from ..forms.llvm import ELEMENT, PLACES, arrow
from ..forms.spelling import attribute


def llvm(op: Op, name: Callable[[Value], str]) -> str:
    """An operation of the dialect."""
    args = op.group("args")
    shown = ", ".join(map(name, args))
    types = ", ".join(str(v.type) for v in args)
    tail = ""
    if op.name == "llvm.alloca":
        shown += f" x {op.attrs[ELEMENT]}"
        types = f"({types})"
    elif op.name == "llvm.getelementptr":
        rest = iter(args[1:])
        places = [name(next(rest)) if place == "?" else place for place in str(op.attrs[PLACES]).split(", ")]
        shown, types, tail = f"{name(args[0])}[{', '.join(places)}]", f"({types})", f", {op.attrs[ELEMENT]}"
    elif op.name == "llvm.extractelement":
        shown, types = f"{name(args[0])}[{name(args[1])} : {args[1].type}]", str(args[0].type)
    rest_of = [attribute(k, v) for k, v in op.attrs.items() if k not in (ELEMENT, PLACES)]
    more = f" {{{', '.join(rest_of)}}}" if rest_of else ""
    made = "->" if op.name in ("llvm.alloca", "llvm.getelementptr") else arrow(op.name)
    results = f" {made} {op.result.type}" if op.results and op.name != "llvm.extractelement" else ""
    return f"{op.name} {shown}{more} : {types}{results}{tail}"
