"""What an editor shows: facts about an instruction or value, kinds of words to colour, regions to fold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from lsprotocol import types as lsp

from ptokit.asm.printing.forms import text_forms
from ptokit.asm.reading.blocks import FUNCTION_WORDS
from ptokit.asm.text.lexer import EOF, Tokens
from ptokit.draw import LayoutMap
from ptokit.ir import Function, Value
from ptokit.isa.check import rules_of
from ptokit.isa.checks.tile_types import buffer_name
from ptokit.isa.reference import Rows, attr_rows, facts, operand_rows
from ptokit.isa.site import TileInfo, ViewInfo, known
from ptokit.isa.table import BY_TEXT, Instr
from ptokit.targets import Target
from ptokit.types.enums import TileType
from ptokit.types.tile import TileSpec

from .index import EditorPositions, Index

# What a text is made of, for an editor: kinds of words to colour, and regions to fold.


KINDS = ("comment", "function", "variable", "parameter", "type", "enumMember", "number", "string", "keyword", "label")
"""Kinds of words: the legend of the protocol. Instructions, operations and functions are ``function``."""

MODIFIERS = ("definition",)

_OPERATION = re.compile(r'"?[a-z]\w*(?:\.\w+)+"?\Z')
_NUMBER = re.compile(r"-?\d|0x")
_KEYWORDS = {*FUNCTION_WORDS, "module", "ins", "outs", "attributes", "return", "to", "step", "iter_args", "else", "do"}
_COMMENT = re.compile(r"//[^\r\n]*")
_STRING = re.compile(r'"(?:[^"\\\r\n]|\\.)*"')

Word = tuple[int, int, int, str, bool]
"""Line and column from 1, length in characters, kind, and whether it is a definition."""


def words(index: Index) -> list[Word]:
    """The words of a text in order."""
    found = [*_words(index), *_comments(index.tokens)]
    return sorted(found, key=lambda word: word[:2])


def _words(index: Index) -> Iterator[Word]:
    tokens = index.tokens
    parameters = {id(value) for function in index.module.functions for value in function.params}
    for i, text in enumerate(tokens.texts):
        if text is EOF or "\n" in text:
            continue
        value = index.values.get(i)
        kind = _kind(tokens, i, text)
        if kind == "variable" and value is not None and id(value) in parameters:
            kind = "parameter"
        if kind:
            line, column, length = tokens.place(i, i)
            own = value is not None and (value.location.line, value.location.column) == (line, column)
            yield line, column, length, kind, own


def _kind(tokens: Tokens, i: int, text: str) -> str:
    first = text[0]
    if first in "%@!#^":
        return {"%": "variable", "@": "function", "!": "type", "#": "enumMember", "^": "label"}[first]
    if first == '"':
        named = _OPERATION.match(text)
        return "function" if named else "string"
    if _NUMBER.match(text):
        return "number"
    if text in _KEYWORDS:
        return "keyword"
    if _OPERATION.match(text) or (text in BY_TEXT and tokens.starts_line(i)):
        return "function"
    return ""


def _comments(tokens: Tokens) -> Iterator[Word]:
    for number, line in enumerate(tokens.text.split("\n"), 1):
        found = _COMMENT.search(_STRING.sub(lambda string: " " * len(string[0]), line))
        if found:
            yield number, found.start() + 1, len(found[0]), "comment", False


def coloured(index: Index, places: EditorPositions) -> list[int]:
    """The words as the protocol has them: five numbers each, places relative to the word before."""
    out: list[int] = []
    line, character = 0, 0
    for number, column, length, kind, own in words(index):
        span = places.span(number, column - 1, column - 1 + length)
        start, end = span.start, span.end
        ahead = start.character - (character if start.line == line else 0)
        out += [start.line - line, ahead, end.character - start.character, KINDS.index(kind), int(own)]
        line, character = start.line, start.character
    return out


def folds(index: Index) -> list[lsp.FoldingRange]:
    """Regions in braces and blocks of comments of several lines."""
    tokens = index.tokens
    out: list[lsp.FoldingRange] = []
    open: list[int] = []
    for i, text in enumerate(tokens.texts):
        if text == "{":
            open.append(tokens.place(i, i)[0])
        elif text == "}" and open:
            first, last = open.pop(), tokens.place(i, i)[0]
            if last - 1 > first:
                out.append(lsp.FoldingRange(first - 1, last - 2, kind=lsp.FoldingRangeKind.Region))
    return sorted([*out, *_comment_blocks(tokens)], key=lambda fold: fold.start_line)


def _comment_blocks(tokens: Tokens) -> Iterator[lsp.FoldingRange]:
    lines = [line.lstrip().startswith("//") for line in tokens.text.split("\n")]
    start = None
    for number, comment in enumerate([*lines, False]):
        if comment and start is None:
            start = number
        elif not comment and start is not None:
            if number - 1 > start:
                yield lsp.FoldingRange(start, number - 1, kind=lsp.FoldingRangeKind.Comment)
            start = None


# What an editor shows about an instruction or a value, as Markdown.


_PICTURE_WIDTH = 72


def hover(index: Index, token: int) -> str | None:
    """The text for a token; None if there is nothing to say about it."""
    value = index.values.get(token)
    if value is not None:
        return value_page(index, value)
    instr = index.instruction(token)
    if instr is not None:
        return instruction_page(instr, index.target)
    text = index.tokens.texts[token]
    if text[0] == "@":
        function = index.module.function(text[1:].strip('"'))
        return function_page(function) if function is not None else None
    if text[0] == "!":
        return type_page(index, text)
    return _attribute(index, token)


def instruction_page(instr: Instr, target: Target | None) -> str:
    """Signature, operands, attributes, pipe, element types on the target, and the rules that bind there."""
    parts = [f"**{instr.signature}** — `pto.{instr.text}`", instr.summary]
    parts.append("```pto\n" + "\n".join(text_forms(instr).values()) + "\n```")
    parts += _table(("operand", "direction", "kind", ""), operand_rows(instr))
    parts += _table(("attribute", "text key", "values", "default"), attr_rows(instr))
    remarks = [f"{word}: {text}" for word, text in facts(instr).items()]
    if target is not None and target.is_among(instr.types):
        types = " ".join(sorted(d.text for d in target.entry(instr.types)))
        remarks.append(f"element types on {target.name}: {types or 'none'}")
    rules = [rule.id for rule in (instr.rules if target is None else rules_of(instr, target))]
    if rules:
        remarks.append(f"rules: {', '.join(rules)}")
    return "\n\n".join([*parts, "  \n".join(remarks)])


def function_page(function: Function) -> str:
    """The head of a function."""
    names = (f"%{value.name}: " if value.name and function.body is not None else "" for value in function.params)
    params = ", ".join(f"{name}{value.type}" for name, value in zip(names, function.params))
    results = f" -> ({', '.join(map(str, function.results))})" if function.results else ""
    return f"```\nfunc.func @{function.name}({params}){results}\n```"


def type_page(index: Index, text: str) -> str | None:
    """What an alias means, and the layout of a tile."""
    type = index.types.get(text)
    if type is None:
        return None
    head = f"```\n{text} = {type}\n```" if text != str(type) and "<" not in text else f"```\n{type}\n```"
    if not isinstance(type, TileSpec):
        return head
    return "\n\n".join([head, *_layout(type, None, f"{type.nbytes} bytes of {_buffer(type)}", index.target)])


def _attribute(index: Index, token: int) -> str | None:
    """What an attribute of an instruction may be, for its key or for its value."""
    text = index.tokens.texts[token]
    if not (text[0] in "#<" or text[0].isalpha() or text in ("true", "false")):
        return None
    instr = index.operation_of(token)
    if instr is None:
        return None
    kind = re.match(r"#pto[.<](\w+)", text)
    for attr, row in zip(instr.attrs, attr_rows(instr)):
        if text in (attr.key, attr.name) or (kind is not None and kind[1] == attr.mnemonic):
            _, key, values, default = row
            if issubclass(attr.kind, Enum):  # in the words of the text
                values = ", ".join(member.text for member in attr.kind)  # type: ignore[attr-defined]
                default = getattr(attr.default, "text", default)
            return f"**{key}** of `pto.{instr.text}`\n\nvalues: {values}  \ndefault: {default}"
    return None


def value_page(index: Index, value: Value) -> str:
    """Type of a value, and what is known of it: a tile's layout and addresses, a view's shape, a number."""
    head = f"```\n%{value.name} : {value.type}\n```"
    known_here = index.facts(value)
    if known_here is None:
        return head
    info = known_here.infos.get(value)
    if isinstance(info, TileInfo):
        address = info.addr if known(info.addr) and isinstance(info.addr, int) else None
        return "\n\n".join([head, *_layout(info.spec, address, _place(info.spec, address), index.target)])
    if isinstance(info, ViewInfo):
        return "\n\n".join([head, *_view(info)])
    number = known_here.constants.get(value)
    if number is None:
        return head
    return f"{head}\n\nvalue: `{str(number).lower() if isinstance(number, bool) else number}`"


def _place(spec: TileSpec, address: int | None) -> str:
    if address is None:
        return f"{spec.nbytes} bytes of {_buffer(spec)}, placed by ptokit or at run time"
    return f"{_buffer(spec)} bytes {address:#x}..{address + spec.nbytes - 1:#x}"


def _layout(spec: TileSpec, address: int | None, place: str, target: Target | None) -> list[str]:
    if target is not None and spec.loc is not TileType.Ctrl:
        place += f"; {target.name} has {target.capacity[spec.loc]}"
    if not spec.numel:
        return [place]  # a wrong type: there is nothing to draw
    drawn = LayoutMap(spec, address)
    if drawn.boxed:
        return [place, f"```\n{drawn.text(_PICTURE_WIDTH).rstrip()}\n```"]
    return [f"**{drawn.title}**", place, "\n".join(f"- {line}" for line in drawn.describe())]


def _buffer(spec: TileSpec) -> str:
    return "control registers" if spec.loc is TileType.Ctrl else buffer_name(spec.loc)


def _view(info: ViewInfo) -> list[str]:
    layout = "not known yet" if info.layout is None else info.layout.name
    return [
        f"shape: {_sizes(info.shape)}  \nstrides: {_sizes(info.stride)}  \nlayout: {layout}",
        "sizes and strides count elements; `?` is known at run time only",
    ]


def _sizes(sizes: tuple[object, ...]) -> str:
    return " x ".join(str(n) if known(n) else "?" for n in sizes)  # type: ignore[arg-type]


def _table(head: tuple[str, ...], rows: Rows) -> list[str]:
    if not rows:
        return []
    lines = [head, ("---",) * len(head), *rows]
    return ["\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)]
