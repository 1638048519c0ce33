"""What a run under observation found, and how it looks: as text, in a notebook, as a page."""

from __future__ import annotations

from html import escape

from ptokit.diagnostics.diagnostic import html_of, text_of

from .outcome import Outcome
from .page.document import page


class Report(Outcome):
    """What was found. ``instructions``: how many were executed and checked, over all blocks. ``coverage``: what was
    looked at; a report without findings says nothing about the rest."""

    def html(self) -> str:
        """The report as one HTML page that needs nothing else: lanes of the pipes, bytes, source, fixes."""
        return page(self)

    def __str__(self) -> str:
        """What the terminal shows: the findings with their lines, and the verdict."""
        found = [text_of(self.diagnostics.sorted())] if len(self.diagnostics) else []
        return "\n".join((*found, f"{self.name}: {self.verdict}"))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """What a notebook shows; `html` is the page with pictures."""
        return f"{html_of(self.diagnostics.sorted())}<pre>{escape(f'{self.name}: {self.verdict}')}</pre>"
