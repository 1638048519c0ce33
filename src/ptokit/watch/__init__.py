"""Looking into a run: the contents of tiles after chosen instructions, step by step, or beside another run."""

from __future__ import annotations

from .record import Recorder
from .seen import Seen
from .selection import Selection

__all__ = ["Recorder", "Seen", "Selection"]
