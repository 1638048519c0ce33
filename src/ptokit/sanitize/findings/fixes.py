"""What mends a finding: operations to insert, and changes of the text."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics.edits import Edit, edited
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
class Fix:
    """What mends a finding. ``edits``: of the text; none where only words can tell. ``steps``: the operations of those
    that insert one each."""

    text: str
    edits: tuple[Edit, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def paired(self) -> list[tuple[Step, Edit]]:
        """Each step with its line."""
        return list(zip(self.steps, self.edits))

    def as_json(self) -> dict[str, Any]:
        """The object of docs/formats.md."""
        return {"text": self.text, "insert": [edit.as_json() for edit in self.edits]}

    def apply(self, source: str, file: str | None = None) -> str:
        """The text of the file with the edits made; ``file``: only those of this file."""
        return edited(source, (edit for edit in self.edits if file in (None, edit.file)))
