"""What depends on a place in the text: constants, known numbers of lanes, any number of vectors, registers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from ptokit.types.codecs import decode
from ptokit.types.dtypes import DType

from ..site import LanesInfo, Site, VectorInfo
from .layouts import lanes_of_register, layout_of, register_granularity, registers_of

Array = np.ndarray
_NUMBER = re.compile(r"true|false|-?0x[0-9A-Fa-f]+|-?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?", re.ASCII)
_BLOB = re.compile(r'dense<\s*"0x((?:[0-9A-Fa-f]{2})+)"\s*>', re.ASCII)
_REGISTER_BYTES = 256
_BLOCKS = 8


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
    """The elements that bytes in memory stand for; none if the last one is cut off. Source: MLIR, DenseElementsAttr."""
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
    """The lanes of several vectors by turns."""

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
