"""``ptokit layout``: where the elements of a tile lie, from its type as it stands in a file."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import typer

from ptokit.asm.text.faults import TypeFaultError
from ptokit.asm.types.tile import tile_buf
from ptokit.diagnostics import Diagnostic, Location, Severity
from ptokit.diagnostics.render import render, visible_name
from ptokit.draw import LayoutMap
from ptokit.isa.checks.tile_types import check_tile
from ptokit.targets import TARGETS
from ptokit.types.tile import TileSpec

from .console import PIPE_WIDTH, is_terminal, remark, use_color, width_of
from .files import write_whole
from .rules import PICTURE_FILE

_WRAPPED = re.compile(r"\s*!?(?:pto\.)?tile_buf\s*<(.*)>\s*\Z", re.DOTALL)
_PLACE = re.compile(r"\s*\(?\s*(\d{1,12})\s*,\s*(\d{1,12})\s*\)?\s*\Z", re.ASCII)
_NAME = "TYPE"  # stands for a file name in findings
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
