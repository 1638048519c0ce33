"""The sanitizer: happens-before, races, uninitialised reads, bounds, flags and deadlocks of a run."""

from ptokit.diagnostics.finding import Edit

from .api import ORDERS, sanitize
from .findings.fixes import Fix
from .findings.race import Access, Race
from .findings.witness import Change, Witness
from .report import Report
from .uninitialised import Uninitialised, uninit

__all__ = [
    "ORDERS",
    "Access",
    "Change",
    "Edit",
    "Fix",
    "Race",
    "Report",
    "Uninitialised",
    "Witness",
    "sanitize",
    "uninit",
]
