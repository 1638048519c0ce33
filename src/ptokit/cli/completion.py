"""What a shell completes: programs, targets, instructions, rules."""

from __future__ import annotations

import os


def programs(incomplete: str) -> list[str]:
    """Folders, `.pto` files and Python files that begin so; after ``kernels.py:`` its functions with a decorator."""
    file, colon, name = incomplete.rpartition(":")
    if colon and file.endswith(".py"):
        return [f"{file}:{kernel}" for kernel in _kernels(file) if kernel.startswith(name)]
    folder, beginning = os.path.split(incomplete)
    try:
        entries = sorted(os.scandir(folder or "."), key=lambda entry: entry.name)
    except OSError:
        return []
    found = []
    for entry in entries:
        if not entry.name.startswith(beginning) or (entry.name.startswith(".") and not beginning):
            continue
        path = os.path.join(folder, entry.name)
        if entry.is_dir():
            found.append(f"{path}/")
        elif entry.name.endswith((".pto", ".py", ".toml")):
            found.append(path)
    return found


def targets(incomplete: str) -> list[str]:
    """Targets that begin so."""
    from ptokit.targets import TARGETS

    return [name for name in TARGETS if name.startswith(incomplete)]


def instructions(incomplete: str) -> list[str]:
    """Names of instructions, in C++ or in text, that begin so."""
    from ptokit.isa.table import BY_TEXT, TABLE

    return sorted({name for name in (*TABLE, *BY_TEXT) if name.startswith(incomplete)})


def rules(incomplete: str) -> list[str]:
    """Rule ids that begin so."""
    from ptokit.api.findings import load_catalogue
    from ptokit.diagnostics import CATALOGUE

    load_catalogue()
    return sorted(id for id in CATALOGUE if id.startswith(incomplete))


def _kernels(file: str) -> list[str]:
    import ast

    try:
        with open(file, "rb") as opened:
            tree = ast.parse(opened.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list]
