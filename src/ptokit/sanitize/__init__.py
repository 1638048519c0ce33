"""The sanitizer: happens-before, races, uninitialised reads, bounds, flags and deadlocks of a run."""

from .api import ORDERS, Report, Uninitialised, sanitize, uninit

__all__ = ["ORDERS", "Report", "Uninitialised", "sanitize", "uninit"]
