"""Rules about how tools are told what to report."""

from ptokit.diagnostics import Scope, Severity, define

UNUSED_IGNORE = define(
    "IGNORE-UNUSED",
    "A comment that ignores rules hides a finding.",
    severity=Severity.WARNING,
    scope=Scope.RUN,
    why="What it hid has been mended, or it stands in the wrong line or names the wrong rule; it would hide the next "
    "mistake there.",
    source="docs/cli.md, In CI",
    example="// ptokit check\n"
    "%t = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>\n"
    "pto.tadd ins(%t, %u : !pto.tile_buf<vec, 16x16xf32>, !pto.tile_buf<vec, 16x16xf{16|32}>) "
    "outs(%t : !pto.tile_buf<vec, 16x16xf32>)  // ptokit: ignore[EW-04] until there is a mixed TADD",
)
IGNORE_FORM = define(
    "IGNORE-FORM",
    "A comment that ignores findings names rules, or beginnings of their ids.",
    severity=Severity.WARNING,
    scope=Scope.RUN,
    why="One that names none would hide every mistake in its line.",
    source="docs/cli.md, In CI",
    example="// ptokit check\n"
    "%t = pto.alloc_tile : !pto.tile_buf<vec, 16x16xf32>\n"
    "pto.tadd ins(%t, %u : !pto.tile_buf<vec, 16x16xf32>, !pto.tile_buf<vec, 16x16xf{16|32}>) "
    "outs(%t : !pto.tile_buf<vec, 16x16xf32>)  // ptokit: ignore{[EW-04] until there is a mixed TADD|}",
)
SETTINGS = define(
    "CLI-07",
    "The section [tool.ptokit] of pyproject.toml has known keys and values of their kinds.",
    scope=Scope.RUN,
    why="A key with a slip of the pen would be passed over in silence.",
    source="docs/cli.md, In CI",
    example="""
        {[tool.ptokit]
        target = ["a2a3", "a5"]|[tool.ptokit]
        targets = ["a2a3", "a5"]}
    """,
    unrun="it is about files",
)
