"""The TextMate grammar gives every kind of word its own scope."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from textmate_grammar.parsers.base import LanguageParser

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors" / "vscode"

TEXT = """\
module attributes {pto.target_arch = "a5"} { // remark
  func.func @k(%x: !pto.ptr<f32>) attributes {pto.entry} {
    %t = pto.alloc_tile addr = %c0 : !pto.tile_buf<vec, 16x64xbf16, valid=?x32>
    pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]
    pto.tcmp ins(%a, %b {cmpMode = #pto<cmp lt>} : !T, !T) outs(%m : !T)
    pto.sync.set #pto.pipe<PIPE_FIX>, -7
    pto.section.vector {
      "pto.tadd"(%t) <{sizes = array<i32: 1>}> {pto.mark} : (!T) -> ()
      cf.cond_br %c, ^then, ^else(%n : memref<4x?xf16, strided<[8, ?]>>)
      %i = arith.cmpi slt, %n, %k : index loc("k.py":3:4)
      %u = tsub %v, %w : !T -> !T
      tstore.fp %u, %g[%i] #atomic=add
      scf.for %j = %n to %k step %s {
      case 5 {
"""


@pytest.fixture(scope="module")
def scopes() -> dict[str, str]:
    """The innermost scope of every piece of `TEXT`, the first of equal pieces."""
    grammar = json.loads((EXTENSION / "syntaxes" / "pto.tmLanguage.json").read_text(encoding="utf-8"))
    parsed = LanguageParser(grammar).parse_string(TEXT)
    found: dict[str, str] = {}
    for _, piece, names in parsed.flatten():
        found.setdefault(piece.strip(), names[-1].removesuffix(".pto"))
    return found


@pytest.mark.parametrize(
    ("piece", "scope"),
    [
        ("// remark", "comment.line.double-slash"),
        ("pto.target_arch", "entity.other.attribute-name"),
        ("pto.entry", "entity.other.attribute-name"),
        ("func.func", "keyword.declaration"),
        ("@k", "entity.name.function"),
        ("%x", "variable.other"),
        ("!pto.ptr", "storage.type"),
        ("alloc_tile", "entity.name.function"),
        ("vec", "constant.language"),
        ("16x64x", "constant.numeric.dimension"),
        ("bf16", "storage.type.element"),
        ("?x32", "constant.numeric.dimension"),
        ("PIPE_MTE2", "constant.language"),
        ("cmpMode", "entity.other.attribute-name"),
        ("#pto.pipe", "entity.other.attribute-name"),
        ("sync.set", "entity.name.function"),
        ("-7", "constant.numeric"),
        ("section.vector", "keyword.control"),
        ("ins", "keyword.other"),
        ("->", "keyword.operator.arrow"),
        ("pto.tadd", "entity.name.function"),
        ("array", "storage.type"),
        ("pto.mark", "entity.other.attribute-name"),
        ("cf.cond_br", "keyword.control"),
        ("^else", "entity.name.label"),
        ("4x?x", "constant.numeric.dimension"),
        ("?", "constant.numeric.dimension"),
        (">>", "punctuation.bracket.angle"),
        ("arith.cmpi", "support.function"),
        ("slt", "constant.language"),
        ('"k.py"', "string.quoted.double"),
        ("tsub", "entity.name.function"),
        ("tstore.fp", "entity.name.function"),
        ("#atomic", "entity.other.attribute-name"),
        ("add", "constant.language"),
        ("to", "keyword.other"),
        ("case", "keyword.control"),
    ],
)
def test_scopes(scopes: dict[str, str], piece: str, scope: str) -> None:
    assert scopes[piece] == scope


def test_the_extension_names_files_that_exist() -> None:
    package = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    (grammar,), (language,) = package["contributes"]["grammars"], package["contributes"]["languages"]
    assert (EXTENSION / grammar["path"]).is_file()
    assert (EXTENSION / language["configuration"]).is_file()
    assert package["license"] == tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]


def test_a_statement_may_stand_alone_in_its_line() -> None:
    """Nothing of one line colours the next: an open string or angle ends with what it belongs to."""
    grammar = json.loads((EXTENSION / "syntaxes" / "pto.tmLanguage.json").read_text(encoding="utf-8"))
    parsed = LanguageParser(grammar).parse_string('%a = "open\n%b = pto.tadd %a : (f32) -> memref<4xf32>\nreturn\n')
    found = {piece.strip(): names[-1].removesuffix(".pto") for _, piece, names in parsed.flatten()}
    assert found["tadd"] == "entity.name.function"
    assert found["return"] == "keyword.control"
