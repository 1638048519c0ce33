"""A position in the token stream, with errors that know their place."""

from __future__ import annotations

import re
from typing import NoReturn

from ptokit.diagnostics import Diagnostics, Location, Note
from ptokit.diagnostics.finding import suggest

from . import rules
from .lexer import EOF, Tokens

MAX_ERRORS = 1000
MAX_DEPTH = 200

_OPENING = {"(": ")", "[": "]", "{": "}"}
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*+"\Z', re.DOTALL)
_OPERATION = re.compile(r"(?:pto|arith|scf|func)\.[a-z]|return\Z", re.ASCII)
_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*')
_ALIAS = re.compile(r"#[A-Za-z_]\w*(?![\w.])")
_WANTED = re.compile(r"'([A-Za-z][\w.]*)'")
_new = tuple.__new__
_INTEGER = re.compile(r"-?(?:0x[0-9a-fA-F]+|\d+)\Z")


class OperationError(Exception):
    """The operation being read is given up; reading goes on after it."""


class LimitError(Exception):
    """Reading is given up."""


def _shown(message: str) -> str:
    """A message that quotes input: terminals and JSON take no control characters."""
    if not message.isprintable():
        message = message.encode("unicode_escape").decode("ascii")
    return message if len(message) <= 300 else message[:297] + "..."


class Cursor:
    """Reads tokens one after the other. `error` records a finding, `fail` also gives up the operation."""

    __slots__ = ("tokens", "texts", "i", "file", "diagnostics", "errors", "truncated", "unclosed", "aliases")

    def __init__(self, tokens: Tokens, file: str | None, diagnostics: Diagnostics) -> None:
        self.tokens = tokens
        self.texts = tokens.texts
        self.i = 0
        self.file = file
        self.diagnostics = diagnostics
        self.errors = 0
        self.truncated = False
        self.unclosed = False  # the brace of some region is missing
        self.aliases: dict[str, str] = {}

    def location(self, index: int | None = None, end: int | None = None) -> Location:
        """Place of a token (the current one if None), or of the tokens from `index` up to `end`, exclusive."""
        first = self.i if index is None else index
        place = self.tokens.place(first, first if end is None else max(first, end - 1))
        return _new(Location, (self.file, *place))  # past what gives fields their defaults: every operation has one

    def place(self, offset: int, length: int) -> Location:
        """Place of characters of the text."""
        line, column = self.tokens.position(offset)
        return Location(self.file, line, column, max(1, length))

    def error(
        self,
        rule: str,
        message: str,
        where: int | Location | None = None,
        *,
        hint: str | None = None,
        notes: tuple[Note, ...] = (),
    ) -> None:
        """Record an error at a token (the current one if None). Raises `LimitError` after the thousandth."""
        location = where if isinstance(where, Location) else self.location(where)
        self.diagnostics.error(rule, _shown(message), location, hint=hint, notes=notes)
        self.errors += 1
        if self.errors >= MAX_ERRORS:
            self.diagnostics.error(rules.LIMIT, f"stopped after {MAX_ERRORS} errors", location)
            raise LimitError

    def warning(self, rule: str, message: str, where: int, *, hint: str | None = None) -> None:
        """Record a warning at a token."""
        self.diagnostics.warning(rule, _shown(message), self.location(where), hint=hint)

    def fail(
        self, rule: str, message: str, where: int | Location | None = None, *, hint: str | None = None
    ) -> NoReturn:
        """Record an error and give up the operation."""
        self.error(rule, message, where, hint=hint)
        raise OperationError

    def stop(self, rule: str, message: str, where: int | None = None) -> NoReturn:
        """Record an error after which nothing sensible can be read, and give up the text."""
        self.error(rule, message, where)
        raise LimitError

    def found(self, index: int | None = None) -> str:
        """A token as messages name it."""
        token = self.texts[self.i if index is None else index]
        if token is EOF:
            return "the end of the file"
        return f"'{token}'" if len(token) <= 40 else f"'{token[:37]}...'"

    def unexpected(self, wanted: str, *, hint: str | None = None) -> NoReturn:
        """Fail at the current token, which is not what the grammar wants."""
        token = self.texts[self.i]
        self.check_string()
        if len(token) > 200 and not token[0].isalnum() and token[0] in "([{<":
            self.stop(rules.NESTING, f"brackets are nested more than {MAX_DEPTH} deep")
        if token[0] in "!#<" and self.texts[self.i + 1 : self.i + 2] and "<" in (token, self.texts[self.i + 1]):
            self.fail(rules.UNCLOSED, "'<' has no matching '>'")
        if not token.isascii() or token in "`~'\\;&@!":
            self.fail(rules.CHARACTER, f"stray {self.found()}: expected {wanted}")
        if hint is None and token[0].isalpha():
            hint = suggest(token, _WANTED.findall(wanted))
        self.fail(rules.UNEXPECTED, f"expected {wanted}, found {self.found()}", hint=hint)

    def check_string(self, index: int | None = None) -> None:
        """Fail (TEXT-STRING) if the token is a string that its line does not close."""
        token = self.texts[self.i if index is None else index]
        if token[0] == '"' and not is_string(token):
            self.fail(rules.STRING, "this string is not closed on its line", index)

    def expect(self, token: str) -> int:
        """Step over the given token and return its index."""
        if self.texts[self.i] != token:
            self.unexpected(f"'{token}'")
        self.i += 1
        return self.i - 1

    def accept(self, token: str) -> bool:
        """Step over the given token if it is there."""
        if self.texts[self.i] == token:
            self.i += 1
            return True
        return False

    def word(self, what: str) -> str:
        """Step over a bare word."""
        token = self.texts[self.i]
        if not (token[0].isalpha() or token[0] == "_") or token.endswith(">"):
            self.unexpected(what)
        self.i += 1
        return token

    def integer(self, what: str = "an integer") -> int:
        """Step over an integer of at most 64 bits."""
        token = self.texts[self.i]
        if not _INTEGER.match(token):
            self.unexpected(what)
        value = whole(token)
        if value is None:
            self.fail(rules.NUMBER, f"{self.found()} does not fit 64 bits")
        self.i += 1
        return value

    def closed(self, opening: int) -> None:
        """Step over the brace that closes a region. Of several that are not closed the innermost is reported."""
        if self.texts[self.i] == "}":
            self.i += 1
            return
        if not self.truncated:
            self.error(rules.UNCLOSED, "this '{' is not closed", opening)
        self.truncated = self.unclosed = True
        raise OperationError

    def skip_value(self) -> None:
        """Step over tokens up to a comma or closing bracket at this level: an attribute value of any kind."""
        stack: list[str] = []
        texts, i = self.texts, self.i
        while True:
            token = texts[i]
            if token is EOF:
                break
            if token in _OPENING:
                stack.append(_OPENING[token])
                if len(stack) > MAX_DEPTH:
                    self.stop(rules.NESTING, f"brackets are nested more than {MAX_DEPTH} deep", i)
            elif token in ")]}":
                if not stack:
                    break
                if token != stack.pop():
                    self.i = i
                    self.unexpected("a value")
            elif token == "," and not stack:
                break
            elif token[0] == "%" or (_OPERATION.match(token) and self.tokens.starts_line(i)):
                self.i = i  # no attribute holds a value or an operation: a bracket is missing
                self.unexpected(f"'{stack[-1]}'" if stack else "',' or a closing bracket")
            elif token in ("<", ">"):  # whole groups are one token
                self.i = i
                self.unexpected("a value")
            elif token[0] == '"':
                self.check_string(i)
            i += 1
        if stack:
            self.fail(rules.UNCLOSED, f"'{stack[-1]}' is missing")
        if i == self.i:
            self.unexpected("a value")
        self.i = i

    def expand(self, text: str) -> str:
        """Text of tokens with comments blanked and attribute aliases (``#name``) replaced by what they mean."""
        if "//" in text:
            text = _COMMENT.sub(lambda m: m[0] if m[0][0] == '"' else " " * len(m[0]), text)
        if not self.aliases or "#" not in text:
            return text
        return _ALIAS.sub(lambda m: self.aliases.get(m[0], m[0]), text)

    def span(self, first: int, end: int) -> str:
        """Text of the tokens from `first` up to `end`, exclusive; blanks and comments become one blank.

        Attribute aliases are expanded.
        """
        texts, tokens = self.texts, self.tokens
        out = [texts[first]] if first < end else []
        for k in range(first + 1, end):
            out.append(texts[k] if tokens.start(k) == tokens.ends[k - 1] else " " + texts[k])
        return self.expand("".join(out))


def is_string(text: str) -> bool:
    """True if the text is one string token."""
    return text[:1] == '"' and _STRING.match(text) is not None


def whole(text: str) -> int | None:
    """Value of an integer token, or None if it does not fit 64 bits."""
    if len(text) > 24:
        return None
    value = int(text, 0) if "x" in text else int(text)
    return value if -(1 << 63) <= value < (1 << 64) else None
