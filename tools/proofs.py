"""Measure `ptokit prove`: on cases with known verdicts, on kernels of checkouts, and on mutants of these.

    python tools/proofs.py cases FOLDER         a folder with a manifest.json of cases (file, targets, blocks, expect)
    python tools/proofs.py corpus FOLDER...     kernels with flags: what is proved, what is open and why
    python tools/proofs.py mutants FOLDER...    the same kernels with one flag left out: nothing faulty may be proved
    python tools/proofs.py explored FOLDER...   closed kernels, or with --mutants N theirs, judged by all executions
    python tools/proofs.py samples CHECKOUT     the sample kernels of PTOAS, each for its target, in auto-sync order
    python tools/proofs.py table FILE           what the lines of a ``--log`` come to

With ``--log FILE`` each kernel is a line of JSON, and what the file has already is not proved again. A kernel that
takes longer than ``--seconds`` is stopped, as by Ctrl-C. Whatever is proved and not closed is run under the sanitizer
on several arguments; a claim that a run breaks is "WRONG".
"""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from corpus import ARCHS, samples
from samples import FLAGS as FLAG_OPERATIONS
from samples import kernels

from ptokit.api.check import read
from ptokit.api.launch import as_parameters
from ptokit.api.prove import Proving, prove
from ptokit.arguments.derive import derive
from ptokit.arguments.grammar import make, read_arguments
from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError, UsageError
from ptokit.ir.functions import as_compiled
from ptokit.prove.report import Proof, Verdict, claim_of
from ptokit.run import Param, choose_entry
from ptokit.sanitize.api import RecordedRun, _observed
from ptokit.sanitize.simulation.clocks import Footprint
from ptokit.sanitize.simulation.core import Barrier, GetToken, ReleaseToken, SetFlag, WaitFlag, Work
from ptokit.sanitize.simulation.core import Item as Issued
from ptokit.targets import target as target_named
from ptokit.types.choices import LaunchOptions, SanitizeOptions

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.sanitize.explorer import Explorer, Step, TooLarge

NUMBERS = (0, 1, 2, 3, 5, 8, 16, 33, 64, 128)
"""What scalar arguments are in the runs that check a proof."""

FLAGS = re.compile(r"set_flag|wait_flag|get_buf|rls_buf|record_event|barrier")


def checked(item: Item, proof: Proof, blocks: int) -> tuple[list[str], bool]:
    """What runs say against a proof, and whether there were some in whose arrays all that is accessed lies."""
    claims = {d.claim for d in proof.claims if d.verdict is Verdict.PROVED}
    if proof.closed or not claims:
        return [], True
    source = read(item.text, name="kernel", target=proof.target)
    work = Proving(source.module, target_named(proof.target), proof.name, blocks=blocks, mode=item.mode)
    entry = choose_entry(source.module, proof.name)
    found, fit, left = [], 0, 0
    for number in NUMBERS:
        texts = derive(source.module, entry, blocks, number=number)
        texts = [str(number) if re.fullmatch(r"\d+", t) else t for t in texts]
        for _ in range(DOUBLINGS):
            try:
                report = work.launch(texts, blocks)
            except (DiagnosticError, UsageError):
                break
            if not any(d.rule.startswith("GM-") for d in report.errors):
                fit += 1
                found += [
                    f"{d.rule} line {d.location.line} with {' '.join(texts)}"
                    for d in report.errors
                    if claim_of(d.rule) in claims
                ]
                break
            texts = [work.doubled(p, text) for p, text in zip(entry.params, texts)]
        else:
            left += 1
    return found[:2], fit > 0 or not left


DOUBLINGS = 6
"""How often the arrays of a run are made larger, which are only as large as they were derived."""


@dataclass
class Item:
    """A kernel to be proved: of a file, or of a changed text of it."""

    key: str
    text: str
    target: str
    entry: str | None = None
    mode: str | None = None


def corpus(folders: Sequence[str], target: str, flags: bool, mutations: int) -> Iterator[Item]:
    """Kernels of folders, all of each file at once; with ``mutations`` so many mutants of each instead."""
    for folder in folders:
        for number, path in enumerate(sorted(Path(folder).rglob("*.pto"))):
            text = path.read_text(encoding="utf-8", errors="replace")
            if not FLAGS.search(text) and flags:
                continue
            texts = mutants(text, number, mutations) if mutations else [text]
            for k, version in enumerate(texts):
                mode = None if FLAGS.search(text) else "auto-sync"
                yield Item(f"{path}#{k}" if mutations else str(path), version + "\n", target, None, mode)


def sampled(checkout: str) -> Iterator[Item]:
    """The sample kernels of PTOAS: programs whose pipes the assembler orders."""
    for case in samples(Path(checkout), "samples"):
        module = parse_module(case.text, case.name, target=target_named(ARCHS[case.arch]) if case.arch else None).module
        try:
            names = kernels(module)
        except (DiagnosticError, AttributeError):
            names = [None]
        for name in names:
            mode = None if any(op in case.text for op in FLAG_OPERATIONS) else "auto-sync"
            yield Item(f"{case.name}:{name or ''}", case.text, ARCHS.get(case.arch, ""), name, mode)


def proved(item: Item, blocks: int | None = None) -> Proof | str:
    """Of a kernel; of several in one text the least that is known of one."""
    options: dict[str, Any] = {"target": item.target or None, "blocks": blocks, "mode": item.mode}
    options["default_target"] = "a2a3"
    try:
        return prove(item.text, entry=item.entry, **options)
    except DiagnosticError as error:
        rule = error.diagnostics[0].rule
        found = re.findall(r"func\.func (?:public )?@(\w+)\((?![^{]*simt_entry)", item.text)
        if rule != "RUN-ENTRY" or len(found) < 2:
            return f"refused: {rule}"
        try:
            every = [prove(item.text, entry=name, **options) for name in found]
        except DiagnosticError as again:
            return f"refused: {again.diagnostics[0].rule}"
        return next((p for p in every if p.verdict is Verdict.REFUTED), min(every, key=lambda p: p.proved))
    except UsageError as error:
        return f"usage: {error}"


def measured(item: Item, seconds: int) -> dict[str, Any]:
    """What a log says of a kernel."""
    start = time.process_time()
    stop_after(seconds)
    try:
        proof: Proof | str = proved(item)
    except KeyboardInterrupt:
        proof = "stopped: the run that shows it takes too long"
    except Exception as error:  # one kernel must not end all others
        proof = f"crashed: {type(error).__name__}: {error}"
    finally:
        stop_after(0)
    line: dict[str, Any] = {"key": item.key, "seconds": round(time.process_time() - start, 3)}
    if isinstance(proof, str):
        return {**line, "verdict": proof}
    line |= {"verdict": str(proof.verdict), "closed": proof.closed, "stopped": proof.stopped}
    line["sufficient"] = list(proof.sufficient)
    line["claims"] = {
        str(d.claim): [str(d.verdict), d.counterexample.rule if d.counterexample else (*d.because, "")[0]]
        for d in proof.claims
    }
    stop_after(3 * seconds)
    try:
        line["wrong"], fit = checked(item, proof, 2 if "any number" in proof.scope else 1)
        line["small"] = not fit
    except KeyboardInterrupt:
        line["unchecked"] = True
    finally:
        stop_after(0)
    return line


def campaign(items: Iterator[Item], log: str | None, seconds: int, every: int) -> None:
    """Prove kernels, those that a log has not, and say what all come to."""
    signal.signal(signal.SIGALRM, _over)
    lines = read_log(log) if log else {}
    for number, item in enumerate(items):
        if number % every or item.key in lines:
            continue
        line = lines[item.key] = measured(item, seconds)
        if log:
            with Path(log).open("a", encoding="utf-8") as out:
                out.write(json.dumps(line) + "\n")
        wrong = f" WRONG {line['wrong']}" if line.get("wrong") else ""
        print(f"{item.key}: {line['verdict']} {line['seconds']:.2f}s {why(line)[:160]}{wrong}", flush=True)
    table(lines.values())


def read_log(log: str) -> dict[str, dict[str, Any]]:
    path = Path(log)
    texts = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {line["key"]: line for line in map(json.loads, texts)}


def stop_after(seconds: int) -> None:
    """Stop what runs then, and each second after that: what is raised while z3 gives an object back is lost."""
    signal.setitimer(signal.ITIMER_REAL, seconds, 1)


def _over(*_: Any) -> None:
    raise KeyboardInterrupt


def why(line: dict[str, Any]) -> str:
    said = {f"{claim}: {reason}": None for claim, (_, reason) in line.get("claims", {}).items() if reason}
    return "; ".join(said)


def table(lines: Iterable[dict[str, Any]]) -> None:
    """Kernels by verdict, claims by verdict, and the most frequent reasons."""
    every = list(lines)
    whole: Counter[str] = Counter()
    claims: Counter[tuple[str, str]] = Counter()
    reasons: Counter[str] = Counter()
    for line in every:
        whole[line["verdict"].split(":")[0] + (", closed" if line.get("closed") else "")] += 1
        whole["proved under assumptions that it proposes"] += bool(line.get("sufficient"))
        whole["WRONG"] += bool(line.get("wrong"))
        whole["not checked by runs"] += bool(line.get("unchecked"))
        whole["arrays are too small in all runs"] += bool(line.get("small"))
        for claim, (verdict, reason) in line.get("claims", {}).items():
            claims[claim, verdict] += 1
            if reason:
                reasons[f"{claim} {verdict}: {re.sub(r'[0-9]+', 'N', reason)}"] += 1
        if "claims" not in line:
            reasons[line["verdict"]] += 1
    print(f"{len(every)} kernels: {dict(+whole)}")
    for (claim, verdict), count in sorted(claims.items()):
        print(f"{count:5} {claim}: {verdict}")
    for reason, count in reasons.most_common(60):
        print(f"{count:5} {reason}")
    times = sorted(line["seconds"] for line in every)
    if times:
        at = len(times) * 95 // 100
        print(f"median {times[len(times) // 2]:.2f} s, 95 % {times[at]:.2f} s, most {times[-1]:.2f} s")


# Closed kernels are proved by one sanitized launch. Its instructions are tried in all orders that the memory model
# allows, by the machine that the sanitizer's own tests have: there are no clocks in it.


STATES, STEPS, PLACES = 20_000, 400, 4_000
"""What is not too large to be judged: states, instructions with flags, runs of bytes."""


def explored(items: Iterable[Item], every: int) -> None:
    """Compare proofs of closed kernels with what any execution shows of flags and races."""
    found: Counter[str] = Counter()
    for number, item in enumerate(items):
        if number % every:
            continue
        try:
            proof = proved(item)
            if isinstance(proof, str) or not proof.closed:
                found["not closed, or refused"] += 1
                continue
            said = judged(item, proof)
        except Exception as error:  # one kernel must not end all others
            said = f"crashed: {type(error).__name__}: {error}"
        found[said] += 1
        if "WRONG" in said or "crashed" in said:
            print(f"{item.key}: {said}", flush=True)
    for said, count in found.most_common():
        print(f"{count:5} {said}")


def judged(item: Item, proof: Proof) -> str:
    """What executions say to the claims of a proof: ``agrees``, or the claim that is ``WRONG``; or why none do."""
    source = read(item.text, name="kernel", target=proof.target)
    entry, options = choose_entry(source.module, proof.name), LaunchOptions(entry=proof.name)
    sizes = iter(re.findall(r" of (\S+) elements", "; ".join(proof.needs)))
    texts = [re.sub(r"^(\w+:\w+:)[^:]+", lambda m: m[1] + next(sizes), t) for t in derive(source.module, entry, 1)]
    values = as_parameters(make(read_arguments(texts)), [Param(p.name, p.type) for p in entry.params])
    how, target = SanitizeOptions(mode=item.mode), target_named(proof.target)
    launch, given = _observed(source.module, entry, as_compiled(source.module, target), values, options, how)
    with redirect_stdout(StringIO()):
        issued = RecordedRun(launch, given, launch.report()).record().items
    if launch.mode.by_compiler or {core for core, _ in issued} - {0}:
        return "not judged: several cores, or none orders its pipes"
    steps = steps_of([each for _, each in issued])
    if isinstance(steps, str):
        return f"not judged: {steps}"
    try:
        shown = Explorer([steps], proof.target, profile=False, given=-1).explore(STATES)
    except TooLarge:
        return "not judged: too many states"
    stuck = any(done != (1 << len(steps)) - 1 for done, _ in shown.ends)
    for claim, broken in (("flags", stuck), ("pipes", bool(shown.races))):
        verdict = proof[claim].verdict
        if broken and verdict is Verdict.PROVED:
            return f"WRONG: {claim} proved, {sorted(shown.races)[:2] or 'stuck'}"
        if not broken and verdict is Verdict.REFUTED and claim == "pipes" and not stuck:
            return "WRONG: pipes refuted"
    how = "refuted by executions, too" if stuck or shown.races else "no execution breaks a claim"
    return f"agrees: {how}"


def steps_of(issued: Sequence[Issued]) -> list[Step] | str:
    """What a core issued as steps of the machine that tries all orders; why it cannot be."""
    if len(issued) > STEPS:
        return "too many instructions"
    runs = [[(id(t.space), *runs_of(t.where)) for t in each.touches] for each in issued if isinstance(each, Work)]
    ends: dict[int, set[int]] = {}
    for touches in runs:
        for space, starts, stops in touches:
            ends.setdefault(space, set()).update(starts, stops)
    if sum(map(len, ends.values())) > PLACES:
        return "too many places"
    first, bits = {}, 0
    for space, cuts in ends.items():
        first[space] = {cut: bits + k for k, cut in enumerate(sorted(cuts))}
        bits += len(cuts)
    made: list[Step] = []
    left = iter(runs)
    for each in issued:
        pipe, line = each.pipe.name, each.op.location.line
        match each:
            case Work(use=None, clean=None):
                reads = writes = 0
                for touch, (space, starts, stops) in zip(each.touches, next(left)):
                    at = first[space]
                    mask = sum((1 << at[b]) - (1 << at[a]) for a, b in zip(starts, stops))
                    reads, writes = (reads, writes | mask) if touch.write else (reads | mask, writes)
                atomic = any(touch.atomic is not None for touch in each.touches)
                made.append(Step("work", pipe, line, reads, writes, atomic))
            case SetFlag() | WaitFlag():
                made.append(Step("set" if isinstance(each, SetFlag) else "wait", pipe, line, key=each.key))
            case Barrier():
                made.append(Step("barrier", pipe, line))
            case GetToken() | ReleaseToken():
                made.append(Step("get" if isinstance(each, GetToken) else "rls", pipe, line, key=(each.token,)))
            case _:
                return f"{type(each).__name__}"
    return made


def runs_of(where: Any) -> tuple[list[int], list[int]]:
    """Places as runs: where each begins, and where it ends."""
    if isinstance(where, Footprint):
        return where.starts.tolist(), where.ends.tolist()
    places = np.unique(where.granules())
    breaks = np.flatnonzero(np.diff(places) != 1)
    starts, stops = np.concatenate(([0], breaks + 1)), np.concatenate((breaks, [len(places) - 1]))
    return (places[starts].tolist(), (places[stops] + 1).tolist()) if len(places) else ([], [])


def mutants(text: str, seed: int, count: int) -> list[str]:
    """Texts with one flag, or a pair of them, left out; none twice."""
    lines = text.splitlines()
    at = [k for k, line in enumerate(lines) if FLAGS.search(line)]
    rng = random.Random(seed)
    made: dict[str, None] = {}
    for _ in range(3 * count):
        k = rng.choice(at)
        same = [j for j in at if lines[j].replace("wait", "set").strip() == lines[k].replace("wait", "set").strip()]
        gone = {k} if rng.random() < 0.5 else set(same[:2])
        made["\n".join(line for j, line in enumerate(lines) if j not in gone)] = None
    return list(made)[:count]


def cases(folder: str) -> None:
    found: Counter[str] = Counter()
    for case in json.loads((Path(folder) / "manifest.json").read_text(encoding="utf-8"))["cases"]:
        if case["mode"] != "strict":
            continue
        for target in case["targets"]:
            expected: list[str] = case["expect"][target]
            text = (Path(folder) / case["file"]).read_text(encoding="utf-8")
            mode = None if FLAGS.search(text) else "auto-sync"
            proof = proved(Item(case["file"], text + "\n", target, None, mode), case["blocks"])
            kind = "faulty" if expected else "clean"
            if isinstance(proof, str):
                found[f"{kind}, {proof}"] += 1
                continue
            known = [rule for rule in expected if claim_of(rule) is not None]
            cell = "WRONG" if proof.proved and known else f"{kind}, {proof.verdict}"
            if not proof.proved:
                shown = [
                    d.counterexample.rule if d.counterexample else d.because[0]
                    for d in proof.claims
                    if d.verdict in _BAD
                ]
                print(f"{case['file']} {target}: {cell}, expected {expected}: {'; '.join(dict.fromkeys(shown))[:200]}")
            found[cell] += 1
    for cell, count in sorted(found.items()):
        print(f"{count:5} {cell}")


_BAD = (Verdict.REFUTED, Verdict.OPEN)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=("cases", "corpus", "explored", "mutants", "samples", "table"))
    options.add_argument("folders", nargs="+")
    options.add_argument("--target", default="a5")
    options.add_argument("--all", action="store_true", help="kernels without flags, too")
    options.add_argument("--every", type=int, default=1, help="only each N-th kernel")
    options.add_argument("--mutants", type=int, help="of each kernel")
    options.add_argument("--log", help="a file of JSON lines, which is continued")
    options.add_argument("--seconds", type=int, default=60, help="after which a kernel is stopped")
    given = options.parse_args()
    match given.what:
        case "cases":
            for folder in given.folders:
                cases(folder)
        case "table":
            for log in given.folders:
                table(read_log(log).values())
        case "samples":
            for checkout in given.folders:
                campaign(sampled(checkout), given.log, given.seconds, given.every)
        case "explored":
            explored(corpus(given.folders, given.target, not given.all, given.mutants or 0), given.every)
        case what:
            count = (given.mutants or 2) if what == "mutants" else 0
            items = corpus(given.folders, given.target, not given.all, count)
            campaign(items, given.log, given.seconds, given.every)


if __name__ == "__main__":
    main()
