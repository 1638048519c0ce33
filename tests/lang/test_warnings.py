"""What the rules warn of is seen where a kernel is launched."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import ptokit as pto

X = np.ones((64, 64), np.float32)


def remainders() -> pto.Kernel:
    @pto.kernel(target="a2a3")
    def f(x: pto.Ptr[pto.f32], n: int):
        a, b, tmp = (pto.Tile(pto.TileType.Vec, pto.i32, rows, 64) for rows in (1, 1, 2))
        pto.TEXPANDS(a, 7)
        pto.TREM(b, a, a, tmp)

    return f


def warned(launch: object, *args: object) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        launch(*args)  # type: ignore[operator]
    return [each for each in seen if issubclass(each.category, pto.KernelWarning)]


def test_a_launch_warns_once_of_each_finding() -> None:
    f = remainders()
    (told,) = f.check().warnings
    (seen,) = warned(f, X, 3)
    assert str(seen.message).startswith(f"{told.message} [{told.rule}]")
    assert (seen.filename, seen.lineno) == (__file__, told.location.line)
    assert warned(f, X, 4) == []
    assert len(warned(remainders()[1], X, 3)) == 1


def test_warnings_can_be_errors() -> None:
    f = remainders()
    for _ in range(2):  # the second launch is warned of as well
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(pto.KernelWarning) as caught:
                f(X, 3)
    assert [Path(str(entry.path)).name for entry in caught.traceback] == [Path(__file__).name]


IGNORED = """
import numpy as np
import ptokit as pto

@pto.kernel(target="a2a3")
def f(x: pto.Ptr[pto.f32], n: int):
    a, b, tmp = (pto.Tile(pto.TileType.Vec, pto.i32, rows, 64) for rows in (1, 1, 2))
    pto.TEXPANDS(a, 7)
    pto.TREM(b, a, a, tmp)

f(np.ones((64, 64), np.float32), 3)
"""


@pytest.mark.parametrize("comment", ["", "  # ptokit: ignore[EW-A3-06] small numbers"])
def test_scripts_show_them_unless_a_comment_ignores_them(comment: str, tmp_path: Path) -> None:
    file = tmp_path / "kernels.py"
    line = "    pto.TREM(b, a, a, tmp)"
    file.write_text(IGNORED.replace(line, line + comment))
    ran = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
    assert ran.returncode == 0
    assert (f"{file}:9: KernelWarning: " in ran.stderr) == (not comment)
    strict = subprocess.run([sys.executable, "-W", "error::UserWarning", str(file)], capture_output=True, text=True)
    assert strict.returncode == (0 if comment else 1)
    assert ("ptokit.KernelWarning: " in strict.stderr) == (not comment)
