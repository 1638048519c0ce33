"""A module as a string for other processes holds all of it."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ptokit as pto
from ptokit.asm import parse_module, read_module
from ptokit.diagnostics import Location
from ptokit.ir import Block, Function, Module, Op, Part, RawAttr, Value
from ptokit.ir.serial import FORMAT, dumps, loads
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import RoundMode
from ptokit.types.tile import TileSpec
from ptokit.types.values import INDEX, Ptr, Scalar

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "examples").rglob("*.pto"), *(ROOT / "tests/data").rglob("*.pto")])


def shown(value: Any) -> Any:
    """A value with its type, bits and order."""
    if isinstance(value, float):
        return ("float", struct.pack("<d", value))
    if isinstance(value, dict):
        return ("dict", [(shown(k), shown(v)) for k, v in value.items()])
    if isinstance(value, (list, tuple)):
        return (type(value), [shown(part) for part in value])
    return (type(value), repr(value))


def seen(module: Module) -> Iterator[Any]:
    """All that a module holds, in one order; values and blocks as the numbers of their first mention."""
    numbers: dict[Any, int] = {}

    def number(of: Any) -> int:
        return numbers.setdefault(of, len(numbers))

    def value(of: Value) -> Any:
        owner = number(of.owner) if isinstance(of.owner, (Block, Op)) else of.owner
        return (number(of), type(of.owner), owner, of.name, shown(of.type), of.location)

    def block(of: Block) -> Iterator[Any]:
        yield "block", number(of), of.label, [value(arg) for arg in of.args], len(of.ops), len(of.more)
        for op in of.ops:
            yield number(op), op.name, shown(op.attrs), op.location, op.arguments and dict(op.arguments)
            for name, operand in op.operands.items():
                inside = operand if isinstance(operand, list) else [operand]
                yield name, type(operand), [v and value(v) for v in inside]
            yield [value(result) for result in op.results], [number(after) for after in op.successors]
            for region in op.regions:
                yield from block(region)
        for more in of.more:
            yield from block(more)

    yield shown(module.attrs), module.name, module.file, module.ssa, module.text
    for f in module.functions:
        yield f.name, [value(p) for p in f.params], shown(f.results), shown(f.attrs), f.visibility, f.location
        yield shown(f.param_attrs), shown(f.result_attrs), shown(f.module_kind)
        yield f.part and (number(f.part), f.part.name, shown(f.part.attrs))
        if f.body is not None:
            yield from block(f.body)


def same(module: Module) -> None:
    text = dumps(module)
    again = loads(text)
    assert list(seen(again)) == list(seen(module))
    assert dumps(again) == text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_texts(path: Path) -> None:
    same(parse_module(path.read_text(), str(path)).module)


def made(**attrs: Any) -> Module:
    body = Block()
    place = Location("ä\n.py", 3, 4, 5)
    pointer = Value(Ptr(DTYPES["f32"], "gm"), "p", body, place)
    other = Value(Ptr(DTYPES["f32"]), "q", None)
    later = Block(args=[], label="on")
    later.args.append(Value(INDEX, "i", later))
    first = body.add(Op("x.first", {"a": pointer, "b": None, "c": [other, pointer], "d": []}, attrs))
    result = Value(Scalar("i32", True), "", location=place)
    inner = Block(ops=[Op("x.inner", results=[result], location=place, arguments={"a": 0, "b": "key"})])
    first.regions.append(inner)
    later.ops.append(Op("x.use", {"v": result, "i": later.args[0]}))
    body.add(Op("cf.br", {"to": [pointer]}, successors=[later]))
    body.more.append(later)
    part = Part("inside", {"kind": "cube"})
    functions = [
        Function("k", [pointer, other], [INDEX], {"pto.entry": True}, body, "private", [{"a": 1}, {}], place),
        Function("l", [], part=part, module_kind="cube", result_attrs=[{"r": RawAttr("x<y>")}]),
        Function("m", [], part=part),
    ]
    return Module(functions, {"target": "a5"}, "name", None, ssa=True, text=False)


NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF4_0000_0000_1234))[0]
TILE = TileSpec(pto.TileType.Left, DTYPES["e1m2"], 16, 64, -1, 3, pad=1 << 32)


PLAIN = [None, True, 1, 1.0, -0.0, NAN, float("inf"), 1 << 70, "", "\ud800\n", [], [1, [2.0]], (1, ("a",))]
OTHERS = [{1: "a", "b": 2}, {"float": "no"}, RoundMode.CAST_RINT, DTYPES["e2m1"], RawAttr("#x<1>"), TILE]


@pytest.mark.parametrize("value", [*PLAIN, *OTHERS], ids=repr)
def test_what_attributes_may_hold(value: Any) -> None:
    module = made(value=value, other=value)
    same(module)
    first = loads(dumps(module)).functions[0].body.ops[0]
    if isinstance(value, (list, dict)):
        assert first.attrs["value"] is not first.attrs["other"]


def test_what_cannot_travel_is_refused() -> None:
    for value in (object(), pytest, {1, 2}, Path()):
        with pytest.raises(TypeError, match="cannot be sent"):
            dumps(made(value=value))


def test_another_format_is_refused() -> None:
    for text in (json.dumps({"format": FORMAT + 1}), "[]", json.dumps({})):
        with pytest.raises(ValueError, match="same version"):
            loads(text)


@pytest.mark.parametrize("name", ["os:system", "ptokit.ir.core:json", "ptokit.nothing:No", "ptokit.ir.serial:loads"])
def test_only_records_and_enumerations_of_ptokit_are_made(name: str) -> None:
    given = json.loads(dumps(made(value=1)))
    given["ops"][0][2]["value"] = {"record": [name, 1]}
    with pytest.raises((ValueError, ImportError)):
        loads(json.dumps(given))


def test_regions_may_be_deep() -> None:
    body = Block()
    inner = body
    for _ in range(5000):
        op = inner.add(Op("scf.if"))
        inner = Block()
        op.regions.append(inner)
    text = dumps(Module([Function("k", [], body=body)]))
    assert dumps(loads(text)) == text


@pto.kernel(target="a5")
def scales(x: pto.Ptr[pto.u8], n: int, factor: pto.Static = 3) -> None:
    t = pto.Tile(pto.TileType.Vec, pto.u8, 4, 32)
    for i in pto.range(n):
        pto.TEXPANDS(t, factor)
        pto.TSTORE(pto.GlobalTensor(x, (n, 4, 32))[i], t)


def traced(kernel: pto.Kernel = scales) -> str:
    return dumps(kernel.trace(pto.u8, 5))


def test_a_kernel_is_the_same_string_in_every_process() -> None:
    """Whatever hashes strings have there, and whether it was traced before."""
    code = "import sys\nfrom tests.ir.test_serial import traced\nsys.stdout.write(traced())"
    own = traced()
    for seed in "12":
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, cwd=ROOT)
        assert ran.stdout == own, ran.stderr
    assert traced(scales.on("a5")) == own
    same(loads(own))


def test_reading_a_text_again_gives_the_same_string() -> None:
    path = ROOT / "examples/pto/softmax.pto"
    assert dumps(read_module(path).module) == dumps(read_module(path).module)
