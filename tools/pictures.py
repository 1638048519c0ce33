"""Draw the pictures of the documentation, ``docs/images/*.svg``.

``python tools/pictures.py`` draws them all; `tests/draw/test_pictures.py` says which would change.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

from ptokit.cli.texts import read_type
from ptokit.draw import layout
from ptokit.draw.svg import machine
from ptokit.targets import TARGETS

_SPEC = importlib.util.spec_from_file_location("pages_tool", Path(__file__).with_name("pages.py"))
assert _SPEC is not None
assert _SPEC.loader is not None
pages = importlib.util.module_from_spec(_SPEC)  # not by its name: tests that draw pictures would leave it on the path
_SPEC.loader.exec_module(pages)

IMAGES = Path(__file__).parents[1] / "docs" / "images"
LAYOUTS = {
    "nd": "vec, 4x8xf32",
    "dn": "vec, 8x4xf32, blayout=col_major",
    "nz": "mat, 16x16xf32, blayout=col_major, slayout=row_major",
    "zn": "mat, 16x16xf32, slayout=col_major",
    "fractals": "mat, 64x64xf16, blayout=col_major, slayout=row_major",
}
_STYLES = ":root { @media --paper --error --work --barrier } svg .lane .gap .work .hit .set .wait .head .sync .missing"


def drawn(name: str) -> str:
    """The picture of that name, as SVG text with a newline at the end."""
    kind, _, target = name.removesuffix(".svg").partition("-")
    if kind == "machine":
        return machine(TARGETS[target])
    if kind == "race":
        return race(pages.run(pages.DOCS / "tutorial" / "05-flags.md", until="report")["report"])
    spec, _ = read_type(LAYOUTS[kind])
    return layout(spec).svg() + "\n"


def race(report: Any) -> str:
    """The lanes of the first race of a report, as the page of `ptokit sanitize --html` draws them."""
    page = report.html()
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    lines = [line for line in style.splitlines() if line.split()[:1] and _kept(line.split()[0])]
    svg = re.search(r'<svg class="lanes".*?</svg>', page, re.DOTALL)[0]
    svg = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    head, rest = svg.split(">", 1)
    paper = '<rect width="100%" height="100%" style="fill: var(--panel)"/>'
    return f"{head}><style>\n{chr(10).join(lines)}\n</style>{paper}{rest}\n"


def _kept(word: str) -> bool:
    return any(word.startswith(start) for start in _STYLES.split())


DEVICES = [name for name, target in TARGETS.items() if target.is_device]
NAMES = [*(f"machine-{name}.svg" for name in DEVICES), *(f"{name}.svg" for name in LAYOUTS), "race.svg"]

if __name__ == "__main__":
    for name in sys.argv[1:] or NAMES:
        (IMAGES / name).write_text(drawn(name), encoding="utf-8")
