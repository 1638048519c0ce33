"""``ptokit layout``."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from .conftest import Run

NZ = "vec, 32x64xf16, blayout=col_major, slayout=row_major"


def test_the_map_is_printed(ptokit: Run) -> None:
    ran = ptokit("layout", NZ)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith("vec 32x64xf16 Nz, 4096 bytes\nboxes of 16 rows x 16 columns, 512 bytes each")
    assert "│ #5  1280–1535 │" in ran.out


@pytest.mark.parametrize(
    "text",
    [f"!pto.tile_buf<{NZ}>", f"tile_buf<{NZ}>", f"  {NZ}\n", "vec,32x64xf16,blayout=col_major,slayout=row_major"],
)
def test_spellings_of_the_type(ptokit: Run, text: str) -> None:
    assert ptokit("layout", text).out == ptokit("layout", NZ).out


@pytest.mark.parametrize("place", ["17,40", "(17, 40)", " 17 ,40"])
def test_one_element(ptokit: Run, place: str) -> None:
    ran = ptokit("layout", NZ, "--at", place)
    assert "(17, 40) is element 1304, byte 2608 = 0xa30; row 1, column 8 of box #5\n" in ran.out
    assert "[1304]" in ran.out


@pytest.mark.parametrize("place", ["32,0", "0,64", "1", "a,b", "-1,0", "1,2,3", ""])
def test_places_that_are_not(ptokit: Run, place: str) -> None:
    ran = ptokit("layout", NZ, f"--at={place}")
    assert (ran.status, ran.out) == (2, "")
    assert "--at" in ran.err


@pytest.mark.parametrize(
    ("text", "rule", "column"),
    [
        ("", "TY-1", 1),
        ("vce, 4x8xf32", "TY-1", 1),
        ("!pto.tile_buf<vec, 4x8xf33>", "TEXT-TYPE", 24),
        ("vec, 4xf32", "TY-5", 6),
        ("vec, 0x8xf32", "TILE-01", 1),
        ("vec, 4x8xf32, valid=5x8", "TILE-01", 1),
        ("vec, 4x8xf32, fractal=100", "TY-3", 23),
        ("vec, " + "9" * 400 + "x8xf32", "TY-2", 6),
    ],
)
def test_wrong_types(ptokit: Run, text: str, rule: str, column: int) -> None:
    ran = ptokit("layout", text)
    assert (ran.status, ran.out) == (1, "")
    first = ran.err.splitlines()[0]
    assert first.startswith(f"TYPE:1:{column}: error: ")
    assert rule in first


def test_what_targets_refuse_is_a_warning(ptokit: Run) -> None:
    ran = ptokit("layout", "vec, 5x7xf32")
    assert ran.status == 0
    assert "vec 5x7xf32 ND, 140 bytes" in ran.out
    assert "TYPE:1:1: warning: 7 cols of f32 are 28 bytes, which is not a multiple of 32 [TILE-05]" in ran.err
    packed = ptokit("layout", "vec, 4x224xf4E2M1FN")
    assert "(on a5, a6" in packed.err
    assert "[TILE-D2]" in packed.err


def test_pictures_go_to_a_file_or_to_stdout(ptokit: Run, tmp_path: Path) -> None:
    file = tmp_path / "nz.svg"
    ran = ptokit("layout", NZ, "--svg", file)
    assert (ran.status, ran.out, ran.err) == (0, "", f"drawn to {file}\n")
    assert ElementTree.parse(file).getroot().tag == "{http://www.w3.org/2000/svg}svg"
    assert list(tmp_path.iterdir()) == [file]
    assert ptokit("layout", NZ, "--svg", "-").out == file.read_text(encoding="utf-8")


def test_a_picture_that_cannot_be_written(ptokit: Run, tmp_path: Path) -> None:
    for path in (tmp_path / "missing" / "nz.svg", tmp_path):
        ran = ptokit("layout", NZ, "--svg", path)
        assert (ran.status, ran.out) == (1, "")
        assert "[CLI-03]" in ran.err
    assert list(tmp_path.iterdir()) == []
    wrong = tmp_path / "x.svg"
    assert ptokit("layout", "vec, 0x8xf32", "--svg", wrong).status == 1
    assert not wrong.exists()
