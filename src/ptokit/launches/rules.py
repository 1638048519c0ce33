"""Rules of launches on other processes."""

from ptokit.diagnostics import Scope, define

LOST = define(
    "RUN-LOST",
    "The workers of a launch stay alive long enough to run their blocks.",
    scope=Scope.RUN,
    why="Blocks whose worker dies are run once more elsewhere; where that one dies, too, their results are missing.",
    source="docs/campaigns.md",
    example="{a worker that is killed once|a machine without enough memory for the tiles and arrays of a block}",
    unrun="it is about other processes and machines",
)
