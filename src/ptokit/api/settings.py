"""The section ``[tool.ptokit]`` of the nearest pyproject.toml, and its rules."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Scope, Severity, define
from ptokit.records import dataclass
from ptokit.targets import TARGETS

from .program import STDIN, split

# Rules about how tools are told what to report.


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


# The section ``[tool.ptokit]`` of the nearest pyproject.toml.


NAME = "pyproject.toml"


@dataclass(frozen=True)
class Settings:
    """What a project says about checks; None or empty where it says nothing.

    ``target``: of programs that state none. The others are options of ``ptokit check`` and ``ptokit sanitize``.
    """

    target: tuple[str, ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    level: int | None = None
    auto_sync: bool = False
    rules: str | None = None
    extended: bool = False
    max_errors: int | None = None
    error_on_warning: bool = False
    file: str = ""


def _words(value: Any) -> tuple[str, ...] | None:
    entries = value if isinstance(value, list) else [value]
    return tuple(entries) if all(isinstance(entry, str) for entry in entries) else None


def _targets(value: Any) -> tuple[str, ...] | None:
    words = _words(value)
    return words if words and set(words) <= set(TARGETS) else None


def _one_of(*known: Any) -> Callable[[Any], Any]:
    return lambda value: value if type(value) is type(known[0]) and value in known else None


_KEYS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "target": (_targets, f"one of {', '.join(TARGETS)}, or a list of them"),
    "select": (_words, "a list of rules, or of beginnings of their ids"),
    "ignore": (_words, "a list of rules, or of beginnings of their ids"),
    "level": (_one_of(1, 2, 3), "1, 2 or 3"),
    "auto-sync": (_one_of(True, False), "true or false"),
    "rules": (_one_of("all", "assembler"), '"all" or "assembler"'),
    "extended": (_one_of(True, False), "true or false"),
    "max-errors": (lambda value: value if type(value) is int and value > 0 else None, "a number from 1"),
    "error-on-warning": (_one_of(True, False), "true or false"),
}


def settings_for(file: str) -> Settings:
    """The settings for a file: of the nearest pyproject.toml with such a section, in its folder or above.

    ``file``: as on the command line; of stdin the current folder counts. Raises `DiagnosticError` (CLI-07) for a
    section that is wrong.
    """
    try:
        folder = Path.cwd() if file in ("-", STDIN) else Path(split(file)[0]).absolute().parent
        return _of_folder(folder)
    except (OSError, ValueError):  # a name that no file can have
        return Settings()


def _of_folder(folder: Path) -> Settings:
    for above in (folder, *folder.parents):
        path = above / NAME
        try:
            state = path.stat()
            found = _read(path, state.st_mtime_ns, state.st_size)
        except OSError:
            continue
        if found is not None:
            return found
    return Settings()


@lru_cache(maxsize=256)
def _read(path: Path, time: int, size: int) -> Settings | None:
    """The settings in a file, if it has such a section; ``time`` and ``size`` tell it from what it was before."""
    content = path.read_bytes()
    if b"ptokit" not in content:
        return None
    section = _section(path, content)
    return None if section is None else _settings(path, content.decode(), section)


def _section(path: Path, content: bytes) -> dict[str, Any] | None:
    import tomllib

    try:
        tool = tomllib.loads(content.decode()).get("tool", {})
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _wrong(path, 0, f"the file is no TOML: {error}") from None
    section = tool.get("ptokit") if isinstance(tool, dict) else None
    return section if isinstance(section, dict) else None


def _settings(path: Path, text: str, section: dict[str, Any]) -> Settings:
    values = {}
    for key, value in section.items():
        line = _line_of(text, key)
        if key not in _KEYS:
            from ptokit.diagnostics.finding import suggest

            hint = suggest(key, _KEYS) or f"the keys are {', '.join(_KEYS)}"
            raise _wrong(path, line, f"[tool.ptokit] has no key {key!r}", hint)
        read, kind = _KEYS[key]
        found = read(value)
        if found is None:
            raise _wrong(path, line, f"{key} is {kind}, not {value!r:.80}")
        values[key.replace("-", "_")] = found
    return Settings(**values, file=str(path))


def _line_of(text: str, key: str) -> int:
    """The line of a key in the section, as far as it is written there."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if re.match(r"\s*\[\s*tool\s*\.\s*ptokit\s*\]", line)), len(lines))
    pattern = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
    return next((n + 1 for n in range(start, len(lines)) if pattern.match(lines[n])), 0)


def wrong_rules(settings: Settings, why: str) -> DiagnosticError:
    """The finding about rules that are selected or ignored there and that there are not."""
    return _wrong(Path(settings.file), 0, why)


def _wrong(path: Path, line: int, message: str, hint: str | None = None) -> DiagnosticError:
    at = Location(str(path), line, 1) if line else Location(str(path))
    return DiagnosticError(Diagnostic(SETTINGS.id, Severity.ERROR, message, at, hint))
