"""Arithmetic of one thread that `arith` does not have."""

from __future__ import annotations

from .lanes import SIGNS
from .words import plain, simt, value, word

for _text, _what in (
    ("sqrt", "Square root"),
    ("absf", "Absolute value"),
    ("exp", "Exponential"),
    ("log", "Natural logarithm"),
    ("sin", "Sine"),
    ("cos", "Cosine"),
    ("ceil", "Next integral value above"),
    ("floor", "Next integral value below"),
    ("rint", "Nearest integral value, ties to even"),
    ("round", "Nearest integral value, ties away from zero"),
):
    plain(_text, f"{_what}.", "value")
for _text, _what in (("fmin", "Minimum"), ("fmax", "Maximum"), ("pow", "Power")):
    plain(_text, f"{_what}.", "lhs rhs")
plain("fma", "lhs * rhs + acc, rounded once.", "lhs rhs acc")
plain("prmt", "Four bytes of two numbers, chosen by the nibbles of a third.", "lhs rhs selector", types="i32 i32 i32")
for _text, _what in (("mulhi", "High half of a product."), ("mul_i32toi64", "Product of 64 bits.")):
    simt(_text, _what, (value("lhs"), value("rhs")), "%lhs , %rhs W(signedness) {} : T(lhs) , T(rhs) -> R", SIGNS)
simt(
    "convert",
    "A number in another type.",
    (value("src"),),
    "%src round ~( W(rounding) ) W(saturation) <? W(signedness) ?> {} : T(src) -> R",
    word("rounding", *"rafczoh"),
    word("saturation", "sat", "nosat"),
    SIGNS,
)
