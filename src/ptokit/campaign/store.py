"""The file of results: SQLite, one row a case and run, written as results come.

A file holds the runs of a campaign one after the other. A run that was interrupted goes on where it stopped: a case is
done again only where its result is missing, or where something that decides it has changed (`Case.changed`).
"""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ptokit.diagnostics import Diagnostic, DiagnosticError, Location, Severity

from .case import RESULTS, Case, Result, Status

APPLICATION = 0x70746F31
"""What the header of the file says about who made it."""

VERSION = 1

AGAIN = "worked on again"
"""What a run says of cases whose inputs changed before it went on: how many, and which inputs."""

MOVED = "changed meanwhile"
"""The same of inputs that changed while the run worked on the cases, or are not the same where the work was done."""

NAMED = 5
"""Inputs that a run names."""

_UNDECIDED = dict.fromkeys(("host", AGAIN, MOVED), "")
"""What a run says that decides no result."""

WAIT_SECONDS = 60.0
"""How long to wait for another process that writes to the file."""

_TABLES = """
CREATE TABLE runs (
    run INTEGER PRIMARY KEY, name TEXT NOT NULL, about TEXT NOT NULL, finished INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE cases (
    run INTEGER NOT NULL, number INTEGER NOT NULL, id TEXT NOT NULL, key TEXT NOT NULL, program TEXT NOT NULL,
    target TEXT NOT NULL, action TEXT NOT NULL, PRIMARY KEY (run, id)
);
CREATE TABLE results (
    run INTEGER NOT NULL, id TEXT NOT NULL, key TEXT NOT NULL, status TEXT NOT NULL, message TEXT NOT NULL,
    rules TEXT NOT NULL, findings TEXT NOT NULL, digest TEXT NOT NULL, seconds REAL NOT NULL, host TEXT NOT NULL,
    attempt INTEGER NOT NULL, PRIMARY KEY (run, id)
);
"""

_MAKE = tuple(part.strip() for part in _TABLES.split(";")[:-1])


class Row:
    """A case of a run with its result."""

    def __init__(self, number: int, id: str, program: str, target: str, action: str, result: Result | None) -> None:
        self.number, self.id, self.program, self.target, self.action = number, id, program, target, action
        self.result = result


class Store:
    """An open file of results. A context manager."""

    def __init__(self, path: Path, *, create: bool = True) -> None:
        """Raises `DiagnosticError` (CAMP-RESULTS) for a file of another kind, which is left as it is."""
        self.path = path
        if not create and not path.is_file():
            raise refused(path, "there is no such file")
        with self._refusing():
            where = f"{path.resolve().as_uri()}?mode={'rwc' if create else 'ro'}"
            self._db = sqlite3.connect(where, WAIT_SECONDS, uri=True, isolation_level=None)
            try:
                self._open(write=create)
            except BaseException:
                self._db.close()
                raise

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        """Turns errors of SQLite, and of values in the file, into findings."""
        try:
            yield
        except (sqlite3.Error, sqlite3.Warning, OSError, ValueError, TypeError, KeyError, OverflowError) as error:
            raise refused(self.path, str(error)) from None
        except RecursionError:
            raise refused(self.path, "a value in it is nested too deeply") from None

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Takes the file for one process, keeps all that is written or nothing."""
        with self._refusing():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:  # SQLite ends it by itself where the disk is full
                    self._db.execute("ROLLBACK")
                raise

    def _open(self, *, write: bool) -> None:
        (pages,) = self._db.execute("PRAGMA page_count").fetchone()
        if write and not pages:
            with self._writing():  # of several processes one makes the tables, or none of them where the disk is full
                (tables,) = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()
                if not tables:
                    for line in (f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {VERSION}", *_MAKE):
                        self._db.execute(line)
        self._db.execute("PRAGMA trusted_schema = OFF")
        (made_by,) = self._db.execute("PRAGMA application_id").fetchone()
        (version,) = self._db.execute("PRAGMA user_version").fetchone()
        if made_by != APPLICATION:
            raise refused(self.path, "it is not a file of results")
        if version != VERSION:
            raise refused(self.path, f"it has version {version}; this version of ptokit knows {VERSION}")
        kept = self._db.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()
        if sorted(sql for (sql,) in kept) != sorted(_MAKE):
            raise refused(self.path, "it has other tables than a file of results")
        if write:
            self._check()
            self._log_ahead()
            self._db.execute("PRAGMA synchronous = NORMAL")

    def _log_ahead(self) -> None:
        """Let readers read while results are written. SQLite does not wait where somebody else is about to say so."""
        end = time.monotonic() + WAIT_SECONDS
        while self._db.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                break  # of a file system that cannot do it, too
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def _check(self) -> None:
        """Read what the report will read: before the work is done, not afterwards."""
        for run, *_ in self.runs()[-2:]:
            for _ in self.rows(run):
                pass

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    # --- runs ----------------------------------------------------------------------------------------------------

    def begin(self, name: str, about: Mapping[str, Any], cases: Iterable[Case]) -> tuple[int, set[str]]:
        """The number of the run that these cases belong to, and the ids of those that are done.

        The last run goes on if it was not finished and says the same `about` itself, on whatever host. Results of cases
        that are gone or changed are dropped; the run then says what is worked on again (`AGAIN`).
        """
        cases = list(cases)
        with self._writing():
            last = self._db.execute("SELECT run, about, finished FROM runs ORDER BY run DESC LIMIT 1").fetchone()
            before = json.loads(last[1]) if last is not None and not last[2] else {}
            if before and {**before, **_UNDECIDED} == {**about, **_UNDECIDED}:
                run = last[0]
            else:
                run = (last[0] if last is not None else 0) + 1
                self._db.execute("INSERT INTO runs (run, name, about) VALUES (?, ?, ?)", (run, name, _json(about)))
            self._db.execute("DELETE FROM cases WHERE run = ?", (run,))
            rows = ((run, i, c.id, c.key, c.program, c.target, c.action.value) for i, c in enumerate(cases))
            self._db.executemany("INSERT INTO cases VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            done = self._results(run)
            stale = _stale(cases, done)
            gone = [(run, id) for id in done.keys() - {case.id for case in cases} | stale.keys()]
            self._db.executemany("DELETE FROM results WHERE run = ? AND id = ?", gone)
            if stale:
                self._note(run, **{AGAIN: _told(stale)})
        return run, done.keys() - {id for _, id in gone}

    def _results(self, run: int) -> dict[str, str]:
        """The results that a run has, and their keys."""
        rows = self._db.execute("SELECT id, key FROM results WHERE run = ?", (run,))
        return {_text(id): _text(key) for id, key in rows}

    def _note(self, run: int, **notes: str) -> None:
        """Have a run say something; "" takes it back."""
        (text,) = self._db.execute("SELECT about FROM runs WHERE run = ?", (run,)).fetchone()
        about = {key: value for key, value in {**json.loads(text), **notes}.items() if value}
        self._db.execute("UPDATE runs SET about = ? WHERE run = ?", (_json(about), run))

    def add(self, run: int, keys: Mapping[str, str], results: Iterable[Result]) -> None:
        """Keep results; they are on disk afterwards."""
        rows = (
            (
                run,
                r.id,
                keys[r.id],
                r.status.value,
                r.message,
                json.dumps(r.rules),
                json.dumps(r.findings),
                r.digest,
                r.seconds,
                r.host,
                r.attempt,
            )
            for r in map(_storable, results)
        )
        with self._writing():
            self._db.executemany("INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def finish(self, run: int, cases: Iterable[Case] = ()) -> None:
        """Every case of the run has a result.

        The run is not finished where inputs of `cases` have changed since; it then says so (`MOVED`).
        """
        with self._writing():
            stale = _stale(cases, self._results(run), elsewhere=True)
            self._note(run, **{MOVED: _told(stale) if stale else ""})
            if not stale:
                self._db.execute("UPDATE runs SET finished = 1 WHERE run = ?", (run,))

    def runs(self) -> list[tuple[int, str, dict[str, Any], bool]]:
        """Of each run: number, name, what it says about itself, whether it is finished. Raises `DiagnosticError`."""
        with self._refusing():
            rows = self._db.execute("SELECT run, name, about, finished FROM runs ORDER BY run").fetchall()
            found = [
                (run, _text(name), _written(json.loads(about)), bool(finished)) for run, name, about, finished in rows
            ]
            for _, _, about, _ in found:
                if not isinstance(about, dict) or not all(isinstance(v, str) for v in about.values()):
                    raise ValueError("a run does not say what it is about")
            return found

    def rows(self, run: int) -> Iterator[Row]:
        """Every case of a run in order, with its result if there is one. Raises `DiagnosticError`."""
        query = (
            "SELECT number, c.id, program, target, action, status, message, rules, findings, digest, seconds, host,"
            " attempt FROM cases c LEFT JOIN results r ON r.run = c.run AND r.id = c.id WHERE c.run = ? ORDER BY number"
        )
        with self._refusing():
            for number, *texts, status, message, rules, findings, digest, seconds, host, attempt in self._db.execute(
                query, (run,)
            ):
                id, program, target, action = map(_text, texts)
                rest = (message, rules, findings, digest, seconds, host, attempt)
                yield Row(number, id, program, target, action, None if status is None else _result(id, status, *rest))


def _stale(cases: Iterable[Case], keys: Mapping[str, str], *, elsewhere: bool = False) -> dict[str, list[str]]:
    """The cases whose results are of other inputs than those that there are now, and what changed."""
    found = {c.id: c.changed(keys[c.id], elsewhere=elsewhere) for c in cases if c.id in keys}
    return {id: names for id, names in found.items() if names}


def _told(stale: Mapping[str, Sequence[str]]) -> str:
    """``2 cases: x.npy, golden:softmax``."""
    names = list(dict.fromkeys(name for found in stale.values() for name in found))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{len(stale)} case{'s' * (len(stale) != 1)}: {', '.join(names[:NAMED])}{more}"


def _storable(result: Result) -> Result:
    """The result with texts that can be written: half a pair of surrogates is shown with a backslash."""
    return Result(**{name: _written(value) for name, value in vars(result).items()})


def _written(value: Any) -> Any:
    if isinstance(value, str):
        return type(value)(value.encode("utf-8", "backslashreplace").decode())
    if isinstance(value, (list, tuple)):
        return type(value)(map(_written, value))
    return {_written(k): _written(v) for k, v in value.items()} if isinstance(value, dict) else value


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{str(value)[:40]!r} is not a text")
    return value


def _result(
    id: str,
    status: str,
    message: str,
    rules: str,
    findings: str,
    digest: str,
    seconds: float,
    host: str,
    attempt: int,
) -> Result:
    found, names = json.loads(findings), json.loads(rules)
    if not isinstance(found, list) or not all(isinstance(f, dict) and f.keys() >= _FINDING for f in found):
        raise ValueError(f"the findings of {id!r} are none")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"the rules of {id!r} are none")
    if not math.isfinite(seconds) or not isinstance(attempt, int):
        raise ValueError(f"the numbers of {id!r} are none")
    texts = (_text(message), tuple(names), tuple(found), _text(digest), float(seconds), _text(host))
    return _storable(Result(id, Status(status), *texts, attempt))


_FINDING = frozenset(("rule", "severity", "line", "message", "hint"))
"""What a finding says at least."""


def refused(path: Path, why: str) -> DiagnosticError:
    """The file cannot be used."""
    message = f"cannot use {path} for results: {why}"
    return DiagnosticError(Diagnostic(RESULTS.id, Severity.ERROR, message, Location(str(path))))
