"""``ptokit check``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ptokit import __version__
from ptokit.diagnostics import Diagnostic, Diagnostics
from ptokit.diagnostics.render import summary
from ptokit.diagnostics.sarif import Details, sarif
from ptokit.ir.levels import stated_level

from .console import remark, say, show_diagnostics
from .load import load, parse_target


def check_file(
    file: str,
    target_name: str | None,
    *,
    format: str,
    extended: bool,
    level: int | None = None,
    auto_sync: bool = False,
    assembler: bool = False,
) -> bool:
    """Report all findings of `file` as ``text``, ``json`` or ``sarif``; True if none of them is an error.

    ``level``, ``auto_sync``, ``assembler``: as for `ptokit.ir.verify`.
    """
    wanted = parse_target(target_name)
    module, target, found = load(file, wanted, extended=extended, level=level, auto_sync=auto_sync, assembler=assembler)
    if format == "json":
        say(json.dumps(report(found), indent=2))
    elif format == "sarif":
        say(sarif_text(found))
    else:
        show_diagnostics(found)
        if len(found):
            remark(f"{file}: {summary(found)}")
        else:
            say(f"{file}: no findings for {target.name}, level {level or stated_level(module)}")
    return not found.errors


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
