"""What a rule of instructions or of the assembler rests on, and whether that makes an error: `verdict`.

What the library does not compile, the machine cannot do or a device shows to be wrong is an error. What only the
reference assembler, a debug assertion or a document refuses is a warning; of a rule that covers both kinds of cases,
the check returns a `Doubt` for the weaker ones. Every rule names its evidence; ``docs/evidence.md`` is made of that.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from .finding import Severity


class Evidence(StrEnum):
    """Why a rule is one: what refuses or what happens on the device."""

    ASSEMBLER = "assembler"  # the reference assembler refuses the text
    STATIC_ASSERT = "static_assert"  # the library has no such form, or does not compile it
    DEVICE = "device"  # the device faults, hangs, or does something else than the instruction says
    LEGAL = "legal"  # it runs, and is hardly what was meant, or less exact than it looks
    ASSERTION = "assertion"  # a debug assertion of the library, which release kernels do not contain
    DOCUMENT = "document"  # a manual or specification says so, and neither library nor device shows it
    SIMULATOR = "simulator"  # of the target cpu: the simulator on the host refuses it, or does something else
    PTOKIT = "ptokit"  # no public source says what it would do, so that there is nothing to run


WORDS = {
    Evidence.ASSEMBLER: "the reference assembler refuses it",
    Evidence.STATIC_ASSERT: "the library does not compile it",
    Evidence.DEVICE: "the device faults, hangs or does something else",
    Evidence.LEGAL: "it runs, hardly as it is meant",
    Evidence.ASSERTION: "a debug assertion of the library refuses it",
    Evidence.DOCUMENT: "a manual or specification says so",
    Evidence.SIMULATOR: "the simulator refuses it, or does something else",
    Evidence.PTOKIT: "no public source says what it would do",
}

REFUSING = frozenset({Evidence.STATIC_ASSERT, Evidence.DEVICE, Evidence.SIMULATOR, Evidence.PTOKIT})
"""Kinds that make an error: of the target cpu, the simulator is the machine."""


def verdict(evidence: Iterable[Evidence]) -> Severity:
    """What a broken rule is. Under ``--rules assembler``, what the assembler refuses is an error, too."""
    return Severity.WARNING if REFUSING.isdisjoint(evidence) else Severity.ERROR
