"""Random command lines over every subcommand and option there is, with damaged files, run in this process."""

from __future__ import annotations

import io
import re
import signal
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperArgument

from ptokit.cli import main as command_line
from ptokit.cli.main import app
from ptokit.diagnostics import CATALOGUE
from ptokit.isa.table import TABLE

from .files import WORDS, Files

_PARAMETERS = re.compile(r"(?:func\.func @|def )\w+\(([^)]*)\)")
_TYPE = re.compile(r": *(?:(?:!pto\.ptr<|pto\.Ptr\[pto\.)(\w+)|(\w+))")
SECONDS = 60  # longer is a hang; a busy machine takes some for what takes one

PATHS = ["/dev/null", "/dev/full", "missing/x", ".", "/dev/null/x", "x" * 300, "d/" * 200, "\udcff.pto"]
"""None of them leads out of the current folder: commands write, and `fmt` does so in whole trees."""
ARRAYS = ["zeros", "ones", "full", "random", "arange", "uninit", "file", "eye", "f32"]
TYPES = ["f32", "f16", "bf16", "i8", "ui8", "f8E4M3FN", "i4", "index", "f64", "q8", "i1", ""]
SHAPES = ["8x8", "16x512", "4096", "0", "0x8", "-1", "8x", "x", "8x8x8x8x8x8x8", "99999999999999999999", "\u0663", ""]
NUMBERS = ["0", "1", "2", "3", "7", "-1", "", "x", "1e3", "99999999999999999999999", "2.5", "0x10", "\u0663", "1 2"]
USUAL = {
    "entry": ["k", "softmax", "scale", "vec_add", "axpy"],
    "select": ["RACE", "EW-04", "TILE", "UNINIT-READ", "X"],
    "ignore": ["RACE", "EW-04", "TILE", "FLAG", "x"],
    "dump": ["t", "%t", "@20", "t@20", "a@30:block=0", "@12:i=1", "t@9:rank=0", "@999999999999"],
    "at": ["0,0", "3,1", "7,7"],
    "type": ["vec, 8x8xf32", "!pto.tile_buf<vec, 16x16xf16>", "mat, 32x32xf16, blayout=col_major, slayout=row_major"],
    "search": ["load", "fractal", "race"],
    "op": ["TADD", "TLOAD", "vec_add"],
    "do": ["check", "run,check", "sanitize", "time", "compare", "check,,"],
    "memory": ["2GiB", "1", "99999999999GiB", "4000000"],
    "timeout": ["3", "5", "0", "inf", "nan", "1e300"],
    "rtol": ["1e-3", "nan", "inf", "-1"],
    "atol": ["1e-3", "nan", "inf", "-1"],
}


COMMAND = typer.main.get_command(app)  # made once, which `main` would do every time


@cache
def commands() -> dict[str, Any]:
    """Every subcommand by its words."""
    found: dict[str, Any] = {}

    def collect(command: Any, words: tuple[str, ...]) -> None:
        inner = getattr(command, "commands", None)
        if inner is None:
            found[" ".join(words)] = command
            return
        for name, sub in inner.items():
            collect(sub, (*words, name))

    collect(COMMAND, ())
    return found


class Inputs(Files):
    """Command lines, whose files `line` writes anew for every one."""

    def __init__(self, folder: Path, seed: int) -> None:
        super().__init__(folder, seed)
        self.commands = {name: c for name, c in commands().items() if name != "lsp"}  # see test_messages.py
        self.odd = True  # whether values of options may be

    def path(self) -> str:
        own = [
            "k.pto",
            "k.pto",
            "whole.pto",
            "raw.pto",
            "k.py",
            "k.py:softmax",
            "cases",
            "cases/manifest.json",
            "x.npy",
        ]
        own += ["empty", "c.toml", "r.sqlite", "pyproject.toml", "new"]
        return self.rng.choice([*(str(self.folder / name) for name in own), *PATHS, self.rng.choice(WORDS), "-"])

    def input(self, command: str) -> str:
        """What a command reads."""
        usual = {"conformance": ["cases"], "campaign": ["c.toml", "c.toml", "k.pto", "whole.pto"], "fmt": ["k.pto"]}
        named = self.rng.choice(usual.get(command, ["k.pto", "k.pto", "k.pto", "k.py"]))
        return str(self.folder / named) if self.rng.random() < 0.85 else self.path()

    def argument(self) -> str:
        """A value of --arg."""
        kind = self.rng.choice(["array", "number", "file", "word"])
        if kind == "array":
            parts = [self.rng.choice(ARRAYS), self.rng.choice(TYPES), self.rng.choice(SHAPES)]
            more = [self.rng.choice(["seed=3", "seed=", "seed=x", "0.5", "low=1"])] if self.rng.random() < 0.3 else []
            return ":".join([*parts, *more][: self.rng.choice([4, 4, 4, 2, 1])])
        if kind == "number":
            return self.rng.choice(NUMBERS)
        return str(self.folder / "x.npy") if kind == "file" else self.rng.choice([*WORDS, *PATHS])

    def fitting(self, name: str) -> list[str]:
        """Arguments that the kernel of a file may take."""
        size = self.rng.choice(["64x4096", "64x4096", "16x16", "3", "0"])
        found = _PARAMETERS.search((self.folder / name).read_text(errors="replace"))
        out = []
        for pointer, scalar in _TYPE.findall(found[1]) if found else []:
            number = self.rng.choice(["1", "4", "16", "0", "-1", "0.5" if scalar[:1] in ("f", "b") else "64"])
            out.append(f"{self.rng.choice(['random', 'zeros', 'uninit'])}:{pointer}:{size}" if pointer else number)
        return out

    def value(self, command: str, parameter: Any) -> str:
        """A value of an option, or of an argument that is no file."""
        names = {option.lstrip("-") for option in parameter.opts}
        kind, odd = parameter.type_descriptor, self.odd and self.rng.random() < 0.25
        if "jobs" in names:
            return self.rng.choice(["0", "-1", "x", "257", ""]) if odd else "1"
        if "executor" in names:
            return self.rng.choice(["x", "", "dask://", "dask", "ray:", "9" * 300]) if odd else "processes"
        if "blocks" in names:
            few = [n for n in NUMBERS if len(n) < 5 and n != "1e3"]
            return self.rng.choice([*few, "2147483648"] if odd else [*"1235"])
        if "arg" in names:
            return self.argument()
        if command in ("isa", "explain") and self.rng.random() < 0.8:
            return self.rng.choice(list(TABLE if command == "isa" else CATALOGUE))
        if kind.choices and not odd:
            return str(self.rng.choice(list(kind.choices)).value)
        if kind.annotation is int:
            return self.rng.choice(NUMBERS if odd else ["1", "2"])
        if names & {"out", "html", "junit", "svg", "root", "dump-all"}:
            return self.path()
        if names & {"target", "default-target"} and not odd:
            return self.rng.choice(["a5", "a2a3", "cpu"])
        (name,) = [name for name in names if len(name) > 1] or names
        if name in USUAL and not odd:
            return self.rng.choice(USUAL[name])
        return self.rng.choice([*WORDS, self.path()])

    def inputs(self, command: str) -> list[str]:
        """The files that a command gets."""
        if command == "campaign":
            if self.rng.random() < 0.75:
                return ["report", str(self.folder / "r.sqlite") if self.rng.random() < 0.9 else self.path()]
            return [self.input(command)]
        several = 2 if command == "diff" or self.rng.random() < 0.1 else 1
        return [self.input(command) for _ in range(several if command in ("diff", "check", "fmt") else 1)]

    def line(self) -> list[str]:
        """A command line; its files are in the folder."""
        rng, names = self.rng, list(self.commands)
        self.odd = rng.random() < 0.4
        frequent = {"campaign": 8, "run": 30, "sanitize": 30, "explain": 4, "isa": 6, "layout": 6, "targets": 3}
        name = rng.choices(names, [frequent.get(name, 12) for name in names])[0]
        self.write(name)
        words = name.split()
        parameters = list(self.commands[name].params)
        if isinstance(parameters[0], TyperArgument) and name not in ("isa", "explain", "layout", "targets"):
            files = self.inputs(name) if rng.random() < 0.99 else []
            words += files[: rng.choice([2, 2, 2, 1])]
            if name in ("run", "sanitize", "diff") and files and Path(files[0]).name in ("k.pto", "k.py"):
                for given in self.fitting(Path(files[0]).name):
                    words += ["-a", given if rng.random() < 0.98 else self.argument()]
            parameters = [p for p in parameters if not isinstance(p, TyperArgument)]
        often = rng.choice([0.02, 0.06, 0.15])
        for parameter in parameters:
            likely = 0.9 if "--target" in parameter.opts else 1 if parameter.required else often
            if name == "campaign" and words[1:2] == ["report"]:
                likely = 0.15 if {"--html", "--junit", "--format"} & set(parameter.opts) else 0.01
            if isinstance(parameter, TyperArgument):
                likely = 0.99 if parameter.required else 0.8
            if "--arg" in parameter.opts:
                likely = 0.02
            if rng.random() > likely:
                continue
            for _ in range(rng.choice([1, 1, 1, 2]) if getattr(parameter, "multiple", False) else 1):
                if not isinstance(parameter, TyperArgument):
                    words.append(rng.choice(parameter.opts))
                if not getattr(parameter, "is_flag", False) and rng.random() < 0.99:
                    words.append(self.value(name, parameter))
        if rng.random() < 0.02:
            words.insert(rng.randrange(len(words) + 1), rng.choice(WORDS))
        return [word for word in words if "\0" not in word]


class HangError(Exception):
    """A command did not end in time."""


@contextmanager
def in_time() -> Any:
    """Ends what takes too long, and says so, whatever has become of the exception on its way."""
    late = []

    def ring(number: int, frame: Any) -> None:
        late.append(number)
        raise HangError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if late:
            raise HangError


def status_of(words: list[str], stdin: bytes | None) -> tuple[int, str]:
    """Exit status and standard error of a command; ``stdin`` None: closed."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", errors="replace") for _ in range(2))
    before = sys.argv, sys.stdin
    sys.argv = ["ptokit", *words]
    command_line.app = COMMAND  # type: ignore[assignment]
    sys.stdin = None if stdin is None else io.TextIOWrapper(io.BytesIO(stdin), "utf-8")  # type: ignore[assignment]
    try:
        with in_time(), redirect_stdout(out), redirect_stderr(err):
            command_line.main()
        status: Any = 0
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    finally:
        sys.argv, sys.stdin = before
        command_line.app = app
    err.flush()
    return status, err.buffer.getvalue().decode()
