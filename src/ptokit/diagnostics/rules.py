"""The rule catalogue: every check by id, its condition, what it rests on, and whether that makes an error.

    rule("EW-A5-04", "…Tile(Vec, i8, 16, {256|320})…", evidence="device")(
        "TSEL of 1-byte elements has at most 256 valid columns on a5.",
        "dst.vc <= 256 if dst.dtype.size == 1",
        "{dst} has {dst.vc} valid columns of {dst.dtype}; a5 reads a wrong mask beyond 256",
    )

A condition is text, and after it stands the message. Names are those of operands and attributes of the instruction, of
the fields of its site (``instr``, ``target``; ``o`` is the site itself), of `WORDS` (`isa.checks.compiling`), and of
the module of the rule. It is Python, compiled when the first site asks (`isa.checks.compiling`):

- What only the run knows breaks nothing: ``dst.vc <= 256`` becomes ``dst.vc > 256``, which is false of unknown sizes.
- A condition about an operand that is absent, or that the instruction does not have, holds.
- After ``if`` stands what must be known to be so. ``for t in data`` asks the same of several tiles: ``data`` are
  destinations and sources, ``sources`` the latter, ``tiles`` also scratch; ``for t in (src0, src1)`` names them.
- ``lanes = 256 // src.dtype.size`` before a condition names an expression for those that follow, and their messages;
  ``if known(src.vc)`` is what must be known to be so for all that follow, functions too, up to the next such line.

Messages show values in braces. ``{dst}`` is the name of an operand, ``{%dst}`` that of the value in its place; the
finding is about the operands that are so named.

What the library does not compile, the machine cannot do or a device shows to be wrong is an error. What only the
reference assembler, a debug assertion or a document refuses is a warning; of a rule that covers both kinds of cases,
the check returns a `Doubt` for the weaker ones. Every rule names its evidence; ``docs/evidence.md`` is made of that.

A rule is data with one function. The function looks at a *site* (an instruction with its operands, see
`ptokit.isa.site`) and returns a message if the rule is broken there. The same function serves the static check, where
some sizes are unknown, and the call at run time, where all are known.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from textwrap import dedent
from typing import Any, Protocol

from ptokit.records import OnDemand, dataclass

from .finding import Severity

# Conditions of rules, written as they must hold.


Found = str | tuple[str, str] | bool | None
Check = Callable[[Any], Found]


@dataclass(frozen=True, eq=False)
class Need:
    """A condition that must hold, and the message where it is known to be broken; where ``doubt`` holds, a warning.

    The message may be left out, or begin with a semicolon, where the condition is one comparison: then it says first
    what was seen. ``need("src.vr == dst.vr")`` says "src has 16 valid rows, dst has 8", ``need("src.cols <= 64")``
    "src has 128 columns, more than 64".
    """

    condition: str
    message: str = ""
    hint: str = ""
    doubt: str = ""
    where: tuple[tuple[str, str], ...] = ()  # what further names mean, which the rule states before
    asked: str = ""  # what it states before that must be known, too


@dataclass(frozen=True, eq=False)
class When:
    """A function of a site that is asked only where ``asked`` is known to hold."""

    check: Check
    where: tuple[tuple[str, str], ...]
    asked: str


need = Need
Part = str | Need | Check


@dataclass(frozen=True, eq=False)
class Conditions:
    """What a rule looks at, one after the other; what is found first is reported. ``module`` has the names."""

    parts: tuple[Need | When | Check, ...]
    module: Mapping[str, Any]
    sentence: str = ""  # of rules that are made of them

    def __call__(self, o: Any) -> Any:
        return o.find(self)


def first(*parts: Part) -> Conditions:
    """Checks one after the other: conditions, each before its message, what `need` makes, and functions of a site."""
    return conditions(parts, sys._getframe(1).f_globals)


def shared(sentence: str, *parts: Part) -> Conditions:
    """The same for several rules, with their sentence."""
    return replace(conditions(parts, sys._getframe(1).f_globals), sentence=sentence)


def conditions(parts: tuple[Part, ...], module: Mapping[str, Any]) -> Conditions:
    """Checks that a module states; it has what conditions name beside the site."""
    return Conditions(tuple(_paired(parts)), module)


def _paired(parts: tuple[Part, ...]) -> Iterator[Need | When | Check]:
    where: tuple[tuple[str, str], ...] = ()
    asked = ""
    rest = iter(parts)
    for part in rest:
        if isinstance(part, str):
            name, defines, expression = part.partition(" = ")
            if defines and name.isidentifier():
                where += ((name, expression),)
            elif part.startswith("if "):
                asked = part.removeprefix("if ")
            else:
                yield Need(part, str(next(rest)), where=where, asked=asked)
        elif isinstance(part, Need):
            yield replace(part, where=where, asked=asked)
        else:
            yield When(part, where, asked) if asked else part


# What a rule of instructions or of the assembler rests on, and whether that makes an error: `verdict`.


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


# The rule catalogue: every check ptokit makes, by id.


class Doubt(str):
    """A message that warns, whatever the severity of the rule: the assembler and the library accept the case, and the
    device does what the instruction says. Only a debug assertion, a simulator or a document says otherwise.
    """


ALL_TARGETS = ("cpu", "a2a3", "a5")


class Scope(StrEnum):
    """Who states the rule."""

    ISA = "isa"  # seed documents and library headers: binding for every front end
    ASSEMBLER = "assembler"  # the reference assembler's verifier: binding for `.pto` text
    TEXT = "text"  # reading the text: lexer, grammar, types
    RUN = "run"  # arguments, launch, execution
    SYNC = "sync"  # ordering, initialisation and flags


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule of the catalogue.

    ``check(site)`` returns a falsy value if the rule holds or cannot be decided yet, else the message, or a pair
    (message, hint); a `Doubt` is a warning. Rules without ``check`` are reported by the part of ptokit that finds
    them, or, if not ``enforced``, by none: every target allows what they are about, or nothing can break them.

    A rule of the assembler that says the same as others of the instruction, perhaps less exactly, names them in
    ``covered_by``: where one of those is broken, it is reported alone. ``always``: the assembler checks it for lowered
    operands too (memrefs, results of bind_tile), which it leaves alone otherwise.
    """

    id: str
    what: str
    targets: tuple[str, ...] = ALL_TARGETS
    check: Check | None = None
    severity: Severity = Severity.ERROR
    scope: Scope = Scope.ISA
    why: str = ""
    source: str = ""
    example: str = ""  # a program with ``{accepted|refused}`` where it matters, see `accepted`
    on: str = ""  # the target of the example, where that is not `example_target`'s choice
    unrun: str = ""  # why the example is not run by a test: it is about files, other machines, or nothing breaks it
    reported_as: str = ""  # rules that findings name instead, whose examples hold for this one
    decision: str = ""  # where public facts leave something open: the reading ptokit chose
    enforced: bool = True
    covered_by: tuple[str, ...] = ()
    always: bool = False
    around: bool = False  # looks at more than single operands: lists, uses of results, the function around
    evidence: tuple[Evidence, ...] = ()  # what it rests on, see `define`

    @property
    def accepted(self) -> str:
        """The program of the example that keeps the rule."""
        return choice(self.example, 0)

    @property
    def refused(self) -> str:
        """The one that breaks it."""
        return choice(self.example, 1)

    @property
    def example_target(self) -> str:
        """The target whose check, run or sanitizer tells the two apart."""
        return self.on or next((name for name in ("a5", "a2a3", *self.targets) if name in self.targets), "a5")

    def severity_of(self, message: str) -> Severity:
        """What a finding with this message is: that of the rule; of a `Doubt` at most a warning."""
        doubtful = isinstance(message, Doubt) and self.severity is Severity.ERROR
        return Severity.WARNING if doubtful else self.severity


def choice(example: str, which: int) -> str:
    """One of the two programs of an example: the first of each ``{accepted|refused}``, or the second.

    Statements of Python in one line, ``a; b``, get lines of their own; the indentation of the source is taken away.
    """
    text, opened = "", []  # where a brace is in the text so far, and the bar in it
    for letter in example:
        if letter == "{":
            opened.append([len(text), 0])
        elif letter == "|" and opened and not opened[-1][1]:
            opened[-1][1] = len(text)
        elif letter == "}" and opened:
            start, bar = opened.pop()
            if bar:
                text = text[:start] + (text[bar + 1 :] if which else text[start + 1 : bar])
                continue
        text += letter
    return "\n".join(line for line in dedent(text).replace("; ", "\n").splitlines() if line.strip())


class RuleDecorator(Protocol):
    """What makes a rule of a function that checks it, or of a sentence and what must hold; see `rule`."""

    def __call__(self, check: Part | None, /, *parts: Part) -> Rule: ...


FURTHER: list[Callable[[], object]] = []
"""Functions that define the rules of a table whose parts are imported when they are needed."""


class _Catalogue(OnDemand[Rule]):
    """Rules by id."""

    def bring(self, name: str) -> bool:
        self.bring_all()
        return True

    def bring_all(self) -> None:
        for define_more in FURTHER:
            define_more()

    def place(self, name: str) -> str:
        return name


CATALOGUE = _Catalogue()


def define(id: str, what: str, **fields: Any) -> Rule:
    """Add a rule to the catalogue and return it; `fields` are those of `Rule`. An id can be defined once.

    ``evidence``: words of `Evidence` for a rule of instructions or of the assembler; they decide its severity.
    """
    if CATALOGUE.has_imported(id):
        raise ValueError(f"rule {id} is defined twice")
    own = (Evidence.ASSEMBLER,) if fields.get("scope") is Scope.ASSEMBLER else ()
    given = map(Evidence, fields.pop("evidence", "").split())
    evidence = tuple(dict.fromkeys((*own, *given)))
    if evidence:
        if "severity" in fields:
            raise ValueError(f"the severity of {id} follows from its evidence")
        fields["severity"] = verdict(evidence)
    made = CATALOGUE[id] = Rule(id, what, evidence=evidence, **fields)
    return made


def rule(id: str, example: str = "", *, what: str = "", **fields: Any) -> RuleDecorator:
    """Decorator that makes a rule of the function that checks it; `fields` are those of `Rule`.

    The first paragraph of the function's docstring is the sentence that must hold. A second one says why, and one that
    begins with "Decision:" which reading was chosen. A function that serves several rules, or is made by another, is
    given with the sentence: ``rule("EW-06", what="...")(in_types)``. Where the condition is text, it follows the
    sentence.
    """

    def made(check: Part | None, /, *parts: Part) -> Rule:
        if isinstance(check, str):
            stated, check = _paragraphs(check), conditions(parts, sys._getframe(1).f_globals)
        else:
            given = check.sentence if isinstance(check, Conditions) else check.__doc__
            stated = {"what": what} if what else _paragraphs(given if check else "")
        return define(id, **{**stated, "example": example, **fields}, check=check)

    return made


def _paragraphs(text: str | None) -> dict[str, str]:
    sentence, *rest = (" ".join(part.split()) for part in (text or "").split("\n\n"))
    found = {"what": sentence}
    for part in rest:
        key = "decision" if part.startswith(_DECISION) else "why"
        found[key] = part.removeprefix(_DECISION).strip()
    return found


_DECISION = "Decision:"


def family(source: str, prefix: str = "", **fields: Any) -> Callable[..., RuleDecorator]:
    """The decorator `rule` for the rules of one document, whose ids begin with `prefix`; `fields` are those of `Rule`.

    The targets follow from the id, where that names one: ``EW-A5-01`` is of a5.
    """

    def made(id: str, example: str = "", **more: Any) -> RuleDecorator:
        id = f"{prefix}{id}"
        targets = next((_NAMED[part] for part in id.split("-") if part in _NAMED), ALL_TARGETS)
        return rule(id, example, **{"source": source, "targets": targets, **fields, **more})

    return made


_NAMED = {"CPU": ("cpu",), "A3": ("a2a3",), "A23": ("a2a3",), "A5": ("a5",)}


def lookup(id: str) -> Rule:
    """The rule with this id (case does not matter). Raises `KeyError`."""
    return CATALOGUE[id.upper()]


def catalogue() -> list[Rule]:
    """All rules, by id."""
    return list(CATALOGUE.values())


def merged(bound: Sequence[Rule]) -> tuple[Rule, ...]:
    """Rules with one entry for each id, which finds what any of those with the id finds."""
    found: dict[str, Rule] = {}
    for each in bound:
        before = found.get(each.id)
        found[each.id] = each if before is None else replace(each, check=_either(before, each))
    return tuple(found.values())


def _either(first: Rule, second: Rule) -> Check:
    def check(o: Any) -> Any:
        for each in (first, second):
            broken = each.check(o) if each.check is not None else None
            if broken:
                return broken
        return None

    return check
