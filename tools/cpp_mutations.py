"""Take waits out of clean kernels of device suites, one at a time, and see what the sanitizer says.

    python tools/cpp_mutations.py CHECKOUT RESULTS.jsonl [--target a2a3] [--kernels 40] [--only TEXT]

CHECKOUT is one of the C++ library. Of each suite the first kernel is taken that the sanitizer has nothing to say about,
on arguments made from it. Every wait for a flag or barrier in its file that it executes is left out, and in another
version moved after the next instruction; lines stay as they are. Verdicts: ``race`` (a race, or data read before it is
there, at the line of who comes too early), ``flag`` (only that the flag is raised and nobody waits, or the like: on
these arguments nothing else needs it), ``clean``: nothing is found. Waits without a race are then left out together:
where that races, they do the same, else what is left suffices. Kernels with a line in the results are not asked again.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from samples import arguments_of

from ptokit.cpp.compiler import Options
from ptokit.cpp.kernels import CppFile
from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.ir.core import Module
from ptokit.run import choose_entry
from ptokit.sanitize import sanitize
from ptokit.targets import Target, target

WAIT = re.compile(r"\b(?:wait_flag|pipe_barrier|TSYNC)\s*(?:<[^;]*>)?\s*\([^;]*\)\s*;|\b\w+\.Wait\(\)\s*;")
WAITS = ("pto.wait_flag", "pto.wait_flag_dyn", "pto.barrier")
_MENDED = re.compile(r"the same fix mends ([A-Z-]+):")
RACES = ("RACE", "UNINIT", "STALE", "XCORE", "DEADLOCK")


def files(checkout: Path, name: str) -> Iterator[Path]:
    """The kernel files of a target's suites, one suite after the other."""
    for suite in sorted((checkout / "tests" / "npu" / name / "src" / "st" / "testcase").iterdir()):
        yield from sorted(suite.glob("*_kernel.cpp"))[:1]


def findings(file: Path, symbol: str, used: Target, include: tuple[str, ...]) -> tuple[Module, list[Diagnostic]]:
    """What the sanitizer says of a kernel of a file. Raises `DiagnosticError` for what cannot be launched."""
    read = CppFile(str(file), used, Options(include))
    module = read.module(read.kernel(symbol))
    entry = choose_entry(module, None)
    report = sanitize(module, used, arguments_of(module, entry, 1, 128), 1)
    return module, [d for d in report.diagnostics if d.severity is Severity.ERROR]


def clean_kernel(file: Path, used: Target, include: tuple[str, ...]) -> tuple[str, Module] | None:
    """The first kernel of a file without findings, and its module; None if there is none."""
    for kernel in CppFile(str(file), used, Options(include)).kernels[:3]:
        try:
            module, found = findings(file, kernel.symbol, used, include)
        except DiagnosticError:
            continue
        if not found:
            return kernel.symbol, module
    return None


def versions(text: str, lines: set[int]) -> Iterator[tuple[str, int, str]]:
    """How a wait is changed, its line, and the text with that change."""
    rows = text.splitlines(keepends=True)
    for line in sorted(lines):
        found = WAIT.search(rows[line - 1]) if line <= len(rows) else None
        if found is None:
            continue
        bare = without(text, {line})
        yield "removed", line, bare
        after = next((k for k in range(line, min(len(rows), line + 8)) if _is_statement(rows[k])), None)
        if after is not None:
            moved = bare.splitlines(keepends=True)
            moved[after] = rows[after].rstrip("\n") + " " + found[0] + "\n"
            yield "moved", line, "".join(moved)


def _is_statement(row: str) -> bool:
    """True for an instruction of tiles, which a wait may come too late for."""
    return re.match(r"\s*T[A-Z_0-9]+\s*(<.*>)?\(.*\);\s*$", row) is not None and "TASSIGN" not in row


def without(text: str, lines: set[int]) -> str:
    """The text without the waits in these lines."""
    rows = text.splitlines(keepends=True)
    for line in lines:
        rows[line - 1] = WAIT.sub(";", rows[line - 1], count=1)
    return "".join(rows)


def judge(file: Path, used: Target, include: tuple[str, ...]) -> dict[str, Any] | None:
    """What becomes of the waits of a kernel; None where the file has no clean one with waits."""
    try:
        clean = clean_kernel(file, used, include)
    except DiagnosticError:
        return None
    if clean is None:
        return None
    symbol, module = clean
    waits = [op for f in module.functions if f.body is not None for op in f.body.walk() if op.name in WAITS]
    here = {op.location.line for op in waits if Path(op.location.file or "").name == file.name}
    if not here:
        return None
    results: list[list[Any]] = []
    text = file.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / file.name

        def asked(changed: str) -> tuple[str, list[str]]:
            copy.write_text(changed, encoding="utf-8")
            try:
                _, found = findings(copy, symbol, used, include)
            except DiagnosticError as error:
                found = list(error.diagnostics)
            return _verdict(found, file.name)

        for how, line, changed in versions(text, here):
            results.append([how, line, *asked(changed)])
        idle = {line for how, line, verdict, _ in results if how == "removed" and verdict != "race"}
        together = asked(without(text, idle))[0] if len(idle) > 1 else ""
    return {"file": str(file), "target": used.name, "kernel": symbol, "waits": results, "together": together}


def _verdict(found: list[Diagnostic], name: str) -> tuple[str, list[str]]:
    """The verdict, and the findings with their lines."""
    places = [(d.rule, d.location) for d in found]
    places += [(m[1], n.location) for d in found for n in d.notes if (m := _MENDED.match(n.message))]
    said = [f"{rule} {at.line}" for rule, at in places if Path(at.file or "").name == name]
    if any(rule.startswith(RACES) for rule in said):
        return "race", said[:4]
    return ("flag", said[:4]) if said else ("elsewhere" if found else "clean", [d.rule for d in found][:4])


def main(arguments: list[str]) -> int:
    """Run the tool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--target", default="a2a3")
    parser.add_argument("--kernels", type=int, default=40)
    parser.add_argument("--only", default="")
    given = parser.parse_args(arguments)
    used = target(given.target)
    known = [json.loads(line) for line in given.results.read_text().splitlines()] if given.results.exists() else []
    done = {row["file"] for row in known}
    for file in files(given.checkout, given.target):
        if len([row for row in known if row["waits"]]) >= given.kernels:
            break
        if str(file) in done or given.only not in str(file):
            continue
        row = judge(file, used, (str(file.parent), str(file.parent.parent))) or {"file": str(file), "waits": []}
        known.append(row)
        with given.results.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
    kernels = [row for row in known if row["waits"]]
    print(f"{len(kernels)} kernels, {sum(len(row['waits']) for row in kernels)} versions")
    for how in ("removed", "moved"):
        print(f"  {how}: {dict(Counter(w[2] for row in kernels for w in row['waits'] if w[0] == how))}")
    for row in kernels:
        for how, line, verdict, said in row["waits"]:
            if verdict != "race":
                reason = "another of them does the same" if row.get("together") == "race" else "what is left suffices"
                print(f"  {Path(row['file']).name}:{line} {how}: {verdict} {', '.join(said)}; {reason}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
