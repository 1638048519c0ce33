"""The names of `ptokit`: every one that is listed works, instructions with a dot too."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ptokit as pto
from ptokit.lang.intrinsics import names


def test_every_listed_name_is_there() -> None:
    names = dir(pto)
    assert len(names) > 400
    assert all(name.replace("__", "").isidentifier() for name in names)
    assert [name for name in names if getattr(pto, name, None) is None] == []


def test_a_core_has_the_same_names() -> None:
    core = pto.Core("a5")
    assert [name for name in dir(core) if "." in name] == []
    assert dir(core.sync) == ["set", "wait"]
    core.sync.set(pto.PIPE_MTE3, 3)


def test_what_only_text_can_say_is_not_listed() -> None:
    """Operations of threads have no place in Python, and would hide Python's own names."""
    assert not {"absf", "exp", "round", "pow", "get_tid_x", "vmi"} & set(dir(pto))
    with pytest.raises(AttributeError, match="no instruction or name 'absf'"):
        pto.absf  # noqa: B018


def test_no_instruction_is_called_like_a_function_for_tools() -> None:
    assert not set(names()) & set(pto._TOOLS)


def test_functions_keep_their_names_beside_parts_called_alike() -> None:
    code = (
        "import ptokit, ptokit.run.program, ptokit.sanitize.api\n"
        "from ptokit.isa.table import bring_all; bring_all()\n"
        "from ptokit.run import Program\n"
        "from ptokit import run\n"
        "print(ptokit.run is run, ptokit.run.__name__, ptokit.sanitize.__name__, ptokit.isa.__name__, Program.__name__)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert ran.stdout.split() == ["True", "run", "sanitize", "isa", "Program"], ran.stderr


def test_instructions_with_a_dot() -> None:
    @pto.kernel(target="a5")
    def signals(n: int):
        with pto.cube_section():
            pto.sync.set(pto.PIPE_FIX, 3)
            pto.sync.set(pto.PIPE_FIX, event_id=4, ffts_mode=1)
            pto.sync.set(pto.PIPE_FIX, n)
            pto.sync.set(pto.PIPE_FIX, event_id=n)
        with pto.vector_section():
            pto.sync.wait(pto.PIPE_V, 3)

    lines = [line.strip() for line in signals.to_pto().splitlines() if "sync" in line]
    assert lines == [
        "pto.sync.set <PIPE_FIX>, 3",
        "pto.sync.set <PIPE_FIX>, 4 {ffts_mode = 1 : i32}",
        "pto.sync.set <PIPE_FIX>, %n",
        "pto.sync.set <PIPE_FIX>, %n",
        "pto.sync.wait <PIPE_V>, 3",
    ]
    assert dir(pto.sync) == ["set", "wait"]
    with pytest.raises(AttributeError, match="it has set, wait"):
        pto.sync.sett  # noqa: B018


def test_a_signal_reaches_the_other_core() -> None:
    @pto.kernel(target="a5")
    def signals():
        with pto.cube_section():
            pto.sync.set(pto.PIPE_FIX, 3)
            pto.sync.set(pto.PIPE_FIX, 19)  # the second vector core
        with pto.vector_section():
            pto.sync.wait(pto.PIPE_V, 3)

    signals[2]()
    signals.interpret[2]()
    assert signals.sanitize(blocks=2).clean


def test_a_signal_without_an_event_is_refused() -> None:
    @pto.kernel(target="a5")
    def signals():
        pto.sync.set(pto.PIPE_FIX)

    with pytest.raises(pto.DiagnosticError, match="lacks event_id") as refused:
        signals.check()
    assert refused.value.diagnostics[0].rule == "LANG-CALL"


def test_a_tile_that_sees_another_keeps_its_valid_region() -> None:
    core = pto.Core("a5")
    source = core.Tile(pto.TileType.Vec, pto.f32, 8, 64)
    seen = core.Tile(pto.TileType.Vec, pto.f32, 16, 32, valid_row=3, valid_col=5)
    core.TRESHAPE(seen, source)
    assert seen.numpy().shape == (3, 5)

    @pto.kernel(target="a5")
    def reshape():
        source = pto.Tile(pto.TileType.Vec, pto.f32, 8, 64)
        seen = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32, valid_row=3, valid_col=5)
        pto.TRESHAPE(seen, source)
        pto.TADD(seen, seen, seen)

    (line,) = (line for line in reshape.to_pto().splitlines() if "treshape" in line)
    assert line.endswith("-> !pto.tile_buf<vec, 16x32xf32, valid=3x5>")
