"""The sanitizer: happens-before, races, uninitialised reads, bounds, flags and deadlocks of a run."""

from .api import ORDERS, Uninitialised, sanitize, uninit
from .races import Access, Race
from .repair import Edit, Fix
from .report import Report
from .witness import Change, Witness

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
