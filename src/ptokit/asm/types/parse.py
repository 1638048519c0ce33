"""From the text of a type to the type (assembly 3). Tile buffers are in `ptokit.asm.types.tile`."""

from __future__ import annotations

import re

from ptokit.diagnostics.finding import suggest
from ptokit.types.dtypes import DTYPES, PACKED, DType, dtype, is_dtype
from ptokit.types.tile import DYNAMIC, TileSpec
from ptokit.types.values import (
    Align,
    EventIdArray,
    Group,
    LocalArray,
    LogicalMask,
    LogicalVector,
    Mask,
    MemRef,
    MultiTile,
    Opaque,
    PartitionView,
    Ptr,
    Scalar,
    Struct,
    TensorView,
    Type,
    VReg,
)

from ..text import rules
from ..text.cursor import whole
from ..text.rules import TypeFaultError, element, is_signed, number
from .tile import tile, tile_buf

# The written forms of types made of others: several tiles, arrays and structs of the scalar unit.


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


# The written forms of logical vectors and their predicates (PTOAS e32488c9, VMITypeDefs).


LOGICAL = frozenset(("vmi.vreg", "vmi.mask"))
"""Mnemonics of their types."""

GRANULARITIES = ("pred", "b8", "b16", "b32")

_BODY = re.compile(r"\s*(\d{1,9})\s*x\s*([!\w.]+)\s*(?:,\s*(#.*))?\Z", re.ASCII | re.DOTALL)
_LAYOUT = re.compile(
    r"#pto(?:\.vmi\.layout\s*<|<\s*vmi\.layout\s*<?)\s*(\w+)\s*(?:=\s*(-?\d+)\s*)?((?:,\s*\w+\s*=\s*-?\d+\s*)*)>+\s*\Z",
    re.ASCII,
)
_LAYOUT_FIELD = re.compile(r",\s*(\w+)\s*=\s*(-?\d+)")
_FIELDS = {
    "contiguous": ("lane_stride",),
    "deinterleaved": ("lane_stride",),
    "block_deinterleaved": (),
    "num_groups": ("slots", "lane_stride"),
}


def logical(name: str, body: str | None, at: int) -> LogicalVector | LogicalMask:
    """The type ``!pto.name<body>``; `at` is the place of the body. Raises `TypeFaultError`."""
    m = _BODY.match(body or "")
    if m is None or int(m[1]) == 0:
        hint = f"write for example !pto.{name}<128x{'f32' if name == 'vmi.vreg' else 'pred'}>"
        raise TypeFaultError(
            rules.VMI_1, f"!pto.{name} has a number of lanes and what they hold", at, len(body or "") or 1, hint
        )
    lanes, place = int(m[1]), at + m.start(2)
    layout = _layout(m[3], at + m.start(3), lanes if name == "vmi.vreg" else 0) if m[3] else ""
    if name == "vmi.mask":
        if m[2] not in GRANULARITIES:
            known = ", ".join(GRANULARITIES)
            raise TypeFaultError(rules.VMI_1, f"'{m[2]}' is not a granularity: {known}", place, len(m[2]))
        if m[2] == "pred" and layout:
            raise TypeFaultError(rules.VMI_1, "a predicate without a granularity has no layout", place, len(m[2]))
        return LogicalMask(lanes, m[2], layout)
    inner = element(m[2], place)
    if inner.bits not in (8, 16, 32):
        message = f"a lane has 8, 16 or 32 bits, not the {inner.bits} of {inner.text}"
        raise TypeFaultError(rules.VMI_1, message, place, len(m[2]))
    return LogicalVector(lanes, inner, layout, is_signed(m[2]))


def _layout(text: str, at: int, lanes: int) -> str:
    """A layout in its usual spelling; `lanes` are those of a vector, 0 for a predicate. Raises `TypeFaultError`."""
    m = _LAYOUT.match(text.strip())
    message = ""
    if m is None or m[1] not in _FIELDS:
        message = "a layout is contiguous, deinterleaved, block_deinterleaved or num_groups"
    elif (m[2] is None) != (m[1] == "contiguous"):
        message = f"{m[1]} is written {'alone' if m[2] else 'with a number'}"
    if message or m is None:
        raise TypeFaultError(rules.VMI_1, message, at, len(text))
    kind, number = m[1], int(m[2] or 1)
    fields = {key: int(value) for key, value in _LAYOUT_FIELD.findall(m[3])}
    unknown = [key for key in fields if key not in _FIELDS[kind]]
    if unknown:
        message = f"{kind} has no field '{unknown[0]}'"
    elif fields.get("lane_stride", 1) <= 0 or fields.get("slots", 0) < 0:
        message = "strides and slots are positive"
    elif kind.endswith("deinterleaved") and number not in (2, 4):
        message = f"{kind} takes 2 or 4, not {number}"
    elif kind == "num_groups" and (number <= 0 or (lanes and lanes != number)):
        message = f"a layout of {number} groups is that of a vector with a lane for each group"
    if message:
        raise TypeFaultError(rules.VMI_1, message, at, len(text))
    shown = [kind if kind == "contiguous" else f"{kind} = {number}"]
    if fields.get("slots"):
        shown.append(f"slots = {fields['slots']}")
    if fields.get("lane_stride", 1) != 1:
        shown.append(f"lane_stride = {fields['lane_stride']}")
    return f"#pto.vmi.layout<{', '.join(shown)}>"


# The written forms of vector, predicate and align registers (vector-path 1.2).


REGISTERS = frozenset(("vreg", "mask", "align"))
"""Mnemonics of their types."""

VREG_BITS = 2048

_GRANULARITIES = {"b8": 8, "b16": 16, "b32": 32}
_LANES = re.compile(r"\s*(\d{1,4})\s*x\s*([!A-Za-z][\w.]*)\s*\Z", re.ASCII)


def register(name: str, body: str | None, at: int) -> VReg | Mask | Align:
    """The type ``!pto.name<body>``; `at` is the place of the body. Raises `TypeFaultError`."""
    if name == "align" and body is None:
        return Align()
    if name == "mask" and (body is None or body.strip() in _GRANULARITIES):
        return Mask(_GRANULARITIES[body.strip()] if body is not None else 0)
    if name == "vreg":
        return _vreg(body or "", at)
    known = "a granularity: b8, b16 or b32" if name == "mask" else "no parameters"
    raise TypeFaultError(rules.TYPE, f"!pto.{name} has {known}", at, max(1, len(body or "")))


def _vreg(body: str, at: int) -> VReg:
    m = _LANES.match(body)
    if m is None:
        hint = "write for example !pto.vreg<64xf32>"
        raise TypeFaultError(rules.TYPE, "!pto.vreg has lanes and an element type", at, max(1, len(body)), hint)
    inner, lanes = element(m[2], at + m.start(2)), int(m[1])
    if inner.bits < 8:
        raise TypeFaultError(rules.VEC_A5_01, f"a vector register has no lanes of {inner.text}", at, len(body))
    if lanes * inner.bits != VREG_BITS:
        raise TypeFaultError(
            rules.VEC_A5_01,
            f"{lanes} lanes of {inner.bits} bits are {lanes * inner.bits} bits; a vector register has {VREG_BITS}",
            at,
            len(body),
            f"write !pto.vreg<{VREG_BITS // inner.bits}x{inner.text}>",
        )
    return VReg(lanes, inner, is_signed(m[2]))


# From the text of a type to the type (assembly 3). Tile buffers are in `ptokit.asm.types.tile`.


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
