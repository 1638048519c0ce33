"""The smallest whole vector program: it is read, checked, printed, run and sanitized (vector-path 10)."""

from __future__ import annotations

import numpy as np

from tests.each import each

from .programs import checked, found, minimal, numbers, run


def test_it_doubles() -> None:
    x, y = numbers(1024), np.zeros(1024, np.float32)
    run(minimal(), x, y)
    assert y.tolist() == [2.0 * i for i in range(1024)]


@each("target", ["cpu", "a5"])
def test_lanes_the_predicate_excludes_keep_the_old_contents(target: str) -> None:
    x, y = numbers(1024) + 1, np.full(1024, -1, np.float32)
    run(minimal(count=1000), x, y, on=target)
    assert y.tolist() == [2.0 * (i + 1) for i in range(1000)] + [0.0] * 24


def test_blocks_have_a_buffer_each() -> None:
    x, y = numbers(1024), np.zeros(1024, np.float32)
    run(minimal(), x, y, blocks=5)
    assert y.tolist() == [2.0 * i for i in range(1024)]


def test_the_check_finds_nothing() -> None:
    assert checked(minimal()) == []


def test_rows_too_close() -> None:
    rules = {d.rule: d.location.line for d in checked(minimal(pitch=100))}
    assert rules == {"DMA-A5-02": 16, "DMA-A5-04": 16}


def test_the_sanitizer_finds_nothing() -> None:
    assert found(minimal(), numbers(1024), numbers(1024)) == []


def test_a_removed_wait_is_found() -> None:
    args = numbers(1024), numbers(1024)
    assert ("RACE-RAW", "pto.vlds") in found(minimal(without='pto.wait_flag["PIPE_MTE2'), *args)
    assert ("RACE-RAW", "pto.copy_ubuf_to_gm") in found(minimal(without='pto.wait_flag["PIPE_V'), *args)


def test_lanes_nobody_wrote_are_found_where_they_are_read() -> None:
    report = found(minimal(count=1000), numbers(1024), numbers(1024))
    assert report == [("UNINIT-READ", "pto.copy_ubuf_to_gm")]
