"""``ptokit docs``."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import typer

from ptokit.diagnostics.render import link_to
from ptokit.site.build import NotBuiltError, build, cache, is_current
from ptokit.site.topics import page_for

from .console import remark


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
