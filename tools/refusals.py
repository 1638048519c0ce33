"""Which part of the reference assembler a test expects to refuse a text: its reader and verifiers, or a later stage.

A test says which words the assembler prints. Those of readers and verifiers stand in ``lib/PTO/IR``; where the longest
string of the sources that the words hold is in another file, a later stage refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_JOINED = re.compile(r'"\s*\n\s*"')
_SHORTEST = 9
_GENERAL = re.compile(
    r"op operand #\d+ must be|op result #\d+ must be|op attribute '|op requires (?:the same|attribute)|failed to verify"
    r"|custom op|expected '|expects different type|invalid kind of type|has mismatched|redefinition|use of undeclared"
    r"|unregistered operation"
)
"""What the readers and verifiers of MLIR itself say."""
_LINE = re.compile(r"^\s*//\s*([A-Z][A-Z0-9_-]*?)(?:-(?:NEXT|SAME|DAG|NOT|LABEL))?:(.*)$", re.MULTILINE)
_EXPECTED = re.compile(r"expected-error[^{\n]*\{\{(.*?)\}\}")


def expected_errors(text: str) -> list[str]:
    """What ``expected-error`` comments of a text announce."""
    return _EXPECTED.findall(text)


def announced(text: str, prefixes: Iterable[str]) -> list[str]:
    """What comments with one of these prefixes (``CHECK``) announce."""
    wanted = set(prefixes)
    return [m[2].strip() for m in _LINE.finditer(text) if m[1] in wanted]


def _strings(path: Path) -> Iterator[str]:
    joined = _JOINED.sub("", path.read_text(encoding="utf-8", errors="replace"))
    for found in _STRING.findall(joined):
        text = found.replace('\\"', '"').replace("\\n", " ").strip()
        if len(text) >= _SHORTEST:
            yield text


@cache
def _sources(root: Path) -> dict[str, bool]:
    """The strings of the assembler, and whether its readers and verifiers have them."""
    found: dict[str, bool] = {}
    for path in sorted((root / "lib/PTO").rglob("*.cpp")):
        reads = path.parent.name == "IR"
        for text in _strings(path):
            found[text] = found.get(text, False) or reads
    return found


_STAGE = re.compile(r"VMI(?:-|\{\{-\}\})[A-Z]+")
"""How the stages that lower logical vectors begin what they say."""
_OPERATION = re.compile(r"'(pto\.[\w.]+)' op ")


def refused_as_text(root: Path, text: str, words: Sequence[str]) -> bool:
    """True if reader or verifiers refuse a text, by the words that are expected."""
    if any(_STAGE.search(line) for line in words):
        return False
    code = re.sub(r"//.*", "", text)
    for line in words:
        named = _OPERATION.search(line)
        if named is not None and not re.search(rf"{re.escape(named[1])}\b", code):
            continue  # an operation that lowering has made
        if _GENERAL.search(line):
            return True
        pieces = [p.strip() for p in re.sub(r"\{\{.*?\}\}", "\n", line).split("\n")]
        longest, reads = 0, False
        for text, here in _sources(root).items():
            for piece in pieces:
                shared = text if text in piece else piece if len(piece) >= _SHORTEST and piece in text else ""
                if len(shared) > longest or (len(shared) == longest and longest and here):
                    longest, reads = len(shared), here
        if reads:
            return True
    return False
