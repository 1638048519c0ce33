"""Launches, ``kernel<<<blocks, l2, stream>>>(arguments)``, as calls that any C++ compiler understands."""

from __future__ import annotations

_SPACE = " \t\n"


def rewritten(source: str) -> str:
    """A source with ``::ptokit::launch(kernel, blocks, l2, stream)(arguments)`` for its launches; lines stay."""
    source = source.replace("[aicore]", "        ")  # an attribute of the device's compiler
    at = source.rfind("<<<")
    while at >= 0:
        source = _launch(source, at)
        at = source.rfind("<<<", 0, at)
    return source


def _launch(source: str, at: int) -> str:
    close = source.find(">>>", at + 3)
    inside = source[at + 3 : close]
    if close < 0 or ";" in inside or "#" in inside or not source[close + 3 :].lstrip(_SPACE).startswith("("):
        return source
    begin = kernel_begin(source, at)
    kernel = source[begin:at]
    if not kernel.strip(_SPACE) or _in_comment(source, begin):
        return source
    given = arguments(inside)
    given += ["0"] * (3 - len(given))
    return f"{source[:begin]}::ptokit::launch({kernel}, {', '.join(given)}){source[close + 3 :]}"


def _in_comment(source: str, at: int) -> bool:
    line = source[source.rfind("\n", 0, at) + 1 : at]
    return "//" in line or line.lstrip(_SPACE).startswith(("#", "*", "/*"))


def kernel_begin(source: str, end: int) -> int:
    """Where the name before a launch begins: ``ns::kernel<int, 4>``."""
    at = _before_space(source, end)
    if at and source[at - 1] == ">":
        depth = 0
        while at:
            at -= 1
            depth += (source[at] == ">") - (source[at] == "<")
            if not depth:
                break
        at = _before_space(source, at)
    if at and source[at - 1] == ")":  # the name is made by a macro
        depth = 0
        while at:
            at -= 1
            depth += (source[at] == ")") - (source[at] == "(")
            if not depth:
                break
        at = _before_space(source, at)
    while at and (source[at - 1].isalnum() or source[at - 1] in "_:#"):
        at -= 1
    return at


def _before_space(source: str, at: int) -> int:
    while at and source[at - 1] in _SPACE:
        at -= 1
    return at


def arguments(text: str, closing: str = "") -> list[str]:
    """The arguments in a text, apart at its commas; ``closing``: up to the bracket that closes them."""
    out, depth, first, quoted = [], 0, 0, ""
    for k, letter in enumerate(text):
        if quoted:
            quoted = "" if letter == quoted and text[k - 1] != "\\" else quoted
        elif letter in "\"'":
            quoted = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            if not depth and letter == closing:
                text = text[:k]
                break
            depth -= 1
        elif letter == "," and not depth:
            out.append(text[first:k].strip())
            first = k + 1
    last = text[first:].strip()
    return [*out, last] if last else out
