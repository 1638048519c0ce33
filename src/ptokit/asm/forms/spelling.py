"""How attribute values are written (assembly 4)."""

from __future__ import annotations

import math
import re
import struct
from enum import Enum
from typing import Any

from ptokit.isa.table import Attr

from .attributes import DECLARED, SWITCHES, UNIT

_WORD = re.compile(r"[A-Za-z_][\w$.]*\Z", re.ASCII)


def quote(text: str) -> str:
    """A string token."""
    out = []
    for ch in text:
        if ch in '"\\':
            out.append("\\" + ch)
        elif ch < " " or ch == "\x7f":
            out.append(f"\\{ord(ch):02X}")
        else:
            out.append(ch)
    return '"' + "".join(out) + '"'


def symbol(name: str) -> str:
    """A symbol token: ``@name``, quoted if need be."""
    return "@" + (name if _WORD.match(name) else quote(name))


def number(value: float, bits: int = 64) -> str:
    """A float token; infinities and NaN as the bit pattern of a float of `bits` (assembly 1)."""
    if math.isfinite(value):
        text = repr(float(value))
        if "." not in text:
            mantissa, e, exponent = text.partition("e")
            text = f"{mantissa}.0{e}{exponent}"
        return text
    if bits == 16:
        pattern = struct.unpack("<H", struct.pack("<e", value))[0]
    elif bits == 32:
        pattern = struct.unpack("<I", struct.pack("<f", value))[0]
    else:
        pattern = struct.unpack("<Q", struct.pack("<d", value))[0]
    return f"0x{pattern:0{bits // 4}X}"


def value(value: Any, attr: Attr | None = None) -> str:
    """The value of a dictionary entry; `attr` is its declaration, if it has one."""
    if isinstance(value, Enum) or (attr is not None and attr.mnemonic):
        return positional(attr, value, full=True)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value} : {'i64' if attr.long else 'i32'}" if attr is not None else str(value)
    if isinstance(value, float):
        return f"{number(value, 32)} : f32" if attr is not None else number(value)
    if isinstance(value, str):
        return value if attr is not None and value.startswith("@") else quote(value)
    return str(value)


def attribute(key: str, item: Any, attr: Attr | None = None) -> str:
    """``key = value``, or the key alone for units."""
    attr = attr or DECLARED.get(key)
    text = (attr.key if attr is not None else "") or key
    text = text if _WORD.match(text) else quote(text)
    if item == UNIT or (key in SWITCHES and item is True):
        return text
    return f"{text} = {value(item, attr)}"


def positional(attr: Attr | None, item: Any, *, full: bool) -> str:
    """An enumeration value: ``#pto.pipe<PIPE_V>``, ``#pto<cmp lt>`` or, not `full`, ``<PIPE_V>``; others plain."""
    if attr is None or not (attr.mnemonic or isinstance(item, Enum)):
        if isinstance(item, str) and not isinstance(item, Enum):
            return item if item.startswith("@") else quote(item)
        return value(item) if not isinstance(item, Enum) else quote(_word(item))
    word = f"EVENT_ID{item}" if attr.mnemonic == "event" else _word(item)
    if not full:
        return f"<{word}>"
    mnemonic = attr.mnemonic
    if mnemonic == "buffer_user":
        mnemonic = "pipe" if word.startswith("PIPE_") else "pipe_event_type"
    return f"#pto.{mnemonic}<{word}>" if attr.dotted else f"#pto<{mnemonic} {word}>"


def _word(item: Any) -> str:
    return str(item.text) if isinstance(item, Enum) and hasattr(item, "text") else str(item)
