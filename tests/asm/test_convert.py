"""Every form of a program computes the same bytes, in every chain of conversions (assembly 5)."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.asm.convert import FORMS, convert
from ptokit.conformance.programs import Pointer, ProgramCase, read_case
from ptokit.ir import Module
from ptokit.run import compile_program
from ptokit.targets import Target

from .reading import CORPUS, DATA

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "pto").glob("*.pto"))
PROGRAMS = DATA / "programs"
CASES = [read_case(entry) for entry in json.loads((PROGRAMS / "manifest.json").read_text())["cases"]]
CHAINS = list(itertools.permutations(FORMS, 2))
STATED = re.compile(r"addr = |tile_buf_addr|set_flag|wait_flag|barrier|mem_bar")
PLACED = {"double_buffer_copy", "racy"}
"""Programs with addresses and flags, beside the synchronisation cases: level 1 has neither."""


def text_in(module: Module, form: str) -> str:
    """The module in a form, which is a fixed point: reading and printing it again gives the same text."""
    converted = convert(module, form)
    assert converted.text is not None, "\n".join(map(str, converted.diagnostics))
    again = parse_module(converted.text, "again.pto")
    assert list(again.diagnostics) == [], "\n".join(map(str, again.diagnostics))
    assert convert(again.module, form).text == converted.text
    return converted.text


def read_back(text: str, target: Target | None = None) -> Module:
    result = parse_module(text, "back.pto", target=target)
    assert list(result.diagnostics) == [], "\n".join(map(str, result.diagnostics))
    return result.module


def launched(module: Module, case: ProgramCase) -> list[Any]:
    """Bytes of the arguments of a case after a run."""
    program = compile_program(module, case.target, entry=case.entry or None)
    args = [a.make() if isinstance(a, Pointer) else a for a in case.args]
    passed = [
        a.view(p.dtype.storage) if isinstance(a, np.ndarray) and p.dtype is not None else a
        for a, p in zip(args, program.params, strict=True)
    ]
    program.launch(passed, case.blocks)
    return [a.tobytes() for a in args if isinstance(a, np.ndarray)]


@pytest.mark.parametrize("path", [*CORPUS, *EXAMPLES], ids=lambda p: p.stem)
@pytest.mark.parametrize("form", FORMS)
def test_forms_are_fixed_points(path: Path, form: str) -> None:
    module = read_back(path.read_text())
    if form == "ssa" and STATED.search(path.read_text()):
        converted = convert(module, form)
        assert converted.text is None
        assert {"CONVERT-ADDRESS", "CONVERT-ORDER"} & {d.rule for d in converted.diagnostics}
    else:
        text_in(module, form)


SHORT = {
    case.file: case for case in sorted(CASES, key=lambda c: -sum(a.elements for a in c.args if isinstance(a, Pointer)))
}
"""The smallest case of each kernel."""


@pytest.mark.parametrize("case", SHORT.values(), ids=lambda c: Path(c.file).stem)
def test_every_form_and_chain_computes_the_same_bytes(case: ProgramCase) -> None:
    module = read_back((PROGRAMS / case.file).read_text(), case.target)
    wanted = launched(module, case)
    forms = [form for form in FORMS if form != "ssa" or Path(case.file).stem not in PLACED]
    texts = {form: text_in(module, form) for form in forms}
    seen = set[str]()
    for first, second in CHAINS:
        if first in texts and second in texts:
            text = text_in(read_back(texts[first], case.target), second)
            if text not in seen:  # most chains end in the same text
                seen.add(text)
                assert launched(read_back(text, case.target), case) == wanted, (first, second)
