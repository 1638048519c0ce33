"""The sanitizer: happens-before, races, uninitialised reads, bounds, flags and deadlocks of a run."""

from .api import ORDERS, Uninitialised, sanitize, uninit
from .findings.race import Access, Race
from .findings.repair import Edit, Fix
from .findings.witness import Change, Witness
from .report import Report

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
