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
from .rules import ALL_TARGETS, CATALOGUE, Rule, RuleDecorator, Scope, catalogue, define, lookup, rule

__all__ = [
    "ALL_TARGETS",
    "CATALOGUE",
    "Diagnostic",
    "DiagnosticError",
    "Diagnostics",
    "Location",
    "Note",
    "Rule",
    "RuleDecorator",
    "Scope",
    "Severity",
    "UNKNOWN_LOCATION",
    "catalogue",
    "define",
    "lookup",
    "rule",
]
