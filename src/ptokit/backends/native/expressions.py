"""Expressions of elements as LLVM code: inner nodes are the same everywhere, leaves are the caller's."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ptokit.isa.meaning.expressions import (
    BOOL,
    Apply,
    Bit,
    Code,
    Const,
    Convert,
    Coordinate,
    Element,
    Expr,
    Place,
    Reinterpret,
    Scalar,
    Stored,
    children,
    type_of,
)
from ptokit.isa.numerics.scalars import element
from ptokit.types.dtypes import DType

from . import conversions, primitives
from .elements import storage
from .primitives import Elements, Maker

Types = Mapping[str, DType]


def dtype_of(e: Expr, types: Types) -> DType | None:
    """The element type of a node; None of a condition."""
    found = type_of(e, types)
    return found if isinstance(found, DType) else None


def writable(e: Expr, types: Types) -> bool:
    """True if there is native code for all inner nodes of an expression."""
    return has_form(e, types) and all(writable(child, types) for child in children(e))


def has_form(e: Expr, types: Types) -> bool:
    """True if there is native code for a node, if there is some for those below it."""
    match e:
        case Apply(op, args):
            return primitives.known(op, dtype_of(args[-1], types))
        case Convert(inner, _, rounding, saturate):
            source, target = type_of(inner, types), type_of(e, types)
            if not isinstance(source, DType) or not isinstance(target, DType) or isinstance(inner, Scalar):
                return False
            return conversions.known(source, target, rounding, saturate)
        case Reinterpret(inner):
            return type_of(inner, types) != BOOL
        case Const():
            of = dtype_of(e, types)
            return of is not None and of.value is not None
        case Coordinate():
            of = dtype_of(e, types)
            return of is not None and of.is_integer and of.bits >= 8
        case Element() | Scalar() | Stored() | Place() | Code():
            return isinstance(type_of(e, types), DType)
        case Bit():
            return True
    return False


def inner(m: Maker, e: Expr, types: Types, value: Callable[[Expr], Elements]) -> Elements | None:
    """The values of an inner node or constant, from those of the nodes below it; None for what reads something."""
    match e:
        case Const(number):
            of = type_of(e, types)
            assert isinstance(of, DType)
            return m.constant(of, int(element(of, number).view(of.storage)))
        case Code(bits):
            of = type_of(e, types)
            assert isinstance(of, DType)
            return m.constant(of, bits)
        case Convert(below, _, rounding, saturate):
            source, target = type_of(below, types), type_of(e, types)
            assert isinstance(source, DType)
            assert isinstance(target, DType)
            return conversions.convert(m, source, target, rounding, saturate, value(below))
        case Reinterpret(below):
            source, target = type_of(below, types), type_of(e, types)
            assert isinstance(source, DType)
            assert isinstance(target, DType)
            frm, to = m.type(storage(source)), m.type(storage(target))
            x = value(below).narrow
            return m.narrow(target, x if frm == to else m.value(f"bitcast {frm} {x} to {to}"))
        case Apply(op, args):
            return m.apply(op, dtype_of(args[-1], types), [value(a) for a in args])
    return None
