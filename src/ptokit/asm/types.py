"""From the text of a type to the type (assembly 3). Tile buffers are in `ptokit.asm.tile_types`."""

from __future__ import annotations

import re

from ptokit.types.dtypes import DType, dtype, is_dtype
from ptokit.types.tile import DYNAMIC
from ptokit.types.values import EventIdArray, Opaque, PartitionView, Ptr, Scalar, TensorView, Type

from . import rules
from .cursor import whole
from .faults import TypeFaultError, element, suggest
from .tile_types import tile_buf

POISON = Opaque("<error>")
"""Type of a value whose definition is wrong; it fits everywhere, so that one error is reported once."""

POINTER_SPACES = frozenset("gm ub l1 l0a l0b l0c fb bt".split())

_BUILTIN = re.compile(r"(?:index|none|[su]?i[1-9]\d{0,4}|bf16|f16|f32|f64|tf32|f8E\w+|f4E\w+)\Z")
_VIEW_BODY = re.compile(r"\s*((?:(?:\?|-?\d+)\s*x\s*)*)([A-Za-z]\w*)\s*\Z")
_DIM = re.compile(r"\?|-?\d+")
_PTO = re.compile(r"!pto\.(\w+)\s*(?:<(.*)>)?\Z", re.DOTALL)
_BLANKS = re.compile(r"\s+")

_HANDLES = frozenset(
    "pipe async_session async_event align fmatrix_config tpipe record_event group event scalar".split()
)
_CARRIED = frozenset("vreg mask memref global tile tile_view".split()) | _HANDLES
_MNEMONICS = sorted({"ptr", "tensor_view", "partition_tensor_view", "tile_buf", "eventid_array"} | _CARRIED)


def scalar(text: str) -> Scalar | None:
    """The builtin scalar type `text` spells, or None."""
    if not _BUILTIN.match(text):
        return None
    return Scalar(dtype(text).text if is_dtype(text) else text)


def view_body(body: str, offset: int) -> tuple[tuple[int, ...], DType]:
    """``?x64xf16`` as dimensions and element type. Raises `TypeFaultError`."""
    m = _VIEW_BODY.match(body)
    if m is None:
        raise TypeFaultError(rules.TYPE, f"'{body.strip()}' is not 'dim x .. x element'", offset, len(body))
    dims: list[int] = []
    for d in _DIM.finditer(m[1]):
        size = DYNAMIC if d[0] == "?" else whole(d[0])
        if size is None or (size < 0 and d[0] != "?"):
            raise TypeFaultError(
                rules.TYPE, f"'{d[0][:30]}' is not a size; write a number from 0 or '?'", offset + d.start(), len(d[0])
            )
        dims.append(size)
    return tuple(dims), element(m[2], offset + m.start(2))


def pointer(body: str, offset: int, spaces: bool) -> Ptr:
    """``f32`` or, where `spaces` are allowed, ``f32, ub``. Raises `TypeFaultError`."""
    first, comma, second = body.partition(",")
    inner = element(first.strip(), offset + len(first) - len(first.lstrip()))
    if not comma:
        return Ptr(inner)
    space, place = second.strip(), offset + len(first) + 1 + len(second) - len(second.lstrip())
    if not spaces:
        raise TypeFaultError(
            rules.TY_7,
            "a pointer has one parameter, its element type; an address space is not allowed",
            place,
            len(space),
            f"write !pto.ptr<{inner.text}>",
        )
    if space not in POINTER_SPACES:
        raise TypeFaultError(
            rules.TY_7,
            f"'{space}' is not an address space of pointers",
            place,
            len(space),
            suggest(space, POINTER_SPACES),
        )
    return Ptr(inner, space)


def parse_type(text: str, *, spaces: bool = False) -> Type | None:
    """The type a single token spells; None if the token is no type. Raises `TypeFaultError`.

    `spaces` allows a second parameter of ``!pto.ptr`` (assembly 3.2). Block layouts of left tiles are as written.
    """
    if text[0] != "!":
        if "<" in text:
            return (
                Opaque(_BLANKS.sub(" ", text)) if text.startswith(("memref", "vector", "tensor", "complex")) else None
            )
        return scalar(text)
    m = _PTO.match(text)
    if m is None:
        if text.startswith("!pto") or "." not in text:
            raise TypeFaultError(rules.TYPE, f"'{text[:60]}' is not defined", 0, len(text))
        return Opaque(_BLANKS.sub(" ", text))  # a type of another dialect
    name, body, at = m[1], m[2], m.start(2)
    if name in _CARRIED and (body is not None or name in _HANDLES or name == "mask"):
        return Opaque(_BLANKS.sub(" ", text))
    if name not in _MNEMONICS:
        raise TypeFaultError(rules.TYPE, f"there is no type '!pto.{name}'", 0, 5 + len(name), suggest(name, _MNEMONICS))
    if body is None:
        raise TypeFaultError(rules.TYPE, f"'!pto.{name}' needs its parameters: !pto.{name}<...>", 0, len(text))
    if name == "ptr":
        return pointer(body, at, spaces)
    if name == "tile_buf":
        return tile_buf(body, at)
    if name == "eventid_array":
        size = whole(body.strip()) if body.strip().isdecimal() and body.isascii() else None
        if size is None:
            raise TypeFaultError(rules.TYPE, f"'{body.strip()}' is not a number of events", at, len(body))
        return EventIdArray(size)
    dims, inner = view_body(body, at)
    return TensorView(dims, inner) if name == "tensor_view" else PartitionView(dims, inner)
