"""Expressions of host programs of golden suites."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from golden_runtime import RUNTIME
from golden_words import (
    QUALIFIERS,
    SIZES,
    SLACK,
    NotReplayedError,
    Place,
    Pointer,
    as_bytes,
    as_number,
    cast,
    closing,
    opening,
    operation,
    size_of,
    split,
)

if TYPE_CHECKING:
    from golden_program import Program

LEVELS = ("||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")


class Expressions:
    """Evaluates expressions where variables have the values of `scope`."""

    def __init__(self, program: Program, scope: dict[str, Any]) -> None:
        self.program, self.scope = program, scope
        self.kinds: dict[str, str] = {}
        self.words: list[str] = []
        self.k = 0

    def value(self, words: list[str]) -> Any:
        """The value of an expression."""
        old = self.words, self.k
        self.words, self.k = words, 0
        result = self.assigned()
        if self.k != len(words):
            raise NotReplayedError(" ".join(words[:20]))
        self.words, self.k = old
        return result

    def peek(self, ahead: int = 0) -> str:
        """A word further on."""
        return self.words[self.k + ahead] if self.k + ahead < len(self.words) else ""

    def take(self, word: str = "") -> str:
        """The next word."""
        found = self.peek()
        if word and found != word:
            raise NotReplayedError(f"{word} in {' '.join(self.words[:20])}")
        self.k += 1
        return found

    def assigned(self) -> Any:
        """An assignment, or what stands in its place."""
        start = self.k
        value = self.chosen()
        sign = self.peek()
        if sign == "=" or (len(sign) == 2 and sign[1] == "=" and sign[0] in "+-*/|&"):
            target = self.words[start : self.k]
            self.take()
            given = self.assigned()
            return self.store(target, given if sign == "=" else operation(sign[0], value, given))
        return value

    def store(self, target: list[str], value: Any) -> Any:
        """Give a variable, a field or an element its value."""
        if len(target) == 1:
            scope = self.scope if target[0] in self.scope else self.program.names
            scope[target[0]] = value
        elif target[-1] == "]":
            start = len(target) - 1
            depth = 1
            while depth:
                start -= 1
                depth += (target[start] == "]") - (target[start] == "[")
            index, held = int(self.value(target[start + 1 : -1])), self.value(target[:start])
            if isinstance(held, Pointer):
                size = size_of(held.kind)
                Pointer(held.memory, held.at + index * size).store(as_bytes(held.kind, value))
            else:
                held[index] = value
        elif target[-2] in (".", "->"):
            self.value(target[:-2])[target[-1]] = value
        elif target[0] == "*":
            held = self.value(target[1:])
            held.store(as_bytes(held.kind, value))
        else:
            raise NotReplayedError(" ".join(target))
        return value

    def chosen(self) -> Any:
        """``a ? b : c``"""
        value = self.binary(0)
        if self.peek() != "?":
            return value
        self.take()
        yes = self.chosen()
        self.take(":")
        no = self.chosen()
        return yes if value else no

    def binary(self, level: int) -> Any:
        """Operations of two operands; ``&&`` and ``||`` skip what does not count."""
        if level == len(LEVELS):
            return self.unary()
        value = self.binary(level + 1)
        while self.peek() in LEVELS[level].split():
            sign = self.take()
            if (sign == "&&" and not value) or (sign == "||" and value):
                self.passed_over(level)
                value = bool(value)
                continue
            value = operation(sign, value, self.binary(level + 1))
        return value

    def passed_over(self, level: int) -> None:
        """Skip an operand that is not evaluated."""
        ends = {w for part in LEVELS[: level + 1] for w in part.split()} | {"?", ":", ",", "=", ""}
        while self.peek() not in ends and self.peek() not in (")", "]", "}"):
            self.k = closing(self.words, self.k) + 1 if self.peek() in "([{" else self.k + 1

    def unary(self) -> Any:
        """Signs, casts and addresses."""
        word = self.peek()
        if word in ("!", "-", "+", "~"):
            self.take()
            value = self.unary()
            return {"!": lambda: not value, "-": lambda: -value, "+": lambda: value, "~": lambda: ~int(value)}[word]()
        if word in ("++", "--"):
            self.take()
            start = self.k
            value = self.unary() + (1 if word == "++" else -1)
            return self.store(self.words[start : self.k], value)
        if word == "&":
            self.take()
            start = self.k
            value = self.unary()
            target = self.words[start : self.k]
            if target[-1] == "]":
                held = self.value(target[: opening(target)])
                index = int(self.value(target[opening(target) + 1 : -1]))
                if isinstance(held, Pointer):
                    return Pointer(held.memory, held.at + index * size_of(held.kind), held.kind)
                return Place({"held": held, "index": index}, "")
            if isinstance(value, Pointer) and self.kinds.get(target[0], "").endswith("[]"):
                return value
            name = target[-1]
            if target[-2:-1] in (["."], ["->"]):
                return Place(self.value(target[:-2]), name)
            if isinstance(value, dict):
                return value
            return Place(self.scope if name in self.scope else self.program.names, name, self.kinds.get(name, ""))
        if word == "*" or (word == "(" and self._is_cast()):
            if word == "*":
                self.take()
                held = self.unary()
                return as_number(held.kind, held.held(size_of(held.kind))) if isinstance(held, Pointer) else held
            end = closing(self.words, self.k)
            kind = self.words[self.k + 1 : end]
            self.k = end + 1
            return cast(kind, self.unary())
        return self.postfix()

    def _is_cast(self) -> bool:
        end = closing(self.words, self.k)
        inside, after = self.words[self.k + 1 : end], self.words[end + 1 : end + 2]
        if not after or after[0] in (
            ")",
            ",",
            "+",
            "-",
            "/",
            "?",
            ":",
            ";",
            "==",
            "!=",
            "<",
            ">",
            "]",
            ".",
            "->",
            "&&",
        ):
            return False
        if "(" in inside:
            return inside[-1] == ")" and "*" in inside  # a pointer to a function
        known = all(re.match(r"[A-Za-z_][\w:]*$|\*|&|const$|<|>", w) for w in inside)
        plain = [w for w in inside if w not in QUALIFIERS and w not in ("*", "&")]
        typed = "*" in inside or (
            plain
            and (
                plain[0] in self.program.types or plain[-1].endswith("_t") or plain[-1] in SIZES or plain[-1] == "void"
            )
        )
        return bool(known and typed) or inside == ["void"]

    def postfix(self) -> Any:
        """Names, numbers, texts, calls, elements and fields."""
        value = self.primary()
        if isinstance(value, str) and value in self.program.functions and self.peek() == "<":
            while self.peek() != "(":  # arguments of a template
                self.k += 1
        while self.peek() in ("[", ".", "->", "(", "++", "--"):
            word = self.take()
            if word == "[":
                end = closing(self.words, self.k - 1)
                index = int(self.value(self.words[self.k : end]))
                self.k = end + 1
                if isinstance(value, Pointer):
                    size = size_of(value.kind)
                    value = as_number(value.kind, bytes(value.memory[value.at + index * size :][:size]))
                else:
                    value = value[index]
            elif word in (".", "->"):
                name = self.take()
                value = self.method(value, name) if self.peek() == "(" else value[name]
            elif word == "(":
                self.k -= 1
                value = self.called(str(value))
            else:
                step = 1 if word == "++" else -1
                self.store(self.words[self.k - 2 : self.k - 1], value + step)
        return value

    def arguments(self) -> list[list[str]]:
        """The words of each argument behind the next bracket."""
        end = closing(self.words, self.k)
        parts = split(self.words[self.k + 1 : end])
        self.k = end + 1
        return parts

    def method(self, value: Any, name: str) -> Any:
        """A method of a text or a vector."""
        if isinstance(value, Pointer) and value.kind == "ifstream":
            given = [self.value(a) for a in self.arguments()]
            if name == "read":
                RUNTIME["memcpy"](self.program, given[0], value, given[1])
                value.at += given[1]
            return value
        if isinstance(value, dict) and name in value:
            return self.called(str(value[name]))
        if isinstance(value, dict):
            self.program.act_on(value, name, [self.value(a) for a in self.arguments()])
            return None
        args = [self.value(a) for a in self.arguments()]
        if name in ("c_str", "data", "string"):
            return value
        if name in ("size", "length"):
            return len(value) if isinstance(value, str | list) else (len(value.memory) - SLACK) // size_of(value.kind)
        raise NotReplayedError(f".{name}({args})")

    def primary(self) -> Any:
        """A name, a number, a text or an expression in brackets."""
        word = self.take()
        if word == "(":
            self.k -= 1
            (inner,) = self.arguments()
            return self.value(inner)
        if word == "[":  # of a function without a name; what is around it is not looked at
            self.k = closing(self.words, self.k - 1) + 1
            params, body = self.arguments(), closing(self.words, self.k)
            name = f"@{len(self.program.functions)}"
            self.program.define(name, params, self.words[self.k + 1 : body])
            self.k = body + 1
            return name
        if word[0] == '"':
            text = word[1:-1]
            while self.peek()[:1] == '"':
                text += self.take()[1:-1]
            return text.replace("\\n", "\n")
        if word[0] == "'":
            return ord(word[1:-1][-1])
        if word[0].isdigit() or word[0] == ".":
            plain = word if word[:2].lower() == "0x" else word.rstrip("fF")
            plain = plain.rstrip("uUlLzZ")
            if re.fullmatch(r"0[xX][0-9a-fA-F]+", plain):
                return int(plain, 16)
            if re.fullmatch(r"\d+", plain) and word[-1] not in "fF":
                return int(plain, 8 if re.fullmatch(r"0[0-7]+", plain) else 10)
            return float(plain)
        if word in ("static_cast", "reinterpret_cast", "const_cast"):
            start = self.k
            while self.peek() not in (">", ">>") or self.peek(1) != "(":
                self.k += 1
            kind = self.words[start + 1 : self.k]
            self.k += 1
            (inner,) = self.arguments()
            return cast(kind, self.value(inner))
        if word == "sizeof":
            (inner,) = self.arguments()
            name = "".join(w for w in inner if w not in QUALIFIERS)
            held = self.scope.get(name, self.program.names.get(name))
            if isinstance(held, list):
                return len(held)
            if isinstance(held, Pointer) and self.kinds.get(name, "").endswith("[]"):
                return len(held.memory) - SLACK
            if held is not None:
                return size_of(self.kinds.get(name, "size_t"))
            if inner[-1] == "]":
                return 1  # of an element, where that of its array counts elements
            return size_of(name)
        return self.named(word)

    def named(self, word: str) -> Any:
        """What a name stands for."""
        for scope in (self.scope, self.program.names):
            if word in scope:
                return scope[word]
        if word in ("nullptr", "NULL", "false", "ACL_SUCCESS", "ACL_MEMCPY_HOST_TO_DEVICE", "EOF"):
            return 0
        if word in ("true", "ACL_MEMCPY_DEVICE_TO_HOST") or word.startswith("ACL_"):
            return 1
        if word in ("INFINITY", "NAN"):
            return math.inf if word == "INFINITY" else math.nan
        macro = self.program.macros.get(word)
        if macro is not None and macro[0] is None and macro[1]:
            return self.value(macro[1])
        return word  # of a function

    def called(self, name: str) -> Any:
        """A call of a function."""
        parts = self.arguments()
        plain = name.split("::")[-1]
        if plain in self.program.functions:
            return self.program.call(plain, [self.value(p) for p in parts])
        if name in self.scope or plain in self.program.names:
            return self.program.call(str(self.named(name)), [self.value(p) for p in parts])
        if plain in ("printf", "fprintf", "puts", "perror"):
            return 0
        if plain not in RUNTIME:
            raise NotReplayedError(f"function {name}")
        values = [self.value(p) for p in parts]
        if plain == "ReadFile" and parts[1][0] in self.scope:  # taken by reference
            values[1] = self.value(["&", *parts[1]])
        return RUNTIME[plain](self.program, *values)
