"""Rules of work on other processes."""

from ptokit.diagnostics import Scope, define

EXECUTOR = define(
    "RUN-EXECUTOR",
    "The executor can be reached, and what it needs is installed.",
    scope=Scope.RUN,
    why="The work is done elsewhere: a cluster that does not answer can give no results.",
    source="docs/campaigns.md",
    example="{--executor dask://127.0.0.1:8786     with pip install distributed, and a scheduler there|--executor "
    "dask                      without an address}",
    unrun="it is about other processes and machines",
)
