"""Rules the command line itself checks."""

from ptokit.diagnostics import Scope, define

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
