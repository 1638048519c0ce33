"""Mistakes planted in the example kernels that no rule sees: what the sanitizer says, where, and how to mend it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from ..lang.support import words_of_text
from ..test_python_examples import EXAMPLES, TABLE, observed

KERNELS = {example.file: example for example in reversed(TABLE)}  # the first of each file

# file | written | instead; rule | the line it is found in | the hint. … is the rest of a line, § its end
MISTAKES = """
vec_add | length = pto.minimum(n - at, WIDTH) | length = WIDTH
    GM-OOB | pto.TLOAD(a, gx[:, at : at + length]) | shorten the slice
vec_add | , valid_col=length)§        pto.TLOAD(a | )§        pto.TLOAD(a
    GM-OOB | pto.TLOAD(b, gy[:, at : at + length]) | make the valid region of the tile as large
vec_add | TLOAD(b, gy | TLOAD(a, gy
    UNINIT-READ | pto.TADD(a, a, b) | load or fill that region first
softmax | rows = pto.minimum(n - i, ROWS) | rows = ROWS
    GM-OOB | pto.TLOAD(t, gx[i : i + rows]) | shorten the slice
softmax | pto.TROWSUM(total, t, tmp) | pass
    UNINIT-READ | pto.TROWEXPANDDIV(t, t, total) | load or fill that region first
softmax | pto.get_block_num() * ROWS | ROWS
    RACE-XCORE-WAW | pto.TSTORE(gy[i : i + rows], t) | give each block memory of its own
rms_norm | gx[top : top + ROWS] | gx[top + 1 : top + 1 + ROWS]
    GM-OOB | pto.TLOAD(t, gx[… | shorten the slice
rms_norm | TLOAD(row, pto.GlobalTensor(gamma, (1, width))) | get_block_idx()
    UNINIT-READ | pto.TCVT(scale, row) | load or fill that region first
embedding | (vocabulary, width)) | (vocabulary - 10, width))
    GATHER-COM-06 | pto.MGATHER(… | keep the indices inside
gemm | if p == 0: | if p == 1:
    UNINIT-READ | pto.TMATMUL_ACC(acc, acc, left, right) | load or fill that region first
gemm_double_buffered | wait_flag(M, FIX, 0) | get_block_idx()
    FLAG-UNMATCHED | pto.set_flag(M, FIX, 0) | add pto.wait_flag(M, FIX, 0) before line 57
gemm_double_buffered | set_flag(M, FIX, 0) | set_flag(M, FIX, 1)
    DEADLOCK | pto.wait_flag(FIX, M, 0) | write 0 as the event id of the set_flag in line 55
gemm_double_buffered | set_flag(MTE1, MTE2, i)§                pto.set | cdiv(1, 1)§                pto.set
    DEADLOCK | pto.wait_flag(MTE1, M, i) | add pto.set_flag(MTE1, MTE2, i)
saxpy_registers | pto.PIPE_V, half)§        with | pto.PIPE_V, 1 - half)§        with
    DEADLOCK | pto.wait_flag(pto.… | write half as the event id of the wait_flag in line 30
saxpy_registers | pto.PIPE_MTE3, half | pto.PIPE_MTE3, 0
    FLAG-REUSE | pto.set_flag(pto.… | write half as the event id of the set_flag in line 38
split_k | wait_flag(M, FIX, 0) | get_block_idx()
    FLAG-REUSE | pto.set_flag(M, FIX, 0) | add pto.wait_flag(M, FIX, 0) before line
split_k | wait_flag(V, MTE3, 0) | get_block_idx()
    FLAG-UNMATCHED | pto.set_flag(V, MTE3, 0) | add pto.wait_flag(V, MTE3, 0) before line
split_k | top = pto.get_subblock_idx() * HALF | top = pto.get_subblock_idx() * (HALF + 1)
    GM-OOB | pto.TLOAD(total, … | shorten the slice
"""
_LINES = MISTAKES.strip().splitlines()
CASES = [
    [part.strip().replace("§", "\n") for part in " | ".join(pair).split(" | ")]
    for pair in zip(_LINES[::2], _LINES[1::2])
]


@pytest.mark.parametrize("case", CASES, ids=[f"{case[0]}-{case[3]}" for case in CASES])
def test_a_mistake_that_only_a_run_shows(case: list[str], tmp_path: Path) -> None:
    name, written, instead, rule, line, hint = case
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert written in text
    file = tmp_path / f"{name}.py"
    file.write_text(text.replace(written, instead, 1), encoding="utf-8")
    scope = {"__name__": name}
    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), scope)
    kernel = getattr(SimpleNamespace(**scope), KERNELS[name].kernel)
    assert kernel.check().errors == []
    found = observed(KERNELS[name], kernel).diagnostics.errors
    assert words_of_text(found) == []
    lines = file.read_text(encoding="utf-8").splitlines()
    first = found[0]
    assert first.rule == rule
    assert lines[first.location.line - 1].strip().startswith(line.rstrip("…"))
    assert hint in (first.hint or "")
    if "FLAG" in rule or rule == "DEADLOCK":
        assert len(found) == 1
