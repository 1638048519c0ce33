"""Host programs of golden suites, carried out statement by statement: the part of C++ they are written in.

They are read as text and never compiled. Memory is bytes; what the runtime of the device offers is in `golden_runtime`,
and a launch is handed to the caller. `NotReplayedError` says what is not understood.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from golden_run import Run
from golden_words import ALIASES, QUALIFIERS, Code, Leave, cast, closing, split, tokens


@dataclass
class Program:
    """A host program that has been read. ``launch(kernel, blocks, arguments)`` does what the device would."""

    launch: Callable[[str, int, list[tuple[str, Any]]], None]
    folder: Path = field(default_factory=Path)
    functions: dict[str, Code] = field(default_factory=dict)
    structs: dict[str, list[str]] = field(default_factory=dict)
    names: dict[str, Any] = field(default_factory=dict)
    macros: dict[str, tuple[list[str] | None, list[str]]] = field(default_factory=dict)
    types: set[str] = field(default_factory=set)  # names that the program gives to types
    methods: dict[str, Code] = field(default_factory=dict)

    def read(self, text: str) -> None:
        """Add a file's macros, structs, constants and functions."""
        text = text.replace("\\\r\n", " ").replace("\\\n", " ")
        for m in re.finditer(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\(([^)\n]*)\))?([^\n]*)$", text, re.M):
            params = None if m[2] is None else [p.strip() for p in m[3].split(",")]
            self.macros[m[1]] = (params, tokens(m[4]))
        self._top(tokens(re.sub(r"^[ \t]*#[^\n]*$", "", text, flags=re.M)))

    def _top(self, words: list[str]) -> None:
        k = 0
        while k < len(words):
            if words[k] == "extern" and words[k + 1 : k + 2] == ['"C"'] and words[k + 2] == "{":
                end = closing(words, k + 2)
                self._top(words[k + 3 : end])
                k = end + 1
            elif words[k] == "namespace":
                start = words.index("{", k)
                end = closing(words, start)
                self._top(words[start + 1 : end])
                k = end + 1
            elif words[k] == "struct" and words[k + 2] == "{":
                end = closing(words, k + 2)
                self._struct(words[k + 1], words[k + 3 : end])
                k = words.index(";", end) + 1
            else:
                k = self._one(words, k)

    def _struct(self, name: str, words: list[str]) -> None:
        """Fields and methods; what constructors do is left to who fills the fields."""
        self.structs[name] = []
        k = start = 0
        while k < len(words):
            if words[k] == "{" and words[start:k] == ["union"]:  # one field of several names
                end = closing(words, k)
                self.structs[name].append("|".join(n for f in split(words[k + 1 : end], ";") for n in _declared(f)))
                k = start = end + 2
            elif words[k] == "{" and ")" in words[start:k]:
                end, head = closing(words, k), words[start:k]
                at = head.index("(")
                params = [_param(p) for p in split(head[at + 1 : closing(head, at)])]
                if head[at - 1] != name:
                    self.methods[head[at - 1]] = Code(params, words[k + 1 : end])
                k = start = end + 1
            elif words[k] == ";":
                self.structs[name] += _declared(words[start:k]) if start < k else []
                k = start = k + 1
            else:
                k = closing(words, k) + 1 if words[k] in "({" else k + 1

    def _one(self, words: list[str], k: int) -> int:
        """A declaration or definition at the top; where it ends."""
        params, body = self.macros.get(words[k], (None, []))
        if params is not None:
            end = closing(words, k + 1)
            given = dict(zip(params, split(words[k + 2 : end])))
            self._top(_joined([word for w in body for word in given.get(w, [w])]))
            return end + 1
        if words[k] == "template":
            k = words.index(">", k) + 1
        start = k
        while k < len(words) and words[k] not in ("{", ";"):
            k = closing(words, k) + 1 if words[k] == "(" else k + 1
        if k >= len(words):
            return k
        if words[k] == ";" or "=" in words[start:k]:
            while words[k] != ";":
                k = closing(words, k) + 1 if words[k] in "({" else k + 1
            if words[start] in ("using", "typedef"):
                if words[start] == "using" and words[start + 2] == "=":
                    ALIASES[words[start + 1]] = "".join(words[start + 3 : k])
                self.types |= {w for w in words[start + 1 : k] if re.match(r"[A-Z]\w+$", w)}
            elif "=" in words[start:k]:
                Run(self, self.names).declaration(words[start:k])
            return k + 1
        head, end = words[start:k], closing(words, k)
        if "(" in head:
            at = head.index("(")
            self.define(head[at - 1], split(head[at + 1 : closing(head, at)]), words[k + 1 : end])
        return end + 1

    def define(self, name: str, params: list[list[str]], body: list[str]) -> None:
        """Add a function."""
        self.functions[name] = Code([_param(p) for p in params], body)

    def act_on(self, held: dict[str, Any], name: str, args: list[Any]) -> None:
        """Call a method of a struct."""
        code = self.methods[name]
        given = dict(zip([param for _, param in code.params], args))
        held |= given
        Run(self, held).block(code.body)
        for param in given:
            del held[param]

    def call(self, name: str, args: list[Any]) -> Any:
        """Call a function of the program."""
        code = self.functions[name]
        scope = {
            param: cast([kind[:-1], "*"], arg) if kind.endswith("*") else arg
            for (kind, param), arg in zip(code.params, args)
        }
        run = Run(self, scope)
        run.kinds = {param: kind for kind, param in code.params}
        try:
            run.block(code.body)
        except Leave as leave:
            return leave.value
        return None


def _joined(words: list[str]) -> list[str]:
    """The words of a macro; those with ``##`` between them are one."""
    out: list[str] = []
    k = 0
    while k < len(words):
        if words[k : k + 2] == ["#", "#"] and out:
            out[-1] += words[k + 2]
            k += 3
        else:
            out.append(words[k])
            k += 1
    return out


def _param(words: list[str]) -> tuple[str, str]:
    words = [w for w in words if w not in QUALIFIERS and w != "&"]
    words = words[: words.index("[")] if "[" in words else words
    if "(" in words:  # a pointer to a function
        return "void*", words[words.index("(") + 2]
    kind = "".join(w for w in words[:-1]) if len(words) > 1 else words[0]
    return kind, words[-1]


def _declared(words: list[str]) -> list[str]:
    """The names that a field of a struct declares."""
    if "(" in words:  # a pointer to a function
        at = words.index("(")
        return [words[at + 2]]
    return [
        [w for w in part if re.match(r"\w+$", w)][-1 if "[" not in part else part.index("[") - 1]
        for part in split(words)
    ]
