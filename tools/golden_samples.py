"""Golden answers of PTOAS's ``test/samples``: kernels as text with a script that makes inputs and answers.

Their host programs are written by the assembler's generator, of which the scripts read names, counts and outputs. Here
these are made of the text: counts from a kernel's views, scalars and least counts from the tables of the generator.
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ptokit.arguments.derive import derive
from ptokit.ir.core import Function, Module
from ptokit.types.dtypes import DType
from ptokit.types.values import Ptr

BASE = "test/samples"
TYPES = {"f32": "float", "f16": "half", "bf16": "uint16_t", "index": "int64_t", "i1": "bool"}
ROOM = 1024  # elements of an array of which nothing is known


def found(root: Path) -> Iterator[tuple[str, Path, Path]]:
    """Name, script and text of every sample that has both."""
    for script in sorted((root / BASE).rglob("*_golden.py")):
        name = script.name.removesuffix("_golden.py")
        texts = (script.parent / f"{name}.pto", *sorted((script.parent / "kernels").rglob(f"{name}.pto")))
        text = next((t for t in texts if t.exists()), None)
        if text is not None:
            yield name, script, text


@lru_cache(maxsize=1)
def tables(root: Path) -> dict[str, Any]:
    """What the generator of host programs knows of some samples."""
    return runpy.run_path(str(root / "test/npu_validation/scripts/generate_testcase.py"), run_name="tables")


def c_type(dtype: str) -> str:
    """What the generator writes for an element type."""
    bits = re.fullmatch(r"(ui|u|si|i)(\d+)", dtype)
    if bits and dtype != "i1":
        return f"{'u' if bits[1][0] == 'u' else ''}int{bits[2]}_t"
    return TYPES.get(dtype, "uint8_t")


class Sample:
    """One sample kernel: the files that its scripts read, and the arguments of its launch."""

    def __init__(self, root: Path, name: str, script: Path, module: Module, entry: Function) -> None:
        known, folder = tables(root), script.parent.name
        self.name, self.script, self.entry = name, script, entry
        self.scalars: dict[int, Any] = {}
        self.arrays: dict[int, tuple[DType, int]] = {}
        least = known["_pointer_count_minimums_for_case"](folder, name)
        for k, (param, text) in enumerate(zip(entry.params, derive(module, entry))):
            if isinstance(param.type, Ptr):
                shape = re.search(r":([\dx]+)(:seed=\d+)?$", text)
                count = int(np.prod([int(n) for n in shape[1].split("x")])) if shape else ROOM
                self.arrays[k] = param.type.dtype, max(count, least.get(f"v{k + 1}", 0))
            elif str(param.type) in ("f32", "f16", "bf16"):
                self.scalars[k] = 1.0
            else:
                given = known["_integer_scalar_default_value"](name, f"v{k + 1}", c_type(str(param.type)), folder)
                alone = (param.name or "").endswith(("block_idx", "block_id"))
                self.scalars[k] = 0 if alone or given is None else given
        self.outputs = known["SAMPLE_CASE_OUTPUT_PARAMS"].get(folder.lower(), {}).get(name)

    def prepare(self, work: Path, written: set[str]) -> None:
        """Write what the scripts read: the lines of the host program, and the names of the outputs."""
        lines = []
        for k, (dtype, count) in self.arrays.items():
            kind = c_type(dtype.text)
            lines.append(f"size_t elemCount_v{k + 1} = {count};")
            lines.append(f"size_t fileSize_v{k + 1} = elemCount_v{k + 1} * sizeof({kind});")
        for k, value in self.scalars.items():
            if isinstance(value, int):
                lines.append(f"{c_type(str(self.entry.params[k].type))} v{k + 1} = {value};")
        lines += [f'ReadFile("./v{k + 1}.bin"' for k in self.arrays]
        (work / "main.cpp").write_text("\n".join(lines))
        named = [f"v{k + 1}" for k, p in enumerate(self.entry.params) if k in self.arrays and p.name in written]
        (work / "outputs.txt").write_text("\n".join(self.outputs or named))

    def arguments(self, work: Path, behind: int) -> list[Any]:
        """Arrays of what the script made, and numbers."""
        args: list[Any] = []
        for k in range(len(self.entry.params)):
            if k in self.arrays:
                dtype, count = self.arrays[k]
                file = work / f"v{k + 1}.bin"
                raw = file.read_bytes() if file.exists() else bytes(dtype.nbytes(count))
                args.append(np.frombuffer(bytearray(raw + bytes(behind)), dtype.value or dtype.storage))
            else:
                args.append(self.scalars[k])
        return args

    def judge(self, work: Path, args: list[Any]) -> tuple[str, str]:
        """Compare with the answers that the script left; a sample may have none."""
        compared = False
        for k, (dtype, _) in self.arrays.items():
            answer, file = work / f"golden_v{k + 1}.bin", work / f"v{k + 1}.bin"
            if not file.exists() or not answer.exists():
                continue
            compared = True
            kind = dtype.value or dtype.storage
            want = np.fromfile(answer, kind).astype(np.float64)
            got = args[k].reshape(-1)[: want.size].astype(np.float64)
            near = 2.0**-7 if dtype.name == "bf16" else 1e-3 if dtype.name == "f16" else 1e-4
            bad = ~np.isclose(got, want, rtol=near, atol=near, equal_nan=True)
            if bad.any():
                at = int(np.argmax(bad))
                return "wrong", f"v{k + 1}[{at}] = {got[at]:g}, golden {want[at]:g} ({bad.sum()} of {bad.size})"
        return ("right", "") if compared else ("no answer", "")
