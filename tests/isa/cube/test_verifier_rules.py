"""Rules of the assembler's verifiers of the cube unit: statements that keep each, and statements that break it."""

from __future__ import annotations

import pytest

from ptokit.diagnostics import CATALOGUE

from ..statements import Case, breaks, found


def load(name: str, numbers: str, source: str = "P<f16, l1>", to: str = "P<f16, l0a>", more: str = "") -> str:
    """A copy to an operand buffer; the numbers are constants of i64."""
    defined, names = _constants(numbers)
    types = ", ".join(["i64"] * len(names))
    return f"{defined}pto.{name} %s, %d, {', '.join(names)}{more} : {source}, {to}, {types}"


def _constants(numbers: str) -> tuple[str, list[str]]:
    given = numbers.split()
    lines = "".join(f"%n{k} = arith.constant {n} : i64\n" for k, n in enumerate(given))
    return lines, [f"%n{k}" for k in range(len(given))]


def fill(bits: int, numbers: str, element: str = "ui16", name: str = "raw_fill_l1", space: str = "l1") -> str:
    """A fill of L1."""
    defined, names = _constants(numbers)
    if name == "raw_fill_l1":
        names.insert(1, "%value")
        types = "i64, i32, i64, i64, i64"
    else:
        names.insert(0, "%value")
        types = "i32, i64, i64, i64"
    return (
        f"{defined}pto.{name} %d, {', '.join(names)} {{fill_word_bits = {bits} : i64}} : P<{element}, {space}>, {types}"
    )


def copy(name: str, numbers: str) -> str:
    """Rows of L1 into another buffer: their length, how many, strides."""
    defined, (length, *burst) = _constants(numbers)
    return (
        f"{defined}pto.{name} %s, %d, {length} nburst({', '.join(burst)})"
        f" : P<f32, l1>, P<f32, {name[-2:]}>, i64, nburst i64, i64, i64"
    )


def product(types: str, words: str = "", name: str = "mad", bias: str = "", size: int = 16) -> str:
    """A product of 16x16x16."""
    left, right, sums = types.split()
    more, kind = (" %b,", f" P<{bias}, bt>,") if bias else ("", "")
    return (
        f"%n = arith.constant {size} : i64\npto.{name} %l, %r, %d,{more} %n, %n, %n {words}"
        f" : P<{left}, l0a>, P<{right}, l0b>, P<{sums}, l0c>,{kind} i64, i64, i64"
    )


def drain(
    words: str, types: str = "", to: str = "f16", name: str = "mte_l0c_l1", source: str = "f32", m: int = 16
) -> str:
    """A drain of 16 columns."""
    space = name.rpartition("_")[2]
    sid, sids = (", %n, %n", ", i64, i64") if space == "gm" else ("", "")
    return (
        f"%m = arith.constant {m} : i64\n%n = arith.constant 16 : i64\n"
        f"pto.{name} %s, %d, %m, %n, %n, %n{sid}{words and ', '}{words}"
        f" : P<{source}, l0c>, P<{to}, {space}>, i64, i64, i64, i64{sids}{types and ', '}{types}"
    )


_SIX = "0 0 1 1 1 1"
_S4 = "P<!pto.f4E2M1x2, {}>"
CASES: list[Case] = [
    (
        "CUB-01",
        load("load_cbuf_to_ca", _SIX),
        (
            load("load_cbuf_to_ca", _SIX, source="P<f16, ub>"),
            load("load_cbuf_to_cb_mx", _SIX),
            fill(16, "0 1 1 0", space="ub"),
        ),
    ),
    (
        "CUB-02",
        load("load_cbuf_to_ca", _SIX, source="P<bf16, l1>"),
        (load("load_cbuf_to_ca", _SIX, source="P<f32, l1>"),),
    ),
    (
        "CUB-03",
        load("load_cbuf_to_ca", "0 65535 255 255 65535 1"),
        (
            load("load_cbuf_to_ca", "0 0 256 1 1 1"),
            load("load_cbuf_to_ca", "0 0 1 0 1 1"),
            load("load_cbuf_to_ca", "0 0 1 1 65536 1"),
            load("mte_l1_l0a", "16 16 -1 0"),
            load("mte_l1_l0a_mx", "0 0 -1 1 1 1"),
            load("load_cbuf_to_ca_s4", "0 0 1 1 1 1 2", _S4.format("l1"), _S4.format("l0a")),
            fill(16, "0 32768 1 0"),
        ),
    ),
    (
        "CUB-04",
        "%a = arith.constant 32 : i64\n%s = pto.castptr %a : i64 -> P<f8E4M3FN, l1>\n"
        + load("mte_l1_l0a_mx", _SIX, "P<f8E4M3FN, l1>", "P<f8E4M3FN, l0a>"),
        (
            "%a = arith.constant 1 : i64\n%s = pto.castptr %a : i64 -> P<f8E4M3FN, l1>\n"
            + load("mte_l1_l0a_mx", _SIX, "P<f8E4M3FN, l1>", "P<f8E4M3FN, l0a>"),
        ),
    ),
    (
        "CUB-05",
        load("load_cbuf_to_ca_s4", f"{_SIX} 0", _S4.format("l1"), _S4.format("l0a")),
        (
            load("load_cbuf_to_ca_s4", f"{_SIX} 0", "P<ui8, l1>", "P<ui8, l0a>"),
            load("load_cbuf_to_ca_s4", f"{_SIX} 0", _S4.format("l1"), "P<!pto.f4E1M2x2, l0a>"),
            load("load_cbuf_to_ca", _SIX, _S4.format("l1"), _S4.format("l0a")),
        ),
    ),
    (
        "CUB-06",
        fill(32, "1 1 0", "ui32", "create_cbuf_matrix"),
        (
            fill(8, "0 1 1 0"),
            fill(32, "1 1 0", "ui16", "create_cbuf_matrix"),
            fill(16, "1 1 0", "i16", "create_cbuf_matrix"),
        ),
    ),
    ("CUB-07", fill(16, "64 1 1 0"), (fill(16, "1 1 1 0"), fill(16, "-32 1 1 0"))),
    (
        "CUB-08",
        product("!pto.hif8 !pto.hif8 f32"),
        (
            product("!pto.hif8 f8E4M3FN f32"),
            product("f16 f16 f32", name="mad_bias", bias="f16"),
            product("f16 f16 f32", name="mad_mx"),
        ),
    ),
    (
        "CUB-09",
        product("f32 f32 f32", "sat tf32_mode(round_even)"),
        (
            product("i8 i8 i32", "sat"),
            product("f16 f16 f32", "tf32_mode(round_even)"),
            product("f8E4M3FN f8E4M3FN f32", "tf32_mode(round_even)", "mad_mx"),
        ),
    ),
    (
        "CUB-10",
        drain("pre_quant(%q, mode = qf322f16_pre_scalar)", "f32"),
        (
            drain("pre_quant(%q, mode = qf322f16_pre_scalar)", "i64"),
            drain("pre_quant(%q, mode = f32_bf16)", "f32"),
            drain("pre_quant(%q, mode = req8_vec)", "P<f32, fb>", "i8"),
            drain("pre_quant(%q, mode = qf322f16_pre_vec)", "P<i64, fb>"),
        ),
    ),
    (
        "CUB-11",
        drain("pre_relu(%s0, mode = scalar_relu, clip = %c)", "f32, f16"),
        (
            drain("pre_relu(mode = scalar_relu)"),
            drain("pre_relu(mode = pwl)"),
            drain("pre_relu(%s0, mode = normal_relu)", "f32"),
            drain("pre_relu(mode = normal_relu, clip = %c)", "f32", "f32"),
            drain("pre_relu(mode = normal_relu, clip = %c)", "i8", "ui8"),
            drain("pre_relu(%s0, mode = vector_relu)", "P<i64, fb>"),
        ),
    ),
    (
        "CUB-12",
        drain("nz2dn(%t)", "i64"),
        (
            drain("nz2dn"),
            drain("nz2nd(%t)", "i64"),
            drain("loop3(%a, %b, %c)", "i64, i64, i64"),
            drain("nz2nz"),
            drain("unit_flag(check_only), nz2dn(%n)", "i64"),
        ),
    ),
    (
        "CUB-13",
        drain("atomic(type = f32, op = add)", to="f32", name="mte_l0c_gm"),
        (drain("atomic(type = f32, op = add)", to="f32"),),
    ),
    (
        "CUB-14",
        drain("dst_mode(split_m)", to="f32", name="mte_l0c_ub"),
        (
            drain("dst_mode(split_m)", to="f32", name="mte_l0c_ub", m=15),
            drain("dst_mode(split_n)", to="f32", name="mte_l0c_ub"),
            drain("dst_mode(split_m), pre_relu(mode = normal_relu)", to="f32", name="mte_l0c_ub"),
            drain("dst_mode(%n)", "i64", to="f32", name="mte_l0c_ub"),
        ),
    ),
]
FIELDS: list[Case] = [
    # whoever wrote them: the assembler does not ask
    (
        "CUB-15",
        copy("mte_l1_ub", "0 1 0 0"),
        (
            copy("mte_l1_ub", "-1 1 0 0"),
            copy("mte_l1_ub", "1 -1 0 0"),
            copy("mte_l1_fb", "1 2 -3 0"),
            product("f16 f16 f32", size=-16),
            fill(16, "0 -1 1 0"),
        ),
    ),
    ("CUB-16", fill(32, "0 1 1 0", element="ui32"), (fill(8, "0 1 1 0"), fill(64, "1 1 0", name="create_cbuf_matrix"))),
]


@pytest.mark.parametrize(("rule", "good"), [(rule, good) for rule, good, _ in CASES])
def test_kept(rule: str, good: str) -> None:
    assert found(good) == []


@pytest.mark.parametrize(("rule", "wrong"), [(rule, wrong) for rule, _, several in CASES for wrong in several])
def test_broken(rule: str, wrong: str) -> None:
    assert breaks(rule, wrong)


@pytest.mark.parametrize(("rule", "good", "several"), FIELDS)
def test_numbers_of_fields(rule: str, good: str, several: tuple[str, ...]) -> None:
    assert found(good, assembler=False) == []
    for wrong in several:
        assert breaks(rule, wrong, assembler=False)


def test_counts_are_integers() -> None:
    wrong = "pto.create_cbuf_matrix %d, %v, %n, %n, %n {fill_word_bits = 16 : i64} : P<ui16, l1>, i32, f32, f32, f32"
    assert found(wrong) == [("OPERAND-KIND", 1)] * 3
    assert breaks("OPERAND-KIND", "%r = pto.vlds %s[%n] : P<f32, ub>, f32 -> R<64xf32>")


def test_every_rule_has_a_case() -> None:
    assert {id for id in CATALOGUE if id.startswith("CUB-")} == {rule for rule, *_ in (*CASES, *FIELDS)}
