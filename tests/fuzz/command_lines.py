"""Random command lines over every subcommand and option there is, with damaged files, run in this process."""

from __future__ import annotations

import io
import json
import random
import re
import signal
import sys
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import typer
from typer.core import TyperArgument

import ptokit.isa.all  # noqa: F401 - fills the table
from ptokit.cli import main as command_line
from ptokit.cli.main import app
from ptokit.diagnostics import CATALOGUE
from ptokit.isa.table import TABLE

ROOT = Path(__file__).parents[2]
SOURCES = [
    p
    for folder in ("examples/pto", "tests/data/sync-cases", "tests/data/programs/kernels")
    for p in sorted((ROOT / folder).rglob("*.pto"))
]
_TOKEN = re.compile(r'[%@^!#]?[\w.$-]+|"[^"\n]*"|->|::|\S|\s+')
_PARAMETERS = re.compile(r"func\.func @\w+\(([^)]*)\)")
_TYPE = re.compile(r": *((?:!pto\.ptr<)?\w+)")
SECONDS = 20  # longer is a hang

WORDS = ["", "-", "--", " ", "a" * 300, "\udcff\udc80", "\ufb01", "e\u0301", "{}", "[", "%s %d", "\n", "\x1b[31m"]
WORDS += ["nan", "@x", "1e999", "9" * 5000, "-1", "0x", "0xZZ", "1_000", "\u0663", "inf", "None", "true", ":::", "@k"]
WORDS += ["TLOAD", "EW-04", "tadd", "a5", "a2a3", "cpu", "a6", "softmax", "RACE-WAR", "vec, 8x8xf32", "0,0", "1,-1"]
PATHS = ["/dev/null", "/dev/full", "missing/x", ".", "/dev/null/x", "x" * 300, "d/" * 200, "\udcff.pto"]
"""None of them leads out of the current folder: commands write, and `fmt` does so in whole trees."""
ARRAYS = ["zeros", "ones", "full", "random", "arange", "uninit", "file", "eye", "f32"]
TYPES = ["f32", "f16", "bf16", "i8", "ui8", "f8E4M3FN", "i4", "index", "f64", "q8", "i1", ""]
SHAPES = ["8x8", "16x512", "4096", "0", "0x8", "-1", "8x", "x", "8x8x8x8x8x8x8", "99999999999999999999", "\u0663", ""]
ODD_NUMBERS = ["0", "1", "3", "-1", "7", "64", "1" * 25, "@x", "%x", '"s"', "<x>", "1.5", "f32", "true", "?", "{}"]
NUMBERS = ["0", "1", "2", "3", "7", "-1", "", "x", "1e3", "99999999999999999999999", "2.5", "0x10", "\u0663", "1 2"]


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


@cache
def programs() -> list[list[str]]:
    """The tokens of programs."""
    return [_TOKEN.findall(p.read_text()) for p in SOURCES]


class Inputs:
    """A folder with files, most of them damaged, that `line` writes anew for every command line."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng, self.folder = random.Random(seed), folder
        self.tokens = [t for tokens in programs() for t in set(tokens) if not t.isspace()]
        self.manifests = [p for p in sorted((ROOT / "tests/data").rglob("manifest.json")) if p.stat().st_size < 100_000]
        self.commands = {name: c for name, c in commands().items() if name != "lsp"}  # which reads a protocol

    # --- files ---------------------------------------------------------------------------------------------------

    def text(self) -> str:
        """A program with some tokens removed, repeated or replaced; sometimes whole."""
        parts = list(self.rng.choice(programs()))
        for _ in range(self.rng.choice([0, 1, 1, 1, 2, 4])):
            at = self.rng.randrange(len(parts))
            match self.rng.randrange(5):
                case 0:
                    del parts[at : at + self.rng.choice([1, 1, 5])]
                case 1:
                    parts.insert(at, self.rng.choice(self.tokens))
                case 2:
                    parts[at] = self.rng.choice(WORDS)
                case 3:
                    numbers = [k for k, t in enumerate(parts) if t.isdigit()]
                    if numbers:
                        parts[self.rng.choice(numbers)] = self.rng.choice(ODD_NUMBERS)
                case _:
                    words = [k for k, t in enumerate(parts) if not t.isspace()]
                    parts[self.rng.choice(words)] = self.rng.choice(self.tokens)
            if not parts:
                break
        return "".join(parts)

    def json(self) -> str:
        """A manifest in which some values are of other kinds."""
        value = json.loads(self.rng.choice(self.manifests).read_text())
        places: list[tuple[Any, Any]] = []

        def collect(node: Any, depth: int) -> None:
            if depth > 6:
                return
            for key, inner in node.items() if isinstance(node, dict) else enumerate(node[:3]):
                places.append((node, key))
                if isinstance(inner, (dict, list)):
                    collect(inner, depth + 1)

        collect(value, 0)
        if isinstance(value, dict) and isinstance(value.get("cases"), list):
            del value["cases"][self.rng.choice([1, 2, 4]) :]
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            node, key = self.rng.choice(places)
            if isinstance(node, dict) or key < len(node):
                node[key] = self.rng.choice([5, "x", None, [], {}, True, -1, [1, 2], {"a": 1}, 1e300, "missing/x"])
        text = json.dumps(value)
        return text if self.rng.random() < 0.9 else text[: self.rng.randrange(len(text))]

    def toml(self) -> str:
        key = ["name", "programs", "targets", "do", "blocks", "seeds", "seconds", "memory", "mode", "answers", "x"]
        some = [
            '"k.pto"',
            '["k.pto"]',
            "[]",
            "5",
            "-1",
            "true",
            '""',
            '"1GiB"',
            "[1, 2]",
            '["check"]',
            "{a = 1}",
            "nan",
        ]
        return "".join(f"{self.rng.choice(key)} = {self.rng.choice(some)}\n" for _ in range(self.rng.randint(0, 4)))

    def write(self) -> None:
        """Put the files into the folder."""
        raw = bytes(self.rng.randrange(256) for _ in range(60))
        (self.folder / "k.pto").write_text(self.text(), errors="surrogateescape")
        (self.folder / "raw.pto").write_bytes(raw)
        (self.folder / "c.toml").write_text(self.toml())
        (self.folder / "r.sqlite").write_bytes(self.rng.choice([b"", raw, b"SQLite format 3\0" + raw]))
        (self.folder / "cases").mkdir(exist_ok=True)
        (self.folder / "cases" / "manifest.json").write_text(self.json())
        (self.folder / "empty").mkdir(exist_ok=True)
        buffer = io.BytesIO()
        np.save(buffer, np.zeros((16, 512), self.rng.choice(["f4", "f2", "i4", "c8", "U3", ">f4", "?"])))
        array = bytearray(buffer.getvalue())
        if self.rng.random() < 0.5:
            array[self.rng.randrange(120)] = self.rng.randrange(256)
        (self.folder / "x.npy").write_bytes(array[: self.rng.choice([None, None, None, 50, 0, 130])])

    # --- command lines -------------------------------------------------------------------------------------------

    def path(self) -> str:
        own = [
            "k.pto",
            "k.pto",
            "whole.pto",
            "raw.pto",
            "cases",
            "cases/manifest.json",
            "x.npy",
            "empty",
            "c.toml",
            "new",
        ]
        return self.rng.choice([*(str(self.folder / name) for name in own), *PATHS, self.rng.choice(WORDS), "-"])

    def input(self, command: str) -> str:
        """What a command reads."""
        usual = {"conformance": "cases", "campaign": "c.toml"}.get(command, "k.pto")
        return str(self.folder / usual) if self.rng.random() < 0.85 else self.path()

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

    def fitting(self) -> list[str]:
        """Arguments that the kernel of the file may take."""
        size = self.rng.choice(["64x4096", "64x4096", "16x16", "3", "0"])
        found = _PARAMETERS.search((self.folder / "k.pto").read_text(errors="replace"))
        out = []
        for type in _TYPE.findall(found[1]) if found else []:
            element = type.removeprefix("!pto.ptr<")
            number = self.rng.choice(["1", "4", "16", "0", "-1", "0.5" if element[0] == "f" else "64"])
            out.append(
                number if element == type else f"{self.rng.choice(['random', 'zeros', 'uninit'])}:{element}:{size}"
            )
        return out

    def value(self, command: str, parameter: Any) -> str:
        names = {option.lstrip("-") for option in parameter.opts}
        kind = parameter.type_descriptor
        if "jobs" in names:
            return self.rng.choice(["1", "1", "1", "0", "-1", "x", "257", ""])
        if "executor" in names:
            return self.rng.choice(["processes", "x", "", "dask://", "dask", "ray:", "9" * 300])
        if "blocks" in names:
            return self.rng.choice([*"12351235", *(n for n in NUMBERS if len(n) < 5 and n != "1e3")])
        if "arg" in names:
            return self.argument()
        if names & {"file", "files", "directory", "paths"} and isinstance(parameter, TyperArgument):
            return self.input(command)
        if command in ("isa", "explain") and self.rng.random() < 0.8:
            return self.rng.choice(list(TABLE if command == "isa" else CATALOGUE))
        if kind.choices and self.rng.random() < 0.9:
            return str(self.rng.choice(list(kind.choices)).value)
        if kind.annotation is int and self.rng.random() < 0.9:
            return self.rng.choice(["1", "2", "2", *NUMBERS])
        if names & {"out", "html", "junit", "svg", "root"}:
            return self.path()
        if "target" in names and self.rng.random() < 0.95:
            return self.rng.choice(["a5", "a2a3", "cpu"])
        return self.rng.choice([*WORDS, self.path()])

    def line(self) -> list[str]:
        """A command line; its files are in the folder."""
        self.write()
        names = list(self.commands)
        weights = [1 if name == "campaign" else 30 if name in ("run", "sanitize") else 12 for name in names]
        name = self.rng.choices(names, weights)[0]
        command = self.commands[name]
        words = name.split()
        if name in ("run", "sanitize"):
            for given in self.fitting():
                words += ["-a", given if self.rng.random() < 0.97 else self.argument()]
        for parameter in command.params:
            if isinstance(parameter, TyperArgument):
                given = parameter.required or self.rng.random() < 0.8
                if given and self.rng.random() < 0.99:
                    words.append(self.value(name, parameter))
                continue
            likely = 0.9 if "--target" in parameter.opts else 1 if parameter.required else 0.15
            if "--arg" in parameter.opts:
                likely = 0.02
            if self.rng.random() > likely:
                continue
            words.append(self.rng.choice(parameter.opts))
            if not getattr(parameter, "is_flag", False) and self.rng.random() < 0.99:
                words.append(self.value(name, parameter))
        if self.rng.random() < 0.02:
            words.insert(self.rng.randrange(len(words) + 1), self.rng.choice(WORDS))
        return [word for word in words if "\0" not in word]


class HangError(Exception):
    """A command did not end in time."""


@contextmanager
def in_time() -> Any:
    def ring(number: int, frame: Any) -> None:
        raise HangError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


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
