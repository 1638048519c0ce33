"""Install a wheel at the lowest and the newest versions of its dependencies, and use it.

``python tools/installs.py WHEEL PYTHON...`` makes a fresh environment for each interpreter and each end of the bounds,
and prints a row of the table in ``docs/release.md`` for each interpreter. It needs `uv`, which resolves the lowest
versions, and ends with status 1 where a command fails.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
SHOWN = ("numpy", "ml-dtypes", "llvmlite", "typer", "rich")

EXAMPLES = ("softmax", "gemm_double_buffered", "flash_attention")
NATIVE = "-t a2a3 -a ones:f32:8x512 -a zeros:f32:8x512 -a 8 --backend native"
USES = (
    (0, "check", "examples/pto/softmax.pto", "-t", "a2a3"),
    (1, "check", "examples/pto/faulty.pto", "-t", "a2a3"),
    (1, "sanitize", "examples/pto/racy.pto", *"-t a2a3 -a zeros:f32:64x256 -a uninit:f32:64x256 -a 4".split()),
    (0, "run", "examples/pto/softmax.pto", *NATIVE.split()),
    (0, "explain", "RACE-WAR"),
)  # fmt: skip
"""The status that a command ends with, and the command."""


def tried(wheel: Path, python: str, resolution: str) -> str:
    """The versions that were installed. Raises `RuntimeError` with what a command said where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        there = Path(folder) / "bin"
        _run(["uv", "venv", "--quiet", "--python", python, folder])
        install = ["uv", "pip", "install", "--quiet", "--python", str(there / "python"), "--resolution", resolution]
        _run([*install, str(wheel), *_needs(wheel)])
        for name in EXAMPLES:
            _run([str(there / "python"), f"examples/python/{name}.py"])
        for status, *command in USES:
            _run([str(there / "ptokit"), *command], status)
        listed = _run(["uv", "pip", "list", "--quiet", "--python", str(there / "python"), "--format", "freeze"])
        versions = dict(line.split("==") for line in listed.splitlines() if "==" in line)
    return ", ".join(f"{name} {versions[name]}" for name in SHOWN if name in versions)


def _needs(wheel: Path) -> list[str]:
    """What the wheel depends on, without extras: uv takes the lowest version of what it is asked for by name only."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().splitlines()
    needs = [line.removeprefix("Requires-Dist: ") for line in lines if line.startswith("Requires-Dist: ")]
    return [need for need in needs if "extra ==" not in need]


def _run(command: list[str], status: int = 0) -> str:
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if ran.returncode != status:
        raise RuntimeError(f"{' '.join(command)}: status {ran.returncode}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def main(wheel: str, *pythons: str) -> int:
    if shutil.which("uv") is None:
        print("uv is not installed: pip install uv", file=sys.stderr)
        return 2
    failed = False
    for python in pythons:
        cells = []
        for resolution in ("lowest-direct", "highest"):
            try:
                cells.append(tried(Path(wheel).absolute(), python, resolution))
            except RuntimeError as error:
                failed = True
                cells.append("failed")
                print(error, file=sys.stderr)
        version = _run([python, "-c", "import platform; print(platform.python_version())"]).strip()
        print(f"| {version} | {cells[0]} | {cells[1]} |", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
