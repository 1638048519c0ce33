"""Rules of kernels in C++: what is needed to compile one, and what can be lifted; what clang says, as findings."""

from __future__ import annotations

import linecache
import re
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Note, Rule, Scope, Severity, define
from ptokit.isa.table import TABLE


def _rule(id: str, what: str, why: str, example: str, severity: Severity = Severity.ERROR) -> Rule:
    unrun = "a compiler for C++ need not be there"
    return define(id, what, scope=Scope.RUN, severity=severity, why=why, example=example, unrun=unrun)


COMPILER = _rule(
    "CPP-COMPILER",
    "Kernels in C++ need clang, version 15 or later.",
    "Templates, constants and overloads of C++ are decided by a compiler; ptokit reads what it makes of them.",
    "{pip install ptokit[cpp]|PTOKIT_CXX=g++ ptokit check kernel.cpp}",
)
COMPILE = _rule(
    "CPP-COMPILE",
    "The compiler accepts the file, together with ptokit's headers.",
    "What it refuses has no meaning that could be checked. The message is the compiler's own.",
    "{TADD(dst, src0, src1);|TADDD(dst, src0, src1);}",
)
INCLUDE = _rule(
    "CPP-INCLUDE",
    "Every header that the file includes is there.",
    "ptokit has headers for the PTO instructions only. Others are found with -I.",
    "{#include <pto/pto-inst.hpp>|#include <torch/extension.h>}",
)
UNSET = _rule(
    "CPP-UNSET",
    "A variable is set before it is read.",
    "On a device it is whatever was there; ptokit takes zero, so that a result is the same in every run.",
    "{int32_t n = 0;|int32_t n;} for (int32_t k = 0; k < 4; k++) n += x[k];",
    Severity.WARNING,
)
LIMIT = _rule(
    "CPP-LIMIT",
    "Compiling a file ends in time, and with the memory that it may have.",
    "Templates can make a compiler work without end. PTOKIT_CXX_SECONDS and PTOKIT_CXX_BYTES say how much it may take.",
    "{template <int N> struct F { static constexpr int v = F<N - 1>::v; }; "
    "template <> struct F<0> { ... };|constexpr int n = [] { int i = 0; while (true) i++; return i; }();}",
)
KERNEL = _rule(
    "CPP-KERNEL",
    "A file has a kernel, a function that is __global__; a template is named with its arguments.",
    "A template is no function before it has arguments, and only functions can be run.",
    "{ptokit check kernel.cpp --entry 'Add<float, 64>'|ptokit check kernel.cpp    # whose only kernel is a "
    "template that it does not instantiate}",
)
POINTER = _rule(
    "CPP-POINTER",
    "A pointer points into global memory, into memory of the core, or into one variable that the compiler knows.",
    "Variables are numbers of the kernel, not bytes with an address. Which array of global memory is meant the run may "
    "decide: the pointer is an address then.",
    "{GlobalTensor<...> in(i & 1 ? y : x);|const int32_t* row = i & 1 ? odd : even;  // local arrays}",
)
MEMORY = _rule(
    "CPP-MEMORY",
    "A local array holds numbers, each read with the size with which it was written.",
    "Numbers of local arrays are kept as numbers, not as bytes.",
    "{int order[4] = {3, 1, 0, 2};|memcpy(bytes, &number, 4); use(bytes[1]);}",
)
CALL = _rule(
    "CPP-CALL",
    "A kernel calls instructions, and functions whose bodies the compiler can put in their place.",
    "A function that is only declared, calls itself, or is called through a pointer has no operations to look at.",
    "{AICORE inline void step(Tile& t) { ... }|int f(int n) { return n ? f(n - 1) : 0; }}",
)
OPERANDS = _rule(
    "CPP-OPERANDS",
    "A call has the operands and options that the instruction takes.",
    "ptokit's headers take any operands in a call; the instruction table says which there are.",
    "{TADD(dst, src0, src1);|TADD(dst, src0);}",
)
OPTION = _rule(
    "CPP-OPTION",
    "Options of an instruction, and the types of its tiles, are known when it is compiled.",
    "They choose what the instruction is.",
    "{TCVT(dst, src, RoundMode::CAST_RINT);|TCVT(dst, src, n ? RoundMode::CAST_RINT : RoundMode::CAST_FLOOR);}",
)
ASSEMBLY = _rule(
    "CPP-ASM",
    "A kernel has no inline assembly and no intrinsics of a processor.",
    "What the assembly of one device does cannot be told from its text.",
    '{get_sys_cnt()|asm volatile("MOV %0, SYS_CNT" : "=l"(t));}',
)

WRITE = _rule(
    "CPP-WRITE",
    "What is written as C++ has a counterpart there: instructions of tiles, flags, numbers, loops and branches.",
    "The file compiles against the headers of the PTO library, whose calls are the only ones it may have.",
    "{pto.trowsum ins(%x, %tmp : !t, !t) outs(%y : !c)|pto.trowsum ins(%x : !t) outs(%y : !c)}    # written with "
    "ptokit convert --to cpp",
)

REPLAY = _rule(
    "CPP-REPLAY",
    "A suite to replay has a host program, kernels and the data that its tests read.",
    "Its own host program, script and comparison decide whether a test passes.",
    "{ptokit replay tests/npu/a5/src/st/testcase/tadd --target a5|ptokit replay tests/npu/a5/src/st/testcase}",
)


def refusal(
    rule: Rule, message: str, place: Location, hint: str | None = None, notes: tuple[Note, ...] = ()
) -> DiagnosticError:
    """The error to raise for one finding."""
    return DiagnosticError(Diagnostic(rule.id, rule.severity, message, place, hint, notes))


class Unliftable(Exception):
    """What has no operation, before its place is known: a rule, a message and a hint."""

    def __init__(self, rule: Rule, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.rule, self.message, self.hint = rule, message, hint


def open_option(what: str) -> Unliftable:
    """The refusal of something that has to be known when a kernel is compiled."""
    hint = "write the instruction once for each, in the branches of an if"
    return Unliftable(OPTION, f"{what} only the run knows", hint)


_SAID = re.compile(r"^(.+?):(\d+):(\d+): (error|fatal error|warning|note): (.*)$")
_UNKNOWN = re.compile(r"(?:undeclared identifier|no member named|unknown type name|no template named) '(\w+)'")
_UNSET = re.compile(r"variable '(\w+)' is (?:used )?uninitialized")
_DECLARED = r"(?m)^\s*(?:[\w:]+(?:<[^;]*>)?[\s&*]+)+(?:\w+(?:\([^;]*?\))?,\s*)*{0}\s*[;,=({{[]"
_MEMBER = re.compile(r"no member named '(\w+)' in 'pto::(\w+)'")
_OF_PTO = "did you mean 'pto::"
_DECLARES = re.compile(r"PTOKIT_\w+\((\w{3,})|\b(\w{3,})(?=\(| = \d)")
_HEADERS = Path(__file__).parent / "headers" / "ptokit"
_HEADER = "write #include <pto/pto-inst.hpp> at the top of the file"


def short(instance: str) -> str:
    """An instance of a template without the arguments of its arguments, which are long and tell little."""
    shown, depth = "", 0
    for piece in re.split(r"([<>])", instance):
        depth -= piece == ">"
        if depth < 2 and piece not in "<>":
            shown += re.sub(r"(?:\w+::)+(?=\w+$)", "", piece) if depth else piece
        elif depth < 1 or (depth == 1 and piece == ">"):
            shown += piece if depth < 1 else "<…>"
        depth += piece == "<"
    return shown


def findings(errors: str, path: str, file: str) -> list[Diagnostic]:
    """What clang said, as findings: of notes those that show where a template or a macro was used.

    What follows from an earlier mistake is left out.
    """
    found: list[Diagnostic] = []
    told: list[Diagnostic] = []
    of_warning = False
    for line in errors.splitlines():
        said = _SAID.match(line)
        if said is None:
            continue
        place = Location(file if said[1] == path else said[1], int(said[2]), int(said[3]))
        if said[4] == "note":
            if found and told and not of_warning and found[-1] is told[-1] and len(found[-1].notes) < 8:
                last = found[-1]
                found[-1] = told[-1] = replace(last, notes=(*last.notes, Note(said[5], place)))
            continue
        of_warning = said[4] == "warning"
        if of_warning:
            unset = _UNSET.match(said[5])
            if unset is not None:
                message = f"{unset[1]} is read before it is set"
                found.append(Diagnostic(UNSET.id, UNSET.severity, message, place, "set it where it is declared"))
            continue
        missing = said[4] == "fatal error" and "file not found" in said[5]
        rule = INCLUDE if missing else COMPILE
        made = Diagnostic(rule.id, rule.severity, said[5], place, None if missing else _guess(said[5]))
        if not _follows(made, told):
            found.append(made)
        told.append(made)
    return found


def _follows(made: Diagnostic, told: Sequence[Diagnostic]) -> bool:
    """True for what is wrong only because of an earlier mistake.

    It is in the same line, or about a name that was unknown before, is declared where a mistake is, or is in the
    namespace `pto` as one before.
    """
    unknown = _UNKNOWN.search(made.message)
    for earlier in told:
        said, at = _UNKNOWN.search(earlier.message), earlier.location
        if at.file == made.location.file and at.line == made.location.line:
            return True
        if unknown is not None and (
            earlier.hint == _HEADER
            or (said is not None and unknown[1] == said[1])
            or (_OF_PTO in earlier.message and (_OF_PTO in made.message or made.hint == _HEADER))
        ):
            return True
    if unknown is None or not told or not made.location.file:
        return False
    lines = linecache.getlines(made.location.file)[: made.location.line - 1]
    return re.search(_DECLARED.format(unknown[1]), "".join(lines)) is not None


def _guess(message: str) -> str | None:
    """What a name that clang does not know may mean, where clang guesses nothing."""
    unknown = _UNKNOWN.search(message)
    if message == "expected namespace name":
        return _HEADER
    if unknown is None:
        return None
    if unknown[1] in ("__simt_vf__", "__simt_callee__", "async_invoke"):
        return "vector cores of A5 have threads: check it with --target a5"
    if _OF_PTO in message:
        return "write using namespace pto; after the headers"
    if "did you mean" in message:
        return None
    member = _MEMBER.search(message)
    if member is not None:
        names = _enumerators(member[2])
        close = [name for name in names if member[1] in name] or get_close_matches(member[1], names, 3)
        return f"did you mean {' or '.join(close)}?" if close else f"it has {', '.join(names)}" if names else None
    if unknown[1] in TABLE or unknown[1] in ("Tile", "GlobalTensor", "Shape", "Stride", "TileType"):
        return _HEADER
    declared = _declared()
    close = [declared[name] for name in get_close_matches(unknown[1].lower(), declared, 3, 0.75)]
    return f"did you mean {' or '.join(close)}?" if close else None


@cache
def _declared() -> dict[str, str]:
    """What ptokit's headers have names for, by these in small letters."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(_HEADERS.glob("*.hpp")))
    found = (first or second for first, second in _DECLARES.findall(text))
    return {name.lower(): name for name in found if not name.lower().startswith(("ptokit", "_"))}


def _enumerators(name: str) -> list[str]:
    """The enumerators of an enumeration of the library."""
    text = (_HEADERS / "enumerations.hpp").read_text(encoding="utf-8")
    found = re.search(rf"enum class {name} : \w+ {{(.*?)}};", text, re.DOTALL)
    return re.findall(r"(\w+) =", found[1]) if found else []
