"""The modules that a function is made of: its own and what they import, found without running any of them.

Modules of the user's are taken by their contents, installed packages by their versions. Python's own modules and ptokit
count as known: a run says which versions they have (`ptokit.campaign.run`).
"""

from __future__ import annotations

import ast
import importlib
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import machinery, metadata
from pathlib import Path
from typing import Any

from ptokit.records import dataclass

from .contents import ABSENT, digest, digest_of_file, digests
from .reads import files_read

_LIBRARY = tuple(Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))
_INSTALLED = frozenset(("site-packages", "dist-packages"))


@dataclass(frozen=True)
class Sources:
    """``modules``: of each of the user's modules, file and digest. ``digest``: of all that is below the function."""

    modules: dict[str, tuple[str, str]]
    files: dict[str, str]
    digest: str


_found: dict[tuple[str, ...], Sources] = {}
_loaded: dict[str, tuple[str, str]] = {}
"""The modules that `load` imported, with their files and the digests that they had then."""

_read: dict[str, dict[str, str]] = {}
"""The files that were read while these modules were imported, with their digests."""


def forget() -> None:
    """Look again for the modules that functions import: files may have come, or gone."""
    _found.clear()


def digest_of_function(function: str) -> str:
    """The digest of all that ``module:name`` is made of; `ABSENT` if there is no such module."""
    return _sources(function.partition(":")[0]).digest


def load(function: str) -> tuple[Callable[..., Any], dict[str, str]]:
    """The function ``module:name`` as it is now, and the files that its modules read when they were imported.

    Modules are imported again if one of them has changed, or a file that they read. Raises what importing them raises.
    """
    name, _, attribute = function.partition(":")
    modules = _sources(name).modules
    if any(_loaded.get(module, now) != now or _stale(_read.get(module, {})) for module, now in modules.items()):
        for module in modules:
            sys.modules.pop(module, None)
            _loaded.pop(module, None)
    importlib.invalidate_caches()
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True  # a .pyc does not see two changes in one second
    try:
        with files_read() as seen:
            found: Callable[..., Any] = getattr(importlib.import_module(name), attribute)
    finally:
        sys.dont_write_bytecode = kept
    read = digests(seen)
    _read.update((module, read) for module in modules.keys() - _loaded.keys())
    _loaded.update(modules)
    return found, {path: now for module in modules for path, now in _read[module].items()}


def _stale(files: Mapping[str, str]) -> bool:
    return any(digest_of_file(path) != then for path, then in files.items())


def _sources(module: str) -> Sources:
    key = (module, os.getcwd(), *sys.path)
    known = _found.get(key)
    if known is None or _stale(known.files):
        known = _found[key] = _Search(module).sources()
    return known


class _Search:
    """Follows imports from one module on."""

    def __init__(self, module: str) -> None:
        self._finders: dict[str, machinery.FileFinder] = {}
        self._todo, self._seen, self._top = [module], {module}, module.partition(".")[0]
        self._files: dict[str, str] = {}
        self._modules: dict[str, tuple[str, str]] = {}
        self._others: set[str] = set()

    def sources(self) -> Sources:
        while self._todo:
            self._visit(self._todo.pop())
        parts = [f"{name} {found}" for name, (_, found) in self._modules.items()]
        absent = not parts and self._others == {_absent(self._top)}
        found = ABSENT if absent else digest("\n".join(sorted([*parts, *self._others])))
        return Sources(self._modules, self._files, found)

    def _visit(self, name: str) -> None:
        """Take in a module and the packages that it is in."""
        top, *_ = parts = name.split(".")
        if top == "ptokit" or top in sys.builtin_module_names:
            return
        where: Sequence[str] = [str(Path.cwd()), *sys.path]  # as `ptokit.workers.child` looks
        for i in range(len(parts)):
            spec = self._spec(".".join(parts[: i + 1]), where)
            if spec is None:
                if i == 0 and top not in sys.stdlib_module_names:
                    self._others.add(_absent(top))
                return
            if spec.origin is not None and not self._take(spec.name, Path(spec.origin)):
                return
            if spec.submodule_search_locations is None:
                return
            where = list(spec.submodule_search_locations)

    def _take(self, name: str, path: Path) -> bool:
        """Take in one file; False if it is Python's, or that of an installed package."""
        if _INSTALLED.intersection(path.parts):
            self._others.add(_version(name.partition(".")[0]))
            self._files.setdefault(str(path), digest_of_file(str(path)))
            return False
        if any(path.is_relative_to(library) for library in _LIBRARY):
            return False
        if name not in self._modules:
            self._files[str(path)] = digest_of_file(str(path))
            self._modules[name] = (str(path), self._files[str(path)])
            for imported in _imports(path, name):
                if imported not in self._seen:
                    self._seen.add(imported)
                    self._todo.append(imported)
        return True

    def _spec(self, name: str, where: Sequence[str]) -> machinery.ModuleSpec | None:
        """Where a module is; of several portions of a namespace all."""
        portions: list[str] = []
        for folder in where:
            if folder not in self._finders:
                self._finders[folder] = machinery.FileFinder(folder or ".", *_LOADERS)
            spec = self._finders[folder].find_spec(name)
            if spec is not None and spec.origin is not None:
                return spec
            if spec is not None:
                portions += spec.submodule_search_locations or ()
        if not portions and "." not in name:
            return _otherwise(name)
        found = machinery.ModuleSpec(name, None, is_package=True)
        found.submodule_search_locations = portions
        return found if portions else None


def _absent(module: str) -> str:
    return f"{module} {ABSENT}"


_LOADERS: Any = (
    (machinery.ExtensionFileLoader, machinery.EXTENSION_SUFFIXES),
    (machinery.SourceFileLoader, machinery.SOURCE_SUFFIXES),
    (machinery.SourcelessFileLoader, machinery.BYTECODE_SUFFIXES),
)


def _otherwise(name: str) -> machinery.ModuleSpec | None:
    """What a finder of somebody else's finds, such as those of packages that are installed to be edited."""
    for finder in sys.meta_path:
        if finder in (machinery.BuiltinImporter, machinery.FrozenImporter, machinery.PathFinder):
            continue
        try:
            spec = finder.find_spec(name, None)
        except Exception:  # it is not ours
            spec = None
        if spec is not None and (spec.origin is None or Path(spec.origin).is_file()):
            return spec
    return None


@lru_cache
def _version(package: str) -> str:
    """An installed package and its version."""
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        names = metadata.packages_distributions().get(package, [])
        return " ".join([package, *(f"{name} {metadata.version(name)}" for name in sorted(set(names)))])


def _imports(path: Path, name: str) -> Iterator[str]:
    """The names of all modules that a file may import."""
    if path.suffix != ".py":
        return
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return  # importing it will say what is wrong
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            start = ".".join([*base, *(node.module.split(".") if node.module else [])])
            if start:
                yield start
            yield from (f"{start}.{alias.name}" if start else alias.name for alias in node.names if alias.name != "*")
