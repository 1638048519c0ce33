"""Write programs as C++, read them again, and run them in the C++ library's own simulator: the bytes are to be equal.

    python tools/cpp_out.py [PROGRAM ...] [--samples CHECKOUT] [--simulator CHECKOUT] [--part K/N] [--only TEXT]
                            [--blocks N] [--json FILE]

PROGRAM is a file, by default each of the examples; ``--samples`` adds the sample kernels of a PTOAS checkout. Every
kernel is launched on arguments made from its text, as in tools/samples.py. ``lifted``: its C++ compiled against
ptokit's headers and run by ptokit. ``simulated``: its C++ compiled against the headers of the library in the checkout,
and run by the simulator there for CPUs, against ``--matmul ref``. Verdicts: ``equal``, ``rounded`` where floats differ
by what other sums and exponentials leave, ``different``, ``refused`` (by the writer, with its rule and place), ``not
built``, ``crash``, ``no run`` where the program itself does not run alone.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import io
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from corpus import ARCHS
from corpus import samples as sample_cases
from samples import MIXES, NUMBERS, arguments_of, kernels

import ptokit
from ptokit.api.check import origins
from ptokit.cpp.compiler import Options
from ptokit.cpp.kernels import CppFile
from ptokit.cpp.writing.file import cpp_text
from ptokit.diagnostics import DiagnosticError
from ptokit.ir.core import Function, Module
from ptokit.ir.launch import VECTOR_CORES, Query, launch_of, with_reached
from ptokit.run import choose_entry, compile_program
from ptokit.targets import Target, target
from ptokit.types.dtypes import DTYPES
from ptokit.types.values import Ptr, Scalar

EXAMPLES = Path(__file__).parents[1] / "examples"
SIMULATED = (
    *("-std=c++2b", "-O1", "-w", "-fwrapv", "-ffp-contract=off"),
    *("-D__CPU_SIM", "-D__DAV_VEC__", "-D__DAV_CUBE__", "-D__STDCPP_BFLOAT16_T__", "-DCPU_SIM_BFLOAT_ENABLED"),
)
STDFLOAT = "#pragma once\nnamespace std {\nusing bfloat16_t = __bf16;\n}\n"
"""What clang lacks of C++23, and the simulator takes its bf16 from."""

COMPILER = ["clang++"] if shutil.which("clang++") else [sys.executable, "-m", "ziglang", "c++"]
SECONDS = 120
ROUNDED = {1: 0.15, 2: 0.01, 4: 1e-4}
"""Relative differences of floats, by their bytes, that sums in another order and other exponentials leave."""


@dataclass
class Outcome:
    """What became of one kernel."""

    name: str
    kernel: str
    lifted: str
    simulated: str
    why: list[str]


class Skip(Exception):
    """A verdict, and the reason for it."""

    def __init__(self, verdict: str, why: str) -> None:
        super().__init__(why)
        self.verdict, self.why = verdict, why


def judge(name: str, module: Module, used: Target, blocks: int, library: Path | None) -> Iterator[Outcome]:
    """What becomes of the kernels of one module."""
    for each in kernels(module):
        kernel = choose_entry(module, each)
        try:
            number = runs(module, kernel, used, blocks)
            text = cpp_text(module, used, kernel.name)
        except Skip as skip:
            yield Outcome(name, kernel.name, skip.verdict, skip.verdict, [skip.why])
            continue
        except DiagnosticError as error:
            first = error.diagnostics[0]
            why = f"{first.rule} {first.location.line}: {first.message}"
            yield Outcome(name, kernel.name, "refused", "refused", [why])
            continue
        verdicts, why = [], []
        for judged in (_lifted, _simulated):
            try:
                verdicts.append(judged(module, kernel, used, blocks, number, text, library))
            except Skip as skip:
                verdicts.append(skip.verdict)
                why.append(skip.why)
        yield Outcome(name, kernel.name, *verdicts, why)


def runs(module: Module, kernel: Function, used: Target, blocks: int) -> int | str:
    """The unknown integer with which a kernel runs. Raises `Skip`."""
    why = ""
    for number in (*NUMBERS, *(f"mix {k}" for k in range(MIXES))):
        try:
            launched(module, kernel, used, blocks, number)
            return number
        except DiagnosticError as error:
            why = f"{error.diagnostics[0].rule}: {error.diagnostics[0].message}"
            if not any(d.notes for d in error.diagnostics) and number == NUMBERS[0]:
                break
    raise Skip("no run", why)


def launched(
    module: Module, kernel: Function, used: Target, blocks: int, number: int | str, matmul: str = "exact"
) -> list[Any]:
    """The arguments of a launch after it."""
    values = arguments_of(module, kernel, blocks, number)
    with contextlib.redirect_stdout(io.StringIO()):
        program = compile_program(module, used, entry=kernel.name)
        program.launch(values, blocks, backend="numpy", matmul=matmul)
    return values


def defines(text: str) -> tuple[str, ...]:
    """The macros with which a file is built, as its first lines say."""
    return ("__PTO_AUTO__",) if "-D__PTO_AUTO__" in text.split("#include")[0] else ()


def _lifted(
    module: Module, kernel: Function, used: Target, blocks: int, number: int | str, text: str, _: Path | None
) -> str:
    want = launched(module, kernel, used, blocks, number)
    found = arguments_of(module, kernel, blocks, number)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "kernel.cpp"
        file.write_text(text)
        try:
            read = CppFile(str(file), used, Options(define=defines(text)))
            again = read.module(read.kernel())
            with contextlib.redirect_stdout(io.StringIO()):
                program = compile_program(again, used)
                given = [_as_bytes(v) if _is_unused(p.type, v) else v for v, p in zip(found, program.entry.params)]
                program.launch(given, blocks, backend="numpy")
        except DiagnosticError as error:
            first = error.diagnostics[0]
            raise Skip("not built", f"lifted: {first.rule} {first.location.line}: {first.message}") from None
    compare(want, found, "lifted")
    return "equal"


def _is_unused(type: Any, value: Any) -> bool:
    """True for a pointer that a kernel in C++ does not use: then nothing tells its type."""
    return isinstance(type, Ptr) and type.dtype is DTYPES["u8"] and isinstance(value, np.ndarray)


def _as_bytes(value: Any) -> Any:
    return np.ascontiguousarray(value).view(np.uint8)


def compare(want: Sequence[Any], found: Sequence[Any], what: str) -> None:
    """Raise `Skip` where bytes differ."""
    for k, (a, b) in enumerate(zip(want, found)):
        if isinstance(a, np.ndarray) and a.tobytes() != np.asarray(b).tobytes():
            x, y = np.ravel(a).view(np.uint8), np.ravel(b).view(np.uint8)
            near, verdict = "", "different"
            if not np.issubdtype(a.dtype, np.integer):
                with contextlib.suppress(TypeError, ValueError):
                    p, q = (np.ravel(v).astype(np.float64) for v in (a, b))
                    near = f", by {np.nanmax(np.abs(p - q)):.3g} at most"
                    if np.allclose(p, q, rtol=ROUNDED[min(4, a.itemsize)], atol=1e-6, equal_nan=True):
                        verdict = "rounded"
            raise Skip(verdict, f"{what}: {int((x != y).sum())} of {len(x)} bytes of argument {k}{near}")


def _simulated(
    module: Module, kernel: Function, used: Target, blocks: int, number: int | str, text: str, library: Path | None
) -> str:
    if library is None:
        return ""
    if launch_of(with_reached(module, kernel), kernel, used).mixed:
        raise Skip("no simulator", "cube and vector cores that run together")
    want = launched(module, kernel, used, blocks, number, "ref")
    given = arguments_of(module, kernel, blocks, number)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "kernel.cpp").write_text(text)
        command = [*simulated(library, defines(text)), "-shared"]
        made = subprocess.run(
            [*command, str(folder / "kernel.cpp"), "-o", str(folder / "kernel.so")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if made.returncode:
            errors = [line for line in made.stderr.splitlines() if "error" in line]
            raise Skip("not built", f"simulated: {errors[0].split('/')[-1] if errors else made.stderr[-200:]}")
        found = _called(folder, kernel, given, blocks)
    compare(want, found, "simulated")
    return "equal"


@cache
def simulated(library: Path, macros: tuple[str, ...]) -> list[str]:
    """The command that compiles for the simulator, with the library's headers compiled once."""
    folder = Path(tempfile.mkdtemp(prefix="cpp_out"))
    (folder / "stdfloat").write_text(STDFLOAT)
    includes = [f"-I{library / 'include'}", f"-I{folder}"]
    command = [*COMPILER, *SIMULATED, *(f"-D{macro}" for macro in macros), *includes, "-fPIC"]
    header, made = library / "include" / "pto" / "pto-inst.hpp", folder / "pto.pch"
    subprocess.run([*command, "-x", "c++-header", str(header), "-o", str(made)], check=True)
    return [*command, "-include-pch", str(made)]


def _called(folder: Path, kernel: Function, given: Sequence[Any], blocks: int) -> list[Any]:
    """The arguments after a launch by the simulator, in a process of its own."""
    own = {Query.BLOCK_IDX: 0, Query.BLOCK_NUM: blocks, Query.SUBBLOCK_IDX: 0, Query.SUBBLOCK_NUM: VECTOR_CORES}
    if blocks > 1 and any(value is Query.BLOCK_IDX for value in given):
        raise Skip("no simulator", "the number of the block is an argument, and there are several")
    kinds = []
    for k, (value, param) in enumerate(zip(given, kernel.params)):
        if isinstance(value, np.ndarray):
            padded = np.zeros(value.nbytes + 65536, np.uint8)
            padded[: value.nbytes] = np.ravel(value).view(np.uint8)
            np.save(folder / f"{k}.npy", padded)
            kinds.append("array")
        else:
            assert isinstance(param.type, Scalar)
            value = own.get(value, value)
            kinds.append(f"{param.type.name}={value}")
    name = "".join(c if c.isalnum() or c == "_" else "_" for c in kernel.name).strip("_")
    asked = [sys.executable, __file__, "--call", str(folder), name, str(blocks), *kinds]
    try:
        run = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise Skip("slow", f"simulated: more than {SECONDS} s") from None
    if run.returncode:
        said = (run.stderr.strip().splitlines() or [""])[-1]
        raise Skip("crash", f"simulated: ended with {run.returncode}: {said[:200]}")
    out = []
    for k, value in enumerate(given):
        if isinstance(value, np.ndarray):
            raw = np.load(folder / f"{k}.npy")
            out.append(raw[: value.nbytes].view(value.dtype).reshape(value.shape))
        else:
            out.append(value)
    return out


def call(folder: Path, name: str, blocks: int, kinds: Sequence[str]) -> int:
    """Launch a kernel of a shared library with the arrays of a folder."""
    arrays, arguments = {}, []
    for k, kind in enumerate(kinds):
        if kind == "array":
            arrays[k] = np.load(folder / f"{k}.npy")
            arguments.append(ctypes.c_void_p(arrays[k].ctypes.data))
            continue
        type, _, value = kind.partition("=")
        as_float = {"f32": ctypes.c_float, "f64": ctypes.c_double}.get(type)
        if as_float is not None:
            arguments.append(as_float(float(value)))
        elif type in ("f16", "bf16"):
            print(f"a parameter of type {type}", file=sys.stderr)
            return 3
        else:
            arguments.append(ctypes.c_int64(int(float(value)) if value not in ("True", "False") else value == "True"))
    ctypes.CDLL(str(folder / "kernel.so"))[f"launch_{name}"](ctypes.c_uint32(blocks), None, *arguments)
    for k, array in arrays.items():
        np.save(folder / f"{k}.npy", array)
    return 0


def programs(given: argparse.Namespace) -> Iterator[tuple[str, Module, Target]]:
    """All programs that are asked for, with their targets."""
    files = given.programs or sorted([*(EXAMPLES / "pto").glob("*.pto"), *(EXAMPLES / "python").glob("*.py")])
    if not given.samples or given.programs:
        for file in files:
            yield from _of_file(file)
    if given.samples:
        part, parts = (int(n) for n in given.part.split("/"))
        for case in [c for c in sample_cases(given.samples, "samples") if given.only in c.name][part - 1 :: parts]:
            wanted = target(ARCHS[case.arch]) if case.arch else None
            read = ptokit.read(case.text, name=case.name, target=wanted)
            if not read.diagnostics.errors:
                yield case.name, read.module, wanted or read.target or target("a2a3")


def _of_file(file: Path) -> Iterator[tuple[str, Module, Target]]:
    if file.suffix == ".py":
        for each in origins(str(file)):
            read = each.single().read(None)
            yield file.name, read.module, read.target or target("a5")
        return
    used = ptokit.read(file).target or target("a2a3")
    yield file.name, ptokit.read(file, target=used).module, used


def main(arguments: list[str]) -> int:
    """Run the tool."""
    if arguments[:1] == ["--call"]:
        folder, name, blocks, *kinds = arguments[1:]
        return call(Path(folder), name, int(blocks), kinds)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("programs", nargs="*", type=Path)
    parser.add_argument("--samples", type=Path, help="a checkout of PTOAS")
    parser.add_argument("--simulator", type=Path, help="a checkout of the C++ library")
    parser.add_argument("--blocks", type=int, default=1)
    parser.add_argument("--part", default="1/1", help="K/N: every N-th sample, from the K-th on")
    parser.add_argument("--only", default="", help="samples whose name has this text")
    parser.add_argument("--json", type=Path, help="append a line for each kernel; kernels with one are not asked again")
    given = parser.parse_args(arguments)
    outcomes, done = [], set[str]()
    if given.json and given.json.exists():
        outcomes = [Outcome(**json.loads(line)) for line in given.json.read_text(encoding="utf-8").splitlines()]
        done = {outcome.name for outcome in outcomes}
    for name, module, used in programs(given):
        if name in done:
            continue
        for outcome in judge(name, module, used, given.blocks, given.simulator):
            outcomes.append(outcome)
            if given.json:
                with given.json.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(asdict(outcome)) + "\n")
    for what in ("lifted", "simulated"):
        print(f"\n{what}: {len(outcomes)} kernels")
        for verdict, count in Counter(getattr(o, what) for o in outcomes).most_common():
            print(f"  {count:5}  {verdict}")
    reasons = Counter(why.split("{")[0][:110] for o in outcomes for why in o.why)
    first = {why.split("{")[0][:110]: o.name for o in reversed(outcomes) for why in o.why}
    for why, count in reasons.most_common(40):
        print(f"  {count:5}  {why}   {first[why]}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
