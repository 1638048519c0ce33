"""Options are said once: records, keyword arguments of the library and the command line agree."""

from __future__ import annotations

from inspect import signature
from typing import Any, get_type_hints

import pytest
import typer

import ptokit as pto
from ptokit.api.parts import checked
from ptokit.cli.main import app
from ptokit.diagnostics import UsageError
from ptokit.types.choices import (
    CheckKeywords,
    CheckOptions,
    LaunchKeywords,
    LaunchOptions,
    ReportOptions,
    RunKeywords,
    RunOptions,
    SanitizeKeywords,
    SanitizeOptions,
    options_of,
    taken,
)

PAIRS: list[tuple[Any, Any]] = [
    (LaunchOptions, LaunchKeywords),
    (RunOptions, RunKeywords),
    (SanitizeOptions, SanitizeKeywords),
    (CheckOptions, CheckKeywords),
]
COMMANDS = {
    "run": (LaunchOptions, RunOptions),
    "sanitize": (LaunchOptions, SanitizeOptions, ReportOptions),
    "check": (CheckOptions, ReportOptions),
}


def keyword_types(keywords: Any) -> dict[str, str]:
    return {name: given.__forward_arg__ for name, given in keywords.__annotations__.items()}


@pytest.mark.parametrize(("record", "keywords"), PAIRS)
def test_keywords_for_type_checkers_are_those_of_the_record(record: Any, keywords: Any) -> None:
    shared = {} if keywords in (LaunchKeywords, CheckKeywords) else keyword_types(LaunchKeywords)
    own = {name: kind for name, kind in keyword_types(keywords).items() if name not in shared}
    of_record = {name: kind for name, kind in record.__annotations__.items() if name != "blocks"}
    assert own == of_record


@pytest.mark.parametrize("function", [pto.run, pto.sanitize, pto.check])
def test_the_library_shows_every_option_with_its_default(function: Any) -> None:
    shown = signature(function).parameters
    for record in COMMANDS[function.__name__]:
        for name, (default, _) in options_of(record).items():
            if record is not ReportOptions:
                assert shown[name].default == default


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_line_has_every_option_with_its_help(command: str) -> None:
    found = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    options = {param.name: param for param in found.params}
    for record in COMMANDS[command]:
        for name, (_, said) in options_of(record).items():
            assert options[name].help == said.help


def test_a_name_that_there_is_not_is_refused_as_python_does() -> None:
    with pytest.raises(TypeError, match="vector_core"):
        pto.run("x.pto", vector_core=1)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        (LaunchOptions(vector_cores=3), "vector_cores"),
        (RunOptions(matmul="slow"), "matmul"),
        (RunOptions(threads=0), "threads"),
        (SanitizeOptions(also=("FLAG-ALIAS", "TILE-1")), "also"),
        (CheckOptions(level=4), "level"),
    ],
)
def test_values_that_an_option_does_not_take_are_refused_by_its_name(options: Any, parameter: str) -> None:
    with pytest.raises(UsageError) as error:
        checked(options)
    assert error.value.parameter == parameter


def test_a_run_refuses_no_number_of_blocks_itself() -> None:
    assert checked(LaunchOptions(blocks=0)).blocks == 0  # RUN-BLOCKS does


def test_keywords_that_are_taken_are_gone() -> None:
    given = {"order": "profile", "x": 1}
    assert taken(SanitizeOptions, given).order == "profile"
    assert given == {"x": 1}


def test_hints_of_the_records_can_be_read() -> None:
    assert get_type_hints(CheckOptions)["auto_sync"] is bool
