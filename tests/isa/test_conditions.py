"""Conditions of rules as text: what they find, what they may name, and that all of them can be read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from ptokit.diagnostics import Doubt
from ptokit.diagnostics.rules import Conditions, Need, When, first, need
from ptokit.isa import table
from ptokit.isa.checks import compiling
from ptokit.isa.checks.compiling import PYTHON, WORDS, seen
from ptokit.isa.site import Site, TileInfo, without_marks
from ptokit.isa.table import TABLE, Instr
from ptokit.targets import TARGETS, target
from ptokit.types.dtypes import DTYPES
from ptokit.types.enums import TileType
from ptokit.types.tile import tile

ISA = Path(table.__file__).parent
LIMIT = 64


def site(name: str = "TADD", on: str = "a5", **operands: TileInfo | None) -> Site:
    return Site(TABLE[name], target(on), operands)


def info(
    name: str, rows: int = 16, cols: int = 64, dtype: str = "f32", valid: tuple[int, int] | None = None
) -> TileInfo:
    return TileInfo.static(name, tile(TileType.Vec, DTYPES[dtype], rows, cols, *(valid or (rows, cols))))


A, B = info("a"), info("b", 8, 128, "f16")
OPEN = info("open", valid=(-1, -1))


@pytest.mark.parametrize(
    ("parts", "operands", "message"),
    [
        (("dst.vc <= 64", "{dst} has {dst.vc}"), {"dst": A}, None),
        (("dst.vc <= 64", "{dst} has {dst.vc}"), {"dst": B}, "dst has 128"),
        (("dst.vc <= 64", "{dst} has {dst.vc}"), {"dst": OPEN}, None),
        (("dst.vc in (64, 32)", "{%dst} has {dst.vc}"), {"dst": B}, "b has 128"),
        (("dst.vc in (64, 32)", "other"), {"dst": OPEN}, None),
        (("1 <= dst.vr < 16", "rows"), {"dst": A}, "rows"),
        (("1 <= dst.vr < 16", "rows"), {"dst": B}, None),
        (("not dst.boxed and nd(dst)", "boxes"), {"dst": A}, None),
        (("dst.boxed or not nd(dst)", "no boxes"), {"dst": A}, "no boxes"),
        (("dst.vc == 64 if dst.vr == 8", "{{}}"), {"dst": B}, "{}"),
        (("dst.vc == 64 if dst.vr == 8", "8 rows"), {"dst": A}, None),
        (("dst.vc == 32 if dst.vr == 8", "8 rows"), {"dst": OPEN}, None),
        (("dst.vc == (64 if dst.vr == 8 else 32)", "choice"), {"dst": B}, "choice"),
        (("dst.vc == 64 if dst.vr == 8 else dst.vc == 32", "choice"), {"dst": B}, "choice"),
        (("dst.vc <= LIMIT", "module"), {"dst": B}, "module"),
        (("dst.vc <= 64", "of {max(k * dst.vc for k in (1, 2))}"), {"dst": B}, "of 256"),
        (("tmp.vc <= 64", "absent"), {"dst": B}, None),
        (("src0.dtype is dst.dtype", ""), {"dst": A, "src0": B}, "src0 has element type f16, dst has f32"),
        (("src0.vr == dst.vr", "; why"), {"dst": A, "src0": B}, "src0 has 8 valid rows, dst has 16; why"),
        (("dst.vc <= 64", ""), {"dst": B}, "dst has 128 valid columns, more than 64"),
        (("dst.cols >= LIMIT * 4", ""), {"dst": B}, "dst has 128 columns, fewer than 256"),
        (("dst.rows == 16", ""), {"dst": B}, "dst has 8 rows, not 16"),
        (("dst.cols % 48 == 0", ""), {"dst": A}, "dst has 64 columns, no multiple of 48"),
        (("dst.loc is Mat", "; why"), {"dst": A}, "dst is a vec tile, not mat; why"),
        (("t.vc == 64 for t in data", "{t} has {t.vc}"), {"dst": A, "src0": A, "src1": B}, "src1 has 128"),
        (("t.vc == 64 for t in (dst, src0)", "{t}"), {"dst": A, "src0": A, "src1": B}, None),
        (("t.vc == dst.vc for t in sources if name != 'src1'", "{t}"), {"dst": A, "src0": A, "src1": B}, None),
        (("half = dst.vc // 2", "half == 32", "{half}"), {"dst": B}, "64"),
        (("if dst.vr == 16", "dst.vc == 1", "x", "dst.vr == 1", "y"), {"dst": B}, None),
        (("if dst.vr == 8", "dst.vc == 128", "x", "dst.vr == 1", "y"), {"dst": B}, "y"),
        (("dst.vc == 128", "x", lambda o: "found"), {"dst": B}, "found"),
        (("if dst.vr == 8", lambda o: None, lambda o: "found"), {"dst": B}, "found"),
        (("if dst.vr == 8", lambda o: "found"), {"dst": A}, None),
        (("if dst.vr == 8", lambda o: "found"), {"dst": OPEN}, None),
        (("target.name == 'a2a3'", "{instr.name} on {target.name}"), {"dst": B}, "TADD on a5"),
    ],
)
def test_conditions_say_what_is_known_to_break_them(
    parts: tuple, operands: dict[str, TileInfo], message: str | None
) -> None:
    found = first(*parts)(site(**operands))
    assert (without_marks(found)[0] if found else None) == message


def test_a_condition_about_an_operand_that_may_be_absent_holds_without_it() -> None:
    check = first("tmp.vc == 1", "{tmp}")
    assert check(site("TCOLSUM", dst=A, src=A, tmp=None)) is None
    assert without_marks(check(site("TCOLSUM", dst=A, src=A, tmp=A))) == ("tmp", ("tmp",))
    asks = first("tmp is not None", "no scratch")
    assert asks(site("TCOLSUM", dst=A, src=A, tmp=None)) == "no scratch"
    assert asks(site("TADD", dst=A)) == "no scratch"


def test_findings_may_have_a_hint_and_may_be_doubts() -> None:
    hint, doubt = need("dst.vc == 1", "{dst}", hint="see {dst}"), need("dst.vc == 1", doubt="target.is_device")
    message, advice = first(hint)(site(dst=A))
    assert (without_marks(message)[0], without_marks(advice)[0]) == ("dst", "see dst")
    assert isinstance(first(doubt)(site(dst=A)), Doubt)
    assert not isinstance(first(doubt)(site(on="cpu", dst=A)), Doubt)


@pytest.mark.parametrize("condition", ["nd(dst)", "dst.rows + 1 == 2", "dst.pad == 0"])
def test_what_was_seen_needs_words(condition: str) -> None:
    with pytest.raises(ValueError, match=r"words|message"):
        seen(ast.parse(condition, mode="eval").body, condition)


# ------------------------------------------------------------------ all conditions


def _stated() -> dict[Conditions, list[Instr]]:
    found: dict[Conditions, list[Instr]] = {}
    for instr in dict.fromkeys(TABLE.values()):
        added = [rule for on in TARGETS.values() for rule in on.own_rules(instr.name)]
        for rule in (*instr.rules, *added):
            if isinstance(rule.check, Conditions):
                found.setdefault(rule.check, []).append(instr)
    return found


STATED = _stated()


def _texts(part: Need | When) -> Iterator[str]:
    if isinstance(part, When):
        yield part.asked
        return
    where = {name: f"({text})" for name, text in part.where}
    must, _, asked = compiling.clauses(part.condition)
    yield from (text for text in (must, asked, part.asked, part.doubt) if text)
    yield from (text for text in where.values())
    for message in (part.message, part.hint):
        yield "f" + repr(re.sub(r"(?<!\{)\{%(\w+)\}", r"{\1}", message))


def _unknown(part: Need | When, check: Conditions, instrs: list[Instr]) -> set[str]:
    names, other, maybe = dict[str, None](), {"o", "t", "name"}, set[str]()
    called: set[str] = set()
    for text in _texts(part):
        tree = ast.parse(text, mode="eval")
        compiling._names(tree, names, other, maybe)
        called |= {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    used = (set(names) | called) - {name for name, _ in part.where} - {"o", "t", "name"}
    bound = {node for node in other if node not in called}
    own = {name for instr in instrs for name in instr.names}
    return {n for n in used - bound if n not in WORDS and n not in PYTHON and n not in check.module and n not in own}


def test_conditions_name_only_what_there_is() -> None:
    wrong = {}
    for check, instrs in STATED.items():
        for part in check.parts:
            if isinstance(part, Need | When) and (unknown := _unknown(part, check, instrs)):
                wrong[str(part)] = unknown
    assert not wrong
    assert len(STATED) > 250


def test_all_conditions_can_be_read_and_their_messages_too() -> None:
    for check, instrs in STATED.items():
        for instr in instrs:
            compiling.compiled(check, instr)
        for part in check.parts:
            if isinstance(part, Need) and (not part.message or part.message.startswith("; ")):
                must = compiling.clauses(part.condition)[0]
                assert seen(ast.parse(must, mode="eval").body, must)


def test_no_operand_or_attribute_is_called_like_a_word() -> None:
    names = {name for instr in TABLE.values() for name in instr.names}
    assert not names & set(WORDS)


@pytest.mark.parametrize(
    "path", sorted(ISA.rglob("*rules*.py")) + sorted(ISA.rglob("*checks.py")), ids=lambda p: p.stem
)
def test_what_modules_of_rules_import_is_used_in_code_or_conditions(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    imports = [n for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {a.asname or a.name for n in imports for a in n.names} - {"annotations"}
    lines = text.splitlines()
    for node in imports:
        for n in range(node.lineno - 1, node.end_lineno or node.lineno):
            lines[n] = ""
    rest = "\n".join(lines)
    assert {n for n in names if not re.search(rf"\b{n}\b", rest)} == set()
