"""``ptokit docs`` and ``ptokit lsp``: pages in a browser, findings in an editor."""

from __future__ import annotations

import logging
import sys
import webbrowser
from pathlib import Path

import typer

from ptokit.api.parts import find_target
from ptokit.diagnostics.render import link_to
from ptokit.site.build import NotBuiltError, build, cache, is_current, page_for

from .console import remark

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
