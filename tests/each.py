"""Tests of many quick items as one: for each of them pytest would need longer than the test itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from typing import Any


def each(
    names: str, items: Collection[Any], ids: Sequence[str] | Callable[[Any], str] = str
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """As ``pytest.mark.parametrize``, in one test: a failure has an error of every item that fails, with its name."""
    wanted = [name.strip() for name in names.split(",")]

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def all_of_them(**fixtures: Any) -> None:
            failed: list[Exception] = []
            for k, item in enumerate(items):
                try:
                    test(**dict(zip(wanted, item if len(wanted) > 1 else [item])), **fixtures)
                except Exception as error:
                    error.add_note(f"for {ids(item) if callable(ids) else ids[k]}")
                    failed.append(error)
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(items)} failed", failed)

        shape = inspect.signature(test)
        left = [p for name, p in shape.parameters.items() if name not in wanted]
        all_of_them.__signature__ = shape.replace(parameters=left)  # type: ignore[attr-defined]
        del all_of_them.__wrapped__  # type: ignore[attr-defined]
        return all_of_them

    return decorate
