"""Run and sanitize the sample kernels of a PTOAS checkout on arguments made from their text.

    python tools/samples.py CHECKOUT [run] [sanitize] [--blocks N] [--part K/N] [--only TEXT] [--json FILE]

Each kernel that the assembler accepts is launched with the arguments of `ptokit.arguments.derive`, on the target that
it or its folder names. Integers of which the text tells nothing (tables, ranks, lengths) are 0 at first; where that
leads to a fault others are tried. Kernels without flags are sanitized with ``--mode auto-sync``: the assembler adds
them.

Verdicts: ``passed``, ``findings`` (of the sanitizer), ``refused`` before it ran, ``fault`` while it ran, ``slow``,
``crash``; ``not accepted`` by the assembler's rules. A file with several kernels counts for each of them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import random
import signal
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from corpus import ARCHS, Case, generalised, samples

from ptokit.arguments.derive import derive
from ptokit.arguments.grammar import as_parameter, parse_argument
from ptokit.asm import parse_module
from ptokit.diagnostics import Diagnostic, DiagnosticError, Severity
from ptokit.ir.core import Function, Module
from ptokit.ir.functions import stated_target
from ptokit.ir.verify import verify
from ptokit.run import choose_entry, compile_program
from ptokit.run.program import Param
from ptokit.sanitize import sanitize
from ptokit.targets import Target, target

ACTIONS = ("run", "sanitize")
NUMBERS = (0, 1, -1, 128, 32, 8, 2, 4096)
"""What integers are of which nothing is known, until a kernel runs."""

MIXED = (0, 1, 2, 4, 8, 16, 32, 64, 100, 128, 512)
MIXES = 60
"""Where no one number suits: random ones of their own for all integers are tried so often."""

FLAGS = frozenset(f"pto.{verb}" for verb in "set_flag wait_flag record_event wait_event get_buf rls_buf".split())
"""Operations of programs that order the pipes of a core themselves; the assembler adds none to those."""


@dataclass
class Outcome:
    """What became of one kernel."""

    action: str
    name: str
    kernel: str
    verdict: str
    causes: list[str]
    number: int | str = 0  # what unknown integers were


class TooSlow(Exception):
    """The time of a case is over."""


def judge(case: Case, action: str, blocks: int, seconds: int) -> Iterator[Outcome]:
    """What becomes of the kernels of one text."""
    chosen = target(ARCHS[case.arch]) if case.arch else None
    read = parse_module(case.text, case.name, target=chosen)
    used = chosen or stated_target(read.module) or target("a2a3")
    errors = _errors(read.diagnostics) or _errors(verify(read.module, used, assembler=True))
    if errors:
        yield Outcome(action, case.name, "", "not accepted", errors)
        return
    for name in kernels(read.module):
        first: Outcome | None = None
        for number in (*NUMBERS, *(f"mix {k}" for k in range(MIXES))):
            verdict, causes = _timed(read.module, name, used, action, blocks, number, seconds)
            found = Outcome(action, case.name, name or "", verdict, causes, number)
            first = first or found
            if verdict != "fault" and not any(c.startswith(DATA) for c in causes):
                break
        else:
            found = first
        yield found


DATA = ("GM-OOB", "GM-NULL", "RUN-DIV-ZERO", "VS-3", "ELEM-01", "MAT-COM-04", "DEADLOCK", "LOAD-A3-D3")
"""Rules that a kernel may break because of what its arguments hold."""


def _timed(
    module: Module, name: str | None, used: Target, action: str, blocks: int, number: int | str, seconds: int
) -> tuple[str, list[str]]:
    signal.signal(signal.SIGPROF, _over)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of the processor
    try:
        return _carry_out(module, name, used, action, blocks, number)
    except TooSlow:
        return "slow", [f"more than {seconds} s"]
    except DiagnosticError as error:
        fault = any(d.notes or d.rule == "DEADLOCK" for d in error.diagnostics)
        return "fault" if fault else "refused", _errors(error.diagnostics)
    except Exception as error:  # a crash is a finding of this tool
        return "crash", [f"{type(error).__name__}: {error}"]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def kernels(module: Module) -> list[str | None]:
    """The names of all kernels of a file; None for the only one."""
    try:
        choose_entry(module, None)
        return [None]
    except DiagnosticError:
        marked = [f.name for f in module.entries()]
        if marked:
            return list(marked)
        names = [f.name for f in module.functions if f.body is not None and not f.visibility]
        return [*dict.fromkeys(choose_entry(module, name).name for name in names)]


def _over(*_: Any) -> None:
    raise TooSlow


def _carry_out(
    module: Module, name: str | None, used: Target, action: str, blocks: int, number: int | str
) -> tuple[str, list[str]]:
    kernel: Function = choose_entry(module, name)
    with contextlib.redirect_stdout(io.StringIO()):
        values = arguments_of(module, kernel, blocks, number)
        if action == "run":
            compile_program(module, used, entry=kernel.name).launch(values, blocks, backend="numpy")
            return "passed", []
        flags = any(op.name in FLAGS for f in module.functions if f.body is not None for op in f.body.walk())
        mode = None if flags else "auto-sync"
        report = sanitize(module, used, values, blocks, entry=kernel.name, mode=mode)
    errors = _errors(report.diagnostics)
    if errors:
        return ("findings" if report.ran else "refused"), errors
    gaps = [gap.what for gap in report.coverage.gaps if not gap.accepted]
    return ("findings" if gaps else "passed"), gaps


def arguments_of(module: Module, kernel: Function, blocks: int, number: int | str) -> list[Any]:
    """Arguments of a launch, made from the kernel's text, where unknown integers are `number`."""
    values = [parse_argument(t, i).make() for i, t in enumerate(_arguments(module, kernel, blocks, number))]
    for i, (value, param) in enumerate(zip(values, kernel.params)):
        dtype = Param(param.name, param.type).dtype
        if dtype is not None:
            values[i] = as_parameter(value, dtype)
    return values


def _arguments(module: Module, kernel: Function, blocks: int, number: int | str) -> list[str]:
    """Arguments where unknown integers are `number`; of a mix ("mix 7") integers are random, arrays large."""
    if isinstance(number, int):
        return derive(module, kernel, blocks, number=number)
    rng = random.Random(number)
    texts = derive(module, kernel, blocks, number=max(NUMBERS))
    return [str(rng.choice(MIXED)) if text.lstrip("-").isdigit() else text for text in texts]


def _errors(found: Any) -> list[str]:
    listed: list[Diagnostic] = [d for d in found if d.severity is Severity.ERROR]
    return [f"{d.rule} {d.location.line}: {d.message}" for d in listed]


def show(outcomes: list[Outcome], top: int) -> None:
    """Print counts, and the most frequent first causes with an example."""
    for action in dict.fromkeys(o.action for o in outcomes):
        mine = [o for o in outcomes if o.action == action]
        print(f"\n{action}: {len(mine)} kernels of {len({o.name for o in mine})} files")
        for verdict, count in Counter(o.verdict for o in mine).most_common():
            print(f"  {count:5}  {verdict}")
        causes = Counter((o.verdict, generalised(o.causes[0])) for o in mine if o.causes)
        first = {(o.verdict, generalised(o.causes[0])): o.name for o in reversed(mine) if o.causes}
        for key, count in causes.most_common(top):
            print(f"  {count:5}  {key[0]}: {key[1]}\n           {first[key]}")


def main(arguments: list[str]) -> int:
    """Run the tool."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("actions", nargs="*", choices=[[], *ACTIONS], default=[])
    parser.add_argument("--blocks", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--part", default="1/1", help="K/N: every N-th file, from the K-th on")
    parser.add_argument("--only", default="", help="files whose name has this text")
    parser.add_argument("--top", type=int, default=25)
    parser.add_argument("--json", type=Path, help="append a line of JSON for each kernel")
    given = parser.parse_args(arguments)
    part, parts = (int(n) for n in given.part.split("/"))
    cases = [c for c in samples(given.checkout, "samples") if given.only in c.name][part - 1 :: parts]
    outcomes = []
    for case in cases:
        for action in given.actions or ACTIONS:
            found = list(judge(case, action, given.blocks, given.seconds))
            outcomes += found
            if given.json:
                with given.json.open("a", encoding="utf-8") as out:
                    out.writelines(json.dumps(asdict(o)) + "\n" for o in found)
    show(outcomes, given.top)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
