"""What an editor offers: changes, completions, forms of instructions, and findings that another process makes.

Checking a Python file executes it, and the sanitizer runs a kernel. What that prints, how long it takes and how it ends
is thus not the server's concern.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import takewhile
from typing import Any

from lsprotocol import types as lsp
from pygls.uris import to_fs_path

from ptokit.asm.forms.attributes import WORDS
from ptokit.asm.printing.forms import text_forms
from ptokit.asm.reading.parser import READERS
from ptokit.asm.types.parse import WRITTEN_TYPES
from ptokit.diagnostics import Diagnostic, Location, Note, Severity
from ptokit.diagnostics.finding import Edit, Fix, edited
from ptokit.ir.control import CONTROL
from ptokit.isa.reference import operand_rows
from ptokit.isa.table import BY_TEXT, TABLE, Instr
from ptokit.records import dataclass

from .index import EditorPositions, Index, lines_of

# Findings that a process of its own makes: those of ``ptokit check`` in a Python file, those of ``ptokit sanitize``.


_LONGEST = 60.0  # seconds that a file may take

Mended = tuple[Diagnostic, Fix | None]
"""A finding, and the change that mends it."""


@dataclass(frozen=True)
class Answer:
    """The findings in a text; ``said``: what was run to have them, or why nothing was."""

    found: tuple[Mended, ...] = ()
    said: str = ""
    failed: bool = False


async def check(uri: str, target: str = "") -> Answer | None:
    """The findings in a file as it is on disk; None if there is no answer, or no such file. ``target``: of C++."""
    path = to_fs_path(uri)
    if path is None or not os.path.isfile(path):
        return None
    _, out, _ = await _asked(("check", path, *(("--target", target) if target else ())), os.path.dirname(path), b"")
    report = _report(out)
    return None if report is None else Answer(_findings(report, path))


async def sanitize(uri: str, text: str | None, kernel: str, target: str) -> Answer:
    """The findings of a run of a kernel under observation, with arguments made from its text.

    ``text``: of `.pto`, as the editor has it; None for a kernel in a Python file, which is read from disk. ``target``:
    for a text that states none; "" leaves it open.
    """
    path = to_fs_path(uri) or ""
    folder = os.path.dirname(path) if os.path.isdir(os.path.dirname(path)) else None
    if text is None:
        command = ["sanitize", f"{path}:{kernel}"]
    else:
        command = ["sanitize", "-", *(("--entry", kernel) if kernel else ()), *(("--target", target) if target else ())]
    status, out, err = await _asked(command, folder, (text or "").encode(errors="replace"))
    report = _report(out)
    if report is None:
        said = err.decode(errors="replace").strip().splitlines() or [
            "it took too long" if status is None else "no answer"
        ]
        return Answer(said=said[-1], failed=True)
    launch = report["launch"]
    given = " ".join(f"-a {each}" for each in launch.get("arguments", ()))
    ran = f"{launch['kernel']} on {launch['target']}, {launch['blocks']} block{'s' * (launch['blocks'] > 1)}, {given}"
    gaps = "".join(f"; {gap['what']} not checked: {gap['why']}" for gap in report["coverage"]["unchecked"])
    return Answer(_findings(report, path if text is None else "<stdin>"), ran + gaps)


async def synchronise(text: str, kernel: str, target: str) -> tuple[str | None, str]:
    """A `.pto` text with the flags that a kernel lacks, and what was said; None for a text in which nothing changes,
    and where not all of it is proved."""
    command = ["sync", "-", "--entry", kernel, *(("--target", target) if target else ())]
    status, out, err = await _asked(command, None, text.encode(errors="replace"), form="")
    said = err.decode(errors="replace").strip().splitlines() or ["it took too long" if status is None else "no answer"]
    made = out.decode(errors="replace")
    reason = next((line.strip() for line in said if line.startswith("  open: ")), said[-1 if status == 2 else 0])
    return (None if status or made == text else made), reason


async def _asked(
    command: Iterable[str], folder: str | None, text: bytes, form: str = "json"
) -> tuple[int | None, bytes, bytes]:
    """Status, output and errors of a command of ptokit; None is the status of one that takes too long."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "ptokit", *command, *(("--format", form) if form else ())),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(text), _LONGEST)
        return process.returncode, out, err
    except TimeoutError:
        return None, b"", b""
    finally:
        with suppress(ProcessLookupError):
            process.kill()


def _report(out: bytes) -> dict[str, Any] | None:
    try:
        report = json.loads(out)
    except ValueError:
        return None
    return report if isinstance(report, dict) else None


def _same(file: str | None, path: str) -> bool:
    return file is not None and os.path.normcase(os.path.abspath(file)) == os.path.normcase(os.path.abspath(path))


def _findings(report: dict[str, Any], path: str) -> tuple[Mended, ...]:
    return tuple((_finding(entry), _fix(entry)) for entry in report["diagnostics"] if _same(entry["file"], path))


def _finding(entry: dict[str, Any]) -> Diagnostic:
    notes = tuple(Note(note["message"], _place(note)) for note in entry["notes"] if note["file"] == entry["file"])
    severity = Severity(entry["severity"])
    return Diagnostic(entry["rule"], severity, entry["message"], _place(entry), entry["hint"], notes)


def _fix(entry: dict[str, Any]) -> Fix | None:
    """The change of this file that mends a finding; None where there is none, or it changes other files, too."""
    fix = entry.get("fix") or {"text": "", "insert": ()}
    edits = tuple(Edit(each["file"], each["before"], each["text"], each["removed"]) for each in fix["insert"])
    return Fix(fix["text"], edits) if edits and {edit.file for edit in edits} == {entry["file"]} else None


def _place(entry: dict[str, Any]) -> Location:
    line, column, end = entry["line"], entry["column"], entry["end_column"]
    return Location(entry["file"], line, column, max(1, end - column))


# Changes of the text that an editor offers: new names, and what findings propose.


_NAMES = {
    "%": r"%(?:\d+|[A-Za-z_$.-][\w$.-]*)",
    "@": r"@[A-Za-z_][\w$.]*",
    "!": r"![A-Za-z_]\w*",
    "#": r"#[A-Za-z_]\w*",
    "^": r"\^[\w$.-]+",
}


class RenameError(Exception):
    """Why a name cannot be changed."""


def renamable(index: Index, token: int) -> list[Location]:
    """The places of the name at a token. Raises `RenameError` if it cannot be changed everywhere."""
    text = index.tokens.texts[token]
    places = index.references(token) if text[0] in _NAMES else []
    if not places:
        raise RenameError("only values, functions, aliases and block labels have names to change")
    texts = index.tokens.texts
    if text[0] == "%" and index.grouped(token):
        raise RenameError(f"{text} names a group of results, which are used by number")
    whole = re.compile(rf"(?<![\w$.-]){re.escape(text)}(?![\w$.-])")
    if text[0] in "@!#" and sum(len(whole.findall(other)) for other in texts) != len(places):
        raise RenameError(f"{text} also stands inside of attributes or types")
    return places


def new_name(index: Index, token: int, name: str) -> str:
    """The new name with its first character. Raises `RenameError` if it is none, or taken."""
    text = index.tokens.texts[token]
    name = name if name[:1] == text[0] else text[0] + name
    if re.fullmatch(_NAMES[text[0]], name) is None:
        raise RenameError(f"'{name}' is not a name")
    first, end = (0, len(index.tokens.texts)) if text[0] in "@!#" else index.function_around(token)
    if name != text and name in {
        other.partition("#")[0] if name[0] == "%" else other for other in index.tokens.texts[first:end]
    }:
        raise RenameError(f"{name} is a name already")
    return name


def proposals(found: Iterable[Mended], places: EditorPositions, wanted: lsp.Range, uri: str) -> list[lsp.CodeAction]:
    """The changes that mend findings in a range; where several findings have one, also all of them together."""
    fixes = {fix: finding for finding, fix in found if fix is not None}
    out = []
    for fix, finding in fixes.items():
        at = places.range(finding.location)
        if at.start <= wanted.end and wanted.start <= at.end:
            out.append(_action(fix.text, fix.edits, places, uri, preferred=True))
    if out and len(fixes) > 1:
        edits = [edit for fix in fixes for edit in fix.edits]
        out.append(_action(f"make all {len(fixes)} changes that findings propose", edits, places, uri, preferred=False))
    return out


SYNCHRONISE = "ptokit.synchronise"
"""The command that inserts flags, and, after ``source.``, the kind of its action."""


def synchronising(index: Index, places: EditorPositions, params: lsp.CodeActionParams) -> Iterator[lsp.CodeAction]:
    """The action that inserts the flags which the kernel at a place lacks, unless the editor asks for other kinds."""
    kind = f"source.{SYNCHRONISE}"
    only = params.context.only
    if only is not None and not any(kind == wanted or kind.startswith(f"{wanted}.") for wanted in only):
        return
    line, _ = places.ours(params.range.start)
    before = [name for name, at in index.kernels.items() if at.line <= line]
    for name in before[-1:] or list(index.kernels)[:1]:
        title = f"Insert the flags that {name} lacks"
        given = [params.text_document.uri, name]
        yield lsp.CodeAction(title, kind, command=lsp.Command(title, SYNCHRONISE, arguments=given))


def whole_text(places: EditorPositions, uri: str, text: str) -> lsp.WorkspaceEdit:
    """The change that makes another text of this one."""
    return lsp.WorkspaceEdit({uri: [_difference(places, text)]})


def _action(text: str, edits: Iterable[Edit], places: EditorPositions, uri: str, *, preferred: bool) -> lsp.CodeAction:
    change = whole_text(places, uri, edited(places.text, edits))
    title = text[:1].upper() + text[1:]
    return lsp.CodeAction(title, lsp.CodeActionKind.QuickFix, is_preferred=preferred or None, edit=change)


def _difference(places: EditorPositions, text: str) -> lsp.TextEdit:
    """The change that makes another text of this one: the lines that differ, of one line the characters."""
    old, new = places.lines, lines_of(text)
    first = _common(old, new)
    last = _common(old[first:][::-1], new[first:][::-1])
    removed, added = old[first : len(old) - last], new[first : len(new) - last]
    if len(removed) == len(added) == 1:
        start = _common(removed[0], added[0])
        end = _common(removed[0][start:][::-1], added[0][start:][::-1])
        span = places.span(first + 1, start, len(removed[0]) - end)
        return lsp.TextEdit(span, added[0][start : len(added[0]) - end])
    whole = lsp.Range(lsp.Position(first, 0), lsp.Position(first + len(removed), 0))
    return lsp.TextEdit(whole, "".join(added))


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many first characters, or lines, are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other)))


# What may stand where the cursor is.


TRIGGERS = [".", "%", "@", "!", "#", "^", "<"]
_COMMENT = re.compile(r'^(?:[^"/]|"(?:[^"\\]|\\.)*"|/(?!/))*//')
_WORD = re.compile(r"(?:[%@!#^]|\b(?:[a-z]+\.)+|\b[A-Z]|<)[\w.$-]*\Z")
_FUNCTION = re.compile(r"\bfunc\.func\b")
_NAMED = re.compile(r"[%^@!#][A-Za-z_0-9$][\w$.-]*")
_ALIAS = re.compile(r"^\s*([!#][A-Za-z_]\w*)\s*=", re.MULTILINE)
_DEFINED = re.compile(r"func\.func\s+(?:(?:private|public|nested)\s+)?(@[\w$.]+)")
_KIND = lsp.CompletionItemKind


def complete(places: EditorPositions, position: lsp.Position, index: Index | None) -> list[lsp.CompletionItem]:
    """Names that go on from what is written. ``index``: of this text or an earlier one, for the types of values.

    The text itself may be broken: names are taken from it as words.
    """
    before = places.before(position)
    word = _WORD.search(before)
    if word is None or _COMMENT.match(before):
        return []
    typed = word[0].lstrip("<")
    range = places.back(position, len(typed))
    return [_item(*found, range) for found in _names(typed, word[0][0], places, position, index)]


def _item(label: str, kind: lsp.CompletionItemKind, detail: str | None, range: lsp.Range) -> lsp.CompletionItem:
    return lsp.CompletionItem(label, kind=kind, detail=detail, text_edit=lsp.TextEdit(range, label))


def _names(
    typed: str, first: str, places: EditorPositions, position: lsp.Position, index: Index | None
) -> Iterator[tuple[str, lsp.CompletionItemKind, str | None]]:
    """Label, kind and detail of every name."""
    if typed.startswith("pto."):
        yield from ((f"pto.{i.text}", _KIND.Function, i.signature) for i in TABLE.values())
        yield from _each(
            (name for name in (*READERS, *CONTROL) if name.startswith("pto.") and name[4:] not in BY_TEXT),
            _KIND.Function,
        )
    elif first.islower():
        yield from _each(
            (name for name in (*READERS, *CONTROL) if name.startswith(typed[: typed.index(".") + 1])), _KIND.Function
        )
    elif first == "!":
        yield from _each(_ALIAS.findall(places.text), _KIND.Struct, first)
        yield from _each(WRITTEN_TYPES, _KIND.Struct)
    elif first == "#":
        yield from _each(_ALIAS.findall(places.text), _KIND.Constant, first)
    elif first == "@":
        yield from _each(_DEFINED.findall(places.text), _KIND.Function)
    elif first in "%^":
        types = {} if index is None else {f"%{value.name}": str(value.type) for value in index.values.values()}
        for name in _each(_NAMED.findall(_function(places, position)), _KIND.Variable, first):
            yield (*name[:2], types.get(name[0]))
    else:
        yield from _each([*sorted(WORDS["pipe"]), *sorted(WORDS["event"])], _KIND.EnumMember)


def _each(
    names: Iterable[str], kind: lsp.CompletionItemKind, first: str = ""
) -> Iterator[tuple[str, lsp.CompletionItemKind, None]]:
    """The names that begin with a character, each once."""
    yield from ((name, kind, None) for name in dict.fromkeys(names) if name.startswith(first))


def _function(places: EditorPositions, position: lsp.Position) -> str:
    """The text of the function around a position, without the word at it."""
    line, _ = places.ours(position)
    start = next((k for k in range(min(line, len(places.lines)) - 1, -1, -1) if _FUNCTION.search(places.lines[k])), 0)
    rest = range(line, len(places.lines))
    end = next((k for k in rest if _FUNCTION.search(places.lines[k])), len(places.lines))
    before = re.sub(r"[%^][\w.$-]*\Z", "", places.before(position))
    return "".join([*places.lines[start : line - 1], before, "\n", *places.lines[line:end]])


# How an instruction is written, while it is being written.


SIGNATURE_TRIGGERS = ["(", ",", " "]
_INSTRUCTION_NAMED = re.compile(r'"?\b(?:pto\.)?([a-z]\w*(?:\.\w+)*)"?\s*(?=[%(]|ins\b|outs\b|$)')
_GROUP = re.compile(r"\b(ins|outs)\s*\(([^():]*)$")
_PLACE = re.compile(r"%\w+")


def signature(places: EditorPositions, position: lsp.Position) -> lsp.SignatureHelp | None:
    """The forms of the instruction in front of a position, with the operand that comes next."""
    before = places.before(position).partition("//")[0]
    instr = next((found for m in _INSTRUCTION_NAMED.finditer(before) if (found := BY_TEXT.get(m[1])) is not None), None)
    if instr is None:
        return None
    forms = text_forms(instr)
    generic = before.lstrip().startswith('"') or '= "' in before
    label = forms["generic"] if generic and "generic" in forms else next(iter(forms.values()))
    spans = [match.span() for match in _PLACE.finditer(label)]
    parameters = [lsp.ParameterInformation(span) for span in spans]
    shown = lsp.SignatureInformation(label, _page(instr), parameters)
    return lsp.SignatureHelp([shown], 0, _active(before, label, spans))


def _page(instr: Instr) -> lsp.MarkupContent:
    rows = (f"- `{name}`: {', '.join(part for part in rest if part)}" for name, *rest in operand_rows(instr))
    return lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n".join([instr.summary, "", *rows]))


def _active(before: str, label: str, spans: list[tuple[int, int]]) -> int | None:
    """The operand of the form that stands at the end of the text: as many after its group as commas were written."""
    group = _GROUP.search(before)
    if group is None:
        return 0 if spans else None
    begin = label.find(f"{group[1]}(")
    end = label.find(")", begin)
    here = [k for k, (start, _) in enumerate(spans) if 0 <= begin < start < end]
    count = group[2].count(",")
    return here[count] if count < len(here) else None
