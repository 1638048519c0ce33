"""Verdicts of ptokit on the tests and sample kernels of a PTOAS checkout.

    python tools/corpus.py CHECKOUT [SET ...] [--jobs N] [--top N] [--json FILE] [--only TEXT]

| set | what counts as right |
|---|---|
| ``samples`` | a sample kernel, of PTO-Gym any, is accepted with the assembler's rules alone |
| ``production`` | a sample kernel is accepted by the plain check |
| ``lit-pto`` | what the RUN lines of ``test/lit/pto``, formerly ``test/basic``, accept or refuse |
| ``lit-vpto``, ``vmi`` | what the RUN lines of ``test/lit/vpto`` and ``test/lit/vmi_new`` accept or refuse |
| ``vpto-cases``, ``tilelang`` | a kernel with a golden answer is accepted with the assembler's rules alone |

What the last four accept is printed, too, and has to read and print the same.

A text that the assembler refuses with words that stand neither in its readers nor in its verifiers (``stage``) is
counted apart: some of those stages look at the text alone, and ptokit says the same; others at what has become of it.
Without SET all of them run. The summary counts verdicts and lists the most frequent causes; ``--json`` writes every
case with its findings.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import shlex
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from refusals import announced, expected_errors, refused_as_text

from ptokit.asm import parse_module, print_module
from ptokit.diagnostics import Diagnostic, Diagnostics, Severity
from ptokit.ir.functions import readable_functions, stated_target
from ptokit.ir.verify import verify
from ptokit.targets import target
from ptokit.workers.executors import drive, open_executor
from ptokit.workers.minder import How, Task

ARCHS = {"a2": "a2a3", "a3": "a2a3", "a5": "a5"}
A5_SAMPLES = re.compile(r"A5|_a5|TquantMx|TPushTPop|movfp_fixpipe_reuse-pto")
"""Samples for a5: by their folder or file; the two named use pipes and scales that only a5 has."""

STATED = re.compile(r'pto\.(?:target_arch|device-spec)"? = "')
A5_DEVICE = re.compile(r'pto\.device-spec"? = "Ascend(950|910_95)')
"""A device of a5, for which a text is checked whatever a command names."""

PRINTED = {
    "lit-vpto": "test/lit/vpto",
    "vmi": "test/lit/vmi_new",
    "vpto-cases": "test/vpto/cases",
    "tilelang": "test/tilelang_st",
}
"""Folders whose texts are printed, too, by set."""


@dataclass
class Case:
    """A text with the options it is read with, and what is expected: ``accept``, ``refuse`` or ``stage``."""

    set: str
    name: str  # path in the checkout; with "#part" of a divided file, with ":n" of the n-th command
    text: str
    expected: str
    arch: str = ""  # empty: what the text states
    level: int | None = None
    auto_sync: bool = False
    assembler: bool = True
    command: str = ""
    words: list[str] = field(default_factory=list)  # what the reference is expected to say


@dataclass
class Outcome:
    """What ptokit said."""

    set: str
    name: str
    expected: str
    verdict: str  # accept, refuse, unstable, crash
    right: bool
    causes: list[str]
    command: str
    words: list[str]


# ---------------------------------------------------------------------- cases


def samples(root: Path, name: str) -> Iterator[Case]:
    """The sample kernels, or all kernels of a checkout without; each for the target that it or its folder names."""
    folder, default = root / "test/samples", "a3"
    if not folder.exists():
        folder, default = root, "a5"  # PTO-Gym
    for path in sorted(folder.rglob("*.pto")):
        shown, text = str(path.relative_to(root)), path.read_text(encoding="utf-8")
        run = re.search(r"--pto-arch[ =](a\d)", text)
        arch = "" if STATED.search(text) else run[1] if run else "a5" if A5_SAMPLES.search(shown) else default
        yield Case(name, shown, text, "accept", arch, assembler=name == "samples")


def lit(root: Path, name: str) -> Iterator[Case]:
    """Every command of the RUN lines that gives a text of the test to the assembler."""
    folder = root / "test/lit/pto"
    if not folder.exists():
        folder = root / "test/basic"  # where it was before the summer of 2026
    seen: set[tuple[object, ...]] = set()  # commands that differ in what they print are one
    for path in sorted(folder.rglob("*.pto")):
        text = path.read_text(encoding="utf-8")
        parts = divided(text)
        shown = str(path.relative_to(root))
        for number, (command, refused) in enumerate(commands(text), 1):
            prefixes = [m[1] for a in command if (m := re.match(r"--check-prefix(?:es)?=(.+)", a))]
            said = announced(text, ",".join(prefixes).split(",") if prefixes else ["CHECK"]) if refused else []
            for file in (a for a in command if a.endswith(".pto") or a == "%s"):
                base = file.rpartition("/")[2]
                if file.startswith("%t"):
                    given, part = parts.get(base), f"#{base}"
                elif file == "%s":
                    given, part = text, ""
                else:
                    other = folder / base
                    given, part = (other.read_text(encoding="utf-8") if other.exists() else None), f"#{base}"
                if given is None:
                    continue
                options = dict(a.lstrip("-").split("=", 1) for a in command if a.startswith("-") and "=" in a)
                for key, value in itertools.pairwise(command):
                    if key in ("--pto-arch", "--pto-level"):
                        options[key[2:]] = value
                sync = any("enable-insert-sync" in a or "graph-sync-solver" in a for a in command)
                arch = "a5" if A5_DEVICE.search(given) else options.get("pto-arch", "")
                level = int(options.get("pto-level", "level2")[-1])
                if (key := (given, refused, arch, level, sync)) in seen:
                    continue
                seen.add(key)
                expected = "refuse" if refused else "accept"
                if refused and said and not refused_as_text(root, given, said):
                    expected = "stage"
                label, shown_command = f"{shown}{part}:{number}", " ".join(command)
                yield Case(name, label, given, expected, arch, level, sync, command=shown_command, words=said)


DIVIDER = re.compile(r"^// -----.*$", re.MULTILINE)


def commands(text: str, tools: Sequence[str] = ("ptoas",)) -> list[tuple[list[str], bool]]:
    """The assembler's commands in RUN lines, and whether they must fail. Options of the check behind are among them."""
    found: list[tuple[list[str], bool]] = []
    lines = [m[1].strip() for m in re.finditer(r"^\s*//\s*RUN:(.*)$", text, re.MULTILINE)]
    for command in " \n".join(lines).replace("\\ \n", " ").split("\n"):
        for part in re.split(r"\||&&|;", command):
            try:
                words = shlex.split(part)
            except ValueError:
                words = part.split()
            while words and words[0] in ("bash", "-c", "set", "-o", "pipefail"):
                words.pop(0)
            refused = words[:1] == ["not"]
            if words[refused : refused + 1] in ([tool] for tool in tools):
                found.append((words[1 + refused :], refused))
            elif words[:1] == ["FileCheck"] and found:
                found[-1][0].extend(word for word in words if word.startswith("--check-prefix"))
    return found


def divided(text: str) -> dict[str, str]:
    """The parts of a file that ``split-file`` divides, by name."""
    found = re.split(r"^//--- *(\S+).*$\n?", text, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2]))


def texts(root: Path, name: str) -> Iterator[Case]:
    """Kernels with golden answers."""
    for path in sorted((root / PRINTED[name]).rglob("*.pto")):
        text = path.read_text(encoding="utf-8")
        shown = str(path.relative_to(root))
        pieces = divided(text) or dict(enumerate(DIVIDER.split(text)))
        for part, piece in pieces.items():
            if piece.strip():
                label = shown if len(pieces) == 1 else f"{shown}#{part}"
                yield Case(name, label, piece, "accept", "" if STATED.search(piece) else "a5")


def lit_tests(root: Path, name: str) -> Iterator[Case]:
    """Texts of tests with the verdict of the commands of their RUN lines."""
    for path in sorted((root / PRINTED[name]).rglob("*.pto")):
        text = path.read_text(encoding="utf-8")
        shown = str(path.relative_to(root))
        verdicts: dict[tuple[str, str], tuple[str, list[str], str]] = {}  # by label and target
        pieces: dict[str, str] = {}
        for command, refused in commands(text, ("ptoas", "pto-test-opt")):
            arch = next((m[1] for a in command if (m := re.match(r"--pto-arch=(a\d)", a))), "")
            prefixes = [m[1] for a in command if (m := re.match(r"--check-prefix(?:es)?=(.+)", a))]
            words = announced(text, ",".join(prefixes).split(",") if prefixes else ["CHECK"])
            for label, piece, verdict, said in expectations(text, command, refused, words):
                pieces[label] = piece
                if verdict == "refuse" and not refused_as_text(root, piece, said):
                    verdict = "stage"
                before = verdicts.get((label, arch))
                if before is None or RANK.index(verdict) < RANK.index(before[0]):
                    verdicts[label, arch] = (verdict, said if verdict != "accept" else [], " ".join(command))
        for (label, arch), (verdict, said, shown_command) in verdicts.items():
            chosen = "" if STATED.search(pieces[label]) else arch or "a5"
            yield Case(name, shown + label, pieces[label], verdict, chosen, command=shown_command, words=said)


RANK = ("accept", "refuse", "stage")
"""Of several commands on one text: one that accepts it says that its readers and verifiers do."""


def expectations(
    text: str, command: list[str], refused: bool, words: list[str]
) -> Iterator[tuple[str, str, str, list[str]]]:
    """Of a command: the texts it is given, each with its label, the verdict, and what is expected to be said."""
    parts = divided(text)
    for file in dict.fromkeys(a for a in command if a.startswith("%t/") or a == "%s"):
        if file != "%s":
            base = file.removeprefix("%t/")
            if base in parts:
                yield f"#{base}", parts[base], "refuse" if refused else "accept", words
            continue
        if parts:
            continue
        pieces = DIVIDER.split(text) if any("split-input-file" in a for a in command) else [text]
        if any("verify-diagnostics" in a for a in command):
            said = [expected_errors(piece) for piece in pieces]
            verdicts = ["refuse" if e else "accept" for e in said]
        else:
            said = [announced(piece, ["CHECK"]) for piece in pieces] if refused and len(pieces) > 1 else []
            shared = [k for k, e in enumerate(said) if e] in ([], [0])
            said = [words] * len(pieces) if shared else said
            verdicts = [("refuse" if e else "stage") if refused else "accept" for e in said]
        for k, (piece, verdict) in enumerate(zip(pieces, verdicts)):
            if piece.strip():
                yield ("" if len(pieces) == 1 else f"#{k}"), piece, verdict, said[k]


SETS = {
    "samples": samples,
    "production": samples,
    "lit-pto": lit,
    "lit-vpto": lit_tests,
    "vpto-cases": texts,
    "tilelang": texts,
    "vmi": lit_tests,
}


# ------------------------------------------------------------------- verdicts


def judge(case: Case) -> Outcome:
    """What ptokit says of one case."""
    try:
        verdict, causes = _check(case)
        if verdict == "accept" and case.set in PRINTED:
            verdict, causes = _print(case)
    except Exception as error:  # a crash is a finding of this tool
        verdict, causes = "crash", [f"{type(error).__name__}: {error}"]
    right = verdict in ("accept", "refuse") if case.expected == "stage" else verdict == case.expected
    return Outcome(case.set, case.name, case.expected, verdict, right, causes, case.command, case.words)


def _shown(found: Diagnostics | list[Diagnostic]) -> list[str]:
    return [f"{d.rule} {d.location.line}: {d.message}" for d in found if d.severity is Severity.ERROR]


def judge_case(given: dict[str, Any], _: object) -> dict[str, Any]:
    """The task of a worker."""
    return asdict(judge(Case(**given)))


def judged(cases: list[Case], where: str, jobs: int) -> list[Outcome]:
    """What ptokit says of all cases, in order."""
    if where == "processes" and jobs == 1:
        return [judge(case) for case in cases]
    tasks = (Task(str(n), "corpus:judge_case", asdict(case)) for n, case in enumerate(cases))
    found: dict[int, Outcome] = {}
    with open_executor(where, jobs) as (executor, workers):
        for answers in drive(tasks, executor, workers):
            for answer in answers:
                case = cases[int(answer.id)]
                lost = Outcome(case.set, case.name, case.expected, "crash", False, [answer.message], case.command, [])
                found[int(answer.id)] = Outcome(**answer.value) if answer.how is How.DONE else lost
    return [found[n] for n in range(len(cases))]


def _check(case: Case) -> tuple[str, list[str]]:
    states = case.set != "lit-pto" and "pto.target_arch" in case.text
    chosen = target(ARCHS[case.arch]) if case.arch and not states else None
    read = parse_module(case.text, case.name, target=chosen)
    used = (stated_target(read.module) if case.set != "lit-pto" else None) or chosen
    used = used or stated_target(read.module) or target("a2a3")
    found = list(read.diagnostics)
    found += verify(
        read.module,
        used,
        level=case.level,
        auto_sync=case.auto_sync,
        assembler=case.assembler,
        functions=readable_functions(read.module, read.diagnostics),
    )
    errors = _shown(found)
    return ("refuse" if errors else "accept"), errors


def _print(case: Case) -> tuple[str, list[str]]:
    """Print a text that is accepted: it reads and prints the same."""
    chosen = target(ARCHS[case.arch]) if case.arch else None
    printed = print_module(parse_module(case.text, case.name, target=chosen).module)
    again = parse_module(printed, case.name, target=chosen)
    errors = _shown(again.diagnostics)
    if errors:
        return "unstable", errors
    stable = print_module(again.module) == printed
    return ("accept", []) if stable else ("unstable", ["prints another text the second time"])


# --------------------------------------------------------------------- report


def generalised(cause: str) -> str:
    """A cause without the names, numbers and types of its place."""
    cause = re.sub(r"^(\S+) \d+:", r"\1", cause)
    cause = re.sub(r"![\w.]+<[^ ]*(?:, [^ ]*>)*", "<type>", cause)
    cause = re.sub(r"%[\w#.$-]+", "%x", cause)
    return re.sub(r"\b\d+(?:x\d+)*\b", "#", cause)[:150]


def report(outcomes: list[Outcome], top: int) -> None:
    """Print counts and causes of each set."""
    for name in dict.fromkeys(o.set for o in outcomes):
        mine = [o for o in outcomes if o.set == name]
        counts = Counter(f"expected {o.expected}: {o.verdict}" for o in mine)
        judged_here = [o for o in mine if o.expected != "stage"]
        print(f"\n{name}: {sum(o.right for o in judged_here)} of {len(judged_here)} right")
        later = [o.verdict for o in mine if o.expected == "stage"]
        if later:
            print(f"  {len(later)} more are refused by later stages; {later.count('refuse')} of them here, too")
        for key, count in sorted(counts.items()):
            print(f"  {count:5}  {key}")
        wrong = [o for o in mine if not o.right]
        causes = Counter(cause for o in wrong for cause in {generalised(c) for c in o.causes[:1]})
        first = {generalised(c): o.name for o in reversed(wrong) for c in o.causes[:1]}
        for cause, count in causes.most_common(top):
            print(f"  {count:5}  {cause}\n           {first[cause]}")


def main(arguments: list[str]) -> int:
    """Run the tool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("sets", nargs="*", choices=[[], *SETS], default=[])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--executor", default="processes", help="processes, dask://HOST:PORT or ray")
    parser.add_argument("--top", type=int, default=12)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="cases whose name has this text")
    given = parser.parse_args(arguments)
    chosen = given.sets or list(SETS)
    cases = [c for name in chosen for c in SETS[name](given.checkout, name) if given.only in c.name]
    outcomes = judged(cases, given.executor, given.jobs)
    report(outcomes, given.top)
    if given.json:
        given.json.write_text(json.dumps([asdict(o) for o in outcomes], indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
