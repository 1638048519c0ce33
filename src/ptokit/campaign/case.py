"""One case of a campaign, and how it went: plain values that travel as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, field, fields
from enum import StrEnum
from typing import Any

from ptokit.records import dataclass
from ptokit.types.choices import Action as Action


class Status(StrEnum):
    """How a case went."""

    PASSED = "passed"
    FINDING = "finding"  # the sanitizer, or the run, found an error of the program
    WRONG = "wrong answer"
    REFUSED = "refused"  # the program, or its arguments, cannot be used on the target
    CRASHED = "crashed"  # an error of ptokit itself, or of a function of the user's
    TIMEOUT = "out of time"
    MEMORY = "out of memory"
    LOST = "lost"  # the process that worked on it died, twice


@dataclass(frozen=True)
class Case:
    """All that decides the result of a case, besides the version of ptokit.

    ``id`` is its name within the campaign; ``program`` the file, as shown, and ``text`` what is in it. ``target`` is by
    default the one that the text states, or ``default_target`` where it states none. ``args`` are in
    the grammar of ``--arg``; None: made from the text (`ptokit.arguments.derive`). ``expected`` are files with the
    arrays that the kernel must leave, one for each argument, "" where nothing is expected; ``function`` is
    ``module:name``, which gets copies of the arguments and returns the expected arrays. ``other`` is the text of
    another version of the program, whose results must be the same, and ``against`` another backend. ``tolerance``:
    ``{"ulp": n}`` or ``{"rtol": a, "atol": b}``; empty: equal bits. ``seconds`` and ``memory`` (bytes) are limits; 0
    means none.
    """

    id: str
    program: str
    text: str
    action: Action
    target: str = ""
    default_target: str = ""
    entry: str = ""
    args: tuple[str, ...] | None = None
    blocks: int = 1
    seed: int = 0
    mode: Mapping[str, Any] = field(default_factory=dict)
    expected: tuple[str, ...] = ()
    function: str = ""
    other: str = ""
    against: str = ""
    tolerance: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0
    memory: int = 0

    def as_json(self) -> dict[str, Any]:
        """The case as an object of JSON."""
        return asdict(self)

    @property
    def key(self) -> str:
        """A digest of all that decides its result."""
        return hashlib.sha256(json.dumps(self.as_json(), sort_keys=True).encode()).hexdigest()


def read_case(entry: Mapping[str, Any]) -> Case:
    """The case that an object of JSON describes. Raises `ValueError`."""
    known = {f.name for f in fields(Case)}
    if not isinstance(entry, Mapping) or set(entry) - known or not {"id", "program", "text", "action"} <= set(entry):
        raise ValueError("not a case of a campaign")
    values = dict(entry)
    values["action"] = Action(values["action"])
    for name in ("args", "expected"):
        if values.get(name) is not None:
            values[name] = tuple(values[name])
    return Case(**values)


@dataclass(frozen=True)
class Result:
    """How a case went.

    ``rules`` are the ids of the errors and warnings that were reported, sorted; ``findings`` the findings themselves,
    as JSON. ``digest`` stands for what the kernel left in its arguments. The others say what it took, and where.
    """

    id: str
    status: Status
    message: str = ""
    rules: tuple[str, ...] = ()
    findings: tuple[Mapping[str, Any], ...] = ()
    digest: str = ""
    seconds: float = 0.0
    host: str = ""
    attempt: int = 1

    def as_json(self) -> dict[str, Any]:
        """The result as an object of JSON."""
        return asdict(self)


def read_result(entry: Mapping[str, Any]) -> Result:
    """The result that an object of JSON describes. Raises `ValueError`, `KeyError` or `TypeError`."""
    values = dict(entry)
    values["status"] = Status(values["status"])
    values["rules"], values["findings"] = tuple(values["rules"]), tuple(values["findings"])
    return Result(**values)
