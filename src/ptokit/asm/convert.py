"""Text in another form or in the canonical layout, and kernels of Python as text (assembly 5).

Only blanks, line breaks and the places of comments change, never a token: type aliases, level 1 and the sync form stay
as they are written, and the text means what it meant. What the printer writes is laid out already.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import field

from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, Severity
from ptokit.ir import Function, Module, Op
from ptokit.ir.control import CONTROL
from ptokit.records import dataclass
from ptokit.targets import Target
from ptokit.types.enums import TileType
from ptokit.types.tile import TileSpec

from .forms.attributes import quote
from .printing.forms import print_generic, print_sync
from .printing.level1 import print_ssa
from .printing.printer import FunctionPrinter, print_module
from .reading.module import parse_module, parse_with
from .reading.parser import Parser
from .text import rules
from .text.lexer import BLANK, EOF, Gap, Tokens, join, line_ends, read_gap

# Canonical layout of `.pto` text: one operation per line, two blanks per level, comments where they belong.


INDENT = "  "
_READING = "TEXT-"  # the rules of reading; where others are broken all words have been understood
_LEFT_OUT = {quote(name) for name, control in CONTROL.items() if control.implied}
"""In generic form, where they have no values: reading leaves them out."""


@dataclass(frozen=True)
class Formatted:
    """``text`` is the laid out text, or None if the text cannot be read: the diagnostics say why.

    Other errors among them, of types for example, are no reason to leave it as it is.
    """

    text: str | None
    diagnostics: Diagnostics


class _Watching(Parser):
    """Notes which braces are those of regions (opening: closing), and which tokens are taken as they are written.

    Of those, ``raw`` tells whether a blank before the token counts, too.
    """

    __slots__ = ("raw", "regions")

    regions: dict[int, int]
    raw: dict[int, bool]

    def closed(self, opening: int) -> None:
        super().closed(opening)
        self.regions[opening] = self.i - 1

    def span(self, first: int, end: int) -> str:
        for i in range(first, end):
            self.raw[i] = self.raw.get(i, False) or i > first
        return super().span(first, end)


def format_text(text: str, file: str | None = None) -> Formatted:
    """Lay out the text of a file. Never raises for bad input: a text that cannot be read has diagnostics instead."""
    regions: dict[int, int] = {}
    raw: dict[int, bool] = {}
    parsers: list[_Watching] = []

    def watch(*args: object) -> Parser:
        parser = _Watching(*args)  # type: ignore[arg-type]
        parser.regions, parser.raw = regions, raw
        parsers.append(parser)
        return parser

    text = line_ends(text)
    result = parse_with(watch, text, file)
    if any(error.rule.startswith(_READING) for error in result.diagnostics.errors):
        return Formatted(None, result.diagnostics)
    tokens = parsers[0].tokens
    whole = text.removeprefix("\ufeff").rjust(len(text))
    starts = _starts(tokens, result.module)
    layout = _Layout(whole, tokens, regions, raw, starts, parsers[0].labels.places)
    new = layout.write()
    if _words(Tokens(_comments_blanked(new) if tokens.text != text else new)) != _words(tokens):
        raise RuntimeError("the layout changed a token")
    return Formatted(_with_ends(new, text), result.diagnostics)


def _with_ends(new: str, old: str) -> str:
    """The laid out text with the line ends of the first line of the old one."""
    first = old.find("\n")
    return re.sub(r"\r?\n", "\r\n", new) if first > 0 and old[first - 1] == "\r" else new


def _words(tokens: Tokens) -> list[str]:
    return [_squeezed(token) for token in tokens.texts if token is not EOF]


def _comments_blanked(text: str) -> str:
    """Without the ``#`` comments of listings, which the lexer does not know."""
    return re.sub(r"^[ ]*#(?=[ \t\n]|\Z)[^\n]*", "", text, flags=re.MULTILINE)


def _squeezed(token: str) -> str:
    """A token with each run of blanks as one, but for strings and comments in it."""
    return token if '"' in token or "//" in token else " ".join(token.split())


def _starts(tokens: Tokens, module: Module) -> set[int]:
    """Indices of the first tokens of operations and functions."""
    index = {tokens.position(tokens.start(i)): i for i in range(len(tokens.texts))}
    places = [function.location for function in module.functions]
    places += [op.location for f in module.functions if f.body is not None for op in f.body.walk()]
    return {_with_results(tokens.texts, index[place.line, place.column]) for place in places}


def _with_results(texts: list[str], i: int) -> int:
    """The token where the results of the operation named by token i begin; i if it has none."""
    if i == 0 or texts[i - 1] != "=":
        return i
    i -= 1
    while True:
        i -= 3 if texts[i - 1].isdecimal() and texts[i - 2] == ":" else 1
        if texts[i - 1] != ",":
            return i
        i -= 1


@dataclass(slots=True)
class _Line:
    """A line being filled."""

    indent: int
    outer: int = 0  # indentation of comments before it
    tokens: list[str] = field(default_factory=list)
    glued: list[bool | None] = field(default_factory=list)
    before: list[str] = field(default_factory=list)  # comments in lines of their own inside the operation
    trailing: list[str] = field(default_factory=list)


class _Layout:
    """Writes one text."""

    def __init__(
        self,
        text: str,
        tokens: Tokens,
        regions: dict[int, int],
        raw: dict[int, bool],
        starts: set[int],
        labels: AbstractSet[int],
    ) -> None:
        self.text = text
        self.tokens = tokens
        self.regions = regions
        self.closings = set(regions.values())
        self.raw = raw
        self.starts = starts
        self.labels = labels
        self.out: list[str] = []
        self.depth = 0
        self.line = _Line(0)
        self.in_operation = False

    def write(self) -> str:
        """The whole text; it ends with a line end."""
        texts, tokens = self.tokens.texts, self.tokens
        end = 0
        for i, token in enumerate(texts):
            gap = read_gap(self.text[end : tokens.start(i)], first=i == 0)
            end = tokens.ends[i]
            self.line.trailing += [gap.trailing] if gap.trailing else []
            if token is EOF:
                self._flush()
                self._between(gap, 0)
                break
            closing = i in self.closings
            if i == 0 or closing or self._begins(i):
                self._flush()
                self._between(gap, self.depth)
                if closing and self.out[-1:] == [BLANK]:
                    self.out.pop()
                depth = self.depth
                self.depth -= closing
                self.line = _Line(self.depth - (i in self.labels), depth)
                self.in_operation = i in self.starts and token != "func.func"
            else:
                self.line.before += gap.comments
            self.line.glued.append(tokens.start(i) == tokens.ends[i - 1] if self.raw.get(i) else None)
            self.line.tokens.append(_shown(token) if i not in self.raw else token)
            self.depth += i in self.regions
        while self.out[-1:] == [BLANK]:
            self.out.pop()
        return "\n".join(self.out) + "\n" if self.out else ""

    def _begins(self, i: int) -> bool:
        """True if token i starts a line."""
        texts = self.tokens.texts
        if i in self.starts or i - 1 in self.regions or texts[i] in _LEFT_OUT:
            return True
        if texts[i] in ("module", "builtin.module"):
            return self.depth == 0 and not self.in_operation
        if i in self.labels:
            return True
        return texts[i][0] in "!#" and texts[i + 1] == "=" and not self.in_operation

    def _flush(self) -> None:
        """Write the line."""
        line = self.line
        if not line.tokens:
            return
        indent = INDENT * line.indent
        self.out += [INDENT * line.outer + comment for comment in line.before]
        head = line.tokens[0] == "func.func" or line.tokens[0][0] == "^"
        text = join(line.tokens, line.glued, header=head)
        self.out.append(" ".join([indent + text, *line.trailing]))

    def _between(self, gap: Gap, depth: int) -> None:
        """Write comments and blank lines, but no blank line after an opening brace."""
        opened = self.line.tokens[-1:] in (["{"], [])
        for item in gap.lines:
            if item is not BLANK:
                self.out.append(INDENT * depth + item)
            elif not opened:
                self.out.append(BLANK)
            opened = False


def _shown(token: str) -> str:
    """A type with each run of blanks as one; any other token as it is."""
    return _squeezed(token) if token[0] == "!" or token.startswith("memref<") else token


# One module in another form of `.pto` text (assembly 5).


@dataclass(frozen=True)
class Converted:
    """``text`` is the module in the wanted form, or None if the diagnostics say what that form cannot express."""

    text: str | None
    diagnostics: Diagnostics


def convert(module: Module, form: str) -> Converted:
    """Print `module`, which was read without errors, in a form of `FORMS`. Reading the text gives the same program."""
    return FORMS[form](module)


def _dps(module: Module) -> Converted:
    return Converted(print_module(module), Diagnostics())


def _generic(module: Module) -> Converted:
    return Converted(print_generic(module), Diagnostics())


def _ssa(module: Module) -> Converted:
    return Converted(*print_ssa(module))


def _sync(module: Module) -> Converted:
    return Converted(print_sync(module), Diagnostics())


FORMS: dict[str, Callable[[Module], Converted]] = {"dps": _dps, "ssa": _ssa, "sync": _sync, "generic": _generic}
"""By the word after ``ptokit convert --to``."""


# Kernels of Python as text that reads back.


def kernel_text(module: Module, target: Target) -> str:
    """A kernel as text that is read without errors, and means the same.

    Raises `DiagnosticError` (TEXT-KERNEL) for what text cannot say.
    """
    made: list[_Noting] = []

    def make(function: Function) -> FunctionPrinter:
        made.append(_Noting(function))
        return made[-1]

    _refuse_layouts(module, target)
    text = print_module(module, make)
    read = parse_module(text, "kernel.pto", target=target)
    if read.diagnostics.errors:
        raise _unreadable(read.diagnostics, made)
    return text


def _refuse_layouts(module: Module, target: Target) -> None:
    """TEXT-KERNEL for a left tile of another block layout than the target's, which reading gives all of them."""
    for op in (op for f in module.functions if f.body is not None for op in f.body.walk()):
        for value in op.results:
            spec = value.type
            if isinstance(spec, TileSpec) and spec.loc is TileType.Left and spec.blayout is not target.left_blayout:
                layouts = f"{target.left_blayout.text}, and %{value.name} is {spec.blayout.text}"
                raise _unwritable(f"left tiles in text for {target.name} are {layouts}", op.location)


def _unreadable(found: Diagnostics, made: list[_Noting]) -> DiagnosticError:
    first = found.errors[0]
    line, place = first.location.line - 2, Location()  # from 0, without the module's own line
    for printer in made:
        if line < len(printer.lines):
            place = printer.at(line)
            break
        line -= len(printer.lines)
    return _unwritable(f"{first.message} [{first.rule}]", place)


def _unwritable(why: str, place: Location) -> DiagnosticError:
    message = f"this cannot be written as .pto text: {why}"
    hint = "launch the kernel, or hand on kernel.trace(), which is the whole program"
    return DiagnosticError(Diagnostic(rules.KERNEL, Severity.ERROR, message, place, hint))


class _Noting(FunctionPrinter):
    """Knows which operation a line is of."""

    def __init__(self, function: Function) -> None:
        super().__init__(function)
        self._starts: list[tuple[int, Op]] = []

    def op(self, op: Op, depth: int) -> None:
        self._starts.append((len(self.lines), op))
        super().op(op, depth)

    def at(self, line: int) -> Location:
        """The place of what is printed in a line."""
        before = [op for start, op in self._starts if start <= line]
        return before[-1].location if before else self.function.location
