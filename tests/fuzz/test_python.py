"""Random calls through the Python API: an eager core gives a result or a `DiagnosticError`, whatever it is given."""

from inspect import signature
from typing import Any

import numpy as np
import pytest

import ptokit as pto
from ptokit.diagnostics import CATALOGUE
from ptokit.isa.table import TABLE
from ptokit.types.tile import TileSpec

from .operands import Call, play


def operand(core: Any, spec: Any, rng: np.random.Generator) -> Any:
    """What a user would pass for one operand."""
    if isinstance(spec, TileSpec):
        tile = core.Tile(
            spec.loc, spec.dtype, spec.rows, spec.cols, spec.blayout, spec.valid_row, spec.valid_col, spec.slayout,
            spec.fractal, spec.pad, spec.compact,
        )  # fmt: skip
        if rng.random() < 0.5 and spec.dtype.bits >= 8:
            codes = rng.integers(0, 1 << min(spec.dtype.bits, 62), (spec.rows, spec.cols), dtype=np.uint64)
            tile.set(codes.astype(spec.dtype.storage), valid=False, codes=True)
        return tile
    if isinstance(spec, tuple) and spec:
        dtype, elements, shape, stride, layout, _ = spec
        memory = rng.integers(0, 256, dtype.nbytes(elements), dtype=np.uint8)
        if dtype.size > 1:
            memory = np.resize(memory, -(-memory.size // dtype.size) * dtype.size).view(dtype.storage)
        return core.GlobalTensor(memory, shape, stride, layout, dtype=dtype)
    return spec


def outcome(call: Call, seed: int) -> str:
    """Make the operands and call the instruction; "ran", or the id of the rule that refused."""
    rng = np.random.default_rng(seed)
    refused = ""
    try:
        core = pto.Core(call.target, extended=call.extended)
        given = {name: operand(core, spec, rng) for name, spec in call.specs.items()}
        named = {name: value for name, value in given.items() if value is not None and value != ()}
        function = getattr(core, call.instr.name)
        taken = signature(function).parameters  # a function of its own may take less than the table has
        function(**{name: value for name, value in {**named, **call.attrs}.items() if name in taken})
    except pto.DiagnosticError as error:
        refused = error.diagnostics[0].rule
    assert not refused or refused in CATALOGUE, refused
    return refused or "ran"


def test_random_calls() -> None:
    counts = play(outcome, range(1500))
    assert counts["ran"] > 50
    assert len(counts) > 30


def test_the_table_has_no_instruction_that_python_lacks() -> None:
    core = pto.Core("a5")
    for instr in TABLE.values():
        if instr.run is not None and not instr.unrun and not instr.text_only:
            assert callable(getattr(core, instr.name))


@pytest.mark.campaign
@pytest.mark.parametrize("part", range(10))
def test_random_calls_campaign(part: int) -> None:
    play(outcome, range(1_000_000 + 10_000 * part, 1_010_000 + 10_000 * part))
