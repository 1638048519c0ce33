"""What mends a finding: operations to insert, and changes of the text."""

from __future__ import annotations

from ptokit.diagnostics import finding
from ptokit.ir.core import Op
from ptokit.records import dataclass
from ptokit.types.enums import Pipe


@dataclass(frozen=True, slots=True)
class Step:
    """One operation to insert before or after `op`: a set or wait of a flag, or a barrier (``verb`` is "barrier")."""

    op: Op
    after: bool
    verb: str
    pipes: tuple[Pipe, ...]
    number: int = 0

    def make(self) -> Op:
        """The operation."""
        if self.verb == "barrier":
            return Op("pto.barrier", {}, {"pipe": self.pipes[0]}, location=self.op.location)
        attrs = {"src_pipe": self.pipes[0], "dst_pipe": self.pipes[1], "event_id": self.number}
        return Op(f"pto.{self.verb}_flag", {}, attrs, location=self.op.location)


@dataclass(frozen=True, slots=True)
class Fix(finding.Fix):
    """What mends a finding; ``steps``: the operations of those edits that insert one each."""

    steps: tuple[Step, ...] = ()

    @property
    def paired(self) -> list[tuple[Step, finding.Edit]]:
        """Each step with its line."""
        return list(zip(self.steps, self.edits))
