"""LLVM IR as text, as far as kernels need it: functions, instructions, constants, types, and where all is written."""

from __future__ import annotations

import posixpath
import re
import struct
from collections.abc import Iterator
from dataclasses import field
from functools import cached_property
from typing import NamedTuple

from ptokit.records import dataclass

NAME = r'[%@](?:"[^"]*"|[-\w$.]+)'
_RESULT = re.compile(rf"({NAME}) = (.*)", re.DOTALL)
_FIELDS = re.compile(r"(\w+): (\"[^\"]*\"|[^,()]+)")
_DEBUG = re.compile(r", !dbg !(\d+)")
_TRAILER = re.compile(r"(?:, ![\w.]+ !\d+|, !srcloc !\d+| #\d+)+$")
_FLAGS = re.compile(
    r"(?:(?:nsw|nuw|nneg|exact|disjoint|samesign|fast|nnan|ninf|nsz|arcp|contract|afn|reassoc|inbounds|nusw|volatile"
    r"|inrange\([^)]*\)|captures\([^)]*\)) )+"
)
_ATTRIBUTES = re.compile(
    r"(?:(?:noundef|nonnull|nocapture|readonly|readnone|writeonly|signext|zeroext|inreg|returned|immarg|noalias|nofree"
    r"|dead_on_unwind|writable|align \d+|dereferenceable(?:_or_null)?\(\d+\)|captures\([^)]*\)|sret\([^)]*\)"
    r"|byval\([^)]*\)|range\([^)]*\)|initializes\(.*?\)\)|nofpclass\([^)]*\)|dead_on_return(?:\(\d+\))?) )+"
)
_CALL_WORDS = re.compile(r"(?:(?:fastcc|coldcc|ccc|nnan|ninf|nsz|arcp|contract|afn|reassoc|fast) )*")
_ARRAY = re.compile(r"\[(\d+) x (.*)\]", re.DOTALL)
_LABEL = re.compile(r"label %(\"[^\"]*\"|[-\w$.]+)")
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2})")

BYTES = {"ptr": 8, "double": 8, "float": 4, "half": 2, "bfloat": 2}
NOTHING = ("undef", "poison", "zeroinitializer", "null")


class Operand(NamedTuple):
    """A value with its type, both as they are written."""

    type: str
    text: str


class Frame(NamedTuple):
    """A place in a source: of an instruction, or of a call that was put in line around it."""

    file: str
    line: int
    column: int
    function: str


@dataclass(slots=True)
class Instruction:
    """One instruction: its operation, what it is of, and its operands.

    ``type`` is that of the result; of a cast the one it is cast to, of a store that of what is stored, of
    ``getelementptr`` what it counts in. ``word``: the predicate of a comparison, the function of a call.
    ``labels``: of a branch, where it leads; of a phi, where each operand comes from. ``cases``: of a switch.
    """

    op: str
    result: str
    type: str
    operands: list[Operand]
    word: str = ""
    labels: list[str] = field(default_factory=list)
    cases: list[int] = field(default_factory=list)
    debug: int | None = None


@dataclass(slots=True)
class Function:
    """A function with its blocks by label, the entry first."""

    name: str
    params: list[Operand]
    blocks: dict[str, list[Instruction]] = field(default_factory=dict)
    debug: int | None = None

    def order(self) -> list[str]:
        """The labels of the blocks that can be reached, each before those that it leads to but for loops."""
        first = next(iter(self.blocks))
        seen, out = {first}, []
        pending = [(first, iter(self.blocks[first][-1].labels))]
        while pending:
            label, following = pending[-1]
            new = next((each for each in following if each not in seen), None)
            if new is None:
                out.append(label)
                pending.pop()
            else:
                seen.add(new)
                pending.append((new, iter(self.blocks[new][-1].labels)))
        return out[::-1]


def split(text: str) -> list[str]:
    """The parts of a text between its outermost commas."""
    out, depth, first, quoted = [], 0, 0, False
    for k, letter in enumerate(text):
        if letter == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif letter in "([{<":
            depth += 1
        elif letter in ")]}>":
            depth -= 1
        elif letter == "," and not depth:
            out.append(text[first:k].strip())
            first = k + 1
    last = text[first:].strip()
    return [*out, last] if last else out


def typed(text: str) -> tuple[str, str]:
    """The type at the beginning of a text, and the rest."""
    text = text.strip()
    if text[:1] in ("[", "{", "<"):
        depth = 0
        for k, letter in enumerate(text):
            depth += (letter in "[{<") - (letter in "]}>")
            if not depth:
                return text[: k + 1], text[k + 1 :].strip()
    found = re.match(r'%"[^"]*"|[%\w.$-]+', text)
    return (found[0], text[found.end() :].strip()) if found else ("", text)


def operand(text: str) -> Operand:
    """A value of a type, without the attributes that stand between."""
    type, rest = typed(text)
    return Operand(type, _ATTRIBUTES.sub("", f"{rest} ", count=1).strip())


def is_integer(type: str) -> bool:
    """True for ``i32`` and the like."""
    return type[:1] == "i" and type[1:].isdecimal()


class Module:
    """The functions of a text that have bodies, its globals, and its debug places."""

    def __init__(self, text: str) -> None:
        self.functions: dict[str, Function] = {}
        self.globals: dict[str, str] = {}
        self.types: dict[str, str] = {}
        self._meta: dict[int, str] = {}
        self._read: dict[int, dict[str, str]] = {}  # nodes that have been asked for
        self._places: dict[int, tuple[Frame, ...]] = {}
        self._flat: dict[str, list[tuple[int, Operand]]] = {}
        lines = iter(text.split("\n"))
        for line in lines:
            if line.startswith("define"):
                self._function(line, lines)
            elif line.startswith("@"):
                name, _, rest = line.partition(" = ")
                self.globals[name[1:].strip('"')] = rest
            elif line.startswith("%") and " = type " in line:
                name, _, rest = line.partition(" = type ")
                self.types[name] = rest
            elif line.startswith("!") and line[1:2].isdecimal():
                number, _, rest = line.partition(" = ")
                self._meta[int(number[1:])] = rest

    @cached_property
    def kernels(self) -> list[str]:
        """Names of the functions that are annotated as kernels, in the order of the text."""
        annotated = set(re.findall(r"@([-\w$.]+)", self.globals.get("llvm.global.annotations", "")))
        return [name for name in self.functions if name in annotated]

    def _function(self, head: str, lines: Iterator[str]) -> None:
        named = re.search(r' @("[^"]*"|[-\w$.]+)\(', head)
        assert named is not None
        inside = _bracketed(head, named.end())
        function = Function(named[1].strip('"'), [operand(part) for part in split(inside)])
        function.params = [Operand(p.type, p.text or f"%{k}") for k, p in enumerate(function.params)]
        debug = re.search(r"!dbg !(\d+)", head)
        function.debug = int(debug[1]) if debug else None
        unnamed = sum(p.text[1:].isdecimal() for p in function.params)
        block = function.blocks[str(unnamed)] = []
        for line in lines:
            if line.startswith("}"):
                break
            line, comment = line.strip(), line.lstrip()[:1]
            if not line or comment in (";", "#"):
                continue
            label = re.match(r'("[^"]*"|[-\w$.]+):', line)
            if label:
                if not block and len(function.blocks) == 1:
                    function.blocks.clear()
                block = function.blocks[label[1].strip('"')] = []
                continue
            while line.startswith("switch") and "]" not in line:
                line += " " + next(lines).strip()
            block.append(_instruction(line))
        self.functions[function.name] = function

    # --- places

    def _fields(self, number: int) -> dict[str, str]:
        found = self._read.get(number)
        if found is None:
            found = self._read[number] = dict(_FIELDS.findall(self._meta.get(number, "")))
        return found

    def _up(self, number: int, wanted: str, *ways: str) -> str:
        """A field of a node, or of the nearest one above it that has it."""
        for _ in range(40):
            fields = self._fields(number)
            if wanted in fields:
                return fields[wanted].strip('"')
            above = next((fields[way] for way in ways if fields.get(way, "")[:1] == "!"), None)
            if above is None:
                break
            number = int(above[1:])
        return ""

    def _file(self, number: int) -> str:
        """The file of a scope; clang names those below its own folder as seen from there."""
        name = self._up(number, "filename", "file", "scope")
        return posixpath.join(self._up(number, "directory", "file", "scope"), name) if name else ""

    def place(self, debug: int | None) -> tuple[Frame, ...]:
        """Where an instruction is written, and the calls around it that were put in line; the innermost first."""
        if debug is None:
            return ()
        if debug not in self._places:
            fields = self._fields(debug)
            out: tuple[Frame, ...] = ()
            if "line" in fields and "scope" in fields:
                scope = int(fields["scope"][1:])
                name = self._up(scope, "name", "scope")
                own = Frame(self._file(scope), int(fields["line"]), int(fields.get("column", "0")), name)
                around = fields.get("inlinedAt", "")
                out = (own, *(self.place(int(around[1:])) if around[:1] == "!" else ()))
            self._places[debug] = out
        return self._places[debug]

    def begin(self, function: Function) -> Frame:
        """Where a function is written."""
        if function.debug is None:
            return Frame("", 0, 0, function.name)
        fields = self._fields(function.debug)
        return Frame(
            self._file(function.debug), int(fields.get("line", "0")), 1, fields.get("name", function.name).strip('"')
        )

    # --- types

    def size(self, type: str) -> int:
        """Bytes of a type."""
        type = self.types.get(type, type)
        if is_integer(type):
            return max(1, (int(type[1:]) + 7) // 8)
        if type in BYTES:
            return BYTES[type]
        array = _ARRAY.fullmatch(type)
        if array:
            return int(array[1]) * self.size(array[2])
        parts, packed = _members(type)
        at = 0
        for part in parts:
            at = _up_to(at, 1 if packed else self._align(part)) + self.size(part)
        return _up_to(at, self._align(type))

    def _align(self, type: str) -> int:
        type = self.types.get(type, type)
        array = _ARRAY.fullmatch(type)
        if array:
            return self._align(array[2])
        if type[:1] in "{<":
            parts, packed = _members(type)
            return 1 if packed else max((self._align(part) for part in parts), default=1)
        return min(8, self.size(type))

    def element(self, type: str, k: int) -> tuple[int, str]:
        """Byte offset and type of element k of an array or structure."""
        type = self.types.get(type, type)
        array = _ARRAY.fullmatch(type)
        if array:
            return k * self.size(array[2]), array[2]
        parts, packed = _members(type)
        at = 0
        for part in parts[: k + 1]:
            at = _up_to(at, 1 if packed else self._align(part))
            last, at = at, at + self.size(part)
        return last, parts[k]

    def item(self, type: str) -> str:
        """The type of the elements of an array."""
        array = _ARRAY.fullmatch(self.types.get(type, type))
        return array[2] if array else ""

    def leaves(self, type: str, at: int = 0) -> Iterator[tuple[int, int]]:
        """The numbers in a type: byte offset and size of each."""
        type = self.types.get(type, type)
        array = _ARRAY.fullmatch(type)
        if array is None and type[:1] not in "{<":
            yield at, self.size(type)
            return
        count = int(array[1]) if array else len(_members(type)[0])
        for k in range(count):
            offset, part = self.element(type, k)
            yield from self.leaves(part, at + offset)

    # --- constants

    def value_of(self, name: str) -> Operand:
        """The type of a global, and what it is set to at the beginning."""
        stated = re.search(r"\b(?:global|constant) (.*)", self.globals[name])
        parts = split(stated[1]) if stated else [""]
        return Operand(*typed(parts[0]))

    def numbers(self, name: str) -> list[tuple[int, Operand]]:
        """The numbers in a global that are not zero, with their byte offsets."""
        if name not in self._flat:
            self._flat[name] = []
            self._collect(self.value_of(name), 0, self._flat[name])
        return self._flat[name]

    def _collect(self, value: Operand, at: int, out: list[tuple[int, Operand]]) -> None:
        if value.text in NOTHING or not value.text:
            return
        if value.text.startswith('c"'):
            raw = _ESCAPE.sub(lambda m: chr(int(m[1], 16)), value.text[2 : value.text.rindex('"')])
            out += [(at + k, Operand("i8", str(ord(letter)))) for k, letter in enumerate(raw) if letter != "\0"]
        elif value.text[0] in "[{<":
            packed = value.text.startswith("<{")
            for k, part in enumerate(split(value.text[2:-2] if packed else value.text[1:-1])):
                self._collect(operand(part), at + self.element(value.type, k)[0], out)
        else:
            out.append((at, value))

    def text(self, name: str) -> str:
        """A global of characters, up to its first zero."""
        out: list[str] = []
        for at, value in self.numbers(name):
            if at != len(out):
                break
            out.append(chr(int(value.text)))
        return "".join(out)


def _up_to(at: int, align: int) -> int:
    return -(-at // align) * align


def _members(type: str) -> tuple[list[str], bool]:
    packed = type.startswith("<{")
    return split(type[2:-2] if packed else type[1:-1]), packed


def _bracketed(text: str, begin: int) -> str:
    """What stands in the brackets that open before `begin`."""
    depth, quoted = 1, False
    for k in range(begin, len(text)):
        letter = text[k]
        if letter == '"':
            quoted = not quoted
        elif not quoted:
            depth += (letter == "(") - (letter == ")")
            if not depth:
                return text[begin:k]
    return text[begin:]


def _instruction(line: str) -> Instruction:
    debug = _DEBUG.search(line)
    line = _TRAILER.sub("", line)
    result = ""
    named = _RESULT.match(line)
    if named:
        result, line = named[1], named[2]
    line = re.sub(r"^(?:tail|musttail|notail) ", "", line)
    op, _, rest = line.partition(" ")
    made = Instruction(op, result, "", [], debug=int(debug[1]) if debug else None)
    _READERS.get(op, _plain)(made, _FLAGS.sub("", rest, count=1) if rest[:1].isalpha() else rest)
    return made


def _plain(made: Instruction, rest: str) -> None:
    """``T a, b``: arithmetic, and whatever is read for its name only."""
    parts = split(rest)
    if not parts:
        return
    first = operand(parts[0])
    made.type = first.type
    made.operands = [first, *(Operand(first.type, part) for part in parts[1:])]


def _compare(made: Instruction, rest: str) -> None:
    made.word, _, rest = _FLAGS.sub("", rest).partition(" ")
    _plain(made, _FLAGS.sub("", rest))


def _cast(made: Instruction, rest: str) -> None:
    source, _, made.type = rest.rpartition(" to ")
    made.operands = [operand(source)]


def _typed_list(made: Instruction, rest: str) -> None:
    """``T a, U b, V c``; of getelementptr the first type alone."""
    parts = split(rest)
    if made.op == "getelementptr":
        made.type, parts = parts[0], parts[1:]
    made.operands = [operand(part) for part in parts]
    if made.op == "select":
        made.type = made.operands[1].type


def _load(made: Instruction, rest: str) -> None:
    parts = split(rest.removeprefix("atomic "))
    made.type, made.operands = _FLAGS.sub("", parts[0] + " ").strip(), [operand(parts[1])]


def _store(made: Instruction, rest: str) -> None:
    parts = split(rest.removeprefix("atomic "))
    made.operands = [operand(parts[0]), operand(parts[1])]
    made.type = made.operands[0].type


def _phi(made: Instruction, rest: str) -> None:
    made.type, rest = typed(rest)
    for part in split(rest):
        value, label = split(part.strip()[1:-1])
        made.operands.append(Operand(made.type, value))
        made.labels.append(label[1:].strip('"'))


def _branch(made: Instruction, rest: str) -> None:
    made.labels = [label.strip('"') for label in _LABEL.findall(rest)]
    if len(made.labels) == 2:
        made.operands = [operand(split(rest)[0])]


def _switch(made: Instruction, rest: str) -> None:
    head, _, cases = rest.partition("[")
    made.operands = [operand(split(head)[0])]
    made.labels = [label.strip('"') for label in _LABEL.findall(rest)]
    made.cases = [int(n) for n in re.findall(r"\w+ (-?\d+), label", cases)]


def _returned(made: Instruction, rest: str) -> None:
    if rest != "void":
        made.operands = [operand(rest)]


def _call(made: Instruction, rest: str) -> None:
    rest = _CALL_WORDS.sub("", rest, count=1)
    rest = _ATTRIBUTES.sub("", rest, count=1)
    made.type, rest = typed(rest)
    if re.match(r"(?:\([^)]*\) )?asm ", rest):
        made.op, made.word = "asm", rest
        return
    callee = re.search(r"([%@](?:\"[^\"]*\"|[-\w$.]+))\(", rest)
    if callee is None:
        return
    made.word = callee[1].replace('"', "")
    made.operands = [operand(part) for part in split(_bracketed(rest, callee.end()))]


_READERS = {
    **dict.fromkeys(("icmp", "fcmp"), _compare),
    **dict.fromkeys(
        "trunc zext sext fptrunc fpext fptoui fptosi uitofp sitofp ptrtoint inttoptr bitcast addrspacecast".split(),
        _cast,
    ),
    **dict.fromkeys(("select", "getelementptr", "extractvalue", "insertvalue"), _typed_list),
    "load": _load,
    "store": _store,
    "phi": _phi,
    "br": _branch,
    "switch": _switch,
    "ret": _returned,
    "call": _call,
}


def float_of(text: str, type: str) -> float:
    """A float as it is written: decimal, or hexadecimal with the bits of a double, or of a half (``0xH``)."""
    if text in NOTHING:
        return 0.0
    if not text.startswith("0x"):
        return float(text)
    kind, digits = (text[2], text[3:]) if text[2] in "HRKLM" else ("", text[2:])
    if kind == "H":
        return float(struct.unpack(">e", bytes.fromhex(digits))[0])
    if kind == "R":
        return float(struct.unpack(">f", bytes.fromhex(digits + "0000"))[0])
    return float(struct.unpack(">d", bytes.fromhex(digits))[0])
