"""One mistake, one finding, from all surfaces: check, a launch, an interpreted kernel, pytest and a notebook."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ptokit

from .support import finding_of
from .test_mistakes import CASES, kernel_file, of

NOTEBOOK = """
import contextlib, io, json, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance(colors="NoColor")
shell.run_cell("import numpy as np; x = np.ones((16, 64), np.float32)")
said = {}
for name, text in json.load(open(sys.argv[1])).items():
    shell.run_cell(text)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        shell.run_cell("k[1](x, x.copy(), 16)")
    said[name] = out.getvalue()
print(json.dumps(said))
"""


def one_line(text: str) -> str:
    """A text without colours and line breaks, as far as these are the terminal's."""
    return " ".join(re.sub(r"\x1b\[[0-9;]*m", "", text).split())


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.campaign)])
def test_pytest_and_notebooks_say_what_a_launch_says(tmp_path: Path, every: int) -> None:
    x = np.ones((16, 64), np.float32)
    texts: dict[str, str] = {}
    wanted = {}
    for number, (statement, *_) in enumerate(CASES[::every]):
        name = f"case{number:03}"
        folder = tmp_path / name
        folder.mkdir()
        file, text = kernel_file(folder, statement.removeprefix("* "))
        finding = wanted[name] = finding_of(lambda file=file, text=text: of(file, text).k[1](x, x.copy(), 16))
        assert finding.location.file == str(file), statement
        texts[name] = text.replace('if __name__ == "__main__":\n    main()\n', "")
        (folder / f"test_{name}.py").write_text(
            f"import runpy\nimport numpy as np\n\n\ndef test_it():\n    k = runpy.run_path({str(file)!r})['k']\n"
            "    x = np.ones((16, 64), np.float32)\n    k[1](x, x.copy(), 16)\n"
        )
    plain = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-n", "0"]
    ran = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, env=plain, cwd=tmp_path)
    shown, _, _ = ran.stdout.partition("short test summary")
    parts = dict(zip(wanted, re.split(r"_+ test_it _+\n", shown)[1:], strict=True))
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    noted = subprocess.run(
        [sys.executable, "-c", NOTEBOOK, str(tmp_path / "texts.json")],
        capture_output=True,
        text=True,
        env={**plain, "IPYTHONDIR": str(tmp_path / "ipython")},
    )
    assert noted.returncode == 0, noted.stderr
    cells = json.loads(noted.stdout.splitlines()[-1])
    package = str(Path(ptokit.__file__).parent)
    for number, (statement, *_) in enumerate(CASES[::every]):
        finding = wanted[f"case{number:03}"]
        said = one_line(f"error: {finding.message} [{finding.rule}]")
        place = f"{finding.location.line}:{finding.location.column}"
        for surface, shown in (("pytest", parts[f"case{number:03}"]), ("notebook", cells[f"case{number:03}"])):
            told = one_line(shown.replace("\nE  ", "\n"))
            assert said in told, (surface, statement, shown)
            assert place in told, (surface, statement, shown)
            assert finding.hint is None or one_line(f"hint: {finding.hint}") in told, (surface, statement, shown)
            assert package not in shown, (surface, statement, shown)
            assert shown.count("\n") < 60, (surface, statement, shown)
