"""How an instruction is written, while it is being written."""

from __future__ import annotations

import re

from lsprotocol import types as lsp

from ptokit.asm.instruction_forms import text_forms
from ptokit.isa.reference import operand_rows
from ptokit.isa.table import BY_TEXT, Instr

from .positions import EditorPositions

TRIGGERS = ["(", ",", " "]
_NAMED = re.compile(r'"?\b(?:pto\.)?([a-z]\w*(?:\.\w+)*)"?\s*(?=[%(]|ins\b|outs\b|$)')
_GROUP = re.compile(r"\b(ins|outs)\s*\(([^():]*)$")
_PLACE = re.compile(r"%\w+")


def signature(places: EditorPositions, position: lsp.Position) -> lsp.SignatureHelp | None:
    """The forms of the instruction in front of a position, with the operand that comes next."""
    before = places.before(position).partition("//")[0]
    instr = next((found for m in _NAMED.finditer(before) if (found := BY_TEXT.get(m[1])) is not None), None)
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
    """The operand of the form that stands at the end of the text: as many behind its group as commas were written."""
    group = _GROUP.search(before)
    if group is None:
        return 0 if spans else None
    begin = label.find(f"{group[1]}(")
    end = label.find(")", begin)
    here = [k for k, (start, _) in enumerate(spans) if 0 <= begin < start < end]
    count = group[2].count(",")
    return here[count] if count < len(here) else None
