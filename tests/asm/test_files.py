"""Reading files: missing, unreadable, binary, of unusual encodings."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptokit.asm import ParseResult, parse_module, print_module, read_module
from ptokit.asm.text.lexer import MAX_TEXT

from .reading import KERNELS
from .same import assert_same


def rules(result: ParseResult) -> list[str]:
    return [d.rule for d in result.diagnostics]


def test_a_file_is_read(tmp_path: Path) -> None:
    result = read_module(KERNELS[0])
    assert rules(result) == []
    assert result.module.file == str(KERNELS[0])
    assert_same(result.module, parse_module(KERNELS[0].read_text()).module)


def test_diagnostics_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "wrong.pto"
    path.write_text("module {\n  func.func @f() {\n    pto.foo\n    return\n  }\n}\n")
    (d,) = read_module(path).diagnostics
    assert str(d) == f"{path}:3:5: error: unknown operation 'pto.foo' [TEXT-UNKNOWN-OP]"


@pytest.mark.parametrize("name", ["missing.pto", ".", "bad\0name.pto"])
def test_unreadable_files(tmp_path: Path, name: str) -> None:
    result = read_module(f"{tmp_path}/{name}")
    assert rules(result) == ["TEXT-FILE"]
    assert result.module.functions == []


@pytest.mark.parametrize("data", [b"\x7fELF\0\0", b"module {}\n\xff\xfe", b"\xe4", "module {}".encode("utf-16")])
def test_binary_files(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "a.pto"
    path.write_bytes(data)
    result = read_module(path)
    assert rules(result) == ["TEXT-BINARY"]
    assert next(iter(result.diagnostics)).location.file == str(path)


def test_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    path = tmp_path / "a.pto"
    path.write_bytes(b"\xef\xbb\xbfmodule {\r\n  func.func @f() {\r\n    return // end\r\n  }\r\n}\r\n")
    result = read_module(path)
    assert rules(result) == []
    assert print_module(result.module) == "module {\n  func.func @f() {\n    return\n  }\n}\n"
    assert rules(parse_module("\ufeffmodule {}")) == []


def test_empty_text() -> None:
    for text in ("", "\n", "// nothing", "module {}"):
        result = parse_module(text)
        assert rules(result) == []
        assert print_module(result.module) == "module {\n}\n"


def test_very_long_text_is_refused() -> None:
    assert rules(parse_module(" " * (MAX_TEXT + 1))) == ["TEXT-SIZE"]
