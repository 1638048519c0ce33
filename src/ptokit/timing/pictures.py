"""A timed launch as pictures: a page with the lanes of all pipes, a chart as SVG, a trace for Chrome and Perfetto."""

from __future__ import annotations

import json
from base64 import b64encode
from html import escape
from math import log10
from pathlib import Path
from string import Template
from typing import Any, Protocol

import numpy as np

from ptokit.targets.base import Part

from .engine import Run
from .state import PIPES, Core, LaunchItems


class Timing(Protocol):
    """What a picture shows: a `ptokit.timing.report.Timing`."""

    name: str
    part: Part
    clock: float
    found: LaunchItems
    run: Run
    pipes: Any

    @property
    def us(self) -> float: ...
    @property
    def flops(self) -> int: ...
    @property
    def peak(self) -> float: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def title(self) -> str: ...
    @property
    def rates(self) -> str: ...
    @property
    def findings(self) -> list[str]: ...


COLOURS = ("#888888", "#5b8ff9", "#61c0bf", "#f6bd16", "#7bc96f", "#e8684a", "#9270ca")
"""Of the pipes, in the order of `PIPES`."""


def _core_name(core: Core) -> str:
    place = core.issued.core
    kind = f" {place.kind} core{f' {place.sub}' if place.kind == 'vector' else ''}" if place.kind else ""
    rank = f"rank {place.rank} " if place.rank >= 0 else ""
    return f"{rank}block {place.block}{kind}"


def trace_events(timing: Timing) -> list[dict[str, Any]]:
    """The launch as events of Chrome's trace format, which Perfetto reads: a process for each core, a thread for each
    pipe, times in µs: whole nanoseconds, which Perfetto counts in, since it drops slices of a thread that overlap."""
    works, items, clock = timing.run.works, timing.found.items, timing.clock
    events: list[dict[str, Any]] = []
    for core in timing.run.cores:
        name = _core_name(core)
        events.append({"ph": "M", "pid": core.index, "name": "process_name", "args": {"name": name}})
        for k, pipe in enumerate(PIPES):
            if core.busy[k]:
                args = {"name": pipe.name}
                events.append({"ph": "M", "pid": core.index, "tid": k, "name": "thread_name", "args": args})
    over: dict[tuple[int, int], int] = {}
    for number, core_index, start, end in zip(works.item, works.core, works.start, works.end):
        item = items[number]
        begin = max(round(1e3 * start / clock), over.get((core_index, item.pipe), 0))
        over[core_index, item.pipe] = max(begin, round(1e3 * end / clock))
        events.append(
            {
                "ph": "X",
                "pid": core_index,
                "tid": item.pipe,
                "name": item.name,
                "cat": PIPES[item.pipe].name,
                "ts": begin / 1e3,
                "dur": (over[core_index, item.pipe] - begin) / 1e3,
                "args": {"line": item.line, "cycles": round(end - start, 1)},
            }
        )
    return events


# The chart: what pipes did, and where the launch stands between the limits of its part.


def chart(timing: Timing) -> str:
    """SVG of the shares of each pipe, and the roofline: reached operations by operations for each byte."""
    bars = _bars(timing)
    roof = _roofline(timing)
    width, height = 360 + (360 if roof else 0), max(30 * len(timing.pipes) + 40, 240 if roof else 0)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="12" role="img" '
        f'aria-label="{escape(timing.name)}: {timing.us:.1f} µs">{bars}{roof}</svg>'
    )


def _bars(timing: Timing) -> str:
    colours = {pipe.name: colour for pipe, colour in zip(PIPES, COLOURS)}
    out = [_text(0, 14, f"{timing.us:.1f} µs on {timing.part.name}: busy, waiting (pale)")]
    for k, pipe in enumerate(timing.pipes):
        y, colour = 28 + 30 * k, colours[pipe.name]
        busy, waiting = 230 * min(1.0, pipe.busy), 230 * min(pipe.waiting, 1 - min(1.0, pipe.busy))
        out += [
            _text(0, y + 14, pipe.name),
            f'<rect x="50" y="{y}" width="230" height="20" fill="none" stroke="#8884"/>',
            f'<rect x="50" y="{y}" width="{busy:.1f}" height="20" fill="{colour}"/>',
            f'<rect x="{50 + busy:.1f}" y="{y}" width="{waiting:.1f}" height="20" fill="{colour}" opacity=".3"/>',
            _text(288, y + 14, f"{pipe.busy:.1%}"),
        ]
    return "".join(out)


def _roofline(timing: Timing) -> str:
    """Empty where the launch has no products, or moves nothing."""
    part, peak = timing.part, timing.peak
    if not peak or not timing.nbytes:
        return ""
    second = part.cores * float(part.clock) * 1e9
    l2, gm = part.l2_read * second, part.gm * part.gm_share * second
    each, reached = timing.flops / timing.nbytes, timing.flops / (timing.us / 1e6)
    low, high = min(each, peak / l2) / 8, max(each, peak / gm) * 8
    bottom, top = min(reached, gm * low) / 2, peak * 2

    def x(intensity: float) -> float:
        return 400 + 300 * log10(intensity / low) / log10(high / low)

    def y(rate: float) -> float:
        return 210 - 180 * log10(rate / bottom) / log10(top / bottom)

    def roof(rate: float, name: str) -> str:
        begin = max(low, bottom / rate)
        line = f"{x(begin):.1f},{y(rate * begin):.1f} {x(peak / rate):.1f},{y(peak):.1f} {x(high):.1f},{y(peak):.1f}"
        label = _text(x(peak / rate) - 52, y(peak) + (30 if rate == gm else 14), name)
        return f'<polyline points="{line}" fill="none" stroke="#5b8ff9"/>{label}'

    share = f"{reached / 1e12:.1f} TFLOP/s, {reached / peak:.0%} of {peak / 1e12:.0f}"
    return (
        f'<path d="M400 30V210H700" fill="none" stroke="#888"/>{roof(l2, "L2")}{roof(gm, "memory")}'
        f'<circle cx="{x(each):.1f}" cy="{y(reached):.1f}" r="5" fill="#e8684a"/>'
        f"{_text(400, 14, share)}{_text(400, 228, f'{each:.1f} operations for each byte')}"
    )


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="currentColor">{escape(text)}</text>'


# The page.


def page(timing: Timing) -> str:
    """One HTML file: the report, the chart, and a lane for each pipe of each core, which can be zoomed into."""
    works, items = timing.run.works, timing.found.items
    start, end = np.frombuffer(works.start) / timing.clock, np.frombuffer(works.end) / timing.clock
    item, core = np.frombuffer(works.item, np.int64), np.frombuffer(works.core, np.int32)
    pipe = np.array([entry.pipe for entry in items], np.int64)[item] if len(item) else item
    shown = sorted(set(item.tolist()))
    numbers = {number: k for k, number in enumerate(shown[: 1 << 16])}
    short = np.zeros(len(items), np.uint16)
    for number, k in numbers.items():
        short[number] = k
    lanes = []
    order = np.lexsort((start, pipe, core))
    keys = core[order].astype(np.int64) * len(PIPES) + pipe[order]
    edges = np.flatnonzero(np.diff(keys)) + 1
    for part in np.split(order, edges) if len(order) else ():
        name = f"{_core_name(timing.run.cores[core[part[0]]])} {PIPES[pipe[part[0]]].name}"
        arrays = {"start": start[part].astype("<f4"), "end": end[part].astype("<f4"), "item": short[item[part]]}
        lanes.append({"name": name, **{key: b64encode(array.tobytes()).decode() for key, array in arrays.items()}})
    data = {
        "lanes": lanes,
        "items": [{"text": items[n].text, "colour": COLOURS[items[n].pipe]} for n in numbers],
        "end": max(float(end.max()) if len(end) else 0.0, 1e-3),
        "clock": timing.clock,
    }
    template = Template(Path(__file__).with_name("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=escape(f"{timing.name}: {timing.us:.1f} µs"),
        name=escape(timing.name),
        heading=escape(timing.title),
        rates=escape(timing.rates),
        chart=chart(timing),
        findings="".join(f"<li>{escape(text)}</li>" for text in timing.findings),
        data=json.dumps(data).replace("</", "<\\/"),
    )
