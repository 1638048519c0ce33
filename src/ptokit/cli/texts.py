"""``ptokit convert``, ``ptokit fmt`` and ``ptokit layout``."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from ptokit.api.check import At, Rewritten, converted, formatted
from ptokit.api.program import STDIN, expand
from ptokit.asm.text.rules import TypeFaultError
from ptokit.asm.types.tile import tile_buf
from ptokit.diagnostics import Diagnostic, Location, Severity
from ptokit.diagnostics.render import render, summary, visible_name
from ptokit.draw import LayoutMap
from ptokit.isa.checks.tile_types import check_tile
from ptokit.targets import TARGETS
from ptokit.types.tile import TileSpec

from .console import PIPE_WIDTH, emit, is_terminal, remark, say, show_diagnostics, use_color, width_of
from .outputs import CONVERTED_FILE, FORMATTED_FILE, PICTURE_FILE, check_writable, refuse_special, write_whole

# ``ptokit convert``.


def convert_file(file: str, form: str, out: str | None, target: str | None = None) -> bool:
    """Write the program of `file` in another form to `out` or, without it, to stdout; False if it has none there.

    ``target``: of a file that states none. Nothing is written then. Raises `DiagnosticError` (CLI-06) if `out`
    cannot be written.
    """
    path = None if out is None else Path(out)
    if path is not None:
        check_writable(path, "the text", CONVERTED_FILE)
    new = converted(At(file), form, target)
    show_diagnostics(new.diagnostics)
    name = visible_name(new.file)
    if new.text is None:
        remark(f"{name}: {summary(new.diagnostics)}, nothing written")
        return False
    if path is None:
        emit(new.text)
    else:
        write_whole(path, new.text.encode(), "the text", CONVERTED_FILE)
        remark(f"{name}: written to {visible_name(str(out))} in the form {form}")
    return True


# ``ptokit fmt``.


def format_files(names: Sequence[str], *, check: bool, to_stdout: bool) -> bool:
    """Lay out every file that has no errors; False if one has, or, with `check`, if one would change.

    ``names``: as for `expand`; the text of stdin goes to stdout. ``check``: list the files that would change and write
    nothing. ``to_stdout``: print the texts instead.
    """
    good = True
    for file in expand(names):
        new = formatted(At(file))
        if new.text is None:
            _refuse(new)
            good = False
        elif check:
            if new.text != new.old:
                say(visible_name(file))
                good = False
        elif to_stdout or file == STDIN:
            emit(new.text)
        elif new.text != new.old:
            refuse_special(Path(file), "the text", FORMATTED_FILE)
            write_whole(Path(file), new.text.encode(), "the text", FORMATTED_FILE)
            remark(f"{visible_name(file)}: laid out")
    return good


def _refuse(old: Rewritten) -> None:
    show_diagnostics(old.diagnostics)
    remark(f"{visible_name(old.file)}: {summary(old.diagnostics)}, left as it is")


# ``ptokit layout``: where the elements of a tile lie, from its type as it stands in a file.


_WRAPPED = re.compile(r"\s*!?(?:pto\.)?tile_buf\s*<(.*)>\s*\Z", re.DOTALL)
_PLACE = re.compile(r"\s*\(?\s*(\d{1,12})\s*,\s*(\d{1,12})\s*\)?\s*\Z", re.ASCII)
_NAME = "TYPE"  # in place of a file name in findings
_FATAL = ("TILE-01", "TILE-07")  # nothing to draw


def show_layout(text: str, at: str | None, svg: str | None) -> bool:
    """Print the layout of the tile type `text`, or write it as SVG to the file `svg` (``-``: stdout).

    False if the type is wrong; then its errors are on stderr. A place outside the tile is a usage error.
    """
    text = " ".join(text.split())
    spec, findings = read_type(text)
    sys.stderr.write(render(findings, color=use_color(sys.stderr), width=width_of(sys.stderr), sources={_NAME: text}))
    if spec is None or any(d.severity is Severity.ERROR for d in findings):
        return False
    drawn = LayoutMap(spec)
    if at is not None:
        drawn = _marked(drawn, at)
    if svg is None:
        width = width_of(sys.stdout) if is_terminal(sys.stdout) else PIPE_WIDTH
        drawn.show(sys.stdout, color=use_color(sys.stdout), width=min(width, PIPE_WIDTH))
    elif svg == "-":
        sys.stdout.write(drawn.svg() + "\n")
    else:
        write_whole(Path(svg), f"{drawn.svg()}\n".encode(), "the picture", PICTURE_FILE)
        remark(f"drawn to {visible_name(str(svg))}")
    return True


def read_type(text: str) -> tuple[TileSpec | None, list[Diagnostic]]:
    """The tile type that `text` spells, with or without ``!pto.tile_buf<…>`` around it, and what is wrong with it.

    What some target refuses is a warning that names the targets: the layout can be drawn all the same.
    """
    wrapped = _WRAPPED.match(text)
    body, start = (wrapped[1], wrapped.start(1)) if wrapped else (text, 0)
    try:
        spec = tile_buf(body, start)
    except TypeFaultError as fault:
        at = Location(_NAME, 1, fault.offset + 1, fault.length)
        return None, [Diagnostic(fault.rule, Severity.ERROR, fault.message, at, fault.hint)]
    broken: dict[tuple[str, str, str | None], list[str]] = {}
    for name, target in TARGETS.items():
        for rule, message, hint, _ in check_tile(spec, target, placement=False, text=True):
            broken.setdefault((rule.id, message, hint), []).append(name)
    at = Location(_NAME, 1, start + 1, max(1, len(body)))
    findings = []
    for (id, message, hint), names in broken.items():
        severity = Severity.ERROR if id in _FATAL else Severity.WARNING
        where = "" if len(names) == len(TARGETS) else f" (on {', '.join(names)})"
        findings.append(Diagnostic(id, severity, message + where, at, hint))
    return spec, findings


def _marked(drawn: LayoutMap, at: str) -> LayoutMap:
    place = _PLACE.match(at)
    if place is None:
        raise typer.BadParameter(f"{at!r} is not ROW,COLUMN.", param_hint="--at")
    try:
        return drawn.marked(int(place[1]), int(place[2]))
    except IndexError as error:
        raise typer.BadParameter(f"{error}.", param_hint="--at") from None
