"""Products and drains of accumulators that unit flags order, also against all executions of random ones.

The model is two queues, flags and unit flags, tried in every order: two accesses race if some state lets either of them
come next.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module
from ptokit.sanitize import Report, sanitize
from ptokit.targets import target

TEXT = """
module attributes {{pto.target_arch = "a5"}} {{
func.func @k(%y: !pto.ptr<f32, gm>) attributes {{pto.entry, pto.kernel_kind = #pto.kernel_kind<cube>}} {{
  %i0 = arith.constant 0 : i64
  %i16 = arith.constant 16 : i64
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %a = pto.castptr %i0 : i64 -> !pto.ptr<f16, l0a>
  %b = pto.castptr %i0 : i64 -> !pto.ptr<f16, l0b>
  %c = pto.castptr %i0 : i64 -> !pto.ptr<f32, l0c>
  scf.for %t = %c0 to %c3 step %c1 {{
    pto.mad %a, %b, %c, %i16, %i16, %i16 {made}
      : !pto.ptr<f16, l0a>, !pto.ptr<f16, l0b>, !pto.ptr<f32, l0c>, i64, i64, i64
    pto.mte_l0c_gm %c, %y, %i16, %i16, %i16, %i16, %i0, %i0, {drained}nz2nd
      : !pto.ptr<f32, l0c>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64
  }}
  return
}}
}}
"""


def sanitized(text: str) -> Report:
    a5 = target("a5")
    read = parse_module(text, "k.pto", target=a5)
    read.diagnostics.raise_if_errors()
    return sanitize(read.module, a5, [np.zeros((16, 16), np.float32)], 1, mode="manual", causes=False)


@pto.kernel(target="a2a3")
def product(c: pto.Ptr[pto.f32], first: pto.Static, last: pto.Static, drained: pto.Static) -> None:
    left, right, acc = pto.TileLeft(pto.f16, 16, 64), pto.TileRight(pto.f16, 64, 32), pto.TileAcc(pto.f32, 16, 32)
    pto.TASSIGN(left, 0)
    pto.TASSIGN(right, 0)
    pto.TASSIGN(acc, 0)
    source = pto.Tile(pto.TileType.Mat, pto.f16, 64, 64, pto.BLayout.ColMajor, slayout=pto.SLayout.RowMajor)
    pto.TASSIGN(source, 0)
    pto.TEXPANDS(source, 1.0)
    pto.pipe_barrier(pto.PIPE_ALL)
    pto.TEXTRACT(left, source, 0, 0)
    pto.TEXTRACT(right, source, 0, 0)
    pto.pipe_barrier(pto.PIPE_ALL)
    pto.TMATMUL(acc, left, right, phase=first)
    pto.TMATMUL_ACC(acc, acc, left, right, phase=last)
    pto.TSTORE(pto.GlobalTensor(c, (16, 32)), acc, phase=drained)


@pytest.mark.parametrize(
    ("first", "last", "drained", "rules"),
    [
        ("Partial", "Final", "Final", set()),
        ("Unspecified", "Unspecified", "Unspecified", {"RACE-RAW"}),
        ("Partial", "Partial", "Final", {"DEADLOCK"}),
        ("Partial", "Final", "Unspecified", {"RACE-RAW", "UNIT-FLAG-LEFT"}),
        ("Partial", "Final", "Partial", {"UNIT-FLAG-LEFT"}),
    ],
)
def test_phases_of_tile_instructions_are_unit_flags(first: str, last: str, drained: str, rules: set[str]) -> None:
    """Final sets what a drain waits for (compute-reduce-matrix 9)."""
    phases = pto.AccPhase[first], pto.AccPhase[last], pto.STPhase[drained]
    c = np.zeros((16, 32), np.float32)
    assert {d.rule for d in product[1].sanitize(c, *phases).diagnostics} == rules
    product[1](c, *phases)
    assert (c == 128).all()


@pytest.mark.parametrize(
    ("made", "drained", "races"),
    [
        ("unit_flag(check_and_set)", "unit_flag(check_and_clear), ", set()),
        ("", "", {"RACE-RAW", "RACE-WAR"}),
        ("unit_flag(check_and_set)", "", {"RACE-RAW", "DEADLOCK"}),
        ("unit_flag(check_and_set)", "unit_flag(check_only), ", {"DEADLOCK"}),
        ("unit_flag(check_only)", "unit_flag(check_only), ", {"DEADLOCK"}),
        ("", "unit_flag(check_and_clear), ", {"DEADLOCK"}),
    ],
)
def test_unit_flags_order_products_and_drains(made: str, drained: str, races: set[str]) -> None:
    report = sanitized(TEXT.format(made=made, drained=drained))
    found = {(d.rule, d.location.line) for d in report.diagnostics if d.rule != "UNINIT-READ"}
    assert {rule for rule, _ in found} == races


def test_a_hang_names_the_flag_and_how_to_mend_it() -> None:
    text = TEXT.format(made="unit_flag(check_and_set)", drained="unit_flag(check_only), ")
    report = sanitized(text)
    (hang,) = [d for d in report.errors if d.rule == "DEADLOCK"]
    assert "set in line 13, to be cleared" in hang.message
    assert hang.hint is not None
    assert "check_and_clear" in hang.hint
    once = text.replace("to %c3", "to %c1")
    report = sanitized(once)
    assert [(d.rule, d.location.line) for d in report.warnings] == [("UNIT-FLAG-LEFT", 13)]


# --- random programs -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """``pipe``: the queue; ``place``: accumulator, or the flag (source pipe, id)."""

    kind: str  # work, set, wait
    pipe: str
    line: int
    place: tuple[object, ...] = ()
    unit: str = ""


def draw(seed: int) -> tuple[str, list[Step]]:
    rng = random.Random(seed)
    head, tail = TEXT.replace("{{", "{").replace("}}", "}").split("  scf.for")[0].rstrip(), "  return\n}\n}"
    lines = [*head.splitlines(), "  %i1024 = arith.constant 1024 : i64"]
    lines.append("  %d = pto.castptr %i1024 : i64 -> !pto.ptr<f32, l0c>")
    lines.append("  %c2 = arith.constant 2 : index")
    steps: list[Step] = []
    style = rng.choice(("right", "right", "any"))
    for _ in range(rng.randint(1, 3)):
        turns = rng.choice((1, 1, 2))
        if turns > 1:
            lines.append("  scf.for %t = %c0 to %c2 step %c1 {")
        body: list[Step] = []
        for _ in range(rng.randint(1, 3)):
            acc = rng.choice("ccd")
            flag = rng.choice((("M", "FIX"), ("FIX", "M")))
            event = rng.randint(0, 1)
            pair = [("product", acc, "check_and_set"), ("drain", acc, "check_and_clear")]
            if rng.random() < 0.3:
                pair.insert(0, ("product", acc, "check_only"))
            if rng.random() < 0.3:
                pair.insert(-1, ("drain", acc, "check_only"))
            if style == "any":
                pair = [(what, where, rng.choice((unit, unit, "", "check_only"))) for what, where, unit in pair]
                pair = [one for one in pair if rng.random() < 0.85]
            made: list[tuple[str, object, str]] = list(pair)
            if rng.random() < 0.5:
                made.insert(rng.randint(0, len(made)), ("set", (*flag, event), ""))
                made.append(("wait", (*flag, event), ""))
            for what, where, unit in made:
                body.append(_line(lines, what, where, unit))
        if turns > 1:
            lines.append("  }")
        steps += body * turns
    return "\n".join([*lines, tail]), steps


def _line(lines: list[str], what: str, where: object, unit: str) -> Step:
    text = f"unit_flag({unit})" if unit else ""
    if what == "product":
        lines.append(
            f"  pto.mad %a, %b, %{where}, %i16, %i16, %i16 {text} "
            ": !pto.ptr<f16, l0a>, !pto.ptr<f16, l0b>, !pto.ptr<f32, l0c>, i64, i64, i64"
        )
        return Step("work", "M", len(lines), (where,), unit)
    if what == "drain":
        lines.append(
            f"  pto.mte_l0c_gm %{where}, %y, %i16, %i16, %i16, %i16, %i0, %i0, {text and text + ', '}nz2nd "
            ": !pto.ptr<f32, l0c>, !pto.ptr<f32, gm>, i64, i64, i64, i64, i64, i64"
        )
        return Step("work", "FIX", len(lines), (where,), unit)
    assert isinstance(where, tuple)
    source, to, event = where
    lines.append(f'  pto.{what}_flag["PIPE_{source}", "PIPE_{to}", "EVENT_ID{event}"]')
    return Step(what, source if what == "set" else to, len(lines), where)


Place = tuple[int, int, tuple[tuple[tuple[object, ...], int], ...], frozenset[object]]
"""Steps of M and of FIX that are over, counts of flags, unit flags that are set."""


def model(steps: list[Step]) -> tuple[set[frozenset[int]], bool, set[int], bool]:
    """Pairs of lines whose order is open; whether it hangs; the lines whose unit flags are left set."""
    queues = [[s for s in steps if s.pipe == pipe] for pipe in ("M", "FIX")]
    start = (0, 0, frozenset(), frozenset())
    seen, stack = {start}, [start]
    races, ends = set(), set()
    while stack:
        state = stack.pop()
        at, flags, units = state[:2], dict(state[2]), dict(state[3])
        possible = []
        for q, queue in enumerate(queues):
            if at[q] < len(queue):
                step = queue[at[q]]
                waits = step.kind == "wait" and not flags.get(step.place)
                waits |= bool(step.unit) and (step.place in units) != (q == 1)
                if not waits:
                    possible.append((q, step))
        if len(possible) == 2 and all(s.kind == "work" for _, s in possible):
            (_, a), (_, b) = possible
            if a.place == b.place:
                races.add(frozenset((a.line, b.line)))
        for q, step in possible:
            new, left = dict(flags), dict(units)
            if step.kind in ("set", "wait"):
                new[step.place] = new.get(step.place, 0) + (1 if step.kind == "set" else -1)
            if step.unit == "check_and_set":
                left[step.place] = step.line
            elif step.unit == "check_and_clear":
                del left[step.place]
            to = (at[0] + (q == 0), at[1] + (q == 1), frozenset(new.items()), frozenset(left.items()))
            if to not in seen:
                seen.add(to)
                stack.append(to)
        if not possible:
            ends.add(state)
    (end,) = ends
    hangs = end[:2] != tuple(map(len, queues))
    return races, hangs, {line for _, line in end[3]}, bool(races or hangs)


def compare(seed: int) -> bool:
    text, steps = draw(seed)
    report = sanitized(text)
    races, hangs, left, wrong = model(steps)
    found = {frozenset((d.location.line, d.notes[0].location.line)) for d in report.diagnostics if "RACE" in d.rule}
    rules = {d.rule for d in report.diagnostics}
    told = f"{seed}\n{text}\n{report}\nmissing {races - found}, too many {found - races}"
    assert found == races, told
    assert ("DEADLOCK" in rules) == hangs, told
    if not hangs:
        assert {d.location.line for d in report.diagnostics if d.rule == "UNIT-FLAG-LEFT"} == left, told
    return wrong


def test_random_unit_flags() -> None:
    shown = [compare(seed) for seed in range(25)]
    assert 5 < sum(shown) < 22


@pytest.mark.campaign
def test_many_random_unit_flags() -> None:
    shown = [compare(seed) for seed in range(10_000)]
    assert 2000 < sum(shown) < 8000
