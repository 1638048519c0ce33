"""How findings are reported: options of the command line over those of the project, and the forms."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ptokit.api.errors import UsageError
from ptokit.api.findings import ByTarget, as_json, sarif_text
from ptokit.api.github import workflow_lines
from ptokit.api.selection import selection
from ptokit.api.settings import Settings, wrong_rules
from ptokit.records import dataclass

from .console import say


@dataclass(frozen=True)
class Reporting:
    """What the options say about what is reported; None where they say nothing."""

    format: str = "text"
    select: Sequence[str] | None = None
    ignore: Sequence[str] | None = None
    max_errors: int | None = None
    error_on_warning: bool = False

    def selection(self, settings: Settings) -> dict[str, Any]:
        """The options of `check` and `sanitize` that select findings."""
        try:
            selection(settings.select, settings.ignore)
        except UsageError as error:
            raise wrong_rules(settings, f"{error.parameter}: {error}") from None
        select = settings.select if self.select is None else self.select
        return {"select": select, "ignore": settings.ignore if self.ignore is None else self.ignore}


def left_out_text(left_out: int) -> str:
    """How many errors are not shown."""
    return f", {left_out} of the errors not shown (--max-errors)" if left_out else ""


def report_forms(found: Sequence[ByTarget], left_out: int, format: str) -> None:
    """Write findings as JSON, SARIF or annotations."""
    if format == "json":
        say(json.dumps(as_json(found, left_out), indent=2))
    elif format == "sarif":
        say(sarif_text(found))
    elif format == "github":
        for line in workflow_lines(found, Path.cwd()):
            say(line)
