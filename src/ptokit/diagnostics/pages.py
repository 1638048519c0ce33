"""The page of a rule in the documentation, and a link to it."""

from __future__ import annotations

import os
from urllib.parse import quote

SETTING = "PTOKIT_DOCS"
"""The environment variable that says where the built documentation is: what links to its pages begin with."""


def page_of(rule: str) -> str:
    """The page of the rule with this id, as a path below the documentation."""
    return f"reference/rules/{rule}.html"


def link_to(page: str) -> str | None:
    """A link to a page of the documentation; None where nothing says where the documentation is.

    An invented place would be a dead link, so there is none by default.
    """
    base = os.environ.get(SETTING, "").strip()
    return f"{base.rstrip('/')}/{quote(page, safe='/#')}" if base else None
