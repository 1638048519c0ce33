"""Types, flags and constants of `arith`, in custom and generic form (assembly 11)."""

from __future__ import annotations

from ptokit.asm import parse_module, print_generic, print_module
from ptokit.isa.scalar.arithmetic import ARITH_BINARY, ARITH_CASTS, ARITH_EXTENDED, ARITH_UNARY
from tests.each import each

from .interchange import read_elsewhere
from .reading import canonical, errors_in, in_function, read
from .same import assert_same

SAME = [
    "%a = arith.addi %n, %n overflow<nsw, nuw> : index",
    "%a = arith.shli %i, %i overflow<nuw> : i32",
    "%a = arith.trunci %i overflow<nsw> : i32 to i8",
    "%a = arith.divsi %i, %i exact : i32",
    "%a = arith.shrui %n, %n exact : index",
    "%a = arith.extui %i nneg : i32 to i64",
    "%a = arith.uitofp %i nneg : i32 to f32",
    "%a = arith.truncf %x toward_zero : f32 to bf16",
    "%a = arith.truncf %x downward fastmath<nnan, ninf> : f32 to f16",
    "%a = arith.addf %x, %x fastmath<fast> {note = 1} : f32",
    "%a = arith.cmpf ult, %x, %x fastmath<nnan> : f32",
    "%a = arith.negf %x fastmath<nsz> : f32",
    "%a = arith.index_castui %n : index to i8",
    "%a = arith.bitcast %x : f32 to i32",
    "%a, %b = arith.addui_extended %i, %i : i32, i1",
    "%a:2 = arith.mulsi_extended %l, %l : i64",
    "%a = arith.constant -0.0 : f32",
    "%a = arith.constant -9223372036854775808 : i64",
    "%a = arith.constant dense<1> : vector<4xi16>",
    "%a = arith.constant dense<[-1, 2]> : vector<2xi16>",
    "%a = arith.constant 0x7F : f8E4M3FN",
    "%a = arith.constant 0x7C : f8E5M2",
    "%a = arith.constant 0x7FF0000000000000 : f64",
    "%a = arith.constant 0x7FC01234 : f32",
]


@each("line", SAME)
def test_canonical_forms_stay(line: str) -> None:
    assert canonical(line) == [line]
    module = read(in_function(line))
    generic = print_generic(module)
    assert_same(module, read(generic))
    assert print_module(read(generic)) == print_module(module)
    read_elsewhere(generic, dialects=False)


VECTORS = """\
%v = arith.constant dense<[1, 2, 3, 4]> : vector<4xi16>
%w = arith.addi %v, %v : vector<4xi16>
%c4 = arith.cmpi slt, %v, %w : vector<4xi16>
%s = arith.select %c4, %v, %w : vector<4xi1>, vector<4xi16>
%o = arith.select %c, %v, %w : vector<4xi16>
%f = arith.sitofp %v : vector<4xi16> to vector<4xf32>
%m, %k = arith.addui_extended %v, %w : vector<4xi16>, vector<4xi1>"""


def test_vectors() -> None:
    text = VECTORS.replace("%v", "%vv")
    assert canonical(text) == text.splitlines()
    generic = print_generic(read(in_function(text)))
    assert_same(read(in_function(text)), read(generic))


@each(
    "text, line",
    [
        ("%a = arith.addi %i, %i overflow<none> : i32", "%a = arith.addi %i, %i : i32"),
        ("%a = arith.addi %i, %i overflow<nsw,nuw> : i32", "%a = arith.addi %i, %i overflow<nsw, nuw> : i32"),
        ("%a = arith.select %c, %i, %i : i1, i32", "%a = arith.select %c, %i, %i : i32"),
        ('%a = "arith.divsi"(%i, %i) <{isExact}> : (i32, i32) -> i32', "%a = arith.divsi %i, %i exact : i32"),
        (
            '%a = "arith.truncf"(%x) <{roundingmode = 2 : i32}> : (f32) -> f16',
            "%a = arith.truncf %x upward : f32 to f16",
        ),
        (
            '%a = "arith.addf"(%x, %x) <{fastmath = #arith.fastmath<none>}> : (f32, f32) -> f32',
            "%a = arith.addf %x, %x : f32",
        ),
        ("%a = arith.constant 0x7FC0 : bf16", "%a = arith.constant 0x7FC0 : bf16"),
        ("%a = arith.constant 0x38 : f8E4M3FN", "%a = arith.constant 1.0 : f8E4M3FN"),
        ("%a = arith.constant 0xFFFFFFFFFFFFFFFF : i64", "%a = arith.constant -1 : i64"),
        ("%a = arith.constant false", "%a = arith.constant false"),
        ("%a = arith.constant -1 : i1", "%a = arith.constant true"),
    ],
)
def test_other_spellings(text: str, line: str) -> None:
    assert canonical(text) == [line]


T = "!pto.tile_buf<vec, 16x16xf32>"


def lines(name: str, given: str, made: str, arguments: int) -> tuple[str, str]:
    """An operation on parameters of a function, in both forms."""
    values = ", ".join(f"%a{k}" for k in range(arguments))
    results = 2 if name in ARITH_EXTENDED else 1
    second = "i1" if name == "arith.addui_extended" else given
    predicate = {"arith.cmpi": "eq, ", "arith.cmpf": "oeq, "}.get(name, "")
    types = f"{given} to {made}" if name in ARITH_CASTS else given
    types += ", i1" if name == "arith.addui_extended" else ""
    names = "%r, %s" if results == 2 else "%r"
    out = f"({given}, {second})" if results == 2 else "i1" if predicate else made
    properties = "<{predicate = 1 : i64}> " if predicate else ""
    listed = ", ".join([given] * arguments)
    return (
        f"{names} = {name} {predicate}{values} : {types}",
        f'{names} = "{name}"({values}) {properties}: ({listed}) -> {out}',
    )


FLOATS = [n for n in ARITH_BINARY | ARITH_UNARY if n.endswith("f")] + ["arith.cmpf"]
WHOLE = [*(ARITH_BINARY - set(FLOATS)), "arith.cmpi"]
NOTHING = (T, "!pto.ptr<f32>", "vector<4xf16x>")
PLAIN = [
    *((name, ("f16", "bf16", "f32", "f64", "vector<8xf32>"), ("index", "i1", "i32", *NOTHING)) for name in FLOATS),
    *((name, ("index", "i1", "i7", "i64", "ui8", "vector<2x4xi8>"), ("f32", "bf16", *NOTHING)) for name in WHOLE),
    *((name, ("i1", "i32"), ("index", "f32", *NOTHING)) for name in ARITH_EXTENDED),
]


@each("name, right, wrong", sorted(PLAIN))
def test_types_of_arithmetic(name: str, right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    arguments = 1 if name in ARITH_UNARY else 2
    for type in (*right, *wrong):
        if name in ARITH_EXTENDED and "vector" in type:
            continue
        for text in lines(name, type, type, arguments):
            if "vector" in type and '"arith.cmp' in text:
                text = text.replace("-> i1", f"-> {type[: type.rindex('x') + 1]}i1>")
            params = ", ".join(f"%a{k}: {type}" for k in range(arguments))
            found = parse_module(f"func.func @f({params}) {{\n{text}\nreturn\n}}\n").diagnostics
            assert [(d.rule, d.location.line) for d in found] == ([("TEXT-TYPE", 2)] if type in wrong else []), text


CASTS = {
    "extf": ([("f16", "f32"), ("bf16", "f64"), ("vector<4xf16>", "vector<4xf32>")],
             [("f32", "f32"), ("f32", "f16"), ("f16", "bf16"), ("i16", "f32"), ("f16", "i32"),
              ("vector<4xf16>", "vector<8xf32>"), ("f16", "vector<4xf32>")]),
    "truncf": ([("f64", "f32"), ("f32", "bf16"), ("f16", "f8E5M2")], [("f32", "f64"), ("f32", "f32"), ("f32", "i8")]),
    "extsi": ([("i1", "i8"), ("i8", "i64")], [("i8", "i8"), ("i32", "i8"), ("index", "i64"), ("i8", "index")]),
    "extui": ([("i1", "i8"), ("i8", "i64")], [("i64", "i32"), ("i8", "f16"), ("f16", "i32")]),
    "trunci": ([("i64", "i1")], [("i8", "i16"), ("i8", "i8"), ("index", "i8"), ("f32", "i8")]),
    "sitofp": ([("i1", "f16"), ("i64", "f64")], [("index", "f32"), ("f32", "f64"), ("i32", "i32")]),
    "uitofp": ([("i8", "bf16")], [("index", "f32"), ("i8", "i8")]),
    "fptosi": ([("f32", "i1"), ("bf16", "i64")], [("f32", "index"), ("i32", "i32"), ("f32", "f32")]),
    "fptoui": ([("f32", "i8")], [("f32", "index"), ("i32", "i8")]),
    "index_cast": ([("index", "i1"), ("i64", "index")], [("index", "index"), ("i32", "i64"), ("f32", "index")]),
    "index_castui": ([("index", "i8"), ("i8", "index")], [("index", "index"), ("index", "f32")]),
    "bitcast": ([("i32", "f32"), ("bf16", "i16"), ("f16", "bf16"), ("i8", "ui8")],
                [("i32", "f16"), ("index", "i64"), ("i64", "index"), (T, "i32")]),
}  # fmt: skip


@each("name", CASTS)
def test_types_of_casts(name: str) -> None:
    assert {f"arith.{n}" for n in CASTS} == ARITH_CASTS
    right, wrong = CASTS[name]
    for given, made in right + wrong:
        for text in lines(f"arith.{name}", given, made, 1):
            found = parse_module(f"func.func @f(%a0: {given}) {{\n{text}\nreturn\n}}\n").diagnostics
            wanted = [("TEXT-TYPE", 2)] if (given, made) in wrong else []
            assert [(d.rule, d.location.line) for d in found] == wanted, text


@each(
    "text, found",
    [
        ("%a = arith.addi %x, %x : f32", [("TEXT-TYPE", 1, 26)]),
        ("%a = arith.extf %x : f32 to f16", [("TEXT-TYPE", 1, 29)]),
        ("%a = arith.addi %i, %i overflow<nsx> : i32", [("TY-8", 1, 24)]),
        ("%a = arith.addf %x, %x fastmath<quick> : f32", [("TY-8", 1, 24)]),
        ("%a = arith.addi %i, %i fastmath<fast> : i32", [("TEXT-ATTRIBUTE", 1, 24)]),
        ("%a = arith.addf %x, %x overflow<nsw> : f32", [("TEXT-ATTRIBUTE", 1, 24)]),
        ("%a = arith.divsi %i, %i overflow<nsw> : i32", [("TEXT-ATTRIBUTE", 1, 25)]),
        ("%a = arith.addi %i, %i exact : i32", [("TEXT-UNEXPECTED", 1, 24)]),
        ("%a = arith.extsi %i nneg : i32 to i64", [("TEXT-UNEXPECTED", 1, 21)]),
        ("%a = arith.extf %x upward : f32 to f64", [("TEXT-UNEXPECTED", 1, 20)]),
        ("%a = arith.select %n, %i, %i : i32", [("TY-9", 1, 19)]),
        ("%a = arith.select %n, %i, %i : index, i32", [("TY-9", 1, 19)]),
        ("%a = arith.cmpf eq, %x, %x : f32", [("TY-8", 1, 17)]),
        ("%a = arith.cmpi ult, %x, %x : f32", [("TEXT-TYPE", 1, 31)]),
        ("%a, %b = arith.addui_extended %i, %i : i32, i8", [("TEXT-TYPE", 1, 45)]),
        ("%a = arith.constant 128.0 : i8", [("TEXT-UNEXPECTED", 1, 21)]),
        ("%a = arith.constant -129 : i8", [("TEXT-NUMBER", 1, 21)]),
        ("%a = arith.constant 256 : i8", [("TEXT-NUMBER", 1, 21)]),
        ("%a = arith.constant 0x100 : f8E5M2", [("TEXT-NUMBER", 1, 21)]),
        ('%a = "arith.truncf"(%x) <{roundingmode = 5 : i32}> : (f32) -> f16', [("TY-8", 1, 25)]),
        ('%a = "arith.divsi"(%i, %i) <{isExact = 1}> : (i32, i32) -> i32', [("TEXT-ATTRIBUTE", 1, 28)]),
        (
            '%a = "arith.addi"(%i, %i) <{overflowFlags = #arith.overflow<nsx>}> : (i32, i32) -> i32',
            [("TY-8", 1, 27)],
        ),
    ],
)
def test_errors(text: str, found: list[tuple[str, int, int]]) -> None:
    assert errors_in(text) == found
