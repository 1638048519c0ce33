"""The host programs of golden suites, read for their files, buffers and launches; they are never compiled."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field

_BUFFER = r"(?:\([^)]*\)\s*)?&?(\w+(?:\[\d+\])?)"
_READ = re.compile(rf'(?:ReadFile\(\s*"([^"]+)"\s*,[^,]+,|readExact\(\s*"([^"]+)"\s*,)\s*{_BUFFER}')
_WRITE = re.compile(rf'[wW]rite(?:File|Exact)\(\s*"([^"]+)"\s*,\s*{_BUFFER}')
_COPY = re.compile(
    r"aclrtMemcpy\(\s*(\w+(?:\[\d+\])?)\s*,[^;]*?,\s*(\w+(?:\[\d+\])?)\s*,"
    r"[^;]*?ACL_MEMCPY_(HOST_TO_DEVICE|DEVICE_TO_HOST)"
)
_SAME = re.compile(r"std::memcpy\(\s*(\w+)\s*,\s*(\w+)\s*,")
_ROOM = re.compile(
    r"aclrtMalloc\(\s*(?:\([^)]*\)|reinterpret_cast<[^>]*>)?\s*\(?&(\w+(?:\[\d+\])?)\)?\s*,\s*([^;]*?),\s*ACL_MEM"
)
_CONSTANT = re.compile(r"(?:constexpr|const)\s+\w+(?:\s+\w+)?\s+(\w+)\s*=\s*([^;]+);|size_t\s+(\w+)\s*=\s*([^;]+);")
_CASE = re.compile(r"case\s+(\d+)\s*:\s*\w+\s*=\s*(\w+)\s*;")
_LIST = re.compile(r"const char\s*\*\s*(?:const\s+)?(\w+)\[\w*\]\s*=\s*\{([^}]*)\};")
_NUMBERS = re.compile(r"(\w+)\[\w*\]\s*=\s*\{([\d\s,]+)\};")
_LOOP = re.compile(r"for\s*\(\s*\w+\s+(\w+)\s*=\s*(\w+)\s*;\s*\1\s*<\s*(\w+)\s*;[^)]*\)\s*\{")
_EACH = re.compile(r"for\s*\(\s*\w+\s+(\w+)\s*:\s*(\w+)\s*\)\s*\{(?:\s*size_t\s+(\w+)\s*=\s*\1\s*;)?")
_PATH = re.compile(r'std::snprintf\(\s*(\w+)\s*,[^,]*,\s*"([^"%]*)%\w*([^"%]*)"\s*,\s*(\d+)(?:\s*\+\s*(\d+))?\s*\);')
_SETUP = re.compile(r'(\w+)\.setup\(\s*"([^"]+)"\s*,\s*([^;]+)\);')
_OPENED = re.compile(r'fopen\(\s*"([^"]+)"\s*,\s*"wb"\).*?fwrite\(\s*(\w+)\s*,', re.DOTALL)
_FILLED = re.compile(r"\b(\w+)\[\w+\]\s*=\s*(-?\d+)\s*;")
_LAUNCH = re.compile(r"\b(Launch\w+)\(([^;]*?)\);", re.DOTALL)
_CAST = re.compile(r"(?:reinterpret|static)_cast<[^>]*>|^\([^)]*\)")
_SIZES = {"float": 4, "int": 4, "half": 2, "double": 8, "char": 1}
_TYPE = re.compile(r"sizeof\(\s*(\w+)\s*\)")


class NotReplayedError(Exception):
    """The host program does something that this tool does not read."""


@dataclass
class Host:
    """What the host program does: files by host buffer, host buffers by device buffer, launches, files written."""

    constants: dict[str, int] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    rooms: dict[str, int] = field(default_factory=dict)
    back: dict[str, str] = field(default_factory=dict)
    written: list[tuple[str, str]] = field(default_factory=list)
    launches: list[tuple[str, list[str]]] = field(default_factory=list)
    filled: dict[str, int] = field(default_factory=dict)


def number(text: str, known: dict[str, int]) -> int:
    """Value of an expression of the host program. Raises `NotReplayedError`."""

    def size(found: re.Match[str]) -> str:
        bits = re.search(r"\d+", found[1])
        return str(_SIZES.get(found[1], int(bits[0]) // 8 if bits else 0))

    plain = re.sub(r"(?<=\d)[uUlLzZ]+\b", "", _TYPE.sub(size, text)).replace("static_cast<size_t>", "")
    plain = re.sub(r"\b[A-Za-z_]\w*\b", lambda m: str(known.get(m[0], m[0])), plain)
    if not re.fullmatch(r"[\d\s+*/()-]+", plain):
        raise NotReplayedError(f"size {text.strip()}")
    return int(eval(plain.replace("/", "//"), {"__builtins__": {}}))


def read_host(text: str) -> Host:
    """The host program's files and launches."""
    text = re.sub(r"//[^\n]*", "", text)
    host = Host()
    known = host.constants
    for a, b, c, d in _CONSTANT.findall(text):
        with contextlib.suppress(NotReplayedError):
            known[a or c] = number(b or d, known)
    text = text[text.index("int main") :]
    host.filled = {buffer: int(value) for buffer, value in _FILLED.findall(text)}
    text = _unrolled(text, known)
    for name, other, buffer in _READ.findall(text):
        host.files.setdefault(buffer, name or other)
    for buffer, name, _ in _SETUP.findall(text):
        host.files[buffer], host.sources[f"{buffer}.device"] = name, buffer
        host.written.append((name, f"{buffer}.device"))
    for copy, original in _SAME.findall(text):
        if original in host.files:
            host.files.setdefault(copy, host.files[original])
    for dst, src, way in _COPY.findall(text):
        if way == "HOST_TO_DEVICE":
            host.sources[dst] = src
        else:
            host.back[dst] = src
    for buffer, size in _ROOM.findall(text):
        with contextlib.suppress(NotReplayedError):
            host.rooms[buffer] = number(size, known)
    host.written += _OPENED.findall(text)
    host.written += [(name, buffer) for name, buffer in _WRITE.findall(text) if "%" not in name]
    for loop in text.split("for (int ")[1:]:
        pattern = next(iter(re.findall(r'snprintf\([^"]*"([^"]+)"', loop)), "")
        for case, buffer in _CASE.findall(loop):
            host.files.setdefault(buffer, pattern.replace("%d", case))
            if "WriteFile(" in loop:
                host.written.append((pattern.replace("%d", case), buffer))
    for name, args in _LAUNCH.findall(text):
        host.launches.append((name, [_CAST.sub("", a.strip()).strip("() ") for a in args.split(",")][:-1]))
    if not host.launches:
        raise NotReplayedError("no launch")
    return host


def _unrolled(text: str, known: dict[str, int]) -> str:
    """Loops over arrays of buffers written out, with names of files and sizes in place of arrays of them."""
    lists = {name: [f'"{n}"' for n in re.findall(r'"([^"]*)"', items)] for name, items in _LIST.findall(text)}
    lists |= {name: re.findall(r"\d+", items) for name, items in _NUMBERS.findall(text)}
    for loop in (_EACH, _LOOP):
        found = loop.search(text)
        while found is not None:
            variable, first, last = found.groups()
            end, depth = found.end(), 1
            while depth:
                depth += {"{": 1, "}": -1}.get(text[end], 0)
                end += 1
            span: list[int] = []
            if loop is _EACH:
                variable, span = last or variable, [int(k) for k in lists.get(first, ())]
            else:
                with contextlib.suppress(NotReplayedError):
                    span = list(range(number(first, known), number(last, known)))
            turns = [_turn(text[found.end() : end - 1], variable, turn, lists) for turn in span]
            text = text[: found.start()] + "".join(turns) + text[end:]
            found = loop.search(text, found.start())
    return text


def _turn(body: str, variable: str, turn: int, lists: dict[str, list[str]]) -> str:
    """A turn of such a loop."""
    body = re.sub(rf"\[\s*{variable}\s*\]", f"[{turn}]", body)
    for name, items in lists.items():
        if turn < len(items):
            body = body.replace(f"{name}[{turn}]", items[turn])
    body = re.sub(rf",\s*{variable}\b", f", {turn}", body)
    for variable, before, behind, place, more in _PATH.findall(body):
        body = re.sub(rf"\(\s*{variable}\s*,", f'("{before}{int(place) + int(more or 0)}{behind}",', body)
    return body


Launch = tuple[str, str, list[str]]
"""The kernel, the number of blocks as an expression, the arguments."""


def launches(text: str, name: str) -> tuple[list[str], str, list[Launch]]:
    """Of a launch function: its parameters, what it computes before, and its launches in order."""
    m = re.search(rf"void {name}\(([^)]*)\)\s*\{{(.*?)\n\}}", text, re.DOTALL)
    found = [] if m is None else re.findall(r"(\w+)\s*<<<\s*([^,>]+)\s*,[^>]*>>>\s*\((.*?)\);", m[2], re.DOTALL)
    if m is None or not found:
        raise NotReplayedError(f"launch function {name}")
    parameters = [re.split(r"[\s*]+", p.strip())[-1] for p in m[1].split(",")]
    split = [[re.sub(r"^\([^)]*\)\s*", "", a.strip()) for a in args.split(",") if a.strip()] for _, _, args in found]
    return parameters, m[2], [(kernel, blocks, args) for (kernel, blocks, _), args in zip(found, split)]
