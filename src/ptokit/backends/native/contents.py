"""Which bytes of a thread's memory a block may read before it has written them: these are cleared when it begins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

Range = tuple[int, int]


class Contents:
    """Follows the steps in the order of the text."""

    def __init__(self) -> None:
        self.written: list[Range] = []  # by now, on every path
        self.wanted: list[Range] = []  # read while their contents were those of the start

    def write(self, start: int, end: int) -> None:
        """All bytes of the range have been written."""
        self.written = _joined([*self.written, (start, end)])

    def read(self, start: int, end: int) -> None:
        """Bytes of the range may be read."""
        at = start
        for low, high in self.written:
            if high <= at or low >= end:
                continue
            if low > at:
                self.wanted.append((at, low))
            at = max(at, high)
        if at < end:
            self.wanted.append((at, end))

    @contextmanager
    def perhaps(self) -> Iterator[None]:
        """Code whose execution is not certain: its writes do not count."""
        kept = self.written
        yield
        self.written = kept

    def clears(self, memory: str, size: int) -> list[str]:
        """Code that clears what is wanted; what lies outside of the memory is refused where it is read."""
        lines = []
        inside = [(max(0, start), min(end, size)) for start, end in self.wanted]
        for k, (start, end) in enumerate(_joined([(start, end) for start, end in inside if start < end])):
            lines += [
                f"  %clear{k} = getelementptr i8, ptr {memory}, i64 {start}",
                f"  call void @llvm.memset.p0.i64(ptr %clear{k}, i8 0, i64 {end - start}, i1 false)",
            ]
        return lines


def _joined(ranges: list[Range]) -> list[Range]:
    out: list[Range] = []
    for start, end in sorted(ranges):
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(out[-1][1], end)
        else:
            out.append((start, end))
    return out
