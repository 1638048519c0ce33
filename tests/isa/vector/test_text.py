"""Every operation on registers as text: read, checked, printed, read again, and run as the table says."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ptokit.isa.table import TABLE
from ptokit.types.dtypes import dtype
from tests.each import each

from .lines import operands, program, spelled, split
from .programs import checked, read, run
from .registers import Machine, call, info

UNARY_F = ("vabs", "vneg", "vexp", "vln", "vsqrt", "vrsqrt", "vrec", "vrelu", "vmov")
LINES = [
    *(f"%r = pto.{n} %a, %m : $f32, $b32 -> $f32" for n in UNARY_F),
    *(f"%r = pto.{n} %a, %m : $si16, $b16 -> $si16" for n in ("vabs", "vnot", "vbcnt", "vcls")),
    "%r = pto.vmov %a : $f8E4M3FN -> $f8E4M3FN",
    *(
        f"%r = pto.{n} %a, %b, %m : $f16, $f16, $b16 -> $f16"
        for n in ("vadd", "vsub", "vmul", "vdiv", "vmax", "vmin", "vor", "vprelu", "vaddrelu", "vsubrelu")
    ),
    *(f"%r = pto.{n} %a, %b, %m : $ui8, $ui8, $b8 -> $ui8" for n in ("vand", "vor", "vxor", "vadd")),
    "%r = pto.vadd %a, %b, %m : $i64, $i64, $b32 -> $i64",
    "%r = pto.vadd %a, %b, %m : $bf16, $bf16, $b16 -> $bf16",
    *(f"%r, %c1 = pto.{n} %a, %b, %m : $ui32, $ui32, $b32 -> $ui32, $b32" for n in ("vaddc", "vsubc")),
    *(f"%r, %c1 = pto.{n} %a, %b, %n, %m : $ui32, $ui32, $b32, $b32 -> $ui32, $b32" for n in ("vaddcs", "vsubcs")),
    *(f"%r = pto.{n} %a, %s, %m : $f32, f32, $b32 -> $f32" for n in ("vadds", "vsubs", "vmuls", "vmaxs", "vmins")),
    *(f"%r = pto.{n} %a, %s, %m : $ui16, i16, $b16 -> $ui16" for n in ("vadds", "vands", "vors", "vxors")),
    *(f"%r = pto.{n} %a, %s, %m : $ui8, i16, $b8 -> $ui8" for n in ("vshls", "vshrs")),
    *(f"%r = pto.{n} %a, %b, %m : $si16, $si16, $b16 -> $si16" for n in ("vshl", "vshr")),
    "%r = pto.vlrelu %a, %s, %m : $f16, f16, $b16 -> $f16",
    "%r = pto.vaxpy %a, %b, %s, %m : $f32, $f32, f32, $b32 -> $f32",
    *(f"%r = pto.{n} %a, %b, %c, %m : $f32, $f32, $f32, $b32 -> $f32" for n in ("vmula", "vmadd")),
    '%r = pto.vmulscvt %a, %s, %m, "A", "ODD" : $f32, f32, $b32 -> $f16',
    "%r, %h = pto.vmull %a, %b, %m : $i32, $i32, $b32 -> $i32, $i32",
    *(f'%r = pto.vcmp %a, %b, %m, "{w}" : $f32, $f32, $b32 -> $b32' for w in ("eq", "ne", "lt", "le", "gt", "ge")),
    '%r = pto.vcmps %a, %s, %m, "gt" : $si8, i8, $b8 -> $b8',
    "%r = pto.vsel %a, %b, %m : $ui8, $ui8, $b8 -> $ui8",
    "%r = pto.vselr %a, %b : $f16, $ui16 -> $f16",
    "%r = pto.vperm %a, %b : $f32, $i32 -> $f32",
    '%r = pto.vcvt %a, %m {rnd = "R", sat = "SAT", part = "ODD"} : $f32, $b32 -> $f16',
    '%r = pto.vcvt %a, %m {part = "EVEN"} : $f16, $b16 -> $f32',
    '%r = pto.vcvt %a, %m {sat = "SAT", part = "P2"} : $ui32, $b32 -> $ui8',
    '%r = pto.vcvt %a, %m {rnd = "R", part = "EVEN"} : $si64, $b32 -> $f32',
    '%r = pto.vcvt %a {round_mode = "ROUND_Z", sat = "RS_ENABLE"} : $f32 -> $si32',
    '%r = pto.vtrc %a, %m, "F" : $f32, $b32 -> $f32',
    *(f"%r, %k = pto.{n} %a, %m : $si16, $b16 -> $si16, $b16" for n in ("vcbmax", "vcbmin")),
    *(f"%r = pto.{n} %a, %b, %m, %s : $ui16, $ui8, $b8, i32 -> $ui16" for n in ("chistv2", "dhistv2")),
    *(f"%r = pto.{n} %a, %m : $f32, $b32 -> $f32" for n in ("vcadd", "vcmax", "vcmin", "vcgadd", "vcgmax", "vcgmin")),
    "%r = pto.vcadd %a, %m : $i8, $b8 -> $i16",
    "%r = pto.vcpadd %a, %m : $f16, $b16 -> $f16",
    "%r, %h = pto.vintlv %a, %b : $f32, $f32 -> $f32, $f32",
    "%r, %h = pto.vdintlv %a, %b : $i8, $i8 -> $i8, $i8",
    "%r = pto.vsqz %a, %m : $f32, $b32 -> $f32",
    "%r = pto.vusqz %a, %m : $i32, $b32 -> $i32",
    "%r = pto.vusqz %m : $b32 -> $i32",
    '%r = pto.vpack %a, "HIGHER" : $i32 -> $ui16',
    "%r = pto.vpack %a, %b, %s : $i32, $i32, index -> $ui16",
    "%r = pto.vsunpack %a, %s : $i16 -> $i32",
    "%r = pto.vzunpack %a, %s : $ui16, index -> $ui32",
    "%r = pto.vslide %a, %b, %s : $f32, $f32, i16 -> $f32",
    "%r = pto.vshift %a, %s : $f32, i16 -> $f32",
    "%r = pto.vbitcast %a : $f32 -> $ui8",
    '%r = pto.vexpdif %a, %b, %m, "ODD" : $f16, $f16, $b16 -> $f32',
    "%r = pto.vexpdiff %a, %b : $f32, $f32 -> $f32",
    "%r = pto.vaddreluconv %a, %b, %m : $f32, $f32, $b32 -> $f16",
    "%r = pto.vmulconv %a, %b : $f16, $f16 -> $i8",
    "%r = pto.vbr %s : i8 -> $ui8",
    "%r = pto.vdup %s, %m : f32, $b32 -> $f32",
    '%r = pto.vdup %a, %m {position = "HIGHEST"} : $f32, $b32 -> $f32',
    '%r = pto.vci %s {order = "DESC"} : i32 -> $si32',
    *(f'%r = pto.{n}_b{b} "PAT_M3" : $b{b}' for n in ("pset", "pge") for b in (8, 16, 32)),
    *(f"%r, %x = pto.plt_b{b} %s : i32 -> $b{b}, i32" for b in (8, 16, 32)),
    *(f"%r = pto.pltm_b{b} %l, %s : i16, i32 -> $b{b}" for b in (8, 16, 32)),
    *(f"%r = pto.{n} %m, %n, %o : $b32, $b32, $b32 -> $b32" for n in ("pand", "por", "pxor", "psel")),
    "%r = pto.psel %m, %n, %o, %q : $b16, $b16, $b16, $b16 -> $b16",
    "%r = pto.pnot %m, %n : $b8, $b8 -> $b8",
    '%r = pto.ppack %m, "LOWER" : $b32 -> $b32',
    '%r = pto.punpack %m, "HIGHER" : $b32 -> $b32',
    *(
        f"%r, %h = pto.{n}_b{b} %m, %n : $b{b}, $b{b} -> $b{b}, $b{b}"
        for n in ("pintlv", "pdintlv")
        for b in (8, 16, 32)
    ),
    "%r = pto.pbitcast %m : $b16 -> $b32",
]

# Further spellings of the public documents: with %a, %b of f32, %m of b32, %i of i32, %x an index, %p and %f pointers.
SPELLINGS = """\
pto.pset_b8 "PAT_ALL" outs(%r : !pto.mask)
pto.vci ins(%i : i32) outs(%r : $si32) {order = "ASC"}
%r, %n = pto.plt_b32 %i {post_update} : i32 -> $b32, i32
%r = pto.vadd %a, %b : $f32 -> $f32
vadd %r, %a, %b, %m
%r = pto.vaddreluconv %a, %b, %m : ($f32, $f32, $b32) -> $f16
%r = pto.vtrc %a, %m, "ROUND_Z" : $f32, $b32 -> $f32
%r = pto.vtrc %a, "R" : $f32 -> $f32
%r = pto.pnot %m, %m : $b32
%r = pto.plds %p : !pto.ptr<ui8, ub> -> !pto.mask
%r = pto.pldi %p, 4, "NORM" : !pto.ptr<ui8, ub>, i32 -> !pto.mask
%r = pto.vsunpack %w, %x : $i16 -> $i32
pto.vbitsort %f, %f, %u, %x : (!pto.ptr<f32, ub>, !pto.ptr<f32, ub>, !pto.ptr<ui32, ub>, index) -> ()
""".splitlines()


@each("line", SPELLINGS)
def test_further_spellings(line: str) -> None:
    text = f"""\
func.func @f(%i: i32, %x: index) {{
  %z = arith.constant 0 : i64
  %p = pto.castptr %z : i64 -> !pto.ptr<ui8, ub>
  %f = pto.castptr %z : i64 -> !pto.ptr<f32, ub>
  %u = pto.castptr %z : i64 -> !pto.ptr<ui32, ub>
  %h = pto.castptr %z : i64 -> !pto.ptr<i16, ub>
  pto.vecscope {{
    %m = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>
    %a = pto.vlds %f : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
    %b = pto.vlds %f : !pto.ptr<f32, ub> -> !pto.vreg<64xf32>
    %w = pto.vlds %h : !pto.ptr<i16, ub> -> !pto.vreg<128xi16>
    {spelled(line)}
  }}
  return
}}
"""
    read(text)
    assert checked(text) == []


IN_MEMORY = {"plds", "pldi", "pld", "psts", "psti", "pst", "pstu", "vbitsort", "vmrgsort4", "get_vms4_sr"}
REFUSED = {"vselrv2", "vtranspose", "vsort32"}
NOT_ON_A5 = {"vintlvv2", "vdintlvv2"}


def test_every_operation_has_a_line() -> None:
    lines = {re.search(r"pto\.(\w+)", line)[1] for line in LINES}  # type: ignore[index]
    modules = "arithmetic convert reduce rearrange materialise predicates histogram"
    ours = {
        name
        for name, instr in TABLE.items()
        if instr.form.syntax == "micro" and instr.run is not None and _module(instr.run) in modules.split()
    }
    written = {TABLE[n].name if n in TABLE else "vexpdif" for n in lines}
    assert ours - IN_MEMORY - REFUSED - NOT_ON_A5 <= written | IN_MEMORY


def _module(run: Any) -> str:
    return str(getattr(run, "func", run).__module__).rpartition(".")[2]


@each("line", LINES)
def test_lines_are_correct_on_a5(line: str) -> None:
    assert [d for d in checked(program(line)) if d.rule != "VEC-A5-N1"] == []


@each("line", LINES)
def test_lines_run_as_the_table_says(line: str) -> None:
    text = spelled(line)
    instr = TABLE["vexpdif" if "vexpdiff" in line else re.search(r"pto\.(\w+)", text)[1]]  # type: ignore[index]
    data = np.random.default_rng(len(line)).integers(0, 256, 2048, dtype=np.uint8)
    for k in range(8):  # numbers of moderate size in every float type
        data[256 * k : 256 * k + 256] = (np.arange(128) % 7 - 3).astype(np.float16).view(np.uint8)
    data[1024:] = np.random.default_rng(1).integers(0, 256, 1024)
    out = np.zeros(2048, np.uint8)
    target = "cpu" if "vsh" in line else "a5"  # the others refuse these counts
    run(program(line), data, out, on=target)

    args: list[Any] = []
    place = 0
    types: dict[str, Any] = {}
    numbers = {"f16": 1.5, "f32": 1.5, "i8": 7, "i16": 3, "i32": 5, "index": 1}
    for type in operands(text).values():
        raw = data[256 * place : 256 * place + 256][None]
        if type.startswith("!pto.vreg"):
            element = dtype(type[type.index("x") + 1 : -1])
            args.append(raw.view(element.value or element.storage))
            place += 1
        elif type.startswith("!pto.mask"):
            args.append(np.unpackbits(raw[:, :32], axis=1, bitorder="little").view(bool))
            place += 1
        else:
            args.append(numbers[type])
    named, written = [o for o in instr.operands if not o.form.offset], list(operands(text).items())
    bound = _align(named, [t for _, t in written])
    given = [None if k is None else args[k] for k in bound]
    for operand, k in zip(named, bound):
        if k is not None:
            type = written[k][1]
            types[operand.name] = info("x", _known(type))
    results = split(text)[2]
    for result, type in zip(instr.produces, results):
        types[result.name] = info(result.name, _known(type))
    attrs = dict(re.findall(r'(\w+) = "(\w+)"', text))
    tokens = re.findall(r', "(\w+)"| "(PAT_\w+)"', text)
    attrs |= {a.name: "".join(t) for a, t in zip((a for a in instr.attrs if a.token), tokens)}
    want = call(instr.name, *given, types=types, machine=Machine(target), **attrs)
    want = want if isinstance(want, tuple) else (want,)
    for i, (value, type) in enumerate(zip(want, results)):
        got = out[256 * i : 256 * i + 256]
        if type.startswith("!pto.mask"):
            assert np.array_equal(np.unpackbits(got[:32], bitorder="little"), value[0])
        elif type.startswith("!pto.vreg"):
            assert np.array_equal(got, np.ascontiguousarray(value).view(np.uint8)[0])
        else:
            assert got[:4].view(np.int32)[0] == value


def _known(type: str) -> str:
    if type.startswith("!pto.mask"):
        return type[10:-1]
    if type.startswith("!pto.vreg"):
        return dtype(type[type.index("x") + 1 : -1]).name
    return type + "!"


def _align(named: list[Any], types: list[str]) -> list[int | None]:
    """For each operand of the table the written one it is."""
    out: list[int | None] = []
    k = 0
    kinds = {"!pto.vreg": "vreg", "!pto.mask": "mask"}
    for operand in named:
        kind = kinds.get(types[k][:9], "scalar") if k < len(types) else ""
        if kind == operand.kind or ("vreg" in operand.also and kind == "vreg"):
            out.append(k)
            k += 1
        else:
            assert operand.optional, (operand, types)
            out.append(None)
    assert k == len(types)
    return out
