"""Options that several commands have, and what a shell completes."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated, Any

import typer

from ptokit.types.choices import Matmul, Mode

# What a shell completes: programs, targets, instructions, rules.


def programs(incomplete: str) -> list[str]:
    """Folders, `.pto` files and Python files that begin so; after ``kernels.py:`` its functions with a decorator."""
    file, colon, name = incomplete.rpartition(":")
    if colon and file.endswith(".py"):
        return [f"{file}:{kernel}" for kernel in _kernels(file) if kernel.startswith(name)]
    folder, beginning = os.path.split(incomplete)
    try:
        entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
    except OSError:
        return []
    found = []
    for entry in entries:
        if not entry.name.startswith(beginning) or (entry.name.startswith(".") and not beginning):
            continue
        path = os.path.join(folder, entry.name)
        if entry.is_dir():
            found.append(f"{path}/")
        elif entry.name.endswith((".pto", ".py", ".toml")):
            found.append(path)
    return found


def targets(incomplete: str) -> list[str]:
    """Targets that begin so."""
    from ptokit.targets import TARGETS

    return [name for name in TARGETS if name.startswith(incomplete)]


def instructions(incomplete: str) -> list[str]:
    """Names of instructions, in C++ or in text, that begin so."""
    from ptokit.isa.table import BY_TEXT, TABLE

    return sorted({name for name in (*TABLE, *BY_TEXT) if name.startswith(incomplete)})


def rules(incomplete: str) -> list[str]:
    """Rule ids that begin so."""
    from ptokit.api.findings import load_catalogue
    from ptokit.diagnostics import CATALOGUE

    load_catalogue()
    return sorted(id for id in CATALOGUE if id.startswith(incomplete))


def _kernels(file: str) -> list[str]:
    import ast

    try:
        with open(file, "rb") as opened:
            tree = ast.parse(opened.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list]


# Options that several commands have.


class Format(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


class ReportFormat(StrEnum):
    """How a report is printed."""

    TEXT = "text"
    JSON = "json"


class CoreKind(StrEnum):
    """Kinds of cores that C++ files are compiled for."""

    VECTOR = "vector"
    CUBE = "cube"
    MIX = "mix"


class Also(StrEnum):
    """Rules of the sanitizer that are off by default."""

    REUSE = "FLAG-REUSE-RACE"
    ALIAS = "FLAG-ALIAS"


TextFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="The .pto files, or folders of them; - for stdin.",
        show_default=False,
        autocompletion=programs,
    ),
]
Fix = Annotated[
    bool, typer.Option("--fix", help="Write into the file what findings propose, where it leaves fewer of them.")
]
Diff = Annotated[bool, typer.Option("--diff", help="Print what --fix would change, and change nothing.")]
File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A .pto file, - for stdin, or a kernel in Python or C++: kernels.py:name, kernel.cpp.",
        show_default=False,
        autocompletion=programs,
    ),
]
Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="The .pto files, or folders; - for stdin; Python and C++ files, kernels.py:name for one kernel.",
        show_default=False,
        autocompletion=programs,
    ),
]
Arguments = Annotated[
    list[str] | None, typer.Option("--arg", "-a", metavar="VALUE", help="An argument; repeat in order.")
]
Ranks = Annotated[
    int | None,
    typer.Option(
        min=1, max=64, metavar="N", help="Launch on N devices; arrays have a leading axis for them.", show_default=False
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        *("--target", "-t"),
        metavar="T",
        help="cpu, a2a3 or a5; needed unless the file states pto.target_arch.",
        autocompletion=targets,
    ),
]
Targets = Annotated[
    list[str] | None,
    typer.Option(
        *("--target", "-t"),
        metavar="T",
        help="cpu, a2a3 or a5; repeat for several; needed unless the file states pto.target_arch.",
        show_default=False,
        autocompletion=targets,
    ),
]
Select = Annotated[
    list[str] | None,
    typer.Option(
        "--select",
        metavar="RULE",
        help="Report only rules that begin so; repeatable.",
        show_default=False,
        autocompletion=rules,
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore",
        metavar="RULE",
        help="Do not report rules that begin so; repeatable.",
        show_default=False,
        autocompletion=rules,
    ),
]
MaxErrors = Annotated[
    int | None, typer.Option("--max-errors", min=1, metavar="N", help="Show the first N errors; the status counts all.")
]
ErrorOnWarning = Annotated[
    bool, typer.Option("--error-on-warning", help="End with status 1 where there are warnings, too.")
]
Extended = Annotated[
    bool, typer.Option("--extended", help="Let the cpu target run element types that only devices have.")
]
Entry = Annotated[
    str | None,
    typer.Option(metavar="F", help="The kernel to run, where the file has several; of C++ also a template: 'Add<64>'."),
]


def _to_cpp(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> Any:
    """Keep what is said of C++ files for when one is opened."""
    if value:
        from ptokit.api.files import stated

        setattr(stated, str(param.name), value)
    return value


Include = Annotated[
    list[str] | None,
    typer.Option(
        *("--include", "-I"),
        metavar="DIR",
        help="Of C++: where its headers are; repeatable.",
        show_default=False,
        callback=_to_cpp,
        expose_value=False,
    ),
]
Define = Annotated[
    list[str] | None,
    typer.Option(
        *("--define", "-D"),
        metavar="MACRO",
        help="Of C++: define NAME or NAME=VALUE; repeatable.",
        show_default=False,
        callback=_to_cpp,
        expose_value=False,
    ),
]
Core = Annotated[
    CoreKind | None,
    typer.Option(
        help="Of C++: the kind of core to compile for; by default what the file is.",
        show_default=False,
        callback=_to_cpp,
        expose_value=False,
    ),
]
CppEntry = Annotated[
    str | None,
    typer.Option(
        "--entry",
        metavar="F",
        help="Of C++: only this kernel, also a template with its arguments: 'Add<float, 64>'.",
        show_default=False,
        callback=_to_cpp,
        expose_value=False,
    ),
]
Blocks = Annotated[int, typer.Option("--blocks", "-b", min=1, metavar="N", help="Blocks to launch.")]
MatmulMode = Annotated[Matmul, typer.Option(help="Sums of products: rounded once, in f32, or in the order of k.")]
VectorCores = Annotated[
    int, typer.Option(min=1, max=2, metavar="N", help="Vector cores beside each cube core of a mixed kernel.")
]
SanitizerMode = Annotated[
    Mode | None, typer.Option(help="Who places tiles and orders pipes, where the program does not tell.")
]
FindingsFormat = Annotated[Format, typer.Option(help="How to print findings.")]
