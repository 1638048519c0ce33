"""Measure `ptokit sync` on kernels whose flags are taken away, against the flags that their authors wrote.

    python tools/synchronised.py cases FOLDER         a folder with a manifest.json of cases; the clean ones
    python tools/synchronised.py corpus FOLDER...     kernels with flags
    python tools/synchronised.py minimise FOLDER...   what is superfluous in kernels with flags
    python tools/synchronised.py samples CHECKOUT     the sample kernels of PTOAS, which have addresses and no flags
    python tools/synchronised.py table FILE           what the lines of a ``--log`` come to

Each is synchronised and, on derived arguments or those of its case, sanitized before and after. Waits and barriers of
all pipes are those that the cores carry out. Signals between cores and what orders registers in a scope stay.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from pathlib import Path
from typing import Any

from proofs import _over, corpus, read_log, sampled, stop_after

from ptokit.api.check import read
from ptokit.api.launch import as_parameters
from ptokit.api.synchronise import synchronise
from ptokit.arguments.derive import derive
from ptokit.arguments.grammar import make, read_arguments
from ptokit.asm.convert import kernel_text
from ptokit.diagnostics import DiagnosticError, Severity, UsageError
from ptokit.ir.core import Block, Module
from ptokit.ir.facts import instr_of
from ptokit.ir.functions import as_compiled
from ptokit.isa.table import Sync
from ptokit.run import Param, choose_entry
from ptokit.sanitize import sanitize
from ptokit.sanitize.api import RecordedRun, _observed
from ptokit.sanitize.simulation.core import Barrier, WaitFlag
from ptokit.targets import Target
from ptokit.targets import target as target_named
from ptokit.types.choices import Goal, LaunchOptions, SanitizeOptions
from ptokit.types.enums import Pipe

ORDERING = (Sync.SET, Sync.WAIT, Sync.BARRIER, Sync.TAKE, Sync.RELEASE)
REUSE = "FLAG-REUSE-RACE"


@dataclass
class Item:
    """A kernel. ``arguments``: of its case, else they are derived; ``blocks``: of its launch."""

    key: str
    text: str
    target: str
    entry: str | None = None
    arguments: Sequence[str] | None = None
    blocks: int = 1


def stripped(module: Module) -> int:
    """Take the flags, barriers and tokens of a program away; how many there were."""
    found = 0

    def block(region: Block) -> None:
        nonlocal found
        for part in region.blocks:
            kept = []
            for op in part.ops:
                instr = instr_of(op)
                orders = instr is not None and instr.order.only and not instr.order.between_cores
                if instr is not None and orders and instr.order.does in ORDERING:
                    found += 1
                    continue
                for inner in op.regions:
                    block(inner)
                kept.append(op)
            part.ops[:] = kept

    for function in module.functions:
        if function.body is not None:
            block(function.body)
    return found


def launched(module: Module, item: Item, target: Target) -> dict[str, Any]:
    """What one launch carries out and what is found in it."""
    entry = choose_entry(module, item.entry)
    texts = item.arguments if item.arguments is not None else derive(module, entry, item.blocks)

    def values() -> list[Any]:
        return as_parameters(make(read_arguments(texts)), [Param(p.name, p.type) for p in entry.params])

    options, how = LaunchOptions(entry=item.entry, blocks=item.blocks), SanitizeOptions(mode="manual")
    try:
        with redirect_stdout(StringIO()):
            launch, given = _observed(module, entry, as_compiled(module, target), values(), options, how)
            items = RecordedRun(launch, given, launch.report()).record().items
            report = sanitize(
                module, target, values(), item.blocks, entry=item.entry, mode="manual", also=(REUSE,), causes=False
            )
    except (DiagnosticError, UsageError, ValueError) as error:
        return {"failed": str(error)[:100]}
    rules = Counter(d.rule for d in report.diagnostics if d.severity is not Severity.NOTE)
    return {
        "waits": sum(isinstance(each, WaitFlag) for _, each in items),
        "barriers": sum(isinstance(each, Barrier) and each.pipe is Pipe.ALL for _, each in items),
        "rules": dict(sorted(rules.items())),
    }


def measured(item: Item, seconds: int, minimise: bool, goal: str = "count") -> dict[str, Any]:
    """What a log says of a kernel."""
    line: dict[str, Any] = {"key": item.key}
    start = time.process_time()
    try:
        source = read(item.text, name=item.key, target=item.target or None)
        target = source.target_or(None, target_named(item.target or "a2a3"))
        source.diagnostics.raise_if_errors()
        text, had = item.text, stripped(source.module)
        if had:
            stop_after(seconds)
            line["by hand"] = launched(read(item.text, name=item.key, target=target).module, item, target)
            text = item.text if minimise else kernel_text(source.module, target)
        stop_after(seconds)
        start = time.process_time()
        made = synchronise(text, target=target, entry=item.entry, minimise=minimise, goal=goal)
        if made.predicted is not None:
            line["predicted"] = [made.predicted.cycles, made.predicted.count, made.predicted.barriers]
        line["superfluous"] = [re.sub(r"in line \d+", "", f"{x.what}: {x.because}") for x in made.superfluous or ()]
        line |= {"verdict": "proved" if made.proved else "not proved", "minimal": made.minimal, "had": had}
        line |= {"flags": len(made.flags), "lines": text.count("\n"), "because": [why for why, _ in made.open[:3]]}
        line |= {"ids": max((flag.first_id + flag.ids for flag in made.flags), default=0), "stops": len(made.barriers)}
        line["seconds"] = round(time.process_time() - start, 3)
        stop_after(seconds)
        again = read(made.text, name=item.key, target=item.target or None)
        line["made"] = launched(again.module, item, target)
    except (DiagnosticError, UsageError) as error:
        rule = error.diagnostics[0].rule if isinstance(error, DiagnosticError) else "usage"
        line["verdict"] = f"refused: {rule}: {str(error).splitlines()[0][:120]}"
    except KeyboardInterrupt:
        line.setdefault("verdict", "stopped")
    except Exception as error:  # one kernel must not end all others
        line["verdict"] = f"crashed: {type(error).__name__}: {error}"
    finally:
        stop_after(0)
    line.setdefault("seconds", round(time.process_time() - start, 3))
    return line


def cases(folder: str) -> Iterator[Item]:
    """The clean cases of a manifest, for each of their targets."""
    for case in json.loads((Path(folder) / "manifest.json").read_text(encoding="utf-8"))["cases"]:
        if case["mode"] != "strict":
            continue
        for target in case["targets"]:
            if not case["expect"][target]:
                text = (Path(folder) / case["file"]).read_text(encoding="utf-8")
                given = [_given(each) for each in case["args"].values()]
                arguments = None if None in given else given
                yield Item(f"{case['file']} {target}", text + "\n", target, None, arguments, case["blocks"])  # type: ignore[arg-type]


def _given(each: dict[str, Any]) -> str | None:
    if each["kind"] == "scalar":
        return str(each["value"])
    if each["kind"] != "gm":
        return None
    kind = "uninit" if each["role"] == "out" else "random"
    return f"{kind}:{each['dtype']}:{each['elems']}"


def kernels(item: Item) -> Iterator[Item]:
    """The kernels of a text: each of them where it has several."""
    try:
        module = read(item.text, name=item.key, target=item.target or None).module
        choose_entry(module, None)
    except DiagnosticError as error:
        if error.diagnostics[0].rule == "RUN-ENTRY":
            launched = {op.attrs.get("callee") for f in module.functions if f.body for op in f.body.walk() if op.attrs}
            names = [f.name for f in module.entries() or module.functions if f.body is not None]
            yield from (replace(item, key=f"{item.key}:{n}", entry=n) for n in names if not {n, f"@{n}"} & launched)
            return
    yield item


def campaign(items: Iterable[Item], log: str | None, seconds: int, every: int, minimise: bool, goal: str) -> None:
    """Synchronise kernels, those that a log has not, and say what all come to."""
    signal.signal(signal.SIGALRM, _over)
    lines = read_log(log) if log else {}
    seen = []
    for number, item in enumerate(items):
        if number % every:
            continue
        if item.key not in lines:
            line = lines[item.key] = measured(item, seconds, minimise, goal)
            if log:
                with Path(log).open("a", encoding="utf-8") as out:
                    out.write(json.dumps(line) + "\n")
            print(
                f"{item.key}: {line['verdict']} {line['seconds']:.2f}s {'; '.join(line.get('because', ()))[:160]}",
                flush=True,
            )
        seen.append(lines[item.key])
    table(seen)


def worse(line: dict[str, Any]) -> dict[str, int]:
    """What is found after and not before."""
    old, new = (line.get(which, {}).get("rules", {}) for which in ("by hand", "made"))
    return {rule: n for rule, n in new.items() if rule not in old}


def table(lines: Iterable[dict[str, Any]]) -> None:
    """Kernels by verdict, what the sanitizer finds in them, waits and barriers, and the most frequent reasons."""
    every = list(lines)
    whole, found, against, reasons = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    sums: Counter[str] = Counter()
    for line in every:
        whole[line["verdict"].split(":")[0]] += 1
        if line["verdict"] == "proved":
            whole["proved, each flag needed"] += line["minimal"]
            new, old = line.get("made", {}), line.get("by hand", {})
            found["not run" if "waits" not in new else " ".join(worse(line)) or "nothing new"] += 1
            if "waits" in new and "waits" in old and line["had"]:
                sums["waits"] += new["waits"]
                sums["waits by hand"] += old["waits"]
                sums["barriers"] += new["barriers"]
                sums["barriers by hand"] += old["barriers"]
                less = new["waits"] - old["waits"] - old["barriers"]
                against["fewer" if less < 0 else "more" if less else "equal"] += 1
        else:
            for reason in line.get("because") or [line["verdict"]]:
                reasons[re.sub(r"[0-9]+", "N", reason)] += 1
    print(f"{len(every)} kernels: {dict(+whole)}")
    gone = Counter(what for line in every for what in line.get("superfluous", ()))
    for what, count in gone.most_common():
        print(f"{count:5} superfluous: {what}")
    times = [line["predicted"] for line in every if line["verdict"] == "proved" and any(line.get("predicted", ()))]
    if times:
        made, count, stops = map(sum, zip(*times))
        print(f"{len(times)} take {made:.0f} cycles, with the fewest flags {count:.0f}, with barriers {stops:.0f}")
        print(f"more than 1 % faster than with the fewest flags: {sum(one < 0.99 * other for one, other, _ in times)}")
    print(f"of the proved ones the sanitizer finds: {dict(found)}")
    print(f"carried out: {dict(sums)}; waits against waits and barriers by hand: {dict(against)}")
    for reason, count in reasons.most_common(40):
        print(f"{count:5} {reason}")
    seconds = sorted(line["seconds"] for line in every)
    if seconds:
        at = len(seconds) * 95 // 100
        print(f"median {seconds[len(seconds) // 2]:.2f} s, 95 % {seconds[at]:.2f} s, most {seconds[-1]:.2f} s")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", choices=("cases", "corpus", "minimise", "samples", "table"))
    options.add_argument("folders", nargs="+")
    options.add_argument("--target", default="a5")
    options.add_argument("--every", type=int, default=1, help="only each N-th kernel")
    options.add_argument("--log", help="a file of JSON lines, which is continued")
    options.add_argument("--seconds", type=int, default=60, help="after which a kernel is stopped")
    options.add_argument("--for", dest="goal", choices=tuple(Goal), default=Goal.COUNT, help="as ptokit sync --for")
    given = options.parse_args()
    match given.what:
        case "table":
            for log in given.folders:
                table(read_log(log).values())
            return
        case "cases":
            items: Iterable[Item] = (item for folder in given.folders for item in cases(folder))
        case "samples":
            found = (item for folder in given.folders for item in sampled(folder) if item.mode)
            items = (Item(each.key, each.text, each.target, each.entry) for each in found if "addr = " in each.text)
        case _:
            found = corpus(given.folders, given.target, True, 0)
            items = (item for each in found for item in kernels(Item(each.key, each.text, each.target)))
    campaign(items, given.log, given.seconds, given.every, given.what == "minimise", given.goal)


if __name__ == "__main__":
    main()
