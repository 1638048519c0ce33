"""The written forms of types made of others: several tiles, arrays and structs of the scalar unit."""

from __future__ import annotations

import re

from ptokit.types.tile import TileSpec
from ptokit.types.values import LocalArray, MultiTile, Scalar, Struct

from ..text import rules
from ..text.cursor import whole
from ..text.faults import TypeFaultError, number
from .tile import tile_buf

COMPOUND = frozenset(("multi_tile_buf", "local_array", "struct"))
"""Mnemonics of these types."""

_SLOTS = 2, 16
_COUNT = re.compile(r",\s*count\s*=\s*(\d+)\s*\Z", re.ASCII)
_ARRAY = re.compile(r"\s*((?:-?\d+\s*x\s*)*)([A-Za-z]\w*)\s*\Z", re.ASCII)
_NUMBER = re.compile(r"(?:[su]?i\d+|bf16|f16|f32|f64)\Z", re.ASCII)
_FIELD = re.compile(r"(?:[su]?i(?:8|16|32|64)|bf16|f16|f32|f64)\Z", re.ASCII)


def compound(name: str, body: str, at: int) -> MultiTile | LocalArray | Struct:
    """The type ``!pto.name<body>``; `at` is the place of the body. Raises `TypeFaultError`."""
    if name == "struct":
        return _struct(body, at)
    return _tiles(body, at) if name == "multi_tile_buf" else _array(body, at)


def _fault(message: str, body: str, at: int) -> TypeFaultError:
    return TypeFaultError(rules.TYPE, message, at, max(1, len(body)))


def _tiles(body: str, at: int) -> MultiTile:
    m = _COUNT.search(body)
    count = whole(m[1]) if m is not None else None
    if m is None or count is None:
        raise _fault("!pto.multi_tile_buf has a tile type and ', count=N'", body, at)
    if not _SLOTS[0] <= count <= _SLOTS[1]:
        raise _fault(f"a multi_tile_buf has {_SLOTS[0]} to {_SLOTS[1]} slots, not {count}", body, at)
    slot = body[: m.start()]
    written = slot.strip()
    if written.startswith("!pto.tile_buf<") and written.endswith(">"):
        inner = slot.index("<") + 1
        spec: TileSpec = tile_buf(slot[inner : slot.rindex(">")], at + inner)
    elif written.startswith("!"):
        raise _fault("a slot is a !pto.tile_buf<..>", body, at)
    else:
        spec = tile_buf(slot, at)
    return MultiTile(spec, count)


def _array(body: str, at: int) -> LocalArray:
    m = _ARRAY.match(body)
    dims = [whole(d.strip()) for d in m[1].split("x")[:-1]] if m is not None else []
    sizes = tuple(d for d in dims if d is not None and d > 0)
    if m is None or not dims or len(sizes) != len(dims) or not _NUMBER.match(m[2]):
        raise _fault("!pto.local_array has positive sizes and a number's type, as in 4x2xi32", body, at)
    return LocalArray(sizes, number(m[2]))


def _struct(body: str, at: int) -> Struct:
    fields: list[Scalar | Struct] = []
    for text, place in _split(body):
        if text.startswith("!pto.struct<") and text.endswith(">"):
            fields.append(_struct(text[len("!pto.struct<") : -1], at + place + len("!pto.struct<")))
        elif _FIELD.match(text):
            fields.append(number(text))
        else:
            raise _fault("a field of a struct is an integer of 8 to 64 bits, a float or a struct", text, at + place)
    return Struct(tuple(fields))


def _split(body: str) -> list[tuple[str, int]]:
    """The parts between commas outside of angle brackets, and their places."""
    out, depth, start = [], 0, 0
    for i, character in enumerate(body + ","):
        depth += (character == "<") - (character == ">")
        if character == "," and depth == 0:
            part = body[start:i]
            out.append((part.strip(), start + len(part) - len(part.lstrip())))
            start = i + 1
    return out
