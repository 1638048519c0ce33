"""The pytest plugin: the marker ``ptokit_sanitize`` and the option ``--ptokit-sanitize``.

Loaded by pytest wherever ptokit is installed; the toolkit itself only when a test asks for it.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

MARKER = "ptokit_sanitize"
_ARGUMENTS = frozenset(("order", "warnings", "witness"))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--ptokit-sanitize``."""
    group = parser.getgroup("ptokit")
    group.addoption(
        "--ptokit-sanitize", action="store_true", help="run every launch of a PTO kernel under the sanitizer first"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(order='strict', warnings=True, witness=False): run every launch of a PTO kernel in this test under "
        "the sanitizer first; findings fail the test",
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Watch the launches of a test that asks for it."""
    marker = item.get_closest_marker(MARKER)
    if marker is None and not item.config.getoption("--ptokit-sanitize"):
        return (yield)
    options = {} if marker is None else marker.kwargs
    unknown = [*map(repr, marker.args if marker else ()), *(name for name in options if name not in _ARGUMENTS)]
    if unknown:
        raise pytest.UsageError(f"{MARKER} takes {', '.join(sorted(_ARGUMENTS))} by name, not {', '.join(unknown)}")

    from ptokit.testing import sanitized_launches

    with sanitized_launches(**options):
        return (yield)
