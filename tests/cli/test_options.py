"""Options in general."""

from __future__ import annotations

import pytest
import typer

from ptokit.cli.main import app

from .conftest import KERNELS, Run


@pytest.mark.parametrize("twice", ["-b 1 --blocks 2", "--entry f --entry=g"])
def test_an_option_that_counts_once_is_given_once(ptokit: Run, twice: str) -> None:
    ran = ptokit("run", KERNELS / "vec_add.pto", *twice.split())
    assert ran.status == 2
    assert "it is given twice" in ran.err


def test_values_that_look_like_options() -> None:
    """The value of an option is no option, and what may be repeated is."""
    command = typer.main.get_command(app).commands["run"]
    context = command.make_context("run", ["x.pto", "-t", "a5", "-a", "-t", "-a", "--target", "-a", "-t"])
    assert context.params["arg"] == ["-t", "--target", "-t"]
    assert context.params["target"] == ["a5"]
