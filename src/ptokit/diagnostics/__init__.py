"""Diagnostics: findings with a rule id, a place and a hint, and the catalogue of rules."""

from .diagnostic import (
    UNKNOWN_LOCATION,
    Diagnostic,
    DiagnosticError,
    Diagnostics,
    Location,
    Note,
    Severity,
)
from .rules import CATALOGUE, Rule, Scope, catalogue, define, lookup

__all__ = [
    "CATALOGUE",
    "Diagnostic",
    "DiagnosticError",
    "Diagnostics",
    "Location",
    "Note",
    "Rule",
    "Scope",
    "Severity",
    "UNKNOWN_LOCATION",
    "catalogue",
    "define",
    "lookup",
]
