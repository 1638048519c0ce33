"""``ptokit convert``, ``fmt``, ``sync``, ``layout``, ``docs`` and ``lsp``."""

from __future__ import annotations

import difflib
import json
import logging
import re
import sys
import webbrowser
from codecs import BOM_UTF8
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import typer

from ptokit.api.check import At, Rewritten, converted, formatted
from ptokit.api.parts import find_target
from ptokit.api.program import STDIN, expand, settings_for, split
from ptokit.api.sanitize import compare_order
from ptokit.api.synchronise import synchronise
from ptokit.asm.text.rules import TypeFaultError
from ptokit.asm.types.tile import tile_buf
from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Severity, UsageError
from ptokit.diagnostics.render import link_to, render, summary, visible_name
from ptokit.draw import LayoutMap
from ptokit.isa.checks.tile_types import check_tile
from ptokit.site.build import NotBuiltError, build, cache, is_current, page_for
from ptokit.targets import TARGETS
from ptokit.types.tile import TileSpec

from .console import (
    EXIT_ERRORS,
    EXIT_UNCHECKED,
    PIPE_WIDTH,
    Progress,
    emit,
    is_terminal,
    remark,
    said_when_interrupted,
    say,
    show_diagnostics,
    use_color,
    width_of,
)
from .options import ReportFormat
from .outputs import (
    CONVERTED_FILE,
    FIXED_FILE,
    FORMATTED_FILE,
    PICTURE_FILE,
    check_writable,
    refuse_special,
    write_whole,
)

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


# ``ptokit sync``.


def check_sync(given: Collection[str], versions: int) -> None:
    """Refuse options of ``sync`` that would do nothing. ``given``: those that are; ``versions``: how many files."""
    if ("--compare" in given) != (versions == 2):
        raise typer.BadParameter("it takes two versions, and without it there is one.", param_hint="--compare")
    if sum(name in given for name in ("--out", "--diff", "--in-place", "--compare")) > 1:
        raise typer.BadParameter("one of --out, --diff, --in-place and --compare.", param_hint="--out")
    if "--format" in given and "--compare" not in given:
        raise typer.BadParameter("it is how to print a comparison; it takes --compare.", param_hint="--format")
    for mode, idle in _IDLE.items():
        for name in idle if mode in given else ():
            if name in given:
                raise typer.BadParameter(f"{mode} does not take {name}.", param_hint=mode)


_IDLE = {
    "--compare": ("--minimise", "--launch", "--for overlap", "--arg"),
    "--launch": ("--minimise", "--for overlap", "--assume", "--limit"),
    "--minimise": ("--for overlap",),
}
"""Options of ``sync`` that do nothing beside another one."""


def synchronise_file(file: str, out: str | None, *, diff: bool, in_place: bool, **options: Any) -> bool:
    """Write a program with the flags that it lacks to `out`, in place or to stdout; False if it is not proved.

    ``diff``: print what changes instead. ``options``: of `ptokit.synchronise`. Raises `DiagnosticError` (CLI-06,
    CLI-08) where the text cannot be written.
    """
    place = None if out is None else Path(out)
    if place is not None:
        check_writable(place, "the text", CONVERTED_FILE)
    path, _ = split(file)
    if in_place and path in ("-", STDIN):
        raise UsageError("--in-place changes a file, and stdin is none.", "in_place")
    if in_place and Path(path).is_file():
        check_writable(Path(path), "the text", FIXED_FILE)
    project = settings_for(file)
    usual = project.target[0] if len(project.target) == 1 else None
    options["extended"] = options["extended"] or project.extended
    with (
        said_when_interrupted(lambda: "nothing was written"),
        Progress(f"sync {file}", waits=True) as bar,
    ):
        made = synchronise(At(file, project.assume), default_target=usual, progress=bar.says, **options)
    name = visible_name(made.file)
    for line in made.lines():
        remark(line)
    remark(f"in {made.seconds:.2f} s")
    if diff:
        old, new = made.old.splitlines(keepends=True), made.text.splitlines(keepends=True)
        emit("".join(difflib.unified_diff(old, new, name, name)))
    elif in_place and (not made.proved or made.text == made.old):
        why = "nothing is lacking" if made.superfluous is None else "nothing is superfluous"
        remark(f"{name}: nothing written, since {why if made.proved else 'it is not proved'}")
    elif in_place:
        refuse_special(Path(path), "the text", FIXED_FILE)
        original = Path(path).read_bytes()
        if original.decode("utf-8-sig", errors="replace") != made.old:
            message = f"{name} cannot be written: it has been changed meanwhile"
            raise DiagnosticError(Diagnostic(FIXED_FILE.id, FIXED_FILE.severity, message, Location(path)))
        mark = original[: 3 * original.startswith(BOM_UTF8)]
        write_whole(Path(path), mark + made.text.encode(), "the text", FIXED_FILE)
        remark(f"{name}: written")
    elif place is not None:
        write_whole(place, made.text.encode(), "the text", CONVERTED_FILE)
        remark(f"{name}: written to {visible_name(str(out))}")
    else:
        emit(made.text)
    return made.proved


def compare_files(a: str, b: str, format: ReportFormat, **options: Any) -> int:
    """Print what only one of two versions orders; the exit status. ``options``: of `ptokit.compare_order`."""
    project = settings_for(a)
    usual = project.target[0] if len(project.target) == 1 else None
    options["extended"] = options["extended"] or project.extended
    with said_when_interrupted(lambda: "nothing was reported"), Progress(f"sync {a} {b}", waits=True) as bar:
        sides = At(a, project.assume), At(b, settings_for(b).assume)
        made = compare_order(*sides, default_target=usual, progress=bar.says, **options)
    if format is ReportFormat.JSON:
        say(json.dumps(made.as_json(), indent=2))
    else:
        for line in made.lines():
            say(line)
    return EXIT_ERRORS if made.less else 0 if made.whole else EXIT_UNCHECKED


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


# ``ptokit docs``.


def open_page(topic: str | None, out: Path | None, show: bool) -> bool:
    """Open the page about `topic`, and build the site before if need be; False where that cannot be done."""
    try:
        page = page_for(topic)
        address = link_to(page)
        if out is not None:
            build(out.absolute())
            address = _below(out.absolute(), page)
        elif address is None:
            site = cache()
            _make_current(site)
            address = _below(site, page)
    except (NotBuiltError, OSError) as error:
        remark(f"ptokit docs: {error}")
        return False
    typer.echo(address)
    if out is None and not show:
        webbrowser.open(address)
    return True


def _make_current(site: Path) -> None:
    """Build a site that is missing or of another state of ptokit; keep an old one that cannot be built anew."""
    if is_current(site):
        return
    old = site.exists()
    why = "ptokit has changed since the pages were built; building them anew" if old else "building the pages"
    remark(f"ptokit docs: {why}, which takes minutes")
    try:
        build(site)
    except NotBuiltError as error:
        if not old:
            raise
        remark(f"ptokit docs: showing the old pages: {error}")


def _below(site: Path, page: str) -> str:
    """The address of a page, or of a section of it, in a site on this machine."""
    path, mark, anchor = page.partition("#")
    return (site / path).as_uri() + mark + anchor


# ``ptokit lsp``.


_MISSING = "ptokit lsp needs pygls and lsprotocol: pip install '.[lsp]' in a clone of ptokit\n"


def serve(target_name: str | None, port: int | None) -> bool:
    """Serve an editor over stdin and stdout, or over a local TCP port, until it leaves.

    False without pygls, and if the editor did not ask for the end before it left.
    """
    target = find_target(target_name)
    try:
        from ptokit.lsp.server import make_server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        typer.echo(_MISSING, err=True, nl=False)
        return False
    logging.basicConfig(format="ptokit lsp: %(message)s")
    for handler in logging.getLogger().handlers:
        handler.addFilter(_without_traceback)
    server = make_server(target)
    try:
        if port is not None:
            server.start_tcp("127.0.0.1", port)
        elif sys.stdin is not None:
            server.start_io()
        else:
            remark("ptokit lsp: it talks over stdin, which is closed")
    except (OverflowError, MemoryError):
        remark("ptokit lsp: the editor announces a message that no memory can hold")
    except OSError as error:
        remark(f"ptokit lsp: {error.strerror or error}")
    return server.asked_to_end


def _without_traceback(record: logging.LogRecord) -> bool:
    """The library tells the editor what went wrong, and whoever looks at stderr in one line."""
    record.exc_info = None
    return True
