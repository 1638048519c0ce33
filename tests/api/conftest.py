"""The command, for what it and the library have in common."""

from __future__ import annotations

from ..cli.conftest import ptokit

__all__ = ["ptokit"]
