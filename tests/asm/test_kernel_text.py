"""Kernels of Python as text: what is printed reads back, checks, and runs to the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ptokit as pto
from ptokit.asm import parse_module, print_module
from ptokit.asm.convert import FORMS, convert
from ptokit.diagnostics import Severity
from ptokit.ir.verify import verify
from ptokit.run import compile_program


def expands(dtype: Any) -> pto.Kernel:
    @pto.kernel(target="a5")
    def k(y: pto.Ptr[dtype]) -> None:
        t = pto.Tile(pto.TileType.Vec, dtype, 1, 64)
        pto.TEXPANDS(t, 200)
        pto.TSTORE(pto.GlobalTensor(y, (1, 64)), t)

    return k


@pytest.mark.parametrize("dtype", [pto.u8, pto.u16, pto.u32], ids=lambda t: t.name)
def test_unsigned_numbers_in_tiles(dtype: Any) -> None:
    kernel = expands(dtype)
    text = kernel.to_pto()
    module = parse_module(text).module
    found = verify(module, kernel.target)
    assert [(d.rule, d.severity) for d in found] == [("EW-08", Severity.WARNING)]
    y = np.zeros(64, dtype.value)
    compile_program(module, kernel.target).launch([y])
    assert (y == 200).all()


def test_a_number_of_the_tile_s_own_type() -> None:
    text = expands(pto.u8).to_pto()
    text = text.replace("(%y: !pto.ptr<ui8>)", "(%y: !pto.ptr<ui8>, %n: ui8)").replace("%cst : i8", "%n : ui8")
    module = parse_module(text).module
    assert not list(verify(module, pto.kernel(target="a5")(lambda: None).target))


@pto.kernel(target="a5")
def subtracts(x: pto.Ptr[pto.bf16]) -> None:
    t = pto.Tile(pto.TileType.Vec, pto.bf16, 1, 64)
    pto.TLOAD(t, pto.GlobalTensor(x, (1, 64)))
    pto.TSUB(t, t, t)
    pto.TSTORE(pto.GlobalTensor(x, (1, 64)), t)


def test_what_only_the_assembler_refuses_is_a_warning() -> None:
    text = subtracts.to_pto()
    module = parse_module(text).module
    found = verify(module, subtracts.target)
    assert [(d.rule, d.severity) for d in found] == [("EW-1", Severity.WARNING)]
    by_assembler = verify(module, subtracts.target, assembler=True)
    assert [(d.rule, d.severity) for d in by_assembler] == [("EW-1", Severity.ERROR)]
    x = np.full(64, 3, ml_dtypes.bfloat16)
    compile_program(module, subtracts.target).launch([x])
    assert (x == 0).all()


def test_every_form_checks_without_errors() -> None:
    module = parse_module(subtracts.to_pto()).module
    for form in FORMS:
        text = convert(module, form).text
        assert text is not None
        assert not verify(parse_module(text).module, subtracts.target).errors, form


def test_the_command_and_the_library_convert_kernels_alike(tmp_path: Path) -> None:
    file = tmp_path / "k.py"
    file.write_text(
        'import ptokit as pto\n\n@pto.kernel(target="a5")\ndef k(y: pto.Ptr[pto.u8]):\n'
        "    t = pto.Tile(pto.TileType.Vec, pto.u8, 1, 64)\n    pto.TEXPANDS(t, 200)\n"
        "    pto.TSTORE(pto.GlobalTensor(y, (1, 64)), t)\n"
    )
    for form in FORMS:
        text = pto.convert(str(file), form)
        assert not verify(parse_module(text).module, subtracts.target).errors, form


def test_a_kernel_that_breaks_rules_is_printed_all_the_same() -> None:
    @pto.kernel(target="a5")
    def wrong(x: pto.Ptr[pto.f32]) -> None:
        t = pto.Tile(pto.TileType.Vec, pto.f32, 1, 64)
        u = pto.Tile(pto.TileType.Vec, pto.f16, 1, 64)
        pto.TADD(t, t, u)

    errors = {d.rule for d in wrong.check().errors}
    assert errors
    assert errors <= {d.rule for d in verify(parse_module(wrong.to_pto()).module, wrong.target).errors}


@pto.kernel(target="a5")
def scaled(x: pto.Ptr[pto.e8m0], y: pto.Ptr[pto.e8m0]) -> None:
    left = pto.TileLeftScale(pto.e8m0, 16, 2)
    right = pto.TileRightScale(pto.e8m0, 2, 32)
    layout: Any = {"fractal": 32}
    a = pto.Tile(pto.TileType.Mat, pto.e8m0, 16, 2, slayout=pto.SLayout.RowMajor, **layout)
    b = pto.Tile(pto.TileType.Mat, pto.e8m0, 2, 32, pto.BLayout.ColMajor, slayout=pto.SLayout.ColMajor, **layout)
    pto.TMOV(left, a)
    pto.TMOV(right, b)


def test_scales_are_in_scaling() -> None:
    text = scaled.to_pto()
    assert "scale_" not in text
    assert text.count("<scaling, ") == 4
    read = parse_module(text)
    assert not list(read.diagnostics)
    body = read.module.functions[0].body
    assert body is not None
    places = [op.result.type.loc for op in body.ops if op.name == "pto.alloc_tile"]
    assert [place.name for place in places] == ["ScaleLeft", "ScaleRight", "Mat", "Mat"]
    assert print_module(read.module) == text


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("scaling, 16x2x!pto.f8E8M0, slayout=row_major, fractal=32", "ScaleLeft"),
        ("loc=scaling, dtype=!pto.f8E8M0, rows=2, cols=16, v_row=2, v_col=16, blayout=col_major, slayout=col_major,"
         " fractal=32, pad=0", "ScaleRight"),
        ("scaling, 16x2x!pto.f8E8M0, blayout=col_major, slayout=row_major, fractal=32", "Scaling"),
        ("scaling, 16x2x!pto.f8E8M0, fractal=32", "Scaling"),
        ("scaling, 16x32x!pto.f8E8M0, slayout=row_major", "Scaling"),
        ("scaling, 16x2xui8, slayout=row_major, fractal=32", "Scaling"),
        ("scale_left, 16x2xui8, slayout=row_major, fractal=32", "ScaleLeft"),
        ("mat, 16x2x!pto.f8E8M0, slayout=row_major, fractal=32", "Mat"),
    ],
)  # fmt: skip
def test_which_area_scaling_means(written: str, place: str) -> None:
    text = f"func.func @k() {{\n  %t = pto.alloc_tile : !pto.tile_buf<{written}>\n  return\n}}\n"
    read = parse_module(text)
    assert not list(read.diagnostics)
    body = read.module.functions[0].body
    assert body is not None
    assert body.ops[0].result.type.loc.name == place
    again = parse_module(print_module(read.module)).module.functions[0].body
    assert again is not None
    assert again.ops[0].result.type == body.ops[0].result.type


def nested(depth: int, folder: Path) -> pto.Kernel:
    """A kernel whose only store is in so many branches, 20 in each of its functions."""
    lines = ["import ptokit as pto", "def f0(n, y):", "    y[0] = 7"]
    for k in range(1, depth // 20 + 1):
        lines.append(f"def f{k}(n, y):")
        lines += [f"{'    ' * (level + 1)}if n > {20 * k + level}:" for level in range(20)]
        lines.append(f"{'    ' * 21}f{k - 1}(n, y)")
    lines += ['@pto.kernel(target="a5")', "def k(n: int, y: pto.Ptr[pto.i32]):", f"    f{depth // 20}(n, y)"]
    file = folder / "nested.py"
    file.write_text("\n".join(lines) + "\n")
    space: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    kernel: pto.Kernel = space["k"]
    return kernel


def test_what_text_cannot_say_is_refused_at_its_place(tmp_path: Path) -> None:
    """Text has no more than 200 regions in each other."""
    assert parse_module(nested(180, tmp_path).to_pto()).diagnostics.errors == []
    deep = nested(220, tmp_path)
    with pytest.raises(pto.DiagnosticError, match=r"cannot be written as \.pto text: .*TEXT-NESTING") as caught:
        deep.to_pto()
    (finding,) = caught.value.diagnostics
    assert finding.rule == "TEXT-KERNEL"
    assert finding.location.file == str(tmp_path / "nested.py")
    assert (tmp_path / "nested.py").read_text().splitlines()[finding.location.line - 1].strip().startswith("if n >")


def test_layouts_that_text_gives_to_all_left_tiles() -> None:
    @pto.kernel(target="cpu")
    def k() -> None:
        pto.TileLeft(pto.f16, 16, 16)
        pto.Tile(pto.TileType.Left, pto.f16, 16, 16, pto.BLayout.RowMajor, 16, 16, pto.SLayout.RowMajor)

    with pytest.raises(pto.DiagnosticError, match="left tiles in text for cpu are col_major") as refused:
        k.to_pto()
    (found,) = refused.value.diagnostics
    assert (found.rule, found.location.line) == ("TEXT-KERNEL", k.__wrapped__.__code__.co_firstlineno + 3)
    k[1]()
