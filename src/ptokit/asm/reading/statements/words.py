"""Attributes as the manual writes them: ``#atomic=add``, ``rnd = "rz"`` (assembly 4)."""

from __future__ import annotations

from typing import Any

from ptokit.diagnostics.finding import suggest
from ptokit.isa.table import Attr, Instr

from ...text import rules
from ..parser import Parser

_KEYS = {"rnd": "rmode", "cmp": "cmp", "cmpMode": "cmp", "relu": "relu", "phase": "phase", "atomic": "atomic"}
_WORDS = {  # (attribute, word) -> the assembler's word
    ("rmode", "rne"): "RINT",
    ("rmode", "rz"): "TRUNC",
    ("rmode", "rp"): "CEIL",
    ("rmode", "rm"): "FLOOR",
    ("phase", "relu"): "normal_relu",
    ("relu", "relu"): "normal_relu",
}


def manual_key(instr: Instr, key: str, word: str) -> Attr | None:
    """The attribute a manual's key stands for; ``phase=relu`` is the relu mode of a store."""
    name = "relu" if (key, word) == ("phase", "relu") else _KEYS.get(key, key)
    return next((a for a in instr.text_attrs if name in (a.name, a.key)), None)


def manual_value(attr: Attr, key: str, word: str) -> Any:
    """The value of a word in any of its spellings; None if there is none."""
    name = _KEYS.get(key, key)
    for spelled in (word, word.lower(), _WORDS.get((name, word), ""), f"{attr.mnemonic.split('_')[0]}_{word}"):
        try:
            return attr.parse(spelled)
        except (KeyError, ValueError):
            continue
    return None


def hash_attribute(p: Parser, instr: Instr, key: str, word: str, place: int, attrs: dict[str, Any]) -> None:
    """Put ``#key=word`` at token `place` among the attributes (TEXT-ATTRIBUTE, TY-8)."""
    attr = manual_key(instr, key, word)
    if attr is None:
        known = [a.name for a in instr.text_attrs]
        p.error(rules.ATTRIBUTE, f"pto.{instr.text} has no attribute '{key}'", place, hint=suggest(key, known))
    elif attr.name in attrs:
        p.error(rules.ATTRIBUTE, f"attribute '{key}' is written twice", place)
    elif (value := manual_value(attr, key, word)) is None:
        p.error(rules.TY_8, f"'{word}' is not a value of {key}", place + 2)
    else:
        attrs[attr.name] = value
