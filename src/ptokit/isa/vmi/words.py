"""Words to define operations on logical vectors with, and what depends on a place in the text.

An operand or result is a word: its name, a colon, and what it is.

| | |
|---|---|
| ``v``, ``m`` | a logical vector, a logical predicate |
| ``b`` | either of them |
| ``p`` | a pointer |
| ``o`` | the offset in brackets after the pointer before it, in elements |
| ``s``, ``i32`` | a number of any type, of this type; its type is written |
| ``x``, ``y`` | an index, a number of 16 bits; its type is not written |

A question mark after it: it may be missing; a star: a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ptokit.diagnostics import Rule
from ptokit.diagnostics.rules import merged
from ptokit.types.codecs import decode
from ptokit.types.dtypes import DType, dtype, f32, i64
from ptokit.types.enums import Pipe

from ..meaning.expressions import OWN, Convert, Element, Expr, Index, Reinterpret, Scalar, lane
from ..meaning.rows import Rows
from ..meaning.words import Lane, Meaning, Write
from ..site import LanesInfo, Site, VectorInfo
from ..table import Attr, Instr, Kind, Operand, OperandForm, Role, TextForm, instruction

# Words to define operations on logical vectors with (PTOAS e32488c9, vmi-isa).


SOURCE = "PTOAS e32488c9, vmi-isa"
_MISFITS = {"": "VMI-02"}
IN_GENERIC_FORM = TextForm("generic", misfits=_MISFITS)
OPEN_RESULTS = TextForm("generic-results", misfits=_MISFITS)
_KINDS = {"v": Kind.VECTOR, "m": Kind.LANES, "b": Kind.LOGICAL, "r": Kind.PART, "p": Kind.PTR}


def _operand(word: str, role: Role) -> Operand:
    name, _, kind = word.rstrip("?*").partition(":")
    optional = word.endswith("?")
    if kind == "o":
        return Operand(name, role, Kind.SCALAR, True, type="index", form=OperandForm(offset=True))
    if kind in ("x", "y"):
        return Operand(
            name, role, Kind.SCALAR, optional, type={"x": "index", "y": "i16"}[kind], form=OperandForm(implied=True)
        )
    if kind == "s":
        return Operand(name, role, Kind.SCALAR, optional, also=(Kind.VREG,))
    if kind not in _KINDS:
        return Operand(name, role, Kind.SCALAR, optional, type=kind)
    return Operand(name, role, _KINDS[kind], optional, word.endswith("*"), also=(Kind.VIEW,) if kind == "p" else ())


def number(name: str, *, required: bool = False) -> Attr:
    """A whole number in the dictionary."""
    return Attr(name, int, None, name, long=True, required=required)


def text(name: str, *words: str, required: bool = False) -> Attr:
    """A string in the dictionary."""
    return Attr(name, str, None, name, words=words, required=required)


def token(name: str, before: str = "") -> Attr:
    """A string among the operands, which is required."""
    return Attr(name, str, None, name, token=True, before=before, required=True)


def unit(name: str) -> Attr:
    """A word of the dictionary that stands alone."""
    return Attr(name, bool, None, name)


PMODE = text("pmode", "merge", "zero")
GROUP = number("group")
GROUPS = number("num_groups", required=True)
ROUNDING = text("rounding")
SATURATE = text("saturate")


def groups_of(o: Site) -> int:
    """How many groups of lanes there are."""
    return o.attrs.get("group") or o.attrs.get("num_groups") or 1


def operations(bound: Mapping[str, tuple[Rule, ...]]) -> Callable[..., Instr]:
    """`vmi` for operations whose rules are in a table by name. Raises `KeyError` for one that has no entry."""

    def define(name: str, *args: Any, **more: Any) -> Instr:
        return vmi(name, *args, rules=merged(bound[name]), **more)

    return define


def over(value: Expr, mask: str = "", *, dst: str = "result", lanes: int = 0) -> Lane:
    """The meaning of an operation on vectors; lanes that the mask leaves out become 0."""
    return Lane((Write(dst, value),), over=dst, mask=mask, lanes=lanes)


def predicate(value: Expr, mask: str = "", *, lanes: int = 0) -> Lane:
    """The lanes that meet a condition and that a mask lets through."""
    return Lane((Write("result", value, packed=True),), over="result", mask=mask, lanes=lanes)


def elements(*names: str) -> list[Expr]:
    """The own lanes of vectors."""
    return [Element(name) for name in names]


def number_in(o: Site, name: str, like: str) -> Expr:
    """A number in the element type of a vector, or the lanes of one that has fewer, each for as many as it takes."""
    info, of = o.operands.get(name), o.operands[like]
    assert isinstance(of, VectorInfo)
    if isinstance(info, VectorInfo):
        found = Element(name, OWN if info.lanes == of.lanes else lane(over=max(1, of.lanes // info.lanes)))
        return found if info.dtype is of.dtype else Convert(found, of.dtype)
    if of.dtype.value is None or (of.dtype.bits == 8 and of.dtype.is_float):
        return Convert(Scalar(name, f32), of.dtype)
    return Scalar(name, of.dtype)


def unsigned(o: Site, name: str, at: Index = OWN) -> Expr:
    """The lanes of a vector of integers as numbers without a sign."""
    info = o.operands[name]
    assert isinstance(info, VectorInfo)
    return Convert(Reinterpret(Element(name, at), dtype(f"u{info.dtype.bits}")), i64)


def vmi(
    name: str,
    summary: str,
    operands: str,
    results: str = "",
    *attrs: Attr,
    meaning: Meaning | None = None,
    **more: Any,
) -> Instr:
    """An operation on logical vectors."""
    stores = bool(operands) and not results and more.get("form") is not OPEN_RESULTS
    produces: Sequence[Operand] = [_operand(word, Role.OUT) for word in results.split()]
    taken = [_operand(w, Role.OUT if stores and w.split(":")[1] == "p" else Role.IN) for w in operands.split()]
    more = {"form": TextForm("micro", misfits=_MISFITS), "source": SOURCE, **more}
    instr = Instr(
        f"vmi.{name}",
        f"vmi.{name}",
        summary,
        tuple(taken),
        attrs,
        pipe=Pipe.V,
        meaning=meaning,
        typed=True,
        produces=tuple(produces),
        **more,
    )
    return instruction(instr, Rows)


# Layouts of logical vectors in registers: the parts of one, and how many registers hold a vector.


REGISTER_BITS = 2048
_BLOCKS = 8  # that a register is divided into where whole blocks lie apart
_LAYOUT = re.compile(r"layout<(\w+)(?: = (\d+))?(?:, slots = (\d+))?(?:, lane_stride = (\d+))?>")


class Layout(NamedTuple):
    """A layout: its kind, the number after it (1 if there is none), and its fields (0 slots: not stated)."""

    kind: str
    factor: int
    slots: int
    lane_stride: int


@cache
def layout_of(text: str) -> Layout | None:
    """The parts of a layout as text prints it; None of none."""
    m = _LAYOUT.search(text)
    return None if m is None else Layout(m[1], int(m[2] or 1), int(m[3] or 0), int(m[4] or 1))


def lanes_of_register(info: VectorInfo | LanesInfo) -> int:
    """How many lanes a register of it has; 0 of a predicate whose granularity is open."""
    if isinstance(info, VectorInfo):
        return REGISTER_BITS // info.dtype.bits
    bits = register_granularity(info)
    return REGISTER_BITS // bits if bits else 0


def register_granularity(info: LanesInfo) -> int:
    """The granularity of the predicate registers that hold it, in bits; 0 where that is open."""
    layout = layout_of(info.layout)
    return 0 if info.granularity == "pred" else int(info.granularity[1:]) * (layout.lane_stride if layout else 1)


def registers_of(info: VectorInfo | LanesInfo) -> int | None:
    """How many registers hold it; None where no layout says so."""
    layout, each = layout_of(info.layout), lanes_of_register(info)
    if layout is None or not each:
        return None
    if layout.kind == "num_groups" and layout.slots:
        return -(-layout.factor // layout.slots)
    parts = layout.factor if layout.kind.endswith("deinterleaved") else 1
    block = each // _BLOCKS if layout.kind == "block_deinterleaved" else 1
    stride = layout.lane_stride if isinstance(info, VectorInfo) and layout.kind != "num_groups" else 1
    count = 0
    for part in range(parts):
        whole, rest = divmod(info.lanes, parts * block)
        lanes = whole * block + min(max(rest - part * block, 0), block)
        count += -(-((lanes - 1) * stride + 1) // each) if lanes else 0
    return count


# What depends on a place in the text: constants, known numbers of lanes, any number of vectors, registers.


Array = np.ndarray
_NUMBER = re.compile(r"true|false|-?0x[0-9A-Fa-f]+|-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", re.ASCII)
_BLOB = re.compile(r'dense<\s*"0x((?:[0-9A-Fa-f]{2})+)"\s*>', re.ASCII)
_REGISTER_BYTES = 256


def numbers(written: Any, kind: DType | None = None) -> list[Any]:
    """The numbers of ``dense<[1, 2]> : ..``, ``dense<"0x0100"> : ..``, ``array<i64: 1, 2>``, ``[1, 2]`` or one number.

    Hexadecimal ones are the bits of a float, where ``kind`` is a float type. A string has the bytes of all elements,
    the lowest byte of each first, or of one that all have; of predicates (no ``kind``) a bit for each.
    """
    text = str(written)
    blob = _BLOB.match(text)
    if blob is not None:
        return _elements(bytes.fromhex(blob[1]), kind)
    if text.startswith("dense<"):
        text = text[len("dense<") : text.rindex(">", 0, text.index(">") + 1)]
    elif text.startswith("array<"):
        text = text.partition(":")[2]
    else:
        text = text.partition(" :")[0]
    return [_number(word, kind) for word in _NUMBER.findall(text.replace("True", "true").replace("False", "false"))]


def _elements(data: bytes, kind: DType | None) -> list[Any]:
    """The elements that bytes in memory are; none if the last one is cut off. Source: MLIR, DenseElementsAttr."""
    if kind is None:
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        return [bool(bits[0])] if data in (b"\x00", b"\xff") else [bool(bit) for bit in bits]
    if len(data) % kind.size:
        return []
    codes = np.frombuffer(data, np.dtype(kind.storage).newbyteorder("<"))
    values: list[Any] = decode(kind, codes.astype(kind.storage)).tolist()
    return values


def _number(word: str, kind: DType | None) -> bool | int | float:
    if word in ("true", "false"):
        return word == "true"
    if "0x" not in word:
        return float(word) if "." in word or "e" in word.lower() else int(word)
    code = int(word, 16)
    if kind is None or kind.is_integer:
        return code
    return float(decode(kind, np.array([code & ((1 << kind.bits) - 1)], kind.storage))[0])


def channel_split(site: Site) -> Callable[..., tuple[Array, ...]]:
    """Lane k of the vector is one of result k, modulo their number."""
    assert site.around is not None
    count = len(site.around.lists["results"])
    return lambda m, source, **_: tuple(np.ascontiguousarray(source[:, k::count]) for k in range(count))


def channel_merge(site: Site) -> Callable[..., Array]:
    """The lanes of several vectors, interleaved."""

    def run(m: Any, inputs: Sequence[Array], **_: Any) -> Array:
        together = np.stack(np.broadcast_arrays(*inputs), axis=2)
        return together.reshape(len(together), -1)

    return run


# ------------------------------------------------------------------ registers


@cache
def lane_positions(lanes: int, each: int, layout: str, *, stepped: bool) -> np.ndarray:
    """Where each lane lies in the registers of a layout: register * lanes of a register + lane.

    ``stepped``: lanes lie ``lane_stride`` apart; predicates have registers of another granularity for that.
    """
    how = layout_of(layout)
    assert how is not None
    lane = np.arange(lanes)
    stride = how.lane_stride if stepped else 1
    if how.kind == "num_groups" and how.slots:
        return lane // how.slots * each + lane % how.slots * stride
    parts = how.factor if how.kind.endswith("deinterleaved") else 1
    block = each // _BLOCKS if how.kind == "block_deinterleaved" else 1
    part = lane // block % parts
    within = lane // (block * parts) * block + lane % block
    counts = [int((part == k).sum()) for k in range(parts)]
    registers = [-(-((n - 1) * stride + 1) // each) if n else 0 for n in counts]
    before = np.concatenate(([0], np.cumsum(registers)[:-1]))
    out: np.ndarray = before[part] * each + within * stride
    return out


def _of(info: Any) -> tuple[np.ndarray, int, int]:
    """Where the lanes of a vector or predicate lie, how many a register has, and how many registers there are."""
    each, count = lanes_of_register(info), registers_of(info)
    if not each or count is None:
        raise ValueError("no layout")
    return lane_positions(info.lanes, each, info.layout, stepped=isinstance(info, VectorInfo)), each, count


def unpack(site: Site) -> Callable[..., tuple[Array, ...]]:
    """The registers of a vector, with 0 in lanes that hold none of it."""
    info = site.operands["source"]
    try:
        where, each, count = _of(info)
    except ValueError:
        return _open
    predicate = isinstance(info, LanesInfo)
    width = register_granularity(info) // 8 if isinstance(info, LanesInfo) else 1

    def run(m: Any, source: Array, **_: Any) -> tuple[Array, ...]:
        whole = np.zeros((len(source), count * each), source.dtype)
        whole[:, where] = source
        parts = np.split(whole, count, axis=1)
        return tuple(_image(p, width) for p in parts) if predicate else tuple(map(np.ascontiguousarray, parts))

    return run


def pack(site: Site) -> Callable[..., Array]:
    """A vector of registers."""
    info = site.operands["result"]
    try:
        where, _, _ = _of(info)
    except ValueError:
        return _open
    predicate = isinstance(info, LanesInfo)
    width = register_granularity(info) // 8 if isinstance(info, LanesInfo) else 1

    def run(m: Any, parts: Sequence[Array | None], **_: Any) -> Array:
        full = np.ones((1, _REGISTER_BYTES), bool)
        given = [full if p is None else p for p in parts]
        if predicate:
            given = [p[:, ::width] for p in given]
        return np.concatenate(np.broadcast_arrays(*given), axis=1)[:, where]

    return run


def _image(lanes: Array, width: int) -> Array:
    """A predicate register: one entry for each byte of data, that of the first byte of a lane."""
    out = np.zeros((len(lanes), _REGISTER_BYTES), bool)
    out[:, ::width] = lanes
    return out


def _open(m: Any, *_: Any, **__: Any) -> Any:
    m.refuse("TEXT-UNIMPLEMENTED", "registers of a logical vector without a layout cannot be told")
