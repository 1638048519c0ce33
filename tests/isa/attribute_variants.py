"""The examples of instructions with attributes taken away, or given other values: texts that may mean nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ptokit.api.examples import Example
from ptokit.targets import target as target_named

DICTIONARY = re.compile(r" ?\{([^{}]*)\}")
CLAUSE = re.compile(r" \w+\([^()]*\)(?= |$)")
WORD = re.compile(r'"[^"]*"|#pto(?:\.\w+)?[< ]\w*>?|(?<== )-?\d+(?! *:)')


def module(example: Example, statement: str) -> str:
    """The example with another statement in place of its own, as a text of its own."""
    head = f'module attributes {{pto.target_arch = "{target_named(example.target).arch}"}} {{'
    return "\n".join([head, example.text.replace(example.statement, statement, 1), "}", ""])


def without(statement: str) -> Iterator[str]:
    """The statement without one entry of a dictionary, one word among the operands, or one clause."""
    for found in DICTIONARY.finditer(statement):
        entries = re.split(r", (?=\w+(?: =|,|$))", found[1])
        for i in range(len(entries)):
            rest = ", ".join(entries[:i] + entries[i + 1 :])
            yield statement[: found.start()] + (f" {{{rest}}}" if rest else "") + statement[found.end() :]
        if len(entries) > 1:
            yield statement[: found.start()] + statement[found.end() :]
    for found in re.finditer(
        r', "[^"]*"| "[^"]*"(?!,)|"[^"]*", ', DICTIONARY.sub(lambda m: "_" * len(m[0]), statement)
    ):
        yield statement[: found.start()] + statement[found.end() :]
    for found in CLAUSE.finditer(statement):
        yield statement[: found.start()] + statement[found.end() :]


def others(statement: str, words: tuple[str, ...]) -> Iterator[str]:
    """The statement with other values of one attribute: of its words all, of numbers some that are seldom right."""
    for found in WORD.finditer(statement):
        old = found[0]
        if old.startswith('"'):
            new = [f'"{word}"' for word in (*words, "", "no_such_word")]
        elif old.startswith("#"):
            new = [re.sub(r"\w+(>?)$", rf"{word}\1", old) for word in words]
        else:
            new = ["0", "-1", "3", "64", str(1 << 40)]
        for value in new:
            if value != old:
                yield statement[: found.start()] + value + statement[found.end() :]
