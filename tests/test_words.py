"""Words of the project: names, docstrings, comments and messages use those of CONTRIBUTING.md (section Words)."""

from __future__ import annotations

import io
import keyword
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "ptokit"
FILES = sorted(PACKAGE.rglob("*.py"))

PROSE = {
    r"\bbehind\b": "after, or at",
    r"\bstands? for\b": "is, means",
    r"\bof which\b": "whose, of them",
    r"\b(next|each|every|last|later|one|a) turns?\b(?! (to|into|comes)\b)|\bby turns\b": "iteration, interleaved",
    r"\bthe same everywhere\b": "uniform",
    r"\bmade into\b": "lowered",
    r"\bsent off\b": "queued",
    r"\binner part\b": "valid region",
    r"\bwords? of meaning\b": "meaning node",
    r"\bgivers?\b": "what gives it",
    r"\bparameters? of an instruction\b": "operand",
}
"""What texts do not say, and what they say in its place."""

NAMES = {"behind", "giver", "givers", "turn", "turns", "stands", "standing"}
"""Parts of names, between underscores or capitals, that say one of these."""

ALLOWED = {
    ("run/backends.py", "its turn comes"): "the turn of a core to print is no iteration",
}
"""Places that say such a word rightly, and why."""


def parts(name: str) -> set[str]:
    return {part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def found(text: str, place: str) -> Iterator[str]:
    """What a text of Python says otherwise: its comments, its strings, its names."""
    allowed = [said for (file, said) in ALLOWED if place.endswith(file)]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", -1)):
            said = " ".join(token.string.split())
            for word, instead in PROSE.items():
                if (hit := re.search(word, said, re.IGNORECASE)) and not any(each in said for each in allowed):
                    yield f"{place}:{token.start[0]}: {hit[0]!r}; say {instead}"
        elif token.type == tokenize.NAME and not keyword.iskeyword(token.string) and NAMES & parts(token.string):
            yield f"{place}:{token.start[0]}: the name {token.string}"


@pytest.mark.parametrize("layer", sorted({path.relative_to(PACKAGE).parts[0] for path in FILES}))
def test_texts_and_names_say_the_words_of_the_field(layer: str) -> None:
    paths = [path for path in FILES if path.relative_to(PACKAGE).parts[0] == layer]
    texts = [(path.read_text(encoding="utf-8"), str(path.relative_to(PACKAGE))) for path in paths]
    assert [line for text, place in texts for line in found(text, place)] == []


def test_modules_are_named_by_the_words_of_the_field() -> None:
    assert [path.name for path in FILES if NAMES & parts(path.stem)] == []


@pytest.mark.parametrize(
    "text",
    [
        '"""What stands for a tile."""',
        "x = 1  # bytes behind it",
        "next_turn = 1",
        "class Giver: ...",
        'y = f"{x} stands behind the module"',
        '"""Tiles of\n    which one is written."""',
    ],
)
def test_what_is_not_said_is_found(text: str) -> None:
    assert len(list(found(text, "x.py"))) == 1


@pytest.mark.parametrize("text", ["returns = 1", '"""LLVM turns it into registers, one in turn."""', "understands = 2"])
def test_other_words_are_not_found(text: str) -> None:
    assert list(found(text, "x.py")) == []
