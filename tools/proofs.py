"""Measure `ptokit prove`: on cases with known verdicts, on folders of kernels, and on mutants of these.

    python tools/proofs.py cases FOLDER         a folder with a manifest.json of cases (file, targets, blocks, expect)
    python tools/proofs.py corpus FOLDER...     kernels with flags: what is proved, what is open and why
    python tools/proofs.py mutants FOLDER...    the same kernels with one flag left out: nothing faulty may be proved

Whatever is proved and not closed is run under the sanitizer on several arguments; a claim that a run breaks is "WRONG".
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ptokit.api.check import read
from ptokit.api.prove import Proving, prove
from ptokit.arguments.derive import derive
from ptokit.diagnostics import DiagnosticError, UsageError
from ptokit.prove.report import Proof, Verdict, claim_of
from ptokit.run import choose_entry
from ptokit.targets import target as target_named

NUMBERS = (0, 1, 2, 3, 5, 8, 16, 33, 64, 128)
"""What scalar arguments are in the runs that check a proof."""

FLAGS = re.compile(r"set_flag|wait_flag|get_buf|rls_buf|record_event|barrier")


def checked(text: str, target: str, proof: Proof, blocks: int) -> list[str]:
    """What runs say against a proof."""
    if proof.closed or not any(d.verdict is Verdict.PROVED for d in proof.claims):
        return []
    source = read(text, name="kernel", target=target)
    mode = None if FLAGS.search(text) else "auto-sync"
    work = Proving(source.module, target_named(target), blocks=blocks, mode=mode)
    entry = choose_entry(source.module, None)
    found = []
    proved = {d.claim for d in proof.claims if d.verdict is Verdict.PROVED}
    for number in NUMBERS:
        texts = derive(source.module, entry, blocks, number=number)
        texts = [str(number) if re.fullmatch(r"\d+", t) else t for t in texts]
        try:
            report = work.launch(texts, blocks)
        except (DiagnosticError, UsageError):
            continue
        arrays = any(d.rule.startswith("GM-") for d in report.errors)  # which are only as large as they were derived
        found += [
            f"{d.rule} line {d.location.line} with {' '.join(texts)}"
            for d in report.errors
            if claim_of(d.rule) in proved and not arrays
        ]
    return found[:2]


def kernels(folders: Sequence[str], flags: bool) -> Iterator[tuple[Path, str]]:
    for folder in folders:
        for path in sorted(Path(folder).rglob("*.pto")):
            text = path.read_text(encoding="utf-8", errors="replace")
            if FLAGS.search(text) or not flags:
                yield path, text


def proved(text: str, target: str, blocks: int | None) -> Proof | str:
    """Of a kernel; of several in one text the least that is known of one. Without flags the compiler adds them."""
    mode = None if FLAGS.search(text) else "auto-sync"
    try:
        return prove(text + "\n", target=target, blocks=blocks, mode=mode)
    except DiagnosticError as error:
        rule = error.diagnostics[0].rule
        names = re.findall(r"func\.func (?:public )?@(\w+)\((?![^{]*simt_entry)", text) if rule == "RUN-ENTRY" else []
        if len(names) < 2:
            return f"refused: {rule}"
        try:
            found = [prove(text + "\n", target=target, blocks=blocks, entry=name, mode=mode) for name in names]
        except DiagnosticError as again:
            return f"refused: {again.diagnostics[0].rule}"
        return next((p for p in found if p.verdict is Verdict.REFUTED), min(found, key=lambda p: p.proved))
    except UsageError as error:
        return f"usage: {error}"


def why(proof: Proof) -> str:
    reasons = [f"{d.claim}: {d.because[0]}" for d in proof.claims if d.verdict is Verdict.OPEN]
    shown = [f"{d.claim} {d.counterexample.rule}" for d in proof.claims if d.counterexample is not None]
    return "; ".join(dict.fromkeys((*shown, *reasons)))


def corpus(folders: Sequence[str], target: str, every: int, mutate: bool, flags: bool) -> None:
    table: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    times: list[float] = []
    for number, (path, text) in enumerate(kernels(folders, flags)):
        if number % every:
            continue
        for version in mutants(text, number) if mutate else (text,):
            start = time.process_time()
            try:
                found: Proof | str = proved(version, target, None)
            except Exception as error:  # one kernel must not end all others
                found = f"crashed: {type(error).__name__}: {error}"
            times.append(time.process_time() - start)
            if isinstance(found, str):
                table[found.split(":")[0]] += 1
                print(f"{path}: {found}", flush=True)
                continue
            cell = f"{found.verdict}{', closed' if found.closed else ''}"
            table[cell] += 1
            wrong = checked(version, target, found, 2 if "any number" in found.scope else 1)
            if wrong:
                table["WRONG"] += 1
            for d in found.claims:
                if d.verdict is Verdict.OPEN:
                    reasons[f"{d.claim}: {re.sub(r'[0-9]+', 'N', d.because[0])}"] += 1
                elif d.counterexample is not None:
                    reasons[f"refuted {d.claim}: {d.counterexample.rule}"] += 1
            print(
                f"{path}: {cell} {times[-1]:.2f}s {why(found)[:160]} {'WRONG ' + str(wrong) if wrong else ''}",
                flush=True,
            )
    print(dict(table))
    for reason, count in reasons.most_common(60):
        print(f"{count:5} {reason}")
    times.sort()
    if times:
        print(
            f"median {times[len(times) // 2]:.2f} s, 95 % {times[len(times) * 95 // 100]:.2f} s, most {times[-1]:.2f} s"
        )


def mutants(text: str, seed: int) -> Iterator[str]:
    """The text with one flag, or a pair of them, left out; or a set and a wait exchanged."""
    lines = text.splitlines()
    at = [k for k, line in enumerate(lines) if FLAGS.search(line)]
    rng = random.Random(seed)
    for _ in range(2):
        k = rng.choice(at)
        same = [j for j in at if lines[j].replace("wait", "set").strip() == lines[k].replace("wait", "set").strip()]
        gone = {k} if rng.random() < 0.5 else set(same[:2])
        yield "\n".join(line for j, line in enumerate(lines) if j not in gone) + "\n"


def cases(folder: str) -> None:
    table: Counter[str] = Counter()
    for case in json.loads((Path(folder) / "manifest.json").read_text(encoding="utf-8"))["cases"]:
        if case["mode"] != "strict":
            continue
        for target in case["targets"]:
            expected: list[str] = case["expect"][target]
            text = (Path(folder) / case["file"]).read_text(encoding="utf-8")
            found: Any = proved(text, target, case["blocks"])
            if isinstance(found, str):
                cell = f"{'faulty' if expected else 'clean'}, {found}"
            else:
                cell = f"{'faulty' if expected else 'clean'}, {found.verdict}"
                known = [rule for rule in expected if claim_of(rule) is not None]
                if found.proved and known:
                    cell = "WRONG"
                if not found.proved:
                    print(f"{case['file']} {target}: {cell}, expected {expected}: {why(found)[:200]}", flush=True)
            table[cell] += 1
    for cell, count in sorted(table.items()):
        print(f"{count:5} {cell}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=("cases", "corpus", "mutants"))
    options.add_argument("folders", nargs="+")
    options.add_argument("--target", default="a5")
    options.add_argument("--all", action="store_true", help="kernels without flags, too")
    options.add_argument("--every", type=int, default=1, help="only each N-th kernel")
    given = options.parse_args()
    if given.what == "cases":
        for folder in given.folders:
            cases(folder)
    else:
        corpus(given.folders, given.target, given.every, given.what == "mutants", not given.all)


if __name__ == "__main__":
    main()
