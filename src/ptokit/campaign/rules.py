"""Rules of campaigns."""

from ptokit.diagnostics import Scope, define

SPEC = define(
    "CAMP-SPEC",
    "A campaign's description is TOML with known keys and values of their kinds.",
    scope=Scope.RUN,
    why="A key that is misspelled would silently leave out what it asks for.",
    source="docs/campaigns.md",
    example='{do = ["check", "run"]|doo = ["check"]}',
    unrun="it is about files",
)
PROGRAMS = define(
    "CAMP-PROGRAMS",
    "A campaign names at least one program, and every program can be read.",
    scope=Scope.RUN,
    why="A campaign of no cases would pass whatever happens.",
    source="docs/campaigns.md",
    example='{programs = ["kernels/*.pto"]     where the folder has such files|programs = ["kernel/*.pto"]      '
    "where there is no such folder}",
    unrun="it is about files",
)
RESULTS = define(
    "CAMP-RESULTS",
    "The file of results can be written, and is one that ptokit made.",
    scope=Scope.RUN,
    why="Results of another program, or of a broken disk, must not be mixed with new ones; the file is left as it is.",
    source="docs/campaigns.md",
    example="{--out nightly.sqlite       a new file, or one of an earlier campaign|--out kernel.pto           a file "
    "of another kind}",
    unrun="it is about files",
)
TARGET = define(
    "CAMP-TARGET",
    "Every program of a campaign has a target: its text states one, or the campaign does.",
    scope=Scope.RUN,
    why="The targets accept and compute different things, so there is no default.",
    source="docs/campaigns.md",
    example='{ptokit campaign kernels/ --target a5, or targets = ["a5"]|ptokit campaign kernels/     where a text '
    "has no pto.target_arch}",
    unrun="it is about files",
)
