"""Regions inside each other, and the recursion limit of the program that uses the library."""

from __future__ import annotations

import subprocess
import sys

import pytest

HOST = """
import sys
from ptokit.asm import parse_module, print_module
from ptokit.asm.convert import convert
from ptokit.asm.convert import format_text
from ptokit.ir.verify import verify
from ptokit.targets import A5

def text(depth):
    opened = "scf.execute_region {\\ncf.br ^a\\n^a:\\n" * depth
    return "func.func @f() {\\n" + opened + "scf.yield\\n}\\n" * depth + "return\\n}\\n"

sys.setrecursionlimit(LIMIT)
module = parse_module(text(DEPTH)).module
verify(module, A5)
for form in ("dps", "generic", "sync"):
    print(convert(module, form).text is not None)
print(format_text(print_module(module)).text is not None)
print(sys.getrecursionlimit())
"""


def limit_after(depth: int, limit: int) -> int:
    """The limit of a program that has `limit` and reads, checks and prints regions nested `depth` deep."""
    code = HOST.replace("DEPTH", str(depth)).replace("LIMIT", str(limit))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-400:]
    *shown, after = done.stdout.split("\n")[:-1]
    assert shown == ["True"] * 4
    return int(after)


@pytest.mark.parametrize(("depth", "limit"), [(10, 400), (10, 100_000), (190, 100_000)])
def test_a_host_keeps_its_limit(depth: int, limit: int) -> None:
    assert limit_after(depth, limit) == limit


def test_deep_regions_get_room() -> None:
    assert limit_after(190, 400) > 400
