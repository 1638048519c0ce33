"""Errors while a program runs; the launcher adds place, block and loop indices."""

from __future__ import annotations


class Fault(Exception):
    """A rule broken at run time. ``block`` is the position in the chunk, where one block alone is to blame."""

    def __init__(self, rule: str, message: str, *, hint: str | None = None, block: int | None = None) -> None:
        self.rule, self.message, self.hint, self.block = rule, message, hint, block
        super().__init__(message)


def outside(
    access: str, start: int, nbytes: int, memory: str, size: int, *, show: str = "#x", block: int | None = None
) -> Fault:
    """The fault of an access that leaves a memory of `size` bytes (PTR-A5-02).

    ``access``, ``memory``: how to call them, for example "rows in" and "UB"; ``show``: how places are written;
    ``block``: as for `Fault`.
    """
    said = f"{access} bytes [{start:{show}}, {start + nbytes:{show}}) of {memory}, which has {size:{show}} bytes"
    if 0 <= start < size:
        hint = f"{size - start} bytes are left from there on, and it takes {nbytes}; sizes and strides count bytes"
    else:
        past = f"{start - size} bytes past the end" if start > size else "at the end"
        what = past if start >= size else f"{-start} bytes before the first one"
        hint = f"it begins {what}; castptr takes a number of bytes, a pointer + n moves by n elements"
    return Fault("PTR-A5-02", said, hint=hint, block=block)
