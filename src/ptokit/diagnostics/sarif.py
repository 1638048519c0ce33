"""Diagnostics as SARIF 2.1.0, the format in which code hosts and editors take the findings of a tool.

A run for each target, with the rules that its results name. Columns count characters, as everywhere in ptokit; the
output depends on the findings, the files they quote and `root` only.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ptokit.records import dataclass

from .finding import Diagnostic, Edit, Severity, replacement
from .location import Location, end_column, file_lines
from .render import link_to, page_of
from .rules import CATALOGUE, Rule

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


@dataclass(frozen=True)
class Details:
    """More about a finding: facts, and a fix in words and as edits of the text."""

    properties: dict[str, Any] = field(default_factory=dict)
    fix: str = ""
    edits: tuple[Edit, ...] = ()


def sarif(
    findings: Mapping[str, Iterable[Diagnostic]],
    version: str,
    root: Path,
    *,
    properties: Mapping[str, dict[str, Any]] | None = None,
    details: Mapping[Diagnostic, Details] | None = None,
) -> dict[str, Any]:
    """The SARIF log of findings by the name of their target, in their order: a run for each target.

    ``version`` is that of ptokit. Findings of no target have the name "". Files below the absolute directory `root` get
    relative URIs, others absolute ones. ``properties`` are facts about the runs, by target, that SARIF has no place
    for, ``details`` those about single findings.
    """
    facts = properties or {}
    runs = [
        _run(list(found), target, version, root, facts.get(target), details or {}) for target, found in findings.items()
    ]
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": runs}


def _run(
    found: list[Diagnostic],
    target: str,
    version: str,
    root: Path,
    properties: dict[str, Any] | None,
    details: Mapping[Diagnostic, Details],
) -> dict[str, Any]:
    ids = sorted({d.rule for d in found})
    places = {id: index for index, id in enumerate(ids)}
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "ptokit", "semanticVersion": version, "rules": [_rule(id) for id in ids]}},
        "columnKind": "unicodeCodePoints",
        "results": [{**_result(d, places[d.rule], root), **_details(details.get(d), root)} for d in found],
    }
    if target:
        run["automationDetails"] = {"id": f"ptokit/{target}/"}
    facts = {**({"target": target} if target else {}), **(properties or {})}
    if facts:
        run["properties"] = facts
    return run


def _details(details: Details | None, root: Path) -> dict[str, Any]:
    if details is None:
        return {}
    out: dict[str, Any] = {"properties": details.properties} if details.properties else {}
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in details.edits:
        region = {"startLine": edit.line, "startColumn": 1, "endLine": edit.line + edit.removed, "endColumn": 1}
        text = "" if edit.text is None else f"{edit.text}\n"
        change = {"deletedRegion": region, "insertedContent": {"text": text}}
        changes.setdefault(_uri(edit.file, root), []).append(change)
    if changes:
        out["fixes"] = [_fix(details.fix, changes)]
    return out


def _fix(description: str, changes: Mapping[str, list[dict[str, Any]]]) -> dict[str, Any]:
    files = [{"artifactLocation": {"uri": uri}, "replacements": parts} for uri, parts in changes.items()]
    return {"description": _message(description), "artifactChanges": files}


def _spelling(d: Diagnostic, root: Path) -> dict[str, Any] | None:
    """The fix that the hint of a finding proposes."""
    edit = replacement(d, file_lines)
    if edit is None or edit.file is None:
        return None
    region = {"startLine": edit.line, "startColumn": edit.start + 1, "endLine": edit.line, "endColumn": edit.end + 1}
    change = {"deletedRegion": region, "insertedContent": {"text": edit.text}}
    return _fix(f"write {edit.text}", {_uri(edit.file, root): [change]})


def _rule(id: str) -> dict[str, Any]:
    rule = CATALOGUE.get(id)
    if rule is None:
        return {"id": id}
    out: dict[str, Any] = {"id": id, "shortDescription": {"text": rule.what}}
    if rule.why:
        out["fullDescription"] = {"text": " ".join(rule.why.split())}
    out["help"] = {"text": _help(rule)}
    page = link_to(page_of(id))
    if page is not None:
        out["helpUri"] = page
    out["defaultConfiguration"] = {"level": _level(rule.severity)}
    return out


def _help(rule: Rule) -> str:
    parts = [rule.what]
    for title, text in (("Accepted", rule.accepted), ("Refused", rule.refused)):
        if text:
            parts.append(f"{title}:\n" + "\n".join(f"    {line}".rstrip() for line in text.strip("\n").splitlines()))
    return "\n\n".join(parts)


def _level(severity: Severity) -> str:
    return str(severity)  # SARIF has the same three words


def _result(d: Diagnostic, index: int, root: Path) -> dict[str, Any]:
    lines = [d.message]
    if d.hint:
        lines.append(f"hint: {d.hint}")
    lines += [f"note: {note.message}" for note in d.remarks if note.location.file is None]
    out: dict[str, Any] = {
        "ruleId": d.rule,
        "ruleIndex": index,
        "level": _level(d.severity),
        "message": _message("\n".join(lines)),
    }
    if d.location.file is not None:
        out["locations"] = [{"physicalLocation": _place(d.location, root)}]
    fix = _spelling(d, root) if d.hint else None
    if fix is not None:
        out["fixes"] = [fix]
    placed = [note for note in d.remarks if note.location.file is not None]
    if placed:
        out["relatedLocations"] = [
            {"id": id, "physicalLocation": _place(note.location, root), "message": _message(note.message)}
            for id, note in enumerate(placed, 1)
        ]
    return out


def _message(text: str) -> dict[str, str]:
    return {"text": text.replace("{", "{{").replace("}", "}}")}  # single braces hold places for arguments


def _place(at: Location, root: Path) -> dict[str, Any]:
    assert at.file is not None
    out: dict[str, Any] = {"artifactLocation": {"uri": _uri(at.file, root)}}
    if at.line:
        out["region"] = {"startLine": at.line, "startColumn": max(at.column, 1), "endColumn": end_column(at)}
    return out


def _uri(file: str, root: Path) -> str:
    """`file` as a URI: relative to `root` where it lies below, else absolute."""
    path = Path(os.path.normpath(root / file))
    if path.is_relative_to(root):
        return quote(os.fsencode(path.relative_to(root).as_posix()))
    return path.as_uri()
