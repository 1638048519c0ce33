"""The sanitizer: happens-before, races, uninitialised reads, bounds, flags and deadlocks of a run."""

from ptokit.diagnostics.finding import Edit

from .api import sanitize, sanitize_launch
from .findings.race import Access, Change, Fix, Race, Witness
from .outcome import Uninitialised, uninit
from .page.document import Report

__all__ = [
    "Access",
    "Change",
    "Edit",
    "Fix",
    "Race",
    "Report",
    "Uninitialised",
    "Witness",
    "sanitize_launch",
    "sanitize",
    "uninit",
]
