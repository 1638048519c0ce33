"""What stands at a place of a text."""

from __future__ import annotations

import pytest

from ptokit.lsp.hover import hover
from ptokit.lsp.index import Index, build
from ptokit.targets import target

TEXT = """\
!acc = !pto.tile_buf<acc, 32x32xf32, blayout=col_major, slayout=row_major, fractal=1024>
module attributes {pto.target_arch = "a5"} {
  func.func private @helper(%p: !pto.ptr<f32>) {
    return
  }
  func.func @kernel(%x: !pto.ptr<f32>, %n: index) attributes {pto.entry} {
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %at = arith.constant 4096 : i64
    %a = pto.alloc_tile addr = %at : !acc
    %v = pto.make_tensor_view %x, shape = [%n, %c1], strides = [%c1, %c1] : !pto.tensor_view<?x1xf32>
    func.call @helper(%x) : (!pto.ptr<f32>) -> ()
    scf.for %i = %c1 to %n step %c1 {
      %j = arith.addi %i, %c1 : index
    }
    return
  }
}
"""


def at(index: Index, mark: str, inside: int = 0) -> int:
    """The token at the character `inside` a part of the text that occurs once."""
    assert TEXT.count(mark) == 1
    offset = TEXT.index(mark) + inside
    line = TEXT.count("\n", 0, offset) + 1
    token = index.token_at(line, offset - (TEXT.rfind("\n", 0, offset) + 1) + 1)
    assert token is not None
    return token


@pytest.fixture
def index() -> Index:
    built = build(TEXT, "k.pto")
    assert list(built.diagnostics) == []
    return built


@pytest.mark.parametrize("shape", ["0x32xf32", "8x0xf32", "0x64xf16, blayout=col_major, slayout=row_major"])
def test_a_tile_without_elements_is_not_drawn(shape: str) -> None:
    text = f"func.func @f(%t: !pto.tile_buf<mat, {shape}>) {{ return }}"
    built = build(text, "k.pto", target("a5"))
    page = hover(built, built.tokens.texts.index("%t"))
    assert page is not None
    assert page.endswith("\n\n0 bytes of L1, placed by ptokit or at run time; a5 has 524288")


@pytest.mark.parametrize(
    ("mark", "inside", "place"),
    [
        ("%x, shape", 0, (6, 21)),
        ("%x, shape", 2, (6, 21)),  # after the last character
        ("%i, %c1", 0, (13, 13)),
        (": !acc", 3, (1, 1)),
        ("call @helper", 6, (3, 21)),
        ("= %at", 3, (9, 5)),
    ],
)
def test_definitions(index: Index, mark: str, inside: int, place: tuple[int, int]) -> None:
    found = index.definition(at(index, mark, inside))
    assert found is not None
    assert (found.line, found.column) == place


@pytest.mark.parametrize("mark", ["attributes {pto.entry}", "arith.addi", "[%n"])
def test_what_has_no_definition(index: Index, mark: str) -> None:
    assert index.definition(at(index, mark)) is None


def test_references(index: Index) -> None:
    found = [(place.line, place.column) for place in index.references(at(index, "%i = "))]
    assert found == [(13, 13), (14, 23)]
    assert [place.line for place in index.references(at(index, "call @helper", 6))] == [3, 12]
    assert index.references(at(index, "arith.addi")) == []


def test_no_token_between_tokens(index: Index) -> None:
    assert index.token_at(2, 1) == index.token_at(2, 3)
    assert index.token_at(6, 1) is None
    assert index.token_at(1000, 1) is None


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        ("%a = ", "L0C bytes 0x1000..0x1fff; a5 has 262144"),
        ("%a = ", "boxes of 16 rows x 16 columns"),
        ("%v = ", "shape: 1 x 1 x 1 x ? x 1"),
        ("%at = ", "value: `4096`"),
        ("%true", "value: `true`"),
        ("%n: index", "%n : index"),
        ("pto.alloc_tile", "**ALLOC_TILE("),
    ],
)
def test_hover(index: Index, mark: str, said: str) -> None:
    text = hover(index, at(index, mark))
    assert text is not None
    assert said in text


def test_the_page_of_an_instruction_is_that_of_the_target() -> None:
    for arch, bound in (("a2a3", "LOAD-A3-01"), ("a5", "LOAD-A5-02")):
        text = f'module attributes {{pto.target_arch = "{arch}"}} {{}} pto.tload'
        built = build(text, "k.pto")
        page = hover(built, built.tokens.texts.index("pto.tload"))
        assert page is not None
        assert [word for word in ("LOAD-A3-01", "LOAD-A5-02") if word in page] == [bound]
