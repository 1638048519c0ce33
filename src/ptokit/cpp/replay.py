"""Replay: a test suite of kernels with its own host program, golden script and comparison, its launches run here.

This executes code of the suite: the script that makes its data, and its host program, which is compiled against
headers of ptokit's own for the runtime and for tests. Nothing else in ptokit does.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import Any

import numpy as np

from ptokit.backends.native.compiler import folder as cache_folder
from ptokit.backends.native.compiler import read as read_entry
from ptokit.backends.native.compiler import write as write_entry
from ptokit.backends.numpy.launch import OnNumPy
from ptokit.diagnostics import Diagnostic, DiagnosticError, Diagnostics, Location
from ptokit.machine.chunk import ASKED, Workspace
from ptokit.machine.global_memory import Pointer
from ptokit.records import dataclass
from ptokit.run import Program
from ptokit.run.arguments import bind_arguments
from ptokit.run.backends import Faults, Launched, Printed
from ptokit.targets import Target

from .compiler import HEADERS, Options, find_compiler, macros, rewritten
from .kernels import Launchable, by_address
from .ranks import AFTER, Launch, World
from .rules import COMPILE, REPLAY, refusal

ROOM = 1 << 32
"""Bytes of device memory of a rank; a file with holes."""

RANKS = 16
"""Ranks that a test runs on at most."""

SECONDS = 600
"""How long building a host program, making its data, and a suite may take."""

Finished = subprocess.CompletedProcess[str]

_CORES = {"vec": "vector", "cube": "cube", "mix": "mix"}
_UNDEFINED = re.compile(r"undefined (?:reference to|symbol:) [`']?(\w+)")
_ASSEMBLY = re.compile(
    r"\b(?:asm|__asm__|__asm)\b\s*(?:volatile|__volatile__)?\s*"
    r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*;"
)


@dataclass
class TestOutcome:
    """How a test ended: ``passed``, ``failed``, ``crashed`` or ``skipped`` as its suite says, or ``refused``, and why.

    ``findings``: errors that the sanitizer reports of its launches.
    """

    name: str
    outcome: str
    reason: str = ""
    findings: list[Diagnostic] = field(default_factory=list)

    @property
    def rules(self) -> list[str]:
        """The rules of its findings."""
        return sorted({finding.rule for finding in self.findings})


@dataclass
class SuiteReport:
    """A suite replayed. ``failure``: why it was not built, else empty."""

    name: str
    target: str
    tests: list[TestOutcome] = field(default_factory=list)
    failure: str = ""
    stated: int = 0

    @property
    def passed(self) -> int:
        """Tests that passed."""
        return sum(test.outcome == "passed" for test in self.tests)

    @property
    def findings(self) -> list[Diagnostic]:
        """What the sanitizer reports, of each rule and place the first."""
        found = {(each.rule, each.location): each for test in reversed(self.tests) for each in reversed(test.findings)}
        return list(reversed(found.values()))

    @property
    def ok(self) -> bool:
        """True if at least one test ran and all passed."""
        return bool(self.tests) and self.passed == len(self.tests) and not self.failure

    def as_json(self) -> dict[str, Any]:
        """The report as data (docs/formats.md, JSON of a replay)."""
        tests = [
            {"name": t.name, "outcome": t.outcome, "reason": t.reason, "findings": [d.as_json() for d in t.findings]}
            for t in self.tests
        ]
        failure = self.failure or None
        return {"suite": self.name, "target": self.target, "ok": self.ok, "failure": failure, "tests": tests}


def replay(
    folder: str | os.PathLike[str],
    target: Target,
    *,
    include: Sequence[str] = (),
    names: Sequence[str] = (),
    sanitize: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> SuiteReport:
    """Replay the suite in a folder: ``main.cpp``, ``*kernel*.cpp`` and, if there is one, ``gen_data.py``.

    ``include``: folders of further headers; those of the checkout around the folder are found. ``names``: only these
    tests. ``sanitize``: launch each kernel under observation, too. ``progress`` is told how many tests have ended, and
    how many the suite states. Executes the suite's code. Raises `DiagnosticError` (CPP-REPLAY) for a folder that is no
    suite.
    """
    suite = Path(folder).absolute()  # compilers and scripts run in folders of their own
    kernels = sorted(p for p in suite.glob("*.cpp") if p.name != "main.cpp")
    if not _main(suite).is_file() or not kernels:
        message = "a suite has a host program, main.cpp or main.cc, and files with kernels beside it"
        raise refusal(REPLAY, message, Location(str(folder)))
    report = SuiteReport(suite.name, target.name)
    report.stated = stated(suite)
    with tempfile.TemporaryDirectory(prefix="ptokit-replay-") as scratch:
        work = Path(scratch)
        (work / "build").mkdir()
        try:
            _make_data(suite, work)
            _Suite(suite, work, kernels, target, [*include, *_around(suite)], report).run(names, sanitize, progress)
        except DiagnosticError as error:
            first = error.diagnostics[0]
            report.failure = f"{first.rule} {first.location}: {first.message}"
    return report


def stated(suite: Path) -> int:
    """How many tests a suite's host program states."""
    text = _main(suite).read_text(errors="replace")
    return len(re.findall(r"^\s*TEST(?:_F)?\(", text, re.MULTILINE))


def _main(suite: Path) -> Path:
    return next(iter(suite.glob("main.cc")), suite / "main.cpp")


def _around(suite: Path) -> list[str]:
    """Folders of headers in the checkout that a suite is part of."""
    found = [suite]
    for above in suite.resolve().parents:
        found += [above / "tests" / "common"] if (above / "tests" / "common").is_dir() else []
        if (above / ".git").exists() or (above / "include" / "pto").is_dir():
            break
    return [str(each) for each in found]


def _make_data(suite: Path, work: Path) -> None:
    """Run the script, from a copy where its data belongs: some write beside themselves."""
    script = suite / "gen_data.py"
    if not script.is_file():
        return
    paths = [str(p / "tests" / "script") for p in suite.resolve().parents if (p / "tests" / "script").is_dir()]
    paths += [each for each in (os.environ.get("PYTHONPATH", ""),) if each]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(suite), *paths])}
    copy = shutil.copy(script, work / script.name)
    done = _finished([sys.executable, str(copy)], work, env)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [""]
        raise refusal(REPLAY, f"making its data ends with {done.returncode}: {last[0]}", Location(str(script)))


def _finished(command: Sequence[str], folder: Path, env: dict[str, str] | None = None) -> Finished:
    """A command that has ended. Raises `DiagnosticError` if it takes too long."""
    try:
        return subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, errors="replace", timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise refusal(REPLAY, f"{Path(command[0]).name} takes longer than {SECONDS} seconds", Location()) from None


class _Suite:
    """A suite that is being replayed."""

    def __init__(
        self, suite: Path, work: Path, kernels: list[Path], target: Target, include: list[str], report: SuiteReport
    ) -> None:
        self.suite, self.work, self.sources, self.target, self.report = suite, work, kernels, target, report
        self.include = include
        self.memory_file = work / "memory"
        build = _Build(suite)
        self.macros = {path: build.macros(path) for path in kernels}
        self.kernels = Launchable(
            [(p, build.core(p), Options(tuple(include), of_core=self.macros[p])) for p in kernels], target
        )
        self.unbuilt: list[DiagnosticError] = []

    def run(self, names: Sequence[str], sanitize: bool, progress: Callable[[int, int], None]) -> None:
        """Build the host program, and run its tests."""
        host = self._host()
        (self.work / "answers").mkdir()
        for number in range(RANKS):
            os.mkfifo(self.work / "answers" / str(number))
        with self._started(host, names) as process:
            test, why = TestOutcome("", ""), ""
            world = World(0, 0, np.zeros(0, np.uint8))
            assert process.stdout is not None
            for line in process.stdout:
                word, _, rest = line.strip().partition(" ")
                if word == "@test":
                    test, why = TestOutcome(rest, ""), ""
                elif word == "@ranks":
                    count, base = map(int, rest.split())
                    world = World(count, base, np.memmap(self.memory_file, np.uint8, "r+"))
                elif word == "@memory":
                    world.add(*map(int, rest.split()))
                elif word == "@launch":
                    rank, stream, symbol, blocks, *given = rest.split()
                    queue = world.queues.setdefault((int(rank), int(stream)), [])
                    queue.append(Launch(int(rank), symbol, int(blocks), given))
                elif word == "@absent":
                    because = f": {self.unbuilt[0].diagnostics[0].message}" if self.unbuilt else ""
                    test.reason = f"{REPLAY.id} {rest} is in no file that is built{because}"
                elif word == "@why":
                    why = why or rest.removesuffix(" does not hold:")
                elif word in ("@wait", "@meet", "@ended"):
                    world.stops(word, *map(int, rest.split()))
                    if world.stopped:
                        self._go_on(world, test, sanitize)
                elif word in ("@passed", "@failed", "@crashed", "@skipped"):
                    test.outcome = "refused" if test.reason else word[1:]
                    test.reason = test.reason or (why if word == "@failed" else "")
                    self.report.tests.append(test)
                    done = len(self.report.tests)
                    progress(done, max(done, len(names) or self.report.stated))
        if process.returncode:
            self.report.failure = f"the host program ended with {process.returncode}"

    @contextmanager
    def _started(self, host: Path, names: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
        told = {"PTOKIT_DEVICE_MEMORY": str(self.memory_file), "PTOKIT_ANSWERS": str(self.work / "answers")}
        process = subprocess.Popen(
            [str(host), *names],
            cwd=self.work / "build",
            env={**os.environ, **told, "MPI_LIB_PATH": ""},  # which means the program itself
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            yield process
            process.wait(SECONDS)
        finally:
            if process.poll() is None:
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    # --- the host program

    def _host(self) -> Path:
        """The host program, compiled: kernels too, since their names are asked for; what they tell nobody hears."""
        common = f"-std=c++17 -w -O0 -DPTOKIT_HOST -DPTOKIT_AFTER={AFTER} -DPTOKIT_ROOM={ROOM}ull".split()
        common += [*macros(self.target, "vector"), "-I", str(HEADERS), *(f"-I{each}" for each in self.include)]
        common += ["-include", str(HEADERS / "ptokit" / "language.hpp")]
        first: DiagnosticError | None = None
        for command in host_compilers():
            try:
                return self._built(command, common)
            except DiagnosticError as error:
                first = first or error
        assert first is not None
        raise first

    def _built(self, command: list[str], common: list[str]) -> Path:
        """The host program; a file that cannot be built refuses the tests that call what is in it."""
        objects = [self._object(command, common, file) for file in (_main(self.suite), HEADERS / "ptokit" / "host.cpp")]
        self.unbuilt = []
        for kernel in self.sources:
            own = dict.fromkeys(f"-D{macro}" for _, macro in self.macros[kernel])
            try:
                objects.append(self._object(command, [*common, *own], kernel))
            except DiagnosticError as error:
                self.unbuilt.append(error)
        if len(self.unbuilt) == len(self.sources):
            raise self.unbuilt[0]
        host = self.work / "host"
        link = [*command, *objects, "-rdynamic", "-ldl", "-Wl,--no-demangle", "-o", str(host)]
        absent = dict.fromkeys(_UNDEFINED.findall(_finished(link, self.work).stderr))
        if absent or not host.exists():
            stubs = self.work / "absent.cpp"
            lines = (f'void {name}() {{ ptokit_absent("{name}"); }}' for name in absent)
            stubs.write_text('extern "C" {\nvoid ptokit_absent(const char*);\n' + "\n".join(lines) + "\n}\n")
            self._compiled([*link, str(stubs)])
        return host

    def _object(self, command: list[str], flags: list[str], source: Path) -> str:
        """A file compiled; what the same text was compiled to before is kept, as machine code is."""
        text, made = self.work / f"{source.stem}.cpp", self.work / f"{source.stem}.o"
        code = self._compiled([*command, "-E", *flags, str(source)]).stdout
        if source in self.sources:
            code = _ASSEMBLY.sub(";", rewritten(code))
        how = [*command, "-std=c++17", "-w", "-O0", "-c"]
        version = self._compiled([*command, "--version"]).stdout
        key = hashlib.sha256("\0".join([*how, version, code]).encode()).hexdigest()
        folder = cache_folder()
        kept = None if folder is None else read_entry(folder / f"{key}.o", key)
        if kept is None:
            text.write_text(code)
            self._compiled([*how, str(text), "-o", str(made)])
            if folder is not None:
                write_entry(folder / f"{key}.o", key, made.read_bytes())
        else:
            made.write_bytes(kept)
        return str(made)

    def _compiled(self, command: list[str]) -> Finished:
        done = _finished(command, self.work)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
            raise refusal(COMPILE, f"the host program: {' | '.join(errors[:4])}", Location(str(self.suite)))
        return done

    # --- launches

    def _go_on(self, world: World, test: TestOutcome, sanitize: bool) -> None:
        """All ranks have stopped: carry out what they have launched, and let those go on whose launches are done.

        Those of several ranks and streams go on one after the other, each until it waits: they may wait for each other.
        """
        asked = 0
        while asked < ASKED:
            moved = [self._advance(world, launch, test, sanitize) for launch in world.first]
            asked = 0 if any(moved) else asked + 1
            if asked and (world.ready or not any(launch.asks for launch in world.first)):
                break
        ready = world.ready
        for launch in [] if ready else world.first:
            self._advance(world, launch, test, sanitize, vain=True)
        world.settle()
        for rank in ready or list(world.waits):
            del world.waits[rank]
            with (self.work / "answers" / str(rank)).open("w") as answer:
                answer.write("y" if rank in ready and rank not in world.failed else "n")

    def _advance(self, world: World, launch: Launch, test: TestOutcome, sanitize: bool, *, vain: bool = False) -> bool:
        """Go on with a launch as far as it can; False if it still waits for the same. ``vain``: for ever."""
        try:
            if launch.flight is None:
                self._begin(world, launch, test if sanitize else None)
            if launch.flight is not None:
                with np.errstate(all="ignore"):
                    moved = launch.flight.advance()
                if launch.flight.left and not vain:
                    return moved
                launch.flight.give_up(launch.flight.left)
                launch.flight.work.faults.done()
        except DiagnosticError as error:
            world.failed.add(launch.rank)
            test.reason = test.reason or _told(error, f"rank {launch.rank}: " if world.ranks > 1 else "")
        world.over(launch)
        return True

    def _begin(self, world: World, launch: Launch, observed: TestOutcome | None) -> None:
        """Run a kernel on the memory of the host program; one that may wait for another launch only begins."""
        null = frozenset(k for k, text in enumerate(launch.given) if text == "p0")
        program = self.kernels.program(launch.symbol, null)
        together = by_address(program.module)
        if observed is not None and not together:
            exact = [world.value(text, param) for text, param in zip(launch.given, program.params)]
            self._observe(program, exact, launch.blocks, observed)
        values = [world.value(text, param, AFTER) for text, param in zip(launch.given, program.params)]
        world.settle()
        if not together:
            program.launch(values, launch.blocks)
            return
        workspace = Workspace(self.target, extended=False)
        bound = bind_arguments(program.entry, values, program.effects.written, launch.blocks, workspace)
        for k, (text, value) in enumerate(zip(launch.given, bound)):
            if isinstance(value, Pointer):
                bound[k] = world.pointer(text, value.dtype) or value
        blocks = range(launch.blocks)
        work = Launched(bound, launch.blocks, "exact", Printed(), blocks, Faults(), workspace)
        launch.flight = OnNumPy(program).flight(work)

    def _observe(self, program: Program, values: list[Any], blocks: int, test: TestOutcome) -> None:
        from ptokit.sanitize import sanitize

        copies = [value.copy() if isinstance(value, np.ndarray) else value for value in values]
        report = sanitize(program.module, self.target, copies, blocks)
        test.findings += report.diagnostics.errors


class _Build:
    """What the build file of a suite (CMake) says of its kernels: for which cores each is compiled, with which macros.

    A file belongs to the library that names it, or to the function of the build file that is called with its name.
    """

    def __init__(self, suite: Path) -> None:
        file = suite / "CMakeLists.txt"
        text = file.read_text(errors="replace") if file.is_file() else ""
        functions = re.compile(r"^function\((\w+)(.*?)^endfunction", re.DOTALL | re.MULTILINE)
        self.functions = dict(functions.findall(text))
        self.calls = [
            (name, words.split()) for name, words in re.findall(r"\b(\w+)\(([^()]*)\)", functions.sub("", text))
        ]
        self.named = next((_CORES[m[1]] for m in re.finditer(r"\bpto_(vec|cube|mix)\w*\(", text)), "")

    def _compilations(self, source: Path) -> dict[str, list[str]]:
        """The words of the commands that compile a file, by kind of core; "mix" for both."""
        found: dict[str, list[str]] = {}
        for name, words in self.calls:
            if source.name not in words:
                continue
            options = [f"{callee} {' '.join(given)}" for callee, given in self.calls if words[0] in given[:1]]
            for command in re.split(r"--cce-aicore-arch=", self.functions.get(name, "\n".join(options)))[1:]:
                arch, *rest = re.split(r"\bCOMMAND\b|\)", command)[0].split()
                found.setdefault(_CORES.get(arch.rpartition("-")[2], "mix"), [*rest, *words])
        return found

    def core(self, source: Path) -> str:
        """The kind of cores of a file; nothing where no command tells."""
        cores = self._compilations(source) or {self.named: []}
        return next(iter(cores)) if len(cores) == 1 else "mix"

    def macros(self, source: Path) -> tuple[tuple[str, str], ...]:
        """The macros of a file, each with the kind of core that it is stated for."""
        return tuple(
            (core, word.removeprefix("-D"))
            for kind, words in self._compilations(source).items()
            for core in (("cube", "vector") if kind == "mix" else (kind,))
            for word in words
            if word.startswith("-D") and "$" not in word
        )


def host_compilers() -> list[list[str]]:
    """The compilers of host programs: what is stated; else the system's, then that of kernels."""
    stated = os.environ.get("PTOKIT_HOST_CXX")
    if stated:
        return [stated.split()]
    found = [[where] for where in (shutil.which("g++") or shutil.which("c++"),) if where]
    kernels = find_compiler()
    zig = kernels.command[-1] == "clang"
    return [*found, [kernels.command[0], "c++", "-fno-sanitize=undefined"] if zig else [*kernels.command]]


def _told(error: DiagnosticError, who: str) -> str:
    first = (Diagnostics(error.diagnostics).errors or error.diagnostics)[0]
    return f"{first.rule} {Path(first.location.file or '').name}:{first.location.line}: {who}{first.message}"
