"""Replay a golden suite: the folders of PTOAS's ``test/vpto/cases``, or PTO-Gym's ``examples/pto``, with their inputs.

    python tools/golden.py CHECKOUT [PART ...] [--sanitize] [--top N]

CHECKOUT is that of either repository.
A folder holds a kernel, a program that makes inputs and the expected answer, a host program that says which file goes
to which argument, and a comparison. The host program is read for its files and its launches; the others run as they
are, in a folder of their own. PART selects folders whose path holds it. The summary counts answers and names causes.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import runpy
import sys
import tempfile
import traceback
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from golden_host import NotReplayedError, launches, number, read_host

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.ir.core import Function, Module
from ptokit.ir.module_target import stated_target
from ptokit.run.program import compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import target
from ptokit.types.values import Ptr

SUITES = ("test/vpto/cases", "examples/pto")
BEHIND = 1 << 16
"""Bytes behind each array: the device allocates whole pages, and some kernels of the suite read what is there."""


def replay(folder: Path, *, watched: bool = False) -> str:
    """Run one case, or sanitize it; an empty string if the answer is right, else what is wrong."""
    host = read_host((folder / "main.cpp").read_text())
    launcher = re.sub(r"//[^\n]*", "", (folder / "launch.cpp").read_text())
    result = parse_module((folder / "kernel.pto").read_text(), str(folder / "kernel.pto"))
    errors = [d for d in result.diagnostics if d.severity.value == "error"]
    if errors:
        return f"read: {errors[0].rule} {errors[0].message}"
    on = target(stated_target(result.module) or "a5")
    _script(folder / "golden.py")
    memory: dict[str, np.ndarray] = {}
    sizes: dict[str, int] = {}
    for device in {a for _, args in host.launches for a in args}:
        file = host.files.get(host.sources.get(device, ""))
        if file is not None:
            memory[device] = np.concatenate((np.fromfile(file, np.uint8), np.zeros(BEHIND, np.uint8)))
            sizes[device] = memory[device].size - BEHIND
        elif device in host.rooms:
            fill = host.filled.get(host.sources.get(device, ""), 0) & 0xFF
            memory[device] = np.full(host.rooms[device] + BEHIND, fill, np.uint8)
            sizes[device] = host.rooms[device]
    for name, given in host.launches:
        parameters, body, started = launches(launcher, name)
        values = dict(zip(parameters, given))
        known = dict(host.constants)
        for parameter, value in values.items():
            if value in host.files and value not in memory:
                known[parameter] = int(np.fromfile(host.files[value], np.int32)[0])
            elif value not in memory:
                with contextlib.suppress(NotReplayedError):
                    known[parameter] = number(value, host.constants)
        for constant, text in re.findall(r"const\s+\w+\s+(\w+)\s*=\s*([^;]+);", body):
            known[constant] = number(text, known)
        for kernel, blocks, used in started:
            entry = _entry(result.module, kernel)
            if entry is None:
                return f"run: no function is marked as a kernel, among them {kernel}"
            args: list[Any] = []
            for parameter, text in zip(entry.params, used):
                value = values.get(text, text)
                if isinstance(parameter.type, Ptr):
                    if value not in memory:
                        raise NotReplayedError(f"argument {value}")
                    kind = parameter.type.dtype
                    args.append(memory[value].view(kind.value or kind.storage))
                else:
                    args.append(number(text, known))
            if watched:
                report = sanitize(result.module, on, args, blocks=number(blocks, known), entry=entry.name)
                found = [d for d in report.diagnostics if d.severity.value == "error"]
                if found:
                    return f"found: {found[0].rule} {found[0].message}"
            else:
                compile_program(result.module, on, entry=entry.name).launch(args, blocks=number(blocks, known))
    for file, buffer in host.written:
        device = host.back.get(buffer, buffer)
        memory[device][: sizes[device]].tofile(file)
    shown = _script(folder / "compare.py", COMPARE_STRICT="1")
    wrong = [line for line in shown.splitlines() if "ERROR" in line]
    return f"answer: {wrong[0]}" if wrong else ""


def _entry(module: Module, kernel: str) -> Function | None:
    """The function that a launch means: by its name, else the first that is marked as a kernel."""
    named = [f for f in module.functions if f.name == kernel and f.body is not None]
    return next(iter([*named, *module.entries()]), None)


def _script(path: Path, **environment: str) -> str:
    """Run a program of the suite in the current folder; what it prints, with ERROR where it says that it failed."""
    out = io.StringIO()
    old, sys.argv = sys.argv, [str(path)]
    os.environ.update(environment)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            runpy.run_path(str(path), run_name="__main__")
    except SystemExit as end:
        if end.code not in (None, 0):
            out.write(f"\nERROR exit {end.code}")
    finally:
        sys.argv = old
    return out.getvalue()


def cause(folder: Path, *, watched: bool = False) -> str:
    """As `replay`, with what stopped it."""
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        try:
            return replay(folder, watched=watched)
        except NotReplayedError as error:
            return f"host: {error}"
        except DiagnosticError as error:
            first = next(iter(error.diagnostics))
            return f"run: {first.rule} {first.message}"
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            return f"CRASH: {type(error).__name__} {error} at {Path(place.filename).name}:{place.lineno}"
        finally:
            os.chdir(home)


def main() -> int:
    """Replay the chosen folders and print the summary."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--top", type=int, default=40, help="how many causes to show")
    parser.add_argument("--sanitize", action="store_true", help="sanitize instead of running; findings are causes")
    given = parser.parse_args()
    roots = [given.checkout / suite for suite in SUITES if (given.checkout / suite).is_dir()]
    if not roots:
        parser.error(f"{given.checkout} holds none of {', '.join(SUITES)}")
    root = roots[0].resolve()
    folders = sorted(f.parent for f in root.rglob("kernel.pto"))
    if not folders:
        parser.error(f"{root} holds no cases")
    causes: dict[str, list[str]] = defaultdict(list)
    right = 0
    for folder in folders:
        name = str(folder.relative_to(root))
        if given.parts and not any(part in name for part in given.parts):
            continue
        why = cause(folder, watched=given.sanitize)
        if why:
            causes[re.sub(r"%\w+|\d+", "_", why)[:110]].append(f"{name}: {why[:200]}")
        else:
            right += 1
    print(f"{right} right, {sum(map(len, causes.values()))} not")
    for _, names in sorted(causes.items(), key=lambda entry: -len(entry[1]))[: given.top]:
        print(f"{len(names):4}  {names[0]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
