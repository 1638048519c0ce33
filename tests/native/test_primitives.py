"""Every primitive of expressions has a native form for the types it has, or stands in a list with the reason."""

from __future__ import annotations

import pytest

pytest.importorskip("llvmlite")

from ptokit.isa.meaning.primitives import INTEGRAL, PRIMITIVES
from ptokit.native.primitives import known
from ptokit.types.dtypes import DTYPES

WITHOUT = {
    "pow": "rests on the library's binary64 pow, which is not the same everywhere",
    "pow_a2a3": "as pow",
    "sin": "rests on the library's binary64 sin",
    "cos": "rests on the library's binary64 cos",
}
FLOATS, INTEGERS = ("f32", "f16", "bf16"), ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
OF_FLOATS_ONLY = {"exp", "log", "sqrt", "rsqrt", *INTEGRAL.values()}


@pytest.mark.parametrize("name", sorted(PRIMITIVES))
def test_native_forms(name: str) -> None:
    primitive = PRIMITIVES[name]
    wanted = {t for t in FLOATS if primitive.for_floats} | {t for t in INTEGERS if primitive.for_integers}
    if name in OF_FLOATS_ONLY:
        wanted -= set(INTEGERS)
    found = {type for type in (*FLOATS, *INTEGERS) if known(name, DTYPES[type])}
    assert found == (set() if name in WITHOUT else wanted)


def test_the_list_is_no_longer_than_it_has_to_be() -> None:
    assert all(name in PRIMITIVES and reason for name, reason in WITHOUT.items())
