"""The module and its functions in `.pto` text (assembly 2)."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ptokit.diagnostics import Diagnostics, Location, Note
from ptokit.diagnostics.finding import suggest
from ptokit.ir import Block, Function, Module, Op, Part, Value
from ptokit.ir.control import return_of, returns
from ptokit.ir.functions import ARCH, stated_arch
from ptokit.isa.table import BY_TEXT
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.values import Type

from ..forms.attributes import Dictionary, generic_attrs, read_attrs, read_dictionary, symbol
from ..text import rules
from ..text.cursor import LimitError, OperationError
from ..text.lexer import EOF, MAX_TEXT, Tokens, line_ends, read_text
from ..types.parse import FREE, POISON
from .blocks import FUNCTION_WORDS, OperandPlaces, read_ops, read_region, starts_operation
from .generic import operations
from .generic.operations import MODULE_WORD, closing, module_attributes, read_function, read_properties
from .ops import control, forms
from .ops.control import same_types
from .ops.forms import BODY
from .parser import Parser, reader_of
from .statements import sync

__all__ = ["control", "forms", "operations", "sync"]


# Files, modules and functions (assembly 2).


@dataclass(frozen=True)
class ParseResult:
    """What was read. With errors among the diagnostics the module holds what could be understood."""

    module: Module
    diagnostics: Diagnostics


def read_module(path: str | Path, *, target: Target | None = None) -> ParseResult:
    """Read and parse a file. An unreadable file gives TEXT-FILE, one that is not UTF-8 text TEXT-BINARY."""
    text, diagnostics = read_text(path)
    if text is None:
        return ParseResult(Module(file=str(path)), diagnostics)
    return parse_module(text, str(path), target=target)


def parse_module(text: str, file: str | None = None, *, target: Target | None = None) -> ParseResult:
    """Parse `.pto` text of any level or form (assembly 5). Never raises: errors are in the result's diagnostics.

    Statements outside functions are those of a function `LISTING`; what they use and do not define is its parameters.

    `target` decides the block layout of left tiles (assembly 3.3); without it the module's ``pto.target_arch`` does.
    """
    return parse_with(Parser, text, file, target)


def parse_with(
    make: Callable[[Tokens, str, Diagnostics, Target | None], Parser],
    text: str,
    file: str | None = None,
    target: Target | None = None,
) -> ParseResult:
    """`parse_module` by a parser of one's own, which `make` returns; it is not called for what is not text."""
    diagnostics = Diagnostics()
    result = ParseResult(Module(file=file), diagnostics)
    shown = file or "<text>"
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        diagnostics.error(rules.BINARY, "the input has NUL bytes; it is not text", Location(shown, line, 1))
        return result
    if len(text) > MAX_TEXT:
        diagnostics.error(rules.SIZE, f"the text has {len(text)} characters, more than {MAX_TEXT}", Location(shown))
        return result
    text = line_ends(text)
    with _collector_paused():
        if "#" in text and "func.func" not in text:  # a listing
            text = _HASH_COMMENT.sub(lambda m: " " * len(m[0]), text)
        tokens = Tokens(" " + text[1:] if text[:1] == "\ufeff" else text)
        parser = make(tokens, shown, diagnostics, target)
        with suppress(LimitError):
            _File(parser, result.module).read()
    result.module.written = OperandPlaces(parser)
    return result


LISTING = "listing"
"""Name of the function that holds the statements of a text without functions."""

_TOP_WORDS = ("module", "func.func", "attributes")
_MODULE_WORDS = ("module", "builtin.module", MODULE_WORD)

_HASH_COMMENT = re.compile(r"^[ \t]*#(?=[ \t\r\n]|\Z)[^\n]*", re.MULTILINE)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Keep the garbage collector out: reading makes no garbage it could find, and it takes 40 % of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class _File:
    """Reads the top level of one file."""

    def __init__(self, parser: Parser, module: Module) -> None:
        self.p = parser
        self.module = module
        self.places: dict[tuple[Part | None, str], Location] = {}
        self.part: Part | None = None  # the module inside the module that is being read
        self.end: int | None = None  # token of the brace that closes the module

    def read(self) -> None:
        p = self.p
        self._aliases()
        if p.texts[p.i] in _MODULE_WORDS:
            try:
                self._module()
            except OperationError:
                self._read_on()
            self._aliases()
        else:
            known = p.texts[p.i] in BY_TEXT or reader_of(p.texts[p.i]) is not None
            if p.texts[p.i] not in FUNCTION_WORDS and (known or starts_operation(p, p.i)):
                self._listing()
            self._functions()
        if p.texts[p.i] is not EOF and not p.unclosed:
            notes = () if self.end is None else (Note("the module ends here", p.location(self.end)),)
            p.error(rules.TOPLEVEL, f"{p.found()} follows the module", notes=notes)
            while p.texts[p.i] is not EOF:
                self._read_on()
        self.module.ssa = p.ssa
        for function in self.module.functions:
            attrs = self.module.attrs | (function.part.attrs if function.part is not None else {})
            function.module_kind = attrs.get("pto.kernel_kind")
        self._calls()

    def _read_on(self) -> None:
        """After an error in the head or at the end of the module: read the functions that are left."""
        p = self.p
        while p.texts[p.i] is not EOF and p.texts[p.i] not in FUNCTION_WORDS:
            p.i += 1
        self._functions()
        p.accept("}")

    def _aliases(self) -> None:
        """``!name = type`` and ``#name = attribute``; those of locations are skipped."""
        p = self.p
        while p.texts[p.i][0] in "!#" and p.texts[p.i + 1] == "=":
            name = p.texts[p.i]
            p.i += 2
            try:
                if name[0] == "!":
                    p.types[name] = p.type()
                elif p.texts[p.i] == "loc":
                    p.skip_location()
                else:
                    first = p.i
                    if p.texts[first] is EOF:
                        p.unexpected("an attribute")
                    p.i += 1
                    if p.accept(":"):
                        p.type()
                    p.aliases[name] = p.span(first, p.i)
            except OperationError:
                self._skip()

    def _module(self) -> None:
        p, module = self.p, self.module
        p.i += 1
        if p.texts[p.i - 1] == MODULE_WORD:
            self._generic_module(module)
            return
        self._body(module)
        self.end = p.i - 1

    def _body(self, module: Module | Part) -> None:
        """The name, the attributes and the functions of a module, or of one inside of it."""
        p = self.p
        if p.texts[p.i][0] == "@":
            module.name = symbol(p.texts[p.i])
            p.i += 1
        if p.accept("attributes"):
            written = read_dictionary(p)
            module.attrs = generic_attrs(p, written)
            self._state_target(written, module.attrs)
        if p.texts[p.i] != "{":
            p.unexpected("'attributes' or '{'")
        p.i += 1
        opening = p.i - 1
        self._functions()
        p.closed(opening)
        p.skip_location()

    def _part(self) -> None:
        """A module inside the file's module, after the word that begins it."""
        if self.part is not None:
            self.p.fail(rules.TOPLEVEL, "modules stand in modules one deep", self.p.i - 1)
        self.part = Part()
        body = self._generic_module if self.p.texts[self.p.i - 1] == MODULE_WORD else self._body
        try:
            body(self.part)
        finally:
            self.part = None

    def _state_target(self, written: Dictionary, attrs: dict[str, Any]) -> None:
        arch = written.get(ARCH)
        if arch is not None or self.part is None:
            self.p.state_target(stated_arch(attrs), arch.place if arch is not None else None)

    def _generic_module(self, module: Module | Part) -> None:
        p = self.p
        module.name, module.attrs = module_attributes(p)
        if self.part is None or ARCH in module.attrs:
            p.state_target(stated_arch(module.attrs))
        written: Dictionary = {}
        p.expect("(")
        p.expect(")")
        if p.texts[p.i].startswith("<{"):
            read_properties(p, written)
        p.expect("(")
        opening = p.expect("{")
        if p.texts[p.i][0] == "^":
            p.i += 1
            p.expect(":")
        self._functions()
        p.closed(opening)
        p.expect(")")
        if p.texts[p.i] == "{":
            read_dictionary(p, written)
        written.pop("sym_name", None)
        generic_attrs(p, written)  # for its errors
        self._state_target(written, module.attrs)
        closing(p)

    def _listing(self) -> None:
        """Statements outside functions: those of a function whose parameters are the values it does not define."""
        p = self.p
        free: dict[str, Value] = {}
        p.free = free
        function = Function(LISTING, [], location=p.location())
        self._add(function, p.i)
        block = function.body = Block()
        p.scope.enter()
        read_ops(p, block)
        p.report_misplaced()
        p.scope.leave()
        p.free = None
        for name, value in free.items():
            p.scope.values.pop(name, None)
            if value.type is FREE:
                value.type = POISON
                p.error(
                    rules.TY_9,
                    f"value {name} is not defined, and no type list says what it is",
                    value.location,
                    hint="write the types of the operands after ':'",
                )
            value.owner = block
        function.params = block.args = list(free.values())
        if not block.ops or not returns(block.ops[-1]):
            block.add(return_of(function.location))

    def _functions(self) -> None:
        p = self.p
        while True:
            token = p.texts[p.i]
            if token is EOF or token == "}":
                return
            start = p.i
            try:
                if token == "func.func":
                    p.i += 1
                    self._function(start)
                elif token in FUNCTION_WORDS:
                    p.i += 1
                    self._generic_function(start)
                elif token in _MODULE_WORDS and not p.unclosed:
                    p.i += 1
                    self._part()
                elif token[0] in "#!" and p.texts[p.i + 1] == "=":
                    self._aliases()
                elif p.unclosed:
                    self._skip()  # it may belong to what is not closed
                else:
                    p.fail(
                        rules.TOPLEVEL,
                        f"expected func.func, found {p.found()}",
                        hint=suggest(token, _TOP_WORDS)
                        or ("operations stand inside functions" if "." in token else None),
                    )
            except OperationError:
                self._skip()

    def _skip(self) -> None:
        """Go to the next function or the end of the module, over whole bodies."""
        p = self.p
        depth = 0
        while True:
            token = p.texts[p.i]
            if token is EOF or token in FUNCTION_WORDS:
                return
            if token == "{":
                depth += 1
            elif token == "}":
                if depth == 0:
                    return
                depth -= 1
            p.i += 1

    def _function(self, at: int) -> None:
        p = self.p
        location = p.location(at)
        visibility = ""
        if p.texts[p.i] in ("private", "public", "nested"):
            visibility = p.texts[p.i]
            p.i += 1
        if p.texts[p.i][0] != "@" or len(p.texts[p.i]) < 2:
            p.unexpected("a function name", hint=suggest(p.texts[p.i], ("private", "public")))
        name_index = p.i
        name = symbol(p.texts[p.i])
        p.i += 1
        p.depth, p.truncated = 0, False
        errors = p.errors
        level = p.scope.level
        p.scope.enter()
        try:
            params, types, param_attrs = self._parameters()
            results, result_attrs = self._results() if p.accept("->") else ([], [])
            attrs = generic_attrs(p, read_dictionary(p)) if p.accept("attributes") else {}
            function = Function(name, [], results, attrs, None, visibility, param_attrs, location)
            function.result_attrs = result_attrs
            self._add(function, name_index)
            if p.texts[p.i] == "{" and (params or not types):
                body = function.body = read_region(p, list(zip(params, types)), BODY)
                function.params = body.args
                self._check_end(function, complete=p.errors == errors and not p.misplaced)
            else:
                function.params = [p.define(i, t) for i, t in zip(params, types)] or _unnamed(types)
            p.skip_location()
        finally:
            p.scope.unwind(level)
            p.report_misplaced()

    def _generic_function(self, at: int) -> None:
        p = self.p
        p.depth, p.truncated = 0, False
        errors = p.errors
        level = p.scope.level
        try:
            function, name = read_function(p, at)
            self._add(function, name)
            if function.body is not None:
                self._check_end(function, complete=p.errors == errors and not p.misplaced)
        finally:
            p.scope.unwind(level)
            p.report_misplaced()

    def _add(self, function: Function, index: int) -> None:
        function.part = self.part
        known = self.places.get((self.part, function.name))
        if known is not None:
            self.p.error(
                rules.TY_9,
                f"function @{function.name} is defined twice",
                index,
                notes=(Note("first defined here", known),),
            )
        self.places.setdefault((self.part, function.name), self.p.location(index))
        self.module.functions.append(function)

    def _parameters(self) -> tuple[list[int], list[Type], list[dict[str, Any]]]:
        """Names' tokens (none in a list of types), types and attributes."""
        p = self.p
        names: list[int] = []
        types: list[Type] = []
        attrs: list[dict[str, Any]] = []
        p.expect("(")
        while not p.accept(")"):
            if types:
                p.expect(",")
            if p.texts[p.i][0] == "%" or names:
                names.append(p.name())
                p.expect(":")
            types.append(p.type())
            attrs.append(read_attrs(p))
            p.skip_location()
        return names, types, attrs if any(attrs) else []

    def _results(self) -> tuple[list[Type], list[dict[str, Any]]]:
        """Types and attributes."""
        p = self.p
        if p.texts[p.i] != "(":
            return [p.type()], []
        p.i += 1
        out: list[Type] = []
        attrs: list[dict[str, Any]] = []
        while not p.accept(")"):
            if out:
                p.expect(",")
            out.append(p.type())
            attrs.append(read_attrs(p))
        return out, attrs if any(attrs) else []

    def _check_end(self, function: Function, *, complete: bool) -> None:
        """A body ends with a return of what the function declares. ``complete``: there are no errors in it."""
        assert function.body is not None
        for block in function.body.blocks:
            last = block.ops[-1] if block.ops else None
            if last is not None and returns(last):
                given = [v.type for v in last.group("values")]
                if not same_types(given, function.results):
                    message = f"@{function.name} {_returns(function.results)}, not ({', '.join(map(str, given))})"
                    self.p.error(rules.YIELD, message, last.location)
            elif complete and not function.body.more:
                message = f"the body of @{function.name} must end with return"
                self.p.error(rules.TERMINATOR, message, function.location, hint="add return")

    def _calls(self) -> None:
        """Callees exist and take and return what the call says."""
        functions = {f.name: f for f in reversed(self.module.functions)}
        for op, index in self.p.calls:
            callee = functions.get(str(op.attrs["callee"]))
            if callee is None:
                known = [f"@{name}" for name in functions]
                hint = suggest(f"@{op.attrs['callee']}", known) if len(known) < 1000 else None
                self.p.error(rules.CALL, f"there is no function @{op.attrs['callee']}", index, hint=hint)
            elif not self._agrees(op, callee):
                self.p.error(
                    rules.CALL,
                    f"the call differs from the signature of @{callee.name}",
                    index,
                    notes=(Note("defined here", callee.location),),
                )

    @staticmethod
    def _agrees(op: Op, callee: Function) -> bool:
        arguments = [v.type for v in op.group("args")]
        return same_types(arguments, [v.type for v in callee.params]) and same_types(
            [v.type for v in op.results], callee.results
        )


def _unnamed(types: list[Type]) -> list[Value]:
    return [Value(t) for t in types]


def _returns(types: list[Type]) -> str:
    return f"returns ({', '.join(map(str, types))})" if types else "returns nothing"
