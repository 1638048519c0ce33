"""Looking into a run: the contents of tiles after chosen instructions, step by step, or beside another run."""

from __future__ import annotations

from .seen import Recorder, Seen, Selection

__all__ = ["Recorder", "Seen", "Selection"]
