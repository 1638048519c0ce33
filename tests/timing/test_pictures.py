"""Pages, charts and traces of timed launches."""

from __future__ import annotations

import base64
import json
import re
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from ptokit.conformance.timed_attention import attention, attention_arguments
from ptokit.conformance.timed_kernels import addition
from ptokit.timing.pictures import chart, page, trace_events
from ptokit.timing.report import Timing

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def timing() -> Timing:
    found: Timing = attention.time[2](*attention_arguments(256, 1024, 2), part="910B2")
    return found


def test_a_trace_is_what_the_format_of_trace_events_says(timing: Timing) -> None:
    """Read by the published description: phases M and X, numbers for process and thread, times in µs, and slices of
    a thread that do not overlap."""
    events = json.loads(json.dumps(trace_events(timing)))
    names: dict[Any, str] = {}
    over: dict[Any, float] = {}
    busy: dict[str, float] = {}
    for event in events:
        assert isinstance(event["pid"], int)
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name")
            names[event["pid"], event.get("tid")] = event["args"]["name"]
            continue
        assert event["ph"] == "X"
        lane = event["pid"], event["tid"]
        assert {type(event[key]) for key in ("ts", "dur")} <= {int, float}
        assert event["ts"] >= over.get(lane, 0.0) - 2e-4
        assert event["dur"] >= 0
        over[lane] = event["ts"] + event["dur"]
        busy[names[lane]] = busy.get(names[lane], 0.0) + event["dur"]
    assert {name for (_, thread), name in names.items() if thread is None} == {
        f"block {b} {core}" for b in (0, 1) for core in ("cube core", "vector core 0", "vector core 1")
    }
    for pipe in timing.pipes:
        assert busy[pipe.name] == pytest.approx(pipe.busy * timing.us * pipe.cores, rel=1e-3)


def test_the_page_has_every_instruction(timing: Timing) -> None:
    (text,) = re.findall(r"const data = (.*);\n", page(timing))
    data = json.loads(text)
    works = 0
    for lane in data["lanes"]:
        raw = {key: base64.b64decode(lane[key]) for key in ("start", "end", "item")}
        count = len(raw["item"]) // 2
        start, end = (struct.unpack(f"<{count}f", raw[key]) for key in ("start", "end"))
        assert list(start) == sorted(start)
        assert all(a <= b for a, b in zip(start, end))
        works += count
    assert works == len(timing.run.works)
    assert data["lanes"][0]["name"] == "block 0 cube core MTE2"


def test_the_chart_shows_pipes_and_limits(timing: Timing) -> None:
    picture = ElementTree.fromstring(chart(timing))
    words = [text.text or "" for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"MTE2", "V", "FIX", "L2", "memory"} <= set(words)
    n = 1 << 16
    plain = addition(1).time(*(np.zeros(n, np.float32) for _ in range(3)), n)
    assert "memory" not in chart(plain)  # no products, no roof
    assert chart(plain) in plain._repr_html_()


@pytest.mark.campaign
@pytest.mark.skipif(BROWSER is None, reason="no browser")
def test_a_page_of_a_million_instructions_opens_in_two_seconds(tmp_path: Path) -> None:
    assert BROWSER is not None
    n = 4096 * 2 * 24 * 5300
    timing = addition(2).time[24](*(np.zeros(n, np.float32) for _ in range(3)), n, complete=True)
    assert len(timing.run.works) > 1_000_000
    file = tmp_path / "large.html"
    file.write_text(page(timing), encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", file.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    (opened,) = re.findall('data-opened="([0-9]+)"', shown)
    assert int(opened) < 2000
