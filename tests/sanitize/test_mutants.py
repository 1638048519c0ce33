"""One mistake with a flag in a clean kernel: what the fixes of its findings make of it.

Of every kernel of `mutants` a few versions; all of them with ``pytest -m campaign``.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from ptokit.diagnostics import DiagnosticError

from .mutants import Kernel, Mutant, kernels, mutants

KERNELS = {kernel.name: kernel for kernel in kernels()}
SAMPLE = [
    *("copy", "case_17_kloop_l0_reuse_primed", "pair_10", "gemm_1_2", "unrolled_scale_2_text", "counted_scale_2"),
    *("straight_scale", "case_12_queue_wait_before_set"),
]


def judged(kernel: Kernel, mutant: Mutant, folder: Path) -> str:
    """What becomes of a kernel with a mistake when the fixes of its findings are made."""
    wanted = kernel.launch(kernel.write(folder))
    assert wanted[0].clean
    try:
        report, _ = kernel.launch(kernel.write(folder, mutant.text))
    except DiagnosticError:
        return "refused"
    if report.clean:
        return "clean"
    before = Counter(d.rule for d in report.symptoms)
    if not report.fixes:
        return "no fix"
    mended, values = kernel.launch(kernel.write(folder, report.fix(mutant.text)))
    after = Counter(d.rule for d in mended.symptoms)
    assert after.total() < before.total(), mutant.text
    assert after <= before, mutant.text
    if not mended.clean:
        return "left"
    assert values == wanted[1]
    return "mended"


def figure(names: list[str], folder: Path, step: int) -> Counter[str]:
    """How many mutants become what: every `step`-th of each kernel."""
    found: Counter[str] = Counter()
    for name in names:
        for number, mutant in enumerate(mutants(KERNELS[name])):
            if number % step == 0:
                found[judged(KERNELS[name], mutant, folder)] += 1
    return found


def test_there_are_many() -> None:
    assert len(KERNELS) >= 60
    assert sum(bool(kernel.python) for kernel in KERNELS.values()) >= 20


def test_fixes_mend_one_mistake(tmp_path: Path) -> None:
    found = figure(SAMPLE, tmp_path, 8)
    broken = found["mended"] + found["left"] + found["no fix"]
    assert broken >= 25
    assert found["mended"] >= 0.9 * broken, found


@pytest.mark.parametrize(
    ("name", "how", "line"),
    [
        ("counted_scale_3", "remove", 13),  # the id is a name that a later loop computes anew
        ("gemm_1_2", "id", 19),  # only a loop with the same head says the id
        ("gemm_2_1", "remove", 17),  # nothing is left in the unrolled loop that set the flags
        ("saxpy", "down", 41),  # the variable with the id has another value one line later
        ("split_k", "id", 29),  # one statement sets the flags of three pairs of pipes
    ],
)
def test_ids_by_name_are_followed(name: str, how: str, line: int, tmp_path: Path) -> None:
    kernel = KERNELS[name]
    (mutant,) = (m for m in mutants(kernel) if (m.how, m.line) == (how, line))
    assert judged(kernel, mutant, tmp_path) == "mended"


@pytest.mark.campaign
def test_fixes_mend_mistakes_everywhere(tmp_path: Path) -> None:
    found = figure(list(KERNELS), tmp_path, 1)
    sys.stderr.write(f"{dict(found)}\n")
    broken = found["mended"] + found["left"] + found["no fix"]
    assert found["mended"] >= 0.9 * broken, found


TOKENS = """
for 4
wait V MTE2 0
load a x
set MTE2 V 0
wait MTE2 V 0
adds a b
set V MTE2 0
end
"""


def test_a_forgotten_wait_is_one_finding() -> None:
    """The set without a wait is what is told, with the races and the flag that is set twice as notes."""
    from .mini import Mini

    body = f"set V MTE2 0{TOKENS}wait V MTE2 0"
    assert Mini(body).sanitize().clean
    report = Mini(body.replace("\nwait V MTE2 0\nload", "\nload")).sanitize()
    (finding,) = report.diagnostics
    assert finding.rule in ("FLAG-REUSE", "FLAG-UNMATCHED")
    line = Mini("").first + 2
    assert finding.hint == f"add pto.wait_flag[<PIPE_V>, <PIPE_MTE2>, <EVENT_ID0>] before line {line}"
    assert all(note.message for note in finding.notes)
    assert len(report.symptoms) >= 1
