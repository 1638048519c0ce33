"""What stands between two tokens: comments and blank lines."""

from __future__ import annotations

from dataclasses import field

from ptokit.records import dataclass

BLANK = ""
_SPACE = " \t\r\n\f\v"


@dataclass(slots=True)
class Gap:
    """``trailing``: the comment behind the token before, or "". ``lines``: comments in lines of their own, `BLANK`
    for one or more blank lines."""

    trailing: str = ""
    lines: list[str] = field(default_factory=list)

    @property
    def comments(self) -> list[str]:
        """The comments in lines of their own."""
        return [line for line in self.lines if line]


def read_gap(text: str, *, first: bool = False) -> Gap:
    """Take the text between two tokens apart; `first` if no token stands before it."""
    if not text.strip(" "):
        return Gap()
    head, *others = text.split("\n")
    gap = Gap()
    if first:
        others.insert(0, head)
    else:
        gap.trailing = head.strip(_SPACE)
    for number, line in enumerate(others, 1):
        comment = line.strip(_SPACE)
        if comment:
            gap.lines.append(comment)
        elif number < len(others) and gap.lines[-1:] != [BLANK]:  # the last one is the token's own line
            gap.lines.append(BLANK)
    return gap
