"""How findings are reported: options of the command line over those of the project, and the rules of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ptokit.api.errors import UsageError
from ptokit.api.findings import ByTarget, as_json, sarif_text, selection, workflow_lines
from ptokit.api.settings import Settings, wrong_rules
from ptokit.diagnostics import Scope, define
from ptokit.records import dataclass

from .console import say

# How findings are reported: options of the command line over those of the project, and the forms.


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


# Rules the command line itself checks.


OUTPUT_DIRECTORY = define(
    "CLI-02",
    "the directory for results can be created and written",
    scope=Scope.RUN,
    why="Results are written together after the run; a run whose results cannot be kept is stopped before it starts.",
    source="docs/formats.md, Outputs",
    example="{--out results      where results is a directory or does not exist yet|--out kernel.pto   where "
    "kernel.pto is a file}",
    unrun="it is about files",
)
PICTURE_FILE = define(
    "CLI-03",
    "the file for a picture can be written",
    scope=Scope.RUN,
    why="A picture is written completely or not at all.",
    source="docs/cli.md, layout",
    example="{--svg nz.svg         in a directory that exists|--svg drawings/      where drawings is a directory}",
    unrun="it is about files",
)
REPORT_FILE = define(
    "CLI-04",
    "the file for a report can be written",
    scope=Scope.RUN,
    why="A run whose report cannot be kept is stopped before it starts.",
    source="docs/conformance.md",
    example="{--junit results.xml    in a directory that exists|--junit results        where results is a directory}",
    unrun="it is about files",
)
FORMATTED_FILE = define(
    "CLI-05",
    "a file that is laid out anew can be written",
    scope=Scope.RUN,
    why="The new text is completed beside the file and then takes its place, so the directory must be writable.",
    source="docs/cli.md, fmt",
    example="{ptokit fmt kernel.pto           in a directory of one's own|ptokit fmt /usr/share/k.pto     where only "
    "the administrator may write; --stdout works}",
    unrun="it is about files",
)
CONVERTED_FILE = define(
    "CLI-06",
    "the file for a converted text can be written",
    scope=Scope.RUN,
    why="The text is completed beside the file and then takes its place: it is there as a whole or not at all.",
    source="docs/cli.md, convert",
    example="{ptokit convert k.pto --to ssa -o k_ssa.pto    in a directory that exists|ptokit convert k.pto --to ssa "
    "-o forms        where forms is a directory}",
    unrun="it is about files",
)
FIXED_FILE = define(
    "CLI-08",
    "a file that is mended can be written, and is still the one that was looked at",
    scope=Scope.RUN,
    why="Fixes are lines of the text that the findings are about: in another text they would be at other places.",
    source="docs/cli.md, fix",
    example="{ptokit check kernel.pto --fix      of one's own file|ptokit check kernel.pto --fix      where "
    "kernel.pto is read-only}",
    unrun="it is about files",
)
