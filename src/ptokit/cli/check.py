"""``ptokit check``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptokit import __version__
from ptokit.diagnostics import Diagnostic, Diagnostics, Scope, lookup
from ptokit.diagnostics.render import summary, visible_name
from ptokit.diagnostics.sarif import Details, sarif
from ptokit.ir.levels import stated_level

from .console import remark, say, show_diagnostics
from .inputs import expand
from .load import load, parse_target

if TYPE_CHECKING:
    from ptokit.ir import Module
    from ptokit.targets import Target


def check_files(
    names: Sequence[str],
    target_name: str | None,
    *,
    format: str,
    extended: bool,
    level: int | None = None,
    auto_sync: bool = False,
    assembler: bool = False,
) -> bool:
    """Report all findings of the files as ``text``, ``json`` or ``sarif``; True if none of them is an error.

    ``names``: as for `expand`. ``level``, ``auto_sync``, ``assembler``: as for `ptokit.ir.verify`.
    """
    wanted = parse_target(target_name)
    files = expand(names)
    everything = Diagnostics()
    for file in files:
        module, target, found = load(
            file, wanted, extended=extended, level=level, auto_sync=auto_sync, assembler=assembler
        )
        for diagnostic in found:
            everything.add(diagnostic)
        if format == "text":
            show_diagnostics(found)
            if len(found):
                passes = found.errors and not assembler and assembler_accepts(module, target, found, level, auto_sync)
                remark(f"{visible_name(file)}: {summary(found)}{ACCEPTED if passes else ''}")
            else:
                say(f"{visible_name(file)}: no findings for {target.name}, level {level or stated_level(module)}")
    if format == "json":
        say(json.dumps(report(everything), indent=2))
    elif format == "sarif":
        say(sarif_text(everything))
    elif len(files) > 1 and len(everything):
        remark(f"{len(files)} files: {summary(everything)}")
    return not everything.errors


ACCEPTED = "; the assembler accepts the file (--rules assembler)"


def assembler_accepts(module: Module, target: Target, found: Diagnostics, level: int | None, auto_sync: bool) -> bool:
    """True if the reference assembler refuses nothing in a module with these findings."""
    from ptokit.ir.verify import verify

    if any(lookup(d.rule).scope in (Scope.TEXT, Scope.ASSEMBLER) for d in found.errors):
        return False
    return not verify(module, target, level=level, auto_sync=auto_sync, assembler=True).errors


def report(found: Diagnostics) -> dict[str, Any]:
    """The JSON object of docs/formats.md."""
    return {
        "diagnostics": [diagnostic.as_json() for diagnostic in found],
        "summary": {"errors": len(found.errors), "warnings": len(found.warnings)},
    }


def sarif_text(
    found: Diagnostics,
    properties: dict[str, Any] | None = None,
    details: Mapping[Diagnostic, Details] | None = None,
) -> str:
    """The SARIF log of docs/formats.md."""
    return json.dumps(sarif(found, __version__, Path.cwd(), properties=properties, details=details), indent=2)
