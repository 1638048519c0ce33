"""``ptokit docs``."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import typer

from ptokit.diagnostics.pages import link_to
from ptokit.site.build import NotBuiltError, build, cache
from ptokit.site.topics import page_for

from .console import remark


def open_page(topic: str | None, out: Path | None, show: bool) -> bool:
    """Open the page about `topic`, and build the site before if need be; False where that cannot be done."""
    try:
        page = page_for(topic)
        address = link_to(page)
        if out is not None:
            build(out.absolute())
            address = (out.absolute() / page).as_uri()
        elif address is None:
            site = cache()
            if not site.exists():
                remark("ptokit docs: building the pages, which takes minutes and is done once")
                build(site)
            address = (site / page).as_uri()
    except (NotBuiltError, OSError) as error:
        remark(f"ptokit docs: {error}")
        return False
    typer.echo(address)
    if out is None and not show:
        webbrowser.open(address)
    return True
