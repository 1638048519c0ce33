"""From the text of a type to the type (assembly 3). Tile buffers are in `ptokit.asm.types.tile`."""

from __future__ import annotations

import re

from ptokit.diagnostics.finding import suggest
from ptokit.types.dtypes import DTYPES, PACKED, DType, dtype, is_dtype
from ptokit.types.tile import DYNAMIC
from ptokit.types.values import EventIdArray, Group, MemRef, Opaque, PartitionView, Ptr, Scalar, TensorView, Type

from ..text import rules
from ..text.cursor import whole
from ..text.faults import TypeFaultError, element, is_signed
from .compound import COMPOUND, compound
from .logical import LOGICAL, logical
from .register import REGISTERS, register
from .tile import tile

POISON = Opaque("<error>")
"""Type of a value whose definition is wrong; it fits everywhere, so that one error is reported once."""

FREE = Opaque("<not known yet>")
"""Type of a value that a listing uses without defining it, until a type list names it."""

POINTER_SPACES = {
    **{name: name for name in "gm ub l1 l0a l0b l0c fb bt".split()},
    "vec": "ub",
    "mat": "l1",
    "left": "l0a",
    "right": "l0b",
    "acc": "l0c",
    "scaling": "fb",
    "bias": "bt",
}
"""Spellings of the memory that a pointer points to, and the one that is printed."""

_BUILTIN = re.compile(r"(?:index|none|[su]?i[1-9]\d{0,4}|bf16|f16|f32|f64|tf32|f8E\w+|f4E\w+)\Z")
_VIEW_BODY = re.compile(r"\s*((?:(?:\?|-?\d+)\s*x\s*)*)([!A-Za-z][\w.]*)\s*\Z")
_DIM = re.compile(r"\?|-?\d+")
_PTO = re.compile(r"!pto\.([\w.]+)\s*(?:<(.*)>)?\Z", re.DOTALL)
_BLANKS = re.compile(r"\s+")

_HANDLES = frozenset(
    "pipe async_session async_event prefetch_async_context fmatrix_config tpipe record_event event scalar".split()
)
_SLICES = frozenset(("partition_tensor_view", "global", "tile_view"))  # names of one type (assembly 3.2)
_ELEMENTS = frozenset(t.text for t in (*DTYPES.values(), *PACKED.values()) if t.text.startswith("!pto."))
_MNEMONICS = sorted(
    {"ptr", "tensor_view", "tile_buf", "tile", "memref", "eventid_array", "group"}
    | _SLICES
    | _HANDLES
    | REGISTERS
    | COMPOUND
)
WRITTEN_TYPES = [*(f"!pto.{name}" for name in _MNEMONICS), *sorted(_ELEMENTS)]
BUILTINS = ("index", "i1", *(t.text for t in DTYPES.values() if t.text not in _ELEMENTS))
"""Names of builtin types that a misspelled one may have meant."""

_MEMREF = re.compile(
    r"\s*((?:(?:\?|\d+)\s*x\s*)*)([!A-Za-z][\w.]*)\s*"
    r"(?:,\s*strided\s*<\s*\[([\s\d?,\-]*)\]\s*(?:,\s*offset\s*:\s*(\?|-?\d+)\s*)?>\s*)?"
    r"(?:,\s*(?:#pto\.address_space\s*<\s*(\w+)\s*>|#pto\s*<\s*address_space\s+(\w+)\s*>|(0))\s*)?\Z"
)
_CARRIED = ("memref", "vector", "tensor", "complex", "tuple")
_STRIDE = re.compile(r"\s*(\?|-?\d+)\s*\Z")
_RANKED = re.compile(r"\s*([!\w.]+)\s*,\s*(\d{1,2})[dD]?\s*\Z", re.ASCII)
_SIZED = re.compile(r"\s*([!\w.]+)\s*,\s*((?:\?|\d+)(?:\s*x\s*(?:\?|\d+))+)\s*\Z", re.ASCII)
_MAX_RANK = 5


def scalar(text: str) -> Scalar | None:
    """The builtin scalar type `text` spells, or None."""
    if not _BUILTIN.match(text):
        return None
    canonical = dtype(text).text if is_dtype(text) else text
    return Scalar(canonical if _BUILTIN.match(canonical) else text, is_signed(text))  # i4 is not the int4b of tiles


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


def memref(body: str) -> MemRef | None:
    """The memref of global memory whose angle brackets hold `body`; None if it is of another kind."""
    m = _MEMREF.match(body)
    if m is None or not is_dtype(m[2]) or (m[5] or m[6] or "gm") != "gm":
        return None
    dims = [_extent(d[0]) for d in _DIM.finditer(m[1])]
    strides = None if m[3] is None else [_extent(s[1]) for s in map(_STRIDE.match, m[3].split(",")) if s]
    offset = _extent(m[4] or "0")
    if strides is not None and (m[3].count(",") + 1 if m[3].strip() else 0) != len(dims):
        return None
    if None in dims or offset is None or (strides is not None and (None in strides or len(strides) != len(dims))):
        return None
    stated = None if strides is None else tuple(s for s in strides if s is not None)
    return MemRef(tuple(d for d in dims if d is not None), dtype(m[2]), stated, offset, m[5] or m[6] or "")


def _extent(text: str) -> int | None:
    """A size, stride or offset from 0, or `DYNAMIC` for ``?``."""
    number = DYNAMIC if text == "?" else whole(text)
    return None if number is None or (number < 0 and text != "?") else number


def global_tensor(body: str, offset: int) -> MemRef:
    """``f32, 2`` (element and rank: no size is known), ``f32, 16x16``, or what a builtin memref holds.

    Raises `TypeFaultError`.
    """
    m = _RANKED.match(body)
    if m is not None and 1 <= int(m[2]) <= _MAX_RANK:
        return MemRef((DYNAMIC,) * int(m[2]), element(m[1], offset + m.start(1)))
    m = _SIZED.match(body)
    found = memref(f"{m[2]}x{m[1]}" if m is not None else body)
    if found is None:
        raise TypeFaultError(
            rules.TYPE,
            f"'{body.strip()}' is not 'element, rank' with a rank of 1 to {_MAX_RANK}",
            offset,
            max(1, len(body)),
            "write for example !pto.memref<f32, 2>",
        )
    return found


def pointer(body: str, offset: int) -> Ptr:
    """``f32`` or ``f32, ub``. Raises `TypeFaultError`."""
    first, comma, second = body.partition(",")
    inner = element(first.strip(), offset + len(first) - len(first.lstrip()))
    if not comma:
        return Ptr(inner, signed=is_signed(first.strip()))
    space, place = second.strip(), offset + len(first) + 1 + len(second) - len(second.lstrip())
    if space not in POINTER_SPACES:
        raise TypeFaultError(
            rules.TY_7,
            f"'{space}' is not an address space of pointers",
            place,
            max(1, len(space)),
            suggest(space, list(POINTER_SPACES)) or f"one of {', '.join(POINTER_SPACES)}",
        )
    return Ptr(inner, POINTER_SPACES[space], is_signed(first.strip()))


def parse_type(text: str) -> Type | None:
    """The type a single token spells; None if the token is no type. Raises `TypeFaultError`.

    Block layouts of left tiles are as written.
    """
    if text[0] != "!":
        if "<" in text:
            if text.startswith("memref") and (tensor := memref(text[text.index("<") + 1 : -1])) is not None:
                return tensor
            return Opaque(_BLANKS.sub(" ", text)) if text.startswith(_CARRIED) else None
        return scalar(text)
    if text in _ELEMENTS:
        return Scalar(text)
    m = _PTO.match(text)
    if m is None:
        if text.startswith("!pto") or "." not in text:
            name = text.partition("<")[0]
            hint = suggest(name, WRITTEN_TYPES)
            raise TypeFaultError(rules.TYPE, f"'{name[:60]}' is not defined", 0, len(name), hint)
        return Opaque(_BLANKS.sub(" ", text))  # a type of another dialect
    name, body, at = m[1], m[2], m.start(2)
    if body is not None and body.strip() == "...":
        raise TypeFaultError(rules.TYPE, f"the parameters of '!pto.{name}' are left out", at, len(body))
    if name in _HANDLES:
        return Opaque(_BLANKS.sub(" ", text))
    if name in LOGICAL:
        return logical(name, body, m.end(1) + 1)
    if name in REGISTERS:
        return register(name, body, m.end(1) + 1)
    if name not in _MNEMONICS:
        spelled = f"!pto.{name}"
        raise TypeFaultError(
            rules.TYPE, f"there is no type '{spelled}'", 0, len(spelled), suggest(spelled, WRITTEN_TYPES)
        )
    if name == "group" and body is None:
        return Group()
    if body is None:
        raise TypeFaultError(rules.TYPE, f"'!pto.{name}' needs its parameters: !pto.{name}<...>", 0, len(text))
    if name == "ptr":
        return pointer(body, at)
    if name in ("tile_buf", "tile"):
        return tile(body, at)
    if name in COMPOUND:
        return compound(name, body, at)
    if name == "memref":
        return global_tensor(body, at)
    if name in ("eventid_array", "group"):
        size = whole(body.strip()) if body.strip().isdecimal() and body.isascii() else None
        if size is None:
            what = "events" if name == "eventid_array" else "devices"
            raise TypeFaultError(rules.TYPE, f"'{body.strip()}' is not a number of {what}", at, max(1, len(body)))
        return EventIdArray(size) if name == "eventid_array" else Group(size)
    dims, inner = view_body(body, at)
    return TensorView(dims, inner) if name == "tensor_view" else PartitionView(dims, inner)
