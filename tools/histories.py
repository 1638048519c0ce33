"""Verdicts of ptokit on all `.pto` texts in the histories of git repositories, those that are deleted now, too.

    python tools/histories.py REPOSITORY[=TARGET] ... [--list]
    python tools/histories.py REPOSITORY[=TARGET] ... --write FOLDER [--files '*kernel.cpp']

Each text counts once, whatever it was called. TARGET is for texts that state none, by default a2a3. The table of
docs/corpora.md has a row for each repository; ``--list`` names every text that is not clean, and why. ``--write``
judges nothing: it writes the texts down, or other ``--files``, and a campaign over them, whose known outcomes are those
of judged.json.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import ptokit
from ptokit.diagnostics import DiagnosticError, UsageError

VERDICTS = ("accepted", "clean", "clean, order left to the compiler", "finding", "not launched", "refused")


JUDGED = Path(__file__).with_name("judged.json")
"""What is known of the texts of public repositories: findings that are defects of theirs, and refusals."""


PTO = ("*.pto", "*.pto.mlir")


def texts(repository: str, files: Sequence[str] = PTO) -> Iterator[tuple[str, str, str]]:
    """The path, the id and the contents of every text in a history, each content once."""
    git = ["git", "-C", repository]
    how = ("--all", "--format=", "--raw", "--no-abbrev", "--no-renames", "--", *files)
    log = subprocess.run([*git, "log", *how], capture_output=True, text=True, check=True).stdout
    known: set[str] = set()
    for line in log.splitlines():
        meta, _, path = line.partition("\t")
        _, _, _, blob, status = meta.split()
        if status != "D" and blob not in known:
            known.add(blob)
            shown = subprocess.run([*git, "show", blob], capture_output=True, check=True).stdout
            text = shown.decode("utf-8", "replace")
            yield path, blob, text if "\n" in text else f"{text}\n"


def verdict(text: str, default: str) -> tuple[str, str]:
    """One of `VERDICTS`, and the rule and place that decide it."""
    stated = ptokit.read(text).target
    on = default if stated is None else stated.name
    report = ptokit.check(text, target=on)
    if report.errors:
        return "refused", _first(report.errors)
    try:
        found = ptokit.sanitize(text, default_target=on)
    except DiagnosticError as error:
        return "not launched", _first(error.diagnostics)
    except UsageError as error:
        return "not launched", str(error)
    if found.errors:
        return "finding", _first(found.errors)
    return ("clean" if found.coverage.complete else "clean, order left to the compiler"), ""


def _first(findings: object) -> str:
    first = next(iter(findings))  # type: ignore[call-overload]
    return f"{first.rule}, line {first.location.line}: {first.message}"


def write(repositories: dict[str, str], folder: Path, files: Sequence[str]) -> None:
    """The texts below a folder for each repository, and ``campaign.toml``, with a target for each."""
    suffix = ".pto" if files == PTO else Path(files[0]).suffix
    lines = [
        'name = "public kernels"',
        f'programs = ["*/**/*{suffix}"]',
        f'recorded = "{JUDGED.name}"',
        "seconds = 1800",
    ]
    for repository, target in repositories.items():
        name = Path(repository).name
        for path, blob, text in texts(repository, files):
            file = folder / name / f"{path.removesuffix('.mlir').removesuffix(suffix)}.{blob[:7]}{suffix}"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        lines += ["", "[[set]]", f'match = "{name}/*"', f'name = "{name}"', f'default_target = "{target}"']
    shutil.copy(JUDGED, folder)
    (folder / "campaign.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("repository", nargs="+")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--write", type=Path, metavar="FOLDER")
    parser.add_argument("--files", nargs="+", default=PTO, metavar="PATTERN")
    options = parser.parse_args()
    named = (text.partition("=") for text in options.repository)
    repositories = {repository: default or "a2a3" for repository, _, default in named}
    if options.write:
        write(repositories, options.write, options.files)
        return
    print(f"| history | texts | {' | '.join(VERDICTS)} |\n|---|{'---|' * (len(VERDICTS) + 1)}")
    for repository, default in repositories.items():
        found = [(path, *verdict(text, default)) for path, _, text in texts(repository)]
        count = Counter(which for _, which, _ in found)
        count["accepted"] = len(found) - count["refused"]
        print(f"| {Path(repository).name} | {len(found)} | {' | '.join(str(count[v]) for v in VERDICTS)} |")
        for path, which, why in found if options.list else ():
            if why:
                print(f"{which}: {path}: {why}")


if __name__ == "__main__":
    main()
