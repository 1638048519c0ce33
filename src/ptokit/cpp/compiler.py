"""The compiler of C++ kernels: clang with ptokit's headers, and launches as calls that any C++ compiler understands."""

from __future__ import annotations

import hashlib
import json
import linecache
import os
import re
import shutil
import signal
import string
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import ptokit
from ptokit.asm.text.rules import FILE
from ptokit.backends.native.compiler import folder as cache_folder
from ptokit.backends.native.compiler import read as read_entry
from ptokit.backends.native.compiler import write as write_entry
from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Severity
from ptokit.records import dataclass
from ptokit.targets import A5, Target
from ptokit.targets.base import default_part
from ptokit.types.dtypes import DTYPES, dtype
from ptokit.types.enums import TileType

from .rules import COMPILE, COMPILER, INCLUDE, LIMIT, findings, refusal

# Launches, ``kernel<<<blocks, l2, stream>>>(arguments)``, as calls that any C++ compiler understands.


_SPACE = " \t\n"


def rewritten(source: str) -> str:
    """A source with ``::ptokit::launch(kernel, blocks, l2, stream)(arguments)`` for its launches; lines stay."""
    source = source.replace("[aicore]", "        ")  # an attribute of the device's compiler
    at = source.rfind("<<<")
    while at >= 0:
        source = _launch(source, at)
        at = source.rfind("<<<", 0, at)
    return source


def _launch(source: str, at: int) -> str:
    close = source.find(">>>", at + 3)
    inside = source[at + 3 : close]
    if close < 0 or ";" in inside or "#" in inside or not source[close + 3 :].lstrip(_SPACE).startswith("("):
        return source
    begin = kernel_begin(source, at)
    kernel = source[begin:at]
    if not kernel.strip(_SPACE) or _in_comment(source, begin):
        return source
    given = arguments(inside)
    given += ["0"] * (3 - len(given))
    return f"{source[:begin]}::ptokit::launch({kernel}, {', '.join(given)}){source[close + 3 :]}"


def _in_comment(source: str, at: int) -> bool:
    line = source[source.rfind("\n", 0, at) + 1 : at]
    return "//" in line or line.lstrip(_SPACE).startswith(("#", "*", "/*"))


def kernel_begin(source: str, end: int) -> int:
    """Where the name before a launch begins: ``ns::kernel<int, 4>``."""
    at = _before_space(source, end)
    if at and source[at - 1] == ">":
        depth = 0
        while at:
            at -= 1
            depth += (source[at] == ">") - (source[at] == "<")
            if not depth:
                break
        at = _before_space(source, at)
    if at and source[at - 1] == ")":  # the name is made by a macro
        depth = 0
        while at:
            at -= 1
            depth += (source[at] == ")") - (source[at] == "(")
            if not depth:
                break
        at = _before_space(source, at)
    while at and (source[at - 1].isalnum() or source[at - 1] in "_:#"):
        at -= 1
    return at


def _before_space(source: str, at: int) -> int:
    while at and source[at - 1] in _SPACE:
        at -= 1
    return at


def arguments(text: str, closing: str = "") -> list[str]:
    """The arguments in a text, apart at its commas; ``closing``: up to the bracket that closes them."""
    out, depth, first, quoted = [], 0, 0, ""
    for k, letter in enumerate(text):
        if quoted:
            quoted = "" if letter == quoted and text[k - 1] != "\\" else quoted
        elif letter in "\"'":
            quoted = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            if not depth and letter == closing:
                text = text[:k]
                break
            depth -= 1
        elif letter == "," and not depth:
            out.append(text[first:k].strip())
            first = k + 1
    last = text[first:].strip()
    return [*out, last] if last else out


def arguments_at(at: Location) -> list[str]:
    """What the call at a place has for arguments, as it is written, or whose method it is; nothing if not found."""
    if at.file is None or not at.line:
        return []
    lines = linecache.getlines(at.file)[at.line - 1 : at.line + 11]
    if not lines:
        return []
    before, rest = lines[0][: at.column - 1], lines[0][at.column - 1 :] + "".join(lines[1:])
    method = re.search(r"([\w:]+(?:\[[^][]*\])*)\s*\.\s*$", before)
    if method is not None:
        return [method[1]]
    begin = _after_template(rest, len(rest) - len(rest.lstrip(_OF_NAMES)))
    if not rest.startswith("(", begin):
        return []
    return [given if len(given) <= 40 else "" for given in arguments(rest[begin + 1 :], ")")]


def declared_at(at: Location) -> str:
    """The variable that is declared at a place; empty if not found."""
    line = linecache.getline(at.file, at.line)[at.column - 1 :] if at.file is not None else ""
    found = re.match(r"(\w+)\s*[({;]", line)
    return found[1] if found is not None else ""


_OF_NAMES = string.ascii_letters + string.digits + "_: \t"


def _after_template(text: str, at: int) -> int:
    """Where a text goes on after the template arguments that begin at a place, if some do."""
    depth, inside = 0, 0
    for k in range(at, len(text)):
        letter = text[k]
        inside += (letter in "([{") - (letter in ")]}")
        if not inside and letter in "<>":
            depth += 1 if letter == "<" else -1
        elif not depth and not letter.isspace():
            return k
    return len(text)


_ELEMENTS = {each.cpp: each.name for each in (*DTYPES.values(), dtype("f64")) if each.bits > 8}
"""Types that say what an array holds; bytes may hold anything."""


def declared_pointers(at: Location) -> dict[str, str]:
    """The pointers among the parameters of a function that is declared at a place, with the types of elements."""
    if at.file is None or not at.line:
        return {}
    text = "".join(linecache.getlines(at.file)[at.line - 1 : at.line + 39]).partition("{")[0]
    found = re.findall(r"(\w+)\s*(?:const\s*)?\*\s*(?:const\s+)?(?:__restrict\w*\s*)?(\w+)\s*(?=[,)])", text)
    return {name: _ELEMENTS[type] for type, name in found if type in _ELEMENTS}


# Clang: where it is, and the LLVM IR that it makes of a file, kept under a key of all that decides it.


HEADERS = Path(__file__).parent / "headers"
OLDEST = 15  # clang, with pointers that have no type
SECONDS, BYTES = 120, 8 << 30

_LANGUAGE = (
    "-std=c++17",
    "-fsigned-char",
    "-fspell-checking",
    "-fno-caret-diagnostics",
    "-fno-color-diagnostics",
)
_CODE = (
    *(
        "-O1",
        "-fwrapv",
        "-fno-delete-null-pointer-checks",  # address 0 of a buffer
        "-ffp-contract=off",
        "-ftrivial-auto-var-init=zero",
        "-fno-builtin",
        "-fno-exceptions",
        "-fno-strict-aliasing",
    ),
    *("-fno-stack-protector", "-fno-unroll-loops", "-fno-vectorize", "-fno-slp-vectorize", "-gline-tables-only"),
    "-Wuninitialized",
    *("-fno-discard-value-names", "-mllvm", "-inline-threshold=1000000", "-mllvm", "-unroll-full-max-count=0"),
)
"""Functions disappear in their callers, loops and their numbers stay as they are written; overflow wraps, and what is
not set is zero, so that a result never depends on what a compiler makes of a mistake."""

CORES = {"vector": "VEC", "cube": "CUBE"}


@dataclass(frozen=True)
class Compiler:
    """Clang: the command, the flags with which it finds the standard headers, and what it is."""

    command: tuple[str, ...]
    flags: tuple[str, ...]
    identity: str


@dataclass(frozen=True)
class Options:
    """How a file is compiled: folders of headers, macros, templates to instantiate, and macros of one kind of core."""

    include: tuple[str, ...] = ()
    define: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    of_core: tuple[tuple[str, str], ...] = ()


_BUFFERS = {
    "UBUF": TileType.Vec,
    "CBUF": TileType.Mat,
    "L0A": TileType.Left,
    "L0B": TileType.Right,
    "L0C": TileType.Acc,
    "BIAS": TileType.Bias,
    "FBUF": TileType.Scaling,
    "SCALELEFT": TileType.ScaleLeft,
    "SCALERIGHT": TileType.ScaleRight,
}
"""What the library calls the buffers whose sizes it states."""


def macros(target: Target, core: str) -> list[str]:
    """What tells a file for which target and which kind of core it is compiled; "" for one that need not know."""
    generation = "C310" if target.is_a(A5) else "C220"
    out = [f"-DPTOKIT_TARGET_{'A5' if target.is_a(A5) else 'A2A3'}"]
    part = default_part(target)
    out.append(f"-DPTOKIT_CORES={1 if part is None else part.cores}")
    out += [f"-DPTO_{name}_SIZE_BYTES={target.capacity[buffer]}u" for name, buffer in _BUFFERS.items()]
    if core:
        out += [f"-D__DAV_{generation}_{CORES[core]}__", f"-D__DAV_{CORES[core]}__"]
    return out


def find_compiler() -> Compiler:
    """The clang to use: ``PTOKIT_CXX``, one on the path, or the package ziglang. Raises `DiagnosticError` without."""
    return _found(os.environ.get("PTOKIT_CXX", ""), os.environ.get("PATH", ""))


@cache
def _found(stated: str, path: str) -> Compiler:
    if stated:
        found = _compiler(tuple(stated.split()))
        if found is None:
            raise _missing(f"PTOKIT_CXX={stated} is no clang of version {OLDEST} or later")
        return found
    names = ["clang++", *(f"clang++-{n}" for n in range(30, OLDEST - 1, -1))]
    for name in names:
        where = shutil.which(name, path=path)
        found = _compiler((where,)) if where else None
        if found is not None:
            return found
    spec = find_spec("ziglang")
    if spec is not None and spec.origin:
        zig = Path(spec.origin).parent / ("zig.exe" if sys.platform == "win32" else "zig")
        found = _compiler((str(zig), "c++"))
        if found is not None:
            return found
    raise _missing(f"kernels in C++ need clang {OLDEST} or later, and there is none")


def _missing(message: str) -> DiagnosticError:
    hint = "pip install ptokit[cpp], or install clang, or set PTOKIT_CXX to one"
    return refusal(COMPILER, message, Location(), hint)


def _compiler(command: tuple[str, ...]) -> Compiler | None:
    """The clang that a command starts, or None if it is something else."""
    try:
        said = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    version = re.search(r"clang version (\d+)\S*", said)
    if version is None or int(version[1]) < OLDEST:
        return None
    if command[-1] != "c++":
        return Compiler(command, (), said.strip())
    # Zig's own command adds what makes programs portable; the clang inside of it takes flags as they are.
    target = "x86_64-linux-musl"
    asked = [*command, "-target", target, "-###", "-fno-sanitize=undefined", "-E", "-x", "c++", os.devnull]
    shown = subprocess.run(asked, capture_output=True, text=True, timeout=60).stderr
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', shown)
    flags = [f"--target={target}", "-nostdinc", "-nostdinc++"]
    for word, value in pairwise(words):
        if word in ("-isystem", "-D"):
            flags += [word, value]
    return Compiler((command[0], "clang"), tuple(flags), said.strip())


@dataclass(frozen=True)
class Compiled:
    """A file compiled: LLVM IR as text. ``asks_core``: it has no kind of core and asks for one, so nothing is there."""

    text: str
    asks_core: bool
    said: str = ""  # warnings


def compile_file(file: str, target: Target, core: str, options: Options) -> Compiled:
    """The LLVM IR of a C++ file.

    Raises `DiagnosticError` (TEXT-FILE, CPP-COMPILER, CPP-COMPILE, CPP-INCLUDE, CPP-LIMIT).
    """
    path = os.path.abspath(file)
    try:
        Path(path).open("rb").close()
    except OSError as error:
        why = f"cannot read the file: {error.strerror}"
        raise DiagnosticError(Diagnostic(FILE, Severity.ERROR, why, Location(file))) from None
    compiler = find_compiler()
    flags = [*_LANGUAGE, *compiler.flags, *macros(target, core), "-I", str(HEADERS)]
    flags += [f"-I{os.path.abspath(folder)}" for folder in options.include]
    flags += [f"-D{macro}" for macro in (*options.define, *(each for kind, each in options.of_core if kind == core))]
    asked = json.dumps([ptokit.__version__, compiler.identity, path, flags, _CODE, options.instances])
    kept = _Kept(asked)
    found = kept.read()
    if found is None:
        try:
            source = _with_headers(compiler, path, file, flags)
        except DiagnosticError:  # of a header that wants to know the kind of core
            if core:
                raise
            source = _with_headers(compiler, path, file, [*flags, *macros(target, "vector")])
            if not asks_core(source, path):
                raise
        if not core and asks_core(source, path):
            found = Compiled("", True)
        else:
            text = rewritten(source)
            for k, name in enumerate(options.instances):
                text += f'\n# 1 "<entry>"\nstatic const auto ptokit_entry_{k} __attribute__((used)) = &{name};\n'
            how = [*flags, *_CODE, "-x", "c++", "-S", "-emit-llvm", "-", "-o", "-"]
            code, said = _run(compiler, how, text, file, path)
            found = Compiled(code, False, said)
        kept.write(found, _files(source, path))
    return found


def _with_headers(compiler: Compiler, path: str, file: str, flags: Sequence[str]) -> str:
    """A file with all that it includes in place, and nothing else changed: places stay those of the sources."""
    ahead = ["-w", "-include", str(HEADERS / "ptokit" / "language.hpp")]
    how = [*flags, *ahead, "-E", "-frewrite-includes", "-x", "c++", path, "-o", "-"]
    return _run(compiler, how, "", file, path)[0]


_MARKER = re.compile(r'^# \d+ "((?:[^"\\]|\\.)*)"', re.MULTILINE)
_CORE = re.compile(r"\b(__DAV_\w+__|DAV_\w+_(?:VEC|CUBE)|__CCE_AICORE_\w+)\b")


def _files(source: str, path: str) -> list[str]:
    """The files whose text is in a source."""
    named = {m[1].replace("\\\\", "\\") for m in _MARKER.finditer(source)}
    return sorted({path, *(name for name in named if not name.startswith("<"))})


def asks_core(source: str, path: str) -> bool:
    """True if a file, or one that it includes, depends on the kind of core it is compiled for."""
    own, here = str(HEADERS), True
    for line in source.split("\n"):
        if line.startswith("# "):
            marker = _MARKER.match(line)
            here = here if marker is None else not marker[1].startswith(own)
        elif here and "DAV" in line and _CORE.search(line):
            return True
    return False


class _Kept:
    """What was made of a file, for as long as no file that it includes has changed."""

    def __init__(self, asked: str) -> None:
        self.key = hashlib.sha256(asked.encode()).hexdigest()
        where = cache_folder()
        self.path = None if where is None else where / f"{self.key}.o"

    def read(self) -> Compiled | None:
        """What is kept; None where a file has changed."""
        raw = None if self.path is None else read_entry(self.path, self.key)
        if raw is None:
            return None
        head, _, text = raw.partition(b"\n")
        stated = json.loads(head)
        if any(_digest(file) != digest for file, digest in stated["files"].items()):
            return None
        return Compiled(text.decode(), stated["asks_core"], stated["said"])

    def write(self, made: Compiled, files: Sequence[str]) -> None:
        """Keep what was made of these files."""
        if self.path is not None:
            head = {"files": {file: _digest(file) for file in files}, "asks_core": made.asks_core, "said": made.said}
            write_entry(self.path, self.key, json.dumps(head).encode() + b"\n" + made.text.encode())


def _digest(file: str) -> str:
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:
        return ""


def _limit(name: str, default: int) -> int:
    stated = os.environ.get(name, "")
    return int(stated) if stated.isdecimal() and int(stated) else default


def _run(compiler: Compiler, flags: Sequence[str], text: str, file: str, path: str) -> tuple[str, str]:
    """What clang prints, and the warnings beside it. Raises `DiagnosticError` with what it refuses."""
    seconds, memory = _limit("PTOKIT_CXX_SECONDS", SECONDS), _limit("PTOKIT_CXX_BYTES", BYTES)
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*compiler.command, *flags],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            start_new_session=os.name == "posix",
            preexec_fn=_limited(memory) if os.name == "posix" else None,
        )
        try:
            out, _ = process.communicate(text.encode(), timeout=seconds)
        except subprocess.TimeoutExpired:
            hint = "PTOKIT_CXX_SECONDS says how long it may take"
            raise refusal(LIMIT, f"compiling takes longer than {seconds} seconds", Location(file), hint) from None
        finally:
            _end(process)
        said.seek(0)
        errors = said.read().decode(errors="replace")
    if process.returncode == 0:
        return out.decode(errors="replace"), errors
    found = findings(errors, path, file)
    if found and found[0].rule == INCLUDE.id:
        found = [_all_missing(compiler, flags, path, found[0])]
    if not found and ("bad_alloc" in errors or "out of memory" in errors.lower() or process.returncode < 0):
        message = f"the compiler needs more than {memory} bytes, or was ended"
        raise refusal(LIMIT, message, Location(file), "PTOKIT_CXX_BYTES says how much it may take")
    if not found:
        raise refusal(COMPILE, f"the compiler ended with {process.returncode}: {errors.strip()[:400]}", Location(file))
    raise DiagnosticError(found)


def _limited(memory: int) -> Any:
    def limit() -> None:
        import resource

        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))

    return limit


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a compiler that still works, with all that it started."""
    if process.poll() is None:
        with suppress(OSError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()


def _all_missing(compiler: Compiler, flags: Sequence[str], path: str, first: Diagnostic) -> Diagnostic:
    """One finding for all headers that are not there."""
    kept = [flag for flag in flags if flag not in ("-E", "-frewrite-includes", "-o", "-")]
    asked = [*compiler.command, *kept, "-M", "-MG"]
    try:
        said = subprocess.run(asked, capture_output=True, text=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError):
        return first
    names = said.replace("\\\n", " ").split()[1:]
    missing = list(dict.fromkeys(name for name in names if not os.path.exists(name)))
    if not missing:
        return first
    listed = ", ".join(missing)
    message = f"{'headers are' if len(missing) > 1 else 'a header is'} missing: {listed}"
    hint = "say with -I where they are; ptokit has those of PTO only, none of AscendC, CANN or PyTorch"
    return Diagnostic(INCLUDE.id, first.severity, message, first.location, hint)
