"""A compiler for kernels in C++; without one these tests are skipped, and say why."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptokit.cpp.compiler import find_compiler
from ptokit.diagnostics import DiagnosticError

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a compiler where there is none."""
    try:
        find_compiler()
    except DiagnosticError as error:
        reason = f"{error.diagnostics[0].message}: {error.diagnostics[0].hint}"
        for item in items:
            if HERE in item.path.parents and "compiler" in item.fixturenames:  # type: ignore[attr-defined]
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def compiler() -> None:
    """Of tests that compile."""


@pytest.fixture(scope="session")
def kernels() -> Path:
    """The folder with C++ files."""
    return HERE / "kernels"
