"""The pictures of the documentation are those that the tool draws now, and the machine is drawn from the target."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from ptokit.draw.svg import machine
from ptokit.targets import A2A3, A5
from ptokit.types.enums import TileType

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("pictures_tool", ROOT / "tools" / "pictures.py")
assert SPEC is not None
assert SPEC.loader is not None
pictures = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(pictures)


@pytest.mark.parametrize("name", pictures.NAMES)
def test_a_picture_is_up_to_date(name: str) -> None:
    """``python tools/pictures.py`` draws it anew."""
    assert pictures.drawn(name) == (pictures.IMAGES / name).read_text(encoding="utf-8")


def test_every_picture_is_drawn_and_shown() -> None:
    drawn = {path.name for path in pictures.IMAGES.glob("*.svg")}
    assert drawn == set(pictures.NAMES)
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    assert {name for name in drawn if f"images/{name}" not in pages and "machine" not in name} == set()


def texts(svg: str) -> list[str]:
    return [node.text or "" for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_machine_has_the_sizes_of_its_target() -> None:
    smaller = replace(A5, capacity={**A5.capacity, TileType.Acc: 96 * 1024, TileType.Bias: 100}, vendor_ub=0)
    shown = texts(machine(smaller))
    assert {"96 KB", "100 bytes", "512 KB"} <= set(shown)
    assert "248 KB for" in texts(machine(A5))
    assert "248 KB for" not in shown
    assert "+ 4 KB scales" in shown
    assert "+ 4 KB scales" not in texts(machine(A2A3))


def test_the_machine_has_the_paths_of_its_target() -> None:
    def arrows(svg: str) -> list[str]:
        return re.findall(r'marker-end="url\(#(\w+)\)"', svg)

    local, through = arrows(machine(A5)), arrows(machine(A2A3))
    assert local.count("FIX") == through.count("FIX") + 1  # L0C to UB
    assert local.count("MTE3") == through.count("MTE3") + 1  # UB to L1
    assert "Cores exchange tiles through global memory." in texts(machine(A2A3))
    assert "registers" in texts(machine(A5))
    assert "registers" not in texts(machine(A2A3))


def test_boxes_do_not_overlap_and_words_stay_inside() -> None:
    root = ET.fromstring(machine(A5))
    boxes = [n for n in root.iter("{http://www.w3.org/2000/svg}rect") if n.get("class") in ("buffer", "unit")]
    places = [tuple(float(n.get(key, "")) for key in ("x", "y", "width", "height")) for n in boxes]
    for i, (x, y, w, h) in enumerate(places):
        assert 0 <= x < x + w <= float(root.get("width", ""))
        for u, v, ww, hh in places[:i]:
            assert x >= u + ww or u >= x + w or y >= v + hh or v >= y + h
