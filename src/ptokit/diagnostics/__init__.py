"""Diagnostics: findings with a rule id, a place and a hint, and the catalogue of rules."""

from .diagnostic import DiagnosticError, Diagnostics, KernelWarning, UsageError
from .finding import UNKNOWN_LOCATION, Diagnostic, Location, Note, Severity
from .rules import (
    ALL_TARGETS,
    CATALOGUE,
    Doubt,
    Evidence,
    Rule,
    RuleDecorator,
    Scope,
    catalogue,
    define,
    family,
    lookup,
    rule,
)

__all__ = [
    "UsageError",
    "ALL_TARGETS",
    "CATALOGUE",
    "Diagnostic",
    "DiagnosticError",
    "Doubt",
    "Diagnostics",
    "Evidence",
    "KernelWarning",
    "Location",
    "Note",
    "Rule",
    "RuleDecorator",
    "Scope",
    "Severity",
    "UNKNOWN_LOCATION",
    "catalogue",
    "define",
    "family",
    "lookup",
    "rule",
]
