"""The fix that a race report proposes mends it."""

from __future__ import annotations

import random
from itertools import count
from pathlib import Path

import numpy as np
import pytest

import ptokit as pto
from ptokit.arguments.grammar import parse_argument
from ptokit.asm import read_module
from ptokit.diagnostics.finding import Edit
from ptokit.sanitize import Report, sanitize
from ptokit.sanitize.findings.race import Fix
from ptokit.sanitize.findings.repair import _Search
from ptokit.targets import target

from .mini import Mini, output
from .test_cost import varied
from .test_model import TILES, draw

_numbers = count()


def watched(text: str, folder: Path, **launch: object) -> Report:
    """A text, read from a file of its own."""
    path = folder / f"k{next(_numbers)}.pto"
    path.write_text(text)
    parsed = read_module(str(path), target=target("a2a3"))
    parsed.diagnostics.raise_if_errors()
    args = [np.ones((16, 32), np.float32), np.ones((16, 32), np.float32)]
    return sanitize(parsed.module, "a2a3", args, **launch)  # type: ignore[arg-type]


def repaired(text: str, folder: Path, **launch: object) -> str:
    """The text after as many fixes as it takes; every one of them removes a finding."""
    left = 1000
    for _ in range(40):
        report = watched(text, folder, **launch)
        races = {d: r for d, r in report.races.items() if r.same_core}
        assert not {d.rule for d in report.errors if d.rule.startswith(("FLAG", "DEADLOCK", "XFLAG"))}, text
        if not races:
            return text
        assert len(races) < left, text
        left = len(races)
        fix = next(iter(races.values())).fix
        assert fix is not None
        assert fix.edits, text
        text = fix.apply(text)
    raise AssertionError(text)


@pytest.mark.parametrize("order", ["strict", "profile"])
@pytest.mark.parametrize("seed", range(5))
def test_fixes_mend_random_programs(seed: int, order: str, tmp_path: Path) -> None:
    program = Mini("\n".join(draw(random.Random(seed))), tiles=TILES)
    repaired(program.text, tmp_path, order=order)


@pytest.mark.parametrize("order", ["strict", "profile"])
@pytest.mark.parametrize("seed", range(8))
def test_fixes_mend_loops_and_branches(seed: int, order: str, tmp_path: Path) -> None:
    lines = [line for line in varied(random.Random(seed)).split("\n") if not line.startswith(("set", "wait"))]
    repaired(Mini("\n".join(lines), tiles=TILES).text, tmp_path, order=order, blocks=2)


NESTED = """
for 2
for 2
load a x
%even = arith.cmpi eq, %i2, %c0 : index
scf.if %even {
adds a b
} else {
adds a c
}
end
store b y
end
"""


def test_fixes_mend_nested_loops(tmp_path: Path) -> None:
    text = repaired(Mini(NESTED).text, tmp_path)
    body = text.splitlines()[Mini("").first - 1 :]
    kept = [line for line in body if "_flag" not in line and "barrier" not in line]
    assert kept == Mini(NESTED).text.splitlines()[Mini("").first - 1 :]


def test_fixes_of_long_texts_keep_their_form(tmp_path: Path) -> None:
    text = Mini("load a x\nadds a b\nbarrier ALL\nstore b y").text
    text = text.replace("pto.tload ins(", "  pto.tload // }\n\n    ins(").replace("pto.tadds", "\n// {\n  pto.tadds")
    lines = repaired(text, tmp_path).splitlines()
    at = next(i for i, line in enumerate(lines) if "set_flag" in line)
    assert lines[at - 1].startswith("    ins(")
    assert lines[at] == "  pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]"
    assert lines[lines.index("  pto.wait_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]") + 1].startswith("  pto.tadds")


def test_a_loop_is_primed_and_drained(tmp_path: Path) -> None:
    program = Mini("for 4\nload a x\nadds a b\nstore b y\nend", tiles={"a": 0, "b": 4096})
    report = watched(program.text, tmp_path)
    (war,) = (r for d, r in report.races.items() if d.rule == "RACE-WAR" and r.second.instruction == "TLOAD")
    flag, first = "<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>", program.first
    assert war.fix is not None
    assert war.fix.text == (
        f"insert pto.set_flag[{flag}] after line {first + 2} and pto.wait_flag[{flag}] before line {first + 1}; also "
        f"set it once before the loop in line {first} and wait for it once after the loop, after line {first + 4}"
    )
    assert [(e.line - first, e.text.split("[")[0]) for e in war.fix.edits] == [
        (0, "pto.set_flag"),
        (1, "pto.wait_flag"),
        (3, "pto.set_flag"),
        (5, "pto.wait_flag"),
    ]
    assert not watched(repaired(program.text, tmp_path), tmp_path).errors


def test_ids_in_use_are_left_alone(tmp_path: Path) -> None:
    flags = "\n".join(f"set MTE2 V {i}\nwait MTE2 V {i}" for i in (0, 1, 3, 4, 5, 6, 7))
    body = f"{flags}\nload a x\nadds a b\nbarrier ALL\nload c x\nadds c b\nbarrier ALL"
    report = watched(Mini(body).text, tmp_path)
    texts = [r.fix.text for r in report.races.values() if r.fix is not None]
    assert len(texts) == 2
    assert "EVENT_ID2" in texts[0]
    assert texts[1].startswith("insert pto.barrier <PIPE_ALL> before line ")  # the next one has none left


EXAMPLES = Path(__file__).parents[2] / "examples" / "pto"


def test_fixes_mend_the_example(tmp_path: Path) -> None:
    text = (EXAMPLES / "racy.pto").read_text()
    for _ in range(5):
        path = tmp_path / f"racy{next(_numbers)}.pto"
        path.write_text(text)
        parsed = read_module(str(path), target=target("a2a3"))
        args = [parse_argument(a, 0).make() for a in ("ones:f32:64x256", "uninit:f32:64x256", "4")]
        report = sanitize(parsed.module, "a2a3", args)
        if report.clean:
            return
        fix = next(iter(report.races.values())).fix
        assert fix is not None
        text = fix.apply(text)
    raise AssertionError(text)


PYTHON = """
import ptokit as pto

@pto.kernel(target="a5")
def k(x: pto.Ptr[pto.f32], y: pto.Ptr[pto.f32]) -> None:
    a = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32)
    b = pto.Tile(pto.TileType.Vec, pto.f32, 16, 32)
    pto.TASSIGN(a, 0)
    pto.TASSIGN(b, 4096)
    for i in pto.range(4):
        pto.TLOAD(
            a, pto.GlobalTensor(x, (16, 32))
        )
        with pto.if_(i < 2):
            pto.TADDS(b, a, 1.0)
        with pto.else_():
            pto.TADDS(b, a, 2.0)
        pto.TSTORE(pto.GlobalTensor(y, (16, 32)), b)
    pto.pipe_barrier(pto.PIPE_ALL)
"""


def defined(text: str, path: Path) -> pto.Kernel:
    """The kernel of a Python text, which is put into a file."""
    path.write_text(text)
    names: dict[str, pto.Kernel] = {}
    exec(compile(text, str(path), "exec"), names)
    return names["k"]


def test_fixes_mend_python(tmp_path: Path) -> None:
    text = PYTHON
    for _ in range(12):
        kernel = defined(text, tmp_path / f"k{next(_numbers)}.py")
        report = kernel.sanitize(np.ones((16, 32), np.float32), output())
        if report.clean:
            return
        assert {d.rule[:4] for d in report.errors} == {"RACE"}, text
        fix = next(iter(report.races.values())).fix
        assert fix is not None
        assert fix.edits, fix.text
        text = fix.apply(text)
    raise AssertionError(text)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_inserted_lines_end_like_the_others(end: str) -> None:
    """Lines are counted as findings count them: each of these ends one."""
    fix = Fix("", (Edit("k.pto", 3, "  second"), Edit("k.pto", 2, "  first")))
    text = "a\nb\f\nc\n".replace("\n", end)
    assert fix.apply(text) == "a\n  first\nb\f\n  second\nc\n".replace("\n", end)
    assert Fix("", (Edit("k.pto", 1, "first"),)).apply("a") == "first\na"


def test_fixes_mend_unrolled_loops(tmp_path: Path) -> None:
    """Several operations come from one statement; the flags go with each of them."""
    text = PYTHON.replace("pto.range", "pto.static_range").replace("with pto.if_(i < 2)", "if i < 2")
    text = text.replace("with pto.else_()", "else")
    report = defined(text, tmp_path / "unrolled.py").sanitize(np.ones((16, 32), np.float32), output())
    assert {d.rule[:4] for d in report.errors} == {"RACE"}
    mended = report.fix(text)
    assert defined(mended, tmp_path / "mended.py").sanitize(np.ones((16, 32), np.float32), output()).clean, mended


def test_the_last_synchronisation_is_told() -> None:
    report = Mini("load a x\nset MTE2 V 3\nwait MTE2 V 3\nadds a b\nload a x\nadds a b").sanitize()
    (raw,) = (d for d in report.errors if d.rule == "RACE-RAW")
    first = Mini("").first
    (note,) = (n for n in raw.notes if n.message.startswith("the last flag"))
    assert note.message == (
        f"the last flag from PIPE_MTE2 to PIPE_V was set in line {first + 1}, waited for in line {first + 2}"
    )
    assert raw.hint is not None
    assert "EVENT_ID0" in raw.hint


def test_where_it_happens_is_counted() -> None:
    report = Mini("for 4\nload a x\nadds a b\nbarrier ALL\nend").sanitize(blocks=3)
    (race,) = report.errors
    assert race.notes[-1].message == "at block 0, %i1 = 0; in 4 iterations, 3 blocks"
    assert "both touch 2048 bytes: rows 0..15, columns 0..31 of %a; UB bytes 0x0..0x7ff" in [
        n.message for n in race.notes
    ]


def test_strided_overlaps_are_exact() -> None:
    window = "%{} = pto.subset %a[%c0, %{}] sizes [16, 8] : !pto.tile_buf<vec, 16x32xf32>"
    kind = "!pto.tile_buf<vec, 16x8xf32>"
    view = "!pto.partition_tensor_view<16x8xf32>"

    def body(first: str, second: str) -> str:
        return "\n".join(
            [
                "fill a",
                "barrier ALL",
                window.format("p", first),
                window.format("q", second),
                "%s = pto.partition_view %y_v, offsets = [%c0, %c0], sizes = [%c16, %c8] "
                f": !pto.tensor_view<?x?xf32> -> {view}",
                f"pto.tstore ins(%p : {kind}) outs(%s : {view})",
                f"pto.texpands ins(%one : f32) outs(%q : {kind})",
            ]
        )

    assert Mini(body("c0", "c8")).found() == {}
    assert Mini(body("c8", "c16")).found() == {}
    (race,) = Mini(body("c4", "c8")).sanitize().errors
    assert race.rule == "RACE-WAR"
    assert race.notes[1].message.startswith("both touch 256 bytes: rows 0..15, columns 4..7 of %p; ")
    assert "rows 0..15, columns 0..3 of %q" in race.notes[1].message


UNTRIED = "; this has not been tried"


def test_a_race_that_nothing_mends_has_no_hint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The plain hint of a race is one of the changes that are tried: where it fails, nobody reads it."""
    monkeypatch.setattr(_Search, "_proposed", lambda *_: iter(()))
    monkeypatch.setattr(_Search, "_several", lambda *_: None)
    args = np.ones((16, 32), np.float32), np.ones((16, 32), np.float32)
    python = defined(PYTHON, tmp_path / "k.py").sanitize(*args)
    for report in (Mini("load a x\nadds a b").sanitize(), python):
        assert {d.rule[:4] for d in report.errors} == {"RACE"}
        assert all(d.hint is None for d in report.errors)
        assert all(race.fix is None for race in report.races.values())
        assert not report.fixes


def test_a_hint_that_was_not_tried_says_so(tmp_path: Path) -> None:
    """A launch of more than 20,000 items is not ordered again."""
    args = np.ones((16, 32), np.float32), np.ones((16, 32), np.float32)
    python = defined(PYTHON.replace("range(4)", "range(7000)"), tmp_path / "k.py").sanitize(*args)
    text = Mini("for 64\nfor 64\nfor 4\nload a x\nadds a b\nend\nend\nend").sanitize()
    for report in (text, python):
        hints = [d.hint or "" for d in report.errors]
        assert hints
        assert all(hint.startswith("insert ") and hint.endswith(UNTRIED) for hint in hints)
        assert not report.fixes


def test_both_ways_round_are_two_races() -> None:
    """In a loop each of two instructions may overtake the other; a flag mends one of the two races."""
    report = Mini("for 4\nload a x\nadds a b\nend").sanitize()
    assert sorted(d.rule for d in report.errors) == ["RACE-RAW", "RACE-WAR"]
    assert len(report.fixes) == 2


def test_the_bytes_that_two_tiles_share_are_named(tmp_path: Path) -> None:
    """Of two values that live at a time, whatever orders their pipes."""
    body = "load a x\nbarrier ALL\nload b x\nbarrier ALL\nadd a b c\nbarrier ALL"
    text = Mini(body, tiles={"a": 0, "b": 1024, "c": 8192}).sanitize()
    code = """import ptokit as pto

@pto.kernel(target="a2a3")
def k(x: pto.Ptr[pto.f32]) -> None:
    a, b, c = (pto.Tile(pto.TileType.Vec, pto.f32, 16, 32) for _ in range(3))
    for tile, address in zip((a, b, c), (0, 1024, 8192)):
        pto.TASSIGN(tile, address)
    for tile in (a, b):
        pto.TLOAD(tile, pto.GlobalTensor(x, (16, 32)))
        pto.pipe_barrier(pto.PIPE_ALL)
    pto.TADD(c, a, b)
    pto.pipe_barrier(pto.PIPE_ALL)
"""
    for report, a, b in (
        (text, "%a", "%b"),
        (defined(code, tmp_path / "k.py").sanitize(np.ones((16, 32), np.float32)), "a", "b"),
    ):
        (found,) = (d for d in report.warnings if d.rule == "UB-OVERLAP")
        notes = [note.message for note in found.notes]
        assert f"{a} and {b} share bytes 0x400..0x7ff of UB" in notes, notes
