"""Sessions and events of transfers that an engine beside the pipes carries out (memory-model-and-sync 5.5).

Values are there at once: what is transferred, and when it may be touched, is for the sanitizer to tell.
"""

from __future__ import annotations

from ptokit.records import dataclass


@dataclass(eq=False)
class AsyncSession:
    """A channel to the transfer engine. Events complete in order: waiting for one completes those before it."""

    submitted: int = 0
    completed: int = 0

    def submit(self, operations: int = 1) -> int:
        """Hand over operations; returns the handle of the last one."""
        self.submitted += operations
        return self.submitted


@dataclass(frozen=True)
class AsyncEvent:
    """Completion of an asynchronous transfer; handle 0 means that nothing is pending."""

    handle: int = 0
    engine: str = "SDMA"

    def wait(self, session: AsyncSession) -> bool:
        """Wait for the transfer and all before it in the session. True when it is complete."""
        session.completed = max(session.completed, self.handle)
        return True

    def test(self, session: AsyncSession) -> bool:
        """True if the transfer is known to be complete."""
        return self.handle <= session.completed
