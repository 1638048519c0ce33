"""Products of operands in L0A and L0B into an accumulator: the meaning that products of tiles have, at pointers.

The accumulator is written in whole fractals. What it holds beyond the rows and columns of the product is of no use.
"""

from __future__ import annotations

from collections.abc import Sequence

from ptokit.types.dtypes import DTYPES, DType
from ptokit.types.enums import Pipe

from ..machine import ATOMIC_CONTROL
from ..meaning.matrices import Matrix
from ..meaning.words import Contract, Meaning
from ..site import Site
from ..table import Role, grammar, listed
from .copies import ADDRESS_SHIFT
from .drains import (
    BLOCK,
    HIF8_BIT,
    ROWS,
    TF32_AWAY_BIT,
    TF32_BIT,
    at,
    ceil,
    clause,
    cube,
    element,
    given,
    in_accumulator,
    in_fractals,
    numbers,
)

GROUPS = 2  # scales of a row in a piece of 32 bytes
_SCALE = DTYPES["e8m0"]


def _scales(name: str, rows: int, k: int, *, turned: bool) -> Matrix:
    """Scales of an operand: rows, and one for each 32 elements along K."""
    groups = ceil(k, BLOCK)
    return Matrix(
        f"{name} scales",
        _SCALE,
        ceil(rows, ROWS) * ROWS,
        groups,
        GROUPS,
        GROUPS,
        BLOCK,
        ROWS,
        ceil(groups, GROUPS) * BLOCK,
        turned=turned,
        needed=(0, 0),
        scales=ADDRESS_SHIFT,
        pointer=name,
    )


def _product(
    o: Site,
    sizes: Sequence[int],
    start: str,
    types: tuple[DType, DType],
    *,
    vector: bool,
    rounding: str,
    block_scaled: bool,
    finite: bool = False,
) -> Contract:
    """Both operands and the accumulator have as many rows and columns as whole fractals; a vector is one row.

    ``sizes``: rows, columns, and elements along K.
    """
    m, n, k = sizes
    high, wide = (ceil(size, ROWS) * ROWS for size in (m, n))
    left = in_fractals("lhs", types[0], high, k, high, needed=(m, k))
    right = in_fractals("rhs", types[1], wide, k, wide, needed=(n, k), turned=True)
    dst = in_accumulator("dst", o.dst.dtype, 1 if vector else high, wide, high, needed=(m, wide))
    matrices = [Matrix("lhs", types[0], 1, k, 0) if vector else left, right, dst]
    if start == "bias":
        matrices.append(Matrix("bias", o.bias.dtype, 1, n, 0))
    scales = ("lhs scales", "rhs scales") if block_scaled else ("", "")
    if block_scaled:
        row = Matrix("lhs scales", _SCALE, 1, ceil(k, BLOCK), 0, scales=ADDRESS_SHIFT, pointer="lhs")
        matrices += [row if vector else _scales("lhs", m, k, turned=False), _scales("rhs", n, k, turned=True)]
    return Contract(
        "lhs",
        "rhs",
        start,
        left_scale=scales[0],
        right_scale=scales[1],
        rounding=rounding,
        matrices=tuple(matrices),
        finite=finite,
    )


_WORDS = {"round_even": "CAST_RINT", "round_away": "CAST_ROUND"}


def _mad(start: str, *, block_scaled: bool) -> Meaning:
    def meaning(o: Site) -> Contract | None:
        sizes = given(o, "m n k")
        if sizes is None:
            return None
        return _product(
            o,
            sizes,
            start,
            (element(o.lhs.dtype), element(o.rhs.dtype)),
            vector=sizes[0] == 1 and not o.disable_gemv,
            rounding=_WORDS.get(o.tf32_mode, ""),
            block_scaled=block_scaled,
            finite=o.saturation == "sat",
        )

    return meaning


def _raw(*, has_bias: bool, block_scaled: bool) -> Meaning:
    """The fields of the hardware: sizes, and in the highest bits what the sums start with."""

    def meaning(o: Site) -> Contract | None:
        fields = given(o, "xt")
        if fields is None or o.registers is None:
            return None
        (xt,), ctrl = fields, int(o.registers.get(ATOMIC_CONTROL, 0))
        rounding = ""
        if ctrl >> TF32_BIT & 1:
            rounding = "CAST_ROUND" if ctrl >> TF32_AWAY_BIT & 1 else "CAST_RINT"
        types = o.lhs.dtype, o.rhs.dtype
        if ctrl >> HIF8_BIT & 1 and types[0].size == 1 and types[0].is_float:
            types = (DTYPES["hif8"],) * 2
        m, k, n = xt & 0xFFF, xt >> 12 & 0xFFF, xt >> 24 & 0xFFF
        return _product(
            o,
            (m, n, k),
            "" if xt >> 63 & 1 else "bias" if has_bias and xt >> 62 & 1 else "dst",
            (element(types[0]), element(types[1])),
            vector=m == 1 and not xt >> 61 & 1,
            rounding=rounding,
            block_scaled=block_scaled,
        )

    return meaning


_FLAGS = (
    clause("unit_flag", key="unit_flag_mode"),
    clause("disable_gemv"),
    clause("tf32_mode"),
    clause("saturation", "saturation_word", key="sat_mode"),
    clause("n_dir"),
)


def _form(bias: bool) -> str:
    """Operands, words, types."""
    names = f"lhs rhs dst {'bias ' if bias else ''}m n k"
    words = (
        "<? unit_flag ~( W(unit_flag) ) ?> <? W(disable_gemv) ?> <? W(saturation) ?> "
        "<? tf32_mode ~( W(tf32_mode) ) ?> <? W(n_dir) ?> {}"
    )
    return f"{listed(names)} {words} : {listed(names, 'T({})')}"


for _name, _what, _from in (
    ("mad", "Product of two matrices", ""),
    ("mad_acc", "Product of two matrices, added to the accumulator", "dst"),
    ("mad_bias", "Product of two matrices, plus a bias", "bias"),
    ("mad_mx", "Product of two block-scaled matrices", ""),
    ("mad_mx_acc", "Product of two block-scaled matrices, added to the accumulator", "dst"),
    ("mad_mx_bias", "Product of two block-scaled matrices, plus a bias", "bias"),
):
    _bias = (at("bias", "bt"),) if _from == "bias" else ()
    _ends = at("lhs", "l0a"), at("rhs", "l0b")
    cube(
        _name,
        f"{_what}.",
        Pipe.M,
        (*_ends, at("dst", "l0c", Role.INOUT if _from == "dst" else Role.OUT), *_bias, *numbers("m n k")),
        _mad(_from, block_scaled="mx" in _name),
        _FLAGS,
        form=grammar(_form(bool(_bias))),
    )
    if _from != "dst":
        cube(
            f"{_name}_raw",
            f"{_what}, with the fields of the hardware.",
            Pipe.M,
            (*_ends, at("dst", "l0c", Role.INOUT), *_bias, *numbers("xt")),
            _raw(has_bias=bool(_bias), block_scaled="mx" in _name),
        )
