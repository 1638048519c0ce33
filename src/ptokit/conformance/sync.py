"""Synchronisation cases: small programs with the findings that the sanitizer has to make, and no others."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ptokit.asm import read_module
from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.records import dataclass
from ptokit.sanitize import ORDERS, sanitize, uninit
from ptokit.targets import Target
from ptokit.targets import target as target_named
from ptokit.types.dtypes import DType, dtype

from .files import MANIFEST, MAX_BYTES, cases_of
from .report import Outcome, Result

ROLES = ("in", "inout", "out")


@dataclass(frozen=True)
class Place:
    """Where a finding has to be: a rule, and lines of the program (from 1), on one target or (None) on all."""

    rule: str
    lines: tuple[int, ...]
    target: str | None = None

    def satisfied(self, findings: list[Diagnostic]) -> bool:
        """True if one finding of the rule names all of the lines (races), or at least one of them (others)."""
        for finding in findings:
            if finding.rule != self.rule:
                continue
            named = [finding.location.line, *(note.location.line for note in finding.notes)]
            if self.rule.startswith("RACE-"):
                if all(named.count(line) >= self.lines.count(line) for line in self.lines):
                    return True
            elif any(line in named for line in self.lines):
                return True
        return False


@dataclass(frozen=True)
class Buffer:
    """A memory argument of `elements` elements; ``out`` ones start uninitialised."""

    element: DType
    elements: int
    role: str

    def make(self) -> np.ndarray:
        """The array. Elements of input are 1, so that any conversion and quotient is defined."""
        if self.role == "out":
            return uninit(self.elements, self.element)
        if self.element.value is None:
            return np.zeros(self.element.nbytes(self.elements), np.uint8)
        return np.ones(self.elements, self.element.value)


@dataclass(frozen=True)
class SyncCase:
    """One program with its launch and verdicts by target."""

    file: str
    targets: tuple[str, ...]
    order: str
    blocks: int
    args: tuple[Any, ...]
    expect: Mapping[str, frozenset[str]]
    may: frozenset[str] = frozenset()
    at: tuple[Place, ...] = ()

    @property
    def name(self) -> str:
        """The file without its suffix."""
        return self.file.removesuffix(".pto")


@dataclass
class SyncSuite:
    """All cases of a folder."""

    folder: Path
    cases: list[SyncCase]

    @classmethod
    def read(cls, folder: Path, manifest: Mapping[str, Any]) -> SyncSuite:
        """Raises `DiagnosticError` (CONF-FILE)."""
        return cls(folder, cases_of(folder / MANIFEST, manifest, _read_case, key="file"))

    def replay(self, case: SyncCase, target: str) -> Result:
        """Run and judge one case on one target. Never raises."""
        start = time.perf_counter()
        reported: tuple[str, ...] = ()
        try:
            findings = self._findings(case, target_named(target))
            reported = tuple(sorted({f.rule for f in findings}))
            message = judge(case, target, findings)
        except DiagnosticError as error:
            message = "; ".join(str(d) for d in error.diagnostics[:3])
        except Exception as bug:  # one broken case must not end the run of all others
            message = f"internal error: {type(bug).__name__}: {bug}"
        outcome = Outcome.FAILED if message else Outcome.PASSED
        return Result(case.file, case.name, target, outcome, message, reported, time.perf_counter() - start)

    def _findings(self, case: SyncCase, target: Target) -> list[Diagnostic]:
        """Errors and warnings; notes do not count."""
        result = read_module(self.folder / case.file, target=target)
        errors = [d for d in result.diagnostics if d.severity is Severity.ERROR]
        if errors:
            raise DiagnosticError(errors)
        args = [arg.make() if isinstance(arg, Buffer) else arg for arg in case.args]
        report = sanitize(result.module, target, args, case.blocks, order=case.order)
        return [found for found in report.symptoms if found.severity is not Severity.NOTE]


def judge(case: SyncCase, target: str, findings: list[Diagnostic]) -> str:
    """What is wrong with the findings; empty if nothing is."""
    found, wanted = {f.rule for f in findings}, case.expect[target]
    wrong = []
    if missing := wanted - found:
        wrong.append(f"not reported: {', '.join(sorted(missing))}")
    if extra := found - wanted - case.may:
        first = next(f for f in findings if f.rule in extra)
        wrong.append(f"reported, not expected: {', '.join(sorted(extra))} (line {first.location.line})")
    for place in case.at:
        if place.target in (None, target) and place.rule in found and not place.satisfied(findings):
            lines = ", ".join(map(str, place.lines))
            wrong.append(f"no {place.rule} names line{'s' if len(place.lines) > 1 else ''} {lines}")
    return "; ".join(wrong)


def _read_case(entry: Mapping[str, Any]) -> SyncCase:
    targets = tuple(target_named(name).name for name in entry["targets"])
    order = entry.get("mode", ORDERS[0])
    if order not in ORDERS:
        raise ValueError(f"mode is one of {', '.join(ORDERS)}, not {order!r}")
    return SyncCase(
        str(entry["file"]),
        targets,
        order,
        int(entry.get("blocks", 1)),
        tuple(_read_argument(name, arg) for name, arg in entry["args"].items()),
        {name: frozenset(entry["expect"][name]) for name in targets},
        frozenset(entry.get("may", ())),
        tuple(Place(p["id"], tuple(map(int, p["lines"])), p.get("target")) for p in entry.get("at", ())),
    )


def _read_argument(name: str, arg: Mapping[str, Any]) -> Any:
    match arg["kind"]:
        case "gm":
            buffer = Buffer(dtype(arg["dtype"]), int(arg["elems"]), arg["role"])
            if buffer.role not in ROLES:
                raise ValueError(f"argument {name}: role is one of {', '.join(ROLES)}, not {buffer.role!r}")
            if not 0 <= buffer.elements * buffer.element.size <= MAX_BYTES:
                raise ValueError(f"argument {name}: {buffer.elements} elements are too many")
            return buffer
        case "scalar":
            return arg["value"]
        case "ffts":
            return 0
        case kind:
            raise ValueError(f"argument {name}: unknown kind {kind!r}")
