"""The page: one file that needs nothing else, with the right things in its pictures."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from ptokit.asm import read_module
from ptokit.sanitize import Report, sanitize
from ptokit.targets import target

from .mini import Mini
from .test_repair import PYTHON, defined

WINDOW = "%{} = pto.subset %a[%c0, %{}] sizes [16, 8] : !pto.tile_buf<vec, 16x32xf32>"
STRIDED = "\n".join(
    [
        "fill a",
        "barrier ALL",
        WINDOW.format("p", "c4"),
        WINDOW.format("q", "c8"),
        "%s = pto.partition_view %y_v, offsets = [%c0, %c0], sizes = [%c16, %c8] "
        ": !pto.tensor_view<?x?xf32> -> !pto.partition_tensor_view<16x8xf32>",
        "pto.tstore ins(%p : !pto.tile_buf<vec, 16x8xf32>) outs(%s : !pto.partition_tensor_view<16x8xf32>)",
        "pto.texpands ins(%one : f32) outs(%q : !pto.tile_buf<vec, 16x8xf32>)",
    ]
)
LOOP = "for 4\nload a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\nset V MTE3 0\nwait V MTE3 0\nstore b y\nset MTE3 V 0\n"
LOOP += "wait MTE3 V 0\nend"


def watched(program: Mini, path: Path, blocks: int = 1, **more: Any) -> Report:
    path.write_text(program.text)
    parsed = read_module(str(path), target=target("a2a3"))
    parsed.diagnostics.raise_if_errors()
    module = parsed.module
    x = np.arange(512, dtype=np.float32).reshape(16, 32)
    return sanitize(module, "a2a3", [x, np.zeros_like(x)], blocks, **more)


class Balance(HTMLParser):
    """Tags that are closed in the order in which they are opened; what the page would load."""

    VOID = {"meta", "br", "rect", "path", "line"}

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []
        self.scripts = 0
        self.ids: list[str] = []
        self.links: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loads += [tag] if tag in ("link", "img", "iframe", "object", "base") else []
        self.loads += [f"{name}={value}" for name, value in attrs if name in ("src", "srcset") or name.startswith("on")]
        self.scripts += tag == "script"
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name == "href"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def pictures(text: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", text, re.S)]


def texts(picture: ElementTree.Element) -> list[str]:
    return [e.text or "" for e in picture.iter("text")]


def classed(picture: ElementTree.Element, name: str) -> list[ElementTree.Element]:
    return [e for e in picture.iter() if name in (e.get("class") or "").split()]


def test_a_page_needs_nothing_else(tmp_path: Path) -> None:
    body = f"{STRIDED}\nload c x\nstore c y\nwait V MTE3 0\nwait MTE3 V 1"
    page = watched(Mini(body), tmp_path / "k&amp<1>.pto", 2, witness=True, seed=1).html()
    read = Balance(page)
    assert read.loads == []
    assert read.scripts == 1  # its own, which moves the pictures, and asks for nothing
    assert not [word for word in ("fetch(", "XMLHttp", "import(", "eval(") if word in page]
    assert "url(" not in page
    assert "@import" not in page
    assert "http" not in page
    assert read.links == [f"#{id}" for id in read.ids]
    assert len(read.ids) > 3
    assert "k&amp;amp&lt;1&gt;.pto" in page
    assert "k&amp<1>" not in page
    assert "prefers-color-scheme: dark" in page
    assert {"RACE-XCORE-WAW", "RACE-WAR", "RACE-RAW", "DEADLOCK", "UNINIT-READ"} & set(
        re.findall(r"'>([A-Z-]+)</b>", page)
    )


def test_pages_are_the_same_every_time(tmp_path: Path) -> None:
    program = Mini(LOOP)
    assert len({watched(program, tmp_path / "k.pto", witness=True).html() for _ in range(2)}) == 1


def lanes_of(body: str, tmp_path: Path, blocks: int = 1, rule: str = "RACE") -> ElementTree.Element:
    report = watched(Mini(body), tmp_path / "k.pto", blocks)
    (index,) = (i for i, d in enumerate(report.diagnostics, 1) if d.rule.startswith(rule))
    section = re.search(rf"<section id='f{index}'>.*?</section>", report.html(), re.S)
    assert section is not None
    return pictures(section[0])[0]


def test_lanes_of_a_loop(tmp_path: Path) -> None:
    picture = lanes_of(LOOP, tmp_path, rule="RACE-WAR")
    first = Mini("").first
    shown = texts(picture)
    assert [t for t in shown if t.startswith("PIPE_")] == ["PIPE_MTE2", "PIPE_V", "PIPE_MTE3"]
    assert {"① TADDS reads %a", f"line {first + 4} · %i1=0"} <= set(shown)
    assert {"② TLOAD writes %a", f"line {first + 1} · %i1=1"} <= set(shown)
    assert len(classed(picture, "hit")) == 2
    assert shown.count("TLOAD") == 1  # that of the first iteration
    assert shown.count("no order") == 1
    waits, sets = shown.count("wait 0"), shown.count("set 0")
    assert (waits, sets) == (3, 3)
    assert len(classed(picture, "sync")) == 2 * waits  # a curve and its head
    boxes = {g[1 if g[0].tag == "title" else 0].get("x"): g for g in picture.iter("g")}
    assert len(boxes) == len(list(picture.iter("g")))


def place(picture: ElementTree.Element, text: str) -> tuple[float, float]:
    """Where the box with a text begins and ends."""
    (box,) = (g for g in picture.iter("g") if any((t.text or "").startswith(text) for t in g.iter("text")))
    rect = next(box.iter("rect"))
    x, width = float(rect.get("x", 0)), float(rect.get("width", 0))
    return x, x + width


def test_what_nothing_orders_stands_side_by_side(tmp_path: Path) -> None:
    unordered = lanes_of("load a x\nadds a b\nbarrier ALL\nstore b y", tmp_path, rule="RACE-RAW")
    (a, b), (c, d) = place(unordered, "①"), place(unordered, "②")
    assert a < d
    assert c < b
    flagged = lanes_of("load a x\nset MTE2 V 0\nwait MTE2 V 0\nadds a b\nstore b y", tmp_path, rule="RACE-RAW")
    assert place(flagged, "TLOAD")[1] < place(flagged, "① TADDS")[0]


def test_lanes_of_two_blocks(tmp_path: Path) -> None:
    picture = lanes_of("fill a\nbarrier ALL\nstore a y", tmp_path, 2, "RACE-XCORE")
    shown = texts(picture)
    assert [t.split(",")[0] for t in shown if t.startswith("block ")] == ["block 0", "block 1"]
    assert [t for t in shown if t.startswith("PIPE_")] == ["PIPE_V", "PIPE_MTE3"] * 2
    assert len(classed(picture, "hit")) == 2
    assert len(classed(picture, "barrier")) == 2


def test_long_runs_show_a_window(tmp_path: Path) -> None:
    body = "load a x\nadds a b\nfor 64\nfill c\nend\nbarrier ALL\nfor 32\nfill c\nend\nload b y\nadds b c\nbarrier ALL"
    report = watched(Mini(body), tmp_path / "k.pto")
    for picture in pictures(report.html()):
        assert len(list(picture.iter("g"))) < 50
    late = "load a x\nfor 64\nfill c\nfill b\nend\nadds a b\nbarrier ALL"
    picture = lanes_of(late, tmp_path, rule="RACE-RAW")
    shown = texts(picture)
    assert "⋯" in shown
    assert {"① TLOAD writes %a", "② TADDS reads %a"} <= set(shown)
    assert len(list(picture.iter("g"))) < 50


def area(picture: ElementTree.Element, name: str) -> float:
    return sum(float(e.get("width", 0)) * float(e.get("height", 0)) for e in classed(picture, name))


def test_the_bytes_of_strided_windows(tmp_path: Path) -> None:
    page = watched(Mini(STRIDED), tmp_path / "k.pto").html()
    grids = [p for p in pictures(page) if any("16x32 f32" in t for t in texts(p))]
    assert [texts(grid)[0] for grid in grids] == ["① %p, part of 16x32 f32", "② %q, part of 16x32 f32"]
    for grid in grids:  # columns 4..11 and 8..15 of 32, of which 8..11 are common
        assert area(grid, "shared") / area(grid, "untouched") == pytest.approx(4 / 32)
        assert area(grid, "touched") / area(grid, "untouched") == pytest.approx(4 / 32)
    (bar,) = (p for p in pictures(page) if "256 in common" in texts(p)[0])
    assert len(classed(bar, "shared")) == 16  # a run in each row
    assert len(classed(bar, "touched")) == 32


def test_one_tile_is_drawn_once(tmp_path: Path) -> None:
    page = watched(Mini("load a x\nadds a b\nbarrier ALL\nstore b y"), tmp_path / "k.pto").html()
    (grid,) = (p for p in pictures(page) if texts(p)[0].startswith("① and ② %a: 16x32 f32"))
    assert area(grid, "shared") == pytest.approx(area(grid, "untouched"))


def rows(page: str) -> list[tuple[str, str, str, str]]:
    """Lines of the source listings: (look, mark, number, text)."""
    found = re.findall(r"<tr(?: class='([\w ]+)')?><td>(.*?)</td><td>(\d*)</td><td>(.*?)</td></tr>", page)
    return [row for row in found if row[0] != "skip"]


def test_the_source_with_the_fix(tmp_path: Path) -> None:
    program = Mini(LOOP)
    page = watched(program, tmp_path / "k.pto").html()
    listed = rows(page)
    first = program.first
    marked = [(mark, int(number)) for look, mark, number, _ in listed if look == "marked"]
    assert marked == [("②", first + 1), ("①", first + 4)]
    new = [(i, text) for i, (look, *_, text) in enumerate(listed) if look == "new"]
    assert [text.split("[")[0] for _, text in new] == ["pto.set_flag", "pto.wait_flag", "pto.set_flag", "pto.wait_flag"]
    numbers = [int(listed[i + 1][2]) for i, _ in new]
    assert numbers == [first, first + 1, first + 5, first + 11]
    lines = program.text.splitlines()
    for look, _, number, text in listed:
        if look != "new":
            assert text == lines[int(number) - 1].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def test_values_that_change(tmp_path: Path) -> None:
    page = watched(Mini("load a x\nadds a b\nbarrier ALL\nstore b y"), tmp_path / "k.pto", witness=True).html()
    assert "512 of 512 elements of %y change" in page
    assert "<tr><td>%y[0, 3]</td><td>4</td><td class='changed'>nan</td></tr>" in page


def test_a_clean_report(tmp_path: Path) -> None:
    page = watched(Mini("load a x\nset MTE2 MTE3 0\nwait MTE2 MTE3 0\nstore a y"), tmp_path / "k.pto").html()
    Balance(page)
    assert "<p class='verdict clean'>no findings</p>" in page
    assert "<section" not in page


def test_a_deadlock(tmp_path: Path) -> None:
    page = watched(Mini("wait MTE3 V 0\nset V MTE3 0\nwait V MTE3 0\nset MTE3 V 0"), tmp_path / "k.pto").html()
    assert "the cycle: PIPE_V → PIPE_MTE3 → PIPE_V" in page
    assert [mark for look, mark, *_ in rows(page) if "marked" in look.split()] == ["●", "○", "○", "○"]


def test_python_sources(tmp_path: Path) -> None:
    report = defined(PYTHON, tmp_path / "k.py").sanitize(np.ones((16, 32), np.float32), np.ones((16, 32), np.float32))
    page = report.html()
    Balance(page)
    assert any("pto.TSTORE(pto.GlobalTensor(y, (16, 32)), b)" in text for *_, text in rows(page))
    assert "        pto.wait_flag(pto.PIPE_MTE2, pto.PIPE_V, 0)" in page
