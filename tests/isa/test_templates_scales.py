"""Exponents that templates put in the order of scales: tiles smaller than a box, out of one row."""

from __future__ import annotations

import numpy as np
import pytest

import ptokit as pto

ROW, ZZ = "!pto.tile_buf<vec, 1x128xui8, valid=1x{}>", "!pto.tile_buf<vec, {}x4xui8, valid={}x4, slayout=row_major>"
FLAT, TMP = "!pto.tile_buf<vec, 1x{}xui8, slayout=row_major>", "!pto.tile_buf<vec, 1x96xui8, valid=1x4>"


def text(rows: int, kind: str) -> str:
    """``z``: the exponents of ``rows`` x 4 in ``x``, 16 rows of 2 after each other."""
    whole = -(-rows // 16) * 16
    given, made = rows * 4, whole * 4
    row, zz, flat = ROW.format(given), ZZ.format(whole, rows), FLAT.format(made)
    parts = {"x": given, "z": made}
    lines = [f'module attributes {{pto.target_arch = "a5"{kind}}} {{']
    lines += ["func.func @f(%x: !pto.ptr<ui8>, %z: !pto.ptr<ui8>) {"]
    lines += [f"  %c{n} = arith.constant {n} : index" for n in sorted({0, 1, given, made})]
    for name, n in parts.items():
        view = f"!pto.tensor_view<1x{n}xui8>"
        lines.append(
            f"  %{name}v = pto.make_tensor_view %{name}, shape = [%c1, %c{n}], strides = [%c{n}, %c1] : {view}"
        )
        part = f"offsets = [%c0, %c0], sizes = [%c1, %c{n}] : {view} -> !pto.partition_tensor_view<1x{n}xui8>"
        lines.append(f"  %{name}p = pto.partition_view %{name}v, {part}")
    lines += [
        f"  %e = pto.alloc_tile : {row}",
        f"  %s = pto.alloc_tile : {flat}",
        f"  %d = pto.treshape %s : {flat} -> {zz}",
        f"  %t = pto.alloc_tile : {TMP}",
        f"  pto.tload ins(%xp : !pto.partition_tensor_view<1x{given}xui8>) outs(%e : {row})",
        f"  pto.tmov ins(%e, %t : {row}, {TMP}) outs(%d : {zz})",
        f"  pto.tstore ins(%s : {flat}) outs(%zp : !pto.partition_tensor_view<1x{made}xui8>)",
        "  return",
        "}",
        "}",
    ]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("rows", [16, 20])
def test_exponents_of_one_row_become_scales(rows: int) -> None:
    x = np.random.default_rng(2).integers(1, 255, (rows, 4), dtype=np.uint8)
    whole = -(-rows // 16) * 16
    z = np.zeros(whole * 4, np.uint8)
    pto.run(text(rows, ", pto.kernel_kind = #pto.kernel_kind<vector>"), args=[x.reshape(-1), z])
    wanted = np.zeros((whole, 4), np.uint8)
    wanted[:rows] = x
    for place, value in enumerate(z):
        group, rest = divmod(place, 64)
        pair, inside = divmod(rest, 32)
        assert value == wanted[16 * group + inside // 2, 2 * pair + inside % 2]


def test_the_library_asks_for_whole_boxes() -> None:
    assert [d.rule for d in pto.check(text(16, "")).errors] == ["TILE-04"]
