"""Options that several commands have, and what a shell completes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import is_dataclass
from enum import StrEnum
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, get_type_hints

import typer

from ptokit.types.choices import LaunchOptions, OptionalRule, SanitizeOptions, options_of

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


class ReportFormat(StrEnum):
    """How a report is printed."""

    TEXT = "text"
    JSON = "json"


class ProofFormat(StrEnum):
    """How a proof is printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"


class ProvedRule(StrEnum):
    """Rules of ``check`` that are off by default."""

    SUPERFLUOUS = OptionalRule.SUPERFLUOUS.value


class CoreKind(StrEnum):
    """Kinds of cores that C++ files are compiled for."""

    VECTOR = "vector"
    CUBE = "cube"
    MIX = "mix"


TextFiles = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="The .pto files, or folders of them; - for stdin.",
        show_default=False,
        autocompletion=programs,
    ),
]
AlsoProved = Annotated[
    list[ProvedRule] | None,
    typer.Option("--also", help="Report what is superfluous, too, which takes the solver.", metavar="RULE-ID"),
]
Fix = Annotated[
    bool,
    typer.Option("--fix", help="Write into the file what findings propose, where it leaves fewer of them."),
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
Targets = Annotated[
    list[str] | None,
    typer.Option(
        *("--target", "-t"),
        metavar="T",
        help="A target (see ptokit targets); repeat for several; needed unless the file states pto.target_arch.",
        show_default=False,
        autocompletion=targets,
    ),
]


def _to_cpp(ctx: typer.Context, param: typer.CallbackParam, value: Any) -> Any:
    """Keep what is said of C++ files for when one is opened."""
    if value or "ptokit.api.files" in sys.modules:  # where another command of this process may have said something
        from ptokit.api.files import Stated, stated

        name = str(param.name)
        setattr(stated, name, value or getattr(Stated(), name))
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
# Records of options, which are said in `types/choices.py`.


def said(record: Any, name: str) -> Any:
    """The annotation of a parameter that is this option of a record."""
    default, option = options_of(record)[name]
    numbers = option.among if isinstance(option.among, tuple) else ()
    word = str(record.__dataclass_fields__[name].type).partition(" ")[0]
    kind: Any = option.among if isinstance(option.among, type) else {"bool": bool, "int": int}.get(word, str)
    flags = (f"--{name.replace('_', '-')}", *([option.short] if option.short else ()))
    limits: dict[str, Any] = {"min": min(numbers), "max": max(numbers)} if numbers else {}
    limits |= {} if option.least is None else {"min": option.least, "max": option.most}
    limits |= {"autocompletion": _COMPLETED[option.of], "show_default": False} if option.of else {}
    kind = list[kind] if word.startswith("Sequence") else kind
    shown = typer.Option(*flags, help=option.help, metavar=option.metavar, **limits)
    return Annotated[kind | None if default in (None, ()) else kind, shown]


_COMPLETED = {"rules": rules}


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """A command that gets records of options: in the place of each the command line has all of its options."""
    hints = get_type_hints(command, include_extras=True)
    records: dict[str, Any] = {}
    parameters: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        record = hints[parameter.name]
        if not is_dataclass(record):
            parameters.append(parameter.replace(annotation=record))
            continue
        records[parameter.name] = record
        for name, (default, option) in options_of(record).items():
            given = None if default == () else default
            given = option.among(given) if isinstance(option.among, type) and given is not None else given
            own = Parameter(name, parameter.KEYWORD_ONLY, default=given, annotation=said(record, name))
            parameters.append(own)

    def call(**values: Any) -> None:
        for name, record in records.items():
            given = {option: _plain(values.pop(option)) for option in options_of(record)}
            values[name] = record(**{key: value for key, value in given.items() if value is not None})
        command(**values)

    call.__name__, call.__doc__ = command.__name__, command.__doc__
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    in_order = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in parameters]
    call.__signature__ = Signature(in_order)  # type: ignore[attr-defined]
    return call


def _plain(value: Any) -> Any:
    """The words of members."""
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    return value.value if isinstance(value, StrEnum) else value


Blocks = said(LaunchOptions, "blocks")
VectorCores = said(LaunchOptions, "vector_cores")
Extended = said(LaunchOptions, "extended")
SanitizerMode = said(SanitizeOptions, "mode")
