"""Whatever the operands: the checker gives findings and a call gives a result or a fault, never another exception."""

import pytest

from ptokit.diagnostics import CATALOGUE
from ptokit.isa.check import broken_rules
from ptokit.isa.site import Site
from ptokit.machine.lanes import Fault
from ptokit.run.program import Single

from .operands import Call, operands, play


def outcome(call: Call, seed: int) -> str:
    """Check the call, and run it where its tile types are legal."""
    site = Site(call.instr, call.target, call.infos, call.attrs, call.extended)
    for broken in broken_rules(site):
        assert broken.message
        assert broken.rule.id in CATALOGUE
    machine = Single(call.target, extended=call.extended)
    given = operands(call, machine, seed)
    if given is None:
        return "no such tile"
    found = ""
    try:
        machine.execute(call.instr, given, call.attrs)
    except Fault as fault:
        found = fault.rule
    assert not found or found in CATALOGUE, found
    return "fault" if found else "ran"


def test_random_operands() -> None:
    counts = play(outcome, range(3000))
    assert counts["ran"] > 100
    assert counts["fault"] > 500


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(20))
def test_random_operands_campaign(part: int) -> None:
    play(outcome, range(10_000 + 10_000 * part, 20_000 + 10_000 * part))
