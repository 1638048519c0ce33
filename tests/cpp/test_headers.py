"""The headers that are made are up to date, and say what the table says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ptokit.cpp.lift.library import enumerations, instruction_names, meant
from ptokit.types.enums import PadValue, RoundMode

ROOT = Path(__file__).parents[2]


def test_headers_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "headers.py"), "--check"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_enumerators_lead_back() -> None:
    for name, members in enumerations().items():
        for number, meaning in members.values():
            found = meant(name, number)
            assert found == meaning or found is None


def test_numbers_are_those_of_cpp() -> None:
    assert meant("RoundMode", 1) is RoundMode.CAST_RINT
    assert meant("PadValue", 3) is PadValue.Min
    assert meant("PadValue", (1 << 32) | 7) == (1 << 32) | 7


def test_every_instruction_of_the_library_is_declared() -> None:
    assert {"TADD", "TLOAD", "TMATMUL_MX", "TROWSUM", "MGATHER", "TCVT"} <= set(instruction_names())
