"""Files that are edited while a process has imported them: kernels are compiled from what was imported."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import linecache
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.diagnostics import DiagnosticError

KERNEL = """
import ptokit as pto
{head}

@pto.kernel(target="a5")
def f(x: pto.Ptr[pto.f32]):
    {body}
"""
COUNT = itertools.count()


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], ModuleType]]:
    """Imports a module of a text, under a name of its own; byte code of a second ago would be taken for that of now."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made = []

    def load(name: str, text: str) -> ModuleType:
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        made.append(name)
        spec.loader.exec_module(module)
        return module

    yield load
    for name in made:
        sys.modules.pop(name, None)


def edit(module: ModuleType, old: str, new: str) -> None:
    assert module.__file__ is not None
    path = Path(module.__file__)
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    later = os.stat(path).st_mtime_ns + 10**10 * (1 + next(COUNT))
    os.utime(path, ns=(later, later))


def stored(launch: Callable[..., Any]) -> float:
    x = np.zeros(1, np.float32)
    launch(x)
    return float(x[0])


def test_a_kernel_is_compiled_from_what_was_imported(load: Callable[[str, str], ModuleType]) -> None:
    module = load("edited_kernel", KERNEL.format(head="", body="x[0] = 1.0"))
    edit(module, "1.0", "2.0")
    linecache.checkcache()
    assert stored(module.f) == 1.0
    assert "2.0" not in module.f.to_pto()


def test_lines_that_move_do_not_matter(load: Callable[[str, str], ModuleType]) -> None:
    module = load("moved_kernel", KERNEL.format(head="", body="x[0] = 1.0 if x[1] < 0.0 else 3.0"))
    edit(module, "import ptokit", "# a comment\n\n\ndef f(x):\n    x[0] = 5.0\n\n\nimport ptokit")
    x = np.zeros(2, np.float32)
    module.f(x)
    assert x[0] == 3.0


def test_helpers_are_compiled_from_what_was_imported(load: Callable[[str, str], ModuleType]) -> None:
    helper = load("edited_helper", "def put(x, n):\n    if x[n] < 1.0:\n        x[n] = 1.0\n")
    module = load("edited_user", KERNEL.format(head="from edited_helper import put", body="put(x, 0)"))
    edit(helper, "= 1.0", "= 2.0")
    assert stored(module.f) == 1.0


def test_a_text_that_nobody_knows_any_more_is_refused(load: Callable[[str, str], ModuleType]) -> None:
    helper = load("lost_helper", "def put(x, n):\n    if x[n] < 1.0:\n        x[n] = 1.0\n")
    edit(helper, "= 1.0", "= 2.0")
    module = load("lost_user", KERNEL.format(head="import importlib", body="importlib.import_module(NAME).put(x, 0)"))
    module.__dict__["NAME"] = "lost_helper"
    with pytest.raises(DiagnosticError) as caught:
        module.f(np.zeros(1, np.float32))
    (finding,) = caught.value.diagnostics
    assert finding.rule == "LANG-CONTROL"
    assert "put has changed since it was imported" in finding.message
    assert finding.location.file == helper.__file__


def test_what_is_imported_again_is_compiled_anew(load: Callable[[str, str], ModuleType]) -> None:
    module = load("again", KERNEL.format(head="", body="x[0] = 1.0"))
    old = module.f
    edit(module, "1.0", "2.0")
    assert module.__file__ is not None
    again = load("again", Path(module.__file__).read_text())
    assert stored(again.f) == 2.0
    assert stored(old) == 1.0


def test_sections_are_interpreted_from_what_was_imported(load: Callable[[str, str], ModuleType]) -> None:
    body = "with pto.if_(x[0] < 1.0):\n        x[0] = 1.0"
    module = load("edited_sections", KERNEL.format(head="", body=body))
    edit(module, "= 1.0", "= 2.0")
    assert stored(module.f.interpret) == 1.0


def test_texts_of_one_name(tmp_path: Path) -> None:
    """As cells of a notebook, where each text takes the place of the one before."""
    kernels = []
    for number in (1.0, 2.0):
        text = KERNEL.format(head="", body=f"x[0] = {number}")
        file = "<ipython-input-1-same>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        scope: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(text, file, "exec"), scope)
        kernels.append(scope["f"])
    assert [stored(kernel) for kernel in kernels] == [1.0, 2.0]


def test_a_wrapped_helper_has_the_parameters_of_the_code_that_runs() -> None:
    def twice(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def called(*args: Any, again: int = 2) -> Any:
            total = function(*args)
            return total * again

        return called

    @twice
    def both(a: Any, b: Any) -> Any:
        return a + b

    @pto.kernel(target="a5")
    def f(y: pto.Ptr[pto.i64], n: int):
        y[0] = both(n, 1)
        y[1] = both(n, 1, again=3)

    y = np.zeros(2, np.int64)
    f(y, 4)
    assert y.tolist() == [10, 15]


def test_functions_inside_of_a_kernel_have_its_source(load: Callable[[str, str], ModuleType]) -> None:
    """Also where Python leaves out code, so that what is written is not in what it has compiled."""
    inner = "def g(p):\n        if not (1 % 2):\n            return 7.0 + 2.0 % 3.0\n"
    body = f"{inner}        return p if p > 1.0 else 4.0\n    x[0] = g(x[0])"
    module = load("inner_function", KERNEL.format(head="", body=body))
    edit(module, "4.0", "5.0")
    assert stored(module.f) == 4.0
