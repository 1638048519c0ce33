"""One test of many items says which of them fail."""

from __future__ import annotations

import pytest

from .each import each


def test_failures_name_their_items() -> None:
    @each("x, y", [(1, 1), (1, 2), (3, 3), (2, 1)], ids=["a", "b", "c", "d"])
    def same(x: int, y: int) -> None:
        assert x == y

    with pytest.raises(ExceptionGroup, match="2 of 4") as failed:
        same()
    assert [error.__notes__ for error in failed.value.exceptions] == [["for b"], ["for d"]]


@each("x", [3, 4])
def test_fixtures_are_those_of_the_test(x: int, capsys: pytest.CaptureFixture[str]) -> None:
    print(x)
    assert capsys.readouterr().out == f"{x}\n"
