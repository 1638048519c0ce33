"""What a function is made of: modules, files that it reads, and their contents as digests.

Modules of the user's are taken by their contents, installed packages by their versions. Python's own modules and ptokit
count as known: a run says which versions they have (`ptokit.campaign.run`).
"""

from __future__ import annotations

import ast
import glob
import hashlib
import importlib
import os
import stat
import sys
import sysconfig
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from importlib import machinery, metadata
from pathlib import Path
from typing import Any

from ptokit.records import dataclass

# Which files a function opens to read, so that a change of them can be told later.


_SYSTEM = ("/proc/", "/sys/", "/dev/")
_CODE = (".py", ".pyc", ".so", ".pyd")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC

_listeners: list[set[str]] = []


@contextmanager
def files_read() -> Iterator[set[str]]:
    """The paths of files that this process opens to read in the meantime, without those of code."""
    _listen()
    found = set[str]()
    _listeners.append(found)
    try:
        yield found
    finally:
        _listeners.remove(found)


@cache
def _listen() -> None:
    """Hear of every file that is opened; Python has no way to end that."""
    sys.addaudithook(_heard)


def _heard(event: str, arguments: tuple[object, ...]) -> None:
    if event != "open" or not _listeners:
        return
    path, mode, flags = arguments
    if not isinstance(path, (str, bytes)):
        return
    new = bool(set("wax") & set(mode)) if isinstance(mode, str) else isinstance(flags, int) and bool(flags & _NEW)
    name = os.fsdecode(path)
    if not new and not name.endswith(_CODE) and not name.startswith(_SYSTEM):
        for found in _listeners:
            found.add(name)


# Contents of files as digests, each file read once as long as it stays the same.


ABSENT = "absent"
"""Instead of a digest where there is no such file, or one that cannot be read."""

SETTLED_SECONDS = 2.0
"""How long a file must have been left alone for its times to tell the next change: no file system has longer ticks."""

_CHUNK = 1 << 20

Stamp = tuple[int, ...]
"""Device, inode, size, and the times of the last change of contents and of anything (ns), which nobody can set back."""

_known: dict[str, tuple[Stamp, str]] = {}


def digest(data: bytes | str) -> str:
    """128 bits of SHA-256 in hexadecimal."""
    return hashlib.sha256(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data).hexdigest()[:32]


def digest_of_file(path: str) -> str:
    """The digest of what a file holds; `ABSENT` if there is none to read. ``{rank}`` in the path: of all ranks' files.

    A file is read in pieces, and not again while its stamp stays the same, if the stamp is old enough to be trusted.
    """
    if "{rank}" in path:
        return _of_ranks(path)
    try:
        # A pipe must not hold us up: it is opened without waiting, and then refused.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except (OSError, ValueError):
        return ABSENT
    try:
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode):
            return ABSENT
        known = _known.get(path)
        if known is not None and known[0] == _stamp(before):
            return known[1]
        state, now = hashlib.sha256(), time.time()
        while piece := os.read(handle, _CHUNK):
            state.update(piece)
        after = os.fstat(handle)
    except OSError:
        return ABSENT
    finally:
        os.close(handle)
    found = state.hexdigest()[:32]
    if _stamp(before) == _stamp(after) and now - max(after.st_mtime, after.st_ctime) > SETTLED_SECONDS:
        _known[path] = (_stamp(after), found)
    else:
        _known.pop(path, None)
    return found


def digests(paths: Iterable[str]) -> dict[str, str]:
    """The digests of those files that are there."""
    return {path: found for path in sorted(paths) if (found := digest_of_file(path)) != ABSENT}


def remembered(paths: Iterable[str]) -> dict[str, Any]:
    """What `remember` on another process can use, as JSON: of each file its stamp and its digest."""
    return {path: [list(_known[path][0]), _known[path][1]] for path in paths if path in _known}


def remember(entries: Mapping[str, Any]) -> None:
    """Take over what `remembered` gave; it counts where a file has the same stamp here."""
    for path, entry in entries.items():
        if path not in _known:
            _known[path] = (tuple(entry[0]), entry[1])


def _stamp(status: os.stat_result) -> Stamp:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _of_ranks(path: str) -> str:
    """One digest of the files of all ranks that are there."""
    names = sorted(glob.glob(glob.escape(path).replace("{rank}", "[0-9]*")))
    return digest("\n".join(f"{name} {digest_of_file(name)}" for name in names)) if names else ABSENT


# The modules that a function is made of: its own and what they import, found without running any of them.


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
