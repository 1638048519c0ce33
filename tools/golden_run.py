"""Statements of host programs of golden suites."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from golden_expressions import Expressions
from golden_words import QUALIFIERS, SIZES, SLACK, Leave, Pointer, as_bytes, closing, size_of, split

if TYPE_CHECKING:
    from golden_program import Program


class Run(Expressions):
    """Carries out the statements of one function."""

    def block(self, words: list[str]) -> None:
        """Every statement of a body."""
        k = 0
        while k < len(words):
            try:
                k = self.statement(words, k)
            except Leave as leave:
                if not leave.how.startswith("goto "):
                    raise
                k = words.index(leave.how[5:]) if leave.how[5:] in words else _raise(leave)
                while words[k + 1] != ":":
                    k = words.index(leave.how[5:], k + 1)

    def statement(self, words: list[str], k: int) -> int:
        """One statement; where the next begins."""
        word = words[k]
        if word == "{":
            end = closing(words, k)
            self.block(words[k + 1 : end])
            return end + 1
        if word == ";":
            return k + 1
        if re.match(r"[A-Za-z_]\w*$", word) and words[k + 1 : k + 2] == [":"]:
            return k + 2
        if word == "if":
            return self._if(words, k)
        if word in ("for", "while"):
            return self._loop(words, k)
        if word == "switch":
            return self._switch(words, k)
        macro = self.program.macros.get(word)
        if macro is not None and macro[0] is not None and words[k + 1] == "(":
            end = closing(words, k + 1)
            given = split(words[k + 2 : end])
            self.value(given[0])  # macros check what an operation returns
            return end + 2 if words[end + 1 : end + 2] == [";"] else end + 1
        end = k
        while words[end] != ";":
            end = closing(words, end) + 1 if words[end] in "([{" else end + 1
        self.simple(words[k:end])
        return end + 1

    def simple(self, words: list[str]) -> None:
        """A statement without parts."""
        if words[0] == "return":
            raise Leave("return", self.value(words[1:]) if words[1:] else None)
        if words[0] in ("break", "continue"):
            raise Leave(words[0])
        if words[0] == "goto":
            raise Leave(f"goto {words[1]}")
        if "<<<" in words:
            self._launch(words)
        elif words[0] not in ("using", "typedef", "delete"):
            if _declares(words, self.program):
                self.declaration(words)
            else:
                self.value(words)

    def _if(self, words: list[str], k: int) -> int:
        end = closing(words, k + 1)
        condition = words[k + 2 : end]
        if _declares(condition, self.program):
            self.declaration(condition)
            name = condition[condition.index("=") - 1]
            holds = self.scope[name]
        else:
            holds = self.value(condition)
        then = end + 1
        after = self.skip(words, then)
        if holds:
            self.statement(words, then)
        if words[after : after + 1] == ["else"]:
            if not holds:
                self.statement(words, after + 1)
            return self.skip(words, after + 1)
        return after

    def skip(self, words: list[str], k: int) -> int:
        """Where a statement ends that is not carried out."""
        if words[k] == "{":
            return closing(words, k) + 1
        if words[k] in ("if", "for", "while", "switch"):
            after = self.skip(words, closing(words, k + 1) + 1)
            return self.skip(words, after + 1) if words[k] == "if" and words[after : after + 1] == ["else"] else after
        while words[k] != ";":
            k = closing(words, k) + 1 if words[k] in "([{" else k + 1
        return k + 1

    def _loop(self, words: list[str], k: int) -> int:
        end = closing(words, k + 1)
        head, after = words[k + 2 : end], self.skip(words, end + 1)
        if words[k] == "for" and ";" not in head:
            at = head.index(":")
            for item in self.value(head[at + 1 :]):
                self.scope[head[at - 1]] = item
                if self._turn(words, end + 1):
                    break
            return after
        first, condition, step = [], head, []
        if words[k] == "for":
            one = head.index(";")
            two = head.index(";", one + 1)
            first, condition, step = head[:one], head[one + 1 : two], head[two + 1 :]
            self.simple(first)
        while not condition or self.value(condition):
            if self._turn(words, end + 1):
                break
            if step:
                for part in split(step):
                    self.value(part)
        return after

    def _turn(self, words: list[str], k: int) -> bool:
        try:
            self.statement(words, k)
        except Leave as leave:
            if leave.how == "break":
                return True
            if leave.how != "continue":
                raise
        return False

    def _switch(self, words: list[str], k: int) -> int:
        end = closing(words, k + 1)
        chosen, start, last = self.value(words[k + 2 : end]), end + 2, closing(words, end + 1)
        at = start
        found = None
        while at < last:
            if words[at] == "case" and found is None:
                colon = words.index(":", at)
                found = colon + 1 if self.value(words[at + 1 : colon]) == chosen else None
            elif words[at] == "default" and found is None and not any(w == "case" for w in words[at:last]):
                found = at + 2
            at += 1
        k = last if found is None else found
        while k < last:
            if words[k] in ("case", "default"):
                k = words.index(":", k) + 1
                continue
            try:
                k = self.statement(words, k)
            except Leave as leave:
                if leave.how == "break":
                    break
                raise
        return last + 1

    def declaration(self, words: list[str]) -> None:
        """``type a = x, *b = y``, arrays and objects made by a call among them."""
        parts = split(words)
        kind = ""
        for number, part in enumerate(parts):
            at = next((k for k, w in enumerate(part) if w in ("=", "(", "[", "{")), len(part))
            name, given = part[at - 1], part[at:]
            if number == 0:
                kind = "".join(w for w in part[: at - 1] if w not in QUALIFIERS and w not in ("*", "&"))
            pointer = "*" in part[: at - 1]
            self.kinds[name] = f"{kind}*" if pointer else kind
            count = 0
            while given[:1] == ["["]:
                end = closing(given, 0)
                self.kinds[name] = f"{kind}[]"
                count = self.value(given[1:end]) if given[1:end] else 0
                if count and len(given) == end + 1:
                    size = 8 if pointer else size_of(kind)
                    zero: Any = [None] * count if pointer else Pointer(bytearray(count * size + SLACK), 0, kind)
                    self.scope[name] = zero
                given = given[end + 1 :]
            if given[:1] == ["="]:
                self.scope[name] = self.initial(kind, given[1:], array=self.kinds[name].endswith("[]"))
            elif given[:1] == ["{"]:
                self.scope[name] = self.initial(kind, given, array=self.kinds[name].endswith("[]"))
            if count and isinstance(self.scope.get(name), list):
                self.scope[name] += [0] * (count - len(self.scope[name]))
            if given[:1] == ["("]:
                args = [self.value(p) for p in split(given[1 : closing(given, 0)])]
                self.scope[name] = self.made(kind, args)
            elif not given and name not in self.scope:
                fields = () if pointer else self.program.structs.get(kind, ())
                self.scope[name] = dict.fromkeys("|".join(fields).split("|"), 0) if fields else self.made(kind, [])

    def made(self, kind: str, args: list[Any]) -> Any:
        """An object that a constructor makes."""
        if kind.endswith("ifstream"):
            path = self.program.folder / args[0]
            return Pointer(bytearray(path.read_bytes()), 0, "ifstream") if path.exists() else 0
        if "vector" in kind:
            element = kind[kind.index("<") + 1 : -1]
            size = size_of(element)
            memory = bytearray((args[0] if args else 0) * size + SLACK)
            pointer = Pointer(memory, 0, element)
            if len(args) > 1:
                pointer.store(as_bytes(element, args[1]) * args[0])
            return pointer
        return args[0] if args else 0

    def initial(self, kind: str, words: list[str], *, array: bool) -> Any:
        """The value behind ``=``."""
        if words[0] != "{":
            value = self.value(words)
            floats = kind in ("float", "double")
            return value if floats or not isinstance(value, float) else int(value)
        items = split(words[1 : closing(words, 0)])
        fields = self.program.structs.get(kind)
        if array:
            return [self.initial(kind, item, array=False) if fields else self.value(item) for item in items]
        if fields:
            found: dict[str, Any] = {}
            slots = iter(fields)
            for item in items:
                named = item[0] == "."
                slot = next((f for f in slots if not named or item[1] in f.split("|")), "")
                given = item[3:] if named else item
                value = self.initial("", given, array=True) if given[0] == "{" else self.value(given)
                found |= dict.fromkeys(slot.split("|"), value)
            return dict.fromkeys((name for f in fields for name in f.split("|")), 0) | found
        return self.value(items[0]) if items else 0

    def _launch(self, words: list[str]) -> None:
        at = words.index("<<<")
        end = words.index(">>>", at)
        blocks = self.value(split(words[at + 1 : end])[0])
        given = split(words[end + 2 : closing(words, end + 1)])
        args = []
        for part in given:
            name = part[-1] if re.match(r"\w+$", part[-1]) else ""
            value = self.value(part)
            args.append((self.kinds.get(name, "double" if isinstance(value, float) else "int64_t"), value))
        self.program.launch(words[at - 1], int(blocks), args)


def _raise(error: Exception) -> int:
    raise error


def _declares(words: list[str], program: Program) -> bool:
    plain = [w for w in words if w not in QUALIFIERS]
    if not plain or not re.match(r"[A-Za-z_]", plain[0]):
        return False
    if len(plain) != len(words):
        return True
    typed = (
        plain[0].endswith("_t")
        or plain[0] in SIZES
        or plain[0] in program.structs
        or plain[0] in ("void", "auto", "aclError")
    )
    typed = (
        typed
        or plain[0] in program.types
        or plain[0] in ("aclrtStream", "aclrtContext", "std::string", "std::FILE", "std::ifstream", "std::vector")
    )
    return typed and len(plain) > 1 and plain[1] not in ("=", ".", "(", "[")
