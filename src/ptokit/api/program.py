"""Programs as the functions of the library take them, what is read, and the settings in pyproject.toml."""

from __future__ import annotations

import ast
import contextlib
import linecache
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ptokit.asm import parse_module
from ptokit.asm.text.lexer import read_stream, read_text
from ptokit.asm.text.rules import FILE
from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location, Scope, Severity, UsageError, define
from ptokit.diagnostics.finding import keep_text
from ptokit.ir.core import Module
from ptokit.ir.functions import stated_target
from ptokit.records import dataclass
from ptokit.targets import TARGETS

if TYPE_CHECKING:
    from ptokit.targets import Target

    from .entries import Entry


# Programs as the functions of the library take them, and where they are read from.


TEXT = "<text>"
"""How findings call a text that has no name."""


Program = Any
"""A path, a `.pto` text, a `Source`, a kernel in Python, or an `Origin`."""


class Origin:
    """What a program is read from, for one target or another: a text, a kernel in Python, a file in C++."""

    file: str
    called = False  # True for a kernel in Python: arguments decide what is read

    def read(self, target: Target | None, args: Sequence[Any] = ()) -> Source:
        """The program for a target, None for the one that it states; ``args``: of a kernel in Python."""
        raise NotImplementedError

    def passed(self, args: Sequence[Any]) -> list[Any]:
        """Those arguments that a launch of the program hands over."""
        return list(args)

    def single(self) -> Origin:
        """The only kernel of the file, or the one that is named."""
        return self


@dataclass(frozen=True)
class Source:
    """A program as it was read: its module, and the findings of reading it.

    With errors among the findings the module holds what could be understood. ``text`` is None where there is none.
    """

    file: str
    text: str | None
    module: Module
    diagnostics: Diagnostics = field(default_factory=Diagnostics)
    origin: Origin | None = field(default=None, repr=False, compare=False)
    own_target: Target | None = None
    lines: range | None = None  # of a kernel in Python
    read_for: Target | None = None  # what `read` was told, where the program states none

    @property
    def kernels(self) -> list[str]:
        """Names of what can be run; a cube and a vector function that exchange tiles are one kernel."""
        return [entry.name for entry in self.entries]

    @property
    def entries(self) -> list[Entry]:
        """The kernels as objects: parameters, cores and pipes, and functions that launch them."""
        from ptokit.run.program import kernels_of

        from .entries import Entry

        return [Entry(self, function) for function in kernels_of(self.module)]

    @property
    def target(self) -> Target | None:
        """The target that the program states, or None."""
        return self.own_target or stated_target(self.module)

    def target_or(self, wanted: Target | None, default: Target | None = None) -> Target:
        """`wanted`, or the target that the program states, or `default`. Raises `UsageError` where there is none."""
        target = wanted or self.target or default
        if target is None:
            message = f"{self.file} states no pto.target_arch; say which target is meant: one of {', '.join(TARGETS)}."
            raise UsageError(message, "target")
        return target


def text_of(file: str) -> str:
    """The text of a file that has been read. Raises `DiagnosticError` where it is not UTF-8."""
    text, found = read_input(file)
    found.raise_if_errors()
    return text or ""


def executed_text(file: str) -> str:
    """The text of a file, or of what else Python has executed: a cell, or a kernel that was synchronised."""
    if os.path.isfile(file):
        return text_of(file)
    text = "".join(linecache.getlines(file))
    keep_text(file, text)
    return text


@contextlib.contextmanager
def beside(path: str, text: str, why: str) -> Iterator[str]:
    """A file in the folder of another one, for as long as it is looked at. Raises `OSError`."""
    place = Path(path)
    handle, name = tempfile.mkstemp(prefix=f"{place.stem[:60]}_{why}_", suffix=place.suffix, dir=place.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        yield name
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)


@dataclass(frozen=True)
class Text(Origin):
    """A `.pto` text, or why there is none."""

    file: str
    text: str | None
    found: Diagnostics = field(default_factory=Diagnostics)

    def read(self, target: Target | None, args: Sequence[Any] = ()) -> Source:
        """The module in the text."""
        if self.text is None:
            return Source(self.file, None, Module(file=self.file), self.found, self)
        result = parse_module(self.text, self.file, target=target)
        return Source(self.file, self.text, result.module, result.diagnostics, self)


# What is read: files, folders of files, or stdin.


STDIN = "<stdin>"
"""How findings call what is read for ``-``."""


PYTHON = ".py"
"""What the names of files with kernels in Python end with."""


CPP = (".cpp", ".cce", ".cc", ".cxx")
"""What the names of files with kernels in C++ end with."""


def split(path: str) -> tuple[str, str]:
    """The file and the kernel that ``kernels.py:name`` or ``kernel.cpp:Name<4>`` names; "" where there is none."""
    file, colon, name = path.rpartition(":")
    if colon and file.endswith(PYTHON):
        return file, name
    found = _CPP_KERNEL.fullmatch(path)
    return (found[1], found[2]) if found else (path, "")


_CPP_KERNEL = re.compile(rf"(.*?(?:{'|'.join(re.escape(end) for end in CPP)})):(.*)", re.DOTALL)


def expand(names: Sequence[str], *, kernels: bool = False) -> list[str]:
    """The files meant: those named, and the ``.pto`` files below folders, each once; ``-`` becomes `STDIN`.

    ``kernels``: of folders also files of C++ with a kernel, and Python files with one at their top level, which is
    looked up in their text: no other file is executed. Hidden folders below a folder are left out. Raises
    `DiagnosticError` for a folder without any such file.
    """
    out: list[str] = []
    for name in names:
        if name == "-" or not name or not os.path.isdir(name):
            out.append(STDIN if name == "-" else name)
            continue
        found = below(Path(name), kernels=kernels)
        if not found:
            what = "no .pto file, and no file of Python or C++ with a kernel," if kernels else "no .pto file"
            raise DiagnosticError(Diagnostic(FILE, Severity.ERROR, f"there is {what} in this folder", Location(name)))
        out += map(str, found)
    return list(dict.fromkeys(out))


def below(folder: Path, *, kernels: bool) -> list[Path]:
    """The ``.pto`` files below a folder, sorted, and with ``kernels`` those with kernels in Python and C++."""
    return [
        p
        for p in sorted(folder.rglob("*"))
        if (p.suffix == ".pto" or (kernels and p.suffix in (PYTHON, *CPP)))
        and not _hidden(p.relative_to(folder))
        and p.is_file()
        and (p.suffix == ".pto" or has_kernels(p))
    ]


def without_kernels(folder: Path) -> list[Path]:
    """The Python files below a folder that use ptokit and that `below` leaves out, sorted."""
    found = (p for p in sorted(folder.rglob(f"*{PYTHON}")) if not _hidden(p.relative_to(folder)) and p.is_file())
    return [p for p in found if b"ptokit" in p.read_bytes() and not has_kernels(p)]


def has_kernels(path: Path) -> bool:
    """True for a file of C++ with a kernel, or of Python with a function at its top level that is decorated as one.

    One that is no Python has kernels where it looks like it: reading it tells what is wrong.
    """
    try:
        text = path.read_bytes()
        return b"__global__" in text if path.suffix in CPP else bool(kernels_in(text))
    except OSError:
        return False
    except SyntaxError:
        return b"ptokit" in text and b"kernel" in text


def kernels_in(text: str | bytes) -> list[ast.FunctionDef]:
    """The functions at the top level of a Python text that are decorated as kernels. Raises `SyntaxError`."""
    try:
        tree = ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error)) from None
    return [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(getattr(d, "attr", getattr(d, "id", "")) == "kernel" for d in map(_called, node.decorator_list))
    ]


def _called(decorator: ast.expr) -> ast.expr:
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def read_input(file: str) -> tuple[str | None, Diagnostics]:
    """The text of a file or of stdin; None and why if there is none, as `ptokit.asm.text.lexer.read_text`."""
    if file not in ("-", STDIN):
        return read_text(file)
    if sys.stdin is None:  # the process was started without one
        found = Diagnostics()
        found.error(FILE, "cannot read the file: it is closed", Location(STDIN))
        return None, found
    return read_stream(sys.stdin.buffer, STDIN)


# The section ``[tool.ptokit]`` of the nearest pyproject.toml, and its rules.


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


NAME = "pyproject.toml"


@dataclass(frozen=True)
class Settings:
    """What a project says about checks; None or empty where it says nothing.

    ``target``: of programs that state none. ``assume``: by kernel, what is assumed of its launches. The others are
    options of ``ptokit check`` and ``ptokit sanitize``.
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
    assume: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    file: str = ""


def _words(value: Any) -> tuple[str, ...] | None:
    entries = value if isinstance(value, list) else [value]
    return tuple(entries) if all(isinstance(entry, str) for entry in entries) else None


def _by_kernel(value: Any) -> dict[str, tuple[str, ...]] | None:
    found = {name: _words(texts) for name, texts in value.items()} if isinstance(value, dict) else {}
    return {name: texts for name, texts in found.items() if texts} if found and all(found.values()) else None


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
    "assume": (_by_kernel, 'a table of kernels and conditions, as in {gemm = ["k % 64 == 0"]}'),
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
