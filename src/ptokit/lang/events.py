"""Events: what an instruction returns, and TSYNC, which waits for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ptokit.ir import Value

from . import rules
from .tensors import GlobalTensor, Partition
from .tiles import Tile
from .trace import current
from .where import refusal


class RecordEvent:
    """Handle of a recorded instruction. `TSYNC` orders what follows after it.

    An event is recorded as the operands that its instruction wrote, because that is what ``pto.tsync`` names. An
    instruction takes events as trailing arguments too: ``TADD(z, x, y, e0, e1)`` waits for them first.
    """

    def __init__(self, name: str, written: Sequence[Value]) -> None:
        self.name = name
        self.written = list(written)

    def wait(self) -> None:
        """Same as ``TSYNC(event)``."""
        TSYNC(self)

    def __repr__(self) -> str:
        return f"<event of {self.name}>"


def TSYNC(*events: Any) -> None:
    """Wait for the instructions behind the given events, or those that wrote the given tiles and views."""
    trace = current("TSYNC")
    written: dict[Value, None] = {}
    for event in events:
        if isinstance(event, RecordEvent):
            written.update(dict.fromkeys(event.written))
        elif isinstance(event, Tile | Partition):
            written[event.value] = None
        elif isinstance(event, GlobalTensor):
            written[event.whole().value] = None
        else:
            raise refusal(rules.SYNC, f"TSYNC waits for events, tiles and views, not {event!r}")
    trace.emit("pto.tsync", {"events": list(written)})
