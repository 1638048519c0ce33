"""The words of host programs of golden suites, and the numbers and memory that they work on."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/|(?P<text>"(?:[^"\\]|\\.)*")|(?P<char>'(?:[^'\\]|\\.)')"""
    r"""|(?P<number>0[xX][0-9a-fA-F]+[uUlLzZ]*|\d+\.?\d*(?:[eE][-+]?\d+)?[fFuUlLzZ]*|\.\d+(?:[eE][-+]?\d+)?[fF]?)"""
    r"""|(?P<name>[A-Za-z_]\w*(?:::\w+)*)|(?P<sign><<<|>>>|<<=|>>=|->|\+\+|--|&&|\|\||[-+*/%&|^]=|[<>=!]=|<<|>>|[^\s\w])""",
    re.DOTALL,
)

SIZES = {
    "bool": 1,
    "short": 2,
    "char": 1,
    "double": 8,
    "float": 4,
    "half": 2,
    "__fp16": 2,
    "aclFloat16": 2,
    "int": 4,
    "unsigned": 4,
    "size_t": 8,
    "long": 8,
}

QUALIFIERS = frozenset(("const", "constexpr", "static", "inline", "unsigned", "volatile", "extern", "struct", "__gm__"))

ALIASES: dict[str, str] = {}
"""Types by the names that programs give them."""

SLACK = 64


class NotReplayedError(Exception):
    """The host program does something that this tool does not read."""


@dataclass
class Pointer:
    """A place in memory; ``kind`` is the type it points to, where that is known."""

    memory: bytearray
    at: int = 0
    kind: str = ""

    def held(self, size: int) -> bytes:
        """What is there."""
        return bytes(self.memory[self.at : self.at + size])

    def store(self, data: bytes) -> None:
        """Write bytes."""
        self.memory[self.at : self.at + len(data)] = data


@dataclass
class Place:
    """A variable, whose address was taken."""

    scope: dict[str, Any]
    name: str
    kind: str = ""


@dataclass
class Code:
    """A function: names of its parameters and the tokens of its body."""

    params: list[tuple[str, str]]
    body: list[str]


class Leave(Exception):
    """``return``, ``break``, ``continue`` and ``goto``."""

    def __init__(self, how: str, value: Any = None) -> None:
        self.how, self.value = how, value


def size_of(kind: str) -> int:
    """Bytes of a C++ type."""
    kind = ALIASES.get(kind, kind)
    bits = re.search(r"(\d+)_t$", kind)
    if kind.endswith("*"):
        return 8
    if bits:
        name = kind.split("_")[0]
        return int(bits[1]) // 8 if name.startswith(("int", "uint", "bfloat")) else 1
    if kind.startswith(("float8", "float4", "hifloat8")):
        return 1
    if kind.removeprefix("std::") in SIZES:
        return SIZES[kind.removeprefix("std::")]
    raise NotReplayedError(f"sizeof {kind}")


def as_number(kind: str, data: bytes) -> Any:
    """A number of a C++ type out of its bytes; of types that C++ has no numbers for, the bits."""
    if kind in ("float", "double"):
        return struct.unpack("<f" if kind == "float" else "<d", data)[0]
    return int.from_bytes(data, "little", signed=kind.startswith(("int", "long")) or kind == "char")


def as_bytes(kind: str, value: Any) -> bytes:
    """The bytes of a number."""
    if kind in ("float", "double"):
        return struct.pack("<f" if kind == "float" else "<d", value)
    size = size_of(kind)
    return (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")


def tokens(text: str) -> list[str]:
    """The tokens of a text, without comments."""
    found, at = [], 0
    while at < len(text):
        m = TOKEN.match(text, at)
        if m is None:
            raise NotReplayedError(f"character {text[at]!r}")
        if m.lastgroup:
            found.append(m[0])
        at = m.end()
    return found


def closing(words: list[str], at: int) -> int:
    """The position of the bracket that closes the one at `at`."""
    pairs, depth = {"(": ")", "[": "]", "{": "}"}, 0
    opens, closes = words[at], pairs[words[at]]
    for k in range(at, len(words)):
        depth += (words[k] == opens) - (words[k] == closes)
        if not depth:
            return k
    raise NotReplayedError(f"no {closes}")


def split(words: list[str], mark: str = ",") -> list[list[str]]:
    """Split at marks outside of brackets."""
    parts: list[list[str]] = [[]]
    depth = 0
    for k, word in enumerate(words):
        depth += (word in "([{") - (word in ")]}")
        if word == "<" and parts[-1] and parts[-1][-1].endswith("_cast"):
            depth += 1
        elif (
            word == ">" and depth and any(w.endswith("_cast") for w in parts[-1][-6:]) and words[k + 1 : k + 2] == ["("]
        ):
            depth -= 1
        if word == mark and not depth:
            parts.append([])
        else:
            parts[-1].append(word)
    return [p for p in parts if p]


def cast(kind: list[str], value: Any) -> Any:
    plain = [w for w in kind if w not in QUALIFIERS and w != "*"]
    name = plain[-1] if plain else ""
    if isinstance(value, Pointer):
        return Pointer(value.memory, value.at, value.kind if name == "void" else name) if "*" in kind else value
    if isinstance(value, int | float) and "*" not in kind and name not in ("void", ""):
        return float(value) if name in ("float", "double") else value if name.endswith("Kind") else int(value)
    return value


def operation(sign: str, a: Any, b: Any) -> Any:
    if sign == "&&":
        return bool(a and b)
    if sign == "||":
        return bool(a or b)
    if sign in ("==", "!=") and (isinstance(a, Pointer) or isinstance(b, Pointer)):
        return (
            (a is b or a == b) == (sign == "==") if isinstance(a, Pointer) and isinstance(b, Pointer) else sign == "!="
        )
    if isinstance(a, Pointer) and sign in "+-":
        return Pointer(a.memory, a.at + (1 if sign == "+" else -1) * int(b) * size_of(a.kind or "char"), a.kind)
    if sign == "/":
        return a / b if isinstance(a, float) or isinstance(b, float) else a // b
    made: dict[str, Callable[[], Any]] = {
        "+": lambda: a + b, "-": lambda: a - b, "*": lambda: a * b, "%": lambda: a % b,
        "==": lambda: a == b, "!=": lambda: a != b, "<": lambda: a < b, ">": lambda: a > b,
        "<=": lambda: a <= b, ">=": lambda: a >= b, "<<": lambda: a << b, ">>": lambda: a >> b,
        "&": lambda: a & b, "|": lambda: a | b, "^": lambda: a ^ b,
    }  # fmt: skip
    return made[sign]()


def opening(target: list[str]) -> int:
    depth, k = 1, len(target) - 1
    while depth:
        k -= 1
        depth += (target[k] == "]") - (target[k] == "[")
    return k
