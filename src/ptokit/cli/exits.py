"""Exit statuses of the command line (docs/cli.md)."""

from __future__ import annotations

EXIT_ERRORS = 1
"""The input was refused."""

EXIT_UNCHECKED = 3
"""`sanitize` found nothing, and did not check everything."""

EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130
