"""A timed launch as pictures: a trace for Chrome and Perfetto."""

from __future__ import annotations

from typing import Any

from .issue import PIPES
from .report import Timing


def trace_events(timing: Timing) -> list[dict[str, Any]]:
    """The launch as events of Chrome's trace format, which Perfetto reads: a process for each core, a thread for each
    pipe, times in µs."""
    works, items, clock = timing.run.works, timing.found.items, timing.clock
    events: list[dict[str, Any]] = []
    for core in timing.run.cores:
        place = core.issued.core
        kind = f" {place.kind} core{f' {place.sub}' if place.kind == 'vector' else ''}" if place.kind else ""
        name = f"block {place.block}{kind}"
        events.append({"ph": "M", "pid": core.index, "name": "process_name", "args": {"name": name}})
        for k, pipe in enumerate(PIPES):
            if core.busy[k]:
                args = {"name": pipe.name}
                events.append({"ph": "M", "pid": core.index, "tid": k, "name": "thread_name", "args": args})
    for number, core_index, start, end in zip(works.item, works.core, works.start, works.end):
        item = items[number]
        events.append(
            {
                "ph": "X",
                "pid": core_index,
                "tid": item.pipe,
                "name": item.name,
                "ts": round(start / clock, 4),
                "dur": round((end - start) / clock, 4),
                "args": {"line": item.line, "cycles": round(end - start, 1)},
            }
        )
    return events
