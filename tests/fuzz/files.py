"""A folder with files of every kind that commands read, most of them damaged."""

from __future__ import annotations

import io
import json
import random
import re
import shutil
import sqlite3
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from ..campaign.conftest import kernel
from ..campaign.here import campaign

ROOT = Path(__file__).parents[2]
_TOKEN = re.compile(r'[%@^!#]?[\w.$-]+|"[^"\n]*"|->|::|\S|\s+')

WORDS = ["", "-", "--", " ", "a" * 300, "\udcff\udc80", "\ufb01", "e\u0301", "{}", "[", "%s %d", "\n", "\x1b[31m"]
WORDS += ["nan", "@x", "1e999", "9" * 5000, "-1", "0x", "0xZZ", "1_000", "\u0663", "inf", "None", "true", ":::", "@k"]
WORDS += ["TLOAD", "EW-04", "tadd", "a5", "a2a3", "cpu", "a6", "softmax", "RACE-WAR", "vec, 8x8xf32", "0,0", "1,-1"]
ODD_NUMBERS = ["0", "1", "3", "-1", "7", "64", "1" * 25, "@x", "%x", '"s"', "<x>", "1.5", "f32", "true", "?", "{}"]
VALUES = [
    5,
    "x",
    None,
    [],
    {},
    True,
    -1,
    [1, 2],
    {"a": 1},
    1e300,
    float("inf"),
    1 << 31,
    1 << 70,
    "missing/x",
    "\ud800",
]
DEEP = "[" * 100_000
KERNELS = (
    "vec_add",
    "softmax",
    "saxpy_registers",
    "rms_norm",
    "gemm",
    "embedding",
    "ring_all_gather",
    "vector_softmax",
)


def _read(paths: list[Path]) -> list[list[str]]:
    return [_TOKEN.findall(path.read_text()) for path in paths]


@cache
def programs() -> list[list[str]]:
    """The tokens of programs."""
    folders = ("examples/pto", "tests/data/sync-cases", "tests/data/programs/kernels")
    return _read([path for folder in folders for path in sorted((ROOT / folder).rglob("*.pto"))])


@cache
def kernels() -> list[list[str]]:
    """The tokens of kernels in Python."""
    return _read([ROOT / "examples" / "python" / f"{name}.py" for name in KERNELS])


@cache
def manifests() -> list[tuple[Path, dict[str, Any]]]:
    """The folders of conformance cases, and what their manifests say."""
    paths = sorted((ROOT / "tests" / "data").rglob("manifest.json"))
    return [(path.parent, json.loads(path.read_text())) for path in paths]


@cache
def results() -> bytes:
    """A file of results with two runs."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for i, factor in enumerate((1, 2)):
            (folder / f"k{i}.pto").write_text(kernel(factor))
        (folder / "c.toml").write_text('programs = ["k?.pto"]\ndo = ["check", "run"]\n')
        for _ in range(2):
            campaign(folder / "c.toml", folder / "r.sqlite")
        with sqlite3.connect(folder / "r.sqlite") as db:
            db.execute("PRAGMA journal_mode = DELETE")
        db.close()
        return (folder / "r.sqlite").read_bytes()


class Files:
    """``folder`` gets new files with every `write`."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng, self.folder = random.Random(seed), folder

    def text(self, known: list[list[str]] | None = None) -> str:
        """A program with some tokens removed, repeated or replaced; sometimes whole. ``known``: that of Python, say."""
        known = known or programs()
        parts = list(self.rng.choice(known))
        for _ in range(self.rng.choice([0, 0, 1, 1, 1, 2, 4])):
            at = self.rng.randrange(len(parts))
            match self.rng.randrange(8):
                case 0:
                    del parts[at : at + self.rng.choice([1, 1, 5])]
                case 1:
                    parts.insert(at, self.token(known))
                case 2:
                    parts[at] = self.rng.choice(WORDS)
                case 3:
                    numbers = [k for k, t in enumerate(parts) if t.isdigit()]
                    if numbers:
                        parts[self.rng.choice(numbers)] = self.rng.choice(ODD_NUMBERS)
                case 4:
                    words = [k for k, t in enumerate(parts) if not t.isspace()]
                    parts[self.rng.choice(words)] = self.token(known)
                case _:  # another one of its kind in the same text
                    alike = [k for k, t in enumerate(parts) if t[:1] == parts[at][:1] and t != parts[at]]
                    parts[at] = parts[self.rng.choice(alike)] if alike else parts[at]
            if not parts:
                break
        return "".join(parts)

    def token(self, known: list[list[str]]) -> str:
        """One that is not blank."""
        while (token := self.rng.choice(self.rng.choice(known))).isspace():
            pass
        return token

    def copy(self, source: Path, value: Any) -> None:
        """Put the files that a manifest names next to it."""
        for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            self.copy(source, inner)
        if isinstance(value, str) and (source / value).is_file():
            to = self.folder / "cases" / value
            to.parent.mkdir(parents=True, exist_ok=True)
            to.write_bytes((source / value).read_bytes())

    def json(self) -> str:
        """A manifest in which some values are of other kinds."""
        source, whole = self.rng.choice(manifests())
        first = self.rng.randrange(len(whole["cases"]))
        value = deepcopy({**whole, "cases": whole["cases"][first : first + self.rng.choice([1, 2, 4])]})
        self.copy(source, value)
        places: list[tuple[Any, Any]] = []

        def collect(node: Any, depth: int) -> None:
            if depth > 6:
                return
            for key, inner in node.items() if isinstance(node, dict) else enumerate(node[:3]):
                places.append((node, key))
                if isinstance(inner, (dict, list)):
                    collect(inner, depth + 1)

        collect(value, 0)
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            node, key = self.rng.choice(places)
            if isinstance(node, dict) or key < len(node):
                node[key] = self.rng.choice(VALUES)
        text = json.dumps(value)
        if self.rng.random() < 0.02:
            text = text.replace("1", DEEP, 1)
        return text if self.rng.random() < 0.9 else text[: self.rng.randrange(len(text))]

    def toml(self) -> str:
        """The description of a campaign, in which some values are of other kinds."""
        rng, usual = self.rng, {"programs": ['"k.pto"', '"whole.pto"', '"*.pto"'], "do": ['"check"', '"run"', '"time"']}
        usual |= {"targets": ['"a5"', '"cpu"'], "blocks": ["1", "2"], "seeds": ["0", "7"], "seconds": ["20", "1e300"]}
        usual |= {"memory": ['"4GiB"', "0"], "mode": ['{matmul = "fast"}', "{vector_cores = 1}"], "name": ['"x"']}
        usual |= {"default_target": ['"a2a3"']}
        of_set = {"match": ['"*"'], "args": ['["zeros:f32:16", "3"]', "[]"], "expected": ['["x.npy"]'], "name": ['"n"']}
        of_set |= {"function": ['"math:sin"', '"nowhere:f"'], "against": ['"numpy"'], "program": ['"whole.pto"']}
        of_set |= {"tolerance": ["{ulp = 2}", "{rtol = nan}"], "blocks": ["3"], "entry": ['"k"']}
        odd = [
            "5",
            "-1",
            "true",
            '""',
            "[]",
            "[1, 2]",
            "{a = 1}",
            "nan",
            "inf",
            "[inf]",
            '"99999999999GiB"',
            "2147483648",
        ]
        odd += ['"\\u001b[31m"', "[" * 2000, "9" * 30, '["check"]', '"a5\\n"', "1979-05-27", '["mmap:x.npy:rw"]']

        def entries(known: dict[str, list[str]], first: str, count: int) -> str:
            keys = [first, *(rng.choice([*known, "x"]) for _ in range(count))]
            lists = {"programs", "do", "targets"}
            out = ""
            for key in dict.fromkeys(keys):
                value = rng.choice(known.get(key, odd)) if rng.random() < 0.8 else rng.choice(odd)
                out += f"{key} = {f'[{value}]' if key in lists and rng.random() < 0.95 else value}\n"
            return out

        text = entries(usual, "programs", rng.randint(0, 4))
        for _ in range(rng.choice([0, 0, 1, 2])):
            text += "[[set]]\n" + entries(of_set, "match", rng.randint(1, 3))
        return text

    def settings(self) -> str:
        """A pyproject.toml."""
        rng, odd = self.rng, ["5", "0", "-1", '"x"', "[]", "nan", '["\\u001b[2J"]', "[5]", "{}", "9" * 30]
        known = {"target": ['"a5"', '["a5", "cpu"]'], "select": ['["RACE"]'], "ignore": ['"EW-04"', '["TILE"]']}
        known |= {"level": ["1", "2", "3"], "auto-sync": ["true"], "rules": ['"assembler"'], "extended": ["true"]}
        known |= {"max-errors": ["1", "100"], "error-on-warning": ["true", "false"], "x": ["1"]}
        head = rng.choice(["[tool.ptokit]\n"] * 8 + ["[[tool.ptokit]]\n", "[tool]\nptokit = 5\n", "tool.ptokit\n", ""])
        keys = rng.sample(list(known), rng.randint(0, 3))
        return head + "".join(f"{k} = {rng.choice(known[k] if rng.random() < 0.8 else odd)}\n" for k in keys)

    def store(self, path: Path) -> None:
        """A file of results in which some values are of other kinds, or some bytes."""
        rng, content = self.rng, bytearray(results())
        raw = bytes(rng.randrange(256) for _ in range(60))
        path.write_bytes(rng.choice([content] * 8 + [b"", raw, b"SQLite format 3\0" + raw]))
        style = rng.random()
        if path.stat().st_size != len(content) or style < 0.2:
            return
        if style < 0.4:
            for _ in range(rng.choice([1, 3, 30])):
                content[rng.randrange(len(content))] = rng.randrange(256)
            path.write_bytes(content[: rng.choice([len(content), len(content), rng.randrange(len(content))])])
            return
        db = sqlite3.connect(path)
        for _ in range(rng.choice([1, 1, 2])):
            table = rng.choice(["runs", "cases", "results", "results"])
            column = rng.choice([row[1] for row in db.execute(f"PRAGMA table_info({table})")])
            value = rng.choice(
                [0, -1, 1e999, 7.5, b"\xff", "", "x", "[]", "{}", "[{}]", '{"a": 1}', DEEP, *WORDS[6:12]]
            )
            value = rng.choice([value, "\x1b[2J\n0 failed\u202e", "passed", '["\\ud800"]', (1 << 63) - 1])
            with suppress(sqlite3.IntegrityError):  # of a key
                db.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (value, rng.randint(1, 4)))
        db.commit()
        db.close()

    def write(self, command: str) -> None:
        """Put the files into the folder. What takes long is made anew where a command is about it."""
        rng = self.rng
        raw = bytes(rng.randrange(256) for _ in range(60))
        (self.folder / "k.pto").write_text(self.text(), errors="surrogateescape")
        (self.folder / "whole.pto").write_text(kernel())
        (self.folder / "k.py").write_text(self.text(kernels()), errors="surrogateescape")
        (self.folder / "raw.pto").write_bytes(raw)
        (self.folder / "pyproject.toml").write_text(self.settings() if rng.random() < 0.2 else "")
        if command == "campaign" or not (self.folder / "r.sqlite").exists():
            (self.folder / "c.toml").write_text(self.toml())
            self.store(self.folder / "r.sqlite")
            for left in self.folder.glob("r.sqlite-*"):
                left.unlink()
        if command == "conformance" or not (self.folder / "cases").exists():
            shutil.rmtree(self.folder / "cases", ignore_errors=True)
            (self.folder / "cases").mkdir()
            (self.folder / "cases" / "manifest.json").write_text(self.json())
        (self.folder / "empty").mkdir(exist_ok=True)
        buffer = io.BytesIO()
        np.save(buffer, np.zeros((16, 512), rng.choice(["f4", "f2", "i4", "c8", "U3", ">f4", "?"])))
        array = bytearray(buffer.getvalue())
        if rng.random() < 0.5:
            array[rng.randrange(120)] = rng.randrange(256)
        (self.folder / "x.npy").write_bytes(array[: rng.choice([None, None, None, 50, 0, 130])])
