"""Replay golden suites: PTOAS's ``test/vpto``, ``test/tilelang_st`` and samples, or PTO-Gym's ``examples/pto``.

    python tools/golden.py CHECKOUT [PART ...] [--results FILE] [--backend B] [--top N]

CHECKOUT is that of either repository. A folder holds kernels, a program that makes inputs and expected answers, a host
program that launches them, and a comparison. The host program is carried out statement by statement
(`golden_program`), with ptokit in the place of the device; the others run as they are, in a folder of their own. PART
selects cases whose name holds it. ``--results`` keeps a line for each case, and cases that have one are not run again:
remove the lines of those that are to be run once more. The summary counts answers by suite and names causes.
"""

from __future__ import annotations

import argparse
import os
import re
import runpy
import signal
import sys
import tempfile
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from golden_program import Program
from golden_runtime import BEHIND
from golden_samples import BASE, Sample, found
from golden_words import NotReplayedError, Pointer, as_bytes

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError, Diagnostics
from ptokit.ir.core import Module
from ptokit.ir.functions import stated_target
from ptokit.ir.launch import found_for
from ptokit.run import choose_entry
from ptokit.run.program import Program as Compiled
from ptokit.run.program import compile_program
from ptokit.targets import target
from ptokit.types.values import Ptr

ST = "test/tilelang_st/npu/a5/src/st"
LIMIT = 300  # seconds for a case
KINDS = ("right", "no answer", "wrong", "refused", "not replayed", "crash")


@dataclass(frozen=True)
class Case:
    """One run: a host program, perhaps with the name of a case, and the scripts around it."""

    name: str
    suite: str
    folder: Path
    pto: Path
    makes: str  # the script that makes inputs and answers
    case: str = ""
    modules: tuple[Path, ...] = ()


def cases(root: Path) -> Iterator[Case]:
    """Every case of the suites that a checkout holds."""
    for suite, place in (("vpto", root / "test/vpto/cases"), ("gym", root / "examples/pto")):
        for pto in sorted(place.rglob("kernel.pto")):
            yield Case(f"{suite}/{pto.parent.relative_to(place)}", suite, pto.parent, pto, "golden.py")
    for suite, place in (("st", root / ST / "testcase"), ("st-smoke", root / ST / "smoke/testcase")):
        for table in sorted(place.glob("*/cases.py")):
            folder = table.parent
            main = re.sub(r"//.*", "", (folder / "main.cpp").read_text())
            for name in re.findall(r'^\s*\{\s*"([^"]+)"\s*,', main, re.M) or [""]:
                whole = "/".join(filter(None, (suite, folder.name, name)))
                pto = folder / f"{folder.name}.pto"
                yield Case(whole, suite, folder, pto, "gen_data.py", name, (place,))


def samples(root: Path) -> Iterator[Case]:
    """Samples with answers of their own."""
    for name, script, pto in found(root):
        place = script.parent.relative_to(root / BASE)
        yield Case(f"samples/{place}/{name}", "samples", script.parent, pto, script.name, modules=(root / BASE,))


def replay_sample(root: Path, case: Case, work: Path, backend: str | None) -> tuple[str, str]:
    """Run a sample in the folder `work`, on the target that its text or its folder names."""
    module, diagnostics = _read(case.pto)
    entry = choose_entry(module, None if len(module.entries()) == 1 else module.functions[-1].name)
    found_for(module, entry, diagnostics).raise_if_errors()
    on = stated_target(module) or target("a5" if "A5" in case.name else "a2a3")
    os.environ["SOC_VERSION"] = "Ascend950" if on.name == "a5" else "Ascend910B"
    program = compile_program(module, on, entry=entry.name)
    sample = Sample(root, case.name.rpartition("/")[2], case.folder / case.makes, module, entry)
    sample.prepare(work, {p.name for p in program.effects.written})
    failed, said = _script(sample.script, work, modules=case.modules)
    if failed:
        raise NotReplayedError(f"{case.makes}: {said.strip().splitlines()[-1][:200] if said.strip() else failed}")
    args = sample.arguments(work, BEHIND)
    program.launch(args, 1, backend=backend)
    own = case.folder / case.makes.replace("_golden.py", "_compare.py")
    if own.exists():
        for k, (dtype, count) in sample.arrays.items():
            args[k].view(np.uint8)[: dtype.nbytes(count)].tofile(work / f"v{k + 1}.bin")
        failed, said = _script(own, work, modules=case.modules)
        return ("wrong", said.strip()[:200]) if failed else ("right", "")
    return sample.judge(work, args)


@lru_cache(maxsize=4)
def _read(pto: Path) -> tuple[Module, Diagnostics]:
    result = parse_module(pto.read_text(), str(pto))
    return result.module, result.diagnostics


@lru_cache(maxsize=16)
def _compiled(pto: Path, kernel: str) -> Compiled:
    """A kernel of a file, or the only one that is marked. Raises `DiagnosticError`."""
    module, found = _read(pto)
    entry = choose_entry(module, kernel if module.function(kernel) else None)
    found_for(module, entry, found).raise_if_errors()
    return compile_program(module, stated_target(module) or target("a5"), entry=entry.name)


def replay(case: Case, work: Path, backend: str | None) -> tuple[str, str]:
    """Run one case in the folder `work`: what became of it, and why."""
    failed, said = _script(case.folder / case.makes, work, case.case, modules=case.modules)
    if failed:
        raise NotReplayedError(f"{case.makes}: {said.strip().splitlines()[-1][:200] if said.strip() else failed}")
    launched = 0

    def launch(kernel: str, blocks: int, given: Sequence[tuple[str, Any]]) -> None:
        nonlocal launched
        launched += 1
        program = _compiled(case.pto, kernel)
        args = [_argument(p.type, *pair) for p, pair in zip(program.params, [*given, *[("", None)] * 99])]
        program.launch(args, blocks, backend=backend)

    host = Program(launch, work)
    for file in ("launch.cpp", "main.cpp"):
        host.read((case.folder / file).read_text())
    host.functions.setdefault("main", host.functions.get("main"))  # type: ignore[arg-type]
    ended = host.call("main", [1 + bool(case.case), [str(case.folder), case.case]])
    if ended or not launched:
        raise NotReplayedError(f"the host program ended with {ended} after {launched} launches")
    failed, said = _script(case.folder / "compare.py", work, case.case, modules=case.modules)
    wrong = next((line for line in said.splitlines() if "ERROR" in line), "")
    if "Traceback" in said:
        raise NotReplayedError(f"compare.py: {said.strip().splitlines()[-1][:200]}")
    return ("wrong", wrong or said.strip()[:200]) if failed or wrong else ("right", "")


def _argument(type: Any, kind: str, value: Any) -> Any:
    """What a kernel's parameter is given: memory in place, or a number. Integers for floats are their bits."""
    if isinstance(type, Ptr):
        held = value if isinstance(value, Pointer) else Pointer(bytearray(4096))
        element = np.dtype(type.dtype.value or type.dtype.storage)
        room = (len(held.memory) - held.at) // element.itemsize * element.itemsize
        return np.frombuffer(held.memory, np.uint8, room, held.at).view(element)
    if isinstance(value, float) or str(type) not in ("f16", "bf16", "f32"):
        return bool(value & 1) if str(type) == "i1" else value
    raw = as_bytes(kind, value)
    if str(type) == "f16":
        return float(np.frombuffer(raw[:2], np.float16)[0])
    return float(np.frombuffer(raw[:4] if str(type) == "f32" else bytes(2) + raw[:2], np.float32)[0])


def _script(path: Path, work: Path, *given: str, modules: Sequence[Path] = ()) -> tuple[int, str]:
    """Run a program of the suite in a process of its own: how it ended, and what it printed."""
    log = work / "@log"
    pid = os.fork()
    if pid:
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        return status, log.read_text(errors="replace")
    status = 1
    try:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        os.chdir(work)
        os.environ["COMPARE_STRICT"] = "1"
        sys.argv = [str(path), *filter(None, given)]
        sys.path[:0] = [str(path.parent), *map(str, modules)]
        runpy.run_path(str(path), run_name="__main__")
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def outcome(root: Path, case: Case, backend: str | None) -> tuple[str, str]:
    """As `replay`, with what stopped it."""

    def stop(*_: Any) -> None:
        raise TimeoutError(f"no answer in {LIMIT} s")

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        with tempfile.TemporaryDirectory() as work:
            if case.suite == "samples":
                return replay_sample(root, case, Path(work), backend)
            return replay(case, Path(work), backend)
    except NotReplayedError as error:
        return "not replayed", str(error)
    except DiagnosticError as error:
        first = next((d for d in error.diagnostics if d.severity.value == "error"), error.diagnostics[0])
        return "refused", f"{first.rule} line {first.location.line}: {first.message}"
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return "crash", f"{type(error).__name__} {error} at {Path(place.filename).name}:{place.lineno}"
    finally:
        signal.alarm(0)


def main() -> int:
    """Replay the chosen cases and print the summary."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--results", type=Path, help="a line for each case; those that have one are not run again")
    parser.add_argument("--backend", choices=("numpy", "native"))
    parser.add_argument("--top", type=int, default=40, help="how many causes to show")
    given = parser.parse_args()
    root = given.checkout.resolve()
    every = (*cases(root), *samples(root))
    chosen = [c for c in every if not given.parts or any(p in c.name for p in given.parts)]
    if not chosen:
        parser.error(f"{given.checkout} holds no such case")
    done: dict[str, tuple[str, str]] = {}
    if given.results and given.results.exists():
        for line in given.results.read_text().splitlines():
            kind, name, why = line.split("\t")
            done[name] = (kind, why)
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    causes: dict[str, list[str]] = defaultdict(list)
    for case in chosen:
        if case.name not in done:
            done[case.name] = kind, why = outcome(root, case, given.backend)
            if given.results:
                with given.results.open("a") as file:
                    file.write(f"{kind}\t{case.name}\t{' '.join(why.split())[:300]}\n")
        kind, why = done[case.name]
        counts[case.suite][kind] += 1
        if kind not in ("right", "no answer"):
            causes[re.sub(r"%\w+|[-\d.e]+", "_", f"{kind}: {why}")[:110]].append(f"{case.name}: {kind}: {why[:200]}")
    print(f"{'suite':10}" + "".join(f"{kind:>14}" for kind in KINDS))
    for suite, count in counts.items():
        print(f"{suite:10}" + "".join(f"{count[kind] or '':>14}" for kind in KINDS))
    for names in sorted(causes.values(), key=len, reverse=True)[: given.top]:
        print(f"{len(names):4}  {names[0]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
