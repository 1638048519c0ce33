"""The terminal: where text goes, colour, width, tables, exit statuses, progress of long runs.

Results go to stdout, diagnostics and remarks to stderr. Colour and drawn tables appear on a terminal only and not where
``NO_COLOR`` is set; a pipe gets plain aligned text of any width, so that paths stay in one piece.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, EIO, ENOSPC, EPIPE
from threading import Lock, Timer
from types import TracebackType
from typing import Any, Literal, TextIO

from ptokit.api.parts import Part, Table, plain_lines
from ptokit.diagnostics import Diagnostic
from ptokit.diagnostics.render import render, visible, visible_name

# The terminal: where text goes, colour, width, tables.


PIPE_WIDTH = 160


def prepare_streams() -> None:
    """Let no character that the terminal's encoding lacks end the program, and no stream that is closed."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


@contextmanager
def written_out() -> Iterator[None]:
    """Write all of stdout before the end. Exits with 1 and says why where the disk is full or the reader gone."""
    try:
        try:
            yield
        finally:
            if not sys.stdout.closed:  # as the language server leaves it
                sys.stdout.flush()
    except OSError as error:
        if error.errno not in (EPIPE, ENOSPC, EDQUOT, EFBIG, EIO):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is held cannot be written at the end
        if error.errno != EPIPE:
            sys.stderr.write(f"ptokit: cannot write the output: {error.strerror}\n")
        sys.exit(1)


def is_terminal(stream: TextIO) -> bool:
    """True if a person reads `stream` directly."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def use_color(stream: TextIO) -> bool:
    """True if `stream` may carry colour (https://no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def width_of(stream: TextIO) -> int:
    """Cells per line of `stream`."""
    return shutil.get_terminal_size().columns if is_terminal(stream) else PIPE_WIDTH


_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_OURS = re.compile(rf"({re.escape(_BOLD)}|{re.escape(_PLAIN)})")
_ODD = re.compile(r"[^ -~\n\t]")


def harmless(text: str) -> str:
    """`text` with all escaped that steers a terminal, but for what `bold` writes.

    Names in it that may hold line ends are written with `visible_name` by those who put them in.
    """
    if text.isprintable():
        return text
    return "".join(part if _OURS.fullmatch(part) else _ODD.sub(_shown, part) for part in _OURS.split(text))


def _shown(character: re.Match[str]) -> str:
    return visible(character[0])


def say(text: str = "") -> None:
    """A line of the result, or lines."""
    sys.stdout.write(harmless(text) + "\n")


def emit(text: str) -> None:
    """`.pto` text as the result: the same bytes as in a file, whatever encoding the terminal has."""
    if is_terminal(sys.stdout):
        sys.stdout.write(text)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode())


def remark(text: str) -> None:
    """A line beside the result, or lines."""
    sys.stderr.write(harmless(text) + "\n")


def show_diagnostics(diagnostics: Iterable[Diagnostic], labels: Mapping[Diagnostic, str] | None = None) -> None:
    """Write `diagnostics` to stderr; ``labels``: what to say of each beside its rule."""
    sys.stderr.write(render(diagnostics, color=use_color(sys.stderr), width=width_of(sys.stderr), labels=labels))


def bold(text: str) -> str:
    """`text` in bold on a terminal that shows colour."""
    return f"{_BOLD}{text}{_PLAIN}" if text and use_color(sys.stdout) else text


def paragraph(text: str, *, first: str = "", indent: int = 0, code: bool = False) -> None:
    """Write prose, `first` before it and `indent` blanks before further lines; wrapped on a terminal only.

    ``code``: a statement, whose types stay in one piece and whose further lines stand deeper.
    """
    lines = [text]
    if is_terminal(sys.stdout):
        indent = len(first) + 4 if code else indent
        room = max(20, width_of(sys.stdout) - indent)
        whole = _GLUED.sub(lambda found: _glued(found[0], room), text) if code else text
        wrapped = textwrap.wrap(whole, room, break_long_words=False, break_on_hyphens=False)
        lines = [line.replace(_GLUE, " ") for line in wrapped] or [""]
    say((first if code else first.ljust(indent)) + f"\n{' ' * indent}".join(lines))


_GLUED, _GLUE = re.compile(r"<[^<>]*>|\w+\([^()<>]* :"), "\x00"
_BEFORE_TYPE = 16  # characters: !pto.tile_buf


def _glued(piece: str, room: int) -> str:
    """A type, or names before their types, in one piece where a line has room for it."""
    return piece.replace(" ", _GLUE) if len(piece) + _BEFORE_TYPE <= room else piece


def show_parts(parts: Iterable[Part]) -> None:
    """Write a page."""
    for part in parts:
        if isinstance(part, Table):
            table(part.headers, part.rows, right=part.right)
        elif part.strong and not part.text:
            say(bold(visible_name(part.strong)))
        else:
            text = bold(visible_name(part.strong)) + visible_name(part.text)
            paragraph(text, first=part.first, indent=part.indent, code=part.code)


def show_list(parts: Iterable[Part]) -> None:
    """Write a list with a line for each entry, cut to the width of a terminal; in a pager where it is longer."""
    if not is_terminal(sys.stdout):
        show_parts(parts)
        return
    width, height = shutil.get_terminal_size()
    lines = []
    for part in parts:
        assert not isinstance(part, Table)
        text = visible_name(part.first.ljust(part.indent) + part.strong + part.text)
        short = text if len(text) <= width else text[: width - 1].rstrip() + "…"
        lines.append(bold(short) if part.strong and not part.text else short)
    if len(lines) < height or not is_terminal(sys.stdin):
        say("\n".join(lines))
        return
    import click

    click.echo_via_pager("\n".join(map(harmless, lines)) + "\n", color=use_color(sys.stdout))


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[str] = ()) -> None:
    """Write a table to stdout; the columns named in `right` are right-aligned."""
    body = [[visible_name(cell) for cell in row] for row in rows]
    if is_terminal(sys.stdout):
        _drawn_table(headers, body, right)
    else:
        for line in plain_lines(headers, body, right):
            say(line)


def _folding(widths: Sequence[int], room: int) -> set[int]:
    """The columns that are broken into lines: the widest ones, until the others leave room for them."""
    order = sorted(range(len(widths)), key=lambda i: -widths[i])
    for count in range(1, len(order)):
        if sum(widths[i] + 2 for i in order[count:]) <= room - count * _FOLDED:
            return set(order[:count])
    return set(order)


_FOLDED = 20  # cells that a column has at least where it is broken


def _drawn_table(headers: Sequence[str], rows: list[list[str]], right: Sequence[str]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    folding = _folding([max(map(len, column)) for column in zip(headers, *rows, strict=True)], width_of(sys.stdout))
    drawn = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for i, header in enumerate(headers):
        justify: Literal["left", "right"] = "right" if header in right else "left"
        drawn.add_column(header, justify=justify, no_wrap=i not in folding, overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text, row))
    Console(color_system="auto" if use_color(sys.stdout) else None, highlight=False).print(drawn)


# Exit statuses of the command line (docs/cli.md).


EXIT_ERRORS = 1
"""The input was refused."""

EXIT_UNCHECKED = 3
"""`sanitize` found nothing, and did not check everything."""

EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130


@contextmanager
def said_when_interrupted(kept: Callable[[], str]) -> Iterator[None]:
    """Ends the command with `EXIT_INTERRUPTED` at Ctrl-C, and says what was kept."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(f"\nptokit: interrupted: {kept()}\n")
        sys.exit(EXIT_INTERRUPTED)


# The progress bar of long runs.


_QUIET_SECONDS = 0.5  # runs shorter than this show nothing
_REDRAW_SECONDS = 0.1


class Progress:
    """A bar on stderr, drawn on a terminal once a run takes longer than half a second.

    The object is called with (units done, units in all) and is a context manager that removes the bar at the end.
    """

    def __init__(self, title: str, unit: str = "blocks", *, speed: bool = False, waits: bool = False) -> None:
        """``speed``: show units per second, too. ``waits``: draw it though no unit is done, with the time so far."""
        self._title, self._unit, self._speed = visible_name(title), unit, speed
        self._began = time.monotonic()
        self._first: int | None = None  # units that were done before
        self._next = self._began + _QUIET_SECONDS if is_terminal(sys.stderr) else float("inf")
        self._bar: Any = None
        self._task: Any = None
        self._lock, self._over = Lock(), False
        self._timer: Timer | None = None
        if waits and is_terminal(sys.stderr):
            self._timer = Timer(_QUIET_SECONDS, self._start, (None,))
            self._timer.daemon = True

    def says(self, what: str) -> None:
        """What is done now, beside the bar."""
        self._title = visible_name(what)
        with self._lock:
            if self._bar is not None:
                self._bar.update(self._task, description=self._title)

    def __enter__(self) -> Progress:
        if self._timer is not None:
            self._timer.start()
        return self

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        self._first = done if self._first is None else self._first
        if now < self._next:
            return
        self._next = now + _REDRAW_SECONDS
        self._start(total)
        rate = (done - self._first) / max(1e-9, now - self._began)
        self._bar.update(self._task, completed=done, total=total, rate=f"{rate:.3g}/s")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._over = True
            if self._bar is not None:
                self._bar.stop()

    def _start(self, total: int | None) -> None:
        with self._lock:
            if self._bar is None and not self._over:
                self._draw(total)

    def _draw(self, total: int | None) -> None:
        from rich import progress
        from rich.console import Console

        columns: list[progress.ProgressColumn] = [
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            *([] if total is None else [progress.TextColumn(f"{{task.completed}}/{{task.total}} {self._unit}")]),
            *([progress.TextColumn("{task.fields[rate]}")] if self._speed else []),
            progress.TimeElapsedColumn() if total is None else progress.TimeRemainingColumn(),
        ]
        self._bar = progress.Progress(
            *columns,
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task(self._title, total=total, rate="")
        self._bar.start()
