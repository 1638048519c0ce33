"""Replay the golden suite of a PTOAS checkout: every folder of ``test/vpto/cases`` with its inputs and comparison.

    python tools/golden.py CHECKOUT [PART ...] [--top N]

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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ptokit.asm import parse_module
from ptokit.diagnostics import DiagnosticError
from ptokit.ir.module_target import stated_target
from ptokit.run.program import compile_program
from ptokit.targets import target
from ptokit.types.values import Ptr

CASES = "test/vpto/cases"
BEHIND = 1 << 16
"""Bytes behind each array: the device allocates whole pages, and some kernels of the suite read what is there."""

_READ = re.compile(r'ReadFile\(\s*"([^"]+)"\s*,[^,]+,\s*(?:\([^)]*\)\s*)?(\w+)')
_WRITE = re.compile(r'WriteFile\(\s*"([^"]+)"\s*,\s*(?:\([^)]*\)\s*)?(\w+)')
_COPY = re.compile(r"aclrtMemcpy\(\s*(\w+)\s*,[^;]*?,\s*(\w+)\s*,[^;]*?ACL_MEMCPY_(HOST_TO_DEVICE|DEVICE_TO_HOST)")
_ROOM = re.compile(r"aclrtMalloc\(\s*\([^)]*\)\s*\(?&(\w+)\)?\s*,\s*([^;]*?),\s*ACL_MEM")
_CONSTANT = re.compile(r"(?:constexpr|const)\s+\w+(?:\s+\w+)?\s+(\w+)\s*=\s*([^;]+);|size_t\s+(\w+)\s*=\s*([^;]+);")
_LAUNCH = re.compile(r"\b(Launch\w+)\(([^;]*?)\);", re.DOTALL)
_CAST = re.compile(r"(?:reinterpret|static)_cast<[^>]*>|^\([^)]*\)")
_SIZES = {"float": 4, "int": 4, "half": 2, "double": 8, "char": 1}
_TYPE = re.compile(r"sizeof\(\s*(\w+)\s*\)")


class NotReplayedError(Exception):
    """The host program does something that this tool does not read."""


@dataclass
class Host:
    """What the host program does: files by host buffer, host buffers by device buffer, launches, files written."""

    constants: dict[str, int] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    rooms: dict[str, int] = field(default_factory=dict)
    back: dict[str, str] = field(default_factory=dict)
    written: list[tuple[str, str]] = field(default_factory=list)
    launches: list[tuple[str, list[str]]] = field(default_factory=list)


def _number(text: str, known: dict[str, int]) -> int:
    """Value of an expression of the host program. Raises `NotReplayedError`."""

    def size(found: re.Match[str]) -> str:
        bits = re.search(r"\d+", found[1])
        return str(_SIZES.get(found[1], int(bits[0]) // 8 if bits else 0))

    plain = re.sub(r"(?<=\d)[uUlLzZ]+\b", "", _TYPE.sub(size, text)).replace("static_cast<size_t>", "")
    plain = re.sub(r"\b[A-Za-z_]\w*\b", lambda m: str(known.get(m[0], m[0])), plain)
    if not re.fullmatch(r"[\d\s+*/()-]+", plain):
        raise NotReplayedError(f"size {text.strip()}")
    return int(eval(plain.replace("/", "//"), {"__builtins__": {}}))


def read_host(text: str) -> Host:
    """The host program's files and launches."""
    text = re.sub(r"//[^\n]*", "", text)
    text = text[text.index("int main") :]
    host = Host()
    known = host.constants
    for a, b, c, d in _CONSTANT.findall(text):
        with contextlib.suppress(NotReplayedError):
            known[a or c] = _number(b or d, known)
    for name, buffer in _READ.findall(text):
        host.files.setdefault(buffer, name)
    for dst, src, way in _COPY.findall(text):
        if way == "HOST_TO_DEVICE":
            host.sources[dst] = src
        else:
            host.back[dst] = src
    for buffer, size in _ROOM.findall(text):
        with contextlib.suppress(NotReplayedError):
            host.rooms[buffer] = _number(size, known)
    host.written = _WRITE.findall(text)
    for name, args in _LAUNCH.findall(text):
        host.launches.append((name, [_CAST.sub("", a.strip()).strip("() ") for a in args.split(",")][:-1]))
    if not host.launches:
        raise NotReplayedError("no launch")
    return host


def launches(text: str, name: str) -> tuple[list[str], int, str, list[str]]:
    """Of a launch function: its parameters, number of blocks, the kernel, and the kernel's arguments."""
    m = re.search(rf"void {name}\(([^)]*)\)\s*\{{.*?(\w+)\s*<<<\s*([^,>]+)\s*,[^>]*>>>\s*\((.*?)\);", text, re.DOTALL)
    if m is None:
        raise NotReplayedError(f"launch function {name}")
    parameters = [re.split(r"[\s*]+", p.strip())[-1] for p in m[1].split(",")]
    args = [re.sub(r"^\([^)]*\)\s*", "", a.strip()) for a in m[4].split(",") if a.strip()]
    return parameters, int(m[3]) if m[3].strip().isdigit() else -1, m[2], args


def replay(folder: Path) -> str:
    """Run one case; an empty string if the answer is right, else what is wrong."""
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
            memory[device] = np.zeros(host.rooms[device] + BEHIND, np.uint8)
            sizes[device] = host.rooms[device]
    for name, given in host.launches:
        parameters, blocks, kernel, used = launches(launcher, name)
        values = dict(zip(parameters, given))
        entries = result.module.entries()
        entry = next((f for f in entries if f.name == kernel), entries[0] if entries else None)
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
                args.append(_number(value, host.constants))
        program = compile_program(result.module, on, entry=entry.name)
        program.launch(args, blocks=_number(values["blocks"], host.constants) if blocks < 0 else blocks)
    for file, buffer in host.written:
        device = host.back.get(buffer, buffer)
        memory[device][: sizes[device]].tofile(file)
    shown = _script(folder / "compare.py", COMPARE_STRICT="1")
    wrong = [line for line in shown.splitlines() if "ERROR" in line]
    return f"answer: {wrong[0]}" if wrong else ""


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


def cause(folder: Path) -> str:
    """As `replay`, with what stopped it."""
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        try:
            return replay(folder)
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
    given = parser.parse_args()
    root = (given.checkout / CASES).resolve()
    folders = sorted(f.parent for f in root.rglob("kernel.pto"))
    if not folders:
        parser.error(f"{root} holds no cases")
    causes: dict[str, list[str]] = defaultdict(list)
    right = 0
    for folder in folders:
        name = str(folder.relative_to(root))
        if given.parts and not any(part in name for part in given.parts):
            continue
        why = cause(folder)
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
