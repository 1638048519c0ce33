"""Attribute dictionaries, enumeration attributes, and how their values are written (assembly 4)."""

from __future__ import annotations

import math
import re
import struct
from enum import Enum, IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

from ptokit.diagnostics.finding import suggest
from ptokit.ir import RawAttr
from ptokit.isa.order.sync_rules import EVENT_CLASSES
from ptokit.isa.table import Attr
from ptokit.types.enums import EVENT_ID_COUNT, Pipe

from ..text import rules
from ..text.cursor import Cursor, is_string, whole

# Attribute dictionaries and enumeration attributes (assembly 4).


UNIT = RawAttr("unit")
"""Value of a key written without one, where no declaration says that it is a switch."""

SWITCHES = frozenset(("pto.entry", "hacc.entry", "pto.aicore"))
"""Function attributes whose presence is their meaning; their value is True (assembly 2.2)."""

CARRIED = frozenset(
    "precisionType tinsertMode autoAlloc padValue reassoc value indices layout config post_update "
    "operandSegmentSizes resultSegmentSizes".split()
)
"""Attributes that operations of the reference have, or had, beside those of the instruction table: kept as written."""

WORDS: dict[str, frozenset[str]] = {
    "kernel_kind": frozenset(("cube", "vector")),
    "func_core_type": frozenset(("AIC", "AIV", "MIX", "AIC_OR_AIV")),
    "module_core_type": frozenset(("AIC", "AIV", "MIX")),
    "address_space": frozenset("zero gm mat left right acc vec bias scaling".split()),
    "pipe": frozenset(p.text for p in Pipe),
    "event": frozenset(f"EVENT_ID{i}" for i in range(EVENT_ID_COUNT)),
    "pipe_event_type": frozenset(EVENT_CLASSES),
    "padmode": frozenset(("PadNull", "PadFirstElem", "PadValue")),
    "precision_mode": frozenset(("HIGH_PRECISION",)),
    "mask_pattern": frozenset("P0101 P1010 P0001 P0010 P0100 P1000 P1111".split()),
    "fence_scope": frozenset(("local_memory", "gm", "all")),
    "quant_type": frozenset(("INT8_SYM", "INT8_ASYM", "MXFP8", "MXFP4_E2M1")),
    "unit_flag": frozenset(("check_only", "check_and_set")),
    "drain_unit_flag": frozenset(("check_only", "check_and_clear", "check_and_set")),
    "saturation_nan": frozenset(("preserve_nan",)),
    "disable_gemv": frozenset(("disable_gemv",)),
    "tf32_mode": frozenset(("round_even", "round_away")),
    "saturation_word": frozenset(("sat", "nosat")),
    "n_dir": frozenset(("n_dir",)),
    "frac_conversion": frozenset(("nd2nz", "dn2nz")),
    "drain_conversion": frozenset(("nz2nd", "nz2dn", "nz2nz")),
    "dst_mode": frozenset(("split_m", "split_n")),
    "atomic_op": frozenset(("add", "max", "min")),
    "buffer_user": frozenset(EVENT_CLASSES) | frozenset(p.text for p in Pipe),
}
"""Values of the attribute kinds that are carried as strings, by mnemonic (assembly 4)."""

DECLARED = {"pto.kernel_kind": Attr("pto.kernel_kind", str, None, "pto.kernel_kind", "kernel_kind", dotted=True)}
"""Enumeration attributes of modules and functions, by key."""

_SYNONYMS = {"sync_op_type": "pipe_event_type"}  # old name
_EITHER = {
    "buffer_user": ("pipe_event_type", "pipe"),
    "wait_cmp": ("wait_cmp", "cmp"),
}  # attributes that take two kinds
_ENUM = re.compile(r"#pto(?:\.(\w+)<|<\s*(\w+)\s+)([^<>]*)>\Z")
_STRIPPED = re.compile(r"<([^<>]*)>\Z")
_TYPED = re.compile(r"(-?[\w.+\-]+|\"[^\"]*\")\s*(?::\s*\w+)?\Z")
_ESCAPE = re.compile(r'\\(["\\nt]|[0-9a-fA-F]{2})')
_NUMBER = re.compile(r"-?\d+\Z", re.ASCII)
_ITEMS = r"\s*(?:-?\d+\s*(?::\s*i\d+\s*)?(?:,\s*-?\d+\s*(?::\s*i\d+\s*)?)*)?"
_LIST = re.compile(
    rf"\[({_ITEMS})\]\Z|array<\s*i\d+\s*(?::({_ITEMS}))?>\Z|dense<\[({_ITEMS})\]>\s*:\s*\w+<\w+>\Z", re.ASCII
)
_FLOAT = re.compile(r"-?\d+\.\d*(?:[eE][+-]?\d+)?\Z", re.ASCII)


class Written(NamedTuple):
    """The value of an attribute as written: its text, and the token it begins with."""

    text: str
    place: int


Dictionary = dict[str, Written]


def unquote(token: str) -> str:
    """Contents of a string token."""
    if "\\" not in token:
        return token[1:-1]
    named = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}
    return _ESCAPE.sub(lambda m: named.get(m[1]) or chr(int(m[1], 16)), token[1:-1])


def read_dictionary(p: Cursor, into: Dictionary | None = None) -> Dictionary:
    """Read ``{key = value, ...}``; the cursor is at the brace. A key written twice is TEXT-ATTRIBUTE."""
    out: Dictionary = {} if into is None else into
    opening = p.expect("{")
    if p.accept("}"):
        return out
    while True:
        index = p.i
        token = p.texts[index]
        if token[0] == '"':
            p.check_string()
            p.i += 1
            key = unquote(token)
        else:
            key = p.word("an attribute name")
        value = Written("unit", index)
        if p.accept("="):
            first = p.i
            p.skip_value()
            value = Written(p.span(first, p.i), first)
        if key in out:
            p.error(rules.ATTRIBUTE, f"attribute '{key}' is written twice", index)
        out.setdefault(key, value)
        if p.accept("}"):
            return out
        if not p.accept(","):
            if p.texts[p.i] == "\0":
                p.fail(rules.UNCLOSED, "this '{' is not closed", opening)
            p.unexpected("',' or '}'")


def plain_value(text: str) -> Any:
    """A value no declaration describes: bool, int, float, str, or `RawAttr`."""
    if text in ("true", "false"):
        return text == "true"
    if is_string(text):
        return unquote(text)
    if _NUMBER.match(text):
        value = whole(text)
        return RawAttr(text) if value is None else value
    if _FLOAT.match(text):
        return float(text)
    return RawAttr(text)


def generic_attrs(p: Cursor, written: Dictionary) -> dict[str, Any]:
    """Values of a module's or function's dictionary."""
    out: dict[str, Any] = {}
    for key, value in written.items():
        if key in DECLARED:
            out[key] = declared_value(p, DECLARED[key], value)
        elif key in SWITCHES and value.text == "unit":
            out[key] = True
        else:
            out[key] = plain_value(value.text)
    return {k: v for k, v in out.items() if v is not None}


def read_attrs(p: Cursor) -> dict[str, Any]:
    """The values of a dictionary, if one stands there."""
    return generic_attrs(p, read_dictionary(p)) if p.texts[p.i] == "{" else {}


@lru_cache(maxsize=256)
def integers(text: str) -> tuple[int, ...] | None:
    """The integers of ``[1, 2]``, ``array<i64: 1, 2>`` or ``dense<[1, 2]> : vector<2xi32>``; None for other text."""
    m = _LIST.match(text)
    if m is None:
        return None
    listed = m[1] or m[2] or m[3] or ""
    found = [whole(n.partition(":")[0].strip()) for n in listed.split(",")] if listed.strip() else []
    return None if None in found else tuple(n for n in found if n is not None)


def declared_value(p: Cursor, attr: Attr, written: Written) -> Any:
    """Value of an attribute the instruction table declares; None after an error (TY-8, TEXT-ATTRIBUTE)."""
    text, where = written
    m = _TYPED.match(text)
    bare = m[1] if m else text
    if issubclass(attr.kind, IntEnum) and _NUMBER.match(bare) and (number := whole(bare)) in list(attr.kind):
        return attr.kind(number)
    if attr.mnemonic or issubclass(attr.kind, Enum):
        return _enum_value(p, attr, text, where)
    if attr.kind is bool and bare in ("true", "false"):
        return bare == "true"
    if attr.kind is int and _NUMBER.match(bare):
        value = whole(bare)
        if value is None:
            p.error(rules.NUMBER, f"'{bare[:30]}' does not fit 64 bits", where)
        return value
    if attr.kind is float and (_FLOAT.match(bare) or _NUMBER.match(bare)):
        return float(bare)
    if attr.kind is str and is_string(text):
        return unquote(text)
    if attr.kind is str and text[0] == "@":
        return text
    if attr.kind is list and (items := integers(text)) is not None:
        return list(items)
    if attr.kind in (bool, int, float, str, list):
        message = f"'{attr.key or attr.name}' takes {_KINDS[attr.kind]}, not '{text[:40]}'"
        p.error(rules.ATTRIBUTE, message, where, hint=suggest(text, ("true", "false")) if attr.kind is bool else None)
        return None
    return RawAttr(text)


_KINDS = {bool: "true or false", int: "an integer", float: "a number", str: "a string", list: "a list of integers"}


def enum_word(text: str) -> tuple[str, str] | None:
    """Mnemonic (empty if stripped) and value of an enumeration attribute in any spelling; None if it is none."""
    m = _ENUM.match(text)
    if m is not None:
        return m[1] or m[2], m[3].strip()
    m = _STRIPPED.match(text)
    if m is not None:
        return "", m[1].strip()
    return ("", text[1:-1]) if text[0] == '"' and len(text) > 1 else None


def _enum_value(p: Cursor, attr: Attr, text: str, where: int) -> Any:
    spelled = enum_word(text)
    name = attr.key or attr.name
    if spelled is None:
        example = f"#pto.{attr.mnemonic}<...>" if attr.dotted else f"#pto<{attr.mnemonic} ...>"
        p.error(rules.ATTRIBUTE, f"'{name}' is written {example}, not '{text[:40]}'", where)
        return None
    mnemonic, word = spelled
    mnemonic = _SYNONYMS.get(mnemonic, mnemonic)
    if mnemonic and attr.mnemonic and mnemonic not in _EITHER.get(attr.mnemonic, (attr.mnemonic,)):
        hint = suggest(mnemonic, (attr.mnemonic,))
        p.error(rules.ATTRIBUTE, f"'{name}' is a {attr.mnemonic}, not a '{mnemonic}'", where, hint=hint)
        return None
    try:
        if attr.mnemonic == "event":
            if word in WORDS["event"]:
                return int(word[len("EVENT_ID") :])
            raise KeyError(word)
        if attr.kind is str and word not in WORDS.get(attr.mnemonic, (word,)):
            raise KeyError(word)
        return attr.parse(word)
    except (KeyError, ValueError):
        known = sorted(_values_of(attr))
        message = f"'{word[:40]}' is not a value of {attr.mnemonic or name}"
        p.error(rules.TY_8, message, where, hint=suggest(word, known) or f"one of {', '.join(known)}")
        return None


def _values_of(attr: Attr) -> list[str]:
    if issubclass(attr.kind, Enum):
        return [member.text for member in attr.kind]  # type: ignore[attr-defined]
    return list(WORDS.get(attr.mnemonic, ()))


def symbol(token: str) -> str:
    """Name of a symbol token, without ``@`` and quotes."""
    return unquote(token[1:]) if token[1:2] == '"' else token[1:]


# How attribute values are written (assembly 4).


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


def at_name(name: str) -> str:
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
