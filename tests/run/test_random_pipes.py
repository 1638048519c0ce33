"""Random mixed kernels: tiles go through pipes of any kind, with random work on the vector cores."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ptokit.asm import parse_module
from ptokit.diagnostics import Severity
from ptokit.run import compile_program
from ptokit.sanitize import sanitize
from ptokit.targets import target

from .pipe_texts import arrays, text

WORK = {
    "tadds": lambda x, n: x + n,
    "tmaxs": np.maximum,
    "tmins": np.minimum,
    "tneg": lambda x, n: -x,
    "tabs": lambda x, n: abs(x),
    "trelu": lambda x, n: np.maximum(x, 0),
}


def check(seed: int) -> None:
    """A kernel of random form gives what NumPy gives, and so does the sanitizer, which finds nothing."""
    rng = random.Random(seed)
    way, on = rng.choice(["c2v", "v2c"]), rng.choice(["a2a3", "a5", "cpu"])
    split, turns = rng.randrange(3), rng.randint(1, 5)
    memory = True if on == "a5" and rng.random() < 0.3 else None
    internal = (memory and way == "v2c") or rng.random() < 0.4
    slots = rng.choice([None, 1, 2, 3])
    source = text(way, split, on=on, turns=turns, slots=slots, memory=memory, internal=internal)
    line = next(s for s in source.splitlines() if s.startswith("pto.tadds"))
    dtype = "f32" if way == "c2v" else "f16"
    tile = line.split("%one : ")[1].split(f", {dtype})")[0]
    out = "%out" if way == "c2v" else "%o"
    chain, constants = [], []
    for k in range(rng.randrange(5)):
        name, number = rng.choice([*WORK]), rng.randint(-2, 2)
        chain.append((name, number))
        constants.append(f"%n{k} = arith.constant {number}.0 : {dtype}")
        given = f"{out}, %n{k} : {tile}, {dtype}" if name.endswith("s") and name != "tabs" else f"{out} : {tile}"
        line += f"\npto.{name} ins({given}) outs({out} : {tile})"
    source = source.replace(next(s for s in source.splitlines() if s.startswith("pto.tadds")), line)
    one = f"%one = arith.constant 1.0 : {dtype}"
    source = source.replace(one, "\n".join([one, *constants]))

    def work(x: np.ndarray) -> np.ndarray:
        x = x + 1
        for name, number in chain:
            x = WORK[name](x, number)
        return x

    args = arrays(turns, seed)
    x, w = args[0].astype(np.float32), args[1].astype(np.float32)
    wanted = work(x @ w) if way == "c2v" else work(x) @ w
    module, used = parse_module(source, "k.pto", target=target(on)).module, target(on)
    cores = 2 if split else 1  # both would store a whole tile
    program = compile_program(module, used, vector_cores=cores)
    again = [a.copy() for a in args]
    program.launch(args)
    told = f"seed {seed}: {way} on {on}, split {split}, {slots} slots, {turns} turns, {chain}"
    assert (args[3] == wanted).all(), told
    report = sanitize(module, used, again, 1, mode="auto-sync", vector_cores=cores)
    assert [str(d) for d in report.diagnostics if d.severity is Severity.ERROR] == [], told
    assert again[3].tobytes() == args[3].tobytes(), told


@pytest.mark.parametrize("seed", range(12))
def test_random_kernels(seed: int) -> None:
    check(seed)


@pytest.mark.campaign
def test_many_random_kernels() -> None:
    for seed in range(100, 700):
        check(seed)
