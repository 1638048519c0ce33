"""What callers choose: words, options with their defaults and help, and enumerations that have a spelling in text.

This module imports next to nothing, so that the command line knows all of it before anything else is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, fields
from enum import IntEnum, StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Self, TypedDict

from ptokit.records import dataclass

if TYPE_CHECKING:
    from concurrent.futures import Executor

# Enumerations whose members have a spelling in text.


class Spelled(IntEnum):
    """An integer enumeration with a text spelling per member."""

    @property
    def text(self) -> str:
        """Spelling in `.pto` text: ``RowMajor`` → ``row_major``."""
        return _spelling(self._name_)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Member by its `.pto` spelling or its C++ name. Raises `KeyError`."""
        for member in cls:
            if text in (member.text, member.name):
                return member
        raise KeyError(text)


@cache
def _spelling(name: str) -> str:
    out = ""
    for before, ch in zip(f"_{name}", name):
        if ch.isupper() and not before.isupper() and before != "_":
            out += "_"
        out += ch.lower()
    return out


# What callers choose by a word: the options of the command line, of the library and of files of settings.


class Matmul(StrEnum):
    """How the cube unit adds up products: rounded once, in f32, or in the order of k."""

    EXACT = "exact"
    FAST = "fast"
    REF = "ref"


class Backend(StrEnum):
    """The backend that runs a kernel: the module or package of that name in `ptokit.backends`."""

    NUMPY = "numpy"
    NATIVE = "native"
    REFERENCE = "reference"


class Mode(StrEnum):
    """Who places tiles and orders pipes: the compiler, or the program. With ``auto-sync`` the program places tiles, and
    the compiler orders the pipes of each core."""

    AUTO = "auto"
    AUTO_SYNC = "auto-sync"
    MANUAL = "manual"


class Order(StrEnum):
    """Which order instructions of one pipe have without synchronisation: complete, or what the target promises."""

    STRICT = "strict"
    PROFILE = "profile"


class RuleSet(StrEnum):
    """Which rules a file is checked by."""

    ALL = "all"
    ASSEMBLER = "assembler"


class TextForm(StrEnum):
    """Text forms of a program."""

    DPS = "dps"
    SSA = "ssa"
    SYNC = "sync"
    GENERIC = "generic"
    CPP = "cpp"


class Action(StrEnum):
    """What a campaign does with a program."""

    CHECK = "check"  # against the rules of the target
    RUN = "run"  # on arguments; what it leaves in them is kept as a digest
    SANITIZE = "sanitize"  # races, uninitialised data, flags, deadlocks
    COMPARE = "compare"  # run, and what it leaves in its arguments judged
    TIME = "time"  # how long a launch would take on a part, by the model of docs/timing.md
    COMPARE_ORDER = "compare-order"  # with another version of it: what does it not order any more
    PROVE = "prove"  # for all arguments; a claim that is open passes, and says so


class Goal(StrEnum):
    """What flags that are inserted are to be."""

    COUNT = "count"  # as few as possible
    OVERLAP = "overlap"  # as few as possible where that costs no time


class Format(StrEnum):
    """How findings are printed."""

    TEXT = "text"
    JSON = "json"
    SARIF = "sarif"
    GITHUB = "github"


class OptionalRule(StrEnum):
    """Rules that are off by default: what no public text decides, FLAG-ALIAS but for the pipes where a device hangs,
    and what a proof finds superfluous."""

    ALIAS = "FLAG-ALIAS"
    REUSE = "FLAG-REUSE-RACE"
    SUPERFLUOUS = "SYNC-SUPERFLUOUS"


# Options that travel from the command line and the library to whoever heeds them: one record each.


@dataclass(frozen=True)
class Option:
    """What the command line says of an option, and which values it takes.

    ``among``: the words or numbers to choose from; ``least``, ``most``: limits of a number. ``rule``: refuses other
    values when the kernel is launched, so that callers of the library get a finding. ``of``: what a shell completes.
    """

    help: str
    metavar: str | None = None
    short: str = ""
    among: type[StrEnum] | tuple[int, ...] | None = None
    least: int | None = None
    most: int | None = None
    rule: str = ""
    of: str = ""


def option(default: Any, help: str, metavar: str | None = None, **more: Any) -> Any:
    """A field of a record of options; the arguments are those of `Option`."""
    return field(default=default, metadata={"option": Option(help, metavar, **more)})


def options_of(record: Any) -> dict[str, tuple[Any, Option]]:
    """The default of every option of a record, and what is said of it."""
    return {f.name: (f.default, f.metadata["option"]) for f in fields(record)}


def taken(record: type[Any], keywords: Any) -> Any:
    """The record with those of its options that are among the keywords, which lose them."""
    return record(**{f.name: keywords.pop(f.name) for f in fields(record) if f.name in keywords})


@dataclass(frozen=True)
class LaunchOptions:
    """Which kernel is compiled, and what it is launched over."""

    entry: str | None = option(
        None, "The kernel to run, where the file has several; of C++ also a template: 'Add<64>'.", "F"
    )
    blocks: int = option(1, "Blocks to launch.", "N", short="-b", least=1, rule="RUN-BLOCKS")
    ranks: int | None = option(
        *(None, "Launch on N devices; arrays have a leading axis for them.", "N"), least=1, most=64, rule="RUN-RANKS"
    )
    vector_cores: int = option(2, "Vector cores beside each cube core of a mixed kernel.", "N", among=(1, 2))
    extended: bool = option(False, "Let the cpu target run element types that only devices have.")


@dataclass(frozen=True)
class RunOptions:
    """How a kernel is carried out."""

    matmul: str = option("exact", "Sums of products: rounded once, in f32, or in the order of k.", among=Matmul)
    sanitize: bool = option(False, "Look for races and uninitialised data first; errors end the run.")
    backend: str | None = option(
        None, "Who carries it out; by default PTOKIT_BACKEND, or what is faster.", among=Backend
    )
    threads: int | None = option(None, "Threads that run native code; by default all processors.", "N", least=1)
    executor: Executor | str | None = option(
        None, "Run blocks on other processes: processes, dask://HOST:PORT or ray.", "WHERE"
    )
    jobs: int | None = option(None, "How many; default one per core.", "N", short="-j", least=1, most=256)


@dataclass(frozen=True)
class SanitizeOptions:
    """What a run under observation looks for."""

    order: str = option("strict", "Order within a pipe: complete, or as far as the target promises it.", among=Order)
    witness: bool = option(False, "Run once more for each race, the other way round; show what changes.")
    seed: int | None = option(None, "Run once more in another legal order; show what changes.", "N")
    explain_sync: bool = option(False, "List the flags and barriers that a program without any needs.")
    mode: str | None = option(None, "Who places tiles and orders pipes, where the program does not tell.", among=Mode)
    also: Sequence[str] = option(
        *((), "Report a rule, too, that is off by default (FLAG-REUSE-RACE, …); repeatable.", "RULE-ID"),
        among=OptionalRule,
    )


@dataclass(frozen=True)
class TimeOptions:
    """What a launch is timed on."""

    part: str | None = option(None, "The device: 910B1, 950PR_9599, ...; by default one that the report names.", "NAME")
    values: bool = option(False, "Compute what tiles hold, too.")
    complete: bool = option(False, "Carry out every iteration of loops, those too that repeat others.")
    warm: bool = option(False, "The same launch has just ended: cores are awake, L2 holds what fits of the arguments.")


@dataclass(frozen=True)
class CheckOptions:
    """What a program is checked for."""

    level: int | None = option(
        None, "Who places tiles: the assembler (1, 2), the program (3).", "N", short="-l", among=(1, 2, 3)
    )
    auto_sync: bool = option(False, "The assembler is to insert flags and barriers.")
    rules: str | None = option(
        None, "All rules, or only what the reference assembler refuses; by default all.", among=RuleSet
    )
    extended: bool = option(False, "Let the cpu target take element types that only devices have.")


@dataclass(frozen=True)
class ReportOptions:
    """Which findings are reported, and how. None: as the project says."""

    select: Sequence[str] | None = option(None, "Report only rules that begin so; repeatable.", "RULE", of="rules")
    ignore: Sequence[str] | None = option(None, "Do not report rules that begin so; repeatable.", "RULE", of="rules")
    max_errors: int | None = option(None, "Show the first N errors; the status counts all.", "N", least=1)
    error_on_warning: bool = option(False, "End with status 1 where there are warnings, too.")
    format: str = option("text", "How to print findings.", among=Format)


# The same options as keyword arguments, for type checkers (a test compares them with the records).


class LaunchKeywords(TypedDict, total=False):
    """`LaunchOptions`, without the number of blocks."""

    entry: str | None
    ranks: int | None
    vector_cores: int
    extended: bool


class RunKeywords(LaunchKeywords, total=False):
    """`RunOptions`."""

    matmul: str
    sanitize: bool
    backend: str | None
    threads: int | None
    executor: Executor | str | None
    jobs: int | None


class SanitizeKeywords(LaunchKeywords, total=False):
    """`SanitizeOptions`."""

    order: str
    witness: bool
    seed: int | None
    explain_sync: bool
    mode: str | None
    also: Sequence[str]


class CheckKeywords(TypedDict, total=False):
    """`CheckOptions`."""

    level: int | None
    auto_sync: bool
    rules: str | None
    extended: bool
